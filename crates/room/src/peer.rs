//! One participant at the server: its connection, the layers that it sends, the slots on which it watches.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use airbound_senders::conference::ClientId;
use airbound_senders::conference::room::{Gauge, MOST_LAYERS, SenderReason};
use airbound_units::{Instant as When, Span};
use str0m::Rtc;
use str0m::change::SdpAnswer;
use str0m::channel::ChannelId;
use str0m::format::Codec;
use str0m::media::{Direction, MediaAdded, MediaKind, Mid, Pt, Rid};
use str0m::rtp::{RtpWrite, Ssrc};

use crate::arrivals::Arrivals;
use crate::dependency::Structure;
use crate::forward::{Continuity, Numbering};
use crate::joining::Joining;
use crate::layers::{Point, Selector, cumulative};
use crate::offer::{Feedback, LONGEST_KEPT, Number, ice_tag};
use crate::waiting::Waiting;

/// Interval at which rates are measured.
pub(crate) const TICK: Duration = Duration::from_millis(200);
/// Weight of the latest interval in a mean rate.
const LATEST: f64 = 0.3;
/// Empty intervals after which a stream counts as not sent: 1.2 s, as a small layer of a busy picture has two frames a second.
const SILENT: u8 = 6;
/// Time without a packet after which another stream may take the place of a layer's.
const SILENCE: Duration = Duration::from_millis(1200);
/// Time in which a stream is to have a picture from which on a higher frame rate can be shown.
const NO_SWITCH: Duration = Duration::from_secs(1);
/// Shortest time between two requests for a key frame of one layer: libwebrtc drops a request that follows sooner (`kMinKeyframeSendIntervalMs`).
pub(crate) const KEY_INTERVAL: Duration = Duration::from_millis(300);
/// A viewer may ask for a packet again for this time, as of libwebrtc's senders at least; str0m's three seconds were half of a room's memory.
const RESENT_FOR: Duration = Duration::from_secs(1);
/// At most so many packets are kept for that: str0m 0.24's own.
const RESENT_PACKETS: usize = 1000;
/// Packets sent again are at most this part of all: str0m 0.24's own.
const RESENT_PART: Option<f32> = Some(0.15);
/// Rate below which a layer of simulcast counts as not sent, bit/s.
const LEAST_LAYER: f64 = 8e3;

/// The mean rate of a stream.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meter {
    bytes: u64,
    rate: f64,
    /// The rate of the latest interval.
    latest: f64,
    silent: u8,
}

impl Meter {
    pub(crate) fn add(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// Ends an interval.
    pub(crate) fn tick(&mut self) {
        let latest = self.bytes as f64 * 8.0 / TICK.as_secs_f64();
        self.latest = latest;
        self.silent = if self.bytes == 0 { self.silent.saturating_add(1) } else { 0 };
        self.rate = match self.silent {
            SILENT.. => 0.0,
            _ if self.rate == 0.0 => latest,
            _ => self.rate + LATEST * (latest - self.rate),
        };
        self.bytes = 0;
    }

    /// The mean rate in bit/s.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// The rate that was not exceeded lately and on the average, bit/s.
    pub(crate) fn least(&self) -> f64 {
        self.rate.min(self.latest)
    }
}

/// Fall of an estimate that shows a link with less than before.
const FALL: f64 = 0.05;
/// Time after the beginning of a new estimate in which what str0m reports is a mean with those before (`ESTIMATE_WINDOW` of its smoother, which its
/// `reset` leaves as it is, 0.24.1): only its statistics have the new one.
const MEAN: Duration = Duration::from_secs(3);
/// Time for which losses say that a link is not what it was.
const LOSING: Duration = Duration::from_secs(1);
/// Time after a fall of an estimate in which what waits is due to it.
const FELL: Span = Span::from_secs(3);
/// Time in which what waits is to be gone, and the part of a link that pictures keep meanwhile.
const DRAIN: Duration = Duration::from_secs(1);
const LEAST_LEFT: f64 = 0.25;
/// Time in which a client repeats an estimate.
const REPEATED: Duration = Duration::from_secs(10);
/// One simulcast layer that a participant sends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Layer {
    /// The name of its stream; none without simulcast.
    pub(crate) rid: Option<Rid>,
    /// Pixels of its latest key frame.
    pub(crate) area: Option<u32>,
    pub(crate) stream: Option<Ssrc>,
    /// When its latest packet came.
    pub(crate) heard: Option<Instant>,
    pub(crate) meter: Meter,
    /// When its latest key frame was asked for.
    pub(crate) asked: Option<Instant>,
    /// Another was needed too soon after it.
    pub(crate) needed: bool,
}

