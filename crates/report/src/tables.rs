//! The tables of a comparison, a row for each group of flows.

use std::collections::BTreeMap;

use airbound_record::{
    DemandSummary, FlowSummary, LatencyStats, NetworkSummary, RtcSummary, StationSummary, Summary,
};

use crate::comparison::{Comparison, SchemeRuns, is_transfer, relative_change};
use crate::grid::{Cell, Grid, NOTHING, Spread, change, spread};
use crate::groups::Group;
use crate::members::Value;

/// Reads a quantile of a latency.
type Quantile = fn(&LatencyStats) -> Option<f64>;

const LATENCIES: [(&str, Quantile); 4] = [
    ("p50 ms", |latency| latency.p50),
    ("p95 ms", |latency| latency.p95),
    ("p99 ms", |latency| latency.p99),
    ("p99.9 ms", |latency| latency.p999),
];

fn percent(share: Option<f64>) -> Option<f64> {
    share.map(|share| 100.0 * share)
}

impl Comparison {
    fn cell(&self, scheme: &SchemeRuns, group: &Group, value: Value<'_>) -> Cell {
        spread(self.band(scheme, group, value))
    }

    fn latencies(&self, scheme: &SchemeRuns, group: &Group) -> impl Iterator<Item = Cell> {
        LATENCIES
            .map(|(_, quantile)| self.cell(scheme, group, &|flow| quantile(&flow.latency_ms)))
            .into_iter()
    }

    /// Whether a flow of the group has the value under any scheme.
    pub(crate) fn any(&self, group: &Group, value: Value<'_>) -> bool {
        self.schemes.iter().any(|scheme| self.band(scheme, group, value).is_some())
    }

