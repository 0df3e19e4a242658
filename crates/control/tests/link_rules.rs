//! Single rules of a composed link, each checked with numbers.

use crate::link_parts::{Packet, Watched, packet};
#[allow(dead_code)]
use airbound_control::frame::StationId;
use airbound_control::frame::{TxDescriptor, TxReport};
use airbound_control::link::{Composed, DriverOrder, Hold, Link, LinkConfig, LowerQueue, Returned, Room};
use airbound_control::queue::{AnyQueue, Fifo, FifoConfig};
use airbound_control::rate::{AnyRate, Capabilities, FixedConfig, LinkStats, MinstrelHtConfig, RateConfig};
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;
use airbound_wifi::rate::{GuardInterval, Rate, Width};

const NOW: Instant = Instant::from_nanos(1_000_000_000);
const BE: Category = Category::Be;

type TestLink = Composed<Packet, Watched, AnyQueue<Packet>, AnyRate>;

fn vht(mcs: u8) -> Rate {
    Rate::vht(mcs, 1, Width::Mhz20, GuardInterval::Ns800).expect("exists")
}

fn config() -> LinkConfig {
    LinkConfig {
        ampdu: AmpduLimits::vht(),
        overhead: ByteCount::new(38),
        first_subframe_padding: ByteCount::ZERO,
        window: 64,
        max_grants: 3,
        ..LinkConfig::default()
    }
}

fn link(queue: &str, rate: Rate) -> TestLink {
    let rate = RateConfig::Fixed(FixedConfig::default()).build(&Capabilities::only(rate), 1);
    Composed::new(Watched::new(queue), None, rate.expect("valid"), config())
}

fn fill(link: &mut TestLink, stations: &[u16], packets: usize) {
    let mut dropped = Vec::new();
    for number in 0..packets {
        for &station in stations {
            let at = NOW + Span::from_micros(number as u64);
            link.enqueue(at, packet(number, 0, station, BE, 1500), &mut dropped);
        }
    }
    assert!(dropped.is_empty());
}

fn next(link: &mut TestLink) -> Option<TxDescriptor<Packet>> {
    link.next(NOW, Room { category: BE, max_duration: Span::from_micros(5484) }, &mut Vec::new())
}

fn report(
    link: &mut TestLink,
    descriptor: TxDescriptor<Packet>,
    arrived: impl Fn(u64) -> bool,
) -> Returned<Packet> {
    report_of(link, descriptor, 1, arrived)
}

/// The report of a descriptor after so many transmissions.
fn report_of(
    link: &mut TestLink,
    descriptor: TxDescriptor<Packet>,
    transmissions: u32,
    arrived: impl Fn(u64) -> bool,
) -> Returned<Packet> {
    let mut acknowledged = AckBitmap::NONE;
    for (index, mpdu) in descriptor.mpdus.iter().enumerate() {
        if arrived(mpdu.sequence) {
            acknowledged.set(index);
        }
    }
    let mut returned = Returned::default();
    let report = TxReport {
        used: descriptor.chain.used(transmissions),
        handed: NOW,
        started: Some(NOW),
        ended: NOW,
        airtime: Some(Span::from_millis(1)),
        acknowledged,
        boundaries_known: true,
        descriptor,
    };
    link.on_report(NOW, report, &mut returned);
    returned
}

fn sequences(descriptor: &TxDescriptor<Packet>) -> Vec<u64> {
    descriptor.mpdus.iter().map(|mpdu| mpdu.sequence).collect()
}

#[test]
fn a_full_aggregate_does_not_give_its_station_another_turn() {
    // At 6.5 Mbit/s 5.484 ms hold two packets: each aggregate ends because the third does not fit.
    let mut link = link("kind = \"fifo\"", vht(0));
    fill(&mut link, &[1, 2], 6);
    let mut turns = Vec::new();
    while let Some(descriptor) = next(&mut link) {
        turns.push((descriptor.station.0, descriptor.mpdus.len()));
        report(&mut link, descriptor, |_| true);
    }
    assert_eq!(turns, [(1, 2), (2, 2), (1, 2), (2, 2), (1, 2), (2, 2)]);
}

