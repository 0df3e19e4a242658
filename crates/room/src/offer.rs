//! Offers as str0m takes them. str0m has one number for a codec, wants BUNDLE, and answers a section without a common codec with an empty list of
//! formats; here each section is read by itself, what the room cannot use is refused in the answer ([`Plan`]), and str0m sees the rest.

use str0m::change::SdpOffer;
use str0m::format::{Codec, CodecConfig, FormatParams};
use str0m::media::Frequency;

pub(crate) use answer::{Plan, Stream};
pub(crate) use one_way::{Fragment, Way, ice_part, ice_tag};
pub(crate) use section::text_of;
use section::{Flow, Kind, Section, sections};

mod answer;
mod one_way;
mod section;

/// Longest offer with which ICE begins anew by a fragment of it: it is kept as long as the seat.
pub(crate) const LONGEST_KEPT: usize = 32 << 10;
/// Most layers of one sender.
const MOST_RIDS: usize = 3;
/// Usual names of layers, the smallest first. A name says nothing (RFC 8851 section 3): it is the order until sizes are known.
const USUAL: [&str; MOST_RIDS] = ["q", "h", "f"];
/// Name of the stream of padding of this crate's synthetic participants, which is no layer. A browser pads a layer's own stream, or repeats its
/// packets; str0m has no call for either.
pub(crate) const PADDING: &str = "pad";
/// URI of the extension with transport-wide numbers, without its host.
const TRANSPORT_WIDE: &str = "draft-holmer-rmcat-transport-wide-cc-extensions-01";

/// The reason why an offer is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OfferError {
    /// No section can be used.
    #[error(
        "the offer has no section for this room: video needs VP8, H.264, VP9 or AV1, audio Opus, a \
         data channel SCTP"
    )]
    Unused,
    /// Several sections, each for a transport of its own.
    #[error(
        "the offer has {sections} sections without a=group:BUNDLE; allowed is one, or a group, \
         as a room has one transport for each participant"
    )]
    Apart {
        /// The number of sections that could be used alone.
        sections: usize,
    },
    /// A client that publishes would receive.
    #[error("a client of WHIP only sends: its sections are sendonly or sendrecv")]
    Publishes,
    /// A client that watches would send.
    #[error("a client of WHEP only receives: its sections are recvonly or sendrecv")]
    Watches,
    /// A client that only publishes or only watches has too many sections.
    #[error("the offer has several sections of a kind; allowed are one of video and one of audio")]
    Several,
    /// A client that only publishes or only watches has a section that cannot be used.
    #[error(
        "a section cannot be used: video needs VP8, H.264, VP9 or AV1, audio Opus, and all are in \
         one a=group:BUNDLE"
    )]
    Part,
    /// The library for WebRTC does not accept it.
    #[error("the offer is not acceptable: {reason}")]
    Refused {
        /// Its reason.
        reason: String,
    },
}

/// Profile and level of H.264 towards str0m, which knows not all of them and wants equal ones: the participant's own stand in its answer.
const PROFILE: u32 = 0x42_e01f;

/// The name of a codec, with its clock.
const fn map_of(codec: Codec) -> &'static str {
    match codec {
        Codec::H264 => "H264/90000",
        Codec::Vp9 => "VP9/90000",
        Codec::Av1 => "AV1/90000",
        Codec::Opus => "opus/48000/2",
        _ => "VP8/90000",
    }
}

/// The number of a codec. Sections may number one codec differently (RFC 9143 section 9.1), a connection of str0m may not: further numbers
/// are registered as variants of the codec, told apart by their channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number {
    codec: Codec,
    value: u8,
    /// The number of its retransmissions.
    resend: Option<u8>,
    variant: u8,
    /// The packetization mode of H.264; 0 for others.
    mode: u8,
    /// A section has it.
    used: bool,
}

impl Number {
    fn usual(codec: Codec) -> Self {
        let (value, resend) = if codec.is_audio() { (111, None) } else { (96, Some(97)) };
        Self { codec, value, resend, variant: 0, mode: 0, used: false }
    }

    fn takes(&self, value: u8) -> bool {
        self.value == value || self.resend == Some(value)
    }

    /// The number of channels under which str0m knows the variant.
    fn channels(&self) -> Option<u8> {
        match (self.codec.is_audio(), self.variant) {
            (true, variant) => Some(2 + variant),
            (false, 0) => None,
            (false, variant) => Some(1 + variant),
        }
    }

    fn map(&self) -> String {
        let clock = map_of(self.codec).trim_end_matches("/2");
        let channels = self.channels().map(|channels| format!("/{channels}")).unwrap_or_default();
        format!("a=rtpmap:{} {clock}{channels}", self.value)
    }

    /// Its line of parameters, where it needs one.
    fn parameters(&self) -> Option<String> {
        let (value, mode) = (self.value, self.mode);
        match self.codec {
            Codec::H264 => {
                Some(format!("a=fmtp:{value} packetization-mode={mode};profile-level-id={PROFILE:06x}"))
            }
            Codec::Vp9 => Some(format!("a=fmtp:{value} profile-id=0")),
            Codec::Av1 => Some(format!("a=fmtp:{value} profile=0;level-idx=5;tier=0")),
            _ => None,
        }
    }

