//! A day of virtual time with churn: `make long`.

mod world;

use airbound_units::Span;
use world::{Way, World, address, key};

/// Pages of memory that this process has.
fn resident_pages() -> u64 {
    let facts = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    facts.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).expect("a number")
}

/// Six clients come, go, move, change keys, and the edge is killed now and then.
fn churn(hours: u64) {
    let mut world = World::new(6, Way { loss: 0.01, jitter: Span::from_millis(2), ..Way::default() }, 5);
    let mut early = None;
    let mut epochs = [0_u8; 6];
    for minute in 0..hours * 60 {
        let place = (world.number() % 6) as usize;
        match world.number() % 10 {
            0..=2 => {
                let now = world.now;
                world.stations[place].client.close(now);
                world.run(Span::from_millis(100));
                let station = world.station(place);
                world.stations[place] = station;
            }
            3..=5 => world.stations[place].address = address(place, 2000 + (minute % 60_000) as u16),
            6 | 7 => {
                epochs[place] = (epochs[place] + 1) % 16;
                let fresh = key(place, epochs[place]);
                world.keys[place] = fresh.clone();
                let now = world.now;
                let list = world.keys.clone();
                world.edge.as_mut().expect("an edge").set_keys(now, &list).expect("few clients");
                world.stations[place].client.set_keys(now, vec![fresh]);
            }
            8 if minute % 7 == 0 => {
                world.edge = None;
                world.run(Span::from_secs(2));
                world.start_edge();
            }
            _ => {}
        }
        for _ in 0..20 {
            let place = (world.number() % 6) as usize;
            world.down(place, &[1; 1400]);
            world.up(place, &[2; 700]);
        }
        world.run(Span::from_secs(60));
        assert!((0..6).all(|place| world.joined(place)), "minute {minute}");
        world.edge_events.clear();
        world.sent_to.clear();
        world.stations.iter_mut().for_each(|station| station.events.clear());
        assert!(world.edge.as_ref().expect("an edge").sessions() <= 18);
        if minute == 59 {
            early = Some(resident_pages());
        }
    }
    let (early, late) = (early.expect("an hour"), resident_pages());
    assert!(late <= early + early / 4 + 256, "{late} pages after {early}");
}

#[test]
fn two_hundred_clients_have_equal_airtime() {
    world::share::equal_airtime(200, 5);
}

#[test]
fn a_day_of_churn_leaves_nothing_behind() {
    churn(24);
}
