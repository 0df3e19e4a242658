//! A scenario written from a few answers: `airbound init`.

use std::fmt::Write as _;

use airbound_units::BitRate;
use airbound_wifi::Format;

use super::text;

/// A use of a station: the flows that it brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// A download without end.
    Download,
    /// An upload without end, such as a backup.
    Upload,
    /// A film in high resolution.
    Film,
    /// Web pages, one after the other.
    Web,
    /// A video call: two streams of real-time video.
    Call,
    /// A telephone call: two streams of voice.
    Telephone,
    /// A game that a server renders.
    CloudGame,
    /// A headset whose frames a server renders.
    Headset,
    /// A desktop elsewhere.
    RemoteDesktop,
    /// A game on the station itself.
    Game,
}

impl Activity {
    /// All, in the order in which they are offered.
    pub const ALL: [Self; 10] = [
        Self::Download,
        Self::Upload,
        Self::Film,
        Self::Web,
        Self::Call,
        Self::Telephone,
        Self::CloudGame,
        Self::Headset,
        Self::RemoteDesktop,
        Self::Game,
    ];

    /// Its word on the command line, which is part of the names of its flows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Download => "download",
            Self::Upload => "upload",
            Self::Film => "film",
            Self::Web => "web",
            Self::Call => "call",
            Self::Telephone => "voice",
            Self::CloudGame => "cloud-game",
            Self::Headset => "headset",
            Self::RemoteDesktop => "remote-desktop",
            Self::Game => "game",
        }
    }

    /// The activity of a word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|activity| activity.name() == word)
    }

    /// Whether somebody waits for each packet, and how long at most, in ms from the queue to the acknowledgement.
    const fn demand_ms(self) -> Option<u32> {
        match self {
            Self::CloudGame | Self::Headset => Some(20),
            Self::RemoteDesktop | Self::Game => Some(30),
            _ => None,
        }
    }

    /// Keys of its flows besides name and station: a remark, the suffix of the name, the keys.
    const fn flows(self) -> &'static [(&'static str, &'static str, &'static str)] {
        match self {
            Self::Download => &[("as much as there is", "", "kind = \"tcp\"")],
            Self::Upload => &[("as much as there is", "", "kind = \"tcp\"\ndirection = \"up\"")],
            Self::Film => &[("high resolution", "", "kind = \"tcp\"\nlimit = \"25 Mbit/s\"")],
            Self::Web => {
                &[("a page every 3 s", "", "kind = \"tcp-short\"\nsize = \"400 kB\"\ninterval = \"3 s\"")]
            }
            Self::Call => &[
                ("video to the station", "", "kind = \"rtc\"\nrate = \"2.5 Mbit/s\""),
                (
                    "video from the station",
                    "-back",
                    "kind = \"rtc\"\nrate = \"2.5 Mbit/s\"\ndirection = \"up\"",
                ),
            ],
            Self::Telephone => &[
                ("voice to the station", "", "kind = \"voip\""),
                ("voice from the station", "-back", "kind = \"voip\"\ndirection = \"up\""),
            ],
            Self::CloudGame => &[
                (
                    "frames that a server renders, over TCP; transport = \"udp\" loses packets instead",
                    "",
                    "kind = \"vr\"\nrate = \"40 Mbit/s\"\nfps = 60\nsize-law = \"lognormal(0.15)\"",
                ),
                (
                    "the player's input",
                    "-input",
                    "kind = \"cbr\"\nrate = \"100 kbit/s\"\nsize = \"125 B\"\ndirection = \"up\"",
                ),
            ],
            Self::Headset => &[
                (
                    "frames that a server renders, over TCP; transport = \"udp\" loses packets instead",
                    "",
                    "kind = \"vr\"\nrate = \"45 Mbit/s\"\nfps = 72\nsize-law = \"lognormal(0.2)\"",
                ),
                (
                    "the wearer's pose",
                    "-pose",
                    "kind = \"cbr\"\nrate = \"200 kbit/s\"\nsize = \"100 B\"\ndirection = \"up\"",
                ),
            ],
            Self::RemoteDesktop => &[(
                "a screen as video",
                "",
                "kind = \"vr\"\nrate = \"8 Mbit/s\"\nfps = 30\nsize-law = \"lognormal(0.3)\"",
            )],
            Self::Game => &[
                ("the game's state", "", "kind = \"cbr\"\nrate = \"400 kbit/s\"\nsize = \"200 B\""),
                (
                    "the player's input",
                    "-input",
                    "kind = \"cbr\"\nrate = \"200 kbit/s\"\nsize = \"100 B\"\ndirection = \"up\"",
                ),
            ],
        }
    }
}

