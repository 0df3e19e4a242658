//! `protect = "auto"`: demands for flows without a configured one.

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
    /// Flows with a configured demand, as in the paper.
    #[default]
    Named,
    /// Flows with a configured demand, and every flow classified as a low-latency elephant. Not in the paper.
    Auto,
}

/// Demand on flows without a configured one, and the criteria for finding them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AutoConfig {
    /// Demanded latency: 20 ms, that of the paper's VR stream. The range is that of any demand, up to 10 s.
    pub latency: Span,
    /// Percentile of packets that has to meet it, in percent: 95. Above 0, up to 100.
    pub percentile: f64,
    /// Criteria of the classifier.
    pub classifier: ClassifierConfig,
}

impl Default for AutoConfig {
    fn default() -> Self {
        Self { latency: Span::from_millis(20), percentile: 95.0, classifier: ClassifierConfig::default() }
    }
}

impl AutoConfig {
    /// The demand of a found flow.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if the values are out of range.
    pub(super) fn demand(&self) -> Result<Demand, ConfigError> {
        Demand::new(self.latency, self.percentile)
    }
}

/// Finds flows, and tells the demands that it set from configured ones.
#[derive(Debug, Clone)]
pub(super) struct AutoProtection {
    classifier: FlowClassifier,
    demand: Demand,
    /// Flows whose demand was set automatically, and since when.
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

    /// The demand of found flows.
    pub(super) const fn demand(&self) -> Demand {
        self.demand
    }

    /// Notes a packet that enters the queue; `is_named` if its flow has a configured demand. Returns true to set the flow's demand,
    /// false to remove it, `None` to leave it.
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

    /// Returns a flow that fell silent and whose demand is to be removed.
    pub(super) fn next_silent(&mut self, now: Instant) -> Option<FlowId> {
        while let Some(flow) = self.classifier.next_silent(now) {
            if self.chosen.remove(&flow).is_some() {
                return Some(flow);
            }
        }
        None
    }

    /// Notes that the configured demand of a flow was set (true) or removed (false). Returns whether the automatic demand replaces
    /// it.
    pub(super) fn on_named(&mut self, now: Instant, flow: FlowId, has_demand: bool) -> bool {
        let is_found = !has_demand && self.classifier.pattern(flow).is_some();
        if is_found {
            self.chosen.entry(flow).or_insert(now);
        } else {
            self.chosen.remove(&flow);
        }
        is_found
    }

    /// Start of a flow's automatic protection, and its pattern; `None` if there is none.
    pub(super) fn reason(&self, flow: FlowId) -> Option<(Instant, Pattern)> {
        let since = *self.chosen.get(&flow)?;
        Some((since, self.classifier.pattern(flow)?))
    }
}
