//! Any calls in any order, with valid and invalid acknowledgements.

use airbound_units::{ByteCount, Instant, Span};
use bolero::{TypeGenerator, produce};

use super::{Ack, Backlog, DelayedAck, Pacing, SackBlock, Segment, TcpConfig, TcpReceiver, TcpSender};
use crate::congestion::Congestion;

#[derive(Debug, Clone, Copy, TypeGenerator)]
enum Op {
    Wait {
        micros: u16,
    },
    WaitForDeadline,
    Write {
        bytes: u16,
    },
    WriteUnlimited,
    Transmit {
        segments: u8,
    },
    /// The oldest segment in transit arrives, or a later one overtakes it, or it is lost or duplicated.
    Arrive {
        overtaking: u8,
    },
    Lose,
    Repeat,
    /// The oldest acknowledgement in transit arrives or is lost.
    Answer,
    LoseAnswer,
    /// Offsets are relative to the first unacknowledged byte, signed.
    Nonsense {
        cumulative: i32,
        blocks: [(i32, i32); 3],
        count: u8,
        window: u32,
        echoed: i32,
    },
    Wild {
        cumulative: u64,
        start: u64,
        end: u64,
        window: u64,
        echoed: u64,
    },
    WildSegment {
        seq: i32,
        len: u32,
        sent: u64,
    },
}

struct Pair {
    now: Instant,
    sender: TcpSender,
    receiver: TcpReceiver,
    segments: Vec<Segment>,
    acks: Vec<Ack>,
    hostile: bool,
}

impl Pair {
    fn new(congestion: Congestion, pacing: Pacing, receive_window: u64) -> Self {
        let receive_window = ByteCount::new(receive_window);
        let config = TcpConfig {
            congestion,
            pacing,
            receive_window,
            nagle: pacing == Pacing::On,
            delayed_ack: DelayedAck { gro: congestion == Congestion::Bbr, ..DelayedAck::default() },
            ..TcpConfig::default()
        };
        Self {
            now: Instant::ZERO,
            sender: TcpSender::new(config.clone()).expect("valid"),
            receiver: TcpReceiver::new(&config).expect("valid"),
            segments: Vec::new(),
            acks: Vec::new(),
            hostile: false,
        }
    }

    fn receive(&mut self, segment: Segment) {
        let before = self.receiver.delivered();
        self.acks.extend(self.receiver.on_segment(self.now, segment.seq, segment.len, segment.sent));
        assert!(self.receiver.delivered() >= before);
    }

    fn nonsense(&mut self, ack: Ack) {
        self.hostile = true;
        self.sender.on_ack(self.now, &ack);
    }

