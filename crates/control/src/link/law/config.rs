//! Configuration of Law, with a field for each point that the paper leaves open.

use airbound_units::Span;
use serde::{Deserialize, Serialize};

use super::classic::Classic;
use crate::error::ConfigError;
use crate::frame::PlainPacket;
use crate::link::LinkConfig;
use crate::link::law::inner_queue::InnerQueue;
use crate::queue::{FifoConfig, QueueConfig};

/// Configuration of [`super::Law`]. Defaults are the paper's; where the paper gives none (open points 1 to 14 of `docs/understand/law.md`),
/// the default is given with its reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LawConfig {
    /// Limit_q: a packet older than this is dropped when it enters the driver queue, is about to be pushed to the hardware, or is returned
    /// by it; 1 ms to 10 s. Default 40 ms (Sec. 4.1).
    pub limit_q: Span,
    /// Limit_h: time that the hardware may spend on a PSDU, starting when the PSDU contends for the channel; 100 us to 1 s. Default 3 ms
    /// (Sec. 4.1).
    pub limit_h: Span,
    /// PSDUs in the hardware, summed over all four categories, 1 to 64. Default 2 (Sec. 3.3). A delivered packet is never older than
    /// `limit-q` plus this number times `limit-h`, plus one frame exchange.
    pub psdus_in_hardware: u8,
    /// Software retransmissions of a packet outside of the clean-up state, 0 to 100. Default 1 (Sec. 3.3).
    pub software_retransmissions: u8,
    /// Software retransmissions in the clean-up state. Default 0 (Sec. 3.4).
    pub clean_up_retransmissions: u8,
    /// Number of consecutive losses after which the current packet gets one more software retransmission; 0: never. Default 3 (Sec. 3.4,
    /// "Handling loss pattern").
    pub extra_after_losses: u32,
    /// Whether the extra retransmission applies in the clean-up state too (open point 10). Default true: it protects against the loss
    /// pattern, and losses occur in the clean-up state.
    pub extra_in_clean_up: bool,

    /// Weight of a new value in the averages T_n and S_n over all packets, above 0 to 1 (open point 1). Default 1/8.
    pub weight_all: f64,
    /// Weight of a new value in T_i and S_i of one rate. Default 1/4: a rate has fewer packets.
    pub weight_rate: f64,
    /// Time counted for a failed software transmission in T_n and T_i (open point 2); in S_n and S_i it counts as 0.
    pub failed_time: FailedTime,
    /// Index of the lowest rate in equation 2, 0 or 1 (open point 3). Default 1: with 0 the lowest rate would probe at once.
    pub first_rate_index: u8,

    /// Hardware tries of a software transmission in the stable state, 1 to 15 (open point 4). Default 4; `limit-h` bounds them too.
    pub tries: u8,
    /// Hardware tries of a probe. Default 2: a probe that needs more has failed.
    pub probe_tries: u8,
    /// Hardware tries in the clean-up state. Default 2 (Sec. 3.4).
    pub clean_up_tries: u8,
    /// N_ret, the consecutive software retransmissions, at which the stable state lowers the rate by one index; 1 and more (open point 5).
    /// Default 1: the rate is re-selected for each software retransmission (Sec. 3.4).
    pub rate_down_retransmissions: u32,
    /// Whether the stable state stops lowering the rate once it is at or below Rate_min and has tried the next lower rate (open point 5).
    /// Default true: at a lower rate a packet would take longer.
    pub stop_at_rate_min: bool,
    /// Definition of Rate_min, "the data rate with the minimum average TX time" (table 2).
    pub rate_min: RateMin,
    /// The rate on entering the clean-up state (open point 6).
    pub clean_up_rate: CleanUpRate,
    /// Whether Rate_prev is kept when the clean-up state is entered again from itself (open point 7). Default true: otherwise the saved
    /// rate would be lost.
    pub keep_previous_rate: bool,
    /// Number of consecutive drops after which the clean-up state lowers the rate by one index; 1 and more. Default 2 (Sec. 3.4).
    pub rate_down_drops: u32,
    /// Whether a packet that expired before it was sent counts among those drops (open point 15). Default no: it does not show that the
    /// rate is too high.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rate_down_expired: bool,
    /// Packets in a probe, 1 to 16. Default 2 (Sec. 3.4).
    pub probe_packets: u8,
    /// The rate of a software retransmission of a probe.
    pub probe_retransmission: ProbeRetransmission,
    /// Upper limit of Thr_p as a multiple of its value without failed probes; 1 and more (open point 8). Default 10, so that probing never
    /// stops.
    pub threshold_cap: u32,
    /// Effect of a queue length that equals Len_max (open point 9).
    pub equality: Equality,
    /// Len_max before the first transmission, in packets; absent: infinite (open point 9).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_len_max: Option<u32>,
    /// Whether an empty driver queue ends the clean-up state, even if Len_max is 0 (open point 9). Default true: nothing else would end it.
    pub leave_when_empty: bool,
    /// Whether `limit-q` is also checked for waiting packets when a packet enters the driver queue (open point 11). Default true. The
    /// latency clock starts on entering the driver queue.
    pub check_when_enqueued: bool,
    /// Treatment of a PSDU whose time limit expires before it reaches the air (open point 12).
    pub never_sent: NeverSent,
    /// Part of `limit-h` reserved for contention, inter-frame spaces and acknowledgements: an aggregate takes at most (`limit-h` - this) /
    /// tries on the air (open point 13). Default 500 us: four tries with AIFS, a mean backoff of the least window, SIFS and a block ack.
    pub overhead: Span,
    /// Share of MPDUs that has to arrive for an aggregate to count as a success in N_suc and N_ret, above 0 to 1 (open point 14: the PSDU
    /// is the unit of transmissions, the MPDU that of loss). S uses the share itself. Default 0.5; without aggregation every value has the
    /// same effect.
    pub success_share: f64,
    /// The initial rate.
    pub first_rate: FirstRate,
    /// The rates of a station that Law uses, its rate set.
    #[serde(rename = "ladder")]
    pub rate_set: LawRates,

    /// Traffic that uses the classic link instead, beside Law as a standby module: access categories, or `"auto"` for bulk transfers. Both
    /// links share the PSDUs in the hardware. Default none.
    pub classic: Classic,
    /// The queue that determines the order. Default `fq-codel-airtime`, so that a fast station does not wait behind a slow one; the paper,
    /// with one receiver, uses `fifo`.
    #[serde(rename = "inside")]
    pub inner_queue: InnerQueue,
}

