//! The office of Sec. 4.1 as scenarios: one access point with 20 MHz 802.11n and one stream, one laptop, people and neighbours.

use std::fmt::Write as _;

use airbound_units::{Instant, Span};

use crate::Trial;

/// A link layer: what fills the slots of the scheme, and the transmit path below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layer {
    pub(super) name: &'static str,
    queue: &'static str,
    rate: &'static str,
    /// `[access-point]` and its path.
    access_point: &'static str,
}

const OPENWIFI: &str = "preset = \"openwifi\"\nstreams = 1\n";

const fn rival(name: &'static str, rate: &'static str) -> Layer {
    Layer { name, queue: "\"linux\"", rate, access_point: OPENWIFI }
}

/// Law as in the paper, with one queue for all; our default orders it by flows and airtime.
pub(super) const LAW: Layer = Layer {
    name: "Law",
    queue: "{ kind = \"law\", inside = \"fifo\" }",
    rate: "\"law\"",
    access_point: OPENWIFI,
};
/// Linux's own rate control over three layers of queues.
pub(super) const MINSTREL: Layer = rival("Minstrel", "\"minstrel-ht\"");
/// Latency-aware rate adaptation over the same layers.
pub(super) const LLRA: Layer = rival("LLRA", "\"llra\"");
/// Thompson sampling over the same layers.
pub(super) const THOMPSON: Layer = rival("TS", "\"thompson\"");

/// No scheme of the paper: a rate control that knows the channel, over the same layers with Law's bound over all of them. What it
/// loses, no bound of 46 ms can save.
pub(super) const KNOWING: Layer = Layer {
    name: "ideal rate, 46 ms",
    queue: "\"fifo\"",
    rate: "\"ideal\"",
    access_point: "preset = \"openwifi\"\nstreams = 1\npath = { total-limit-time = \"46 ms\" }\n",
};

/// The baselines of Sec. 4.1.
pub(super) const RIVALS: [Layer; 3] = [MINSTREL, LLRA, THOMPSON];
/// Law and its baselines.
pub(super) const ALL: [Layer; 4] = [LAW, MINSTREL, LLRA, THOMPSON];

impl Layer {
    /// The same link layer with another queue under another name.
    pub(super) const fn with_queue(self, name: &'static str, queue: &'static str) -> Self {
        Self { name, queue, ..self }
    }

    /// `[access-point]` and `[scheme]`.
    pub(super) fn sections(self) -> String {
        let Self { queue, rate, access_point, .. } = self;
        format!("[access-point]\n{access_point}[scheme]\nqueue = {queue}\nrate = {rate}\n")
    }

    /// The same scheme over another access point.
    pub(super) const fn over(self, name: &'static str, access_point: &'static str) -> Self {
        Self { name, access_point, ..self }
    }
}

/// Activity in the office: presets of the channel, frozen before Law first ran on them (docs/understand/office-channel.md), and two others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surroundings {
    Calm,
    Office,
    Harsh,
    /// No neighbour on the channel, and a signal that fades around so many dBm as people move.
    Signal(i32),
    /// No neighbour on the channel, and a signal that loses nothing.
    Quiet,
}

impl Surroundings {
    pub(super) const PRESETS: [Self; 3] = [Self::Calm, Self::Office, Self::Harsh];
    /// Those by which claims are judged: in the third, 10 Mb/s do not fit on the air whoever sends.
    pub(super) const JUDGED: [Self; 2] = [Self::Calm, Self::Office];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::Office => "office",
            Self::Harsh => "harsh",
            Self::Signal(_) => "a fading signal",
            Self::Quiet => "quiet",
        }
    }

    fn key(self) -> String {
        match self {
            Self::Signal(_) | Self::Quiet => String::new(),
            Self::Calm | Self::Office | Self::Harsh => format!("surroundings = \"{}\"\n", self.name()),
        }
    }

    /// The channel of the laptop, where the surroundings do not say.
    fn channel(self) -> String {
        match self {
            Self::Signal(dbm) => format!("{CHANNEL}reference-loss = \"{} dB\" }}\n", TX_POWER_DBM - dbm),
            _ => String::new(),
        }
    }
}

/// The power of the access point.
const TX_POWER_DBM: i32 = 16;
/// At the distance of the reference loss, with a direct path and people who walk.
const CHANNEL: &str = "channel = { kind = \"log-distance\", distance = \"1 m\", fading = { kind = \"rician\", k = \"6 dB\", \
                       speed = \"1 m/s\" }, ";

/// The same for small networks, where nobody comes and goes.
pub(super) const SHORT_WARM_UP: Span = Span::from_secs(5);

