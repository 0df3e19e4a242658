//! The timeline of one packet as text, and what was on the air while it waited.

use std::collections::BTreeMap;

use airbound_record::{Fate, HopRow, PacketRow, RunInfo, TxopRow};
use airbound_units::{Instant, Span};

const BAR: usize = 16;

/// Ways on the air that are listed one by one.
const MOST_WAYS: usize = 8;

/// Knowledge about a packet beside its row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Around {
    /// Propagation delay of its wire; the rest of its time on the wire is the queue of the bottleneck, and jitter.
    pub wire_delay: Option<Span>,
    /// Whether its access link is a wire or a pipe in place of Wi-Fi.
    pub is_piped: bool,
    /// Transmissions while it waited; `None` if the run recorded no transmissions, or it did not wait.
    pub waited: Option<Waited>,
    /// Number of its last transmission in a capture, and the capture's name.
    pub frame: Option<(u64, String)>,
}

/// The air from the moment when a packet was queued to its first transmission, or to its end without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waited {
    /// That time.
    pub span: Span,
    /// Whether it ends with a transmission.
    pub is_sent: bool,
    /// Transmission opportunities in it, the most airtime first.
    pub ways: Vec<OnAir>,
    /// The part of it in which there were several at once: collisions, and transmissions out of each other's reach.
    pub overlap: Span,
    /// The part of it in which there was none: backoff, silence.
    pub rest: Span,
}

/// Transmission opportunities from one transmitter to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnAir {
    /// Number of the sender, see [`RunInfo::transmitters`].
    pub from: u16,
    /// Number of the receiver.
    pub to: u16,
    /// Their number.
    pub txops: u64,
    /// Their time, acknowledgements included, as far as it lies in that time and they were alone.
    pub airtime: Span,
}

impl Waited {
    /// Adds up the transmission opportunities of a run, in any order, while a packet waited; `None` if it did not wait.
    pub fn of<E>(
        row: &PacketRow,
        hops: &[HopRow],
        txops: impl Iterator<Item = Result<TxopRow, E>>,
    ) -> Result<Option<Self>, E> {
        let from = hops.first().map_or(row.enqueued, |hop| hop.enqueued);
        let is_sent = row.first_tx != Instant::MAX;
        let until = if is_sent { row.first_tx } else { row.completed };
        if from >= until || until == Instant::MAX {
            return Ok(None);
        }
        let mut ways: BTreeMap<(u16, u16), (u64, Span)> = BTreeMap::new();
        // Moments at which one begins or ends.
        let mut edges: Vec<(Instant, bool, (u16, u16))> = Vec::new();
        for txop in txops {
            let txop = txop?;
            let (start, end) = (txop.start.max(from), txop.end.min(until));
            if start >= end {
                continue;
            }
            let key = (txop.transmitter, txop.receiver);
            ways.entry(key).or_default().0 += 1;
            edges.extend([(start, true, key), (end, false, key)]);
        }
        edges.sort_unstable();
        let (mut rest, mut overlap, mut before) = (Span::ZERO, Span::ZERO, from);
        let mut now: Vec<(u16, u16)> = Vec::new();
        for (at, begins, key) in edges.into_iter().chain([(until, false, Default::default())]) {
            let took = at - before;
            match now.as_slice() {
                [] => rest += took,
                [alone] => ways.entry(*alone).or_default().1 += took,
                _ => overlap += took,
            }
            before = at;
            match now.iter().position(|one| *one == key).filter(|_| !begins) {
                Some(place) => drop(now.swap_remove(place)),
                None if begins => now.push(key),
                None => {}
            }
        }
        let on_air = |((from, to), (txops, airtime))| OnAir { from, to, txops, airtime };
        let mut ways: Vec<OnAir> = ways.into_iter().map(on_air).collect();
        ways.sort_by_key(|way| std::cmp::Reverse(way.airtime));
        Ok(Some(Self { span: until - from, is_sent, ways, overlap, rest }))
    }

    fn text(&self, info: &RunInfo, is_piped: bool) -> String {
        let name = |number: u16| RunInfo::name(&info.transmitters, usize::from(number));
        let until = if self.is_sent { "that first transmission" } else { "it was dropped" };
        let (place, turn) = if is_piped { ("pipe", "turn") } else { ("air", "TXOP") };
        let mut text = format!("\nOn the {place} in the {} before {until}:\n\n", milliseconds(self.span));
        let mut line = |what: &str, count: Option<u64>, time: Span| {
            let share = time.as_nanos() as f64 / self.span.as_nanos().max(1) as f64;
            let count = count.map_or(String::new(), |count| {
                format!("{count} {turn}{}", if count == 1 { "" } else { "s" })
            });
            let row = format!(
                "  {what:<38} {count:>10} {:>12} {:>6.1} %  {}",
                milliseconds(time),
                100.0 * share,
                bar(share)
            );
            text += row.trim_end();
            text.push('\n');
        };
        let shown = self.ways.iter().take(MOST_WAYS);
        for way in shown {
            let what = if way.from == way.to {
                name(way.from)
            } else {
                format!("{} to {}", name(way.from), name(way.to))
            };
            line(&what, Some(way.txops), way.airtime);
        }
        let others = self.ways.get(MOST_WAYS..).unwrap_or_default();
        if !others.is_empty() {
            let airtime = others.iter().fold(Span::ZERO, |sum, way| sum + way.airtime);
            line("others", Some(others.iter().map(|way| way.txops).sum()), airtime);
        }
        if !self.overlap.is_zero() {
            line("several at once", None, self.overlap);
        }
        line(if is_piped { "nobody" } else { "nobody: backoff, silence" }, None, self.rest);
        text
    }
}

