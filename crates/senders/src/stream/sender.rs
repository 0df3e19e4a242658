//! The sending end: frames in, packets and an encoder's rate out.

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::config::{StreamConfig, first_wrong};
use super::demand::Demand;
use super::error::{Refusal, StreamError};
use super::feedback::Feedback;
use super::pacer::Allowed;
use super::reason::Decision;
use super::receiver_state::ReceiverState;
use crate::allocation::{RateAllocator, ReceiverId};

/// Largest frame.
const LARGEST_FRAME: u64 = 64 << 20;
/// Largest number of packets of a frame, and of a note of sent packets.
const MOST_PACKETS: u32 = 65_536;
/// Largest payload of a packet.
const LARGEST_PACKET: u64 = 65_535;
/// Step back of the caller's clock from which on it was set; less is the disorder of callers.
const STEP: Span = Span::from_millis(100);
/// Longest time over which a frame is spread.
const LATEST_DEADLINE: Span = Span::from_secs(1);

/// The sending end of one or several streams, whose receivers share the air behind one access point.
#[derive(Debug, Clone)]
pub struct StreamSender {
    config: StreamConfig,
    allocator: RateAllocator,
    /// Ordered by number.
    receivers: Vec<ReceiverState>,
    /// Those of receivers that have not joined: all memory is allocated once.
    demands: Vec<Demand>,
    latest: Instant,
    /// Number of events that may have changed decisions: older ones are made anew.
    changes: u64,
}

impl StreamSender {
    /// Creates a sender without receivers. It allocates all of its memory.
    ///
    /// # Errors
    /// [`StreamError::Range`] for a value out of range.
    pub fn new(config: StreamConfig) -> Result<Self, StreamError> {
        config.check()?;
        let mut allocator = RateAllocator::new(config.allocation())
            .map_err(|_| StreamError::Range("the configuration is out of range"))?;
        let most = usize::from(config.receivers);
        allocator.reserve(most);
        let receivers = Vec::with_capacity(most);
        let demands =
            config.latency.map_or_else(Vec::new, |latency| (0..most).map(|_| Demand::new(latency)).collect());
        Ok(Self { config, allocator, receivers, demands, latest: Instant::ZERO, changes: 0 })
    }

    /// Returns the configuration.
    #[must_use]
    pub const fn config(&self) -> &StreamConfig {
        &self.config
    }

    /// Adds a receiver with the key of its feedback. A known receiver begins anew: also to be called when a receiver was restarted.
    ///
    /// # Errors
    /// [`StreamError::Full`] if `receivers` have joined.
    pub fn join(&mut self, now: Instant, id: ReceiverId, key: [u8; 16]) -> Result<(), StreamError> {
        let now = self.clock(now);
        self.changes += 1;
        let place = self.search(id);
        if place.is_err() && self.receivers.len() >= usize::from(self.config.receivers) {
            return Err(StreamError::Full("as many receivers have joined as were configured"));
        }
        let before = place.ok().and_then(|place| self.receivers[place].demand.take());
        let demand = before.or_else(|| self.demands.pop()).map(Demand::cleared);
        let receiver = ReceiverState::new(id, key, demand, &self.config);
        match place {
            Ok(place) => self.receivers[place] = receiver,
            Err(place) => self.receivers.insert(place, receiver),
        }
        self.allocator.leave(now, id);
        self.allocator.join(now, id);
        Ok(())
    }

    /// Begins the rate of a receiver anew, where nothing but a few packets was sent to it since it joined: a start lasts 2 s only. Its
    /// feedback goes on.
    ///
    /// # Errors
    /// [`StreamError::Unknown`] if it has not joined.
    pub fn restart(&mut self, now: Instant, id: ReceiverId) -> Result<(), StreamError> {
        let now = self.clock(now);
        self.place(id)?;
        self.changes += 1;
        self.allocator.leave(now, id);
        self.allocator.join(now, id);
        Ok(())
    }

    /// Removes a receiver; the others share its rate.
    ///
    /// # Errors
    /// [`StreamError::Unknown`] if it has not joined.
    pub fn leave(&mut self, now: Instant, id: ReceiverId) -> Result<(), StreamError> {
        let now = self.clock(now);
        let place = self.place(id)?;
        self.changes += 1;
        self.demands.extend(self.receivers.remove(place).demand);
        self.allocator.leave(now, id);
        Ok(())
    }

    /// Takes a frame that is to be sent by `deadline`, or within the usual interval of frames.
    ///
    /// # Errors
    /// [`StreamError::Range`] for a size out of range, [`StreamError::Full`] if too much waits, [`StreamError::Unknown`]. The frame is
    /// not taken then.
    pub fn frame(
        &mut self,
        id: ReceiverId,
        now: Instant,
        bytes: ByteCount,
        packets: u32,
        deadline: Option<Instant>,
    ) -> Result<(), StreamError> {
        let now = self.clock(now);
        let place = self.place(id)?;
        check_sizes(bytes, packets)?;
        let pace = self.rate(place, now) / self.config.spread;
        let receiver = &mut self.receivers[place];
        receiver.on_frame(now);
        let within =
            deadline.map_or(receiver.frame_interval, |deadline| deadline.since(now).min(LATEST_DEADLINE));
        receiver.pacer.frame(now, bytes, packets, within.mul_f64(self.config.spread), pace)
    }

    /// The packets that may be sent now, and when to ask again.
    ///
    /// # Errors
    /// [`StreamError::Unknown`] if the receiver has not joined.
    pub fn allowed(&mut self, id: ReceiverId, now: Instant) -> Result<Allowed, StreamError> {
        let now = self.clock(now);
        let place = self.place(id)?;
        Ok(self.receivers[place].pacer.allowed(now))
    }

