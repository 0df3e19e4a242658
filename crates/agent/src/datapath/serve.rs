//! The mechanism that holds packets: connects the packet queue, completions and kernel notifications to the engine.

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

use airbound_linux::completions::{CompletionConfig, Completions, Source};
use airbound_linux::monitor::{Change, Monitor};
use airbound_linux::neighbours::Neighbours;
use airbound_linux::nfqueue::{PacketId, Queue, QueueConfig};
use airbound_linux::nftables::{self, Rules, Table};
use airbound_linux::nl80211::{Survey, Wireless};
use airbound_linux::privileges::{self, Capability};
use airbound_linux::{LinuxError, now};
use airbound_units::{Instant, Span};
use rustix::event::{PollFd, PollFlags};

use super::classify::{Classifier, facts_of, mark_of};
use super::plan::Plan;
use super::settings::{Settings, retries_settable};
use super::tune::{shares, survey};
use super::{Around, cpu_s, kernel, publish, wait};
use crate::config::Scheme;
use crate::control::{self, Asked, Socket};
use crate::engine::{Completion, Engine, Fate, StationFacts};
use crate::error::AgentError;
use crate::journal::{Event, Journal};
use crate::snapshot::{BoundView, Snapshot};

/// Longest sleep of the event loop, so that heartbeats are sent in time.
const LONGEST_WAIT: Span = Span::from_millis(50);
/// Interval at which stations and their rates are read.
const STATIONS: Span = Span::from_secs(1);
/// Interval at which the snapshot is renewed.
const SNAPSHOT: Span = Span::from_millis(250);
/// Interval at which the nftables rules are checked, besides notifications.
const RULES: Span = Span::from_secs(5);
/// Wait after a failed attempt to restore the rules.
const RETRY: Span = Span::from_secs(1);
/// Packets received at a time, before completions are read.
const BATCH: usize = 128;
/// Batches received at the end: more packets than the queue may hold.
const MOST_BATCHES: usize = 1024;

impl Plan {
    /// The initial snapshot.
    pub(super) fn snapshot(&self, completions: &str) -> Snapshot {
        Snapshot {
            airbound: env!("CARGO_PKG_VERSION").to_owned(),
            interface: self.wifi.name.clone(),
            scheme: self.config.scheme.name().to_owned(),
            completions: completions.to_owned(),
            in_force: self.in_force(),
            ..Snapshot::default()
        }
    }

    /// The first event of the journal.
    pub(super) fn started(&self, completions: &str) -> Event {
        Event::Started {
            interface: self.wifi.name.clone(),
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
    let planes: Vec<String> = rules.planes.iter().map(|plane| format!("{plane:?}").to_lowercase()).collect();
    planes.join("+")
}

/// The state of the event loop.
struct Server<'a> {
    plan: &'a Plan,
    engine: Engine,
    queue: Queue,
    completions: Completions,
    monitor: Monitor,
    wireless: Wireless,
    classifier: Classifier,
    settings: Settings,
    journal: Journal,
    table: Table,
    snapshot: Snapshot,
    started: Instant,
    is_up: bool,
    due: Due,
    last_survey: Option<Survey>,
    /// Requests of the control socket, which goes with them.
    control: Option<(Receiver<Asked>, Socket)>,
    /// Reused buffer for completions.
    completed: Vec<Completion>,
}

/// Whether the packet queue and the monitor have something to read.
#[derive(Debug, Clone, Copy)]
struct Readable {
    packets: bool,
    changes: bool,
}

/// Deadlines of the periodic tasks.
#[derive(Debug)]
struct Due {
    stations: Instant,
    snapshot: Instant,
    rules: Instant,
}

pub(super) fn serve(plan: &Plan, mut around: Around<'_>) -> Result<(), AgentError> {
    let mut server = Server::open(plan, &mut around)?;
    let shared = around.shared.clone();
    let result = server.run(around);
    server.close(&result, shared.as_ref());
    result
}

impl<'a> Server<'a> {
    fn open(plan: &'a Plan, around: &mut Around<'_>) -> Result<Self, AgentError> {
        let secret = around.secret;
        let started = now();
        let config = &plan.config;
        let journal = Journal::open(config.journal.as_deref())?;
        let engine = Engine::new(config.engine(), secret)?;
        nftables::remove_leftovers(&plan.rules.interface)?;
        let wireless = Wireless::open()?;
        let monitor = Monitor::open(plan.wifi.index)?;
        let neighbours = Neighbours::of(plan.wifi.index)?;
        let completions = Completions::open(&plan.wifi, &CompletionConfig::default())?;
        let queue = Queue::open(&QueueConfig {
            number: plan.rules.queue,
            // The kernel's limit is above the engine's, so that the engine decides which packets are dropped.
            held: u32::try_from(config.hold_packets + config.hold_packets / 2 + 256).unwrap_or(u32::MAX),
            super_packets: config.super_packets,
            ..QueueConfig::default()
        })?;
        // The eBPF programs are loaded and mac80211's types read, which needs CAP_SYS_ADMIN. Rules and settings need CAP_NET_ADMIN
        // only.
        privileges::keep_only(&[Capability::NetworkAdministration])?;
        (around.opened)()?;
        let source = match (completions.source(), completions.why_polled()) {
            (Source::Traced, _) => "eBPF".to_owned(),
            (Source::Polled, None) => "counters of nl80211".to_owned(),
            (Source::Polled, Some(why)) => format!("counters of nl80211 ({why})"),
        };
        let classifier = Classifier::new(config.rules.clone(), neighbours, &kernel());
        let due = Due { stations: started, snapshot: started, rules: started + RULES };
        // Last, since packets arrive from here on.
        let table = Table::install(&plan.rules)?;
        let mut server = Self {
            snapshot: plan.snapshot(&source),
            plan,
            engine,
            queue,
            completions,
            monitor,
            wireless,
            classifier,
            settings: Settings::default(),
            journal,
            table,
            started,
            is_up: plan.interface.is_up,
            due,
            last_survey: None,
            control: None,
            completed: Vec::new(),
        };
        server.journal.event(started, &plan.started(&source));
        server.open_control(started);
        Ok(server)
    }

