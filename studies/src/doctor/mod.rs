//! `airbound doctor` beside causes that are injected into the simulator, and healthy links.
//!
//! `inject` draws networks with one cause each, by rules and a seed; `observe` plays them, with the doctor's probes and what a driver
//! would count. An injection that delays nobody is drawn again: its symptom is counted on the probes, before any diagnosis.

mod inject;
mod observe;

use std::num::NonZeroUsize;

use airbound_senders::diagnosis::{Cause, Observations, Probe, diagnose};
use airbound_units::Span;
use serde::Serialize;

use crate::TrialError;
use crate::trial::in_parallel;
use inject::Case;

/// Causes that are injected, in turn.
pub const INJECTED: [Cause; 9] = [
    Cause::Scan,
    Cause::Sleep,
    Cause::Away,
    Cause::Contention,
    Cause::Retries,
    Cause::WeakSignal,
    Cause::Queue,
    Cause::Wire,
    Cause::Program,
];

/// An injection is felt if this share of the probes is lost, or later than a frame of 60 Hz,
const FELT: f64 = 0.01;
const FRAME: Span = Span::from_nanos(16_666_667);
/// A scan is seldom: so many probes.
const FEWEST: usize = 3;
/// Draws of one case until it is felt.
const DRAWS: u64 = 20;

/// One link, and what the doctor says of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Named {
    /// Number in the set.
    pub number: u64,
    /// The cause that was injected.
    pub truth: Cause,
    /// The cause that the doctor names.
    pub named: Cause,
    /// Its first sentence.
    pub sentence: String,
    /// Draws that nobody would have felt.
    pub unfelt: u64,
    /// The scenario.
    pub scenario: String,
    /// The evidence: meaning and value.
    pub evidence: Vec<(String, String)>,
}

/// Judges `causes` injections, of the nine causes in turn, and `healthy` links without one.
///
/// # Errors
/// A scenario cannot be run: a defect.
pub fn doctor(set: u64, causes: u64, healthy: u64, jobs: NonZeroUsize) -> Result<Vec<Named>, TrialError> {
    let truth = |number: u64| {
        if number < causes { INJECTED[(number % INJECTED.len() as u64) as usize] } else { Cause::Healthy }
    };
    let cases: Vec<(u64, Cause)> = (0..causes + healthy).map(|number| (number, truth(number))).collect();
    in_parallel(&cases, jobs, |(number, truth)| named(set, *number, *truth))
}

fn named(set: u64, number: u64, truth: Cause) -> Result<Named, TrialError> {
    let mut unfelt = 0;
    loop {
        let case = Case::draw(set, number * DRAWS + unfelt, truth);
        let seen = observe::observe(&case)?;
        if !is_felt(truth, &seen) && unfelt + 1 < DRAWS {
            unfelt += 1;
            continue;
        }
        let found = diagnose(&seen);
        let evidence = found.evidence.into_iter().map(|row| (row.what, row.value)).collect();
        let (named, sentence, scenario) = (found.cause, found.sentence, case.scenario);
        return Ok(Named { number, truth, named, sentence, unfelt, scenario, evidence });
    }
}

/// Whether somebody would feel the injection. Stalls of the machine are felt by their length.
fn is_felt(truth: Cause, seen: &Observations) -> bool {
    let late = |probes: &[Probe]| {
        let least = probes.iter().filter_map(|probe| probe.round_trip).min().unwrap_or(Span::ZERO);
        let is_late = |probe: &&Probe| probe.round_trip.is_none_or(|time| time >= least + FRAME);
        (probes.iter().filter(is_late).count(), probes.len())
    };
    let (near, far) = (late(&seen.near), late(&seen.far));
    let is_often = |(late, all): (usize, usize)| late as f64 >= FELT * all as f64;
    match truth {
        Cause::Healthy | Cause::Program => true,
        Cause::Scan => near.0 >= FEWEST,
        Cause::Wire => is_often(far),
        _ => is_often(near),
    }
}

/// Counts over a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Score {
    /// Links with an injected cause.
    pub causes: usize,
    /// Those of which it is named.
    pub right: usize,
    /// Links without one.
    pub healthy: usize,
    /// Those of which one is named.
    pub alarms: usize,
    /// Draws that delayed nobody.
    pub unfelt: u64,
}

impl Score {
    /// Of links.
    #[must_use]
    pub fn of(links: &[Named]) -> Self {
        let count = |is: fn(&&Named) -> bool| links.iter().filter(is).count();
        Self {
            causes: count(|link| link.truth != Cause::Healthy),
            right: count(|link| link.truth != Cause::Healthy && link.named == link.truth),
            healthy: count(|link| link.truth == Cause::Healthy),
            alarms: count(|link| link.truth == Cause::Healthy && link.named != Cause::Healthy),
            unfelt: links.iter().map(|link| link.unfelt).sum(),
        }
    }
}
