//! Sec. 4.3, Fig. 18a: three consecutive frames in a bad moment, packet by packet, under Law and under one rival.

use airbound_control::link::{LawState, LawView};
use airbound_record::{Fate, FrameFate, FrameRow};
use airbound_report::{Chapter, Chart, ChartKind, Grid, Line, Lines};
use airbound_units::{Instant, Span};

use super::measure;
use super::setting::{LAW, Layer, Setting, THOMPSON, VIDEO};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};

/// A look at three frames.
pub(super) struct Moment;

/// Long enough for some bad moments.
const SECONDS: u64 = 120;
/// Interval between looks at the controller.
const EVERY: Span = Span::from_millis(1);
const FRAMES: usize = 3;

fn experiment(layer: Layer, effort: Effort) -> Experiment {
    let setting = Setting { seconds: SECONDS, ..Setting::new(layer, VIDEO) };
    Experiment::tracing(measure::shortened(setting, effort).trial(1), 0).looking(EVERY)
}

impl Study for Moment {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        [LAW, THOMPSON].map(|layer| experiment(layer, effort)).to_vec()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let law = results.get(&experiment(LAW, effort));
        let rival = results.get(&experiment(THOMPSON, effort));
        let (Some(law), Some(rival)) = (law, rival) else { return Part::default() };
        let Some(window) = Window::worst(law) else { return Part::default() };
        let chapter = Chapter {
            title: "Three frames in a bad moment".to_owned(),
            text: format!(
                "The three consecutive frames, all decoded within 100 ms under Law, of which the link dropped most packets: \
                 {:.2} s after the beginning of the run. {} meets the same channel at the same time, with its own bitrate.",
                window.from.as_secs_f64(),
                THOMPSON.name,
            ),
            tables: vec![table(&window, &[(LAW, law), (THOMPSON, rival)])],
            charts: vec![latencies(&window, law, rival), rates(&window, law, rival), states(&window, law)],
        };
        Part { rows: Vec::new(), chapter }
    }
}

/// From the creation of the first frame to the last that is heard of the third.
struct Window {
    from: Instant,
    to: Instant,
}

impl Window {
    /// That of the frames under Law of which most packets were dropped, though all could be decoded in time.
    fn worst(run: &Measured) -> Option<Self> {
        let trace = run.trace.as_ref()?;
        let mut frames: Vec<&FrameRow> =
            trace.frames.iter().filter(|frame| frame.created >= Setting::measured_from()).collect();
        frames.sort_by_key(|frame| frame.frame);
        let mut lost: Vec<Instant> = trace
            .packets
            .iter()
            .filter(|packet| matches!(packet.fate, Fate::Dropped(_)))
            .map(|packet| packet.sent)
            .collect();
        lost.sort_unstable();
        let dropped = |from: Instant, to: Instant| {
            lost.partition_point(|sent| *sent < to) - lost.partition_point(|sent| *sent < from)
        };
        let windows = frames.windows(FRAMES).filter_map(|frames| {
            let (first, last) = (frames.first()?, frames.last()?);
            let in_time = frames.iter().all(|frame| frame.fate == FrameFate::Delivered);
            let to = frames.iter().map(|frame| frame.delivered).max()?;
            let whole = last.frame == first.frame + FRAMES as u64 - 1;
            (in_time && whole).then_some((dropped(first.created, last.created), first.created, to))
        });
        let (_, from, to) = windows.max_by_key(|(dropped, from, _)| (*dropped, std::cmp::Reverse(*from)))?;
        Some(Self { from, to: to + Span::from_millis(20) })
    }

    /// A time in ms after the beginning.
    fn place(&self, at: Instant) -> Option<f64> {
        (self.from <= at && at <= self.to).then(|| (at - self.from).as_millis_f64())
    }
}

