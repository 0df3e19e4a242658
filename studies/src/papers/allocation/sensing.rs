//! Error of the sensed level: with jittered timestamps, and behind the reordering buffer.

use airbound_report::{Chapter, Grid, Tolerance};
use airbound_senders::allocation::{FrameSensor, Observation, SensorConfig, Stamps};
use airbound_units::{ByteCount, Instant, Span};

use super::measure::{judged, told};
use super::setting::{FAST, PAYLOAD, Setting};
use crate::Effort;
use crate::papers::aggregates::{Aggregates, Arrived};
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study, shown};

pub(super) struct Sensing;

/// Stations, and the channel of each: without and with losses.
const CASES: [(&str, usize, &str); 4] = [
    ("one station", 1, ""),
    ("one station, losses", 1, "channel = { kind = \"fixed\", snr = \"30 dB\" }"),
    ("five stations", 5, ""),
    ("five stations, losses", 5, "channel = { kind = \"fixed\", snr = \"30 dB\" }"),
];

/// Which timestamps a receiver has.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Clock {
    /// A card's.
    Card,
    /// A kernel's, late by up to so many microseconds, grouped by a learnt threshold.
    Kernel(u64),
    /// A socket's, behind the reordering buffer.
    Socket,
}

const CLOCKS: [Clock; 5] =
    [Clock::Card, Clock::Kernel(10), Clock::Kernel(50), Clock::Kernel(200), Clock::Socket];

impl Clock {
    fn name(self) -> String {
        match self {
            Self::Card => "exact".to_owned(),
            Self::Kernel(jitter) => format!("{jitter} us of jitter"),
            Self::Socket => "a socket's, behind reordering".to_owned(),
        }
    }

    /// The packets in the order in which this receiver sees them, each with its timestamp.
    fn stamped(self, arrived: &[Arrived]) -> Vec<(Instant, u64)> {
        let mut seen: Vec<(Instant, u64)> = match self {
            // Released together with the frame that ended the wait.
            Self::Socket => {
                let mut last = Instant::ZERO;
                let released = arrived.iter().map(|one| {
                    last = last.max(one.exchanged);
                    (last, one.packet)
                });
                return released.collect();
            }
            _ => arrived.iter().map(|one| (one.exchanged, one.packet)).collect(),
        };
        seen.sort_unstable();
        if let Self::Kernel(jitter) = self {
            let mut state = 1_u64;
            let mut last = Instant::ZERO;
            for (at, _) in &mut seen {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let unit = (state >> 11) as f64 / (1_u64 << 53) as f64;
                // A kernel takes packets in the order of their arrival.
                last = last.max(*at + Span::from_micros(jitter).mul_f64(unit));
                *at = last;
            }
        }
        seen
    }
}

fn experiment(stations: usize, channel: &str, effort: Effort) -> Experiment {
    let setting = Setting {
        seconds: effort.seconds(20, 5),
        ..Setting::of(vec![format!("rate = \"{FAST}\"\n{channel}"); stations])
    };
    let from = setting.measured_from();
    Experiment {
        watch: crate::papers::experiment::Watch::Aggregates(from, Some(0)),
        ..Experiment::plain(setting.trial("sensing", 1))
    }
}

/// The mean level that the sensor reports over all slots, beside the true one of station 1.
fn error(seen: &Aggregates, clock: Clock, stride: u64) -> Option<f64> {
    let stamps = if matches!(clock, Clock::Card) { Stamps::Exact } else { Stamps::Jittered };
    let stamps = if clock == Clock::Socket { Stamps::Exact } else { stamps };
    let mut sensor =
        FrameSensor::new(SensorConfig { stamps, lively: Span::ZERO, ..SensorConfig::default() }).ok()?;
    let (mut frames, mut transmissions) = (0_u64, 0_u64);
    for (at, packet) in clock.stamped(&seen.arrived) {
        while let Some(due) = sensor.next_deadline().filter(|due| *due <= at) {
            let report = sensor.on_deadline(due)?;
            frames += u64::from(report.frames);
            transmissions += u64::from(report.transmissions);
        }
        let payload = ByteCount::new(PAYLOAD);
        sensor.on_packet(&Observation { at, sequence: packet / stride, payload, rate: None });
    }
    let own: Vec<f64> =
        seen.sent.iter().filter(|one| one.station == 1).map(|one| f64::from(one.mpdus)).collect();
    let truth = super::measure::mean(&own)?;
    (frames > 0).then(|| transmissions as f64 / frames as f64 / truth - 1.0)
}

impl Study for Sensing {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        CASES.iter().map(|(_, stations, channel)| experiment(*stations, channel, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut columns = vec!["network".to_owned()];
        columns.extend(CLOCKS.map(Clock::name));
        let headings: Vec<&str> = columns.iter().map(String::as_str).collect();
        let mut grid = Grid::new("Error of the sensed level in %", &headings, 1);
        let mut rows = Vec::new();
        for (name, stations, channel) in CASES {
            let Some(run) = results.get(&experiment(stations, channel, effort)) else { continue };
            // Each station has a flow of data and one of reports.
            let errors = CLOCKS.map(|clock| error(&run.aggregates, clock, 2 * stations as u64));
            let mut cells = vec![name.into()];
            cells.extend(
                errors.iter().map(|error| error.map_or(String::new(), |error| shown(100.0 * error)).into()),
            );
            grid.rows.push(cells);
            for (clock, error) in CLOCKS.into_iter().zip(errors) {
                let metric = format!("error of the level, {}, {name}", clock.name());
                let percent = error.map(|error| 100.0 * error);
                let note = "mean over all slots, relative to what the access point sent";
                rows.push(match clock {
                    Clock::Card => {
                        judged("sensing", metric, "%", 0.0, percent, Tolerance::Absolute(2.0), note)
                    }
                    Clock::Kernel(_) => {
                        judged("sensing", metric, "%", 0.0, percent, Tolerance::Absolute(5.0), note)
                    }
                    Clock::Socket => {
                        told("sensing", metric, "%", percent, "what waits for a lost packet comes as one")
                    }
                });
            }
        }
        let text = "The packets of one run as a card, a kernel and a socket see them.";
        Part {
            rows,
            chapter: Chapter {
                title: "Sensing".to_owned(),
                text: text.to_owned(),
                tables: vec![grid],
                charts: Vec::new(),
            },
        }
    }
}
