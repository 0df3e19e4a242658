//! The links of Fig. 14: Wi-Fi under a client that walks about or stays, and wires.

use std::fmt::Write as _;
use std::sync::Arc;

use airbound_air::trace::{Format, Trace};
use airbound_random::Key;
use airbound_sim::conference::{AccessSpec, AirSpec};
use airbound_sim::path::PipeSpec;
use serde::Deserialize;

use crate::{Trial, TrialError};

/// Metres along a side of the square.
const SIDE: f64 = 30.0;
/// Direction and speed are drawn anew every metre, the speed from 2 to 4 m/s: the defaults of ns-3's random walk.
const LEG: f64 = 1.0;
const NEAREST: f64 = 1.0;
/// Rate of a wire in each direction, in Mb/s.
pub(super) const WIRE: u32 = 50;
/// Where a second client on Wi-Fi is; the paper does not say.
pub(super) const STILL: Place = Place::Metres(25.0);

/// PHY of the walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) enum Standard {
    /// 802.11ac with 20 MHz and two streams, of the paper's Table II, which gives no width.
    #[serde(rename = "802.11ac")]
    Ac,
    /// 802.11p with 10 MHz, with which the public code makes the figure.
    #[serde(rename = "802.11p")]
    P,
}

impl Standard {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ac => "802.11ac",
            Self::P => "802.11p",
        }
    }
}

/// Place of the access point in the square, which the paper does not give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Centre {
    /// As in the public code.
    Middle,
    /// The farthest from a walker that a square allows.
    Corner,
}

impl Centre {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Middle => "middle",
            Self::Corner => "corner",
        }
    }
}

/// The air of a walk.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Air {
    pub(super) standard: Standard,
    /// Exponent of the loss over distance.
    pub(super) exponent: f64,
    pub(super) centre: Centre,
}

/// Where a client on Wi-Fi is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Place {
    /// On a random walk of this seed.
    Walk(u64),
    /// At this distance from its access point.
    Metres(f64),
}

/// Times and distances of a random walk in two dimensions within the square, one a leg.
fn walk(seed: u64, centre: Centre, seconds: u32) -> String {
    let origin = if centre == Centre::Middle { SIDE / 2.0 } else { 0.0 };
    let key = Key::of_seed(seed).with(0xa1c);
    let (mut x, mut y) = (SIDE / 2.0, SIDE / 2.0);
    let (mut text, mut now, mut leg) = (String::new(), 0.0, 0);
    // Reflected at the walls.
    let reflected = |place: f64| if place > SIDE { 2.0 * SIDE - place } else { place.abs() };
    while now <= f64::from(seconds) {
        let distance = libm::hypot(x - origin, y - origin).max(NEAREST);
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
fn bss(place: Place, air: &Air, seconds: u32) -> Trial {
    let Air { standard, exponent, centre } = air;
    let position = match place {
        Place::Walk(seed) => format!("path = [{}]", walk(seed, *centre, seconds)),
        Place::Metres(metres) => format!("distance = \"{metres} m\""),
    };
    let channel = format!("{{ kind = \"log-distance\", exponent = {exponent:.1}, {position} }}");
    let trial = Trial::new("plum mobility", include_str!("bss.toml"), 1)
        .set("duration", format!("\"{seconds} s\""))
        .set("station.client.channel", channel);
    match standard {
        Standard::Ac => trial,
        Standard::P => trial.set("air.standard", "legacy").set("air.width", "\"10 MHz\""),
    }
}

/// A client on Wi-Fi, with an access point and a channel of its own.
pub(super) fn wireless(place: Place, air: &Air, seconds: u32) -> Result<AccessSpec, TrialError> {
    let scenario = Arc::new(bss(place, air, seconds).read()?);
    Ok(AccessSpec::Air(AirSpec { scenario, clients: vec!["client".to_owned()] }))
}

/// A client on a wire.
pub(super) fn wired() -> Result<AccessSpec, TrialError> {
    let trace = Trace::parse(&format!("0 {WIRE}\n"), "wire", Format::Bandwidth, 1.0, true)
        .map_err(|error| TrialError { name: "wire".to_owned(), reason: error.to_string() })?;
    let trace = Arc::new(trace);
    Ok(AccessSpec::Pipe(PipeSpec::separate(Arc::clone(&trace), trace)))
}

#[cfg(test)]
mod tests {
    use super::super::saturated::saturated;
    use super::*;

    const SECONDS: u32 = 12;

    /// Returns the total rate at which two floods of datagrams, one each way, get through the same BSS, in Mb/s of IP packets.
    fn flooded(place: Place, air: &Air) -> f64 {
        let flood = |direction: &str| {
            format!(
                "{{ name = \"{direction}\", kind = \"cbr\", station = \"client\", direction = \"{direction}\", rate = \"200 Mbit/s\", \
                 size = \"1472 B\" }}"
            )
        };
        let flows = format!("[{}, {}]", flood("down"), flood("up"));
        let outcome = bss(place, air, SECONDS).set("flow", flows).run().expect("runs");
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
        let air = |standard, exponent| Air { standard, exponent, centre: Centre::Corner };
        for (place, air) in [
            (Place::Metres(5.0), air(Standard::Ac, 3.0)),
            (Place::Metres(42.0), air(Standard::Ac, 3.0)),
            (Place::Walk(1), air(Standard::Ac, 4.0)),
            (Place::Walk(1), air(Standard::P, 3.0)),
        ] {
            let seconds =
                saturated(&wireless(place, &air, SECONDS).expect("a BSS"), SECONDS, 1).expect("runs");
            let (carried, flood) = (mean(&seconds), flooded(place, &air));
            assert!(carried > 0.97 * flood && carried < 1.05 * flood, "{place:?} {air:?}: {carried} {flood}");
        }
    }

    /// By hand: 58 us DIFS, 7.5 slots of 13 us, 40 us and 57 symbols of 8 us for 1536 B, 32 us, 56 us of ACK: 739.5 us, which takes no account of
    /// two transmitters' backoffs that run at the same time and of their collisions.
    #[test]
    fn ten_megahertz_carry_sixteen_megabits() {
        let air = Air { standard: Standard::P, exponent: 3.0, centre: Centre::Middle };
        let near = wireless(Place::Metres(5.0), &air, SECONDS).expect("a BSS");
        let carried = mean(&saturated(&near, SECONDS, 1).expect("runs"));
        let alone = 12_000.0 / 739.5;
        assert!((0.97..1.05).contains(&(carried / alone)), "{carried} {alone}");
    }
}
