//! The half-duplex channel on the simulated air (Figs. 5 and 16a), Fig. 4's estimates from traces alone, and the testbed.

use airbound_report::{Chapter, Grid, Tolerance, ValidationRow};
use airbound_sim::Outcome;

use super::traces::{Set, TraceSets, second_of};
use super::{gain, text};
use crate::papers::Part;
use crate::trial::run_all;
use crate::{Effort, Trial, TrialError};

/// Two stations of an 802.11ac access point 20 MHz wide at a fixed rate, so that one direction alone carries some 37 Mb/s as in Fig. 5.
/// `limit` is what the second station's downlink may carry: none, all, or so many Mb/s.
fn trial(name: &str, downlink: bool, limit: Option<f64>, alone: bool, effort: Effort) -> Trial {
    let seconds = effort.seconds(60, 8);
    let mut scenario = format!(
        r#"duration = "{seconds} s"
warm-up = "2 s"
[air]
standard = "vht"
width = "20 MHz"
[scheme]
queue = "linux"
rate = "fixed"
sender = "bbr"
[wire]
delay = "2 ms"
"#
    );
    let mut flow = |name: &str, station: &str, direction: &str, limit: Option<f64>| {
        scenario += &format!(
            "[[flow]]\nname = \"{name}\"\nkind = \"tcp\"\nstation = \"{station}\"\ndirection = \"{direction}\"\n"
        );
        if let Some(limit) = limit {
            scenario += &format!("limit = \"{limit:.3} Mbit/s\"\n");
        }
    };
    flow("c2-up", "client-2", "up", None);
    if downlink {
        flow("c2-down", "client-2", "down", limit);
    }
    if !alone {
        flow("c1-up", "client-1", "up", None);
        flow("c1-down", "client-1", "down", None);
    }
    for station in ["client-1", "client-2"] {
        scenario += &format!("[[station]]\nname = \"{station}\"\nrate = \"VHT20 MCS8 1SS LGI\"\n");
    }
    Trial::new(format!("plum {name}"), scenario, 1)
}

fn goodput(outcome: &Outcome, flow: &str) -> f64 {
    outcome.summary.flows.iter().find(|found| found.name == flow).map_or(0.0, |flow| flow.goodput_mbps)
}

