//! Flow queues served by deficit round robin with new and old lists (DRR++, RFC 8290, section 4; kernel:
//! `include/net/fq_impl.h`, `net/sched/sch_fq_codel.c`).

mod longest;

use airbound_units::{ByteCount, Instant};

use super::super::Backlog;
use super::super::codel::{CodelParameters, CodelState, Standing};
use super::super::packets::{List, Packets};
use crate::frame::{DropReason, Dropped, Payload};

const NONE: u32 = u32::MAX;

/// Upper limit on the bytes of a packet charged to the deficit: no IP packet is longer, and the rotation has to end.
const LONGEST_PACKET: u64 = 65_535;

/// Memory that the kernel accounts for a packet (`skb->truesize`): 64 B of headroom, the packet and 320 B of `skb_shared_info`
/// rounded up to a slab, and 256 B of `sk_buff`. 2304 B for a packet of 1500 B.
pub(super) const fn memory_of(size: ByteCount) -> u64 {
    let data = size.as_u64().saturating_add(64 + 320);
    match data.checked_next_power_of_two() {
        Some(slab) => slab.saturating_add(256),
        None => u64::MAX,
    }
}

/// The list of its owner that holds a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// None: the flow has no packets, only its CoDel state is kept.
    Idle,
    New,
    Old,
    /// The list of flows that may not be served.
    Parked,
}

#[derive(Debug, Clone)]
struct Flow {
    key: u64,
    list: List,
    codel: CodelState,
    deficit: i64,
    /// The next flow of its list.
    next: u32,
    /// The next flow of its bucket, or the next free one.
    next_in_bucket: u32,
    owner: u32,
    place: Place,
}

/// A list of flows.
#[derive(Debug, Clone, Copy)]
struct Chain {
    head: u32,
    tail: u32,
}

impl Chain {
    const EMPTY: Self = Self { head: NONE, tail: NONE };
}

/// Scheduler of a set of flows: a station's category in mac80211 (`fq_tin`), a whole queueing discipline in RFC 8290.
#[derive(Debug, Clone)]
struct Owner {
    new: Chain,
    old: Chain,
    parked: Chain,
    backlog: Backlog,
}

impl Default for Owner {
    fn default() -> Self {
        Self { new: Chain::EMPTY, old: Chain::EMPTY, parked: Chain::EMPTY, backlog: Backlog::default() }
    }
}

/// Amount dropped from the longest flow at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DropBatch {
    /// Half of its packets, at most 32 (`fq_flow_drop`; one packet at a time in earlier kernels).
    HalfOfPackets,
    /// Half of its bytes, at most 64 packets, which CoDel counts (`fq_codel_drop`; RFC 8290, section 5.2.2).
    HalfOfBytes,
}

/// Limits and service of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlowLimits {
    pub(super) packets: usize,
    /// In bytes, as computed by [`memory_of`].
    pub(super) memory: u64,
    /// Quantum in bytes.
    pub(super) quantum: u64,
    /// Idle flows whose CoDel state is kept.
    pub(super) idle_flows: usize,
    pub(super) batch: DropBatch,
}

/// The flow to be served next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head(u32);

/// All flows under one common limit.
///
/// A flow is identified exactly, while the kernel hashes it into one of 4096 (mac80211) or 1024 buckets: flows never collide.
/// Memory is bounded: idle flows beyond `idle_flows` are forgotten.
#[derive(Debug, Clone)]
pub(super) struct FlowTable<P> {
    limits: FlowLimits,
    packets: Packets<P>,
    flows: Vec<Flow>,
    free: u32,
    buckets: Vec<u32>,
    owners: Vec<Owner>,
    backlog: Backlog,
    memory: u64,
}

impl<P: Payload> FlowTable<P> {
    pub(super) fn new(limits: FlowLimits) -> Self {
        let buckets = (limits.idle_flows + limits.packets).next_power_of_two().clamp(64, 4096);
        Self {
            limits,
            packets: Packets::default(),
            flows: Vec::new(),
            free: NONE,
            buckets: vec![NONE; buckets],
            owners: Vec::new(),
            backlog: Backlog::default(),
            memory: 0,
        }
    }

