//! Four participants, one of whose links falls to 300 kb/s and comes back, in virtual time: what the others notice, and how long it takes the
//! one to recover.
//!
//! `bad_link [LINK_BPS] [CAMERA_BPS] [SECONDS_OF_FAULT] [REPEATS] [LOOK_EVERY_SECONDS]`; repeats begin the fault at other times.

#![allow(clippy::print_stdout, reason = "prints its results")]

#[path = "../tests/world.rs"]
mod world;

use std::time::Duration;

use airbound_senders::conference::room::{RoomConfig, RoomPolicy};
use airbound_units::{BitRate, Span};

use world::World;

/// Rate of the link during the fault.
const BAD: f64 = 300e3;
/// Part of the rate before the fault at which the one counts as recovered.
const RECOVERED: f64 = 0.9;
/// Step of the measurement, seconds.
const STEP: f64 = 0.5;

/// Rates of the others among themselves, bit/s: the one on the bad link sends less itself.
fn among(world: &World) -> f64 {
    let own = world.guests[0].id;
    let rate = |viewer: usize| {
        let view = world.guests[viewer].synthetic.view();
        let views = view.and_then(|view| view["own"]["views"].as_array()).cloned().unwrap_or_default();
        views
            .iter()
            .filter(|one| one["from"] != own)
            .map(|one| one["rate"].as_f64().unwrap_or(0.0))
            .sum::<f64>()
    };
    (1..world.guests.len()).map(rate).sum()
}

/// The longest time without a packet of a picture, among the others.
fn gap_among(world: &World) -> Duration {
    let own = world.guests[0].id;
    let of = |guest: &world::Guest| {
        let views = guest.synthetic.view().and_then(|view| view["own"]["views"].as_array());
        let others = views.into_iter().flatten().filter(|one| one["from"] != own);
        others.filter_map(|one| Some(guest.synthetic.longest_gap_of(one["mid"].as_str()?))).max()
    };
    world.guests[1..].iter().filter_map(of).max().unwrap_or_default()
}

/// The mean of [`among`] until a time.
fn mean_until(world: &mut World, from: f64, to: f64) -> f64 {
    let steps = ((to - from) / STEP).ceil().max(1.0) as u32;
    let sum: f64 = (1..=steps)
        .map(|step| {
            world.run_until(from + f64::from(step) * STEP);
            among(world)
        })
        .sum();
    sum / f64::from(steps)
}

fn main() {
    let numbers: Vec<f64> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let number = |index: usize, default: f64| numbers.get(index).copied().unwrap_or(default);
    let (link, camera, fault, repeats) =
        (number(0, 20e6), number(1, 1e6), number(2, 15.0), number(3, 3.0) as u32);
    let look_every = Span::from_secs(number(4, 20.0) as u64);
    for (name, policy) in [("plain", RoomPolicy::Plain), ("layer-suspension", RoomPolicy::LayerSuspension)] {
        for repeat in 0..repeats {
            let begins = 40.0 + 0.7 * f64::from(repeat);
            let source = BitRate::from_bps_f64(camera);
            let mut world = World::new(RoomConfig { policy, source, look_every, ..RoomConfig::default() });
            (0..4).for_each(|_| world.add(camera, link, 4));
            world.run_until(begins - 10.0);
            world.guests.iter_mut().for_each(|guest| guest.synthetic.forget_gaps());
            let others = mean_until(&mut world, begins - 10.0, begins);
            let gap_before = gap_among(&world);
            let sent_before = world.guests[0].synthetic.counts().sent;
            // Five seconds before the fault are the measure.
            let rate = world.received_until(begins + 5.0)[0];
            let sent = (world.guests[0].synthetic.counts().sent - sent_before) as f64 * 8.0 / 5.0;
            let begins = begins + 5.0;
            world.guests[0].link.set_rate(BAD);
            world.guests.iter_mut().for_each(|guest| guest.synthetic.forget_gaps());
            let during = mean_until(&mut world, begins, begins + fault);
            world.guests[0].link.set_rate(link);
            let mut recovered = [None, None];
            let after = begins + fault;
            let mut latest = world.guests[0].synthetic.counts();
            for step in 1..=80_u32 {
                let at = f64::from(step) * STEP;
                world.run_until(after + at);
                let counts = world.guests[0].synthetic.counts();
                let rates = [counts.received - latest.received, counts.sent - latest.sent]
                    .map(|bytes| bytes as f64 * 8.0 / STEP);
                latest = counts;
                for ((recovered, rate), wanted) in recovered.iter_mut().zip(rates).zip([rate, sent]) {
                    if rate >= wanted * RECOVERED {
                        recovered.get_or_insert(at);
                    }
                }
            }
            let gap = gap_among(&world);
            let shown = recovered
                .map(|at: Option<f64>| at.map_or("not in 40 s".to_owned(), |at| format!("{at:.1} s")));
            println!(
                "{name} {repeat}: others among themselves {:.2} -> {:.2} Mb/s ({:+.1} %), longest gap {} ms (before {}); the one received {:.2}, sent {:.2} Mb/s, \
                 receives again after {}, sends after {}",
                others * 1e-6,
                during * 1e-6,
                (during / others - 1.0) * 100.0,
                gap.as_millis(),
                gap_before.as_millis(),
                rate * 1e-6,
                sent * 1e-6,
                shown[0],
                shown[1]
            );
        }
    }
}
