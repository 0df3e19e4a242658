//! A link that carries packets over a simulated network.

use std::time::Duration;

use airbound_sim::{Fate, Live, Plugins};
use airbound_units::{ByteCount, Instant, Span};

use crate::config::{FLOWS, LONGEST, LinkConfig};
use crate::error::LinkError;

/// The largest IP packet in bytes.
pub const MTU: usize = 1500;
/// Bytes of the headers of IPv4 and UDP, which each packet has on the air besides its own.
pub const OVERHEAD: usize = 28;
/// The largest packet of a caller in bytes: the payload of a datagram.
pub const LARGEST: usize = MTU - OVERHEAD;

/// The direction of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the server behind the wire to the station.
    Down,
    /// From the station to the server.
    Up,
}

/// A packet that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Its direction.
    pub direction: Direction,
    /// The time at which it was pushed.
    pub sent: Duration,
    /// The time at which it arrived.
    pub at: Duration,
    /// Its bytes as they were pushed.
    pub bytes: Vec<u8>,
}

/// Packets of one direction so far. Those neither arrived nor lost are in the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pushed.
    pub pushed: u64,
    /// Arrived, taken or not.
    pub arrived: u64,
    /// Dropped by a queue, given up after the last retry, or lost on the wire.
    pub lost: u64,
}

/// A simulated Wi-Fi network as a link between a server and a station.
///
/// The caller owns the loop: it pushes packets, calls [`take`](Self::take) at [`next_event`](Self::next_event) or at any other time, and
/// gets what has arrived. What happens depends on the pushes only, not on when arrivals are taken.
pub struct Link {
    live: Live<(Duration, Vec<u8>)>,
    /// The simulated time at which the caller's begins: the warm-up of the scenario.
    start: Instant,
    now: Duration,
    fates: Vec<Fate<(Duration, Vec<u8>)>>,
    arrived: Vec<Arrival>,
    counts: [Counts; 2],
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("now", &self.now).field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl Link {
    /// The link in the [place](crate::places) with this name, with the scheme of its scenario and seed 1.
    ///
    /// # Errors
    /// No place has the name.
    pub fn named(place: &str) -> Result<Self, LinkError> {
        Self::new(&LinkConfig::named(place)?)
    }

    /// The link of a configuration. Its scenario has been warmed up.
    ///
    /// # Errors
    /// The scenario, the scheme or the demand is wrong.
    pub fn new(config: &LinkConfig) -> Result<Self, LinkError> {
        let scenario = config.scenario()?;
        let mut live = Live::new(&scenario, &FLOWS, &Plugins::default(), config.seed_value())
            .map_err(|error| LinkError::Scenario(error.to_string()))?;
        let start = Instant::ZERO + scenario.warm_up;
        live.advance(start);
        let counts = [Counts::default(); 2];
        Ok(Self { live, start, now: Duration::ZERO, fates: Vec::new(), arrived: Vec::new(), counts })
    }

    /// Sends a packet at `now`: the payload of a UDP datagram, 28 B longer on the air.
    ///
    /// # Errors
    /// The packet is larger than [`LARGEST`], or the time is before that of an earlier call or after the end.
    pub fn push(
        &mut self,
        now: Duration,
        direction: Direction,
        bytes: impl Into<Vec<u8>>,
    ) -> Result<(), LinkError> {
        let bytes = bytes.into();
        if bytes.len() > LARGEST {
            return Err(LinkError::TooLarge { size: bytes.len(), largest: LARGEST });
        }
        self.advance(now)?;
        let size = ByteCount::new((bytes.len() + OVERHEAD) as u64);
        self.counts[direction as usize].pushed += 1;
        self.live.push(direction as usize, (now, bytes), size);
        Ok(())
    }

    /// The next time at which [`take`](Self::take) may return a packet: the caller's latest time if one has arrived, else that of the
    /// network's next event; `None` while no packet is on its way. Most events of the network bring the caller nothing.
    #[must_use]
    pub fn next_event(&self) -> Option<Duration> {
        if !self.arrived.is_empty() {
            return Some(self.now);
        }
        let on_its_way = self.counts.iter().any(|counts| counts.pushed > counts.arrived + counts.lost);
        let next = self.live.next_event();
        (on_its_way && next < Instant::MAX).then(|| self.since_start(next).max(self.now))
    }

    /// Advances to `now` and returns the packets that have arrived since the last call, in order of time.
    ///
    /// # Errors
    /// The time is before that of an earlier call, or after the end.
    pub fn take(&mut self, now: Duration) -> Result<Vec<Arrival>, LinkError> {
        self.advance(now)?;
        Ok(std::mem::take(&mut self.arrived))
    }

    /// Packets of one direction so far.
    #[must_use]
    pub const fn counts(&self, direction: Direction) -> Counts {
        self.counts[direction as usize]
    }

    fn since_start(&self, at: Instant) -> Duration {
        Duration::from_nanos(at.since(self.start).as_nanos())
    }

    fn advance(&mut self, now: Duration) -> Result<(), LinkError> {
        if now < self.now {
            return Err(LinkError::TimeRunsBackwards { now, was: self.now });
        }
        if now > LONGEST {
            return Err(LinkError::TooLate { now, last: LONGEST });
        }
        self.now = now;
        self.live.advance(self.start + Span::from_nanos(now.as_nanos() as u64));
        self.live.take(&mut self.fates);
        let mut fates = std::mem::take(&mut self.fates);
        for Fate { flow, content: (sent, bytes), at, lost } in fates.drain(..) {
            let direction = if flow == 0 { Direction::Down } else { Direction::Up };
            let counts = &mut self.counts[flow];
            if lost.is_some() {
                counts.lost += 1;
            } else {
                counts.arrived += 1;
                self.arrived.push(Arrival { direction, sent, at: self.since_start(at), bytes });
            }
        }
        self.fates = fates;
        Ok(())
    }
}