#[test]
fn only_a_ppdu_that_failed_as_a_whole_lowers_the_rate_of_what_came_back() {
    let config = LinkConfig { lowers_rate: true, max_grants: 99, ..config() };
    let rate = RateConfig::Fixed(FixedConfig::default()).build(&Capabilities::only(vht(7)), 1);
    let mut link = TestLink::new(Watched::new("kind = \"fifo\""), None, rate.expect("valid"), config);
    fill(&mut link, &[1], 3);
    // Another holds the channel for the whole limit; the first of three arrives; two tries fail.
    let rates = [(0, false), (1, true), (1, false), (1, false), (1, false)].map(|(transmissions, one)| {
        let descriptor = next(&mut link).expect("some came back");
        let rate = descriptor.chain.first_rate();
        report_of(&mut link, descriptor, transmissions, |sequence| one && sequence == 0);
        rate
    });
    assert_eq!(rates, [vht(7), vht(7), vht(7), vht(6), vht(5)]);
}

#[test]
fn voice_goes_one_by_one_where_it_has_no_agreement_and_no_window_bounds_it() {
    let most = |category, aggregates_voice, forms_ppdus| {
        let config = LinkConfig { aggregates_voice, forms_ppdus, ..config() };
        let rate = RateConfig::Fixed(FixedConfig::default()).build(&Capabilities::only(vht(8)), 1);
        let mut link = TestLink::new(Watched::new("kind = \"fifo\""), None, rate.expect("valid"), config);
        for number in 0..4 {
            link.enqueue(NOW, packet(number, 0, 1, category, 100), &mut Vec::new());
        }
        let room = Room { category, max_duration: Span::from_micros(5484) };
        link.next(NOW, room, &mut Vec::new()).map(|descriptor| descriptor.mpdus.len())
    };
    for category in [Category::Bk, Category::Be, Category::Vi] {
        assert_eq!(most(category, false, true), Some(4), "{category:?}");
    }
    assert_eq!(most(Category::Vo, false, true), Some(1));
    assert_eq!(most(Category::Vo, true, true), Some(4));
    // Above a kernel that forms the PPDUs a descriptor is no aggregate.
    assert!(most(Category::Vo, true, false).is_some_and(|packets| packets > 1));
}

#[test]
fn a_held_station_keeps_its_packets_and_its_retries_until_it_listens() {
    let mut link = link("kind = \"fifo\"", vht(0));
    fill(&mut link, &[1, 2], 4);
    let first = next(&mut link).expect("all listen");
    assert_eq!((first.station.0, sequences(&first)), (1, vec![0, 1]));
    link.hold(NOW, StationId(1), true);
    // What is in the hardware comes back, and waits with the others.
    report(&mut link, first, |_| false);
    let mut served = Vec::new();
    while let Some(descriptor) = next(&mut link) {
        served.push(descriptor.station.0);
        report(&mut link, descriptor, |_| true);
    }
    assert_eq!((served.as_slice(), link.backlog().packets), ([2, 2].as_slice(), 4));
    link.hold(NOW, StationId(1), false);
    let again = next(&mut link).expect("it listens again");
    assert_eq!((again.station.0, sequences(&again)), (1, vec![0, 1]));
    report(&mut link, again, |_| true);
    let last = next(&mut link).expect("two are left");
    assert_eq!((last.station.0, sequences(&last)), (1, vec![2, 3]));
}

/// Returns the MPDU count and the PSDU bytes of an aggregate within 4 ms at a fixed `rate`, `padding` bytes behind the first subframe.
fn mpdus_within_4_ms(rate: Rate, padding: u64) -> (usize, u64) {
    let mut config = LinkConfig { ampdu: AmpduLimits::ath9k(), ..config() };
    config.first_subframe_padding = ByteCount::new(padding);
    let rate = RateConfig::Fixed(FixedConfig::default()).build(&Capabilities::only(rate), 1);
    let queue = Watched::new("kind = \"wqm\"");
    let mut link = TestLink::new(queue, None, rate.expect("valid"), config);
    fill(&mut link, &[1], 40);
    let descriptor = next(&mut link).expect("40 wait");
    (descriptor.mpdus.len(), descriptor.psdu.as_u64())
}

#[test]
fn a_padded_first_subframe_leaves_room_for_one_at_the_lowest_rate() {
    let ht = |mcs, guard| Rate::ht(mcs, Width::Mhz20, guard).expect("exists");
    // 4 ms less a preamble of 36 us are 991 symbols of 26 bits: 3218 B, or two subframes of 1542 and 2 B.
    let slowest = ht(0, GuardInterval::Ns800);
    assert_eq!(mpdus_within_4_ms(slowest, 0), (2, 3086));
    // 60 delimiters behind the first one make it 3326; a single MPDU has no delimiter at all.
    assert_eq!(mpdus_within_4_ms(slowest, 240), (1, 1538));
    // 13 Mb/s: 6438 B for four and the padding.
    assert_eq!(mpdus_within_4_ms(ht(1, GuardInterval::Ns800), 240), (4, 4 * 1544 - 2 + 240));
    // 65 Mb/s: 32204 B. 144.4 Mb/s: the count of 32.
    assert_eq!(mpdus_within_4_ms(ht(7, GuardInterval::Ns800), 240), (20, 20 * 1544 - 2 + 240));
    assert_eq!(mpdus_within_4_ms(ht(15, GuardInterval::Ns400), 240), (32, 32 * 1544 - 2 + 240));
}

