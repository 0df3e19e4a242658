//! Runs for the tests of the verdict.

use std::collections::BTreeMap;

use airbound_record::{
    AirSummary, ApplicationFlow, DemandSummary, Direction, EmulationSummary, FlowSummary, Jain, LatencyStats,
    Lateness, PacketCounts, Scheme, StationSummary, Summary,
};

use crate::comparison::Comparison;
use crate::run::Run;

/// A run under construction.
#[derive(Clone)]
pub(crate) struct Made {
    name: String,
    summary: Summary,
    stages: Vec<(String, [f64; 6])>,
}

impl Made {
    pub(crate) fn new(name: &str, seed: u64) -> Self {
        let summary = Summary {
            airbound: String::new(),
            scenario: "made".to_owned(),
            scheme: Scheme { queue: name.to_owned(), ..Scheme::default() },
            seed,
            duration_s: 20.0,
            flows: Vec::new(),
            stations: Vec::new(),
            air: AirSummary { busy_share: 0.5, collision_rate: Some(0.05) },
            jain: Jain::default(),
            session: None,
            networks: Vec::new(),
            emulation: None,
        };
        Self { name: name.to_owned(), summary, stages: Vec::new() }
    }

    fn with(mut self, name: &str, kind: &str, mbps: f64, p95: f64, demand: Option<DemandSummary>) -> Self {
        self.summary.flows.push(FlowSummary {
            name: name.to_owned(),
            kind: kind.to_owned(),
            station: "phone".to_owned(),
            direction: Direction::Downlink,
            offered_mbps: mbps,
            goodput_mbps: mbps,
            latency_ms: LatencyStats { p95: Some(p95), ..LatencyStats::default() },
            rtt_ms: None,
            rpm: None,
            loss_rate: Some(0.0),
            packets: PacketCounts { sent: 20_000, delivered: 20_000, dropped: 0, queued: 0 },
            drops: BTreeMap::new(),
            fps: None,
            frame_latency_ms: None,
            stall_rate: None,
            rtc: None,
            demand,
            found: None,
        });
        self
    }

    /// A stream with a demand of 20 ms.
    pub(crate) fn vr(self, p95: f64, met: f64) -> Self {
        let demand = DemandSummary {
            latency_ms: 20.0,
            percentile: 95.0,
            measured_ms: Some(p95),
            met_share: Some(met),
        };
        self.with("vr", "vr", 45.0, p95, Some(demand))
    }

    /// Another stream with a demand of 20 ms.
    pub(crate) fn stream(self, name: &str, p95: f64) -> Self {
        let demand = DemandSummary {
            latency_ms: 20.0,
            percentile: 95.0,
            measured_ms: Some(p95),
            met_share: Some(1.0),
        };
        self.with(name, "cbr", 4.0, p95, Some(demand))
    }

    /// An uplink stream with a demand of 20 ms.
    pub(crate) fn uplink(self, p95: f64) -> Self {
        self.stream("camera", p95).change("camera", |flow| flow.direction = Direction::Uplink)
    }

    /// Kind of traffic of a flow.
    pub(super) fn kind(self, flow: &str, kind: &str) -> Self {
        self.change(flow, |flow| flow.kind = kind.to_owned())
    }

    /// Takes the demands away.
    pub(super) fn without_demand(mut self) -> Self {
        self.summary.flows.iter_mut().for_each(|flow| flow.demand = None);
        self
    }

    /// The rate control.
    pub(super) fn rate(mut self, name: &str) -> Self {
        self.summary.scheme.rate = name.to_owned();
        self
    }

    /// Frames of a flow, a second.
    pub(super) fn frames(self, flow: &str, fps: f64) -> Self {
        self.change(flow, |flow| flow.fps = Some(fps))
    }

    /// Share of late frames of a flow.
    pub(super) fn stalls(self, flow: &str, share: f64) -> Self {
        self.change(flow, |flow| flow.stall_rate = Some(share))
    }

    pub(crate) fn call(self, p95: f64) -> Self {
        self.with("call", "voip", 2.0, p95, None)
    }

    pub(crate) fn download(self, mbps: f64) -> Self {
        self.with("download", "tcp", mbps, 100.0, None)
    }

    fn change(mut self, flow: &str, change: impl Fn(&mut FlowSummary)) -> Self {
        self.summary.flows.iter_mut().filter(|known| known.name == flow).for_each(change);
        self
    }

    pub(crate) fn goodput(self, flow: &str, mbps: f64) -> Self {
        self.change(flow, |flow| flow.goodput_mbps = mbps)
    }

    pub(super) fn offer(self, flow: &str, mbps: f64) -> Self {
        self.change(flow, |flow| flow.offered_mbps = mbps)
    }

    /// Marks the run as one of real programs.
    pub(crate) fn emulated(mut self) -> Self {
        let lateness = Lateness::default();
        self.summary.emulation = Some(EmulationSummary {
            counts: true,
            late_share: Some(0.0),
            class: "fifo".to_owned(),
            first: lateness,
            last: lateness,
            packets: 1000,
            aggregates: 100,
            slips: 0,
            slipped_s: 0.0,
            device_drops: None,
            marked: 0,
            strays: 0,
            steal_share: None,
            processors: 0.5,
            spinning: 0.25,
            system: None,
            flows: vec![ApplicationFlow { name: "program".to_owned(), ..Default::default() }],
        });
        self
    }

    pub(super) fn p99(self, flow: &str, ms: f64) -> Self {
        self.change(flow, |flow| flow.latency_ms.p99 = Some(ms))
    }

    pub(crate) fn loss(self, flow: &str, rate: f64) -> Self {
        self.change(flow, |flow| flow.loss_rate = Some(rate))
    }

    pub(super) fn drops(self, flow: &str, reason: &str) -> Self {
        self.change(flow, |flow| flow.drops = BTreeMap::from([(reason.to_owned(), 1)]))
    }

    pub(super) fn packets(self, flow: &str, count: u64) -> Self {
        self.change(flow, |flow| (flow.packets.sent, flow.packets.delivered) = (count, count))
    }

    pub(super) fn air(mut self, busy_share: f64, collision_rate: f64) -> Self {
        self.summary.air = AirSummary { busy_share, collision_rate: Some(collision_rate) };
        self
    }

    pub(super) fn station(mut self, name: &str, airtime: f64, ampdu: f64, retry: f64, rate: f64) -> Self {
        self.summary.stations.push(StationSummary {
            name: name.to_owned(),
            airtime_share: airtime,
            mean_ampdu: Some(ampdu),
            retry_rate: Some(retry),
            mean_phy_rate_mbps: Some(rate),
        });
        self
    }

    /// Mean time of a flow's packets in each stage, ms.
    pub(super) fn stages(mut self, flow: &str, means: [f64; 6]) -> Self {
        self.stages.push((flow.to_owned(), means));
        self
    }
}

pub(crate) fn compared(made: Vec<Made>, focus: &str, baseline: &str) -> Comparison {
    let run = |made: Made| {
        let run = Run::from_summary(made.summary);
        (made.name, made.stages.iter().fold(run, |run, (flow, means)| run.with_stages(flow, *means)))
    };
    Comparison::new(made.into_iter().map(run).collect(), Some(focus), Some(baseline)).expect("runs")
}

/// A comparison of one run.
pub(crate) fn one_run() -> Comparison {
    compared(vec![Made::new("fifo", 1).vr(30.0, 0.5)], "vr", "fifo")
}
