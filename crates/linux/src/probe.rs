//! What this kernel and this driver offer, how that was found out, and what the agent will therefore use.

use serde::Serialize;

use crate::LinuxError;

/// Whether something can be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Availability {
    /// Yes.
    Yes,
    /// No.
    No,
    /// It could not be found out without changing anything.
    Unknown,
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// A name that does not change, for programs.
    pub id: &'static str,
    /// What it is.
    pub what: &'static str,
    /// Whether it can be had.
    pub available: Availability,
    /// How that was found out, with what was found.
    pub found: String,
    /// What the agent will therefore use or leave.
    pub therefore: String,
}

/// The whole table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The Wi-Fi interface.
    pub interface: String,
    /// Its radio's name.
    pub radio: String,
    /// Its driver, where sysfs names one.
    pub driver: Option<String>,
    /// The kernel's release.
    pub kernel: String,
    /// One for each thing that matters.
    pub rows: Vec<Row>,
}

/// Looks, and changes nothing. Without a name: at the first access point, or else the first Wi-Fi interface.
///
/// # Errors
/// There is no Wi-Fi interface, or none of this name.
pub fn probe(name: Option<&str>) -> Result<Report, LinuxError> {
    let _ = name;
    Err(LinuxError::NoWifi("the probe is not written yet".to_owned()))
}
