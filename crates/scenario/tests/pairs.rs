//! Keys that are allowed one by one are refused as a pair that no hardware has.

use airbound_scenario::{Overrides, Scenario};
use airbound_wifi::Width;

use crate::sentence::check;

/// A scenario with lines in `[air]`, in `[access-point]`, in its station, and tables at its end.
fn text(air: &str, access_point: &str, station: &str, rest: &str) -> String {
    format!(
        "duration = \"2 s\"\n[air]\n{air}\n[access-point]\n{access_point}\n[[station]]\nname = \"phone\"\n{station}\n\
         [[flow]]\nname = \"stream\"\nkind = \"cbr\"\nstation = \"phone\"\nrate = \"20 Mbit/s\"\n{rest}\n"
    )
}

fn air(lines: &str) -> String {
    text(lines, "", "", "")
}

fn read(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml", &Overrides::none()).expect("a scenario")
}

#[test]
fn a_band_has_its_widths_and_standards() {
    let wide = "band = \"2.4 GHz\"\nstandard = \"he\"\nwidth = \"160 MHz\"";
    check(
        &air(wide),
        &["test.toml:5:", "air.width is \"160 MHz\"", "air.band = \"2.4 GHz\"", "20 MHz and 40 MHz"],
    );
    check(&air(&wide.replace("160", "80")), &["test.toml:5:", "air.width", "802.11-2020, Annex E"]);
    check(
        &air("band = \"2.4 GHz\"\nstandard = \"vht\"\nwidth = \"40 MHz\""),
        &["test.toml:4:", "air.standard is \"vht\"", "allowed are legacy, ht and he"],
    );
    // What is written is to blame, not the default.
    check(&air("band = \"2.4 GHz\""), &["test.toml:3:", "air.band", "air.standard = \"vht\" (the default)"]);
    for (standard, width) in [("legacy", 20), ("ht", 40), ("he", 40)] {
        let scenario = read(&air(&format!("band = \"2.4 GHz\"\nstandard = \"{standard}\"")));
        assert_eq!(scenario.air.width.megahertz(), width, "{standard}");
    }
    for width in Width::ALL.into_iter().filter(|width| *width > Width::Mhz10) {
        read(&air(&format!("standard = \"he\"\nwidth = \"{width}\"")));
    }
}

#[test]
fn stations_and_rates_have_the_band_of_the_channel() {
    let at = |station: &str, rest: &str| {
        text("band = \"2.4 GHz\"\nstandard = \"he\"", "", &format!("{station}\n"), rest)
    };
    check(&at("standard = \"vht\"", ""), &["station.phone.standard is \"vht\"", "air.band = \"2.4 GHz\""]);
    check(&at("rate = \"VHT20 MCS7 1SS LGI\"", ""), &["station.phone.rate", "2.4 GHz has no VHT"]);
    read(&at("rate = \"HT20 MCS7 1SS LGI\"", ""));
    let fixed = |rate: &str| format!("rate = {{ kind = \"fixed\", rate = \"{rate}\" }}");
    let scheme = |rate: &str| at("", &format!("[scheme]\n{}", fixed(rate)));
    check(&scheme("VHT20 MCS7 1SS LGI"), &["scheme.rate", "2.4 GHz has no VHT"]);
    check(&scheme("HE80 MCS7 1SS 0.8us"), &["scheme.rate", "the access point's channel has 40 MHz"]);
    check(&scheme("HE40 MCS7 3SS 0.8us"), &["scheme.rate", "has 2 spatial streams"]);
    read(&scheme("HE40 MCS7 2SS 0.8us"));
    let uplink = text("standard = \"ht\"", "", "", &format!("[uplink]\n{}", fixed("VHT20 MCS7 1SS LGI")));
    check(&uplink, &["uplink.rate", "the access point supports only HT"]);
}

#[test]
fn a_preset_is_of_hardware() {
    let over =
        |preset: &str, air: &str, rest: &str| text(air, &format!("preset = \"{preset}\"\n{rest}"), "", "");
    check(
        &over("ath9k-fq", "standard = \"he\"", ""),
        &[
            "test.toml:5:",
            "access-point.preset is \"ath9k-fq\"",
            "air.standard = \"he\"",
            "802.11n",
            "mac80211",
        ],
    );
    let bare = "duration = \"2 s\"\n[access-point]\npreset = \"ath9k-2014\"\n";
    check(bare, &["test.toml:3:", "air.standard = \"vht\" (the default)"]);
    check(
        &over("openwifi-b", "standard = \"ht\"", ""),
        &["access-point.preset", "air.width = \"40 MHz\" (the default)", "up to 20 MHz"],
    );
    check(
        &over("ath9k-fq", "standard = \"ht\"", "streams = 4"),
        &["access-point.preset", "access-point.streams = \"4\"", "3 spatial streams"],
    );
    let narrow = "standard = \"ht\"\nwidth = \"20 MHz\"";
    check(&over("openwifi", narrow, "streams = 2"), &["1 spatial stream;"]);
    assert_eq!(read(&over("openwifi", narrow, "")).access_point.streams, 1);
    assert_eq!(read(&over("ath9k-fq", "standard = \"ht\"", "")).access_point.streams, 2);
    for preset in ["mac80211", "direct"] {
        read(&over(preset, "standard = \"he\"\nwidth = \"160 MHz\"", "streams = 4"));
    }
}

