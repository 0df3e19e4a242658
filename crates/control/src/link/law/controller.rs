//! The decisions for one receiver: rate, hardware tries and software retransmissions of each transmission (Sec. 3.4,
//! algorithm 1).

use airbound_units::Span;
use airbound_wifi::rate::{Legacy, Rate};

use super::averages::Averages;
use super::config::{
    CleanUpRate, Equality, FailedTime, FirstRate, LawConfig, NeverSent, ProbeRetransmission, RateMin,
};
use super::equations::threshold;
use super::probe::{Probe, ProbeOutcome};

/// The state of rate and retransmission control.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LawState {
    /// Normal rate adaptation.
    #[default]
    Stable,
    /// Packets are sent at the next higher rate to test it.
    Probing,
    /// The queue is too long or too old: strict limits on tries.
    CleanUp,
}

impl LawState {
    /// The stable name used in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Probing => "probing",
            Self::CleanUp => "clean-up",
        }
    }
}

/// Rate and tries of a transmission of a PSDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attempt {
    /// Index in the rate set.
    pub(super) rate: usize,
    /// Hardware tries.
    pub(super) tries: u8,
    /// The probe that it belongs to.
    pub(super) probe: Option<u32>,
}

/// Outcome of a software transmission.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transmission {
    /// Index in the rate set.
    pub(super) rate: usize,
    pub(super) time: Span,
    pub(super) mpdus: usize,
    /// Share of acknowledged MPDUs.
    pub(super) arrived: f64,
    /// Whether it reached the air.
    pub(super) sent: bool,
    /// Whether the PSDU had not been pushed before.
    pub(super) first: bool,
}

impl Transmission {
    /// Time counted in the averages over all packets.
    pub(super) fn counted_time(&self, config: &LawConfig) -> Span {
        match config.failed_time {
            FailedTime::LimitH if self.arrived <= 0.0 => config.limit_h,
            _ => self.time.min(config.limit_h),
        }
    }
}

/// Controls one receiver. Symbols are those of table 2.
#[derive(Debug, Clone)]
pub(super) struct Controller {
    rates: Vec<Rate>,
    /// Rate used if the rate set is empty.
    lowest: Rate,
    /// T_i and S_i.
    averages: Vec<Averages>,
    state: LawState,
    /// Rate.
    rate: usize,
    /// Rate_prev.
    previous: usize,
    /// N_suc.
    successes: u32,
    /// N_ret.
    retransmissions: u32,
    /// N_prob.
    failed_probes: u32,
    probe: Probe,
    /// Consecutive losses, for any reason.
    losses: u32,
    /// Consecutive drops after a transmission in the clean-up state.
    drops: u32,
}

impl Controller {
    /// Creates a controller over one or more `rates`, the slowest first.
    pub(super) fn new(rates: Vec<Rate>, config: &LawConfig) -> Self {
        let highest = rates.len().saturating_sub(1);
        let rate = match config.first_rate {
            FirstRate::Lowest => 0,
            FirstRate::Middle => highest / 2,
            FirstRate::Highest => highest,
        };
        Self {
            averages: vec![Averages::default(); rates.len()],
            lowest: rates.first().copied().unwrap_or(Rate::legacy(Legacy::Mbps6)),
            rates,
            state: LawState::default(),
            rate,
            previous: rate,
            successes: 0,
            retransmissions: 0,
            failed_probes: 0,
            probe: Probe::default(),
            losses: 0,
            drops: 0,
        }
    }

    pub(super) const fn state(&self) -> LawState {
        self.state
    }

    /// Index of the current rate in the rate set.
    pub(super) const fn rate(&self) -> usize {
        self.rate
    }

    /// The rate at an index of the rate set.
    pub(super) fn rate_at(&self, place: usize) -> Rate {
        self.rates.get(place).copied().unwrap_or(self.lowest)
    }

    /// Rate.
    pub(super) fn current_rate(&self) -> Rate {
        self.rate_at(self.rate)
    }

    pub(super) const fn successes(&self) -> u32 {
        self.successes
    }

    pub(super) const fn retransmissions(&self) -> u32 {
        self.retransmissions
    }

    pub(super) const fn failed_probes(&self) -> u32 {
        self.failed_probes
    }

    pub(super) const fn losses(&self) -> u32 {
        self.losses
    }

    /// T_i and S_i of the current rate.
    pub(super) fn current_averages(&self) -> Averages {
        self.averages.get(self.rate).copied().unwrap_or_default()
    }

