//! Packets handed to a kernel before their time (SO_TXTIME): the same pacing, and fewer turns of the edge.

use crate::world::share::measure;
use crate::world::{Air, Way, World};
use airbound_relay::protocol::EdgeConfig;
use airbound_units::{BitRate, Span};

const AHEAD: Span = Span::from_millis(1);

fn world(ahead: Span, way: Way, config: EdgeConfig) -> World {
    let mut world = World::with(1, way, 5, config);
    world.ahead = ahead;
    world.start_edge();
    world
}

/// A client at a fixed rate whose backend offers more; returns the distances of its packets over a second in ns, and the turns.
fn paced(ahead: Span, mbps: u64) -> (Vec<u64>, u64) {
    let usual = EdgeConfig::default();
    let rate = BitRate::from_mbps(mbps);
    let stream =
        airbound_senders::stream::StreamConfig { start: rate, least: rate, most: rate, ..usual.stream };
    let mut world = world(ahead, Way::default(), EdgeConfig { stream, ..usual });
    world.stations[0].offered = 2 * mbps;
    world.run(Span::from_secs(3));
    world.departures = Some(Vec::new());
    let turns = world.turns;
    world.run(Span::from_secs(1));
    let times = world.departures.take().expect("noted");
    let gaps = times.windows(2).map(|pair| pair[1].since(pair[0]).as_nanos()).collect();
    (gaps, world.turns - turns)
}

#[test]
fn packets_leave_at_the_same_distances_in_fewer_turns() {
    for mbps in [20, 100, 400] {
        let ((at_once, many), (ahead, few)) = (paced(Span::ZERO, mbps), paced(AHEAD, mbps));
        // 1200 B at this rate; probes and echoes, which are not paced, split a few.
        let usual = 1200 * 8 * 1000 / mbps;
        for gaps in [&at_once, &ahead] {
            let right = gaps.iter().filter(|gap| gap.abs_diff(usual) <= 1000).count();
            assert!(right * 100 >= gaps.len() * 95, "{mbps} Mb/s: {right} of {}", gaps.len());
        }
        assert!(
            at_once.len().abs_diff(ahead.len()) * 100 <= at_once.len(),
            "{mbps} Mb/s: {} and {}",
            at_once.len(),
            ahead.len()
        );
        if mbps >= 100 {
            assert!(few * 3 < many, "{mbps} Mb/s: {few} turns of {many}");
        }
    }
}

#[test]
fn the_level_of_a_station_is_held() {
    let way = Way { air: Some(Air::new(&[780])), ..Way::default() };
    let mut world = world(AHEAD, way, EdgeConfig::default());
    world.stations[0].offered = 900;
    world.run(Span::from_secs(10));
    let (_, levels) = measure(&mut world, Span::from_secs(5));
    assert!((25.0..=38.0).contains(&levels[0]), "level {levels:?}");
}

#[test]
fn no_more_packets_are_ahead_than_a_flow_of_fq_keeps() {
    let usual = EdgeConfig::default();
    let rate = BitRate::from_mbps(1000);
    let stream =
        airbound_senders::stream::StreamConfig { start: rate, least: rate, most: rate, ..usual.stream };
    let mut world = world(Span::from_millis(50), Way::default(), EdgeConfig { stream, ..usual });
    world.stations[0].offered = 2000;
    let mut most = 0;
    for _ in 0..2000 {
        world.run(Span::from_micros(500));
        most = most.max(world.held());
    }
    assert!((10..=64).contains(&most), "{most}");
}
