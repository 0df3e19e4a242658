//! A link made of any queue and any rate control, as mac80211 and its drivers are made.

mod forming;
mod fresh;

use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;
use airbound_wifi::rate::Format;

use self::fresh::Lowered;
use super::airtime::AirtimeEstimate;
use super::config::LinkConfig;
use super::rate_facts::RateTable;
use super::{Link, Returned, Room};
use crate::frame::RateChain;
use crate::frame::{DropReason, Dropped, Payload, StationId};
use crate::frame::{Mpdu, TxDescriptor, TxReport};
use crate::link::block_ack::BlockAckOriginator;
use crate::queue::{Backlog, Backlogs, Deadline, Direction, Eligibility, Fact, Queue, Turns};
use crate::rate::{LinkStats, RateControl, RateReport};

/// A queue below the scheme's own: a driver's or a firmware's, which the scheme cannot order.
#[derive(Debug, Clone)]
pub struct LowerQueue<L> {
    /// The order in which it serves stations. It should leave the time stamps of packets alone ([`crate::queue::Fifo::below`]): they
    /// are those of the scheme's queue.
    pub queue: L,
    /// Most packets in each category, those in the hardware and those that wait to be sent again included.
    pub depth: usize,
}

/// State of one peer.
#[derive(Debug, Clone)]
struct Station<P> {
    originators: [BlockAckOriginator<P>; 4],
    /// The rate at which the environment says that data really goes out, and estimates at it.
    dictated: Option<(BitRate, AirtimeEstimate)>,
    /// Whether the queue was told of an expected throughput.
    told: bool,
    /// The rate that the queue was told of last.
    told_rate: Option<BitRate>,
}

impl<P> Default for Station<P> {
    fn default() -> Self {
        Self { originators: Default::default(), dictated: None, told: false, told_rate: None }
    }
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
    stations: Vec<Station<P>>,
    kept: Backlogs,
    dropped_below: Vec<Dropped<P>>,
    /// Emptied lists of earlier descriptors, to be filled again.
    spare: Vec<Vec<Mpdu<P>>>,
    rates: RateTable,
}

/// Emptied lists that are kept at most: more descriptors are hardly ever in the hardware.
const MOST_SPARE: usize = 64;

/// The packets whose throughput a queue is told (minstrel: `AVG_PKT_SIZE`).
const AVERAGE_PACKET: ByteCount = ByteCount::new(1200);

/// More MPDUs than this no block ack can acknowledge (802.11ax).
const MOST_MPDUS: u16 = 256;

impl<P: Payload, Q: Queue<P>, L: Queue<P>, R: RateControl> Composed<P, Q, L, R> {
    /// Puts the parts together. A window outside of 1 to 256 is taken for the nearest bound.
    #[must_use]
    pub fn new(mut upper: Q, lower: Option<LowerQueue<L>>, rate: R, mut config: LinkConfig) -> Self {
        if lower.is_some() {
            upper.on(Instant::ZERO, Fact::LowerQueue);
        }
        config.window = config.window.clamp(1, MOST_MPDUS);
        Self {
            upper,
            lower,
            lowered: [0; 4],
            rate,
            config,
            stations: Vec::new(),
            kept: Backlogs::default(),
            dropped_below: Vec::new(),
            spare: Vec::new(),
            rates: RateTable::default(),
        }
    }

    /// The scheme's queue.
    pub const fn queue(&self) -> &Q {
        &self.upper
    }

    /// The scheme's queue, to set demands. Packets go through the link.
    pub const fn queue_mut(&mut self) -> &mut Q {
        &mut self.upper
    }

    /// The rate control.
    pub const fn rate_control(&self) -> &R {
        &self.rate
    }

    #[inline]
    fn station(&mut self, station: StationId) -> &mut Station<P> {
        let index = station.index();
        if index >= self.stations.len() {
            self.stations.resize_with(index + 1, Default::default);
        }
        &mut self.stations[index]
    }

    /// Estimates of airtime to a station.
    fn estimate(&mut self, station: StationId) -> AirtimeEstimate {
        match self.stations.get(station.index()).and_then(|station| station.dictated) {
            Some((_, estimate)) => estimate,
            None => self.rates.of(self.rate.expected_rate(station)).estimate,
        }
    }

