//! The configuration of an [`super::Airbound`] queue: each part can be switched on and off.

use airbound_units::{BitRate, ByteCount, Span};
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::super::{CodelParameters, Demand, LastPqConfig, WqmConfig};
use crate::error::ConfigError;

/// Contention, spaces and acknowledgement in Limit_h, as Law's `overhead`.
const OVERHEAD: Span = Span::from_micros(500);

/// Law's limits, where they apply to the packets and PPDUs of another link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Limits {
    /// Limit_q of flows that tolerate loss: 40 ms (Law, Sec. 4.1); a longer demand of the flow counts. 1 ms to 10 s; `"none"` in a file for
    /// no limit.
    #[serde(with = "super::super::last_pq::optional")]
    pub limit_q: Option<Span>,
    /// Limit_h of every PPDU: 3 ms (Law, Sec. 4.1), after which the hardware returns it. 100 us to 1 s; `"none"` in a file for no limit.
    #[serde(with = "super::super::last_pq::optional")]
    pub limit_h: Option<Span>,
    /// Whether a PPDU that came back without any acknowledgement starts at the next rate of the chain, as Law selects a rate for each
    /// software retransmission (Sec. 3.4). True.
    pub lower_rate: bool,
    /// Categories whose flows tolerate loss: those of live video and voice.
    pub tolerant: Vec<Category>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            limit_q: Some(Span::from_millis(40)),
            limit_h: Some(Span::from_millis(3)),
            lower_rate: true,
            tolerant: vec![Category::Vi, Category::Vo],
        }
    }
}

/// Configuration of an [`super::Airbound`] queue. A part that is `false` in a file is off: without any, and without demands, the queue is
/// `linux`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AirboundConfig {
    /// Whether urgent flows go first (LAST-PQ). Without it demands have no effect on the order. True.
    pub urgency: bool,
    /// Whether a demand has to hold in 95 of 100 seconds, in place of over all of them. True.
    pub each_second: bool,
    /// LAST-PQ, and the fair order below it.
    pub last_pq: LastPqConfig,
    /// CoDel of the classic side in place of that of `last-pq.linux`: none, since it takes 2 to 7 % of downloads' goodput for 7 to
    /// 10 ms of their latency. `true` in a file for WQM's limit on the drain time as its target, 2.5 ms, or a table.
    #[serde(with = "super::super::switch")]
    pub codel: Option<Codel>,
    /// WQM's size, for each station's packets of the classic side: none, since it costs more than it gives. `true` or a table of WQM's
    /// keys in a file for one.
    #[serde(with = "super::super::switch")]
    pub size: Option<WqmConfig>,
    /// Law's limits; `false` in a file for none.
    #[serde(with = "super::super::switch")]
    pub law: Option<Limits>,
    /// A flow to a station that has a demand and needs at most this travels in the category of video, whose contention is shorter: 4 Mb/s,
    /// below which LAST-PQ's classifier sees a call and no elephant; 0 for none. Up to 100 Mbit/s.
    pub thin: BitRate,
    /// Airtime weight of a station with a client of the session: 256, that of all others. What more gives the session and takes from
    /// downloads is in docs/results/evening.md. 1 to 65 535.
    pub session_weight: u16,
    /// Whether senders that sense hold a level that fits into the aggregates that demands leave to others. True.
    pub sense: bool,
}

/// CoDel's times for the classic side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Codel {
    /// Acceptable standing delay: 2.5 ms, WQM's limit on the drain time (Sec. IV-B). Above 0.
    pub target: Span,
    /// Time in which a sender can react: 100 ms (RFC 8289, section 4.2). At least the target.
    pub interval: Span,
}

impl Default for Codel {
    fn default() -> Self {
        Self { target: Span::from_micros(2500), interval: Span::from_millis(100) }
    }
}

impl Codel {
    pub(super) const fn parameters(self) -> CodelParameters {
        CodelParameters { target: self.target, interval: self.interval, mtu: ByteCount::ZERO }
    }
}

