//! The medium without a kernel: timing of exchanges, and completion of every frame.

use airbound_lab::channel::{COMMAND_SIZE, Command, EVENT_SIZE, Event, Frame, Step};
use airbound_lab::log::Row;
use airbound_lab::medium::Medium;
use airbound_scenario::{Overrides, Scenario};
use airbound_units::{Instant, Span};
use proptest::prelude::*;

use crate::driver::{HT, data_frame, us};

const VHT: u8 = 2;

fn scenario(snr: &str) -> Scenario {
    scenario_with(snr, "\"linux\"")
}

fn scenario_with(snr: &str, queue: &str) -> Scenario {
    let text = format!(
        r#"
duration = "1 s"
[air]
standard = "ht"
width = "20 MHz"
[scheme]
queue = {queue}
[[station]]
name = "a"
count = 3
channel = {{ kind = "fixed", snr = "{snr}" }}
[[flow]]
name = "stream"
kind = "voip"
station = "a-1"
"#
    );
    Scenario::parse(&text, "test", &Overrides::none()).expect("a scenario")
}

/// A frame from one radio to another, at MCS 7 and then at MCS 6.
fn frame(from: u8, to: u8, cookie: u32, at: Instant, sequence: u16) -> Frame {
    let chain = Step { index: 7, tries: 4, flags: HT };
    data_frame((from, to), cookie, at, sequence, (1536, [chain, Step { index: 6, ..chain }]))
}

#[test]
fn a_single_frame_takes_the_time_of_its_exchange() {
    let mut medium = Medium::new(&scenario("40 dB"), 1, Instant::ZERO).expect("a medium");
    medium.on_event(Event::Frame(Box::new(frame(0, 1, 9, us(1000), 0))));
    medium.advance(us(5000));
    let rows = medium.take_rows();
    let Some(Row::Txop(txop)) = rows.iter().find(|row| matches!(row, Row::Txop(_))) else {
        panic!("no transmission in {rows:?}")
    };
    // The channel was idle, so it is sent at once. 36 us of preamble (802.11n, one stream), 1536 B and 22 bits of service and tail at
    // 260 bits a symbol are 48 symbols, SIFS, and an ACK at 24 Mb/s of 28 us.
    assert_eq!(txop.start, us(1000));
    assert_eq!(txop.end, us(1000 + 36 + 48 * 4 + 16 + 28));
    let commands = medium.take_commands();
    assert!(commands.iter().any(|one| matches!(one, Command::Deliver { cookie: 9, receivers: 2, .. })));
    assert!(commands.iter().any(|one| matches!(one, Command::Done { cookie: 9, acked: true, .. })));
    assert!(commands.iter().any(|one| matches!(one, Command::Ppdu { mpdus: 1, acked: 1, airtime: 272, .. })));
}

#[test]
fn a_single_frame_of_vht_is_an_aggregate_of_one_that_is_acknowledged_alone() {
    let mut medium = Medium::new(&scenario("40 dB"), 1, Instant::ZERO).expect("a medium");
    let one = frame(0, 1, 9, us(1000), 0);
    let rates = one.rates.map(|step| Step { flags: VHT, ..step });
    medium.on_event(Event::Frame(Box::new(Frame { rates, length: 1524, ..one })));
    medium.advance(us(5000));
    let rows = medium.take_rows();
    let Some(Row::Txop(txop)) = rows.iter().find(|row| matches!(row, Row::Txop(_))) else {
        panic!("no transmission in {rows:?}")
    };
    // 40 us of preamble (802.11-2020, 21.3.2, one stream), then 1524 B, their delimiter of 4 B and 22 bits of service and tail: 48
    // symbols of 260 bits; the frame alone would fit into 47. SIFS, and an ACK at 24 Mb/s.
    assert_eq!((txop.size, txop.rate), (1528, 65_000_000));
    assert_eq!(txop.end, us(1000 + 40 + 48 * 4 + 16 + 28));
    let commands = medium.take_commands();
    let heard =
        |one: &Command| matches!(one, Command::Deliver { rate: Step { index: 7, flags: VHT, .. }, .. });
    assert!(commands.iter().any(heard), "{commands:?}");
}

#[test]
fn frames_that_wait_share_an_aggregate_within_the_standards_limits() {
    let mut medium = Medium::new(&scenario("40 dB"), 1, Instant::ZERO).expect("a medium");
    for number in 0..101 {
        medium.on_event(Event::Frame(Box::new(frame(0, 1, u32::from(number), us(1000), number))));
    }
    medium.advance(us(100_000));
    let sizes: Vec<u64> = medium
        .take_rows()
        .iter()
        .filter_map(|row| if let Row::Txop(txop) = row { Some(txop.mpdus) } else { None })
        .collect();
    // 5.484 ms at 58.5 Mb/s, the slowest step, hold 25 of 1540 B, fewer than 65 535 B do.
    assert_eq!(sizes, [25, 25, 25, 25, 1]);
}

