//! Packets that join an aggregate for the first time, as they leave the queue.

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

use super::forming::Aggregate;
use crate::frame::Mpdu;
use crate::frame::Payload;
use crate::link::airtime::AirtimeEstimate;
use crate::link::limits::TimeLimits;
use crate::queue::Sink;

/// Estimates of airtime for packets that are mostly of one size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimates {
    of: AirtimeEstimate,
    category: Category,
    last: Option<(ByteCount, Span)>,
}

impl Estimates {
    pub(super) fn new(of: AirtimeEstimate, category: Category) -> Self {
        Self { of, category, last: None }
    }

    fn of(&mut self, size: ByteCount) -> Span {
        if let Some((_, estimate)) = self.last.filter(|(last, _)| *last == size) {
            return estimate;
        }
        let estimate = self.of.of(size, self.category);
        self.last = Some((size, estimate));
        estimate
    }
}

/// An aggregate that is being filled with packets that have no sequence number yet.
pub(super) struct Fresh<'a, P> {
    pub(super) aggregate: &'a mut Aggregate<P>,
    pub(super) now: Instant,
    /// The sequence number of the next packet.
    pub(super) sequence: u64,
    /// From this one on the window admits nothing.
    pub(super) end: u64,
    /// Bytes of an MPDU beyond its packet.
    pub(super) overhead: ByteCount,
    /// Of the layers that a packet has behind it when it leaves the queue.
    pub(super) limits: TimeLimits,
    /// Where they are asked for.
    pub(super) estimates: Option<Estimates>,
    /// Whether the queue counts what lies below it.
    pub(super) counts: bool,
    /// The size of the next packet, as the queue foresaw it, and the PSDU with it.
    pub(super) foreseen: Option<(ByteCount, ByteCount)>,
    /// Number of packets that were taken.
    pub(super) taken: usize,
    /// A packet that left the queue and did not fit: the queue had dropped the one that it foresaw.
    pub(super) left_over: Option<Mpdu<P>>,
}

impl<P: Payload> Sink<P> for Fresh<'_, P> {
    #[inline(always)]
    fn has_room(&mut self, size: impl FnOnce() -> Option<ByteCount>) -> bool {
        if !self.aggregate.has_place() || self.sequence >= self.end || self.left_over.is_some() {
            return false;
        }
        self.foreseen = None;
        if self.aggregate.mpdus.is_empty() {
            return true;
        }
        if let (Some(left), Some(estimates)) = (self.aggregate.airtime, &mut self.estimates) {
            return !left.is_zero() && size().is_none_or(|size| estimates.of(size) <= left);
        }
        let Some(size) = size() else { return true };
        self.foreseen = self.aggregate.admits(size + self.overhead).map(|psdu| (size, psdu));
        self.foreseen.is_some()
    }

    #[inline(always)]
    fn put(&mut self, mut packet: P) -> Result<Option<Span>, P> {
        if self.limits.outlived_in_queue(self.now, packet.enqueued()) {
            return Err(packet);
        }
        self.taken += 1;
        let size = packet.size();
        let frames = packet.frames().max(1);
        let each = ByteCount::new(size.as_u64().div_ceil(frames.into()));
        let estimate = self.estimates.as_mut().map(|estimates| estimates.of(each) * u64::from(frames));
        if let Some(estimate) = estimate {
            packet.set_airtime_estimate(estimate);
            self.aggregate.airtime = self.aggregate.airtime.map(|left| left - estimate);
        }
        self.aggregate.most = self.aggregate.most.saturating_sub(usize::from(frames - 1));
        let mpdu = Mpdu::new(packet, size + self.overhead, self.sequence, self.now);
        self.sequence += 1;
        let psdu = match self.foreseen {
            Some((foreseen, psdu)) if foreseen == size => Some(psdu),
            _ => self.aggregate.admits(mpdu.size),
        };
        match psdu {
            Some(psdu) => self.aggregate.add(mpdu, psdu),
            None => self.left_over = Some(mpdu),
        }
        Ok(estimate.filter(|_| self.counts))
    }
}

/// A packet that moves from the scheme's queue to the driver's.
pub(super) struct Lowered<P> {
    pub(super) now: Instant,
    pub(super) limits: TimeLimits,
    /// Where the queue counts what lies below it.
    pub(super) estimate: Option<AirtimeEstimate>,
    pub(super) packet: Option<P>,
}

impl<P: Payload> Sink<P> for Lowered<P> {
    fn has_room(&mut self, _size: impl FnOnce() -> Option<ByteCount>) -> bool {
        self.packet.is_none()
    }

    fn put(&mut self, mut packet: P) -> Result<Option<Span>, P> {
        if self.limits.outlived_in_queue(self.now, packet.enqueued()) {
            return Err(packet);
        }
        let estimate = self.estimate.map(|estimate| estimate.of(packet.size(), packet.category()));
        if let Some(estimate) = estimate {
            packet.set_airtime_estimate(estimate);
        }
        self.packet = Some(packet);
        Ok(estimate)
    }
}
