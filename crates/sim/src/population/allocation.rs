//! The allocator of a scheme, checked against its flows.

use std::collections::BTreeSet;

use airbound_senders::allocation::RateAllocator;

use crate::blueprint::Blueprint;
use crate::endpoint::allocation::{Downlink, Uplink};
use crate::error::BuildError;
use crate::flow::{Direction, Flow};
use airbound_scenario as scenario;

impl Blueprint<'_> {
    /// Builds the allocator at the proxy in front of the access point, if the scheme has one.
    pub(crate) fn allocator(
        &self,
        flows: &[Flow],
        downlinks: &[Downlink],
        uplinks: &[Uplink],
    ) -> Result<Option<RateAllocator>, BuildError> {
        let some = !(downlinks.is_empty() && uplinks.is_empty());
        let Some(mut config) = self.allocation()?.filter(|_| some) else {
            return Ok(None);
        };
        let paced = self.scenario.flows.iter().filter_map(|flow| match &flow.traffic {
            scenario::Traffic::Paced(datagrams) => Some(datagrams.size),
            _ => None,
        });
        if let (Some(size), false) = (paced.max(), self.scheme.sender.parameters().contains_key("packet")) {
            config.packet = size;
        }
        if let Some(queue) = self.airbound() {
            config.longest = queue.left(self.scenario.flows.iter().any(|flow| flow.demand.is_some()));
        }
        let refused = |reason: String| Err(BuildError::Slot { slot: "sender", reason });
        let mut known = BTreeSet::new();
        let ids = downlinks.iter().map(|one| one.flow).chain(uplinks.iter().map(|one| one.flow));
        for flow in ids.map(|id| &flows[id.0 as usize]) {
            if !known.insert((flow.station, flow.direction == Direction::Up)) {
                let way = if flow.direction == Direction::Up { "from" } else { "to" };
                return refused(format!(
                    "flow {} is the second flow of kind paced {way} its station; an allocator has one rate for each station and direction",
                    flow.name
                ));
            }
        }
        for uplink in uplinks {
            let flow = &flows[uplink.flow.0 as usize];
            let reports = |one: &Downlink| {
                let covers = one.start <= uplink.start && uplink.stop <= one.stop;
                flows[one.flow.0 as usize].station == flow.station && covers
            };
            if !downlinks.iter().any(reports) {
                return refused(format!(
                    "flow {} is of kind paced and direction up; it needs a flow of kind paced down to the same station, whose \
                     reports include the uplink's queue, and which lasts at least as long",
                    flow.name
                ));
            }
        }
        Ok(Some(RateAllocator::new(config)?))
    }
}
