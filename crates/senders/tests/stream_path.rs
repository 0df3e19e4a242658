//! A stream over a model of the air: one queue for each receiver, served in turn with one A-MPDU each.

use std::collections::VecDeque;

use airbound_senders::allocation::ReceiverId;
use airbound_senders::stream::{
    Arrival, Decision, ReceiverConfig, StreamConfig, StreamError, StreamReceiver, StreamSender,
};
use airbound_units::{BitRate, ByteCount, Instant, Span};

pub(crate) const PACKET: u64 = 1200;
/// Access and overhead of a frame.
const OVERHEAD: Span = Span::from_micros(214);
/// Step of the model.
pub(crate) const STEP: Span = Span::from_micros(100);

pub(crate) fn id(station: usize) -> ReceiverId {
    ReceiverId(station as u16)
}

/// Conditions of one receiver's path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    pub(crate) phy: BitRate,
    pub(crate) tells_phy: bool,
    /// The PHY rate that the receiver tells, if it is another than that of its frames.
    pub(crate) told: Option<BitRate>,
    /// Airtime that others take after each of its frames.
    pub(crate) rival: Span,
    /// Packets that the access point's queue holds.
    pub(crate) queue: usize,
    /// Largest number of packets of a frame.
    pub(crate) window: usize,
    /// Rate of the wire in front of the access point.
    pub(crate) wire: BitRate,
    /// Rate at which the application could send.
    pub(crate) application: BitRate,
    /// Period and length of absences.
    pub(crate) away: Option<(Span, Span)>,
    /// Whether feedback is carried.
    pub(crate) feedback: bool,
}

impl Path {
    pub(crate) const USUAL: Self = Self {
        phy: BitRate::from_mbps(390),
        tells_phy: true,
        told: None,
        rival: Span::ZERO,
        queue: 2000,
        window: 64,
        wire: BitRate::from_mbps(10_000),
        application: BitRate::from_mbps(10_000),
        away: None,
        feedback: true,
    };
}

struct Station {
    receiver: StreamReceiver,
    path: Path,
    /// Packets on the wire with the times at which they reach the access point.
    wire: VecDeque<(Instant, u64)>,
    wire_free: Instant,
    queue: VecDeque<u64>,
    next_frame: Instant,
    frame_at: Instant,
    next_poll: Instant,
    sequence: u64,
    /// Times at which the frames of all packets were handed in, and packets that took longer than `late_after` since then.
    frames: Vec<Instant>,
    late: u64,
    /// Packets that the access point's queue did not take, and those that arrived.
    dropped: u64,
    arrived: u64,
    decision: Option<Decision>,
}

/// The sender, the air and all receivers.
pub(crate) struct Air {
    pub(crate) now: Instant,
    pub(crate) sender: StreamSender,
    stations: Vec<Station>,
    air_free: Instant,
    turn: usize,
    on_air: Option<(Instant, usize, Vec<u64>)>,
    /// Clock of the sender less that of the air.
    pub(crate) sender_ahead: Span,
    /// Clock of stamps less that of the receivers.
    pub(crate) stamps_ahead: Span,
    pub(crate) refused: Vec<StreamError>,
    /// Longest queue of the access point since it was last cleared.
    pub(crate) longest: usize,
    pub(crate) late_after: Span,
}

impl Air {
    pub(crate) fn new(paths: &[Path]) -> Self {
        Self::with(StreamConfig::default(), paths)
    }

    pub(crate) fn with(config: StreamConfig, paths: &[Path]) -> Self {
        let config = StreamConfig { receivers: paths.len() as u16, ..config };
        let mut sender = StreamSender::new(config).expect("valid");
        let stations = paths.iter().enumerate().map(|(number, path)| {
            let key = [number as u8 + 1; 16];
            sender.join(Instant::ZERO, id(number), key).expect("room");
            let config = ReceiverConfig { receiver: id(number), key, ..ReceiverConfig::default() };
            let receiver = StreamReceiver::new(config).expect("valid");
            Station {
                receiver,
                path: *path,
                wire: VecDeque::new(),
                wire_free: Instant::ZERO,
                queue: VecDeque::new(),
                next_frame: Instant::ZERO,
                frame_at: Instant::ZERO,
                next_poll: Instant::ZERO,
                sequence: 0,
                frames: Vec::new(),
                late: 0,
                dropped: 0,
                arrived: 0,
                decision: None,
            }
        });
        Self {
            now: Instant::ZERO,
            stations: stations.collect(),
            sender,
            air_free: Instant::ZERO,
            turn: 0,
            on_air: None,
            sender_ahead: Span::ZERO,
            stamps_ahead: Span::from_secs(1_700_000_000),
            refused: Vec::new(),
            longest: 0,
            late_after: Span::MAX,
        }
    }

    pub(crate) fn path(&mut self, station: usize) -> &mut Path {
        &mut self.stations[station].path
    }

    pub(crate) fn decision(&self, station: usize) -> Decision {
        self.stations[station].decision.expect("polled")
    }

    /// Packets dropped by the access point and packets that arrived, since the begin.
    pub(crate) fn counts(&self, station: usize) -> (u64, u64) {
        (self.stations[station].dropped, self.stations[station].arrived)
    }

