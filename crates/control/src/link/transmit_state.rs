//! State that every link keeps of its peers and for its descriptors, whatever decides what goes next.

use airbound_units::{BitRate, ByteCount};
use airbound_wifi::edca::Category;
use airbound_wifi::rate::Rate;

use super::Returned;
use super::airtime::AirtimeEstimate;
use super::block_ack::BlockAckOriginator;
use super::rate_facts::RateTable;
use crate::frame::{Mpdu, StationId};
use crate::queue::{Backlogs, Eligibility, Fact};

/// Size of the packets whose throughput is told to queues (minstrel: `AVG_PKT_SIZE`).
const AVERAGE_PACKET: ByteCount = ByteCount::new(1200);

/// Most MPDUs that one block ack acknowledges (802.11ax).
pub(super) const MOST_MPDUS: u16 = 256;

/// Most emptied lists that are kept: more descriptors are hardly ever in the hardware.
const MOST_SPARE: usize = 64;

/// State of one peer.
#[derive(Debug, Clone)]
struct Peer<P> {
    originators: [BlockAckOriginator<P>; 4],
    /// The rate at which the environment reports that data goes out, and estimates at it.
    reported: Option<(BitRate, AirtimeEstimate)>,
    /// The rate that the queue was last told.
    told_rate: Option<BitRate>,
}

impl<P> Default for Peer<P> {
    fn default() -> Self {
        Self { originators: Default::default(), reported: None, told_rate: None }
    }
}

/// Block-ack originators and rates of all peers, packets that left the queue and wait in the link, and lists to be filled again.
#[derive(Debug, Clone)]
pub(super) struct TransmitState<P> {
    peers: Vec<Peer<P>>,
    /// Packets that left the queue and are not in the hardware.
    pub(super) kept: Backlogs,
    pub(super) rates: RateTable,
    /// Emptied lists of earlier descriptors.
    spare: Vec<Vec<Mpdu<P>>>,
}

impl<P> Default for TransmitState<P> {
    fn default() -> Self {
        Self { peers: Vec::new(), kept: Backlogs::default(), rates: RateTable::default(), spare: Vec::new() }
    }
}

impl<P> TransmitState<P> {
    /// Number of peers.
    pub(super) fn len(&self) -> usize {
        self.peers.len()
    }

    /// Makes sure that a peer is known.
    #[inline]
    pub(super) fn add(&mut self, station: StationId) {
        self.peer(station);
    }

    #[inline]
    fn peer(&mut self, station: StationId) -> &mut Peer<P> {
        let index = station.index();
        if index >= self.peers.len() {
            self.peers.resize_with(index + 1, Default::default);
        }
        &mut self.peers[index]
    }

    /// The originator of a station and category.
    #[inline]
    pub(super) fn originator(
        &mut self,
        station: StationId,
        category: Category,
    ) -> &mut BlockAckOriginator<P> {
        &mut self.peer(station).originators[category.index()]
    }

    /// See [`super::Link::window_start`].
    pub(super) fn window_start(&self, station: StationId, category: Category) -> u64 {
        let peer = self.peers.get(station.index());
        peer.map_or(u64::MAX, |peer| peer.originators[category.index()].window_start())
    }

    /// Tells the receiver where its window begins, if something below was given up.
    pub(super) fn tell_window(&mut self, station: StationId, category: Category, returned: &mut Returned<P>) {
        let originator = self.originator(station, category);
        if originator.passed_hole().is_some() || !returned.dropped.is_empty() {
            returned.window_start = Some(originator.window_start());
        }
    }

    /// The eligibility of a station, if the queue was told another one; it counts as told from now on.
    #[inline]
    pub(super) fn news_of_eligibility(
        &mut self,
        station: StationId,
        category: Category,
        eligibility: Eligibility,
    ) -> Option<Fact<'_, P>> {
        let told = std::mem::replace(&mut self.originator(station, category).eligibility, eligibility);
        (told != eligibility).then_some(Fact::Eligibility { station, category, eligibility })
    }

    /// The rate at which the environment reports that data goes to a station, where it does.
    #[inline]
    pub(super) fn reported_rate(&self, station: StationId) -> Option<BitRate> {
        self.peers.get(station.index())?.reported.map(|(rate, _)| rate)
    }

    /// The environment reports that data to a station, in frames of the form of `expected`, goes out at `rate`.
    pub(super) fn on_rate(&mut self, station: StationId, expected: Rate, rate: BitRate) {
        self.peer(station).reported = Some((rate, AirtimeEstimate::dictated(expected, rate)));
    }

    /// Whether the queue was told a rate of a station.
    pub(super) fn is_told(&self, station: StationId) -> bool {
        self.peers.get(station.index()).is_some_and(|peer| peer.told_rate.is_some())
    }

    /// Estimates of airtime to a station: at the reported rate, else at the `expected` one.
    #[inline]
    pub(super) fn estimate(
        &mut self,
        station: StationId,
        expected: impl FnOnce() -> Rate,
    ) -> AirtimeEstimate {
        match self.peers.get(station.index()).and_then(|peer| peer.reported) {
            Some((_, estimate)) => estimate,
            None => self.rates.of(expected()).estimate,
        }
    }

    /// The throughput of a station that follows from the estimates of airtime.
    pub(super) fn throughput(&mut self, station: StationId, expected: Rate) -> BitRate {
        self.estimate(station, || expected).throughput(AVERAGE_PACKET)
    }

    /// The rate at which data goes to a station, if the queue was told another one; it counts as told from now on.
    pub(super) fn news_of_rate(&mut self, station: StationId, expected: Rate) -> Option<BitRate> {
        let rate = self.reported_rate(station).unwrap_or_else(|| expected.bit_rate());
        (self.peer(station).told_rate.replace(rate) != Some(rate)).then_some(rate)
    }

    /// An empty list for MPDUs.
    #[inline]
    pub(super) fn take_spare(&mut self) -> Vec<Mpdu<P>> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes an emptied list back.
    #[inline]
    pub(super) fn give_spare(&mut self, mpdus: Vec<Mpdu<P>>) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(mpdus);
        }
    }
}
