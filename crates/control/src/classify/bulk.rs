//! Bulk transfers: flows that fill the queue, because their congestion control takes loss for congestion and not delay.
//!
//! "Latency-sensitive applications keep the network buffer low, while loss-sensitive traffic tries to fill the buffer first" (Law, Sec.
//! 5). Where a link layer drops what is late, that cannot be seen: each loss makes CUBIC or Reno give way before the buffer is full. So
//! an elephant without a rhythm is **tried**: for some seconds its packets go where nothing is dropped early. One that fills the buffer
//! there is bulk for as long as it does; one that does not is left alone for a pause, which doubles with each trial.
//!
//! ```text
//!             elephant without rhythm            stands in the queue
//!  watched ─────────────────────────────▶ tried ─────────────────────▶ bulk
//!     ▲                                     │                            │
//!     └────────── pause: 30 s, 60 s, … ◀────┴── time is up, a rhythm, ◀──┘ the queue empties,
//!                                               losses without end        losses without end
//! ```
//!
//! To fill the buffer is to have a *standing queue* (Nichols and Jacobson, RFC 8289, Sec. 3.1): packets of its own in every moment of an
//! interval of 100 ms. Who loses much and goes on sending fills the buffer too, but is not loss-sensitive: no congestion control does it.

use std::collections::BTreeMap;

use airbound_units::{BitRate, ByteCount, Instant, Span};
use serde::{Deserialize, Serialize};

use super::{ClassifierConfig, FlowClassifier};
use crate::error::ConfigError;
use crate::frame::FlowId;

/// An interval longer than the round trips over which a queue absorbs bursts (RFC 8289, Sec. 4.2).
const INTERVAL: Span = Span::from_millis(100);

/// Intervals that are looked at: 2 s, as many as a rhythm is judged by.
const INTERVALS: u32 = 20;

/// Weight of an interval in rate and share of losses.
const WEIGHT: f64 = 0.1;

/// The pause after a trial doubles no more often.
const MOST_DOUBLINGS: u32 = 5;

/// Most flows that are watched; with more the one that was silent longest is forgotten.
const MOST_FLOWS: usize = 256;

/// Criteria of a bulk transfer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct BulkConfig {
    /// The least rate of a flow that is tried: 1 Mbit/s. Calls, games and what a page loads are left alone. 100 kbit/s to 10 Gbit/s.
    pub least_rate: BitRate,
    /// Time for which a flow is tried: 5 s, in which CUBIC and Reno gain the 100 packets that 50 Mbit/s over 25 ms hold. 500 ms to 60 s.
    pub trial: Span,
    /// Time for which a flow that did not fill the buffer is left alone after its first trial: 30 s, twice as long after each further one, up to
    /// 16 min. 1 s to 1 h.
    pub pause: Span,
    /// The share of the last 2 s for which a tried flow has to have a standing queue to be bulk: 0.5. `lost-at` to 1.
    pub found_at: f64,
    /// Up to this share a bulk transfer is none any more: 0.1. 0 to `found-at`.
    pub lost_at: f64,
    /// A flow that loses a larger share of its packets and still has the least rate is not loss-sensitive: 0.1. Above 0 to 1.
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
    /// [`ConfigError::OutOfRange`] for the first that is out of its range.
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
    /// It is not known to fill the queue.
    Watched,
    /// It is being tried.
    Tried,
    /// It fills the queue.
    Bulk,
}

#[derive(Debug, Clone)]
struct Flow {
    verdict: Verdict,
    /// Since when that is held.
    since: Instant,
    /// It is not tried again before.
    rests_until: Instant,
    trials: u32,
    /// Its packets in the queue and below it.
    pending: usize,
    interval_end: Instant,
    /// Whether packets were inside in every moment of the present interval.
    stands: bool,
    /// The last intervals, the latest in the lowest bit: whether it had a standing queue.
    stood: u32,
    /// Packets and bytes of the present interval, and those of them that were lost.
    count: Count,
    /// The same of an average interval of the past.
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

