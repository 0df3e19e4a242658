//! Feedback of the receiver to the sender: arrivals and their times.

use airbound_units::{ByteCount, Instant, Span};

/// Resolution of arrival times in a report (draft-holmer-rmcat-transport-wide-cc-extensions-01, Sec. 3.1.5).
pub const ARRIVAL_STEP: Span = Span::from_micros(250);
/// RTCP header, two SSRCs, base sequence, count, reference time and report count (same draft, Sec. 3.1).
const FIXED_BYTES: u64 = 20;

/// A transport-wide feedback report. Its packets have consecutive sequence numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TransportFeedback {
    /// Every packet from the first to the last one reported on.
    pub packets: Vec<PacketResult>,
}

/// Arrival status of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketResult {
    /// The transport-wide sequence number, which counts all packets of the sender (media, parity, retransmissions, padding).
    pub sequence: u64,
    /// Arrival time by the receiver's clock; `None` if it has not arrived. The clocks need not agree.
    pub arrival: Option<Instant>,
}

/// Status of a packet in the report: the discriminant is its two-bit symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Symbol {
    Missing,
    /// An arrival 0 to 63.75 ms after the previous one, in one byte.
    Small,
    /// Any other arrival, in two bytes.
    Large,
}

impl TransportFeedback {
    /// The length of the RTCP packet of the report, without SRTCP, UDP and IP.
    ///
    /// Status chunks are packed greedily: a run of equal symbols if it is longer than a vector, else 14 symbols of one bit if
    /// none needs two bytes, else 7 of two bits (Sec. 3.1.3, 3.1.4).
    #[must_use]
    pub fn wire_size(&self) -> ByteCount {
        let symbols = self.symbols();
        let deltas: u64 = symbols
            .iter()
            .map(|symbol| match symbol {
                Symbol::Missing => 0,
                Symbol::Small => 1,
                Symbol::Large => 2,
            })
            .sum();
        ByteCount::new(FIXED_BYTES + 2 * chunks(&symbols) + deltas).padded_to(4)
    }

    fn symbols(&self) -> Vec<Symbol> {
        let mut last: Option<u64> = None;
        let step = ARRIVAL_STEP.as_nanos();
        self.packets
            .iter()
            .map(|packet| {
                let Some(arrival) = packet.arrival else { return Symbol::Missing };
                let tick = arrival.as_nanos() / step;
                // The reference time has a resolution of 64 ms: the first arrival is always a small step after it, 0 to 63.75
                // ms.
                let small = last.is_none_or(|last| tick >= last && tick - last <= 255);
                last = Some(tick);
                if small { Symbol::Small } else { Symbol::Large }
            })
            .collect()
    }
}

/// The number of status chunks of two bytes.
fn chunks(symbols: &[Symbol]) -> u64 {
    const LONGEST_RUN: usize = 8191;
    let mut left = symbols;
    let mut count = 0;
    while let Some(first) = left.first() {
        let run = left.iter().take_while(|symbol| *symbol == first).count().min(LONGEST_RUN);
        let one_bit = left.iter().take(14).all(|symbol| *symbol != Symbol::Large);
        let vector = if one_bit { 14 } else { 7 };
        left = &left[run.max(vector).min(left.len())..];
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(arrivals: &[Option<u64>]) -> TransportFeedback {
        let packets = arrivals.iter().enumerate().map(|(index, micros)| PacketResult {
            sequence: index as u64,
            arrival: micros.map(|micros| Instant::ZERO + Span::from_micros(micros)),
        });
        TransportFeedback { packets: packets.collect() }
    }

    #[test]
    fn a_run_of_packets_takes_one_chunk_and_a_byte_each() {
        let arrivals: Vec<_> = (0..100).map(|index| Some(index * 1000)).collect();
        // 20 + 2 + 100 = 122, padded to 124.
        assert_eq!(report(&arrivals).wire_size(), ByteCount::new(124));
    }

    #[test]
    fn holes_go_into_vectors_and_long_gaps_take_two_bytes() {
        // Fourteen symbols of one bit: one chunk, seven arrivals.
        let every_other: Vec<_> = (0..14).map(|index| (index % 2 == 0).then_some(index * 1000)).collect();
        assert_eq!(report(&every_other).wire_size(), ByteCount::new(32));
        // 70 ms after the last is beyond one byte, and so is an arrival before the last.
        assert_eq!(report(&[Some(0), Some(70_000)]).wire_size(), ByteCount::new(28));
        assert_eq!(report(&[Some(0), Some(63_750), Some(0)]).wire_size(), ByteCount::new(28));
        assert_eq!(report(&[]).wire_size(), ByteCount::new(20));
    }
}
