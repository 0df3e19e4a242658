//! The engine under traffic that no radio carries: floods, frames to nobody, scans of ports. Protected flows keep their demand.

use super::kernel::{self, World};
use airbound_agent::engine::{Engine, EngineConfig, Protected, StationFacts};
use airbound_agent::snapshot::Snapshot;
use airbound_control::queue::{Demand, FqCodelAirtimeConfig, LastPqConfig, QueueConfig};
use airbound_units::{BitRate, Instant, Span};

const MILLISECOND: Span = Span::from_millis(1);

/// LAST-PQ over Linux's queues, at most `packets` held, with a demand of 20 ms for packets of rule 0.
fn last_pq(packets: usize) -> EngineConfig {
    let linux =
        FqCodelAirtimeConfig { airtime_queue_limit: None, packets, ..FqCodelAirtimeConfig::default() };
    EngineConfig {
        queue: QueueConfig::LastPq(Box::new(LastPqConfig { linux, ..LastPqConfig::default() })),
        hold_packets: packets,
        rules: vec![Protected {
            name: "vr".to_owned(),
            demand: Demand::new(Span::from_millis(20), 95.0).expect("valid"),
            rate: None,
        }],
        ..EngineConfig::default()
    }
}

/// A second of a protected stream of 1000 packets to station 1, each preceded by what `beside` sends.
fn play(world: &mut World, mut beside: impl FnMut(&mut World, u64)) -> usize {
    for step in 0..1000 {
        beside(world, step);
        world.send(1, 1, 833, Some(0));
        world.pass(MILLISECOND);
    }
    world.pass(Span::from_millis(200));
    world.latencies.get(&Some(0)).map_or(0, Vec::len)
}

#[test]
fn overload_drops_from_the_longest_queue() {
    // 96 Mb/s to a station of 26 Mb/s fill what may be held within a quarter of a second.
    let mut world = World::new(last_pq(500), &[65, 26]);
    let delivered = play(&mut world, |world, _| (0..8).for_each(|_| world.send(2, 7, 1500, None)));
    assert!(world.dropped > 3000, "{}", world.dropped);
    assert_eq!(delivered, 1000, "every protected packet");
    let p95 = world.quantile(Some(0), 0.95);
    assert!(p95 <= Span::from_millis(20), "{p95}");
}

#[test]
fn a_station_out_of_reach_costs_others_nothing() {
    // 90 Mb/s to a station that is associated and silent, as one that sleeps.
    let mut world = World::new(last_pq(500), &[65, 26]);
    let silent = kernel::mac(2);
    world.rates.remove(&silent);
    let delivered = play(&mut world, |world, _| (0..8).for_each(|_| world.send(2, 7, 1500, None)));
    assert_eq!(delivered, 1000);
    let p95 = world.quantile(Some(0), 0.95);
    assert!(p95 <= Span::from_millis(20), "{p95}");
    // Until it is stalled.
    let longest = world.quantile(Some(0), 1.0);
    assert!(longest <= Span::from_millis(50), "{longest}");
}

#[test]
fn frames_to_nobody_are_not_held() {
    // A bridge floods frames to unknown receivers: a hundred of them, 24 Mb/s.
    let mut world = World::new(last_pq(500), &[65]);
    let delivered = play(&mut world, |world, step| {
        for packet in 0..2 {
            let nobody = 100 + ((step * 2 + packet) % 100) as u8;
            world.send(nobody, 9, 1500, None);
        }
    });
    assert_eq!(world.engine.counts().passed, 2000);
    assert_eq!(delivered, 1000);
    let p95 = world.quantile(Some(0), 0.95);
    assert!(p95 <= Span::from_millis(5), "{p95}");
}

#[test]
fn a_scan_of_ports_does_not_end_protection() {
    // A hundred thousand flows of one small packet each, before the protected stream begins.
    let mut world = World::new(last_pq(500), &[65]);
    let mut flow = 1000;
    let mut scan = |world: &mut World| {
        for _ in 0..100 {
            flow += 1;
            world.send(1, flow, 60, None);
        }
    };
    for _ in 0..50 {
        scan(&mut world);
        world.pass(MILLISECOND);
    }
    let delivered = play(&mut world, |world, _| scan(world));
    let protected = world.engine.protected().count();
    assert_eq!((delivered, protected), (1000, 1));
    let p95 = world.quantile(Some(0), 0.95);
    assert!(p95 <= Span::from_millis(20), "{p95}");
}

#[test]
fn a_forged_stream_has_no_more_than_its_rate() {
    // 96 Mb/s match the rule, as a sender that forges what it matches; another station's flow has none.
    let delivered = |rate| {
        let mut config = last_pq(500);
        config.rules[0].rate = rate;
        let mut world = World::new(config, &[65, 65]);
        for _ in 0..1000 {
            (0..8).for_each(|_| world.send(1, 1, 1500, Some(0)));
            world.send(2, 7, 1500, None);
            world.pass(MILLISECOND);
        }
        world.latencies.get(&None).map_or(0, Vec::len)
    };
    let (without, with) = (delivered(None), delivered(Some(BitRate::from_mbps(5))));
    assert!(without < 100, "{without} of 1000 beside a stream without a limit");
    assert!(with > 800, "{with} of 1000 beside one over its rate");
}

fn stations(count: u16) -> Vec<StationFacts> {
    let facts = |number: u16| StationFacts {
        station: airbound_linux::MacAddress([2, 0, 0, 0, (number >> 8) as u8, number as u8]),
        rate: Some(BitRate::from_mbps(65)),
        aggregates: true,
        sent: Some(u64::from(number)),
    };
    (0..count).map(facts).collect()
}

#[test]
fn a_thousand_stations_are_followed_without_traffic() {
    let mut engine = Engine::new(last_pq(4096), 1).expect("valid");
    let facts = stations(1000);
    let mut snapshot = Snapshot::default();
    // A second as the event loop has it: stations once, the snapshot four times, twenty turns.
    let mut second = |number: u64| {
        let mut now = Instant::ZERO + Span::from_secs(number);
        engine.on_stations(now, &facts);
        for turn in 0..20 {
            now += Span::from_millis(50);
            engine.on_tick(now);
            if turn % 5 == 0 {
                snapshot.update(now, Instant::ZERO, &engine);
            }
        }
        engine.output().decisions.clear();
    };
    (1..12).for_each(&mut second);
    assert_eq!(snapshot.stations.len(), 1000);
}

#[test]
fn stations_beyond_the_table_are_not_followed() {
    let mut engine = Engine::new(last_pq(4096), 1).expect("valid");
    let now = Instant::ZERO + Span::from_secs(1);
    engine.on_stations(now, &stations(3000));
    let mut snapshot = Snapshot::default();
    snapshot.update(now, Instant::ZERO, &engine);
    assert_eq!(snapshot.stations.len(), 2048);
}
