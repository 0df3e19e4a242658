//! The sender's store of packets that may be requested again, as documented for libwebrtc's `rtp_packet_history.cc`.

use std::collections::BTreeMap;

use airbound_units::{ConfigError, Instant, Span};
use serde::{Deserialize, Serialize};

/// Limits of the store. Defaults: libwebrtc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct HistoryConfig {
    /// Least time for which a packet is kept: 1 s (`kMinPacketDuration`). 1 ms to 1 min.
    pub age: Span,
    /// Least time in round trips: 3 (`kMinPacketDurationRtt`). At most 100.
    pub round_trips: u64,
    /// Packets beyond which one older than the least time is dropped: 600 (`kMinSendSidePacketHistorySize`). At most 1 000 000.
    pub usual: usize,
    /// Multiple of the least time after which a packet is dropped in any case: 3 (`kPacketCullingDelayFactor`). 1 to 100.
    pub culling: u64,
    /// Upper limit on kept packets: 9600 (`kMaxCapacity`). 1 to 1 000 000.
    pub limit: usize,
}

impl Default for HistoryConfig {
    fn default() -> Self {
        Self { age: Span::from_secs(1), round_trips: 3, usual: 600, culling: 3, limit: 9600 }
    }
}

impl HistoryConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for the first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let age = (Span::from_millis(1)..=Span::from_secs(60)).contains(&self.age);
        ConfigError::check(age, "history.age", self.age, "1 ms to 1 min")?;
        let round_trips = self.round_trips <= 100;
        ConfigError::check(round_trips, "history.round-trips", self.round_trips, "0 to 100")?;
        ConfigError::check(self.usual <= 1_000_000, "history.usual", self.usual, "0 to 1000000")?;
        ConfigError::check((1..=100).contains(&self.culling), "history.culling", self.culling, "1 to 100")?;
        ConfigError::check((1..=1_000_000).contains(&self.limit), "history.limit", self.limit, "1 to 1000000")
    }
}

#[derive(Debug, Clone)]
struct Kept<T> {
    item: T,
    /// When it was last sent.
    sent: Instant,
    /// Whether it was sent more than once.
    resent: bool,
    /// Whether it was requested and waits in the pacer.
    pending: bool,
}

/// The packets that may be sent again, by media sequence number.
#[derive(Debug, Clone)]
pub struct RetransmissionHistory<T> {
    config: HistoryConfig,
    round_trip: Span,
    kept: BTreeMap<u64, Kept<T>>,
    now: Instant,
}

impl<T> RetransmissionHistory<T> {
    /// Creates an empty store.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for a value of the configuration out of range.
    pub fn new(config: HistoryConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { config, round_trip: Span::ZERO, kept: BTreeMap::new(), now: Instant::ZERO })
    }

    /// Sets the round trip measured by congestion control.
    pub fn on_round_trip(&mut self, round_trip: Span) {
        self.round_trip = round_trip;
    }

    /// Adds a packet sent for the first time.
    pub fn on_sent(&mut self, now: Instant, sequence: u64, item: T) {
        self.now = self.now.max(now);
        self.kept.insert(sequence, Kept { item, sent: self.now, resent: false, pending: false });
        self.forget();
    }

    /// Handles a request of the receiver. Returns `None` if the packet is too old, already waits to be sent, or was resent less than a
    /// round trip ago (that copy is still in transit). A first request is always granted, as in libwebrtc: the round trip is an
    /// estimate, and the receiver has seen a later packet. A returned packet counts as waiting until
    /// [`RetransmissionHistory::on_resent`].
    pub fn request(&mut self, now: Instant, sequence: u64) -> Option<&T> {
        self.now = self.now.max(now);
        self.forget();
        let kept = self.kept.get_mut(&sequence)?;
        if kept.pending || kept.resent && self.now - kept.sent < self.round_trip {
            return None;
        }
        kept.pending = true;
        Some(&kept.item)
    }

    /// Notes that a requested packet was resent.
    pub fn on_resent(&mut self, now: Instant, sequence: u64) {
        self.now = self.now.max(now);
        if let Some(kept) = self.kept.get_mut(&sequence) {
            (kept.sent, kept.resent, kept.pending) = (self.now, true, false);
        }
    }

    /// The number of packets kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether no packet is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Drops the oldest packets: those beyond the limit, those older than the least time while there are more than usual, and those older than a
    /// multiple of it. Those waiting in the pacer are kept, since the pacer holds them anyway.
    fn forget(&mut self) {
        let least = self.config.age.max(self.round_trip * self.config.round_trips);
        while let Some(oldest) = self.kept.first_entry() {
            let (age, pending) = (self.now - oldest.get().sent, oldest.get().pending);
            let count = self.kept.len();
            let old = age >= least * self.config.culling || age >= least && count > self.config.usual;
            if count <= self.config.limit && (pending || !old) {
                return;
            }
            self.kept.pop_first();
        }
    }
}
