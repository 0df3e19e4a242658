//! The page's requests: tokens, roles, origins, host names.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use airbound_room::http::Request;
use airbound_room::ice_server::{IceServer, TurnSecret};
use airbound_room::token::{Role, Secret};
use airbound_room::web::{Web, WebConfig};
use airbound_senders::conference::room::RoomConfig;

use crate::world::prepare;

pub(crate) fn web() -> std::sync::Arc<Web> {
    web_with(&[])
}

/// A server whose clients may use these servers of STUN and TURN.
pub(crate) fn web_with(ice_servers: &[&str]) -> std::sync::Arc<Web> {
    web_of(ice_servers.iter().map(|text| text.parse().expect("a server")).collect())
}

fn web_of(ice_servers: Vec<IceServer>) -> std::sync::Arc<Web> {
    prepare();
    Web::new(WebConfig {
        media: "127.0.0.1".parse().expect("an address"),
        origins: vec!["https://room.example".to_owned()],
        ice_servers,
        room: RoomConfig::default(),
        secret: Secret::new(b"a secret of the test"),
    })
}

pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Request {
    let mut all = vec![("host".to_owned(), "127.0.0.1:8088".to_owned())];
    for (name, value) in headers {
        all.retain(|(known, _)| known != name);
        all.push(((*name).to_owned(), (*value).to_owned()));
    }
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let (method, path, query) = (method.to_owned(), path.to_owned(), query.to_owned());
    Request { method, path, query, headers: all, body: body.as_bytes().to_vec() }
}

