//! Bit rates compared with those printed in the standard, and the combinations that it excludes.

use airbound_wifi::{Coding, Format, GuardInterval, Legacy, Modulation, Rate, RateError, Width};
use proptest::prelude::*;

use GuardInterval::{Ns400, Ns800, Ns1600, Ns3200};
use Width::{Mhz10, Mhz20, Mhz40, Mhz80, Mhz160};

const GUARDS: [GuardInterval; 4] = [Ns400, Ns800, Ns1600, Ns3200];
const FORMATS: [Format; 4] = [Format::Legacy, Format::Ht, Format::Vht, Format::He];

fn every_rate() -> Vec<Rate> {
    let mut rates = Vec::new();
    for format in FORMATS {
        for width in Width::ALL {
            for guard in GUARDS {
                rates.extend(Rate::all(format, width, 4, guard));
            }
        }
    }
    rates
}

/// Printed rates are rounded to 0.1 Mbit/s; a few of HE are rounded from bits that a symbol cannot hold.
#[track_caller]
fn assert_printed(rate: Rate, printed: f64) {
    let ours = rate.bit_rate().as_mbps_f64();
    assert!((ours - printed).abs() < 0.1, "{rate}: {ours}, printed {printed}");
}

#[test]
fn legacy_rates_are_what_their_names_say() {
    for legacy in Legacy::ALL {
        assert_eq!(Rate::legacy(legacy).bit_rate(), legacy.bit_rate());
    }
}

/// Table 17-4, column of 10 MHz.
#[test]
fn half_clocked_rates_are_the_printed_ones() {
    let printed = [3.0, 4.5, 6.0, 9.0, 12.0, 18.0, 24.0, 27.0];
    let rates: Vec<Rate> = Rate::all(Format::Legacy, Mhz10, 4, Ns1600).collect();
    let found: Vec<f64> = rates.iter().map(|rate| rate.bit_rate().as_mbps_f64()).collect();
    assert_eq!(found, printed);
    assert_eq!(rates[1].to_string(), "OFDM10 4.5 Mbit/s");
    assert!(rates.iter().all(|rate| rate.to_string().parse() == Ok(*rate)));
    assert_eq!(Rate::all(Format::Legacy, Mhz10, 4, Ns800).count(), 0);
    for newer in [Rate::ht(0, Mhz10, Ns800), Rate::vht(0, 1, Mhz10, Ns800), Rate::he(0, 1, Mhz10, Ns800)] {
        assert!(matches!(newer, Err(RateError::Width { .. })), "{newer:?}");
    }
}

/// Tables 19-27 to 19-34 (20 MHz) and 19-35 to 19-38 (40 MHz).
#[test]
fn ht_rates_are_the_printed_ones() {
    let printed: [(Width, GuardInterval, [f64; 32]); 4] = [
        (
            Mhz20,
            Ns800,
            [
                6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0, 13.0, 26.0, 39.0, 52.0, 78.0, 104.0, 117.0,
                130.0, 19.5, 39.0, 58.5, 78.0, 117.0, 156.0, 175.5, 195.0, 26.0, 52.0, 78.0, 104.0, 156.0,
                208.0, 234.0, 260.0,
            ],
        ),
        (
            Mhz20,
            Ns400,
            [
                7.2, 14.4, 21.7, 28.9, 43.3, 57.8, 65.0, 72.2, 14.4, 28.9, 43.3, 57.8, 86.7, 115.6, 130.0,
                144.4, 21.7, 43.3, 65.0, 86.7, 130.0, 173.3, 195.0, 216.7, 28.9, 57.8, 86.7, 115.6, 173.3,
                231.1, 260.0, 288.9,
            ],
        ),
        (
            Mhz40,
            Ns800,
            [
                13.5, 27.0, 40.5, 54.0, 81.0, 108.0, 121.5, 135.0, 27.0, 54.0, 81.0, 108.0, 162.0, 216.0,
                243.0, 270.0, 40.5, 81.0, 121.5, 162.0, 243.0, 324.0, 364.5, 405.0, 54.0, 108.0, 162.0,
                216.0, 324.0, 432.0, 486.0, 540.0,
            ],
        ),
        (
            Mhz40,
            Ns400,
            [
                15.0, 30.0, 45.0, 60.0, 90.0, 120.0, 135.0, 150.0, 30.0, 60.0, 90.0, 120.0, 180.0, 240.0,
                270.0, 300.0, 45.0, 90.0, 135.0, 180.0, 270.0, 360.0, 405.0, 450.0, 60.0, 120.0, 180.0,
                240.0, 360.0, 480.0, 540.0, 600.0,
            ],
        ),
    ];
    for (width, guard, rates) in printed {
        for (index, printed) in (0u8..).zip(rates) {
            let rate = Rate::ht(index, width, guard).unwrap();
            assert_printed(rate, printed);
            assert_eq!((rate.mcs(), rate.streams()), (index, index / 8 + 1));
        }
    }
}

