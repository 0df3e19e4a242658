//! A running network that carries external packets, driven by the caller's clock.
//!
//! The caller owns the loop: [`Live::push`] passes a packet to a flow, [`Live::advance`] advances to an instant, and
//! [`Live::take`] returns the fate and the content of each packet. A downlink flow begins at the server, before the
//! wire; an uplink flow begins at its station. Simulated traffic runs alongside.

use std::cell::RefCell;

use airbound_control::frame::DropReason;
use airbound_units::{BitRate, ByteCount, Instant};

use crate::blueprint::{Blueprint, SharedChannel};
use crate::endpoint::external::{External, TaggedFate};
use crate::endpoint::{AnyEndpoint, Outgoing};
use crate::error::BuildError;
use crate::flow::EndpointId;
use crate::flow::flow_id;
use crate::network::Network;
use crate::packet::Kind;
use crate::plugins::Plugins;
use airbound_scenario::{Datagrams, Scenario, Traffic};

/// The fate of an external packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fate<C> {
    /// The index of its flow among the external ones.
    pub flow: usize,
    /// The content passed to [`Live::push`].
    pub content: C,
    /// The time of its arrival or loss.
    pub at: Instant,
    /// The reason of its loss; `None` if it arrived.
    pub lost: Option<DropReason>,
}

/// An external flow.
#[derive(Debug, Clone, Copy)]
struct Lane {
    flow: usize,
    /// The number of its next packet.
    next: u64,
}

/// A network that carries external packets with content of type `C`.
pub struct Live<C> {
    pub(crate) network: Network,
    lanes: Vec<Lane>,
    /// Content of packets in transit, by tag, with the index of its flow.
    contents: Vec<Option<(usize, C)>>,
    free: Vec<usize>,
    carried: Vec<TaggedFate>,
}

impl<C> std::fmt::Debug for Live<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("lanes", &self.lanes).finish_non_exhaustive()
    }
}

impl<C> Live<C> {
    /// Prepares the network of `scenario` with its own scheme. Flows named in `outside` carry the caller's packets
    /// instead of their own traffic; their other parameters apply. The run ends with the scenario's duration.
    ///
    /// # Errors
    /// The parameters of the scheme are wrong, or no flow has one of the names.
    pub fn new(
        scenario: &Scenario,
        outside: &[impl AsRef<str>],
        plugins: &Plugins,
        seed: u64,
    ) -> Result<Self, BuildError> {
        plugins.check_flows(scenario)?;
        let mut scenario = scenario.clone();
        let mut lanes = Vec::new();
        for name in outside {
            let place = scenario.flows.iter().position(|flow| flow.name == name.as_ref());
            let Some(flow) = place else {
                return Err(BuildError::NoFlow { flow: name.as_ref().to_owned() });
            };
            // Only the caller's packets are sent.
            let nothing = Datagrams { rate: BitRate::ZERO, size: ByteCount::new(1000) };
            scenario.flows[flow].traffic = Traffic::Cbr(nothing);
            lanes.push(Lane { flow, next: 0 });
        }
        let channel = SharedChannel::alone(seed);
        let (scheme, whole) = (&scenario.scheme, &scenario);
        let tables = &RefCell::default();
        let blueprint = Blueprint { scenario: whole, whole, scheme, plugins, seed, tables, channel };
        let mut parts = blueprint.parts()?;
        let endpoint = EndpointId::new(parts.endpoints.len());
        parts.endpoints.push(AnyEndpoint::External(External::default()));
        for lane in &lanes {
            parts.flows[lane.flow].endpoint = Some(endpoint);
            parts.meters.flows[lane.flow].leave_latency_out();
        }
        let network = Network::new(parts);
        Ok(Self { network, lanes, contents: Vec::new(), free: Vec::new(), carried: Vec::new() })
    }

    /// The present simulated time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.network.now
    }

    /// The instant of the next event, at or after now; [`Instant::MAX`] for never.
    #[must_use]
    pub fn next_event(&self) -> Instant {
        self.network.next_event()
    }

    /// Events processed so far, transmissions included.
    #[must_use]
    pub const fn processed(&self) -> u64 {
        self.network.processed()
    }

    /// Sends a packet of `size` bytes from the IP header on into the external flow with index `flow`, now.
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
        self.network.send(Outgoing { flow, number, kind: Kind::Datagram, tag: tag as u64, size });
    }

    /// Advances until `until` or the end of the run, whichever comes first.
    pub fn advance(&mut self, until: Instant) {
        self.network.advance(until);
    }

    /// Moves the fates of packets since the last call to `fates`, in order.
    pub fn take(&mut self, fates: &mut Vec<Fate<C>>) {
        self.network.take_fates(&mut self.carried);
        for TaggedFate { tag, at, lost, .. } in self.carried.drain(..) {
            let place = tag as usize;
            if let Some((flow, content)) = self.contents.get_mut(place).and_then(Option::take) {
                self.free.push(place);
                fates.push(Fate { flow, content, at, lost });
            }
        }
    }
}
