//! Cost of a frame at a rate: the time of a try, and the tries that fit in a given time.

use airbound_units::{ByteCount, Span};
use airbound_wifi::rate::{Legacy, Rate};
use airbound_wifi::timing::ppdu_duration;

/// SIFS and a slot of OFDM (802.11-2020, table 17-21), and AIFS of best effort as seen from an idle channel: SIFS and three slots.
const SIFS: Span = Span::from_micros(16);
const SLOT: Span = Span::from_micros(9);
const AIFS: Span = Span::from_micros(43);
/// An acknowledgement: 14 octets (802.11-2020, 9.3.1.4).
const ACK: ByteCount = ByteCount::new(14);
/// Contention windows of best effort (802.11-2020, table 9-155).
const CW_MIN: u64 = 15;
const CW_MAX: u64 = 1023;

/// The time of tries at one rate, on an otherwise idle channel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// From the first symbol to the end of the acknowledgement, AIFS included.
    exchange: Span,
}

impl Effort {
    /// For a frame with an MPDU of size `mpdu`, acknowledged at the lowest basic rate.
    pub(super) fn new(rate: Rate, mpdu: ByteCount) -> Self {
        let acknowledgement = ppdu_duration(Rate::legacy(Legacy::Mbps6), ACK);
        Self { exchange: AIFS + ppdu_duration(rate, mpdu) + SIFS + acknowledgement }
    }

    /// The time of a try after `failures` failed ones, including its mean backoff.
    fn of_try(self, failures: u32) -> Span {
        let window = (((CW_MIN + 1) << failures.min(16)) - 1).min(CW_MAX);
        self.exchange + SLOT * window / 2
    }

    /// The time of `tries` tries.
    pub(super) fn of_tries(self, tries: u32) -> Span {
        (0..tries).map(|failures| self.of_try(failures)).sum()
    }

    /// Number of tries that fit in `segment`, at least two and at most `most` (kernel: `minstrel_calc_retransmit`).
    pub(super) fn tries_within(self, segment: Span, most: u8) -> u8 {
        let fitting = (3..=most).take_while(|tries| self.of_tries(u32::from(*tries)) <= segment).last();
        fitting.unwrap_or(2).min(most).max(1)
    }
}

#[cfg(test)]
mod tests {
    use airbound_wifi::rate::{GuardInterval, Width};

    use super::*;

    #[test]
    fn by_hand() {
        let rate = Rate::ht(7, Width::Mhz20, GuardInterval::Ns800).expect("exists");
        let effort = Effort::new(rate, ByteCount::new(1538));
        // 36 us of preamble and 48 symbols of 260 bits; an acknowledgement of 20 + 6 symbols: 44 us.
        let exchange = 43 + 36 + 48 * 4 + 16 + 44;
        assert_eq!(effort.of_tries(1), Span::from_nanos(exchange * 1000 + 67_500));
        assert_eq!(effort.of_tries(2), Span::from_nanos(2 * exchange * 1000 + 67_500 + 139_500));
        // 331 us and 67, 139, 283, 571, 1147, 2299 us: five tries are 3.9 ms, six 6.5 ms.
        assert_eq!(effort.tries_within(Span::from_millis(6), 7), 5);
        assert_eq!(effort.tries_within(Span::from_secs(1), 7), 7);
        assert_eq!(effort.tries_within(Span::ZERO, 7), 2);
        assert_eq!(effort.tries_within(Span::from_secs(1), 1), 1);
    }
}
