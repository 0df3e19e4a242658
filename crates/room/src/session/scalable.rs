//! Packets of scalable streams, of which each viewer gets a part.

use str0m::rtp::{RtpPacket, RtpWrite};

use super::*;
use crate::forward::Arrival;
use crate::layers::{Fate, Packet, Point, Selector};
use crate::vp9::Descriptor;

/// Time after a step down in which losses are of the layers that stay, too: browsers wait three seconds for a picture before they ask for another.
const FELL: Duration = Duration::from_secs(3);
/// Age of the latest losses that are reported each half second.
const LOSING: Duration = Duration::from_millis(600);
/// Shortest time between two key frames for that.
const AGAIN: Duration = Duration::from_secs(1);

impl Session {
    /// Asks for key frames where a viewer's link loses packets and has got a smaller part of a scalable stream: the step itself brings none.
    pub(super) fn repair(&mut self, id: ClientId) {
        let now = self.now;
        let past = |since: Option<Instant>, time: Duration| {
            since.is_none_or(|at| now.saturating_duration_since(at) >= time)
        };
        let Some(peer) = self.peers.get_mut(&id).filter(|peer| !past(peer.losing, LOSING)) else { return };
        let mut spoilt = Vec::new();
        for slot in peer.slots.iter_mut().filter(|slot| !past(slot.fell, FELL) && past(slot.repaired, AGAIN))
        {
            slot.repaired = Some(now);
            spoilt.extend(slot.source.zip(slot.current));
        }
        spoilt.into_iter().for_each(|(source, layer)| self.ask_key(source, layer));
    }

    /// Takes a packet of VP9 of a camera.
    pub(super) fn on_scalable(&mut self, id: ClientId, packet: &RtpPacket) {
        let Some(descriptor) = Descriptor::parse(&packet.payload) else { return };
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let codec = peer.codec;
        let Some(other) = peer.layers[0].hears(packet.header.ssrc, packet.timestamp) else { return };
        let point = Point::of_frame(descriptor.spatial, descriptor.temporal);
        peer.layers[usize::from(point.layer())].meter.add(packet.payload.len());
        if other {
            self.forget_stream(id, None);
        }
        let part = Packet {
            sequence: *packet.seq_no,
            timestamp: packet.header.timestamp,
            picture: descriptor.picture,
            pictures: descriptor.pictures(),
            spatial: descriptor.spatial,
            temporal: descriptor.temporal,
            begins: descriptor.begins,
            ends: descriptor.ends,
            marker: packet.header.marker,
            predicted: descriptor.predicted,
            depends: descriptor.depends,
            switches: descriptor.switches,
            references: descriptor.references,
        };
        let arrival = Arrival {
            sequence: part.sequence,
            timestamp: part.timestamp,
            at: packet.timestamp,
            picture: descriptor.picture,
            base_layer: descriptor.base_layer,
            short: descriptor.short,
            key: part.starts(),
        };
        let mut leaving = Vec::new();
        for viewer in self.peers.values_mut().filter(|viewer| viewer.id != id && viewer.connected) {
            let Some(slot) = viewer.slots.iter_mut().find(|slot| slot.source == Some(id)) else { continue };
            let (Some(number), Some(wanted)) = (slot.number(codec), slot.wanted) else { continue };
            if slot.current.is_none() {
                if !arrival.key {
                    continue;
                }
                // What waits is of the stream before.
                leaving.extend(slot.waiting.take().map(|write| (viewer.id, slot.mid, write.marker(true))));
                slot.continuity.switch(&arrival);
                slot.selector = Some(Selector::new());
            }
            let Some(selector) = &mut slot.selector else { continue };
            let decision = selector.decide(Point::of(wanted), &part);
            let current = Some(selector.point().layer());
            slot.switches += u32::from(slot.current != current);
            slot.current = current;
            if let Some(last) = decision.waited {
                leaving.extend(slot.waiting.take().map(|write| (viewer.id, slot.mid, write.marker(last))));
            }
            let marker = match decision.fate {
                Fate::Stays { run } => {
                    slot.continuity.skip(part.sequence, run);
                    continue;
                }
                Fate::Leaves { marker } => marker,
                Fate::Waits => false,
            };
            let Some(departure) = slot.continuity.pass(&arrival) else { continue };
            let payload = descriptor.renumbered(&packet.payload, departure.picture, departure.base_layer);
            let (sequence, timestamp) = (departure.sequence.into(), departure.timestamp);
            let write = RtpWrite::new(number, sequence, timestamp, packet.timestamp, payload);
            let write = write.marker(marker).nackable(true);
            if decision.fate == Fate::Waits {
                slot.waiting = Some(write);
            } else {
                leaving.push((viewer.id, slot.mid, write));
            }
        }
        self.send(leaving);
    }
}
