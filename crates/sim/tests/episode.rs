//! Episodes: runs in steps with decisions between them.

use crate::simulate;

use airbound_scenario::{Overrides, Scenario, find_shipped};
use airbound_sim::{Decision, Episode, EpisodeError, GAUGES, Plugins, Run};
use airbound_units::Span;

use simulate::{assert_within, scenario};

const STEP: Span = Span::from_millis(10);
/// 5 ms, CoDel's default.
const TARGET: u64 = 5_000_000;

/// Two stations with the given flows, on a channel without errors.
fn network(flows: &str) -> Scenario {
    scenario(&format!(
        "duration = \"1 s\"\nwarm-up = \"0 s\"\n[air]\nstandard = \"ht\"\nbeacons = false\n[wire]\ndelay = \"5 ms\"\n\
         [[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\n{flows}"
    ))
}

fn flow(name: &str, keys: &str) -> String {
    format!("[[flow]]\nname = \"{name}\"\nstation = \"{name}\"\n{keys}")
}

const SATURATED: &str = "kind = \"cbr\"\nrate = \"200 Mbit/s\"\nsize = \"1472 B\"\n";
const DOWNLOAD: &str = "kind = \"tcp\"\n";

fn begin(scenario: &Scenario, decision: Decision) -> Result<Episode, EpisodeError> {
    let plugins = Plugins::default();
    Episode::new("test", scenario, (&scenario.scheme, &plugins), decision, STEP, 1)
}

/// Takes all steps with the same values; returns the mean of each gauge and flow over the second half.
fn play(scenario: &Scenario, decision: Decision, values: &[u64]) -> Vec<Vec<f64>> {
    let mut episode = begin(scenario, decision).unwrap();
    let (mut rows, mut more) = (Vec::new(), true);
    while more {
        more = episode.step(values).unwrap();
        let mut row = Vec::new();
        episode.measured(&mut row);
        rows.push(row);
    }
    let later = &rows[rows.len() / 2..];
    let mean = |place: usize| later.iter().map(|row| f64::from(row[place])).sum::<f64>() / later.len() as f64;
    (0..scenario.flows.len())
        .map(|flow| (0..GAUGES.len()).map(|gauge| mean(flow * GAUGES.len() + gauge)).collect())
        .collect()
}

fn of(rows: &[Vec<f64>], flow: usize, gauge: &str) -> f64 {
    rows[flow][GAUGES.iter().position(|name| *name == gauge).unwrap()]
}

#[test]
fn with_one_target_for_one_station_the_queue_is_codel() {
    let keys = "[[flow]]\nname = \"down\"\nstation = \"a\"\nkind = \"tcp\"\n";
    let scenario = scenario(&format!(
        "duration = \"3 s\"\nwarm-up = \"0 s\"\n[scheme]\nqueue = {{ kind = \"codel\" }}\n[wire]\ndelay = \"5 ms\"\n\
         [[station]]\nname = \"a\"\n{keys}"
    ));
    let mut episode = begin(&scenario, Decision::Queue).unwrap();
    while episode.step(&[TARGET]).unwrap() {}
    let decided = episode.finish().unwrap().summary;
    let codel = Run::new("test", &Scenario { window: STEP, ..scenario.clone() }, &scenario.scheme, 1);
    let codel = codel.unwrap().finish().unwrap().0.summary;
    assert!(codel.flows[0].drops["congestion"] > 0, "CoDel has something to do");
    // Aggregates of a custom queue are bounded packet by packet, so that they are not the same to the packet.
    let [decided, codel] = [&decided.flows[0], &codel.flows[0]];
    assert_eq!(decided.drops, codel.drops);
    assert_within(decided.goodput_mbps, codel.goodput_mbps, 0.05, "goodput");
    assert_within(decided.latency_ms.p50.unwrap(), codel.latency_ms.p50.unwrap(), 0.05, "latency");
}

