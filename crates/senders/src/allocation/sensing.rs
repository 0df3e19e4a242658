//! From packets to frames, and from frames to reports.
//!
//! Timestamps have to be taken before the receiver's reordering buffer, as a monitor interface sees them. Behind it a loss holds
//! back what came after it, and several frames seem to come at once (`docs/understand/low-delay-rate-allocation.md` says how wrong that is).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use airbound_units::{BitRate, ByteCount, ConfigError, Instant, Span};

use super::config::SensorConfig;
use super::grouping::Grouping;
use super::report::{LARGEST_FRAME, Report};

/// Number of past frames that a retransmission may belong to: losses are repeated within a few frames.
const RECENT_FRAMES: usize = 16;
/// Most sequence numbers that are waited for; the oldest are given up first. More than a block-ack window many times over.
const MOST_HOLES: usize = 4096;
/// A larger jump of the sequence number is a new beginning.
const LARGEST_JUMP: u64 = 65_536;
/// A mean PHY rate that differs by so much from the last report's has changed.
const CHANGED: f64 = 0.15;

/// A packet as the receiver sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// When it came.
    pub at: Instant,
    /// The number that its sender gave it: ascends by one.
    pub sequence: u64,
    /// Its payload.
    pub payload: ByteCount,
    /// The PHY rate of the frame that brought it; `None` if the receiver cannot see it.
    pub rate: Option<BitRate>,
}

/// A frame as the receiver reconstructs it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Frame {
    /// The timestamp of its first packet.
    pub at: Instant,
    /// Packets that arrived.
    pub received: u32,
    /// Of them, how many had been lost before.
    pub retransmitted: u32,
    /// Packets that were sent in it, lost, and came later.
    pub lost: u32,
    rate: Option<BitRate>,
    /// Packets of other flows in it.
    companions: u32,
    /// The highest sequence number in it or in any frame before.
    highest: u64,
}

impl Frame {
    /// N_f, the packets that were sent in it.
    #[must_use]
    pub const fn level(&self) -> u32 {
        self.received + self.lost
    }

    /// Whether it held nothing new.
    #[must_use]
    pub const fn is_repeat(&self) -> bool {
        self.received == self.retransmitted
    }
}

/// Sums over a slot.
#[derive(Debug, Clone, Default)]
struct Slot {
    frames: u32,
    repeats: u32,
    packets: u32,
    payload: ByteCount,
    transmissions: u32,
    companions: u32,
    squares: f64,
    /// Of each rate in bit/s: packets, and frames of a single new packet.
    by_rate: BTreeMap<u64, (u32, u32)>,
    retransmitted: u32,
    missing: u32,
}

impl Slot {
    /// Leaves out frames of a single packet at another rate than that of most packets: so a rate control such as Minstrel-HT of
    /// mac80211 tries what it does not use, outside of aggregates, however much waits. Returns how many.
    fn leave_out_probes(&mut self) -> u32 {
        let usual = self.by_rate.iter().max_by_key(|(_, (packets, _))| *packets).map(|(rate, _)| *rate);
        let others = self.by_rate.iter().filter(|(rate, _)| Some(**rate) != usual);
        let probes = others.map(|(_, (_, singles))| *singles).sum::<u32>().min(self.frames);
        self.frames -= probes;
        self.transmissions = self.transmissions.saturating_sub(probes).max(self.frames);
        self.squares -= f64::from(probes);
        probes
    }

    /// The harmonic mean of PHY rates over packets, since w is the mean airtime of a packet; in bit/s.
    fn phy_rate(&self) -> Option<f64> {
        let packets: f64 = self.by_rate.values().map(|(packets, _)| f64::from(*packets)).sum();
        let airtime: f64 =
            self.by_rate.iter().map(|(rate, (packets, _))| f64::from(*packets) / *rate as f64).sum();
        (airtime > 0.0).then(|| packets / airtime)
    }
}

/// Watches one flow at its receiver.
#[derive(Debug, Clone)]
pub struct FrameSensor {
    config: SensorConfig,
    grouping: Grouping,
    /// The frame that is coming in.
    open: Option<Frame>,
    /// Packets of other flows that came last, and are not known to be in a frame of this one: when, and how many.
    strangers: (Instant, u32),
    recent: VecDeque<Frame>,
    /// The next sequence number that is new.
    next: Option<u64>,
    holes: BTreeSet<u64>,
    slot: Slot,
    slot_start: Option<Instant>,
    lively_until: Instant,
    reported_rate: Option<f64>,
    reports: u32,
}

