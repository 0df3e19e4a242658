//! Eight clients: the bitrate of each second (Fig. 12), two of them behind one trace (Fig. 13), and the weight of fairness (Fig. 15a).

use airbound_report::{Grid, Line};
use airbound_senders::conference::{ConferenceConfig, Welfare};
use airbound_sim::conference::{ClientOutcome, ConferenceOutcome};

use super::conferences::{Conferences, Links, Model, PLAN};
use super::downlink::of_paper;
use super::links::Division;
use super::pooled::{Pooled, gain_of, together};
use super::traces::Set;
use super::{BASELINES, CLAIMS, MEAN, PLUM, SCHEMES, VANILLA, best_of, cells, gain, quantile};
use crate::papers::Part;

const CLIENTS: usize = 8;
/// Linear QoE, rho rising from 0 to 1.
const RHOS: [&str; 3] = [MEAN, PLUM, "Plum, rho 1"];
/// M in Mb/s, with which the server optimises and all is scored.
const MAX: f64 = 30.0;

/// The share of ordered samples above a value.
fn above(sorted: &[f64], value: f64) -> f64 {
    let below = sorted.partition_point(|sample| *sample <= value);
    (sorted.len() - below) as f64 / sorted.len().max(1) as f64
}

/// Thresholds in Mb/s beside the paper's 5, and capacities in per cent of the traces.
const THRESHOLDS: [f64; 7] = [3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0];
const CAPACITIES: [u32; 6] = [80, 90, 100, 110, 120, 140];
/// Share of each of the two of one trace, in per cent of it.
const PARTS: [u32; 5] = [30, 40, 50, 70, 100];
/// Clients of one trace.
const SHARING: usize = 2;
/// Numbers of clients beside the judged one, and capacities of a server in Mb/s.
const SHARED_CLIENTS: [usize; 7] = [3, 4, 5, 6, CLIENTS, 12, 16];
const SHARED_SERVERS: [u32; 3] = [150, 200, 300];

/// The share of seconds above a threshold, of an even split and of the oracle, by threshold and by capacity.
fn thresholds(conferences: &Conferences) -> Grid {
    let samples = |division, capacity| {
        let model = Model { capacity, ..Model::paper(division) };
        let links = Links::own(Set::Game, CLIENTS, model);
        conferences.sorted(links, VANILLA, |client: &ClientOutcome| &client.best_source)
    };
    let mut table = CLAIMS.table("thresholds", &[]);
    let by_threshold = THRESHOLDS.map(|threshold| (100, threshold));
    let by_capacity = CAPACITIES.map(|capacity| (capacity, 5.0));
    for (capacity, threshold) in by_threshold.into_iter().chain(by_capacity) {
        let [even, oracle] = [Division::Even, Division::Oracle].map(|division| samples(division, capacity));
        let shares = [&even, &oracle].map(|samples| 100.0 * above(samples, threshold));
        let gained = gain(quantile(&oracle, 0.9), quantile(&even, 0.9));
        let values = [threshold, shares[0], shares[1], shares[1] / shares[0], gained];
        table.rows.push(cells(&[&format!("{capacity} %")], values));
    }
    table
}