/// A generation of Wi-Fi.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// 802.11n.
    Four,
    /// 802.11ac.
    Five,
    /// 802.11ax.
    Six,
}

impl Generation {
    /// The generation of a number, or of a name that scenarios take: `5`, `wifi5`, `802.11ac`.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        match text::standard_named(word).or_else(|| text::standard_named(&format!("wifi{word}")))? {
            Format::Ht => Some(Self::Four),
            Format::Vht => Some(Self::Five),
            Format::He => Some(Self::Six),
            Format::Legacy => None,
        }
    }

    const fn keys(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Four => ("ht", "802.11n", "400 ns"),
            Self::Five => ("vht", "802.11ac", "400 ns"),
            Self::Six => ("he", "802.11ax", "800 ns"),
        }
    }
}

/// A station, its distance from the access point, and its uses.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// Its name.
    pub name: String,
    /// Distance in m.
    pub distance: f64,
    /// Its uses, each at most once.
    pub activities: Vec<Activity>,
}

/// The answers of which a scenario is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// Generation of the access point.
    pub generation: Generation,
    /// Width of the channel in MHz.
    pub width_mhz: u32,
    /// Spatial streams.
    pub streams: u32,
    /// Rate of the line to the internet; `None` where it limits nothing.
    pub wire: Option<BitRate>,
    /// Networks of others on the channel.
    pub neighbours: u32,
    /// The stations.
    pub places: Vec<Place>,
}

impl Draft {
    /// A scenario file with comments. That its values are allowed shows when it is read.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let (standard, name, guard_interval) = self.generation.keys();
        let mut text = String::from(
            "# A scenario of Airbound: docs/reference/scenario-keys.md has all keys and their defaults.\n\
             title = \"My network\"\n\
             duration = \"20 s\"\n\
             warm-up = \"3 s\" # left out of all figures\n",
        );
        if let Some((place, activity)) = self.in_focus() {
            let _ = writeln!(
                text,
                "focus = {} # the flow that reports begin with",
                quoted(&flow(place, activity, ""))
            );
        }
        let _ = write!(
            text,
            "\n[air]\nstandard = \"{standard}\" # {name}\nwidth = \"{} MHz\"\nguard-interval = \"{guard_interval}\"\n\
             \n[access-point]\nstreams = {}\n\
             \n# Between the access point and the servers.\n[wire]\n",
            self.width_mhz, self.streams
        );
        if let Some(rate) = self.wire {
            let _ = writeln!(text, "rate = \"{rate}\"");
        }
        text += "delay = \"8 ms\" # one way\n";
        for place in &self.places {
            let _ = write!(
                text,
                "\n[[station]]\nname = {}\nchannel = {{ kind = \"log-distance\", distance = \"{} m\", shadowing = \"2 dB\" }}\n",
                quoted(&place.name),
                place.distance
            );
        }
        for place in &self.places {
            for activity in &place.activities {
                write_flows(&mut text, place, *activity);
            }
        }
        for number in 1..=self.neighbours {
            let _ = write!(
                text,
                "\n# Somebody else's network on the channel.\n[[neighbour]]\nname = \"neighbour-{number}\"\nload = \"5 Mbit/s\"\n"
            );
        }
        text
    }

    /// The first use with a demand, else the first call, else the first use.
    fn in_focus(&self) -> Option<(&Place, Activity)> {
        let uses = || {
            self.places
                .iter()
                .flat_map(|place| place.activities.iter().map(move |activity| (place, *activity)))
        };
        let is_call = |activity| matches!(activity, Activity::Call | Activity::Telephone);
        let demanding = uses().find(|(_, activity)| activity.demand_ms().is_some());
        demanding.or_else(|| uses().find(|(_, activity)| is_call(*activity))).or_else(|| uses().next())
    }
}

