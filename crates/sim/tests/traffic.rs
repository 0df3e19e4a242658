//! Service of flows: capacity, losses, isolation, traces, the wire, TCP, video.

use crate::simulate;
use airbound_record::{FrameFate, FrameRow};
use airbound_scenario::{Overrides, Scenario};
use airbound_sim::{Outcome, Run};
use airbound_units::{Instant, Span};

use simulate::{assert_within, flow, observed, run};

/// 802.11n on 40 MHz at 300 Mbit/s over ath9k's path, without losses.
fn fast_link(queue: &str, more: &str) -> String {
    format!(
        "duration = \"4 s\"\nwarm-up = \"2 s\"\n[air]\nstandard = \"ht\"\nwidth = \"40 MHz\"\n\
         [scheme]\nqueue = \"{queue}\"\nrate = \"fixed\"\n[access-point]\npreset = \"ath9k-fq\"\n\
         [[station]]\nname = \"a\"\nrate = \"HT40 MCS15 2SS SGI\"\n[[station]]\nname = \"b\"\nrate = \"HT40 MCS15 2SS SGI\"\n{more}"
    )
}

fn flow_text(name: &str, station: &str, rest: &str) -> String {
    format!("[[flow]]\nname = \"{name}\"\nstation = \"{station}\"\n{rest}\n")
}

fn saturating(station: &str, direction: &str) -> String {
    let rest =
        format!("kind = \"cbr\"\nrate = \"400 Mbit/s\"\nsize = \"1472 B\"\ndirection = \"{direction}\"");
    flow_text("udp", station, &rest)
}

#[test]
fn offered_load_above_capacity_loses_the_difference() {
    let outcome = run(&fast_link("fifo", &saturating("a", "down")));
    let udp = flow(&outcome, "udp");
    assert_within(udp.offered_mbps, 400.0, 0.001, "offered");
    let lost = 1.0 - udp.goodput_mbps / udp.offered_mbps;
    assert_within(udp.loss_rate.unwrap(), lost, 0.02, "loss");
    assert_eq!(udp.drops.keys().collect::<Vec<_>>(), ["queue_full"]);
}

#[test]
fn whole_aggregates_count_as_their_packets_do() {
    for queue in ["fifo", "linux"] {
        let text =
            fast_link(queue, &(saturating("a", "down") + &saturating("b", "down").replace("udp", "other")));
        // With rows of packets each is looked at.
        let ((each, rows), whole) = (observed(&text), run(&text));
        assert!(rows.packets.len() > 10_000, "{}", rows.packets.len());
        assert_eq!(format!("{:?}", each.summary), format!("{:?}", whole.summary));
        assert_eq!(format!("{:?}", each.wifi_latency), format!("{:?}", whole.wifi_latency));
        assert_eq!(each.distributions, whole.distributions);
    }
}

#[test]
fn tcp_fills_a_clean_link() {
    let capacity = flow(&run(&fast_link("fifo", &saturating("a", "down"))), "udp").goodput_mbps;
    // An aggregate of 32 is 49.4 kB: with AIFS 43, mean backoff 67.5, preamble 40, SIFS and BlockAck 48 it takes 1517 us.
    // Its 16 acknowledgements share the channel: 40 us of preamble, 40 of data, 48 for the answer, 43 of AIFS, and about
    // half of the backoff, since both ends count down at once. Segments carry 1448 B instead of 1472.
    let possible = capacity * 1448.0 / 1472.0 * 1517.0 / (1517.0 + 40.0 + 40.0 + 48.0 + 43.0 + 34.0);
    for sender in ["cubic", "reno", "bbr"] {
        for queue in ["fifo", "linux"] {
            let tcp = flow_text("tcp", "a", &format!("kind = \"tcp\"\ncongestion = \"{sender}\""));
            let goodput = flow(&run(&fast_link(queue, &tcp)), "tcp").goodput_mbps;
            assert_within(goodput, possible, 0.05, &format!("{sender} over {queue}"));
        }
    }
}

