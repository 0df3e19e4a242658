//! The bitrate for a QoE of one user: the inverse of a concave Q, with the derivatives for Newton's method and the dual bound.

use crate::conference::qoe::Qoe;

/// X(q), convex and rising: bitrates are in shares of the largest, M.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Curve {
    /// q = offset + slope x: the linear QoE, or a tangent of a convex one. The slope is above 0.
    Line { offset: f64, slope: f64 },
    /// q = ln(1 + M x) / scale with scale = ln(1 + M).
    Logarithm { max: f64, scale: f64 },
    /// q = 2x - x².
    Square,
}

/// Least slope of a tangent: X(q) exists only where Q rises.
const LEAST_SLOPE: f64 = 2e-3;

impl Curve {
    /// Creates the curve of a QoE function and the largest bitrate in Mb/s. The convex square is represented by its tangent at
    /// `touch`, which lies below it everywhere.
    pub(super) fn of(qoe: Qoe, max: f64, touch: f64) -> Self {
        match qoe {
            Qoe::Linear => Self::Line { offset: 0.0, slope: 1.0 },
            Qoe::Logarithmic => Self::Logarithm { max, scale: libm::log1p(max) },
            Qoe::ConcaveSquare => Self::Square,
            Qoe::ConvexSquare => {
                let slope = qoe.slope(touch, max).max(LEAST_SLOPE);
                let touch = slope / 2.0;
                Self::Line { offset: qoe.value(touch, max) - slope * touch, slope }
            }
        }
    }

    /// The QoE at `x` from 0 to 1.
    pub(super) fn qoe(self, x: f64) -> f64 {
        match self {
            Self::Line { offset, slope } => offset + slope * x,
            Self::Logarithm { max, scale } => libm::log1p(max * x) / scale,
            Self::Square => x * (2.0 - x),
        }
    }

    /// X(q) with its first two derivatives.
    pub(super) fn bitrate(self, q: f64) -> [f64; 3] {
        match self {
            Self::Line { offset, slope } => [(q - offset) / slope, 1.0 / slope, 0.0],
            Self::Logarithm { max, scale } => {
                let above = libm::expm1(scale * q);
                let rise = scale * (above + 1.0) / max;
                [above / max, rise, scale * rise]
            }
            Self::Square => {
                let left = (1.0 - q).max(f64::MIN_POSITIVE);
                let root = libm::sqrt(left);
                [1.0 - root, 0.5 / root, 0.25 / (root * left)]
            }
        }
    }

    /// The largest value of `gain` q - `price` X(q) with q from `low` and X(q) to `most`; `price` is not negative.
    pub(super) fn profit(self, gain: f64, price: f64, low: f64, most: f64) -> f64 {
        let high = self.qoe(most).max(low);
        let at = |q: f64| gain * q - price * self.bitrate(q)[0];
        // Where the slope of X is gain / price: the maximum of a concave function.
        let top = match self {
            Self::Line { .. } => low,
            Self::Logarithm { max, scale } if gain > 0.0 && price > 0.0 => {
                libm::log(gain * max / (price * scale)) / scale
            }
            Self::Square if gain > 0.0 => 1.0 - price * price / (4.0 * gain * gain),
            _ => low,
        };
        at(low).max(at(high)).max(at(top.clamp(low, high)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURVES: [Curve; 4] = [
        Curve::Line { offset: 0.0, slope: 1.0 },
        Curve::Line { offset: -0.09, slope: 0.6 },
        Curve::Logarithm { max: 30.0, scale: 3.433_987_204_485_146 },
        Curve::Square,
    ];

    #[test]
    fn the_inverse_and_its_derivatives_agree_with_the_curve() {
        for curve in CURVES {
            for step in 1..98 {
                let x = f64::from(step) / 100.0;
                let q = curve.qoe(x);
                let [found, first, second] = curve.bitrate(q);
                let (above, below) = (curve.bitrate(q + 1e-6), curve.bitrate(q - 1e-6));
                assert!((found - x).abs() < 1e-9, "{curve:?} at {x}");
                assert!(((above[0] - below[0]) / 2e-6 / first - 1.0).abs() < 1e-4, "{curve:?} at {x}");
                assert!(
                    ((above[1] - below[1]) / 2e-6 - second).abs() < 1e-3 * (1.0 + second),
                    "{curve:?} at {x}"
                );
            }
        }
    }

    #[test]
    fn no_point_of_a_curve_is_worth_more_than_the_profit() {
        for curve in CURVES {
            for (gain, price) in [(1.0, 0.0), (0.3, 0.5), (-0.2, 0.1), (0.01, 2.0), (1.0, 1.0)] {
                let most = 0.8;
                let best = (0..=800)
                    .map(|step| {
                        let q = curve.qoe(f64::from(step) / 1000.0);
                        gain * q - price * curve.bitrate(q)[0]
                    })
                    .fold(f64::NEG_INFINITY, f64::max);
                let found = curve.profit(gain, price, curve.qoe(0.0), most);
                assert!(found >= best - 1e-12 && found < best + 1e-5, "{curve:?}: {found} against {best}");
            }
        }
    }

    #[test]
    fn a_tangent_lies_below_the_convex_square() {
        for touch in [0.0, 1e-4, 0.2, 0.7, 1.0] {
            let tangent = Curve::of(Qoe::ConvexSquare, 30.0, touch);
            for step in 0..=100 {
                let x = f64::from(step) / 100.0;
                assert!(tangent.qoe(x) <= Qoe::ConvexSquare.value(x, 30.0) + 1e-12, "{touch} at {x}");
            }
        }
    }
}
