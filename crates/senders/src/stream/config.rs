//! Parameters of both ends of a stream.

use airbound_units::{BitRate, ByteCount, Span};

use super::error::StreamError;
use crate::allocation::{AllocationConfig, ReceiverId, Share, Stamps};

/// Upper limit on the receivers of a sender.
pub(super) const MOST_RECEIVERS: u16 = 256;
/// Silence after which a receiver no longer takes part in the allocation.
pub(super) const FORGET: Span = Span::from_secs(1);
/// Limits of a demand on latency.
const LATENCIES: std::ops::RangeInclusive<Span> = Span::from_millis(1)..=Span::from_secs(1);
/// Limits of the interval of feedback: three intervals without any are the begin of silence, and have to be shorter than [`FORGET`].
const INTERVALS: std::ops::RangeInclusive<Span> = Span::from_millis(20)..=Span::from_millis(200);

/// Parameters of a [`super::StreamSender`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreamConfig {
    /// Upper limit on receivers that share the air: 1. 1 to 256.
    pub receivers: u16,
    /// Rate before the first feedback, in payload: 5 Mbit/s. `least` to `most`.
    pub start: BitRate,
    /// Lowest rate, that of a silent receiver: 1 Mbit/s. 20 kbit/s to 1 Gbit/s.
    pub least: BitRate,
    /// Highest rate that the application can use: 1 Gbit/s. `least` to 100 Gbit/s.
    pub most: BitRate,
    /// Interval of feedback: 100 ms. 20 ms to 200 ms; both ends have the same.
    pub interval: Span,
    /// Time between two frames until it is learnt from them: 1/60 s. 1 ms to 1 s.
    pub frame_interval: Span,
    /// Aggregation level to hold in packets (N_ε): 32. 1 to 256.
    pub target: f64,
    /// Latency to keep, from a frame to the arrival of its packets, beyond the least delay of the path: none. 1 ms to 1 s. The target is
    /// lowered where more than one message in twenty tells of a later packet. It needs sequence numbers that count from 0 since the join.
    pub latency: Option<Span>,
    /// Policy for sharing airtime between receivers of different PHY rates: `optimal`.
    pub share: Share,
    /// Frames of an interval from which on what arrives in it tells a bottleneck on the wire: 0. A few where many receivers share the
    /// air, so that an interval holds one frame or none.
    pub judged_frames: u32,
    /// Factor of what was sent up to which a rate grows: 1.5. 1.1 to 10. More where senders behind this one probe for rates themselves.
    pub headroom: f64,
    /// Usual payload of a packet: 1200 B. 12 B to 1472 B.
    pub packet: ByteCount,
    /// Share of a frame's interval over which its packets are sent: 0.8. 0.1 to 1.
    pub spread: f64,
    /// Share of the allocated rate that is given to the encoder; the rest is for forward error correction, headers and overshoot: 0.9.
    /// 0.1 to 1.
    pub encoder_share: f64,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self {
            receivers: 1,
            start: BitRate::from_mbps(5),
            least: BitRate::from_mbps(1),
            most: BitRate::from_mbps(1000),
            interval: Span::from_millis(100),
            frame_interval: Span::from_nanos(16_666_667),
            target: 32.0,
            latency: None,
            share: Share::default(),
            judged_frames: 0,
            headroom: 1.5,
            packet: ByteCount::new(1200),
            spread: 0.8,
            encoder_share: 0.9,
        }
    }
}

