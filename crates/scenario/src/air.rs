//! `[air]`: the channel common to all transmitters.

use airbound_air::edca::Countdown;
use airbound_units::{BitRate, ByteCount, Dbm, Decibel, Span};
use airbound_wifi::{Band, Format, GuardInterval, Legacy, Width};
use serde::Serialize;

use super::error::ScenarioError;
use super::fits;
use super::key::{Key, key};
use super::node::{Node, Value};
use super::section::Section;
use super::text;

/// The channel and the rules for all transmitters on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Air {
    /// The newest PPDU format of the access point; legacy OFDM on a channel of 10 MHz is that of 802.11p.
    #[serde(serialize_with = "text::standard")]
    pub standard: Format,
    /// The width of the channel.
    pub width: Width,
    /// The shortest guard interval that rate control may use.
    #[serde(serialize_with = "text::guard_interval")]
    pub guard_interval: GuardInterval,
    /// The band: slot and SIFS, and the carrier's wavelength for fading.
    #[serde(serialize_with = "text::band")]
    pub band: Band,
    /// The rate of control frames; `None` follows the standard's rule (802.11-2020, 10.6.6.5.2).
    #[serde(serialize_with = "text::control_rate")]
    pub control_rate: Option<Legacy>,
    /// PSDUs larger than this are preceded by RTS and CTS; `None` never.
    #[serde(serialize_with = "text::or_never")]
    pub rts_threshold: Option<ByteCount>,
    /// Whether a transmitter waits EIFS after a frame that it could not decode.
    pub eifs: bool,
    /// Interval of the access point's beacons; `None` for no beacons.
    #[serde(serialize_with = "text::or_false")]
    pub beacons: Option<Span>,
    /// The MPDU of a beacon.
    pub beacon_size: ByteCount,
    /// Contention parameters of access point and stations.
    pub edca: Edca,
    /// The rule by which backoffs are counted down.
    #[serde(skip_serializing_if = "text::is_default", serialize_with = "text::countdown")]
    pub countdown: Countdown,
    /// Whether data frames carry CCMP (16 bytes each).
    pub encryption: bool,
    /// The loss of an MPDU as a function of the signal-to-noise ratio.
    pub error_model: ErrorModel,
    /// Signal that a receiver needs beyond the error model, for imperfect estimates of channel and frequency; less than 0 if it needs less.
    #[serde(skip_serializing_if = "text::is_default")]
    pub implementation_loss: Decibel,
    /// Noise figure of the receiver: the noise added to thermal noise.
    pub noise_figure: Decibel,
    /// Transmit power of every transmitter.
    pub tx_power: Dbm,
    /// Weakest detectable frame (ns-3: -82 dBm); `None` leaves weak frames to the error model.
    #[serde(serialize_with = "text::optional")]
    pub sensitivity: Option<Dbm>,
}

/// A table of contention parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edca {
    /// Parameters of hostapd for the access point, and those that it announces to its stations.
    Linux,
    /// The parameters of 802.11-2012's table for stations, for access point and stations, as in ns-3.
    Equal,
    /// The parameters of DCF, for all categories.
    Dcf,
}

/// An error model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorModel {
    /// The coded bit error rates of NIST (as ns-3's `NistErrorRateModel`).
    Nist,
    /// Soft decisions: the union bound of bit-interleaved coded modulation.
    Soft,
}

