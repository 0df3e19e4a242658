//! Sessions: determinism, the effect of yielding, notices over a lossy link, the server's budget, and the simulated air.

use std::sync::Arc;

use airbound_air::trace::{Format, Trace};
use airbound_scenario::{Overrides, Scenario, SessionTransport};
use airbound_senders::conference::{
    ConferenceConfig, LastNConfig, PlumConfig, RoomConfig, RoomPolicy, TackConfig,
};
use airbound_senders::congestion::Congestion;
use airbound_senders::rtp::rate::RateRule;
use airbound_sim::conference::{AccessSpec, AirSpec, ConferenceOutcome, ConferenceSpec};
use airbound_sim::path::PipeSpec;
use airbound_sim::play;
use airbound_units::{BitRate, Span};

fn trace(text: &str) -> Arc<Trace> {
    Arc::new(Trace::parse(text, "test", Format::Bandwidth, 1.0, true).expect("a trace"))
}

fn pipe(text: &str) -> AccessSpec {
    AccessSpec::Pipe(PipeSpec::new(trace(text)))
}

fn session(access: Vec<AccessSpec>, policy: ConferenceConfig) -> ConferenceSpec {
    ConferenceSpec { duration: Span::from_secs(25), ..ConferenceSpec::new(access, policy, 1) }
}

fn run(spec: ConferenceSpec) -> ConferenceOutcome {
    play(spec).expect("valid")
}

/// The same over RTP with Google congestion control.
fn over_rtp(spec: ConferenceSpec) -> ConferenceSpec {
    ConferenceSpec { transport: SessionTransport::Rtp(RateRule::default()), ..spec }
}

fn eight(policy: ConferenceConfig) -> ConferenceOutcome {
    run(session((0..8).map(|_| pipe("0 16\n")).collect(), policy))
}

const PLUM: fn() -> ConferenceConfig = || ConferenceConfig::Plum(PlumConfig::default());

#[test]
fn the_same_session_again_gives_the_same() {
    for policy in [
        ConferenceConfig::Plain,
        ConferenceConfig::LastN(LastNConfig::default()),
        ConferenceConfig::Tack(TackConfig::default()),
        PLUM(),
        room(RoomPolicy::LayerSuspension),
        room(RoomPolicy::Plum),
    ] {
        let access = || vec![pipe("0 12\n3 20\n7 6\n"), pipe("0 9\n"), pipe("0 30\n")];
        let first = run(session(access(), policy));
        assert_eq!(first, run(session(access(), policy)));
        assert!(first.mean_down() > 1.0, "{first:?}");
        if !matches!(policy, ConferenceConfig::Tack(_)) {
            let other = run(over_rtp(session(access(), policy)));
            assert_eq!(other, run(over_rtp(session(access(), policy))));
            assert!(other.mean_down() > 1.0 && other != first, "{other:?}");
        }
    }
}

fn room(policy: RoomPolicy) -> ConferenceConfig {
    ConferenceConfig::Room(RoomConfig {
        policy,
        source: BitRate::from_mbps(10),
        rho: 0.0,
        ..RoomConfig::default()
    })
}

#[test]
fn even_links_are_split_evenly_and_plum_turns_them_to_the_viewers() {
    // Each direction gets half of 16 Mb/s, less headers and the part that BBR leaves; with eight equal clients 7/8 can
    // be received.
    let plain = eight(ConferenceConfig::Plain);
    for client in &plain.clients {
        assert!((5.5..8.0).contains(&client.down_mbps) && (5.5..8.0).contains(&client.up_mbps), "{client:?}");
    }
    let plum = eight(PLUM());
    assert!(plum.mean_down() > 1.4 * plain.mean_down(), "{} {}", plum.mean_down(), plain.mean_down());
    assert!(plum.clients.iter().all(|client| client.states_s[1] > 20.0), "state II throughout");
    assert!(plum.mean_down() < 14.0, "no client receives more than the capacity");
}

