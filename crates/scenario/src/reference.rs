//! The tables of the reference of scenarios, from the declarations of keys and of the kinds that fill a slot.

use airbound_senders::rtp::rate::RateRule;

use super::catalogue::catalogue;
use super::key::{Key, key};
use super::{
    absence, access_point, air, conference, disturbance, flow, hearing, link, network, path, power_save,
    radio, replay, rtc, scheme, shaper, station, trace_link,
};

/// The tables of the page: a name, and the lists of keys in the order of the rows.
const TABLES: &[(&str, &[&[Key]])] = &[
    ("top", &[crate::KEYS]),
    ("air", &[air::KEYS]),
    ("access-point", &[access_point::KEYS]),
    ("path", &[path::KEYS]),
    ("shaper", &[shaper::KEYS]),
    ("uplink", &[access_point::UPLINK_KEYS]),
    ("wire", &[access_point::LINK_KEYS, access_point::WAY_KEYS]),
    ("scheme", &[scheme::KEYS]),
    ("network", &[network::KEYS]),
    ("station", &[station::KEYS]),
    ("away", &[absence::KEYS]),
    ("power-save", &[power_save::KEYS]),
    ("channel", &[link::KIND_KEYS, link::FIXED_KEYS]),
    ("log-distance", &[link::LOG_DISTANCE_KEYS]),
    ("walk", &[link::WALK_KEYS]),
    ("fading", &[link::MOTION_KEYS, link::RICIAN_KEYS, link::NAKAGAMI_KEYS]),
    ("trace", &[trace_link::KEYS]),
    ("flow", &[flow::KEYS]),
    ("datagrams", &[flow::DATAGRAM_KEYS]),
    ("tcp", &[flow::BULK_KEYS, flow::SHORT_KEYS, flow::TCP_KEYS]),
    ("vr", &[flow::VR_KEYS]),
    ("rtc", &[rtc::RTC_KEYS]),
    ("replay", &[replay::REPLAY_KEYS]),
    ("session", &[conference::KEYS]),
    ("encoder", &[conference::ENCODER_KEYS]),
    ("client", &[conference::CLIENT_KEYS, conference::ACCESS_KEYS]),
    ("neighbour", &[disturbance::NEIGHBOUR_KEYS]),
    ("interference", &[disturbance::INTERFERENCE_KEYS, disturbance::NOISE_KEYS]),
    ("hearing", &[hearing::MATRIX_KEYS, hearing::PLACES_KEYS]),
    ("radio", &[radio::KEYS]),
    ("capture", &[radio::CAPTURE_KEYS]),
];

/// The tables in Markdown, each with its name. `docs/reference/scenario-keys.md` has each between two lines of that name.
#[must_use]
pub fn reference_tables() -> Vec<(&'static str, String)> {
    let in_markdown = |(name, lists): &(&'static str, &[&[Key]])| {
        let head = match *name {
            // Its defaults are those of the preset.
            "path" => "| key | range | meaning |",
            "scheme" => "| key | default | decides |",
            _ => "| key | default; range | meaning |",
        };
        let rows: String = lists.iter().flat_map(|list| list.iter()).filter_map(Key::row).collect();
        (*name, format!("{head}\n|---|---|---|\n{rows}"))
    };
    let slots = catalogue().into_iter().filter(|chapter| chapter.place.contains("scheme.")).map(|chapter| {
        let rows: String =
            chapter.words.iter().map(|(word, meaning)| format!("| `{word}` | {meaning} |\n")).collect();
        (chapter.name, format!("| name | what it is |\n|---|---|\n{rows}"))
    });
    TABLES.iter().map(in_markdown).chain(slots).chain([("rules", rules())]).collect()
}

/// The rules for the rate of video, and the keys of each.
fn rules() -> String {
    let rows = RateRule::KINDS.iter().map(|(name, meaning)| format!("| `{name}` | {meaning} |\n"));
    let keys = RateRule::KINDS.iter().zip(RateRule::KEYS).filter(|(_, keys)| !keys.is_empty());
    let keys = keys.map(|((rule, _), keys)| {
        let rows = keys.iter().filter_map(|(name, values, meaning)| key(name, values, meaning).row());
        let head = "| key | default; range | meaning |\n|---|---|---|";
        format!("\n#### Sender `{rule}`\n\n{head}\n{}", rows.collect::<String>())
    });
    format!("| rule | what it is |\n|---|---|\n{}", rows.chain(keys).collect::<String>())
}

#[cfg(test)]
mod tests {
    use crate::{Overrides, Scenario};

    use super::*;

