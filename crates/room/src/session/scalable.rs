//! Packets of scalable streams, of which each viewer gets a part.

use std::sync::Arc;

use str0m::format::Codec;
use str0m::rtp::{ExtensionValues, RtpPacket, RtpWrite};

use super::*;
use crate::dependency::{self, Carried, Structure};
use crate::forward::{Arrival, Departure};
use crate::layers::{Fate, NEEDS, Packet, Point, SPATIAL, Selector};
use crate::vp9;

/// Time after a step down in which losses are of the layers that stay, too: browsers wait three seconds for a picture before they ask for another.
const FELL: Duration = Duration::from_secs(3);
/// Age of the latest losses that are reported each half second.
const LOSING: Duration = Duration::from_millis(600);
/// Shortest time between two key frames for that.
const AGAIN: Duration = Duration::from_secs(1);

/// The descriptor of a packet.
enum Read<'a> {
    Vp9(vp9::Descriptor),
    Av1(dependency::Descriptor, &'a Carried),
}

impl<'a> Read<'a> {
    /// Reads a packet; `None` if its frame is not known. The structure is that of a stream of AV1.
    fn of(packet: &'a RtpPacket, codec: Codec, structure: &mut Option<Structure>) -> Option<Self> {
        if codec == Codec::Vp9 {
            return vp9::Descriptor::parse(&packet.payload).map(Self::Vp9);
        }
        let carried = packet.header.ext_vals.user_values.get::<Carried>()?;
        let mut read = dependency::Descriptor::parse(&carried.0, structure.as_ref())?;
        if read.structure.is_some() {
            *structure = read.structure.take();
        }
        Some(Self::Av1(read, carried))
    }

    /// The packet for the choice of layers, and for the stream that leaves.
    fn part(&self, packet: &RtpPacket) -> (Packet, Arrival) {
        let (sequence, timestamp) = (*packet.seq_no, packet.header.timestamp);
        let marker = packet.header.marker;
        let part = match self {
            Self::Vp9(read) => {
                let sizes = SPATIAL as u32;
                // Pictures without numbers are told apart by their sequence alone.
                let (pictures, picture) = read.picture.map_or((1, 0), |id| (read.pictures(), id));
                let mut references = read.references.map(|_| [0; NEEDS]);
                let known = references.iter_mut().flatten().zip(read.references.iter().flatten());
                known.for_each(|(place, distance)| *place = u16::from(*distance) * SPATIAL as u16);
                Packet {
                    sequence,
                    timestamp,
                    frame: u32::from(picture) * sizes + u32::from(read.spatial),
                    frames: u32::from(pictures) * sizes,
                    spatial: read.spatial,
                    temporal: read.temporal,
                    begins: read.begins,
                    ends: read.ends,
                    marker,
                    predicted: read.predicted,
                    depends: read.depends,
                    switches: read.switches,
                    references,
                }
            }
            Self::Av1(read, _) => Packet {
                sequence,
                timestamp,
                frame: read.number.into(),
                frames: 1 << 16,
                spatial: read.spatial,
                temporal: read.temporal,
                begins: read.begins,
                ends: read.ends,
                marker,
                predicted: read.distances != [0; NEEDS],
                depends: false,
                switches: false,
                references: Some(read.distances),
            },
        };
        let (picture, base_layer, bits) = match self {
            Self::Vp9(read) => (read.picture, read.base_layer, if read.short { 7 } else { 15 }),
            Self::Av1(read, _) => (Some(read.number), None, 16),
        };
        let key = part.starts();
        (part, Arrival { sequence, timestamp, at: packet.timestamp, picture, base_layer, bits, key })
    }

    /// The payload and the extensions under the numbers of a viewer's stream.
    fn renumbered(&self, packet: &RtpPacket, departure: &Departure) -> (Arc<[u8]>, ExtensionValues) {
        let mut values = ExtensionValues::default();
        let payload = match self {
            Self::Vp9(read) => {
                read.renumbered(&packet.payload, departure.picture, departure.base_layer).into()
            }
            Self::Av1(_, carried) => {
                let number = departure.picture.unwrap_or_default();
                values.user_values.set(carried.renumbered(number));
                packet.payload.clone()
            }
        };
        (payload, values)
    }
}

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

    /// Takes a packet of VP9 or AV1 of a camera.
    pub(super) fn on_scalable(&mut self, id: ClientId, packet: &RtpPacket) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let codec = peer.codec;
        let Some(read) = Read::of(packet, codec, &mut peer.structure) else {
            // Without the structure of a key picture nothing is known of those after it, and no viewer would ask for one.
            if codec == Codec::Av1
                && peer.structure.is_none()
                && peer.layers[0].hears(packet.header.ssrc, packet.timestamp).is_some()
            {
                self.ask_key(id, 0);
            }
            return;
        };
        let (part, arrival) = read.part(packet);
        let Some(other) = peer.layers[0].hears(packet.header.ssrc, packet.timestamp) else { return };
        let point = Point::of_frame(part.spatial, part.temporal);
        peer.layers[usize::from(point.layer())].meter.add(packet.payload.len());
        if other {
            self.forget_stream(id, None);
        }
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
            let (payload, values) = read.renumbered(packet, &departure);
            let (sequence, timestamp) = (departure.sequence.into(), departure.timestamp);
            let write = RtpWrite::new(number, sequence, timestamp, packet.timestamp, payload);
            let write = write.marker(marker).nackable(true).ext_vals(values);
            if decision.fate == Fate::Waits {
                slot.waiting = Some(write);
            } else {
                leaving.push((viewer.id, slot.mid, write));
            }
        }
        self.send(leaving);
    }
}