#[test]
fn the_state_needs_a_token_and_the_policy_and_channels_a_host() {
    let web = web();
    let bearer = |role| format!("Bearer {}", web.token("blue", role, Duration::from_secs(60)));
    let (host, guest) = (bearer(Role::Host), bearer(Role::Guest));
    let status = |method, path, token: Option<&str>, body| {
        let headers: Vec<(&str, &str)> = token.map(|token| ("authorization", token)).into_iter().collect();
        web.route(&request(method, path, &headers, body)).status
    };
    assert_eq!(status("GET", "/", None, ""), 200);
    assert_eq!(status("GET", "/state", None, ""), 401);
    assert_eq!(status("GET", "/state", Some("Bearer blue.host.99999999999.00"), ""), 401);
    assert_eq!(status("GET", "/state", Some(&guest), ""), 200);
    assert_eq!(status("GET", "/metrics", Some(&guest), ""), 200);
    let plain = r#"{"policy":"plain"}"#;
    assert_eq!(status("POST", "/policy", Some(&guest), plain), 403);
    assert_eq!(status("POST", "/policy", Some(&host), plain), 204);
    assert_eq!(status("POST", "/policy", Some(&host), r#"{"policy":"best"}"#), 400);
    let channel = r#"{"member":0,"sum":20000000}"#;
    assert_eq!(status("POST", "/channel", None, channel), 401);
    assert_eq!(status("POST", "/channel", Some(&guest), channel), 403);
    assert_eq!(status("POST", "/channel", Some(&host), channel), 204);
    assert_eq!(status("POST", "/channel", Some(&host), r#"{"member":0}"#), 400);
    assert_eq!(status("POST", "/channel", Some(&host), r#"{"member":0,"sum":1000000000001}"#), 400);
    assert_eq!(status("POST", "/channel", Some(&host), r#"{"member":65536,"sum":1}"#), 400);
    assert_eq!(status("POST", "/channel", Some(&host), r#"{"member":0,"sum":-1}"#), 400);
    let at = r#"{"addresses":["192.0.2.1","2001:db8::1"],"sum":20000000}"#;
    assert_eq!(status("POST", "/channel", Some(&host), at), 204);
    for wrong in
        [r#"{"addresses":["here"],"sum":1}"#, r#"{"member":0,"addresses":[],"sum":1}"#, r#"{"sum":1}"#]
    {
        assert_eq!(status("POST", "/channel", Some(&host), wrong), 400, "{wrong}");
    }
    assert_eq!(status("POST", "/join", Some(&guest), "{}"), 400);
    assert_eq!(status("GET", "/../etc/passwd", None, ""), 404);
}

#[test]
fn a_page_with_a_token_reads_the_ice_servers() {
    let servers = ["stun:stun.example", r#"turn:turn.example:3478?transport=tcp,"u",p,w"#];
    for (web, wanted) in [
        (web(), "[]"),
        (
            web_with(&servers),
            r#"[{"urls":"stun:stun.example"},{"urls":"turn:turn.example:3478?transport=tcp","username":"\"u\"","credential":"p,w"}]"#,
        ),
    ] {
        let bearer = format!("Bearer {}", web.token("blue", Role::Guest, Duration::from_secs(60)));
        let answer = web.route(&request("GET", "/ice-servers", &[("authorization", &bearer)], ""));
        let found: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
        let wanted: serde_json::Value = serde_json::from_str(wanted).expect("JSON");
        assert_eq!((answer.status, &found["iceServers"]), (200, &wanted));
        assert_eq!(web.route(&request("GET", "/ice-servers", &[], "")).status, 401);
    }
}

#[test]
fn credentials_of_a_shared_secret_end_with_the_token() {
    let secret = TurnSecret::new("north").expect("a secret");
    let server = IceServer::read("turn:turn.example", Some(&secret)).expect("a server");
    let web = web_of(vec![server]);
    let ends = |lasts: u64| {
        let bearer = format!("Bearer {}", web.token("blue", Role::Guest, Duration::from_secs(lasts)));
        let told =
            |method: &str, path: &str| web.route(&request(method, path, &[("authorization", &bearer)], ""));
        let answer = told("GET", "/ice-servers");
        let found: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
        let login = &found["iceServers"][0];
        let (username, credential) = (login["username"].as_str(), login["credential"].as_str());
        let (username, credential) = (username.expect("a user"), credential.expect("a credential"));
        let link = told("OPTIONS", "/whip");
        let (_, link) = link.headers.iter().find(|(name, _)| *name == "link").expect("a link");
        let wanted = format!("username=\"{username}\"; credential=\"{credential}\"");
        assert!(link.contains(&wanted) && credential.len() == 28, "{link}");
        username.parse::<u64>().expect("a time")
    };
    let (soon, late) = (ends(60), ends(3600));
    let now = airbound_room::web::unix_time();
    assert!((now..=now + 60).contains(&soon) && (3539..=3541).contains(&(late - soon)), "{soon} {late}");
}

#[test]
fn pages_of_other_origins_and_foreign_host_names_are_refused() {
    let web = web();
    let token = format!("Bearer {}", web.token("blue", Role::Host, Duration::from_secs(60)));
    let status = |host: &str, origin: &str| {
        let headers = [("host", host), ("origin", origin), ("authorization", token.as_str())];
        web.route(&request("POST", "/policy", &headers, r#"{"policy":"plain"}"#)).status
    };
    assert_eq!(status("127.0.0.1:8088", "http://127.0.0.1:8088"), 204);
    assert_eq!(status("room.example", "https://room.example"), 204);
    assert_eq!(status("127.0.0.1:8088", "http://127.0.0.1:9999"), 403);
    assert_eq!(status("127.0.0.1:8088", "https://evil.example"), 403);
    assert_eq!(status("evil.example", "https://evil.example"), 403);
    assert_eq!(status("127.0.0.1.evil.example:8088", "http://127.0.0.1:8088"), 403);
}

#[test]
fn offers_that_are_none_are_refused_and_there_are_not_too_many() {
    let web = web();
    let bearer = |room, role| format!("Bearer {}", web.token(room, role, Duration::from_secs(60)));
    let sdp = r#"{"type":"offer","sdp":"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n"}"#;
    let ask = |path, token: &str| {
        let body = format!(r#"{{"{}":"x","offer":{sdp}}}"#, if path == "/join" { "name" } else { "resume" });
        web.route(&request("POST", path, &[("authorization", token)], &body)).status
    };
    let (guest, host) = (bearer("blue", Role::Guest), bearer("blue", Role::Host));
    // A minute of each kind: what one uses up leaves the others and other rooms what they have.
    for (path, token) in [("/join", &guest), ("/join", &host), ("/restart", &guest)] {
        let statuses: Vec<u16> = (0..121).map(|_| ask(path, token)).collect();
        assert!(statuses[..120].iter().all(|status| *status == 400), "{path} {statuses:?}");
        assert_eq!(statuses[120], 429, "{path}");
    }
    assert_eq!(ask("/join", &bearer("red", Role::Guest)), 400);
    let none = r#"{"name":"x","offer":{"type":"offer","sdp":"v=0\r\n"}}"#;
    assert_eq!(web.route(&request("POST", "/join", &[("authorization", &host)], none)).status, 400);
}

#[test]
fn a_request_that_trickles_is_given_up_after_ten_seconds() {
    let web = web();
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
    let mut slow = TcpStream::connect(listener.local_addr().expect("bound")).expect("the page");
    thread::spawn(move || web.serve(&listener));
    slow.set_read_timeout(Some(Duration::from_millis(200))).expect("an option");
    let (began, mut status) = (Instant::now(), [0; 12]);
    while slow.read_exact(&mut status).is_err() {
        assert!(began.elapsed() < Duration::from_secs(30), "no answer");
        // The first line comes byte by byte.
        slow.write_all(b"A").expect("the server reads");
    }
    assert!(began.elapsed() > Duration::from_secs(9));
    assert_eq!(&status, b"HTTP/1.1 408");
}

#[test]
fn a_client_that_waits_is_told_to_send_its_body() {
    let web = web();
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || web.serve(&listener));
    let ask = |version: &str| {
        let mut stream = TcpStream::connect(address).expect("the page");
        let head = format!(
            "POST /leave HTTP/{version}\r\nHost: {address}\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("asked");
        let mut told = [0; 25];
        if version == "1.1" {
            stream.read_exact(&mut told).expect("an answer");
            assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        stream.write_all(b"no").expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        assert!(text.starts_with("HTTP/1.1 204"), "{text}");
    };
    ["1.1", "1.0"].into_iter().for_each(ask);
}

#[test]
fn a_connection_too_many_is_told_so() {
    let web = web();
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || web.serve(&listener));
    let connect = || TcpStream::connect(address).expect("the page");
    let ask = |mut stream: TcpStream| {
        write!(stream, "GET /page.css HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("asked");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        text
    };
    let mut idle: Vec<TcpStream> = (0..64).map(|_| connect()).collect();
    let refused = ask(connect());
    assert!(refused.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{refused}");
    assert!(refused.ends_with("\r\n\r\ntoo many connections are open; try again"), "{refused}");
    idle.pop();
    let until = Instant::now() + Duration::from_secs(20);
    while !ask(connect()).starts_with("HTTP/1.1 200") {
        assert!(Instant::now() < until, "a place is free");
    }
}
