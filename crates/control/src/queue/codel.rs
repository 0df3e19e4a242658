//! Controlled delay (CoDel, RFC 8289): drops at a growing pace while packets stay longer than a target.

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::run::Dequeue;
use super::station_lists::{ArrivalOrder, Limits, StationLists};
use super::{Backlogs, Fact, Queue, Sink, Turn};
use crate::error::ConfigError;
use crate::frame::{DropReason, Dropped, Payload, StationId};

/// The two times of the algorithm and its safeguard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct CodelParameters {
    /// Acceptable standing delay (`TARGET`, RFC 8289, section 4.3): 5 ms. Above 0.
    pub target: Span,
    /// Time in which a sender can react (`INTERVAL`, section 4.2): 100 ms. At least the target.
    pub interval: Span,
    /// Nothing is dropped that leaves so little behind (`maxpacket` in section 5.5, `mtu` in the kernel): one full packet.
    pub mtu: ByteCount,
}

impl Default for CodelParameters {
    fn default() -> Self {
        Self { target: Span::from_millis(5), interval: Span::from_millis(100), mtu: ByteCount::new(1500) }
    }
}

impl CodelParameters {
    /// Checks the values.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if the target is zero, or the interval below the target or above 100 s.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::check(!self.target.is_zero(), "target", self.target, "more than 0 ms")?;
        ConfigError::check(
            self.interval >= self.target && self.interval <= Span::from_secs(100),
            "interval",
            self.interval,
            "the target up to 100 s",
        )
    }

    /// The time to the next drop after `count` drops: interval / sqrt(count) (RFC 8289, section 5.2).
    ///
    /// The IEEE 754 square root is correctly rounded, so every machine computes the same value; the kernel approximates it
    /// by Newton steps in 16 bits.
    #[must_use]
    pub(crate) fn spacing(&self, count: u32) -> Span {
        let nanos = self.interval.as_nanos() as f64 / f64::from(count.max(1)).sqrt();
        Span::from_nanos(nanos as u64)
    }
}

/// The state of the controller for one queue (RFC 8289, section 5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CodelState {
    /// The instant at which the delay will have been above the target for an interval; `None` while it is below.
    first_above: Option<Instant>,
    /// When the next packet is dropped, while dropping.
    drop_next: Instant,
    /// Drops since dropping began.
    count: u32,
    /// `count` when dropping last began.
    last_count: u32,
    dropping: bool,
}

impl CodelState {
    /// Counts `drops` made for another reason, which raises the drop rate (kernel: `fq_codel_drop`).
    pub(super) const fn add_drops(&mut self, drops: u32) {
        self.count = self.count.saturating_add(drops);
    }

