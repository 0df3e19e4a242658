//! Converts the guest's logs to the record of a run, with the tables and the summary of a simulated run.

mod reordering;
mod round_trips;
mod segments;
mod streams;
mod summary;

use std::collections::BTreeMap;
use std::path::Path;

use airbound_control::frame::DropReason;
use airbound_record::{
    DistributionRow, Encoding, Existing, Fate, FlowLatency, FrameFate, FrameRow, LatencyHistogram,
    PacketCounts, PacketRow, Performance, Recorder, Resolution, RunFolder, RunInfo, SeriesRow, Split,
    Summary, Tables, TxopKind, TxopRow,
};
use airbound_scenario::{Direction, Scenario, Traffic, Transport};
use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::machine::Outcome;
use super::series::{self, Arrivals, Windows};
use crate::LabError;
use crate::log::{self, MpduRow, Row};
use reordering::Released;

/// Bytes of the headers of IPv4 and UDP.
const UDP_HEADERS: u64 = 28;

/// Where the latency of a datagram ends; a segment of TCP ends at the radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LatencyEnd {
    /// At the program that reads it: with the time of the machine's processor, which plays all hosts.
    Program,
    /// Where the receiver's reordering buffer lets it go, and at the end of the wire behind an access point.
    Radio,
}

/// Writes the record of a run into `folder`, with the tables of packets and transmissions if `packet_log`. Returns the summary.
///
/// # Errors
/// The logs are incomplete, or a file cannot be written.
pub fn write_record(
    name: &str,
    scenario: &Scenario,
    outcome: &Outcome,
    folder: &Path,
    packet_log: bool,
    end: LatencyEnd,
) -> Result<Summary, LabError> {
    let (own, (scenario, rows)) = (scenario, super::applications::place(scenario, &outcome.rows));
    let info = RunInfo {
        scenario: name.to_owned(),
        scheme: scenario.scheme.to_string(),
        seed: scenario.seed,
        flows: scenario.flows.iter().map(|flow| flow.name.clone()).collect(),
        stations: scenario.station_names(),
        transmitters: scenario.transmitter_names(),
        drop_reasons: DropReason::ALL.iter().map(|reason| reason.name().to_owned()).collect(),
    };
    let measurements = Measurements::of(&scenario, &rows, end)?;
    let tables = Tables {
        hops: false,
        senders: false,
        series: true,
        ..if packet_log { Tables::ALL } else { Tables::SMALL }
    };
    let mut recorder =
        Recorder::create(RunFolder::create(folder, Existing::Replace)?, &info, tables, Encoding::Inline)?;
    for packet in &measurements.packets {
        recorder.packet(*packet);
    }
    for txop in &measurements.txops {
        recorder.txop(*txop);
    }
    for frame in &measurements.frames {
        recorder.frame(*frame);
    }
    for row in measurements.series() {
        recorder.series(row);
    }
    for row in measurements.distributions() {
        recorder.distribution(row);
    }
    let mut summary = measurements.summary(name);
    super::applications::name_kinds(&mut summary, own.flows.len());
    let simulated = scenario.end().as_secs_f64();
    let performance = Performance {
        events: outcome.rows.len() as u64,
        wall_s: outcome.wall.as_secs_f64(),
        simulated_s_per_wall_s: simulated / outcome.wall.as_secs_f64().max(1e-9),
        peak_rss_mb: None,
    };
    let folder = recorder.finish(&own.to_toml(), &summary, &performance)?;
    for (name, text) in &outcome.texts {
        // Files of the agent keep their names; all others are output of the kernel.
        let name = if name.starts_with("agent") { name.clone() } else { format!("kernel-{name}") };
        super::write(&folder.path().join(name), text)?;
    }
    let (idle, of) = measurements.idle;
    let share = if of > 0 { 100.0 * idle as f64 / of as f64 } else { 0.0 };
    super::write(&folder.path().join("kernel-idle.txt"), format!("virtual processor idle: {share:.1} %\n"))?;
    Ok(summary)
}

