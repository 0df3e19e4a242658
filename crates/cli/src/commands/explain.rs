//! `airbound explain`: one packet's story.

use std::path::Path;

use airbound_record::{
    Fate, HopRow, PacketRow, RunFolder, RunInfo, Split, Stage, TableReader, find_hops, find_packet,
};
use airbound_runs::folder::Index;
use airbound_units::Instant;
use serde_json::{Value, json};

use crate::args::Explain;
use crate::error::CliError;
use airbound_console::Verbosity;
use airbound_console::output;

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
    let row = match &explain.flow {
        None => find_packet(&path, explain.packet)?,
        Some(flow) => nth_of_flow(&path, &info, flow, explain.packet)?,
    };
    let Some(row) = row else {
        let of_flow = explain.flow.as_ref().map_or(String::new(), |flow| format!(" of flow {flow}"));
        return Err(CliError::Input(format!(
            "there is no packet {}{of_flow} in {}; it was never sent, or was still under way when the run ended",
            explain.packet,
            path.display()
        )));
    };
    let hops = match folder.existing("hops.parquet") {
        Some(path) => find_hops(&path, row.packet)?,
        None => Vec::new(),
    };
    if verbosity.json {
        return Ok(output::json(&value(&row, &hops, &info))?);
    }
    Ok(output::say(verbosity, &airbound_report::explain(&row, &hops, &info))?)
}

/// The packet that its flow counts as number `wanted`, from 0.
fn nth_of_flow(path: &Path, info: &RunInfo, flow: &str, wanted: u64) -> Result<Option<PacketRow>, CliError> {
    let Some(number) = info.flows.iter().position(|name| name == flow) else {
        let known = info.flows.join(", ");
        return Err(CliError::Input(format!("--flow: there is no flow {flow}; there are {known}")));
    };
    // The simulator numbers packets so that flows take turns.
    let packet = wanted.saturating_mul(info.flows.len() as u64).saturating_add(number as u64);
    Ok(find_packet(path, packet)?.filter(|row| row.flow as usize == number))
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