    /// The codec under this number.
    pub(crate) fn meaning(&self, value: u8) -> Option<Codec> {
        (self.value == value).then_some(self.codec)
    }

    /// Adds it to the codecs of a connection.
    pub(crate) fn register(&self, config: &mut CodecConfig) {
        let audio = self.codec.is_audio();
        let clock = if audio { Frequency::FORTY_EIGHT_KHZ } else { Frequency::NINETY_KHZ };
        let format = FormatParams {
            min_p_time: audio.then_some(10),
            use_inband_fec: audio.then_some(true),
            packetization_mode: (self.codec == Codec::H264).then_some(self.mode),
            profile_level_id: (self.codec == Codec::H264).then_some(PROFILE),
            profile_id: (self.codec == Codec::Vp9).then_some(0),
            profile: (self.codec == Codec::Av1).then_some(0),
            level_idx: (self.codec == Codec::Av1).then_some(5),
            tier: (self.codec == Codec::Av1).then_some(0),
            ..FormatParams::default()
        };
        let resend = self.resend.map(Into::into);
        config.add_config(self.value.into(), resend, self.codec, clock, self.channels(), format);
    }
}

/// Measurement of the downlink that a client offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feedback {
    /// It reports each packet.
    TransportWide,
    /// It sends its own estimate (REMB).
    Remb,
    /// Neither.
    Nothing,
}

/// An offer that str0m takes, and what belongs to it.
#[derive(Debug)]
pub(crate) struct Adapted {
    pub(crate) offer: SdpOffer,
    pub(crate) plan: Plan,
    pub(crate) numbers: Vec<Number>,
    pub(crate) feedback: Feedback,
    /// Names of the layers of its camera in their presumable order, the smallest first; empty without simulcast.
    pub(crate) rids: Vec<String>,
    /// Sections of media that are offered to the room and not used, beside a camera and a microphone.
    pub(crate) surplus: usize,
}

/// Adapts an offer; `known` are the numbers of a connection that has them already.
///
/// # Errors
/// Nothing in it can be used, or its sections have transports of their own.
pub(crate) fn adapt(offer: &SdpOffer, known: &[Number]) -> Result<Adapted, OfferError> {
    let text = text_of(offer);
    let (head, mut parts) = sections(&text);
    let group = head.iter().find_map(|line| line.strip_prefix("a=group:BUNDLE"));
    let group: Option<Vec<&str>> = group.map(|mids| mids.split_whitespace().collect());
    let mut numbers = known.to_vec();
    let mut mids = Vec::new();
    let mut channels = 0;
    for part in &mut parts {
        let bundled = group.as_ref().is_some_and(|group| part.mid().is_some_and(|mid| group.contains(&mid)));
        let open = bundled || group.is_none() && part.has_port();
        let alone = part.mid().is_none_or(|mid| !mids.contains(&mid.to_owned()));
        part.used = open && alone && part.kind.is_some();
        if part.kind == Some(Kind::Channel) {
            part.used &= channels == 0;
            channels += usize::from(part.used);
        } else if let Some(kind) = part.kind.filter(|_| part.used) {
            let codecs = part.codecs(kind).into_iter();
            part.numbers = codecs.filter_map(|codec| number_of(part, codec, &mut numbers, known)).collect();
            part.used = !part.numbers.is_empty();
        }
        if part.used {
            mids.extend(part.mid().map(str::to_owned));
        }
    }
    let used = parts.iter().filter(|part| part.used).count();
    if used == 0 {
        return Err(OfferError::Unused);
    }
    if used > 1 && group.is_none() {
        return Err(OfferError::Apart { sections: used });
    }
    for codec in [Codec::Vp8, Codec::Opus] {
        let usual = Number::usual(codec);
        let taken = numbers.iter().any(|number| {
            number.codec == codec
                || number.takes(usual.value)
                || usual.resend.is_some_and(|resend| number.takes(resend))
        });
        if !taken {
            numbers.push(usual);
        }
    }
    let mut surplus = 0;
    let mut rids = Vec::new();
    for kind in [Kind::Video, Kind::Audio] {
        surplus += choose_source(&mut parts, kind, &numbers);
    }
    for part in parts.iter_mut().filter(|part| part.used && part.flow.sends()) {
        if part.flow == Flow::Sends {
            // A camera has one codec.
            part.numbers.truncate(1);
        }
        part.rids = usable_rids(part.offered_rids());
        if part.kind == Some(Kind::Video) && rids.is_empty() {
            rids = ordered_rids(&part.rids);
        }
    }
    let feedback = feedback_of(&parts);
    let mids: Vec<String> = parts.iter().filter(|part| part.used).map(Section::name).collect();
    let mut lines: Vec<String> =
        head.iter().filter(|line| !line.starts_with("a=group:")).map(|line| (*line).to_owned()).collect();
    lines.push(format!("a=group:BUNDLE {}", mids.join(" ")));
    for part in parts.iter().filter(|part| part.used) {
        let own: Vec<Number> = part.numbers.iter().map(|index| numbers[*index]).collect();
        part.adapted(&own, &mut lines);
    }
    let offer = SdpOffer::from_sdp_string(&(lines.join("\r\n") + "\r\n"))
        .map_err(|error| OfferError::Refused { reason: error.to_string() })?;
    let plan = Plan::new(&head, &parts, group.is_some());
    Ok(Adapted { offer, plan, numbers, feedback, rids, surplus })
}

