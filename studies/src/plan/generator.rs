//! Random scenarios with demands, to ask both the plan and the simulator about.
//!
//! The content of a scenario is a keyed function of the seed of the set and its number in it. The ranges were chosen before the model was
//! compared with any of them, such that some are easily met, some hopeless, and many near the border.
//!
//! The `demand` of a flow, which LAST-PQ shall hold, is the part of the access point. What the plan is asked, and what is measured, is that
//! plus the longest delay of the wire: from the sender to the acknowledgement of the station.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use airbound_random::Key;
use serde::Serialize;

/// Properties of a scenario by which answers are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The flows to stations are of more than one category.
    MixedCategories,
    /// All flows to stations are of one category.
    OneCategory,
    /// A demand is of a stream over TCP.
    TcpVideo,
    /// A demand is of a voice call.
    Call,
    /// The wire takes 5 ms or more in one direction.
    LongWire,
    /// The wire's delay varies.
    WireJitter,
    /// The channel to a station fades.
    Fading,
    /// A station uploads by TCP.
    Upload,
    /// Another network contends.
    Neighbour,
}

impl Kind {
    /// All kinds, in the order of the table.
    pub const ALL: [Self; 9] = [
        Self::OneCategory,
        Self::MixedCategories,
        Self::TcpVideo,
        Self::Call,
        Self::LongWire,
        Self::WireJitter,
        Self::Fading,
        Self::Upload,
        Self::Neighbour,
    ];

    /// Its name in a table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneCategory => "one category",
            Self::MixedCategories => "mixed categories",
            Self::TcpVideo => "video over TCP",
            Self::Call => "a call",
            Self::LongWire => "a wire of 5 ms or more",
            Self::WireJitter => "jitter of the wire",
            Self::Fading => "fading",
            Self::Upload => "uploads",
            Self::Neighbour => "neighbours",
        }
    }
}

