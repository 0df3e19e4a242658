//! Arbitrary reports and any order of calls: sensor and allocator stay consistent.

use airbound_senders::allocation::{
    AllocationConfig, Direction, Form, FrameSensor, Observation, Optimum, REPORT_LENGTH, RateAllocator,
    ReceiverId, Report, ReportError, SensorConfig, Share, Stamps, Start, UplinkShaper,
};

use airbound_units::{BitRate, ByteCount, Instant, Span};
use bolero::TypeGenerator;
use proptest::prelude::*;

#[derive(Debug, Clone, TypeGenerator)]
enum Op {
    /// Time passes, or runs backwards.
    Wait(u32),
    Back(u32),
    Join(u8),
    Leave(u8),
    JoinUplink(u8),
    LeaveUplink(u8),
    /// A report as bytes from the network.
    Bytes(u8, Vec<u8>),
    /// A report that a sensor could have written.
    Report {
        station: u8,
        number: u32,
        frames: u32,
        packets: u32,
        kbps: u32,
        slot_us: u32,
        bytes: u32,
        queue: u32,
        uplink_level: u16,
        companions: u16,
    },
    Decide,
}

fn drive(config: AllocationConfig, ops: &[Op]) {
    let mut allocator = RateAllocator::new(config).expect("valid");
    let mut now = Instant::ZERO;
    for op in ops {
        match op {
            Op::Wait(micros) => now += Span::from_micros(u64::from(*micros)),
            Op::Back(micros) => now = now - Span::from_micros(u64::from(*micros)),
            Op::Join(station) => allocator.join(now, ReceiverId(u16::from(*station))),
            Op::Leave(station) => allocator.leave(now, ReceiverId(u16::from(*station))),
            Op::JoinUplink(station) => allocator.join_uplink(now, ReceiverId(u16::from(*station))),
            Op::LeaveUplink(station) => allocator.leave_uplink(now, ReceiverId(u16::from(*station))),
            Op::Bytes(station, bytes) => {
                if let Ok(report) = Report::decode(bytes) {
                    allocator.on_report(now, ReceiverId(u16::from(*station)), &report);
                }
            }
            Op::Report {
                station,
                number,
                frames,
                packets,
                kbps,
                slot_us,
                bytes,
                queue,
                uplink_level,
                companions,
            } => {
                let report = Report {
                    number: *number,
                    slot: Span::from_micros(u64::from(*slot_us)),
                    frames: *frames,
                    packets: *packets,
                    transmissions: packets.saturating_add(*frames),
                    phy_rate: Some(BitRate::from_kbps(u64::from(*kbps))),
                    payload: ByteCount::new(u64::from(*bytes)),
                    uplink_queue: ByteCount::new(u64::from(*queue)),
                    uplink_level: f64::from(*uplink_level) / 256.0,
                    companions: f64::from(*companions) / 256.0,
                    ..Report::default()
                };
                // Even a report that the decoder would refuse.
                allocator.on_report(now, ReceiverId(u16::from(*station)), &report);
            }
            Op::Decide => {
                allocator.on_deadline(now);
            }
        }
        for allocation in allocator.allocations() {
            let mbps = allocation.rate.as_mbps_f64();
            assert!((0.02..=100_000.0).contains(&mbps), "{allocation:?}");
            let rate = match allocation.direction {
                Direction::Down => allocator.rate(allocation.receiver),
                Direction::Up => allocator.uplink_rate(allocation.receiver),
            };
            assert_eq!(allocation.rate, rate);
        }
        assert_eq!(allocator.next_deadline().is_some(), allocator.allocations().next().is_some());
    }
}

fn configurations() -> Vec<AllocationConfig> {
    let mut all = Vec::new();
    for share in [Share::Optimal, Share::EqualAirtime, Share::Printed] {
        for form in [Form::Central, Form::Distributed] {
            for start in [Start::Model, Start::Feedback] {
                all.push(AllocationConfig { share, form, start, ..AllocationConfig::default() });
            }
        }
    }
    all
}

#[test]
fn no_order_of_calls_upsets_the_allocator() {
    bolero::check!().with_type::<Vec<Op>>().for_each(|ops| {
        for config in configurations() {
            drive(config, ops);
        }
    });
}

