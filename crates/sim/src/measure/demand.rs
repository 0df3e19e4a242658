//! Fulfilment of latency demands.

use airbound_control::queue::Demand;
use airbound_record::{DemandSummary, LatencyHistogram, Resolution};
use airbound_units::{Instant, Span};

use airbound_scenario::DemandSchedule;

/// The demand is evaluated for each second.
const WINDOW: Span = Span::from_secs(1);

/// Compares the Wi-Fi latencies of a flow with its demand.
#[derive(Debug, Clone)]
pub(crate) struct DemandMeter {
    schedule: DemandSchedule,
    /// The demand of the last completion that had one, and the latencies since it was set.
    demand: Option<Demand>,
    latencies: LatencyHistogram,
    /// The current second, and its latencies.
    second: u64,
    window: Vec<Span>,
    windows: u64,
    met: u64,
}

impl DemandMeter {
    pub(crate) fn new(schedule: DemandSchedule) -> Self {
        Self {
            schedule,
            demand: None,
            latencies: LatencyHistogram::new(Resolution::Fine),
            second: 0,
            window: Vec::new(),
            windows: 0,
            met: 0,
        }
    }

    /// Notes a packet acknowledged at `now`. A packet held by a reordering buffer counts for the second in which it is
    /// reported.
    pub(super) fn on_completion(&mut self, now: Instant, latency: Span) {
        let now = now - Instant::ZERO;
        let second = now.div_floor(WINDOW);
        if second > self.second {
            self.close_window();
            self.second = second;
        }
        let demand = self.schedule.at(now);
        if demand != self.demand {
            self.close_window();
        }
        if demand.is_none() {
            // The last demand keeps its measurement.
            return;
        }
        if demand != self.demand {
            // Latencies under another demand do not count for this one.
            self.latencies.clear();
            self.demand = demand;
        }
        self.latencies.record(latency);
        self.window.push(latency);
    }

    fn close_window(&mut self) {
        if let Some(demand) = self.demand
            && let Some(measured) = demand.measure(&mut self.window)
        {
            self.windows += 1;
            self.met += u64::from(measured <= demand.latency());
        }
        self.window.clear();
    }

    /// Number of seconds with acknowledged packets so far, which the share of those that met the demand is of.
    pub(crate) fn seconds(&self) -> u64 {
        let mut last = self.clone();
        last.close_window();
        last.windows
    }

    /// Returns the result at the end of a run, if there was any demand.
    pub(super) fn summary(&self) -> Option<DemandSummary> {
        let mut last = self.clone();
        last.close_window();
        let demand =
            self.demand.or_else(|| self.schedule.steps().iter().rev().find_map(|(_, demand)| *demand))?;
        let measured = self.latencies.quantile(demand.percentile() / 100.0);
        Some(DemandSummary {
            latency_ms: demand.latency().as_millis_f64(),
            percentile: demand.percentile(),
            measured_ms: measured.map(Span::as_millis_f64),
            met_share: (last.windows > 0).then(|| last.met as f64 / last.windows as f64),
        })
    }
}
