//! A network under way that carries packets of outside, in whatever time the caller keeps.
//!
//! The caller owns the loop: [`Live::push`] hands a packet to a flow, [`Live::advance`] goes on to an instant, and
//! [`Live::take`] tells the fate of each packet and gives its content back. A flow down begins at the server, behind the
//! wire; a flow up begins at its station. Simulated traffic runs beside.

use airbound_control::frame::DropReason;
use airbound_units::{BitRate, ByteCount, Instant};

use crate::build::{BuildError, Plan, flow_id};
use crate::endpoint::external::{Carried, External};
use crate::endpoint::{AnyEndpoint, Outgoing};
use crate::engine::Simulation;
use crate::flow::EndpointId;
use crate::measure::NoObserver;
use crate::networks::SharedChannel;
use crate::packet::Kind;
use crate::plugins::Plugins;
use crate::scenario::{Datagrams, Scenario, Traffic};

/// The fate of a packet of outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fate<C> {
    /// The place of its flow among those of outside.
    pub flow: usize,
    /// The content that it was pushed with.
    pub content: C,
    /// The time of its arrival or loss.
    pub at: Instant,
    /// The reason of its loss; `None` if it arrived.
    pub lost: Option<DropReason>,
}

/// A flow of outside.
#[derive(Debug, Clone, Copy)]
struct Lane {
    flow: usize,
    /// The number of its next packet.
    next: u64,
}

/// A network that carries packets of outside with content of type `C`.
pub struct Live<C> {
    pub(crate) simulation: Simulation,
    lanes: Vec<Lane>,
    /// Content of packets under way, by tag, with the place of its flow.
    contents: Vec<Option<(usize, C)>>,
    free: Vec<usize>,
    carried: Vec<Carried>,
}

impl<C> std::fmt::Debug for Live<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("lanes", &self.lanes).finish_non_exhaustive()
    }
}

impl<C> Live<C> {
    /// Prepares the network of `scenario` with its own scheme. Flows named in `outside` carry the caller's packets
    /// instead of their own traffic; all else that the scenario says of them holds. The run ends with the scenario's
    /// duration.
    ///
    /// # Errors
    /// The parameters of the scheme are wrong, or no flow has one of the names.
    pub fn new(
        scenario: &Scenario,
        outside: &[impl AsRef<str>],
        plugins: &Plugins,
        seed: u64,
    ) -> Result<Self, BuildError> {
        let mut scenario = scenario.clone();
        let mut lanes = Vec::new();
        for name in outside {
            let place = scenario.flows.iter().position(|flow| flow.name == name.as_ref());
            let Some(flow) = place else {
                let reason = format!("no flow is named \"{}\"", name.as_ref());
                return Err(BuildError::Slot { slot: "flow", reason });
            };
            // The caller's packets are all that it sends.
            let nothing = Datagrams { rate: BitRate::ZERO, size: ByteCount::new(1000) };
            scenario.flows[flow].traffic = Traffic::Cbr(nothing);
            lanes.push(Lane { flow, next: 0 });
        }
        let channel = SharedChannel::alone(seed);
        let plan = Plan { scenario: &scenario, scheme: &scenario.scheme, plugins, seed, channel };
        let mut parts = plan.parts(Box::new(NoObserver))?;
        let endpoint = EndpointId::new(parts.endpoints.len());
        parts.endpoints.push(AnyEndpoint::External(External::default()));
        for lane in &lanes {
            parts.flows[lane.flow].endpoint = Some(endpoint);
        }
        let simulation = Simulation::new(parts);
        Ok(Self { simulation, lanes, contents: Vec::new(), free: Vec::new(), carried: Vec::new() })
    }

    /// The instant to which it was advanced.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.simulation.now
    }

    /// The instant of the next event, at or after now; [`Instant::MAX`] for never.
    #[must_use]
    pub fn next_event(&self) -> Instant {
        self.simulation.next_event()
    }

    /// Events processed so far, transmissions included.
    #[must_use]
    pub const fn processed(&self) -> u64 {
        self.simulation.processed()
    }

    /// Sends a packet of `size` bytes from the IP header on into the flow at place `flow` of those of outside, now.
    pub fn push(&mut self, flow: usize, content: C, size: ByteCount) {
        let Some(lane) = self.lanes.get_mut(flow) else { return };
        let tag = self.free.pop().unwrap_or_else(|| {
            self.contents.push(None);
            self.contents.len() - 1
        });
        self.contents[tag] = Some((flow, content));
        let number = lane.next;
        lane.next += 1;
        let flow = flow_id(lane.flow);
        self.simulation.send(Outgoing { flow, number, kind: Kind::Datagram, tag: tag as u64, size });
    }

    /// Advances until `until` or the end of the run, whichever comes first.
    pub fn advance(&mut self, until: Instant) {
        self.simulation.advance(until);
    }

    /// Moves the fates of packets since the last call to `fates`, in order.
    pub fn take(&mut self, fates: &mut Vec<Fate<C>>) {
        self.simulation.take_carried(&mut self.carried);
        for Carried { tag, at, lost } in self.carried.drain(..) {
            let place = tag as usize;
            if let Some((flow, content)) = self.contents.get_mut(place).and_then(Option::take) {
                self.free.push(place);
                fates.push(Fate { flow, content, at, lost });
            }
        }
    }
}
