//! What each link is like at each moment, and who disturbs it.

use airbound_control::payload::StationId;
use airbound_units::{Decibel, Instant};

use crate::air::phy::Condition;
use crate::engine::ACCESS_POINT;

/// The link between the access point and a node, alike in both directions.
#[derive(Debug, Clone)]
pub(crate) enum LinkQuality {
    /// Nothing is ever lost.
    Perfect,
    /// A constant signal-to-noise ratio.
    Snr(Decibel),
}

/// All links, and the interference that all of them meet.
#[derive(Debug, Clone)]
pub(crate) struct Medium {
    /// By node; that of the access point itself is not used.
    links: Vec<LinkQuality>,
}

impl Medium {
    pub(crate) fn new(links: Vec<LinkQuality>) -> Self {
        Self { links }
    }

    fn link(&self, node: StationId, peer: StationId) -> Option<&LinkQuality> {
        let end = if node == ACCESS_POINT { peer } else { node };
        self.links.get(end.index())
    }

    /// What a frame of `node` to `peer` meets at `now`.
    pub(crate) fn condition(&mut self, node: StationId, peer: StationId, now: Instant) -> Condition {
        match self.link(node, peer) {
            None | Some(LinkQuality::Perfect) => Condition::Perfect,
            Some(LinkQuality::Snr(snr)) => Condition::Snr(*snr),
        }
    }

    /// The signal-to-noise ratio of a link, where it has one.
    pub(crate) fn snr(&mut self, node: StationId, peer: StationId, now: Instant) -> Option<Decibel> {
        match self.condition(node, peer, now) {
            Condition::Snr(snr) => Some(snr),
            Condition::Perfect => Some(Decibel::new(100.0)),
            Condition::PhyRate(_) => None,
        }
    }

    /// When the channel next begins or ends to be jammed.
    pub(crate) fn next_jam_change(&self, _now: Instant) -> Option<Instant> {
        None
    }

    /// Until when the channel is jammed, if it is.
    pub(crate) fn jammed_until(&self, _now: Instant) -> Option<Instant> {
        None
    }
}
