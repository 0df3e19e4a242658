//! Requests of the receiver for missing packets (RFC 4585 generic NACK), as documented for libwebrtc's `nack_requester.cc`.

use std::collections::{BTreeMap, BTreeSet};

use airbound_units::{ConfigError, Instant, Span};
use serde::{Deserialize, Serialize};

/// Time and number of requests for a packet, and when it is given up. Defaults: libwebrtc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct NackConfig {
    /// Upper limit on requests for one packet: 10 (`kMaxNackRetries`). 1 to 100.
    pub tries: u32,
    /// Time from the detection of a gap to the first request: 0 ms. A longer time tolerates reordering, and waits for parity packets. At
    /// most 1 s.
    pub delay: Span,
    /// The initial round trip: 100 ms (`kDefaultRtt`). 1 ms to 10 s.
    pub initial_round_trip: Span,
    /// The least interval between repeated requests, for any packets: 20 ms (`kUpdateInterval`). It does not delay first requests. At
    /// most 1 s.
    pub interval: Span,
    /// Distance behind the newest packet at which a packet is given up: 10 000 packets (`kMaxPacketAge`). 1 to 1 000 000.
    pub age: u64,
    /// Upper limit on missing packets: 1000 (`kMaxNackPackets`). Beyond it all are given up and a key frame is requested. 1 to 100 000.
    pub limit: usize,
}

impl Default for NackConfig {
    fn default() -> Self {
        Self {
            tries: 10,
            delay: Span::ZERO,
            initial_round_trip: Span::from_millis(100),
            interval: Span::from_millis(20),
            age: 10_000,
            limit: 1000,
        }
    }
}

impl NackConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for the first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let second = Span::from_secs(1);
        ConfigError::check((1..=100).contains(&self.tries), "nack.tries", self.tries, "1 to 100")?;
        ConfigError::check(self.delay <= second, "nack.delay", self.delay, "0 ms to 1 s")?;
        let round_trip = (Span::from_millis(1)..=second * 10).contains(&self.initial_round_trip);
        ConfigError::check(round_trip, "nack.initial-round-trip", self.initial_round_trip, "1 ms to 10 s")?;
        ConfigError::check(self.interval <= second, "nack.interval", self.interval, "0 ms to 1 s")?;
        ConfigError::check((1..=1_000_000).contains(&self.age), "nack.age", self.age, "1 to 1000000")?;
        ConfigError::check((1..=100_000).contains(&self.limit), "nack.limit", self.limit, "1 to 100000")
    }
}

#[derive(Debug, Clone, Copy)]
struct Missing {
    /// When the next request is permitted.
    due: Instant,
    tries: u32,
}

impl Missing {
    /// When it is requested next, if repeated requests are not permitted before `free`.
    fn next(&self, free: Instant) -> Instant {
        if self.tries == 0 { self.due } else { self.due.max(free) }
    }
}

/// Detects gaps in the media sequence numbers and requests the missing packets.
///
/// A packet is requested at once (or after [`NackConfig::delay`]), then again after each round trip without it.
#[derive(Debug, Clone)]
pub struct NackRequester {
    config: NackConfig,
    round_trip: Span,
    newest: Option<u64>,
    missing: BTreeMap<u64, Missing>,
    /// Later packets already rebuilt by parity: they are not missing.
    recovered: BTreeSet<u64>,
    /// Number of packets given up.
    given_up: u64,
    key_frame: bool,
    /// Time of the last repeated request.
    repeated: Option<Instant>,
    now: Instant,
}

