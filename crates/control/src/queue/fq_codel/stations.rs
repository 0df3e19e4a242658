//! Station scheduling: deficit round robin over airtime with new and old stations, under an airtime queue limit.

use std::collections::VecDeque;

use airbound_units::Span;
use serde::{Deserialize, Serialize};

use crate::frame::StationId;
use crate::queue::Eligibility;

/// Limits of the airtime below the queue (AQL; kernel: `ieee80211_txq_airtime_check`). A driver's scheduling round of a category begins only
/// while less than `high`, and half of `low` for each further station with packets, is pending in it
/// (`ieee80211_txq_schedule_airtime_check`); a round that has begun goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AirtimeQueueLimit {
    /// Limit for a station's category in any case (`IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L`): 5 ms. Above 0.
    pub low: Span,
    /// Limit for a station's category while the total is below the threshold (`IEEE80211_DEFAULT_AQL_TXQ_LIMIT_H`): 12 ms. At least
    /// `low`.
    pub high: Span,
    /// Threshold on the total over all stations and categories (`IEEE80211_AQL_THRESHOLD`): 24 ms.
    pub threshold: Span,
}

impl Default for AirtimeQueueLimit {
    fn default() -> Self {
        Self { low: Span::from_millis(5), high: Span::from_millis(12), threshold: Span::from_millis(24) }
    }
}

/// The default weight of a station (`IEEE80211_DEFAULT_AIRTIME_WEIGHT`).
pub(super) const DEFAULT_WEIGHT: u16 = 256;

/// The list of its category that holds a station.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Idle,
    New,
    Old,
    /// Over its airtime queue limit or blocked; the station returns when that ends.
    Parked,
}

/// A station in one category.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// Airtime it may still use in its turn, in nanoseconds.
    deficit: i64,
    /// Expected airtime of packets below the queue (`aql_tx_pending`).
    pending: Span,
    eligibility: Eligibility,
    place: Place,
    /// Whether the list of parked stations contains it; the entry may be stale.
    on_parked_list: bool,
    /// Round of its last refill, or the round in which it was parked.
    round: u64,
}

#[derive(Debug, Clone)]
struct Station {
    by_category: [Entry; 4],
    weight: u16,
}

impl Station {
    /// A new station starts with one quantum (kernel: `sta_info_alloc`).
    fn new(quantum: Span) -> Self {
        let entry = Entry { deficit: Stations::refill(quantum, DEFAULT_WEIGHT), ..Entry::default() };
        Self { by_category: [entry; 4], weight: DEFAULT_WEIGHT }
    }
}

#[derive(Debug, Clone, Default)]
struct Lists {
    new: VecDeque<u16>,
    old: VecDeque<u16>,
    parked: Vec<u16>,
    /// Number of rounds of refills.
    round: u64,
    /// Number of stations in a list, parked ones included.
    listed: u64,
    /// Expected airtime of all packets of the category below the queue (`aql_ac_pending_airtime`).
    pending: Span,
    /// Whether no station is served before the next [`Stations::begin_round`].
    closed: bool,
}

/// All stations of a transmitter.
#[derive(Debug, Clone)]
pub(super) struct Stations {
    quantum: Span,
    /// Whether deficits count airtime; otherwise a deficit is a turn.
    fair: bool,
    limit: Option<AirtimeQueueLimit>,
    stations: Vec<Station>,
    lists: [Lists; 4],
    /// Expected airtime of all packets below the queue (`aql_total_pending_airtime`).
    total_pending: Span,
}

impl Stations {
    pub(super) fn new(quantum: Span, fair: bool, limit: Option<AirtimeQueueLimit>) -> Self {
        let (stations, lists) = (Vec::new(), Default::default());
        Self { quantum, fair, limit, stations, lists, total_pending: Span::ZERO }
    }

    fn station(&mut self, station: StationId) -> &mut Station {
        let index = station.index();
        if index >= self.stations.len() {
            let new = Station::new(self.quantum);
            self.stations.resize(index + 1, new);
        }
        &mut self.stations[index]
    }

    fn entry(&self, station: u16, category: usize) -> Entry {
        self.stations
            .get(usize::from(station))
            .map_or(Entry::default(), |station| station.by_category[category])
    }

