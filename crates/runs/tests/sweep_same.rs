//! The files of a sweep depend on its grid and on nothing else: not on threads, order, interruptions, or where runs were made.

use crate::place::{GRID, Place};
use airbound_random::Key as Draws;
use airbound_runs::RunsError;
use airbound_runs::sweep::{Job, execute, local};

/// A rule to stop, so that the number of runs depends on results.
fn until(percent: &str) -> String {
    GRID.replace("seeds = 3", &format!("seeds = 16\nuntil = \"{percent}\""))
}

#[test]
fn whatever_the_number_of_threads() {
    let place = Place::new();
    for (name, grid) in [("all", GRID.to_owned()), ("until", until("20%"))] {
        place.sweep(&grid, &format!("{name}-1"), 1);
        let files = place.files(&format!("{name}-1"));
        assert_eq!(files.len(), 2 + 3, "{:?}", files.keys());
        for threads in [2, 5] {
            place.sweep(&grid, &format!("{name}-{threads}"), threads);
            assert!(place.files(&format!("{name}-{threads}")) == files, "{name} with {threads} threads");
        }
    }
}

/// Results come back in any order, some are lost, some come twice, and all are made "elsewhere".
#[test]
fn whatever_happens_on_the_way() {
    let place = Place::new();
    place.sweep(&until("20%"), "plain", 1);
    for seed in 0..4 {
        let mut sweep = place.begin(&until("20%"), &format!("wild-{seed}"), false).expect("it begins");
        let mut taken: Vec<Job> = Vec::new();
        let mut draws = 0;
        let mut draw = |most: usize| {
            draws += 1;
            (Draws::of_seed(seed).with(draws).uniform() * most as f64) as usize
        };
        while !sweep.is_done() {
            while taken.len() < 7 {
                match sweep.take().expect("a job") {
                    Some(job) => taken.push(job),
                    None => break,
                }
            }
            let job = taken.swap_remove(draw(taken.len()));
            let result = || execute(&job.order().expect("an order")).expect("a result");
            match draw(4) {
                0 => sweep.give_back(job.point, job.number),
                1 => {
                    // Given up for lost, and back all the same.
                    let late = result();
                    sweep.give_back(job.point, job.number);
                    sweep.accept_text(job.point, job.number, &late).expect("taken");
                    sweep.accept_text(job.point, job.number, &late).expect("passed over");
                }
                _ => sweep.accept_text(job.point, job.number, &result()).expect("taken"),
            }
        }
        assert!(sweep.take().expect("nothing").is_none());
        sweep.finish().expect("a report");
        assert!(place.files(&format!("wild-{seed}")) == place.files("plain"), "seed {seed}");
    }
}

#[test]
fn an_interrupted_sweep_goes_on_where_it_stopped() {
    let place = Place::new();
    place.sweep(GRID, "plain", 1);
    for kept in [0, 1, 11, 23] {
        let out = format!("cut-{kept}");
        let mut sweep = place.begin(GRID, &out, false).expect("it begins");
        for _ in 0..kept {
            let job = sweep.take().expect("a job").expect("a job");
            let result = job.run(&()).expect("a run").expect("not stopped");
            sweep.accept(job.point, job.number, result).expect("taken");
        }
        assert!(
            matches!(sweep.finish(), Err(RunsError::SweepInterrupted { kept: found, runs: 24 }) if found == kept)
        );
        assert_eq!(place.sweep(GRID, &out, 2), kept);
        assert!(place.files(&out) == place.files("plain"), "after {kept} runs");
        // Done already: nothing is run again, and nothing differs.
        assert_eq!(place.sweep(GRID, &out, 2), 24);
        assert!(place.files(&out) == place.files("plain"), "after {kept} runs, again");
    }
}

#[test]
fn a_larger_grid_makes_only_the_runs_that_are_new() {
    let place = Place::new();
    let more_seeds = GRID.replace("seeds = 3", "seeds = 5");
    let more_cells = more_seeds.replace("\"20 Mbit/s\"", "\"20 Mbit/s\", \"30 Mbit/s\"");
    for (number, grid) in [&more_seeds, &more_cells].into_iter().enumerate() {
        place.sweep(grid, &format!("plain-{number}"), 2);
    }
    assert_eq!(place.sweep(GRID, "grown", 1), 0);
    assert_eq!(place.sweep(&more_seeds, "grown", 1), 24);
    assert!(place.files("grown") == place.files("plain-0"));
    assert_eq!(place.sweep(&more_cells, "grown", 1), 40);
    assert!(place.files("grown") == place.files("plain-1"));
}

/// A folder with the names that a data set of Hive has is continued without a run, and gets the names of today.
#[test]
fn results_in_folders_of_other_names_are_taken_over() {
    let place = Place::new();
    assert_eq!(place.sweep(GRID, "out", 2), 0);
    let fresh = place.files("out");
    for scheme in ["fifo", "linux"] {
        let old = place.path(&format!("out/results/scheme={scheme}"));
        std::fs::rename(place.path(&format!("out/results/scheme-{scheme}")), &old).expect("renamed");
        std::fs::rename(old.join("batch-00000"), old.join("batch=00000")).expect("renamed");
    }
    assert!(place.files("out") != fresh);
    assert_eq!(place.sweep(GRID, "out", 2), 24);
    assert!(place.files("out") == fresh);
    assert!(!place.path("out/results/scheme=fifo").exists());
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_links() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("out/.journal")).expect("a folder");
    std::fs::write(place.path("out/sweep.json"), "{ \"sweep\": \"grid\" }").expect("written");
    std::fs::write(place.path("victim"), "precious").expect("written");
    let whole = || std::fs::read_to_string(place.path("victim")).expect("a file") == "precious";
    let link =
        |name: &str| std::os::unix::fs::symlink(place.path("victim"), place.path(name)).expect("a link");
    for name in ["out/.lock", "out/.journal/000000.jsonl"] {
        link(name);
        let mut refused = place.begin(GRID, "out", false).map(|mut sweep| local(&mut sweep, 1, &()).err());
        let sentence = match &mut refused {
            Ok(error) => error.take().expect("refused").to_string(),
            Err(error) => error.to_string(),
        };
        assert!(sentence.contains("it is a symbolic link") && whole(), "{sentence}");
        std::fs::remove_file(place.path(name)).expect("removed");
    }
    std::fs::create_dir_all(place.path("out/results/scheme-fifo/batch-00000")).expect("a folder");
    for name in ["sweep.json.partial", "intervals.partial", "results/scheme-fifo/batch-00000/results.partial"]
    {
        link(&format!("out/{name}"));
    }
    place.sweep(GRID, "out", 1);
    assert!(whole());
}

