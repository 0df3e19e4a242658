//! A queue of one's own beside those of this program: `cargo run --release -p airbound-runs --example own_queue`.
//!
//! A [`QueueDecider`] sees what waits at one transmitter and decides by the packets' numbers. The simulator keeps the packets, so that no
//! mistake of a decider loses one.
#![allow(clippy::print_stdout, reason = "a program that prints")]

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::path::Path;

use airbound_control::frame::{DropReason, StationId};
use airbound_control::queue::custom::{GivenUp, QueueDecider, Waiting};
use airbound_runs::{Finished, Matrix, Opened, jobs};
use airbound_scenario::Overrides;
use airbound_sim::Plugin;
use airbound_units::Instant;
use airbound_wifi::edca::Category;

/// Packets that a station may have waiting in one category.
const LIMIT: usize = 200;

/// Serves the station with the fewest packets first, each station in the order of arrival.
#[derive(Debug, Default)]
struct ShortestFirst(BTreeMap<(Category, StationId), VecDeque<u64>>);

impl QueueDecider for ShortestFirst {
    fn enqueue(&mut self, _now: Instant, packet: &Waiting, given_up: &mut GivenUp) {
        let waiting = self.0.entry((packet.category, packet.station)).or_default();
        if waiting.len() < LIMIT {
            waiting.push_back(packet.number);
        } else {
            given_up.push((packet.number, DropReason::QueueFull));
        }
    }

    fn select(&mut self, _now: Instant, category: Category, stations: &[StationId]) -> Option<StationId> {
        let waiting = |station: &StationId| self.0.get(&(category, *station)).map(VecDeque::len);
        stations.iter().copied().min_by_key(waiting)
    }

    fn dequeue(
        &mut self,
        _now: Instant,
        station: StationId,
        category: Category,
        _given_up: &mut GivenUp,
    ) -> Option<u64> {
        self.0.get_mut(&(category, station))?.pop_front()
    }
}

/// Compares it with `fifo` and `linux`, in the demonstration's network for so long.
fn compare(duration: &str, folder: &Path) -> Result<Finished, Box<dyn Error>> {
    let overrides = Overrides::from_pairs(&[("duration", duration)]);
    let opened = Opened::by_name("vr-congested", &overrides)?;
    let mut schemes = opened.schemes(&["fifo", "linux"])?;
    let own = Plugin::queue(|_site| ShortestFirst::default());
    schemes.push(opened.scheme(None)?.with("shortest-first", own)?);
    Ok(Matrix::of(&opened, schemes).run(&opened, jobs::threads(None), folder, &())?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new("runs/own-queue");
    let finished = compare("2 s", folder)?;
    println!("{}\nReport: {}/report.html", finished.comparison.to_text(100), folder.display());
    Ok(())
}

#[test]
fn the_own_queue_decides() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let finished = compare("200 ms", &folder.path().join("results"))?;
    let queues: Vec<&str> = finished.summaries.iter().map(|summary| summary.scheme.queue.as_str()).collect();
    assert_eq!(queues, ["fifo", "linux", "shortest-first"]);
    let median = |place: usize| finished.summaries[place].flows[0].latency_ms.p50;
    assert!(median(2) < median(0), "{:?} and {:?} ms", median(2), median(0));
    Ok(())
}