    /// Packets that arrived later than `late_after`, since the begin.
    pub(crate) fn late(&self, station: usize) -> u64 {
        self.stations[station].late
    }

    pub(crate) fn run(&mut self, time: Span) {
        let end = self.now + time;
        while self.now < end {
            self.now += STEP;
            (0..self.stations.len()).for_each(|station| self.send(station));
            self.serve();
            (0..self.stations.len()).for_each(|station| self.tell(station));
        }
    }

    fn send(&mut self, number: usize) {
        let now = self.now + self.sender_ahead;
        let station = &mut self.stations[number];
        if station.decision.is_none() || self.now >= station.next_poll {
            let decision = self.sender.poll(id(number), now).expect("joined");
            station.next_poll = self.now + (decision.next.since(now)).max(STEP);
            station.decision = Some(decision);
        }
        if self.now >= station.next_frame {
            station.next_frame = self.now + Span::from_nanos(16_666_667);
            station.frame_at = self.now;
            let rate = station
                .decision
                .map_or(BitRate::ZERO, |decision| decision.encoder)
                .min(station.path.application);
            let bytes = rate.bytes_in(Span::from_nanos(16_666_667)).max(ByteCount::new(PACKET));
            let packets = bytes.as_u64().div_ceil(PACKET) as u32;
            // What does not fit any more is dropped by the application.
            let _ = self.sender.frame(id(number), now, bytes, packets, None);
        }
        let packets = self.sender.allowed(id(number), now).expect("joined").packets;
        if packets > 0 {
            self.sender
                .sent(id(number), now, packets, ByteCount::new(PACKET * u64::from(packets)))
                .expect("in range");
        }
        for _ in 0..packets {
            station.wire_free =
                station.wire_free.max(self.now) + station.path.wire.time_for(ByteCount::new(PACKET));
            // A queue of 20 ms in front of the wire.
            if station.wire_free.since(self.now) < Span::from_millis(20) {
                station.wire.push_back((station.wire_free, station.sequence));
            } else {
                station.wire_free = station.wire_free - station.path.wire.time_for(ByteCount::new(PACKET));
            }
            station.sequence += 1;
            station.frames.push(station.frame_at);
        }
    }

    fn serve(&mut self) {
        let now = self.now;
        for station in &mut self.stations {
            while station.wire.front().is_some_and(|(at, _)| *at <= now) {
                let sequence = station.wire.pop_front().map_or(0, |(_, sequence)| sequence);
                if station.queue.len() < station.path.queue {
                    station.queue.push_back(sequence);
                } else {
                    station.dropped += 1;
                }
            }
            self.longest = self.longest.max(station.queue.len());
        }
        while self.air_free <= now {
            if let Some((end, number, frame)) = self.on_air.take() {
                self.arrive(number, end, &frame);
            }
            let count = self.stations.len();
            let ready = (0..count).map(|step| (self.turn + step) % count).find(|number| {
                let station = &self.stations[*number];
                let away = station.path.away.is_some_and(|(period, length)| {
                    self.air_free.as_nanos() % period.as_nanos() < length.as_nanos()
                });
                !station.queue.is_empty() && !away
            });
            let Some(number) = ready else {
                self.air_free = now + STEP;
                return;
            };
            self.turn = number + 1;
            let station = &mut self.stations[number];
            let size = station.queue.len().min(station.path.window);
            let frame: Vec<u64> = station.queue.drain(..size).collect();
            let bytes = ByteCount::new((PACKET + 74) * size as u64);
            let end = self.air_free + OVERHEAD + station.path.phy.time_for(bytes);
            self.air_free = end + station.path.rival;
            self.on_air = Some((end, number, frame));
        }
    }

    fn arrive(&mut self, number: usize, at: Instant, frame: &[u64]) {
        let station = &mut self.stations[number];
        let ahead = self.stamps_ahead;
        let arrivals: Vec<Arrival> = (0..)
            .zip(frame)
            .map(|(place, sequence)| Arrival {
                // A kernel handles one packet after another.
                stamp: at + ahead + Span::from_micros(2 * place),
                sequence: *sequence,
                packets: 1,
                payload: ByteCount::new(PACKET),
                companion: false,
            })
            .collect();
        let now = at + Span::from_millis(1);
        station.arrived += frame.len() as u64;
        let late_after = self.late_after;
        let is_late = |sequence: &&u64| at.since(station.frames[**sequence as usize]) > late_after;
        station.late += frame.iter().filter(is_late).count() as u64;
        let phy = station.path.told.unwrap_or(station.path.phy);
        station.receiver.phy_rate(station.path.tells_phy.then_some(phy)).expect("in range");
        station.receiver.arrived(now, Some(now + ahead), arrivals.iter().copied()).expect("in range");
    }

    fn tell(&mut self, number: usize) {
        let station = &mut self.stations[number];
        if let Some(feedback) = station.receiver.poll(self.now + Span::from_millis(1))
            && station.path.feedback
            && let Err(error) = self.sender.report(self.now + self.sender_ahead, &feedback)
        {
            self.refused.push(error);
        }
    }
}
