//! Golden bytes: a hash of every file that a run writes, for every shipped scenario with every scheme, and for what those leave out.
//!
//! A row is a run, so that a difference shows which runs changed. A change that is meant is accepted with
//! `INSTA_UPDATE=always cargo test -p airbound-cli --test program golden`, and reviewed like code. Left out are the files that say
//! how long something took.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use twox_hash::XxHash3_128;

use crate::place::{Place, TINY};

/// Simulated time of one run: every mechanism is met in it, and all runs together take half a minute.
const SPAN: [&str; 4] = ["--set", "duration=1 s", "--set", "warm-up=200 ms"];

/// Scenarios whose second costs as much as all others together: a shorter run, and few schemes.
const LARGE: [&str; 2] = ["dense-floor", "twenty-networks"];

/// Scenarios that write no tables of packets.
const CONFERENCES: [&str; 2] = ["vr-room", "remote-desktop"];

/// The scenario's own scheme, every queue, every rate control and sender beside one of them, and every policy of a conference.
const SCHEMES: &[&str] = &[
    "",
    "fifo",
    "codel",
    "pie",
    "fq-codel",
    "linux",
    "last-pq",
    "last-pq-auto",
    "law",
    "law-last-pq",
    "round-robin",
    "airbound",
    "wqm",
    "linux+minstrel-ht",
    "linux+llra",
    "linux+thompson",
    "linux+ideal",
    "linux+bbr",
    "linux+reno",
    "linux+cubic",
    "linux+gcc",
    "linux+aggregation",
    "linux+plain",
    "linux+last-n",
    "linux+tack",
    "last-pq+plum",
];

/// Three access points on two channels.
const NETWORKS: &str = "[[network]]\nname = \"ours\"\n\
    [[network]]\nname = \"theirs\"\ncount = 2\nchannels = 2\nscheme = \"fifo\"\n";

/// A conference whose clients are behind a trace, behind a pipe, on wires and on the air.
const MEETING: &str = r#"
duration = "2 s"
warm-up = "500 ms"
focus = "train"
[scheme]
session = "plum"
[[station]]
name = "tablet"
channel = { kind = "log-distance", distance = "12 m" }
[[station]]
name = "laptop"
channel = { kind = "fixed", snr = "25 dB" }
[[flow]]
name = "download"
kind = "tcp"
station = "laptop"
[[session.client]]
name = "train"
trace = { file = "shipped:swinging-pipe.mahi" }
[[session.client]]
name = "tablet"
station = "tablet"
demand = "50 ms"
[[session.client]]
name = "home"
rate = "12 Mbit/s"
[[session.client]]
name = "office"
wire = "50 Mbit/s"
"#;

/// A conference without air.
const MEETING_OFF_AIR: &str = r#"
duration = "3 s"
focus = "train"
[[session.client]]
name = "train"
count = 2
trace = { file = "shipped:swinging-pipe.mahi" }
[[session.client]]
name = "office"
wire = "50 Mbit/s"
"#;

/// Bursts that the receivers hear as noise, and bursts for which the channel is busy.
const INTERFERENCE: &str = "[[interference]]\nname = \"oven\"\neffect = \"noise\"\nlevel = \"10 dB\"\nmean-off = \"20 ms\"\n\
    [[interference]]\nname = \"radar\"\nmean-on = \"2 ms\"\nmean-off = \"30 ms\"\n";

const GRID: &str = r#"
title = "Two rates, two distances"
scenario = "tiny.toml"
seeds = 2
[axes]
"flow.stream.rate" = ["5 Mbit/s", "20 Mbit/s"]
"station.far.channel.distance" = ["10 m", "30 m"]
"#;

/// Scenarios of this file, each beside the schemes under which it runs.
const OWN: &[(&str, &str, &[&str])] = &[
    ("meeting", MEETING, &["plain", "last-n", "tack", "plum", "last-pq+plum", "law+plum"]),
    ("meeting-off-air", MEETING_OFF_AIR, &["plain", "last-n", "tack", "plum"]),
];

/// Commands that the shipped scenarios leave out; each runs in a folder with `tiny.toml`, the floors and `grid.toml`.
const COMMANDS: &[(&str, &str)] = &[
    ("three networks", "run floor.toml --log-packets"),
    ("three networks, last-pq", "run floor.toml --log-packets --scheme last-pq"),
    ("three networks, law", "run floor.toml --log-packets --scheme law"),
    ("three networks, one job for each core", "run floor.toml --log-packets --jobs 2"),
    ("three networks, interference", "run noisy-floor.toml --log-packets"),
    ("interference, office", "run tiny.toml --log-packets --set surroundings=office"),
    ("interference, harsh, law", "run tiny.toml --log-packets --set surroundings=harsh --scheme law"),
    ("RTS", "run vr-multi-client --set duration=1s --log-packets --set air.rts-threshold=500B"),
    (
        "RTS and TXOP limits",
        "run edca-all-in-vi --set duration=1s --log-packets --set air.rts-threshold=1000B",
    ),
    ("DCF", "run dense --set duration=1s --log-packets --set air.edca=dcf"),
    (
        "equal categories, no EIFS",
        "run dense --set duration=1s --log-packets --set air.edca=equal --set air.eifs=false",
    ),
    ("time limits", "run office --set duration=1s --log-packets --set access-point.preset=openwifi-split"),
    (
        "a pipe for the air",
        "run trace-vr --set duration=2s --log-packets --set station.tablet.channel.as=pipe",
    ),
    ("another seed", "run vr-congested --set duration=1s --log-packets --seed 7"),
    ("capture", "run vr-congested --set duration=500ms --pcap out/../air.pcap --no-packet-log"),
    ("capture of a relay", "run multi-hop --set duration=500ms --pcap out/../air.pcap --no-packet-log"),
    (
        "comparison, one job",
        "compare tiny.toml --schemes fifo,linux,last-pq --seeds 2 --log-packets --jobs 1",
    ),
    (
        "comparison, two jobs",
        "compare tiny.toml --schemes fifo,linux,last-pq --seeds 2 --log-packets --jobs 2",
    ),
    ("sweep, one job", "sweep grid.toml --threads 1"),
    ("sweep, two jobs", "sweep grid.toml --threads 2"),
];