impl NackRequester {
    /// Creates a requester without arrivals.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for a value of the configuration out of range.
    pub fn new(config: NackConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            round_trip: config.initial_round_trip,
            config,
            newest: None,
            missing: BTreeMap::new(),
            recovered: BTreeSet::new(),
            given_up: 0,
            key_frame: false,
            repeated: None,
            now: Instant::ZERO,
        })
    }

    /// Sets the round trip of a request and its answer.
    pub fn on_round_trip(&mut self, round_trip: Span) {
        self.round_trip = round_trip;
    }

    /// Takes a media packet. A retransmission never opens a gap, since it says nothing about other packets.
    pub fn on_packet(&mut self, now: Instant, sequence: u64, is_retransmission: bool) {
        self.now = self.now.max(now);
        self.missing.remove(&sequence);
        let Some(newest) = self.newest else {
            // Packets sent before the first arrival are unknown.
            if !is_retransmission {
                self.newest = Some(sequence);
            }
            return;
        };
        if sequence <= newest {
            return;
        }
        if is_retransmission {
            self.recovered.insert(sequence);
            self.bound_recovered();
            return;
        }
        self.newest = Some(sequence);
        self.expect(newest.saturating_add(1), sequence);
        self.recovered = self.recovered.split_off(&sequence);
    }

    /// Notes that this packet was rebuilt by parity.
    pub fn on_recovered(&mut self, sequence: u64) {
        self.missing.remove(&sequence);
        if self.newest.is_some_and(|newest| sequence > newest) {
            self.recovered.insert(sequence);
            self.bound_recovered();
        }
    }

    /// Forgets packets before this one (its frame was shown or skipped).
    pub fn forget_before(&mut self, sequence: u64) {
        self.missing = self.missing.split_off(&sequence);
    }

    /// Returns the packets to request now, in order.
    pub fn poll(&mut self, now: Instant) -> Vec<u64> {
        self.now = self.now.max(now);
        let now = self.now;
        if self.next_deadline().is_none_or(|deadline| deadline > now) {
            return Vec::new();
        }
        let mut asked = Vec::new();
        let (tries, again) = (self.config.tries, now + self.round_trip);
        let before = self.missing.len();
        let free = self.free();
        let repeated = &mut self.repeated;
        self.missing.retain(|&sequence, missing| {
            if missing.next(free) > now {
                return true;
            }
            if missing.tries > 0 {
                *repeated = Some(now);
            }
            if missing.tries == tries {
                return false;
            }
            missing.tries += 1;
            missing.due = again;
            asked.push(sequence);
            true
        });
        self.given_up += (before - self.missing.len()) as u64;
        asked
    }

    /// When [`NackRequester::poll`] may have packets to request.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let free = self.free();
        self.missing.values().map(|missing| missing.next(free)).min()
    }

    /// When repeated requests are permitted.
    fn free(&self) -> Instant {
        self.repeated.map_or(Instant::ZERO, |repeated| repeated + self.config.interval)
    }

    /// Whether too many packets are missing and the source should send a key frame. Returns true once.
    pub fn take_key_frame_request(&mut self) -> bool {
        std::mem::take(&mut self.key_frame)
    }

    /// Returns the number of packets missing at present.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.missing.len()
    }

    /// Returns the number of packets given up.
    #[must_use]
    pub fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Marks the packets from `begin` up to, not including, `end` as missing.
    fn expect(&mut self, begin: u64, end: u64) {
        let oldest = end.saturating_sub(self.config.age);
        let before = self.missing.len();
        self.missing = self.missing.split_off(&oldest);
        self.given_up += (before - self.missing.len()) as u64;
        let gap = end - begin;
        let room = self.config.limit.saturating_sub(self.missing.len()) as u64;
        if gap > room {
            self.given_up = self.given_up.saturating_add(self.missing.len() as u64).saturating_add(gap);
            self.missing.clear();
            self.key_frame = true;
            return;
        }
        let due = self.now + self.config.delay;
        for sequence in begin.max(oldest)..end {
            if !self.recovered.contains(&sequence) {
                self.missing.insert(sequence, Missing { due, tries: 0 });
            }
        }
    }

    fn bound_recovered(&mut self) {
        while self.recovered.len() > self.config.limit {
            self.recovered.pop_first();
        }
    }
}