#[test]
fn no_order_of_calls_upsets_the_shaper_and_no_packet_is_lost_or_overtaken() {
    bolero::check!().with_type::<Vec<(u8, u64, u32)>>().for_each(|ops| {
        let mut shaper = UplinkShaper::new(&AllocationConfig::default());
        let (mut pushed, mut out) = (0_u64, 0_u64);
        for (what, rate, packets) in ops {
            let released = match what % 5 {
                0 => {
                    shaper.set_rate(BitRate::from_bps(*rate));
                    shaper.release()
                }
                1 => shaper.flush(),
                4 => shaper.on_downlink_frame(),
                2 => {
                    shaper.on_frame(*packets, ByteCount::new(rate / 2));
                    let mut report = Report { slot: Span::from_millis(500), ..Report::default() };
                    shaper.complete(&mut report, ByteCount::new(*rate));
                    let read = Report::decode(&report.encode()).expect("passes the parser");
                    assert!(read.uplink(ByteCount::new(1470)).is_none_or(f64::is_finite));
                    continue;
                }
                _ => {
                    shaper.push(pushed);
                    pushed += 1;
                    shaper.release()
                }
            };
            for packet in released {
                assert_eq!(packet, out, "in order");
                out += 1;
            }
            assert_eq!(shaper.held() as u64, pushed - out);
            assert!((1..=64).contains(&shaper.bunch()) && shaper.held() < shaper.bunch());
        }
    });
}

#[test]
fn any_bytes_are_a_report_or_an_error() {
    airbound_corpus::check!(Vec<u8>, |bytes| {
        if let Ok(report) = Report::decode(bytes) {
            assert_eq!(Report::decode(&report.encode()), Ok(report));
        }
    });
}

#[test]
fn no_order_of_packets_upsets_the_sensor() {
    bolero::check!().with_type::<(bool, Vec<(u16, u64, bool, u16)>)>().for_each(|(jittered, packets)| {
        let stamps = if *jittered { Stamps::Jittered } else { Stamps::Exact };
        let mut sensor = FrameSensor::new(AllocationConfig::default().sensor(stamps)).expect("valid");
        let mut at = Instant::ZERO;
        for (later, sequence, back, payload) in packets {
            let step = Span::from_micros(u64::from(*later));
            at = if *back { at - step } else { at + step };
            sensor.on_packet(&Observation {
                at,
                packets: 1,
                sequence: *sequence,
                payload: ByteCount::new(u64::from(*payload)),
                rate: Some(BitRate::from_mbps(u64::from(*later))),
            });
            sensor.on_companions(at - step, u32::from(*payload));
            if let Some(report) = sensor.on_deadline(at) {
                let read = Report::decode(&report.encode()).expect("a sensor's report passes the parser");
                assert_eq!((read.frames, read.transmissions), (report.frames, report.transmissions));
            }
        }
    });
}

#[test]
fn errors_say_what_is_wrong() {
    let bytes = Report { slot: Span::from_millis(500), ..Report::default() }.encode();
    assert!(Report::decode(&bytes).is_ok());
    assert_eq!(Report::decode(&[]), Err(ReportError::Length(0)));
    assert_eq!(Report::decode(&[1; REPORT_LENGTH + 1]), Err(ReportError::Length(61)));
    let mut wrong = bytes;
    wrong[0] = 9;
    assert_eq!(
        Report::decode(&wrong).expect_err("version").to_string(),
        "the report has version 9; this program reads version 1"
    );
    let mut wrong = bytes;
    wrong[1] = 4;
    assert_eq!(Report::decode(&wrong), Err(ReportError::Flags(4)));
    let odd =
        Report { slot: Span::from_millis(500), frames: 5, transmissions: 4, packets: 4, ..Report::default() };
    assert!(matches!(Report::decode(&odd.encode()), Err(ReportError::Impossible(_))));
}

