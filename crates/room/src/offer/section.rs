//! One section of an offer, by its lines.

use std::fmt::Write as _;

use str0m::change::SdpOffer;
use str0m::format::Codec;

use super::Number;
use crate::dependency;

/// The content of a section that the room can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Video,
    Audio,
    Channel,
}

impl Kind {
    /// Its codecs, the preferred one first: all viewers of pictures have VP8 (RFC 7742 section 5 asks browsers for it and H.264).
    const fn codecs(self) -> &'static [Codec] {
        match self {
            Self::Video => &[Codec::Vp8, Codec::H264, Codec::Vp9, Codec::Av1],
            Self::Audio => &[Codec::Opus],
            Self::Channel => &[],
        }
    }
}

/// The direction of a section, as the client sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Both,
    Sends,
    Receives,
    Nothing,
}

impl Flow {
    pub(super) const fn sends(self) -> bool {
        matches!(self, Self::Both | Self::Sends)
    }

    pub(super) const fn receives(self) -> bool {
        matches!(self, Self::Both | Self::Receives)
    }

    pub(super) const fn line(self) -> &'static str {
        match self {
            Self::Both => "a=sendrecv",
            Self::Sends => "a=sendonly",
            Self::Receives => "a=recvonly",
            Self::Nothing => "a=inactive",
        }
    }

    pub(super) fn read(line: &str) -> Option<Self> {
        [Self::Both, Self::Sends, Self::Receives, Self::Nothing].into_iter().find(|flow| flow.line() == line)
    }
}

/// A section of an offer, and what becomes of it.
#[derive(Debug)]
pub(super) struct Section<'a> {
    media: &'a str,
    port: &'a str,
    proto: &'a str,
    formats: Vec<&'a str>,
    lines: Vec<&'a str>,
    /// The direction of a section that names none.
    usual: Flow,
    pub(super) kind: Option<Kind>,
    /// It is answered with media; else it is refused.
    pub(super) used: bool,
    /// Places of the numbers of its codecs, the preferred one first.
    pub(super) numbers: Vec<usize>,
    pub(super) flow: Flow,
    /// Names of the streams that are taken.
    pub(super) rids: Vec<String>,
    /// Rids without a format that is used.
    foreign_rids: Vec<String>,
}

/// The text of an offer. str0m 0.24 writes a parameter of a format that it does not know as an empty one, and reads nothing after such.
pub(crate) fn text_of(offer: &SdpOffer) -> String {
    let mut text = String::new();
    for line in offer.to_sdp_string().lines() {
        let Some((format, parameters)) = line.strip_prefix("a=fmtp:").and_then(|value| value.split_once(' '))
        else {
            text += &format!("{line}\r\n");
            continue;
        };
        let known: Vec<&str> = parameters.split(';').filter(|one| !one.trim().is_empty()).collect();
        if !known.is_empty() {
            text += &format!("a=fmtp:{format} {}\r\n", known.join(";"));
        }
    }
    text
}

/// The lines before the first section, and the sections.
pub(super) fn sections(text: &str) -> (Vec<&str>, Vec<Section<'_>>) {
    let mut head: Vec<&str> = Vec::new();
    let mut parts: Vec<Section<'_>> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(media) = line.strip_prefix("m=") {
            let usual = head.iter().find_map(|line| Flow::read(line)).unwrap_or(Flow::Both);
            parts.push(Section::new(media, usual));
        } else if let Some(part) = parts.last_mut() {
            part.lines.push(line);
        } else {
            head.push(line);
        }
    }
    (head, parts)
}

impl<'a> Section<'a> {
    fn new(line: &'a str, usual: Flow) -> Self {
        let mut words = line.split_whitespace();
        let mut next = || words.next().unwrap_or_default();
        let (media, port, proto) = (next(), next(), next());
        let kind = match media {
            "video" => Some(Kind::Video),
            "audio" => Some(Kind::Audio),
            "application" if proto.contains("SCTP") => Some(Kind::Channel),
            _ => None,
        };
        Self {
            media,
            port,
            proto,
            formats: words.collect(),
            lines: Vec::new(),
            usual,
            kind,
            used: false,
            numbers: Vec::new(),
            flow: Flow::Nothing,
            rids: Vec::new(),
            foreign_rids: Vec::new(),
        }
    }

