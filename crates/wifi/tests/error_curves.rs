//! The error curves compared with an independent evaluation of the NIST formulas, and properties of all curves.

use airbound_units::{ByteCount, Decibel};
use airbound_wifi::error::{Decoding, ErrorTable, coded_bit_error, mpdu_success, uncoded_bit_error};
use airbound_wifi::{Coding, Format, GuardInterval, Legacy, Modulation, Rate, Width};
use proptest::prelude::*;

/// Three points of a curve: SNR in dB, success.
type Points = [(f64, f64); 3];

/// SNR in dB and success of 1500 B, from the formulas of Pei and Henderson in another language's libm: three points
/// around the middle of each curve.
const REFERENCE: [(Modulation, Coding, Points); 13] = [
    (Modulation::Bpsk, Coding::Half, [(3.0, 0.053_304_279), (3.4, 0.473_370_951), (3.8, 0.829_748_146)]),
    (
        Modulation::Bpsk,
        Coding::ThreeQuarters,
        [(5.9, 0.088_205_931), (6.3, 0.517_483_931), (6.7, 0.837_914_176)],
    ),
    (Modulation::Qpsk, Coding::Half, [(6.0, 0.047_980_919), (6.4, 0.460_825_950), (6.8, 0.824_039_422)]),
    (
        Modulation::Qpsk,
        Coding::ThreeQuarters,
        [(8.9, 0.081_137_333), (9.3, 0.505_981_166), (9.7, 0.832_758_442)],
    ),
    (Modulation::Qam16, Coding::Half, [(12.5, 0.085_582_117), (12.9, 0.486_695_061), (13.3, 0.814_520_182)]),
    (
        Modulation::Qam16,
        Coding::ThreeQuarters,
        [(15.6, 0.087_761_988), (16.0, 0.490_278_729), (16.4, 0.813_744_220)],
    ),
    (
        Modulation::Qam64,
        Coding::TwoThirds,
        [(20.4, 0.132_474_000), (20.8, 0.548_753_598), (21.2, 0.840_976_469)],
    ),
    (
        Modulation::Qam64,
        Coding::ThreeQuarters,
        [(21.6, 0.118_544_437), (22.0, 0.512_806_088), (22.4, 0.814_322_556)],
    ),
    (
        Modulation::Qam64,
        Coding::FiveSixths,
        [(22.8, 0.146_782_770), (23.2, 0.548_076_976), (23.6, 0.831_098_484)],
    ),
    (
        Modulation::Qam256,
        Coding::ThreeQuarters,
        [(27.4, 0.105_856_691), (27.8, 0.474_524_320), (28.2, 0.784_297_090)],
    ),
    (
        Modulation::Qam256,
        Coding::FiveSixths,
        [(28.6, 0.092_825_113), (29.0, 0.458_638_034), (29.4, 0.776_984_118)],
    ),
    (
        Modulation::Qam1024,
        Coding::ThreeQuarters,
        [(33.2, 0.105_500_462), (33.6, 0.456_013_008), (34.0, 0.764_208_361)],
    ),
    (
        Modulation::Qam1024,
        Coding::FiveSixths,
        [(34.5, 0.122_852_758), (34.9, 0.488_802_949), (35.3, 0.786_537_754)],
    ),
];

fn rate_of(modulation: Modulation, coding: Coding) -> Rate {
    let he = (0..12).filter_map(|mcs| Rate::he(mcs, 1, Width::Mhz20, GuardInterval::Ns800).ok());
    he.chain(Legacy::ALL.map(Rate::legacy))
        .find(|rate| (rate.modulation(), rate.coding()) == (modulation, coding))
        .unwrap()
}

#[test]
fn curves_are_those_of_the_nist_model() {
    let size = ByteCount::new(1_500);
    for (modulation, coding, points) in REFERENCE {
        let rate = rate_of(modulation, coding);
        let mut table = ErrorTable::of(modulation, coding);
        for (snr, expected) in points {
            let exact = mpdu_success(rate, Decibel::new(snr), size);
            assert!(
                (exact - expected).abs() < 1e-8,
                "{modulation:?} {coding:?} {snr} dB: {exact} {expected}"
            );
            let looked_up = table.mpdu_success(Decibel::new(snr), size);
            assert!((looked_up - expected).abs() < 2e-4, "{modulation:?} {coding:?} {snr} dB: {looked_up}");
        }
    }
}

/// Within a modulation a stronger code never needs a higher SNR, and within HE a higher MCS never needs a lower one.
#[test]
fn faster_rates_need_more_signal() {
    let size = ByteCount::new(1_500);
    let needed: Vec<f64> = Rate::all(Format::He, Width::Mhz80, 1, GuardInterval::Ns800)
        .map(|rate| ErrorTable::new(rate).required_snr(size, 0.9).unwrap().value())
        .collect();
    assert_eq!(needed.len(), 12);
    assert!(needed.windows(2).all(|pair| pair[0] < pair[1]), "{needed:?}");
    assert!(needed[0] > 3.0 && needed[11] < 36.0, "{needed:?}");
}

