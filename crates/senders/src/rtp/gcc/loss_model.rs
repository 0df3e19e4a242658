//! The loss-based estimate of libwebrtc since 2023: a channel with inherent loss and a bandwidth, fitted to the last reports.
//!
//! A packet sent at rate r over a channel of bandwidth b and inherent loss q is lost with the probability q + (1 - q) (r - b) / r,
//! q where r is below b. Every 250 ms or more of sending make an *observation*. Candidates for b are tried; each gets the q that a
//! Newton step of the log-likelihood finds within bounds, and the best by likelihood and a preference for bandwidth is taken. Random loss
//! of a few percent is so explained by q and costs no rate, while loss that grows with the rate lowers b.
//!
//! | constant | value (field trial `WebRTC-Bwe-LossBasedBweV2`) |
//! |---|---|
//! | observations, shortest, needed | 15 (`ObservationWindowSize`), 250 ms (`ObservationDurationLowerBound`), 3 (`MinNumObservations`) |
//! | weight of one a step older | 0.9 (`TemporalWeightFactor`, `InstantUpperBoundTemporalWeightFactor`) |
//! | candidates | 1.02, 1, 0.95 times b (`CandidateFactors`), the throughput unless application-limited, the delay-based estimate if greater |
//! | Newton | one step of 0.75 (`NewtonIterations`, `NewtonStepSize`) |
//! | inherent loss | from 0.001 to 0.05 + 100 kbit/s / b, at first 0.01 (`InherentLoss…`) |
//! | preference for bandwidth | 0.0002 a kbit/s and 0.02 of its logarithm, reversed above 20 % of loss, softened by 0.002 (`Higher…`, `LossThreshold…`) |
//! | mean loss | of bytes, without the observations of most and least loss (`UseByteLossRate`), unless the worst was sent at twice the median rate (`MedianSendingRateFactor`) |
//! | upper bound | 100 kbit/s / (loss - 0.05) above 5 % (`InstantUpperBound…`); b begins anew from there (`BoundBestCandidate`) |
//! | lower bound | the throughput (`LowerBoundByAckedRateFactor`) |
//! | growth after loss | at most 1.3 in 300 ms (`MaxIncreaseFactor`, `DelayedIncreaseWindow`), to 1.5 times the throughput (`BwRampupUpperBoundFactor`) |
//! | hold after a fall | 300 ms, twice as long each time up to a minute (`HoldDurationFactor`); below 1.3 of its rate growth to 1.2 times the throughput (`…InHoldFactor`, `…HoldThreshold`) |
//! | start | follows the delay-based estimate for 2 s without loss (`kStartPhase`) |
//!
//! Source: `loss_based_bwe_v2.cc` of libwebrtc with the defaults of 2025 (`JumpingYang001/webrtc` 068e6ba6), which Chromium 156 follows
//! (`studies/peers/model.py`). Padding while the estimate grows (`PaddingDuration`) is left out. Before the third observation the delay-based
//! estimate counts.

use std::collections::VecDeque;

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::GccConfig;

const MOST_OBSERVATIONS: usize = 15;
const SHORTEST_OBSERVATION: Span = Span::from_millis(250);
const FEWEST_OBSERVATIONS: usize = 3;
const AGEING: f64 = 0.9;
const CANDIDATES: [f64; 3] = [1.02, 1.0, 0.95];
const NEWTON_STEP: f64 = 0.75;
const LEAST_INHERENT: f64 = 0.001;
const FIRST_INHERENT: f64 = 0.01;
const MOST_INHERENT: f64 = 0.05;
const BALANCE_KBPS: f64 = 100.0;
const BIAS_PER_KBPS: f64 = 0.0002;
const BIAS_OF_LOGARITHM: f64 = 0.02;
const BIAS_THRESHOLD: f64 = 0.2;
const BIAS_SOFTENING: f64 = 0.002;
const BOUND_OFFSET: f64 = 0.05;
const MOST_GROWTH: f64 = 1.3;
const GROWTH_WINDOW: Span = Span::from_millis(300);
/// Largest growth over the throughput, and that in a hold; throughput over the rate held up to which the latter counts.
const RAMP_UP: f64 = 1.5;
const RAMP_UP_IN_HOLD: f64 = 1.2;
const HOLD_THRESHOLD: f64 = 1.3;
const FIRST_HOLD: Span = Span::from_millis(300);
const LONGEST_HOLD: Span = Span::from_secs(60);
const HOLD_GROWTH: u64 = 2;
/// Rate of the worst observation over the median from which on it is no outlier.
const SUDDEN: f64 = 2.0;
const START: Span = Span::from_secs(2);
/// Bounds of a probability whose logarithm is taken.
const LEAST_PROBABILITY: f64 = 1e-6;

