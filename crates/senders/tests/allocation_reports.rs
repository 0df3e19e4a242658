//! Times of decisions, and the treatment of stations that receive less than their share.

use airbound_senders::allocation::{
    AllocationConfig, Bottleneck, FrameSensor, Observation, RateAllocator, ReceiverId, Report, Share, Stamps,
    Start,
};

use airbound_units::{BitRate, ByteCount, Instant, Span};

const INTERVAL: Span = Span::from_millis(500);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

/// A slot of 100 frames of `level` packets at 390 Mb/s, in which `mbps` arrived.
fn report(number: u32, level: u32, mbps: f64) -> Report {
    Report {
        number,
        slot: INTERVAL,
        frames: 100,
        transmissions: 100 * level,
        packets: 100 * level,
        phy_rate: Some(BitRate::from_mbps(390)),
        payload: ByteCount::new((mbps * 1e6 / 8.0 * INTERVAL.as_secs_f64()) as u64),
        ..Report::default()
    }
}

fn allocator(stations: u16, config: AllocationConfig) -> RateAllocator {
    let mut allocator = RateAllocator::new(config).expect("valid");
    (0..stations).for_each(|station| allocator.join(Instant::ZERO, ReceiverId(station)));
    allocator
}

#[test]
fn the_last_report_of_a_slot_is_acted_upon_at_once() {
    let mut proxy = allocator(2, AllocationConfig { start: Start::Feedback, ..AllocationConfig::default() });
    proxy.on_report(at(503), ReceiverId(0), &report(0, 10, 1.0));
    assert_eq!(proxy.next_deadline(), Some(at(500)), "a decision is due anyway");
    proxy.on_deadline(at(503));
    assert_eq!(proxy.next_deadline(), Some(at(1253)), "one and a half intervals later");
    proxy.on_report(at(1003), ReceiverId(0), &report(1, 10, 1.0));
    assert_eq!(proxy.next_deadline(), Some(at(1253)), "the other may still come");
    proxy.on_report(at(1004), ReceiverId(1), &report(0, 10, 1.0));
    assert_eq!(proxy.next_deadline(), Some(at(1004)));
    let before = proxy.rate(ReceiverId(0));
    assert!(proxy.on_deadline(at(1004)) && proxy.rate(ReceiverId(0)) > before);
    // Decisions keep their distance at any frequency of reports.
    for station in [0, 1] {
        proxy.on_report(at(1100), ReceiverId(station), &report(9, 10, 1.0));
    }
    assert_eq!(proxy.next_deadline(), Some(at(1454)));
}

#[test]
fn a_station_whose_turns_carry_less_than_its_share_is_held_at_what_it_gets() {
    for share in [Share::Optimal, Share::EqualAirtime] {
        let config = AllocationConfig { start: Start::Feedback, share, ..AllocationConfig::default() };
        let mut proxy = allocator(2, config);
        let rate = |proxy: &RateAllocator, station| proxy.rate(ReceiverId(station)).as_mbps_f64();
        for number in 0..400 {
            let now = at(500 + 500 * u64::from(number));
            let (free, limited) = (rate(&proxy, 0), rate(&proxy, 1));
            // One needs frames in proportion to its rate; of the other a window admits 20 Mb/s, in frames of the target's size.
            proxy.on_report(now, ReceiverId(0), &report(number, (free / 3.0) as u32 + 1, free));
            proxy.on_report(now, ReceiverId(1), &report(number, 30, limited.min(20.0)));
            proxy.on_deadline(now);
        }
        assert!((17.0..=22.5).contains(&rate(&proxy, 1)), "{share:?}: {}", rate(&proxy, 1));
        assert!(rate(&proxy, 0) > 80.0, "{share:?}: the other has its own: {}", rate(&proxy, 0));
        let judged = proxy.allocations().map(|one| one.bottleneck).collect::<Vec<_>>();
        assert_eq!(judged[1], Bottleneck::Wlan);
    }
}

#[test]
fn where_others_take_the_released_rate_no_flow_is_held() {
    let config = AllocationConfig { start: Start::Feedback, ..AllocationConfig::default() };
    let mut proxy = allocator(2, config);
    let rate = |proxy: &RateAllocator| proxy.rate(ReceiverId(0)).as_mbps_f64();
    let mut climbed = 0.0;
    for number in 0..70 {
        let now = at(500 + 500 * u64::from(number));
        // First all packets arrive; then frames are above the target, and a fifth of any rate is lost.
        let (level, kept) = if number < 60 { (20, 1.0) } else { (37, 0.8) };
        if number == 60 {
            climbed = rate(&proxy);
        }
        for station in [0, 1] {
            let arrived = kept * proxy.rate(ReceiverId(station)).as_mbps_f64();
            proxy.on_report(now, ReceiverId(station), &report(number, level, arrived));
        }
        proxy.on_deadline(now);
    }
    // Held at 95 % of the received rate, slot after slot, it would be a tenth.
    assert!(climbed > 100.0 && rate(&proxy) > 0.5 * climbed, "{climbed} {}", rate(&proxy));
}

/// Returns the report for a wire of `mbps` that is sent `sent` (Mb/s), in small frames.
fn wired(number: u32, sent: f64, mbps: f64) -> Report {
    report(number, 5, sent.min(mbps))
}

