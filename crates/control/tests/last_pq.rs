//! LAST-PQ's scheduler: order, charging, and the effect on other flows.

use airbound_control::frame::RateChain;
use airbound_control::frame::{DropReason, Dropped, FlowId, PlainPacket, StationId};
use airbound_control::frame::{Mpdu, TxDescriptor, TxReport};
use airbound_control::queue::{
    AggregateBound, Choice, Demand, Demands, Direction, Eligibility, Fact, LastPq, LastPqConfig, Portion,
    Queue,
};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;
use airbound_wifi::rate::{GuardInterval, Rate, Width};

use crate::queue_calls::Calls as _;

const BE: Category = Category::Be;
const PHONE: StationId = StationId(1);
const LAPTOP: StationId = StationId(2);
const VR: FlowId = FlowId(10);
const BULK: FlowId = FlowId(11);
const OTHER: FlowId = FlowId(20);

fn millis(millis: u64) -> Span {
    Span::from_millis(millis)
}

fn demand(latency: u64) -> Option<Demand> {
    Some(Demand::new(millis(latency), 95.0).expect("valid"))
}

/// A queue with a clock.
struct Desk {
    queue: LastPq<PlainPacket>,
    now: Instant,
    dropped: Vec<Dropped<PlainPacket>>,
}

impl Desk {
    fn new(config: LastPqConfig) -> Self {
        let queue = LastPq::new(config).expect("valid");
        Self { queue, now: Instant::ZERO + Span::from_secs(1), dropped: Vec::new() }
    }

    /// Without an airtime queue limit, as on ath9k.
    fn ath9k() -> LastPqConfig {
        let mut config = LastPqConfig::paper();
        config.linux.airtime_queue_limit = None;
        config
    }

    fn demand(&mut self, flow: FlowId, latency: u64) {
        self.queue.set(self.now, flow, demand(latency)).expect("long enough");
    }

    fn send(&mut self, station: StationId, flow: FlowId, packets: usize) {
        for number in 0..packets {
            let packet = PlainPacket { number, ..PlainPacket::new(station, flow) };
            self.queue.enqueue(self.now, packet, &mut self.dropped);
        }
    }

    /// Serves up to `most` packets of the next station; returns the station and the flows of the packets.
    fn serve(&mut self, most: usize) -> Option<(StationId, Vec<FlowId>)> {
        let station = self.queue.next_station(self.now, BE)?;
        let packets = (0..most).map_while(|_| self.queue.dequeue(self.now, station, BE, &mut self.dropped));
        Some((station, packets.map(|packet| packet.flow).collect()))
    }

    fn next(&mut self) -> Option<StationId> {
        self.queue.next_station(self.now, BE)
    }

    fn charge(&mut self, station: StationId, airtime: Span) {
        self.queue.on_airtime(self.now, station, BE, airtime, Direction::Sent);
    }

    /// Hands a frame of one packet to the hardware, and reports whether it was acknowledged.
    fn transmit(&mut self, packet: PlainPacket, retries: u8, took: Span, acknowledged: bool) {
        let size = packet.size;
        let mpdu = Mpdu { retries, ..Mpdu::new(packet, size, 7, self.now) };
        let descriptor = TxDescriptor {
            station: mpdu.packet.station,
            category: mpdu.packet.category,
            alternate: false,
            psdu: mpdu.size,
            mpdus: vec![mpdu],
            aggregated: false,
            chain: RateChain::single(Rate::ht(7, Width::Mhz20, GuardInterval::Ns800).expect("exists"), 1),
            give_up_after: None,
            give_up_at: None,
        };
        self.queue.on_granted(self.now, &descriptor);
        let handed = self.now;
        self.now += took;
        let report = TxReport {
            used: descriptor.chain,
            handed,
            started: Some(handed),
            ended: self.now,
            airtime: Some(took),
            acknowledged: AckBitmap::first(usize::from(acknowledged)),
            boundaries_known: true,
            descriptor,
        };
        self.queue.on_report(self.now, &report);
    }
}

