//! Several networks in one scenario: their names stand in summary, report and tables, and what knows one network refuses them.

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
fn what_knows_one_network_refuses_several() {
    let place = place();
    for (arguments, words) in [
        (&["run", "floor.toml", "--pcap", "air.pcap"][..], "[[network]]"),
        (&["plan", "floor.toml", "--demand", "ours-stream=20ms@95"], "[[network]]"),
    ] {
        let sentence = place.refuse(arguments);
        assert!(sentence.contains(words), "{words} in {sentence}");
    }
}
