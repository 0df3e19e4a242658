//! Salsify: each frame as large as what can be in flight if a packet is to arrive within 100 ms.
//!
//! Fouladi et al., "Salsify: Low-Latency Network Video through Tighter Integration between a Video Codec and a Transport Protocol", NSDI 2018,
//! and its program (`excamera/alfalfa`): `src/salsify/salsify-sender.cc` 0061035b (`target_size`, `inter_send_delay`),
//! `src/salsify/salsify-receiver.cc` 0e5f9457 (`AverageInterPacketDelay`). The program chooses between two versions of a frame, a better and
//! a worse one, and skips it if both are too large; the encoder of the model takes any size. Its pacer leaves 500 us between packets, which
//! bounds the rate.

use std::collections::BTreeMap;

use airbound_units::{BitRate, ByteCount, ConfigError, Instant, Span};
use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use super::{FramePart, Key, MediaRate, Pacing, PathState, RateBounds};
use crate::rtp::gcc::{PacketSent, TransportFeedback};

/// Reports as often as the wire format resolves usefully; the program acknowledges each packet.
const REPORTS: Span = Span::from_millis(2);
/// Weight of a gap in the mean gap between arrivals (`ALPHA`).
const WEIGHT: f64 = 0.1;
/// Shortest and longest gap between two departures of a frame's packets (`inter_send_delay`), a fifth of the mean gap between arrivals.
const LEAST_GAP: Span = Span::from_micros(500);
const MOST_GAP: Span = Span::from_millis(2);
/// Interval of frames before two have left, and the longest that is believed: a pause is no interval.
const FIRST_INTERVAL: Span = Span::from_millis(33);
const MOST_INTERVAL: Span = Span::from_millis(100);
/// Most remembered packets.
const MOST_PACKETS: usize = 20_000;

/// The configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Time in which all that is in flight is to arrive: 100 ms (`max_delay`). 10 ms to 1 s.
    pub delay: Span,
}

impl Default for Config {
    fn default() -> Self {
        Self { delay: Span::from_millis(100) }
    }
}

pub(super) const KEYS: &[Key] = &[("delay", "`\"100 ms\"`; 10 ms–1 s", "in which all in flight arrives")];

/// The rule.
#[derive(Debug, Clone)]
pub(super) struct Salsify {
    delay: Span,
    bounds: RateBounds,
    ledger: Ledger,
    /// The pause of the sender before a frame's first packet, by that packet: no gap of the network.
    graces: BTreeMap<u64, Span>,
    /// Of the next packet, if it is a frame's first.
    grace: Option<Span>,
    frame: Option<(u64, Instant)>,
    interval: Span,
    sent: Option<u64>,
    acked: Option<u64>,
    size: ByteCount,
    /// Arrival of the newest packet, and the mean gap between arrivals in s.
    arrival: Option<Instant>,
    gap: Option<f64>,
}

/// Builds it within the rates of a flow or a session.
///
/// # Errors
/// [`ConfigError::OutOfRange`] if `delay` is out of range.
pub(super) fn build(config: &Config, bounds: &RateBounds) -> Result<Salsify, ConfigError> {
    let is_valid = (Span::from_millis(10)..=Span::from_secs(1)).contains(&config.delay);
    ConfigError::check(is_valid, "delay", config.delay, "10 ms to 1 s")?;
    Ok(Salsify {
        delay: config.delay,
        bounds: *bounds,
        ledger: Ledger::default(),
        graces: BTreeMap::new(),
        grace: None,
        frame: None,
        interval: FIRST_INTERVAL,
        sent: None,
        acked: None,
        size: ByteCount::new(1400),
        arrival: None,
        gap: None,
    })
}

impl Salsify {
    fn on_arrival(&mut self, sequence: u64, at: Instant) {
        let grace = self.graces.remove(&sequence).unwrap_or(Span::ZERO);
        if let Some(last) = self.arrival {
            let sample = (at - last).saturating_sub(grace).as_secs_f64();
            let gap = self.gap.unwrap_or(sample);
            self.gap = Some(gap + WEIGHT * (sample - gap));
        }
        self.arrival = self.arrival.max(Some(at));
    }

    /// The rate of packets so far apart.
    fn paced(&self, gap: Span) -> BitRate {
        BitRate::from_bps_f64(self.size.bits() as f64 / gap.as_secs_f64())
    }

    /// Packets that the next frame may have.
    fn room(&self) -> Option<f64> {
        let gap = self.gap?.max(1e-6);
        let in_flight = self.sent?.saturating_sub(self.acked.unwrap_or(0));
        Some(((self.delay.as_secs_f64() / gap).floor() - in_flight as f64).max(0.0))
    }
}

