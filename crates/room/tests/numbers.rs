//! Numbers of what is forwarded: order and gaps of sound, ids of pictures.

use std::time::Duration;

use airbound_room::synthetic::Equipment;
use airbound_senders::conference::room::{RoomConfig, RoomPolicy};

use crate::world::{Clock, World};

const WIDE: f64 = 20e6;

fn world(ears: usize) -> World {
    let mut world = World::new(RoomConfig { policy: RoomPolicy::Plain, ..RoomConfig::default() });
    let equipment = Equipment { camera: 0.8e6, slots: 3, ears, channel: true };
    for _ in 0..3 {
        world.seat(equipment, WIDE, Clock { ahead: Duration::ZERO, speed: 1.0 });
    }
    world.run_until(5.0);
    world
}

#[test]
fn sound_that_was_overtaken_keeps_its_order() {
    let mut world = world(3);
    // Each seventh packet of the first one's link arrives 25 ms later: behind its successor of 20 ms.
    world.guests[0].late = 7;
    world.run_until(20.0);
    for guest in &world.guests[1..] {
        let counts = guest.synthetic.counts();
        assert!(counts.heard > 1000, "{counts:?}");
        assert_eq!((counts.disordered, counts.missed), (0, 0), "{counts:?}");
    }
}

#[test]
fn sound_that_is_lost_on_the_way_to_the_server_is_a_gap() {
    let mut world = world(3);
    let before: Vec<_> = world.guests.iter().map(|guest| guest.synthetic.counts()).collect();
    world.guests[0].loses = 10;
    world.run_until(20.0);
    world.guests[0].loses = 0;
    world.run_until(20.5);
    for (guest, before) in world.guests.iter().zip(before).skip(1) {
        let counts = guest.synthetic.counts();
        let (heard, missed) = (counts.heard - before.heard, counts.missed - before.missed);
        // Three quarters of a thousand packets of each of the two others, of which one loses a tenth.
        let all = heard + missed;
        assert!((1490..=1560).contains(&all), "{heard} heard, {missed} missed");
        assert!((50..=110).contains(&missed), "{heard} heard, {missed} missed");
        assert_eq!(counts.disordered, 0, "{counts:?}");
    }
}

#[test]
fn picture_ids_of_seven_bits_go_on_over_their_end_and_over_changes_of_layer() {
    let mut world = world(0);
    for guest in &mut world.guests {
        guest.synthetic.shorten_pictures();
    }
    world.run_until(20.0);
    world.guests[0].link.set_rate(400e3);
    world.run_until(30.0);
    world.guests[0].link.set_rate(WIDE);
    world.run_until(50.0);
    let switches = world.session.state()["members"][0]["views"][0]["switches"].as_u64();
    assert!(switches > Some(1), "{switches:?}");
    for guest in &world.guests {
        let counts = guest.synthetic.counts();
        assert!(counts.packets > 1000, "{counts:?}");
        assert_eq!(counts.breaks, 0, "{counts:?}");
    }
    assert_eq!(world.session.state()["counts"]["refused"], 0);
}