#[test]
fn uplink_works_like_downlink() {
    let parameters = |text: String| {
        text.replace("[air]", "[uplink]\nqueue = \"fifo\"\npreset = \"ath9k-fq\"\n[air]\nedca = \"equal\"")
    };
    let down = run(&parameters(fast_link("fifo", &saturating("a", "down"))));
    let up = run(&parameters(fast_link("fifo", &saturating("a", "up"))));
    assert_within(flow(&up, "udp").goodput_mbps, flow(&down, "udp").goodput_mbps, 0.01, "saturated uplink");
    let latency = |outcome: &Outcome| flow(outcome, "udp").latency_ms.p50.unwrap();
    assert_within(latency(&up), latency(&down), 0.05, "latency of a saturated uplink");
    // A packet for the server crosses air and wire, in either order.
    let call =
        |direction: &str| flow_text("call", "b", &format!("kind = \"voip\"\ndirection = \"{direction}\""));
    let (down, up) = (run(&fast_link("fifo", &call("down"))), run(&fast_link("fifo", &call("up"))));
    let latency = |outcome: &Outcome| flow(outcome, "call").latency_ms.p50.unwrap();
    assert!((latency(&up) - latency(&down)).abs() < 0.05, "{} and {}", latency(&up), latency(&down));
}

#[test]
fn flow_queueing_isolates_a_call_from_bulk() {
    let more = flow_text("call", "b", "kind = \"voip\"\ncategory = \"be\"")
        + &flow_text("bulk", "a", "kind = \"tcp\"")
        + &flow_text("more", "b", "kind = \"tcp\"");
    let p95 = |queue: &str| flow(&run(&fast_link(queue, &more)), "call").latency_ms.p95.unwrap();
    let (fifo, linux) = (p95("fifo"), p95("linux"));
    assert!(linux < 20.0 && fifo > 2.0 * linux, "p95 {fifo} ms under fifo, {linux} ms under linux");
}

#[test]
fn a_wired_bottleneck_bounds_the_goodput() {
    let wire = "[wire]\nrate = \"30 Mbit/s\"\nqueue = 100\ndelay = \"3 ms\"\n";
    let udp = flow_text("udp", "a", "kind = \"cbr\"\nrate = \"60 Mbit/s\"\nsize = \"1472 B\"");
    let outcome = run(&fast_link("fifo", &format!("{wire}{udp}")));
    // The bottleneck carries IP packets of 1500 B.
    assert_within(flow(&outcome, "udp").goodput_mbps, 30.0 * 1472.0 / 1500.0, 0.005, "goodput");
    assert_eq!(flow(&outcome, "udp").drops.keys().collect::<Vec<_>>(), ["wire"]);
    // 100 packets at 30 Mbit/s are 40 ms, plus 3 ms of delay.
    assert!((flow(&outcome, "udp").latency_ms.p50.unwrap() - 43.2).abs() < 0.5);
    let tcp = run(&fast_link("linux", &format!("{wire}{}", flow_text("tcp", "a", "kind = \"tcp\""))));
    assert!((27.0..29.0).contains(&flow(&tcp, "tcp").goodput_mbps), "{}", flow(&tcp, "tcp").goodput_mbps);
}

#[test]
fn loss_on_the_wire_is_a_share_of_the_packets() {
    let more = "[wire]\nloss = 0.1\njitter = \"8 ms\"\ndelay = \"2 ms\"\n".to_owned()
        + &flow_text("udp", "a", "kind = \"cbr\"\nrate = \"20 Mbit/s\"\nsize = \"500 B\"")
        + &flow_text("up", "b", "kind = \"cbr\"\nrate = \"20 Mbit/s\"\nsize = \"500 B\"\ndirection = \"up\"");
    let outcome = run(&fast_link("fifo", &more));
    for name in ["udp", "up"] {
        assert_within(flow(&outcome, name).loss_rate.unwrap(), 0.1, 0.1, name);
        assert_eq!(flow(&outcome, name).drops.len(), 1);
        // Never less than the propagation delay.
        assert!(flow(&outcome, name).latency_ms.p50.unwrap() > 2.0);
    }
}