pub(super) const KEYS: &[Key] = &[
    key("standard", "`legacy` `ht` **`vht`** `he`", "newest PPDU format of the access point"),
    key("width", "by standard; 10, 20, 40, 80, 160 MHz", "channel width"),
    key("guard-interval", r#"`"800 ns"`; by standard"#, "shortest of rate control"),
    key("band", r#"see below; `"2.4 GHz"` `"5 GHz"` `"5.9 GHz"`"#, "slot, SIFS, carrier for fading"),
    key("control-rate", r#"`"standard"`; a legacy rate"#, "rate of ACK, BlockAck, RTS, CTS"),
    key("rts-threshold", r#"`"never"`; bytes"#, "larger PSDUs need RTS, CTS"),
    key("eifs", "true", "after a frame that was not decoded"),
    key("beacons", "true; false, true, 10 ms–60 s", "at the lowest rate; true: 102.4 ms"),
    key("beacon-size", r#"`"250 B"`; 50–2304 B"#, "MPDU of a beacon"),
    key("edca", "**`linux`** `equal` `dcf`", "contention parameters"),
    key("countdown", "**`boundaries`** `idle-slots`", "what a backoff loses"),
    key("encryption", "false", "CCMP: 16 B a data frame"),
    key("error-model", "**`nist`** `soft`", "from SNR to MPDU errors"),
    key("implementation-loss", r#"`"0 dB"`; -3 to 20 dB"#, "SNR needed beyond the model"),
    key("noise-figure", r#"`"7 dB"`; 0–40 dB"#, "above thermal noise"),
    key("tx-power", r#"`"16 dBm"`; -30 to 40 dBm"#, "of every transmitter"),
    key("sensitivity", r#"`"none"`; -150 to 0 dBm"#, "weaker frames go unnoticed (ns-3: -82 dBm)"),
];

const ERROR_MODELS: &[(&str, ErrorModel)] = &[("nist", ErrorModel::Nist), ("soft", ErrorModel::Soft)];

/// 100 time units of 1024 us.
const BEACON_INTERVAL: Span = Span::from_micros(102_400);

impl Air {
    pub(super) fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        section.allow("[air]", &[KEYS])?;
        let standard = text::read_standard(section, Format::Vht)?;
        let named = if section.has("band") {
            Some(section.choice("band", Band::default(), text::BANDS)?)
        } else {
            None
        };
        let width = section.quantity("width", "40 MHz")?.unwrap_or(default_width(standard, named));
        fits::check_width(section, standard, width)?;
        let band = named.unwrap_or(if width == Width::Mhz10 { Band::Ghz59 } else { Band::Ghz5 });
        fits::check_band(section, band, standard, width)?;
        let control_rate = match section.text("control-rate")? {
            None | Some("standard") => None,
            Some(_) => {
                let rate: Option<BitRate> = section.quantity("control-rate", "24 Mbit/s")?;
                let legacy = rate.and_then(text::legacy_of);
                Some(legacy.ok_or_else(|| {
                    section.wrong(
                        "control-rate",
                        "is not a rate of legacy OFDM; allowed are \"6 Mbit/s\", \"9 Mbit/s\", \"12 Mbit/s\", \
                         \"18 Mbit/s\", \"24 Mbit/s\", \"36 Mbit/s\", \"48 Mbit/s\", \"54 Mbit/s\" and \"standard\"",
                    )
                })?)
            }
        };
        let rts_threshold = match section.text("rts-threshold")? {
            None | Some("never") => None,
            Some(_) => section.quantity("rts-threshold", "2347 B")?,
        };
        let beacons = match section.get("beacons") {
            None | Some(Node { value: Value::Boolean(true), .. }) => Some(BEACON_INTERVAL),
            Some(Node { value: Value::Boolean(false), .. }) => None,
            Some(_) => Some(section.ranged(
                "beacons",
                BEACON_INTERVAL,
                Span::from_millis(10)..=Span::from_secs(60),
            )?),
        };
        Ok(Self {
            standard,
            width,
            guard_interval: read_guard_interval(section, standard)?,
            band,
            control_rate,
            rts_threshold,
            eifs: section.boolean("eifs", true)?,
            beacons,
            beacon_size: section.ranged(
                "beacon-size",
                ByteCount::new(250),
                ByteCount::new(50)..=ByteCount::new(2304),
            )?,
            edca: section.choice(
                "edca",
                Edca::Linux,
                &[("linux", Edca::Linux), ("equal", Edca::Equal), ("dcf", Edca::Dcf)],
            )?,
            countdown: section.choice("countdown", Countdown::default(), text::COUNTDOWNS)?,
            encryption: section.boolean("encryption", false)?,
            error_model: section.choice("error-model", ErrorModel::Nist, ERROR_MODELS)?,
            implementation_loss: section.ranged(
                "implementation-loss",
                Decibel::default(),
                Decibel::new(-3.0)..=Decibel::new(20.0),
            )?,
            noise_figure: section.ranged(
                "noise-figure",
                Decibel::new(7.0),
                Decibel::new(0.0)..=Decibel::new(40.0),
            )?,
            sensitivity: match section.text("sensitivity")? {
                None | Some("none") => None,
                Some(_) => {
                    Some(section.ranged("sensitivity", Dbm::new(-82.0), Dbm::new(-150.0)..=Dbm::new(0.0))?)
                }
            },
            tx_power: section.ranged("tx-power", Dbm::new(16.0), Dbm::new(-30.0)..=Dbm::new(40.0))?,
        })
    }

    /// The carrier, in Hz: channel 6 of 2.4 GHz, channel 100 of 5 GHz, or channel 180 of 5.9 GHz.
    #[must_use]
    pub const fn carrier_hertz(&self) -> f64 {
        match self.band {
            Band::Ghz2 => 2.437e9,
            Band::Ghz5 => 5.5e9,
            Band::Ghz59 => 5.9e9,
        }
    }
}

fn default_width(standard: Format, band: Option<Band>) -> Width {
    let usual = match standard {
        Format::Legacy => Width::Mhz20,
        Format::Ht => Width::Mhz40,
        Format::Vht | Format::He => Width::Mhz80,
    };
    // 5.9 GHz is for a width that is chosen.
    band.filter(|band| *band != Band::Ghz59).map_or(usual, |band| usual.min(fits::widest_in(band)))
}

fn read_guard_interval(section: &Section<'_>, standard: Format) -> Result<GuardInterval, ScenarioError> {
    let Some(span) = section.quantity::<Span>("guard-interval", "800 ns")? else {
        return Ok(GuardInterval::Ns800);
    };
    let (allowed, names): (&[GuardInterval], &str) = match standard {
        Format::Legacy => (&[GuardInterval::Ns800], "\"800 ns\""),
        Format::Ht | Format::Vht => {
            (&[GuardInterval::Ns400, GuardInterval::Ns800], "\"400 ns\" and \"800 ns\"")
        }
        Format::He => (
            &[GuardInterval::Ns800, GuardInterval::Ns1600, GuardInterval::Ns3200],
            "\"800 ns\", \"1600 ns\" and \"3200 ns\"",
        ),
    };
    text::guard_interval_of(span).filter(|known| allowed.contains(known)).ok_or_else(|| {
        let name = text::name_of(text::STANDARDS, &standard);
        section.wrong("guard-interval", format!("is {} ns; standard {name} allows {names}", span.as_nanos()))
    })
}
