//! A room and synthetic participants in virtual time: str0m at both ends, shaped links between.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Once;
use std::time::{Duration, Instant};

use airbound_room::link::Link;
use airbound_room::session::{Join, Session};
use airbound_room::synthetic::Synthetic;
use airbound_senders::conference::room::RoomConfig;

static PREPARED: Once = Once::new();

/// Chooses the cryptography, once in the test program.
pub(crate) fn prepare() {
    PREPARED.call_once(airbound_room::prepare);
}

/// A participant and its half-duplex link.
pub(crate) struct Guest {
    pub(crate) id: u16,
    pub(crate) synthetic: Synthetic,
    pub(crate) link: Link,
    pub(crate) address: SocketAddr,
    /// Each packet of this number is lost; 0 for none.
    pub(crate) loses: u64,
    /// Time that passes for it beside that of the room: its clock is wrong.
    pub(crate) away: bool,
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
    pub(crate) fn add(&mut self, camera: f64, rate: f64, slots: usize) {
        let number = self.guests.len() + 1;
        let address: SocketAddr = format!("10.1.{number}.1:4000").parse().expect("an address");
        let (mut synthetic, offer) = Synthetic::new(self.now, address, camera, slots).expect("an offer");
        let join = Join {
            name: format!("guest {number}"),
            host: false,
            offer,
            resume: None,
            token: format!("token {number}"),
        };
        let joined = self.session.join(self.now, join).expect("a seat");
        synthetic.accept(joined.answer).expect("the answer fits");
        let link = Link::new(rate, Duration::from_millis(10));
        self.guests.push(Guest { id: joined.id, synthetic, link, address, loses: 0, away: false });
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
        let guests =
            self.guests.iter().filter(|guest| !guest.away).map(|guest| guest.synthetic.next_deadline());
        let next = guests.fold(self.session.next_deadline().min(wire), Instant::min);
        // Deadlines that have passed still take a little time, so that a loop of them ends.
        self.now = next.max(self.now + Duration::from_micros(10)).min(end);
        while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (to_server, address, bytes) = entry.remove();
            if to_server {
                self.session.receive(self.now, address, &bytes);
            } else if let Some(guest) =
                self.guests.iter_mut().find(|guest| guest.address == address && !guest.away)
            {
                guest.synthetic.receive(self.now, self.server, &bytes);
            }
        }
        if self.session.next_deadline() <= self.now {
            self.session.advance(self.now);
        }
        for guest in self.guests.iter_mut().filter(|guest| !guest.away) {
            if guest.synthetic.next_deadline() <= self.now {
                guest.synthetic.advance(self.now);
            }
        }
    }

    fn collect(&mut self) {
        let now = self.now;
        while let Some((address, bytes)) = self.session.poll_datagram() {
            let Some(guest) = self.guests.iter_mut().find(|guest| guest.address == address) else { continue };
            self.count += 1;
            let lost = guest.loses > 0 && self.count.is_multiple_of(guest.loses);
            if let Some(at) = guest.link.pass(now, bytes.len()).filter(|_| !lost) {
                self.wire.insert((at, self.count), (false, address, bytes));
            }
        }
        for guest in &mut self.guests {
            while let Some((_, bytes)) = guest.synthetic.poll_datagram() {
                self.count += 1;
                let lost = guest.away || guest.loses > 0 && self.count.is_multiple_of(guest.loses);
                if let Some(at) = guest.link.pass(now, bytes.len()).filter(|_| !lost) {
                    self.wire.insert((at, self.count), (true, guest.address, bytes));
                }
            }
        }
    }

    /// Bytes of media that each participant received between now and a later time.
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
