//! The receiver's side of the feedback: collects arrivals and schedules reports.

use std::collections::BTreeMap;

use airbound_units::{BitRate, ByteCount, ConfigError, Instant, Span};
use serde::{Deserialize, Serialize};

use super::feedback::{ARRIVAL_STEP, PacketResult, TransportFeedback};

/// Report size that libwebrtc assumes for the interval: IPv4 20, UDP 8, SRTP 10 and a report of 30 bytes
/// (`transport_sequence_number_feedback_generator.cc`).
const PLANNED_REPORT: ByteCount = ByteCount::new(68);
/// Upper limit on packets in one report; the field counts to 65 535 (draft Sec. 3.1), and a report should fit a packet of 1200 bytes.
const LONGEST_REPORT: u64 = 1000;
/// Greatest distance of an arrival from the last reported one; more does not fit the 16 bits of a large step (8.19 s).
const LONGEST_STEP: Span = Span::from_millis(8000);

/// Schedule of reports. Defaults: libwebrtc.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FeedbackConfig {
    /// The shortest interval: 50 ms. 1 ms to 1 s.
    pub shortest: Span,
    /// The longest interval: 250 ms. At least the shortest, at most 10 s.
    pub longest: Span,
    /// The interval while the bandwidth is unknown: 100 ms. Between the two.
    pub initial: Span,
    /// Share of the bandwidth for reports: 0.05. 0.001 to 1.
    pub share: f64,
}

impl Default for FeedbackConfig {
    fn default() -> Self {
        Self {
            shortest: Span::from_millis(50),
            longest: Span::from_millis(250),
            initial: Span::from_millis(100),
            share: 0.05,
        }
    }
}

impl FeedbackConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for the first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let second = Span::from_secs(1);
        let shortest = (Span::from_millis(1)..=second).contains(&self.shortest);
        ConfigError::check(shortest, "feedback.shortest", self.shortest, "1 ms to 1 s")?;
        let longest = (self.shortest..=second * 10).contains(&self.longest);
        ConfigError::check(longest, "feedback.longest", self.longest, "feedback.shortest to 10 s")?;
        let initial = (self.shortest..=self.longest).contains(&self.initial);
        let allowed = "feedback.shortest to feedback.longest";
        ConfigError::check(initial, "feedback.initial", self.initial, allowed)?;
        let share = (0.001..=1.0).contains(&self.share);
        ConfigError::check(share, "feedback.share", self.share, "0.001 to 1")
    }
}

/// Collects arrivals and reports on them.
///
/// A report covers every packet since the last report. If a packet arrives late, after a report listed it as missing, the next report
/// starts with it and repeats all packets in between (as in libwebrtc). Arrival times are rounded down to [`ARRIVAL_STEP`], the
/// resolution of a report.
#[derive(Debug, Clone)]
pub struct FeedbackCollector {
    config: FeedbackConfig,
    interval: Span,
    /// Arrivals not yet forgotten: those to be reported, and reported ones of the last half second.
    arrivals: BTreeMap<u64, Instant>,
    /// The first packet of the next report; `None` if nothing has arrived yet.
    next: Option<u64>,
    /// When the next report is due.
    due: Option<Instant>,
    /// When the last report was due.
    last_due: Option<Instant>,
    now: Instant,
}

/// Time for which reported arrivals are kept, in case a late packet before them causes them to be reported again (libwebrtc
/// `kBackWindow`).
const MEMORY: Span = Span::from_millis(500);
/// Upper limit on unreported arrivals; it is reached only without polling, and then the oldest is forgotten.
const MOST_ARRIVALS: usize = 65_536;
/// Jump of sequence numbers that indicates a restarted sender.
const RESTART: u64 = 30_000;

impl FeedbackCollector {
    /// Creates a collector without arrivals.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for a value of the configuration out of range.
    pub fn new(config: FeedbackConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            interval: config.initial,
            config,
            arrivals: BTreeMap::new(),
            next: None,
            due: None,
            last_due: None,
            now: Instant::ZERO,
        })
    }

    /// Sets the bandwidth of the reverse path, of which reports use their share. The interval changes at once.
    pub fn set_bandwidth(&mut self, bandwidth: BitRate) {
        let wanted = bandwidth.mul_f64(self.config.share).time_for(PLANNED_REPORT);
        self.interval = wanted.clamp(self.config.shortest, self.config.longest);
    }

    /// The present interval between reports.
    #[must_use]
    pub fn interval(&self) -> Span {
        self.interval
    }

    /// Takes a packet with this transport-wide sequence number. Duplicates are ignored.
    pub fn on_packet(&mut self, now: Instant, sequence: u64) {
        self.now = self.now.max(now);
        let now = self.now;
        if self.next.is_some_and(|next| next.abs_diff(sequence) > RESTART) {
            self.arrivals.clear();
            self.next = None;
        }
        let next = self.next.get_or_insert(sequence);
        if sequence < *next && !self.arrivals.contains_key(&sequence) {
            *next = sequence;
        }
        let rounded = Instant::ZERO + ARRIVAL_STEP * (now - Instant::ZERO).div_floor(ARRIVAL_STEP);
        self.arrivals.entry(sequence).or_insert(rounded);
        if self.arrivals.len() > MOST_ARRIVALS {
            self.arrivals.pop_first();
        }
        if self.due.is_none() {
            // The schedule of reports continues over a pause.
            let last = self.last_due.unwrap_or(now);
            self.due = Some(last + self.interval * ((now - last).div_floor(self.interval) + 1));
        }
    }

    /// Returns the report that is due, if any. Call until `None`: a report covers at most 1000 packets.
    pub fn poll(&mut self, now: Instant) -> Option<TransportFeedback> {
        self.now = self.now.max(now);
        if self.due.is_none_or(|due| due > self.now) {
            return None;
        }
        let report = self.next.and_then(|next| self.report(next));
        let waiting = self.next.is_some_and(|next| self.arrivals.range(next..).next().is_some());
        if !waiting {
            self.last_due = self.due.take();
            self.forget();
        }
        report
    }

    /// When the next report is due; `None` if nothing has arrived since the last.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.due
    }

    /// Makes the report that starts with packet `first`.
    fn report(&mut self, first: u64) -> Option<TransportFeedback> {
        let mut packets: Vec<PacketResult> = Vec::new();
        let mut last: Option<Instant> = None;
        for (&sequence, &arrival) in self.arrivals.range(first..) {
            // The previous report could not know the missing packets before the first arrival.
            let begin = packets.last().map_or(first, |packet| packet.sequence + 1);
            let far = last.is_some_and(|last| arrival - last > LONGEST_STEP || last - arrival > LONGEST_STEP);
            if far || sequence - first >= LONGEST_REPORT && !packets.is_empty() {
                break;
            }
            let begin = begin.max(sequence.saturating_sub(LONGEST_REPORT - 1));
            packets.extend((begin..sequence).map(|sequence| PacketResult { sequence, arrival: None }));
            packets.push(PacketResult { sequence, arrival: Some(arrival) });
            last = Some(arrival);
        }
        self.next = Some(packets.last()?.sequence.saturating_add(1));
        Some(TransportFeedback { packets })
    }

    /// Forgets arrivals that no late packet can cause to be reported again.
    fn forget(&mut self) {
        let Some(next) = self.next else { return };
        let now = self.now;
        self.arrivals.retain(|&sequence, &mut arrival| sequence >= next || now - arrival <= MEMORY);
    }
}
