//! Sensor and allocator outside the simulator: kernel stamps, clocks that are set, coalesced packets, senders that send less than they
//! may, receivers that do not know their PHY rate.

use airbound_senders::allocation::{
    AllocationConfig, Bottleneck, FrameSensor, Observation, RateAllocator, ReceiverId, Report, SensorConfig,
    Stamps, Start,
};
use airbound_units::{BitRate, ByteCount, Instant, Span};
use proptest::prelude::*;

const PACKET: ByteCount = ByteCount::new(1470);
const STATION: ReceiverId = ReceiverId(0);

fn at(micros: u64) -> Instant {
    Instant::from_nanos(1_000_000_000_000 + 1000 * micros)
}

fn sensor(stamps: Stamps) -> FrameSensor {
    let config = SensorConfig { interval: Span::from_millis(500), lively: Span::ZERO, stamps };
    FrameSensor::new(config).expect("valid")
}

fn packets(at: Instant, sequence: u64, packets: u32, rate: Option<BitRate>) -> Observation {
    Observation { at, sequence, packets, payload: PACKET * u64::from(packets), rate }
}

/// A network of one station, by lemma 2, in which a frame has at least one packet and at most 64.
struct Air {
    overhead: f64,
    phy: f64,
    number: u32,
}

impl Air {
    fn level(&self, rate: f64) -> f64 {
        let rate = rate / PACKET.bits() as f64;
        let free = 1.0 - rate * (PACKET.bits() + 74 * 8) as f64 / self.phy;
        if free <= 0.0 { 64.0 } else { (self.overhead * rate / free).clamp(1.0, 64.0) }
    }

    /// The report of a slot in which this payload rate was sent.
    fn report(&mut self, sent: f64, slot: Span, phy_rate: Option<BitRate>) -> Report {
        let packets = sent * slot.as_secs_f64() / PACKET.bits() as f64;
        let level = self.level(sent);
        self.number += 1;
        let frames = (packets / level).max(1.0);
        Report {
            number: self.number,
            slot,
            frames: frames as u32,
            packets: packets as u32,
            payload: ByteCount::new((sent * slot.as_secs_f64() / 8.0) as u64),
            transmissions: (packets as u32).max(frames as u32),
            phy_rate,
            ..Report::default()
        }
    }
}

/// Lets an allocator and the air work for some slots; `sent` of the allocated rate is sent. Returns the rates and the bottleneck.
fn run(
    air: &mut Air,
    slots: u64,
    phy: Option<BitRate>,
    sent: impl Fn(f64) -> f64,
    counted: bool,
) -> (Vec<f64>, Bottleneck) {
    let mut allocator = RateAllocator::new(AllocationConfig::default()).expect("valid");
    let mut now = at(0);
    allocator.join(now, STATION);
    let slot = Span::from_millis(500);
    let rates = (0..slots)
        .map(|_| {
            let rate = allocator.rate(STATION).as_bps() as f64;
            let sent = sent(rate);
            now += slot;
            if counted {
                allocator.on_sent(now, STATION, ByteCount::new((sent * slot.as_secs_f64() / 8.0) as u64));
            }
            while let Some(due) = allocator.next_deadline().filter(|due| *due < now) {
                allocator.on_deadline(due);
            }
            allocator.on_report(now, STATION, &air.report(sent, slot, phy));
            allocator.on_deadline(now);
            allocator.rate(STATION).as_bps() as f64
        })
        .collect();
    (rates, allocator.allocations().next().expect("a station").bottleneck)
}

