//! Synthetic participants: simulcast VP8 of real small frames, padded with zeros to any bitrate, which browsers decode. They follow notices
//! and report estimates as the page does. Without sockets or a clock of their own.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use airbound_senders::conference::camera::{CAMERA_LAYERS, Camera};
use airbound_units::BitRate;
use serde_json::{Value, json};
use str0m::bwe::{Bitrate, BweKind};
use str0m::change::{SdpAnswer, SdpOffer, SdpPendingOffer};
use str0m::channel::ChannelId;
use str0m::format::Codec;
use str0m::media::{MediaKind, Mid, Pt, Rid};
use str0m::net::{Protocol, Receive};
use str0m::rtp::{ExtensionValues, RtpWrite, Vp8Descriptor};
use str0m::{Candidate, Event, Input, Output, Rtc, RtcError};

use crate::offer::PADDING;
use counts::Numbers;
pub use counts::{Counts, Equipment};
use offered::Offered;

mod counts;
mod offered;

/// Frames per second.
const FPS: f64 = 25.0;
/// Payload of a packet.
const PAYLOAD: usize = 1100;
/// Packets that leave in one go.
const BURST: usize = 64;
/// Interval of reports.
const REPORT: Duration = Duration::from_millis(200);
/// Interval of packets of sound, as of Opus.
const SOUND_EVERY: Duration = Duration::from_millis(20);
/// Payload of a packet of sound: 32 kb/s.
const SOUND: [u8; 80] = [0; 80];
/// RTP timestamps from one packet of sound to the next.
const SOUND_STEP: u32 = 960;

/// One layer: its name, a key frame, and a frame that repeats it.
struct Pattern {
    name: &'static str,
    key: &'static [u8],
    delta: &'static [u8],
}

const LAYERS: [Pattern; CAMERA_LAYERS] = [
    Pattern {
        name: "q",
        key: include_bytes!("../frames/160.key"),
        delta: include_bytes!("../frames/160.delta"),
    },
    Pattern {
        name: "h",
        key: include_bytes!("../frames/320.key"),
        delta: include_bytes!("../frames/320.delta"),
    },
    Pattern {
        name: "f",
        key: include_bytes!("../frames/640.key"),
        delta: include_bytes!("../frames/640.delta"),
    },
];

#[derive(Debug)]
struct Sending {
    rid: Rid,
    sequence: u64,
    picture: u16,
    key: bool,
    on: bool,
}

/// A synthetic participant.
pub struct Synthetic {
    rtc: Rtc,
    address: SocketAddr,
    due: Instant,
    pending: Option<SdpPendingOffer>,
    mid: Mid,
    /// Where its sound leaves, and the number of the latest packet.
    sound: Option<(Mid, u64)>,
    next_sound: Instant,
    layers: Vec<Sending>,
    /// Packets of padding sent.
    padding: u64,
    channel: Option<ChannelId>,
    next_frame: Instant,
    frame: u64,
    next_report: Instant,
    connected: bool,
    /// The bitrate of its camera at best, bit/s.
    cap: f64,
    camera: Camera,
    estimate: f64,
    limit: f64,
    notice: u64,
    counts: Counts,
    /// For each section: what arrives by its numbers.
    numbers: BTreeMap<Mid, Numbers>,
    /// Picture ids have 7 bits.
    short: bool,
    /// For each section on which it watches: the latest packet, and the longest time without one.
    gaps: BTreeMap<Mid, (Instant, Duration)>,
    view: Option<Value>,
    datagrams: VecDeque<(SocketAddr, Vec<u8>)>,
}

impl Synthetic {
    /// Makes a participant at an address with a camera of `camera` bit/s and some slots, without sound; returns its offer too.
    ///
    /// # Errors
    /// Nothing can be offered.
    pub fn new(
        now: Instant,
        address: SocketAddr,
        camera: f64,
        slots: usize,
    ) -> Result<(Self, SdpOffer), RtcError> {
        Self::equipped(now, address, Equipment { camera, slots, ears: 0, channel: true })
    }

