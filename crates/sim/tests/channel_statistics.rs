//! Channels have the statistics of their models, independent of earlier queries.

use airbound_air::propagation::{LinkQuality, Propagation};
use airbound_scenario::{Overrides, Scenario};
use airbound_units::{Decibel, Instant, MetrePerSecond, Span};
use proptest::prelude::*;

fn scenario(channel: &str, more: &str) -> Scenario {
    let text = format!(
        "duration = \"1 s\"\n[air]\nstandard = \"ht\"\n[[station]]\nname = \"s\"\nchannel = {{ {channel} }}\n\
         [[flow]]\nname = \"f\"\nkind = \"voip\"\nstation = \"s\"\n{more}"
    );
    Scenario::parse(&text, "test", &Overrides::none()).unwrap()
}

fn channel_of(channel: &str, seed: u64, link: u64) -> Propagation {
    let scenario = scenario(channel, "");
    scenario.stations[0].propagation(&scenario.air, &scenario.access_point.path, seed, link)
}

/// Power gains relative to the unfaded channel, sampled every `step` over several links.
fn gains(fading: &str, step: Span, count: u64, links: u64) -> Vec<f64> {
    let unfaded =
        channel_of("kind = \"log-distance\", distance = \"10 m\"", 1, 0).snr(Instant::ZERO).unwrap();
    let text = format!("kind = \"log-distance\", distance = \"10 m\", fading = {fading}");
    let mut gains = Vec::new();
    for link in 0..links {
        let channel = channel_of(&text, 1, link);
        for n in 0..count {
            let snr = channel.snr(Instant::ZERO + step * n).unwrap();
            gains.push(Decibel::new(snr.value() - unfaded.value()).linear());
        }
    }
    gains
}

