//! Loss detection: RACK (RFC 8985 section 6, Linux `tcp_recovery.c`).
//!
//! A segment is lost when one sent after it was delivered and a round trip plus a reordering window has passed since
//! its last transmission.

use airbound_units::{Instant, Span};

use super::scoreboard::{Scoreboard, Sent};

/// Recoveries without a duplicate after which a widened window returns to its first size (section 6.2 step 4).
const PERSISTENCE: u8 = 16;
/// Selectively acknowledged segments that indicate loss before any reordering was seen (`DupThresh`).
const DUPLICATE_THRESHOLD: u32 = 3;

/// RACK's view of the newest delivered segment and of reordering.
#[derive(Debug, Clone, Default)]
pub(super) struct Rack {
    /// Round trip, transmission and end of the most recently sent segment that was delivered.
    pub(super) rtt: Span,
    sent: Instant,
    end: u64,
    reordering_seen: bool,
    /// Window in quarters of the smallest round trip, less one.
    steps: u8,
    persist: u8,
    /// No second widening before this byte is acknowledged.
    duplicate_round_end: u64,
}

/// Result of one pass over the scoreboard.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Losses {
    pub(super) lost: u32,
    /// Number of lost segments that were retransmissions.
    pub(super) retransmissions: u32,
    /// When the next segment would be lost.
    pub(super) next: Option<Instant>,
}

impl Rack {
    /// Notes a delivered segment (step 2). A retransmission that seems to return faster than any round trip was the
    /// late original.
    #[inline]
    pub(super) fn on_delivered(&mut self, now: Instant, segment: &Sent, min_rtt: Option<Span>) {
        let rtt = now.since(segment.sent);
        if segment.is_repeated() && min_rtt.is_some_and(|min| rtt < min) {
            return;
        }
        if (segment.sent, segment.end()) > (self.sent, self.end) {
            (self.rtt, self.sent, self.end) = (rtt, segment.sent, segment.end());
        }
    }

    /// Notes that a segment sent once was delivered after a higher one (step 3).
    pub(super) fn on_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// Notes a reported duplicate, an unnecessary retransmission: the window grows, once a round trip (step 4).
    pub(super) fn on_duplicate(&mut self, first_unacked: u64, next: u64) {
        if first_unacked >= self.duplicate_round_end {
            self.duplicate_round_end = next;
            self.steps = self.steps.saturating_add(1);
            self.persist = PERSISTENCE;
        }
    }

    /// Notes the end of a recovery.
    pub(super) fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.steps = 0;
        }
    }

    /// Returns the time beyond a round trip that a segment may take (step 4).
    pub(super) fn reordering_window(
        &self,
        recovering: bool,
        sacked: u32,
        min_rtt: Option<Span>,
        srtt: Option<Span>,
    ) -> Span {
        if !self.reordering_seen && (recovering || sacked >= DUPLICATE_THRESHOLD) {
            return Span::ZERO;
        }
        let quarters = u64::from(self.steps) + 1;
        (min_rtt.unwrap_or(Span::ZERO) / 4 * quarters).min(srtt.unwrap_or(Span::ZERO))
    }

    /// Marks lost segments (step 5), in order of transmission up to the first segment that may still arrive.
    pub(super) fn detect(&self, now: Instant, window: Span, board: &mut Scoreboard) -> Losses {
        let mut losses = Losses::default();
        while let Some((number, segment)) = board.oldest() {
            if (self.sent, self.end) <= (segment.sent, segment.end()) {
                break;
            }
            let expires = segment.sent + self.rtt + window;
            if expires > now {
                losses.next = Some(expires);
                break;
            }
            losses.lost += 1;
            losses.retransmissions += u32::from(board.mark_lost(number));
        }
        losses
    }
}
