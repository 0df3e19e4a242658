//! Several complete networks: on one channel they contend like the stations of one network, on different channels they are
//! independent.

use crate::simulate;
use std::collections::BTreeMap;

use airbound_record::{NetworkSummary, TxopRow};
use airbound_scenario::{Overrides, Scenario};
use airbound_sim::{Outcome, Run};
use airbound_units::{Instant, Span};
use airbound_wifi::bianchi::Contention;
use airbound_wifi::edca::EdcaParameters;

use simulate::{assert_within, flow, observed, prepare, run, scenario};

/// Access points that send to one station each at full rate, one packet for each access.
fn saturated(networks: &str, air: &str) -> String {
    format!(
        "duration = \"5 s\"\n[air]\nstandard = \"vht\"\nbeacons = false\nedca = \"dcf\"\n{air}[scheme]\nqueue = \"fifo\"\nrate = \"fixed\"\n\
         [access-point]\npreset = \"direct\"\n[access-point.path]\nmax-ampdu-mpdus = 1\nmax-grants = 50\n{networks}\
         [[station]]\nname = \"s\"\nrate = \"VHT80 MCS4 1SS LGI\"\n\
         [[flow]]\nname = \"f\"\nkind = \"cbr\"\nstation = \"s\"\nrate = \"200 Mbit/s\"\nsize = \"1472 B\"\n"
    )
}

fn on_channels(count: u32, channels: u32) -> String {
    format!("[[network]]\nname = \"n\"\ncount = {count}\nchannels = {channels}\n")
}

/// Traffic of many kinds in both directions over links that lose frames, with bursts of interference.
fn mixed(networks: &str) -> String {
    format!(
        "duration = \"2 s\"\nwarm-up = \"200 ms\"\n[air]\nstandard = \"vht\"\nrts-threshold = \"3000 B\"\n{networks}\
         [[station]]\nname = \"s\"\ncount = 3\nchannel = {{ kind = \"log-distance\", distance = \"14 m\", fading = \"rician\" }}\n\
         [[station]]\nname = \"far\"\nvia = \"s-1\"\n\
         [[flow]]\nname = \"web\"\nkind = \"tcp-short\"\nstation = \"s\"\nsize = \"90 kB\"\ninterval = \"200 ms\"\n\
         [[flow]]\nname = \"call\"\nkind = \"voip\"\nstation = \"s-1\"\n\
         [[flow]]\nname = \"up\"\nkind = \"tcp\"\nstation = \"s-2\"\ndirection = \"up\"\n\
         [[flow]]\nname = \"vr\"\nkind = \"vr\"\nstation = \"s-3\"\n\
         [[flow]]\nname = \"camera\"\nkind = \"rtc\"\nstation = \"far\"\n\
         [[interference]]\nname = \"oven\"\nmean-on = \"3 ms\"\nmean-off = \"90 ms\"\neffect = \"busy\"\n"
    )
}

fn networks(outcome: &Outcome) -> &[NetworkSummary] {
    &outcome.summary.networks
}

#[test]
fn two_networks_on_a_channel_share_it_and_collide_as_bianchi_says() {
    for count in [2u32, 7] {
        let outcome = run(&saturated(&on_channels(count, 1), ""));
        let contention = Contention { stations: count, windows: EdcaParameters::dcf(), max_attempts: None };
        let expected = contention.solve().collision;
        let rate = outcome.summary.air.collision_rate.unwrap();
        assert!((rate - expected).abs() < 0.012, "{count}: {rate} instead of {expected}");
        let all: f64 = networks(&outcome).iter().map(|network| network.downlink_mbps).sum();
        for network in networks(&outcome) {
            // The last winner draws from a smaller window than the losers: over a few seconds the shares differ more, the
            // more transmitters contend.
            let share = if count == 2 { 0.05 } else { 0.12 };
            assert_within(network.downlink_mbps, all / f64::from(count), share, &network.name);
            assert_eq!(network.air.busy_share, outcome.summary.air.busy_share);
        }
    }
}

#[test]
fn networks_get_what_stations_of_one_network_get() {
    // The same contenders, first as separate access points, then as stations that send to one.
    let apart = run(&saturated(&on_channels(4, 1), ""));
    let together = run(&saturated("", "")
        .replace(
            "[access-point]",
            "[uplink]\nrate = \"fixed\"\n[uplink.path]\nmax-ampdu-mpdus = 1\nmax-grants = 50\n[access-point]",
        )
        .replace("name = \"s\"\n", "name = \"s\"\ncount = 4\n")
        .replace("kind = \"cbr\"", "kind = \"cbr\"\ndirection = \"up\""));
    let sum = |outcome: &Outcome| outcome.summary.flows.iter().map(|flow| flow.goodput_mbps).sum::<f64>();
    assert_eq!(apart.summary.flows.len(), 4);
    assert_within(sum(&apart), sum(&together), 0.01, "goodput");
    let rates = [&apart, &together].map(|outcome| outcome.summary.air.collision_rate.unwrap());
    assert!((rates[0] - rates[1]).abs() < 0.01, "{rates:?}");
}

