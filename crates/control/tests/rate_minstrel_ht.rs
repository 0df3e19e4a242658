//! Minstrel-HT over a simulated channel.

use airbound_control::frame::RateChain;
use airbound_control::frame::StationId;
use airbound_control::rate::{
    Capabilities, MinstrelHt, MinstrelHtConfig, RateControl, RateReport, SampleSpacing,
};
use airbound_units::{ByteCount, Decibel, Instant, Span};
use airbound_wifi::error::mpdu_success;
use airbound_wifi::rate::Rate;
use airbound_wifi::timing::PpduTiming;

const STATION: StationId = StationId(0);
const MPDU: ByteCount = ByteCount::new(1_500);
const MPDUS: u16 = 32;

/// An access point that always has 32 MPDUs for one station.
struct Channel {
    minstrel: MinstrelHt,
    rates: Vec<Rate>,
    now: Instant,
    snr: Decibel,
    /// MPDUs delivered so far.
    delivered: u64,
    random: u64,
}

impl Channel {
    fn new(config: MinstrelHtConfig, capabilities: &Capabilities, snr: f64, seed: u64) -> Self {
        Self {
            minstrel: MinstrelHt::new(config, capabilities, seed).expect("valid"),
            rates: capabilities.rate_set().expect("valid").as_slice().to_vec(),
            now: Instant::ZERO,
            snr: Decibel::new(snr),
            delivered: 0,
            random: seed,
        }
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 11) as f64) < probability * (1u64 << 53) as f64
    }

    fn success(&self, rate: Rate) -> f64 {
        let gain = 80.0 / f64::from(rate.width().megahertz());
        mpdu_success(rate, Decibel::new(self.snr.value() + 10.0 * libm::log10(gain)), MPDU)
    }

    /// Sends one aggregate until an MPDU is acknowledged or the chain ends.
    fn send(&mut self) -> RateChain {
        let chain = self.minstrel.chain(self.now, STATION, MPDUS);
        // As in ath9k: at most 4 ms at every rate of the chain, and samples alone.
        let longest = Span::from_millis(4);
        let fits = chain.steps().iter().map(|step| PpduTiming::new(step.rate).max_psdu(longest).as_u64());
        let fits = (fits.min().unwrap_or(0) / MPDU.as_u64()).clamp(1, MPDUS.into()) as u16;
        let mpdus = if chain.probe { 1 } else { fits };
        let psdu = ByteCount::new(MPDU.as_u64() * u64::from(mpdus));
        let mut acknowledged = 0;
        let mut tries = 0;
        while acknowledged == 0
            && let Some(rate) = chain.rate_of(tries)
        {
            tries += 1;
            let success = self.success(rate);
            acknowledged = (0..mpdus).filter(|_| self.chance(success)).count() as u16;
            self.now += PpduTiming::new(rate).duration(psdu) + Span::from_micros(150);
        }
        self.delivered += u64::from(acknowledged);
        let report = RateReport { used: chain.used(tries), mpdus, acknowledged };
        self.minstrel.on_report(self.now, STATION, &report);
        chain
    }

    fn run_until(&mut self, millis: u64) {
        while self.now < Instant::ZERO + Span::from_millis(millis) {
            self.send();
        }
    }

    fn goodput(&self, rate: Rate) -> f64 {
        rate.bit_rate().as_mbps_f64() * self.success(rate)
    }

    /// Goodput of the rate in use as a share of the highest.
    fn quality(&self) -> f64 {
        let best = self.rates.iter().map(|rate| self.goodput(*rate)).fold(0.0, f64::max);
        self.goodput(self.minstrel.expected_rate(STATION)) / best
    }
}

const SEEDS: [u64; 3] = [1, 2, 3];
const SNRS: [f64; 11] = [5.0, 8.0, 11.0, 14.0, 17.0, 20.0, 23.0, 26.0, 30.0, 35.0, 45.0];

fn channel(snr: f64, seed: u64) -> Channel {
    Channel::new(MinstrelHtConfig::default(), &Capabilities::default(), snr, seed)
}

/// The mean quality of the rate in use, sampled every 50 ms.
fn mean_quality(channel: &mut Channel, from_millis: u64, to_millis: u64) -> f64 {
    let looks = (to_millis - from_millis) / 50;
    let sum: f64 = (1..=looks)
        .map(|look| {
            channel.run_until(from_millis + look * 50);
            channel.quality()
        })
        .sum();
    sum / looks as f64
}