    /// Ends the intervals that have passed by `now`; whether any has.
    fn turn(&mut self, now: Instant) -> bool {
        if now < self.interval_end {
            return false;
        }
        let passed = now.since(self.interval_end).div_floor(INTERVAL) + 1;
        // Beyond four windows nothing of the past is left.
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

    /// Judges it at the end of an interval; `has_rhythm`: somebody waits for its frames.
    fn judge(&mut self, now: Instant, has_rhythm: bool, config: &BulkConfig) {
        let loses = self.mean.lost > config.most_loss * self.mean.packets;
        let standing = f64::from(self.stood.count_ones()) / f64::from(INTERVALS);
        let age = now.since(self.since);
        match self.verdict {
            Verdict::Watched => {
                let is_elephant = self.rate() >= config.least_rate.as_bps() as f64;
                // A rhythm takes as long to be seen.
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
            // One that stands in the queue for seconds is clocked by it; what looks like a rhythm then is chance.
            Verdict::Bulk if loses => self.rest(now, config),
            Verdict::Bulk if standing <= config.lost_at => self.becomes(Verdict::Watched, now),
            Verdict::Tried | Verdict::Bulk => {}
        }
    }

    /// It is left alone for a while.
    fn rest(&mut self, now: Instant, config: &BulkConfig) {
        self.rests_until = now + config.pause * (1 << self.trials.min(MOST_DOUBLINGS));
        self.trials = self.trials.saturating_add(1);
        self.becomes(Verdict::Watched, now);
    }
}

/// Tells bulk transfers from other flows by what they do to the queue. See [the module](self).
///
/// Feed it with each packet that comes to the queue and with each that leaves it or the hardware below it for good.
#[derive(Debug, Clone)]
pub struct BulkDetector {
    config: BulkConfig,
    flows: BTreeMap<FlowId, Flow>,
    rhythms: FlowClassifier,
    /// The latest time that was seen.
    now: Instant,
}

impl BulkDetector {
    /// A detector that has seen nothing.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: BulkConfig) -> Result<Self, ConfigError> {
        config.check()?;
        // A video at the least rate has frames as regular as one of 4 Mbit/s, and may have 10 of them in a second.
        let rhythms = FlowClassifier::new(ClassifierConfig {
            least_rate: config.least_rate.mul_f64(0.5).max(BitRate::from_kbps(100)),
            least_frame_rate: 10.0,
            flows: MOST_FLOWS,
            ..ClassifierConfig::default()
        })?;
        Ok(Self { config, flows: BTreeMap::new(), rhythms, now: Instant::ZERO })
    }

    /// A packet of `size` comes at `now`.
    pub fn on_packet(&mut self, now: Instant, flow: FlowId, size: ByteCount) {
        self.now = self.now.max(now);
        let now = self.now;
        if !self.flows.contains_key(&flow) && self.flows.len() >= MOST_FLOWS && !self.make_room() {
            return;
        }
        self.rhythms.on_packet(now, flow, size);
        let watched = self.flows.entry(flow).or_insert_with(|| Flow::new(now));
        if watched.turn(now) {
            watched.judge(now, self.rhythms.pattern(flow).is_some(), &self.config);
            while self.rhythms.next_silent(now).is_some() {}
        }
        watched.pending = watched.pending.saturating_add(1);
        watched.count.packets += 1.0;
        watched.count.bytes += size.as_u64() as f64;
        watched.last = now;
    }

    /// A packet left the queue and the hardware for good, delivered or `lost`.
    pub fn on_left(&mut self, now: Instant, flow: FlowId, lost: bool) {
        self.now = self.now.max(now);
        let Some(watched) = self.flows.get_mut(&flow) else { return };
        if watched.turn(self.now) {
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

    /// The flows of which something is held, by number.
    pub fn verdicts(&self) -> impl Iterator<Item = (FlowId, Verdict)> + '_ {
        self.flows.iter().map(|(flow, watched)| (*flow, watched.verdict))
    }

    /// Forgets the flow that was silent longest, of those that have nothing inside; whether there was one.
    fn make_room(&mut self) -> bool {
        let idle = self.flows.iter().filter(|(_, watched)| watched.pending == 0);
        let Some(flow) = idle.min_by_key(|(_, watched)| watched.last).map(|(flow, _)| *flow) else {
            return false;
        };
        self.flows.remove(&flow);
        true
    }
}
