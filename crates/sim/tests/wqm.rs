//! WQM over the transmit path of its testbed: queues by layer, the measured channel load, and the gain.

use crate::simulate;
use airbound_units::Span;

use simulate::{assert_within, flow, observed, run};

/// HT, 20 MHz, one station at a fixed rate below its load; extra lines for path, scheme, network.
fn saturated(rate: &str, path: &str, queue: &str, more: &str) -> String {
    format!(
        "duration = \"4 s\"\nwarm-up = \"1 s\"\n[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\nguard-interval = \"400 ns\"\n\
         beacons = false\n[access-point]\npreset = \"ath9k-2014\"\n[access-point.path]\n{path}\n\
         [scheme]\nqueue = {queue}\nrate = \"fixed\"\n[wire]\nrate = \"unlimited\"\ndelay = \"0 ms\"\n\
         [[station]]\nname = \"a\"\nrate = \"{rate}\"\n{more}"
    )
}

const SLOWEST: &str = "HT20 MCS0 1SS LGI";
const MBPS_65: &str = "HT20 MCS7 1SS LGI";
const FASTEST: &str = "HT20 MCS15 2SS SGI";

fn cbr(rate: &str, path: &str, queue: &str, more: &str) -> String {
    let flow =
        "[[flow]]\nname = \"f\"\nkind = \"cbr\"\nstation = \"a\"\nrate = \"200 Mbit/s\"\nsize = \"1472 B\"\n";
    saturated(rate, path, queue, &format!("{flow}{more}"))
}

/// Asserts that `least` to `most` packets wait below the queue and in it at the end of a run; an aggregate of `slack` packets may just
/// have left.
#[track_caller]
fn assert_waiting(text: &str, least: u64, most: u64, slack: u64) {
    let outcome = run(text);
    let queued = flow(&outcome, "f").packets.queued;
    assert!((least.saturating_sub(slack)..=most).contains(&queued), "{queued} wait, not {least} to {most}");
}

#[test]
fn the_driver_holds_so_many_frames_below_the_transmit_queue() {
    let fifo = "{ kind = \"fifo\", limit = { packets = 200 } }";
    assert_waiting(&cbr(MBPS_65, "", fifo, ""), 323, 323, 21);
    assert_waiting(&cbr(MBPS_65, "driver-queue = 16", fifo, ""), 216, 216, 21);
    // Without a driver's queue: two aggregates of twenty in the hardware.
    assert_waiting(&cbr(MBPS_65, "driver-queue = 0", fifo, ""), 240, 240, 20);
    // The scheme's default is that of Linux.
    assert_waiting(&cbr(SLOWEST, "", "\"fifo\"", ""), 1123, 1123, 1);
}

#[test]
fn aggregates_last_4_ms_and_hold_one_frame_at_the_lowest_rate() {
    for (rate, path, most) in [
        (SLOWEST, "", 1),
        ("HT20 MCS1 1SS LGI", "", 4),
        (MBPS_65, "", 20),
        (FASTEST, "", 32),
        // With two of them the block-ack window of 64 leaves 32 for each.
        (FASTEST, "max-ampdu-mpdus = 64", 42),
        (FASTEST, "max-ampdu-mpdus = 64\nhardware-aggregates = 1", 42),
        (FASTEST, "max-ampdu-mpdus = 1", 1),
        // Without the driver's delimiters there would be room for two.
        (SLOWEST, "first-subframe-padding = \"0 B\"", 2),
    ] {
        let (outcome, rows) = observed(&cbr(rate, path, "\"fifo\"", ""));
        let mean = outcome.summary.stations[0].mean_ampdu.unwrap();
        let usual = if path == "max-ampdu-mpdus = 64" { 32 } else { most };
        assert_within(mean, f64::from(usual), 0.01, rate);
        for txop in &rows.txops {
            assert!(txop.mpdus <= most, "{rate}");
            // SIFS and acknowledgement follow.
            assert!(txop.end - txop.start <= Span::from_micros(4100), "{rate}");
        }
    }
}

#[test]
fn minstrel_can_decide_too() {
    let minstrel = cbr(FASTEST, "", "\"wqm\"", "").replace("rate = \"fixed\"", "rate = \"minstrel-ht\"");
    let text = minstrel.replace(
        &format!("rate = \"{FASTEST}\""),
        "channel = { kind = \"log-distance\", distance = \"10 m\" }",
    );
    let outcome = run(&text);
    assert!(outcome.summary.stations[0].mean_phy_rate_mbps.unwrap() > 100.0);
    // 95 packets of 12 kbit at more than 70 Mbit/s.
    assert!(flow(&outcome, "f").latency_ms.p99.unwrap() < 40.0);
}

