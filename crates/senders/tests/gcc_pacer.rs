//! The pacer, and the receiver's reports.

use airbound_senders::rtp::gcc::{
    FeedbackCollector, FeedbackConfig, Pacer, Pacing, PacketResult, Priority, ProbeCluster, TransportFeedback,
};
use airbound_units::{BitRate, ByteCount, Instant, Span};

const PACKET: ByteCount = ByteCount::new(1000);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

/// Runs a pacer until it is empty; returns the send time of each packet, in ms.
fn departures<T>(pacer: &mut Pacer<T>) -> Vec<(f64, T, Option<u32>)> {
    let mut all = Vec::new();
    while let Some(now) = pacer.next_deadline() {
        let before = all.len();
        while let Some((item, probe)) = pacer.poll(now) {
            all.push((now.as_secs_f64() * 1000.0, item, probe));
        }
        if all.len() == before {
            break;
        }
    }
    all
}

fn probe(id: u32, rate: BitRate) -> ProbeCluster {
    let duration = Span::from_millis(15);
    ProbeCluster { id, rate, packets: 5, bytes: rate.bytes_in(duration), duration }
}

#[test]
fn a_frame_leaves_spread_over_its_time_at_the_rate() {
    let mut pacer = Pacer::new(BitRate::from_mbps(1));
    for number in 0..5 {
        pacer.enqueue(at(100), Priority::Video, PACKET, number);
    }
    assert_eq!(pacer.queue_time(), Span::from_millis(40));
    let times: Vec<_> = departures(&mut pacer).into_iter().map(|(time, number, _)| (time, number)).collect();
    assert_eq!(times, [(100.0, 0), (108.0, 1), (116.0, 2), (124.0, 3), (132.0, 4)]);
    assert!(pacer.is_empty() && pacer.queue_time().is_zero());
}

#[test]
fn a_burst_leaves_at_once_and_the_rest_when_it_is_paid() {
    // 8 ms each.
    let mut pacer = Pacer::new(Pacing { rate: BitRate::from_mbps(1), burst: Span::from_millis(40) });
    for number in 0..8 {
        pacer.enqueue(at(100), Priority::Video, PACKET, number);
    }
    let times: Vec<_> = departures(&mut pacer).into_iter().map(|(time, ..)| time).collect();
    assert_eq!(times, [100.0, 100.0, 100.0, 100.0, 100.0, 140.0, 140.0, 140.0]);
    // 40 ms at 100 Mb/s are 500 kB; a burst has 63 kB at most, which take 5.04 ms.
    let mut pacer = Pacer::new(Pacing { rate: BitRate::from_mbps(100), burst: Span::from_millis(40) });
    for number in 0..64 {
        pacer.enqueue(at(0), Priority::Video, PACKET, number);
    }
    let times: Vec<_> = departures(&mut pacer).into_iter().map(|(time, ..)| time).collect();
    assert_eq!((times[62], times[63]), (0.0, 5.04));
}

#[test]
fn a_new_rate_holds_for_what_the_last_packet_left_to_wait_for() {
    let mut pacer = Pacer::new(BitRate::from_mbps(1));
    pacer.enqueue(at(0), Priority::Video, PACKET, 0);
    pacer.enqueue(at(0), Priority::Video, PACKET, 1);
    assert_eq!(pacer.poll(at(0)), Some((0, None)));
    pacer.set_rate(at(4), BitRate::from_mbps(4));
    assert_eq!(pacer.next_deadline(), Some(at(5)));
    pacer.set_rate(at(4), BitRate::ZERO);
    assert_eq!((pacer.poll(at(1000)), pacer.next_deadline()), (None, None));
}

#[test]
fn audio_goes_at_once_then_retransmissions_then_video_then_padding() {
    let mut pacer = Pacer::new(BitRate::from_mbps(1));
    pacer.enqueue(at(0), Priority::Padding, PACKET, "padding");
    pacer.enqueue(at(0), Priority::Video, PACKET, "video");
    pacer.enqueue(at(0), Priority::Video, PACKET, "parity");
    pacer.enqueue(at(0), Priority::Retransmission, PACKET, "again");
    pacer.enqueue(at(0), Priority::Audio, PACKET, "audio");
    let order: Vec<_> = departures(&mut pacer).into_iter().map(|(time, item, _)| (time, item)).collect();
    let expected = [(0.0, "audio"), (0.0, "again"), (8.0, "video"), (16.0, "parity"), (24.0, "padding")];
    assert_eq!(order, expected);
}

#[test]
fn nothing_waits_longer_than_two_seconds() {
    let mut pacer = Pacer::new(BitRate::from_kbps(100));
    // 100 kB are 8 s at this rate.
    for number in 0..100 {
        pacer.enqueue(at(0), Priority::Video, PACKET, number);
    }
    let last = departures(&mut pacer).last().expect("all leave").0;
    assert!((1900.0..2050.0).contains(&last), "{last} ms");
}

