//! Pairs of keys that must fit each other: band, standard, width, streams, and the hardware of a preset.

use airbound_wifi::{Band, Format, Rate, Width};

use super::error::{Place, ScenarioError};
use super::path::{PRESETS, Preset};
use super::section::Section;
use super::text;

/// One key of a pair, with its value as a sentence shows it.
pub(super) struct Side<'a> {
    section: &'a Section<'a>,
    key: &'static str,
    value: String,
}

impl<'a> Side<'a> {
    pub(super) fn new(section: &'a Section<'a>, key: &'static str, value: impl ToString) -> Self {
        Self { section, key, value: value.to_string() }
    }

    pub(super) fn standard(section: &'a Section<'a>, standard: Format) -> Self {
        Self::new(section, "standard", text::name_of(text::STANDARDS, &standard))
    }

    fn band(section: &'a Section<'a>, band: Band) -> Self {
        Self::new(section, "band", text::name_of(text::BANDS, &band))
    }

    pub(super) fn preset(section: &'a Section<'a>, preset: Preset) -> Self {
        Self::new(section, "preset", text::name_of(PRESETS, &preset))
    }

    fn is_overridden(&self) -> bool {
        self.section.has(self.key) && matches!(self.section.place_of(self.key), Place::Option(_))
    }

    fn other(&self) -> String {
        let origin = if self.section.has(self.key) { "" } else { " (the default)" };
        format!("{} = \"{}\"{origin}", self.section.key(self.key), self.value)
    }
}

/// The error for two values that do not fit; `rule` says what does. It is about the one that an override set, else about the first
/// of the two that is written.
pub(super) fn clash(first: &Side<'_>, second: &Side<'_>, rule: &str) -> ScenarioError {
    let is_written = |side: &Side<'_>| side.section.has(side.key);
    let second_is_to_blame =
        if first.is_overridden() { false } else { second.is_overridden() || !is_written(first) };
    let (blamed, other) = if second_is_to_blame { (second, first) } else { (first, second) };
    let problem = format!("is \"{}\", which does not fit {}: {rule}", blamed.value, other.other());
    blamed.section.wrong(blamed.key, problem)
}

/// The widest channel of a standard.
pub(super) const fn widest(standard: Format) -> Width {
    match standard {
        Format::Legacy => Width::Mhz20,
        Format::Ht => Width::Mhz40,
        Format::Vht | Format::He => Width::Mhz160,
    }
}

/// The widest channel of a band, whose operating classes are those of 802.11-2020, Annex E; 802.11p's have 10 MHz.
pub(super) const fn widest_in(band: Band) -> Width {
    match band {
        Band::Ghz2 => Width::Mhz40,
        Band::Ghz5 => Width::Mhz160,
        Band::Ghz59 => Width::Mhz10,
    }
}

pub(super) fn check_width(
    section: &Section<'_>,
    standard: Format,
    width: Width,
) -> Result<(), ScenarioError> {
    let narrow = width == Width::Mhz10 && standard != Format::Legacy;
    if width <= widest(standard) && !narrow {
        return Ok(());
    }
    let name = text::name_of(text::STANDARDS, &standard);
    let rule = match standard {
        Format::Legacy => "standard legacy allows 10 MHz and 20 MHz".to_owned(),
        _ => format!("standard {name} allows 20 MHz to {}", widest(standard)),
    };
    let sides = (Side::new(section, "width", width), Side::standard(section, standard));
    Err(clash(&sides.0, &sides.1, &rule))
}

/// Checks a band against width and standard of `[air]`.
pub(super) fn check_band(
    section: &Section<'_>,
    band: Band,
    standard: Format,
    width: Width,
) -> Result<(), ScenarioError> {
    // Channels of 10 MHz have a band of their own, since its times are theirs.
    if (width == Width::Mhz10) != (band == Band::Ghz59) {
        let rule = "5.9 GHz has channels of 10 MHz only, and they no other band";
        return Err(clash(&Side::band(section, band), &Side::new(section, "width", width), rule));
    }
    if width > widest_in(band) {
        let rule = "2.4 GHz has channels of 20 MHz and 40 MHz (802.11-2020, Annex E)";
        return Err(clash(&Side::new(section, "width", width), &Side::band(section, band), rule));
    }
    refuse_vht_at_2ghz(section, section, band, standard)
}