#[test]
fn the_queue_is_told_rate_longest_aggregate_and_channel() {
    let mut link = link("kind = \"wqm\"\nsubframes = 64\nfloor = \"rate\"", vht(0));
    fill(&mut link, &[1], 1);
    let size = |link: &TestLink| match &link.queue().queue {
        AnyQueue::Wqm(queue) => (queue.buffer_size(BE).bounds(), queue.buffer_size(BE).packets()),
        _ => panic!("another queue"),
    };
    // No rate has been reported.
    assert_eq!(size(&link), ((64, 95), 95));
    link.on_link_stats(NOW, StationId(1), &LinkStats::default());
    fill(&mut link, &[1], 1);
    // At 6.5 Mbit/s 5.484 ms hold two packets: R x ARTT are 2 x 219 + 2 x 1892.9 + 96 us, two packets.
    assert_eq!(size(&link), ((2, 95), 2));
    let due = link.deadline().channel_load.expect("packets wait");
    assert_eq!(due, NOW + Span::from_millis(100));
    link.on_channel(due, Some(0.5), Some(0.25));
    assert_eq!(link.deadline().channel_load, Some(due + Span::from_millis(100)));
}

#[test]
fn the_receiver_is_told_of_a_hole_when_nothing_older_may_come() {
    let mut link = link("kind = \"fifo\"", vht(8));
    fill(&mut link, &[1], 1);
    let oldest = next(&mut link).expect("0");
    fill(&mut link, &[1], 1);
    for _ in 0..2 {
        let newer = next(&mut link).expect("1");
        assert_eq!(sequences(&newer), [1]);
        let returned = report(&mut link, newer, |_| false);
        assert_eq!((returned.dropped.len(), returned.window_start), (0, None));
    }
    let newer = next(&mut link).expect("1, in its third descriptor");
    let given_up = report(&mut link, newer, |_| false);
    assert_eq!((given_up.dropped.len(), given_up.window_start), (1, Some(0)), "0 is still on its way");
    let settled = report(&mut link, oldest, |_| true);
    assert_eq!((settled.dropped.len(), settled.window_start), (0, Some(2)));
    fill(&mut link, &[1], 1);
    let next = next(&mut link).expect("2");
    assert_eq!(report(&mut link, next, |_| true).window_start, None, "told once");
}

#[test]
fn one_mpdu_is_answered_by_an_ack() {
    let mut link = link("kind = \"fifo\"", vht(8));
    fill(&mut link, &[1], 1);
    let alone = next(&mut link).expect("a packet");
    // VHT puts a delimiter before a single MPDU too.
    assert_eq!((alone.aggregated, alone.psdu), (false, ByteCount::new(1538 + 4)));
    let ht = Rate::ht(7, Width::Mhz20, GuardInterval::Ns800).expect("exists");
    let mut link = self::link("kind = \"fifo\"", ht);
    fill(&mut link, &[1], 1);
    assert_eq!(next(&mut link).expect("a packet").psdu, ByteCount::new(1538));
    fill(&mut link, &[1], 2);
    let pair = next(&mut link).expect("two packets");
    // 4 + 1538, padded to 1544, and 4 + 1538.
    assert_eq!((pair.aggregated, pair.psdu), (true, ByteCount::new(1544 + 1542)));
}

