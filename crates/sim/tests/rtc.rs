//! Real-time video from end to end: rates, repair, and frame metrics.

use crate::simulate;
use airbound_record::{Component, FlowSummary, FrameFate, PacketWay, RtcSummary};
use airbound_sim::Run;
use airbound_units::{BitRate, Instant, Span};
use simulate::{assert_within, flow, observed, run};

/// One stream behind an edge path of 10 ms; `more` are lines of the flow, `rest` other sections.
fn game(seconds: u32, channel: &str, more: &str, rest: &str) -> String {
    format!(
        "duration = \"{seconds} s\"\nwarm-up = \"8 s\"\n[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\n[access-point]\nstreams = 1\n\
         {rest}[[station]]\nname = \"player\"\nchannel = {{ {channel} }}\n\
         [[flow]]\nname = \"game\"\nkind = \"rtc\"\nstation = \"player\"\n{more}"
    )
}

const GOOD: &str = "kind = \"fixed\", snr = \"26 dB\"";
const EDGE: &str = "[wire]\ndelay = \"10 ms\"\n";
const LOSSY: &str = "[wire]\ndelay = \"10 ms\"\nloss = 0.01\n";

fn video(flow: &FlowSummary) -> RtcSummary {
    flow.rtc.unwrap()
}

fn p999(flow: &FlowSummary) -> f64 {
    flow.frame_latency_ms.unwrap().p999.unwrap()
}

/// The encoder's target rate, every half second.
fn rates(text: &str) -> Vec<(f64, f64)> {
    let scenario = simulate::scenario(text);
    let mut run = Run::new("test", &scenario, &scenario.scheme, scenario.seed).unwrap();
    let mut rates = Vec::new();
    while run.advance(Span::from_millis(500)) {
        rates.push((run.now().as_secs_f64(), run.snapshot().videos[0].1.coded.as_mbps_f64()));
    }
    rates
}

#[test]
fn a_good_channel_is_found_within_seconds_and_filled_to_the_target() {
    let rates = rates(&game(10, GOOD, "", EDGE));
    let reached = rates.iter().find(|(_, rate)| *rate > 9.9).unwrap().0;
    assert!(reached < 8.0, "after {reached} s");
    let outcome = run(&game(20, GOOD, "", EDGE));
    let game = flow(&outcome, "game");
    let video = video(game);
    assert_within(video.bitrate_mbps, 10.0, 0.03, "bitrate");
    assert_within(game.fps.unwrap(), 30.0, 0.01, "frames a second");
    assert_eq!((game.stall_rate, video.deadline_miss_rate), (Some(0.0), Some(0.0)));
    assert_eq!((video.packets_recovered, video.key_frame_requests), (0, 0));
    // An eighth of parity; headers of 58 B on packets of about 1160 B.
    assert_within(video.sent_mbps.fec / video.sent_mbps.media, 0.125, 0.05, "parity");
    assert_within(video.sent_mbps.media / video.bitrate_mbps, 1.05, 0.01, "headers");
    assert_eq!(outcome.summary.scheme.sender.as_deref(), Some("gcc"));
}

#[test]
fn a_rule_that_is_told_of_each_arrival_does_not_depend_on_its_first_rate() {
    let after = |start: &str| {
        let more = format!("congestion = \"salsify\"\nstart-rate = \"{start}\"\nrate = \"30 Mbit/s\"\n");
        flow(&run(&game(12, GOOD, &more, EDGE)), "game").goodput_mbps
    };
    let (low, high) = (after("30 kbit/s"), after("5 Mbit/s"));
    assert_within(low, high, 0.1, "goodput");
}

#[test]
fn repair_costs_a_round_trip_at_most_and_hides_one_per_cent_of_loss() {
    let clean = run(&game(60, GOOD, "", EDGE));
    let lossy = run(&game(60, GOOD, "", LOSSY));
    let (clean, lossy) = (flow(&clean, "game"), flow(&lossy, "game"));
    let repaired = video(lossy);
    assert_within(lossy.loss_rate.unwrap(), 0.01, 0.2, "loss");
    assert!(repaired.packets_recovered > 10 * repaired.packets_retransmitted, "{repaired:?}");
    assert_eq!((repaired.frames.lost, repaired.deadline_miss_rate), (0, Some(0.0)));
    // Law, Sec. 2.3 and Fig. 10: at most one round trip, here slightly more than 20 ms.
    let more = p999(lossy) - p999(clean);
    assert!((1.0..=22.0).contains(&more), "{more} ms");
    assert_within(repaired.bitrate_mbps, video(clean).bitrate_mbps, 0.01, "bitrate under loss");
}

