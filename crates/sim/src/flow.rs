//! Flows: their sources, their transport, and the ends that they run between.

use airbound_control::frame::{FlowId, StationId};
use airbound_wifi::edca::Category;

use airbound_scenario::WireWay;

/// The access point is node 0, stations follow, neighbours come last.
pub(crate) const ACCESS_POINT: StationId = StationId(0);

/// Which way the data of a flow goes, and a transmission on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the server, over the access point, to the station.
    Down,
    /// From the station, over the access point, to the server.
    Up,
}

impl Direction {
    /// The other way.
    pub(crate) const fn opposite(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }
}

/// The number of an endpoint in its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndpointId(u32);

impl EndpointId {
    pub(crate) const fn new(number: usize) -> Self {
        Self(number as u32)
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A flow of packets in one direction; a TCP connection is two of them.
#[derive(Debug, Clone)]
pub(crate) struct Flow {
    pub(crate) name: String,
    /// Its kind, as the summary names it.
    pub(crate) kind: &'static str,
    pub(crate) id: FlowId,
    pub(crate) station: StationId,
    pub(crate) direction: Direction,
    pub(crate) category: Category,
    /// The endpoint that takes its packets; `None` for datagrams that are only counted.
    pub(crate) endpoint: Option<EndpointId>,
    /// Whether the endpoint learns of its packets PPDU by PPDU, before any reordering.
    pub(crate) is_sensed: bool,
    /// Whether its station holds its packets back.
    pub(crate) is_shaped: bool,
    /// Whether it carries what the receiver of another flow answers.
    pub(crate) goes_back: bool,
    /// Bytes of each packet that are not payload.
    pub(crate) headers: u64,
    /// Delay, jitter and loss that it meets on the wire.
    pub(crate) way: WireWay,
    /// The number of the entry of the scenario that it comes from; acknowledgements have that of what they acknowledge.
    pub(crate) origin: u32,
    /// Whether it belongs to a contending network, which the summary leaves out.
    pub(crate) is_neighbour: bool,
}

impl Flow {
    /// Returns the number that keys its random numbers, so that a flow more or less changes nothing for the others.
    pub(crate) fn entity(&self) -> u64 {
        u64::from(self.origin) * 2 + u64::from(self.goes_back)
    }

    /// The node in whose queue its packets begin their way over the air.
    pub(crate) const fn begins_at(&self) -> StationId {
        match self.direction {
            Direction::Down => ACCESS_POINT,
            Direction::Up => self.station,
        }
    }

    /// The node at which that way ends.
    pub(crate) const fn ends_at(&self) -> StationId {
        match self.direction {
            Direction::Down => self.station,
            Direction::Up => ACCESS_POINT,
        }
    }

    /// Whether the summary lists it. Acknowledgements, feedback, reports and grants are part of the flow that they are about.
    pub(crate) const fn is_reported(&self) -> bool {
        !self.is_neighbour && !self.goes_back
    }
}

/// The number of a flow.
pub(crate) const fn flow_id(number: usize) -> FlowId {
    FlowId(number as u32)
}
