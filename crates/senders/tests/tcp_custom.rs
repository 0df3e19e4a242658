//! Custom congestion control with arbitrary answers: the connection still delivers.

use airbound_senders::congestion::{AckEvent, CongestionControl, Window};
use airbound_senders::tcp::{Ack, Backlog, TcpConfig, TcpReceiver, TcpSender};
use airbound_units::{BitRate, ByteCount, Instant, Span};

/// Pseudorandom answers from a number (xorshift).
#[derive(Debug, Clone)]
struct Whim(u64);

impl Whim {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Sets the window to invalid values.
#[derive(Debug)]
struct Wild(Whim);

impl CongestionControl for Wild {
    fn on_ack(&mut self, window: &mut Window, _ack: &AckEvent) {
        let extremes = [0, 1, u32::MAX, 20];
        window.cwnd = extremes[self.0.next() as usize % 4];
        window.ssthresh = extremes[self.0.next() as usize % 4];
    }
    fn on_loss(&mut self, _now: Instant, _window: &Window) -> u32 {
        [0, u32::MAX][self.0.next() as usize % 2]
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        [None, Some(BitRate::ZERO), Some(BitRate::from_mbps(9))][(self.0.0 % 3) as usize]
    }
    fn owns_window(&self) -> bool {
        true
    }
}

#[test]
fn a_wild_window_still_delivers() {
    for seed in 1..40 {
        let config = TcpConfig::default();
        let mut sender = TcpSender::with_control(config.clone(), Box::new(Wild(Whim(seed)))).expect("valid");
        let mut receiver = TcpReceiver::new(&config).expect("valid");
        let mut now = Instant::ZERO;
        let amount = ByteCount::new(200_000);
        sender.write(now, Backlog::Bytes(amount));
        let mut rounds = 0;
        let mut drop = Whim(seed);
        while !sender.is_idle() {
            rounds += 1;
            assert!(rounds < 20_000, "seed {seed} makes no progress");
            let mut acks: Vec<Ack> = Vec::new();
            while let Some(segment) = sender.poll_transmit(now) {
                if !drop.next().is_multiple_of(10) {
                    acks.extend(receiver.on_segment(now, segment.seq, segment.len, segment.sent));
                }
            }
            now += Span::from_millis(10);
            acks.extend(receiver.on_deadline(now));
            acks.iter().for_each(|ack| sender.on_ack(now, ack));
            assert!(sender.metrics().cwnd >= ByteCount::new(1));
            if let Some(deadline) = sender.next_deadline() {
                now = now.max(deadline);
                sender.on_deadline(now);
            }
        }
        assert_eq!(receiver.delivered(), amount);
    }
}