impl Layer {
    /// When a key frame that is needed may be asked for.
    pub(crate) fn asks(&self) -> Option<Instant> {
        self.asked.filter(|_| self.needed).map(|at| at + KEY_INTERVAL)
    }

    /// Takes a packet's stream and time; whether the stream is another one than before. `None` while that one is heard.
    pub(crate) fn hears(&mut self, stream: Ssrc, at: Instant) -> Option<bool> {
        let other = self.stream != Some(stream);
        if other && self.heard.is_some_and(|before| at.saturating_duration_since(before) < SILENCE) {
            return None;
        }
        (self.stream, self.heard) = (Some(stream), Some(at));
        Some(other)
    }
}

/// One section on which a participant watches. Its source changes without a new offer.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) mid: Mid,
    /// Numbers of the codecs on it.
    pub(crate) numbers: Vec<(Codec, Pt)>,
    pub(crate) source: Option<ClientId>,
    pub(crate) wanted: Option<u8>,
    pub(crate) current: Option<u8>,
    pub(crate) continuity: Continuity,
    /// Of a scalable stream, the choice of its packets.
    pub(crate) selector: Option<Selector>,
    /// A packet that leaves once it is known whether its picture has another.
    pub(crate) waiting: Option<RtpWrite>,
    /// Since when its frame rate is lower than wanted.
    lacks: Option<Instant>,
    /// When it last got a smaller part of a scalable stream, and when a key frame was asked for as packets were lost then.
    pub(crate) fell: Option<Instant>,
    pub(crate) repaired: Option<Instant>,
    pub(crate) switches: u32,
}

impl Slot {
    /// The layer for which it needs a key frame. A smaller point of a scalable stream needs none, and a higher frame rate only if no picture allows
    /// it for a while.
    pub(crate) fn missing(&mut self, now: Instant, scalable: bool) -> Option<u8> {
        let wanted = self.wanted.filter(|_| self.wanted != self.current);
        let short = |lacks: Instant| now.saturating_duration_since(lacks) < NO_SWITCH;
        match (wanted.map(Point::of), self.current.map(Point::of)) {
            (Some(wanted), Some(current)) if scalable && wanted.spatial <= current.spatial => {
                let slower = wanted.temporal > current.temporal;
                self.lacks = slower.then(|| *self.lacks.get_or_insert(now));
                if self.lacks.is_none_or(short) {
                    return None;
                }
            }
            _ => self.lacks = None,
        }
        wanted
    }

    /// The number of a codec on it.
    pub(crate) fn number(&self, codec: Codec) -> Option<Pt> {
        self.numbers.iter().find(|(known, _)| *known == codec).map(|(_, number)| *number)
    }
}

/// One section on which a participant hears another.
#[derive(Debug, Clone)]
pub(crate) struct Ear {
    pub(crate) mid: Mid,
    /// Number of Opus on it.
    pub(crate) number: Option<Pt>,
    pub(crate) source: Option<ClientId>,
    /// The stream that is heard.
    pub(crate) stream: Option<Ssrc>,
    pub(crate) numbering: Numbering,
}

/// A view that a client asks for: the largest useful layer, and the importance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) largest: u8,
    pub(crate) priority: u8,
}

