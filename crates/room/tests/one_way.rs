//! Clients that publish by WHIP and watch by WHEP: small ones, step by step, over loopback.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use airbound_room::driver::Request;
use airbound_room::http::Answer;
use airbound_room::synthetic::{Equipment, Synthetic};
use airbound_room::token::Role;
use airbound_room::web::Web;
use str0m::change::SdpAnswer;
use str0m::media::{Direction, MediaKind};
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, Input, Output, Rtc};

use super::web::{request, web, web_with};

const SDP: &str = "application/sdp";
const FRAGMENT: &str = "application/trickle-ice-sdpfrag";

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

pub(crate) fn text(answer: &Answer) -> &str {
    std::str::from_utf8(&answer.body).expect("text")
}

/// The value of the first attribute of a name.
fn value<'a>(sdp: &'a str, name: &str) -> &'a str {
    let found = sdp.lines().find_map(|line| line.strip_prefix("a=")?.strip_prefix(name)?.strip_prefix(':'));
    found.unwrap_or_else(|| panic!("{name} in {sdp}"))
}

/// A server and the token of a guest.
pub(crate) struct Room {
    web: std::sync::Arc<Web>,
    bearer: String,
}

impl Room {
    pub(crate) fn new() -> Self {
        Self::of(web())
    }

    fn of(web: std::sync::Arc<Web>) -> Self {
        let bearer = format!("Bearer {}", web.token("blue", Role::Guest, Duration::from_secs(60)));
        Self { web, bearer }
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let all = [&[("authorization", self.bearer.as_str())], headers].concat();
        self.web.route(&request(method, path, &all, body))
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.ask("POST", path, &[("content-type", SDP)], body)
    }

    fn patch(&self, path: &str, tag: Option<&str>, body: &str) -> Answer {
        let tag = tag.map(|tag| ("if-match", tag));
        self.ask(
            "PATCH",
            path,
            &[Some(("content-type", FRAGMENT)), tag]
                .map(Option::into_iter)
                .into_iter()
                .flatten()
                .collect::<Vec<_>>(),
            body,
        )
    }

    pub(crate) fn state(&self) -> serde_json::Value {
        serde_json::from_str(text(&self.ask("GET", "/state", &[], ""))).expect("JSON")
    }

    fn names(&self) -> Vec<String> {
        let state = self.state();
        let members = state["members"].as_array().expect("members");
        members.iter().map(|member| member["name"].as_str().expect("a name").to_owned()).collect()
    }
}

/// A fragment with a user and a password.
fn fragment(user: &str, password: &str) -> String {
    format!(
        "a=group:BUNDLE 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:0\r\na=ice-ufrag:{user}\r\na=ice-pwd:{password}\r\n\
         a=candidate:1 1 udp 2122260223 3f2a8b1c.local 61764 typ host\r\na=end-of-candidates\r\n"
    )
}

/// The encoder of WHIP: a camera, and nothing else.
struct Publisher {
    synthetic: Synthetic,
    socket: UdpSocket,
}

pub(crate) fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_nonblocking(true).expect("an option");
    socket
}

impl Publisher {
    fn new() -> (Self, String) {
        let socket = socket();
        let equipment = Equipment { camera: 0.4e6, slots: 0, ears: 0, channel: false };
        let address = socket.local_addr().expect("an address");
        let (synthetic, offer) = Synthetic::equipped(Instant::now(), address, equipment).expect("an offer");
        (Self { synthetic, socket }, offer.to_sdp_string())
    }

    fn accept(&mut self, answer: &str) {
        let answer = SdpAnswer::from_sdp_string(answer).expect("an answer");
        self.synthetic.accept(answer).expect("it fits");
    }

    fn step(&mut self) {
        let mut buffer = [0; 2048];
        while let Ok((length, source)) = self.socket.recv_from(&mut buffer) {
            self.synthetic.receive(Instant::now(), source, &buffer[..length]);
        }
        self.synthetic.advance(Instant::now());
        while let Some((destination, bytes)) = self.synthetic.poll_datagram() {
            let _ = self.socket.send_to(&bytes, destination);
        }
    }
}

/// The player of WHEP: a section of video, one of audio.
struct Player {
    rtc: Rtc,
    socket: UdpSocket,
    received: usize,
}