#[test]
fn packets_on_a_long_way_do_not_hold_up_those_on_a_short_one() {
    let more = flow_text(
        "far",
        "a",
        "kind = \"cbr\"\nrate = \"80 kbit/s\"\nsize = \"100 B\"\nwire = { delay = \"200 ms\" }",
    ) + &flow_text(
        "near",
        "b",
        "kind = \"cbr\"\nrate = \"80 kbit/s\"\nsize = \"100 B\"\nwire = { delay = \"1 ms\" }",
    );
    let outcome = run(&fast_link("linux", &more));
    let most = |name: &str| flow(&outcome, name).latency_ms.max.unwrap();
    assert!(most("far") < 202.0 && most("near") < 3.0, "{} and {}", most("far"), most("near"));
}

/// A scenario in its own folder, with a trace beside it.
fn with_trace(text: &str, trace: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("trace"), trace).unwrap();
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, text).unwrap();
    let scenario = Scenario::load(&file, &Overrides::none()).unwrap_or_else(|error| panic!("{error}"));
    Run::new("test", &scenario, &scenario.scheme, 1).unwrap().finish().unwrap().0
}

fn traced(used_as: &str, format: &str, duration: u32, warm_up: u32) -> String {
    format!(
        "duration = \"{duration} ms\"\nwarm-up = \"{warm_up} ms\"\n[air]\nbeacons = false\n[access-point]\npreset = \"direct\"\n\
         [scheme]\nqueue = \"fifo\"\n[wire]\nrate = \"unlimited\"\ndelay = \"0 ms\"\n[[station]]\nname = \"s\"\n\
         channel = {{ kind = \"trace\", file = \"trace\", as = \"{used_as}\", format = \"{format}\" }}\n\
         [[flow]]\nname = \"udp\"\nkind = \"cbr\"\nstation = \"s\"\nrate = \"120 Mbit/s\"\nsize = \"1472 B\"\n"
    )
}

/// Steps of 500 ms.
const STEPS: [f64; 4] = [80.0, 20.0, 50.0, 5.0];

fn step_trace() -> String {
    let lines = STEPS.iter().enumerate().map(|(index, mbps)| format!("{:.1} {mbps}\n", index as f64 / 2.0));
    lines.collect()
}

#[test]
fn the_phy_rate_of_a_trace_reaches_its_bandwidth() {
    for (index, mbps) in STEPS.iter().enumerate() {
        // The second half of each step: at its start an aggregate of the previous step may be on the air.
        let outcome = with_trace(&traced("phy", "bandwidth", 240, index as u32 * 500 + 250), &step_trace());
        // The trace counts IP packets of 1500 B, goodput their payload.
        let expected = mbps * 1472.0 / 1500.0;
        assert_within(flow(&outcome, "udp").goodput_mbps, expected, 0.05, "goodput of a step");
    }
}

#[test]
fn a_pipe_carries_what_its_trace_says() {
    for (index, mbps) in STEPS.iter().enumerate() {
        let outcome = with_trace(&traced("pipe", "bandwidth", 400, index as u32 * 500 + 50), &step_trace());
        let expected = mbps * 1472.0 / 1500.0;
        // At 5 Mbit/s there are 166 packets in 400 ms.
        assert_within(flow(&outcome, "udp").goodput_mbps, expected, 0.01, "goodput of a step");
    }
}

#[test]
fn every_opportunity_of_mahimahi_is_used_when_it_comes() {
    // Packets of 1500 B may pass at 3, 3, 7, 10 ms; then all over again.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("trace"), "3\n3\n7\n10\n").unwrap();
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, traced("pipe", "mahimahi", 100, 0)).unwrap();
    let scenario = Scenario::load(&file, &Overrides::none()).unwrap();
    let (run, rows) = simulate::prepare(&scenario);
    run.finish().unwrap();
    let mut arrivals: Vec<u64> = rows
        .borrow()
        .packets
        .iter()
        .filter(|row| row.arrived < Instant::MAX)
        .map(|row| row.arrived.as_nanos())
        .collect();
    arrivals.sort_unstable();
    let expected: Vec<u64> =
        (0..10).flat_map(|round| [3, 3, 7, 10].map(|ms| (round * 10 + ms) * 1_000_000)).collect();
    assert_eq!(arrivals, expected);
}

