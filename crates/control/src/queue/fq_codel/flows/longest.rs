//! Drops from the longest flow: of all, or of one owner.

use airbound_units::ByteCount;

use super::{DropBatch, FlowTable, memory_of, take_off};
use crate::frame::{DropReason, Dropped, Payload};

impl<P: Payload> FlowTable<P> {
    /// Takes the first packet of the flow of an owner that has the most bytes, `spared` ones left out.
    pub(in crate::queue::fq_codel) fn take_from_longest(
        &mut self,
        owner: usize,
        spared: impl Fn(&P) -> bool,
    ) -> Option<P> {
        let of = self.owners.get_mut(owner)?;
        let mut longest: Option<(ByteCount, u32)> = None;
        for chain in [&of.new, &of.old, &of.parked] {
            let mut at = chain.head;
            while let Some(flow) = self.flows.get(at as usize) {
                if let Some(first) = self.packets.first(&flow.list)
                    && !spared(first)
                    && longest.is_none_or(|(most, _)| flow.list.bytes() > most)
                {
                    longest = Some((flow.list.bytes(), at));
                }
                at = flow.next;
            }
        }
        let flow = self.flows.get_mut(longest?.1 as usize)?;
        let packet = self.packets.pop(&mut flow.list, P::size)?;
        let size = packet.size();
        take_off(&mut of.backlog, size);
        take_off(&mut self.backlog, size);
        self.memory = self.memory.saturating_sub(memory_of(size));
        Some(packet)
    }

    /// Drops from the head of the flow with the most bytes; returns false if there are no packets. A flow of `spared` packets comes last,
    /// unless it has more than half of all bytes.
    ///
    /// It scans all flows with packets, as the kernel does; dropping in batches amortises the cost.
    pub(super) fn drop_from_longest(
        &mut self,
        reason: DropReason,
        spared: impl Fn(&P) -> bool,
        dropped: &mut Vec<Dropped<P>>,
    ) -> bool {
        let mut longest = None;
        let mut most = (false, ByteCount::ZERO);
        for owner in self.owners.iter().filter(|owner| owner.backlog.packets > 0) {
            for chain in [&owner.new, &owner.old, &owner.parked] {
                let mut at = chain.head;
                while let Some(flow) = self.flows.get(at as usize) {
                    if let Some(first) = self.packets.first(&flow.list) {
                        let bytes = flow.list.bytes();
                        let size = (bytes + bytes > self.backlog.bytes || !spared(first), bytes);
                        // Packets without bytes count too.
                        if size > most || longest.is_none() {
                            (most, longest) = (size, Some(at));
                        }
                    }
                    at = flow.next;
                }
            }
        }
        let most = most.1;
        let Some(flow) = longest.and_then(|at| self.flows.get_mut(at as usize)) else { return false };
        let owner = &mut self.owners[flow.owner as usize];
        let (most_packets, most_bytes) = match self.limits.batch {
            DropBatch::HalfOfPackets => ((flow.list.packets() / 2).clamp(1, 32), ByteCount::MAX),
            DropBatch::HalfOfBytes => (64, ByteCount::new(most.as_u64() / 2)),
        };
        let (mut packets, mut bytes) = (0, ByteCount::ZERO);
        while packets < most_packets
            && (packets == 0 || bytes < most_bytes)
            && let Some(packet) = self.packets.pop(&mut flow.list, P::size)
        {
            let size = packet.size();
            take_off(&mut owner.backlog, size);
            take_off(&mut self.backlog, size);
            self.memory = self.memory.saturating_sub(memory_of(size));
            packets += 1;
            bytes += size;
            dropped.push(Dropped { packet, reason });
        }
        if self.limits.batch == DropBatch::HalfOfBytes {
            flow.codel.add_drops(packets as u32);
        }
        packets > 0
    }
}