    pub(super) fn backlog_of(&self, owner: usize) -> Backlog {
        self.owners.get(owner).map(|owner| owner.backlog).unwrap_or_default()
    }

    /// The identity given to the flow in [`FlowTable::push`].
    pub(super) fn key(&self, head: Head) -> u64 {
        self.flows.get(head.0 as usize).map_or(0, |flow| flow.key)
    }

    /// Appends a packet to the flow with the identity `key`, scheduled by `owner`. Packets beyond the limits are dropped from the
    /// longest flow, those of `spared` packets last.
    pub(super) fn push(
        &mut self,
        now: Instant,
        owner: usize,
        key: u64,
        mut packet: P,
        spared: impl Fn(&P) -> bool,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        let size = packet.size();
        let at = self.find_or_make(key, owner);
        let Some(flow) = self.flows.get_mut(at as usize) else {
            dropped.push(Dropped { packet, reason: DropReason::QueueFull });
            return;
        };
        packet.set_enqueued(now);
        if let Err(packet) = self.packets.push(&mut flow.list, packet, size) {
            dropped.push(Dropped { packet, reason: DropReason::QueueFull });
            return;
        }
        let owner = &mut self.owners[flow.owner as usize];
        if flow.place == Place::Idle {
            flow.deficit = self.limits.quantum as i64;
            flow.place = Place::New;
            append(&mut self.flows, &mut owner.new, at);
        }
        for backlog in [&mut owner.backlog, &mut self.backlog] {
            backlog.packets += 1;
            backlog.bytes += size;
        }
        self.memory = self.memory.saturating_add(memory_of(size));
        while self.backlog.packets > self.limits.packets || self.memory > self.limits.memory {
            let reason = if self.backlog.packets > self.limits.packets {
                DropReason::QueueFull
            } else {
                DropReason::MemoryLimit
            };
            if !self.drop_from_longest(reason, &spared, dropped) {
                break;
            }
        }
    }

    /// Finds the flow that `owner` serves next, refilling deficits and removing empty flows on the way. `blocked` selects
    /// identities that may not be served; these are parked until [`FlowTable::unpark`].
    pub(super) fn head(&mut self, owner: usize, blocked: impl Fn(u64) -> bool) -> Option<Head> {
        let owner = self.owners.get_mut(owner)?;
        loop {
            let (at, is_new) = match owner.new.head {
                NONE => (owner.old.head, false),
                at => (at, true),
            };
            let flow = self.flows.get_mut(at as usize)?;
            let has_old = owner.old.head != NONE;
            let chain = if is_new { &mut owner.new } else { &mut owner.old };
            if blocked(flow.key) {
                flow.place = Place::Parked;
                remove_first(&mut self.flows, chain);
                append(&mut self.flows, &mut owner.parked, at);
            } else if flow.deficit <= 0 {
                let quantum = self.limits.quantum as i64;
                flow.deficit += quantum;
                if chain.head == chain.tail && !(is_new && has_old) {
                    // A single flow: skip the rounds that serve no flow.
                    flow.deficit += quantum * (-flow.deficit).max(0).div_euclid(quantum);
                }
                flow.place = Place::Old;
                remove_first(&mut self.flows, chain);
                append(&mut self.flows, &mut owner.old, at);
            } else if flow.list.is_empty() {
                // An emptied new flow passes through the old list once, so that it cannot starve others by returning at once (RFC
                // 8290, section 4.2).
                let passes = is_new && has_old;
                flow.place = if passes { Place::Old } else { Place::Idle };
                remove_first(&mut self.flows, chain);
                if passes {
                    append(&mut self.flows, &mut owner.old, at);
                }
            } else {
                return Some(Head(at));
            }
        }
    }

