//! Rules for the bitrate of a game stream over five places: late frames, bitrate, changes.
//!
//! The host sends 60 frames a second in bursts, a fifth of the packets parity (Sunshine's default). Its client reports each second what
//! `POST /api/abr/feedback` has: lost frames, round trip, frames decoded. A frame is late 50 ms after the fastest one, or if it is lost.

use std::collections::BTreeMap;
use std::time::Duration;

use airbound_link::{Direction, Link, LinkConfig};
use airbound_senders::bitrate::{BitrateConfig, BitrateController, Feedback};
use airbound_units::{BitRate, Instant, Span};

/// The places.
pub const PLACES: [&str; 5] =
    ["home-evening", "my-flat", "walking", "crowded-office", "headset-beside-downloads"];
const FPS: u64 = 60;
const PACKET: usize = 1200;
const STEP: Duration = Duration::from_millis(2);
/// Time in which rules find a rate; what they meet counts from then on.
const SETTLES: u64 = 20;
/// Beyond the least latency of a frame.
const LATE: Duration = Duration::from_millis(50);
/// Time after which an incomplete frame counts as lost.
const LOST: Duration = Duration::from_millis(250);

/// A rule for the bitrate in kbit/s.
pub trait Rule {
    /// Takes a second's report.
    fn report(&mut self, second: u64, feedback: &Feedback);
    /// The rate.
    fn kbps(&self) -> u64;
}

/// No rule.
pub struct Fixed(pub u64);

impl Rule for Fixed {
    fn report(&mut self, _: u64, _: &Feedback) {}
    fn kbps(&self) -> u64 {
        self.0
    }
}

/// Airbound's controller.
pub struct Ours(pub BitrateController, pub Vec<String>);

impl Ours {
    /// Begins at a rate.
    pub fn new(kbps: u64) -> Self {
        let config = BitrateConfig {
            start: BitRate::from_kbps(kbps),
            most: BitRate::from_kbps(2 * kbps),
            ..BitrateConfig::default()
        };
        Self(BitrateController::new(config).expect("in range"), Vec::new())
    }
}

impl Rule for Ours {
    fn report(&mut self, second: u64, feedback: &Feedback) {
        let now = Instant::ZERO + Span::from_secs(second);
        if let Some(change) = self.0.on_feedback(now, feedback) {
            self.1.push(format!("{second} s: {} to {}, {}", self.0.rate(), change.rate, change.why));
            self.0.set(now, change.rate);
        }
    }
    fn kbps(&self) -> u64 {
        self.0.rate().as_bps() / 1000
    }
}

/// The rule of Foundation Sunshine without its language model (`src/abr.cpp`, d2bf1d5f: `fallback_decision`, `process_feedback`).
pub struct Foundation {
    kbps: u64,
    bounds: (u64, u64),
    stable: u32,
    decided: u64,
}

impl Foundation {
    /// Begins at a rate, in balanced mode.
    pub fn new(kbps: u64) -> Self {
        Self { kbps, bounds: (kbps * 3 / 10, 2 * kbps), stable: 0, decided: 0 }
    }
}

impl Rule for Foundation {
    fn report(&mut self, second: u64, feedback: &Feedback) {
        let percent = 100.0 * feedback.loss;
        if percent <= 5.0 && second < self.decided + 3 {
            return;
        }
        self.decided = second;
        let factor = if percent > 2.0 {
            self.stable = 0;
            if percent > 5.0 { 0.7 } else { 0.9 }
        } else {
            self.stable += u32::from(percent < 0.5);
            if percent < 0.5 && self.stable >= 5 { 1.05 } else { 1.0 }
        };
        self.kbps = ((self.kbps as f64 * factor) as u64).clamp(self.bounds.0, self.bounds.1);
    }
    fn kbps(&self) -> u64 {
        self.kbps
    }
}

/// The local rule of Moonlight V+ (`AdaptiveBitrateService.kt`: `tickLocal`, July 2026).
pub struct Moonlight {
    kbps: u64,
    bounds: (u64, u64),
    stable: u32,
    lossy: u32,
    adjusted: Option<u64>,
    fell: bool,
}

impl Moonlight {
    /// Begins at a rate, in balanced mode.
    pub fn new(kbps: u64) -> Self {
        Self { kbps, bounds: (kbps * 3 / 10, 2 * kbps), stable: 0, lossy: 0, adjusted: None, fell: false }
    }
}

