//! The machine's part that a scenario's own traffic takes, measured before anything is started.

use airbound_runs::{BuiltRun, Named, Opened};
use airbound_sim::Run;
use airbound_units::{Instant, Span};

use crate::error::EmulateError;
use crate::machine::Machine;

/// Simulated time after the warm-up over which it is measured.
const MEASURED: Span = Span::from_millis(500);
/// Simulated time between two looks at the clock.
const STEP: Span = Span::from_millis(10);
/// Processor time that the measurement takes at most.
const MOST: Span = Span::from_millis(1500);
/// Share of a processor that the scenario's own traffic may take: the rest is for packets of applications and for sleep.
const SHARE: f64 = 0.8;

/// Events of the simulated traffic, a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Packets a second that the scenario itself sends.
    pub expected: f64,
    /// Packets a second of this scenario that one processor of this machine simulates.
    pub possible: f64,
}

impl Load {
    /// Measures a scenario; `None` as for [`Load::measure`].
    ///
    /// # Errors
    /// The scheme is wrong, or the machine cannot simulate the scenario in real time.
    pub fn check(opened: &Opened, named: &Named) -> Result<Option<Self>, EmulateError> {
        let mut probe = BuiltRun::new(opened, named.clone())?;
        match Self::measure(probe.run(), opened.scenario.warm_up) {
            Some(load) if !load.fits() => {
                Err(EmulateError::Load { expected: load.expected, possible: SHARE * load.possible })
            }
            load => Ok(load),
        }
    }

    /// Measures a run from its beginning; `None` if it sends nothing, or the kernel does not tell processor time. The run is spent.
    #[must_use]
    pub fn measure(run: &mut Run, warm_up: Span) -> Option<Self> {
        let end = Instant::ZERO + warm_up + MEASURED;
        let begun = Machine::now();
        let mut used = Span::ZERO;
        while run.now() < end && used < MOST {
            run.advance_to((run.now() + STEP).min(end));
            used = Machine::now().used_since(&begun)?;
        }
        Self::of(run.sent(), run.now().since(Instant::ZERO), used)
    }

    fn of(packets: u64, simulated: Span, used: Span) -> Option<Self> {
        let is_known = packets > 0 && !simulated.is_zero() && !used.is_zero();
        is_known.then(|| Self {
            expected: packets as f64 / simulated.as_secs_f64(),
            possible: packets as f64 / used.as_secs_f64(),
        })
    }

    /// Whether the machine can simulate it in real time, beside packets of applications.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.expected <= SHARE * self.possible
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_fifths_of_a_processor_fit() {
        let second = Span::from_secs(1);
        let load = Load::of(1000, second, Span::from_millis(800)).expect("a load");
        assert!(load.fits() && (load.expected, load.possible) == (1000.0, 1250.0));
        assert!(!Load::of(1000, second, Span::from_millis(801)).expect("a load").fits());
        assert_eq!(Load::of(0, second, second), None);
        assert_eq!(Load::of(1, Span::ZERO, second), None);
    }
}