proptest! {
    /// Frames of known sizes with known losses are reconstructed for any losses, each of which is retransmitted in the next frame.
    #[test]
    fn frames_are_reconstructed(sizes in prop::collection::vec(2_u32..40, 30..60), losses in prop::collection::vec(0.0..1.0_f64, 64), rate in 0.0..0.3_f64) {
        let mut sensor = FrameSensor::new(SensorConfig::default()).expect("valid");
        let mut found = Vec::new();
        let (mut next, mut pending): (u64, Vec<u64>) = (0, Vec::new());
        let mut truth = Vec::new();
        let mut draw = 0;
        for (number, size) in sizes.iter().enumerate() {
            let at = Instant::ZERO + Span::from_millis(number as u64);
            let mut frame: Vec<u64> = std::mem::take(&mut pending);
            let repeated = next;
            let new = size.saturating_sub(frame.len() as u32).max(1);
            frame.extend(next..next + u64::from(new));
            next += u64::from(new);
            truth.push(frame.len() as u32);
            let last = *frame.last().expect("not empty");
            for sequence in frame {
                draw += 1;
                // A loss at a frame's end, or a repeated one, cannot be distinguished from a packet never sent.
                if number > 0 && sequence >= repeated && sequence != last && losses[draw % losses.len()] < rate {
                    pending.push(sequence);
                    continue;
                }
                let payload = ByteCount::new(1000);
                found.extend(sensor.on_packet(&Observation { at, sequence, packets: 1, payload, rate: None }));
            }
        }
        prop_assert!(found.len() + 20 > truth.len());
        for (frame, level) in found.iter().zip(&truth) {
            prop_assert_eq!(frame.level(), *level);
        }
    }

    #[test]
    fn reports_survive_the_wire(frames in 1_u32..10_000, more in 0_u32..10_000, kbps in 1_u64..10_000_000, level in 0.0..200.0_f64) {
        // No frame holds more than 1024.
        let more = more.min(frames * 1023);
        let report = Report {
            number: 7,
            slot: Span::from_millis(500),
            frames,
            packets: frames + more,
            transmissions: frames + more,
            payload: ByteCount::new(u64::from(frames) * 1000),
            phy_rate: Some(BitRate::from_kbps(kbps)),
            spread: level,
            ..Report::default()
        };
        let read = Report::decode(&report.encode()).expect("valid");
        prop_assert!((read.spread - report.spread).abs() <= 1.0 / 512.0);
        prop_assert_eq!(Report { spread: 0.0, ..read }, Report { spread: 0.0, ..report });
    }
}

/// A network that behaves exactly according to lemma 2, with a report of each station in each interval.
struct Ideal {
    allocator: RateAllocator,
    phys: Vec<f64>,
    overhead: f64,
    now: Instant,
    number: u32,
}

impl Ideal {
    fn new(config: AllocationConfig, mbps: &[f64]) -> Self {
        let mut allocator = RateAllocator::new(config).expect("valid");
        (0..mbps.len()).for_each(|station| allocator.join(Instant::ZERO, ReceiverId(station as u16)));
        let phys = mbps.iter().map(|rate| rate * 1e6).collect();
        Self { allocator, phys, overhead: 250e-6, now: Instant::ZERO, number: 0 }
    }

    fn downlink(&self) -> airbound_senders::allocation::Downlink {
        let w = self.phys.iter().map(|phy| 1544.0 * 8.0 / phy).collect();
        airbound_senders::allocation::Downlink::new(self.overhead, w).expect("positive")
    }

    fn rates(&self) -> Vec<f64> {
        self.allocator.allocations().map(|allocation| allocation.rate.as_bps() as f64 / 11_760.0).collect()
    }

    fn levels(&self) -> Vec<f64> {
        self.downlink().projected_levels(&self.rates(), 64.0)
    }

    fn step(&mut self) {
        let Some(next) = self.allocator.next_deadline() else { return };
        let slot = next - self.now;
        self.now = next;
        let levels = self.levels();
        for (place, level) in levels.into_iter().enumerate() {
            let report = Report {
                number: self.number,
                slot,
                frames: 1000,
                transmissions: (level * 1000.0).round() as u32,
                packets: (level * 1000.0).round() as u32,
                phy_rate: Some(BitRate::from_bps_f64(self.phys[place])),
                payload: ByteCount::new((self.rates()[place] * 1470.0 * slot.as_secs_f64()) as u64),
                ..Report::default()
            };
            self.allocator.on_report(self.now, ReceiverId(place as u16), &report);
        }
        self.number += 1;
        self.allocator.on_deadline(self.now);
    }
}

