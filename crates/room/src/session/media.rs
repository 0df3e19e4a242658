//! Packets of media on their way: those that arrive, and the slots and ears on which they leave.

use std::sync::Arc;

use str0m::format::Codec;
use str0m::media::{KeyframeRequestKind, MediaKind, Mid};
use str0m::rtp::{RtpPacket, RtpWrite, Vp8Descriptor};

use super::*;
use crate::forward::Arrival;
use crate::peer::{KEY_INTERVAL, Layer, Meter, Slot};
use crate::{h264, vp8};

/// Loudness from which a participant counts as speaking, dBov.
const SPEECH: i8 = -45;
/// Bytes around a payload: RTP with extensions, SRTP's tag, UDP, IPv4.
const HEADERS: usize = 20 + 10 + 28;

impl Session {
    /// When a key frame that is needed may be asked for.
    pub(super) fn next_key(&self) -> Option<Instant> {
        self.peers.values().flat_map(|peer| &peer.layers).filter_map(Layer::asks).min()
    }

    /// Asks for the key frames that viewers still need.
    pub(super) fn ask_keys(&mut self) {
        let layers = self.peers.values_mut().flat_map(|peer| &mut peer.layers);
        layers.for_each(|layer| layer.needed = false);
        let viewers: Vec<ClientId> = self.peers.keys().copied().collect();
        viewers.into_iter().for_each(|id| self.want(id));
    }

    /// Asks the sender of a layer for a key frame, not too often.
    pub(super) fn ask_key(&mut self, source: ClientId, layer: u8) {
        let now = self.now;
        let Some(peer) = self.peers.get_mut(&source) else { return };
        let layer = if peer.is_scalable() { 0 } else { usize::from(layer) };
        let Some(layer) = peer.layers.get_mut(layer) else { return };
        layer.needed = layer.asked.is_some_and(|at| now.saturating_duration_since(at) < KEY_INTERVAL);
        if layer.needed {
            return;
        }
        let Some(stream) = layer.stream else { return };
        layer.asked = Some(now);
        self.mutate(source, |rtc| {
            if let Some(stream) = rtc.direct_api().stream_rx(&stream) {
                stream.request_keyframe(KeyframeRequestKind::Pli);
            }
        });
    }

