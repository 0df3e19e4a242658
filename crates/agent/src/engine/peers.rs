//! The stations: their rates, and their packets below the agent.

use std::collections::{BTreeMap, VecDeque};

use airbound_control::frame::{Payload, StationId};
use airbound_linux::MacAddress;
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

use super::config::WindowConfig;
use super::packet::{Carried, Completion, Held};
use super::unseen::{self, Ledger};

/// Size of the station table, above the 2007 association identifiers of an access point.
const MOST_STATIONS: usize = 2048;
/// The size whose transmission time is averaged.
const REFERENCE: ByteCount = ByteCount::new(1000);
/// The inverse of the weight of a new sample.
const WEIGHT: u64 = 8;

/// A packet released and not completed.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) held: Held,
    pub(super) released: Instant,
    /// Frames that have not completed.
    left: u16,
    /// Whether all completed frames were acknowledged.
    pub(super) acknowledged: bool,
}

/// A station.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    pub(super) mac: MacAddress,
    pub(super) present: bool,
    /// Packets in the queue.
    pub(super) held: usize,
    sent: [VecDeque<Sent>; 4],
    pub(super) below: [Span; 4],
    /// Its packets do not fill the window, and none is released to it.
    pub(super) stalled: bool,
    /// The latest completion, or release while nothing was below.
    progress: Instant,
    /// The latest release time of a completed packet, by category.
    newest: [Instant; 4],
    /// Average transmission time of [`REFERENCE`]; zero if unknown.
    pace: Span,
    /// Whether a completion gave a rate since nl80211 was last read.
    has_sample: bool,
    /// The pace last reported to the link.
    reported_pace: Span,
    /// Completions given up since the last report.
    pub(super) lost: u64,
    pub(super) counts: PeerCounts,
    pub(super) ledger: Ledger,
}

/// Counters of a station's packets and frames by their fate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PeerCounts {
    /// Released packets.
    pub released: u64,
    /// Packets dropped by the agent.
    pub dropped: u64,
    /// Frames that completed.
    pub completed: u64,
    /// Completed frames that were not acknowledged.
    pub failed: u64,
    /// Packets without a completion.
    pub lost: u64,
    /// Airtime of completed frames, microseconds.
    pub airtime_us: u64,
}

impl Peer {
    fn new(mac: MacAddress) -> Self {
        Self {
            mac,
            present: true,
            held: 0,
            sent: Default::default(),
            below: [Span::ZERO; 4],
            stalled: false,
            progress: Instant::ZERO,
            newest: [Instant::ZERO; 4],
            pace: Span::ZERO,
            has_sample: false,
            reported_pace: Span::ZERO,
            lost: 0,
            counts: PeerCounts::default(),
            ledger: Ledger::default(),
        }
    }

    /// The average PHY rate of data to it.
    pub(super) fn rate(&self) -> Option<BitRate> {
        (!self.pace.is_zero()).then(|| BitRate::of(REFERENCE, self.pace))
    }

    /// Takes the rate of nl80211. Returns the rate to report to the link: if it moved, or in any case if `changed`.
    pub(super) fn on_facts(&mut self, rate: Option<BitRate>, changed: bool) -> Option<BitRate> {
        if let Some(rate) = rate.filter(|_| !self.has_sample) {
            self.average(rate);
        }
        self.has_sample = false;
        self.changed_rate(changed)
    }

    /// Takes the rate of a completed frame. Returns the rate to report to the link, if it moved.
    fn on_rate(&mut self, rate: BitRate) -> Option<BitRate> {
        self.has_sample = true;
        self.average(rate);
        self.changed_rate(false)
    }

    fn average(&mut self, rate: BitRate) {
        // No PHY rate is below 100 kb/s.
        let sample = BitRate::from_bps(rate.as_bps().max(100_000)).time_for(REFERENCE);
        self.pace = if self.pace.is_zero() { sample } else { (self.pace * (WEIGHT - 1) + sample) / WEIGHT };
    }

    /// The rate, if it moved by more than 1/32 since the last report, or if `force`.
    fn changed_rate(&mut self, force: bool) -> Option<BitRate> {
        let moved =
            self.pace.saturating_sub(self.reported_pace) + self.reported_pace.saturating_sub(self.pace);
        if !force && moved <= self.reported_pace / 32 {
            return None;
        }
        self.reported_pace = self.pace;
        self.rate()
    }

    /// A held packet is released.
    pub(super) fn on_release(&mut self, now: Instant, held: Held) {
        if self.below.iter().all(|below| below.is_zero()) {
            self.progress = now;
        }
        let category = held.category.index();
        self.below[category] += held.airtime_estimate();
        self.held = self.held.saturating_sub(1);
        self.counts.released += 1;
        self.ledger.on_release(&held);
        let left = held.segments;
        self.sent[category].push_back(Sent { held, released: now, left, acknowledged: true });
    }

    /// Packets below in a category.
    pub(super) fn packets_below(&self, category: Category) -> usize {
        self.sent[category.index()].len()
    }

    /// The most bytes that the radio will count for all packets below.
    pub(super) fn bytes_below(&self) -> u64 {
        self.sent.iter().flatten().map(|sent| unseen::bytes_of(&sent.held)).sum()
    }

    /// The estimated airtime of all packets below.
    pub(super) fn all_below(&self) -> Span {
        self.below.iter().copied().sum()
    }

