//! `protect = "auto"`: demands for flows that nobody named.

use std::collections::BTreeMap;

use airbound_units::{ByteCount, Instant, Span};
use serde::{Deserialize, Serialize};

use super::demand::Demand;
use crate::classify::{Change, ClassifierConfig, FlowClassifier, Pattern};
use crate::error::ConfigError;
use crate::frame::FlowId;

/// Choice of the protected flows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protect {
    /// Flows of which a latency is demanded by name, as in the paper.
    #[default]
    Named,
    /// Those, and every flow that a classifier takes for a low-latency elephant. Not in the paper.
    Auto,
}

/// Demand on flows without a configured one, and how they are found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AutoConfig {
    /// Latency that is demanded: 20 ms, as of the paper's VR stream. As of any demand up to 10 s.
    pub latency: Span,
    /// Percentile that shall keep to it, in percent: 95. Above 0, up to 100.
    pub percentile: f64,
    /// Criteria of such a flow.
    pub classifier: ClassifierConfig,
}

impl Default for AutoConfig {
    fn default() -> Self {
        Self { latency: Span::from_millis(20), percentile: 95.0, classifier: ClassifierConfig::default() }
    }
}

impl AutoConfig {
    /// The demand of a flow that is found.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if there is no such demand.
    pub(super) fn demand(&self) -> Result<Demand, ConfigError> {
        Demand::new(self.latency, self.percentile)
    }
}

/// Finds flows and keeps apart whom it protects from those who are protected by name.
#[derive(Debug, Clone)]
pub(super) struct AutoProtection {
    classifier: FlowClassifier,
    demand: Demand,
    /// Flows whose demand is from here, since when.
    chosen: BTreeMap<FlowId, Instant>,
}

impl AutoProtection {
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub(super) fn new(config: AutoConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            classifier: FlowClassifier::new(config.classifier)?,
            demand: config.demand()?,
            chosen: BTreeMap::new(),
        })
    }

    /// The demand of those that are found.
    pub(super) const fn demand(&self) -> Demand {
        self.demand
    }

    /// A packet enters the queue; `is_named` if its flow has a demand of its own. The flow's demand is to be set (true), taken away
    /// (false), or left as it is.
    pub(super) fn on_packet(
        &mut self,
        now: Instant,
        flow: FlowId,
        size: ByteCount,
        is_named: bool,
    ) -> Option<bool> {
        match self.classifier.on_packet(now, flow, size)? {
            Change::Found(_) if is_named => None,
            Change::Found(_) => {
                self.chosen.insert(flow, now);
                Some(true)
            }
            Change::Lost => self.chosen.remove(&flow).map(|_| false),
        }
    }

    /// A flow that fell silent, whose demand is to be taken away.
    pub(super) fn next_silent(&mut self, now: Instant) -> Option<FlowId> {
        while let Some(flow) = self.classifier.next_silent(now) {
            if self.chosen.remove(&flow).is_some() {
                return Some(flow);
            }
        }
        None
    }

    /// A flow's demand was set (true) or removed by name. Returns whether the demand of found flows takes its place.
    pub(super) fn on_named(&mut self, now: Instant, flow: FlowId, has_demand: bool) -> bool {
        let is_found = !has_demand && self.classifier.pattern(flow).is_some();
        if is_found {
            self.chosen.entry(flow).or_insert(now);
        } else {
            self.chosen.remove(&flow);
        }
        is_found
    }

    /// Since when a flow is protected for its pattern, and what that is; `None` if it is not.
    pub(super) fn reason(&self, flow: FlowId) -> Option<(Instant, Pattern)> {
        let since = *self.chosen.get(&flow)?;
        Some((since, self.classifier.pattern(flow)?))
    }
}
