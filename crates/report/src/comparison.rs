//! Comparison of runs: schemes, each with one or more seeds.

use std::collections::{BTreeMap, BTreeSet};

use airbound_record::{Direction, FlowSummary, Summary};

use crate::error::ReportError;
use crate::facts::Facts;
use crate::grid::Spread;
use crate::groups::{Group, Groups};
use crate::run::Run;

/// The runs of one scheme, one for each seed.
#[derive(Debug, Clone)]
pub struct SchemeRuns {
    /// Name of the scheme.
    pub name: String,
    /// Its runs, in the order given; never empty.
    pub runs: Vec<Run>,
}

impl SchemeRuns {
    pub(crate) fn summaries(&self) -> impl Iterator<Item = &Summary> {
        self.runs.iter().map(|run| &run.summary)
    }

    pub(crate) fn spread(&self, value: impl Fn(&Summary) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.summaries().map(value))
    }
}

/// Whether it is a transfer that takes as much as it gets.
pub(crate) fn is_transfer(flow: &FlowSummary) -> bool {
    flow.kind == "tcp"
}

/// Whether its sender lowers its bitrate where the network gives it less, so that a latency may be bought with bitrate.
pub(crate) fn is_adaptive(flow: &FlowSummary) -> bool {
    matches!(flow.kind.as_str(), "rtc" | "paced" | "session")
}

/// Runs to be compared, and the flow in focus.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub(crate) schemes: Vec<SchemeRuns>,
    pub(crate) focus: String,
    pub(crate) baseline: Option<String>,
    pub(crate) facts: Facts,
    pub(crate) flows: Groups,
    pub(crate) stations: Groups,
    /// The sentences of tests of the bottleneck and of advice.
    pub(crate) tried: Vec<String>,
    pub(crate) next: Option<(String, String)>,
}

impl Comparison {
    /// Groups runs by the name of their scheme, in order of first appearance.
    ///
    /// `focus` is the flow of the headline, by default the first of the first run. `baseline` is the reference scheme of the costs; without
    /// it, or without a run of it, no costs are shown.
    ///
    /// # Errors
    /// If there is no run, or none has the flow.
    pub fn new(
        runs: Vec<(String, Run)>,
        focus: Option<&str>,
        baseline: Option<&str>,
    ) -> Result<Self, ReportError> {
        let mut schemes: Vec<SchemeRuns> = Vec::new();
        for (name, run) in runs {
            match schemes.iter_mut().find(|scheme| scheme.name == name) {
                Some(scheme) => scheme.runs.push(run),
                None => schemes.push(SchemeRuns { name, runs: vec![run] }),
            }
        }
        if schemes.is_empty() {
            return Err(ReportError::NoRun);
        }
        let comparison = Self {
            schemes,
            focus: String::new(),
            baseline: None,
            facts: Facts::default(),
            flows: Groups::default(),
            stations: Groups::default(),
            tried: Vec::new(),
            next: None,
        };
        let known = comparison.flow_names();
        let focus = match focus {
            None => known.first().cloned().unwrap_or_default(),
            Some(wanted) if known.iter().any(|flow| flow == wanted) => wanted.to_owned(),
            Some(wanted) => {
                return Err(ReportError::UnknownFlow { wanted: wanted.to_owned(), known: known.join(", ") });
            }
        };
        let baseline = baseline
            .filter(|name| comparison.schemes.iter().any(|scheme| scheme.name == **name))
            .map(str::to_owned);
        Ok(Self { focus, baseline, ..comparison }.grouped())
    }

    /// The same with facts of the scenario, which the verdict needs, and by which flows and stations are put into groups.
    #[must_use]
    pub fn with_facts(self, facts: Facts) -> Self {
        Self { facts, ..self }.grouped()
    }

    /// The same with a sentence of other measurements of the same run, which joins the verdict of the page.
    #[must_use]
    pub fn with_remark(mut self, sentence: &str) -> Self {
        self.tried.push(sentence.to_owned());
        self
    }

    /// The same with a sentence on another thing to try, at the end of the page, that leads to an address.
    #[must_use]
    pub fn with_next(self, sentence: &str, address: &str) -> Self {
        Self { next: Some((sentence.to_owned(), address.to_owned())), ..self }
    }

    /// The same with every member of a group on its own.
    #[must_use]
    pub fn with_members(mut self) -> Self {
        self.facts.flows.iter_mut().for_each(|flow| flow.group.clone_from(&flow.name));
        self.facts.stations.clear();
        self.grouped()
    }