#[test]
fn channels_do_not_hear_each_other() {
    let alone = run(&saturated("", ""));
    let outcome = run(&saturated(&on_channels(3, 3), ""));
    assert_eq!(outcome.summary.air.collision_rate, Some(0.0));
    for network in networks(&outcome) {
        assert_within(network.downlink_mbps, flow(&alone, "f").goodput_mbps, 0.01, &network.name);
    }
    let channels: Vec<u16> = networks(&outcome).iter().map(|network| network.channel).collect();
    assert_eq!(channels, [1, 2, 3]);
}

#[test]
fn the_first_network_on_a_channel_of_its_own_is_as_if_alone() {
    let (alone, rows) = observed(&mixed(""));
    let (two, both) = observed(&mixed(&on_channels(2, 2)));
    for one in &alone.summary.flows {
        let same = flow(&two, &format!("n-1-{}", one.name));
        assert_eq!(
            (same.goodput_mbps, same.latency_ms, &same.drops),
            (one.goodput_mbps, one.latency_ms, &one.drops)
        );
        assert_ne!(flow(&two, &format!("n-2-{}", one.name)).latency_ms, one.latency_ms, "{}", one.name);
    }
    for (one, same) in alone.summary.stations.iter().zip(&two.summary.stations) {
        assert_eq!((format!("n-1-{}", one.name), one.airtime_share), (same.name.clone(), same.airtime_share));
    }
    assert_eq!(networks(&two)[0].air, alone.summary.air);
    // Row for row, as well.
    let first = |txop: &&TxopRow| usize::from(txop.transmitter) < 5;
    let same: Vec<_> = both
        .txops
        .iter()
        .filter(first)
        .map(|txop| (txop.transmitter, txop.start, txop.end, txop.acked))
        .collect();
    let one: Vec<_> =
        rows.txops.iter().map(|txop| (txop.transmitter, txop.start, txop.end, txop.acked)).collect();
    assert!(one.len() > 1000 && one == same);
}

#[test]
fn a_single_network_is_the_scenario_without() {
    let plain = run(&mixed(""));
    let mut named = run(&mixed("[[network]]\nname = \"home\"\n"));
    assert_eq!(networks(&named).len(), 1);
    assert_eq!(networks(&named)[0].scheme, "linux+minstrel-ht+cubic");
    named.summary.networks.clear();
    assert_eq!(named.summary, plain.summary);
}

#[test]
fn on_one_channel_no_transmission_begins_during_another() {
    let (outcome, rows) = observed(&mixed(&on_channels(5, 2)));
    let channel_of = |transmitter: u16| networks(&outcome)[usize::from(transmitter / 5)].channel;
    let mut shared = 0;
    for channel in [1, 2] {
        // From one end to the next start: either at the same instant, or one after the other.
        let mut spans: Vec<(Instant, Instant, bool, u16)> = rows
            .txops
            .iter()
            .filter(|txop| channel_of(txop.transmitter) == channel)
            .map(|txop| (txop.start, txop.end, txop.collided, txop.transmitter))
            .collect();
        spans.sort_unstable();
        assert!(spans.len() > 2000, "{}", spans.len());
        for pair in spans.windows(2) {
            let (before, after) = (pair[0], pair[1]);
            if before.0 == after.0 {
                assert!(before.2 && after.2, "{before:?} {after:?}");
                shared += u32::from(before.3 / 5 != after.3 / 5);
            } else {
                assert!(after.0 >= before.1, "{before:?} {after:?}");
            }
        }
    }
    assert!(shared > 20, "networks never collided: {shared}");
    let numbers: std::collections::BTreeSet<u64> = rows.txops.iter().map(|txop| txop.txop).collect();
    assert_eq!(numbers.len(), rows.txops.len(), "the number of a TXOP is unique");
    let mut packets = BTreeMap::new();
    for packet in &rows.packets {
        assert!(packets.insert(packet.packet, packet.flow).is_none(), "the number of a packet is unique");
        assert!(
            packet.txop == 0
                || numbers.contains(&packet.txop)
                || packet.completed > Instant::ZERO + Span::from_millis(2190)
        );
    }
    let busy: f64 = outcome.summary.stations.iter().map(|station| station.airtime_share).sum();
    assert!(busy < 2.0 * outcome.summary.air.busy_share, "{busy}");
}

