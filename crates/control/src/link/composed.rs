//! A link made of any queue and any rate control, as mac80211 and its drivers are made.

use std::collections::BTreeMap;

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::edca::Category;
use airbound_wifi::mpdu::subframe_size;
use airbound_wifi::rate::Format;
use airbound_wifi::timing::PpduTiming;

use super::session::Session;
use super::{Grant, Link, Mpdu, Returned, Room, TxReport, expected_airtime};
use crate::payload::{DropReason, Dropped, Payload, StationId};
use crate::queue::{Backlog, Direction, Queue, Readiness};
use crate::rate::{LinkStats, RateControl, RateReport};

/// How a composed link forms aggregates and repeats them.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkConfig {
    /// Most MPDUs, bytes and airtime of an A-MPDU.
    pub ampdu: AmpduLimits,
    /// Bytes that LLC and MAC add to a packet: LLC/SNAP, MAC header, encryption, FCS.
    pub overhead: ByteCount,
    /// MPDUs that may lie between the oldest unsettled one and the newest: the block-ack window, 1 to 256.
    pub window: u16,
    /// In how many grants an MPDU may be before it is given up, 1 to 255.
    pub max_grants: u8,
    /// The hardware gives a grant back after so long, whatever tries are left.
    pub give_up_after: Option<Span>,
}

/// A queue below the scheme's own: a driver's or a firmware's, which the scheme cannot order.
#[derive(Debug, Clone)]
pub struct LowerQueue<L> {
    /// The order in which it serves stations.
    pub queue: L,
    /// Most packets in each category, those in the hardware and those that wait to be sent again included.
    pub depth: usize,
}

/// A queue, perhaps with a driver's queue below it, and a rate control.
#[derive(Debug, Clone)]
pub struct Composed<P, Q, L, R> {
    upper: Q,
    lower: Option<LowerQueue<L>>,
    /// Packets below the scheme's queue, by category: in the lower queue, in the hardware, or kept.
    lowered: [usize; 4],
    rate: R,
    config: LinkConfig,
    /// Indexed by station and category.
    sessions: Vec<[Session<P>; 4]>,
    /// Packets kept for retransmission, by category.
    kept: [usize; 4],
    kept_bytes: ByteCount,
    dropped_below: Vec<Dropped<P>>,
    /// Emptied lists of earlier grants, to be filled again.
    spare: Vec<Vec<Mpdu<P>>>,
    timings: BTreeMap<airbound_wifi::rate::Rate, PpduTiming>,
    last_timing: Option<(airbound_wifi::rate::Rate, PpduTiming)>,
}

/// More stations than this cannot associate with one access point (association identifiers, 802.11-2020, 9.4.1.8).
const MAX_STATIONS: usize = 2008;

impl<P: Payload, Q: Queue<P>, L: Queue<P>, R: RateControl> Composed<P, Q, L, R> {
    /// Puts the parts together.
    #[must_use]
    pub fn new(upper: Q, lower: Option<LowerQueue<L>>, rate: R, config: LinkConfig) -> Self {
        Self {
            upper,
            lower,
            lowered: [0; 4],
            rate,
            config,
            sessions: Vec::new(),
            kept: [0; 4],
            kept_bytes: ByteCount::ZERO,
            dropped_below: Vec::new(),
            spare: Vec::new(),
            timings: BTreeMap::new(),
            last_timing: None,
        }
    }

    /// The scheme's queue.
    pub const fn queue(&self) -> &Q {
        &self.upper
    }

    /// The rate control.
    pub const fn rate_control(&self) -> &R {
        &self.rate
    }

    fn session(&mut self, station: StationId, category: Category) -> Option<&mut Session<P>> {
        self.all_sessions(station).map(|by_category| &mut by_category[category.index()])
    }

    fn all_sessions(&mut self, station: StationId) -> Option<&mut [Session<P>; 4]> {
        let index = station.index();
        if index >= MAX_STATIONS {
            return None;
        }
        if index >= self.sessions.len() {
            self.sessions.resize_with(index + 1, Default::default);
        }
        self.sessions.get_mut(index)
    }

    fn timing(&mut self, rate: airbound_wifi::rate::Rate) -> PpduTiming {
        match self.last_timing {
            Some((last, timing)) if last == rate => timing,
            _ => {
                let timing = *self.timings.entry(rate).or_insert_with(|| PpduTiming::new(rate));
                self.last_timing = Some((rate, timing));
                timing
            }
        }
    }