#[test]
fn an_urgent_flow_goes_before_all_others_and_others_keep_their_order() {
    let mut desk = Desk::new(Desk::ath9k());
    desk.demand(VR, 20);
    desk.send(LAPTOP, OTHER, 40);
    desk.send(PHONE, BULK, 40);
    desk.send(PHONE, VR, 40);
    // Nothing has waited yet, and only 1 ms of guard lies below: the laptop came first.
    assert_eq!(desk.serve(2), Some((LAPTOP, vec![OTHER; 2])));
    desk.now += millis(19);
    assert_eq!(desk.next(), Some(LAPTOP), "19 ms and 1 ms are what is permitted, no more");
    desk.now += Span::from_nanos(1);
    // The whole aggregate belongs to the urgent flow, though its later packets are no older than the laptop's.
    assert_eq!(desk.serve(32), Some((PHONE, vec![VR; 32])));
    assert_eq!(desk.serve(32), Some((PHONE, vec![VR; 8])), "and no other flow's packets join it");
    assert_eq!(desk.serve(4), Some((LAPTOP, vec![OTHER; 4])), "it kept its turn");
    let protection = desk.queue.protection(VR).expect("has a demand");
    assert_eq!((protection.packets, protection.urgent), (40, 40));
    assert_eq!(desk.queue.protection(BULK), None);
}

#[test]
fn an_urgent_aggregate_can_be_filled_up() {
    let mut desk = Desk::new(LastPqConfig { fill: 3, ..Desk::ath9k() });
    desk.demand(VR, 20);
    desk.send(PHONE, BULK, 5);
    desk.send(PHONE, VR, 2);
    desk.now += millis(30);
    assert_eq!(desk.serve(32), Some((PHONE, vec![VR, VR, BULK, BULK, BULK])), "three ride along");
    assert_eq!(desk.queue.protection(VR).map(|vr| vr.urgent), Some(2));
}

#[test]
fn a_flow_that_is_not_urgent_is_served_in_its_default_turn() {
    let mut desk = Desk::new(Desk::ath9k());
    desk.demand(VR, 20);
    desk.send(PHONE, VR, 2);
    desk.send(PHONE, BULK, 2);
    assert_eq!(desk.serve(4), Some((PHONE, vec![VR, BULK, VR, BULK])));
    let protection = desk.queue.protection(VR).expect("has a demand");
    assert_eq!((protection.packets, protection.urgent), (2, 0));
}

/// Serves the phone's VR flow as urgent 20 times, with 1 ms of airtime each, then sends 20 new packets of it.
fn indebted(config: LastPqConfig) -> Desk {
    let mut desk = Desk::new(config);
    desk.demand(VR, 20);
    desk.send(PHONE, BULK, 100);
    desk.send(LAPTOP, OTHER, 100);
    desk.send(PHONE, VR, 20);
    desk.now += millis(30);
    for _ in 0..20 {
        assert_eq!(desk.serve(1), Some((PHONE, vec![VR])));
        desk.charge(PHONE, millis(1));
    }
    desk.send(PHONE, VR, 20);
    desk
}

/// Serves the laptop in turns of 1 ms as long as it precedes the phone; returns their number.
fn turns_of_the_laptop(desk: &mut Desk) -> usize {
    let mut turns = 0;
    while desk.next() == Some(LAPTOP) {
        assert_eq!(desk.serve(1), Some((LAPTOP, vec![OTHER])));
        desk.charge(LAPTOP, millis(1));
        turns += 1;
    }
    turns
}

#[test]
fn urgent_packets_are_charged() {
    let mut desk = indebted(Desk::ath9k());
    let turns = turns_of_the_laptop(&mut desk);
    assert!((18..=22).contains(&turns), "{turns}: it catches up with 20 ms");
    // The phone's other flow catches up with 20 packets, too.
    let (_, flows) = desk.serve(25).expect("both wait");
    assert!(flows.iter().take(18).all(|flow| *flow == BULK) && flows.contains(&VR), "{flows:?}");
}

#[test]
fn the_debt_of_a_station_may_be_bounded() {
    let mut desk = indebted(LastPqConfig { most_debt: Some(millis(4)), ..Desk::ath9k() });
    let turns = turns_of_the_laptop(&mut desk);
    assert!((3..=6).contains(&turns), "{turns}");
}

#[test]
fn removing_a_demand_clears_the_deficit() {
    let mut desk = indebted(Desk::ath9k());
    desk.queue.set(desk.now, VR, None).expect("a removal");
    assert!(turns_of_the_laptop(&mut desk) <= 1);
    let (_, flows) = desk.serve(4).expect("both wait");
    assert!(flows.contains(&VR), "{flows:?}");
    // While another flow of the station is protected, the station keeps its debt.
    let mut desk = indebted(Desk::ath9k());
    desk.demand(BULK, 1000);
    desk.send(PHONE, BULK, 1);
    desk.queue.set(desk.now, VR, None).expect("a removal");
    assert!(turns_of_the_laptop(&mut desk) > 15);
}

