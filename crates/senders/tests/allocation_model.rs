//! The model of low-delay rate allocation: lemmas, theorem, corollaries, optimum and dual ascent as properties.

use airbound_senders::allocation::{Downlink, DualAscent, Optimum, Regulated, Utility};
use proptest::prelude::*;

/// Networks of 1 to 12 stations at 20 to 2000 Mb/s, with frame overheads of 50 us to 2 ms.
fn downlinks() -> impl Strategy<Value = Downlink> {
    let rates = prop::collection::vec(20.0..2000.0_f64, 1..12);
    (50e-6..2e-3, rates).prop_map(|(overhead, mbps)| {
        Downlink::new(overhead, mbps.iter().map(|rate| 12_000.0 / (rate * 1e6)).collect()).expect("positive")
    })
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-9)
}

/// Rates that leave some time free, by the weights of `draws`.
fn feasible(downlink: &Downlink, draws: &[f64], used: f64) -> Vec<f64> {
    let n = downlink.stations();
    let weights: Vec<f64> = (0..n).map(|i| 0.05 + draws[i % draws.len()]).collect();
    let all: f64 = weights.iter().sum();
    downlink.packet_airtime().iter().zip(&weights).map(|(w, share)| used * share / all / w).collect()
}

/// The network of Fig. 7: footnote 6.
fn fig7() -> Downlink {
    Downlink::new(214e-6, vec![12_000.0 / 513e6, 12_000.0 / 850e6]).expect("positive")
}

#[test]
fn theorem_1_as_printed_breaks_its_constraint() {
    let downlink = fig7();
    let printed = downlink.levels(&downlink.equal_airtime(32.0, Regulated::Slowest)).expect("feasible");
    assert!(near(printed[0], 32.0) && printed[1] > 53.0, "{printed:?}");
    let feasible = downlink.levels(&downlink.equal_airtime(32.0, Regulated::Fastest)).expect("feasible");
    assert!(near(feasible[1], 32.0) && feasible[0] < 20.0, "{feasible:?}");
}

#[test]
fn the_feasible_form_of_theorem_1_is_not_the_optimum() {
    let downlink = fig7();
    let best = Optimum::of(&downlink, 32.0, Utility::Proportional).expect("an optimum");
    let equal = downlink.equal_airtime(32.0, Regulated::Fastest);
    assert_eq!(best.capped, 2);
    assert!(Utility::Proportional.of(&best.rates) > Utility::Proportional.of(&equal) + 0.01);
    assert!(best.rates.iter().sum::<f64>() > equal.iter().sum::<f64>());
}

#[test]
fn nonsense_is_no_network() {
    assert!(Downlink::new(0.0, vec![1.0]).is_none());
    assert!(Downlink::new(1.0, vec![]).is_none());
    assert!(Downlink::new(1.0, vec![1.0, f64::NAN]).is_none());
    assert!(fig7().with_retransmissions(&[0.1]).is_none());
    assert!(fig7().with_retransmissions(&[0.1, 1.0]).is_none());
    assert!(Optimum::of(&fig7(), f64::NAN, Utility::MaxMin).is_none());
    assert!(Optimum::of(&fig7(), 32.0, Utility::Alpha(0.0)).is_none());
    assert!(DualAscent::new(fig7(), 32.0, Utility::Proportional, 2.0).is_none());
}

