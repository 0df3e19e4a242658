//! The answer of a sweep: the scheme that is best in most cells, metric by metric.

use airbound_report::number;

use super::Findings;
use crate::sweep::metric::METRICS;
use crate::sweep::point::Estimate;

/// A sentence for each metric of which it is known whether more is better; none of a single scheme.
pub(super) fn sentences(findings: &Findings) -> Vec<String> {
    let grid = &findings.plan.grid;
    if grid.schemes.len() < 2 {
        return Vec::new();
    }
    let known = |metric: usize| Some((metric, METRICS[grid.metrics[metric]].more_is_better?));
    let metrics = (0..grid.metrics.len()).filter_map(known);
    metrics.filter_map(|(metric, more)| sentence(findings, metric, more)).collect()
}

fn sentence(findings: &Findings, metric: usize, more: bool) -> Option<String> {
    let grid = &findings.plan.grid;
    let mut found = vec![Vec::new(); grid.schemes.len()];
    let (mut cells, mut close) = (0, 0);
    for cell in 0..grid.design.cells() {
        let of = |scheme| Some((scheme, findings.estimate(cell, scheme, metric)?));
        let estimates: Vec<(usize, Estimate)> = (0..grid.schemes.len()).filter_map(of).collect();
        if estimates.len() < 2 {
            continue;
        }
        cells += 1;
        match best(&estimates, more) {
            Some((scheme, mean)) => found[scheme].push(mean),
            None => close += 1,
        }
    }
    let mut ranking: Vec<(&String, &Vec<f64>)> =
        grid.schemes.iter().zip(&found).filter(|(_, means)| !means.is_empty()).collect();
    ranking.sort_by_key(|(_, means)| std::cmp::Reverse(means.len()));
    let named = |(place, (name, means)): (usize, &(&String, &Vec<f64>))| {
        let (low, high) =
            means.iter().fold((f64::MAX, f64::MIN), |(l, h), mean| (l.min(*mean), h.max(*mean)));
        let count = means.len();
        if place == 0 {
            let span = if count > 1 { format!("{} to {}", number(low), number(high)) } else { number(low) };
            format!("{name} is best in {count} of {cells} cells ({span})")
        } else {
            format!("{name} in {count}")
        }
    };
    let mut parts: Vec<String> = ranking.iter().enumerate().map(named).collect();
    if close > 0 {
        let these =
            if parts.is_empty() { format!("in {close} of {cells} cells") } else { format!("in {close}") };
        parts.push(format!("{these} the best is not told from the next"));
    }
    (cells > 0).then(|| format!("{}: {}.", findings.metric_title(metric), parts.join(", ")))
}

/// The scheme whose interval lies apart from those of all others, on the better side, with its mean. Without intervals means decide,
/// and equal ones tell nothing.
fn best(estimates: &[(usize, Estimate)], more: bool) -> Option<(usize, f64)> {
    let ends = |estimate: &Estimate| {
        let (low, high) = estimate.range.unwrap_or((estimate.mean, estimate.mean));
        if more { (-high, -low) } else { (low, high) }
    };
    estimates.iter().enumerate().find_map(|(place, (scheme, estimate))| {
        let worst = ends(estimate).1;
        let mut others = estimates.iter().enumerate().filter(|(other, _)| *other != place);
        others.all(|(_, (_, other))| worst < ends(other).0).then_some((*scheme, estimate.mean))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(low: f64, high: f64) -> Estimate {
        Estimate { mean: f64::midpoint(low, high), range: (low < high).then_some((low, high)) }
    }

    #[test]
    fn the_best_lies_apart_from_all_others() {
        let of = |ends: &[(f64, f64)], more| {
            let all: Vec<_> = ends.iter().map(|(low, high)| estimate(*low, *high)).enumerate().collect();
            best(&all, more)
        };
        assert_eq!(of(&[(10.0, 12.0), (4.0, 6.0), (7.0, 9.0)], false), Some((1, 5.0)));
        assert_eq!(of(&[(10.0, 12.0), (4.0, 6.0), (7.0, 9.0)], true), Some((0, 11.0)));
        // Intervals that touch tell nothing, and neither do equal runs of one seed.
        assert_eq!(of(&[(4.0, 7.0), (7.0, 9.0)], false), None);
        assert_eq!(of(&[(5.0, 5.0), (5.0, 5.0)], false), None);
        assert_eq!(of(&[(5.0, 5.0), (5.1, 5.1)], false), Some((0, 5.0)));
    }
}
