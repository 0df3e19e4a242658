//! STUN and TURN servers that clients of a room may use to reach it: the room itself asks none.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;
use serde::Serialize;

/// Upper limit of the bytes of a user name, that of STUN (RFC 8489, section 14.3), and of a credential.
const LONGEST: usize = 508;
/// Upper limit of the bytes of a host name.
const LONGEST_HOST: usize = 253;

/// A STUN or TURN server, in JSON as the `RTCIceServer` of a browser. `Debug` leaves out the credential.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct IceServer {
    #[serde(rename = "urls")]
    url: String,
    #[serde(flatten)]
    login: Option<Login>,
    /// Makes a login for each client.
    #[serde(skip)]
    secret: Option<TurnSecret>,
}

/// A secret that a TURN server shares, such as coturn's `static-auth-secret` (draft-uberti-behave-turn-rest-00): whoever has it makes credentials that
/// end by themselves. `Debug` leaves it out.
#[derive(Clone, PartialEq, Eq)]
pub struct TurnSecret(String);

impl fmt::Debug for TurnSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TurnSecret")
    }
}

impl TurnSecret {
    /// Takes a secret of 1 to 508 printable ASCII characters.
    ///
    /// # Errors
    /// It has others, too many, or none.
    pub fn new(secret: &str) -> Result<Self, IceServerError> {
        if is_printable(secret) { Ok(Self(secret.to_owned())) } else { Err(IceServerError::Characters) }
    }

    /// The login that ends at a time in seconds since 1970.
    fn login(&self, expires: u64) -> Result<Login, ErrorStack> {
        let username = expires.to_string();
        let key = PKey::hmac(self.0.as_bytes())?;
        let signed = Signer::new(MessageDigest::sha1(), &key)?.sign_oneshot_to_vec(username.as_bytes())?;
        Ok(Login { username, credential: openssl::base64::encode_block(&signed) })
    }
}

/// User name and long-term credential of a TURN server.
#[derive(Clone, PartialEq, Eq, Serialize)]
struct Login {
    username: String,
    credential: String,
}

/// The reason why a text is no server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IceServerError {
    /// Neither RFC 7064 nor RFC 7065 has this address.
    #[error(
        "allowed are stun:HOST[:PORT], stuns:HOST[:PORT], turn:HOST[:PORT][?transport=udp|tcp] and turns:HOST[:PORT][?transport=udp|tcp]"
    )]
    Url,
    /// A TURN server without a user name or a credential.
    #[error(
        "a TURN server needs a user name and a credential: URL,USERNAME,CREDENTIAL, or --turn-secret-file"
    )]
    NoLogin,
    /// A STUN server with them.
    #[error("a STUN server has no user name and no credential; allowed is the URL alone")]
    Login,
    /// A user name, a credential or a secret that no header can carry.
    #[error("a user name, a credential and a secret have 1 to 508 printable ASCII characters each")]
    Characters,
}

impl FromStr for IceServer {
    type Err = IceServerError;

    /// Reads `URL[,USERNAME,CREDENTIAL]`; a credential may have commas.
    fn from_str(text: &str) -> Result<Self, IceServerError> {
        Self::read(text, None)
    }
}

impl IceServer {
    /// Reads `URL[,USERNAME,CREDENTIAL]`; clients of a TURN server without these get a login that `secret` makes.
    ///
    /// # Errors
    /// It is no server, or has too little or too much with it.
    pub fn read(text: &str, secret: Option<&TurnSecret>) -> Result<Self, IceServerError> {
        let mut parts = text.splitn(3, ',');
        let url = parts.next().unwrap_or_default();
        let (scheme, rest) = url.split_once(':').ok_or(IceServerError::Url)?;
        let scheme = scheme.to_ascii_lowercase();
        let is_turn = match scheme.as_str() {
            "stun" | "stuns" => false,
            "turn" | "turns" => true,
            _ => return Err(IceServerError::Url),
        };
        let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
        let is_known = match query {
            None => true,
            // RFC 7065 has further ones, which browsers refuse.
            Some(query) => is_turn && matches!(query, "transport=udp" | "transport=tcp"),
        };
        if !is_known || !is_place(place) {
            return Err(IceServerError::Url);
        }
        let login = match (is_turn, parts.next(), parts.next()) {
            (false, None, _) => None,
            (false, Some(_), _) => return Err(IceServerError::Login),
            (true, Some(username), Some(credential)) => {
                if !is_printable(username) || !is_printable(credential) {
                    return Err(IceServerError::Characters);
                }
                Some(Login { username: username.to_owned(), credential: credential.to_owned() })
            }
            (true, None, _) if secret.is_some() => None,
            (true, ..) => return Err(IceServerError::NoLogin),
        };
        let secret = secret.filter(|_| is_turn && login.is_none()).cloned();
        Ok(Self { url: format!("{scheme}:{rest}"), login, secret })
    }

    /// The server as a client is told it whose own pass ends at a time in seconds since 1970: a login that is made ends then, too.
    #[must_use]
    pub fn until(&self, expires: u64) -> Self {
        // Without SHA-1, as some systems have it, a client is told the address alone.
        let made = self.secret.as_ref().and_then(|secret| secret.login(expires).ok());
        Self { url: self.url.clone(), login: self.login.clone().or(made), secret: None }
    }
}