proptest! {
    #[test]
    fn lemma_2_solves_equation_9(downlink in downlinks(), draws in prop::collection::vec(0.0..1.0_f64, 12), used in 0.01..0.99) {
        let rates = feasible(&downlink, &draws, used);
        let levels = downlink.levels(&rates).expect("time is free");
        let round = downlink.round_overhead() + downlink.payload_share(&levels);
        for (level, rate) in levels.iter().zip(&rates) {
            prop_assert!((level / (round * rate) - 1.0).abs() < 1e-6);
            // Lemma 1.
            prop_assert!((rate / level / downlink.frame_rate(&rates) - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn the_projection_agrees_where_it_does_not_bind(downlink in downlinks(), draws in prop::collection::vec(0.0..1.0_f64, 12)) {
        let rates = feasible(&downlink, &draws, 0.5);
        let free = downlink.levels(&rates).expect("time is free");
        let projected = downlink.projected_levels(&rates, 1e9);
        if free.iter().all(|level| *level >= 1.0) {
            for (a, b) in free.iter().zip(&projected) {
                prop_assert!((a / b - 1.0).abs() < 1e-6, "{a} {b}");
            }
        }
        prop_assert!(downlink.projected_levels(&rates, 64.0).iter().all(|level| (1.0..=64.0).contains(level)));
    }

    #[test]
    fn equation_8_is_equation_7_of_equal_stations(n in 1_usize..20, mbps in 50.0..1000.0_f64, rate in 1.0..1e5_f64) {
        let downlink = Downlink::new(214e-6, vec![12_000.0 / (mbps * 1e6); n]).expect("positive");
        let one = downlink.symmetric_level(rate, 64.0);
        let all = downlink.projected_levels(&vec![rate; n], 64.0);
        prop_assert!(all.iter().all(|level| (level - one).abs() < 1e-3), "{one} {all:?}");
    }

    #[test]
    fn the_region_is_convex_in_logarithms(
        downlink in downlinks(), a in prop::collection::vec(0.0..1.0_f64, 12), b in prop::collection::vec(0.0..1.0_f64, 12), share in 0.0..1.0_f64
    ) {
        let inside = |draws: &[f64]| {
            let mut rates = feasible(&downlink, draws, 0.9);
            while !downlink.admits(&rates, 64.0) {
                rates.iter_mut().for_each(|rate| *rate *= 0.8);
            }
            rates
        };
        let (one, other) = (inside(&a), inside(&b));
        let between: Vec<f64> =
            one.iter().zip(&other).map(|(x, y)| (share * x.ln() + (1.0 - share) * y.ln()).exp() * (1.0 - 1e-12)).collect();
        prop_assert!(downlink.admits(&between, 64.0));
    }

    #[test]
    fn theorem_1_in_its_feasible_form(downlink in downlinks(), target in 1.0..64.0_f64) {
        let rates = downlink.equal_airtime(target, Regulated::Fastest);
        let levels = downlink.levels(&rates).expect("feasible");
        prop_assert!(levels.iter().all(|level| *level <= target * (1.0 + 1e-9)));
        prop_assert!(levels.iter().any(|level| (level / target - 1.0).abs() < 1e-6));
        // Corollary 1.
        for share in downlink.airtime_shares(&rates) {
            prop_assert!((share * downlink.stations() as f64 - 1.0).abs() < 1e-9);
        }
        // Corollary 2: N_i w_i is the same for all.
        let products: Vec<f64> = levels.iter().zip(downlink.packet_airtime()).map(|(level, w)| level * w).collect();
        prop_assert!(products.iter().all(|product| (product / products[0] - 1.0).abs() < 1e-9));
    }

    #[test]
    fn theorem_1_as_printed_is_feasible_for_equal_stations_only(downlink in downlinks(), target in 1.0..64.0_f64) {
        let levels = downlink.levels(&downlink.equal_airtime(target, Regulated::Slowest)).expect("some time is free");
        let airtimes = downlink.packet_airtime();
        let equal = airtimes.iter().all(|w| (w / airtimes[0] - 1.0).abs() < 1e-9);
        let feasible = levels.iter().all(|level| *level <= target * (1.0 + 1e-6));
        prop_assert_eq!(equal, feasible);
    }

    /// No feasible rates in a wide sample have a higher value of the given utility.
    #[test]
    fn nothing_beats_the_optimum(
        downlink in downlinks(), target in 1.0..64.0_f64, exponent in 0.2..6.0_f64, draws in prop::collection::vec(-1.0..1.0_f64, 12), reach in 0.0..1.0_f64
    ) {
        for utility in [Utility::Proportional, Utility::Alpha(exponent), Utility::MaxMin] {
            let best = Optimum::of(&downlink, target, utility).expect("an optimum");
            let levels = downlink.levels(&best.rates).expect("feasible");
            prop_assert!(levels.iter().all(|level| *level <= target * (1.0 + 1e-9)));
            let value = utility.of(&best.rates);
            // Another point, moved back along the ray until it is feasible.
            let mut other: Vec<f64> =
                best.rates.iter().zip(&draws).map(|(rate, draw)| rate * (reach * draw).exp()).collect();
            let scale = downlink.packet_airtime().iter().zip(&other).map(|(w, x)| w * x).sum::<f64>()
                + downlink.round_overhead() / target * other.iter().copied().fold(0.0, f64::max);
            other.iter_mut().for_each(|rate| *rate /= scale);
            prop_assert!(utility.of(&other) <= value + 1e-9 * value.abs().max(1.0), "{utility:?}");
        }
    }

    #[test]
    fn dual_ascent_finds_the_optimum(
        overhead in 100e-6..500e-6_f64, mbps in prop::collection::vec(100.0..1000.0_f64, 1..5), exponent in 0.5..3.0_f64
    ) {
        let downlink = Downlink::new(overhead, mbps.iter().map(|rate| 12_000.0 / (rate * 1e6)).collect()).expect("positive");
        for (utility, within) in [(Utility::Proportional, 0.01), (Utility::Alpha(exponent), 0.01), (Utility::MaxMin, 0.1)] {
            let best = Optimum::of(&downlink, 32.0, utility).expect("an optimum");
            let mut ascent = DualAscent::new(downlink.clone(), 32.0, utility, 0.5).expect("valid");
            (0..2000).for_each(|_| ascent.update());
            for (found, exact) in ascent.rates().iter().zip(&best.rates) {
                prop_assert!((found / exact - 1.0).abs() < within, "{utility:?}: {:?} {:?}", ascent.rates(), best.rates);
            }
        }
    }

    #[test]
    fn slopes_are_those_of_the_levels(downlink in downlinks(), target in 2.0..64.0_f64) {
        let rates = downlink.equal_airtime(target, Regulated::Fastest);
        let before = downlink.levels(&rates).expect("feasible");
        let own = downlink.own_slope(&rates, 0).expect("feasible");
        let mut moved = rates.clone();
        moved[0] *= 1.0 + 1e-7;
        let after = downlink.levels(&moved).expect("feasible");
        prop_assert!(((after[0] - before[0]) / (rates[0] * 1e-7) / own - 1.0).abs() < 1e-2);
        let all: Vec<f64> = rates.iter().map(|rate| rate * (1.0 + 1e-7)).collect();
        let after = downlink.levels(&all).expect("feasible");
        let joint = downlink.joint_slope(&rates).expect("feasible");
        prop_assert!(((after[0] - before[0]) / (rates[0] * 1e-7) / joint - 1.0).abs() < 1e-2);
    }

    #[test]
    fn retransmissions_take_airtime(downlink in downlinks(), loss in 0.0..0.9_f64) {
        let lossy = downlink.with_retransmissions(&vec![loss; downlink.stations()]).expect("valid");
        let rates = downlink.equal_airtime(32.0, Regulated::Fastest);
        prop_assert!(near(lossy.payload_share(&rates), downlink.payload_share(&rates) / (1.0 - loss)));
        let fewer = lossy.equal_airtime(32.0, Regulated::Fastest);
        prop_assert!(fewer.iter().zip(&rates).all(|(with, without)| *with <= without * (1.0 + 1e-12)));
    }
}