proptest! {
    #[test]
    fn a_lone_station_without_a_phy_rate_reaches_the_target(phy in 30.0..1000.0_f64, overhead in 150e-6..400e-6_f64) {
        let mut air = Air { overhead, phy: phy * 1e6, number: 0 };
        let (rates, _) = run(&mut air, 240, None, |rate| rate, false);
        let levels: Vec<f64> = rates[180..].iter().map(|rate| air.level(*rate)).collect();
        let mean = levels.iter().sum::<f64>() / levels.len() as f64;
        prop_assert!((mean / 32.0 - 1.0).abs() < 0.1, "{mean} at {phy} Mb/s, {overhead} s: {levels:?}");
        prop_assert!(levels.iter().all(|level| (level / 32.0 - 1.0).abs() < 0.5), "{levels:?}");
    }

    #[test]
    fn the_rate_stays_near_what_the_application_sends(own in 2e6..100e6_f64, counted: bool) {
        let mut air = Air { overhead: 214e-6, phy: 450e6, number: 0 };
        let (rates, bottleneck) = run(&mut air, 60, Some(BitRate::from_mbps(450)), |rate| rate.min(own), counted);
        let last = rates[rates.len() - 1];
        if counted {
            prop_assert!((own..=1.5 * own + 1.0).contains(&last), "{last} for {own}");
            prop_assert_eq!(bottleneck, Bottleneck::None);
        } else {
            // What was not sent seems to be lost.
            prop_assert_eq!(bottleneck, Bottleneck::Wire);
        }
    }

    #[test]
    fn coalesced_packets_are_counted_one_by_one(sizes in prop::collection::vec(1u32..64, 10..60)) {
        let (mut whole, mut single) = (sensor(Stamps::Jittered), sensor(Stamps::Jittered));
        let mut sequence = 0;
        for (frame, size) in sizes.iter().enumerate() {
            let at = at(1000 * frame as u64);
            whole.on_packet(&packets(at, sequence, *size, None));
            for place in 0..u64::from(*size) {
                single.on_packet(&packets(at, sequence + place, 1, None));
            }
            sequence += u64::from(*size);
        }
        let end = at(1_000_000);
        let (whole, single) = (whole.on_deadline(end), single.on_deadline(end));
        prop_assert!(whole.is_some());
        prop_assert_eq!(whole, single);
    }

    #[test]
    fn disorder_behind_the_buffer_is_no_loss_on_the_air(swaps in prop::collection::vec(0usize..400, 0..80)) {
        let mut order: Vec<u64> = (0..400).collect();
        for place in &swaps {
            order.swap(*place, (place + 3).min(399));
        }
        // The first number begins the sequence.
        let first = order.iter().position(|number| *number == 0).unwrap_or(0);
        order.swap(0, first);
        let report = |stamps| {
            let mut sensor = sensor(stamps);
            for (place, number) in order.iter().enumerate() {
                sensor.on_packet(&packets(at(1000 * place as u64), *number, 1, None));
            }
            let report = sensor.on_deadline(at(600_000)).expect("due");
            (report, sensor.reordered())
        };
        let (behind, reordered) = report(Stamps::Jittered);
        let (before, none) = report(Stamps::Exact);
        prop_assert_eq!((behind.retransmitted, behind.air_loss(), none), (0, 0.0, 0));
        prop_assert_eq!(u64::from(before.retransmitted), reordered);
        prop_assert_eq!((behind.packets, behind.frames), (400, 400));
    }

    #[test]
    fn a_clock_that_is_set_costs_one_slot(step in -100_000_000_i64..100_000_000, when in 50u64..150) {
        let mut sensor = sensor(Stamps::Jittered);
        let (mut reports, mut now, mut number) = (Vec::new(), at(200_000_000), 0);
        for frame in 0..2000 {
            let jump = if frame == 10 * when { step } else { 0 };
            now = Instant::from_nanos((now.as_nanos() as i64 + jump * 1000 + 1_000_000) as u64);
            for _ in 0..8 {
                sensor.on_packet(&packets(now, number, 1, None));
                number += 1;
            }
            reports.extend(sensor.on_deadline(now));
        }
        // 2 s of frames of 8 packets: at most one slot is lost, and no report is impossible.
        prop_assert!((2..=5).contains(&reports.len()), "{} reports", reports.len());
        for report in reports {
            prop_assert_eq!(Report::decode(&report.encode()).map(|read| read.number), Ok(report.number));
            prop_assert!(report.level().is_none_or(|level| (level - 8.0).abs() < 0.2), "{:?}", report);
        }
    }

    #[test]
    fn an_allocator_survives_a_clock_that_is_set_back(back in 1u64..100_000) {
        let mut allocator = RateAllocator::new(AllocationConfig::default()).expect("valid");
        let mut air = Air { overhead: 214e-6, phy: 450e6, number: 0 };
        let mut now = at(200_000_000);
        allocator.join(now, STATION);
        let slot = Span::from_millis(100);
        for step in 0..200 {
            if step == 100 {
                now = now - Span::from_millis(back);
            }
            now += slot;
            let rate = allocator.rate(STATION).as_bps() as f64;
            allocator.on_report(now, STATION, &air.report(rate, slot, Some(BitRate::from_mbps(450))));
            allocator.on_deadline(now);
            let due = allocator.next_deadline().expect("a station");
            prop_assert!(due <= now + Span::from_secs(1), "due {:?} at {:?}", due, now);
        }
        let level = air.level(allocator.rate(STATION).as_bps() as f64);
        prop_assert!((level / 32.0 - 1.0).abs() < 0.2, "{level}");
    }
}

