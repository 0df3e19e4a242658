//! Prints the delays of all places, as `docs/use/link.md` has them.
#![allow(clippy::print_stdout, reason = "it prints")]

use std::fmt::Write as _;
use std::time::Duration;

use airbound_link::{Direction, Link, LinkError, Place, places};

/// Length of a measurement.
const LENGTH: Duration = Duration::from_secs(20);

/// Sorted one-way delays and the share of lost packets, by direction.
struct Measured {
    delays: Vec<Duration>,
    lost: f64,
}

/// Sends packets of 1000 B in the directions, one in each `interval`, and waits until none is on its way.
fn measure(place: &Place, directions: &[Direction], interval: Duration) -> Result<Vec<Measured>, LinkError> {
    let mut link = Link::named(place.name)?;
    let mut now = Duration::ZERO;
    let mut arrived = Vec::new();
    while now < LENGTH {
        for direction in directions {
            link.push(now, *direction, vec![0; 1000])?;
        }
        now += interval;
        arrived.extend(link.take(now)?);
    }
    while let Some(next) = link.next_event() {
        arrived.extend(link.take(next)?);
    }
    let measured = directions.iter().map(|direction| {
        let own = arrived.iter().filter(|arrival| arrival.direction == *direction);
        let mut delays: Vec<_> = own.map(|arrival| arrival.at - arrival.sent).collect();
        delays.sort();
        let counts = link.counts(*direction);
        Measured { delays, lost: 100.0 * counts.lost as f64 / counts.pushed as f64 }
    });
    Ok(measured.collect())
}

/// Quantiles in milliseconds, by nearest rank.
fn quantiles(sorted: &[Duration], percent: &[usize]) -> String {
    let at = |percent: &usize| sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1));
    let text = |delay: &Duration| format!("{:.0}", delay.as_secs_f64() * 1e3);
    let texts = percent.iter().map(|percent| at(percent).map_or("-".to_owned(), text));
    texts.collect::<Vec<_>>().join(", ")
}

/// The table of the page.
pub(crate) fn table() -> Result<String, LinkError> {
    const CALL: Duration = Duration::from_millis(5);
    const SPARSE: Duration = Duration::from_millis(470);
    let mut table =
        String::from("| place | down, ms | up, ms | lost, % | sparse, ms |\n|---|---:|---:|---:|---:|\n");
    for place in places() {
        let call = measure(place, &[Direction::Down, Direction::Up], CALL)?;
        let sparse = measure(place, &[Direction::Down], SPARSE)?;
        let delays = |measured: &Measured| quantiles(&measured.delays, &[50, 95, 99]);
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {:.1}, {:.1} | {} |",
            place.name,
            delays(&call[0]),
            delays(&call[1]),
            call[0].lost,
            call[1].lost,
            quantiles(&sparse[0].delays, &[50, 95]),
        );
    }
    Ok(table)
}

fn main() -> Result<(), LinkError> {
    for place in places() {
        println!("{}: {}", place.name, place.about);
    }
    println!("\n{}", table()?);
    Ok(())
}