    /// Moves packets down while the driver takes them, as `wake_tx_queue` makes a driver do.
    fn refill(&mut self, now: Instant, category: Category, dropped: &mut Vec<Dropped<P>>) {
        let Some(lower) = &mut self.lower else { return };
        let lowered = &mut self.lowered[category.index()];
        // A station whose packets were all dropped is asked once; there are only so many.
        let mut misses = 0;
        while *lowered < lower.depth && misses <= self.sessions.len() {
            let Some(station) = self.upper.select(now, category) else { break };
            let Some(mut packet) = self.upper.dequeue(now, station, category, dropped) else {
                misses += 1;
                continue;
            };
            if self.upper.counts_below() {
                let estimate = expected_airtime(self.rate.expected_rate(station), packet.size());
                packet.set_airtime_estimate(estimate);
                self.upper.on_handed(now, station, category, estimate);
            }
            // The time of arrival is the scheme's; the lower queue must not overwrite it.
            let enqueued = packet.enqueued();
            lower.queue.enqueue(enqueued, packet, &mut self.dropped_below);
            *lowered += 1;
            // A driver's queue refuses nothing below its depth; if a scheme is used as one, its drops count.
            *lowered = lowered.saturating_sub(self.dropped_below.len());
            dropped.append(&mut self.dropped_below);
        }
    }

    /// Tells the queue that serves the hardware what is known of a station's session.
    fn update_readiness(&mut self, now: Instant, station: StationId, category: Category) {
        let window = self.config.window;
        let Some(session) = self.session(station, category) else { return };
        let readiness = if let Some(first) = session.first_retry() {
            Readiness::Retries { since: first.packet.enqueued() }
        } else if session.fresh_room(window) == 0 {
            Readiness::Blocked
        } else {
            Readiness::Fresh
        };
        if session.readiness != readiness {
            session.readiness = readiness;
            match &mut self.lower {
                Some(lower) => lower.queue.set_readiness(now, station, category, readiness),
                None => self.upper.set_readiness(now, station, category, readiness),
            }
        }
    }

    /// A packet left the layers below the scheme's queue for good.
    fn settle(&mut self, now: Instant, station: StationId, category: Category, packet: &P) {
        self.lowered[category.index()] = self.lowered[category.index()].saturating_sub(1);
        if self.upper.counts_below() {
            self.upper.on_returned(now, station, category, packet.airtime_estimate());
        }
    }

