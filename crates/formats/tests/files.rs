//! Each file, as it is read.

use airbound_formats::{Content, Measured, Path, Transport, percentile, read};

pub(crate) fn bytes(name: &str) -> Vec<u8> {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name);
    std::fs::read(file).expect("a file of the tests")
}

fn measured(name: &str) -> Measured {
    read(&bytes(name), name).expect(name)
}

fn path(name: &str) -> (String, Path) {
    match measured(name) {
        Measured { tool, content: Content::Path(path), .. } => (tool, path),
        other => panic!("{other:?}"),
    }
}

fn trace_of(path: &Path) -> &str {
    &path.link.as_ref().expect("a link").trace
}

#[test]
fn iperf3_has_rates_of_intervals_and_round_trips() {
    let (tool, tcp) = path("iperf3-tcp.json");
    assert_eq!(tool, "iperf3 3.12");
    // `bits_per_second` and `rtt` of the file's three intervals.
    assert_eq!(trace_of(&tcp), "time,bandwidth\n0,40.891\n1.000088,39.843\n2.000171,39.849\n");
    assert_eq!(tcp.round_trips, [0.912, 1.297, 0.429]);
    assert_eq!((tcp.loss, tcp.seconds), (None, 3.000086));
    let (_, udp) = path("iperf3-udp.json");
    assert_eq!((udp.loss, udp.round_trips.len()), (Some(0.0), 0));
}

#[test]
fn iperf3_over_udp_has_the_rate_that_arrived() {
    let whole: serde_json::Value = serde_json::from_slice(&bytes("iperf3-udp.json")).expect("JSON");
    let mut lossy = whole.clone();
    for (key, value) in [("bits_per_second", 2.5e6), ("lost_percent", 50.0)] {
        lossy["end"]["sum_received"][key] = value.into();
    }
    lossy["end"]["sum"]["lost_percent"] = 50.0.into();
    let read_of = |report: &serde_json::Value| {
        let text = report.to_string();
        let Content::Path(path) = read(text.as_bytes(), "x").expect("iperf3").content else {
            panic!("a path")
        };
        path
    };
    let path = read_of(&lossy);
    assert_eq!((trace_of(&path), path.loss), ("time,bandwidth\n0,2.500\n", Some(0.5)));
    // In reverse the intervals are the receiver's own.
    lossy["start"]["test_start"]["reverse"] = 1.into();
    for interval in lossy["intervals"].as_array_mut().expect("a list") {
        interval["sum"]["sender"] = false.into();
    }
    assert_eq!(
        trace_of(&read_of(&lossy)).lines().count(),
        1 + whole["intervals"].as_array().expect("a list").len()
    );
}

#[test]
fn iperf3_in_both_directions_has_their_sum() {
    let (_, tcp) = path("iperf3-bidir-tcp.json");
    assert!(tcp.both_ways);
    // `sum` and `sum_bidir_reverse` of the two intervals: 20.968 + 20.968 and 19.924 + 19.924.
    let whole: serde_json::Value = serde_json::from_slice(&bytes("iperf3-bidir-tcp.json")).expect("JSON");
    let rate =
        |interval: &serde_json::Value, key: &str| interval[key]["bits_per_second"].as_f64().expect(key);
    let intervals = whole["intervals"].as_array().expect("a list");
    let sums = intervals.iter().map(|one| (rate(one, "sum") + rate(one, "sum_bidir_reverse")) / 1e6);
    let expected: Vec<String> = sums.map(|rate| format!("{rate:.3}")).collect();
    let read: Vec<&str> = trace_of(&tcp).lines().skip(1).filter_map(|line| line.split(',').nth(1)).collect();
    assert_eq!((&read, read.len()), (&expected.iter().map(String::as_str).collect(), 2));
    // What arrived at the server stands at the end (4.974 Mb/s), what arrived here in the intervals (5.001, 4.992).
    let (_, udp) = path("iperf3-bidir-udp.json");
    assert_eq!(trace_of(&udp), "time,bandwidth\n0,9.975\n1.00012,9.965\n");
    assert_eq!(udp.loss, Some(0.0));
}

