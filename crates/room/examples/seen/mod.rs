//! Records of what participants of a room in virtual time see, second by second, for the examples that print it as JSON.

use airbound_senders::conference::room::RoomPolicy;
use serde_json::{Value, json};

use crate::world::World;

/// Looks at the room's state in a second.
const LOOKS: u32 = 5;

/// Reads a policy by name, and whether rates are allocated.
pub(crate) fn policy(name: &str) -> Result<(RoomPolicy, bool), String> {
    match name {
        "plain" => Ok((RoomPolicy::Plain, false)),
        "last-n" => Ok((RoomPolicy::LastN, false)),
        "plum" => Ok((RoomPolicy::Plum, false)),
        "coordinated" => Ok((RoomPolicy::Plum, true)),
        other => Err(format!("{other} is no policy; allowed are plain, last-n, plum, coordinated")),
    }
}

/// Lets the warm-up pass and then looks for some seconds. Returns for each participant what it received and sent in each second, Mb/s, and the
/// shares of the time in which its link was measured (both estimates exact) and in which it was held.
pub(crate) fn watch(world: &mut World, warm_up: u32, seconds: u32) -> Value {
    world.run_until(f64::from(warm_up));
    let mut seen: Vec<Seen> = world.guests.iter().map(|_| Seen::default()).collect();
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
    json!(seen.iter().map(Seen::json).collect::<Vec<_>>())
}

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
