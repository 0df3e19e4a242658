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
    // Handshakes took no airtime.
    let on_air = "wlan.fc.type == 2 && !(tcp.flags.syn == 1)";
    assert_eq!(count(&file, on_air), mpdus);
    assert_eq!(count(&file, &format!("{on_air} && radiotap.flags.badfcs == 0")), acknowledged);
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

/// Readers that take the last four captured octets for the FCS, as scapy, dpkt and gopacket do, have all headers of each frame.
#[test]
fn headers_are_whole_without_the_last_four_octets() {
    let place = Place::new();
    let sets = ["--set", "duration=300 ms", "--set", "warm-up=0 s", "--pcap", "air.pcap", "--quiet"];
    place.succeed(&[&["run", "vr-congested"][..], &sets].concat());
    let capture = place.bytes("air.pcap");
    let (mut datagrams, mut segments, mut damaged) = (0, 0, 0);
    for frame in frames(&capture) {
        let frame = &frame[..frame.len() - 4];
        // Of control frames only BlockAck, RTS, CTS and ACK occur, which are whole.
        let header = match frame[0] {
            0x88 => 26,
            0x08 => 24,
            _ => continue,
        };
        if frame.len() == header {
            damaged += 1;
            continue;
        }
        let ip = &frame[header + 8..];
        let transport = &ip[20..];
        if ip[9] == 17 {
            assert_eq!(transport.len(), 8);
            datagrams += 1;
        } else {
            assert_eq!((ip[9], transport.len()), (6, usize::from(transport[12] >> 4) * 4));
            segments += 1;
        }
    }
    assert!(datagrams > 20 && segments > 50 && damaged > 5, "{datagrams} {segments} {damaged}");
}

