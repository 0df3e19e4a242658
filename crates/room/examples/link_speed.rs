//! Measures the speed of a link: `link_speed [PLACE|alone|netem] [SECONDS] [idle]`, 50 Mb/s down, by default 60 s to the headset beside three
//! laptops that download. `alone` has a station and no traffic, `netem` is that of str0m, with the same packets; `idle` sends none.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "it measures and prints"
)]

use std::error::Error;
use std::time::{Duration, Instant};

use airbound_link::{Direction, LARGEST, Link, LinkConfig};
use netem::{Input, Netem, NetemConfig, Output};

/// A packet of the largest size in each makes 50 Mb/s.
const INTERVAL: Duration = Duration::from_nanos(LARGEST as u64 * 8 * 1000 / 50);

/// A network without other traffic.
const ALONE: &str = r#"
duration = "1 s"
[air]
standard = "vht"
width = "80 MHz"
[access-point]
preset = "mac80211"
streams = 2
[scheme]
queue = "linux"
rate = "minstrel-ht"
[[station]]
name = "phone"
streams = 2
channel = { kind = "log-distance", distance = "6 m" }
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let place = arguments.next().unwrap_or_else(|| "headset-beside-downloads".to_owned());
    let length = Duration::from_secs(arguments.next().map_or(Ok(60), |seconds| seconds.parse())?);
    let sends = arguments.next().is_none_or(|word| word != "idle");
    let (arrived, spent) = match &*place {
        "netem" => emulated(length),
        "alone" => simulated(&LinkConfig::of_scenario(ALONE, "phone"), length, sends)?,
        place => simulated(&LinkConfig::named(place)?, length, sends)?,
    };
    println!(
        "{arrived} packets, {:.1} Mb/s in {:.3} s: {:.0} times real time, {:.3} us a packet",
        (arrived * LARGEST * 8) as f64 / length.as_secs_f64() / 1e6,
        spent.as_secs_f64(),
        length.as_secs_f64() / spent.as_secs_f64(),
        spent.as_secs_f64() * 1e6 / arrived as f64
    );
    Ok(())
}

fn times(length: Duration) -> impl Iterator<Item = Duration> {
    (0..).map(|number| INTERVAL * number).take_while(move |now| *now < length)
}

fn simulated(
    config: &LinkConfig,
    length: Duration,
    sends: bool,
) -> Result<(usize, Duration), Box<dyn Error>> {
    let mut link = Link::new(config)?;
    let (began, mut arrived) = (Instant::now(), 0);
    for now in times(length) {
        if sends {
            link.push(now, Direction::Down, vec![0; LARGEST])?;
        }
        arrived += link.take(now)?.len();
    }
    Ok((arrived, began.elapsed()))
}

fn emulated(length: Duration) -> (usize, Duration) {
    let mut link = Netem::new(NetemConfig::wifi().seed(1));
    let (began, mut arrived) = (Instant::now(), 0);
    for now in times(length) {
        let now = began + now;
        link.handle_input(Input::Packet(now, vec![0; LARGEST]));
        while link.poll_timeout() <= now {
            link.handle_input(Input::Timeout(link.poll_timeout()));
            arrived += usize::from(matches!(link.poll_output(), Some(Output::Packet(_))));
        }
    }
    (arrived, began.elapsed())
}
