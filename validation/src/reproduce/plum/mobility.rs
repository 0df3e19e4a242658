//! One or two of three clients on 802.11ac, one of them walking about (Fig. 14).

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use airbound_report::{Chapter, Chart, ChartKind, Grid, Line, Lines, Tolerance, ValidationRow};
use airbound_sim::channel::Key;
use airbound_sim::scenario::{Overrides, Scenario};
use airbound_sim::session::{AccessSpec, AirSpec, PipeSpec, Session, SessionOutcome, SessionSpec, Sharing};
use airbound_sim::trace::{Format, Trace};
use airbound_units::Span;

use super::case::Who;
use super::{gain, omniscient};
use crate::reproduce::{Part, shown};
use crate::trial::in_parallel;
use crate::{Effort, TrialError};

/// Metres along a side of the square; the access point stands in a corner.
const SIDE: f64 = 30.0;
/// The direction changes every so many seconds, and the speed is drawn from 2 to 4 m/s: the defaults of ns-3's random walk.
const LEG: u32 = 1;
const NEAREST: f64 = 1.0;

/// Times and distances of a random walk in two dimensions within the square, one a leg.
fn walk(seed: u64, seconds: u32) -> String {
    let key = Key::of_seed(seed).with(0xa1c);
    let (mut x, mut y) = (SIDE / 2.0, SIDE / 2.0);
    let mut text = String::new();
    for leg in 0..=seconds / LEG {
        let distance = libm::hypot(x, y).max(NEAREST);
        let _ = write!(text, "[\"{} s\", \"{distance:.2} m\"], ", leg * LEG);
        let draw = key.with(u64::from(leg));
        let angle = std::f64::consts::TAU * draw.with(1).uniform();
        let step = (2.0 + 2.0 * draw.with(2).uniform()) * f64::from(LEG);
        // Reflected at the walls.
        let reflected = |place: f64| {
            if place < 0.0 {
                -place
            } else if place > SIDE {
                2.0 * SIDE - place
            } else {
                place
            }
        };
        x = reflected(x + step * libm::cos(angle));
        y = reflected(y + step * libm::sin(angle));
    }
    text
}

/// A BSS with one client, whose position is `distance = ...` or `path = ...`.
fn bss(position: &str, exponent: Exponent) -> Result<AccessSpec, TrialError> {
    let text = format!(
        r#"duration = "1 s"
[air]
standard = "vht"
width = "20 MHz"
edca = "dcf"
[scheme]
queue = "fifo"
rate = "ideal"
[wire]
delay = "0 s"
[[station]]
name = "client"
channel = {{ kind = "log-distance", exponent = {exponent}, {position} }}
[[flow]]
name = "session"
kind = "cbr"
station = "client"
rate = "1 Mbit/s"
"#
    );
    let name = "plum mobility";
    let scenario = Scenario::parse(&text, name, &Overrides::default())
        .map_err(|error| TrialError { name: name.to_owned(), reason: error.to_string() })?;
    Ok(AccessSpec::Air(AirSpec { scenario: Arc::new(scenario), clients: 1 }))
}

/// A client on a wire of 50 Mb/s each way.
pub(super) fn wired() -> Result<AccessSpec, TrialError> {
    wire(50)
}

/// A client on a wire of so many Mb/s each way.
pub(super) fn wire(mbps: u32) -> Result<AccessSpec, TrialError> {
    let trace = Trace::parse(&format!("0 {mbps}\n"), "wire", Format::Bandwidth, 1.0, true)
        .map_err(|error| TrialError { name: "wire".to_owned(), reason: error.to_string() })?;
    let sharing = Sharing::Split { up: 1.0, down: 1.0 };
    Ok(AccessSpec::Pipe(PipeSpec { sharing, ..PipeSpec::new(Arc::new(trace)) }))
}

/// One session.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Case {
    /// How many of the three are on Wi-Fi.
    wireless: usize,
    exponent: Exponent,
    who: Who,
    seed: u64,
    seconds: u32,
}

/// Exponent of the loss over distance, as it is written.
type Exponent = &'static str;
/// ns-3's default, with which a square of 30 m has no place where three clients' video does not fit.
const OPEN: Exponent = "3.0";
/// Through walls: what 802.11ac carries falls to some Mb/s at the far corner, but not to nothing. With 4.0 a walker is out of range for up to a
/// minute, and what counts then is how long TCP's timer backed off.
const WALLS: Exponent = "3.8";

impl Case {
    /// The links of the three clients.
    fn access(&self) -> Result<Vec<AccessSpec>, TrialError> {
        let path = walk(self.seed, self.seconds);
        let mut access = vec![bss(&format!("path = [{path}]"), self.exponent)?];
        access.push(if self.wireless > 1 { bss("distance = \"25 m\"", self.exponent)? } else { wired()? });
        access.push(wired()?);
        Ok(access)
    }

