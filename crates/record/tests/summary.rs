//! The summary's bytes are an interface: a change affects every reader.

use crate::example;
use airbound_record::{
    FlowSummary, FoundSummary, Jain, LatencyStats, Performance, RecordError, RunFolder, Summary,
};

const GOLDEN: &str = include_str!("golden/summary.json");

#[test]
fn the_bytes_are_those_agreed() {
    assert_eq!(example::summary().to_json().unwrap(), GOLDEN);
    let read: Summary = serde_json::from_str(GOLDEN).unwrap();
    assert_eq!(read, example::summary());
    assert_eq!(
        example::performance().to_json().unwrap(),
        "{\n  \"events\": 123456,\n  \"wall_s\": 0.25,\n  \"simulated_s_per_wall_s\": 80.0,\n  \"peak_rss_mb\": null\n}\n"
    );
}

#[test]
fn numbers_are_rounded_to_six_digits() {
    let mut summary = example::summary();
    summary.duration_s = 1.0 / 3.0;
    summary.flows[0].goodput_mbps = 123_456_789.0;
    let text = summary.to_json().unwrap();
    assert!(text.contains("\"duration_s\": 0.333333,"), "{text}");
    assert!(text.contains("\"goodput_mbps\": 123457000.0,"), "{text}");
    // A second round trip gives the same bytes.
    let again: Summary = serde_json::from_str(&text).unwrap();
    assert_eq!(again.to_json().unwrap(), text);
}

#[test]
fn undefined_numbers_are_refused() {
    let mut summary = example::summary();
    summary.air.busy_share = f64::NAN;
    assert!(matches!(summary.to_json(), Err(RecordError::Unwritable { document: "summary", .. })));
    let slow = Performance { simulated_s_per_wall_s: f64::INFINITY, ..example::performance() };
    assert!(slow.to_json().is_err());
}

#[test]
fn unknown_and_missing_keys_are_refused_with_file_and_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("summary.json");
    for (text, wanted) in [
        (GOLDEN.replacen("\"seed\"", "\"sead\"", 1), "unknown field `sead`"),
        (GOLDEN.replacen("  \"seed\": 7,\n", "", 1), "missing field `seed`"),
        (GOLDEN[..200].to_owned(), "EOF"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = RunFolder::open(dir.path()).unwrap().summary().unwrap_err().to_string();
        assert!(
            error.contains(wanted) && error.contains("summary.json") && error.contains("line"),
            "{error}"
        );
    }
}

#[test]
fn empty_measurements_are_null_and_not_zero() {
    let flow: &FlowSummary = &example::summary().flows[1];
    assert_eq!(flow.latency_ms, LatencyStats::default());
    assert!(GOLDEN.contains("\"p50\": null"));
    assert_eq!(Jain::index(&[]), None);
    assert_eq!(Jain::index(&[0.0, 0.0]), None);
    assert_eq!(Jain::index(&[2.0, 2.0, 2.0]), Some(1.0));
    assert_eq!(Jain::index(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
}

#[test]
fn a_found_flow_has_time_and_reason() {
    let mut summary = example::summary();
    assert!(!GOLDEN.contains("\"found\""), "flows that were not found have no entry");
    let found = FoundSummary { at_s: 3.25, because: "its rhythm".to_owned() };
    summary.flows[1].found = Some(found.clone());
    let read: Summary = serde_json::from_str(&summary.to_json().unwrap()).unwrap();
    assert_eq!(read.flows[1].found, Some(found));
}
