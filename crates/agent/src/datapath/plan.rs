//! The plan for an interface: made before any setting is changed, printed by `--dry-run`.

use std::collections::BTreeSet;
use std::fmt::Write;

use airbound_control::queue::QueueConfig;
use airbound_linux::LinuxError;
use airbound_linux::interface::{self, Interface};
use airbound_linux::nfqueue;
use airbound_linux::nftables::{self, Rules, Through};
use airbound_linux::nl80211::{Role, Station, WifiInterface, Wiphy, Wireless};
use airbound_units::{BitRate, Span};

use super::classify::mark_through;
use super::ports::{self, Port};
use super::settings::retries_settable;
use crate::config::{Config, Mechanism, Metrics, Plane, Scheme};
use crate::error::AgentError;
use crate::law::{self, Bound};

/// Tries of a frame without a configured limit: mac80211's chain of four rates (`IEEE80211_TX_MAX_RATES`) of about ten tries each.
const USUAL_TRIES: u32 = 40;

/// The most rules that tell packets apart while they go through: each costs every packet.
const MOST_MARKS: usize = 64;

/// The number from which on a free packet queue is looked for.
const FIRST_QUEUE: u16 = 77;

/// The mechanism that carries out the scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Hold packets.
    Hold,
    /// Set the packet limit of mac80211's queues (WQM).
    TxqLimit,
    /// Set the length of the interface's queue (WQM).
    Txqueuelen,
}

/// A configuration applied to the interfaces and the radio found.
#[derive(Debug)]
pub struct Plan {
    /// The configuration.
    pub config: Config,
    /// The interfaces, named ones first.
    pub(super) ports: Vec<Port>,
    /// Names of the access points whose packets are held.
    names: Vec<String>,
    pub(super) wiphy: Wiphy,
    /// The mechanism.
    pub action: Action,
    pub(super) rules: Rules,
    stations: Vec<Station>,
    remarks: Vec<String>,
}

impl Plan {
    /// Inspects the interface without changing it.
    ///
    /// # Errors
    /// The interface does not exist, no single access point can be chosen, or the mechanism is not available.
    pub fn new(config: Config) -> Result<Self, AgentError> {
        let mut wireless = Wireless::open()?;
        let mut absent: Vec<&str> = Vec::new();
        for name in &config.interfaces {
            match wireless.interface(name) {
                Ok(_) => {}
                // A network that is switched off does not keep the others from being protected.
                Err(LinuxError::NoInterface(_)) if absent.len() + 1 < config.interfaces.len() => {
                    absent.push(name);
                }
                Err(error) => return Err(error.into()),
            }
        }
        let all = wireless.interfaces()?;
        let points = ports::chosen(&all, &config.interfaces)?;
        let names: Vec<String> = match config.interfaces.as_slice() {
            [] => points.iter().map(|wifi| wifi.name.clone()).collect(),
            named => named.to_vec(),
        };
        let found = points.iter().chain(ports::followers(&all, &points)).cloned();
        let ports = found.map(Port::find).collect::<Result<Vec<_>, _>>()?;
        let first = ports.first().ok_or_else(|| AgentError::Value("no interface is named".to_owned()))?;
        let wiphy = wireless.wiphy(first.wifi.wiphy)?;
        let mut stations = Vec::new();
        for port in &ports {
            stations.extend(wireless.stations(port.wifi.index)?);
        }
        let mut remarks = Vec::new();
        if !absent.is_empty() {
            remarks.push(format!(
                "not there yet, and taken within a second of their coming: {}",
                ports::listed(&absent)
            ));
        }
        for port in &ports {
            if !matches!(port.wifi.role, Role::AccessPoint | Role::AccessPointVlan) {
                remarks.push(format!(
                    "{} is a {}, not an access point: not all stations may be known",
                    port.wifi.name,
                    port.wifi.role.name()
                ));
            }
        }
        let left_out = ports::listed(ports::left_out(&all, &points));
        if !left_out.is_empty() {
            remarks.push(format!(
                "{} has other access points, which share the air unheld: {left_out}; --iface takes them, too",
                wiphy.name
            ));
        }
        if let Metrics::At(address) = config.metrics
            && !address.ip().is_loopback()
        {
            remarks.push(format!(
                "{address} shows addresses of stations, rates and rules to whoever reaches it"
            ));
        }
        let action = action(&config, &wiphy, &first.interface)?;
        let queue = config.queue_number.unwrap_or_else(|| nfqueue::first_free(FIRST_QUEUE));
        if action == Action::Hold {
            remarks.extend(merged(&ports, config.super_packets));
            if !nftables::has_program() {
                remarks.push(
                    "nft is not installed (apt-get install nftables): the agent cannot start".to_owned(),
                );
            }
        }
        let owner = names.first().unwrap_or(&first.wifi.name).clone();
        let through = through(&config);
        if through.is_none() && action == Action::Hold && config.may_pass_through() {
            remarks.push("nftables has no words for a rule: no packet goes through unheld".to_owned());
        }
        let rules = Rules { through, ..rules(config.plane, owner, queue, &ports) };
        Ok(Self { config, ports, names, wiphy, action, rules, stations, remarks })
    }

