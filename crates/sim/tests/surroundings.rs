//! `surroundings` supplies values that a scenario omits, and the presets keep their frozen values.

use airbound_scenario::{ChannelSpec, Overrides, Scenario, find_shipped};
use airbound_units::{Instant, Span};

const PRESETS: [&str; 5] = ["calm", "office", "harsh", "hidden", "distant"];

const TEXT: &str = "duration = \"1 s\"\nsurroundings = \"office\"\n[[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\n\
                    channel = { kind = \"fixed\", snr = \"30 dB\" }\n[[flow]]\nname = \"f\"\nkind = \"voip\"\nstation = \"a\"\n";

fn read(text: &str, sets: &[(&str, &str)]) -> Scenario {
    Scenario::parse(text, "test.toml", &Overrides::from_pairs(sets)).unwrap()
}

fn error(text: &str, sets: &[(&str, &str)]) -> String {
    Scenario::parse(text, "test.toml", &Overrides::from_pairs(sets)).unwrap_err().to_string()
}

fn office(preset: &str) -> Scenario {
    find_shipped("office").unwrap().load(&Overrides::from_pairs(&[("surroundings", preset)])).unwrap()
}

#[test]
fn they_fill_in_what_is_open_and_nothing_else() {
    let scenario = read(TEXT, &[]);
    assert!(matches!(scenario.stations[0].channel, ChannelSpec::LogDistance(_)));
    assert!(matches!(scenario.stations[1].channel, ChannelSpec::Fixed { .. }));
    assert_eq!(scenario.neighbours.len(), 3);
    assert_eq!(scenario.interferences.len(), 1);
    // The resolved scenario contains every number, and does not need the key.
    let resolved = scenario.to_toml();
    assert!(!resolved.contains("surroundings"));
    assert_eq!(read(&resolved, &[]), scenario);
    // Without the key nothing is added.
    let bare = read(&TEXT.replace("surroundings = \"office\"\n", ""), &[]);
    assert!(matches!(bare.stations[0].channel, ChannelSpec::Ideal));
    assert!(bare.neighbours.is_empty() && bare.interferences.is_empty());
}

#[test]
fn the_scenario_has_the_last_word() {
    let own = format!(
        "{TEXT}[[neighbour]]\nname = \"downloads\"\nload = \"1 Mbit/s\"\n[[neighbour]]\nname = \"mine\"\n"
    );
    let names = |scenario: &Scenario| -> Vec<String> {
        scenario.neighbours.iter().map(|neighbour| neighbour.name.clone()).collect()
    };
    let scenario = read(&own, &[]);
    assert_eq!(names(&scenario), ["downloads", "mine", "beacons", "calls"]);
    assert_eq!(scenario.neighbours[0].spells, None);

    let changed = read(
        TEXT,
        &[
            ("station.a.channel.distance", "5 m"),
            ("neighbour.downloads.mean-off", "1 h"),
            ("surroundings", "harsh"),
            ("station.a.channel.blockage.0.depth", "20 dB"),
        ],
    );
    let ChannelSpec::LogDistance(link) = &changed.stations[0].channel else { panic!() };
    assert!(changed.to_toml().contains("distance = \"5 m\""));
    assert!((link.blockage[0].depth.value() - 20.0).abs() < 1e-9);
    let downloads = changed.neighbours.iter().find(|neighbour| neighbour.name == "downloads").unwrap();
    assert_eq!(downloads.spells.unwrap().mean_off, Span::from_secs(3600));
    assert_eq!(read(TEXT, &[("neighbour", "[]")]).neighbours, []);
}

#[test]
fn errors_name_the_problem() {
    let wrong = error(&TEXT.replace("office", "attic"), &[]);
    assert!(
        wrong.contains("test.toml:2") && wrong.contains("\"calm\", \"office\", \"harsh\", \"hidden\""),
        "{wrong}"
    );
    let wrong = error(TEXT, &[("surroundings", "7")]);
    assert!(wrong.contains("--set surroundings=7") && wrong.contains("\"hidden\""), "{wrong}");
    let wrong = error(TEXT, &[("station.a.channel.blockage.0.depth", "-1 dB")]);
    assert!(wrong.contains("station.a.channel.blockage") && wrong.contains("0 dB to 60 dB"), "{wrong}");
}

