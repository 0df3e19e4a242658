//! A printed scenario reads as the same scenario again; no input makes the reader panic.

use airbound_scenario::{Overrides, Scenario, shipped};
use proptest::prelude::*;

#[test]
fn ten_megahertz_have_their_band_and_their_rates() {
    let text = "duration = \"1 s\"\n[air]\nstandard = \"legacy\"\nwidth = \"10 MHz\"\n[[station]]\nname = \"car\"\n\
                rate = \"OFDM10 27 Mbit/s\"\n[[flow]]\nname = \"up\"\nkind = \"cbr\"\nstation = \"car\"\nrate = \"1 Mbit/s\"\n";
    let read = |text: &str| Scenario::parse(text, "narrow", &Overrides::none()).expect("a scenario");
    let scenario = read(text);
    assert_eq!(scenario.air.band, airbound_wifi::Band::Ghz59);
    let set = scenario.access_point_capabilities().rate_set().expect("rates");
    let rates: Vec<f64> = set.as_slice().iter().map(|rate| rate.bit_rate().as_mbps_f64()).collect();
    assert_eq!(rates, [3.0, 4.5, 6.0, 9.0, 12.0, 18.0, 24.0, 27.0]);
    let printed = scenario.to_toml();
    assert_eq!(read(&printed), scenario, "{printed}");
}

fn span() -> impl Strategy<Value = String> {
    prop_oneof![
        (1u64..10_000).prop_map(|n| format!("{n} us")),
        (1u64..10_000).prop_map(|n| format!("{n} ms")),
        (1u32..1000).prop_map(|n| format!("{}.{} ms", n / 7, n % 997)),
    ]
}

fn position() -> impl Strategy<Value = String> {
    prop_oneof![
        (1u32..2000).prop_map(|d| format!("distance = \"{} m\"", f64::from(d) / 7.0)),
        (1u32..99, 1u32..99, any::<bool>()).prop_map(|(from, to, back)| format!(
            "walk = {{ from = \"{from} m\", to = \"{to} m\", speed = \"1.3 m/s\", return = {back} }}"
        )),
        proptest::collection::vec(1u32..99, 1..5).prop_map(|distances| {
            let points: Vec<String> = distances
                .iter()
                .enumerate()
                .map(|(i, d)| format!("[\"{} ms\", \"{d} m\"]", i * 1500))
                .collect();
            format!("path = [{}]", points.join(", "))
        }),
    ]
}

fn channel() -> impl Strategy<Value = String> {
    let fading = prop_oneof![
        Just("\"none\"".to_owned()),
        Just("\"rayleigh\"".to_owned()),
        Just("{ kind = \"rayleigh\", independence = \"per-ppdu\" }".to_owned()),
        (0u32..30).prop_map(|k| format!("{{ kind = \"rician\", k = \"{k}.5 dB\", speed = \"0.7 m/s\" }}")),
        (1u32..40).prop_map(|m| format!("{{ kind = \"nakagami\", m = {} }}", f64::from(m) / 3.0 + 0.5)),
        Just("{ kind = \"nakagami\", m = \"by-distance\" }".to_owned()),
    ];
    prop_oneof![
        Just("kind = \"ideal\"".to_owned()),
        (-10i32..60).prop_map(|snr| format!("kind = \"fixed\", snr = \"{}.25 dB\"", snr)),
        (position(), fading, 0u32..9).prop_map(|(position, fading, sigma)| format!(
            "kind = \"log-distance\", {position}, fading = {fading}, shadowing = \"{sigma} dB\""
        )),
        (1u32..90, 0u32..10, any::<bool>()).prop_map(|(length, spread, room)| format!(
            "kind = \"log-distance\", distance = \"9 m\", blockage = [{{ length = \"{length}.3 s\", \
             length-spread = {}, pause = \"77 s\", depth = \"{spread}.5 dB\" }}, {{ ramp = \"1 ms\" }}]{}",
            f64::from(spread) / 9.1,
            if room { ", activity = { quiet-level = 0.3, pause = \"5 min\" }" } else { "" }
        )),
        Just("kind = \"trace\", file = \"shipped:crowded-room.log\", scale = 1.5, as = \"pipe\"".to_owned()),
        Just("kind = \"trace\", file = \"shipped:corridor.csv\", loop = false".to_owned()),
    ]
}

