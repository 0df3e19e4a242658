//! Delays of a link beside those of a run's own flow.

use std::time::Duration;

use airbound_link::{Direction, Link, LinkConfig};
use airbound_record::Fate;
use airbound_scenario::{Overrides, Scenario};
use airbound_sim::{Event, Events, Observer, Run};
use airbound_units::Instant;

/// A station that downloads with all of a channel of 20 MHz, as the laboratory plays it (`airbound validate lab --only cubic-1`).
const DOWNLOAD: &str = r#"
duration = "31 s"
warm-up = "1 s"
[air]
standard = "ht"
width = "20 MHz"
guard-interval = "800 ns"
[access-point]
preset = "mac80211"
streams = 1
[scheme]
queue = "linux"
rate = "minstrel-ht"
[[station]]
name = "a"
rate = "HT20 MCS7 1SS LGI"
[[flow]]
name = "bulk"
station = "a"
kind = "tcp"
"#;
/// The packet of a link each 8 ms: 100 B on the air.
const PROBE: &str = r#"
[[flow]]
name = "probe"
station = "a"
kind = "cbr"
rate = "72 kbit/s"
size = "72 B"
"#;

/// Keeps the delays of the flow with number 1.
struct Delays(Vec<Duration>);

impl Observer for Delays {
    fn wants(&self) -> Events {
        Events { packets: true, ..Events::NONE }
    }
    fn on_event(&mut self, event: Event<'_>) {
        if let Event::Packet(row) = event
            && (row.flow, row.fate) == (1, Fate::Delivered)
            && row.sent >= Instant::from_nanos(1_000_000_000)
        {
            self.0.push(Duration::from_nanos(row.arrived.since(row.sent).as_nanos()));
        }
    }
}

/// The largest difference of two distribution functions.
fn kolmogorov(one: &mut [Duration], other: &mut [Duration]) -> f64 {
    one.sort_unstable();
    other.sort_unstable();
    let share = |of: &[Duration], at: Duration| of.partition_point(|own| *own <= at) as f64 / of.len() as f64;
    let distance = |at: &Duration| (share(one, *at) - share(other, *at)).abs();
    one.iter().chain(&*other).map(distance).fold(0.0, f64::max)
}

#[test]
fn a_pushed_packet_takes_as_long_as_one_of_a_run() {
    let text = format!("{DOWNLOAD}{PROBE}");
    let scenario = Scenario::parse(&text, "test", &Overrides::none()).expect("a scenario");
    let mut run = Run::new("test", &scenario, &scenario.scheme, 1).expect("a run");
    run.observe(Box::new(Delays(Vec::new())));
    let (_, observer) = run.finish().expect("packets are conserved");
    let observer: Box<dyn std::any::Any> = observer;
    let Delays(mut own) = *observer.downcast().expect("the observer");

    let mut link = Link::new(&LinkConfig::of_scenario(DOWNLOAD, "a")).expect("a link");
    let mut pushed = Vec::new();
    for number in 0..3750 {
        let now = Duration::from_millis(8 * number);
        pushed.extend(link.take(now).expect("in order"));
        link.push(now, Direction::Down, [0; 72]).expect("taken");
    }
    let mut pushed: Vec<_> = pushed.into_iter().map(|arrival| arrival.at - arrival.sent).collect();
    assert!(own.len() > 3700 && pushed.len() > 3700, "{} {}", own.len(), pushed.len());
    let distance = kolmogorov(&mut own, &mut pushed);
    assert!(distance < 0.05, "{distance}: medians {:?} {:?}", own[own.len() / 2], pushed[pushed.len() / 2]);
}
