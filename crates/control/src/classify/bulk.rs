//! Bulk transfers: flows that fill the queue because their congestion control reacts to loss and not to delay.
//!
//! "Latency-sensitive applications keep the network buffer low, while loss-sensitive traffic tries to fill the buffer first" (Law, Sec. 5).
//! A link layer that drops late packets hides the difference: each loss makes CUBIC or Reno back off before the buffer is full. An elephant
//! without a rhythm is therefore put on **trial**: for some seconds its packets take a path without early drops. A flow that fills the
//! buffer there is bulk for as long as it does so; any other flow is not tried again for a pause, which doubles with each trial.
//!
//! ```text
//!             elephant without rhythm            stands in the queue
//!  watched ─────────────────────────────▶ tried ─────────────────────▶ bulk
//!     ▲                                     │                            │
//!     └────────── pause: 30 s, 60 s, … ◀────┴── time is up, a rhythm, ◀──┘ the queue empties,
//!                                               losses without end        losses without end
//! ```
//!
//! A flow fills the buffer if it has a *standing queue* (Nichols and Jacobson, RFC 8289, Sec. 3.1): at least one packet in the queue at
//! every moment of an interval of 100 ms. A flow that keeps sending in spite of heavy loss fills the buffer too, but is not loss-sensitive:
//! congestion control would slow it down.

use std::collections::BTreeMap;

use airbound_units::{BitRate, ByteCount, Instant, Span};
use serde::{Deserialize, Serialize};

use super::{ClassifierConfig, FlowClassifier};
use crate::error::ConfigError;
use crate::frame::FlowId;

/// An interval longer than the round trips over which a queue absorbs bursts (RFC 8289, Sec. 4.2).
const INTERVAL: Span = Span::from_millis(100);

/// Intervals in the observation window: 2 s, the length over which a rhythm is judged.
const INTERVALS: u32 = 20;

/// Weight of one interval in the averages of rate and loss.
const WEIGHT: f64 = 0.1;

/// Upper limit on how often the pause after a trial doubles.
const MOST_DOUBLINGS: u32 = 5;

/// Upper limit on watched flows; beyond it the flow that was silent longest is forgotten.
const MOST_FLOWS: usize = 256;

/// Criteria of a bulk transfer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct BulkConfig {
    /// The least rate of a flow that is tried: 1 Mbit/s. Calls, games and page loads stay below it. 100 kbit/s to 10 Gbit/s.
    pub least_rate: BitRate,
    /// Duration of a trial: 5 s, in which CUBIC and Reno gain the 100 packets that 50 Mbit/s over 25 ms hold. 500 ms to 60 s.
    pub trial: Span,
    /// Pause after the first trial in which a flow did not fill the buffer: 30 s. Each further trial doubles it, up to 16 min. 1 s to 1 h.
    pub pause: Span,
    /// Share of the last 2 s in which a flow on trial needs a standing queue to be classified as bulk: 0.5. `lost-at` to 1.
    pub found_at: f64,
    /// At or below this share a flow stops being bulk: 0.1. 0 to `found-at`.
    pub lost_at: f64,
    /// A flow that loses a larger share of its packets and still reaches the least rate is not loss-sensitive: 0.1. Above 0 to 1.
    pub most_loss: f64,
}

impl Default for BulkConfig {
    fn default() -> Self {
        Self {
            least_rate: BitRate::from_mbps(1),
            trial: Span::from_secs(5),
            pause: Span::from_secs(30),
            found_at: 0.5,
            lost_at: 0.1,
            most_loss: 0.1,
        }
    }
}

