//! The same scenarios in the simulator and in the laboratory, where the real mac80211, Minstrel-HT and TCP of Linux play them over
//! the same model of the air. The kernel is the reference.

use std::path::Path;

use airbound_lab::host::{self, Built, Machine, Network, Scratch};
use airbound_lab::{LabError, plan};
use airbound_record::{FlowSummary, LatencyStats, RunFolder, Summary};
use airbound_report::{Tolerance, ValidationRow};
use airbound_scenario::{Overrides, Scenario};

use super::cases::{CASES, Case};
use crate::chance::{moments, two_errors};
use crate::{Effort, Trial, TrialError};

/// Heading of the table.
pub const LAB_TITLE: &str = "The real Linux stack over the same air";

/// Setting of the laboratory's rows, which need QEMU and Debian's packages, and take minutes.
#[derive(Clone, Copy)]
pub struct LabSetting<'a> {
    /// The program that the machine runs inside.
    pub program: &'a Path,
    /// The laboratory's cache.
    pub cache: &'a Path,
    /// The kernel that plays.
    pub kernel: host::Kernel,
    /// Only the case with this id, or, where none has it, those whose id contains it.
    pub only: Option<&'a str>,
    /// Keeps the record of each run in a folder here.
    pub out: Option<&'a Path>,
    /// Takes the kernel's side from the records kept in this folder, in place of playing.
    pub data: Option<&'a Path>,
    /// Seeds of the kernel in the cases with HT; the others have one. Means are compared.
    pub seeds: u32,
    /// Receives a line for each step.
    pub say: &'a dyn Fn(&str),
}

/// Of goodput, and of median and 95th percentile of the latency.
const GOODPUT: f64 = 0.05;
const LATENCY: f64 = 0.15;
/// Most seeds of the simulator, for a case whose figures differ so much from run to run that chance alone exceeds a tolerance.
const SEEDS: u64 = 15;

/// The rows: the simulator beside the real Linux stack; without a measured value, and with the reason, where the laboratory cannot
/// be had.
///
/// # Errors
/// [`TrialError`] if the simulator cannot run a case, which is a defect.
pub fn rows(effort: Effort, setting: &LabSetting<'_>) -> Result<Vec<ValidationRow>, TrialError> {
    let mut rows = Vec::new();
    let built = setting.data.is_none().then(|| {
        host::build(setting.cache, setting.kernel, setting.program, &mut |step| (setting.say)(step))
    });
    for case in wanted(setting.only) {
        let trial = |seed| Trial::new(format!("lab {}", case.id), case.text(effort), seed);
        let mut kernel = Ok(Vec::new());
        for seed in 1..=u64::from(if case.vht { 1 } else { setting.seeds }) {
            (setting.say)(case.id);
            let played = match (&built, setting.data) {
                (_, Some(data)) => kept(&trial(seed), data),
                (Some(Ok(built)), None) => play(&trial(seed), built, setting),
                (Some(Err(error)), None) => Err(error.to_string()),
                (None, None) => continue,
            };
            kernel = kernel.and_then(|kernel| Ok([kernel, vec![played?]].concat()));
        }
        let ours = simulate(case, kernel.as_ref().map_or(0, Vec::len), trial)?;
        rows.extend(compare(case, &ours, kernel));
    }
    Ok(rows)
}

/// The ids of the cases that [`LabSetting::only`] chooses.
pub fn case_ids(only: Option<&str>) -> Vec<&'static str> {
    wanted(only).map(|case| case.id).collect()
}

/// The case with this id; where none has it, those whose id contains it.
fn wanted(only: Option<&str>) -> impl Iterator<Item = &'static Case> {
    let is_id = CASES.iter().any(|case| Some(case.id) == only);
    CASES
        .iter()
        .filter(move |case| only.is_none_or(|only| case.id == only || !is_id && case.id.contains(only)))
}

/// Runs of the simulator: as many as of the kernel, and further ones while chance exceeds a tolerance.
fn simulate(case: &Case, played: usize, trial: impl Fn(u64) -> Trial) -> Result<Vec<Summary>, TrialError> {
    let mut runs = Vec::new();
    for seed in 1..=SEEDS {
        runs.push(trial(seed).run()?.summary);
        if runs.len() > played
            && !readings(case, &runs).iter().any(|reading| reading.is_chance(&runs, played))
        {
            break;
        }
    }
    Ok(runs)
}

/// The folder of a trial's record.
fn folder_of(trial: &Trial) -> String {
    let id = trial.name.replace(' ', "-");
    if trial.seed == 1 { id } else { format!("{id}-seed-{}", trial.seed) }
}

/// The kept record of a trial.
fn kept(trial: &Trial, data: &Path) -> Result<Summary, String> {
    let folder = RunFolder::open(&data.join(folder_of(trial)));
    folder.and_then(|folder| folder.summary()).map_err(|error| error.to_string())
}