#[test]
fn the_required_snr_is_the_lowest() {
    let (mut table, size) = (ErrorTable::of(Modulation::Qam64, Coding::FiveSixths), ByteCount::new(1_500));
    for probability in [0.01, 0.5, 0.9, 0.999] {
        let snr = table.required_snr(size, probability).unwrap().value();
        assert!(table.mpdu_success(Decibel::new(snr), size) >= probability);
        assert!(table.mpdu_success(Decibel::new(snr - 1.0 / 64.0), size) < probability);
    }
}

/// A simulation gives the same bytes on every machine, so these bits may change only with the model.
#[test]
fn lookups_are_the_same_bits_everywhere() {
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for (modulation, coding, points) in REFERENCE {
        let mut table = ErrorTable::of(modulation, coding);
        for (snr, _) in points {
            for offset in [-0.013, 0.0, 0.117] {
                let success = table.mpdu_success(Decibel::new(snr + offset), ByteCount::new(1_536));
                digest = (digest ^ success.to_bits()).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    assert_eq!(digest, 0xb6c7_6abb_f9d8_5b59, "{digest:#x}");
}

fn any_scheme() -> impl Strategy<Value = (Modulation, Coding)> {
    proptest::sample::select(REFERENCE.map(|(modulation, coding, _)| (modulation, coding)).to_vec())
}

#[test]
fn an_implementation_loss_moves_the_curve() {
    let size = ByteCount::new(1_500);
    for decoding in [Decoding::Hard, Decoding::Soft] {
        let needs = |loss| {
            let loss = Decibel::new(loss);
            ErrorTable::decoded(decoding, loss, Modulation::Qam16, Coding::Half)
                .required_snr(size, 0.5)
                .unwrap()
                .value()
        };
        for loss in [-0.5, 0.125, 2.0] {
            assert!((needs(loss) - needs(0.0) - loss).abs() < 1e-9, "{decoding:?} {loss}");
        }
    }
}

proptest! {
    #[test]
    fn more_signal_never_hurts(scheme in any_scheme(), snr in -30.0f64..70.0, gain in 0.0f64..5.0, bytes in 1u64..12_000) {
        let (modulation, coding) = scheme;
        let linear = |snr| Decibel::new(snr).linear();
        prop_assert!(uncoded_bit_error(modulation, linear(snr + gain)) <= uncoded_bit_error(modulation, linear(snr)));
        prop_assert!(
            coded_bit_error(modulation, coding, linear(snr + gain))
                <= coded_bit_error(modulation, coding, linear(snr)) * (1.0 + 1e-12)
        );
        let mut table = ErrorTable::of(modulation, coding);
        let mut success = |snr| table.mpdu_success(Decibel::new(snr), ByteCount::new(bytes));
        prop_assert!((0.0..=1.0).contains(&success(snr)));
        prop_assert!(success(snr + gain) >= success(snr) - 1e-15);
    }

    #[test]
    fn longer_mpdus_fail_more(scheme in any_scheme(), snr in -5.0f64..45.0, bytes in 0u64..12_000, more in 0u64..12_000) {
        let mut table = ErrorTable::of(scheme.0, scheme.1);
        let mut success = |bytes| table.mpdu_success(Decibel::new(snr), ByteCount::new(bytes));
        prop_assert!(success(bytes + more) <= success(bytes));
        // Bits fail independently.
        prop_assert!((success(bytes + more) - success(bytes) * success(more)).abs() < 1e-9);
    }

    #[test]
    fn a_lookup_is_close_to_the_formula(scheme in any_scheme(), snr in -5.0f64..45.0, bytes in 14u64..12_000) {
        let (mut table, rate) = (ErrorTable::of(scheme.0, scheme.1), rate_of(scheme.0, scheme.1));
        let (snr, size) = (Decibel::new(snr), ByteCount::new(bytes));
        let (fast, exact) = (table.mpdu_success(snr, size), mpdu_success(rate, snr, size));
        prop_assert!((fast - exact).abs() < 2e-4, "{fast} {exact}");
    }
}

#[test]
fn nothing_is_harmful_from_the_harmless_snr_on() {
    for decoding in [Decoding::Hard, Decoding::Soft] {
        for (modulation, coding) in
            [(Modulation::Bpsk, Coding::Half), (Modulation::Qam64, Coding::FiveSixths)]
        {
            let mut table = ErrorTable::decoded(decoding, Decibel::new(0.0), modulation, coding);
            let harmless = table.harmless();
            assert_eq!(table.hazard(harmless), 0.0);
            assert_eq!(table.hazard(Decibel::new(harmless.value() + 7.3)), 0.0);
            assert!(table.hazard(Decibel::new(harmless.value() - 0.01)) > 0.0, "{harmless}");
        }
    }
}
