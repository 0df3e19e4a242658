//! The hosts of an emulation: their names, addresses and files.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use airbound_scenario::Scenario;

use crate::error::EmulateError;

/// Name of the host behind the wire that each emulation has.
pub const SERVER: &str = "server";
/// The address beyond the wire that is the name server of stations which reach the internet; no host has it.
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 77, 255, 254);
/// Length of the prefix that all hosts share, of IPv4 and of IPv6.
pub const PREFIX: (u8, u8) = (16, 64);

/// The place of a host in the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Behind the wire.
    Wire,
    /// A station, by its number in the scenario.
    Station(usize),
}

/// A host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its place.
    pub place: Place,
}

/// All hosts: the server, then stations, then others behind the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts(Vec<Host>);

impl Hosts {
    /// The server, the named stations, and hosts behind the wire; names that are there twice count once.
    ///
    /// # Errors
    /// There is no such station, or a host behind the wire has the name of a station.
    pub fn new(scenario: &Scenario, stations: &[&str], wired: &[&str]) -> Result<Self, EmulateError> {
        let mut hosts = vec![Host { name: SERVER.to_owned(), place: Place::Wire }];
        for name in stations {
            let Some(number) = scenario.station_index(name) else {
                return Err(EmulateError::NoStation {
                    station: (*name).to_owned(),
                    known: list(scenario.stations.iter().map(|station| station.name.as_str())),
                });
            };
            if *name == SERVER {
                return Err(EmulateError::Name((*name).to_owned()));
            }
            if hosts.iter().all(|host| host.name != *name) {
                hosts.push(Host { name: (*name).to_owned(), place: Place::Station(number) });
            }
        }
        for name in wired {
            let is_name = !name.is_empty()
                && name.len() <= 60
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            let is_station = scenario.stations.iter().any(|station| station.name == *name);
            if !is_name || is_station || *name == "localhost" {
                return Err(EmulateError::Name((*name).to_owned()));
            }
            if hosts.iter().all(|host| host.name != *name) {
                hosts.push(Host { name: (*name).to_owned(), place: Place::Wire });
            }
        }
        Ok(Self(hosts))
    }

    /// The hosts in order.
    #[must_use]
    pub fn all(&self) -> &[Host] {
        &self.0
    }

    /// The number of a host.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|host| host.name == name)
    }

    /// The addresses of a host.
    #[must_use]
    pub fn addresses(number: usize) -> (Ipv4Addr, Ipv6Addr) {
        let number = (number + 1) as u16;
        let [high, low] = number.to_be_bytes();
        (Ipv4Addr::new(10, 77, high, low), Ipv6Addr::new(0xfd77, 0xa1b0, 0, 0, 0, 0, 0, number))
    }

    /// The host of an address; `None` for any other address.
    #[must_use]
    pub fn of_address(&self, address: IpAddr) -> Option<usize> {
        let number = match address {
            IpAddr::V4(address) => {
                let [10, 77, high, low] = address.octets() else { return None };
                u16::from_be_bytes([high, low])
            }
            IpAddr::V6(address) => {
                let [0xfd77, 0xa1b0, 0, 0, 0, 0, 0, number] = address.segments() else { return None };
                number
            }
        };
        let number = usize::from(number).checked_sub(1)?;
        (number < self.0.len()).then_some(number)
    }

    /// Whether a packet to this address leaves the emulation, where there is a way out.
    #[must_use]
    pub fn is_outside(address: IpAddr) -> bool {
        let IpAddr::V4(address) = address else { return false };
        let is_single = !(address.is_multicast() || address.is_broadcast() || address.is_unspecified());
        let is_inside = address.octets().starts_with(&[10, 77]) || address.is_loopback();
        address == GATEWAY || (is_single && !is_inside)
    }

    /// The file `/etc/hosts` of all hosts; `own` is the name of this machine.
    #[must_use]
    pub fn hosts_file(&self, own: &str) -> String {
        let mut text = format!("127.0.0.1 localhost {own}\n::1 localhost {own}\n");
        for (number, host) in self.0.iter().enumerate() {
            let (four, six) = Self::addresses(number);
            text += &format!("{four} {name}\n{six} {name}\n", name = host.name);
        }
        text
    }
}

