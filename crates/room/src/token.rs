//! Tokens: who may enter which room, in which role, until when. Signed with HMAC-SHA256, so that a server keeps no list.

use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// The role of a bearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// May send and watch.
    Guest,
    /// May change the policy too.
    Host,
}

/// The content of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pass {
    /// The room.
    pub room: String,
    /// The role.
    pub role: Role,
    /// End of validity, seconds since 1970.
    pub expires: u64,
}

/// The reason why a token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It was not signed with this secret, or is no token.
    #[error("the token is not valid here")]
    Invalid,
    /// It is too old.
    #[error("the token has expired")]
    Expired,
}

/// The secret that signs tokens.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// Upper limit of the length of a token.
const LONGEST: usize = 256;

impl Secret {
    /// Makes a secret of bytes, of which any number will do.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        use sha2::Digest;
        Self(Sha256::digest(bytes).into())
    }

    fn mac(&self, body: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(body.as_bytes());
        Some(mac)
    }

    /// Signs a pass: `room.role.expiry.signature`.
    #[must_use]
    pub fn sign(&self, pass: &Pass) -> String {
        let role = if pass.role == Role::Host { "host" } else { "guest" };
        let body = format!("{}.{role}.{}", pass.room, pass.expires);
        let tag = self.mac(&body).map(|mac| hex(&mac.finalize().into_bytes())).unwrap_or_default();
        format!("{body}.{tag}")
    }

    /// Reads and checks a token at a time in seconds since 1970.
    ///
    /// # Errors
    /// The token is not of this secret, or expired.
    pub fn check(&self, token: &str, now: u64) -> Result<Pass, TokenError> {
        if token.len() > LONGEST {
            return Err(TokenError::Invalid);
        }
        let (body, tag) = token.rsplit_once('.').ok_or(TokenError::Invalid)?;
        let tag = unhex(tag).ok_or(TokenError::Invalid)?;
        self.mac(body).ok_or(TokenError::Invalid)?.verify_slice(&tag).map_err(|_| TokenError::Invalid)?;
        let mut fields = body.splitn(3, '.');
        let (room, role, expires) = (fields.next(), fields.next(), fields.next());
        let role = match role {
            Some("host") => Role::Host,
            Some("guest") => Role::Guest,
            _ => return Err(TokenError::Invalid),
        };
        let expires = expires.and_then(|text| text.parse().ok()).ok_or(TokenError::Invalid)?;
        if expires <= now {
            return Err(TokenError::Expired);
        }
        Ok(Pass { room: room.unwrap_or_default().to_owned(), role, expires })
    }
}

/// Whether a name is fit for a room: 1 to 32 letters, digits and hyphens.
#[must_use]
pub fn is_room_name(name: &str) -> bool {
    (1..=32).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_by_its_secret_alone_and_not_after_its_time() {
        let (secret, other) = (Secret::new(b"one"), Secret::new(b"two"));
        let pass = Pass { room: "blue-2".to_owned(), role: Role::Host, expires: 100 };
        let token = secret.sign(&pass);
        assert_eq!(secret.check(&token, 99), Ok(pass));
        assert_eq!(secret.check(&token, 100), Err(TokenError::Expired));
        assert_eq!(other.check(&token, 99), Err(TokenError::Invalid));
        let forged = token.replace("host", "guest");
        assert_eq!(secret.check(&forged, 99), Err(TokenError::Invalid));
        assert_eq!(secret.check(&token.replace("100", "900"), 99), Err(TokenError::Invalid));
    }
}
