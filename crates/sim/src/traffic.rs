//! When the sources of a scenario send, without a simulation: the laboratory's programs send the same at the same times.

use airbound_control::frame::Payload as _;
use airbound_units::{BitRate, ByteCount, Instant, Span};

use crate::build::{BuildError, Plan, flow_id};
use crate::endpoint::AnyEndpoint;
use crate::flow::application::Application;
use crate::flow::population::Population;
use crate::flow::source::{FrameSizes, Source};
use crate::networks::SharedChannel;
use crate::plugins::Plugins;
use crate::scenario::Scenario;
use crate::topology::Tree;

/// What the source of a flow does.
#[derive(Debug)]
pub enum Sender {
    /// It sends datagrams, whatever becomes of them.
    Datagrams(Box<Datagrams>),
    /// It writes video frames to a TCP connection.
    Frames(Frames),
    /// It writes to a TCP connection as fast as that takes it.
    Bulk,
}

/// The datagrams of a flow, in the order in which they are sent.
#[derive(Debug)]
pub struct Datagrams {
    source: Source,
}

/// One datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// When it is sent, from the beginning of the run.
    pub at: Instant,
    /// The IP packet.
    pub size: ByteCount,
    /// Its number, from 0.
    pub number: u64,
    /// The video frame that it belongs to; 0 if there are none.
    pub frame: u64,
}

impl Iterator for Datagrams {
    type Item = Departure;

    fn next(&mut self) -> Option<Departure> {
        let at = self.source.next()?;
        let packet = self.source.emit();
        Some(Departure { at, size: packet.size(), number: packet.number, frame: packet.tag })
    }
}

/// The video frames of a flow over TCP.
#[derive(Debug)]
pub struct Frames {
    next: Instant,
    interval: Span,
    stop: Instant,
    sizes: FrameSizes,
    /// How fast the server writes a frame.
    pub burst_rate: BitRate,
}

impl Iterator for Frames {
    /// When the frame is created, and its size.
    type Item = (Instant, ByteCount);

    fn next(&mut self) -> Option<(Instant, ByteCount)> {
        if self.next >= self.stop {
            return None;
        }
        let frame = (self.next, self.sizes.next());
        self.next += self.interval;
        Some(frame)
    }
}

/// What the source of each flow of a scenario does under a seed, in the order of the scenario; `None` for traffic that is neither
/// datagrams, nor video frames over TCP, nor a bulk transfer without limit.
///
/// # Errors
/// The parameters of a source are wrong.
pub fn senders(scenario: &Scenario, seed: u64) -> Result<Vec<Option<Sender>>, BuildError> {
    let channel = SharedChannel::alone(seed);
    let plan = Plan { scenario, scheme: &scenario.scheme, plugins: &Plugins::default(), seed, channel };
    let tree = Tree::of(scenario, 1 + scenario.stations.len());
    // Neighbours are nobody's source here.
    let population = Population::of(&plan, tree, Instant::ZERO + scenario.end())?;
    let mut senders: Vec<Option<Sender>> = scenario.flows.iter().map(|_| None).collect();
    for (_, source) in population.sources {
        if let Some(place) = senders.get_mut(source.flow()) {
            *place = Some(Sender::Datagrams(Box::new(Datagrams { source })));
        }
    }
    for endpoint in population.endpoints {
        let AnyEndpoint::Tcp(connection) = endpoint else { continue };
        let sender = match connection.application {
            Application::Bulk { .. } => Some(Sender::Bulk),
            Application::Video(video) => Some(Sender::Frames(Frames {
                next: video.next_frame,
                interval: video.interval,
                stop: video.stop,
                sizes: video.sizes,
                burst_rate: video.burst_rate,
            })),
            Application::Paced { .. } | Application::Transfers { .. } => None,
        };
        let number = (0..senders.len()).find(|number| flow_id(*number) == connection.data);
        if let Some(number) = number {
            senders[number] = sender;
        }
    }
    Ok(senders)
}
