//! The part of HTTP/1.1 that the page needs: one request a connection, bounded in size and time.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Upper limit of the bytes before the body.
const LONGEST_HEAD: usize = 16 << 10;
/// Upper limit of a body: an offer with 31 slots stays below.
pub const LONGEST_BODY: usize = 256 << 10;
/// Time in which a request must be complete.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query, without its mark.
    pub query: String,
    /// The names, in small letters, and values of the headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// The reason why there is no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The text is no request.
    #[error("the request is not HTTP/1.0 or HTTP/1.1")]
    Malformed,
    /// The head or the body is too long.
    #[error("the request is longer than allowed")]
    TooLong,
    /// The connection ended or stalled.
    #[error("the request did not arrive completely")]
    Incomplete,
}

impl Request {
    /// The value of a header, named in small letters.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a key of the query, as it stands.
    #[must_use]
    pub fn asked(&self, key: &str) -> Option<&str> {
        self.query
            .split('&')
            .find_map(|pair| pair.split_once('=').filter(|(name, _)| *name == key))
            .map(|(_, value)| value)
    }

    /// Parses what has arrived; `None` if more is needed.
    ///
    /// # Errors
    /// It is no request, or too long.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, HttpError> {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            return if bytes.len() > LONGEST_HEAD { Err(HttpError::TooLong) } else { Ok(None) };
        };
        if end > LONGEST_HEAD {
            return Err(HttpError::TooLong);
        }
        let head = std::str::from_utf8(&bytes[..end]).map_err(|_| HttpError::Malformed)?;
        let mut lines = head.split("\r\n");
        let first: Vec<&str> = lines.next().unwrap_or("").split(' ').collect();
        // Some proxies speak HTTP/1.0 to servers, nginx 1.22 by default.
        let [method, target, "HTTP/1.1" | "HTTP/1.0"] = first[..] else { return Err(HttpError::Malformed) };
        if method.is_empty()
            || !method.bytes().all(|byte| byte.is_ascii_uppercase())
            || !target.starts_with('/')
        {
            return Err(HttpError::Malformed);
        }
        let mut headers = Vec::new();
        for line in lines {
            let (name, value) = line.split_once(':').ok_or(HttpError::Malformed)?;
            if name.is_empty() || !name.bytes().all(is_token) {
                return Err(HttpError::Malformed);
            }
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let named = |name: &str| {
            headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value).collect::<Vec<_>>()
        };
        // Two lengths, or a coding beside a length, are how requests are smuggled past a proxy.
        if !named("transfer-encoding").is_empty() {
            return Err(HttpError::Malformed);
        }
        let length = match named("content-length")[..] {
            [] => 0,
            [one] if one.bytes().all(|byte| byte.is_ascii_digit()) => {
                one.parse().map_err(|_| HttpError::TooLong)?
            }
            _ => return Err(HttpError::Malformed),
        };
        if length > LONGEST_BODY {
            return Err(HttpError::TooLong);
        }
        let Some(body) = bytes.get(end + 4..end + 4 + length) else { return Ok(None) };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Ok(Some(Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers,
            body: body.to_vec(),
        }))
    }

    /// Reads a request from a connection.
    ///
    /// # Errors
    /// It is no request, too long, or does not arrive in time.
    pub fn read(connection: &mut TcpStream) -> Result<Self, HttpError> {
        let until = Instant::now() + PATIENCE;
        let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || connection.set_read_timeout(Some(left)).is_err() {
                return Err(HttpError::Incomplete);
            }
            match connection.read(&mut part) {
                Ok(0) | Err(_) => return Err(HttpError::Incomplete),
                Ok(count) => bytes.extend_from_slice(&part[..count]),
            }
            if let Some(request) = Self::parse(&bytes)? {
                return Ok(request);
            }
        }
    }
}

/// Whether a byte may stand in a name (RFC 9110, section 5.6.2).
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The media type.
    pub kind: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

/// Only this server's own scripts and styles; no frames, no forms, no referrer.
const HEADERS: &str = "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; media-src 'self' blob: mediastream:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\nreferrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\npermissions-policy: camera=(self), microphone=(self)\r\ncache-control: no-store\r\nconnection: close\r\n";

impl Answer {
    /// An answer in JSON.
    #[must_use]
    pub fn json(body: String) -> Self {
        Self { status: 200, kind: "application/json", body: body.into_bytes() }
    }

    /// A refusal in one sentence.
    #[must_use]
    pub fn refusal(status: u16, sentence: &str) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: sentence.as_bytes().to_vec() }
    }

    /// Writes the answer, or, for HEAD, all but its body.
    ///
    /// # Errors
    /// The connection ended.
    pub fn write(&self, connection: &mut TcpStream, only_head: bool) -> std::io::Result<()> {
        let reason = match self.status {
            200 => "OK",
            204 => "No Content",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            408 => "Request Timeout",
            413 => "Content Too Large",
            429 => "Too Many Requests",
            _ => "Service Unavailable",
        };
        connection.set_write_timeout(Some(PATIENCE))?;
        let head = format!(
            "HTTP/1.1 {} {reason}\r\ncontent-type: {}\r\ncontent-length: {}\r\n{HEADERS}\r\n",
            self.status,
            self.kind,
            self.body.len()
        );
        connection.write_all(head.as_bytes())?;
        if only_head { Ok(()) } else { connection.write_all(&self.body) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_once_it_is_complete() {
        let text = b"POST /join?room=a&x=1 HTTP/1.1\r\nHost: here\r\nContent-Length: 3\r\n\r\nabcd";
        for short in 0..text.len() - 1 {
            assert_eq!(Request::parse(&text[..short]), Ok(None), "{short}");
        }
        let request = Request::parse(text).expect("valid").expect("complete");
        assert_eq!(
            (request.path.as_str(), request.asked("room"), request.body.as_slice()),
            ("/join", Some("a"), b"abc".as_slice())
        );
        assert_eq!(request.header("host"), Some("here"));
    }

    #[test]
    fn what_proxies_send_is_read() {
        for head in ["GET / HTTP/1.0", "HEAD / HTTP/1.1", "GET / HTTP/1.1\r\nx_real.ip~: 192.0.2.1"] {
            let parsed = Request::parse(format!("{head}\r\n\r\n").as_bytes());
            assert!(matches!(parsed, Ok(Some(_))), "{head}");
        }
    }

    #[test]
    fn requests_that_a_proxy_may_read_otherwise_are_refused() {
        for head in [
            "GET / HTTP/0.9",
            "GET / HTTP/2.0",
            "get / HTTP/1.1",
            "GET http://x/ HTTP/1.1",
            "GET  / HTTP/1.1",
            "GET / HTTP/1.1\r\nA b: 1",
            "GET / HTTP/1.1\r\n: 1",
            "GET / HTTP/1.1\r\nTransfer-Encoding: chunked",
            "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2",
            "GET / HTTP/1.1\r\nContent-Length: +1",
        ] {
            assert_eq!(
                Request::parse(format!("{head}\r\n\r\n").as_bytes()),
                Err(HttpError::Malformed),
                "{head}"
            );
        }
        let long = format!("GET / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", LONGEST_BODY + 1);
        assert_eq!(Request::parse(long.as_bytes()), Err(HttpError::TooLong));
        assert_eq!(Request::parse(&vec![b'a'; LONGEST_HEAD + 1]), Err(HttpError::TooLong));
    }
}
