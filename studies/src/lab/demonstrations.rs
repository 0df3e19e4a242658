//! Demonstrations of the access-point agent in the laboratory: scenario, arguments, and the aims for the two runs, that of the kernel alone
//! and that with the agent.

use std::collections::BTreeMap;

use airbound_record::{FlowSummary, Summary};
use airbound_report::{Tolerance, ValidationRow};
use serde_json::Value;

/// A demonstration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demonstration {
    /// A VR stream beside bulk, under LAST-PQ.
    Vr,
    /// A card with a deep queue, under WQM.
    Wqm,
    /// A weak channel, under Law's queue.
    Law,
}

/// Output of a run with the agent, besides the summary of the run.
#[derive(Debug, Clone, Default)]
pub struct AgentBooks {
    /// The agent's own summary (`agent-summary.json`), null if there is none.
    pub summary: Value,
    /// Its last status (`agent-status.json`), null if there is none.
    pub status: Value,
    /// `agent-cpu.txt`: processor time at the beginning and at the end of the run.
    pub processor: String,
    /// `kernel-processor.txt`: idle time and the medium's time at the beginning and at the end of the run.
    pub machine: String,
    /// The same of the run without the agent.
    pub machine_alone: String,
}

impl Demonstration {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Vr, Self::Wqm, Self::Law];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vr => "vr",
            Self::Wqm => "wqm",
            Self::Law => "law",
        }
    }

    /// The most processor time of a packet in all, us: under load, and of single packets at 2 Mb/s.
    const fn most_us(self) -> f64 {
        match self {
            Self::Vr | Self::Wqm => 9.0,
            Self::Law => 20.0,
        }
    }

    /// Returns the heading of its table.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Vr => {
                "A VR stream beside three bulk flows of its station and three other stations: LAST-PQ"
            }
            Self::Wqm => "A card that takes a thousand frames at once: WQM",
            Self::Law => "A weak channel: Law's queue",
        }
    }

    /// The shipped scenario that it plays.
    #[must_use]
    pub const fn scenario(self) -> &'static str {
        match self {
            Self::Vr => "lab-vr",
            Self::Wqm => "lab-legacy",
            Self::Law => "lab-weak",
        }
    }

    /// Arguments of `airbound agent run --iface wlan0`.
    #[must_use]
    pub const fn arguments(self) -> &'static str {
        match self {
            Self::Vr => "--scheme last-pq --protect 'udp dport 5000' --p95 20ms",
            Self::Wqm => "--scheme wqm",
            Self::Law => "--scheme law --protect 'udp dport 5000' --p95 40ms",
        }
    }

    /// The agent's configuration file. Law's four tries go with Law's rate control; above Minstrel-HT, which begins with its fastest
    /// rate, they end before a slower rate is tried (measured: 2.8 % loss). Ten reach the slower ones.
    #[must_use]
    pub const fn config(self) -> Option<&'static str> {
        match self {
            Self::Vr | Self::Wqm => None,
            Self::Law => Some("[law]\ntries = 10\n"),
        }
    }

    /// Returns the simulator's counterpart: the scheme, and changes of the scenario. An agent that releases two aggregates at a time over a
    /// driver is, to the simulator, a queue over a driver that takes two aggregates (preset `ath9k-fq`).
    #[must_use]
    pub const fn simulated(self) -> (&'static str, &'static [&'static str]) {
        const TWO_AGGREGATES: &[&str] = &["access-point.preset=\"ath9k-fq\""];
        // The driver's block-ack window, to which WQM's least buffer follows, is the kernel's, not ath9k's.
        const NO_DEEP_QUEUE: &[&str] = &[
            "access-point.preset=\"ath9k-fq\"",
            "access-point.path.driver-queue=0",
            "access-point.path.max-ampdu-mpdus=64",
        ];
        match self {
            Self::Vr => ("last-pq", TWO_AGGREGATES),
            Self::Wqm => ("wqm", NO_DEEP_QUEUE),
            Self::Law => ("law", &[]),
        }
    }

    /// Aim, measured value and verdict of everything that is asked of it.
    #[must_use]
    pub fn rows(
        self,
        kernel: &Summary,
        agent: &Summary,
        books: &AgentBooks,
        simulated: Option<&Summary>,
    ) -> Vec<ValidationRow> {
        let mut rows = match self {
            Self::Vr => vr(kernel, agent, books, simulated),
            Self::Wqm => wqm(kernel, agent, simulated),
            Self::Law => law(kernel, agent, books, simulated),
        };
        rows.extend(cost(self, agent.duration_s, books));
        rows.push(added(self, kernel, agent, books));
        rows
    }
}

