//! Custom deciders with arbitrary answers: no packet is lost or sent twice, and nothing panics.

use airbound_control::frame::TxReport;
use airbound_control::frame::{Attempt, RateChain};
use airbound_control::frame::{DropReason, Dropped, FlowId, PlainPacket, StationId};
use airbound_control::link::{Composed, Link, LinkConfig, Returned, Room};
use airbound_control::queue::custom::{GivenUp, Mistake, Waiting};
use airbound_control::queue::{AnyQueue, CustomQueue, Queue, QueueDecider};
use airbound_control::rate::{AnyRate, Capabilities, CustomRate, RateControl, RateDecider, RateReport};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;
use airbound_wifi::rate::{Legacy, Rate};
use bolero::TypeGenerator;

use crate::queue_calls::Calls as _;

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

/// Names packets and stations that may not exist.
#[derive(Debug)]
struct Careless(Whim);

impl QueueDecider for Careless {
    fn enqueue(&mut self, _now: Instant, packet: &Waiting, given_up: &mut GivenUp) {
        match self.0.next() % 8 {
            0 => given_up.push((packet.number, DropReason::Congestion)),
            1 => {
                given_up.extend([(packet.number, DropReason::Expired), (packet.number, DropReason::Expired)])
            }
            2 => given_up.push((self.0.next() % 64, DropReason::QueueFull)),
            _ => {}
        }
    }

    fn select(&mut self, _now: Instant, _category: Category, stations: &[StationId]) -> Option<StationId> {
        match self.0.next() % 8 {
            0 => None,
            1 => Some(StationId(self.0.next() as u16)),
            draw => stations.get(draw as usize % stations.len()).copied(),
        }
    }

    fn dequeue(
        &mut self,
        _now: Instant,
        _station: StationId,
        _category: Category,
        given_up: &mut GivenUp,
    ) -> Option<u64> {
        if self.0.next().is_multiple_of(8) {
            given_up.push((self.0.next() % 64, DropReason::Congestion));
        }
        (!self.0.next().is_multiple_of(4)).then(|| self.0.next() % 64)
    }
}

impl RateDecider for Careless {
    fn add_station(&mut self, _station: StationId, rates: &[Rate]) {
        assert!(!rates.is_empty());
    }

    fn chain(&mut self, _now: Instant, _station: StationId, _mpdus: u16) -> Vec<Attempt> {
        let all = Capabilities::default().rate_set().expect("valid");
        let steps = self.0.next() % 7;
        let step = |draw: u64| {
            let known = all.as_slice()[draw as usize % all.as_slice().len()];
            let rate = if draw.is_multiple_of(5) { Rate::legacy(Legacy::Mbps54) } else { known };
            Attempt { rate, tries: (draw >> 32) as u8 % 4 }
        };
        (0..steps).map(|_| step(self.0.next())).collect()
    }

    fn on_report(&mut self, _now: Instant, _station: StationId, _report: &RateReport) {}
}

#[derive(Debug, Clone, TypeGenerator)]
enum Op {
    Enqueue { station: u8, category: u8, size: u16 },
    Next { category: u8 },
    Report { tries: u8, acknowledged: u64 },
    Pass { micros: u16 },
}

/// Whether each packet, by number, is settled: acknowledged or dropped.
#[derive(Default)]
struct Settlement {
    settled: Vec<bool>,
}

impl Settlement {
    fn settle(&mut self, packet: &PlainPacket) {
        assert!(!std::mem::replace(&mut self.settled[packet.number], true), "settled twice: {packet:?}");
    }

    fn settle_all(&mut self, dropped: &mut Vec<Dropped<PlainPacket>>) {
        dropped.drain(..).for_each(|dropped| self.settle(&dropped.packet));
    }
}

