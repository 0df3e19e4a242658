//! The formulas of the shipped traces.
//!
//! `AIRBOUND_WRITE_TRACES=1 cargo test -p airbound-sim --test all trace_shipped` writes the files again.

use std::fmt::Write as _;
use std::path::PathBuf;

use airbound_random::Key;

fn check(name: &str, text: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/traces").join(name);
    if std::env::var_os("AIRBOUND_WRITE_TRACES").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    let shipped = std::fs::read_to_string(&file).unwrap();
    assert!(shipped == text, "{name} is not what its formula gives; see the head of this file");
}

/// A crowded room: 60 s in steps of about 200 ms. The bandwidth is 28 Mbit/s, varied by an autoregressive process in the
/// logarithm, with deep fades of about a second, two moments without bandwidth and one gap in the record of 3 s: every
/// peculiarity of the measured traces.
#[test]
fn crowded_room() {
    let key = Key::of_seed(1);
    let (mut text, mut state, mut millis) = (String::new(), 0.0f64, 700_200u64);
    for step in 0..290u64 {
        let draws = key.with(step);
        state = 0.9 * state + 0.25 * draws.with(1).normal();
        // A fade begins in about one second of eight.
        let fading = fade(key, step);
        let mut bandwidth = 28.0 * libm::exp(state) * fading;
        if step == 97 || step == 203 {
            bandwidth = 0.0;
        }
        writeln!(text, "{}.{:03} {:.2}", millis / 1000, millis % 1000, bandwidth.min(70.0)).unwrap();
        millis += if step == 150 { 3_000 } else { 190 + draws.with(2).bits() % 21 };
    }
    check("crowded-room.log", &text);
}

/// One fade in about 8 s, five steps long, to a tenth.
fn fade(key: Key, step: u64) -> f64 {
    let began = (0..5).any(|ago| step >= ago && key.with(step - ago).with(3).uniform() < 1.0 / 40.0);
    if began { 0.1 } else { 1.0 }
}

/// A slow uplink in mahimahi's format: 6 s at a rate that swings between 2 and 10 Mbit/s once in 3 s.
#[test]
fn swinging_pipe() {
    let (mut text, mut owed) = (String::new(), 0.0f64);
    for millis in 1..=6000u32 {
        let swing = libm::sin(f64::from(millis) / 3000.0 * std::f64::consts::TAU);
        // Packets of 12 000 bits in a millisecond.
        owed += (6.0 + 4.0 * swing) / 12.0;
        while owed >= 1.0 {
            writeln!(text, "{millis}").unwrap();
            owed -= 1.0;
        }
    }
    check("swinging-pipe.mahi", &text);
}

/// A walk along a corridor past three doors: 60 s of SNR in steps of 200 ms.
#[test]
fn corridor() {
    let (mut text, mut state) = ("time,snr\n".to_owned(), 0.0f64);
    for step in 0..300u64 {
        let seconds = step as f64 * 0.2;
        state = 0.8 * state + 1.2 * Key::of_seed(3).with(step).normal();
        // 3 m at both ends of the walk, 27 m in the middle; each door costs 8 dB for 3 s.
        let distance = 3.0 + 24.0 * (1.0 - (seconds - 30.0).abs() / 30.0);
        let doors = [12.0, 30.0, 48.0].iter().filter(|door| (seconds - **door).abs() < 1.5).count();
        let snr = 58.0 - 30.0 * libm::log10(distance) - 8.0 * doors as f64 + state;
        writeln!(text, "{seconds:.1},{snr:.1}").unwrap();
    }
    check("corridor.csv", &text);
}