    fn apply(&mut self, op: Op) {
        let now = self.now;
        match op {
            Op::Wait { micros } => self.now += Span::from_micros(u64::from(micros)),
            Op::WaitForDeadline => {
                let deadlines = [self.sender.next_deadline(), self.receiver.next_deadline()];
                if let Some(at) = deadlines.into_iter().flatten().min() {
                    self.now = self.now.max(at);
                    self.sender.on_deadline(self.now);
                    self.acks.extend(self.receiver.on_deadline(self.now));
                    // A sender called at its deadline returns a later one, unless it has data to send.
                    if self.sender.next_deadline().is_some_and(|next| next <= self.now) {
                        let segment = self.sender.poll_transmit(self.now);
                        self.segments.extend(segment);
                        let next = self.sender.next_deadline();
                        assert!(segment.is_some() || next.is_none_or(|next| next > self.now));
                    }
                }
            }
            Op::Write { bytes } => {
                self.sender.write(now, Backlog::Bytes(ByteCount::new(u64::from(bytes))));
            }
            Op::WriteUnlimited => {
                self.sender.write(now, Backlog::Unlimited);
            }
            Op::Transmit { segments } => {
                for _ in 0..segments {
                    let Some(segment) = self.sender.poll_transmit(now) else { break };
                    assert!(segment.len > 0 && segment.sent == now);
                    self.segments.push(segment);
                }
            }
            Op::Arrive { overtaking } => {
                if !self.segments.is_empty() {
                    let index = usize::from(overtaking) % self.segments.len();
                    let segment = self.segments.remove(index);
                    self.receive(segment);
                }
            }
            Op::Lose => drop((!self.segments.is_empty()).then(|| self.segments.remove(0))),
            Op::Repeat => {
                if let Some(&segment) = self.segments.first() {
                    self.receive(segment);
                }
            }
            Op::Answer => {
                if !self.acks.is_empty() {
                    let ack = self.acks.remove(0);
                    self.sender.on_ack(now, &ack);
                }
            }
            Op::LoseAnswer => drop((!self.acks.is_empty()).then(|| self.acks.remove(0))),
            Op::Nonsense { cumulative, blocks, count, window, echoed } => {
                let base = self.sender.first_unacked;
                let near = |offset: i32| base.saturating_add_signed(i64::from(offset % 60_000));
                let echoed = now.as_nanos().saturating_add_signed(i64::from(echoed));
                self.nonsense(Ack {
                    cumulative: near(cumulative),
                    sack: blocks.map(|(start, end)| SackBlock { start: near(start), end: near(end) }),
                    sack_count: count,
                    window: ByteCount::new(u64::from(window)),
                    echoed: Instant::from_nanos(echoed),
                });
            }
            Op::Wild { cumulative, start, end, window, echoed } => self.nonsense(Ack {
                cumulative,
                sack: [SackBlock { start, end }; 3],
                sack_count: 3,
                window: ByteCount::new(window),
                echoed: Instant::from_nanos(echoed),
            }),
            Op::WildSegment { seq, len, sent } => {
                self.hostile = true;
                self.receive(Segment {
                    seq: self.receiver.delivered().as_u64().saturating_add_signed(i64::from(seq % 60_000)),
                    len,
                    retransmission: false,
                    sent: Instant::from_nanos(sent),
                });
            }
        }
        self.sender.check();
        if !self.hostile {
            // A correct network: no byte is acknowledged that did not arrive, none arrives that was not sent.
            assert!(self.sender.first_unacked <= self.receiver.delivered().as_u64());
            assert!(self.receiver.delivered().as_u64() <= self.sender.next);
        }
    }

    /// From any valid state, a perfect network delivers all data.
    fn finish(mut self) {
        if self.hostile || self.sender.unsent() == ByteCount::MAX {
            return;
        }
        let total = self.sender.next + self.sender.unsent().as_u64();
        for _ in 0..200_000 {
            while let Some(segment) = self.sender.poll_transmit(self.now) {
                self.receive(segment);
            }
            let acks = std::mem::take(&mut self.acks);
            if acks.is_empty() {
                let deadlines = [self.sender.next_deadline(), self.receiver.next_deadline()];
                let Some(at) = deadlines.into_iter().flatten().min() else { break };
                self.now = self.now.max(at);
                self.sender.on_deadline(self.now);
                self.acks.extend(self.receiver.on_deadline(self.now));
            } else {
                self.now += Span::from_millis(1);
                for ack in acks {
                    self.sender.on_ack(self.now, &ack);
                }
            }
            self.sender.check();
        }
        assert!(self.sender.is_idle());
        assert_eq!(self.receiver.delivered().as_u64(), total);
    }
}

impl Op {
    fn is_hostile(&self) -> bool {
        matches!(self, Self::Nonsense { .. } | Self::Wild { .. } | Self::WildSegment { .. })
    }
}

fn drive(congestion: Congestion, pacing: Pacing, small: bool, honest: bool, ops: &[Op]) {
    let mut pair = Pair::new(congestion, pacing, if small { 3_000 } else { 3 << 20 });
    for op in ops.iter().filter(|op| !(honest && op.is_hostile())) {
        pair.apply(*op);
    }
    pair.finish();
}

/// A macro, since a fuzz target has the name of the function in which `check!` stands.
macro_rules! check {
    ($congestion:expr, $pacing:expr) => {
        let operations = produce::<Vec<Op>>().with().len(0_usize..400);
        let input = (produce::<bool>(), produce::<bool>(), operations);
        bolero::check!()
            .with_generator(input)
            .with_max_len(16_384)
            .for_each(|(small, honest, ops)| drive($congestion, $pacing, *small, *honest, ops));
    };
}

#[test]
fn reno_holds_together() {
    check!(Congestion::Reno, Pacing::Auto);
}

#[test]
fn cubic_holds_together() {
    check!(Congestion::Cubic, Pacing::On);
}

#[test]
fn bbr_holds_together() {
    check!(Congestion::Bbr, Pacing::Auto);
}
