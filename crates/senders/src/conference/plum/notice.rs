//! Delivery of a decision to a client in spite of loss, duplication and reordering.
//!
//! The public code writes the target into the header of forwarded media: a client that receives no media never gets it, and one whose
//! last packet is lost misses a change. Here a notice is a separate message with a sequence number. It is repeated until that number is
//! acknowledged; a newer decision replaces it. The client acts on a number newer than the last, and acknowledges every notice, old ones
//! too.

use airbound_units::{BitRate, Instant, Span};

/// A decision on its way to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// Increases by one with each decision for this client, from 1.
    pub sequence: u32,
    /// r_t: the rate at which the client encodes; 0 for its natural one.
    pub rate: BitRate,
}

impl Notice {
    /// Size in bytes of a notice or of its answer as a datagram: IPv4 and UDP headers, the sequence number and one float, the only
    /// field counted in the paper.
    pub const SIZE: u64 = 20 + 8 + 4 + 4;
}

/// The server's side of one client.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::conference) struct Outbox {
    notice: Option<Notice>,
    sequence: u32,
    /// When it is to be sent (again).
    due: Option<Instant>,
}

impl Outbox {
    /// Sets a new decision, which replaces an unacknowledged one. An equal decision is not sent again.
    pub(in crate::conference) fn put(&mut self, now: Instant, rate: BitRate) {
        if self.notice.map_or(BitRate::ZERO, |notice| notice.rate) == rate {
            return;
        }
        self.sequence = self.sequence.wrapping_add(1);
        self.notice = Some(Notice { sequence: self.sequence, rate });
        self.due = Some(now);
    }

    pub(in crate::conference) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns the notice to be sent now, if it is due: once for each `now`. At the end of time nothing is repeated.
    pub(in crate::conference) fn poll(&mut self, now: Instant, repeat: Span) -> Option<Notice> {
        self.due.filter(|due| *due <= now)?;
        self.due = Some(now + repeat).filter(|next| *next > now);
        self.notice
    }

    pub(in crate::conference) fn on_acknowledged(&mut self, sequence: u32) {
        if sequence == self.sequence {
            self.due = None;
        }
    }
}

/// Whether a sequence number is newer than another, across the wrap (RFC 1982).
pub(super) const fn newer(sequence: u32, than: u32) -> bool {
    let ahead = sequence.wrapping_sub(than);
    ahead != 0 && ahead < 1 << 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_repeats_until_its_own_number_is_acknowledged() {
        let mut outbox = Outbox::default();
        let (at, repeat) = (|ms| Instant::ZERO + Span::from_millis(ms), Span::from_millis(200));
        outbox.put(at(0), BitRate::from_mbps(3));
        assert_eq!(outbox.poll(at(0), repeat).map(|notice| notice.sequence), Some(1));
        assert_eq!(outbox.poll(at(100), repeat), None);
        assert_eq!(outbox.poll(at(200), repeat).map(|notice| notice.sequence), Some(1));
        outbox.put(at(250), BitRate::ZERO);
        outbox.on_acknowledged(1);
        assert_eq!(outbox.poll(at(250), repeat).map(|notice| notice.sequence), Some(2));
        outbox.on_acknowledged(2);
        assert_eq!((outbox.due(), outbox.poll(at(9000), repeat)), (None, None));
    }

    #[test]
    fn a_notice_is_sent_once_at_the_end_of_time() {
        let mut outbox = Outbox::default();
        outbox.put(Instant::MAX, BitRate::from_mbps(3));
        let sent = || outbox.poll(Instant::MAX, Span::from_millis(200));
        assert_eq!(std::iter::from_fn(sent).take(3).count(), 1);
    }

    #[test]
    fn newer_holds_across_the_wrap() {
        assert!(newer(1, 0) && newer(0, u32::MAX) && !newer(u32::MAX, 0) && !newer(5, 5));
    }
}
