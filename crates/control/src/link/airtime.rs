//! Airtime of a packet before it is known in which aggregate it will travel (kernel: `net/mac80211/airtime.c`).

use airbound_units::{BitRate, ByteCount, Span};
use airbound_wifi::edca::Category;
use airbound_wifi::rate::{Format, Rate};

/// The packet size whose duration determines how well a rate aggregates (`AVG_PKT_SIZE`).
const AVERAGE_PACKET: ByteCount = ByteCount::new(1024);

/// Bytes that the kernel adds to a packet's length for all headers.
const HEADERS: ByteCount = ByteCount::new(38);

/// Preamble and SIFS of a legacy OFDM frame.
const LEGACY_OVERHEAD: Span = Span::from_micros(36);

/// Preamble of an HT, VHT or HE frame without the training fields, one for each stream.
const PREAMBLE: Span = Span::from_micros(36);

/// A training field.
const TRAINING: Span = Span::from_micros(4);

/// An estimate is kept in ten bits, in steps of 4 µs (`ieee80211_info_set_tx_time_est`).
const STEP: Span = Span::from_micros(4);
const LONGEST: Span = Span::from_micros(4092);

/// Estimates for one rate, computed once so that a packet costs no division.
///
/// The faster the rate, the more packets share the preamble of an aggregate: 2 where 1024 B take more than 400 µs, 4 above
/// 250 µs, 8 above 150 µs, 16 above 70 µs, else 32, and with HE below 20 µs 64 (`ieee80211_calc_expected_tx_airtime`). Voice and
/// legacy frames go alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AirtimeEstimate {
    /// Duration of [`AVERAGE_PACKET`] without overhead.
    average: Span,
    alone: Span,
    shared: Span,
}

impl AirtimeEstimate {
    /// Estimates for `rate`.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self::dictated(rate, rate.bit_rate())
    }

    /// Estimates for data sent at `bit_rate`, in frames of the format of `rate`.
    #[must_use]
    pub fn dictated(rate: Rate, bit_rate: BitRate) -> Self {
        let average = bit_rate.time_for(AVERAGE_PACKET);
        if rate.format() == Format::Legacy {
            return Self { average, alone: LEGACY_OVERHEAD, shared: LEGACY_OVERHEAD };
        }
        let alone = PREAMBLE + TRAINING * u64::from(rate.streams());
        let longer_than = |micros| average > Span::from_micros(micros);
        let sharing = if longer_than(400) {
            2
        } else if longer_than(250) {
            4
        } else if longer_than(150) {
            8
        } else if longer_than(70) {
            16
        } else if longer_than(20) || rate.format() != Format::He {
            32
        } else {
            64
        };
        Self { average, alone, shared: alone / sharing }
    }

    /// The expected airtime of a packet of `size` in `category`, its share of the preamble included: 4 to 4092 µs, in steps of
    /// 4 µs.
    #[must_use]
    pub fn of(&self, size: ByteCount, category: Category) -> Span {
        let overhead = if category == Category::Vo { self.alone } else { self.shared };
        let bytes = (size + HEADERS).as_u64();
        let data = self.average.as_nanos().saturating_mul(bytes) / AVERAGE_PACKET.as_u64();
        let nanos = data.saturating_add(overhead.as_nanos()).min(LONGEST.as_nanos());
        // The compiler turns a constant divisor into a multiplication.
        Span::from_nanos(nanos / STEP.as_nanos() * STEP.as_nanos()).max(STEP)
    }

    /// Throughput of a station for packets of `size` at the estimated airtime, without rounding to 4 µs.
    #[must_use]
    pub fn throughput(&self, size: ByteCount) -> BitRate {
        let data =
            self.average.as_nanos().saturating_mul((size + HEADERS).as_u64()) / AVERAGE_PACKET.as_u64();
        BitRate::of(size, Span::from_nanos(data) + self.shared)
    }
}

#[cfg(test)]
mod tests {
    use airbound_wifi::rate::{GuardInterval, Legacy, Width};

