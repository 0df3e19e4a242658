//! The testbed as scenarios (Sec. V-B): nodes in a row about 10 m apart that all run the same queue over ath9k of 2014, peers with the
//! same EDCA parameters.

use std::fmt::Write as _;

use crate::Trial;

/// A queueing scheme: its name in tables, and what a scenario file calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scheme {
    pub(super) name: &'static str,
    pub(super) queue: &'static str,
    /// The congestion control of the senders.
    pub(super) sender: &'static str,
}

const fn scheme(name: &'static str, queue: &'static str) -> Scheme {
    Scheme { name, queue, sender: "\"cubic\"" }
}

/// Linux's default then: 1000 packets.
pub(super) const FIFO: Scheme = scheme("FIFO 1000", "\"fifo\"");
pub(super) const CODEL: Scheme = scheme("CoDel", "\"codel\"");
pub(super) const PIE: Scheme = scheme("PIE", "\"pie\"");
pub(super) const WQM: Scheme = scheme("WQM", "\"wqm\"");
/// Schemes that the paper compares.
pub(super) const SCHEMES: [Scheme; 4] = [FIFO, CODEL, PIE, WQM];

/// PHY rate of a link: fixed, or by Minstrel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rate {
    /// 6.5 Mb/s.
    Mcs0,
    /// 13 Mb/s.
    Mcs1,
    /// 65 Mb/s.
    Mcs7,
    /// 144.4 Mb/s.
    Mcs15,
    Minstrel,
}

impl Rate {
    pub(super) const ALL: [Self; 5] = [Self::Mcs0, Self::Mcs1, Self::Mcs7, Self::Mcs15, Self::Minstrel];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Mcs0 => "6.5 Mb/s",
            Self::Mcs1 => "13 Mb/s",
            Self::Mcs7 => "65 Mb/s",
            Self::Mcs15 => "144.4 Mb/s",
            Self::Minstrel => "Minstrel",
        }
    }

    /// The key of a station that fixes it.
    const fn key(self) -> &'static str {
        match self {
            Self::Mcs0 => "rate = \"HT20 MCS0 1SS LGI\"",
            Self::Mcs1 => "rate = \"HT20 MCS1 1SS LGI\"",
            Self::Mcs7 => "rate = \"HT20 MCS7 1SS LGI\"",
            Self::Mcs15 => "rate = \"HT20 MCS15 2SS SGI\"",
            Self::Minstrel => "",
        }
    }
}

/// Number and destinations of the flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flows {
    /// So many flows to the last node of the row.
    ToTheEnd(u32),
    /// One flow to each node of the row (Fig. 19).
    ParkingLot,
}

/// One experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Setting {
    /// Length of the row.
    pub(super) hops: u32,
    pub(super) flows: Flows,
    pub(super) rate: Rate,
    /// Between neighbours in the row.
    pub(super) distance_m: u32,
    /// Whether people move slowly: a strong direct path and weak fading. Else the channel is at rest.
    pub(super) fading: bool,
    pub(super) aggregation: bool,
    /// Frames in the driver's queue, below the scheme.
    pub(super) driver_queue: u32,
    /// Most subframes of an A-MPDU.
    pub(super) subframes: u32,
    pub(super) standard: Standard,
    pub(super) seconds: u32,
}

/// Which PHY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standard {
    /// 802.11n, 20 MHz, as all experiments of the paper.
    Ht20,
    /// 802.11ac, 80 MHz: the paper's future work.
    Vht80,
}

impl Setting {
    /// One flow over one hop of 10 m with Minstrel, for 100 s.
    pub(super) const USUAL: Self = Self {
        hops: 1,
        flows: Flows::ToTheEnd(1),
        rate: Rate::Minstrel,
        distance_m: 10,
        fading: true,
        aggregation: true,
        driver_queue: 123,
        subframes: 32,
        standard: Standard::Ht20,
        seconds: 100,
    };

    pub(super) fn trial(&self, scheme: Scheme, seed: u64) -> Trial {
        let (standard, width) = match self.standard {
            Standard::Ht20 => ("ht", "20 MHz"),
            Standard::Vht80 => ("vht", "80 MHz"),
        };
        let subframes = if self.aggregation { self.subframes } else { 1 };
        let Self { driver_queue, distance_m, seconds, .. } = self;
        let Scheme { queue, sender, .. } = scheme;
        let mut scenario = format!(
            r#"duration = "{seconds} s"
[air]
standard = "{standard}"
width = "{width}"
guard-interval = "400 ns"
edca = "equal"
[access-point]
preset = "ath9k-2014"
streams = 2
path = {{ driver-queue = {driver_queue}, max-ampdu-mpdus = {subframes} }}
[uplink]
queue = "scheme"
preset = "ath9k-2014"
path = {{ driver-queue = {driver_queue}, max-ampdu-mpdus = {subframes} }}
[wire]
delay = "100 us"
[scheme]
queue = {queue}
rate = "minstrel-ht"
sender = {sender}
"#
        );
        for hop in 1..=self.hops {
            let _ = writeln!(scenario, "[[station]]\nname = \"node-{hop}\"");
            if hop > 1 {
                let _ = writeln!(scenario, "via = \"node-{}\"", hop - 1);
            }
            let _ = writeln!(scenario, "{}", self.rate.key());
            if self.rate == Rate::Minstrel {
                let fading = if self.fading {
                    "{ kind = \"rician\", k = \"10 dB\", speed = \"0.1 m/s\" }"
                } else {
                    "\"none\""
                };
                let _ = writeln!(
                    scenario,
                    "channel = {{ kind = \"log-distance\", distance = \"{distance_m} m\", fading = {fading} }}"
                );
            }
        }
        let flow = |name: &str, node: u32, count: u32| {
            format!(
                "[[flow]]\nname = \"{name}\"\nkind = \"tcp\"\nstation = \"node-{node}\"\ncount = {count}\nstagger = \"50 ms\"\n"
            )
        };
        match self.flows {
            Flows::ToTheEnd(count) => scenario += &flow("flow", self.hops, count),
            Flows::ParkingLot => (1..=self.hops).for_each(|hop| {
                scenario += &flow(&format!("hops-{hop}"), hop, 1);
            }),
        }
        Trial { name: format!("wqm {}", scheme.name), scenario, seed }
    }
}
