//! The routes that clients ask: those of a host with a rule of its own.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use airbound_senders::bitrate::{BitrateConfig, BitrateController, Feedback};
use airbound_units::{BitRate, Span};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::host::VERSION;
use super::session::{Session, Source};
use crate::http::{Answer, HttpError, Request, close};

/// Connections at the same time.
const MOST_CONNECTIONS: usize = 8;
/// Upper limit of a body.
const LONGEST_BODY: usize = 4096;

/// Answers the clients of one stream.
#[derive(Debug)]
pub struct Service {
    session: Mutex<Session>,
    /// Limits that a client can only narrow.
    config: BitrateConfig,
    /// SHA-256 of the token.
    token: [u8; 32],
    enabled: Mutex<bool>,
}

/// The body of `POST /api/abr`; 0 is no limit.
#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Configure {
    enabled: bool,
    min_bitrate: i64,
    max_bitrate: i64,
    mode: String,
}

impl Default for Configure {
    fn default() -> Self {
        Self { enabled: false, min_bitrate: 0, max_bitrate: 0, mode: "balanced".to_owned() }
    }
}

/// The body of `POST /api/abr/feedback`: percent, milliseconds, frames a second, a count.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Reported {
    packet_loss: f64,
    rtt_ms: f64,
    decode_fps: f64,
    dropped_frames: f64,
}

impl Reported {
    /// The report, each value at the nearest that makes sense (as `sanitize_feedback` of Foundation's `src/abr.cpp`).
    fn feedback(&self) -> Feedback {
        Feedback {
            loss: (self.packet_loss / 100.0).clamp(0.0, 1.0),
            // A round trip of 0 is one that the client does not know.
            round_trip: (self.rtt_ms > 0.0).then(|| Span::from_secs_f64(self.rtt_ms.min(60_000.0) / 1000.0)),
            frames: self.decode_fps.clamp(0.0, 1000.0),
            dropped: self.dropped_frames.clamp(0.0, 10_000.0) as u32,
        }
    }
}

impl Service {
    /// Answers for a stream, to clients with the token.
    #[must_use]
    pub fn new(session: Session, config: BitrateConfig, token: &str) -> Arc<Self> {
        let token = Sha256::digest(token).into();
        Arc::new(Self { session: Mutex::new(session), config, token, enabled: Mutex::new(true) })
    }

    /// Serves connections without end.
    pub fn serve(self: &Arc<Self>, listener: &TcpListener) -> ! {
        let seats = Arc::new(());
        loop {
            let Ok((mut connection, _)) = listener.accept() else {
                // Mostly a shortage of descriptors.
                thread::sleep(Duration::from_millis(100));
                continue;
            };
            if Arc::strong_count(&seats) > MOST_CONNECTIONS {
                continue;
            }
            let (seat, service) = (seats.clone(), self.clone());
            // A thread that does not start, or panics, gives its seat back.
            let _ = thread::Builder::new().name("client".to_owned()).spawn(move || {
                let _seat = seat;
                // A connection that ended needs no answer.
                let _ = service.answer(&mut connection);
            });
        }
    }

    fn answer(&self, connection: &mut TcpStream) -> io::Result<()> {
        let answer = match Request::read(connection) {
            Ok(request) => self.route(&request),
            Err(HttpError::TooLong) => failure(413, "the request is longer than allowed"),
            Err(HttpError::Incomplete) => failure(408, "the request did not arrive completely"),
            Err(_) => failure(400, "the request is not HTTP/1.0 or HTTP/1.1"),
        };
        answer.write(connection, false)?;
        close(connection);
        Ok(())
    }

