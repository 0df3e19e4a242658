//! Percentiles of latencies.

/// A percentile of latencies by nearest rank; zero without packets.
pub(crate) fn percentile(latencies: &mut [f64], share: f64) -> f64 {
    let place = (latencies.len() as f64 * share).ceil() as usize;
    let place = place.saturating_sub(1);
    if place >= latencies.len() {
        return 0.0;
    }
    *latencies.select_nth_unstable_by(place, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles() {
        let mut latencies: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        for (share, expected) in [(0.001, 1.0), (0.5, 50.0), (0.95, 95.0), (1.0, 100.0)] {
            assert!((percentile(&mut latencies, share) - expected).abs() < 1e-9, "{share}");
        }
        assert!(percentile(&mut [], 0.95) == 0.0);
    }
}
