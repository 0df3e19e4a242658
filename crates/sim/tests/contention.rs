//! Channel access: collisions, priorities, TXOPs, beacons, interference, and shares of airtime.

use crate::simulate;
use std::fmt::Write;

use airbound_units::{Instant, Span};

use simulate::{assert_within, flow, observed, run};

/// Stations that send at full rate, one packet for each access.
fn uplinks(stations: usize, air: &str, category: &str) -> String {
    let mut text = format!(
        "duration = \"5 s\"\n[air]\nstandard = \"vht\"\nbeacons = false\n{air}[uplink]\nrate = \"fixed\"\n[uplink.path]\n\
         max-ampdu-mpdus = 1\nmax-grants = 50\n"
    );
    for index in 0..stations {
        write!(
            text,
            "[[station]]\nname = \"s{index}\"\nrate = \"VHT80 MCS4 1SS LGI\"\n[[flow]]\nname = \"f{index}\"\nkind = \"cbr\"\n\
             station = \"s{index}\"\ndirection = \"up\"\nrate = \"200 Mbit/s\"\nsize = \"1472 B\"\n{category}"
        )
        .unwrap();
    }
    text
}

/// Bianchi's fixed point for two stations with a window that doubles from 16 to 1024 slots (equations 7 and 9).
fn collision_probability_of_two() -> f64 {
    let attempt = |p: f64| {
        let (w, m) = (16.0, 6);
        2.0 * (1.0 - 2.0 * p) / ((1.0 - 2.0 * p) * (w + 1.0) + p * w * (1.0 - (2.0 * p).powi(m)))
    };
    // The probability that the other station sends in the same slot.
    (0..200).fold(0.1, |p, _| f64::midpoint(p, attempt(p)))
}

#[test]
fn two_equal_stations_share_evenly_and_collide_as_bianchi_says() {
    for eifs in ["", "eifs = false\n"] {
        let outcome = run(&uplinks(2, &format!("edca = \"dcf\"\n{eifs}"), ""));
        let rate = outcome.summary.air.collision_rate.unwrap();
        let expected = collision_probability_of_two();
        assert!((rate - expected).abs() < 0.008, "{rate} instead of {expected}");
        let goodputs: Vec<f64> = outcome.summary.flows.iter().map(|flow| flow.goodput_mbps).collect();
        assert_within(goodputs[0], goodputs[1], 0.05, "shares");
        assert!(outcome.summary.jain.goodput.unwrap() > 0.999);
    }
}

#[test]
fn more_stations_collide_more() {
    let rates: Vec<f64> = [1, 2, 5, 15]
        .iter()
        .map(|&count| run(&uplinks(count, "edca = \"dcf\"\n", "")).summary.air.collision_rate.unwrap())
        .collect();
    assert_eq!(rates[0], 0.0);
    assert!(rates.is_sorted_by(|a, b| a < b), "{rates:?}");
    assert!((0.25..0.5).contains(&rates[3]), "{rates:?}");
}

#[test]
fn a_collision_lasts_no_longer_than_its_first_frames() {
    let (_, plain) = observed(&uplinks(3, "edca = \"dcf\"\n", ""));
    let (_, protected) = observed(&uplinks(3, "edca = \"dcf\"\nrts-threshold = \"0 B\"\n", ""));
    let collided = |rows: &simulate::Rows| -> Vec<Span> {
        rows.txops.iter().filter(|txop| txop.collided).map(|txop| txop.end - txop.start).collect()
    };
    let (plain, protected) = (collided(&plain), collided(&protected));
    assert!(plain.len() > 500 && protected.len() > 500);
    // 1538 B at 175.5 Mbit/s (702 bits in a symbol): 18 symbols behind 40 us. RTS at 24 Mbit/s: 28 us.
    assert!(plain.iter().all(|span| *span == Span::from_micros(40 + 18 * 4)), "{:?}", plain[0]);
    assert!(protected.iter().all(|span| *span == Span::from_micros(28)), "{:?}", protected[0]);
}

#[test]
fn airtime_of_all_stations_fits_in_the_run() {
    for rts in ["", "rts-threshold = \"0 B\"\n"] {
        let outcome = run(&uplinks(10, rts, ""));
        let shares: f64 = outcome.summary.stations.iter().map(|station| station.airtime_share).sum();
        let busy = outcome.summary.air.busy_share;
        assert!(busy < 1.0, "{busy}");
        // Each transmitter gets its share of a collision; the longest frame determines the busy time.
        assert!(shares >= busy * 0.99 && shares <= busy, "{shares}, busy {busy}");
    }
}