#[test]
fn settles_on_the_best_rate_or_a_neighbour() {
    for seed in SEEDS {
        for snr in SNRS {
            let mut channel = channel(snr, seed);
            channel.run_until(3_000);
            let quality = mean_quality(&mut channel, 3_000, 6_000);
            assert!(quality > 0.85, "{quality:.2} at {snr} dB, seed {seed}");
        }
    }
}

/// The search proceeds through the groups, a few samples in each interval, so it takes longer where few rates work.
#[test]
fn most_channels_are_learnt_within_a_second() {
    let mut settled = 0;
    for seed in SEEDS {
        for snr in SNRS {
            let mut channel = channel(snr, seed);
            channel.run_until(1_000);
            settled += usize::from(channel.quality() > 0.85);
            assert!(channel.quality() > 0.25, "{:.2} at {snr} dB, seed {seed}", channel.quality());
        }
    }
    assert!(settled * 5 >= SEEDS.len() * SNRS.len() * 4, "only {settled} settled");
}

#[test]
fn sampling_costs_little() {
    for snr in SNRS {
        let mut channel = channel(snr, 4);
        let (mut probes, mut sent) = (0u32, 0u32);
        while channel.now < Instant::ZERO + Span::from_secs(5) {
            probes += u32::from(channel.send().probe);
            sent += 1;
        }
        let (mpdus, sampled) = channel.minstrel.mpdus(STATION);
        assert_eq!(sampled, u64::from(probes), "samples go alone");
        assert!(sampled * 50 < mpdus, "{sampled} of {mpdus} at {snr} dB");
        // Three in 50 ms: at the update, 20 ms and 40 ms later.
        assert!(probes <= 300 && sent > 1_000, "{probes} of {sent} at {snr} dB");
    }
}

#[test]
fn a_channel_that_gets_worse_is_followed() {
    // From rates with a margin, one interval of failures is enough; else many rates have to be excluded, each by a
    // filter that takes three intervals.
    for (before, limit) in [(35.0, 200), (30.0, 750), (25.0, 1_000), (20.0, 750)] {
        for seed in SEEDS {
            let mut channel = channel(before, seed);
            channel.run_until(3_000);
            channel.snr = Decibel::new(before - 10.0);
            channel.run_until(3_000 + limit);
            let quality = channel.quality();
            assert!(quality > 0.85, "{quality:.2} after a drop from {before} dB, seed {seed}");
        }
    }
}

#[test]
fn a_channel_that_gets_better_is_followed() {
    for seed in SEEDS {
        let mut channel = channel(15.0, seed);
        channel.run_until(3_000);
        channel.snr = Decibel::new(35.0);
        channel.run_until(4_500);
        assert!(channel.quality() > 0.85, "{:.2}, seed {seed}", channel.quality());
    }
}

#[test]
fn without_sampling_the_slowest_rate_stays() {
    let config = MinstrelHtConfig { sampling: false, ..MinstrelHtConfig::default() };
    let mut channel = Channel::new(config, &Capabilities::default(), 45.0, 1);
    channel.run_until(1_000);
    assert_eq!(channel.minstrel.expected_rate(STATION), channel.rates[0]);
    assert_eq!(channel.minstrel.mpdus(STATION).1, 0);
}

#[test]
fn spaced_by_frames_samples_are_rare_and_the_best_rate_is_found() {
    let sampled = |sample_spacing| {
        let config = MinstrelHtConfig { sample_spacing, ..MinstrelHtConfig::default() };
        let mut channel = Channel::new(config, &Capabilities::default(), 23.0, 1);
        channel.run_until(20_000);
        assert!(channel.quality() > 0.85, "{sample_spacing:?}: {:.2}", channel.quality());
        channel.minstrel.mpdus(STATION).1
    };
    let (by_time, by_frames) = (sampled(SampleSpacing::Time), sampled(SampleSpacing::Frames));
    // 60 samples a second, against one in some 70 frames of about a millisecond.
    assert!(by_time > 3 * by_frames && by_frames > 50, "{by_time} {by_frames}");
}

