//! Rules for the rate of real-time media: how much a sender of RTP sends.
//!
//! [`RateRule`] names the rules. It is made by the table in `any.rs`, which flows, sessions, the catalogue and the reference read.
//!
//! # Contract
//! 1. Every sent packet, of any kind, has the next transport-wide sequence number and is reported by [`MediaRate::on_sent`]; a part of a
//!    frame, or its parity, by [`MediaRate::on_frame_part`] before that.
//! 2. After each `on_…` call the sender asks [`Probes::next_probe`] until there is none, gives the clusters to
//!    [`Pacer::start_probe`](super::gcc::Pacer::start_probe), and sets the pacer to [`MediaRate::pacing`].
//! 3. Then it calls [`MediaRate::deadline`], and [`MediaRate::on_deadline`] at that time. Early and late calls are harmless; an earlier
//!    time counts as the latest one seen.
//! 4. No packet leaves while [`MediaRate::may_send`] denies it; every call of an `on_…` method may change the answer.

mod alvr;
mod any;
mod custom;
mod fixed;
mod frame_loss;
mod gcc;
mod ledger;
mod moonlight;
mod nest_vr;
#[cfg(test)]
mod path;
mod salsify;
mod scream2;
mod sunshine_abr;
mod vidaptive;
mod wivrn;

use std::fmt::Debug;

use airbound_units::{BitRate, Instant, Span};

use super::gcc::{FeedbackConfig, GccConfig, Pacing, PacketSent, ProbeCluster, TransportFeedback, Usage};
pub use any::RateRule;
pub use custom::{Custom, CustomRule, ReportedFrame, ReportedPacket, RuleReport};

/// A rule for the rate of one stream of real-time media.
pub trait MediaRate: Debug + Send {
    /// Notes a sent packet.
    fn on_sent(&mut self, _now: Instant, _packet: PacketSent) {}
    /// Notes that the next packet carries a part of a frame, or parity for it.
    fn on_frame_part(&mut self, _now: Instant, _part: FramePart) {}
    /// Takes a report of the receiver.
    fn on_feedback(&mut self, _now: Instant, _feedback: &TransportFeedback) {}
    /// The rate for all packets: media, parity, retransmissions, headers; of a rule without reports that of coded video alone.
    fn target(&self) -> BitRate;
    /// The rate and the bursts of the pacer.
    fn pacing(&self) -> Pacing {
        GccConfig::default().pacing(self.target())
    }
    /// Its probes; `None` of a rule that does not probe.
    fn probes(&mut self) -> Option<&mut dyn Probes> {
        None
    }
    /// When to call [`MediaRate::on_deadline`] (and then [`Probes::next_probe`]) if nothing else happens.
    fn deadline(&self) -> Option<Instant> {
        None
    }
    /// Handles time passed without a packet or a report. Early calls do nothing.
    fn on_deadline(&mut self, _now: Instant) {}
    /// The state of the path, as far as the rule knows it.
    fn path(&self) -> PathState {
        PathState::default()
    }
    /// Whether the rule's window permits another packet in flight.
    fn may_send(&self, _now: Instant) -> bool {
        true
    }
    /// Age of a packet in the pacer from which on no frame is coded; `None` for the pacer's own limit.
    fn longest_wait(&self) -> Option<Span> {
        None
    }
    /// The least time between two reports of the receiver; `None` of a rule that needs none.
    fn report_interval(&self) -> Option<Span> {
        Some(FeedbackConfig::default().shortest)
    }
}

/// Probes of a rule: packets sent faster than the target for a moment, to see what the path carries.
pub trait Probes {
    /// The next probe cluster to be sent. Call until `None`.
    fn next_probe(&mut self, now: Instant) -> Option<ProbeCluster>;
    /// Takes a rate that the path is told to have, to be probed.
    fn request_probe(&mut self, now: Instant, rate: BitRate);
}

/// The frame of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FramePart {
    /// Its number.
    pub frame: u64,
    /// Number of its media packets: with so many of its packets, parity included, a receiver has the frame.
    pub packets: u32,
    /// When it was coded.
    pub coded: Instant,
}

/// The path of a stream as its rule for the rate sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PathState {
    /// The smoothed round trip without the receiver's reporting delay; `None` before the first report.
    pub round_trip: Option<Span>,
    /// The share of packets lost lately, 0 to 1.
    pub loss_fraction: f64,
    /// The state according to the packets' delay.
    pub usage: Usage,
}

/// Rates that a flow or a session sets, not the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateBounds {
    /// The initial target, between the next two.
    pub start: BitRate,
    /// The least target.
    pub least: BitRate,
    /// Upper limit of the target and of probes.
    pub most: BitRate,
    /// The highest rate of coded video.
    pub media: BitRate,
}

/// The pacing of senders that do not pace: Sunshine's 80 % of 1 Gb/s (`LizardByte/Sunshine` 7a59212a, `src/stream.cpp`:
/// `ratecontrol_packets_in_1ms`), for those, too, that leave it to the socket (ALVR, `WiVRn`).
const UNPACED: BitRate = BitRate::from_mbps(800);

/// A key of a rule's configuration, as a row of the reference: name, default and range, meaning.
pub type Key = (&'static str, &'static str, &'static str);
