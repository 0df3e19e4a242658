//! Errors of `[radio]`, one sentence each.

use crate::sentence::{GOOD, check};
use airbound_scenario::{Overrides, Scenario};

#[test]
fn the_radio_is_checked() {
    let radio = |lines: &str| format!("{GOOD}[radio]\n{lines}\n");
    let capture = |lines: &str| format!("{GOOD}[radio.capture]\n{lines}\n");
    check(&radio("anser-loss = 1"), &["test.toml:12:", "radio.anser-loss", "did you mean answer-loss?"]);
    check(&radio("answer-loss = 1.5"), &["test.toml:12:", "radio.answer-loss", "is 1.5", "0 to 1"]);
    check(&radio("answer-loss = nan"), &["test.toml:12:", "radio.answer-loss", "0 to 1"]);
    check(&radio("protection-loss = \"often\""), &["radio.protection-loss", "\"signal\""]);
    check(&radio("missed-block-ack = \"wait\""), &["radio.missed-block-ack", "\"repeat\"", "\"request\""]);
    check(&capture(""), &["test.toml:11:", "radio.capture.levels", "hearing.places"]);
    check(&capture("preamble = \"much\"\nlevels = {}"), &["test.toml:12:", "radio.capture.preamble", "dB"]);
    check(&capture("preamble = 4\nlevels = {}"), &["radio.capture.preamble", "number and unit"]);
    check(&capture("takeover = \"-1 dB\"\nlevels = {}"), &["radio.capture.takeover", "0 dB"]);
    check(&capture("levels = { fone = {} }"), &["radio.capture.levels.fone", "did you mean phone?"]);
    let loud = "levels = { access-point = { phone = \"99 dBm\" } }";
    check(&capture(loud), &["test.toml:12:", "radio.capture.levels.access-point.phone", "40 dBm"]);
    let places = "places = { access-point = [\"1 m\", \"1 m\"], phone = [\"2 m\", \"1 m\"] }";
    let both =
        format!("{GOOD}[hearing]\nsize = [\"9 m\", \"9 m\"]\n{places}\n[radio.capture]\nlevels = {{}}\n");
    check(&both, &["radio.capture.levels", "beside hearing.places"]);
    let sleepy = radio("").replacen("name = \"phone\"", "name = \"phone\"\npower-save = {}", 1);
    Scenario::parse(&sleepy, "test.toml", &Overrides::none()).expect("a station that sleeps");
}
