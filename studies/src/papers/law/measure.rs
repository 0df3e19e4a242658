//! Figures of the runs of a setting, over seeds.

use super::setting::{BOUND, Setting};
use crate::Effort;
use crate::papers::digest::Digest;
use crate::papers::experiment::{Experiment, Measured, Results};

/// Seeds of most settings.
const SEEDS: u64 = 3;

/// A quick run is shorter.
pub(super) fn shortened(setting: Setting, effort: Effort) -> Setting {
    let seconds = if effort.quick { setting.seconds.min(20) } else { setting.seconds };
    Setting { seconds, ..setting }
}

/// The runs of a setting, with the digest of the packets of its first flow.
pub(super) fn runs(setting: Setting, effort: Effort) -> impl Iterator<Item = Experiment> {
    runs_of(setting, SEEDS, effort)
}

/// The same with so many seeds: each is another channel, the same for all schemes. A quick run has one.
pub(super) fn runs_of(setting: Setting, seeds: u64, effort: Effort) -> impl Iterator<Item = Experiment> {
    let setting = shortened(setting, effort);
    let seeds = if effort.quick { 1..=1 } else { 1..=seeds };
    seeds.map(move |seed| Experiment::digesting(setting.trial(seed), 0, Setting::measured_from(), BOUND))
}

/// The runs of a setting that were made.
pub(super) fn of(setting: Setting, effort: Effort, results: &Results) -> Vec<&Measured> {
    of_seeds(setting, SEEDS, effort, results)
}

/// The same of so many seeds.
pub(super) fn of_seeds(setting: Setting, seeds: u64, effort: Effort, results: &Results) -> Vec<&Measured> {
    runs_of(setting, seeds, effort).filter_map(|experiment| results.get(&experiment)).collect()
}

/// The packets of the first flow, all seeds together.
pub(super) fn digest(setting: Setting, effort: Effort, results: &Results) -> Digest {
    digest_of(setting, SEEDS, effort, results)
}

/// The same of so many seeds.
pub(super) fn digest_of(setting: Setting, seeds: u64, effort: Effort, results: &Results) -> Digest {
    let runs = runs_of(setting, seeds, effort).filter_map(|experiment| results.get(&experiment));
    Digest::merged(runs.filter_map(|run| run.digest.as_ref()))
}

/// The mean over runs.
pub(super) fn mean(runs: &[&Measured], value: impl Fn(&Measured) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = runs.iter().filter_map(|run| value(run)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The change in percent from `from` to `to`.
pub(super) fn change(from: Option<f64>, to: Option<f64>) -> Option<f64> {
    let (from, to) = (from?, to?);
    (from > 0.0).then(|| 100.0 * (to / from - 1.0))
}