    /// Moves packets down while the driver takes them, as `wake_tx_queue` makes a driver do.
    fn refill(&mut self, now: Instant, category: Category, dropped: &mut Vec<Dropped<P>>) {
        let depth = self.lower.as_ref().map_or(0, |lower| lower.depth);
        let mut turns = Turns::among(self.stations.len());
        while self.lowered[category.index()] < depth
            && let Some(turn) = turns.next(|| self.upper.select(now, category))
        {
            let before = dropped.len();
            let estimate = turn.counts_airtime.then(|| self.estimate(turn.station));
            let mut one = Lowered { now, limits: self.config.limits, estimate, packet: None };
            self.upper.dequeue_into(now, &turn, &mut one, dropped);
            let Some(packet) = one.packet else {
                turns.on_turn(dropped.len() > before);
                continue;
            };
            self.lowered[category.index()] += 1;
            if let Some(lower) = &mut self.lower {
                lower.queue.enqueue(now, packet, &mut self.dropped_below);
            }
            self.settle_dropped_below(now, dropped);
        }
    }

    /// A driver's queue refuses nothing below its depth; if a scheme is used as one, its drops count.
    fn settle_dropped_below(&mut self, now: Instant, dropped: &mut Vec<Dropped<P>>) {
        if self.dropped_below.is_empty() {
            return;
        }
        let mut below = std::mem::take(&mut self.dropped_below);
        for Dropped { packet, .. } in &below {
            self.settle(now, packet);
        }
        dropped.append(&mut below);
        self.dropped_below = below;
    }

    /// Tells the queue that serves the hardware what is known of a station's originator.
    fn update_eligibility(&mut self, now: Instant, station: StationId, category: Category) {
        let window = self.config.reach();
        let originator = &mut self.station(station).originators[category.index()];
        let eligibility = if let Some(first) = originator.first_retry() {
            Eligibility::Retries { since: first.packet.enqueued() }
        } else if originator.fresh_room(window) == 0 {
            Eligibility::Blocked
        } else {
            Eligibility::Fresh
        };
        if originator.eligibility != eligibility {
            originator.eligibility = eligibility;
            let fact = Fact::Eligibility { station, category, eligibility };
            match &mut self.lower {
                Some(lower) => lower.queue.on(now, fact),
                None => self.upper.on(now, fact),
            }
        }
    }

    /// A packet left the layers below the scheme's queue for good.
    #[inline]
    fn settle(&mut self, now: Instant, packet: &P) {
        let lowered = &mut self.lowered[packet.category().index()];
        *lowered = lowered.saturating_sub(1);
        self.upper.on(now, Fact::Dropped(packet));
    }

    /// Tells the queue what throughput is expected of a station: that of the rate control, or what follows from the
    /// estimates of airtime. Told again and again, since the queue may compare stations.
    fn tell_throughput(&mut self, now: Instant, station: StationId) {
        let dictated = self.station(station).dictated.is_some();
        let throughput = match self.rate.expected_throughput(station).filter(|_| !dictated) {
            Some(throughput) => throughput,
            None => self.estimate(station).throughput(AVERAGE_PACKET),
        };
        self.station(station).told = true;
        self.upper.on(now, Fact::Throughput { station, throughput });
        self.tell_rate(now, station);
    }

    /// Tells the queue at which rate data goes to a station, if that has changed.
    fn tell_rate(&mut self, now: Instant, station: StationId) {
        let expected = self.rate.expected_rate(station);
        let dictated = self.station(station).dictated.map(|(rate, _)| rate);
        let rate = dictated.unwrap_or_else(|| expected.bit_rate());
        if self.station(station).told_rate.replace(rate) != Some(rate) {
            let chain = RateChain::single(expected, 1);
            let longest = self.rates.max_psdu(&chain, self.config.ampdu.max_duration, dictated);
            let mpdus = self.config.most_full_mpdus(longest);
            let mpdus = if expected.format() == Format::Legacy { 1 } else { mpdus };
            self.upper.on(now, Fact::Rate { station, rate, mpdus });
        }
    }

    /// Why an MPDU that came back is not sent again, if it is not.
    fn gives_up(&self, now: Instant, mpdu: &Mpdu<P>) -> Option<DropReason> {
        let config = &self.config;
        let tries_are_up = config.max_tries.is_some_and(|most| mpdu.transmissions >= most);
        if mpdu.retries >= config.max_grants || tries_are_up {
            return Some(DropReason::RetryLimit);
        }
        config.limits.outlived_below(now, mpdu, mpdu.packet.enqueued()).then_some(DropReason::Expired)
    }

    fn give_spare(&mut self, mpdus: Vec<Mpdu<P>>) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(mpdus);
        }
    }
}

