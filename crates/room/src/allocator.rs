//! The allocator for other servers: rooms of `airbound-senders` behind lines of JSON, on a Unix socket or a loopback address.
//!
//! One line asks, one line answers. A connection has rooms of its own, named by the caller, which end with it.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::time::Instant as Clock;

use airbound_senders::conference::ClientId;
use airbound_senders::conference::room::{
    Action, Channel, Estimate, EstimateKind, Gauge, Reason, Room, RoomConfig, Viewing,
};
use airbound_units::{BitRate, Instant};
use serde::{Deserialize, Serialize};

use crate::message::Shown;

/// Upper limit of a line.
pub const LONGEST_LINE: usize = 1 << 20;
/// Rooms of one connection.
pub const MOST_ROOMS: usize = 4096;
/// Members of one room.
pub const MOST_MEMBERS: usize = 256;

/// Latest time of a caller, ms: the year 2286 of a clock that begins in 1970. A later one is of another unit.
pub const LATEST: u64 = 10_000_000_000_000;

/// One line of a caller.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The caller's name of the room, which begins with its first line.
    pub room: String,
    /// The caller's time in milliseconds, at most [`LATEST`]; without it, the server's own clock counts.
    #[serde(default)]
    pub at: Option<u64>,
    /// Inputs, in order.
    #[serde(default)]
    pub inputs: Vec<Input>,
    /// Whether the answer gives the reasons of all views, not only of changed ones.
    #[serde(default)]
    pub explain: bool,
}

/// An input of a room.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Input {
    /// A member joined; a member of weight 2 counts twice.
    Join {
        /// The member.
        member: u16,
        /// Its weight.
        #[serde(default = "one")]
        weight: f64,
    },
    /// A member left.
    Leave {
        /// The member.
        member: u16,
    },
    /// The rates of a source's layers in bit/s, the smallest first; 0 for a layer that is not sent.
    Layers {
        /// The source.
        source: u16,
        /// The rates.
        rates: Vec<u64>,
        /// Each layer contains those below it, and has their rate in its own (SVC); else layers are streams of their own (simulcast).
        #[serde(default)]
        scalable: bool,
    },
    /// The sources that a viewer shows.
    Views {
        /// The viewer.
        viewer: u16,
        /// The views.
        views: Vec<Shown>,
    },
    /// An estimate of a member's uplink.
    Up(Measured),
    /// An estimate of a member's downlink.
    Down(Measured),
    /// Both directions of a member's link share one channel, as its station or its access point knows.
    Channel {
        /// The member.
        member: u16,
        /// B, the rate that both have together, bit/s; without it, or with 0, the channel is not known any more. It counts for 10 s.
        #[serde(default)]
        sum: Option<u64>,
    },
    /// The least rate of what a member receives under Plum, where it fits.
    Floor {
        /// The member.
        member: u16,
        /// The rate, bit/s; without it, that of the configuration.
        #[serde(default)]
        rate: Option<u64>,
    },
    /// A member speaks.
    Speech {
        /// The member.
        member: u16,
    },
    /// A member acknowledged a notice.
    Ack {
        /// The member.
        member: u16,
        /// The number of the notice.
        sequence: u32,
    },
    /// Another configuration.
    Config(Box<RoomConfig>),
    /// The room ends.
    End {},
}

const fn one() -> f64 {
    1.0
}

/// An estimate.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The member.
    member: u16,
    /// The estimated rate, bit/s.
    rate: u64,
    /// The rate that was sent, bit/s: an estimate that has fallen within 8 s although this filled it to 3/4 is exact.
    #[serde(default)]
    sent: Option<u64>,
    /// `exact` or `at-least`; without it and without `sent`, `at-least`.
    #[serde(default)]
    kind: Option<Kind>,
}

/// Meaning of an estimate.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Exact,
    AtLeast,
}

/// The answer to a line.
#[derive(Debug, Clone, Serialize)]
pub struct Reply {
    room: String,
    /// The time in milliseconds by which the next line is due at the latest.
    next: u64,
    actions: Vec<Do>,
    reasons: Vec<Explained>,
}