#[test]
fn higher_categories_go_first() {
    let categories = ["bk", "be", "vi", "vo"];
    // Four stations, each with a category of its own.
    let mut stations = uplinks(4, "", "");
    for (index, category) in categories.iter().enumerate() {
        stations = stations.replacen(
            &format!("station = \"s{index}\"\ndirection"),
            &format!("station = \"s{index}\"\ncategory = \"{category}\"\ndirection"),
            1,
        );
    }
    // One access point with all four.
    let mut inside =
        "duration = \"3 s\"\n[air]\nstandard = \"vht\"\n[scheme]\nqueue = \"fifo\"\nrate = \"fixed\"\n\
                      [access-point]\npreset = \"direct\"\n[access-point.path]\nmax-ampdu-mpdus = 4\n\
                      [[station]]\nname = \"s\"\nrate = \"VHT80 MCS4 1SS LGI\"\n"
            .to_owned();
    for (index, category) in categories.iter().enumerate() {
        write!(
            inside,
            "[[flow]]\nname = \"f{index}\"\nkind = \"cbr\"\nstation = \"s\"\ncategory = \"{category}\"\nrate = \"200 Mbit/s\"\n"
        )
        .unwrap();
    }
    for text in [stations, inside] {
        let outcome = run(&text);
        let goodputs: Vec<f64> = outcome.summary.flows.iter().map(|flow| flow.goodput_mbps).collect();
        assert!(goodputs.is_sorted_by(|low, high| low < high), "{goodputs:?}");
        // AIFSN 7 against 2 or 1, a window of 15 against 3: background gets almost no airtime beside voice.
        assert!(goodputs[3] > 20.0 * goodputs[0], "{goodputs:?}");
    }
}

#[test]
fn video_sends_several_ppdus_in_one_opportunity() {
    // 8 MPDUs of 1544 B: 141 symbols, 604 us, and 48 us for the answer; 5: 88 symbols, 392 us. RTS and CTS add 88 us.
    for (rts, mpdus, exchange) in
        [("", 8, 652), ("rts-threshold = \"0 B\"\n", 8, 740), ("rts-threshold = \"0 B\"\n", 5, 528)]
    {
        let text = format!(
            "duration = \"1 s\"\n[air]\nstandard = \"vht\"\nbeacons = false\n{rts}[access-point]\npreset = \"direct\"\n\
             [access-point.path]\nmax-ampdu-mpdus = {mpdus}\n[scheme]\nqueue = \"fifo\"\nrate = \"fixed\"\n\
             [[station]]\nname = \"s\"\nrate = \"VHT80 MCS4 1SS LGI\"\n\
             [[flow]]\nname = \"f\"\nkind = \"cbr\"\nstation = \"s\"\ncategory = \"vi\"\nrate = \"200 Mbit/s\"\nsize = \"1472 B\"\n"
        );
        let (_, rows) = observed(&text);
        let sifs = Span::from_micros(16);
        // Each opportunity with the start of its first exchange, the end of its last, and their number.
        let mut opportunities: Vec<(Instant, Instant, u32)> = Vec::new();
        for txop in &rows.txops {
            match opportunities.last_mut() {
                Some((_, end, count)) if *end + sifs == txop.start => {
                    *end = txop.end;
                    *count += 1;
                }
                _ => opportunities.push((txop.start, txop.end, 1)),
            }
        }
        let limit = Span::from_micros(94 * 32);
        assert!(opportunities.iter().all(|(start, end, _)| *end - *start <= limit));
        // As many full exchanges as fit with a SIFS between them, then a smaller one in the remaining time.
        let full = 3008 / (exchange + 16);
        let counts: Vec<u32> = opportunities.iter().map(|(.., count)| *count).collect();
        let good = counts.iter().filter(|count| (full..=full + 1).contains(*count)).count();
        assert!(good * 10 >= counts.len() * 9, "{full}: {counts:?}");
        // Between opportunities the access point contends, with AIFSN 1: never less than AIFS.
        for pair in opportunities.windows(2) {
            assert!(pair[1].0 - pair[0].1 >= Span::from_micros(16 + 9));
        }
    }
}

