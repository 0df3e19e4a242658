//! Changes of demands while packets are held.

use airbound_control::queue::Demand;
use airbound_units::{Instant, Span};

use super::{Decision, Engine, set_demand};
use crate::control::{Changed, Request};
use crate::error::AgentError;

impl Engine {
    /// Changes the demand of a rule and of all its flows. Held packets keep their places.
    ///
    /// # Errors
    /// No rule has the name, or the queue cannot accept the demand; nothing is changed then.
    pub fn change_demand_of(&mut self, now: Instant, request: &Request) -> Result<Changed, AgentError> {
        self.advance(now);
        let place = self.config.rules.iter().position(|rule| rule.name == request.rule);
        let place = place.ok_or_else(|| self.no_rule(&request.rule))?;
        let before = self.config.rules[place].demand;
        let latency = request.latency.unwrap_or(before.latency());
        let demand = Demand::new(latency, request.percentile.unwrap_or(before.percentile()))?;
        if let Some(demands) = self.link.queue().demands() {
            demands.check(&demand)?;
        }
        self.config.rules[place].demand = demand;
        let of_rule = |rule: u16| usize::from(rule) == place;
        let flows: Vec<_> =
            self.flows.protected().filter(|(_, _, rule)| of_rule(*rule)).map(|(flow, _, _)| flow).collect();
        for flow in &flows {
            set_demand(self.link.queue_mut(), self.now, *flow, Some(demand))?;
            self.last_reported.forget_flow(*flow);
        }
        let period = self.measures.change(self.now, place, demand).unwrap_or_default();
        self.out.decisions.push(Decision::DemandChanged {
            rule: request.rule.clone(),
            demand: latency,
            percentile: demand.percentile(),
            before: before.latency(),
            before_percentile: before.percentile(),
            met_s: period.seconds_met,
            of_s: period.seconds,
            measured: period.measured_ms.map(|ms| Span::from_nanos((ms * 1e6) as u64)),
            flows: flows.len(),
        });
        self.release();
        Ok(Changed {
            rule: request.rule.clone(),
            demand_ms: latency.as_millis_f64(),
            percentile: demand.percentile(),
            before: period,
        })
    }

    fn no_rule(&self, name: &str) -> AgentError {
        let known: Vec<&str> = self.config.rules.iter().map(|rule| rule.name.as_str()).collect();
        AgentError::Value(match known.as_slice() {
            [] => format!("there is no rule {name:?}: the agent runs without rules"),
            known => format!("there is no rule {name:?}; there are {}", known.join(", ")),
        })
    }
}
