//! The client's program.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use airbound_linux::nl80211::Wireless;
use airbound_linux::udp::{ReceiveBatch, UdpSocket, stamp_now};
use airbound_units::{BitRate, Instant};
use serde_json::json;

use super::args::{self, ClientOptions, required};
use super::edge::bind;
use super::error::RelayError;
use super::journal::Journal;
use super::keys::KeyFile;
use super::wait::Waiter;
use super::{CHORES, entropy, metrics, say, settle};
use crate::protocol::{Client, ClientConfig, LARGEST_DATAGRAM, Transmit};

/// The numbers of the sockets towards the edge and the application.
const EDGE: u64 = 0;
const APPLICATION: u64 = 1;
/// Datagrams sent by one call.
const BATCH: usize = 64;

/// Source of the PHY rate.
enum Phy {
    Unknown,
    Fixed(BitRate),
    Interface(Wireless, u32),
}

impl Phy {
    fn of(options: &ClientOptions) -> Result<Self, RelayError> {
        if let Some(rate) = options.phy_rate {
            return Ok(Self::Fixed(rate));
        }
        let Some(name) = &options.interface else { return Ok(Self::Unknown) };
        let mut wireless = Wireless::open()?;
        let number = wireless.interface(name).map_err(|error| RelayError::Input(error.to_string()))?.index;
        Ok(Self::Interface(wireless, number))
    }

    fn rate(&mut self) -> Option<BitRate> {
        match self {
            Self::Unknown => None,
            Self::Fixed(rate) => Some(*rate),
            Self::Interface(wireless, number) => {
                let stations = wireless.stations(*number).unwrap_or_default();
                stations.first().and_then(|station| station.receive_rate).map(|rate| rate.rate)
            }
        }
    }
}

/// Runs the client until a signal.
pub(super) fn run(options: ClientOptions) -> Result<(), RelayError> {
    let options = options.with_file()?;
    let (edge, listen) = (required(options.edge, "edge")?, required(options.listen, "listen")?);
    let mut keys = KeyFile::new(&required(options.keys.clone(), "keys")?);
    let list = keys.read()?;
    let largest = args::largest(options.largest, LARGEST_DATAGRAM)?;
    let metrics_at = args::metrics(options.metrics.as_deref(), None)?;
    let mut phy = Phy::of(&options)?;
    let application = bind(listen)?;
    let any = if edge.is_ipv6() { SocketAddr::from(([0; 16], 0)) } else { SocketAddr::from(([0; 4], 0)) };
    let socket = bind(any)?;
    socket.probe_path()?;
    let now = airbound_linux::now();
    let epoch_us = (stamp_now().as_nanos().saturating_sub(now.as_nanos())) / 1000;
    let config = ClientConfig { edge, keys: list.clone(), largest, epoch_us };
    let mut client = Client::new(now, config, entropy()?)
        .ok_or_else(|| RelayError::Input("there is no key".to_owned()))?;
    client.phy_rate(phy.rate()).map_err(|error| RelayError::Input(error.to_string()))?;
    if options.dry_run {
        let name = list.last().map(|key| key.name.as_str()).unwrap_or_default();
        let rate = phy.rate().map_or("unknown".to_owned(), |rate| rate.to_string());
        return say(&format!(
            "client {name} for applications at {listen}, edge {edge}, PHY rate {rate}: nothing was started"
        ));
    }
    let journal = Journal::open(options.journal.as_deref())?;
    // Threads keep the capabilities of their begin.
    let end = settle()?;
    let shared = metrics_at.map(metrics::serve).transpose()?;
    let waiter = Waiter::new()?;
    waiter.add(&socket, EDGE).map_err(RelayError::io("wait for the edge"))?;
    waiter.add(&application, APPLICATION).map_err(RelayError::io("wait for the application"))?;
    let mut driver = Driver {
        client,
        socket,
        application,
        waiter,
        journal,
        batch: ReceiveBatch::default(),
        sending: Vec::with_capacity(BATCH),
        arena: Vec::new(),
        ends: Vec::new(),
        peer: None,
    };
    driver.journal.note(
        now,
        "started",
        json!({ "listen": listen.to_string(), "edge": edge.to_string() }),
        "it was asked for",
    );
    let (mut chores, mut ready) = (now, Vec::new());
    while !end.load(Ordering::Relaxed) {
        let now = airbound_linux::now();
        if now >= chores {
            chores = now + CHORES;
            let _ = driver.client.phy_rate(phy.rate());
            if keys.has_changed() {
                driver.take_keys(now, &mut keys);
            }
            if let Some(shared) = &shared {
                let (counts, joined) = (driver.client.counts(), driver.client.is_joined());
                let text = metrics::of_client(&counts, joined, driver.client.mtu(), metrics::cpu_seconds());
                metrics::put(shared, text);
            }
        }
        driver.turn();
        driver.waiter.wait(driver.client.next_deadline().min(chores), &mut ready);
        for number in &ready {
            if *number == EDGE { driver.read_edge() } else { driver.read_application() }
        }
    }
    let now = airbound_linux::now();
    driver.client.close(now);
    driver.turn();
    driver.journal.note(now, "ended", json!({}), "a signal asked for it");
    Ok(())
}

