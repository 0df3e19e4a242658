//! `[radio]`: capture, and control frames that are lost on their own.

use crate::simulate;
use simulate::assert_within;

/// Two saturated stations of 802.11a, which hear each other, at 24 Mb/s.
fn uplinks(tables: &str) -> String {
    let station = |name: &str| {
        format!(
            "[[station]]\nname = \"{name}\"\nrate = \"OFDM 24 Mbit/s\"\n[[flow]]\nname = \"{name}\"\nkind = \"cbr\"\n\
             direction = \"up\"\nstation = \"{name}\"\nrate = \"24 Mbit/s\"\nsize = \"1470 B\"\n"
        )
    };
    format!(
        "duration = \"3 s\"\nwarm-up = \"100 ms\"\n[air]\nstandard = \"legacy\"\nedca = \"dcf\"\nbeacons = false\n\
         [access-point]\npreset = \"direct\"\n[uplink]\nqueue = {{ kind = \"fifo\", limit = {{ packets = 20 }} }}\n\
         rate = \"fixed\"\n[wire]\nrate = \"unlimited\"\ndelay = \"0 ms\"\n{}{}{tables}\n",
        station("near"),
        station("far")
    )
}

/// A downlink of aggregates to one station.
fn downlink(radio: &str) -> String {
    format!(
        "duration = \"3 s\"\nwarm-up = \"100 ms\"\n[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\nbeacons = false\n\
         [access-point]\npreset = \"direct\"\n[scheme]\nqueue = \"fifo\"\nrate = \"fixed\"\n[wire]\nrate = \"unlimited\"\n\
         delay = \"0 ms\"\n[[station]]\nname = \"phone\"\nrate = \"HT20 MCS7 1SS LGI\"\n[[flow]]\nname = \"stream\"\n\
         kind = \"cbr\"\nstation = \"phone\"\nrate = \"80 Mbit/s\"\nsize = \"1470 B\"\n{radio}\n"
    )
}

fn goodput(text: &str) -> Vec<f64> {
    simulate::run(text).summary.flows.iter().map(|flow| flow.goodput_mbps).collect()
}

const FRAMES: &str = "[radio]";

fn capture(gap: u32) -> String {
    format!("[radio.capture]\nlevels = {{ access-point = {{ far = \"-{} dBm\" }} }}", 40 + gap)
}

#[test]
fn equal_levels_survive_no_collision() {
    let (plain, equal) = (goodput(&uplinks(FRAMES)), goodput(&uplinks(&capture(0))));
    assert_eq!(plain, equal);
}

#[test]
fn a_stronger_frame_survives_a_collision() {
    let text = uplinks(&capture(25));
    let outcome = simulate::run(&text);
    let [near, far] = [0, 1].map(|number: usize| outcome.summary.flows[number].goodput_mbps);
    let equal = goodput(&uplinks(&capture(0)));
    assert!(near > 1.1 * equal[0] && far < 0.97 * equal[1], "{near} {far} {equal:?}");
}

#[test]
fn places_give_levels() {
    let places = |far: &str| {
        uplinks(&format!(
            "[hearing]\nsize = [\"60 m\", \"5 m\"]\nexponent = 2\nplaces = {{ access-point = [\"2 m\", \"2 m\"], \
             near = [\"3 m\", \"2 m\"], far = {far} }}\n[radio.capture]"
        ))
    };
    let [beside, away] = ["[\"1 m\", \"2 m\"]", "[\"32 m\", \"2 m\"]"].map(|far| goodput(&places(far)));
    assert!(away[0] > 1.1 * beside[0], "{away:?} {beside:?}");
}

#[test]
fn what_arrived_is_delivered_once_though_its_answer_is_lost() {
    // Conservation is checked at the end of each run. Without losses both rules are that of a channel of whole exchanges.
    let plain = goodput(&downlink(""))[0];
    for rule in ["repeat", "request"] {
        let lossy = |share: f64| {
            goodput(&downlink(&format!("[radio]\nanswer-loss = {share:?}\nmissed-block-ack = \"{rule}\"")))[0]
        };
        assert_within(lossy(0.0), plain, 0.001, rule);
        // A repeated aggregate costs its whole time, a request next to nothing.
        let expected = if rule == "repeat" { 0.8 } else { 0.985 };
        assert_within(lossy(0.2), expected * plain, 0.03, rule);
    }
    // With none answered each packet is still delivered, until its sender gives it up: none counts as lost.
    let deaf = simulate::run(&downlink("[radio]\nanswer-loss = 1.0"));
    let flow = &deaf.summary.flows[0];
    let others: u64 =
        flow.drops.iter().filter(|(reason, _)| *reason != "queue_full").map(|(_, count)| count).sum();
    assert!(flow.goodput_mbps > 1.0 && others == 0, "{flow:?}");
}