#[test]
fn careless_deciders_lose_nothing() {
    bolero::check!().with_type::<(u64, Vec<Op>)>().for_each(|(seed, ops)| {
        let whim = |part: u64| Careless(Whim((seed ^ part) | 1));
        let queue = AnyQueue::Custom(Box::new(CustomQueue::new(Box::new(whim(0x5eed)))));
        let rate = CustomRate::new(Box::new(whim(0xfade)), &Capabilities::default()).expect("valid");
        let rate = AnyRate::Custom(Box::new(rate));
        let mut link: Composed<_, _, AnyQueue<PlainPacket>, _> =
            Composed::new(queue, None, rate, LinkConfig::default());
        let mut now = Instant::ZERO;
        let mut settlement = Settlement::default();
        let mut held = Vec::new();
        let mut dropped = Vec::new();
        for op in ops {
            match *op {
                Op::Enqueue { station, category, size } => {
                    let packet = PlainPacket {
                        number: settlement.settled.len(),
                        category: Category::ALL[usize::from(category % 4)],
                        size: ByteCount::new(u64::from(size)),
                        ..PlainPacket::new(StationId(u16::from(station % 4)), FlowId(0))
                    };
                    settlement.settled.push(false);
                    link.enqueue(now, packet, &mut dropped);
                }
                Op::Next { category } => {
                    let category = Category::ALL[usize::from(category % 4)];
                    let room = Room { category, max_duration: Span::MAX };
                    held.extend(link.next(now, room, &mut dropped));
                }
                Op::Report { tries, acknowledged } if !held.is_empty() => {
                    let descriptor = held.remove(0);
                    let mut bitmap = AckBitmap::NONE;
                    for place in
                        (0..descriptor.mpdus.len()).filter(|place| acknowledged >> (place % 64) & 1 == 1)
                    {
                        bitmap.set(place);
                        settlement.settle(&descriptor.mpdus[place].packet);
                    }
                    let report = TxReport {
                        handed: now,
                        started: Some(now),
                        ended: now,
                        used: descriptor.chain.used(u32::from(tries)),
                        airtime: None,
                        acknowledged: bitmap,
                        boundaries_known: true,
                        descriptor,
                    };
                    let mut returned = Returned::default();
                    link.on_report(now, report, &mut returned);
                    held.extend(returned.retry_now);
                    returned.dropped.iter().for_each(|(mpdu, _)| settlement.settle(&mpdu.packet));
                }
                Op::Report { .. } => {}
                Op::Pass { micros } => now += Span::from_micros(u64::from(micros)),
            }
            settlement.settle_all(&mut dropped);
            let held: usize = held.iter().map(|descriptor| descriptor.mpdus.len()).sum();
            let open = settlement.settled.iter().filter(|settled| !**settled).count();
            assert_eq!(link.backlog().packets + held, open);
        }
    });
}

/// Takes the newest packet, and counts the mistakes reported to it.
#[derive(Debug, Default)]
struct Newest {
    waiting: Vec<u64>,
}

impl QueueDecider for Newest {
    fn enqueue(&mut self, _now: Instant, packet: &Waiting, _given_up: &mut GivenUp) {
        self.waiting.push(packet.number);
    }
    fn dequeue(
        &mut self,
        _now: Instant,
        _station: StationId,
        _category: Category,
        _given_up: &mut GivenUp,
    ) -> Option<u64> {
        self.waiting.pop()
    }
    fn on_mistake(&mut self, mistake: Mistake) {
        panic!("{mistake}");
    }
}

#[test]
fn a_decider_decides() {
    let mut queue = CustomQueue::new(Box::new(Newest::default()));
    for number in 0..3 {
        let packet = PlainPacket { number, ..PlainPacket::new(StationId(2), FlowId(0)) };
        queue.enqueue(Instant::ZERO, packet, &mut Vec::new());
    }
    assert_eq!(queue.next_station(Instant::ZERO, Category::Vo), None);
    assert_eq!(queue.next_station(Instant::ZERO, Category::Be), Some(StationId(2)));
    let mut take = || {
        let packet = queue.dequeue(Instant::ZERO, StationId(2), Category::Be, &mut Vec::new());
        packet.map(|packet| packet.number)
    };
    assert_eq!((take(), take(), take(), take()), (Some(2), Some(1), Some(0), None));
}

#[test]
fn a_wrong_chain_is_the_slowest_rate() {
    #[derive(Debug)]
    struct Legacies;
    impl RateDecider for Legacies {
        fn add_station(&mut self, _station: StationId, _rates: &[Rate]) {}
        fn chain(&mut self, _now: Instant, _station: StationId, _mpdus: u16) -> Vec<Attempt> {
            vec![Attempt { rate: Rate::legacy(Legacy::Mbps6), tries: 1 }]
        }
        fn on_report(&mut self, _now: Instant, _station: StationId, _report: &RateReport) {}
    }
    let capabilities = Capabilities::default();
    let lowest = capabilities.rate_set().expect("valid").lowest();
    let mut rate = CustomRate::new(Box::new(Legacies), &capabilities).expect("valid");
    assert_eq!(rate.chain(Instant::ZERO, StationId(1), 1), RateChain::single(lowest, 1));
    assert_eq!(rate.expected_rate(StationId(1)), lowest);
}
