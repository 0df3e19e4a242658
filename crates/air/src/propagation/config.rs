//! Configuration of links: position, path loss, shadowing, fading, blockage, traces, and interference on all links.

use std::sync::Arc;

use airbound_units::{Decibel, Metre, MetrePerSecond, Span};
use serde::{Serialize, Serializer};

use crate::trace::{Format, Trace};

/// The propagation between the access point and a station, the same in both directions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ChannelSpec {
    /// No loss except by collisions.
    Ideal,
    /// A constant signal-to-noise ratio.
    Fixed {
        /// The ratio, over the width of the station's channel.
        snr: Decibel,
    },
    /// Path loss proportional to the logarithm of the distance, with shadowing and fading.
    LogDistance(LogDistance),
    /// A measured trace.
    Trace(TraceLink),
}

/// Path loss proportional to the logarithm of the distance.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct LogDistance {
    /// Path loss exponent: 2 in free space, 3 indoors.
    pub exponent: f64,
    /// Loss at a distance of 1 m; free space at 5.15 GHz unless set.
    pub reference_loss: Decibel,
    /// The position of the station.
    #[serde(flatten)]
    pub position: Position,
    /// Standard deviation of the shadowing in dB; 0 dB: none.
    pub shadowing: Decibel,
    /// Coherence time of the shadowing.
    pub shadowing_coherence: Span,
    /// Small-scale fading around the mean power.
    pub fading: Fading,
    /// Blockage by people, one entry for each kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blockage: Vec<Blockage>,
    /// Busy and quiet periods of shadowing and blockage; `None`: always busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
}

/// The position of a station: its distance from the access point over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Position {
    /// A fixed distance.
    Distance(Metre),
    /// Points in ascending time, linearly interpolated; constant before the first and after the last.
    Path(Vec<(Span, Metre)>),
    /// A straight walk.
    Walk(Walk),
}

/// A straight walk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Walk {
    /// Distance at the start.
    pub from: Metre,
    /// Distance at the turning point.
    pub to: Metre,
    /// Walking speed.
    pub speed: MetrePerSecond,
    /// Start of the walk.
    pub start: Span,
    /// Whether it turns round at each end instead of stopping at `to`.
    #[serde(rename = "return")]
    pub to_and_fro: bool,
}

/// Small-scale fading; its mean power is that of the unfaded signal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fading {
    /// None.
    None,
    /// Many paths without a dominant one.
    Rayleigh {
        /// Its variation in time.
        #[serde(flatten)]
        motion: Motion,
    },
    /// A dominant path among many.
    Rician {
        /// Power of the dominant path over that of all others.
        k: Decibel,
        /// Its variation in time.
        #[serde(flatten)]
        motion: Motion,
    },
    /// Gamma-distributed power, drawn for each PPDU (as ns-3's `NakagamiPropagationLossModel`).
    Nakagami {
        /// The shape m, at least 0.5.
        m: Shape,
    },
}

/// Variation of fading in time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Motion {
    /// Doppler spectrum, or a draw for each PPDU.
    pub independence: Independence,
    /// Speed of the station or of its surroundings, which decides the Doppler spread.
    pub speed: MetrePerSecond,
}

/// Correlation of fading between two times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Independence {
    /// The Doppler spectrum of Clarke's model.
    Doppler,
    /// No correlation: a draw for each PPDU.
    PerPpdu,
}

/// The shape of Nakagami fading.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Shape {
    /// The same at all distances.
    Fixed(f64),
    /// 1.5 below 80 m, 0.75 beyond (ns-3's defaults).
    #[serde(serialize_with = "by_distance")]
    ByDistance,
}

/// The value of [`Shape::ByDistance`] in a file.
pub const BY_DISTANCE: &str = "by-distance";

fn by_distance<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(BY_DISTANCE)
}

/// Arrivals and durations of people or of busy periods.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Coming {
    /// Mean duration, from the first effect to the last.
    pub length: Span,
    /// Standard deviation of the natural logarithm of the duration (log-normal); 0: constant.
    pub length_spread: f64,
    /// Mean interval of arrivals (exponential, independent of the presence of others).
    pub pause: Span,
    /// Time to reach the full effect, and to lose it.
    pub ramp: Span,
}

/// Blockage of the path between two stationary ends by people.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Blockage {
    /// Arrivals while the room is busy.
    #[serde(flatten)]
    pub coming: Coming,
    /// Mean loss by a body.
    pub depth: Decibel,
    /// Standard deviation of the loss between bodies (normal in dB, at least 0).
    pub depth_spread: Decibel,
}

/// Busy and quiet periods of a room.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Activity {
    /// Arrivals of busy periods.
    #[serde(flatten)]
    pub coming: Coming,
    /// Share of shadowing and blockage that remains in quiet periods, 0 to 1.
    pub quiet_level: f64,
}

/// A link driven by a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TraceLink {
    /// The file, relative to the working directory, or "shipped:" and the name of a shipped trace.
    pub file: String,
    /// Its format.
    pub format: Format,
    /// The quantity that it drives.
    #[serde(rename = "as")]
    pub used_as: TraceUse,
    /// Factor on every bandwidth.
    pub scale: f64,
    /// Whether the trace repeats, instead of keeping its last value.
    #[serde(rename = "loop")]
    pub repeat: bool,
    /// Its content.
    #[serde(skip)]
    pub trace: Arc<Trace>,
}

/// The quantity that a trace drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceUse {
    /// The PHY rate whose saturated goodput is the trace's bandwidth.
    Phy,
    /// A half-duplex pipe of the trace's bandwidth instead of 802.11: no contention, no aggregation.
    Pipe,
    /// The signal-to-noise ratio.
    Snr,
}

/// Bursts of interference that is not Wi-Fi.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Interference {
    /// Its name.
    pub name: String,
    /// Mean length of a burst (exponential).
    pub mean_on: Span,
    /// Mean pause between bursts (exponential).
    pub mean_off: Span,
    /// The effect of a burst.
    #[serde(flatten)]
    pub effect: Effect,
    /// Start of the first burst.
    pub start: Span,
    /// End of the last burst; `None` for the end of the run.
    #[serde(serialize_with = "or_never")]
    pub stop: Option<Span>,
}

/// The effect of a burst of interference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "effect", rename_all = "kebab-case")]
pub enum Effect {
    /// All transmitters sense a busy channel; exchanges on the air continue.
    Busy,
    /// The noise floor rises; carrier sense is not affected.
    Noise {
        /// Increase of the noise floor.
        level: Decibel,
    },
}

fn or_never<S: Serializer>(stop: &Option<Span>, serializer: S) -> Result<S::Ok, S::Error> {
    match stop {
        Some(stop) => serializer.collect_str(stop),
        None => serializer.serialize_str("never"),
    }
}
