//! Voice frames leave one by one, as in Linux and ns-3, unless a scenario says otherwise.

use airbound_sim::Outcome;

use crate::simulate;

/// One access point with 802.11n on 20 MHz, and a phone and a laptop at MCS 7. The uplink contends as the access point does.
fn run(lines: &str) -> Outcome {
    simulate::run(&format!(
        "duration = \"3 s\"\nwarm-up = \"1 s\"\n[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\nguard-interval = \"800 ns\"\n\
         [[station]]\nname = \"phone\"\nrate = \"HT20 MCS7 1SS LGI\"\nchannel = {{ kind = \"fixed\", snr = \"40 dB\" }}\n\
         [[station]]\nname = \"laptop\"\nrate = \"HT20 MCS7 1SS LGI\"\nchannel = {{ kind = \"fixed\", snr = \"40 dB\" }}\n{lines}"
    ))
}

/// A flow of datagrams of 1400 B to or from a station.
fn flow(name: &str, station: &str, mbps: u32, category: &str, direction: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nkind = \"cbr\"\nstation = \"{station}\"\nrate = \"{mbps} Mbit/s\"\n\
         size = \"1400 B\"\ncategory = \"{category}\"\ndirection = \"{direction}\"\n"
    )
}

fn goodput(outcome: &Outcome, flow: usize) -> f64 {
    outcome.summary.flows[flow].goodput_mbps
}

fn within(value: f64, expected: f64, share: f64) {
    assert!((value / expected - 1.0).abs() < share, "{value} instead of {expected}");
}

/// mac80211 of Linux 6.12 in the laboratory: 39.25 Mb/s of voice at MCS 7, and 58.55 Mb/s of video.
#[test]
fn bulk_in_the_voice_category_is_as_slow_as_in_the_laboratory() {
    for direction in ["down", "up"] {
        let voice = run(&flow("bulk", "phone", 70, "vo", direction));
        within(goodput(&voice, 0), 39.25, if direction == "down" { 0.01 } else { 0.06 });
        let video = run(&flow("bulk", "phone", 70, "vi", direction));
        within(goodput(&video, 0), 58.55, 0.03);
    }
}

/// The laboratory: 13.9 Mb/s of best effort beside 30 Mb/s of voice, whose p95 is 10.4 ms.
#[test]
fn voice_frames_of_their_own_take_the_air_of_others() {
    let flows = flow("voice", "phone", 30, "vo", "down") + &flow("bulk", "laptop", 30, "be", "down");
    let outcome = run(&flows);
    within(goodput(&outcome, 0), 30.0, 0.02);
    within(goodput(&outcome, 1), 13.9, 0.1);
    within(outcome.summary.flows[0].latency_ms.p95.expect("packets arrived"), 10.4, 0.15);
}

/// One frame of 1436 B in HT at 65 Mb/s in its own PPDU, whoever forms it and when.
#[test]
fn every_transmit_path_sends_voice_alone() {
    for preset in ["mac80211", "ath9k-fq", "ath9k-2014", "direct"] {
        let lines = format!("[access-point]\npreset = \"{preset}\"\n");
        let outcome = run(&(lines + &flow("bulk", "phone", 70, "vo", "down")));
        assert_eq!(outcome.summary.stations[0].mean_ampdu, Some(1.0), "{preset}");
    }
    for scheme in ["queue = \"law\"", "queue = \"wqm\"", "queue = \"last-pq\""] {
        let lines = format!("[scheme]\n{scheme}\n");
        let outcome = run(&(lines + &flow("bulk", "phone", 70, "vo", "down")));
        assert_eq!(outcome.summary.stations[0].mean_ampdu, Some(1.0), "{scheme}");
    }
}

#[test]
fn a_scenario_may_aggregate_voice() {
    let lines = "[access-point.path]\naggregate-voice = true\n".to_owned();
    let outcome = run(&(lines + &flow("bulk", "phone", 70, "vo", "down")));
    assert!(goodput(&outcome, 0) > 55.0, "{}", goodput(&outcome, 0));
    // The key of the access point is not that of the stations.
    let lines = "[access-point.path]\naggregate-voice = true\n".to_owned();
    let outcome = run(&(lines + &flow("bulk", "phone", 70, "vo", "up")));
    assert!(goodput(&outcome, 0) < 45.0, "{}", goodput(&outcome, 0));
    let lines = "[uplink.path]\naggregate-voice = true\n".to_owned();
    let outcome = run(&(lines + &flow("bulk", "phone", 70, "vo", "up")));
    assert!(goodput(&outcome, 0) > 50.0, "{}", goodput(&outcome, 0));
}
