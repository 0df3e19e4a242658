//! Paths of several hops against arithmetic by hand: the delay of a relay, the sharing of airtime by the hops, and its
//! attribution.

use crate::simulate;
use airbound_record::{Fate, Split};
use airbound_units::{Instant, Span};

use simulate::{assert_within, flow, observed, run};

/// A chain of stations s1, s2, …, each behind the previous one, at 65 Mbit/s. All nodes use the same path.
fn chain(hops: usize, queue: &str) -> String {
    let mut text = format!(
        "duration = \"2 s\"\n[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\nbeacons = false\nedca = \"equal\"\n\
         control-rate = \"24 Mbit/s\"\n\
         [access-point]\npreset = \"direct\"\n[scheme]\nqueue = {queue}\nrate = \"fixed\"\n[uplink]\nqueue = \"scheme\"\n\
         [wire]\nrate = \"unlimited\"\ndelay = \"0 ms\"\n"
    );
    for hop in 1..=hops {
        text += &format!("[[station]]\nname = \"s{hop}\"\nrate = \"HT20 MCS7 1SS LGI\"\n");
        if hop > 1 {
            text += &format!("via = \"s{}\"\n", hop - 1);
        }
    }
    text
}

fn cbr(station: &str, rate: &str, direction: &str) -> String {
    format!(
        "[[flow]]\nname = \"f\"\nkind = \"cbr\"\nstation = \"{station}\"\nrate = \"{rate}\"\nsize = \"1000 B\"\n\
         direction = \"{direction}\"\n"
    )
}

/// IP packet of 1028 B in an MPDU of 1066 B: 8550 bits are 33 symbols of 260 behind 36 us.
const PPDU: Span = Span::from_micros(36 + 33 * 4);
/// SIFS, and an ACK at 24 Mbit/s.
const ANSWER: Span = Span::from_micros(16 + 28);

#[test]
fn a_lone_packet_takes_one_exchange_for_each_hop() {
    for direction in ["down", "up"] {
        for hops in 1..=4 {
            let last = format!("s{hops}");
            let (outcome, rows) = observed(&(chain(hops, "\"fifo\"") + &cbr(&last, "800 kbit/s", direction)));
            assert!(rows.packets.len() >= 199);
            // Relays begin to contend during the exchange that carried the packet: AIFS of 43 us and 0 to 15 slots.
            let exchange = PPDU + ANSWER;
            let least = PPDU * hops as u64 + (ANSWER + Span::from_micros(43)) * (hops as u64 - 1);
            let most = least + Span::from_micros(15 * 9) * (hops as u64 - 1);
            let mut waits = 0.0;
            for row in &rows.packets {
                let latency = row.arrived - row.sent;
                assert!(least <= latency && latency <= most, "{hops} {direction}: {latency}");
                waits += (latency - least).as_secs_f64() * 1e6 / rows.packets.len() as f64;
            }
            let backoffs = 7.5 * 9.0 * (hops as f64 - 1.0);
            assert!((waits - backoffs).abs() <= 0.25 * backoffs + 1e-6, "{hops} {direction}: {waits} us");
            // Each hop is an exchange of its own, from one node of the chain to the next.
            let packets = rows.packets.len();
            for hop in 0..hops as u16 {
                let ends = if direction == "down" { (hop, hop + 1) } else { (hop + 1, hop) };
                let over = rows.txops.iter().filter(|txop| (txop.transmitter, txop.receiver) == ends);
                let count = over.inspect(|txop| assert_eq!(txop.end - txop.start, exchange)).count();
                assert!(
                    count.abs_diff(packets) <= 1,
                    "{hops} {direction}: {count} of {packets} over hop {hop}"
                );
            }
            // The airtime of a hop is attributed to the link's lower end.
            for station in &outcome.summary.stations {
                let expected = packets as f64 * exchange.as_secs_f64() / 2.0;
                assert_within(station.airtime_share, expected, 0.01, &station.name);
            }
        }
    }
}

