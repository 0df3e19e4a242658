//! Ends of the probes: the interface, the near end, the host.

use std::net::{IpAddr, ToSocketAddrs};

use airbound_linux::nl80211::{Role, WifiInterface, Wireless};
use airbound_linux::{LinuxError, pings};
use airbound_senders::diagnosis::Side;

use crate::args::doctor::Doctor;
use crate::error::CliError;

/// Ends of the probes.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) side: Side,
    pub(super) wifi: Option<WifiInterface>,
    pub(super) near: Option<IpAddr>,
    pub(super) host: Option<IpAddr>,
}

impl Place {
    pub(super) fn find(doctor: &Doctor) -> Result<Self, CliError> {
        let gateway = pings::gateway(doctor.iface.as_deref());
        let wifi = wifi(doctor, gateway.as_ref().map(|(name, _)| name.as_str()))?;
        let side = match &wifi {
            None => Side::Wired,
            Some(wifi) if matches!(wifi.role, Role::AccessPoint | Role::AccessPointVlan) => Side::AccessPoint,
            Some(_) => Side::Station,
        };
        let host = doctor.host.as_deref().map(resolve).transpose()?;
        let near = match (doctor.near, side, &wifi) {
            (Some(near), ..) => Some(near),
            (None, Side::AccessPoint, Some(wifi)) => {
                return Err(CliError::Input(format!(
                    "{} is an access point; name the station to be probed with --near ADDRESS",
                    wifi.name
                )));
            }
            _ => gateway.map(|(_, address)| address),
        };
        if near.is_none() && host.is_none() {
            let problem = "there is no gateway in the routes of this machine; name a host, or the near end with --near ADDRESS";
            return Err(CliError::Input(problem.to_owned()));
        }
        if side == Side::Wired && host.is_none() && doctor.near.is_none() {
            let problem = "this machine has no Wi-Fi interface; name a host to judge its wire, as in `airbound doctor HOST`";
            return Err(CliError::Input(problem.to_owned()));
        }
        Ok(Self { side, wifi, near, host })
    }
}

/// The Wi-Fi interface that was named, else that of the default route; one of an access point where there is no other.
fn wifi(doctor: &Doctor, routed: Option<&str>) -> Result<Option<WifiInterface>, CliError> {
    let mut wireless = match Wireless::open() {
        Ok(wireless) => wireless,
        Err(LinuxError::Unavailable { .. }) => {
            return match &doctor.iface {
                None => Ok(None),
                Some(name) => {
                    airbound_linux::interface::Interface::find(name)?;
                    Err(LinuxError::NotWifi(name.clone()).into())
                }
            };
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(name) = &doctor.iface {
        return Ok(Some(wireless.interface(name)?));
    }
    let all = wireless.interfaces()?;
    let of_route = all.iter().find(|interface| Some(interface.name.as_str()) == routed);
    // A wired route passes no station of this machine; an access point is the near end of its stations.
    let access_point = all.iter().find(|interface| interface.role == Role::AccessPoint);
    Ok(of_route.or(access_point).cloned())
}

fn resolve(host: &str) -> Result<IpAddr, CliError> {
    let none = |reason: String| CliError::Input(format!("the host {host} has no address: {reason}"));
    let mut found = (host, 0).to_socket_addrs().map_err(|error| none(error.to_string()))?;
    let first = found.next().map(|address| address.ip());
    let v4 = found.map(|address| address.ip()).find(IpAddr::is_ipv4);
    first
        .filter(IpAddr::is_ipv4)
        .or(v4)
        .or(first)
        .ok_or_else(|| none("the name server knows none".to_owned()))
}