impl MediaRate for Salsify {
    fn on_frame_part(&mut self, now: Instant, part: FramePart) {
        self.ledger.on_frame_part(part);
        let begun = self.frame.filter(|(frame, _)| *frame == part.frame);
        if begun.is_none() {
            let since = self.frame.map(|(_, at)| now - at);
            self.grace = since;
            self.interval = since.filter(|since| *since <= MOST_INTERVAL).unwrap_or(self.interval);
            self.frame = Some((part.frame, now));
        }
    }
    fn on_sent(&mut self, now: Instant, packet: PacketSent) {
        self.ledger.on_sent(now, packet);
        self.sent = Some(packet.sequence);
        self.size = self.size.max(packet.size);
        if let Some(grace) = self.grace.take() {
            self.graces.insert(packet.sequence, grace);
            if self.graces.len() > MOST_PACKETS {
                self.graces.pop_first();
            }
        }
    }
    fn on_feedback(&mut self, now: Instant, feedback: &TransportFeedback) {
        self.ledger.on_feedback(now, feedback);
        for result in &feedback.packets {
            if let Some(at) = result.arrival {
                self.on_arrival(result.sequence, at);
                self.acked = self.acked.max(Some(result.sequence));
            }
        }
    }
    fn target(&self) -> BitRate {
        let of = |packets: f64| packets * self.size.bits() as f64 / self.interval.as_secs_f64().max(1e-3);
        let rate = self.room().map_or(self.bounds.start, |room| BitRate::from_bps_f64(of(room)));
        rate.min(self.paced(LEAST_GAP)).clamp(self.bounds.least, self.bounds.most)
    }
    fn pacing(&self) -> Pacing {
        let gap = Span::from_secs_f64(self.gap.unwrap_or(0.0) / 5.0).clamp(LEAST_GAP, MOST_GAP);
        self.paced(gap).max(self.target()).into()
    }
    fn path(&self) -> PathState {
        self.ledger.path()
    }
    fn report_interval(&self) -> Option<Span> {
        Some(REPORTS)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ledger::tests::at;
    use super::super::path::{Bounds, run};
    use super::*;
    use crate::rtp::gcc::PacketResult;

    /// Frames of four packets each 33 ms over a link that takes 1 ms for each, without a queue.
    fn steady() -> Salsify {
        let mut rule = build(&Config::default(), &Bounds::WIDE).expect("valid");
        for frame in 0..30 {
            for packet in 0..4 {
                let (sequence, millis) = (4 * frame + packet, 33 * frame + packet);
                rule.on_frame_part(at(millis), FramePart { frame, packets: 4, coded: at(33 * frame) });
                rule.on_sent(at(millis), PacketSent { sequence, size: ByteCount::new(1400), probe: None });
                let packets = vec![PacketResult { sequence, arrival: Some(at(millis + 5)) }];
                rule.on_feedback(at(millis + 10), &TransportFeedback { packets });
            }
        }
        rule
    }

    #[test]
    fn the_pause_between_frames_is_no_gap_of_the_network() {
        let rule = steady();
        // Of four gaps three take 1 ms, and the pause is 33 ms of which the sender accounts for 33.
        let gap = rule.gap.expect("gaps");
        assert!((0.5e-3..1e-3).contains(&gap), "{gap}");
    }

    #[test]
    fn what_is_in_flight_leaves_less_for_the_next_frame() {
        let mut rule = steady();
        let before = rule.room().expect("known");
        for sequence in 120..160 {
            rule.on_sent(at(1000), PacketSent { sequence, size: ByteCount::new(1400), probe: None });
        }
        assert_eq!(before - rule.room().expect("known"), 40.0);
        for sequence in 160..400 {
            rule.on_sent(at(1000), PacketSent { sequence, size: ByteCount::new(1400), probe: None });
        }
        assert_eq!((rule.room(), rule.target()), (Some(0.0), Bounds::WIDE.least));
    }

    #[test]
    fn a_link_is_filled_and_a_narrower_one_followed() {
        let mut rule = build(&Config::default(), &Bounds::WIDE).expect("valid");
        let rates = run(&mut rule, 24, |second| if (8..16).contains(&second) { 5.0 } else { 10.0 }, |_| 0.0);
        let mean = |seconds: std::ops::Range<usize>| {
            let count = seconds.len() as f64;
            rates[seconds].iter().sum::<f64>() / count
        };
        assert!((5.0..16.0).contains(&mean(4..8)), "{rates:?}");
        assert!(mean(12..16) < 0.8 * mean(4..8), "{rates:?}");
    }
}
