//! Equations of the paper (Sec. IV) with the values of its Table 1.

use airbound_units::{BitRate, ByteCount, Span};

/// T_slot.
pub const SLOT: Span = Span::from_micros(9);
/// T_SIFS.
pub const SIFS: Span = Span::from_micros(16);
/// T_DIFS.
pub const DIFS: Span = Span::from_micros(34);
/// T_PHY: preamble and header of every PPDU.
pub const PHY: Span = Span::from_micros(33);
/// CW_min.
pub const CW_MIN: u64 = 15;
/// R_basic, the rate of block acknowledgements.
pub const BASIC_RATE: BitRate = BitRate::from_mbps(6);
/// L_MAC: overhead of each subframe.
pub const MAC_OVERHEAD: ByteCount = ByteCount::new(38);
/// L_DATA.
pub const SEGMENT: ByteCount = ByteCount::new(1500);
/// L_TCP-ACK.
pub const TCP_ACK: ByteCount = ByteCount::new(40);
/// L_BACK; the standard's compressed BlockAck has 32 B.
pub const BLOCK_ACK: ByteCount = ByteCount::new(30);

/// Common term of equations 6 and 7: T_BO + T_DIFS + 2 T_PHY + T_SIFS + T_BACK, 219 us.
///
/// T_BO is the paper's mean backoff of (CW_min - 1) / 2 slots; that of the standard is CW_min / 2.
#[must_use]
pub fn exchange_overhead() -> Span {
    let backoff = SLOT * (CW_MIN - 1) / 2;
    backoff + DIFS + PHY * 2 + SIFS + BASIC_RATE.time_for(BLOCK_ACK)
}

/// T_d-DATA (equation 6): an A-MPDU of `subframes` TCP segments at `rate`, and its block acknowledgement.
#[must_use]
pub fn data_exchange(rate: BitRate, subframes: u16) -> Span {
    exchange_overhead() + rate.time_for(MAC_OVERHEAD + SEGMENT) * u64::from(subframes)
}

/// T_d-ACK (equation 7): the delayed TCP acknowledgements of `subframes` segments, half as many; an odd number counts with its
/// half.
#[must_use]
pub fn acknowledgement_exchange(rate: BitRate, subframes: u16) -> Span {
    exchange_overhead() + rate.time_for(MAC_OVERHEAD + TCP_ACK) * u64::from(subframes) / 2
}

/// ARTT: the round trip of one A-MPDU, the sum of equations 6 and 7. At 600 Mb/s and 64 subframes 1.78 ms (the paper's text: 1.9
/// ms); at 6.5 Mb/s and one subframe 2.38 ms (2.5 ms).
#[must_use]
pub fn round_trip(rate: BitRate, subframes: u16) -> Span {
    data_exchange(rate, subframes) + acknowledgement_exchange(rate, subframes)
}

/// B_initial (equation 1): whole packets of 1500 B in R x ARTT, at least 1. For the highest rate and the longest aggregate it is
/// the bound of equation 5: 89 at 600 Mb/s (95 with the text's rounded 1.9 ms).
#[must_use]
pub fn bandwidth_delay_product(rate: BitRate, subframes: u16) -> usize {
    let bytes = rate.bytes_in(round_trip(rate, subframes)).as_u64();
    usize::try_from(bytes / SEGMENT.as_u64()).unwrap_or(usize::MAX).max(1)
}

/// T_drain (equation 2): the time in which `backlog` leaves at `rate` if the share `free` of the channel is available. Zero
/// without backlog; [`Span::MAX`] if there is a backlog and nothing can leave.
#[must_use]
pub fn drain_time(backlog: ByteCount, rate: BitRate, free: f64) -> Span {
    if backlog == ByteCount::ZERO {
        return Span::ZERO;
    }
    if rate.is_zero() || free.is_nan() || free <= 0.0 {
        return Span::MAX;
    }
    rate.time_for(backlog).mul_f64(1.0 / free)
}

