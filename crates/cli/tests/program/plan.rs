//! `airbound plan` answers by its exit code, in a table that fits, and in one form for machines.

use crate::place::Place;

#[test]
fn yes_and_no_are_exit_codes() {
    let place = Place::new();
    let yes = place.succeed(&["plan", "tiny.toml", "--demand", "stream=40ms@95"]);
    assert!(yes.contains("yes: all demands can be met"), "{yes}");
    assert!(yes.contains("ask LAST-PQ to hold 38.1 ms for stream"), "{yes}");
    let no = place.run(&["plan", "tiny.toml", "--demand", "stream=2ms@99.9"]);
    assert_eq!(no.status.code(), Some(1));
    let text = String::from_utf8(no.stdout).expect("text");
    assert!(text.contains("no: stream misses its demand by") && text.contains("relax stream to"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    // The default wire takes 1 ms.
    let wire = place.run(&["plan", "tiny.toml", "--demand", "stream=1ms"]);
    let text = String::from_utf8(wire.stdout).expect("text");
    assert!(text.contains("no: the wire of stream takes 1.0 ms by itself"), "{text}");
    assert_eq!(String::from_utf8(no.stderr).expect("text"), "airbound: 1 of 1 demands cannot be met\n");
}

#[test]
fn the_form_for_machines_has_its_keys() {
    let place = Place::new();
    let plan = place.json(&["plan", "tiny.toml", "--demand", "stream=40ms", "--json"]);
    assert_eq!((&plan["scenario"], &plan["answer"]), (&"tiny".into(), &"yes".into()));
    assert_eq!(plan["close"], false, "{plan}");
    let demand = &plan["demands"][0];
    assert_eq!((&demand["latency_ms"], &demand["percentile"]), (&40.0.into(), &95.0.into()));
    assert_eq!((&demand["wire_ms"], &demand["left_ms"]), (&1.0.into(), &39.0.into()));
    // The longest of the grid that is no longer than what is left: 2 ms, 17 steps of a quarter of a doubling.
    assert_eq!(demand["target_ms"], 38.054, "{plan}");
    let (expected, margin) = (demand["expected_ms"].as_f64(), demand["margin_ms"].as_f64());
    assert!((expected.expect("a number") + margin.expect("a number") - 40.0).abs() < 0.01, "{plan}");
}

#[test]
fn what_cannot_be_planned_is_said() {
    let place = Place::new();
    for (arguments, part) in [
        (&["plan", "tiny.toml"][..], "the scenario demands nothing"),
        (&["plan", "tiny.toml", "--demand", "stream=fast"], "is not a time with a unit"),
        (
            &["plan", "tiny.toml", "--demand", "strem=20ms"],
            "there is no such flow; flows are stream, download",
        ),
        (&["plan", "tiny.toml", "--demand", "download=20ms"], "its rate has no limit; set one"),
    ] {
        let sentence = place.refuse(arguments);
        assert!(sentence.contains(part), "{sentence}");
    }
}