#[test]
fn losses_of_both_directions_count() {
    let mut lossy: serde_json::Value = serde_json::from_slice(&bytes("iperf3-bidir-udp.json")).expect("JSON");
    lossy["end"]["sum"]["lost_percent"] = 10.0.into();
    lossy["end"]["sum_bidir_reverse"]["lost_percent"] = 30.0.into();
    let Content::Path(path) = read(lossy.to_string().as_bytes(), "x").expect("iperf3").content else {
        panic!("a path")
    };
    assert_eq!(path.loss, Some(0.2));
}

/// `--json-stream` of iperf3 3.21+ (c9b74229), whole and as far as it was written.
#[test]
fn a_stream_of_events_is_a_report() {
    let text = String::from_utf8(bytes("iperf3-stream.json")).expect("text");
    let of = |text: &str| match read(text.as_bytes(), "x").expect("iperf3").content {
        Content::Path(path) => path,
        other @ Content::Packets(_) => panic!("{other:?}"),
    };
    let whole = of(&text);
    assert!(whole.both_ways && trace_of(&whole).lines().count() == 1 + 2, "{whole:?}");
    // With `--json-stream-full-output` the whole report follows.
    assert_eq!(of(&format!("{text}{{\n\t\"start\": {{}}, \"intervals\": []}}\n")), whole);
    let begun: String = text.split_inclusive('\n').take(2).collect();
    assert_eq!(trace_of(&of(&begun)).lines().count(), 1 + 1);
    let refused = r#"{"event":"error","data":"unable to connect"}
{"event":"end","data":{}}"#;
    assert_eq!(
        read(refused.as_bytes(), "x").expect_err("no test").to_string(),
        "x: iperf3 ended with an error: unable to connect"
    );
}

#[test]
fn irtt_has_a_probe_and_its_round_trips() {
    let (tool, path) = path("irtt.json");
    assert_eq!(tool, "irtt 0.9.0");
    let probe = path.probe.expect("a probe");
    assert_eq!((probe.interval, probe.bytes), (20.0, 160));
    assert_eq!((path.round_trips.len(), path.loss), (10, Some(0.0)));
    // `stats.rtt.min` of the file.
    let whole: serde_json::Value = serde_json::from_slice(&bytes("irtt.json")).expect("JSON");
    let least = whole["stats"]["rtt"]["min"].as_f64().expect("a least") / 1e6;
    assert_eq!(percentile(&path.round_trips, 0.0), Some(least));
}

#[test]
fn irtt_says_how_a_probe_was_lost() {
    let text = String::from_utf8(bytes("irtt.json")).expect("text");
    let lost = text.replacen("\"lost\": \"false\"", "\"lost\": \"true_down\"", 3);
    let Content::Path(path) = read(lost.as_bytes(), "x").expect("irtt").content else { panic!("a path") };
    assert_eq!((path.round_trips.len(), path.loss), (7, Some(0.3)));
}

#[test]
fn flent_has_series_over_one_axis() {
    let (tool, download) = path("tcp_download.flent");
    assert_eq!(tool, "flent, test tcp_download");
    // Values that flent has not measured are null.
    assert!(trace_of(&download).starts_with("time,bandwidth\n0,10.000\n0.2,20.000\n"), "{download:?}");
    assert_eq!(trace_of(&download).lines().count(), 1 + 9);
    assert_eq!((download.round_trips.len(), percentile(&download.round_trips, 50.0)), (11, Some(8.0)));
    let (tool, ping) = path("ping.flent.gz");
    assert_eq!((tool.as_str(), &ping.link), ("flent 2.3.0, test ping", &None));
    assert!(ping.round_trips.len() >= 10 && ping.round_trips.iter().all(|trip| *trip < 5.0), "{ping:?}");
}

#[test]
fn flent_in_both_directions_has_their_sum() {
    let mut data: serde_json::Value = serde_json::from_slice(&bytes("tcp_download.flent")).expect("JSON");
    let (_, download) = path("tcp_download.flent");
    data["results"]["TCP upload sum"] = data["results"]["TCP download"].clone();
    let Content::Path(both) = read(data.to_string().as_bytes(), "x").expect("flent").content else {
        panic!("a path")
    };
    let mean = |path: &Path| path.link.as_ref().and_then(|link| link.mean).expect("a mean");
    assert!(both.both_ways && !download.both_ways);
    assert!((mean(&both) - 2.0 * mean(&download)).abs() < 1e-9, "{both:?}");
}

