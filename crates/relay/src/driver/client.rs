//! The client's program.

use std::net::SocketAddr;

use airbound_linux::nl80211::Wireless;
use airbound_linux::udp::{ReceiveBatch, UdpSocket, stamp_now};
use airbound_units::{BitRate, Instant};
use serde_json::json;

use super::args::{self, ClientOptions, required};
use super::edge::bind;
use super::error::RelayError;
use super::journal::Journal;
use super::keys::KeyFile;
use super::turns::{self, Collected, End, Sending};
use super::wait::Waiter;
use super::{entropy, metrics, say, settle};
use crate::protocol::{Client, ClientConfig, LARGEST_DATAGRAM};

/// The numbers of the sockets towards the edge and the application.
const EDGE: u64 = 0;
const APPLICATION: u64 = 1;

/// Source of the PHY rate.
pub(super) enum Phy {
    Unknown,
    Fixed(BitRate),
    Interface(Wireless, u32),
}

impl Phy {
    fn of(options: &ClientOptions) -> Result<Self, RelayError> {
        if let Some(rate) = options.phy_rate {
            return Ok(Self::Fixed(rate));
        }
        options.interface.as_deref().map_or(Ok(Self::Unknown), Self::of_interface)
    }

    /// The rate at which a Wi-Fi interface receives.
    pub(super) fn of_interface(name: &str) -> Result<Self, RelayError> {
        let mut wireless = Wireless::open()?;
        let number = wireless.interface(name).map_err(|error| RelayError::Input(error.to_string()))?.index;
        Ok(Self::Interface(wireless, number))
    }

    pub(super) fn rate(&mut self) -> Option<BitRate> {
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
    metrics::warn(metrics_at);
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
        phy,
        keys,
        metrics: shared,
        batch: ReceiveBatch::default(),
        sending: Sending::default(),
        down: Collected::default(),
        peer: None,
    };
    let started = json!({ "listen": listen.to_string(), "edge": edge.to_string() });
    turns::run(&mut driver, &end, started);
    Ok(())
}

struct Driver {
    client: Client,
    socket: UdpSocket,
    application: UdpSocket,
    waiter: Waiter,
    journal: Journal,
    phy: Phy,
    keys: KeyFile,
    metrics: Option<metrics::Shared>,
    batch: ReceiveBatch,
    sending: Sending,
    /// Datagrams for the application.
    down: Collected<()>,
    /// The application's address: where its last datagram came from.
    peer: Option<SocketAddr>,
}

impl End for Driver {
    fn journal(&mut self) -> &mut Journal {
        &mut self.journal
    }

    fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    fn chores(&mut self, now: Instant) {
        let _ = self.client.phy_rate(self.phy.rate());
        if self.keys.has_changed() {
            self.take_keys(now);
        }
        if let Some(shared) = &self.metrics {
            let (counts, joined) = (self.client.counts(), self.client.is_joined());
            let text = metrics::of_client(&counts, joined, self.client.mtu(), metrics::cpu_seconds());
            metrics::put(shared, text);
        }
    }

    fn turn(&mut self) {
        let now = airbound_linux::now();
        self.client.tick(now);
        while let Some(event) = self.client.event() {
            self.journal.event(now, &event);
        }
        self.sending.send_all(&mut self.client, &mut self.socket, Client::transmit, Client::recycle);
    }

    fn next_deadline(&self) -> Option<Instant> {
        Some(self.client.next_deadline())
    }

    fn read(&mut self, number: u64) {
        if number == EDGE { self.read_edge() } else { self.read_application() }
    }

    fn close(&mut self, now: Instant) {
        self.client.close(now);
    }
}

impl Driver {
    fn read_edge(&mut self) {
        // An error of a socket that is not connected is about a datagram sent earlier: the edge is not there.
        let _ = self.socket.receive(&mut self.batch);
        let (now, stamps) = (airbound_linux::now(), stamp_now());
        self.down.clear();
        for datagram in self.batch.iter() {
            let stamp = datagram.stamp.unwrap_or(stamps);
            let brought = self.client.receive(now, stamp, Some(stamps), datagram.from, datagram.bytes);
            if let Some(payload) = brought {
                self.down.push((), payload);
            }
        }
        let Some(peer) = self.peer else { return };
        for (_, group) in self.down.groups() {
            self.application.send(group.map(|datagram| (Some(peer), datagram)));
        }
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

    fn take_keys(&mut self, now: Instant) {
        match self.keys.read() {
            Ok(list) => {
                self.client.set_keys(now, list);
                self.journal.note(now, "keys", json!({}), "the file has changed");
            }
            Err(error) => self.journal.note(now, "keys-refused", json!({}), &error.to_string()),
        }
    }
}
