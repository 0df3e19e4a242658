//! The pattern that a verdict on a flow rests on.

use std::fmt;

use airbound_units::BitRate;

/// Pattern of a flow: the measured reasons for a verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pattern {
    /// Rate over the window, IP headers included.
    pub rate: BitRate,
    /// Rate of the beat that fits the bursts best, in frames a second. A multiple of the true rate where TCP sends each frame in
    /// several rounds at equal distances.
    pub frame_rate: f64,
    /// Share of the bursts that begin on the beat, 0 to 1: within an eighth of a period of it, so that chance alone gives 0.25.
    pub bursts_on_beat: f64,
    /// Share of the bytes in those bursts, 0 to 1.
    pub bytes_on_beat: f64,
    /// Share of the beats that have a burst, 0 to 1: below 1 where frames were skipped or delayed.
    pub beats_met: f64,
    /// Z² over two harmonics (Buccheri et al. 1983): four times the number of bursts for a perfect rhythm, about 4 for none.
    pub strength: f64,
}

impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{:.1} Mb/s in a rhythm of {:.1} Hz: {:.0} % of its bursts, with {:.0} % of its bytes, begin on the beat",
            self.rate.as_mbps_f64(),
            self.frame_rate,
            100.0 * self.bursts_on_beat,
            100.0 * self.bytes_on_beat,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_a_sentence() {
        let pattern = Pattern {
            rate: BitRate::from_kbps(45_060),
            frame_rate: 29.98,
            bursts_on_beat: 0.966,
            bytes_on_beat: 0.991,
            beats_met: 0.9,
            strength: 200.0,
        };
        let sentence =
            "45.1 Mb/s in a rhythm of 30.0 Hz: 97 % of its bursts, with 99 % of its bytes, begin on the beat";
        assert_eq!(pattern.to_string(), sentence);
    }
}