#[test]
fn a_frame_is_received_as_its_subframe_ends_while_the_aggregate_goes_on() {
    let mut medium = Medium::new(&scenario("40 dB"), 1, Instant::ZERO).expect("a medium");
    for number in 0..2 {
        medium.on_event(Event::Frame(Box::new(frame(0, 1, u32::from(number), us(1000), number))));
    }
    let heard = |medium: &mut Medium, until| {
        medium.advance(us(until));
        let commands = medium.take_commands();
        let delivered = commands.iter().filter(|one| matches!(one, Command::Deliver { .. })).count();
        (delivered, commands.iter().filter(|one| matches!(one, Command::Done { .. })).count())
    };
    // 36 us of preamble; 16 bits of service and 1540 B end in symbol 48, twice as many bytes in symbol 95. A block acknowledgement of 32 B
    // at 24 Mb/s takes 32 us behind SIFS.
    assert_eq!(heard(&mut medium, 1000 + 36 + 48 * 4 - 1), (0, 0));
    assert_eq!(heard(&mut medium, 1000 + 36 + 48 * 4), (1, 0));
    assert_eq!(medium.next_deadline(), us(1000 + 36 + 95 * 4));
    assert_eq!(heard(&mut medium, 1000 + 36 + 95 * 4), (1, 0));
    assert_eq!(heard(&mut medium, 1000 + 36 + 95 * 4 + 16 + 32), (0, 2));
}

#[test]
fn the_frames_of_an_aggregate_have_its_number_and_single_ones_none() {
    let mut medium = Medium::new(&scenario("40 dB"), 1, Instant::ZERO).expect("a medium");
    let mut numbers = Vec::new();
    for (begin, count) in [(1000, 2), (9000, 3), (18_000, 1)] {
        for number in 0..count {
            medium.on_event(Event::Frame(Box::new(frame(
                0,
                1,
                begin + number,
                us(begin.into()),
                number as u16,
            ))));
        }
        medium.advance(us(u64::from(begin) + 5000));
        numbers.extend(medium.take_commands().iter().filter_map(|one| match one {
            Command::Deliver { ampdu, .. } => Some(*ampdu),
            _ => None,
        }));
    }
    assert_eq!(numbers, [1, 1, 2, 2, 2, 0]);
}

#[test]
fn a_rate_probe_is_not_aggregated() {
    let mut medium = Medium::new(&scenario("40 dB"), 1, Instant::ZERO).expect("a medium");
    for number in 0..9 {
        let one = frame(0, 1, u32::from(number), us(1000), number);
        medium.on_event(Event::Frame(Box::new(Frame { probe: number == 4, ..one })));
    }
    medium.advance(us(100_000));
    let rows = medium.take_rows();
    let sizes: Vec<u64> = rows
        .iter()
        .filter_map(|row| if let Row::Txop(txop) = row { Some(txop.mpdus) } else { None })
        .collect();
    assert_eq!(sizes, [4, 1, 4]);
}

#[test]
fn a_station_out_of_range_costs_all_tries() {
    let mut medium = Medium::new(&scenario("-20 dB"), 1, Instant::ZERO).expect("a medium");
    let mut lonely = frame(0, 1, 5, us(1000), 0);
    lonely.aggregates = false;
    medium.on_event(Event::Frame(Box::new(lonely)));
    medium.advance(us(1_000_000));
    let commands = medium.take_commands();
    let done = commands.iter().find_map(|one| match one {
        Command::Done { acked, rates, .. } => Some((*acked, rates.map(|step| step.tries))),
        _ => None,
    });
    assert_eq!(done, Some((false, [4, 4, 0, 0])));
    assert!(!commands.iter().any(|one| matches!(one, Command::Deliver { .. })));
}

#[test]
fn simultaneous_transmissions_collide_and_are_retried() {
    let mut medium = Medium::new(&scenario("40 dB"), 3, Instant::ZERO).expect("a medium");
    for from in [1, 2] {
        medium.on_event(Event::Frame(Box::new(frame(from, 0, 1, us(1000), 0))));
    }
    medium.advance(us(50_000));
    let rows = medium.take_rows();
    let together = rows.iter().filter(|row| matches!(row, Row::Txop(txop) if txop.transmitters == 2)).count();
    assert_eq!(together % 2, 0);
    assert!(together >= 2, "{rows:?}");
    let acked =
        medium.take_commands().iter().filter(|one| matches!(one, Command::Done { acked: true, .. })).count();
    assert_eq!(acked, 2);
}

#[test]
fn commands_have_the_size_that_the_driver_reads() {
    let mut out = Vec::new();
    Command::Alarm(us(1)).write(&mut out);
    assert_eq!(out.len(), COMMAND_SIZE);
    assert_eq!(Event::read(&[9; EVENT_SIZE]), None);
}