/// Measurements of one flow.
#[derive(Default)]
struct FlowMeasurements {
    latency: FlowLatency,
    counts: PacketCounts,
    drops: BTreeMap<String, u64>,
    offered: u64,
    goodput: u64,
    sent: Arrivals,
    received: Arrivals,
    frames: Option<FrameMeasurements>,
}

/// Measurements of a flow's video frames.
struct FrameMeasurements {
    latency: LatencyHistogram,
    delivered: u64,
    missed: u64,
    all: u64,
}

struct Measurements<'a> {
    scenario: &'a Scenario,
    zero: Instant,
    latency_end: LatencyEnd,
    released: Released,
    flows: Vec<FlowMeasurements>,
    packets: Vec<PacketRow>,
    txops: Vec<TxopRow>,
    frames: Vec<FrameRow>,
    idle: (u64, u64),
    busy: Span,
    attempts: u64,
    collided: u64,
}

/// The reason why a radio gave a frame up: Law's time limit if it was not sent.
const fn given_up(mpdu: &MpduRow) -> DropReason {
    if mpdu.tries == 0 { DropReason::Expired } else { DropReason::RetryLimit }
}

/// A datagram and its events.
#[derive(Clone, Copy)]
struct Datagram {
    sent: Instant,
    size: u64,
    frame: u64,
    entered: Instant,
    arrived: Instant,
    mpdu: Option<MpduRow>,
}

impl<'a> Measurements<'a> {
    fn of(scenario: &'a Scenario, rows: &[Row], latency_end: LatencyEnd) -> Result<Self, LabError> {
        let run = rows.iter().find_map(|row| match row {
            Row::Run { zero, idle, of } => Some((*zero, (*idle, *of))),
            _ => None,
        });
        let (zero, idle) =
            run.ok_or_else(|| LabError::Guest("the medium's log has no start of the run".to_owned()))?;
        let mut measurements = Self {
            scenario,
            zero,
            latency_end,
            released: Released::of(rows),
            flows: scenario.flows.iter().map(|_| FlowMeasurements::default()).collect(),
            packets: Vec::new(),
            txops: Vec::new(),
            frames: Vec::new(),
            idle,
            busy: Span::ZERO,
            attempts: 0,
            collided: 0,
        };
        measurements.record_air(rows);
        for number in 0..scenario.flows.len() {
            if is_stream(scenario, number) {
                measurements.record_stream(number, rows);
            } else {
                measurements.record_datagrams(number, rows);
            }
        }
        measurements.packets.sort_by_key(|packet| (packet.sent, packet.packet));
        measurements.frames.sort_by_key(|frame| (frame.created, frame.flow));
        Ok(measurements)
    }

    /// Converts to the scenario's time.
    fn time(&self, at: Instant) -> Instant {
        if at == Instant::MAX { at } else { Instant::ZERO + at.since(self.zero) }
    }

    fn from(&self) -> Instant {
        Instant::ZERO + self.scenario.warm_up
    }

    fn end(&self) -> Instant {
        Instant::ZERO + self.scenario.end()
    }

    fn record_air(&mut self, rows: &[Row]) {
        let mut until = Instant::ZERO;
        for row in rows {
            let Row::Txop(row) = row else { continue };
            let (start, end) = (self.time(row.start), self.time(row.end));
            if row.start < self.zero || start >= self.end() {
                continue;
            }
            // Colliding exchanges start at the same time and count once.
            let begin = start.max(until).max(self.from());
            self.busy += end.min(self.end()).since(begin);
            until = until.max(end);
            if start >= self.from() {
                self.attempts += 1;
                self.collided += u64::from(row.transmitters > 1);
            }
            let number = |value: u64| u16::try_from(value).unwrap_or(u16::MAX);
            self.txops.push(TxopRow {
                txop: row.txop,
                transmitter: number(row.radio),
                receiver: if row.peer == log::NONE { 0 } else { number(row.peer) },
                category: row.category as u8,
                kind: if row.data == 1 { TxopKind::Data } else { TxopKind::Management },
                contending: self.time(row.contending),
                start,
                end,
                rate: BitRate::from_bps(row.rate),
                mpdus: number(row.mpdus),
                acked: number(row.acked),
                size: ByteCount::new(row.size),
                collided: row.transmitters > 1,
            });
        }
    }