#[test]
fn the_chain_has_as_many_steps_as_the_hardware_takes() {
    for (chain_steps, expected) in [(1, 1), (2, 2), (3, 3), (4, 3)] {
        let config = MinstrelHtConfig { chain_steps, max_tries: 5, ..MinstrelHtConfig::default() };
        let mut channel = Channel::new(config, &Capabilities::default(), 23.0, 1);
        while channel.now < Instant::ZERO + Span::from_secs(3) {
            let chain = channel.send();
            assert_eq!(chain.steps().len(), expected);
            assert!(chain.steps().iter().all(|step| (1..=5).contains(&step.tries)));
        }
        // Without a chain only neighbours are sampled, and the best rate is found all the same.
        let quality = mean_quality(&mut channel, 3_000, 5_000);
        assert!(quality > 0.7, "{quality:.2} with {chain_steps} steps");
    }
}

#[test]
fn a_sample_is_tried_once_and_backed_by_the_chain() {
    let mut channel = channel(26.0, 5);
    let mut probes = 0;
    for _ in 0..3_000 {
        let regular = channel.minstrel.clone().chain(Instant::ZERO, STATION, 1);
        let chain = channel.send();
        if chain.probe {
            probes += 1;
            assert_eq!(chain.steps()[0].tries, 1);
            assert_eq!(chain.steps().len(), 3);
        } else if !regular.probe {
            assert_eq!(chain, regular);
        }
    }
    assert!(probes > 10, "{probes}");
}

#[test]
fn the_same_calls_give_the_same_answers() {
    let run = |seed| {
        let mut channel = channel(20.0, 9);
        channel.minstrel =
            MinstrelHt::new(MinstrelHtConfig::default(), &Capabilities::default(), seed).expect("valid");
        (0..2_000).map(|_| channel.send()).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2), "the seed decides the order of samples");
}

#[test]
fn the_statistics_can_be_read() {
    let mut channel = channel(35.0, 1);
    assert_eq!(channel.minstrel.status(STATION).count(), 0);
    channel.run_until(3_000);
    let best = channel.minstrel.expected_rate(STATION);
    let status: Vec<_> = channel.minstrel.status(STATION).collect();
    assert_eq!(status.len(), channel.rates.len());
    let of_best = status.iter().find(|status| status.rate == best).expect("known");
    assert!(of_best.success > 0.99 && of_best.attempts > 1_000);
    assert!(of_best.successes <= of_best.attempts);
    let most = status.iter().map(|status| status.throughput).max().expect("not empty");
    assert_eq!(of_best.throughput, most);
    // 90 % of 866.7 Mbit/s less the overhead.
    assert!((500.0..780.0).contains(&most.as_mbps_f64()), "{most}");
}

#[test]
fn new_capabilities_start_anew() {
    let mut channel = channel(35.0, 1);
    channel.run_until(2_000);
    let one_stream = Capabilities { max_streams: 1, ..Capabilities::default() };
    channel.minstrel.set_capabilities(STATION, &one_stream).expect("valid");
    channel.rates = one_stream.rate_set().expect("valid").as_slice().to_vec();
    assert_eq!(channel.minstrel.expected_rate(STATION), channel.rates[0]);
    for _ in 0..3_000 {
        let chain = channel.send();
        assert!(chain.steps().iter().all(|step| step.rate.streams() == 1));
    }
    assert!(channel.quality() > 0.85);
}

#[test]
fn configurations_out_of_range_are_refused() {
    let refused =
        |config| MinstrelHt::new(config, &Capabilities::default(), 0).expect_err("refused").to_string();
    let usual = MinstrelHtConfig::default;
    let error = refused(MinstrelHtConfig { chain_steps: 5, ..usual() });
    assert_eq!(error, "rate.chain-steps is 5; allowed is 1 to 4");
    let error = refused(MinstrelHtConfig { update_interval: Span::ZERO, ..usual() });
    assert_eq!(error, "rate.update-interval is 0 ms; allowed is 1 ms to 10 s");
    refused(MinstrelHtConfig { max_tries: 0, ..usual() });
    refused(MinstrelHtConfig { segment: Span::MAX, ..usual() });
    refused(MinstrelHtConfig { sample_interval: Span::MAX, ..usual() });
}