    pub(super) fn set_weight(&mut self, station: StationId, weight: u16) {
        self.station(station).weight = weight.max(1);
    }

    /// Amount that a refill adds to the deficit of a station.
    fn refill(quantum: Span, weight: u16) -> i64 {
        let nanos = quantum.as_nanos() * u64::from(weight) / u64::from(DEFAULT_WEIGHT);
        i64::try_from(nanos.max(1)).unwrap_or(i64::MAX)
    }

    /// The effective deficit: airtime pending below the queue counts as used (`ieee80211_sta_deficit`, since 2021), where there is an
    /// airtime queue limit and stations share airtime.
    fn effective(counts_pending: bool, entry: &Entry) -> i64 {
        if counts_pending {
            entry.deficit.saturating_sub_unsigned(entry.pending.as_nanos())
        } else {
            entry.deficit
        }
    }

    const fn counts_pending(&self) -> bool {
        self.fair && self.limit.is_some()
    }

    /// Whether a station is not eligible. Retransmissions already count as pending below the queue and are sent regardless of the
    /// airtime queue limit; otherwise a station over its limit would never get a report.
    fn is_held(&self, entry: &Entry) -> bool {
        match entry.eligibility {
            Eligibility::Blocked => true,
            Eligibility::Retries { .. } => false,
            Eligibility::Fresh => self.is_over_limit(entry),
        }
    }

    /// Whether the limit admits no further packet (`ieee80211_txq_airtime_check`).
    fn is_over_limit(&self, entry: &Entry) -> bool {
        self.limit.as_ref().is_some_and(|limit| {
            entry.pending >= limit.low
                && !(self.total_pending < limit.threshold && entry.pending < limit.high)
        })
    }

    /// Notes that a station has packets to send.
    pub(super) fn activate(&mut self, station: StationId, category: usize) {
        let entry = &mut self.station(station).by_category[category];
        if entry.place == Place::Idle {
            entry.place = Place::New;
            self.lists[category].new.push_back(station.0);
            self.lists[category].listed += 1;
        }
    }

    /// Begins a scheduling round, in which no station is served while much of the category is pending: its high limit, and half of the low
    /// one for each further station (`ieee80211_txq_schedule_airtime_check`).
    pub(super) fn begin_round(&mut self, category: usize) {
        let lists = &mut self.lists[category];
        lists.closed = self.limit.as_ref().is_some_and(|limit| {
            lists.pending >= limit.high + limit.low * lists.listed.saturating_sub(1) / 2
        });
    }

    /// Returns the station to be served next; it keeps its turn until its deficit is used up. `has_packets` tests a station for
    /// packets.
    ///
    /// One call refills each deficit at most a few times: after a whole round without service, all further rounds without service
    /// are skipped at once.
    pub(super) fn select(
        &mut self,
        category: usize,
        has_packets: impl Fn(StationId) -> bool,
    ) -> Option<StationId> {
        if self.lists[category].closed {
            return None;
        }
        let mut refills = 0;
        loop {
            let lists = &self.lists[category];
            let (station, is_new) = match lists.new.front() {
                Some(&station) => (station, true),
                None => (*lists.old.front()?, false),
            };
            if !is_new && refills > lists.old.len() {
                self.skip_rounds(category);
                refills = 0;
            }
            let mut entry = self.entry(station, category);
            let held = self.is_held(&entry);
            let counts_pending = self.counts_pending();
            let weight = self.stations.get(usize::from(station)).map_or(DEFAULT_WEIGHT, |of| of.weight);
            let lists = &mut self.lists[category];
            let front = if is_new { &mut lists.new } else { &mut lists.old };
            if held {
                front.pop_front();
                entry.place = Place::Parked;
                entry.round = lists.round;
                if !entry.on_parked_list {
                    entry.on_parked_list = true;
                    lists.parked.push(station);
                }
            } else if Self::effective(counts_pending, &entry) <= 0 {
                front.pop_front();
                lists.old.push_back(station);
                entry.place = Place::Old;
                entry.deficit = entry.deficit.saturating_add(Self::refill(self.quantum, weight));
                if entry.round >= lists.round {
                    lists.round += 1;
                }
                entry.round = lists.round;
                refills += 1;
            } else if matches!(entry.eligibility, Eligibility::Retries { .. })
                || has_packets(StationId(station))
            {
                return Some(StationId(station));
            } else {
                front.pop_front();
                // As with flows, an emptied new station passes through the old list once.
                entry.place = Place::Idle;
                if is_new && !lists.old.is_empty() {
                    entry.place = Place::Old;
                    lists.old.push_back(station);
                } else {
                    lists.listed -= 1;
                }
            }
            if let Some(of) = self.stations.get_mut(usize::from(station)) {
                of.by_category[category] = entry;
            }
        }
    }