/// Seconds of a run say less than its full length: a first look judges each aim but that of the cost with a quarter of slack, the
/// simulator beside the agent 20 points wider, and shows it.
#[must_use]
pub fn first_look(row: ValidationRow) -> ValidationRow {
    const SLACK: f64 = 1.25;
    // Two short runs are compared. A run is a draw of its program's bytes: goodput of three like TCP flows lay 13 to 24 % below the
    // simulator's in two draws of 4 s, and within 4 % in one of 10 s.
    const APART: f64 = 0.2;
    let (Some(aim), Some(tolerance)) = (row.reference, row.tolerance) else { return row };
    if row.metric == COST {
        return ValidationRow::judged(row.id, row.metric, row.unit, None, row.measured, None, row.note);
    }
    let (eased, tolerance) = match tolerance {
        Tolerance::AtLeast => (aim / SLACK, tolerance),
        Tolerance::AtMost => (aim * SLACK, tolerance),
        Tolerance::Relative(share) => (aim, Tolerance::Relative(share + APART)),
        Tolerance::Absolute(_) | Tolerance::Factor(_) | Tolerance::Range(..) => return row,
    };
    let note = format!("aim {aim}, with slack for a short run; {}", row.note);
    ValidationRow::judged(row.id, row.metric, row.unit, Some(eased), row.measured, Some(tolerance), note)
}

fn flow<'a>(summary: &'a Summary, name: &str) -> Option<&'a FlowSummary> {
    summary.flows.iter().find(|flow| flow.name == name)
}

fn total_goodput(summary: &Summary) -> f64 {
    summary.flows.iter().map(|flow| flow.goodput_mbps).sum()
}

/// A row of a demonstration.
fn row(
    id: Demonstration,
    metric: &str,
    unit: &str,
    aim: Option<(f64, Tolerance)>,
    measured: Option<f64>,
    note: String,
) -> ValidationRow {
    let (reference, tolerance) = aim.unzip();
    ValidationRow::judged(id.name(), metric, unit, reference, measured, tolerance, note)
}

fn ms(value: Option<f64>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.1} ms"))
}

fn mbps(value: Option<f64>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.1} Mb/s"))
}

fn vr(
    kernel: &Summary,
    agent: &Summary,
    books: &AgentBooks,
    simulated: Option<&Summary>,
) -> Vec<ValidationRow> {
    let id = Demonstration::Vr;
    let p95 = |run: &Summary| flow(run, "vr")?.latency_ms.p95;
    let fps = |run: &Summary| flow(run, "vr")?.fps;
    let (before, after) = (p95(kernel), p95(agent));
    let lower = before.zip(after).map(|(before, after)| 100.0 * (1.0 - after / before));
    let demand = books.summary["flows"][0]["demand"]["measured_ms"].as_f64();
    let goodput = 100.0 * total_goodput(agent) / total_goodput(kernel);
    let full = fps(agent).map(|fps| 100.0 * fps / 30.0);
    let simulated = simulated.and_then(p95);
    vec![
        row(
            id,
            "p95 latency of the VR stream, lower by",
            "%",
            Some((70.0, Tolerance::AtLeast)),
            lower,
            format!("end to end: kernel {}, agent {}, simulated {}", ms(before), ms(after), ms(simulated)),
        ),
        row(
            id,
            "p95 from the agent's queue to the acknowledgement",
            "ms",
            Some((20.0, Tolerance::AtMost)),
            demand,
            "the demand, as the agent measured it".to_owned(),
        ),
        row(
            id,
            "VR frames delivered whole, of 30 a second",
            "%",
            Some((99.0, Tolerance::AtLeast)),
            full,
            format!("kernel: {:.1} frames a second", fps(kernel).unwrap_or(0.0)),
        ),
        row(
            id,
            "total goodput, of the kernel's",
            "%",
            Some((90.0, Tolerance::AtLeast)),
            Some(goodput),
            format!("kernel {:.1}, agent {:.1} Mb/s", total_goodput(kernel), total_goodput(agent)),
        ),
    ]
}

