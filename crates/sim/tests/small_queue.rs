//! TCP small queues of stations: what a sender has below it is bounded, and the air stays busy.

use crate::simulate;
use airbound_record::FlowSummary;
use simulate::{assert_within, flow, run};

/// A transfer alone on the air, with a congestion control and a queue at the station.
fn transfer(direction: &str, congestion: &str, queue: &str) -> FlowSummary {
    let text = format!(
        "duration = \"5 s\"\nwarm-up = \"2 s\"\n[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\n[access-point]\npreset = \"mac80211\"\n\
         streams = 1\n[uplink]\npreset = \"mac80211\"\nqueue = {queue}\n[scheme]\nqueue = \"linux\"\n\
         [[station]]\nname = \"a\"\nrate = \"HT20 MCS7 1SS LGI\"\n\
         [[flow]]\nname = \"bulk\"\nstation = \"a\"\nkind = \"tcp\"\ndirection = \"{direction}\"\ncongestion = {congestion}\n"
    );
    flow(&run(&text), "bulk").clone()
}

const FREE: &str = "\"cubic\"";
/// mac80211's bound (`sk_pacing_shift` 7).
const BOUND: &str = "{ kind = \"cubic\", small-queue = \"7.8125 ms\" }";

#[test]
fn an_upload_waits_in_its_socket_and_not_in_the_station() {
    let free = transfer("up", FREE, "\"linux\"");
    let bound = transfer("up", BOUND, "\"linux\"");
    let [long, short] = [&free, &bound].map(|flow| flow.latency_ms.p50.unwrap());
    assert!(short < 0.65 * long, "{short} and {long} ms");
    assert_within(bound.goodput_mbps, free.goodput_mbps, 0.03, "goodput");
}

#[test]
fn a_tighter_bound_waits_for_less() {
    let medians = ["1 ms", "7.8125 ms"].map(|time| {
        let bound = format!("{{ kind = \"cubic\", small-queue = \"{time}\" }}");
        transfer("up", &bound, "\"linux\"").latency_ms.p50.unwrap()
    });
    assert!(medians[0] < 0.9 * medians[1], "{medians:?}");
}

#[test]
fn packets_that_the_station_drops_count_no_more() {
    // The queue holds less than a burst: most bursts lose packets before the air.
    let queue = "{ kind = \"fifo\", limit = { packets = 20 } }";
    let [free, bound] = [FREE, BOUND].map(|congestion| transfer("up", congestion, queue));
    assert!(bound.goodput_mbps > 0.8 * free.goodput_mbps, "{} {}", bound.goodput_mbps, free.goodput_mbps);
}

#[test]
fn a_download_is_as_without_a_bound() {
    let [free, bound] = [FREE, BOUND].map(|congestion| transfer("down", congestion, "\"linux\""));
    assert_eq!((free.goodput_mbps, free.latency_ms), (bound.goodput_mbps, bound.latency_ms));
}