    pub(super) fn on_packet(&mut self, id: ClientId, packet: &RtpPacket) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let stream = packet.header.ssrc;
        let values = &packet.header.ext_vals;
        if let (Some(number), Some(sent)) = (values.transport_cc, values.abs_send_time) {
            peer.arrivals.on_packet(packet.timestamp, number, sent, packet.payload.len() + HEADERS);
        }
        let known = peer.streams.get(&*stream).copied();
        let found = known.or_else(|| {
            let mut api = peer.rtc.direct_api();
            api.stream_rx(&stream).map(|found| (found.mid(), found.rid()))
        });
        let Some((mid, rid)) = found else { return };
        if known.is_none() && peer.streams.len() < 64 {
            peer.streams.insert(*stream, (mid, rid));
        }
        if packet.payload.is_empty() {
            return;
        }
        let Some(kind) = peer.rtc.media(mid).map(|media| media.kind()) else { return };
        if !peer.is_source(mid, kind) {
            return;
        }
        if kind == MediaKind::Audio {
            return self.forward_audio(id, packet);
        }
        let number = *packet.header.payload_type;
        let Some(codec) = peer.numbers.iter().find_map(|known| known.meaning(number)) else { return };
        if peer.codec != codec {
            peer.codec = codec;
            peer.layers.iter_mut().for_each(|layer| layer.meter = Meter::default());
            self.forget_stream(id, None);
        }
        if matches!(codec, Codec::Vp9 | Codec::Av1) {
            return self.on_scalable(id, packet);
        }
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let Some(index) = peer.layer_of(rid) else { return };
        let layer = &mut peer.layers[index];
        let Some(other) = layer.hears(stream, packet.timestamp) else { return };
        layer.meter.add(packet.payload.len());
        let payload = &packet.payload;
        let descriptor = Vp8Descriptor::parse(payload).ok().filter(|_| codec == Codec::Vp8);
        let key = match descriptor {
            Some(descriptor) => descriptor.starts_keyframe(payload),
            None if codec == Codec::Vp8 => return,
            None => h264::starts_key_frame(payload),
        };
        if key && descriptor.is_some() {
            layer.area = vp8::key_frame_area(payload).or(layer.area);
        }
        if other {
            self.forget_stream(id, Some(index as u8));
        }
        // A field of 7 bits holds no id of a viewer's stream.
        let short = descriptor.is_some() && vp8::has_short_picture(payload);
        let arrival = Arrival {
            sequence: *packet.seq_no,
            timestamp: packet.header.timestamp,
            at: packet.timestamp,
            picture: descriptor.and_then(|descriptor| descriptor.picture_id()),
            base_layer: descriptor.and_then(|descriptor| descriptor.tl0_pic_idx()),
            bits: if short { 7 } else { 15 },
            key,
        };
        self.forward_video(id, index as u8, codec, &arrival, packet);
    }

    /// Stops forwarding a layer, or all of a source, whose stream is another one now: its numbers say nothing of those before.
    pub(super) fn forget_stream(&mut self, source: ClientId, layer: Option<u8>) {
        let slots = self.peers.values_mut().flat_map(|peer| &mut peer.slots);
        let of = |slot: &&mut Slot| slot.source == Some(source) && (layer.is_none() || slot.current == layer);
        for slot in slots.filter(of) {
            slot.current = None;
            slot.continuity.stop();
        }
    }

    fn forward_video(
        &mut self,
        id: ClientId,
        layer: u8,
        codec: Codec,
        arrival: &Arrival,
        packet: &RtpPacket,
    ) {
        let mut leaving = Vec::new();
        // All viewers share it: the numbers of each are patched in as it leaves.
        let payload: Arc<[u8]> =
            if arrival.bits == 7 { vp8::widened(&packet.payload).into() } else { packet.payload.clone() };
        let descriptor = match Vp8Descriptor::parse(&payload) {
            _ if codec != Codec::Vp8 => None,
            Ok(descriptor) => Some(descriptor),
            Err(_) => return,
        };
        let mut refused = 0;
        // A key frame before the handshake's end would be lost.
        for viewer in self.peers.values_mut().filter(|viewer| viewer.id != id && viewer.connected) {
            let Some(slot) = viewer.slots.iter_mut().find(|slot| slot.source == Some(id)) else { continue };
            let Some(number) = slot.number(codec) else { continue };
            leaving.extend(slot.waiting.take().map(|write| (viewer.id, slot.mid, write.marker(true))));
            if slot.current != Some(layer) {
                if slot.wanted != Some(layer) || !arrival.key {
                    continue;
                }
                slot.continuity.switch(arrival);
                slot.current = Some(layer);
                slot.switches += 1;
            }
            let Some(departure) = slot.continuity.pass(arrival) else { continue };
            let write = RtpWrite::new(
                number,
                departure.sequence.into(),
                departure.timestamp,
                packet.timestamp,
                payload.clone(),
            )
            .marker(packet.header.marker)
            .nackable(true);
            let Some(mut patch) = descriptor.map(|descriptor| descriptor.patch()) else {
                leaving.push((viewer.id, slot.mid, write));
                continue;
            };
            if let Some(picture) = departure.picture {
                patch = patch.picture_id(picture);
            }
            if let Some(index) = departure.base_layer {
                patch = patch.tl0_pic_idx(index);
            }
            // Under the numbers of its source it would spoil the pictures before and after it.
            match patch.build() {
                Ok(patch) => leaving.push((viewer.id, slot.mid, write.vp8_patch(patch))),
                Err(_) => refused += 1,
            }
        }
        if refused > 0 {
            if self.refused == 0 {
                let name = self.name(id).to_owned();
                self.note(format!(
                    "pictures of {name} have numbers that cannot be continued, and are dropped"
                ));
            }
            self.refused += refused;
        }
        self.send(leaving);
    }

    /// Sends packets of pictures to viewers.
    pub(super) fn send(&mut self, leaving: Vec<(ClientId, Mid, RtpWrite)>) {
        for (viewer, mid, write) in leaving {
            self.forwarded += 1;
            self.mutate(viewer, |rtc| {
                if let Some(stream) = rtc.direct_api().stream_tx_by_mid(mid, None) {
                    stream.write_rtp(write);
                }
            });
        }
    }

    fn forward_audio(&mut self, id: ClientId, packet: &RtpPacket) {
        let values = &packet.header.ext_vals;
        if values.voice_activity != Some(false) && values.audio_level.is_some_and(|level| level > SPEECH) {
            let when = self.when();
            self.room.on_speech(when, id);
        }
        let mut leaving = Vec::new();
        for viewer in self.peers.values_mut().filter(|viewer| viewer.id != id) {
            let own = viewer.ears.iter().position(|ear| ear.source == Some(id));
            let Some(at) = own.or_else(|| viewer.ears.iter().position(|ear| ear.source.is_none())) else {
                continue;
            };
            viewer.sound.add(packet.payload.len() + HEADERS);
            let ear = &mut viewer.ears[at];
            let Some(number) = ear.number else { continue };
            let (sequence, timestamp) = (*packet.seq_no, packet.header.timestamp);
            if (ear.source, ear.stream) != (Some(id), Some(packet.header.ssrc)) {
                (ear.source, ear.stream) = (Some(id), Some(packet.header.ssrc));
                ear.numbering.switch(sequence, timestamp, packet.timestamp);
            }
            let Some((sequence, timestamp, _)) = ear.numbering.pass(sequence, timestamp, packet.timestamp)
            else {
                continue;
            };
            let payload = packet.payload.clone();
            let write = RtpWrite::new(number, sequence.into(), timestamp, packet.timestamp, payload)
                .marker(packet.header.marker);
            leaving.push((viewer.id, ear.mid, write));
        }
        for (viewer, mid, write) in leaving {
            self.mutate(viewer, |rtc| {
                if let Some(stream) = rtc.direct_api().stream_tx_by_mid(mid, None) {
                    stream.write_rtp(write);
                }
            });
        }
    }
}
