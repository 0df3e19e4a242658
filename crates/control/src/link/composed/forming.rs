//! Aggregation of a composed link: retransmissions first, then packets without a sequence number.

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;
use airbound_wifi::mpdu::{DELIMITER, SUBFRAME_ALIGNMENT, subframe_size};
use airbound_wifi::rate::Format;

use super::Composed;
use crate::frame::{DropReason, Dropped, Payload, StationId};
use crate::frame::{Mpdu, TxDescriptor};
use crate::link::Room;
use crate::link::airtime::AirtimeEstimate;
use crate::link::config::TimeLimits;
use crate::link::transmit_state::MOST_MPDUS;
use crate::queue::{Queue, Sink, Turn};
use crate::rate::RateControl;

/// An aggregate being formed, and its limits.
pub(super) struct Aggregate<P> {
    pub(super) mpdus: Vec<Mpdu<P>>,
    psdu: ByteCount,
    most: usize,
    max_psdu: ByteCount,
    /// Padding after the first subframe.
    first_padding: ByteCount,
    /// Estimated airtime that is left, if the layers below form the PPDUs.
    pub(super) airtime: Option<Span>,
}

impl<P> Aggregate<P> {
    pub(super) fn has_place(&self) -> bool {
        self.mpdus.len() < self.most
    }

    /// Length of the PSDU after adding an MPDU of `size`.
    #[inline(always)]
    fn with(&self, size: ByteCount) -> ByteCount {
        let padding = if self.mpdus.len() == 1 { self.first_padding } else { ByteCount::ZERO };
        self.psdu.padded_to(SUBFRAME_ALIGNMENT) + padding + DELIMITER + size
    }

    /// Length of the PSDU after adding an MPDU of `size`; `None` if it exceeds a limit. The first MPDU is always
    /// admitted.
    #[inline(always)]
    pub(super) fn admits(&self, size: ByteCount) -> Option<ByteCount> {
        let psdu = self.with(size);
        (self.mpdus.is_empty() || psdu <= self.max_psdu).then_some(psdu)
    }

    /// Accounts for the airtime and the frames of a packet if the layers below form the PPDUs.
    #[inline(always)]
    pub(super) fn charge(&mut self, estimate: Span, frames: u16) {
        if let Some(left) = &mut self.airtime {
            *left -= estimate;
            let places = self.most.saturating_sub(usize::from(frames.saturating_sub(1)));
            self.most = if left.is_zero() { 0 } else { places };
        }
    }

    /// Number of MPDUs of `size` that fit behind the second one.
    #[inline(always)]
    fn room_for(&self, size: ByteCount) -> usize {
        let places = self.most.saturating_sub(self.mpdus.len());
        let Some(left) = self.max_psdu.as_u64().checked_sub(self.with(size).as_u64()) else { return 0 };
        places.min((left / subframe_size(size).as_u64().max(1)) as usize + 1)
    }

    /// Adds MPDUs of `size`, for which there is room behind the second one. Returns their number.
    #[inline(always)]
    fn add_equal(&mut self, size: ByteCount, mpdus: impl Iterator<Item = Mpdu<P>>) -> usize {
        let (before, with_one) = (self.mpdus.len(), self.with(size));
        self.mpdus.extend(mpdus);
        let added = self.mpdus.len() - before;
        if added > 0 {
            self.psdu = with_one + subframe_size(size) * (added as u64 - 1);
        }
        added
    }

    pub(super) fn add(&mut self, mpdu: Mpdu<P>, psdu: ByteCount) {
        self.psdu = psdu;
        self.mpdus.push(mpdu);
    }
}

/// Airtime estimates for packets mostly of one size.
#[derive(Debug, Clone, Copy)]
struct Estimates {
    of: AirtimeEstimate,
    category: Category,
    last: Option<(ByteCount, Span)>,
}

impl Estimates {
    fn new(of: AirtimeEstimate, category: Category) -> Self {
        Self { of, category, last: None }
    }

    #[inline]
    fn of(&mut self, size: ByteCount) -> Span {
        match self.last {
            Some((last, estimate)) if last == size => estimate,
            _ => {
                let estimate = self.of.of(size, self.category);
                self.last = Some((size, estimate));
                estimate
            }
        }
    }
}