/// A packet in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reported {
    pub(super) size: ByteCount,
    pub(super) sent: Instant,
    pub(super) lost: bool,
}

/// Circumstances of a report.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circumstances {
    pub(super) delay_based: BitRate,
    pub(super) throughput: Option<BitRate>,
    pub(super) application_limited: bool,
}

#[derive(Debug, Clone, Copy)]
struct Observation {
    /// In kB.
    lost: f64,
    received: f64,
    sending_kbps: f64,
}

#[derive(Debug, Clone, Copy)]
struct Channel {
    inherent: f64,
    kbps: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    DelayBased,
    Increasing,
    Decreasing,
}

/// The rate that is not exceeded for a while after a fall.
#[derive(Debug, Clone, Copy)]
struct Hold {
    until: Instant,
    next: Span,
    kbps: f64,
}

impl Hold {
    const NONE: Self = Self { until: Instant::ZERO, next: FIRST_HOLD, kbps: f64::INFINITY };
}

#[derive(Debug, Clone)]
pub(super) struct LossModel {
    bounds_kbps: (f64, f64),
    /// The newest first.
    observations: VecDeque<Observation>,
    lost_bits: f64,
    bits: f64,
    /// Departure of the last packet of the last observation.
    observed: Option<Instant>,
    channel: Channel,
    state: State,
    estimate_kbps: f64,
    /// Departure at which growth was last bounded, and the bound.
    recovering: Option<(Instant, f64)>,
    hold: Hold,
    began: Option<Instant>,
    has_lost: bool,
}

fn kbps(rate: BitRate) -> f64 {
    rate.as_bps() as f64 / 1000.0
}

impl Channel {
    fn most_inherent(self) -> f64 {
        if self.kbps <= 0.0 { 1.0 } else { (MOST_INHERENT + BALANCE_KBPS / self.kbps).min(1.0) }
    }

    fn feasible(self) -> Self {
        Self { inherent: self.inherent.max(LEAST_INHERENT).min(self.most_inherent()), ..self }
    }

    fn loss_probability(self, sending_kbps: f64) -> f64 {
        let excess = if sending_kbps > self.kbps { (sending_kbps - self.kbps) / sending_kbps } else { 0.0 };
        let probability = self.inherent + (1.0 - self.inherent) * excess;
        probability.clamp(LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    }
}

impl LossModel {
    pub(super) fn new(config: &GccConfig) -> Self {
        let start = kbps(config.start_rate);
        Self {
            bounds_kbps: (kbps(config.min_rate), kbps(config.max_rate)),
            observations: VecDeque::new(),
            lost_bits: 0.0,
            bits: 0.0,
            observed: None,
            channel: Channel { inherent: FIRST_INHERENT, kbps: start },
            state: State::DelayBased,
            estimate_kbps: start,
            recovering: None,
            hold: Hold::NONE,
            began: None,
            has_lost: false,
        }
    }

    pub(super) fn rate(&self) -> BitRate {
        BitRate::from_bps_f64(self.estimate_kbps * 1000.0)
    }

    /// Lowers the estimate after a long time without reports.
    pub(super) fn back_off(&mut self, factor: f64) {
        self.estimate_kbps = (self.estimate_kbps * factor).max(self.bounds_kbps.0);
        self.channel.kbps = self.channel.kbps.min(self.estimate_kbps);
    }

