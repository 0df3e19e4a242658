//! The rate that a relay's edge allocates to a station, whose client reports the levels that its kernel's stamps show.

use airbound_units::BitRate;

use super::wire::{Address, WireError, ask};

/// The metrics of an edge.
#[derive(Debug, Clone)]
pub struct Relay {
    address: Address,
    /// Name of the station; `None` for the only one.
    station: Option<String>,
}

/// Reason why a relay tells no rate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RelayError {
    /// There is no answer.
    #[error("relay {0}: {1}")]
    Wire(Address, WireError),
    /// The answer has no metrics of an edge.
    #[error("{0}/metrics is not that of `airbound relay edge`")]
    Other(Address),
    /// The station is not there, or one of several has to be named.
    #[error("relay {address} has {found}; --station names one of them")]
    Station {
        /// The address.
        address: Address,
        /// The stations that are there.
        found: String,
    },
}

const RATE: &str = "airbound_relay_rate_bits_per_second";
const LIMIT: &str = "airbound_relay_limit";

impl Relay {
    /// The edge with metrics at this address.
    #[must_use]
    pub const fn new(address: Address, station: Option<String>) -> Self {
        Self { address, station }
    }

    /// The station's rate, and what limits it.
    ///
    /// # Errors
    /// [`RelayError`]
    pub fn rate(&self) -> Result<(BitRate, String), RelayError> {
        let (status, body) = ask(&self.address, None, "/metrics", None)
            .map_err(|error| RelayError::Wire(self.address.clone(), error))?;
        let text = String::from_utf8_lossy(&body);
        if status != 200 || !text.contains("airbound_relay_clients ") {
            return Err(RelayError::Other(self.address.clone()));
        }
        let rates: Vec<(&str, f64)> = samples(&text, RATE)
            .filter_map(|(labels, value)| Some((label(labels, "client")?, value.parse().ok()?)))
            .collect();
        let found = match &self.station {
            Some(name) => rates.iter().find(|(known, _)| known == name),
            None if rates.len() == 1 => rates.first(),
            None => None,
        };
        let Some((name, rate)) = found else {
            let names: Vec<&str> = rates.iter().map(|(name, _)| *name).collect();
            let found = if names.is_empty() {
                "no station".to_owned()
            } else {
                format!("stations {}", names.join(", "))
            };
            return Err(RelayError::Station { address: self.address.clone(), found });
        };
        let limit = samples(&text, LIMIT).find(|(labels, _)| label(labels, "client") == Some(name));
        let limit = limit.and_then(|(labels, _)| label(labels, "reason")).unwrap_or_default().to_owned();
        Ok((BitRate::from_bps_f64(rate.max(0.0)), limit))
    }
}

/// Labels and values of a family's samples.
fn samples<'a>(text: &'a str, family: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    text.lines().filter_map(move |line| line.strip_prefix(family)?.strip_prefix('{')?.rsplit_once("} "))
}

/// The value of a label. Names of stations have neither quotes nor backslashes.
fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let at = labels.find(&format!("{name}=\""))?;
    labels[at + name.len() + 2..].split('"').next()
}
