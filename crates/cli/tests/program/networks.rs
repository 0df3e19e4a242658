//! Several networks in one scenario: their names stand in summary, report and tables; plans and captures know them.

use airbound_record::{PacketRow, RunFolder, TableReader, TxopRow};

use crate::place::{Place, TINY};

fn place() -> Place {
    let place = Place::new();
    let networks = "[[network]]\nname = \"ours\"\n[[network]]\nname = \"theirs\"\ncount = 3\nchannels = 2\nscheme = \"fifo\"\n";
    std::fs::write(place.path("floor.toml"), format!("{TINY}{networks}")).expect("written");
    place
}

#[test]
fn summary_report_and_tables_carry_the_names() {
    let place = place();
    let text = place.succeed(&["run", "floor.toml", "--quiet", "--out", "run"]);
    assert_eq!(text, "");
    let report = place.succeed(&["report", "run"]);
    assert!(report.contains("Networks") && report.contains("theirs-3"), "{report}");
    let page = String::from_utf8(place.bytes("run/report.html")).expect("text");
    assert!(page.contains("theirs-2"));
    let folder = RunFolder::open(&place.path("run")).expect("a run");
    let summary = folder.summary().expect("a summary");
    let names: Vec<_> = summary.networks.iter().map(|one| (one.name.as_str(), one.channel)).collect();
    assert_eq!(names, [("ours", 1), ("theirs-1", 1), ("theirs-2", 2), ("theirs-3", 1)]);
    let packets = TableReader::<PacketRow>::open(&folder.file("packets.parquet")).expect("a table");
    let info = packets.info().clone();
    let rows: Vec<PacketRow> = packets.collect::<Result<_, _>>().expect("rows");
    for flow in &summary.flows {
        let number = info.flows.iter().position(|name| *name == flow.name).expect("a name");
        let own: Vec<_> = rows.iter().filter(|row| row.flow as usize == number).collect();
        let settled = flow.packets.delivered + flow.packets.dropped;
        assert_eq!(own.len() as u64, settled, "{}", flow.name);
        assert!(
            own.iter().all(|row| info.stations[usize::from(row.station)] == flow.station),
            "{}",
            flow.name
        );
    }
    let txops = TableReader::<TxopRow>::open(&folder.file("txops.parquet")).expect("a table");
    let mut senders = std::collections::BTreeSet::new();
    for row in txops {
        let row = row.expect("a row");
        let of = |number: u16| info.transmitters[usize::from(number)].as_str();
        senders.insert(of(row.transmitter));
        // Both ends are in the same network.
        let network = |name: &str| {
            name.rsplit_once('-').map(|(network, _)| network.trim_end_matches("-access").to_owned())
        };
        assert_eq!(network(of(row.transmitter)), network(of(row.receiver)));
    }
    assert!(senders.contains("ours-access-point") && senders.contains("theirs-2-far"), "{senders:?}");
}

#[test]
fn plans_and_captures_know_several() {
    let place = place();
    let plan = place.json(&["plan", "floor.toml", "--demand", "ours-stream=50ms@95", "--json"]);
    let demand = &plan["demands"][0];
    assert_eq!(
        (demand["flow"].as_str(), demand["station"].as_str()),
        (Some("ours-stream"), Some("ours-near"))
    );
    assert!(demand["load"].as_f64().is_some_and(|load| load > 0.0 && load < 1.0), "{plan}");
    // One that has a scheme of its own is asked with LAST-PQ, too.
    let plan = place.json(&["plan", "floor.toml", "--demand", "theirs-2-stream=50ms@95", "--json"]);
    assert_eq!(plan["demands"][0]["met"], true, "{plan}");

    place.succeed(&["run", "floor.toml", "--pcap", "air.pcap", "--quiet", "--out", "run", "--log-packets"]);
    for flow in ["ours-stream", "theirs-1-download", "theirs-2-stream"] {
        let explain = ["explain", "run", "--packet", "7", "--flow", flow, "--pcap", "air.pcap", "--json"];
        let story = place.json(&explain);
        assert!(story["frame"].as_u64().is_some_and(|frame| frame > 0), "{flow}: {story}");
    }
    let folder = RunFolder::open(&place.path("run")).expect("a run");
    let txops = TableReader::<TxopRow>::open(&folder.file("txops.parquet")).expect("a table");
    let info = txops.info().clone();
    let senders: std::collections::BTreeSet<u16> = txops.map(|row| row.expect("a row").transmitter).collect();
    let bytes = place.bytes("air.pcap");
    let mut seen = std::collections::BTreeSet::new();
    let mut channels = std::collections::BTreeSet::new();
    let mut at = 24;
    while at + 16 <= bytes.len() {
        let word =
            |place: usize| u32::from_le_bytes(bytes[place..place + 4].try_into().expect("four")) as usize;
        let (captured, frame) = (word(at + 8), at + 16);
        let header = usize::from(u16::from_le_bytes([bytes[frame + 2], bytes[frame + 3]]));
        // Behind TSFT, flags, and a rate or an octet of padding.
        let channel = frame + 18;
        channels.insert(u16::from_le_bytes([bytes[channel], bytes[channel + 1]]));
        // A data frame has the transmitter's address second.
        if bytes[frame + header] & 0x0c == 0x08 {
            let address = &bytes[frame + header + 10..frame + header + 16];
            seen.insert(u16::from_be_bytes([address[4], address[5]]));
        }
        at = frame + captured;
    }
    assert_eq!(seen, senders, "{:?}", info.transmitters);
    assert_eq!(channels.len(), 2, "{channels:?}");
}
