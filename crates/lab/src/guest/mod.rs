//! Processes in the virtual machine: the medium, and the endpoints of the flows. All of them run this program, started by the guest's
//! `/init` (see [`crate::host`]).

mod air;
pub(crate) mod commands;
mod ends;
mod pack;
mod work;

use std::fs;
use std::path::Path;
use std::time::Duration;

use airbound_scenario::{Overrides, Scenario};
use airbound_units::Instant;

use crate::LabError;

pub use air::medium;
pub use commands::commands;
pub use ends::ends;
pub use pack::{pack, unpack};

/// The resolved scenario.
pub(crate) const SCENARIO: &str = "/lab/scenario.toml";
/// Time zero of the scenario once it is set, nanoseconds since boot.
pub(crate) const ZERO: &str = "/run/zero";
/// The time at which the commands ended, nanoseconds since boot, once they have.
pub(crate) const ENDED: &str = "/run/ended";
/// Exists once the run is over.
pub(crate) const STOP: &str = "/run/stop";
/// The folder of the logs.
pub(crate) const LOGS: &str = "/out";
/// The device of the radios.
pub(crate) const DEVICE: &str = "/dev/airbound-radio";
/// Time from setting time zero to time zero, in which all endpoints become ready.
const SOON: Duration = Duration::from_millis(500);

/// The clock shared by driver and programs (CLOCK_MONOTONIC).
pub(crate) fn now() -> Instant {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let (seconds, nanos) =
        (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
    Instant::from_nanos(seconds * 1_000_000_000 + nanos)
}

pub(crate) fn sleep_until(at: Instant) {
    let wait = at.since(now());
    if !wait.is_zero() {
        std::thread::sleep(Duration::from_nanos(wait.as_nanos()));
    }
}

pub(crate) fn scenario() -> Result<Scenario, LabError> {
    Scenario::load(Path::new(SCENARIO), &Overrides::none())
        .map_err(|error| LabError::Guest(error.to_string()))
}

pub(crate) fn zero() -> Option<Instant> {
    let text = fs::read_to_string(ZERO).ok()?;
    text.trim().parse().ok().map(Instant::from_nanos)
}

/// Sets time zero to a time shortly ahead.
///
/// # Errors
/// The file cannot be written.
pub fn set_zero() -> Result<(), LabError> {
    let zero = now().as_nanos() + u64::try_from(SOON.as_nanos()).unwrap_or(0);
    // Renamed into place, since other processes poll for the file.
    let partial = format!("{ZERO}.new");
    fs::write(&partial, zero.to_string())
        .and_then(|()| fs::rename(&partial, ZERO))
        .map_err(LabError::io("write", ZERO))
}
