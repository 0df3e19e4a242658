//! Random scenarios with demands, to ask both the plan and the simulator about.
//!
//! The content of a scenario is a keyed function of the seed of the set and its number in it. The ranges were chosen before the model was
//! compared with any of them, such that some are easily met, some hopeless, and many near the border.

use std::fmt::Write as _;

use airbound_random::Key;

/// A random scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomScenario {
    /// Its name: seed of the set and number in it.
    pub name: String,
    /// Its number in the set.
    pub number: u64,
    /// The scenario file.
    pub text: String,
}

/// Draws that follow one another.
struct Draws {
    key: Key,
    count: u64,
}

impl Draws {
    fn unit(&mut self) -> f64 {
        self.count += 1;
        self.key.with(self.count).uniform()
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    fn below(&mut self, count: usize) -> usize {
        // Below `count`, since the unit is below 1.
        (self.unit() * count as f64) as usize
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Even in the logarithm.
    fn around(&mut self, low: f64, high: f64) -> f64 {
        low * libm::pow(high / low, self.unit())
    }
}

/// The PHY from which all rates of a scenario are taken.
#[derive(Debug, Clone, Copy)]
struct Phy {
    standard: &'static str,
    width: u32,
    fixed: &'static [&'static str],
}

const PHYS: [Phy; 3] = [
    Phy {
        standard: "ht",
        width: 40,
        fixed: &[
            "HT40 MCS4 1SS SGI",
            "HT40 MCS7 1SS SGI",
            "HT40 MCS11 2SS SGI",
            "HT40 MCS13 2SS SGI",
            "HT40 MCS15 2SS SGI",
        ],
    },
    Phy {
        standard: "ht",
        width: 20,
        fixed: &[
            "HT20 MCS5 1SS SGI",
            "HT20 MCS7 1SS SGI",
            "HT20 MCS12 2SS SGI",
            "HT20 MCS14 2SS SGI",
            "HT20 MCS15 2SS SGI",
        ],
    },
    Phy {
        standard: "vht",
        width: 80,
        fixed: &[
            "VHT80 MCS3 1SS SGI",
            "VHT80 MCS5 1SS SGI",
            "VHT80 MCS4 2SS SGI",
            "VHT80 MCS7 2SS SGI",
            "VHT80 MCS9 2SS SGI",
        ],
    },
];

/// The scenario of that number in the set of that seed.
#[must_use]
pub fn random_scenario(seed: u64, number: u64) -> RandomScenario {
    let mut draws = Draws { key: Key::of_seed(seed).with(number), count: 0 };
    let phy = draws.one_of(&PHYS);
    let hardware = if draws.chance(0.7) { 2 } else { 1 };
    let rate_control = draws.one_of(&["ideal", "minstrel-ht"]);
    let mut text = format!(
        r#"duration = "4 s"
warm-up = "3 s"
[air]
standard = "{standard}"
width = "{width} MHz"
guard-interval = "400 ns"
[access-point]
preset = "ath9k-fq"
path = {{ hardware-aggregates = {hardware} }}
[scheme]
queue = "last-pq"
rate = "{rate_control}"
"#,
        standard = phy.standard,
        width = phy.width,
    );
    let headsets = 1 + draws.below(4);
    for index in 1..=headsets {
        station(&mut text, &format!("headset-{index}"), phy, &mut draws);
    }
    let clients = draws.below(6);
    for index in 1..=clients {
        station(&mut text, &format!("client-{index}"), phy, &mut draws);
    }
    for index in 1..=headsets {
        demanding(&mut text, index, &mut draws);
    }
    for index in 1..=clients {
        flow(&mut text, &format!("bulk-{index}"), &format!("client-{index}"), "kind = \"tcp\"");
    }
    if draws.chance(0.5) {
        let count = 1 + draws.below(5);
        flow(&mut text, "beside", "headset-1", &format!("kind = \"tcp\"\ncount = {count}"));
    }
    if draws.chance(0.35) {
        for index in 1..=draws.below(2) + 1 {
            uplink(&mut text, index, clients, headsets, &mut draws);
        }
    }
    if draws.chance(0.35) {
        neighbour(&mut text, &mut draws);
    }
    RandomScenario { name: format!("random-{seed}-{number}"), number, text }
}

fn station(text: &mut String, name: &str, phy: Phy, draws: &mut Draws) {
    let _ = write!(text, "[[station]]\nname = \"{name}\"\n");
    if draws.chance(0.5) {
        let _ = writeln!(text, "rate = \"{}\"", draws.one_of(phy.fixed));
        return;
    }
    let distance = draws.around(2.0, 25.0);
    let fading = if draws.chance(0.5) {
        ", fading = { kind = \"rician\", k = \"8 dB\", speed = \"0.5 m/s\" }"
    } else {
        ""
    };
    let _ = writeln!(text, "channel = {{ kind = \"log-distance\", distance = \"{distance:.1} m\"{fading} }}");
}

fn flow(text: &mut String, name: &str, station: &str, rest: &str) {
    let _ = write!(text, "[[flow]]\nname = \"{name}\"\nstation = \"{station}\"\n{rest}\n");
}

fn demanding(text: &mut String, index: usize, draws: &mut Draws) {
    let name = format!("wanted-{index}");
    let rest = if draws.chance(0.3) {
        format!("kind = \"cbr\"\nrate = \"{:.1} Mbit/s\"", draws.around(2.0, 30.0))
    } else {
        let transport = if draws.chance(0.25) { "udp" } else { "tcp" };
        let rate = draws.around(8.0, 60.0);
        let fps = draws.one_of(&[30, 60, 72, 90]);
        let sigma = draws.between(0.0, 0.3);
        let burst = draws.one_of(&[200, 400, 1000]);
        format!(
            "kind = \"vr\"\nrate = \"{rate:.1} Mbit/s\"\nfps = {fps}\ntransport = \"{transport}\"\n\
             size-law = \"lognormal({sigma:.2})\"\nburst-rate = \"{burst} Mbit/s\""
        )
    };
    flow(text, &name, &format!("headset-{index}"), &rest);
    let latency = draws.around(8.0, 50.0).round();
    let percentile = draws.one_of(&[90, 95, 99]);
    let _ = writeln!(text, "demand = {{ latency = \"{latency} ms\", percentile = {percentile} }}");
}

fn uplink(text: &mut String, index: usize, clients: usize, headsets: usize, draws: &mut Draws) {
    let everyone = clients + headsets;
    let place = draws.below(everyone);
    let station = if place < clients {
        format!("client-{}", place + 1)
    } else {
        format!("headset-{}", place - clients + 1)
    };
    let rest = if draws.chance(0.4) {
        "kind = \"tcp\"\ndirection = \"up\"".to_owned()
    } else {
        format!("kind = \"tcp\"\ndirection = \"up\"\nlimit = \"{:.1} Mbit/s\"", draws.around(1.0, 20.0))
    };
    flow(text, &format!("upload-{index}"), &station, &rest);
}

fn neighbour(text: &mut String, draws: &mut Draws) {
    let transmitters = 1 + draws.below(3);
    let (rate, mpdus) = draws.one_of(&[("OFDM 24 Mbit/s", 1), ("HT20 MCS7 1SS LGI", 16)]);
    let load = if draws.chance(0.25) {
        "saturated".to_owned()
    } else {
        format!("{:.1} Mbit/s", draws.around(0.5, 8.0))
    };
    let _ = write!(
        text,
        "[[neighbour]]\nname = \"next-door\"\ntransmitters = {transmitters}\nload = \"{load}\"\n\
         rate = \"{rate}\"\nampdu-mpdus = {mpdus}\n"
    );
}
