//! Words of data sheets and of other tools: accepted where they mean one thing, else answered with the key that is meant.

use crate::sentence::{self, GOOD};
use airbound_scenario::{Overrides, Scenario};
use airbound_wifi::Format;

/// The scenario without an error, at the newest standard and with other words.
fn changed(old: &str, new: &str) -> String {
    let newest = GOOD.replace("\"ht\"", "\"he\"");
    assert!(newest.contains(old), "{old}");
    newest.replace(old, new)
}

fn with(old: &str, new: &str) -> Result<Scenario, String> {
    let text = changed(old, new);
    Scenario::parse(&text, "test.toml", &Overrides::none()).map_err(|error| error.to_string())
}

fn check(old: &str, new: &str, parts: &[&str]) {
    sentence::check(&changed(old, new), parts);
}

#[test]
fn standards_have_the_names_of_data_sheets() {
    for (names, format) in [
        (["802.11a", "a", "802.11g"], Format::Legacy),
        (["802.11n", "n", "WiFi 4"], Format::Ht),
        (["802.11ac", "ac", "wifi5"], Format::Vht),
        (["802.11ax", "11ax", "Wi-Fi 6"], Format::He),
    ] {
        for name in names {
            let read = with("\"he\"", &format!("\"{name}\"")).unwrap();
            assert_eq!(read.air.standard, format, "{name}");
            let read = with("\"phone\"\n[[", &format!("\"phone\"\nstandard = \"{name}\"\n[[")).unwrap();
            assert_eq!(read.stations[0].standard, format, "{name} of a station");
        }
    }
}

#[test]
fn other_names_of_standards_are_refused() {
    for name in ["wifi7", "802.11be", "802.11", "", "11", "ac ax", "802.11p"] {
        check("\"he\"", &format!("\"{name}\""), &["test.toml:3:", "air.standard", "allowed are", "\"vht\""]);
    }
}

#[test]
fn words_of_other_tools_are_answered_with_the_key() {
    check("kind =", "type =", &["test.toml:8:", "flow.stream.type", "did you mean kind?", "voip"]);
    check("station = \"p", "to = \"p", &["test.toml:9:", "flow.stream.to", "did you mean station?"]);
    check("rate =", "bitrate =", &["test.toml:10:", "flow.stream.bitrate", "did you mean rate?"]);
    check("rate =", "end = \"1 s\"\nrate =", &["flow.stream.end", "did you mean stop?"]);
    check("standard = \"he\"", "bandwidth = \"80 MHz\"", &["air.bandwidth", "did you mean width?"]);
}

#[test]
fn a_channel_without_kind_says_whose_key_it_has() {
    for (keys, kind) in [
        ("distance = \"8 m\"", "log-distance"),
        ("snr = \"30 dB\"", "fixed"),
        ("fading = \"rayleigh\"", "log-distance"),
    ] {
        let new = format!("\"phone\"\nchannel = {{ {keys} }}\n[[");
        let key = keys.split(' ').next().unwrap();
        let says = format!("{key} is a key of kind {kind}; write kind = \"{kind}\"");
        check("\"phone\"\n[[", &new, &["test.toml:6:", "station.phone.channel.kind", &says]);
        let named = new.replace("{ ", &format!("{{ kind = \"{kind}\", "));
        if kind == "fixed" || key == "distance" {
            with("\"phone\"\n[[", &named).unwrap();
        }
    }
}

#[test]
fn a_load_in_percent_is_refused_with_the_forms_that_are_allowed() {
    let neighbour = |more: &str| format!("[[neighbour]]\nname = \"n\"\n{more}\n[[flow]]");
    check(
        "[[flow]]",
        &neighbour("load = \"30 %\""),
        &[
            "test.toml:8:",
            "neighbour.n.load",
            "is \"30 %\", a share",
            "\"saturated\"",
            "\"5 Mbit/s\"",
            "mean-on",
        ],
    );
    with("[[flow]]", &neighbour("mean-on = \"30 ms\"\nmean-off = \"70 ms\"")).unwrap();
}