fn traffic() -> impl Strategy<Value = String> {
    prop_oneof![
        (1u64..100_000, 12u32..1400).prop_map(|(rate, size)| format!(
            "kind = \"cbr\"\nrate = \"{rate} kbit/s\"\nsize = \"{size} B\""
        )),
        (1u64..900).prop_map(|rate| format!("kind = \"poisson\"\nrate = \"{rate} Mbit/s\"")),
        (12u64..1472).prop_map(|size| format!("kind = \"paced\"\nsize = \"{size} B\"")),
        Just("kind = \"voip\"\ncategory = \"be\"".to_owned()),
        (1u64..900)
            .prop_map(|limit| format!("kind = \"tcp\"\nlimit = \"{limit} Mbit/s\"\ncongestion = \"bbr\"")),
        Just("kind = \"tcp\"\nreceive-window = \"1 MiB\"".to_owned()),
        span().prop_map(|interval| format!(
            "kind = \"tcp-short\"\nsize = \"70 kB\"\ninterval = \"2 s\"\nstart = \"{interval}\""
        )),
        (1u32..60, 0u32..20).prop_map(|(fps, sigma)| format!(
            "kind = \"vr\"\nfps = {fps}\ntransport = \"udp\"\nsize-law = \"lognormal({})\"",
            f64::from(sigma) / 13.0
        )),
        Just("kind = \"vr\"\nawait-delivery = true".to_owned()),
        (10u64..1_000_000, 1u32..60, any::<bool>()).prop_map(|(rate, fps, nack)| format!(
            "kind = \"rtc\"\nrate = \"{rate} kbit/s\"\nfps = {fps}\nnack = {nack}\nfec-overhead = {}",
            1.0 / f64::from(fps)
        )),
        Just(
            "kind = \"rtc\"\nfec = \"reed-solomon\"\ncongestion = { kind = \"gcc\", probing = false }"
                .to_owned()
        ),
        Just("kind = \"rtc\"\ncongestion = \"fixed\"\nsize-law = \"constant\"".to_owned()),
        any::<bool>().prop_map(|again| format!(
            "kind = \"replay\"\nfile = \"shipped:browser-camera.csv\"\nloop = {again}"
        )),
    ]
}

fn demand() -> impl Strategy<Value = String> {
    let one = || {
        prop_oneof![
            Just("\"none\"".to_owned()),
            (2u32..10_000).prop_map(|latency| format!("\"{latency} ms\"")),
            (2_000u32..90_000, 1u32..=300).prop_map(|(latency, part)| format!(
                "{{ latency = \"{latency} us\", percentile = {} }}",
                f64::from(part) / 3.0
            )),
        ]
    };
    prop_oneof![
        Just(String::new()),
        one().prop_map(|demand| format!("demand = {demand}")),
        proptest::collection::vec((1u32..500, one()), 1..4).prop_map(|steps| {
            let mut time = 0;
            let steps: Vec<String> = steps
                .iter()
                .map(|(later, demand)| {
                    time += later;
                    format!("[\"{} ms\", {demand}]", time - 1)
                })
                .collect();
            format!("demand = [{}]", steps.join(", "))
        }),
    ]
}

