//! The machine's part in the lateness of a run: processor time of this thread, and time that a hypervisor took.

use std::fs;

use airbound_units::{Instant, Span};

/// Counters at one time.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    at: Instant,
    /// Processor time of this thread.
    used: Option<Span>,
    /// Ticks of all processors, and those that a hypervisor gave to others.
    ticks: Option<(u64, u64)>,
}

impl Machine {
    /// The counters now.
    #[must_use]
    pub fn now() -> Self {
        let used = fs::read_to_string("/proc/thread-self/schedstat").ok();
        let used = used.and_then(|text| text.split_whitespace().next()?.parse().ok()).map(Span::from_nanos);
        let ticks = fs::read_to_string("/proc/stat").ok().and_then(|text| ticks(&text));
        Self { at: airbound_linux::now(), used, ticks }
    }

    /// Processors that this thread used on average since `earlier`, and the share of time that a hypervisor took.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> (f64, Option<f64>) {
        let used = self.used.unwrap_or(Span::ZERO).saturating_sub(earlier.used.unwrap_or(Span::ZERO));
        let length = self.at.since(earlier.at).as_secs_f64().max(1e-9);
        let steal = self.ticks.zip(earlier.ticks).and_then(|((all, stolen), (all_before, stolen_before))| {
            let all = all.saturating_sub(all_before);
            (all > 0).then(|| stolen.saturating_sub(stolen_before) as f64 / all as f64)
        });
        (used.as_secs_f64() / length, steal)
    }
}

/// The ticks in the text of `/proc/stat`: all, and stolen ones.
fn ticks(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    // User to steal; time of guests is part of the user's.
    let figures: Vec<u64> = line.split_whitespace().take(8).filter_map(|word| word.parse().ok()).collect();
    Some((figures.iter().sum(), *figures.get(7)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_a_share_of_all() {
        assert_eq!(ticks("cpu  10 0 20 60 5 1 2 4 9 9\ncpu0 1\n"), Some((102, 4)));
        assert_eq!(ticks("cpu  10 0 20\n"), None);
        assert_eq!(ticks(""), None);
        let at = |seconds, all, stolen| Machine {
            at: Instant::ZERO + Span::from_secs(seconds),
            used: Some(Span::from_secs(seconds) / 2),
            ticks: Some((all, stolen)),
        };
        assert_eq!(at(4, 300, 30).since(&at(2, 100, 10)), (0.5, Some(0.1)));
        assert_eq!(at(4, 100, 10).since(&at(2, 100, 10)).1, None);
    }
}