    /// Applies at once the refills of all rounds in which no old station reaches a positive deficit.
    fn skip_rounds(&mut self, category: usize) {
        let counts_pending = self.counts_pending();
        let needed = |entry: &Entry, weight| {
            let missing = Self::effective(counts_pending, entry).saturating_neg().max(0);
            missing / Self::refill(self.quantum, weight)
        };
        let listed = || self.lists[category].old.iter().filter_map(|&at| self.stations.get(usize::from(at)));
        let rounds = listed().map(|of| needed(&of.by_category[category], of.weight)).min().unwrap_or(0);
        if rounds <= 0 {
            return;
        }
        let lists = &mut self.lists[category];
        lists.round = lists.round.saturating_add(rounds.unsigned_abs());
        for &at in &lists.old {
            if let Some(of) = self.stations.get_mut(usize::from(at)) {
                let refill = Self::refill(self.quantum, of.weight);
                let entry = &mut of.by_category[category];
                entry.deficit = entry.deficit.saturating_add(refill.saturating_mul(rounds));
                entry.round = lists.round;
            }
        }
    }

    /// Returns a parked station to the rotation once it is eligible. It receives the refills of the rounds that it missed as far as
    /// they only offset airtime that it used: the kernel leaves such stations in the rotation, where they are refilled and skipped.
    fn unpark(&mut self, station: u16, category: usize) {
        let entry = self.entry(station, category);
        if entry.place != Place::Parked || self.is_held(&entry) {
            return;
        }
        let counts_pending = self.counts_pending();
        let lists = &mut self.lists[category];
        let Some(of) = self.stations.get_mut(usize::from(station)) else { return };
        let refill = Self::refill(self.quantum, of.weight);
        let entry = &mut of.by_category[category];
        let missing = Self::effective(counts_pending, entry).saturating_neg();
        if missing >= 0 {
            let missed = i64::try_from(lists.round.saturating_sub(entry.round)).unwrap_or(i64::MAX);
            let rounds = missed.min(missing / refill + 1);
            entry.deficit = entry.deficit.saturating_add(refill.saturating_mul(rounds));
        }
        entry.round = lists.round;
        entry.place = Place::Old;
        lists.old.push_back(station);
    }

    pub(super) fn set_eligibility(&mut self, station: StationId, category: usize, eligibility: Eligibility) {
        self.station(station).by_category[category].eligibility = eligibility;
        self.unpark(station.0, category);
        if matches!(eligibility, Eligibility::Retries { .. }) {
            self.activate(station, category);
        }
    }

    /// Remaining airtime of a station's turn in nanoseconds, as compared in [`Stations::select`].
    pub(super) fn deficit(&self, station: StationId, category: usize) -> i64 {
        Self::effective(self.counts_pending(), &self.entry(station.0, category))
    }

    /// Limits the airtime debt of a station to `most`.
    pub(super) fn forgive(&mut self, station: StationId, category: usize, most: Span) {
        let entry = &mut self.station(station).by_category[category];
        let deepest = 0i64.saturating_sub_unsigned(most.as_nanos());
        entry.deficit = entry.deficit.max(deepest);
    }

    /// Eligibility of a station; `None` if it may not be served now.
    pub(super) fn servable(&self, station: StationId, category: usize) -> Option<Eligibility> {
        let entry = self.entry(station.0, category);
        (!self.is_held(&entry)).then_some(entry.eligibility)
    }

    /// Whether a packet may be handed down: the limit is checked for each packet, as in `ieee80211_tx_dequeue`.
    pub(super) fn may_hand(&self, station: StationId, category: usize) -> bool {
        self.limit.is_none() || !self.is_over_limit(&self.entry(station.0, category))
    }

