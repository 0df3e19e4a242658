//! The timeline of one packet as text.

use airbound_record::{Fate, HopRow, PacketRow, RunInfo};
use airbound_units::{Instant, Span};

const BAR: usize = 16;

/// Describes the path of a packet with `hops` before its last one, in lines of at most 100 columns if names are short.
#[must_use]
pub fn explain(row: &PacketRow, hops: &[HopRow], info: &RunInfo) -> String {
    let name = |names: &[String], number: usize| RunInfo::name(names, number);
    let flow = name(&info.flows, usize::try_from(row.flow).unwrap_or(usize::MAX));
    let station = name(&info.stations, usize::from(row.station));
    let category = match row.category {
        0 => "background",
        1 => "best effort",
        2 => "video",
        3 => "voice",
        _ => "unknown category",
    };
    let end = end(row);
    let took = milliseconds(end.unwrap_or(row.sent).since(row.sent));
    let fate = match row.fate {
        Fate::Delivered => format!("arrived after {took}"),
        Fate::Queued => "was still under way when the run ended".to_owned(),
        Fate::Dropped(reason) => {
            let reason = name(&info.drop_reasons, usize::from(reason));
            match end {
                Some(_) => format!("was dropped after {took} ({reason})"),
                None => format!("was dropped ({reason})"),
            }
        }
    };
    let relays = match hops.len() {
        0 => String::new(),
        1 => "passed on by a relay, then ".to_owned(),
        relays => format!("passed on by {relays} relays, then "),
    };
    let tries = match row.tries {
        0 => "never transmitted".to_owned(),
        1 => format!("transmitted once, in TXOP {}", row.txop),
        tries => format!("transmitted {tries} times, last in TXOP {}", row.txop),
    };
    let text = format!(
        "Packet {} of flow {flow} (station {station}, {} B, {category}) {fate}.\nSent at {:.6} s, {relays}{tries}.\n\n",
        row.packet,
        row.size.as_u64(),
        row.sent.as_secs_f64(),
    );
    text + &timeline(row, hops, end, info)
}

/// The last time of a packet: its arrival, or the transmitter's completion.
fn end(row: &PacketRow) -> Option<Instant> {
    let end = if row.fate == Fate::Delivered { row.arrived } else { row.completed };
    (end != Instant::MAX).then_some(end)
}

/// A line for each event: time, description, time since the previous event, and a bar of it.
fn timeline(row: &PacketRow, hops: &[HopRow], end: Option<Instant>, info: &RunInfo) -> String {
    let dropped = matches!(row.fate, Fate::Dropped(_)).then_some(row.completed).unwrap_or(Instant::MAX);
    let arrived = if row.arrived == row.delivered { Instant::MAX } else { row.arrived };
    let queued_at =
        |number: u16| format!("queued at {}", RunInfo::name(&info.transmitters, usize::from(number)));
    let texts: Vec<String> = hops.iter().map(|hop| queued_at(hop.transmitter)).collect();
    let mut moments = vec![(row.sent, "sent by its source", "")];
    for (hop, text) in hops.iter().zip(&texts) {
        moments.extend([
            (hop.enqueued, text.as_str(), if moments.len() == 1 { "wired" } else { "queueing" }),
            (hop.contending, "its aggregate began to contend", "queueing"),
            (hop.first_tx, "first transmission began", "contention"),
        ]);
        if hop.tries > 1 {
            moments.push((hop.last_tx, "last transmission began", "retries"));
        }
        moments.extend([
            (hop.received, "received by a relay", "airtime"),
            (hop.delivered, "left its reordering buffer", "reordering"),
        ]);
    }
    let text = hops.last().map(|hop| queued_at(hop.receiver));
    let queued = match &text {
        Some(text) => (row.enqueued, text.as_str(), "queueing"),
        None => (row.enqueued, "queued at the Wi-Fi transmitter", "wired"),
    };
    moments.extend([
        queued,
        (row.contending, "its aggregate began to contend", "queueing"),
        (row.first_tx, "first transmission began", "contention"),
    ]);
    if row.tries > 1 {
        moments.push((row.last_tx, "last transmission began", "retries"));
    }
    moments.extend([
        (row.received, "received", "airtime"),
        (row.delivered, "left the reordering buffer", "reordering"),
        (arrived, "arrived over the wire behind", "wired"),
        (dropped, "dropped", "until then"),
    ]);
    moments.retain(|(at, ..)| *at != Instant::MAX);
    let whole = end.or(moments.last().map(|(at, ..)| *at)).unwrap_or(row.sent).since(row.sent);
    let mut text = String::new();
    let mut before = row.sent;
    for (at, what, stage) in moments {
        let took = at.since(before);
        let mut line = format!("{:>14}  {what:<33}", milliseconds(at.since(row.sent)));
        if !stage.is_empty() {
            let share = took.as_nanos() as f64 / whole.as_nanos().max(1) as f64;
            line +=
                &format!("{stage:<11}{:>12} {:>6.1} %  {}", milliseconds(took), 100.0 * share, bar(share));
        }
        text += line.trim_end();
        text.push('\n');
        before = before.max(at);
    }
    text
}

fn milliseconds(span: Span) -> String {
    format!("{:.3} ms", span.as_millis_f64())
}

fn bar(share: f64) -> String {
    let length = (share * BAR as f64).round() as usize;
    if share > 0.0 { "█".repeat(length.clamp(1, BAR)) } else { String::new() }
}
