//! The nftables rules that send packets for Wi-Fi stations to the queue: a table for each agent and family, installed and removed as a
//! whole with the program `nft`. Rules of other programs, and of other agents, are not touched.
//!
//! Deleting a base chain makes the kernel drop what any packet queue of the namespace holds (`nfqnl_flush`), so [`Table::update`] changes
//! rules and keeps chains, and an end is two steps: [`Table::detach`], after which no packet comes, and, when everything held has its
//! verdict, [`Table::remove`].

mod through;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::LinuxError;
use crate::netlink::message::{DUMP, Message};
use crate::netlink::socket::{NETFILTER, Socket};

pub use through::{Switch, Through};

use through::SET;

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
/// `NFPROTO_INET`, `NFPROTO_IPV4`, `NFPROTO_IPV6`, `NFPROTO_BRIDGE`.
const INET: u8 = 1;
const IPV4: u8 = 2;
const IPV6: u8 = 10;
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
    /// The interface that the tables are named after.
    pub owner: String,
    /// The queue's number.
    pub queue: u16,
    /// The hooks of each egress interface of packets to hold.
    pub ports: BTreeMap<String, BTreeSet<Plane>>,
    /// The marks of packets that go through while [`Switch`] lets them; without it none do.
    pub through: Option<Through>,
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
    /// The rules of a single interface.
    #[must_use]
    pub fn of(interface: &str, queue: u16, planes: impl IntoIterator<Item = Plane>) -> Self {
        let ports = [(interface.to_owned(), planes.into_iter().collect())].into();
        Self { owner: interface.to_owned(), queue, ports, through: None }
    }

    /// The script for `nft`: replaces tables left over from an earlier run, atomically.
    ///
    /// # Errors
    /// The name of an interface is not allowed in a script.
    pub fn script(&self) -> Result<String, LinuxError> {
        Ok(cleared(&self.table()?, false) + &self.tables()?)
    }

    /// The hooks of all interfaces.
    #[must_use]
    pub fn planes(&self) -> BTreeSet<Plane> {
        self.ports.values().flatten().copied().collect()
    }

    fn families(&self) -> BTreeSet<&'static str> {
        self.planes().iter().map(|plane| plane.place().0).collect()
    }

    fn table(&self) -> Result<String, LinuxError> {
        fits(&self.owner).map(|()| table_of(&self.owner))
    }

    /// The tables with their chains and rules.
    fn tables(&self) -> Result<String, LinuxError> {
        let table = self.table()?;
        self.ports.keys().try_for_each(|name| fits(name))?;
        let mut script = String::new();
        // Writing to a string does not fail.
        for family in self.families() {
            let _ = writeln!(script, "table {family} {table} {{");
            if self.through.is_some() {
                let _ = writeln!(script, "set {SET} {{\ntype ifname;\n}}");
            }
            for plane in self.planes().into_iter().filter(|plane| plane.place().0 == family) {
                let (_, _, chain, hook) = plane.place();
                let _ = writeln!(
                    script,
                    "chain {chain} {{\ntype filter hook {hook} priority 300; policy accept;"
                );
                for line in self.lines(plane) {
                    script += &line;
                    script.push('\n');
                }
                script += "}\n";
            }
            script += "}\n";
            if self.through.is_some() {
                let _ = writeln!(script, "flush set {family} {table} {SET}");
            }
        }
        Ok(script)
    }

    /// The rules of a chain.
    fn lines(&self, plane: Plane) -> Vec<String> {
        let names = self.ports.iter().filter(|(_, planes)| planes.contains(&plane)).map(|(name, _)| name);
        let unless = if self.through.is_some() { format!(" oifname != @{SET}") } else { String::new() };
        let queue = self.queue;
        let queued = names.map(|name| format!("oifname \"{name}\"{unless} queue flags bypass to {queue}"));
        queued.chain(self.through.iter().flat_map(Through::lines)).collect()
    }

    /// The number of rules of each chain.
    fn counts(&self) -> BTreeMap<(u8, &'static str), usize> {
        let count = |plane: Plane| {
            let (_, family, chain, _) = plane.place();
            ((family, chain), self.lines(plane).len())
        };
        self.planes().into_iter().map(count).collect()
    }
}

