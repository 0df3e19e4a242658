use super::super::test_packet::{Special, at_micros, packet};
use super::*;
use crate::frame::PlainPacket;
use crate::queue::FqCodelAirtime;

const STATION: StationId = StationId(1);

fn queue(text: &str) -> Airbound<PlainPacket> {
    Airbound::new(&toml::from_str(text).expect("readable")).expect("valid")
}

fn demand(millis: u64) -> Option<Demand> {
    Some(Demand::new(Span::from_millis(millis), 95.0).expect("valid"))
}

#[test]
fn a_demand_that_holds_each_second_is_stricter_on_average() {
    let config = AirboundConfig::default();
    let held = |percentile| {
        let asked = Demand::new(Span::from_millis(20), percentile).expect("valid");
        (config.held(&asked).expect("valid").percentile() * 100.0).round() / 100.0
    };
    // Wilson's lower bound of 0.05 and of 0.1, n = 50, z = 1.645: 0.0186 and 0.0495.
    assert_eq!([held(95.0), held(90.0), held(100.0)], [98.14, 95.05, 100.0]);
    let over_all = AirboundConfig { each_second: false, ..config };
    let asked = demand(20).expect("some");
    assert_eq!(over_all.held(&asked), Ok(asked));
}

#[test]
fn what_tolerates_loss_is_dropped_when_it_is_too_old() {
    let mut queue = queue("codel = false");
    queue.set(at_micros(0), FlowId(3), demand(20)).expect("long enough");
    queue.set(at_micros(0), FlowId(4), demand(60)).expect("long enough");
    let mut dropped = Vec::new();
    let video = packet(1, 2).of_category(Category::Vi);
    for one in [packet(1, 1), video, packet(1, 3), packet(1, 4)] {
        queue.enqueue(at_micros(0), one, &mut dropped);
    }
    let mut taken = Vec::new();
    for category in Category::ALL {
        while let Some(one) = queue.dequeue(at_micros(40_001), STATION, category, &mut dropped) {
            taken.push(one.flow.0);
        }
    }
    taken.sort_unstable();
    assert_eq!(taken, [1, 4], "the classic flow, and the one whose demand is longer");
    let lost: Vec<u32> = dropped.iter().map(|lost| lost.packet.flow.0).collect();
    assert!(lost.contains(&2) && lost.contains(&3) && lost.len() == 2, "{lost:?}");
    assert!(dropped.iter().all(|lost| lost.reason == DropReason::Expired));
    assert_eq!(queue.backlog().total().packets, 0);
}

#[test]
fn the_longest_classic_flow_of_a_station_pays_for_its_size() {
    let mut queue = queue("size = { subframes = 2, max-packets = 3 }");
    queue.set(at_micros(0), FlowId(9), demand(20)).expect("long enough");
    let mut dropped = Vec::new();
    for (station, flow) in [(1, 9), (1, 9), (1, 1), (1, 1), (1, 2), (2, 1), (1, 1), (1, 9), (1, 2), (1, 2)] {
        queue.enqueue(at_micros(1), packet(station, flow), &mut dropped);
    }
    // Three classic packets of station 1 have places; those of the protected flow and of station 2 do not count.
    let lost: Vec<u32> = dropped.iter().map(|lost| lost.packet.flow.0).collect();
    assert_eq!(lost, [1, 1, 2], "each time the flow with more packets, the first among equals");
    assert!(dropped.iter().all(|lost| lost.reason == DropReason::QueueFull));
    assert_eq!(queue.backlog().total().packets, 7);
}

#[test]
fn senders_are_left_what_law_and_the_demands_leave() {
    let config = AirboundConfig::default();
    // 3 ms less 0.5 ms; 1.5 ms with demands.
    assert_eq!(config.left(false), Some(Span::from_micros(2500)));
    assert_eq!(config.left(true), Some(Span::from_micros(1500)));
    let deaf = AirboundConfig { urgency: false, law: None, ..config.clone() };
    assert_eq!(deaf.left(true), None);
    assert_eq!(AirboundConfig { sense: false, ..config }.left(true), None);
}

#[test]
fn without_its_parts_it_is_linux() {
    let off = "urgency = false\ncodel = false\nsize = false\nlaw = false";
    let (mut one, mut other) = (queue(off), FqCodelAirtime::new(Default::default()).expect("valid"));
    let (mut lost, mut also_lost) = (Vec::new(), Vec::new());
    for step in 0..3000_u64 {
        let now = at_micros(step * 400);
        let arrived = packet((step % 3) as u16, (step % 7) as u32);
        one.enqueue(now, arrived.clone(), &mut lost);
        other.enqueue(now, arrived, &mut also_lost);
        if step % 4 == 0 {
            let turns = [one.select(now, Category::Be), Queue::select(&mut other, now, Category::Be)];
            let stations = turns.map(|turn| turn.map(|turn| turn.station));
            assert_eq!(stations[0], stations[1], "step {step}");
            let Some(station) = stations[0] else { continue };
            for _ in 0..3 {
                let taken = one.dequeue(now, station, Category::Be, &mut lost);
                assert_eq!(taken, other.dequeue(now, station, Category::Be, &mut also_lost));
            }
            let airtime = Span::from_micros(900);
            let fact =
                || Fact::Airtime { station, category: Category::Be, airtime, direction: Direction::Sent };
            one.on(now, fact());
            other.on(now, fact());
        }
    }
    assert_eq!(lost, also_lost);
}

#[test]
fn mistakes_are_refused_with_a_sentence() {
    let refused = |text: &str| {
        let config: AirboundConfig = toml::from_str(text).expect("readable");
        Airbound::<PlainPacket>::new(&config).expect_err("out of range").to_string()
    };
    assert_eq!(refused("law = { limit-q = \"0 ms\" }"), "law.limit-q is 0 ms; allowed is 1 ms to 10 s");
    assert_eq!(refused("law = { limit-h = \"2 s\" }"), "law.limit-h is 2 s; allowed is 100 us to 1 s");
    assert_eq!(refused("codel = { target = \"0 ms\" }"), "target is 0 ms; allowed is more than 0 ms");
    assert!(toml::from_str::<AirboundConfig>("urgent = true").is_err());
}
