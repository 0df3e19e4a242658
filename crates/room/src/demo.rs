//! The demonstration: three synthetic participants, one of them behind a shaped link, in one room.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use crate::driver::Handle;
use crate::link::Link;
use crate::session::Join;
use crate::synthetic::Synthetic;

/// Names, and the rates of half-duplex links in bit/s.
const CAST: [(&str, Option<f64>); 3] = [("Ann (narrow link)", Some(WIDE)), ("Ben", None), ("Cleo", None)];
/// The two rates of the shaped link.
const WIDE: f64 = 2.5e6;
const NARROW: f64 = 1.2e6;
/// Time for which each lasts.
const PHASE: Duration = Duration::from_secs(12);
/// Bitrate of a camera.
const CAMERA: f64 = 1.2e6;
/// Slots of each participant.
const SLOTS: usize = 7;

/// A datagram on the link: its destination if it goes to the room, its source, its bytes.
type Carried = (Option<SocketAddr>, SocketAddr, Vec<u8>);

/// One synthetic participant with its socket and its link.
struct Actor {
    synthetic: Synthetic,
    socket: UdpSocket,
    link: Option<Link>,
    /// Packets on the link: when they arrive, in order, towards the room or from it.
    under_way: BTreeMap<(Instant, u64), Carried>,
    count: u64,
}

impl Actor {
    fn new(room: &Handle, name: &str, link: Option<f64>) -> io::Result<Self> {
        let socket = UdpSocket::bind((room.address.ip(), 0))?;
        socket.set_nonblocking(true)?;
        let now = Instant::now();
        let refused =
            |error: &dyn std::fmt::Display| io::Error::other(format!("{name} cannot join: {error}"));
        let (mut synthetic, offer) =
            Synthetic::new(now, socket.local_addr()?, CAMERA, SLOTS).map_err(|error| refused(&error))?;
        let join = Join {
            name: name.to_owned(),
            host: false,
            offer,
            resume: None,
            token: format!("synthetic {name}"),
        };
        let joined = room
            .join(join)
            .map_err(|_| refused(&"the room does not answer"))?
            .map_err(|error| refused(&error))?;
        synthetic.accept(joined.answer).map_err(|error| refused(&error))?;
        let link = link.map(|rate| Link::new(rate, Duration::from_millis(5)));
        Ok(Self { synthetic, socket, link, under_way: BTreeMap::new(), count: 0 })
    }

    fn enter(&mut self, now: Instant, to: Option<SocketAddr>, from: SocketAddr, bytes: Vec<u8>) {
        let arrives = self.link.as_mut().map_or(Some(now), |link| link.pass(now, bytes.len()));
        if let Some(at) = arrives {
            self.count += 1;
            self.under_way.insert((at, self.count), (to, from, bytes));
        }
    }

    fn step(&mut self, now: Instant, own: SocketAddr, buffer: &mut [u8]) {
        while let Ok((length, source)) = self.socket.recv_from(buffer) {
            self.enter(now, None, source, buffer[..length].to_vec());
        }
        if now >= self.synthetic.next_deadline() {
            self.synthetic.advance(now);
        }
        while let Some((destination, bytes)) = self.synthetic.poll_datagram() {
            self.enter(now, Some(destination), own, bytes);
        }
        while let Some(entry) = self.under_way.first_entry().filter(|entry| entry.key().0 <= now) {
            match entry.remove() {
                // A full socket buffer loses the packet.
                (Some(destination), _, bytes) => drop(self.socket.send_to(&bytes, destination)),
                (None, source, bytes) => self.synthetic.receive(now, source, &bytes),
            }
        }
    }
}

/// Starts the demonstration in a room. It goes on until the program ends.
///
/// # Errors
/// A participant cannot join.
pub fn start(room: &Handle) -> io::Result<()> {
    let mut actors: Vec<Actor> =
        CAST.iter().map(|(name, link)| Actor::new(room, name, *link)).collect::<io::Result<_>>()?;
    thread::Builder::new().name("synthetic".to_owned()).spawn(move || {
        let (begin, mut buffer) = (Instant::now(), vec![0; 2048]);
        loop {
            let now = Instant::now();
            let narrow = (now - begin).as_secs() / PHASE.as_secs() % 2 == 1;
            for actor in &mut actors {
                if let Some(link) = &mut actor.link {
                    link.set_rate(if narrow { NARROW } else { WIDE });
                }
                if let Ok(own) = actor.socket.local_addr() {
                    actor.step(now, own, &mut buffer);
                }
            }
            thread::sleep(Duration::from_millis(1));
        }
    })?;
    Ok(())
}