#[cfg(test)]
mod tests {
    use airbound_wifi::edca::EdcaParameters;
    use airbound_wifi::rate::{GuardInterval, Rate, Width};
    use airbound_wifi::{Band, Legacy};

    use super::*;

    fn ht(mcs: u8, width: Width, guard: GuardInterval) -> BitRate {
        Rate::ht(mcs, width, guard).expect("exists").bit_rate()
    }

    #[test]
    fn table_1_is_the_standard_s() {
        let band = Band::Ghz5;
        assert_eq!((band.slot(), band.sifs(), band.difs()), (SLOT, SIFS, DIFS));
        assert_eq!(u64::from(EdcaParameters::dcf().cw_min), CW_MIN);
        assert_eq!(Legacy::Mbps6.bit_rate(), BASIC_RATE);
    }

    #[test]
    fn the_overhead_is_that_of_table_1() {
        // 63 + 34 + 66 + 16 + 40.
        assert_eq!(exchange_overhead(), Span::from_micros(219));
    }

    #[test]
    fn the_upper_bound_is_89_packets_and_with_the_rounded_delay_95() {
        let fastest = ht(31, Width::Mhz40, GuardInterval::Ns400);
        assert_eq!(fastest, BitRate::from_mbps(600));
        // 2 x 219 us + 64 x 12304 b + 32 x 624 b.
        let millis = round_trip(fastest, 64).as_millis_f64();
        assert!((millis - 1.7837).abs() < 1e-4, "{millis}");
        assert_eq!(bandwidth_delay_product(fastest, 64), 89);
        assert_eq!(fastest.bytes_in(Span::from_micros(1900)).as_u64() / SEGMENT.as_u64(), 95);
    }

    #[test]
    fn the_limit_is_the_round_trip_of_one_frame_at_the_lowest_rate() {
        let slowest = ht(0, Width::Mhz20, GuardInterval::Ns800);
        // 12304 b at 6.5 Mb/s are 1892.9 us, half an acknowledgement of 624 b 48 us.
        let millis = round_trip(slowest, 1).as_millis_f64();
        assert!((millis - 2.3789).abs() < 1e-4, "{millis}");
        assert_eq!(bandwidth_delay_product(slowest, 1), 1);
    }

    #[test]
    fn b_initial_at_the_rates_of_the_testbed() {
        let rates = [
            (0, GuardInterval::Ns800, 1),
            (1, GuardInterval::Ns800, 32),
            (7, GuardInterval::Ns800, 32),
            (15, GuardInterval::Ns400, 32),
        ];
        let packets =
            rates.map(|(mcs, guard, frames)| bandwidth_delay_product(ht(mcs, Width::Mhz20, guard), frames));
        // At 13 Mb/s: 13 b/us x (438 + 30286.8 + 768) us; at 65: 65 x (438 + 6057.4 + 153.6); at 144.4: 144.4 x 3234.5 us.
        assert_eq!(packets, [1, 34, 36, 38]);
    }

    #[test]
    fn drain_time_by_hand() {
        let (backlog, rate) = (ByteCount::new(65_000), BitRate::from_mbps(65));
        assert_eq!(drain_time(backlog, rate, 1.0), Span::from_millis(8));
        // Three contending stations: each gets a third.
        assert_eq!(drain_time(backlog, rate, 1.0 / 3.0), Span::from_millis(24));
        assert_eq!(drain_time(ByteCount::ZERO, BitRate::ZERO, 0.0), Span::ZERO);
        for (rate, free) in [(BitRate::ZERO, 1.0), (rate, 0.0), (rate, -1.0), (rate, f64::NAN)] {
            assert_eq!(drain_time(backlog, rate, free), Span::MAX);
        }
        assert_eq!(drain_time(ByteCount::MAX, BitRate::from_bps(1), 1e-300), Span::MAX);
    }
}
