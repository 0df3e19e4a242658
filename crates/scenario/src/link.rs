//! `[[station]] channel`: propagation between the access point and a station.

use airbound_air::propagation::{
    BY_DISTANCE, ChannelSpec, Fading, Floor, Independence, LogDistance, Motion, Place, Position, Shape,
    TraceLink, Walk,
};
use airbound_units::{ByteCount, Decibel, Metre, MetrePerSecond, Span};
use airbound_wifi::error::{mpdu_success, noise_floor};
use airbound_wifi::{Legacy, Rate, Width};

use super::air::{Air, ErrorModel};
use super::error::ScenarioError;
use super::key::{Key, key, table};
use super::node::{Node, Value};
use super::section::{FromSection, Section};
use super::station::Station;
use super::{people, trace_link};

/// Default speed: walking indoors, or walking people.
const DEFAULT_SPEED: MetrePerSecond = MetrePerSecond::new(1.0);

impl FromSection for ChannelSpec {
    fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        #[derive(Clone, Copy)]
        enum Kind {
            Ideal,
            Fixed,
            LogDistance,
            Trace,
        }
        const KINDS: &[(&str, Kind)] = &[
            ("ideal", Kind::Ideal),
            ("fixed", Kind::Fixed),
            ("log-distance", Kind::LogDistance),
            ("trace", Kind::Trace),
        ];
        match section.choice("kind", Kind::Ideal, KINDS)? {
            Kind::Ideal => {
                if !section.has("kind") {
                    kind_is_meant(section)?;
                }
                section.allow("a channel of kind ideal", &[KIND_KEYS])?;
                Ok(Self::Ideal)
            }
            Kind::Fixed => {
                section.allow("a channel of kind fixed", &[KIND_KEYS, FIXED_KEYS])?;
                if !section.has("snr") {
                    return Err(section.missing("snr", "write for example snr = \"30 dB\""));
                }
                let range = Decibel::new(-20.0)..=Decibel::new(100.0);
                Ok(Self::Fixed { snr: section.ranged("snr", Decibel::new(30.0), range)? })
            }
            Kind::LogDistance => Ok(Self::LogDistance(LogDistance::read(section)?)),
            Kind::Trace => {
                section.allow("a channel of kind trace", &[KIND_KEYS, trace_link::KEYS])?;
                Ok(Self::Trace(TraceLink::read(section)?))
            }
        }
    }
}

/// A sentence on a station that is out of range for all of a run: not even the slowest rate gets through.
pub(super) fn doubt(station: &Station, air: &Air) -> Option<String> {
    /// Gain by fading at a good moment, in dB.
    const LUCK: f64 = 10.0;
    let (place, snr, luck) = match &station.channel {
        ChannelSpec::Fixed { snr } => (String::new(), *snr, 0.0),
        ChannelSpec::LogDistance(law) => {
            let nearest = nearest(&law.position);
            let ends = [Metre::new(0.0), nearest].map(|x| Place { x, y: Metre::new(0.0) });
            let (exponent, reference_loss) = (law.exponent, law.reference_loss);
            let size = [nearest, nearest];
            let loss = Floor { size, exponent, reference_loss, walls: Vec::new() }.loss(ends[0], ends[1]);
            let noise = noise_floor(station.width.min(Width::Mhz20), air.noise_figure);
            let varies = law.shadowing > Decibel::default() || law.fading != Fading::None;
            let luck = if varies { LUCK + 3.0 * law.shadowing.value() } else { 0.0 };
            (format!("at {nearest} "), air.tx_power - loss - noise, luck)
        }
        ChannelSpec::Ideal | ChannelSpec::Trace(_) => return None,
    };
    let soft = if air.error_model == ErrorModel::Soft { 3.0 } else { 0.0 };
    let best = Decibel::new(snr.value() + luck + soft - air.implementation_loss.value());
    let success = mpdu_success(Rate::legacy(Legacy::Mbps6), best, ByteCount::new(100));
    let name = &station.name;
    (success < 1e-3).then(|| {
        format!(
            "station {name} is out of range: {place}its SNR is {:.0} dB, and not even the slowest rate gets through; move it \
             closer, or raise air.tx-power",
            snr.value()
        )
    })
}

/// The shortest distance.
fn nearest(position: &Position) -> Metre {
    let shorter = |a: Metre, b: Metre| if b < a { b } else { a };
    match position {
        Position::Distance(distance) => *distance,
        Position::Walk(walk) => shorter(walk.from, walk.to),
        Position::Path(points) => {
            points.iter().map(|(_, distance)| *distance).reduce(shorter).unwrap_or(NEAREST)
        }
    }
}

/// Refuses a channel without a kind that has keys of a kind other than the default.
fn kind_is_meant(section: &Section<'_>) -> Result<(), ScenarioError> {
    for (key, _) in section.entries() {
        let has = |keys: &[Key]| keys.iter().any(|known| known.name == *key);
        let kind = match () {
            _ if has(FIXED_KEYS) => "fixed",
            _ if has(LOG_DISTANCE_KEYS) => "log-distance",
            _ if has(trace_link::KEYS) => "trace",
            _ => continue,
        };
        let what = format!("{key} is a key of kind {kind}; write kind = \"{kind}\"");
        return Err(section.missing("kind", &what));
    }
    Ok(())
}

