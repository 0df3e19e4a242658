//! Flows: their sources, their transport, and their ends.

use airbound_control::frame::{FlowId, StationId};
use airbound_wifi::edca::Category;

use airbound_scenario::WireWay;

/// The access point is node 0, stations follow, neighbours come last.
pub(crate) const ACCESS_POINT: StationId = StationId(0);

/// Direction of a flow's data, and of a transmission on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the server, over the access point, to the station.
    Down,
    /// From the station, over the access point, to the server.
    Up,
}

impl Direction {
    /// The opposite direction.
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
    /// Its kind, as listed in the summary.
    pub(crate) kind: &'static str,
    pub(crate) id: FlowId,
    pub(crate) station: StationId,
    pub(crate) direction: Direction,
    pub(crate) category: Category,
    /// The endpoint that handles its packets; `None` for datagrams that are only counted.
    pub(crate) endpoint: Option<EndpointId>,
    /// Whether the endpoint receives its packets by PPDU, before any reordering.
    pub(crate) is_sensed: bool,
    /// Whether its station shapes it.
    pub(crate) is_shaped: bool,
    /// Whether it carries the feedback of another flow's receiver.
    pub(crate) goes_back: bool,
    /// Header bytes of each packet.
    pub(crate) headers: u64,
    /// Its delay, jitter and loss on the wire.
    pub(crate) way: WireWay,
    /// Whether it ends at the access point, which passes its packets to another station: the wire is not on its path.
    pub(crate) is_local: bool,
    /// The number of its entry in the scenario; acknowledgements have that of the acknowledged flow.
    pub(crate) origin: u32,
    /// Whether it belongs to a contending network, which the summary omits.
    pub(crate) is_neighbour: bool,
}

impl Flow {
    /// Returns the key of its random numbers, so that adding or removing a flow changes nothing for the others.
    pub(crate) fn entity(&self) -> u64 {
        u64::from(self.origin) * 2 + u64::from(self.goes_back)
    }

    /// The node whose queue its packets enter before the air.
    pub(crate) const fn begins_at(&self) -> StationId {
        match self.direction {
            Direction::Down => ACCESS_POINT,
            Direction::Up => self.station,
        }
    }

    /// The node at which its path over the air ends.
    pub(crate) const fn ends_at(&self) -> StationId {
        match self.direction {
            Direction::Down => self.station,
            Direction::Up => ACCESS_POINT,
        }
    }

    /// Whether the summary lists it. Acknowledgements, feedback, reports and grants are part of their data flow.
    pub(crate) const fn is_reported(&self) -> bool {
        !self.is_neighbour && !self.goes_back
    }
}

/// The number of a flow.
pub(crate) const fn flow_id(number: usize) -> FlowId {
    FlowId(number as u32)
}
