//! Detection of growing delay: the slope of the smoothed delay over the last groups, compared with an adaptive threshold.
//!
//! | constant | source |
//! |---|---|
//! | window 20 groups, smoothing 0.9, gain 4, at most 60 groups counted | libwebrtc `trendline_estimator.cc` (the draft has a Kalman filter in its place, Sec. 5.3) |
//! | threshold 12.5 ms at first, 6 to 600 ms | draft Sec. 5.4 (del_var_th); libwebrtc |
//! | k_up 0.0087, k_down 0.039 per ms | libwebrtc (the draft recommends 0.01 and 0.00018, Sec. 5.4, for its own filter) |
//! | no adaption beyond 15 ms above the threshold | draft Sec. 5.4; libwebrtc `kMaxAdaptOffsetMs` |
//! | 10 ms of over-use before it is signalled | draft Sec. 5.4 (overuse_time_th); libwebrtc `kOverUsingTimeThreshold` |

use std::collections::VecDeque;

use airbound_units::Instant;

use super::Usage;
use super::packet_groups::{GroupDelta, millis_between};

const WINDOW: usize = 20;
const SMOOTHING: f64 = 0.9;
const GAIN: f64 = 4.0;
const COUNTED: u32 = 60;
const FIRST_THRESHOLD: f64 = 12.5;
const LEAST_THRESHOLD: f64 = 6.0;
const MOST_THRESHOLD: f64 = 600.0;
const K_UP: f64 = 0.0087;
const K_DOWN: f64 = 0.039;
const MOST_ADAPTED: f64 = 15.0;
const LONGEST_STEP_MS: f64 = 100.0;
const OVERUSE_MS: f64 = 10.0;

/// Trendline filter and over-use detector.
#[derive(Debug, Clone)]
pub(super) struct Trendline {
    /// Arrival of the first group, the origin of times in the fit.
    began: Option<Instant>,
    groups: u32,
    /// Sum of all delay variations in ms, and its moving average.
    delay: f64,
    smoothed: f64,
    /// Arrival and smoothed delay of the last groups, in ms.
    points: VecDeque<(f64, f64)>,
    slope: f64,
    last_slope: f64,
    /// `slope`, scaled for comparison with the threshold, in ms.
    trend: f64,
    threshold: f64,
    adapted: Option<Instant>,
    /// Time in ms, and number of groups, for which the trend has been above the threshold.
    over: Option<f64>,
    overs: u32,
    usage: Usage,
}

impl Default for Trendline {
    fn default() -> Self {
        Self {
            began: None,
            groups: 0,
            delay: 0.0,
            smoothed: 0.0,
            points: VecDeque::new(),
            slope: 0.0,
            last_slope: 0.0,
            trend: 0.0,
            threshold: FIRST_THRESHOLD,
            adapted: None,
            over: None,
            overs: 0,
            usage: Usage::Normal,
        }
    }
}

impl Trendline {
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    pub(super) fn trend(&self) -> f64 {
        self.trend
    }

    pub(super) fn threshold(&self) -> f64 {
        self.threshold
    }

    pub(super) fn on_delta(&mut self, delta: GroupDelta) {
        self.groups = self.groups.saturating_add(1);
        let began = *self.began.get_or_insert(delta.at);
        self.delay += delta.arrived - delta.sent;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.delay;
        self.points.push_back((millis_between(delta.at, began), self.smoothed));
        if self.points.len() > WINDOW {
            self.points.pop_front();
        }
        if self.points.len() == WINDOW {
            self.slope = slope(&self.points).unwrap_or(self.slope);
        }
        self.detect(delta);
    }

