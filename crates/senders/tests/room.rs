//! Behaviour of a room: dwell times, holds, looks, probes, speakers.

use airbound_senders::conference::ClientId;
use airbound_senders::conference::plum::State;
use airbound_senders::conference::room::{
    Action, Channel, Constraint, Estimate, EstimateKind, Room, RoomConfig, RoomPolicy, Viewing,
};
use airbound_units::{BitRate, Instant, Span};

const LAYERS: [u64; 3] = [120, 360, 1000];

fn kbps(rate: u64) -> BitRate {
    BitRate::from_kbps(rate)
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

/// Members that see all others, each behind a link of one rate in both directions together.
struct Session {
    room: Room,
    now: u64,
    actions: Vec<Action>,
}

impl Session {
    fn new(policy: RoomPolicy, members: u16) -> Self {
        let config = RoomConfig { policy, ..RoomConfig::default() };
        let mut room = Room::new(config).expect("valid");
        let all = || (0..members).map(ClientId);
        for member in all() {
            room.join(at(0), member, 1.0);
            room.on_layers(at(0), member, &LAYERS.map(kbps));
        }
        for member in all() {
            let views: Vec<Viewing> =
                all().map(|source| Viewing { source, largest: 2, priority: 0 }).collect();
            room.on_views(at(0), member, &views);
        }
        Self { room, now: 0, actions: Vec::new() }
    }

    fn estimates(&mut self, member: u16, [up, down]: [u64; 2], kind: EstimateKind) {
        let now = at(self.now);
        let estimate = |rate| Estimate { rate: kbps(rate), kind, at: now };
        self.room.on_uplink(now, ClientId(member), estimate(up));
        self.room.on_downlink(now, ClientId(member), estimate(down));
    }

    /// Runs for some time; notices are acknowledged.
    fn run(&mut self, ms: u64) {
        for _ in 0..ms / 100 {
            self.now += 100;
            let now = at(self.now);
            self.room.on_deadline(now);
            while let Some(action) = self.room.poll_action(now) {
                if let Action::Hold { member, notice, .. } = action {
                    self.room.on_acknowledged(member, notice.sequence);
                }
                self.actions.push(action);
            }
        }
    }

    fn layer(&self, viewer: u16, source: u16) -> Option<u8> {
        let mut all = self.room.forwarded_to(ClientId(viewer));
        all.find(|(other, ..)| *other == ClientId(source)).map(|(_, layer, _)| layer)
    }
}

#[test]
fn a_layer_rises_after_its_dwell_time_and_falls_at_once() {
    let mut session = Session::new(RoomPolicy::Plain, 2);
    session.estimates(0, [3000, 500], EstimateKind::Exact);
    session.run(200);
    assert_eq!(session.layer(0, 1), Some(1));
    session.estimates(0, [3000, 2000], EstimateKind::Exact);
    session.run(1800);
    assert_eq!(session.layer(0, 1), Some(1));
    let reason = session.room.explain(ClientId(0), ClientId(1)).expect("decided");
    assert_eq!(reason.binding, [Constraint::Dwell]);
    session.run(600);
    assert_eq!(session.layer(0, 1), Some(2));
    session.estimates(0, [3000, 600], EstimateKind::Exact);
    assert_eq!(session.room.next_deadline(), at(session.now), "overuse is urgent");
    session.run(100);
    assert_eq!(session.layer(0, 1), Some(1));
    // The step was taken back soon: the next one waits longer.
    session.estimates(0, [3000, 2000], EstimateKind::Exact);
    session.run(3000);
    assert_eq!(session.layer(0, 1), Some(1));
    session.run(1500);
    assert_eq!(session.layer(0, 1), Some(2));
}

#[test]
fn an_estimate_that_wavers_around_a_step_changes_no_layer() {
    let mut session = Session::new(RoomPolicy::Plain, 2);
    session.estimates(0, [3000, 1070], EstimateKind::Exact);
    session.run(5000);
    let before = session.room.counters();
    for turn in 0..50 {
        session.estimates(0, [3000, if turn % 2 == 0 { 1030 } else { 1140 }], EstimateKind::Exact);
        session.run(200);
    }
    let after = session.room.counters();
    assert_eq!((after.raised, after.lowered), (before.raised, before.lowered));
}

#[test]
fn the_member_behind_a_narrow_half_duplex_link_gives_up_downlink_for_three_viewers() {
    let mut session = Session::new(RoomPolicy::Plum, 4);
    session.room.set_config(at(0), RoomConfig { rho: 0.0, ..*session.room.config() }).expect("valid");
    for _ in 0..30 {
        // 2.5 Mb/s for both directions: what one yields, the other takes.
        let down = match session.room.state(ClientId(0)) {
            Some(State::ServerConstrained { rate }) => rate.as_bps() / 1000,
            _ => 2000,
        };
        session.estimates(0, [2500 - down, down], EstimateKind::Exact);
        // The others are known to have room for more.
        (1..4).for_each(|member| session.estimates(member, [1500, 6000], EstimateKind::AtLeast));
        session.run(200);
    }
    let Some(State::ServerConstrained { rate }) = session.room.state(ClientId(0)) else {
        panic!("{:?}", session.room.state(ClientId(0)))
    };
    assert_eq!(rate, kbps(1000), "its uplink is worth 1.5 Mb/s to three viewers");
    assert!((1..4).all(|member| session.room.state(ClientId(member)) == Some(State::Natural)));
    let reason = session.room.explain(ClientId(0), ClientId(1)).expect("decided");
    // While the downlink is held, its estimate shows no more than the hold: both bind.
    assert!(reason.binding.contains(&Constraint::Hold), "{reason}");
}

#[test]
fn only_exact_estimates_make_a_bottleneck() {
    let mut session = Session::new(RoomPolicy::Plum, 4);
    for _ in 0..30 {
        (0..4).for_each(|member| session.estimates(member, [500, 2000], EstimateKind::AtLeast));
        session.run(200);
    }
    assert!((0..4).all(|member| session.room.state(ClientId(member)) == Some(State::Natural)));
    assert!(!session.actions.iter().any(|action| matches!(action, Action::Hold { layers: None, .. })));
}

/// The state of member 0 under Plum, whose link is known by its estimates of a kind, or by a channel of 2.5 Mb/s that is told for some time.
fn known(kind: EstimateKind, told: u64) -> (Session, State) {
    let mut session = Session::new(RoomPolicy::Plum, 4);
    for step in 0..70 {
        let now = at(session.now);
        if step * 200 < told {
            session.room.on_channel(now, ClientId(0), Some(Channel { sum: kbps(2500), at: now }));
        }
        session.estimates(0, [500, 2000], kind);
        (1..4).for_each(|member| session.estimates(member, [1500, 6000], EstimateKind::AtLeast));
        session.run(200);
    }
    let state = session.room.state(ClientId(0)).expect("a member");
    (session, state)
}

#[test]
fn a_channel_that_is_told_needs_no_exact_estimates_and_ages() {
    let held = |(_, state): (Session, State)| matches!(state, State::ServerConstrained { .. });
    assert!(held(known(EstimateKind::Exact, 0)));
    assert!(!held(known(EstimateKind::AtLeast, 0)));
    assert!(held(known(EstimateKind::AtLeast, 12_000)));
    assert!(!held(known(EstimateKind::AtLeast, 1000)), "told for 1 s, 13 s ago");
}

#[test]
fn an_uplink_whose_downlink_gives_way_is_probed_until_it_takes_what_it_is_given() {
    let (mut session, _) = known(EstimateKind::AtLeast, 12_000);
    let probes = |session: &Session| {
        let probes = session.actions.iter().filter_map(|action| match action {
            Action::ProbeUplink { member, rate } => Some((*member, *rate)),
            _ => None,
        });
        probes.collect::<Vec<_>>()
    };
    let seen = probes(&session);
    assert_eq!(seen.last(), Some(&(ClientId(0), kbps(1500))));
    assert!((5..=7).contains(&seen.len()), "each 2 s: {seen:?}");
    for _ in 0..20 {
        let now = at(session.now);
        session.room.on_channel(now, ClientId(0), Some(Channel { sum: kbps(2500), at: now }));
        session.estimates(0, [1500, 2000], EstimateKind::AtLeast);
        session.run(200);
    }
    assert!(probes(&session).len() <= seen.len() + 1, "it has what it was given");
}

#[test]
fn a_viewer_keeps_its_floor() {
    let target = |floor: Option<u64>, all: u64| {
        let mut session = Session::new(RoomPolicy::Plum, 4);
        let config = RoomConfig { least_down: kbps(all), ..*session.room.config() };
        session.room.set_config(at(0), config).expect("valid");
        session.room.on_floor(at(0), ClientId(0), floor.map(kbps));
        for _ in 0..10 {
            let now = at(session.now);
            session.room.on_channel(now, ClientId(0), Some(Channel { sum: kbps(1600), at: now }));
            session.estimates(0, [800, 800], EstimateKind::AtLeast);
            (1..4).for_each(|member| session.estimates(member, [1500, 6000], EstimateKind::AtLeast));
            session.run(200);
        }
        session.room.target(ClientId(0)).expect("a target").down
    };
    // Its uplink counts three times: without a floor it sends 1.5 Mb/s of 1.6.
    assert_eq!(target(None, 0), kbps(100));
    assert_eq!(
        (target(Some(350), 0), target(None, 350), target(Some(200), 350)),
        (kbps(350), kbps(350), kbps(200))
    );
    // No more than a quarter of the capacity.
    assert_eq!(target(Some(1000), 0), kbps(400));
}

#[test]
fn scalable_layers_are_no_sum() {
    let mut session = Session::new(RoomPolicy::LayerSuspension, 2);
    let rates = [100, 150, 200, 300, 450, 600, 900, 1350, 1800].map(kbps);
    for step in 0..60 {
        let now = at(session.now);
        session.room.on_views(now, ClientId(0), &[Viewing { source: ClientId(1), largest: 8, priority: 0 }]);
        let taken = if step < 40 { &rates[..] } else { &rates[..5] };
        session.room.on_scalable_layers(now, ClientId(1), taken);
        session.estimates(0, [3000, 540], EstimateKind::Exact);
        session.estimates(1, [3000, 3000], EstimateKind::Exact);
        session.run(200);
    }
    // 0.95 of 540 kb/s are 513, of which a tenth stays free: 450 kb/s fit.
    assert_eq!(session.layer(0, 1), Some(4));
    // Those in use have 450 kb/s, the next one 150 more: a third of that is slack.
    let held = session.room.explain_sender(ClientId(1)).expect("a member");
    assert_eq!((held.held, &held.binding[..]), (Some(495_000), &[Constraint::Viewers][..]));
}

#[test]
fn a_layer_that_nobody_takes_is_not_sent_until_a_viewer_has_room_for_it() {
    let mut session = Session::new(RoomPolicy::LayerSuspension, 3);
    // What the members send follows the notices.
    let mut layers = [3; 3];
    let mut run = |session: &mut Session, ms: u64| {
        for _ in 0..ms / 100 {
            let seen = session.actions.len();
            session.run(100);
            for action in session.actions.split_off(seen) {
                if let Action::Hold { member, layers: count, .. } = action {
                    layers[usize::from(member.0)] = count.map_or(3, usize::from);
                }
            }
            for (member, count) in (0..).zip(layers) {
                let rates: Vec<BitRate> = LAYERS.map(kbps).into_iter().take(count).collect();
                session.room.on_layers(at(session.now), ClientId(member), &rates);
            }
        }
        layers
    };
    (0..3).for_each(|member| session.estimates(member, [3000, 900], EstimateKind::Exact));
    assert_eq!(run(&mut session, 3000), [3; 3], "not yet");
    assert_eq!(run(&mut session, 3000), [2; 3]);
    let reason = session.room.explain_sender(ClientId(1)).expect("a member");
    assert_eq!(reason.binding, [Constraint::Viewers]);
    let held = reason.held.expect("held");
    assert!((480_000..1_480_000).contains(&held), "{held}: the layers in use, not the next one");
    // The layer that is held back is still what would come next.
    let seen = session.room.explain(ClientId(0), ClientId(1)).expect("decided");
    assert_eq!((seen.next, &seen.binding[..]), (Some(2), &[Constraint::Capacity][..]));
    session.estimates(0, [3000, 2600], EstimateKind::Exact);
    run(&mut session, 3000);
    assert_eq!([1, 2].map(|source| session.layer(0, source)), [Some(2), Some(2)]);
    assert_eq!(run(&mut session, 6000), [2, 3, 3], "member 0 alone takes them");
    session.estimates(0, [3000, 900], EstimateKind::Exact);
    assert_eq!(run(&mut session, 6000), [2; 3]);
    let config = RoomConfig { policy: RoomPolicy::Plain, ..*session.room.config() };
    session.room.set_config(at(session.now), config).expect("valid");
    assert_eq!(run(&mut session, 1000), [3; 3], "another policy holds nothing back");
}

#[test]
fn a_hold_is_released_for_a_look_and_ends_when_the_link_has_widened() {
    let mut session = Session::new(RoomPolicy::Plum, 4);
    let mut held = Vec::new();
    for step in 0..300 {
        // After 30 s the link is wide; the held direction shows it only while it is released.
        let wide = step >= 150;
        let natural = session.room.state(ClientId(0)) == Some(State::Natural);
        let up = if !wide {
            1400
        } else if natural {
            9000
        } else {
            1400
        };
        session.estimates(0, [up, if wide { 9000 } else { 500 }], EstimateKind::Exact);
        (1..4).for_each(|member| session.estimates(member, [1500, 5000], EstimateKind::AtLeast));
        session.run(200);
        held.push(!natural);
    }
    assert!(held[20..100].iter().filter(|held| **held).count() > 70, "{held:?}");
    assert!(!held.last().expect("ran"), "{:?}", session.room.state(ClientId(0)));
}

#[test]
fn a_lower_bound_is_probed_in_the_natural_state_alone() {
    let mut session = Session::new(RoomPolicy::Plain, 2);
    session.estimates(0, [3000, 500], EstimateKind::AtLeast);
    session.run(400);
    let probe = session.actions.iter().rev().find_map(|action| match action {
        Action::Probe { member: ClientId(0), rate } => Some(*rate),
        _ => None,
    });
    let rate = probe.flatten().expect("a probe");
    assert!(rate > kbps(1000) && rate < kbps(1300), "{rate}: enough for the next layer");
    session.estimates(0, [3000, 500], EstimateKind::Exact);
    session.run(400);
    assert_eq!(session.actions.last(), Some(&Action::Probe { member: ClientId(0), rate: None }));
}

#[test]
fn a_downlink_is_estimated_anew_after_a_fault_unless_it_gives_way() {
    let begun = |policy, other: [u64; 2]| {
        let mut session = Session::new(policy, 4);
        (0..4).for_each(|member| session.estimates(member, [3000, 9000], EstimateKind::AtLeast));
        session.room.on_path(at(0), ClientId(0), false);
        session.run(6000);
        let before = session.actions.len();
        for step in 0..100 {
            // Losses for 5 s; the estimate stays low after them.
            session.room.on_path(at(session.now), ClientId(0), step < 50);
            session.estimates(0, other, EstimateKind::Exact);
            (1..4).for_each(|member| session.estimates(member, [3000, 9000], EstimateKind::AtLeast));
            session.run(100);
        }
        let begins = session.actions[before..].iter().filter_map(|action| match action {
            Action::Begin { member, rate } => Some((*member, *rate)),
            _ => None,
        });
        begins.collect::<Vec<_>>()
    };
    // After 1 s without trouble, and again 2 s later, at a sixth of what it carried.
    assert_eq!(begun(RoomPolicy::Plain, [300, 200]), [(ClientId(0), kbps(500)); 2]);
    assert_eq!(begun(RoomPolicy::Plum, [700, 900]), []);
}

#[test]
fn layers_that_a_fault_took_away_return_without_their_dwell_time() {
    let mut session = Session::new(RoomPolicy::Plain, 2);
    session.room.on_path(at(0), ClientId(0), false);
    session.estimates(0, [3000, 2000], EstimateKind::AtLeast);
    session.run(6000);
    assert_eq!(session.layer(0, 1), Some(2));
    for _ in 0..50 {
        session.room.on_path(at(session.now), ClientId(0), true);
        session.estimates(0, [100, 150], EstimateKind::Exact);
        session.run(100);
    }
    assert_eq!(session.layer(0, 1), Some(0));
    // The estimate is back, without a sign of trouble: a step waits for 2 s otherwise.
    session.room.on_path(at(session.now), ClientId(0), false);
    session.estimates(0, [3000, 2000], EstimateKind::AtLeast);
    session.run(600);
    assert_eq!(session.layer(0, 1), Some(2));
}

#[test]
fn the_latest_speakers_are_forwarded() {
    let mut session = Session::new(RoomPolicy::LastN, 5);
    session
        .room
        .set_config(at(0), RoomConfig { policy: RoomPolicy::LastN, active: 2, ..RoomConfig::default() })
        .expect("valid");
    (0..5).for_each(|member| session.estimates(member, [3000, 9000], EstimateKind::Exact));
    session.room.on_speech(at(10), ClientId(3));
    session.room.on_speech(at(20), ClientId(4));
    session.run(3000);
    let seen: Vec<u16> = (1..5).filter(|source| session.layer(0, *source).is_some()).collect();
    assert_eq!(seen, [3, 4]);
    let reason = session.room.explain(ClientId(0), ClientId(1)).expect("decided");
    assert_eq!(reason.binding, [Constraint::LastN]);
}

#[test]
fn a_configuration_out_of_range_is_refused_and_changes_nothing() {
    let mut session = Session::new(RoomPolicy::Plain, 2);
    let wrong = RoomConfig { headroom: 1.5, ..RoomConfig::default() };
    let error = session.room.set_config(at(0), wrong).expect_err("refused").to_string();
    assert!(error.contains("headroom") && error.contains("above 0 to 1"), "{error}");
    assert_eq!(session.room.config().policy, RoomPolicy::Plain);
}