    /// Thr_p; in the clean-up state without the failed probes (Sec. 3.4).
    pub(super) fn threshold(&self, config: &LawConfig) -> u32 {
        let index =
            u32::try_from(self.rate).unwrap_or(u32::MAX).saturating_add(config.first_rate_index.into());
        let failed = if self.state == LawState::CleanUp { 0 } else { self.failed_probes };
        threshold(failed, index, config.threshold_cap)
    }

    fn is_highest(&self) -> bool {
        self.rate + 1 >= self.rates.len()
    }

    /// Sets a new rate and resets all counts (Sec. 3.4). Saving a rate, trying one and returning to it do not: if they reset
    /// N_suc, a queue around Len_max would keep a slow Rate_prev for ever.
    const fn decide(&mut self, rate: usize) {
        if rate != self.rate {
            self.rate = rate;
            self.successes = 0;
            self.retransmissions = 0;
            self.failed_probes = 0;
            self.drops = 0;
        }
    }

    /// Rate_min; `None` before the first transmission.
    fn rate_min(&self, config: &LawConfig) -> Option<usize> {
        let cost = |averages: &Averages| {
            let seconds = averages.seconds_per_mpdu()?;
            match config.rate_min {
                RateMin::TxTime => Some(seconds),
                // Nothing is delivered: no time is long enough.
                RateMin::TxTimePerSuccess => Some(seconds / averages.success()?.max(1e-6)),
            }
        };
        let known =
            self.averages.iter().enumerate().filter_map(|(place, averages)| Some((cost(averages)?, place)));
        known.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, place)| place)
    }

    /// Rate and tries of the next fresh PSDU.
    pub(super) fn attempt(&mut self, config: &LawConfig) -> Attempt {
        if self.state == LawState::Stable && !self.is_highest() && self.successes >= self.threshold(config) {
            self.state = LawState::Probing;
            self.previous = self.rate;
            self.rate += 1;
            self.probe.begin();
        }
        match self.state {
            LawState::Stable => Attempt { rate: self.rate, tries: config.tries, probe: None },
            LawState::Probing if self.probe.send(config.probe_packets) => {
                Attempt { rate: self.rate, tries: config.probe_tries, probe: Some(self.probe.round) }
            }
            // The number of probe packets is limited; until they are settled, the others use the previous rate.
            LawState::Probing => Attempt { rate: self.previous, tries: config.tries, probe: None },
            LawState::CleanUp => Attempt { rate: self.rate, tries: config.clean_up_tries, probe: None },
        }
    }

    /// Rate and tries of the retransmission of a returned PSDU; `probe` is the one it belonged to.
    pub(super) fn retransmission_attempt(&mut self, config: &LawConfig, probe: Option<u32>) -> Attempt {
        match self.state {
            LawState::Stable => Attempt { rate: self.rate, tries: config.tries, probe },
            LawState::CleanUp => Attempt { rate: self.rate, tries: config.clean_up_tries, probe },
            LawState::Probing => match config.probe_retransmission {
                ProbeRetransmission::Probed if probe == Some(self.probe.round) => {
                    Attempt { rate: self.rate, tries: config.probe_tries, probe }
                }
                _ => Attempt { rate: self.previous, tries: config.tries, probe },
            },
        }
    }

    /// Permitted software retransmissions of the current packet.
    pub(super) fn permitted(&self, config: &LawConfig) -> u8 {
        let clean_up = self.state == LawState::CleanUp;
        let base = if clean_up { config.clean_up_retransmissions } else { config.software_retransmissions };
        let extra = config.extra_after_losses > 0
            && self.losses >= config.extra_after_losses
            && (!clean_up || config.extra_in_clean_up);
        base.saturating_add(u8::from(extra))
    }

    /// Updates averages and counts after a software transmission. Counts of the current rate include only transmissions at
    /// that rate.
    pub(super) fn on_transmission(&mut self, end: &Transmission, config: &LawConfig) {
        if !end.sent && config.never_sent == NeverSent::Apart {
            return;
        }
        let time = end.counted_time(config);
        if let Some(averages) = self.averages.get_mut(end.rate) {
            averages.add(time, end.arrived, end.mpdus, config.weight_rate);
        }
        if end.rate != self.rate {
            return;
        }
        if end.arrived < config.success_share {
            self.successes = 0;
            return;
        }
        self.successes = self.successes.saturating_add(1);
        if end.first {
            self.retransmissions = 0;
        }
        if self.state == LawState::CleanUp && !self.is_highest() && self.successes >= self.threshold(config) {
            self.decide(self.rate + 1);
        }
    }

    /// Notes that a PSDU sent at the index `rate` is about to be pushed again.
    pub(super) fn on_retransmission(&mut self, rate: usize, config: &LawConfig) {
        if rate != self.rate {
            return;
        }
        self.retransmissions = self.retransmissions.saturating_add(1);
        if self.state == LawState::Stable
            && self.retransmissions >= config.rate_down_retransmissions
            && !self.is_low_enough(config)
        {
            self.decide(self.rate - 1);
        }
    }

    /// Whether no lower rate helps: there is none, or the next one has been tried and Rate_min is not below the current one.
    fn is_low_enough(&self, config: &LawConfig) -> bool {
        let Some(lower) = self.rate.checked_sub(1) else { return true };
        let tried = self.averages.get(lower).is_some_and(|averages| averages.time().is_some());
        config.stop_at_rate_min && tried && self.rate_min(config).is_some_and(|least| least >= self.rate)
    }

    /// Notes that a probe packet was delivered or given up.
    pub(super) fn on_probe(&mut self, outcome: ProbeOutcome, config: &LawConfig) {
        if self.state != LawState::Probing || outcome.round != self.probe.round {
            return;
        }
        let before = self.averages.get(self.previous).and_then(Averages::seconds_per_mpdu);
        let Some(success) = self.probe.settle(outcome, config.probe_packets, before) else { return };
        self.state = LawState::Stable;
        if success {
            self.failed_probes = 0;
        } else {
            self.rate = self.previous;
            self.failed_probes = self.failed_probes.saturating_add(1);
        }
        self.successes = 0;
        self.retransmissions = 0;
    }

    /// Notes that a packet was delivered.
    pub(super) const fn on_delivered(&mut self) {
        self.losses = 0;
        self.drops = 0;
    }

    /// Notes that a packet was dropped, after a transmission at the index `sent_at` or while it waited.
    pub(super) fn on_lost(&mut self, sent_at: Option<usize>, config: &LawConfig) {
        self.losses = self.losses.saturating_add(1);
        let counts = sent_at.map_or(config.rate_down_expired, |rate| rate == self.rate);
        if self.state != LawState::CleanUp || !counts {
            return;
        }
        self.drops = self.drops.saturating_add(1);
        if self.drops >= config.rate_down_drops {
            self.drops = 0;
            self.decide(self.rate.saturating_sub(1));
        }
    }

    /// Notes that a packet's latency exceeds Limit_q (algorithm 1, line 4).
    pub(super) fn on_too_old(&mut self, config: &LawConfig) {
        self.enter_clean_up(config);
    }

    /// Compares the `waiting` packets with Len_max when one enters the driver queue (algorithm 1, line 13).
    pub(super) fn on_enqueued(&mut self, waiting: usize, len_max: Option<f64>, config: &LawConfig) {
        let Some(len_max) = len_max else { return };
        let waiting = waiting as f64;
        if waiting > len_max || (config.equality == Equality::Enter && waiting >= len_max) {
            self.enter_clean_up(config);
        }
    }

    /// Compares the `waiting` packets with Len_max when one within Limit_q is pushed or returned (algorithm 1, line 8).
    pub(super) fn on_passed(&mut self, waiting: usize, len_max: Option<f64>, config: &LawConfig) {
        if self.state != LawState::CleanUp {
            return;
        }
        let length = waiting as f64;
        let short = len_max.is_none_or(|len_max| {
            length < len_max || (config.equality == Equality::Leave && length <= len_max)
        });
        if short || (config.leave_when_empty && waiting == 0) {
            self.state = LawState::Stable;
            self.rate = self.previous.min(self.rates.len().saturating_sub(1));
        }
    }

    fn enter_clean_up(&mut self, config: &LawConfig) {
        let was = std::mem::replace(&mut self.state, LawState::CleanUp);
        match was {
            LawState::CleanUp if config.keep_previous_rate => return,
            // Return to the rate before the probe.
            LawState::Probing => self.rate = self.previous,
            LawState::Stable | LawState::CleanUp => self.previous = self.rate,
        }
        self.drops = 0;
        if config.clean_up_rate == CleanUpRate::RateMin
            && let Some(least) = self.rate_min(config)
        {
            self.rate = least;
        }
    }
}