/// Traffic to the laptop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Traffic {
    /// UDP at 10 Mb/s (Sec. 4.2).
    Udp,
    /// The same from a server 2 ms away.
    UdpFromCampus,
    /// Streams of video from an edge server (Sec. 4.3).
    Video {
        /// Number of streams.
        streams: u32,
        /// Loss on the wire beside that of the air.
        wire_loss: f64,
        /// Keys of the flow.
        keys: &'static str,
    },
    /// Downloads under BBR (Sec. 4.4).
    Bbr {
        /// Number of downloads.
        flows: u32,
    },
}

/// One stream of video.
pub(super) const VIDEO: Traffic = Traffic::Video { streams: 1, wire_loss: 0.0, keys: "" };

/// Which 802.11.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standard {
    Ht,
    Vht,
}

/// One experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Setting {
    pub(super) layer: Layer,
    pub(super) surroundings: Surroundings,
    pub(super) traffic: Traffic,
    /// Whether a UDP flow of 2 Mb/s competes (Sec. 4.4).
    pub(super) competing: bool,
    /// Whether the neighbours' downloads, which come in saturating bursts, are left out.
    pub(super) without_bursts: bool,
    /// 802.11n or 802.11ac.
    pub(super) standard: Standard,
    /// By how many dB every signal is weaker than usual.
    pub(super) weaker_db: i32,
    pub(super) seconds: u64,
}

/// Before this time nothing is measured: rate controls and congestion controls have settled.
const WARM_UP: Span = Span::from_secs(10);
/// The bound of the default setting, Limit_q + 2 Limit_h: what comes later is late (Sec. 4.2).
pub(super) const BOUND: Span = Span::from_millis(46);

impl Setting {
    /// "We ran each test for at least ten minutes" (Sec. 4.1).
    pub(super) const fn new(layer: Layer, traffic: Traffic) -> Self {
        Self {
            layer,
            surroundings: Surroundings::Office,
            traffic,
            competing: false,
            without_bursts: false,
            standard: Standard::Ht,
            weaker_db: 0,
            seconds: 600,
        }
    }

    /// From when on packets are measured.
    pub(super) fn measured_from() -> Instant {
        Instant::ZERO + WARM_UP
    }

    /// Returns the trial with this seed; flow 0 is the one that is measured.
    pub(super) fn trial(&self, seed: u64) -> Trial {
        let Self { layer, surroundings, seconds, .. } = self;
        let (name, sections) = (layer.name, layer.sections());
        let standard = match self.standard {
            Standard::Ht => "ht",
            Standard::Vht => "vht",
        };
        let (power, key, channel) =
            (TX_POWER_DBM - self.weaker_db, surroundings.key(), surroundings.channel());
        let mut scenario = format!(
            r#"duration = "{seconds} s"
warm-up = "{WARM_UP}"
{key}[air]
standard = "{standard}"
width = "20 MHz"
tx-power = "{power} dBm"
{sections}[[station]]
name = "laptop"
{channel}"#
        );
        if self.without_bursts {
            // Who is there already under the name of one of the preset takes its place.
            scenario += "[[neighbour]]\nname = \"downloads\"\nload = \"1 kbit/s\"\n";
        }
        self.add_flows(&mut scenario);
        Trial::new(format!("law {name}, {}", surroundings.name()), scenario, seed)
    }

    fn add_flows(&self, scenario: &mut String) {
        let mut flow = |name: &str, kind: &str, keys: &str| {
            let _ = write!(
                scenario,
                "[[flow]]\nname = \"{name}\"\nkind = \"{kind}\"\nstation = \"laptop\"\n{keys}\n"
            );
        };
        // Iperf's packets fill an Ethernet frame.
        const UDP: &str = "size = \"1470 B\"";
        // From an edge server: "one-way latency within 10 ms" (Sec. 1).
        const EDGE: &str = "delay = \"10 ms\"";
        match self.traffic {
            Traffic::Udp => flow("udp", "cbr", &format!("rate = \"10 Mbit/s\"\n{UDP}")),
            Traffic::UdpFromCampus => {
                flow("udp", "cbr", &format!("rate = \"10 Mbit/s\"\n{UDP}\nwire = {{ delay = \"2 ms\" }}"));
            }
            Traffic::Video { streams, wire_loss, keys } => {
                let wire = format!("wire = {{ {EDGE}, loss = {wire_loss} }}");
                // Streams that began together would send their key frames together.
                flow("video", "rtc", &format!("count = {streams}\nstagger = \"1.1 s\"\n{keys}{wire}"));
            }
            Traffic::Bbr { flows } => flow(
                "bulk",
                "tcp",
                &format!("count = {flows}\nstagger = \"1 s\"\ncongestion = \"bbr\"\nwire = {{ {EDGE} }}"),
            ),
        }
        if self.competing {
            flow("competing", "cbr", &format!("rate = \"2 Mbit/s\"\n{UDP}"));
        }
    }
}
