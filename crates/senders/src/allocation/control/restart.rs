//! The start of rates from the model, and again where a PHY rate has changed.

use airbound_units::{Instant, Span};

use super::super::hold::Hold;
use super::super::start::Link;
use super::super::stream::Stream;
use super::{CHANGED, NEAR, RateAllocator};

/// Longest start; after that, feedback takes over even if the level is not near the target.
const LONGEST_START: Span = Span::from_secs(2);
/// Level relative to the target from which on a start has overshot,
const OVERSHOT: f64 = 1.5;
/// the share of what arrives that is sent then, so that the queue drains,
const DRAIN: f64 = 0.85;
/// and the least factor of the rates.
const LEAST_SCALE: f64 = 0.25;

impl RateAllocator {
    /// Rates from the model, until the level is near the target.
    pub(super) fn start(&mut self, now: Instant) {
        if self.lone().is_some_and(|lone| self.streams[lone].reported) {
            self.starting = None;
            self.step(now);
            return;
        }
        self.with_known(now, |this, known| this.start_known(now, known));
    }

    fn start_known(&mut self, now: Instant, known: &[(usize, f64)]) {
        // PHY rates that scatter begin starts without end, in which a hold would never be tried again.
        if self.is_live() {
            self.streams.iter_mut().filter_map(|station| station.held.as_mut()).for_each(Hold::probe);
        }
        let fastest = (0..known.len()).rev().max_by(|a, b| known[*a].1.total_cmp(&known[*b].1));
        let level = fastest.and_then(|place| self.streams[known[place].0].fresh_level());
        // The model covers all stations: until each has reported, those that have keep to safe rates.
        let complete = known.len() == self.streams.len();
        if let (Some(place), Some(level), true) = (fastest, level, complete) {
            let target = self.target_of(known[place].0);
            if self.drain(now, known[place].0, level, target) {
                return;
            }
            let was_measured = self.overhead.is_measured();
            let links = known.iter().map(|(place, phy)| Link::of(&self.streams[*place], *phy));
            self.overhead.learn(&self.config, links, place, level);
            if was_measured && (level / target - 1.0).abs() < NEAR {
                self.starting = None;
                return;
            }
        }
        if complete && level.is_some() {
            self.plan(now, known);
        }
        if self.starting.is_none_or(|since| now - since >= LONGEST_START) {
            self.starting = None;
        }
    }

    /// Ends a start whose rates were too high, as the model's are beside others: there is a queue, so that no overhead can be measured,
    /// and less arrives than is sent. Returns whether it did.
    fn drain(&mut self, now: Instant, place: usize, level: f64, target: f64) -> bool {
        let Stream { rate, arrived, .. } = self.streams[place];
        let drained = DRAIN * arrived / rate;
        if !self.is_live() || level <= OVERSHOT * target || drained >= 1.0 {
            return false;
        }
        self.scale(now, drained.max(LEAST_SCALE));
        self.starting = None;
        true
    }

    /// Whether receivers report at moments of their own, as in the library.
    const fn is_live(&self) -> bool {
        !self.config.dead_time.is_zero()
    }

    /// Starts again from the model if a PHY rate has changed.
    pub(super) fn watch_phy_rates(&mut self, now: Instant) {
        self.with_known(now, |this, known| {
            let changed = |(place, phy): &(usize, f64)| {
                this.streams[*place].planned.is_some_and(|planned| (phy / planned - 1.0).abs() > CHANGED)
            };
            if this.starting.is_none() && known.iter().any(changed) {
                this.plan(now, known);
                this.starting = Some(now);
            }
        });
    }

    /// Sets the model's rates for these stations.
    fn plan(&mut self, now: Instant, known: &[(usize, f64)]) {
        let mut space = std::mem::take(&mut self.space);
        let links = known.iter().map(|(place, phy)| Link::of(&self.streams[*place], *phy));
        if self.overhead.plan(&self.config, links, &mut space) {
            self.factor = None;
            for ((place, phy), rate) in known.iter().zip(&space.rates) {
                self.streams[*place].planned = Some(*phy);
                self.set(now, *place, *rate);
            }
        }
        self.space = space;
    }
}
