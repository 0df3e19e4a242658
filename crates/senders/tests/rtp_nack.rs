//! Requests for missing packets, and their answers.

use airbound_senders::rtp::{HistoryConfig, NackConfig, NackRequester, RetransmissionHistory};
use airbound_units::{Instant, Span};

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

fn requester(config: NackConfig) -> NackRequester {
    let mut requester = NackRequester::new(config).expect("valid");
    requester.on_round_trip(Span::from_millis(40));
    requester
}

#[test]
fn a_gap_is_asked_for_at_once_and_again_after_each_round_trip() {
    let mut nack = requester(NackConfig::default());
    nack.on_packet(at(0), 10, false);
    assert_eq!((nack.poll(at(0)), nack.next_deadline()), (vec![], None));
    nack.on_packet(at(5), 13, false);
    assert_eq!(nack.poll(at(5)), [11, 12]);
    assert_eq!(nack.next_deadline(), Some(at(45)));
    nack.on_packet(at(30), 12, true);
    assert!(nack.poll(at(44)).is_empty());
    assert_eq!(nack.poll(at(45)), [11]);
    nack.on_recovered(11);
    assert_eq!((nack.missing(), nack.next_deadline()), (0, None));
}

#[test]
fn a_packet_that_never_comes_is_asked_for_ten_times() {
    let mut nack = requester(NackConfig::default());
    nack.on_packet(at(0), 0, false);
    nack.on_packet(at(0), 2, false);
    let mut asked = Vec::new();
    while let Some(deadline) = nack.next_deadline() {
        let now = deadline.max(at(0));
        asked.extend(nack.poll(now).into_iter().map(|sequence| (now, sequence)));
    }
    let expected: Vec<_> = (0..10).map(|round| (at(40 * round), 1)).collect();
    assert_eq!(asked, expected);
    assert_eq!(nack.given_up(), 1);
}

#[test]
fn requests_keep_their_distance_and_wait_for_parity_if_told() {
    let mut nack = requester(NackConfig { delay: Span::from_millis(10), ..NackConfig::default() });
    nack.on_packet(at(0), 0, false);
    nack.on_packet(at(0), 3, false);
    nack.on_packet(at(7), 5, false);
    nack.on_recovered(1);
    assert!(nack.poll(at(9)).is_empty());
    assert_eq!(nack.poll(at(10)), [2]);
    // A first request waits for the delay alone.
    assert_eq!(nack.next_deadline(), Some(at(17)));
    assert_eq!(nack.poll(at(17)), [4]);
    // 2 is due again at 50, 4 at 57, but 20 ms after the last repetition is 70.
    assert_eq!(nack.poll(at(50)), [2]);
    assert_eq!(nack.next_deadline(), Some(at(70)));
    assert!(nack.poll(at(69)).is_empty());
    assert_eq!(nack.poll(at(70)), [4]);
}

#[test]
fn too_much_missing_asks_for_a_key_frame_instead() {
    let mut nack = requester(NackConfig::default());
    nack.on_packet(at(0), 0, false);
    nack.on_packet(at(1), 1001, false);
    assert_eq!(nack.missing(), 1000);
    assert!(!nack.take_key_frame_request());
    nack.on_packet(at(2), 1003, false);
    assert!(nack.take_key_frame_request() && !nack.take_key_frame_request());
    assert_eq!((nack.missing(), nack.given_up()), (0, 1001));
    // Later packets can be missing again.
    nack.on_packet(at(3), 1005, false);
    assert_eq!(nack.poll(at(3)), [1004]);
    nack.forget_before(1005);
    assert_eq!(nack.missing(), 0);
}

#[test]
fn packets_too_far_back_are_given_up() {
    let mut nack = requester(NackConfig { age: 100, ..NackConfig::default() });
    nack.on_packet(at(0), 0, false);
    nack.on_packet(at(0), 2, false);
    for sequence in 3..=101 {
        nack.on_packet(at(0), sequence, false);
    }
    assert_eq!(nack.missing(), 1);
    nack.on_packet(at(0), 102, false);
    assert_eq!((nack.missing(), nack.given_up()), (0, 1));
}

