//! The transmit path against arithmetic by hand: one exchange, aggregates and their limits, windows, retries, reordering.

use crate::simulate;
use airbound_record::{Fate, PacketRow};
use airbound_units::{ByteCount, Instant, Span};

use simulate::{assert_within, flow, observed, run};

/// VHT, 80 MHz, 780 Mbit/s: 3120 bits in a symbol of 4 us behind a preamble of 44 us.
const VHT: &str = "[air]\nstandard = \"vht\"\nbeacons = false\nedca = \"equal\"\n";
const FAST_STATION: &str = "[[station]]\nname = \"a\"\nrate = \"VHT80 MCS9 2SS LGI\"\n";

/// One saturated downlink over a `direct` path with overrides.
fn saturated(path: &str, channel: &str) -> String {
    format!(
        "duration = \"1 s\"\n{VHT}[access-point]\npreset = \"direct\"\n[access-point.path]\n{path}\n\
         [scheme]\nqueue = \"fifo\"\nrate = \"fixed\"\n[wire]\nrate = \"unlimited\"\n{FAST_STATION}{channel}\n\
         [[flow]]\nname = \"f\"\nkind = \"cbr\"\nstation = \"a\"\nrate = \"900 Mbit/s\"\nsize = \"1472 B\"\n"
    )
}

#[test]
fn an_isolated_packet_takes_wire_and_airtime_and_nothing_else() {
    let text = format!(
        "duration = \"2 s\"\n{VHT}[access-point]\npreset = \"direct\"\n[wire]\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\n\
         {FAST_STATION}[[flow]]\nname = \"f\"\nkind = \"cbr\"\nstation = \"a\"\nrate = \"800 kbit/s\"\nsize = \"1000 B\"\n"
    );
    let (outcome, rows) = observed(&text);
    // 1028 B of IP at 100 Mbit/s; MPDU of 1028 + 8 + 26 + 4 B, delimiter of 4 B: 1070 B and 16 service bits are 3 symbols.
    let serialisation = Span::from_nanos(82_240);
    let ppdu = Span::from_micros(44 + 3 * 4);
    let latency = Span::from_millis(5) + serialisation + ppdu;
    assert!(rows.packets.len() >= 199);
    for row in &rows.packets {
        assert_eq!(row.arrived - row.sent, latency, "{row:?}");
        // The channel was idle for longer than AIFS: no backoff.
        assert_eq!(row.first_tx, row.enqueued);
        // SIFS, and an ACK at 24 Mbit/s: 134 bits are 2 symbols of 96 behind 20 us.
        assert_eq!(row.completed - row.first_tx, ppdu + Span::from_micros(16 + 28));
    }
    assert_eq!(outcome.summary.air.collision_rate, Some(0.0));
    let busy = rows.packets.len() as f64 * 100e-6 / 2.0;
    assert_within(outcome.summary.air.busy_share, busy, 0.01, "busy share");
}

#[test]
fn request_and_clear_to_send_add_their_airtime() {
    let text = |threshold: &str| {
        format!(
            "duration = \"1 s\"\n{VHT}rts-threshold = \"{threshold}\"\n[access-point]\npreset = \"direct\"\n{FAST_STATION}\
             [[flow]]\nname = \"f\"\nkind = \"cbr\"\nstation = \"a\"\nrate = \"800 kbit/s\"\nsize = \"1000 B\"\n"
        )
    };
    // A single MPDU of 1066 B behind its delimiter.
    let (_, with) = observed(&text("1069 B"));
    let (_, without) = observed(&text("1070 B"));
    // RTS: 182 bits, CTS: 134 bits, both 2 symbols of 96 behind 20 us, and two SIFS.
    let more = Span::from_micros(28 + 28 + 2 * 16);
    assert_eq!(with.txops.len(), without.txops.len());
    for (with, without) in with.txops.iter().zip(&without.txops) {
        assert_eq!(with.end - with.start, without.end - without.start + more);
    }
}

