//! Driver events replayed through the medium, with golden listings of its commands and rows.
//!
//! Intended changes are accepted with `INSTA_UPDATE=always cargo test -p airbound-lab --test all replay`, and reviewed like code.

use std::fmt::Write;

use airbound_lab::channel::{Command, Event, Frame, Step};
use airbound_lab::log::{NONE, Row};
use airbound_lab::medium::Medium;
use airbound_scenario::{Overrides, Scenario};
use airbound_units::Instant;

use crate::driver::{HT, data_frame, us};

const VHT: u8 = 2;
const RTS: u8 = 0x20;

/// Three stations at 12, 20 and 30 dB.
fn scenario(air: &str) -> Scenario {
    let stations = [12, 20, 30].map(|snr| {
        format!("[[station]]\nname = \"s{snr}\"\nchannel = {{ kind = \"fixed\", snr = \"{snr} dB\" }}\n")
    });
    let text = format!(
        "duration = \"1 s\"\n[scheme]\nqueue = \"linux\"\n[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\n{air}\n{}\
         [[flow]]\nname = \"stream\"\nkind = \"voip\"\nstation = \"s12\"\n",
        stations.concat()
    );
    Scenario::parse(&text, "test", &Overrides::none()).expect("a scenario")
}

/// Pseudo-random numbers: a linear congruential generator (Knuth's MMIX).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// A frame of 1500 B of UDP from one radio to another, at MCS 4 and then at the lowest rate.
fn frame(from: u8, to: u8, cookie: u32, micros: u64) -> Frame {
    let chain = [Step { index: 4, tries: 3, flags: HT }, Step { index: 0, tries: 2, flags: HT }];
    let mut frame = data_frame((from, to), cookie, us(micros), cookie as u16 & 0xfff, (1536, chain));
    frame.queued = us(micros.saturating_sub(500));
    let head = &mut frame.head;
    // LLC and SNAP, IPv4 with its length, UDP to the first port of flows, the datagram's number.
    head[26..34].copy_from_slice(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
    head[34] = 0x45;
    head[36..38].copy_from_slice(&1500u16.to_be_bytes());
    head[43] = 17;
    head[56..58].copy_from_slice(&(airbound_lab::plan::FIRST_PORT + u16::from(to)).to_be_bytes());
    head[66..70].copy_from_slice(&cookie.to_be_bytes());
    frame
}

fn chain(rates: &[Step; 4]) -> String {
    let steps = rates.iter().filter(|step| step.index >= 0);
    steps.map(|step| format!("{}:{}x{}", step.flags, step.index, step.tries)).collect::<Vec<_>>().join(",")
}

fn number(value: u64) -> String {
    if value == NONE { "-".to_owned() } else { value.to_string() }
}

fn ns(at: Instant) -> String {
    number(at.as_nanos())
}

fn write_command(text: &mut String, at: Instant, command: &Command) {
    let at = ns(at);
    let _ = match command {
        Command::Alarm(alarm) => writeln!(text, "{at} alarm at {}", ns(*alarm)),
        Command::Deliver { radio, cookie, receivers, signal, rate, .. } => {
            let rate = chain(&[*rate, Step::NONE, Step::NONE, Step::NONE]);
            writeln!(
                text,
                "{at} deliver radio={radio} cookie={cookie} receivers={receivers:x} dBm={signal} rate={rate}"
            )
        }
        Command::Done { radio, cookie, acked, rates } => {
            writeln!(text, "{at} done radio={radio} cookie={cookie} acked={acked} rates={}", chain(rates))
        }
        Command::Ppdu { radio, peer, tid, ampdu, airtime, mpdus, acked, rates } => {
            let rates = chain(rates);
            writeln!(
                text,
                "{at} ppdu radio={radio} peer={} tid={tid} ampdu={ampdu} us={airtime} acked={acked}/{mpdus} rates={rates}",
                peer[4]
            )
        }
        Command::Survey { radio, busy, own } => {
            writeln!(text, "{at} survey radio={radio} busy={busy} own={own}")
        }
    };
}

fn write_row(text: &mut String, row: &Row) {
    let _ = match row {
        Row::Txop(row) => writeln!(
            text,
            "  txop {} radio={} peer={} category={} data={} contending={} start={} end={} b/s={} acked={}/{} bytes={} transmitters={}",
            row.txop,
            row.radio,
            number(row.peer),
            row.category,
            row.data,
            ns(row.contending),
            ns(row.start),
            ns(row.end),
            row.rate,
            row.acked,
            row.mpdus,
            row.size,
            row.transmitters
        ),
        Row::Mpdu(row) => writeln!(
            text,
            "  mpdu flow={} number={} station={} category={} bytes={} queued={} handed={} contending={} first={} last={} \
             received={} completed={} tries={} txop={}",
            number(row.flow),
            number(row.number),
            row.station,
            row.category,
            row.size,
            ns(row.queued),
            ns(row.handed),
            ns(row.contending),
            ns(row.first_tx),
            ns(row.last_tx),
            ns(row.received),
            ns(row.completed),
            row.tries,
            row.txop
        ),
        other => writeln!(text, "  {other:?}"),
    };
}

/// Feeds the events in order of time, and lists the commands and rows of the medium until 200 ms after the last event.
fn replay(air: &str, seed: u64, events: &[(u64, Event)]) -> String {
    let mut medium = Medium::new(&scenario(air), seed, Instant::ZERO).expect("a medium");
    let mut text = String::new();
    let mut drain = |medium: &mut Medium, now: Instant| {
        medium.take_commands().iter().for_each(|command| write_command(&mut text, now, command));
        medium.take_rows().iter().for_each(|row| write_row(&mut text, row));
    };
    let mut until = |medium: &mut Medium, end: Instant| {
        while medium.next_deadline() < end {
            let now = medium.next_deadline();
            medium.advance(now);
            drain(medium, now);
        }
    };
    let mut last = 0;
    for (micros, event) in events {
        assert!(*micros >= last, "events are in order");
        last = *micros;
        until(&mut medium, us(last));
        medium.on_event(event.clone());
    }
    until(&mut medium, us(last + 200_000));
    medium.close();
    drain(&mut medium, us(last + 200_000));
    text
}

fn data(frame: Frame) -> (u64, Event) {
    (frame.at.as_nanos() / 1000, Event::Frame(Box::new(frame)))
}

fn golden(name: &str, air: &str, seed: u64, events: &[(u64, Event)]) {
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, replay(air, seed, events));
    });
}