impl fmt::Debug for IceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IceServer({})", self.url)
    }
}

impl IceServer {
    /// The value of a `Link` header, as RFC 9725, section 4.6, has it.
    #[must_use]
    pub fn link(&self) -> String {
        let link = format!("<{}>; rel=\"ice-server\"", self.url);
        match &self.login {
            None => link,
            Some(Login { username, credential }) => format!(
                "{link}; username={}; credential={}; credential-type=\"password\"",
                quoted(username),
                quoted(credential)
            ),
        }
    }
}

/// A quoted string (RFC 9110, section 5.6.4).
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn is_printable(text: &str) -> bool {
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Whether a text is a host, perhaps with a port.
fn is_place(text: &str) -> bool {
    let (is_host, port) =
        if let Some((address, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            (address.parse::<Ipv6Addr>().is_ok(), rest)
        } else {
            let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
            ((1..=LONGEST_HOST).contains(&host.len()) && host.bytes().all(is_letter), port)
        };
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    is_host && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<IceServer, IceServerError> {
        text.parse()
    }

    #[test]
    fn a_server_is_a_link_of_whip_and_an_ice_server_of_a_browser() {
        let both = |text: &str| {
            let server = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            (server.link(), serde_json::to_string(&server).expect("JSON"))
        };
        assert_eq!(
            both("STUN:stun.example"),
            (
                r#"<stun:stun.example>; rel="ice-server""#.to_owned(),
                r#"{"urls":"stun:stun.example"}"#.to_owned()
            )
        );
        assert_eq!(
            both(r#"turn:[2001:db8::1]:3478?transport=tcp,1:an "n",a\b,"c""#),
            (
                r#"<turn:[2001:db8::1]:3478?transport=tcp>; rel="ice-server"; username="1:an \"n\""; credential="a\\b,\"c\""; credential-type="password""#.to_owned(),
                r#"{"urls":"turn:[2001:db8::1]:3478?transport=tcp","username":"1:an \"n\"","credential":"a\\b,\"c\""}"#.to_owned()
            )
        );
        for right in ["stuns:192.0.2.1:5349", "turns:a.example:65535,u,c", "turn:a?transport=udp,u,c"] {
            assert!(both(right).0.starts_with(&format!("<{}>;", right.split(',').next().expect("one"))));
        }
    }

    #[test]
    fn a_shared_secret_makes_logins_that_end() {
        // By OpenSSL's own program: printf 1700000000 | openssl dgst -sha1 -hmac north -binary | base64
        let secret = TurnSecret::new("north").expect("a secret");
        let server = IceServer::read("turn:turn.example", Some(&secret)).expect("a server");
        let told = serde_json::to_value(server.until(1_700_000_000)).expect("JSON");
        let wanted = serde_json::json!({
            "urls": "turn:turn.example", "username": "1700000000", "credential": "CWyHi3zCeWqXBir9thl4m+iZPRY=",
        });
        assert_eq!(told, wanted);
        // A login of its own stays, and STUN has none.
        for text in ["turn:a,u,c", "stun:a"] {
            let own = IceServer::read(text, Some(&secret)).expect("a server");
            assert_eq!(Some(own.until(1)), text.parse().ok());
        }
        assert!(TurnSecret::new("").is_err() && TurnSecret::new("a\nb").is_err());
        assert!(!format!("{secret:?}{server:?}").contains("north"));
    }

    #[test]
    fn what_is_no_server_is_refused() {
        for wrong in [
            "",
            "stun",
            "stun:",
            "http://a.example",
            "stun://a.example",
            "stun:a?transport=udp",
            "stun:a:0",
            "stun:a:65536",
            "stun:a:",
            "stun:a:+1",
            "stun:a b",
            "stun:[::1",
            "stun:[a]",
            "stun:[::1]3478",
            "stun:::1",
            "stun:a>",
            "stun:a\r\nx: y",
            "turn:u@a,u,c",
            "turn:a?transport=sctp,u,c",
            "turn:a?,u,c",
        ] {
            assert_eq!(read(wrong), Err(IceServerError::Url), "{wrong}");
        }
        for wrong in ["turn:a", "turns:a,u"] {
            assert_eq!(read(wrong), Err(IceServerError::NoLogin), "{wrong}");
        }
        for wrong in ["stun:a,u", "stuns:a,u,c", "stun:a,"] {
            assert_eq!(read(wrong), Err(IceServerError::Login), "{wrong}");
        }
        let long = "c".repeat(LONGEST + 1);
        for wrong in
            ["turn:a,,c", "turn:a,u,", "turn:a,u,c\r\nx: y", "turn:a,\u{e9},c", &format!("turn:a,u,{long}")]
        {
            assert_eq!(read(wrong), Err(IceServerError::Characters), "{wrong}");
        }
        assert!(read(&format!("turn:a,u,{}", &long[1..])).is_ok());
        assert!(!format!("{:?}", read("turn:a,u,secret")).contains("secret"));
    }
}