    /// Notes packets handed to the network: each that has a sequence number, error correction and repetitions included.
    ///
    /// # Errors
    /// [`StreamError::Range`] for a size out of range, [`StreamError::Unknown`]. Nothing is noted then.
    pub fn sent(
        &mut self,
        id: ReceiverId,
        now: Instant,
        packets: u32,
        payload: ByteCount,
    ) -> Result<(), StreamError> {
        let now = self.clock(now);
        let place = self.place(id)?;
        check_sizes(payload, packets)?;
        self.receivers[place].on_sent(now, packets, payload);
        self.allocator.on_sent(now, id, payload);
        Ok(())
    }

    /// Takes a message of a receiver, and returns which.
    ///
    /// # Errors
    /// [`StreamError::Refused`] for a message that is not believed. It has no effect but to be counted.
    pub fn report(&mut self, now: Instant, bytes: &[u8]) -> Result<ReceiverId, StreamError> {
        let now = self.clock(now);
        self.changes += 1;
        let id = Feedback::receiver_of(bytes)?;
        let place = self.place(id).map_err(|_| Refusal::Receiver)?;
        let receiver = &mut self.receivers[place];
        let feedback = Feedback::decode(bytes, &receiver.key).and_then(|feedback| {
            receiver.check(&feedback)?;
            Ok(feedback)
        });
        let feedback = match feedback {
            Ok(feedback) => feedback,
            Err(refusal) => {
                receiver.refused = receiver.refused.saturating_add(1);
                return Err(refusal.into());
            }
        };
        let allocated = self.allocated(place, now);
        if self.allocator.rate(id).is_zero() {
            // What it had before the silence; recovery from that is the receiver's.
            self.allocator.join_at(now, id, BitRate::from_bps_f64(self.receivers[place].before));
        }
        let told = self.receivers[place].on_feedback(now, feedback, allocated, &self.config);
        self.allocator.on_report(now, id, &told.report);
        Ok(id)
    }

    /// Decides if it is due, and returns rates and reason.
    ///
    /// # Errors
    /// [`StreamError::Unknown`] if the receiver has not joined.
    pub fn poll(&mut self, id: ReceiverId, now: Instant) -> Result<Decision, StreamError> {
        let now = self.clock(now);
        let place = self.place(id)?;
        if let Some((changes, decision)) = self.receivers[place].decided
            && changes == self.changes
            && now < decision.next
        {
            return Ok(decision);
        }
        self.changes += u64::from(self.allocator.on_deadline(now));
        let rate = self.rate(place, now);
        let pace = rate / self.config.spread;
        self.receivers[place].pacer.slow_down(pace);
        let receiver = &self.receivers[place];
        let allocation = self.allocator.allocations().find(|allocation| allocation.receiver == id);
        let latest = now + self.config.interval;
        let next = [self.allocator.next_deadline(), receiver.next_deadline(now, self.config.interval)];
        let next = next.into_iter().flatten().fold(latest, Instant::min);
        let rate = BitRate::from_bps_f64(rate);
        let pacing = BitRate::from_bps_f64(pace);
        let decision = Decision {
            reason: receiver.reason(now, allocation.as_ref(), &self.config),
            rate,
            encoder: rate.mul_f64(self.config.encoder_share),
            pacing,
            pacing_interval: pacing.time_for(self.config.packet),
            largest_frame: rate.bytes_in(receiver.frame_interval),
            next,
            level: receiver.level,
            target: receiver.target,
            loss: receiver.loss,
            absence: receiver.absence,
            reports: receiver.reports,
            refused: receiver.refused,
        };
        self.receivers[place].decided = Some((self.changes, decision));
        Ok(decision)
    }

    /// Messages refused of all receivers that have joined.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.receivers.iter().map(|receiver| u64::from(receiver.refused)).sum()
    }

    /// The rate in force in bit/s.
    fn rate(&self, place: usize, now: Instant) -> f64 {
        let least = self.config.least.as_bps() as f64;
        self.receivers[place].limited(now, self.allocated(place, now), least, self.config.interval)
    }

    /// The allocator's rate within the configured limits, in bit/s. A receiver that was never heard has the start rate, one that was
    /// forgotten the lowest.
    fn allocated(&self, place: usize, now: Instant) -> f64 {
        let receiver = &self.receivers[place];
        let rate = self.allocator.rate(receiver.id);
        let rate = match (rate.is_zero(), receiver.is_lost(now)) {
            (false, _) => rate,
            (true, false) => self.config.start,
            (true, true) => self.config.least,
        };
        rate.clamp(self.config.least, self.config.most).as_bps() as f64
    }

    fn place(&self, id: ReceiverId) -> Result<usize, StreamError> {
        self.search(id).map_err(|_| StreamError::Unknown)
    }

    /// The index of a receiver, or the one at which it is to be inserted.
    fn search(&self, id: ReceiverId) -> Result<usize, usize> {
        self.receivers.binary_search_by_key(&id, |receiver| receiver.id)
    }

    fn clock(&mut self, now: Instant) -> Instant {
        if self.latest.since(now) >= STEP {
            let from = std::mem::replace(&mut self.latest, now);
            self.changes += 1;
            self.receivers.iter_mut().for_each(|receiver| receiver.set_back(from, now));
        }
        self.latest = self.latest.max(now);
        self.latest
    }
}

fn check_sizes(bytes: ByteCount, packets: u32) -> Result<(), StreamError> {
    let size = bytes.as_u64();
    first_wrong(&[
        ((1..=MOST_PACKETS).contains(&packets), "packets is out of range: 1 to 65536"),
        ((1..=LARGEST_FRAME).contains(&size), "bytes is out of range: 1 to 67108864"),
        (size <= u64::from(packets) * LARGEST_PACKET, "bytes is out of range: at most 65535 a packet"),
    ])
}
