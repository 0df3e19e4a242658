//! The stack below the case study: CoDel, airtime fairness, kernel 4.2 without either, and the sender that CoDel slows down.

use super::measure::{longest_p95, mean, runs, text, vr_p95};
use super::{CASE_STUDY, CLAIMS, FLOOR, LINUX, edca};
use crate::Effort;
use crate::papers::experiment::{Measured, Results};
use crate::papers::{Part, Study};

/// CoDel off, airtime fairness off, both, and the kernel that the paper names, beside Linux with both.
pub(super) struct Stacks;

const STACKS: [&str; 5] = [LINUX, "CoDel off", "airtime fairness off", "both off", "kernel 4.2"];
/// Cases of the case study: other clients (Fig. 5), and everything in VI (Fig. 6a).
const OTHERS: [&str; 3] = ["clients-3", "clients-3-flows-3", "clients-4"];
const IN_VI: &str = "edca-300";

/// The 95th percentile of the first VR stream.
fn first_p95(run: &Measured) -> Option<f64> {
    vr_p95(run).or_else(|| super::measure::p95(run, "vr-1"))
}

/// Jain's index of the stations' airtime.
fn fairness(run: &Measured) -> Option<f64> {
    run.outcome.summary.jain.airtime
}

impl Study for Stacks {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let (mut others, mut in_vi) = (CLAIMS.table("stacks", &[]), CLAIMS.table("stacks-in-vi", &[]));
        for stack in STACKS {
            let cases = OTHERS.map(|case| runs(&CASE_STUDY, &[stack, case], effort, results));
            let p95 = cases.each_ref().map(|runs| mean(runs, vr_p95));
            let grows = p95[0].zip(p95[2]).map(|(three, four)| four / three);
            let values = p95.into_iter().chain([grows, mean(&cases[2], fairness)]).map(text);
            others.rows.push([stack.to_owned()].into_iter().chain(values).map(Into::into).collect());

            let flows = runs(&CASE_STUDY, &[stack, IN_VI], effort, results);
            let flows = [mean(&flows, first_p95), mean(&flows, |run| longest_p95(run, "local"))].into_iter();
            let clients = edca::CASES.map(|(_, case)| {
                mean(&runs(&FLOOR, &edca::among_clients(stack, case), effort, results), vr_p95)
            });
            let values = flows.chain(clients).map(text);
            in_vi.rows.push([stack.to_owned()].into_iter().chain(values).map(Into::into).collect());
        }
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("stacks", vec![others, in_vi], Vec::new()) }
    }
}

/// Congestion controls of the VR server under Linux, with CoDel and without.
pub(super) struct Senders;

impl Study for Senders {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = CLAIMS.table("senders", &[]);
        for sender in CASE_STUDY.names("sender", effort) {
            for stack in [LINUX, "CoDel off"] {
                let [three, four] = ["clients-3", "clients-4"]
                    .map(|case| mean(&runs(&CASE_STUDY, &[stack, case, sender], effort, results), vr_p95));
                let grows = three.zip(four).map(|(three, four)| four / three);
                let values = [three, four, grows].map(text);
                let cells = [sender.to_owned(), stack.to_owned()].into_iter().chain(values);
                grid.rows.push(cells.map(Into::into).collect());
            }
        }
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("senders", vec![grid], Vec::new()) }
    }
}
