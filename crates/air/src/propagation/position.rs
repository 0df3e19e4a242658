//! The position of a station over time.

use airbound_units::{Instant, Metre, Span};

use super::config::Position;

impl Position {
    /// The distance from the access point at a time.
    #[must_use]
    pub fn distance(&self, now: Instant) -> Metre {
        match self {
            Self::Distance(distance) => *distance,
            Self::Path(points) => along(points, now.since(Instant::ZERO)),
            Self::Walk(walk) => {
                let (from, to) = (walk.from.value(), walk.to.value());
                let length = (to - from).abs();
                let walked = now.since(Instant::ZERO + walk.start).as_secs_f64() * walk.speed.value();
                let share = match (length > 0.0, walk.to_and_fro) {
                    (false, _) => 0.0,
                    (true, false) => (walked / length).min(1.0),
                    (true, true) => {
                        // A round trip has the length 2.
                        let round = (walked / length) % 2.0;
                        if round > 1.0 { 2.0 - round } else { round }
                    }
                };
                Metre::new(from + (to - from) * share)
            }
        }
    }
}

fn along(points: &[(Span, Metre)], now: Span) -> Metre {
    let after = points.partition_point(|(time, _)| *time <= now);
    let last = after.checked_sub(1).and_then(|index| points.get(index));
    match (last, points.get(after)) {
        (Some((t0, d0)), Some((t1, d1))) => {
            let share = (now - *t0).as_secs_f64() / (*t1 - *t0).as_secs_f64();
            Metre::new(d0.value() + (d1.value() - d0.value()) * share)
        }
        (Some((_, distance)), None) | (None, Some((_, distance))) => *distance,
        (None, None) => Metre::new(1.0),
    }
}

#[cfg(test)]
mod tests {
    use airbound_units::MetrePerSecond;

    use super::super::Walk;
    use super::*;

    fn at(position: &Position, seconds: u64) -> f64 {
        position.distance(Instant::ZERO + Span::from_secs(seconds)).value()
    }

    #[test]
    fn a_walk_returns() {
        let walk = Walk {
            from: Metre::new(2.0),
            to: Metre::new(12.0),
            speed: MetrePerSecond::new(1.0),
            start: Span::from_secs(5),
            to_and_fro: true,
        };
        let there_and_back = Position::Walk(walk);
        assert_eq!(
            [0, 5, 10, 15, 20, 25, 30].map(|t| at(&there_and_back, t)),
            [2.0, 2.0, 7.0, 12.0, 7.0, 2.0, 7.0]
        );
        let there = Position::Walk(Walk { to_and_fro: false, ..walk });
        assert_eq!([0, 10, 15, 100].map(|t| at(&there, t)), [2.0, 7.0, 12.0, 12.0]);
    }

    #[test]
    fn a_path_is_interpolated_linearly() {
        let point = |s, m| (Span::from_secs(s), Metre::new(m));
        let path = Position::Path(vec![point(2, 4.0), point(4, 8.0), point(8, 6.0)]);
        assert_eq!([0, 2, 3, 4, 6, 8, 9].map(|t| at(&path, t)), [4.0, 4.0, 6.0, 8.0, 7.0, 6.0, 6.0]);
    }
}
