//! One or two of three clients on 802.11ac, one of them walking about (Fig. 14).

use std::sync::atomic::{AtomicUsize, Ordering};

use airbound_report::{Chapter, Chart, ChartKind, Grid, Line, Lines, Tolerance, ValidationRow};
use airbound_sim::conference::{AccessSpec, Conference, ConferenceOutcome, ConferenceSpec};
use airbound_units::Span;

use super::case::Who;
use super::scene::{self, Exponent, Place, SIDE, WIRE};
use super::{gain, omniscient};
use crate::papers::{Part, shown};
use crate::trial::in_parallel;
use crate::{Effort, TrialError};

/// The rows are judged with the first: ns-3's default, as the paper names ns-3's channel (Table II: YANS) and no exponent. The others, half a
/// unit each towards walls, stand beside it.
const EXPONENTS: [Exponent; 3] = ["3.0", "3.5", "4.0"];
const JUDGED: Exponent = EXPONENTS[0];
/// Where a second client on Wi-Fi is; the paper does not say.
const STILL: Place = Place::Metres(25.0);
/// Differences below this share of a bitrate are none: a frame more or less at the end of a session makes as much.
const RESOLUTION: f64 = 0.001;

/// One session.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Case {
    /// Number of the three clients that are on Wi-Fi.
    wireless: usize,
    exponent: Exponent,
    who: Who,
    seed: u64,
    seconds: u32,
}

impl Case {
    /// The links of the three clients.
    fn access(&self) -> Result<Vec<AccessSpec>, TrialError> {
        let link = |place| scene::wireless(place, self.exponent, self.seconds);
        let second = if self.wireless > 1 { link(STILL)? } else { scene::wired()? };
        Ok(vec![link(Place::Walk(self.seed))?, second, scene::wired()?])
    }

    fn run(&self) -> Result<ConferenceOutcome, TrialError> {
        let access = self.access()?;
        let mut spec = ConferenceSpec::new(access, self.who.config(), self.seed);
        spec.duration = Span::from_secs(u64::from(self.seconds)) - spec.warm_up;
        let wrong = |error: airbound_sim::BuildError| TrialError {
            name: "plum mobility".to_owned(),
            reason: error.to_string(),
        };
        Ok(Conference::new(spec).map_err(wrong)?.finish())
    }
}

/// A link on Wi-Fi, for what it carries.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Probe {
    place: Place,
    exponent: Exponent,
}

/// Load that each link on Wi-Fi carries in each second, in Mb/s.
struct Carried(Vec<(Probe, Vec<f64>)>);

impl Carried {
    fn of(&self, place: Place, exponent: Exponent) -> &[f64] {
        let probe = Probe { place, exponent };
        self.0.iter().find(|(known, _)| *known == probe).map_or(&[], |(_, seconds)| seconds)
    }

    /// The capacities of three clients, `wireless` of them on Wi-Fi, in each second of all walks.
    fn seconds(&self, exponent: Exponent, wireless: usize, seeds: u64) -> Vec<Vec<f64>> {
        let wire = 2.0 * f64::from(WIRE);
        let still = self.of(STILL, exponent);
        let walks = (1..=seeds).map(|seed| self.of(Place::Walk(seed), exponent));
        let second =
            |(walk, still): (&f64, &f64)| vec![*walk, if wireless > 1 { *still } else { wire }, wire];
        walks.flat_map(|walk| walk.iter().zip(still)).map(second).collect()
    }
}

/// All four QoE functions where the rows are judged, elsewhere what tells the exponents apart.
fn schemes(exponent: Exponent) -> impl Iterator<Item = Who> {
    let variants = if exponent == JUDGED { 4 } else { 1 };
    std::iter::once(Who::Vanilla).chain((0..variants).map(|qoe| Who::Plum(qoe, 50))).chain([Who::MEAN])
}

/// Received bitrates of all clients and seconds, in order.
fn bitrates(outcomes: &[&ConferenceOutcome]) -> Vec<f64> {
    let clients = outcomes.iter().flat_map(|outcome| &outcome.clients);
    let mut all: Vec<f64> = clients.flat_map(|client| client.seconds.iter().copied()).collect();
    all.sort_by(f64::total_cmp);
    all
}

