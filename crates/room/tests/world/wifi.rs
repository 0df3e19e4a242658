//! A station's way over a simulated Wi-Fi network, beside whatever else its scenario sends.

use std::time::{Duration, Instant};

use airbound_scenario::Scenario;
use airbound_sim::{BuildError, Fate, Live, Plugins};
use airbound_units::ByteCount;

use crate::world::{Datagram, Way};

/// Bytes of the headers of IPv4 and UDP.
const HEADERS: u64 = 28;
/// The flows of a scenario that carry the participant's datagrams: from the room, to the room.
const FLOWS: [&str; 2] = ["to-participant", "to-room"];

/// The way of one participant.
pub(crate) struct Wifi {
    live: Live<Datagram>,
    start: Instant,
    arrived: Vec<Fate<Datagram>>,
}

impl Wifi {
    /// Prepares the network of a scenario that has both flows; its time begins at `start`.
    pub(crate) fn new(scenario: &Scenario, seed: u64, start: Instant) -> Result<Self, BuildError> {
        let live = Live::new(scenario, &FLOWS, &Plugins::default(), seed)?;
        Ok(Self { live, start, arrived: Vec::new() })
    }

    fn reach(&mut self, now: Instant) {
        let now = now.saturating_duration_since(self.start).as_nanos() as u64;
        self.live.advance(airbound_units::Instant::from_nanos(now));
    }
}

impl Way for Wifi {
    fn offer(&mut self, now: Instant, datagram: Datagram) {
        self.reach(now);
        let size = ByteCount::new(datagram.1.len() as u64 + HEADERS);
        self.live.push(usize::from(datagram.0), datagram, size);
    }

    fn due(&self) -> Option<Instant> {
        let next = self.live.next_event();
        (next < airbound_units::Instant::MAX).then(|| self.start + Duration::from_nanos(next.as_nanos()))
    }

    fn advance(&mut self, now: Instant) -> Vec<Datagram> {
        self.reach(now);
        self.live.take(&mut self.arrived);
        self.arrived.drain(..).filter(|fate| fate.lost.is_none()).map(|fate| fate.content).collect()
    }
}
