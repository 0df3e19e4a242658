//! `[session]` in scenario files: refused input, output, results.

use airbound_record::{FlowSummary, Summary};
use airbound_scenario::{Access, Overrides, Scenario};
use airbound_sim::Run;

const GOOD: &str = r#"duration = "4 s"
[air]
standard = "vht"
width = "20 MHz"
[scheme]
rate = "fixed"
session = { kind = "plum", rho = 0.25 }
[[station]]
name = "headset"
count = 2
rate = "VHT20 MCS1 1SS LGI"
[[station]]
name = "laptop"
[[flow]]
name = "download"
kind = "tcp"
station = "laptop"
[session]
server = "40 Mbit/s"
[session.encoder]
max-rate = "8 Mbit/s"
[[session.client]]
name = "room"
station = "headset"
demand = "30 ms"
[[session.client]]
name = "wired"
count = 2
wire = "50 Mbit/s"
[[session.client]]
name = "mobile"
trace = { file = "shipped:crowded-room.log" }
[[session.client]]
name = "pipe"
rate = "9 Mbit/s"
weight = 2
"#;

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml", &Overrides::none()).expect(text)
}

fn refused(old: &str, new: &str, parts: &[&str]) {
    assert!(GOOD.contains(old), "{old}");
    let error = Scenario::parse(&GOOD.replacen(old, new, 1), "test.toml", &Overrides::none());
    let error = error.expect_err(new).to_string();
    assert!(!error.contains('\n') && error.len() < 700, "{error}");
    for part in parts {
        assert!(error.contains(part), "\"{part}\" is not in: {error}");
    }
}

#[test]
fn clients_have_one_access_link_each() {
    let wire = "wire = \"50 Mbit/s\"";
    refused(wire, "", &["test.toml:", "session.client.wired", "station, rate, wire, trace"]);
    refused(wire, "wire = \"50 Mbit/s\"\nrate = \"2 Mbit/s\"", &["wired", "a second access link"]);
    refused(wire, "wire = \"1 bit/s\"", &["wired.wire", "100 kbit/s"]);
    refused("station = \"headset\"\n", "station = \"helmet\"\n", &["room.station", "helmet"]);
    refused("station = \"headset\"\n", "station = \"headset\"\ncount = 2\n", &["count", "[[station]]"]);
    refused("shipped:crowded-room.log", "shipped:corridor.csv", &["mobile.trace", "signal-to-noise"]);
    refused("crowded-room.log\"", "crowded-room.log\", as = \"phy\"", &["mobile.trace.as", "pipe"]);
    refused("weight = 2", "demand = \"20 ms\"", &["pipe.demand", "on the air"]);
    refused("weight = 2", "wight = 2", &["wight", "did you mean weight"]);
    refused("weight = 2", "weight = 0", &["pipe.weight", "0.001 to 1000"]);
    refused("name = \"pipe\"", "name = \"mobile\"", &["already taken", "mobile"]);
    refused(
        "name = \"pipe\"\nrate = \"9 Mbit/s\"",
        "name = \"pipe\"\nstation = \"headset-1\"",
        &["headset-1", "already a client"],
    );
}

#[test]
fn sessions_fit_the_rest_of_their_scenario() {
    let twice = "[[network]]\nname = \"ground\"\n[[network]]\nname = \"attic\"\n[scheme]";
    refused("[scheme]", twice, &["session.client", "headset-1", "several networks", "one network"]);
    refused("duration = \"4 s\"", "duration = \"2 h\"", &["test.toml:1", "duration", "at most"]);
    refused("max-rate = \"8 Mbit/s\"", "max-rate = \"100 kbit/s\"", &["max-rate", "below min-rate"]);
    refused("duration = \"4 s\"", "duration = \"4 s\"\nfocus = \"rom\"", &["focus", "room", "download"]);
    let alone = &GOOD[GOOD.find("[[session.client]]").unwrap()..];
    refused(alone, "client = [{ name = \"a\", wire = \"5 Mbit/s\" }]\n", &["session", "client"]);
}

