//! The data of one run for reports.

use std::collections::BTreeMap;
use std::path::Path;

use airbound_record::{
    Component, DistributionRow, FlowLatency, HopRow, PacketRow, Performance, RunFolder, RunInfo, SeriesRow,
    Split, Stage, Summary, TableReader,
};
use airbound_units::Span;

use crate::error::ReportError;

/// Small connections that are left out of the tables and plots of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Folded {
    /// Their number.
    pub(crate) count: usize,
    /// Packets of the largest of them.
    pub(crate) most: u64,
}

/// The distributions of a run, by the number of the flow.
type Distributions = BTreeMap<(u32, Component), Distribution>;

/// One distribution, without what all of its rows repeat: a comparison holds those of all runs.
#[derive(Debug, Clone, Default)]
struct Distribution {
    mean: Span,
    /// Upper bounds, and numbers of samples.
    buckets: Vec<(Span, u64)>,
}

/// The data of one run. Its memory depends on the length of the time series, not on the number of packets.
#[derive(Debug, Clone)]
pub struct Run {
    /// The stable summary.
    pub summary: Summary,
    /// The resolved scenario; empty if the folder has none.
    pub scenario: String,
    /// Speed of the run, if the folder has it.
    pub performance: Option<Performance>,
    scheme: Option<String>,
    /// Numbers of flows in the tables, by name: the summary leaves out flows that carried nothing. Empty without tables.
    numbers: BTreeMap<String, u32>,
    /// Connections that were left out, if any.
    pub(crate) folded: Option<Folded>,
    distributions: Distributions,
    /// Sorted by flow, then by window.
    series: Vec<SeriesRow>,
}

impl Run {
    /// A run with a summary only, which gives tables but no plots.
    #[must_use]
    pub fn from_summary(summary: Summary) -> Self {
        Self {
            summary,
            scenario: String::new(),
            performance: None,
            scheme: None,
            numbers: BTreeMap::new(),
            folded: None,
            distributions: BTreeMap::new(),
            series: Vec::new(),
        }
    }

    /// The same with the windows of its flows over time.
    #[must_use]
    pub fn with_series(mut self, mut rows: Vec<SeriesRow>) -> Self {
        rows.sort_by_key(|row| (row.flow, row.window_start));
        self.series = rows;
        self
    }

    /// Reads a run's folder. Missing distributions are computed from its packets.
    ///
    /// # Errors
    /// If a required file is missing, or a file cannot be read.
    pub fn load(folder: &RunFolder) -> Result<Self, ReportError> {
        let mut run = Self::from_summary(folder.summary()?);
        if folder.existing("scenario.toml").is_some() {
            run.scenario = folder.scenario()?;
        }
        if folder.existing("performance.json").is_some() {
            run.performance = Some(folder.performance()?);
        }
        if let Some(path) = folder.existing("series.parquet") {
            let table = TableReader::<SeriesRow>::open(&path)?;
            run.note(table.info());
            run.series = table.collect::<Result<_, _>>()?;
        }
        if let Some(path) = folder.existing("distributions.parquet") {
            let table = TableReader::<DistributionRow>::open(&path)?;
            run.note(table.info());
            for row in table {
                run.add(&row?);
            }
        } else if let Some(path) = folder.existing("packets.parquet") {
            let hops = folder.existing("hops.parquet");
            run.distributions_of(&path, hops.as_deref())?.iter().for_each(|row| run.add(row));
        }
        // Flows are looked up one by one.
        run.series.sort_by_key(|row| row.flow);
        run.series.shrink_to_fit();
        run.distributions.values_mut().for_each(|one| one.buckets.shrink_to_fit());
        Ok(run)
    }

    /// The same with mean times of a flow in each stage, ms, over one packet.
    #[cfg(test)]
    pub(crate) fn with_stages(mut self, flow: &str, means: [f64; 6]) -> Self {
        let number = self.number(flow).expect("a flow");
        let total = means.iter().sum();
        let stages = Stage::ALL.map(Component::Stage).into_iter().zip(means);
        for (component, mean) in std::iter::once((Component::Latency, total)).chain(stages) {
            let mean = Span::from_secs_f64(mean / 1e3);
            self.add(&DistributionRow { flow: number, component, low: mean, high: mean, count: 1, mean });
        }
        self
    }

    fn add(&mut self, row: &DistributionRow) {
        let one = self.distributions.entry((row.flow, row.component)).or_default();
        one.mean = row.mean;
        one.buckets.push((row.high, row.count));
    }

    /// Notes the scheme, and the numbers of flows, that a table states.
    fn note(&mut self, info: &RunInfo) {
        if !info.scheme.is_empty() {
            self.scheme = Some(info.scheme.clone());
        }
        let named = (0..).zip(&info.flows).filter(|(_, name)| !name.is_empty());
        self.numbers = named.map(|(number, name)| (name.clone(), number)).collect();
    }

