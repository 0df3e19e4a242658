//! Access links of the paper's trace-driven figures, as its public code has them: each client has two point-to-point links whose sum is the
//! trace, without contention. What the figures call Plum is a division of that sum, computed from all traces.

use std::fmt::Write as _;
use std::sync::Arc;

use airbound_air::trace::{Format, Trace};
use airbound_sim::path::PipeSpec;
use airbound_units::{Instant, Span};
use serde::Deserialize;

use crate::TrialError;

/// Lowest and highest bitrate of an encoder in Mb/s, as the public code's division knows them.
const LEAST: f64 = 1.0;
const MOST: f64 = 10.0;
/// Room for the headers of a source at its highest bitrate.
const HEADROOM: f64 = 1.2;
/// Interval of new rates: 16 ms for Tr-Game and 100 ms for Tr-Restaurant in the public code.
const STEP: Span = Span::from_millis(100);

/// Division of a client's bandwidth between its two links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Division {
    /// Half and half: the baselines.
    Even,
    /// By a rule that knows every capacity: the Plum of the paper's figures.
    Oracle,
}

/// A trace, and the share of it that the client has.
pub(super) type Source = (Arc<Trace>, f64);

/// The links of all clients over a session. Where they are `fair`, acknowledgements do not wait behind data: ns-3 puts FQ-CoDel before every
/// point-to-point device unless it is told otherwise.
pub(super) fn links(
    sources: &[Source],
    division: Division,
    fair: bool,
    seconds: u32,
) -> Result<Vec<PipeSpec>, TrialError> {
    let steps = Span::from_secs(u64::from(seconds)).div_floor(STEP) + 1;
    let mut near = vec![0; sources.len()];
    let mut texts = vec![[String::new(), String::new()]; sources.len()];
    let mut before: Option<Vec<f64>> = None;
    for step in 0..steps {
        let now = Instant::ZERO + STEP * step;
        let totals = sources.iter().zip(&mut near).map(|((trace, share), near)| match &**trace {
            Trace::Bandwidth(trace) => trace.at_near(now, near).as_mbps_f64() * share,
            _ => 0.0,
        });
        let totals: Vec<f64> = totals.collect();
        let rates = match division {
            Division::Even => totals.iter().map(|total| [total / 2.0; 2]).collect(),
            Division::Oracle => divided(&totals, before.as_ref().unwrap_or(&totals)),
        };
        let at = now.since(Instant::ZERO).as_secs_f64();
        for (texts, rates) in texts.iter_mut().zip(rates) {
            for (text, rate) in texts.iter_mut().zip(rates) {
                let _ = writeln!(text, "{at:.1} {rate:.4}");
            }
        }
        before = Some(totals);
    }
    let trace = |text: &String| {
        let trace = Trace::parse(text, "link", Format::Bandwidth, 1.0, true);
        trace.map(Arc::new).map_err(|error| TrialError { name: "link".to_owned(), reason: error.to_string() })
    };
    let link =
        |[up, down]: &[String; 2]| Ok(PipeSpec { fair, ..PipeSpec::separate(trace(up)?, trace(down)?) });
    texts.iter().map(link).collect()
}

/// Returns up and down of each client in Mb/s (public code, `test_half_duplex.cc`). `before` are the capacities of the step before, from
/// which it knows how much content all links together can take.
///
/// With a client whose link carries every source at its highest bitrate, each other sends as much as leaves its downlink the lowest bitrate
/// of all sources. Else the uplinks together are the largest capacity (theorem 1), shared evenly. Where the lowest bitrates of all sources
/// do not fit a client's link, it is halved.
fn divided(totals: &[f64], before: &[f64]) -> Vec<[f64; 2]> {
    let clients = totals.len() as f64;
    let least_down = (clients - 1.0) * LEAST;
    let is_ample = before.iter().any(|total| *total >= clients * MOST);
    let mut content = before.iter().copied().fold(clients * LEAST, f64::max);
    let mut rest = clients;
    let mut share = |total: f64| {
        let up = if total < least_down {
            total / 2.0
        } else if is_ample {
            (total - least_down).min(HEADROOM * MOST)
        } else {
            let fair = (content / rest).min(content - (rest - 1.0) * LEAST);
            let up = fair.max(LEAST).min(total - least_down);
            content = (content - up).max(0.0);
            up
        };
        rest -= 1.0;
        [up, total - up]
    };
    totals.iter().map(|total| share(*total)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uplinks_together_are_the_largest_capacity() {
        let totals = [16.0, 24.0, 12.0, 20.0];
        let rates = divided(&totals, &totals);
        assert_eq!(rates, [[6.0, 10.0], [6.0, 18.0], [6.0, 6.0], [6.0, 14.0]]);
    }

    #[test]
    fn beside_an_ample_client_all_send_what_their_own_view_leaves() {
        let totals = [40.0, 9.0, 30.0, 2.0];
        assert_eq!(divided(&totals, &totals), [[12.0, 28.0], [6.0, 3.0], [12.0, 18.0], [1.0, 1.0]]);
    }

    #[test]
    fn the_links_of_a_client_carry_its_trace() {
        let trace = Trace::parse("0 24\n1 8\n2 16\n", "test", Format::Bandwidth, 1.0, true).expect("a trace");
        let trace = Arc::new(trace);
        let sources = vec![(Arc::clone(&trace), 1.0), (trace, 0.5)];
        for division in [Division::Even, Division::Oracle] {
            let links = links(&sources, division, true, 2).expect("links");
            let half = Instant::ZERO + Span::from_millis(500);
            let sums = links.iter().map(|link| {
                let airbound_sim::path::Sharing::Separate(down) = &link.sharing else { return 0.0 };
                let rate = |trace: &Trace| match trace {
                    Trace::Bandwidth(trace) => trace.at(half).as_mbps_f64(),
                    _ => 0.0,
                };
                rate(&link.trace) + rate(down)
            });
            let sums: Vec<f64> = sums.collect();
            assert!((sums[0] - 24.0).abs() < 1e-3 && (sums[1] - 12.0).abs() < 1e-3, "{sums:?}");
        }
    }
}
