//! Runs that studies ask for.

use std::collections::BTreeMap;

use airbound_record::{Fate, FrameFate, FrameRow, PacketRow};
use airbound_runs::experiment::Runs;
use airbound_sim::{Event, Events, NoObserver, Observer, Run, Snapshot};
use airbound_units::{Instant, Span};

use super::aggregates::{AggregateWatch, Aggregates};
use super::digest::{Digest, DigestWatch};
use super::trace::{Trace, TraceWatch};
use crate::{Trial, TrialError};

/// Part of a run that is kept beside its figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Watch {
    /// Nothing.
    Nothing,
    /// The aggregates of the access point from then on, and the packets of a flow.
    Aggregates(Instant, Option<u32>),
    /// The packets and frames of the flow of this number, one by one.
    Flow(u32),
    /// All that the flow of this number and its access point do.
    Trace(u32),
    /// The digest of the packets of a flow that were sent at `from`, the end of the warm-up, or later.
    Digest {
        /// Its number.
        flow: u32,
        /// From when on.
        from: Instant,
        /// Later packets are late.
        deadline: Span,
    },
}

/// A run, and what of it is watched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Experiment {
    /// The run.
    pub(crate) trial: Trial,
    /// The part that is kept.
    pub(crate) watch: Watch,
    /// Interval of simulated time between looks at queues and controllers; `None` for no looks.
    pub(crate) every: Option<Span>,
}

/// A packet of the watched flow that was acknowledged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// When it was acknowledged.
    pub(crate) completed: Instant,
    /// From entering the queue to the acknowledgement.
    pub(crate) latency: Span,
}

/// Deliveries of the watched flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watched {
    /// Its packets, in the order of their acknowledgement.
    pub(crate) packets: Vec<Sample>,
    /// When each of its whole frames arrived.
    pub(crate) frames: Vec<Instant>,
}

/// Results of a run.
#[derive(Debug)]
pub(crate) struct Measured {
    /// Its figures.
    pub(crate) outcome: airbound_sim::Outcome,
    /// Deliveries of the watched flow; empty where none was watched.
    pub(crate) watched: Watched,
    /// All that it and its access point did, where that was wanted.
    pub(crate) trace: Option<Trace>,
    /// The digest of its packets, where one was wanted.
    pub(crate) digest: Option<Digest>,
    /// The aggregates of the access point, where they were wanted.
    pub(crate) aggregates: Aggregates,
    /// State of queues and controllers at each look, with the time in s.
    pub(crate) views: Vec<(f64, Snapshot)>,
}

/// Keeps what happens to one flow.
#[derive(Debug, Default)]
struct FlowWatch {
    flow: u32,
    seen: Watched,
}

impl FlowWatch {
    fn on_packet(&mut self, row: &PacketRow) {
        if row.flow == self.flow && row.fate == Fate::Delivered {
            let latency = row.completed - row.enqueued;
            self.seen.packets.push(Sample { completed: row.completed, latency });
        }
    }

    fn on_frame(&mut self, row: &FrameRow) {
        if row.flow == self.flow && matches!(row.fate, FrameFate::Delivered | FrameFate::Late) {
            self.seen.frames.push(row.delivered);
        }
    }
}

impl Observer for FlowWatch {
    fn wants(&self) -> Events {
        Events { packets: true, frames: true, ..Events::NONE }
    }
    fn on_event(&mut self, event: Event<'_>) {
        match event {
            Event::Packet(row) => self.on_packet(row),
            Event::Frame(row) => self.on_frame(row),
            _ => {}
        }
    }
}

impl Experiment {
    /// A run of which only the figures are wanted.
    pub(crate) fn plain(trial: Trial) -> Self {
        Self { trial, watch: Watch::Nothing, every: None }
    }

    /// A run one of whose flows is watched packet by packet.
    pub(crate) fn watching(trial: Trial, flow: u32) -> Self {
        Self { watch: Watch::Flow(flow), ..Self::plain(trial) }
    }

    /// A run of which the digest of a flow is wanted.
    pub(crate) fn digesting(trial: Trial, flow: u32, from: Instant, deadline: Span) -> Self {
        Self { watch: Watch::Digest { flow, from, deadline }, ..Self::plain(trial) }
    }

    /// A run of which all that a flow and its access point do is kept.
    pub(crate) fn tracing(trial: Trial, flow: u32) -> Self {
        Self { watch: Watch::Trace(flow), ..Self::plain(trial) }
    }

    /// A run of which the aggregates of the access point after the warm-up are wanted, and the packets of `flow`.
    pub(crate) fn aggregates(trial: Trial, flow: Option<u32>) -> Self {
        // A scenario that is wrong fails when it is run.
        let warm_up = trial.read().map_or(Span::ZERO, |scenario| scenario.warm_up);
        Self { watch: Watch::Aggregates(Instant::ZERO + warm_up, flow), ..Self::plain(trial) }
    }

