//! Cost of a TCP segment: sent, received, acknowledged, over 20 ms of delay; without loss, and with 1 % of it.

use std::collections::VecDeque;
use std::time::Duration;

use airbound_senders::congestion::Congestion;
use airbound_senders::tcp::{Ack, Backlog, Segment, TcpConfig, TcpReceiver, TcpSender};
use airbound_units::{Instant, Span};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const SEGMENTS: u64 = 1000;
const ONE_WAY: Span = Span::from_millis(10);
/// A bottleneck of 116 Mbit/s.
const SPACING: Span = Span::from_micros(100);

struct Connection {
    now: Instant,
    free: Instant,
    sender: TcpSender,
    receiver: TcpReceiver,
    segments: VecDeque<(Instant, Segment)>,
    acks: VecDeque<(Instant, Ack)>,
    sent: u64,
    lose_every: u64,
}

impl Connection {
    fn new(congestion: Congestion, lose_every: u64) -> Self {
        let config = TcpConfig { congestion, ..TcpConfig::default() };
        let mut sender = TcpSender::new(config.clone()).expect("valid");
        sender.write(Instant::ZERO, Backlog::Unlimited);
        Self {
            now: Instant::ZERO,
            free: Instant::ZERO,
            sender,
            receiver: TcpReceiver::new(&config).expect("valid"),
            segments: VecDeque::new(),
            acks: VecDeque::new(),
            sent: 0,
            lose_every,
        }
    }

    fn transmit(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            self.sent += 1;
            if self.lose_every > 0 && self.sent.is_multiple_of(self.lose_every) {
                continue;
            }
            self.free = self.free.max(self.now) + SPACING;
            self.segments.push_back((self.free + ONE_WAY, segment));
        }
    }

    /// Runs until `segments` more segments were sent.
    fn run(&mut self, segments: u64) {
        let goal = self.sent + segments;
        while self.sent < goal {
            self.transmit();
            let (receiver, sender) = (self.receiver.next_deadline(), self.sender.next_deadline());
            let timers = [sender, receiver].into_iter().flatten();
            let segment = self.segments.front().map(|(at, _)| *at);
            let ack = self.acks.front().map(|(at, _)| *at);
            let Some(next) = timers.chain(segment).chain(ack).min() else { break };
            self.now = self.now.max(next);
            if segment.is_some_and(|at| at <= self.now)
                && let Some((_, segment)) = self.segments.pop_front()
            {
                let ack = self.receiver.on_segment(self.now, segment.seq, segment.len, segment.sent);
                self.acks.extend(ack.map(|ack| (self.now + ONE_WAY, ack)));
            } else if ack.is_some_and(|at| at <= self.now)
                && let Some((_, ack)) = self.acks.pop_front()
            {
                self.sender.on_ack(self.now, &ack);
            } else if receiver.is_some_and(|at| at <= self.now) {
                let ack = self.receiver.on_deadline(self.now);
                self.acks.extend(ack.map(|ack| (self.now + ONE_WAY, ack)));
            } else {
                self.sender.on_deadline(self.now);
            }
        }
    }
}

fn senders(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sender");
    group.throughput(Throughput::Elements(SEGMENTS)).sample_size(20);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_millis(700));
    for (name, congestion) in
        [("cubic", Congestion::Cubic), ("reno", Congestion::Reno), ("bbr", Congestion::Bbr)]
    {
        for (path, lose_every) in [("clean", 0), ("lossy", 100)] {
            let mut connection = Connection::new(congestion, lose_every);
            connection.run(50_000);
            group.bench_function(BenchmarkId::new(name, path), |bencher| {
                bencher.iter(|| connection.run(SEGMENTS));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, senders);
criterion_main!(benches);
