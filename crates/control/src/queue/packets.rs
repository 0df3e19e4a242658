//! Linked lists of packets in one table: moving a packet between lists neither allocates nor copies.

use airbound_units::ByteCount;

/// The absence of a slot.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone)]
struct Slot<P> {
    packet: Option<P>,
    /// The next slot of its list, or the next free one.
    next: u32,
}

/// The table. It grows to the maximum number of packets waiting at once; freed slots are reused, last freed first,
/// while they are still in the processor's cache.
#[derive(Debug, Clone)]
pub(super) struct Packets<P> {
    slots: Vec<Slot<P>>,
    free: u32,
}

impl<P> Default for Packets<P> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: NONE }
    }
}

/// Packets of one table in the order of appending. A list belongs to the table that it was filled from.
#[derive(Debug, Clone, Copy)]
pub(super) struct List {
    head: u32,
    tail: u32,
    packets: u32,
    bytes: u64,
}

impl Default for List {
    fn default() -> Self {
        Self { head: NONE, tail: NONE, packets: 0, bytes: 0 }
    }
}

impl List {
    pub(super) const fn is_empty(&self) -> bool {
        self.head == NONE
    }

    pub(super) const fn packets(&self) -> usize {
        self.packets as usize
    }

    pub(super) const fn bytes(&self) -> ByteCount {
        ByteCount::new(self.bytes)
    }
}

impl<P> Packets<P> {
    /// Appends a packet that counts as `size` to `list`; returns it if the table cannot grow further.
    #[inline(always)]
    pub(super) fn push(&mut self, list: &mut List, packet: P, size: ByteCount) -> Result<(), P> {
        let index = match self.slots.get_mut(self.free as usize) {
            Some(slot) => {
                let index = self.free;
                self.free = slot.next;
                *slot = Slot { packet: Some(packet), next: NONE };
                index
            }
            None => {
                let index = u32::try_from(self.slots.len()).unwrap_or(NONE);
                if index == NONE {
                    return Err(packet);
                }
                self.slots.push(Slot { packet: Some(packet), next: NONE });
                index
            }
        };
        match self.slots.get_mut(list.tail as usize) {
            Some(last) => last.next = index,
            None => list.head = index,
        }
        list.tail = index;
        list.packets += 1;
        list.bytes = list.bytes.saturating_add(size.as_u64());
        Ok(())
    }

    /// Takes the first packet of `list`; `size` computes its counted size.
    #[inline]
    pub(super) fn pop(&mut self, list: &mut List, size: impl FnOnce(&P) -> ByteCount) -> Option<P> {
        let index = list.head;
        let slot = self.slots.get_mut(index as usize)?;
        let packet = slot.packet.take()?;
        list.head = slot.next;
        if list.head == NONE {
            list.tail = NONE;
        }
        slot.next = self.free;
        self.free = index;
        list.packets = list.packets.saturating_sub(1);
        list.bytes = list.bytes.saturating_sub(size(&packet).as_u64());
        Some(packet)
    }

    /// The first packet of `list`.
    #[inline]
    pub(super) fn first(&self, list: &List) -> Option<&P> {
        self.slots.get(list.head as usize)?.packet.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_slots_are_used_again() {
        let one = ByteCount::new(1);
        let mut packets = Packets::default();
        let (mut even, mut odd) = (List::default(), List::default());
        for number in 0..10_000u32 {
            let list = if number.is_multiple_of(2) { &mut even } else { &mut odd };
            assert_eq!(packets.push(list, number, one), Ok(()));
            if number >= 10 {
                let list = if number.is_multiple_of(2) { &mut even } else { &mut odd };
                assert_eq!(packets.first(list).copied(), Some(number - 10));
                assert_eq!(packets.pop(list, |_| one), Some(number - 10));
            }
        }
        assert_eq!(packets.slots.len(), 11);
        assert_eq!((even.packets(), even.bytes()), (5, ByteCount::new(5)));
        while packets.pop(&mut even, |_| one).is_some() {}
        assert!(even.is_empty() && !odd.is_empty());
    }
}
