//! openwifi's transmit path: its layers, its tries of a frame, and the effect of time limits.

use crate::simulate;
use airbound_record::{Fate, PacketRow};
use airbound_units::{Instant, Span};

use simulate::{assert_within, flow, observed, run};

const HT: &str = "[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\nbeacons = false\nedca = \"equal\"\n";

/// One station over a path, with its `flows`.
fn scenario(preset: &str, path: &str, rate: &str, channel: &str, flows: &str) -> String {
    format!(
        "duration = \"10 s\"\nwarm-up = \"1 s\"\n{HT}[access-point]\npreset = \"{preset}\"\nstreams = 1\n\
         [access-point.path]\n{path}\n[scheme]\nqueue = \"linux\"\nrate = {rate}\n[wire]\nrate = \"unlimited\"\n\
         [[station]]\nname = \"a\"\nstreams = 1\nchannel = {channel}\n{flows}"
    )
}

fn cbr(name: &str, mbps: u32, category: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nkind = \"cbr\"\nstation = \"a\"\nrate = \"{mbps} Mbit/s\"\nsize = \"1472 B\"\n\
         category = \"{category}\"\n"
    )
}

const FADING: &str =
    "{ kind = \"log-distance\", distance = \"14 m\", fading = { kind = \"rician\", k = \"0 dB\" } }";
const FIXED: &str = "{ kind = \"fixed\", tries = 7 }";

#[test]
fn a_frame_is_given_up_after_its_tries() {
    // openwifi hands a frame down once, for at most 16 transmissions; ath9k's limit of 31 counts over hand-downs.
    let cases = [("openwifi", [1, 7, 15, 16]), ("openwifi-ath9k", [31, 35, 45, 32u64])];
    for (preset, each) in cases {
        for (tries, all) in [1, 7, 15, 200].into_iter().zip(each) {
            let rate = format!("{{ kind = \"fixed\", tries = {tries} }}");
            let dead = "{ kind = \"fixed\", snr = \"-20 dB\" }";
            let text = scenario(preset, "", &rate, dead, &cbr("f", 1, "be"));
            let (outcome, rows) = observed(&text.replace("warm-up = \"1 s\"", "warm-up = \"0 s\""));
            assert!(rows.txops.iter().all(|txop| txop.mpdus == 1));
            let (given_up, sent) = (flow(&outcome, "f").drops["retry_limit"], rows.txops.len() as u64);
            // At the end some packets are in the hardware, and up to eight may wait for retransmission.
            assert!(
                given_up > 50 && (given_up * all..=(given_up + 21) * all).contains(&sent),
                "{preset}: {given_up}, {sent}"
            );
        }
    }
}

#[test]
fn returned_packets_go_first_and_receivers_do_not_wait_for_them() {
    let (_, rows) = observed(&scenario("openwifi-ath9k", "", "\"minstrel-ht\"", FADING, &cbr("f", 10, "be")));
    let delivered: Vec<&PacketRow> = rows.packets.iter().filter(|row| row.fate == Fate::Delivered).collect();
    assert!(delivered.iter().all(|row| row.delivered == row.received));
    let mut in_order: Vec<&&PacketRow> = delivered.iter().collect();
    in_order.sort_by_key(|row| row.received);
    let overtaken = in_order.windows(2).filter(|pair| pair[1].packet < pair[0].packet).count();
    assert!(overtaken > 10, "{overtaken}");
    assert!(delivered.iter().map(|row| row.tries).max() > Some(8));
}

#[test]
fn the_next_frame_waits_for_the_driver() {
    let channel = "{ kind = \"fixed\", snr = \"40 dB\" }";
    let flows = cbr("f", 90, "be");
    // Longer than AIFS and the longest backoff of 15 slots: 43 + 135 us.
    let path = "hardware-aggregates = 1\nhandover = \"300 us\"";
    let (_, rows) = observed(&scenario("openwifi", path, FIXED, channel, &flows));
    assert!(rows.txops.len() > 1000);
    for pair in rows.txops.windows(2) {
        assert_eq!(pair[1].start - pair[0].end, Span::from_micros(300));
    }
    // Another frame in the hardware hides it.
    let (_, rows) = observed(&scenario("openwifi", "handover = \"300 us\"", FIXED, channel, &flows));
    let gaps: Span = rows.txops.windows(2).map(|pair| pair[1].start - pair[0].end).sum();
    let mean = gaps.as_secs_f64() * 1e6 / (rows.txops.len() - 1) as f64;
    assert_within(mean, 43.0 + 67.5, 0.03, "AIFS and backoff");
}

