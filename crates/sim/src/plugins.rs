//! Plugins of a run: custom queues, rate controls or senders for the slots that the scheme leaves to them, rules for the rate of
//! flows of video, and custom transports in place of the traffic of flows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use airbound_control::frame::FlowId;
use airbound_control::queue::QueueDecider;
use airbound_control::rate::RateDecider;
use airbound_senders::congestion::CustomControl;
use airbound_senders::rtp::rate::CustomRule;

use crate::endpoint::Endpoint;
use crate::error::BuildError;
use crate::site::{Make, Site};
use airbound_scenario::{Flow, Part, Scenario, Slot, Traffic};

/// Fills one slot of a scheme with one part for each transmitter, or each connection, of a run.
#[derive(Clone)]
#[non_exhaustive]
pub enum Plugin {
    /// Decides which packets are queued, dropped or sent next.
    Queue(Make<dyn QueueDecider>),
    /// Decides the PHY rate and the tries of each transmission.
    Rate(Make<dyn RateDecider>),
    /// Decides the congestion window of TCP.
    Sender(Make<dyn CustomControl>),
}

impl Plugin {
    /// A custom queue: `make` returns its decider for one transmitter.
    pub fn queue<D: QueueDecider + 'static>(make: impl Fn(Site) -> D + Send + Sync + 'static) -> Self {
        Self::Queue(Arc::new(move |site| Box::new(make(site))))
    }

    /// A custom rate control: `make` returns its decider for one transmitter.
    pub fn rate<D: RateDecider + 'static>(make: impl Fn(Site) -> D + Send + Sync + 'static) -> Self {
        Self::Rate(Arc::new(move |site| Box::new(make(site))))
    }

    /// A custom congestion control: `make` returns that of one connection.
    pub fn sender<D: CustomControl + 'static>(make: impl Fn(Site) -> D + Send + Sync + 'static) -> Self {
        Self::Sender(Arc::new(move |site| Box::new(make(site))))
    }

    /// The slot that it fills.
    #[must_use]
    pub const fn part(&self) -> Part {
        match self {
            Self::Queue(_) => Part::Queue,
            Self::Rate(_) => Part::Rate,
            Self::Sender(_) => Part::Sender,
        }
    }
}

/// Makes the endpoint of an [attachment](Plugins::attach) from the numbers of its flows and its own seed.
pub type MakeEndpoint = Arc<dyn Fn(&[FlowId], u64) -> Box<dyn Endpoint> + Send + Sync>;

/// An endpoint in place of the traffic of flows.
#[derive(Clone)]
pub(crate) struct Attachment {
    pub(crate) flows: Vec<String>,
    pub(crate) make: MakeEndpoint,
}

/// The far end of a flow of a [gate](Plugins::open_gate).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// A server behind the wire.
    Wire,
    /// The access point itself, which passes packets from station to station.
    AccessPoint,
}

/// The plugins of a run, at most one for each slot; none by default.
#[derive(Clone, Default)]
pub struct Plugins {
    queue: Option<Make<dyn QueueDecider>>,
    rate: Option<Make<dyn RateDecider>>,
    sender: Option<Make<dyn CustomControl>>,
    /// By the name of the flow.
    rules: BTreeMap<String, Make<dyn CustomRule>>,
    endpoints: Vec<Attachment>,
    gate: BTreeMap<String, Reach>,
    /// Flows that carry the packets of a session or of [`Live`](crate::Live).
    carried: BTreeSet<String>,
    /// Stations with a client of a session.
    seated: BTreeSet<String>,
}

impl Plugins {
    /// Adds a plugin, replacing an earlier one for its slot.
    pub fn add(&mut self, plugin: Plugin) {
        match plugin {
            Plugin::Queue(make) => self.queue = Some(make),
            Plugin::Rate(make) => self.rate = Some(make),
            Plugin::Sender(make) => self.sender = Some(make),
        }
    }

    /// Makes the flow of this name, of kind `rtc`, follow a custom rule for its rate in place of that of the scenario or the scheme.
    pub fn rule(&mut self, flow: impl Into<String>, make: Make<dyn CustomRule>) {
        self.rules.insert(flow.into(), make);
    }

    /// The custom rule for the rate of a flow.
    pub(crate) fn rule_of(&self, flow: &str) -> Option<&Make<dyn CustomRule>> {
        self.rules.get(flow)
    }

    /// Attaches one endpoint to the named flows, which carry its packets in place of their own traffic. The other parameters of
    /// the flows apply: direction, category, wire. The flows have to be in one network.
    pub fn attach(&mut self, flows: impl IntoIterator<Item = impl Into<String>>, make: MakeEndpoint) {
        self.endpoints.push(Attachment { flows: flows.into_iter().map(Into::into).collect(), make });
    }