/// One run: its name, the files that it needs, and the arguments.
struct Run {
    name: String,
    files: Vec<(String, String)>,
    arguments: Vec<String>,
}

impl Run {
    /// Runs the program, and says in one line what it wrote.
    fn row(&self) -> String {
        let place = Place::new();
        for (name, text) in &self.files {
            std::fs::write(place.path(name), text).expect("written");
        }
        let before = place.list();
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let output = place.run(&arguments);
        let mut row = format!("{:32}", self.name);
        match output.status.code() {
            Some(0) => {}
            Some(2) => return format!("{row} refused={}", hash(&output.stderr)),
            _ => panic!("{}: {}", self.name, String::from_utf8_lossy(&output.stderr)),
        }
        if !output.stdout.is_empty() {
            row += &format!(" printed={}", hash(&output.stdout));
        }
        for name in place.list() {
            let timed = name.ends_with("performance.json") || name.ends_with("report.html");
            if place.path(&name).is_file() && !before.contains(&name) && !timed {
                let short = name.trim_start_matches("out/").trim_end_matches(".parquet");
                row += &format!(" {short}={}", hash(&place.bytes(&name)));
            }
        }
        row
    }
}

fn hash(bytes: &[u8]) -> String {
    format!("{:016x}", (XxHash3_128::oneshot(bytes) >> 64) as u64)
}

/// The rows of all runs, in their order, whichever core made them.
fn rows(runs: &[Run]) -> String {
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(vec![String::new(); runs.len()]);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((number, run)) = {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    runs.get(number).map(|run| (number, run))
                } {
                    let row = run.row();
                    rows.lock().unwrap_or_else(PoisonError::into_inner)[number] = row;
                }
            });
        }
    });
    rows.into_inner().unwrap_or_else(PoisonError::into_inner).join("\n")
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn golden(name: &str, runs: &[Run]) {
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, rows(runs));
    });
}

#[test]
fn every_shipped_scenario_under_every_scheme() {
    let shipped = Place::new().json(&["list", "scenarios", "--json"])["scenarios"].clone();
    let names = shipped.as_array().expect("a list").iter().map(|one| one["name"].as_str().expect("a name"));
    let mut runs = Vec::new();
    for name in names {
        let large = LARGE.contains(&name);
        runs.push(Run {
            name: format!("check {name}"),
            files: Vec::new(),
            arguments: words(&format!("check {name}")),
        });
        for scheme in SCHEMES {
            if large && !["", "linux", "last-pq"].contains(scheme) {
                continue;
            }
            let mut arguments = words(&format!("run {name} --jobs 1 --quiet --out out"));
            arguments.extend(SPAN.map(str::to_owned));
            if large {
                arguments.extend(["--set", "duration=300 ms"].map(str::to_owned));
            }
            if !CONFERENCES.contains(&name) {
                arguments.push("--log-packets".to_owned());
            }
            if !scheme.is_empty() {
                arguments.extend(["--scheme", scheme].map(str::to_owned));
            }
            let scheme = if scheme.is_empty() { "-" } else { scheme };
            runs.push(Run { name: format!("{name} {scheme}"), files: Vec::new(), arguments });
        }
    }
    golden("shipped", &runs);
}

#[test]
fn what_the_shipped_scenarios_leave_out() {
    let mut runs = Vec::new();
    for (name, text, schemes) in OWN {
        for scheme in *schemes {
            let file = format!("{name}.toml");
            let arguments = words(&format!("run {file} --quiet --out out --scheme {scheme}"));
            runs.push(Run {
                name: format!("{name} {scheme}"),
                files: vec![(file, (*text).to_owned())],
                arguments,
            });
        }
    }
    for (name, command) in COMMANDS {
        let files = [
            ("floor.toml", format!("{TINY}{NETWORKS}")),
            ("noisy-floor.toml", format!("{TINY}{NETWORKS}{INTERFERENCE}")),
            ("grid.toml", GRID.to_owned()),
        ];
        runs.push(Run {
            name: (*name).to_owned(),
            files: files.map(|(name, text)| (name.to_owned(), text)).into(),
            arguments: words(&format!("{command} --quiet --out out")),
        });
    }
    golden("other", &runs);
}