/// Plays a trial in the laboratory; the record stays if a folder for it is given.
fn play(trial: &Trial, built: &Built, setting: &LabSetting<'_>) -> Result<Summary, String> {
    let scenario = Scenario::parse(&trial.scenario, &trial.name, &Overrides::default())
        .map_err(|error| error.to_string())?;
    let scenario = Scenario { seed: trial.seed, ..scenario };
    let id = folder_of(trial);
    let attempt = || -> Result<Summary, LabError> {
        plan::check(&scenario)?;
        let place = Scratch::create(&std::env::temp_dir().join(format!("airbound-{id}")))?;
        let scratch = place.path().join("machine");
        let machine = Machine { built, scenario: &scenario, network: &Network::default(), scratch };
        let outcome = machine.play(&mut |_| ())?;
        let folder = setting.out.unwrap_or(place.path()).join(&id);
        let kept = setting.out.is_some();
        host::write_record(&trial.name, &scenario, &outcome, &folder, kept, host::LatencyEnd::Radio)
    };
    attempt().map_err(|error| error.to_string())
}

fn goodput(summary: &Summary, flow: &str) -> Option<f64> {
    if flow == "total" {
        return Some(summary.flows.iter().map(|flow| flow.goodput_mbps).sum());
    }
    find(summary, flow).map(|flow| flow.goodput_mbps)
}

fn find<'a>(summary: &'a Summary, flow: &str) -> Option<&'a FlowSummary> {
    summary.flows.iter().find(|entry| entry.name == flow)
}

/// The mean of a statistic of a flow's latency; of a group, over its flows, which are alike: each of them alone differs by chance.
fn latency(summary: &Summary, flow: &str, statistic: fn(&LatencyStats) -> Option<f64>) -> Option<f64> {
    let number = |name: &str| name.strip_prefix(flow)?.strip_prefix('-')?.parse::<u32>().ok();
    let is_of = |name: &str| name == flow || number(name).is_some();
    let flows = summary.flows.iter().filter(|entry| is_of(&entry.name));
    let values: Vec<f64> = flows.map(|entry| statistic(&entry.latency_ms)).collect::<Option<_>>()?;
    (!values.is_empty()).then(|| moments(&values, |value| *value).0)
}

/// A figure of a run.
type Figure<'a> = Box<dyn Fn(&Summary) -> Option<f64> + 'a>;

/// The figure that a row compares.
struct Reading<'a> {
    metric: String,
    unit: &'static str,
    /// Tolerance, a fraction of the kernel's value.
    tolerance: f64,
    of: Figure<'a>,
}

impl Reading<'_> {
    /// The values of runs; empty if one has none.
    fn values(&self, runs: &[Summary]) -> Vec<f64> {
        runs.iter().map(&self.of).collect::<Option<_>>().unwrap_or_default()
    }

    fn mean(&self, runs: &[Summary]) -> Option<f64> {
        let values = self.values(runs);
        (!values.is_empty()).then(|| moments(&values, |value| *value).0)
    }

    /// Two standard errors of the difference to the mean of `played` runs of the kernel.
    fn chance(&self, runs: &[Summary], played: usize) -> f64 {
        two_errors(&self.values(runs), u32::try_from(played).unwrap_or(u32::MAX), |value| *value)
    }

    /// Whether chance alone exceeds the tolerance.
    fn is_chance(&self, runs: &[Summary], played: usize) -> bool {
        self.mean(runs).is_some_and(|mean| self.chance(runs, played) > self.tolerance * mean)
    }
}

fn readings<'a>(case: &'a Case, runs: &[Summary]) -> Vec<Reading<'a>> {
    let mut readings = Vec::new();
    for flow in case.goodput {
        let of = Box::new(move |run: &Summary| goodput(run, flow));
        readings.push(Reading { metric: format!("goodput, {flow}"), unit: "Mb/s", tolerance: GOODPUT, of });
    }
    for flow in case.latency {
        let p50 = Box::new(move |run: &Summary| latency(run, flow, |stats| stats.p50));
        let p95 = Box::new(move |run: &Summary| latency(run, flow, |stats| stats.p95));
        let reading = |metric, of| Reading { metric, unit: "ms", tolerance: LATENCY, of };
        readings.push(reading(format!("latency p50, {flow}"), p50));
        readings.push(reading(format!("latency p95, {flow}"), p95));
    }
    if case.airtime {
        for (place, station) in runs.iter().take(1).flat_map(|run| run.stations.iter().enumerate()) {
            let of = move |run: &Summary| run.stations.get(place).map(|station| station.airtime_share);
            let metric = format!("airtime share, {}", station.name);
            readings.push(Reading { metric, unit: "", tolerance: GOODPUT, of: Box::new(of) });
        }
    }
    readings
}

