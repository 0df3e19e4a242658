//! Wrong input: one sentence, exit code 2, nothing left behind.

use crate::place::{Place, TINY};

#[test]
fn options() {
    let place = Place::new();
    for (arguments, words) in [
        (&["run"][..], "<SCENARIO>"),
        (&["run", "tiny.toml", "--jobs", "0"], "--jobs"),
        (&["run", "tiny.toml", "--seeds", "0"], "--seeds"),
        (&["run", "tiny.toml", "--seed", "-1"], "'-1' for '--seed <N>': allowed is a whole number from 0 to"),
        (&["run", "tiny.toml", "--seed", "99999999999999999999999"], "from 0 to 9223372036854775807"),
        (
            &["run", "tiny.toml", "--seed", "9223372036854775807", "--seeds", "2"],
            "the largest one, 9223372036854775807",
        ),
        (&["run", "tiny.toml", "--seeds", "99999999999"], "--seeds"),
        (&["run", "tiny.toml", "--seed", "x"], "'x' for '--seed <N>': allowed is a whole number"),
        (&["run", "tiny.toml", "--nonsense"], "--nonsense"),
        (&["arena", "--rules", "best"], "--rules best: there is no such rule; rules are gcc"),
        (&["arena", "--places", "attic"], "--places attic: there is no such place; places are calm"),
        (&["arena", "--places", "tiny.toml"], "needs a flow of kind rtc in focus"),
        (&["arena", "--rules", "gcc,gcc"], "names gcc twice"),
        (&["arena", "--schemes", "quickest"], "quickest"),
        (&["arena", "--seeds", "0"], "--seeds"),
        (&["nonsense"], "nonsense"),
        (&[], "--help"),
        (&["run", "tiny.toml", "--set", "duration"], "key=value"),
        (&["explain", "x"], "--packet"),
        (&["run", "tiny.toml", "--seeds", "2", "--pcap", "a.pcap"], "--pcap"),
        #[cfg(target_os = "linux")]
        (
            &["agent", "set", "--iface", "no-such-one", "--rule", "vr", "--p95", "15ms"],
            "cannot reach an agent",
        ),
        #[cfg(target_os = "linux")]
        (&["agent", "set", "--rule", "vr"], "--p95 <TIME>"),
        #[cfg(target_os = "linux")]
        (&["agent", "set", "--rule", "vr", "--p95", "15"], "'15' for '--p95 <TIME>'"),
        #[cfg(target_os = "linux")]
        (&["agent", "probe", "lo"], "lo is no Wi-Fi interface"),
        #[cfg(target_os = "linux")]
        (&["agent", "probe", "no-such-one"], "there is no network interface no-such-one"),
    ] {
        let sentence = place.refuse(arguments);
        assert!(sentence.contains(words), "{words} in {sentence}");
    }
}

#[test]
fn scenarios() {
    let place = Place::new();
    let write = |name: &str, text: &str| std::fs::write(place.path(name), text).expect("written");
    write("syntax.toml", "title = ");
    write("key.toml", &TINY.replace("duration =", "durations ="));
    write("unit.toml", &TINY.replace("10 Mbit/s", "10 parsec"));
    write("negative.toml", &TINY.replace("10 Mbit/s", "-10 Mbit/s"));
    write("nan.toml", &TINY.replace("10 Mbit/s", "NaN Mbit/s"));
    write("many.toml", &TINY.replace("name = \"near\"", "name = \"near\"\ncount = 1000000"));
    write("empty.toml", "");
    std::fs::write(place.path("bytes.toml"), [0xff, 0xfe, 0x00]).expect("written");
    for command in ["run", "compare", "plan"] {
        for (scenario, words) in [
            ("missing.toml", "missing.toml"),
            ("unknown", "no shipped scenario"),
            (".", "."),
            ("syntax.toml", "syntax.toml:1"),
            ("key.toml", "durations"),
            ("unit.toml", "parsec"),
            ("negative.toml", "negative.toml:"),
            ("nan.toml", "nan.toml:"),
            ("many.toml", "many.toml:"),
            ("empty.toml", "duration"),
            ("bytes.toml", "UTF-8"),
        ] {
            let sentence = place.refuse(&[command, scenario]);
            assert!(sentence.contains(words), "{words} in {sentence}");
        }
        place.refuse(&[command, "tiny.toml", "--set", "flow.stream.rte=1 Mbit/s"]);
        place.refuse(&[command, "tiny.toml", "--set", "flow.nobody.rate=1 Mbit/s"]);
        let sentence = place.refuse(&[command, "tiny.toml", "--set", "station.near.name=phone"]);
        let blamed = "--set station.near.name=phone: station.near.name takes away the name that flow.stream.station (tiny.toml:";
        assert!(sentence.contains(blamed), "{sentence}");
        place.refuse(&[command, "tiny.toml", "--trace", "a.log"]);
        let sentence = place.refuse(&[command, "trace-vr", "--trace", "missing.log"]);
        assert!(sentence.contains("missing.log"), "{sentence}");
    }
}