#[test]
fn a_station_with_a_smaller_target_waits_less() {
    let scenario = network(&(flow("a", DOWNLOAD) + &flow("b", DOWNLOAD)));
    let equal = play(&scenario, Decision::Queue, &[TARGET, TARGET]);
    let unequal = play(&scenario, Decision::Queue, &[TARGET, 20 * TARGET]);
    let latency = |rows: &[Vec<f64>], flow| of(rows, flow, "latency_p50_ms");
    assert!(latency(&unequal, 0) < latency(&unequal, 1) / 2.0, "{unequal:?}");
    assert_within(latency(&equal, 0), latency(&equal, 1), 0.3, "equal targets");
}

#[test]
fn a_station_receives_at_the_decided_rate() {
    let scenario = network(&flow("a", SATURATED));
    let knobs = Decision::Rate.knobs(&scenario).unwrap();
    let capabilities = scenario.capabilities(&scenario.stations[0], scenario.access_point.streams);
    let rates = capabilities.rate_set().unwrap();
    assert_eq!(knobs[0].most as usize + 1, rates.as_slice().len());
    for index in [0, knobs[0].most / 2, knobs[0].most] {
        let rows = play(&scenario, Decision::Rate, &[index, 0]);
        let expected = rates.as_slice()[index as usize].bit_rate().as_bps() as f64 / 1e6;
        assert_within(of(&rows, 0, "phy_rate_mbps"), expected, 0.001, "PHY rate");
        assert!((0.5 * expected..expected).contains(&of(&rows, 0, "goodput_mbps")), "{rows:?}");
    }
}

#[test]
fn a_sender_has_the_decided_rate() {
    let scenario = network(&(flow("a", SATURATED) + &flow("b", DOWNLOAD)));
    let knobs = Decision::Sender.knobs(&scenario).unwrap();
    assert_eq!(knobs.iter().map(|knob| knob.name.as_str()).collect::<Vec<_>>(), ["b"], "datagrams have none");
    let alone = network(&flow("b", DOWNLOAD));
    for mbps in [2, 20] {
        let rows = play(&alone, Decision::Sender, &[mbps * 1_000_000]);
        assert_within(of(&rows, 0, "goodput_mbps"), mbps as f64, 0.05, "goodput");
    }
}

#[test]
fn a_larger_window_of_the_access_point_yields_to_its_stations() {
    let up = format!("{SATURATED}direction = \"up\"\n");
    let scenario = network(&(flow("a", SATURATED) + &flow("b", &up)));
    let share = |values: &[u64]| {
        let rows = play(&scenario, Decision::Contention, values);
        of(&rows, 0, "goodput_mbps") / (of(&rows, 0, "goodput_mbps") + of(&rows, 1, "goodput_mbps"))
    };
    let (equal, behind, late) = (share(&[4, 2, 4, 2]), share(&[7, 2, 4, 2]), share(&[4, 12, 4, 2]));
    assert_within(equal, 0.5, 0.1, "equal parameters");
    // Mean backoffs of 63.5 and 7.5 slots.
    assert!((0.05..0.25).contains(&behind), "{behind}");
    assert!(late < 0.3, "{late}");
}

#[test]
fn hidden_stations_gain_by_larger_windows() {
    let up = format!("{SATURATED}direction = \"up\"\n");
    let mut scenario = network(&(flow("a", &up) + &flow("b", &up)));
    let sum = |scenario: &Scenario, window| {
        let rows = play(scenario, Decision::Contention, &[4, 2, window, 2]);
        of(&rows, 0, "goodput_mbps") + of(&rows, 1, "goodput_mbps")
    };
    let heard = sum(&scenario, 4);
    let hidden = "[hearing]\nmatrix = { a = [], b = [] }\n";
    scenario = simulate::scenario(&format!("{}{hidden}", scenario.to_toml()));
    let (small, large) = (sum(&scenario, 4), sum(&scenario, 10));
    assert!(small < heard / 2.0, "{small} of {heard}");
    assert!(large > 2.0 * small, "{large} after {small}");
}

