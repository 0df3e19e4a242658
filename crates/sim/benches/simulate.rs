//! Total time per delivered packet in the simulator: the saturated VHT scenario of the ns-3 reference with 1, 20 and 50 stations, and a
//! congested access point with a VR stream, TCP and other traffic.

#![allow(missing_docs)]

use std::path::Path;
use std::time::Duration;

use airbound_scenario::{Overrides, Scenario};
use airbound_sim::Run;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

fn shipped(name: &str, changes: &[(&str, &str)]) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(format!("{name}.toml"));
    let mut text = std::fs::read_to_string(&path).expect("a shipped scenario");
    for (from, to) in changes {
        assert!(text.contains(from), "{name} has no {from}");
        text = text.replacen(from, to, 1);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let changed = folder.path().join("scenario.toml");
    std::fs::write(&changed, text).expect("written");
    Scenario::load(&changed, &Overrides::default()).expect("a valid scenario")
}

fn simulate(criterion: &mut Criterion) {
    let short = ("duration = \"10 s\"", "duration = \"2 s\"");
    let n1 = shipped("vht-saturated-n1", &[short, ("warm-up = \"2 s\"", "warm-up = \"0 s\"")]);
    let n20 = shipped("vht-saturated-n20", &[short, ("warm-up = \"2 s\"", "warm-up = \"0 s\"")]);
    // As n = 20, with the same load and buffer for each station in proportion.
    let n50 = shipped(
        "vht-saturated-n20",
        &[
            short,
            ("warm-up = \"2 s\"", "warm-up = \"0 s\""),
            ("count = 20", "count = 50"),
            ("rate = \"31615450 bit/s\"", "rate = \"12646180 bit/s\""),
            ("packets = 4000", "packets = 10000"),
        ],
    );
    let vr = shipped("vr-congested", &[]);
    let mut group = criterion.benchmark_group("simulate");
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
    for (name, scenario) in [("vht-n1", &n1), ("vht-n20", &n20), ("vht-n50", &n50), ("vr-congested", &vr)] {
        let prepare = || Run::new(name, scenario, &scenario.scheme, scenario.seed).expect("buildable");
        let (outcome, _) = prepare().finish().expect("packets are conserved");
        let packets = outcome.summary.flows.iter().map(|flow| flow.packets.delivered).sum();
        group.throughput(Throughput::Elements(packets));
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                prepare,
                |run| run.finish().expect("packets are conserved"),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, simulate);
criterion_main!(benches);