/// Compares means. Where chance exceeds the tolerance it takes its place, and the note says so: the kernel's runs differ as much as the
/// simulator's.
fn compare(case: &Case, ours: &[Summary], kernel: Result<Vec<Summary>, String>) -> Vec<ValidationRow> {
    let (kernel, reason) = match kernel {
        Ok(kernel) => (kernel, String::new()),
        Err(reason) => (Vec::new(), reason),
    };
    let row = |reading: Reading<'_>| {
        let reference = reading.mean(&kernel);
        let measured = reference.and_then(|_| reading.mean(ours));
        let (tolerance, note) = if reading.is_chance(ours, kernel.len()) {
            let chance = reading.chance(ours, kernel.len());
            let note = format!("{} runs; two standard errors are {chance:.3} {}", ours.len(), reading.unit);
            (Tolerance::Absolute(chance), note.trim_end().to_owned())
        } else {
            (Tolerance::Relative(reading.tolerance), String::new())
        };
        let note = if reference.is_none() { reason.clone() } else { note };
        ValidationRow::judged(
            case.id,
            reading.metric,
            reading.unit,
            reference,
            measured,
            Some(tolerance),
            note,
        )
    };
    readings(case, ours).into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::cases::PLAIN;
    use super::*;

    #[test]
    fn an_id_names_one_case_and_a_part_of_it_all_that_have_it() {
        assert_eq!(case_ids(Some("uploads-1")), ["uploads-1"]);
        assert_eq!(case_ids(Some("uploads-")).len(), 5);
        assert_eq!(case_ids(None).len(), CASES.len());
        assert!(case_ids(Some("nothing")).is_empty());
    }

    #[test]
    fn both_sides_can_play_every_case() {
        for case in &CASES {
            let text = case.text(Effort::default());
            let scenario = Scenario::parse(&text, case.id, &Overrides::default()).expect("a scenario");
            plan::check(&scenario).expect("within what the laboratory can express");
            let known = |flow: &&str| {
                let mut flows = scenario.flows.iter();
                *flow == "total" || flows.any(|entry| entry.name == **flow || entry.group == **flow)
            };
            assert!(case.goodput.iter().chain(case.latency).all(known), "{}", case.id);
        }
    }

    #[test]
    fn without_the_laboratory_nothing_is_judged() {
        let trial = Trial {
            sets: Vec::new(),
            name: "idle".to_owned(),
            scenario: CASES[0].text(Effort { quick: true, ..Effort::default() }),
            seed: 1,
        };
        let ours = trial.run().expect("runs").summary;
        let rows = compare(&CASES[0], &[ours], Err("the laboratory needs QEMU".to_owned()));
        assert!(
            rows.iter()
                .all(|row| row.measured.is_none() && row.note.contains("QEMU") && row.within().is_none())
        );
        assert!(!rows.is_empty());
    }

    #[test]
    fn a_groups_latency_is_the_mean_of_its_flows() {
        let text = CASES.iter().find(|case| case.id == "cubic-4").expect("a case");
        let text = text.text(Effort { quick: true, ..Effort::default() });
        let mut run = Trial::new("cubic-4", text, 1).run().expect("runs").summary;
        for (flow, value) in run.flows.iter_mut().zip([40.0, 50.0, 60.0, 70.0]) {
            flow.latency_ms.p50 = Some(value);
        }
        run.flows[3].name = "bulky-4".to_owned();
        assert_eq!(latency(&run, "bulk", |stats| stats.p50), Some(50.0));
        assert_eq!(latency(&run, "bulk-2", |stats| stats.p50), Some(50.0));
        assert_eq!(latency(&run, "none", |stats| stats.p50), None);
        run.flows[0].latency_ms.p50 = None;
        assert_eq!(latency(&run, "bulk", |stats| stats.p50), None);
    }

    #[test]
    fn chance_takes_the_place_of_a_tolerance_that_it_exceeds() {
        let case = Case { id: "case", goodput: &["probe"], ..PLAIN };
        let run = Trial::new("idle", CASES[0].text(Effort { quick: true, ..Effort::default() }), 1);
        let run = run.run().expect("runs").summary;
        let with = |goodput: f64| {
            let mut run = run.clone();
            run.flows[0].goodput_mbps = goodput;
            run
        };
        let judged = |ours: &[f64], kernel: f64| {
            let ours: Vec<Summary> = ours.iter().map(|value| with(*value)).collect();
            compare(&case, &ours, Ok(vec![with(kernel)])).remove(0)
        };
        // A variance of 2, one run there and two here: two standard errors are 2 √3.
        let row = judged(&[1.0, 3.0], 5.0);
        assert_eq!(row.within(), Some(true), "{}", row.note);
        assert!(row.note.contains("2 runs; two standard errors are 3.464 Mb/s"), "{}", row.note);
        assert_eq!(judged(&[1.0, 3.0], 6.0).within(), Some(false));
        // Runs that are alike leave the tolerance of 5 %.
        assert_eq!(judged(&[2.0, 2.0], 2.2).within(), Some(false));
        assert_eq!(judged(&[2.0, 2.0], 2.1).within(), Some(true));
    }
}
