//! The links of Fig. 14: 802.11ac under a client that walks about or stays, and wires.

use std::fmt::Write as _;
use std::sync::Arc;

use airbound_air::trace::{Format, Trace};
use airbound_random::Key;
use airbound_sim::conference::{AccessSpec, AirSpec};
use airbound_sim::path::{PipeSpec, Sharing};

use crate::{Trial, TrialError};

/// Metres along a side of the square; the access point stands in a corner, the farthest from a walker that a square allows. The paper does not
/// say where; the public code has it in the middle.
const SIDE: f64 = 30.0;
/// Direction and speed are drawn anew every metre, the speed from 2 to 4 m/s: the defaults of ns-3's random walk.
const LEG: f64 = 1.0;
const NEAREST: f64 = 1.0;
/// Rate of a wire in each direction, in Mb/s.
pub(super) const WIRE: u32 = 50;
/// Where a second client on Wi-Fi is; the paper does not say.
pub(super) const STILL: Place = Place::Metres(25.0);

/// Where a client on Wi-Fi is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Place {
    /// On a random walk of this seed.
    Walk(u64),
    /// At this distance from its access point.
    Metres(f64),
}

/// Times and distances of a random walk in two dimensions within the square, one a leg.
fn walk(seed: u64, seconds: u32) -> String {
    let key = Key::of_seed(seed).with(0xa1c);
    let (mut x, mut y) = (SIDE / 2.0, SIDE / 2.0);
    let (mut text, mut now, mut leg) = (String::new(), 0.0, 0);
    // Reflected at the walls.
    let reflected = |place: f64| if place > SIDE { 2.0 * SIDE - place } else { place.abs() };
    while now <= f64::from(seconds) {
        let distance = libm::hypot(x, y).max(NEAREST);
        let _ = write!(text, "[\"{:.3} ms\", \"{distance:.2} m\"], ", now * 1e3);
        let draw = key.with(leg);
        let angle = std::f64::consts::TAU * draw.with(1).uniform();
        now += LEG / (2.0 + 2.0 * draw.with(2).uniform());
        x = reflected(x + LEG * libm::cos(angle));
        y = reflected(y + LEG * libm::sin(angle));
        leg += 1;
    }
    text
}

/// The scenario of a BSS with one client.
fn bss(place: Place, exponent: &str, seconds: u32) -> Trial {
    let position = match place {
        Place::Walk(seed) => format!("path = [{}]", walk(seed, seconds)),
        Place::Metres(metres) => format!("distance = \"{metres} m\""),
    };
    let channel = format!("{{ kind = \"log-distance\", exponent = {exponent}, {position} }}");
    Trial::new("plum mobility", include_str!("bss.toml"), 1)
        .set("duration", format!("\"{seconds} s\""))
        .set("station.client.channel", channel)
}

/// A client on Wi-Fi, with an access point and a channel of its own.
pub(super) fn wireless(place: Place, exponent: &str, seconds: u32) -> Result<AccessSpec, TrialError> {
    let scenario = Arc::new(bss(place, exponent, seconds).read()?);
    Ok(AccessSpec::Air(AirSpec { scenario, clients: vec!["client".to_owned()] }))
}

/// A client on a wire.
pub(super) fn wired() -> Result<AccessSpec, TrialError> {
    let trace = Trace::parse(&format!("0 {WIRE}\n"), "wire", Format::Bandwidth, 1.0, true)
        .map_err(|error| TrialError { name: "wire".to_owned(), reason: error.to_string() })?;
    let sharing = Sharing::Split { up: 1.0, down: 1.0 };
    Ok(AccessSpec::Pipe(PipeSpec { sharing, ..PipeSpec::new(Arc::new(trace)) }))
}

#[cfg(test)]
mod tests {
    use super::super::saturated::saturated;
    use super::*;

    const SECONDS: u32 = 12;

    /// Returns the total rate at which two floods of datagrams, one each way, get through the same BSS, in Mb/s of IP packets.
    fn flooded(place: Place, exponent: &str) -> f64 {
        let flood = |direction: &str| {
            format!(
                "{{ name = \"{direction}\", kind = \"cbr\", station = \"client\", direction = \"{direction}\", rate = \"200 Mbit/s\", \
                 size = \"1472 B\" }}"
            )
        };
        let flows = format!("[{}, {}]", flood("down"), flood("up"));
        let outcome = bss(place, exponent, SECONDS).set("flow", flows).run().expect("runs");
        // Of the IP packet all but 28 bytes are payload.
        outcome.summary.flows.iter().map(|flow| flow.goodput_mbps).sum::<f64>() * 1500.0 / 1472.0
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn a_wire_carries_what_it_says_both_ways() {
        let carried = mean(&saturated(&wired().expect("a wire"), 10, 1).expect("runs"));
        let both = 2.0 * f64::from(WIRE);
        assert!(carried > 0.97 * both && carried < 1.001 * both, "{carried}");
    }

    #[test]
    fn a_place_and_a_walk_carry_what_floods_get_through() {
        for (place, exponent) in
            [(Place::Metres(5.0), "3.0"), (Place::Metres(42.0), "3.0"), (Place::Walk(1), "4.0")]
        {
            let seconds =
                saturated(&wireless(place, exponent, SECONDS).expect("a BSS"), SECONDS, 1).expect("runs");
            let (carried, flood) = (mean(&seconds), flooded(place, exponent));
            assert!(carried > 0.97 * flood && carried < 1.05 * flood, "{place:?}: {carried} {flood}");
        }
    }
}