#[test]
fn rows_and_summary_do_not_depend_on_the_pieces_in_which_a_run_advances() {
    let text = mixed(&on_channels(5, 2));
    let (whole, rows) = observed(&text);
    let (mut run, pieces) = prepare(&scenario(&text));
    while run.advance(Span::from_micros(7_777)) {}
    let (outcome, _) = run.finish().unwrap();
    assert_eq!(outcome.summary, whole.summary);
    assert!(pieces.take() == rows);
}

#[test]
fn a_network_keeps_its_own_scheme_and_its_own_stations() {
    let text = "duration = \"2 s\"\n[air]\nstandard = \"vht\"\n[[network]]\nname = \"ours\"\n[[network]]\nname = \"theirs\"\ncount = 2\nscheme = \"fifo\"\n\
                [[station]]\nname = \"phone\"\nnetwork = \"ours\"\n[[station]]\nname = \"tv\"\nnetwork = \"theirs\"\n[[station]]\nname = \"laptop\"\n\
                [[flow]]\nname = \"call\"\nkind = \"voip\"\nstation = \"phone\"\n[[flow]]\nname = \"film\"\nkind = \"tcp\"\nstation = \"tv\"\n\
                [[flow]]\nname = \"page\"\nkind = \"tcp\"\nstation = \"laptop\"\n";
    let scenario = scenario(text);
    let names: Vec<&str> = scenario.stations.iter().map(|station| station.name.as_str()).collect();
    assert_eq!(
        names,
        ["phone", "ours-laptop", "theirs-1-tv", "theirs-1-laptop", "theirs-2-tv", "theirs-2-laptop"]
    );
    let under = scenario.with_scheme("law").unwrap();
    let outcome = Run::new("test", &under, &under.scheme, 1).unwrap().finish().unwrap().0;
    let schemes: Vec<&str> = networks(&outcome).iter().map(|network| network.scheme.as_str()).collect();
    assert_eq!(schemes, ["law+law+cubic", "fifo+minstrel-ht+cubic", "fifo+minstrel-ht+cubic"]);
    assert!(networks(&outcome).iter().all(|network| network.downlink_mbps > 1.0));
    let run = Run::new("test", &scenario, &scenario.scheme, 1).unwrap();
    let transmitters = &run.info().transmitters;
    assert_eq!(transmitters[..4], ["ours-access-point", "phone", "ours-laptop", "theirs-1-access-point"]);
    let again = Scenario::parse(&scenario.to_toml(), "again", &Overrides::none()).unwrap();
    assert_eq!(again, scenario);
}

#[test]
fn beacons_of_several_networks_do_not_meet() {
    let text = saturated(&on_channels(4, 1), "").replace("beacons = false\n", "");
    let without = run(&saturated(&on_channels(4, 1), "")).summary.air;
    let with = run(&text).summary.air;
    // The time of beacons is taken from the data of all networks: four of them every 102.4 ms.
    assert!(with.busy_share > without.busy_share - 0.01, "{with:?} {without:?}");
    assert!((with.collision_rate.unwrap() - without.collision_rate.unwrap()).abs() < 0.01);
}

#[test]
fn errors_name_the_problem() {
    let base = "duration = \"1 s\"\n[[station]]\nname = \"s\"\n[[flow]]\nname = \"f\"\nkind = \"voip\"\nstation = \"s\"\n";
    for (text, expected) in [
        ("[[network]]\nname = \"a\"\n[[network]]\nname = \"a\"\n", "is \"a\", which is already taken"),
        ("[[network]]\nname = \"a\"\ncount = 51\n", "51"),
        ("[[network]]\nname = \"a\"\nchannel = 0\n", "channel"),
        ("[[network]]\nname = \"a\"\nscheme = \"fio\"\n", "fifo"),
        (
            "[[network]]\nname = \"a\"\n[[station]]\nname = \"t\"\nnetwork = \"b\"\n",
            "not the name of a network",
        ),
        ("[[station]]\nname = \"t\"\nnetwork = \"b\"\n", "write a [[network]]"),
        ("[[network]]\nname = \"a\"\n[[neighbour]]\nname = \"n\"\n", "[[neighbour]]"),
        (
            "[[network]]\nname = \"a\"\n[[network]]\nname = \"b\"\n[[station]]\nname = \"t\"\nvia = \"s\"\nnetwork = \"b\"\n",
            "same network",
        ),
        (
            "[[network]]\nname = \"a\"\n[[station]]\nname = \"p\"\nchannel = { kind = \"trace\", file = \"shipped:swinging-pipe.mahi\" }\n",
            "pipe",
        ),
        (
            "[[network]]\nname = \"a\"\ncount = 2\n[[network]]\nname = \"a-1-s\"\n[[station]]\nname = \"a-1-s\"\nnetwork = \"a-1\"\n",
            "a-1-s",
        ),
    ] {
        let error =
            Scenario::parse(&format!("{base}{text}"), "test", &Overrides::none()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\n{text}");
        assert!(error.lines().count() == 1, "{error}");
    }
}
