//! Latencies: quantiles within their error, splits that sum exactly.

use crate::example;
use airbound_record::{Fate, HopRow, LatencyHistogram, PacketRow, Resolution, Split, Stage};
use airbound_units::{Instant, Span};
use proptest::prelude::*;

fn instant() -> impl Strategy<Value = Instant> {
    prop_oneof![
        4 => (0_u64..1_000_000).prop_map(Instant::from_nanos),
        1 => any::<u64>().prop_map(Instant::from_nanos),
        1 => Just(Instant::MAX),
    ]
}

/// A batch of latencies: of one order of magnitude, sometimes all equal, some of them zero.
fn batch() -> impl Strategy<Value = Vec<Span>> {
    let order = prop_oneof![Just(0u32), 9u32..24, Just(41), Just(64)];
    (order, any::<bool>()).prop_flat_map(|(bits, with_zeros)| {
        let most = 1u64.checked_shl(bits).map_or(u64::MAX, |most| most - 1);
        let span =
            if with_zeros { prop_oneof![Just(0), 0..=most].boxed() } else { (most / 2..=most).boxed() };
        proptest::collection::vec(span.prop_map(Span::from_nanos), 0..40)
    })
}

proptest! {
    #[test]
    fn a_split_sums_to_the_latency_whatever_the_timestamps(times in proptest::array::uniform8(instant())) {
        let [sent, enqueued, contending, first_tx, last_tx, received, delivered, arrived] = times;
        let row = PacketRow {
            sent, enqueued, contending, first_tx, last_tx, received, delivered, arrived,
            fate: Fate::Delivered,
            ..example::packet(3)
        };
        match Split::of(&row) {
            Some(split) => prop_assert_eq!(split.latency(), arrived.since(sent)),
            None => prop_assert!(arrived == Instant::MAX || arrived < sent),
        }
    }

    #[test]
    fn quantiles_lie_within_their_error(
        mut nanos in proptest::collection::vec(2_000_u64..100_000_000_000, 1..300),
        quantile in 0.0_f64..=1.0,
    ) {
        for (resolution, error) in [(Resolution::Fine, 0.001), (Resolution::Coarse, 0.01)] {
            let mut histogram = LatencyHistogram::new(resolution);
            nanos.iter().for_each(|nanos| histogram.record(Span::from_nanos(*nanos)));
            nanos.sort_unstable();
            // The definition: the smallest sample that a fraction `quantile` of all does not exceed.
            let rank = ((quantile * nanos.len() as f64).ceil() as usize).clamp(1, nanos.len());
            let exact = nanos[rank - 1] as f64;
            let measured = histogram.quantile(quantile).unwrap().as_nanos() as f64;
            // In the lowest 2048 buckets, of 512 ns, the error is the bucket's width.
            let allowed = (error * exact).max(512.0);
            prop_assert!((measured - exact).abs() <= allowed, "{measured} for {exact}");
            let sum: u128 = nanos.iter().map(|nanos| u128::from(*nanos)).sum();
            prop_assert_eq!(u128::from(histogram.mean().unwrap().as_nanos()), sum / nanos.len() as u128);
            prop_assert_eq!(histogram.max().as_nanos(), *nanos.last().unwrap());
            prop_assert_eq!(histogram.buckets().map(|(.., count)| count).sum::<u64>(), nanos.len() as u64);
        }
    }

    #[test]
    fn samples_together_count_like_one_by_one(batches in proptest::collection::vec(batch(), 1..40)) {
        for resolution in [Resolution::Fine, Resolution::Coarse] {
            let (mut one_by_one, mut together) = (LatencyHistogram::new(resolution), LatencyHistogram::new(resolution));
            for batch in &batches {
                batch.iter().for_each(|span| one_by_one.record(*span));
                together.record_all(batch);
                prop_assert_eq!(one_by_one.count(), together.count());
                prop_assert_eq!(one_by_one.mean(), together.mean());
                prop_assert_eq!(one_by_one.max(), together.max());
            }
            prop_assert_eq!(one_by_one.stats(), together.stats());
            prop_assert!(one_by_one.buckets().eq(together.buckets()));
        }
    }

    #[test]
    fn merging_is_recording_together(
        one in proptest::collection::vec(any::<u64>(), 0..50),
        other in proptest::collection::vec(0_u64..10_000_000, 0..50),
    ) {
        let record = |samples: &[u64]| {
            let mut histogram = LatencyHistogram::new(Resolution::Fine);
            samples.iter().for_each(|nanos| histogram.record(Span::from_nanos(*nanos)));
            histogram
        };
        let mut merged = record(&one);
        merged.merge(&record(&other));
        let together = record(&[one, other].concat());
        prop_assert_eq!(merged.stats(), together.stats());
        prop_assert_eq!(merged.count(), together.count());
        prop_assert!(merged.buckets().eq(together.buckets()));
    }
}