/// A participant.
pub(crate) struct Peer {
    pub(crate) id: ClientId,
    pub(crate) name: String,
    pub(crate) host: bool,
    pub(crate) resume: String,
    /// Its offer, with the user and the password of ICE as they are now; empty for a long one.
    pub(crate) offer: String,
    /// The tag of the ICE session ([`crate::offer::ice_tag`]).
    pub(crate) tag: String,
    pub(crate) rtc: Rtc,
    pub(crate) due: Instant,
    pub(crate) joined: Instant,
    pub(crate) connected: bool,
    /// When ICE first found a way to it.
    pub(crate) reached: Option<Instant>,
    /// Since when ICE finds no way to it.
    pub(crate) lost: Option<Instant>,
    pub(crate) channel: Option<ChannelId>,
    /// Numbers of the codecs of its connection.
    pub(crate) numbers: Vec<Number>,
    /// Measurement of its downlink.
    pub(crate) feedback: Feedback,
    pub(crate) video: Option<Mid>,
    /// Codec of its camera.
    pub(crate) codec: Codec,
    /// The structure of its stream of AV1.
    pub(crate) structure: Option<Structure>,
    pub(crate) audio: Option<Mid>,
    pub(crate) slots: Vec<Slot>,
    /// Those whose pictures it cannot show, as it has no such codec.
    pub(crate) unshown: BTreeSet<ClientId>,
    pub(crate) ears: Vec<Ear>,
    pub(crate) layers: [Layer; MOST_LAYERS],
    pub(crate) streams: BTreeMap<u32, (Mid, Option<Rid>)>,
    /// Rates of all that arrives from it, and of all that is sent to it.
    pub(crate) received: Meter,
    pub(crate) sent: Meter,
    /// Rate of the sound in it.
    pub(crate) sound: Meter,
    /// Its congestion control's estimate of its uplink, as it claims.
    pub(crate) claim: f64,
    /// The server's own estimate of its uplink, by what arrives.
    pub(crate) arrivals: Arrivals,
    /// As much of the claim as what arrives makes believable.
    pub(crate) uplink: Gauge,
    /// The server's estimate of its downlink.
    pub(crate) downlink: Gauge,
    /// The latest estimate of its downlink that is no mean, bit/s; 0 for none.
    estimate: f64,
    /// When the estimate was begun anew.
    pub(crate) anew: Option<Instant>,
    /// Whether it stands still while the participant joins.
    pub(crate) joining: Joining,
    /// That estimate fell in this interval.
    pub(crate) fell: bool,
    /// Packets of its link were lost in this interval.
    pub(crate) trouble: bool,
    /// When packets of its link were last seen to be lost.
    pub(crate) losing: Option<Instant>,
    /// Packets that wait on the way to it.
    pub(crate) waiting: Waiting,
    pub(crate) probe: Option<f64>,
    /// Its own estimates by the first stream that each names, bit/s: one for all, or one for each section as aiortc sends them.
    rembs: BTreeMap<Mid, (f64, Instant)>,
    /// The rate that is tried on a downlink which only its client estimates, until its estimate falls; 0 for none.
    pub(crate) trial: f64,
    pub(crate) desired: f64,
    /// The latest notice: 0 for none.
    pub(crate) held: f64,
    /// The number of its layers that anybody takes, where the others are held back.
    pub(crate) taken: Option<u8>,
    /// The reason for its rate; costly to find, so it is kept.
    pub(crate) reason: Option<SenderReason>,
    pub(crate) wanted: Option<BTreeMap<ClientId, Wanted>>,
    /// Messages in the present interval.
    pub(crate) messages: u32,
    /// When it is told its view next.
    pub(crate) next_view: Instant,
    /// Lines of the log that it has been told.
    pub(crate) told: usize,
}

impl Peer {
    pub(crate) fn new(
        id: ClientId,
        name: String,
        host: bool,
        resume: String,
        rtc: Rtc,
        now: Instant,
    ) -> Self {
        Self {
            id,
            name,
            host,
            resume,
            offer: String::new(),
            tag: String::new(),
            rtc,
            due: now,
            joined: now,
            connected: false,
            reached: None,
            lost: None,
            channel: None,
            numbers: Vec::new(),
            feedback: Feedback::Nothing,
            video: None,
            codec: Codec::Vp8,
            structure: None,
            audio: None,
            slots: Vec::new(),
            unshown: BTreeSet::new(),
            ears: Vec::new(),
            layers: [Layer::default(); MOST_LAYERS],
            streams: BTreeMap::new(),
            received: Meter::default(),
            sent: Meter::default(),
            sound: Meter::default(),
            claim: 0.0,
            arrivals: Arrivals::new(),
            uplink: Gauge::default(),
            downlink: Gauge::default(),
            estimate: 0.0,
            anew: None,
            joining: Joining::new(now),
            fell: false,
            trouble: false,
            losing: None,
            waiting: Waiting::default(),
            probe: None,
            rembs: BTreeMap::new(),
            trial: 0.0,
            desired: 0.0,
            held: 0.0,
            taken: None,
            reason: None,
            wanted: None,
            messages: 0,
            next_view: now,
            told: 0,
        }
    }