impl Player {
    /// Makes one and asks for a session; returns its answer, too.
    fn watch(room: &Room) -> (Self, Answer) {
        let socket = socket();
        let mut rtc = Rtc::builder().set_rtp_mode(true).build(Instant::now());
        let address = socket.local_addr().expect("an address");
        rtc.add_local_candidate(Candidate::host(address, "udp").expect("a candidate"));
        let mut change = rtc.sdp_api();
        change.add_media(MediaKind::Audio, Direction::RecvOnly, None, None, None);
        change.add_media(MediaKind::Video, Direction::RecvOnly, None, None, None);
        let (offer, pending) = change.apply().expect("an offer");
        let created = room.post("/whep?name=tv", &offer.to_sdp_string());
        assert_eq!(created.status, 201, "{}", text(&created));
        let answer = SdpAnswer::from_sdp_string(text(&created)).expect("an answer");
        rtc.sdp_api().accept_answer(pending, answer).expect("it fits");
        (Self { rtc, socket, received: 0 }, created)
    }

    fn step(&mut self) {
        let (mut buffer, destination) = ([0; 2048], self.socket.local_addr().expect("an address"));
        while let Ok((length, source)) = self.socket.recv_from(&mut buffer) {
            let Ok(contents) = buffer[..length].try_into() else { continue };
            let receive = Receive { proto: Protocol::Udp, source, destination, contents };
            self.rtc.handle_input(Input::Receive(Instant::now(), receive)).expect("taken");
        }
        self.rtc.handle_input(Input::Timeout(Instant::now())).expect("taken");
        loop {
            match self.rtc.poll_output().expect("it lives") {
                Output::Timeout(_) => return,
                Output::Transmit(datagram) => {
                    drop(self.socket.send_to(&datagram.contents, datagram.destination))
                }
                Output::Event(Event::RtpPacket(packet)) => {
                    self.received += usize::from(!packet.payload.is_empty())
                }
                Output::Event(_) => {}
            }
        }
    }

