//! Processing time of a packet in a composed link, from its arrival to the report of its reception: queue, aggregation at 780
//! Mbit/s, rate control, bookkeeping of the block-ack window.

mod packet;

use std::time::Duration;

use airbound_control::frame::{TxDescriptor, TxReport};
use airbound_control::link::{Composed, Link, LinkConfig, LowerQueue, Returned, Room};
use airbound_control::queue::{AnyQueue, Fifo, FifoConfig, QueueConfig};
use airbound_control::rate::{AnyRate, Capabilities, FixedConfig, MinstrelHtConfig, RateConfig};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;
use airbound_wifi::rate::{GuardInterval, Rate, Width};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use packet::{Packet, packet};

type AnyLink = Composed<Packet, AnyQueue<Packet>, AnyQueue<Packet>, AnyRate>;

/// Aggregates in one measurement, each of up to 64 packets.
const AGGREGATES: usize = 16;

fn link(queue: &QueueConfig, rate: &RateConfig, driver: bool) -> AnyLink {
    let best = Rate::vht(9, 2, Width::Mhz80, GuardInterval::Ns800).expect("exists");
    let capabilities = match rate {
        RateConfig::Fixed(_) => Capabilities::only(best),
        _ => Capabilities::default(),
    };
    let lower = Fifo::new(FifoConfig::default()).map(AnyQueue::Fifo).expect("valid");
    Composed::new(
        queue.build(1).expect("valid"),
        driver.then_some(LowerQueue { queue: lower, depth: 123 }),
        rate.build(&capabilities, 1).expect("valid"),
        LinkConfig {
            ampdu: AmpduLimits::vht(),
            overhead: ByteCount::new(38),
            first_subframe_padding: ByteCount::ZERO,
            window: 64,
            max_grants: 8,
            ..LinkConfig::default()
        },
    )
}

fn report(descriptor: TxDescriptor<Packet>, now: Instant, lost: bool) -> TxReport<Packet> {
    let mut acknowledged = AckBitmap::first(descriptor.mpdus.len());
    if lost {
        // Every sixteenth is missing.
        acknowledged = AckBitmap::NONE;
        (0..descriptor.mpdus.len()).filter(|index| index % 16 != 5).for_each(|index| acknowledged.set(index));
    }
    TxReport {
        used: descriptor.chain.used(1),
        handed: now,
        started: Some(now),
        ended: now,
        airtime: Some(Span::from_micros(1200)),
        acknowledged,
        boundaries_known: true,
        descriptor,
    }
}

fn links(criterion: &mut Criterion) {
    let fixed = RateConfig::Fixed(FixedConfig::default());
    let minstrel = RateConfig::MinstrelHt(MinstrelHtConfig::default());
    let (fifo, linux) =
        (QueueConfig::Fifo(Default::default()), QueueConfig::FqCodelAirtime(Default::default()));
    let cases = [
        ("fifo", &fifo, &fixed, false, false),
        ("fifo-lossy", &fifo, &fixed, false, true),
        ("fifo-over-driver", &fifo, &fixed, true, false),
        ("fifo-minstrel", &fifo, &minstrel, false, false),
        ("linux", &linux, &fixed, false, false),
        ("linux-minstrel-lossy", &linux, &minstrel, false, true),
    ];
    let mut group = criterion.benchmark_group("link");
    group.sample_size(20);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_millis(700));
    let room = Room { category: Category::Be, max_duration: Span::from_micros(5484) };
    for (name, queue, rate, driver, lossy) in cases {
        for stations in [1, 20] {
            let mut link = link(queue, rate, driver);
            let (mut dropped, mut returned) = (Vec::new(), Returned::default());
            let (mut now, mut next) = (Instant::ZERO, 0);
            let mut refill = |link: &mut AnyLink, now, dropped: &mut Vec<_>| {
                while link.backlog().packets < 900 {
                    next = if next + 1 < stations { next + 1 } else { 0 };
                    link.enqueue(now, packet(next, stations), dropped);
                }
            };
            let mut round = |link: &mut AnyLink| {
                let mut packets = 0;
                for _ in 0..AGGREGATES {
                    now += Span::from_micros(10);
                    refill(link, now, &mut dropped);
                    let Some(descriptor) = link.next(now, room, &mut dropped) else { break };
                    packets += descriptor.mpdus.len();
                    link.on_report(now, report(descriptor, now, lossy), &mut returned);
                    dropped.clear();
                    returned.dropped.clear();
                }
                packets
            };
            // Let Minstrel's choice and the queue's order settle; rounds are about equal afterwards.
            let settled: usize = (0..2000).map(|_| round(&mut link)).sum();
            group.throughput(Throughput::Elements(settled as u64 / 2000));
            group.bench_function(BenchmarkId::new(name, stations), |bencher| {
                bencher.iter(|| round(&mut link));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, links);
criterion_main!(benches);