#[test]
fn policies_need_a_session_and_right_parameters() {
    refused("rho = 0.25", "rho = 1.25", &["scheme.session", "rho", "0 to 1"]);
    refused("rho = 0.25", "roh = 0.25", &["scheme.session", "roh"]);
    refused("kind = \"plum\", rho = 0.25", "kind = \"plumb\"", &["plumb", "last-n"]);
    let over_rtp = GOOD.replace("kind = \"plum\", rho = 0.25", "kind = \"tack\"");
    let over_rtp = over_rtp.replace("[session]\n", "[session]\ncongestion = \"gcc\"\n");
    let error = Scenario::parse(&over_rtp, "test.toml", &Overrides::none()).expect_err("no TACK").to_string();
    assert!(error.contains("test.toml:7") && error.contains("acknowledgements"), "{error}");
    let without = "duration = \"1 s\"\n[scheme]\nsession = \"plum\"\n[[station]]\nname = \"a\"\n";
    let error =
        Scenario::parse(without, "test.toml", &Overrides::none()).expect_err("no session").to_string();
    assert!(error.contains("test.toml:3") && error.contains("no [session]"), "{error}");
    let hello = Scenario::open("hello", &Overrides::none()).expect("shipped");
    let error = hello.scheme.with_name("linux+plum").expect_err("no session").to_string();
    assert!(error.contains("plum") && error.contains("no [session]"), "{error}");

    let scheme = &parse(GOOD).scheme;
    assert_eq!(scheme.to_string(), "linux+fixed+cubic+plum");
    // The same kind keeps its parameters, another kind has none.
    let slot = |name: &str| scheme.with_name(name).expect(name).session.expect("a session");
    assert_eq!(slot("last-pq+plum").parameters().len(), 1);
    assert!(slot("last-n").parameters().is_empty() && slot("last-n").kind() == "last-n");
    assert!(scheme.with_name("plum+plain").is_err(), "two policies");
}

#[test]
fn the_printed_scenario_is_the_same() {
    let scenario = parse(GOOD);
    let again = parse(&scenario.to_toml());
    assert_eq!(again, scenario);
    let session = scenario.session.expect("a session");
    let names: Vec<&str> = session.clients.iter().map(|client| client.name.as_str()).collect();
    assert_eq!(names, ["room-1", "room-2", "wired-1", "wired-2", "mobile", "pipe"]);
    assert_eq!(session.clients[1].access, Access::Station("headset-2".to_owned()));
    assert_eq!(parse(&again.to_toml()).focus_name().as_deref(), Some("room-1 down"));
    let several = parse(&in_two_networks(2));
    assert_eq!(parse(&several.to_toml()), several);
}

fn summary(text: &str) -> Summary {
    let scenario = parse(text);
    let run = Run::new("test", &scenario, &scenario.scheme, scenario.seed).expect("builds");
    run.finish().expect("balanced").0.summary
}

fn find<'a>(summary: &'a Summary, name: &str) -> &'a FlowSummary {
    summary.flows.iter().find(|flow| flow.name == name).expect(name)
}

#[test]
fn clients_come_first_and_other_flows_follow() {
    let all = summary(GOOD);
    assert_eq!(all.flows.len(), 2 * 6 + 1);
    assert_eq!(all.scheme.session.as_deref(), Some("plum"));
    assert!(all.flows.iter().all(|flow| flow.packets.conserved()), "{all:?}");
    assert!(all.flows[..12].iter().all(|flow| flow.kind == "session" && flow.goodput_mbps > 0.0), "{all:?}");
    assert_eq!(all.flows[12].name, "download");
    assert!(all.flows[12].goodput_mbps > 0.1, "the air is shared with the download");
    let names: Vec<&str> = all.stations.iter().map(|station| station.name.as_str()).collect();
    assert_eq!(names, ["headset-1", "headset-2", "laptop"]);
    assert!(all.air.busy_share > 0.5);
    // The demand is set in the queue of the flow's data, and in no other.
    let demands: Vec<&str> =
        all.flows.iter().filter(|flow| flow.demand.is_some()).map(|flow| flow.name.as_str()).collect();
    assert_eq!(demands, ["room-1 down", "room-2 down"]);
    // A half-duplex pipe of 9 Mb/s holds both directions and their headers.
    let pipe = find(&all, "pipe down").goodput_mbps + find(&all, "pipe up").goodput_mbps;
    assert!((4.0..9.0).contains(&pipe), "{pipe}");
    assert!(find(&all, "wired-1 up").goodput_mbps <= 8.0, "the encoder's highest rate");
}

#[test]
fn the_order_of_clients_is_that_of_the_file() {
    // With a wire before the air, numbers on the air and in the summary differ.
    let wired = "[[session.client]]\nname = \"first\"\nrate = \"3 Mbit/s\"\n";
    let text = GOOD.replacen("[[session.client]]", &format!("{wired}[[session.client]]"), 1);
    let summary = summary(&text);
    assert_eq!(summary.flows[0].name, "first down");
    assert_eq!(summary.flows[2].name, "room-1 down");
    assert!(summary.flows[0].goodput_mbps < 3.0, "its own link");
    assert!(summary.flows[0].demand.is_none() && summary.flows[2].demand.is_some());
}

