//! LastN (Grozev et al., NOSSDAV 2015) as used in Plum's evaluation (Sec. IV-A): only the latest speakers are forwarded.
//!
//! The paper gives neither N nor the change of speakers. In its public code (branch `lastn`) N is one less than the participants, and the
//! paused one draws at each attempt to send, that is at each frame. So here: once in a period each paused participant resumes with the
//! paper's probability of 1/3, and where more than N are active, the next in turn falls silent. A paused participant uploads nothing. The
//! caller supplies random numbers.

use airbound_units::{ConfigError, Instant, Span};
use serde::{Deserialize, Serialize};

/// Configuration of [`LastN`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LastNConfig {
    /// Participants beyond N, of whom nothing is forwarded, 1 to 63; at least two stay active. Default 1 (the public code).
    pub silent: usize,
    /// Interval between changes of speakers, 10 ms to 1 h. Default 50 ms, a frame at 20 fps (the public code).
    pub period: Span,
    /// Probability that a paused participant resumes at a change, 0 to 1. Default 1/3 (Sec. IV-A).
    pub resume: f64,
}

impl Default for LastNConfig {
    fn default() -> Self {
        Self { silent: 1, period: Span::from_millis(50), resume: 1.0 / 3.0 }
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
        let Self { silent, period, resume } = *self;
        ConfigError::check((1..=63).contains(&silent), "silent", silent, "1 to 63")?;
        let periods = Span::from_millis(10)..=Span::from_secs(3600);
        ConfigError::check(periods.contains(&period), "period", period, "10 ms to 1 h")?;
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
        let latest = self.paused.len().saturating_sub(self.config.silent).max(2);
        let active = self.paused.iter().filter(|paused| !**paused).count();
        if active > latest {
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
        let config = LastNConfig { silent: 2, period: Span::from_secs(5), ..LastNConfig::default() };
        let mut session = LastN::new(config, 8).expect("valid");
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

    #[test]
    fn the_one_that_is_paused_changes_every_third_frame_and_two_always_speak() {
        let mut session = LastN::new(LastNConfig::default(), 8).expect("valid");
        let paused = |session: &LastN| (0..8).position(|index| session.is_paused(index));
        let (mut now, mut last, mut changes) = (Instant::ZERO, None, 0);
        for frame in 0..300 {
            now += Span::from_millis(50);
            session.on_deadline(now, || f64::from(frame % 3) / 3.0);
            let present = paused(&session);
            assert!(present.is_some());
            changes += u32::from(present != last);
            last = present;
        }
        assert_eq!(changes, 100);
        let config = LastNConfig { silent: 63, ..LastNConfig::default() };
        let mut few = LastN::new(config, 3).expect("valid");
        (1..100).for_each(|frame| few.on_deadline(Instant::ZERO + Span::from_millis(50) * frame, || 0.9));
        assert_eq!((0..3).filter(|index| few.is_paused(*index)).count(), 1);
    }
}