/// Splits a time on the wire into that in its queue and the delay behind it.
#[must_use]
pub fn split_wire(time: Span, delay: Span) -> (Span, Span) {
    let delay = delay.min(time);
    (time - delay, delay)
}

/// Describes the path of a packet with `hops` before its last one, in lines of at most 100 columns if names are short.
#[must_use]
pub fn explain(row: &PacketRow, hops: &[HopRow], info: &RunInfo, around: &Around) -> String {
    let name = |names: &[String], number: usize| RunInfo::name(names, number);
    let flow = name(&info.flows, usize::try_from(row.flow).unwrap_or(usize::MAX));
    let station = name(&info.stations, usize::from(row.station));
    let category = match row.category {
        _ if around.is_piped => "",
        0 => ", background",
        1 => ", best effort",
        2 => ", video",
        3 => ", voice",
        _ => ", unknown category",
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
        _ if around.is_piped => "carried by a wire or a pipe in place of Wi-Fi".to_owned(),
        1 => format!("transmitted once, in TXOP {}", row.txop),
        tries => format!("transmitted {tries} times, last in TXOP {}", row.txop),
    };
    let text = format!(
        "Packet {} of flow {flow} (station {station}, {} B{category}) {fate}.\nSent at {:.6} s, {relays}{tries}.\n\n",
        row.packet,
        row.size.as_u64(),
        row.sent.as_secs_f64(),
    );
    let mut text = text + &timeline(row, hops, end, info, around);
    if let Some(waited) = &around.waited {
        text += &waited.text(info, around.is_piped);
    }
    if let Some((number, file)) = &around.frame {
        let event = if row.received == Instant::MAX { "drop" } else { "last transmission" };
        text += &format!("\nIts {event} is frame {number} of {file}.\n");
    }
    text
}

/// The last time of a packet: its arrival, or the transmitter's completion.
fn end(row: &PacketRow) -> Option<Instant> {
    let end = if row.fate == Fate::Delivered { row.arrived } else { row.completed };
    (end != Instant::MAX).then_some(end)
}

/// A line for each event: time, description, time since the previous event, and a bar of it.
fn timeline(
    row: &PacketRow,
    hops: &[HopRow],
    end: Option<Instant>,
    info: &RunInfo,
    around: &Around,
) -> String {
    let dropped = matches!(row.fate, Fate::Dropped(_)).then_some(row.completed).unwrap_or(Instant::MAX);
    let arrived = if row.arrived == row.delivered { Instant::MAX } else { row.arrived };
    let queued_at =
        |number: u16| format!("queued at {}", RunInfo::name(&info.transmitters, usize::from(number)));
    let texts: Vec<String> = hops.iter().map(|hop| queued_at(hop.transmitter)).collect();
    let mut moments = vec![(row.sent, "sent by its source", "")];
    // The moment at which it left the queue of the wire, and the name of what follows.
    let wired = |before: Instant, after: Instant| {
        let Some(delay) = around.wire_delay.filter(|_| after != Instant::MAX && after > before) else {
            return (None, "wired");
        };
        let (queue, _) = split_wire(after.since(before), delay);
        let left = (before + queue, "left the queue of the wire", "wire queue");
        ((!queue.is_zero()).then_some(left), if delay.is_zero() { "wired" } else { "wire delay" })
    };
    let first = hops.first().map_or(row.enqueued, |hop| hop.enqueued);
    let (left, name_of_wire) = wired(row.sent, first);
    moments.extend(left);
    let is_first = moments.len();
    for (hop, text) in hops.iter().zip(&texts) {
        moments.extend([
            (hop.enqueued, text.as_str(), if moments.len() == is_first { name_of_wire } else { "queueing" }),
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
        None if around.is_piped => (row.enqueued, "queued at its access link", name_of_wire),
        None => (row.enqueued, "queued at the Wi-Fi transmitter", name_of_wire),
    };
    moments.push(queued);
    if around.is_piped {
        moments.extend([
            (row.first_tx, "transmission began", "queueing"),
            (row.received, "received", "on the link"),
        ]);
    } else {
        moments.extend([
            (row.contending, "its aggregate began to contend", "queueing"),
            (row.first_tx, "first transmission began", "contention"),
        ]);
        if row.tries > 1 {
            moments.push((row.last_tx, "last transmission began", "retries"));
        }
        moments.extend([
            (row.received, "received", "airtime"),
            (row.delivered, "left the reordering buffer", "reordering"),
        ]);
    }
    let (left, name_of_wire) = wired(row.delivered, arrived);
    moments.extend(left);
    moments.extend([
        (arrived, "arrived over the wire behind", name_of_wire),
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
