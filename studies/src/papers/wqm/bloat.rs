//! Sec. III: how bad it is without control, and what the buffer does to aggregates.

use airbound_report::{Bar, Line};
use airbound_sim::Snapshot;
use airbound_units::Span;

use super::measure::{Value, figures};
use super::{CLAIMS, FIFO, RUNS};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study};

/// One flow at 6.5 Mb/s over the default queue (Fig. 1).
pub(super) struct Bloat;

impl Bloat {
    fn experiment(effort: Effort) -> Experiment {
        let trial = RUNS.trial(&[FIFO, "6.5 Mb/s", "100 s, 20 s when quick"], 1, effort);
        Experiment::plain(trial).looking(Span::from_millis(100))
    }
}

impl Study for Bloat {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let Some(run) = results.get(&Self::experiment(effort)) else { return Part::default() };
        let over_time = |value: &dyn Fn(&Snapshot) -> Option<f64>| {
            run.views.iter().filter_map(|(at, view)| Some((*at, value(view)?))).collect::<Vec<_>>()
        };
        let backlog = over_time(&|view| Some(view.backlog.packets as f64));
        let rtt = over_time(&|view| Some(view.senders.first()?.1.srtt?.as_millis_f64()));
        let window = over_time(&|view| Some(view.senders.first()?.1.cwnd.as_u64() as f64 / 1e6));
        let longest = rtt.iter().map(|(_, ms)| *ms).reduce(f64::max);
        // Slow start fills the queue in the first seconds.
        let emptiest =
            backlog.iter().filter(|(at, _)| *at > 5.0).map(|(_, packets)| *packets).reduce(f64::min);
        let rows = vec![
            CLAIMS.row("longest-rtt").measured(longest),
            CLAIMS.row("never-empty").holds(emptiest.map(|packets| packets > 0.0)),
            CLAIMS.row("window").measured(when_first_full(run)),
        ];
        let charts = [("window", window), ("rtt", rtt), ("backlog", backlog)]
            .map(|(key, points)| CLAIMS.lines(key, &[], vec![Line::whole(FIFO, points)]));
        Part { rows, chapter: CLAIMS.chapter("bloat", Vec::new(), charts.to_vec()) }
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
const BUFFERS: [&str; 5] = ["10 packets", "50 packets", "100 packets", "500 packets", "1000 packets"];
const RATES: [&str; 4] = ["6.5 Mb/s", "13 Mb/s", "65 Mb/s", "144.4 Mb/s"];

impl Study for Aggregates {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let length = |rate, buffer| Some(figures(&[rate, buffer, "40 s"], effort, results)?.ampdu);
        let lengths: Vec<Vec<Option<Value>>> =
            RATES.iter().map(|rate| BUFFERS.iter().map(|buffer| length(rate, buffer)).collect()).collect();
        let mean = |rate: usize, buffer: usize| lengths[rate][buffer].map(|value| value.mean);
        // Within the noise of a few per cent a mean may stay where it is once it has reached its limit.
        fn grows(mut pairs: impl Iterator<Item = (Option<f64>, Option<f64>)>) -> bool {
            pairs.all(|(less, more)| less.zip(more).is_some_and(|(less, more)| more >= 0.97 * less))
        }
        let last = BUFFERS.len() - 1;
        let with_buffer = (1..RATES.len())
            .all(|rate| grows((0..last).map(|buffer| (mean(rate, buffer), mean(rate, buffer + 1)))));
        let with_rate = grows((0..RATES.len() - 1).map(|rate| (mean(rate, last), mean(rate + 1, last))));
        let rows = vec![
            CLAIMS.row("grows-with-buffer").holds(with_buffer),
            CLAIMS.row("grows-with-rate").holds(with_rate),
            CLAIMS.row("slowest-ampdu").measured(mean(0, last)),
        ];
        let series = RATES.iter().zip(&lengths).map(|(rate, lengths)| {
            let bars: Vec<Option<Bar>> = lengths.iter().map(|value| value.map(Value::bar)).collect();
            ((*rate).to_owned(), bars)
        });
        let groups = BUFFERS.map(str::to_owned).to_vec();
        let chart = CLAIMS.bars("ampdu-length", &[], groups, series.collect());
        Part { rows, chapter: CLAIMS.chapter("ampdu-length", Vec::new(), vec![chart]) }
    }
}
