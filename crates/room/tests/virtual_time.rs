//! str0m at both ends in virtual time: media flow, holds are obeyed, a narrow link punishes nobody else, faults stay where they are.

use std::time::Duration;

use airbound_room::synthetic::Equipment;
use airbound_senders::conference::room::{RoomConfig, RoomPolicy};

use crate::world::{Clock, World};

const WIDE: f64 = 20e6;

fn config(policy: RoomPolicy) -> RoomConfig {
    RoomConfig { policy, rho: 0.0, ..RoomConfig::default() }
}

#[test]
fn all_see_all_with_reasons() {
    let mut world = World::new(config(RoomPolicy::Plain));
    (0..4).for_each(|_| world.add(1e6, WIDE, 5));
    world.run_until(15.0);
    for guest in &world.guests {
        let counts = guest.synthetic.counts();
        assert!(guest.synthetic.is_connected() && counts.reasons > 0, "{counts:?}");
        let view = guest.synthetic.view().expect("a view");
        let views = view["own"]["views"].as_array().expect("views");
        assert_eq!(views.len(), 3);
        for one in views {
            assert!(one["layer"].is_u64() && one["why"].as_str().is_some_and(|why| !why.is_empty()), "{one}");
        }
    }
}

/// The time until one who joins four others is given the best of all, s; its program wakes so rarely in its first half second.
fn all_at_best(naps: Duration) -> f64 {
    let mut world = World::new(config(RoomPolicy::Plain));
    (0..4).for_each(|_| world.add(1e6, WIDE, 5));
    world.run_until(15.0);
    world.add(1e5, WIDE, 4);
    world.guests[4].naps = naps;
    world.run_until(15.5);
    world.guests[4].naps = Duration::ZERO;
    let best = |world: &World| {
        let state = world.session.state();
        let views = state["members"][4]["views"].as_array().cloned().unwrap_or_default();
        views.len() == 4 && views.iter().all(|view| view["layer"] == 2)
    };
    let seconds = |world: &World| (world.now - world.start).as_secs_f64() - 15.0;
    while !best(&world) && seconds(&world) < 40.0 {
        world.run_until(seconds(&world) + 15.2);
    }
    seconds(&world)
}

#[test]
fn one_whose_first_probe_met_other_work_has_the_best_of_all_soon() {
    let times = [20, 50, 100, 200].map(|naps| all_at_best(Duration::from_millis(naps)));
    // They were 7.3, 20.7, 7.5 and 7.7 s.
    assert!(times.iter().all(|time| *time < 7.0), "{times:?}");
}

/// Times from a join to the first packet of a picture, of eleven who join some time after the one before has its own.
fn first_pictures(apart: f64) -> Vec<Duration> {
    let mut world = World::new(config(RoomPolicy::Plain));
    let run_for = |world: &mut World, time| world.run_until((world.now - world.start).as_secs_f64() + time);
    world.add(1e6, WIDE, 1);
    run_for(&mut world, 5.0);
    let first = |number: usize| {
        run_for(&mut world, apart);
        let joined = world.now;
        world.add(1e5, WIDE, 1);
        while world.guests[number].synthetic.counts().packets == 0 {
            run_for(&mut world, 0.005);
            assert!(world.now - joined < Duration::from_secs(2), "guest {number}");
        }
        world.now - joined
    };
    (1..12).map(first).collect()
}

#[test]
fn the_first_picture_of_one_who_joins_waits_for_no_interval() {
    // One joins while the key frame of another has just been asked for. They waited for 400 ms and more: for two key frames of the interval's,
    // and for a tick of 200 ms.
    let soon = first_pictures(0.0);
    assert!(soon.iter().all(|time| *time < Duration::from_millis(340)), "{soon:?}");
    // Without one before, 10 ms each way: up to a tick longer, where the sections of the offer were told after the handshake's end.
    let alone = first_pictures(1.037);
    assert!(alone.iter().all(|time| *time < Duration::from_millis(150)), "{alone:?}");
}

#[test]
fn the_best_layer_is_reached_where_links_are_wide() {
    let mut world = World::new(config(RoomPolicy::Plain));
    (0..3).for_each(|_| world.add(1e6, WIDE, 3));
    world.run_until(30.0);
    let received = world.received_until(40.0);
    // The largest of three layers has 68 % of a camera's 1 Mb/s.
    assert!(received.iter().all(|rate| *rate > 2.0 * 0.68e6 * 0.85), "{received:?}");
}