impl BulkConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for the first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let check = |valid, key, value: &dyn std::fmt::Display, allowed| {
            ConfigError::check(valid, key, value, allowed)
        };
        let rate = (100_000..=10_000_000_000).contains(&self.least_rate.as_bps());
        check(rate, "classic.least-rate", &self.least_rate, "100 kbit/s to 10 Gbit/s")?;
        let trial = (Span::from_millis(500)..=Span::from_secs(60)).contains(&self.trial);
        check(trial, "classic.trial", &self.trial, "500 ms to 60 s")?;
        let pause = (Span::from_secs(1)..=Span::from_secs(3600)).contains(&self.pause);
        check(pause, "classic.pause", &self.pause, "1 s to 1 h")?;
        let found = self.found_at > 0.0 && self.found_at <= 1.0;
        check(found, "classic.found-at", &self.found_at, "above 0, up to 1")?;
        let lost = self.lost_at >= 0.0 && self.lost_at < self.found_at;
        check(lost, "classic.lost-at", &self.lost_at, "0 and more, below classic.found-at")?;
        let loss = self.most_loss > 0.0 && self.most_loss <= 1.0;
        check(loss, "classic.most-loss", &self.most_loss, "above 0, up to 1")
    }
}

/// Verdict on a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Not known to fill the queue.
    Watched,
    /// On trial.
    Tried,
    /// Fills the queue.
    Bulk,
}

#[derive(Debug, Clone)]
struct Flow {
    verdict: Verdict,
    /// Start of the present verdict.
    since: Instant,
    /// Earliest start of the next trial.
    rests_until: Instant,
    trials: u32,
    /// Packets of the flow in the queue and below it.
    pending: usize,
    interval_end: Instant,
    /// Whether packets were pending at every moment of the present interval.
    stands: bool,
    /// Whether the flow had a standing queue, one bit for each of the last intervals; the lowest bit is the latest.
    stood: u32,
    /// Packets and bytes of the present interval, and the packets lost in it.
    count: Count,
    /// Moving average of these over past intervals.
    mean: Count,
    last: Instant,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    bytes: f64,
    packets: f64,
    lost: f64,
}

impl Flow {
    fn new(now: Instant) -> Self {
        Self {
            verdict: Verdict::Watched,
            since: now,
            rests_until: now,
            trials: 0,
            pending: 0,
            interval_end: now + INTERVAL,
            stands: false,
            stood: 0,
            count: Count::default(),
            mean: Count::default(),
            last: now,
        }
    }

    /// Ends the intervals that have passed by `now`. Returns whether there were any.
    fn advance(&mut self, now: Instant) -> bool {
        if now < self.interval_end {
            return false;
        }
        let passed = now.since(self.interval_end).div_floor(INTERVAL) + 1;
        // After four windows no past interval counts.
        for _ in 0..passed.min(4 * u64::from(INTERVALS)) {
            self.stood = (self.stood << 1 | u32::from(self.stands)) & ((1 << INTERVALS) - 1);
            self.stands = self.pending > 0;
            let Count { bytes, packets, lost } = std::mem::take(&mut self.count);
            self.mean.bytes += WEIGHT * (bytes - self.mean.bytes);
            self.mean.packets += WEIGHT * (packets - self.mean.packets);
            self.mean.lost += WEIGHT * (lost - self.mean.lost);
        }
        self.interval_end += INTERVAL * passed;
        true
    }

    fn rate(&self) -> f64 {
        8.0 * self.mean.bytes / INTERVAL.as_secs_f64()
    }

    fn becomes(&mut self, verdict: Verdict, now: Instant) {
        self.verdict = verdict;
        self.since = now;
    }

    /// Updates the verdict at the end of an interval. `has_rhythm`: the flow is sent in frames at a constant rate.
    fn judge(&mut self, now: Instant, has_rhythm: bool, config: &BulkConfig) {
        let loses = self.mean.lost > config.most_loss * self.mean.packets;
        let standing = f64::from(self.stood.count_ones()) / f64::from(INTERVALS);
        let age = now.since(self.since);
        match self.verdict {
            Verdict::Watched => {
                let is_elephant = self.rate() >= config.least_rate.as_bps() as f64;
                // A rhythm is recognised only after a whole window.
                let is_known = age >= INTERVAL * u64::from(INTERVALS) && now >= self.rests_until;
                if is_elephant && is_known && !has_rhythm && !loses {
                    self.stood = 0;
                    self.becomes(Verdict::Tried, now);
                }
            }
            Verdict::Tried if standing >= config.found_at && !has_rhythm && !loses => {
                self.trials = 0;
                self.becomes(Verdict::Bulk, now);
            }
            Verdict::Tried if has_rhythm || loses || age >= config.trial => self.rest(now, config),
            // The acknowledgements of a standing queue clock the flow; any rhythm seen then is chance.
            Verdict::Bulk if loses => self.rest(now, config),
            Verdict::Bulk if standing <= config.lost_at => self.becomes(Verdict::Watched, now),
            Verdict::Tried | Verdict::Bulk => {}
        }
    }

