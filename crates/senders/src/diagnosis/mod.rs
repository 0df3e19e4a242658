//! Why a program stutters: the cause, from round trips to two targets and counters of the machine that probes.
//!
//! The near target is one Wi-Fi hop away, the far one behind a wire. Probes are dense first, then sparse ([`schedule`]): a radio that
//! sleeps is kept awake by dense ones. [`diagnose`] is a function of its observations.
//!
//! | file | holds |
//! |---|---|
//! | `series` | probes, late ones, episodes of them |
//! | `figures` | what they and the counters amount to, thresholds |
//! | `decide` | the cause |
//! | `words` | its sentences |
//!
//! ```
//! use airbound_senders::diagnosis::{Cause, Observations, Probe, diagnose};
//! use airbound_units::{Instant, Span};
//!
//! let probe = |number: u64| Probe {
//!     sent: Instant::ZERO + Span::from_millis(20 * number),
//!     round_trip: Some(Span::from_millis(2)),
//! };
//! let seen = Observations { near: (0..500).map(probe).collect(), ..Observations::default() };
//! assert_eq!(diagnose(&seen).cause, Cause::Healthy);
//! ```

mod decide;
mod figures;
mod series;
mod words;

use airbound_units::{Instant, Span};
use serde::Serialize;

pub use decide::diagnose;

/// Distance of dense probes of the near target: shorter than the shortest absence that counts (12 ms), and than the shortest time after
/// which a radio falls asleep (20 ms). The far target has every second one.
const DENSE: Span = Span::from_millis(10);
/// Distance of sparse probes. The two targets take turns at half of it, since one's probe would wake a radio for the other's answer: longer
/// than the 500 ms after which mac80211's stations sleep (`wdev->ps_timeout`), and no multiple of the interval between beacons (102.4 ms).
const SPARSE: Span = Span::from_millis(1100);
/// Share of the time in which probes are sparse, at the end: three of the near target in 10 s.
const SPARSE_SHARE: f64 = 1.0 / 3.0;
/// Number of late probes, or of absences, that chance does not show.
const FEWEST: usize = 3;

/// One time of sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// A probe goes to the near target.
    pub near: bool,
    /// One goes to the far target.
    pub far: bool,
}

/// When to send probes, from the start on.
pub fn schedule(duration: Span) -> impl Iterator<Item = (Span, Turn)> {
    let sparse = duration.mul_f64(1.0 - SPARSE_SHARE);
    let dense =
        (0..).map(|number| (DENSE.mul_f64(f64::from(number)), Turn { near: true, far: number % 2 == 0 }));
    let half = SPARSE.mul_f64(0.5);
    let turns = (1..).map(move |number| {
        (sparse + half.mul_f64(f64::from(number)), Turn { near: number % 2 == 1, far: number % 2 == 0 })
    });
    let dense = dense.take_while(move |(at, _): &(Span, Turn)| *at < sparse);
    dense.chain(turns.take_while(move |(at, _): &(Span, Turn)| *at < duration))
}

/// Where the probes start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// At a station; the near target is the gateway.
    #[default]
    Station,
    /// At an access point; the near target is a station.
    AccessPoint,
    /// At a machine without Wi-Fi; the near target is the gateway.
    Wired,
}

/// A request and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// When it was sent.
    pub sent: Instant,
    /// Time to the answer; `None` if none came.
    pub round_trip: Option<Span>,
}

/// Counters at an instant, from any start; those that the driver does not report are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counters {
    /// When they were read.
    pub at: Instant,
    /// Signal of the peer's last frame, dBm.
    pub signal: Option<f64>,
    /// Frames sent to the peer, retries not counted.
    pub sent: Option<u64>,
    /// Tries beyond the first.
    pub retries: Option<u64>,
    /// Frames given up.
    pub failed: Option<u64>,
    /// Time on the channel of which `busy` is a part.
    pub on_channel: Option<Span>,
    /// Time in which the channel was busy, own frames included.
    pub busy: Option<Span>,
    /// Airtime of the frames of this radio's own network: to and from the peer of a station, to and from all stations of an access point.
    pub own: Option<Span>,
    /// Packets that wait in this machine for the Wi-Fi.
    pub backlog: Option<u64>,
}

/// Observations of some 30 s. Each list is in the order of time; an empty one and `None` stand for what is not known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observations {
    /// Where the probes start.
    pub side: Side,
    /// Probes of the near target.
    pub near: Vec<Probe>,
    /// Probes of the far target.
    pub far: Vec<Probe>,
    /// Counters, about once a second.
    pub counters: Vec<Counters>,
    /// Begins and ends of scans of this radio.
    pub scans: Vec<(Instant, Instant)>,
    /// Whether this radio may sleep; of a station's own only.
    pub power_save: Option<bool>,
    /// Begins and lengths of times in which this machine did not run the prober.
    pub stalls: Vec<(Instant, Span)>,
    /// Datagrams that came to this machine and were dropped, since their program did not read them.
    pub unread: u64,
    /// Whether a user says that a program stutters now.
    pub stutters: bool,
}

/// A cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Nothing is wrong.
    Healthy,
    /// The radio scans other channels.
    Scan,
    /// The radio sleeps between beacons.
    Sleep,
    /// A radio leaves the channel, and no scan of this machine is the reason.
    Away,
    /// Others hold the channel.
    Contention,
    /// Frames are sent again and again, at a signal that is strong enough.
    Retries,
    /// The signal is too weak.
    WeakSignal,
    /// Packets wait in a queue before the Wi-Fi link.
    Queue,
    /// The way beyond the Wi-Fi.
    Wire,
    /// The program, or the machine that it runs on.
    Program,
    /// The Wi-Fi, without evidence of which kind.
    Unknown,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Healthy,
        Self::Scan,
        Self::Sleep,
        Self::Away,
        Self::Contention,
        Self::Retries,
        Self::WeakSignal,
        Self::Queue,
        Self::Wire,
        Self::Program,
        Self::Unknown,
    ];

    /// Its name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Scan => "scan",
            Self::Sleep => "sleep",
            Self::Away => "away",
            Self::Contention => "contention",
            Self::Retries => "retries",
            Self::WeakSignal => "weak-signal",
            Self::Queue => "queue",
            Self::Wire => "wire",
            Self::Program => "program",
            Self::Unknown => "unknown",
        }
    }
}

/// A figure of the observations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// Its meaning.
    pub what: String,
    /// Its value with unit.
    pub value: String,
    /// The value from which on it counts, or empty.
    pub limit: String,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The cause.
    pub cause: Cause,
    /// The answer in at most 20 words.
    pub sentence: String,
    /// A remedy, in a sentence.
    pub advice: String,
    /// The figures, and where they are from.
    pub evidence: Vec<Evidence>,
    /// Observations that were missing, each in a sentence.
    pub missing: Vec<String>,
}
