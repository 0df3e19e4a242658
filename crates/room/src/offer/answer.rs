//! Answers: what was refused stands in its place, and nothing is answered that was not offered.

use str0m::change::SdpAnswer;

use super::OfferError;
use super::section::{Flow, Section, sections};

/// A stream that leaves on a section and is not in str0m's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) mid: String,
    pub(crate) source: u32,
    /// The source of its retransmissions.
    pub(crate) resend: Option<u32>,
    pub(crate) name: String,
}

/// One section of the answer.
#[derive(Debug)]
enum Place {
    /// Refused, in these lines.
    Refused(String),
    /// str0m's, with the attributes of the offer that it may repeat.
    Used { feedback: Vec<String>, maps: Vec<String>, parameters: Vec<String>, numbered: bool },
}

/// The way from str0m's answer to that of the offer.
#[derive(Debug)]
pub(crate) struct Plan {
    places: Vec<Place>,
    /// The offer has a group.
    grouped: bool,
    /// The offer allows both forms of extensions.
    mixed: bool,
    /// Sections on which simulcast arrives and one stream leaves.
    both: Vec<String>,
}

impl Plan {
    pub(super) fn new(head: &[&str], parts: &[Section<'_>], grouped: bool) -> Self {
        let place = |part: &Section<'_>| {
            if !part.used {
                return Place::Refused(part.refusal());
            }
            let numbered = part.values("extmap").any(|value| value.contains(super::TRANSPORT_WIDE));
            let (feedback, maps) = (part.attributes("rtcp-fb"), part.attributes("rtpmap"));
            Place::Used { feedback, maps, parameters: part.codec_parameters(), numbered }
        };
        let mixed = "a=extmap-allow-mixed";
        let mixed = head.contains(&mixed) || parts.iter().any(|part| part.has_line(mixed));
        let both = parts.iter().filter(|part| part.used && part.flow == Flow::Both && !part.rids.is_empty());
        let both = both.map(Section::name).collect();
        Self { places: parts.iter().map(place).collect(), grouped, mixed, both }
    }

    /// Whether no section is refused.
    pub(crate) fn is_whole(&self) -> bool {
        !self.places.iter().any(|place| matches!(place, Place::Refused(_)))
    }

    /// Names of the sections on which simulcast arrives and one stream leaves.
    pub(crate) fn both_ways(&self) -> impl Iterator<Item = &str> {
        self.both.iter().map(String::as_str)
    }

    /// The answer to the offer.
    ///
    /// # Errors
    /// It cannot be read any more.
    pub(crate) fn answer(&self, answer: &SdpAnswer, streams: &[Stream]) -> Result<SdpAnswer, OfferError> {
        let text = answer.to_sdp_string();
        let (head, parts) = sections(&text);
        let mut whole = String::new();
        for line in head {
            let group = line.starts_with("a=group:") && !self.grouped;
            let mixed = line == "a=extmap-allow-mixed" && !self.mixed;
            if !group && !mixed {
                push(&mut whole, line);
            }
        }
        let mut answered = parts.iter();
        for place in &self.places {
            match place {
                Place::Refused(lines) => whole.push_str(lines),
                Place::Used { feedback, maps, parameters, numbered } => {
                    let Some(part) = answered.next() else { continue };
                    for line in part.whole() {
                        let line = of_offer(&line, feedback, &[maps, parameters], *numbered);
                        line.into_iter().for_each(|line| push(&mut whole, line));
                    }
                    let own = streams.iter().filter(|stream| part.mid() == Some(stream.mid.as_str()));
                    own.for_each(|stream| whole.push_str(&stream.lines()));
                }
            }
        }
        SdpAnswer::from_sdp_string(&whole).map_err(|error| OfferError::Refused { reason: error.to_string() })
    }
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push_str("\r\n");
}

/// A line of str0m's answer as the offer has it; `None` for feedback that was not offered.
fn of_offer<'a>(
    line: &'a str,
    feedback: &[String],
    own: &[&'a Vec<String>],
    numbered: bool,
) -> Option<&'a str> {
    if let Some(value) = line.strip_prefix("a=rtcp-fb:") {
        let kind = value.split_once(' ').map_or("", |(_, kind)| kind);
        let any = format!("a=rtcp-fb:* {kind}");
        // Reports on each packet need numbers that stand in an extension.
        let reported = kind != "transport-cc" || numbered;
        return (reported && feedback.iter().any(|known| known == line || *known == any)).then_some(line);
    }
    let [kind, number] = [line.split(':').next(), line.split(' ').next()];
    let known = own.iter().flat_map(|lines| lines.iter()).find(|known| known.split(' ').next() == number);
    let known = known.filter(|_| matches!(kind, Some("a=rtpmap" | "a=fmtp")));
    Some(known.map_or(line, String::as_str))
}

impl Stream {
    /// Its lines: sources, their names, and which repeats which.
    fn lines(&self) -> String {
        let sources = [Some(self.source), self.resend];
        let mut text = String::new();
        for source in sources.into_iter().flatten() {
            push(&mut text, &format!("a=ssrc:{source} cname:{}", self.name));
        }
        if let Some(resend) = self.resend {
            push(&mut text, &format!("a=ssrc-group:FID {} {resend}", self.source));
        }
        text
    }
}
