//! One request and its answer, bounded in bytes and time.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::{Duration, Instant};

use openssl::pkey::PKey;
use openssl::ssl::{HandshakeError, SslConnector, SslMethod, SslVerifyMode};
use openssl::x509::X509;

/// Time in which an answer must be complete.
const PATIENCE: Duration = Duration::from_secs(2);
/// Upper limit of an answer. A relay with all its clients stays below.
const LONGEST: usize = 1 << 20;
/// Upper limit of the fields of a head.
const MOST_FIELDS: usize = 64;

/// The address of a server, as `https://192.0.2.7:47984`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    is_encrypted: bool,
    /// Name or address, and port.
    host: String,
}

/// Reason why a text is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text} is not allowed; an address is https://HOST:PORT, or http://HOST:PORT with a loopback address"
)]
pub struct AddressError {
    text: String,
}

impl std::str::FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong =
            || AddressError { text: text.chars().take(80).collect::<String>().escape_debug().to_string() };
        let (is_encrypted, host) = match text.split_once("://") {
            Some(("https", host)) => (true, host),
            Some(("http", host)) => (false, host),
            _ => return Err(wrong()),
        };
        let host = host.trim_end_matches('/');
        let (name, port) = host.rsplit_once(':').ok_or_else(wrong)?;
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-.:[]_".contains(letter);
        if name.is_empty() || !name.chars().all(is_name) || port.parse::<u16>().is_err() {
            return Err(wrong());
        }
        // What anybody on the way can read must not leave the machine.
        let is_loopback =
            name == "localhost" || host.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback());
        if !is_encrypted && !is_loopback {
            return Err(wrong());
        }
        Ok(Self { is_encrypted, host: host.to_owned() })
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}", if self.is_encrypted { "https" } else { "http" }, self.host)
    }
}

impl Address {
    /// Whether requests are encrypted, and so need an [`Identity`].
    #[must_use]
    pub const fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }
}

/// Certificates of a paired client and of its host.
#[derive(Clone)]
pub struct Identity {
    connector: SslConnector,
    /// The host's certificate, DER.
    host: Vec<u8>,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity")
    }
}

impl Identity {
    /// Reads the client's certificate and key, and the certificate of the host that it has paired with: PEM.
    ///
    /// # Errors
    /// A sentence about the file that cannot be used.
    pub fn read(certificate: &Path, key: &Path, host: &Path) -> Result<Self, String> {
        let unusable = |path: &Path, what: &str| format!("{} has no {what} in PEM", path.display());
        let read = |path: &Path| {
            std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        read(certificate)?;
        let mut builder =
            SslConnector::builder(SslMethod::tls_client()).map_err(|error| format!("no TLS: {error}"))?;
        builder.set_certificate_chain_file(certificate).map_err(|_| unusable(certificate, "certificate"))?;
        let pem = read(key)?;
        let pair = PKey::private_key_from_pem(&pem).map_err(|_| unusable(key, "key"))?;
        builder
            .set_private_key(&pair)
            .map_err(|_| format!("{} is not the key of {}", key.display(), certificate.display()))?;
        // Hosts sign their own certificates: the one that pairing has shown is compared below.
        builder.set_verify(SslVerifyMode::NONE);
        let pem = read(host)?;
        let der = X509::from_pem(&pem).and_then(|found| found.to_der());
        let der = der.map_err(|_| unusable(host, "certificate"))?;
        Ok(Self { connector: builder.build(), host: der })
    }
}

/// Reason why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// Nothing answers at the address.
    #[error("it cannot be reached: {0}")]
    Away(io::Error),
    /// The answer did not come in time.
    #[error("it did not answer within {} s", PATIENCE.as_secs())]
    Slow,
    /// TLS failed.
    #[error("TLS failed: {0}")]
    Tls(String),
    /// The certificate is not the one that pairing has shown.
    #[error("its certificate is not the one of --host-certificate")]
    Stranger,
    /// The answer is no HTTP, or too long.
    #[error("its answer is not HTTP of at most 1 MiB")]
    Nonsense,
}

fn failed(error: io::Error) -> WireError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => WireError::Slow,
        _ => WireError::Away(error),
    }
}

/// A connection whose reads and writes end at a deadline.
#[derive(Debug)]
struct Bounded {
    stream: TcpStream,
    until: Instant,
}