    /// Size of the first packet of a flow returned by [`FlowTable::head`].
    pub(super) fn first_size(&self, head: Head) -> Option<ByteCount> {
        self.packets.first(&self.flows.get(head.0 as usize)?.list).map(P::size)
    }

    /// The flow with the identity `key`, at any position; it may have no packets.
    pub(super) fn find(&self, key: u64) -> Option<Head> {
        let mut at = self.buckets.get(self.bucket(key)).copied()?;
        loop {
            let flow = self.flows.get(at as usize)?;
            if flow.key == key {
                return Some(Head(at));
            }
            at = flow.next_in_bucket;
        }
    }

    /// Backlog of a flow.
    pub(super) fn backlog(&self, head: Head) -> Backlog {
        self.flows.get(head.0 as usize).map_or(Backlog::default(), |flow| Backlog {
            packets: flow.list.packets(),
            bytes: flow.list.bytes(),
        })
    }

    /// Number of packets of a flow.
    pub(super) fn packets(&self, head: Head) -> usize {
        self.flows.get(head.0 as usize).map_or(0, |flow| flow.list.packets())
    }

    /// Arrival time of the first packet of a flow; `None` if it has none.
    pub(super) fn first_enqueued(&self, head: Head) -> Option<Instant> {
        self.packets.first(&self.flows.get(head.0 as usize)?.list).map(P::enqueued)
    }

    /// The bytes that a flow may still send in its turn.
    pub(super) fn deficit(&self, head: Head) -> i64 {
        self.flows.get(head.0 as usize).map_or(0, |flow| flow.deficit)
    }

    /// Clears the debt of a flow.
    pub(super) fn forgive(&mut self, head: Head) {
        if let Some(flow) = self.flows.get_mut(head.0 as usize) {
            flow.deficit = flow.deficit.max(0);
        }
    }

    /// Takes the next packet of a flow returned by [`FlowTable::head`] or [`FlowTable::find`]; `None` if CoDel dropped all its
    /// packets.
    pub(super) fn pop(
        &mut self,
        now: Instant,
        head: Head,
        codel: &CodelParameters,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        let flow = self.flows.get_mut(head.0 as usize)?;
        let owner = self.owners.get_mut(flow.owner as usize)?;
        let (packets, backlog, memory) = (&mut self.packets, &mut self.backlog, &mut self.memory);
        let list = &mut flow.list;
        let packet = flow.codel.dequeue(
            codel,
            now,
            || {
                let packet = packets.pop(list, P::size)?;
                let size = packet.size();
                take_off(&mut owner.backlog, size);
                take_off(backlog, size);
                *memory = memory.saturating_sub(memory_of(size));
                let standing = Standing { left: list.bytes(), since: packet.enqueued() };
                Some((packet, standing))
            },
            |packet| dropped.push(Dropped { packet, reason: DropReason::Congestion }),
        )?;
        flow.deficit -= packet.size().as_u64().min(LONGEST_PACKET) as i64;
        Some(packet)
    }

    /// Removes all packets of an owner's flows with a `wanted` identity. The flows keep their position.
    pub(super) fn flush(&mut self, owner: usize, wanted: impl Fn(u64) -> bool, out: &mut Vec<P>) {
        let Some(owner) = self.owners.get_mut(owner) else { return };
        for chain in [&owner.new, &owner.old, &owner.parked] {
            let mut at = chain.head;
            while let Some(flow) = self.flows.get_mut(at as usize) {
                at = flow.next;
                while wanted(flow.key)
                    && let Some(packet) = self.packets.pop(&mut flow.list, P::size)
                {
                    let size = packet.size();
                    take_off(&mut owner.backlog, size);
                    take_off(&mut self.backlog, size);
                    self.memory = self.memory.saturating_sub(memory_of(size));
                    out.push(packet);
                }
            }
        }
    }

