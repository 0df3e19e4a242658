//! Which radios hear a frame, and at which power.

use airbound_lab::channel::{Command, EVENT_SIZE, Event, Frame, Step};
use airbound_lab::medium::Medium;
use airbound_scenario::{Overrides, Scenario};
use airbound_units::Instant;

use crate::driver::{HT, data_frame, us};

const HOME: u16 = 5180;
const ELSEWHERE: u16 = 5200;

/// The medium of an access point with a station at 40 dB and one at 10 dB.
fn medium() -> Medium {
    let text = r#"
duration = "1 s"
[air]
standard = "ht"
width = "20 MHz"
[scheme]
queue = "linux"
[[station]]
name = "near"
channel = { kind = "fixed", snr = "40 dB" }
[[station]]
name = "far"
channel = { kind = "fixed", snr = "10 dB" }
[[flow]]
name = "stream"
kind = "voip"
station = "near"
"#;
    let scenario = Scenario::parse(text, "test", &Overrides::none()).expect("a scenario");
    Medium::new(&scenario, 1, Instant::ZERO).expect("a medium")
}

fn frame(to: u8, cookie: u32, at: Instant) -> Event {
    let rate = Step { index: 7, tries: 4, flags: HT };
    Event::Frame(Box::new(data_frame((0, to), cookie, at, 0, (1536, [rate, Step::NONE]))))
}

fn beacon(cookie: u32, at: Instant) -> Event {
    let rate = Step { index: 0, tries: 1, flags: 0 };
    let one = data_frame((0, 255), cookie, at, 0, (300, [rate, Step::NONE]));
    let mut head = one.head;
    head[0] = 0x80;
    head[4..10].fill(255);
    Event::Frame(Box::new(Frame { beacon: true, no_ack: true, aggregates: false, queue: 0, head, ..one }))
}

/// Receivers and power of a delivery.
type Heard = (u64, i8);
/// Tries of a frame, and whether it was acknowledged.
type Done = (u8, bool);

/// Advances the medium, and lists deliveries and completions.
fn fate(medium: &mut Medium, until: u64) -> (Vec<Heard>, Vec<Done>) {
    medium.advance(us(until));
    let (mut heard, mut done) = (Vec::new(), Vec::new());
    for command in medium.take_commands() {
        match command {
            Command::Deliver { receivers, signal, .. } => heard.push((receivers, signal)),
            Command::Done { acked, rates, .. } => done.push((rates[0].tries, acked)),
            _ => {}
        }
    }
    (heard, done)
}

#[test]
fn who_is_on_another_channel_hears_nothing_and_acknowledges_nothing() {
    let mut medium = medium();
    for radio in 0..3 {
        medium.on_event(Event::Tuned { radio, at: us(10), frequency: HOME });
    }
    medium.on_event(frame(1, 1, us(1000)));
    assert_eq!(fate(&mut medium, 20_000), (vec![(0b010, -54)], vec![(1, true)]));
    // The access point's frame to a station that scans is tried as often as the chain says, and given up.
    medium.on_event(Event::Tuned { radio: 1, at: us(20_000), frequency: ELSEWHERE });
    medium.on_event(frame(1, 2, us(20_100)));
    assert_eq!(fate(&mut medium, 60_000), (vec![], vec![(4, false)]));
    medium.on_event(beacon(3, us(60_000)));
    let (heard, _) = fate(&mut medium, 70_000);
    assert_eq!(heard, [(0b100, -84)]);
    medium.on_event(Event::Tuned { radio: 1, at: us(70_000), frequency: HOME });
    medium.on_event(frame(1, 4, us(70_100)));
    assert_eq!(fate(&mut medium, 90_000), (vec![(0b010, -54)], vec![(1, true)]));
}

#[test]
fn every_station_hears_a_beacon_at_the_power_of_its_own_link() {
    let mut medium = medium();
    medium.on_event(beacon(1, us(1000)));
    let (mut heard, done) = fate(&mut medium, 20_000);
    heard.sort_unstable();
    // Thermal noise of 20 MHz and a noise figure of 7 dB are -94 dBm.
    assert_eq!((heard, done), (vec![(0b010, -54), (0b100, -84)], vec![(1, true)]));
}

#[test]
fn the_driver_says_in_place_20_to_which_channel_a_radio_moved() {
    let mut raw = [0; EVENT_SIZE];
    (raw[0], raw[1]) = (4, 2);
    raw[8..16].copy_from_slice(&9_000_u64.to_ne_bytes());
    raw[20..22].copy_from_slice(&HOME.to_ne_bytes());
    assert_eq!(Event::read(&raw), Some(Event::Tuned { radio: 2, at: us(9), frequency: HOME }));
}