    fn detect(&mut self, delta: GroupDelta) {
        if self.groups < 2 {
            return;
        }
        self.trend = f64::from(self.groups.min(COUNTED)) * self.slope * GAIN;
        if self.trend > self.threshold {
            // The crossing in the first interval is unknown: half of it counts.
            let over = self.over.map_or(delta.sent / 2.0, |over| over + delta.sent);
            self.over = Some(over);
            self.overs = self.overs.saturating_add(1);
            if over > OVERUSE_MS && self.overs > 1 && self.slope >= self.last_slope {
                (self.over, self.overs) = (Some(0.0), 0);
                self.usage = Usage::Overuse;
            }
        } else {
            (self.over, self.overs) = (None, 0);
            self.usage = if self.trend < -self.threshold { Usage::Underuse } else { Usage::Normal };
        }
        self.last_slope = self.slope;
        self.adapt(delta.at);
    }

    /// Moves the threshold towards the trend, so that neither the jitter of a path nor a competing TCP flow counts as over-use for long. A
    /// spike far above it is ignored.
    fn adapt(&mut self, at: Instant) {
        let last = self.adapted.replace(at).unwrap_or(at);
        let magnitude = libm::fabs(self.trend);
        if magnitude > self.threshold + MOST_ADAPTED {
            return;
        }
        let k = if magnitude < self.threshold { K_DOWN } else { K_UP };
        let elapsed = (at - last).as_millis_f64().min(LONGEST_STEP_MS);
        let threshold = self.threshold + k * (magnitude - self.threshold) * elapsed;
        self.threshold = threshold.clamp(LEAST_THRESHOLD, MOST_THRESHOLD);
    }
}

/// The slope of the least-squares line; `None` if all points have the same time.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let covariance: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = points.iter().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum();
    (variance > 0.0).then(|| covariance / variance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use airbound_units::Span;

    /// Groups every 20 ms whose delay changes by `change` ms from one to the next.
    fn feed(trendline: &mut Trendline, from: &mut f64, groups: usize, change: f64) -> Vec<Usage> {
        (0..groups)
            .map(|_| {
                *from += 20.0 + change;
                let at = Instant::ZERO + Span::from_secs_f64(*from / 1000.0);
                trendline.on_delta(GroupDelta { sent: 20.0, arrived: 20.0 + change, at });
                trendline.usage()
            })
            .collect()
    }

    #[test]
    fn the_slope_of_a_line_is_exact() {
        let line: VecDeque<_> =
            (0..20).map(|x| (f64::from(x) * 7.0, 3.0 + 0.25 * f64::from(x) * 7.0)).collect();
        assert!((slope(&line).expect("a line") - 0.25).abs() < 1e-12);
        assert_eq!(slope(&VecDeque::from([(1.0, 1.0), (1.0, 2.0)])), None);
    }

    #[test]
    fn a_growing_queue_is_overuse_and_a_draining_one_underuse() {
        let (mut trendline, mut time) = (Trendline::default(), 0.0);
        assert!(feed(&mut trendline, &mut time, 60, 0.0).iter().all(|usage| *usage == Usage::Normal));
        let growing = feed(&mut trendline, &mut time, 20, 2.0);
        let found = growing.iter().position(|usage| *usage == Usage::Overuse).expect("overuse");
        assert!(found < 15, "found after {found} groups of 20 ms");
        let draining = feed(&mut trendline, &mut time, 40, -2.0);
        assert!(draining.contains(&Usage::Underuse));
        assert_eq!(feed(&mut trendline, &mut time, 60, 0.0).last(), Some(&Usage::Normal));
    }

    #[test]
    fn the_threshold_falls_on_a_calm_path_and_rises_on_a_jittery_one() {
        let (mut trendline, mut time) = (Trendline::default(), 0.0);
        feed(&mut trendline, &mut time, 200, 0.0);
        assert!((trendline.threshold() - LEAST_THRESHOLD).abs() < 1e-9);
        for _ in 0..20 {
            feed(&mut trendline, &mut time, 40, 0.8);
            feed(&mut trendline, &mut time, 40, -0.8);
        }
        // The delay rises and falls by 32 ms at 0.8 ms in 20: a trend of 9.6.
        assert!(trendline.threshold() > LEAST_THRESHOLD + 0.5, "{}", trendline.threshold());
    }
}
