//! The part of HTTP/1.1 that the page needs: one request a connection, bounded in size and time.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use httparse::Status;

/// Upper limit of the bytes before the body.
const LONGEST_HEAD: usize = 16 << 10;
/// Upper limit of the fields of a head, and of those after the last chunk.
const MOST_FIELDS: usize = 64;
/// Upper limit of a body: an offer with 31 slots stays below.
pub const LONGEST_BODY: usize = 256 << 10;
/// Time in which a request must be complete.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time for which the rest of a refused request is read: a connection that is closed before loses the answer.
const LINGER: Duration = Duration::from_secs(2);

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
        Arriving::default().take(bytes)
    }

    /// Reads a request from a connection.
    ///
    /// # Errors
    /// It is no request, too long, or does not arrive in time.
    pub fn read(connection: &mut TcpStream) -> Result<Self, HttpError> {
        let until = Instant::now() + PATIENCE;
        let (mut arriving, mut part, mut told) = (Arriving::default(), [0; 4096], false);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || connection.set_read_timeout(Some(left)).is_err() {
                return Err(HttpError::Incomplete);
            }
            let count = match connection.read(&mut part) {
                Ok(0) | Err(_) => return Err(HttpError::Incomplete),
                Ok(count) => count,
            };
            if let Some(request) = arriving.take(&part[..count])? {
                return Ok(request);
            }
            if !told && arriving.is_expected() {
                told = true;
                // A connection that ended is found out by the next read.
                let _ = connection.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
            }
        }
    }

    /// Parses a head; returns its bytes and the length of the body, `None` for chunks.
    fn head(bytes: &[u8]) -> Result<Option<(Self, usize, Option<usize>)>, HttpError> {
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut head = httparse::Request::new(&mut fields);
        let end = match head.parse(bytes).map_err(refused)? {
            Status::Partial if bytes.len() > LONGEST_HEAD => return Err(HttpError::TooLong),
            Status::Partial => return Ok(None),
            Status::Complete(end) if end > LONGEST_HEAD => return Err(HttpError::TooLong),
            Status::Complete(end) => end,
        };
        let (Some(method), Some(target), Some(version)) = (head.method, head.path, head.version) else {
            return Err(HttpError::Malformed);
        };
        // httparse takes more than proxies agree upon.
        let is_plain = method.bytes().all(|byte| byte.is_ascii_uppercase()) && target.starts_with('/');
        if !is_plain || !has_whole_lines(&bytes[..end]) {
            return Err(HttpError::Malformed);
        }
        let mut headers = Vec::new();
        for field in head.headers {
            let value = std::str::from_utf8(field.value).map_err(|_| HttpError::Malformed)?;
            headers.push((field.name.to_ascii_lowercase(), value.to_owned()));
        }
        if version == 0 {
            // RFC 9110 section 10.1.1.
            headers.retain(|(name, _)| name != "expect");
        }
        let named = |name: &str| {
            headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value).collect::<Vec<_>>()
        };
        // Two lengths, or a coding beside a length, are how requests are smuggled past a proxy.
        let length = match (&named("content-length")[..], &named("transfer-encoding")[..]) {
            ([], []) => Some(0),
            ([one], []) if one.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(one.parse().map_err(|_| HttpError::TooLong)?)
            }
            ([], [one]) if version == 1 && one.eq_ignore_ascii_case("chunked") => None,
            _ => return Err(HttpError::Malformed),
        };
        if named("host").len() > 1 {
            return Err(HttpError::Malformed);
        }
        if length.is_some_and(|length| length > LONGEST_BODY) {
            return Err(HttpError::TooLong);
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (method, path, query) = (method.to_owned(), path.to_owned(), query.to_owned());
        Ok(Some((Self { method, path, query, headers, body: Vec::new() }, end, length)))
    }
}

/// A request on its way: a head and chunks that are complete are parsed once.
#[derive(Debug, Default)]
struct Arriving {
    bytes: Vec<u8>,
    /// The head, once it is complete, and the length of the body.
    head: Option<(Request, Option<usize>)>,
    /// Bytes of `bytes` that are parsed.
    at: usize,
}

impl Arriving {
    /// Whether the client waits to be told that it may send its body, as curl does before one in chunks.
    fn is_expected(&self) -> bool {
        let expects = |request: &Request| {
            request.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue"))
        };
        self.head.as_ref().is_some_and(|(request, _)| expects(request))
    }