impl Bounded {
    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Bounded {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(bytes)
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Sends a request, GET without a body, and returns status and body.
pub(super) fn ask(
    address: &Address,
    identity: Option<&Identity>,
    target: &str,
    body: Option<&str>,
) -> Result<(u16, Vec<u8>), WireError> {
    let until = Instant::now() + PATIENCE;
    let at = address.host.to_socket_addrs().map_err(WireError::Away)?.next();
    let at = at.ok_or_else(|| WireError::Away(io::ErrorKind::NotFound.into()))?;
    let stream = TcpStream::connect_timeout(&at, PATIENCE).map_err(failed)?;
    let mut bounded = Bounded { stream, until };
    let method = if body.is_some() { "POST" } else { "GET" };
    let body = body.unwrap_or_default();
    let request = format!(
        "{method} {target} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        address.host,
        body.len()
    );
    match identity.filter(|_| address.is_encrypted) {
        None if address.is_encrypted => Err(WireError::Tls("there is no certificate".to_owned())),
        None => exchange(&mut bounded, &request),
        Some(identity) => {
            let tls = |error: &dyn std::fmt::Display| WireError::Tls(error.to_string());
            let configuration = identity.connector.configure().map_err(|error| tls(&error))?;
            let ready = configuration.use_server_name_indication(false).verify_hostname(false);
            let mut stream = ready.connect("", bounded).map_err(|error| match &error {
                HandshakeError::WouldBlock(_) => WireError::Slow,
                HandshakeError::Failure(half) => match half.error().io_error() {
                    Some(error) if error.kind() == io::ErrorKind::TimedOut => WireError::Slow,
                    _ => tls(half.error()),
                },
                HandshakeError::SetupFailure(error) => tls(error),
            })?;
            let shown = stream.ssl().peer_certificate().and_then(|certificate| certificate.to_der().ok());
            if shown.as_ref() != Some(&identity.host) {
                return Err(WireError::Stranger);
            }
            exchange(&mut stream, &request)
        }
    }
}

fn exchange(stream: &mut (impl Read + Write), request: &str) -> Result<(u16, Vec<u8>), WireError> {
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    loop {
        if let Some(answer) = parse(&bytes, false)? {
            return Ok(answer);
        }
        let count = match stream.read(&mut part) {
            Ok(count) => count,
            // Some hosts end TLS without a word.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            Err(error) => return Err(failed(error)),
        };
        if count == 0 {
            return parse(&bytes, true)?.ok_or(WireError::Nonsense);
        }
        bytes.extend_from_slice(&part[..count]);
        if bytes.len() > LONGEST {
            return Err(WireError::Nonsense);
        }
    }
}

/// Status and body of what has arrived; `None` if more is needed. An answer without a length lasts until its connection ends.
fn parse(bytes: &[u8], has_ended: bool) -> Result<Option<(u16, Vec<u8>)>, WireError> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut head = httparse::Response::new(&mut fields);
    let end = match head.parse(bytes).map_err(|_| WireError::Nonsense)? {
        httparse::Status::Partial => return Ok(None),
        httparse::Status::Complete(end) => end,
    };
    let status = head.code.ok_or(WireError::Nonsense)?;
    let named = |name: &str| head.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
    if named("transfer-encoding").is_some() {
        return Err(WireError::Nonsense);
    }
    let body = &bytes[end..];
    match named("content-length") {
        None => Ok(has_ended.then(|| (status, body.to_vec()))),
        Some(field) => {
            let length = std::str::from_utf8(field.value).ok().and_then(|text| text.parse::<usize>().ok());
            Ok(body.get(..length.ok_or(WireError::Nonsense)?).map(|body| (status, body.to_vec())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port_and_leaves_the_machine_encrypted_only() {
        for good in
            ["https://192.0.2.7:47984", "https://pc.lan:47984/", "http://127.0.0.1:80", "http://[::1]:80"]
        {
            assert!(good.parse::<Address>().is_ok(), "{good}");
        }
        for wrong in [
            "192.0.2.7:47984",
            "https://pc.lan",
            "http://192.0.2.7:80",
            "https://:1",
            "https://a b:1",
            "ftp://a:1",
        ] {
            let error = wrong.parse::<Address>().expect_err(wrong).to_string();
            assert!(error.contains("https://HOST:PORT"), "{error}");
        }
    }

    #[test]
    fn an_answer_ends_by_its_length_or_with_its_connection() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc";
        assert!(matches!(parse(&whole[..whole.len() - 2], false), Ok(None)));
        assert!(matches!(parse(whole, false), Ok(Some((200, body))) if body == b"ab"));
        let open = b"HTTP/1.1 404 Not Found\r\n\r\nno";
        assert!(matches!(parse(open, false), Ok(None)));
        assert!(matches!(parse(open, true), Ok(Some((404, body))) if body == b"no"));
        for wrong in [
            &b"SSH-2.0-x\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        ] {
            assert!(matches!(parse(wrong, true), Err(WireError::Nonsense)));
        }
    }
}