fn wqm(kernel: &Summary, agent: &Summary, simulated: Option<&Summary>) -> Vec<ValidationRow> {
    let id = Demonstration::Wqm;
    let p50 = |run: &Summary| flow(run, "probe")?.latency_ms.p50;
    let download = |run: &Summary| flow(run, "download").map(|flow| flow.goodput_mbps);
    let (before, after) = (p50(kernel), p50(agent));
    let lost = download(kernel).zip(download(agent)).map(|(before, after)| 100.0 * (1.0 - after / before));
    vec![
        row(
            id,
            "median latency beside the download, lower by a factor of",
            "",
            Some((5.0, Tolerance::AtLeast)),
            before.zip(after).map(|(before, after)| before / after),
            format!("kernel {}, agent {}, simulated {}", ms(before), ms(after), ms(simulated.and_then(p50))),
        ),
        row(
            id,
            "goodput of the download, lower by",
            "%",
            Some((8.0, Tolerance::AtMost)),
            lost,
            format!(
                "kernel {}, agent {}, simulated {}",
                mbps(download(kernel)),
                mbps(download(agent)),
                mbps(simulated.and_then(download))
            ),
        ),
    ]
}

fn law(
    kernel: &Summary,
    agent: &Summary,
    books: &AgentBooks,
    simulated: Option<&Summary>,
) -> Vec<ValidationRow> {
    let id = Demonstration::Law;
    let tail = |run: &Summary| flow(run, "video")?.latency_ms.p999;
    let oldest = flow(agent, "video").and_then(|flow| flow.latency_ms.max);
    let bounds = books.status["bounds"].as_array();
    let bound = bounds.and_then(|all| all.iter().filter_map(|one| one["total_ms"].as_f64()).reduce(f64::max));
    let part = |key: &str| bounds.and_then(|all| all.first()?[key].as_f64()).unwrap_or(f64::NAN);
    let loss = flow(agent, "video").and_then(|flow| flow.loss_rate).map(|rate| 100.0 * rate);
    vec![
        row(
            id,
            "p99.9 latency of the kernel alone",
            "ms",
            Some((150.0, Tolerance::AtLeast)),
            tail(kernel),
            "what makes the channel a weak one".to_owned(),
        ),
        row(
            id,
            "oldest packet that arrived",
            "ms",
            bound.map(|bound| (bound + WIRE_MS, Tolerance::AtMost)),
            oldest,
            format!(
                "bound: Limit_q {:.1} + window {:.1} + {} tries {:.1} + wire {WIRE_MS:.1} ms",
                part("limit_q_ms"),
                part("window_ms"),
                part("tries"),
                part("chain_ms"),
            ),
        ),
        row(
            id,
            "loss",
            "%",
            Some((1.0, Tolerance::AtMost)),
            loss,
            format!(
                "p99.9: kernel {}, agent {}, simulated {}",
                ms(tail(kernel)),
                ms(tail(agent)),
                ms(simulated.and_then(tail))
            ),
        ),
    ]
}

/// The wire of the scenario, which the agent does not see.
const WIRE_MS: f64 = 2.0;