#[test]
fn categories_can_share_the_places_of_the_hardware() {
    let channel = "{ kind = \"fixed\", snr = \"40 dB\" }";
    let flows = cbr("video", 60, "vi") + &cbr("bulk", 60, "be");
    let bulk = |path: &str| {
        let text = scenario("openwifi", path, FIXED, channel, &flows);
        let outcome = run(&text.replace("edca = \"equal\"", "edca = \"dcf\""));
        flow(&outcome, "bulk").goodput_mbps
    };
    // The higher category takes each free place, so the lower one gets only those of the beginning.
    let (apart, together) = (bulk(""), bulk("hardware-total = 8"));
    assert!(apart > 1.0 && together < 0.1 * apart, "{apart} and {together} Mbit/s");
}

/// Packets that reached their station, and the number of expired ones.
fn limited(preset: &str, path: &str) -> (Vec<PacketRow>, u64) {
    let text = scenario(preset, path, "\"minstrel-ht\"", FADING, &cbr("f", 12, "be"));
    let (outcome, rows) = observed(&text);
    let expired = flow(&outcome, "f").drops.get("expired").copied().unwrap_or(0);
    (rows.packets.into_iter().filter(|row| row.fate == Fate::Delivered).collect(), expired)
}

#[test]
fn no_layer_keeps_a_packet_beyond_its_time() {
    // The longest backoff, 1023 slots of 9 us, and a frame at the lowest rate.
    let exchange = Span::from_millis(10 + 3);
    let longest = |packets: &[PacketRow], of: fn(&PacketRow) -> Span| packets.iter().map(of).max().unwrap();

    let (unlimited, expired) = limited("openwifi-ath9k", "");
    assert_eq!(expired, 0);
    assert!(longest(&unlimited, |row| row.received - row.enqueued) > Span::from_millis(40));

    // The last try of a frame begins within its time limit; one that waited longer in the hardware has one try.
    let limit = Span::from_millis(30);
    let (bounded, expired) = limited("openwifi-bound", "hardware-aggregates = 1");
    assert!(expired > 10);
    assert!(longest(&bounded, |row| row.received - row.enqueued) <= limit + exchange);

    // A packet in the flow queues leaves them within the limit and finds the hardware empty.
    let (queued, expired) =
        limited("openwifi-ath9k", "queue-limit-time = \"10 ms\"\nhardware-aggregates = 1");
    assert!(expired > 10);
    assert!(longest(&queued, |row| row.first_tx - row.enqueued) <= Span::from_millis(10) + exchange);

    // The limit of the flow queues does not apply to packets below.
    assert!(longest(&queued, |row| row.received - row.enqueued) > limit);
    let path = "hardware-aggregates = 1\nhardware-limit-time = \"5 ms\"\ndriver-limit-time = \"5 ms\"";
    let (below, expired) = limited("openwifi-ath9k", path);
    assert!(expired > 10);
    assert!(longest(&below, |row| row.received - row.first_tx) <= Span::from_millis(10) + exchange);
}

#[test]
fn three_limits_lose_more_than_one_of_the_same_sum() {
    // Law, Figs. 13 and 14.
    let ((split, split_expired), (bound, bound_expired)) =
        (limited("openwifi-split", ""), limited("openwifi-bound", ""));
    assert!(split_expired > bound_expired, "{split_expired} and {bound_expired}");
    assert!(split.len() < bound.len());
    let late = |packets: &[PacketRow]| {
        let stay = |row: &&PacketRow| row.received - row.enqueued > Span::from_millis(45);
        packets.iter().filter(stay).count()
    };
    assert_eq!((late(&split), late(&bound)), (0, 0));
    assert!(bound.iter().all(|row| row.first_tx < Instant::MAX));
}
