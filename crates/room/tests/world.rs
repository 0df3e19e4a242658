//! A room and synthetic participants in virtual time: str0m at both ends, shaped links between.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Once;
use std::time::{Duration, Instant};

use airbound_room::link::Link;
use airbound_room::session::{Join, Session};
use airbound_room::synthetic::{Equipment, Synthetic};
use airbound_senders::conference::room::RoomConfig;
use str0m::change::SdpOffer;

/// A datagram under way: whether it goes to the room, its bytes.
pub(crate) type Datagram = (bool, Vec<u8>);

/// A way between a participant and the room, in place of a plain link.
pub(crate) trait Way {
    /// Takes a datagram, which may be lost.
    fn offer(&mut self, now: Instant, datagram: Datagram);

    /// When something happens on it next.
    fn due(&self) -> Option<Instant>;

    /// Lets time pass; returns what arrived.
    fn advance(&mut self, now: Instant) -> Vec<Datagram>;
}

static PREPARED: Once = Once::new();

/// Chooses the cryptography, once in the test program.
pub(crate) fn prepare() {
    PREPARED.call_once(airbound_room::prepare);
}

/// Delay of each link, beside the time that a packet takes on it.
const DELAY: Duration = Duration::from_millis(10);

/// A clock that is ahead of the room's, and runs at another speed.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    pub(crate) ahead: Duration,
    pub(crate) speed: f64,
}

/// A participant and its half-duplex link.
pub(crate) struct Guest {
    #[allow(dead_code, reason = "one example asks for no numbers")]
    pub(crate) id: u16,
    pub(crate) synthetic: Synthetic,
    pub(crate) link: Link,
    /// Another way, in place of the link.
    pub(crate) way: Option<Box<dyn Way>>,
    /// Where the room sees it.
    pub(crate) address: SocketAddr,
    /// Each packet of this number is lost; 0 for none.
    pub(crate) loses: u64,
    /// Each packet of this number is overtaken by those of the next 25 ms; 0 for none.
    pub(crate) late: u64,
    /// Nothing leaves it or reaches it.
    pub(crate) away: bool,
    /// It takes and does everything at these intervals only, as a process that gets no time.
    pub(crate) naps: Duration,
    wakes: Instant,
    inbox: Vec<Vec<u8>>,
    pub(crate) clock: Clock,
}

impl Guest {
    fn local(&self, start: Instant, now: Instant) -> Instant {
        start + self.clock.ahead + now.saturating_duration_since(start).mul_f64(self.clock.speed)
    }

    /// When it acts next, by the room's clock.
    fn due(&self, start: Instant) -> Instant {
        let own = self.synthetic.next_deadline().saturating_duration_since(start + self.clock.ahead);
        let due = start + own.div_f64(self.clock.speed);
        if self.naps.is_zero() { due } else { due.max(self.wakes) }
    }

    fn act(&mut self, start: Instant, now: Instant, server: SocketAddr) {
        if !self.naps.is_zero() {
            if now < self.wakes {
                return;
            }
            self.wakes = now + self.naps;
        }
        let local = self.local(start, now);
        for bytes in std::mem::take(&mut self.inbox) {
            self.synthetic.receive(local, server, &bytes);
        }
        if self.synthetic.next_deadline() <= local {
            self.synthetic.advance(local);
        }
    }

    /// The delay of the packet of a number, beside that of the link; `None` if it is lost.
    fn fate(&self, count: u64) -> Option<Duration> {
        let lost = self.away || self.loses > 0 && count.is_multiple_of(self.loses);
        let late = self.late > 0 && count.is_multiple_of(self.late);
        (!lost).then_some(if late { Duration::from_millis(25) } else { Duration::ZERO })
    }
}

/// A datagram under way: whether it goes to the room, the address of its guest, its bytes.
type Carried = (bool, SocketAddr, Vec<u8>);

/// Everything that the test runs.
pub(crate) struct World {
    pub(crate) session: Session,
    pub(crate) guests: Vec<Guest>,
    pub(crate) now: Instant,
    pub(crate) start: Instant,
    server: SocketAddr,
    wire: BTreeMap<(Instant, u64), Carried>,
    count: u64,
}

impl World {
    pub(crate) fn new(config: RoomConfig) -> Self {
        prepare();
        let now = Instant::now();
        let server: SocketAddr = "10.0.0.1:5000".parse().expect("an address");
        let session = Session::new(config, server, now).expect("valid");
        Self { session, guests: Vec::new(), now, start: now, server, wire: BTreeMap::new(), count: 0 }
    }

    /// Adds a participant behind a link of a rate in bit/s.
    #[allow(dead_code, reason = "one example seats them by itself")]
    pub(crate) fn add(&mut self, camera: f64, rate: f64, slots: usize) {
        let clock = Clock { ahead: Duration::ZERO, speed: 1.0 };
        self.seat(Equipment { camera, slots, ears: 0, channel: true }, rate, clock);
    }

    /// Adds a participant of some equipment and clock.
    pub(crate) fn seat(&mut self, equipment: Equipment, rate: f64, clock: Clock) {
        let local = self.start + clock.ahead + (self.now - self.start).mul_f64(clock.speed);
        let made = Synthetic::equipped(local, self.next_address(), equipment).expect("an offer");
        self.seat_made(made, rate, clock);
    }

