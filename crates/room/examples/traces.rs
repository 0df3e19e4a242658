//! A room whose participants are behind half-duplex links that follow traces, in virtual time: str0m at both ends, the simulator's pipes between.
//!
//! `traces POLICY SCALE CAMERA_BPS SOURCE_BPS RHO ACTIVE WARM_UP_S SECONDS TRACE...` prints JSON: for each participant what it received and sent
//! in each second, Mb/s, and the shares of the time in which its link was measured (both estimates exact) and in which it was held.
//! `SCALE` is a factor on all bandwidths. `studies/room/traces.py` runs it beside the simulator.

#![allow(clippy::print_stdout, reason = "prints its results")]

#[path = "../tests/world.rs"]
mod world;

use std::error::Error;
use std::sync::Arc;

use airbound_air::trace::{Format, Trace};
use airbound_senders::conference::room::{RoomConfig, RoomPolicy};
use airbound_units::BitRate;
use serde_json::{Value, json};

use world::World;
use world::piped::Piped;

/// Looks at the room's state in a second.
const LOOKS: u32 = 5;

/// Records of a participant.
#[derive(Default)]
struct Seen {
    received: Vec<f64>,
    sent: Vec<f64>,
    looks: u32,
    /// Looks that found both estimates exact, the uplink held, the downlink held.
    found: [u32; 3],
}

impl Seen {
    fn look(&mut self, member: &Value) {
        let exact = |way: &str| member[way]["kind"] == "exact";
        let found = [
            exact("up") && exact("down"),
            member["state"] == "sender-held",
            member["state"] == "forwarding-held",
        ];
        self.looks += 1;
        self.found.iter_mut().zip(found).for_each(|(count, found)| *count += u32::from(found));
    }

    fn json(&self) -> Value {
        let [measured, sender_held, forwarding_held] =
            self.found.map(|count| f64::from(count) / f64::from(self.looks.max(1)));
        let round = |rates: &[f64]| rates.iter().map(|rate| (rate * 1e3).round() / 1e3).collect::<Vec<_>>();
        json!({
            "received": round(&self.received), "sent": round(&self.sent),
            "measured": measured, "sender-held": sender_held, "forwarding-held": forwarding_held,
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((head, files)) = arguments.split_at_checked(8).filter(|(_, files)| files.len() > 1) else {
        return Err("traces: see the head of its source for the arguments".into());
    };
    let (policy, coordinated) = match head[0].as_str() {
        "plain" => (RoomPolicy::Plain, false),
        "last-n" => (RoomPolicy::LastN, false),
        "plum" => (RoomPolicy::Plum, false),
        "coordinated" => (RoomPolicy::Plum, true),
        other => {
            return Err(format!("{other} is no policy; allowed are plain, last-n, plum, coordinated").into());
        }
    };
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
            guest.pipe = Some(Piped::new(Arc::new(trace), start));
        }
    }
    world.run_until(f64::from(warm_up));
    let mut seen: Vec<Seen> = files.iter().map(|_| Seen::default()).collect();
    for second in 0..seconds {
        let before: Vec<_> = world.guests.iter().map(|guest| guest.synthetic.counts()).collect();
        for look in 1..=LOOKS {
            world.run_until(f64::from(warm_up + second) + f64::from(look) / f64::from(LOOKS));
            let state = world.session.state();
            let members = state["members"].as_array().map(Vec::as_slice).unwrap_or_default();
            for (guest, seen) in world.guests.iter().zip(&mut seen) {
                members.iter().filter(|member| member["id"] == guest.id).for_each(|member| seen.look(member));
            }
        }
        for ((guest, seen), before) in world.guests.iter().zip(&mut seen).zip(before) {
            let counts = guest.synthetic.counts();
            seen.received.push((counts.received - before.received) as f64 * 8e-6);
            seen.sent.push((counts.sent - before.sent) as f64 * 8e-6);
        }
    }
    println!("{}", json!(seen.iter().map(Seen::json).collect::<Vec<_>>()));
    Ok(())
}