    /// Answers a request.
    pub fn route(&self, request: &Request) -> Answer {
        // A page from elsewhere whose name leads here (DNS rebinding) names its own host, and any page an origin.
        let is_here = request.header("host").is_some_and(crate::web::is_loopback_name);
        if !is_here || request.header("origin").is_some() {
            return failure(403, "this address answers to programs of this machine");
        }
        let bearer = request.header("authorization").and_then(|value| value.split_once(' '));
        let token =
            bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token);
        // Of digests, the time that a comparison takes tells nothing.
        if token.is_none_or(|token| Sha256::digest(token)[..] != self.token) {
            return failure(401, "a token is missing or is not that of this program")
                .with("www-authenticate", "Bearer");
        }
        if request.body.len() > LONGEST_BODY {
            return failure(413, "the body is longer than allowed");
        }
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/api/abr/capabilities") => {
                json_of(&json!({"supported": true, "version": VERSION, "features": ["airbound"]}))
            }
            ("POST", "/api/abr") => self.configure(request),
            ("POST", "/api/abr/feedback") => self.feedback(request),
            ("GET", "/bitrate") => self.set(request),
            (_, "/api/abr/capabilities" | "/api/abr" | "/api/abr/feedback" | "/bitrate") => {
                failure(405, "this method is not allowed here")
            }
            _ => failure(404, "there is no such route"),
        }
    }

    fn session(&self) -> std::sync::MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn configure(&self, request: &Request) -> Answer {
        let Ok(asked) = serde_json::from_slice::<Configure>(&request.body) else {
            return failure(400, "Invalid JSON body");
        };
        let mut enabled = self.enabled.lock().unwrap_or_else(PoisonError::into_inner);
        if !asked.enabled {
            *enabled = false;
            return json_of(&json!({"success": true, "enabled": false}));
        }
        let queue = match asked.mode.as_str() {
            "quality" => self.config.queue.mul_f64(2.0),
            "balanced" => self.config.queue,
            "lowLatency" => self.config.queue.mul_f64(0.5),
            _ => return failure(400, "Invalid mode: must be 'balanced', 'quality', or 'lowLatency'"),
        };
        let limit = |asked: i64, usual: BitRate| match u64::try_from(asked) {
            Ok(0) => Some(usual),
            Ok(kbps) if kbps <= 800_000 => {
                Some(BitRate::from_kbps(kbps).clamp(self.config.least, self.config.most))
            }
            _ => None,
        };
        let limits =
            limit(asked.min_bitrate, self.config.least).zip(limit(asked.max_bitrate, self.config.most));
        let Some((least, most)) = limits.filter(|(least, most)| least <= most) else {
            return failure(
                400,
                "minBitrate and maxBitrate must be 0 to 800000, and minBitrate the smaller one",
            );
        };
        let mut session = self.session();
        let queue = queue.clamp(Span::from_millis(2), Span::from_millis(500));
        let start = session.rate().clamp(least, most);
        let controller = match BitrateController::new(BitrateConfig { start, least, most, queue }) {
            Ok(controller) => controller,
            Err(error) => return failure(400, &error.to_string()),
        };
        if start != session.rate()
            && let Err(error) = session.set_for_client(start, "the client's limits")
        {
            session.trouble(Source::Host, &error.to_string());
            return failure(503, &error.to_string());
        }
        session.replace(controller);
        *enabled = true;
        json_of(&json!({
            "success": true, "enabled": true, "mode": asked.mode, "minBitrate": asked.min_bitrate,
            "maxBitrate": asked.max_bitrate, "initialBitrate": start.as_bps() / 1000,
        }))
    }

    fn feedback(&self, request: &Request) -> Answer {
        if !*self.enabled.lock().unwrap_or_else(PoisonError::into_inner) {
            return failure(400, "ABR not enabled for this client");
        }
        let Ok(reported) = serde_json::from_slice::<Reported>(&request.body) else {
            return failure(400, "Invalid JSON body");
        };
        match self.session().on_feedback(&reported.feedback()) {
            Some((rate, why)) => json_of(&json!({"newBitrate": rate.as_bps() / 1000, "reason": why})),
            None => json_of(&json!({"reason": ""})),
        }
    }

    /// `/bitrate`, answered as hosts do.
    fn set(&self, request: &Request) -> Answer {
        let kbps = request.asked("bitrate").and_then(|text| text.parse::<u64>().ok());
        let xml = |code: u16, message: &str, kbps: u64| {
            Answer::new(
                200,
                "application/xml",
                &format!(
                    "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<root status_code=\"{code}\" status_message=\"{message}\"><bitrate>{kbps}</bitrate></root>\n"
                ),
            )
        };
        let Some(kbps) = kbps.filter(|kbps| (1..=800_000).contains(kbps)) else {
            return xml(400, "Invalid bitrate value. Must be between 1 and 800000 Kbps", 0);
        };
        let rate = BitRate::from_kbps(kbps).clamp(self.config.least, self.config.most);
        match self.session().set_for_client(rate, "the client asks for it") {
            Ok(taken) => xml(200, "", taken.as_bps() / 1000),
            Err(error) => xml(
                503,
                if error.is_final() { "the host is of another kind" } else { "the host did not take it" },
                0,
            ),
        }
    }
}

fn json_of(value: &Value) -> Answer {
    Answer::json(&value.to_string())
}

fn failure(status: u16, sentence: &str) -> Answer {
    let body = json!({"success": false, "error": sentence}).to_string();
    Answer { status, ..Answer::json(&body) }
}