#[test]
fn latency_and_its_stages_cover_all_hops() {
    let (outcome, rows) = observed(&(chain(3, "\"fifo\"") + &cbr("s3", "800 kbit/s", "down")));
    let distribution = |component| {
        let found = outcome.distributions.iter().find(|row| row.component == component);
        found.map_or(Span::ZERO, |row| row.mean)
    };
    use airbound_record::{Component, Stage};
    let stages: Span = Stage::ALL.map(|stage| distribution(Component::Stage(stage))).into_iter().sum();
    let latency = distribution(Component::Latency);
    // The meters agree with the rows. Each mean is rounded down to a nanosecond.
    let hops = rows.hops_by_packet();
    for stage in Stage::ALL {
        let splits = rows.packets.iter().map(|row| Split::over(&hops[&row.packet], row).unwrap());
        let sum: Span = splits.map(|split| split.stage(stage)).sum();
        assert_eq!(distribution(Component::Stage(stage)), sum / rows.packets.len() as u64, "{stage:?}");
    }
    assert!(latency - stages <= Span::from_nanos(6), "{stages} of {latency}");
    let mean: f64 = rows.packets.iter().map(|row| (row.arrived - row.sent).as_secs_f64()).sum::<f64>()
        / rows.packets.len() as f64;
    assert_within(latency.as_secs_f64(), mean, 1e-6, "latency");
    assert_eq!(distribution(Component::Stage(Stage::Airtime)), PPDU * 3);
    // The remainder is between the hops: the acknowledgement in a relay's queue, AIFS and backoff in contention.
    let waits =
        distribution(Component::Stage(Stage::Queueing)) + distribution(Component::Stage(Stage::Contention));
    assert_eq!(waits + PPDU * 3, latency);
    // From the first queue to the last acknowledgement.
    assert_within(
        outcome.wifi_latency[0].mean.unwrap(),
        (latency + ANSWER).as_millis_f64(),
        1e-3,
        "Wi-Fi latency",
    );
}

#[test]
fn hops_share_one_channel() {
    let goodputs: Vec<f64> = (1..=4)
        .map(|hops| {
            let text = chain(hops, "{ kind = \"fifo\", limit = { packets = 64 } }")
                + &format!("[[flow]]\nname = \"f\"\nkind = \"tcp\"\nstation = \"s{hops}\"\n");
            flow(&run(&text.replace("\"2 s\"", "\"10 s\"")), "f").goodput_mbps
        })
        .collect();
    for (hops, goodput) in (1..).zip(&goodputs) {
        assert_within(*goodput, goodputs[0] / f64::from(hops), 0.2, &format!("goodput over {hops} hops"));
    }
}

#[test]
fn uplinks_from_afar_and_acknowledgements_find_their_way() {
    for direction in ["down", "up"] {
        let text = chain(3, "\"linux\"")
            + &format!(
                "[[station]]\nname = \"near\"\nrate = \"HT20 MCS7 1SS LGI\"\n\
                 [[station]]\nname = \"twig\"\nvia = \"s2\"\nrate = \"HT20 MCS7 1SS LGI\"\n\
                 [[flow]]\nname = \"far\"\nkind = \"tcp\"\nstation = \"s3\"\ndirection = \"{direction}\"\n\
                 [[flow]]\nname = \"relay\"\nkind = \"tcp\"\nstation = \"s1\"\ndirection = \"{direction}\"\n\
                 [[flow]]\nname = \"twig\"\nkind = \"voip\"\nstation = \"twig\"\ndirection = \"{direction}\"\n\
                 [[flow]]\nname = \"near\"\nkind = \"tcp-short\"\nstation = \"near\"\ndirection = \"{direction}\"\n"
            );
        let (outcome, rows) = observed(&text);
        for name in ["far", "relay", "near"] {
            assert!(flow(&outcome, name).goodput_mbps > 0.2, "{direction}: {:?}", flow(&outcome, name));
        }
        let call = flow(&outcome, "twig");
        assert!(call.packets.delivered > 90, "{direction}: {call:?}");
        // Only adjacent nodes of the tree.
        let links = [(0, 1), (1, 2), (2, 3), (0, 4), (2, 5)];
        for txop in &rows.txops {
            let ends = (txop.transmitter.min(txop.receiver), txop.transmitter.max(txop.receiver));
            assert!(links.contains(&ends), "{txop:?}");
        }
        // A packet over several hops has a row for each relay.
        let hops = rows.hops_by_packet();
        for row in rows.packets.iter().filter(|row| row.fate == Fate::Delivered) {
            let own = hops.get(&row.packet).map_or(&[][..], Vec::as_slice);
            assert_eq!(own.len(), [0, 1, 2, 0, 2][usize::from(row.station)], "{row:?}");
            assert_eq!(Split::over(own, row).unwrap().latency(), row.arrived - row.sent);
        }
    }
}