    /// The names of the interfaces, the first of which names tables and socket.
    #[must_use]
    pub fn interface_names(&self) -> &[String] {
        &self.names
    }

    /// Refuses demands that nothing can keep: counters tell when the driver takes a frame, so that the driver's own queue has to be bounded.
    pub(super) fn can_keep_by_counters(&self, why: Option<&LinuxError>) -> Result<(), AgentError> {
        let config = &self.config;
        if config.rules.is_empty() || !config.protects() || self.wiphy.has_airtime_queue_limit() {
            return Ok(());
        }
        let why = why.map_or_else(String::new, |why| format!(" ({why})"));
        Err(AgentError::Value(format!(
            "the demands cannot be kept on {}: completions are read from counters{why}, which do not show the \
             driver's queue, and the driver has no airtime queue limit; scheme linux measures the demands",
            self.wiphy.name
        )))
    }

    /// The number of the radio.
    #[must_use]
    pub const fn radio(&self) -> u32 {
        self.wiphy.number
    }

    /// The interface that names the tables: the first named one.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.rules.owner
    }

    /// The interfaces of the plan among all that there are now.
    pub(super) fn present(&self, all: &[WifiInterface]) -> Vec<WifiInterface> {
        let points: Vec<WifiInterface> = self
            .names
            .iter()
            .filter_map(|name| all.iter().find(|wifi| wifi.name == *name))
            .cloned()
            .collect();
        let followers: Vec<WifiInterface> = ports::followers(all, &points).cloned().collect();
        points.into_iter().chain(followers).filter(|wifi| wifi.wiphy == self.wiphy.number).collect()
    }

    /// The first named interface.
    pub(super) fn first(&self) -> &Port {
        // A plan has at least one.
        &self.ports[0]
    }

    /// The rules for the interfaces as they are now: they may have joined a bridge, or left one.
    pub(super) fn rules_for(&self, ports: &[Port]) -> Rules {
        rules(self.config.plane, self.rules.owner.clone(), self.rules.queue, ports)
    }

    /// The largest number of tries of a transmission.
    pub(super) fn tries(&self, limited: bool) -> u32 {
        if limited { u32::from(self.config.law.tries) } else { USUAL_TRIES }
    }

    /// The latency bound under Law for a station at a rate; `None` with other schemes.
    pub(super) fn bound(&self, rate: BitRate, limited: bool) -> Option<Bound> {
        let aggregate = self.config.engine().window.aggregate;
        (self.config.scheme == Scheme::Law)
            .then(|| Bound::new(&self.config.law, aggregate, rate, self.tries(limited)))
    }

    /// Lists the parts of the scheme that are in force, and those that are not.
    #[must_use]
    pub fn in_force(&self) -> Vec<String> {
        let config = &self.config;
        let engine = config.engine();
        let mut lines = match (config.scheme, self.action) {
            (Scheme::Law, _) => {
                law::in_force(&config.law, retries_settable(&self.wiphy), engine.window.aggregate)
            }
            (Scheme::Wqm, Action::Hold) => vec![format!(
                "WQM sets the size of the agent's buffer, above a release window of {} of airtime{}",
                engine.window.aggregate * 2,
                if self.wiphy.has_airtime_queue_limit() {
                    ""
                } else {
                    ": the driver has no airtime queue limit"
                },
            )],
            (Scheme::Wqm, Action::TxqLimit) => {
                vec!["WQM sets the packet limit of mac80211's queues; no packet is held".to_owned()]
            }
            (Scheme::Wqm, Action::Txqueuelen) => vec![
                "WQM's initial stage (equation 1) sets txqueuelen from the rate; no packet is held"
                    .to_owned(),
                "not in force: algorithm 1 (the kernel does not report the backlog of the interface's queue)"
                    .to_owned(),
            ],
            (scheme, _) => vec![format!("packets are held and released in the order of {}", scheme.name())],
        };
        if !config.rules.is_empty() && !config.protects() {
            lines.push(
                "not in force: latency demands (they are measured; scheme last-pq keeps them)".to_owned(),
            );
        }
        lines
    }

    /// The plan as text, for `--dry-run`.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let config = &self.config;
        for port in &self.ports {
            let wifi = &port.wifi;
            writeln!(out, "Interface   {} ({}), radio {}", wifi.name, wifi.role.name(), self.wiphy.name)?;
        }
        writeln!(out, "Scheme      {}", config.scheme.name())?;
        for line in self.in_force() {
            writeln!(out, "            {line}")?;
        }
        for rule in &config.rules {
            let demand = rule.demand;
            writeln!(
                out,
                "Protect     {}: {} percent of \"{}\" within {}",
                rule.name,
                demand.percentile(),
                rule.condition,
                demand.latency()
            )?;
        }
        let window = config.engine().window;
        if self.action == Action::Hold {
            let planes: Vec<String> =
                self.rules.planes().iter().map(|plane| format!("{plane:?}").to_lowercase()).collect();
            writeln!(
                out,
                "Packets     {}, in packet queue {}, at most {} held",
                planes.join(" and "),
                self.rules.queue,
                config.hold_packets
            )?;
            writeln!(
                out,
                "Window      {} of airtime in each category, or {} packets: one aggregate of {} on the air, one behind it",
                window.aggregate * 2,
                window.least_packets,
                window.aggregate
            )?;
        }
        for station in &self.stations {
            let rate = station.transmit_rate.map(|rate| rate.rate).filter(|rate| !rate.is_zero());
            write!(out, "Station     {}", station.address)?;
            if let Some(rate) = rate {
                write!(out, " at {rate}")?;
                if let Some(bound) = self.bound(rate, retries_settable(&self.wiphy)) {
                    write!(
                        out,
                        ": no packet older than {} (Limit_q {} + window {} + {} tries {}), on an otherwise idle channel",
                        rounded(bound.total()),
                        bound.limit_q,
                        rounded(bound.window),
                        bound.tries,
                        rounded(bound.chain)
                    )?;
                }
            }
            writeln!(out)?;
        }
        match config.metrics {
            Metrics::Off => writeln!(out, "Metrics     off")?,
            Metrics::At(address) => {
                writeln!(out, "Metrics     http://{address}/metrics; airbound agent status")?
            }
        }
        for remark in &self.remarks {
            writeln!(out, "Note        {remark}")?;
        }
        if self.action == Action::Hold
            && let Ok(script) = self.rules.script()
        {
            writeln!(out, "Rules       (nft -f -)")?;
            for line in script.lines() {
                writeln!(out, "            {line}")?;
            }
        }
        Ok(())
    }
}

