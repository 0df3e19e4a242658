//! Configuration of links: position, path loss, shadowing, fading, people, traces, and the interference that all links meet.

use std::sync::Arc;

use airbound_units::{Decibel, Metre, MetrePerSecond, Span};
use serde::{Serialize, Serializer};

use crate::trace::{Format, Trace};

/// The propagation between the access point and a station, the same in both directions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ChannelSpec {
    /// Nothing is ever lost but by collision.
    Ideal,
    /// A constant signal-to-noise ratio.
    Fixed {
        /// The ratio, over the width of the station's channel.
        snr: Decibel,
    },
    /// Loss that grows with the logarithm of the distance, with shadowing and fading.
    LogDistance(LogDistance),
    /// A measured trace.
    Trace(TraceLink),
}

/// Loss that grows with the logarithm of the distance.
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
    /// After this time shadowing has become a different one.
    pub shadowing_coherence: Span,
    /// Small-scale fading around the mean power.
    pub fading: Fading,
    /// People who step into the path; each entry is a kind of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blockage: Vec<Blockage>,
    /// Busy and quiet spells of shadowing and blockage; `None`: always busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
}

/// The position of a station: its distance from the access point over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Position {
    /// It does not move.
    Distance(Metre),
    /// Points in ascending time; between them it moves evenly, before the first and after the last it rests.
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
    /// It turns round at each end and walks on, instead of staying where it arrives.
    #[serde(rename = "return")]
    pub to_and_fro: bool,
}

/// Small-scale fading; its mean power is that of the unfaded signal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fading {
    /// None.
    None,
    /// Many paths, none of which dominates.
    Rayleigh {
        /// Its variation in time.
        #[serde(flatten)]
        motion: Motion,
    },
    /// One dominating path among many.
    Rician {
        /// Power of the dominating path over that of all others.
        k: Decibel,
        /// Its variation in time.
        #[serde(flatten)]
        motion: Motion,
    },
    /// Gamma-distributed power, drawn anew for each PPDU (as ns-3's `NakagamiPropagationLossModel`).
    Nakagami {
        /// The shape m, at least 0.5.
        m: Shape,
    },
}

/// Variation of fading in time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Motion {
    /// Doppler spectrum, or a new draw for each PPDU.
    pub independence: Independence,
    /// Speed of the station, or of its surroundings, that spreads the spectrum.
    pub speed: MetrePerSecond,
}

/// Independence of fading at two moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Independence {
    /// Motion: the Doppler spectrum of Clarke's model.
    Doppler,
    /// Nothing joins them: each PPDU meets a new draw.
    PerPpdu,
}

/// The shape of Nakagami fading.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Shape {
    /// The same everywhere.
    Fixed(f64),
    /// 1.5 below 80 m, 0.75 beyond (ns-3's defaults).
    #[serde(serialize_with = "by_distance")]
    ByDistance,
}

/// The word for [`Shape::ByDistance`] in a file.
pub const BY_DISTANCE: &str = "by-distance";

fn by_distance<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(BY_DISTANCE)
}

/// Arrivals and stays of people or busy spells.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Coming {
    /// Mean length, from the first effect to the last.
    pub length: Span,
    /// Standard deviation of the natural logarithm of the length (log-normal); 0: all are alike.
    pub length_spread: f64,
    /// Mean time from one beginning to the next (exponential, whether or not the last has gone).
    pub pause: Span,
    /// Time to reach the full effect, and again to leave.
    pub ramp: Span,
}

/// People who step into the path between two stationary ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Blockage {
    /// Arrivals while the room is busy.
    #[serde(flatten)]
    pub coming: Coming,
    /// Mean loss that a body brings.
    pub depth: Decibel,
    /// Standard deviation of that loss between bodies (normal in dB, never below 0).
    pub depth_spread: Decibel,
}

/// Busy and quiet spells of a room.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Activity {
    /// Arrivals of busy spells.
    #[serde(flatten)]
    pub coming: Coming,
    /// Share of the shadowing and of the people who pass that is left between spells, 0 to 1.
    pub quiet_level: f64,
}

/// A link that a trace drives.
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
    /// The trace begins again when it ends, instead of keeping its last value.
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
    /// The PHY rate: at each time the one whose saturated goodput is the trace's bandwidth.
    Phy,
    /// A half-duplex pipe of the trace's speed in the place of the air: no contention, no aggregation.
    Pipe,
    /// The signal-to-noise ratio.
    Snr,
}

/// Bursts of something that is not Wi-Fi.
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
    /// Bursts begin from this time on.
    pub start: Span,
    /// End of the last one; `None` for the end of the run.
    #[serde(serialize_with = "or_never")]
    pub stop: Option<Span>,
}

/// The effect of a burst of interference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "effect", rename_all = "kebab-case")]
pub enum Effect {
    /// Every transmitter finds the channel busy; exchanges on the air continue.
    Busy,
    /// The noise rises; carrier sense does not notice.
    Noise {
        /// Rise of the noise.
        level: Decibel,
    },
}

fn or_never<S: Serializer>(stop: &Option<Span>, serializer: S) -> Result<S::Ok, S::Error> {
    match stop {
        Some(stop) => serializer.collect_str(stop),
        None => serializer.serialize_str("never"),
    }
}