fn quantile(sorted: &[f64], part: f64) -> f64 {
    sorted.get((part * sorted.len().saturating_sub(1) as f64) as usize).copied().unwrap_or(0.0)
}

fn mean(outcomes: &[&ConferenceOutcome], figure: impl Fn(&ConferenceOutcome) -> f64) -> f64 {
    outcomes.iter().map(|outcome| figure(outcome)).sum::<f64>() / outcomes.len().max(1) as f64
}

/// Returns the values of Fig. 14a and 14b for a scheme against Vanilla: the gain of the mean in per cent, the 90th percentile over
/// Vanilla's, the gain of the 10th in per cent.
fn claims(plain: &[&ConferenceOutcome], found: &[&ConferenceOutcome]) -> [f64; 3] {
    let (before, after) = (bitrates(plain), bitrates(found));
    [
        gain(mean(found, ConferenceOutcome::mean_down), mean(plain, ConferenceOutcome::mean_down)),
        quantile(&after, 0.9) / quantile(&before, 0.9).max(1e-3),
        gain(quantile(&after, 0.1), quantile(&before, 0.1)),
    ]
}

pub(super) fn part(effort: Effort, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Part, TrialError> {
    let (seconds, seeds) = match (effort.quick, effort.standard) {
        (true, _) => (20, 1),
        (false, true) => (240, 2),
        (false, false) => (1200, 10),
    };
    let cases: Vec<Case> = EXPONENTS
        .into_iter()
        .flat_map(|exponent| [1, 2].map(|wireless| (exponent, wireless)))
        .flat_map(|(exponent, wireless)| schemes(exponent).map(move |who| (exponent, wireless, who)))
        .flat_map(|(exponent, wireless, who)| {
            (1..=seeds).map(move |seed| Case { wireless, exponent, who, seed, seconds })
        })
        .collect();
    let places = || (1..=seeds).map(Place::Walk).chain([STILL]);
    let probes: Vec<Probe> = EXPONENTS
        .into_iter()
        .flat_map(|exponent| places().map(move |place| Probe { place, exponent }))
        .collect();
    let (done, all) = (AtomicUsize::new(0), cases.len() + probes.len());
    let step = || progress(done.fetch_add(1, Ordering::Relaxed) + 1, all);
    let outcomes = in_parallel(&cases, effort.jobs, |case| case.run().inspect(|_| step()))?;
    let found = in_parallel(&probes, effort.jobs, |probe| {
        let link = scene::wireless(probe.place, probe.exponent, seconds)?;
        omniscient::capacities(&link, seconds, 1).inspect(|_| step())
    })?;
    let carried = Carried(probes.into_iter().zip(found).collect());
    let of = |exponent: Exponent, wireless: usize, who: Who| -> Vec<&ConferenceOutcome> {
        let wanted = |case: &Case| (case.exponent, case.wireless, case.who) == (exponent, wireless, who);
        cases.iter().zip(&outcomes).filter(|(case, _)| wanted(case)).map(|(_, outcome)| outcome).collect()
    };
    let charts = EXPONENTS.map(|exponent| chart(exponent, &|who| of(exponent, 1, who)));
    let rows = [1, 2].into_iter().flat_map(|wireless| judged(wireless, &|who| of(JUDGED, wireless, who)));
    let rows = rows.collect();
    let chapter = Chapter {
        title: "Mobility".to_owned(),
        text: "A session over the simulated air: each Wi-Fi client has an access point and a channel of its own.".to_owned(),
        tables: vec![limits(&carried, seeds), beside(&of), bitrate_table(&of, seeds, seconds)],
        charts: charts.into(),
    };
    Ok(Part { rows, chapter })
}

/// The sessions of an exponent, a number of clients on Wi-Fi, and a scheme.
type Find<'a> = dyn Fn(Exponent, usize, Who) -> Vec<&'a ConferenceOutcome> + 'a;

/// Every exponent with one client on Wi-Fi, then with two.
fn settings() -> impl Iterator<Item = (Exponent, usize)> {
    EXPONENTS.into_iter().flat_map(|exponent| [(exponent, 1), (exponent, 2)])
}

/// Tabulates the gain that knowledge of every capacity would bring.
fn limits(carried: &Carried, seeds: u64) -> Grid {
    let mut grid = Grid::new(
        "What an omniscient allocation gains over an even split, three clients, one walking",
        &[
            "exponent",
            "on Wi-Fi",
            "walker's link Mb/s",
            "least",
            "mean alone %",
            "rho 0.5 %",
            "on any channel %",
            "that of Mb/s",
        ],
        2,
    );
    for (exponent, wireless) in settings() {
        let seconds = carried.seconds(exponent, wireless, seeds);
        let walk: Vec<f64> = seconds.iter().map(|second| second[0]).collect();
        let of_walk = (!walk.is_empty()).then(|| walk.iter().sum::<f64>() / walk.len() as f64);
        let bounds = omniscient::bounds(&seconds).map_or([None; 2], |bounds| bounds.map(Some));
        let most = omniscient::ceiling(wireless);
        let values = [of_walk, walk.into_iter().reduce(f64::min)].into_iter().chain(bounds);
        let values = values.chain([most.map(|most| most.0), most.map(|most| most.1)]);
        let texts = [exponent.to_owned(), wireless.to_string()].into_iter();
        grid.rows.push(texts.chain(values.map(super::text)).map(Into::into).collect());
    }
    grid.note = "Fluid, from what each link carries in each second of the same walks while both directions always have packets waiting. Walker's link: mean, and \
                 the least of a second. rho 0.5: the mean of the greatest utility as the paper weighs it. On any channel: the most that the \
                 mean can gain where the Wi-Fi clients' links carry the same all the time, whatever that is, with encoders of 10 Mb/s: the \
                 paper's 65 % is above it."
        .to_owned();
    grid
}

/// The claims at every exponent.
fn beside(of: &Find<'_>) -> Grid {
    let mut grid = Grid::new(
        "The claims of Fig. 14 under other losses, against Vanilla",
        &["exponent", "scheme", "mean, 1 on Wi-Fi %", "p90, times", "p10 %", "mean, 2 on Wi-Fi %"],
        2,
    );
    for (exponent, who) in
        EXPONENTS.into_iter().flat_map(|exponent| [(exponent, Who::PLUM), (exponent, Who::MEAN)])
    {
        let [one, p90, p10] = claims(&of(exponent, 1, Who::Vanilla), &of(exponent, 1, who));
        let [two, ..] = claims(&of(exponent, 2, Who::Vanilla), &of(exponent, 2, who));
        let texts = [exponent.to_owned(), who.name()].into_iter();
        grid.rows.push(texts.chain([one, p90, p10, two].map(shown)).map(Into::into).collect());
    }
    grid.note = format!(
        "The paper: 65.1 %, 3.8, 25 % and 12.3 %. The rows above are judged with {JUDGED}, the default of ns-3's channel, which the paper names \
         without an exponent; the others were not chosen by what they bring."
    );
    grid
}

fn bitrate_table(of: &Find<'_>, seeds: u64, seconds: u32) -> Grid {
    let mut grid = Grid::new(
        "Three clients, one walking on 802.11ac, downlink Mb/s",
        &["exponent", "on Wi-Fi", "scheme", "mean", "walker", "others", "p10", "p90", "worst", "Jain"],
        3,
    );
    for (exponent, wireless) in settings() {
        for who in schemes(exponent) {
            let found = of(exponent, wireless, who);
            let all = bitrates(&found);
            let values = [
                mean(&found, ConferenceOutcome::mean_down),
                mean(&found, |outcome| outcome.clients[0].down_mbps),
                mean(&found, |outcome| (outcome.clients[1].down_mbps + outcome.clients[2].down_mbps) / 2.0),
                quantile(&all, 0.1),
                quantile(&all, 0.9),
                mean(&found, ConferenceOutcome::worst_down),
                mean(&found, ConferenceOutcome::jain),
            ];
            let texts = [exponent.to_string(), wireless.to_string(), who.name()];
            grid.rows.push(texts.into_iter().chain(values.map(shown)).map(Into::into).collect());
        }
    }
    grid.note = format!(
        "{seeds} seeds of {seconds} s. 802.11ac, 20 MHz, two streams, DCF, ideal rates, log-distance loss; ns-3's random walk in a square of {SIDE} m \
         with the access point in a corner; wires of {WIRE} Mb/s. Width and place are not given. M = 30 Mb/s, rho 0.5, encoders send 1 to 10 Mb/s."
    );
    grid
}

/// Fig. 14a: the distribution of received bitrates with one client on Wi-Fi.
fn chart<'a>(exponent: Exponent, of: &dyn Fn(Who) -> Vec<&'a ConferenceOutcome>) -> Chart {
    let line = |who: Who| {
        let all = bitrates(&of(who));
        let points =
            (0..=100).map(|percent| (quantile(&all, f64::from(percent) / 100.0), f64::from(percent)));
        Line::whole(who.name(), points)
    };
    let kind = ChartKind::Lines(Lines {
        x: "received bitrate (Mb/s)".to_owned(),
        y: "share of clients and seconds (%)".to_owned(),
        top: Some(100.0),
        lines: schemes(exponent).map(line).collect(),
        ..Lines::default()
    });
    Chart {
        kind,
        caption: format!("Fig. 14a: distribution with one of three clients on Wi-Fi, exponent {exponent}."),
    }
}

