//! The routes of hosts, and those that are answered here.

use std::sync::{Arc, Mutex};

use airbound_room::bitrate::{Host, HostError, Identity, Journal, Service, Session};
use airbound_room::http::Request;
use airbound_senders::bitrate::{BitrateConfig, BitrateController, Feedback};
use airbound_units::{BitRate, Span};

use super::stub::{Kind, Stub, certificate};

const TOKEN: &str = "0123456789abcdef";

fn plain(stub: &Stub) -> Host {
    Host::new(format!("http://{}", stub.address).parse().expect("loopback"), None, "deck & co".to_owned())
}

/// A journal that can be read.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("no panic").clone()).expect("UTF-8")
    }
}

fn session(host: Option<Host>, json: bool) -> (Session, Lines) {
    let lines = Lines::default();
    let controller = BitrateController::new(BitrateConfig::default()).expect("valid");
    (Session::new(controller, host, Journal::new(Box::new(lines.clone()), json)), lines)
}

fn many_lost() -> Feedback {
    Feedback { loss: 0.4, round_trip: Some(Span::from_millis(9)), frames: 36.0, dropped: 24 }
}

#[test]
fn both_hosts_are_set_and_what_they_take_counts() {
    let stub = Stub::new(Kind::Foundation, None);
    let capabilities = plain(&stub).capabilities().expect("an answer");
    assert!(capabilities.supported && capabilities.features.len() == 3);
    plain(&stub).rest().expect("success");
    assert_eq!(plain(&stub).set(BitRate::from_kbps(23_456)).expect("taken"), BitRate::from_kbps(23_456));
    assert_eq!(
        stub.asked(),
        [
            "GET /api/abr/capabilities",
            "POST /api/abr {\"enabled\":false}",
            "GET /bitrate?bitrate=23456&clientname=deck%20%26%20co"
        ]
    );
    stub.becomes(Kind::Vibepollo(20_000));
    assert!(!plain(&stub).capabilities().expect("an answer").supported);
    assert_eq!(plain(&stub).set(BitRate::from_kbps(23_456)).expect("taken"), BitRate::from_mbps(20));
}

#[test]
fn what_no_such_host_says_is_one_sentence() {
    let stub = Stub::new(Kind::Version2, None);
    let host = plain(&stub);
    let says = |error: HostError, words: &str, is_final: bool| {
        let text = error.to_string();
        assert!(text.contains(words) && text.lines().count() == 1, "{text}");
        assert_eq!(error.is_final(), is_final, "{text}");
    };
    says(
        host.capabilities().expect_err("version 2"),
        "has version 2 of the interface; this program knows version 1",
        true,
    );
    stub.becomes(Kind::Sunshine);
    says(host.capabilities().expect_err("none"), "answers /api/abr/capabilities with status 404", true);
    for (kind, words) in [
        (Kind::Idle, "refuses: No active streaming session found for client: deck (404)"),
        (Kind::Liar, "answers /bitrate with \"<?xml"),
        (Kind::Torn, "answers /bitrate with \"<root"),
    ] {
        stub.becomes(kind);
        says(host.set(BitRate::from_mbps(5)).expect_err(words), words, false);
    }
    stub.becomes(Kind::Idle);
    says(host.rest().expect_err("no stream"), "refuses: No active streaming session for this client", false);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let address = format!("http://{}", closed.expect("loopback")).parse().expect("loopback");
    says(
        Host::new(address, None, String::new()).capabilities().expect_err("away"),
        "it cannot be reached",
        false,
    );
}

#[test]
fn a_paired_client_is_let_in_and_another_host_is_not_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let (host, host_key) = certificate(folder.path(), "host");
    let (client, client_key) = certificate(folder.path(), "client");
    let stub = Stub::new(Kind::Foundation, Some((&host, &host_key)));
    let at = |pinned| {
        let identity = Identity::read(&client, &client_key, pinned).expect("files");
        let address = format!("https://{}", stub.address).parse().expect("an address");
        Host::new(address, Some(identity), "deck".to_owned())
    };
    assert_eq!(at(&host).set(BitRate::from_mbps(9)).expect("taken"), BitRate::from_mbps(9));
    let stranger = at(&client).set(BitRate::from_mbps(9)).expect_err("another certificate").to_string();
    assert!(stranger.contains("its certificate is not the one of --host-certificate"), "{stranger}");
    assert_eq!(stub.asked().len(), 1);
    let refused = Identity::read(&client, &host_key, &host).expect_err("another key");
    assert!(refused.contains("is not the key of"), "{refused}");
}