    /// The row of a packet, with the times of its MPDU.
    fn row(&self, flow: usize, number: u64, size: u64, sent: Instant, mpdu: Option<&MpduRow>) -> PacketRow {
        let entry = &self.scenario.flows[flow];
        let station = self.scenario.station_index(&entry.station).unwrap_or(0);
        let at = |of: fn(&MpduRow) -> Instant| mpdu.map_or(Instant::MAX, |mpdu| self.time(of(mpdu)));
        PacketRow {
            packet: number * self.scenario.flows.len() as u64 + flow as u64,
            flow: flow as u32,
            station: station as u16 + 1,
            category: entry.category.index() as u8,
            size: ByteCount::new(size),
            sent,
            enqueued: at(|mpdu| mpdu.queued),
            contending: at(|mpdu| mpdu.contending),
            first_tx: at(|mpdu| mpdu.first_tx),
            last_tx: at(|mpdu| mpdu.last_tx),
            received: at(|mpdu| mpdu.received),
            delivered: self.time(self.released.at(mpdu)),
            arrived: Instant::MAX,
            completed: at(|mpdu| mpdu.completed),
            fate: Fate::Queued,
            tries: mpdu.map_or(0, |mpdu| u8::try_from(mpdu.tries).unwrap_or(u8::MAX)),
            txop: mpdu.map_or(0, |mpdu| mpdu.txop),
        }
    }

    /// When a packet that the receiver's radio let go is at the end of the wire behind it.
    fn behind_radio(&self, flow: usize, delivered: Instant) -> Instant {
        match self.scenario.flows[flow].direction {
            Direction::Up if delivered != Instant::MAX => delivered + self.scenario.wire.way.delay,
            _ => delivered,
        }
    }

    /// Counts a packet, and keeps its row. `gone` is the reason why it does not arrive; `None`: it has not been dropped.
    fn settle(&mut self, flow: usize, mut row: PacketRow, gone: Option<DropReason>) {
        let measured = row.sent >= self.from();
        if row.sent >= self.end() {
            return;
        }
        row.fate = match gone {
            _ if row.arrived <= self.end() => Fate::Delivered,
            Some(reason) if row.arrived == Instant::MAX => Fate::Dropped(reason.code()),
            _ => Fate::Queued,
        };
        // A packet that arrives after the end of the run counts as queued.
        if row.fate == Fate::Queued {
            (row.arrived, row.delivered) = (Instant::MAX, Instant::MAX);
        }
        let entry = &mut self.flows[flow];
        if measured {
            entry.counts.sent += 1;
            match row.fate {
                Fate::Delivered => entry.counts.delivered += 1,
                Fate::Queued => entry.counts.queued += 1,
                Fate::Dropped(_) => {
                    entry.counts.dropped += 1;
                    let reason = gone.map_or("", DropReason::name).to_owned();
                    *entry.drops.entry(reason).or_default() += 1;
                }
            }
            if let Some(split) = Split::of(&row) {
                entry.latency.record(&split);
            }
        }
        self.packets.push(row);
    }