fn write_flows(text: &mut String, place: &Place, activity: Activity) {
    for (remark, suffix, keys) in activity.flows() {
        let _ = write!(
            text,
            "\n# {remark}\n[[flow]]\nname = {}\nstation = {}\n{keys}\n",
            quoted(&flow(place, activity, suffix)),
            quoted(&place.name)
        );
        if let Some(ms) = activity.demand_ms().filter(|_| suffix.is_empty()) {
            let _ = writeln!(
                text,
                "demand = \"{ms} ms\" # the 95th percentile, from the queue to the acknowledgement"
            );
        }
    }
}

/// A flow's name: the use at the station. A station that is named for its use names the flow, too.
fn flow(place: &Place, activity: Activity, suffix: &str) -> String {
    let (place, activity) = (place.name.as_str(), activity.name());
    let is_named_for_it =
        place.strip_prefix(activity).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    if is_named_for_it { format!("{place}{suffix}") } else { format!("{place}-{activity}{suffix}") }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, Scenario};

    fn draft(generation: Generation, activities: Vec<Activity>) -> Draft {
        let places = vec![Place { name: "laptop".to_owned(), distance: 4.5, activities }];
        let wire = Some(BitRate::from_mbps(250));
        Draft { generation, width_mhz: 40, streams: 2, wire, neighbours: 2, places }
    }

    fn read(draft: &Draft) -> Scenario {
        let text = draft.to_toml();
        Scenario::parse(&text, "draft.toml", &Overrides::none())
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn what_is_written_can_be_read() {
        for generation in [Generation::Four, Generation::Five, Generation::Six] {
            let scenario = read(&draft(generation, Activity::ALL.to_vec()));
            assert_eq!(scenario.flows.len(), 15);
            assert_eq!(scenario.neighbours.len(), 2);
        }
        read(&Draft { wire: None, neighbours: 0, ..draft(Generation::Five, vec![Activity::Web]) });
    }

    #[test]
    fn a_station_named_for_its_use_names_its_flows() {
        let names = |station: &str| {
            let mut draft = draft(Generation::Five, vec![Activity::Headset, Activity::Download]);
            station.clone_into(&mut draft.places[0].name);
            read(&draft).flows.iter().map(|flow| flow.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names("headset"), ["headset", "headset-pose", "headset-download"]);
        assert_eq!(names("headset-2"), ["headset-2", "headset-2-pose", "headset-2-download"]);
        assert_eq!(names("head"), ["head-headset", "head-headset-pose", "head-download"]);
    }

    #[test]
    fn the_focus_is_what_somebody_waits_for() {
        let focus = |activities| read(&draft(Generation::Five, activities)).focus;
        assert_eq!(focus(vec![Activity::Download, Activity::Call, Activity::Headset]), "laptop-headset");
        assert_eq!(focus(vec![Activity::Download, Activity::Call]), "laptop-call");
        assert_eq!(focus(vec![Activity::Film]), "laptop-film");
    }

    #[test]
    fn generations_and_uses_have_the_names_that_people_type() {
        for word in ["5", "wifi5", "802.11ac", "ac"] {
            assert_eq!(Generation::named(word), Some(Generation::Five));
        }
        assert_eq!(Generation::named("7"), None);
        for activity in Activity::ALL {
            assert_eq!(Activity::named(activity.name()), Some(activity));
        }
    }
}
