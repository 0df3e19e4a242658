//! Carrier sense of one transmitter: energy, network allocation vector, EIFS.

use airbound_units::{Instant, Span};

/// A reservation by an RTS, which holds only if a frame follows (802.11-2020, 10.3.2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Provisional {
    /// A frame must have begun by then.
    by: Instant,
    /// End of the reservation.
    until: Instant,
}

/// Carrier sense of one transmitter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Carrier {
    /// Number of frames of others on the air that it hears.
    heard: u16,
    /// Number of its own frames on the air.
    sending: u16,
    /// Whether its exchange goes on.
    pub(super) engaged: bool,
    /// End of the reservations that it knows.
    nav: Instant,
    provisional: Option<Provisional>,
    /// Whether the last frame that it detected ended with an error.
    garbled: bool,
    /// Start of its idle period, perhaps in the future; `None` while it senses energy or its exchange goes on.
    idle_since: Option<Instant>,
}

impl Carrier {
    /// Idle since the beginning.
    pub(super) const fn new() -> Self {
        Self {
            heard: 0,
            sending: 0,
            engaged: false,
            nav: Instant::ZERO,
            provisional: None,
            garbled: false,
            idle_since: Some(Instant::ZERO),
        }
    }

    pub(super) const fn idle_since(&self) -> Option<Instant> {
        self.idle_since
    }

    pub(super) const fn is_sending(&self) -> bool {
        self.sending > 0
    }

    /// Whether it senses energy, its own included.
    pub(super) const fn senses(&self) -> bool {
        self.heard > 0 || self.sending > 0
    }

    /// Whether it takes no part in an exchange and sends nothing.
    pub(super) const fn is_listening(&self) -> bool {
        !self.engaged && self.sending == 0
    }

    /// Whether it senses the same as another from `now` on. What is reserved until then has no effect any more.
    pub(super) fn is_like(&self, other: &Self, now: Instant) -> bool {
        let facts = |one: &Self| (one.heard, one.sending, one.engaged, one.garbled, one.idle_since);
        let reserved =
            |one: &Self| (one.nav.max(now), one.provisional.filter(|reservation| reservation.by > now));
        facts(self) == facts(other) && reserved(self) == reserved(other)
    }

    /// Whether a reservation of others keeps it from answering an RTS (802.11-2020, 10.3.2.9).
    pub(super) fn is_reserved(&self, now: Instant) -> bool {
        self.nav > now
    }

    /// Ends the idle period; returns its start.
    pub(super) const fn occupy(&mut self) -> Option<Instant> {
        self.idle_since.take()
    }

    /// A frame that it hears begins.
    pub(super) fn hear(&mut self, now: Instant) {
        self.heard = self.heard.saturating_add(1);
        if let Some(reservation) = self.provisional.take().filter(|reservation| now < reservation.by) {
            self.nav = self.nav.max(reservation.until);
        }
    }

    /// A frame that it heard ends.
    pub(super) const fn hear_end(&mut self) {
        self.heard = self.heard.saturating_sub(1);
    }

    /// It begins to send a frame, which ends any reception.
    pub(super) const fn send(&mut self) {
        self.sending = self.sending.saturating_add(1);
        self.garbled = false;
    }

    pub(super) const fn send_end(&mut self) {
        self.sending = self.sending.saturating_sub(1);
    }

    /// The last frame was decoded, or ended with an error.
    pub(super) const fn note_reception(&mut self, decoded: bool) {
        self.garbled = !decoded;
    }

    /// A frame to another reserves the channel until `until`.
    pub(super) fn reserve(&mut self, until: Instant) {
        self.nav = self.nav.max(until);
    }

    /// An RTS to another reserves the channel until `until`, if a frame begins by `by`.
    pub(super) fn reserve_provisionally(&mut self, by: Instant, until: Instant) {
        if until > self.nav {
            self.nav = self.nav.max(by);
            self.provisional = Some(Provisional { by, until });
        }
    }

    /// Begins an idle period if it senses nothing: after `eifs` more if the last reception failed, after all reservations, and not
    /// before `earliest`.
    pub(super) fn rest(&mut self, now: Instant, eifs: Span, earliest: Instant) {
        if self.senses() || self.engaged {
            return;
        }
        let wait = if std::mem::take(&mut self.garbled) { eifs } else { Span::ZERO };
        self.idle_since = Some((now + wait).max(self.nav).max(earliest));
    }

    /// Begins an idle period at `since`, perhaps in the future.
    pub(super) const fn resume(&mut self, since: Instant) {
        self.idle_since = Some(since);
    }
}