#[test]
fn a_saturated_link_reaches_what_the_formula_says() {
    let outcome = run(&saturated("", ""));
    // 64 subframes of 1544 B (1500 + 38 B, delimiter, padding) and 16 + 12 bits: 254 symbols.
    let ppdu = 44.0 + 254.0 * 4.0;
    // AIFS 43, mean backoff 7.5 slots of 9, SIFS 16, BlockAck 32.
    let cycle = 43.0 + 67.5 + ppdu + 16.0 + 32.0;
    assert_within(flow(&outcome, "f").goodput_mbps, 64.0 * 1472.0 * 8.0 / cycle, 0.01, "goodput");
    // All but the first aggregates are full.
    assert!(outcome.summary.stations[0].mean_ampdu.unwrap() > 63.5);
    assert_eq!(outcome.summary.stations[0].retry_rate, Some(0.0));
}

#[test]
fn aggregates_keep_to_their_limits() {
    for (path, most) in [
        ("max-ampdu-mpdus = 17", 17),
        // 20 subframes of 1544 B are 30880 B.
        ("max-ampdu-bytes = \"31000 B\"", 20),
        // 89 symbols are 34710 B and a bit: 22 subframes.
        ("max-ppdu-duration = \"403 us\"", 22),
        ("block-ack-window = 13", 13),
    ] {
        let (_, rows) = observed(&saturated(path, ""));
        assert!(rows.txops.iter().all(|txop| txop.mpdus <= most), "{path}");
        let full = rows.txops.iter().filter(|txop| txop.mpdus == most).count();
        assert!(full * 100 >= rows.txops.len() * 95, "{path}: {full} of {}", rows.txops.len());
        for txop in &rows.txops {
            // The last subframe is not padded.
            assert_eq!(txop.size, ByteCount::new(1544 * u64::from(txop.mpdus) - 2), "{path}");
        }
    }
}

/// The sent packets of a flow in the order of their sequence numbers.
fn sent_over_the_air(packets: &[PacketRow]) -> Vec<PacketRow> {
    let mut sent: Vec<PacketRow> =
        packets.iter().filter(|row| row.first_tx < Instant::MAX).copied().collect();
    sent.sort_by_key(|row| row.packet);
    sent
}

#[test]
fn nothing_is_sent_beyond_the_block_ack_window() {
    for (path, window) in [
        ("max-grants = 50", 64),
        ("max-grants = 50\nblock-ack-window = 20", 20),
        ("max-grants = 50\nform = \"ahead\"\nhardware-aggregates = 3\nmax-ampdu-mpdus = 30", 64),
    ] {
        // About a third of the MPDUs is lost.
        let (outcome, rows) = observed(&saturated(path, "channel = { kind = \"fixed\", snr = \"29 dB\" }"));
        let retry_rate = outcome.summary.stations[0].retry_rate.unwrap();
        assert!((0.02..0.9).contains(&retry_rate), "{retry_rate}");
        let sent = sent_over_the_air(&rows.packets);
        let mut settled = Instant::ZERO;
        for (index, row) in sent.iter().enumerate().skip(window) {
            settled = settled.max(sent[index - window].completed);
            assert!(settled <= row.first_tx, "{path}: {row:?} before {settled}");
        }
    }
}

#[test]
fn packets_are_given_up_after_the_last_try() {
    let path = "max-ampdu-mpdus = 1\nmax-grants = 5";
    let (outcome, rows) = observed(&saturated(path, "channel = { kind = \"fixed\", snr = \"5 dB\" }"));
    let stream = flow(&outcome, "f");
    assert_eq!(stream.packets.delivered, 0);
    let given_up = stream.drops["retry_limit"];
    let tries = rows.txops.len() as u64;
    assert!(given_up > 100 && tries / 5 == given_up, "{given_up} given up after {tries} tries");
    // Each failure doubles the window: on average 7.5, 15.5, 31.5, 63.5, 127.5 slots.
    let gaps: Span = rows.txops.windows(2).map(|pair| pair[1].start - pair[0].end).sum();
    let mean = gaps.as_secs_f64() * 1e6 / (tries - 1) as f64;
    assert_within(mean, 43.0 + 9.0 * (7.5 + 15.5 + 31.5 + 63.5 + 127.5) / 5.0, 0.05, "AIFS and backoff");
}

