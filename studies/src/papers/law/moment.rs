//! Sec. 4.3, Fig. 18a: three consecutive frames in a bad moment, packet by packet, under Law and under one rival.

use airbound_control::link::{LawState, LawView};
use airbound_record::{Fate, FrameFate, FrameRow};
use airbound_report::{Chart, Grid, Line, Lines};
use airbound_units::{Instant, Span};

use super::measure::{MEASURED_FROM, Runs};
use super::{CLAIMS, JUDGED, LAW, OFFICE};
use crate::papers::experiment::{Experiment, Measured};
use crate::papers::trace::Trace;
use crate::papers::{Part, shown};

const THOMPSON: &str = "TS";
const FRAMES: usize = 3;

/// A look at three frames.
pub(super) fn part(runs: Runs<'_>) -> Part {
    let of = |scheme| {
        // Long enough for some bad moments.
        let trials = OFFICE.trials(&[scheme, JUDGED, "video", "120 s, 1 seed"], runs.effort);
        let looked_at = |trial| Experiment::tracing(trial, 0).looking(Span::from_millis(1));
        runs.made(trials, looked_at).first().copied()
    };
    let [Some(law), Some(rival)] = [LAW, THOMPSON].map(of) else { return Part::default() };
    let (Some(law_trace), Some(rival_trace)) = (&law.trace, &rival.trace) else { return Part::default() };
    let Some(window) = Window::worst(law_trace) else { return Part::default() };
    let traces = [(LAW, law_trace), (THOMPSON, rival_trace)];
    let charts = vec![latencies(&window, traces), rates(&window, traces), states(&window, law)];
    let values = [("seconds", format!("{:.2}", window.from.as_secs_f64()))];
    let tables = vec![table(&window, traces)];
    Part { rows: Vec::new(), chapter: CLAIMS.filled_chapter("moment", &values, tables, charts) }
}

/// From the creation of the first frame to the last that is heard of the third.
struct Window {
    from: Instant,
    to: Instant,
}

impl Window {
    /// That of the frames of which most packets were dropped, though all could be decoded in time.
    fn worst(trace: &Trace) -> Option<Self> {
        let mut frames: Vec<&FrameRow> =
            trace.frames.iter().filter(|frame| frame.created >= MEASURED_FROM).collect();
        frames.sort_by_key(|frame| frame.frame);
        let lost = trace.packets.iter().filter(|packet| matches!(packet.fate, Fate::Dropped(_)));
        let mut lost: Vec<Instant> = lost.map(|packet| packet.sent).collect();
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

fn latencies(window: &Window, traces: [(&str, &Trace); 2]) -> Chart {
    let packets = traces.map(|(name, trace)| {
        let mut points: Vec<(f64, Option<f64>)> = trace
            .packets
            .iter()
            .filter_map(|packet| {
                let latency = packet.received.since(packet.enqueued).as_millis_f64();
                Some((window.place(packet.sent)?, (packet.fate == Fate::Delivered).then_some(latency)))
            })
            .collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        (name, points)
    });
    let lines = packets.iter().map(|(name, packets)| Line {
        name: (*name).to_owned(),
        points: packets.iter().map(|(at, latency)| latency.map(|latency| (*at, latency))).collect(),
    });
    let [(_, law), _] = &packets;
    // A diamond for each packet that Law dropped.
    let drops = law.iter().filter(|(_, latency)| latency.is_none());
    let marks = drops.map(|(at, _)| (String::new(), (*at, 0.0))).collect();
    CLAIMS.plot("moment-packets", &[], Lines { lines: lines.collect(), marks, ..Lines::default() })
}

fn rates(window: &Window, traces: [(&str, &Trace); 2]) -> Chart {
    let lines = traces.map(|(name, trace)| {
        let rates = trace.txops.iter();
        Line::whole(name, rates.filter_map(|txop| Some((window.place(txop.start)?, txop.rate.as_mbps_f64()))))
    });
    CLAIMS.lines("moment-rates", &[], lines.to_vec())
}

fn states(window: &Window, law: &Measured) -> Chart {
    let line = |name: &str, value: &dyn Fn(&LawView) -> Option<f64>| {
        let points = law.views.iter().filter_map(|(seconds, view)| {
            let at = window.place(Instant::ZERO + Span::from_secs_f64(*seconds))?;
            Some((at, value(view.law.first()?)?))
        });
        Line::whole(name, points)
    };
    let lines = vec![
        line("packets in the driver", &|view| Some(view.in_driver as f64)),
        line("Len_max", &|view| view.len_max),
        line("state (0 stable, 5 probing, 10 clean-up)", &|view| {
            Some(match view.state {
                LawState::Stable => 0.0,
                LawState::Probing => 5.0,
                LawState::CleanUp => 10.0,
            })
        }),
    ];
    CLAIMS.lines("moment-states", &[], lines)
}

fn table(window: &Window, traces: [(&str, &Trace); 2]) -> Grid {
    let mut grid = CLAIMS.table("moment", &[]);
    for (name, trace) in traces {
        let mut frames: Vec<&FrameRow> =
            trace.frames.iter().filter(|frame| window.place(frame.created).is_some()).collect();
        frames.sort_by_key(|frame| frame.frame);
        for frame in frames.into_iter().take(FRAMES) {
            let millis = |at: Instant| match at {
                Instant::MAX => "never".to_owned(),
                at => shown((at.since(window.from)).as_millis_f64()),
            };
            let count = |count: Option<u32>| count.map_or("–".to_owned(), |count| count.to_string());
            let cells = [
                name.to_owned(),
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