    fn take(&mut self, part: &[u8]) -> Result<Option<Request>, HttpError> {
        self.bytes.extend_from_slice(part);
        let (request, length) = match &mut self.head {
            Some(head) => head,
            None => {
                let Some((request, end, length)) = Request::head(&self.bytes)? else { return Ok(None) };
                self.bytes.drain(..end);
                self.head.insert((request, length))
            }
        };
        let is_complete = match *length {
            Some(length) if self.bytes.len() < length => false,
            Some(length) => {
                request.body.extend_from_slice(&self.bytes[..length]);
                true
            }
            None => take_chunks(&self.bytes, &mut self.at, &mut request.body)?,
        };
        Ok(if is_complete { self.head.take().map(|(request, _)| request) } else { None })
    }
}

/// Appends the chunks that are complete (RFC 9112 section 7.1) to a body; whether the last is among them. All that is not body, sizes,
/// extensions and trailers, which have no effect, is together as long as a head at most.
fn take_chunks(bytes: &[u8], at: &mut usize, body: &mut Vec<u8>) -> Result<bool, HttpError> {
    loop {
        let rest = &bytes[*at..];
        let is_long = |bytes: usize| *at - body.len() + bytes > LONGEST_HEAD;
        let (line, size) = match httparse::parse_chunk_size(rest).map_err(|_| HttpError::Malformed)? {
            Status::Partial if is_long(rest.len()) => return Err(HttpError::TooLong),
            Status::Partial => return Ok(false),
            Status::Complete((line, size)) => (line, usize::try_from(size).unwrap_or(usize::MAX)),
        };
        // httparse takes a line without a size as 0, and a line feed in an extension.
        if !rest[0].is_ascii_hexdigit() || !has_whole_lines(&rest[..line]) {
            return Err(HttpError::Malformed);
        }
        if is_long(line) || size > LONGEST_BODY - body.len() {
            return Err(HttpError::TooLong);
        }
        if size == 0 {
            let rest = &rest[line..];
            let mut trailers = [httparse::EMPTY_HEADER; MOST_FIELDS];
            return match httparse::parse_headers(rest, &mut trailers).map_err(refused)? {
                Status::Partial if is_long(line + rest.len()) => Err(HttpError::TooLong),
                Status::Partial => Ok(false),
                Status::Complete((end, _)) if has_whole_lines(&rest[..end]) => Ok(true),
                Status::Complete(_) => Err(HttpError::Malformed),
            };
        }
        let Some(data) = rest.get(line..line + size + 2) else { return Ok(false) };
        if !data.ends_with(b"\r\n") {
            return Err(HttpError::Malformed);
        }
        body.extend_from_slice(&data[..size]);
        *at += line + size + 2;
    }
}

/// Ends a connection on which more may arrive.
pub(crate) fn close(connection: &mut TcpStream) {
    let until = Instant::now() + LINGER;
    let mut part = [0; 4096];
    if connection.shutdown(Shutdown::Write).is_err() {
        return;
    }
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let is_over = left.is_zero() || connection.set_read_timeout(Some(left)).is_err();
        if is_over || matches!(connection.read(&mut part), Ok(0) | Err(_)) {
            return;
        }
    }
}

/// Whether each line ends with both of its bytes; httparse takes the second alone.
fn has_whole_lines(bytes: &[u8]) -> bool {
    bytes.split_inclusive(|byte| *byte == b'\n').all(|line| line.ends_with(b"\r\n"))
}

