//! Equations 1 and 2.

use airbound_units::Span;

use super::averages::Averages;

/// Len_max, above which the queue is too long, in packets (equation 1): the number delivered within Limit_q at the present TX time
/// and success. With aggregation T_n is that of a PSDU and is divided by its MPDUs. `None` before the first transmission.
pub(super) fn len_max(limit_q: Span, all: &Averages) -> Option<f64> {
    let (seconds, success) = (all.seconds_per_mpdu()?, all.success()?);
    // A TX time of zero would allow any length.
    Some(limit_q.as_secs_f64() * success / seconds.max(1e-9))
}

/// Thr_p, the number of consecutive successes after which a higher rate is probed (equation 2). `index` counts from the configured
/// base; the result is limited to `cap` times the value without failed probes.
pub(super) const fn threshold(failed_probes: u32, index: u32, cap: u32) -> u32 {
    let factor = failed_probes.saturating_add(1);
    let factor = if factor > cap { cap } else { factor };
    factor.saturating_mul(5).saturating_mul(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn len_max_by_hand() {
        let mut all = Averages::default();
        assert_eq!(len_max(Span::from_millis(40), &all), None);
        all.add(Span::from_millis(1), 1.0, 1, 0.125);
        assert_eq!(len_max(Span::from_millis(40), &all), Some(40.0));
        // T = 1.25 ms, S = 7/8: 40 * 0.875 / 1.25.
        all.add(Span::from_millis(3), 0.0, 1, 0.125);
        let length = len_max(Span::from_millis(40), &all).expect("known");
        assert!((length - 28.0).abs() < 1e-9);
    }

    #[test]
    fn thr_p_by_hand() {
        assert_eq!(threshold(0, 1, 10), 5);
        assert_eq!(threshold(2, 8, 10), 120);
        assert_eq!(threshold(50, 8, 10), 400);
        assert_eq!(threshold(u32::MAX, u32::MAX, u32::MAX), u32::MAX);
    }
}