#[test]
fn a_packet_too_long_for_the_rest_of_an_opportunity_waits_for_the_next() {
    // At 6.5 Mbit/s a packet of 1500 B takes 1.9 ms: only one fits in 3.008 ms.
    let text = "duration = \"1 s\"\n[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\nbeacons = false\n[access-point]\n\
                preset = \"direct\"\n[scheme]\nqueue = \"fifo\"\nrate = \"fixed\"\n\
                [[station]]\nname = \"s\"\nrate = \"HT20 MCS0 1SS LGI\"\n\
                [[flow]]\nname = \"f\"\nkind = \"cbr\"\nstation = \"s\"\ncategory = \"vi\"\nrate = \"20 Mbit/s\"\nsize = \"1472 B\"\n";
    let (_, rows) = observed(text);
    assert!(rows.txops.len() > 300);
    for pair in rows.txops.windows(2) {
        assert!(pair[1].start - pair[0].end >= Span::from_micros(16 + 9), "{pair:?}");
    }
}

#[test]
fn beacons_come_every_102_4_ms() {
    let text = |beacons: &str| {
        format!(
            "duration = \"2.1 s\"\n[air]\nbeacons = {beacons}\n[[station]]\nname = \"s\"\n\
             [[flow]]\nname = \"f\"\nkind = \"cbr\"\nstation = \"s\"\nrate = \"1 kbit/s\"\nsize = \"1472 B\"\nstart = \"2 s\"\n"
        )
    };
    let busy = |beacons: &str| run(&text(beacons)).summary.air.busy_share * 2.1;
    // 250 B at 6 Mbit/s: 2022 bits are 85 symbols of 24 behind 20 us.
    let beacon = 360e-6;
    assert_within(busy("true") - busy("false"), 20.0 * beacon, 1e-6, "20 beacons");
    assert_within(busy("\"50 ms\"") - busy("false"), 41.0 * beacon, 1e-6, "41 beacons");
}

#[test]
fn interference_keeps_the_channel_busy() {
    let text = |more: &str| {
        format!(
            "duration = \"60 s\"\n[air]\nbeacons = false\n[[station]]\nname = \"s\"\n\
             [[flow]]\nname = \"f\"\nkind = \"voip\"\nstation = \"s\"\n{more}"
        )
    };
    let jam = "[[interference]]\nname = \"jam\"\nmean-on = \"5 ms\"\nmean-off = \"20 ms\"\n";
    let (quiet, jammed) = (run(&text("")), run(&text(jam)));
    let share = jammed.summary.air.busy_share - quiet.summary.air.busy_share;
    // 2400 bursts: their share of the time is 0.2 within a few percent.
    assert_within(share, 0.2, 0.1, "share of interference");
    // A fifth of the packets waits for the rest of a burst, 5 ms on average.
    let later = flow(&jammed, "f").latency_ms.mean.unwrap() - flow(&quiet, "f").latency_ms.mean.unwrap();
    assert_within(later, 0.2 * 5.0, 0.2, "delay by interference, ms");
    assert_eq!(flow(&jammed, "f").packets.dropped, 0);
}

/// Two stations, one ten times as fast, with more load than capacity.
fn fast_and_slow(queue: &str) -> airbound_sim::Outcome {
    run(&format!(
        "duration = \"60 s\"\nwarm-up = \"5 s\"\n[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\n[scheme]\nqueue = \"{queue}\"\n\
         rate = \"fixed\"\n[access-point]\npreset = \"ath9k-fq\"\n\
         [[station]]\nname = \"fast\"\nrate = \"HT20 MCS7 1SS LGI\"\n[[station]]\nname = \"slow\"\nrate = \"HT20 MCS0 1SS LGI\"\n\
         [[flow]]\nname = \"to-fast\"\nkind = \"poisson\"\nstation = \"fast\"\nrate = \"70 Mbit/s\"\nsize = \"1472 B\"\n\
         [[flow]]\nname = \"to-slow\"\nkind = \"poisson\"\nstation = \"slow\"\nrate = \"70 Mbit/s\"\nsize = \"1472 B\"\n"
    ))
}

#[test]
fn linux_shares_airtime_and_fifo_shares_throughput() {
    let linux = fast_and_slow("linux");
    let airtime: Vec<f64> = linux.summary.stations.iter().map(|station| station.airtime_share).collect();
    assert_within(airtime[0], airtime[1], 0.05, "airtime under linux");
    assert!(linux.summary.flows[0].goodput_mbps > 7.0 * linux.summary.flows[1].goodput_mbps);
    let fifo = fast_and_slow("fifo");
    assert_within(
        fifo.summary.flows[0].goodput_mbps,
        fifo.summary.flows[1].goodput_mbps,
        0.1,
        "goodput under fifo",
    );
    assert!(fifo.summary.stations[1].airtime_share > 5.0 * fifo.summary.stations[0].airtime_share);
}
