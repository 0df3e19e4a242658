//! The page and its requests: rooms by name, tokens, origins, limits.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use airbound_senders::conference::room::{RoomConfig, RoomPolicy};
use serde::Deserialize;
use serde_json::json;
use str0m::change::SdpOffer;

use crate::driver::{Handle, Request as Ask, Unanswered};
use crate::http::{Answer, HttpError, Request, close};
use crate::ice_server::IceServer;
use crate::session::{Join, JoinError, Joined, MOST_RATE};
use crate::token::{Pass, Role, Secret, hex, is_room_name};

mod one_way;

/// Connections that are served at the same time, and as many more that are told so.
const MOST_CONNECTIONS: usize = 64;
/// Pause after a connection that could not be accepted: mostly a shortage of descriptors.
const AGAIN: Duration = Duration::from_millis(100);
/// Time after which an empty room gives way to another: longer than a seat can be taken again.
const EMPTY: Duration = Duration::from_secs(30);
/// Rooms of one server.
const MOST_ROOMS: usize = 16;
/// Offers of each kind that one room takes in a minute.
const MOST_OFFERS: usize = 120;

/// Configuration of a server.
#[derive(Debug, Clone)]
pub struct WebConfig {
    /// Address of the media sockets.
    pub media: IpAddr,
    /// Origins from which pages may ask; pages of this server's own loopback address always may.
    pub origins: Vec<String>,
    /// Servers that clients may use to reach the media sockets. Whoever has a token reads their credentials.
    pub ice_servers: Vec<IceServer>,
    /// The configuration of each room.
    pub room: RoomConfig,
    /// The secret that signs tokens.
    pub secret: Secret,
}

/// A running room, and when its latest offers came.
#[derive(Debug)]
struct Open {
    handle: Handle,
    /// Times of the latest offers: of guests, of hosts, of seats that change their network.
    offers: [Vec<Instant>; 3],
    /// The latest request.
    used: Instant,
}

/// The server of the page.
#[derive(Debug)]
pub struct Web {
    config: WebConfig,
    rooms: Mutex<BTreeMap<String, Open>>,
    /// Counted by their owners: each connection that is served has one of the first, each that is refused one of the second.
    seats: [Arc<()>; 2],
}

/// The body of a request to join.
#[derive(Deserialize)]
struct Joining {
    name: String,
    offer: SdpOffer,
    #[serde(default)]
    resume: Option<String>,
}

/// The body of a request for new ways of a seat.
#[derive(Deserialize)]
struct Restarting {
    offer: SdpOffer,
    resume: String,
}

#[derive(Deserialize)]
struct Choosing {
    policy: RoomPolicy,
}

/// The body of what is known of a participant's link beside the page.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Telling {
    /// Its number, or
    member: Option<u16>,
    /// the addresses of its station, as an access point knows them.
    addresses: Option<Vec<IpAddr>>,
    sum: u64,
}

impl Telling {
    /// Its request to the room; `None` for one that is not allowed.
    fn ask(self) -> Option<Ask> {
        match (self.member, self.addresses) {
            _ if self.sum > MOST_RATE => None,
            (Some(member), None) => Some(Ask::Channel(member, self.sum)),
            (None, Some(addresses)) => Some(Ask::ChannelAt(addresses, self.sum)),
            _ => None,
        }
    }
}

/// Bytes that nobody can guess.
///
/// # Errors
/// The system has no source of randomness.
pub fn unguessable() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The present time in seconds since 1970.
#[must_use]
pub fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

impl Web {
    /// Makes a server without rooms.
    #[must_use]
    pub fn new(config: WebConfig) -> Arc<Self> {
        Arc::new(Self { config, rooms: Mutex::new(BTreeMap::new()), seats: Default::default() })
    }

    /// A token for a room.
    #[must_use]
    pub fn token(&self, room: &str, role: Role, lasts: Duration) -> String {
        let expires = unix_time() + lasts.as_secs();
        self.config.secret.sign(&Pass { room: room.to_owned(), role, expires })
    }