/// A task of the caller.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Do {
    Hold { member: u16, rate: u64, sequence: u32, layers: Option<u8> },
    Forward { viewer: u16, source: u16, layer: Option<u8> },
    Probe { member: u16, rate: Option<u64> },
    ProbeUplink { member: u16, rate: u64 },
}

/// A reason.
#[derive(Debug, Clone, Serialize)]
struct Explained {
    viewer: u16,
    source: u16,
    #[serde(flatten)]
    reason: Reason,
    text: String,
}

/// The reason why a line has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The line is no question.
    #[error("{0}")]
    Malformed(String),
    /// A number is out of range.
    #[error("{0}")]
    Config(String),
    /// The time is later than [`LATEST`].
    #[error("at is {0}; a time is 0 to {LATEST} milliseconds")]
    Time(u64),
    /// Too many of something.
    #[error("there are {most} {what} already")]
    TooMany {
        /// Their name.
        what: &'static str,
        /// The limit.
        most: usize,
    },
}

/// A room, and the estimates of its members, up and down.
#[derive(Debug)]
struct Known {
    room: Room,
    gauges: BTreeMap<u16, [Gauge; 2]>,
}

/// The rooms of one connection.
#[derive(Debug)]
pub struct Allocator {
    rooms: BTreeMap<String, Known>,
    config: RoomConfig,
    start: Clock,
}

impl Allocator {
    /// Makes an allocator whose rooms begin with a configuration.
    #[must_use]
    pub fn new(config: RoomConfig) -> Self {
        Self { rooms: BTreeMap::new(), config, start: Clock::now() }
    }

    /// Answers one line.
    ///
    /// # Errors
    /// The line is no question, or asks for more than is allowed; the inputs before the wrong one count.
    pub fn answer(&mut self, line: &str) -> Result<Reply, AskError> {
        let ask: Ask = serde_json::from_str(line).map_err(|error| AskError::Malformed(error.to_string()))?;
        let now = match ask.at {
            Some(late) if late > LATEST => return Err(AskError::Time(late)),
            Some(ms) => Instant::from_nanos(ms * 1_000_000),
            None => Instant::from_nanos(self.start.elapsed().as_nanos() as u64),
        };
        if !self.rooms.contains_key(&ask.room) {
            if self.rooms.len() >= MOST_ROOMS {
                return Err(AskError::TooMany { what: "rooms", most: MOST_ROOMS });
            }
            let room = Room::new(self.config).map_err(|error| AskError::Config(error.to_string()))?;
            self.rooms.insert(ask.room.clone(), Known { room, gauges: BTreeMap::new() });
        }
        let Some(known) = self.rooms.get_mut(&ask.room) else {
            return Err(AskError::TooMany { what: "rooms", most: MOST_ROOMS });
        };
        let mut ends = false;
        for input in ask.inputs {
            ends |= matches!(input, Input::End {});
            take(known, now, input)?;
        }
        let room = &mut known.room;
        if room.next_deadline() <= now {
            room.on_deadline(now);
        }
        let mut actions = Vec::new();
        let mut changed = Vec::new();
        while let Some(action) = room.poll_action(now) {
            actions.push(match action {
                Action::Hold { member, notice, layers } => Do::Hold {
                    member: member.0,
                    rate: notice.rate.as_bps(),
                    sequence: notice.sequence,
                    layers,
                },
                Action::Forward { viewer, source, layer } => {
                    changed.push((viewer, source));
                    Do::Forward { viewer: viewer.0, source: source.0, layer }
                }
                Action::ProbeUplink { member, rate } => {
                    Do::ProbeUplink { member: member.0, rate: rate.as_bps() }
                }
                // Callers tell nothing of losses.
                Action::Begin { .. } => continue,
                Action::Probe { member, rate } => {
                    Do::Probe { member: member.0, rate: rate.map(BitRate::as_bps) }
                }
            });
        }
        if ask.explain {
            changed = room
                .members()
                .flat_map(|viewer| room.members().map(move |source| (viewer, source)))
                .collect();
        }
        let reasons = changed.into_iter().filter_map(|(viewer, source)| {
            let reason = room.explain(viewer, source)?;
            Some(Explained { viewer: viewer.0, source: source.0, text: reason.to_string(), reason })
        });
        let reasons = reasons.collect();
        let next = room.next_deadline().as_nanos().div_ceil(1_000_000);
        if ends {
            self.rooms.remove(&ask.room);
        }
        Ok(Reply { room: ask.room, next, actions, reasons })
    }

