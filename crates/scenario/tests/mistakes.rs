//! All mistakes of a file at once, each once, and nothing that only follows from another.

use airbound_scenario::{Overrides, Scenario, shipped};

/// Writes a file and returns its mistakes.
fn mistakes(text: &str, sets: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("flat.toml");
    std::fs::write(&file, text).expect("written");
    let name = file.display().to_string();
    let found = Scenario::examine(&name, &Overrides::from_pairs(sets)).expect_err("mistakes");
    let place = format!("{}/", folder.path().display());
    found.iter().map(|mistake| mistake.to_string().replace(&place, "")).collect()
}

fn assert_begins(found: &[String], expected: &[&str]) {
    let agree = found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| found.starts_with(expected));
    assert!(agree, "expected:\n{}\nfound:\n{}", expected.join("\n"), found.join("\n"));
}

#[test]
fn each_mistake_has_its_line() {
    let text = r#"duratoin = "2 s"
warm-up = "soon"
schemes = ["fifo", "codle", "pei"]
[air]
width = "30 MHz"
speed = 3
[[station]]
name = "a phone"
away = { period = "1 s", length = "2 s" }
[[station]]
name = "laptop"
channel = { kind = "log-distance", distance = 5 }
[[flow]]
name = "call"
type = "rtc"
to = "a phone"
[[flow]]
name = "stream"
kind = "cbr"
station = "laptp"
rate = 20
demand = "1 ms"
[[flow]]
name = "download"
station = "laptop"
kind = "ftp"
[[neighbour]]
load = 0.3
[access-point.shaper]
queue = "linux"
"#;
    assert_begins(
        &mistakes(text, &[("seed", "-1"), ("wire.rte", "1 Gbit/s")]),
        &[
            "--set seed=-1: seed is -1",
            "--set wire.rte=1 Gbit/s: unknown key wire.rte; did you mean rate?",
            "flat.toml:1: unknown key duratoin; did you mean duration?",
            "flat.toml:2: warm-up is wrong",
            "flat.toml:3: scheme \"codle\"",
            "flat.toml:3: scheme \"pei\"",
            "flat.toml:5: air.width is wrong",
            "flat.toml:6: unknown key air.speed",
            "flat.toml:8: station.a phone.name is \"a phone\"",
            "flat.toml:9: station.unnamed-",
            "flat.toml:12: station.laptop.channel.distance is the number 5",
            "flat.toml:15: unknown key flow.call.type; did you mean kind?",
            "flat.toml:16: unknown key flow.call.to; did you mean station?",
            "flat.toml:20: flow.stream.station is \"laptp\"",
            "flat.toml:21: flow.stream.rate is the number 20",
            "flat.toml:22: flow.stream.demand is 1 ms",
            "flat.toml:26: flow.download.kind is \"ftp\"",
            "flat.toml:27: neighbour.0.name is missing",
            "flat.toml:28: neighbour.",
            "flat.toml:29: access-point.shaper.rate is missing",
            "flat.toml:30: access-point.shaper.queue is the text \"linux\"",
        ],
    );
}

#[test]
fn what_follows_from_a_mistake_is_none() {
    // The flow refers to a station whose name is wrong, and the focus to a flow without a kind.
    let text = r#"duration = "2 s"
focus = "stream"
[[station]]
name = "a phone"
[[flow]]
name = "stream"
station = "a phone"
kind = "udp"
"#;
    assert_begins(
        &mistakes(text, &[]),
        &["flat.toml:4: station.a phone.name", "flat.toml:8: flow.stream.kind is \"udp\""],
    );
}

#[test]
fn one_mistake_is_that_of_reading() {
    let good = "duration = \"2 s\"\n[[station]]\nname = \"a\"\n[[flow]]\nname = \"f\"\nstation = \"a\"\nkind = \"tcp\"\n";
    for wrong in
        ["x = ", "", "duration = \"2 s\"", &good.replace("2 s", "2 h 2 min"), &good.replace("tcp", "cbr")]
    {
        let one = Scenario::parse(wrong, "flat.toml", &Overrides::none()).expect_err("wrong").to_string();
        assert_eq!(mistakes(wrong, &[])[0], one, "{wrong}");
    }
    let missing = Scenario::examine("nowhere.toml", &Overrides::none()).expect_err("no file");
    assert!(missing.len() == 1 && missing[0].to_string().contains("cannot be read"), "{missing:?}");
}