#[test]
fn aggregates_to_stations_of_different_quality() {
    let mut dice = Dice(1);
    let events: Vec<_> = (0..60)
        .map(|cookie| {
            let mut one = frame(0, 1 + (cookie % 3) as u8, cookie, 1000 + 120 * u64::from(cookie));
            one.length = 200 + dice.roll(1336) as u16;
            one.probe = dice.roll(9) == 0;
            one.rates[0].index = dice.roll(8) as i8;
            data(one)
        })
        .collect();
    golden("aggregates", "", 1, &events);
}

#[test]
fn stations_contend_and_collide() {
    let mut dice = Dice(2);
    let events: Vec<_> = (0..48)
        .map(|cookie| {
            let burst = u64::from(cookie / 4);
            let mut one =
                frame((cookie % 4) as u8, if cookie % 4 == 0 { 3 } else { 0 }, cookie, 1000 + 2500 * burst);
            one.queue = dice.roll(4) as u8;
            one.aggregates = dice.roll(4) != 0;
            data(one)
        })
        .collect();
    golden("contention", "", 2, &events);
}

#[test]
fn rts_goes_before_long_and_before_marked_frames() {
    let events: Vec<_> = (0..24)
        .map(|cookie| {
            let mut one = frame(
                u8::from(cookie % 5 == 0),
                if cookie % 5 == 0 { 0 } else { 3 },
                cookie,
                1000 + 400 * u64::from(cookie),
            );
            one.length = if cookie % 2 == 0 { 300 } else { 1536 };
            one.aggregates = cookie % 3 == 0;
            one.rates[0].flags |= if cookie % 4 == 0 { RTS } else { 0 };
            data(one)
        })
        .collect();
    golden("rts", "rts-threshold = \"1000 B\"", 3, &events);
}