/// An aggregate being filled with packets that have no sequence number yet.
struct Fresh<'a, P> {
    aggregate: &'a mut Aggregate<P>,
    now: Instant,
    /// The sequence number of the next packet.
    sequence: u64,
    /// First sequence number beyond the window.
    end: u64,
    /// Bytes of an MPDU beyond its packet.
    overhead: ByteCount,
    /// Time limits of the layers that a packet has passed when it leaves the queue.
    limits: TimeLimits,
    /// Airtime estimates, if needed.
    estimates: Option<Estimates>,
    /// Whether the queue accounts for packets below it.
    counts: bool,
    /// Size of the next packet as the queue predicted it, and the PSDU length with it.
    foreseen: Option<(ByteCount, ByteCount)>,
    /// Number of packets taken.
    taken: usize,
    /// A packet that left the queue but did not fit, because the queue had dropped the predicted one.
    left_over: Option<Mpdu<P>>,
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
        let Some(size) = size() else { return true };
        if let (Some(left), Some(estimates)) = (self.aggregate.airtime, &mut self.estimates) {
            return estimates.of(size) <= left;
        }
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
            self.aggregate.charge(estimate, frames);
        }
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

    #[inline(always)]
    fn room_for(&self, size: ByteCount) -> usize {
        let asks_each = self.aggregate.airtime.is_some() || self.limits != TimeLimits::NONE;
        // The first two may have padding between them.
        if asks_each || self.aggregate.mpdus.len() < 2 || self.left_over.is_some() {
            return 0;
        }
        let window = usize::try_from(self.end.saturating_sub(self.sequence)).unwrap_or(usize::MAX);
        self.aggregate.room_for(size + self.overhead).min(window)
    }

    #[inline(always)]
    fn put_all(&mut self, size: ByteCount, packets: impl Iterator<Item = P>) -> usize {
        let estimate = self.estimates.as_mut().map(|estimates| estimates.of(size));
        let (first, now) = (self.sequence, self.now);
        let mpdu_size = size + self.overhead;
        let taken = self.aggregate.add_equal(
            mpdu_size,
            packets.zip(first..).map(|(mut packet, sequence)| {
                if let Some(estimate) = estimate {
                    packet.set_airtime_estimate(estimate);
                }
                Mpdu::new(packet, mpdu_size, sequence, now)
            }),
        );
        self.sequence += taken as u64;
        self.taken += taken;
        if estimate.is_some() && self.counts { taken } else { 0 }
    }
}

