//! The controller: algorithm 1 of the paper.

use airbound_units::{BitRate, ByteCount, Span};

use super::config::{Floor, StepRule, WqmConfig};
use super::equations::{bandwidth_delay_product, drain_time};
use crate::error::ConfigError;

/// Input of an update. Unknown values are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Observation {
    /// BL: backlog of the buffer.
    pub backlog: ByteCount,
    /// R: the PHY rate; for several stations the harmonic mean, weighted by their backlog. Unknown: nothing changes unless the
    /// buffer is empty, which drains in no time at any rate.
    pub rate: Option<BitRate>,
    /// F: the share of the channel that is free for this transmitter, 0 to 1. Unknown: taken as 1, so that only its own queue
    /// counts.
    pub free: Option<f64>,
    /// Subframes of the longest A-MPDU at this rate, for [`Floor::Rate`]. Unknown: the bound does not change.
    pub subframes: Option<u16>,
}

/// Pending alarm of the last updates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Alarm {
    /// Neither alarm is on.
    #[default]
    Off,
    /// alarm_high.
    High,
    /// alarm_low.
    Low,
}

/// Result of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update {
    /// T_drain; `None` if unknown.
    pub drain_time: Option<Span>,
    /// Whether the drain time is above the limit and the buffer can shrink.
    pub bloated: bool,
    /// Whether the size or an alarm changed.
    pub changed: bool,
}

/// The size of a buffer in packets, adapted to rate, load and contention.
///
/// It computes a number and enforces nothing: a drop-tail queue ([`super::Wqm`]) or the kernel's `txqueuelen` does.
#[derive(Debug, Clone)]
pub struct BufferSize {
    limit: Span,
    step: StepRule,
    floor: Floor,
    /// Subframes of the longest A-MPDU at any rate.
    subframes: u16,
    /// Round trips of an A-MPDU in B_initial.
    initial_hops: u16,
    /// B_min.
    least: usize,
    /// B_max as configured.
    max_packets: usize,
    /// B.
    packets: usize,
    /// Whether B_initial was set.
    begun: bool,
    alarm: Alarm,
}