impl FrameSensor {
    /// A sensor that has seen nothing.
    ///
    /// # Errors
    /// [`ConfigError`] for a value out of its range.
    pub fn new(config: SensorConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            grouping: Grouping::new(config.stamps),
            open: None,
            strangers: (Instant::ZERO, 0),
            recent: VecDeque::with_capacity(RECENT_FRAMES + 1),
            next: None,
            holes: BTreeSet::new(),
            slot: Slot::default(),
            slot_start: None,
            lively_until: Instant::ZERO,
            reported_rate: None,
            reports: 0,
        })
    }

    /// Returns the grouping of packets into frames.
    #[must_use]
    pub const fn grouping(&self) -> &Grouping {
        &self.grouping
    }

    /// A packet came. Returns a frame of which all is known now, if there is one: some frames back.
    pub fn on_packet(&mut self, packet: &Observation) -> Option<Frame> {
        if self.slot_start.is_none() {
            self.slot_start = Some(packet.at);
            self.lively_until = packet.at + self.config.lively;
        }
        let is_new = self.is_new(packet.sequence)?;
        let mut settled = None;
        let full = self.open.is_none_or(|frame| frame.received >= LARGEST_FRAME);
        if self.grouping.begins_frame(packet.at) || full {
            settled = self.close();
            let (came, strangers) = std::mem::take(&mut self.strangers);
            let companions = if self.grouping.joins(came, packet.at) { strangers } else { 0 };
            self.open = Some(Frame { at: packet.at, rate: packet.rate, companions, ..Frame::default() });
        }
        if !is_new {
            self.credit(packet.sequence);
        }
        if let Some(open) = &mut self.open {
            open.received += 1;
            open.retransmitted += u32::from(!is_new);
            // What is missing in front of a frame is taken to have been sent in it, not at the end of the one before.
            open.highest = self.next.unwrap_or(0);
        }
        self.slot.packets = self.slot.packets.saturating_add(1);
        self.slot.payload += packet.payload;
        settled
    }

    /// So many packets of other flows came to the same station. In a frame with packets of this flow they say how much waits in the
    /// access point besides.
    pub fn on_companions(&mut self, at: Instant, packets: u32) {
        if let Some(open) =
            self.open.as_mut().filter(|open| at >= open.at && self.grouping.joins(self.grouping.latest(), at))
        {
            open.companions = open.companions.saturating_add(packets).min(LARGEST_FRAME);
            return;
        }
        let (came, waiting) = self.strangers;
        let before = if self.grouping.joins(came, at) { waiting } else { 0 };
        self.strangers = (at, before.saturating_add(packets).min(LARGEST_FRAME));
    }

    /// Whether a sequence number is new (else it was lost before); `None` for a duplicate.
    fn is_new(&mut self, sequence: u64) -> Option<bool> {
        let next = *self.next.get_or_insert(sequence);
        if sequence < next && next - sequence <= LARGEST_JUMP {
            return self.holes.remove(&sequence).then_some(false);
        }
        if sequence.abs_diff(next) > LARGEST_JUMP {
            // Another sender, or one that began anew.
            self.holes.clear();
        } else {
            for hole in next..sequence {
                self.holes.insert(hole);
                if self.holes.len() > MOST_HOLES {
                    self.holes.pop_first();
                    self.slot.missing = self.slot.missing.saturating_add(1);
                }
            }
        }
        self.next = Some(sequence.saturating_add(1));
        Some(true)
    }

    /// A packet came that was lost before: the frame that first passed over it had one more.
    fn credit(&mut self, sequence: u64) {
        self.slot.retransmitted = self.slot.retransmitted.saturating_add(1);
        if let Some(frame) = self.recent.iter_mut().find(|frame| frame.highest > sequence) {
            frame.lost += 1;
            if !frame.is_repeat() {
                self.slot.transmissions = self.slot.transmissions.saturating_add(1);
            }
        }
    }

    /// Ends the open frame, and returns the oldest one if that is settled.
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
            let (packets, singles) = slot.by_rate.entry(rate.as_bps()).or_default();
            *packets = packets.saturating_add(frame.received);
            *singles += u32::from(frame.received == 1 && !frame.is_repeat());
        }
        self.recent.push_back(frame);
        if self.recent.len() > RECENT_FRAMES { self.recent.pop_front() } else { None }
    }

    /// When it wants to report; `None` before the first packet.
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

    /// The report of the slot that ends now; `None` if it is not due.
    pub fn on_deadline(&mut self, now: Instant) -> Option<Report> {
        let start = self.slot_start?;
        if now < self.next_deadline()? {
            return None;
        }
        let mut slot = std::mem::take(&mut self.slot);
        let probes = slot.leave_out_probes();
        // What was passed over long ago will not come any more. Behind the newest frames it still may.
        let settled = self.recent.front().map_or(0, |frame| frame.highest);
        let waiting = self.holes.split_off(&settled);
        let missing = std::mem::replace(&mut self.holes, waiting).len() as u32;
        let mean = |sum: f64, count: u32| if count > 0 { sum / f64::from(count) } else { 0.0 };
        let level = mean(f64::from(slot.transmissions), slot.frames);
        let rate = slot.phy_rate();
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