/// Rounds to a tenth of a millisecond.
fn rounded(span: Span) -> Span {
    Span::from_micros((span.as_micros() + 50) / 100 * 100)
}

fn rules(plane: Plane, owner: String, queue: u16, ports: &[Port]) -> Rules {
    let planes = |port: &Port| (port.wifi.name.clone(), planes(plane, &port.interface));
    Rules { owner, queue, ports: ports.iter().map(planes).collect(), through: None }
}

/// The marks of packets that go through; `None` if none may, or if nftables has no words for a rule.
fn through(config: &Config) -> Option<Through> {
    if !config.may_pass_through() {
        return None;
    }
    let mut marks = Vec::new();
    for (number, rule) in (0..).zip(&config.rules) {
        let conditions = rule.condition.to_nft()?;
        marks.extend(conditions.into_iter().map(|condition| (condition, mark_through(Some(number)))));
    }
    (marks.len() <= MOST_MARKS).then(|| Through { marks, other: mark_through(None) })
}

fn planes(plane: Plane, interface: &Interface) -> BTreeSet<nftables::Plane> {
    let bridged = match plane {
        Plane::Auto => interface.bridge.is_some(),
        Plane::Bridged => true,
        Plane::Routed => false,
    };
    BTreeSet::from([if bridged { nftables::Plane::Bridged } else { nftables::Plane::Routed }])
}

