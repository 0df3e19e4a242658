//! Values of a group of flows in a comparison: of each member, over all members, and over the seeds.

use airbound_record::{FlowSummary, Summary};

use crate::comparison::{Comparison, SchemeRuns};
use crate::grid::Spread;
use crate::groups::Group;
use crate::run::Run;

/// Reads a value of a flow.
pub(crate) type Value<'a> = &'a dyn Fn(&FlowSummary) -> Option<f64>;

impl Comparison {
    /// The members of a group in a summary.
    pub(crate) fn flows_of<'a>(
        &'a self,
        summary: &'a Summary,
        group: &'a Group,
    ) -> impl Iterator<Item = &'a FlowSummary> {
        let flows = summary.flows.iter().enumerate();
        flows.filter(move |(place, flow)| self.flows.has(group, *place, &flow.name)).map(|(_, flow)| flow)
    }

    /// Numbers of the members of a group in the tables of a run.
    pub(crate) fn numbers_of(&self, run: &Run, group: &Group) -> Vec<u32> {
        self.flows_of(&run.summary, group).filter_map(|flow| run.number(&flow.name)).collect()
    }

    /// All members under all seeds of a scheme.
    pub(crate) fn members<'a>(
        &'a self,
        scheme: &'a SchemeRuns,
        group: &'a Group,
    ) -> impl Iterator<Item = &'a FlowSummary> {
        scheme.summaries().flat_map(move |summary| self.flows_of(summary, group))
    }

    /// Median and band over members and seeds.
    pub(crate) fn band(&self, scheme: &SchemeRuns, group: &Group, value: Value<'_>) -> Option<Spread> {
        let values = self.members(scheme, group).map(value);
        if group.is_many() { Spread::of_members(values) } else { Spread::of(values) }
    }

    /// Median and range over the seeds of the median over the members.
    pub(crate) fn middle(&self, scheme: &SchemeRuns, group: &Group, value: Value<'_>) -> Option<Spread> {
        scheme.spread(|summary| self.middle_of(summary, group, value))
    }

    /// Median over the members.
    pub(crate) fn middle_of(&self, summary: &Summary, group: &Group, value: Value<'_>) -> Option<f64> {
        Spread::of(self.flows_of(summary, group).map(value)).map(|spread| spread.median)
    }

    /// Mean over the members: a share of the seconds, frames or packets of all.
    pub(crate) fn mean_of(&self, summary: &Summary, group: &Group, value: Value<'_>) -> Option<f64> {
        let values: Vec<f64> = self.flows_of(summary, group).filter_map(value).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Goodput of all members together, Mb/s.
    pub(crate) fn goodput_of(&self, summary: &Summary, group: &Group) -> Option<f64> {
        let mut flows = self.flows_of(summary, group).peekable();
        flows.peek()?;
        Some(flows.map(|flow| flow.goodput_mbps).sum())
    }

    /// The first member in the first run that has one.
    pub(crate) fn example(&self, group: &Group) -> Option<&FlowSummary> {
        let first = group.members.first()?;
        let runs = self.schemes.iter().flat_map(SchemeRuns::summaries);
        runs.flat_map(|summary| &summary.flows).find(|flow| flow.name == *first)
    }
}
