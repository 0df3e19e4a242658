//! The configurations of a [`super::RateAllocator`] and of a [`super::FrameSensor`].

use airbound_units::{BitRate, ByteCount, ConfigError, Span};
use serde::{Deserialize, Serialize};

/// Lower limit of all rates, so that every station can report: 20 kbit/s, some two packets a second.
pub(super) const LEAST: f64 = 20e3;

/// Policy for sharing airtime between stations of different PHY rates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Share {
    /// The proportional-fair optimum of problem P (Sec. 5): the same rate for the fast stations, all of them at the target, and a share
    /// of 1/n of the payload airtime for each slower one. At equal PHY rates the same as `EqualAirtime`.
    #[default]
    Optimal,
    /// Theorem 1 in its feasible form: rates in proportion to PHY rates, the fastest station at the target (Sec. 6.1).
    EqualAirtime,
    /// Theorem 1 and algorithm 2 as printed: the slowest station at the target, which faster ones exceed.
    Printed,
}

/// Form of the rate control: central or distributed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// The proxy compares the stations (algorithm 2).
    #[default]
    Central,
    /// Each station's rate depends only on its own reports and the number of stations (assumption 4 of Sec. 7).
    Distributed,
}

/// Method of finding the first value of a rate, and of reacting to a change shown by the reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// By inverting the model of Sec. 4 until the level is near the target, then by feedback.
    #[default]
    Model,
    /// By feedback alone, as in the paper.
    Feedback,
}

/// Precision of the timestamps of packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stamps {
    /// Timestamps of a card: equal for all packets of a frame.
    #[default]
    Exact,
    /// Timestamps of a kernel, taken behind the reordering buffer: close together for packets of a frame. A gap above 100 us begins a
    /// frame; the data may raise this threshold by the airtime of a usual frame at most.
    Jittered,
}

/// Parameters of a [`super::RateAllocator`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AllocationConfig {
    /// The aggregation level to hold, in packets per frame (N_ε of Sec. 3.2): 32. 1 to 256.
    pub target: f64,
    /// Longest PPDU that others leave to the streams, if it is known: the target is at most half of the packets that it holds at the highest
    /// PHY rate, as 32 is half of the 64 of a block acknowledgement. None. A level above what a PPDU can hold would never be reached, and
    /// rates would grow until packets are lost.
    #[serde(skip)]
    pub longest: Option<Span>,
    /// The gain K₀ in Mb/s per packet, of which each of n stations gets K₀/n (Sec. 6.1): 1. 0.001 to 1000.
    pub gain: f64,
    /// The update interval Δ: 500 ms. 10 ms to 10 s.
    pub interval: Span,
    /// Time until the reports of a slot have an effect on what is sent: none. Up to an interval where receivers report at different
    /// moments and senders follow their rates late.
    #[serde(skip)]
    pub dead_time: Span,
    /// Policy for sharing airtime: `optimal`.
    pub share: Share,
    /// Form of the rate control: `central`.
    pub form: Form,
    /// Method of starting a rate: `model`.
    pub start: Start,
    /// The rate of a station that has not reported yet, in payload: 1 Mbit/s. 10 kbit/s to 1 Gbit/s.
    pub start_rate: BitRate,
    /// Payload of a packet, to convert between packets and bits: 1470 B. 12 B to 1472 B.
    pub packet: ByteCount,
    /// Size of a packet on the air beyond its payload: UDP, IP, LLC, MAC header, FCS, delimiter and padding: 74 B. 0 to 200 B.
    pub packet_overhead: ByteCount,
    /// Channel access and frame overhead T_acc + T_oh assumed by a start until it is measured: 214 us (Sec. 4.1, footnote 6).
    /// 50 us to 5 ms.
    pub frame_overhead: Span,
    /// Time for which a station's rate is kept without reports; afterwards it halves every interval: 2 s. 100 ms to 60 s.
    pub hold: Span,
    /// Time without a report after which a station no longer counts: 10 s. `hold` to 1 h.
    pub forget: Span,
    /// Whether the gain is kept below half of the critical one, and rates are carried over as a ratio to PHY rates: yes. The printed
    /// algorithm 2 does neither; K₀ = 1 Mb/s per packet is unstable at 175 Mb/s and below.
    pub steady: bool,
    /// Frames of a slot from which on what arrives in it tells a bottleneck: 0. Where many stations share the air a slot of 100 ms holds
    /// one frame or none, and less seems to arrive than was sent.
    #[serde(skip)]
    pub judged_frames: u32,
    /// Whether streams are live: no. Then a rate is cut below what arrives while a queue grows, whatever the model says, and a change of
    /// PHY rates scales rates in place of a new start.
    #[serde(skip)]
    pub live: bool,
    /// Lowest rate of a station: 20 kbit/s. From far below what its sender sends anyway a rate would take long to rise.
    #[serde(skip)]
    pub least: BitRate,
    /// Factor of what its sender sent up to which a station's rate grows, where it is told what was sent: 1.5. More would not be tried.
    #[serde(skip)]
    pub headroom: f64,
    /// Whether a station that receives less than its share, on the wire or on the air, is held at the rate that it receives: yes.
    pub tell_bottleneck: bool,
}

