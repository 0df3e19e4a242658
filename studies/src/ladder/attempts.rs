//! Attempts of each transmitter, counted while a run goes on.

use std::collections::BTreeMap;

use airbound_sim::{Event, Events, Observer};
use airbound_units::Instant;
use airbound_wifi::control_frames::BLOCK_ACK_REQUEST;

/// Attempts of one transmitter.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Attempts {
    /// Exchanges with data.
    pub(super) ppdus: u64,
    /// MPDUs sent in them, repeated ones included.
    pub(super) mpdus: u64,
    /// Exchanges without an acknowledgement.
    failed: u64,
    /// BlockAckReqs.
    pub(super) requests: u64,
}

impl Attempts {
    /// The share of failed exchanges.
    pub(super) fn failed_share(&self) -> f64 {
        self.failed as f64 / (self.ppdus + self.requests) as f64
    }
}

/// Counts the exchanges of each transmitter from a time on, and those without an acknowledgement.
#[derive(Debug, Clone)]
pub(super) struct AttemptWatch {
    from: Instant,
    each: BTreeMap<u16, Attempts>,
}

impl AttemptWatch {
    pub(super) fn new(from: Instant) -> Self {
        Self { from, each: BTreeMap::new() }
    }

    /// Those of a transmitter: 0 is the access point, stations follow.
    pub(super) fn of(&self, transmitter: u16) -> Attempts {
        self.each.get(&transmitter).copied().unwrap_or_default()
    }
}

impl Observer for AttemptWatch {
    fn wants(&self) -> Events {
        Events { txops: true, ..Events::NONE }
    }

    fn on_event(&mut self, event: Event<'_>) {
        if let Event::Txop(row) = event
            && row.start >= self.from
        {
            let attempts = self.each.entry(row.transmitter).or_default();
            if row.size == BLOCK_ACK_REQUEST {
                attempts.requests += 1;
            } else {
                attempts.ppdus += 1;
                attempts.mpdus += u64::from(row.mpdus);
            }
            attempts.failed += u64::from(row.acked == 0);
        }
    }
}
