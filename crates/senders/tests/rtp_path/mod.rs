//! A source of video behind congestion control and pacer, one bottleneck, and a receiver that reports: small and deterministic.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use airbound_senders::rtp::gcc::{
    FeedbackCollector, FeedbackConfig, Gcc, GccConfig, Pacer, PacketSent, Priority, TransportFeedback, Usage,
};
use airbound_units::{BitRate, ByteCount, Instant, Span};

const PACKET: u64 = 1200;
const FRAME: Span = Span::from_micros(33_333);

pub(crate) fn seconds(seconds: f64) -> Instant {
    Instant::ZERO + Span::from_secs_f64(seconds)
}

pub(crate) fn mbps(megabits: f64) -> BitRate {
    BitRate::from_bps_f64(megabits * 1e6)
}

/// Network path between sender and receiver.
pub(crate) struct Path {
    /// Capacity from each of these times on.
    pub(crate) capacity: Vec<(f64, BitRate)>,
    pub(crate) one_way: Span,
    /// Longest queueing delay: packets that would wait longer are dropped.
    pub(crate) buffer: Span,
    pub(crate) loss: f64,
    /// Start, duration, and additional delay of packets.
    pub(crate) spike: Option<(f64, f64, Span)>,
    /// Start, end and rate of another source in the same queue.
    pub(crate) cross_traffic: Option<(f64, f64, BitRate)>,
    /// Start and end of a time without reports.
    pub(crate) silence: Option<(f64, f64)>,
}

impl Path {
    pub(crate) fn of(capacity: BitRate) -> Self {
        Self {
            capacity: vec![(0.0, capacity)],
            one_way: Span::from_millis(20),
            buffer: Span::from_millis(500),
            loss: 0.0,
            spike: None,
            cross_traffic: None,
            silence: None,
        }
    }

    pub(crate) fn then(mut self, at: f64, capacity: BitRate) -> Self {
        self.capacity.push((at, capacity));
        self
    }

    fn capacity_at(&self, now: Instant) -> BitRate {
        let began = |(at, _): &&(f64, BitRate)| seconds(*at) <= now;
        self.capacity.iter().rev().find(began).map_or(BitRate::ZERO, |(_, rate)| *rate)
    }
}

/// The state at one report.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) at: f64,
    pub(crate) target: f64,
    /// Queueing delay in ms of a packet arriving now.
    pub(crate) queue: f64,
    pub(crate) usage: Usage,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Frame,
    CrossTraffic,
    Arrival(u64),
    Report(usize),
}

pub(crate) struct RtpSession {
    path: Path,
    /// Highest rate of the source, for any target.
    encoder_max: BitRate,
    gcc: Gcc,
    pacer: Pacer<u64>,
    collector: FeedbackCollector,
    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    reports: Vec<TransportFeedback>,
    order: u64,
    sequence: u64,
    busy_until: Instant,
    random: u64,
    pub(crate) samples: Vec<Sample>,
    pub(crate) probes: Vec<(f64, BitRate)>,
}

impl RtpSession {
    pub(crate) fn new(config: GccConfig, path: Path) -> Self {
        let gcc = Gcc::new(config).expect("valid");
        let mut session = Self {
            path,
            encoder_max: BitRate::from_mbps(1000),
            pacer: Pacer::new(gcc.pacing()),
            gcc,
            collector: FeedbackCollector::new(FeedbackConfig::default()).expect("valid"),
            events: BinaryHeap::new(),
            reports: Vec::new(),
            order: 0,
            sequence: 0,
            busy_until: Instant::ZERO,
            random: 7,
            samples: Vec::new(),
            probes: Vec::new(),
        };
        session.schedule(Instant::ZERO, Event::Frame);
        if let Some((from, _, _)) = session.path.cross_traffic {
            session.schedule(seconds(from), Event::CrossTraffic);
        }
        session
    }

    pub(crate) fn limited_to(mut self, rate: BitRate) -> Self {
        self.encoder_max = rate;
        self
    }

    pub(crate) fn gcc(&self) -> &Gcc {
        &self.gcc
    }

    /// Runs up to this time.
    pub(crate) fn run(mut self, until: f64) -> Self {
        loop {
            let timers =
                [self.pacer.next_deadline(), self.gcc.next_deadline(), self.collector.next_deadline()];
            let event = self.events.peek().map(|Reverse((at, _, _))| *at);
            let Some(now) =
                timers.into_iter().flatten().chain(event).min().filter(|now| *now <= seconds(until))
            else {
                return self;
            };
            if event == Some(now) {
                let Some(Reverse((_, _, event))) = self.events.pop() else { return self };
                self.handle(now, event);
            }
            self.drain(now);
        }
    }