#[test]
fn the_last_good_rate_stays_while_a_host_is_away_slow_or_lies() {
    let stub = Stub::new(Kind::Foundation, None);
    let (mut session, lines) = session(Some(plain(&stub)), false);
    session.begin().expect("a host");
    for kind in [Kind::Liar, Kind::Liar, Kind::Slow, Kind::Idle] {
        stub.becomes(kind);
        assert_eq!(session.on_feedback(&many_lost()), None, "{kind:?}");
        assert_eq!(session.rate(), BitRate::from_mbps(20));
    }
    stub.becomes(Kind::Foundation);
    let (rate, why) = session.on_feedback(&many_lost()).expect("a change");
    assert!(rate < BitRate::from_mbps(16) && why == "40.0 % of the frames are lost", "{rate} {why}");
    assert_eq!(stub.last_rate(), Some(rate.as_bps() / 1000));
    let text = lines.text();
    let said: Vec<&str> = text.lines().collect();
    assert_eq!(said.len(), 6, "{text}");
    assert!(said[2].contains("did not answer within 2 s; the rate stays 20 Mbit/s"), "{text}");
    assert_eq!(said[4], "the host answers again");
    assert_eq!(said[5], format!("20 Mbit/s to {rate}: {why}"));
}

fn request(text: &str) -> Request {
    Request::parse(text.as_bytes()).expect("HTTP").expect("whole")
}

fn ask(service: &Service, line: &str, body: &str) -> (u16, String) {
    let length = body.len();
    let text = format!(
        "{line} HTTP/1.1\r\nhost: 127.0.0.1:9481\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let answer = service.route(&request(&text));
    (answer.status, String::from_utf8(answer.body).expect("UTF-8"))
}

#[test]
fn a_client_is_told_what_a_host_would_tell_it() {
    let (session, lines) = session(None, true);
    let service = Service::new(session, BitrateConfig::default(), TOKEN);
    assert_eq!(
        ask(&service, "GET /api/abr/capabilities", ""),
        (200, r#"{"features":["airbound"],"supported":true,"version":1}"#.to_owned())
    );
    let good = r#"{"packetLoss":0,"rttMs":8.5,"decodeFps":60,"droppedFrames":0,"currentBitrate":20000}"#;
    assert_eq!(ask(&service, "POST /api/abr/feedback", good), (200, r#"{"reason":""}"#.to_owned()));
    let bad = r#"{"packetLoss":30.0,"rttMs":250,"decodeFps":41.2,"droppedFrames":18}"#;
    let (status, text) = ask(&service, "POST /api/abr/feedback", bad);
    assert!(
        status == 200 && text.contains("\"newBitrate\":1") && text.contains("packets wait 241 ms"),
        "{text}"
    );
    let event: serde_json::Value = serde_json::from_str(lines.text().trim()).expect("a line of JSON");
    assert_eq!((event["event"].as_str(), event["reason"].as_str()), (Some("change"), Some("queue")));
    assert_eq!(event["from_kbps"], 20_000);
    // Limits: as the client wants them, within those of this program.
    let (_, text) =
        ask(&service, "POST /api/abr", r#"{"enabled":true,"maxBitrate":5000,"mode":"lowLatency"}"#);
    assert!(text.contains("\"initialBitrate\":5000"), "{text}");
    let (_, text) = ask(&service, "GET /bitrate?bitrate=900&clientname=x", "");
    assert!(text.contains("status_code=\"200\"") && text.contains("<bitrate>2000</bitrate>"), "{text}");
    // The rate that it has is no change.
    let said = lines.text();
    ask(&service, "GET /bitrate?bitrate=2000&clientname=x", "");
    assert_eq!(lines.text(), said);
    ask(&service, "POST /api/abr", r#"{"enabled":false}"#);
    let (status, text) = ask(&service, "POST /api/abr/feedback", good);
    assert!(status == 400 && text.contains("ABR not enabled"), "{text}");
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let (session, lines) = session(None, false);
    let service = Service::new(session, BitrateConfig::default(), TOKEN);
    for (line, body, status, words) in [
        ("POST /api/abr/feedback", "{", 400, "Invalid JSON body"),
        ("POST /api/abr/feedback", r#"{"rttMs":"8"}"#, 400, "Invalid JSON body"),
        ("POST /api/abr", r#"{"enabled":true,"mode":"fast"}"#, 400, "Invalid mode"),
        ("POST /api/abr", r#"{"enabled":true,"minBitrate":-1}"#, 400, "0 to 800000"),
        ("POST /api/abr", r#"{"enabled":true,"minBitrate":9000,"maxBitrate":8000}"#, 400, "the smaller one"),
        ("GET /api/abr/feedback", "", 405, "not allowed"),
        ("GET /sessions", "", 404, "no such route"),
        ("GET /bitrate?bitrate=0", "", 200, "status_code=\"400\""),
    ] {
        let (found, text) = ask(&service, line, body);
        assert!(found == status && text.contains(words), "{line} {body}: {found} {text}");
    }
    let with = |headers: &str| {
        service.route(&request(&format!("GET /bitrate?bitrate=9000 HTTP/1.1\r\n{headers}\r\n"))).status
    };
    assert_eq!(with("host: 127.0.0.1:9481\r\n"), 401);
    assert_eq!(with("host: 127.0.0.1:9481\r\nauthorization: Bearer x\r\n"), 401);
    assert_eq!(with(&format!("host: evil.example\r\nauthorization: Bearer {TOKEN}\r\n")), 403);
    let origin = format!("host: localhost\r\norigin: http://localhost\r\nauthorization: Bearer {TOKEN}\r\n");
    assert_eq!(with(&origin), 403);
    assert_eq!(lines.text(), "");
}