/// Time counted for a failed software transmission in the averages of TX time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailedTime {
    /// The time that it took, at most Limit_h.
    #[default]
    Real,
    /// Limit_h.
    LimitH,
}

/// Definition of the rate with the least mean TX time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateMin {
    /// The lowest T_i, as in the paper's table. A rate that fails after two short tries can have it.
    #[default]
    TxTime,
    /// The lowest T_i / S_i: the expected time to deliver a packet.
    TxTimePerSuccess,
}

/// The rate on entering the clean-up state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CleanUpRate {
    /// Rate_min if its S_i is known, else the present rate: table 2 defines Rate_min, and nothing else would use it.
    #[default]
    RateMin,
    /// The present rate, since algorithm 1 specifies no other.
    Present,
}

/// The rate of a software retransmission of a probe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeRetransmission {
    /// Rate_prev: the probed rate has just failed, and a loss would fail the probe as well.
    #[default]
    Previous,
    /// The probed rate.
    Probed,
}

/// Effect of a queue length that equals Len_max.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Equality {
    /// No change of state: a longer queue enters the clean-up state, a shorter one leaves it (algorithm 1, lines 9 and 13).
    #[default]
    Unchanged,
    /// The clean-up state is entered.
    Enter,
    /// The clean-up state is left.
    Leave,
}

/// Treatment of a PSDU that never reached the air.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NeverSent {
    /// Counted separately: it says nothing about the rate and is no software transmission, so that the packet is pushed again while
    /// `limit-q` permits. In T_n and S_n, which measure how fast the queue drains, it counts as a failure.
    #[default]
    Apart,
    /// Counted as a failed software transmission.
    Failure,
}

/// The initial rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FirstRate {
    /// The slowest: the first packets arrive, and probing soon finds a faster one.
    #[default]
    Lowest,
    /// The middle of the rate set.
    Middle,
    /// The fastest.
    Highest,
}