#[test]
fn stages_are_summed_over_hops() {
    let at = Instant::from_nanos;
    let hop = |start: u64| HopRow {
        enqueued: at(start),
        contending: at(start + 10),
        first_tx: at(start + 110),
        last_tx: at(start + 110),
        received: at(start + 1_110),
        delivered: at(start + 1_110),
        completed: at(start + 1_140),
        ..example::hop(3, 0)
    };
    // Each relay queues packets at the end of the acknowledgement, 30 ns later.
    let hops = [hop(7), hop(7 + 1_140)];
    let row = PacketRow {
        sent: at(0),
        enqueued: at(7 + 2 * 1_140),
        contending: at(7 + 2 * 1_140 + 10),
        first_tx: at(7 + 2 * 1_140 + 110),
        last_tx: at(7 + 2 * 1_140 + 510),
        received: at(7 + 2 * 1_140 + 1_510),
        delivered: at(7 + 2 * 1_140 + 1_530),
        arrived: at(7 + 2 * 1_140 + 1_535),
        fate: Fate::Delivered,
        ..example::packet(3)
    };
    let split = Split::over(&hops, &row).unwrap();
    let nanos = Stage::ALL.map(|stage| split.stage(stage).as_nanos());
    assert_eq!(nanos, [7 + 5, 3 * 10 + 2 * 30, 3 * 100, 3 * 1000, 400, 20]);
    assert_eq!(split.latency(), row.arrived - row.sent);
    assert_eq!(Split::over(&[], &row), Split::of(&row));
    assert_eq!(Split::over(&hops, &PacketRow { fate: Fate::Dropped(0), ..row }), None);
}

#[test]
fn each_interval_is_its_stage() {
    let at = Instant::from_nanos;
    let row = PacketRow {
        sent: at(0),
        enqueued: at(10),
        contending: at(110),
        first_tx: at(1_110),
        last_tx: at(11_110),
        received: at(111_110),
        delivered: at(1_111_110),
        arrived: at(1_111_117),
        fate: Fate::Delivered,
        ..example::packet(3)
    };
    let split = Split::of(&row).unwrap();
    let nanos = Stage::ALL.map(|stage| split.stage(stage).as_nanos());
    assert_eq!(nanos, [17, 100, 1_000, 100_000, 10_000, 1_000_000]);
    assert_eq!(Split::of(&PacketRow { fate: Fate::Queued, ..row }), None);
    assert_eq!(Split::of(&PacketRow { fate: Fate::Dropped(0), ..row }), None);
}

#[test]
fn empty_distributions_have_no_quantiles() {
    let mut histogram = LatencyHistogram::new(Resolution::Fine);
    assert_eq!((histogram.quantile(0.5), histogram.mean(), histogram.stats().p50), (None, None, None));
    histogram.record(Span::MAX);
    let longest = histogram.quantile(1.0).unwrap();
    assert!((1000..1200).contains(&(longest.as_millis() / 1000)), "{longest}");
    histogram.clear();
    assert_eq!((histogram.count(), histogram.max()), (0, Span::ZERO));
}

#[test]
fn round_trips_a_minute_leave_out_the_longest_twentieth() {
    let mut trips = LatencyHistogram::new(Resolution::Fine);
    assert_eq!((trips.trimmed_mean(0.95), trips.round_trips_per_minute()), (None, None));
    // 95 of 20 to 114 ms, whose mean is 67 ms, and five of a second.
    (20..115).for_each(|millis| trips.record(Span::from_millis(millis)));
    (0..5).for_each(|_| trips.record(Span::from_secs(1)));
    let minute = trips.round_trips_per_minute().expect("samples");
    assert!((minute / (60_000.0 / 67.0) - 1.0).abs() < 0.01, "{minute}");
    let all = trips.trimmed_mean(1.0).expect("samples").as_millis_f64();
    assert!((all / 113.65 - 1.0).abs() < 0.01, "{all}");
    // A single one counts; round trips of nothing are no number.
    let mut one = LatencyHistogram::new(Resolution::Fine);
    one.record(Span::ZERO);
    assert_eq!((one.trimmed_mean(0.95), one.round_trips_per_minute()), (Some(Span::ZERO), None));
}
