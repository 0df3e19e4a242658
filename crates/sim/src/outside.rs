//! Packets of a caller in a run: flows of a [gate](crate::Plugins::open_gate) carry them, at the caller's pace.
//!
//! The caller owns the loop: [`Run::push`] passes a packet to a flow, [`Run::advance_to`] advances to an instant, and [`Run::take_passed`]
//! returns the fates of packets. All else of the scenario is simulated alongside, and all meters count.

use airbound_control::queue::Demand;
use airbound_scenario::DemandSchedule;
use airbound_units::{ByteCount, ConfigError, Instant};

use crate::endpoint::{Outgoing, Passed};
use crate::flow::{Direction, flow_id};
use crate::measure::DemandMeter;
use crate::network::{Network, Shared};
use crate::packet::Kind;
use crate::run::Run;

impl Run {
    /// The instant of the next event, at or after now; [`Instant::MAX`] for never.
    #[must_use]
    pub fn next_event(&self) -> Instant {
        self.world.next_event()
    }

    /// Advances to an instant, or to the end of the run, whichever comes first.
    pub fn advance_to(&mut self, until: Instant) {
        self.advance(until.since(self.now()));
    }

    /// Sends a packet of `size` bytes from the IP header on into a flow of the gate, now. `flow` is the flow's number in the scenario,
    /// `number` that of the packet in its flow, from 0 and ascending by one.
    pub fn push(&mut self, flow: usize, number: u64, tag: u64, size: ByteCount) {
        self.push_as(Kind::Datagram, flow, number, tag, size);
    }

    /// The same with a packet that queues may mark ([`Kind::Capable`]), or that was marked before.
    pub fn push_as(&mut self, kind: Kind, flow: usize, number: u64, tag: u64, size: ByteCount) {
        let flow = self.place(flow);
        let packet = Outgoing::datagram(flow_id(flow), number, tag, size);
        self.world.push(flow, Outgoing { kind, ..packet });
    }

    /// Packets that sources, the caller and a session have sent into networks so far.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.world.networks().map(|network| network.parts.meters.totals().0).sum()
    }

    /// Moves the fates of the caller's packets since the last call to `into`, network by network, each in order.
    pub fn take_passed(&mut self, into: &mut Vec<Passed>) {
        self.world.take(into);
    }

    /// The place of a flow of the scenario among those that the networks carry.
    pub(crate) fn place(&self, flow: usize) -> usize {
        self.session.as_ref().map_or(flow, |session| session.place(flow))
    }

    /// Begins to report a flow of the gate, under `name`, and perhaps with a demand from now on.
    ///
    /// # Errors
    /// The scheme does not support the demand.
    pub fn open_flow(&mut self, flow: usize, name: &str, demand: Option<Demand>) -> Result<(), ConfigError> {
        if let Some(known) =
            self.info.flows.get_mut(self.session.as_ref().map_or(flow, |session| session.number_of(flow)))
        {
            name.clone_into(known);
        }
        let set = self.world.in_network(self.place(flow), |network, shared, own| {
            let parts = &mut network.parts;
            let meter = demand.map(|demand| DemandMeter::new(DemandSchedule::always(demand)));
            parts.meters.flows[own].wake(name, meter);
            parts.flows[own].name = name.to_owned();
            set_demand(network, shared.now, own, demand)
        });
        set.unwrap_or(Ok(()))
    }

    /// Number of seconds so far with acknowledged packets of a flow under a demand; `None` for flows without one.
    pub fn demand_seconds(&mut self, flow: usize) -> Option<u64> {
        let seconds = |network: &mut Network, _: &mut Shared, own: usize| {
            network.parts.meters.flows.get(own)?.demand().map(DemandMeter::seconds)
        };
        self.world.in_network(self.place(flow), seconds).flatten()
    }

    /// Checks that the scheme supports a demand on a flow.
    ///
    /// # Errors
    /// The reason why not.
    pub fn try_demand(&mut self, flow: usize, demand: Demand) -> Result<(), ConfigError> {
        let tried = self.world.in_network(self.place(flow), |network, shared, own| {
            set_demand(network, shared.now, own, Some(demand))?;
            set_demand(network, shared.now, own, None)
        });
        tried.unwrap_or(Ok(()))
    }

    /// Makes the present the end of the run.
    pub fn end_now(&mut self) {
        self.duration = self.world.end_now();
    }
}

fn set_demand(
    network: &mut Network,
    now: Instant,
    flow: usize,
    demand: Option<Demand>,
) -> Result<(), ConfigError> {
    let details = &network.parts.flows[flow];
    let sender = match details.direction {
        Direction::Down => crate::flow::ACCESS_POINT,
        Direction::Up => details.station,
    };
    network.parts.transmitters[sender.index()].link.set_demand(now, flow_id(flow), demand)
}
