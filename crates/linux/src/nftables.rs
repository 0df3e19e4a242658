//! The nftables rules that send packets for Wi-Fi stations to the queue: a table in each family, installed and removed as a whole with
//! the program `nft`. Rules of other programs are not touched.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::LinuxError;
use crate::netlink::message::{DUMP, Message};
use crate::netlink::socket::{NETFILTER, Socket};

/// The name of the tables.
pub const TABLE: &str = "airbound";

/// `NFNL_SUBSYS_NFTABLES` in the upper half of a message's type, with `NFT_MSG_*`.
const SUBSYSTEM: u16 = 10 << 8;
const GET_RULE: u16 = SUBSYSTEM | 7;
const NEW_RULE: u16 = SUBSYSTEM | 6;
const DELETE_TABLE: u16 = SUBSYSTEM | 2;
const DELETE_CHAIN: u16 = SUBSYSTEM | 5;
const DELETE_RULE: u16 = SUBSYSTEM | 8;
/// `NFTA_TABLE_NAME`, `NFTA_CHAIN_TABLE` and `NFTA_RULE_TABLE`, which are equal.
const TABLE_NAME: u16 = 1;
/// Bytes of `struct nfgenmsg`.
const FIXED: usize = 4;
/// `NFPROTO_INET`, `NFPROTO_BRIDGE`.
const INET: u8 = 1;
const BRIDGE: u8 = 7;

/// The hook at which packets are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Plane {
    /// Packets that this machine routes to the interface.
    Routed,
    /// Packets of this machine itself.
    Local,
    /// Packets that a bridge forwards to the interface, its port.
    Bridged,
}

impl Plane {
    /// Name and number of the family, chain and hook.
    const fn place(self) -> (&'static str, u8, &'static str, &'static str) {
        match self {
            Self::Routed => ("inet", INET, "routed", "forward"),
            Self::Local => ("inet", INET, "local", "output"),
            Self::Bridged => ("bridge", BRIDGE, "bridged", "postrouting"),
        }
    }
}

/// Parameters of the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// The egress interface of packets to hold.
    pub interface: String,
    /// The queue's number.
    pub queue: u16,
    /// The hooks.
    pub planes: BTreeSet<Plane>,
}

