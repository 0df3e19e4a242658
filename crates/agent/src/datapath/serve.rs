//! The mechanism that holds packets: connects the packet queue, completions and kernel notifications to the engine.

mod bypass;
mod upkeep;
mod waiting;

use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

use airbound_linux::completions::{CompletionConfig, Completions, Source};
use airbound_linux::interface::Interface;
use airbound_linux::monitor::{Change, Monitor};
use airbound_linux::neighbours::Neighbours;
use airbound_linux::nfqueue::{PacketId, Queue, QueueConfig};
use airbound_linux::nftables::{self, Plane, Rules, Switch, Table};
use airbound_linux::nl80211::{Station, Survey, WifiInterface, Wireless};
use airbound_linux::privileges::{self, Capability};
use airbound_linux::{LinuxError, now};
use airbound_units::{Instant, Span};
use upkeep::Upkeep;
use waiting::Alarms;

use super::classify::{Classifier, Hosts, facts_of, mark_of};
use super::plan::Plan;
use super::ports::{self, Port};
use super::settings::{Settings, retries_settable};
use super::tune::{shares, survey};
use super::{Callbacks, cpu_s, kernel, publish};
use crate::config::{CompletionSource, Scheme};
use crate::control::{self, Asked, Socket};
use crate::engine::{Arrival, Completion, Engine, Fate, StationFacts};
use crate::error::AgentError;
use crate::journal::{Event, Journal};
use crate::snapshot::{BoundView, InterfaceRow, LinkRow, Snapshot};

/// Interval at which stations and their rates are read, and the inverse of the share of time that this may take: the kernel needs up to
/// 100 us for each station.
const STATIONS: Span = Span::from_secs(1);
const REST: u64 = 66;
/// The same for readings that a station's coming or leaving asks for.
const HASTE: u64 = 10;
/// Interval at which the snapshot is renewed.
const SNAPSHOT: Span = Span::from_millis(250);
/// Interval at which the nftables rules are checked, besides notifications.
const RULES: Span = Span::from_secs(5);
/// Packets received at a time, before completions are read.
const BATCH: usize = 128;
/// Batches received at the end: more packets than the queue may hold.
const MOST_BATCHES: usize = 1024;
/// Numbers of packet queues tried besides the first, which another agent may have.
const OTHER_QUEUES: u16 = 15;

impl Plan {
    /// The initial snapshot.
    pub(super) fn snapshot(&self, completions: &str) -> Snapshot {
        Snapshot {
            airbound: env!("CARGO_PKG_VERSION").to_owned(),
            interface: ports::listed(self.interface_names()),
            scheme: self.config.scheme.name().to_owned(),
            completions: completions.to_owned(),
            in_force: self.in_force(),
            ..Snapshot::default()
        }
    }

    /// The first event of the journal.
    pub(super) fn started(&self, completions: &str) -> Event {
        Event::Started {
            interface: ports::listed(self.interface_names()),
            pid: std::process::id(),
            scheme: self.config.scheme.name().to_owned(),
            plane: planes_text(&self.rules),
            completions: completions.to_owned(),
            in_force: self.in_force(),
        }
    }
}

/// The hooks of rules, as in the journal.
fn planes_text(rules: &Rules) -> String {
    let planes = rules.planes();
    let of = |plane: &Plane| {
        let names = rules.ports.iter().filter(|(_, planes)| planes.contains(plane)).map(|(name, _)| name);
        let plane = format!("{plane:?}").to_lowercase();
        format!("{plane} {}", ports::listed(names))
    };
    planes.iter().map(of).collect::<Vec<_>>().join("; ")
}

/// The state of the event loop.
struct Server<'a> {
    plan: &'a Plan,
    engine: Engine,
    queue: Queue,
    completions: Completions,
    monitor: Monitor,
    alarms: Alarms,
    wireless: Wireless,
    classifier: Classifier,
    settings: Settings,
    journal: Journal,
    table: Table,
    switch: Switch,
    /// Work on the rules that is under way.
    upkeep: Option<Upkeep>,
    snapshot: Snapshot,
    started: Instant,
    /// The interfaces that are there.
    ports: Vec<Port>,
    due: Due,
    last_survey: Option<Survey>,
    /// Requests of the control socket, which goes with them.
    control: Option<(Receiver<Asked>, Socket)>,
    /// Reused buffers for what was read and not passed to the engine yet.
    completed: Vec<Completion>,
    arrived: Vec<Arrival>,
}