    /// Puts flows and stations into groups: those of one entry, kind and direction.
    fn grouped(mut self) -> Self {
        let entries: BTreeMap<&str, &str> =
            self.facts.flows.iter().map(|flow| (flow.name.as_str(), flow.group.as_str())).collect();
        let entry = |name: &'_ str| entries.get(name).copied();
        let sort = |flow: &FlowSummary| match flow.direction {
            Direction::Downlink => format!("{} down", flow.kind),
            Direction::Uplink => format!("{} up", flow.kind),
        };
        let runs = || self.schemes.iter().flat_map(SchemeRuns::summaries);
        let flows = runs().flat_map(|summary| &summary.flows);
        let flows = Groups::new(
            flows.map(|flow| (flow.name.as_str(), entry(&flow.name).unwrap_or(&flow.name), sort(flow))),
        );
        let entries: BTreeMap<&str, &str> =
            self.facts.stations.iter().map(|(name, entry)| (name.as_str(), entry.as_str())).collect();
        let stations = runs().flat_map(|summary| &summary.stations).map(|station| station.name.as_str());
        let stations = Groups::new(
            stations.map(|name| (name, entries.get(name).copied().unwrap_or(name), String::new())),
        );
        (self.flows, self.stations) = (flows, stations);
        self
    }

    /// The group of the flow in focus; `None` without flows.
    pub(crate) fn focus(&self) -> Option<&Group> {
        self.flows.of(&self.focus)
    }

    /// Name and members of each group of flows, that of the flow in focus first.
    #[must_use]
    pub fn flow_groups(&self) -> Vec<(String, Vec<String>)> {
        self.focus_first().map(|group| (group.name.clone(), group.members.clone())).collect()
    }

    /// The groups of flows, that of the flow in focus first.
    pub(crate) fn focus_first(&self) -> impl Iterator<Item = &Group> {
        self.focus().into_iter().chain(self.others())
    }

    /// The groups of the other flows.
    pub(crate) fn others(&self) -> impl Iterator<Item = &Group> {
        let focus = self.focus();
        self.flows.all().iter().filter(move |group| !focus.is_some_and(|focus| group.is(focus)))
    }

    /// The scheme that costs count against.
    pub(crate) fn base(&self) -> Option<&SchemeRuns> {
        self.schemes.iter().find(|scheme| Some(&scheme.name) == self.baseline.as_ref())
    }

    /// Name of a scheme, marked if it is the default of several.
    pub(crate) fn labelled(&self, scheme: &SchemeRuns) -> String {
        if Some(&scheme.name) == self.baseline.as_ref() && self.schemes.len() > 1 {
            format!("{} (default)", scheme.name)
        } else {
            scheme.name.clone()
        }
    }

    /// The summaries of a scheme, one for each seed; none if it was not compared.
    pub fn summaries_of(&self, scheme: &str) -> impl Iterator<Item = &Summary> {
        self.schemes.iter().filter(move |known| known.name == scheme).flat_map(SchemeRuns::summaries)
    }

    /// Names of the schemes, in order of first appearance.
    pub fn schemes(&self) -> impl Iterator<Item = &str> {
        self.schemes.iter().map(|scheme| scheme.name.as_str())
    }

    /// Name of the scenario, or of all scenarios.
    #[must_use]
    pub fn scenario(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for summary in self.schemes.iter().flat_map(SchemeRuns::summaries) {
            if !names.contains(&summary.scenario.as_str()) {
                names.push(&summary.scenario);
            }
        }
        names.join(", ")
    }

    /// Names of all flows, in order of appearance.
    pub(crate) fn flow_names(&self) -> Vec<String> {
        let mut known = BTreeSet::new();
        let flows = self.schemes.iter().flat_map(SchemeRuns::summaries).flat_map(|summary| &summary.flows);
        flows.filter(|flow| known.insert(flow.name.as_str())).map(|flow| flow.name.clone()).collect()
    }

    /// The largest number of runs of a scheme.
    pub(crate) fn seeds(&self) -> usize {
        self.schemes.iter().map(|scheme| scheme.runs.len()).max().unwrap_or(0)
    }
}

/// Change in per cent of a value, each seed against the same seed of the default scheme.
pub(crate) fn relative_change(
    scheme: &SchemeRuns,
    base: &SchemeRuns,
    value: impl Fn(&Summary) -> Option<f64>,
) -> Option<Spread> {
    Spread::of(scheme.summaries().map(|summary| {
        let reference = base.summaries().find(|candidate| candidate.seed == summary.seed)?;
        let reference = value(reference).filter(|reference| *reference > 0.0)?;
        Some(100.0 * (value(summary)? / reference - 1.0))
    }))
}