#[test]
fn a_narrow_half_duplex_link_sends_what_its_camera_has() {
    let sent = |policy, apart: f64| {
        let mut world = World::new(config(policy));
        world.add(1.5e6, 2.0e6, 4);
        for number in 1..4_u32 {
            world.run_until(apart * f64::from(number));
            world.add(1.5e6, WIDE, 4);
        }
        world.run_until(25.0);
        let before = world.guests[0].synthetic.counts().sent;
        world.run_until(50.0);
        (world.guests[0].synthetic.counts().sent - before) as f64 * 8.0 / 25.0
    };
    // It was 1.45 to 1.48 Mb/s. With a camera whose largest layer began at 70 % of its share the phase decided between 1.5 and 0.48.
    let mut rates = Vec::new();
    for policy in [RoomPolicy::Plain, RoomPolicy::LayerSuspension] {
        for apart in [0.0, 0.11, 0.37] {
            rates.push((sent(policy, apart), policy, apart));
        }
    }
    // Keys and the phase of the wall clock are of chance: one start in some hundred stays at the smaller layers.
    rates.sort_by(|one, other| one.0.total_cmp(&other.0));
    assert!(rates[1].0 > 1.2e6, "two of six starts send less than 1.2 of 1.5 Mb/s: {rates:?}");
}

#[test]
fn own_pictures_give_way_to_the_sound_of_others() {
    let equipment = Equipment { camera: 0.8e6, slots: 4, ears: 4, channel: true };
    let part = || {
        let mut world = World::new(config(RoomPolicy::Plain));
        for number in 0..4 {
            // Half-duplex: the sound of four takes 0.24 Mb/s, and two layers of its own pictures as much as is left.
            let rate = if number == 0 { 0.5e6 } else { WIDE };
            world.seat(equipment, rate, Clock { ahead: Duration::ZERO, speed: 1.0 });
        }
        world.run_until(25.0);
        let counts = |world: &World, guest: usize| world.guests[guest].synthetic.counts();
        let spoken = |world: &World| (1..4).map(|guest| counts(world, guest).spoken).sum::<u64>();
        let before = (spoken(&world), counts(&world, 0));
        world.run_until(45.0);
        let heard = counts(&world, 0).heard - before.1.heard;
        let part = heard as f64 / (spoken(&world) - before.0) as f64;
        (part, counts(&world, 0).notices, counts(&world, 0).sent - before.1.sent)
    };
    // Keys and the phase of the wall clock are of chance: in one start of sixteen no estimate falls, and 0.65 of the sound arrives.
    let mut starts = [part(), part(), part()];
    starts.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (heard, notices, sent) = starts[2];
    // It was 0.55 to 0.59 in each.
    assert!(heard > 0.95 && notices > 0 && sent > 0, "{starts:?}: sound, notices, own bytes");
}

#[test]
fn a_link_that_collapses_punishes_nobody_else_and_recovers() {
    let mut world = World::new(config(RoomPolicy::LayerSuspension));
    (0..4).for_each(|_| world.add(1e6, WIDE, 4));
    world.run_until(25.0);
    let whole = world.received_until(30.0)[0];
    // What the others send to each other: the one on the bad link sends less itself.
    let among = |world: &World| -> Vec<f64> {
        let rate = |viewer: usize| {
            let views = world.guests[viewer].synthetic.view().expect("a view")["own"]["views"].clone();
            let views = views.as_array().expect("views").clone();
            let others = views.iter().filter(|one| one["from"] != world.guests[0].id);
            others.map(|one| one["rate"].as_f64().unwrap_or(0.0)).sum::<f64>()
        };
        (1..4).map(rate).collect()
    };
    let before = among(&world);
    world.guests[0].link.set_rate(300e3);
    world.run_until(45.0);
    let during = among(&world);
    for (before, during) in before.iter().zip(&during) {
        assert!(*during > before * 0.95, "{before} then {during}");
    }
    world.guests[0].link.set_rate(WIDE);
    // It took 4 to 10.5 s; now 2 to 6.
    world.run_until(53.0);
    let again = world.received_until(56.0)[0];
    assert!(again > whole * 0.9, "{again} after {whole}");
}