fn action(config: &Config, wiphy: &Wiphy, interface: &Interface) -> Result<Action, AgentError> {
    if config.scheme != Scheme::Wqm {
        return Ok(Action::Hold);
    }
    let no_txqs = || {
        AgentError::Value(format!(
            "mechanism txq-limit is not available: the driver of {} has no queues in mac80211",
            interface.name
        ))
    };
    let no_queue = || {
        AgentError::Value(format!(
            "mechanism txqueuelen is not available: {} queues in mac80211, not in a queueing discipline",
            interface.name
        ))
    };
    match config.mechanism {
        Mechanism::Hold => Ok(Action::Hold),
        Mechanism::TxqLimit if wiphy.has_txqs() => Ok(Action::TxqLimit),
        Mechanism::TxqLimit => Err(no_txqs()),
        Mechanism::Txqueuelen if interface.queues_in_mac80211() => Err(no_queue()),
        Mechanism::Txqueuelen => Ok(Action::Txqueuelen),
        // Above a deep driver queue a limit in mac80211 has little effect.
        Mechanism::Auto if wiphy.has_txqs() && wiphy.has_airtime_queue_limit() => Ok(Action::TxqLimit),
        Mechanism::Auto => Ok(Action::Hold),
    }
}

/// A warning if offloads of other interfaces merge packets before they are held.
fn merged(ports: &[Port], super_packets: bool) -> Option<String> {
    let others = Interface::all().ok()?;
    let merging: Vec<String> = others
        .into_iter()
        .filter(|other| {
            ports.iter().all(|port| port.wifi.index != other.index) && other.name != "lo" && other.is_up
        })
        .filter(|other| interface::offloads(&other.name).is_ok_and(|offloads| offloads.receive_merging))
        .map(|other| other.name)
        .collect();
    if merging.is_empty() {
        return None;
    }
    let what = if super_packets {
        "one verdict covers several packets"
    } else {
        "the kernel segments them again, which costs CPU time"
    };
    Some(format!(
        "{} merge received packets: {what}; `ethtool -K {} gro off` disables merging",
        merging.join(", "),
        merging[0]
    ))
}

impl Plan {
    /// The parameters of WQM.
    pub(super) fn wqm(&self) -> airbound_control::queue::WqmConfig {
        match self.config.engine().queue {
            QueueConfig::Wqm(config) => config,
            _ => airbound_control::queue::WqmConfig::default(),
        }
    }
}
