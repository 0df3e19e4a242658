//! Rules of others: each report of the receiver, with packets and frames counted, asks for a rate.

use std::fmt::Debug;

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::ledger::Ledger;
use super::{FramePart, MediaRate, PathState, RateBounds};
use crate::rtp::gcc::{PacketSent, TransportFeedback};

/// A rule from outside this crate.
pub trait CustomRule: Debug + Send {
    /// Takes a report of the receiver, one each 50 to 250 ms while packets arrive; returns the next rate, kept within the report's bounds.
    /// Without reports the rate stays.
    fn on_report(&mut self, report: &RuleReport) -> BitRate;
}

/// News of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleReport {
    /// Time of its arrival at the sender.
    pub now: Instant,
    /// The rate so far: of all packets, parity and headers included.
    pub rate: BitRate,
    /// The least rate.
    pub least: BitRate,
    /// The highest rate.
    pub most: BitRate,
    /// Packets that arrived, in the order of departure.
    pub packets: Vec<ReportedPacket>,
    /// Number of packets newly missing.
    pub lost: usize,
    /// Frames of which enough packets arrived.
    pub frames: Vec<ReportedFrame>,
    /// Number of frames that cannot become complete unless packets are sent again.
    pub frames_lost: usize,
    /// The smoothed round trip without the reports' own delay; `None` before the first packet.
    pub round_trip: Option<Span>,
    /// Bytes sent of which no report has said anything.
    pub in_flight: ByteCount,
}

/// A packet that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportedPacket {
    /// Time of departure.
    pub sent: Instant,
    /// Size from the IP header on.
    pub size: ByteCount,
    /// Its way beyond the shortest one of the stream so far.
    pub delay: Span,
}

/// A frame that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportedFrame {
    /// Size of its packets, parity included.
    pub size: ByteCount,
    /// From the departure of its first packet to the return of an answer to its last needed one.
    pub latency: Span,
    /// From the arrival of its first packet to that of the last needed one.
    pub span: Span,
}

/// A [`CustomRule`] as the rule of a stream.
#[derive(Debug)]
pub struct Custom {
    rule: Box<dyn CustomRule>,
    ledger: Ledger,
    bounds: RateBounds,
    rate: BitRate,
    /// Of two clocks, ns.
    shortest: Option<i128>,
}

impl Custom {
    /// Begins at the first rate of `bounds`.
    #[must_use]
    pub fn new(rule: Box<dyn CustomRule>, bounds: RateBounds) -> Self {
        Self { rule, ledger: Ledger::default(), bounds, rate: bounds.start, shortest: None }
    }
}

impl MediaRate for Custom {
    fn on_sent(&mut self, now: Instant, packet: PacketSent) {
        self.ledger.on_sent(now, packet);
    }
    fn on_frame_part(&mut self, _now: Instant, part: FramePart) {
        self.ledger.on_frame_part(part);
    }
    fn on_feedback(&mut self, now: Instant, feedback: &TransportFeedback) {
        let news = self.ledger.on_feedback(now, feedback);
        let least = news.arrived.iter().map(|packet| packet.way).chain(self.shortest).min();
        self.shortest = least;
        let delay =
            |way: i128| Span::from_nanos(u64::try_from(way - least.unwrap_or(way)).unwrap_or(u64::MAX));
        let packets = news.arrived.iter().map(|packet| ReportedPacket {
            sent: packet.sent,
            size: packet.size,
            delay: delay(packet.way),
        });
        let frames = news.complete.iter().map(|frame| ReportedFrame {
            size: frame.bytes,
            latency: frame.round_trip,
            span: frame.span,
        });
        let report = RuleReport {
            now,
            rate: self.rate,
            least: self.bounds.least,
            most: self.bounds.most,
            packets: packets.collect(),
            lost: news.lost.1,
            frames: frames.collect(),
            frames_lost: news.frames_lost,
            round_trip: self.ledger.path().round_trip,
            in_flight: self.ledger.in_flight(),
        };
        self.rate = self.rule.on_report(&report).clamp(self.bounds.least, self.bounds.most);
    }
    fn target(&self) -> BitRate {
        self.rate
    }
    fn path(&self) -> PathState {
        self.ledger.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtp::gcc::PacketResult;

    /// Halves at a lost packet, and keeps what it saw.
    #[derive(Debug, Default)]
    struct Halving(std::sync::Arc<std::sync::Mutex<Vec<RuleReport>>>);

    impl CustomRule for Halving {
        fn on_report(&mut self, report: &RuleReport) -> BitRate {
            self.0.lock().expect("one thread").push(report.clone());
            if report.lost > 0 { report.rate.mul_f64(0.5) } else { report.rate }
        }
    }

    #[test]
    fn a_rule_sees_packets_and_frames_and_stays_within_its_bounds() {
        let bounds = RateBounds {
            start: BitRate::from_mbps(6),
            least: BitRate::from_mbps(2),
            most: BitRate::from_mbps(20),
            media: BitRate::from_mbps(20),
        };
        let halving = Halving::default();
        let seen = halving.0.clone();
        let mut rule = Custom::new(Box::new(halving), bounds);
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        for sequence in 0..6 {
            rule.on_frame_part(at(sequence), FramePart { frame: sequence / 2, packets: 2, coded: at(0) });
            let size = ByteCount::new(1000);
            rule.on_sent(at(sequence), PacketSent { sequence, size, probe: None });
        }
        let mut targets = Vec::new();
        for (first, arrivals) in [(0, [Some(10), Some(14)]), (2, [Some(15), None]), (4, [None, Some(17)])] {
            let of =
                |(sequence, arrival): (u64, Option<u64>)| PacketResult { sequence, arrival: arrival.map(at) };
            let packets = (first..).zip(arrivals).map(of).collect();
            rule.on_feedback(at(20 + first), &TransportFeedback { packets });
            targets.push(rule.target().as_mbps_f64());
        }
        assert_eq!(targets, [6.0, 3.0, 2.0]);
        let seen = seen.lock().expect("one thread");
        assert_eq!(seen[0].packets.iter().map(|packet| packet.delay.as_millis()).collect::<Vec<_>>(), [0, 3]);
        assert_eq!((seen[0].frames.len(), seen[0].frames[0].size), (1, ByteCount::new(2000)));
        assert_eq!(
            (seen[1].lost, seen[2].rate, seen[2].in_flight),
            (1, BitRate::from_mbps(3), ByteCount::ZERO)
        );
    }
}