    /// Starts the pause before the next trial.
    fn rest(&mut self, now: Instant, config: &BulkConfig) {
        self.rests_until = now + config.pause * (1 << self.trials.min(MOST_DOUBLINGS));
        self.trials = self.trials.saturating_add(1);
        self.becomes(Verdict::Watched, now);
    }
}

/// Distinguishes bulk transfers from other flows by their effect on the queue.
///
/// Feed it every packet that enters the queue, and every packet that leaves the queue or the hardware for good.
#[derive(Debug, Clone)]
pub struct BulkDetector {
    config: BulkConfig,
    flows: BTreeMap<FlowId, Flow>,
    rhythms: FlowClassifier,
    /// Latest time observed.
    now: Instant,
}

impl BulkDetector {
    /// Creates a detector without flows.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for a value of `config` out of range.
    pub fn new(config: BulkConfig) -> Result<Self, ConfigError> {
        config.check()?;
        // A video at the least rate has frames as regular as one of 4 Mbit/s, and as few as 10 of them in a second.
        let rhythms = FlowClassifier::new(ClassifierConfig {
            least_rate: config.least_rate.mul_f64(0.5).max(BitRate::from_kbps(100)),
            least_frame_rate: 10.0,
            flows: MOST_FLOWS,
            ..ClassifierConfig::default()
        })?;
        Ok(Self { config, flows: BTreeMap::new(), rhythms, now: Instant::ZERO })
    }

    /// Notes a packet of `size` that enters the queue at `now`.
    pub fn on_packet(&mut self, now: Instant, flow: FlowId, size: ByteCount) {
        self.now = self.now.max(now);
        let now = self.now;
        if !self.flows.contains_key(&flow) && self.flows.len() >= MOST_FLOWS && !self.make_room() {
            return;
        }
        self.rhythms.on_packet(now, flow, size);
        let watched = self.flows.entry(flow).or_insert_with(|| Flow::new(now));
        if watched.advance(now) {
            watched.judge(now, self.rhythms.pattern(flow).is_some(), &self.config);
            while self.rhythms.next_silent(now).is_some() {}
        }
        watched.pending = watched.pending.saturating_add(1);
        watched.count.packets += 1.0;
        watched.count.bytes += size.as_u64() as f64;
        watched.last = now;
    }

    /// Notes a packet that left the queue and the hardware for good, delivered or `lost`.
    pub(crate) fn on_left(&mut self, now: Instant, flow: FlowId, lost: bool) {
        self.now = self.now.max(now);
        let Some(watched) = self.flows.get_mut(&flow) else { return };
        if watched.advance(self.now) {
            watched.judge(self.now, self.rhythms.pattern(flow).is_some(), &self.config);
        }
        watched.pending = watched.pending.saturating_sub(1);
        watched.stands &= watched.pending > 0;
        watched.count.lost += f64::from(u8::from(lost));
    }

    /// Verdict on a flow.
    #[must_use]
    pub fn verdict(&self, flow: FlowId) -> Verdict {
        self.flows.get(&flow).map_or(Verdict::Watched, |watched| watched.verdict)
    }

    /// Verdicts on all known flows, by flow number.
    pub fn verdicts(&self) -> impl Iterator<Item = (FlowId, Verdict)> + '_ {
        self.flows.iter().map(|(flow, watched)| (*flow, watched.verdict))
    }

    /// Forgets the longest silent flow without pending packets. Returns whether there was one.
    fn make_room(&mut self) -> bool {
        let idle = self.flows.iter().filter(|(_, watched)| watched.pending == 0);
        let Some(flow) = idle.min_by_key(|(_, watched)| watched.last).map(|(flow, _)| *flow) else {
            return false;
        };
        self.flows.remove(&flow);
        true
    }
}
