//! Facts of a scenario that no summary holds.

use airbound_units::{BitRate, Span};

/// Facts of a scenario. Without them the verdict says less, and nothing wrong.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Rate of the wire between servers and access point; `None` without a bottleneck there.
    pub wire: Option<BitRate>,
    /// End of the run, counted from its beginning.
    pub end: Option<Span>,
    /// One-way delay of the wire, which the flows of emulated programs have.
    pub delay: Span,
    /// Whether transmitters may send several packets in one transmission.
    pub aggregates: bool,
    /// Its flows.
    pub flows: Vec<FlowFacts>,
    /// Its stations: name, and name of the entry that makes it.
    pub stations: Vec<(String, String)>,
    /// Its site.
    pub site: Site,
}

/// The site of a scenario, as far as advice depends on it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Site {
    /// Whether the access point has a shaper.
    pub is_shaped: bool,
    /// Whether the queues of the stations send in the order of arrival.
    pub has_plain_uplink: bool,
    /// Whether packets wait below the access point's queue, out of its reach.
    pub has_lower_queue: bool,
    /// Whether the access point's card decides on rates and retries in its firmware.
    pub has_rates_in_firmware: bool,
    /// Whether there are neighbours or interference on the channel.
    pub is_shared: bool,
    /// Distance of stations from the next node on their path to the access point, m, for those that have one.
    pub distances: Vec<(String, f64)>,
    /// Stations whose radio leaves the channel, and for how long at a time.
    pub absences: Vec<(String, Span)>,
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
    /// Age at which a frame of it is late; `None` of what has no frames.
    pub deadline: Option<Span>,
}

impl Facts {
    pub(crate) fn flow(&self, name: &str) -> Option<&FlowFacts> {
        let end = name.as_bytes().last();
        self.flows.iter().find(|flow| {
            flow.name.len() == name.len() && flow.name.as_bytes().last() == end && flow.name == name
        })
    }
}