impl<P: Payload, Q: Queue<P>, L: Queue<P>, R: RateControl> Link<P> for Composed<P, Q, L, R> {
    #[inline(always)]
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        let category = packet.category();
        self.station(packet.station());
        self.upper.enqueue(now, packet, dropped);
        if self.lower.is_some() {
            self.refill(now, category, dropped);
        }
    }

    fn next(&mut self, now: Instant, room: Room, dropped: &mut Vec<Dropped<P>>) -> Option<TxDescriptor<P>> {
        self.refill(now, room.category, dropped);
        let mut turns = Turns::among(self.stations.len());
        while let Some(turn) = turns.next(|| match &mut self.lower {
            Some(lower) => lower.queue.select(now, room.category),
            None => self.upper.select(now, room.category),
        }) {
            let before = dropped.len();
            if let Some(descriptor) = self.form(now, &turn, room, dropped) {
                self.upper.on(now, Fact::Granted(&descriptor));
                self.refill(now, room.category, dropped);
                return Some(descriptor);
            }
            turns.on_turn(dropped.len() > before);
        }
        None
    }

    fn on_report(&mut self, now: Instant, report: TxReport<P>, returned: &mut Returned<P>) {
        self.upper.on(now, Fact::Reported(&report));
        let TxReport { descriptor, used, acknowledged, airtime, handed, ended, .. } = report;
        let (station, category) = (descriptor.station, descriptor.category);
        let mut mpdus = descriptor.mpdus;
        let count = u16::try_from(mpdus.len()).unwrap_or(u16::MAX);
        // What never reached the air says nothing about a rate.
        if !used.steps().is_empty() {
            let acknowledged = acknowledged.count().min(count);
            self.rate.on_report(now, station, &RateReport { used, mpdus: count, acknowledged });
        }
        if let Some(first) = mpdus.first() {
            self.station(station).originators[category.index()].returned(first.sequence);
        }
        let (mut place, handed_back) = (0.., mpdus.len());
        mpdus.retain(|_| place.next().is_some_and(|place| !acknowledged.get(place)));
        let arrived = handed_back - mpdus.len();
        for mut mpdu in mpdus.drain(..) {
            mpdu.came_back(used.total_tries(), ended - handed);
            if let Some(reason) = self.gives_up(now, &mpdu) {
                self.settle(now, &mpdu.packet);
                self.station(station).originators[category.index()].give_up(mpdu.sequence);
                returned.dropped.push((mpdu, reason));
            } else {
                self.kept.of_mut(category).add(mpdu.packet.size());
                self.station(station).originators[category.index()].keep(mpdu);
            }
        }
        self.lowered[category.index()] = self.lowered[category.index()].saturating_sub(arrived);
        self.give_spare(mpdus);
        let originator = &mut self.station(station).originators[category.index()];
        let passed = originator.passed_hole();
        if passed.is_some() || !returned.dropped.is_empty() {
            returned.window_start = Some(originator.window_start());
        }
        if let Some(airtime) = airtime {
            self.upper.on(now, Fact::Airtime { station, category, airtime, direction: Direction::Sent });
        }
        self.tell_throughput(now, station);
        self.update_eligibility(now, station, category);
    }

    fn on_received(&mut self, now: Instant, station: StationId, category: Category, airtime: Span) {
        self.upper.on(now, Fact::Airtime { station, category, airtime, direction: Direction::Received });
    }

    fn on_link_stats(&mut self, now: Instant, station: StationId, stats: &LinkStats) {
        self.rate.on_link_stats(now, station, stats);
        let mut news = !self.station(station).told;
        if let Some(rate) = stats.rate {
            let estimate = AirtimeEstimate::dictated(self.rate.expected_rate(station), rate);
            self.station(station).dictated = Some((rate, estimate));
            news = true;
        }
        if news {
            self.tell_throughput(now, station);
        }
    }

    fn window_start(&self, station: StationId, category: Category) -> u64 {
        let originator = self.stations.get(station.index()).map(|peer| &peer.originators[category.index()]);
        originator.map_or(u64::MAX, BlockAckOriginator::window_start)
    }

    fn has_backlog(&self, category: Category) -> bool {
        self.kept.has(category)
            || self.lower.as_ref().is_some_and(|lower| lower.queue.backlog().has(category))
            || self.upper.backlog().has(category)
    }

    fn backlog(&self) -> Backlog {
        let lower = self.lower.as_ref().map(|lower| lower.queue.backlog().total());
        Backlog::sum(lower.into_iter().chain([self.upper.backlog().total(), self.kept.total()]))
    }

    fn on_channel(&mut self, now: Instant, busy: Option<f64>, own: Option<f64>) {
        self.upper.on(now, Fact::ChannelLoad { busy, own });
    }

    fn deadline(&self) -> Deadline {
        let lower = self.lower.as_ref().and_then(|lower| lower.queue.deadline().select);
        let below = lower.into_iter().chain(self.rate.next_deadline()).min();
        self.upper.deadline().min(Deadline { select: below, channel_load: None })
    }
}