fn refused(error: httparse::Error) -> HttpError {
    if error == httparse::Error::TooManyHeaders { HttpError::TooLong } else { HttpError::Malformed }
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
    /// Further headers.
    pub headers: Vec<(&'static str, String)>,
}

/// Only this server's own scripts and styles; no frames, no forms, no referrer.
const HEADERS: &str = "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; media-src 'self' blob: mediastream:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\nreferrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\npermissions-policy: camera=(self), microphone=(self)\r\ncache-control: no-store\r\nconnection: close\r\n";

impl Answer {
    /// An answer.
    #[must_use]
    pub fn new(status: u16, kind: &'static str, body: &str) -> Self {
        Self { status, kind, body: body.as_bytes().to_vec(), headers: Vec::new() }
    }

    /// The answer with one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// An answer in JSON.
    #[must_use]
    pub fn json(body: &str) -> Self {
        Self::new(200, "application/json", body)
    }

    /// A refusal in one sentence.
    #[must_use]
    pub fn refusal(status: u16, sentence: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", sentence)
    }

    /// Writes the answer, or, for HEAD, all but its body.
    ///
    /// # Errors
    /// The connection ended.
    pub fn write(&self, connection: &mut TcpStream, only_head: bool) -> std::io::Result<()> {
        let reason = match self.status {
            200 => "OK",
            201 => "Created",
            204 => "No Content",
            400 => "Bad Request",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            412 => "Precondition Failed",
            413 => "Content Too Large",
            415 => "Unsupported Media Type",
            422 => "Unprocessable Content",
            428 => "Precondition Required",
            429 => "Too Many Requests",
            _ => "Service Unavailable",
        };
        connection.set_write_timeout(Some(PATIENCE))?;
        let more: String = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        // RFC 9110 section 8.6: an answer without content has no length.
        let length = match self.status {
            204 => String::new(),
            _ => format!("content-type: {}\r\ncontent-length: {}\r\n", self.kind, self.body.len()),
        };
        let head = format!("HTTP/1.1 {} {reason}\r\n{length}{more}{HEADERS}\r\n", self.status);
        let body = if only_head { &[] } else { self.body.as_slice() };
        connection.write_all(&[head.as_bytes(), body].concat())
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
            "GET / HTTP/1.1\r\n a: 1",
            "GET / HTTP/1.1\nHost: a",
            "GET / HTTP/1.1\r\nHost: a\nb: 1",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b",
            "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1",
            "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "GET / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked",
            "GET / HTTP/1.1\r\nTransfer-Encoding: identity",
            "GET / HTTP/1.1\r\nTransfer-Encoding:",
            "GET / HTTP/1.0\r\nTransfer-Encoding: chunked",
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

    const CHUNKED: &str = "POST /join HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: Chunked\r\n\r\n";

    fn parse(body: &str) -> Result<Option<Vec<u8>>, HttpError> {
        let bytes = format!("{CHUNKED}{body}").into_bytes();
        // In one piece as byte by byte.
        let mut arriving = Arriving::default();
        let parts = bytes.iter().map(|byte| arriving.take(&[*byte]));
        let by_bytes = parts.into_iter().find(|parsed| !matches!(parsed, Ok(None))).unwrap_or(Ok(None));
        let parsed = Request::parse(&bytes);
        assert_eq!(parsed, by_bytes, "{body:?}");
        Ok(parsed?.map(|request| request.body))
    }

    #[test]
    fn chunks_are_joined_and_what_surrounds_them_is_dropped() {
        let whole = "3\r\nabc\r\n00a;x=\"y\"\r\n0123\r\n6789\r\n0\r\nTrailer: 1\r\n\r\n";
        assert_eq!(parse(whole), Ok(Some(b"abc0123\r\n6789".to_vec())));
        assert_eq!(parse("0\r\n\r\n"), Ok(Some(Vec::new())));
        for short in 0..whole.len() {
            assert_eq!(parse(&whole[..short]), Ok(None), "{short}");
        }
    }

    #[test]
    fn chunks_that_a_proxy_may_read_otherwise_are_refused() {
        for body in [
            "\r\n\r\n",
            ";a\r\n\r\n",
            " 3\r\nabc\r\n",
            "0x3\r\nabc\r\n",
            "+3\r\nabc\r\n",
            "3 3\r\nabc\r\n",
            "3\nabc\r\n",
            "3;a\nb\r\nabc\r\n",
            "3\r\nabcd\r\n",
            "3\r\nabc\n\r",
            "11111111111111113\r\nabc\r\n",
            "-1\r\n",
            "0\r\na b: 1\r\n\r\n",
            "0\r\na: 1\n\r\n",
        ] {
            assert_eq!(parse(body), Err(HttpError::Malformed), "{body:?}");
        }
    }

    #[test]
    fn chunks_are_bounded_and_so_is_what_surrounds_them() {
        let chunk = |size: usize| format!("{size:x}\r\n{}\r\n", "a".repeat(size));
        let end = "0\r\n\r\n";
        let largest = Request::parse(format!("{CHUNKED}{}{end}", chunk(LONGEST_BODY)).as_bytes());
        assert_eq!(largest.expect("allowed").expect("complete").body.len(), 256 << 10);
        // 5 bytes beside each byte of the body.
        let most = LONGEST_HEAD / 5;
        assert_eq!(
            parse(&(chunk(1).repeat(most) + end)).expect("allowed").map(|body| body.len()),
            Some(most)
        );
        for body in [
            format!("{:x}\r\n", LONGEST_BODY + 1),
            "ffffffffffffffff\r\n".to_owned(),
            chunk(LONGEST_BODY / 2).repeat(2) + "1\r\n",
            chunk(1).repeat(most + 1),
            format!("1;{}", "a".repeat(LONGEST_HEAD)),
            format!("1;{}\r\na\r\n", "a".repeat(LONGEST_HEAD / 2)).repeat(2),
            format!("0\r\na: {}", "a".repeat(LONGEST_HEAD)),
            format!("0\r\n{}\r\n", "a: 1\r\n".repeat(MOST_FIELDS + 1)),
        ] {
            let parsed = Request::parse(format!("{CHUNKED}{body}").as_bytes());
            assert_eq!(parsed, Err(HttpError::TooLong), "{}", &body[..20.min(body.len())]);
        }
    }
}