/// Tables 21-30 to 21-61: one stream in full, and the fastest of more.
#[test]
fn vht_rates_are_the_printed_ones() {
    let one_stream: [(Width, GuardInterval, &[f64]); 6] = [
        (Mhz20, Ns800, &[6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0, 78.0]),
        (Mhz20, Ns400, &[7.2, 14.4, 21.7, 28.9, 43.3, 57.8, 65.0, 72.2, 86.7]),
        (Mhz40, Ns800, &[13.5, 27.0, 40.5, 54.0, 81.0, 108.0, 121.5, 135.0, 162.0, 180.0]),
        (Mhz80, Ns800, &[29.3, 58.5, 87.8, 117.0, 175.5, 234.0, 263.3, 292.5, 351.0, 390.0]),
        (Mhz80, Ns400, &[32.5, 65.0, 97.5, 130.0, 195.0, 260.0, 292.5, 325.0, 390.0, 433.3]),
        (Mhz160, Ns400, &[65.0, 130.0, 195.0, 260.0, 390.0, 520.0, 585.0, 650.0, 780.0, 866.7]),
    ];
    for (width, guard, rates) in one_stream {
        for (mcs, printed) in (0u8..).zip(rates) {
            assert_printed(Rate::vht(mcs, 1, width, guard).unwrap(), *printed);
        }
    }
    for (mcs, streams, width, long, short) in [
        (8, 2, Mhz20, 156.0, 173.3),
        (9, 3, Mhz20, 260.0, 288.9),
        (8, 4, Mhz20, 312.0, 346.7),
        (9, 2, Mhz40, 360.0, 400.0),
        (9, 3, Mhz40, 540.0, 600.0),
        (9, 4, Mhz40, 720.0, 800.0),
        (0, 2, Mhz80, 58.5, 65.0),
        (9, 2, Mhz80, 780.0, 866.7),
        (7, 3, Mhz80, 877.5, 975.0),
        (9, 3, Mhz80, 1170.0, 1300.0),
        (9, 4, Mhz80, 1560.0, 1733.3),
        (9, 2, Mhz160, 1560.0, 1733.3),
        (8, 3, Mhz160, 2106.0, 2340.0),
        (9, 4, Mhz160, 3120.0, 3466.7),
    ] {
        assert_printed(Rate::vht(mcs, streams, width, Ns800).unwrap(), long);
        assert_printed(Rate::vht(mcs, streams, width, Ns400).unwrap(), short);
    }
}

