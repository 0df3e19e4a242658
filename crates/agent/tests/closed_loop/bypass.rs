//! Packets that go through without a verdict, above the modelled radio.

use airbound_agent::engine::{State, WindowConfig};
use airbound_units::Span;

use super::kernel::World;
use super::{config, last_pq, millis, vr_beside_bulk};

/// A world in which packets may go through, with the demand of 20 ms.
fn world(rates: &[u64]) -> World {
    let mut world = World::new(config(last_pq()), rates);
    world.engine.allow_bypass(world.now);
    world.settle();
    world
}

/// A packet of 1200 B each 5 ms to station 1, for so many milliseconds.
fn lone(world: &mut World, millis: u64) {
    for _ in 0..millis / 5 {
        world.send(1, 1, 1200, Some(0));
        world.pass(Span::from_millis(5));
    }
}

#[test]
fn packets_that_would_not_wait_go_through_and_are_measured() {
    let mut world = world(&[65]);
    lone(&mut world, 3000);
    let counts = world.engine.counts();
    assert!(world.is_bypassed());
    assert_eq!((counts.arrived + counts.through, counts.through_ends), (600, 0));
    // Those of the first 50 ms had a verdict each.
    assert!((5..=12).contains(&counts.arrived), "{}", counts.arrived);
    let rule = &world.engine.rules()[0];
    assert_eq!((rule.acknowledged, rule.state), (600, State::Met));
    let measured = rule.latency.quantile(0.5).expect("packets");
    let known = world.quantile(Some(0), 0.5);
    assert!(
        measured.saturating_sub(known) + known.saturating_sub(measured) <= Span::from_micros(20),
        "{measured} {known}"
    );
    // The radio's counter shows none that went past the agent.
    world.tell_stations();
    lone(&mut world, 1000);
    world.tell_stations();
    lone(&mut world, 1000);
    assert_eq!(world.engine.stations().next().and_then(|station| station.unseen), None);
    assert_eq!(world.engine.rules()[0].state, State::Met);
}

#[test]
fn a_burst_ends_it_and_demands_are_kept() {
    let mut alone = World::new(config(last_pq()), &[65, 65, 65, 26]);
    let mut through = world(&[65, 65, 65, 26]);
    let run = |world: &mut World| {
        lone(world, 500);
        vr_beside_bulk(world, 4, 2);
        (world.quantile(Some(0), 0.95), world.total(), world.most_frames)
    };
    let (kept, total, frames) = run(&mut through);
    let (before, most, most_frames) = run(&mut alone);
    assert!(through.engine.counts().through > 80, "{}", through.engine.counts().through);
    assert!(kept <= millis(20) && before <= millis(20), "{kept} {before}");
    assert!(total as f64 >= 0.98 * most as f64, "{total} of {most}");
    assert!(frames <= most_frames + 1, "{frames} below with packets that go through, {most_frames} without");
    // It begins again once the load is over.
    through.pass(millis(1000));
    assert!(through.is_bypassed());
}

#[test]
fn packets_that_went_through_are_a_part_of_the_window() {
    let mut world = world(&[65]);
    lone(&mut world, 200);
    // A second of packets to a station that does not answer: they stay below.
    let rate = world.rates.remove(&super::mac(1)).expect("a station");
    for _ in 0..200 {
        world.send(1, 1, 1200, Some(0));
    }
    assert!(!world.is_bypassed());
    let limit = world.frames_limit(rate);
    let below = world.most_frames;
    assert!(below <= limit + usize::from(WindowConfig::default().least_packets), "{below} of {limit}");
    assert_eq!(world.held() + below, 200);
    // They block the window for the time that it takes, and nothing is let through while packets are held.
    world.pass(millis(7));
    assert_eq!(world.held() + below, 200);
    world.pass(millis(440));
    assert!(world.held() > 0 && world.held() + below < 200 && !world.is_bypassed());
    world.rates.insert(super::mac(1), rate);
    world.pass(millis(2000));
    assert_eq!(world.held(), 0);
    assert!(world.is_bypassed());
}

#[test]
fn a_count_that_is_too_large_holds_packets_for_no_longer_than_a_window() {
    let mut world = world(&[65]);
    lone(&mut world, 200);
    // As many merge in A-MSDUs, or are not the agent's.
    world.engine.on_filled(world.now, 1000);
    world.settle();
    (0..10).for_each(|_| world.send(1, 1, 1200, Some(0)));
    assert_eq!(world.held(), 10);
    world.pass(millis(7));
    assert_eq!(world.held(), 10);
    world.pass(millis(2));
    assert_eq!(world.held(), 0);
}