#[test]
fn a_slow_server_makes_all_alike() {
    let with = |policy| {
        let spec = session((0..8).map(|_| pipe("0 24\n")).collect(), policy);
        run(ConferenceSpec { server: Some(BitRate::from_mbps(20)), ..spec }).mean_down()
    };
    let (plain, plum) = (with(ConferenceConfig::Plain), with(PLUM()));
    assert!((plum / plain - 1.0).abs() < 0.1, "{plum} {plain}");
    assert!(plain <= 20.0 / 8.0, "{plain}");
}

#[test]
fn decisions_arrive_although_the_link_drops_what_does_not_fit() {
    // A queue of six packets loses media and notices alike.
    let link = || {
        AccessSpec::Pipe(PipeSpec {
            queue: airbound_units::ByteCount::new(9_000),
            ..PipeSpec::new(trace("0 10\n"))
        })
    };
    let outcome = run(session((0..6).map(|_| link()).collect(), PLUM()));
    assert!(outcome.computed >= 1);
    assert!(
        outcome.clients.iter().all(|client| client.states_s[1] + client.states_s[2] > 15.0),
        "{outcome:?}"
    );
    // The client follows its state: its send rate is below an even share.
    assert!(outcome.clients.iter().all(|client| client.up_mbps < 4.0), "{outcome:?}");
}

#[test]
fn a_presenters_weight_shows_in_what_it_receives() {
    // Without fairness, the others' bandwidth is worth more as the presenter's content than as their own video.
    let access = || vec![pipe("0 40\n"), pipe("0 10\n"), pipe("0 10\n"), pipe("0 10\n")];
    let policy = ConferenceConfig::Plum(PlumConfig { rho: 0.0, ..PlumConfig::default() });
    let alike = run(session(access(), policy));
    let weighted = run(ConferenceSpec { weights: vec![8.0, 1.0, 1.0, 1.0], ..session(access(), policy) });
    let [before, after] = [&alike, &weighted].map(|outcome| outcome.clients[0].down_mbps);
    assert!(after > 1.1 * before, "{before} {after}");
}

#[test]
fn window_based_senders_have_a_capacity_too() {
    let spec = session((0..8).map(|_| pipe("0 16\n")).collect(), PLUM());
    let cubic = run(ConferenceSpec { transport: Congestion::Cubic.into(), ..spec });
    let plain = session((0..8).map(|_| pipe("0 16\n")).collect(), ConferenceConfig::Plain);
    let plain = run(ConferenceSpec { transport: Congestion::Cubic.into(), ..plain });
    assert!(cubic.computed >= 1);
    assert!(cubic.mean_down() > 1.15 * plain.mean_down(), "{} {}", cubic.mean_down(), plain.mean_down());
}

#[test]
fn browsers_fill_their_links_with_less_delay_than_tcp() {
    let access = || vec![pipe("0 12\n"), pipe("0 12\n"), pipe("0 12\n")];
    let [rtp, tcp] = [over_rtp, |spec| spec].map(|over| {
        let spec = session(access(), ConferenceConfig::Plain);
        run(over(ConferenceSpec { warm_up: Span::from_secs(20), ..spec }))
    });
    for client in &rtp.clients {
        // Estimates grow by 8 % each second, and hold back from a full queue.
        assert!((6.0..12.0).contains(&(client.down_mbps + client.up_mbps)), "{client:?}");
        assert!(client.down_mbps > 1.0 && client.up_mbps > 1.0, "{client:?}");
    }
    let delay = |outcome: &ConferenceOutcome| {
        outcome.clients.iter().map(|client| client.latency.p50.expect("frames")).sum::<f64>()
    };
    assert!(delay(&rtp) < 0.8 * delay(&tcp), "{} {}", delay(&rtp), delay(&tcp));
}

