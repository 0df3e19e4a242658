//! The split of a packet's latency into stages.

use airbound_units::{Instant, Span};

use crate::rows::{Fate, HopRow, PacketRow};
use crate::stage::Stage;

/// The timestamps of a delivered packet, or of one of its hops, named as in [`PacketRow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Moments {
    pub sent: Instant,
    pub enqueued: Instant,
    pub contending: Instant,
    pub first_tx: Instant,
    pub last_tx: Instant,
    pub received: Instant,
    pub delivered: Instant,
    pub arrived: Instant,
}

impl Moments {
    const fn of(row: &PacketRow) -> Self {
        Self {
            sent: row.sent,
            enqueued: row.enqueued,
            contending: row.contending,
            first_tx: row.first_tx,
            last_tx: row.last_tx,
            received: row.received,
            delivered: row.delivered,
            arrived: row.arrived,
        }
    }

    /// The timestamps of a hop after a relay that released the packet at `left`; the time until it entered the relay's queue counts as
    /// queueing.
    #[must_use]
    pub const fn from_relay(self, left: Instant) -> Self {
        Self { sent: left, enqueued: left, ..self }
    }
}

/// Time of one delivered packet in each stage. The stages sum exactly to the latency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Split([Span; 6]);

impl Split {
    /// The split of a delivered packet, for a relayed one over its last hop only ([`Split::over`]); `None` if it was not delivered.
    ///
    /// A timestamp that is not set ([`Instant::MAX`]) or precedes its predecessor gives a stage of zero length, one after the arrival is
    /// limited to it, so that the sum holds for every row.
    #[must_use]
    pub fn of(row: &PacketRow) -> Option<Self> {
        if row.fate == Fate::Delivered { Self::between(&Moments::of(row)) } else { None }
    }

    /// The split between timestamps.
    #[must_use]
    #[inline]
    pub fn between(moments: &Moments) -> Option<Self> {
        let Moments { sent, enqueued, contending, first_tx, last_tx, received, delivered, arrived } =
            *moments;
        let moments_ns = [sent, enqueued, contending, first_tx, last_tx, received, delivered, arrived];
        let ns = moments_ns.map(Instant::as_nanos);
        let between: [u64; 7] = std::array::from_fn(|place| ns[place + 1].wrapping_sub(ns[place]));
        // Valid timestamps have a leading zero bit, and differences of ordered ones, too; unset timestamps and steps back set it.
        let bits = ns.into_iter().chain(between).fold(0, std::ops::BitOr::bitor);
        if bits >> 63 != 0 {
            return Self::put_in_order(moments);
        }
        let [before, queueing, contention, retries, airtime, reordering, after] =
            between.map(Span::from_nanos);
        Some(Self([before + after, queueing, contention, airtime, retries, reordering]))
    }

    /// The split of timestamps that are partly unset or out of order.
    fn put_in_order(moments: &Moments) -> Option<Self> {
        let Moments { sent, arrived, .. } = *moments;
        if arrived == Instant::MAX || arrived < sent {
            return None;
        }
        let mut last = sent;
        let mut until = |end: Instant| {
            let end = if end == Instant::MAX { last } else { end.clamp(last, arrived) };
            let span = end.since(last);
            last = end;
            span
        };
        let to_transmitter = until(moments.enqueued);
        let queueing = until(moments.contending);
        let contention = until(moments.first_tx);
        let retries = until(moments.last_tx);
        let airtime = until(moments.received);
        let reordering = until(moments.delivered);
        let onwards = until(arrived);
        Some(Self([to_transmitter + onwards, queueing, contention, airtime, retries, reordering]))
    }

    /// The split of a delivered packet with `hops` before its last one, with each stage summed over all hops.
    ///
    /// A relay queues a packet at the end of the exchange, after its reordering buffer released it; the time between counts as queueing,
    /// so that the sum holds.
    #[must_use]
    pub fn over(hops: &[HopRow], last: &PacketRow) -> Option<Self> {
        let mut sum = Self::default();
        let mut left = None;
        for hop in hops {
            let row = PacketRow {
                enqueued: hop.enqueued,
                contending: hop.contending,
                first_tx: hop.first_tx,
                last_tx: hop.last_tx,
                received: hop.received,
                delivered: hop.delivered,
                arrived: hop.delivered,
                fate: Fate::Delivered,
                ..*last
            };
            sum = sum + Self::from_relay(left, &row)?;
            left = Some(hop.delivered);
        }
        Some(sum + Self::from_relay(left, last)?)
    }

    /// The split over the hop of `row`, from the release by the previous relay at `left`; from the source if there was none.
    #[must_use]
    pub fn from_relay(left: Option<Instant>, row: &PacketRow) -> Option<Self> {
        match left {
            None => Self::of(row),
            Some(left) if row.fate == Fate::Delivered => Self::between(&Moments::of(row).from_relay(left)),
            Some(_) => None,
        }
    }

    /// Time in one stage.
    #[must_use]
    pub const fn stage(&self, stage: Stage) -> Span {
        self.0[stage as usize]
    }

    /// All stages, in the order of [`Stage::ALL`].
    #[must_use]
    pub const fn stages(&self) -> &[Span; 6] {
        &self.0
    }

    /// The latency, the sum of the stages.
    #[must_use]
    pub fn latency(&self) -> Span {
        self.0.iter().copied().sum()
    }
}

impl std::ops::Add for Split {
    type Output = Self;

    /// Adds the times of two parts of a path, such as two hops, by stage.
    fn add(self, other: Self) -> Self {
        let mut sum = self.0;
        for (stage, further) in sum.iter_mut().zip(other.0) {
            *stage += further;
        }
        Self(sum)
    }
}
