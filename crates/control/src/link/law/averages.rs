//! Moving averages of table 2.

use airbound_units::Span;

/// An exponentially weighted moving average, initialised with the first value.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Ewma(Option<f64>);

impl Ewma {
    pub(super) fn add(&mut self, value: f64, weight: f64) {
        self.0 = Some(match self.0 {
            None => value,
            Some(mean) => mean + weight * (value - mean),
        });
    }

    pub(super) const fn get(self) -> Option<f64> {
        self.0
    }
}

/// TX time and success of software transmissions: T_n and S_n, or T_i and S_i.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Averages {
    /// Seconds for each PSDU.
    time: Ewma,
    /// Share of acknowledged MPDUs.
    success: Ewma,
    /// MPDUs in each PSDU; 1 without aggregation.
    mpdus: Ewma,
}

impl Averages {
    /// Adds a software transmission of `mpdus` MPDUs that took `time`; `success` is the share that arrived.
    pub(super) fn add(&mut self, time: Span, success: f64, mpdus: usize, weight: f64) {
        self.time.add(time.as_secs_f64(), weight);
        self.success.add(success, weight);
        self.mpdus.add(mpdus.max(1) as f64, weight);
    }

    /// The mean TX time of a PSDU.
    pub(super) fn time(&self) -> Option<Span> {
        self.time.get().map(Span::from_secs_f64)
    }

    /// The mean TX time in seconds for each MPDU, comparable between PSDUs of different length.
    pub(super) fn seconds_per_mpdu(&self) -> Option<f64> {
        Some(self.time.get()? / self.mpdus.get()?)
    }

    /// The mean share of acknowledged MPDUs.
    pub(super) fn success(&self) -> Option<f64> {
        self.success.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_counts_in_full_and_later_ones_by_weight() {
        let mut averages = Averages::default();
        assert_eq!((averages.time(), averages.success()), (None, None));
        averages.add(Span::from_millis(2), 1.0, 1, 0.25);
        averages.add(Span::from_millis(6), 0.0, 1, 0.25);
        assert_eq!(averages.time(), Some(Span::from_millis(3)));
        assert_eq!(averages.success(), Some(0.75));
    }
}
