//! `--pcap`: tshark reads the capture, finds nothing malformed, and counts what the record counts.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::place::Place;
use airbound_record::{Fate, PacketRow, TableReader, TxopRow};

/// Returns the lines that tshark prints: some fields of those frames that pass a filter.
fn tshark(file: &Path, filter: &str, fields: &[&str]) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-o", "tcp.analyze_sequence_numbers:FALSE", "-T", "fields"]);
    for field in fields {
        command.args(["-e", field]);
    }
    if !filter.is_empty() {
        command.args(["-Y", filter]);
    }
    let output = command.output().expect("tshark starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

fn count(file: &Path, filter: &str) -> usize {
    tshark(file, filter, &["frame.number"]).len()
}

fn has_tshark() -> bool {
    let found = Command::new("tshark").arg("--version").output().is_ok();
    if !found {
        // Past the test harness, which would keep it to itself.
        let _ = writeln!(std::io::stderr(), "SKIPPED: tshark is not installed (apt-get install tshark)");
    }
    found
}

/// Runs a scenario and compares its capture with its record.
fn examine(arguments: &[&str]) {
    let place = Place::new();
    let mut all = vec!["run"];
    all.extend(arguments);
    all.extend(["--out", "run", "--pcap", "air.pcap", "--quiet"]);
    place.succeed(&all);
    let file = place.path("air.pcap");
    assert_eq!(count(&file, "_ws.malformed"), 0);
    assert_eq!(count(&file, "_ws.expert.severity == \"Error\""), 0);

    let txops: Vec<TxopRow> = TableReader::open(&place.path("run/txops.parquet"))
        .expect("a table")
        .collect::<Result<_, _>>()
        .expect("rows");
    let mpdus: usize = txops.iter().map(|txop| usize::from(txop.mpdus)).sum();
    let acknowledged: usize = txops.iter().map(|txop| usize::from(txop.acked)).sum();
    let answered = txops.iter().filter(|txop| txop.acked > 0).count();
    assert!(mpdus > 50, "{mpdus}");
    assert_eq!(count(&file, "wlan.fc.type == 2"), mpdus);
    assert_eq!(count(&file, "wlan.fc.type == 2 && radiotap.flags.badfcs == 0"), acknowledged);
    assert_eq!(count(&file, "wlan.fc.type_subtype == 0x19 || wlan.fc.type_subtype == 0x1d"), answered);
    assert_eq!(count(&file, "wlan.fc.type == 1 && wlan.fcs.status == 0"), 0);

    // Sizes are those of the packets.
    let packets: Vec<PacketRow> = TableReader::open(&place.path("run/packets.parquet"))
        .expect("a table")
        .collect::<Result<_, _>>()
        .expect("rows");
    let mut delivered: Vec<u64> = packets
        .iter()
        .filter(|packet| packet.fate == Fate::Delivered)
        .map(|packet| packet.size.as_u64())
        .collect();
    let mut captured: Vec<u64> =
        tshark(&file, "wlan.fc.type == 2 && radiotap.flags.badfcs == 0", &["ip.len"])
            .iter()
            .map(|length| length.parse().expect("a length"))
            .collect();
    delivered.sort_unstable();
    delivered.dedup();
    captured.sort_unstable();
    captured.dedup();
    assert!(delivered.iter().all(|size| captured.contains(size)), "{delivered:?} in {captured:?}");

    // The bits of a block acknowledgement are the MPDUs that got through.
    let bits: usize = tshark(&file, "wlan.fc.type_subtype == 0x19", &["wlan.ba.bm"])
        .iter()
        .map(|bitmap| {
            bitmap.chars().filter_map(|digit| digit.to_digit(16)).map(u32::count_ones).sum::<u32>() as usize
        })
        .sum();
    let single = count(&file, "wlan.fc.type_subtype == 0x1d");
    assert_eq!(bits + single, acknowledged);
}

#[test]
fn of_a_small_network() {
    if has_tshark() {
        examine(&["tiny.toml"]);
    }
}

#[test]
fn of_each_format() {
    if has_tshark() {
        for standard in ["legacy", "ht", "vht", "he"] {
            examine(&[
                "tiny.toml",
                "--set",
                &format!("air.standard={standard}"),
                "--set",
                "air.width=20 MHz",
            ]);
        }
    }
}

#[test]
fn of_collisions_and_protection() {
    if has_tshark() {
        examine(&["uplink-video", "--set", "duration=300 ms", "--set", "warm-up=0 s"]);
        examine(&["vr-congested", "--set", "duration=300 ms", "--set", "warm-up=0 s"]);
    }
}

#[test]
fn of_relays() {
    if has_tshark() {
        examine(&["multi-hop", "--set", "duration=50 ms", "--set", "warm-up=0 s"]);
    }
}

/// The MAC header and what follows of each frame of a capture.
fn frames(capture: &[u8]) -> Vec<&[u8]> {
    let mut rest = &capture[24..];
    let mut frames = Vec::new();
    while let Some((header, behind)) = rest.split_at_checked(16) {
        let captured = u32::from_le_bytes(header[8..12].try_into().expect("four bytes")) as usize;
        let radiotap = usize::from(u16::from_le_bytes([behind[2], behind[3]]));
        frames.push(&behind[radiotap..captured]);
        rest = &behind[captured..];
    }
    frames
}

/// Each hop has its own transmitter and receiver; the packet in it keeps its ends.
#[test]
fn relays_have_addresses_of_their_own() {
    let place = Place::new();
    place.succeed(&[
        "run",
        "multi-hop",
        "--set",
        "duration=50 ms",
        "--set",
        "warm-up=0 s",
        "--out",
        "run",
        "--pcap",
        "air.pcap",
        "--quiet",
    ]);
    let capture = place.bytes("air.pcap");
    let mut seen = std::collections::BTreeSet::new();
    for frame in frames(&capture).into_iter().filter(|frame| frame[0] == 0x88) {
        let (receiver, transmitter) = (frame[9], frame[15]);
        let ip = &frame[34..];
        let downwards = frame[1] & 3 == 2;
        assert_eq!(if downwards { &ip[16..20] } else { &ip[12..16] }, [10, 1, 0, 3]);
        seen.insert((downwards, transmitter, receiver));
    }
    let down = [(true, 0, 1), (true, 1, 2), (true, 2, 3)];
    let up = [(false, 1, 0), (false, 2, 1), (false, 3, 2)];
    assert_eq!(seen, down.into_iter().chain(up).collect());
}
