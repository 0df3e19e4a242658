//! The agent on the real Linux stack beside the simulator, for every flow of a demonstration.

use airbound_record::{FlowSummary, Summary};
use airbound_report::{Tolerance, ValidationRow};

use super::Demonstration;

/// Of goodput and of the median latency, as beside the kernel alone (`validate lab`).
const GOODPUT: Tolerance = Tolerance::Relative(0.10);
const LATENCY: Tolerance = Tolerance::Relative(0.25);

impl Demonstration {
    /// Goodput and median latency of each flow in the simulator, beside those with the agent.
    #[must_use]
    pub fn beside(self, agent: &Summary, simulated: &Summary) -> Vec<ValidationRow> {
        let flows = agent.flows.iter().map(|flow| {
            let other = simulated.flows.iter().find(|other| other.name == flow.name);
            self.beside_of(flow, other)
        });
        flows.flatten().collect()
    }

    fn beside_of(self, agent: &FlowSummary, simulated: Option<&FlowSummary>) -> [ValidationRow; 2] {
        let row = |what: &str, unit: &str, tolerance, of: fn(&FlowSummary) -> Option<f64>| {
            let metric = format!("{what}, {}", agent.name);
            let (reference, measured) = (of(agent), simulated.and_then(of));
            let note = format!("{:.2} % lost with the agent", 100.0 * agent.loss_rate.unwrap_or(0.0));
            ValidationRow::judged(self.name(), &metric, unit, reference, measured, Some(tolerance), note)
        };
        [
            row("goodput", "Mb/s", GOODPUT, |flow| Some(flow.goodput_mbps)),
            row("latency p50", "ms", LATENCY, |flow| flow.latency_ms.p50),
        ]
    }
}

#[cfg(test)]
mod tests {
    use airbound_report::Verdict;
    use airbound_scenario::{Overrides, Scenario};
    use airbound_sim::Run;

    use super::*;

    #[test]
    fn every_flow_is_judged_and_a_latency_from_below_the_agent_is_seen() {
        for one in Demonstration::ALL {
            let mut overrides = Overrides::none();
            for change in ["duration=\"1 s\"", "warm-up=\"1 s\""] {
                overrides.set(change).expect("a change");
            }
            let scenario = Scenario::open(one.scenario(), &overrides).expect("a shipped scenario");
            let run = Run::new(one.name(), &scenario, &scenario.scheme, 1).expect("a run");
            let simulated = run.finish().expect("balanced books").0.summary;
            let rows = one.beside(&simulated, &simulated);
            assert_eq!(rows.len(), 2 * scenario.flows.len());
            assert!(rows.iter().all(|row| row.verdict == Verdict::Held), "{rows:?}");

            // The record of before began below the agent: 5.7 ms for 44.7 simulated.
            let mut below = simulated.clone();
            for flow in &mut below.flows {
                flow.latency_ms.p50 = flow.latency_ms.p50.map(|p50| p50 / 8.0);
            }
            let missed = one.beside(&below, &simulated);
            let missed = missed.iter().filter(|row| row.verdict == Verdict::Missed).count();
            assert_eq!(missed, scenario.flows.len());
        }
    }
}
