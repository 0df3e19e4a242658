//! The interfaces of an agent: access points of one radio, with the interfaces that hostapd makes for their VLANs and for stations with
//! four addresses.

use airbound_linux::interface::Interface;
use airbound_linux::nl80211::{Role, WifiInterface};

use crate::error::AgentError;

/// An interface whose packets are held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Port {
    pub(super) wifi: WifiInterface,
    /// Its state, as last announced.
    pub(super) interface: Interface,
}

impl Port {
    pub(super) fn find(wifi: WifiInterface) -> Result<Self, AgentError> {
        let interface = Interface::find(&wifi.name)?;
        Ok(Self { wifi, interface })
    }
}

/// The interfaces with these names, or, without a name, the access points of the only radio that has any.
pub(super) fn chosen(all: &[WifiInterface], names: &[String]) -> Result<Vec<WifiInterface>, AgentError> {
    let mut found: Vec<WifiInterface> = Vec::new();
    for wifi in all {
        let is_meant =
            if names.is_empty() { wifi.role == Role::AccessPoint } else { names.contains(&wifi.name) };
        if is_meant {
            found.push(wifi.clone());
        }
    }
    // In the order of the names: the first names the tables.
    found.sort_by_key(|wifi| names.iter().position(|name| *name == wifi.name));
    let other = found.iter().find(|wifi| found.first().is_some_and(|first| first.wiphy != wifi.wiphy));
    match (found.first(), other) {
        (None, _) => Err(AgentError::Value(
            "no access point found on this machine; name an interface with --iface".to_owned(),
        )),
        (Some(first), Some(other)) if !names.is_empty() => Err(AgentError::Value(format!(
            "{} and {} are interfaces of two radios; a [[radio]] table of the file names each",
            first.name, other.name
        ))),
        (_, Some(_)) => Err(AgentError::Value(format!(
            "access points of several radios found; name those of one with --iface: {}",
            listed(found.iter().map(|wifi| &wifi.name))
        ))),
        _ => Ok(found),
    }
}

/// The interfaces that belong to access points: those of their VLANs have the access point's address.
pub(super) fn followers<'a>(
    all: &'a [WifiInterface],
    points: &'a [WifiInterface],
) -> impl Iterator<Item = &'a WifiInterface> {
    all.iter().filter(move |wifi| {
        wifi.role == Role::AccessPointVlan
            && points.iter().all(|point| point.name != wifi.name)
            && points.iter().any(|point| point.wiphy == wifi.wiphy && point.address == wifi.address)
    })
}

/// Access points of the same radio that were not named.
pub(super) fn left_out<'a>(
    all: &'a [WifiInterface],
    points: &'a [WifiInterface],
) -> impl Iterator<Item = &'a str> {
    all.iter()
        .filter(move |wifi| {
            wifi.role == Role::AccessPoint
                && points.iter().any(|point| point.wiphy == wifi.wiphy)
                && points.iter().all(|point| point.name != wifi.name)
        })
        .map(|wifi| wifi.name.as_str())
}

/// Names as a text.
pub(super) fn listed<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    names.into_iter().fold(String::new(), |mut all, name| {
        all += if all.is_empty() { "" } else { ", " };
        all + name.as_ref()
    })
}

#[cfg(test)]
mod tests {
    use airbound_linux::MacAddress;

    use super::*;

    fn wifi(index: u32, name: &str, wiphy: u32, role: Role) -> WifiInterface {
        let address = MacAddress([2, 0, 0, 0, wiphy as u8, u8::from(name.starts_with("guest"))]);
        WifiInterface {
            index,
            name: name.to_owned(),
            wiphy,
            address,
            role,
            has_four_addresses: false,
            ssid: None,
            frequency: None,
            width: None,
            multicast: None,
        }
    }

    fn machine() -> Vec<WifiInterface> {
        use Role::{AccessPoint, AccessPointVlan, Station};
        vec![
            wifi(3, "wlan0", 0, AccessPoint),
            wifi(4, "guest", 0, AccessPoint),
            wifi(5, "wlan1", 1, AccessPoint),
            wifi(6, "wlan0.sta1", 0, AccessPointVlan),
            wifi(7, "guest.7", 0, AccessPointVlan),
            wifi(8, "up0", 2, Station),
        ]
    }

    fn names(found: &[WifiInterface]) -> Vec<&str> {
        found.iter().map(|wifi| wifi.name.as_str()).collect()
    }

    fn chosen_by(names: &[&str]) -> Result<Vec<WifiInterface>, String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        chosen(&machine(), &names).map_err(|error| error.to_string())
    }

    #[test]
    fn interfaces_of_one_radio_are_taken_together() {
        assert_eq!(names(&chosen_by(&["guest", "wlan0"]).expect("one radio")), ["guest", "wlan0"]);
        assert_eq!(
            chosen_by(&["wlan1", "wlan0"]).expect_err("two radios"),
            "wlan1 and wlan0 are interfaces of two radios; a [[radio]] table of the file names each"
        );
        assert_eq!(
            chosen_by(&[]).expect_err("two radios"),
            "access points of several radios found; name those of one with --iface: wlan0, guest, wlan1"
        );
        let one: Vec<_> = machine().into_iter().filter(|wifi| wifi.wiphy == 0).collect();
        assert_eq!(names(&chosen(&one, &[]).expect("all of it")), ["wlan0", "guest"]);
        assert!(chosen(&[], &[]).is_err());
    }

    #[test]
    fn vlans_follow_their_access_point() {
        let all = machine();
        let of = |point: &str| {
            let points = chosen_by(&[point]).expect("known");
            let found: Vec<_> = followers(&all, &points).map(|wifi| wifi.name.clone()).collect();
            (found, left_out(&all, &points).map(str::to_owned).collect::<Vec<_>>())
        };
        assert_eq!(of("wlan0"), (vec!["wlan0.sta1".to_owned()], vec!["guest".to_owned()]));
        assert_eq!(of("guest"), (vec!["guest.7".to_owned()], vec!["wlan0".to_owned()]));
        assert_eq!(of("wlan1"), (vec![], vec![]));
    }
}