fn latencies(window: &Window, law: &Measured, rival: &Measured) -> Chart {
    let packets = |run: &Measured| {
        let mut points: Vec<(f64, Option<f64>)> = run
            .trace
            .iter()
            .flat_map(|trace| &trace.packets)
            .filter_map(|packet| {
                let latency = (packet.fate == Fate::Delivered)
                    .then(|| packet.received.since(packet.enqueued).as_millis_f64());
                Some((window.place(packet.sent)?, latency))
            })
            .collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        points
    };
    let line = |layer: Layer, run: &Measured| Line {
        name: layer.name.to_owned(),
        points: packets(run).into_iter().map(|(at, latency)| latency.map(|latency| (at, latency))).collect(),
    };
    let drops = packets(law).into_iter().filter(|(_, latency)| latency.is_none());
    Chart {
        kind: ChartKind::Lines(Lines {
            x: "time when the packet was sent (ms)".to_owned(),
            y: "latency on the last hop (ms)".to_owned(),
            lines: vec![line(LAW, law), line(THOMPSON, rival)],
            // A diamond for each packet that Law dropped.
            marks: drops.map(|(at, _)| (String::new(), (at, 0.0))).collect(),
            levels: vec![("bound of Law".to_owned(), super::setting::BOUND.as_millis_f64())],
            ..Lines::default()
        }),
        caption: "Fig. 18a: latency of packets. Diamonds: packets that Law dropped; lines are interrupted where packets were lost."
            .to_owned(),
    }
}

fn rates(window: &Window, law: &Measured, rival: &Measured) -> Chart {
    let line = |layer: Layer, run: &Measured| {
        let txops = run.trace.iter().flat_map(|trace| &trace.txops);
        Line::whole(
            layer.name,
            txops.filter_map(|txop| Some((window.place(txop.start)?, txop.rate.as_mbps_f64()))),
        )
    };
    Chart {
        kind: ChartKind::Lines(Lines {
            x: "time (ms)".to_owned(),
            y: "PHY rate (Mb/s)".to_owned(),
            lines: vec![line(LAW, law), line(THOMPSON, rival)],
            ..Lines::default()
        }),
        caption:
            "Fig. 18a: the rate of each transmission, retransmissions included (MCS 0 to 7: 6.5 to 65 Mb/s)."
                .to_owned(),
    }
}

fn states(window: &Window, law: &Measured) -> Chart {
    let views = || {
        law.views.iter().filter_map(|(seconds, view)| {
            let at = window.place(Instant::ZERO + Span::from_secs_f64(*seconds))?;
            Some((at, view.law.first()?))
        })
    };
    let line = |name: &str, value: &dyn Fn(&LawView) -> Option<f64>| {
        Line::whole(name, views().filter_map(|(at, view)| Some((at, value(view)?))))
    };
    Chart {
        kind: ChartKind::Lines(Lines {
            x: "time (ms)".to_owned(),
            y: "packets; state".to_owned(),
            lines: vec![
                line("packets in the driver", &|view| Some(view.in_driver as f64)),
                line("Len_max", &|view| view.len_max),
                line("state (0 stable, 5 probing, 10 clean-up)", &|view| {
                    Some(match view.state {
                        LawState::Stable => 0.0,
                        LawState::Probing => 5.0,
                        LawState::CleanUp => 10.0,
                    })
                }),
            ],
            ..Lines::default()
        }),
        caption: "The controller of Law in the same moment.".to_owned(),
    }
}

fn table(window: &Window, runs: &[(Layer, &Measured)]) -> Grid {
    let columns = ["scheme", "frame", "size kB", "created ms", "decoded ms", "packets lost", "of"];
    let mut grid = Grid::new("The frames of this moment", &columns, 1);
    for (layer, run) in runs {
        let frames = run.trace.iter().flat_map(|trace| &trace.frames);
        let mut frames: Vec<&FrameRow> =
            frames.filter(|frame| window.place(frame.created).is_some()).collect();
        frames.sort_by_key(|frame| frame.frame);
        for frame in frames.into_iter().take(FRAMES) {
            let millis = |at: Instant| match at {
                Instant::MAX => "never".to_owned(),
                at => shown((at.since(window.from)).as_millis_f64()),
            };
            let count = |count: Option<u32>| count.map_or("–".to_owned(), |count| count.to_string());
            let cells = [
                layer.name.to_owned(),
                frame.frame.to_string(),
                shown(frame.size.as_u64() as f64 / 1e3),
                millis(frame.created),
                millis(frame.delivered),
                count(frame.lost),
                count(frame.packets),
            ];
            grid.rows.push(cells.into_iter().map(Into::into).collect());
        }
    }
    grid
}
