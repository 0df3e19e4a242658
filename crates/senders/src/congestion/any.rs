//! The congestion controls that a scenario can select.

use airbound_units::{BitRate, Instant, Span};
use serde::{Deserialize, Serialize};

use super::bbr::Bbr;
use super::cubic::Cubic;
use super::hystart::HystartKind;
use super::reno::Reno;
use super::{AckEvent, CongestionControl, CustomControl, MAX_WINDOW, UNSET_THRESHOLD, Window};

/// Facts that a control may know of its connection at the start.
pub(crate) struct Start {
    /// Payload of a full segment, in bytes.
    pub(crate) mss: u32,
    /// Initial window, in segments.
    pub(crate) initial_window: u32,
    /// Whether segments are spaced even without a rate of the control.
    pub(crate) paced: bool,
    pub(crate) hystart: HystartKind,
    /// Of random decisions.
    pub(crate) seed: u64,
}

/// Makes [`Congestion`] and [`Controller`] from the table of kinds below.
macro_rules! controls {
    (($dollar:tt) $($meaning:literal $name:literal: $kind:ident($control:ty), $build:expr;)*) => {
        /// The algorithm that sizes the congestion window.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Congestion {
            $(
                #[doc = concat!("`", $name, "`: ", $meaning, ".")]
                #[serde(rename = $name)]
                $kind,
            )*
        }

        impl Congestion {
            /// All algorithms.
            pub const ALL: &[Self] = &[$(Self::$kind),*];
            /// All algorithms: the name in a scenario, and its meaning in a line.
            pub const KINDS: &[(&str, &str)] = &[$(($name, $meaning)),*];

            /// The name in a scenario.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }

        /// The algorithms, dispatched without a virtual call except for custom ones.
        #[derive(Debug)]
        pub(crate) enum Controller {
            $($kind($control),)*
            Custom(Box<dyn CustomControl>),
        }

        impl Controller {
            /// Builds the algorithm.
            pub(crate) fn new(congestion: Congestion, start: &Start) -> Self {
                match congestion {
                    $(Congestion::$kind => {
                        let build: fn(&Start) -> $control = $build;
                        Self::$kind(build(start))
                    })*
                }
            }
        }

        /// Passes a call on to whichever algorithm it is.
        macro_rules! each {
            ($dollar any:expr, $dollar one:ident => $dollar call:expr) => {
                match $dollar any {
                    $(Controller::$kind($dollar one) => $dollar call,)*
                    Controller::Custom($dollar one) => $dollar call,
                }
            };
        }
    };
}

// A new congestion control is a line here: its meaning, its name in scenario files, its variant with its type, and the way from the
// start of a connection to the control.
controls! { ($)
    "TCP CUBIC, Linux's default"
    "cubic": Cubic(Cubic), |start| Cubic::new(start.hystart, start.paced);
    "TCP Reno" "reno": Reno(Reno), |_| Reno::new();
    "TCP BBR" "bbr": Bbr(Box<Bbr>), |start| Box::new(Bbr::new(start.mss, start.initial_window, start.seed));
}

#[expect(clippy::derivable_impls, reason = "the table of kinds makes the enum")]
impl Default for Congestion {
    fn default() -> Self {
        Self::Cubic
    }
}

/// Clamps a window to valid values.
fn confine(window: &mut Window) {
    window.cwnd = window.cwnd.clamp(1, MAX_WINDOW);
    window.ssthresh = window.ssthresh.clamp(2, UNSET_THRESHOLD);
}

impl CongestionControl for Controller {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        each!(self, control => control.on_ack(window, ack));
        if matches!(self, Self::Custom(_)) {
            confine(window);
        }
    }
    fn on_loss(&mut self, now: Instant, window: &Window) -> u32 {
        let threshold = each!(self, control => control.on_loss(now, window));
        if matches!(self, Self::Custom(_)) { threshold.clamp(2, UNSET_THRESHOLD) } else { threshold }
    }
    fn on_timeout(&mut self, window: &Window) {
        each!(self, control => control.on_timeout(window));
    }
    fn on_undo(&mut self, window: &Window) {
        each!(self, control => control.on_undo(window));
    }
    fn on_restart(&mut self, now: Instant, idle: Span, app_limited: bool) {
        each!(self, control => control.on_restart(now, idle, app_limited));
    }
    #[inline]
    fn owns_window(&self) -> bool {
        each!(self, control => control.owns_window())
    }
    #[inline]
    fn holds_back(&self) -> bool {
        each!(self, control => control.holds_back())
    }
    #[inline]
    fn pacing_rate(&self) -> Option<BitRate> {
        each!(self, control => control.pacing_rate())
    }
    fn bandwidth(&self) -> Option<BitRate> {
        each!(self, control => control.bandwidth())
    }
}