#[test]
fn any_air_may_have_them() {
    for (standard, width) in [("legacy", "20 MHz"), ("ht", "40 MHz"), ("vht", "80 MHz"), ("he", "160 MHz")] {
        for preset in PRESETS {
            let scenario =
                read(TEXT, &[("air.standard", standard), ("air.width", width), ("surroundings", preset)]);
            let run = airbound_sim::Run::new("test", &scenario, &scenario.scheme, 1).unwrap();
            run.finish().unwrap();
        }
    }
}

/// SNR of the office's station every 20 ms for ten minutes under each of 20 seeds, in ascending order.
fn ratios(preset: &str) -> Vec<f64> {
    let scenario = office(preset);
    let mut all = Vec::new();
    for seed in 1..=20 {
        let channel = scenario.stations[0].propagation(&scenario.air, &scenario.access_point.path, seed, 0);
        all.extend(
            (0..30_000u64).map(|n| channel.snr(Instant::ZERO + Span::from_millis(20) * n).unwrap().value()),
        );
    }
    all.sort_by(f64::total_cmp);
    all
}

/// The signal of each preset, as listed in docs/understand/office-channel.md.
#[test]
fn signal_levels_are_those_of_the_table() {
    // Percentiles in dB, and the share of time below the SNR at which half of the packets of 1500 B are lost at MCS 0,
    // 2 and 4 (crates/wifi/tests/error_curves.rs).
    let expected = [
        ("calm", [24.9, 22.7, 21.3, 15.8], [0.0, 0.0, 0.001_1]),
        ("office", [21.8, 17.3, 13.3, 9.3], [0.000_02, 0.001_0, 0.029_1]),
        ("harsh", [18.3, 10.7, 5.6, -0.3], [0.004_6, 0.031_8, 0.265_1]),
        ("hidden", [29.9, 27.2, 22.8, 18.4], [0.0, 0.000_01, 0.000_1]),
        ("distant", [29.9, 27.2, 22.8, 18.4], [0.0, 0.000_01, 0.000_1]),
    ];
    for (preset, percentiles, shares) in expected {
        let ratios = ratios(preset);
        let count = ratios.len() as f64;
        for (part, expected) in [0.5, 0.05, 0.01, 0.001].into_iter().zip(percentiles) {
            let found = ratios[(count * part) as usize];
            assert!((found - expected).abs() < 0.06, "{preset} {part}: {found} for {expected}");
        }
        for (limit, expected) in [3.4, 9.3, 16.0].into_iter().zip(shares) {
            let found = ratios.partition_point(|snr| *snr < limit) as f64 / count;
            assert!((found - expected).abs() < 0.000_1, "{preset} {limit} dB: {found} for {expected}");
        }
    }
}

/// FNV-1a, 64 bits.
fn digest(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes
        .into_iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The presets were frozen before the first runs of Law. A change of these numbers changes the channel of every figure
/// of docs/results/law.md: give the reason in docs/understand/office-channel.md, and make all figures again.
#[test]
fn the_presets_are_frozen() {
    for (preset, numbers, course) in FROZEN {
        let scenario = office(preset);
        let resolved = scenario.to_toml();
        // The values supplied by `surroundings`, independent of additions to the scenario language.
        let channel =
            &resolved[resolved.find("[station.channel]").unwrap()..resolved.find("[[flow]]").unwrap()];
        let others = &resolved[resolved.find("[[neighbour]]").unwrap()..];
        let found_numbers = digest(channel.bytes().chain(others.bytes()));
        // The resulting signal to a nanodecibel, hour by hour and in between.
        let link = scenario.stations[0].propagation(&scenario.air, &scenario.access_point.path, 1, 0);
        let signal = (0..2_000u64).flat_map(|n| {
            let at = Instant::ZERO + Span::from_micros(1_234_567) * n;
            ((link.snr(at).unwrap().value() * 1e9).round() as i64).to_le_bytes()
        });
        let found_course = digest(signal);
        assert_eq!(
            (found_numbers, found_course),
            (numbers, course),
            "{preset}: {found_numbers:#018x}, {found_course:#018x}\n{channel}{others}"
        );
    }
}

const FROZEN: [(&str, u64, u64); 5] = [
    ("calm", 0xefc1_84c5_fff3_0b51, 0x9769_5c4b_6cf8_7847),
    ("office", 0x4aff_f0d1_3005_2fdc, 0x650f_81da_c166_460f),
    ("harsh", 0xcb1b_6c09_63e7_944f, 0x9a6c_bf82_79b8_f5f2),
    ("hidden", 0xacd3_0aa8_5d6a_7777, 0x7c65_4345_bb90_cc05),
    ("distant", 0x5da7_98c8_f504_e0b4, 0x7c65_4345_bb90_cc05),
];
