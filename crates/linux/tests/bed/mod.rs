//! Three network namespaces in a row: a sender, a router that holds packets, a receiver. Needs root, `ip`, and `nft` or `iptables`.
#![allow(dead_code, reason = "each program uses a part of it")]

use std::fs::File;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use airbound_linux::nftables::{Plane, Rules, Table};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Address of the receiver.
pub(crate) const RECEIVER: &str = "10.91.2.2";
/// Name of the receiver's interface.
pub(crate) const INSIDE: &str = "abt-d";
/// Name of the router's interface towards the receiver.
pub(crate) const OUT: &str = "abt-out";

/// The namespaces; dropping this removes them.
pub(crate) struct Bed {
    names: [String; 3],
}

/// The rule that sends packets to the queue.
pub(crate) enum Rule {
    /// The agent's table.
    Nft(Table),
    /// A rule of iptables, for kernels without nftables' `queue`.
    Iptables,
}

fn call(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program} cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program} {}: {}", arguments.join(" "), words.lines().next().unwrap_or("failed")))
}

impl Bed {
    /// Creates the namespaces, or returns the reason why that is not possible. Beds of one process need different letters.
    pub(crate) fn make(letter: char) -> Result<Self, String> {
        Self::lay(letter, false)
    }

    /// Creates the namespaces with a bridge instead of a router.
    pub(crate) fn make_bridged(letter: char) -> Result<Self, String> {
        Self::lay(letter, true)
    }

    fn lay(letter: char, bridged: bool) -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("needs root".to_owned());
        }
        let id = std::process::id();
        let bed = Self { names: ["s", "r", "d"].map(|part| format!("abt{id}{letter}{part}")) };
        let [sender, router, receiver] = &bed.names;
        for name in &bed.names {
            call("ip", &["netns", "add", name])?;
            call("ip", &["-n", name, "link", "set", "lo", "up"])?;
        }
        for (inside, at_router, name) in [("abt-s", "abt-in", sender), (INSIDE, OUT, receiver)] {
            let peer = ["type", "veth", "peer", "name", inside, "netns", name];
            call("ip", &[&["-n", router, "link", "add", at_router], &peer[..]].concat())?;
            call("ip", &["-n", router, "link", "set", at_router, "up"])?;
            call("ip", &["-n", name, "link", "set", inside, "up"])?;
        }
        let address = |at: &str, link: &str, address: &str| {
            call("ip", &["-n", at, "addr", "add", address, "dev", link])
        };
        address(receiver, INSIDE, &format!("{RECEIVER}/24"))?;
        if bridged {
            address(sender, "abt-s", "10.91.2.3/24")?;
            call("ip", &["-n", router, "link", "add", "abt-br", "type", "bridge"])?;
            for port in ["abt-in", OUT] {
                call("ip", &["-n", router, "link", "set", port, "master", "abt-br"])?;
            }
            call("ip", &["-n", router, "link", "set", "abt-br", "up"])?;
        } else {
            address(sender, "abt-s", "10.91.1.2/24")?;
            address(router, "abt-in", "10.91.1.1/24")?;
            address(router, OUT, "10.91.2.1/24")?;
            for (at, via) in [(sender, "10.91.1.1"), (receiver, "10.91.2.1")] {
                call("ip", &["-n", at, "route", "add", "default", "via", via])?;
            }
            bed.within(1, || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1"))
                .map_err(|error| format!("cannot route: {error}"))?;
        }
        Ok(bed)
    }

    /// Runs `work` in the sender's (0), router's (1) or receiver's (2) namespace, in a thread of its own.
    pub(crate) fn within<T: Send>(&self, place: usize, work: impl FnOnce() -> T + Send) -> T {
        let name = &self.names[place];
        std::thread::scope(|scope| {
            scope
                .spawn(move || {
                    let namespace = File::open(format!("/run/netns/{name}")).expect("the namespace");
                    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
                        .expect("to enter the namespace");
                    work()
                })
                .join()
                .expect("what was done in the namespace")
        })
    }

    /// Queues packets routed to the receiver.
    pub(crate) fn hold(&self, queue: u16) -> Result<Rule, String> {
        let rules = Rules::of(OUT, queue, [Plane::Routed]);
        let nft = match self.within(1, || Table::install(&rules)) {
            Ok(table) => return Ok(Rule::Nft(table)),
            Err(error) => error.to_string(),
        };
        let number = queue.to_string();
        let rule = ["-A", "FORWARD", "-o", OUT, "-j", "NFQUEUE", "--queue-num", &number, "--queue-bypass"];
        self.within(1, || call("iptables", &rule)).map_err(|iptables| format!("{nft}; {iptables}"))?;
        Ok(Rule::Iptables)
    }

    /// Queues packets bridged to the receiver.
    pub(crate) fn hold_bridged(&self, queue: u16) -> Result<Table, String> {
        let rules = Rules::of(OUT, queue, [Plane::Bridged]);
        self.within(1, || Table::install(&rules)).map_err(|error| error.to_string())
    }

    /// A socket of the sender, connected to the receiver's port.
    pub(crate) fn sender(&self, port: u16) -> UdpSocket {
        self.within(0, || {
            let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
            socket.connect((RECEIVER, port)).expect("a route");
            socket
        })
    }

    /// A socket of the receiver.
    pub(crate) fn receiver(&self, port: u16) -> UdpSocket {
        let socket = self.within(2, || UdpSocket::bind(("0.0.0.0", port)).expect("a socket"));
        socket.set_read_timeout(Some(std::time::Duration::from_millis(300))).expect("a time limit");
        socket
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = call("ip", &["netns", "del", name]);
        }
    }
}
