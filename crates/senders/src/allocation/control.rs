//! The proxy's allocator: algorithms 1 and 2, with additions for real networks.

mod model_rates;

use airbound_units::{BitRate, ByteCount, ConfigError, Instant, Span};

use super::bottleneck::Bottleneck;
use super::config::{AllocationConfig, Form, LEAST, Share, Start};
use super::hold::Hold;
use super::overload;
use super::report::Report;
use super::start::{Overhead, Space};
use super::stream::{Allocation, Direction, ReceiverId, Stream, fresh_level, level_of_largest, moved};

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
            let judged = detector.on_slot(frame, target, arrived, sent, report.queue_loss());
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
            self.step(now);
        }
        for station in &mut self.streams {
            station.frames = 0.0;
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

    /// K₀/n in (bit/s) per packet, for a station with this rate. A steady allocator keeps it below half of the critical gain: by
    /// lemma 2 the level follows the rate with the slope c / (1 - wᵀx)², which is N / (x (1 - wᵀx)), so that half of it is x (1 - wᵀx) / N.
    fn gain(&self, rate: f64) -> f64 {
        let gain = self.config.gain * 1e6 / self.streams.len().max(1) as f64;
        if !self.config.steady {
            return gain;
        }
        let packet = self.config.packet.bits() as f64;
        let cost = (packet + self.config.packet_overhead.bits() as f64) / packet;
        let taken: f64 =
            self.streams.iter().filter_map(|station| Some(cost * station.rate / station.phy?)).sum();
        gain.min(self.overhead.steady_gain(
            &self.config,
            self.streams.len(),
            rate,
            (1.0 - taken).clamp(LEAST_FREE, 1.0),
        ))
    }

    /// The only station, if its PHY rate is not known. Algorithm 1 regulates it without.
    fn lone(&self) -> Option<usize> {
        matches!(&self.streams[..], [stream] if stream.phy.is_none()).then_some(0)
    }

    /// Algorithm 1 with the steady gain of [`Self::gain`], the free time measured.
    fn lone_step(&mut self, now: Instant, place: usize) {
        let stream = &self.streams[place];
        if let Some(level) = stream.fresh_level().filter(|_| self.is_heard(now, place)) {
            let above = level - self.config.target;
            // A queue has to drain; a step up must not exceed what is free.
            let least = if above > 0.0 { LEAST_FREE } else { 0.0 };
            let free = stream.measured_free().clamp(least, 1.0);
            let steady = self.overhead.steady_gain(&self.config, 1, stream.rate, free);
            let gain = (self.config.gain * 1e6).min(steady);
            self.set(now, place, stream.rate - gain * above);
        }
    }

    /// Executes one step of algorithm 1 or 2.
    fn step(&mut self, now: Instant) {
        for held in self.streams.iter_mut().filter_map(|station| station.held.as_mut()) {
            held.probe();
        }
        if let Some(lone) = self.lone() {
            self.lone_step(now, lone);
            return;
        }
        match self.config.form {
            Form::Distributed => self.with_known(now, |this, known| this.distributed_step(now, known)),
            Form::Central => self.with_known(now, |this, known| this.central_step(now, known)),
        }
    }

    /// Algorithm 1 for each station, which knows the number of stations and its own reports. For the shares of theorem 1 it also needs the
    /// PHY rate of the regulated station.
    fn distributed_step(&mut self, now: Instant, known: &[(usize, f64)]) {
        for &(place, phy) in known {
            let Some(level) = self.streams[place].fresh_level() else { continue };
            let own = self.streams[place].rate;
            let rate = own - self.gain(own) * (level - self.target_of(place));
            let most = if self.config.share == Share::Optimal { self.fair_share(phy) } else { MAX_RATE };
            self.set(now, place, rate.min(most));
        }
    }

    /// Algorithm 2, with the regulated station chosen as the share demands.
    fn central_step(&mut self, now: Instant, known: &[(usize, f64)]) {
        if self.config.share == Share::Optimal {
            self.hold_at_cap(now, known);
            return;
        }
        let by_rate = |a: &&(usize, f64), b: &&(usize, f64)| a.1.total_cmp(&b.1);
        // The level of a held station says nothing about the shares of others.
        let all_held = known.iter().all(|(place, _)| self.streams[*place].limit().is_some());
        let free = known.iter().filter(|(place, _)| all_held || self.streams[*place].limit().is_none());
        let regulated = match self.config.share {
            Share::Printed => free.min_by(by_rate),
            // The first of several equal ones, unless one is faster.
            _ => free.rev().max_by(by_rate),
        };
        let Some(&(place, phy)) = regulated else { return };
        // The pseudo-code continues from the rate of the regulated station. When the fastest station changes merely by the scatter of
        // measured rates, that rate belongs to a lower PHY rate, and with each change all rates fall. So the ratio is carried over instead.
        // It must not raise all rates when PHY rates rise, as after a start: at the same ratio levels rise with them, since c stays.
        let own =
            known.iter().map(|(place, _)| self.streams[*place].rate).fold(self.streams[place].rate, f64::max);
        let mut rate = match (self.config.share, self.factor) {
            (Share::EqualAirtime, Some(factor)) if self.config.steady => {
                (factor * phy).min(own * (1.0 + CHANGED))
            }
            _ => self.streams[place].rate,
        };
        let id = self.streams[place].id.0;
        if let Some(level) = fresh_level(self.streams.iter().filter(|stream| stream.id.0 == id)) {
            rate = (rate - self.gain(rate) * (level - self.config.target)).max(LEAST);
        }
        self.factor = Some(rate / phy);
        for (other, own) in known {
            self.set(now, *other, rate * own / phy);
        }
    }

    /// The optimum of problem P: one rate for all stations at the target, 1/n of the payload airtime for those below it.
    fn hold_at_cap(&mut self, now: Instant, known: &[(usize, f64)]) {
        let largest = |held: bool| {
            let streams = known.iter().map(|(place, _)| &self.streams[*place]);
            streams
                .filter(|stream| stream.limit().is_some() == held)
                .map(|stream| stream.rate)
                .reduce(f64::max)
        };
        // If all stations are held, the rates that they receive limit all.
        let Some(mut cap) = largest(false).or_else(|| largest(true)) else { return };
        let at_cap = known.iter().map(|(place, _)| &self.streams[*place]);
        let level = fresh_level(at_cap.filter(|station| station.rate >= 0.999 * cap));
        if let Some(level) = level {
            cap -= self.gain(cap) * (level - self.config.target);
        }
        for (place, phy) in known {
            self.set(now, *place, cap.max(LEAST).min(self.fair_share(*phy)));
        }
    }
}