#[test]
fn beacons_group_frames_and_frames_without_acknowledgement() {
    let events: Vec<_> = (0..24)
        .map(|cookie| {
            let mut one = frame(0, 1, cookie, 1000 + 300 * u64::from(cookie));
            one.aggregates = false;
            one.rates[0] = Step { index: (cookie % 3) as i8, tries: 1, flags: 0 };
            match cookie % 4 {
                0 => {
                    (one.beacon, one.no_ack, one.length, one.head[0], one.head[4]) =
                        (true, true, 250, 0x80, 0xff)
                }
                1 => (one.no_ack, one.head[4]) = (true, 0xff),
                2 => one.no_ack = true,
                _ => {}
            }
            data(one)
        })
        .collect();
    golden("group", "", 4, &events);
}

#[test]
fn opportunities_are_continued_within_their_limit() {
    let mut events = vec![
        (10, Event::Edca { radio: 0, queue: 0, aifsn: 1, cw_min: 3, cw_max: 7, txop: 47 }),
        (10, Event::Edca { radio: 0, queue: 1, aifsn: 1, cw_min: 7, cw_max: 15, txop: 94 }),
        (10, Event::Edca { radio: 2, queue: 1, aifsn: 2, cw_min: 7, cw_max: 15, txop: 94 }),
    ];
    events.extend((0..48).map(|cookie| {
        let mut one = frame(
            if cookie % 6 == 5 { 2 } else { 0 },
            if cookie % 6 == 5 { 0 } else { 2 },
            cookie,
            1000 + 60 * u64::from(cookie),
        );
        one.queue = u8::from(cookie % 2 == 1 || cookie % 6 == 5);
        one.aggregates = cookie < 24;
        one.length = if cookie % 3 == 0 { 300 } else { 1536 };
        data(one)
    }));
    golden("txop", "", 5, &events);
}

#[test]
fn frames_not_received_are_retried_and_given_up() {
    let events: Vec<_> = (0..18)
        .map(|cookie| {
            // MCS 7 at 12 dB; radio 9 does not exist.
            let mut one = frame(0, if cookie == 17 { 9 } else { 1 }, cookie, 1000 + 100 * u64::from(cookie));
            one.most_tries = [0, 3, 1][cookie as usize % 3];
            one.aggregates = cookie < 12;
            one.rates[0] = Step { index: 7, tries: 4, flags: HT };
            one.rates[1] = Step { index: 5, tries: 2, flags: HT };
            data(one)
        })
        .collect();
    golden("retries", "", 6, &events);
}

#[test]
fn everything_at_once() {
    let mut dice = Dice(7);
    let mut at = 1000;
    let events: Vec<_> = (0..160)
        .map(|cookie| {
            at += [0, 1, 50, 200, 900][dice.roll(5) as usize];
            let from = dice.roll(4) as u8;
            let mut one = frame(from, (from + 1 + dice.roll(3) as u8) % 4, cookie, at);
            one.queue = dice.roll(4) as u8;
            one.length = 100 + dice.roll(1436) as u16;
            one.aggregates = dice.roll(3) != 0;
            one.probe = dice.roll(8) == 0;
            one.most_tries = if dice.roll(6) == 0 { 2 } else { 0 };
            let flags = [HT, VHT, 0, HT | RTS, VHT | RTS][dice.roll(5) as usize];
            one.rates[0] = Step { index: dice.roll(8) as i8, tries: 1 + dice.roll(4) as u8, flags };
            if dice.roll(10) == 0 {
                (one.aggregates, one.no_ack, one.head[4]) = (false, true, 0xff);
            }
            data(one)
        })
        .collect();
    golden("everything", "rts-threshold = \"1400 B\"", 7, &events);
}
