//! The test of a bottleneck: the same runs with its cause taken away.

use serde::Serialize;

use super::rules::{CHOICE, CONFIRMED};
use super::{Bottleneck, Cause, Figure};
use crate::comparison::Comparison;
use crate::grid::{number, wrapped};

/// The result of runs in which the cause of a bottleneck was taken away.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trial {
    /// The change, as words behind "with".
    pub change: String,
    /// Figure that was measured.
    pub figure: Figure,
    /// Its median with the cause, ms or Mb/s.
    pub before: f64,
    /// Its median without it.
    pub after: f64,
    /// Whether the cause is confirmed.
    pub confirmed: bool,
    /// The sentence.
    pub sentence: String,
}

impl Trial {
    /// The sentence for a terminal, at most `width` columns wide.
    #[must_use]
    pub fn to_text(&self, width: u16) -> String {
        wrapped(&format!("=> {}", self.sentence), usize::from(width))
    }

    /// Judges a change that takes away the cause of `bottleneck`.
    ///
    /// A latency must fall by half of the part that the verdict names. The goodput of a transfer must rise by the least difference that
    /// one seed shows; where its own sender is said to bound it, it must not.
    #[must_use]
    pub fn of(bottleneck: &Bottleneck, change: &str, before: f64, after: f64) -> Self {
        let rises = 100.0 * (after - before) >= CHOICE.threshold * before;
        let (confirmed, reason) = match bottleneck.figure {
            Figure::MeanLatency => {
                let named = bottleneck.share * before;
                let part = if named > 0.0 { (before - after) / named } else { 0.0 };
                let gone = match part {
                    part if part > 1.0 => "all that the verdict names, and more".to_owned(),
                    part if part <= 0.0 => "nothing of what the verdict names".to_owned(),
                    part => format!("{:.0} % of what the verdict names", 100.0 * part),
                };
                let reason = format!("{gone}; {} % confirm it", CONFIRMED.threshold);
                (100.0 * part >= CONFIRMED.threshold, reason)
            }
            Figure::Goodput if bottleneck.cause == Cause::Sender => {
                (!rises, format!("a rise of {} % would refute it", CHOICE.threshold))
            }
            Figure::Goodput => (rises, format!("a rise of {} % confirms it", CHOICE.threshold)),
        };
        let (name, unit) = match bottleneck.figure {
            Figure::MeanLatency => ("mean latency", "ms"),
            Figure::Goodput => ("goodput", "Mb/s"),
        };
        let word = if confirmed { "The cause is confirmed" } else { "The cause is not confirmed" };
        let sentence = format!(
            "{word}: with {change} the {name} of {} under {} goes from {} to {} {unit}; {reason}.",
            bottleneck.flow,
            bottleneck.scheme,
            number(before),
            number(after)
        );
        Self { change: change.to_owned(), figure: bottleneck.figure, before, after, confirmed, sentence }
    }
}

impl Comparison {
    /// The same with the result of a test of its bottleneck, which joins the verdict of the page.
    #[must_use]
    pub fn with_trial(mut self, trial: &Trial) -> Self {
        self.tried.push(trial.sentence.clone());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cause: Cause, figure: Figure, before: f64, after: f64) -> Trial {
        let bottleneck = Bottleneck {
            cause,
            figure,
            flow: "game".to_owned(),
            members: vec!["game".to_owned()],
            scheme: "linux".to_owned(),
            rule: "stage",
            share: 0.8,
            sentence: String::new(),
        };
        Trial::of(&bottleneck, "a faster wire", before, after)
    }

    #[test]
    fn a_latency_falls_by_half_of_what_the_cause_holds() {
        let confirmed = of(Cause::Wire, Figure::MeanLatency, 50.0, 30.0);
        assert!(confirmed.confirmed);
        assert_eq!(
            confirmed.sentence,
            "The cause is confirmed: with a faster wire the mean latency of game under linux goes from 50.0 to 30.0 ms; 50 % of what \
             the verdict names; 50 % confirm it."
        );
        let ends = |after, end: &str| {
            let sentence = of(Cause::Wire, Figure::MeanLatency, 50.0, after).sentence;
            assert!(sentence.ends_with(end), "{sentence}");
        };
        ends(5.0, "; all that the verdict names, and more; 50 % confirm it.");
        ends(60.0, "; nothing of what the verdict names; 50 % confirm it.");
        let refuted = of(Cause::Wire, Figure::MeanLatency, 50.0, 30.1);
        assert!(!refuted.confirmed && refuted.sentence.starts_with("The cause is not confirmed: "));
        assert!(!of(Cause::Wire, Figure::MeanLatency, 50.0, 60.0).confirmed);
        assert!(!of(Cause::Wire, Figure::MeanLatency, 0.0, 0.0).confirmed);
    }

    #[test]
    fn a_transfer_rises_unless_its_sender_bounds_it() {
        assert!(of(Cause::Air, Figure::Goodput, 100.0, 110.0).confirmed);
        assert!(!of(Cause::Air, Figure::Goodput, 100.0, 109.0).confirmed);
        assert!(of(Cause::Sender, Figure::Goodput, 100.0, 109.0).confirmed);
        assert!(!of(Cause::Sender, Figure::Goodput, 100.0, 110.0).confirmed);
    }
}
