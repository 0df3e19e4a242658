//! Sessions: run, compare, check; and what they are refused.

use crate::place::Place;

#[test]
fn a_vr_room_under_two_policies() {
    let place = Place::new();
    let results =
        place.json(&["compare", "vr-room", "--schemes", "plain,plum", "--set", "duration=20 s", "--json"]);
    assert_eq!(results["focus"], "headset-1 down");
    // Both under LAST-PQ, the scenario's queue: the worst headset's latency, and what is left to the download.
    let outcome = |run: usize| {
        assert_eq!(results["runs"][run]["summary"]["scheme"]["session"], ["plain", "plum"][run]);
        let flows = results["runs"][run]["summary"]["flows"].as_array().expect("flows").clone();
        assert_eq!(flows.len(), 13);
        let measured = flows.iter().filter_map(|flow| flow["demand"]["measured_ms"].as_f64());
        let download = flows.iter().find(|flow| flow["name"] == "download").expect("a download");
        (measured.fold(0.0, f64::max), download["goodput_mbps"].as_f64().expect("a number"))
    };
    let ((late, starved), (in_time, fed)) = (outcome(0), outcome(1));
    assert!(late > 60.0 && in_time < 35.0, "{late} {in_time}");
    assert!(starved < 1.0 && fed > 3.0, "{starved} {fed}");
    let page = String::from_utf8(place.bytes("runs/vr-room/report.html")).expect("text");
    assert!(page.contains("headset-1 down") && page.contains("remote-3 up"));
    let warning = "Under plain headset-1 down misses its demand and download is left with";
    assert!(page.contains(warning), "who starves is named");
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
        (&["run", "remote-desktop", "--pcap", "air.pcap"][..], "--pcap"),
        (
            &["plan", "vr-room", "--demand", "helmet=9ms"],
            "there is no such flow; flows are download, headset-1 down",
        ),
        (&["law", "choose-bound", "vr-room", "--flow", "helmet"], "flows are headset-1 up, headset-1 down"),
        (&["compare", "hello", "--schemes", "plum,plain"], "no [session]"),
        (&["run", "vr-room", "--scheme", "plom"], "did you mean plum"),
        (
            &["run", "vr-room", "--set", "scheme.session.rho=2"],
            "--set scheme.session.rho=2: scheme.session.rho is 2; allowed is 0 to 1",
        ),
        (&["run", "vr-room", "--set", "session.server=none"], "or \"ample\""),
        (&["run", "vr-room", "--set", "session.client.remote.wire=none"], "session.client.remote.wire"),
    ] {
        let sentence = place.refuse(arguments);
        assert!(sentence.contains(words), "{words} in {sentence}");
    }
}

#[test]
fn packets_of_sessions_are_logged_and_explained() {
    let place = Place::new();
    place.succeed(&[
        "run",
        "vr-room",
        "--set",
        "duration=1 s",
        "--out",
        "room",
        "--pcap",
        "air.pcap",
        "--quiet",
    ]);
    assert!(place.path("air.pcap").is_file());
    // A headset is on the air, a remote user behind a wire; the download has acknowledgements of its own.
    for flow in
        ["headset-2 down", "headset-2 up", "remote-1 down", "remote-3 up", "download", "download (acks)"]
    {
        let story = place.json(&["explain", "room", "--packet", "50", "--flow", flow, "--json"]);
        assert_eq!(story["flow"], flow);
        assert_eq!(story["fate"], "delivered", "{story}");
        assert!(story["latency_ms"].as_f64().is_some_and(|latency| latency > 0.0), "{story}");
    }
    let story = place.json(&["explain", "room", "--packet", "50", "--flow", "remote-1 down", "--json"]);
    assert_eq!(story["station"], "remote-1");
    // Nothing of Wi-Fi lies on a wire.
    assert_eq!((&story["link"], &story["waited"]), (&serde_json::json!("pipe"), &serde_json::Value::Null));
    let story = place.succeed(&["explain", "room", "--packet", "50", "--flow", "remote-1 down"]);
    assert!(story.contains("carried by a wire or a pipe in place of Wi-Fi"), "{story}");
    assert!(!story.contains("TXOP") && !story.contains("Wi-Fi transmitter"), "{story}");
    let worst = place.succeed(&["explain", "room", "--worst", "2"]);
    assert!(worst.contains("count on one access link"), "{worst}");
}

#[test]
fn plans_and_bounds_know_sessions() {
    let place = Place::new();
    let plan = place.json(&["plan", "vr-room", "--json"]);
    // `compare vr-room` keeps them with last-pq and plum, too.
    assert_eq!(plan["answer"], "yes", "{plan}");
    let demands = plan["demands"].as_array().expect("demands");
    let flows: Vec<&str> = demands.iter().filter_map(|demand| demand["flow"].as_str()).collect();
    assert_eq!(flows, ["headset-1 down", "headset-2 down", "headset-3 down"]);
    assert!(
        demands.iter().all(|demand| demand["rate_mbps"].as_f64().is_some_and(|rate| rate > 5.0)),
        "{plan}"
    );
    // A session fills what there is, so that nothing is said of more.
    assert!(plan["headroom"].is_null(), "{plan}");
    let text = place.succeed(&["plan", "vr-room"]);
    assert!(text.contains("of the airtime is left") && !text.contains("more could be carried"), "{text}");
    let bound = ["law", "choose-bound", "vr-room", "--seeds", "1", "--set", "duration=5 s", "--json"];
    let bound = place.json(&bound);
    assert_eq!(bound["flow"], "headset-1 down", "{bound}");
}

#[test]
fn the_series_of_a_session_has_all_of_its_clients() {
    use airbound_record::{RunFolder, SeriesRow, TableReader};

    let place = Place::new();
    place.succeed(&["run", "vr-room", "--set", "duration=2 s", "--out", "room", "--quiet"]);
    let folder = RunFolder::open(&place.path("room")).expect("a run");
    let rows = TableReader::<SeriesRow>::open(&folder.file("series.parquet")).expect("a table");
    let info = rows.info().clone();
    let rows: Vec<SeriesRow> = rows.collect::<Result<_, _>>().expect("rows");
    for flow in folder.summary().expect("a summary").flows {
        let number = info.flows.iter().position(|name| *name == flow.name).expect("a name");
        let own: Vec<&SeriesRow> = rows.iter().filter(|row| row.flow as usize == number).collect();
        // Warm-up and measured time in windows of 100 ms.
        assert_eq!(own.len(), 70, "{}", flow.name);
        let measured = own[50..].iter().map(|row| row.goodput_mbps).sum::<f64>() / 20.0;
        // Packets have headers, and frames are complete later.
        let whole = measured / flow.goodput_mbps;
        assert!((0.85..1.6).contains(&whole), "{}: {measured} and {}", flow.name, flow.goodput_mbps);
        assert!(own[50..].iter().filter_map(|row| row.latency_p50_ms).all(|latency| latency > 0.0));
        // What is sent, up and down, and by a transfer without a limit, is offered.
        let offered = own[50..].iter().map(|row| row.offered_mbps).sum::<f64>() / 20.0;
        assert!((0.9..1.2).contains(&(offered / measured)), "{}: {offered} and {measured}", flow.name);
    }
}
