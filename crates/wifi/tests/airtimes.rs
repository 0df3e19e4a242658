//! Durations compared with those of ns-3, and properties of all rates.

use airbound_units::{ByteCount, Span};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::mpdu::{Protection, mpdu_of_packet, psdu_size};
use airbound_wifi::timing::{PPDU_MAX_TIME, preamble};
use airbound_wifi::{Band, Format, GuardInterval, Legacy, PpduTiming, Rate, Width, control_frames, timing};
use proptest::prelude::*;

fn micros(rate: Rate, bytes: u64) -> u64 {
    let span = timing::ppdu_duration(rate, ByteCount::new(bytes));
    assert_eq!(span.as_nanos() % 1_000, 0);
    span.as_micros()
}

fn vht(mcs: u8, streams: u8, guard: GuardInterval) -> Rate {
    Rate::vht(mcs, streams, Width::Mhz80, guard).unwrap()
}

/// `data_ppdu_us` and `ack_us` of shared/ns3/reference/dcf_sat-apt.csv.
#[test]
fn legacy_durations_are_those_of_ns3() {
    assert_eq!(micros(Rate::legacy(Legacy::Mbps54), 1_534), 248);
    assert_eq!(micros(Rate::legacy(Legacy::Mbps6), 1_534), 2_072);
    assert_eq!(micros(Rate::legacy(Legacy::Mbps24), 14), 28);
    assert_eq!(micros(Rate::legacy(Legacy::Mbps6), 14), 44);
}

/// vht_udp-apt.csv, n = 1, sat: 64 MPDUs of 1536 B every 64 * 1470 * 8 / 620.12244 us, of which 0.866848 is the PPDU:
/// 1052 us. The standard's VHT-SIG-B, which ns-3 leaves out of single-user PPDUs, adds 4.
#[test]
fn the_vht_aggregate_of_ns3_lacks_only_vht_sig_b() {
    let mpdu = mpdu_of_packet(ByteCount::new(1_498), Protection::Open);
    let psdu = psdu_size(std::iter::repeat_n(mpdu, 64));
    let rate = vht(9, 2, GuardInterval::Ns800);
    assert_eq!(rate.bit_rate().as_bps(), 780_000_000);
    let period = 64.0 * 1_470.0 * 8.0 / 620.122_44;
    let measured = 0.866_848 * period;
    let ours = timing::ppdu_duration(rate, psdu).as_nanos() as f64 / 1e3;
    assert!((ours - 4.0 - measured).abs() < 0.5, "{ours} {measured}");
    // The rest of the period: AIFS of 3 slots, mean backoff, SIFS and BlockAck.
    let band = Band::Ghz5;
    let rest =
        band.aifs(3) + band.slot() * 15 / 2 + band.sifs() + control_frames::block_ack(Legacy::Mbps24, band);
    assert!((rest.as_nanos() as f64 / 1e3 + measured - period).abs() < 5.0);
}

#[test]
fn preambles_are_those_of_the_standard() {
    let of = |rate: Rate| preamble(rate).as_nanos();
    assert_eq!(of(Rate::legacy(Legacy::Mbps6)), 20_000);
    let ht = |streams: u8| of(Rate::ht((streams - 1) * 8, Width::Mhz40, GuardInterval::Ns800).unwrap());
    assert_eq!([1, 2, 3, 4].map(ht), [36_000, 40_000, 48_000, 48_000]);
    let very = |streams: u8| of(vht(0, streams, GuardInterval::Ns400));
    assert_eq!([1, 2, 3, 4].map(very), [40_000, 44_000, 52_000, 52_000]);
    let he = |streams, guard| of(Rate::he(0, streams, Width::Mhz80, guard).unwrap());
    assert_eq!([1, 2, 3].map(|streams| he(streams, GuardInterval::Ns800)), [43_200, 50_400, 64_800]);
    assert_eq!([1, 2].map(|streams| he(streams, GuardInterval::Ns1600)), [44_000, 52_000]);
    assert_eq!([1, 2].map(|streams| he(streams, GuardInterval::Ns3200)), [52_000, 68_000]);
}

/// Computed by hand from the TXTIME equations.
#[test]
fn symbols_are_rounded_up() {
    // 12 022 bits at 26 bits a symbol: 463 symbols.
    let slow = Rate::ht(0, Width::Mhz20, GuardInterval::Ns800).unwrap();
    assert_eq!(micros(slow, 1_500), 36 + 463 * 4);
    // The same with the short interval: 463 * 3.6 = 1666.8, up to 1668.
    let short = Rate::ht(0, Width::Mhz20, GuardInterval::Ns400).unwrap();
    assert_eq!(micros(short, 1_500), 36 + 1_668);
    // Two encoders: 16 + 12 + 8 * 386 = 3116 bits fit into a symbol of 3120, a byte more does not.
    let fast = vht(9, 2, GuardInterval::Ns800);
    assert_eq!(micros(fast, 386), 44 + 4);
    assert_eq!(micros(fast, 387), 44 + 8);
    // HE: 12 022 bits at 980 make 13 symbols of 13.6 us.
    let he = Rate::he(1, 1, Width::Mhz80, GuardInterval::Ns800).unwrap();
    assert_eq!(he.bits_per_symbol(), 980);
    assert_eq!(timing::ppdu_duration(he, ByteCount::new(1_500)), Span::from_nanos(43_200 + 13 * 13_600));
}

