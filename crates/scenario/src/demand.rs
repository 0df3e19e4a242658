//! `demand` of a flow: its latency demand, which may change over time.

use airbound_control::queue::Demand;
use airbound_units::Span;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use super::error::ScenarioError;
use super::node::{Node, Value};
use super::section::Section;

/// The percentile of a demand without one.
const DEFAULT_PERCENTILE: f64 = 95.0;

const FORM: &str = "allowed are a time such as \"20 ms\", a table such as { latency = \"20 ms\", percentile = 95 }, and a list \
                    of pairs such as [[\"0 s\", \"25 ms\"], [\"20 s\", \"none\"]]";

/// Latency demands of a flow, each with its start.
#[derive(Debug, Clone, PartialEq)]
pub struct DemandSchedule {
    /// Times from the beginning of the run, ascending; `None` ends a demand. At least one.
    steps: Vec<(Span, Option<Demand>)>,
}

impl DemandSchedule {
    /// One demand for the whole run.
    #[must_use]
    pub fn always(demand: Demand) -> Self {
        Self { steps: vec![(Span::ZERO, Some(demand))] }
    }

    /// The demands in order of time, each with its start, counted from the beginning of the run.
    #[must_use]
    pub fn steps(&self) -> &[(Span, Option<Demand>)] {
        &self.steps
    }

    /// Returns the demand at a time, counted from the beginning of the run.
    #[must_use]
    pub fn at(&self, time: Span) -> Option<Demand> {
        self.steps.iter().rev().find(|(from, _)| *from <= time).and_then(|(_, demand)| *demand)
    }

    /// Reads `demand`. `shortest` is the shortest latency that the scheme supports.
    pub(super) fn read(section: &Section<'_>, shortest: Span) -> Result<Option<Self>, ScenarioError> {
        let Some(node) = section.get("demand") else { return Ok(None) };
        let Value::List(items) = &node.value else {
            let demand = read_demand(section, node, shortest)?;
            return Ok(Some(Self { steps: vec![(Span::ZERO, demand)] }));
        };
        let wrong = |problem: &str| section.wrong("demand", format!("{problem}; {FORM}"));
        if items.is_empty() || items.len() > 1000 {
            return Err(wrong(&format!("has {} items; 1 to 1000 are allowed", items.len())));
        }
        let mut steps: Vec<(Span, Option<Demand>)> = Vec::with_capacity(items.len());
        for item in items {
            let Value::List(pair) = &item.value else { return Err(wrong("has an item that is not a pair")) };
            let [time, demand] = pair.as_slice() else {
                return Err(wrong(&format!("has an item with {} values", pair.len())));
            };
            let time: Span = section.parse_quantity("demand", time, "20 s")?;
            if steps.last().is_some_and(|(last, _)| *last >= time) {
                return Err(wrong(&format!("has the time {time} after a later or equal one")));
            }
            steps.push((time, read_demand(section, demand, shortest)?));
        }
        Ok(Some(Self { steps }))
    }
}

/// One demand: a time, a table, or "none".
fn read_demand(section: &Section<'_>, node: &Node, shortest: Span) -> Result<Option<Demand>, ScenarioError> {
    let (latency, percentile) = match &node.value {
        Value::Text(word) if word == "none" => return Ok(None),
        Value::Text(_) => (node, None),
        Value::Table(entries) => {
            let known = ["latency", "percentile"];
            if let Some((key, _)) = entries.iter().find(|(key, _)| !known.contains(&key.as_str())) {
                let key = super::node::shortened(key);
                return Err(section.wrong("demand", format!("has the unknown key {key}; {FORM}")));
            }
            let entry = |name: &str| entries.iter().find(|(key, _)| key == name).map(|(_, node)| node);
            let Some(latency) = entry("latency") else {
                return Err(section.wrong("demand", format!("has no latency; {FORM}")));
            };
            (latency, entry("percentile"))
        }
        other => return Err(section.wrong("demand", format!("is {}; {FORM}", other.describe()))),
    };
    let latency: Span = section.parse_quantity("demand", latency, "20 ms")?;
    let percentile = match percentile.map(|node| &node.value) {
        None => DEFAULT_PERCENTILE,
        Some(Value::Integer(number)) => *number as f64,
        Some(Value::Float(number)) => *number,
        Some(other) => {
            return Err(section.wrong("demand", format!("has the percentile {}; {FORM}", other.describe())));
        }
    };
    if !(shortest..=Demand::LONGEST).contains(&latency) {
        let problem = format!("is {latency}; allowed is {shortest} to {}", Demand::LONGEST);
        return Err(section.wrong("demand", problem));
    }
    let demand = Demand::new(latency, percentile);
    demand.map(Some).map_err(|error| section.wrong("demand", format!("is wrong: {error}")))
}

/// A demand in its written form.
#[derive(Serialize)]
struct Written {
    latency: Span,
    percentile: f64,
}

/// The text "none".
struct Nothing;

impl Serialize for Nothing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("none")
    }
}

impl Serialize for DemandSchedule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written =
            |demand: &Demand| Written { latency: demand.latency(), percentile: demand.percentile() };
        if let [(Span::ZERO, Some(demand))] = self.steps.as_slice() {
            return written(demand).serialize(serializer);
        }
        let mut list = serializer.serialize_seq(Some(self.steps.len()))?;
        for (time, demand) in &self.steps {
            match demand {
                Some(demand) => list.serialize_element(&(time, written(demand)))?,
                None => list.serialize_element(&(time, Nothing))?,
            }
        }
        list.end()
    }
}
