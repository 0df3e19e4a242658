//! Configuration of the engine.

use airbound_control::link::{LinkConfig, TimeLimits};
use airbound_control::queue::{Demand, QueueConfig};
use airbound_units::{BitRate, ByteCount, ConfigError, Span};
use airbound_wifi::ampdu::AmpduLimits;
use serde::{Deserialize, Serialize};

/// Limits of what is released to the kernel and has not completed.
///
/// The window holds two aggregates: the radio sends one while the next is queued behind it, so that the radio is never idle for want
/// of packets, and an urgent packet waits for little more than one aggregate. The airtime of an aggregate is bounded by `aggregate`,
/// by `packets` at the station's rate, and by the queue (LAST-PQ shortens other
/// aggregates while a protected flow is active).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct WindowConfig {
    /// The airtime of an aggregate: 100 us to 50 ms, default 4 ms, ath9k's limit; the standard's limit is 5.484 ms.
    pub aggregate: Span,
    /// The packets of an aggregate: 1 to 256, default 64, a block-ack window.
    pub packets: u16,
    /// Packets that may be below whatever their airtime: 1 to 1024, default 2, one on the air and one behind it.
    pub least_packets: u16,
    /// A station without completions for this time plus twice the airtime it has below is stalled: 1 ms to 10 s, default 30 ms.
    pub stall_after: Span,
    /// A packet is given up once a packet to the same station and category, released later by more than this, has completed: 1 ms to
    /// 10 s, default 50 ms; flow queues below reorder by less.
    pub reordering: Span,
    /// A packet is given up after this time below in any case: 10 ms to 1 min, default 500 ms.
    pub completion_timeout: Span,
}

impl Default for WindowConfig {
    fn default() -> Self {
        Self {
            aggregate: Span::from_millis(4),
            packets: 64,
            least_packets: 2,
            stall_after: Span::from_millis(30),
            reordering: Span::from_millis(50),
            completion_timeout: Span::from_millis(500),
        }
    }
}

impl WindowConfig {
    fn check(&self) -> Result<(), ConfigError> {
        let spans = [
            (
                "window.aggregate",
                self.aggregate,
                Span::from_micros(100),
                Span::from_millis(50),
                "100 us to 50 ms",
            ),
            (
                "window.stall-after",
                self.stall_after,
                Span::from_millis(1),
                Span::from_secs(10),
                "1 ms to 10 s",
            ),
            ("window.reordering", self.reordering, Span::from_millis(1), Span::from_secs(10), "1 ms to 10 s"),
            (
                "window.completion-timeout",
                self.completion_timeout,
                Span::from_millis(10),
                Span::from_secs(60),
                "10 ms to 1 min",
            ),
        ];
        for (key, value, least, most, allowed) in spans {
            ConfigError::check((least..=most).contains(&value), key, value, allowed)?;
        }
        // The longest block-ack window is 256.
        let (packets, least) = (self.packets, self.least_packets);
        ConfigError::check((1..=256).contains(&packets), "window.packets", packets, "1 to 256 packets")?;
        ConfigError::check((1..=1024).contains(&least), "window.least-packets", least, "1 to 1024 packets")
    }
}

/// A rule's demand.
#[derive(Debug, Clone, PartialEq)]
pub struct Protected {
    /// Its name in journal, metrics and status.
    pub name: String,
    /// The demand. Queues without protection ignore it; it is measured with every queue.
    pub demand: Demand,
    /// The rate up to which its packets are protected, together: 1 kbit/s to 100 Gbit/s; `None`: no limit.
    pub rate: Option<BitRate>,
}

/// Configuration of an [`super::Engine`].
#[derive(Debug, Clone, PartialEq)]
pub struct EngineConfig {
    /// The queue that decides the order and the drops.
    pub queue: QueueConfig,
    /// Law's Limit_q: older packets are dropped when they are dequeued. 1 ms to 10 s; `None`: no limit.
    pub time_limit: Option<Span>,
    /// The release window.
    pub window: WindowConfig,
    /// The limit of held packets: 1 to 65 536. Less than the limit of the kernel's queue, so that the engine decides what is dropped.
    pub hold_packets: usize,
    /// The rules; an arrival names its rule by index.
    pub rules: Vec<Protected>,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            queue: QueueConfig::default(),
            time_limit: None,
            window: WindowConfig::default(),
            hold_packets: 4096,
            rules: Vec::new(),
        }
    }
}

impl EngineConfig {
    /// The configuration of a link above a kernel that forms and retransmits PPDUs.
    pub(super) fn link(&self) -> LinkConfig {
        let WindowConfig { aggregate, packets, .. } = self.window;
        let max_bytes = ByteCount::MAX;
        LinkConfig {
            ampdu: AmpduLimits { max_mpdus: packets.into(), max_bytes, max_duration: aggregate },
            window: packets,
            forms_ppdus: false,
            forms_ahead: true,
            limits: TimeLimits { queue: self.time_limit, ..TimeLimits::NONE },
            ..LinkConfig::default()
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.window.check()?;
        if let Some(limit) = self.time_limit {
            let range = Span::from_millis(1)..=Span::from_secs(10);
            ConfigError::check(range.contains(&limit), "time-limit", limit, "1 ms to 10 s")?;
        }
        let held = 1..=65_536;
        ConfigError::check(
            held.contains(&self.hold_packets),
            "hold-packets",
            self.hold_packets,
            "1 to 65536 packets",
        )?;
        for rate in self.rules.iter().filter_map(|rule| rule.rate) {
            let range = BitRate::from_kbps(1)..=BitRate::from_mbps(100_000);
            ConfigError::check(range.contains(&rate), "protect.rate", rate, "1 kbit/s to 100 Gbit/s")?;
        }
        ConfigError::check(self.rules.len() <= 1000, "protect", self.rules.len(), "at most 1000 rules")
    }
}
