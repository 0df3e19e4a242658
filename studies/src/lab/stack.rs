//! The same scenarios in the simulator and in the laboratory, where the real mac80211, Minstrel-HT and TCP of Linux play them over
//! the same model of the air. The kernel is the reference.

use std::path::Path;

use airbound_lab::host::{self, Built, Machine, Network, Scratch};
use airbound_lab::{LabError, plan};
use airbound_record::{FlowSummary, RunFolder, Summary};
use airbound_report::{Tolerance, ValidationRow};
use airbound_scenario::{Overrides, Scenario};

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
    /// Only cases whose id contains this.
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

/// One comparison.
struct Case {
    id: &'static str,
    /// Names of the flows whose goodput (`total`: of all together), and whose latency, is compared.
    goodput: &'static [&'static str],
    latency: &'static [&'static str],
    /// Whether the shares of airtime are compared.
    airtime: bool,
    vht: bool,
    /// Seconds after the warm-up, in whole and under `--quick`.
    seconds: (u32, u32),
    stations: &'static str,
    flows: &'static str,
}

/// Defaults of a case.
const PLAIN: Case = Case {
    id: "",
    goodput: &[],
    latency: &[],
    airtime: false,
    vht: false,
    seconds: (10, 4),
    stations: "",
    flows: "",
};

/// For radios without VHT mac80211 bounds its queues at 4 MiB (`ieee80211_txq_setup_flows`), at 16 MiB with it. The simulator counts
/// 2304 B for a packet of 1500 B; in the laboratory the kernel held 966 of them (case `codel-drops`: 569 ms at 20 Mb/s), 4342 B each:
/// packets that come over a veth lack the headroom that mac80211 wants, and are copied into buffers of the next size (4352 B). The bound
/// is scaled by 2304 / 4352, so that both hold the same number of packets. Nothing is scaled at stations, where packets begin: their
/// buffers have the headroom (case `uplink-udp`). A sender of Linux that waits for its buffer pushes the last segment of a packet of
/// 64 KiB, the receiver's application reads at once.
fn base(vht: bool) -> String {
    let (standard, memory) = if vht { ("vht", 16_u64 << 20) } else { ("ht", 4 << 20) };
    let memory = memory * 2304 / 4352;
    format!(
        r#"
[air]
standard = "{standard}"
width = "20 MHz"
guard-interval = "800 ns"
[access-point]
preset = "mac80211"
streams = 1
[uplink]
queue = "linux"
preset = "mac80211"
[scheme]
queue = {{ kind = "linux", memory = "{memory} B" }}
rate = "minstrel-ht"
sender = {{ kind = "cubic", delayed-ack = {{ pushed = 45 }} }}
"#
    )
}

/// A station whose rate is fixed, over a channel without errors.
macro_rules! fixed {
    ($name:literal, $mcs:literal) => {
        fixed!($name, "HT20", $mcs)
    };
    ($name:literal, $format:literal, $mcs:literal) => {
        concat!("[[station]]\nname = \"", $name, "\"\nrate = \"", $format, " MCS", $mcs, " 1SS LGI\"\n")
    };
}

/// A station at a signal-to-noise ratio; Minstrel-HT chooses its rates.
macro_rules! at_snr {
    ($name:literal, $snr:literal) => {
        concat!(
            "[[station]]\nname = \"",
            $name,
            "\"\nchannel = { kind = \"fixed\", snr = \"",
            $snr,
            " dB\" }\n"
        )
    };
}

macro_rules! flow {
    ($name:literal, $station:literal, $what:literal) => {
        concat!("[[flow]]\nname = \"", $name, "\"\nstation = \"", $station, "\"\n", $what, "\n")
    };
}

/// A light stream, whose latency is that of a packet that comes now and then.
macro_rules! probe {
    ($station:literal) => {
        flow!("probe", $station, "kind = \"cbr\"\nrate = \"100 kbit/s\"\nsize = \"100 B\"")
    };
}

const SATURATING: &str = flow!("udp", "a", "kind = \"cbr\"\nrate = \"60 Mbit/s\"\nsize = \"1472 B\"");

/// Stations that download, or upload, with all that they can get, and a light stream to the first of them.
macro_rules! busy {
    ($id:literal, $count:literal, $bulk:literal, $goodput:expr, $latency:expr, $more:expr) => {
        Case {
            id: $id,
            goodput: $goodput,
            latency: $latency,
            stations: concat!(
                "[[station]]\nname = \"a\"\ncount = ",
                $count,
                "\nrate = \"HT20 MCS7 1SS LGI\"\n"
            ),
            flows: concat!(flow!("bulk", "a", $bulk), $more),
            ..PLAIN
        }
    };
}

