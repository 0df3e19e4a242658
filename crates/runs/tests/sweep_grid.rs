//! Reading of grid files: allowed contents, defaults, and error messages.

use std::path::Path;

use crate::place::{GRID, Place};
use airbound_runs::sweep::{Changes, Grid};

/// A grid over the small scenario with these lines below `[axes]`.
fn axes(lines: &str) -> String {
    format!("scenario = \"tiny.toml\"\n[axes]\n{lines}\n")
}

fn cells(place: &Place, text: &str) -> Vec<String> {
    let grid = place.grid(text).expect("a grid");
    (0..grid.cells()).map(|cell| grid.describe(cell)).collect()
}

#[test]
fn the_last_axis_changes_fastest() {
    let place = Place::new();
    let found = cells(
        &place,
        &axes(
            "seed-free = { keys = [\"duration\"], values = [\"1 s\", \"2 s\"] }\nflow.stream.size = [\"100 B\", \"1 kB\"]",
        ),
    );
    let wanted = [
        "seed-free = 1 s, flow.stream.size = 100 B",
        "seed-free = 1 s, flow.stream.size = 1 kB",
        "seed-free = 2 s, flow.stream.size = 100 B",
        "seed-free = 2 s, flow.stream.size = 1 kB",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn ranges() {
    let place = Place::new();
    let values = |range: &str| -> Vec<String> {
        let found = cells(&place, &axes(&format!("x = {{ keys = [\"flow.stream.stagger\"], {range} }}")));
        found.iter().map(|cell| cell.trim_start_matches("x = ").to_owned()).collect()
    };
    assert_eq!(values("from = \"0.1 s\", to = \"0.3 s\", step = \"0.1 s\""), ["0.1 s", "0.2 s", "0.3 s"]);
    assert_eq!(values("from = \"1 ms\", to = \"8 ms\", step = 3"), ["1 ms", "4 ms", "7 ms"]);
    assert_eq!(
        values("from = \"1 ms\", to = \"100 ms\", count = 3, scale = \"log\""),
        ["1 ms", "10 ms", "100 ms"]
    );
    let place = Place::new();
    let found =
        cells(&place, &axes("flow.stream.count = { from = 1, to = 100, count = 5, scale = \"log\" }"));
    let counts: Vec<&str> =
        found.iter().map(|cell| cell.trim_start_matches("flow.stream.count = ")).collect();
    assert_eq!(counts, ["1", "3", "10", "32", "100"]);
}

#[test]
fn a_sample_is_the_same_every_time_and_grows_at_its_end() {
    let place = Place::new();
    let text = |count: u32, more: &str| {
        format!(
            "scenario = \"tiny.toml\"\n[sample]\ncount = {count}\nseed = 3\n\
             \"flow.stream.rate\" = {{ log-uniform = [\"1 Mbit/s\", \"50 Mbit/s\"] }}\n\
             \"flow.stream.count\" = {{ uniform = [1, 3] }}\n{more}"
        )
    };
    let small = cells(&place, &text(40, ""));
    let large = cells(&place, &text(60, ""));
    assert_eq!(small[..], large[..40]);
    let wider = cells(&place, &text(40, "\"wire.delay\" = { choice = [\"1 ms\", \"9 ms\"] }"));
    assert!(small.iter().zip(&wider).all(|(small, wider)| wider.starts_with(small.as_str())));
    for count in ["1", "2", "3"] {
        let share = large.iter().filter(|cell| cell.ends_with(&format!("count = {count}"))).count();
        assert!((8..=32).contains(&share), "{count}: {share} of 60");
    }
}

#[test]
fn what_is_left_open_is_that_of_the_scenario() {
    let place = Place::new();
    let grid = place.grid(GRID).expect("a grid");
    assert_eq!(
        (grid.schemes.as_slice(), grid.flow.as_str()),
        (["fifo".to_owned(), "linux".to_owned()].as_slice(), "stream")
    );
    assert_eq!(grid.seeds, [1, 2, 3]);
    let grid = place
        .grid(&format!("seeds = [7, 5]\n{}", GRID.replace("seeds = 3", "flow = \"download\"")))
        .expect("a grid");
    assert_eq!((grid.seeds.as_slice(), grid.flow.as_str()), ([7, 5].as_slice(), "download"));
    let changes = Changes { until: Some("3%".parse().expect("a share")), seeds: Some(9) };
    let grid = Grid::parse(GRID, "grid.toml", &place.path(""), &changes).expect("a grid");
    assert_eq!((grid.seeds.len(), grid.rule.until.is_some()), (9, true));
}

#[test]
fn one_sentence_says_what_is_wrong_and_where() {
    let place = Place::new();
    let refused = |text: &str| place.plan(text).expect_err(text);
    for (text, words) in [
        ("scenario = ", &["grid.toml:1", "TOML"][..]),
        ("scenario = \"tiny.toml\"", &["grid.toml:1", "axes is missing"]),
        (
            "scenario = \"tiny.toml\"\nsceme = 1\n[axes]\nseeds = [1]",
            &["grid.toml:2", "unknown key sceme", "did you mean scheme"],
        ),
        ("[axes]\nduration = [\"1 s\"]", &["scenario is missing"]),
        (
            "scenario = \"nothing\"\n[axes]\nduration = [\"1 s\"]",
            &["grid.toml:1: scenario names", "neither shipped nor a file"],
        ),
        (
            "scenario = \"missing.toml\"\n[axes]\nduration = [\"1 s\"]",
            &["grid.toml:1: scenario names", "missing.toml", "cannot be read"],
        ),
        (
            &axes("flow.stream.rate = \"5 Mbit/s\""),
            &["grid.toml:3", "flow.stream.rate", "one value", "[set]"],
        ),
        (&axes("flow.stream.rate = []"), &["grid.toml:3", "0 values"]),
        (&axes("flow.stream.rate = [\"5 Mbit/s\", \"5 Mbit/s\"]"), &["grid.toml:3", "twice"]),
        (
            &axes("flow.stream.rate = [\"5 Mbit/s\", \"9 parsec\"]"),
            &["grid.toml:3: flow.stream.rate = 9 parsec", "parsec", "cell 1"],
        ),
        (&axes("flow.nobody.rate = [\"5 Mbit/s\"]"), &["grid.toml:3", "there is no flow nobody"]),
        (&axes("seed = [1, 2]"), &["names the seed", "seeds = 5"]),
        (&axes("kind = [1, 2]"), &["another column"]),
        (&axes("a.b = {}"), &["grid.toml:3", "a.b", "empty"]),
        (
            &axes("a = { keys = [\"duration\"], values = [\"1 s\"] }\nduration = [\"1 s\"]"),
            &["sets duration", "elsewhere"],
        ),
        (&axes("x = { from = 1, to = 9 }"), &["grid.toml:3", "x.count is missing"]),
        (&axes("x = { from = 1, to = 9, step = 2, count = 3 }"), &["x.count", "besides step"]),
        (&axes("x = { from = 9, to = 1, count = 3 }"), &["x.to", "not above"]),
        (&axes("x = { from = 1, to = \"9 s\", count = 3 }"), &["x.to", "the unit s", "no unit"]),
        (&axes("x = { from = 0, to = 9, count = 3, scale = \"log\" }"), &["x.from", "above zero"]),
        (&axes("x = { from = 0, to = 1e9, step = 1 }"), &["x.step", "10000 values"]),
        (&axes("x = { from = inf, to = 1e9, step = 1 }"), &["x.from", "out of range"]),
        (&axes("x = { from = 1, to = 9, stop = 1 }"), &["unknown key", "stop", "step"]),
        (&format!("seeds = 0\n{GRID}").replace("seeds = 3", ""), &["grid.toml:1", "seeds is 0"]),
        (&format!("seeds = [1, 1]\n{GRID}").replace("seeds = 3", ""), &["1 twice"]),
        (&format!("until = \"2\"\n{GRID}"), &["until", "2%"]),
        (&format!("until = \"2%\"\n{GRID}"), &["3 seeds are too few", "after 4"]),
        (
            &format!("metrics = [\"latency_p59_ms\"]\n{GRID}"),
            &["metrics", "did you mean latency_p50_ms", "goodput_mbps"],
        ),
        (&format!("schemes = [\"linx\"]\n{GRID}"), &["grid.toml:1", "linx"]),
        (&format!("schemes = [\"fifo\", \"fifo\"]\n{GRID}"), &["fifo twice"]),
        (&format!("flow = \"steam\"\n{GRID}"), &["steam", "stream", "download"]),
        (&format!("{GRID}[sample]\ncount = 3"), &["besides [axes]"]),
        (
            "scenario = \"tiny.toml\"\n[sample]\nduration = { uniform = [\"1 s\", \"2 s\"] }",
            &["count is missing"],
        ),
        ("scenario = \"tiny.toml\"\n[sample]\ncount = 3", &["at least one key"]),
        (
            "scenario = \"tiny.toml\"\n[sample]\ncount = 3\nduration = { uniform = [\"1 s\"] }",
            &["grid.toml:4", "1 values", "two"],
        ),
        (
            "scenario = \"tiny.toml\"\n[sample]\ncount = 3\nduration = { uniform = [1, 2], choice = [1] }",
            &["several laws"],
        ),
        (&format!("{GRID}[set]\nduration = \"9 parsec\""), &["grid.toml:8: duration = 9 parsec", "parsec"]),
    ] {
        let sentence = refused(text);
        assert_eq!(sentence.lines().count(), 1, "{sentence}");
        for word in words {
            assert!(sentence.contains(word), "{word} in: {sentence}");
        }
    }
    let many = axes(
        "x = { keys = [\"wire.delay\"], from = 1, to = 5000, step = 1 }\ny = { keys = [\"flow.stream.count\"], from = 1, to = 5000, step = 1 }",
    );
    assert!(refused(&many).contains("too many cells"));
}

/// Any text, and any text cut out of or put into grids that are right.
#[test]
fn grid_reading_never_panics() {
    let place = Place::new();
    let folder = place.path("");
    let sample = "scenario = \"hello\"\nuntil = \"5%\"\n[set]\nduration = \"1 s\"\n[sample]\ncount = 9\n\
                  \"flow.stream.rate\" = { log-uniform = [\"1 Mbit/s\", \"9 Mbit/s\"] }\nwire.delay = { choice = [\"1 ms\", \"2 s\"] }\n";
    let ranges = "scenario = \"hello\"\nseeds = [3, 4]\n[axes]\na = { keys = [\"flow.0.count\"], from = 1, to = 99, count = 4, scale = \"log\" }\n\
                  \"flow.stream.rate\" = { from = \"1 Mbit/s\", to = \"9 Mbit/s\", step = 2 }\n";
    let shipped =
        [include_str!("../../../sweeps/vr-load.toml"), include_str!("../../../sweeps/wifi-sample.toml")];
    let bases = [GRID, sample, ranges, shipped[0], shipped[1]];
    for base in bases {
        place.plan(base).expect("a grid that is right");
    }
    airbound_corpus::check!((u8, u16, u8, Vec<u8>), 2000, |(which, at, cut, bytes)| {
        let noise = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]).into_owned();
        read(&noise, &folder);
        let base = bases[usize::from(*which) % bases.len()];
        let from = base.floor_char_boundary(usize::from(*at) % (base.len() + 1));
        let to = base.floor_char_boundary((from + usize::from(*cut)).min(base.len()));
        read(&format!("{}{noise}{}", &base[..from], &base[to..]), &folder);
    });
}

/// A grid that was read can be described cell by cell.
fn read(text: &str, folder: &Path) {
    if let Ok(grid) = Grid::parse(text, "spliced", folder, &Changes::default()) {
        let cells = grid.cells();
        for cell in [0, cells / 2, cells.saturating_sub(1)] {
            assert!(!grid.describe(cell).is_empty());
        }
    }
}