    /// Scenarios with the tables of `TABLES`, each with the name and the place of those.
    const PLACES: &[(&str, &[(&str, &str)])] = &[
        (
            "[access-point.shaper]\nrate = \"9 Mbit/s\"\n[[neighbour]]\nname = \"n\"\n\
             [[interference]]\nname = \"i\"\n[[flow]]\nname = \"f\"\nkind = \"vr\"\nstation = \"s\"\n",
            &[
                ("top", ""),
                ("air", "air."),
                ("access-point", "access-point."),
                ("shaper", "access-point.shaper."),
                ("uplink", "uplink."),
                ("wire", "wire."),
                ("scheme", "scheme."),
                ("station", "station.s."),
                ("neighbour", "neighbour.n."),
                ("interference", "interference.i."),
                ("flow", "flow.f."),
                ("vr", "flow.f."),
            ],
        ),
        ("away = { period = \"1 s\", length = \"9 ms\" }\n", &[("away", "station.s.away.")]),
        ("power-save = {}\n", &[("power-save", "station.s.power-save.")]),
        (
            "channel = { kind = \"log-distance\", walk = { from = \"2 m\", to = \"9 m\" } }\n\
             [[flow]]\nname = \"f\"\nkind = \"rtc\"\nstation = \"s\"\n",
            &[
                ("log-distance", "station.s.channel."),
                ("walk", "station.s.channel.walk."),
                ("rtc", "flow.f."),
            ],
        ),
        (
            "channel = { kind = \"log-distance\", distance = \"2 m\", fading = { kind = \"rician\" } }\n\
             [[flow]]\nname = \"f\"\nkind = \"replay\"\nfile = \"shipped:browser-camera.csv\"\nstation = \"s\"\n",
            &[("fading", "station.s.channel.fading."), ("replay", "flow.f.")],
        ),
        (
            "[[flow]]\nname = \"f\"\nkind = \"tcp\"\nstation = \"s\"\n[radio]\n[radio.capture]\nlevels = {}\n",
            &[("tcp", "flow.f."), ("radio", "radio."), ("capture", "radio.capture.")],
        ),
        (
            "[hearing]\nsize = [\"9 m\", \"9 m\"]\n[hearing.places]\naccess-point = [\"1 m\", \"1 m\"]\ns = [\"2 m\", \"1 m\"]\n",
            &[("hearing", "hearing.")],
        ),
        (
            "[session]\n[[session.client]]\nname = \"c\"\nwire = \"9 Mbit/s\"\n[[session.client]]\nname = \"d\"\nwire = \"9 Mbit/s\"\n",
            &[("session", "session."), ("encoder", "session.encoder."), ("client", "session.client.c.")],
        ),
    ];

    fn read(text: &str, set: Option<&str>) -> Result<Scenario, String> {
        let mut overrides = Overrides::none();
        set.map_or(Ok(()), |set| overrides.set(set)).expect("a key and a value");
        let text = format!(
            "duration = \"1 s\"\n[[station]]\nname = \"s\"\n{text}{}",
            if text.contains("[session]") {
                ""
            } else {
                "[[flow]]\nname = \"g\"\nkind = \"voip\"\nstation = \"s\"\n"
            }
        );
        Scenario::parse(&text, "test.toml", &overrides).map_err(|error| error.to_string())
    }

    /// The default in the words of a key: what stands before the range, or the bold word of a choice.
    fn default(key: &Key) -> Option<&str> {
        if let Some((_, rest)) = key.values.split_once("**`") {
            return rest.split_once("`**").map(|(word, _)| word);
        }
        let first = key.values.split(';').next()?.trim();
        let text = first.strip_prefix("`\"").and_then(|rest| rest.strip_suffix("\"`"));
        text.or_else(|| {
            (first == "true" || first == "false" || first.parse::<f64>().is_ok()).then_some(first)
        })
    }

    /// Values outside the range in the words of a key, `LOW–HIGH UNIT`.
    fn outside(key: &Key) -> Option<[String; 2]> {
        let (low, high) = key.values.rsplit("; ").next()?.split_once('–')?;
        let (high, unit) = high.split_once(' ').unwrap_or((high, ""));
        let (high, low): (f64, f64) = (high.parse().ok()?, low.parse().ok()?);
        Some(
            [format!("{} {unit}", low - 1.0), format!("{} {unit}", high + 1.0)]
                .map(|value| value.trim().to_owned()),
        )
    }

    #[test]
    fn the_words_of_a_key_are_what_its_reader_does() {
        let (mut defaults, mut ranges, mut wrong) = (0, 0, Vec::new());
        for (text, places) in PLACES {
            let plain = read(text, None).unwrap_or_else(|error| panic!("{error}: {text}"));
            for (name, place) in *places {
                let (_, lists) = TABLES.iter().find(|(known, _)| known == name).expect(name);
                // A key of one kind of several is refused by the others.
                let keys =
                    lists.iter().flat_map(|list| list.iter()).filter(|key| !key.label.contains(", of "));
                for key in keys {
                    let set = |value: &str| format!("{place}{}={value}", key.name);
                    let unlike = |set: &String| read(text, Some(set)).as_ref() != Ok(&plain);
                    let default: Vec<String> = default(key).map(set).into_iter().collect();
                    let outside: Vec<String> =
                        outside(key).into_iter().flatten().map(|value| set(&value)).collect();
                    defaults += default.len();
                    ranges += outside.len();
                    wrong.extend(default.into_iter().filter(unlike));
                    wrong.extend(outside.into_iter().filter(|set| read(text, Some(set)).is_ok()));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(defaults > 60 && ranges > 60, "{defaults} {ranges}");
    }
}