#[test]
fn an_open_frame_is_closed_at_a_deadline() {
    let mut sensor = sensor(Stamps::Jittered);
    sensor.on_packet(&packets(at(0), 0, 5, None));
    let report = sensor.on_deadline(at(500_000)).expect("due");
    assert_eq!((report.frames, report.packets, report.level()), (1, 5, Some(5.0)));
}

/// A report of a slot with full frames, as while a queue stands.
fn full(number: u32, slot: Span, arrived: f64) -> Report {
    let payload = arrived * slot.as_secs_f64() / 8.0;
    let packets = (payload / PACKET.as_u64() as f64) as u32;
    Report {
        number,
        slot,
        frames: packets / 64,
        packets,
        transmissions: packets / 64 * 64,
        payload: ByteCount::new(payload as u64),
        phy_rate: Some(BitRate::from_mbps(867)),
        ..Report::default()
    }
}

/// Gives reports, each a slot after the one before, and returns the rates in Mb/s after them.
fn rates_after(allocator: &mut RateAllocator, slot: Span, reports: impl Iterator<Item = Report>) -> Vec<f64> {
    let mut now = at(0);
    reports
        .map(|report| {
            now += slot;
            allocator.on_report(now, STATION, &report);
            allocator.on_deadline(now);
            allocator.rate(STATION).as_bps() as f64 / 1e6
        })
        .collect()
}

#[test]
fn a_queue_that_drains_cuts_the_rate_once() {
    let slot = Span::from_millis(500);
    let config = AllocationConfig { start: Start::Feedback, ..AllocationConfig::default() };
    let mut allocator = RateAllocator::new(config).expect("valid");
    allocator.join_at(at(0), STATION, BitRate::from_mbps(56));
    let rates = rates_after(&mut allocator, slot, (1..6).map(|number| full(number, slot, 48e6)));
    // By lemma 2 a station that receives 48 Mb/s in frames of 64 has 24 to 25 Mb/s at 32.
    assert!(rates[1..].iter().all(|rate| (24.0..26.0).contains(rate)), "{rates:?}");
}

#[test]
fn a_start_lowers_its_rate_when_frames_are_full() {
    let slot = Span::from_millis(50);
    let mut allocator = RateAllocator::new(AllocationConfig::default()).expect("valid");
    allocator.join(at(0), STATION);
    let mut air = Air { overhead: 400e-6, phy: 867e6, number: 0 };
    // Alone for a while, then other traffic fills the air.
    let alone = (0..2).map(|_| air.report(1e6, slot, Some(BitRate::from_mbps(867)))).collect::<Vec<_>>();
    let busy = (10..14).map(|number| full(number, slot, 60e6));
    let rates = rates_after(&mut allocator, slot, alone.into_iter().chain(busy));
    assert!(rates[1] > 200.0, "{rates:?}");
    let last = rates[rates.len() - 1];
    assert!((30.0..33.0).contains(&last), "{last}: {rates:?}");
}

#[test]
fn single_packets_at_the_lowest_rate_end_no_start() {
    let slot = Span::from_millis(50);
    let config = AllocationConfig { longest: Some(Span::from_millis(3)), ..AllocationConfig::default() };
    let mut allocator = RateAllocator::new(config).expect("valid");
    allocator.join(at(0), STATION);
    // The target is 1.6 packets at 13 Mb/s. Half of what is sent still waits.
    let reports = (1..9).map(|number| Report {
        number,
        slot,
        frames: 2,
        packets: 3,
        transmissions: 3,
        payload: PACKET * 3,
        phy_rate: Some(BitRate::from_mbps(13)),
        ..Report::default()
    });
    rates_after(&mut allocator, slot, reports);
    let judged = allocator.allocations().next().expect("a station").bottleneck;
    assert_eq!(judged, Bottleneck::None);
}
