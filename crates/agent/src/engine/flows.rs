//! The flow table: maps flow hashes to the dense numbers that queues use.

use std::collections::BTreeMap;

use airbound_control::frame::{FlowId, StationId};
use airbound_units::{Instant, Span};

use super::packet::FlowKey;

/// Size of the table. Further flows share [`SHARED`] numbers and are not protected.
const MOST_FLOWS: usize = 4096;
/// Numbers that only flows with a rule get, so that a scan of ports cannot take them.
const RESERVED: usize = 512;
/// Entries looked at in the search for an idle flow, so that a packet's cost is bounded.
const SEARCHED: usize = 64;
/// A flow without a rule may lose its number after this time without a packet, if the table is full.
const IDLE_AFTER: Span = Span::from_millis(100);
/// Count of the numbers shared by flows beyond the table.
const SHARED: u64 = 256;
/// A flow is removed after this time without a packet.
const FORGOTTEN_AFTER: Span = Span::from_secs(60);
/// Interval at which idle flows are removed.
const SWEEP: Span = Span::from_secs(5);

/// An entry of the table.
#[derive(Debug, Clone)]
struct Known {
    key: (StationId, FlowKey),
    last: Instant,
    /// Packets of the flow that are held or below.
    outstanding: u32,
    /// The rule whose demand is in force.
    rule: Option<u16>,
    /// Whether the entry is in use.
    live: bool,
}

/// The flow table, by number and by key.
#[derive(Debug, Clone, Default)]
pub(super) struct Flows {
    numbers: BTreeMap<(StationId, FlowKey), FlowId>,
    known: Vec<Known>,
    free: Vec<FlowId>,
    /// The entry at which the next search for an idle flow begins.
    hand: usize,
    next_sweep: Instant,
}

/// A flow's change of rule, and thus of its demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) flow: FlowId,
    pub(super) from: Option<u16>,
    pub(super) to: Option<u16>,
}

impl Flows {
    /// The number of a packet's flow, and the change of its rule if it matches another one than before.
    pub(super) fn on_packet(
        &mut self,
        now: Instant,
        station: StationId,
        key: FlowKey,
        rule: Option<u16>,
    ) -> (FlowId, Option<Change>) {
        let whole = (station, key);
        let flow = match self.numbers.get(&whole) {
            Some(flow) => *flow,
            None => match self.place(now, rule.is_some()) {
                Some(flow) => {
                    self.numbers.insert(whole, flow);
                    let fresh = Known { key: whole, last: now, outstanding: 0, rule: None, live: true };
                    match self.known.get_mut(flow.0 as usize) {
                        Some(slot) => *slot = fresh,
                        None => self.known.push(fresh),
                    }
                    flow
                }
                // Above all numbers of the table.
                None => return (FlowId(MOST_FLOWS as u32 + (key.0 % SHARED) as u32), None),
            },
        };
        let Some(known) = self.known.get_mut(flow.0 as usize) else { return (flow, None) };
        known.last = now;
        known.outstanding += 1;
        let from = std::mem::replace(&mut known.rule, rule);
        (flow, (from != rule).then_some(Change { flow, from, to: rule }))
    }

    /// A number for a new flow: a free one, or that of an idle flow.
    fn place(&mut self, now: Instant, has_rule: bool) -> Option<FlowId> {
        let most = if has_rule { MOST_FLOWS } else { MOST_FLOWS - RESERVED };
        if self.numbers.len() >= most {
            return self.reclaim(now);
        }
        self.free.pop().or_else(|| {
            (self.known.len() < MOST_FLOWS)
                .then(|| FlowId(u32::try_from(self.known.len()).unwrap_or(u32::MAX)))
        })
    }

    /// Takes the number of a flow without rule and packets that was idle for [`IDLE_AFTER`].
    fn reclaim(&mut self, now: Instant) -> Option<FlowId> {
        for _ in 0..SEARCHED.min(self.known.len()) {
            let place = self.hand % self.known.len();
            self.hand = place + 1;
            let known = &mut self.known[place];
            let is_idle = known.outstanding == 0 && now.since(known.last) >= IDLE_AFTER;
            if known.live && known.rule.is_none() && is_idle {
                known.live = false;
                self.numbers.remove(&known.key);
                return Some(FlowId(u32::try_from(place).unwrap_or(u32::MAX)));
            }
        }
        None
    }

    /// A packet of a flow was dropped, completed or given up.
    pub(super) fn on_gone(&mut self, flow: FlowId) {
        if let Some(known) = self.known.get_mut(flow.0 as usize) {
            known.outstanding = known.outstanding.saturating_sub(1);
        }
    }

    /// Removes idle flows. Returns those that were protected, with their rules.
    #[inline]
    pub(super) fn sweep(&mut self, now: Instant) -> Vec<(FlowId, u16)> {
        if now < self.next_sweep { Vec::new() } else { self.sweep_all(now) }
    }

