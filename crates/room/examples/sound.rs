//! Four participants that speak and show themselves, one behind a narrow half-duplex link, in virtual time: how much of the sound reaches it.
//!
//! `sound [LINK_BPS] [CAMERA_BPS] [REPEATS]`; repeats begin the measurement at other times.

#![allow(clippy::print_stdout, reason = "prints its results")]

#[path = "../tests/world.rs"]
mod world;

use std::time::Duration;

use airbound_room::synthetic::Equipment;
use airbound_senders::conference::room::{RoomConfig, RoomPolicy};

use world::{Clock, World};

/// Measured time, seconds.
const MEASURED: f64 = 40.0;

fn main() {
    let numbers: Vec<f64> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let number = |index: usize, default: f64| numbers.get(index).copied().unwrap_or(default);
    let (link, camera, repeats) = (number(0, 0.5e6), number(1, 0.8e6), number(2, 3.0) as u32);
    let equipment = Equipment { camera, slots: 4, ears: 4, channel: true };
    for (name, policy) in [("plain", RoomPolicy::Plain), ("layer-suspension", RoomPolicy::LayerSuspension)] {
        for repeat in 0..repeats {
            let mut world = World::new(RoomConfig { policy, ..RoomConfig::default() });
            for guest in 0..4 {
                let rate = if guest == 0 { link } else { 20e6 };
                world.seat(equipment, rate, Clock { ahead: Duration::ZERO, speed: 1.0 });
            }
            let begins = 20.0 + 0.7 * f64::from(repeat);
            world.run_until(begins);
            let counts = |world: &World| -> Vec<_> {
                world.guests.iter().map(|guest| guest.synthetic.counts()).collect()
            };
            let before = counts(&world);
            world.run_until(begins + MEASURED);
            let after = counts(&world);
            let pairs = || before.iter().zip(&after);
            let spoken: u64 = pairs().skip(1).map(|(before, after)| after.spoken - before.spoken).sum();
            let heard = after[0].heard - before[0].heard;
            let kbps = |bytes: u64| bytes as f64 * 8e-3 / MEASURED;
            println!(
                "{name} {repeat}: hears {:.1} % of the others; pictures down {:.0}, up {:.0} kb/s",
                heard as f64 / spoken as f64 * 100.0,
                kbps(after[0].received - before[0].received),
                kbps(after[0].sent - before[0].sent)
            );
        }
    }
}
