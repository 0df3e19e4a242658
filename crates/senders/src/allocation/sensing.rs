//! Sensing: packets to frames, and frames to reports.
//!
//! Timestamps are best taken before the receiver's reordering buffer, as on a monitor interface. Behind it, where a kernel stamps, a
//! loss delays the packets after it, and several frames seem to arrive at once (`docs/understand/low-delay-rate-allocation.md`
//! quantifies the error); and what arrives out of order there was reordered elsewhere, not lost on the air.

use std::collections::VecDeque;

use airbound_units::{BitRate, ByteCount, ConfigError, Instant, Span};

use super::config::{SensorConfig, Stamps};
use super::counts::{Holes, RateCounts};
use super::grouping::Grouping;
use super::report::{LARGEST_FRAME, LONGEST_SLOT, Report};

/// Number of past frames to which a retransmission may belong: losses are retransmitted within a few frames.
const RECENT_FRAMES: usize = 16;
/// Largest jump of the sequence number; a larger one restarts the sensor.
const LARGEST_JUMP: u64 = 65_536;
/// Relative change of the mean PHY rate against the last report that counts as a change.
const CHANGED: f64 = 0.15;
/// Time after its last packet when a frame is complete, whatever comes: longer than the longest PPDU.
const COMPLETE_AFTER: Span = Span::from_millis(10);
/// Step back of a timestamp from which on a clock was set.
const STEP: Span = Span::from_millis(100);
/// Weight of a new frame in the usual airtime.
const WEIGHT: f64 = 0.125;

/// Received packets: one, or several that a card or kernel handed over as one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Time of arrival.
    pub at: Instant,
    /// The sequence number of the first, ascending by one.
    pub sequence: u64,
    /// Number of packets, counted as at least 1 and at most 1024.
    pub packets: u32,
    /// The payload of all of them.
    pub payload: ByteCount,
    /// The PHY rate of its frame; `None` if the receiver cannot see it.
    pub rate: Option<BitRate>,
}

/// A frame reconstructed by the receiver.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Frame {
    /// The timestamp of its first packet.
    pub at: Instant,
    /// Received packets.
    pub received: u32,
    /// Received packets that had been lost before.
    pub retransmitted: u32,
    /// Packets sent in it, lost, and received later.
    pub lost: u32,
    rate: Option<BitRate>,
    payload: ByteCount,
    /// Packets of other flows in it.
    companions: u32,
    /// The highest sequence number in it or in any earlier frame.
    highest: u64,
}

impl Frame {
    /// N_f, the number of packets sent in it.
    #[must_use]
    pub const fn level(&self) -> u32 {
        self.received + self.lost
    }

    /// Whether it held no new packet.
    #[must_use]
    pub const fn is_repeat(&self) -> bool {
        self.received == self.retransmitted
    }
}

/// Sums over a slot.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    frames: u32,
    repeats: u32,
    packets: u32,
    payload: ByteCount,
    transmissions: u32,
    companions: u32,
    squares: f64,
    retransmitted: u32,
    missing: u32,
}

impl Slot {
    /// Removes frames of a single packet at another rate than that of most packets: rate controls such as mac80211's Minstrel-HT
    /// sample other rates in this way, outside of aggregates, at any backlog. Returns their number.
    fn leave_out_probes(&mut self, by_rate: &RateCounts) -> u32 {
        let probes = by_rate.probes().min(self.frames);
        self.frames -= probes;
        self.transmissions = self.transmissions.saturating_sub(probes).max(self.frames);
        self.squares -= f64::from(probes);
        probes
    }
}

/// Observes one flow at its receiver.
#[derive(Debug, Clone)]
pub struct FrameSensor {
    config: SensorConfig,
    grouping: Grouping,
    /// The frame being received.
    open: Option<Frame>,
    /// Time and number of the latest packets of other flows that are not known to be in a frame of this one.
    unassigned: (Instant, u32),
    recent: VecDeque<Frame>,
    /// The next new sequence number.
    next: Option<u64>,
    holes: Holes,
    slot: Slot,
    by_rate: RateCounts,
    slot_start: Option<Instant>,
    lively_until: Instant,
    reported_rate: Option<f64>,
    reports: u32,
    /// Packets reordered elsewhere.
    reordered: u64,
    /// Airtime of the payload of a usual frame; `None` before the first with a rate.
    airtime: Option<Span>,
}

