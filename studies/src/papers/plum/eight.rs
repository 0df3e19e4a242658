//! Eight clients: the bitrate of each second (Fig. 12), two of them behind one access link (Fig. 13), and what the QoE function and rho
//! change (Figs. 14c, 14d, 15a).

use airbound_report::Line;
use airbound_senders::conference::{ConferenceConfig, Welfare};
use airbound_sim::conference::{ClientOutcome, ConferenceOutcome};

use super::conferences::{Conferences, Links, PLAN};
use super::traces::Set;
use super::{CLAIMS, MEAN, PLUM, QOES, SCHEMES, VANILLA, best_baseline, cells, gain, quantile};
use crate::papers::Part;

const CLIENTS: usize = 8;
/// Linear QoE, rho rising from 0 to 1.
const RHOS: [&str; 5] = [MEAN, "Plum, rho 0.25", PLUM, "Plum, rho 0.75", "Plum, rho 1"];
/// M in Mb/s, with which the server optimises and all is scored.
const MAX: f64 = 30.0;

/// The share of ordered samples above a value.
fn above(sorted: &[f64], value: f64) -> f64 {
    let below = sorted.partition_point(|sample| *sample <= value);
    (sorted.len() - below) as f64 / sorted.len().max(1) as f64
}

/// The real-time bitrate of each client and second.
pub(super) fn distribution(conferences: &Conferences) -> Part {
    let links = Links::own(Set::Game, CLIENTS);
    let samples =
        |of: fn(&ClientOutcome) -> &[f64]| SCHEMES.map(|scheme| conferences.sorted(links, scheme, of));
    let best_source = samples(|client| &client.best_source);
    let all_sources = samples(|client| &client.seconds);
    let mut rows = Vec::new();
    for (name, samples) in [("best source", &best_source), ("all sources together", &all_sources)] {
        let p90 = samples.each_ref().map(|all| quantile(all, 0.9));
        let best = best_baseline(&p90);
        for (scheme, value) in SCHEMES.into_iter().zip(p90).skip(3) {
            let row = CLAIMS.row("p90").with("samples", name).with("scheme", scheme);
            rows.push(row.trend(value > best).measured(gain(value, best)));
        }
    }
    let shares = best_source.each_ref().map(|all| above(all, 5.0));
    let (best, ours) = (best_baseline(&shares), shares[3].max(shares[4]));
    rows.push(CLAIMS.row("above-5").trend(ours > best).measured(ours / best.max(1e-3)));
    let charts = [("best-source", &best_source), ("all-sources", &all_sources)].map(|(key, samples)| {
        let lines = SCHEMES.iter().zip(samples).map(|(scheme, all)| super::cumulative(scheme, all));
        CLAIMS.lines(key, &[], lines.collect())
    });
    Part { rows, chapter: CLAIMS.chapter("distribution", Vec::new(), charts.into()) }
}

/// Two of the clients behind one access link.
pub(super) fn shared(conferences: &Conferences) -> Part {
    let mut table = CLAIMS.table("shared", &[]);
    let mut rows = Vec::new();
    for set in Set::ALL {
        let links = Links::Traces { set, clients: CLIENTS, sharing: 2, server: None };
        let down = |range: std::ops::Range<usize>| {
            let mean = |outcome: &ConferenceOutcome| {
                let clients = &outcome.clients[range.clone()];
                clients.iter().map(|client| client.down_mbps).sum::<f64>() / clients.len() as f64
            };
            SCHEMES.map(|scheme| conferences.mean(links, scheme, mean))
        };
        let [two, others] = [down(0..2), down(2..CLIENTS)];
        for ((scheme, two), others) in SCHEMES.iter().zip(two).zip(others) {
            table.rows.push(cells(&[set.name(), scheme], [two, others]));
        }
        for (clients, down) in [("sharing", two), ("others", others)] {
            for (scheme, plum) in SCHEMES.into_iter().zip(down).skip(3) {
                let row = CLAIMS.row("shared").with("clients", clients).with("traces", set.name());
                let found = gain(plum, best_baseline(&down));
                rows.push(row.with("scheme", scheme).trend(found > 0.0).measured(found));
            }
        }
    }
    Part { rows, chapter: CLAIMS.chapter("shared", vec![table], Vec::new()) }
}