    pub(super) fn on_handed(&mut self, station: StationId, category: usize, estimated: Span) {
        self.station(station).by_category[category].pending += estimated;
        self.lists[category].pending += estimated;
        self.total_pending += estimated;
    }

    pub(super) fn on_returned(&mut self, station: StationId, category: usize, estimated: Span) {
        let entry = &mut self.station(station).by_category[category];
        // No more than was handed down, so that a stray report cannot corrupt the total.
        let estimated = estimated.min(entry.pending);
        entry.pending -= estimated;
        let was_over = self.limit.as_ref().is_some_and(|limit| self.total_pending >= limit.threshold);
        self.total_pending -= estimated;
        self.lists[category].pending -= estimated;
        self.unpark(station.0, category);
        if was_over && self.limit.as_ref().is_some_and(|limit| self.total_pending < limit.threshold) {
            for category in 0..self.lists.len() {
                self.unpark_all(category);
            }
        }
    }

    fn unpark_all(&mut self, category: usize) {
        let mut parked = std::mem::take(&mut self.lists[category].parked);
        parked.retain(|&station| {
            self.unpark(station, category);
            let Some(of) = self.stations.get_mut(usize::from(station)) else { return false };
            let entry = &mut of.by_category[category];
            entry.on_parked_list = entry.place == Place::Parked;
            entry.on_parked_list
        });
        self.lists[category].parked = parked;
    }

    /// Uses up the turn of a station, where stations take turns.
    pub(super) fn on_turn(&mut self, station: StationId, category: usize) {
        let quantum = self.quantum;
        let of = self.station(station);
        let refill = Self::refill(quantum, of.weight);
        let entry = &mut of.by_category[category];
        entry.deficit = entry.deficit.saturating_sub(refill);
    }