#[test]
fn in_pieces_or_at_once_the_bytes_are_the_same() {
    let scenario = parse(GOOD);
    let once = summary(GOOD).to_json().expect("numbers");
    let mut run = Run::new("test", &scenario, &scenario.scheme, scenario.seed).expect("builds");
    while run.advance(airbound_units::Span::from_micros(33_333)) {}
    assert_eq!(run.finish().expect("balanced").0.summary.to_json().expect("numbers"), once);
    let other = Run::new("test", &scenario, &scenario.scheme, 2).expect("builds");
    assert_ne!(other.finish().expect("balanced").0.summary.to_json().expect("numbers"), once);
}

#[test]
fn a_server_that_sends_little_bounds_what_all_receive() {
    let summary = summary(&GOOD.replacen("40 Mbit/s", "6 Mbit/s", 1));
    let down: f64 =
        summary.flows.iter().filter(|flow| flow.name.ends_with(" down")).map(|flow| flow.goodput_mbps).sum();
    assert!((2.0..6.0).contains(&down), "{down}");
}

#[test]
fn the_summary_says_what_the_session_was_worth() {
    let all = summary(GOOD);
    let session = all.session.as_ref().expect("a session");
    let names: Vec<&str> = session.users.iter().map(|user| user.name.as_str()).collect();
    assert_eq!(names, ["room-1", "room-2", "wired-1", "wired-2", "mobile", "pipe"]);
    for user in &session.users {
        let down = find(&all, &format!("{} down", user.name)).goodput_mbps;
        let expected = (down / session.max_bitrate_mbps).min(1.0);
        assert!((user.qoe - expected).abs() < 1e-9 && user.qoe > 0.0, "{session:?}");
    }
    let weights: f64 = session.users.iter().map(|user| user.weight).sum();
    let mean = session.users.iter().map(|user| user.qoe * user.weight).sum::<f64>() / weights;
    assert!((session.mean_qoe - mean).abs() < 1e-9, "{session:?}");
    let utility = (1.0 - session.rho) * session.mean_qoe + session.rho * session.fairness;
    assert!((session.utility - utility).abs() < 1e-9 && session.fairness < 1.0, "{session:?}");
    // Other policies are scored with the scenario's own Plum configuration.
    let scenario = parse(GOOD);
    let plain = scenario.scheme.with_name("plain").expect("a policy");
    let run = Run::new("test", &scenario, &plain, 1).expect("builds").finish().expect("balanced").0;
    let other = run.summary.session.expect("a session");
    assert!((other.rho - 0.25).abs() < 1e-12 && (session.rho - 0.25).abs() < 1e-12, "not the default");
}

#[test]
fn a_station_of_a_client_has_other_flows_too() {
    let summary = summary(&GOOD.replace("station = \"laptop\"", "station = \"headset-2\""));
    let download = find(&summary, "download");
    assert_eq!(download.station, "headset-2");
    assert!(download.goodput_mbps > 0.5, "{}", download.goodput_mbps);
    let (alone, beside) = (find(&summary, "room-1 down"), find(&summary, "room-2 down"));
    for flow in [alone, beside] {
        assert!(flow.goodput_mbps > 0.2 && flow.demand.is_some(), "{}: {}", flow.name, flow.goodput_mbps);
    }
}

/// The clients on the air in two networks, on one channel or on two.
fn in_two_networks(channels: u16) -> String {
    let networks = format!(
        "[[network]]\nname = \"ground\"\n[[network]]\nname = \"attic\"\nchannel = {channels}\nscheme = \"last-pq\"\n[scheme]"
    );
    let upstairs = "[[station]]\nname = \"laptop\"\nnetwork = \"attic\"\n\
                    [[station]]\nname = \"desk\"\nrate = \"VHT20 MCS1 1SS LGI\"\nnetwork = \"attic\"\n";
    GOOD.replace("[scheme]", &networks)
        .replace(
            "LGI\"\n[[station]]\nname = \"laptop\"\n",
            &format!("LGI\"\nnetwork = \"ground\"\n{upstairs}"),
        )
        .replace(
            "[[session.client]]\nname = \"wired\"",
            "[[session.client]]\nname = \"attic\"\nstation = \"desk\"\n[[session.client]]\nname = \"wired\"",
        )
}