#[test]
fn a_decision_counts_from_its_step_on() {
    let scenario = network(&flow("b", DOWNLOAD));
    let mut episode = begin(&scenario, Decision::Sender).unwrap();
    let goodput = |episode: &mut Episode, mbps: u64| {
        let (mut sum, mut row) = (0.0, Vec::new());
        for step in 0..40 {
            episode.step(&[mbps * 1_000_000]).unwrap();
            row.clear();
            episode.measured(&mut row);
            sum += if step < 20 { 0.0 } else { f64::from(row[1]) / 20.0 };
        }
        sum
    };
    for mbps in [2, 20] {
        assert_within(goodput(&mut episode, mbps), mbps as f64, 0.1, "goodput");
    }
}

#[test]
fn equal_values_have_equal_measurements() {
    let scenario = find_shipped("vr-congested").unwrap().load(&Overrides::none()).unwrap();
    let played = |values: &[u64]| {
        let mut episode = begin(&scenario, Decision::Queue).unwrap();
        let mut all = Vec::new();
        for _ in 0..100 {
            assert!(episode.step(values).unwrap());
            episode.measured(&mut all);
        }
        all
    };
    let first = played(&[TARGET, TARGET, TARGET, TARGET]);
    assert_eq!(first, played(&[TARGET, TARGET, TARGET, TARGET]));
    assert_ne!(first, played(&[TARGET, TARGET, TARGET, 4 * TARGET]));
    let frames = GAUGES.iter().position(|name| *name == "frames_in_time").unwrap();
    let steps = first.chunks(scenario.flows.len() * GAUGES.len());
    let vr = steps.map(|step| step[frames] + step[frames + 1]).sum::<f32>();
    assert!((20.0..=30.0).contains(&vr), "30 frames a second, but for the last ones: {vr}");
}

#[test]
fn a_wrong_action_does_nothing() {
    let scenario = network(&flow("a", SATURATED));
    let mut episode = begin(&scenario, Decision::Queue).unwrap();
    let refused = |episode: &mut Episode, values: &[u64]| episode.step(values).unwrap_err().to_string();
    assert_eq!(refused(&mut episode, &[TARGET]), "an action has 1 values; allowed are 2");
    assert_eq!(refused(&mut episode, &[TARGET, 1]), "b of an action is 1; allowed is 1000000 to 1000000000");
    let steps = std::iter::from_fn(|| episode.step(&[TARGET; 2]).unwrap().then_some(())).count();
    assert_eq!(steps, 99, "1 s in steps of 10 ms, of which the last is not followed by another");
}

#[test]
fn what_cannot_be_stepped_is_refused() {
    let refused = |name: &str, decision| {
        let scenario = find_shipped(name).unwrap().load(&Overrides::none()).unwrap();
        begin(&scenario, decision).err().unwrap().to_string()
    };
    let (queue, sender, contention) = (Decision::Queue, Decision::Sender, Decision::Contention);
    let one = |found: &str| format!("the scenario has {found}; allowed is one network without a session");
    assert_eq!(refused("vr-room", queue), one("a session"));
    assert_eq!(refused("dense-floor", queue), one("several networks"));
    assert_eq!(
        refused("hello", sender),
        "the scenario has nothing to decide for sender; allowed are scenarios with a flow over TCP that uses the scheme's sender"
    );
    assert!(refused("trace-pipe", contention).ends_with("allowed are scenarios whose channel is no trace"));
    let scenario = network(&flow("a", SATURATED));
    let (parts, plugins) = (&scenario.scheme, Plugins::default());
    let wrong = Episode::new("test", &scenario, (parts, &plugins), queue, Span::from_micros(1), 1);
    assert_eq!(wrong.err().unwrap().to_string(), "a step is 1 us; allowed is 1 ms to 1 h");
}