    /// The room of a name, started if need be; one that has ended is replaced.
    ///
    /// # Errors
    /// There are too many rooms, or its socket cannot be bound.
    pub fn room(&self, name: &str) -> io::Result<Handle> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some(open) = rooms.get_mut(name) {
            open.used = now;
            return Ok(open.handle.clone());
        }
        if rooms.len() >= MOST_ROOMS {
            // A room of its name begins anew.
            let is_empty = |open: &Open| {
                open.handle.published().members == 0 && now.saturating_duration_since(open.used) >= EMPTY
            };
            let longest = rooms.iter().filter(|(_, open)| is_empty(open)).min_by_key(|(_, open)| open.used);
            if let Some(name) = longest.map(|(name, _)| name.clone()) {
                rooms.remove(&name);
            }
        }
        if rooms.len() >= MOST_ROOMS {
            return Err(io::Error::other(format!("there are {MOST_ROOMS} rooms already")));
        }
        let handle = Handle::start(name, self.config.media, self.config.room)?;
        rooms.insert(name.to_owned(), Open { handle: handle.clone(), offers: Default::default(), used: now });
        Ok(handle)
    }

    /// Serves connections without end. What the system does not give for a connection is asked for again.
    pub fn serve(self: &Arc<Self>, listener: &TcpListener) -> ! {
        loop {
            let Ok((mut connection, _)) = listener.accept() else {
                thread::sleep(AGAIN);
                continue;
            };
            // One of each is the server's own.
            let free = self.seats.iter().position(|seats| Arc::strong_count(seats) <= MOST_CONNECTIONS);
            let Some(place) = free else { continue };
            let (seat, web) = (self.seats[place].clone(), self.clone());
            // A thread that does not start, or panics, gives its seat back.
            let _ = thread::Builder::new().name("page".to_owned()).spawn(move || {
                let _seat = seat;
                if place == 0 {
                    web.answer(&mut connection);
                } else {
                    let answer = Answer::refusal(503, "too many connections are open; try again");
                    // A connection that ended needs no answer.
                    let _ = answer.write(&mut connection, false);
                    close(&mut connection);
                }
            });
        }
    }

    fn answer(&self, connection: &mut TcpStream) {
        let mut only_head = false;
        let request = Request::read(connection);
        let is_whole = request.is_ok();
        let answer = match request {
            Ok(request) => {
                only_head = request.method == "HEAD";
                self.route(&request)
            }
            Err(error @ HttpError::TooLong) => Answer::refusal(413, &error.to_string()),
            // The client may try again.
            Err(error @ HttpError::Incomplete) => Answer::refusal(408, &error.to_string()),
            Err(error) => Answer::refusal(400, &error.to_string()),
        };
        // A connection that ended needs no answer.
        let _ = answer.write(connection, only_head);
        if !is_whole {
            close(connection);
        }
    }

    /// Answers one request.
    #[must_use]
    pub fn route(&self, request: &Request) -> Answer {
        if !self.is_own_host(request) {
            return Answer::refusal(403, "this host name is not served here");
        }
        if let Some(answer) = self.one_way(request) {
            return answer;
        }
        let page = |kind, text: &str| Answer::new(200, kind, text);
        // RFC 9110, section 9.3.2: the same head.
        let method = if request.method == "HEAD" { "GET" } else { request.method.as_str() };
        match (method, request.path.as_str()) {
            ("GET", "/") => page("text/html; charset=utf-8", include_str!("../page/page.html")),
            ("GET", "/page.js") => page("text/javascript; charset=utf-8", include_str!("../page/page.js")),
            ("GET", "/client.js") => {
                page("text/javascript; charset=utf-8", include_str!("../page/client.js"))
            }
            ("GET", "/page.css") => page("text/css; charset=utf-8", include_str!("../page/page.css")),
            ("GET", "/state") => {
                self.with_room(request, Role::Guest, |open, _| Answer::json(&open.handle.published().state))
            }
            ("GET", "/metrics") => self.with_room(request, Role::Guest, |open, _| {
                Answer::new(200, "text/plain; version=0.0.4", &open.handle.published().metrics)
            }),
            ("GET", "/ice-servers") => {
                self.pass(request).map_or_else(|refusal| refusal, |pass| self.ice_servers(&pass))
            }
            ("POST", "/join" | "/restart" | "/policy" | "/channel" | "/leave")
                if !self.is_own_origin(request) =>
            {
                Answer::refusal(403, "pages of this origin may not ask here")
            }
            ("POST", "/join") => self.join(request).unwrap_or_else(|refusal| refusal),
            ("POST", "/restart") => self.restart(request).unwrap_or_else(|refusal| refusal),
            ("POST", "/policy") => self.with_room(request, Role::Host, |open, request| {
                let Ok(choice) = serde_json::from_slice::<Choosing>(&request.body) else {
                    return Answer::refusal(400, "the policy is plain, last-n, layer-suspension or plum");
                };
                open.handle.ask(Ask::Policy(choice.policy));
                Answer::new(204, "text/plain", "")
            }),
            ("POST", "/channel") => self.with_room(request, Role::Host, |open, request| {
                let told = serde_json::from_slice::<Telling>(&request.body).ok();
                let Some(ask) = told.and_then(Telling::ask) else {
                    return Answer::refusal(
                        400,
                        "a channel has the member's number, or its addresses, and the sum of both directions, 0 to 1 Tbit/s, in bit/s",
                    );
                };
                open.handle.ask(ask);
                Answer::new(204, "text/plain", "")
            }),
            // A page that closes can send no header: the resume token is what shows that the seat is its own.
            ("POST", "/leave") => {
                let token = String::from_utf8_lossy(&request.body).into_owned();
                let rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(open) = request.asked("room").and_then(|room| rooms.get(room)) {
                    open.handle.ask(Ask::Leave(token));
                }
                Answer::new(204, "text/plain", "")
            }
            _ => Answer::refusal(404, "there is no such page"),
        }
    }

    /// Whether the request names a host of this server: a foreign name that resolves to this machine is refused.
    fn is_own_host(&self, request: &Request) -> bool {
        let Some(host) = request.header("host") else { return false };
        is_loopback_name(host) || self.config.origins.iter().any(|origin| host_of(origin) == Some(host))
    }

    /// Whether the page that asks is of this server. Programs send no origin.
    fn is_own_origin(&self, request: &Request) -> bool {
        let Some(origin) = request.header("origin") else { return true };
        let listed = self.config.origins.iter().any(|known| known == origin);
        listed
            || host_of(origin)
                .is_some_and(|host| is_loopback_name(host) && Some(host) == request.header("host"))
    }

    fn pass(&self, request: &Request) -> Result<Pass, Answer> {
        let bearer = request.header("authorization").and_then(|value| value.split_once(' '));
        let token =
            bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token);
        // RFC 6750 section 3.
        let refusal = |sentence: &str, how| Answer::refusal(401, sentence).with("www-authenticate", how);
        let token = token.ok_or_else(|| refusal("a token is missing", "Bearer"))?;
        let pass = self
            .config
            .secret
            .check(token, unix_time())
            .map_err(|error| refusal(&error.to_string(), "Bearer error=\"invalid_token\""))?;
        if is_room_name(&pass.room) { Ok(pass) } else { Err(Answer::refusal(403, "the token names no room")) }
    }

    /// Answers for the room of the token.
    fn with_room(
        &self,
        request: &Request,
        least: Role,
        answer: impl FnOnce(&mut Open, &Request) -> Answer,
    ) -> Answer {
        let pass = match self.pass(request) {
            Ok(pass) if pass.role >= least => pass,
            Ok(_) => return Answer::refusal(403, "only a host may do this"),
            Err(refusal) => return refusal,
        };
        if let Err(error) = self.room(&pass.room) {
            return Answer::refusal(503, &error.to_string());
        }
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        match rooms.get_mut(&pass.room) {
            Some(open) => answer(open, request),
            None => Answer::refusal(503, "the room has ended"),
        }
    }

    /// Answers with the servers in an `RTCConfiguration`, which a page reads before it makes its connection.
    fn ice_servers(&self, pass: &Pass) -> Answer {
        let servers = self.config.ice_servers.iter().map(|server| server.until(pass.expires));
        Answer::json(&json!({"iceServers": servers.collect::<Vec<_>>()}).to_string())
    }

    fn join(&self, request: &Request) -> Result<Answer, Answer> {
        let pass = self.pass(request)?;
        let joining: Joining = serde_json::from_slice(&request.body)
            .map_err(|_| Answer::refusal(400, "a request to join has a name and an offer"))?;
        let (joined, token) = self.seat(&pass, joining.name, joining.offer, joining.resume)?;
        let answer = json!({"id": joined.id, "answer": joined.answer, "resume": token, "room": pass.room});
        Ok(Answer::json(&answer.to_string()))
    }

    /// Seats a participant; returns the token of its seat, too.
    fn seat(
        &self,
        pass: &Pass,
        name: String,
        offer: SdpOffer,
        resume: Option<String>,
    ) -> Result<(Joined, String), Answer> {
        let token = unguessable().map_err(|_| Answer::refusal(503, "there is no source of randomness"))?;
        let (token, host) = (hex(&token), pass.role == Role::Host);
        let handle = self.admit(&pass.room, usize::from(host))?;
        let joined = handle.join(Join { name, host, offer, resume, token: token.clone() });
        match joined.map_err(|why| self.unanswered(&pass.room, why))? {
            Ok(joined) => Ok((joined, token)),
            Err(error @ JoinError::Full) => Err(Answer::refusal(429, &error.to_string())),
            Err(error) => Err(Answer::refusal(400, &error.to_string())),
        }
    }

    fn restart(&self, request: &Request) -> Result<Answer, Answer> {
        let pass = self.pass(request)?;
        let again: Restarting = serde_json::from_slice(&request.body)
            .map_err(|_| Answer::refusal(400, "a request to restart has an offer and the token of a seat"))?;
        let restarted = self.admit(&pass.room, 2)?.restart(again.resume, again.offer);
        let answer = restarted.map_err(|why| self.unanswered(&pass.room, why))?;
        let answer = answer.map_err(|error| Answer::refusal(400, &error.to_string()))?;
        Ok(Answer::json(&json!({"answer": answer}).to_string()))
    }

    /// Forgets a room that has ended. One that is late goes on: without its handle it would end.
    fn unanswered(&self, room: &str, why: Unanswered) -> Answer {
        if why == Unanswered::Late {
            return Answer::refusal(503, "the room is busy; try again");
        }
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner).remove(room);
        Answer::refusal(503, "the room has ended; the next request starts it again")
    }

    /// The room of an offer, if it does not take too many of its kind ([`Open::offers`]).
    fn admit(&self, room: &str, kind: usize) -> Result<Handle, Answer> {
        self.room(room).map_err(|error| Answer::refusal(503, &error.to_string()))?;
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        let open = rooms.get_mut(room).ok_or_else(|| Answer::refusal(503, "the room has ended"))?;
        let now = Instant::now();
        let Some(offers) = open.offers.get_mut(kind) else {
            return Err(Answer::refusal(503, "there is no such offer"));
        };
        offers.retain(|at| now.saturating_duration_since(*at) < Duration::from_secs(60));
        if offers.len() >= MOST_OFFERS {
            return Err(Answer::refusal(429, "the room has had too many offers in the last minute"));
        }
        offers.push(now);
        Ok(open.handle.clone())
    }
}

