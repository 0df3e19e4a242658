//! Sensing from a monitor interface, whose stamps are the card's (Gringoli and Leith, Sec. 6.3), beside kernel stamps.

use airbound_senders::allocation::Observation;
use airbound_units::{BitRate, ByteCount, Instant};

/// Numbers of a sequence number of 802.11.
const NUMBERS: u64 = 4096;

/// Observations of one flow of a station: of one traffic identifier, whose packets have the sequence numbers of its MPDUs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Monitor {
    /// The greatest number so far, counted on over the end of the range.
    greatest: Option<u64>,
}

impl Monitor {
    /// Takes a captured MPDU; its number is the one nearest to those before.
    pub fn observe(
        &mut self,
        at: Instant,
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
            |sequence| monitor.observe(Instant::ZERO, sequence, ByteCount::new(1500), None).sequence;
        assert_eq!([4094, 4095, 1, 0, 4093, 2].map(&mut next), [4094, 4095, 4097, 4096, 4093, 4098]);
    }
}
