//! Routes between nodes over relays: a tree whose root is the access point.

use airbound_control::frame::StationId;

use crate::flow::ACCESS_POINT;
use crate::flow::{Direction, Flow};
use airbound_scenario::Scenario;

/// The tree of all nodes.
///
/// Each node except the access point has one uplink, identified by its lower end. Neighbours, whose receivers are not
/// modelled, are children of the access point.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    parents: Vec<StationId>,
}

impl Tree {
    pub(crate) fn of(scenario: &Scenario, nodes: usize) -> Self {
        let mut parents = vec![ACCESS_POINT; nodes];
        for (parent, station) in parents.iter_mut().skip(1).zip(&scenario.stations) {
            let relay = station.via.as_deref().and_then(|name| scenario.station_index(name));
            *parent = relay.map_or(ACCESS_POINT, |index| StationId(index as u16 + 1));
        }
        Self { parents }
    }

    /// The next node on the path from `node` to the access point, which is its own parent.
    pub(crate) fn parent(&self, node: StationId) -> StationId {
        self.parents.get(node.index()).copied().unwrap_or(ACCESS_POINT)
    }

    /// Whether `node` forwards for others.
    pub(crate) fn is_relay(&self, node: StationId) -> bool {
        node != ACCESS_POINT && self.parents.contains(&node)
    }

    /// The nodes that `node` reaches directly, away from the access point.
    pub(crate) fn children(&self, node: StationId) -> impl Iterator<Item = StationId> + '_ {
        let all = (1..self.parents.len() as u16).map(StationId);
        all.filter(move |child| self.parent(*child) == node)
    }

    /// The link of a transmission, by its lower end, and the direction on it.
    pub(crate) fn link(&self, transmitter: StationId, receiver: StationId) -> (StationId, Direction) {
        if self.parent(receiver) == transmitter {
            (receiver, Direction::Down)
        } else {
            (transmitter, Direction::Up)
        }
    }

    /// The node to which `node` sends a packet of `flow` next.
    pub(crate) fn next_hop(&self, node: StationId, flow: &Flow) -> StationId {
        match flow.direction {
            Direction::Down => self.towards(node, flow.station),
            Direction::Up => self.parent(node),
        }
    }

    /// Returns the node that sends the packets of `flow` to the relay `node`.
    pub(crate) fn previous_hop(&self, node: StationId, flow: &Flow) -> StationId {
        match flow.direction {
            Direction::Down => self.parent(node),
            Direction::Up => self.towards(node, flow.station),
        }
    }

    /// The child of `node` on the path to `station`.
    fn towards(&self, node: StationId, station: StationId) -> StationId {
        let mut next = station;
        while self.parent(next) != node && next != ACCESS_POINT {
            next = self.parent(next);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_goes_by_its_lower_end() {
        // 0 - 1 - 3, 0 - 2, and a neighbour, which sends to itself.
        let tree = Tree { parents: [0, 0, 0, 1, 0].map(StationId).to_vec() };
        let link = |from, to| tree.link(StationId(from), StationId(to));
        assert_eq!(link(0, 1), (StationId(1), Direction::Down));
        assert_eq!(link(1, 0), (StationId(1), Direction::Up));
        assert_eq!(link(1, 3), (StationId(3), Direction::Down));
        assert_eq!(link(3, 1), (StationId(3), Direction::Up));
        assert_eq!(link(4, 4), (StationId(4), Direction::Up));
        assert!(tree.is_relay(StationId(1)) && !tree.is_relay(StationId(3)) && !tree.is_relay(ACCESS_POINT));
        assert_eq!(tree.children(StationId(1)).collect::<Vec<_>>(), [StationId(3)]);
    }
}
