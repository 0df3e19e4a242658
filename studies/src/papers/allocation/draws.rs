//! Numbers drawn at random, and stations made of them.

use std::fmt::Display;

/// Numbers from 0 to 1, a sequence for each first state.
pub(super) struct Draws(u64);

impl Draws {
    /// Begins a sequence; its first numbers are left out.
    pub(super) fn new(state: u64, left_out: usize) -> Self {
        let mut draws = Self(state);
        (0..left_out).for_each(|_| {
            draws.unit();
        });
        draws
    }

    /// Draws a number.
    pub(super) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The key `station` of a scenario with a station for each of `keys`.
pub(super) fn stations(keys: impl Iterator<Item = impl Display>) -> String {
    let station = |(number, keys)| format!("{{ name = \"{number}\", group = \"station\", {keys} }}");
    format!("[{}]", (1_u32..).zip(keys).map(station).collect::<Vec<_>>().join(", "))
}