    /// Takes an estimate of its downlink that is no mean; whether it fell.
    pub(crate) fn falls_to(&mut self, estimate: f64) -> bool {
        std::mem::replace(&mut self.estimate, estimate) * (1.0 - FALL) > estimate
    }

    /// The part of its downlink that is left for pictures while what waits since a fall of its estimate goes first: without it a queue that is
    /// full stays so, loses what is repeated, and delays a key frame by all that waits.
    pub(crate) fn drained(&self, now: When) -> Option<f64> {
        self.downlink.fell().filter(|at| self.waits() && now.since(*at) < FELL)?;
        Some((1.0 - self.waiting.time().as_secs_f64() / DRAIN.as_secs_f64()).max(LEAST_LEFT))
    }

    /// Whether packets wait on the way to it.
    pub(crate) fn waits(&self) -> bool {
        self.waiting.time() > TICK
    }

    /// Whether the latest estimate says more of its downlink than the mean.
    pub(crate) fn takes_latest(&self, now: Instant) -> bool {
        self.loses(now) || self.is_anew(now) || self.waits()
    }

    /// Whether its estimate was begun anew lately.
    fn is_anew(&self, now: Instant) -> bool {
        self.anew.is_some_and(|at| now.saturating_duration_since(at) <= MEAN)
    }

    /// Whether packets of its link were lost lately.
    pub(crate) fn loses(&self, now: Instant) -> bool {
        self.losing.is_some_and(|at| now.saturating_duration_since(at) <= LOSING)
    }

    /// Notes a section of the offer.
    pub(crate) fn on_media(&mut self, media: &MediaAdded) {
        let offered = self.rtc.media(media.mid).map(|media| media.remote_pts().to_vec()).unwrap_or_default();
        let params = self.rtc.codec_config().params();
        let numbers: Vec<(Codec, Pt)> = params
            .iter()
            .filter(|one| one.spec().codec.is_video() == media.kind.is_video() && offered.contains(&one.pt()))
            .map(|one| (one.spec().codec, one.pt()))
            .collect();
        let (mid, receives) =
            (media.mid, matches!(media.direction, Direction::SendOnly | Direction::SendRecv));
        if media.direction == Direction::RecvOnly {
            let source = if media.kind.is_video() { &mut self.video } else { &mut self.audio };
            *source = Some(mid);
            if let Some((codec, _)) = numbers.first().filter(|_| media.kind.is_video()) {
                self.codec = *codec;
            }
        }
        if receives && let Some(stream) = self.rtc.direct_api().stream_tx_by_mid(mid, None) {
            // The pacer follows str0m's estimate, which has nothing to go by without reports on each packet.
            if self.feedback != Feedback::TransportWide {
                stream.set_unpaced(true);
            }
            if media.kind.is_video() {
                stream.set_rtx_cache(RESENT_PACKETS, RESENT_FOR, RESENT_PART);
            }
        }
        match media.kind {
            MediaKind::Video if receives => self.slots.push(Slot {
                mid,
                numbers,
                source: None,
                wanted: None,
                current: None,
                continuity: Continuity::default(),
                selector: None,
                waiting: None,
                lacks: None,
                fell: None,
                repaired: None,
                switches: 0,
            }),
            MediaKind::Audio if receives => {
                let numbering = Numbering::of_sound();
                let number = numbers.first().map(|(_, number)| *number);
                self.ears.push(Ear { mid, number, source: None, stream: None, numbering });
            }
            _ => {}
        }
    }

    /// Notes that media arrive on a section. The first one that goes both ways with media is the camera or the microphone, if no section only
    /// sends. Returns whether the section is it.
    pub(crate) fn is_source(&mut self, mid: Mid, kind: MediaKind) -> bool {
        let source = if kind.is_video() { &mut self.video } else { &mut self.audio };
        *source.get_or_insert(mid) == mid
    }

    /// Takes an estimate of the client; returns that of the whole downlink. One that is not repeated is left out, which is no fall.
    pub(crate) fn sum_rembs(&mut self, now: Instant, mid: Mid, rate: f64) -> f64 {
        self.rembs.insert(mid, (rate, now));
        let before = self.rembs.len();
        self.rembs.retain(|_, (_, at)| now.saturating_duration_since(*at) < REPEATED);
        let sum = self.rembs.values().map(|(rate, _)| rate).sum();
        if self.rembs.len() < before {
            self.downlink.reset_peak(sum);
        }
        sum
    }

