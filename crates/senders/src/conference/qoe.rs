//! Single-user QoE functions of Plum: the QoE of one viewer at a bitrate (Table I, Fig. 8).

use serde::{Deserialize, Serialize};

/// A normalised QoE function Q(d): 0 at no bitrate, 1 at the application's largest bitrate M and above, never falling.
///
/// All but the logarithm depend on x = d / M alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Qoe {
    /// d / M: the paper's default.
    #[default]
    Linear,
    /// ln(d + 1) / ln(M + 1), d and M in Mb/s.
    Logarithmic,
    /// alpha d² + (1/M - M alpha) d with alpha = -1/M²: 2x - x², the most concave that the table allows.
    ConcaveSquare,
    /// The same with alpha = +1/M²: x². The only non-concave one.
    ConvexSquare,
}

impl Qoe {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 4] = [Self::Linear, Self::Logarithmic, Self::ConcaveSquare, Self::ConvexSquare];

    /// Its name in a scenario file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Logarithmic => "logarithmic",
            Self::ConcaveSquare => "concave-square",
            Self::ConvexSquare => "convex-square",
        }
    }

    /// Whether the utility has one global optimum, found by a convex program.
    #[must_use]
    pub const fn is_concave(self) -> bool {
        !matches!(self, Self::ConvexSquare)
    }

    /// Q at the share `x` = d / M of the largest bitrate `max_mbps`, from 0 to 1.
    #[must_use]
    pub fn value(self, x: f64, max_mbps: f64) -> f64 {
        let x = x.clamp(0.0, 1.0);
        match self {
            Self::Linear => x,
            Self::Logarithmic => libm::log1p(x * max_mbps) / libm::log1p(max_mbps),
            Self::ConcaveSquare => x * (2.0 - x),
            Self::ConvexSquare => x * x,
        }
    }

    /// The share of the largest bitrate with the QoE `q`, from 0 to 1.
    #[must_use]
    pub fn inverse(self, q: f64, max_mbps: f64) -> f64 {
        let q = q.clamp(0.0, 1.0);
        match self {
            Self::Linear => q,
            Self::Logarithmic => libm::expm1(q * libm::log1p(max_mbps)) / max_mbps,
            Self::ConcaveSquare => 1.0 - libm::sqrt(1.0 - q),
            Self::ConvexSquare => libm::sqrt(q),
        }
    }

    /// The derivative of Q by `x` for `x` from 0 to 1.
    #[must_use]
    pub fn slope(self, x: f64, max_mbps: f64) -> f64 {
        let x = x.clamp(0.0, 1.0);
        match self {
            Self::Linear => 1.0,
            Self::Logarithmic => max_mbps / ((1.0 + x * max_mbps) * libm::log1p(max_mbps)),
            Self::ConcaveSquare => 2.0 * (1.0 - x),
            Self::ConvexSquare => 2.0 * x,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_normalised_and_rises_as_its_slope_says() {
        for qoe in Qoe::ALL {
            assert!(qoe.value(0.0, 30.0).abs() < 1e-12 && (qoe.value(1.0, 30.0) - 1.0).abs() < 1e-12);
            assert!((qoe.value(7.0, 30.0) - 1.0).abs() < 1e-12, "above M");
            for step in 1..100 {
                let x = f64::from(step) / 100.0;
                assert!((qoe.inverse(qoe.value(x, 30.0), 30.0) - x).abs() < 1e-9);
                let measured = (qoe.value(x + 1e-6, 30.0) - qoe.value(x - 1e-6, 30.0)) / 2e-6;
                assert!(measured >= 0.0 && (measured - qoe.slope(x, 30.0)).abs() < 1e-4, "{qoe:?} at {x}");
            }
        }
    }

    #[test]
    fn the_curves_lie_as_in_figure_8() {
        let at = |qoe: Qoe| qoe.value(0.5, 30.0);
        assert!(at(Qoe::Logarithmic) > at(Qoe::ConcaveSquare));
        assert!(at(Qoe::ConcaveSquare) > at(Qoe::Linear) && at(Qoe::Linear) > at(Qoe::ConvexSquare));
    }
}