#[test]
fn a_probe_leaves_at_its_own_rate_and_what_it_lacks_is_padded() {
    let mut pacer = Pacer::new(BitRate::from_mbps(1));
    pacer.start_probe(at(0), probe(9, BitRate::from_mbps(4)));
    assert_eq!((pacer.next_deadline(), pacer.padding_wanted(at(0))), (None, None), "nothing carries it yet");
    for number in 0..3 {
        pacer.enqueue(at(1), Priority::Video, PACKET, number);
    }
    let sent = departures(&mut pacer);
    assert_eq!(sent, [(1.0, 0, Some(9)), (3.0, 1, Some(9)), (5.0, 2, Some(9))]);
    assert_eq!(pacer.next_deadline(), Some(at(7)));
    assert_eq!(pacer.padding_wanted(at(7)), Some(ByteCount::new(4500)));
    for number in 3..9 {
        pacer.enqueue(at(7), Priority::Padding, PACKET, number);
    }
    let sent = departures(&mut pacer);
    // 7500 B are eight packets. The ninth waits until the pacer's own rate has made up for all of them.
    assert_eq!(sent.iter().filter(|(_, _, probe)| probe.is_some()).count(), 5);
    assert_eq!(sent.last(), Some(&(65.0, 8, None)));
}

#[test]
fn a_probe_may_begin_without_media_where_the_sender_wishes() {
    let mut pacer = Pacer::new(BitRate::from_mbps(1)).probing_without_media();
    pacer.start_probe(at(0), probe(9, BitRate::from_mbps(4)));
    pacer.start_probe(at(0), probe(10, BitRate::from_mbps(8)));
    let mut sent = Vec::new();
    while let Some(due) = pacer.next_deadline() {
        assert!(pacer.padding_wanted(due).is_some());
        pacer.enqueue(due, Priority::Padding, PACKET, 0);
        sent.extend(pacer.poll(due).and_then(|(_, probe)| probe));
    }
    // 7500 and 15 000 B.
    assert_eq!(sent, [vec![9; 8], vec![10; 15]].concat());
}

#[test]
fn a_probe_that_comes_late_is_given_up() {
    let mut pacer = Pacer::new(BitRate::from_mbps(1));
    pacer.start_probe(at(0), probe(1, BitRate::from_mbps(4)));
    pacer.enqueue(at(0), Priority::Video, PACKET, 0);
    assert_eq!(pacer.poll(at(0)), Some((0, Some(1))));
    pacer.enqueue(at(23), Priority::Video, PACKET, 1);
    assert_eq!(pacer.poll(at(23)), Some((1, None)));
    pacer.start_probe(at(30), probe(2, BitRate::from_mbps(4)));
    pacer.enqueue(at(5031), Priority::Video, PACKET, 2);
    assert_eq!(pacer.poll(at(5031)), Some((2, None)));
}

fn collector() -> FeedbackCollector {
    FeedbackCollector::new(FeedbackConfig::default()).expect("valid")
}

#[test]
fn reports_come_every_interval_with_holes_and_rounded_arrivals() {
    let mut collector = collector();
    assert_eq!((collector.next_deadline(), collector.poll(at(500))), (None, None));
    collector.on_packet(at(1000) + Span::from_micros(260), 5);
    collector.on_packet(at(1010), 8);
    assert_eq!(collector.poll(at(1099)), None);
    let due = at(1100) + Span::from_micros(260);
    assert_eq!(collector.next_deadline(), Some(due));
    let packet = |sequence, arrival| PacketResult { sequence, arrival };
    let packets = vec![
        packet(5, Some(at(1000) + Span::from_micros(250))),
        packet(6, None),
        packet(7, None),
        packet(8, Some(at(1010))),
    ];
    assert_eq!(collector.poll(due), Some(TransportFeedback { packets }));
    assert_eq!((collector.poll(due), collector.next_deadline()), (None, None));
    // A late packet starts the report; packets reported before are repeated.
    collector.on_packet(at(1150), 7);
    let due = collector.next_deadline().expect("a report");
    assert_eq!(due, at(1200) + Span::from_micros(260));
    let packets = vec![packet(7, Some(at(1150))), packet(8, Some(at(1010)))];
    assert_eq!(collector.poll(due), Some(TransportFeedback { packets }));
}

#[test]
fn the_interval_takes_a_twentieth_of_the_bandwidth_between_50_and_250_ms() {
    let mut collector = collector();
    assert_eq!(collector.interval(), Span::from_millis(100));
    // 68 B at 5 kbit/s.
    collector.set_bandwidth(BitRate::from_kbps(100));
    assert_eq!(collector.interval().as_micros(), 108_800);
    collector.set_bandwidth(BitRate::from_mbps(10));
    assert_eq!(collector.interval(), Span::from_millis(50));
    collector.set_bandwidth(BitRate::ZERO);
    assert_eq!(collector.interval(), Span::from_millis(250));
}

#[test]
fn a_long_report_is_split() {
    let mut collector = collector();
    for sequence in 0..2500 {
        collector.on_packet(at(sequence / 100), sequence);
    }
    let due = collector.next_deadline().expect("a report");
    let lengths: Vec<_> =
        std::iter::from_fn(|| collector.poll(due)).map(|report| report.packets.len()).collect();
    assert_eq!(lengths, [1000, 1000, 500]);
}

#[test]
fn nonsense_is_refused() {
    let usual = FeedbackConfig::default();
    for wrong in [
        FeedbackConfig { shortest: Span::ZERO, ..usual },
        FeedbackConfig { longest: Span::from_millis(49), ..usual },
        FeedbackConfig { initial: Span::from_millis(251), ..usual },
        FeedbackConfig { share: f64::NAN, ..usual },
    ] {
        assert!(FeedbackCollector::new(wrong).is_err(), "{wrong:?}");
    }
}