    /// Takes the next packet from a queue, dropping packets as the algorithm demands. A packet that can carry a mark of congestion is
    /// marked instead (RFC 8289, section 3; kernel: `codel_dequeue` with `ecn`, as mac80211 sets it).
    ///
    /// `next` takes the head of the queue and returns the bytes left behind it; `give_up` receives dropped packets.
    pub fn dequeue<P: Payload>(
        &mut self,
        parameters: &CodelParameters,
        now: Instant,
        mut next: impl FnMut() -> Option<(P, Standing)>,
        mut give_up: impl FnMut(P),
    ) -> Option<P> {
        let mut taken = next();
        let mut above = self.judge(parameters, now, taken.as_ref());
        if self.dropping {
            if !above {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if marks(&mut taken) {
                    self.drop_next += parameters.spacing(self.count);
                    break;
                }
                if let Some((packet, _)) = taken.take() {
                    give_up(packet);
                }
                taken = next();
                above = self.judge(parameters, now, taken.as_ref());
                if above {
                    self.drop_next += parameters.spacing(self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if above {
            if !marks(&mut taken) {
                if let Some((packet, _)) = taken.take() {
                    give_up(packet);
                }
                taken = next();
                self.judge(parameters, now, taken.as_ref());
            }
            self.dropping = true;
            // If the last dropping phase ended recently, start at its drop rate (section 5.5).
            let pace = self.count.saturating_sub(self.last_count);
            let recent = now.since(self.drop_next) < parameters.interval * 16;
            self.count = if pace > 1 && recent { pace } else { 1 };
            self.drop_next = now + parameters.spacing(self.count);
            self.last_count = self.count;
        }
        taken.map(|(packet, _)| packet)
    }

    /// Whether a packet that just left the queue was above the target, as were all in the interval before it (`dodequeue`).
    fn judge<P: Payload>(
        &mut self,
        parameters: &CodelParameters,
        now: Instant,
        taken: Option<&(P, Standing)>,
    ) -> bool {
        let low = taken.is_none_or(|(_, standing)| {
            now.since(standing.since) < parameters.target || standing.left <= parameters.mtu
        });
        if low {
            self.first_above = None;
            return false;
        }
        now >= *self.first_above.get_or_insert(now + parameters.interval)
    }

    /// Undoes the end of a dropping phase if the caller has no more packets to take now although the queue is not empty,
    /// which [`Self::dequeue`] cannot know. `before` is the state before that call.
    fn resume(&mut self, before: &Self) {
        self.first_above = before.first_above;
        self.dropping |= before.dropping;
    }
}

/// Marks a packet in place of dropping it, where it can carry the mark.
fn marks<P: Payload>(taken: &mut Option<(P, Standing)>) -> bool {
    taken.as_mut().is_some_and(|(packet, _)| packet.mark())
}

/// State of a queue when a packet is taken from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Bytes behind the packet.
    pub left: ByteCount,
    /// Arrival time of the oldest packet, including the one taken: `now` less this is the sojourn time that the controller
    /// uses. In a queue in order of arrival it is the packet's own.
    pub since: Instant,
}

/// Configuration of a [`Codel`] queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct CodelConfig {
    /// Limits of each category (kernel `sch_codel`: 1000 packets).
    pub limit: Limits,
    /// See [`CodelParameters::target`].
    pub target: Span,
    /// See [`CodelParameters::interval`].
    pub interval: Span,
    /// See [`CodelParameters::mtu`].
    pub mtu: ByteCount,
}

impl Default for CodelConfig {
    fn default() -> Self {
        let CodelParameters { target, interval, mtu } = CodelParameters::default();
        Self { limit: Limits::default(), target, interval, mtu }
    }
}

/// A first-in-first-out queue for each category with one CoDel controller (kernel: `net/sched/sch_codel.c`).
///
/// The controller observes packets in the order of departure, regardless of their station.
#[derive(Debug, Clone)]
pub struct Codel<P> {
    limits: Limits,
    parameters: CodelParameters,
    lists: StationLists<P>,
    order: ArrivalOrder,
    states: [CodelState; 4],
    /// Latest time observed.
    now: Instant,
}

impl<P: Payload> Codel<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: CodelConfig) -> Result<Self, ConfigError> {
        let CodelConfig { limit, target, interval, mtu } = config;
        let parameters = CodelParameters { target, interval, mtu };
        parameters.check()?;
        Ok(Self {
            limits: limit.check()?,
            parameters,
            lists: StationLists::default(),
            order: ArrivalOrder::default(),
            states: [CodelState::default(); 4],
            now: Instant::ZERO,
        })
    }
}

impl<P: Payload> Codel<P> {
    /// The station to be served next.
    fn next_station(&mut self, _now: Instant, category: Category) -> Option<StationId> {
        self.order.select(&mut self.lists, category)
    }
}

impl<P: Payload> Dequeue<P> for Codel<P> {
    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        self.now = self.now.max(now);
        let (lists, order) = (&mut self.lists, &mut self.order);
        let state = &mut self.states[category.index()];
        let before = *state;
        let packet = state.dequeue(
            &self.parameters,
            self.now,
            || {
                let packet = lists.pop(station, category)?;
                // Packets of one station may overtake those of others: the sojourn time is that of the oldest packet of all.
                let oldest = order.oldest(lists, category).unwrap_or(Instant::MAX);
                let standing =
                    Standing { left: lists.waiting(category).bytes, since: oldest.min(packet.enqueued()) };
                Some((packet, standing))
            },
            |packet| dropped.push(Dropped { packet, reason: DropReason::Congestion }),
        );
        if packet.is_none() && lists.waiting(category).packets > 0 {
            state.resume(&before);
        }
        packet
    }

    #[inline]
    fn next_size(&mut self, station: StationId, category: Category) -> Option<ByteCount> {
        self.lists.first_size(station, category)
    }
}

