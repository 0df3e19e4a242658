//! A transmitter of the model: its queue and rate control, and the PPDUs in its hardware.

use std::collections::VecDeque;

use airbound_air::exchange::{Answer, Ppdu};
use airbound_control::frame::TxDescriptor;
use airbound_control::link::Composed;
use airbound_control::queue::AnyQueue;
use airbound_control::rate::AnyRate;
use airbound_units::{Instant, Span};
use airbound_wifi::{Category, Rate};

use super::packet::Packet;

/// A queue, a driver's queue if there is one, and a rate control.
pub(crate) type NodeLink = Composed<Packet, AnyQueue<Packet>, AnyQueue<Packet>, AnyRate>;

/// The access point, a station or a neighbour's transmitter.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) link: NodeLink,
    /// PPDUs of a category that wait in the hardware; `None` if a PPDU is formed when the channel is won.
    pub(crate) ahead: Option<usize>,
    /// The same over all categories.
    pub(crate) total: usize,
    pub(crate) hardware: [VecDeque<InHardware>; 4],
    /// Transmissions of one PPDU at most.
    pub(crate) tries: u32,
    /// Whether airtime of received frames is charged to the sender.
    pub(crate) charges_received: bool,
    /// Whether its receivers reorder.
    pub(crate) block_ack: [bool; 4],
}

/// A PPDU in the hardware.
#[derive(Debug)]
pub(crate) struct InHardware {
    pub(crate) descriptor: TxDescriptor<Packet>,
    pub(crate) handed: Instant,
    pub(crate) started: Option<Instant>,
    pub(crate) transmissions: u32,
    pub(crate) airtime: Span,
}

impl Node {
    /// Free places in the hardware for PPDUs that are formed ahead.
    pub(crate) fn room(&self, category: Category) -> usize {
        let Some(depth) = self.ahead else { return 0 };
        let all: usize = self.hardware.iter().map(VecDeque::len).sum();
        depth.saturating_sub(self.hardware[category.index()].len()).min(self.total.saturating_sub(all))
    }
}

impl InHardware {
    pub(crate) const fn new(descriptor: TxDescriptor<Packet>, now: Instant) -> Self {
        Self { descriptor, handed: now, started: None, transmissions: 0, airtime: Span::ZERO }
    }

    /// The rate of the next transmission; tries beyond the chain repeat its last step.
    pub(crate) fn next_rate(&self) -> Rate {
        let chain = self.descriptor.chain;
        let last = chain.steps().last().map_or(chain.first_rate(), |step| step.rate);
        chain.rate_of(self.transmissions).unwrap_or(last)
    }

    pub(crate) fn ppdu(&self) -> Ppdu {
        Ppdu {
            rate: self.next_rate(),
            psdu: self.descriptor.psdu,
            mpdus: self.descriptor.mpdus.len(),
            answer: if self.descriptor.aggregated { Answer::BlockAck } else { Answer::Ack },
            protected: false,
        }
    }
}