#[test]
fn the_buffer_shrinks_to_the_longest_aggregate_where_that_is_above_the_limit() {
    // 32 packets at 65 Mbit/s drain in 5.9 ms, one at 6.5 Mbit/s in 1.8 ms and two in 3.7.
    assert_waiting(&cbr(MBPS_65, "", "\"wqm\"", ""), 123 + 32, 123 + 32, 21);
    let longest = "{ kind = \"wqm\", floor = \"rate\" }";
    assert_waiting(&cbr(MBPS_65, "", longest, ""), 123 + 20, 123 + 20, 21);
    assert_waiting(&cbr(SLOWEST, "", longest, ""), 123 + 1, 123 + 2, 1);
    assert_waiting(&cbr(SLOWEST, "max-ampdu-mpdus = 1", "\"wqm\"", ""), 123 + 1, 123 + 2, 1);
}

#[test]
fn the_free_share_is_what_others_leave() {
    // 2.5 ms at 144.4 Mbit/s are 30 packets: the 31st halves the buffer.
    let path = "max-ampdu-mpdus = 4\ndriver-queue = 16";
    let alone = cbr(FASTEST, path, "\"wqm\"", "");
    assert_waiting(&alone, 16 + 16, 16 + 31, 4);
    // Taken literally, the transmitter's own transmissions leave no free time.
    let literal = alone.replace("\"wqm\"", "{ kind = \"wqm\", free-share = \"literal\" }");
    assert_waiting(&literal, 16 + 4, 16 + 4, 4);
    // With another transmitter on the channel, whose frames are much longer, little is free.
    let neighbour = "[[neighbour]]\nname = \"n\"\nrate = \"OFDM 6 Mbit/s\"\n";
    let shared = format!("{alone}{neighbour}");
    let outcome = run(&shared);
    let ours = outcome.summary.stations[0].airtime_share;
    assert!(ours < 0.45, "{ours}");
    // F below 1 - 0.5: fifteen packets at most.
    assert_waiting(&shared, 16 + 4, 16 + 16, 4);
}

#[test]
fn an_idle_second_costs_nothing() {
    let pause = |queue: &str, duration: &str| {
        let text = saturated(
            MBPS_65,
            "",
            queue,
            "[[flow]]\nname = \"f\"\nkind = \"tcp\"\nstation = \"a\"\nstop = \"2 s\"\n",
        );
        run(&text.replace("duration = \"4 s\"", &format!("duration = \"{duration}\""))).events
    };
    // The remaining events are the windows of the series, ten a second.
    let (short, long) = (pause("\"wqm\"", "10 s"), pause("\"wqm\"", "110 s"));
    assert!(long - short <= 1001, "{short} {long}");
}

#[test]
fn a_transfer_waits_a_seventh_and_keeps_its_goodput() {
    let transfer = |rate, queue| {
        let text = saturated(rate, "", queue, "[[flow]]\nname = \"f\"\nkind = \"tcp\"\nstation = \"a\"\n");
        let outcome = run(&text.replace("duration = \"4 s\"", "duration = \"20 s\""));
        let flow = flow(&outcome, "f").clone();
        (flow.goodput_mbps, flow.rtt_ms.unwrap().mean.unwrap())
    };
    let (fifo, wqm) = (transfer(MBPS_65, "\"fifo\""), transfer(MBPS_65, "\"wqm\""));
    // 1123 packets against 155, plus the receiver's acknowledgements in both.
    assert!((5.0..9.0).contains(&(fifo.1 / wqm.1)), "{fifo:?} {wqm:?}");
    assert!(wqm.0 > 0.95 * fifo.0, "{fifo:?} {wqm:?}");
}

#[test]
fn round_trips_are_those_of_connections() {
    let flows = "[[flow]]\nname = \"t\"\nkind = \"tcp\"\nlimit = \"1 Mbit/s\"\nstation = \"a\"\nwire = { delay = \"20 ms\" }\n\
                 [[flow]]\nname = \"u\"\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\nstation = \"a\"\n";
    let outcome = run(&saturated(FASTEST, "", "\"fifo\"", flows));
    assert_eq!(flow(&outcome, "u").rtt_ms, None);
    let round_trips = flow(&outcome, "t").rtt_ms.unwrap();
    // Twice the wire, two exchanges, and 11.6 ms for the next segment of 1448 B, with which the first is acknowledged.
    assert!(round_trips.p50.unwrap() > 51.58 && round_trips.max.unwrap() < 53.0, "{round_trips:?}");
}
