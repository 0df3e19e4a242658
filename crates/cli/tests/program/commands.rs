//! Every command does what its help says.

use std::fs;

use airbound_record::{Fate, PacketRow, TableReader};

use crate::place::Place;

const RUN_FILES: [&str; 10] = [
    "distributions.parquet",
    "frames.parquet",
    "packets.parquet",
    "performance.json",
    "report.html",
    "scenario.toml",
    "senders.parquet",
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
fn an_arena_ranks_rules_and_leaves_a_page() {
    let place = Place::new();
    std::fs::write(
        place.path("stream.toml"),
        "duration = \"1 s\"\n[air]\nstandard = \"ac\"\n[[station]]\nname = \"s\"\nchannel = { kind = \"fixed\", snr = \"30 dB\" }\n\
         [[flow]]\nname = \"stream\"\nkind = \"rtc\"\nstation = \"s\"\n",
    )
    .expect("written");
    let asked = ["arena", "--places", "stream.toml", "--rules", "gcc,moonlight,scream2", "--seeds", "2"];
    let text = place.succeed(&asked);
    assert!(text.contains("is first, with") && text.contains("frame p99 ms"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let page = std::fs::read_to_string(place.path("runs/arena/report.html")).expect("a page");
    assert!(page.contains("An arena of bitrate rules") && page.contains("scream2"));
    let found = place.json(&[&asked[..], &["--json", "--jobs", "1"]].concat());
    let ranking = found["ranking"].as_array().expect("rows");
    assert_eq!((ranking.len(), &found["runs"]), (3, &serde_json::json!(8)));
    assert!(ranking[0]["places"][0]["figures"]["frame_p99_ms"].as_f64().expect("a number") > 0.0);
    assert_eq!(ranking[0]["places"][0]["place"], "stream");
}

#[test]
fn list_names_what_commands_take() {
    let place = Place::new();
    let text = place.succeed(&["list"]);
    let list = place.json(&["list", "--json"]);
    let names = |kind: &str| {
        let names = list[kind].as_array().unwrap_or_else(|| panic!("{kind}"));
        names.iter().map(|one| one["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    for name in names("scenarios") {
        assert!(text.contains(&name));
        place.succeed(&["check", &name, "--quiet"]);
    }
    for name in names("grids") {
        place.succeed(&["sweep", &name, "--dry-run", "--quiet"]);
    }
    for name in names("queues") {
        place.succeed(&["check", "tiny.toml", "--set", &format!("scheme.queue={name}"), "--quiet"]);
    }
    for name in names("presets") {
        let preset = format!("access-point.preset={name}");
        let narrow = ["--set", "air.standard=ht", "--set", "air.width=20 MHz"];
        place.succeed(&[&["check", "hello", "--quiet", "--set", &preset][..], &narrow].concat());
    }
    for name in names("surroundings") {
        place.succeed(&["check", "tiny.toml", "--set", &format!("surroundings={name}"), "--quiet"]);
    }
    let one = place.json(&["list", "rate-controls", "--json"]);
    assert_eq!(one.as_object().expect("an object").keys().collect::<Vec<_>>(), ["rate-controls"]);
    for (_, titles) in list.as_object().expect("an object") {
        let has_title = |one: &serde_json::Value| one["title"].as_str().is_some_and(|title| title.len() > 3);
        assert!(titles.as_array().is_some_and(|all| all.iter().all(has_title)), "{titles}");
    }
    assert!(place.refuse(&["list", "nothing"]).contains("there are scenarios, grids, queues"));
}

#[cfg(unix)]
#[test]
fn open_hands_the_report_to_the_browser() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let browser = place.path("browser");
    std::fs::write(&browser, "#!/bin/sh\necho \"$1\" > opened.part && mv opened.part opened\n")
        .expect("written");
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).expect("a program");
    for (arguments, page) in [
        (&["run", "tiny.toml", "--open"][..], "runs/tiny-linux/report.html"),
        (&["compare", "tiny.toml", "--open"], "runs/tiny/report.html"),
        (&["report", "runs/tiny", "--open", "--out", "page.html"], "page.html"),
    ] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_airbound"))
            .args(arguments)
            .current_dir(place.path("."))
            .env("BROWSER", &browser)
            .output()
            .expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let begun = std::time::Instant::now();
        while !place.path("opened").exists() {
            assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{arguments:?} opens nothing");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(String::from_utf8(place.bytes("opened")).expect("text").trim(), page);
        std::fs::remove_file(place.path("opened")).expect("removed");
    }
}

#[test]
fn explain_finds_the_worst_and_the_late() {
    let place = Place::new();
    let sets = ["--set", "flow.stream.demand=4 ms", "--set", "duration=2 s"];
    place.succeed(&[&["run", "tiny.toml", "--out", "a"][..], &sets].concat());
    let worst = place.json(&["explain", "a", "--worst", "10", "--json"]);
    let latencies = |told: &serde_json::Value| -> Vec<f64> {
        told.as_array()
            .expect("a list")
            .iter()
            .map(|one| one["latency_ms"].as_f64().expect("a latency"))
            .collect()
    };
    let longest = latencies(&worst);
    assert!(longest.len() == 10 && longest.windows(2).all(|pair| pair[0] >= pair[1]), "{longest:?}");
    // The same packets as in the table of all.
    let packets: Vec<PacketRow> = TableReader::open(&place.path("a/packets.parquet"))
        .expect("a table")
        .collect::<Result<_, _>>()
        .expect("rows");
    let arrived = packets.iter().filter(|row| row.fate == Fate::Delivered);
    let mut all: Vec<f64> = arrived.map(|row| row.arrived.since(row.sent).as_millis_f64()).collect();
    all.sort_by(f64::total_cmp);
    assert_eq!(longest, all.iter().rev().take(10).copied().collect::<Vec<_>>());
    let text = place.succeed(&["explain", "a", "--worst", "3", "--flow", "stream"]);
    assert!(text.contains("The 3 packets that took longest") && text.contains("--packet"), "{text}");

    // Only the flow with a demand can be beyond it, on the way from the queue to the acknowledgement.
    let late = place.json(&["explain", "a", "--late", "--json"]);
    let beyond = |row: &&PacketRow| {
        row.flow == 0
            && row.fate == Fate::Delivered
            && row.completed.since(row.enqueued).as_millis_f64() > 4.0
    };
    let expected = packets.iter().filter(beyond).count();
    assert!(expected > 0 && late[0]["late"].as_u64() == Some(expected as u64), "{expected}, {late}");
    assert_eq!((late.as_array().map(Vec::len), &late[0]["flow"]), (Some(1), &"stream".into()));
    let csv = place.succeed(&["explain", "a", "--late", "10ms", "--csv"]);
    let beyond = all.iter().filter(|latency| **latency > 10.0).count();
    assert_eq!(csv.lines().count(), 1 + beyond);
    let columns = csv.lines().next().expect("a heading").split(',').count();
    assert!(csv.lines().all(|line| line.split(',').count() == columns), "{csv}");
    let by_flow = place.succeed(&["explain", "a", "--late", "10 ms"]);
    assert!(by_flow.contains("stream") && by_flow.contains("download") && by_flow.contains("most of it in"));

    place.succeed(&["run", "tiny.toml", "--out", "b"]);
    assert!(place.refuse(&["explain", "b", "--late"]).contains("--late 20ms"));
    assert!(place.refuse(&["explain", "a", "--worst", "1", "--late"]).contains("cannot be used with"));
    assert!(place.refuse(&["explain", "a", "--packet", "1", "--csv"]).contains("cannot be used with"));
    assert!(place.refuse(&["explain", "a", "--worst", "0"]).contains("from 1 to 100000"));
}

#[test]
fn the_worst_packets_over_relays_have_all_their_hops() {
    let place = Place::new();
    place.succeed(&["run", "multi-hop", "--set", "duration=200 ms", "--set", "warm-up=0 s", "--out", "a"]);
    for arguments in [["explain", "a", "--worst", "5", "--json"], ["explain", "a", "--late", "1us", "--json"]]
    {
        let found = place.json(&arguments);
        let list = found.as_array().expect("a list");
        let packets = if arguments[2] == "--late" { &list[0]["late_packets"] } else { &found };
        for packet in packets.as_array().expect("a list") {
            let stages = packet["stages_ms"].as_object().expect("stages");
            let sum: f64 = stages.values().filter_map(serde_json::Value::as_f64).sum();
            assert!((sum - packet["latency_ms"].as_f64().expect("a latency")).abs() < 1e-6, "{packet}");
            assert_eq!(packet["hops"].as_array().map(Vec::len), Some(2), "{packet}");
        }
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
    let text = place.succeed(&["report", "c", "--full"]);
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
    let guide = place.path("docs/use/room.md");
    fs::create_dir_all(guide.parent().expect("a folder")).expect("folders");
    fs::write(&guide, "# A room").expect("a guide");
    let text = place.succeed(&["demo"]);
    for word in ["fifo", "codel", "pie", "linux", "runs/demo/report.html"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    let page = String::from_utf8(place.bytes("runs/demo/report.html")).expect("text");
    assert!(page.contains("<svg") && !page.contains("http://www.example"));
    // The page leads to the room's guide, where there is one.
    let linked = page.split("href=\"file://").nth(1).and_then(|rest| rest.split('"').next()).expect("a link");
    assert_eq!(fs::read_to_string(linked).expect("the guide"), "# A room");
    assert!(page.contains("airbound room --demo"));
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
    std::os::unix::fs::symlink(place.path("nothing"), place.path("link.toml")).expect("a link");
    for (arguments, said) in [
        (["init", "desk.toml", "--yes"].as_slice(), "desk.toml exists; name a file that does not"),
        (&["init", "link.toml", "--yes"], "link.toml exists; name a file that does not"),
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
    assert!(!place.path("x.toml").exists() && !place.path("nothing").exists());
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

#[test]
fn check_names_all_mistakes_at_once() {
    let place = Place::new();
    let text = String::from_utf8(place.bytes("tiny.toml")).expect("text");
    let wrong = text.replace("200 ms", "200").replace("25 m", "25 parsec").replace("10 Mbit/s", "fast");
    std::fs::write(place.path("wrong.toml"), wrong).expect("written");
    let output = place.run(&["check", "wrong.toml", "--set", "seed=-1"]);
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(2), true), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    let expected = [
        "--set seed=-1: seed",
        "wrong.toml:3: duration",
        "wrong.toml:13: station.far",
        "wrong.toml:19: flow",
    ];
    assert_eq!(lines.len(), expected.len(), "{said}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(&format!("airbound: {expected}")), "{expected} in {said}");
    }
    // Other commands say the first one.
    assert!(place.refuse(&["run", "wrong.toml"]).contains("wrong.toml:3: duration"));
}

#[test]
fn a_folder_does_not_hide_a_scenario_of_its_name() {
    let place = Place::new();
    std::fs::create_dir(place.path("hello")).expect("a folder");
    place.succeed(&["check", "hello", "--quiet"]);
    std::fs::create_dir(place.path("other")).expect("a folder");
    assert!(place.refuse(&["check", "other"]).contains("it is not a file"));
}

#[test]
fn a_packet_waits_behind_its_own_channel_only() {
    let place = Place::new();
    let network = |name: &str, channel: u8| {
        format!(
            "[[network]]\nname = \"{name}\"\nchannel = {channel}\n[[station]]\nname = \"{name}-tv\"\nnetwork = \"{name}\"\n"
        )
    };
    let flow = |name: &str| format!("[[flow]]\nname = \"{name}\"\nkind = \"tcp\"\nstation = \"{name}-tv\"\n");
    let text = ["near", "far"].map(flow).concat();
    let text = format!("duration = \"500 ms\"\n{}{}{text}", network("near", 1), network("far", 6));
    std::fs::write(place.path("two.toml"), text).expect("written");
    place.succeed(&["run", "two.toml", "--out", "a", "--quiet"]);
    let worst = place.json(&["explain", "a", "--worst", "1", "--flow", "near", "--json"]);
    let packet = worst[0]["packet"].to_string();
    let story = place.succeed(&["explain", "a", "--packet", &packet]);
    assert!(story.contains("near-access-point to near-tv"), "{story}");
    assert!(!story.contains("far") && !story.contains("several at once"), "{story}");
}

#[test]
fn explain_says_what_a_packet_waited_behind() {
    let place = Place::new();
    let sets = ["--set", "duration=1 s", "--set", "wire.delay=3 ms", "--set", "wire.rate=30 Mbit/s"];
    place.succeed(&[&["run", "tiny.toml", "--out", "a", "--pcap", "air.pcap"][..], &sets].concat());
    let worst = place.json(&["explain", "a", "--worst", "1", "--flow", "stream", "--json"]);
    let packet = worst[0]["packet"].as_u64().expect("a packet").to_string();
    let told = place.json(&["explain", "a", "--packet", &packet, "--pcap", "air.pcap", "--json"]);
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or_else(|| panic!("{told}"));
    // The delay is the wire's own; the rest is the queue of its bottleneck.
    assert_eq!(number(&told["wire_delay_ms"]), 3.0);
    let wired = number(&told["stages_ms"]["wired"]);
    assert!((number(&told["wire_queue_ms"]) - (wired - 3.0)).abs() < 1e-9 && wired > 3.0, "{told}");
    // Airtime of others and silence make up the whole time before the first transmission.
    let waited = &told["waited"];
    let time = 1e3 * (number(&told["first_tx_s"]) - number(&told["enqueued_s"]));
    assert!((number(&waited["time_ms"]) - time).abs() < 1e-5, "{told}");
    let on_air: f64 =
        waited["on_air"].as_array().expect("a list").iter().map(|way| number(&way["airtime_ms"])).sum();
    // Time in which several are on the air belongs to none of them.
    let others = number(&waited["nobody_ms"]) + number(&waited["overlap_ms"]);
    assert!((on_air + others - time).abs() < 1e-5, "{told}");
    // The frame in the capture was sent at the time of the last transmission, and is of this packet.
    let bytes = place.bytes("air.pcap");
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let mut at = 24;
    for _ in 1..told["frame"].as_u64().expect("a frame") {
        at += 16 + word(at + 8) as usize;
    }
    let sent = f64::from(word(at)) + f64::from(word(at + 4)) / 1e9;
    assert!(
        sent >= number(&told["last_tx_s"]) - 1e-9 && sent <= number(&told["received_s"]),
        "{sent}: {told}"
    );
    let text = place.succeed(&["explain", "a", "--packet", &packet, "--pcap", "air.pcap"]);
    for part in ["wire queue", "wire delay     3.000 ms", "On the air in the", "nobody: backoff", "is frame"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        place.refuse(&["explain", "a", "--packet", &packet, "--pcap", "tiny.toml"]).contains("no capture")
    );
}