struct Driver {
    client: Client,
    socket: UdpSocket,
    application: UdpSocket,
    waiter: Waiter,
    journal: Journal,
    batch: ReceiveBatch,
    sending: Vec<Transmit>,
    /// Content of datagrams for the application, and their ends.
    arena: Vec<u8>,
    ends: Vec<usize>,
    /// The application's address: where its last datagram came from.
    peer: Option<SocketAddr>,
}

impl Driver {
    /// Sends what is due, and notes what happened.
    fn turn(&mut self) {
        let now = airbound_linux::now();
        self.client.tick(now);
        while let Some(event) = self.client.event() {
            self.journal.event(now, &event);
        }
        loop {
            while self.sending.len() < BATCH
                && let Some(transmit) = self.client.transmit()
            {
                self.sending.push(transmit);
            }
            if self.sending.is_empty() {
                return;
            }
            self.socket.send(self.sending.iter().map(|transmit| (Some(transmit.to), &transmit.bytes[..])));
            for transmit in self.sending.drain(..) {
                self.client.recycle(transmit.bytes);
            }
        }
    }

    fn read_edge(&mut self) {
        // An error of a socket that is not connected is about a datagram sent earlier: the edge is not there.
        let _ = self.socket.receive(&mut self.batch);
        let (now, stamps) = (airbound_linux::now(), stamp_now());
        self.arena.clear();
        self.ends.clear();
        for datagram in self.batch.iter() {
            let stamp = datagram.stamp.unwrap_or(stamps);
            let brought = self.client.receive(now, stamp, Some(stamps), datagram.from, datagram.bytes);
            if let Some(payload) = brought {
                self.arena.extend_from_slice(payload);
                self.ends.push(self.arena.len());
            }
        }
        let Some(peer) = self.peer else { return };
        let mut begin = 0;
        let arena = &self.arena;
        self.application.send(self.ends.iter().map(|end| {
            let datagram = arena.get(begin..*end).unwrap_or_default();
            begin = *end;
            (Some(peer), datagram)
        }));
    }

    fn read_application(&mut self) {
        // An application that has ended refuses datagrams.
        let _ = self.application.receive(&mut self.batch);
        let now = airbound_linux::now();
        for datagram in self.batch.iter() {
            self.peer = Some(datagram.from);
            self.client.enqueue(now, datagram.bytes);
        }
    }

    fn take_keys(&mut self, now: Instant, keys: &mut KeyFile) {
        match keys.read() {
            Ok(list) => {
                self.client.set_keys(now, list);
                self.journal.note(now, "keys", json!({}), "the file has changed");
            }
            Err(error) => self.journal.note(now, "keys-refused", json!({}), &error.to_string()),
        }
    }
}
