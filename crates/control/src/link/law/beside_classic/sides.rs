//! Assignment of flows to links, and the change of a flow from one link to the other without reordering.
//!
//! The two links have separate block-ack agreements, so nothing orders packets of one against packets of the other. A flow therefore
//! changes links only when all its packets on one link are settled: none waits or is in the hardware, and the window of the agreement
//! has passed the last one, so that the receiver's buffer holds none either. A flow that keeps the queue short is settled frequently
//! and stays on its link until then. A flow that fills the queue may never be settled: its new packets are held meanwhile, for no
//! longer than Law's bound.

use std::collections::{BTreeMap, VecDeque};

use airbound_wifi::edca::Category;

use crate::frame::TxDescriptor;
use crate::frame::{FlowId, Payload, StationId};
use crate::queue::Backlog;

/// The links that share the hardware.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Side {
    /// Law.
    #[default]
    Sensitive,
    /// The stock queues.
    Classic,
}

impl Side {
    pub(super) const BOTH: [Self; 2] = [Self::Sensitive, Self::Classic];

    /// The side of a descriptor; classic descriptors use the alternate traffic identifier.
    pub(super) const fn of<P>(descriptor: &TxDescriptor<P>) -> Self {
        if descriptor.alternate { Self::Classic } else { Self::Sensitive }
    }

    pub(super) const fn other(self) -> Self {
        match self {
            Self::Sensitive => Self::Classic,
            Self::Classic => Self::Sensitive,
        }
    }
}

/// Key of a sequence of packets whose order is kept: a flow under one agreement.
type Key = (StationId, Category, FlowId);

fn key<P: Payload>(packet: &P) -> Key {
    (packet.station(), packet.category(), packet.flow())
}

/// Upper limit on held packets of a flow while it changes links, that of a Linux queueing discipline.
const MOST_HELD: usize = 1000;

/// Upper limit on remembered flows without packets.
const MOST_IDLE: usize = 1024;

#[derive(Debug, Clone)]
struct Member<P> {
    side: Side,
    /// Packets in the link of this side.
    pending: usize,
    /// One above the highest sequence number handed down on this side.
    end: u64,
    /// Packets held until the flow may move to the classic side.
    held: VecDeque<P>,
}

impl<P> Default for Member<P> {
    fn default() -> Self {
        Self { side: Side::default(), pending: 0, end: 0, held: VecDeque::new() }
    }
}

/// Destination of a packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route<P> {
    /// The link of this side.
    To(Side, P),
    /// The packet is held.
    Held,
    /// Refused: too many packets are held.
    Refused(P),
}

/// The sides of all flows.
#[derive(Debug, Clone)]
pub(super) struct Sides<P> {
    members: BTreeMap<Key, Member<P>>,
    /// Flows with held packets.
    moving: Vec<Key>,
    /// Flows with packets inside, by category and side.
    busy: [[u32; 2]; 4],
    /// Backlog of held packets.
    held: Backlog,
}

impl<P> Default for Sides<P> {
    fn default() -> Self {
        Self { members: BTreeMap::new(), moving: Vec::new(), busy: [[0; 2]; 4], held: Backlog::default() }
    }
}

impl<P: Payload> Sides<P> {
    /// Takes a packet of a flow `wanted` on a side; `settled` returns the sequence number below which a side has settled everything.
    pub(super) fn enter(
        &mut self,
        packet: P,
        wanted: Side,
        settled: impl Fn(Side, StationId, Category) -> u64,
    ) -> Route<P> {
        let key = key(&packet);
        if !self.members.contains_key(&key) && self.members.len() >= MOST_IDLE {
            self.members.retain(|_, member| member.pending > 0 || !member.held.is_empty());
        }
        let member = self.members.entry(key).or_default();
        if member.held.is_empty() && member.side != wanted && member.is_settled(key, &settled) {
            member.go_over();
        }
        let moves = member.side == Side::Sensitive && wanted == Side::Classic;
        if !moves && member.held.is_empty() {
            let side = member.side;
            self.count_in(key);
            return Route::To(side, packet);
        }
        if member.held.len() >= MOST_HELD {
            return Route::Refused(packet);
        }
        if member.held.is_empty() {
            self.moving.push(key);
        }
        self.held.packets += 1;
        self.held.bytes += packet.size();
        member.held.push_back(packet);
        Route::Held
    }

    /// Notes that a packet left its side for good.
    pub(super) fn leave(&mut self, packet: &P) {
        let key = key(packet);
        let Some(member) = self.members.get_mut(&key).filter(|member| member.pending > 0) else { return };
        member.pending -= 1;
        if member.pending == 0 {
            let busy = &mut self.busy[key.1.index()][member.side as usize];
            *busy = busy.saturating_sub(1);
        }
    }

    /// Notes that a descriptor is handed to the hardware.
    pub(super) fn hand(&mut self, descriptor: &TxDescriptor<P>) {
        for mpdu in &descriptor.mpdus {
            if let Some(member) = self.members.get_mut(&key(&mpdu.packet)) {
                member.end = member.end.max(mpdu.sequence.saturating_add(1));
            }
        }
    }

    /// The next held packet that moves to the classic side; the packets of one flow are consecutive.
    pub(super) fn release(&mut self, settled: impl Fn(Side, StationId, Category) -> u64) -> Option<P> {
        let place = self.moving.iter().position(|key| {
            let member = self.members.get(key);
            member.is_none_or(|member| member.side == Side::Classic || member.is_settled(*key, &settled))
        })?;
        let key = *self.moving.get(place)?;
        let packet = self.members.get_mut(&key).and_then(|member| {
            if member.side == Side::Sensitive {
                member.go_over();
            }
            member.held.pop_front()
        });
        if self.members.get(&key).is_none_or(|member| member.held.is_empty()) {
            self.moving.remove(place);
        }
        let packet = packet?;
        self.held.packets = self.held.packets.saturating_sub(1);
        self.held.bytes -= packet.size();
        self.count_in(key);
        Some(packet)
    }

    fn count_in(&mut self, key: Key) {
        let Some(member) = self.members.get_mut(&key) else { return };
        member.pending += 1;
        if member.pending == 1 {
            self.busy[key.1.index()][member.side as usize] += 1;
        }
    }

    /// Whether any flow has held packets.
    pub(super) fn is_moving(&self) -> bool {
        !self.moving.is_empty()
    }

    /// Number of flows with packets in the link of a side.
    pub(super) const fn busy(&self, category: Category, side: Side) -> u32 {
        self.busy[category.index()][side as usize]
    }

    /// Backlog of held packets.
    pub(super) const fn held(&self) -> Backlog {
        self.held
    }
}

impl<P> Member<P> {
    /// Whether the flow has no unsettled packet on its side.
    fn is_settled(
        &self,
        (station, category, _): Key,
        settled: impl Fn(Side, StationId, Category) -> u64,
    ) -> bool {
        self.pending == 0 && settled(self.side, station, category) >= self.end
    }

    const fn go_over(&mut self) {
        self.side = self.side.other();
        self.end = 0;
    }
}