#[test]
fn each_form_and_share_settles_where_the_theory_says() {
    for config in configurations() {
        let mut network = Ideal::new(config, &[100.0, 390.0, 780.0]);
        (0..3000).for_each(|_| network.step());
        let downlink = network.downlink();
        let expected = match config.share {
            Share::Optimal => {
                Optimum::of(&downlink, 32.0, airbound_senders::allocation::Utility::Proportional)
                    .expect("an optimum")
                    .rates
            }
            Share::EqualAirtime => {
                downlink.equal_airtime(32.0, airbound_senders::allocation::Regulated::Fastest)
            }
            // Its faster stations exceed the largest frame, where the ideal network saturates.
            Share::Printed => continue,
        };
        for (rate, expected) in network.rates().iter().zip(&expected) {
            assert!((rate / expected - 1.0).abs() < 0.02, "{config:?}: {:?} {expected:?}", network.rates());
        }
    }
}

/// A network whose stations send too: all links have their turn in each round, as in lemma 2, and the last reports a longer queue.
#[test]
fn uplinks_count_as_further_links_of_the_same_round() {
    for (share, queue) in [(Share::Optimal, 0), (Share::EqualAirtime, 0), (Share::Optimal, 1470 * 48)] {
        let config = AllocationConfig { share, ..AllocationConfig::default() };
        let mut allocator = RateAllocator::new(config).expect("valid");
        let mbps = [780.0, 780.0, 390.0];
        for station in (0..3).map(ReceiverId) {
            allocator.join(Instant::ZERO, station);
            allocator.join_uplink(Instant::ZERO, station);
        }
        let w = mbps.iter().flat_map(|rate| [1544.0 * 8.0 / (rate * 1e6); 2]).collect();
        let round = airbound_senders::allocation::Downlink::new(250e-6, w).expect("positive");
        let packets = |allocator: &RateAllocator| {
            let rates = allocator.allocations().map(|one| one.rate.as_bps() as f64 / 11_760.0);
            rates.collect::<Vec<f64>>()
        };
        let mut now = Instant::ZERO;
        for number in 0..2000 {
            let next = allocator.next_deadline().expect("stations");
            let (slot, levels) = (next - now, round.projected_levels(&packets(&allocator), 64.0));
            now = next;
            for (station, level) in levels.chunks(2).enumerate() {
                let report = Report {
                    number,
                    slot,
                    frames: 1000,
                    transmissions: (level[0] * 1000.0).round() as u32,
                    packets: (level[0] * 1000.0).round() as u32,
                    phy_rate: Some(BitRate::from_bps_f64(mbps[station] * 1e6)),
                    payload: ByteCount::new(
                        (packets(&allocator)[2 * station] * 1470.0 * slot.as_secs_f64()) as u64,
                    ),
                    uplink_level: level[1],
                    uplink_queue: ByteCount::new(queue),
                    ..Report::default()
                };
                allocator.on_report(now, ReceiverId(station as u16), &report);
            }
            allocator.on_deadline(now);
        }
        if queue > 0 {
            let total: f64 = packets(&allocator).iter().sum();
            assert!(total < 50.0, "a queue that stays takes all rates down: {total}");
            continue;
        }
        let expected = match share {
            Share::Optimal => {
                let utility = airbound_senders::allocation::Utility::Proportional;
                Optimum::of(&round, 32.0, utility).expect("an optimum").rates
            }
            _ => round.equal_airtime(32.0, airbound_senders::allocation::Regulated::Fastest),
        };
        for (rate, expected) in packets(&allocator).iter().zip(&expected) {
            assert!(
                (rate / expected - 1.0).abs() < 0.02,
                "{share:?}: {:?} {expected:?}",
                packets(&allocator)
            );
        }
        allocator.leave(now, ReceiverId(0));
        allocator.leave_uplink(now, ReceiverId(0));
        assert_eq!(allocator.allocations().count(), 4);
    }
}

#[test]
fn a_start_from_the_model_is_fast_and_does_not_overshoot() {
    for mbps in [vec![780.0], vec![780.0; 8], vec![58.5, 390.0, 780.0]] {
        let config = AllocationConfig { share: Share::EqualAirtime, ..AllocationConfig::default() };
        let mut network = Ideal::new(config, &mbps);
        let settled =
            network.downlink().equal_airtime(32.0, airbound_senders::allocation::Regulated::Fastest);
        let mut most: f64 = 0.0;
        while network.now < Instant::ZERO + Span::from_secs(1) {
            network.step();
            most = most.max(network.rates()[0] / settled[0]);
        }
        assert!((network.rates()[0] / settled[0] - 1.0).abs() < 0.1, "{mbps:?}: {:?}", network.rates());
        assert!(most < 1.2, "{mbps:?}: {most}");
    }
}