/// 802.11ax section 27.5: one stream of each width and interval (242, 484, 996 and 2x996 tones), and more streams.
#[test]
fn he_rates_are_the_printed_ones() {
    let one_stream: [(Width, GuardInterval, [f64; 12]); 12] = [
        (Mhz20, Ns800, [8.6, 17.2, 25.8, 34.4, 51.6, 68.8, 77.4, 86.0, 103.2, 114.7, 129.0, 143.4]),
        (Mhz20, Ns1600, [8.1, 16.3, 24.4, 32.5, 48.8, 65.0, 73.1, 81.3, 97.5, 108.3, 121.9, 135.4]),
        (Mhz20, Ns3200, [7.3, 14.6, 21.9, 29.3, 43.9, 58.5, 65.8, 73.1, 87.8, 97.5, 109.7, 121.9]),
        (Mhz40, Ns800, [17.2, 34.4, 51.6, 68.8, 103.2, 137.6, 154.9, 172.1, 206.5, 229.4, 258.1, 286.8]),
        (Mhz40, Ns1600, [16.3, 32.5, 48.8, 65.0, 97.5, 130.0, 146.3, 162.5, 195.0, 216.7, 243.8, 270.8]),
        (Mhz40, Ns3200, [14.6, 29.3, 43.9, 58.5, 87.8, 117.0, 131.6, 146.3, 175.5, 195.0, 219.4, 243.8]),
        (Mhz80, Ns800, [36.0, 72.1, 108.1, 144.1, 216.2, 288.2, 324.3, 360.3, 432.4, 480.4, 540.4, 600.5]),
        (Mhz80, Ns1600, [34.0, 68.1, 102.1, 136.1, 204.2, 272.2, 306.3, 340.3, 408.3, 453.7, 510.4, 567.1]),
        (Mhz80, Ns3200, [30.6, 61.3, 91.9, 122.5, 183.8, 245.0, 275.6, 306.3, 367.5, 408.3, 459.4, 510.4]),
        (
            Mhz160,
            Ns800,
            [72.1, 144.1, 216.2, 288.2, 432.4, 576.5, 648.5, 720.6, 864.7, 960.8, 1080.9, 1201.0],
        ),
        (
            Mhz160,
            Ns1600,
            [68.1, 136.1, 204.2, 272.2, 408.3, 544.4, 612.5, 680.6, 816.7, 907.4, 1020.8, 1134.3],
        ),
        (
            Mhz160,
            Ns3200,
            [61.3, 122.5, 183.8, 245.0, 367.5, 490.0, 551.3, 612.5, 735.0, 816.7, 918.8, 1020.8],
        ),
    ];
    for (width, guard, rates) in one_stream {
        for (mcs, printed) in (0u8..).zip(rates) {
            assert_printed(Rate::he(mcs, 1, width, guard).unwrap(), printed);
        }
    }
    for (mcs, streams, width, guard, printed) in [
        (11, 2, Mhz20, Ns800, 286.8),
        (11, 2, Mhz40, Ns800, 573.5),
        (11, 2, Mhz80, Ns800, 1201.0),
        (9, 2, Mhz80, Ns3200, 816.7),
        (11, 3, Mhz80, Ns800, 1801.5),
        (11, 4, Mhz80, Ns800, 2402.0),
        (11, 2, Mhz160, Ns800, 2402.0),
        (11, 4, Mhz160, Ns800, 4803.9),
        (7, 4, Mhz160, Ns1600, 2722.2),
    ] {
        assert_printed(Rate::he(mcs, streams, width, guard).unwrap(), printed);
    }
}

/// N_ES as printed in the last columns of the tables.
#[test]
fn encoders_are_the_printed_ones() {
    let ht = |index| Rate::ht(index, Mhz40, Ns400).unwrap().encoders();
    assert_eq!([ht(15), ht(20), ht(21), ht(23), ht(27), ht(28), ht(31)], [1, 1, 2, 2, 1, 2, 2]);
    let vht = |mcs, streams, width| Rate::vht(mcs, streams, width, Ns800).unwrap().encoders();
    assert_eq!([vht(9, 3, Mhz40), vht(9, 4, Mhz40)], [1, 2]);
    assert_eq!([vht(9, 1, Mhz80), vht(7, 2, Mhz80), vht(8, 2, Mhz80), vht(9, 2, Mhz80)], [1, 2, 2, 2]);
    assert_eq!([vht(8, 3, Mhz80), vht(9, 3, Mhz80), vht(6, 4, Mhz80), vht(9, 4, Mhz80)], [2, 3, 2, 3]);
    assert_eq!([vht(7, 3, Mhz160), vht(6, 4, Mhz160), vht(7, 4, Mhz160), vht(9, 4, Mhz160)], [4, 4, 6, 6]);
}