#[test]
fn stations_have_the_hardware_of_their_preset() {
    let uplink = "[uplink]\npreset = \"ath9k-fq\"";
    let with = |station: &str| text("standard = \"vht\"", "", station, uplink);
    check(&with(""), &["uplink.preset is \"ath9k-fq\"", "air.standard = \"vht\""]);
    check(&with("standard = \"vht\""), &["uplink.preset", "station.phone.standard = \"vht\""]);
    read(&with("standard = \"ht\""));
    // A relay has the access point's path.
    let far = "[[station]]\nname = \"far\"\nvia = \"phone\"\nstandard = \"ht\"\n";
    read(&text("standard = \"vht\"", "", "", &format!("{far}{uplink}")));
}

#[test]
fn an_override_is_to_blame_for_its_pair() {
    let refused = |text: &str, set: &str| {
        let (key, value) = set.split_once('=').expect("a pair");
        let overrides = Overrides::from_pairs(&[(key, value)]);
        Scenario::parse(text, "test.toml", &overrides).expect_err(set).to_string()
    };
    let he = air("band = \"2.4 GHz\"\nstandard = \"he\"");
    let message = refused(&he, "air.width=80 MHz");
    assert!(
        message.starts_with("--set air.width=80 MHz: air.width is \"80 MHz\", which does not fit"),
        "{message}"
    );
    let ht = text("standard = \"ht\"", "preset = \"ath9k-fq\"", "", "");
    let message = refused(&ht, "air.standard=he");
    assert!(message.starts_with("--set air.standard=he: air.standard is \"he\", which does not fit access-point.preset = \"ath9k-fq\""), "{message}");
    let wide = air("standard = \"vht\"\nwidth = \"80 MHz\"");
    let message = refused(&wide, "air.standard=ht");
    assert!(message.starts_with("--set air.standard=ht: air.standard is \"ht\""), "{message}");
}

#[test]
fn what_no_radio_can_do_is_doubted() {
    let doubts =
        |station: &str| read(&text("standard = \"vht\"", "", station, "")).doubts().collect::<Vec<_>>();
    let at = |channel: &str| doubts(&format!("channel = {{ {channel} }}"));
    let far = at("kind = \"log-distance\", distance = \"10 km\"");
    assert_eq!(far.len(), 1, "{far:?}");
    assert!(far[0].starts_with("station phone is out of range: at 10000 m its SNR is -57 dB"), "{far:?}");
    assert_eq!(at("kind = \"fixed\", snr = \"-15 dB\"").len(), 1);
    for near in [
        "kind = \"ideal\"",
        "kind = \"fixed\", snr = \"5 dB\"",
        "kind = \"log-distance\", distance = \"60 m\"",
        "kind = \"log-distance\", walk = { from = \"10 km\", to = \"5 m\" }",
    ] {
        assert_eq!(at(near), Vec::<String>::new(), "{near}");
    }
    // The shipped trace has up to some 30 Mbit/s; in kbit/s it would be thousands.
    let trace =
        |scale: u32| at(&format!("kind = \"trace\", file = \"shipped:crowded-room.log\", scale = {scale}"));
    assert_eq!(trace(1), Vec::<String>::new());
    let fast = trace(100);
    assert!(fast.len() == 1 && fast[0].contains("write scale = 0.001"), "{fast:?}");
}

#[test]
fn networks_have_the_channels_of_their_band() {
    let networks = |air: &str, channels: u32| {
        text(air, "", "", &format!("[[network]]\nname = \"flat\"\ncount = {channels}\nchannels = {channels}"))
    };
    let narrow = "band = \"2.4 GHz\"\nstandard = \"ht\"\nwidth = \"20 MHz\"";
    read(&networks(narrow, 4));
    check(&networks(narrow, 5), &["network entries use 5 channels", "2.4 GHz has 4 of 20 MHz"]);
    read(&networks(&narrow.replace("20 MHz", "40 MHz"), 2));
    check(&networks(&narrow.replace("20 MHz", "40 MHz"), 3), &["2.4 GHz has 2 of 40 MHz"]);
    read(&networks("standard = \"vht\"", 20));
}