/// Refuses VHT, the standard of `[air]` or of a station, in 2.4 GHz.
pub(super) fn refuse_vht_at_2ghz(
    section: &Section<'_>,
    air: &Section<'_>,
    band: Band,
    standard: Format,
) -> Result<(), ScenarioError> {
    if band != Band::Ghz2 || standard != Format::Vht {
        return Ok(());
    }
    let rule = "VHT stations operate below 6 GHz, but not at 2.4 GHz (802.11-2020, 4.3); allowed are legacy, ht and he";
    Err(clash(&Side::standard(section, standard), &Side::band(air, band), rule))
}

/// Limits of a rate: those of the channel, or of a station on it.
pub(super) struct RateLimits<'a> {
    pub(super) owner: &'a str,
    pub(super) band: Band,
    pub(super) standard: Format,
    pub(super) width: Width,
    pub(super) streams: u8,
}

impl RateLimits<'_> {
    /// The problem with a rate, without what it is.
    pub(super) fn problem_of(&self, rate: Rate) -> Option<String> {
        let Self { owner, band, standard, width, streams } = self;
        if rate.format() > *standard {
            let name = text::name_of(text::STANDARDS, standard).to_uppercase();
            Some(format!("{owner} supports only {name}"))
        } else if rate.format() == Format::Vht && *band == Band::Ghz2 {
            Some("2.4 GHz has no VHT (see air.band)".to_owned())
        } else if rate.width() > *width || (rate.width() == Width::Mhz10) != (*width == Width::Mhz10) {
            Some(format!("{owner}'s channel has {width}"))
        } else if rate.streams() > *streams {
            Some(format!("{owner} has {streams} spatial streams (see streams of it and of [access-point])"))
        } else {
            None
        }
    }
}

/// Limits of the cards that a driver is for.
#[derive(Clone, Copy)]
pub(super) struct Hardware {
    /// Name of the driver.
    name: &'static str,
    newest: Format,
    widest: Width,
    streams: u8,
}

/// A demand that is beyond the limits of a card.
pub(super) enum Beyond {
    Standard,
    Width,
    Streams,
}

impl Hardware {
    /// That of a preset; `None`: any.
    pub(super) const fn of(preset: Preset) -> Option<Self> {
        match preset {
            // AR5008 to AR9580: 802.11n with at most three chains.
            Preset::Ath9kFq | Preset::Ath9k2014 => {
                Some(Self { name: "ath9k", newest: Format::Ht, widest: Width::Mhz40, streams: 3 })
            }
            // Its README: 802.11a/g/n, 20 MHz, MCS 0 to 7.
            Preset::Openwifi
            | Preset::OpenwifiAth9k
            | Preset::OpenwifiA
            | Preset::OpenwifiB
            | Preset::OpenwifiSplit
            | Preset::OpenwifiBound => {
                Some(Self { name: "openwifi", newest: Format::Ht, widest: Width::Mhz20, streams: 1 })
            }
            Preset::Mac80211
            | Preset::Mt76
            | Preset::Ath11k
            | Preset::Ath12k
            | Preset::Rtw89
            | Preset::Direct => None,
        }
    }

    pub(super) fn lacks(self, standard: Format, width: Width, streams: u8) -> Option<Beyond> {
        if standard > self.newest {
            Some(Beyond::Standard)
        } else if width > self.widest {
            Some(Beyond::Width)
        } else {
            (streams > self.streams).then_some(Beyond::Streams)
        }
    }

    pub(super) fn rule(self) -> String {
        let Self { name, widest, streams, .. } = self;
        let plural = if streams == 1 { "" } else { "s" };
        format!(
            "{name} drives cards of 802.11n (ht) with up to {widest} and {streams} spatial stream{plural}; \
             for others take preset \"mac80211\" or \"direct\", with the depths that are meant in path"
        )
    }
}

/// The most spatial streams over the hardware of a preset.
pub(super) fn most_streams(preset: Preset) -> u8 {
    Hardware::of(preset).map_or(u8::MAX, |hardware| hardware.streams)
}

/// Refuses an access point whose preset is of hardware that lacks what `[air]` and its streams ask for.
pub(super) fn check_access_point(
    section: &Section<'_>,
    air: &Section<'_>,
    (preset, streams): (Preset, u8),
    (standard, width): (Format, Width),
) -> Result<(), ScenarioError> {
    let Some(hardware) = Hardware::of(preset) else { return Ok(()) };
    let side = match hardware.lacks(standard, width, streams) {
        None => return Ok(()),
        Some(Beyond::Standard) => Side::standard(air, standard),
        Some(Beyond::Width) => Side::new(air, "width", width),
        Some(Beyond::Streams) => Side::new(section, "streams", streams),
    };
    Err(clash(&Side::preset(section, preset), &side, &hardware.rule()))
}
