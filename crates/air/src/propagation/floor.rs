//! Places on a floor, walls between them, and the loss from one place to another.

use airbound_units::{Decibel, Metre};
use serde::Serialize;

/// The smallest distance of the model; shorter ones count as this.
const NEAREST: f64 = 0.1;

/// A place on a floor, from its corner at the origin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(into = "[Metre; 2]")]
pub struct Place {
    /// Along the width of the floor.
    pub x: Metre,
    /// Along its depth.
    pub y: Metre,
}

impl From<Place> for [Metre; 2] {
    fn from(place: Place) -> Self {
        [place.x, place.y]
    }
}

impl Place {
    /// The distance to another place.
    #[must_use]
    pub fn distance(self, other: Self) -> Metre {
        Metre::new(libm::hypot(self.x.value() - other.x.value(), self.y.value() - other.y.value()))
    }
}

/// A straight wall.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Wall {
    /// One end.
    pub from: Place,
    /// The other end.
    pub to: Place,
    /// Loss of a signal that passes it.
    pub loss: Decibel,
}

/// On which side of the line through `a` and `b` a place is: the sign of the cross product.
fn side(a: Place, b: Place, place: Place) -> f64 {
    (b.x.value() - a.x.value()) * (place.y.value() - a.y.value())
        - (b.y.value() - a.y.value()) * (place.x.value() - a.x.value())
}

impl Wall {
    /// Whether the straight line between two places passes it. A line that touches its end or begins on it passes; one along it does
    /// not.
    #[must_use]
    pub fn is_between(&self, here: Place, there: Place) -> bool {
        let ends = (side(here, there, self.from), side(here, there, self.to));
        let places = (side(self.from, self.to, here), side(self.from, self.to, there));
        let is_along = ends == (0.0, 0.0);
        !is_along && ends.0 * ends.1 <= 0.0 && places.0 * places.1 <= 0.0
    }
}

/// Loss between places: proportional to the logarithm of the distance, and that of each wall between them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Floor {
    /// Width and depth.
    pub size: [Metre; 2],
    /// Path loss exponent: 2 in free space, 3 indoors.
    pub exponent: f64,
    /// Loss at a distance of 1 m.
    pub reference_loss: Decibel,
    /// The walls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub walls: Vec<Wall>,
}

impl Floor {
    /// The loss between two places, the same in both directions.
    #[must_use]
    pub fn loss(&self, here: Place, there: Place) -> Decibel {
        let distance = here.distance(there).value().max(NEAREST);
        let walls = self.walls.iter().filter(|wall| wall.is_between(here, there));
        let walls: f64 = walls.map(|wall| wall.loss.value()).sum();
        Decibel::new(self.reference_loss.value() + 10.0 * self.exponent * libm::log10(distance) + walls)
    }

    /// Whether a place is on it, its borders included.
    #[must_use]
    pub fn has(&self, place: Place) -> bool {
        let [width, depth] = self.size;
        let fits = |value: Metre, most: Metre| value >= Metre::new(0.0) && value <= most;
        fits(place.x, width) && fits(place.y, depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(x: f64, y: f64) -> Place {
        Place { x: Metre::new(x), y: Metre::new(y) }
    }

    #[test]
    fn a_wall_counts_where_it_stands_between() {
        let wall = Wall { from: place(5.0, 0.0), to: place(5.0, 4.0), loss: Decibel::new(12.0) };
        assert!(wall.is_between(place(0.0, 2.0), place(10.0, 2.0)));
        assert!(wall.is_between(place(10.0, 2.0), place(0.0, 2.0)));
        assert!(!wall.is_between(place(0.0, 6.0), place(10.0, 6.0)), "beside its end");
        assert!(!wall.is_between(place(0.0, 2.0), place(4.0, 2.0)), "before it");
        assert!(!wall.is_between(place(5.0, 1.0), place(5.0, 9.0)), "along it");
    }

    #[test]
    fn loss_is_that_of_distance_and_walls() {
        let wall = Wall { from: place(5.0, 0.0), to: place(5.0, 4.0), loss: Decibel::new(12.0) };
        let size = [Metre::new(20.0), Metre::new(10.0)];
        let floor =
            Floor { size, exponent: 3.0, reference_loss: Decibel::new(40.0), walls: vec![wall, wall] };
        let loss = |here, there| floor.loss(here, there).value();
        assert!((loss(place(0.0, 6.0), place(10.0, 6.0)) - 70.0).abs() < 1e-9);
        assert!((loss(place(0.0, 2.0), place(10.0, 2.0)) - 94.0).abs() < 1e-9);
        assert!((loss(place(3.0, 3.0), place(3.0, 3.0)) - 10.0).abs() < 1e-9, "the smallest distance");
        assert!(floor.has(place(20.0, 0.0)) && !floor.has(place(20.1, 0.0)) && !floor.has(place(0.0, 10.1)));
    }
}
