//! One transmission, as shown to recorders of the air.

use airbound_air::exchange::ExchangeTiming;
use airbound_control::frame::{FlowId, StationId, TxDescriptor};
use airbound_units::{ByteCount, Decibel, Instant, Span};
use airbound_wifi::AckBitmap;
use airbound_wifi::edca::Category;
use airbound_wifi::rate::Rate;

use super::Numbers;
use crate::flow::{Direction, Flow};
use crate::packet::Packet;

/// A finished transmission, without its content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OnAir {
    pub(crate) node: StationId,
    pub(crate) category: Category,
    pub(crate) rate: Rate,
    pub(crate) start: Instant,
    pub(crate) timing: ExchangeTiming,
    pub(crate) acknowledged: AckBitmap,
    /// Whether it was a BlockAckReq, which carries no data.
    pub(crate) is_request: bool,
    /// Number of transmitters that began at the same time, itself included; more than one is a collision.
    pub(crate) transmitters: u16,
    pub(crate) txop: u64,
}

impl OnAir {
    pub(crate) const fn collided(&self) -> bool {
        self.transmitters > 1
    }
}

/// A finished transmission, in the numbers of its network.
#[derive(Debug)]
pub(crate) struct Exchanged<'a> {
    pub(crate) on_air: &'a OnAir,
    pub(crate) descriptor: &'a TxDescriptor<Packet>,
    pub(crate) contending: Instant,
    pub(crate) snr: Option<Decibel>,
    /// Its link, by the lower end.
    pub(crate) link: StationId,
    /// The direction on that link.
    pub(crate) way: Direction,
    pub(crate) flows: &'a [Flow],
}

/// A finished transmission, in the numbers of the run.
#[derive(Debug)]
pub struct ExchangeView<'a> {
    pub(super) of: &'a Exchanged<'a>,
    pub(super) numbers: &'a Numbers,
}

/// One MPDU of a transmission.
#[derive(Debug, Clone, Copy)]
pub struct MpduView {
    /// Its packet; the flow's number is that of the run.
    pub packet: Packet,
    /// Its length with MAC header and FCS.
    pub size: ByteCount,
    /// Its sequence number within receiver and traffic identifier, counted without wrapping.
    pub sequence: u64,
    /// Whether it was acknowledged.
    pub acknowledged: bool,
    /// The number of the station at the Wi-Fi end of its flow, however many hops away.
    pub station: u16,
}

impl<'a> ExchangeView<'a> {
    /// Returns the number of the transmitter in the run: an access point comes before its stations, neighbour networks last.
    #[must_use]
    pub const fn transmitter(&self) -> u16 {
        self.numbers.transmitter(self.of.on_air.node.0)
    }

    /// Returns the receiver; a transmitter of a neighbour network names itself.
    #[must_use]
    pub const fn receiver(&self) -> u16 {
        self.numbers.transmitter(self.of.descriptor.station.0)
    }

    /// Returns the number of the channel.
    #[must_use]
    pub const fn channel(&self) -> u16 {
        self.numbers.channel
    }

    /// Whether it is sent downwards, by the access point or a relay.
    #[must_use]
    pub const fn is_downlink(&self) -> bool {
        matches!(self.of.way, Direction::Down)
    }

    /// The access category.
    #[must_use]
    pub const fn category(&self) -> Category {
        self.of.on_air.category
    }

    /// Whether it uses the second traffic identifier of the category.
    #[must_use]
    pub const fn alternate(&self) -> bool {
        self.of.descriptor.alternate
    }

    /// The PHY rate of the data.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.of.on_air.rate
    }

    /// When the transmitter began to contend.
    #[must_use]
    pub const fn contending(&self) -> Instant {
        self.of.contending
    }

    /// The first symbol, of RTS or data.
    #[must_use]
    pub const fn start(&self) -> Instant {
        self.of.on_air.start
    }

    /// The first symbol of the data; later than [`ExchangeView::start`] if RTS and CTS precede it.
    #[must_use]
    pub const fn ppdu_start(&self) -> Instant {
        self.of.on_air.timing.ppdu_start
    }

    /// The last symbol of the data.
    #[must_use]
    pub const fn ppdu_end(&self) -> Instant {
        self.of.on_air.timing.ppdu_end
    }

    /// The last symbol of the acknowledgement, or the end of its timeout.
    #[must_use]
    pub const fn end(&self) -> Instant {
        self.of.on_air.timing.end
    }

    /// Returns the duration of the first frame: the RTS if there is one, else the data.
    #[must_use]
    pub const fn first_frame(&self) -> Span {
        self.of.on_air.timing.first_frame
    }

    /// The SNR of the data at the receiver; `None` where the channel has none, as an ideal one, and before any data was sent.
    #[must_use]
    pub const fn snr(&self) -> Option<Decibel> {
        self.of.snr
    }

    /// Whether another transmission overlapped.
    #[must_use]
    pub const fn collided(&self) -> bool {
        self.of.on_air.collided()
    }

    /// Whether the MPDUs form an A-MPDU, answered by a block acknowledgement.
    #[must_use]
    pub const fn aggregated(&self) -> bool {
        self.of.descriptor.aggregated
    }

    /// The MPDUs, by ascending sequence number.
    pub fn mpdus(&self) -> impl Iterator<Item = MpduView> + 'a {
        let (acknowledged, flows, numbers) = (self.of.on_air.acknowledged, self.of.flows, self.numbers);
        self.of.descriptor.mpdus.iter().enumerate().map(move |(place, mpdu)| MpduView {
            packet: mpdu.packet.of_flow(FlowId(numbers.flow(mpdu.packet.flow.0))),
            size: mpdu.size,
            sequence: mpdu.sequence,
            acknowledged: acknowledged.get(place),
            station: numbers.transmitter(
                flows.get(mpdu.packet.flow.0 as usize).map_or(mpdu.packet.to, |flow| flow.station).0,
            ),
        })
    }
}