#[test]
fn a_signal_extension_ends_frames_at_two_ghz() {
    let rate = Rate::ht(7, Width::Mhz20, GuardInterval::Ns800).unwrap();
    let size = ByteCount::new(1_500);
    let [near, far] = [Band::Ghz2, Band::Ghz5].map(|band| PpduTiming::in_band(rate, band));
    assert_eq!(near.duration(size), far.duration(size) + Span::from_micros(6));
    assert_eq!(near.max_psdu(near.duration(size)), far.max_psdu(far.duration(size)));
    assert_eq!(near.offset_of(size), far.offset_of(size));
}

#[test]
fn the_longest_ppdu_bounds_slow_aggregates() {
    let slow = Rate::ht(0, Width::Mhz20, GuardInterval::Ns800).unwrap();
    let psdu = AmpduLimits::ht().max_psdu(&PpduTiming::new(slow));
    // 1362 symbols of 26 bits.
    assert_eq!(psdu, ByteCount::new((1_362 * 26 - 22) / 8));
    let fast = Rate::ht(31, Width::Mhz40, GuardInterval::Ns400).unwrap();
    assert_eq!(AmpduLimits::ht().max_psdu(&PpduTiming::new(fast)), ByteCount::new(65_535));
}

/// By hand: 16 + 8 x 1536 + 6 bits at 216 in a symbol are 57 symbols; everything lasts twice as long as at 20 MHz.
#[test]
fn a_frame_at_half_the_clock_lasts_twice_as_long() {
    let size = ByteCount::new(1536);
    let fastest = Rate::half_clocked(Legacy::Mbps54);
    assert_eq!(timing::ppdu_duration(fastest, size), Span::from_micros(40 + 57 * 8));
    for legacy in Legacy::ALL {
        let [half, whole] = [Rate::half_clocked(legacy), Rate::legacy(legacy)].map(PpduTiming::new);
        for bytes in [0, 1, 14, 1536, 4095].map(ByteCount::new) {
            assert_eq!(half.duration(bytes), whole.duration(bytes) * 2, "{legacy:?} {bytes}");
        }
    }
}

fn any_rate() -> impl Strategy<Value = Rate> {
    let mut rates = Vec::new();
    for format in [Format::Legacy, Format::Ht, Format::Vht, Format::He] {
        for width in Width::ALL {
            for guard in
                [GuardInterval::Ns400, GuardInterval::Ns800, GuardInterval::Ns1600, GuardInterval::Ns3200]
            {
                rates.extend(Rate::all(format, width, 4, guard));
            }
        }
    }
    proptest::sample::select(rates)
}

proptest! {
    #[test]
    fn max_psdu_is_the_inverse_of_duration(rate in any_rate(), bytes in 0u64..1_100_000) {
        let timing = PpduTiming::new(rate);
        let duration = timing.duration(ByteCount::new(bytes));
        let most = timing.max_psdu(duration);
        prop_assert!(most >= ByteCount::new(bytes));
        prop_assert_eq!(timing.duration(most), duration);
        prop_assert!(timing.duration(most + ByteCount::new(1)) > duration);
    }

    #[test]
    fn max_psdu_fits_any_duration(rate in any_rate(), nanos in 0u64..6_000_000) {
        let timing = PpduTiming::new(rate);
        let room = Span::from_nanos(nanos);
        let most = timing.max_psdu(room);
        prop_assert!(most == ByteCount::ZERO || timing.duration(most) <= room);
        prop_assert!(timing.duration(most + ByteCount::new(1)) > room);
    }

    #[test]
    fn bytes_arrive_in_order_and_before_the_end(rate in any_rate(), first in 0u64..600_000, more in 0u64..600_000) {
        let timing = PpduTiming::new(rate);
        let (some, all) = (ByteCount::new(first), ByteCount::new(first + more));
        prop_assert!(timing.offset_of(some) <= timing.offset_of(all));
        prop_assert!(timing.offset_of(all) <= timing.duration(all));
        prop_assert!(timing.offset_of(some) > timing.preamble());
        // Only tail bits and the 4 us grid follow the last byte.
        let slack = timing.duration(all) - timing.offset_of(all);
        prop_assert!(slack <= timing.symbol() + Span::from_micros(4), "{slack}");
    }

    #[test]
    fn duration_follows_the_bit_rate(rate in any_rate(), bytes in 0u64..1_100_000) {
        let ideal = rate.bit_rate().time_for(ByteCount::new(bytes)).as_nanos() as f64;
        let timing = PpduTiming::new(rate);
        let data = (timing.duration(ByteCount::new(bytes)) - timing.preamble()).as_nanos() as f64;
        let most = 3.0 * timing.symbol().as_nanos() as f64;
        prop_assert!(data >= ideal * (1.0 - 1e-6) - 1.0 && data <= ideal * (1.0 + 1e-6) + most + 4_000.0);
    }

    #[test]
    fn any_size_has_a_duration(rate in any_rate(), bytes: u64, nanos: u64) {
        let timing = PpduTiming::new(rate);
        prop_assert!(timing.duration(ByteCount::new(bytes)) >= timing.preamble());
        prop_assert!(timing.offset_of(ByteCount::new(bytes)) >= timing.preamble());
        let _ = timing.max_psdu(Span::from_nanos(nanos));
        prop_assert!(timing.duration(timing.max_psdu(PPDU_MAX_TIME)) <= PPDU_MAX_TIME);
    }
}