#[derive(Debug, Clone)]
enum Operation {
    Frame {
        from: u8,
        to: u8,
        aggregates: bool,
        no_ack: bool,
        beacon: bool,
        group: bool,
        queue: u8,
        rate: i8,
        flags: u8,
        tries: u8,
    },
    Edca {
        radio: u8,
        queue: u8,
        aifsn: u16,
        cw_min: u16,
        cw_max: u16,
        txop: u16,
    },
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => (0u8..6, 0u8..6, any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 0u8..8, any::<i8>(), prop_oneof![Just(HT), Just(VHT), any::<u8>()], any::<u8>()).prop_map(
            |(from, to, aggregates, no_ack, beacon, group, queue, rate, flags, tries)| Operation::Frame {
                from, to, aggregates, no_ack, beacon: beacon && group && no_ack, group, queue, rate, flags, tries,
            }
        ),
        1 => (0u8..6, 0u8..8, any::<u16>(), any::<u16>(), any::<u16>(), any::<u16>())
            .prop_map(|(radio, queue, aifsn, cw_min, cw_max, txop)| Operation::Edca { radio, queue, aifsn, cw_min, cw_max, txop }),
        3 => (0u64..20_000).prop_map(Operation::Wait),
    ]
}

/// Radios and cookies.
type Names = Vec<(u8, u32)>;

/// Plays the steps; returns the commands as bytes, the frames enqueued, and the frames settled.
fn play(steps: &[Operation], seed: u64, queue: &str) -> (Vec<u8>, Names, Names) {
    let mut medium = Medium::new(&scenario_with("12 dB", queue), seed, Instant::ZERO).expect("a medium");
    let (mut bytes, mut handed, mut done) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = us(0);
    let mut collect = |medium: &mut Medium, done: &mut Names| {
        for command in medium.take_commands() {
            if let Command::Done { radio, cookie, .. } = command {
                done.push((radio, cookie));
            }
            command.write(&mut bytes);
        }
    };
    for (cookie, step) in (0u32..).zip(steps) {
        match *step {
            Operation::Frame { from, to, aggregates, no_ack, beacon, group, queue, rate, flags, tries } => {
                let mut one = frame(from, to, cookie, at, cookie as u16 & 0xfff);
                (one.aggregates, one.no_ack, one.beacon, one.queue) = (aggregates, no_ack, beacon, queue);
                one.rates[0] = Step { index: rate, tries, flags };
                one.head[4] |= u8::from(group && !aggregates);
                // Radios above those of the scenario do not exist.
                if from <= 3 {
                    handed.push((from, cookie));
                }
                medium.on_event(Event::Frame(Box::new(one)));
            }
            Operation::Edca { radio, queue, aifsn, cw_min, cw_max, txop } => {
                medium.on_event(Event::Edca { radio, queue, aifsn, cw_min, cw_max, txop });
            }
            Operation::Wait(micros) => {
                at += Span::from_micros(micros);
                medium.advance(at);
            }
        }
        collect(&mut medium, &mut done);
    }
    medium.close();
    collect(&mut medium, &mut done);
    handed.sort_unstable();
    done.sort_unstable();
    (bytes, handed, done)
}

proptest! {
    #[test]
    fn every_frame_is_settled_exactly_once(
        steps in prop::collection::vec(steps(), 0..60),
        seed in any::<u64>(),
        queue in prop_oneof![Just("\"linux\""), Just("{ kind = \"law\", inside = \"fifo\" }")],
    ) {
        let (bytes, handed, done) = play(&steps, seed, queue);
        prop_assert_eq!(handed, done);
        prop_assert_eq!(bytes, play(&steps, seed, queue).0);
    }
}

#[test]
fn a_frame_with_a_limit_is_given_up_after_so_many_tries() {
    // No frame is received; the chain allows eight tries, an aggregate fifteen chains.
    for (limit, aggregates, expected) in [(0, false, 8), (3, false, 3), (3, true, 3), (1, true, 1)] {
        let mut medium = Medium::new(&scenario("-20 dB"), 1, Instant::ZERO).expect("a medium");
        for number in 0..4 {
            let one = frame(0, 1, u32::from(number), us(1000), number);
            medium.on_event(Event::Frame(Box::new(Frame { most_tries: limit, aggregates, ..one })));
        }
        medium.advance(us(2_000_000));
        let tries: Vec<u64> = medium
            .take_rows()
            .iter()
            .filter_map(|row| if let Row::Txop(txop) = row { Some(txop.mpdus) } else { None })
            .collect();
        let transmissions: u64 = tries.iter().sum();
        assert_eq!(transmissions, 4 * expected, "{limit} {aggregates} {tries:?}");
        let done = medium.take_commands().iter().filter(|one| matches!(one, Command::Done { .. })).count();
        assert_eq!(done, 4);
    }
}
