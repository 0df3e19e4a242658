//! `airbound explain`: the way of one packet, or of the packets that took longest.

use std::path::Path;

use airbound_record::{
    Fate, HopRow, PacketRow, RunFolder, RunInfo, Split, Stage, TableReader, TxopRow, find_hops, find_packet,
};
use airbound_report::{Around, Cell, Grid, OnAir, Waited, split_wire};
use airbound_runs::folder::Index;
use airbound_runs::{DeliveredPacket, Late, LateFlow, Packets, find_frame, links};
use airbound_units::{Instant, Span};
use serde_json::{Value, json};

use crate::args::Explain;
use crate::error::CliError;
use airbound_console::Verbosity;
use airbound_console::output;

/// Words on what the rows of a session are about.
const OF_A_LINK: &str = "Packets of a session count on one access link; in the tables of the run its flows count from end to end.";

pub(super) fn explain(explain: &Explain, verbosity: Verbosity) -> Result<(), CliError> {
    if let Some(index) = Index::read(&explain.run)? {
        let runs: Vec<&str> = index.runs.iter().map(|entry| entry.folder.as_str()).collect();
        return Err(CliError::Input(format!(
            "{} is a comparison; name one of its runs: {}",
            explain.run.display(),
            runs.join(", ")
        )));
    }
    let folder = RunFolder::open(&explain.run)?;
    let Some(path) = folder.existing("packets.parquet") else {
        return Err(CliError::Input(format!(
            "{} has no packets.parquet; run it again with --log-packets",
            explain.run.display()
        )));
    };
    let info = TableReader::<PacketRow>::open(&path)?.info().clone();
    let flow = explain.flow.as_ref().map(|flow| number_of(flow, &info)).transpose()?;
    if let Some(packet) = explain.packet {
        return one(explain, &folder, &path, (packet, flow), &info, verbosity);
    }
    let Some(packets) = Packets::of(&folder)? else { return Ok(()) };
    // Of an emulation all flows of the scenario may have been left out.
    let has_session = links(&folder).is_ok_and(|links| links.has_session);
    if let Some(count) = explain.worst {
        return worst(&packets.worst(flow, count as usize)?, explain, &info, has_session, verbosity);
    }
    let late = match explain.late.flatten() {
        Some(latency) => Late::Latency(latency),
        None if packets.has_demand(flow) => Late::Demand,
        None => {
            let problem = "--late: there is no demand; say what is late, such as --late 20ms";
            return Err(CliError::Input(problem.to_owned()));
        }
    };
    self::late(&packets.late(flow, late)?, late, explain, &info, has_session, verbosity)
}

/// The number of a flow.
fn number_of(flow: &str, info: &RunInfo) -> Result<u32, CliError> {
    let number = info.flows.iter().position(|name| name == flow && !name.is_empty());
    number.and_then(|number| u32::try_from(number).ok()).ok_or_else(|| {
        let known: Vec<&str> =
            info.flows.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        let known = known.join(", ");
        CliError::Input(format!("--flow: there is no flow {flow}; there are {known}"))
    })
}

/// The timeline of one packet.
fn one(
    explain: &Explain,
    folder: &RunFolder,
    path: &Path,
    (wanted, flow): (u64, Option<u32>),
    info: &RunInfo,
    verbosity: Verbosity,
) -> Result<(), CliError> {
    let row = match flow {
        None => find_packet(path, wanted)?,
        Some(flow) => {
            // The simulator numbers packets so that flows take turns.
            let packet = wanted.saturating_mul(info.flows.len() as u64).saturating_add(u64::from(flow));
            find_packet(path, packet)?.filter(|row| row.flow == flow)
        }
    };
    let Some(row) = row else {
        let of_flow = explain.flow.as_ref().map_or(String::new(), |flow| format!(" of flow {flow}"));
        return Err(CliError::Input(format!(
            "there is no packet {wanted}{of_flow} in {}; it was never sent, or was still under way when the run ended",
            path.display()
        )));
    };
    let hops = match folder.existing("hops.parquet") {
        Some(path) => find_hops(&path, row.packet)?,
        None => Vec::new(),
    };
    let around = around(explain, folder, &row, &hops, info)?;
    if verbosity.json {
        let mut value = value(&row, &hops, info);
        add_around(&mut value, &row, &hops, info, &around);
        return Ok(output::json(&value)?);
    }
    Ok(output::say(verbosity, &airbound_report::explain(&row, &hops, info, &around))?)
}

