//! Sessions: run, compare, check; and what they are refused.

use crate::place::Place;

#[test]
fn a_vr_room_under_two_policies() {
    let place = Place::new();
    let results =
        place.json(&["compare", "vr-room", "--schemes", "plain,plum", "--set", "duration=20 s", "--json"]);
    assert_eq!(results["focus"], "headset-1 down");
    let goodput = |run: usize| {
        assert_eq!(results["runs"][run]["summary"]["scheme"]["session"], ["plain", "plum"][run]);
        let flows = results["runs"][run]["summary"]["flows"].as_array().expect("flows").clone();
        assert_eq!(flows.len(), 13);
        let views = flows.iter().filter(|flow| {
            flow["kind"] == "session" && flow["direction"] == "downlink" && flow["name"] != "remote"
        });
        views.take(3).map(|flow| flow["goodput_mbps"].as_f64().expect("a number")).sum::<f64>()
    };
    // Both under LAST-PQ, the scenario's queue.
    assert!(goodput(1) > 1.2 * goodput(0), "{} {}", goodput(1), goodput(0));
    let page = String::from_utf8(place.bytes("runs/vr-room/report.html")).expect("text");
    assert!(page.contains("headset-1 down") && page.contains("remote-3 up"));
    for file in ["scenario.toml", "summary.json", "performance.json", "distributions.parquet"] {
        assert!(place.path("runs/vr-room/plum-seed1").join(file).is_file(), "{file}");
    }
}

#[test]
fn the_resolved_scenario_runs_to_the_same_bytes() {
    let place = Place::new();
    let run = ["run", "remote-desktop", "--set", "duration=3 s", "--out", "one", "--quiet"];
    place.succeed(&run);
    // A run is called after its file.
    std::fs::copy(place.path("one/scenario.toml"), place.path("remote-desktop.toml")).expect("copied");
    place.succeed(&["run", "remote-desktop.toml", "--out", "two", "--quiet"]);
    for file in ["scenario.toml", "summary.json", "distributions.parquet"] {
        assert_eq!(place.bytes(&format!("one/{file}")), place.bytes(&format!("two/{file}")), "{file}");
    }
    let summary: serde_json::Value = serde_json::from_slice(&place.bytes("one/summary.json")).expect("JSON");
    assert_eq!(summary["scheme"]["session"], "plum");
}

#[test]
fn what_sessions_are_refused() {
    let place = Place::new();
    for (arguments, words) in [
        (&["run", "vr-room", "--pcap", "air.pcap"][..], "--pcap"),
        (&["plan", "vr-room"], "session"),
        (&["law", "choose-bound", "vr-room"], "session"),
        (&["compare", "hello", "--schemes", "plum,plain"], "no [session]"),
        (&["run", "vr-room", "--scheme", "plom"], "did you mean plum"),
        (&["run", "vr-room", "--set", "session.client.remote.wire=none"], "session.client.remote.wire"),
    ] {
        let sentence = place.refuse(arguments);
        assert!(sentence.contains(words), "{words} in {sentence}");
    }
}
