//! The same scenario and seed give the same bytes, however many run at once and whatever is logged.

use crate::place::Place;

/// Tells whether a file depends on the machine, or says how long something took.
fn depends_on_machine(name: &str) -> bool {
    name.ends_with("performance.json") || name.ends_with("report.html")
}

#[test]
fn whatever_the_number_of_jobs() {
    let place = Place::new();
    let schemes = "fifo,codel,pie,fq-codel,linux,last-pq,round-robin";
    for jobs in ["1", "2", "5"] {
        place.succeed(&[
            "compare",
            "tiny.toml",
            "--seeds",
            "2",
            "--schemes",
            schemes,
            "--jobs",
            jobs,
            "--out",
            jobs,
            "--log-packets",
        ]);
    }
    let files: Vec<String> = place
        .list()
        .into_iter()
        .filter(|name| place.path(name).is_file() && !depends_on_machine(name))
        .filter_map(|name| name.strip_prefix("1/").map(str::to_owned))
        .collect();
    assert!(files.len() > 12 * 6, "{files:?}");
    for file in files {
        for jobs in ["2", "5"] {
            assert!(
                place.bytes(&format!("1/{file}")) == place.bytes(&format!("{jobs}/{file}")),
                "{file} with {jobs} jobs"
            );
        }
    }
}

#[test]
fn whoever_encodes() {
    let place = Place::new();
    place.succeed(&["run", "tiny.toml", "--jobs", "1", "--out", "inline"]);
    place.succeed(&["run", "tiny.toml", "--jobs", "2", "--out", "thread"]);
    place.succeed(&["compare", "tiny.toml", "--schemes", "linux", "--log-packets", "--out", "compared"]);
    for file in
        ["summary.json", "packets.parquet", "txops.parquet", "series.parquet", "distributions.parquet"]
    {
        let inline = place.bytes(&format!("inline/{file}"));
        assert!(inline == place.bytes(&format!("thread/{file}")), "{file}");
        assert!(inline == place.bytes(&format!("compared/linux-seed1/{file}")), "{file}");
    }
}

#[test]
fn whatever_is_logged() {
    let place = Place::new();
    place.succeed(&["run", "tiny.toml", "--out", "all", "--log-packets"]);
    place.succeed(&["run", "tiny.toml", "--out", "little", "--no-packet-log"]);
    place.succeed(&["run", "tiny.toml", "--out", "air", "--pcap", "air.pcap", "--no-packet-log"]);
    for file in ["summary.json", "series.parquet", "distributions.parquet", "scenario.toml"] {
        assert!(place.bytes(&format!("all/{file}")) == place.bytes(&format!("little/{file}")), "{file}");
        assert!(place.bytes(&format!("all/{file}")) == place.bytes(&format!("air/{file}")), "{file}");
    }
    assert!(!place.path("little/packets.parquet").exists());
}

#[test]
fn another_seed_gives_another_run() {
    let place = Place::new();
    place.succeed(&["run", "tiny.toml", "--seed", "2", "--out", "two"]);
    place.succeed(&["run", "tiny.toml", "--set", "seed=2", "--out", "again"]);
    place.succeed(&["run", "tiny.toml", "--seed", "3", "--out", "three"]);
    assert_eq!(place.bytes("two/summary.json"), place.bytes("again/summary.json"));
    assert_ne!(place.bytes("two/packets.parquet"), place.bytes("three/packets.parquet"));
}