impl FrameSensor {
    /// Creates a sensor without observations.
    ///
    /// # Errors
    /// [`ConfigError`] for a value out of range.
    pub fn new(config: SensorConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            grouping: Grouping::new(config.stamps),
            open: None,
            unassigned: (Instant::ZERO, 0),
            recent: VecDeque::with_capacity(RECENT_FRAMES + 1),
            next: None,
            holes: Holes::new(),
            slot: Slot::default(),
            by_rate: RateCounts::new(),
            slot_start: None,
            lively_until: Instant::ZERO,
            reported_rate: None,
            reports: 0,
            reordered: 0,
            airtime: None,
        })
    }

    /// Returns the grouping of packets into frames.
    #[must_use]
    pub const fn grouping(&self) -> &Grouping {
        &self.grouping
    }

    /// Number of packets that came out of order behind the reordering buffer, and so were reordered elsewhere. Zero for exact stamps,
    /// which see the air.
    #[must_use]
    pub const fn reordered(&self) -> u64 {
        self.reordered
    }

    /// Takes received packets. Returns a completed frame, if there is one: some frames back.
    pub fn on_packet(&mut self, packet: &Observation) -> Option<Frame> {
        if self.slot_start.is_none_or(|start| start.since(packet.at) >= STEP) {
            self.begin(packet.at);
        }
        let count = packet.packets.clamp(1, LARGEST_FRAME);
        let each = packet.payload.as_u64() / u64::from(count);
        let rest = ByteCount::new(packet.payload.as_u64() % u64::from(count));
        let mut settled = None;
        for place in 0..count {
            let sequence = packet.sequence.saturating_add(u64::from(place));
            let payload = ByteCount::new(each) + if place == 0 { rest } else { ByteCount::ZERO };
            settled = self.on_one(packet, sequence, payload).or(settled);
        }
        settled
    }

    /// Begins the first slot, or a new one after the clock was set.
    fn begin(&mut self, at: Instant) {
        self.close();
        self.slot = Slot::default();
        self.by_rate.clear();
        self.slot_start = Some(at);
        self.lively_until = at + self.config.lively;
    }

    fn on_one(&mut self, packet: &Observation, sequence: u64, payload: ByteCount) -> Option<Frame> {
        let is_new = self.is_new(sequence)?;
        let is_repeat = !is_new && self.config.stamps == Stamps::Exact;
        self.reordered += u64::from(!is_new && !is_repeat);
        let mut settled = None;
        let full = self.open.is_none_or(|frame| frame.received >= LARGEST_FRAME);
        let rate = packet.rate.filter(|rate| !rate.is_zero());
        let airtime = rate.map_or(Span::ZERO, |rate| rate.time_for(payload));
        if self.grouping.begins_frame(packet.at, airtime) || full {
            settled = self.close();
            let (came, unassigned) = std::mem::take(&mut self.unassigned);
            let companions = if self.grouping.joins(came, packet.at) { unassigned } else { 0 };
            self.open = Some(Frame { at: packet.at, rate: packet.rate, companions, ..Frame::default() });
        }
        if is_repeat {
            self.credit(sequence);
        }
        if let Some(open) = &mut self.open {
            open.received += 1;
            open.retransmitted += u32::from(is_repeat);
            open.payload += payload;
            // Packets missing before a frame are assumed to have been sent in it, not at the end of the previous one.
            open.highest = self.next.unwrap_or(0);
        }
        self.slot.packets = self.slot.packets.saturating_add(1);
        self.slot.payload += payload;
        settled
    }

    /// Notes `packets` packets of other flows to the same station. In a frame with packets of this flow they show the additional
    /// backlog of the access point.
    pub fn on_companions(&mut self, at: Instant, packets: u32) {
        if let Some(open) =
            self.open.as_mut().filter(|open| at >= open.at && self.grouping.joins(self.grouping.latest(), at))
        {
            open.companions = open.companions.saturating_add(packets).min(LARGEST_FRAME);
            return;
        }
        let (came, waiting) = self.unassigned;
        let before = if self.grouping.joins(came, at) { waiting } else { 0 };
        self.unassigned = (at, before.saturating_add(packets).min(LARGEST_FRAME));
    }

    /// Whether a sequence number is new (otherwise it was lost before); `None` for a duplicate.
    fn is_new(&mut self, sequence: u64) -> Option<bool> {
        let next = *self.next.get_or_insert(sequence);
        if sequence < next && next - sequence <= LARGEST_JUMP {
            return self.holes.remove(sequence).then_some(false);
        }
        if sequence.abs_diff(next) > LARGEST_JUMP {
            // Another sender, or a restarted one.
            self.holes.clear();
        } else {
            let given_up = self.holes.add(next, sequence);
            self.slot.missing = self.slot.missing.saturating_add(given_up);
        }
        self.next = Some(sequence.saturating_add(1));
        Some(true)
    }

    /// Credits a retransmitted packet to the first frame after which it was missing.
    fn credit(&mut self, sequence: u64) {
        self.slot.retransmitted = self.slot.retransmitted.saturating_add(1);
        if let Some(frame) = self.recent.iter_mut().find(|frame| frame.highest > sequence) {
            frame.lost += 1;
            if !frame.is_repeat() {
                self.slot.transmissions = self.slot.transmissions.saturating_add(1);
            }
        }
    }

    /// Ends the open frame, and returns the oldest one if it is settled.
    fn close(&mut self) -> Option<Frame> {
        let frame = self.open.take()?;
        let slot = &mut self.slot;
        if frame.is_repeat() {
            slot.repeats = slot.repeats.saturating_add(1);
        } else {
            slot.frames = slot.frames.saturating_add(1);
            slot.transmissions = slot.transmissions.saturating_add(frame.received);
            slot.companions = slot.companions.saturating_add(frame.companions);
            slot.squares += f64::from(frame.received) * f64::from(frame.received);
        }
        if let Some(rate) = frame.rate.filter(|rate| !rate.is_zero()) {
            self.by_rate.add(rate.as_bps(), frame.received, frame.received == 1 && !frame.is_repeat());
            let airtime = rate.time_for(frame.payload);
            let usual =
                self.airtime.map_or(airtime, |usual| usual.mul_f64(1.0 - WEIGHT) + airtime.mul_f64(WEIGHT));
            self.airtime = Some(usual);
            self.grouping.set_airtime(usual);
        }
        self.recent.push_back(frame);
        if self.recent.len() > RECENT_FRAMES { self.recent.pop_front() } else { None }
    }

    /// When the next report is due; `None` before the first packet.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let start = self.slot_start?;
        let length = if start < self.lively_until {
            self.config.interval.min(SensorConfig::LIVELY_INTERVAL)
        } else {
            self.config.interval
        };
        Some(start + length)
    }

    /// Returns the report of the slot that ends now; `None` if it is not due, or if the clock was set forward within it.
    pub fn on_deadline(&mut self, now: Instant) -> Option<Report> {
        let start = self.slot_start?;
        if now < self.next_deadline()? {
            return None;
        }
        if now - start > LONGEST_SLOT {
            self.begin(now);
            return None;
        }
        if now - self.grouping.latest() >= COMPLETE_AFTER {
            self.close();
        }
        let mut slot = std::mem::take(&mut self.slot);
        let probes = slot.leave_out_probes(&self.by_rate);
        // Packets missed long ago are lost. Those after the newest frames may still arrive.
        let settled = self.recent.front().map_or(0, |frame| frame.highest);
        let missing = self.holes.settle(settled);
        let mean = |sum: f64, count: u32| if count > 0 { sum / f64::from(count) } else { 0.0 };
        let level = mean(f64::from(slot.transmissions), slot.frames);
        let rate = self.by_rate.mean();
        self.by_rate.clear();
        if let (Some(rate), Some(before)) = (rate, self.reported_rate)
            && (rate / before - 1.0).abs() > CHANGED
        {
            self.lively_until = now + self.config.lively;
        }
        self.reported_rate = rate.or(self.reported_rate);
        let number = self.reports;
        self.reports = number.wrapping_add(1);
        self.slot_start = Some(now);
        Some(Report {
            number,
            slot: (now - start).max(Span::from_micros(1)),
            frames: slot.frames,
            repeats: u16::try_from(slot.repeats.saturating_add(probes)).unwrap_or(u16::MAX),
            packets: slot.packets,
            payload: slot.payload,
            transmissions: slot.transmissions,
            spread: libm::sqrt((mean(slot.squares, slot.frames) - level * level).max(0.0)),
            phy_rate: rate.map(BitRate::from_bps_f64),
            retransmitted: slot.retransmitted,
            missing: slot.missing.saturating_add(missing),
            uplink_queue: ByteCount::ZERO,
            uplink_level: 0.0,
            companions: mean(f64::from(slot.companions), slot.frames),
        })
    }
}
