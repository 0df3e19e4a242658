//! Sec. III: how bad it is without control, and what the buffer does to aggregates.

use airbound_report::{Bar, Bars, Chapter, Chart, ChartKind, Line, Lines, Tolerance, ValidationRow};
use airbound_units::Span;

use super::measure::{Case, Value};
use super::setting::{FIFO, Rate, Scheme, Setting};
use crate::Effort;
use crate::reproduce::experiment::{Experiment, Measured, Results};
use crate::reproduce::{Part, Study};

/// One flow at 6.5 Mb/s over the default queue (Fig. 1).
pub(super) struct Bloat;

impl Bloat {
    fn experiment(effort: Effort) -> Experiment {
        let seconds = effort.seconds(100, 20);
        let setting = Setting { rate: Rate::Mcs0, seconds, ..Setting::USUAL };
        Experiment::plain(setting.trial(FIFO, 1)).looking(Span::from_millis(100))
    }
}

impl Study for Bloat {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        vec![Self::experiment(effort)]
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let Some(run) = results.get(&Self::experiment(effort)) else { return Part::default() };
        let over_time = |value: &dyn Fn(&airbound_sim::Snapshot) -> Option<f64>| {
            run.views.iter().filter_map(|(at, view)| Some((*at, value(view)?))).collect::<Vec<_>>()
        };
        let backlog = over_time(&|view| Some(view.backlog.packets as f64));
        let rtt = over_time(&|view| Some(view.senders.first()?.1.srtt?.as_millis_f64()));
        let window = over_time(&|view| Some(view.senders.first()?.1.cwnd.as_u64() as f64 / 1e6));
        let longest = rtt.iter().map(|(_, ms)| *ms).reduce(f64::max);
        // Slow start fills the queue in the first seconds.
        let emptiest =
            backlog.iter().filter(|(at, _)| *at > 5.0).map(|(_, packets)| *packets).reduce(f64::min);
        let never_empty = emptiest.map(|packets| if packets > 0.0 { 1.0 } else { 0.0 });
        let largest = when_first_full(run);
        let rows = vec![
            ValidationRow::judged(
                "bloat",
                "longest RTT of FIFO 1000 at 6.5 Mb/s",
                "ms",
                Some(2000.0),
                longest,
                Some(Tolerance::AtLeast),
                false,
                "Fig. 1; smoothed by the sender",
            ),
            ValidationRow::judged(
                "bloat",
                "the queue never empties after the first 5 s",
                "holds",
                Some(1.0),
                never_empty,
                Some(Tolerance::Absolute(0.0)),
                false,
                "Sec. III-A",
            ),
            ValidationRow::judged(
                "bloat",
                "congestion window when the queue is first full",
                "MB",
                Some(1.6),
                largest,
                Some(Tolerance::Relative(0.25)),
                false,
                "1000 packets in the queue and 123 in the driver hold 1.63 MB of payload",
            ),
        ];
        let chart = |y: &str, points: Vec<(f64, f64)>, level: (&str, f64), what: &str| Chart {
            kind: ChartKind::Lines(Lines {
                x: "time (s)".to_owned(),
                y: y.to_owned(),
                lines: vec![Line::whole("FIFO 1000", points)],
                levels: vec![(level.0.to_owned(), level.1)],
                ..Lines::default()
            }),
            caption: format!("Fig. 1: {what}, one flow at 6.5 Mb/s."),
        };
        let chapter = Chapter {
            title: "How bad it is".to_owned(),
            text: "One bulk TCP flow over one hop at 6.5 Mb/s, the queue that Linux had by default."
                .to_owned(),
            tables: Vec::new(),
            charts: vec![
                chart("congestion window (MB)", window, ("paper: 1.6 MB", 1.6), "the sender's window"),
                chart(
                    "round-trip time (ms)",
                    rtt,
                    ("paper: above 2 s", 2000.0),
                    "the smoothed round-trip time",
                ),
                chart(
                    "packets",
                    backlog,
                    ("transmit queue 1000", 1000.0),
                    "packets waiting at the sender, driver included",
                ),
            ],
        };
        Part { rows, chapter }
    }
}

/// The congestion window in MB when the queue first holds what it can: then the first packet is lost. The sender learns of it a
/// round trip later.
fn when_first_full(run: &Measured) -> Option<f64> {
    let most = run.views.iter().map(|(_, view)| view.backlog.packets).max()?;
    // Between two looks the queue may have been full and shorter again.
    let (_, view) = run.views.iter().find(|(_, view)| view.backlog.packets * 100 >= most * 98)?;
    Some(view.senders.first()?.1.cwnd.as_u64() as f64 / 1e6)
}

