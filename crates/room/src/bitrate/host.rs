//! The routes of a host: what it can, and its bitrate.

use airbound_units::BitRate;
use serde::Deserialize;

use super::wire::{Address, Identity, WireError, ask};

/// The version of the interface that this program knows.
pub(super) const VERSION: u64 = 1;
/// Rates that a host may say that it has, in kbit/s (Foundation takes 1 to 800000).
const RATES: std::ops::RangeInclusive<u64> = 1..=800_000;

/// A host, and the client whose stream it sends.
#[derive(Debug, Clone)]
pub struct Host {
    address: Address,
    identity: Option<Identity>,
    client: String,
}

/// A host's own description.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Capabilities {
    /// Whether it decides itself.
    pub supported: bool,
    /// The version of the interface.
    pub version: u64,
    /// Names of what it has.
    #[serde(default)]
    pub features: Vec<String>,
}

/// Reason why a host is not set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// There is no answer.
    #[error("host {0}: {1}")]
    Wire(Address, WireError),
    /// The host has another interface.
    #[error("host {0} has version {1} of the interface; this program knows version {VERSION}")]
    Version(Address, u64),
    /// The host has none.
    #[error("host {0} answers {1} with status {2}; Foundation Sunshine and Vibepollo have this route")]
    Missing(Address, &'static str, u16),
    /// The host refuses.
    #[error("host {0} refuses: {1}")]
    Refused(Address, String),
    /// The answer makes no sense.
    #[error("host {0} answers {1} with {2}")]
    Nonsense(Address, &'static str, String),
}

impl HostError {
    /// Whether trying again is of no use: the host is of another kind.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Version(..) | Self::Missing(..))
    }
}

const BITRATE: &str = "/bitrate";
const ABR: &str = "/api/abr";
const CAPABILITIES: &str = "/api/abr/capabilities";

impl Host {
    /// A host at an address. `client` is the name under which it knows the client: Foundation asks for it, Vibepollo for the client's own
    /// certificate.
    #[must_use]
    pub const fn new(address: Address, identity: Option<Identity>, client: String) -> Self {
        Self { address, identity, client }
    }

    fn ask(&self, target: &str, body: Option<&str>) -> Result<(u16, String), HostError> {
        let (status, body) = ask(&self.address, self.identity.as_ref(), target, body)
            .map_err(|error| HostError::Wire(self.address.clone(), error))?;
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }

    fn nonsense(&self, route: &'static str, text: &str) -> HostError {
        let text: String = text.chars().take(60).flat_map(char::escape_debug).collect();
        HostError::Nonsense(self.address.clone(), route, format!("\"{text}\""))
    }

    /// Asks what the host can.
    ///
    /// # Errors
    /// [`HostError`]; another version is final.
    pub fn capabilities(&self) -> Result<Capabilities, HostError> {
        let (status, text) = self.ask(CAPABILITIES, None)?;
        if status != 200 {
            return Err(HostError::Missing(self.address.clone(), CAPABILITIES, status));
        }
        let found: Capabilities =
            serde_json::from_str(&text).map_err(|_| self.nonsense(CAPABILITIES, &text))?;
        if found.version == VERSION {
            Ok(found)
        } else {
            Err(HostError::Version(self.address.clone(), found.version))
        }
    }

    /// Asks the host to leave the bitrate alone. It knows its client by the address that asks.
    ///
    /// # Errors
    /// [`HostError`]
    pub fn rest(&self) -> Result<(), HostError> {
        let (status, text) = self.ask(ABR, Some(r#"{"enabled":false}"#))?;
        let answer: serde_json::Value = serde_json::from_str(&text).map_err(|_| self.nonsense(ABR, &text))?;
        match (status, answer["success"].as_bool()) {
            (200, Some(true)) => Ok(()),
            (_, Some(_)) => {
                let why: String = answer["error"].as_str().unwrap_or("no reason").chars().take(120).collect();
                Err(HostError::Refused(self.address.clone(), why))
            }
            _ => Err(self.nonsense(ABR, &text)),
        }
    }

    /// Sets the bitrate, and returns what the host took: Vibepollo has an upper limit of its own.
    ///
    /// # Errors
    /// [`HostError`]
    pub fn set(&self, rate: BitRate) -> Result<BitRate, HostError> {
        let kbps = rate.as_bps() / 1000;
        let (status, text) =
            self.ask(&format!("{BITRATE}?bitrate={kbps}&clientname={}", encoded(&self.client)), None)?;
        if status != 200 {
            return Err(HostError::Missing(self.address.clone(), BITRATE, status));
        }
        let document = roxmltree::Document::parse(&text).map_err(|_| self.nonsense(BITRATE, &text))?;
        let root = document.root_element();
        let number = |text: Option<&str>| text.and_then(|text| text.trim().parse::<u64>().ok());
        let code = number(root.attribute("status_code")).ok_or_else(|| self.nonsense(BITRATE, &text))?;
        if code != 200 {
            let why = root.attribute("status_message").unwrap_or("no reason").chars().take(120);
            return Err(HostError::Refused(
                self.address.clone(),
                format!("{} ({code})", why.collect::<String>()),
            ));
        }
        // Foundation has the rate in an attribute beside a 1, Vibepollo in the element.
        let element =
            root.children().find(|child| child.has_tag_name("bitrate")).and_then(|child| child.text());
        let taken = number(root.attribute("bitrate")).or_else(|| number(element));
        let taken =
            taken.filter(|taken| RATES.contains(taken)).ok_or_else(|| self.nonsense(BITRATE, &text))?;
        Ok(BitRate::from_kbps(taken))
    }
}

/// A value of a query (RFC 3986 section 2.1).
fn encoded(value: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    value
        .bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