    /// Values of the attributes of a name.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let prefix = format!("a={name}:");
        self.lines.iter().filter_map(move |line| line.strip_prefix(prefix.as_str()))
    }

    pub(super) fn mid(&self) -> Option<&'a str> {
        self.values("mid").next()
    }

    /// Its mid, without which str0m reads no section.
    pub(super) fn name(&self) -> String {
        self.mid().unwrap_or_default().to_owned()
    }

    pub(super) fn has_port(&self) -> bool {
        self.port != "0"
    }

    pub(super) fn offered_flow(&self) -> Flow {
        self.lines.iter().find_map(|line| Flow::read(line)).unwrap_or(self.usual)
    }

    /// The codecs of a kind in the order in which they are answered. A client that names VP9 or AV1 first prefers it (RFC 3264 section 5.1).
    pub(super) fn codecs(&self, kind: Kind) -> Vec<Codec> {
        let mut codecs = kind.codecs().to_vec();
        let first = self.formats.first().and_then(|format| format.parse::<u8>().ok());
        let prefers =
            |codec: Codec| self.offered_numbers(codec).iter().any(|(number, _)| Some(*number) == first);
        codecs.sort_by_key(|codec| !(matches!(codec, Codec::Vp9 | Codec::Av1) && prefers(*codec)));
        codecs
    }

    /// The numbers of a codec in order of preference, with those of their retransmissions. Of H.264 those come first under which a picture may
    /// have several packets (RFC 6184 section 6.3).
    pub(super) fn offered_numbers(&self, codec: Codec) -> Vec<(u8, Option<u8>)> {
        let name = super::map_of(codec).to_ascii_lowercase();
        let number = |text: &str| text.parse::<u8>().ok().filter(|number| *number < 128);
        let map = |format: &str| {
            let mut maps = self.values("rtpmap").filter_map(move |value| value.split_once(' '));
            maps.find(|(number, _)| *number == format).map(|(_, name)| name.to_ascii_lowercase())
        };
        let resent = |format: &str| {
            let mut values = self.values("fmtp").filter_map(|value| value.split_once(' '));
            let found = values.find(|(own, parameters)| {
                let apt = parameters.split(';').filter_map(|one| one.trim().strip_prefix("apt="));
                apt.into_iter().any(|apt| apt == format)
                    && self.formats.contains(own)
                    && map(own).is_some_and(|map| map.starts_with("rtx/"))
            });
            found.and_then(|(own, _)| number(own))
        };
        let own = self.formats.iter().filter(|format| map(format).is_some_and(|map| map == name));
        let mut all: Vec<_> = own.filter_map(|format| Some((number(format)?, resent(format)))).collect();
        if codec == Codec::H264 {
            all.sort_by_key(|(value, _)| self.packetization_mode(*value) != 1);
        }
        if codec == Codec::Vp9 {
            // 8 bits at half the colour's resolution, which is the usual profile (RFC 9628 section 6).
            all.retain(|(value, _)| {
                self.parameter(*value, "profile-id").is_none_or(|profile| profile == "0")
            });
        }
        if codec == Codec::Av1 {
            // The main profile, and descriptors by which its layers are told apart.
            let described = self.values("extmap").any(|value| value.ends_with(dependency::URI));
            all.retain(|(value, _)| {
                described && self.parameter(*value, "profile").is_none_or(|profile| profile == "0")
            });
        }
        all
    }

    /// Values of a parameter of a number.
    fn parameter(&self, number: u8, name: &str) -> Option<&'a str> {
        let number = number.to_string();
        let mut own = self.values("fmtp").filter_map(|value| value.split_once(' '));
        let (_, parameters) = own.find(|(format, _)| *format == number)?;
        parameters.split(';').find_map(|one| one.trim().strip_prefix(name)?.strip_prefix('='))
    }

    /// The packetization mode of a number of H.264 (RFC 6184 section 8.1).
    pub(super) fn packetization_mode(&self, number: u8) -> u8 {
        self.parameter(number, "packetization-mode").and_then(|mode| mode.parse().ok()).unwrap_or(0)
    }

    /// The line of parameters with which a number of H.264, VP9 or AV1 is answered: they are symmetric, or downgradable (RFC 6184 section 8.2.2).
    fn parameters(&self, number: u8) -> Option<String> {
        let names = [
            "level-asymmetry-allowed",
            "packetization-mode",
            "profile-level-id",
            "profile-id",
            "profile",
            "level-idx",
            "tier",
        ];
        let own = names.iter().filter_map(|name| Some(format!("{name}={}", self.parameter(number, name)?)));
        let own: Vec<String> = own.collect();
        (!own.is_empty()).then(|| format!("a=fmtp:{number} {}", own.join(";")))
    }

    /// The lines of parameters with which its numbers of H.264 and VP9 are answered.
    pub(super) fn codec_parameters(&self) -> Vec<String> {
        let numbers =
            [Codec::H264, Codec::Vp9, Codec::Av1].into_iter().flat_map(|codec| self.offered_numbers(codec));
        numbers.filter_map(|(number, _)| self.parameters(number)).collect()
    }

    /// Whether it offers feedback of a name.
    pub(super) fn has_feedback(&self, name: &str) -> bool {
        self.values("rtcp-fb").any(|value| value.split_once(' ').is_some_and(|(_, kind)| kind.trim() == name))
    }

    /// Names of the streams that the client would send, in the order of the offer. Of alternatives the first is taken (RFC 8853 section 5.1).
    pub(super) fn offered_rids(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for value in self.values("simulcast") {
            let words: Vec<&str> = value.split_whitespace().collect();
            for pair in words.chunks(2).filter(|pair| pair[0] == "send" && pair.len() == 2) {
                let first = |stream: &str| {
                    stream.split(',').next().map(|name| name.trim_start_matches('~').to_owned())
                };
                names.extend(pair[1].split(';').filter_map(first));
            }
        }
        if names.is_empty() {
            names.extend(self.values("rid").filter_map(|value| {
                let mut words = value.split_whitespace();
                let name = words.next()?;
                (words.next() == Some("send")).then(|| name.to_owned())
            }));
        }
        names.retain(|name| !self.foreign_rids.contains(name));
        names
    }

    /// Leaves out the rids that are restricted to other formats than those of some numbers.
    pub(super) fn drop_rids_without(&mut self, numbers: &[u8]) {
        let foreign = |value: &str| {
            let (name, rest) = value.split_once(' ')?;
            let formats = rest.split([' ', ';']).find_map(|word| word.strip_prefix("pt="))?;
            let has =
                formats.split(',').any(|format| format.parse().is_ok_and(|format| numbers.contains(&format)));
            (!has).then(|| name.to_owned())
        };
        self.foreign_rids = self.values("rid").filter_map(foreign).collect();
    }

    /// Adds the lines of the section that str0m takes.
    pub(super) fn adapted(&self, numbers: &[Number], lines: &mut Vec<String>) {
        if numbers.is_empty() {
            lines.push(format!("m={} 9 {} {}", self.media, self.proto, self.formats.join(" ")));
            lines.extend(
                self.lines
                    .iter()
                    .filter(|line| !line.starts_with("a=bundle-only"))
                    .map(|line| (*line).to_owned()),
            );
            return;
        }
        let formats = numbers.iter().flat_map(|number| [Some(number.value), number.resend]).flatten();
        let formats: String = formats.map(|format| format!(" {format}")).collect();
        lines.push(format!("m={} 9 {}{formats}", self.media, self.proto));
        for line in &self.lines {
            let dropped = ["a=rtpmap:", "a=rid:", "a=simulcast:", "a=bundle-only"];
            // Other codecs need no descriptors.
            let described = line.starts_with("a=extmap:") && line.ends_with(dependency::URI);
            let drops = described && !numbers.iter().any(|number| number.codec == Codec::Av1);
            if drops || dropped.iter().any(|start| line.starts_with(start)) || Flow::read(line).is_some() {
                continue;
            }
            let of = |name: &str| line.strip_prefix(name).and_then(|value| value.split(' ').next());
            let parameters = of("a=fmtp:").map(|format| {
                numbers.iter().any(|number| {
                    number.resend.is_some_and(|resend| format == resend.to_string())
                        || number.codec.is_audio() && format == number.value.to_string()
                })
            });
            let feedback = of("a=rtcp-fb:").map(|format| {
                format == "*" || numbers.iter().any(|number| format == number.value.to_string())
            });
            if parameters.or(feedback).unwrap_or(true) {
                lines.push((*line).to_owned());
            }
        }
        lines.push(self.flow.line().to_owned());
        for number in numbers {
            lines.push(number.map());
            lines.extend(number.parameters());
            lines.extend(number.resend.map(|resend| format!("a=rtpmap:{resend} rtx/90000")));
        }
        for rid in &self.rids {
            let own = |value: &&str| value.split(' ').next() == Some(rid);
            let line = self.values("rid").find(own).map_or_else(|| format!("{rid} send"), str::to_owned);
            lines.push(format!("a=rid:{line}"));
        }
        if self.rids.len() > 1 {
            lines.push(format!("a=simulcast:send {}", self.rids.join(";")));
        }
    }

    /// The answer that refuses it: port 0, and a format, of which there must be one (RFC 3264 section 6).
    pub(super) fn refusal(&self) -> String {
        let format = self.formats.first().copied().unwrap_or("0");
        let mut text = format!("m={} 0 {} {format}\r\nc=IN IP4 0.0.0.0\r\n", self.media, self.proto);
        if let Some(mid) = self.mid() {
            let _ = write!(text, "a=mid:{mid}\r\n");
        }
        let own = |value: &&str| value.split(' ').next() == Some(format);
        if let Some(map) = self.values("rtpmap").find(own) {
            let _ = write!(text, "a=rtpmap:{map}\r\n");
        }
        text + "a=inactive\r\n"
    }

    pub(super) fn has_line(&self, line: &str) -> bool {
        self.lines.contains(&line)
    }

    /// All its lines.
    pub(super) fn whole(&self) -> Vec<String> {
        let first = format!("m={} {} {} {}", self.media, self.port, self.proto, self.formats.join(" "));
        std::iter::once(first).chain(self.lines.iter().map(|line| (*line).to_owned())).collect()
    }

    /// The attributes of a name, whole.
    pub(super) fn attributes(&self, name: &str) -> Vec<String> {
        self.values(name).map(|value| format!("a={name}:{value}")).collect()
    }
}