fn scenario_text() -> impl Strategy<Value = String> {
    let head = (span(), span(), any::<u32>(), prop_oneof![Just("ht"), Just("vht"), Just("he")]);
    let preset = prop_oneof![Just("mac80211"), Just("ath9k-fq"), Just("direct")].prop_map(str::to_owned);
    let extras = prop_oneof![
        Just(String::new()),
        Just("[[neighbour]]\nname = \"n\"\ntransmitters = 3\nload = \"2 Mbit/s\"\n".to_owned()),
        Just("[[neighbour]]\nname = \"n\"\nmean-on = \"70 ms\"\nmean-off = \"2 s\"\n".to_owned()),
        (1u32..4, 1u32..3, prop_oneof![Just(""), Just("scheme = \"fifo\"\n")]).prop_map(|(count, channels, scheme)| {
            format!("[[network]]\nname = \"n\"\ncount = {count}\nchannels = {channels}\n{scheme}[[network]]\nname = \"m\"\n")
        }),
        prop_oneof![Just("wake = \"u-apsd\""), Just("timeout = \"7 ms\", listen-interval = 3"), Just("")]
            .prop_map(|keys| format!("[[station]]\nname = \"sleeper\"\npower-save = {{ {keys} }}\n")),
        (2u32..900, 1u32..2000, any::<bool>()).prop_map(|(period, phase, announced)| format!(
            "[access-point.away]\nperiod = \"{period} ms\"\nlength = \"{} us\"\nphase = \"{phase} us\"\nannounced = {announced}\n",
            period * 7
        )),
        (1u64..90_000, 0u32..9000, prop_oneof![Just("fifo"), Just("fq-codel")]).prop_map(|(rate, burst, queue)| format!(
            "[access-point.shaper]\nrate = \"{rate} kbit/s\"\nburst = \"{burst} B\"\nqueue = \"{queue}\"\n"
        )),
        Just("[hearing]\nmatrix = { s0 = [], access-point = [\"s0\"] }\n".to_owned()),
        Just("[[neighbour]]\nname = \"n\"\n[hearing]\nmatrix = { n = [\"access-point\"] }\n".to_owned()),
        (1u32..90, 0u32..30).prop_map(|(x, loss)| format!(
            "[hearing]\nsize = [\"100 m\", \"9.5 m\"]\nexponent = 2\nreference-loss = \"20 dB\"\n\
             walls = [{{ from = [\"{x} m\", \"0 m\"], to = [\"{x} m\", \"8 m\"], loss = \"{loss} dB\" }}]\n\
             places = {{ access-point = [\"4 m\", \"5 m\"], s0 = [\"{x} m\", \"9 m\"], s1 = [\"0 m\", \"0 m\"], \
             s2 = [\"1 m\", \"1.5 m\"] }}\n"
        )),
        (0u32..100, any::<bool>(), 0u32..20).prop_map(|(share, asks, margin)| format!(
            "[radio]\nanswer-loss = {}\nprotection-loss = \"signal\"\nmissed-block-ack = \"{}\"\n[radio.capture]\n\
             preamble = \"{margin} dB\"\nlevel = \"-51 dBm\"\nlevels = {{ access-point = {{ s0 = \"-63.5 dBm\" }} }}\n",
            f64::from(share) / 100.0,
            if asks { "request" } else { "repeat" },
        )),
        Just("[hearing]\nmatrix = { s0 = [] }\n[radio.capture]\ntakeover = \"3 dB\"\nlevels = {}\n".to_owned()),
        Just("[radio]\n".to_owned()),
        (10u64..10_000).prop_map(|on| format!(
            "[[interference]]\nname = \"i\"\nmean-on = \"{on} us\"\neffect = \"noise\"\nlevel = \"9 dB\"\n"
        )),
    ];
    (
        head,
        preset,
        proptest::collection::vec((channel(), 0usize..4, any::<bool>()), 1..4),
        prop_oneof![Just("{ kind = \"fifo\", limit = { packets = 77 } }"), Just("\"scheme\""), Just("\"linux\"")],
        proptest::collection::vec((traffic(), 0usize..3, span(), demand()), 1..5),
        extras,
    )
        .prop_map(|((duration, window, seed, standard), preset, stations, queue, flows, extras)| {
            let mut text = format!(
                "title = \"t\"\nduration = \"5 {}\"\nwindow = \"1 s\"\nwarm-up = \"{window}\"\nseed = {seed}\n\
                 [air]\nstandard = \"{standard}\"\n[access-point]\npreset = \"{}\"\n\
                 [uplink]\nqueue = {queue}\n[wire]\ndelay = \"{duration}\"\n",
                "s",
                // ath9k is 802.11n.
                if standard == "ht" { preset } else { preset.replace("ath9k-fq", "mac80211") },
            );
            // A pipe has no relays; the first station is a single one, or a group of the size of those behind it.
            let has_pipe = stations.iter().any(|(channel, ..)| channel.contains("pipe"));
            for (index, (channel, count, is_far)) in stations.iter().enumerate() {
                let count = count + usize::from(index == 0);
                let fits = stations[0].1 == 0 || stations[0].1 + 1 == count;
                let via = if *is_far && index > 0 && fits && !has_pipe { "via = \"s0\"\n" } else { "" };
                text += &format!(
                    "[[station]]\nname = \"s{index}\"\ncount = {count}\n{via}channel = {{ {channel} }}\n"
                );
            }
            for (index, (traffic, count, stagger, demand)) in flows.iter().enumerate() {
                let count = count + usize::from(index == 0);
                let station = if index == 0 { 0 } else { index % stations.len() };
                text += &format!(
                    "[[flow]]\nname = \"f{index}\"\nstation = \"s{station}\"\ncount = {count}\nstagger = \"{stagger}\"\n{demand}\n{traffic}\n"
                );
            }
            // Networks share the air, and a pipe has no radios; places are those of stations that exist.
            let needs_air = ["[[network]]", "[access-point.away]", "power-save", "[hearing]", "[radio"];
            let is_refused = has_pipe && needs_air.iter().any(|part| extras.contains(part));
            let is_incomplete = extras.contains("places") && stations.len() < 3;
            if is_refused || is_incomplete { text } else { text + &extras }
        })
}