    /// Returns parked flows to the rotation.
    pub(super) fn unpark(&mut self, owner: usize) {
        let Some(owner) = self.owners.get_mut(owner) else { return };
        while let Some(flow) = self.flows.get_mut(owner.parked.head as usize) {
            let at = owner.parked.head;
            flow.place = Place::Old;
            remove_first(&mut self.flows, &mut owner.parked);
            append(&mut self.flows, &mut owner.old, at);
        }
    }

    fn bucket(&self, key: u64) -> usize {
        // Fibonacci hashing; the number of buckets is a power of two.
        let bits = self.buckets.len().trailing_zeros();
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits)) as usize
    }

    fn find_or_make(&mut self, key: u64, owner: usize) -> u32 {
        let mut at = self.buckets[self.bucket(key)];
        while let Some(flow) = self.flows.get(at as usize) {
            if flow.key == key {
                return at;
            }
            at = flow.next_in_bucket;
        }
        if owner >= self.owners.len() {
            self.owners.resize_with(owner + 1, Owner::default);
        }
        if self.free == NONE && self.flows.len() > self.limits.idle_flows + self.limits.packets {
            self.forget_idle();
        }
        let bucket = self.bucket(key);
        let flow = Flow {
            key,
            list: List::default(),
            codel: CodelState::default(),
            deficit: 0,
            next: NONE,
            next_in_bucket: self.buckets[bucket],
            owner: owner as u32,
            place: Place::Idle,
        };
        let at = match self.flows.get_mut(self.free as usize) {
            Some(free) => {
                let at = self.free;
                self.free = free.next_in_bucket;
                *free = flow;
                at
            }
            None => {
                self.flows.push(flow);
                (self.flows.len() - 1) as u32
            }
        };
        self.buckets[bucket] = at;
        at
    }

    /// Forgets all flows without packets. Each leaves at most one free place, so calls are rare.
    fn forget_idle(&mut self) {
        for owner in &mut self.owners {
            for chain in [&mut owner.new, &mut owner.old, &mut owner.parked] {
                let mut at = std::mem::replace(chain, Chain::EMPTY).head;
                while let Some(flow) = self.flows.get(at as usize) {
                    let (next, keep) = (flow.next, !flow.list.is_empty());
                    if keep {
                        append(&mut self.flows, chain, at);
                    }
                    at = next;
                }
            }
        }
        self.buckets.fill(NONE);
        self.free = NONE;
        for at in (0..self.flows.len()).rev() {
            let bucket = self.bucket(self.flows[at].key);
            let flow = &mut self.flows[at];
            let first = if flow.list.is_empty() { &mut self.free } else { &mut self.buckets[bucket] };
            flow.next_in_bucket = *first;
            *first = at as u32;
        }
    }
}

fn take_off(backlog: &mut Backlog, size: ByteCount) {
    backlog.packets = backlog.packets.saturating_sub(1);
    backlog.bytes -= size;
}

/// Appends the flow `at`, which is in no list.
fn append(flows: &mut [Flow], chain: &mut Chain, at: u32) {
    if let Some(flow) = flows.get_mut(at as usize) {
        flow.next = NONE;
    }
    match flows.get_mut(chain.tail as usize) {
        Some(last) => last.next = at,
        None => chain.head = at,
    }
    chain.tail = at;
}

