//! `airbound import`: files of other tools become scenarios that run.

use std::path::Path;

use crate::place::Place;

fn file(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/files").join(name);
    file.to_str().expect("a name in UTF-8").to_owned()
}

#[test]
fn a_capture_is_sent_as_it_was_recorded() {
    let place = Place::new();
    let said = place.succeed(&["import", &file("call.pcapng"), "--out", "call", "--quiet"]);
    let begin = "call.pcapng: a capture (pcapng): 2 conversations of 192.0.2.2 with 120 packets and 0.09 MB";
    assert!(said.starts_with(begin), "{said}");
    let summary = place.json(&["run", "call/scenario.toml", "--out", "run", "--json"]);
    let flows = summary["flows"].as_array().expect("flows");
    let sent: Vec<u64> = flows.iter().filter_map(|flow| flow["packets"]["sent"].as_u64()).collect();
    // As tshark counts them, by conversation and source.
    assert_eq!(sent, [20, 80, 13, 7]);
}

#[test]
fn a_folder_is_made_whole_or_not_at_all() {
    let place = Place::new();
    place.succeed(&["import", &file("irtt.json"), "--quiet"]);
    assert!(place.path("irtt/scenario.toml").is_file());
    let again = place.refuse(&["import", &file("irtt.json")]);
    assert!(again.contains("irtt exists; name another folder with --out"), "{again}");
    // A link that is faster than any radio.
    let text = std::fs::read_to_string(file("iperf3-tcp.json")).expect("a file");
    let fast = text.replace("\"bits_per_second\":\t4", "\"bits_per_second\":\t400000");
    std::fs::write(place.path("fast.json"), fast).expect("a file");
    let said = place.refuse(&["import", "fast.json"]);
    assert!(said.contains("what it holds makes no scenario: scenario.toml:"), "{said}");
    let said = place.refuse(&["import", &file("call.pcap"), "--station", "10.9.8.7"]);
    assert!(said.contains("no conversation has the address 10.9.8.7"), "{said}");
}
