//! TCP's rules, one scripted scene each: segments are numbered, times are in milliseconds.

use airbound_senders::congestion::Congestion;
use airbound_senders::tcp::{Ack, Backlog, Pacing, SackBlock, TcpConfig, TcpSender};
use airbound_units::{ByteCount, Instant, Span};

const MSS: u64 = 1448;

fn at(millis: f64) -> Instant {
    Instant::ZERO + Span::from_secs_f64(millis / 1e3)
}

struct Scene {
    sender: TcpSender,
}

impl Scene {
    /// Reno with a window of `window` segments, unlimited data and a first round trip of 100 ms: segments 0 to `window
    /// - 1` were sent at 0 and acknowledged at 100, when the next ones were sent.
    fn new(config: TcpConfig) -> Self {
        let mut scene = Self::fresh(config);
        scene.sender.write(at(0.0), Backlog::Unlimited);
        scene
    }

    fn fresh(config: TcpConfig) -> Self {
        Self { sender: TcpSender::new(config).expect("valid") }
    }

    fn reno(initial_window: u32) -> TcpConfig {
        TcpConfig { congestion: Congestion::Reno, initial_window, ..TcpConfig::default() }
    }

    /// Returns the segments sent now: their numbers, `-n` for a retransmission of `n` (`-1000` for 0).
    fn sends(&mut self, now: f64) -> Vec<i64> {
        std::iter::from_fn(|| self.sender.poll_transmit(at(now)))
            .map(|segment| {
                let number = (segment.seq / MSS) as i64;
                match (segment.retransmission, number) {
                    (true, 0) => -1000,
                    (true, number) => -number,
                    (false, number) => number,
                }
            })
            .collect()
    }

    /// Everything before segment `cumulative` arrived, and the segments of `sack` (inclusive).
    fn ack(&mut self, now: f64, cumulative: u64, sack: &[(u64, u64)], echoed: f64) -> Vec<i64> {
        let mut blocks = [SackBlock::default(); 3];
        for (block, (first, last)) in blocks.iter_mut().zip(sack) {
            *block = SackBlock { start: first * MSS, end: (last + 1) * MSS };
        }
        let ack = Ack {
            cumulative: cumulative * MSS,
            sack: blocks,
            sack_count: sack.len() as u8,
            window: ByteCount::new(3 << 20),
            echoed: at(echoed),
        };
        self.sender.on_ack(at(now), &ack);
        self.sends(now)
    }

    fn deadline(&self) -> f64 {
        self.sender.next_deadline().map_or(f64::NAN, |at| at.as_secs_f64() * 1e3)
    }

    fn fire(&mut self) -> (f64, Vec<i64>) {
        let now = self.deadline();
        self.sender.on_deadline(at(now));
        (now, self.sends(now))
    }

    fn cwnd(&self) -> u64 {
        self.sender.metrics().cwnd.as_u64() / MSS
    }

    fn ssthresh(&self) -> Option<u64> {
        self.sender.metrics().ssthresh.map(|bytes| bytes.as_u64() / MSS)
    }
}

fn numbers(range: std::ops::Range<i64>) -> Vec<i64> {
    range.collect()
}

#[test]
fn the_initial_window_leaves_and_doubles_each_round_trip() {
    let mut scene = Scene::new(Scene::reno(10));
    assert_eq!(scene.sends(0.0), numbers(0..10));
    assert_eq!(scene.ack(100.0, 10, &[], 0.0), numbers(10..30));
    assert_eq!(scene.cwnd(), 20);
    assert_eq!(scene.ack(200.0, 30, &[], 100.0), numbers(30..70));
}

#[test]
fn limited_transmit_then_three_duplicates_then_recovery() {
    let mut scene = Scene::new(Scene::reno(10));
    scene.sends(0.0);
    assert_eq!(scene.ack(100.0, 10, &[], 0.0), numbers(10..30));
    // Segment 10 is lost. RFC 3042: the first two duplicates release new segments.
    assert_eq!(scene.ack(200.0, 10, &[(11, 11)], 0.0), [30]);
    assert_eq!(scene.ack(200.1, 10, &[(11, 12)], 0.0), [31]);
    // The third: window 20 halves to 10, the segment is retransmitted at once.
    assert_eq!(scene.ack(200.2, 10, &[(11, 13)], 0.0), [-10]);
    assert_eq!(scene.ssthresh(), Some(10));
    // RFC 6937: one segment is sent for two delivered while the flight is above the threshold.
    let mut sent = 0;
    for last in 14..30 {
        sent += scene.ack(200.3, 10, &[(11, last)], 0.0).len();
    }
    assert!((7..=9).contains(&sent), "{sent}");
    // The retransmission fills the gap; the recovery point was 32.
    scene.ack(300.0, 32, &[], 200.2);
    assert_eq!(scene.cwnd(), 10);
    assert_eq!(scene.sender.metrics().recoveries, 1);
    assert_eq!(scene.sender.metrics().undone, 0);
}