impl Default for AllocationConfig {
    fn default() -> Self {
        Self {
            target: 32.0,
            longest: None,
            gain: 1.0,
            interval: Span::from_millis(500),
            dead_time: Span::ZERO,
            judged_frames: 0,
            live: false,
            headroom: 1.5,
            least: BitRate::from_bps(LEAST as u64),
            share: Share::Optimal,
            form: Form::Central,
            start: Start::Model,
            start_rate: BitRate::from_mbps(1),
            packet: ByteCount::new(1470),
            packet_overhead: ByteCount::new(74),
            frame_overhead: Span::from_micros(214),
            hold: Span::from_secs(2),
            forget: Span::from_secs(10),
            steady: true,
            tell_bottleneck: true,
        }
    }
}

impl AllocationConfig {
    /// Returns the parameters of the paper's prototype, with the feasible form of theorem 1.
    #[must_use]
    pub fn paper() -> Self {
        Self {
            share: Share::EqualAirtime,
            start: Start::Feedback,
            steady: false,
            tell_bottleneck: false,
            ..Self::default()
        }
    }

    /// Checks the values.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for the first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let check = |valid, key, value: &dyn std::fmt::Display, allowed| {
            ConfigError::check(valid, key, value, allowed)
        };
        check((1.0..=256.0).contains(&self.target), "target", &self.target, "1 to 256")?;
        check((0.001..=1000.0).contains(&self.gain), "gain", &self.gain, "0.001 to 1000")?;
        let interval = (Span::from_millis(10)..=Span::from_secs(10)).contains(&self.interval);
        check(interval, "interval", &self.interval, "10 ms to 10 s")?;
        let rate = (10_000..=1_000_000_000).contains(&self.start_rate.as_bps());
        check(rate, "start-rate", &self.start_rate, "10 kbit/s to 1 Gbit/s")?;
        let packet = (12..=1472).contains(&self.packet.as_u64());
        check(packet, "packet", &self.packet, "12 B to 1472 B")?;
        let overhead = self.packet_overhead.as_u64() <= 200;
        check(overhead, "packet-overhead", &self.packet_overhead, "0 B to 200 B")?;
        let frame = (Span::from_micros(50)..=Span::from_millis(5)).contains(&self.frame_overhead);
        check(frame, "frame-overhead", &self.frame_overhead, "50 us to 5 ms")?;
        let hold = (Span::from_millis(100)..=Span::from_secs(60)).contains(&self.hold);
        check(hold, "hold", &self.hold, "100 ms to 60 s")?;
        let forget = (self.hold..=Span::from_secs(3600)).contains(&self.forget);
        check(forget, "forget", &self.forget, "the value of hold to 1 h")
    }

    /// Whether a slot of so many frames tells a bottleneck.
    pub(super) const fn judges(&self, frames: u32) -> bool {
        self.tell_bottleneck && frames >= self.judged_frames
    }

    /// The interval at which a start evaluates the level.
    #[must_use]
    pub fn start_interval(&self) -> Span {
        self.interval.min(SensorConfig::LIVELY_INTERVAL)
    }

    /// Returns the configuration of a sensor that reports at this allocator's interval.
    #[must_use]
    pub fn sensor(&self, stamps: Stamps) -> SensorConfig {
        let lively = match self.start {
            Start::Model => Span::from_secs(1),
            Start::Feedback => Span::ZERO,
        };
        SensorConfig { interval: self.interval, lively, stamps }
    }
}

/// Parameters of a [`super::FrameSensor`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SensorConfig {
    /// Interval of its reports (Δ): 500 ms. 10 ms to 10 s.
    pub interval: Span,
    /// Time after the first packet, and after a change of the PHY rate, in which the sensor reports every 50 ms instead: 1 s. 0 for
    /// never, up to 10 s.
    pub lively: Span,
    /// Precision of its timestamps.
    pub stamps: Stamps,
}

impl Default for SensorConfig {
    fn default() -> Self {
        AllocationConfig::default().sensor(Stamps::Exact)
    }
}

impl SensorConfig {
    /// Interval of reports during that time.
    pub(super) const LIVELY_INTERVAL: Span = Span::from_millis(50);

    /// Checks the values.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for the first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let interval = (Span::from_millis(10)..=Span::from_secs(10)).contains(&self.interval);
        ConfigError::check(interval, "interval", self.interval, "10 ms to 10 s")?;
        ConfigError::check(self.lively <= Span::from_secs(10), "lively", self.lively, "0 to 10 s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused() {
        let usual = AllocationConfig::default();
        assert_eq!(usual.check(), Ok(()));
        assert_eq!(AllocationConfig::paper().check(), Ok(()));
        for wrong in [
            AllocationConfig { target: 0.5, ..usual },
            AllocationConfig { target: f64::NAN, ..usual },
            AllocationConfig { gain: 0.0, ..usual },
            AllocationConfig { interval: Span::ZERO, ..usual },
            AllocationConfig { start_rate: BitRate::ZERO, ..usual },
            AllocationConfig { packet: ByteCount::ZERO, ..usual },
            AllocationConfig { packet_overhead: ByteCount::new(201), ..usual },
            AllocationConfig { frame_overhead: Span::ZERO, ..usual },
            AllocationConfig { hold: Span::ZERO, ..usual },
            AllocationConfig { forget: Span::from_secs(1), ..usual },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
        assert!(toml::from_str::<AllocationConfig>("share = \"equal\"").is_err());
        let read: AllocationConfig = toml::from_str("share = \"equal-airtime\"").expect("valid");
        assert_eq!(read.share, Share::EqualAirtime);
        assert!(SensorConfig { lively: Span::from_secs(11), ..SensorConfig::default() }.check().is_err());
    }
}
