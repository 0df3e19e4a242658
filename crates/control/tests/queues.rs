//! Every queue under any order of calls: packets are conserved, the backlog is exact, and no packet is lost.

use airbound_control::frame::{Dropped, FlowId, PlainPacket, StationId};
use airbound_control::queue::{AnyQueue, Demand, Direction, Eligibility, Queue, QueueConfig};
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;
use bolero::TypeGenerator;

use crate::queue_calls::Calls as _;

#[derive(Debug, Clone, TypeGenerator)]
enum Op {
    Enqueue { station: u8, category: u8, flow: u8, size: u16, copies: u8 },
    Serve { category: u8, most: u8 },
    Flush { station: u8 },
    DequeueUnasked { station: u8, category: u8 },
    Eligibility { station: u8, category: u8, eligibility: u8 },
    Returned { station: u8, category: u8, micros: u16 },
    Airtime { station: u8, category: u8, micros: u32, received: bool },
    Throughput { station: u8, kbps: u32 },
    Rate { station: u8, kbps: u32, mpdus: u16 },
    Channel { busy: Option<f64>, own: Option<f64> },
    Demand { flow: u8, millis: u8, percentile: u8 },
    Pass { micros: u32 },
    GoBack { micros: u32 },
}

fn station(number: u8) -> StationId {
    StationId(u16::from(number % 8))
}

fn category(number: u8) -> Category {
    Category::ALL[usize::from(number % 4)]
}

/// A queue and its expected contents.
struct Checked {
    queue: AnyQueue<PlainPacket>,
    now: Instant,
    sent: usize,
    /// Whether the packet of that number is still in the queue.
    inside: Vec<bool>,
    packets: usize,
    bytes: ByteCount,
    by_category: [usize; 4],
    /// Airtime handed down and not returned.
    below: [[Span; 4]; 8],
    dropped: Vec<Dropped<PlainPacket>>,
    /// Stations selected, packets dequeued (by number), and the number of packets dropped on the way, in the order of calls.
    log: Vec<(Option<StationId>, Option<usize>, usize)>,
}

impl Checked {
    fn new(config: &str) -> Self {
        let config: QueueConfig = toml::from_str(config).expect("a valid configuration");
        Self {
            queue: config.build(7).expect("values in range"),
            now: Instant::from_nanos(5_000_000_000),
            sent: 0,
            inside: Vec::new(),
            packets: 0,
            bytes: ByteCount::ZERO,
            by_category: [0; 4],
            below: [[Span::ZERO; 4]; 8],
            dropped: Vec::new(),
            log: Vec::new(),
        }
    }

    fn left(&mut self, packet: &PlainPacket) {
        assert!(std::mem::replace(&mut self.inside[packet.number], false), "left twice: {packet:?}");
        self.packets -= 1;
        self.bytes -= packet.size;
        self.by_category[packet.category.index()] -= 1;
    }

    fn settle(&mut self) {
        for Dropped { packet, .. } in std::mem::take(&mut self.dropped) {
            self.left(&packet);
        }
        let backlog = self.queue.backlog().total();
        assert_eq!((backlog.packets, backlog.bytes), (self.packets, self.bytes));
        for category in Category::ALL {
            assert_eq!(self.queue.backlog().has(category), self.by_category[category.index()] > 0);
        }
    }

    fn enqueue(&mut self, station: StationId, category: Category, flow: u32, size: u64) {
        let number = self.inside.len();
        let (flow, size) = (FlowId(flow), ByteCount::new(size));
        let packet = PlainPacket { number, category, size, ..PlainPacket::new(station, flow) };
        self.inside.push(true);
        self.packets += 1;
        self.bytes += size;
        self.by_category[category.index()] += 1;
        self.queue.enqueue(self.now, packet, &mut self.dropped);
        self.settle();
    }

    /// Serves one aggregate; returns the number of packets that left.
    fn serve(&mut self, category: Category, most: usize) -> Option<usize> {
        let station = self.queue.next_station(self.now, category);
        self.log.push((station, None, 0));
        let station = station?;
        let before = self.packets;
        for _ in 0..most {
            if !self.dequeue(station, category) {
                break;
            }
        }
        Some(before - self.packets)
    }

    fn dequeue(&mut self, station: StationId, category: Category) -> bool {
        let packet = self.queue.dequeue(self.now, station, category, &mut self.dropped);
        self.log.push((None, packet.as_ref().map(|packet| packet.number), self.dropped.len()));
        if let Some(packet) = &packet {
            assert_eq!((packet.station, packet.category), (station, category));
            self.sent += 1;
            self.left(packet);
            if self.queue.counts_airtime() {
                let estimate = Span::from_micros(packet.size.as_u64() / 4);
                self.below[station.index()][category.index()] += estimate;
                self.queue.on_handed(self.now, station, category, estimate);
            }
        }
        self.settle();
        packet.is_some()
    }

