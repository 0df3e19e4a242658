//! The policy for the bitrates of a conference.

use airbound_senders::conference::plum::Notice;
use airbound_senders::conference::plum::State;
use airbound_senders::conference::{ClientId, ConferenceConfig, LastN, PlumClient, PlumServer, TackConfig};
use airbound_units::{BitRate, ConfigError, Instant};

use super::config::ConferenceSpec;
use super::layers::Layered;
use airbound_random::{Purpose, Stream};

/// The policy of a running conference.
#[derive(Debug)]
pub(super) enum Policy {
    Plain,
    LastN(LastN, Stream),
    Tack(TackConfig),
    Plum(Box<PlumServer>, Vec<PlumClient>),
    Room(Box<Layered>, Vec<PlumClient>),
}

impl Policy {
    pub(super) fn new(spec: &ConferenceSpec) -> Result<Self, ConfigError> {
        let clients = spec.clients();
        Ok(match spec.policy {
            ConferenceConfig::Plain => Self::Plain,
            ConferenceConfig::LastN(config) => {
                Self::LastN(LastN::new(config, clients)?, Stream::new(spec.seed, Purpose::Session, 0))
            }
            ConferenceConfig::Tack(config) => {
                config.check()?;
                Self::Tack(config)
            }
            ConferenceConfig::Plum(config) => {
                let mut server = PlumServer::new(config, spec.encoder.least)?;
                for client in 0..clients {
                    let weight = spec.weights.get(client).copied().unwrap_or(1.0);
                    server.join(id(client), weight);
                }
                Self::Plum(Box::new(server), vec![PlumClient::new(); clients])
            }
            ConferenceConfig::Room(config) => {
                let weights = (0..clients).map(|client| spec.weights.get(client).copied().unwrap_or(1.0));
                let room = Layered::new(config, spec.encoder.most, weights)?;
                Self::Room(Box::new(room), vec![PlumClient::new(); clients])
            }
        })
    }

    /// When the policy has to be called next.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        match self {
            Self::Plain | Self::Tack(_) => None,
            Self::LastN(session, _) => Some(session.next_deadline()),
            Self::Plum(server, _) => Some(server.next_deadline()),
            Self::Room(room, _) => Some(room.next_deadline()),
        }
    }

    pub(super) fn on_deadline(&mut self, now: Instant) {
        match self {
            Self::Plain | Self::Tack(_) => {}
            Self::LastN(session, draws) => session.on_deadline(now, || draws.unit()),
            Self::Plum(server, _) => server.on_deadline(now),
            Self::Room(room, _) => room.on_deadline(now),
        }
    }

    /// Returns a decision to be sent to a client.
    pub(super) fn poll_notice(&mut self, now: Instant) -> Option<(usize, Notice)> {
        match self {
            Self::Plum(server, _) => {
                server.poll_notice(now).map(|(client, notice)| (usize::from(client.0), notice))
            }
            Self::Room(room, _) => room.poll_notice(now),
            _ => None,
        }
    }

    /// Handles a notice at its client, whose encoder runs at `present`; returns the answer.
    pub(super) fn on_notice(&mut self, client: usize, notice: Notice, present: BitRate) -> Option<u32> {
        match self {
            Self::Plum(_, clients) | Self::Room(_, clients) => {
                clients.get_mut(client).map(|end| end.on_notice(notice, present))
            }
            _ => None,
        }
    }

    pub(super) fn on_answer(&mut self, client: usize, sequence: u32) {
        match self {
            Self::Plum(server, _) => server.on_acknowledged(id(client), sequence),
            Self::Room(room, _) => room.on_acknowledged(client, sequence),
            _ => {}
        }
    }

    /// Takes the estimates of both congestion controls of a client, in bit/s. The server ignores implausible values.
    pub(super) fn on_estimates(&mut self, now: Instant, client: usize, up: f64, down: f64) {
        match self {
            Self::Plum(server, _) => {
                // A refused estimate leaves the previous one in force.
                let _ = server.on_estimates(id(client), up, down);
            }
            Self::Room(room, _) => room.on_estimates(now, client, [up, down]),
            _ => {}
        }
    }

    /// Takes whether packets of a client are lost or wait.
    pub(super) fn on_path(&mut self, now: Instant, client: usize, trouble: bool) {
        if let Self::Room(room, _) = self {
            room.on_path(now, client, trouble);
        }
    }

    /// A client whose downlink is to be estimated anew, and the rate to begin at.
    pub(super) fn take_begin(&mut self) -> Option<(usize, BitRate)> {
        match self {
            Self::Room(room, _) => room.take_begin(),
            _ => None,
        }
    }

    /// A client whose uplink is to be probed, and up to which rate.
    pub(super) fn take_probe(&mut self) -> Option<(usize, BitRate)> {
        match self {
            Self::Plum(server, _) => server.take_probe().map(|(client, rate)| (usize::from(client.0), rate)),
            Self::Room(room, _) => room.take_probe(),
            _ => None,
        }
    }

    /// Takes the present rate of a source's media, in bit/s.
    pub(super) fn on_source(&mut self, now: Instant, source: usize, rate: f64) {
        if let Self::Room(room, _) = self {
            room.on_source(now, source, rate);
        }
    }

    /// The part of a source's media that a viewer gets, 0 to 1; `None` where the policy leaves that to the forwarding unit.
    pub(super) fn part(&self, viewer: usize, source: usize) -> Option<f64> {
        match self {
            Self::Room(room, _) => Some(room.part(viewer, source)),
            _ => None,
        }
    }

    /// Whether a client's upload is paused.
    pub(super) fn is_paused(&self, client: usize) -> bool {
        matches!(self, Self::LastN(session, _) if session.is_paused(client))
    }

    /// The limit of a client's encoder.
    pub(super) fn client_limit(&self, client: usize) -> Option<BitRate> {
        match self {
            Self::Plum(_, clients) | Self::Room(_, clients) => clients.get(client)?.limit(),
            _ => None,
        }
    }

    /// The limit of forwarding to a client.
    pub(super) fn server_limit(&self, client: usize) -> Option<BitRate> {
        match self {
            Self::Plum(server, _) => server.limit(id(client)),
            _ => None,
        }
    }

    /// The rates at which to resume: of the client's encoder, and of the server towards it.
    pub(super) fn take_restored(&mut self, client: usize) -> [Option<BitRate>; 2] {
        match self {
            Self::Plum(server, clients) => {
                let own = clients.get_mut(client).and_then(PlumClient::take_restored);
                [own, server.take_restored(id(client))]
            }
            Self::Room(_, clients) => [clients.get_mut(client).and_then(PlumClient::take_restored), None],
            _ => [None; 2],
        }
    }

    pub(super) const fn tack(&self) -> Option<&TackConfig> {
        match self {
            Self::Tack(config) => Some(config),
            _ => None,
        }
    }

    pub(super) fn plum(&self) -> Option<&PlumServer> {
        match self {
            Self::Plum(server, _) => Some(server),
            _ => None,
        }
    }

    /// The state of a client's pair of streams.
    pub(super) fn state(&self, client: usize) -> State {
        let state = match self {
            Self::Plum(server, _) => server.state(id(client)),
            Self::Room(room, _) => room.state(client),
            _ => None,
        };
        state.unwrap_or_default()
    }
}

const fn id(client: usize) -> ClientId {
    ClientId(client as u16)
}