#[test]
fn schemes() {
    let place = Place::new();
    let sentence = place.refuse(&["run", "tiny.toml", "--scheme", "codle"]);
    assert!(sentence.contains("did you mean codel"), "{sentence}");
    place.refuse(&["compare", "tiny.toml", "--schemes", "fifo,nothing"]);
    place.refuse(&["compare", "tiny.toml", "--schemes", "fifo,pie+fifo"]);
    assert!(place.refuse(&["compare", "tiny.toml", "--schemes", ""]).contains("--schemes: "));
    assert!(
        place.refuse(&["run", "tiny.toml", "--scheme", " "]).starts_with("airbound: --scheme is empty; ")
    );
    assert!(place.refuse(&["run", "tiny.toml", "--scheme", "pie+"]).contains("empty name"));
    assert!(place.refuse(&["compare", "tiny.toml", "--schemes", "pie,pie"]).contains("twice"));
}

#[test]
fn folders() {
    let place = Place::new();
    std::fs::create_dir(place.path("mine")).expect("a folder");
    std::fs::write(place.path("mine/letter.txt"), "Dear").expect("written");
    std::fs::create_dir(place.path("empty")).expect("a folder");
    for command in ["run", "compare"] {
        assert!(place.refuse(&[command, "tiny.toml", "--out", "mine"]).contains("mine"));
        place.refuse(&[command, "tiny.toml", "--out", "tiny.toml"]);
        place.refuse(&[command, "tiny.toml", "--out", "tiny.toml/below"]);
        place.refuse(&[command, "tiny.toml", "--out", "/proc/here"]);
        place.refuse(&[command, "tiny.toml", "--out", ""]);
    }
    place.refuse(&["run", "tiny.toml", "--out", "deep/er", "--pcap", "nowhere/air.pcap"]);
    place.refuse(&["run", "tiny.toml", "--out", "deep/er", "--pcap", "mine"]);
    place.refuse(&["run", "tiny.toml", "--out", "deep/er", "--pcap", ""]);
    assert_eq!(place.bytes("mine/letter.txt"), b"Dear");
    place.succeed(&["run", "tiny.toml", "--out", "empty"]);

    // A run is no comparison, nor the other way round; what somebody put into a comparison is not thrown away.
    let run = place.refuse(&["compare", "tiny.toml", "--out", "empty"]);
    assert!(run.contains("empty holds a run of airbound, which a comparison does not replace"), "{run}");
    place.succeed(&["compare", "tiny.toml", "--out", "both"]);
    let both = place.refuse(&["run", "tiny.toml", "--out", "both"]);
    assert!(both.contains("both holds a comparison of airbound, which a run does not replace"), "{both}");
    assert!(place.refuse(&["explain", "both", "--packet", "1"]).contains("fifo-seed1"));
    std::fs::write(place.path("both/notes.txt"), "Remember").expect("written");
    assert!(place.refuse(&["compare", "tiny.toml", "--out", "both"]).contains("notes.txt"));
}

#[test]
fn damaged_results() {
    let place = Place::new();
    place.succeed(&["run", "tiny.toml", "--out", "a"]);
    let packets = place.bytes("a/packets.parquet");
    std::fs::write(place.path("a/packets.parquet"), &packets[..packets.len() / 2]).expect("written");
    place.refuse(&["explain", "a", "--packet", "1"]);
    std::fs::write(place.path("a/summary.json"), "{}").expect("written");
    place.refuse(&["report", "a"]);
    std::fs::write(place.path("a/comparison.json"), "{").expect("written");
    place.refuse(&["report", "a"]);
}