    /// The address of the next participant.
    pub(crate) fn next_address(&self) -> SocketAddr {
        format!("10.1.{}.1:4000", self.guests.len() + 1).parse().expect("an address")
    }

    /// Adds a participant that was made with its offer at the next address.
    pub(crate) fn seat_made(&mut self, made: (Synthetic, SdpOffer), rate: f64, clock: Clock) {
        let number = self.guests.len() + 1;
        let (address, (mut synthetic, offer)) = (self.next_address(), made);
        let join = Join {
            name: format!("guest {number}"),
            host: false,
            offer,
            resume: None,
            token: format!("token {number}"),
        };
        let joined = self.session.join(self.now, join).expect("a seat");
        synthetic.accept(joined.answer).expect("the answer fits");
        let link = Link::new(rate, DELAY);
        self.guests.push(Guest {
            id: joined.id,
            synthetic,
            link,
            way: None,
            address,
            loses: 0,
            late: 0,
            away: false,
            naps: Duration::ZERO,
            wakes: self.now,
            inbox: Vec::new(),
            clock,
        });
    }

    /// Runs until a time after the start.
    pub(crate) fn run_until(&mut self, seconds: f64) {
        let end = self.start + Duration::from_secs_f64(seconds);
        while self.now < end {
            self.step(end);
        }
    }

    fn step(&mut self, end: Instant) {
        self.collect();
        let wire = self.wire.keys().next().map_or(end, |(at, _)| *at);
        let guests = self.guests.iter().filter(|guest| !guest.away).map(|guest| guest.due(self.start));
        let ways = self.guests.iter().filter_map(|guest| guest.way.as_ref()?.due());
        let next = guests.chain(ways).fold(self.session.next_deadline().min(wire), Instant::min);
        // Deadlines that have passed still take a little time, so that a loop of them ends.
        self.now = next.max(self.now + Duration::from_micros(10)).min(end);
        let (now, start) = (self.now, self.start);
        for guest in &mut self.guests {
            for (to_room, bytes) in guest.way.as_mut().map(|way| way.advance(now)).unwrap_or_default() {
                self.count += 1;
                self.wire.insert((now + DELAY, self.count), (to_room, guest.address, bytes));
            }
        }
        while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= now) {
            let (to_server, address, bytes) = entry.remove();
            if to_server {
                self.session.receive(now, address, &bytes);
            } else if let Some(guest) =
                self.guests.iter_mut().find(|guest| guest.address == address && !guest.away)
            {
                if guest.naps.is_zero() {
                    guest.synthetic.receive(guest.local(start, now), self.server, &bytes);
                } else {
                    guest.inbox.push(bytes);
                }
            }
        }
        if self.session.next_deadline() <= now {
            self.session.advance(now);
        }
        for guest in self.guests.iter_mut().filter(|guest| !guest.away) {
            guest.act(start, now, self.server);
        }
    }

    fn collect(&mut self) {
        let now = self.now;
        while let Some((address, bytes)) = self.session.poll_datagram() {
            let Some(guest) = self.guests.iter_mut().find(|guest| guest.address == address) else { continue };
            if let Some(way) = &mut guest.way {
                way.offer(now, (false, bytes));
                continue;
            }
            self.count += 1;
            let (passed, fate) = (guest.link.pass(now, bytes.len()), guest.fate(self.count));
            if let (Some(at), Some(later)) = (passed, fate) {
                self.wire.insert((at + later, self.count), (false, address, bytes));
            }
        }
        for guest in &mut self.guests {
            while let Some((_, bytes)) = guest.synthetic.poll_datagram() {
                if let Some(way) = &mut guest.way {
                    way.offer(now, (true, bytes));
                    continue;
                }
                self.count += 1;
                let (passed, fate) = (guest.link.pass(now, bytes.len()), guest.fate(self.count));
                if let (Some(at), Some(later)) = (passed, fate) {
                    self.wire.insert((at + later, self.count), (true, guest.address, bytes));
                }
            }
        }
    }

    /// The datagrams that are on their way to the room.
    #[allow(dead_code, reason = "the examples do not need it")]
    pub(crate) fn under_way(&self) -> Vec<(SocketAddr, Vec<u8>)> {
        let to_room = self.wire.values().filter(|(to_server, ..)| *to_server);
        to_room.map(|(_, address, bytes)| (*address, bytes.clone())).collect()
    }

    /// Rates of video in bit/s that each participant receives from now until a later time.
    #[allow(dead_code, reason = "one example counts by itself")]
    pub(crate) fn received_until(&mut self, seconds: f64) -> Vec<f64> {
        let before: Vec<u64> = self.guests.iter().map(|guest| guest.synthetic.counts().received).collect();
        let began = self.now;
        self.run_until(seconds);
        let time = (self.now - began).as_secs_f64();
        let pairs = self.guests.iter().zip(before);
        pairs
            .map(|(guest, before)| (guest.synthetic.counts().received - before) as f64 * 8.0 / time)
            .collect()
    }
}