/// With the preference that file-formats.md names, tshark finds SIFS between data and answer: 16 us at 5 GHz; at 2.4 GHz 10 us
/// behind a signal extension of 6 us.
#[test]
fn answers_follow_after_sifs() {
    if !has_tshark() {
        return;
    }
    for standard in ["legacy", "ht"] {
        for band in ["5 GHz", "2.4 GHz"] {
            let place = Place::new();
            let (standard, band) = (format!("air.standard={standard}"), format!("air.band={band}"));
            let sets = ["--set", &standard, "--set", &band, "--set", "air.width=20 MHz"];
            place.succeed(&[&["run", "tiny.toml", "--pcap", "air.pcap", "--quiet"][..], &sets].concat());
            let mut command = Command::new("tshark");
            command.arg("-r").arg(place.path("air.pcap")).args(["-o", "wlan_radio.tsf_at_end:FALSE"]);
            command.args(["-Y", "wlan.fc.type_subtype == 0x19 || wlan.fc.type_subtype == 0x1d"]);
            let output =
                command.args(["-T", "fields", "-e", "wlan_radio.ifs"]).output().expect("tshark starts");
            let text = String::from_utf8(output.stdout).expect("text");
            let spaces: Vec<i64> = text.lines().map(|line| line.parse().expect("microseconds")).collect();
            assert!(spaces.len() > 20, "{standard} {band}: {}", spaces.len());
            // tshark counts no delimiter of an A-MPDU with one MPDU, which may take a symbol.
            assert!(spaces.iter().all(|space| matches!(space, 16 | 20)), "{standard} {band}: {spaces:?}");
            assert!(spaces.iter().filter(|space| **space == 16).count() * 2 > spaces.len(), "{spaces:?}");
        }
    }
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
    for frame in frames(&capture).into_iter().filter(|frame| frame[0] == 0x88 && frame.len() > 54) {
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

/// Returns the fields that tshark prints with its analysis of TCP.
fn analysed_fields(file: &Path, filter: &str, fields: &[&str]) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-Y", filter, "-T", "fields"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

/// Returns the numbers of the frames that pass a filter of tshark with its analysis of TCP.
fn analysed(file: &Path, filter: &str) -> Vec<String> {
    analysed_fields(file, filter, &["frame.number"])
}

/// Each segment that tshark suspects to be out of order was so on the air: an MPDU that its receiver did not get at first
/// (the same transmitter, receiver, TID and sequence number, with a bad FCS), or a segment that TCP itself sent again.
#[test]
fn segments_out_of_order_were_so_on_the_air() {
    if !has_tshark() {
        return;
    }
    let place = Place::new();
    let sets = ["--set", "duration=2 s", "--pcap", "air.pcap", "--quiet"];
    place.succeed(&[&["run", "vr-congested", "--scheme", "linux"][..], &sets].concat());
    let file = place.path("air.pcap");
    let names = [
        "wlan.ta",
        "wlan.ra",
        "wlan.qos.tid",
        "wlan.seq",
        "wlan.fc.retry",
        "radiotap.flags.badfcs",
        "tcp.stream",
        "tcp.srcport",
        "tcp.options.timestamp.tsval",
        "tcp.analysis.out_of_order",
    ];
    let is_set = |field: &str| field == "1" || field == "True";
    let mut damaged = std::collections::BTreeSet::new();
    let mut newest = std::collections::BTreeMap::new();
    let (mut by_air, mut by_tcp) = (0, 0);
    for line in analysed_fields(&file, "wlan.fc.type == 2 && !(tcp.flags.syn == 1)", &names) {
        let fields: Vec<&str> = line.split('\t').collect();
        let (mpdu, connection) = (fields[..4].join(" "), fields[6..8].join(" "));
        if is_set(fields[5]) {
            damaged.insert(mpdu);
            continue;
        }
        let Ok(sent) = fields[8].parse::<u64>() else { continue };
        let newest = newest.entry(connection).or_insert(0);
        if !fields[9].is_empty() {
            let is_of_air = is_set(fields[4]) && damaged.contains(&mpdu);
            // TCP sent it after all that came before.
            assert!(is_of_air || sent >= *newest, "{line}");
            *if is_of_air { &mut by_air } else { &mut by_tcp } += 1;
        }
        *newest = sent.max(*newest);
    }
    assert!(by_air > 0 && by_tcp > 0, "{by_air} {by_tcp}");
}

/// Where collisions destroy aggregates as a whole, hundreds of MPDUs are transmitted again, and tshark takes none for a segment out of
/// order.
#[test]
fn retransmissions_of_whole_aggregates_are_no_disorder_of_tcp() {
    if !has_tshark() {
        return;
    }
    let place = Place::new();
    let sets = ["--set", "duration=1 s", "--set", "warm-up=0 s", "--pcap", "air.pcap", "--quiet"];
    place.succeed(&[&["run", "home-evening"][..], &sets].concat());
    let file = place.path("air.pcap");
    assert!(analysed(&file, "wlan.fc.retry == 1").len() > 100);
    assert_eq!(analysed(&file, "tcp.analysis.out_of_order && wlan.fc.retry == 1"), [""; 0]);
    let streams = tshark(&file, "tcp", &["tcp.stream"]);
    let streams = streams.iter().collect::<std::collections::BTreeSet<_>>().len();
    for flags in ["tcp.flags == 0x002", "tcp.flags == 0x012"] {
        assert_eq!(analysed(&file, flags).len(), streams, "{flags}");
    }
    // No window looks full, which the scale of the handshake says.
    assert_eq!(analysed(&file, "tcp.analysis.window_full || tcp.analysis.zero_window"), [""; 0]);
}

/// Each short transfer is a connection, from its SYN to the FIN of its last segment.
#[test]
fn short_transfers_begin_and_end() {
    if !has_tshark() {
        return;
    }
    let place = Place::new();
    let short = "flow.download={ name = \"download\", kind = \"tcp-short\", station = \"far\", size = \"20 kB\", interval = \"20 ms\" }";
    let sets = ["--set", short, "--set", "duration=1 s", "--out", "run", "--pcap", "air.pcap", "--quiet"];
    place.succeed(&[&["run", "tiny.toml"][..], &sets].concat());
    let file = place.path("air.pcap");
    let fins = tshark(&file, "tcp.flags.fin == 1", &["tcp.stream", "tcp.seq", "tcp.len"]);
    assert!(fins.len() > 5, "{fins:?}");
    let mut streams: Vec<&str> = Vec::new();
    for fin in &fins {
        let fields: Vec<&str> = fin.split('\t').collect();
        let numbers: Vec<u64> = fields.iter().map(|field| field.parse().expect("a number")).collect();
        assert_eq!(numbers[1] + numbers[2], 20_001, "{fin}");
        streams.push(fields[0]);
    }
    let opened = count(&file, "tcp.flags == 0x002");
    let closed = streams.iter().collect::<std::collections::BTreeSet<_>>().len();
    // The last transfers may be under way.
    assert!((closed..=closed + 2).contains(&opened), "{opened} opened, {closed} closed");
    assert!(opened > 20 && streams.len() == fins.len(), "{streams:?}");
    assert_eq!(analysed(&file, "tcp.analysis.reused_ports || tcp.analysis.out_of_order"), [""; 0]);
}

/// Signal and noise are those of the channel, and each MPDU says which aggregate it is of.
#[test]
fn frames_have_power_and_aggregate() {
    if !has_tshark() {
        return;
    }
    let place = Place::new();
    place.succeed(&["run", "tiny.toml", "--pcap", "air.pcap", "--quiet"]);
    let file = place.path("air.pcap");
    let mut signals: std::collections::BTreeMap<String, Vec<i32>> = std::collections::BTreeMap::new();
    for line in tshark(
        &file,
        "wlan.fc.type == 2 && wlan.fc.ds == 2 && wlan.fc.subtype == 8",
        &["radiotap.dbm_antsignal", "radiotap.dbm_antnoise", "wlan.ra"],
    ) {
        let parts: Vec<&str> = line.split('\t').collect();
        // Thermal noise of 80 MHz, -94.9 dBm, and the receiver's 7 dB.
        assert_eq!(parts[1], "-88", "{line}");
        signals.entry(parts[2].to_owned()).or_default().push(parts[0].parse().expect("a power"));
    }
    let near = &signals["02:00:00:00:00:01"];
    let far = &signals["02:00:00:00:00:02"];
    assert!(near.iter().min() > far.iter().max(), "{near:?} {far:?}");
    let aggregates = tshark(
        &file,
        "radiotap.present.ampdu == 1",
        &["radiotap.ampdu.reference", "radiotap.ampdu.flags.last"],
    );
    let last = aggregates.iter().filter(|line| line.ends_with('1') || line.ends_with("True")).count();
    let numbers: std::collections::BTreeSet<&str> =
        aggregates.iter().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(last, numbers.len());
}

#[test]
fn a_pcapng_capture_has_a_comment_for_each_dropped_packet() {
    if !has_tshark() {
        return;
    }
    let place = Place::new();
    let run = |file: &str| {
        let changes = ["--set", "flow.stream.rate=300 Mbit/s", "--scheme", "codel"];
        place.succeed(&[&["run", "tiny.toml", "--out", "run", "--pcap", file][..], &changes].concat());
    };
    run("air.pcap");
    run("air.pcapng");
    let (records, blocks) = (place.path("air.pcap"), place.path("air.pcapng"));
    assert_eq!(count(&blocks, "_ws.malformed"), 0);
    // The air is the same in both.
    let air = ["frame.time_epoch", "frame.len", "frame.cap_len", "wlan.seq", "ip.id"];
    assert!(tshark(&records, "", &air) == tshark(&blocks, "frame.interface_name == \"air\"", &air));

    let packets: Vec<PacketRow> = TableReader::open(&place.path("run/packets.parquet"))
        .expect("a table")
        .collect::<Result<_, _>>()
        .expect("rows");
    let dropped = packets.iter().filter(|packet| matches!(packet.fate, Fate::Dropped(_)));
    let mut expected: Vec<u64> = dropped.map(|packet| packet.packet).collect();
    let said = tshark(&blocks, "frame.interface_name == \"drops\"", &["frame.number", "frame.comment"]);
    let number = |line: &String| line.split_whitespace().nth(2).and_then(|number| number.parse().ok());
    let mut found: Vec<u64> = said.iter().filter_map(number).collect();
    let (frame, first) = (said[0].split_whitespace().next().expect("a frame"), found[0].to_string());
    let story = place.json(&["explain", "run", "--packet", &first, "--pcap", "air.pcapng", "--json"]);
    assert_eq!(story["frame"].to_string(), frame);
    assert!(
        said[0].ends_with(&format!("dropped: {}", story["fate"].as_str().expect("a reason"))),
        "{}",
        said[0]
    );
    expected.sort_unstable();
    found.sort_unstable();
    assert!(expected.len() > 50 && expected == found, "{} {}", expected.len(), found.len());
    // A packet of the air has the same number in both, less the drops before it.
    let arrived = packets.iter().rfind(|packet| packet.fate == Fate::Delivered).expect("a packet");
    let of = |file: &str| {
        let number = arrived.packet.to_string();
        let story = place.json(&["explain", "run", "--packet", &number, "--pcap", file, "--json"]);
        story["frame"].as_u64().expect("a frame")
    };
    let before = of("air.pcapng");
    let drops = count(&blocks, &format!("frame.interface_name == \"drops\" && frame.number < {before}"));
    assert_eq!(before - drops as u64, of("air.pcap"));
}