/// The host, with its port, of an origin.
fn host_of(origin: &str) -> Option<&str> {
    origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"))
}

/// Whether a host, perhaps with a port, is a name of the loopback interface.
pub(crate) fn is_loopback_name(host: &str) -> bool {
    let name = host
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(host, |(name, _)| name);
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_that_is_late_is_kept_and_one_that_has_ended_begins_anew() {
        let web = Web::new(WebConfig {
            media: "127.0.0.1".parse().expect("an address"),
            origins: Vec::new(),
            ice_servers: Vec::new(),
            room: RoomConfig::default(),
            secret: Secret::new(b"a secret of the test"),
        });
        let (handle, incoming) = Handle::unserved();
        let open = Open { handle, offers: Default::default(), used: Instant::now() };
        web.rooms.lock().expect("one thread").insert("blue".to_owned(), open);
        let token = web.token("blue", Role::Guest, Duration::from_secs(60));
        let offer = r#"{"type":"offer","sdp":"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n"}"#;
        let ask = |path: &str, rest: &str| {
            let [host, bearer] = ["localhost".to_owned(), format!("Bearer {token}")];
            let headers = vec![("host".to_owned(), host), ("authorization".to_owned(), bearer)];
            let body = format!("{{\"offer\":{offer},{rest}}}").into_bytes();
            let answer = web.route(&Request {
                method: "POST".to_owned(),
                path: path.to_owned(),
                headers,
                body,
                ..Request::default()
            });
            (answer.status, String::from_utf8(answer.body).expect("text"))
        };
        let late = (503, "the room is busy; try again".to_owned());
        assert_eq!(ask("/join", r#""name":"x""#), late);
        assert_eq!(ask("/restart", r#""resume":"x""#), late);
        // Both came to the room that is there still.
        assert!(matches!(incoming.try_recv(), Ok(Ask::Join(..))));
        assert!(matches!(incoming.try_recv(), Ok(Ask::Restart(..))));
        drop(incoming);
        let ended = (503, "the room has ended; the next request starts it again".to_owned());
        assert_eq!(ask("/join", r#""name":"x""#), ended);
        crate::prepare();
        assert_eq!(ask("/join", r#""name":"x""#).0, 400, "a room that answers");
    }

    #[test]
    fn an_empty_room_gives_way_to_another_one() {
        let web = Web::new(WebConfig {
            media: "127.0.0.1".parse().expect("an address"),
            origins: Vec::new(),
            ice_servers: Vec::new(),
            room: RoomConfig::default(),
            secret: Secret::new(b"a secret of the test"),
        });
        for number in 0..16 {
            web.room(&format!("room-{number}")).expect("a room");
        }
        assert!(web.room("one-more").is_err(), "all have just been asked for");
        let age = |room: &str, time: u64| {
            if let Some(open) = web.rooms.lock().expect("one thread").get_mut(room) {
                open.used -= Duration::from_secs(time);
            }
        };
        age("room-2", 25);
        assert!(web.room("one-more").is_err(), "none is empty for 30 s");
        age("room-3", 30);
        web.room("one-more").expect("in place of room-3");
        let rooms = web.rooms.lock().expect("one thread");
        assert!(rooms.len() == 16 && !rooms.contains_key("room-3"));
    }

    #[test]
    fn a_page_is_served_after_descriptors_were_short_and_heads_have_no_body() {
        use std::io::Write;
        let web = Web::new(WebConfig {
            media: "127.0.0.1".parse().expect("an address"),
            origins: Vec::new(),
            ice_servers: Vec::new(),
            room: RoomConfig::default(),
            secret: Secret::new(b"a secret of the test"),
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
        let address = listener.local_addr().expect("bound");
        // What accept answers without a connection is an error, as a shortage of descriptors is.
        listener.set_nonblocking(true).expect("an option");
        thread::spawn(move || web.serve(&listener));
        thread::sleep(Duration::from_millis(50));
        let ask = |line: &str| {
            let mut stream = TcpStream::connect(address).expect("the page");
            write!(stream, "{line}\r\nHost: {address}\r\n\r\n").expect("asked");
            let mut text = String::new();
            stream.read_to_string(&mut text).expect("answered");
            text
        };
        let ten = ask("GET / HTTP/1.0");
        assert!(ten.starts_with("HTTP/1.1 200 OK\r\n") && ten.ends_with("</html>\n"), "{ten}");
        let head = ask("HEAD / HTTP/1.1");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    }
}