/// Knowledge of the run about a packet beside its row.
fn around(
    explain: &Explain,
    folder: &RunFolder,
    row: &PacketRow,
    hops: &[HopRow],
    info: &RunInfo,
) -> Result<Around, CliError> {
    let links = links(folder).unwrap_or_default();
    let station = RunInfo::name(&info.stations, usize::from(row.station));
    let waited = match folder.existing("txops.parquet").filter(|_| !links.apart.contains(&station)) {
        Some(path) => {
            let channel = |name: &String| links.channels.get(name);
            let own = channel(&station);
            // What is on another channel keeps nobody waiting.
            let is_heard = |txop: &TxopRow| {
                channel(&RunInfo::name(&info.transmitters, usize::from(txop.transmitter))) == own
            };
            let txops = TableReader::<TxopRow>::open(&path)?;
            Waited::of(row, hops, txops.filter(|txop| txop.as_ref().is_ok_and(is_heard) || txop.is_err()))?
        }
        None => None,
    };
    let frame = match &explain.pcap {
        Some(path) => find_frame(path, row, info)?.map(|number| (number, path.display().to_string())),
        None => None,
    };
    let wire_delay = links.wire_delays.get(&RunInfo::name(&info.flows, row.flow as usize)).copied();
    Ok(Around { wire_delay, is_piped: links.piped.contains(&station), waited, frame })
}

