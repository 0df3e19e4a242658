//! Sensing from a monitor interface, where the card tells the frames apart (Gringoli and Leith, Sec. 6.3), beside kernel stamps.

use airbound_senders::allocation::Observation;
use airbound_units::{BitRate, ByteCount, Instant};

/// Numbers of a sequence number of 802.11.
const NUMBERS: u64 = 4096;

/// A PPDU as the card names it: MPDUs with the same one came together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ppdu {
    /// The number of an A-MPDU.
    Aggregate(u32),
    /// The card's time, of a PPDU or of a single MPDU.
    At(Instant),
}

/// Observations of one flow of a station: of one traffic identifier, whose packets have the sequence numbers of its MPDUs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Monitor {
    /// The greatest number so far, counted on over the end of the range.
    greatest: Option<u64>,
    /// The PPDU of the last MPDU, and the stamp of its first.
    frame: Option<(Ppdu, Instant)>,
}

impl Monitor {
    /// Takes a captured MPDU, stamped at `at` (by the clock of the sensor's deadlines); its number is the one nearest to those before.
    /// MPDUs of one PPDU have the stamp of the first.
    pub fn observe(
        &mut self,
        at: Instant,
        ppdu: Option<Ppdu>,
        sequence: u16,
        payload: ByteCount,
        rate: Option<BitRate>,
    ) -> Observation {
        let sequence = u64::from(sequence) % NUMBERS;
        let near = self.greatest.map_or(sequence, |greatest| {
            let ahead = (sequence + NUMBERS - greatest % NUMBERS) % NUMBERS;
            if ahead < NUMBERS / 2 { greatest + ahead } else { (greatest + ahead).saturating_sub(NUMBERS) }
        });
        self.greatest = self.greatest.max(Some(near));
        let at = match self.frame {
            Some((last, first)) if Some(last) == ppdu => first,
            _ => at,
        };
        self.frame = ppdu.map(|ppdu| (ppdu, at));
        Observation { at, sequence: near, packets: 1, payload, rate }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_over_their_end_and_back_for_what_is_sent_again() {
        let mut monitor = Monitor::default();
        let mut next =
            |sequence| monitor.observe(Instant::ZERO, None, sequence, ByteCount::new(1500), None).sequence;
        assert_eq!([4094, 4095, 1, 0, 4093, 2].map(&mut next), [4094, 4095, 4097, 4096, 4093, 4098]);
    }
}
