//! `airbound export`: runs in the formats of other tools.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Command;

use airbound_record::{Fate, PacketRow, SenderRow, TableReader};
use serde_json::Value;

use crate::place::Place;

fn rows<R: airbound_record::Row>(place: &Place, name: &str) -> Vec<R> {
    let table = TableReader::open(&place.path(name)).expect("a table");
    table.collect::<Result<_, _>>().expect("rows")
}

#[test]
fn a_data_file_of_flent_has_the_rates_and_round_trips_of_the_run() {
    let place = Place::new();
    let summary = place.json(&["run", "tiny.toml", "--out", "run", "--json", "--set", "warm-up=0 s"]);
    place.succeed(&["export", "run", "--as", "flent", "--out", "run.flent.gz"]);
    // Its own kind is replaced, with the same bytes.
    let first = place.bytes("run.flent.gz");
    place.succeed(&["export", "run", "--as", "flent", "--out", "run.flent.gz"]);
    assert!(first == place.bytes("run.flent.gz"));
    let said = place.succeed(&["import", "run.flent.gz", "--out", "imported", "--quiet"]);
    let download = &summary["flows"][1];
    let goodput = download["goodput_mbps"].as_f64().expect("a rate");
    assert!(said.contains(&format!("TCP download sum of {goodput:.1} Mb/s")), "{goodput} {said}");
    let measured = airbound_formats::read(&first, "run.flent.gz").expect("a file");
    let airbound_formats::Content::Path(path) = measured.content else { panic!("a path") };
    let senders: Vec<SenderRow> = rows(&place, "run/senders.parquet");
    assert!(senders.len() > 50, "{}", senders.len());
    let windows: BTreeSet<u64> =
        senders.iter().filter(|row| row.rtt.is_some()).map(|row| row.at.as_nanos() / 100_000_000).collect();
    assert_eq!(path.round_trips.len(), windows.len());
    if !has("flent") {
        return;
    }
    let output = Command::new("flent").args(["-f", "summary"]).arg(place.path("run.flent.gz")).output();
    let text = String::from_utf8_lossy(&output.expect("it starts").stdout).into_owned();
    let line =
        |name: &str| text.lines().find(|line| line.trim().starts_with(name)).unwrap_or_default().to_owned();
    assert!(line("TCP download sum").contains(&format!("{goodput:.2}")), "{text}");
    assert!(
        line("Ping (ms) TCP download")
            .ends_with(&senders.iter().filter(|row| row.rtt.is_some()).count().to_string()),
        "{text}"
    );
}

#[test]
fn qlog_of_a_sender_has_each_of_its_packets() {
    let place = Place::new();
    place.succeed(&["run", "tiny.toml", "--out", "run", "--scheme", "codel"]);
    place.succeed(&["export", "run", "--as", "qlog", "--out", "download.sqlog"]);
    let text = String::from_utf8(place.bytes("download.sqlog")).expect("text");
    let records: Vec<Value> = text
        .split_terminator('\n')
        .map(|line| serde_json::from_str(line.strip_prefix('\u{1e}').expect("a record")).expect("JSON"))
        .collect();
    assert_eq!(records[0]["file_schema"], "urn:ietf:params:qlog:file:sequential");
    assert_eq!(records[0]["trace"]["vantage_point"]["type"], "server");
    let events = |name: &'static str| records[1..].iter().filter(move |event| event["name"] == name);
    assert!(records[1..].windows(2).all(|pair| pair[0]["time"].as_f64() <= pair[1]["time"].as_f64()));

    let packets: Vec<PacketRow> = rows(&place, "run/packets.parquet");
    let own = || packets.iter().filter(|packet| packet.flow == 1);
    let at = |event: &Value| event["time"].as_f64().expect("a time");
    let sent: Vec<(u64, f64)> = events("quic:packet_sent")
        .map(|event| (event["data"]["header"]["packet_number"].as_u64().expect("a number"), at(event)))
        .collect();
    assert_eq!(sent.len(), own().count());
    let dropped = own().filter(|packet| matches!(packet.fate, Fate::Dropped(_))).count();
    assert_eq!(events("quic:packet_lost").count(), dropped);
    let mut acked = BTreeSet::new();
    for event in events("quic:packets_acked") {
        for number in event["data"]["packet_numbers"].as_array().expect("numbers") {
            let number = number.as_u64().expect("a number");
            assert!(acked.insert(number), "{number} is acknowledged twice");
            let packet = own().find(|packet| packet.packet / 3 == number).expect("a packet");
            assert!(packet.arrived.as_nanos() as f64 / 1e6 < at(event), "{number}");
        }
    }
    let delivered = own().filter(|packet| packet.fate == Fate::Delivered).count();
    assert!(acked.len() <= delivered && acked.len() + 50 > delivered, "{} of {delivered}", acked.len());
    // What the sender measured is what its packets took: the least round trip is that of one of them.
    let least = events("quic:recovery_metrics_updated")
        .filter_map(|event| event["data"]["min_rtt"].as_f64())
        .next_back();
    let ended = events("quic:packets_acked").flat_map(|event| {
        let numbers = event["data"]["packet_numbers"].as_array().expect("numbers").clone();
        let of = |number: &Value| {
            sent.iter().find(|sent| Some(sent.0) == number.as_u64()).map(|sent| at(event) - sent.1)
        };
        numbers.iter().filter_map(of).collect::<Vec<f64>>()
    });
    let shortest = ended.fold(f64::INFINITY, f64::min);
    assert!(least.is_some_and(|least| (least - shortest).abs() < 0.01), "{least:?} {shortest}");
}

#[test]
fn what_cannot_be_exported_is_said() {
    let place = Place::new();
    place.succeed(&["run", "tiny.toml", "--out", "run", "--no-packet-log"]);
    let said = place.refuse(&["export", "run", "--as", "qlog", "--out", "a.sqlog"]);
    assert!(said.contains("run has no packets.parquet; run it again with --log-packets"), "{said}");
    place.succeed(&["run", "tiny.toml", "--out", "run"]);
    let said = place.refuse(&["export", "run", "--as", "qlog", "--flow", "stream", "--out", "a.sqlog"]);
    assert!(said.contains("stream is no flow with a sender; allowed are download"), "{said}");
    let said = place.refuse(&["export", "run", "--as", "flent", "--flow", "stream", "--out", "a.flent.gz"]);
    assert!(said.contains("--flow: a data file of flent has all flows"), "{said}");
    std::fs::write(place.path("a.flent.gz"), "mine").expect("a file");
    place.refuse(&["export", "run", "--as", "flent", "--out", "a.flent.gz"]);
    assert_eq!(place.bytes("a.flent.gz"), b"mine");
}

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        // Past the test harness, which would keep it to itself.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {program} is not installed");
    }
    found
}
