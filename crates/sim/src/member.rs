//! A network's place in its run.

use std::ops::Range;

use airbound_record::RunInfo;
use airbound_scenario::Scheme;

/// A network as a member of a run.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// Its name; `None` for the only, unnamed network of a scenario.
    pub(crate) name: Option<String>,
    /// The number of its channel.
    pub(crate) channel: u16,
    /// Its scheme.
    pub(crate) scheme: Scheme,
    /// Its index in the order of the scenario.
    pub(crate) place: u64,
    /// The numbers in the run of its flows of the scenario.
    pub(crate) flows: Range<usize>,
    /// The numbers of its stations.
    pub(crate) stations: Range<usize>,
}

impl Member {
    /// The names of its stations.
    pub(crate) fn stations<'a>(&self, info: &'a RunInfo) -> &'a [String] {
        info.stations.get(self.stations.clone()).unwrap_or_default()
    }
}