/// The highest bitrate among the sources of each client and second.
pub(super) fn distribution(conferences: &Conferences) -> Part {
    let best_source = |links, scheme| conferences.sorted(links, scheme, |client| &client.best_source);
    let (baselines, oracle) = of_paper(Set::Game, CLIENTS, best_source);
    let p90 = |samples: &Vec<f64>| quantile(samples, 0.9);
    let share = |samples: &Vec<f64>| above(samples, 5.0);
    let (even, best) = of_paper(Set::Game, CLIENTS, |links, scheme| conferences.best_sources(links, scheme));
    let pooled = |of: fn(&Vec<f64>) -> f64, compare: fn(f64, f64) -> f64| {
        Pooled::of(best.len(), |draws| {
            let values = even.each_ref().map(|samples| of(&together(samples, draws)));
            compare(of(&together(&best, draws)), best_of(&values))
        })
    };
    let found = pooled(|samples| quantile(samples, 0.9), gain);
    let factor = pooled(|samples| above(samples, 5.0), |oracle, even| oracle / even.max(1e-3));
    let mut rows = vec![
        found.judge(CLAIMS.row("p90").trend(found.value > 0.0)),
        factor.judge(CLAIMS.row("above-5").trend(factor.value > 1.0)),
    ];
    let lines = BASELINES.iter().zip(&baselines).chain([(&"oracle", &oracle)]);
    let lines = lines.map(|(name, samples)| super::cumulative(name, samples)).collect();
    let mut charts = vec![CLAIMS.lines("best-source", &[], lines)];
    // The loop, once with the public code's distribution.
    let mut table = CLAIMS.table("best-source", &[]);
    let paper = BASELINES.into_iter().zip(&baselines).chain([("oracle", &oracle)]);
    for (name, samples) in paper {
        let values = [Some(p90(samples)), Some(100.0 * share(samples)), None];
        table.rows.push(cells(&["whole, two links each", name], values));
    }
    for (model, whole) in [("divided", false), ("whole", true)] {
        let links = Links::own(Set::Game, CLIENTS, Model { whole, ..Model::LOOP });
        for scheme in [VANILLA, PLUM, MEAN] {
            let best = best_source(links, scheme);
            let all = conferences.sorted(links, scheme, |client| &client.seconds);
            let values = [p90(&best), 100.0 * share(&best), p90(&all)];
            table.rows.push(cells(&[model, scheme], values));
        }
    }
    let links = Links::own(Set::Game, CLIENTS, Model::LOOP);
    let all: fn(&ClientOutcome) -> &[f64] = |client| &client.seconds;
    let of_loop = SCHEMES.map(|scheme| conferences.sorted(links, scheme, all));
    let lines = SCHEMES.iter().zip(&of_loop).map(|(scheme, all)| super::cumulative(scheme, all));
    charts.push(CLAIMS.lines("all-sources", &[], lines.collect()));
    let p90 = of_loop.each_ref().map(p90);
    rows.push(CLAIMS.row("loop-p90").measured(gain(p90[3].max(p90[4]), best_of(&p90[..3]))));
    let tables = vec![table, thresholds(conferences)];
    Part { rows, chapter: CLAIMS.chapter("distribution", tables, charts) }
}

/// Mean downlink of the two that share a trace, and of the others, of each draw.
fn two_and_others_by_draw(conferences: &Conferences, links: Links, scheme: &'static str) -> [Vec<f64>; 2] {
    let of = |part: fn(&[ClientOutcome]) -> &[ClientOutcome]| {
        conferences.by_draw(links, scheme, |outcome: &ConferenceOutcome| {
            let clients = part(&outcome.clients);
            clients.iter().map(|client| client.down_mbps).sum::<f64>() / clients.len() as f64
        })
    };
    [of(|clients| &clients[..SHARING]), of(|clients| &clients[SHARING..])]
}

/// The mean of these over draws.
fn two_and_others(conferences: &Conferences, links: Links, scheme: &'static str) -> [f64; 2] {
    let by_draw = two_and_others_by_draw(conferences, links, scheme);
    by_draw.map(|values| values.iter().sum::<f64>() / values.len() as f64)
}

/// The two that share a trace and the others, each under an even split and under the oracle, with the oracle's gains in per cent.
fn even_and_oracle(conferences: &Conferences, set: Set, setting: SharedSetting) -> [f64; 6] {
    let of = |division| {
        let model = Model { part: setting.part, ..Model::paper(division) };
        let SharedSetting { clients, server, .. } = setting;
        two_and_others(conferences, Links::Traces { set, clients, sharing: SHARING, server, model }, VANILLA)
    };
    let [even, oracle] = [Division::Even, Division::Oracle].map(of);
    let gains = [0, 1].map(|place| gain(oracle[place], even[place]));
    [even[0], oracle[0], even[1], oracle[1], gains[0], gains[1]]
}

/// A setting of the two that share a trace.
#[derive(Clone, Copy)]
struct SharedSetting {
    clients: usize,
    /// The server's capacity in Mb/s, where it has one.
    server: Option<u32>,
    /// Share of the trace that each of the two has, in per cent.
    part: u32,
}

impl SharedSetting {
    const JUDGED: Self = Self { clients: CLIENTS, server: None, part: 50 };
}