pub(super) fn part(traces: &TraceSets, effort: Effort) -> Result<Part, TrialError> {
    let first = [
        trial("both directions", true, None, false, effort),
        trial("uplink only", false, None, false, effort),
        trial("a pair of streams", true, None, true, effort),
        trial("an uplink alone", false, None, true, effort),
    ];
    let outcomes = run_all(&first, effort.jobs)?;
    let (both, without, pair) = (&outcomes[0], &outcomes[1], &outcomes[2]);
    let halved = trial("the downlink halved", true, Some(goodput(pair, "c2-down") / 2.0), true, effort);
    let halved = run_all(&[halved], effort.jobs)?;

    let mut grid = Grid::new(
        "Goodput on the simulated air, Mb/s",
        &["setting", "C2 up", "C2 down", "C1 up", "C1 down"],
        1,
    );
    let settings =
        ["all four flows", "without C2 down", "C2 alone, both", "C2 alone, up", "C2 alone, down halved"];
    for (name, outcome) in settings.iter().zip(outcomes.iter().chain(&halved)) {
        let cells =
            ["c2-up", "c2-down", "c1-up", "c1-down"].map(|flow| crate::papers::shown(goodput(outcome, flow)));
        grid.rows.push(std::iter::once((*name).to_owned()).chain(cells).map(Into::into).collect());
    }
    let mut rows = Vec::new();
    let mut row = |id: &str, metric: &str, unit: &str, reference, measured, tolerance, trend, note: &str| {
        rows.push(ValidationRow::judged(id, metric, unit, reference, measured, Some(tolerance), trend, note));
    };
    let sum = |outcome: &Outcome, client: &str| {
        goodput(outcome, &format!("{client}-up")) + goodput(outcome, &format!("{client}-down"))
    };
    row(
        "half-duplex",
        "uplink alone over the sum of both directions, one station on the channel",
        "",
        Some(37.3 / 36.6),
        Some(goodput(&outcomes[3], "c2-up") / sum(pair, "c2")),
        Tolerance::Relative(0.1),
        false,
        "Fig. 5: 37.3 against 19.0 + 17.6 Mb/s",
    );
    row(
        "half-duplex",
        "uplink without the downlink over the sum of both directions, beside another station's flows",
        "",
        Some(37.3 / 36.6),
        Some(goodput(without, "c2-up") / sum(both, "c2")),
        Tolerance::Relative(0.15),
        goodput(without, "c2-up") > goodput(both, "c2-up"),
        "Fig. 5; trend: the vacated downlink reaches the same station's uplink at least in part",
    );
    row(
        "half-duplex",
        "the other station's sum without C2's downlink over its sum with it",
        "",
        Some(1.0),
        Some(sum(without, "c1") / sum(both, "c1")),
        Tolerance::Relative(0.15),
        false,
        "Fig. 5: the other station's share hardly changes",
    );
    row(
        "yield",
        "uplink after the downlink is halved over the uplink before",
        "",
        Some(2.8),
        Some(goodput(&halved[0], "c2-up") / goodput(pair, "c2-up")),
        Tolerance::Factor(1.25),
        goodput(&halved[0], "c2-up") > 1.25 * goodput(pair, "c2-up"),
        "Fig. 16a; an even split before gives 1.5, and 2.8 takes a downlink 3.6 times the uplink beforehand; trend: above 1.25",
    );
    for split in split(traces, effort) {
        row(
            "motivation-split",
            &format!("gain of the median user bitrate with 0.8 up and 0.2 down, {} users", split.0),
            "%",
            Some(58.1),
            Some(split.1),
            Tolerance::Relative(0.15),
            split.1 > 0.0,
            "Fig. 4, Tr-Game; one user on Wi-Fi, the others without limits. The number of users is not given: 1.6 - 1.2 / n",
        );
    }
    let testbed = [
        ("gain of the mean goodput with 5 clients", "%", 15.9),
        ("gain of the median bitrate", "%", 37.3),
        ("least bitrate of the Wi-Fi user", "Mb/s", 6.0),
    ];
    for (metric, unit, reference) in testbed {
        row(
            "testbed",
            metric,
            unit,
            Some(reference),
            None,
            Tolerance::AtLeast,
            false,
            "the authors' testbed with Salsify, and its PSNR: not run until there is a real server with real video",
        );
    }
    grid.note = "802.11ac, 20 MHz, MCS 8 fixed, BBR, Linux's queues.".to_owned();
    let chapter = Chapter {
        title: "Yielding on the channel".to_owned(),
        text: "Bulk flows of one or two stations: what one direction leaves, the other takes.".to_owned(),
        tables: vec![grid, split_table(traces, effort)],
        charts: Vec::new(),
    };
    Ok(Part { rows, chapter })
}

const USERS: [u32; 2] = [20, 64];

/// Mean bitrate of all users when one of them splits a bandwidth so: the others receive its uplink and are received in its downlink.
fn average(bandwidth: f64, up: f64, users: u32) -> f64 {
    let users = f64::from(users);
    (bandwidth * (1.0 - up) + (users - 1.0) * bandwidth * up) / users
}

/// For each number of users, the gain of the median over seconds and traces.
fn split(traces: &TraceSets, effort: Effort) -> Vec<(u32, f64)> {
    let median = |up: f64, users: u32| {
        let picks = (0..32).map(|client| traces.pick(Set::Game, 1, client));
        let step = if effort.quick { 20 } else { 4 };
        let mut all: Vec<f64> = picks
            .flat_map(|trace| {
                (0..200)
                    .step_by(step)
                    .map(move |second| average(second_of(&trace, second), up, users))
                    .collect::<Vec<_>>()
            })
            .collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    USERS.map(|users| (users, gain(median(0.8, users), median(0.5, users)))).to_vec()
}

fn split_table(traces: &TraceSets, effort: Effort) -> Grid {
    let mut grid = Grid::new("An uneven split (Fig. 4)", &["users", "gain of the median %"], 1);
    for (users, found) in split(traces, effort) {
        grid.rows.push([users.to_string(), text(Some(found))].map(Into::into).to_vec());
    }
    grid
}