    /// Plays until so many packets more have come.
    fn play(&mut self, publisher: &mut Publisher, packets: usize) {
        let (until, wanted) = (Instant::now() + Duration::from_secs(30), self.received + packets);
        while self.received < wanted {
            assert!(Instant::now() < until, "{} of {wanted} packets", self.received);
            publisher.step();
            self.step();
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

#[test]
fn a_publisher_and_a_player_meet_begin_ice_anew_and_leave() {
    let room = Room::new();
    let (mut publisher, offer) = Publisher::new();
    let created = room.post("/whip?name=camera", &offer);
    assert_eq!(created.status, 201, "{}", text(&created));
    assert!(text(&created).contains("a=recvonly") && text(&created).contains("a=rtcp-mux-only"));
    let session = header(&created, "location").expect("a session").to_owned();
    let tag = header(&created, "etag").expect("a tag").to_owned();
    assert!(session.starts_with("/whip/") && tag.starts_with('"') && tag.len() > 5, "{session} {tag}");
    publisher.accept(text(&created));
    let (mut player, watching) = Player::watch(&room);
    let sdp = text(&watching);
    assert_eq!((sdp.matches("a=sendonly").count(), sdp.matches("a=msid:room ").count()), (2, 2), "{sdp}");
    player.play(&mut publisher, 50);
    assert_eq!(room.names(), ["camera", "tv"]);

    // More candidates of the same ICE session.
    let own = fragment(value(&offer, "ice-ufrag"), value(&offer, "ice-pwd"));
    let more = room.patch(&session, Some(&tag), &own);
    assert_eq!((more.status, header(&more, "etag"), text(&more)), (204, None, ""));
    for (tag, body, status) in [
        (None, own.as_str(), 428),
        (Some("\"other\""), &own, 412),
        (Some("*"), "a=mid:0", 400),
        (Some("*"), &own.replace("a=ice-pwd", "a=nothing"), 400),
        (Some("*"), &(own.clone() + "nonsense"), 400),
        (Some("*"), &fragment("new user", "a password of 22 letters"), 400),
    ] {
        assert_eq!(room.patch(&session, tag, body).status, status, "{tag:?} {body}");
    }
    assert_eq!(room.patch("/whip/other", Some("*"), &own).status, 404);
    assert_eq!(room.ask("PATCH", &session, &[("if-match", "*"), ("content-type", SDP)], &own).status, 415);

    // Another user and password: ICE begins anew, and the pictures go on.
    let address = publisher.socket.local_addr().expect("an address");
    let renewed = publisher.synthetic.renew(address).expect("an offer").to_sdp_string();
    let body = fragment(value(&renewed, "ice-ufrag"), value(&renewed, "ice-pwd"));
    assert_eq!(room.patch(&session, Some(&tag), &body).status, 412, "a restart ends whatever there is");
    let restarted = room.patch(&session, Some("*"), &body);
    assert_eq!((restarted.status, restarted.kind), (200, FRAGMENT), "{}", text(&restarted));
    let part = text(&restarted);
    for line in ["a=ice-lite", "a=mid:", "a=candidate:", "a=end-of-candidates"] {
        assert!(part.contains(line), "{line}: {part}");
    }
    let new = header(&restarted, "etag").expect("a tag");
    assert_ne!(new, tag);
    let mut answer = text(&created).to_owned();
    for name in ["ice-ufrag", "ice-pwd"] {
        answer = answer.replace(value(text(&created), name), value(part, name));
    }
    publisher.accept(&answer);
    assert_eq!(room.patch(&session, Some(&tag), &body).status, 412, "the tag before");
    assert_eq!(room.patch(&session, Some(&format!("\"x\", {new}")), &body).status, 204);
    player.play(&mut publisher, 100);

    // A token of another room is none of this session.
    let other = format!("Bearer {}", room.web.token("red", Role::Guest, Duration::from_secs(60)));
    for (method, kind) in [("DELETE", SDP), ("PATCH", FRAGMENT)] {
        let headers = [("authorization", other.as_str()), ("content-type", kind), ("if-match", "*")];
        let foreign = room.web.route(&request(method, &session, &headers, &own));
        assert_eq!((foreign.status, text(&foreign)), (404, "this session is gone"), "{method}");
    }
    assert_eq!(room.names(), ["camera", "tv"]);
    // A tag says nothing where none is needed.
    let end = |session: &str| room.ask("DELETE", session, &[("if-match", "\"other\"")], "").status;
    assert_eq!([end(&session), end(&session)], [200, 404]);
    // A client that closes its connection first, as whip-whep does, has a session to end still.
    let session = header(&watching, "location").expect("a session");
    room.web.room("blue").expect("it is there").ask(Request::Leave(session["/whep/".len()..].to_owned()));
    let until = Instant::now() + Duration::from_secs(20);
    while !room.names().is_empty() {
        assert!(Instant::now() < until, "{:?}", room.names());
    }
    assert_eq!([end(session), end(session)], [200, 404]);
}

#[test]
fn clients_are_told_the_ice_servers_one_a_link() {
    let servers = ["stun:stun.example:3478", "turns:turn.example?transport=tcp,2:ann,pass \"w\\ord\""];
    let room = Room::of(web_with(&servers));
    let wanted = [
        r#"<stun:stun.example:3478>; rel="ice-server""#,
        r#"<turns:turn.example?transport=tcp>; rel="ice-server"; username="2:ann"; credential="pass \"w\\ord\""; credential-type="password""#,
    ];
    let links = |answer: &Answer| -> Vec<String> {
        let all = answer.headers.iter().filter(|(name, _)| *name == "link");
        all.map(|(_, value)| value.clone()).collect()
    };
    let (_, offer) = Publisher::new();
    let page = [("content-type", SDP), ("host", "room.example"), ("origin", "https://room.example")];
    let created = room.ask("POST", "/whip", &page, &offer);
    assert_eq!((created.status, links(&created)), (201, wanted.map(str::to_owned).to_vec()));
    assert_eq!(header(&created, "access-control-expose-headers"), Some("location, etag, link"));
    let (_, watching) = Player::watch(&room);
    assert_eq!(links(&watching), wanted);
    for path in ["/whip", "/whep"] {
        assert_eq!(links(&room.ask("OPTIONS", path, &[], "")), wanted, "{path}");
        // A preflight request, and anybody without a token.
        let asked = [("origin", "https://room.example"), ("access-control-request-method", "POST")];
        let strange = room.web.route(&request("OPTIONS", path, &asked, ""));
        assert_eq!((strange.status, links(&strange)), (200, Vec::new()), "{path}");
    }
    assert_eq!(links(&room.post("/whip", "v=0\r\n")), [""; 0]);
    assert_eq!(links(&Player::watch(&Room::new()).1), [""; 0], "a room without servers");
}

#[test]
fn what_the_texts_do_not_have_is_refused_with_their_status() {
    let room = Room::new();
    let (_, offer) = Publisher::new();
    for (path, methods) in
        [("/whip", "GET, HEAD, OPTIONS, POST"), ("/whep/x", "GET, HEAD, OPTIONS, PATCH, DELETE")]
    {
        for method in ["GET", "HEAD"] {
            let answer = room.ask(method, path, &[], "");
            assert_eq!((answer.status, answer.kind, text(&answer)), (200, SDP, ""));
        }
        let answer = room.ask("PUT", path, &[], "");
        assert_eq!((answer.status, header(&answer, "allow")), (405, Some(methods)));
        // A preflight request has no token.
        let origin = [("host", "room.example"), ("origin", "https://room.example")];
        let answer = room.web.route(&request("OPTIONS", path, &origin, ""));
        assert_eq!((answer.status, header(&answer, "accept-post")), (200, Some(SDP)));
        assert_eq!(header(&answer, "access-control-allow-origin"), Some("https://room.example"));
        let foreign = room.web.route(&request("OPTIONS", path, &[("origin", "https://evil.example")], ""));
        assert_eq!(header(&foreign, "access-control-allow-origin"), None);
    }
    let evil = [("content-type", SDP), ("origin", "https://evil.example")];
    assert_eq!(room.ask("POST", "/whip", &evil, &offer).status, 403);
    let strange = room.web.route(&request("POST", "/whip", &[("content-type", SDP)], &offer));
    assert_eq!((strange.status, header(&strange, "www-authenticate")), (401, Some("Bearer")));
    let forged =
        request("POST", "/whip", &[("content-type", SDP), ("authorization", "bearer blue.host.9.0")], &offer);
    let forged = room.web.route(&forged);
    assert_eq!(
        (forged.status, header(&forged, "www-authenticate")),
        (401, Some("Bearer error=\"invalid_token\""))
    );
    assert_eq!(room.ask("POST", "/whip", &[("content-type", "application/json")], &offer).status, 415);
    assert_eq!(room.post("/whip", "v=0\r\n").status, 400);
    assert_eq!(room.post("/whip", &(offer.clone() + &"a=x\r\n".repeat(8000))).status, 413);

    let section = offer.find("m=video").expect("video");
    let twice = offer.clone() + &offer[section..].replace("a=mid:", "a=mid:x");
    let refused = |path: &str, offer: &str| {
        let answer = room.post(path, offer);
        (answer.status, text(&answer).split(':').next().expect("words").to_owned())
    };
    let said = |words: &str| (422, words.to_owned());
    assert_eq!(refused("/whep", &offer), said("a client of WHEP only receives"));
    let receives = offer.replace("a=sendonly", "a=recvonly");
    assert_eq!(refused("/whip", &receives), said("a client of WHIP only sends"));
    assert_eq!(
        refused("/whip", &twice),
        said("the offer has several sections of a kind; allowed are one of video and one of audio")
    );
    let foreign = offer.replace("VP8/90000", "AV1/90000");
    assert_eq!(refused("/whip", &foreign).0, 422);
    let sound = "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:pcm\r\na=sendonly\r\na=rtpmap:0 PCMU/8000\r\n";
    assert_eq!(refused("/whip", &(offer.clone() + sound)), said("a section cannot be used"));
    assert_eq!(room.names(), [""; 0]);
    // A client that can only be that of DTLS (section 4.4.4).
    let active = room.post("/whip", &offer.replace("a=setup:actpass", "a=setup:active"));
    assert!(active.status == 201 && text(&active).contains("a=setup:passive"), "{}", text(&active));
    // Both ways is one way.
    let both = offer
        .replace("a=sendonly", "a=rtpmap:49 flexfec-03/90000\r\na=fmtp:49 repair-window=1\r\na=sendrecv");
    let both = room.post("/whip", &both);
    assert!(both.status == 201 && text(&both).contains("a=recvonly"), "{}", text(&both));
}
