//! Measures the speed of a link: `speed [PLACE]`, 50 Mb/s down, by default to the headset beside three laptops that download.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "it measures and prints"
)]

use std::time::{Duration, Instant};

use airbound_link::{Direction, LARGEST, Link, LinkError};

/// Simulated time.
const LENGTH: Duration = Duration::from_secs(60);
/// A packet of the largest size in each makes 50 Mb/s.
const INTERVAL: Duration = Duration::from_nanos(LARGEST as u64 * 8 * 1000 / 50);

fn main() -> Result<(), LinkError> {
    let place = std::env::args().nth(1).unwrap_or_else(|| "headset-beside-downloads".to_owned());
    let mut link = Link::named(&place)?;
    let began = Instant::now();
    let (mut now, mut arrived) = (Duration::ZERO, 0);
    while now < LENGTH {
        link.push(now, Direction::Down, vec![0; LARGEST])?;
        arrived += link.take(now)?.len();
        now += INTERVAL;
    }
    let spent = began.elapsed();
    println!(
        "{arrived} packets, {:.1} Mb/s in {:.2} s: {:.0} times real time, {:.2} us a packet",
        (arrived * LARGEST * 8) as f64 / LENGTH.as_secs_f64() / 1e6,
        spent.as_secs_f64(),
        LENGTH.as_secs_f64() / spent.as_secs_f64(),
        spent.as_secs_f64() * 1e6 / arrived as f64
    );
    Ok(())
}
