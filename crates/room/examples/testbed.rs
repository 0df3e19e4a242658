//! Five participants, one behind a half-duplex link or on simulated Wi-Fi, under each policy, in virtual time: str0m at both ends.
//!
//! `testbed [LINK_BPS|SCENARIO.toml] [CAMERA_BPS] [SECONDS] [RHO] [SEED]` prints what each receives, with mean and median over all seconds.
//! A scenario has flows `to-participant` and `to-room`, as `examples/testbed.toml`.

#![allow(clippy::print_stdout, reason = "prints its results")]

#[path = "../tests/world/wifi.rs"]
mod way;
#[path = "../tests/world.rs"]
mod world;

use std::path::Path;

use airbound_scenario::{Overrides, Scenario};
use airbound_senders::conference::room::{RoomConfig, RoomPolicy};
use airbound_units::BitRate;

use way::Wifi;
use world::World;

/// Rate of the other participants' links.
const WIDE: f64 = 50e6;
/// The same where one is on Wi-Fi.
const WIRE: f64 = 1e9;
/// Seconds before the measured ones.
const WARM_UP: u32 = 20;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: f64| {
        arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (link, camera, seconds, rho, seed) =
        (number(0, 6e6), number(1, 3e6), number(2, 60.0) as u32, number(3, 0.0), number(4, 1.0) as u64);
    let scene = arguments.first().filter(|first| first.ends_with(".toml"));
    let scene = scene.map(|file| {
        Scenario::load(Path::new(file), &Overrides::none()).unwrap_or_else(|error| panic!("{error}"))
    });
    let mut plain = None;
    let plans = [RoomPolicy::Plain, RoomPolicy::LastN, RoomPolicy::LayerSuspension, RoomPolicy::Plum];
    for policy in plans {
        let name = policy.name();
        let source = BitRate::from_bps_f64(camera);
        let config = RoomConfig { policy, source, rho, active: 4, ..RoomConfig::default() };
        let mut world = World::new(config);
        let (own, wide) = if scene.is_some() { (WIRE, WIRE) } else { (link, WIDE) };
        world.add(camera, own, 4);
        if let Some(scene) = &scene {
            let wifi = Wifi::new(scene, seed, world.start).unwrap_or_else(|error| panic!("{error}"));
            world.guests[0].way = Some(Box::new(wifi));
        }
        (0..4).for_each(|_| world.add(camera, wide, 4));
        world.run_until(f64::from(WARM_UP));
        let sent = world.guests[0].synthetic.counts().sent;
        let mut rows: Vec<Vec<f64>> = vec![Vec::new(); 5];
        for second in 1..=seconds {
            let received = world.received_until(f64::from(WARM_UP + second));
            rows.iter_mut().zip(received).for_each(|(row, rate)| row.push(rate * 1e-6));
        }
        let sent = (world.guests[0].synthetic.counts().sent - sent) as f64 * 8e-6 / f64::from(seconds);
        let means: Vec<f64> = rows.iter().map(|row| row.iter().sum::<f64>() / row.len() as f64).collect();
        let mut all: Vec<f64> = rows.into_iter().flatten().collect();
        all.sort_unstable_by(f64::total_cmp);
        let (mean, median) = (means.iter().sum::<f64>() / 5.0, all[all.len() / 2]);
        let means: Vec<String> = means.iter().map(|rate| format!("{rate:.2}")).collect();
        println!(
            "{name}: mean {mean:.2}, median {median:.2} Mb/s; participant {} behind the narrow link sends {sent:.2}; each receives {}",
            world.guests[0].id,
            means.join(", ")
        );
        match plain {
            None => plain = Some((mean, median)),
            Some((first, middle)) => {
                println!(
                    "  against plain: mean {:+.1} %, median {:+.1} %",
                    (mean / first - 1.0) * 100.0,
                    (median / middle - 1.0) * 100.0
                );
            }
        }
    }
}