/// The row of the agent's cost, which a short run does not judge.
const COST: &str =
    "processor time of each packet, with the kernel's way through queue, bridge or router, and radio";

/// Growth of a counter from the beginning to the end of a run, by its lines.
fn grown(lines: &str, what: &str) -> Option<f64> {
    let noted: BTreeMap<(&str, &str), f64> = lines
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some(((words.next()?, words.next()?), words.next()?.parse().ok()?))
        })
        .collect();
    Some(noted.get(&("end", what))? - noted.get(&("begin", what))?)
}

/// Microseconds in which the processor was busy with others than the medium, for each delivered packet.
fn busy_each(run: &Summary, machine: &str) -> Option<f64> {
    let up = grown(machine, "up")?;
    let busy = 1e6 * (up - grown(machine, "idle")?) - grown(machine, "medium")? / 1e3;
    let delivered: u64 = run.flows.iter().map(|flow| flow.packets.delivered).sum();
    // Packets are counted without the warm-up.
    let packets = delivered as f64 * up / run.duration_s;
    (packets > 0.0).then(|| busy / packets)
}

/// Returns the row of what the machine does more with the agent: a packet's way from the queue to the radio is in the agent's time, but
/// packets go this way without it, too.
fn added(id: Demonstration, kernel: &Summary, agent: &Summary, books: &AgentBooks) -> ValidationRow {
    let (with, alone) = (busy_each(agent, &books.machine), busy_each(kernel, &books.machine_alone));
    let us =
        |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.1} us"));
    row(
        id,
        "processor time of each packet above that of the kernel alone",
        "us",
        None,
        with.zip(alone).map(|(with, alone)| with - alone),
        format!("all but the medium: with the agent {}, kernel alone {}", us(with), us(alone)),
    )
}

/// Returns the rows of the agent's cost in processor time: instructions are nanoseconds in the laboratory.
fn cost(id: Demonstration, seconds: f64, books: &AgentBooks) -> Vec<ValidationRow> {
    // What a build for tests costs says nothing.
    let optimised = !cfg!(debug_assertions);
    let used = |what| grown(&books.processor, what);
    // A super-packet counts as the frames that it makes on the air.
    // So does one that goes through without being held.
    let total = |what: &str| books.status["totals"][what].as_f64();
    let packets = total("arrived_segments").map(|held| held + total("through").unwrap_or(0.0));
    let packets = packets.filter(|packets| *packets > 0.0);
    let each = |what| used(what).zip(packets).map(|(used, packets)| used / packets);
    let note = match (used("usage"), packets) {
        (Some(used), Some(packets)) => {
            format!(
                "{packets:.0} packets; processor {:.1} % busy with the agent in {seconds:.0} s and the warm-up",
                used / 1e4 / seconds
            )
        }
        _ => String::new(),
    };
    let note = if optimised { note } else { format!("not judged: this is a debug build; {note}") };
    vec![
        row(id, COST, "us", optimised.then_some((id.most_us(), Tolerance::AtMost)), each("usage"), note),
        row(id, "of it in user space", "us", None, each("user"), String::new()),
    ]
}

#[cfg(test)]
mod tests {
    use airbound_report::Verdict;
    use airbound_scenario::{Overrides, Scenario};
    use airbound_sim::Run;
    use serde_json::json;

    use super::*;

    fn simulated(one: Demonstration, scheme: &str, changes: &[&str]) -> Summary {
        let mut overrides = Overrides::none();
        for change in changes.iter().chain(&["duration=\"2 s\"", "warm-up=\"1 s\""]) {
            overrides.set(change).expect("a change");
        }
        let scenario = Scenario::open(one.scenario(), &overrides).expect("a shipped scenario");
        airbound_lab::plan::check(&scenario).expect("within what the laboratory can express");
        let scheme = scenario.scheme.with_name(scheme).expect("a scheme");
        Run::new(one.name(), &scenario, &scheme, 1)
            .expect("a run")
            .finish()
            .expect("balanced books")
            .0
            .summary
    }

