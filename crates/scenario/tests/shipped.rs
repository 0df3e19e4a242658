//! The shipped scenarios load, from the program and from the repository alike.

use std::path::PathBuf;

use airbound_scenario::{ChannelSpec, Overrides, Scenario, ScenarioError, Traffic, find_shipped, shipped};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn with(name: &str, sets: &[(&str, &str)]) -> Scenario {
    find_shipped(name).unwrap().load(&Overrides::from_pairs(sets)).unwrap()
}

#[test]
fn all_load_and_survive_printing() {
    for entry in shipped() {
        let scenario = entry.load(&Overrides::none()).unwrap();
        assert!(!entry.title().is_empty() && entry.title() == scenario.title, "{}", entry.name);
        assert!(!scenario.description.is_empty(), "{}", entry.name);
        assert!(scenario.focus_name().is_some(), "{}", entry.name);
        for scheme in &scenario.schemes {
            scenario.with_scheme(scheme).unwrap();
        }
        let again = Scenario::parse(&scenario.to_toml(), entry.name, &Overrides::none()).unwrap();
        assert_eq!(again, scenario, "{}", entry.name);
    }
}

#[test]
fn every_file_of_the_folder_is_shipped_and_loads_from_there() {
    let mut files: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".toml").map(str::to_owned))
        .collect();
    files.sort();
    let mut names: Vec<&str> = shipped().iter().map(|entry| entry.name).collect();
    names.sort_unstable();
    assert_eq!(files, names);
    for name in names {
        let from_file = Scenario::load(&folder().join(format!("{name}.toml")), &Overrides::none()).unwrap();
        let mut embedded = find_shipped(name).unwrap().load(&Overrides::none()).unwrap();
        for (ours, theirs) in embedded.stations.iter_mut().zip(&from_file.stations) {
            // Only the name of a trace may differ.
            if let (ChannelSpec::Trace(ours), ChannelSpec::Trace(theirs)) =
                (&mut ours.channel, &theirs.channel)
            {
                ours.file.clone_from(&theirs.file);
            }
        }
        assert_eq!(embedded, from_file, "{name}");
    }
}

#[test]
fn open_takes_names_and_files() {
    let none = Overrides::none();
    assert_eq!(Scenario::open("hello", &none).unwrap().stations.len(), 1);
    let file = folder().join("hello.toml");
    assert_eq!(
        Scenario::open(file.to_str().unwrap(), &none).unwrap(),
        Scenario::open("hello", &none).unwrap()
    );
    let error = Scenario::open("helo", &none).unwrap_err();
    assert!(matches!(error, ScenarioError::NotShipped { .. }), "{error}");
}

#[test]
fn the_cases_of_the_last_pq_paper_are_one_override_away() {
    let four_clients = with("vr-multi-client", &[("station.client.count", "4")]);
    assert_eq!(four_clients.stations.len(), 5);
    assert_eq!(four_clients.flows.len(), 6);
    let busy_phone = with("vr-multi-client", &[("flow.bulk-phone.count", "3")]);
    assert_eq!(busy_phone.flows.len(), 8);
    let alone = with("vr-multi-flow", &[("flow.bulk.count", "0")]);
    assert_eq!(alone.flows.len(), 2);
    let no_clients = with("vr-multi-client", &[("station.client.count", "0")]);
    assert_eq!(no_clients.flows.len(), 2);
    for station in &four_clients.stations {
        let rate = station.rate.unwrap().bit_rate().as_mbps_f64();
        assert_eq!(rate, if station.name == "phone" { 162.0 } else { 405.0 });
    }
}

#[test]
fn a_variant_of_a_queue_has_a_name_of_its_own() {
    let home = with("mixed-home", &[]);
    let [named, auto] = ["last-pq", "last-pq-auto"].map(|name| home.scheme.with_name(name).unwrap());
    assert_eq!((named.queue.kind(), auto.queue.kind()), ("last-pq", "last-pq"));
    assert_eq!((named.queue.name(), auto.queue.name()), ("last-pq", "last-pq-auto"));
    assert_eq!(auto.to_string(), "last-pq-auto+minstrel-ht+cubic");
    // Its values can be read, and read again.
    assert_eq!(auto.queue.parameters().get("protect").and_then(|value| value.as_str()), Some("auto"));
    let written = with("mixed-home", &[("scheme.queue", "\"last-pq-auto\"")]);
    assert_eq!(written.scheme, auto);
    assert_eq!(Scenario::parse(&written.to_toml(), "printed", &Overrides::none()).unwrap().scheme, auto);
}

#[test]
fn the_ns3_scenarios_offer_what_ns3_offered() {
    for (name, stations, total_mbps) in [
        ("vht-saturated-n1", 1, 632.525),
        ("vht-saturated-n5", 5, 632.495),
        ("vht-saturated-n20", 20, 632.309),
    ] {
        let scenario = with(name, &[]);
        assert_eq!(scenario.stations.len(), stations);
        let rates = scenario.flows.iter().map(|flow| match &flow.traffic {
            Traffic::Cbr(cbr) => cbr.rate.as_mbps_f64(),
            other => panic!("{other:?}"),
        });
        assert!((rates.sum::<f64>() - total_mbps).abs() < 1e-3);
        assert!(
            scenario.stations.iter().all(|station| station.rate.unwrap().bit_rate().as_mbps_f64() == 780.0)
        );
        let mut starts: Vec<_> = scenario.flows.iter().map(|flow| flow.start).collect();
        starts.dedup();
        assert_eq!(starts.len(), stations);
    }
}

/// The reference lists every key of a printed scenario.
#[test]
fn the_reference_is_complete() {
    let reference = std::fs::read_to_string(folder().join("../docs/reference/scenario-keys.md")).unwrap();
    for entry in shipped() {
        let printed = entry.load(&Overrides::none()).unwrap().to_toml();
        for line in printed.lines() {
            let key = line
                .split_once(" = ")
                .map(|(key, _)| key)
                .or_else(|| line.strip_prefix('[')?.strip_suffix(']'));
            for part in
                key.unwrap_or_default().trim_matches(['[', ']']).split('.').filter(|part| !part.is_empty())
            {
                let named = ["`{}`", "`[{}]`", "`[[{}]]`", "`{} ="].map(|form| form.replace("{}", part));
                assert!(
                    named.iter().any(|form| reference.contains(form))
                        || reference.contains(&format!("{part} = ")),
                    "{part} of {line}"
                );
            }
        }
    }
}
