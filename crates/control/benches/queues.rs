//! Processing time of a packet in each queue: enqueue and dequeue, in aggregates of 32, over 1, 10 and 50 flows, each of
//! its own station or all of one.

mod packet;

use std::hint::black_box;
use std::time::Duration;

use airbound_control::queue::{AnyQueue, Direction, Fact, Queue, QueueConfig, Sink};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use packet::{Packet, packet};

/// Packets of an aggregate so far.
struct Aggregate(usize);

impl Sink<Packet> for Aggregate {
    fn has_room(&mut self, _size: impl FnOnce() -> Option<ByteCount>) -> bool {
        self.0 < AGGREGATE
    }

    fn put(&mut self, packet: Packet) -> Result<Option<Span>, Packet> {
        black_box(packet);
        self.0 += 1;
        Ok(None)
    }
}

const AGGREGATE: usize = 32;

/// A queue with a standing backlog of 8 packets for each flow.
fn loaded(config: &QueueConfig, flows: u16, stations: u16) -> AnyQueue<Packet> {
    let mut queue = config.build(1).expect("defaults are valid");
    for _ in 0..8 {
        for flow in 0..flows {
            queue.enqueue(Instant::ZERO, packet(flow, stations), &mut Vec::new());
        }
    }
    queue
}

fn queues(criterion: &mut Criterion) {
    let kinds = QueueConfig::KINDS.iter().map(|(kind, _)| toml::from_str(&format!("kind = \"{kind}\"")));
    let kinds: Vec<QueueConfig> = kinds.collect::<Result<_, _>>().expect("defaults are valid");
    let mut group = criterion.benchmark_group("queue");
    group.throughput(Throughput::Elements(AGGREGATE as u64)).sample_size(20);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_millis(700));
    for config in &kinds {
        for (flows, stations) in [(1, 1), (10, 10), (50, 50), (50, 1)] {
            let mut queue = loaded(config, flows, stations);
            let packets: Vec<_> = (0..flows).map(|flow| packet(flow, stations)).collect();
            let mut dropped = Vec::new();
            let mut now = Instant::ZERO;
            let mut next = 0;
            group.bench_function(
                BenchmarkId::new(config.name(), format!("{flows}-flows-{stations}-stations")),
                |bencher| {
                    bencher.iter(|| {
                        // Arrivals equal departures, so the backlog is constant; it is younger than any target.
                        now += Span::from_micros(1);
                        for _ in 0..AGGREGATE {
                            // No division: it would cost as much as a queue.
                            next = if next + 1 < packets.len() { next + 1 } else { 0 };
                            queue.enqueue(now, packets[next].clone(), &mut dropped);
                        }
                        let mut aggregate = Aggregate(0);
                        while aggregate.0 < AGGREGATE {
                            let Some(turn) = queue.select(now, Category::Be) else { break };
                            let before = aggregate.0;
                            queue.dequeue_into(now, &turn, &mut aggregate, &mut dropped);
                            let airtime = Span::from_micros(100) * (aggregate.0 - before) as u64;
                            let (station, category, direction) =
                                (turn.station, turn.category, Direction::Sent);
                            queue.on(now, Fact::Airtime { station, category, airtime, direction });
                        }
                        dropped.clear();
                    });
                },
            );
        }
    }
    group.finish();
}

criterion_group!(benches, queues);
criterion_main!(benches);