/// Removes the first flow of a list.
fn remove_first(flows: &mut [Flow], chain: &mut Chain) {
    if let Some(flow) = flows.get_mut(chain.head as usize) {
        chain.head = flow.next;
        if chain.head == NONE {
            chain.tail = NONE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::test_packet::{Special, packet};
    use super::*;
    use crate::frame::Payload;
    use crate::frame::PlainPacket;

    fn table(batch: DropBatch) -> FlowTable<PlainPacket> {
        FlowTable::new(FlowLimits { packets: 500, memory: u64::MAX, quantum: 300, idle_flows: 64, batch })
    }

    fn push(table: &mut FlowTable<PlainPacket>, flow: u32, bytes: u64) -> Vec<Dropped<PlainPacket>> {
        let mut dropped = Vec::new();
        let packet = packet(0, flow).of_size(bytes);
        table.push(Instant::ZERO, 0, u64::from(flow), packet, |_| false, &mut dropped);
        dropped
    }

    fn pop(table: &mut FlowTable<PlainPacket>) -> Option<(u32, u64)> {
        let head = table.head(0, |_| false)?;
        let packet = table.pop(Instant::ZERO, head, &CodelParameters::default(), &mut Vec::new())?;
        Some((packet.flow().0, packet.size().as_u64()))
    }

    #[test]
    fn flows_share_bytes_not_packets() {
        let mut table = table(DropBatch::HalfOfPackets);
        let sizes = [1500, 300, 64];
        let mut sent = [0; 3];
        for (flow, &bytes) in sizes.iter().enumerate() {
            for _ in 0..100 {
                push(&mut table, flow as u32, bytes);
            }
        }
        for _ in 0..3000 {
            let (flow, bytes) = pop(&mut table).expect("all have packets");
            sent[flow as usize] += bytes;
            push(&mut table, flow, bytes);
        }
        for other in &sent[1..] {
            // Within a quantum and the largest packet.
            assert!(sent[0].abs_diff(*other) <= 1800, "{sent:?}");
        }
    }

    #[test]
    fn a_sparse_flow_goes_first() {
        let mut table = table(DropBatch::HalfOfPackets);
        for flow in 0..5 {
            for _ in 0..20 {
                push(&mut table, flow, 300);
            }
        }
        for _ in 0..30 {
            pop(&mut table);
        }
        push(&mut table, 9, 100);
        push(&mut table, 9, 100);
        assert_eq!(pop(&mut table), Some((9, 100)));
        assert_eq!(pop(&mut table), Some((9, 100)));
        // It passes through the old list once: packets of other flows go first.
        assert_ne!(pop(&mut table).expect("a backlog").0, 9);
        push(&mut table, 9, 100);
        assert_ne!(pop(&mut table).expect("a backlog").0, 9, "no longer new");
    }

    #[test]
    fn batches_follow_the_two_kernels() {
        for (batch, expected) in [(DropBatch::HalfOfPackets, 32), (DropBatch::HalfOfBytes, 64)] {
            let mut table = table(batch);
            for _ in 0..300 {
                push(&mut table, 1, 1000);
            }
            for _ in 0..200 {
                // More packets but fewer bytes.
                push(&mut table, 2, 100);
            }
            let dropped = push(&mut table, 3, 100);
            assert_eq!(dropped.len(), expected);
            assert!(dropped.iter().all(|drop| drop.packet.flow().0 == 1));
        }
        let mut table = table(DropBatch::HalfOfBytes);
        for bytes in [100, 100, 100, 300] {
            push(&mut table, 1, bytes);
        }
        let mut dropped = Vec::new();
        table.drop_from_longest(DropReason::QueueFull, |_| false, &mut dropped);
        assert_eq!(dropped.len(), 3, "half of 600 B");
    }

    #[test]
    fn idle_flows_are_forgotten_in_the_end() {
        let mut table = table(DropBatch::HalfOfPackets);
        push(&mut table, u32::MAX, 1500);
        for flow in 0..100_000 {
            push(&mut table, flow, 100);
            while table.backlog.packets > 1 {
                assert!(pop(&mut table).is_some());
            }
        }
        assert!(table.flows.len() <= 565, "{}", table.flows.len());
        assert!(pop(&mut table).is_some());
        assert_eq!(pop(&mut table), None);
    }

    #[test]
    fn the_kernel_books_2304_bytes_for_a_full_packet() {
        assert_eq!(memory_of(ByteCount::new(1500)), 2304);
        assert_eq!(memory_of(ByteCount::new(40)), 768);
        assert_eq!(memory_of(ByteCount::MAX), u64::MAX);
    }
}