#[test]
fn a_right_scenario_is_that_of_opening() {
    for scenario in shipped() {
        let examined = Scenario::examine(scenario.name, &Overrides::none()).expect(scenario.name);
        assert_eq!(Ok(examined), Scenario::open(scenario.name, &Overrides::none()));
    }
    let overrides = Overrides::from_pairs(&[("flow.call.rate", "fast"), ("air.width", "30 MHz")]);
    let found = Scenario::examine("my-flat", &overrides).expect_err("two");
    assert_eq!(found.len(), 2, "{found:?}");
}

/// Two mistakes in any two lines of a scenario are found, or one hides the other; there is an end to the search in any case.
#[test]
fn words_in_the_place_of_any_value_are_found() {
    let text = shipped().iter().find(|scenario| scenario.name == "my-flat").expect("it is shipped").text;
    let lines: Vec<&str> = text.lines().collect();
    let values: Vec<usize> = (0..lines.len())
        .filter(|number| lines[*number].contains(" = ") && !lines[*number].starts_with(['#', 't', 'd']))
        .collect();
    for pair in values.windows(2) {
        let broken: Vec<String> = lines
            .iter()
            .enumerate()
            .map(|(number, line)| match line.split_once(" = ") {
                Some((key, _)) if pair.contains(&number) => format!("{key} = true"),
                _ => (*line).to_owned(),
            })
            .collect();
        let found = mistakes(&broken.join("\n"), &[]);
        let line = |number: &usize| format!("flat.toml:{}:", number + 1);
        let named: Vec<bool> =
            pair.iter().map(|number| found.iter().any(|one| one.starts_with(&line(number)))).collect();
        let is_boolean =
            |number: &usize| lines[*number].ends_with("true") || lines[*number].ends_with("false");
        let wanted = pair.iter().any(|number| !is_boolean(number));
        assert!(!wanted || named.contains(&true), "{pair:?}: {found:?}");
        // Nothing else is blamed.
        assert!(
            found.len() <= 2
                && found.iter().all(|one| pair.iter().any(|number| one.starts_with(&line(number)))),
            "{pair:?}: {found:?}"
        );
    }
}

#[test]
fn a_wrong_place_is_one_mistake() {
    let hearing = |places: &str| {
        format!(
            "duration = \"1 s\"\n[[station]]\nname = \"near\"\n[[station]]\nname = \"far\"\n[[flow]]\n\
             kind = \"cbr\"\nname = \"a\"\nstation = \"near\"\nrate = \"1 Mbit/s\"\n[hearing]\nsize = [\"20 m\", \"10 m\"]\n\
             [hearing.places]\naccess-point = [\"1 m\", \"1 m\"]\n{places}"
        )
    };
    assert_begins(
        &mistakes(&hearing("near = [\"-3 m\", \"1 m\"]\nfar = [\"9 m\", \"1 m\"]\n"), &[]),
        &["flat.toml:15: hearing.places.near is wrong: \"-3 m\" is out of range"],
    );
    assert_begins(
        &mistakes(&hearing("far = [\"9 m\", \"1 m\"]\n"), &[]),
        &["flat.toml:13: hearing.places gives no place to near"],
    );
}

#[test]
fn a_pair_that_does_not_fit_is_one_mistake() {
    let air = |lines: &str| {
        format!(
            "duration = \"1 s\"\n[air]\n{lines}\n[[station]]\nname = \"near\"\n[[flow]]\nname = \"a\"\nkind = \"cbr\"\n\
             station = \"near\"\nrate = \"1 Mbit/s\"\n"
        )
    };
    assert_begins(
        &mistakes(&air("band = \"2.4 GHz\"\nstandard = \"he\"\nwidth = \"80 MHz\""), &[]),
        &["flat.toml:5: air.width is \"80 MHz\", which does not fit air.band = \"2.4 GHz\""],
    );
    // A band beside the default that stands in for a wrong standard is no mistake of its own.
    assert_begins(
        &mistakes(&air("band = \"2.4 GHz\"\nstandard = \"hx\""), &[]),
        &["flat.toml:4: air.standard is the text \"hx\""],
    );
    let sets = [("air.standard", "vht")];
    assert_begins(
        &mistakes(&air("band = \"2.4 GHz\"\nstandard = \"he\""), &sets),
        &["--set air.standard=vht: air.standard is \"vht\", which does not fit air.band = \"2.4 GHz\""],
    );
}