    /// Makes a participant at an address; returns its offer too.
    ///
    /// # Errors
    /// Nothing can be offered.
    pub fn equipped(
        now: Instant,
        address: SocketAddr,
        equipment: Equipment,
    ) -> Result<(Self, SdpOffer), RtcError> {
        Self::of(now, address, equipment, &LAYERS.map(|layer| layer.name))
    }

    /// Makes a participant whose layers have names of its own, the smallest first, and stand in its offer the largest first.
    ///
    /// # Errors
    /// Nothing can be offered.
    pub fn named(
        now: Instant,
        address: SocketAddr,
        equipment: Equipment,
        names: [&str; CAMERA_LAYERS],
    ) -> Result<(Self, SdpOffer), RtcError> {
        Self::of(now, address, equipment, &names)
    }

    fn of(
        now: Instant,
        address: SocketAddr,
        equipment: Equipment,
        names: &[&str; CAMERA_LAYERS],
    ) -> Result<(Self, SdpOffer), RtcError> {
        // str0m before 0.25 compares a new mid with those agreed before, not with those of the same offer: of 40, two are the same in one of 300.
        let offered = loop {
            let offered = Offered::draw(now, address, equipment, names)?;
            if offered.has_distinct_mids() {
                break offered;
            }
        };
        let Offered { rtc, mid, sound, offer, pending } = offered;
        let layers = names
            .iter()
            .map(|name| Sending { rid: Rid::from(*name), sequence: 1000, picture: 0, key: true, on: true })
            .collect();
        let own = Self {
            rtc,
            address,
            due: now,
            pending: Some(pending),
            mid,
            sound: sound.map(|mid| (mid, 1000)),
            next_sound: now,
            layers,
            padding: 0,
            channel: None,
            next_frame: now,
            frame: 0,
            next_report: now,
            connected: false,
            cap: equipment.camera,
            camera: Camera::new(BitRate::from_bps_f64(equipment.camera)),
            estimate: 0.0,
            limit: 0.0,
            notice: 0,
            counts: Counts::default(),
            numbers: BTreeMap::new(),
            short: false,
            gaps: BTreeMap::new(),
            view: None,
            datagrams: VecDeque::new(),
        };
        Ok((own, offer))
    }

    /// Takes the answer to its offer.
    ///
    /// # Errors
    /// The answer does not belong to the offer.
    pub fn accept(&mut self, answer: SdpAnswer) -> Result<(), RtcError> {
        if let Some(pending) = self.pending.take() {
            self.rtc.sdp_api().accept_answer(pending, answer)?;
            // An answer to a renewal takes the addresses away.
            if let Ok(candidate) = Candidate::host(self.address, "udp") {
                self.rtc.add_local_candidate(candidate);
            }
        }
        self.mutate(|_| {});
        Ok(())
    }

    /// Moves to another address, as after a change of network; returns the offer for the new way.
    pub fn renew(&mut self, address: SocketAddr) -> Option<SdpOffer> {
        self.address = address;
        let mut change = self.rtc.sdp_api();
        change.ice_restart(false);
        let (offer, pending) = change.apply()?;
        self.pending = Some(pending);
        Some(offer)
    }

