//! Processing time of an aggregate in each rate control: one chain and one report; for Minstrel-HT including the update every 50 ms.

use std::hint::black_box;
use std::time::Duration;

use airbound_control::frame::StationId;
use airbound_control::rate::{
    Capabilities, FixedConfig, IdealConfig, LinkStats, LlraConfig, MinstrelHtConfig, RateConfig, RateControl,
    RateReport, ThompsonConfig,
};
use airbound_units::{Decibel, Instant, Span};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn rates(criterion: &mut Criterion) {
    let kinds = [
        RateConfig::Fixed(FixedConfig::default()),
        RateConfig::Ideal(IdealConfig::default()),
        RateConfig::MinstrelHt(MinstrelHtConfig::default()),
        RateConfig::Llra(LlraConfig::default()),
        RateConfig::Thompson(ThompsonConfig::default()),
    ];
    let mut group = criterion.benchmark_group("rate");
    group.throughput(Throughput::Elements(1));
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_millis(700));
    for config in &kinds {
        for stations in [1, 20] {
            let mut rate = config.build(&Capabilities::default(), 1).expect("valid");
            let mut now = Instant::ZERO;
            let mut next = 0;
            group.bench_function(BenchmarkId::new(config.name(), stations), |bencher| {
                bencher.iter(|| {
                    now += Span::from_millis(1);
                    next = if next + 1 < stations { next + 1 } else { 0 };
                    let station = StationId(next);
                    let snr = Some(Decibel::new(25.0 + f64::from(next % 8)));
                    rate.on_link_stats(now, station, &LinkStats { snr, ..LinkStats::default() });
                    let used = black_box(rate.chain(now, station, 32)).used(1);
                    rate.on_report(now, station, &RateReport { used, mpdus: 32, acknowledged: 30 });
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, rates);
criterion_main!(benches);