impl Rule for Moonlight {
    fn report(&mut self, second: u64, feedback: &Feedback) {
        let percent = 100.0 * feedback.loss;
        if self.adjusted.is_some_and(|at| second < at + 2) {
            return;
        }
        let mut factor = 1.0;
        if percent > 0.5 {
            self.lossy += 1;
            let (step, streak) = match percent {
                _ if percent > 5.0 => (0.7, 1),
                _ if percent > 2.0 => (0.9, 2),
                _ => (0.95, 4),
            };
            if self.lossy >= streak {
                factor = step;
            }
            if self.lossy >= streak || percent <= 2.0 {
                self.stable = 0;
            }
        } else {
            (self.lossy, self.stable) = (0, self.stable + 1);
            if self.stable >= 5 && self.kbps < self.bounds.1 {
                factor = if self.fell { 1.02 } else { 1.05 };
                self.stable = 0;
            }
        }
        let next = ((self.kbps as f64 * factor) as u64).clamp(self.bounds.0, self.bounds.1);
        if next != self.kbps {
            (self.fell, self.kbps, self.adjusted) = (next < self.kbps, next, Some(second));
        }
    }
    fn kbps(&self) -> u64 {
        self.kbps
    }
}

/// The results of a stream.
#[derive(Debug, Clone, Default)]
pub struct Met {
    /// Frames sent, and those of them that were late or lost.
    pub frames: u64,
    /// Late or lost.
    pub late: u64,
    /// Sum of the rates of the seconds, in kbit/s.
    pub kbps: u64,
    /// Seconds.
    pub seconds: u64,
    /// The seconds in which the rate changed.
    pub changes: Vec<u64>,
}

impl Met {
    /// Late frames, in percent.
    pub fn late(&self) -> f64 {
        100.0 * self.late as f64 / self.frames.max(1) as f64
    }
    /// The mean rate in Mbit/s.
    pub fn mean(&self) -> f64 {
        self.kbps as f64 / 1000.0 / self.seconds.max(1) as f64
    }
    /// Most changes in 10 s.
    pub fn most_changes(&self) -> usize {
        let within = |at: &u64| self.changes.iter().filter(|other| (*at..at + 10).contains(other)).count();
        self.changes.iter().map(within).max().unwrap_or(0)
    }
}

/// Frames in flight, and counts of the client.
#[derive(Default)]
struct Client {
    /// Time of sending, packets that are needed, packets that came.
    frames: BTreeMap<u64, (Duration, usize, usize)>,
    done: BTreeMap<u64, Option<Duration>>,
    complete: u64,
    lost: u64,
    trips: Vec<Duration>,
}

impl Client {
    fn packet(&mut self, frame: u64, at: Duration) {
        let Some((sent, needed, came)) = self.frames.get_mut(&frame) else { return };
        *came += 1;
        if *came >= *needed {
            self.done.insert(frame, Some(at - *sent));
            self.complete += 1;
            self.frames.remove(&frame);
        }
    }

    fn give_up(&mut self, now: Duration) {
        while let Some((frame, (sent, ..))) =
            self.frames.first_key_value().map(|(frame, entry)| (*frame, *entry))
        {
            if now < sent + LOST {
                break;
            }
            self.frames.remove(&frame);
            self.done.insert(frame, None);
            self.lost += 1;
        }
    }

    fn feedback(&mut self, sees_trips: bool) -> Feedback {
        let all = self.complete + self.lost;
        let mean = self.trips.iter().sum::<Duration>() / self.trips.len().max(1) as u32;
        let round_trip =
            (sees_trips && !self.trips.is_empty()).then(|| Span::from_nanos(mean.as_nanos() as u64));
        let feedback = Feedback {
            loss: if all > 0 { self.lost as f64 / all as f64 } else { 0.0 },
            round_trip,
            frames: self.complete as f64,
            dropped: self.lost as u32,
        };
        (self.complete, self.lost) = (0, 0);
        self.trips.clear();
        feedback
    }
}