/// Received bitrate of the worst-served user of each seed over that user's own under Vanilla.
fn worst_ratio(conferences: &Conferences, links: Links, scheme: &'static str) -> f64 {
    let pairs = conferences.of(links, scheme).iter().zip(conferences.of(links, VANILLA));
    let ratios: Vec<f64> =
        pairs.map(|(one, plain)| one.worst_down() / plain.worst_down().max(1e-3)).collect();
    ratios.iter().sum::<f64>() / ratios.len() as f64
}

/// The terms of equation 1, performance and fairness, under a scheme.
fn terms(conferences: &Conferences, links: Links, scheme: &'static str) -> [f64; 2] {
    let welfare = |outcome: &ConferenceOutcome| {
        let qoe: Vec<f64> = outcome.clients.iter().map(|client| (client.down_mbps / MAX).min(1.0)).collect();
        Welfare::of(&qoe, &vec![1.0 / qoe.len() as f64; qoe.len()], 0.5)
    };
    let term =
        |figure: fn(&Welfare) -> f64| conferences.mean(links, scheme, |outcome| figure(&welfare(outcome)));
    [term(|welfare| welfare.mean), term(|welfare| welfare.fairness)]
}

/// The worst user, fairness, and the two terms of equation 1 over rho.
pub(super) fn fairness(conferences: &Conferences) -> Part {
    let mut table = CLAIMS.table("fairness", &[]);
    let (mut rows, mut of_rho, mut charts) = (Vec::new(), Vec::new(), Vec::new());
    for set in Set::ALL {
        let links = Links::own(set, CLIENTS);
        let jain = |scheme| conferences.mean(links, scheme, ConferenceOutcome::jain);
        for scheme in [VANILLA].into_iter().chain(QOES) {
            let ratio = worst_ratio(conferences, links, scheme);
            let means = [ConferenceOutcome::mean_down, ConferenceOutcome::worst_down];
            let means = means.map(|figure| conferences.mean(links, scheme, figure));
            table.rows.push(cells(&[set.name(), scheme], means.into_iter().chain([ratio, jain(scheme)])));
            if scheme != VANILLA {
                let row = |key| CLAIMS.row(key).with("scheme", scheme).with("links", set.name());
                rows.push(row("worst").measured(ratio));
                rows.push(row("jain").trend(jain(scheme) > jain(VANILLA)).measured(jain(scheme)));
            }
        }
        let [.., convex] = QOES.map(jain);
        let is_highest = QOES.into_iter().all(|scheme| jain(scheme) <= convex);
        rows.push(CLAIMS.row("jain-of-convex").with("traces", set.name()).trend(is_highest).measured(convex));

        let points = RHOS.map(|scheme| (rho_of(scheme), terms(conferences, links, scheme)));
        let names = ["performance", "fairness"].into_iter().enumerate();
        let lines = names.map(|(place, name)| {
            let change = points[RHOS.len() - 1].1[place] - points[0].1[place];
            let row = CLAIMS.row("rho").with("term", name).with("traces", set.name());
            let falls = name == "performance";
            of_rho.push(row.trend(if falls { change < 0.0 } else { change > 0.0 }).measured(change));
            Line::whole(name, points.iter().map(|(rho, terms)| (*rho, terms[place])))
        });
        charts.push(CLAIMS.lines("rho", &[("traces", set.name().to_owned())], lines.collect()));
    }
    rows.extend(of_rho);
    Part { rows, chapter: CLAIMS.chapter("fairness", vec![table], charts) }
}

fn rho_of(scheme: &str) -> f64 {
    match &PLAN.schemes[scheme] {
        ConferenceConfig::Plum(config) => config.rho,
        _ => 0.0,
    }
}