#[test]
fn among_urgent_stations_the_greatest_deficit_goes_first_then_the_longest_wait() {
    let mut desk = Desk::new(Desk::ath9k());
    desk.demand(VR, 20);
    desk.demand(OTHER, 20);
    desk.send(PHONE, VR, 3);
    desk.now += millis(1);
    desk.send(LAPTOP, OTHER, 3);
    desk.now += millis(30);
    assert_eq!(desk.next(), Some(PHONE), "equal deficits: it waits longer");
    desk.charge(PHONE, Span::from_micros(10));
    assert_eq!(desk.next(), Some(LAPTOP));
    desk.charge(LAPTOP, Span::from_micros(20));
    assert_eq!(desk.next(), Some(PHONE));
}

#[test]
fn among_urgent_flows_of_a_station_the_greatest_deficit_goes_first() {
    let mut desk = Desk::new(Desk::ath9k());
    desk.demand(VR, 20);
    desk.demand(BULK, 30);
    desk.send(PHONE, BULK, 3);
    desk.now += millis(1);
    desk.send(PHONE, VR, 3);
    desk.now += millis(40);
    // Equal deficits of one quantum: the longest wait first; then in turns, since each packet is charged.
    assert_eq!(desk.serve(4), Some((PHONE, vec![BULK, VR, BULK, VR])));
}

#[test]
fn the_least_slack_may_decide_instead() {
    let mut desk = Desk::new(LastPqConfig { choice: Choice::Slack, ..Desk::ath9k() });
    desk.demand(VR, 20);
    desk.demand(OTHER, 30);
    desk.send(LAPTOP, OTHER, 3);
    desk.now += millis(5);
    desk.send(PHONE, VR, 3);
    desk.charge(PHONE, millis(5));
    // 36 of 30 ms and 31 of 20 ms with the guard: 6 and 11 ms too late.
    desk.now += millis(30);
    assert_eq!(desk.next(), Some(PHONE));
    let mut desk = Desk::new(Desk::ath9k());
    desk.demand(VR, 20);
    desk.demand(OTHER, 30);
    desk.send(LAPTOP, OTHER, 3);
    desk.send(PHONE, VR, 3);
    desk.charge(PHONE, millis(5));
    desk.now += millis(40);
    assert_eq!(desk.next(), Some(LAPTOP), "the deficit, which is the paper's choice");
}

#[test]
fn the_mark_of_the_newest_packet_governs() {
    let mut desk = Desk::new(Desk::ath9k());
    desk.demand(VR, 40);
    desk.send(LAPTOP, OTHER, 4);
    desk.send(PHONE, VR, 1);
    desk.now += millis(15);
    desk.demand(VR, 10);
    assert_eq!(desk.next(), Some(LAPTOP), "marked with 40 ms");
    desk.send(PHONE, VR, 1);
    assert_eq!(desk.next(), Some(PHONE), "the flow is marked with 10 ms now");
}

#[test]
fn a_removed_demand_protects_no_more() {
    let mut desk = Desk::new(Desk::ath9k());
    desk.demand(VR, 10);
    desk.send(LAPTOP, OTHER, 4);
    desk.send(PHONE, VR, 4);
    desk.now += millis(15);
    assert_eq!(desk.next(), Some(PHONE));
    desk.queue.set(desk.now, VR, None).expect("a removal");
    assert_eq!(desk.next(), Some(LAPTOP));
    assert_eq!(desk.queue.protection(VR), None);
}

#[test]
fn the_drain_of_the_hardware_counts() {
    let mut desk = Desk::new(Desk::ath9k());
    desk.demand(VR, 20);
    desk.send(LAPTOP, OTHER, 4);
    desk.send(PHONE, VR, 4);
    // A frame took 8 ms in an empty hardware, nearly all of it contention.
    desk.transmit(PlainPacket::new(LAPTOP, OTHER), 0, millis(8), true);
    assert_eq!(desk.next(), Some(LAPTOP), "8 ms waited, 8 of contention, 1 of guard");
    desk.now += millis(4);
    assert_eq!(desk.next(), Some(PHONE));
}

#[test]
fn a_packet_that_came_back_counts_as_waiting() {
    let mut desk = Desk::new(Desk::ath9k());
    desk.demand(VR, 20);
    desk.send(LAPTOP, OTHER, 4);
    let sent = PlainPacket { enqueued: desk.now, ..PlainPacket::new(PHONE, VR) };
    desk.transmit(sent.clone(), 0, millis(10), false);
    desk.queue.set_eligibility(desk.now, PHONE, BE, Eligibility::Retries { since: sent.enqueued });
    assert_eq!(desk.next(), Some(LAPTOP));
    desk.now += millis(12);
    assert_eq!(desk.next(), Some(PHONE), "22 ms old");
    // It is retransmitted, and arrives.
    desk.transmit(sent, 1, Span::from_micros(300), true);
    desk.queue.set_eligibility(desk.now, PHONE, BE, Eligibility::Fresh);
    assert_eq!(desk.next(), Some(LAPTOP));
}