#[test]
fn a_lost_cts_costs_the_frame_only_after_seven() {
    let air = |tables: &str| uplinks(tables).replacen("[air]\n", "[air]\nrts-threshold = \"0 B\"\n", 1);
    let none = goodput(&air(FRAMES));
    let half = simulate::run(&air("[radio]\nprotection-loss = 0.3"));
    let sum: f64 = half.summary.flows.iter().map(|flow| flow.goodput_mbps).sum();
    assert!(sum < 0.8 * none.iter().sum::<f64>(), "{sum} {none:?}");
    let all = goodput(&air("[radio]\nprotection-loss = 1.0"));
    assert_eq!(all, [0.0, 0.0]);
}

/// Networks of one saturated downlink each, at 24 Mb/s.
fn networks(tables: &str) -> String {
    format!(
        "duration = \"3 s\"\nwarm-up = \"100 ms\"\n[air]\nstandard = \"legacy\"\nedca = \"dcf\"\n\
         [access-point]\npreset = \"direct\"\n[scheme]\nqueue = {{ kind = \"fifo\", limit = {{ packets = 20 }} }}\n\
         rate = \"fixed\"\n[wire]\nrate = \"unlimited\"\ndelay = \"0 ms\"\n[[network]]\nname = \"flat\"\ncount = 2\n\
         [[station]]\nname = \"phone\"\nrate = \"OFDM 24 Mbit/s\"\n[[flow]]\nname = \"stream\"\nkind = \"cbr\"\n\
         station = \"phone\"\nrate = \"24 Mbit/s\"\nsize = \"1470 B\"\n{tables}\n"
    )
}

#[test]
fn networks_on_a_channel_contend_frame_by_frame() {
    let (whole, frames) = (goodput(&networks("")), goodput(&networks(FRAMES)));
    for (whole, frames) in whole.iter().zip(&frames) {
        assert_within(*frames, *whole, 0.05, "both hear each other");
    }
    // Each network in a flat of its own has the channel for itself.
    let apart = goodput(&networks("[hearing]\nmatrix = { flat-1 = [\"flat-1\"], flat-2 = [\"flat-2\"] }"));
    let alone = goodput(&networks("[radio]").replace("count = 2", "count = 1"));
    for apart in &apart {
        assert_within(*apart, alone[0], 0.01, "apart");
    }
    assert!(frames[0] < 0.6 * alone[0], "{frames:?} {alone:?}");
}

#[test]
fn names_of_networks_are_those_of_all_their_transmitters() {
    // The access points of the second network's neighbours are louder at the first one's station by 25 dB than its own.
    let levels = |level: &str| {
        networks(&format!(
            "[radio.capture]\nlevels = {{ flat-1 = {{ flat-2-access-point = \"{level} dBm\" }} }}"
        ))
    };
    let (equal, weak) = (goodput(&levels("-40")), goodput(&levels("-65")));
    assert!(weak[0] > 1.03 * equal[0] && weak[1] < 1.01 * equal[1], "{equal:?} {weak:?}");
}

#[test]
fn a_sleeping_station_waits_as_long_frame_by_frame() {
    let sleeper = |tables: &str| {
        let text = downlink(tables).replace("beacons = false\n", "");
        let text = text.replace("[[station]]\n", "[[station]]\npower-save = { timeout = \"2 ms\" }\n");
        let text = text.replace("\"cbr\"", "\"poisson\"").replace("80 Mbit/s", "20 kbit/s");
        simulate::run(&text.replace("duration = \"3 s\"", "duration = \"300 s\"")).summary.flows[0].clone()
    };
    let [whole, frames] = ["", FRAMES].map(|tables| sleeper(tables).latency_ms.mean.expect("packets"));
    assert_within(frames, whole, 0.02, "mean delay");
    assert!(whole > 40.0, "{whole}");
}
