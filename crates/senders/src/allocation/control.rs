//! The proxy's allocator: algorithms 1 and 2, with additions for real networks.

mod feedback;
mod model_rates;

use airbound_units::{BitRate, ByteCount, ConfigError, Instant, Span};

use super::bottleneck::Bottleneck;
use super::config::{AllocationConfig, LEAST, Share, Start};
use super::hold::Hold;
use super::overload;
use super::report::Report;
use super::start::{Overhead, Space};
use super::stream::{Allocation, Direction, ReceiverId, Stream, level_of_largest, moved};

/// Upper limit of all rates, above any PHY rate.
const MAX_RATE: f64 = 100e9;
/// Relative distance that counts as near the target: the scatter of the mean of a few frames.
const NEAR: f64 = 0.1;
/// Lower limit on the share of time assumed to be free of payload.
const LEAST_FREE: f64 = 0.02;
/// Upper limit on an uplink's level and queue relative to the target: a full block-ack window over the usual one.
const MOST_LEVEL: f64 = 2.0;
/// Step back of the caller's clock from which on it was set; less is the disorder of callers.
const STEP: Span = Span::from_millis(100);
/// Relative change of a PHY rate, against the one used for the last rates, that triggers new ones from the model.
const CHANGED: f64 = 0.15;
/// Longest wait for reports in intervals,
const REPORT_WAIT: f64 = 1.5;
/// and the least distance of two decisions in intervals.
const MIN_SPACING: f64 = 0.9;

/// Allocates the rates of all stations behind one proxy.
#[derive(Debug, Clone)]
pub struct RateAllocator {
    config: AllocationConfig,
    /// Ordered by station number; for one station, the downlink first.
    streams: Vec<Stream>,
    latest: Instant,
    next: Option<Instant>,
    /// Time of the last decision.
    decided: Instant,
    overhead: Overhead,
    /// Start of the phase in which rates come from the model; `None` while they come from feedback.
    starting: Option<Instant>,
    /// Ratio of payload rate to PHY rate of all stations, as set by algorithm 2.
    factor: Option<f64>,
    refused: u64,
    /// The target asked for; that in force may be lower.
    asked: f64,
    space: Space,
}

