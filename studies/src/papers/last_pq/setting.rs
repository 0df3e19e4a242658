//! The evaluation's floor (Sec. VI, Fig. 9) as scenarios: a VR phone, bulk flows beside it, other clients with a bulk flow each.

use std::fmt::Write as _;

use crate::Trial;

/// Which queue the access point has.
pub(super) const LINUX: &str = "\"linux\"";
/// As in the paper: without what our defaults add.
pub(super) const LAST_PQ: &str =
    "{ kind = \"last-pq\", fill = 0, least-aggregate = \"0 ms\", delay = { hold = false } }";
/// Our defaults: the demand is held over seconds, a few packets of others ride along, and others' aggregates are not cut below 1.5 ms.
pub(super) const OURS: &str = "\"last-pq\"";

/// The farthest place on a grid of 5 m where VR alone keeps its p95 at or below three quarters of its demand, the phone at rest:
/// S6. [`super::place`] prints the margin.
pub(super) const S6_M: u32 = 25;
/// The same for a phone that is carried about there: M8.
pub(super) const M8_M: u32 = 10;
/// Where the walk begins.
const M1_M: u32 = 2;
/// Other clients stand around S5, nearer than S6.
const S5_M: u32 = 10;
/// Length of the walk: the paper's excursion begins at 53.5 s and lasts 9.1 s.
pub(super) const WALK_S: u32 = 66;
/// Time for which the background runs before the stream begins, in s.
pub(super) const LEAD_S: u32 = 3;

/// Where the VR phone is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// At rest, so far from the access point.
    At(u32),
    /// So far from the access point, carried about at walking speed.
    Around(u32),
    /// From M1 to a place so far away, at walking speed.
    Away(u32),
    /// Back from there.
    Back(u32),
}

/// In which category the traffic travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Categories {
    /// All in BK (Sec. III; airtime fairness works within a category).
    AllBk,
    /// VR in BK, the rest in BE.
    BackgroundBe,
    /// All in VI (Sec. III-C).
    AllVi,
}

/// One experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) queue: &'static str,
    pub(super) place: Place,
    /// Bulk flows at the VR phone.
    pub(super) flows: u32,
    /// Other clients with one bulk flow each.
    pub(super) clients: u32,
    /// Whether the phone has a call too, in the category of the background.
    pub(super) call: bool,
    /// The demand as a scenario file has it.
    pub(super) demand: &'static str,
    pub(super) burst_mbps: u32,
    pub(super) categories: Categories,
    pub(super) seconds: u32,
}

impl Setting {
    /// VR alone at S6 under Linux, for 20 s.
    pub(super) const USUAL: Self = Self {
        queue: LINUX,
        place: Place::At(S6_M),
        flows: 0,
        clients: 0,
        call: false,
        demand: "\"20 ms\"",
        burst_mbps: 400,
        categories: Categories::AllBk,
        seconds: 20,
    };

    /// The most congested case: five flows and five clients.
    pub(super) const CROWDED: Self = Self { flows: 5, clients: 5, ..Self::USUAL };

    /// The VR stream is flow 0.
    pub(super) fn trial(&self, seed: u64) -> Trial {
        let (vr, background) = match self.categories {
            Categories::AllBk => ("bk", "bk"),
            Categories::BackgroundBe => ("bk", "be"),
            Categories::AllVi => ("vi", "vi"),
        };
        let (lead, walk) = (LEAD_S, WALK_S + LEAD_S);
        // At rest nothing moves; a walk meets a strong direct path and what people's bodies do to it.
        let channel = match self.place {
            Place::At(metres) => format!("distance = \"{metres} m\""),
            Place::Around(metres) => format!("distance = \"{metres} m\", {FADING}"),
            Place::Away(far) => moving(&format!("[\"{lead} s\", \"{M1_M} m\"], [\"{walk} s\", \"{far} m\"]")),
            Place::Back(far) => moving(&format!("[\"{lead} s\", \"{far} m\"], [\"{walk} s\", \"{M1_M} m\"]")),
        };
        let Self { queue, demand, burst_mbps, clients, seconds, .. } = self;
        let mut scenario = format!(
            r#"duration = "{seconds} s"
warm-up = "{lead} s"
[air]
standard = "ht"
width = "40 MHz"
guard-interval = "400 ns"
[access-point]
preset = "ath9k-fq"
streams = 3
[scheme]
queue = {queue}
rate = "minstrel-ht"
[[station]]
name = "phone"
streams = 2
channel = {{ kind = "log-distance", {channel} }}
[[station]]
name = "client"
count = {clients}
streams = 3
channel = {{ kind = "log-distance", distance = "{S5_M} m" }}
[[flow]]
name = "vr"
kind = "vr"
station = "phone"
category = "{vr}"
rate = "45 Mbit/s"
fps = 30
burst-rate = "{burst_mbps} Mbit/s"
start = "{lead} s"
demand = {demand}
"#
        );
        for (name, station, count) in
            [("local", "phone", self.flows), ("other", "client", self.clients.min(1))]
        {
            if count > 0 {
                let _ = write!(
                    scenario,
                    "[[flow]]\nname = \"{name}\"\nkind = \"tcp\"\nstation = \"{station}\"\ncount = {count}\n\
                     category = \"{background}\"\nstagger = \"50 ms\"\n"
                );
            }
        }
        if self.call {
            let _ = write!(
                scenario,
                "[[flow]]\nname = \"call\"\nkind = \"voip\"\nstation = \"phone\"\ncategory = \"{background}\"\n"
            );
        }
        Trial::new(format!("last-pq {} flows, {} clients", self.flows, self.clients), scenario, seed)
    }
}

/// Fading of the channel of a phone that moves.
const FADING: &str = "fading = { kind = \"rician\", k = \"10 dB\", speed = \"1 m/s\" }";

fn moving(path: &str) -> String {
    format!("path = [{path}], {FADING}")
}
