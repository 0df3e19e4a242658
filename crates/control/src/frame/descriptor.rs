//! Transmit descriptors and reports: the frames of a PPDU, handed to the hardware and returned by it.

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;

use super::{RateChain, StationId};

/// A packet with its MAC framing, as handed to the hardware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mpdu<P> {
    /// The payload.
    pub packet: P,
    /// Its length with MAC header and FCS, without A-MPDU delimiter and padding.
    pub size: ByteCount,
    /// Its sequence number within station and traffic identifier, counted without wrapping.
    pub sequence: u64,
    /// Number of earlier descriptors that held it.
    pub retries: u8,
    /// Number of those that failed as a whole: transmitted, and no MPDU was acknowledged.
    pub failures: u8,
    /// Number of transmissions in those descriptors.
    pub transmissions: u16,
    /// When it was first handed to the hardware.
    pub formed: Instant,
    /// Time in the hardware in those descriptors.
    pub in_hardware: Span,
}

impl<P> Mpdu<P> {
    /// Creates an MPDU that has not been handed to the hardware yet.
    pub const fn new(packet: P, size: ByteCount, sequence: u64, formed: Instant) -> Self {
        Self {
            packet,
            size,
            sequence,
            retries: 0,
            failures: 0,
            transmissions: 0,
            formed,
            in_hardware: Span::ZERO,
        }
    }

    /// Notes a descriptor in which it was sent `transmissions` times within `stay` without an acknowledgement; `failed` if no other MPDU had
    /// one either.
    pub(crate) fn on_returned(&mut self, transmissions: u32, stay: Span, failed: bool) {
        let transmissions = u16::try_from(transmissions).unwrap_or(u16::MAX);
        self.retries = self.retries.saturating_add(1);
        self.failures = self.failures.saturating_add(u8::from(failed && transmissions > 0));
        self.transmissions = self.transmissions.saturating_add(transmissions);
        self.in_hardware += stay;
    }
}

/// A transmit descriptor: one PPDU and how to send it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TxDescriptor<P> {
    /// The receiver.
    pub station: StationId,
    /// The access category.
    pub category: Category,
    /// Whether it goes under the second traffic identifier of its category. A category has two (802.11-2020, table 10-1), each with a
    /// block-ack agreement, sequence numbers and a reordering buffer of its own, over one contention function.
    pub alternate: bool,
    /// The MPDUs, by ascending sequence number; at least one.
    pub mpdus: Vec<Mpdu<P>>,
    /// Length of the PSDU: delimiters, and padding between MPDUs, included when it is an A-MPDU. VHT and HE put a delimiter before a
    /// single MPDU too.
    pub psdu: ByteCount,
    /// Whether the MPDUs form an A-MPDU, answered by a block ack; otherwise a single MPDU is answered by an ack.
    pub aggregated: bool,
    /// The rates to try, in this order, until an acknowledgement arrives.
    pub chain: RateChain,
    /// The hardware returns the descriptor after this time, whatever tries are left. The time starts when the descriptor is the first of
    /// its category and contends for the channel, and includes backoff and a busy channel. A transmission on the air is finished first.
    pub give_up_after: Option<Span>,
    /// The hardware returns the descriptor after the first failed try at or after this time.
    pub give_up_at: Option<Instant>,
}

/// The hardware's report on a descriptor. Facts that the environment cannot observe are `None`.
#[derive(Debug, Clone)]
pub struct TxReport<P> {
    /// The returned descriptor.
    pub descriptor: TxDescriptor<P>,
    /// When it was handed to the hardware.
    pub handed: Instant,
    /// When its first transmission began; `None` also if the time limit expired before.
    pub started: Option<Instant>,
    /// When its last transmission ended, acknowledgement or time-out included.
    pub ended: Instant,
    /// The tries that were made; an empty chain if the time limit expired before the first.
    pub used: RateChain,
    /// Airtime of all tries, control frames included.
    pub airtime: Option<Span>,
    /// The MPDUs that were acknowledged.
    pub acknowledged: AckBitmap,
    /// Whether the descriptor is known to have been one PPDU; firmware that aggregates by itself hides this.
    pub boundaries_known: bool,
}

impl<P> TxReport<P> {
    /// The MPDUs that were acknowledged.
    #[inline]
    pub fn arrived(&self) -> impl Iterator<Item = &Mpdu<P>> {
        let acknowledged = &self.acknowledged;
        let places = self.descriptor.mpdus.iter().enumerate();
        places.filter(|(place, _)| acknowledged.get(*place)).map(|(_, mpdu)| mpdu)
    }
}