macro_rules! downloads {
    ($id:literal, $count:literal) => {
        busy!($id, $count, "kind = \"tcp\"", &["total", "probe"], &["probe"], probe!("a-1"))
    };
}

/// The light streams go down to the first station, and up from it.
macro_rules! uploads {
    ($id:literal, $count:literal, $first:literal) => {
        busy!(
            $id,
            $count,
            "kind = \"tcp\"\ndirection = \"up\"\ncongestion = { kind = \"cubic\", small-queue = \"7.8125 ms\", delayed-ack = { pushed = 45 } }",
            &["total", "probe", "probe-up"],
            &["probe", "probe-up"],
            concat!(
                probe!($first),
                flow!(
                    "probe-up",
                    $first,
                    "kind = \"cbr\"\nrate = \"100 kbit/s\"\nsize = \"100 B\"\ndirection = \"up\""
                )
            )
        )
    };
}

const CASES: [Case; 26] = [
    Case {
        id: "idle",
        goodput: &["probe"],
        latency: &["probe"],
        stations: fixed!("a", "7"),
        flows: probe!("a"),
        ..PLAIN
    },
    Case {
        id: "udp-saturated",
        goodput: &["udp"],
        latency: &["udp"],
        stations: fixed!("a", "7"),
        flows: SATURATING,
        ..PLAIN
    },
    Case {
        id: "cubic-1",
        goodput: &["bulk"],
        latency: &["bulk", "probe"],
        stations: fixed!("a", "7"),
        flows: concat!(flow!("bulk", "a", "kind = \"tcp\""), probe!("a")),
        ..PLAIN
    },
    Case {
        id: "cubic-4",
        goodput: &["total"],
        latency: &["bulk-1", "bulk-2"],
        airtime: true,
        stations: "[[station]]\nname = \"a\"\ncount = 4\nrate = \"HT20 MCS7 1SS LGI\"\n",
        flows: flow!("bulk", "a", "kind = \"tcp\""),
        ..PLAIN
    },
    Case {
        id: "fast-and-slow",
        goodput: &["fast", "slow"],
        latency: &["fast", "slow"],
        airtime: true,
        stations: concat!(fixed!("quick", "7"), fixed!("lame", "0")),
        flows: concat!(
            flow!("fast", "quick", "kind = \"cbr\"\nrate = \"40 Mbit/s\"\nsize = \"1472 B\""),
            flow!("slow", "lame", "kind = \"cbr\"\nrate = \"10 Mbit/s\"\nsize = \"1472 B\"")
        ),
        ..PLAIN
    },
    Case {
        id: "voip-beside-bulk",
        goodput: &["bulk", "call"],
        latency: &["call"],
        stations: fixed!("a", "7"),
        flows: concat!(flow!("bulk", "a", "kind = \"tcp\""), flow!("call", "a", "kind = \"voip\"")),
        ..PLAIN
    },
    Case {
        id: "codel-drops",
        goodput: &["udp", "probe"],
        latency: &["udp", "probe"],
        stations: fixed!("a", "1"),
        flows: concat!(
            flow!("udp", "a", "kind = \"cbr\"\nrate = \"20 Mbit/s\"\nsize = \"1472 B\""),
            probe!("a")
        ),
        ..PLAIN
    },
    Case { id: "minstrel-8dB", goodput: &["udp"], stations: at_snr!("a", "8"), flows: SATURATING, ..PLAIN },
    Case { id: "minstrel-15dB", goodput: &["udp"], stations: at_snr!("a", "15"), flows: SATURATING, ..PLAIN },
    Case { id: "minstrel-25dB", goodput: &["udp"], stations: at_snr!("a", "25"), flows: SATURATING, ..PLAIN },
    Case {
        id: "vr-and-3-bulk",
        goodput: &["vr", "total"],
        latency: &["vr"],
        stations: fixed!("a", "7"),
        flows: concat!(
            flow!("vr", "a", "kind = \"vr\"\ntransport = \"udp\"\nrate = \"8 Mbit/s\"\nfps = 30"),
            flow!("bulk", "a", "count = 3\nkind = \"tcp\"")
        ),
        ..PLAIN
    },
    Case {
        id: "vht-cubic-1",
        goodput: &["bulk"],
        latency: &["bulk", "probe"],
        vht: true,
        stations: fixed!("a", "VHT20", "7"),
        flows: concat!(flow!("bulk", "a", "kind = \"tcp\""), probe!("a")),
        ..PLAIN
    },
    Case {
        id: "vht-minstrel-15dB",
        goodput: &["udp"],
        latency: &["udp"],
        vht: true,
        stations: at_snr!("a", "15"),
        flows: SATURATING,
        ..PLAIN
    },
    Case {
        id: "uplink-udp",
        goodput: &["udp", "call"],
        latency: &["udp", "call"],
        stations: fixed!("a", "7"),
        flows: concat!(
            flow!("udp", "a", "kind = \"cbr\"\nrate = \"90 Mbit/s\"\nsize = \"1472 B\"\ndirection = \"up\""),
            flow!("call", "a", "kind = \"voip\"\ndirection = \"up\"")
        ),
        ..PLAIN
    },
    Case {
        id: "uplink-cubic",
        goodput: &["bulk", "call"],
        latency: &["call", "bulk"],
        // A station's sender is Linux's: mac80211 sets `sk_pacing_shift` to 7, which is 2^-7 s of sending.
        stations: fixed!("a", "7"),
        flows: concat!(
            flow!(
                "bulk",
                "a",
                "kind = \"tcp\"\ndirection = \"up\"\ncongestion = { kind = \"cubic\", small-queue = \"7.8125 ms\", delayed-ack = { pushed = 45 } }"
            ),
            flow!("call", "a", "kind = \"voip\"\ndirection = \"up\"")
        ),
        ..PLAIN
    },
    downloads!("downloads-2", "2"),
    downloads!("downloads-3", "3"),
    downloads!("downloads-5", "5"),
    downloads!("downloads-10", "10"),
    uploads!("uploads-1", "1", "a"),
    uploads!("uploads-2", "2", "a-1"),
    uploads!("uploads-3", "3", "a-1"),
    uploads!("uploads-5", "5", "a-1"),
    uploads!("uploads-10", "10", "a-1"),
    Case {
        id: "loaded-voice",
        goodput: &["bulk", "voice", "call"],
        latency: &["voice", "call"],
        // 10 Mb/s of voice, whose frames go alone: 40 % of the air.
        stations: fixed!("a", "7"),
        flows: concat!(
            flow!("bulk", "a", "kind = \"tcp\""),
            flow!(
                "voice",
                "a",
                "kind = \"poisson\"\nrate = \"10 Mbit/s\"\nsize = \"1200 B\"\ncategory = \"vo\""
            ),
            flow!("call", "a", "kind = \"voip\"\ncategory = \"vo\"")
        ),
        ..PLAIN
    },
    Case {
        id: "power-save",
        goodput: &["message", "call"],
        latency: &["message", "call"],
        seconds: (60, 20),
        // A message each 0.65 s finds its station asleep and waits for a beacon; a call keeps its station awake.
        stations: concat!(
            fixed!("phone", "7"),
            "power-save = { timeout = \"500 ms\" }\n",
            fixed!("talker", "7"),
            "power-save = { timeout = \"500 ms\" }\n"
        ),
        flows: concat!(
            flow!("message", "phone", "kind = \"cbr\"\nrate = \"1231 bit/s\"\nsize = \"100 B\""),
            flow!("call", "talker", "kind = \"voip\"")
        ),
        ..PLAIN
    },
];

