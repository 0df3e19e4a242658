//! Clients that publish by WHIP (RFC 9725) and watch by WHEP (draft-ietf-wish-whep-03): an offer makes a seat, whose address is its session.

use str0m::change::SdpOffer;

use super::Web;
use crate::driver::Patch;
use crate::http::{Answer, Request};
use crate::offer::{Fragment, LONGEST_KEPT, Way, ice_part, ice_tag};
use crate::session::PatchError;
use crate::token::Pass;

const SDP: &str = "application/sdp";
const FRAGMENT: &str = "application/trickle-ice-sdpfrag";

impl Web {
    /// Answers a request to an endpoint or a session; `None` for other paths.
    pub(super) fn one_way(&self, request: &Request) -> Option<Answer> {
        let path = request.path.strip_prefix('/')?;
        let (endpoint, session) = path.split_once('/').map_or((path, None), |(end, rest)| (end, Some(rest)));
        let way = match endpoint {
            "whip" => Way::Publishes,
            "whep" => Way::Watches,
            _ => return None,
        };
        let methods =
            if session.is_some() { "GET, HEAD, OPTIONS, PATCH, DELETE" } else { "GET, HEAD, OPTIONS, POST" };
        let answer = match (request.method.as_str(), session) {
            ("GET" | "HEAD", _) => Ok(Answer::new(200, SDP, "")),
            // The answer to a preflight request has no token, as the request has none.
            ("OPTIONS", _) => {
                let answer = Answer::new(200, SDP, "")
                    .with("accept-post", SDP)
                    .with("allow", methods)
                    .with("access-control-allow-methods", methods)
                    .with("access-control-allow-headers", "authorization, content-type, if-match");
                // Before its offer a client may ask for servers; their credentials are for bearers of a token.
                Ok(match self.pass(request) {
                    Ok(pass) if session.is_none() => self.linked(&pass, answer),
                    _ => answer,
                })
            }
            ("POST", None) | ("PATCH" | "DELETE", Some(_)) if !self.is_own_origin(request) => {
                Err(Answer::refusal(403, "pages of this origin may not ask here"))
            }
            ("POST", None) => self.begin(request, way),
            ("PATCH", Some(token)) => self.patch(request, token),
            ("DELETE", Some(token)) => self.end(request, token),
            _ => Err(Answer::refusal(405, &format!("allowed are {methods}")).with("allow", methods)),
        };
        let answer = answer.unwrap_or_else(|refusal| refusal);
        let origin = request.header("origin").filter(|_| self.is_own_origin(request));
        Some(match origin {
            Some(origin) => answer
                .with("access-control-allow-origin", origin)
                .with("access-control-expose-headers", "location, etag, link"),
            None => answer,
        })
    }

    fn begin(&self, request: &Request, way: Way) -> Result<Answer, Answer> {
        let pass = self.pass(request)?;
        let text = text_of(request, SDP)?;
        if text.len() > LONGEST_KEPT {
            return Err(Answer::refusal(
                413,
                &format!("an offer of WHIP or WHEP has at most {LONGEST_KEPT} bytes"),
            ));
        }
        let malformed = |_| Answer::refusal(400, "the body is no offer in SDP");
        let offer = SdpOffer::from_sdp_string(text).map_err(malformed)?;
        let offer = way.narrow(&offer).map_err(|error| Answer::refusal(422, &error.to_string()))?;
        let (endpoint, usual) = match way {
            Way::Publishes => ("whip", "publisher"),
            Way::Watches => ("whep", "player"),
        };
        let name = request.asked("name").unwrap_or(usual).to_owned();
        let (joined, token) = self.seat(&pass, name, offer, None)?;
        let answer = way.widen(&joined.answer.to_sdp_string());
        let tag = format!("\"{}\"", ice_tag(&answer));
        let location = format!("/{endpoint}/{token}");
        let created = Answer::new(201, SDP, &answer).with("location", &location).with("etag", &tag);
        Ok(self.linked(&pass, created))
    }

    /// The answer with the servers that the client may use (RFC 9725, section 4.6).
    fn linked(&self, pass: &Pass, answer: Answer) -> Answer {
        let servers = self.config.ice_servers.iter().map(|server| server.until(pass.expires));
        servers.fold(answer, |answer, server| answer.with("link", &server.link()))
    }

    fn patch(&self, request: &Request, token: &str) -> Result<Answer, Answer> {
        let pass = self.pass(request)?;
        let fragment = Fragment::read(text_of(request, FRAGMENT)?).ok_or_else(|| {
            Answer::refusal(400, "the body is no fragment of SDP with a=ice-ufrag and a=ice-pwd")
        })?;
        let tags = request.header("if-match").map(str::to_owned);
        let handle = match tags.as_deref().map(str::trim) {
            // It may begin ICE anew.
            Some("*") => self.admit(&pass.room, 2)?,
            _ => self.room(&pass.room).map_err(|error| Answer::refusal(503, &error.to_string()))?,
        };
        let patched = handle.patch(Patch { token: token.to_owned(), tags, fragment });
        match patched.map_err(|why| self.unanswered(&pass.room, why))? {
            Ok(None) => Ok(Answer::new(204, FRAGMENT, "")),
            Ok(Some(answer)) => {
                let answer = ice_part(&answer.to_sdp_string());
                let tag = format!("\"{}\"", ice_tag(&answer));
                Ok(Answer::new(200, FRAGMENT, &answer).with("etag", &tag))
            }
            Err(error) => {
                let status = match error {
                    PatchError::Gone => 404,
                    PatchError::Untagged => 428,
                    PatchError::Outdated => 412,
                    PatchError::Restart(_) => 422,
                };
                Err(Answer::refusal(status, &error.to_string()))
            }
        }
    }

    fn end(&self, request: &Request, token: &str) -> Result<Answer, Answer> {
        let pass = self.pass(request)?;
        let handle = self.room(&pass.room).map_err(|error| Answer::refusal(503, &error.to_string()))?;
        match handle.end(token.to_owned()).map_err(|why| self.unanswered(&pass.room, why))? {
            true => Ok(Answer::new(200, SDP, "")),
            false => Err(Answer::refusal(404, &PatchError::Gone.to_string())),
        }
    }
}

/// The body of a request of a media type.
fn text_of<'a>(request: &'a Request, kind: &str) -> Result<&'a str, Answer> {
    let named = request.header("content-type").and_then(|value| value.split(';').next()).unwrap_or_default();
    if !named.trim().eq_ignore_ascii_case(kind) {
        return Err(Answer::refusal(415, &format!("the body of this request is {kind}")));
    }
    std::str::from_utf8(&request.body).map_err(|_| Answer::refusal(400, "the body is not UTF-8"))
}
