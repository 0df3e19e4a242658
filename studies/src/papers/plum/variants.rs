//! Variants of the model: acknowledgements behind data, what sets LastN apart from Vanilla, encoders of 30 Mb/s, and the public code's
//! distribution.

use airbound_sim::conference::ConferenceOutcome;

use super::conferences::{Conferences, Links, Model};
use super::links::Division;
use super::traces::Set;
use super::{CLAIMS, LAST_N, MEAN, PLUM, VANILLA, cells, gain};
use crate::papers::Part;

/// The setting of LastN with which it stood well above Vanilla.
const LONG_PAUSES: &str = "LastN, a quarter for 5 s";

pub(super) fn part(conferences: &Conferences) -> Part {
    let mean = |links, scheme| conferences.mean(links, scheme, ConferenceOutcome::mean_down);
    let mut queues = CLAIMS.table("queues", &[]);
    let mut pauses = CLAIMS.table("pauses", &[]);
    let mut variants = CLAIMS.table("variants", &[]);
    for set in Set::ALL {
        for (name, model) in [("two links each", Model::paper(Division::Even)), ("half-duplex", Model::LOOP)]
        {
            let [vanilla, one, quarter] =
                [VANILLA, LAST_N, LONG_PAUSES].map(|scheme| mean(Links::own(set, 8, model), scheme));
            let gains = [one, quarter].map(|value| gain(value, vanilla));
            pauses.rows.push(cells(&[set.name(), name], [vanilla, one, quarter].into_iter().chain(gains)));
        }
        for clients in [8, 16] {
            for (name, fifo) in [("a queue for acknowledgements", false), ("one queue", true)] {
                let of = |division| {
                    mean(Links::own(set, clients, Model { fifo, ..Model::paper(division) }), VANILLA)
                };
                let [even, oracle] = [Division::Even, Division::Oracle].map(of);
                let texts = [set.name(), &clients.to_string(), name];
                queues.rows.push(cells(&texts, [even, oracle, gain(oracle, even)]));
            }
            for (name, model) in [
                ("as the rows above", Model::LOOP),
                ("encoders of 30 Mb/s", Model { encoder: 30, ..Model::LOOP }),
                ("each source all of d", Model { whole: true, ..Model::LOOP }),
            ] {
                let [vanilla, plum, alone] =
                    [VANILLA, PLUM, MEAN].map(|scheme| mean(Links::own(set, clients, model), scheme));
                let gains = [plum, alone].map(|value| gain(value, vanilla));
                let texts = [set.name(), &clients.to_string(), name];
                variants.rows.push(cells(&texts, [vanilla, plum, alone].into_iter().chain(gains)));
            }
        }
    }
    Part { rows: Vec::new(), chapter: CLAIMS.chapter("variants", vec![queues, pauses, variants], Vec::new()) }
}
