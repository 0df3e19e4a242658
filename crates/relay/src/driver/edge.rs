//! The edge's program.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use airbound_linux::udp::{ReceiveBatch, UdpSocket};
use airbound_senders::stream::StreamConfig;
use serde_json::json;

use super::args::{self, EdgeOptions, required};
use super::error::RelayError;
use super::journal::Journal;
use super::keys::KeyFile;
use super::wait::Waiter;
use super::{CHORES, earlier, entropy, metrics, say, settle};
use crate::protocol::{ClientId, ClientRow, Edge, EdgeConfig, Event, Transmit};

/// The number of the clients' socket; those of backends are the clients' numbers.
const CLIENTS: u64 = u64::MAX;
/// Datagrams sent by one call.
const BATCH: usize = 64;
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
    let socket = bind(listen)?;
    socket.probe_path()?;
    // The backend has to be reachable; the socket is not used.
    drop(backend(to).map_err(|error| RelayError::Input(format!("there is no way to {to}: {error}")))?);
    if options.dry_run {
        let names: std::collections::BTreeSet<&str> = list.iter().map(|key| key.name.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let (start, most) = (config.stream.start, config.stream.most);
        let metrics = metrics_at.map_or("off".to_owned(), |address| address.to_string());
        return say(&format!(
            "edge at {listen}, backend {to}, {} clients ({}), {start} to {most} each, level {}, metrics {metrics}: nothing was started",
            names.len(),
            names.join(" "),
            config.stream.target,
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
        to,
        waiter,
        journal,
        batch: ReceiveBatch::default(),
        sending: Vec::with_capacity(BATCH),
        arena: Vec::new(),
        up: Vec::new(),
        refused: 0,
    };
    let now = airbound_linux::now();
    driver.journal.note(
        now,
        "started",
        json!({ "listen": listen.to_string(), "to": to.to_string() }),
        "it was asked for",
    );
    let (mut chores, mut ready) = (now, Vec::new());
    while !end.load(Ordering::Relaxed) {
        let now = airbound_linux::now();
        if now >= chores {
            chores = now + CHORES;
            driver.look_at_keys(&mut keys);
            if let Some(shared) = &shared {
                let rows: Vec<ClientRow> = driver.edge.rows().map(|(_, row)| row).collect();
                let text =
                    metrics::of_edge(&rows, &driver.edge.counts(), driver.refused, metrics::cpu_seconds());
                metrics::put(shared, text);
            }
        }
        driver.turn();
        driver.waiter.wait(earlier(driver.edge.next_deadline(), chores), &mut ready);
        driver.read(&ready);
    }
    driver.journal.note(airbound_linux::now(), "ended", json!({}), "a signal asked for it");
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
    to: SocketAddr,
    waiter: Waiter,
    journal: Journal,
    batch: ReceiveBatch,
    sending: Vec<Transmit>,
    /// Content of datagrams for the backend, and their clients and ends.
    arena: Vec<u8>,
    up: Vec<(ClientId, usize)>,
    /// Datagrams that the kernel did not take.
    refused: u64,
}

impl Driver {
    /// Sends what is due, and notes what happened.
    fn turn(&mut self) {
        let now = airbound_linux::now();
        self.edge.tick(now);
        while let Some(event) = self.edge.event() {
            self.journal.event(now, &event);
            self.follow(&event);
        }
        loop {
            while self.sending.len() < BATCH
                && let Some(transmit) = self.edge.transmit(now)
            {
                self.sending.push(transmit);
            }
            if self.sending.is_empty() {
                return;
            }
            let datagrams = self.sending.iter().map(|transmit| (Some(transmit.to), &transmit.bytes[..]));
            self.refused += self.socket.send(datagrams) as u64;
            for transmit in self.sending.drain(..) {
                self.edge.recycle(transmit.bytes);
            }
        }
    }

    /// Opens and closes sockets towards the backend.
    fn follow(&mut self, event: &Event) {
        match event {
            Event::Joined { client, .. } => {
                let Some(id) = self.edge.client(client) else { return };
                let place = usize::from(id.0);
                if self.backends.len() <= place {
                    self.backends.resize_with(place + 1, || None);
                }
                if self.backends[place].is_none()
                    && let Ok(socket) = backend(self.to)
                    && self.waiter.add(&socket, u64::from(id.0)).is_ok()
                {
                    self.backends[place] = Some(socket);
                }
            }
            Event::Left { .. } => {
                let here: Vec<ClientId> = self.edge.rows().map(|(id, _)| id).collect();
                for (place, socket) in self.backends.iter_mut().enumerate() {
                    if !here.iter().any(|id| usize::from(id.0) == place) {
                        *socket = None;
                    }
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, ready: &[u64]) {
        for number in ready {
            if *number == CLIENTS { self.read_clients() } else { self.read_backend(*number) }
        }
    }

    fn read_clients(&mut self) {
        // An error of a socket that is not connected is about a datagram sent earlier.
        let _ = self.socket.receive(&mut self.batch);
        let now = airbound_linux::now();
        self.arena.clear();
        self.up.clear();
        for datagram in self.batch.iter() {
            if let Some((client, payload)) = self.edge.receive(now, datagram.from, datagram.bytes) {
                self.arena.extend_from_slice(payload);
                self.up.push((client, self.arena.len()));
            }
        }
        // A first packet has brought a client's keys into force: its socket is needed now.
        while let Some(event) = self.edge.event() {
            self.journal.event(now, &event);
            self.follow(&event);
        }
        let mut begin = 0;
        for group in self.up.chunk_by(|one, other| one.0 == other.0) {
            let Some((client, _)) = group.first() else { continue };
            let arena = &self.arena;
            let datagrams = group.iter().map(|(_, end)| {
                let datagram = arena.get(begin..*end).unwrap_or_default();
                begin = *end;
                (None, datagram)
            });
            match self.backends.get_mut(usize::from(client.0)) {
                Some(Some(socket)) => self.refused += socket.send(datagrams) as u64,
                _ => datagrams.for_each(drop),
            }
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

    fn look_at_keys(&mut self, keys: &mut KeyFile) {
        if !keys.has_changed() {
            return;
        }
        let now = airbound_linux::now();
        let taken = keys.read().map_err(|error| error.to_string()).and_then(|list| {
            self.edge.set_keys(now, &list).map_err(|error| error.to_string())?;
            Ok(list.len())
        });
        match taken {
            Ok(count) => self.journal.note(now, "keys", json!({ "keys": count }), "the file has changed"),
            Err(why) => self.journal.note(now, "keys-refused", json!({}), &why),
        }
    }
}
