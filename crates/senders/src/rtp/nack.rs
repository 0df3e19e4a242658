//! The receiver asks for what it misses (RFC 4585 generic NACK), as libwebrtc's `nack_requester.cc` is documented to.

use std::collections::{BTreeMap, BTreeSet};

use airbound_units::{ConfigError, Instant, Span};
use serde::{Deserialize, Serialize};

/// When a packet is asked for, how often, and when it is given up. Defaults: libwebrtc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct NackConfig {
    /// Most requests for one packet: 10 (`kMaxNackRetries`). 1 to 100.
    pub tries: u32,
    /// Time from when its gap was seen to the first request for a packet: 0 ms. More forgives reordering, and gives parity packets time.
    /// At most 1 s.
    pub delay: Span,
    /// The round trip while it is unknown: 100 ms (`kDefaultRtt`). 1 ms to 10 s.
    pub initial_round_trip: Span,
    /// The least interval between asking again, for whatever packets: 20 ms (`kUpdateInterval`). What is asked for the first time does
    /// not wait for it. At most 1 s.
    pub interval: Span,
    /// A packet so far behind the newest is given up: 10 000 packets (`kMaxPacketAge`). 1 to 1 000 000.
    pub age: u64,
    /// So many packets are missed at most: 1000 (`kMaxNackPackets`). With more all are given up and a key frame is wanted. 1 to 100 000.
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
    /// [`ConfigError::OutOfRange`] for the first that is out of its range.
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
    /// When it may first, or again, be asked for.
    due: Instant,
    tries: u32,
}

impl Missing {
    /// When it is asked for next, if nothing is asked for again before `free`.
    fn next(&self, free: Instant) -> Instant {
        if self.tries == 0 { self.due } else { self.due.max(free) }
    }
}

/// Notices gaps in the media sequence numbers and asks for what is missing.
///
/// A packet is asked for at once (or after [`NackConfig::delay`]), then again whenever a round trip has passed without it.
#[derive(Debug, Clone)]
pub struct NackRequester {
    config: NackConfig,
    round_trip: Span,
    newest: Option<u64>,
    missing: BTreeMap<u64, Missing>,
    /// Packets of the future that parity repaired already: no gap there.
    recovered: BTreeSet<u64>,
    /// Packets given up for good.
    given_up: u64,
    key_frame: bool,
    /// When something was last asked for again.
    repeated: Option<Instant>,
    now: Instant,
}

impl NackRequester {
    /// Nothing has arrived.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of the configuration is.
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

    /// The round trip that a request and its answer take.
    pub fn on_round_trip(&mut self, round_trip: Span) {
        self.round_trip = round_trip;
    }

    /// A media packet arrived. A retransmission never opens a gap: it says nothing of what else was sent.
    pub fn on_packet(&mut self, now: Instant, sequence: u64, is_retransmission: bool) {
        self.now = self.now.max(now);
        self.missing.remove(&sequence);
        let Some(newest) = self.newest else {
            // What was sent before the first packet that arrived is unknown.
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

    /// A parity packet brought this packet back.
    pub fn on_recovered(&mut self, sequence: u64) {
        self.missing.remove(&sequence);
        if self.newest.is_some_and(|newest| sequence > newest) {
            self.recovered.insert(sequence);
            self.bound_recovered();
        }
    }

    /// Nothing before this packet is needed any more (its frame was shown or skipped).
    pub fn forget_before(&mut self, sequence: u64) {
        self.missing = self.missing.split_off(&sequence);
    }

    /// The packets to ask for now, in order.
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

    /// When [`NackRequester::poll`] may have something to ask for.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let free = self.free();
        self.missing.values().map(|missing| missing.next(free)).min()
    }

    /// When something may be asked for again.
    fn free(&self) -> Instant {
        self.repeated.map_or(Instant::ZERO, |repeated| repeated + self.config.interval)
    }

    /// Whether too much is missing for asking: the source should send a key frame. Answers yes once.
    pub fn take_key_frame_request(&mut self) -> bool {
        std::mem::take(&mut self.key_frame)
    }

    /// Returns the number of packets missed at present.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.missing.len()
    }

    /// Returns the number of packets given up.
    #[must_use]
    pub fn given_up(&self) -> u64 {
        self.given_up
    }

    /// The packets from `begin` up to, not including, `end` should have come by now.
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
