//! Two of the clients behind one access link (Fig. 13).

use airbound_report::{Chapter, Grid, Tolerance, ValidationRow};

use super::case::{Case, Conferences, Who};
use super::gain;
use super::traces::Set;
use crate::Effort;
use crate::papers::{Part, shown};

const ID: &str = "shared-channel";
const SCHEMES: [Who; 5] = [Who::Vanilla, Who::LastN, Who::Tack, Who::PLUM, Who::MEAN];

fn case(set: Set, who: Who, effort: Effort) -> Case {
    Case { sharing: 2, ..Case::usual(set, 8, who, effort) }
}

pub(super) fn cases(effort: Effort) -> Vec<Case> {
    let all = Set::ALL.into_iter().flat_map(|set| SCHEMES.map(|who| case(set, who, effort)));
    all.flat_map(|case| case.seeds(effort)).collect()
}

pub(super) fn part(sessions: &Conferences, effort: Effort) -> Part {
    let mut grid = Grid::new(
        "Two of eight clients behind one access point, downlink Mb/s",
        &["traces", "scheme", "the two", "the others"],
        2,
    );
    let mut rows = Vec::new();
    for set in Set::ALL {
        let both = SCHEMES.map(|who| {
            [0..2, 2..8].map(|range: std::ops::Range<usize>| {
                sessions.mean(case(set, who, effort), effort, |outcome| {
                    let clients = outcome.clients.get(range.clone()).unwrap_or_default();
                    clients.iter().map(|client| client.down_mbps).sum::<f64>() / clients.len().max(1) as f64
                })
            })
        });
        for (who, means) in SCHEMES.iter().zip(&both) {
            let cells = means.map(|mean| mean.map_or(String::new(), shown));
            grid.rows
                .push([set.name().to_owned(), who.name()].into_iter().chain(cells).map(Into::into).collect());
        }
        for (place, (who, reference)) in [("sharing", 33.7), ("others", 26.1)].into_iter().enumerate() {
            let best = both[..3].iter().filter_map(|means| means[place]).fold(0.0, f64::max);
            for (scheme, means) in [("Plum", &both[3]), ("Plum, rho 0", &both[4])] {
                let found = means[place].map(|plum| gain(plum, best));
                rows.push(ValidationRow::judged(
                    ID,
                    format!("gain over the best baseline, {who}, {}, {scheme}", set.name()),
                    "%",
                    Some(reference),
                    found,
                    Some(Tolerance::Relative(0.3)),
                    found.is_some_and(|gain| gain > 0.0),
                    "Fig. 13, \"up to\"; the two share one trace and one access point",
                ));
            }
        }
    }
    let chapter = Chapter {
        title: "A shared channel".to_owned(),
        text: "Eight clients of whom two share one half-duplex link: the access point and both stations take turns on it.".to_owned(),
        tables: vec![grid],
        charts: Vec::new(),
    };
    Part { rows, chapter }
}
