//! Facts of a scenario that no summary holds.

use airbound_units::{BitRate, Span};

/// Facts of a scenario. Without them the verdict says less, and nothing wrong.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Rate of the wire between servers and access point; `None` without a bottleneck there.
    pub wire: Option<BitRate>,
    /// End of the run, counted from its beginning.
    pub end: Option<Span>,
    /// Whether transmitters may send several packets in one transmission.
    pub aggregates: bool,
    /// Its flows.
    pub flows: Vec<FlowFacts>,
    /// Its stations: name, and name of the entry that makes it.
    pub stations: Vec<(String, String)>,
}

/// Facts of one flow.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowFacts {
    /// Its name.
    pub name: String,
    /// Name of the entry that makes it; flows of one entry are shown as a group.
    pub group: String,
    /// One-way delay of its packets on the wire, without queueing.
    pub delay: Span,
    /// Its start, counted from the beginning of the run.
    pub start: Span,
    /// Highest rate that it asks for; `None` for as much as it gets.
    pub rate: Option<BitRate>,
}

impl Facts {
    pub(crate) fn flow(&self, name: &str) -> Option<&FlowFacts> {
        let end = name.as_bytes().last();
        self.flows.iter().find(|flow| {
            flow.name.len() == name.len() && flow.name.as_bytes().last() == end && flow.name == name
        })
    }
}
