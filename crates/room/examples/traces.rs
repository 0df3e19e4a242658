//! A room whose participants are behind half-duplex links that follow traces, in virtual time: str0m at both ends, the simulator's pipes between.
//!
//! `traces POLICY SCALE CAMERA_BPS SOURCE_BPS RHO ACTIVE WARM_UP_S SECONDS TRACE...` prints what each participant saw, as JSON.
//! `SCALE` is a factor on all bandwidths. `studies/room/traces.py` runs it beside the simulator.

#![allow(clippy::print_stdout, reason = "prints its results")]

mod seen;
#[path = "../tests/world.rs"]
mod world;

use std::error::Error;
use std::sync::Arc;

use airbound_air::trace::{Format, Trace};
use airbound_senders::conference::room::RoomConfig;
use airbound_units::BitRate;

use seen::{policy, watch};
use world::World;
use world::piped::Piped;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((head, files)) = arguments.split_at_checked(8).filter(|(_, files)| files.len() > 1) else {
        return Err("traces: see the head of its source for the arguments".into());
    };
    let (policy, coordinated) = policy(&head[0])?;
    let number = |index: usize| head[index].parse::<f64>();
    let (scale, camera, source, rho) = (number(1)?, number(2)?, number(3)?, number(4)?);
    let active = head[5].parse()?;
    let (warm_up, seconds): (u32, u32) = (head[6].parse()?, head[7].parse()?);
    let source = BitRate::from_bps_f64(source);
    let mut world =
        World::new(RoomConfig { policy, coordinated, source, rho, active, ..RoomConfig::default() });
    for file in files {
        let trace = Trace::parse(&std::fs::read_to_string(file)?, file, Format::Bandwidth, scale, true)?;
        world.add(camera, 0.0, files.len() - 1);
        let start = world.start;
        if let Some(guest) = world.guests.last_mut() {
            guest.way = Some(Box::new(Piped::new(Arc::new(trace), start)));
        }
    }
    println!("{}", watch(&mut world, warm_up, seconds));
    Ok(())
}