/// Two of the clients behind one trace.
pub(super) fn shared(conferences: &Conferences) -> Part {
    let mut table = CLAIMS.table("shared", &[]);
    let mut rows = Vec::new();
    for set in Set::ALL {
        let links = |model| Links::Traces { set, clients: CLIENTS, sharing: SHARING, server: None, model };
        let even = BASELINES.map(|scheme| (scheme, Model::paper(Division::Even), scheme));
        let oracle = [("oracle", Model::paper(Division::Oracle), VANILLA)];
        let of_loop = SCHEMES.map(|scheme| (scheme, Model::LOOP, scheme));
        let found = |(name, model, scheme): (&'static str, Model, &'static str)| {
            (name, two_and_others(conferences, links(model), scheme))
        };
        let paper: Vec<_> = even.into_iter().chain(oracle).map(found).collect();
        let of_loop: Vec<_> = of_loop.map(found).into();
        for (kind, found) in [("two links each", &paper), ("half-duplex", &of_loop)] {
            for (name, values) in found {
                table.rows.push(cells(&[set.name(), kind, name], *values));
            }
        }
        for (place, clients) in ["sharing", "others"].into_iter().enumerate() {
            let row = |key| CLAIMS.row(key).with("clients", clients).with("traces", set.name());
            let draws = |model, scheme| {
                let [two, others] = two_and_others_by_draw(conferences, links(model), scheme);
                if place == 0 { two } else { others }
            };
            let [vanilla, last_n, tack] = BASELINES.map(|scheme| draws(Model::paper(Division::Even), scheme));
            let paper = [vanilla, last_n, tack, draws(Model::paper(Division::Oracle), VANILLA)];
            let of_loop = SCHEMES.map(|scheme| draws(Model::LOOP, scheme));
            let oracle = gain_of(&paper);
            rows.push(oracle.judge(row("shared").trend(oracle.value > 0.0)));
            let [vanilla, last_n, tack, plum, _] = of_loop;
            rows.push(gain_of(&[vanilla, last_n, tack, plum]).judge(row("shared-loop")));
        }
    }
    let mut parts = CLAIMS.table("shared-parts", &[]);
    for (set, part) in Set::ALL.into_iter().flat_map(|set| PARTS.map(|part| (set, part))) {
        let values = even_and_oracle(conferences, set, SharedSetting { part, ..SharedSetting::JUDGED });
        parts.rows.push(cells(&[set.name(), &format!("{part} %")], values));
    }
    let mut by_clients = CLAIMS.table("shared-clients", &[]);
    let ample = SHARED_CLIENTS.map(|clients| SharedSetting { clients, ..SharedSetting::JUDGED });
    let servers = SHARED_SERVERS.map(|mbps| SharedSetting { server: Some(mbps), ..SharedSetting::JUDGED });
    let settings = ample.into_iter().chain(servers);
    for (set, setting) in Set::ALL.into_iter().flat_map(|set| settings.clone().map(move |one| (set, one))) {
        let server = setting.server.map_or("ample".to_owned(), |mbps| format!("{mbps} Mb/s"));
        let texts = [set.name(), &setting.clients.to_string(), &server];
        by_clients.rows.push(cells(&texts, even_and_oracle(conferences, set, setting)));
    }
    Part { rows, chapter: CLAIMS.chapter("shared", vec![table, parts, by_clients], Vec::new()) }
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

/// The two terms of equation 1 over rho.
pub(super) fn rho(conferences: &Conferences) -> Part {
    let mut table = CLAIMS.table("rho", &[]);
    let (mut rows, mut charts) = (Vec::new(), Vec::new());
    for set in Set::ALL {
        let links = Links::own(set, CLIENTS, Model::LOOP);
        let points = RHOS.map(|scheme| (rho_of(scheme), terms(conferences, links, scheme)));
        for (rho, terms) in points {
            table.rows.push(cells(&[set.name()], [rho].into_iter().chain(terms)));
        }
        let names = ["performance", "fairness"].into_iter().enumerate();
        let lines = names.map(|(place, name)| {
            let change = points[RHOS.len() - 1].1[place] - points[0].1[place];
            let row = CLAIMS.row("rho").with("term", name).with("traces", set.name());
            let falls = name == "performance";
            rows.push(row.trend(if falls { change < 0.0 } else { change > 0.0 }).measured(change));
            Line::whole(name, points.iter().map(|(rho, terms)| (*rho, terms[place])))
        });
        charts.push(CLAIMS.lines("rho", &[("traces", set.name().to_owned())], lines.collect()));
    }
    Part { rows, chapter: CLAIMS.chapter("rho", vec![table], charts) }
}

fn rho_of(scheme: &str) -> f64 {
    match &PLAN.schemes[scheme] {
        ConferenceConfig::Plum(config) => config.rho,
        _ => 0.0,
    }
}
