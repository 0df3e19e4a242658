//! `airbound sweep`: grids over a small scenario.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::place::Place;

const GRID: &str = r#"
title = "Two rates, two distances"
scenario = "tiny.toml"
seeds = 2
[axes]
"flow.stream.rate" = ["5 Mbit/s", "20 Mbit/s"]
"station.far.channel.distance" = ["10 m", "30 m"]
"#;

fn place(grid: &str) -> Place {
    let place = Place::new();
    std::fs::write(place.path("grid.toml"), grid).expect("a grid");
    place
}

#[test]
fn a_sweep_leaves_its_folder_and_says_what_it_found() {
    let place = place(GRID);
    let text = place.succeed(&["sweep", "grid.toml"]);
    for words in
        ["Two rates, two distances", "4 cells", "16 runs", "latency p95", "runs/sweep-grid/report.html"]
    {
        assert!(text.contains(words), "{words} in {text}");
    }
    let html = String::from_utf8(place.bytes("runs/sweep-grid/report.html")).expect("text");
    assert!(
        html.contains("<svg")
            && !html.contains("http:")
            && !html.contains("https:")
            && !html.contains("src=")
    );
    for scheme in ["fifo", "linux"] {
        let table = format!("runs/sweep-grid/results/scheme-{scheme}/batch-00000/results.parquet");
        assert_eq!(place.bytes(&table)[..4], *b"PAR1");
    }
    let again = place.succeed(&["sweep", "grid.toml"]);
    assert!(again.contains("16 of the runs were there already"), "{again}");
    let found = place.json(&["sweep", "grid.toml", "--json"]);
    assert_eq!(found["points"].as_array().expect("points").len(), 8);
    assert_eq!(found["points"][0]["settings"]["flow.stream.rate"], 5.0);
    assert!(found["points"][0]["metrics"]["latency_p95_ms"]["mean"].as_f64().expect("a mean") > 0.0);
    assert_eq!(place.succeed(&["sweep", "grid.toml", "--quiet"]), "");
}

#[test]
fn the_same_bytes_with_any_number_of_jobs() {
    let place = place(GRID);
    for jobs in ["1", "2", "5"] {
        place.succeed(&[
            "sweep",
            "grid.toml",
            "--until",
            "30%",
            "--seeds",
            "8",
            "--threads",
            jobs,
            "--out",
            jobs,
        ]);
    }
    let files: Vec<String> = place
        .list()
        .into_iter()
        .filter(|name| place.path(name).is_file())
        .filter_map(|name| name.strip_prefix("1/").map(str::to_owned))
        .collect();
    assert_eq!(files.len(), 5, "{files:?}");
    for file in files {
        for jobs in ["2", "5"] {
            let same = place.bytes(&format!("1/{file}")) == place.bytes(&format!("{jobs}/{file}"));
            assert!(same, "{file} with {jobs} jobs");
        }
    }
}

#[test]
fn a_dry_run_counts_and_leaves_nothing() {
    let place = place(GRID);
    let before = place.list();
    let text = place.succeed(&["sweep", "grid.toml", "--dry-run", "--seeds", "7"]);
    assert!(text.contains("4 cells x 2 schemes x 7 seeds = 56 runs"), "{text}");
    assert_eq!(place.json(&["sweep", "vr-load", "--dry-run", "--json"])["most_runs"], 144);
    assert!(place.succeed(&["sweep", "wifi-sample", "--dry-run"]).contains("60 cells"));
    assert_eq!(place.list(), before);
}

#[test]
fn wrong_input_is_one_sentence() {
    let place = place(&GRID.replace("\"30 m\"", "\"30 parsec\""));
    std::fs::write(place.path("key.toml"), GRID.replace("seeds", "sedes")).expect("a grid");
    std::fs::create_dir(place.path("mine")).expect("a folder");
    std::fs::write(place.path("mine/thesis.tex"), "all of it").expect("a file");
    std::fs::write(place.path("right.toml"), GRID).expect("a grid");
    for (arguments, words) in [
        (&["sweep"][..], "<GRID>"),
        (&["sweep", "nothing"], "vr-load"),
        (&["sweep", "missing.toml"], "missing.toml"),
        (&["sweep", "grid.toml"], "grid.toml:7: station.far.channel.distance = 30 parsec"),
        (&["sweep", "key.toml"], "did you mean seeds"),
        (&["sweep", "right.toml", "--until", "2"], "2%"),
        (&["sweep", "right.toml", "--until", "2%"], "2 seeds are too few"),
        (&["sweep", "right.toml", "--seeds", "0"], "--seeds"),
        (&["sweep", "right.toml", "--jobs", "0"], "--jobs"),
        (&["sweep", "right.toml", "--out", "mine"], "not a sweep of airbound"),
        (&["sweep", "right.toml", "--on", "local-cluster", "--dry-run"], "--on"),
    ] {
        let sentence = place.refuse(arguments);
        assert!(sentence.contains(words), "{words} in {sentence}");
    }
}