impl Rules {
    /// The script for `nft`: replaces tables left over from an earlier run, atomically.
    ///
    /// # Errors
    /// The interface's name is not allowed in a script.
    pub fn script(&self) -> Result<String, LinuxError> {
        let name = &self.interface;
        // The kernel forbids `/` and white space; a quote would end the string of the script.
        let fits = !name.is_empty()
            && name.len() < 16
            && name.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\/*".contains(&byte));
        if !fits {
            return Err(LinuxError::Input(format!("interface {name:?} is not a name that nftables accepts")));
        }
        let mut script = removal();
        for family in ["inet", "bridge"] {
            let planes: Vec<Plane> =
                self.planes.iter().copied().filter(|plane| plane.place().0 == family).collect();
            if planes.is_empty() {
                continue;
            }
            // Writing to a string does not fail.
            let _ = writeln!(script, "table {family} {TABLE} {{");
            for plane in planes {
                let (_, _, chain, hook) = plane.place();
                let queue = self.queue;
                let _ = writeln!(
                    script,
                    "chain {chain} {{\ntype filter hook {hook} priority 300; policy accept;\n\
                     oifname \"{name}\" queue flags bypass to {queue}\n}}"
                );
            }
            script += "}\n";
        }
        Ok(script)
    }
}

/// Removes the tables, whether they exist or not: each is added, then deleted.
fn removal() -> String {
    let mut script = String::new();
    for family in ["inet", "bridge"] {
        let _ = writeln!(script, "table {family} {TABLE}\ndelete table {family} {TABLE}");
    }
    script
}

/// The installed rules. Dropping this does not remove them: [`Self::remove`] does, as does the next start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    rules: Rules,
}

impl Table {
    /// Installs the rules atomically. Open the queue first: packets bypass a queue that is not open.
    ///
    /// # Errors
    /// `nft` is not installed, or refuses: no CAP_NET_ADMIN, no `queue` expression in the kernel.
    pub fn install(rules: &Rules) -> Result<Self, LinuxError> {
        let script = rules.script()?;
        if rules.planes.contains(&Plane::Bridged) {
            run(&script)?;
        } else {
            // A kernel without the bridge family refuses its tables.
            run(&without_bridge(&script)).or_else(|_| run(&script))?;
        }
        Ok(Self { rules: rules.clone() })
    }

    /// The rules.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Whether every rule is still installed.
    ///
    /// # Errors
    /// nftables does not respond.
    pub fn is_present(&self) -> Result<bool, LinuxError> {
        let mut found = BTreeSet::new();
        for family in [INET, BRIDGE] {
            if self.rules.planes.iter().any(|plane| plane.place().1 == family) {
                found.extend(chains_with_rules(family)?.into_iter().map(|chain| (family, chain)));
            }
        }
        Ok(self.rules.planes.iter().all(|plane| {
            let (_, family, chain, _) = plane.place();
            found.contains(&(family, chain.to_owned()))
        }))
    }

    /// Removes the rules.
    ///
    /// # Errors
    /// `nft` failed.
    pub fn remove(self) -> Result<(), LinuxError> {
        remove_leftovers()
    }
}

/// Removes rules of an earlier run, if any.
///
/// # Errors
/// `nft` is not installed, or failed.
pub fn remove_leftovers() -> Result<(), LinuxError> {
    let script = removal();
    run(&script).or_else(|_| run(&without_bridge(&script)))
}

fn without_bridge(script: &str) -> String {
    script
        .lines()
        .filter(|line| !line.contains("table bridge"))
        .fold(String::new(), |all, line| all + line + "\n")
}

/// Commands tried for `nft`, since the search path of a service may lack sbin.
const COMMANDS: [&str; 3] = ["nft", "/usr/sbin/nft", "/sbin/nft"];

/// Checks rules by `nft` and the kernel without installing them.
///
/// # Errors
/// As [`Table::install`].
pub fn check(rules: &Rules) -> Result<(), LinuxError> {
    let script = rules.script()?;
    if rules.planes.contains(&Plane::Bridged) {
        call(&["-c", "-f", "-"], &script)
    } else {
        call(&["-c", "-f", "-"], &without_bridge(&script))
    }
}

fn run(script: &str) -> Result<(), LinuxError> {
    call(&["-f", "-"], script)
}

fn call(arguments: &[&str], script: &str) -> Result<(), LinuxError> {
    let failed = |reason: String| LinuxError::Program { program: "nft", reason };
    let started = COMMANDS.iter().find_map(|place| {
        let mut command = Command::new(place);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().ok()
    });
    let mut child = started.ok_or_else(|| failed("not installed (apt-get install nftables)".to_owned()))?;
    if let Some(mut input) = child.stdin.take() {
        // A write error means that it has exited; its error output gives the reason.
        let _ = input.write_all(script.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(failed(words.lines().next().unwrap_or("no reason given").to_owned()))
}

/// Whether `nft` is installed.
#[must_use]
pub fn has_program() -> bool {
    COMMANDS.iter().any(|place| {
        let mut command = Command::new(place);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

/// The chains of the table in a family that have at least one rule.
fn chains_with_rules(family: u8) -> Result<Vec<String>, LinuxError> {
    /// `NFTA_RULE_CHAIN`.
    const CHAIN: u16 = 2;
    let mut chains = Vec::new();
    let listed = Socket::open(NETFILTER)?.request(
        "list rules",
        GET_RULE,
        DUMP,
        &[family, 0, 0, 0],
        |builder| builder.put_text(TABLE_NAME, TABLE),
        |message| {
            let attributes = message.attributes(FIXED);
            let text = |kind| attributes.find(kind).and_then(|attribute| attribute.text());
            if message.kind == NEW_RULE && text(TABLE_NAME) == Some(TABLE) {
                chains.extend(text(CHAIN).map(str::to_owned));
            }
        },
    );
    match listed {
        Err(error) if error.errno() == Some(libc::ENOENT) => Ok(Vec::new()),
        other => other.map(|()| chains),
    }
}

/// Whether nftables notifies that the table, or a chain or rule of it, was removed.
pub(crate) fn is_ours_removed(message: &Message<'_>) -> bool {
    matches!(message.kind, DELETE_TABLE | DELETE_CHAIN | DELETE_RULE)
        && message.attributes(FIXED).find(TABLE_NAME).and_then(|name| name.text()) == Some(TABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(interface: &str, planes: &[Plane]) -> Rules {
        Rules { interface: interface.to_owned(), queue: 77, planes: planes.iter().copied().collect() }
    }

    #[test]
    fn a_script_replaces_what_was_there() {
        let script = rules("wlan0", &[Plane::Routed, Plane::Bridged]).script().expect("a script");
        let wanted = "table inet airbound\ndelete table inet airbound\ntable bridge airbound\n\
                      delete table bridge airbound\ntable inet airbound {\nchain routed {\n\
                      type filter hook forward priority 300; policy accept;\n\
                      oifname \"wlan0\" queue flags bypass to 77\n}\n}\ntable bridge airbound {\nchain bridged {\n\
                      type filter hook postrouting priority 300; policy accept;\n\
                      oifname \"wlan0\" queue flags bypass to 77\n}\n}\n";
        assert_eq!(script, wanted);
    }

    #[test]
    fn names_cannot_inject_rules() {
        for name in ["", "a name too long for it", "w\" accept; #", "wlan0\n", "wl an", "wlan*"] {
            assert!(rules(name, &[Plane::Routed]).script().is_err(), "{name:?}");
        }
    }
}