impl RateAllocator {
    /// Creates an allocator without stations.
    ///
    /// # Errors
    /// [`ConfigError`] for a value out of range.
    pub fn new(config: AllocationConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            streams: Vec::new(),
            latest: Instant::ZERO,
            next: None,
            decided: Instant::ZERO,
            overhead: Overhead::assumed(&config),
            starting: None,
            factor: None,
            refused: 0,
            asked: config.target,
            space: Space::default(),
        })
    }

    /// Reserves space for `streams` downlinks and uplinks. With no more than these, the share `optimal` allocates no memory.
    pub fn reserve(&mut self, streams: usize) {
        self.streams.reserve(streams.saturating_sub(self.streams.len()));
        self.space.reserve(streams);
    }

    /// Returns the configuration.
    #[must_use]
    pub const fn config(&self) -> &AllocationConfig {
        &self.config
    }

    /// Adds a station that receives data. Does nothing if it is known.
    pub fn join(&mut self, now: Instant, station: ReceiverId) {
        self.join_at(now, station, self.config.start_rate);
    }

    /// Adds a station that receives data and begins at `rate`, 20 kbit/s to 100 Gbit/s. Does nothing if it is known.
    pub fn join_at(&mut self, now: Instant, station: ReceiverId, rate: BitRate) {
        self.join_stream(now, (station, Direction::Down), rate);
    }

    /// Adds the uplink of a station, shaped by an [`super::UplinkShaper`], whose reports describe it (assumption 1 of Sec. 7). The uplink
    /// is a further stream on the same air, with a rate of its own.
    pub fn join_uplink(&mut self, now: Instant, station: ReceiverId) {
        self.join_stream(now, (station, Direction::Up), self.config.start_rate);
    }

    fn join_stream(&mut self, now: Instant, id: (ReceiverId, Direction), rate: BitRate) {
        let now = self.clock(now);
        let Err(place) = self.place(id) else { return };
        let before = self.streams.len() as f64;
        if self.config.start == Start::Model {
            // Theorem 1: α is in proportion to 1 / n, since c is in proportion to n.
            self.scale(now, before / (before + 1.0));
            self.starting = Some(now);
        }
        let rate = BitRate::from_bps_f64((rate.as_bps() as f64).clamp(LEAST, MAX_RATE));
        self.streams.insert(place, Stream::new(id, rate, now));
        let soon = now + self.pace();
        self.next = Some(self.next.map_or(soon, |next| next.min(soon)));
    }

    /// Removes a station that receives data.
    pub fn leave(&mut self, now: Instant, station: ReceiverId) {
        self.leave_stream(now, (station, Direction::Down));
    }

    /// Removes the uplink of a station.
    pub fn leave_uplink(&mut self, now: Instant, station: ReceiverId) {
        self.leave_stream(now, (station, Direction::Up));
    }

    fn leave_stream(&mut self, now: Instant, id: (ReceiverId, Direction)) {
        let now = self.clock(now);
        if let Ok(place) = self.place(id) {
            self.streams.remove(place);
            self.make_room(now, 1);
        }
        if self.streams.is_empty() {
            self.next = None;
        }
    }

    /// Takes a report. A report of an unknown station, or one older than its last, is refused.
    pub fn on_report(&mut self, now: Instant, station: ReceiverId, report: &Report) {
        let now = self.clock(now);
        let accepted = self.place((station, Direction::Down)).ok().filter(|place| {
            // Serial numbers (RFC 1982): the newer number is less than half of the number space ahead.
            let newer = |last: u32| report.number != last && report.number.wrapping_sub(last) < 1 << 31;
            self.streams[*place].number.is_none_or(newer)
        });
        let Some(place) = accepted else {
            self.refused += 1;
            return;
        };
        self.take(now, place, report);
        self.decide_soon(now);
    }

    /// Notes payload handed to the network for a station. From the first call on, its rate grows to at most `headroom` times what was
    /// sent: the level of an application that sends less than it may says nothing about higher rates. Without calls all stations are
    /// taken to send at their rates.
    pub fn on_sent(&mut self, now: Instant, station: ReceiverId, payload: ByteCount) {
        self.clock(now);
        if let Ok(place) = self.place((station, Direction::Down)) {
            self.streams[place].on_sent(payload);
        }
    }

    /// Decides as soon as every station has reported. Decisions at fixed intervals, on reports that may arrive just after, would add an
    /// interval of dead time to the loop, in which it would keep cutting a rate that is already low enough.
    fn decide_soon(&mut self, now: Instant) {
        let downlinks = (0..self.streams.len()).filter(|place| self.streams[*place].id.1 == Direction::Down);
        let complete =
            downlinks.filter(|place| self.is_heard(now, *place)).all(|place| self.streams[place].reported);
        let earliest = self.decided + self.config.interval.mul_f64(MIN_SPACING);
        // A start evaluates slots that began after its last change, so it has its own interval.
        if complete && self.starting.is_none() {
            self.next = self.next.map(|next| next.min(now.max(earliest)));
        }
    }

    /// Fits the target into the longest PPDU at the highest PHY rate.
    fn fit_target(&mut self) {
        let fastest = self.streams.iter().filter_map(|station| station.seen_phy).max();
        if let (Some(longest), Some(fastest)) = (self.config.longest, fastest) {
            let packet = (self.config.packet + self.config.packet_overhead).as_u64().max(1);
            let most = fastest.bytes_in(longest).as_u64() as f64 / packet as f64;
            self.config.target = (most / 2.0).clamp(1.0, self.asked);
        }
    }

    /// Takes the report of the downlink at index `place`.
    fn take(&mut self, now: Instant, place: usize, report: &Report) {
        let target = self.target_of(place);
        let within_target = self.is_within_target();
        let frame_overhead = self.config.frame_overhead.as_secs_f64();
        let station = &mut self.streams[place];
        station.number = Some(report.number);
        station.reported = true;
        station.measure_sent(now);
        station.overhead_share = (!report.slot.is_zero())
            .then(|| f64::from(report.frames) / report.slot.as_secs_f64() * frame_overhead);
        station.heard = now;
        if let Some(rate) = report.phy_rate.filter(|rate| !rate.is_zero()) {
            station.seen_phy = Some(rate);
            let kept = if self.config.share == Share::Optimal { 1.0 - report.air_loss() } else { 1.0 };
            station.phy = Some(rate.as_bps() as f64 * kept.max(0.05));
            self.fit_target();
        }
        // A slot that began before the rate changed covers both rates.
        let began = Instant::from_nanos(now.as_nanos().saturating_sub(report.slot.as_nanos()));
        let starting = self.starting.is_some();
        self.on_uplink(now, place, report, starting.then_some(began));
        if self.config.live && report.frames >= self.config.judged_frames {
            self.watch_overload(now, place, target, report);
        }
        let station = &mut self.streams[place];
        let Some(level) = report.level() else { return };
        station.level = Some(level);
        if !starting || began >= station.changed {
            station.frames += f64::from(report.frames);
            station.payload += report.payload.bits() as f64;
            station.time += report.slot.as_secs_f64();
            station.transmissions += f64::from(report.transmissions);
        }
        if self.config.judges(report.frames) && self.starting.is_none() {
            let (slot, sent) = (report.goodput().as_bps() as f64, station.least_sent());
            // Slots of a live stream hold a few of its frames, now and then one less, or what a short absence left of them; and what is
            // sent at a slot's end arrives in the next.
            let usual = (station.arrived.after(slot), station.offered.after(sent));
            let sent = if self.config.live { sent.min(usual.1) } else { sent };
            let arrived = if self.config.live { slot.max(usual.0.min(sent)) } else { slot };
            let frame = level + report.companions;
            let detector = &mut station.detector;
            let cut = level * self.config.packet.bits() as f64 / report.slot.as_secs_f64().max(1e-6);
            let judged = detector.on_slot_of(frame, target, arrived, sent, report.queue_loss(), cut);
            // A station held at the rate of the wire receives all that is sent. Its bottleneck is still the wire.
            let by = match judged {
                Bottleneck::None => station.held.map_or(Bottleneck::Wlan, |held| held.by()),
                judged => judged,
            };
            let gets_less = match by {
                // The queue of the wire shows its losses one by one, long after they ended.
                Bottleneck::Wire => detector.is_starved(),
                _ => within_target && detector.is_short(),
            };
            station.held = station.held.filter(|held| gets_less || held.by() == by);
            match &mut station.held {
                Some(held) => held.on_slot(gets_less, arrived, sent, by),
                None if gets_less => station.held = Some(Hold::cut(arrived, sent, by)),
                None => {}
            }
        }
    }

    /// Cuts the rate of a stream whose queue grows.
    fn watch_overload(&mut self, now: Instant, place: usize, target: f64, report: &Report) {
        let station = &mut self.streams[place];
        let slot = overload::Slot {
            level: report.level().map(|level| level / target),
            arrived: report.goodput().as_bps() as f64,
            sent: station.least_sent(),
            loss: report.queue_loss(),
        };
        let rate = station.rate;
        if station.overload.on_slot(&slot, rate)
            && let Some(limit) = station.overload.limit()
        {
            self.set(now, place, rate.min(limit));
        }
    }

    /// Takes the part of a report about the station's uplink. The proxy does not learn the uplink's PHY rate; since the channel is
    /// reciprocal, it uses the downlink's.
    fn on_uplink(&mut self, now: Instant, downlink: usize, report: &Report, begun: Option<Instant>) {
        let Stream { id: (station, _), phy, seen_phy, .. } = self.streams[downlink];
        let Ok(place) = self.place((station, Direction::Up)) else { return };
        let target = self.target_of(place);
        let uplink = &mut self.streams[place];
        (uplink.heard, uplink.phy, uplink.seen_phy) = (now, phy, seen_phy);
        let Some(level) = report.uplink(self.config.packet) else { return };
        uplink.level = Some(level);
        if begun.is_none_or(|began| began >= uplink.changed) {
            uplink.frames += 1.0;
            // A backlog counts at most as much as a downlink's could; otherwise one bad second would stop all stations.
            uplink.transmissions += level.min(MOST_LEVEL * target);
        }
    }

    /// When the next decision is due; `None` without stations.
    #[must_use]
    pub const fn next_deadline(&self) -> Option<Instant> {
        self.next
    }

    /// Decides if it is due. Returns whether rates may have changed.
    pub fn on_deadline(&mut self, now: Instant) -> bool {
        let now = self.clock(now);
        if self.next.is_none_or(|next| now < next) {
            return false;
        }
        self.forget(now);
        if self.config.live {
            self.streams.iter_mut().for_each(|stream| stream.overload.probe(stream.rate));
        }
        if self.starting.is_some() {
            self.start(now);
        } else {
            self.keep_measuring(now);
            self.step(now);
        }
        for station in &mut self.streams {
            (station.frames, station.payload, station.time) = (0.0, 0.0, 0.0);
            station.transmissions = 0.0;
            station.reported = false;
        }
        self.watch_phy_rates(now);
        self.decided = now;
        let wait = if self.starting.is_some() { self.pace() } else { self.pace().mul_f64(REPORT_WAIT) };
        self.next = (!self.streams.is_empty()).then(|| now + wait);
        true
    }

    /// The payload rate of a station's downlink; zero for an unknown one.
    #[must_use]
    pub fn rate(&self, station: ReceiverId) -> BitRate {
        self.rate_of((station, Direction::Down))
    }

    /// The payload rate of a station's uplink; zero for an unknown one.
    #[must_use]
    pub fn uplink_rate(&self, station: ReceiverId) -> BitRate {
        self.rate_of((station, Direction::Up))
    }

    fn rate_of(&self, id: (ReceiverId, Direction)) -> BitRate {
        self.place(id).map_or(BitRate::ZERO, |place| BitRate::from_bps_f64(self.streams[place].rate))
    }

    /// The allocations of all stations, ordered by number; a station with an uplink has a second entry.
    pub fn allocations(&self) -> impl Iterator<Item = Allocation> + '_ {
        self.streams.iter().enumerate().map(|(place, station)| Allocation {
            receiver: station.id.0,
            direction: station.id.1,
            rate: BitRate::from_bps_f64(station.rate),
            level: station.level,
            target: self.target_of(place),
            phy_rate: station.seen_phy,
            bottleneck: station.held.map_or(station.detector.judgement(), |held| held.by()),
        })
    }

    /// Number of refused reports, of unknown stations or late.
    #[must_use]
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    fn clock(&mut self, now: Instant) -> Instant {
        if self.latest.since(now) >= STEP {
            let from = std::mem::replace(&mut self.latest, now);
            self.streams.iter_mut().for_each(|stream| stream.set_back(from, now));
            self.decided = moved(self.decided, from, now);
            self.next = self.next.map(|next| moved(next, from, now));
            self.starting = self.starting.map(|since| moved(since, from, now));
        }
        self.latest = self.latest.max(now);
        self.latest
    }

    fn place(&self, id: (ReceiverId, Direction)) -> Result<usize, usize> {
        self.streams.binary_search_by_key(&id, |known| known.id)
    }

    /// Whether the largest downlink's level is not above the target. If it is above, all rates are too high, and feedback lowers them;
    /// holding each station at the rate that it receives would lower them step by step where other traffic takes the released airtime.
    fn is_within_target(&self) -> bool {
        level_of_largest(&self.streams).is_none_or(|level| level <= (1.0 + NEAR) * self.config.target)
    }

    fn pace(&self) -> Span {
        if self.starting.is_some() { self.config.start_interval() } else { self.config.interval }
    }

    fn set(&mut self, now: Instant, place: usize, rate: f64) {
        let station = &mut self.streams[place];
        // A share not above the received rate needs no limit.
        station.held = station.held.filter(|held| !held.is_spare(rate));
        let least = self.config.least.as_bps() as f64;
        let most = station.limit().map_or(MAX_RATE, |limit| limit.max(least));
        let reached =
            station.sent_rate().map_or(MAX_RATE, |sent| (self.config.headroom * sent).max(station.rate));
        let rate = if rate.is_finite() { rate.clamp(least, most).min(reached) } else { station.rate };
        if rate != station.rate {
            station.before = station.rate;
            station.rate = rate;
            station.changed = now;
        }
    }

    fn scale(&mut self, now: Instant, factor: f64) {
        self.factor = None;
        for place in 0..self.streams.len() {
            // Below the start rate there is nothing to gain.
            let rate = self.streams[place].rate;
            self.set(now, place, (rate * factor).max(rate.min(self.config.start_rate.as_bps() as f64)));
        }
    }

    /// Shares the rates of `gone` stations that have left among the others.
    fn make_room(&mut self, now: Instant, gone: usize) {
        let left = self.streams.len();
        if self.config.start == Start::Model && left > 0 && gone > 0 {
            self.scale(now, (left + gone) as f64 / left as f64);
            self.starting = Some(now);
        }
    }

    /// Reduces the rates of silent stations, and finally removes them.
    fn forget(&mut self, now: Instant) {
        let before = self.streams.len();
        let limit = self.config.forget;
        self.streams.retain(|station| now - station.heard < limit);
        self.make_room(now, before - self.streams.len());
        for place in 0..self.streams.len() {
            if now - self.streams[place].heard >= self.config.hold {
                let rate = self.streams[place].rate / 2.0;
                self.set(now, place, rate);
            }
        }
    }

    fn is_heard(&self, now: Instant, place: usize) -> bool {
        now - self.streams[place].heard < self.config.hold
    }

    /// Calls `act` with the stations of a known PHY rate that are not silent.
    fn with_known(&mut self, now: Instant, act: impl FnOnce(&mut Self, &[(usize, f64)])) {
        let mut known = std::mem::take(&mut self.space.known);
        known.clear();
        let heard = self.streams.iter().enumerate().filter(|(place, _)| self.is_heard(now, *place));
        known.extend(heard.filter_map(|(place, station)| Some((place, station.phy?))));
        act(self, &known);
        self.space.known = known;
    }

    /// The target level of a station if it were regulated alone.
    fn target_of(&self, place: usize) -> f64 {
        let phys = self.streams.iter().filter_map(|station| station.phy);
        let reference = match self.config.share {
            Share::Optimal => return self.config.target,
            Share::EqualAirtime => phys.reduce(f64::max),
            Share::Printed => phys.reduce(f64::min),
        };
        let own = self.streams[place].phy;
        // Corollary 2: levels are in proportion to PHY rates.
        own.zip(reference).map_or(self.config.target, |(own, reference)| self.config.target * own / reference)
    }

    /// The rate that takes 1/n of the payload airtime: that of a station below the target at the optimum, where w x = 1/n.
    fn fair_share(&self, phy: f64) -> f64 {
        let (packet, overhead) =
            (self.config.packet.bits() as f64, self.config.packet_overhead.bits() as f64);
        phy * packet / (packet + overhead) / self.streams.len().max(1) as f64
    }
}