#[test]
fn without_the_python_package_ray_is_refused_in_one_sentence() {
    let place = place(GRID);
    let output = Command::new(env!("CARGO_BIN_EXE_airbound"))
        .args(["sweep", "grid.toml", "--on", "local-cluster"])
        .env("AIRBOUND_PYTHON", "no-such-python")
        .current_dir(place.path("."))
        .output()
        .expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("AIRBOUND_PYTHON") && errors.lines().count() == 1, "{errors}");
}

#[test]
fn what_was_interrupted_goes_on() {
    let place = place(&GRID.replace("seeds = 2", "seeds = 400"));
    let child = Command::new(env!("CARGO_BIN_EXE_airbound"))
        .args(["sweep", "grid.toml", "--jobs", "1", "--out", "cut"])
        .current_dir(place.path("."))
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // It is at work when its first results are written down.
    let begun = Instant::now();
    while !place.list().iter().any(|name| name.contains(".journal/") && name.ends_with(".jsonl")) {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never begins");
        std::thread::sleep(Duration::from_millis(5));
    }
    let killed = Command::new("sh").args(["-c", "kill -INT \"$0\"", &child.id().to_string()]).status();
    assert!(killed.expect("kill starts").success());
    let output = child.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{errors}");
    assert!(errors.contains("of at most 3200 runs are kept"), "{errors}");
    // Fewer seeds from here, to be quick: what was kept of them is used, and the rest dropped on demand.
    let again = place.succeed(&["sweep", "grid.toml", "--seeds", "2", "--replace", "--out", "cut"]);
    assert!(again.contains("of the runs were there already"), "{again}");
    place.succeed(&["sweep", "grid.toml", "--seeds", "2", "--out", "whole"]);
    let table = "results/scheme-linux/batch-00000/results.parquet";
    assert!(place.bytes(&format!("cut/{table}")) == place.bytes(&format!("whole/{table}")));
}

/// A full disk: nothing is left of a sweep without results; one with results says how many it keeps, goes on when there is room, and
/// ends with the bytes of one that never stopped.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_nothing_or_says_what_it_keeps() {
    let place = place(&GRID.replace("seeds = 2", "seeds = 20"));
    // A file system of that many kilobytes, in a namespace of its own; then the same with room.
    let script = r#"
        mkdir disk && mount -t tmpfs -o size="$2k" none disk || exit 77
        "$1" sweep grid.toml --jobs 1 --out disk/sweep --quiet 2> said
        echo $?; cat said; ls -A disk
        mount -o remount,size=64m disk
        "$1" sweep grid.toml --out disk/sweep | grep already
        cp -r disk/sweep "kept-$2"
    "#;
    let limited = |kilobytes: &str| {
        let output = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "bash", "-c", script, "bash"])
            .args([env!("CARGO_BIN_EXE_airbound"), kilobytes])
            .current_dir(place.path("."))
            .output()
            .ok()?;
        let _ = std::fs::remove_dir(place.path("disk"));
        let text = String::from_utf8(output.stdout).expect("text");
        text.contains('\n').then(|| text.lines().map(str::to_owned).collect::<Vec<String>>())
    };
    let Some(none) = limited("4") else {
        let _ = writeln!(std::io::stderr(), "SKIPPED: no file system can be mounted in a namespace here");
        return;
    };
    // Room for the index and not for a result.
    assert_eq!((none.len(), none[0].as_str()), (2, "2"), "{none:?}");
    assert!(none[1].contains("No space left on device") && !none[1].contains("kept"), "{none:?}");
    place.succeed(&["sweep", "grid.toml", "--out", "whole"]);
    let files: Vec<String> = place.list();
    let whole: Vec<&str> = files.iter().filter_map(|name| name.strip_prefix("whole/")).collect();
    // Room for some results, and for some partitions.
    for kilobytes in ["20", "100"] {
        let some = limited(kilobytes).expect("as before");
        assert_eq!((some.len(), some[0].as_str(), some[2].as_str()), (4, "2", "sweep"), "{some:?}");
        let sentence = &some[1];
        assert!(sentence.contains("No space left on device (os error 28); "), "{sentence}");
        let kept: usize = sentence
            .split("; ")
            .nth(1)
            .and_then(|kept| kept.split_once(" of at most 160 runs are kept, and the same command goes on"))
            .and_then(|(kept, _)| kept.parse().ok())
            .unwrap_or_else(|| panic!("{sentence}"));
        assert!(kept > 0 && some[3].starts_with(&format!("{kept} of the runs")), "{some:?}");
        for name in whole.iter().filter(|name| place.path(&format!("whole/{name}")).is_file()) {
            assert!(
                place.bytes(&format!("kept-{kilobytes}/{name}")) == place.bytes(&format!("whole/{name}")),
                "{name}"
            );
        }
        assert!(!place.path(&format!("kept-{kilobytes}/.journal")).exists());
    }
}