    fn distributions_of(
        &mut self,
        path: &Path,
        hops: Option<&Path>,
    ) -> Result<Vec<DistributionRow>, ReportError> {
        let table = TableReader::<PacketRow>::open(path)?;
        self.note(table.info());
        // Earlier hops of relayed packets are in a table of their own.
        let mut hops = hops.map_or_else(|| Ok(BTreeMap::new()), hops_by_packet)?;
        let mut flows = BTreeMap::<u32, FlowLatency>::new();
        for row in table {
            let row = row?;
            let before = hops.remove(&row.packet).unwrap_or_default();
            if let Some(split) = Split::over(&before, &row) {
                flows.entry(row.flow).or_default().record(&split);
            }
        }
        Ok(flows.iter().flat_map(|(number, flow)| flow.rows(*number)).collect())
    }

    /// The scheme's name, or the names in its slots.
    #[must_use]
    pub fn scheme(&self) -> String {
        self.scheme.clone().unwrap_or_else(|| {
            let scheme = &self.summary.scheme;
            let slots =
                [Some(&scheme.queue), Some(&scheme.rate), scheme.sender.as_ref(), scheme.session.as_ref()];
            slots.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" + ")
        })
    }

    /// Gives a flow another name.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if let Some(flow) = self.summary.flows.iter_mut().find(|flow| flow.name == from) {
            to.clone_into(&mut flow.name);
        }
        let applications = self.summary.emulation.iter_mut().flat_map(|emulation| &mut emulation.flows);
        applications.filter(|flow| flow.name == from).for_each(|flow| to.clone_into(&mut flow.name));
        if let Some(number) = self.numbers.remove(from) {
            self.numbers.insert(to.to_owned(), number);
        }
    }

    /// Number of a flow in the tables: by its name there, and of a run without tables its position in the summary.
    pub(crate) fn number(&self, flow: &str) -> Option<u32> {
        if !self.numbers.is_empty() {
            return self.numbers.get(flow).copied();
        }
        let position = self.summary.flows.iter().position(|summary| summary.name == flow)?;
        u32::try_from(position).ok()
    }

    /// The buckets of one distribution of a flow: upper bound and number of samples.
    pub(crate) fn buckets(&self, flow: u32, component: Component) -> impl Iterator<Item = (Span, u64)> + '_ {
        self.distributions.get(&(flow, component)).into_iter().flat_map(|one| one.buckets.iter().copied())
    }

    /// Mean time of a flow's packets in each stage, ms, and the number of packets.
    pub(crate) fn split(&self, flow: u32) -> Option<([f64; 6], u64)> {
        let count = self.buckets(flow, Component::Latency).map(|(_, count)| count).sum();
        let mean = |stage: Stage| {
            let one = self.distributions.get(&(flow, Component::Stage(stage)));
            one.map_or(0.0, |one| one.mean.as_millis_f64())
        };
        (count > 0).then(|| (Stage::ALL.map(mean), count))
    }

    /// The buckets of a component over several flows, shortest first: upper bound and number of samples.
    pub(crate) fn merged<'a>(
        flows: impl Iterator<Item = (&'a Self, u32)>,
        component: Component,
    ) -> Vec<(Span, u64)> {
        let mut buckets: Vec<(Span, u64)> =
            flows.flat_map(|(run, flow)| run.buckets(flow, component)).collect();
        buckets.sort_by_key(|(high, _)| *high);
        buckets.dedup_by(|(high, count), (kept, sum)| {
            let is_same = high == kept;
            *sum += if is_same { *count } else { 0 };
            is_same
        });
        buckets
    }

    /// Quantile of the time that packets of several flows spend in queues, ms, over all of them; `None` without packets.
    pub(crate) fn queueing<'a>(flows: impl Iterator<Item = (&'a Self, u32)>, quantile: f64) -> Option<f64> {
        let buckets = Self::merged(flows, Component::Stage(Stage::Queueing));
        let rank = quantile * buckets.iter().map(|(_, count)| count).sum::<u64>() as f64;
        let mut seen = 0;
        let reached = buckets.into_iter().find(|(_, count)| {
            seen += count;
            seen as f64 >= rank
        });
        reached.map(|(high, _)| high.as_millis_f64())
    }

    /// The windows of one flow in order.
    pub(crate) fn windows(&self, flow: u32) -> &[SeriesRow] {
        let first = self.series.partition_point(|row| row.flow < flow);
        let last = self.series.partition_point(|row| row.flow <= flow);
        self.series.get(first..last).unwrap_or_default()
    }
}

/// The hops of each packet that ended at relays, in order.
fn hops_by_packet(path: &Path) -> Result<BTreeMap<u64, Vec<HopRow>>, ReportError> {
    let mut hops = BTreeMap::<u64, Vec<HopRow>>::new();
    for hop in TableReader::<HopRow>::open(path)? {
        let hop = hop?;
        hops.entry(hop.packet).or_default().push(hop);
    }
    Ok(hops)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::test_runs::one_run;

    #[test]
    fn flows_are_found_in_tables_by_their_names() {
        let mut run = one_run().schemes[0].runs[0].clone();
        assert_eq!(run.number("vr"), Some(0), "without tables by position");
        let flows = ["own", "", "other", "", "vr"].map(str::to_owned).to_vec();
        run.note(&RunInfo { flows, ..RunInfo::default() });
        // Its place in the summary is the first.
        assert_eq!((run.number("vr"), run.number("own"), run.number("")), (Some(4), Some(0), None));
    }
}
