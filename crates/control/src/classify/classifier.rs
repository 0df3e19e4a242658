//! Verdicts on flows, and how long they hold.

use std::collections::BTreeMap;

use airbound_units::{ByteCount, Instant, Span};

use super::config::ClassifierConfig;
use super::history::{History, PARTS};
use super::pattern::Pattern;
use super::rhythm::Folder;
use crate::error::ConfigError;
use crate::frame::FlowId;

/// A weak rhythm that does not recur within this number of windows was chance.
const SUSPICION_WINDOWS: u64 = 3;

/// Relative difference up to which two rates are the same: a window of two seconds resolves 30 and 30.3 frames a second.
const SAME_RATE: f64 = 0.01;

/// A changed verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// The flow is a low-latency elephant, for this pattern.
    Found(Pattern),
    /// The flow is no longer one.
    Lost,
}

/// A watched flow.
#[derive(Debug, Clone)]
struct Watched {
    history: History,
    /// The latest pattern with a rhythm.
    pattern: Option<Pattern>,
    /// Time and rate of a rhythm too weak to be accepted at once.
    suspicion: Option<(Instant, f64)>,
    /// Time of the latest judgement that confirmed a found flow; `None` if it is not found.
    kept: Option<Instant>,
}

/// Distinguishes low-latency elephants from other flows by the arrival times of their packets. See [`crate::classify`].
///
/// Call [`FlowClassifier::on_packet`] for each packet that enters a queue. A found flow that falls silent has no packets to be judged
/// by: [`FlowClassifier::next_silent`] returns it.
#[derive(Debug, Clone)]
pub struct FlowClassifier {
    config: ClassifierConfig,
    /// An eighth of the window.
    part: Span,
    flows: BTreeMap<FlowId, Watched>,
    /// Number of found flows.
    found: usize,
    folder: Folder,
    /// Latest time observed.
    now: Instant,
}

impl FlowClassifier {
    /// Creates a classifier without flows.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for a value of `config` out of range.
    pub fn new(config: ClassifierConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            part: config.window / PARTS as u64,
            flows: BTreeMap::new(),
            found: 0,
            folder: Folder::new(),
            now: Instant::ZERO,
            config,
        })
    }

    /// Notes a packet of `size` that enters the queue at `now`. Returns the change if the verdict on its flow changes.
    pub fn on_packet(&mut self, now: Instant, flow: FlowId, size: ByteCount) -> Option<Change> {
        self.now = self.now.max(now);
        let (now, config) = (self.now, &self.config);
        if !self.flows.contains_key(&flow) && self.flows.len() >= config.flows && !self.make_room() {
            return None;
        }
        let new =
            || Watched { history: History::new(now, self.part), pattern: None, suspicion: None, kept: None };
        let watched = self.flows.entry(flow).or_insert_with(new);
        let advanced = watched.history.advance(now, self.part);
        let change =
            if advanced { watched.judge(&self.config, &mut self.folder, now, self.part) } else { None };
        watched.history.add(now, size, self.config.gap);
        match change {
            Some(Change::Found(_)) => self.found += 1,
            Some(Change::Lost) => self.found -= 1,
            None => {}
        }
        change
    }

    /// The pattern for which a flow is found; `None` if it is not found.
    #[must_use]
    pub fn pattern(&self, flow: FlowId) -> Option<Pattern> {
        let watched = self.flows.get(&flow)?;
        watched.kept?;
        watched.pattern
    }

    /// Returns a found flow that has been silent for longer than [`ClassifierConfig::hold`] at `now`, and drops its verdict; each flow
    /// is returned once.
    pub fn next_silent(&mut self, now: Instant) -> Option<FlowId> {
        self.now = self.now.max(now);
        if self.found == 0 {
            return None;
        }
        let (now, hold) = (self.now, self.config.hold);
        let is_silent =
            |watched: &Watched| watched.kept.is_some() && now.since(watched.history.last()) > hold;
        let flow = *self.flows.iter().find(|(_, watched)| is_silent(watched))?.0;
        self.flows.remove(&flow);
        self.found -= 1;
        Some(flow)
    }

    /// The instant at which the first found flow will have been silent for too long; `None` if no flow is found.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let found = self.flows.values().filter(|watched| watched.kept.is_some());
        found.map(|watched| watched.history.last() + self.config.hold + Span::from_nanos(1)).min()
    }

    /// Number of found flows.
    #[must_use]
    pub const fn found(&self) -> usize {
        self.found
    }

    /// Number of watched flows.
    #[must_use]
    pub fn watched(&self) -> usize {
        self.flows.len()
    }

    /// Forgets the longest silent flow that is not found. Returns whether there was one.
    fn make_room(&mut self) -> bool {
        let others = self.flows.iter().filter(|(_, watched)| watched.kept.is_none());
        let Some(flow) = others.min_by_key(|(_, watched)| watched.history.last()).map(|(flow, _)| *flow)
        else {
            return false;
        };
        self.flows.remove(&flow);
        true
    }
}

impl Watched {
    /// Updates the verdict at the end of a part of the window.
    fn judge(
        &mut self,
        config: &ClassifierConfig,
        folder: &mut Folder,
        now: Instant,
        part: Span,
    ) -> Option<Change> {
        self.history.forget(now - config.window);
        let rate = self.history.rate(part);
        let least = if self.kept.is_some() { config.least_rate.mul_f64(0.5) } else { config.least_rate };
        // The scan is expensive: only elephants are scanned, and only after half a window.
        let pattern = if rate >= least && self.history.parts() * 2 >= PARTS {
            let rhythm = folder.find(self.history.bursts(), config.least_frame_rate, config.most_frame_rate);
            rhythm.map(|rhythm| Pattern {
                rate,
                frame_rate: rhythm.rate,
                bursts_on_beat: rhythm.bursts_on_beat,
                bytes_on_beat: rhythm.bytes_on_beat,
                beats_met: rhythm.beats_met,
                strength: rhythm.strength,
            })
        } else {
            None
        };
        let Some(kept) = self.kept else {
            let pattern = pattern.filter(|pattern| {
                pattern.strength >= config.suspected_at && pattern.bytes_on_beat >= config.found_on_beat
            })?;
            if pattern.strength < config.found_at
                && !self.is_seen_again(now, config.window, pattern.frame_rate)
            {
                return None;
            }
            self.pattern = Some(pattern);
            self.suspicion = None;
            self.kept = Some(now);
            return Some(Change::Found(pattern));
        };
        if let Some(pattern) = pattern.filter(|pattern| pattern.strength >= config.lost_at) {
            self.pattern = Some(pattern);
            self.kept = Some(now);
        } else if now.since(kept) > config.hold {
            self.kept = None;
            return Some(Change::Lost);
        }
        None
    }

    /// Whether the same weak rhythm of `rate` was seen a window before `now`. If not, it is remembered.
    fn is_seen_again(&mut self, now: Instant, window: Span, rate: f64) -> bool {
        let Some((then, remembered)) = self.suspicion else {
            self.suspicion = Some((now, rate));
            return false;
        };
        let age = now.since(then);
        if age > window * SUSPICION_WINDOWS || (rate - remembered).abs() > SAME_RATE * rate {
            // Another rate, or one not seen since: treated as chance for now.
            self.suspicion = Some((now, rate));
            return false;
        }
        age >= window
    }
}