    /// Pairs of a group and a scheme.
    fn pairs<'a>(
        &'a self,
        groups: impl Iterator<Item = &'a Group>,
    ) -> impl Iterator<Item = (&'a Group, &'a SchemeRuns)> {
        groups.flat_map(|group| self.schemes.iter().map(move |scheme| (group, scheme)))
    }

    /// The words on medians and ranges below a table of values over the seeds.
    pub(crate) fn seed_note(&self) -> String {
        if self.seeds() > 1 {
            "Median, and lowest–highest, over the seeds.".to_owned()
        } else {
            String::new()
        }
    }

    /// The same below a table of groups.
    fn note<'a>(&self, mut groups: impl Iterator<Item = &'a Group>) -> String {
        if groups.any(Group::is_many) {
            let seeds = if self.seeds() > 1 { " and the seeds" } else { "" };
            format!("×: a group, with the median over its members{seeds} and the band that holds 90 % of them. {}", self.seed_note())
                .trim_end()
                .to_owned()
        } else {
            self.seed_note()
        }
    }

    /// One row for each scheme, with the results of the flow in focus.
    #[must_use]
    pub fn headline(&self) -> Grid {
        let Some(focus) = self.focus() else {
            return Grid::new("No flow", &["scheme"], 1);
        };
        let video = self.any(focus, &|flow| flow.fps);
        // Video has columns of frames; transfers have round trips, as in other tools' reports.
        let round_trips = !video && self.any(focus, &|flow| flow.rtt_ms?.p50);
        let mut columns = vec!["scheme", "goodput Mb/s"];
        columns.extend(LATENCIES.map(|(name, _)| name));
        if round_trips {
            columns.extend(["RTT p50 ms", "RTT p95 ms", "RPM"]);
        }
        columns.push("loss %");
        if video {
            columns.push("FPS");
        }
        let is_fair = self.has_flows_of_one_kind();
        if is_fair {
            columns.push("Jain");
        }
        let kind = if focus.is_many() { "Flows" } else { "Flow" };
        let mut grid = Grid::new(format!("{kind} {}", focus.label()), &columns, 1);
        for scheme in &self.schemes {
            let cell = |value: Value<'_>| self.cell(scheme, focus, value);
            let mut row = vec![self.labelled(scheme).into(), cell(&|flow| Some(flow.goodput_mbps))];
            row.extend(self.latencies(scheme, focus));
            if round_trips {
                row.push(cell(&|flow| flow.rtt_ms?.p50));
                row.push(cell(&|flow| flow.rtt_ms?.p95));
                row.push(cell(&|flow| flow.rpm));
            }
            row.push(cell(&|flow| percent(flow.loss_rate)));
            if video {
                row.push(cell(&|flow| flow.fps));
            }
            if is_fair {
                row.push(spread(scheme.spread(|summary| summary.jain.goodput)));
            }
            grid.rows.push(row);
        }
        grid.note = self.note(std::iter::once(focus));
        grid
    }

    /// The change of the other flows under each scheme against the default scheme; `None` without a default or other flows.
    #[must_use]
    pub fn costs(&self) -> Option<Grid> {
        let base = self.base()?;
        if self.others().next().is_none() || self.schemes.len() < 2 {
            return None;
        }
        let mut grid = Grid::new(
            format!("What it costs the other flows, against {}", base.name),
            &["flow", "scheme", "goodput Mb/s", "change %", "p95 ms", "change %"],
            2,
        );
        for (group, scheme) in self.pairs(self.others()) {
            let against = |value: &dyn Fn(&Summary) -> Option<f64>| {
                let against = (scheme.name != base.name).then(|| relative_change(scheme, base, value));
                change(against.flatten())
            };
            let goodput = |summary: &Summary| self.goodput_of(summary, group);
            let p95 = |summary: &Summary| self.middle_of(summary, group, &|flow| flow.latency_ms.p95);
            grid.rows.push(vec![
                group.label().into(),
                self.labelled(scheme).into(),
                spread(scheme.spread(goodput)),
                against(&goodput),
                spread(scheme.spread(p95)),
                against(&p95),
            ]);
        }
        let groups = "×: a group, with the goodput of all members together and the median p95 of them.";
        let groups = if self.others().any(Group::is_many) { groups } else { "" };
        grid.note = format!("{groups} {}", self.seed_note()).trim().to_owned();
        Some(grid)
    }

    /// The latency demands and their results under each scheme; `None` without demands.
    #[must_use]
    pub fn demands(&self) -> Option<Grid> {
        let demanding = || self.focus_first().filter(|group| self.has_demand(group));
        let mut columns = vec!["flow", "scheme", "percentile", "demanded ms", "measured ms"];
        columns.push("seconds in which it was met %");
        let seconds = |scheme: &SchemeRuns, group: &Group| self.demand_seconds(scheme, group);
        let are_few = self.pairs(demanding()).any(|(group, scheme)| seconds(scheme, group).is_some());
        if are_few {
            columns.push("of seconds");
        }
        let title = "Latency demands, from entering the queue to the acknowledgement";
        let mut grid = Grid::new(title, &columns, 2);
        for (group, scheme) in self.pairs(demanding()) {
            let cell = |value: fn(DemandSummary) -> Option<f64>| {
                self.cell(scheme, group, &|flow| value(flow.demand?))
            };
            let mut row = vec![
                group.label().into(),
                self.labelled(scheme).into(),
                cell(|demand| Some(demand.percentile)),
                cell(|demand| Some(demand.latency_ms)),
                cell(|demand| demand.measured_ms),
                cell(|demand| percent(demand.met_share)),
            ];
            if are_few {
                let count = seconds(scheme, group).map(|seconds| seconds.to_string());
                row.push(count.unwrap_or_else(|| NOTHING.to_owned()).into());
            }
            grid.rows.push(row);
        }
        let aside = if demanding().count() > self.demanding().count() {
            "The verdict is about the programs.".to_owned()
        } else {
            String::new()
        };
        let notes = self.starving().chain([aside, self.note(demanding())]).filter(|note| !note.is_empty());
        grid.note = notes.collect::<Vec<_>>().join(" ");
        (!grid.rows.is_empty()).then_some(grid)
    }

    /// The groups with a latency demand, that of the flow in focus first.
    ///
    /// Where the focus is a real program's, those of simulated flows beside it do not count.
    pub(crate) fn demanding(&self) -> impl Iterator<Item = &Group> {
        let is_about_programs = self.focus().is_some_and(|focus| self.is_program(focus));
        let demanding = self.focus_first().filter(|group| self.has_demand(group));
        demanding.filter(move |group| !is_about_programs || self.is_program(group))
    }

    fn has_demand(&self, group: &Group) -> bool {
        self.any(group, &|flow| Some(flow.demand?.latency_ms))
    }

    /// A sentence for each scheme under which demands are missed and other flows starve, because the protected traffic exceeds the
    /// capacity.
    fn starving(&self) -> impl Iterator<Item = String> + '_ {
        /// Share of seconds that met the demand below which it counts as missed.
        const MET: f64 = 0.5;
        /// Share of the protected flow's goodput below which a flow counts as starved.
        const LITTLE: f64 = 0.05;
        self.schemes.iter().filter_map(|scheme| {
            let median =
                |group: &Group, value: Value<'_>| self.middle(scheme, group, value).map(|found| found.median);
            let groups = self.flows.all();
            let missed = groups.iter().find(|group| {
                median(group, &|flow| flow.demand?.met_share).is_some_and(|share| share < MET)
            })?;
            let protected = median(missed, &|flow| Some(flow.goodput_mbps))?;
            // Only transfers, whose rate adapts.
            let transfer = |flow: &FlowSummary| {
                (is_transfer(flow) && flow.demand.is_none()).then_some(flow.goodput_mbps)
            };
            let (starved, rate) = groups
                .iter()
                .filter_map(|group| Some((group, median(group, &transfer)?)))
                .find(|(_, rate)| *rate < LITTLE * protected)?;
            Some(format!(
                "Under {} {} misses its demand and {} is left with {rate:.2} Mb/s: what is protected asks for more than \
                 the air carries. Bound its rate, or demand less.",
                scheme.name, missed.name, starved.name
            ))
        })
    }

    /// Real-time video under each scheme; `None` without such flows.
    #[must_use]
    pub fn videos(&self) -> Option<Grid> {
        type Read = fn(&RtcSummary) -> Option<f64>;
        const CELLS: [(&str, Read); 5] = [
            ("Mb/s", |video| Some(video.bitrate_mbps)),
            ("missed %", |video| percent(video.deadline_miss_rate)),
            ("lossy %", |video| percent(video.frames_lossy_share)),
            ("very %", |video| percent(video.frames_over_20pct_loss_share)),
            ("resent %", |video| percent(video.frames_retransmitted_share)),
        ];
        const QUANTILES: [Quantile; 3] =
            [|latency| latency.p50, |latency| latency.p99, |latency| latency.p999];
        let mut columns = vec!["flow", "scheme", "p50 ms", "p99 ms", "p99.9 ms"];
        columns.extend(CELLS.map(|(name, _)| name));
        let mut grid = Grid::new("Real-time video", &columns, 2);
        let videos = || {
            let all = self.flows.all().iter();
            all.filter(|group| self.any(group, &|flow| Some(flow.rtc?.bitrate_mbps)))
        };
        for (group, scheme) in self.pairs(videos()) {
            let mut row = vec![group.label().into(), self.labelled(scheme).into()];
            row.extend(
                QUANTILES.map(|of| self.cell(scheme, group, &|flow| of(flow.frame_latency_ms.as_ref()?))),
            );
            row.extend(CELLS.map(|(_, of)| self.cell(scheme, group, &|flow| of(flow.rtc.as_ref()?))));
            grid.rows.push(row);
        }
        let seeds = self.note(videos());
        grid.note = format!(
            "Latency of frames until they can be decoded; bitrate of coded video; frames that missed their deadline; that lost a packet \
             in the network; that lost more than a fifth of their packets; that a retransmission completed. {seeds}"
        );
        (!grid.rows.is_empty()).then_some(grid)
    }

    /// All flows under all schemes.
    #[must_use]
    pub fn flow_table(&self) -> Grid {
        let groups = self.flows.all();
        let video = groups.iter().any(|group| self.any(group, &|flow| flow.fps));
        let mut columns = vec!["flow", "scheme", "offered Mb/s", "goodput Mb/s"];
        columns.extend(LATENCIES.map(|(name, _)| name));
        columns.extend(["max ms", "loss %"]);
        if video {
            columns.extend(["FPS", "frame p95 ms", "stall %"]);
        }
        let mut grid = Grid::new("Flows", &columns, 2);
        for (group, scheme) in self.pairs(groups.iter()) {
            let cell = |value: Value<'_>| self.cell(scheme, group, value);
            let mut row = vec![
                group.label().into(),
                scheme.name.clone().into(),
                cell(&|flow| Some(flow.offered_mbps)),
                cell(&|flow| Some(flow.goodput_mbps)),
            ];
            row.extend(self.latencies(scheme, group));
            row.push(cell(&|flow| flow.latency_ms.max));
            row.push(cell(&|flow| percent(flow.loss_rate)));
            if video {
                row.push(cell(&|flow| flow.fps));
                row.push(cell(&|flow| flow.frame_latency_ms?.p95));
                row.push(cell(&|flow| percent(flow.stall_rate)));
            }
            grid.rows.push(row);
        }
        grid.note = self.note_on_all();
        grid
    }

    /// The words below a table of all groups.
    fn note_on_all(&self) -> String {
        let of_session = if self.any_session() {
            "Latencies of clients of a session are from the server, or to it."
        } else {
            ""
        };
        let notes = [self.folded_note(), of_session.to_owned(), self.note(self.flows.all().iter())];
        notes.into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The members of each group, with few figures of each under every scheme.
    pub(crate) fn member_tables(&self) -> Vec<Grid> {
        type Read = fn(&FlowSummary) -> Option<f64>;
        const FIGURES: [(&str, Read); 3] = [
            ("Mb/s", |flow| Some(flow.goodput_mbps)),
            ("p95 ms", |flow| flow.latency_ms.p95),
            ("loss %", |flow| percent(flow.loss_rate)),
        ];
        let names: Vec<String> = self
            .schemes
            .iter()
            .flat_map(|scheme| FIGURES.map(|(name, _)| format!("{} {name}", scheme.name)))
            .collect();
        let columns: Vec<&str> = std::iter::once("flow").chain(names.iter().map(String::as_str)).collect();
        let table = |group: &Group| {
            let mut grid = Grid::new(format!("Members of {}", group.name), &columns, 1);
            let mut values = BTreeMap::<&str, Vec<Vec<Option<f64>>>>::new();
            let empty = vec![Vec::new(); names.len()];
            for (place, scheme) in self.schemes.iter().enumerate() {
                for flow in self.members(scheme, group) {
                    let of_flow = values.entry(&flow.name).or_insert_with(|| empty.clone());
                    for (figure, (_, read)) in FIGURES.iter().enumerate() {
                        of_flow[FIGURES.len() * place + figure].push(read(flow));
                    }
                }
            }
            for name in &group.members {
                let Some(columns) = values.remove(name.as_str()) else { continue };
                let medians = columns.into_iter().map(|seeds| {
                    let median = Spread::of(seeds.into_iter()).map(|found| found.median);
                    median.map_or(NOTHING.to_owned(), crate::grid::number).into()
                });
                grid.rows.push(std::iter::once(name.clone().into()).chain(medians).collect());
            }
            if self.seeds() > 1 {
                grid.note = "Medians over the seeds.".to_owned();
            }
            grid
        };
        self.flows.all().iter().filter(|group| group.is_many()).map(table).collect()
    }

    /// Packets of all flows by fate, with the reasons of drops.
    #[must_use]
    pub fn packets(&self) -> Grid {
        let columns = ["flow", "scheme", "drops by reason", "sent", "delivered", "dropped", "queued"];
        let mut grid = Grid::new("Packets", &columns, 3);
        for (group, scheme) in self.pairs(self.flows.all().iter()) {
            let total = |value: fn(&FlowSummary) -> u64| {
                self.members(scheme, group).map(value).sum::<u64>().to_string().into()
            };
            let mut reasons = BTreeMap::<&str, u64>::new();
            for (reason, count) in self.members(scheme, group).flat_map(|flow| &flow.drops) {
                *reasons.entry(reason).or_default() += count;
            }
            let reasons: Vec<String> =
                reasons.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
            grid.rows.push(vec![
                group.label().into(),
                scheme.name.clone().into(),
                if reasons.is_empty() { NOTHING.into() } else { reasons.join(", ").into() },
                total(|flow| flow.packets.sent),
                total(|flow| flow.packets.delivered),
                total(|flow| flow.packets.dropped),
                total(|flow| flow.packets.queued),
            ]);
        }
        let is_many = self.flows.all().iter().any(Group::is_many);
        grid.note = match (is_many, self.seeds() > 1) {
            (false, false) => String::new(),
            (true, false) => "Sums over the members.".to_owned(),
            (false, true) => "Sums over the seeds.".to_owned(),
            (true, true) => "Sums over the members and the seeds.".to_owned(),
        };
        grid
    }

    /// All stations under all schemes.
    #[must_use]
    pub fn station_table(&self) -> Grid {
        let columns =
            ["station", "scheme", "airtime %", "MPDUs per A-MPDU", "sent again %", "mean PHY rate Mb/s"];
        let mut grid = Grid::new("Stations", &columns, 2);
        let groups = self.stations.all();
        for (group, scheme) in self.pairs(groups.iter()) {
            let cell = |value: fn(&StationSummary) -> Option<f64>| {
                let all = scheme.summaries().flat_map(|summary| summary.stations.iter().enumerate());
                let own = all.filter(|(place, station)| self.stations.has(group, *place, &station.name));
                let values = own.map(|(_, station)| value(station));
                spread(if group.is_many() { Spread::of_members(values) } else { Spread::of(values) })
            };
            grid.rows.push(vec![
                group.label().into(),
                scheme.name.clone().into(),
                cell(|station| Some(100.0 * station.airtime_share)),
                cell(|station| station.mean_ampdu),
                cell(|station| percent(station.retry_rate)),
                cell(|station| station.mean_phy_rate_mbps),
            ]);
        }
        grid.note = self.note(groups.iter());
        grid
    }

    /// Whether the goodput of all flows can be compared: several of one kind in one direction. A call and a download share nothing
    /// fairly.
    fn has_flows_of_one_kind(&self) -> bool {
        self.schemes.iter().flat_map(SchemeRuns::summaries).all(|summary| {
            let mut flows = summary.flows.iter().map(|flow| (flow.kind.as_str(), flow.direction));
            let first = flows.next();
            summary.flows.len() > 1 && flows.all(|flow| Some(flow) == first)
        })
    }

    /// The channel and fairness under all schemes.
    #[must_use]
    pub fn air(&self) -> Grid {
        let is_fair = self.has_flows_of_one_kind();
        let mut columns = vec!["scheme", "busy %", "collisions %"];
        columns.extend(is_fair.then_some("Jain of goodput"));
        columns.push("Jain of airtime");
        let mut grid = Grid::new("Air", &columns, 1);
        for scheme in &self.schemes {
            let cell = |value: fn(&Summary) -> Option<f64>| spread(scheme.spread(value));
            let mut row = vec![
                scheme.name.clone().into(),
                cell(|summary| Some(100.0 * summary.air.busy_share)),
                cell(|summary| summary.air.collision_rate.map(|rate| 100.0 * rate)),
            ];
            row.extend(is_fair.then(|| cell(|summary| summary.jain.goodput)));
            row.push(cell(|summary| summary.jain.airtime));
            grid.rows.push(row);
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

    /// Text for a terminal, at most `width` columns wide: the verdict, the headline and the costs, or all flows of a single scheme; all networks.
    #[must_use]
    pub fn to_text(&self, width: u16) -> String {
        let mut grids = vec![self.headline()];
        let networks = self.networks();
        if self.schemes.len() == 1 && self.flows.all().len() > 1 {
            grids.push(self.every_flow());
        } else if let Some(headline) = grids.first_mut() {
            let notes = [headline.note.clone(), self.folded_note()];
            headline.note = notes.into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>().join(" ");
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

    /// The flows of a single scheme, one row for each group.
    fn every_flow(&self) -> Grid {
        let mut columns = vec!["flow", "goodput Mb/s"];
        columns.extend(LATENCIES.map(|(name, _)| name));
        columns.push("loss %");
        let mut grid = Grid::new("All flows", &columns, 1);
        let groups = self.flows.all();
        for (group, scheme) in self.pairs(groups.iter()) {
            let mut row =
                vec![group.label().into(), self.cell(scheme, group, &|flow| Some(flow.goodput_mbps))];
            row.extend(self.latencies(scheme, group));
            row.push(self.cell(scheme, group, &|flow| percent(flow.loss_rate)));
            grid.rows.push(row);
        }
        grid.note = self.note_on_all();
        grid
    }
}