/// The rates in the rate set, which probing climbs one by one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LawRates {
    /// The rates of the widest channel and, where there is a choice, the shorter guard interval: one for each speed, and among equals the
    /// one with fewer streams; the eight of the paper's card. A set of 116 rates (80 MHz, two streams) would take minutes to climb.
    #[default]
    Widest,
    /// All rates of the station.
    All,
}

impl Default for LawConfig {
    fn default() -> Self {
        Self {
            limit_q: Span::from_millis(40),
            limit_h: Span::from_millis(3),
            psdus_in_hardware: 2,
            software_retransmissions: 1,
            clean_up_retransmissions: 0,
            extra_after_losses: 3,
            extra_in_clean_up: true,
            weight_all: 0.125,
            weight_rate: 0.25,
            failed_time: FailedTime::default(),
            first_rate_index: 1,
            tries: 4,
            probe_tries: 2,
            clean_up_tries: 2,
            rate_down_retransmissions: 1,
            stop_at_rate_min: true,
            rate_min: RateMin::default(),
            clean_up_rate: CleanUpRate::default(),
            keep_previous_rate: true,
            rate_down_drops: 2,
            rate_down_expired: false,
            probe_packets: 2,
            probe_retransmission: ProbeRetransmission::default(),
            threshold_cap: 10,
            equality: Equality::default(),
            first_len_max: None,
            leave_when_empty: true,
            check_when_enqueued: true,
            never_sent: NeverSent::default(),
            overhead: Span::from_micros(500),
            success_share: 0.5,
            first_rate: FirstRate::default(),
            rate_set: LawRates::default(),
            classic: Classic::default(),
            inner_queue: InnerQueue::default(),
        }
    }
}

impl LawConfig {
    /// The paper's link: a single FIFO queue for all traffic.
    #[must_use]
    pub fn paper() -> Self {
        Self { inner_queue: InnerQueue(QueueConfig::Fifo(FifoConfig::default())), ..Self::default() }
    }

    /// Checks every value.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for the first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let span = |key, value: Span, least: Span, most: Span, allowed| {
            ConfigError::check((least..=most).contains(&value), key, value, allowed)
        };
        span("limit-q", self.limit_q, Span::from_millis(1), Span::from_secs(10), "1 ms to 10 s")?;
        span("limit-h", self.limit_h, Span::from_micros(100), Span::from_secs(1), "100 us to 1 s")?;
        span("overhead", self.overhead, Span::ZERO, self.limit_h, "0 ms to limit-h")?;
        let count = |key, value: u32, least: u32, most: u32, allowed| {
            ConfigError::check((least..=most).contains(&value), key, value, allowed)
        };
        count("psdus-in-hardware", self.psdus_in_hardware.into(), 1, 64, "1 to 64")?;
        count("software-retransmissions", self.software_retransmissions.into(), 0, 100, "0 to 100")?;
        count("clean-up-retransmissions", self.clean_up_retransmissions.into(), 0, 100, "0 to 100")?;
        count("first-rate-index", self.first_rate_index.into(), 0, 1, "0 and 1")?;
        count("tries", self.tries.into(), 1, MOST_TRIES, "1 to 15")?;
        count("probe-tries", self.probe_tries.into(), 1, MOST_TRIES, "1 to 15")?;
        count("clean-up-tries", self.clean_up_tries.into(), 1, MOST_TRIES, "1 to 15")?;
        count("probe-packets", self.probe_packets.into(), 1, 16, "1 to 16")?;
        let positive = |key, value: u32| ConfigError::check(value > 0, key, value, "1 and more");
        positive("rate-down-retransmissions", self.rate_down_retransmissions)?;
        positive("rate-down-drops", self.rate_down_drops)?;
        positive("threshold-cap", self.threshold_cap)?;
        let share =
            |key, value: f64| ConfigError::check(value > 0.0 && value <= 1.0, key, value, "above 0, up to 1");
        share("weight-all", self.weight_all)?;
        share("weight-rate", self.weight_rate)?;
        share("success-share", self.success_share)?;
        self.classic.check()?;
        self.inner_queue.0.build::<PlainPacket>(0).map(|_| ())
    }

    /// The longest PPDU of which `tries` fit in Limit_h (open point 13).
    pub(in crate::link) fn longest_ppdu(&self, tries: u8) -> Span {
        self.limit_h.saturating_sub(self.overhead) / u64::from(tries.max(1))
    }

    /// Retries of a link that shares categories with Law ([`Classic::Bulk`]): as many as the stock link of `path` would make.
    ///
    /// A PSDU that is returned after Limit_h starts again with the least contention window, so that 31 tries, which last 100 ms while the
    /// window grows, are over within a short fade. The limit is therefore a time: as many descriptors as Limit_h fits into the 100 ms for
    /// which a receiver waits for a missing packet (mac80211: `HT_RX_REORDER_BUF_TIMEOUT`).
    #[must_use]
    pub fn path_beside(&self, path: LinkConfig) -> LinkConfig {
        match self.classic {
            Classic::Categories(_) => path,
            Classic::Bulk(_) => path.with_grants_of(self.limit_h),
        }
    }

    /// Upper bound on the latency of a delivered packet within the link, one frame exchange aside (Sec. 3.3): Limit_q + 2 Limit_h with two
    /// PSDUs in the hardware.
    #[must_use]
    pub fn bound(&self) -> Span {
        self.limit_q + self.limit_h * u64::from(self.psdus_in_hardware)
    }
}

