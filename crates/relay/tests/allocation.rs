//! Shares of the air in virtual time, over an access point that aggregates.

use crate::world::share::{equal_airtime, measure};
use crate::world::{self, Air, Way, World};
use airbound_relay::protocol::{Event, Transmit};
use airbound_senders::allocation::{ReceiverId, Report};
use airbound_senders::stream::{Feedback, Sample};
use airbound_units::{ByteCount, Span};

fn over_air(phy: &[u64]) -> World {
    World::new(phy.len(), Way { air: Some(Air::new(phy)), ..Way::default() }, 3)
}

fn air(world: &mut World) -> &mut Air {
    world.way.air.as_mut().expect("there is air")
}

#[test]
fn one_station_is_held_at_the_level_without_loss() {
    let mut world = over_air(&[780]);
    world.stations[0].offered = 900;
    world.run(Span::from_secs(10));
    air(&mut world).longest = 0;
    let (_, levels) = measure(&mut world, Span::from_secs(5));
    assert!((25.0..=38.0).contains(&levels[0]), "level {levels:?}");
    assert!(air(&mut world).longest <= 96, "{} packets waited at the access point", air(&mut world).longest);
}

#[test]
fn forty_clients_have_equal_airtime() {
    equal_airtime(40, 30);
}

#[test]
fn without_reports_a_client_is_at_the_floor_within_a_second_and_back_within_two() {
    let mut world = over_air(&[780, 780]);
    for station in &mut world.stations {
        station.offered = 400;
    }
    world.run(Span::from_secs(10));
    let usual = world.row(0).rate;
    assert!(usual.as_mbps_f64() > 100.0, "{usual}");
    world.stations[0].mute = true;
    world.run(Span::from_secs(1));
    let floor = world.row(0).rate;
    assert!(floor.as_mbps_f64() <= 0.201, "{floor}");
    world.run(Span::from_secs(3));
    world.stations[0].mute = false;
    world.run(Span::from_secs(2));
    let back = world.row(0).rate;
    assert!(back.as_mbps_f64() >= 0.9 * usual.as_mbps_f64(), "{back} of {usual}");
}

#[test]
fn reports_that_lie_are_refused_and_change_no_rate_but_their_own() {
    let mut world = over_air(&[780, 780]);
    for station in &mut world.stations {
        station.offered = 400;
    }
    world.run(Span::from_secs(10));
    let before = (world.row(0).rate, world.row(1).rate);
    let honest = Report {
        number: 1 << 20,
        slot: Span::from_millis(100),
        frames: 1,
        packets: 10,
        transmissions: 10,
        payload: ByteCount::new(12_000),
        ..Report::default()
    };
    let lies = [
        // More packets a frame than any frame holds.
        Feedback {
            receiver: ReceiverId(0),
            report: Report { transmissions: 60_000, ..honest },
            absence: None,
            sample: Sample::default(),
            disturbed: false,
        },
        // More packets than were sent.
        Feedback {
            receiver: ReceiverId(0),
            report: Report { packets: 4_000_000_000, ..honest },
            absence: None,
            sample: Sample::default(),
            disturbed: false,
        },
        // Another client's.
        Feedback {
            receiver: ReceiverId(1),
            report: honest,
            absence: None,
            sample: Sample::default(),
            disturbed: false,
        },
        // Of a client that is not there.
        Feedback {
            receiver: ReceiverId(77),
            report: honest,
            absence: None,
            sample: Sample::default(),
            disturbed: false,
        },
    ];
    for lie in lies {
        let feedback = lie.encode(&[0; 16]);
        world.stations[0].client.tell(world.now, &feedback);
    }
    world.stations[0].client.tell(world.now, b"no report");
    world.run(Span::from_millis(500));
    assert_eq!((world.row(0).refused_reports, world.row(1).refused_reports), (5, 0));
    for (place, before) in [(0, before.0), (1, before.1)] {
        let ratio = world.row(place).rate.as_mbps_f64() / before.as_mbps_f64();
        assert!((0.8..1.25).contains(&ratio), "{place}: {ratio}");
    }
    assert!(world.joined(0) && world.joined(1));
    let reasons = world.edge_events.iter().filter(|event| matches!(event, Event::Rate { .. })).count();
    assert!(reasons >= 2);
    // Nobody else can tell the edge anything.
    let to = world.edge_address;
    world.send(world::address(9, 9), Transmit::now(to, lies[2].encode(&[0; 16]).to_vec()));
    world.run(Span::from_millis(100));
    assert_eq!(world.row(1).refused_reports, 0);
}