/// Adds what is known beside the row.
fn add_around(value: &mut Value, row: &PacketRow, hops: &[HopRow], info: &RunInfo, around: &Around) {
    let first = hops.first().map_or(row.enqueued, |hop| hop.enqueued);
    let before = (first != Instant::MAX).then(|| first.since(row.sent));
    let behind = (row.arrived != Instant::MAX).then(|| row.arrived.since(row.delivered));
    let wire = around.wire_delay.zip(before).map(|(delay, before)| {
        let ways = [Some(before), behind].into_iter().flatten().filter(|time| !time.is_zero());
        ways.map(|time| split_wire(time, delay))
            .fold((Span::ZERO, Span::ZERO), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    });
    value["wire_queue_ms"] = json!(wire.map(|(queue, _)| queue.as_millis_f64()));
    value["wire_delay_ms"] = json!(wire.map(|(_, delay)| delay.as_millis_f64()));
    let name = |number: u16| RunInfo::name(&info.transmitters, usize::from(number));
    value["waited"] = json!(around.waited.as_ref().map(|waited| {
        let way = |way: &OnAir| {
            json!({
                "from": name(way.from),
                "to": name(way.to),
                "txops": way.txops,
                "airtime_ms": way.airtime.as_millis_f64(),
            })
        };
        json!({
            "time_ms": waited.span.as_millis_f64(),
            "on_air": waited.ways.iter().map(way).collect::<Vec<_>>(),
            "overlap_ms": waited.overlap.as_millis_f64(),
            "nobody_ms": waited.rest.as_millis_f64(),
        })
    }));
    value["link"] = json!(if around.is_piped { "pipe" } else { "wifi" });
    value["frame"] = json!(around.frame.as_ref().map(|(number, _)| number));
}

/// The packets that took longest, the longest first.
fn worst(
    told: &[DeliveredPacket],
    explain: &Explain,
    info: &RunInfo,
    has_session: bool,
    verbosity: Verbosity,
) -> Result<(), CliError> {
    if verbosity.json {
        return Ok(output::json(&values(told, info))?);
    }
    if explain.csv {
        return Ok(output::print(&csv(told, info))?);
    }
    let mut grid = Grid::new(
        format!("The {} packets that took longest, in ms", told.len()),
        &[
            "flow", "packet", "sent s", "latency", "wired", "queue", "content.", "air", "retries", "reorder",
            "tries",
        ],
        1,
    );
    for one in told {
        let mut cells = vec![flow_of(one, info), one.row.packet.to_string(), seconds(one.row.sent)];
        cells.push(millis(one.split.latency()));
        cells.extend(Stage::ALL.map(|stage| millis(one.split.stage(stage))));
        cells.push(one.row.tries.to_string());
        grid.rows.push(cells.into_iter().map(Cell::from).collect());
    }
    grid.note = match told.first() {
        None => "No packet was delivered.".to_owned(),
        Some(first) => format!(
            "{} The whole way of the first: airbound explain {} --packet {}{}",
            most_in(told),
            explain.run.display(),
            first.row.packet,
            if has_session { format!("\n{OF_A_LINK}") } else { String::new() }
        ),
    };
    Ok(output::say(verbosity, &grid.to_text(output::width()))?)
}

/// The late packets, by flow.
fn late(
    flows: &[LateFlow],
    late: Late,
    explain: &Explain,
    info: &RunInfo,
    has_session: bool,
    verbosity: Verbosity,
) -> Result<(), CliError> {
    let name = |flow: u32| RunInfo::name(&info.flows, flow as usize);
    if explain.csv {
        let all: Vec<DeliveredPacket> = flows.iter().flat_map(|flow| flow.late.clone()).collect();
        return Ok(output::print(&csv(&all, info))?);
    }
    if verbosity.json {
        let of_flow = |flow: &LateFlow| {
            json!({
                "flow": name(flow.flow),
                "packets": flow.packets,
                "late": flow.late.len(),
                "lost": flow.lost,
                "mean_stages_ms": mean_stages(&flow.late),
                "late_packets": values(&flow.late, info),
            })
        };
        return Ok(output::json(&flows.iter().map(of_flow).collect::<Vec<_>>())?);
    }
    let title = match late {
        Late::Demand => {
            "Packets beyond the demand of their flow, from the transmitter's queue to the acknowledgement"
        }
        Late::Latency(_) => "Late packets, from source to destination",
    };
    let limit = if let Late::Latency(limit) = late { format!(": more than {limit}") } else { String::new() };
    let mut grid = Grid::new(
        format!("{title}{limit}"),
        &["flow", "most of it in", "packets", "late", "late %", "lost %", "worst ms"],
        2,
    );
    if has_session {
        grid.note = OF_A_LINK.to_owned();
    }
    for flow in flows {
        let share = |count: u64| format!("{:.2}", 100.0 * count as f64 / flow.packets.max(1) as f64);
        let longest = flow.late.iter().map(|one| one.split.latency()).max();
        let cells = [
            name(flow.flow),
            mostly(&flow.late)
                .map_or("-".to_owned(), |(stage, share)| format!("{} {:.0} %", stage.name(), 100.0 * share)),
            flow.packets.to_string(),
            flow.late.len().to_string(),
            share(flow.late.len() as u64),
            share(flow.lost),
            longest.map_or("-".to_owned(), millis),
        ];
        grid.rows.push(cells.into_iter().map(Cell::from).collect());
    }
    Ok(output::say(verbosity, &grid.to_text(output::width()))?)
}

/// The stage that holds most of the time of packets, and its share of it.
fn mostly(told: &[DeliveredPacket]) -> Option<(Stage, f64)> {
    let all: Span = told.iter().fold(Span::ZERO, |sum, one| sum + one.split.latency());
    let sum = |stage: Stage| told.iter().fold(Span::ZERO, |sum, one| sum + one.split.stage(stage));
    let (stage, most) =
        Stage::ALL.into_iter().map(|stage| (stage, sum(stage))).max_by_key(|(_, sum)| *sum)?;
    (all > Span::ZERO).then(|| (stage, most.as_nanos() as f64 / all.as_nanos() as f64))
}

fn most_in(told: &[DeliveredPacket]) -> String {
    mostly(told).map_or(String::new(), |(stage, share)| {
        format!("Of their time {:.0} % is {}.", 100.0 * share, stage.name())
    })
}

/// The mean of each stage, in ms; null without packets.
fn mean_stages(told: &[DeliveredPacket]) -> Value {
    if told.is_empty() {
        return Value::Null;
    }
    let mean = |stage: Stage| {
        told.iter().map(|one| one.split.stage(stage).as_millis_f64()).sum::<f64>() / told.len() as f64
    };
    Stage::ALL
        .into_iter()
        .map(|stage| (stage.name().to_owned(), json!(mean(stage))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn values(told: &[DeliveredPacket], info: &RunInfo) -> Vec<Value> {
    told.iter().map(|one| value(&one.row, &one.hops, info)).collect()
}

/// Comma-separated values: a line for each packet. Names have letters, digits, `-` and `_`, and those of acknowledgements a space.
fn csv(told: &[DeliveredPacket], info: &RunInfo) -> String {
    let stages = Stage::ALL.map(|stage| format!("{}_ms", stage.name())).join(",");
    let mut text = format!("packet,flow,station,size_bytes,sent_s,latency_ms,{stages},tries,txop\n");
    for one in told {
        let row = &one.row;
        let stages = Stage::ALL.map(|stage| one.split.stage(stage).as_millis_f64().to_string()).join(",");
        text += &format!(
            "{},{},{},{},{},{},{stages},{},{}\n",
            row.packet,
            flow_of(one, info),
            RunInfo::name(&info.stations, usize::from(row.station)),
            row.size.as_u64(),
            row.sent.as_secs_f64(),
            one.split.latency().as_millis_f64(),
            row.tries,
            row.txop
        );
    }
    text
}

fn flow_of(one: &DeliveredPacket, info: &RunInfo) -> String {
    RunInfo::name(&info.flows, one.row.flow as usize)
}

fn seconds(instant: Instant) -> String {
    format!("{:.3}", instant.as_secs_f64())
}

fn millis(span: Span) -> String {
    format!("{:.2}", span.as_millis_f64())
}

fn value(row: &PacketRow, hops: &[HopRow], info: &RunInfo) -> Value {
    let at = |instant: Instant| (instant != Instant::MAX).then(|| instant.as_secs_f64());
    let fate = match row.fate {
        Fate::Delivered => "delivered".to_owned(),
        Fate::Queued => "queued".to_owned(),
        Fate::Dropped(reason) => RunInfo::name(&info.drop_reasons, usize::from(reason)),
    };
    let split = Split::over(hops, row);
    let stages: Option<serde_json::Map<String, Value>> = split.map(|split| {
        let stage = |stage: Stage| (stage.name().to_owned(), json!(split.stage(stage).as_millis_f64()));
        Stage::ALL.into_iter().map(stage).collect()
    });
    json!({
        "packet": row.packet,
        "flow": RunInfo::name(&info.flows, row.flow as usize),
        "station": RunInfo::name(&info.stations, usize::from(row.station)),
        "size_bytes": row.size.as_u64(),
        "fate": fate,
        "tries": row.tries,
        "txop": row.txop,
        "sent_s": at(row.sent),
        "enqueued_s": at(row.enqueued),
        "contending_s": at(row.contending),
        "first_tx_s": at(row.first_tx),
        "last_tx_s": at(row.last_tx),
        "received_s": at(row.received),
        "delivered_s": at(row.delivered),
        "arrived_s": at(row.arrived),
        "completed_s": at(row.completed),
        "hops": hops.iter().map(|hop| hop_value(hop, info)).collect::<Vec<_>>(),
        "latency_ms": split.map(|split| split.latency().as_millis_f64()),
        "stages_ms": stages,
    })
}

/// A hop that ended at a relay.
fn hop_value(hop: &HopRow, info: &RunInfo) -> Value {
    json!({
        "transmitter": RunInfo::name(&info.transmitters, usize::from(hop.transmitter)),
        "relay": RunInfo::name(&info.transmitters, usize::from(hop.receiver)),
        "tries": hop.tries,
        "txop": hop.txop,
        "enqueued_s": hop.enqueued.as_secs_f64(),
        "contending_s": hop.contending.as_secs_f64(),
        "first_tx_s": hop.first_tx.as_secs_f64(),
        "last_tx_s": hop.last_tx.as_secs_f64(),
        "received_s": hop.received.as_secs_f64(),
        "delivered_s": hop.delivered.as_secs_f64(),
        "completed_s": hop.completed.as_secs_f64(),
    })
}