#[test]
fn one_duplicate_waits_for_the_reordering_window() {
    let mut scene = Scene::new(Scene::reno(10));
    scene.sends(0.0);
    scene.ack(100.0, 10, &[], 0.0);
    assert_eq!(scene.ack(200.0, 10, &[(11, 11)], 0.0), [30]);
    // RFC 8985: sent at 100, a round trip of 100, and a quarter of the smallest: 225.
    assert_eq!(scene.deadline(), 225.0);
    assert_eq!(scene.fire(), (225.0, vec![-10]));
}

#[test]
fn an_overtaken_segment_is_not_lost_once_reordering_was_seen() {
    let mut scene = Scene::new(Scene::reno(10));
    scene.sends(0.0);
    scene.ack(100.0, 10, &[], 0.0);
    // 10 arrives after 11: reordering.
    scene.ack(200.0, 10, &[(11, 11)], 0.0);
    scene.ack(201.0, 12, &[], 100.0);
    // Now even five duplicates have no effect within the window of 25 ms.
    assert!(scene.ack(202.0, 12, &[(13, 17)], 100.0).iter().all(|number| *number > 0));
    assert_eq!(scene.deadline(), 227.0);
    scene.ack(210.0, 18, &[], 100.0);
    assert_eq!(scene.sender.metrics().retransmissions, 0);
}

#[test]
fn a_lost_retransmission_is_found_without_the_timer() {
    let mut scene = Scene::new(Scene::reno(10));
    scene.sends(0.0);
    scene.ack(100.0, 10, &[], 0.0);
    assert!(scene.ack(200.0, 10, &[(11, 13)], 0.0).contains(&-10));
    // Half of the flight arrives, and releases new segments after the retransmission.
    let new = scene.ack(210.0, 10, &[(11, 29)], 0.0);
    assert!(!new.is_empty() && new.iter().all(|number| *number >= 30), "{new:?}");
    // They arrive a round trip later; the retransmission, which was sent before them, did not.
    let first = new[0] as u64;
    assert!(scene.ack(310.0, 10, &[(first, first), (11, 29)], 0.0).contains(&-10));
    assert_eq!(scene.sender.metrics().timeouts, 0);
}

