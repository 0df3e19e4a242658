//! The edge's program.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;

use airbound_linux::udp::{ReceiveBatch, UdpSocket};
use airbound_senders::stream::StreamConfig;
use airbound_units::Instant;
use serde_json::json;

use super::args::{self, EdgeOptions, required};
use super::error::RelayError;
use super::journal::Journal;
use super::keys::KeyFile;
use super::times::SendTimes;
use super::turns::{self, Collected, End, Sending};
use super::wait::Waiter;
use super::{entropy, metrics, say, settle};
use crate::protocol::{ClientId, ClientRow, Edge, EdgeConfig, Event};

/// The number of the clients' socket; those of backends are the clients' numbers.
const CLIENTS: u64 = u64::MAX;
/// The metrics' usual address.
const METRICS: ([u8; 4], u16) = ([127, 0, 0, 1], 9479);

/// Runs the edge until a signal.
pub(super) fn run(options: EdgeOptions) -> Result<(), RelayError> {
    let options = options.with_file()?;
    let (listen, to) = (required(options.listen, "listen")?, required(options.to, "to")?);
    let mut keys = KeyFile::new(&required(options.keys.clone(), "keys")?);
    let config = config_of(&options)?;
    let list = keys.read()?;
    let edge = Edge::new(config, &list, entropy()?).map_err(|error| RelayError::Input(error.to_string()))?;
    let metrics_at = args::metrics(options.metrics.as_deref(), Some(SocketAddr::from(METRICS)))?;
    metrics::warn(metrics_at);
    let socket = bind(listen)?;
    socket.probe_path()?;
    let times = options.txtime.as_deref().map(|interface| SendTimes::ask(interface, &socket)).transpose()?;
    // The backend has to be reachable; the socket is not used.
    drop(backend(to).map_err(|error| RelayError::Input(format!("there is no way to {to}: {error}")))?);
    if options.dry_run {
        let names: BTreeSet<&str> = list.iter().map(|key| key.name.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let (start, most) = (config.stream.start, config.stream.most);
        let metrics = metrics_at.map_or("off".to_owned(), |address| address.to_string());
        return say(&format!(
            "edge at {listen}, backend {to}, {} client{} ({}), {start} to {most} each, level {}, metrics {metrics}{}: nothing was started",
            names.len(),
            if names.len() == 1 { "" } else { "s" },
            names.join(" "),
            config.stream.target,
            times.map_or(String::new(), |times| format!(
                ", packets sent at their times by {}",
                times.interface()
            )),
        ));
    }
    let journal = Journal::open(options.journal.as_deref())?;
    // Threads keep the capabilities of their begin.
    let end = settle()?;
    let shared = metrics_at.map(metrics::serve).transpose()?;
    let waiter = Waiter::new()?;
    waiter.add(&socket, CLIENTS).map_err(RelayError::io("wait for clients"))?;
    let mut driver = Driver {
        edge,
        socket,
        backends: Vec::new(),
        without: BTreeSet::new(),
        unopened: 0,
        to,
        waiter,
        journal,
        keys,
        times,
        metrics: shared,
        batch: ReceiveBatch::default(),
        sending: Sending::default(),
        up: Collected::default(),
        refused: 0,
    };
    let started = json!({ "listen": listen.to_string(), "to": to.to_string() });
    turns::run(&mut driver, &end, started);
    Ok(())
}

fn config_of(options: &EdgeOptions) -> Result<EdgeConfig, RelayError> {
    let usual = EdgeConfig::default();
    let stream = StreamConfig {
        start: options.start.unwrap_or(usual.stream.start),
        least: options.least.unwrap_or(usual.stream.least),
        most: options.most.unwrap_or(usual.stream.most),
        target: options.target.unwrap_or(usual.stream.target),
        ..usual.stream
    };
    stream.check().map_err(|error| RelayError::Input(error.to_string().replace("_bps", "")))?;
    Ok(EdgeConfig { stream, largest: args::largest(options.largest, usual.largest)?, ..usual })
}

/// A socket at an address of the configuration.
pub(super) fn bind(listen: SocketAddr) -> Result<UdpSocket, RelayError> {
    UdpSocket::bind(listen).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            RelayError::Input(format!("the UDP port of {listen} is taken by another program; choose another"))
        }
        _ => RelayError::Input(format!("cannot listen at {listen}: {error}")),
    })
}

fn backend(to: SocketAddr) -> io::Result<UdpSocket> {
    UdpSocket::connect(to)
}

struct Driver {
    edge: Edge,
    socket: UdpSocket,
    /// The socket towards the backend for each client.
    backends: Vec<Option<UdpSocket>>,
    /// Clients for which there is none, since the kernel gave none the last time.
    without: BTreeSet<String>,
    /// Sockets towards the backend that the kernel did not give.
    unopened: u64,
    to: SocketAddr,
    waiter: Waiter,
    journal: Journal,
    keys: KeyFile,
    times: Option<SendTimes>,
    metrics: Option<metrics::Shared>,
    batch: ReceiveBatch,
    sending: Sending,
    /// Datagrams for the backend, by client.
    up: Collected<ClientId>,
    /// Datagrams that the kernel did not take.
    refused: u64,
}