fn share_below(gains: &[f64], limit: f64) -> f64 {
    gains.iter().filter(|gain| **gain < limit).count() as f64 / gains.len() as f64
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn log_distance_gives_the_link_budget() {
    // 16 dBm - 46.6777 dB - 30 dB over a noise of -173.975 + 76.02 + 7 dB in 40 MHz.
    let channel = channel_of("kind = \"log-distance\", distance = \"10 m\"", 1, 0);
    let snr = channel.snr(Instant::ZERO).unwrap().value();
    assert!((snr - (16.0 - 76.6777 + 173.975 - 76.0206 - 7.0)).abs() < 0.05, "{snr}");
    assert!(channel.is_constant());
    assert_eq!(channel_of("kind = \"ideal\"", 1, 0).quality(Instant::ZERO), LinkQuality::Perfect);
}

/// Power under Rayleigh fading is exponential.
#[test]
fn rayleigh_is_exponential() {
    for fading in ["\"rayleigh\"", "{ kind = \"rayleigh\", independence = \"per-ppdu\" }"] {
        let gains = gains(fading, Span::from_millis(137), 2000, 100);
        assert!((mean(&gains) - 1.0).abs() < 0.02, "{}", mean(&gains));
        for limit in [0.01, 0.1, 0.5, 1.0, 2.0, 4.0] {
            let expected = 1.0 - libm::exp(-limit);
            let found = share_below(&gains, limit);
            // Sixteen sinusoids are within 10 % of the exponential law and 0.01 of its distribution.
            assert!(
                (found - expected).abs() < 0.01f64.min(0.15 * expected),
                "{fading} {limit}: {found} for {expected}"
            );
        }
    }
}

/// For K = 6 dB: mean 1, variance (1 + 2K)/(1 + K)^2 of the power.
#[test]
fn rician_has_its_moments() {
    let k = Decibel::new(6.0).linear();
    for independence in ["doppler", "per-ppdu"] {
        let fading = format!("{{ kind = \"rician\", k = \"6 dB\", independence = \"{independence}\" }}");
        let gains = gains(&fading, Span::from_millis(137), 2000, 100);
        let variance = mean(&gains.iter().map(|gain| (gain - 1.0) * (gain - 1.0)).collect::<Vec<_>>());
        let expected = (1.0 + 2.0 * k) / ((1.0 + k) * (1.0 + k));
        assert!((mean(&gains) - 1.0).abs() < 0.02, "{}", mean(&gains));
        assert!((variance - expected).abs() < 0.05 * expected, "{independence}: {variance} for {expected}");
    }
}

/// Nakagami power is gamma distributed: mean 1, variance 1/m.
#[test]
fn nakagami_has_its_variance() {
    for (m, expected) in [("3.0", 1.0 / 3.0), ("0.75", 1.0 / 0.75), ("\"by-distance\"", 1.0 / 1.5)] {
        let gains = gains(&format!("{{ kind = \"nakagami\", m = {m} }}"), Span::from_millis(1), 100_000, 1);
        let variance = mean(&gains.iter().map(|gain| (gain - 1.0) * (gain - 1.0)).collect::<Vec<_>>());
        assert!((mean(&gains) - 1.0).abs() < 0.02);
        assert!((variance - expected).abs() < 0.05 * expected, "{m}: {variance}");
    }
}

/// The autocovariance of Clarke's power is J0(2 pi f tau)^2: its first zero is at f tau = 0.3827.
#[test]
fn doppler_decorrelates_where_clarke_says() {
    let speed = MetrePerSecond::new(2.0).value();
    let shift = speed * 5.5e9 / 299_792_458.0;
    let correlation = |turns: f64| {
        let lag = Span::from_secs_f64(turns / shift);
        let mut sum = 0.0;
        let (links, count) = (200, 300);
        for link in 0..links {
            let text = "kind = \"log-distance\", distance = \"1 m\", fading = { kind = \"rayleigh\", speed = \"2 m/s\" }";
            let channel = channel_of(text, 9, link);
            let reference =
                channel_of("kind = \"log-distance\", distance = \"1 m\"", 9, 0).snr(Instant::ZERO).unwrap();
            let power = |at: Instant| {
                Decibel::new(channel.snr(at).unwrap().value() - reference.value()).linear() - 1.0
            };
            for n in 0..count {
                let at = Instant::ZERO + Span::from_millis(61) * n;
                sum += power(at) * power(at + lag);
            }
        }
        sum / (links * count) as f64
    };
    // N sinusoids of equal strength lack the N terms of a path with itself: everything is lower by 1/N.
    let missing = 1.0 / 16.0;
    // J0(0)^2 = 1, J0(2 pi 0.19)^2 = 0.459, J0(2 pi 0.3827) = 0, J0(2 pi 0.61)^2 = 0.160.
    for (turns, expected) in [(0.0, 1.0), (0.19, 0.459), (0.3827, 0.0), (0.61, 0.160)] {
        let found = correlation(turns);
        assert!((found - (expected - missing)).abs() < 0.03, "{turns}: {found}");
    }
}

#[test]
fn shadowing_is_normal_and_fades_out_of_memory() {
    let channel = channel_of("kind = \"log-distance\", distance = \"1 m\", shadowing = \"4 dB\"", 5, 2);
    let reference =
        channel_of("kind = \"log-distance\", distance = \"1 m\"", 5, 2).snr(Instant::ZERO).unwrap();
    let gain = |millis: u64| {
        channel.snr(Instant::ZERO + Span::from_millis(millis)).unwrap().value() - reference.value()
    };
    let product =
        |lag: u64| mean(&(0..40_000u64).map(|n| gain(n * 731) * gain(n * 731 + lag)).collect::<Vec<_>>());
    assert!((product(0) - 16.0).abs() < 0.8, "{}", product(0));
    assert!(product(100) > 14.0, "{}", product(100));
    assert!(product(2000).abs() < 0.8, "{}", product(2000));
    let within = (0..40_000u64).filter(|n| gain(n * 731).abs() < 4.0).count() as f64 / 40_000.0;
    assert!((within - 0.6827).abs() < 0.02, "{within}");
}

#[test]
fn bursts_have_their_lengths() {
    let scenario = scenario(
        "kind = \"ideal\"",
        "[[interference]]\nname = \"i\"\nmean-on = \"2 ms\"\nmean-off = \"6 ms\"\nstart = \"1 s\"\nstop = \"101 s\"\n",
    );
    let bursts = scenario.interferences[0].bursts(3, 0);
    assert!(!bursts.is_on(Instant::ZERO));
    let (mut now, mut on, mut changes, mut previous) = (Instant::ZERO, Span::ZERO, 0u64, false);
    loop {
        let next = bursts.next_change(now);
        if next == Instant::MAX {
            break;
        }
        assert!(next > now);
        let busy = bursts.is_on(next);
        assert_ne!(busy, previous, "a change at {next} changes nothing");
        if previous {
            on += next - now;
        }
        (now, previous, changes) = (next, busy, changes + 1);
    }
    assert!(now <= Instant::ZERO + Span::from_secs(101) && !previous);
    let share = on.as_secs_f64() / 100.0;
    assert!((share - 0.25).abs() < 0.01, "{share}");
    // 100 s hold 12 500 cycles of 8 ms, each two changes; the seam of a block joins at most one in 64.
    assert!((changes as f64 - 25_000.0).abs() < 700.0, "{changes}");
}

#[test]
fn a_bandwidth_trace_becomes_phy_rates() {
    let scenario = scenario("kind = \"trace\", file = \"shipped:crowded-room.log\"", "");
    let path = &scenario.access_point.path;
    let channel = scenario.stations[0].propagation(&scenario.air, path, 1, 0);
    let saturation = scenario.stations[0].saturation(&scenario.air, path);
    let mut outages = 0;
    for step in 0..600u64 {
        let LinkQuality::Phy(quality) = channel.quality(Instant::ZERO + Span::from_millis(step * 100)) else {
            panic!()
        };
        outages += u32::from(quality.is_outage());
        assert!(quality.rate >= saturation.slowest_rate());
    }
    assert!(outages > 0);
    let LinkQuality::Phy(first) = channel.quality(Instant::ZERO) else { panic!() };
    let goodput = saturation.goodput(first.rate).as_mbps_f64();
    assert!((goodput - 23.56).abs() < 0.1, "{goodput}");
}

proptest! {
    /// Earlier queries, and their order, change no answer.
    #[test]
    fn order_of_queries_does_not_matter(mut times in proptest::collection::vec(0u64..1 << 44, 1..40), seed: u64) {
        let text = "kind = \"log-distance\", walk = { from = \"2 m\", to = \"20 m\", return = true }, shadowing = \"3 dB\", \
                    fading = \"rician\", blockage = [{ pause = \"3 s\" }, { length = \"1 min\", pause = \"2 min\" }], \
                    activity = { length = \"10 s\", pause = \"20 s\" }";
        let scenario = scenario(text, "[[interference]]\nname = \"i\"\n");
        let path = &scenario.access_point.path;
        let ask = |times: &[u64]| -> Vec<(u64, Option<Decibel>, bool)> {
            let channel = scenario.stations[0].propagation(&scenario.air, path, seed, 4);
            let bursts = scenario.interferences[0].bursts(seed, 0);
            let mut answers: Vec<_> = times
                .iter()
                .map(|time| {
                    let at = Instant::from_nanos(*time);
                    (*time, channel.snr(at), bursts.is_on(at))
                })
                .collect();
            answers.sort_by_key(|(time, _, _)| *time);
            answers
        };
        let forwards = ask(&times);
        times.reverse();
        prop_assert_eq!(ask(&times), forwards);
    }

    /// Links and seeds do not share their fades.
    #[test]
    fn links_differ(seed in 0u64..1000, link in 0u64..200) {
        let text = "kind = \"log-distance\", distance = \"5 m\", fading = \"rayleigh\"";
        let at = Instant::from_nanos(123_456_789);
        let snr = |seed, link| channel_of(text, seed, link).snr(at);
        prop_assert_ne!(snr(seed, link), snr(seed, link + 1));
        prop_assert_ne!(snr(seed, link), snr(seed + 1, link));
    }
}