proptest! {
    #[test]
    fn printing_and_reading_gives_the_same(text in scenario_text()) {
        let scenario = Scenario::parse(&text, "made", &Overrides::none());
        let scenario = scenario.map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        let printed = scenario.to_toml();
        let again = Scenario::parse(&printed, "printed", &Overrides::none());
        let again = again.map_err(|error| TestCaseError::fail(format!("{error}\n{printed}")))?;
        prop_assert_eq!(&again, &scenario);
        prop_assert_eq!(again.to_toml(), printed);
    }
}

/// Any text, and any text cut out of or put into a shipped scenario.
#[test]
fn scenario_reading_never_panics() {
    airbound_corpus::check!((u8, u16, u8, Vec<u8>), 3000, |(which, at, cut, bytes)| {
        let noise = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]).into_owned();
        let _ = Scenario::parse(&noise, "noise", &Overrides::none());
        let base = shipped()[usize::from(*which) % shipped().len()].text;
        let from = base.floor_char_boundary(usize::from(*at) % (base.len() + 1));
        let to = base.floor_char_boundary((from + usize::from(*cut)).min(base.len()));
        let spliced = format!("{}{noise}{}", &base[..from], &base[to..]);
        if let Ok(scenario) = Scenario::parse(&spliced, "spliced", &Overrides::none()) {
            let again = Scenario::parse(&scenario.to_toml(), "printed", &Overrides::none());
            assert_eq!(again, Ok(scenario));
        }
    });
}

#[test]
fn any_override_never_panics() {
    airbound_corpus::check!((String, String), 2000, |(key, value)| {
        let keys = [
            key.clone(),
            format!("flow.vr.{key}"),
            format!("station.0.channel.{key}"),
            format!("hearing.{key}"),
            format!("hearing.matrix.{key}"),
            format!("radio.{key}"),
            format!("radio.capture.levels.{key}"),
            format!("air.{key}"),
            format!("access-point.shaper.{key}"),
            format!("access-point.away.{key}"),
            format!("station.0.power-save.{key}"),
            format!("scheme.sender.{key}"),
        ];
        for key in keys {
            let _ = shipped()[0].load(&Overrides::from_pairs(&[(&key, value)]));
        }
    });
}
