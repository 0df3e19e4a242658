//! Speed and memory of a run.

use std::time::Duration;

use airbound_record::Performance;
use airbound_units::Span;

/// The figures of one run that took `wall` for `simulated`.
pub(crate) fn performance(events: u64, simulated: Span, wall: Duration) -> Performance {
    let wall_s = wall.as_secs_f64().max(1e-9);
    Performance {
        events,
        wall_s,
        simulated_s_per_wall_s: simulated.as_secs_f64() / wall_s,
        peak_rss_mb: peak_memory(),
    }
}

/// Largest resident memory of this process so far, in MB; `None` where the system does not tell.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024.0 / 1e6)
}