/// A random scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomScenario {
    /// Its name: seed of the set and number in it.
    pub name: String,
    /// Its number in the set.
    pub number: u64,
    /// The scenario file.
    pub text: String,
    /// The kinds that it belongs to.
    pub kinds: BTreeSet<Kind>,
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

    /// The first choice whose weight covers the draw; weights sum up to 100.
    fn weighted(&mut self, choices: &[(&'static str, u32)]) -> &'static str {
        let mut left = self.unit() * 100.0;
        for (choice, weight) in choices {
            left -= f64::from(*weight);
            if left < 0.0 {
                return choice;
            }
        }
        choices.last().map_or("be", |(choice, _)| choice)
    }

    /// Even in the logarithm.
    fn around(&mut self, low: f64, high: f64) -> f64 {
        low * libm::pow(high / low, self.unit())
    }
}

/// The PHY from which all rates of a scenario are taken.
#[derive(Debug, Clone, Copy)]
struct Phy {
    /// Preset of the access point, and keys of its path.
    path: (&'static str, &'static str),
    standard: &'static str,
    width: u32,
    fixed: &'static [&'static str],
}

const ATH9K: (&str, &str) = ("ath9k-fq", "");
/// The depths of ath9k, over a card of another standard.
const ATH9K_DEPTHS: (&str, &str) = (
    "direct",
    "form = \"ahead\"\nmax-ampdu-mpdus = 32\nmax-ampdu-bytes = \"65535 B\"\nmax-ppdu-duration = \"4 ms\"\n\
     hardware-tries = 40\nmax-grants = 30\ncharge-received-airtime = true\nqueue-holds-in-flight = false\n",
);

const PHYS: [Phy; 3] = [
    Phy {
        path: ATH9K,
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
        path: ATH9K,
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
        path: ATH9K_DEPTHS,
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

/// Categories of demanding streams, of downloads, of uploads and of neighbours, in percent. A download in the video category starves
/// best effort, which leaves nothing to decide, so there are few.
const STREAMS: [(&str, u32); 4] = [("be", 50), ("vi", 30), ("vo", 12), ("bk", 8)];
const DOWNLOADS: [(&str, u32); 3] = [("be", 76), ("vi", 4), ("bk", 20)];
const UPLOADS: [(&str, u32); 3] = [("be", 75), ("vi", 15), ("bk", 10)];
const NEIGHBOURS: [(&str, u32); 4] = [("be", 60), ("vi", 20), ("vo", 10), ("bk", 10)];

/// One-way delay from which a wire counts as long, in ms.
const LONG_WIRE: f64 = 5.0;

/// The scenario of that number in the set of that seed.
#[must_use]
pub fn random_scenario(seed: u64, number: u64) -> RandomScenario {
    let mut draws = Draws { key: Key::of_seed(seed).with(number), count: 0 };
    let phy = draws.one_of(&PHYS);
    let hardware = if draws.chance(0.7) { 2 } else { 1 };
    let rate_control = draws.one_of(&["ideal", "minstrel-ht"]);
    let wire = Wire::draw(&mut draws);
    let text = format!(
        r#"duration = "4 s"
warm-up = "2 s"
[air]
standard = "{standard}"
width = "{width} MHz"
guard-interval = "400 ns"
[access-point]
preset = "{preset}"
[access-point.path]
hardware-aggregates = {hardware}
{depths}[wire]
delay = "{delay:.1} ms"
jitter = "{jitter:.1} ms"
[scheme]
queue = "last-pq"
rate = "{rate_control}"
"#,
        standard = phy.standard,
        width = phy.width,
        preset = phy.path.0,
        depths = phy.path.1,
        delay = wire.delay,
        jitter = wire.jitter,
    );
    let mut making = Making { draws, text, kinds: BTreeSet::new(), down: BTreeSet::new() };
    making.note(Kind::LongWire, wire.delay >= LONG_WIRE);
    making.note(Kind::WireJitter, wire.jitter > 0.0);
    making.fill(phy);
    let mixed = making.down.len() > 1;
    making.note(Kind::MixedCategories, mixed);
    making.note(Kind::OneCategory, !mixed);
    let Making { text, kinds, .. } = making;
    RandomScenario { name: format!("random-{seed}-{number}"), number, text, kinds }
}

/// The way between a server and the access point, in ms, to a tenth.
#[derive(Debug, Clone, Copy)]
struct Wire {
    delay: f64,
    jitter: f64,
}

impl Wire {
    fn draw(draws: &mut Draws) -> Self {
        let tenths = |value: f64| (value * 10.0).round() / 10.0;
        let delay = tenths(draws.around(0.3, 20.0));
        let jitter = if draws.chance(0.3) { tenths(draws.around(0.5, 5.0)) } else { 0.0 };
        Self { delay, jitter }
    }
}

/// A scenario in the making.
struct Making {
    draws: Draws,
    text: String,
    kinds: BTreeSet<Kind>,
    /// The categories of flows to stations.
    down: BTreeSet<&'static str>,
}

impl Making {
    fn note(&mut self, kind: Kind, holds: bool) {
        if holds {
            self.kinds.insert(kind);
        }
    }

    /// Adds stations, flows and neighbours.
    fn fill(&mut self, phy: Phy) {
        let headsets = 1 + self.draws.below(3);
        for index in 1..=headsets {
            self.station(&format!("headset-{index}"), phy);
        }
        let clients = self.draws.below(5);
        for index in 1..=clients {
            self.station(&format!("client-{index}"), phy);
        }
        for index in 1..=headsets {
            self.demanding(index);
        }
        if self.draws.chance(0.3) {
            let station = self.any_station(clients, headsets);
            self.flow("call", &station, "kind = \"voip\"");
            self.down.insert("vo");
            self.demand((3.0, 20.0));
            self.note(Kind::Call, true);
        }
        for index in 1..=clients {
            self.download(&format!("bulk-{index}"), &format!("client-{index}"), 1);
        }
        if self.draws.chance(0.5) {
            let count = 1 + self.draws.below(5);
            self.download("beside", "headset-1", count);
        }
        if self.draws.chance(0.3) {
            self.flow(
                "poses",
                "headset-1",
                "kind = \"cbr\"\ndirection = \"up\"\nrate = \"100 kbit/s\"\nsize = \"125 B\"",
            );
        }
        if self.draws.chance(0.35) {
            for index in 1..=self.draws.below(2) + 1 {
                self.upload(index, clients, headsets);
            }
            self.note(Kind::Upload, true);
        }
        if self.draws.chance(0.35) {
            self.neighbour();
            self.note(Kind::Neighbour, true);
        }
    }

    fn any_station(&mut self, clients: usize, headsets: usize) -> String {
        let place = self.draws.below(clients + headsets);
        if place < clients {
            format!("client-{}", place + 1)
        } else {
            format!("headset-{}", place - clients + 1)
        }
    }

    fn station(&mut self, name: &str, phy: Phy) {
        let _ = write!(self.text, "[[station]]\nname = \"{name}\"\n");
        if self.draws.chance(0.5) {
            let _ = writeln!(self.text, "rate = \"{}\"", self.draws.one_of(phy.fixed));
            return;
        }
        let distance = self.draws.around(2.0, 25.0);
        let fades = self.draws.chance(0.5);
        let fading =
            if fades { ", fading = { kind = \"rician\", k = \"8 dB\", speed = \"0.5 m/s\" }" } else { "" };
        self.note(Kind::Fading, fades);
        let _ = writeln!(
            self.text,
            "channel = {{ kind = \"log-distance\", distance = \"{distance:.1} m\"{fading} }}"
        );
    }

    fn flow(&mut self, name: &str, station: &str, rest: &str) {
        let _ = write!(self.text, "[[flow]]\nname = \"{name}\"\nstation = \"{station}\"\n{rest}\n");
    }

    /// Adds a demand to the last flow: a time in the range (ms) for the access point.
    fn demand(&mut self, (least, most): (f64, f64)) {
        let air = self.draws.around(least, most);
        let percentile = self.draws.one_of(&[90, 95, 99]);
        let _ = writeln!(self.text, "demand = {{ latency = \"{air:.1} ms\", percentile = {percentile} }}");
    }

    fn demanding(&mut self, index: usize) {
        let name = format!("wanted-{index}");
        let category = self.draws.weighted(&STREAMS);
        self.down.insert(category);
        let rest = if self.draws.chance(0.25) {
            format!("kind = \"cbr\"\nrate = \"{:.1} Mbit/s\"", self.draws.around(2.0, 30.0))
        } else {
            let transport = if self.draws.chance(0.25) { "udp" } else { "tcp" };
            self.note(Kind::TcpVideo, transport == "tcp");
            let rate = self.draws.around(8.0, 60.0);
            let fps = self.draws.one_of(&[30, 60, 72, 90]);
            let sigma = self.draws.between(0.0, 0.3);
            let burst = self.draws.one_of(&[200, 400, 1000]);
            format!(
                "kind = \"vr\"\nrate = \"{rate:.1} Mbit/s\"\nfps = {fps}\ntransport = \"{transport}\"\n\
                 size-law = \"lognormal({sigma:.2})\"\nburst-rate = \"{burst} Mbit/s\""
            )
        };
        self.flow(&name, &format!("headset-{index}"), &format!("{rest}\ncategory = \"{category}\""));
        self.demand((6.0, 50.0));
    }

    fn download(&mut self, name: &str, station: &str, count: usize) {
        let category = self.draws.weighted(&DOWNLOADS);
        self.down.insert(category);
        let rest = format!("kind = \"tcp\"\ncount = {count}\ncategory = \"{category}\"");
        self.flow(name, station, &rest);
    }

    fn upload(&mut self, index: usize, clients: usize, headsets: usize) {
        let station = self.any_station(clients, headsets);
        let category = self.draws.weighted(&UPLOADS);
        let limit = if self.draws.chance(0.4) {
            String::new()
        } else {
            format!("\nlimit = \"{:.1} Mbit/s\"", self.draws.around(1.0, 20.0))
        };
        let rest = format!("kind = \"tcp\"\ndirection = \"up\"\ncategory = \"{category}\"{limit}");
        self.flow(&format!("upload-{index}"), &station, &rest);
    }

    fn neighbour(&mut self) {
        let transmitters = 1 + self.draws.below(3);
        let (rate, mpdus) = self.draws.one_of(&[("OFDM 24 Mbit/s", 1), ("HT20 MCS7 1SS LGI", 16)]);
        let load = if self.draws.chance(0.25) {
            "saturated".to_owned()
        } else {
            format!("{:.1} Mbit/s", self.draws.around(0.5, 8.0))
        };
        let category = self.draws.weighted(&NEIGHBOURS);
        let _ = write!(
            self.text,
            "[[neighbour]]\nname = \"next-door\"\ntransmitters = {transmitters}\nload = \"{load}\"\n\
             rate = \"{rate}\"\nampdu-mpdus = {mpdus}\ncategory = \"{category}\"\n"
        );
    }
}
