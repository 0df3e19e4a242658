//! Calls in any order, and what they refuse.

use std::collections::BTreeMap;
use std::time::Duration;

use airbound_link::{Arrival, Direction, LARGEST, Link, LinkConfig, LinkError, Place, places};
use bolero::TypeGenerator;

const DAY: Duration = Duration::from_secs(86_400);

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Pushes a packet each way every 5 ms for a second and takes arrivals as often as `step` says.
fn second(config: &LinkConfig, step: u64) -> Vec<Arrival> {
    let mut link = Link::new(config).expect("a link");
    let mut arrived = Vec::new();
    for now in 0..1500 {
        if now < 1000 && now % 5 == 0 {
            link.push(millis(now), Direction::Down, [now as u8; 1200]).expect("taken");
            link.push(millis(now), Direction::Up, [now as u8; 200]).expect("taken");
        }
        if now % step == 0 {
            arrived.extend(link.take(millis(now)).expect("in order"));
        }
    }
    arrived.extend(link.take(millis(1500)).expect("in order"));
    arrived
}

#[test]
fn arrivals_depend_on_pushes_and_seed_only() {
    let config = |seed| LinkConfig::named("my-flat").expect("a place").seed(seed);
    let often = second(&config(1), 1);
    assert!(often.len() > 350, "{}", often.len());
    assert_eq!(often, second(&config(1), 400));
    assert_ne!(often, second(&config(2), 1));
    assert!(often.is_sorted_by_key(|arrival| arrival.at));
}

#[test]
fn a_caller_that_follows_the_events_misses_nothing() {
    let mut link = Link::named("home-quiet").expect("a place");
    assert_eq!(link.next_event(), None, "nothing is on its way");
    for number in 0..100u8 {
        link.push(millis(10), Direction::Up, [number]).expect("taken");
    }
    let mut arrived = Vec::new();
    while let Some(next) = link.next_event() {
        let taken = link.take(next).expect("in order");
        assert!(taken.iter().all(|arrival| arrival.at == next), "each at the time of its event");
        arrived.extend(taken);
    }
    let counts = link.counts(Direction::Up);
    assert_eq!((counts.pushed, counts.arrived, counts.lost), (100, 100, 0));
    assert!(arrived.iter().map(|arrival| arrival.bytes[0]).eq(0..100), "in order");
    assert!(
        arrived.iter().all(|arrival| arrival.sent == millis(10) && arrival.at >= millis(18)),
        "the wire's 8 ms"
    );
    assert_eq!(link.counts(Direction::Down).pushed, 0);
}

#[test]
fn a_fast_burst_loses_packets_and_counts_them() {
    let config = LinkConfig::named("headset-beside-downloads").expect("a place").scheme("fifo");
    let mut link = Link::new(&config).expect("a link");
    for _ in 0..5000 {
        link.push(Duration::ZERO, Direction::Down, [0; LARGEST]).expect("taken");
    }
    let arrived = link.take(Duration::from_secs(20)).expect("in order").len() as u64;
    let counts = link.counts(Direction::Down);
    assert_eq!((counts.pushed, counts.arrived), (5000, arrived));
    assert!(counts.lost > 1000 && counts.arrived + counts.lost == 5000, "{counts:?}");
}

#[test]
fn wrong_calls_have_one_error_each_and_no_effect() {
    let mut link = Link::named("home-quiet").expect("a place");
    link.push(millis(5), Direction::Down, [1]).expect("taken");
    let backwards = LinkError::TimeRunsBackwards { now: millis(4), was: millis(5) };
    assert_eq!(link.push(millis(4), Direction::Down, [2]), Err(backwards.clone()));
    assert_eq!(link.take(millis(4)), Err(backwards.clone()));
    assert_eq!(
        backwards.to_string(),
        "time runs backwards: 4ms after 5ms; allowed is the same time or a later one"
    );
    let large = LinkError::TooLarge { size: 1473, largest: 1472 };
    assert_eq!(link.push(millis(9), Direction::Down, [0; LARGEST + 1]), Err(large.clone()));
    assert_eq!(large.to_string(), "a packet of 1473 B is above the MTU; allowed are 1472 B of payload");
    let late = DAY + Duration::from_nanos(1);
    assert_eq!(link.take(late), Err(LinkError::TooLate { now: late, last: DAY }));
    assert_eq!(link.take(Duration::MAX), Err(LinkError::TooLate { now: Duration::MAX, last: DAY }));
    assert_eq!(link.take(millis(5)), Ok(Vec::new()), "time stands where it stood");
    assert_eq!(link.counts(Direction::Down).pushed, 1);
    assert_eq!(link.take(millis(100)).expect("in order").len(), 1);
}

