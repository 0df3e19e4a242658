//! State that every link keeps for its peers and descriptors, independent of the scheduling.

use airbound_units::{BitRate, ByteCount};
use airbound_wifi::edca::Category;
use airbound_wifi::rate::Rate;

use super::Returned;
use super::airtime::AirtimeEstimate;
use super::block_ack::BlockAckOriginator;
use super::rate_facts::RateTable;
use crate::frame::{Mpdu, StationId};
use crate::queue::{Backlogs, Eligibility, Fact};

/// Packet size for which throughput is reported to queues (minstrel: `AVG_PKT_SIZE`).
const AVERAGE_PACKET: ByteCount = ByteCount::new(1200);

/// Upper limit on MPDUs acknowledged by one block ack (802.11ax).
pub(super) const MOST_MPDUS: u16 = 256;

/// Upper limit on emptied lists kept for reuse; more descriptors are hardly ever in the hardware.
const MOST_SPARE: usize = 64;

/// State of one peer.
#[derive(Debug, Clone)]
struct Peer<P> {
    originators: [BlockAckOriginator<P>; 4],
    /// Data rate reported by the environment, and airtime estimates at it.
    reported: Option<(BitRate, AirtimeEstimate)>,
    /// The rate last reported to the queue.
    last_rate: Option<BitRate>,
}

impl<P> Default for Peer<P> {
    fn default() -> Self {
        Self { originators: Default::default(), reported: None, last_rate: None }
    }
}

/// Block-ack originators and rates of all peers, packets waiting between queue and hardware, and lists for reuse.
#[derive(Debug, Clone)]
pub(super) struct TransmitState<P> {
    peers: Vec<Peer<P>>,
    /// Packets that left the queue and are not yet in the hardware.
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

    /// Adds a peer, and all below its number, if unknown.
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

    /// Reports the new window start to the receiver in `returned` if an MPDU was given up.
    pub(super) fn report_window(
        &mut self,
        station: StationId,
        category: Category,
        returned: &mut Returned<P>,
    ) {
        let originator = self.originator(station, category);
        if originator.passed_hole().is_some() || !returned.dropped.is_empty() {
            returned.window_start = Some(originator.window_start());
        }
    }

    /// The eligibility of a station if it differs from the last reported one, which it replaces.
    #[inline]
    pub(super) fn changed_eligibility(
        &mut self,
        station: StationId,
        category: Category,
        eligibility: Eligibility,
    ) -> Option<Fact<'_, P>> {
        let last = std::mem::replace(&mut self.originator(station, category).eligibility, eligibility);
        (last != eligibility).then_some(Fact::Eligibility { station, category, eligibility })
    }

    /// Data rate to a station reported by the environment, if any.
    #[inline]
    pub(super) fn reported_rate(&self, station: StationId) -> Option<BitRate> {
        self.peers.get(station.index())?.reported.map(|(rate, _)| rate)
    }

    /// Notes the data rate to a station reported by the environment, for frames of the format of `expected`.
    pub(super) fn on_rate(&mut self, station: StationId, expected: Rate, rate: BitRate) {
        self.peer(station).reported = Some((rate, AirtimeEstimate::dictated(expected, rate)));
    }

    /// Whether a rate of a station was reported to the queue.
    pub(super) fn has_reported_rate(&self, station: StationId) -> bool {
        self.peers.get(station.index()).is_some_and(|peer| peer.last_rate.is_some())
    }

    /// Airtime estimates for a station: at the reported rate, else at the `expected` one.
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

    /// The throughput of a station according to the airtime estimates.
    pub(super) fn throughput(&mut self, station: StationId, expected: Rate) -> BitRate {
        self.estimate(station, || expected).throughput(AVERAGE_PACKET)
    }

    /// The data rate to a station if it differs from the last reported one, which it replaces.
    pub(super) fn changed_rate(&mut self, station: StationId, expected: Rate) -> Option<BitRate> {
        let rate = self.reported_rate(station).unwrap_or_else(|| expected.bit_rate());
        (self.peer(station).last_rate.replace(rate) != Some(rate)).then_some(rate)
    }

    /// Returns an empty list for MPDUs.
    #[inline]
    pub(super) fn take_spare(&mut self) -> Vec<Mpdu<P>> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes back an emptied list.
    #[inline]
    pub(super) fn give_spare(&mut self, mpdus: Vec<Mpdu<P>>) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(mpdus);
        }
    }
}
