//! The dual ascent of Sec. 5.2 (equations 27 and 28), for utilities without a closed form.

use super::model::Downlink;
use super::optimum::{Optimum, Utility};

/// Dual ascent on problem P.
///
/// Rates are counted in units of the max-min rate and levels in units of the target, so that one step size suits all networks.
#[derive(Debug, Clone)]
pub struct DualAscent {
    downlink: Downlink,
    target: f64,
    exponent: f64,
    unit: f64,
    step: f64,
    /// Logarithms of the rates over `unit`.
    logs: Vec<f64>,
    prices: Vec<f64>,
}

impl DualAscent {
    /// Max-min fairness is the limit of large exponents; this one is within 2 % of it for rates that differ by a factor of 3.
    const MAX_MIN_EXPONENT: f64 = 48.0;

    /// Creates an ascent with all rates at a tenth of the max-min rate and all prices at 1 / n. `step` is the step size of the prices,
    /// 0.01 to 1.
    ///
    /// `None` if problem P has no optimum for these values, or the step is out of range.
    #[must_use]
    pub fn new(downlink: Downlink, target: f64, utility: Utility, step: f64) -> Option<Self> {
        let unit = Optimum::of(&downlink, target, Utility::MaxMin)?.cap;
        let exponent = match utility {
            Utility::Proportional => 1.0,
            Utility::Alpha(exponent) => exponent,
            Utility::MaxMin => Self::MAX_MIN_EXPONENT,
        };
        if !((0.01..=1.0).contains(&step) && exponent > 0.0 && exponent.is_finite()) {
            return None;
        }
        let n = downlink.stations();
        let logs = vec![libm::log(0.1); n];
        Some(Self { downlink, target, exponent, unit, step, logs, prices: vec![1.0 / n as f64; n] })
    }

    /// Packets per second to each station.
    #[must_use]
    pub fn rates(&self) -> Vec<f64> {
        self.logs.iter().map(|log| self.unit * libm::exp(*log)).collect()
    }

    /// The multipliers λ_i.
    #[must_use]
    pub fn prices(&self) -> &[f64] {
        &self.prices
    }

    /// Executes one update: the rates that minimise the Lagrangian at these prices, then the prices by the distance of the levels from
    /// the target.
    pub fn update(&mut self) {
        self.minimise();
        let Some(levels) = self.downlink.levels(&self.rates()) else { return };
        for (price, level) in self.prices.iter_mut().zip(levels) {
            // Multiplicative, which keeps prices positive and treats large and small ones alike.
            *price = (*price * libm::exp(self.step * (level / self.target - 1.0))).clamp(1e-12, 1e12);
        }
    }

    /// The Lagrangian at logarithms `logs`; infinite beyond the region.
    fn lagrangian(&self, logs: &[f64]) -> f64 {
        let rates: Vec<f64> = logs.iter().map(|log| self.unit * libm::exp(*log)).collect();
        let Some(levels) = self.downlink.levels(&rates) else { return f64::INFINITY };
        let utility: f64 = logs.iter().map(|log| self.utility(*log)).sum();
        let cost: f64 =
            self.prices.iter().zip(levels).map(|(price, level)| price * level / self.target).sum();
        cost - utility
    }

    fn utility(&self, log: f64) -> f64 {
        let power = 1.0 - self.exponent;
        if power.abs() < 1e-9 { log } else { libm::exp(power * log) / power }
    }

    /// Minimises the Lagrangian over the rates: steps along the gradient divided by the curvature of each coordinate, halved until
    /// it falls. It is convex in the logarithms (lemma 2).
    fn minimise(&mut self) {
        let mut value = self.lagrangian(&self.logs);
        for _ in 0..60 {
            let rates = self.rates();
            let free = 1.0 - self.downlink.payload_share(&rates);
            let Some(levels) = self.downlink.levels(&rates) else { break };
            let priced: Vec<f64> =
                self.prices.iter().zip(levels).map(|(price, level)| price * level / self.target).collect();
            let all: f64 = priced.iter().sum();
            let airtimes = self.downlink.packet_airtime();
            let mut steps = Vec::with_capacity(rates.len());
            let mut decrease = 0.0;
            for (place, log) in self.logs.iter().enumerate() {
                let load = airtimes[place] * rates[place] / free;
                let marginal = libm::exp((1.0 - self.exponent) * log);
                let gradient = priced[place] + all * load - marginal;
                // The diagonal of the Hessian, which is positive for a concave utility.
                let curvature = priced[place] * (1.0 + 2.0 * load)
                    + all * load * (1.0 + 2.0 * load)
                    + (self.exponent - 1.0).max(0.0) * marginal;
                let step = -gradient / curvature.max(1e-12);
                decrease += gradient * step;
                steps.push(step.clamp(-1.0, 1.0));
            }
            let mut scale = 1.0;
            let mut fell = false;
            for _ in 0..40 {
                let next: Vec<f64> =
                    self.logs.iter().zip(&steps).map(|(log, step)| log + scale * step).collect();
                let reached = self.lagrangian(&next);
                if reached < value {
                    (self.logs, value, fell) = (next, reached, true);
                    break;
                }
                scale /= 2.0;
            }
            if !fell || decrease.abs() < 1e-12 {
                break;
            }
        }
    }
}