    /// Takes the packets of a report, each once.
    pub(super) fn on_report(&mut self, now: Instant, packets: &[Reported], of: Circumstances) {
        let delay_based = kbps(of.delay_based);
        let began = *self.began.get_or_insert(now);
        self.has_lost |= packets.iter().any(|packet| packet.lost);
        let has_observed = self.observe(packets);
        if now - began < START && !self.has_lost {
            (self.channel.kbps, self.estimate_kbps) = (delay_based, delay_based);
            self.state = State::DelayBased;
        } else if self.observations.len() < FEWEST_OBSERVATIONS {
            self.estimate_kbps = delay_based;
        } else if has_observed {
            self.estimate(delay_based, of);
        }
    }

    /// Adds packets to the observation that is being made; returns whether that completed it.
    fn observe(&mut self, packets: &[Reported]) -> bool {
        let Some(first) = packets.iter().map(|packet| packet.sent).min() else { return false };
        let last = packets.iter().map(|packet| packet.sent).max().unwrap_or(first);
        let bits = |packet: &Reported| packet.size.bits() as f64;
        self.lost_bits += packets.iter().filter(|packet| packet.lost).map(bits).sum::<f64>();
        self.bits += packets.iter().map(bits).sum::<f64>();
        let begin = *self.observed.get_or_insert(first);
        let duration = last - begin;
        if duration < SHORTEST_OBSERVATION {
            return false;
        }
        self.observed = Some(last);
        let observation = Observation {
            lost: self.lost_bits / 8e3,
            received: (self.bits - self.lost_bits) / 8e3,
            sending_kbps: self.bits / duration.as_secs_f64() / 1000.0,
        };
        self.observations.push_front(observation);
        self.observations.truncate(MOST_OBSERVATIONS);
        (self.lost_bits, self.bits) = (0.0, 0.0);
        true
    }

    /// Fits the channel to the observations and takes the estimate from it.
    fn estimate(&mut self, delay_based: f64, of: Circumstances) {
        let loss = self.average_loss();
        let now = self.observed.unwrap_or(Instant::ZERO);
        let candidates = self.candidates(delay_based, of);
        let mut best: Option<(f64, Channel)> = None;
        for candidate in candidates {
            let candidate = self.fitted(candidate);
            let objective = self.objective(candidate, loss);
            if best.is_none_or(|(found, _)| objective > found) {
                best = Some((objective, candidate));
            }
        }
        let mut best = best.map_or(self.channel, |(_, channel)| channel);
        // No growth while more is lost than the channel explains.
        if loss > best.inherent {
            best.kbps = best.kbps.min(self.channel.kbps);
        }
        let is_limited = self.state != State::DelayBased;
        if let Some((since, bound)) = self.recovering
            && is_limited
            && now - since < GROWTH_WINDOW
        {
            best.kbps = best.kbps.min(bound);
        }
        let throughput = of.throughput.map(kbps);
        let grows =
            |from: f64, to: f64| is_limited && (from < to || from <= to && self.state == State::Increasing);
        if let Some(throughput) = throughput.filter(|_| grows(self.channel.kbps, best.kbps)) {
            let in_hold = throughput < HOLD_THRESHOLD * self.hold.kbps && self.hold.kbps.is_finite();
            let most = throughput * if in_hold { RAMP_UP_IN_HOLD } else { RAMP_UP };
            best.kbps = best.kbps.min(most).max(self.channel.kbps);
            if self.state == State::Decreasing && best.kbps <= self.channel.kbps {
                // As in libwebrtc: what may grow does.
                best.kbps += 0.001;
            }
        }
        let (least, most) = self.bounds_kbps;
        let upper = if loss > BOUND_OFFSET { BALANCE_KBPS / (loss - BOUND_OFFSET) } else { most };
        let lower = throughput.unwrap_or(0.0).max(least);
        let bounded = best.kbps.min(upper).min(delay_based).max(lower);
        let is_below = bounded < delay_based && bounded < most;
        let grows = grows(self.estimate_kbps, bounded);
        self.channel = if bounded < best.kbps {
            Channel { kbps: bounded, inherent: 0.0 }
        } else {
            Channel { kbps: best.kbps.max(lower), ..best }
        };
        if self.state == State::Decreasing && self.hold.until > now && bounded < delay_based {
            self.hold.kbps = self.hold.kbps.max(lower);
            self.estimate_kbps = bounded.min(self.hold.kbps);
            return;
        }
        self.state = match (is_below, grows) {
            (false, _) => {
                self.hold = Hold::NONE;
                State::DelayBased
            }
            (true, true) => State::Increasing,
            (true, false) => {
                if self.state != State::Decreasing {
                    let next = (self.hold.next * HOLD_GROWTH).min(LONGEST_HOLD);
                    self.hold = Hold { until: now + self.hold.next, next, kbps: bounded };
                }
                State::Decreasing
            }
        };
        self.estimate_kbps = bounded;
        if self.state != State::DelayBased
            && self.recovering.is_none_or(|(since, _)| now - since > GROWTH_WINDOW)
        {
            self.recovering = Some((now, (self.channel.kbps * MOST_GROWTH).max(least)));
        }
    }