    /// Charges airtime to a station.
    pub(super) fn charge(&mut self, station: StationId, category: usize, airtime: Span) {
        let entry = &mut self.station(station).by_category[category];
        entry.deficit = entry.deficit.saturating_sub_unsigned(airtime.as_nanos());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BE: usize = 1;

    fn stations(limit: Option<AirtimeQueueLimit>, active: u16) -> Stations {
        let mut stations = Stations::new(Span::from_micros(300), true, limit);
        for station in 0..active {
            stations.activate(StationId(station), BE);
        }
        stations
    }

    fn select(stations: &mut Stations) -> Option<u16> {
        stations.select(BE, |_| true).map(|station| station.0)
    }

    #[test]
    fn a_station_is_held_above_its_low_limit_only_when_much_is_pending() {
        let limit = AirtimeQueueLimit::default();
        let mut stations = stations(Some(limit), 1);
        let millis = Span::from_millis;
        stations.on_handed(StationId(0), BE, millis(11));
        assert_eq!(select(&mut stations), Some(0), "below 12 ms, total below 24 ms");
        stations.on_handed(StationId(0), BE, millis(1));
        assert_eq!(select(&mut stations), None, "at 12 ms");
        stations.on_returned(StationId(0), BE, millis(6));
        assert_eq!(select(&mut stations), Some(0), "6 of 6 ms");
        stations.on_handed(StationId(5), BE, millis(18));
        assert_eq!(select(&mut stations), None, "6 of 24 ms");
        // A return for another station makes it eligible again; so does its own, down to the low limit.
        stations.on_returned(StationId(5), BE, Span::from_micros(1));
        assert_eq!(select(&mut stations), Some(0), "6 of less than 24 ms");
        stations.on_handed(StationId(5), BE, millis(10));
        assert_eq!(select(&mut stations), None, "6 of more than 24 ms");
        stations.on_returned(StationId(0), BE, Span::from_micros(1001));
        assert_eq!(select(&mut stations), Some(0), "below 5 ms");
    }

    #[test]
    fn retransmissions_are_not_held() {
        let mut stations = stations(Some(AirtimeQueueLimit::default()), 1);
        stations.on_handed(StationId(0), BE, Span::from_millis(30));
        assert_eq!(select(&mut stations), None);
        stations.set_eligibility(
            StationId(0),
            BE,
            Eligibility::Retries { since: airbound_units::Instant::ZERO },
        );
        assert_eq!(select(&mut stations), Some(0));
        assert!(!stations.may_hand(StationId(0), BE), "nothing new joins it");
        stations.set_eligibility(StationId(0), BE, Eligibility::Fresh);
        assert_eq!(select(&mut stations), None);
    }

    #[test]
    fn the_total_counts_all_categories() {
        let limit = AirtimeQueueLimit::default();
        let mut stations = stations(Some(limit), 1);
        stations.on_handed(StationId(0), BE, Span::from_millis(5));
        stations.on_handed(StationId(1), 3, Span::from_millis(19));
        assert_eq!(select(&mut stations), None);
        stations.on_returned(StationId(1), 3, Span::from_millis(1));
        assert_eq!(select(&mut stations), Some(0));
    }

    #[test]
    fn no_round_begins_while_much_of_the_category_is_pending() {
        let mut stations = stations(Some(AirtimeQueueLimit::default()), 3);
        // 12 ms and twice half of 5 ms for three stations; the first has 6 of them, below its limit.
        stations.on_handed(StationId(0), BE, Span::from_millis(6));
        stations.on_handed(StationId(1), BE, Span::from_millis(11));
        stations.begin_round(BE);
        assert_eq!(select(&mut stations), None, "17 ms of 17");
        stations.on_returned(StationId(1), BE, Span::from_micros(1));
        assert_eq!(select(&mut stations), None, "the round has not begun");
        stations.begin_round(BE);
        assert!(select(&mut stations).is_some());
        // A round that has begun goes on; another category is not counted.
        stations.on_handed(StationId(0), BE, Span::from_micros(5_999));
        stations.on_handed(StationId(1), 3, Span::from_micros(1));
        assert!(select(&mut stations).is_some());
        stations.begin_round(BE);
        assert_eq!(select(&mut stations), None);
    }

    #[test]
    fn more_cannot_return_than_was_handed() {
        let limit = AirtimeQueueLimit::default();
        let mut stations = stations(Some(limit), 2);
        stations.on_handed(StationId(1), BE, Span::from_millis(24));
        stations.on_handed(StationId(0), BE, Span::from_millis(5));
        stations.on_returned(StationId(0), BE, Span::from_secs(1));
        assert_eq!(stations.total_pending, Span::from_millis(24));
    }

    #[test]
    fn a_deep_deficit_is_filled_without_walking_every_round() {
        let mut stations = stations(None, 3);
        for (station, seconds) in [(0, 9000), (1, 5000), (2, 7000)] {
            stations.charge(StationId(station), BE, Span::from_secs(seconds));
        }
        assert_eq!(select(&mut stations), Some(1));
        let deficit = |at| stations.entry(at, BE).deficit;
        assert!((1..=300_000).contains(&deficit(1)));
        // The others got the same number of refills.
        assert!((deficit(2) + 2000 * 1_000_000_000).abs() <= 600_000);
        assert!((deficit(0) + 4000 * 1_000_000_000).abs() <= 600_000);
    }

    #[test]
    fn a_held_station_is_refilled_as_if_it_had_stayed() {
        let mut stations = stations(None, 2);
        stations.charge(StationId(0), BE, Span::from_millis(3));
        stations.set_eligibility(StationId(0), BE, Eligibility::Blocked);
        // The other station uses 6 ms meanwhile, 20 refills.
        for _ in 0..60 {
            assert_eq!(select(&mut stations), Some(1));
            stations.charge(StationId(1), BE, Span::from_micros(100));
        }
        stations.set_eligibility(StationId(0), BE, Eligibility::Fresh);
        let deficit = stations.entry(0, BE).deficit;
        assert!((1..=300_000).contains(&deficit), "{deficit}: enough, and no credit");
    }

    #[test]
    fn a_station_without_packets_leaves_and_may_return() {
        let mut stations = stations(None, 3);
        assert_eq!(stations.select(BE, |station| station.0 == 2), Some(StationId(2)));
        stations.activate(StationId(0), BE);
        stations.set_eligibility(
            StationId(1),
            BE,
            Eligibility::Retries { since: airbound_units::Instant::ZERO },
        );
        stations.charge(StationId(2), BE, Span::from_millis(1));
        let mut seen = Vec::new();
        for _ in 0..2 {
            let station = stations.select(BE, |station| station.0 == 0).expect("two are active");
            seen.push(station.0);
            stations.charge(station, BE, Span::from_millis(1));
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 1]);
    }
}