#[test]
fn wrong_configurations_are_refused_in_a_sentence() {
    let refused = |result: Result<Link, LinkError>| result.expect_err("refused").to_string();
    assert_eq!(refused(Link::named("my-flt")), "no place is named \"my-flt\"; did you mean my-flat?");
    let all = refused(Link::named("\u{1b}[2J moon"));
    assert!(all.contains("places are home-quiet, ") && !all.contains('\u{1b}'), "{all}");
    let flat = || LinkConfig::named("my-flat").expect("a place");
    let scheme = refused(Link::new(&flat().scheme("codle")));
    assert!(
        scheme.starts_with("scheme \"codle\" names \"codle\"") && scheme.contains("did you mean codel?"),
        "{scheme}"
    );
    let none = refused(Link::new(&LinkConfig::of_scenario("duration = \"1 s\"", "phone")));
    assert!(none.contains("[[station]]"), "{none}");
    let one = "duration = \"1 s\"\n[[station]]\nname = \"phone\"\n";
    let station = refused(Link::new(&LinkConfig::of_scenario(one, "pho\"ne\n")));
    assert!(station.contains("scenario:") && station.contains("phone"), "{station}");
    let zero = refused(Link::new(&flat().scheme("last-pq").demand(Duration::ZERO)));
    assert!(zero.contains("demand"), "{zero}");
    assert!(Link::new(&LinkConfig::of_scenario(one, "phone")).is_ok());
}

#[test]
fn a_demand_is_met_by_a_scheme_that_takes_one() {
    let late = |config: LinkConfig| {
        let mut link = Link::new(&config.demand(millis(20))).expect("a link");
        // A stream of 45 Mb/s: 125 packets each 33 ms.
        for frame in 0..150 {
            for _ in 0..125 {
                link.push(millis(33 * frame), Direction::Down, [0; LARGEST]).expect("taken");
            }
        }
        let arrived = link.take(Duration::from_secs(7)).expect("in order");
        let late = arrived.iter().filter(|arrival| arrival.at - arrival.sent > millis(33)).count() as u64;
        late + link.counts(Direction::Down).lost
    };
    let place = || LinkConfig::named("headset-beside-downloads").expect("a place");
    let (linux, protected) = (late(place()), late(place().scheme("last-pq")));
    assert!(4 * protected < linux, "late of 18750: {protected} in LAST-PQ, {linux} in Linux");
}

#[derive(Debug, TypeGenerator)]
enum Call {
    Push { after_us: u16, is_up: bool, size: u16 },
    Take { after_us: u16 },
    Follow,
    Back { by_us: u16 },
}

/// Calls in any order: nothing panics, each packet arrives once, unchanged and not before it was sent, or is lost.
#[test]
fn any_order_of_calls_is_sound() {
    bolero::check!().with_type::<(u8, u8, Vec<Call>)>().with_iterations(100).for_each(
        |(place, seed, calls)| {
            let place = places()[usize::from(*place) % places().len()];
            let config = LinkConfig::named(place.name).expect("a place").seed(u64::from(*seed));
            let mut link = Link::new(&config).expect("a link");
            let (mut now, mut number) = (Duration::ZERO, 0u32);
            let mut sent = BTreeMap::new();
            let check = |taken: Vec<Arrival>, now: Duration, sent: &mut BTreeMap<u32, _>| {
                for arrival in taken {
                    let number = u32::from_be_bytes(arrival.bytes[..4].try_into().expect("four"));
                    let before = (arrival.direction, arrival.sent, arrival.bytes.len());
                    assert_eq!(sent.remove(&number), Some(before), "once, unchanged");
                    assert!(arrival.sent <= arrival.at && arrival.at <= now);
                }
            };
            for call in calls.iter().take(200) {
                match call {
                    Call::Push { after_us, is_up, size } => {
                        let at = now + Duration::from_micros(u64::from(*after_us));
                        let direction = if *is_up { Direction::Up } else { Direction::Down };
                        let mut bytes = vec![7; usize::from(size % 2048).max(4)];
                        bytes[..4].copy_from_slice(&number.to_be_bytes());
                        let size = bytes.len();
                        let result = link.push(at, direction, bytes);
                        assert_eq!(result.is_ok(), size <= LARGEST);
                        if result.is_ok() {
                            now = at;
                            sent.insert(number, (direction, at, size));
                            number += 1;
                        }
                    }
                    Call::Take { after_us } => {
                        now += Duration::from_micros(u64::from(*after_us));
                        check(link.take(now).expect("in order"), now, &mut sent);
                    }
                    Call::Follow => {
                        if let Some(next) = link.next_event() {
                            assert!(next >= now);
                            now = next;
                            check(link.take(now).expect("in order"), now, &mut sent);
                        }
                    }
                    Call::Back { by_us } => {
                        let before = now.saturating_sub(Duration::from_micros(u64::from(*by_us)));
                        assert_eq!(link.take(before).is_err(), before < now);
                        let _ = link.take(now).map(|taken| check(taken, now, &mut sent));
                    }
                }
            }
            check(link.take(now).expect("in order"), now, &mut sent);
            let on_its_way = [Direction::Down, Direction::Up].map(|direction| {
                let counts = link.counts(direction);
                counts.pushed - counts.arrived
            });
            assert_eq!(on_its_way.iter().sum::<u64>(), sent.len() as u64, "arrived, lost or on its way");
        },
    );
}

#[test]
fn places_have_names_and_words() {
    assert_eq!(places().len(), 10);
    for place in places() {
        assert_eq!(Place::named(place.name), Ok(*place));
        assert!(place.about.len() < 100 && !place.about.ends_with('.'), "{}", place.about);
    }
}