/// Deadlines of the periodic tasks.
#[derive(Debug)]
struct Due {
    stations: Instant,
    /// Before this time stations are not read again.
    earliest: Instant,
    snapshot: Instant,
    rules: Instant,
}

fn indexes(ports: &[Port]) -> Vec<u32> {
    ports.iter().map(|port| port.wifi.index).collect()
}

fn hosts_of(port: &Port) -> Result<Hosts, LinuxError> {
    let interface = port.wifi.index;
    Ok(Hosts { interface, neighbours: Neighbours::of(interface)?, relay: None })
}

pub(super) fn serve(plan: &Plan, mut callbacks: Callbacks<'_>) -> Result<(), AgentError> {
    let mut server = Server::open(plan, &mut callbacks)?;
    let shared = callbacks.shared.clone();
    let result = server.run(&mut callbacks);
    (callbacks.ends)();
    server.close(&result, shared.as_ref());
    result
}

impl<'a> Server<'a> {
    fn open(plan: &'a Plan, callbacks: &mut Callbacks<'_>) -> Result<Self, AgentError> {
        let secret = callbacks.secret;
        let started = now();
        let config = &plan.config;
        let journal =
            Journal::open(config.journal.as_deref(), config.radio.as_ref().map(|radio| radio.name.as_str()))?;
        let engine = Engine::new(config.engine(), secret)?;
        nftables::remove_leftovers(plan.owner())?;
        let wireless = Wireless::open()?;
        let monitor = Monitor::open(indexes(&plan.ports))?;
        let source = match config.completions {
            CompletionSource::Auto => None,
            CompletionSource::Ebpf => Some(Source::Traced),
            CompletionSource::Counters => Some(Source::Polled),
        };
        let source = CompletionConfig { source, ..CompletionConfig::default() };
        let mut completions = Completions::open(&plan.first().wifi, &source)?;
        if completions.source() == Source::Polled {
            plan.can_keep_by_counters(completions.why_polled())?;
        }
        completions.watch(&indexes(&plan.ports));
        let others = if config.queue_number.is_some() { 0 } else { OTHER_QUEUES };
        let queue = QueueConfig {
            number: plan.rules.queue,
            // The kernel's limit is above the engine's, so that the engine decides which packets are dropped.
            held: u32::try_from(config.hold_packets + config.hold_packets / 2 + 256).unwrap_or(u32::MAX),
            super_packets: config.super_packets,
            ..QueueConfig::default()
        };
        let queue = Queue::open_from(&queue, others)?;
        // The eBPF programs are loaded and mac80211's types read, which needs CAP_SYS_ADMIN. Rules and settings need CAP_NET_ADMIN
        // only.
        privileges::keep_only(&[Capability::NetworkAdministration])?;
        (callbacks.opened)()?;
        let source = match (completions.source(), completions.why_polled()) {
            (Source::Traced, _) => "eBPF".to_owned(),
            (Source::Polled, None) => "counters of nl80211".to_owned(),
            (Source::Polled, Some(why)) => format!("counters of nl80211 ({why})"),
        };
        let mut classifier = Classifier::new(config.rules.clone(), &kernel());
        classifier.hosts = plan.ports.iter().map(hosts_of).collect::<Result<_, _>>()?;
        let due = Due { stations: started, earliest: started, snapshot: started, rules: started + RULES };
        // Last, since packets arrive from here on.
        let table = Table::install(&Rules { queue: queue.number(), ..plan.rules.clone() })?;
        let mut server = Self {
            snapshot: plan.snapshot(&source),
            plan,
            engine,
            alarms: Alarms::open(&queue, &completions, &monitor)?,
            queue,
            completions,
            monitor,
            wireless,
            classifier,
            settings: Settings::default(),
            journal,
            table,
            switch: Switch::open()?,
            upkeep: None,
            started,
            ports: plan.ports.clone(),
            due,
            last_survey: None,
            control: None,
            completed: Vec::new(),
            arrived: Vec::new(),
        };
        server.journal.event(started, &plan.started(&source));
        if server.completions.counts_below() && server.table.rules().through.is_some() {
            server.engine.allow_bypass(started);
        }
        server.open_control(started);
        Ok(server)
    }