#[test]
fn a_retransmission_or_a_repair_ahead_of_the_newest_opens_no_gap_and_leaves_none() {
    let mut nack = requester(NackConfig::default());
    nack.on_packet(at(0), 0, false);
    nack.on_packet(at(1), 3, true);
    nack.on_recovered(4);
    assert_eq!(nack.missing(), 0);
    nack.on_packet(at(2), 6, false);
    assert_eq!(nack.poll(at(2)), [1, 2, 5]);
}

#[test]
fn the_history_answers_once_in_a_round_trip_and_forgets_after_three_seconds() {
    let mut history = RetransmissionHistory::new(HistoryConfig::default()).expect("valid");
    history.on_round_trip(Span::from_millis(50));
    history.on_sent(at(0), 7, "seven");
    assert_eq!(history.request(at(49), 7), Some(&"seven"), "who asks has seen a later packet");
    assert_eq!(history.request(at(51), 7), None, "it waits in the pacer");
    history.on_resent(at(60), 7);
    assert_eq!(history.request(at(109), 7), None);
    assert_eq!(history.request(at(110), 7), Some(&"seven"));
    history.on_resent(at(110), 7);
    // Sent again at 110 ms: kept for kPacketCullingDelayFactor times 1 s, as it is the only one.
    assert_eq!(history.request(at(3109), 7), Some(&"seven"));
    history.on_resent(at(3109), 7);
    assert_eq!(history.request(at(6109), 7), None);
    assert!(history.is_empty());
}

#[test]
fn a_second_is_the_least_time_and_600_packets_or_three_seconds_the_most() {
    // A call of 280 packets a second: at 2.2 s there are 616 of them.
    let sent = |until: u64| {
        let mut history = RetransmissionHistory::new(HistoryConfig::default()).expect("valid");
        let times =
            (0..).map(|sequence| (sequence, sequence * 1000 / 280)).take_while(|(_, ms)| *ms <= until);
        times.for_each(|(sequence, ms)| history.on_sent(at(ms), sequence, sequence));
        history
    };
    assert_eq!(sent(714).request(at(1001), 0), Some(&0), "200 packets later, and more than a second");
    assert_eq!(sent(2000).request(at(2100), 0), Some(&0));
    assert_eq!(sent(2200).request(at(2200), 0), None, "more than 600 packets");
    assert_eq!(sent(2200).len(), 600);
    // 700 packets at once are kept for a second.
    let mut burst = RetransmissionHistory::new(HistoryConfig::default()).expect("valid");
    (0..700).for_each(|sequence| burst.on_sent(at(0), sequence, sequence));
    assert_eq!(burst.request(at(999), 0), Some(&0));
    assert_eq!(
        (burst.request(at(1000), 1).copied(), burst.len()),
        (Some(1), 700),
        "one that waits is kept, with those behind it"
    );
}

#[test]
fn the_history_keeps_three_round_trips_and_so_many_packets() {
    let config = HistoryConfig { limit: 3, ..HistoryConfig::default() };
    let mut history = RetransmissionHistory::new(config).expect("valid");
    history.on_round_trip(Span::from_secs(1));
    for sequence in 0..5 {
        history.on_sent(at(0), sequence, sequence);
    }
    assert_eq!(history.len(), 3);
    assert_eq!(history.request(at(2900), 1), None);
    assert_eq!(history.request(at(2900), 2), Some(&2));
}

#[test]
fn nonsense_is_refused() {
    let usual = NackConfig::default();
    for wrong in [
        NackConfig { tries: 0, ..usual },
        NackConfig { delay: Span::from_secs(2), ..usual },
        NackConfig { initial_round_trip: Span::ZERO, ..usual },
        NackConfig { age: 0, ..usual },
        NackConfig { limit: 0, ..usual },
    ] {
        assert!(NackRequester::new(wrong).is_err(), "{wrong:?}");
    }
    let wrong = HistoryConfig { age: Span::ZERO, ..HistoryConfig::default() };
    let sentence = RetransmissionHistory::<()>::new(wrong).expect_err("too short").to_string();
    assert_eq!(sentence, "history.age is 0 ms; allowed is 1 ms to 1 min");
    let wrong = HistoryConfig { culling: 0, ..HistoryConfig::default() };
    let sentence = RetransmissionHistory::<()>::new(wrong).expect_err("no time").to_string();
    assert_eq!(sentence, "history.culling is 0; allowed is 1 to 100");
}
