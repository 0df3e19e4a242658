//! Cost of a packet in the engine: arrival, release and completion, with four stations that always have something to send.

use std::time::Duration;

use airbound_agent::engine::{
    Arrival, Carried, Completion, Engine, EngineConfig, Fate, FlowKey, Protected, StationFacts, Ticket,
};
use airbound_control::queue::{Demand, FqCodelAirtimeConfig, LastPqConfig, QueueConfig};
use airbound_linux::MacAddress;
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const STATIONS: u8 = 4;
/// Packets of one measurement.
const PACKETS: u32 = 1000;

fn mac(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, number, 0])
}

fn engine(queue: QueueConfig) -> Engine {
    let demand = Demand::new(Span::from_millis(20), 95.0).expect("valid");
    let rules = vec![Protected { name: "vr".to_owned(), demand, rate: None }];
    Engine::new(EngineConfig { queue, rules, ..EngineConfig::default() }, 1).expect("valid")
}

/// A closed loop without a radio: released packets complete one round later.
struct Round {
    engine: Engine,
    now: Instant,
    next: u32,
    released: Vec<Ticket>,
}

impl Round {
    fn new(queue: QueueConfig) -> Self {
        let mut engine = engine(queue);
        let rate = Some(BitRate::from_mbps(433));
        let facts: Vec<StationFacts> = (0..STATIONS)
            .map(|number| StationFacts { station: mac(number), rate, aggregates: true, sent: None })
            .collect();
        engine.on_stations(Instant::ZERO, &facts);
        Self { engine, now: Instant::from_nanos(1), next: 0, released: Vec::new() }
    }

    fn station(ticket: u32) -> MacAddress {
        mac((ticket % u32::from(STATIONS)) as u8)
    }

    fn turn(&mut self) {
        for _ in 0..PACKETS {
            self.now += Span::from_micros(27);
            let ticket = self.next;
            self.next = self.next.wrapping_add(1);
            let is_vr = ticket.is_multiple_of(16);
            let arrival = Arrival {
                ticket: Ticket(ticket),
                station: Some(Self::station(ticket)),
                flow: FlowKey(u64::from(ticket % 16)),
                rule: is_vr.then_some(0),
                category: Category::Be,
                size: ByteCount::new(1500),
                segments: 1,
            };
            self.engine.on_packet(self.now, &arrival);
            if ticket.is_multiple_of(32) {
                for ticket in std::mem::take(&mut self.released) {
                    let completion = Completion {
                        station: Self::station(ticket.0),
                        carried: Carried::Packet(ticket),
                        category: Some(Category::Be),
                        size: None,
                        acknowledged: true,
                        rate: Some(BitRate::from_mbps(433)),
                        tries: 1,
                        airtime: None,
                        at: self.now,
                    };
                    self.engine.on_completion(self.now, &completion);
                }
            }
            let output = self.engine.output();
            output.decisions.clear();
            let released = output.verdicts.drain(..).filter(|verdict| verdict.fate == Fate::Release);
            self.released.extend(released.map(|verdict| verdict.ticket));
        }
    }
}

fn packets(criterion: &mut Criterion) {
    let linux = FqCodelAirtimeConfig { airtime_queue_limit: None, ..FqCodelAirtimeConfig::default() };
    let last_pq = LastPqConfig { linux, ..LastPqConfig::default() };
    let mut group = criterion.benchmark_group("engine");
    group.sample_size(20).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(1));
    group.throughput(Throughput::Elements(PACKETS.into()));
    for (name, queue) in [
        ("last-pq", QueueConfig::LastPq(Box::new(last_pq))),
        ("linux", QueueConfig::FqCodelAirtime(linux)),
        ("fifo", QueueConfig::Fifo(Default::default())),
    ] {
        let mut round = Round::new(queue);
        (0..50).for_each(|_| round.turn());
        group.bench_function(name, |bencher| bencher.iter(|| round.turn()));
    }
    group.finish();
}

criterion_group!(benches, packets);
criterion_main!(benches);