#[test]
fn a_station_that_moves_away_gets_a_slower_rate() {
    let text = |from: &str, to: &str| {
        fast_link("linux", &flow_text("tcp", "walker", "kind = \"tcp\""))
            .replace("rate = \"fixed\"", "rate = \"minstrel-ht\"")
            .replace(
                "[[flow]]",
                &format!(
                    "[[station]]\nname = \"walker\"\nchannel = {{ kind = \"log-distance\", walk = {{ from = \"{from}\", to = \"{to}\", speed = \"10 m/s\" }} }}\n[[flow]]"
                ),
            )
    };
    let rate = |outcome: &Outcome| outcome.summary.stations[2].mean_phy_rate_mbps.unwrap();
    let (stays, leaves) = (run(&text("2 m", "2.1 m")), run(&text("2 m", "60 m")));
    assert!(rate(&leaves) < 0.7 * rate(&stays), "{} and {}", rate(&leaves), rate(&stays));
    assert!(flow(&leaves, "tcp").goodput_mbps < 0.8 * flow(&stays, "tcp").goodput_mbps);
}

/// Every frame has one row, for any fate.
fn assert_each_frame_has_one_row(frames: &[FrameRow]) {
    let mut numbers: Vec<u64> = frames.iter().map(|frame| frame.frame).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
}

#[test]
fn video_keeps_its_rhythm_alone_and_skips_frames_when_starved() {
    for transport in ["tcp", "udp"] {
        let vr = flow_text(
            "vr",
            "a",
            &format!("kind = \"vr\"\nrate = \"45 Mbit/s\"\ntransport = \"{transport}\""),
        );
        let (outcome, rows) = observed(&fast_link("linux", &vr));
        let alone = flow(&outcome, "vr");
        assert!((alone.fps.unwrap() - 30.0).abs() < 0.3, "{transport}: {:?}", alone.fps);
        assert_within(alone.goodput_mbps, 45.0, 0.02, transport);
        assert_eq!(alone.stall_rate, Some(0.0));
        // 187.5 kB at the server's 400 Mbit/s take 3.75 ms; the link needs at most twice that.
        let whole = alone.frame_latency_ms.unwrap();
        assert!(whole.p50.unwrap() > 3.75 && whole.p99.unwrap() < 12.0, "{transport}: {whole:?}");
        // The first one meets slow start.
        let last = rows.frames.iter().map(|frame| frame.frame).max();
        let fine = |frame: &FrameRow| match frame.fate {
            FrameFate::Delivered => true,
            FrameFate::Unfinished => Some(frame.frame) == last,
            _ => frame.frame == 0,
        };
        assert!(rows.frames.iter().all(fine));
        assert_each_frame_has_one_row(&rows.frames);
    }
    let starved = flow_text("vr", "a", "kind = \"vr\"\nrate = \"45 Mbit/s\"");
    let (outcome, rows) =
        observed(&fast_link("linux", &starved).replace("HT40 MCS15 2SS SGI", "HT40 MCS1 1SS LGI"));
    let starved = flow(&outcome, "vr");
    // 27 Mbit/s of PHY rate carry less than 25: a bit more than half of the frames.
    assert!((10.0..17.5).contains(&starved.fps.unwrap()), "{:?}", starved.fps);
    assert_each_frame_has_one_row(&rows.frames);
    let skipped = rows.frames.iter().filter(|frame| frame.fate == FrameFate::Skipped).count();
    assert!(skipped > 60 && starved.stall_rate.unwrap() > 0.3, "{skipped}, {:?}", starved.stall_rate);
}

