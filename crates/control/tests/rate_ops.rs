//! Every rate control under arbitrary calls.

use std::collections::BTreeMap;

use airbound_control::frame::RateChain;
use airbound_control::frame::StationId;
use airbound_control::rate::{
    AnyRate, Capabilities, FixedConfig, IdealConfig, LinkStats, LlraConfig, MinstrelHtConfig, RateConfig,
    RateControl, RateReport, ThompsonConfig,
};
use airbound_units::{Decibel, Instant, Span};
use airbound_wifi::rate::{Format, GuardInterval, Legacy, Rate, Width};
use bolero::TypeGenerator;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, MapDeserializer};

#[derive(Debug, Clone, TypeGenerator)]
enum Op {
    /// The clock advances, or goes back.
    Pass(i32),
    RateChain(u16, u16),
    /// A report about the last chain.
    Report {
        transmissions: u8,
        mpdus: u16,
        acknowledged: u16,
    },
    /// A report about rates that were never handed out.
    Stranger {
        station: u16,
        rates: [(u8, u8); 4],
        probe: bool,
        mpdus: u16,
        acknowledged: u16,
    },
    Signal(u16, f64),
    Unseen(u16),
    Capabilities(u16, u8),
}

/// Capabilities that differ in all fields.
fn capabilities(choice: u8) -> Capabilities {
    let set = |format, width, max_streams, short_guard_interval| Capabilities {
        format,
        width,
        max_streams,
        short_guard_interval,
        rates: Vec::new(),
    };
    match choice % 6 {
        0 => Capabilities::default(),
        1 => set(Format::Legacy, Width::Mhz20, 1, false),
        2 => set(Format::Ht, Width::Mhz40, 4, true),
        3 => set(Format::He, Width::Mhz160, 4, true),
        4 => Capabilities::only(vht(3)),
        _ => Capabilities {
            rates: vec![Rate::legacy(Legacy::Mbps6), vht(2), vht(7)],
            ..Capabilities::default()
        },
    }
}

fn vht(mcs: u8) -> Rate {
    Rate::vht(mcs, 1, Width::Mhz40, GuardInterval::Ns800).expect("exists")
}

fn configs() -> Vec<RateConfig> {
    let minstrel = MinstrelHtConfig::default;
    vec![
        RateConfig::Fixed(FixedConfig::default()),
        RateConfig::Ideal(IdealConfig::default()),
        RateConfig::MinstrelHt(minstrel()),
        RateConfig::MinstrelHt(MinstrelHtConfig {
            chain_steps: 1,
            sample_interval: Span::ZERO,
            update_interval: Span::from_millis(1),
            average: airbound_control::rate::minstrel_ht::Average::Ewma,
            ..minstrel()
        }),
        RateConfig::Llra(LlraConfig::default()),
        RateConfig::Llra(LlraConfig {
            percentile: 1,
            window_frames: 1,
            probes: 100,
            max_tries: 1,
            ..LlraConfig::default()
        }),
        RateConfig::Thompson(ThompsonConfig::default()),
        RateConfig::Thompson(ThompsonConfig {
            memory: Span::from_millis(1),
            max_tries: 1,
            whole_counts: true,
            ..ThompsonConfig::default()
        }),
    ]
}

