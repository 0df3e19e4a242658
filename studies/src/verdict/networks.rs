//! Random networks with demands, to ask both the verdict and the oracle about.
//!
//! The ranges were chosen before any of them was simulated: one or two flows with a demand among transfers, some of which the air carries
//! easily and some not at all.

use std::fmt::Write as _;

use crate::draws::Draws;

/// The schemes that are compared; the first is the default.
pub(super) const SCHEMES: [&str; 6] = ["linux", "fifo", "codel", "last-pq", "wqm", "law"];

/// Standard, width in MHz, and the payload that a near station can get alone, Mb/s, from which rates are drawn.
const PHYS: [(&str, u32, f64); 5] =
    [("ht", 20, 90.0), ("ht", 40, 180.0), ("vht", 40, 250.0), ("vht", 80, 450.0), ("he", 80, 600.0)];

/// The scenario file of that number in the set of that seed.
pub(super) fn network(seed: u64, number: u64) -> String {
    let mut draws = Draws::of(seed, number);
    let (standard, width, capacity) = draws.one_of(&PHYS);
    let mut text = format!(
        "duration = \"10 s\"\nwarm-up = \"2 s\"\n[air]\nstandard = \"{standard}\"\nwidth = \"{width} MHz\"\n[wire]\ndelay = \"3 ms\"\n"
    );
    let laptops = 1 + draws.below(4);
    station(&mut text, &mut draws, "headset");
    for laptop in 1..=laptops {
        station(&mut text, &mut draws, &format!("laptop-{laptop}"));
    }
    let rate = draws.around(0.05, 0.45) * capacity;
    let demand = draws.one_of(&[10, 15, 20, 30, 50]);
    let kind = draws.one_of(&[
        "kind = \"vr\"\nfps = 60",
        "kind = \"vr\"\nfps = 30\nsize-law = \"lognormal(0.15)\"",
        "kind = \"vr\"\nfps = 60\ntransport = \"udp\"",
        "kind = \"cbr\"",
    ]);
    flow(
        &mut text,
        "stream",
        "headset",
        &format!("{kind}\nrate = \"{rate:.0} Mbit/s\"\ndemand = \"{demand} ms\""),
    );
    for laptop in 1..=laptops {
        if draws.chance(0.8) {
            flow(&mut text, &format!("download-{laptop}"), &format!("laptop-{laptop}"), "kind = \"tcp\"");
        }
    }
    if draws.chance(0.3) {
        flow(&mut text, "upload", "laptop-1", "kind = \"tcp\"\ndirection = \"up\"\nlimit = \"10 Mbit/s\"");
    }
    if draws.chance(0.4) {
        let demand = draws.one_of(&[20, 40, 80]);
        let direction = draws.one_of(&["", "\ndirection = \"up\""]);
        let call = format!("kind = \"cbr\"\nrate = \"2 Mbit/s\"\ndemand = \"{demand} ms\"{direction}");
        flow(&mut text, "call", "laptop-1", &call);
    }
    text
}

fn station(text: &mut String, draws: &mut Draws, name: &str) {
    let distance = draws.around(3.0, 25.0);
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "[[station]]\nname = \"{name}\"\nchannel = {{ kind = \"log-distance\", distance = \"{distance:.1} m\", shadowing = \"2 dB\" }}\n"
    );
}

fn flow(text: &mut String, name: &str, station: &str, rest: &str) {
    let _ = write!(text, "[[flow]]\nname = \"{name}\"\nstation = \"{station}\"\n{rest}\n");
}