/// The reason of the excluded combinations (21.5): coded and data bits divide evenly among the encoders, and each encoder's
/// bits fill whole periods of puncturing.
#[test]
fn vht_bits_divide_among_the_encoders() {
    let mut excluded = 0;
    for width in [Mhz20, Mhz40, Mhz80, Mhz160] {
        for streams in 1..=4 {
            for mcs in 0..=9 {
                let Ok(rate) = Rate::vht(mcs, streams, width, Ns800) else {
                    excluded += 1;
                    continue;
                };
                let coded = rate.data_subcarriers() * rate.modulation().bits() * u32::from(streams);
                let (_, period) = rate.coding().ratio();
                assert_eq!(coded % (rate.encoders() * period), 0, "{rate}");
                assert_eq!(rate.bits_per_symbol() % rate.encoders(), 0, "{rate}");
            }
        }
    }
    assert_eq!(excluded, 5);
}

#[test]
fn invalid_combinations_are_refused() {
    let cases = [
        (Rate::vht(9, 1, Mhz20, Ns800), "excludes VHT MCS 9 with 1 spatial streams at 20 MHz"),
        (Rate::vht(9, 2, Mhz20, Ns800), "excludes"),
        (Rate::vht(9, 4, Mhz20, Ns800), "excludes"),
        (Rate::vht(6, 3, Mhz80, Ns800), "excludes"),
        (Rate::vht(9, 3, Mhz160, Ns400), "excludes"),
        (Rate::vht(10, 1, Mhz80, Ns800), "VHT has no MCS 10; allowed are 0 to 9"),
        (Rate::vht(0, 5, Mhz80, Ns800), "5 spatial streams are not supported"),
        (Rate::vht(0, 0, Mhz80, Ns800), "0 spatial streams"),
        (
            Rate::vht(0, 1, Mhz80, Ns1600),
            "VHT has no guard interval of 1.6 us; allowed are 400 ns and 800 ns",
        ),
        (Rate::ht(32, Mhz20, Ns800), "HT has no MCS 32"),
        (Rate::ht(0, Mhz80, Ns800), "HT has no width of 80 MHz; allowed are 20 MHz and 40 MHz"),
        (Rate::he(12, 1, Mhz80, Ns800), "HE has no MCS 12; allowed are 0 to 11"),
        (Rate::he(0, 1, Mhz80, Ns400), "HE has no guard interval of 400 ns"),
    ];
    for (rate, message) in cases {
        let error = rate.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn lists_are_complete_and_ordered() {
    let count = |format, width, guard| Rate::all(format, width, 4, guard).count();
    assert_eq!(count(Format::Legacy, Mhz20, Ns800), 8);
    assert_eq!(count(Format::Legacy, Mhz40, Ns800), 0);
    assert_eq!(count(Format::Ht, Mhz40, Ns400), 32);
    assert_eq!(count(Format::Ht, Mhz80, Ns400), 0);
    assert_eq!(count(Format::Vht, Mhz20, Ns800), 37);
    assert_eq!(count(Format::Vht, Mhz80, Ns800), 39);
    assert_eq!(count(Format::He, Mhz160, Ns3200), 48);
    let order: Vec<(u8, u8)> =
        Rate::all(Format::He, Mhz80, 2, Ns800).map(|rate| (rate.streams(), rate.mcs_of_stream())).collect();
    assert!(order.is_sorted() && order.len() == 24);
    for rates in [Format::Ht, Format::Vht, Format::He].map(|format| Rate::all(format, Mhz40, 1, Ns800)) {
        assert!(rates.map(Rate::bit_rate).is_sorted());
    }
}

#[test]
fn a_rate_is_small() {
    assert!(size_of::<Rate>() <= 8);
}

#[test]
fn text_reads_back() {
    assert_eq!(Rate::vht(9, 2, Mhz80, Ns800).unwrap().to_string(), "VHT80 MCS9 2SS LGI");
    assert_eq!(Rate::ht(12, Mhz40, Ns400).unwrap().to_string(), "HT40 MCS12 2SS SGI");
    assert_eq!(Rate::he(11, 1, Mhz160, Ns3200).unwrap().to_string(), "HE160 MCS11 1SS 3.2us");
    assert_eq!(Rate::legacy(Legacy::Mbps24).to_string(), "OFDM 24 Mbit/s");
    for rate in every_rate() {
        assert_eq!(rate.to_string().parse::<Rate>(), Ok(rate));
    }
    for text in [
        "",
        "VHT80",
        "VHT80 MCS9 2SS",
        "HT40 MCS12 1SS LGI",
        "VHT30 MCS1 1SS LGI",
        "OFDM 7 Mbit/s",
        "HE80 MCS1 1SS LGI",
    ] {
        let error = text.parse::<Rate>().unwrap_err();
        assert!(matches!(error, RateError::Text { .. }), "{error}");
    }
    assert!(matches!("VHT20 MCS9 1SS LGI".parse::<Rate>(), Err(RateError::Excluded { .. })));
}

#[test]
fn widths_are_text() {
    for width in Width::ALL {
        assert_eq!(width.to_string().parse::<Width>(), Ok(width));
    }
    assert_eq!("80MHz".parse::<Width>(), Ok(Mhz80));
    assert!("80".parse::<Width>().unwrap_err().to_string().contains("allowed are \"10 MHz\", \"20 MHz\""));
}

#[test]
fn schemes_of_the_fastest_rates() {
    let rate = Rate::he(11, 1, Mhz20, Ns800).unwrap();
    assert_eq!((rate.modulation(), rate.coding()), (Modulation::Qam1024, Coding::FiveSixths));
    let rate = Rate::legacy(Legacy::Mbps48);
    assert_eq!((rate.modulation(), rate.coding()), (Modulation::Qam64, Coding::TwoThirds));
}

proptest! {
    #[test]
    fn any_text_is_answered(text in "(VHT|HT|HE|OFDM)?[ 0-9A-Zµ]{0,12}") {
        if let Ok(rate) = text.parse::<Rate>() {
            prop_assert_eq!(rate.to_string().parse::<Rate>(), Ok(rate));
        }
    }

    #[test]
    fn any_arguments_are_answered(mcs: u8, streams: u8) {
        for width in Width::ALL {
            for guard in GUARDS {
                for rate in [
                    Rate::ht(mcs, width, guard),
                    Rate::vht(mcs, streams, width, guard),
                    Rate::he(mcs, streams, width, guard),
                ].into_iter().flatten() {
                    prop_assert!(rate.bits_per_symbol() >= 26);
                }
            }
        }
    }
}

#[test]
fn lowered_rates_are_valid_and_slower() {
    let known: Vec<Rate> = every_rate();
    for &rate in &known {
        assert_eq!(rate.lowered(0), rate);
        assert_eq!(rate.lowered(20).mcs_of_stream(), 0);
        for steps in 1..=rate.mcs_of_stream() {
            let lower = rate.lowered(steps);
            assert!(known.contains(&lower), "{rate} less {steps} is {lower}");
            assert!(lower.bit_rate() < rate.bit_rate(), "{rate} less {steps} is {lower}");
        }
    }
}
