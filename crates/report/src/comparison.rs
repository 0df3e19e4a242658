//! Comparison of runs: schemes, each with one or more seeds.

use std::collections::BTreeSet;

use airbound_record::{DemandSummary, FlowSummary, LatencyStats, NetworkSummary, RtcSummary, Summary};

use crate::error::ReportError;
use crate::facts::Facts;
use crate::grid::{Grid, NOTHING, Spread, change, spread};
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

    fn flow_spread(&self, flow: &str, value: impl Fn(&FlowSummary) -> Option<f64>) -> Option<Spread> {
        self.spread(|summary| find(summary, flow).and_then(&value))
    }
}

fn percent(share: Option<f64>) -> Option<f64> {
    share.map(|share| 100.0 * share)
}

/// Whether it is a transfer that takes as much as it gets.
pub(crate) fn is_transfer(flow: &FlowSummary) -> bool {
    flow.kind == "tcp"
}

pub(crate) fn find<'a>(summary: &'a Summary, flow: &str) -> Option<&'a FlowSummary> {
    // Thousands of flows of a group differ in their last letters.
    let end = flow.as_bytes().last();
    summary
        .flows
        .iter()
        .find(|one| one.name.len() == flow.len() && one.name.as_bytes().last() == end && one.name == flow)
}

/// Reads a flow's value for a column of a table.
pub(crate) type Value = fn(&FlowSummary) -> Option<f64>;

/// Reads a quantile of a latency.
type Quantile = fn(&LatencyStats) -> Option<f64>;

const LATENCIES: [(&str, Quantile); 4] = [
    ("p50 ms", |latency| latency.p50),
    ("p95 ms", |latency| latency.p95),
    ("p99 ms", |latency| latency.p99),
    ("p99.9 ms", |latency| latency.p999),
];

