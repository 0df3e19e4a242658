//! Radios that leave the channel: their peers hold frames, or send them in vain.
//!
//! A radio leaves between two exchanges: one that is on the air when the absence begins is finished. Meanwhile the node neither
//! transmits nor receives. Peers that know hold what is in their queues; what is in their hardware already is sent.

use airbound_air::propagation::LinkQuality;
use airbound_control::frame::StationId;
use airbound_control::link::Hold as _;
use airbound_units::Decibel;
use airbound_wifi::edca::Category;

use super::{Event, Network, Shared};
use crate::flow::ACCESS_POINT;

/// A ratio at which nothing is received.
const UNHEARD: Decibel = Decibel::new(-1000.0);

impl Network {
    /// Schedules the first change of each radio that leaves the channel.
    pub(super) fn begin_absences(&mut self, shared: &mut Shared) {
        for node in (0..self.parts.transmitters.len() as u16).map(StationId) {
            if self.parts.transmitters[node.index()].absence.is_some() {
                self.on_absence(shared, node);
            }
        }
    }

    /// Handles the start or the end of an absence.
    pub(super) fn on_absence(&mut self, shared: &mut Shared, node: StationId) {
        let now = shared.now;
        let Some(absence) = self.parts.transmitters[node.index()].absence else { return };
        self.schedule(shared, absence.next_change(now), Event::Absence(node));
        let is_away = absence.covers(now);
        if is_away == std::mem::replace(&mut self.parts.transmitters[node.index()].is_away, is_away) {
            return;
        }
        if is_away {
            self.take_in(shared, node);
            for category in Category::ALL {
                shared.medium.clear_ready(self.access(node, category));
            }
            self.sleep(shared, node);
        }
        if absence.announced {
            self.hold(shared, node, is_away);
        }
        if !is_away {
            self.resume(shared, node);
        }
    }

    /// Makes all peers of a node hold its frames, or send them again.
    fn hold(&mut self, shared: &mut Shared, node: StationId, held: bool) {
        let mut peers: Vec<StationId> = self.parts.tree.children(node).collect();
        if node != ACCESS_POINT {
            peers.push(self.parts.tree.parent(node));
        }
        for peer in peers {
            self.take_in(shared, peer);
            self.parts.transmitters[peer.index()].link.hold(shared.now, node, held);
            if !held {
                self.resume(shared, peer);
            }
        }
    }

    /// Lets a node contend for what it may send now.
    pub(super) fn resume(&mut self, shared: &mut Shared, node: StationId) {
        self.take_in(shared, node);
        for category in Category::ALL {
            self.fill(shared, node, category, shared.now);
        }
        self.sleep(shared, node);
    }

    /// The quality of a transmission that begins now, of a category's first PPDU: nothing is received by a radio that is away.
    #[inline]
    pub(super) fn heard(&self, node: StationId, category: Category, quality: LinkQuality) -> LinkQuality {
        let first = self.parts.transmitters[node.index()].hardware[category.index()].front();
        let is_away = first.is_some_and(|first| {
            let receiver = first.descriptor.station;
            self.parts.transmitters[receiver.index()].is_away || self.parts.dozers.is_asleep(receiver)
        });
        match quality {
            _ if !is_away => quality,
            LinkQuality::Phy(worth) => {
                LinkQuality::Phy(airbound_air::trace::PhyQuality { loss: 1.0, ..worth })
            }
            LinkQuality::Perfect | LinkQuality::Snr(_) => LinkQuality::Snr(UNHEARD),
        }
    }
}
