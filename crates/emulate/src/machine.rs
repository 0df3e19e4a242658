//! The machine's part in the lateness of a run: processor time of this thread, and time that a hypervisor took.

use std::fs;

use airbound_units::{Instant, Span};

/// Counters at one time.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    at: Instant,
    /// Processor time of this thread.
    used: Option<Span>,
    /// The part of it in the kernel.
    system: Option<Span>,
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
        let system = fs::read_to_string("/proc/thread-self/stat").ok().and_then(|text| system(&text));
        Self { at: airbound_linux::now(), used, system, ticks }
    }

    /// The machine's part since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Part {
        let used = self.used.unwrap_or(Span::ZERO).saturating_sub(earlier.used.unwrap_or(Span::ZERO));
        let length = self.at.since(earlier.at).as_secs_f64().max(1e-9);
        let in_kernel = self.system.zip(earlier.system).map(|(now, then)| now.saturating_sub(then));
        let steal = self.ticks.zip(earlier.ticks).and_then(|((all, stolen), (all_before, stolen_before))| {
            let all = all.saturating_sub(all_before);
            (all > 0).then(|| stolen.saturating_sub(stolen_before) as f64 / all as f64)
        });
        Part {
            length: self.at.since(earlier.at),
            processors: used.as_secs_f64() / length,
            system: in_kernel.map(|span| span.as_secs_f64() / length),
            steal,
        }
    }

    /// Processor time of this thread since `earlier`; `None` if the kernel does not tell.
    #[must_use]
    pub fn used_since(&self, earlier: &Self) -> Option<Span> {
        self.used.zip(earlier.used).map(|(now, then)| now.saturating_sub(then))
    }
}

/// The machine's part in a span of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Length of the span.
    pub length: Span,
    /// Processors that this thread used on average.
    pub processors: f64,
    /// The part of them in the kernel.
    pub system: Option<f64>,
    /// Share of the machine's time that a hypervisor took.
    pub steal: Option<f64>,
}

/// The time in the kernel in the text of a thread's `stat`, whose unit is 10 ms for all programs.
fn system(text: &str) -> Option<Span> {
    // The name may contain anything, parentheses too.
    let (_, rest) = text.rsplit_once(") ")?;
    rest.split_whitespace().nth(12)?.parse().ok().map(|ticks: u64| Span::from_millis(10 * ticks))
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
            system: Some(Span::from_secs(seconds) / 4),
            ticks: Some((all, stolen)),
        };
        let part = Part { length: Span::from_secs(2), processors: 0.5, system: Some(0.25), steal: Some(0.1) };
        assert_eq!(at(4, 300, 30).since(&at(2, 100, 10)), part);
        assert_eq!(at(4, 100, 10).since(&at(2, 100, 10)).steal, None);
        let stat = "7 (a ) b) R 1 7 7 0 -1 4194304 100 0 0 0 123 45 0 0 20 0 1 0 99 0 0";
        assert_eq!(system(stat), Some(Span::from_millis(450)));
        assert_eq!(system("7"), None);
    }
}