/// The length of aggregates over buffer size and rate (Fig. 2).
pub(super) struct Aggregates;

/// Sizes of the transmit queue; the paper's are not printed.
const BUFFERS: [(&str, &str); 5] = [
    ("10", "{ kind = \"fifo\", limit = { packets = 10 } }"),
    ("50", "{ kind = \"fifo\", limit = { packets = 50 } }"),
    ("100", "{ kind = \"fifo\", limit = { packets = 100 } }"),
    ("500", "{ kind = \"fifo\", limit = { packets = 500 } }"),
    ("1000", "{ kind = \"fifo\", limit = { packets = 1000 } }"),
];
const RATES: [Rate; 4] = [Rate::Mcs0, Rate::Mcs1, Rate::Mcs7, Rate::Mcs15];

impl Aggregates {
    fn case(rate: Rate, buffer: (&'static str, &'static str)) -> Case {
        let scheme = Scheme { name: buffer.0, queue: buffer.1, ..FIFO };
        Case { setting: Setting { rate, seconds: 40, ..Setting::USUAL }, scheme }
    }
}

impl Study for Aggregates {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let cases = RATES.into_iter().flat_map(|rate| BUFFERS.map(|buffer| Self::case(rate, buffer)));
        cases.flat_map(|case| case.experiments(effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let length = |rate, buffer| -> Option<Value> {
            Some(Self::case(rate, buffer).figures(effort, results)?.ampdu)
        };
        let lengths: Vec<Vec<Option<Value>>> =
            RATES.iter().map(|rate| BUFFERS.iter().map(|buffer| length(*rate, *buffer)).collect()).collect();
        let mean =
            |rate: usize, buffer: usize| lengths.get(rate)?.get(buffer)?.as_ref().map(|value| value.mean);
        // Within the noise of a few per cent a mean may stay where it is once it has reached its limit.
        fn grows(mut pairs: impl Iterator<Item = (Option<f64>, Option<f64>)>) -> bool {
            pairs.all(|(less, more)| less.zip(more).is_some_and(|(less, more)| more >= 0.97 * less))
        }
        let last = BUFFERS.len() - 1;
        let with_buffer = (1..RATES.len())
            .all(|rate| grows((0..last).map(|buffer| (mean(rate, buffer), mean(rate, buffer + 1)))));
        let with_rate = grows((0..RATES.len() - 1).map(|rate| (mean(rate, last), mean(rate + 1, last))));
        let row = |metric: &str, reference: f64, measured: Option<f64>, note: &str| {
            let tolerance = Some(Tolerance::Absolute(0.005));
            ValidationRow::judged(
                "ampdu-length",
                metric,
                "",
                Some(reference),
                measured,
                tolerance,
                false,
                note,
            )
        };
        let holds = |holds: bool| Some(if holds { 1.0 } else { 0.0 });
        let rows = vec![
            row("mean A-MPDU grows with the buffer (holds)", 1.0, holds(with_buffer), "Fig. 2; within 3 %"),
            row("mean A-MPDU grows with the rate (holds)", 1.0, holds(with_rate), "Fig. 2; at 1000 packets"),
            row("mean A-MPDU at 6.5 Mb/s", 1.0, mean(0, last), "4 ms hold two MPDUs at 6.5 Mb/s no longer"),
        ];
        let series = RATES.iter().zip(&lengths).map(|(rate, lengths)| {
            let bars: Vec<Option<Bar>> = lengths.iter().map(|value| value.map(Value::bar)).collect();
            (rate.name().to_owned(), bars)
        });
        let kind = ChartKind::Bars(Bars {
            y: "MPDUs in an A-MPDU".to_owned(),
            groups: BUFFERS.iter().map(|(name, _)| format!("{name} packets")).collect(),
            series: series.collect(),
        });
        let chapter = Chapter {
            title: "What the buffer does to aggregates".to_owned(),
            text: "One bulk TCP flow over one hop at fixed rates, with several sizes of the transmit queue; the driver's \
                   123 frames lie below each."
                .to_owned(),
            tables: Vec::new(),
            charts: vec![Chart { kind, caption: "Fig. 2: mean length of aggregates.".to_owned() }],
        };
        Part { rows, chapter }
    }
}