impl StreamConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// [`StreamError::Range`] names the first value out of range.
    pub fn check(&self) -> Result<(), StreamError> {
        let mbps = BitRate::from_mbps;
        let checks = [
            ((1..=MOST_RECEIVERS).contains(&self.receivers), "receivers is out of range: 1 to 256"),
            (
                (BitRate::from_kbps(20)..=mbps(1000)).contains(&self.least),
                "least_bps is out of range: 20 kbit/s to 1 Gbit/s",
            ),
            (
                (self.least..=mbps(100_000)).contains(&self.most),
                "most_bps is out of range: least_bps to 100 Gbit/s",
            ),
            (
                (self.least..=self.most.min(mbps(1000))).contains(&self.start),
                "start_bps is out of range: least_bps to most_bps, at most 1 Gbit/s",
            ),
            (INTERVALS.contains(&self.interval), "interval_ns is out of range: 20 ms to 200 ms"),
            (is_frame_interval(self.frame_interval), "frame_interval_ns is out of range: 1 ms to 1 s"),
            ((1.0..=256.0).contains(&self.target), "target is out of range: 1 to 256 packets"),
            (
                self.latency.is_none_or(|latency| LATENCIES.contains(&latency)),
                "latency_ns is out of range: 0 for none, or 1 ms to 1 s",
            ),
            ((1.1..=10.0).contains(&self.headroom), "headroom is out of range: 1.1 to 10"),
            ((12..=1472).contains(&self.packet.as_u64()), "packet_bytes is out of range: 12 to 1472"),
            ((0.1..=1.0).contains(&self.spread), "spread is out of range: 0.1 to 1"),
            ((0.1..=1.0).contains(&self.encoder_share), "encoder_share is out of range: 0.1 to 1"),
        ];
        first_wrong(&checks)
    }

    /// The allocator's parameters.
    pub(super) fn allocation(&self) -> AllocationConfig {
        AllocationConfig {
            target: self.target,
            share: self.share,
            judged_frames: self.judged_frames,
            headroom: self.headroom,
            least: self.least,
            live: true,
            interval: self.interval,
            // Receivers report at moments of their own, and a frame goes out at the rate of its beginning.
            dead_time: self.interval,
            start_rate: self.start,
            packet: self.packet,
            hold: FORGET,
            forget: FORGET,
            ..AllocationConfig::default()
        }
    }
}

/// Parameters of a [`super::StreamReceiver`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// The number under which it joins the sender: 0.
    pub receiver: ReceiverId,
    /// Interval of feedback: 100 ms. 20 ms to 200 ms.
    pub interval: Span,
    /// Precision of the receive stamps: those of a kernel.
    pub stamps: Stamps,
    /// Key of its feedback, known to the sender; zeros protect from accidents only.
    pub key: [u8; 16],
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            receiver: ReceiverId(0),
            interval: Span::from_millis(100),
            stamps: Stamps::Jittered,
            key: [0; 16],
        }
    }
}

impl ReceiverConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// [`StreamError::Range`] if the interval is out of range.
    pub fn check(&self) -> Result<(), StreamError> {
        first_wrong(&[(INTERVALS.contains(&self.interval), "interval_ns is out of range: 20 ms to 200 ms")])
    }
}

/// Whether a time between two frames is usual.
pub(super) fn is_frame_interval(interval: Span) -> bool {
    (Span::from_millis(1)..=Span::from_secs(1)).contains(&interval)
}

/// The sentence of the first check that fails.
pub(super) fn first_wrong(checks: &[(bool, &'static str)]) -> Result<(), StreamError> {
    checks.iter().find(|(valid, _)| !valid).map_or(Ok(()), |(_, sentence)| Err(StreamError::Range(sentence)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_named() {
        let usual = StreamConfig::default();
        assert_eq!(usual.check(), Ok(()));
        assert_eq!(usual.allocation().check(), Ok(()));
        for (wrong, name) in [
            (StreamConfig { receivers: 0, ..usual }, "receivers"),
            (StreamConfig { receivers: 257, ..usual }, "receivers"),
            (StreamConfig { start: BitRate::ZERO, ..usual }, "start_bps"),
            (StreamConfig { least: BitRate::ZERO, ..usual }, "least_bps"),
            (StreamConfig { most: BitRate::ZERO, ..usual }, "most_bps"),
            (StreamConfig { interval: Span::ZERO, ..usual }, "interval_ns"),
            (StreamConfig { frame_interval: Span::MAX, ..usual }, "frame_interval_ns"),
            (StreamConfig { target: f64::NAN, ..usual }, "target"),
            (StreamConfig { latency: Some(Span::ZERO), ..usual }, "latency_ns"),
            (StreamConfig { headroom: 1.0, ..usual }, "headroom"),
            (StreamConfig { packet: ByteCount::ZERO, ..usual }, "packet_bytes"),
            (StreamConfig { spread: f64::INFINITY, ..usual }, "spread"),
            (StreamConfig { encoder_share: 0.0, ..usual }, "encoder_share"),
        ] {
            let Err(StreamError::Range(sentence)) = wrong.check() else { panic!("{wrong:?}") };
            assert!(sentence.starts_with(name), "{sentence}");
        }
        assert!(ReceiverConfig { interval: Span::MAX, ..ReceiverConfig::default() }.check().is_err());
    }
}