#[test]
fn an_ineligible_station_is_not_urgent() {
    let mut desk = Desk::new(LastPqConfig::default());
    desk.demand(VR, 20);
    desk.send(LAPTOP, OTHER, 4);
    desk.send(PHONE, VR, 4);
    desk.now += millis(30);
    desk.queue.set_eligibility(desk.now, PHONE, BE, Eligibility::Blocked);
    assert_eq!(desk.next(), Some(LAPTOP));
    desk.queue.set_eligibility(desk.now, PHONE, BE, Eligibility::Fresh);
    assert_eq!(desk.next(), Some(PHONE));
    // Over the airtime queue limit, which applies to it as to all stations.
    desk.queue.on_handed(desk.now, PHONE, BE, millis(13));
    assert_eq!(desk.next(), Some(LAPTOP));
}

#[test]
fn codel_watches_over_prioritised_flows_too() {
    let mut desk = Desk::new(Desk::ath9k());
    desk.demand(VR, 20);
    for _ in 0..200 {
        desk.send(PHONE, VR, 2);
        desk.now += millis(2);
        let _ = desk.serve(1);
    }
    assert!(desk.dropped.iter().any(|drop| drop.packet.flow == VR && drop.reason == DropReason::Congestion));
}

#[test]
fn aggregates_of_others_are_short_while_a_prioritised_flow_is_active() {
    let mut desk = Desk::new(Desk::ath9k());
    let bound =
        |desk: &Desk, station, category| desk.queue.aggregate_bound(desk.now, station, category).duration;
    desk.demand(VR, 20);
    desk.send(LAPTOP, OTHER, 4);
    assert_eq!(bound(&desk, LAPTOP, BE), Span::MAX, "it has sent nothing");
    desk.send(PHONE, VR, 4);
    assert_eq!(bound(&desk, LAPTOP, BE), millis(5), "a quarter of 20 ms");
    assert_eq!(bound(&desk, LAPTOP, Category::Vi), millis(5), "whatever the category");
    assert_eq!(bound(&desk, PHONE, BE), Span::MAX, "nothing but the prioritised flow waits there");
    desk.send(PHONE, BULK, 1);
    assert_eq!(bound(&desk, PHONE, BE), millis(5));
    desk.now += millis(30);
    assert_eq!(desk.next(), Some(PHONE));
    assert_eq!(desk.queue.aggregate_bound(desk.now, PHONE, BE), AggregateBound::NONE, "it is urgent");
    // Silent for more than five windows, it bounds no aggregate any more.
    desk.now += millis(71);
    assert_eq!(bound(&desk, LAPTOP, BE), Span::MAX);
}

#[test]
fn the_bound_follows_the_permitted_latency_and_has_a_floor() {
    let config = LastPqConfig { least_aggregate: millis(2), ..Desk::ath9k() };
    let mut desk = Desk::new(config);
    desk.demand(VR, 20);
    let bound = |desk: &Desk| desk.queue.aggregate_bound(desk.now, LAPTOP, BE).duration;
    desk.send(PHONE, VR, 1);
    assert_eq!(bound(&desk), millis(5));
    assert!(desk.serve(1).is_some());
    // 30 ms under a demand of 20: one step down to 14 ms; then to 9.8, 6.86 ...
    let late = |desk: &Desk| PlainPacket { enqueued: desk.now, ..PlainPacket::new(PHONE, VR) };
    let packet = late(&desk);
    desk.transmit(packet, 0, millis(30), true);
    let packet = late(&desk);
    desk.transmit(packet, 0, millis(30), true);
    assert_eq!(bound(&desk), Span::from_micros(3500));
    for _ in 0..8 {
        let packet = late(&desk);
        desk.transmit(packet, 0, millis(30), true);
    }
    assert_eq!(desk.queue.protection(VR).map(|vr| vr.permitted), Some(millis(1)));
    assert_eq!(bound(&desk), millis(2), "not below the floor");
}

#[test]
fn a_flow_may_be_protected_in_any_category() {
    for category in Category::ALL {
        let mut desk = Desk::new(Desk::ath9k());
        desk.demand(VR, 20);
        for (station, flow) in [(LAPTOP, OTHER), (PHONE, VR)] {
            let packet = PlainPacket { category, ..PlainPacket::new(station, flow) };
            desk.queue.enqueue(desk.now, packet, &mut desk.dropped);
        }
        assert_eq!(desk.queue.next_station(desk.now, category), Some(LAPTOP));
        desk.now += millis(20);
        assert_eq!(desk.queue.next_station(desk.now, category), Some(PHONE), "{category:?}");
    }
}

