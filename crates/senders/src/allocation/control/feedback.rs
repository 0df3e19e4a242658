//! Rates from feedback: algorithms 1 and 2, and the optimum of problem P.

use airbound_units::Instant;

use super::super::config::{Form, LEAST, Share};
use super::super::stream::{fresh_arrivals, fresh_level};
use super::{CHANGED, LEAST_FREE, MAX_RATE, RateAllocator};

impl RateAllocator {
    /// K₀/n in (bit/s) per packet, for a station with this rate and level. A steady allocator keeps it below half of the critical gain: by
    /// lemma 2 the level follows the rate with the slope c / (1 - wᵀx)², which is N / (x (1 - wᵀx)), so that half of it is x (1 - wᵀx) / N.
    fn gain(&self, rate: f64, level: f64) -> f64 {
        let gain = self.config.gain * 1e6 / self.streams.len().max(1) as f64;
        if !self.config.steady {
            return gain;
        }
        let packet = self.config.packet.bits() as f64;
        let cost = (packet + self.config.packet_overhead.bits() as f64) / packet;
        let taken: f64 =
            self.streams.iter().filter_map(|station| Some(cost * station.rate / station.phy?)).sum();
        gain.min(self.overhead.steady_gain(
            &self.config,
            self.streams.len(),
            rate,
            (1.0 - taken).clamp(LEAST_FREE, 1.0),
            level,
        ))
    }

    /// The rate after a step of algorithm 1, from a level that is so far above the target. While a queue drains, more arrives than is
    /// sent, and the level is that of what arrives: a steady allocator takes the step from there, or it would cut a rate that is low
    /// enough in each interval until the queue is gone.
    fn regulated(&self, rate: f64, above: f64, arrived: Option<f64>, gain: impl Fn(f64) -> f64) -> f64 {
        // What a live stream's queue brings is limited by `overload`, and its slots hold too few frames to tell a rate.
        let tells = self.config.steady && !self.config.live && above > 0.0;
        let drains = arrived.filter(|arrived| tells && *arrived > rate);
        let from = drains.unwrap_or(rate);
        let next = from - gain(from) * above;
        if above > 0.0 { next.min(rate) } else { next }
    }

    /// The only station, if its PHY rate is not known. Algorithm 1 regulates it without.
    pub(super) fn lone(&self) -> Option<usize> {
        matches!(&self.streams[..], [stream] if stream.phy.is_none()).then_some(0)
    }

    /// Algorithm 1 with the steady gain of [`Self::gain`], the free time measured.
    fn lone_step(&mut self, now: Instant, place: usize) {
        let stream = &self.streams[place];
        if let Some(level) = stream.fresh_level().filter(|_| self.is_heard(now, place)) {
            let above = level - self.config.target;
            // A queue has to drain; a step up must not exceed what is free.
            let least = if above > 0.0 { LEAST_FREE } else { 0.0 };
            let free = stream.measured_free().clamp(least, 1.0);
            let gain = |rate| {
                let steady = self.overhead.steady_gain(&self.config, 1, rate, free, level);
                (self.config.gain * 1e6).min(steady)
            };
            let rate = self.regulated(stream.rate, above, fresh_arrivals(std::iter::once(stream)), gain);
            self.set(now, place, rate);
        }
    }

    /// Executes one step of algorithm 1 or 2.
    pub(super) fn step(&mut self, now: Instant) {
        for held in self.streams.iter_mut().filter_map(|station| station.held.as_mut()) {
            held.probe();
        }
        if let Some(lone) = self.lone() {
            self.lone_step(now, lone);
            return;
        }
        match self.config.form {
            Form::Distributed => self.with_known(now, |this, known| this.distributed_step(now, known)),
            Form::Central => self.with_known(now, |this, known| this.central_step(now, known)),
        }
    }

    /// Algorithm 1 for each station, which knows the number of stations and its own reports. For the shares of theorem 1 it also needs the
    /// PHY rate of the regulated station.
    fn distributed_step(&mut self, now: Instant, known: &[(usize, f64)]) {
        for &(place, phy) in known {
            let Some(level) = self.streams[place].fresh_level() else { continue };
            let stream = &self.streams[place];
            let (above, arrived) = (level - self.target_of(place), fresh_arrivals(std::iter::once(stream)));
            let rate = self.regulated(stream.rate, above, arrived, |rate| self.gain(rate, level));
            let most = if self.config.share == Share::Optimal { self.fair_share(phy) } else { MAX_RATE };
            self.set(now, place, rate.min(most));
        }
    }

    /// Algorithm 2, with the regulated station chosen as the share demands.
    fn central_step(&mut self, now: Instant, known: &[(usize, f64)]) {
        if self.config.share == Share::Optimal {
            self.hold_at_cap(now, known);
            return;
        }
        let by_rate = |a: &&(usize, f64), b: &&(usize, f64)| a.1.total_cmp(&b.1);
        // The level of a held station says nothing about the shares of others.
        let all_held = known.iter().all(|(place, _)| self.streams[*place].limit().is_some());
        let free = known.iter().filter(|(place, _)| all_held || self.streams[*place].limit().is_none());
        let regulated = match self.config.share {
            Share::Printed => free.min_by(by_rate),
            // The first of several equal ones, unless one is faster.
            _ => free.rev().max_by(by_rate),
        };
        let Some(&(place, phy)) = regulated else { return };
        // The pseudo-code continues from the rate of the regulated station. When the fastest station changes merely by the scatter of
        // measured rates, that rate belongs to a lower PHY rate, and with each change all rates fall. So the ratio is carried over instead.
        // It must not raise all rates when PHY rates rise, as after a start: at the same ratio levels rise with them, since c stays.
        let own =
            known.iter().map(|(place, _)| self.streams[*place].rate).fold(self.streams[place].rate, f64::max);
        let mut rate = match (self.config.share, self.factor) {
            (Share::EqualAirtime, Some(factor)) if self.config.steady => {
                (factor * phy).min(own * (1.0 + CHANGED))
            }
            _ => self.streams[place].rate,
        };
        let id = self.streams[place].id.0;
        let own_streams = self.streams.iter().filter(|stream| stream.id.0 == id);
        if let Some(level) = fresh_level(own_streams.clone()) {
            let (above, arrived) = (level - self.config.target, fresh_arrivals(own_streams));
            rate = self.regulated(rate, above, arrived, |rate| self.gain(rate, level)).max(LEAST);
        }
        self.factor = Some(rate / phy);
        for (other, own) in known {
            self.set(now, *other, rate * own / phy);
        }
    }

    /// The optimum of problem P: one rate for all stations at the target, 1/n of the payload airtime for those below it.
    fn hold_at_cap(&mut self, now: Instant, known: &[(usize, f64)]) {
        let largest = |held: bool| {
            let streams = known.iter().map(|(place, _)| &self.streams[*place]);
            streams
                .filter(|stream| stream.limit().is_some() == held)
                .map(|stream| stream.rate)
                .reduce(f64::max)
        };
        // If all stations are held, the rates that they receive limit all.
        let Some(mut cap) = largest(false).or_else(|| largest(true)) else { return };
        let (least, streams) = (0.999 * cap, &self.streams);
        let at_cap = known.iter().map(|(place, _)| &streams[*place]).filter(|stream| stream.rate >= least);
        if let Some(level) = fresh_level(at_cap.clone()) {
            let above = level - self.config.target;
            cap = self.regulated(cap, above, fresh_arrivals(at_cap), |rate| self.gain(rate, level));
        }
        for (place, phy) in known {
            self.set(now, *place, cap.max(LEAST).min(self.fair_share(*phy)));
        }
    }
}