/// Streams for so many seconds over a link. Without `sees_trips` the client's round trips say nothing, as behind an access point with a
/// queue for each flow.
pub fn stream(mut link: Link, rule: &mut dyn Rule, seconds: u64, sees_trips: bool) -> Met {
    let mut client = Client::default();
    let mut met = Met { seconds, ..Met::default() };
    let (mut frame, mut ping, mut second) = (0_u64, Duration::ZERO, 1);
    let mut now = Duration::ZERO;
    while now < Duration::from_secs(seconds) {
        for arrival in link.take(now).expect("forward in time") {
            let number = u64::from_be_bytes(arrival.bytes[1..9].try_into().expect("a number"));
            match (arrival.bytes[0], arrival.direction) {
                (b'v', _) => client.packet(number, arrival.at),
                (_, Direction::Up) => link.push(now, Direction::Down, arrival.bytes).expect("room"),
                (_, Direction::Down) => client.trips.push(arrival.at - Duration::from_nanos(number)),
            }
        }
        if now >= ping {
            ping += Duration::from_millis(100);
            link.push(now, Direction::Up, head(b'p', now.as_nanos() as u64, 60)).expect("room");
        }
        if now >= Duration::from_nanos(frame * 1_000_000_000 / FPS) {
            // Sizes differ by up to an eighth, evenly.
            let share = 0.875 + 0.25 * ((frame as f64) * 0.618_034).fract();
            let bytes = rule.kbps() as f64 * 125.0 / FPS as f64 * share;
            let packets = ((bytes / PACKET as f64).ceil() as usize).max(2);
            let needed = (packets * 4).div_ceil(5);
            client.frames.insert(frame, (now, needed, 0));
            for _ in 0..packets {
                link.push(now, Direction::Down, head(b'v', frame, PACKET)).expect("room");
            }
            frame += 1;
        }
        client.give_up(now);
        if now >= Duration::from_secs(second) {
            let before = rule.kbps();
            rule.report(second, &client.feedback(sees_trips));
            met.kbps += if second > SETTLES { rule.kbps() } else { 0 };
            if rule.kbps() != before {
                met.changes.push(second);
            }
            second += 1;
        }
        now += STEP;
    }
    let least = client.done.values().flatten().min().copied().unwrap_or_default();
    let settled = client.done.range(SETTLES * FPS..).map(|(_, took)| took);
    met.late = settled.clone().filter(|took| took.is_none_or(|took| took > least + LATE)).count() as u64;
    met.frames = settled.count() as u64;
    met.seconds = second - 1 - SETTLES.min(second - 1);
    met
}

fn head(kind: u8, number: u64, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    bytes[0] = kind;
    bytes[1..9].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// A rule that begins at a rate in kbit/s.
type Begins = fn(u64) -> Box<dyn Rule>;

/// Runs a rule from the start, of 1 to 60 Mbit/s, with which its mean rate comes nearest to this one in Mbit/s.
fn at_mean(mean: f64, begins: Begins, run: impl Fn(&mut dyn Rule) -> Met) -> (u64, Met) {
    let (mut low, mut high) = (1000, 60_000);
    let mut nearest: Option<(u64, Met)> = None;
    for _ in 0..10 {
        let start = u64::midpoint(low, high);
        let met = run(&mut *begins(start));
        if met.mean() < mean {
            low = start
        } else {
            high = start
        }
        if nearest.as_ref().is_none_or(|(_, best)| (met.mean() - mean).abs() < (best.mean() - mean).abs()) {
            nearest = Some((start, met));
        }
    }
    nearest.unwrap_or_default()
}

#[allow(clippy::print_stdout, reason = "an example")]
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let seconds = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(120);
    let start = arguments.get(2).and_then(|text| text.parse().ok()).unwrap_or(30_000);
    let sees = arguments.get(3).is_none_or(|text| text != "blind");
    let chosen: Vec<&str> = arguments.get(4).map_or(PLACES.to_vec(), |place| vec![place.as_str()]);
    let rivals: [(&str, Begins); 2] = [
        ("moonlight V+", |kbps| Box::new(Moonlight::new(kbps))),
        ("foundation", |kbps| Box::new(Foundation::new(kbps))),
    ];
    println!("place                     rule          start  late, %  Mbit/s  changes  most in 10 s");
    for place in chosen {
        let run = |rule: &mut dyn Rule| {
            let config = LinkConfig::named(place).expect("a place").seed(1);
            stream(Link::new(&config).expect("a link"), rule, seconds, sees)
        };
        let row = |name: &str, start: u64, met: &Met| {
            let (late, mean, changes, most) = (met.late(), met.mean(), met.changes.len(), met.most_changes());
            println!(
                "{place:25} {name:12} {:6.1} {late:8.2} {mean:7.1} {changes:8} {most:8}",
                start as f64 / 1000.0
            );
        };
        row("fixed", start, &run(&mut Fixed(start)));
        let mut rule = Ours::new(start);
        let ours = run(&mut rule);
        row("airbound", start, &ours);
        for (name, begins) in rivals {
            row(name, start, &run(&mut *begins(start)));
            let (start, met) = at_mean(ours.mean(), begins, run);
            row(name, start, &met);
        }
        if arguments.len() > 4 {
            rule.1.iter().for_each(|line| println!("{line}"));
        }
    }
}