    /// Whether its camera sends one stream whose layers contain each other.
    pub(crate) fn is_scalable(&self) -> bool {
        matches!(self.codec, Codec::Vp9 | Codec::Av1)
    }

    /// Rates of its layers, of a scalable stream each with all that it contains, bit/s; 0 for one that is not sent.
    pub(crate) fn layer_rates(&self) -> [f64; MOST_LAYERS] {
        let rates = self.layers.map(|layer| layer.meter.rate());
        if self.is_scalable() {
            return cumulative(&rates);
        }
        rates.map(|rate| if rate < LEAST_LAYER { 0.0 } else { rate })
    }

    /// Names its layers, the smallest first; without names there is one.
    pub(crate) fn name_layers(&mut self, rids: &[String]) {
        for (layer, rid) in self.layers.iter_mut().zip(rids) {
            layer.rid = Some(Rid::from(rid.as_str()));
        }
    }

    /// The index of the layer of a stream.
    pub(crate) fn layer_of(&self, rid: Option<Rid>) -> Option<usize> {
        match self.layers[0].rid {
            None => Some(0),
            Some(_) => self.layers.iter().position(|layer| rid.is_some() && layer.rid == rid),
        }
    }

    /// Puts its layers in the order of their sizes, those of unknown size last; returns the new index of each if one changed.
    pub(crate) fn order_layers(&mut self) -> Option<[usize; MOST_LAYERS]> {
        let mut order: [usize; MOST_LAYERS] = std::array::from_fn(|index| index);
        order.sort_by_key(|index| self.layers[*index].area.unwrap_or(u32::MAX));
        if order.is_sorted() {
            return None;
        }
        self.layers = order.map(|index| self.layers[index]);
        let mut places = [0; MOST_LAYERS];
        order.iter().enumerate().for_each(|(place, index)| places[*index] = place);
        Some(places)
    }

    /// Keeps what belongs to an ICE session: the offer that began it, and the tag of the answer.
    pub(crate) fn keep(&mut self, offer: String, answer: &SdpAnswer) {
        self.tag = ice_tag(&answer.to_sdp_string());
        self.offer = Some(offer).filter(|offer| offer.len() <= LONGEST_KEPT).unwrap_or_default();
    }

    /// Gives slots to the sources that are there, each with the codec of its camera; a source keeps its slot. Returns whether anything changed.
    pub(crate) fn seat(&mut self, sources: &[(ClientId, Codec)]) -> bool {
        let mut changed = false;
        let wanted = self.wanted.as_ref();
        let codec_of =
            |source: ClientId| sources.iter().find(|(known, _)| *known == source).map(|(_, codec)| *codec);
        let shown = |source: ClientId| {
            let codec = codec_of(source).filter(|_| source != self.id);
            codec.filter(|_| wanted.is_none_or(|wanted| wanted.contains_key(&source)))
        };
        for slot in &mut self.slots {
            let fits = |source| shown(source).is_some_and(|codec| slot.number(codec).is_some());
            if slot.source.is_some_and(|source| !fits(source)) {
                (slot.source, slot.wanted, slot.current) = (None, None, None);
                slot.continuity.stop();
                changed = true;
            }
        }
        for (source, codec) in sources.iter().filter_map(|(source, _)| Some((*source, shown(*source)?))) {
            if self.slots.iter().any(|slot| slot.source == Some(source)) {
                continue;
            }
            let free = |slot: &&mut Slot| slot.source.is_none() && slot.number(codec).is_some();
            let Some(free) = self.slots.iter_mut().find(free) else { continue };
            free.source = Some(source);
            changed = true;
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_forgets_a_stream_that_stops() {
        let mut meter = Meter::default();
        for _ in 0..5 {
            meter.add(2500);
            meter.tick();
        }
        assert!((meter.rate() - 1e5).abs() < 1.0);
        (0..SILENT - 1).for_each(|_| meter.tick());
        assert!(meter.rate() > 0.0, "two frames a second are no end");
        meter.tick();
        assert!(meter.rate().abs() < f64::EPSILON);
    }
}