#[test]
fn a_receiver_waits_for_what_is_missing_but_not_for_ever() {
    // Some MPDUs are lost shortly before a long burst of interference.
    let text = saturated("", "channel = { kind = \"fixed\", snr = \"29.5 dB\" }")
        .replace("duration = \"1 s\"", "duration = \"6 s\"")
        + "[[interference]]\nname = \"jam\"\nmean-on = \"300 ms\"\nmean-off = \"20 ms\"\n";
    let (outcome, rows) = observed(&text);
    let waits: Vec<Span> = rows
        .packets
        .iter()
        .filter(|row| row.fate == Fate::Delivered)
        .map(|row| row.delivered - row.received)
        .collect();
    // HT_RX_REORDER_BUF_TIMEOUT counts from the arrival of the first MPDU behind the hole. That one may itself have been
    // retransmitted, a few PPDUs after later ones.
    let timeout = Span::from_millis(100);
    assert!(waits.contains(&timeout));
    assert!(waits.iter().all(|wait| *wait < timeout + Span::from_millis(10)), "{:?}", waits.iter().max());
    assert!(waits.iter().filter(|wait| wait.is_zero()).count() > waits.len() / 10);
    // MPDUs that arrive after their hole was given up are discarded.
    assert!(flow(&outcome, "f").drops["late"] > 0);
}

/// Depths of ath9k over cards of another standard.
const ATH9K: &str = "form = \"ahead\"\nmax-ampdu-mpdus = 32\nmax-ampdu-bytes = \"65535 B\"\nmax-ppdu-duration = \"4 ms\"\n\
    hardware-tries = 40\nmax-grants = 30\ncharge-received-airtime = true\nqueue-holds-in-flight = false\n";

#[test]
fn packets_in_the_hardware_delay_all_stations() {
    let text = |depth: u16| {
        format!(
            "duration = \"30 s\"\n{VHT}[access-point]\npreset = \"direct\"\n[access-point.path]\n{ATH9K}hardware-aggregates = {depth}\n\
             [scheme]\nqueue = \"linux\"\nrate = \"fixed\"\n\
             [[station]]\nname = \"a\"\nrate = \"VHT80 MCS0 1SS LGI\"\n[[station]]\nname = \"b\"\nrate = \"VHT80 MCS0 1SS LGI\"\n\
             [[flow]]\nname = \"bulk\"\nkind = \"cbr\"\nstation = \"a\"\nrate = \"60 Mbit/s\"\nsize = \"1472 B\"\n\
             [[flow]]\nname = \"probe\"\nkind = \"poisson\"\nstation = \"b\"\nrate = \"5 kbit/s\"\nsize = \"100 B\"\n"
        )
    };
    let medians: Vec<f64> =
        [1, 2, 4].map(|depth| flow(&run(&text(depth)), "probe").latency_ms.p50.unwrap()).to_vec();
    // An aggregate of at most 4 ms at 29.3 Mbit/s carries 9 packets: 3.9 ms. A probe waits for the PPDUs in the hardware:
    // on average half of the first and all of the others.
    for (median, ahead) in medians.iter().zip([0.5, 1.5, 3.5]) {
        let expected = 1.0 + ahead * 4.05 + 0.2;
        assert!((median - expected).abs() < 0.8, "{medians:?}: {median} ms instead of {expected}");
    }
}

#[test]
fn contention_is_told_from_queueing_where_aggregates_form_at_access() {
    let (_, rows) = observed(&saturated("", ""));
    // AIFS 43 and a mean backoff of 7.5 slots between one exchange and the next.
    let waits: Vec<f64> =
        rows.txops.iter().map(|txop| (txop.start - txop.contending).as_secs_f64() * 1e6).collect();
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert_within(mean, 43.0 + 67.5, 0.05, "contention");
    for pair in rows.txops.windows(2) {
        assert_eq!(pair[1].contending, pair[0].end);
    }
}