    /// Its counts.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether it is connected.
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        self.connected
    }

    /// The rate at which it is held, bit/s; 0 in the natural state.
    #[must_use]
    pub const fn limit(&self) -> f64 {
        self.limit
    }

    /// Its congestion control's estimate of its uplink, bit/s.
    #[must_use]
    pub const fn estimate(&self) -> f64 {
        self.estimate
    }

    /// The longest time without a packet of a picture that came before and after it.
    #[must_use]
    pub fn longest_gap(&self) -> Duration {
        self.gaps.values().map(|(_, longest)| *longest).max().unwrap_or_default()
    }

    /// The same for the section of a name alone.
    #[must_use]
    pub fn longest_gap_of(&self, section: &str) -> Duration {
        let found = self.gaps.iter().find(|(mid, _)| mid.to_string() == section);
        found.map_or(Duration::ZERO, |(_, (_, longest))| *longest)
    }

    /// Begins to measure gaps anew.
    pub fn forget_gaps(&mut self) {
        self.gaps.values_mut().for_each(|(_, longest)| *longest = Duration::ZERO);
    }

    /// The latest view that the room has told it.
    #[must_use]
    pub const fn view(&self) -> Option<&Value> {
        self.view.as_ref()
    }

    /// Sends a message on the data channel.
    pub fn say(&mut self, text: &str) {
        let Some(channel) = self.channel else { return };
        self.mutate(|rtc| {
            if let Some(mut channel) = rtc.channel(channel) {
                // A message that does not fit is lost, as any other may be.
                let _ = channel.write(false, text.as_bytes());
            }
        });
    }

    /// Takes a datagram.
    pub fn receive(&mut self, now: Instant, source: SocketAddr, bytes: &[u8]) {
        let Ok(contents) = bytes.try_into() else { return };
        let destination = self.address;
        let input = Input::Receive(now, Receive { proto: Protocol::Udp, source, destination, contents });
        self.mutate(|rtc| {
            if rtc.handle_input(input).is_err() {
                rtc.disconnect();
            }
        });
    }

    /// When [`Self::advance`] has to be called at the latest.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        if !self.connected {
            return self.due;
        }
        let sound = self.sound.map_or(self.due, |_| self.next_sound);
        self.due.min(self.next_frame).min(self.next_report).min(sound)
    }

    /// The next datagram to send.
    pub fn poll_datagram(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.datagrams.pop_front()
    }

    /// Lets time pass.
    pub fn advance(&mut self, now: Instant) {
        if self.connected && now >= self.next_frame {
            self.next_frame = (self.next_frame + Duration::from_secs_f64(1.0 / FPS)).max(now);
            self.send_frame(now);
        }
        if self.connected && now >= self.next_sound {
            self.next_sound = (self.next_sound + SOUND_EVERY).max(now);
            self.send_sound(now);
        }
        if self.connected && now >= self.next_report {
            self.next_report = now + REPORT;
            self.say(&json!({"t": "up", "estimate": self.estimate}).to_string());
            let desired = Bitrate::bps((self.cap * 1.2) as u64);
            self.mutate(|rtc| rtc.bwe().set_desired_bitrate(desired));
        }
        // str0m sends one packet for each.
        for _ in 0..BURST {
            if now < self.due {
                break;
            }
            self.mutate(|rtc| {
                if rtc.handle_input(Input::Timeout(now)).is_err() {
                    rtc.disconnect();
                }
            });
        }
    }

    fn mutate(&mut self, act: impl FnOnce(&mut Rtc)) {
        act(&mut self.rtc);
        loop {
            match self.rtc.poll_output() {
                Ok(Output::Timeout(at)) => {
                    self.due = at;
                    return;
                }
                Ok(Output::Transmit(datagram)) => {
                    self.datagrams.push_back((datagram.destination, datagram.contents.into()))
                }
                Ok(Output::Event(event)) => self.on_event(event),
                Err(_) => {
                    self.rtc.disconnect();
                    return;
                }
            }
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Connected => self.connected = true,
            Event::ChannelOpen(channel, _) => self.channel = Some(channel),
            Event::ChannelData(data) => self.on_message(data.id, &data.data),
            Event::KeyframeRequest(request) => {
                self.counts.keys += 1;
                for layer in &mut self.layers {
                    layer.key |= request.rid.is_none_or(|rid| rid == layer.rid);
                }
            }
            Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. }) => self.estimate = estimate.as_f64(),
            // A browser sends no more than the latest REMB says.
            Event::EgressBitrateEstimate(BweKind::Remb { estimate, .. }) => {
                self.counts.rembs += 1;
                self.limit = estimate.as_f64();
            }
            Event::RtpPacket(packet) => {
                let ssrc = packet.header.ssrc;
                let mid = self.rtc.direct_api().stream_rx(&ssrc).map(|stream| stream.mid());
                let media = mid.and_then(|mid| self.rtc.media(mid));
                let numbers = mid.map(|mid| self.numbers.entry(mid).or_default());
                if media.is_some_and(|media| media.kind() == MediaKind::Audio) {
                    self.counts.heard += 1;
                    if let Some(numbers) = numbers {
                        self.counts.disordered += numbers.hear(*packet.seq_no, packet.header.timestamp);
                        self.counts.missed = self.numbers.values().map(Numbers::missed).sum();
                    }
                    return;
                }
                let descriptor = Vp8Descriptor::parse(&packet.payload).ok();
                if let (Some(numbers), Some(picture)) = (numbers, descriptor.and_then(|one| one.picture_id()))
                {
                    self.counts.breaks += numbers.see(*packet.seq_no, picture);
                }
                self.counts.packets += 1;
                self.counts.received += packet.payload.len() as u64;
                if let Some(mid) = mid {
                    let (latest, longest) =
                        self.gaps.entry(mid).or_insert((packet.timestamp, Duration::ZERO));
                    *longest = (*longest).max(packet.timestamp.saturating_duration_since(*latest));
                    *latest = packet.timestamp.max(*latest);
                }
            }
            _ => {}
        }
    }

    fn on_message(&mut self, channel: ChannelId, bytes: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(bytes) else { return };
        if message["t"] == "view" {
            let views = message["own"]["views"].as_array();
            self.counts.reasons +=
                u64::from(views.is_some_and(|views| views.iter().any(|view| view["why"].is_string())));
            self.view = Some(message);
            return;
        }
        if message["t"] != "notice" {
            return;
        }
        let sequence = message["sequence"].as_u64().unwrap_or(0);
        if sequence > self.notice {
            self.notice = sequence;
            self.limit = message["rate"].as_f64().unwrap_or(0.0);
            self.counts.notices += 1;
        }
        let text = json!({"t": "ack", "sequence": sequence}).to_string();
        // Written without a drain: this runs within one.
        if let Some(mut channel) = self.rtc.channel(channel) {
            let _ = channel.write(false, text.as_bytes());
        }
    }

    /// Sends a frame of each layer, as a browser does: from below, as far as estimate and limit reach.
    fn send_frame(&mut self, now: Instant) {
        let held = if self.limit > 0.0 { self.limit } else { f64::INFINITY };
        let rate = BitRate::from_bps_f64((self.estimate * 0.9).min(held));
        let rates = self.camera.divide(rate);
        let sent = rates.iter().fold(BitRate::ZERO, |sum, rate| sum + *rate);
        let padding = if self.limit > 0.0 { BitRate::ZERO } else { self.camera.padding(rate, sent) };
        let params = self.rtc.codec_config().params();
        let Some(kind) = params.iter().find(|one| one.spec().codec == Codec::Vp8).map(|one| one.pt()) else {
            return;
        };
        self.frame += 1;
        let time = (self.frame as f64 * 90_000.0 / FPS) as u32;
        for (index, pattern) in LAYERS.iter().enumerate() {
            let rate = rates[index].as_bps() as f64;
            let layer = &mut self.layers[index];
            let on = index == 0 || rate > 0.0;
            layer.key |= on && !layer.on;
            layer.on = on;
            if !on {
                continue;
            }
            let frame = if std::mem::take(&mut layer.key) { pattern.key } else { pattern.delta };
            let mut frame = frame.to_vec();
            frame.resize(frame.len().max((rate / FPS / 8.0) as usize), 0);
            layer.picture = (layer.picture + 1) & 0x7fff;
            let picture = layer.picture;
            let parts = frame.len().div_ceil(PAYLOAD);
            for (part, bytes) in frame.chunks(PAYLOAD).enumerate() {
                // Payload descriptor of RFC 7741: extended, start of partition, a picture id of 15 bits.
                let first = if part == 0 { 0x90 } else { 0x80 };
                let mut payload = vec![first, 0x80, 0x80 | (picture >> 8) as u8, picture as u8];
                if self.short {
                    payload.splice(2.., [picture as u8 & 0x7f]);
                }
                payload.extend_from_slice(bytes);
                let layer = &mut self.layers[index];
                layer.sequence += 1;
                let (rid, sequence, mid) = (layer.rid, layer.sequence, self.mid);
                self.counts.sent += payload.len() as u64;
                let values = ExtensionValues { mid: Some(mid), rid: Some(rid), ..Default::default() };
                let write = RtpWrite::new(kind, sequence.into(), time, now, payload)
                    .marker(part + 1 == parts)
                    .nackable(true)
                    .ext_vals(values);
                self.mutate(|rtc| {
                    if let Some(stream) = rtc.direct_api().stream_tx_by_mid(mid, Some(rid)) {
                        stream.write_rtp(write);
                    }
                });
            }
        }
        let bytes = (padding.as_bps() as f64 / FPS / 8.0) as usize;
        self.send_padding(now, kind, time, bytes);
    }

    fn send_padding(&mut self, now: Instant, kind: Pt, time: u32, bytes: usize) {
        let (mid, rid) = (self.mid, Rid::from(PADDING));
        for _ in 0..bytes / PAYLOAD {
            self.padding += 1;
            self.counts.padded += PAYLOAD as u64;
            let values = ExtensionValues { mid: Some(mid), rid: Some(rid), ..Default::default() };
            let write =
                RtpWrite::new(kind, self.padding.into(), time, now, vec![0; PAYLOAD]).ext_vals(values);
            self.mutate(|rtc| {
                if let Some(stream) = rtc.direct_api().stream_tx_by_mid(mid, Some(rid)) {
                    stream.write_rtp(write);
                }
            });
        }
    }

    fn send_sound(&mut self, now: Instant) {
        let Some((mid, sequence)) = self.sound else { return };
        let params = self.rtc.codec_config().params();
        let Some(kind) = params.iter().find(|one| one.spec().codec == Codec::Opus).map(|one| one.pt()) else {
            return;
        };
        self.sound = Some((mid, sequence + 1));
        self.counts.spoken += 1;
        let time = (sequence as u32).wrapping_mul(SOUND_STEP);
        let write = RtpWrite::new(kind, sequence.into(), time, now, SOUND.to_vec());
        self.mutate(|rtc| {
            if let Some(stream) = rtc.direct_api().stream_tx_by_mid(mid, None) {
                stream.write_rtp(write);
            }
        });
    }

    /// Sends picture ids of 7 bits from now on, as old encoders do.
    pub fn shorten_pictures(&mut self) {
        self.short = true;
    }

    /// Reports an estimate of its own for its downlink, bit/s, as clients without reports on each packet do.
    pub fn estimate_by_remb(&mut self, rate: f64) {
        let Some(mid) = self.gaps.keys().next().copied() else { return };
        self.mutate(|rtc| {
            if let Some(stream) = rtc.direct_api().stream_rx_by_mid(mid, None) {
                stream.request_remb(Bitrate::bps(rate as u64));
            }
        });
    }

    /// Sends a packet of any payload in place of a part of its smallest picture, as a broken or hostile client may.
    pub fn send_payload(&mut self, now: Instant, payload: &[u8]) {
        let params = self.rtc.codec_config().params();
        let kind = params.iter().find(|one| one.spec().codec == Codec::Vp8).map(|one| one.pt());
        let (Some(kind), Some(layer)) = (kind, self.layers.first_mut()) else { return };
        layer.sequence += 1;
        let (rid, sequence, mid) = (layer.rid, layer.sequence, self.mid);
        let values = ExtensionValues { mid: Some(mid), rid: Some(rid), ..Default::default() };
        let write = RtpWrite::new(kind, sequence.into(), 0, now, payload.to_vec()).ext_vals(values);
        self.mutate(|rtc| {
            if let Some(stream) = rtc.direct_api().stream_tx_by_mid(mid, Some(rid)) {
                stream.write_rtp(write);
            }
        });
    }
}
