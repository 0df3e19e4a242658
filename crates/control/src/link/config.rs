//! Configuration of a composed link: aggregation, retries, time limits.

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::mpdu::{DELIMITER, FCS, LLC_SNAP, QOS_DATA_HEADER, SUBFRAME_ALIGNMENT};

use crate::frame::{Mpdu, RateChain};

/// Size of most packets of a bulk transfer.
const FULL_PACKET: ByteCount = ByteCount::new(1500);

/// Configuration of aggregation and retries of a composed link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkConfig {
    /// Most MPDUs, bytes and airtime of an A-MPDU.
    pub ampdu: AmpduLimits,
    /// Bytes that LLC and MAC add to a packet: LLC/SNAP, MAC header, encryption, FCS.
    pub overhead: ByteCount,
    /// Padding that a driver adds behind the first subframe of an A-MPDU beyond what the standard asks for (ath9k:
    /// `FIRST_DESC_NDELIMS`).
    pub first_subframe_padding: ByteCount,
    /// MPDUs that may lie between the oldest unsettled one and the newest: the block-ack window, 1 to 256.
    pub window: u16,
    /// Whether PPDUs are formed here. Otherwise the layers below number, aggregate and repeat by themselves: no window bounds a
    /// descriptor, only estimates tell its airtime, its packets come back in any order, one by one, and are not sent again.
    pub forms_ppdus: bool,
    /// Whether there is a block-ack agreement. Without one MPDUs go one by one and no window bounds them.
    pub block_ack: bool,
    /// Steps of a rate chain that the hardware takes with one descriptor, 1 to 4; what it cannot take is cut off.
    pub chain_steps: u8,
    /// In how many descriptors an MPDU may be before it is given up, 1 to 255.
    pub max_grants: u8,
    /// Number of transmissions of all its descriptors that makes an MPDU be given up when it comes back; `None`: any number.
    pub max_tries: Option<u16>,
    /// The hardware gives a descriptor back after so long, whatever tries are left.
    pub give_up_after: Option<Span>,
    /// Time limits of a packet in each layer.
    pub limits: TimeLimits,
}

impl Default for LinkConfig {
    /// A transmit path that adds nothing of its own: the A-MPDUs of VHT, seven descriptors (dot11ShortRetryLimit), no limit on time.
    fn default() -> Self {
        Self {
            ampdu: AmpduLimits::vht(),
            overhead: LLC_SNAP + QOS_DATA_HEADER + FCS,
            first_subframe_padding: ByteCount::ZERO,
            window: 64,
            forms_ppdus: true,
            block_ack: true,
            chain_steps: RateChain::MAX_STEPS as u8,
            max_grants: 7,
            max_tries: None,
            give_up_after: None,
            limits: TimeLimits::NONE,
        }
    }
}

impl LinkConfig {
    /// Most MPDUs of an aggregate.
    pub(super) const fn max_mpdus(&self) -> u32 {
        if self.block_ack { self.ampdu.max_mpdus } else { 1 }
    }

    /// MPDUs between the oldest unsettled one and the newest, at most.
    pub(super) const fn reach(&self) -> u16 {
        if self.block_ack && self.forms_ppdus { self.window } else { u16::MAX }
    }

    /// Number of MPDUs with packets of 1500 B that an A-MPDU holds whose PSDU may be `longest`, at least one.
    pub(super) fn most_full_mpdus(&self, longest: ByteCount) -> u16 {
        let size = FULL_PACKET + self.overhead;
        let first = DELIMITER + size;
        let further = first.padded_to(SUBFRAME_ALIGNMENT);
        let second = further + self.first_subframe_padding + first;
        let longest = longest.min(self.ampdu.max_bytes);
        let fitting = match longest.as_u64().checked_sub(second.as_u64()) {
            Some(left) => 2 + left.checked_div(further.as_u64()).unwrap_or(0),
            None => 1,
        };
        let most = self.max_mpdus().clamp(1, u32::from(self.window));
        u16::try_from(fitting.min(u64::from(most))).unwrap_or(u16::MAX)
    }
}

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