impl Default for AirboundConfig {
    fn default() -> Self {
        Self {
            urgency: true,
            each_second: true,
            last_pq: LastPqConfig::default(),
            codel: None,
            size: None,
            law: Some(Limits::default()),
            thin: BitRate::from_mbps(4),
            session_weight: 256,
            sense: true,
        }
    }
}

impl AirboundConfig {
    /// The demand that LAST-PQ holds on average, so that `demand` holds in 95 of 100 seconds.
    ///
    /// A second has n windows of the delay controller (50), which are late or in time together. If a share q of them is late on average,
    /// a second exceeds q by 1.645 standard deviations of the binomial distribution in 5 of 100 cases. The share that stays below the
    /// allowed one with that margin is the lower bound of Wilson's interval (1927): 1.9 % for 5 %.
    pub(super) fn held(&self, demand: &Demand) -> Result<Demand, ConfigError> {
        if !self.each_second {
            return Ok(*demand);
        }
        let windows =
            (Span::from_secs(1).as_nanos() as f64 / self.last_pq.delay.window.as_nanos() as f64).max(1.0);
        let (late, spread) = (1.0 - demand.percentile() / 100.0, 1.645 * 1.645 / windows);
        let middle = 2.0 * late + spread;
        let held = (middle - (middle * middle - 4.0 * late * late * (1.0 + spread)).max(0.0).sqrt())
            / (2.0 * (1.0 + spread));
        Demand::new(demand.latency(), (100.0 * (1.0 - held)).clamp(demand.percentile(), 100.0))
    }

    /// The longest PPDU: what Limit_h leaves for one try (Law, open point 13).
    pub(super) fn longest_ppdu(&self) -> Span {
        let limit = self.law.as_ref().and_then(|law| law.limit_h);
        limit.map_or(Span::MAX, |limit| limit.saturating_sub(OVERHEAD))
    }

    /// The longest PPDU that is left to a sender that senses: that of Law, and while flows have a `demand` the shortest that LAST-PQ may
    /// leave to others. `None` if senders keep their own target.
    #[must_use]
    pub fn left(&self, has_demands: bool) -> Option<Span> {
        let demands = (has_demands && self.urgency).then_some(self.last_pq.least_aggregate);
        let longest = self.longest_ppdu().min(demands.unwrap_or(Span::MAX));
        (self.sense && longest < Span::MAX).then_some(longest)
    }

    /// The configuration of the order, with CoDel for the classic side.
    pub(super) fn order(&self) -> LastPqConfig {
        let mut order = self.last_pq;
        if let Some(codel) = self.codel {
            let linux = &mut order.linux;
            (linux.target, linux.interval, linux.slow) = (codel.target, codel.interval, None);
        }
        order
    }

    /// Checks the values that the parts do not check.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if let Some(codel) = self.codel {
            codel.parameters().check()?;
        }
        ConfigError::check(self.thin <= BitRate::from_mbps(100), "thin", self.thin, "0 to 100 Mbit/s")?;
        ConfigError::check(self.session_weight > 0, "session-weight", self.session_weight, "1 to 65535")?;
        let Some(limits) = &self.law else { return Ok(()) };
        if let Some(limit) = limits.limit_q {
            let allowed = Span::from_millis(1)..=Span::from_secs(10);
            ConfigError::check(allowed.contains(&limit), "law.limit-q", limit, "1 ms to 10 s")?;
        }
        if let Some(limit) = limits.limit_h {
            let allowed = Span::from_micros(100)..=Span::from_secs(1);
            ConfigError::check(allowed.contains(&limit), "law.limit-h", limit, "100 us to 1 s")?;
        }
        Ok(())
    }

    /// Limit_h, and whether a PPDU that comes back goes on at the next rate; `None` if PPDUs have no limit.
    #[must_use]
    pub fn returns_after(&self) -> Option<(Span, bool)> {
        let limits = self.law.as_ref()?;
        Some((limits.limit_h?, limits.lower_rate))
    }
}