    fn sweep_all(&mut self, now: Instant) -> Vec<(FlowId, u16)> {
        let mut ended = Vec::new();
        self.next_sweep = now + SWEEP;
        for (number, known) in self.known.iter_mut().enumerate() {
            if known.live && known.outstanding == 0 && now.since(known.last) >= FORGOTTEN_AFTER {
                let flow = FlowId(u32::try_from(number).unwrap_or(u32::MAX));
                known.live = false;
                self.numbers.remove(&known.key);
                self.free.push(flow);
                ended.extend(known.rule.take().map(|rule| (flow, rule)));
            }
        }
        ended
    }

    /// The time of the next sweep.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        (!self.numbers.is_empty()).then_some(self.next_sweep)
    }

    /// The station and the rule of each protected flow, by number.
    pub(super) fn protected(&self) -> impl Iterator<Item = (FlowId, StationId, u16)> + '_ {
        self.known
            .iter()
            .zip(0..)
            .filter(|(known, _)| known.live)
            .filter_map(|(known, number)| known.rule.map(|rule| (FlowId(number), known.key.0, rule)))
    }

    /// The number of known flows.
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: StationId = StationId(3);

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Span::from_secs(secs)
    }

    #[test]
    fn a_flow_keeps_its_number_and_changes_its_rule() {
        let mut flows = Flows::default();
        let (flow, change) = flows.on_packet(at(1), STATION, FlowKey(7), Some(0));
        assert_eq!(change, Some(Change { flow, from: None, to: Some(0) }));
        assert_eq!(flows.on_packet(at(1), STATION, FlowKey(7), Some(0)), (flow, None));
        assert_ne!(flows.on_packet(at(1), StationId(4), FlowKey(7), None).0, flow, "another station");
        let (_, change) = flows.on_packet(at(2), STATION, FlowKey(7), None);
        assert_eq!(change, Some(Change { flow, from: Some(0), to: None }));
    }

    #[test]
    fn a_number_is_reused_once_the_flow_has_no_packets() {
        let mut flows = Flows::default();
        let (flow, _) = flows.on_packet(at(1), STATION, FlowKey(7), Some(2));
        assert_eq!(flows.sweep(at(100)), [], "a packet of it is still held");
        flows.on_gone(flow);
        assert_eq!(flows.sweep(at(100)), [], "swept a moment ago");
        assert_eq!(flows.sweep(at(106)), [(flow, 2)]);
        assert_eq!((flows.len(), flows.next_deadline()), (0, None));
        assert_eq!(flows.on_packet(at(107), STATION, FlowKey(8), None), (flow, None));
    }

    /// Flows without a rule that fill what they may have of the table; each has a packet.
    fn scanned(flows: &mut Flows, at_time: Instant) -> Vec<FlowId> {
        let keys = 0..(MOST_FLOWS - RESERVED) as u64;
        keys.map(|key| flows.on_packet(at_time, STATION, FlowKey(key), None).0).collect()
    }

    #[test]
    fn beyond_the_table_flows_share_numbers() {
        let mut flows = Flows::default();
        let known = scanned(&mut flows, at(1));
        let (flow, change) = flows.on_packet(at(2), STATION, FlowKey(1 << 40), None);
        assert!(flow.0 as usize >= MOST_FLOWS && change.is_none(), "all have packets");
        flows.on_gone(flow);
        assert_eq!(flows.len(), known.len());
    }

    #[test]
    fn a_scan_leaves_room_for_flows_with_a_rule() {
        let mut flows = Flows::default();
        scanned(&mut flows, at(1));
        for key in 0..RESERVED as u64 {
            let (flow, change) = flows.on_packet(at(1), STATION, FlowKey((1 << 40) + key), Some(0));
            assert!((flow.0 as usize) < MOST_FLOWS && change.is_some(), "{key}");
        }
        let (flow, _) = flows.on_packet(at(1), STATION, FlowKey(1 << 50), Some(0));
        assert!(flow.0 as usize >= MOST_FLOWS, "the table is full");
    }

    #[test]
    fn an_idle_flow_without_a_rule_gives_its_number_away() {
        let mut flows = Flows::default();
        let known = scanned(&mut flows, at(1));
        let (kept, _) = flows.on_packet(at(1), STATION, FlowKey(1 << 40), Some(0));
        for flow in known.iter().chain([&kept]) {
            flows.on_gone(*flow);
        }
        // A hundred thousand flows, each of one packet; the table does not grow, and the protected flow stays.
        for key in 0..100_000 {
            let now = at(2) + Span::from_micros(50) * key;
            let (flow, _) = flows.on_packet(now, STATION, FlowKey((1 << 41) + key), None);
            flows.on_gone(flow);
            assert!((flow.0 as usize) < MOST_FLOWS, "{key}: idle flows are found in time");
        }
        assert_eq!(flows.on_packet(at(20), STATION, FlowKey(1 << 40), Some(0)), (kept, None));
        assert!(flows.len() <= MOST_FLOWS);
    }
}