/// The place of a section's number in the numbers of the connection, where it is put if it is new; `None` if the section has no such codec, or
/// only under a number that means something else.
fn number_of(part: &Section<'_>, codec: Codec, numbers: &mut Vec<Number>, known: &[Number]) -> Option<usize> {
    let offered = part.offered_numbers(codec);
    let same = |numbers: &[Number], value: u8| {
        numbers.iter().position(|number| number.used && number.codec == codec && number.value == value)
    };
    if let Some((at, resend)) =
        offered.iter().find_map(|(value, resend)| Some((same(numbers, *value)?, resend)))
    {
        // One number means one thing: retransmissions that only some sections have are not used.
        if at >= known.len() && numbers[at].resend != *resend {
            numbers[at].resend = None;
        }
        return Some(at);
    }
    let free =
        |numbers: &[Number], value: u8| !numbers.iter().any(|number| number.used && number.takes(value));
    let (value, resend) = offered.into_iter().find(|(value, _)| free(numbers, *value))?;
    let resend = resend.filter(|resend| *resend != value && free(numbers, *resend));
    let variant = numbers.iter().filter(|number| number.codec == codec).count() as u8;
    let mode = if codec == Codec::H264 { part.packetization_mode(value) } else { 0 };
    let new = Number { codec, value, resend, variant, mode, used: true };
    if known.is_empty() {
        numbers.push(new);
        return Some(numbers.len() - 1);
    }
    // The codecs of a connection stay as they are, but one that no section had takes the number of the first.
    let at = numbers.iter().position(|number| number.codec == codec && !number.used)?;
    numbers[at] = Number { variant: numbers[at].variant, ..new };
    Some(at)
}

/// Chooses the one section on which a participant sends media of a kind; the others only receive. Sections that would go both ways are all kept
/// where none says which it is: the first one with media is. Returns the number of sections that offer media for nothing.
fn choose_source(parts: &mut [Section<'_>], kind: Kind, numbers: &[Number]) -> usize {
    let mine = |part: &Section<'_>| part.used && part.kind == Some(kind);
    for part in parts.iter_mut().filter(|part| mine(part)) {
        part.flow = part.offered_flow();
        let values: Vec<u8> = part.numbers.iter().map(|index| numbers[*index].value).collect();
        part.drop_rids_without(&values);
    }
    let simulcast =
        parts.iter().position(|part| mine(part) && part.flow.sends() && !part.offered_rids().is_empty());
    let only = || parts.iter().position(|part| mine(part) && part.flow == Flow::Sends);
    let Some(source) = simulcast.or_else(only) else { return 0 };
    let mut surplus = 0;
    for (_, part) in parts.iter_mut().enumerate().filter(|(at, part)| *at != source && mine(part)) {
        surplus += usize::from(part.flow == Flow::Sends);
        part.flow = if part.flow.receives() { Flow::Receives } else { Flow::Nothing };
    }
    surplus
}

/// The rids that become layers, and that of padding.
fn usable_rids(offered: Vec<String>) -> Vec<String> {
    let layer = |rid: &&String| rid.as_str() != PADDING;
    let all_usual = USUAL.iter().all(|usual| offered.iter().any(|rid| rid == usual));
    let kept: Vec<String> = offered
        .iter()
        .filter(layer)
        .filter(|rid| !all_usual || USUAL.contains(&rid.as_str()))
        .take(MOST_RIDS)
        .cloned()
        .collect();
    kept.into_iter().chain(offered.into_iter().filter(|rid| rid == PADDING)).collect()
}

/// Layers in the order of the usual names if all have such, else in that of the offer.
fn ordered_rids(rids: &[String]) -> Vec<String> {
    let mut layers: Vec<String> = rids.iter().filter(|rid| *rid != PADDING).cloned().collect();
    let place = |rid: &String| USUAL.iter().position(|usual| usual == rid);
    if layers.iter().all(|rid| place(rid).is_some()) {
        layers.sort_by_key(place);
    }
    layers
}

/// Measurement of what arrives on the sections on which a participant receives.
fn feedback_of(parts: &[Section<'_>]) -> Feedback {
    let received = || parts.iter().filter(|part| part.used && part.flow.receives());
    let has = |name: &str| received().any(|part| part.has_feedback(name));
    let numbered = |part: &Section<'_>| part.values("extmap").any(|value| value.contains(TRANSPORT_WIDE));
    if received().any(|part| part.has_feedback("transport-cc") && numbered(part)) {
        Feedback::TransportWide
    } else if has("goog-remb") {
        Feedback::Remb
    } else {
        Feedback::Nothing
    }
}
