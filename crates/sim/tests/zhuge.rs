//! An access point that tells senders the delay to come.

use crate::simulate;
use airbound_units::{Instant, Span};
use simulate::{observed, run};

/// A flow over a link that falls from an SNR of 49 dB to one of 7 dB at 15 s, about 9 Mb/s, behind a wire of 20 ms.
fn falling(queue: &str, seed: u64, flow: &str) -> String {
    format!(
        "duration = \"21 s\"\nseed = {seed}\n[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\n[access-point]\nstreams = 1\n\
         [wire]\ndelay = \"20 ms\"\n[scheme]\nqueue = {queue}\n[[station]]\nname = \"player\"\n\
         channel = {{ kind = \"log-distance\", path = [[\"0 s\", \"3 m\"], [\"15 s\", \"3 m\"], [\"15001 ms\", \"75 m\"], [\"60 s\", \"75 m\"]] }}\n\
         [[flow]]\nname = \"flow\"\nstation = \"player\"\n{flow}"
    )
}

/// Latencies in ms at the shares `at` of the frames of the 5 s after the fall; infinite for those that never came.
fn frames(queue: &str, seed: u64, at: [f64; 2]) -> [f64; 2] {
    let (_, rows) = observed(&falling(queue, seed, "kind = \"rtc\"\nrate = \"10 Mbit/s\"\n"));
    let [from, to] = [15, 20].map(|second| Instant::ZERO + Span::from_secs(second));
    let mut all: Vec<f64> = (rows.frames.iter().filter(|row| (from..to).contains(&row.created)))
        .map(|row| match row.delivered {
            Instant::MAX => f64::INFINITY,
            delivered => delivered.since(row.created).as_millis_f64(),
        })
        .collect();
    assert_eq!(all.len(), 150);
    all.sort_by(f64::total_cmp);
    at.map(|share| all[((all.len() - 1) as f64 * share) as usize])
}

/// The paper's claim: a tail that is 17 to 95 % shorter.
#[test]
fn a_call_falls_with_its_link_and_not_a_round_trip_and_a_queue_later() {
    for seed in 1..=3 {
        let [linux, zhuge] = ["\"linux\"", "\"zhuge\""].map(|queue| frames(queue, seed, [0.5, 0.99]));
        assert!(zhuge[1] < 0.83 * linux[1], "seed {seed}: p99 {zhuge:?} of {linux:?}");
        assert!(zhuge[0] < 0.1 * linux[0], "seed {seed}: the median {zhuge:?} of {linux:?}");
    }
}

/// Reports as rare as a receiver's: it is the prediction that counts.
#[test]
fn the_gain_is_not_that_of_more_reports() {
    let rare = "{ kind = \"zhuge\", report-after = \"50 ms\" }";
    let [linux, zhuge] = ["\"linux\"", rare].map(|queue| frames(queue, 1, [0.5, 0.99]));
    assert!(zhuge[0] < 0.1 * linux[0] && zhuge[1] < 0.83 * linux[1], "{zhuge:?} of {linux:?}");
}

/// Delay of acknowledgements beyond the wire, in us: the most, and the mean.
fn held(category: &str) -> (u64, u64) {
    let flow = format!("kind = \"tcp\"\ncategory = \"{category}\"\n");
    let (_, rows) = observed(&falling("\"zhuge\"", 1, &flow));
    let acks: Vec<_> =
        rows.packets.iter().filter(|row| row.flow == 1 && row.arrived != Instant::MAX).collect();
    // The wire sends them in 416 ns.
    let held = acks.iter().map(|row| (row.arrived - row.delivered - Span::from_millis(20)).as_micros());
    assert!(acks.len() > 1000 && acks.windows(2).all(|two| two[0].arrived <= two[1].arrived), "out of order");
    (held.clone().max().unwrap_or(0), held.sum::<u64>() / acks.len() as u64)
}

#[test]
fn acknowledgements_of_real_time_flows_wait_and_of_others_do_not() {
    let (most, mean) = held("vi");
    assert!((5_000..=10_000).contains(&most) && mean > 100, "{most} and {mean} us");
    assert_eq!(held("be"), (0, 0));
}

#[test]
fn without_real_time_flows_it_is_linux() {
    let tcp = "kind = \"tcp\"\n";
    let [linux, zhuge] = ["\"linux\"", "\"zhuge\""].map(|queue| run(&falling(queue, 1, tcp)).summary.flows);
    assert_eq!(linux, zhuge);
}