    fn apply(&mut self, op: &Op) {
        let now = self.now;
        match *op {
            Op::Enqueue { station: to, category: of, flow, size, copies } => {
                for copy in 0..=copies % 32 {
                    let flow = u32::from(flow % 16) + u32::from(copy % 3);
                    self.enqueue(station(to), category(of), flow, u64::from(size) % 4000);
                }
            }
            Op::Serve { category: of, most } => {
                self.serve(category(of), usize::from(most % 64));
            }
            Op::Flush { station: to } => {
                let mut flushed = Vec::new();
                self.queue.flush(station(to), &mut flushed);
                for packet in &flushed {
                    assert_eq!(packet.station, station(to));
                    self.left(packet);
                }
            }
            Op::DequeueUnasked { station: to, category: of } => {
                self.dequeue(station(to), category(of));
            }
            Op::Eligibility { station: to, category: of, eligibility } => {
                let eligibility =
                    [Eligibility::Fresh, Eligibility::Retries { since: Instant::ZERO }, Eligibility::Blocked]
                        [usize::from(eligibility % 3)];
                self.queue.set_eligibility(now, station(to), category(of), eligibility);
            }
            Op::Returned { station: to, category: of, micros } => {
                let below = &mut self.below[station(to).index()][category(of).index()];
                let estimate = Span::from_micros(u64::from(micros)).min(*below);
                *below -= estimate;
                self.queue.on_returned(now, station(to), category(of), estimate);
            }
            Op::Airtime { station: to, category: of, micros, received } => {
                let direction = if received { Direction::Received } else { Direction::Sent };
                let airtime = Span::from_micros(u64::from(micros));
                self.queue.on_airtime(now, station(to), category(of), airtime, direction);
            }
            Op::Throughput { station: to, kbps } => {
                let throughput = BitRate::from_kbps(u64::from(kbps));
                self.queue.on_expected_throughput(now, station(to), throughput);
            }
            Op::Rate { station: to, kbps, mpdus } => {
                self.queue.on_rate(now, station(to), BitRate::from_kbps(u64::from(kbps)), mpdus);
            }
            Op::Channel { busy, own } => self.queue.on_channel(now, busy, own),
            Op::Demand { flow, millis, percentile } => {
                let latency = Span::from_millis(u64::from(millis));
                let demand = Demand::new(latency, f64::from(percentile)).ok();
                // A refused demand changes nothing.
                if let Some(demands) = self.queue.demands_mut() {
                    let fits = demand.is_none_or(|demand| demands.check(&demand).is_ok());
                    let accepted = demands.set(now, FlowId(u32::from(flow % 16)), demand);
                    assert_eq!(accepted.is_ok(), fits);
                }
            }
            Op::Pass { micros } => self.now += Span::from_micros(u64::from(micros)),
            Op::GoBack { micros } => self.now = self.now - Span::from_micros(u64::from(micros)),
        }
        self.settle();
    }

    /// Checks that all packets leave if no station is blocked and all packets below are returned.
    fn drain(&mut self) {
        for to in 0..8 {
            for of in Category::ALL {
                self.queue.set_eligibility(self.now, StationId(to), of, Eligibility::Fresh);
                let below = std::mem::take(&mut self.below[usize::from(to)][of.index()]);
                self.queue.on_returned(self.now, StationId(to), of, below);
            }
        }
        for of in Category::ALL {
            let mut idle = 0;
            while let Some(left) = self.serve(of, 64) {
                idle = if left == 0 { idle + 1 } else { 0 };
                assert!(idle < 64, "a station is named again and again but has nothing");
                for to in 0..8 {
                    let below = std::mem::take(&mut self.below[usize::from(to)][of.index()]);
                    self.queue.on_returned(self.now, StationId(to), of, below);
                }
            }
        }
        assert_eq!(self.packets, 0, "lost in the queue");
        assert_eq!(self.queue.backlog().total().packets, 0);
    }
}

fn drive(config: &str, ops: &[Op]) {
    let mut checked = Checked::new(config);
    for op in ops {
        checked.apply(op);
    }
    checked.drain();
    // It still works afterwards.
    checked.enqueue(StationId(1), Category::Be, 1, 100);
    checked.drain();
    assert!(checked.sent > 0);
}

/// Drives each of several queues with the same operations. A macro, since a fuzz target has the name of the function in which
/// `check!` stands.
macro_rules! check {
    ($($config:expr),+ $(,)?) => {
        bolero::check!().with_type::<Vec<Op>>().for_each(|ops| { $(drive($config, ops);)+ })
    };
}

/// A kind that is added is tried here without a further line.
#[test]
fn every_kind_keeps_its_promises_with_its_defaults() {
    bolero::check!().with_type::<Vec<Op>>().for_each(|ops| {
        for (kind, _) in QueueConfig::KINDS {
            drive(&format!("kind = \"{kind}\""), ops);
        }
    });
}

