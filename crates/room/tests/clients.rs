//! Clients without this room's data channel in virtual time.

use std::time::Duration;

use airbound_room::synthetic::Equipment;
use airbound_senders::conference::room::{RoomConfig, RoomPolicy};

use crate::world::{Clock, World};

const WIDE: f64 = 20e6;
const RIGHT: Clock = Clock { ahead: Duration::ZERO, speed: 1.0 };

#[test]
fn a_client_without_the_channel_is_held_by_remb() {
    let config = RoomConfig { policy: RoomPolicy::Plum, rho: 1.0, ..RoomConfig::default() };
    let mut world = World::new(config);
    // With all weight on fairness, a link of 2 Mb/s gives its downlink what its camera would take.
    world.seat(Equipment { camera: 1.5e6, slots: 4, ears: 0, channel: false }, 2.0e6, RIGHT);
    (0..3).for_each(|_| world.add(1.5e6, WIDE, 4));
    let (mut held, mut obeyed) = (0, 0);
    for step in 0..160_u32 {
        let sent = world.guests[0].synthetic.counts().sent;
        world.run_until(f64::from(step + 1) * 0.5);
        let rate = (world.guests[0].synthetic.counts().sent - sent) as f64 * 8.0 / 0.5;
        let told = world.session.state()["members"][0]["up"]["limit"].as_f64();
        let limit = world.guests[0].synthetic.limit();
        if let Some(told) = told.filter(|told| (told / limit - 1.0).abs() < 0.01) {
            held += 1;
            obeyed += u32::from(rate < told * 1.1);
        }
    }
    let counts = world.guests[0].synthetic.counts();
    assert!(counts.rembs > 0 && counts.notices == 0, "{counts:?}");
    assert!(held >= 8 && obeyed * 10 >= held * 8, "held {held} half seconds, obeyed in {obeyed}: {counts:?}");
}