#[test]
fn percentiles_may_differ() {
    let mut desk = Desk::new(Desk::ath9k());
    let median = Demand::new(millis(20), 50.0).expect("valid");
    desk.demand(VR, 20);
    desk.queue.set(desk.now, BULK, Some(median)).expect("valid");
    // Of 20 packets each, two are late: the median does not change, the 95th percentile does.
    let begin = desk.now;
    for number in 0..20u64 {
        for flow in [VR, BULK] {
            let latency = if number < 2 { millis(60) } else { millis(2) };
            let enqueued = begin - latency;
            let packet = PlainPacket { enqueued, ..PlainPacket::new(PHONE, flow) };
            desk.transmit(packet, 0, Span::ZERO, true);
        }
    }
    desk.now += millis(20);
    desk.send(PHONE, VR, 1);
    let permitted = |flow| desk.queue.protection(flow).map(|protection| protection.permitted);
    assert_eq!(permitted(VR), Some(millis(14)));
    assert_eq!(permitted(BULK), Some(millis(20)), "as long as its demand allows");
}

#[test]
fn a_demand_too_short_is_refused_and_changes_nothing() {
    let mut desk = Desk::new(Desk::ath9k());
    desk.demand(VR, 20);
    let refused = desk.queue.set(desk.now, VR, demand(1)).expect_err("below 2 ms").to_string();
    assert!(refused.starts_with("demand.latency is 1 ms; allowed is at least"), "{refused}");
    assert_eq!(desk.queue.protection(VR).map(|vr| vr.demand), demand(20));
}

#[test]
fn below_another_queue_all_that_was_handed_down_counts() {
    let mut desk = Desk::new(Desk::ath9k());
    desk.queue.on(desk.now, Fact::LowerQueue { bounded: true });
    desk.demand(VR, 20);
    desk.send(LAPTOP, OTHER, 4);
    desk.send(PHONE, VR, 4);
    desk.now += millis(5);
    assert!(desk.queue.select(desk.now, BE).is_some_and(|turn| turn.counts_airtime));
    desk.queue.on_handed(desk.now, LAPTOP, BE, millis(15));
    assert_eq!(desk.next(), Some(PHONE), "5 ms waited, 15 below, 1 of guard");
    desk.queue.on_returned(desk.now, LAPTOP, BE, millis(3));
    assert_eq!(desk.next(), Some(LAPTOP));
    let size = ByteCount::new(1500);
    assert_eq!(desk.queue.backlog().total().bytes, size * 8);
}

#[test]
fn less_than_one_short_aggregate_may_be_below_when_the_next_is_handed_down() {
    let mut desk = Desk::new(LastPqConfig { least_aggregate: millis(2), ..Desk::ath9k() });
    desk.queue.on(desk.now, Fact::LowerQueue { bounded: false });
    desk.send(LAPTOP, OTHER, 4);
    let turn =
        |desk: &mut Desk| desk.queue.select(desk.now, BE).map(|turn| (turn.portion, turn.bound.duration));
    desk.queue.on_handed(desk.now, LAPTOP, BE, millis(30));
    assert_eq!(turn(&mut desk), Some((Portion::All, Span::MAX)), "nothing is protected");
    desk.queue.on_returned(desk.now, LAPTOP, BE, millis(30));
    desk.demand(VR, 20);
    desk.send(PHONE, VR, 1);
    // A quarter of 20 ms.
    assert_eq!(turn(&mut desk), Some((Portion::Aggregate, millis(5))));
    for (handed, is_served) in [(4, true), (1, false), (10, false)] {
        desk.queue.on_handed(desk.now, LAPTOP, BE, millis(handed));
        assert_eq!(turn(&mut desk).is_some(), is_served, "{handed} ms more");
    }
    // Urgent packets wait as well: there is nothing that they could overtake below.
    desk.now += millis(40);
    assert_eq!(turn(&mut desk), None);
    let unbounded = LastPqConfig { bound_below: false, ..Desk::ath9k() };
    let mut desk = Desk::new(unbounded);
    desk.queue.on(desk.now, Fact::LowerQueue { bounded: false });
    desk.demand(VR, 20);
    desk.send(PHONE, VR, 1);
    desk.queue.on_handed(desk.now, LAPTOP, BE, millis(30));
    assert_eq!(turn(&mut desk), Some((Portion::Packet, Span::MAX)));
}