#[test]
fn packets_lost_at_a_relay_are_lost_once() {
    // The second link is dead, the third would be perfect.
    let text = chain(3, "\"fifo\"")
        .replace("via = \"s1\"\n", "via = \"s1\"\nchannel = { kind = \"fixed\", snr = \"-10 dB\" }\n")
        + &cbr("s3", "800 kbit/s", "down");
    let (outcome, rows) = observed(&text);
    let stream = flow(&outcome, "f");
    assert_eq!(stream.packets.delivered, 0);
    assert!(stream.drops["retry_limit"] > 150, "{stream:?}");
    assert!(rows.txops.iter().all(|txop| txop.receiver <= 2));
    // A row for each packet, with the hop on which it was lost.
    let mut numbers: Vec<u64> = rows.packets.iter().map(|row| row.packet).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), rows.packets.len());
    assert!(rows.packets.iter().all(|row| row.enqueued - row.sent >= PPDU && row.first_tx < Instant::MAX));
}

#[test]
fn a_relay_queues_as_the_access_point_does() {
    // The first hop is five times as fast as the second, which carries less than the load: the relay's queue drops.
    let text = |queue: &str| {
        let slow = "name = \"s2\"\nrate = \"HT20 MCS1 1SS LGI\"";
        chain(2, queue).replace("name = \"s2\"\nrate = \"HT20 MCS7 1SS LGI\"", slow)
            + &cbr("s2", "14 Mbit/s", "down")
    };
    for (queue, reason) in
        [("{ kind = \"fifo\", limit = { packets = 20 } }", "queue_full"), ("\"codel\"", "congestion")]
    {
        let (outcome, rows) = observed(&text(queue));
        let hops = rows.hops_by_packet();
        let at_relay = rows
            .packets
            .iter()
            .filter(|row| row.fate != Fate::Delivered && hops.contains_key(&row.packet))
            .count();
        let drops = &flow(&outcome, "f").drops;
        assert!(at_relay > 50 && drops[reason] > 50, "{drops:?}, {at_relay} at the relay");
    }
}

#[test]
fn a_relay_charges_what_it_receives_if_its_path_does() {
    // Two stations behind a relay receive the same load; one of them also sends, which uses its own airtime.
    let goodputs = |charged: bool| {
        let mut text = chain(1, "\"linux\"").replace("\"2 s\"", "\"5 s\"").replace(
            "preset = \"direct\"\n",
            &format!("preset = \"direct\"\n[access-point.path]\ncharge-received-airtime = {charged}\n"),
        );
        for name in ["talks", "listens"] {
            text += &format!(
                "[[station]]\nname = \"{name}\"\nvia = \"s1\"\nrate = \"HT20 MCS0 1SS LGI\"\n\
                 [[flow]]\nname = \"{name}\"\nkind = \"cbr\"\nstation = \"{name}\"\nrate = \"8 Mbit/s\"\n"
            );
        }
        text += "[[flow]]\nname = \"up\"\nkind = \"cbr\"\nstation = \"talks\"\ndirection = \"up\"\nrate = \"1 Mbit/s\"\n";
        let outcome = run(&text);
        (flow(&outcome, "talks").goodput_mbps, flow(&outcome, "listens").goodput_mbps)
    };
    let (talks, listens) = goodputs(false);
    assert_within(talks, listens, 0.1, "downlink of the one that also sends, not charged");
    let (talks, listens) = goodputs(true);
    assert!(talks < 0.8 * listens, "charged: {talks} and {listens} Mbit/s");
}