    #[test]
    fn a_kernel_that_is_no_better_than_itself_misses_the_aims() {
        let books = AgentBooks {
            summary: json!({ "flows": [{ "demand": { "measured_ms": 31.5 } }] }),
            status: json!({
                "totals": { "arrived": 5_000, "arrived_segments": 10_000 },
                "bounds": [{ "limit_q_ms": 40.0, "window_ms": 5.2, "tries": 4, "chain_ms": 12.0, "total_ms": 57.2 }],
            }),
            processor: "begin usage 1000\nbegin user 500\nend usage 201000\nend user 40500\n".to_owned(),
            // Two seconds, of which the medium takes 0.5; one second idle with the agent, 1.25 without.
            machine: "begin up 1\nbegin idle 1\nbegin medium 0\nend up 3\nend idle 2\nend medium 500000000\n"
                .to_owned(),
            machine_alone:
                "begin up 1\nbegin idle 1\nbegin medium 0\nend up 3\nend idle 2.25\nend medium 500000000\n"
                    .to_owned(),
        };
        for one in Demonstration::ALL {
            let kernel = simulated(one, "linux", &[]);
            let rows = one.rows(&kernel, &kernel, &books, None);
            assert!(rows.iter().all(|row| row.measured.is_some()), "{rows:?}");
            // Nothing got better: at least one aim of each is missed.
            assert!(rows.iter().any(|row| row.verdict == Verdict::Missed), "{rows:?}");
            let cost: Vec<f64> = rows.iter().rev().take(3).filter_map(|row| row.measured).collect();
            assert_eq!(cost[1..], [4.0, 20.0]);
            let delivered: u64 = kernel.flows.iter().map(|flow| flow.packets.delivered).sum();
            let each = 250_000.0 / (delivered as f64 * 2.0 / kernel.duration_s);
            assert!((cost[0] - each).abs() < 1e-6 * each, "{} {each}", cost[0]);
        }
    }

    #[test]
    fn the_simulator_plays_what_stands_beside() {
        for one in Demonstration::ALL {
            let (scheme, changes) = one.simulated();
            let mut overrides = Overrides::none();
            for change in changes.iter().chain(&["duration=\"1 s\""]) {
                overrides.set(change).expect("a change");
            }
            let scenario = Scenario::open(one.scenario(), &overrides).expect("a shipped scenario");
            let scheme = scenario.scheme.with_name(scheme).expect("a scheme");
            Run::new(one.name(), &scenario, &scheme, 1).expect("a run").finish().expect("balanced books");
        }
    }

    #[test]
    fn without_books_of_the_agent_its_rows_are_not_run() {
        let kernel = simulated(Demonstration::Vr, "linux", &[]);
        let rows = Demonstration::Vr.rows(&kernel, &kernel, &AgentBooks::default(), None);
        let not_run = rows.iter().filter(|row| row.verdict == Verdict::NotRun).count();
        assert_eq!(not_run, 4, "{rows:?}");
    }

    #[test]
    fn a_first_look_is_judged_with_slack() {
        let judge = |aim, measured| {
            let row = row(Demonstration::Wqm, "loss", "%", Some(aim), Some(measured), String::new());
            first_look(row).within()
        };
        assert_eq!(judge((8.0, Tolerance::AtMost), 9.9), Some(true));
        assert_eq!(judge((8.0, Tolerance::AtMost), 10.1), Some(false));
        assert_eq!(judge((5.0, Tolerance::AtLeast), 4.1), Some(true));
        assert_eq!(judge((5.0, Tolerance::AtLeast), 3.9), Some(false));
        assert_eq!(judge((10.0, Tolerance::Relative(0.1)), 12.9), Some(true));
        assert_eq!(judge((10.0, Tolerance::Relative(0.1)), 13.1), Some(false));
    }
}