#[test]
fn each_repair_does_its_own_part() {
    let lossy = |more: &str| {
        let outcome = run(&game(30, GOOD, more, LOSSY));
        let game = flow(&outcome, "game").clone();
        (video(&game), game)
    };
    let (resent, by_resending) = lossy("fec = \"none\"\n");
    assert_eq!((resent.packets_recovered, resent.sent_mbps.fec, resent.frames.lost), (0, 0.0, 0));
    assert!(resent.frames_retransmitted_share.unwrap() > 0.2, "{resent:?}");
    assert!(p999(&by_resending) > 40.0, "a round trip more than the 20 ms of a frame");
    let (coded, _) = lossy("nack = false\n");
    assert_eq!((coded.packets_retransmitted, coded.sent_mbps.retransmission), (0, 0.0));
    assert!(coded.packets_recovered > 100 && coded.frames.lost > 0, "{coded:?}");
    let (bare, alone) = lossy("fec = \"none\"\nnack = false\n");
    assert!(bare.frames.lost > 3 * coded.frames.lost && bare.key_frame_requests > 10, "{bare:?}");
    assert!(alone.stall_rate.unwrap() > 0.3 && bare.deadline_miss_rate.unwrap() > 0.3, "{bare:?}");
    for fec in ["rows", "two-dimensional", "reed-solomon"] {
        let (video, _) = lossy(&format!("fec = \"{fec}\"\n"));
        assert!(video.packets_recovered > 200 && video.frames.lost == 0, "{fec}: {video:?}");
    }
}

#[test]
fn the_rate_follows_a_channel_that_shrinks() {
    // From an SNR of 49 dB to one of 7 dB, at which the rate is 13 Mb/s, one packet at a time: about 9 Mb/s.
    let walk = "kind = \"log-distance\", path = [[\"0 s\", \"3 m\"], [\"20 s\", \"3 m\"], [\"20001 ms\", \"75 m\"], [\"60 s\", \"75 m\"]]";
    let rates = rates(&game(42, walk, "", EDGE));
    let mean = |from: f64, to: f64| {
        let of: Vec<f64> =
            rates.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, rate)| *rate).collect();
        of.iter().sum::<f64>() / of.len() as f64
    };
    assert_within(mean(15.0, 20.0), 10.0, 0.05, "before");
    let after = mean(30.0, 50.0);
    assert!((2.0..8.0).contains(&after), "{after}");
}

#[test]
fn two_streams_on_one_link_get_about_the_same_rate() {
    let text = game(60, "kind = \"fixed\", snr = \"10 dB\"", "stagger = \"3 s\"\n", EDGE)
        .replace("name = \"player\"\n", "name = \"player\"\ncount = 2\n");
    let outcome = run(&text);
    let [one, other] = [0, 1].map(|index| outcome.summary.flows[index].goodput_mbps);
    assert!(one + other > 8.0 && one.max(other) < 9.0, "{one} + {other}");
    assert!(outcome.summary.jain.goodput.unwrap() > 0.9, "{one} and {other}");
}

