//! LLRA and Thompson sampling over a simulated channel: frames are sent one by one, as over openwifi.

use airbound_control::frame::RateChain;
use airbound_control::frame::StationId;
use airbound_control::rate::{
    AnyRate, Capabilities, LlraConfig, RateConfig, RateControl, RateReport, ThompsonConfig,
};
use airbound_units::{ByteCount, Decibel, Instant, Span};
use airbound_wifi::error::mpdu_success;
use airbound_wifi::rate::{Format, Rate, Width};
use airbound_wifi::timing::PpduTiming;

const STATION: StationId = StationId(0);
const MPDU: ByteCount = ByteCount::new(1_538);

fn openwifi() -> Capabilities {
    Capabilities {
        format: Format::Ht,
        width: Width::Mhz20,
        max_streams: 1,
        short_guard_interval: false,
        ..Capabilities::default()
    }
}

fn rivals() -> Vec<RateConfig> {
    vec![RateConfig::Llra(LlraConfig::default()), RateConfig::Thompson(ThompsonConfig::default())]
}

/// A transmitter that always has a frame for one station.
struct Channel {
    control: AnyRate,
    now: Instant,
    snr: f64,
    delivered: u64,
    transmissions: u64,
    random: u64,
}

impl Channel {
    fn new(config: &RateConfig, snr: f64, seed: u64) -> Self {
        let control = config.build(&openwifi(), seed).expect("valid");
        Self { control, now: Instant::ZERO, snr, delivered: 0, transmissions: 0, random: seed }
    }

    fn success(&self, rate: Rate) -> f64 {
        mpdu_success(rate, Decibel::new(self.snr), MPDU)
    }

    fn duration(rate: Rate) -> Span {
        // Plus AIFS, a mean backoff, SIFS and an acknowledgement.
        PpduTiming::new(rate).duration(MPDU) + Span::from_micros(43 + 67 + 16 + 44)
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 11) as f64) < probability * (1u64 << 53) as f64
    }

    /// Sends one descriptor: its frame is tried until it is acknowledged or the chain ends.
    fn send(&mut self) -> RateChain {
        let chain = self.control.chain(self.now, STATION, 1);
        let (mut tries, mut acknowledged) = (0, false);
        while !acknowledged && let Some(rate) = chain.rate_of(tries) {
            tries += 1;
            let success = self.success(rate);
            acknowledged = self.chance(success);
            self.now += Self::duration(rate);
        }
        self.delivered += u64::from(acknowledged);
        self.transmissions += u64::from(tries);
        let report = RateReport { used: chain.used(tries), mpdus: 1, acknowledged: acknowledged.into() };
        self.control.on_report(self.now, STATION, &report);
        chain
    }

    /// Frames delivered per second during `span`.
    fn frames_per_second(&mut self, span: Span) -> f64 {
        let (start, delivered) = (self.now, self.delivered);
        while self.now < start + span {
            self.send();
        }
        (self.delivered - delivered) as f64 / (self.now - start).as_secs_f64()
    }

    /// The highest goodput of a single rate.
    fn best(&self) -> f64 {
        let rates = openwifi().rate_set().expect("valid");
        let goodput = |rate: &Rate| self.success(*rate) / Self::duration(*rate).as_secs_f64();
        rates.as_slice().iter().map(goodput).fold(0.0, f64::max)
    }
}

#[test]
fn on_a_steady_channel_nearly_the_best_rate_is_used() {
    for config in rivals() {
        for snr in [5.0, 8.0, 11.0, 14.0, 17.0, 20.0, 23.0, 26.0, 40.0] {
            let mut channel = Channel::new(&config, snr, 11);
            channel.frames_per_second(Span::from_secs(2));
            let reached = channel.frames_per_second(Span::from_secs(8));
            let share = reached / channel.best();
            assert!(share > 0.85, "{}, {snr} dB: {share:.3} of the best", config.name());
        }
    }
}

/// Returns the reaction time to a rate that has stopped working. Thompson sampling first has to outweigh a second of history.
fn reaction(config: &RateConfig) -> Span {
    match config {
        RateConfig::Thompson(_) => Span::from_secs(2),
        _ => Span::from_millis(500),
    }
}

#[test]
fn a_drop_is_followed_in_time() {
    for config in rivals() {
        for (from, to) in [(40.0, 8.0), (26.0, 14.0), (20.0, 5.0)] {
            let mut channel = Channel::new(&config, from, 5);
            channel.frames_per_second(Span::from_secs(5));
            channel.snr = to;
            channel.frames_per_second(reaction(&config));
            let share = channel.frames_per_second(Span::from_millis(500)) / channel.best();
            assert!(share > 0.7, "{}, {from} to {to} dB: {share:.3} of the best", config.name());
        }
    }
}

#[test]
fn a_better_channel_is_found_within_five_seconds() {
    for config in rivals() {
        let mut channel = Channel::new(&config, 5.0, 3);
        channel.frames_per_second(Span::from_secs(5));
        channel.snr = 40.0;
        channel.frames_per_second(Span::from_secs(5));
        let share = channel.frames_per_second(Span::from_secs(2)) / channel.best();
        assert!(share > 0.9, "{}: {share:.3} of the best", config.name());
    }
}

#[test]
fn the_same_calls_give_the_same_chains() {
    let chains = |config: &RateConfig, seed| {
        let mut channel = Channel::new(config, 17.0, 1);
        channel.control = config.build(&openwifi(), seed).expect("valid");
        (0..2000).map(|_| channel.send()).collect::<Vec<_>>()
    };
    for config in rivals() {
        assert_eq!(chains(&config, 4), chains(&config, 4));
        if matches!(config, RateConfig::Thompson(_)) {
            assert_ne!(chains(&config, 4), chains(&config, 5));
        }
    }
}

#[test]
fn values_out_of_range_are_refused() {
    let refused = |config: RateConfig| config.build(&openwifi(), 1).expect_err("out of range").to_string();
    let (llra, thompson) = (LlraConfig::default, ThompsonConfig::default);
    assert_eq!(
        refused(RateConfig::Llra(LlraConfig { percentile: 100, ..llra() })),
        "rate.percentile is 100; allowed is 1 to 99"
    );
    for (config, key) in [
        (LlraConfig { window_frames: 0, ..llra() }, "rate.window-frames"),
        (LlraConfig { window: Span::ZERO, ..llra() }, "rate.window"),
        (LlraConfig { probes: 101, ..llra() }, "rate.probes"),
        (LlraConfig { max_tries: 0, ..llra() }, "rate.max-tries"),
        (LlraConfig { segment: Span::ZERO, ..llra() }, "rate.segment"),
        (LlraConfig { mpdu: ByteCount::ZERO, ..llra() }, "rate.mpdu"),
    ] {
        assert!(refused(RateConfig::Llra(config)).contains(key), "{key}");
    }
    assert_eq!(
        refused(RateConfig::Thompson(ThompsonConfig { memory: Span::ZERO, ..thompson() })),
        "rate.memory is 0 ms; allowed is 1 ms to 1000 s"
    );
    assert_eq!(
        refused(RateConfig::Thompson(ThompsonConfig { max_tries: 32, ..thompson() })),
        "rate.max-tries is 32; allowed is 1 to 31"
    );
    assert!(
        refused(RateConfig::Thompson(ThompsonConfig { segment: Span::ZERO, ..thompson() }))
            .contains("rate.segment")
    );
}