    fn record_datagrams(&mut self, flow: usize, rows: &[Row]) {
        let mut datagrams: BTreeMap<u64, Datagram> = BTreeMap::new();
        for row in rows {
            if let Row::Sent { flow: of, number, at, size, frame } = *row
                && of == flow as u64
            {
                let (sent, never) = (self.time(at), Instant::MAX);
                let one = Datagram { sent, size, frame, entered: never, arrived: never, mpdu: None };
                datagrams.insert(number, one);
            }
        }
        for row in rows {
            match row {
                Row::Arrived { flow: of, number, at } if *of == flow as u64 => {
                    let at = self.time(*at);
                    if let Some(one) = datagrams.get_mut(number) {
                        one.arrived = one.arrived.min(at);
                    }
                }
                Row::Entry(entry) if entry.flow == flow as u64 => {
                    let at = self.time(entry.at);
                    if let Some(one) = datagrams.get_mut(&entry.number) {
                        one.entered = at;
                    }
                }
                Row::Mpdu(mpdu) if mpdu.flow == flow as u64 => {
                    if let Some(one) = datagrams.get_mut(&mpdu.number) {
                        one.mpdu = Some(*mpdu);
                    }
                }
                _ => {}
            }
        }
        self.record_frames_of_datagrams(flow, &datagrams);
        let (from, end) = (self.from(), self.end());
        for (number, one) in datagrams {
            let payload = one.size.saturating_sub(UDP_HEADERS);
            self.flows[flow].sent.push((one.sent, payload));
            if one.arrived < Instant::MAX {
                self.flows[flow].received.push((one.arrived, payload));
            }
            if one.sent >= from && one.sent < end {
                self.flows[flow].offered += payload;
            }
            if one.arrived >= from && one.arrived <= end {
                self.flows[flow].goodput += payload;
            }
            let mut row = self.row(flow, number, one.size, one.sent, one.mpdu.as_ref());
            // A packet waits in the access point from its entry on: in the agent, then in mac80211.
            row.enqueued = row.enqueued.min(one.entered);
            row.arrived = match self.latency_end {
                LatencyEnd::Radio if one.mpdu.is_some() => self.behind_radio(flow, row.delivered),
                LatencyEnd::Radio | LatencyEnd::Program => one.arrived,
            };
            // Given up by the radio, or dropped by mac80211's queues before.
            self.settle(flow, row, Some(one.mpdu.map_or(DropReason::Congestion, |mpdu| given_up(&mpdu))));
        }
    }

    fn deadline(&self, flow: usize) -> Option<Span> {
        match &self.scenario.flows[flow].traffic {
            Traffic::Vr(stream) => Some(stream.deadline),
            _ => None,
        }
    }

    fn record_frames_of_datagrams(&mut self, flow: usize, datagrams: &BTreeMap<u64, Datagram>) {
        if self.deadline(flow).is_none() {
            return;
        }
        // Creation, complete arrival (never, if a packet is missing), size.
        let mut frames: BTreeMap<u64, (Instant, Instant, u64)> = BTreeMap::new();
        for one in datagrams.values() {
            let frame = frames.entry(one.frame).or_insert((one.sent, Instant::ZERO, 0));
            frame.1 = frame.1.max(one.arrived);
            frame.2 += one.size.saturating_sub(UDP_HEADERS);
        }
        for (number, (created, arrived, size)) in frames {
            let fate = if arrived == Instant::MAX { FrameFate::Lost } else { FrameFate::Delivered };
            self.record_frame(flow, number, created, arrived, size, fate);
        }
    }

    fn record_frame(
        &mut self,
        flow: usize,
        frame: u64,
        created: Instant,
        delivered: Instant,
        size: u64,
        fate: FrameFate,
    ) {
        let (Some(deadline), true) = (self.deadline(flow), created < self.end()) else { return };
        let delivered = if delivered > self.end() { Instant::MAX } else { delivered };
        let fate = match fate {
            FrameFate::Delivered if delivered == Instant::MAX => FrameFate::Unfinished,
            FrameFate::Delivered if delivered.since(created) > deadline => FrameFate::Late,
            other => other,
        };
        if created >= self.from() {
            let entry = self.flows[flow].frames.get_or_insert_with(|| FrameMeasurements {
                latency: LatencyHistogram::new(Resolution::Fine),
                delivered: 0,
                missed: 0,
                all: 0,
            });
            if matches!(fate, FrameFate::Delivered | FrameFate::Late) {
                entry.delivered += 1;
                entry.latency.record(delivered.since(created));
                self.flows[flow].latency.record_frame(delivered.since(created));
            }
            let entry = self.flows[flow].frames.as_mut();
            if let Some(entry) = entry.filter(|_| fate != FrameFate::Unfinished) {
                entry.all += 1;
                entry.missed += u64::from(fate != FrameFate::Delivered);
            }
        }
        let base = FrameRow::skipped(flow as u32, frame, created);
        let first_packet = if fate == FrameFate::Skipped { Instant::MAX } else { created };
        self.frames.push(FrameRow { first_packet, delivered, size: ByteCount::new(size), fate, ..base });
    }

