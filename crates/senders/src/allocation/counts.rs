//! Counts of a [`super::FrameSensor`] in bounded memory: nothing is allocated after construction.

use std::collections::VecDeque;

/// Upper limit on missing sequence numbers; beyond it the oldest are given up. Many times a block-ack window.
const MOST_HOLES: usize = 4096;
/// Upper limit on the rates of a slot, above the number of rates of 802.11be at one bandwidth; packets of others count to a neighbour.
const MOST_RATES: usize = 256;

/// Missing sequence numbers in ascending order.
#[derive(Debug, Clone)]
pub(super) struct Holes(VecDeque<u64>);

impl Holes {
    pub(super) fn new() -> Self {
        Self(VecDeque::with_capacity(MOST_HOLES))
    }

    /// Removes a number. Returns whether it was missing.
    pub(super) fn remove(&mut self, sequence: u64) -> bool {
        self.0.binary_search(&sequence).is_ok_and(|place| self.0.remove(place).is_some())
    }

    /// Adds the numbers from `from` to before `to`, all above those that are missing. Returns how many of the oldest were given up.
    pub(super) fn add(&mut self, from: u64, to: u64) -> u32 {
        let all = self.0.len() as u64 + to.saturating_sub(from);
        let excess = all.saturating_sub(MOST_HOLES as u64);
        let old = self.0.len().min(excess as usize);
        self.0.drain(..old);
        self.0.extend(from + (excess - old as u64)..to);
        u32::try_from(excess).unwrap_or(u32::MAX)
    }

    /// Removes the numbers below `limit`. Returns how many there were.
    pub(super) fn settle(&mut self, limit: u64) -> u32 {
        let count = self.0.partition_point(|hole| *hole < limit);
        self.0.drain(..count);
        count as u32
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Packets of a slot by PHY rate.
#[derive(Debug, Clone)]
pub(super) struct RateCounts(Vec<RateCount>);

#[derive(Debug, Clone, Copy)]
struct RateCount {
    /// In bit/s.
    rate: u64,
    packets: u32,
    /// Frames of a single new packet.
    singles: u32,
}

impl RateCounts {
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(MOST_RATES))
    }

    /// Counts a frame of `packets` at `rate` in bit/s.
    pub(super) fn add(&mut self, rate: u64, packets: u32, is_single: bool) {
        let place = match self.0.binary_search_by_key(&rate, |count| count.rate) {
            Ok(place) => place,
            Err(place) if self.0.len() < MOST_RATES => {
                self.0.insert(place, RateCount { rate, packets: 0, singles: 0 });
                place
            }
            Err(place) => place.min(MOST_RATES - 1),
        };
        let count = &mut self.0[place];
        count.packets = count.packets.saturating_add(packets);
        count.singles += u32::from(is_single);
    }

    /// Number of frames of a single packet at another rate than that of most packets: rate controls such as mac80211's Minstrel-HT
    /// sample other rates in this way, outside of aggregates, at any backlog.
    pub(super) fn probes(&self) -> u32 {
        let usual = self.0.iter().max_by_key(|count| count.packets).map(|count| count.rate);
        self.0.iter().filter(|count| Some(count.rate) != usual).map(|count| count.singles).sum()
    }

    /// The harmonic mean of PHY rates over packets, since w is the mean airtime of a packet; in bit/s.
    pub(super) fn mean(&self) -> Option<f64> {
        let packets: f64 = self.0.iter().map(|count| f64::from(count.packets)).sum();
        let airtime: f64 = self.0.iter().map(|count| f64::from(count.packets) / count.rate as f64).sum();
        (airtime > 0.0).then(|| packets / airtime)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_bounded_and_the_oldest_are_given_up() {
        let mut holes = Holes::new();
        assert_eq!(holes.add(0, 4000), 0);
        assert!(holes.remove(5) && !holes.remove(5));
        assert_eq!(holes.add(5000, 5097), 0);
        assert_eq!(holes.add(6000, 6010), 10);
        assert!(!holes.remove(9) && holes.remove(11));
        assert_eq!(holes.add(10_000, 75_000), 4095 + 65_000 - 4096);
        assert_eq!(holes.settle(74_999), 4095);
        assert!(holes.remove(74_999));
    }

    #[test]
    fn rates_are_bounded() {
        let mut counts = RateCounts::new();
        (1..=300).for_each(|rate| counts.add(rate * 1_000_000, 1, true));
        assert_eq!(counts.0.len(), MOST_RATES);
        assert_eq!(counts.0.iter().map(|count| count.packets).sum::<u32>(), 300);
        counts.clear();
        counts.add(390, 32, false);
        counts.add(433, 1, true);
        assert_eq!(counts.probes(), 1);
        assert_eq!(counts.mean(), Some(33.0 / (32.0 / 390.0 + 1.0 / 433.0)));
    }
}