    /// The same run, looked at at equal distances.
    pub(crate) fn looking(self, every: Span) -> Self {
        Self { every: Some(every), ..self }
    }

    /// Makes it.
    ///
    /// # Errors
    /// The scenario is wrong, or the books of the run do not balance.
    pub(crate) fn run(&self) -> Result<Measured, TrialError> {
        match self.watch {
            Watch::Nothing => self.measured(NoObserver, |_, _| ()),
            Watch::Flow(flow) => {
                let watch = FlowWatch { flow, ..FlowWatch::default() };
                self.measured(watch, |watch, run| run.watched = watch.seen.sorted())
            }
            Watch::Trace(flow) => {
                self.measured(TraceWatch::new(flow), |watch, run| run.trace = Some(watch.seen))
            }
            Watch::Digest { flow, from, deadline } => {
                self.measured(DigestWatch::new(flow, from, deadline), |watch, run| {
                    run.digest = Some(watch.digest(run.outcome.summary.duration_s));
                })
            }
            Watch::Aggregates(from, flow) => {
                self.measured(AggregateWatch::new(from, flow), |watch, run| run.aggregates = watch.seen)
            }
        }
    }

    /// Makes the run under `observer`, of which `keep` takes what it saw.
    fn measured<O: Observer>(
        &self,
        observer: O,
        keep: impl FnOnce(O, &mut Measured),
    ) -> Result<Measured, TrialError> {
        let mut views = Vec::new();
        let look = |run: &Run| views.push((run.now().as_secs_f64(), run.snapshot()));
        let (outcome, observer) = self.trial.looking(observer, self.every, look)?;
        let (watched, aggregates) = (Watched::default(), Aggregates::default());
        let mut measured = Measured { outcome, watched, trace: None, digest: None, aggregates, views };
        keep(observer, &mut measured);
        Ok(measured)
    }
}

/// The mean over the runs that have the value.
pub(crate) fn mean(runs: &[&Measured], value: impl Fn(&Measured) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = runs.iter().filter_map(|run| value(run)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

impl Watched {
    fn sorted(mut self) -> Self {
        self.packets.sort_by_key(|sample| sample.completed);
        self.frames.sort_unstable();
        self
    }

    /// A percentile (0 to 100) of the latency in windows of `length`, as (begin of the window in s, latency in ms).
    pub(crate) fn percentiles(&self, length: Span, percentile: f64) -> Vec<(f64, f64)> {
        let mut windows: BTreeMap<u64, Vec<Span>> = BTreeMap::new();
        for sample in &self.packets {
            let window = sample.completed.as_nanos() / length.as_nanos().max(1);
            windows.entry(window).or_default().push(sample.latency);
        }
        windows
            .into_iter()
            .filter_map(|(window, mut latencies)| {
                latencies.sort_unstable();
                let rank = (percentile / 100.0 * latencies.len() as f64).ceil() as usize;
                let value = latencies.get(rank.max(1) - 1)?.as_millis_f64();
                Some((window as f64 * length.as_secs_f64(), value))
            })
            .collect()
    }

    /// Whole frames that arrived in each window of `length` up to `end`, per second, as (begin of the window in s, frames
    /// per second).
    pub(crate) fn frame_rate(&self, length: Span, end: Instant) -> Vec<(f64, f64)> {
        let count = end.as_nanos() / length.as_nanos().max(1);
        let mut frames = vec![0_u32; usize::try_from(count).unwrap_or(0)];
        for at in &self.frames {
            let window = at.as_nanos() / length.as_nanos().max(1);
            if let Some(count) = usize::try_from(window).ok().and_then(|window| frames.get_mut(window)) {
                *count += 1;
            }
        }
        let seconds = length.as_secs_f64();
        frames
            .iter()
            .enumerate()
            .map(|(place, count)| (place as f64 * seconds, f64::from(*count) / seconds))
            .collect()
    }
}

/// Results of all runs.
pub(crate) type Results = Runs<Experiment, Measured>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_hold_what_was_acknowledged_in_them() {
        let sample = |at: u64, latency: u64| Sample {
            completed: Instant::ZERO + Span::from_millis(at),
            latency: Span::from_millis(latency),
        };
        let packets = (1..=20).map(|n| sample(n, n)).chain([sample(150, 7)]).collect();
        let frames = vec![Instant::ZERO + Span::from_millis(10), Instant::ZERO + Span::from_millis(120)];
        let watched = Watched { packets, frames };
        let windows = watched.percentiles(Span::from_millis(100), 95.0);
        // Nearest rank: the 19th of 20.
        assert_eq!(windows, vec![(0.0, 19.0), (0.1, 7.0)]);
        let rate = watched.frame_rate(Span::from_millis(100), Instant::ZERO + Span::from_millis(300));
        assert_eq!(rate.iter().map(|(_, rate)| *rate).collect::<Vec<_>>(), vec![10.0, 10.0, 0.0]);
    }
}
