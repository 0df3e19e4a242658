//! Error of the sensed level: with jittered timestamps, and behind the reordering buffer.

use airbound_senders::allocation::{FrameSensor, Observation, SensorConfig, Stamps};
use airbound_units::{ByteCount, Instant, Span};

use super::air::PAYLOAD;
use super::draws::Draws;
use super::measure::{cell, mean_level};
use super::{CLAIMS, RUNS};
use crate::Effort;
use crate::papers::aggregates::Arrived;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study};

pub(super) struct Sensing;

/// Stations without and with losses.
const NETWORKS: [&str; 4] = ["one station", "one station, losses", "five stations", "five stations, losses"];

/// Which timestamps a receiver has.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Clock {
    /// A card's.
    Card,
    /// A kernel's, behind the reordering buffer and late by up to so many microseconds.
    Kernel(u64),
    /// Those of a card, behind the reordering buffer.
    Socket,
}

const CLOCKS: [(&str, Clock); 5] = [
    ("exact", Clock::Card),
    ("10 us of jitter", Clock::Kernel(10)),
    ("50 us of jitter", Clock::Kernel(50)),
    ("200 us of jitter", Clock::Kernel(200)),
    ("a socket's, behind reordering", Clock::Socket),
];

impl Clock {
    /// The packets in the order in which this receiver sees them, each with its timestamp.
    fn stamped(self, arrived: &[Arrived]) -> Vec<(Instant, u64)> {
        let mut seen: Vec<(Instant, u64)> = arrived.iter().map(|one| (one.exchanged, one.packet)).collect();
        // A card sees packets before they are put in order.
        if self == Self::Card {
            seen.sort_unstable();
        }
        let mut draws = Draws::new(1, 0);
        let mut late = || match self {
            Self::Kernel(jitter) => Span::from_micros(jitter).mul_f64(draws.unit()),
            Self::Card | Self::Socket => Span::ZERO,
        };
        // Behind the reordering buffer packets are released together with the frame that ended the wait.
        let mut last = Instant::ZERO;
        for (at, _) in &mut seen {
            last = last.max(*at + late());
            *at = last;
        }
        seen
    }
}

fn experiment(network: &str, effort: Effort) -> Experiment {
    Experiment::aggregates(RUNS.trial(&["sensing", network], 1, effort), Some(0))
}

/// The relative error of the mean level that the sensor reports over all slots, in % of the true one of station 1.
fn error(run: &Measured, clock: Clock) -> Option<f64> {
    // Each station has a flow of data and one of reports.
    let stride = 2 * run.outcome.summary.stations.len() as u64;
    let stamps = if matches!(clock, Clock::Kernel(_)) { Stamps::Jittered } else { Stamps::Exact };
    let config = SensorConfig { stamps, lively: Span::ZERO, ..SensorConfig::default() };
    let mut sensor = FrameSensor::new(config).ok()?;
    let rate = run.aggregates.sent.iter().find(|one| one.station == 1).map(|one| one.rate);
    let (mut frames, mut transmissions) = (0_u64, 0_u64);
    for (at, packet) in clock.stamped(&run.aggregates.arrived) {
        while let Some(due) = sensor.next_deadline().filter(|due| *due <= at) {
            let report = sensor.on_deadline(due)?;
            frames += u64::from(report.frames);
            transmissions += u64::from(report.transmissions);
        }
        let payload = ByteCount::new(PAYLOAD);
        sensor.on_packet(&Observation { at, sequence: packet / stride, packets: 1, payload, rate });
    }
    let truth = mean_level(run, |one| one.station == 1)?;
    (frames > 0).then(|| 100.0 * (transmissions as f64 / frames as f64 / truth - 1.0))
}

impl Study for Sensing {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = CLAIMS.table("sensing", &[]);
        let mut rows = Vec::new();
        for network in NETWORKS {
            let Some(run) = results.get(&experiment(network, effort)) else { continue };
            let errors = CLOCKS.map(|(name, clock)| (name, clock, error(run, clock)));
            let cells = errors.iter().map(|(.., error)| cell(*error));
            grid.rows.push([network.to_owned()].into_iter().chain(cells).map(Into::into).collect());
            rows.extend(errors.map(|(name, clock, error)| {
                let row = |key| CLAIMS.row(key).with("clock", name).with("network", network);
                match clock {
                    Clock::Socket => row("sensing-socket").told(error),
                    Clock::Card | Clock::Kernel(_) => row("sensing").measured(error),
                }
            }));
        }
        Part { rows, chapter: CLAIMS.chapter("sensing", vec![grid], Vec::new()) }
    }
}