#[test]
fn plum_turns_links_to_the_viewers_over_rtp_too_once_estimates_have_grown() {
    let policy = ConferenceConfig::Plum(PlumConfig { rho: 0.0, ..PlumConfig::default() });
    let [plain, plum] = [ConferenceConfig::Plain, policy].map(|policy| {
        let spec = session((0..8).map(|_| pipe("0 16\n")).collect(), policy);
        run(over_rtp(ConferenceSpec { warm_up: Span::from_secs(60), ..spec }))
    });
    assert!(plum.mean_down() > 1.05 * plain.mean_down(), "{} {}", plum.mean_down(), plain.mean_down());
}

#[test]
fn each_rule_for_the_rate_carries_a_session_and_a_fixed_rate_adapts_to_nothing() {
    let with = |rule: &str, mbps: &str| {
        let rule = toml::from_str(&format!("kind = \"{rule}\"")).expect("a rule");
        let spec = session((0..3).map(|_| pipe(mbps)).collect(), ConferenceConfig::Plain);
        run(ConferenceSpec { transport: SessionTransport::Rtp(rule), ..spec })
    };
    for (name, _) in RateRule::KINDS {
        // Two cameras of 10 Mb/s each, and the own one, in half of the link at most. Rules of streaming software keep to their ways: bounds
        // around the first rate, steps of seconds.
        let wide = with(name, "0 80\n").mean_down();
        let least = if ["gcc", "fixed", "wivrn"].contains(name) { 15.0 } else { 0.01 };
        assert!((least..20.1).contains(&wide), "{name}: {wide}");
    }
    let narrow = ["gcc", "fixed"].map(|rule| with(rule, "0 9\n").mean_down());
    assert!(narrow[1] < 0.7 * narrow[0], "{narrow:?}");
}

#[test]
fn tack_is_refused_where_there_are_no_acknowledgements() {
    let policy = ConferenceConfig::Tack(TackConfig::default());
    let error = play(over_rtp(session(vec![pipe("0 9\n"), pipe("0 9\n")], policy)));
    let error = error.expect_err("no acknowledgements").to_string();
    assert!(error.contains("tack") && error.contains("gcc"), "{error}");
}

#[test]
fn clients_on_the_simulated_air_share_their_channel() {
    let text = r#"
duration = "1 s"
[air]
standard = "vht"
width = "20 MHz"
[scheme]
rate = "fixed"
[wire]
delay = "0 s"
[[station]]
name = "viewer"
count = 2
rate = "VHT20 MCS1 1SS LGI"
[[flow]]
name = "session"
kind = "cbr"
station = "viewer"
rate = "1 Mbit/s"
"#;
    let scenario = Scenario::parse(text, "air", &Overrides::default()).expect("a scenario");
    let clients: Vec<String> = scenario.stations.iter().map(|station| station.name.clone()).collect();
    let access = || {
        let wire = PipeSpec::separate(trace("0 50\n"), trace("0 50\n"));
        vec![
            AccessSpec::Air(AirSpec { scenario: Arc::new(scenario.clone()), clients: clients.clone() }),
            AccessSpec::Pipe(wire),
        ]
    };
    let outcome = run(session(access(), PLUM()));
    assert_eq!(outcome.clients.len(), 3);
    // A PHY rate of 13 Mb/s carries some 10 Mb/s in total: two downlinks, two uplinks and their acknowledgements.
    let air: f64 = outcome.clients[..2].iter().map(|client| client.down_mbps + client.up_mbps).sum();
    assert!((5.0..11.5).contains(&air), "{air} {outcome:?}");
    assert_eq!(outcome, run(session(access(), PLUM())));
}

#[test]
fn wrong_parameters_are_named() {
    let policy = ConferenceConfig::Plum(PlumConfig { rho: 2.0, ..PlumConfig::default() });
    let error = play(session(vec![pipe("0 9\n"), pipe("0 9\n")], policy)).expect_err("rho").to_string();
    assert!(error.contains("session") && error.contains("rho") && error.contains("0 to 1"), "{error}");
}