impl LinkConfig {
    /// The link with as many descriptors of an MPDU as the `limit` of each fits into the time for which a receiver waits.
    fn with_grants_of(self, limit: Span) -> Self {
        let descriptors = (RECEIVER_WAITS.div_floor(limit) + 1).min(u64::from(u8::MAX)) as u8;
        Self { max_tries: None, max_grants: self.max_grants.max(descriptors), ..self }
    }

    /// The link with the limit on the hardware's work for a PPDU that [`crate::queue::QueueConfig::returns_after`] names.
    #[must_use]
    pub fn returning_after(self, limit: Option<(Span, bool)>) -> Self {
        match limit {
            Some((limit, lowers_rate)) => {
                Self { give_up_after: Some(limit), lowers_rate, ..self.with_grants_of(limit) }
            }
            None => self,
        }
    }
}

/// Time that mac80211's receiver waits for a missing MPDU.
const RECEIVER_WAITS: Span = Span::from_millis(100);

/// The retry field of the prototype's card has four bits.
const MOST_TRIES: u32 = 15;

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let config: LawConfig = toml::from_str(text).expect("readable");
        config.check().expect_err("out of range").to_string()
    }

    #[test]
    fn defaults_are_the_papers() {
        let config: LawConfig = toml::from_str("").expect("all have defaults");
        assert_eq!(config, LawConfig::default());
        config.check().expect("valid");
        assert_eq!(
            (config.limit_q, config.limit_h),
            (Span::from_millis(40), Span::from_millis(3)),
            "Sec. 4.1"
        );
        assert_eq!(config.bound(), Span::from_millis(46), "Limit_q + 2 Limit_h, Sec. 3.3");
        assert_eq!((config.psdus_in_hardware, config.software_retransmissions), (2, 1), "Sec. 3.3");
        assert_eq!((config.clean_up_tries, config.clean_up_retransmissions), (2, 0), "Sec. 3.4");
        assert_eq!((config.probe_packets, config.extra_after_losses), (2, 3), "Sec. 3.4");
        assert_eq!(config.rate_down_drops, 2, "Sec. 3.4");
    }

    #[test]
    fn mistakes_are_refused_with_a_sentence() {
        assert_eq!(refused("limit-q = \"0 ms\""), "limit-q is 0 ms; allowed is 1 ms to 10 s");
        assert_eq!(refused("weight-all = nan"), "weight-all is NaN; allowed is above 0, up to 1");
        assert_eq!(refused("tries = 16"), "tries is 16; allowed is 1 to 15");
        assert_eq!(refused("overhead = \"4 ms\""), "overhead is 4 ms; allowed is 0 ms to limit-h");
        assert_eq!(refused("rate-down-drops = 0"), "rate-down-drops is 0; allowed is 1 and more");
        assert!(toml::from_str::<LawConfig>("limit = 3").is_err());
        assert!(toml::from_str::<LawConfig>("never-sent = \"maybe\"").is_err());
    }
}