#[test]
fn a_duplicate_widens_the_reordering_window_by_a_quarter_of_the_round_trip() {
    let mut scene = Scene::new(Scene::reno(10));
    scene.sends(0.0);
    scene.ack(100.0, 10, &[], 0.0);
    // 10 is overtaken by more than the window, retransmitted unnecessarily at 225, and reported as a duplicate.
    scene.ack(200.0, 10, &[(11, 11)], 0.0);
    assert_eq!(scene.fire(), (225.0, vec![-10]));
    scene.ack(230.0, 12, &[], 100.0);
    scene.ack(325.0, 12, &[(10, 10)], 100.0);
    assert_eq!(scene.sender.metrics().undone, 1);
    // An overtaken segment of this flight now waits for two quarters: sent at 325 at the latest.
    let fresh = scene.ack(326.0, 30, &[], 100.0);
    assert!(!fresh.is_empty());
    let (head, next) = (fresh[0] as u64, fresh[0] as u64 + 1);
    scene.ack(340.0, head, &[], 230.0);
    assert!(scene.ack(426.0, head, &[(next, next)], 230.0).iter().all(|number| *number > 0));
    assert_eq!(scene.deadline(), 326.0 + 100.0 + 50.0);
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips() {
    let mut scene = Scene::fresh(Scene::reno(10));
    scene.sender.write(at(0.0), Backlog::Bytes(ByteCount::new(10 * MSS)));
    scene.sends(0.0);
    scene.ack(50.0, 5, &[], 0.0);
    // RFC 8985 section 7.2: two round trips and two milliseconds after the acknowledgement.
    assert_eq!(scene.fire(), (152.0, vec![-9]));
    // The probe arrives and reveals the others.
    assert_eq!(scene.ack(202.0, 5, &[(9, 9)], 0.0), [-5]);
    assert_eq!(scene.ack(252.0, 6, &[(9, 9)], 202.0), [-6, -7]);
    scene.ack(302.0, 8, &[(9, 9)], 252.0);
    scene.ack(352.0, 10, &[], 302.0);
    assert!(scene.sender.is_idle());
    assert_eq!(scene.sender.metrics().timeouts, 0);
}

#[test]
fn a_probe_that_repairs_the_tail_costs_one_reduction_and_a_needless_one_nothing() {
    for needless in [false, true] {
        let mut scene = Scene::fresh(Scene::reno(10));
        scene.sender.write(at(0.0), Backlog::Bytes(ByteCount::new(10 * MSS)));
        scene.sends(0.0);
        scene.ack(100.0, 5, &[], 0.0);
        scene.fire();
        let before = scene.cwnd();
        scene.ack(330.0, 10, &[], 302.0);
        if needless {
            scene.ack(402.0, 10, &[(9, 9)], 302.0);
        }
        scene.sender.write(at(500.0), Backlog::Bytes(ByteCount::new(MSS)));
        scene.sends(500.0);
        scene.ack(600.0, 11, &[], 500.0);
        assert_eq!(scene.cwnd() < before, !needless, "{before} {}", scene.cwnd());
    }
}

#[test]
fn the_timer_doubles_and_the_window_falls_to_one() {
    let mut scene = Scene::new(Scene::reno(4));
    scene.sends(0.0);
    // Without a round trip: 1 s, then 2, 4, 8 after.
    assert_eq!(scene.fire(), (1_000.0, vec![-1000]));
    assert_eq!((scene.cwnd(), scene.ssthresh()), (1, Some(2)));
    assert_eq!(scene.fire(), (3_000.0, vec![-1000]));
    assert_eq!(scene.fire(), (7_000.0, vec![-1000]));
    assert_eq!(scene.deadline(), 15_000.0);
    assert_eq!(scene.ssthresh(), Some(2));
    // An answer to a retransmission: slow start over the rest, the backoff ends.
    assert_eq!(scene.ack(7_100.0, 1, &[], 7_000.0), [-1, -2]);
    assert_eq!(scene.sender.metrics().timeouts, 3);
    assert!(scene.deadline() < 7_500.0, "{}", scene.deadline());
}

#[test]
fn a_timeout_is_undone_when_the_original_arrives_late() {
    let mut scene = Scene::new(Scene::reno(10));
    scene.sends(0.0);
    scene.ack(100.0, 10, &[], 0.0);
    // A spike of delay: probe, then timer.
    let (probe, _) = scene.fire();
    let (timeout, sent) = scene.fire();
    assert!(timeout > probe + 200.0);
    assert_eq!((sent, scene.cwnd()), (vec![-10], 1));
    // The acknowledgement echoes the original transmission of 100 ms.
    scene.ack(timeout + 50.0, 15, &[], 100.0);
    assert_eq!(scene.sender.metrics().undone, 1);
    assert!(scene.cwnd() >= 20, "{}", scene.cwnd());
    assert_eq!(scene.ssthresh(), None);
}

#[test]
fn a_recovery_is_undone_when_every_retransmission_was_a_duplicate() {
    let mut scene = Scene::new(Scene::reno(10));
    scene.sends(0.0);
    scene.ack(100.0, 10, &[], 0.0);
    assert!(scene.ack(200.0, 10, &[(11, 13)], 0.0).contains(&-10));
    assert_eq!(scene.ssthresh(), Some(10));
    // The recovery ends as if the retransmission had repaired the loss; then its duplicate is reported.
    scene.ack(230.0, 30, &[], 200.0);
    assert_eq!(scene.sender.metrics().undone, 0);
    scene.ack(300.0, 30, &[(10, 10)], 200.0);
    assert_eq!(scene.sender.metrics().undone, 1);
    assert_eq!((scene.cwnd() >= 20, scene.ssthresh()), (true, None));
}

#[test]
fn the_window_grows_only_as_far_as_it_is_used() {
    let mut scene = Scene::fresh(Scene::reno(10));
    for round in 0..20_u64 {
        let now = round as f64 * 100.0;
        scene.sender.write(at(now), Backlog::Bytes(ByteCount::new(4 * MSS)));
        assert_eq!(scene.sends(now).len(), 4);
        scene.ack(now + 50.0, 4 * (round + 1), &[], now);
    }
    assert_eq!(scene.cwnd(), 10);
}

#[test]
fn the_window_shrinks_while_idle() {
    let mut scene = Scene::fresh(Scene::reno(10));
    scene.sender.write(at(0.0), Backlog::Bytes(ByteCount::new(70 * MSS)));
    scene.sends(0.0);
    scene.ack(100.0, 10, &[], 0.0);
    scene.ack(200.0, 30, &[], 100.0);
    scene.ack(300.0, 70, &[], 200.0);
    let before = scene.cwnd();
    assert!(before >= 70, "{before}");
    // RFC 2861: one timeout of 300 ms passes twice, the window halves twice; the threshold was never set.
    scene.sender.write(at(920.0), Backlog::Bytes(ByteCount::new(70 * MSS)));
    assert_eq!(scene.sends(920.0).len() as u64, before / 4);
    assert_eq!(scene.ssthresh(), None);
}

#[test]
fn a_closed_window_is_probed_with_one_byte() {
    let close = |cumulative: u64, window: u64, echoed: f64| Ack {
        cumulative,
        sack: [SackBlock::default(); 3],
        sack_count: 0,
        window: ByteCount::new(window),
        echoed: at(echoed),
    };
    let receive_window = ByteCount::new(2 * MSS);
    let mut scene = Scene::new(TcpConfig { receive_window, ..Scene::reno(10) });
    assert_eq!(scene.sends(0.0), [0, 1]);
    scene.sender.on_ack(at(100.0), &close(2 * MSS, 0, 0.0));
    assert!(scene.sends(100.0).is_empty());
    // Timeout 300 ms, then 600 ms.
    assert_eq!(scene.deadline(), 400.0);
    scene.sender.on_deadline(at(400.0));
    let probe = scene.sender.poll_transmit(at(400.0)).expect("probe");
    assert_eq!((probe.seq, probe.len), (2 * MSS, 1));
    // The answer opens the window.
    scene.sender.on_ack(at(500.0), &close(2 * MSS + 1, 2 * MSS, 400.0));
    let next = scene.sender.poll_transmit(at(500.0)).expect("open");
    assert_eq!((next.seq, next.len), (2 * MSS + 1, 1448));
}

#[test]
fn nagle_holds_a_second_short_segment() {
    for nagle in [false, true] {
        let mut scene = Scene::fresh(TcpConfig { nagle, ..Scene::reno(10) });
        scene.sender.write(at(0.0), Backlog::Bytes(ByteCount::new(100)));
        assert_eq!(scene.sends(0.0).len(), 1);
        scene.sender.write(at(1.0), Backlog::Bytes(ByteCount::new(100)));
        assert_eq!(scene.sends(1.0).len(), usize::from(!nagle));
    }
}

#[test]
fn pacing_spreads_a_window_over_the_round_trip() {
    let mut scene = Scene::new(TcpConfig { pacing: Pacing::On, ..Scene::reno(10) });
    // The first ten are not paced, as in Linux.
    assert_eq!(scene.sends(0.0).len(), 10);
    let mut left = scene.ack(100.0, 10, &[], 0.0).len();
    let mut now = 100.0;
    while left < 20 {
        let sent;
        (now, sent) = scene.fire();
        left += sent.len();
        assert!(sent.len() <= 3, "{sent:?}");
    }
    // Twice the window per round trip: 20 segments in 50 ms, the last two at 45.
    assert!((140.0..152.0).contains(&now), "{now}");
}

#[test]
fn impossible_acknowledgements_are_ignored() {
    let mut scene = Scene::new(Scene::reno(10));
    scene.sends(0.0);
    let before = scene.sender.metrics();
    assert!(scene.ack(50.0, 11, &[], 0.0).is_empty(), "bytes never sent");
    assert!(scene.ack(50.0, 0, &[(20, 30)], 0.0).is_empty(), "a block never sent");
    assert!(scene.ack(50.0, 0, &[(5, 3)], 0.0).is_empty(), "a block that ends before it begins");
    assert_eq!(scene.sender.metrics(), before);
    scene.ack(100.0, 10, &[], 1e9);
    assert_eq!(scene.sender.metrics().srtt, Some(Span::from_millis(100)));
}

#[test]
fn the_send_buffer_limits_what_is_taken() {
    let config = TcpConfig { send_buffer: ByteCount::new(100_000), ..Scene::reno(10) };
    let mut scene = Scene::fresh(config.clone());
    let accepted = scene.sender.write(at(0.0), Backlog::Bytes(ByteCount::new(150_000)));
    assert_eq!((accepted, scene.sender.room()), (ByteCount::new(100_000), ByteCount::ZERO));
    scene.sends(0.0);
    scene.ack(100.0, 10, &[], 0.0);
    assert_eq!(scene.sender.room(), ByteCount::new(10 * MSS));
    // A bulk transfer has at most that much in flight.
    let mut bulk = Scene::new(TcpConfig { initial_window: 1000, ..config });
    assert_eq!(bulk.sends(0.0).len() as u64, 100_000 / MSS);
}
