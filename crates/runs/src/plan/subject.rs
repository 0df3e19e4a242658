//! Flows that may have a demand: those of a scenario, and what clients of its session on the air receive.

use airbound_control::queue::Demand;
use airbound_scenario::{Access, DemandSchedule, Flow, Scenario};

/// A flow that may have a demand.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    /// The flow; of a client what it receives, at a rate of zero: the session decides it.
    pub(super) flow: Flow,
    /// Its number in the run.
    pub(super) number: u32,
    /// The client's place in the session.
    client: Option<usize>,
}

impl Subject {
    /// Those of a scenario: its flows first.
    pub(super) fn all(scenario: &Scenario) -> Vec<Self> {
        let clients = scenario.session.iter().flat_map(|session| &session.clients);
        let before = 2 * clients.clone().count() as u32;
        let flows = scenario.flows.iter().zip(before..);
        let flows = flows.map(|(flow, number)| Self { flow: flow.clone(), number, client: None });
        // A run has two flows for each client, what it receives first.
        let received = clients.enumerate().filter(|(_, client)| matches!(client.access, Access::Station(_)));
        let received = received.map(|(place, client)| {
            let [_, flow] = client.flows();
            Self { flow, number: 2 * place as u32, client: Some(place) }
        });
        flows.chain(received).collect()
    }

    /// Whether its source has a rate of its own.
    pub(super) const fn has_rate(&self) -> bool {
        self.client.is_none()
    }

    /// The key of the scenario for its demand, which is that of its entry.
    pub(super) fn key(&self) -> String {
        let table = if self.client.is_some() { "session.client" } else { "flow" };
        format!("{table}.{}.demand", self.flow.group)
    }

    /// Gives it a demand in the scenario that it was found in.
    pub(super) fn demand(&self, scenario: &mut Scenario, demand: Demand) {
        let demand = Some(DemandSchedule::always(demand));
        match self.client {
            None => {
                if let Some(flow) = scenario.flows.iter_mut().find(|flow| flow.name == self.flow.name) {
                    flow.demand = demand;
                }
            }
            Some(place) => {
                let session = scenario.session.as_mut();
                if let Some(client) = session.and_then(|session| session.clients.get_mut(place)) {
                    client.demand = demand;
                }
            }
        }
    }
}