/// Runs to be compared, and the flow in focus.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub(crate) schemes: Vec<SchemeRuns>,
    pub(crate) focus: String,
    pub(crate) baseline: Option<String>,
    pub(crate) facts: Facts,
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
        let comparison = Self { schemes, focus: String::new(), baseline: None, facts: Facts::default() };
        if comparison.schemes.is_empty() {
            return Err(ReportError::NoRun);
        }
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
        Ok(Self { focus, baseline, ..comparison })
    }

    /// The summaries of a scheme, one for each seed; none if it was not compared.
    pub fn summaries_of(&self, scheme: &str) -> impl Iterator<Item = &Summary> {
        self.schemes.iter().filter(move |known| known.name == scheme).flat_map(SchemeRuns::summaries)
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

    /// The largest number of runs of a scheme, over which a table cell summarises.
    pub(crate) fn seeds(&self) -> usize {
        self.schemes.iter().map(|scheme| scheme.runs.len()).max().unwrap_or(0)
    }

    pub(crate) fn seed_note(&self) -> String {
        if self.seeds() > 1 {
            "Median, and lowest–highest, over the seeds.".to_owned()
        } else {
            String::new()
        }
    }

    /// One row for each scheme, with the results of the flow in focus.
    #[must_use]
    pub fn headline(&self) -> Grid {
        let video = self.any(&self.focus, |flow| flow.fps);
        // Video has columns of frames; transfers have round trips, as in other tools' reports.
        let round_trips = !video && self.any(&self.focus, |flow| flow.rtt_ms.and_then(|rtt| rtt.p50));
        let mut columns = vec!["scheme", "goodput Mb/s"];
        columns.extend(LATENCIES.map(|(name, _)| name));
        if round_trips {
            columns.extend(["RTT p50 ms", "RTT p95 ms"]);
        }
        columns.push("loss %");
        if video {
            columns.push("FPS");
        }
        columns.push("Jain");
        let mut grid = Grid::new(format!("Flow {}", self.focus), &columns, 1);
        for scheme in &self.schemes {
            let flow =
                |value: &dyn Fn(&FlowSummary) -> Option<f64>| spread(scheme.flow_spread(&self.focus, value));
            let mut row = vec![self.labelled(scheme).into(), flow(&|flow| Some(flow.goodput_mbps))];
            row.extend(LATENCIES.iter().map(|(_, latency)| flow(&|flow| latency(&flow.latency_ms))));
            if round_trips {
                row.push(flow(&|flow| flow.rtt_ms.and_then(|rtt| rtt.p50)));
                row.push(flow(&|flow| flow.rtt_ms.and_then(|rtt| rtt.p95)));
            }
            row.push(flow(&|flow| flow.loss_rate.map(|rate| 100.0 * rate)));
            if video {
                row.push(flow(&|flow| flow.fps));
            }
            row.push(spread(scheme.spread(|summary| summary.jain.goodput)));
            grid.rows.push(row);
        }
        grid.note = self.seed_note();
        grid
    }

    /// The change of the other flows under each scheme against the default scheme; `None` without a default or other flows.
    #[must_use]
    pub fn costs(&self) -> Option<Grid> {
        let base = self.schemes.iter().find(|scheme| Some(&scheme.name) == self.baseline.as_ref())?;
        let others: Vec<String> = self.flow_names().into_iter().filter(|name| *name != self.focus).collect();
        if others.is_empty() || self.schemes.len() < 2 {
            return None;
        }
        let mut grid = Grid::new(
            format!("What it costs the other flows, against {}", base.name),
            &["flow", "scheme", "goodput Mb/s", "change %", "p95 ms", "change %"],
            2,
        );
        let goodput: Value = |flow| Some(flow.goodput_mbps);
        let p95: Value = |flow| flow.latency_ms.p95;
        for flow in &others {
            for scheme in &self.schemes {
                let against = |value: Value| {
                    let against =
                        (scheme.name != base.name).then(|| relative_change(scheme, base, flow, value));
                    change(against.flatten())
                };
                grid.rows.push(vec![
                    flow.clone().into(),
                    self.labelled(scheme).into(),
                    spread(scheme.flow_spread(flow, goodput)),
                    against(goodput),
                    spread(scheme.flow_spread(flow, p95)),
                    against(p95),
                ]);
            }
        }
        grid.note = self.seed_note();
        Some(grid)
    }

    /// The latency demands and their results under each scheme; `None` without demands.
    #[must_use]
    pub fn demands(&self) -> Option<Grid> {
        let mut grid = Grid::new(
            "Latency demands, from entering the queue to the acknowledgement",
            &["flow", "scheme", "percentile", "demanded ms", "measured ms", "seconds in which it was met %"],
            2,
        );
        for name in self.flow_names() {
            if !self.any(&name, |flow| flow.demand.map(|demand| demand.latency_ms)) {
                continue;
            }
            for scheme in &self.schemes {
                let cell = |value: &dyn Fn(&DemandSummary) -> Option<f64>| {
                    spread(scheme.flow_spread(&name, |flow: &FlowSummary| value(&flow.demand?)))
                };
                grid.rows.push(vec![
                    name.clone().into(),
                    self.labelled(scheme).into(),
                    cell(&|demand| Some(demand.percentile)),
                    cell(&|demand| Some(demand.latency_ms)),
                    cell(&|demand| demand.measured_ms),
                    cell(&|demand| demand.met_share.map(|share| 100.0 * share)),
                ]);
            }
        }
        let notes = self.starving().chain([self.seed_note()]).filter(|note| !note.is_empty());
        grid.note = notes.collect::<Vec<_>>().join(" ");
        (!grid.rows.is_empty()).then_some(grid)
    }

    /// A sentence for each scheme under which demands are missed and other flows starve, because the protected traffic exceeds the
    /// capacity.
    fn starving(&self) -> impl Iterator<Item = String> + '_ {
        /// Share of seconds that met the demand below which it counts as missed.
        const MET: f64 = 0.5;
        /// Share of the protected flow's goodput below which a flow counts as starved.
        const LITTLE: f64 = 0.05;
        self.schemes.iter().filter_map(|scheme| {
            let names = self.flow_names();
            let median = |name: &String, value: &dyn Fn(&FlowSummary) -> Option<f64>| {
                scheme.flow_spread(name, value).map(|spread| spread.median)
            };
            let missed = names.iter().find(|name| {
                median(name, &|flow| flow.demand?.met_share).is_some_and(|share| share < MET)
            })?;
            let protected = median(missed, &|flow| Some(flow.goodput_mbps))?;
            // Only transfers, whose rate adapts.
            let transfer = |flow: &FlowSummary| {
                (is_transfer(flow) && flow.demand.is_none()).then_some(flow.goodput_mbps)
            };
            let (starved, rate) = names
                .iter()
                .filter_map(|name| Some((name, median(name, &transfer)?)))
                .find(|(_, rate)| *rate < LITTLE * protected)?;
            Some(format!(
                "Under {} {missed} misses its demand and {starved} is left with {rate:.2} Mb/s: what is protected asks for more than \
                 the air carries. Bound its rate, or demand less.",
                scheme.name
            ))
        })
    }

    /// Real-time video under each scheme; `None` without such flows.
    #[must_use]
    pub fn videos(&self) -> Option<Grid> {
        type Cell = fn(&RtcSummary) -> Option<f64>;
        const CELLS: [(&str, Cell); 5] = [
            ("Mb/s", |video| Some(video.bitrate_mbps)),
            ("missed %", |video| percent(video.deadline_miss_rate)),
            ("lossy %", |video| percent(video.frames_lossy_share)),
            ("very %", |video| percent(video.frames_over_20pct_loss_share)),
            ("resent %", |video| percent(video.frames_retransmitted_share)),
        ];
        let mut columns = vec!["flow", "scheme", "p50 ms", "p99 ms", "p99.9 ms"];
        columns.extend(CELLS.map(|(name, _)| name));
        let mut grid = Grid::new("Real-time video", &columns, 2);
        for name in self.flow_names() {
            if !self.any(&name, |flow| flow.rtc.map(|video| video.bitrate_mbps)) {
                continue;
            }
            for scheme in &self.schemes {
                let cell =
                    |value: &dyn Fn(&FlowSummary) -> Option<f64>| spread(scheme.flow_spread(&name, value));
                let mut row = vec![name.clone().into(), self.labelled(scheme).into()];
                let quantiles: [Quantile; 3] =
                    [|latency| latency.p50, |latency| latency.p99, |latency| latency.p999];
                row.extend(quantiles.map(|of| cell(&|flow| flow.frame_latency_ms.as_ref().and_then(of))));
                row.extend(CELLS.map(|(_, of)| cell(&|flow| flow.rtc.as_ref().and_then(of))));
                grid.rows.push(row);
            }
        }
        let seeds = self.seed_note();
        grid.note = format!(
            "Latency of frames until they can be decoded; bitrate of coded video; frames that missed their deadline; that lost a packet \
             in the network; that lost more than a fifth of their packets; that a retransmission completed. {seeds}"
        );
        (!grid.rows.is_empty()).then_some(grid)
    }

    /// All flows under all schemes.
    #[must_use]
    pub fn flows(&self) -> Grid {
        let video = self.flow_names().iter().any(|flow| self.any(flow, |flow| flow.fps));
        let mut columns = vec!["flow", "scheme", "offered Mb/s", "goodput Mb/s"];
        columns.extend(LATENCIES.map(|(name, _)| name));
        columns.extend(["max ms", "loss %"]);
        if video {
            columns.extend(["FPS", "frame p95 ms", "stall %"]);
        }
        let mut grid = Grid::new("Flows", &columns, 2);
        for flow in self.flow_names() {
            for scheme in &self.schemes {
                let cell =
                    |value: &dyn Fn(&FlowSummary) -> Option<f64>| spread(scheme.flow_spread(&flow, value));
                let mut row = vec![
                    flow.clone().into(),
                    scheme.name.clone().into(),
                    cell(&|flow| Some(flow.offered_mbps)),
                    cell(&|flow| Some(flow.goodput_mbps)),
                ];
                row.extend(LATENCIES.iter().map(|(_, latency)| cell(&|flow| latency(&flow.latency_ms))));
                row.push(cell(&|flow| flow.latency_ms.max));
                row.push(cell(&|flow| flow.loss_rate.map(|rate| 100.0 * rate)));
                if video {
                    row.push(cell(&|flow| flow.fps));
                    row.push(cell(&|flow| flow.frame_latency_ms.and_then(|latency| latency.p95)));
                    row.push(cell(&|flow| flow.stall_rate.map(|rate| 100.0 * rate)));
                }
                grid.rows.push(row);
            }
        }
        grid.note = self.seed_note();
        grid
    }

    /// Packets of all flows by fate, with the reasons of drops.
    #[must_use]
    pub fn packets(&self) -> Grid {
        let columns = ["flow", "scheme", "drops by reason", "sent", "delivered", "dropped", "queued"];
        let mut grid = Grid::new("Packets", &columns, 3);
        for name in self.flow_names() {
            for scheme in &self.schemes {
                let flows = || scheme.summaries().filter_map(|summary| find(summary, &name));
                let total =
                    |value: fn(&FlowSummary) -> u64| flows().map(value).sum::<u64>().to_string().into();
                let mut reasons = std::collections::BTreeMap::<&str, u64>::new();
                for (reason, count) in flows().flat_map(|flow| &flow.drops) {
                    *reasons.entry(reason).or_default() += count;
                }
                let reasons: Vec<String> =
                    reasons.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
                grid.rows.push(vec![
                    name.clone().into(),
                    scheme.name.clone().into(),
                    if reasons.is_empty() { NOTHING.into() } else { reasons.join(", ").into() },
                    total(|flow| flow.packets.sent),
                    total(|flow| flow.packets.delivered),
                    total(|flow| flow.packets.dropped),
                    total(|flow| flow.packets.queued),
                ]);
            }
        }
        if self.seeds() > 1 {
            grid.note = "Sums over the seeds.".to_owned();
        }
        grid
    }

    /// All stations under all schemes.
    #[must_use]
    pub fn stations(&self) -> Grid {
        let columns =
            ["station", "scheme", "airtime %", "MPDUs per A-MPDU", "sent again %", "mean PHY rate Mb/s"];
        let mut grid = Grid::new("Stations", &columns, 2);
        let mut names: Vec<&str> = Vec::new();
        for station in self.schemes.iter().flat_map(SchemeRuns::summaries).flat_map(|s| &s.stations) {
            if !names.contains(&station.name.as_str()) {
                names.push(&station.name);
            }
        }
        for name in names {
            for scheme in &self.schemes {
                let cell = |value: fn(&airbound_record::StationSummary) -> Option<f64>| {
                    spread(scheme.spread(|summary| {
                        summary.stations.iter().find(|station| station.name == name).and_then(value)
                    }))
                };
                grid.rows.push(vec![
                    name.into(),
                    scheme.name.clone().into(),
                    cell(|station| Some(100.0 * station.airtime_share)),
                    cell(|station| station.mean_ampdu),
                    cell(|station| station.retry_rate.map(|rate| 100.0 * rate)),
                    cell(|station| station.mean_phy_rate_mbps),
                ]);
            }
        }
        grid.note = self.seed_note();
        grid
    }

    /// The channel and fairness under all schemes.
    #[must_use]
    pub fn air(&self) -> Grid {
        let columns = ["scheme", "busy %", "collisions %", "Jain of goodput", "Jain of airtime"];
        let mut grid = Grid::new("Air", &columns, 1);
        for scheme in &self.schemes {
            let cell = |value: fn(&Summary) -> Option<f64>| spread(scheme.spread(value));
            grid.rows.push(vec![
                scheme.name.clone().into(),
                cell(|summary| Some(100.0 * summary.air.busy_share)),
                cell(|summary| summary.air.collision_rate.map(|rate| 100.0 * rate)),
                cell(|summary| summary.jain.goodput),
                cell(|summary| summary.jain.airtime),
            ]);
        }
        grid.note = self.seed_note();
        grid
    }

    /// All networks under all schemes; `None` for a scenario of one network.
    pub(crate) fn networks(&self) -> Option<Grid> {
        let mut names: Vec<&str> = Vec::new();
        for network in
            self.schemes.iter().flat_map(SchemeRuns::summaries).flat_map(|summary| &summary.networks)
        {
            if !names.contains(&network.name.as_str()) {
                names.push(&network.name);
            }
        }
        if names.is_empty() {
            return None;
        }
        let columns = [
            "network",
            "scheme",
            "channel",
            "down Mb/s",
            "up Mb/s",
            "airtime %",
            "channel busy %",
            "collisions %",
        ];
        let mut grid = Grid::new("Networks", &columns, 2);
        for (name, scheme) in
            names.iter().flat_map(|name| self.schemes.iter().map(move |scheme| (name, scheme)))
        {
            let cell = |value: fn(&NetworkSummary) -> Option<f64>| {
                let of = |summary: &Summary| {
                    summary.networks.iter().find(|one| one.name == **name).and_then(value)
                };
                spread(scheme.spread(of))
            };
            // The same for all seeds.
            let channel = scheme.summaries().flat_map(|run| &run.networks).find(|one| one.name == **name);
            let channel = channel.map(|network| network.channel);
            grid.rows.push(vec![
                (*name).to_owned().into(),
                scheme.name.clone().into(),
                channel.map_or_else(|| NOTHING.to_owned(), |channel| channel.to_string()).into(),
                cell(|network| Some(network.downlink_mbps)),
                cell(|network| Some(network.uplink_mbps)),
                cell(|network| Some(100.0 * network.airtime_share)),
                cell(|network| Some(100.0 * network.air.busy_share)),
                cell(|network| network.air.collision_rate.map(|rate| 100.0 * rate)),
            ]);
        }
        for scheme in &self.schemes {
            let cell = |value: fn(&Summary) -> Option<f64>| spread(scheme.spread(value));
            grid.rows.push(vec![
                "all".to_owned().into(),
                scheme.name.clone().into(),
                NOTHING.to_owned().into(),
                cell(|summary| Some(summary.networks.iter().map(|network| network.downlink_mbps).sum())),
                cell(|summary| Some(summary.networks.iter().map(|network| network.uplink_mbps).sum())),
                NOTHING.to_owned().into(),
                cell(|summary| Some(100.0 * summary.air.busy_share)),
                cell(|summary| summary.air.collision_rate.map(|rate| 100.0 * rate)),
            ]);
        }
        grid.note = self.seed_note();
        Some(grid)
    }

    /// Text for a terminal, at most `width` columns wide: the verdict, the headline and the costs, or all flows of a single scheme, or all networks.
    #[must_use]
    pub fn to_text(&self, width: u16) -> String {
        let mut grids = vec![self.headline()];
        let networks = self.networks();
        if networks.is_none() && self.schemes.len() == 1 && self.flow_names().len() > 1 {
            grids.push(self.every_flow());
        }
        grids.extend(networks);
        grids.extend(self.videos());
        grids.extend(self.users());
        grids.extend(self.demands());
        grids.extend(self.costs());
        let verdict = self.verdict().to_text(width);
        let tables = grids.iter().map(|grid| grid.to_text(width));
        std::iter::once(verdict).filter(|text| !text.is_empty()).chain(tables).collect::<Vec<_>>().join("\n")
    }

    /// The flows of a single scheme, one row each.
    fn every_flow(&self) -> Grid {
        let mut columns = vec!["flow", "goodput Mb/s"];
        columns.extend(LATENCIES.map(|(name, _)| name));
        columns.push("loss %");
        let mut grid = Grid::new("All flows", &columns, 1);
        for (flow, scheme) in self.flow_names().iter().flat_map(|f| self.schemes.iter().map(move |s| (f, s)))
        {
            let cell = |value: &dyn Fn(&FlowSummary) -> Option<f64>| spread(scheme.flow_spread(flow, value));
            let mut row = vec![flow.clone().into(), cell(&|flow| Some(flow.goodput_mbps))];
            row.extend(LATENCIES.iter().map(|(_, latency)| cell(&|flow| latency(&flow.latency_ms))));
            row.push(cell(&|flow| flow.loss_rate.map(|rate| 100.0 * rate)));
            grid.rows.push(row);
        }
        grid
    }

    fn labelled(&self, scheme: &SchemeRuns) -> String {
        if Some(&scheme.name) == self.baseline.as_ref() && self.schemes.len() > 1 {
            format!("{} (default)", scheme.name)
        } else {
            scheme.name.clone()
        }
    }

    fn any(&self, flow: &str, value: Value) -> bool {
        self.schemes.iter().any(|scheme| scheme.flow_spread(flow, value).is_some())
    }
}

/// Change in per cent, each seed against the same seed of the default scheme.
pub(crate) fn relative_change(
    scheme: &SchemeRuns,
    base: &SchemeRuns,
    flow: &str,
    value: Value,
) -> Option<Spread> {
    Spread::of(scheme.summaries().map(|summary| {
        let reference = base.summaries().find(|candidate| candidate.seed == summary.seed)?;
        let reference = find(reference, flow).and_then(value).filter(|reference| *reference > 0.0)?;
        Some(100.0 * (find(summary, flow).and_then(value)? / reference - 1.0))
    }))
}