    /// Makes the control socket; the agent works without it.
    fn open_control(&mut self, time: Instant) {
        let (sender, receiver) = sync_channel(1);
        match control::serve(Path::new(control::FOLDER), self.plan.interface_names(), sender) {
            Ok(socket) => self.control = Some((receiver, socket)),
            Err(error) => self.journal.event(time, &Event::NoControl { answer: error.to_string() }),
        }
    }

    fn take_requests(&mut self, time: Instant) {
        for asked in self.control.iter().flat_map(|(requests, _)| requests.try_iter()) {
            asked.answer(self.engine.change_demand_of(time, &asked.request));
        }
    }

    /// Runs the event loop until shutdown is requested or the interface disappears.
    fn run(&mut self, callbacks: &mut Callbacks<'_>) -> Result<(), AgentError> {
        while (callbacks.beat)() {
            let tick = self.engine.next_deadline();
            let readable = self.wait_readable(tick);
            // The clock is read, and verdicts are sent, once in an iteration: at thousands of iterations a second system calls are
            // a large part of the cost.
            let time = now();
            self.take_completions(time)?;
            self.hold_if_filled(time);
            if readable.packets {
                self.receive_packets()?;
            }
            self.pass_traffic(time);
            if readable.changes {
                self.take_changes(time)?;
            }
            self.run_due(time, callbacks.shared.as_ref())?;
            self.take_requests(time);
            if tick.is_some_and(|at| at <= time) {
                self.engine.on_tick(time);
            }
            self.apply_output()?;
        }
        Ok(())
    }

    /// Reads pending packets. Returns their count.
    fn receive_packets(&mut self) -> Result<usize, AgentError> {
        let (classifier, arrived) = (&mut self.classifier, &mut self.arrived);
        Ok(self.queue.receive(BATCH, |packet| arrived.push(classifier.arrival(packet)))?)
    }

    /// Passes to the engine what was read.
    fn pass_traffic(&mut self, time: Instant) {
        if !self.completed.is_empty() || !self.arrived.is_empty() {
            self.engine.on_batch(time, self.completed.drain(..), &self.arrived);
            self.arrived.clear();
        }
    }

    /// Empties the rules, and releases what is held. Deleting a rule's chain would drop it.
    fn let_go(&mut self, time: Instant) -> Result<(), LinuxError> {
        let detached = self.table.detach();
        // Packets that were on their way to the queue.
        for _ in 0..MOST_BATCHES {
            if !self.receive_packets().is_ok_and(|count| count > 0) {
                break;
            }
            self.pass_traffic(time);
        }
        self.engine.drain(time);
        let _ = self.apply_output();
        detached
    }

    /// Reads pending completions.
    fn take_completions(&mut self, time: Instant) -> Result<(), AgentError> {
        let (classifier, completed) = (&self.classifier, &mut self.completed);
        let drained = self.completions.drain(time, |seen| completed.extend(classifier.completions(seen)));
        if self.completions.source() == Source::Polled {
            self.engine.set_lateness(self.completions.interval());
        }
        Ok(drained?)
    }

    fn take_changes(&mut self, time: Instant) -> Result<(), AgentError> {
        let mut changes = Vec::new();
        self.monitor.read(|change| changes.push(change));
        for change in changes {
            match change {
                Change::StationJoined(_) => self.due.stations = time.max(self.due.earliest),
                Change::StationLeft(station) => {
                    self.engine.on_station_left(time, station);
                    self.settings.forget(station);
                    // It may have moved to another of the interfaces.
                    self.due.stations = self.due.stations.min(time.max(self.due.earliest));
                }
                Change::Interface(interface) => self.on_interface(time, interface),
                Change::InterfaceGone(index) => {
                    let ports = self.ports.iter().filter(|port| port.wifi.index != index).cloned().collect();
                    self.adopt(time, ports)?;
                }
                Change::Neighbour(neighbour) => {
                    if let Some((station, waited)) = self.classifier.on_neighbour(&neighbour) {
                        self.engine.on_receiver_known(station, waited);
                    }
                }
                Change::RulesTouched => self.due.rules = time,
                Change::Overrun => {
                    self.journal.event(time, &Event::Overrun);
                    self.classifier.hosts = self.ports.iter().map(hosts_of).collect::<Result<_, _>>()?;
                    self.due.stations = time;
                    self.due.rules = time;
                }
            }
        }
        Ok(())
    }

