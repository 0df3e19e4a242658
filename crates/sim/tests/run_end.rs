//! A run that ends while nothing is sent: what the sources send up to its end counts.

use airbound_record::FlowSummary;

use crate::simulate;

/// A flow of 8 Mb/s for 5 s to a station.
fn scenario(traffic: &str, lines: &str) -> String {
    format!(
        "duration = \"5 s\"\nwarm-up = \"0 s\"\n{lines}[[flow]]\nname = \"f\"\nstation = \"s\"\n{traffic}\nrate = \"8 Mbit/s\"\n"
    )
}

const STATION: &str = "[[station]]\nname = \"s\"\n";
const DATAGRAMS: &str = "kind = \"cbr\"\nsize = \"1000 B\"";
const VIDEO: &str = "kind = \"vr\"\nfps = 30\ndeadline = \"30 ms\"";
/// A channel that is busy from the first second on.
const JAM: &str =
    "[[interference]]\nname = \"jam\"\nmean-on = \"1 h\"\nmean-off = \"10 us\"\nstart = \"1 s\"\n";

fn only(text: &str) -> FlowSummary {
    let mut flows = simulate::run(text).summary.flows;
    assert_eq!(flows.len(), 1);
    flows.remove(0)
}

#[test]
fn packets_of_a_busy_spell_are_sent_and_offered() {
    for lines in [
        format!("{STATION}{JAM}"),
        format!("{STATION}{JAM}[scheme]\nqueue = {{ kind = \"fifo\", limit = {{ packets = 100 }} }}\n"),
        format!("{STATION}{JAM}[air]\nstandard = \"ht\"\n[access-point]\npreset = \"ath9k-fq\"\n"),
        format!("{STATION}{JAM}[wire]\ndelay = \"10 ms\"\n"),
        "[[station]]\nname = \"s\"\naway = { period = \"10 s\", length = \"9 s\", phase = \"1 s\" }\n"
            .to_owned(),
    ] {
        let flow = only(&scenario(DATAGRAMS, &lines));
        assert_eq!(flow.packets.sent, 5000, "{lines}");
        assert!((flow.offered_mbps - 8.0).abs() < 0.01, "{} of {lines}", flow.offered_mbps);
        if lines.contains("limit") {
            // 100 wait, the others find no place.
            assert!(flow.packets.dropped > 3800, "{:?}", flow.packets);
            assert!(flow.loss_rate.is_some_and(|loss| loss > 0.79), "{:?}", flow.loss_rate);
        }
    }
}

/// A pipe that ends after a second, as mm-link with `--once`.
#[test]
fn packets_behind_the_end_of_a_pipe_are_sent() {
    let file = std::env::temp_dir().join(format!("airbound-run-end-{}.mahi", std::process::id()));
    let trace: String = (1..=1000).map(|millis| format!("{millis}\n")).collect();
    std::fs::write(&file, trace).expect("written");
    let channel =
        format!("{STATION}channel = {{ kind = \"trace\", file = {file:?}, as = \"pipe\", loop = false }}\n");
    let flow = only(&scenario(DATAGRAMS, &channel));
    std::fs::remove_file(&file).expect("removed");
    assert_eq!(flow.packets.sent, 5000);
    assert!(flow.offered_mbps > 7.99 && flow.goodput_mbps < 1.7, "{flow:?}");
}

/// Four of five seconds are dead: of 150 frames 30 are in time. The last one is due 3 ms before the end.
#[test]
fn frames_past_their_deadline_that_wait_at_the_end_are_late() {
    for transport in ["udp", "tcp"] {
        let video = format!("{VIDEO}\ntransport = \"{transport}\"");
        // Rate control has found its rate when the measurement begins.
        let text = scenario(&video, &format!("{STATION}{JAM}"));
        let text = text
            .replace("start = \"1 s\"", "start = \"2 s\"")
            .replace("warm-up = \"0 s\"", "warm-up = \"1 s\"");
        let flow = only(&text);
        let stalled = flow.stall_rate.expect("a video");
        assert!((stalled - 0.8).abs() < 0.01, "{transport}: {stalled}");
    }
}

#[test]
fn windows_of_a_busy_spell_have_what_was_offered_in_them() {
    let text = scenario(DATAGRAMS, &format!("{STATION}{JAM}"));
    let rows = simulate::observed(&text).1.series;
    assert!(rows.len() >= 5, "{} windows", rows.len());
    for row in rows {
        assert!((row.offered_mbps - 8.0).abs() < 0.2, "{row:?}");
    }
}
