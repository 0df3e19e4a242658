//! Connections of the machine's commands as flows of the record, beside those of the scenario.

use std::collections::BTreeMap;

use airbound_record::Summary;
use airbound_scenario::{Datagrams, Direction, Flow, Scenario, Traffic};
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::Category;

use crate::log::{Connection, MpduRow, Row};

/// The kind of these flows, as in the record of an emulation.
const KIND: &str = "application";
/// Interval and size of a flow's own packets, which do not count.
const PLACEHOLDER: Datagrams = Datagrams { rate: BitRate::from_kbps(1), size: ByteCount::new(1000) };

/// A scenario with the flows of connections, and the rows of a run with their packets.
///
/// A packet is sent when the sender's mac80211 queues it (a wire before it passes before), and arrives when a radio has received it (a
/// wire behind it passes after). What mac80211 drops nobody numbers: it is not in the record.
pub(super) fn place(scenario: &Scenario, rows: &[Row]) -> (Scenario, Vec<Row>) {
    let mut scenario = scenario.clone();
    let mut all = Vec::with_capacity(rows.len());
    // By station, category and connection: the number of the flow, and of its next packet.
    let mut known: BTreeMap<(u64, u64, Connection), (u64, u64)> = BTreeMap::new();
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    let wire = scenario.wire.way.delay;
    let zero = rows.iter().find_map(|row| if let Row::Run { zero, .. } = row { Some(*zero) } else { None });
    for row in rows {
        let Row::Connection(connection, mpdu) = row else {
            all.push(*row);
            continue;
        };
        // Before time zero the network comes up, and servers start.
        if zero.is_none_or(|zero| mpdu.queued < zero) {
            continue;
        }
        let key = (mpdu.station, mpdu.category, *connection);
        let (flow, number) = known.entry(key).or_insert_with(|| {
            let flow = flow_of(&scenario, *connection, mpdu, &mut names);
            scenario.flows.push(flow);
            (scenario.flows.len() as u64 - 1, 0)
        });
        let (flow, number, next) = (*flow, *number, number);
        *next += 1;
        let (before, after) = if connection.is_down { (wire, Span::ZERO) } else { (Span::ZERO, wire) };
        all.push(Row::Sent { flow, number, at: mpdu.queued - before, size: mpdu.size, frame: 0 });
        all.push(Row::Mpdu(MpduRow { flow, number, ..*mpdu }));
        if mpdu.received != Instant::MAX {
            all.push(Row::Arrived { flow, number, at: mpdu.received + after });
        }
    }
    (scenario, all)
}

/// Names the kind of all flows but the first ones, which are the scenario's.
pub(super) fn name_kinds(summary: &mut Summary, scenario: usize) {
    summary.flows.iter_mut().skip(scenario).for_each(|flow| KIND.clone_into(&mut flow.kind));
}

fn flow_of(
    scenario: &Scenario,
    connection: Connection,
    mpdu: &MpduRow,
    names: &mut BTreeMap<String, u64>,
) -> Flow {
    let number = usize::try_from(mpdu.station).unwrap_or(1).saturating_sub(1);
    let station = scenario.stations.get(number).map(|station| station.name.clone()).unwrap_or_default();
    let category = Category::ALL.into_iter().find(|category| category.index() as u64 == mpdu.category);
    let category = category.unwrap_or(Category::Be);
    let transport = match connection.protocol {
        1 => "icmp".to_owned(),
        6 => "tcp".to_owned(),
        17 => "udp".to_owned(),
        other => format!("proto {other}"),
    };
    let way = if connection.is_down { "down" } else { "up" };
    let mut name = format!("{station} {way} {transport}");
    // The port by which a connection is known: clients are given high ones.
    let port = connection.source.min(connection.destination);
    if port > 0 {
        name += &format!(" {port}");
    }
    if category != Category::Be {
        name += &format!(" {category:?}").to_lowercase();
    }
    let count = names.entry(name.clone()).or_insert(0);
    *count += 1;
    if *count > 1 {
        name += &format!(" #{count}");
    }
    Flow {
        name: name.clone(),
        group: name,
        station,
        direction: if connection.is_down { Direction::Down } else { Direction::Up },
        category,
        wire: scenario.wire.way,
        start: Span::ZERO,
        stop: None,
        protected: false,
        demand: None,
        traffic: Traffic::Cbr(PLACEHOLDER),
    }
}
