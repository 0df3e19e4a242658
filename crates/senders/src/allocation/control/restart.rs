//! The start of rates from the model, and again where a PHY rate has changed.

use airbound_units::{Instant, Span};

use super::super::hold::Hold;
use super::super::report::Report;
use super::super::start::Link;
use super::{CHANGED, NEAR, RateAllocator};

/// Longest start; after that, feedback takes over even if the level is not near the target.
const LONGEST_START: Span = Span::from_secs(2);
/// Level relative to the target above which a queue grows,
const OVERSHOT: f64 = 1.5;
/// share of packets lost in a queue above which it overflows,
const OVERFLOW: f64 = 0.01;
/// and the share of what arrives that is sent then, so that it drains.
const DRAIN: f64 = 0.75;

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

    /// Limits a station of the library whose queue grows to less than what arrives, whatever the model or the feedback say: beside other
    /// traffic the model's rates are too high, and each change of a PHY rate would bring them back.
    pub(super) fn limit_to_arrivals(&mut self, now: Instant, place: usize, report: &Report) {
        let target = self.target_of(place);
        let Some(level) = report.level().filter(|_| self.is_live()) else { return };
        let floods = level > OVERSHOT * target || report.queue_loss() > OVERFLOW;
        let station = &mut self.streams[place];
        station.ceiling = floods.then(|| DRAIN * report.goodput().as_bps() as f64);
        if station.ceiling.is_some_and(|ceiling| ceiling < station.rate) {
            let rate = station.rate;
            self.set(now, place, rate);
        }
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