    /// Forms the aggregate for a selected station; `None` if it turns out to have nothing to send.
    fn form(
        &mut self,
        now: Instant,
        station: StationId,
        room: Room,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<Grant<P>> {
        let category = room.category;
        let session = self.session(station, category)?;
        let (waiting, dictated) = (session.waiting(), session.dictated);
        let below = self.lower.as_ref().map_or(0, |lower| lower.queue.backlog().packets);
        let likely = waiting + self.upper.backlog().packets + below;
        let series = self.rate.series(now, station, u16::try_from(likely).unwrap_or(u16::MAX));
        let bound = match &self.lower {
            None => self.upper.aggregate_bound(now, station, category),
            Some(_) => crate::queue::AggregateBound::NONE,
        };
        let longest = room.max_duration.min(bound.duration);
        // Every step of the chain has to carry the aggregate within the limit (ath9k: `ath_lookup_rate`).
        let mut max_psdu = self.config.ampdu.max_bytes;
        for step in series.steps() {
            let timing = self.timing(step.rate);
            let longest = longest.min(self.config.ampdu.max_duration);
            max_psdu = max_psdu.min(match dictated {
                Some(rate) => rate.bytes_in(longest - timing.preamble()),
                None => timing.max_psdu(longest),
            });
        }
        let aggregating = series.first_rate().format() != Format::Legacy;
        // A sample of another rate goes alone, so that it costs little if it fails (ath9k: `ath_tx_form_aggr`).
        let aggregating = aggregating && !series.probe;
        let max_mpdus =
            if aggregating { self.config.ampdu.max_mpdus.min(u32::from(bound.mpdus)).max(1) } else { 1 };

        let mut mpdus = self.spare.pop().unwrap_or_default();
        let mut psdu = ByteCount::ZERO;
        let window = self.config.window;
        while mpdus.len() < max_mpdus as usize {
            let session = self.session(station, category)?;
            if let Some(retry) = session.first_retry() {
                let longer = psdu + subframe_size(retry.size);
                if !mpdus.is_empty() && longer > max_psdu {
                    break;
                }
                if let Some(retry) = session.take_retry() {
                    self.kept[category.index()] = self.kept[category.index()].saturating_sub(1);
                    self.kept_bytes -= retry.packet.size();
                    psdu = longer;
                    mpdus.push(retry);
                }
                continue;
            }
            let first_unsettled = mpdus.first().map(|mpdu: &Mpdu<P>| mpdu.sequence);
            let open = match first_unsettled {
                Some(first) => session.fresh_room(window) > 0 && session.next_within(first, window),
                None => session.fresh_room(window) > 0,
            };
            if !open {
                break;
            }
            if !mpdus.is_empty() {
                let next = match &mut self.lower {
                    Some(lower) => lower.queue.next_size(station, category),
                    None => self.upper.next_size(station, category),
                };
                if next.is_some_and(|next| psdu + subframe_size(next + self.config.overhead) > max_psdu) {
                    break;
                }
            }
            let packet = match &mut self.lower {
                Some(lower) => lower.queue.dequeue(now, station, category, &mut self.dropped_below),
                None => {
                    let mut packet = self.upper.dequeue(now, station, category, dropped);
                    if let Some(packet) = packet.as_mut().filter(|_| self.upper.counts_below()) {
                        let estimate = expected_airtime(self.rate.expected_rate(station), packet.size());
                        packet.set_airtime_estimate(estimate);
                        self.upper.on_handed(now, station, category, estimate);
                    }
                    packet
                }
            };
            let Some(packet) = packet else { break };
            let size = packet.size() + self.config.overhead;
            let longer = psdu + subframe_size(size);
            let bytes = packet.size();
            let session = self.session(station, category)?;
            let mpdu = Mpdu { packet, size, sequence: session.number(), retries: 0 };
            if !mpdus.is_empty() && longer > max_psdu {
                // It has left the queue and goes first next time.
                session.keep(mpdu);
                self.kept[category.index()] += 1;
                self.kept_bytes += bytes;
                break;
            }
            psdu = longer;
            mpdus.push(mpdu);
        }
        let Some(first) = mpdus.first() else {
            self.spare.push(mpdus);
            return None;
        };
        let lowest = first.sequence;
        let aggregated = aggregating && (mpdus.len() > 1 || self.config.ampdu.max_mpdus > 1);
        if !aggregated {
            psdu = first.size;
        }
        if let Some(session) = self.session(station, category) {
            session.handed(lowest);
        }
        self.update_readiness(now, station, category);
        Some(Grant {
            station,
            category,
            mpdus,
            psdu,
            aggregated,
            series,
            give_up_after: self.config.give_up_after,
        })
    }
}

impl<P: Payload, Q: Queue<P>, L: Queue<P>, R: RateControl> Link<P> for Composed<P, Q, L, R> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        let category = packet.category();
        self.upper.enqueue(now, packet, dropped);
        if self.lower.is_some() {
            self.refill(now, category, dropped);
        }
    }

    fn next(&mut self, now: Instant, room: Room, dropped: &mut Vec<Dropped<P>>) -> Option<Grant<P>> {
        self.refill(now, room.category, dropped);
        // Each round serves somebody or finds a station that has nothing left; there are only so many.
        for _ in 0..=self.sessions.len().saturating_mul(2) + 2 {
            let station = match &mut self.lower {
                Some(lower) => lower.queue.select(now, room.category),
                None => self.upper.select(now, room.category),
            }?;
            if let Some(grant) = self.form(now, station, room, dropped) {
                self.refill(now, room.category, dropped);
                return Some(grant);
            }
        }
        None
    }

    fn on_report(&mut self, now: Instant, report: TxReport<P>, returned: &mut Returned<P>) {
        let TxReport { grant, used, acknowledged, airtime, .. } = report;
        let (station, category) = (grant.station, grant.category);
        let lowest = grant.mpdus.first().map(|mpdu| mpdu.sequence);
        self.rate.on_report(
            now,
            station,
            &RateReport { used, mpdus: grant.mpdus.len() as u16, acknowledged: acknowledged.count() },
        );
        if let (Some(session), Some(lowest)) = (self.session(station, category), lowest) {
            session.returned(lowest);
        }
        let mut mpdus = grant.mpdus;
        for (index, mut mpdu) in mpdus.drain(..).enumerate() {
            if acknowledged.get(index) {
                self.settle(now, station, category, &mpdu.packet);
                continue;
            }
            mpdu.retries = mpdu.retries.saturating_add(1);
            if mpdu.retries >= self.config.max_grants {
                self.settle(now, station, category, &mpdu.packet);
                returned.dropped.push((mpdu, DropReason::RetryLimit));
            } else if let Some(session) = self.session(station, category) {
                let bytes = mpdu.packet.size();
                session.keep(mpdu);
                self.kept[category.index()] += 1;
                self.kept_bytes += bytes;
            }
        }
        self.spare.push(mpdus);
        if !returned.dropped.is_empty() {
            returned.window_start = self.session(station, category).map(|session| session.window_start());
        }
        if let Some(airtime) = airtime {
            self.upper.on_airtime(now, station, category, airtime, Direction::Sent);
        }
        self.update_readiness(now, station, category);
    }

    fn on_received(&mut self, now: Instant, station: StationId, category: Category, airtime: Span) {
        self.upper.on_airtime(now, station, category, airtime, Direction::Received);
    }

    fn on_link_stats(&mut self, now: Instant, station: StationId, stats: &LinkStats) {
        self.rate.on_link_stats(now, station, stats);
        if stats.rate.is_some()
            && let Some(by_category) = self.all_sessions(station)
        {
            for session in by_category {
                session.dictated = stats.rate;
            }
        }
    }

    fn has_backlog(&self, category: Category) -> bool {
        self.kept[category.index()] > 0
            || self.lower.as_ref().is_some_and(|lower| lower.queue.has_backlog(category))
            || self.upper.has_backlog(category)
    }

    fn backlog(&self) -> Backlog {
        let upper = self.upper.backlog();
        let lower = self.lower.as_ref().map(|lower| lower.queue.backlog()).unwrap_or_default();
        Backlog {
            packets: upper.packets + lower.packets + self.kept.iter().sum::<usize>(),
            bytes: upper.bytes + lower.bytes + self.kept_bytes,
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.upper.next_deadline().into_iter().chain(self.rate.next_deadline()).min()
    }
}