    use super::*;

    const FULL: ByteCount = ByteCount::new(1500);

    fn vht(mcs: u8, streams: u8, width: Width) -> Rate {
        Rate::vht(mcs, streams, width, GuardInterval::Ns800).expect("exists")
    }

    fn micros(rate: Rate, size: ByteCount, category: Category) -> u64 {
        AirtimeEstimate::new(rate).of(size, category).as_micros()
    }

    #[test]
    fn a_full_packet_at_printed_rates() {
        // 1538 B at 6.5 Mbit/s are 1892.9 µs; 1024 B take 1260 µs, so two share the 40 µs.
        assert_eq!(micros(vht(0, 1, Width::Mhz20), FULL, Category::Be), 1912);
        // At 26 Mbit/s 473.2 µs; 1024 B take 315 µs: four share 40 µs.
        assert_eq!(micros(vht(3, 1, Width::Mhz20), FULL, Category::Be), 480);
        // At 52 Mbit/s 236.6 µs; 1024 B take 157.5 µs: eight share 40 µs.
        assert_eq!(micros(vht(5, 1, Width::Mhz20), FULL, Category::Be), 240);
        // At 78 Mbit/s 157.7 µs; 1024 B take 105 µs: sixteen share 40 µs.
        assert_eq!(micros(vht(8, 1, Width::Mhz20), FULL, Category::Be), 160);
        // At 780 Mbit/s 15.8 µs; 32 share 44 µs.
        assert_eq!(micros(vht(9, 2, Width::Mhz80), FULL, Category::Be), 16);
    }

    #[test]
    fn he_shares_among_64_when_1024_bytes_take_less_than_20_micros() {
        let he = |mcs| Rate::he(mcs, 1, Width::Mhz80, GuardInterval::Ns800).expect("exists");
        // 600.5 Mbit/s: 13.6 µs; 360.3 Mbit/s: 22.7 µs.
        assert_eq!(AirtimeEstimate::new(he(11)).shared, Span::from_micros(40) / 64);
        assert_eq!(AirtimeEstimate::new(he(6)).shared, Span::from_micros(40) / 32);
        assert_eq!(AirtimeEstimate::new(vht(9, 2, Width::Mhz80)).shared, Span::from_micros(44) / 32);
    }

    #[test]
    fn voice_goes_alone() {
        // 238 B at 780 Mbit/s are 2.4 µs behind 44 µs.
        let voice = ByteCount::new(200);
        assert_eq!(micros(vht(9, 2, Width::Mhz80), voice, Category::Vo), 44);
        assert_eq!(micros(vht(9, 2, Width::Mhz80), voice, Category::Vi), 4);
    }

    #[test]
    fn legacy_frames_go_alone_and_estimates_end_at_ten_bits() {
        // 1538 B at 6 Mbit/s are 2050.7 µs.
        let slow = Rate::legacy(Legacy::Mbps6);
        assert_eq!(micros(slow, FULL, Category::Be), 2084);
        assert_eq!(micros(slow, FULL, Category::Vo), 2084);
        assert_eq!(micros(slow, ByteCount::new(4000), Category::Be), 4092);
        assert_eq!(micros(slow, ByteCount::MAX, Category::Be), 4092);
    }

    #[test]
    fn a_dictated_rate_decides() {
        let rate = vht(9, 2, Width::Mhz80);
        let slow = AirtimeEstimate::dictated(rate, BitRate::from_mbps(10));
        // 1538 B at 10 Mbit/s are 1230.4 µs; two share 44 µs.
        assert_eq!(slow.of(FULL, Category::Be), Span::from_micros(1252));
        assert_eq!(AirtimeEstimate::dictated(rate, BitRate::ZERO).of(FULL, Category::Be), LONGEST);
        let mbps = slow.throughput(ByteCount::new(1200)).as_mbps_f64();
        assert!((9.4..9.6).contains(&mbps), "{mbps}");
    }
}
