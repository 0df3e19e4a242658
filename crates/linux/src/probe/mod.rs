//! Probe of kernel and driver: the features available, the evidence, and the consequences for the agent.
//!
//! Features are read from the kernel or tried, not taken from lists of drivers. Trials leave no state: a queue without a rule, eBPF
//! programs that are detached at once, rules that `nft` only checks.

mod rows;

use std::path::Path;

use serde::Serialize;

use crate::interface::{self, Interface, Offloads};
use crate::nl80211::{Role, Station, Survey, WifiInterface, Wiphy, Wireless};
use crate::{LinuxError, MacAddress};

/// Whether a feature is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Availability {
    /// Yes.
    Yes,
    /// No.
    No,
    /// Unknown without changing a setting.
    Unknown,
}

impl Availability {
    /// The word in the table.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// A stable identifier for programs.
    pub id: &'static str,
    /// The feature.
    pub what: &'static str,
    /// Whether it is available.
    pub available: Availability,
    /// The evidence.
    pub found: String,
    /// The consequence for the agent.
    pub therefore: String,
}

/// The report of a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The Wi-Fi interface.
    pub interface: String,
    /// Its hardware address.
    pub address: MacAddress,
    /// Its role: "access point", "station" and so on.
    pub role: &'static str,
    /// Its radio's name.
    pub radio: String,
    /// Its driver, if sysfs names one.
    pub driver: Option<String>,
    /// The kernel's release.
    pub kernel: String,
    /// Number of associated stations; some features are known only with a station.
    pub stations: usize,
    /// One row for each feature.
    pub rows: Vec<Row>,
}

impl Report {
    /// Whether the feature of a row is available.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.rows.iter().any(|row| row.id == id && row.available == Availability::Yes)
    }
}

/// The raw results from which the rows are derived.
#[derive(Debug, Clone, Default)]
struct Findings {
    wiphy: Wiphy,
    stations: Vec<Station>,
    survey: Vec<Survey>,
    link: Option<Interface>,
    wired: Vec<(String, Offloads)>,
    /// The capabilities of `Capability::ALL` that this process has.
    capabilities: Vec<&'static str>,
    queue: Option<Tried>,
    rules: Option<Tried>,
    bridge_rules: Option<Tried>,
    tracing: Option<Tried>,
    has_bpf_qdisc: Option<bool>,
}

/// The result of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Tried {
    Works,
    /// Failed, with the reason.
    Fails(String),
    /// Not permitted, with the reason.
    Forbidden(String),
}

impl Tried {
    fn of<T>(result: Result<T, LinuxError>) -> Self {
        match result {
            Ok(_) => Self::Works,
            Err(error) if matches!(error.errno(), Some(libc::EPERM | libc::EACCES)) => {
                Self::Forbidden(error.to_string())
            }
            Err(error) => Self::Fails(error.to_string()),
        }
    }
}

/// Probes an interface without changing it; without a name the first access point, else the first Wi-Fi interface.
///
/// # Errors
/// No Wi-Fi interface exists, or none of this name.
pub fn probe(name: Option<&str>) -> Result<Report, LinuxError> {
    let mut wireless = Wireless::open().map_err(|error| match (name, error) {
        // An unknown interface name is the more useful error.
        (Some(name), LinuxError::Unavailable { .. }) => match Interface::find(name) {
            Ok(_) => LinuxError::NotWifi(name.to_owned()),
            Err(error) => error,
        },
        (None, LinuxError::Unavailable { .. }) => LinuxError::NoWifi("cfg80211 is not loaded".to_owned()),
        (_, error) => error,
    })?;
    let interface = match name {
        Some(name) => wireless.interface(name)?,
        None => {
            let all = wireless.interfaces()?;
            let access_point = all.iter().find(|interface| interface.role == Role::AccessPoint);
            access_point
                .or(all.first())
                .cloned()
                .ok_or_else(|| LinuxError::NoWifi("see `iw dev`".to_owned()))?
        }
    };
    let findings = collect(&mut wireless, &interface)?;
    Ok(Report {
        interface: interface.name.clone(),
        address: interface.address,
        role: interface.role.name(),
        radio: findings.wiphy.name.clone(),
        driver: driver(&interface.name),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        stations: findings.stations.len(),
        rows: rows::all(&findings),
    })
}

fn collect(wireless: &mut Wireless, interface: &WifiInterface) -> Result<Findings, LinuxError> {
    use crate::privileges::Capability;
    let links = Interface::all()?;
    let wifi: Vec<u32> = wireless.interfaces()?.iter().map(|interface| interface.index).collect();
    let wired = links
        .iter()
        .filter(|link| {
            link.is_up && link.name != "lo" && !wifi.contains(&link.index) && !is_bridge(&link.name)
        })
        .filter_map(|link| Some((link.name.clone(), interface::offloads(&link.name).ok()?)));
    Ok(Findings {
        wiphy: wireless.wiphy(interface.wiphy)?,
        stations: wireless.stations(interface.index)?,
        survey: wireless.survey(interface.index)?,
        wired: wired.collect(),
        capabilities: Capability::ALL
            .into_iter()
            .filter(|capability| capability.is_held())
            .map(Capability::name)
            .collect(),
        queue: Some(rows::try_queue()),
        rules: Some(rows::try_rules(&interface.name, false)),
        bridge_rules: Some(rows::try_rules(&interface.name, true)),
        tracing: Some(rows::try_tracing(interface)),
        has_bpf_qdisc: rows::find_bpf_qdisc(),
        link: links.into_iter().find(|link| link.index == interface.index),
    })
}

fn is_bridge(name: &str) -> bool {
    Path::new("/sys/class/net").join(name).join("bridge").exists()
}

/// The driver's name, from sysfs.
fn driver(interface: &str) -> Option<String> {
    let link = std::fs::read_link(Path::new("/sys/class/net").join(interface).join("device/driver")).ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}