    /// The mean target in Mb/s between two times.
    pub(crate) fn target(&self, from: f64, to: f64) -> f64 {
        self.mean(from, to, |sample| sample.target)
    }

    /// The mean queueing delay in ms between two times.
    pub(crate) fn queue(&self, from: f64, to: f64) -> f64 {
        self.mean(from, to, |sample| sample.queue)
    }

    fn mean(&self, from: f64, to: f64, value: impl Fn(&Sample) -> f64) -> f64 {
        let values: Vec<f64> =
            self.samples.iter().filter(|sample| (from..to).contains(&sample.at)).map(value).collect();
        assert!(!values.is_empty(), "no report between {from} s and {to} s");
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at, self.order, event)));
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 33) as f64 / (1_u64 << 31) as f64) < probability
    }

    fn handle(&mut self, now: Instant, event: Event) {
        match event {
            Event::Frame => {
                let rate = self.gcc.target_rate().min(self.encoder_max);
                let bytes = rate.bytes_in(FRAME).as_u64().max(200);
                let packets = bytes.div_ceil(PACKET);
                for _ in 0..packets {
                    let size = bytes / packets;
                    self.pacer.enqueue(now, Priority::Video, ByteCount::new(size), size);
                }
                self.schedule(now + FRAME, Event::Frame);
            }
            Event::CrossTraffic => {
                if let Some((_, until, rate)) = self.path.cross_traffic
                    && now < seconds(until)
                {
                    self.occupy(now, PACKET);
                    self.schedule(now + rate.time_for(ByteCount::new(PACKET)), Event::CrossTraffic);
                }
            }
            Event::Arrival(sequence) => self.collector.on_packet(now, sequence),
            Event::Report(number) => {
                let report = self.reports[number].clone();
                self.gcc.on_feedback(now, &report);
                self.samples.push(Sample {
                    at: now.as_secs_f64(),
                    target: self.gcc.target_rate().as_mbps_f64(),
                    queue: (self.busy_until - now).as_millis_f64(),
                    usage: self.gcc.metrics().usage,
                });
            }
        }
    }

    /// Reserves the queue for a packet; returns when it has passed, `None` if it does not fit.
    fn occupy(&mut self, now: Instant, size: u64) -> Option<Instant> {
        if self.busy_until - now > self.path.buffer {
            return None;
        }
        self.busy_until =
            self.busy_until.max(now) + self.path.capacity_at(now).time_for(ByteCount::new(size));
        Some(self.busy_until)
    }

    fn drain(&mut self, now: Instant) {
        self.gcc.on_deadline(now);
        while let Some(probe) = self.gcc.next_probe(now) {
            self.probes.push((now.as_secs_f64(), probe.rate));
            self.pacer.start_probe(now, probe);
        }
        self.pacer.set_rate(now, self.gcc.pacing());
        loop {
            while let Some((size, probe)) = self.pacer.poll(now) {
                self.send(now, size, probe);
            }
            let Some(padding) = self.pacer.padding_wanted(now) else { break };
            let size = padding.as_u64().min(PACKET);
            self.pacer.enqueue(now, Priority::Padding, ByteCount::new(size), size);
        }
        while let Some(report) = self.collector.poll(now) {
            let lost =
                self.path.silence.is_some_and(|(from, to)| (seconds(from)..seconds(to)).contains(&now));
            if !lost {
                self.reports.push(report);
                self.schedule(now + self.path.one_way, Event::Report(self.reports.len() - 1));
            }
        }
    }

    fn send(&mut self, now: Instant, size: u64, probe: Option<u32>) {
        let sequence = self.sequence;
        self.sequence += 1;
        self.gcc.on_sent(now, PacketSent { sequence, size: ByteCount::new(size), probe });
        let Some(passed) = self.occupy(now, size) else { return };
        if self.chance(self.path.loss) {
            return;
        }
        let spike = self
            .path
            .spike
            .filter(|(from, length, _)| (seconds(*from)..seconds(*from + *length)).contains(&now));
        let extra = spike.map_or(Span::ZERO, |(_, _, extra)| extra);
        self.schedule(passed + self.path.one_way + extra, Event::Arrival(sequence));
    }
}