fn judged<'a>(wireless: usize, of: &dyn Fn(Who) -> Vec<&'a ConferenceOutcome>) -> Vec<ValidationRow> {
    let plain = of(Who::Vanilla);
    let variants = (0..4).map(|qoe| claims(&plain, &of(Who::Plum(qoe, 50)))[0]);
    let by_mean = variants.fold(f64::NEG_INFINITY, f64::max);
    let [_, p90, p10] = claims(&plain, &of(Who::PLUM));
    let row = |id: &str, metric: String, unit: &str, reference, measured, tolerance, trend, note: &str| {
        ValidationRow::judged(id, metric, unit, Some(reference), Some(measured), Some(tolerance), trend, note)
    };
    let note = "Fig. 14b, \"up to\": the best of the four QoE functions";
    let reference = if wireless == 1 { 65.1 } else { 12.3 };
    let mut rows = vec![row(
        "mobility",
        format!("gain of the mean bitrate, {wireless} on Wi-Fi"),
        "%",
        reference,
        by_mean,
        Tolerance::Relative(0.3),
        by_mean > 100.0 * RESOLUTION,
        note,
    )];
    if wireless == 1 {
        rows.push(row(
            "mobility",
            "90th percentile over Vanilla's".to_owned(),
            "",
            3.8,
            p90,
            Tolerance::Factor(1.25),
            p90 > 1.0 + RESOLUTION,
            "Fig. 14a",
        ));
        rows.push(row(
            "mobility",
            "gain of the 10th percentile".to_owned(),
            "%",
            25.0,
            p10,
            Tolerance::Relative(0.4),
            p10 > 100.0 * RESOLUTION,
            "Fig. 14a",
        ));
        for who in schemes(JUDGED).skip(1) {
            let found = of(who);
            let worst = mean(&found, ConferenceOutcome::worst_down)
                / mean(&plain, ConferenceOutcome::worst_down).max(1e-3);
            let jain = mean(&found, ConferenceOutcome::jain);
            let name = format!("{}, walking", who.name());
            rows.push(row(
                "worst-user",
                format!("bitrate of the worst user over Vanilla's, {name}"),
                "",
                1.0 - RESOLUTION,
                worst,
                Tolerance::AtLeast,
                false,
                "Fig. 14c: not worse off, to a frame or two",
            ));
            rows.push(row(
                "worst-user",
                format!("Jain's index, {name}"),
                "",
                0.79,
                jain,
                Tolerance::AtLeast,
                false,
                "Fig. 14d",
            ));
        }
    }
    rows
}