    /// What the links of the three carry in each second, in Mb/s.
    fn capacities(&self) -> Result<Vec<Vec<f64>>, TrialError> {
        let links: Vec<Vec<f64>> = self
            .access()?
            .into_iter()
            .take(self.wireless)
            .map(|link| omniscient::capacities(link, self.seconds, self.seed))
            .collect::<Result<_, _>>()?;
        let second = |second: usize| {
            let of = |client: usize| links.get(client).and_then(|link| link.get(second)).copied();
            // A wire carries 50 Mb/s each way.
            (0..3).map(|client| of(client).unwrap_or(100.0)).collect()
        };
        Ok((0..links.first().map_or(0, Vec::len)).map(second).collect())
    }

    fn run(&self) -> Result<SessionOutcome, TrialError> {
        let access = self.access()?;
        let mut spec = SessionSpec::new(access, self.who.config(), self.seed);
        spec.duration = Span::from_secs(u64::from(self.seconds)) - spec.warm_up;
        let wrong = |error: airbound_sim::BuildError| TrialError {
            name: "plum mobility".to_owned(),
            reason: error.to_string(),
        };
        Ok(Session::new(spec).map_err(wrong)?.finish())
    }
}

/// Where nothing binds, one variant shows it.
fn schemes(exponent: Exponent) -> impl Iterator<Item = Who> {
    let variants = if exponent == OPEN { 1 } else { 4 };
    let by_mean = (exponent == WALLS).then_some(Who::MEAN);
    std::iter::once(Who::Vanilla).chain((0..variants).map(|qoe| Who::Plum(qoe, 50))).chain(by_mean)
}

/// Received bitrates of all clients and seconds, in order.
fn bitrates(outcomes: &[&SessionOutcome]) -> Vec<f64> {
    let clients = outcomes.iter().flat_map(|outcome| &outcome.clients);
    let mut all: Vec<f64> = clients.flat_map(|client| client.seconds.iter().copied()).collect();
    all.sort_by(f64::total_cmp);
    all
}

fn quantile(sorted: &[f64], part: f64) -> f64 {
    sorted.get((part * sorted.len().saturating_sub(1) as f64) as usize).copied().unwrap_or(0.0)
}

fn mean(outcomes: &[&SessionOutcome], figure: impl Fn(&SessionOutcome) -> f64) -> f64 {
    outcomes.iter().map(|outcome| figure(outcome)).sum::<f64>() / outcomes.len().max(1) as f64
}

