//! Configuration of a composed link: aggregation, retries, time limits.

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::edca::Category;
use airbound_wifi::mpdu::{DELIMITER, FCS, LLC_SNAP, QOS_DATA_HEADER, SUBFRAME_ALIGNMENT};

use crate::frame::{Mpdu, RateChain};

/// Packet size of bulk transfers.
const FULL_PACKET: ByteCount = ByteCount::new(1500);

/// Configuration of aggregation and retries of a composed link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkConfig {
    /// Limits on MPDUs, bytes and airtime of an A-MPDU.
    pub ampdu: AmpduLimits,
    /// Bytes that LLC and MAC add to a packet: LLC/SNAP, MAC header, encryption, FCS.
    pub overhead: ByteCount,
    /// Padding that a driver adds after the first subframe of an A-MPDU in excess of the standard (ath9k: `FIRST_DESC_NDELIMS`).
    pub first_subframe_padding: ByteCount,
    /// Block-ack window: the greatest distance from the oldest unsettled MPDU to the newest, 1 to 256.
    pub window: u16,
    /// Whether this link forms the PPDUs. Otherwise the layers below number, aggregate and retransmit: no window bounds a
    /// descriptor, its airtime is known only as an estimate, its packets are returned one by one in any order, and are not sent
    /// again.
    pub forms_ppdus: bool,
    /// Whether there is a block-ack agreement. Without one, MPDUs are sent one by one and no window bounds them.
    pub block_ack: bool,
    /// Whether the voice category has block-ack agreements as the others do. Linux starts none there (`minstrel_aggr_check`,
    /// `ieee80211_aggr_check`, `mt7915_tx_check_aggr`), and ns-3 sends no A-MPDU by default (`VO_MaxAmpduSize`).
    pub aggregates_voice: bool,
    /// Steps of a rate chain that the hardware accepts with one descriptor, 1 to 4; longer chains are truncated.
    pub chain_steps: u8,
    /// Number of descriptors after which an MPDU is given up, 1 to 255.
    pub max_grants: u8,
    /// Number of transmissions, over all descriptors, after which a returned MPDU is given up; `None`: no limit.
    pub max_tries: Option<u16>,
    /// The hardware returns a descriptor after this time, whatever tries are left.
    pub give_up_after: Option<Span>,
    /// Whether MPDUs that came back start at a later step of the rate chain, one for each PPDU that failed as a whole. A PPDU that came
    /// back before it was transmitted, or with an acknowledgement, says nothing about the rate.
    pub lowers_rate: bool,
    /// Whether PPDUs are formed while others are on the air, rather than when the channel has been won.
    pub forms_ahead: bool,
    /// Time in which the host completes a frame that was reported. Until it has completed all of them, it moves no packet to a driver's
    /// queue.
    pub completion: Span,
    /// Time limits of a packet in each layer.
    pub limits: TimeLimits,
}

impl Default for LinkConfig {
    /// A transmit path without limits of its own: the A-MPDUs of VHT, seven descriptors (dot11ShortRetryLimit), no time limit.
    fn default() -> Self {
        Self {
            ampdu: AmpduLimits::vht(),
            overhead: LLC_SNAP + QOS_DATA_HEADER + FCS,
            first_subframe_padding: ByteCount::ZERO,
            window: 64,
            forms_ppdus: true,
            block_ack: true,
            aggregates_voice: true,
            chain_steps: RateChain::MAX_STEPS as u8,
            max_grants: 7,
            max_tries: None,
            give_up_after: None,
            lowers_rate: false,
            forms_ahead: false,
            completion: Span::ZERO,
            limits: TimeLimits::NONE,
        }
    }
}

impl LinkConfig {
    /// Whether MPDUs of a category are sent under a block-ack agreement.
    pub(super) const fn has_agreement(&self, category: Category) -> bool {
        self.block_ack && (self.aggregates_voice || !matches!(category, Category::Vo))
    }

    /// Upper limit on the MPDUs of an aggregate of a category.
    pub(super) const fn max_mpdus(&self, category: Category) -> u32 {
        if self.has_agreement(category) { self.ampdu.max_mpdus } else { 1 }
    }

    /// Greatest distance from the oldest unsettled MPDU of a category to the newest.
    pub(super) const fn reach(&self, category: Category) -> u16 {
        if self.has_agreement(category) && self.forms_ppdus { self.window } else { u16::MAX }
    }

    /// Number of MPDUs with packets of 1500 B in a best-effort A-MPDU whose PSDU has at most `longest` bytes, at least one.
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
        let most = self.max_mpdus(Category::Be).clamp(1, u32::from(self.window));
        u16::try_from(fitting.min(u64::from(most))).unwrap_or(u16::MAX)
    }
}

/// Time limits for each layer, and one for the total; `None`: no limit.
///
/// A packet that exceeds a limit is dropped when it is next handled: when it leaves the scheme's queue, when it is returned by
/// the hardware, when it is about to be retransmitted. The time in a layer is summed over several stays there (Law, Sec. 3.3 and
/// Fig. 13: only then do three limits of 10 ms add up to 30 ms).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeLimits {
    /// In the scheme's queue.
    pub queue: Option<Span>,
    /// In the driver, waiting for retransmission.
    pub driver: Option<Span>,
    /// In the hardware, waiting and all tries included.
    pub hardware: Option<Span>,
    /// Since the packet entered the scheme's queue, over all layers.
    pub total: Option<Span>,
}

/// Whether a time exceeds a limit.
fn exceeds(time: Span, limit: Option<Span>) -> bool {
    limit.is_some_and(|limit| time > limit)
}

impl TimeLimits {
    /// No limit anywhere.
    pub const NONE: Self = Self { queue: None, driver: None, hardware: None, total: None };

    /// Whether a packet that entered the scheme's queue at `enqueued` and is about to leave it exceeds a limit.
    pub(super) fn outlived_in_queue(&self, now: Instant, enqueued: Instant) -> bool {
        exceeds(now - enqueued, self.queue) || self.outlived(now, enqueued)
    }

    /// Whether a packet that entered the scheme's queue at `enqueued` exceeds the total limit.
    pub(super) fn outlived(&self, now: Instant, enqueued: Instant) -> bool {
        exceeds(now - enqueued, self.total)
    }

    /// Whether an MPDU returned by the hardware, whose packet entered the scheme's queue at `enqueued`, exceeds a limit.
    pub(super) fn outlived_below<P>(&self, now: Instant, mpdu: &Mpdu<P>, enqueued: Instant) -> bool {
        exceeds((now - mpdu.formed) - mpdu.in_hardware, self.driver)
            || exceeds(mpdu.in_hardware, self.hardware)
            || self.outlived(now, enqueued)
    }

    /// The instant at which an MPDU handed to the hardware at `now` exceeds a limit.
    pub(super) fn deadline<P>(&self, now: Instant, mpdu: &Mpdu<P>, enqueued: Instant) -> Option<Instant> {
        let hardware = self.hardware.map(|limit| now + (limit - mpdu.in_hardware));
        let total = self.total.map(|limit| enqueued + limit);
        hardware.into_iter().chain(total).min()
    }
}
