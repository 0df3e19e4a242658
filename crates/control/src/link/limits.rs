//! Time limits of a packet in each layer of a transmit path, and in all of them together.

use airbound_units::{Instant, Span};

use crate::frame::Mpdu;

/// Time limits by layer, and one over the whole stay; `None`: no limit.
///
/// Whatever has outlived a limit is dropped when it is next touched: when it leaves the scheme's queue, when it comes back
/// from the hardware, when it is about to be sent again. The time in a layer adds up over several stays there (Law, Sec. 3.3
/// and Fig. 13: only so do three limits of 10 ms come to 30 ms).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeLimits {
    /// In the scheme's queue.
    pub queue: Option<Span>,
    /// In the driver, waiting to be sent again.
    pub driver: Option<Span>,
    /// In the hardware, waiting there and all tries included.
    pub hardware: Option<Span>,
    /// From entering the scheme's queue on, wherever it is.
    pub total: Option<Span>,
}

/// Whether a time is over a limit.
fn exceeds(time: Span, limit: Option<Span>) -> bool {
    limit.is_some_and(|limit| time > limit)
}

impl TimeLimits {
    /// No limit anywhere.
    pub const NONE: Self = Self { queue: None, driver: None, hardware: None, total: None };

    /// Whether what entered the scheme's queue at `enqueued` and is about to leave it has had its time.
    pub(super) fn outlived_in_queue(&self, now: Instant, enqueued: Instant) -> bool {
        exceeds(now - enqueued, self.queue) || self.outlived(now, enqueued)
    }

    /// Whether what entered the scheme's queue at `enqueued` has had its time, wherever it is.
    pub(super) fn outlived(&self, now: Instant, enqueued: Instant) -> bool {
        exceeds(now - enqueued, self.total)
    }

    /// Whether an MPDU that is not in the hardware now, but was, and that entered the scheme's queue at `enqueued`, has had its
    /// time.
    pub(super) fn outlived_below<P>(&self, now: Instant, mpdu: &Mpdu<P>, enqueued: Instant) -> bool {
        exceeds((now - mpdu.formed) - mpdu.in_hardware, self.driver)
            || exceeds(mpdu.in_hardware, self.hardware)
            || self.outlived(now, enqueued)
    }

    /// When an MPDU that is handed to the hardware at `now` has had its time.
    pub(super) fn deadline<P>(&self, now: Instant, mpdu: &Mpdu<P>, enqueued: Instant) -> Option<Instant> {
        let hardware = self.hardware.map(|limit| now + (limit - mpdu.in_hardware));
        let total = self.total.map(|limit| enqueued + limit);
        hardware.into_iter().chain(total).min()
    }
}