    fn on_interface(&mut self, time: Instant, interface: Interface) {
        let known = self.ports.iter_mut().find(|port| port.wifi.index == interface.index);
        let Some(port) = known else { return };
        let before = std::mem::replace(&mut port.interface, interface);
        let (up, name) = (port.interface.is_up, port.wifi.name.clone());
        if up != before.is_up {
            self.journal.event(time, &Event::Interface { interface: name, up });
            // The kernel dropped the packets held for an interface that is down.
            self.due.stations = time;
        }
        self.move_rules(time);
    }

    /// Looks for interfaces that came, as hostapd makes one for a station with four addresses.
    fn look_for_interfaces(&mut self, time: Instant) -> Result<(), AgentError> {
        // Without an answer those known stay.
        let Ok(all) = self.wireless.interfaces() else { return Ok(()) };
        let present = self.plan.present(&all);
        let is_same = |port: &Port, wifi: &WifiInterface| {
            port.wifi.index == wifi.index && port.wifi.has_four_addresses == wifi.has_four_addresses
        };
        if present.len() == self.ports.len()
            && self.ports.iter().zip(&present).all(|(port, wifi)| is_same(port, wifi))
        {
            return Ok(());
        }
        // One that has disappeared since is announced.
        let ports = present.into_iter().filter_map(|wifi| Port::find(wifi).ok()).collect();
        self.adopt(time, ports)
    }

    /// Takes over other interfaces.
    fn adopt(&mut self, time: Instant, ports: Vec<Port>) -> Result<(), AgentError> {
        let names = self.plan.interface_names();
        if !ports.iter().any(|port| names.contains(&port.wifi.name)) {
            return Err(AgentError::Gone(ports::listed(names)));
        }
        let differ = |these: &[Port], those: &[Port]| -> Vec<String> {
            let is_new = |port: &&Port| those.iter().all(|other| other.wifi.index != port.wifi.index);
            these.iter().filter(is_new).map(|port| port.wifi.name.clone()).collect()
        };
        // That an interface goes down is said already, and the kernel takes one down before it removes it.
        let up: Vec<Port> = self.ports.iter().filter(|port| port.interface.is_up).cloned().collect();
        let (gone, came) = (differ(&up, &ports), differ(&ports, &self.ports));
        for (interface, up) in
            gone.into_iter().map(|name| (name, false)).chain(came.into_iter().map(|name| (name, true)))
        {
            self.journal.event(time, &Event::Interface { interface, up });
        }
        // An interface that has disappeared meanwhile has no neighbours.
        self.classifier.hosts = ports.iter().map(|port| hosts_of(port).unwrap_or_default()).collect();
        self.ports = ports;
        self.monitor.watch(indexes(&self.ports));
        self.completions.watch(&indexes(&self.ports));
        self.due.stations = time;
        self.move_rules(time);
        Ok(())
    }

    /// Runs the periodic tasks that are due.
    fn run_due(&mut self, time: Instant, shared: Option<&crate::http::Shared>) -> Result<(), AgentError> {
        if time >= self.due.stations {
            self.look_for_interfaces(time)?;
            self.read_stations(time);
            let took = now().since(time);
            self.due.stations = time + STATIONS.max(took * REST);
            self.due.earliest = time + took * HASTE;
        }
        if self.engine.channel_deadline().is_some_and(|at| at <= time) {
            // An interface that was removed and made anew has another number.
            let first = self.ports.first().unwrap_or_else(|| self.plan.first());
            let seen = survey(&mut self.wireless, first.wifi.index);
            let (busy, own) = shares(self.last_survey, seen);
            self.last_survey = seen;
            self.engine.on_channel(time, busy, own);
        }
        self.take_upkeep(time);
        if time >= self.due.rules {
            self.due.rules = time + RULES;
            self.move_rules(time);
            self.check_rules(time);
        }
        if time >= self.due.snapshot {
            self.due.snapshot = time + SNAPSHOT;
            self.update_snapshot(time);
            publish(shared, &self.snapshot);
        }
        Ok(())
    }