impl Case {
    fn text(&self, effort: Effort) -> String {
        let seconds = effort.seconds(self.seconds.0, self.seconds.1);
        format!(
            "duration = \"{seconds} s\"\nwarm-up = \"3 s\"\n{}{}{}",
            base(self.vht),
            self.stations,
            self.flows
        )
    }
}

/// The rows: the simulator beside the real Linux stack; without a measured value, and with the reason, where the laboratory cannot
/// be had.
///
/// # Errors
/// [`TrialError`] if the simulator cannot run a case, which is a defect.
pub fn rows(effort: Effort, setting: &LabSetting<'_>) -> Result<Vec<ValidationRow>, TrialError> {
    let mut rows = Vec::new();
    let wanted = |case: &&Case| setting.only.is_none_or(|only| case.id.contains(only));
    let built = setting.data.is_none().then(|| {
        host::build(setting.cache, setting.kernel, setting.program, &mut |step| (setting.say)(step))
    });
    for case in CASES.iter().filter(wanted) {
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
        host::write_record(&trial.name, &scenario, &outcome, &folder, setting.out.is_some())
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
        let p50 = Box::new(move |run: &Summary| find(run, flow)?.latency_ms.p50);
        let p95 = Box::new(move |run: &Summary| find(run, flow)?.latency_ms.p95);
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
    use super::*;

    #[test]
    fn both_sides_can_play_every_case() {
        for case in &CASES {
            let text = case.text(Effort::default());
            let scenario = Scenario::parse(&text, case.id, &Overrides::default()).expect("a scenario");
            plan::check(&scenario).expect("within what the laboratory can express");
            let known =
                |flow: &&str| *flow == "total" || scenario.flows.iter().any(|entry| entry.name == **flow);
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