#[test]
fn a_frame_that_lost_a_packet_is_missed() {
    let vr = "[wire]\nloss = 0.002\n".to_owned()
        + &flow_text("vr", "a", "kind = \"vr\"\nrate = \"45 Mbit/s\"\ntransport = \"udp\"");
    let (outcome, rows) =
        observed(&fast_link("linux", &vr).replace("duration = \"4 s\"", "duration = \"30 s\""));
    let vr = flow(&outcome, "vr");
    // A frame of 187.5 kB is 128 packets, all of which have to arrive.
    let whole = 0.998_f64.powi(128);
    assert_within(vr.fps.unwrap(), 30.0 * whole, 0.05, "frames per second");
    assert_within(vr.stall_rate.unwrap(), 1.0 - whole, 0.15, "stall rate");
    let of = |fate: FrameFate| rows.frames.iter().filter(|frame| frame.fate == fate).count();
    // One in 30 ms for 32 s, the last of which may be in transit.
    assert!((958..=960).contains(&(of(FrameFate::Delivered) + of(FrameFate::Lost))));
}

#[test]
fn a_download_ends_when_it_is_stopped() {
    let text = fast_link("linux", &flow_text("tcp", "a", "kind = \"tcp\"\nstop = \"3 s\""));
    let (outcome, rows) = observed(&text);
    // Measured from 2 s to 6 s; it runs until 3 s.
    let whole = flow(&run(&fast_link("linux", &flow_text("tcp", "a", "kind = \"tcp\""))), "tcp").goodput_mbps;
    assert_within(flow(&outcome, "tcp").goodput_mbps, whole / 4.0, 0.05, "goodput of a quarter of the time");
    let last = rows.packets.iter().map(|row| row.sent).max().unwrap();
    assert!(last < Instant::ZERO + Span::from_millis(3500), "{last}");
    assert_eq!(flow(&outcome, "tcp").packets.queued, 0);
}

#[test]
fn transfers_of_any_size_arrive_whole() {
    for (kilobytes, least) in [(20, 100), (12_000, 4)] {
        let rest = format!("kind = \"tcp-short\"\nsize = \"{kilobytes} kB\"\ninterval = \"5 ms\"");
        let (outcome, rows) = observed(&fast_link("linux", &flow_text("files", "a", &rest)));
        assert!(rows.frames.len() >= least, "{kilobytes} kB: {} arrived", rows.frames.len());
        // Transfers begun before the end are offered, and all but the last have arrived.
        let files = flow(&outcome, "files");
        let one = f64::from(kilobytes) * 8e-3 / 4.0;
        assert!((files.offered_mbps - files.goodput_mbps).abs() <= one + 0.1, "{kilobytes} kB: {files:?}");
    }
}

#[test]
fn nothing_stays_behind_when_the_sources_have_stopped() {
    for queue in ["fifo", "codel", "pie", "fq-codel", "linux", "round-robin"] {
        for preset in ["mac80211", "ath9k-fq", "direct"] {
            let more = flow_text(
                "vi",
                "a",
                "kind = \"cbr\"\nrate = \"150 Mbit/s\"\ncategory = \"vi\"\nstop = \"4 s\"",
            ) + &flow_text("be", "b", "kind = \"poisson\"\nrate = \"300 Mbit/s\"\nstop = \"4 s\"")
                + &flow_text(
                    "up",
                    "a",
                    "kind = \"cbr\"\nrate = \"50 Mbit/s\"\nstop = \"4 s\"\ndirection = \"up\"",
                );
            let text = fast_link(queue, &more)
                .replace("preset = \"ath9k-fq\"", &format!("preset = \"{preset}\""))
                // Some MPDUs are lost.
                .replace(
                    "name = \"a\"\nrate",
                    "name = \"a\"\nchannel = { kind = \"fixed\", snr = \"25 dB\" }\nrate",
                );
            let outcome = run(&text);
            for flow in &outcome.summary.flows {
                assert_eq!(flow.packets.queued, 0, "{queue}, {preset}: {flow:?}");
                assert!(flow.packets.delivered > 100, "{queue}, {preset}: {flow:?}");
            }
        }
    }
}
