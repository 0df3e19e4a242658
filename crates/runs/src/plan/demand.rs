//! Latency demands of flows.

use airbound_scenario::{Flow, Scenario};
use airbound_units::Span;

use super::subject::Subject;

/// A latency demand of one flow: the LAST-PQ paper's ld at the percentile beta (Sec. IV).
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// Name of the flow.
    pub flow: String,
    /// The latency from the sender over the wire to the acknowledgement.
    pub latency: Span,
    /// The percentile that it bounds: above 0, below 100.
    pub percentile: f64,
}

/// The range of demanded latencies.
const LATENCIES: std::ops::RangeInclusive<Span> = Span::from_millis(1)..=Span::from_secs(10);

/// Errors of a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A demand's text is malformed.
    #[error(
        "--demand {text}: {problem}; allowed are FLOW=LATENCY and FLOW=LATENCY@PERCENTILE, such as vr=20ms@95"
    )]
    Demand {
        /// The demand's text.
        text: String,
        /// The problem.
        problem: String,
    },
    /// The flow cannot have a demand.
    #[error("the demand of flow {flow} cannot be planned: {problem}")]
    Flow {
        /// The flow.
        flow: String,
        /// The reason.
        problem: String,
    },
    /// The scenario has no demand.
    #[error("the scenario demands nothing; add a demand with --demand FLOW=20ms@95 (flows: {flows})")]
    Nothing {
        /// The flows of the scenario.
        flows: String,
    },
    /// A value of the scheme is out of range.
    #[error("the scheme cannot be planned: {problem}")]
    Scheme {
        /// The value and its range.
        problem: String,
    },
}

impl Demand {
    /// The demands in a scenario; of a demand that changes over time the strictest. A scenario states the part of the access point, to
    /// which the longest delay of the flow's wire is added.
    #[must_use]
    pub fn of(scenario: &Scenario) -> Vec<Self> {
        let strictest = |flow: &Flow| {
            let steps = flow.demand.iter().flat_map(|schedule| schedule.steps());
            steps.filter_map(|(_, demand)| *demand).min_by_key(|demand| demand.latency())
        };
        let subjects = Subject::all(scenario);
        let each = subjects.iter().filter_map(|subject| Some((&subject.flow, strictest(&subject.flow)?)));
        each.map(|(flow, demand)| Self {
            flow: flow.name.clone(),
            latency: demand.latency() + flow.wire.delay + flow.wire.jitter,
            percentile: demand.percentile(),
        })
        .collect()
    }

    /// Reads `FLOW=20ms` or `FLOW=20ms@95`.
    ///
    /// # Errors
    /// [`PlanError::Demand`] if it is not of that form, or a value is out of range.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let wrong = |problem: &str| PlanError::Demand { text: text.to_owned(), problem: problem.to_owned() };
        let (flow, value) = text.split_once('=').ok_or_else(|| wrong("no = found"))?;
        if flow.is_empty() {
            return Err(wrong("no flow before ="));
        }
        let (latency, percentile) = value.split_once('@').unwrap_or((value, "95"));
        let latency: Span = latency
            .trim()
            .parse()
            .map_err(|_| wrong(&format!("\"{latency}\" is not a time with a unit, such as 20ms")))?;
        if !LATENCIES.contains(&latency) {
            return Err(wrong("the latency is out of range; allowed is 1 ms to 10 s"));
        }
        let percentile: f64 = percentile
            .trim()
            .parse()
            .ok()
            .filter(|percentile| (1.0..=99.99).contains(percentile))
            .ok_or_else(|| {
                wrong(&format!("the percentile is \"{percentile}\"; allowed is a number from 1 to 99.99"))
            })?;
        Ok(Self { flow: flow.to_owned(), latency, percentile })
    }
}

/// The demands with their flows, in the order of the scenario. A group's name stands for all its members; the last demand of a flow
/// applies.
pub(super) fn of_flows(scenario: &Scenario, demands: &[Demand]) -> Result<Vec<(Subject, Demand)>, PlanError> {
    let subjects = Subject::all(scenario);
    let mut found: Vec<(usize, Demand)> = Vec::new();
    for demand in demands {
        let refused = |problem: String| PlanError::Flow { flow: demand.flow.clone(), problem };
        let members: Vec<usize> = (0..subjects.len())
            .filter(|&index| {
                let flow = &subjects[index].flow;
                flow.name == demand.flow || flow.group == demand.flow
            })
            .collect();
        if members.is_empty() {
            return Err(refused(format!("there is no such flow; flows are {}", names(&subjects))));
        }
        for index in members {
            let flow = &subjects[index].flow;
            found.retain(|(other, _)| *other != index);
            found.push((index, Demand { flow: flow.name.clone(), ..demand.clone() }));
        }
    }
    if found.is_empty() {
        return Err(PlanError::Nothing { flows: names(&subjects) });
    }
    found.sort_by_key(|(index, _)| *index);
    Ok(found.into_iter().map(|(index, demand)| (subjects[index].clone(), demand)).collect())
}

fn names(subjects: &[Subject]) -> String {
    let mut names: Vec<&str> = subjects.iter().map(|subject| subject.flow.name.as_str()).take(20).collect();
    if subjects.len() > names.len() {
        names.push("...");
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_demand_is_read() {
        let demand = Demand::parse("vr=20ms@99").expect("valid");
        assert_eq!(
            (demand.flow.as_str(), demand.latency, demand.percentile),
            ("vr", Span::from_millis(20), 99.0)
        );
        assert_eq!(Demand::parse("vr=8 ms").map(|demand| demand.percentile), Ok(95.0));
    }

    #[test]
    fn errors_name_the_problem() {
        for (text, part) in [
            ("vr", "no = found"),
            ("=20ms", "no flow"),
            ("vr=20", "not a time"),
            ("vr=0ms", "allowed is 1 ms"),
            ("vr=20ms@100", "percentile"),
            ("vr=20ms@NaN", "percentile"),
        ] {
            let message = Demand::parse(text).expect_err(text).to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