fn apply(mut rate: AnyRate, ops: &[Op]) {
    let mut now = Instant::from_nanos(1 << 40);
    let mut known: BTreeMap<u16, Capabilities> = BTreeMap::new();
    let mut last: Option<(StationId, RateChain)> = None;
    for op in ops {
        match *op {
            Op::Pass(micros) if micros < 0 => {
                now = now - Span::from_micros(micros.unsigned_abs().into());
            }
            Op::Pass(micros) => now += Span::from_micros(micros.unsigned_abs().into()),
            Op::RateChain(station, mpdus) => {
                let chain = rate.chain(now, StationId(station), mpdus);
                let allowed = known.get(&station).cloned().unwrap_or_default().rate_set().expect("valid");
                assert!((1..=RateChain::MAX_STEPS).contains(&chain.steps().len()));
                assert!(chain.steps().iter().all(|step| allowed.contains(step.rate)), "{chain:?}");
                assert!(chain.steps().iter().all(|step| step.tries > 0));
                assert!(allowed.contains(rate.expected_rate(StationId(station))));
                last = Some((StationId(station), chain));
            }
            Op::Report { transmissions, mpdus, acknowledged } => {
                let Some((station, chain)) = last else { continue };
                let report = RateReport { used: chain.used(transmissions.into()), mpdus, acknowledged };
                rate.on_report(now, station, &report);
            }
            Op::Stranger { station, rates, probe, mpdus, acknowledged } => {
                let every: Vec<Rate> = (0..6)
                    .flat_map(|choice| capabilities(choice).rate_set().expect("valid").as_slice().to_vec())
                    .collect();
                let pick = |index: u8| every[usize::from(index) * 7 % every.len()];
                let mut used = RateChain::single(pick(rates[0].0), rates[0].1);
                for (index, tries) in &rates[1..] {
                    used.push(pick(*index), *tries);
                }
                used.probe = probe;
                rate.on_report(now, StationId(station), &RateReport { used, mpdus, acknowledged });
            }
            Op::Signal(station, snr) => {
                let stats = LinkStats { snr: Some(Decibel::new(snr)), ..LinkStats::default() };
                rate.on_link_stats(now, StationId(station), &stats);
            }
            Op::Unseen(station) => rate.on_link_stats(now, StationId(station), &LinkStats::default()),
            Op::Capabilities(station, choice) => {
                // Numbers that no station can have keep the common capabilities.
                let station = station % 64;
                rate.set_capabilities(StationId(station), &capabilities(choice)).expect("valid");
                known.insert(station, capabilities(choice));
            }
        }
    }
}

#[test]
fn any_order_of_calls_is_survived() {
    bolero::check!().with_type::<Vec<Op>>().for_each(|ops| {
        for config in configs() {
            apply(config.build(&Capabilities::default(), 1).expect("valid"), ops);
        }
    });
}

/// Law returns a PSDU whose time limit expired before it was on the air.
#[test]
fn a_report_of_no_transmission_is_survived() {
    let report = |transmissions, acknowledged| Op::Report { transmissions, mpdus: 3, acknowledged };
    let ops = [Op::RateChain(1, 3), report(0, 0), report(0, 3), Op::RateChain(1, 3), report(1, 3)];
    for config in configs() {
        apply(config.build(&Capabilities::default(), 1).expect("valid"), &ops);
    }
}

fn read<const N: usize>(fields: [(&'static str, &'static str); N]) -> Result<RateConfig, Error> {
    let fields = fields.into_iter().map(|(key, value)| (key.into_deserializer(), value));
    RateConfig::deserialize(MapDeserializer::<'_, _, Error>::new(
        fields.map(|(key, value): (serde::de::value::StrDeserializer<'_, Error>, _)| (key, value)),
    ))
}

#[test]
fn configurations_are_read_by_their_names() {
    let fixed = read([("kind", "fixed"), ("rate", "VHT40 MCS3 1SS LGI")]).expect("valid");
    assert_eq!(fixed, RateConfig::Fixed(FixedConfig { rate: Some(vht(3)), ..FixedConfig::default() }));
    assert_eq!(read([("kind", "ideal")]).expect("valid").name(), "ideal");
    let minstrel = read([("kind", "minstrel-ht"), ("update-interval", "20 ms"), ("average", "ewma")]);
    let RateConfig::MinstrelHt(minstrel) = minstrel.expect("valid") else { panic!("another kind") };
    assert_eq!(minstrel.update_interval, Span::from_millis(20));
    assert_eq!(minstrel.sample_interval, Span::from_millis(20));
}

#[test]
fn unknown_keys_and_kinds_are_refused() {
    for fields in
        [[("kind", "fixed"), ("rates", "1")], [("kind", "minstrel-ht"), ("update_interval", "20 ms")]]
    {
        let error = read(fields).expect_err("unknown key").to_string();
        assert!(error.contains(&format!("unknown field `{}`", fields[1].0)), "{error}");
    }
    assert!(read([("kind", "minstrel")]).is_err());
}
