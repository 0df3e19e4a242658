//! The rules over time, sampled from snapshots: a window of a second, longer ones in a long run.

use airbound_record::SeriesRow;
use airbound_units::{Instant, Span};

use crate::snapshot::{RuleView, Snapshot};

/// Windows of each rule above which neighbours are merged and windows become twice as long.
const MOST: usize = 2048;
/// Length of the first windows, s.
const WINDOW: f64 = 1.0;

/// Rules over time. Its memory is bounded, whatever the length of the run.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// Windows of each rule, in the order of the snapshot.
    rules: Vec<Vec<SeriesRow>>,
    /// Doublings of the windows.
    doubled: i32,
    /// End of the last window, s since the start, and the rules then.
    last: (f64, Vec<RuleView>),
}

impl Timeline {
    /// Takes a snapshot into account. The first one, and one that ends no window, adds nothing.
    pub fn note(&mut self, snapshot: &Snapshot) {
        let (start, before) = &self.last;
        let length = snapshot.uptime_s - start;
        if length < WINDOW * 2f64.powi(self.doubled) {
            return;
        }
        self.rules.resize_with(snapshot.rules.len(), Vec::new);
        for ((number, rule), rows) in (0..).zip(&snapshot.rules).zip(&mut self.rules) {
            let unseen = RuleView::default();
            let before = before.get(number as usize).unwrap_or(&unseen);
            rows.push(window(number, *start, length, before, rule));
        }
        self.last = (snapshot.uptime_s, snapshot.rules.clone());
        if self.rules.iter().any(|rows| rows.len() >= MOST) {
            self.doubled += 1;
            for rows in &mut self.rules {
                *rows = rows.chunks(2).map(merged).collect();
            }
        }
    }

    /// All windows, rule by rule.
    pub fn rows(&self) -> impl Iterator<Item = SeriesRow> + '_ {
        self.rules.iter().flatten().cloned()
    }
}

/// Packets that will not complete any more, or did.
fn settled(rule: &RuleView) -> u64 {
    rule.acknowledged + lost(rule)
}

fn lost(rule: &RuleView) -> u64 {
    rule.failed + rule.unknown + rule.dropped.iter().map(|(_, count)| count).sum::<u64>()
}

fn window(flow: u32, start: f64, length: f64, before: &RuleView, rule: &RuleView) -> SeriesRow {
    let mbps = |now: u64, then: u64| now.saturating_sub(then) as f64 * 8.0 / length / 1e6;
    let p95 = rule.last_p95_ms.filter(|_| rule.acknowledged > before.acknowledged);
    SeriesRow {
        window_start: Instant::ZERO + Span::from_secs_f64(start),
        flow,
        offered_mbps: mbps(rule.bytes, before.bytes),
        goodput_mbps: mbps(rule.acknowledged_bytes, before.acknowledged_bytes),
        latency_p50_ms: None,
        latency_p95_ms: p95,
        latency_max_ms: None,
        dropped: lost(rule).saturating_sub(lost(before)),
        queue_packets: rule.packets.saturating_sub(settled(rule)),
        phy_rate_mbps: None,
        airtime_share: 0.0,
    }
}

/// One window in place of neighbours: the largest latency and queue, the mean rate.
fn merged(rows: &[SeriesRow]) -> SeriesRow {
    let mean = |value: fn(&SeriesRow) -> f64| rows.iter().map(value).sum::<f64>() / rows.len().max(1) as f64;
    SeriesRow {
        offered_mbps: mean(|row| row.offered_mbps),
        goodput_mbps: mean(|row| row.goodput_mbps),
        latency_p95_ms: rows.iter().filter_map(|row| row.latency_p95_ms).reduce(f64::max),
        dropped: rows.iter().map(|row| row.dropped).sum(),
        queue_packets: rows.iter().map(|row| row.queue_packets).max().unwrap_or(0),
        ..rows[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64, acknowledged: u64) -> Snapshot {
        let rule = RuleView {
            packets: acknowledged + 7,
            bytes: 1000 * (acknowledged + 7),
            acknowledged,
            acknowledged_bytes: 1000 * acknowledged,
            last_p95_ms: Some(second as f64),
            ..RuleView::default()
        };
        Snapshot { uptime_s: second as f64, rules: vec![rule], ..Snapshot::default() }
    }

    #[test]
    fn a_window_has_what_came_in_it() {
        let mut timeline = Timeline::default();
        for (second, acknowledged) in [(0, 0), (1, 100), (2, 100), (3, 350)] {
            timeline.note(&at(second, acknowledged));
            timeline.note(&at(second, acknowledged));
        }
        let rows: Vec<SeriesRow> = timeline.rows().collect();
        let goodput: Vec<f64> = rows.iter().map(|row| row.goodput_mbps).collect();
        assert_eq!(goodput, [0.8, 0.0, 2.0]);
        // The percentile of an earlier second is none of a second without packets.
        let p95: Vec<_> = rows.iter().map(|row| row.latency_p95_ms).collect();
        assert_eq!(p95, [Some(1.0), None, Some(3.0)]);
        assert!(rows.iter().all(|row| row.queue_packets == 7 && row.flow == 0));
    }

    #[test]
    fn a_week_takes_no_more_memory_than_an_hour() {
        let mut timeline = Timeline::default();
        for second in 0..20_000 {
            timeline.note(&at(second, 50 * second));
        }
        let rows: Vec<SeriesRow> = timeline.rows().collect();
        assert!((MOST / 2..=MOST).contains(&rows.len()), "{}", rows.len());
        assert!(rows.iter().all(|row| (row.goodput_mbps - 0.4).abs() < 1e-9));
        let last = rows.last().and_then(|row| row.latency_p95_ms).expect("packets");
        assert!(last > 19_980.0, "{last}");
    }
}