impl End for Driver {
    fn journal(&mut self) -> &mut Journal {
        &mut self.journal
    }

    fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    fn chores(&mut self, now: Instant) {
        self.look_at_keys(now);
        if !self.without.is_empty() {
            self.open_backends(now);
        }
        if let Some((ahead, fields, why)) = self.times.as_mut().and_then(SendTimes::look) {
            self.edge.hand_over_ahead(ahead);
            self.journal.note(now, "send-times", fields, &why);
        }
        if let Some(shared) = &self.metrics {
            let rows: Vec<ClientRow> = self.edge.rows().map(|(_, row)| row).collect();
            let driver = metrics::OfDriver {
                refused: self.refused,
                unopened: self.unopened,
                without: self.without.len(),
                cpu: metrics::cpu_seconds(),
            };
            let text = metrics::of_edge(&rows, &self.edge.counts(), &driver);
            metrics::put(shared, text);
        }
    }

    fn turn(&mut self) {
        let now = airbound_linux::now();
        self.edge.tick(now);
        self.take_events(now);
        let next = |edge: &mut Edge| edge.transmit(now);
        self.refused += self.sending.send_all(&mut self.edge, &mut self.socket, next, Edge::recycle);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.edge.next_deadline()
    }

    fn read(&mut self, number: u64) {
        if number == CLIENTS { self.read_clients() } else { self.read_backend(number) }
    }
}

impl Driver {
    fn take_events(&mut self, now: Instant) {
        while let Some(event) = self.edge.event() {
            self.journal.event(now, &event);
            self.follow(now, &event);
        }
    }

    /// Opens and closes sockets towards the backend.
    fn follow(&mut self, now: Instant, event: &Event) {
        match event {
            Event::Joined { .. } => self.open_backends(now),
            Event::Left { .. } => {
                let here: Vec<ClientId> = self.edge.rows().map(|(id, _)| id).collect();
                for (place, socket) in self.backends.iter_mut().enumerate() {
                    if !here.iter().any(|id| usize::from(id.0) == place) {
                        *socket = None;
                    }
                }
                // The place of a socket may be free now.
                self.open_backends(now);
            }
            _ => {}
        }
    }

    /// Opens the sockets of clients that have none. What the kernel does not give is asked for again each second.
    fn open_backends(&mut self, now: Instant) {
        let here: Vec<(usize, String)> =
            self.edge.rows().map(|(id, row)| (usize::from(id.0), row.name)).collect();
        self.without.retain(|name| here.iter().any(|(_, known)| known == name));
        for (place, name) in here {
            if self.backends.len() <= place {
                self.backends.resize_with(place + 1, || None);
            }
            if self.backends[place].is_some() {
                continue;
            }
            let opened = backend(self.to).and_then(|socket| {
                self.waiter.add(&socket, place as u64)?;
                Ok(socket)
            });
            let fields = json!({ "client": name, "to": self.to.to_string() });
            match opened {
                Ok(socket) => {
                    self.backends[place] = Some(socket);
                    if self.without.remove(&name) {
                        self.journal.note(now, "backend", fields, "the kernel gives a socket again");
                    }
                }
                Err(error) => {
                    self.unopened += 1;
                    if self.without.insert(name) {
                        let why = format!("the kernel gives no socket: {error}");
                        self.journal.note(now, "backend-refused", fields, &why);
                    }
                }
            }
        }
    }

    fn read_clients(&mut self) {
        // An error of a socket that is not connected is about a datagram sent earlier.
        let _ = self.socket.receive(&mut self.batch);
        let now = airbound_linux::now();
        self.up.clear();
        for datagram in self.batch.iter() {
            if let Some((client, payload)) = self.edge.receive(now, datagram.from, datagram.bytes) {
                self.up.push(client, payload);
            }
        }
        // A first packet has brought a client's keys into force: its socket is needed now.
        self.take_events(now);
        for (client, group) in self.up.groups() {
            self.refused += match self.backends.get_mut(usize::from(client.0)) {
                Some(Some(socket)) => socket.send(group.map(|datagram| (None, datagram))) as u64,
                _ => group.count() as u64,
            };
        }
    }

    fn read_backend(&mut self, number: u64) {
        let Ok(client) = u16::try_from(number).map(ClientId) else { return };
        let Some(Some(socket)) = self.backends.get(usize::from(client.0)) else { return };
        // A backend that is not there yet refuses datagrams.
        if socket.receive(&mut self.batch).is_err() {
            return;
        }
        let now = airbound_linux::now();
        for datagram in self.batch.iter() {
            self.edge.enqueue(now, client, datagram.bytes);
        }
    }

    fn look_at_keys(&mut self, now: Instant) {
        if !self.keys.has_changed() {
            return;
        }
        let taken = self.keys.read().map_err(|error| error.to_string()).and_then(|list| {
            self.edge.set_keys(now, &list).map_err(|error| error.to_string())?;
            Ok(list.len())
        });
        match taken {
            Ok(count) => self.journal.note(now, "keys", json!({ "keys": count }), "the file has changed"),
            Err(why) => self.journal.note(now, "keys-refused", json!({}), &why),
        }
    }
}
