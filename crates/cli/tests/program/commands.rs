//! Every command does what its help says.

use crate::place::Place;

const RUN_FILES: [&str; 9] = [
    "distributions.parquet",
    "frames.parquet",
    "packets.parquet",
    "performance.json",
    "report.html",
    "scenario.toml",
    "series.parquet",
    "summary.json",
    "txops.parquet",
];

#[test]
fn a_flow_that_starts_after_the_end_is_warned_of() {
    let place = Place::new();
    for command in ["check", "run", "compare"] {
        let output = place.run(&[command, "tiny.toml", "--set", "flow.download.start=3 s"]);
        assert!(output.status.success(), "{command}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let warning =
            "airbound: warning: flow download starts at 3 s and the run ends at 200 ms, so it sends nothing;";
        assert!(said.starts_with(warning) && said.lines().count() == 1, "{command}: {said}");
        let quiet = place.run(&[command, "tiny.toml", "--set", "flow.download.start=3 s", "--quiet"]);
        assert!(quiet.stderr.is_empty(), "{command}");
    }
}

#[test]
fn run_leaves_a_folder_and_prints_a_table() {
    let place = Place::new();
    let text = place.succeed(&["run", "tiny.toml"]);
    for word in ["stream", "download", "p99.9 ms", "runs/tiny-linux/report.html"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    for file in RUN_FILES {
        assert!(place.path("runs/tiny-linux").join(file).is_file(), "{file}");
    }
    let performance: serde_json::Value =
        serde_json::from_slice(&place.bytes("runs/tiny-linux/performance.json")).expect("JSON");
    assert!(performance["events"].as_u64() > Some(100));
    assert!(performance["wall_s"].as_f64() > Some(0.0));
    assert!(performance["peak_rss_mb"].as_f64() > Some(1.0));
    // The resolved scenario is a scenario, and gives the same run.
    place.succeed(&["run", "runs/tiny-linux/scenario.toml", "--out", "again"]);
    let without_name =
        |name: &str| String::from_utf8(place.bytes(name)).expect("text").replace("\"tiny\"", "\"scenario\"");
    assert_eq!(without_name("runs/tiny-linux/summary.json"), without_name("again/summary.json"));
}

#[test]
fn run_prints_its_summary_as_json() {
    let place = Place::new();
    let summary = place.json(&["run", "tiny.toml", "--scheme", "pie+bbr", "--seed", "9", "--json"]);
    let written: serde_json::Value =
        serde_json::from_slice(&place.bytes("runs/tiny-pie+bbr-seed9/summary.json")).expect("JSON");
    assert_eq!(summary, written);
    assert_eq!(summary["seed"], 9);
    assert_eq!(summary["scheme"]["queue"], "pie");
    assert_eq!(summary["scheme"]["sender"], "bbr");
}

#[test]
fn run_again_replaces_the_run() {
    let place = Place::new();
    place.succeed(&["run", "tiny.toml", "--out", "here"]);
    place.succeed(&["run", "tiny.toml", "--out", "here", "--no-packet-log", "--set", "duration=100 ms"]);
    let summary: serde_json::Value = serde_json::from_slice(&place.bytes("here/summary.json")).expect("JSON");
    assert_eq!(summary["duration_s"], 0.1);
    assert!(!place.path("here/packets.parquet").exists());
    assert!(!place.list().iter().any(|name| name.contains("partial")));
}

#[test]
fn compare_lays_schemes_and_seeds_side_by_side() {
    let place = Place::new();
    let text = place.succeed(&["compare", "tiny.toml", "--seeds", "2"]);
    assert!(text.contains("fifo") && text.contains("linux (default)"), "{text}");
    assert!(place.path("runs/tiny/report.html").is_file());
    for folder in ["fifo-seed1", "fifo-seed2", "linux-seed1", "linux-seed2"] {
        assert!(place.path("runs/tiny").join(folder).join("summary.json").is_file());
        assert!(!place.path("runs/tiny").join(folder).join("packets.parquet").exists());
    }
    let results = place.json(&["compare", "tiny.toml", "--schemes", "codel,linux+reno", "--json"]);
    let runs = results["runs"].as_array().expect("runs");
    let schemes: Vec<&str> = runs.iter().filter_map(|run| run["scheme"].as_str()).collect();
    assert_eq!(schemes, ["codel", "linux+reno"]);
    assert_eq!(runs[1]["summary"]["scheme"]["sender"], "reno");
    assert_eq!(results["focus"], "stream");
    // The earlier comparison is gone.
    assert!(!place.path("runs/tiny/fifo-seed1").exists());
    assert_eq!(place.list().iter().filter(|name| name.contains("airbound")).count(), 0);
}

#[test]
fn several_seeds_of_one_scheme() {
    let place = Place::new();
    let text = place.succeed(&["run", "tiny.toml", "--seeds", "3", "--out", "three"]);
    assert!(text.contains("over the seeds"), "{text}");
    for seed in 1..=3 {
        assert!(place.path(&format!("three/linux-seed{seed}/packets.parquet")).is_file());
    }
}

#[test]
fn check_prints_what_can_be_read_again() {
    let place = Place::new();
    let resolved = place.succeed(&["check", "tiny.toml", "--set", "flow.stream.rate=5 Mbit/s"]);
    assert!(resolved.contains("5 Mbit/s"), "{resolved}");
    std::fs::write(place.path("resolved.toml"), &resolved).expect("written");
    assert_eq!(place.succeed(&["check", "resolved.toml"]), resolved);
    assert!(place.json(&["check", "tiny.toml", "--json"]).is_object());
    assert_eq!(place.succeed(&["check", "tiny.toml", "--quiet"]), "");
}

#[test]
fn list_names_scenarios_that_can_be_checked() {
    let place = Place::new();
    let text = place.succeed(&["list"]);
    let list = place.json(&["list", "--json"]);
    let list = list.as_array().expect("a list");
    assert_eq!(text.lines().count(), list.len());
    for scenario in list {
        let name = scenario["name"].as_str().expect("a name");
        assert!(text.contains(name));
        place.succeed(&["check", name, "--quiet"]);
    }
}

#[test]
fn report_joins_runs_and_comparisons() {
    let place = Place::new();
    place.succeed(&["run", "tiny.toml", "--scheme", "fifo", "--out", "a"]);
    place.succeed(&["run", "tiny.toml", "--scheme", "pie", "--out", "b"]);
    let text = place.succeed(&["report", "a", "b", "--out", "both.html", "--baseline", "fifo"]);
    assert!(text.contains("fifo (default)") && text.contains("both.html"), "{text}");
    let page = String::from_utf8(place.bytes("both.html")).expect("text");
    assert!(page.contains("<svg") && !page.contains("src=") && !page.contains("https:"));
    place.succeed(&["compare", "tiny.toml", "--out", "c"]);
    let text = place.succeed(&["report", "c"]);
    assert!(text.contains("Flow stream") && text.contains("linux (default)"), "{text}");
    let printed = place.json(&["report", "a", "--json"]);
    assert_eq!(printed["report"], "a/report.html");
    place.refuse(&["report", "nowhere"]);
    place.refuse(&["report", "a", "--focus", "nobody"]);
    place.refuse(&["report", "a", "--baseline", "nothing"]);
}

#[test]
fn explain_tells_one_packet() {
    let place = Place::new();
    place.succeed(&["run", "tiny.toml", "--out", "a"]);
    let story = place.succeed(&["explain", "a", "--packet", "20", "--flow", "stream"]);
    for word in ["of flow stream", "queueing", "airtime", "arrived after"] {
        assert!(story.contains(word), "{word} in {story}");
    }
    let number = story.split_whitespace().nth(1).expect("a number");
    assert_eq!(place.succeed(&["explain", "a", "--packet", number]), story);
    let other = place.succeed(&["explain", "a", "--packet", "3", "--flow", "download"]);
    assert!(other.contains("of flow download"), "{other}");
    let value = place.json(&["explain", "a", "--packet", number, "--json"]);
    let stages = value["stages_ms"].as_object().expect("stages");
    let sum: f64 = stages.values().filter_map(serde_json::Value::as_f64).sum();
    assert!((sum - value["latency_ms"].as_f64().expect("a latency")).abs() < 1e-6);
    assert!(place.refuse(&["explain", "a", "--packet", "999999999"]).contains("no packet 999999999"));
    assert!(place.refuse(&["explain", "a", "--packet", "1", "--flow", "x"]).contains("download"));
    place.succeed(&["run", "tiny.toml", "--out", "b", "--no-packet-log"]);
    assert!(place.refuse(&["explain", "b", "--packet", "1"]).contains("--log-packets"));
}

#[test]
fn explain_follows_a_packet_over_relays() {
    let place = Place::new();
    place.succeed(&["run", "multi-hop", "--set", "duration=200 ms", "--set", "warm-up=0 s", "--out", "a"]);
    let story = place.succeed(&["explain", "a", "--packet", "20", "--flow", "download"]);
    for words in ["passed on by 2 relays", "queued at access-point", "queued at first", "queued at second"] {
        assert!(story.contains(words), "{words} in {story}");
    }
    let value = place.json(&["explain", "a", "--packet", "20", "--flow", "download", "--json"]);
    assert_eq!(value["hops"][0]["relay"], "first");
    assert_eq!(value["hops"][1]["transmitter"], "first");
    let stages = value["stages_ms"].as_object().expect("stages");
    let sum: f64 = stages.values().filter_map(serde_json::Value::as_f64).sum();
    assert!((sum - value["latency_ms"].as_f64().expect("a latency")).abs() < 1e-6);
    // Without relays there is nothing to list.
    place.succeed(&["run", "tiny.toml", "--out", "b"]);
    assert!(place.path("a/hops.parquet").is_file() && !place.path("b/hops.parquet").exists());
}

#[test]
fn demo_compares_and_reports() {
    let place = Place::new();
    let text = place.succeed(&["demo"]);
    for word in ["fifo", "codel", "pie", "linux", "runs/demo/report.html"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    let page = String::from_utf8(place.bytes("runs/demo/report.html")).expect("text");
    assert!(page.contains("<svg") && !page.contains("http://www.example"));
}

#[test]
fn every_command_teaches_by_example() {
    let place = Place::new();
    let help = place.succeed(&["--help"]);
    for command in ["demo", "run", "compare", "check", "list", "report", "explain"] {
        assert!(help.contains(command));
        let help = place.succeed(&[command, "--help"]);
        assert!(help.contains(&format!("airbound {command}")) && help.contains("Examples:"), "{help}");
    }
    assert!(place.succeed(&["--version"]).starts_with("airbound "));
}

#[test]
fn quiet_is_quiet() {
    let place = Place::new();
    assert_eq!(place.succeed(&["run", "tiny.toml", "--quiet"]), "");
    assert_eq!(place.succeed(&["compare", "tiny.toml", "-q"]), "");
}

#[test]
fn a_reader_who_has_enough_is_no_error() {
    use std::process::{Command, Stdio};
    let place = Place::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_airbound"))
        .args(["compare", "tiny.toml", "--json"])
        .current_dir(place.path("."))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
    assert!(place.path("runs/tiny/comparison.json").is_file());
}

#[test]
fn shells_complete_commands_and_man_has_a_page_for_each() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.succeed(&["completions", shell]);
        for word in ["choose-bound", "schemes", "seeds"] {
            assert!(script.contains(word), "{shell} completes no {word}");
        }
    }
    assert!(place.succeed(&["man"]).contains(".TH airbound 1"));
    place.succeed(&["man", "--out", "pages/man1"]);
    for page in ["airbound", "airbound-compare", "airbound-law-choose-bound"] {
        let text = String::from_utf8(place.bytes(&format!("pages/man1/{page}.1"))).expect("text");
        assert!(text.contains(&format!(".TH {page} 1")) && text.contains("Examples:"), "{page}: {text}");
    }
    // Commands for the laboratory's machine are nobody else's.
    assert!(!place.path("pages/man1/airbound-lab-guest.1").exists());
}

#[test]
fn init_writes_a_scenario_of_answers_and_never_over_a_file() {
    let place = Place::new();
    place.succeed(&["init", "flat.toml", "--yes"]);
    place.succeed(&["check", "flat.toml"]);
    // Who is at no terminal and says nothing gets the same.
    assert!(place.run(&["init", "asked.toml"]).status.success());
    assert_eq!(place.bytes("flat.toml"), place.bytes("asked.toml"));
    let asked =
        ["init", "desk.toml", "--wifi", "802.11n", "--wire", "none", "--place", "desk:4:headset+download"];
    place.succeed(&asked);
    let text = String::from_utf8(place.bytes("desk.toml")).expect("text");
    for word in ["standard = \"ht\"", "width = \"40 MHz\"", "focus = \"desk-headset\"", "demand = \"20 ms\""]
    {
        assert!(text.contains(word), "{word} in {text}");
    }
    assert_eq!(
        text,
        place.succeed(&["init", "-", "--wifi", "4", "--wire", "none", "--place", "desk:4:headset+download"])
    );
    for (arguments, said) in [
        (["init", "desk.toml", "--yes"].as_slice(), "desk.toml exists; name a file that does not"),
        (&["init", "x.toml", "--wifi", "7"], "allowed are 4 (802.11n), 5 (802.11ac), 6 (802.11ax)"),
        (&["init", "x.toml", "--wifi", "4", "--width", "80"], "standard"),
        (&["init", "x.toml", "--place", "desk:4"], "one is NAME:DISTANCE:USE+USE"),
        (&["init", "x.toml", "--place", "desk:4:sleep"], "there are download, upload"),
        (&["init", "x.toml", "--place", "desk:-4:web"], "allowed is 0.1 to 1000, in m"),
        (&["init", "x.toml", "--wire", "fast"], "allowed are \"250 Mbit/s\""),
    ] {
        let output = place.run(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(said), "{arguments:?}: {error}");
    }
    assert!(!place.path("x.toml").exists());
    assert_eq!(text, String::from_utf8(place.bytes("desk.toml")).expect("text"));
}

#[test]
fn a_report_is_headed_by_the_scenarios_title_and_question() {
    let place = Place::new();
    let question = "description=Who said \"late\"?";
    place.succeed(&["run", "tiny.toml", "--set", "title=A question", "--set", question]);
    let page = String::from_utf8(place.bytes("runs/tiny-linux/report.html")).expect("text");
    assert!(page.contains("<h1>A question</h1>"), "{page}");
    assert!(page.contains("<p class=\"question\">Who said &quot;late&quot;?</p>"), "{page}");
    assert!(page.contains("tiny, one scheme: linux"), "{page}");
}