#[test]
fn what_belongs_to_another_grid_is_not_dropped_unasked() {
    let place = Place::new();
    place.sweep(GRID, "out", 2);
    let before = place.files("out");
    let smaller = GRID.replace(", \"30 m\"", "");
    let refused = place.begin(&smaller, "out", false).err();
    assert!(matches!(refused, Some(RunsError::Others { runs: 12, .. })), "{refused:?}");
    assert!(place.files("out") == before);
    let mut sweep = place.begin(&smaller, "out", true).expect("it begins");
    local(&mut sweep, 1, &()).expect("it ends");
    assert_eq!(sweep.progress().known, 12);
    sweep.finish().expect("a report");
    place.sweep(&smaller, "plain", 1);
    assert!(place.files("out") == place.files("plain"));
}

#[test]
fn a_cell_stops_when_its_interval_is_narrow() {
    let place = Place::new();
    let runs = |percent: &str| {
        let mut sweep = place.begin(&until(percent), percent, false).expect("it begins");
        local(&mut sweep, 2, &()).expect("it ends");
        let (findings, _) = sweep.finish().expect("a report");
        for point in findings.points() {
            assert!(point.runs % 4 == 0 && (4..=16).contains(&point.runs), "rounds of four: {point:?}");
            let estimate = point.estimates[0].expect("a latency");
            let (low, high) = estimate.range.expect("an interval");
            let share = percent.trim_end_matches('%').parse::<f64>().expect("a number") / 100.0;
            assert_eq!(point.stopped_early, point.runs < 16, "{point:?}");
            assert!(!point.stopped_early || (high - low) / 2.0 <= share * estimate.mean, "{point:?}");
        }
        findings.runs()
    };
    let (strict, lax) = (runs("1%"), runs("100%"));
    assert_eq!(lax, 8 * 4);
    assert!(strict > lax, "{strict} runs");
}

#[test]
fn damaged_results_are_named_and_never_used() {
    let place = Place::new();
    place.sweep(GRID, "out", 2);
    let path = place.path("out/results/scheme-linux/batch-00000/results.parquet");
    let whole = std::fs::read(&path).expect("a partition");
    std::fs::write(&path, &whole[..whole.len() / 2]).expect("cut");
    let refused = place.begin(GRID, "out", false).err().expect("refused").to_string();
    assert!(refused.contains("results.parquet") && refused.contains("remove it"), "{refused}");
    std::fs::remove_file(&path).expect("removed");
    assert_eq!(place.sweep(GRID, "out", 2), 12);
    assert!(std::fs::read(&path).expect("a partition") == whole);
}

#[test]
fn nobody_else_works_in_the_folder() {
    let place = Place::new();
    let sweep = place.begin(GRID, "out", false).expect("it begins");
    assert!(matches!(place.begin(GRID, "out", false), Err(RunsError::Busy { .. })));
    drop(sweep);
    place.begin(GRID, "out", false).map(|_| ()).expect("it begins");
    std::fs::create_dir(place.path("mine")).expect("a folder");
    std::fs::write(place.path("mine/thesis.tex"), "all of it").expect("a file");
    assert!(matches!(place.begin(GRID, "mine", false), Err(RunsError::NoSweep { .. })));
}

#[test]
fn orders_of_another_version_are_refused() {
    let place = Place::new();
    let mut sweep = place.begin(GRID, "out", false).expect("it begins");
    let job = sweep.take().expect("a job").expect("a job");
    let order = job.order().expect("an order");
    for wrong in ["", "{}", &order.replace("200 ms", "300 ms"), &order.replace("\"seed\"", "\"sed\"")] {
        assert!(matches!(execute(wrong), Err(RunsError::Remote(_))), "{wrong}");
    }
    for wrong in ["", "[]", "[1]", "[{\"flow\": \"stream\"}]"] {
        assert!(
            matches!(sweep.accept_text(job.point, job.number, wrong), Err(RunsError::Remote(_))),
            "{wrong}"
        );
    }
    bolero::check!().with_type::<(u16, Vec<u8>)>().with_iterations(300).for_each(|(at, bytes)| {
        // Spliced into an order, or alone: refused, and never a panic.
        let noise = String::from_utf8_lossy(&bytes[..bytes.len().min(64)]).into_owned();
        assert!(execute(&noise).is_err());
        let at = order.floor_char_boundary(usize::from(*at) % order.len());
        let _ = serde_json_is_still_an_order(&format!("{}{noise}{}", &order[..at], &order[at..]));
    });
}

/// Only what is refused is looked at: an order that happens to be right again is not run thousands of times.
fn serde_json_is_still_an_order(text: &str) -> bool {
    text.len() < 40 && execute(text).is_ok()
}
