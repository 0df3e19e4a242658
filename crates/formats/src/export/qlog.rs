//! qlog of one sender, as JSON text sequences (RFC 7464): draft-ietf-quic-qlog-main-schema-13 with the events of
//! draft-ietf-quic-qlog-quic-events-12.
//!
//! | event | source |
//! |---|---|
//! | `quic:packet_sent` | packet numbers count within the flow, as those of `airbound explain --flow` |
//! | `quic:packets_acked` | TCP: what had arrived when an acknowledgement left, at the time of its arrival |
//! | `quic:recovery_metrics_updated` | the sender's own state after an acknowledgement or a report |
//! | `quic:packet_lost` | the network's drop, at its time and with its `reason`, not the sender's detection of it |

use std::collections::{BTreeMap, BTreeSet};

use airbound_record::{Direction, Fate, PacketRow, RunFolder, RunInfo, SenderRow};
use airbound_units::{Instant, Span};
use serde_json::{Value, json};

use super::{ExportError, table};

/// The bytes with which such a file begins.
pub const QLOG_BEGINNING: &[u8] = b"\x1e{\"description\":\"written by airbound";

/// Events of one instant in the order of their causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Acked,
    Metrics,
    Sent,
    Lost,
}

/// The sender of one flow as qlog; `flow` may be missing where only one flow has a sender.
///
/// # Errors
/// The run did not log its packets, has no such sender, or is damaged.
pub fn qlog(folder: &RunFolder, flow: Option<&str>) -> Result<Vec<u8>, ExportError> {
    let summary = folder.summary()?;
    let packets = table::<PacketRow>(folder, "packets")?;
    let info = packets.info().clone();
    let has_sender = |name: &str| {
        summary.flows.iter().any(|flow| flow.name == name && (flow.rtt_ms.is_some() || flow.rtc.is_some()))
    };
    let known: Vec<String> = info.flows.iter().filter(|name| has_sender(name)).cloned().collect();
    let name = match (flow, known.as_slice()) {
        (Some(flow), known) if known.iter().any(|name| name == flow) => flow.to_owned(),
        (None, [only]) => only.clone(),
        _ => return Err(ExportError::NoSender { flow: flow.unwrap_or("the run").to_owned(), known }),
    };
    let number = position(&info, &name);
    let acknowledgements = position(&info, &format!("{name} (acks)"));
    let states = table::<SenderRow>(folder, "senders")?;

    let mut events: Vec<(Instant, Rank, Value)> = Vec::new();
    let mut arrived: BTreeSet<(Instant, u64)> = BTreeSet::new();
    let mut answers: Vec<(Instant, Instant)> = Vec::new();
    for row in packets {
        let row = row?;
        if Some(row.flow) == acknowledgements {
            answers.extend((row.fate == Fate::Delivered).then_some((row.arrived, row.sent)));
        } else if Some(row.flow) == number {
            // The simulator numbers packets so that flows take turns.
            let packet = row.packet / (info.flows.len() as u64).max(1);
            let header = json!({ "packet_type": "1RTT", "packet_number": packet });
            let sent = json!({ "header": header, "raw": { "length": row.size.as_u64() } });
            events.push((row.sent, Rank::Sent, event("packet_sent", sent)));
            match row.fate {
                Fate::Delivered => _ = arrived.insert((row.arrived, packet)),
                Fate::Dropped(reason) => {
                    let reason = RunInfo::name(&info.drop_reasons, usize::from(reason));
                    let lost = json!({ "header": header, "reason": reason });
                    events.push((row.completed, Rank::Lost, event("packet_lost", lost)));
                }
                Fate::Queued => {}
            }
        }
    }
    for (at, left) in last_of_each(answers) {
        let later = arrived.split_off(&(left + Span::from_nanos(1), 0));
        let numbers: Vec<u64> =
            std::mem::replace(&mut arrived, later).into_iter().map(|(_, packet)| packet).collect();
        if !numbers.is_empty() {
            events.push((at, Rank::Acked, event("packets_acked", json!({ "packet_numbers": numbers }))));
        }
    }
    let mut least = None::<Span>;
    for row in states {
        let row = row?;
        if Some(row.flow) == number {
            least = least.into_iter().chain(row.rtt).min();
            events.push((row.at, Rank::Metrics, event("recovery_metrics_updated", metrics(&row, least))));
        }
    }
    events.sort_by_key(|(at, rank, _)| (*at, *rank));

    let of = summary.flows.iter().find(|flow| flow.name == name);
    let is_downlink = of.is_some_and(|flow| flow.direction == Direction::Downlink);
    let protocol = if acknowledgements.is_some() { "TCP" } else { "RTP" };
    let head = json!({
        "description": format!("written by airbound {}: a simulated sender; packet_lost is the network's drop", summary.airbound),
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": format!("{} of {}, {}, seed {}", name, info.scenario, info.scheme, info.seed),
        "trace": {
            "title": name,
            "vantage_point": { "type": if is_downlink { "server" } else { "client" } },
            "common_fields": {
                "time_format": "relative_to_epoch",
                "reference_time": { "clock_type": "monotonic", "epoch": "unknown" },
                "protocol_types": [protocol],
                "group_id": name,
            },
            "event_schemas": ["urn:ietf:params:qlog:events:quic-12"],
        },
    });
    let mut text = format!("\u{1e}{head}\n");
    for (at, _, mut event) in events {
        event["time"] = json!(at.as_nanos() as f64 / 1e6);
        text += &format!("\u{1e}{event}\n");
    }
    Ok(text.into_bytes())
}

/// Arrivals of acknowledgements with the instants at which they left, in the order of arrival. Of those that left together, one for each
/// second segment of an aggregate, the last one acknowledges all.
fn last_of_each(answers: Vec<(Instant, Instant)>) -> Vec<(Instant, Instant)> {
    let mut last = BTreeMap::<Instant, Instant>::new();
    for (at, left) in answers {
        let known = last.entry(left).or_insert(at);
        *known = at.max(*known);
    }
    let mut answers: Vec<_> = last.into_iter().map(|(left, at)| (at, left)).collect();
    answers.sort_unstable();
    answers
}

fn position(info: &RunInfo, name: &str) -> Option<u32> {
    info.flows.iter().position(|flow| flow == name).and_then(|place| u32::try_from(place).ok())
}

fn event(name: &str, data: Value) -> Value {
    json!({ "time": 0.0, "name": format!("quic:{name}"), "data": data })
}

fn metrics(row: &SenderRow, least: Option<Span>) -> Value {
    let values = [
        ("latest_rtt", row.rtt.map(|rtt| json!(rtt.as_millis_f64()))),
        ("smoothed_rtt", row.smoothed_rtt.map(|rtt| json!(rtt.as_millis_f64()))),
        ("min_rtt", least.map(|rtt| json!(rtt.as_millis_f64()))),
        ("congestion_window", row.cwnd.map(|window| json!(window.as_u64()))),
        ("ssthresh", row.ssthresh.map(|threshold| json!(threshold.as_u64()))),
        ("packets_in_flight", row.in_flight.map(|packets| json!(packets))),
        ("pacing_rate", row.rate.map(|rate| json!(rate.as_bps()))),
    ];
    let known = values.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    known.collect::<serde_json::Map<_, _>>().into()
}