    fn candidates(&self, delay_based: f64, of: Circumstances) -> impl Iterator<Item = Channel> + use<> {
        let channel = self.channel;
        let throughput = of.throughput.filter(|_| !of.application_limited).map(kbps);
        let delay_based = Some(delay_based).filter(|rate| *rate > channel.kbps);
        let bound = match self.recovering {
            Some((_, bound)) if self.state != State::DelayBased => bound,
            _ => self.bounds_kbps.1,
        };
        let rates = CANDIDATES.map(|factor| factor * channel.kbps).into_iter();
        let rates = rates.chain(throughput).chain(delay_based);
        rates.map(move |rate| Channel { kbps: rate.min(bound.max(channel.kbps)), ..channel }.feasible())
    }

    /// Observations with their weights.
    fn weighted(&self) -> impl Iterator<Item = (f64, &Observation)> {
        let weights = std::iter::successors(Some(1.0), |weight| Some(weight * AGEING));
        weights.zip(&self.observations)
    }

    /// The mean loss without the best and the worst observation: a single spike is no loss of the channel.
    fn average_loss(&self) -> f64 {
        let share = |(_, observation): &(f64, &Observation)| {
            observation.lost / (observation.lost + observation.received).max(LEAST_PROBABILITY)
        };
        let worst = self.weighted().max_by(|one, other| share(one).total_cmp(&share(other)));
        let best = self.weighted().min_by(|one, other| share(one).total_cmp(&share(other)));
        let sum = |of: &mut dyn Iterator<Item = (f64, &Observation)>| {
            of.fold((0.0, 0.0), |(lost, all), (weight, observation)| {
                (lost + weight * observation.lost, all + weight * (observation.lost + observation.received))
            })
        };
        let mut rates: Vec<f64> =
            self.observations.iter().map(|observation| observation.sending_kbps).collect();
        rates.sort_by(f64::total_cmp);
        let median = rates.get(rates.len() / 2).copied().unwrap_or(0.0);
        let (mut lost, mut all) = sum(&mut self.weighted());
        if let Some((worst, best)) = worst.zip(best)
            && self.observations.len() > 3
            && SUDDEN * median > worst.1.sending_kbps
        {
            let (of_outliers, outliers) = sum(&mut [worst, best].into_iter());
            (lost, all) = (lost - of_outliers, all - outliers);
        }
        if all > 0.0 { lost / all } else { 0.0 }
    }

    /// Returns the channel with the inherent loss that a Newton step on the log-likelihood finds.
    fn fitted(&self, channel: Channel) -> Channel {
        let (mut first, mut second) = (0.0, 0.0);
        for (weight, observation) in self.weighted() {
            let lost = channel.loss_probability(observation.sending_kbps);
            let kept = 1.0 - lost;
            first += weight * (observation.lost / lost - observation.received / kept);
            second -= weight * (observation.lost / (lost * lost) + observation.received / (kept * kept));
        }
        // Negative but for observations without packets.
        let second = if second < 0.0 { second } else { -LEAST_PROBABILITY };
        Channel { inherent: channel.inherent - NEWTON_STEP * first / second, ..channel }.feasible()
    }