impl<P: Payload> Queue<P> for Codel<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        let (station, category) = (packet.station(), packet.category());
        if self.lists.push(now, packet, self.limits, dropped) {
            self.order.update(&mut self.lists, station, category);
        }
    }

    fn select(&mut self, now: Instant, category: Category) -> Option<Turn> {
        self.next_station(now, category).map(|station| Turn::new(station, category))
    }

    #[inline]
    fn dequeue_into(
        &mut self,
        now: Instant,
        turn: &Turn,
        sink: &mut impl Sink<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        self.hand_out(now, turn, sink, dropped);
    }

    fn flush(&mut self, station: StationId, out: &mut Vec<P>) {
        self.lists.flush(station, out);
    }

    fn backlog(&self) -> &Backlogs {
        self.lists.backlog()
    }

    fn oldest(&mut self, category: Category) -> Option<Instant> {
        self.order.oldest(&mut self.lists, category)
    }

    fn on(&mut self, _now: Instant, fact: Fact<'_, P>) {
        if let Fact::Eligibility { station, category, eligibility } = fact {
            self.lists.set_eligibility(station, category, eligibility);
            self.order.update(&mut self.lists, station, category);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_packet::{Capable, Special, at_micros, packet};
    use super::*;
    use crate::frame::PlainPacket;

    const STEP: u64 = 100;

    /// Dequeues every 100 µs from `from` until `until` (µs) packets that are `age` old; returns when packets were dropped.
    fn drops(state: &mut CodelState, from: u64, until: u64, age: Span, left: u64) -> Vec<u64> {
        let mut times = Vec::new();
        for micros in (from..until).step_by(STEP as usize) {
            let now = at_micros(micros);
            let packet = packet(0, 0).enqueued_at(now - age);
            let kept = state.dequeue(
                &CodelParameters::default(),
                now,
                || Some((packet.clone(), Standing { left: ByteCount::new(left), since: packet.enqueued() })),
                |_| times.push(micros),
            );
            assert!(kept.is_some());
        }
        times
    }

    #[test]
    fn a_standing_queue_is_dropped_from_at_interval_over_root_n() {
        let times = drops(&mut CodelState::default(), 1_000_000, 2_000_000, Span::from_millis(6), 100_000);
        // One interval above the target, then control_law: 100 / sqrt(1), 100 / sqrt(2), … after the previous drop.
        let mut due = 1_100_000.0;
        for (index, &time) in times.iter().enumerate() {
            let late = time as f64 - due;
            assert!((-0.001..=STEP as f64).contains(&late), "drop {index} at {time} instead of {due}");
            due += 100_000.0 / ((index + 1) as f64).sqrt();
        }
        // One interval of 0.1 s, then n drops take 0.1 s times the sum of 1 / sqrt(k) for k < n: 29 fit in 0.9 s.
        let expected = (1..)
            .scan(0.0, |sum, k| {
                *sum += 0.1 / f64::from(k).sqrt();
                Some(*sum)
            })
            .take_while(|&end| end < 0.9)
            .count()
            + 1;
        assert_eq!(times.len(), expected);
    }

    #[test]
    fn packets_that_can_be_marked_are_marked_when_others_would_be_dropped() {
        let parameters = CodelParameters::default();
        let (mut marking, mut dropping) = (CodelState::default(), CodelState::default());
        let mut marks = Vec::new();
        for micros in (1_000_000..2_000_000).step_by(STEP as usize) {
            let now = at_micros(micros);
            let packet =
                Capable { packet: packet(0, 0).enqueued_at(now - Span::from_millis(6)), is_marked: false };
            let standing = Standing { left: ByteCount::new(100_000), since: packet.enqueued() };
            let next = || Some((packet.clone(), standing));
            let kept =
                marking.dequeue(&parameters, now, next, |_| panic!("it can be marked")).expect("a packet");
            marks.extend(kept.is_marked.then_some(micros));
        }
        assert_eq!(marks, drops(&mut dropping, 1_000_000, 2_000_000, Span::from_millis(6), 100_000));
        assert_eq!(marking, dropping);
    }

    #[test]
    fn dropping_again_soon_resumes_the_pace() {
        let mut state = CodelState::default();
        let first = drops(&mut state, 1_000_000, 2_000_000, Span::from_millis(6), 100_000);
        let count = first.len() as u32;
        assert!(drops(&mut state, 2_000_000, 2_050_000, Span::from_millis(1), 100_000).is_empty());
        // Above again for an interval, then from count - last_count = count - 1.
        let again = drops(&mut state, 2_050_000, 2_300_000, Span::from_millis(6), 100_000);
        assert_eq!(again.first(), Some(&2_150_000));
        let pace = CodelParameters::default().spacing(count - 1).as_micros();
        assert!((pace..=pace + STEP).contains(&(again[1] - again[0])), "{again:?}");
    }

    #[test]
    fn dropping_again_late_starts_over() {
        let mut state = CodelState::default();
        drops(&mut state, 1_000_000, 2_000_000, Span::from_millis(6), 100_000);
        drops(&mut state, 2_000_000, 4_000_000, Span::from_millis(1), 100_000);
        let again = drops(&mut state, 4_000_000, 4_400_000, Span::from_millis(6), 100_000);
        assert_eq!(again[..2], [4_100_000, 4_200_000]);
    }

    #[test]
    fn a_packet_that_leaves_no_full_one_behind_is_kept() {
        let mut state = CodelState::default();
        assert!(drops(&mut state, 1_000_000, 3_000_000, Span::from_secs(1), 1500).is_empty());
        assert!(!drops(&mut state, 3_000_000, 5_000_000, Span::from_secs(1), 1501).is_empty());
    }

    #[test]
    fn the_target_itself_is_too_long() {
        let mut state = CodelState::default();
        let below = Span::from_nanos(4_999_999);
        assert!(drops(&mut state, 1_000_000, 2_000_000, below, 100_000).is_empty());
        assert!(!drops(&mut state, 2_000_000, 3_000_000, Span::from_millis(5), 100_000).is_empty());
    }

    #[test]
    fn a_queue_sees_all_stations_as_one() {
        let mut queue = Codel::new(CodelConfig::default()).expect("valid");
        let mut dropped = Vec::new();
        for number in 0..1001 {
            queue.enqueue(at_micros(number), packet((number % 3) as u16, 0), &mut dropped);
        }
        assert_eq!(dropped.pop().expect("one too many").reason, DropReason::QueueFull);
        // One packet every 10 ms: the first has already waited 10 ms.
        let mut drop_times = Vec::new();
        for turn in 1..=22 {
            let now = at_micros(turn * 10_000);
            let station = queue.next_station(now, Category::Be).expect("a backlog");
            queue.dequeue(now, station, Category::Be, &mut dropped).expect("a packet");
            drop_times.extend(dropped.drain(..).map(|drop| (turn * 10, drop.packet.station().0)));
        }
        // Above from 10 ms on; dropping at 110 ms and 210 ms.
        assert_eq!(drop_times.iter().map(|drop| drop.0).collect::<Vec<_>>(), [110, 210]);
    }

    #[test]
    fn bad_values_are_refused() {
        let refused = |config| Codel::<PlainPacket>::new(config).expect_err("out of range").to_string();
        let zero = CodelConfig { target: Span::ZERO, ..CodelConfig::default() };
        assert_eq!(refused(zero), "target is 0 ms; allowed is more than 0 ms");
        let short = CodelConfig { interval: Span::from_millis(4), ..CodelConfig::default() };
        assert_eq!(refused(short), "interval is 4 ms; allowed is the target up to 100 s");
    }

    #[test]
    fn a_station_that_runs_out_does_not_end_what_stands() {
        // Packets of two stations wait for a second; each time only one packet of each is taken, so that one station's list
        // is empty half of the time. A standing queue has to be cut whether or not stations take turns.
        let mut queue = Codel::new(CodelConfig::default()).expect("valid");
        let mut dropped = Vec::new();
        for step in 0..2_000_u64 {
            let now = at_micros(step * 1_000);
            for station in 0..2 {
                queue.enqueue(now, packet(station, 0), &mut dropped);
            }
            if step > 50 {
                for _ in 0..2 {
                    let Some(station) = queue.next_station(now, Category::Be) else { continue };
                    queue.dequeue(now, station, Category::Be, &mut dropped);
                    // An aggregate is filled until its station has no more packets; this one never had any.
                    queue.dequeue(now, StationId(9), Category::Be, &mut dropped);
                }
            }
        }
        let cut = dropped.iter().filter(|drop| drop.reason == DropReason::Congestion).count();
        assert!(cut > 20, "{cut} packets were dropped");
    }
}
