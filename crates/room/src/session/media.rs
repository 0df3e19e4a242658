//! Packets of media on their way: those that arrive, and the slots and ears on which they leave.

use str0m::media::KeyframeRequestKind;
use str0m::rtp::{RtpPacket, RtpWrite, Vp8Descriptor};

use super::*;
use crate::forward::Arrival;
use crate::peer::layer_of;

/// Shortest time between two requests for a key frame of one layer.
const KEY_INTERVAL: Duration = Duration::from_millis(400);
/// Loudness from which a participant counts as speaking, dBov.
const SPEECH: i8 = -45;
/// Bytes around a payload: RTP with extensions, SRTP's tag, UDP, IPv4.
const HEADERS: usize = 20 + 10 + 28;

impl Session {
    /// Asks the sender of a layer for a key frame, not too often.
    pub(super) fn ask_key(&mut self, source: ClientId, layer: u8) {
        let now = self.now;
        let layer = self.peers.get_mut(&source).and_then(|peer| peer.layers.get_mut(usize::from(layer)));
        let Some(layer) = layer else { return };
        if layer.asked.is_some_and(|at| now.saturating_duration_since(at) < KEY_INTERVAL) {
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
        if Some(mid) == peer.audio {
            return self.forward_audio(id, packet);
        }
        if Some(mid) != peer.video || packet.payload.is_empty() {
            return;
        }
        let Some(index) = layer_of(rid) else { return };
        let layer = &mut peer.layers[index];
        layer.stream = Some(stream);
        layer.meter.add(packet.payload.len());
        let Ok(descriptor) = Vp8Descriptor::parse(&packet.payload) else { return };
        let arrival = Arrival {
            sequence: *packet.seq_no,
            timestamp: packet.header.timestamp,
            at: packet.timestamp,
            descriptor,
            key: descriptor.starts_keyframe(&packet.payload),
        };
        self.forward_video(id, index as u8, &arrival, packet);
    }

    fn forward_video(&mut self, id: ClientId, layer: u8, arrival: &Arrival, packet: &RtpPacket) {
        let mut leaving = Vec::new();
        for viewer in self.peers.values_mut().filter(|viewer| viewer.id != id) {
            let Some(kind) = viewer.video_type else { continue };
            let Some(slot) = viewer.slots.iter_mut().find(|slot| slot.source == Some(id)) else { continue };
            if slot.current != Some(layer) {
                if slot.wanted != Some(layer) || !arrival.key {
                    continue;
                }
                slot.continuity.switch(arrival);
                slot.current = Some(layer);
                slot.switches += 1;
            }
            let Some(departure) = slot.continuity.pass(arrival) else { continue };
            let mut patch = arrival.descriptor.patch();
            if let Some(picture) = departure.picture {
                patch = patch.picture_id(picture);
            }
            if let Some(index) = departure.base_layer {
                patch = patch.tl0_pic_idx(index);
            }
            let payload = packet.payload.clone();
            let mut write = RtpWrite::new(
                kind,
                departure.sequence.into(),
                departure.timestamp,
                packet.timestamp,
                payload,
            )
            .marker(packet.header.marker)
            .nackable(true);
            if let Ok(patch) = patch.build() {
                write = write.vp8_patch(patch);
            }
            leaving.push((viewer.id, slot.mid, write));
        }
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
            let Some(kind) = viewer.audio_type else { continue };
            let own = viewer.ears.iter().position(|ear| ear.source == Some(id));
            let Some(at) = own.or_else(|| viewer.ears.iter().position(|ear| ear.source.is_none())) else {
                continue;
            };
            viewer.sound.add(packet.payload.len() + HEADERS);
            let ear = &mut viewer.ears[at];
            ear.source = Some(id);
            ear.sequence += 1;
            let write = RtpWrite::new(
                kind,
                ear.sequence.into(),
                packet.header.timestamp,
                packet.timestamp,
                packet.payload.clone(),
            )
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