/// A file `/etc/nsswitch.conf` that asks for hosts in files first, and the system's services never.
#[must_use]
pub fn switch_file(text: &str) -> String {
    let others = text.lines().filter(|line| !line.trim_start().starts_with("hosts:"));
    others.chain(["hosts: files dns"]).map(|line| format!("{line}\n")).collect()
}

/// The first names of many.
pub(crate) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const MOST: usize = 12;
    let mut names: Vec<&str> = names.take(MOST + 1).collect();
    if names.len() > MOST {
        names[MOST] = "…";
    }
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use airbound_scenario::Overrides;

    use super::*;

    fn flat() -> Scenario {
        Scenario::open("my-flat", &Overrides::none()).expect("a scenario")
    }

    #[test]
    fn names_and_addresses_belong_together() {
        let scenario = flat();
        let name = scenario.stations[0].name.as_str();
        let hosts = Hosts::new(&scenario, &[name, name], &["cloud", "server"]).expect("hosts");
        let names: Vec<&str> = hosts.all().iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, [SERVER, name, "cloud"]);
        assert_eq!(hosts.all()[1].place, Place::Station(0));
        for number in 0..3 {
            let (four, six) = Hosts::addresses(number);
            assert_eq!(hosts.of_address(four.into()), Some(number));
            assert_eq!(hosts.of_address(six.into()), Some(number));
        }
        for stranger in
            ["10.77.0.0", "10.77.0.4", "10.77.255.255", "8.8.8.8", "ff02::1", "fd77:a1b0::4", "::"]
        {
            assert_eq!(hosts.of_address(stranger.parse().expect("an address")), None, "{stranger}");
        }
        for outside in ["8.8.8.8", "192.168.1.1", "10.77.255.254"] {
            assert!(Hosts::is_outside(outside.parse().expect("an address")), "{outside}");
        }
        for inside in ["10.77.0.9", "127.0.0.1", "224.0.0.251", "255.255.255.255", "0.0.0.0", "2001:db8::1"] {
            assert!(!Hosts::is_outside(inside.parse().expect("an address")), "{inside}");
        }
        let text = hosts.hosts_file("pc");
        assert!(text.starts_with("127.0.0.1 localhost pc\n") && text.contains("10.77.0.3 cloud\n"), "{text}");
        assert!(text.contains("fd77:a1b0::1 server\n"), "{text}");
    }

    #[test]
    fn wrong_names_are_refused_in_a_sentence() {
        let scenario = flat();
        let name = scenario.stations[0].name.clone();
        let refused = |stations: &[&str], wired: &[&str]| {
            Hosts::new(&scenario, stations, wired).expect_err("refused").to_string()
        };
        let text = refused(&["nobody"], &[]);
        assert!(text.contains("no station named \"nobody\"") && text.contains(&name), "{text}");
        for wired in [name.as_str(), "", "a b", "localhost", "ü"] {
            let text = refused(&[], &[wired]);
            assert!(text.contains(&format!("\"{wired}\"")), "{text}");
        }
    }

    #[test]
    fn hosts_come_from_files() {
        let text = "passwd: files systemd\nhosts: mymachines resolve [!UNAVAIL=return] files\n";
        assert_eq!(switch_file(text), "passwd: files systemd\nhosts: files dns\n");
        assert_eq!(switch_file(""), "hosts: files dns\n");
    }

    #[test]
    fn a_long_list_is_cut() {
        assert_eq!(list(["a", "b"].into_iter()), "a, b");
        assert_eq!(list(std::iter::repeat_n("a", 20)).matches('a').count(), 12);
        assert_eq!(list([].into_iter()), "none");
    }
}
