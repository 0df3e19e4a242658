//! Shares of the air among many clients.

use airbound_units::Span;

use super::{Air, Way, World};

fn air(world: &mut World) -> &mut Air {
    world.way.air.as_mut().expect("there is air")
}

/// Jain's index.
pub(crate) fn jain(values: &[f64]) -> f64 {
    let (sum, squares) =
        values.iter().fold((0.0, 0.0), |(sum, squares), value| (sum + value, squares + value * value));
    sum * sum / (values.len() as f64 * squares)
}

/// Airtime of each station in s, and its mean level, over `span`.
pub(crate) fn measure(world: &mut World, span: Span) -> (Vec<f64>, Vec<f64>) {
    let before = air(world).clone();
    world.run(span);
    let after = air(world);
    let airtime =
        after.airtime.iter().zip(&before.airtime).map(|(after, before)| (*after - *before).as_secs_f64());
    let levels = after
        .frames
        .iter()
        .zip(&before.frames)
        .map(|(after, before)| (after.1 - before.1) as f64 / (after.0 - before.0).max(1) as f64);
    (airtime.collect(), levels.collect())
}

/// Clients of three PHY rates that are offered more than their shares: each takes the same airtime.
pub(crate) fn equal_airtime(count: usize, offered: u64) {
    let phy: Vec<u64> = (0..count).map(|place| [780, 390, 195][place % 3]).collect();
    let mut world = World::new(count, Way { air: Some(Air::new(&phy)), ..Way::default() }, 3);
    for station in &mut world.stations {
        station.offered = offered;
    }
    world.run(Span::from_secs(10));
    assert!((0..count).all(|place| world.joined(place)));
    let (airtime, levels) = measure(&mut world, Span::from_secs(4));
    let index = jain(&airtime);
    let taken: f64 = airtime.iter().sum();
    println!(
        "{count} clients: Jain's index {index:.4} of airtime, {:.1} % of the time taken, levels {:.1} {:.1} {:.1}",
        taken * 25.0,
        levels[0],
        levels[1],
        levels[2]
    );
    assert!(index >= 0.98, "{index}");
    assert!(taken <= 4.01);
}