/// Whether a name may stand in a script. The kernel forbids `/` and white space; a quote would end the string of the script.
fn fits(name: &str) -> Result<(), LinuxError> {
    let fits = !name.is_empty()
        && name.len() < 16
        && name.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\/*".contains(&byte));
    if fits {
        return Ok(());
    }
    Err(LinuxError::Input(format!("interface {name:?} is not a name that nftables accepts")))
}

/// Removes the tables, whether they exist or not: each is added, then deleted; or empties them, if they shall stay.
fn cleared(table: &str, stay: bool) -> String {
    let verb = if stay { "flush" } else { "delete" };
    let each = |family| format!("table {family} {table}\n{verb} table {family} {table}\n");
    ["inet", "bridge"].map(each).concat()
}

/// The installed rules. Dropping this does not remove them: [`Self::remove`] does, as does the next start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    rules: Rules,
    /// Families that have a table.
    families: BTreeSet<&'static str>,
}

impl Table {
    /// Installs the rules atomically. Open the queue first: packets bypass a queue that is not open.
    ///
    /// # Errors
    /// `nft` is not installed, or refuses: no CAP_NET_ADMIN, no `queue` expression in the kernel.
    pub fn install(rules: &Rules) -> Result<Self, LinuxError> {
        Self::install_as_is(rules).or_else(|error| {
            // An older `nft` may not have the words that tell packets apart: then all are queued.
            let fewer = Rules { through: None, ..rules.clone() };
            if rules.through.is_some() { Self::install_as_is(&fewer) } else { Err(error) }
        })
    }

    fn install_as_is(rules: &Rules) -> Result<Self, LinuxError> {
        let families = rules.families();
        let table = rules.table()?;
        let tables = rules.tables()?;
        let needs_bridge = families.contains("bridge");
        // Chains that another version left behind with other hooks are refused, and removed then.
        let stay = are_others_queueing(&table);
        run_anyhow(&(cleared(&table, stay) + &tables), needs_bridge)
            .or_else(|error| if stay { run_anyhow(&rules.script()?, needs_bridge) } else { Err(error) })?;
        Ok(Self { rules: rules.clone(), families })
    }

    /// Replaces the rules atomically, also where another program removed them. What is held stays held.
    ///
    /// # Errors
    /// As [`Self::install`]; the rules are those of before then, and [`Self::is_present`] compares with the new ones.
    pub fn update(&mut self, rules: &Rules) -> Result<(), LinuxError> {
        let table = rules.table()?;
        self.families.extend(rules.families());
        self.rules = rules.clone();
        let emptied = self
            .families
            .iter()
            .map(|family| format!("table {family} {table}\nflush table {family} {table}\n"));
        run(&(emptied.collect::<String>() + &rules.tables()?))
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
        let table = table_of(&self.rules.owner);
        let wanted = self.rules.counts();
        let mut missing = wanted.clone();
        for family in [INET, BRIDGE] {
            if !wanted.keys().any(|(of, _)| *of == family) {
                continue;
            }
            for chain in chains_of_rules(family, &table)? {
                let left = missing.iter_mut().find(|((of, name), _)| *of == family && *name == chain);
                if let Some((_, left)) = left {
                    *left = left.saturating_sub(1);
                }
            }
        }
        Ok(missing.values().all(|left| *left == 0))
    }

    /// Empties the chains: packets bypass the queue, and those that it holds stay there for their verdicts.
    ///
    /// # Errors
    /// `nft` failed.
    pub fn detach(&self) -> Result<(), LinuxError> {
        let table = self.rules.table()?;
        run(&self.families.iter().map(|family| format!("flush table {family} {table}\n")).collect::<String>())
    }

    /// Removes the tables. What is held at this time is dropped.
    ///
    /// # Errors
    /// `nft` failed.
    pub fn remove(self) -> Result<(), LinuxError> {
        remove_leftovers(&self.rules.owner)
    }
}

/// Removes the tables named after an interface, as an earlier run may have left them. While others queue packets they stay, empty.
///
/// # Errors
/// `nft` is not installed, or failed.
pub fn remove_leftovers(interface: &str) -> Result<(), LinuxError> {
    let table = table_of(interface);
    run_anyhow(&cleared(&table, are_others_queueing(&table)), false)
}

/// Runs a script, without its tables of the bridge family if the kernel has no such family and they are not needed.
fn run_anyhow(script: &str, needs_bridge: bool) -> Result<(), LinuxError> {
    run(script).or_else(|error| if needs_bridge { Err(error) } else { run(&without_bridge(script)) })
}

/// Whether rules of other programs, or of other agents, lead packets to a queue: deleting a base chain would lose what waits there.
fn are_others_queueing(table: &str) -> bool {
    [INET, BRIDGE, IPV4, IPV6].into_iter().any(|family| {
        let mut found = false;
        // Without an answer there is nothing to be lost that is known of.
        let _ = each_rule(family, None, |of, _, queues| found |= queues && of != table);
        found
    })
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
    if rules.planes().contains(&Plane::Bridged) {
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

/// The chain of each rule of a table in a family.
fn chains_of_rules(family: u8, table: &str) -> Result<Vec<String>, LinuxError> {
    let mut chains = Vec::new();
    each_rule(family, Some(table), |of, chain, _| {
        if of == table {
            chains.push(chain.to_owned());
        }
    })?;
    Ok(chains)
}

/// Passes each rule of a family: its table, its chain, and whether it leads packets to a queue.
fn each_rule(
    family: u8,
    table: Option<&str>,
    mut each: impl FnMut(&str, &str, bool),
) -> Result<(), LinuxError> {
    let listed = Socket::open(NETFILTER)?.request(
        "list rules",
        GET_RULE,
        DUMP,
        &[family, 0, 0, 0],
        |builder| {
            if let Some(table) = table {
                builder.put_text(TABLE_NAME, table);
            }
        },
        |message| {
            if let Some((table, chain, queues)) = rule(message) {
                each(table, chain, queues);
            }
        },
    );
    match listed {
        Err(error) if error.errno() == Some(libc::ENOENT) => Ok(()),
        other => other,
    }
}

/// Table and chain of nftables' message about a rule, and whether the rule leads packets to a queue.
fn rule<'a>(message: &Message<'a>) -> Option<(&'a str, &'a str, bool)> {
    /// `NFTA_RULE_CHAIN`, `NFTA_RULE_EXPRESSIONS`, `NFTA_EXPR_NAME`.
    const CHAIN: u16 = 2;
    const EXPRESSIONS: u16 = 4;
    const NAME: u16 = 1;
    if message.kind != NEW_RULE {
        return None;
    }
    let attributes = message.attributes(FIXED);
    let queues = attributes.find(EXPRESSIONS).is_some_and(|list| {
        list.nested().any(|one| one.nested().find(NAME).and_then(|name| name.text()) == Some("queue"))
    });
    Some((attributes.find(TABLE_NAME)?.text()?, attributes.find(CHAIN)?.text()?, queues))
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
        Rules::of(interface, 77, planes.iter().copied())
    }

    #[test]
    fn a_script_replaces_what_was_there() {
        let script = rules("wlan0", &[Plane::Routed, Plane::Bridged]).script().expect("a script");
        let wanted = "table inet airbound_wlan0\ndelete table inet airbound_wlan0\n\
                      table bridge airbound_wlan0\ndelete table bridge airbound_wlan0\n\
                      table bridge airbound_wlan0 {\nchain bridged {\n\
                      type filter hook postrouting priority 300; policy accept;\n\
                      oifname \"wlan0\" queue flags bypass to 77\n}\n}\n\
                      table inet airbound_wlan0 {\nchain routed {\n\
                      type filter hook forward priority 300; policy accept;\n\
                      oifname \"wlan0\" queue flags bypass to 77\n}\n}\n";
        assert_eq!(script, wanted);
    }

    #[test]
    fn interfaces_of_an_agent_share_its_tables() {
        let mut both = rules("wlan0", &[Plane::Bridged]);
        both.ports.insert("guest".to_owned(), [Plane::Routed].into());
        both.ports.insert("wlan0.sta1".to_owned(), [Plane::Bridged].into());
        let script = both.script().expect("a script");
        assert!(script.ends_with(
            "table bridge airbound_wlan0 {\nchain bridged {\n\
             type filter hook postrouting priority 300; policy accept;\n\
             oifname \"wlan0\" queue flags bypass to 77\noifname \"wlan0.sta1\" queue flags bypass to 77\n}\n}\n\
             table inet airbound_wlan0 {\nchain routed {\n\
             type filter hook forward priority 300; policy accept;\n\
             oifname \"guest\" queue flags bypass to 77\n}\n}\n"
        ));
        assert_eq!(both.counts(), [((BRIDGE, "bridged"), 2), ((INET, "routed"), 1)].into());
        both.ports.insert("w\" accept; #".to_owned(), [Plane::Routed].into());
        assert!(both.script().is_err());
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
