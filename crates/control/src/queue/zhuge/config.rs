//! The configuration of a [`super::Zhuge`] queue.

use airbound_units::{BitRate, Span};
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::super::FqCodelAirtimeConfig;
use crate::error::ConfigError;

/// Length of a slot of the measurement (`kTxBytesListInterval`).
pub(super) const SLOT: Span = Span::from_millis(1);

/// Configuration of a [`super::Zhuge`] queue. The defaults are those of the public code (`network-queue-zhuge.cc` and `delta-delay.cc` of
/// `transys-project/zhuge`, revision `1a73f1cb`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ZhugeConfig {
    /// The queueing of mac80211 below: order and drops are its own.
    pub linux: FqCodelAirtimeConfig,
    /// Past over which departures are measured: 200 ms, five of the frame intervals of `fec-emulate.cc`, 40 ms each
    /// (`kTxBytesListWindow`). 10 ms to 10 s.
    pub window: Span,
    /// Least rate of departures (`kMinTxRateBps`): 512 kb/s. 1 kbit/s to 1 Gbit/s.
    pub least_rate: BitRate,
    /// A backlog that leaves within this time, and has not shrunk, may leave in one aggregate, and delays nothing by itself
    /// (`kAmpduMaxWaitMs`): 5 ms. Up to 1 s.
    pub aggregate: Span,
    /// Age up to which growths of the predicted delay are given to acknowledgements (`m_historyLen`): 40 ms. 1 ms to 10 s.
    pub history: Span,
    /// Longest delay of an acknowledgement, and of a growth (`kMaxActualDelay`): 10 ms. Up to 1 s.
    pub most_hold: Span,
    /// Time from a packet until the feedback about it leaves the access point (`Sendback`): 1 ms. Up to 1 s.
    pub report_after: Span,
    /// Categories whose TCP flows are real-time ones, so that their acknowledgements are delayed: `vi` and `vo`. The paper's access point
    /// is told of its flows.
    pub acknowledgements: Vec<Category>,
}

impl Default for ZhugeConfig {
    fn default() -> Self {
        Self {
            linux: FqCodelAirtimeConfig::default(),
            window: Span::from_millis(200),
            least_rate: BitRate::from_kbps(512),
            aggregate: Span::from_millis(5),
            history: Span::from_millis(40),
            most_hold: Span::from_millis(10),
            report_after: Span::from_millis(1),
            acknowledgements: vec![Category::Vi, Category::Vo],
        }
    }
}

impl ZhugeConfig {
    /// Number of slots in the window.
    pub(super) fn slots(&self) -> usize {
        self.window.div_floor(SLOT) as usize
    }

    /// Checks the values that the queue below does not check.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let (millis, second) = (Span::from_millis, Span::from_secs(1));
        let window = (millis(10)..=second * 10).contains(&self.window);
        ConfigError::check(window, "window", self.window, "10 ms to 10 s")?;
        let rate = (BitRate::from_kbps(1)..=BitRate::from_mbps(1000)).contains(&self.least_rate);
        ConfigError::check(rate, "least-rate", self.least_rate, "1 kbit/s to 1 Gbit/s")?;
        ConfigError::check(self.aggregate <= second, "aggregate", self.aggregate, "0 ms to 1 s")?;
        let history = (millis(1)..=second * 10).contains(&self.history);
        ConfigError::check(history, "history", self.history, "1 ms to 10 s")?;
        ConfigError::check(self.most_hold <= second, "most-hold", self.most_hold, "0 ms to 1 s")?;
        ConfigError::check(self.report_after <= second, "report-after", self.report_after, "0 ms to 1 s")
    }
}