    /// A frame completed. Returns its packet, if this was the last frame, and the rate to report to the link, if it moved.
    pub(super) fn on_completion(
        &mut self,
        now: Instant,
        completion: &Completion,
    ) -> (Option<Sent>, Option<BitRate>) {
        self.progress = now;
        self.counts.completed += 1;
        self.counts.failed += u64::from(!completion.acknowledged);
        if let (Carried::Bypassed { .. }, Some(size)) = (completion.carried, completion.size) {
            self.ledger.on_bypass(size);
        }
        let renewed = completion.rate.and_then(|rate| self.on_rate(rate));
        let Some((category, place)) = self.find(completion) else { return (None, renewed) };
        let Some(sent) = self.sent[category].get_mut(place) else { return (None, renewed) };
        sent.left = sent.left.saturating_sub(1);
        sent.acknowledged &= completion.acknowledged;
        self.newest[category] = self.newest[category].max(sent.released);
        if sent.left > 0 {
            return (None, renewed);
        }
        (self.take(category, place), renewed)
    }

    fn take(&mut self, category: usize, place: usize) -> Option<Sent> {
        let sent = self.sent[category].remove(place)?;
        self.below[category] -= sent.held.airtime_estimate();
        Some(sent)
    }

    /// The packet that a frame carried: by ticket; without one the oldest of its length, else the oldest.
    fn find(&self, completion: &Completion) -> Option<(usize, usize)> {
        if matches!(completion.carried, Carried::Other | Carried::Bypassed { .. }) {
            return None;
        }
        let categories = Category::ALL.into_iter().rev().map(Category::index);
        let wanted = completion.category.map(Category::index);
        let mut categories = categories.filter(|category| wanted.is_none_or(|wanted| wanted == *category));
        if let Carried::Packet(ticket) = completion.carried {
            return categories.find_map(|category| {
                let place = self.sent[category].iter().position(|sent| sent.held.ticket == ticket)?;
                Some((category, place))
            });
        }
        let mut oldest: Option<(Instant, usize)> = None;
        for category in categories {
            if let Some(size) = completion.size
                && let Some(place) = self.sent[category].iter().position(|sent| sent.held.size == size)
            {
                return Some((category, place));
            }
            if let Some(first) = self.sent[category].front()
                && oldest.is_none_or(|(released, _)| first.released < released)
            {
                oldest = Some((first.released, category));
            }
        }
        oldest.map(|(_, category)| (category, 0))
    }

    /// Gives up packets whose completions are overdue.
    pub(super) fn expire(&mut self, now: Instant, window: &WindowConfig, lost: &mut Vec<Held>) {
        let before = lost.len();
        for category in 0..4 {
            let newest = self.newest[category];
            // In order of release, the oldest first.
            while let Some(first) = self.sent[category].front() {
                let overtaken = newest.since(first.released) > window.reordering;
                if !overtaken && now.since(first.released) <= window.completion_timeout {
                    break;
                }
                lost.extend(self.take(category, 0).map(|done| done.held));
            }
        }
        let lost = (lost.len() - before) as u64;
        self.lost += lost;
        self.counts.lost += lost;
    }

    /// Moves all packets below to `gone`.
    pub(super) fn forget(&mut self, gone: &mut Vec<Held>) {
        for category in 0..4 {
            while let Some(done) = self.take(category, 0) {
                gone.push(done.held);
            }
        }
    }

    /// The time at which the station stalls without a completion; `None` if nothing is below.
    pub(super) fn stalls_at(&self, window: &WindowConfig) -> Option<Instant> {
        let below = self.all_below();
        (!below.is_zero()).then(|| self.progress + window.stall_after + below * 2)
    }

    /// The time without a completion.
    pub(super) fn silent(&self, now: Instant) -> Span {
        now.since(self.progress)
    }

    /// Whether no packet refers to it.
    fn is_unused(&self) -> bool {
        self.held == 0 && self.sent.iter().all(VecDeque::is_empty)
    }
}

/// All stations, by number and by address.
#[derive(Debug, Clone, Default)]
pub(super) struct Peers {
    /// By address, packed into a word for fast comparison: every packet is looked up.
    numbers: BTreeMap<u64, StationId>,
    list: Vec<Peer>,
}

/// An address packed into a word.
fn packed(MacAddress([a, b, c, d, e, f]): MacAddress) -> u64 {
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

impl Peers {
    /// The number of a known station.
    pub(super) fn find(&self, mac: MacAddress) -> Option<StationId> {
        self.numbers.get(&packed(mac)).copied()
    }

    /// The number of an associated station.
    pub(super) fn find_present(&self, mac: MacAddress) -> Option<StationId> {
        self.find(mac).filter(|id| self.get(*id).is_some_and(|peer| peer.present))
    }

    /// The number of a station, and whether it was added; `None` if the table is full.
    pub(super) fn find_or_add(&mut self, mac: MacAddress) -> Option<(StationId, bool)> {
        if let Some(known) = self.find(mac) {
            return Some((known, false));
        }
        let fresh = Peer::new(mac);
        let reused = self.list.iter().position(|peer| !peer.present && peer.is_unused());
        let number = match reused {
            Some(place) => {
                self.numbers.remove(&packed(self.list[place].mac));
                self.list[place] = fresh;
                place
            }
            None if self.list.len() < MOST_STATIONS => {
                self.list.push(fresh);
                self.list.len() - 1
            }
            None => return None,
        };
        let id = StationId(u16::try_from(number).ok()?);
        self.numbers.insert(packed(mac), id);
        Some((id, true))
    }

    pub(super) fn get(&self, id: StationId) -> Option<&Peer> {
        self.list.get(id.index())
    }

    pub(super) fn get_mut(&mut self, id: StationId) -> Option<&mut Peer> {
        self.list.get_mut(id.index())
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// All stations with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (StationId, &Peer)> {
        self.list.iter().zip(0..).map(|(peer, number)| (StationId(number), peer))
    }
}