#[test]
fn hairpin_has_round_trips_and_losses_beside_bandwidth() {
    let text = "0.000 20.0 14.0ms 0.00\n0.015 10.0 28.5ms 0.10\n0.030 30.0 7.0ms -0.01\n";
    let Content::Path(path) = read(text.as_bytes(), "trace1.log").expect("a trace").content else {
        panic!("a path")
    };
    assert_eq!(path.round_trips, [14.0, 28.5, 7.0]);
    assert_eq!(path.link.as_ref().and_then(|link| link.mean), Some(15.0));
    assert!((path.loss.expect("losses") - 0.1 / 3.0).abs() < 1e-9);
}

/// `to_csv` of pandas 3.1.1, `write.table` and `write.csv` of R 4.2.2, and a table without names.
#[test]
fn tables_of_pandas_and_r_count_their_rows() {
    let files = ["pandas.csv", "r-table.txt", "r.csv"].map(bytes);
    for file in files.iter().map(Vec::as_slice).chain([&b"0 5\n0.5 15\n"[..]]) {
        let Content::Path(path) = read(file, "x.csv").expect("a trace").content else { panic!("a path") };
        let read = (path.link.and_then(|link| link.mean), path.seconds);
        assert_eq!(read, (Some(5.0), 0.5), "{}", String::from_utf8_lossy(file));
    }
}

#[test]
fn a_rate_counts_for_as_long_as_it_holds() {
    let text = "time,bandwidth\n0,10\n1,1000\n2,10\n100,10\n";
    let Content::Path(path) = read(text.as_bytes(), "x.csv").expect("a trace").content else {
        panic!("a path")
    };
    assert_eq!((path.link.and_then(|link| link.mean), path.seconds), (Some(19.9), 100.0));
}

/// Packets and bytes of each direction of each conversation.
fn packets(name: &str) -> Vec<(Transport, [(usize, u32); 2])> {
    let Content::Packets(conversations) = measured(name).content else { panic!("packets") };
    let sums = |sent: &Vec<(f64, u32)>| (sent.len(), sent.iter().map(|(_, size)| *size).sum());
    conversations.iter().map(|one| (one.transport, [sums(&one.packets[0]), sums(&one.packets[1])])).collect()
}

#[test]
fn captures_have_the_packets_that_tshark_counts() {
    // Sums of `tshark -T fields -e ip.len` for each conversation and source.
    let udp = |sent| (Transport::Udp, sent);
    assert_eq!(packets("call.pcapng"), [udp([(20, 2430), (80, 75_650)]), udp([(13, 11_171), (7, 748)])]);
    assert_eq!(packets("call.pcap").len(), 1);
    // Linux's cooked capture of a machine that speaks to itself.
    assert_eq!(packets("any.pcapng"), [udp([(10, 1754), (11, 1786)])]);
}

#[test]
fn the_earliest_packet_begins_a_capture_wherever_it_stands() {
    // Raw IP; two earlier packets stand behind the file's first, as in captures on two interfaces.
    let mut bytes = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x65\0\0\0".to_vec();
    for micros in [2000_u32, 0, 1000, 3000, 4000, 5000, 6000, 7000, 8000, 9000] {
        for word in [1_764_000_000, micros, 28, 28] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(b"\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\x0a\0\0\x01\x0a\0\0\x02\x0f\xa0\x13\x88\0\x08\0\0");
    }
    let Content::Packets(conversations) = read(&bytes, "x").expect("a capture").content else {
        panic!("packets")
    };
    let micros = conversations[0].packets[0].iter().map(|(at, _)| (at * 1e6).round() as u32);
    assert!(micros.eq((0..10).map(|number| number * 1000)), "{:?}", conversations[0].packets);
}

/// A capture of ten frames of 14 534 bytes, of which the headers were captured.
fn uncut(linktype: u32, headers: &[u8]) -> Vec<u8> {
    let mut bytes = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0".to_vec();
    bytes.extend(linktype.to_le_bytes());
    for second in 0..10 {
        for word in [second, 0, headers.len() as u32, 14_534] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(headers);
    }
    bytes
}