#[test]
fn a_link_that_became_narrow_soon_gets_less() {
    /// A step of the measurement, and the longest time, seconds.
    const STEP: f64 = 0.05;
    const LONGEST: f64 = 8.0;
    let narrow = 0.6e6;
    let time = |begins: f64| {
        let mut world = World::new(config(RoomPolicy::Plain));
        (0..3).for_each(|_| world.add(1e6, WIDE, 3));
        world.run_until(begins);
        world.guests[0].link.set_rate(narrow);
        let fits = |world: &World| {
            let state = world.session.state();
            let views = state["members"][0]["views"].as_array().expect("views").clone();
            views.iter().map(|view| view["rate"].as_f64().unwrap_or(0.0)).sum::<f64>() < narrow
        };
        let mut passed = 0.0;
        while passed < LONGEST && !fits(&world) {
            passed += STEP;
            world.run_until(begins + passed);
        }
        passed
    };
    let mut times: Vec<f64> = [0.0, 0.7, 1.4, 2.1, 2.8].map(|phase| time(25.0 + phase)).to_vec();
    times.sort_by(f64::total_cmp);
    // By the mean of three seconds that str0m's events have, the last of five took 3.5 to 5.4 s; now 1.9 to 2.3.
    assert!(times[4] < 3.0, "{times:?}");
}

#[test]
fn losses_an_absence_and_lies_stay_with_their_participant() {
    let mut world = World::new(config(RoomPolicy::LayerSuspension));
    (0..4).for_each(|_| world.add(0.8e6, WIDE, 4));
    world.run_until(15.0);
    world.guests[0].loses = 20;
    for step in 0..20 {
        for lie in [
            r#"{"t":"up","estimate":1e300}"#,
            r#"{"t":"up","estimate":-5}"#,
            r#"{"t":"up","estimate":null}"#,
            r#"{"t":"views","views":[{"from":1,"largest":200,"priority":9},{"from":999,"largest":2}]}"#,
            r#"{"t":"ack","sequence":4294967295}"#,
            "{",
            "\u{0}",
        ] {
            world.guests[1].synthetic.say(lie);
        }
        world.run_until(15.0 + f64::from(step) * 0.25);
    }
    world.guests[2].away = true;
    let received = world.received_until(50.0);
    assert!(received[3] > 0.5e6, "{received:?}");
    assert_eq!(world.session.members(), 3, "the absent one lost its seat");
}

#[test]
fn a_link_that_loses_all_for_a_while_keeps_its_seat() {
    let mut world = World::new(config(RoomPolicy::Plain));
    (0..3).for_each(|_| world.add(0.8e6, WIDE, 3));
    world.run_until(12.0);
    let id = world.guests[0].id;
    // Longer than ICE's own time, shorter than with the grace: the way is lost, the seat is not.
    world.guests[0].loses = 1;
    world.run_until(30.0);
    assert_eq!(world.session.members(), 3);
    world.guests[0].loses = 0;
    world.run_until(50.0);
    let received = world.received_until(55.0);
    assert!(received[0] > 0.5e6, "{received:?}");
    assert_eq!((world.session.members(), world.guests[0].id), (3, id));
}

#[test]
fn a_change_of_network_keeps_the_seat_and_the_pictures() {
    let mut world = World::new(config(RoomPolicy::Plain));
    (0..3).for_each(|_| world.add(0.8e6, WIDE, 3));
    world.run_until(12.0);
    let (id, address) = (world.guests[0].id, "10.9.9.9:4100".parse().expect("an address"));
    world.guests[0].address = address;
    let offer = world.guests[0].synthetic.renew(address).expect("an offer");
    let copy = serde_json::from_value(serde_json::to_value(&offer).expect("JSON")).expect("an offer");
    assert!(world.session.restart(world.now, "another token", copy).is_err());
    let answer = world.session.restart(world.now, "token 1", offer).expect("an answer");
    world.guests[0].synthetic.accept(answer).expect("the answer fits");
    world.run_until(16.0);
    let received = world.received_until(22.0);
    assert!(received.iter().all(|rate| *rate > 0.5e6), "{received:?}");
    assert_eq!((world.session.members(), world.guests[0].id), (3, id));
}

#[test]
fn virtual_time_is_fast() {
    let began = std::time::Instant::now();
    let mut world = World::new(config(RoomPolicy::Plain));
    (0..3).for_each(|_| world.add(0.5e6, WIDE, 3));
    world.run_until(20.0);
    assert!(began.elapsed().as_secs_f64() < 20.0, "{:?}", began.elapsed());
}
