//! The same scenario and seed give the same run, with any observer and any step size.

use crate::simulate;
use airbound_record::TxopRow;
use airbound_scenario::Scenario;
use airbound_sim::Run;
use airbound_units::{Instant, Span};

/// All random parts: fading, interference, relays, losses on the wire, contention, TCP, frames of random size.
fn lively(queue: &str, seed: u64) -> Scenario {
    simulate::scenario(&format!(
        "seed = {seed}\nduration = \"1500 ms\"\nwarm-up = \"200 ms\"\n[air]\nstandard = \"ht\"\nwidth = \"40 MHz\"\n\
         [scheme]\nqueue = \"{queue}\"\nrate = \"minstrel-ht\"\n[access-point]\npreset = \"ath9k-fq\"\n\
         [wire]\nloss = 0.001\njitter = \"2 ms\"\n\
         [[station]]\nname = \"near\"\nchannel = {{ kind = \"log-distance\", distance = \"5 m\", shadowing = \"3 dB\", fading = \"rayleigh\" }}\n\
         [[station]]\nname = \"far\"\nchannel = {{ kind = \"log-distance\", distance = \"20 m\", fading = {{ kind = \"rician\", speed = \"1 m/s\" }}, blockage = [{{ pause = \"300 ms\", length = \"200 ms\" }}], activity = {{ pause = \"2 s\", length = \"1 s\" }} }}\n\
         [[station]]\nname = \"behind\"\nvia = \"near\"\nchannel = {{ kind = \"log-distance\", distance = \"7 m\", fading = \"rayleigh\" }}\n\
         [[flow]]\nname = \"vr\"\nkind = \"vr\"\nstation = \"near\"\nsize-law = \"lognormal(0.3)\"\n\
         [[flow]]\nname = \"call\"\nkind = \"voip\"\nstation = \"far\"\n\
         [[flow]]\nname = \"download\"\nkind = \"tcp\"\nstation = \"far\"\n\
         [[flow]]\nname = \"pages\"\nkind = \"tcp-short\"\nstation = \"near\"\ninterval = \"100 ms\"\n\
         [[flow]]\nname = \"upload\"\nkind = \"poisson\"\nstation = \"far\"\ndirection = \"up\"\nrate = \"3 Mbit/s\"\n\
         [[flow]]\nname = \"relayed\"\nkind = \"tcp-short\"\nstation = \"behind\"\ninterval = \"100 ms\"\n\
         [[flow]]\nname = \"game\"\nkind = \"rtc\"\nstation = \"far\"\nfec = \"two-dimensional\"\n\
         [[flow]]\nname = \"camera\"\nkind = \"rtc\"\nstation = \"behind\"\ndirection = \"up\"\nnack = false\n\
         [[neighbour]]\nname = \"n\"\nload = \"5 Mbit/s\"\n[[neighbour]]\nname = \"m\"\nmean-on = \"20 ms\"\nmean-off = \"50 ms\"\n\
         [[interference]]\nname = \"i\"\n"
    ))
}

const QUEUES: [&str; 6] = ["fifo", "codel", "pie", "fq-codel", "linux", "round-robin"];

fn start(scenario: &Scenario) -> Run {
    Run::new("test", scenario, &scenario.scheme, scenario.seed).unwrap()
}

fn summary(run: Run) -> String {
    run.finish().unwrap().0.summary.to_json().unwrap()
}

#[test]
fn the_same_seed_gives_the_same_bytes_watched_or_not() {
    for queue in QUEUES {
        let scenario = lively(queue, 7);
        let alone = summary(start(&scenario));
        let (watched, rows) = simulate::prepare(&scenario);
        assert_eq!(alone, summary(watched), "{queue}");
        let (again, same_rows) = simulate::prepare(&scenario);
        assert_eq!(alone, summary(again), "{queue}");
        assert!(*rows.borrow() == *same_rows.borrow(), "{queue}: rows differ");
        assert!(rows.borrow().packets.len() > 1000);
    }
}

#[test]
fn a_run_in_pieces_is_the_same_run() {
    let scenario = lively("linux", 7);
    let whole = summary(start(&scenario));
    for piece in [Span::from_micros(77), Span::from_millis(13), Span::from_secs(1)] {
        let mut run = start(&scenario);
        while run.advance(piece) {}
        assert_eq!(run.now(), run.end());
        assert_eq!(whole, summary(run), "in pieces of {piece}");
    }
}

#[test]
fn another_seed_gives_another_run() {
    let mut seen: Vec<String> = (1..6)
        .map(|seed| summary(start(&lively("fifo", seed))).replace(&format!("\"seed\": {seed}"), ""))
        .collect();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 5);
}

/// The PHY rate chosen by the ideal rate control over time: it depends on the channel alone.
fn rates(queue: &str, seed: u64) -> Vec<TxopRow> {
    let scenario = simulate::scenario(&format!(
        "seed = {seed}\nduration = \"10 s\"\n[air]\nstandard = \"vht\"\n[scheme]\nqueue = \"{queue}\"\nrate = \"ideal\"\n\
         [access-point]\npreset = \"direct\"\n[[station]]\nname = \"s\"\n\
         channel = {{ kind = \"log-distance\", distance = \"15 m\", shadowing = \"4 dB\", fading = {{ kind = \"rayleigh\", speed = \"0.2 m/s\" }} }}\n\
         [[flow]]\nname = \"f\"\nkind = \"tcp\"\nstation = \"s\"\n[[flow]]\nname = \"g\"\nkind = \"poisson\"\nstation = \"s\"\nrate = \"40 Mbit/s\"\n"
    ));
    let (run, rows) = simulate::prepare(&scenario);
    run.finish().unwrap();
    let mut down = rows.take().txops;
    down.retain(|txop| txop.transmitter == 0);
    down
}

/// The share of equal rates among exchanges of two runs that are at most 100 us apart.
fn agreement(one: &[TxopRow], other: &[TxopRow]) -> f64 {
    let near = |at: Instant| {
        let place = other.partition_point(|txop| txop.start < at);
        other.get(place).filter(|txop| txop.start - at < Span::from_micros(100))
    };
    let pairs: Vec<bool> =
        one.iter().filter_map(|txop| near(txop.start).map(|other| other.rate == txop.rate)).collect();
    assert!(pairs.len() > 100, "{} pairs", pairs.len());
    pairs.iter().filter(|equal| **equal).count() as f64 / pairs.len() as f64
}

#[test]
fn every_scheme_meets_the_same_channel() {
    let fifo = rates("fifo", 3);
    for queue in ["linux", "codel"] {
        let other = rates(queue, 3);
        assert!(fifo.len() != other.len() || fifo != other, "the schemes behave alike");
        let share = agreement(&fifo, &other);
        assert!(share > 0.93, "{queue}: {share}");
    }
    let elsewhere = agreement(&fifo, &rates("fifo", 4));
    assert!(elsewhere < 0.7, "{elsewhere}");
}