#[test]
fn samples_go_alone() {
    let rate = RateConfig::MinstrelHt(MinstrelHtConfig::default()).build(&Capabilities::default(), 1);
    let mut link: TestLink =
        Composed::new(Watched::new("kind = \"fifo\""), None, rate.expect("valid"), config());
    let (mut samples, mut most) = (0, 0);
    for millis in 0..2000 {
        let now = NOW + Span::from_millis(millis);
        while link.backlog().packets < 64 {
            link.enqueue(now, packet(0, 0, 1, BE, 1500), &mut Vec::new());
        }
        let room = Room { category: BE, max_duration: Span::from_micros(5484) };
        let descriptor = link.next(now, room, &mut Vec::new()).expect("packets wait");
        if descriptor.chain.probe {
            samples += 1;
            assert_eq!(descriptor.mpdus.len(), 1);
        }
        most = most.max(descriptor.mpdus.len());
        let mut returned = Returned::default();
        let report = TxReport {
            used: descriptor.chain.used(1),
            handed: now,
            started: None,
            ended: now,
            airtime: None,
            acknowledged: AckBitmap::first(descriptor.mpdus.len()),
            boundaries_known: true,
            descriptor,
        };
        link.on_report(now, report, &mut returned);
    }
    // One each 20 ms, while there is something to sample.
    assert!((30..=140).contains(&samples) && most > 30, "{samples} {most}");
}

#[test]
fn a_dictated_rate_bounds_the_aggregate_and_is_what_the_queue_expects() {
    let mut link = link("kind = \"linux\"", vht(8));
    let stats = LinkStats { rate: Some(BitRate::from_mbps(10)), ..LinkStats::default() };
    link.on_link_stats(NOW, StationId(1), &stats);
    fill(&mut link, &[1], 20);
    let descriptor = next(&mut link).expect("packets");
    // 5.484 ms less 44 µs at 10 Mbit/s are 6800 B: four subframes of 1544 B.
    assert_eq!(descriptor.mpdus.len(), 4);
    let told = link.queue().throughput[&StationId(1)];
    assert!((9.0..10.0).contains(&told.as_mbps_f64()), "{told}");
    // 1538 B in 1230 µs, and half of the 40 µs.
    let below = link.queue().below[&(StationId(1), BE)];
    assert_eq!(below, Span::from_micros(4 * 1248) + Span::from_micros(1248));
}

#[test]
fn a_driver_holds_no_more_than_its_depth_in_flight_packets_included() {
    let rate = RateConfig::Fixed(FixedConfig::default()).build(&Capabilities::only(vht(8)), 1);
    let queue = Fifo::new(FifoConfig::default()).map(AnyQueue::Fifo).expect("valid");
    let lower = Some(LowerQueue { queue, depth: 10 });
    let mut link: TestLink =
        Composed::new(Watched::new("kind = \"fifo\""), lower, rate.expect("valid"), config());
    fill(&mut link, &[1], 30);
    assert_eq!(link.queue().waiting[BE.index()], 20);
    let descriptor = next(&mut link).expect("packets");
    assert_eq!(
        (descriptor.mpdus.len(), link.queue().waiting[BE.index()]),
        (10, 20),
        "all ten are in the hardware"
    );
    assert!(next(&mut link).is_none());
    // Seven arrive: seven may follow; three are retransmitted.
    report(&mut link, descriptor, |sequence| sequence < 7);
    let descriptor = next(&mut link).expect("packets");
    assert_eq!(sequences(&descriptor), (7..17).collect::<Vec<_>>());
    assert_eq!(link.queue().waiting[BE.index()], 13);
}

/// A link whose driver serves stations in turn, with 6 packets for each of two stations that an aggregate holds two of.
fn in_turn() -> TestLink {
    let rate = RateConfig::Fixed(FixedConfig::default()).build(&Capabilities::only(vht(0)), 1);
    let lower = LowerQueue::in_order(DriverOrder::RoundRobin, 100).expect("valid");
    let mut link: TestLink =
        Composed::new(Watched::new("kind = \"fifo\""), lower, rate.expect("valid"), config());
    fill(&mut link, &[1, 2], 6);
    link
}

#[test]
fn a_driver_serves_last_the_station_whose_turn_ended_last() {
    let mut link = in_turn();
    let on_air = next(&mut link).expect("packets");
    // A packet for a third station comes while the first is served; it comes again as soon as it is emptied.
    fill(&mut link, &[3], 1);
    report(&mut link, on_air, |_| true);
    let mut turns = Vec::new();
    while let Some(descriptor) = next(&mut link) {
        let station = descriptor.station.0;
        turns.push(station);
        report(&mut link, descriptor, |_| true);
        if station == 3 && turns.len() < 4 {
            fill(&mut link, &[3], 1);
        }
    }
    assert_eq!(turns, [2, 3, 1, 2, 3, 1, 2]);
}