pub(super) fn part(effort: Effort, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Part, TrialError> {
    let (seconds, seeds) = match (effort.quick, effort.standard) {
        (true, _) => (20, 1),
        (false, true) => (240, 2),
        (false, false) => (1200, 10),
    };
    let cases: Vec<Case> = [OPEN, WALLS]
        .into_iter()
        .flat_map(|exponent| [1, 2].map(|wireless| (exponent, wireless)))
        .flat_map(|(exponent, wireless)| schemes(exponent).map(move |who| (exponent, wireless, who)))
        .flat_map(|(exponent, wireless, who)| {
            (1..=seeds).map(move |seed| Case { wireless, exponent, who, seed, seconds })
        })
        .collect();
    let walks: Vec<Case> = cases.iter().filter(|case| case.who == Who::Vanilla).copied().collect();
    let (done, all) = (AtomicUsize::new(0), cases.len() + walks.len());
    let step = || progress(done.fetch_add(1, Ordering::Relaxed) + 1, all);
    let outcomes = in_parallel(&cases, effort.jobs, |case| case.run().inspect(|_| step()))?;
    let carried = in_parallel(&walks, effort.jobs, |case| case.capacities().inspect(|_| step()))?;
    let bound = |exponent: Exponent, wireless: usize| -> Option<[f64; 2]> {
        let wanted = |case: &Case| (case.exponent, case.wireless) == (exponent, wireless);
        let seconds =
            walks.iter().zip(&carried).filter(|(case, _)| wanted(case)).flat_map(|(_, seconds)| seconds);
        omniscient::bounds(&seconds.cloned().collect::<Vec<_>>())
    };
    let of = |exponent: Exponent, wireless: usize, who: Who| -> Vec<&SessionOutcome> {
        let wanted = |case: &Case| (case.exponent, case.wireless, case.who) == (exponent, wireless, who);
        cases.iter().zip(&outcomes).filter(|(case, _)| wanted(case)).map(|(_, outcome)| outcome).collect()
    };
    let mut grid = Grid::new(
        "Three clients, one walking on 802.11ac, downlink Mb/s",
        &["exponent", "on Wi-Fi", "scheme", "mean", "walker", "others", "p10", "p90", "worst", "Jain"],
        3,
    );
    let mut limits = Grid::new(
        "What an omniscient allocation gains over an even split, three clients, one walking",
        &["exponent", "on Wi-Fi", "mean alone %", "rho 0.5 %", "on any channel %", "that of Mb/s"],
        2,
    );
    let (mut rows, mut charts) = (Vec::new(), Vec::new());
    for (exponent, wireless) in [(OPEN, 1), (OPEN, 2), (WALLS, 1), (WALLS, 2)] {
        let most = omniscient::ceiling(wireless);
        let values = bound(exponent, wireless).map_or([None; 2], |bounds| bounds.map(Some)).into_iter();
        let values = values.chain([most.map(|most| most.0), most.map(|most| most.1)]);
        let texts = [exponent.to_owned(), wireless.to_string()].into_iter();
        limits.rows.push(texts.chain(values.map(super::text)).map(Into::into).collect());
        let mut lines = Vec::new();
        for who in schemes(exponent) {
            let found = of(exponent, wireless, who);
            let all = bitrates(&found);
            let values = [
                mean(&found, SessionOutcome::mean_down),
                mean(&found, |outcome| outcome.clients[0].down_mbps),
                mean(&found, |outcome| (outcome.clients[1].down_mbps + outcome.clients[2].down_mbps) / 2.0),
                quantile(&all, 0.1),
                quantile(&all, 0.9),
                mean(&found, SessionOutcome::worst_down),
                mean(&found, SessionOutcome::jain),
            ];
            let texts = [exponent.to_string(), wireless.to_string(), who.name()];
            grid.rows.push(texts.into_iter().chain(values.map(shown)).map(Into::into).collect());
            let points =
                (0..=100).map(|percent| (quantile(&all, f64::from(percent) / 100.0), f64::from(percent)));
            lines.push(Line::whole(who.name(), points));
        }
        if exponent == OPEN {
            continue;
        }
        let kind = ChartKind::Lines(Lines {
            x: "received bitrate (Mb/s)".to_owned(),
            y: "share of clients and seconds (%)".to_owned(),
            top: Some(100.0),
            lines,
            ..Lines::default()
        });
        let caption = format!("Fig. 14a: distribution with {wireless} of three clients on Wi-Fi.");
        charts.push(Chart { kind, caption });
        rows.extend(judged(wireless, &|wireless, who| of(WALLS, wireless, who)));
    }
    limits.note = "Fluid, from what each link carries in each second of the same walks while both directions are always busy. rho 0.5: the mean of \
                   the greatest utility as the paper weighs it. on any channel: the most that the mean can gain where the Wi-Fi clients' \
                   links carry the same all the time, whatever that is, with encoders of 10 Mb/s: the paper's 65 % is above it."
        .to_owned();
    grid.note = format!(
        "{seeds} seeds of {seconds} s. 802.11ac, 20 MHz, one stream, DCF, ideal rates, log-distance loss; a random walk in a \
         square of {SIDE} m with the access point in a corner; wires of 50 Mb/s. Width, place and exponent are not given: with ns-3's exponent of 3 nothing binds, so that the rows are judged with {WALLS}, \
         as through walls. \
         M = 30 Mb/s, rho 0.5, encoders send 1 to 10 Mb/s."
    );
    let chapter = Chapter {
        title: "Mobility".to_owned(),
        text: "A session over the simulated air: each Wi-Fi client has an access point and a channel of its own.".to_owned(),
        tables: vec![limits, grid],
        charts,
    };
    Ok(Part { rows, chapter })
}

fn judged<'a>(wireless: usize, of: &dyn Fn(usize, Who) -> Vec<&'a SessionOutcome>) -> Vec<ValidationRow> {
    let (plain, plum) = (of(wireless, Who::Vanilla), of(wireless, Who::PLUM));
    let best_mean = schemes(WALLS)
        .skip(1)
        .map(|who| mean(&of(wireless, who), SessionOutcome::mean_down))
        .fold(0.0, f64::max);
    let by_mean = gain(best_mean, mean(&plain, SessionOutcome::mean_down));
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
        by_mean > 0.0,
        note,
    )];
    if wireless == 1 {
        let (before, after) = (bitrates(&plain), bitrates(&plum));
        let p90 = quantile(&after, 0.9) / quantile(&before, 0.9).max(1e-3);
        rows.push(row(
            "mobility",
            "90th percentile over Vanilla's".to_owned(),
            "",
            3.8,
            p90,
            Tolerance::Factor(1.25),
            p90 > 1.0,
            "Fig. 14a",
        ));
        let p10 = gain(quantile(&after, 0.1), quantile(&before, 0.1));
        rows.push(row(
            "mobility",
            "gain of the 10th percentile".to_owned(),
            "%",
            25.0,
            p10,
            Tolerance::Relative(0.4),
            p10 > 0.0,
            "Fig. 14a",
        ));
        for who in schemes(WALLS).skip(1) {
            let found = of(wireless, who);
            let worst =
                mean(&found, SessionOutcome::worst_down) / mean(&plain, SessionOutcome::worst_down).max(1e-3);
            let jain = mean(&found, SessionOutcome::jain);
            let name = format!("{}, walking", who.name());
            rows.push(row(
                "worst-user",
                format!("bitrate of the worst user over Vanilla's, {name}"),
                "",
                1.0,
                worst,
                Tolerance::AtLeast,
                false,
                "Fig. 14c",
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
