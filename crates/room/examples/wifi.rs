//! A room in virtual time with one participant on simulated Wi-Fi and the others on wires: str0m at both ends, the simulator's air between.
//!
//! `wifi SCENARIO SEED POLICY CAMERA_BPS RHO WIRED WARM_UP_S SECONDS [KEY=VALUE...]` prints what each participant saw, as JSON, that on Wi-Fi
//! first. The scenario has flows `to-participant` and `to-room`; `KEY=VALUE` changes it. `studies/room/testbed.py --virtual` runs it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "prints its results and what is wrong")]

mod seen;
#[path = "../tests/world/wifi.rs"]
mod way;
#[path = "../tests/world.rs"]
mod world;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use airbound_scenario::{Overrides, Scenario};
use airbound_senders::conference::room::RoomConfig;
use airbound_units::BitRate;

use seen::{policy, watch};
use way::Wifi;
use world::World;

/// Rate of the links on wires, bit/s.
const WIRE: f64 = 1e9;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wifi: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, seed, policy_name, camera, rho, wired, warm_up, seconds, changes @ ..] = arguments.as_slice()
    else {
        return Err("see the head of its source for the arguments".into());
    };
    let mut overrides = Overrides::default();
    changes.iter().try_for_each(|change| overrides.set(change))?;
    let scenario = Scenario::load(Path::new(file), &overrides)?;
    let (policy, coordinated) = policy(policy_name)?;
    let (camera, rho, wired): (f64, f64, usize) = (camera.parse()?, rho.parse()?, wired.parse()?);
    let source = BitRate::from_bps_f64(camera);
    let config = RoomConfig { policy, coordinated, source, rho, active: wired, ..RoomConfig::default() };
    let mut world = World::new(config);
    world.add(camera, WIRE, wired);
    let start = world.start;
    if let Some(guest) = world.guests.first_mut() {
        guest.way = Some(Box::new(Wifi::new(&scenario, seed.parse()?, start)?));
    }
    (0..wired).for_each(|_| world.add(camera, WIRE, wired));
    println!("{}", watch(&mut world, warm_up.parse()?, seconds.parse()?));
    Ok(())
}