    fn objective(&self, channel: Channel, loss: f64) -> f64 {
        let distance = BIAS_THRESHOLD - loss;
        let bias = distance / (BIAS_SOFTENING + distance.abs())
            * (BIAS_PER_KBPS * channel.kbps + BIAS_OF_LOGARITHM * libm::log(1.0 + channel.kbps));
        let likelihood = self.weighted().map(|(weight, observation)| {
            let lost = channel.loss_probability(observation.sending_kbps);
            let Observation { lost: of_lost, received, .. } = *observation;
            let fits = of_lost * libm::log(lost) + received * libm::log(1.0 - lost);
            weight * (fits + bias * (of_lost + received))
        });
        likelihood.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty seconds of sending at the estimate over a channel that loses every `lost_of`th packet and what exceeds `bandwidth`; returns the
    /// mean estimate of the last ten. The delay-based estimate is 5 Mbit/s, packets have 1250 B.
    fn after(lost_of: u64, bandwidth_mbps: f64) -> f64 {
        let estimates = estimates(|_, sequence| sequence % lost_of == 0, bandwidth_mbps);
        estimates[100..].iter().sum::<f64>() / 100.0
    }

    /// The estimate each 100 ms for 20 s; `lost` tells by step and packet.
    fn estimates(lost: impl Fn(u64, u64) -> bool, bandwidth_mbps: f64) -> Vec<f64> {
        let mut estimates = Vec::new();
        let config = GccConfig { start_rate: BitRate::from_mbps(2), ..GccConfig::default() };
        let mut model = LossModel::new(&config);
        let delay_based = BitRate::from_mbps(5);
        let (mut sequence, mut passed) = (0_u64, 0.0);
        for step in 0..200 {
            let begin = Instant::ZERO + Span::from_millis(100 * step);
            let count = (model.rate().as_mbps_f64() * 10.0).max(1.0) as u64;
            let packets: Vec<Reported> = (0..count)
                .map(|packet| {
                    sequence += 1;
                    passed += (bandwidth_mbps / model.rate().as_mbps_f64()).min(1.0);
                    let fits = passed >= 1.0;
                    passed -= f64::from(u8::from(fits));
                    let sent = begin + Span::from_micros(100_000 * packet / count);
                    Reported { size: ByteCount::new(1250), sent, lost: !fits || lost(step, sequence) }
                })
                .collect();
            let throughput = Some(BitRate::from_bps(
                packets.iter().filter(|packet| !packet.lost).count() as u64 * 100_000,
            ));
            let of = Circumstances { delay_based, throughput, application_limited: false };
            model.on_report(begin + Span::from_millis(100), &packets, of);
            estimates.push(model.rate().as_mbps_f64());
        }
        estimates
    }

    #[test]
    fn random_loss_of_a_few_percent_costs_no_rate() {
        assert!(after(u64::MAX, 100.0) > 4.99);
        assert!(after(100, 100.0) > 4.9, "{}", after(100, 100.0));
        assert!(after(25, 100.0) > 4.5, "{}", after(25, 100.0));
    }

    #[test]
    fn much_loss_bounds_the_rate() {
        // 100 kbit/s / (0.125 - 0.05) = 1.33 Mbit/s.
        let rate = after(8, 100.0);
        assert!((1.0..1.7).contains(&rate), "{rate}");
    }

    #[test]
    fn a_single_bad_moment_costs_no_more_than_what_did_not_arrive() {
        // Two packets in three for 300 ms, then none.
        let estimates = estimates(|step, sequence| (100..103).contains(&step) && sequence % 3 > 0, 100.0);
        let least = estimates[100..].iter().copied().fold(f64::MAX, f64::min);
        assert!(least > 1.5 && estimates[130..].iter().all(|rate| *rate > 4.9), "{least}, {estimates:?}");
    }

    #[test]
    fn loss_that_grows_with_the_rate_keeps_it_near_the_bandwidth() {
        let rate = after(u64::MAX, 3.0);
        assert!((2.0..3.6).contains(&rate), "{rate}");
    }

    #[test]
    fn silence_and_empty_reports_do_no_harm() {
        let mut model = LossModel::new(&GccConfig::default());
        let of = Circumstances { delay_based: BitRate::ZERO, throughput: None, application_limited: true };
        for _ in 0..5 {
            model.on_report(Instant::ZERO, &[], of);
            model.back_off(0.0);
        }
        assert_eq!(model.rate(), BitRate::from_kbps(30));
    }
}
