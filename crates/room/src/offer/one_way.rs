//! Offers of clients that only publish (WHIP, RFC 9725) or only watch (WHEP, draft-ietf-wish-whep-03), their answers, and the fragments of SDP
//! (RFC 8840) by which they begin ICE anew.

use str0m::change::SdpOffer;

use super::section::{Flow, Kind, Section, sections};
use super::{OfferError, adapt, text_of};

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
        let text = text_of(offer);
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
            let turn = |line: String| match Flow::read(&line) {
                Some(_) if part.kind != Some(Kind::Channel) => self.flow().line().to_owned(),
                _ => line,
            };
            lines.extend(part.whole().into_iter().map(turn));
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
        // RFC 8830 has no list of streams any more.
        for line in answer.lines().filter(|line| !line.starts_with("a=msid-semantic:")) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Sound and pictures of a browser, both ways, and a data channel.
    fn offer() -> String {
        let transport = "c=IN IP4 0.0.0.0\na=ice-ufrag:EsAw\na=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\na=setup:actpass\na=rtcp-mux";
        let text = format!(
            "v=0\no=- 1 1 IN IP4 127.0.0.1\ns=-\nt=0 0\na=group:BUNDLE 0 1 2\na=ice-options:trickle\n\
             a=fingerprint:sha-256 {print}\nm=audio 9 UDP/TLS/RTP/SAVPF 111 0\n{transport}\na=mid:0\na=sendrecv\n\
             a=rtpmap:111 opus/48000/2\na=fmtp:111 minptime=10;x=1;useinbandfec=1\na=rtpmap:0 PCMU/8000\n\
             m=video 9 UDP/TLS/RTP/SAVPF 96 97\n{transport}\na=mid:1\na=fmtp:96 x=1\na=sendrecv\na=msid:- camera\n\
             a=rtpmap:96 VP8/90000\na=rtcp-fb:96 nack pli\na=rtpmap:97 rtx/90000\na=fmtp:97 apt=96\na=rid:q send\n\
             a=rid:h send\na=simulcast:send q;h\na=candidate:1 1 udp 2122260223 192.0.2.1 61764 typ host\n\
             m=application 9 UDP/DTLS/SCTP webrtc-datachannel\n{transport}\na=mid:2\na=sctp-port:5000\n",
            print = ["AB"; 32].join(":")
        );
        text.replace('\n', "\r\n")
    }

    #[test]
    fn an_offer_goes_one_way_and_begins_anew_with_another_user() {
        let text = offer();
        let whole = SdpOffer::from_sdp_string(&text).expect("an offer");
        for way in [Way::Publishes, Way::Watches] {
            let narrow = way.narrow(&whole).expect("it is taken").to_sdp_string();
            assert_eq!(narrow.matches(way.flow().line()).count(), 2, "{narrow}");
            assert!(!narrow.contains("a=sendrecv"), "{narrow}");
        }
        let own = Fragment::read(&text).expect("a fragment");
        assert_eq!((own.user.as_str(), ice_tag(&text).as_str()), ("EsAw", "EsAw"));
        let other = Fragment { user: "other".to_owned(), ..own };
        let renewed = other.renew(&text).expect("an offer").to_sdp_string();
        assert_eq!(renewed.matches("a=ice-ufrag:other").count(), 3, "{renewed}");
        assert!(!renewed.contains("a=candidate"), "{renewed}");
    }

    #[test]
    fn any_change_of_an_offer_is_taken_or_refused() {
        let text = offer();
        bolero::check!().with_type::<Vec<(u8, u8, u8)>>().for_each(|changes| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            for (kind, at, to) in changes.iter().take(8) {
                let [at, to] = [at, to].map(|place| usize::from(*place) % lines.len().max(1));
                match kind % 4 {
                    _ if lines.is_empty() => {}
                    0 => _ = lines.remove(at),
                    1 => lines.insert(to, lines[at].clone()),
                    2 => lines.swap(at, to),
                    _ => lines[at].truncate(to),
                }
            }
            let changed = lines.join("\r\n") + "\r\n";
            let _ = (Way::Watches.widen(&changed), ice_part(&changed));
            let fragment = Fragment::read(&changed);
            let renewed = fragment.as_ref().and_then(|fragment| fragment.renew(&text).ok());
            assert_eq!(renewed.is_some(), fragment.is_some());
            let Ok(whole) = SdpOffer::from_sdp_string(&changed) else { return };
            for way in [Way::Publishes, Way::Watches] {
                let Ok(narrow) = way.narrow(&whole) else { continue };
                assert_eq!(
                    way.narrow(&narrow).map(|again| again.to_sdp_string()),
                    Ok(narrow.to_sdp_string())
                );
            }
        });
    }
}
