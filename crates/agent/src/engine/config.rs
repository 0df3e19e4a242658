//! Configuration of the engine.

use airbound_control::link::{LinkConfig, TimeLimits};
use airbound_control::queue::{Demand, QueueConfig};
use airbound_units::{ByteCount, ConfigError, Span};
use airbound_wifi::ampdu::AmpduLimits;
use serde::{Deserialize, Serialize};

/// Limits of what is released to the kernel before completions are waited for.
///
/// Two aggregates: while the radio sends one, the next one waits behind it; so the air is never idle for want of packets, and an
/// urgent packet waits for little more than one aggregate. What an aggregate may take on the air is the least of `aggregate`,
/// `packets` at the station's rate, and what the queue permits ([`airbound_control::queue::Queue::aggregate_bound`]: LAST-PQ keeps
/// others short while a protected flow is active).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct WindowConfig {
    /// Longest aggregate that is released: 4 ms, as ath9k's; the standard's limit is 5.484 ms. 100 us to 50 ms.
    pub aggregate: Span,
    /// Most packets of one: 64, a block-ack window. 1 to 256.
    pub packets: u16,
    /// So many packets may be below the agent whatever they take: 2, one on the air and one behind it. 1 to 1024.
    pub least_packets: u16,
    /// A station to which nothing completes for so long, and twice what it has below, is not waited for by others: 30 ms. 1 ms to 10 s.
    pub stall_after: Span,
    /// A packet below is given up when one to the same station and category that was released so much later has completed: 50 ms;
    /// flow queues below reorder by less. 1 ms to 10 s.
    pub reordering: Span,
    /// A packet below is given up after so long in any case: 500 ms. 10 ms to 1 min.
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
        // No block-ack window is longer than 256.
        let (packets, least) = (self.packets, self.least_packets);
        ConfigError::check((1..=256).contains(&packets), "window.packets", packets, "1 to 256 packets")?;
        ConfigError::check((1..=1024).contains(&least), "window.least-packets", least, "1 to 1024 packets")
    }
}

/// The demand on the packets that match a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Protected {
    /// Its name in journal, metrics and status.
    pub name: String,
    /// The demand. A queue that protects nobody ignores it; it is measured all the same.
    pub demand: Demand,
}

/// Configuration of an [`super::Engine`].
#[derive(Debug, Clone, PartialEq)]
pub struct EngineConfig {
    /// The queue that decides the order and the drops.
    pub queue: QueueConfig,
    /// Longest wait: a packet that has waited longer is dropped when its turn comes (Law's Limit_q); `None`: no limit. 1 ms to 10 s.
    pub time_limit: Option<Span>,
    /// The release window.
    pub window: WindowConfig,
    /// Most packets that are held: 1 to 65 536. Below the kernel's limit of its queue, or the kernel drops first.
    pub hold_packets: usize,
    /// Whom to protect; an arrival names one by its place.
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
    /// A link above a kernel that forms PPDUs and repeats them by itself.
    pub(super) fn link(&self) -> LinkConfig {
        let WindowConfig { aggregate, packets, .. } = self.window;
        let max_bytes = ByteCount::MAX;
        LinkConfig {
            ampdu: AmpduLimits { max_mpdus: packets.into(), max_bytes, max_duration: aggregate },
            window: packets,
            forms_ppdus: false,
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
        ConfigError::check(self.rules.len() <= 1000, "protect", self.rules.len(), "at most 1000 rules")
    }
}
