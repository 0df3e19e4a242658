//! LastN (Grozev et al., NOSSDAV 2015) as used in Plum's evaluation (Sec. IV-A): only the latest speakers are forwarded.
//!
//! The paper gives neither N nor the change of speakers. Here the number of active speakers is configured; once in a period one active
//! participant in turn falls silent, and each silent one resumes with the paper's probability of 1/3. A paused participant uploads nothing.
//! The caller supplies random numbers.

use airbound_units::{ConfigError, Instant, Span};
use serde::{Deserialize, Serialize};

/// Configuration of [`LastN`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LastNConfig {
    /// Least share of participants that are forwarded, above 0 to 1. Default 0.75.
    pub active: f64,
    /// Interval between changes of speakers, 100 ms to 1 h. Default 5 s.
    pub period: Span,
    /// Probability that a paused participant resumes at a change, 0 to 1. Default 1/3 (Sec. IV-A).
    pub resume: f64,
}

impl Default for LastNConfig {
    fn default() -> Self {
        Self { active: 0.75, period: Span::from_secs(5), resume: 1.0 / 3.0 }
    }
}

/// Selection of the forwarded participants.
#[derive(Debug, Clone)]
pub struct LastN {
    config: LastNConfig,
    paused: Vec<bool>,
    /// Index at which the search for the next participant to pause starts.
    turn: usize,
    next: Instant,
}

impl LastNConfig {
    /// Checks every value.
    ///
    /// # Errors
    /// The first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let Self { active, period, resume } = *self;
        ConfigError::check(active > 0.0 && active <= 1.0, "active", active, "above 0 to 1")?;
        let periods = Span::from_millis(100)..=Span::from_secs(3600);
        ConfigError::check(periods.contains(&period), "period", period, "100 ms to 1 h")?;
        ConfigError::check((0.0..=1.0).contains(&resume), "resume", resume, "0 to 1")
    }
}

impl LastN {
    /// Creates a session in which all participants speak.
    ///
    /// # Errors
    /// The first value of `config` out of range.
    pub fn new(config: LastNConfig, participants: usize) -> Result<Self, ConfigError> {
        config.check()?;
        let next = Instant::ZERO + config.period;
        Ok(Self { config, paused: vec![false; participants], turn: 0, next })
    }

    /// When the next change of speakers is due.
    #[must_use]
    pub const fn next_deadline(&self) -> Instant {
        self.next
    }

    /// Changes speakers if it is due; `draw` returns random numbers from 0 to 1.
    pub fn on_deadline(&mut self, now: Instant, mut draw: impl FnMut() -> f64) {
        if now < self.next {
            return;
        }
        self.next = now + self.config.period;
        for paused in &mut self.paused {
            if *paused && draw() < self.config.resume {
                *paused = false;
            }
        }
        let least = libm::ceil(self.config.active * self.paused.len() as f64) as usize;
        let active = self.paused.iter().filter(|paused| !**paused).count();
        if active > least {
            let count = self.paused.len();
            let next = (0..count).map(|step| (self.turn + step) % count).find(|index| !self.paused[*index]);
            if let Some(index) = next {
                self.paused[index] = true;
                self.turn = index + 1;
            }
        }
    }

    /// Whether a participant is paused.
    #[must_use]
    pub fn is_paused(&self, participant: usize) -> bool {
        self.paused.get(participant).copied().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_participant_falls_silent_each_period_but_enough_stay() {
        let mut session = LastN::new(LastNConfig::default(), 8).expect("valid");
        let mut now = Instant::ZERO;
        for _ in 0..100 {
            now += Span::from_secs(5);
            session.on_deadline(now, || 0.9);
            assert!((0..8).filter(|index| session.is_paused(*index)).count() <= 2);
        }
        assert_eq!((0..8).filter(|index| session.is_paused(*index)).count(), 2);
        session.on_deadline(now + Span::from_secs(5), || 0.1);
        assert_eq!(
            (0..8).filter(|index| session.is_paused(*index)).count(),
            1,
            "all resumed, one fell silent"
        );
    }
}
