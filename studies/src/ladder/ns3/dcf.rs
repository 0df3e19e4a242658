//! 802.11a: n saturated senders on a circle around their receiver. Judged with ns-3's rule of counting down and with each frame on the
//! air by itself. With whole exchanges, and with the standard's rule for EDCA, for which Bianchi's model is the reference, the rows inform
//! only.

use airbound_report::{Tolerance, ValidationRow};

use super::super::scene::Scene;
use super::super::table::{Row, Table};
use super::circle;
use crate::trial::run_all;
use crate::{Effort, Trial, TrialError};

const REFERENCE: &str = include_str!("../../../data/ns3-dcf.csv");

/// A rule of counting down, as `countdown` names it, and what follows a collision.
#[derive(Debug, Clone, Copy)]
struct Rules {
    countdown: &'static str,
    /// Whether each frame is on the air by itself, with the levels of senders on a circle.
    is_on_circle: bool,
    /// Its part of the metric's name.
    suffix: &'static str,
    note: &'static str,
    tolerance: Option<Tolerance>,
}

const RULES: [Rules; 3] = [
    Rules {
        countdown: "idle-slots",
        is_on_circle: true,
        suffix: "",
        note: "a slot counts if it was idle to its end; those that collided wait for their timeout, others that lock on one of the frames \
               for EIFS or its reservation, the rest for DIFS",
        tolerance: Some(Tolerance::Relative(0.03)),
    },
    Rules {
        countdown: "idle-slots",
        is_on_circle: false,
        suffix: ", idle slots, whole exchanges",
        note: "informs only: here all wait EIFS after a collision, those that collided too",
        tolerance: None,
    },
    Rules {
        countdown: "boundaries",
        is_on_circle: false,
        suffix: ", boundaries, whole exchanges",
        note: "informs only: ns-3 counts a slot down only if it was idle to its end",
        tolerance: None,
    },
];

fn trial(reference: &Row<'_>, rules: Rules, effort: Effort) -> Trial {
    let rate = reference.whole("data_rate");
    let offered = reference.text("offered_per_sta_mbps");
    let scenario = Scene::uplinks(effort.seconds(30, 10), 3, rate, 200, None)
        .air(&format!("countdown = \"{}\"", rules.countdown))
        .stations("sender", reference.whole("n"), &format!("rate = \"OFDM {rate} Mbit/s\""))
        .named_flow(
            "up",
            "sender",
            &format!("kind = \"cbr\"\ndirection = \"up\"\nrate = \"{offered} Mbit/s\"\nsize = \"1470 B\""),
        )
        .air(if rules.is_on_circle { "error-model = \"soft\"" } else { "" })
        .table(&if rules.is_on_circle {
            circle::capture("sender", reference.whole("n"), 1.0, 360.0)
        } else {
            String::new()
        });
    Trial::new(name(reference), scenario.text(), 1)
}

fn name(reference: &Row<'_>) -> String {
    format!("{} Mb/s, n = {}", reference.whole("data_rate"), reference.whole("n"))
}

pub(super) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let table = Table::of(REFERENCE);
    let cases = || RULES.into_iter().flat_map(|rules| table.rows().map(move |reference| (rules, reference)));
    let trials: Vec<Trial> = cases().map(|(rules, reference)| trial(&reference, rules, effort)).collect();
    let outcomes = run_all(&trials, effort.jobs)?;
    let rows = cases().zip(outcomes).flat_map(|((rules, reference), outcome)| {
        let goodput: f64 = outcome.summary.flows.iter().map(|flow| flow.goodput_mbps).sum();
        let row = |metric: &str, unit: &str, column: &str, measured| {
            let metric = format!("{metric}, {}{}", name(&reference), rules.suffix);
            let reference = reference.number(column);
            ValidationRow::judged("ns3-dcf", metric, unit, reference, measured, rules.tolerance, rules.note)
        };
        [
            row("goodput", "Mb/s", "goodput_total_mbps", Some(goodput)),
            row("collision probability", "", "collision_prob", outcome.summary.air.collision_rate),
        ]
    });
    Ok(rows.collect())
}
