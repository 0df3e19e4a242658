//! Figures of the runs of a setting, over seeds.

use super::setting::Setting;
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};

/// Seeds of each setting: "each experiment consists of 5 runs" (Sec. III).
pub(super) fn seeds(effort: Effort) -> std::ops::RangeInclusive<u64> {
    if effort.quick { 1..=1 } else { 1..=5 }
}

/// A quick run is shorter.
pub(super) fn runs(setting: Setting, effort: Effort) -> impl Iterator<Item = Experiment> {
    let seconds = if effort.quick { setting.seconds.min(6) } else { setting.seconds };
    let setting = Setting { seconds, ..setting };
    seeds(effort).map(move |seed| Experiment::plain(setting.trial(seed)))
}

/// Latency, frame rate and goodput of the VR stream, mean over seeds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Vr {
    /// 95th percentile of the latency from the queue to the acknowledgement, ms.
    pub(super) p95: f64,
    /// The largest of the seeds.
    pub(super) worst_p95: f64,
    pub(super) fps: f64,
    pub(super) goodput: f64,
}

/// A percentile of a flow's latency from the queue to the acknowledgement.
pub(super) fn p95_of(run: &Measured, flow: &str) -> Option<f64> {
    let place = run.outcome.summary.flows.iter().position(|known| known.name == flow)?;
    run.outcome.wifi_latency.get(place)?.p95
}

/// The runs of a setting that were made.
pub(super) fn of(setting: Setting, effort: Effort, results: &Results) -> Vec<&Measured> {
    runs(setting, effort).filter_map(|experiment| results.get(&experiment)).collect()
}

/// The mean over runs.
pub(super) fn mean(runs: &[&Measured], value: impl Fn(&Measured) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = runs.iter().filter_map(|run| value(run)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the figures of the VR stream; `None` if a setting was not run.
pub(super) fn vr(setting: Setting, effort: Effort, results: &Results) -> Option<Vr> {
    let runs = of(setting, effort, results);
    let p95 = |run: &Measured| p95_of(run, "vr");
    Some(Vr {
        p95: mean(&runs, p95)?,
        worst_p95: runs.iter().filter_map(|run| p95(run)).reduce(f64::max)?,
        fps: mean(&runs, |run| run.outcome.summary.flows.first()?.fps)?,
        goodput: mean(&runs, |run| Some(run.outcome.summary.flows.first()?.goodput_mbps))?,
    })
}