    /// Makes the flow of this name carry the caller's packets ([`Run::push`](crate::Run::push)) in place of its own traffic. It is
    /// part of the results once it has carried one.
    pub fn open_gate(&mut self, flow: impl Into<String>, reach: Reach) {
        self.gate.insert(flow.into(), reach);
    }

    /// Makes the flow of this name carry packets of somebody who measures their latency, in place of its own traffic.
    pub(crate) fn carry(&mut self, flow: impl Into<String>) {
        self.carried.insert(flow.into());
    }

    /// Makes this station one with a client of a session.
    pub(crate) fn seat(&mut self, station: impl Into<String>) {
        self.seated.insert(station.into());
    }

    /// Whether this station has a client of a session.
    pub(crate) fn is_seated(&self, station: &str) -> bool {
        self.seated.contains(station)
    }

    /// Whether the flow of this name carries packets of somebody who measures their latency.
    pub(crate) fn carries(&self, flow: &str) -> bool {
        self.carried.contains(flow)
    }

    /// The far end of a flow that carries the caller's packets; `None` for another flow.
    pub(crate) fn gate(&self, flow: &str) -> Option<Reach> {
        self.gate.get(flow).copied()
    }

    /// The attached endpoints.
    pub(crate) fn endpoints(&self) -> &[Attachment] {
        &self.endpoints
    }

    /// Whether an endpoint replaces the traffic of a flow.
    pub(crate) fn replaces(&self, flow: &str) -> bool {
        self.gate.contains_key(flow)
            || self.carries(flow)
            || self.endpoints.iter().flat_map(|one| &one.flows).any(|name| name == flow)
    }

    /// Checks that the scenario has all flows with attached endpoints, and that those with custom rules are of kind `rtc`.
    pub(crate) fn check_flows(&self, scenario: &Scenario) -> Result<(), BuildError> {
        let is_unknown = |name: &&String| scenario.flows.iter().all(|flow| flow.name != **name);
        let attached = self.endpoints.iter().flat_map(|one| &one.flows);
        // Flows of a gate are many: they are looked up by name, not one by one.
        let known = scenario.flows.iter().filter(|flow| self.gate.contains_key(&flow.name)).count();
        let gone = if known < self.gate.len() { self.gate.keys().find(is_unknown) } else { None };
        let mut named = attached.chain(gone).chain(&self.carried).chain(self.rules.keys());
        if let Some(flow) = named.find(is_unknown) {
            return Err(BuildError::NoFlow { flow: flow.clone() });
        }
        let is_other =
            |flow: &&Flow| self.rules.contains_key(&flow.name) && !matches!(flow.traffic, Traffic::Rtc(_));
        match scenario.flows.iter().find(is_other) {
            Some(flow) => Err(BuildError::Slot {
                slot: "sender",
                reason: format!("flow {} has a rule for its rate, but is not of kind rtc", flow.name),
            }),
            None => Ok(()),
        }
    }

    /// The plugin for a queue slot; `None` if the slot names a built-in queue.
    pub(crate) fn queue(&self, slot: &Slot) -> Result<Option<&Make<dyn QueueDecider>>, BuildError> {
        given(slot, "queue", self.queue.as_ref())
    }

    /// The plugin for a rate slot.
    pub(crate) fn rate(&self, slot: &Slot) -> Result<Option<&Make<dyn RateDecider>>, BuildError> {
        given(slot, "rate", self.rate.as_ref())
    }

    /// The plugin for a sender slot.
    pub(crate) fn sender(&self, slot: &Slot) -> Result<Option<&Make<dyn CustomControl>>, BuildError> {
        given(slot, "sender", self.sender.as_ref())
    }
}

fn given<'a, T: ?Sized>(
    slot: &Slot,
    part: &'static str,
    plugin: Option<&'a Make<T>>,
) -> Result<Option<&'a Make<T>>, BuildError> {
    match plugin {
        _ if !slot.is_custom() => Ok(None),
        None => Err(BuildError::Slot {
            slot: part,
            reason: format!("{} is a plugin, but the run has none for this slot", slot.name()),
        }),
        some => Ok(some),
    }
}

impl fmt::Debug for Plugins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = [self.queue.is_some(), self.rate.is_some(), self.sender.is_some()];
        let named = ["queue", "rate", "sender"].into_iter().zip(given).filter(|(_, given)| *given);
        f.debug_set().entries(named.map(|(name, _)| name)).finish()
    }
}