    /// Reads the stations and their rates.
    fn read_stations(&mut self, time: Instant) {
        let mut stations: Vec<(u32, Station)> = Vec::new();
        let mut interfaces = Vec::with_capacity(self.ports.len());
        for port in &self.ports {
            let index = port.wifi.index;
            let read = match self.wireless.stations(index) {
                Ok(read) => read,
                // An interface that is down has no stations; the monitor reports one that has disappeared.
                Err(_) if !port.interface.is_up => Vec::new(),
                Err(error) => {
                    return self.journal.event(time, &Event::StationsUnknown { answer: error.to_string() });
                }
            };
            if let Some(hosts) = self.classifier.hosts.iter_mut().find(|hosts| hosts.interface == index) {
                hosts.relay = match read.as_slice() {
                    [only] if port.wifi.has_four_addresses => Some(only.address),
                    _ => None,
                };
            }
            let mut rows: Vec<LinkRow> = read.iter().map(LinkRow::from).collect();
            rows.sort_by(|a, b| a.station.cmp(&b.station));
            interfaces.push(InterfaceRow { interface: port.interface.name.clone(), stations: rows });
            stations.extend(read.into_iter().map(|station| (index, station)));
        }
        self.snapshot.interfaces = interfaces;
        // A station that moves from one interface to another is at both for a moment.
        stations.sort_by_key(|(_, station)| station.address);
        stations.dedup_by_key(|(_, station)| station.address);
        let facts: Vec<StationFacts> = stations.iter().map(|(_, station)| facts_of(station)).collect();
        self.engine.on_stations(time, &facts);
        let plan = self.plan;
        if plan.config.scheme == Scheme::Law {
            if retries_settable(&plan.wiphy) {
                for (interface, station) in &stations {
                    let tries = plan.config.law.tries;
                    let (wireless, journal) = (&mut self.wireless, &mut self.journal);
                    self.settings.limit_tries(time, wireless, *interface, station.address, tries, journal);
                }
            }
            let limited = self.settings.are_tries_limited();
            let bounds = facts.iter().filter_map(|facts| {
                let bound = plan.bound(facts.rate?, limited)?;
                Some(BoundView {
                    station: facts.station.to_string(),
                    limit_q_ms: bound.limit_q.as_millis_f64(),
                    window_ms: bound.window.as_millis_f64(),
                    chain_ms: bound.chain.as_millis_f64(),
                    tries: bound.tries,
                    total_ms: bound.total().as_millis_f64(),
                })
            });
            self.snapshot.bounds = bounds.collect();
        }
    }

    fn update_snapshot(&mut self, time: Instant) {
        self.snapshot.update(time, self.started, &self.engine);
        self.snapshot.cpu_s = cpu_s();
        self.snapshot.reading_s = self.completions.counters().reading.as_secs_f64();
        let counters = self.queue.counters();
        self.snapshot.totals.overruns = counters.overruns;
        self.snapshot.totals.refused = counters.refused;
    }

    /// Applies the engine's output: sends verdicts, writes the journal.
    fn apply_output(&mut self) -> Result<(), AgentError> {
        let time = self.engine.now();
        let output = self.engine.output();
        for verdict in output.verdicts.drain(..) {
            let id = PacketId(verdict.ticket.0);
            match verdict.fate {
                Fate::Release => self.queue.accept(id, Some(mark_of(verdict.ticket)))?,
                Fate::Drop(_) => self.queue.drop(id)?,
            }
        }
        for decision in output.decisions.drain(..) {
            self.journal.decision(time, &decision);
        }
        let passage = output.passage.take();
        self.queue.flush()?;
        // After the verdicts: what goes through overtakes only what comes to the queue meanwhile.
        self.take(passage);
        Ok(())
    }

    /// Removes the rules, releases held packets, and restores the driver's settings.
    fn close(mut self, result: &Result<(), AgentError>, shared: Option<&crate::http::Shared>) {
        let time = now();
        self.wait_for_upkeep(time);
        let held = self.engine.held() as u64;
        self.update_snapshot(time);
        publish(shared, &self.snapshot);
        let detached = self.let_go(time);
        let removed = detached.and(self.table.clone().remove());
        let (radio, ports) = (self.plan.radio(), &self.ports);
        self.settings.restore(time, &mut self.wireless, radio, ports, &mut self.journal);
        let reason = match (result, removed) {
            (Err(error), _) => error.to_string(),
            (Ok(()), Err(error)) => {
                format!("shutdown requested; the nftables rules cannot be removed: {error}")
            }
            (Ok(()), Ok(())) => "shutdown requested".to_owned(),
        };
        self.journal.event(time, &Event::Ended { released: held, reason });
    }
}