/// A file that may not grow is what a full disk looks like.
#[cfg(target_os = "linux")]
#[test]
fn init_leaves_nothing_on_a_full_disk() {
    let place = Place::new();
    let before = place.list();
    let full =
        format!("trap '' XFSZ; ulimit -f 0; exec {} init new.toml --yes", env!("CARGO_BIN_EXE_airbound"));
    let output = std::process::Command::new("sh").args(["-c", &full]).current_dir(place.path("")).output();
    let output = output.expect("a shell");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("new.toml"), "{output:?}");
    assert_eq!(place.list(), before);
    place.succeed(&["init", "new.toml", "--yes", "--quiet"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_configuration_is_checked_without_wifi() {
    let place = Place::new();
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/agent.toml");
    let text = place.succeed(&["agent", "check", shipped]);
    assert!(text.ends_with("agent.toml is valid: scheme last-pq, no protected flows\n"), "{text}");
    std::fs::write(place.path("empty.toml"), "\n").expect("written");
    let text = place.succeed(&["agent", "check", "empty.toml"]);
    assert_eq!(text, "empty.toml is empty, which is valid and means: scheme last-pq, no protected flows\n");
    let rule =
        |condition| format!("[[protect]]\nname = \"vr\"\nmatch = \"{condition}\"\nlatency = \"20 ms\"\n");
    std::fs::write(place.path("agent.toml"), rule("udp dport 9944")).expect("written");
    assert!(place.succeed(&["agent", "check", "agent.toml"]).ends_with("1 protected flow\n"));
    std::fs::write(place.path("agent.toml"), rule("udp dpart 9944")).expect("written");
    let sentence = place.refuse(&["agent", "check", "agent.toml"]);
    assert!(sentence.contains("agent.toml:3: protect.match, "), "{sentence}");
    std::fs::write(place.path("agent.toml"), "watchdog = \"1 ms\"\n").expect("written");
    let sentence = place.refuse(&["agent", "check", "agent.toml"]);
    assert!(sentence.contains("agent.toml:1: watchdog is 1 ms; allowed is 200 ms to 10 s"), "{sentence}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_file_of_two_radios_is_checked() {
    let place = Place::new();
    let radio = |name: &str, keys: &str| format!("[[radio]]\ninterface = \"{name}\"\n{keys}");
    let rule = "[[radio.protect]]\nname = \"vr\"\nmatch = \"udp dport 9944\"\nlatency = \"20 ms\"\n";
    let two = |keys: &str| format!("scheme = \"linux\"\n{}{}", radio("wlan0", ""), radio("wlan1", keys));
    std::fs::write(place.path("agent.toml"), two(&format!("scheme = \"last-pq\"\n{rule}"))).expect("written");
    assert_eq!(
        place.succeed(&["agent", "check", "agent.toml"]),
        "agent.toml is valid: 2 radios\n  wlan0: scheme linux, no protected flows\n  wlan1: scheme last-pq, 1 protected flow\n"
    );
    let json = place.json(&["agent", "check", "agent.toml", "--json"]);
    assert_eq!(json["radios"][1]["interfaces"][0], "wlan1", "{json}");
    assert_eq!(json["radios"][1]["rules"][0], "vr", "{json}");
    let run =
        |option: &str, name: &str| place.refuse(&["agent", "run", "--config", "agent.toml", option, name]);
    let sentence = run("--radio", "wlan2");
    assert!(sentence.contains("--radio \"wlan2\" is unknown; the file names wlan0, wlan1"), "{sentence}");
    let sentence = run("--iface", "wlan2");
    assert!(sentence.contains("--iface does not apply to a file of several radios"), "{sentence}");
    let sentence = run("--metrics", "127.0.0.1:65535");
    assert!(sentence.contains("--metrics is 127.0.0.1:65535, and radio wlan1 would"), "{sentence}");
    std::fs::write(place.path("agent.toml"), two("latency = \"9 ms\"\n")).expect("written");
    let sentence = place.refuse(&["agent", "check", "agent.toml"]);
    assert!(sentence.contains("agent.toml:6: unknown field `latency`"), "{sentence}");
    std::fs::write(place.path("agent.toml"), two("").replace("wlan1", "wlan0")).expect("written");
    let sentence = place.refuse(&["agent", "check", "agent.toml"]);
    assert!(sentence.contains("agent.toml:5: radio.interface \"wlan0\" occurs twice"), "{sentence}");
}
