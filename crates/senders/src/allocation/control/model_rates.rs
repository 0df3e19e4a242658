//! Rates from the model: at a start, and when PHY rates change.

use airbound_units::{Instant, Span};

use super::super::config::Start;
use super::super::start::{Link, Overhead};
use super::super::stream::{Planned, fresh_arrivals};
use super::{CHANGED, NEAR, RateAllocator};

/// Longest start; after that, feedback takes over even if the level is not near the target.
const LONGEST_START: Span = Span::from_secs(2);
/// Share of the target below which frames are clearly below it.
const SPARE: f64 = 0.75;

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
        let was_measured = self.overhead.is_measured();
        // The model covers all stations: until each has reported, those that have keep to safe rates.
        let complete = known.len() == self.streams.len();
        if complete && let Some((level, target)) = self.measure(known) {
            // A rate control that begins at its lowest rate lowers the target below what a level can tell.
            let is_near = (level / target - 1.0).abs() < NEAR && Overhead::is_told_by(level, self.asked);
            if was_measured && is_near {
                self.starting = None;
                return;
            }
            self.plan(now, known);
        }
        if self.starting.is_none_or(|since| now - since >= LONGEST_START) {
            self.starting = None;
        }
    }

    /// Measures the overhead while feedback sets the rates, so that a start after a change of PHY rates begins with what holds now. A
    /// live stream starts no second time.
    pub(super) fn keep_measuring(&mut self, now: Instant) {
        if self.config.start == Start::Model && !self.config.live {
            self.with_known(now, |this, known| {
                if known.len() == this.streams.len() {
                    this.measure(known);
                }
            });
        }
    }

    /// Measures the overhead from the level of the fastest of these stations. Returns the level with its target; `None` without a level.
    fn measure(&mut self, known: &[(usize, f64)]) -> Option<(f64, f64)> {
        let place = (0..known.len()).rev().max_by(|a, b| known[*a].1.total_cmp(&known[*b].1))?;
        let level = self.streams[known[place].0].fresh_level()?;
        // The model is one of rates that are sent. A burst of an application that sends little has the frames of a high rate.
        if known.iter().all(|(place, _)| self.streams[*place].is_sent()) {
            let is_queued = Overhead::is_queued(&self.config, level);
            let links = known.iter().map(|(place, phy)| {
                let stream = &self.streams[*place];
                let arrived = fresh_arrivals(std::iter::once(stream)).filter(|_| is_queued);
                Link { rate: arrived.unwrap_or(stream.rate), phy: *phy }
            });
            self.overhead.learn(&self.config, links, place, level);
        }
        Some((level, self.target_of(known[place].0)))
    }

    /// Takes new rates from the model if a PHY rate has changed: starts again, or where streams are live, scales what feedback has found.
    pub(super) fn watch_phy_rates(&mut self, now: Instant) {
        self.with_known(now, |this, known| {
            let changed = |(place, phy): &(usize, f64)| {
                this.streams[*place].planned.is_some_and(|planned| (phy / planned.phy - 1.0).abs() > CHANGED)
            };
            if this.starting.is_none() && known.iter().any(changed) {
                if this.config.live {
                    this.follow(now, known);
                } else {
                    this.plan(now, known);
                    this.starting = Some(now);
                }
            }
        });
    }

    /// Scales the rates of these stations by the model's ratio of rates at the new PHY rates and at the old ones. Feedback goes on from
    /// there: a rate control changes PHY rates several times a second, and the model knows nothing of other traffic. Frames clearly below
    /// the target say that the air carries more than is sent; then a fall of the PHY rate takes no more than the model demands.
    fn follow(&mut self, now: Instant, known: &[(usize, f64)]) {
        self.solve(now, known, |this, place, rate, before| {
            let before = before.filter(|before| before.rate > 0.0)?;
            let target = this.target_of(place);
            let stream = &mut this.streams[place];
            let factor = rate / before.rate;
            stream.overload.scale(factor);
            let scaled = stream.rate * factor;
            let is_spare = stream.level.is_some_and(|level| level < SPARE * target);
            Some(if is_spare { scaled.max(rate.min(stream.rate)) } else { scaled })
        });
    }

    /// Sets the model's rates for these stations.
    fn plan(&mut self, now: Instant, known: &[(usize, f64)]) {
        self.solve(now, known, |_, _, rate, _| Some(rate));
    }

    /// Solves the model for these stations, and sets the rate that `next` derives from a station's place, its rate by the model and the
    /// plan before, if it names one.
    fn solve(
        &mut self,
        now: Instant,
        known: &[(usize, f64)],
        next: impl Fn(&mut Self, usize, f64, Option<Planned>) -> Option<f64>,
    ) {
        let mut space = std::mem::take(&mut self.space);
        let links = known.iter().map(|(place, phy)| Link::of(&self.streams[*place], *phy));
        if self.overhead.plan(&self.config, links, &mut space) {
            self.factor = None;
            for ((place, phy), rate) in known.iter().zip(&space.rates) {
                let before = self.streams[*place].planned.replace(Planned { phy: *phy, rate: *rate });
                if let Some(rate) = next(self, *place, *rate, before) {
                    self.set(now, *place, rate);
                }
            }
        }
        self.space = space;
    }
}