    /// Makes the control socket; the agent works without it.
    fn open_control(&mut self, time: Instant) {
        let (sender, receiver) = sync_channel(1);
        match control::serve(Path::new(control::FOLDER), &self.plan.wifi.name, sender) {
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
    fn run(&mut self, around: Around<'_>) -> Result<(), AgentError> {
        while (around.beat)() {
            let tick = self.engine.next_deadline();
            let readable = self.wait_readable(tick);
            // The clock is read, and verdicts are sent, once in an iteration: at thousands of iterations a second system calls are
            // a large part of the cost.
            let time = now();
            if readable.packets {
                self.take_packets(time)?;
            }
            self.take_completions(time)?;
            if readable.changes {
                self.take_changes(time)?;
            }
            self.run_due(time, around.shared.as_ref())?;
            self.take_requests(time);
            if tick.is_some_and(|at| at <= time) {
                self.engine.on_tick(time);
            }
            self.apply_output()?;
        }
        Ok(())
    }

    fn wait_readable(&self, tick: Option<Instant>) -> Readable {
        let time = now();
        let mut until = time + LONGEST_WAIT;
        let due = [self.due.stations, self.due.snapshot, self.due.rules];
        let asked = [tick, self.engine.channel_deadline()];
        for at in due.into_iter().chain(asked.into_iter().flatten()) {
            until = until.min(at);
        }
        // The ring buffer does not signal the last completions of a burst, and counters have no descriptor: both are polled.
        if self.has_below() {
            until = until.min(time + self.completions.interval());
        }
        // Packets, completions, and at most three descriptors of the monitor; unused entries poll for no event.
        let mut monitored = self.monitor.descriptors();
        let mut fds: [PollFd<'_>; 5] = std::array::from_fn(|place| {
            let descriptor = match place {
                0 => Some(self.queue.as_fd()),
                1 => self.completions.descriptor(),
                _ => monitored.next(),
            };
            match descriptor {
                Some(descriptor) => PollFd::from_borrowed_fd(descriptor, PollFlags::IN),
                None => PollFd::from_borrowed_fd(self.queue.as_fd(), PollFlags::empty()),
            }
        });
        wait(&mut fds, until.since(time));
        let [packets, _, monitored @ ..] = fds.map(|fd| !fd.revents().is_empty());
        Readable { packets, changes: monitored.contains(&true) }
    }

    fn has_below(&self) -> bool {
        airbound_wifi::edca::Category::ALL.into_iter().any(|category| !self.engine.below(category).is_zero())
    }

    /// Passes pending packets to the engine. Returns their count.
    fn take_packets(&mut self, time: Instant) -> Result<usize, AgentError> {
        let (engine, classifier) = (&mut self.engine, &mut self.classifier);
        let count = self.queue.receive(BATCH, |packet| {
            let arrival = classifier.arrival(packet);
            engine.on_packet(time, &arrival);
        });
        Ok(count?)
    }

    /// Empties the rules, and releases what is held. Deleting a rule's chain would drop it.
    fn let_go(&mut self, time: Instant) -> Result<(), LinuxError> {
        let detached = self.table.detach();
        // Packets that were on their way to the queue.
        for _ in 0..MOST_BATCHES {
            if !self.take_packets(time).is_ok_and(|count| count > 0) {
                break;
            }
        }
        self.engine.drain(time);
        let _ = self.apply_output();
        detached
    }

    fn take_completions(&mut self, time: Instant) -> Result<(), AgentError> {
        let (classifier, completed) = (&self.classifier, &mut self.completed);
        let drained = self.completions.drain(|seen| completed.extend(classifier.completions(seen)));
        if self.completions.source() == Source::Polled {
            self.engine.set_lateness(self.completions.interval());
        }
        if !self.completed.is_empty() {
            self.engine.on_completions(time, self.completed.drain(..));
        }
        Ok(drained?)
    }

    fn take_changes(&mut self, time: Instant) -> Result<(), AgentError> {
        let mut changes = Vec::new();
        self.monitor.read(|change| changes.push(change));
        for change in changes {
            match change {
                Change::StationJoined(_) => self.due.stations = time,
                Change::StationLeft(station) => {
                    self.engine.on_station_left(time, station);
                    self.settings.forget(station);
                }
                Change::Interface(interface) => {
                    if interface.is_up != self.is_up {
                        self.on_interface(time, interface.is_up);
                    }
                    let rules = self.plan.rules_for(&interface);
                    if rules != *self.table.rules() {
                        self.move_rules(time, &rules);
                    }
                }
                Change::InterfaceGone => {
                    let name = self.plan.wifi.name.clone();
                    return Err(AgentError::Linux(LinuxError::NoInterface(name)));
                }
                Change::Neighbour(neighbour) => self.classifier.neighbours.apply(&neighbour),
                Change::RulesTouched => self.due.rules = time,
                Change::Overrun => {
                    self.journal.event(time, &Event::Overrun);
                    self.classifier.neighbours = Neighbours::of(self.plan.wifi.index)?;
                    self.due.stations = time;
                    self.due.rules = time;
                }
            }
        }
        Ok(())
    }

    fn on_interface(&mut self, time: Instant, up: bool) {
        self.is_up = up;
        self.journal.event(time, &Event::Interface { up });
        if up {
            self.due.stations = time;
        } else {
            // The kernel dropped the packets held for the interface.
            self.engine.on_stations(time, &[]);
        }
    }

    /// Holds packets at other hooks from now on: the interface joined or left a bridge.
    fn move_rules(&mut self, time: Instant, rules: &Rules) {
        let _ = self.let_go(time);
        self.install(time, rules, Event::Plane { plane: planes_text(rules) });
    }

    fn install(&mut self, time: Instant, rules: &Rules, done: Event) {
        match Table::install(rules) {
            Ok(table) => {
                self.table = table;
                self.journal.event(time, &done);
            }
            Err(error) => {
                self.table = Table::missing(rules);
                self.due.rules = time + RETRY;
                self.journal.event(time, &Event::RulesMissing { answer: error.to_string() });
            }
        }
    }

    /// Runs the periodic tasks that are due.
    fn run_due(&mut self, time: Instant, shared: Option<&crate::http::Shared>) -> Result<(), AgentError> {
        if time >= self.due.stations {
            self.due.stations = time + STATIONS;
            self.read_stations(time);
        }
        if self.engine.channel_deadline().is_some_and(|at| at <= time) {
            let seen = survey(&mut self.wireless, self.plan.wifi.index);
            let (busy, own) = shares(self.last_survey, seen);
            self.last_survey = seen;
            self.engine.on_channel(time, busy, own);
        }
        if time >= self.due.rules {
            self.due.rules = time + RULES;
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
        // An interface that is down has no stations; the monitor reports one that has disappeared.
        let stations = match self.wireless.stations(self.plan.wifi.index) {
            Ok(stations) => stations,
            Err(_) if !self.is_up => Vec::new(),
            Err(error) => {
                return self.journal.event(time, &Event::StationsUnknown { answer: error.to_string() });
            }
        };
        let facts: Vec<StationFacts> = stations.iter().map(facts_of).collect();
        self.engine.on_stations(time, &facts);
        let plan = self.plan;
        if plan.config.scheme == Scheme::Law {
            if retries_settable(&plan.wiphy) {
                for station in &stations {
                    let tries = plan.config.law.tries;
                    let (wireless, journal) = (&mut self.wireless, &mut self.journal);
                    self.settings.limit_tries(time, wireless, &plan.wifi, station.address, tries, journal);
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

    /// Restores the nftables rules if another program removed them.
    fn check_rules(&mut self, time: Instant) {
        if self.table.is_present().unwrap_or(true) {
            return;
        }
        let rules = self.table.rules().clone();
        self.install(time, &rules, Event::RulesRestored);
    }

    fn update_snapshot(&mut self, time: Instant) {
        self.snapshot.update(time, self.started, &self.engine);
        self.snapshot.cpu_s = cpu_s();
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
        Ok(self.queue.flush()?)
    }

    /// Removes the rules, releases held packets, and restores the driver's settings.
    fn close(mut self, result: &Result<(), AgentError>, shared: Option<&crate::http::Shared>) {
        let time = now();
        let held = self.engine.held() as u64;
        self.update_snapshot(time);
        publish(shared, &self.snapshot);
        let detached = self.let_go(time);
        let removed = detached.and(self.table.clone().remove());
        self.settings.restore(
            time,
            &mut self.wireless,
            &self.plan.wifi,
            &self.plan.interface,
            &mut self.journal,
        );
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
