//! The nftables rules that send packets for Wi-Fi stations to the queue: a table for each interface and family, installed and removed as
//! a whole with the program `nft`. Rules of other programs, and of agents of other interfaces, are not touched.
//!
//! Deleting a base chain makes the kernel drop what any packet queue of the namespace holds (`nfqnl_flush`), so an end is two steps:
//! [`Table::detach`], after which no packet comes, and, when everything held has its verdict, [`Table::remove`].

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::LinuxError;
use crate::netlink::message::{DUMP, Message};
use crate::netlink::socket::{NETFILTER, Socket};

/// The beginning of the names of all tables.
const PREFIX: &str = "airbound_";
/// Longest time that `nft` may take; it is killed then.
const DEADLINE: Duration = Duration::from_millis(500);
/// Interval at which its end is looked for.
const LOOK: Duration = Duration::from_millis(2);

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

/// The name of an interface's tables. What an identifier of nftables may not contain is written as its bytes.
fn table_of(interface: &str) -> String {
    let mut name = PREFIX.to_owned();
    for byte in interface.bytes() {
        // Writing to a string does not fail.
        let _ = match byte {
            byte if byte.is_ascii_alphanumeric() => write!(name, "{}", char::from(byte)),
            byte => write!(name, "_{byte:02x}"),
        };
    }
    name
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
        let table = table_of(name);
        let mut script = removal(&table);
        for family in ["inet", "bridge"] {
            let planes: Vec<Plane> =
                self.planes.iter().copied().filter(|plane| plane.place().0 == family).collect();
            if planes.is_empty() {
                continue;
            }
            // Writing to a string does not fail.
            let _ = writeln!(script, "table {family} {table} {{");
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
fn removal(table: &str) -> String {
    let mut script = String::new();
    for family in ["inet", "bridge"] {
        let _ = writeln!(script, "table {family} {table}\ndelete table {family} {table}");
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

    /// Rules that are not installed, to be tried again: [`Self::is_present`] denies them.
    #[must_use]
    pub fn missing(rules: &Rules) -> Self {
        Self { rules: rules.clone() }
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
        let table = table_of(&self.rules.interface);
        let mut found = BTreeSet::new();
        for family in [INET, BRIDGE] {
            if self.rules.planes.iter().any(|plane| plane.place().1 == family) {
                found.extend(chains_with_rules(family, &table)?.into_iter().map(|chain| (family, chain)));
            }
        }
        Ok(self.rules.planes.iter().all(|plane| {
            let (_, family, chain, _) = plane.place();
            found.contains(&(family, chain.to_owned()))
        }))
    }

    /// Empties the chains: packets bypass the queue, and those that it holds stay there for their verdicts.
    ///
    /// # Errors
    /// `nft` failed.
    pub fn detach(&self) -> Result<(), LinuxError> {
        let table = table_of(&self.rules.interface);
        let families: BTreeSet<&str> = self.rules.planes.iter().map(|plane| plane.place().0).collect();
        run(&families.iter().map(|family| format!("flush table {family} {table}\n")).collect::<String>())
    }

    /// Removes the tables. What is held at this time is dropped.
    ///
    /// # Errors
    /// `nft` failed.
    pub fn remove(self) -> Result<(), LinuxError> {
        remove_leftovers(&self.rules.interface)
    }
}

/// Removes the tables of an interface, as an earlier run may have left them.
///
/// # Errors
/// `nft` is not installed, or failed.
pub fn remove_leftovers(interface: &str) -> Result<(), LinuxError> {
    let script = removal(&table_of(interface));
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
    wait_for(&mut child).map_err(failed)?;
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(failed(words.lines().next().unwrap_or("no reason given").to_owned()))
}

/// Waits for the end of a program, which is killed after [`DEADLINE`].
fn wait_for(child: &mut Child) -> Result<(), String> {
    let begun = Instant::now();
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if begun.elapsed() > DEADLINE {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("no answer within {} ms", DEADLINE.as_millis()));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
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

/// The chains of a table in a family that have at least one rule.
fn chains_with_rules(family: u8, table: &str) -> Result<Vec<String>, LinuxError> {
    /// `NFTA_RULE_CHAIN`.
    const CHAIN: u16 = 2;
    let mut chains = Vec::new();
    let listed = Socket::open(NETFILTER)?.request(
        "list rules",
        GET_RULE,
        DUMP,
        &[family, 0, 0, 0],
        |builder| builder.put_text(TABLE_NAME, table),
        |message| {
            let attributes = message.attributes(FIXED);
            let text = |kind| attributes.find(kind).and_then(|attribute| attribute.text());
            if message.kind == NEW_RULE && text(TABLE_NAME) == Some(table) {
                chains.extend(text(CHAIN).map(str::to_owned));
            }
        },
    );
    match listed {
        Err(error) if error.errno() == Some(libc::ENOENT) => Ok(Vec::new()),
        other => other.map(|()| chains),
    }
}

/// Whether nftables notifies that a table of an agent, or a chain or rule of it, was removed.
pub(crate) fn is_ours_removed(message: &Message<'_>) -> bool {
    matches!(message.kind, DELETE_TABLE | DELETE_CHAIN | DELETE_RULE)
        && message
            .attributes(FIXED)
            .find(TABLE_NAME)
            .and_then(|name| name.text())
            .is_some_and(|name| name.starts_with(PREFIX))
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
        let wanted = "table inet airbound_wlan0\ndelete table inet airbound_wlan0\n\
                      table bridge airbound_wlan0\ndelete table bridge airbound_wlan0\n\
                      table inet airbound_wlan0 {\nchain routed {\n\
                      type filter hook forward priority 300; policy accept;\n\
                      oifname \"wlan0\" queue flags bypass to 77\n}\n}\n\
                      table bridge airbound_wlan0 {\nchain bridged {\n\
                      type filter hook postrouting priority 300; policy accept;\n\
                      oifname \"wlan0\" queue flags bypass to 77\n}\n}\n";
        assert_eq!(script, wanted);
    }

    #[test]
    fn interfaces_have_tables_of_their_own() {
        assert_eq!(table_of("phy0-ap1"), "airbound_phy0_2dap1");
        assert_ne!(table_of("wlan0.1"), table_of("wlan0_1"));
        assert_ne!(table_of("wlan0-1"), table_of("wlan0.1"));
    }

    #[test]
    fn a_program_without_an_end_is_killed() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("a child");
        let answer = wait_for(&mut child);
        assert_eq!(answer, Err("no answer within 500 ms".to_owned()));
    }

    #[test]
    fn names_cannot_inject_rules() {
        for name in ["", "a name too long for it", "w\" accept; #", "wlan0\n", "wl an", "wlan*"] {
            assert!(rules(name, &[Plane::Routed]).script().is_err(), "{name:?}");
        }
    }
}