#[test]
fn a_lone_station_is_sent_what_the_wire_carries() {
    for share in [Share::Optimal, Share::EqualAirtime] {
        let config = AllocationConfig { start: Start::Feedback, share, ..AllocationConfig::default() };
        let mut proxy = allocator(1, config);
        let rate = |proxy: &RateAllocator| proxy.rate(ReceiverId(0)).as_mbps_f64();
        // A wire that becomes slower at 150 s, and faster at 225 s.
        let wire = |number| if (300..450).contains(&number) { 40.0 } else { 80.0 };
        let mut sent = Vec::new();
        for number in 0..600 {
            let now = at(500 + 500 * u64::from(number));
            proxy.on_report(now, ReceiverId(0), &wired(number, rate(&proxy), wire(number)));
            proxy.on_deadline(now);
            sent.push(rate(&proxy) / wire(number));
        }
        for settled in [200..300, 320..450, 550..600] {
            let all = &sent[settled.clone()];
            let (least, most) = all.iter().fold((f64::MAX, 0.0_f64), |(a, b), x| (a.min(*x), b.max(*x)));
            assert!(least > 0.9 && most < 1.15, "{share:?}, {settled:?}: {least} to {most}");
            assert!(
                all.iter().sum::<f64>() < 1.02 * all.len() as f64,
                "{share:?}: below the wire in the mean"
            );
        }
        assert_eq!(proxy.allocations().next().map(|one| one.bottleneck), Some(Bottleneck::Wire));
    }
}

#[test]
fn a_cut_that_does_not_help_is_given_up() {
    // Others fill the access point's queue: a fixed share of any rate arrives, in frames full of their packets or, if the sensor does
    // not see those, in small ones.
    for (kept, companions) in [(0.76, 57.0), (0.6, 57.0), (0.76, 0.0), (0.6, 0.0)] {
        let config = AllocationConfig { start: Start::Feedback, ..AllocationConfig::default() };
        let mut proxy = allocator(4, config);
        let rate = |proxy: &RateAllocator| proxy.rate(ReceiverId(0)).as_mbps_f64();
        let (mut climbed, mut least, mut sum) = (0.0, f64::MAX, 0.0);
        for number in 0..400 {
            let now = at(500 + 500 * u64::from(number));
            let before = number < 200;
            if number == 200 {
                climbed = rate(&proxy);
            }
            for station in 0..4 {
                let sent = proxy.rate(ReceiverId(station)).as_mbps_f64();
                let slot = report(number, 5, if before { sent } else { kept * sent });
                let companions = if before { 0.0 } else { companions };
                proxy.on_report(now, ReceiverId(station), &Report { companions, ..slot });
            }
            proxy.on_deadline(now);
            if !before {
                (least, sum) = (rate(&proxy).min(least), sum + rate(&proxy) / 200.0);
            }
        }
        assert!(
            climbed > 50.0 && least > 0.5 * kept * climbed && sum > 0.7 * climbed,
            "{kept}: {climbed} {least} {sum}"
        );
        let told = proxy.allocations().next().map(|one| one.bottleneck);
        assert_eq!(told, Some(if companions > 0.0 { Bottleneck::Wlan } else { Bottleneck::Wire }));
    }
}

#[test]
fn packets_of_other_flows_count_for_the_frame_that_they_came_in() {
    let mut sensor = FrameSensor::new(AllocationConfig::default().sensor(Stamps::Exact)).expect("valid");
    let mut sequence = 0;
    let mut own = |sensor: &mut FrameSensor, at, packets| {
        for _ in 0..packets {
            sensor.on_packet(&Observation {
                at,
                sequence,
                packets: 1,
                payload: ByteCount::new(1470),
                rate: None,
            });
            sequence += 1;
        }
    };
    own(&mut sensor, at(1), 4);
    // After the flow's packets in a frame, in a frame without any, and before them.
    sensor.on_companions(at(1), 10);
    sensor.on_companions(at(2), 50);
    sensor.on_companions(at(3), 20);
    sensor.on_companions(at(3), 5);
    own(&mut sensor, at(3), 6);
    sensor.on_companions(at(3), 1);
    own(&mut sensor, at(4), 2);
    let slot = sensor.on_deadline(at(60)).expect("due");
    // The last frame is complete, since nothing came for long.
    assert_eq!((slot.frames, slot.level(), slot.companions), (3, Some(4.0), 12.0));
    let read = Report::decode(&slot.encode()).expect("passes the parser");
    assert_eq!(read.companions, 12.0);
}

#[test]
fn rates_do_not_rise_with_the_phy_rate_of_a_start() {
    let config = AllocationConfig {
        share: Share::EqualAirtime,
        start: Start::Feedback,
        ..AllocationConfig::default()
    };
    let mut proxy = allocator(1, config);
    for number in 0..20 {
        // A rate control that climbs from 29 to 390 Mb/s while frames stay at the target.
        let phy = if number < 10 { 29 } else { 390 };
        let rate = proxy.rate(ReceiverId(0)).as_mbps_f64();
        let slot = Report { phy_rate: Some(BitRate::from_mbps(phy)), ..report(number, 32, rate) };
        proxy.on_report(at(500 * (u64::from(number) + 1)), ReceiverId(0), &slot);
        proxy.on_deadline(at(500 * (u64::from(number) + 1)));
        let after = proxy.rate(ReceiverId(0)).as_mbps_f64();
        assert!(after <= 1.151 * rate, "{rate} {after}");
    }
}