#[test]
fn fifo_keeps_its_promises() {
    check!("kind = \"fifo\"\nlimit = { packets = 50, bytes = \"60 kB\" }");
}

#[test]
fn last_pq_that_finds_its_flows_keeps_its_promises() {
    check!(
        "kind = \"last-pq\"\nprotect = \"auto\"\nlinux = { packets = 60, flows = 4 }",
        "kind = \"last-pq\"\nprotect = \"auto\"\nauto = { classifier = { window = \"500 ms\", gap = \"100 us\", \
         least-rate = \"100 kbit/s\", found-at = 10, suspected-at = 10, found-on-beat = 0, lost-at = 10, flows = 3 } }",
    );
}

#[test]
fn airbound_keeps_its_promises() {
    check!(
        "kind = \"airbound\"\nsize = { interval = \"20 ms\", subframes = 2, max-packets = 3 }\nlaw = { limit-q = \"1 ms\" }",
        "kind = \"airbound\"\nurgency = false\nsize = false\nlaw = false\ncodel = false\nlast-pq = { linux = { packets = 60 } }",
    );
}

#[test]
fn round_robin_keeps_its_promises() {
    check!("kind = \"round-robin\"\nlimit = { packets = 50 }");
}

#[test]
fn wqm_keeps_its_promises() {
    check!(
        "kind = \"wqm\"\ninterval = \"20 ms\"\nsubframes = 8\nmax-packets = 40",
        "kind = \"wqm\"\nsubframes = 1\nfloor = \"rate\"\ndrop = \"selective\"\nlook-around = true\nstep = \"mimd\"",
    );
}

/// With any reported facts, the buffer stays within its bounds, and an update moves the deadline.
#[test]
fn wqm_keeps_its_bounds() {
    bolero::check!().with_type::<Vec<Op>>().for_each(|ops| {
        let mut checked =
            Checked::new("kind = \"wqm\"\ninterval = \"20 ms\"\nsubframes = 8\nmax-packets = 40");
        for op in ops {
            checked.apply(op);
            if let Some(due) = checked.queue.deadline().channel_load.filter(|due| *due <= checked.now) {
                checked.queue.on_channel(checked.now, None, None);
                assert!(checked.queue.deadline().channel_load.is_none_or(|next| next > due));
                checked.settle();
            }
            let AnyQueue::Wqm(queue) = &checked.queue else { panic!("another queue") };
            for category in Category::ALL {
                let size = queue.buffer_size(category);
                assert!((8..=40).contains(&size.packets()), "{}", size.packets());
                // No packet is admitted beyond the size, which never exceeds B_max.
                assert!(checked.by_category[category.index()] <= 40);
            }
        }
        checked.drain();
    });
}

#[test]
fn codel_keeps_its_promises() {
    check!("kind = \"codel\"\ninterval = \"20 ms\"");
}

#[test]
fn pie_keeps_its_promises() {
    check!(
        "kind = \"pie\"\nmax-burst = \"0 ms\"\nlimit = { packets = 200 }",
        "kind = \"pie\"\nmax-burst = \"0 ms\"\ndelay = \"departure-rate\"",
        "kind = \"pie\"\nmax-burst = \"0 ms\"\nrevision = \"linux-3.17\"",
    );
}

#[test]
fn fq_codel_keeps_its_promises() {
    check!("kind = \"fq-codel\"\npackets = 60\nflows = 4\ninterval = \"20 ms\"");
}

#[test]
fn fq_codel_airtime_keeps_its_promises() {
    check!(
        "kind = \"fq-codel-airtime\"\npackets = 60\nflows = 4\ninterval = \"20 ms\"",
        "kind = \"linux\"\nmemory = \"100 kB\"\ncharge-estimates = true",
    );
}

#[test]
fn last_pq_keeps_its_promises() {
    check!(
        "kind = \"last-pq\"\nlinux = { packets = 60, flows = 4, interval = \"20 ms\" }",
        "kind = \"last-pq\"\nfill = 3\nchoice = \"slack\"\nlinux = { airtime-queue-limit = false }",
    );
}

#[test]
fn without_demands_last_pq_is_linux() {
    bolero::check!().with_type::<Vec<Op>>().for_each(|ops| {
        let run = |config: &str| {
            let mut checked = Checked::new(config);
            for op in ops.iter().filter(|op| !matches!(op, Op::Demand { .. })) {
                checked.apply(op);
            }
            checked.drain();
            checked.log
        };
        for keys in ["packets = 60, flows = 4", "airtime-queue-limit = false", "charge-estimates = true"] {
            let linux = format!("kind = \"linux\"\n{}", keys.replace(", ", "\n"));
            assert_eq!(run(&linux), run(&format!("kind = \"last-pq\"\nlinux = {{ {keys} }}")));
        }
    });
}