    fn series(&self) -> Vec<SeriesRow> {
        let mut packets: Vec<Vec<&PacketRow>> = self.flows.iter().map(|_| Vec::new()).collect();
        for packet in &self.packets {
            packets[packet.flow as usize].push(packet);
        }
        let flows = self.scenario.flows.iter().zip(&self.flows).zip(packets);
        let flows = flows.map(|((flow, entry), packets)| {
            let station = self.scenario.station_index(&flow.station).unwrap_or(0) as u16 + 1;
            series::Flow { packets, offered: &entry.sent, received: &entry.received, station }
        });
        series::of(&Windows::new(self.scenario.window, self.end()), &flows.collect::<Vec<_>>(), &self.txops)
    }

    fn distributions(&self) -> impl Iterator<Item = DistributionRow> + '_ {
        self.flows.iter().zip(0u32..).flat_map(|(entry, number)| entry.latency.rows(number))
    }
}

fn is_stream(scenario: &Scenario, flow: usize) -> bool {
    match &scenario.flows[flow].traffic {
        Traffic::Tcp(_) | Traffic::TcpShort(_) => true,
        Traffic::Vr(stream) => stream.transport == Transport::Tcp,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use airbound_scenario::Overrides;

    use super::*;

    const SCENARIO: &str = "duration = \"1 s\"\nwarm-up = \"0 s\"\n[scheme]\nqueue = \"linux\"\n[wire]\ndelay = \"1 ms\"\n\
        [[station]]\nname = \"a\"\nrate = \"HT20 MCS7 1SS LGI\"\nchannel = { kind = \"ideal\" }\n\
        [[flow]]\nname = \"down\"\nstation = \"a\"\nkind = \"voip\"\n\
        [[flow]]\nname = \"up\"\nstation = \"a\"\nkind = \"voip\"\ndirection = \"up\"\n";

    #[test]
    fn the_processor_after_the_radio_is_part_of_the_programs_latency_alone() {
        let scenario = Scenario::parse(SCENARIO, "two calls", &Overrides::default()).expect("a scenario");
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        let mpdu = |flow, txop, received| MpduRow {
            flow,
            number: 0,
            station: 1,
            category: 3,
            size: 200,
            queued: at(100),
            handed: at(100),
            contending: at(100),
            first_tx: at(101),
            last_tx: at(101),
            received: at(received),
            completed: at(103),
            tries: 1,
            txop,
        };
        let mut rows = vec![Row::Run { zero: Instant::ZERO, idle: 0, of: 0 }];
        for (flow, received, arrived) in [(0, 102, 105), (1, 102, 106)] {
            rows.push(Row::Sent { flow, number: 0, at: at(99), size: 200, frame: 0 });
            rows.push(Row::Mpdu(mpdu(flow, flow + 1, received)));
            rows.push(Row::Arrived { flow, number: 0, at: at(arrived) });
        }
        let times = |end| {
            let measurements = Measurements::of(&scenario, &rows, end).expect("a start of the run");
            let of = |row: &PacketRow| {
                [row.received, row.delivered, row.arrived].map(|at| at.as_nanos() / 1_000_000)
            };
            measurements.packets.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(times(LatencyEnd::Program), [[102, 102, 105], [102, 102, 106]]);
        // The wire's millisecond lies behind the access point.
        assert_eq!(times(LatencyEnd::Radio), [[102, 102, 102], [102, 102, 103]]);
    }
}