#[test]
fn a_host_completes_what_was_sent_before_it_hands_down_more() {
    let rate = RateConfig::Fixed(FixedConfig::default()).build(&Capabilities::only(vht(8)), 1);
    let lower = LowerQueue::in_order(DriverOrder::RoundRobin, 10).expect("valid");
    let config = LinkConfig { completion: Span::from_micros(7), ..config() };
    let mut link: TestLink =
        Composed::new(Watched::new("kind = \"fifo\""), lower, rate.expect("valid"), config);
    fill(&mut link, &[1], 30);
    let descriptor = next(&mut link).expect("packets");
    assert_eq!((descriptor.mpdus.len(), link.deadline().select), (10, None));
    report(&mut link, descriptor, |_| true);
    let completed = NOW + Span::from_micros(70);
    assert_eq!(link.deadline().select, Some(completed));
    let room = Room { category: BE, max_duration: Span::from_micros(5484) };
    let before = Instant::from_nanos(completed.as_nanos() - 1);
    assert!(link.next(before, room, &mut Vec::new()).is_none(), "the driver has nothing");
    let descriptor = link.next(completed, room, &mut Vec::new()).expect("packets");
    assert_eq!((descriptor.mpdus.len(), link.deadline().select), (10, None));
    // All ten come back and leave no room: the time passes all the same.
    report(&mut link, descriptor, |_| false);
    assert_eq!(link.deadline().select, Some(completed));
    assert_eq!(
        link.next(completed, room, &mut Vec::new()).map_or(0, |descriptor| descriptor.mpdus.len()),
        10
    );
    assert_eq!(link.deadline().select, None);
}

#[test]
fn slow_stations_are_known_to_the_queue() {
    let mut link = link("kind = \"linux\"", vht(0));
    for station in 1..=3 {
        link.on_link_stats(NOW, StationId(station), &LinkStats::default());
    }
    let told: Vec<f64> = link.queue().throughput.values().map(|rate| rate.as_mbps_f64()).collect();
    // 1200 B of 1238 at 6.5 Mbit/s, and half of 40 µs: below 6 Mbit/s for each of three.
    assert_eq!(told.len(), 3);
    assert!(told.iter().all(|mbps| (6.1..6.3).contains(mbps)), "{told:?}");
}

/// A link above layers that form the PPDUs, with 40 packets of 1500 B for one station at 65 Mb/s.
fn above_a_kernel(queue: &str) -> TestLink {
    let ampdu = AmpduLimits { max_mpdus: 64, max_bytes: ByteCount::MAX, max_duration: Span::from_millis(4) };
    let config = LinkConfig { ampdu, forms_ppdus: false, ..config() };
    let rate = RateConfig::Fixed(FixedConfig::default()).build(&Capabilities::only(vht(0)), 1);
    let mut link = TestLink::new(Watched::new(queue), None, rate.expect("valid"), config);
    let stats = LinkStats { rate: Some(BitRate::from_mbps(65)), ..LinkStats::default() };
    link.on_link_stats(NOW, StationId(1), &stats);
    fill(&mut link, &[1], 40);
    link
}

#[test]
fn estimates_fill_an_aggregate_where_the_layers_below_form_ppdus() {
    // 1538 B at 65 Mb/s and a sixteenth of 40 us: 188 us in steps of 4. 21 of them take 3948 us of the 4 ms.
    let count = |queue| next(&mut above_a_kernel(queue)).map(|descriptor| descriptor.mpdus.len());
    assert_eq!(count("kind = \"fifo\""), Some(21));
    // A queue that does not know the size of its next packet exceeds the limit by one; the packet cannot be put back.
    assert_eq!(count("kind = \"linux\"\nairtime-queue-limit = false"), Some(22));
}

#[test]
fn packets_come_back_one_by_one_where_the_layers_below_form_ppdus() {
    let mut link = above_a_kernel("kind = \"linux\"");
    let mut first = next(&mut link).expect("40 wait");
    let below = |link: &TestLink| link.queue().below[&(StationId(1), BE)];
    let estimate = Span::from_micros(188);
    assert_eq!((first.mpdus.len(), below(&link)), (22, estimate * 22));
    for (place, arrives) in [(20, true), (3, false), (0, true)] {
        let mpdus = vec![first.mpdus.remove(place)];
        let one = TxDescriptor { mpdus, ..first.clone() };
        let returned = report(&mut link, one, |_| arrives);
        // It is not retransmitted.
        assert_eq!(returned.dropped.len(), usize::from(!arrives));
        assert!(returned.retry_now.is_none());
    }
    assert_eq!((below(&link), link.backlog().packets), (estimate * 19, 18));
    // The next one does not wait for the rest.
    assert_eq!(next(&mut link).map(|descriptor| descriptor.mpdus.len()), Some(18));
}