    /// Serves one connection until it ends.
    ///
    /// # Errors
    /// The connection failed, or a line is too long.
    pub fn serve(&mut self, read: impl Read, mut write: impl Write) -> io::Result<()> {
        let mut lines = BufReader::new(read);
        let mut line = String::new();
        loop {
            line.clear();
            if (&mut lines).take(LONGEST_LINE as u64).read_line(&mut line)? == 0 {
                return Ok(());
            }
            if !line.ends_with('\n') && line.len() >= LONGEST_LINE {
                writeln!(
                    write,
                    "{}",
                    serde_json::json!({"error": format!("a line has at most {LONGEST_LINE} bytes")})
                )?;
                return Err(io::Error::other("a line is too long"));
            }
            match self.answer(line.trim_end()) {
                Ok(reply) => serde_json::to_writer(&mut write, &reply)?,
                Err(error) => {
                    serde_json::to_writer(&mut write, &serde_json::json!({"error": error.to_string()}))?
                }
            }
            writeln!(write)?;
            write.flush()?;
        }
    }
}

fn take(Known { room, gauges }: &mut Known, now: Instant, input: Input) -> Result<(), AskError> {
    let bounded = |rate: u64| BitRate::from_bps(rate.min(1_000_000_000_000));
    let mut estimate = |measured: Measured, way: usize| {
        let rate = bounded(measured.rate);
        let kind = match (measured.kind, measured.sent) {
            (Some(Kind::Exact), _) => EstimateKind::Exact,
            (None, Some(sent)) if room.state(ClientId(measured.member)).is_some() => {
                let gauge = &mut gauges.entry(measured.member).or_default()[way];
                return gauge.estimate(now, rate, BitRate::from_bps(sent));
            }
            _ => EstimateKind::AtLeast,
        };
        Estimate { rate, kind, at: now }
    };
    match input {
        Input::Join { member, weight } => {
            let known = room.state(ClientId(member)).is_some();
            if !known && room.members().count() >= MOST_MEMBERS {
                return Err(AskError::TooMany { what: "members", most: MOST_MEMBERS });
            }
            room.join(now, ClientId(member), weight);
        }
        Input::Leave { member } => {
            room.leave(now, ClientId(member));
            gauges.remove(&member);
        }
        Input::Layers { source, rates, scalable } => {
            let rates: Vec<BitRate> = rates.iter().map(|rate| BitRate::from_bps(*rate)).collect();
            if scalable {
                room.on_scalable_layers(now, ClientId(source), &rates);
            } else {
                room.on_layers(now, ClientId(source), &rates);
            }
        }
        Input::Views { viewer, views } => {
            let view = |shown: &Shown| Viewing {
                source: ClientId(shown.from),
                largest: shown.largest,
                priority: shown.priority,
            };
            room.on_views(now, ClientId(viewer), &views.iter().map(view).collect::<Vec<_>>());
        }
        Input::Up(measured) => {
            let estimate = estimate(measured, 0);
            room.on_uplink(now, ClientId(measured.member), estimate);
        }
        Input::Down(measured) => {
            let estimate = estimate(measured, 1);
            room.on_downlink(now, ClientId(measured.member), estimate);
        }
        Input::Channel { member, sum } => {
            let channel = sum.filter(|sum| *sum > 0).map(|sum| Channel { sum: bounded(sum), at: now });
            room.on_channel(now, ClientId(member), channel);
        }
        Input::Floor { member, rate } => room.on_floor(now, ClientId(member), rate.map(bounded)),
        Input::Speech { member } => room.on_speech(now, ClientId(member)),
        Input::Ack { member, sequence } => room.on_acknowledged(ClientId(member), sequence),
        Input::Config(config) => {
            room.set_config(now, *config).map_err(|error| AskError::Config(error.to_string()))?;
        }
        Input::End {} => {}
    }
    Ok(())
}