impl<P: Payload, Q: Queue<P>, L: Queue<P>, R: RateControl> Composed<P, Q, L, R> {
    /// Forms the aggregate for a selected station; `None` if the station has nothing to send.
    pub(super) fn form(
        &mut self,
        now: Instant,
        turn: &Turn,
        room: Room,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<TxDescriptor<P>> {
        let &Turn { station, category, bound, .. } = turn;
        let waiting = self.state.originator(station, category).waiting();
        let below = self.lower.as_ref().map_or(0, |lower| lower.queue.backlog().total().packets);
        let likely = waiting + self.upper.backlog().total().packets + below;
        let chain = self.rate.chain(now, station, u16::try_from(likely).unwrap_or(u16::MAX));
        let chain = chain.first_steps(self.config.chain_steps);
        let failed = self.state.originator(station, category).first_retry().map_or(0, |mpdu| mpdu.failures);
        let chain = if self.config.lowers_rate { chain.starting_at(failed) } else { chain };
        // Every step of the chain has to carry the aggregate within the limit (ath9k: `ath_lookup_rate`).
        let limits = &self.config.ampdu;
        let longest = room.max_duration.min(bound.duration).min(limits.max_duration);
        let airtime = (!self.config.forms_ppdus).then_some(longest);
        let max_psdu = match airtime {
            Some(_) => ByteCount::MAX,
            None => {
                let reported = self.state.reported_rate(station);
                limits.max_bytes.min(self.state.rates.max_psdu(&chain, longest, reported))
            }
        };
        // A sample of another rate is sent as a single MPDU, which limits the cost of failure (ath9k:
        // `ath_tx_form_aggr`).
        let aggregating = airtime.is_some() || chain.first_rate().format() != Format::Legacy && !chain.probe;
        let most = self.config.max_mpdus(category).min(u32::from(bound.mpdus)).min(u32::from(MOST_MPDUS));

        let mut aggregate = Aggregate {
            mpdus: self.state.take_spare(),
            psdu: ByteCount::ZERO,
            most: if aggregating { most.max(1) as usize } else { 1 },
            max_psdu,
            first_padding: self.config.first_subframe_padding,
            airtime,
        };
        if self.add_retries(now, station, category, &mut aggregate, dropped) {
            self.add_fresh(now, turn, &mut aggregate, dropped);
        }
        self.settle_dropped_below(now, dropped);
        let Aggregate { mpdus, mut psdu, .. } = aggregate;
        let Some(first) = mpdus.first() else {
            self.state.give_spare(mpdus);
            self.update_eligibility(now, station, category);
            return None;
        };
        let lowest = first.sequence;
        let aggregated = mpdus.len() > 1;
        if !aggregated && matches!(chain.first_rate().format(), Format::Legacy | Format::Ht) {
            psdu = first.size;
        }
        if airtime.is_none() {
            self.state.originator(station, category).handed(lowest);
            self.update_eligibility(now, station, category);
        }
        let give_up_after = self.config.give_up_after;
        let limits = self.config.limits;
        let deadline = |mpdu: &Mpdu<P>| limits.deadline(now, mpdu, mpdu.packet.enqueued());
        let give_up_at =
            if limits == TimeLimits::NONE { None } else { mpdus.iter().filter_map(deadline).min() };
        Some(TxDescriptor {
            station,
            category,
            alternate: false,
            mpdus,
            psdu,
            aggregated,
            chain,
            give_up_after,
            give_up_at,
        })
    }

    /// Adds MPDUs to be retransmitted. Returns whether none is left and the aggregate has room.
    fn add_retries(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        aggregate: &mut Aggregate<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) -> bool {
        while aggregate.has_place() {
            self.drop_expired(now, station, category, dropped);
            let originator = self.state.originator(station, category);
            let Some(size) = originator.first_retry().map(|retry| retry.size) else { return true };
            let Some(psdu) = aggregate.admits(size) else { return false };
            let Some(retry) = originator.take_retry() else { return false };
            self.state.kept.of_mut(category).remove(retry.packet.size());
            aggregate.add(retry, psdu);
        }
        false
    }

    /// Adds packets that have no sequence number yet, as far as the window reaches.
    fn add_fresh(
        &mut self,
        now: Instant,
        turn: &Turn,
        aggregate: &mut Aggregate<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        let &Turn { station, category, .. } = turn;
        let counts = self.lower.is_none() && turn.counts_airtime;
        let estimates =
            (counts || aggregate.airtime.is_some()).then(|| Estimates::new(self.estimate(station), category));
        let window = self.config.reach(category);
        let originator = self.state.originator(station, category);
        let mut fresh = Fresh {
            now,
            sequence: originator.next_sequence(),
            end: originator.window_end(aggregate.mpdus.first().map(|mpdu| mpdu.sequence), window),
            aggregate,
            overhead: self.config.overhead,
            limits: self.config.limits,
            estimates,
            counts,
            foreseen: None,
            taken: 0,
            left_over: None,
        };
        if let Some(lower) = &mut self.lower {
            // The queue limit was checked when the packet left the scheme's queue.
            fresh.limits.queue = None;
            lower.queue.dequeue_into(now, turn, &mut fresh, &mut self.dropped_below);
        } else {
            self.upper.dequeue_into(now, turn, &mut fresh, dropped);
            self.lowered[category.index()] += fresh.taken;
        }
        let originator = self.state.originator(station, category);
        originator.numbered_to(fresh.sequence);
        if let Some(mpdu) = fresh.left_over {
            // It is the first packet of the next aggregate.
            let bytes = mpdu.packet.size();
            originator.keep(mpdu);
            self.state.kept.of_mut(category).add(bytes);
        }
    }

    /// Gives up MPDUs to be retransmitted that have exceeded a time limit.
    fn drop_expired(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        let limits = self.config.limits;
        loop {
            let upper = &self.upper;
            let originator = self.state.originator(station, category);
            let expired = |mpdu: &Mpdu<P>| {
                let age = now - mpdu.packet.enqueued();
                limits.outlived_below(now, mpdu, mpdu.packet.enqueued())
                    || upper.lifetime(&mpdu.packet).is_some_and(|lifetime| age > lifetime)
            };
            if !originator.first_retry().is_some_and(expired) {
                return;
            }
            let Some(Mpdu { packet, sequence, .. }) = originator.take_retry() else { return };
            originator.give_up(sequence);
            self.state.kept.of_mut(category).remove(packet.size());
            self.settle(now, &packet);
            dropped.push(Dropped { packet, reason: DropReason::Expired });
        }
    }
}
