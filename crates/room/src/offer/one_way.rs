//! Offers of clients that only publish (WHIP, RFC 9725) or only watch (WHEP, draft-ietf-wish-whep-03), their answers, and the fragments of SDP
//! (RFC 8840) by which they begin ICE anew.

use str0m::change::SdpOffer;

use super::section::{Flow, Kind, Section, sections};
use super::{OfferError, adapt};

/// The direction of a client's media.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// It publishes, by WHIP.
    Publishes,
    /// It watches, by WHEP.
    Watches,
}

impl Way {
    const fn flow(self) -> Flow {
        match self {
            Self::Publishes => Flow::Sends,
            Self::Watches => Flow::Receives,
        }
    }

    /// The offer with media in this direction alone.
    ///
    /// # Errors
    /// A section goes the other way, there are two of a kind, or the room would refuse one (RFC 9725 section 4.4: no part of an offer).
    pub(crate) fn narrow(self, offer: &SdpOffer) -> Result<SdpOffer, OfferError> {
        let text = offer.to_sdp_string();
        let (head, parts) = sections(&text);
        let media = || parts.iter().filter(|part| part.kind != Some(Kind::Channel));
        if media().any(|part| ![Flow::Both, self.flow()].contains(&part.offered_flow())) {
            return Err(match self {
                Self::Publishes => OfferError::Publishes,
                Self::Watches => OfferError::Watches,
            });
        }
        if [Kind::Video, Kind::Audio]
            .iter()
            .any(|kind| media().filter(|part| part.kind == Some(*kind)).count() > 1)
        {
            return Err(OfferError::Several);
        }
        let mut lines: Vec<String> = head.iter().map(|line| (*line).to_owned()).collect();
        for part in &parts {
            lines.extend(part.whole().into_iter().filter(|line| Flow::read(line).is_none()));
            if part.kind != Some(Kind::Channel) {
                lines.push(self.flow().line().to_owned());
            }
        }
        let offer = SdpOffer::from_sdp_string(&(lines.join("\r\n") + "\r\n"))
            .map_err(|error| OfferError::Refused { reason: error.to_string() })?;
        if !adapt(&offer, &[])?.plan.is_whole() {
            return Err(OfferError::Part);
        }
        Ok(offer)
    }

    /// The answer as these clients want it: one transport for RTP and RTCP (RFC 8858), and one stream of media.
    pub(crate) fn widen(self, answer: &str) -> String {
        let mut whole = String::new();
        for line in answer.lines() {
            match line.strip_prefix("a=msid:").and_then(|value| value.split_once(' ')) {
                Some((_, track)) => whole += &format!("a=msid:room {track}\r\n"),
                None => whole += &format!("{line}\r\n"),
            }
            if line == "a=rtcp-mux" {
                whole += "a=rtcp-mux-only\r\n";
            }
        }
        whole
    }
}

/// The value of the first attribute of a name.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix("a=")?.strip_prefix(name)?.strip_prefix(':'))
}

/// The tag of the ICE session of an offer or an answer: its user fragment, which is another one after each restart.
pub(crate) fn ice_tag(text: &str) -> String {
    value(text, "ice-ufrag").unwrap_or_default().to_owned()
}

/// A fragment of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub(crate) user: String,
    password: String,
}

impl Fragment {
    /// Reads a fragment; `None` for one without a user and a password of ICE (RFC 8839 section 5.4). Its candidates are not used: this end is lite,
    /// and learns addresses by the checks that come from them.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let is_line =
            |line: &str| line.as_bytes().get(1) == Some(&b'=') && line.as_bytes()[0].is_ascii_lowercase();
        let within = |value: &&str, least: usize| {
            let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
            (least..=256).contains(&value.len()) && value.bytes().all(known)
        };
        let user = value(text, "ice-ufrag").filter(|user| within(user, 4))?;
        let password = value(text, "ice-pwd").filter(|password| within(password, 22))?;
        let all = text.lines().filter(|line| !line.is_empty()).all(is_line);
        all.then(|| Self { user: user.to_owned(), password: password.to_owned() })
    }

    /// An offer that begins ICE anew with this user and password.
    ///
    /// # Errors
    /// It cannot be read any more.
    pub(crate) fn renew(&self, offer: &str) -> Result<SdpOffer, OfferError> {
        let mut whole = String::new();
        for line in offer.lines() {
            let line = match line.split_once(':') {
                Some(("a=ice-ufrag", _)) => &format!("a=ice-ufrag:{}", self.user),
                Some(("a=ice-pwd", _)) => &format!("a=ice-pwd:{}", self.password),
                Some(("a=candidate", _)) => continue,
                _ => line,
            };
            whole += &format!("{line}\r\n");
        }
        SdpOffer::from_sdp_string(&whole).map_err(|error| OfferError::Refused { reason: error.to_string() })
    }
}

/// The part of an answer that is about ICE.
pub(crate) fn ice_part(answer: &str) -> String {
    let (head, parts) = sections(answer);
    let of_head = |line: &&&str| ["a=ice-", "a=group:BUNDLE"].iter().any(|start| line.starts_with(start));
    let of_part = |line: &String| {
        ["m=", "a=mid:", "a=ice-", "a=candidate:"].iter().any(|start| line.starts_with(start))
    };
    let first = parts.iter().find(|part| part.has_port()).map(Section::whole).unwrap_or_default();
    let lines =
        head.iter().filter(of_head).map(|line| (*line).to_owned()).chain(first.into_iter().filter(of_part));
    lines.chain(["a=end-of-candidates".to_owned()]).map(|line| line + "\r\n").collect()
}
