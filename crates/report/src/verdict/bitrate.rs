//! Bitrate that an adaptive sender gives up for its own latency, and utility that a session does: costs of what the demands are about.

use airbound_record::Summary;

use super::cost::Cost;
use super::judged::{Judged, spared};
use super::keep::mean;
use crate::comparison::{Comparison, SchemeRuns, is_adaptive};
use crate::grid::Spread;
use crate::groups::Group;

/// Name of the utility among the costs.
const SESSION: &str = "the session";

/// Adds what each scheme takes from adaptive senders that are judged by a latency, and of the utility of a session with demands.
pub(super) fn add(comparison: &Comparison, judged: &mut [Judged]) {
    let demanding: Vec<&Group> = comparison.demanding().collect();
    let has_demands = !demanding.is_empty();
    let subjects = if has_demands { demanding } else { spared(comparison).into_iter().collect() };
    for group in subjects.into_iter().filter(|group| comparison.example(group).is_some_and(is_adaptive)) {
        let goodput = |summary: &Summary| comparison.goodput_of(summary, group);
        add_lost(comparison, judged, &group.name, &goodput);
    }
    if has_demands {
        add_lost(comparison, judged, SESSION, &|summary| Some(summary.session.as_ref()?.utility));
    }
}

/// Adds the shares lost of the most that a scheme which keeps all demands gives; if none does, of what the default gives.
fn add_lost(
    comparison: &Comparison,
    judged: &mut [Judged],
    name: &str,
    value: &dyn Fn(&Summary) -> Option<f64>,
) {
    let base = comparison.base().map(|base| base.name.as_str());
    let given = |scheme: &SchemeRuns| {
        let values: Vec<f64> = scheme.summaries().filter_map(value).collect();
        Some((mean(&values), Spread::of(values.iter().copied().map(Some))?))
    };
    let given: Vec<Option<(f64, Spread)>> = comparison.schemes.iter().map(given).collect();
    let all = || judged.iter().zip(&given).filter_map(|(judged, given)| Some((judged, (*given)?)));
    let keeps = |judged: &Judged| judged.keeping.is_some() && judged.keeps_all();
    let keeps = all().filter(|(judged, _)| keeps(judged)).map(|(_, given)| given);
    let most = keeps.reduce(|most, other| if other.0 > most.0 { other } else { most });
    let default = || all().find(|(judged, _)| Some(judged.scheme.as_str()) == base).map(|(_, given)| given);
    let Some((most, spread)) = most.or_else(default).filter(|(most, _)| *most > 0.0) else { return };
    for (judged, given) in judged.iter_mut().zip(&given) {
        let Some((mean, own)) = given else { continue };
        // The default is left for no chance of the seeds.
        let is_chance = Some(judged.scheme.as_str()) == base && own.high >= spread.low;
        let lost = 1.0 - mean / most;
        judged.costs.retain(|cost| cost.flow != name);
        if lost > 0.0 && !is_chance {
            judged.costs.push(Cost { flow: name.to_owned(), lost });
        }
        judged.costs.sort_by(|one, other| other.lost.total_cmp(&one.lost));
    }
}
