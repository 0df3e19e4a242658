//! `airbound explain`: one packet's story.

use std::path::Path;

use airbound_record::{Fate, PacketRow, RunFolder, RunInfo, Split, Stage, TableReader};
use airbound_sim::scenario::{Overrides, Scenario};
use airbound_units::Instant;
use serde_json::{Value, json};

use crate::args::{Explain, Voice};
use crate::error::CliError;
use crate::results::Index;
use crate::{output, session};

pub(super) fn explain(explain: &Explain, voice: Voice) -> Result<(), CliError> {
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
    let table = TableReader::<PacketRow>::open(&path)?;
    let info = table.info().clone();
    let flow = number_of(&folder, &info, explain.flow.as_deref())?;
    let row =
        find(table, flow, explain.packet)?.ok_or_else(|| missing(&info, flow, explain.packet, &path))?;
    if voice.json {
        return output::json(&value(&row, &info));
    }
    output::say(voice, &airbound_report::explain(&row, &info))
}

/// The flow of that name, else that which the scenario is about, else the first.
fn number_of(folder: &RunFolder, info: &RunInfo, name: Option<&str>) -> Result<usize, CliError> {
    let place = |name: &str| info.flows.iter().position(|flow| flow == name);
    match name {
        Some(name) => place(name).ok_or_else(|| {
            CliError::Input(format!("--flow: there is no flow {name}; there are {}", info.flows.join(", ")))
        }),
        None => {
            let scenario = folder
                .scenario()
                .ok()
                .and_then(|text| Scenario::parse(&text, "scenario.toml", &Overrides::none()).ok());
            let focus = scenario.and_then(|scenario| session::focus(&scenario));
            Ok(focus.and_then(|name| place(&name)).unwrap_or(0))
        }
    }
}

fn find(table: TableReader<PacketRow>, flow: usize, packet: u64) -> Result<Option<PacketRow>, CliError> {
    for row in table {
        let row = row?;
        if row.packet == packet && row.flow as usize == flow {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

fn missing(info: &RunInfo, flow: usize, packet: u64, path: &Path) -> CliError {
    CliError::Input(format!(
        "flow {} has no packet {packet} in {} whose fate is known",
        RunInfo::name(&info.flows, flow),
        path.display()
    ))
}

fn value(row: &PacketRow, info: &RunInfo) -> Value {
    let at = |instant: Instant| (instant != Instant::MAX).then(|| instant.as_secs_f64());
    let fate = match row.fate {
        Fate::Delivered => "delivered".to_owned(),
        Fate::Queued => "queued".to_owned(),
        Fate::Dropped(reason) => RunInfo::name(&info.drop_reasons, usize::from(reason)),
    };
    let stages: Option<serde_json::Map<String, Value>> = Split::of(row).map(|split| {
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
        "latency_ms": Split::of(row).map(|split| split.latency().as_millis_f64()),
        "stages_ms": stages,
    })
}