#[test]
fn packets_that_the_card_is_to_cut_are_as_long_as_their_frame() {
    let tcp = b"\x9c\x40\x01\xbb\0\0\0\x01\0\0\0\x01\x50\x10\x03\xe8\0\0\0\0";
    let v4 = b"\x45\0\0\0\0\0\x40\0\x40\x06\0\0\x0a\0\0\x01\x0a\0\0\x02";
    let v6 =
        b"\x60\0\0\0\0\0\x06\x40\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02";
    let ethernet = |kind: u16, ip: &[u8]| [&[0; 12][..], &kind.to_be_bytes(), ip, tcp].concat();
    // The last one says that its frames end with a checksum of four bytes.
    for (linktype, headers, length) in [
        (1, ethernet(0x0800, v4), 14_520),
        (1, ethernet(0x86dd, v6), 14_520),
        (101, [&v4[..], tcp].concat(), 14_534),
        (0x4400_0001, ethernet(0x0800, v4), 14_520),
    ] {
        let Content::Packets(conversations) =
            read(&uncut(linktype, &headers), "x").expect("a capture").content
        else {
            panic!("packets")
        };
        assert!(
            conversations[0].packets[0].iter().all(|(_, size)| *size == length),
            "{linktype}: {conversations:?}"
        );
    }
}

/// The capture of [`uncut`] with frames cut to `snaplen` bytes.
fn cut(headers: &[u8], snaplen: usize) -> Vec<u8> {
    uncut(1, &headers[..snaplen.min(headers.len())])
}

#[test]
fn packets_cut_behind_their_ports_count_and_those_before_are_named() {
    let v4 = b"\x45\0\x05\xdc\0\0\x40\0\x40\x06\0\0\x0a\0\0\x01\x0a\0\0\x02";
    let tcp = b"\x9c\x40\x01\xbb\0\0\0\x01\0\0\0\x01\x80\x10\x03\xe8\0\0\0\0";
    let frame = [&[0; 12][..], b"\x08\0", v4, tcp].concat();
    // The options of TCP, its whole header but the ports, the ports, the header of IP, that of Ethernet.
    for snaplen in [54, 42, 38] {
        let read = read(&cut(&frame, snaplen), "x").expect("a capture");
        let Content::Packets(conversations) = read.content else { panic!("packets") };
        assert_eq!(
            (conversations[0].packets[0].len(), conversations[0].packets[0][0].1),
            (10, 1500),
            "{snaplen}"
        );
    }
    for snaplen in [37, 34, 30, 10] {
        let problem = read(&cut(&frame, snaplen), "x").expect_err("cut").to_string();
        let expected = format!(
            "x: packet 1 was cut to {snaplen} bytes, before its ports, as were 10 of 10 packets; a snaplen of 96 bytes is enough (tcpdump -s 96)"
        );
        assert_eq!(problem, expected);
    }
    // ARP has no ports to miss.
    let arp = [&[0; 12][..], b"\x08\x06\0\x01\x08\0\x06\x04\0\x01"].concat();
    assert!(read(&cut(&arp, 22), "x").expect_err("none").to_string().contains("no conversation"));
    // Both kinds in one file: the rest counts, and what is missing is said.
    let mut both = cut(&frame, 38);
    both.extend(&cut(&frame, 34)[24..]);
    let measured = read(&both, "x").expect("a capture");
    let left_out = "left out: 10 packets cut before their ports, the first is packet 11 with 34 bytes (a snaplen of 96 is enough)";
    assert_eq!(measured.left_out.as_deref(), Some(left_out));
}

#[test]
fn wrong_files_are_refused_in_one_sentence() {
    let problem = |bytes: &[u8]| read(bytes, "x").expect_err("wrong").to_string();
    assert!(problem(b"{\"a\": 1}").contains("of no known tool"));
    assert!(problem(b"{\"a\": ").starts_with("x: the JSON is damaged"));
    assert!(problem(b"\x00\xff\xfe").contains("neither a capture (pcap, pcapng) nor text"));
    assert!(problem(b"hello world again\n").starts_with("x:1: "));
    assert!(problem(&[0x1f, 0x8b, 8, 0]).starts_with("x cannot be unpacked"));
    let error = br#"{"start": {}, "intervals": [], "error": "unable to connect"}"#;
    assert_eq!(problem(error), "x: iperf3 ended with an error: unable to connect");
    // A header of pcap with the type of link of radiotap, and a packet.
    let mut monitor = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x7f\0\0\0".to_vec();
    monitor.extend([0; 8].iter().chain(&[4, 0, 0, 0, 4, 0, 0, 0]).chain(b"\0\0\x08\0"));
    assert!(
        problem(&monitor).contains("its type of link is 127; it holds 802.11 frames"),
        "{}",
        problem(&monitor)
    );
}