#[test]
fn clients_of_one_session_are_in_several_networks() {
    let [shared, apart] = [1, 2].map(|channels| summary(&in_two_networks(channels)));
    for summary in [&shared, &apart] {
        let names: Vec<&str> = summary.networks.iter().map(|network| network.name.as_str()).collect();
        assert_eq!(names, ["ground", "attic"]);
        let flows: Vec<&str> = summary.flows.iter().map(|flow| flow.name.as_str()).collect();
        assert_eq!(flows.len(), 2 * 7 + 1, "{flows:?}");
        assert_eq!((flows[0], flows[4], flows[14]), ("room-1 down", "attic down", "download"));
        assert_eq!(summary.stations.len(), 4);
        assert!(summary.session.as_ref().is_some_and(|session| session.users.len() == 7));
        for name in ["room-1 down", "attic down", "download"] {
            assert!(find(summary, name).goodput_mbps > 0.2, "{name}: {}", find(summary, name).goodput_mbps);
        }
    }
    // Upstairs the download is the only other load of a channel of its own.
    let download = |summary: &Summary| find(summary, "download").goodput_mbps;
    assert!(download(&apart) > 1.2 * download(&shared), "{} {}", download(&apart), download(&shared));
}

#[test]
fn rows_have_the_numbers_of_the_run() {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet};
    use std::rc::Rc;

    use airbound_sim::{Event, Events, Observer};

    /// Packets of each flow, and the numbers of all.
    type Rows = (BTreeMap<u32, u64>, BTreeSet<u64>);
    #[derive(Default)]
    struct Seen(Rc<RefCell<Rows>>);
    impl Observer for Seen {
        fn wants(&self) -> Events {
            Events { packets: true, ..Events::NONE }
        }
        fn on_event(&mut self, event: Event<'_>) {
            if let Event::Packet(row) = event {
                let (flows, numbers) = &mut *self.0.borrow_mut();
                *flows.entry(row.flow).or_default() += 1;
                assert!(numbers.insert(row.packet), "{} is there twice", row.packet);
            }
        }
    }
    let scenario = parse(&in_two_networks(1));
    let mut run = Run::new("test", &scenario, &scenario.scheme, 1).expect("builds");
    let seen = Rc::default();
    run.observe(Box::new(Seen(Rc::clone(&seen))));
    let names = run.info().flows.clone();
    let (outcome, _) = run.finish().expect("balanced");
    let (flows, _) = &*seen.borrow();
    for (flow, count) in flows {
        let name = &names[*flow as usize];
        let summary = outcome.summary.flows.iter().find(|summary| summary.name == *name);
        if let Some(summary) = summary {
            let settled = summary.packets.delivered + summary.packets.dropped;
            assert!(settled > 0 && *count >= settled, "{name}: {count} rows, {settled} packets");
        }
    }
    assert_eq!(flows.keys().filter(|flow| (**flow as usize) < 15).count(), 15, "{flows:?}");
}

#[test]
fn a_caller_sends_beside_a_session() {
    use airbound_sim::{Plugins, Reach};
    use airbound_units::{ByteCount, Instant, Span};

    let scenario = parse(GOOD);
    let mut plugins = Plugins::default();
    plugins.open_gate("download", Reach::Wire);
    let mut run = Run::with_plugins("test", &scenario, &scenario.scheme, 1, &plugins).expect("builds");
    run.open_flow(0, "program", None).expect("no demand");
    assert_eq!(run.info().flows[12], "program", "behind those of six clients");
    let mut passed = Vec::new();
    for number in 0..100 {
        run.advance_to(Instant::ZERO + Span::from_millis(10 * number));
        run.push(0, number, number, ByteCount::new(1000));
        run.take_passed(&mut passed);
    }
    run.advance_to(Instant::ZERO + Span::from_millis(2000));
    run.take_passed(&mut passed);
    let tags: Vec<u64> = passed.iter().map(|passed| passed.tag).collect();
    assert_eq!(tags, (0..100).collect::<Vec<u64>>(), "each once, and none of the session's");
    // A caller may end the run before its time.
    run.end_now();
    let (outcome, _) = run.finish().expect("balanced");
    let program = find(&outcome.summary, "program");
    assert_eq!(program.packets.delivered, 100);
    assert!((outcome.summary.duration_s - 2.0).abs() < 1e-9);
    let received = find(&outcome.summary, "room-1 down");
    assert!(received.goodput_mbps > 0.2, "{}", received.goodput_mbps);
}
