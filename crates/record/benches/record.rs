//! Cost of one packet in the record: pushing and encoding its row, and recording it in the distributions.

#![allow(missing_docs)]

#[path = "../tests/example/mod.rs"]
mod example;

use airbound_record::{
    Encoding, Existing, FlowLatency, LatencyHistogram, PacketRow, Recorder, Resolution, RunFolder, Split,
    Tables,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const PACKETS: u64 = 1_000_000;

fn packets(criterion: &mut Criterion) {
    let rows: Vec<PacketRow> = (0..PACKETS).map(example::packet).collect();
    let mut group = criterion.benchmark_group("packets.parquet");
    group.throughput(Throughput::Elements(PACKETS)).sample_size(10);
    for (name, encoding) in [("inline", Encoding::Inline), ("thread", Encoding::Thread)] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let dir = tempfile::tempdir().unwrap();
                let folder = RunFolder::create(dir.path(), Existing::Replace).unwrap();
                let tables = Tables { packets: true, ..Tables::default() };
                let mut recorder = Recorder::create(folder, &example::info(), tables, encoding).unwrap();
                rows.iter().for_each(|row| recorder.packet(*row));
                recorder.finish("", &example::summary(), &example::performance()).unwrap()
            });
        });
    }
    group.finish();
}

fn distributions(criterion: &mut Criterion) {
    let rows: Vec<PacketRow> = (0..10_000).map(example::packet).collect();
    let splits: Vec<Split> = rows.iter().filter_map(Split::of).collect();
    let mut group = criterion.benchmark_group("distributions");
    group.throughput(Throughput::Elements(splits.len() as u64));
    let mut histogram = LatencyHistogram::new(Resolution::Fine);
    group.bench_function("histogram", |bencher| {
        bencher.iter(|| splits.iter().for_each(|split| histogram.record(black_box(split.latency()))));
    });
    let mut flow = FlowLatency::new();
    group.bench_function("flow", |bencher| {
        bencher.iter(|| splits.iter().for_each(|split| flow.record(black_box(split))));
    });
    group.bench_function("split", |bencher| {
        bencher.iter(|| {
            rows.iter()
                .filter_map(|row| Split::of(black_box(row)))
                .map(|s| s.latency())
                .sum::<airbound_units::Span>()
        });
    });
    group.finish();
}

criterion_group!(benches, packets, distributions);
criterion_main!(benches);