#[test]
fn every_frame_leaves_one_row_that_agrees_with_the_summary() {
    let text =
        game(10, "kind = \"fixed\", snr = \"12 dB\"", "key-frame-interval = \"2 s\"\nnack = false\n", LOSSY)
            .replace("warm-up = \"8 s\"\n", "");
    let (outcome, rows) = observed(&text);
    let summary = video(flow(&outcome, "game"));
    let mut numbers: Vec<u64> = rows.frames.iter().map(|row| row.frame).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..summary.frames.created), "{} rows", numbers.len());
    let count =
        |fates: &[FrameFate]| rows.frames.iter().filter(|row| fates.contains(&row.fate)).count() as u64;
    assert_eq!(count(&[FrameFate::Delivered, FrameFate::Late]), summary.frames.delivered);
    assert_eq!(count(&[FrameFate::Late]), summary.frames.late);
    assert_eq!(count(&[FrameFate::Lost]), summary.frames.lost);
    assert_eq!(count(&[FrameFate::Unfinished]), summary.frames.unfinished);
    assert!(rows.frames.iter().filter(|row| row.key == Some(true)).count() >= 5);
    for row in &rows.frames {
        let (packets, lost) = (row.packets.unwrap(), row.lost.unwrap());
        assert!(lost <= packets && packets >= 1, "{row:?}");
        assert!(row.created <= row.first_packet && row.first_packet <= row.complete, "{row:?}");
        assert!(row.complete <= row.delivered || row.fate == FrameFate::Lost, "{row:?}");
        assert_eq!(row.completed_by.is_some(), row.complete < Instant::MAX, "{row:?}");
        assert_ne!(row.completed_by, Some(PacketWay::Retransmitted), "{row:?}");
        // A frame with an unrecovered loss cannot be complete.
        assert!(row.complete == Instant::MAX || lost <= row.recovered.unwrap(), "{row:?}");
    }
    let samples: u64 = outcome
        .distributions
        .iter()
        .filter(|row| row.component == Component::FirstTimeFrame)
        .map(|row| row.count)
        .sum();
    assert_eq!(samples as usize, rows.frames.iter().filter(|row| row.complete < Instant::MAX).count());
}

#[test]
fn feedback_crosses_the_air_and_matters() {
    let (outcome, rows) = observed(&game(5, GOOD, "", EDGE));
    // Flow 1 is the reverse path: its packets use the uplink.
    let back: Vec<_> = rows.packets.iter().filter(|row| row.flow == 1).collect();
    assert!(back.len() > 60 && back.iter().all(|row| row.first_tx < Instant::MAX), "{}", back.len());
    assert!(rows.txops.iter().filter(|txop| txop.transmitter == 1).count() > 60);
    assert!(video(flow(&outcome, "game")).sent_mbps.feedback > 0.005);
    // Without congestion control there are no reports, and the rate is fixed.
    let (fixed, rows) = observed(&game(5, GOOD, "congestion = \"fixed\"\n", EDGE));
    assert_eq!(rows.packets.iter().filter(|row| row.flow == 1).count(), 0);
    assert_within(video(flow(&fixed, "game")).bitrate_mbps, 10.0, 0.05, "fixed bitrate");
    assert_eq!(fixed.summary.scheme.sender.as_deref(), Some("fixed"));
}

#[test]
fn video_goes_up_too() {
    let up = "direction = \"up\"\nrate = \"4 Mbit/s\"\n";
    let outcome = run(&game(10, GOOD, up, EDGE));
    assert_within(video(flow(&outcome, "game")).bitrate_mbps, 4.0, 0.05, "bitrate");
    // Loss in the first seconds makes the congestion control slow, not the repair of frames.
    let outcome = run(&game(10, GOOD, up, LOSSY));
    let game = flow(&outcome, "game");
    assert!(video(game).bitrate_mbps > 1.0, "{game:?}");
    assert!(video(game).frames.lost == 0 && p999(game) < 100.0, "{game:?}");
}

#[test]
fn frames_that_cannot_leave_in_time_are_not_coded() {
    // Ten times the capacity of the air, without congestion control.
    let more = "rate = \"60 Mbit/s\"\ncongestion = \"fixed\"\n";
    let outcome = run(&game(5, "kind = \"fixed\", snr = \"5 dB\"", more, EDGE));
    let drowned = video(flow(&outcome, "game"));
    assert!(drowned.deadline_miss_rate.unwrap() > 0.9, "{drowned:?}");
    assert!(drowned.allowed_mbps == BitRate::from_mbps(60).as_mbps_f64(), "{drowned:?}");
    // The least rate exceeds the capacity: the sender keeps trying, packets are conserved.
    let more = "min-rate = \"20 Mbit/s\"\nrate = \"20 Mbit/s\"\n";
    let outcome = run(&game(5, "kind = \"fixed\", snr = \"4 dB\"", more, EDGE));
    assert!(video(flow(&outcome, "game")).deadline_miss_rate.unwrap() > 0.5);
}