pub(super) const LOG_DISTANCE_KEYS: &[Key] = &[
    key("distance", "one of three; 0.1 m–100 km", "not moving"),
    key("path", "one of three; a list of pairs", "even motion"),
    key("walk", "one of three; a table", "a straight walk"),
    key("exponent", "3; 0–10", "path loss exponent"),
    key("reference-loss", r#"`"46.6777 dB"`; 0–150 dB"#, "loss at 1 m"),
    key("shadowing", r#"`"0 dB"`; 0–30 dB"#, "standard deviation"),
    key("shadowing-coherence", r#"`"1 s"`; 1 ms–24 h"#, "until it is another"),
    key("fading", r#"`"none"`; [below](#fading)"#, "small-scale fading"),
    key("blockage", "`[]`; [below](#blockage-and-activity)", "people in the path"),
    key("activity", "none; [below](#blockage-and-activity)", "spells of the room"),
];

/// Key of every channel.
pub(super) const KIND_KEYS: &[Key] =
    &[key("kind", "**`ideal`** `fixed` [`log-distance`][ld] [`trace`][tr]", "`ideal`: collisions only")];
/// Key of a fixed channel.
pub(super) const FIXED_KEYS: &[Key] =
    &[key("snr", "required; -20 to 100 dB", "constant, over the station's width")
        .labelled("`snr`, of `fixed`")];

impl FromSection for LogDistance {
    fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        section.allow("a channel of kind log-distance", &[KIND_KEYS, LOG_DISTANCE_KEYS])?;
        let position = Position::read(section)?;
        let speed = match &position {
            Position::Walk(walk) => walk.speed,
            _ => DEFAULT_SPEED,
        };
        Ok(Self {
            exponent: section.number("exponent", 3.0, 0.0..=10.0)?,
            reference_loss: section.ranged(
                "reference-loss",
                Decibel::new(46.6777),
                Decibel::new(0.0)..=Decibel::new(150.0),
            )?,
            shadowing: section.ranged(
                "shadowing",
                Decibel::new(0.0),
                Decibel::new(0.0)..=Decibel::new(30.0),
            )?,
            shadowing_coherence: section.ranged(
                "shadowing-coherence",
                Span::from_secs(1),
                Span::from_millis(1)..=Span::from_secs(86_400),
            )?,
            fading: read_fading(section, speed)?,
            blockage: people::read_blockage(section)?,
            activity: people::read_activity(section)?,
            position,
        })
    }
}

/// The smallest distance of the model; shorter ones count as this.
const NEAREST: Metre = Metre::new(0.1);
const FARTHEST: Metre = Metre::new(100_000.0);

impl FromSection for Position {
    fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        let given: Vec<&str> =
            ["distance", "path", "walk"].into_iter().filter(|key| section.has(key)).collect();
        match given.as_slice() {
            ["distance"] => Ok(Self::Distance(section.ranged("distance", NEAREST, NEAREST..=FARTHEST)?)),
            ["path"] => read_path(section).map(Self::Path),
            ["walk"] => Walk::read(&section.table("walk")?).map(Self::Walk),
            [] => Err(section.missing("distance", "write distance = \"10 m\", or a path or a walk")),
            [_, second, ..] => {
                Err(section.wrong(second, "is one position too many; write one of distance, path and walk"))
            }
            [other] => Err(section.wrong(other, "is no position")),
        }
    }
}

fn read_path(section: &Section<'_>) -> Result<Vec<(Span, Metre)>, ScenarioError> {
    const FORM: &str = "allowed is a list of pairs such as [[\"0 s\", \"2 m\"], [\"20 s\", \"15 m\"]]";
    let wrong = |found: &str| section.wrong("path", format!("{found}; {FORM}"));
    let Some(Node { value: Value::List(items), .. }) = section.get("path") else {
        return Err(wrong("is no list"));
    };
    if items.is_empty() || items.len() > 10_000 {
        return Err(wrong(&format!("has {} points; 1 to 10000 are allowed", items.len())));
    }
    let mut points: Vec<(Span, Metre)> = Vec::with_capacity(items.len());
    for item in items {
        let Value::List(pair) = &item.value else { return Err(wrong("has an item that is not a pair")) };
        let [time, distance] = pair.as_slice() else {
            return Err(wrong(&format!("has an item with {} values", pair.len())));
        };
        let time: Span = section.parse_quantity("path", time, "20 s")?;
        let distance: Metre = section.parse_quantity("path", distance, "15 m")?;
        if distance < NEAREST {
            return Err(wrong(&format!("goes to {distance}, closer than {NEAREST}")));
        }
        if points.last().is_some_and(|(last, _)| *last >= time) {
            return Err(wrong(&format!("has the time {time} after a later or equal one")));
        }
        points.push((time, distance));
    }
    Ok(points)
}

pub(super) const WALK_KEYS: &[Key] = &[
    key("from", "required; 0.1 m–100 km", "at the start").labelled("`walk.from`"),
    key("to", "required; 0.1 m–100 km", "at the turning point").labelled("`walk.to`"),
    key("speed", r#"`"1 m/s"`; 0.01–100 m/s"#, "walking speed"),
    key("start", r#"`"0 s"`; 0–24 h"#, "its beginning"),
    key("return", "false", "to and fro"),
];

impl FromSection for Walk {
    fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        section.allow("a walk", &[WALK_KEYS])?;
        for key in ["from", "to"] {
            if !section.has(key) {
                return Err(section.missing(key, &format!("write for example {key} = \"20 m\"")));
            }
        }
        Ok(Self {
            from: section.ranged("from", NEAREST, NEAREST..=FARTHEST)?,
            to: section.ranged("to", NEAREST, NEAREST..=FARTHEST)?,
            speed: section.ranged(
                "speed",
                DEFAULT_SPEED,
                MetrePerSecond::new(0.01)..=MetrePerSecond::new(100.0),
            )?,
            start: section.ranged("start", Span::ZERO, Span::ZERO..=Span::from_secs(86_400))?,
            to_and_fro: section.boolean("return", false)?,
        })
    }
}

/// Keys of Rayleigh and Rician fading, of Rician alone, and of Nakagami fading.
pub(super) const MOTION_KEYS: &[Key] = &[
    key("speed", "the walk's, else 1 m/s; 0.001–100 m/s", "Doppler spread of Clarke's model"),
    key("independence", "**`doppler`** `per-ppdu`", "`per-ppdu`: anew each instant"),
];
pub(super) const RICIAN_KEYS: &[Key] =
    &[key("k", r#"`"6 dB"`; -40 to 60 dB"#, "dominating path over all others").labelled("`k`, of `rician`")];
pub(super) const NAKAGAMI_KEYS: &[Key] =
    &[key("m", r#"`"by-distance"`; 0.5–100"#, "shape").labelled("`m`, of `nakagami`")];
/// The key that names the kind of fading.
const FADING_KIND: &[Key] = &[table("kind")];

fn read_fading(section: &Section<'_>, speed: MetrePerSecond) -> Result<Fading, ScenarioError> {
    const KINDS: &[(&str, &str)] =
        &[("none", "none"), ("rayleigh", "rayleigh"), ("rician", "rician"), ("nakagami", "nakagami")];
    let default_motion = Motion { independence: Independence::Doppler, speed };
    let is_table = matches!(section.get("fading"), Some(Node { value: Value::Table(_), .. }));
    if !is_table {
        return Ok(match section.choice("fading", "none", KINDS)? {
            "rayleigh" => Fading::Rayleigh { motion: default_motion },
            "rician" => Fading::Rician { k: DEFAULT_K, motion: default_motion },
            "nakagami" => Fading::Nakagami { m: Shape::ByDistance },
            _ => Fading::None,
        });
    }
    let table = section.table("fading")?;
    let motion = |table: &Section<'_>| -> Result<Motion, ScenarioError> {
        Ok(Motion {
            independence: table.choice(
                "independence",
                Independence::Doppler,
                &[("doppler", Independence::Doppler), ("per-ppdu", Independence::PerPpdu)],
            )?,
            speed: table.ranged(
                "speed",
                default_motion.speed,
                MetrePerSecond::new(0.001)..=MetrePerSecond::new(100.0),
            )?,
        })
    };
    match table.choice("kind", "none", KINDS)? {
        "rayleigh" => {
            table.allow("fading of kind rayleigh", &[FADING_KIND, MOTION_KEYS])?;
            Ok(Fading::Rayleigh { motion: motion(&table)? })
        }
        "rician" => {
            table.allow("fading of kind rician", &[FADING_KIND, MOTION_KEYS, RICIAN_KEYS])?;
            let range = Decibel::new(-40.0)..=Decibel::new(60.0);
            Ok(Fading::Rician { k: table.ranged("k", DEFAULT_K, range)?, motion: motion(&table)? })
        }
        "nakagami" => {
            table.allow("fading of kind nakagami", &[FADING_KIND, NAKAGAMI_KEYS])?;
            let m = match table.get("m") {
                None => Shape::ByDistance,
                Some(Node { value: Value::Text(word), .. }) if word == BY_DISTANCE => Shape::ByDistance,
                Some(_) => Shape::Fixed(table.number("m", 1.0, 0.5..=100.0)?),
            };
            Ok(Fading::Nakagami { m })
        }
        _ => {
            table.allow("fading of kind none", &[FADING_KIND])?;
            Ok(Fading::None)
        }
    }
}

/// Default K factor: indoors with a line of sight.
const DEFAULT_K: Decibel = Decibel::new(6.0);