#[test]
fn the_gain_is_stable_up_to_the_critical_one() {
    let settle = |factor: f64| {
        let config = AllocationConfig {
            steady: false,
            share: Share::EqualAirtime,
            start: Start::Feedback,
            ..AllocationConfig::default()
        };
        let network = Ideal::new(config, &[780.0]);
        let rates = network.downlink().equal_airtime(32.0, airbound_senders::allocation::Regulated::Fastest);
        let critical = network.downlink().critical_gain(&rates).expect("feasible") * 11_760.0 / 1e6;
        let mut network = Ideal::new(AllocationConfig { gain: critical * factor, ..config }, &[780.0]);
        (0..400).for_each(|_| network.step());
        let levels: Vec<f64> = (0..20)
            .map(|_| {
                network.step();
                network.levels()[0]
            })
            .collect();
        levels.iter().map(|level| (level - 32.0).abs()).fold(0.0, f64::max)
    };
    assert!(settle(0.9) < 0.1, "{}", settle(0.9));
    assert!(settle(1.1) > 5.0, "{}", settle(1.1));
}

#[test]
fn silence_takes_the_rate_and_then_the_place() {
    let mut network = Ideal::new(AllocationConfig::default(), &[390.0, 780.0]);
    (0..200).for_each(|_| network.step());
    let before = network.rates();
    let (mut allocator, mut now, mut number) = (network.allocator, network.now, network.number);
    let mut quiet = |seconds: u64, now: &mut Instant| {
        let end = *now + Span::from_secs(seconds);
        while let Some(next) = allocator.next_deadline().filter(|next| *next <= end) {
            *now = next;
            number += 1;
            let report = Report {
                number,
                slot: Span::from_millis(500),
                frames: 100,
                transmissions: 3200,
                packets: 3200,
                phy_rate: Some(BitRate::from_mbps(780)),
                payload: ByteCount::new(1_000_000),
                ..Report::default()
            };
            allocator.on_report(next, ReceiverId(1), &report);
            allocator.on_deadline(next);
        }
        allocator.allocations().collect::<Vec<_>>()
    };
    let after = quiet(4, &mut now);
    assert!(after[0].rate.as_bps() as f64 / 11_760.0 < before[0] / 2.0, "halved while silent");
    assert_eq!(quiet(10, &mut now).len(), 1, "forgotten after 10 s");
}

#[test]
fn a_late_report_is_refused() {
    let mut allocator = RateAllocator::new(AllocationConfig::default()).expect("valid");
    allocator.join(Instant::ZERO, ReceiverId(1));
    let report = |number| Report { number, slot: Span::from_millis(500), ..Report::default() };
    allocator.on_report(Instant::ZERO, ReceiverId(1), &report(u32::MAX));
    allocator.on_report(Instant::ZERO, ReceiverId(1), &report(2));
    assert_eq!(allocator.refused(), 0, "numbers wrap");
    allocator.on_report(Instant::ZERO, ReceiverId(1), &report(1));
    allocator.on_report(Instant::ZERO, ReceiverId(2), &report(3));
    assert_eq!(allocator.refused(), 2);
}

#[test]
fn probes_of_a_rate_control_do_not_lower_the_level() {
    let mut sensor =
        FrameSensor::new(SensorConfig { lively: Span::ZERO, ..SensorConfig::default() }).expect("valid");
    let mut sequence = 0;
    for frame in 0..200_u64 {
        let at = Instant::ZERO + Span::from_millis(frame);
        let (size, mbps) = if frame % 2 == 0 { (32, 390) } else { (1, 433) };
        for _ in 0..size {
            let (payload, rate) = (ByteCount::new(1000), Some(BitRate::from_mbps(mbps)));
            sensor.on_packet(&Observation { at, sequence, packets: 1, payload, rate });
            sequence += 1;
        }
    }
    let report = sensor.on_deadline(Instant::ZERO + Span::from_millis(500)).expect("due");
    assert_eq!(report.level(), Some(32.0));
    assert!((report.phy_rate.expect("seen").as_mbps_f64() - 391.2).abs() < 1.0);
}