impl BufferSize {
    /// Creates a buffer of B_max packets, until [`BufferSize::begin`] supplies the rate.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: WqmConfig) -> Result<Self, ConfigError> {
        let WqmConfig { limit, step, floor, subframes, initial_hops, max_packets, .. } = config.check()?;
        let least = usize::from(subframes);
        let packets = max_packets.max(least);
        let (begun, alarm) = (false, Alarm::Off);
        Ok(Self { limit, step, floor, subframes, initial_hops, least, max_packets, packets, begun, alarm })
    }

    /// B: upper limit on waiting packets.
    #[must_use]
    pub const fn packets(&self) -> usize {
        self.packets
    }

    /// Present B_min and B_max.
    #[must_use]
    pub fn bounds(&self) -> (usize, usize) {
        (self.least, self.max_packets.max(self.least))
    }

    /// Whether the initial stage is over.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        self.begun
    }

    /// The initial stage: B = R x ARTT (equation 1), times the hops, within the bounds. Further calls change nothing.
    pub fn begin(&mut self, rate: BitRate, subframes: Option<u16>) {
        if self.begun {
            return;
        }
        self.set_floor(subframes);
        let frames = u16::try_from(self.least).unwrap_or(u16::MAX);
        let (least, most) = self.bounds();
        let initial = bandwidth_delay_product(rate, frames).saturating_mul(self.initial_hops.into());
        self.packets = initial.clamp(least, most);
        self.begun = true;
    }

    /// Sets the lower bound to the longest aggregate; a buffer outside the new bounds moves to the bound.
    fn set_floor(&mut self, subframes: Option<u16>) {
        if let (Floor::Rate, Some(subframes)) = (self.floor, subframes) {
            self.least = usize::from(subframes.clamp(1, self.subframes));
            let (least, most) = self.bounds();
            self.packets = self.packets.clamp(least, most);
        }
    }

    /// Ends a measurement interval (lines 4 to 21). Before [`BufferSize::begin`] nothing changes.
    pub fn on_interval(&mut self, seen: &Observation) -> Update {
        let drain_time = match seen.rate {
            _ if seen.backlog == ByteCount::ZERO => Some(Span::ZERO),
            Some(rate) => Some(drain_time(seen.backlog, rate, seen.free.unwrap_or(1.0))),
            None => None,
        };
        let before = (self.packets, self.alarm);
        let mut bloated = false;
        if let Some(drain_time) = drain_time.filter(|_| self.begun) {
            self.set_floor(seen.subframes);
            let (least, most) = self.bounds();
            // Two consecutive intervals have to agree: the first sets the alarm, the second acts.
            if drain_time > self.limit && self.packets > least {
                bloated = true;
                match self.alarm {
                    Alarm::High => self.packets = self.decreased().max(least),
                    _ => self.alarm = Alarm::High,
                }
            } else if drain_time < self.limit && self.packets < most {
                match self.alarm {
                    Alarm::Low => self.packets = self.increased().min(most),
                    _ => self.alarm = Alarm::Low,
                }
            }
        }
        Update { drain_time, bloated, changed: before != (self.packets, self.alarm) }
    }

    const fn decreased(&self) -> usize {
        match self.step {
            StepRule::Aimd | StepRule::Mimd => self.packets.div_ceil(2),
            StepRule::Aiad | StepRule::Miad => self.packets.saturating_sub(1),
        }
    }

    const fn increased(&self) -> usize {
        match self.step {
            StepRule::Aimd | StepRule::Aiad => self.packets + 1,
            StepRule::Miad | StepRule::Mimd => self.packets.saturating_mul(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The rate at which 8000 B take a millisecond.
    const RATE: BitRate = BitRate::from_mbps(64);

    /// A buffer of 80 packets between 10 and 95.
    fn begun(step: StepRule) -> BufferSize {
        let config = WqmConfig { subframes: 10, step, ..WqmConfig::default() };
        let mut size = BufferSize::new(config).expect("valid");
        // 1538 B x 10 at 600 Mb/s: 2 x 219 + 205.1 + 5.2 us, 32 packets.
        size.begin(BitRate::from_mbps(600), None);
        assert_eq!(size.packets(), 32);
        size.packets = 80;
        size
    }

    /// A backlog that takes `micros` microseconds at `RATE`.
    fn waiting(micros: u64) -> Observation {
        let backlog = RATE.bytes_in(Span::from_micros(micros));
        Observation { backlog, rate: Some(RATE), free: Some(1.0), subframes: None }
    }

    fn sizes(size: &mut BufferSize, drain_micros: &[u64]) -> Vec<usize> {
        drain_micros
            .iter()
            .map(|micros| {
                size.on_interval(&waiting(*micros));
                size.packets()
            })
            .collect()
    }

    #[test]
    fn the_second_alarm_in_a_row_acts_and_so_does_each_after_it() {
        let mut size = begun(StepRule::Aimd);
        assert_eq!(sizes(&mut size, &[4000, 4000, 4000, 4000]), [80, 40, 20, 10]);
        // At B_min nothing happens, and ceil(B / 2) never goes below.
        assert_eq!(sizes(&mut size, &[4000, 4000]), [10, 10]);
        // The high alarm cleared the low one: one interval sets it, the next acts.
        assert_eq!(sizes(&mut size, &[100, 100, 100]), [10, 11, 12]);
        assert_eq!(sizes(&mut size, &[4000, 4000]), [12, 10]);
    }

    #[test]
    fn the_first_size_grows_with_the_hops() {
        let initial = |initial_hops| {
            let config = WqmConfig { subframes: 10, initial_hops, ..WqmConfig::default() };
            let mut size = BufferSize::new(config).expect("valid");
            size.begin(BitRate::from_mbps(600), None);
            size.packets()
        };
        assert_eq!([1, 2, 3, 100].map(initial), [32, 64, 95, 95]);
    }

    #[test]
    fn an_odd_size_is_halved_upwards() {
        let mut size = begun(StepRule::Aimd);
        size.packets = 35;
        assert_eq!(sizes(&mut size, &[4000, 4000]), [35, 18]);
    }

    #[test]
    fn an_update_without_change_keeps_the_alarms() {
        let mut size = begun(StepRule::Aimd);
        size.packets = 10;
        assert_eq!(sizes(&mut size, &[100, 100]), [10, 11]);
        size.packets = 10;
        // Above the limit at B_min neither condition holds: the low alarm stays on, and one interval is enough.
        assert_eq!(sizes(&mut size, &[4000, 100]), [10, 11]);
        // Exactly at the limit neither condition holds.
        assert_eq!(sizes(&mut size, &[2500, 2500, 2500]), [11, 11, 11]);
        // Likewise at B_max.
        size.packets = 95;
        size.alarm = Alarm::High;
        assert_eq!(sizes(&mut size, &[0, 0, 4000]), [95, 95, 48]);
    }

    #[test]
    fn alternating_alarms_never_act() {
        let mut size = begun(StepRule::Aimd);
        assert_eq!(sizes(&mut size, &[4000, 0, 4000, 0, 4000, 0]), [80; 6]);
    }

    #[test]
    fn the_other_rules_step_otherwise() {
        let down = [4000, 4000, 4000];
        let up = [0, 0, 0];
        let both = |step| {
            let mut size = begun(step);
            let down = sizes(&mut size, &down);
            size.packets = 30;
            (down, sizes(&mut size, &up))
        };
        assert_eq!(both(StepRule::Aimd), (vec![80, 40, 20], vec![30, 31, 32]));
        assert_eq!(both(StepRule::Aiad), (vec![80, 79, 78], vec![30, 31, 32]));
        assert_eq!(both(StepRule::Miad), (vec![80, 79, 78], vec![30, 60, 95]));
        assert_eq!(both(StepRule::Mimd), (vec![80, 40, 20], vec![30, 60, 95]));
    }

    #[test]
    fn contention_and_what_is_unknown() {
        let mut size = begun(StepRule::Aimd);
        let seen = waiting(2000);
        // 2 ms are below the limit on a free channel, and above it if others use half of the time.
        assert!(!size.on_interval(&seen).bloated);
        let shared = size.on_interval(&Observation { free: Some(0.5), ..seen });
        assert_eq!((shared.bloated, shared.drain_time), (true, Some(Span::from_millis(4))));
        assert_eq!(
            size.on_interval(&Observation { free: None, ..seen }).drain_time,
            Some(Span::from_millis(2))
        );
        assert_eq!(size.on_interval(&Observation { free: Some(0.0), ..seen }).drain_time, Some(Span::MAX));
        let zero = Observation { rate: Some(BitRate::ZERO), ..seen };
        assert_eq!(size.on_interval(&zero).drain_time, Some(Span::MAX));
        let before = size.packets();
        let unknown = size.on_interval(&Observation { rate: None, ..seen });
        assert_eq!((unknown.drain_time, unknown.changed), (None, false));
        assert_eq!(size.packets(), before);
        assert_eq!(size.on_interval(&Observation::default()).drain_time, Some(Span::ZERO));
    }

    #[test]
    fn the_first_rate_decides_where_it_begins() {
        let new =
            |subframes| BufferSize::new(WqmConfig { subframes, ..WqmConfig::default() }).expect("valid");
        let mut size = new(32);
        assert_eq!((size.packets(), size.on_interval(&waiting(9000)).changed), (95, false));
        size.begin(BitRate::from_mbps(65), None);
        assert_eq!(size.packets(), 36);
        size.begin(BitRate::from_mbps(600), None);
        assert_eq!(size.packets(), 36);
        let mut single = new(1);
        single.begin(BitRate::ZERO, None);
        assert_eq!((single.packets(), single.bounds()), (1, (1, 95)));
        // The lower bound wins.
        assert_eq!(new(256).bounds(), (256, 256));
    }

    #[test]
    fn the_floor_may_follow_the_rate() {
        let config = WqmConfig { subframes: 32, floor: Floor::Rate, ..WqmConfig::default() };
        let mut size = BufferSize::new(config).expect("valid");
        size.begin(BitRate::from_kbps(6500), Some(1));
        assert_eq!((size.packets(), size.bounds()), (1, (1, 95)));
        // A faster rate raises it.
        size.on_interval(&Observation { subframes: Some(40), ..waiting(9000) });
        assert_eq!((size.packets(), size.bounds()), (32, (32, 95)));
    }

    #[test]
    fn mistakes_are_refused() {
        let wrong = |config: WqmConfig| BufferSize::new(config).expect_err("out of range").to_string();
        let good = WqmConfig::default();
        assert_eq!(wrong(WqmConfig { limit: Span::ZERO, ..good }), "limit is 0 ms; allowed is 1 us to 10 s");
        assert!(wrong(WqmConfig { interval: Span::ZERO, ..good }).starts_with("interval"));
        assert!(wrong(WqmConfig { subframes: 0, ..good }).starts_with("subframes"));
        assert!(wrong(WqmConfig { initial_hops: 0, ..good }).starts_with("initial-hops"));
        assert!(wrong(WqmConfig { max_packets: 0, ..good }).starts_with("max-packets"));
    }

    proptest! {
        #[test]
        fn the_size_stays_within_its_bounds_and_moves_by_one_step(
            rule in 0usize..4, floor in 0usize..2, subframes in 1u16..200, max_packets in 1usize..300,
            first in 0u64..1_000_000_000,
            seen in proptest::collection::vec(
                (0u64..200_000, proptest::option::of(0u64..1_000_000_000), proptest::option::of(-0.5f64..1.5),
                 proptest::option::of(0u16..300)),
                0..80),
        ) {
            let step = [StepRule::Aimd, StepRule::Aiad, StepRule::Miad, StepRule::Mimd][rule];
            let floor = [Floor::Network, Floor::Rate][floor];
            let config = WqmConfig { subframes, max_packets, step, floor, ..WqmConfig::default() };
            let mut size = BufferSize::new(config).expect("valid");
            size.begin(BitRate::from_bps(first), None);
            for (backlog, rate, free, subframes) in seen {
                let before = size.packets();
                let update = size.on_interval(&Observation {
                    backlog: ByteCount::new(backlog),
                    rate: rate.map(BitRate::from_bps),
                    free,
                    subframes,
                });
                let (least, most) = size.bounds();
                prop_assert!((least..=most).contains(&size.packets()));
                if floor == Floor::Network {
                    let above = update.drain_time.is_some_and(|time| time > config.limit);
                    prop_assert!(size.packets() <= before || !above);
                    prop_assert!(size.packets() >= before || above);
                    prop_assert!(size.packets() >= before.div_ceil(2) && size.packets() <= before * 2);
                }
                prop_assert_eq!(update.changed || size.packets() == before, true);
            }
        }
    }
}
