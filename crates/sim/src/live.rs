//! A running network that carries external packets, driven by the caller's clock.
//!
//! The caller owns the loop: [`Live::push`] passes a packet to a flow, [`Live::advance`] advances to an instant, and
//! [`Live::take`] returns the fate and the content of each packet. A downlink flow begins at the server, before the
//! wire; an uplink flow begins at its station. Simulated traffic runs alongside.

use airbound_control::frame::DropReason;
use airbound_scenario::Scenario;
use airbound_units::{ByteCount, Instant};

use crate::endpoint::{Outgoing, Passed};
use crate::error::BuildError;
use crate::flow::flow_id;
use crate::networks;
use crate::plugins::Plugins;
use crate::world::World;

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

/// A network that carries external packets with content of type `C`.
pub struct Live<C> {
    world: World,
    /// The number of each external flow in the scenario, and of its next packet.
    flows: Vec<(usize, u64)>,
    /// Content of packets in transit, by tag, with the index of its flow.
    contents: Vec<Option<(usize, C)>>,
    free: Vec<usize>,
    passed: Vec<Passed>,
}

impl<C> std::fmt::Debug for Live<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("flows", &self.flows).finish_non_exhaustive()
    }
}

impl<C> Live<C> {
    /// Prepares the networks of `scenario` with its own scheme. Flows named in `outside` carry the caller's packets
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
        let mut plugins = plugins.clone();
        outside.iter().for_each(|name| plugins.carry(name.as_ref()));
        plugins.check_flows(scenario)?;
        let place = |name: &str| scenario.flows.iter().position(|flow| flow.name == name);
        let flows = outside.iter().filter_map(|name| Some((place(name.as_ref())?, 0))).collect();
        let world = networks::build(scenario, &scenario.scheme, seed, &plugins)?.world;
        Ok(Self { world, flows, contents: Vec::new(), free: Vec::new(), passed: Vec::new() })
    }

    /// The present simulated time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.world.now()
    }

    /// The instant of the next event, at or after now; [`Instant::MAX`] for never.
    #[must_use]
    pub fn next_event(&self) -> Instant {
        self.world.next_event()
    }

    /// Sends a packet of `size` bytes from the IP header on into the external flow with index `flow`, now.
    pub fn push(&mut self, flow: usize, content: C, size: ByteCount) {
        let Some((number, next)) = self.flows.get_mut(flow) else { return };
        let tag = self.free.pop().unwrap_or_else(|| {
            self.contents.push(None);
            self.contents.len() - 1
        });
        self.contents[tag] = Some((flow, content));
        let packet = Outgoing::datagram(flow_id(*number), *next, tag as u64, size);
        *next += 1;
        self.world.push(*number, packet);
    }

    /// Advances until `until` or the end of the run, whichever comes first.
    pub fn advance(&mut self, until: Instant) {
        self.world.advance(until);
    }

    /// Moves the fates of packets since the last call to `fates`, in order.
    pub fn take(&mut self, fates: &mut Vec<Fate<C>>) {
        self.world.take(&mut self.passed);
        for Passed { tag, at, lost, .. } in self.passed.drain(..) {
            let place = tag as usize;
            if let Some((flow, content)) = self.contents.get_mut(place).and_then(Option::take) {
                self.free.push(place);
                fates.push(Fate { flow, content, at, lost });
            }
        }
    }
}
