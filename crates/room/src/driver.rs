//! One thread and one UDP socket for a room.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use airbound_senders::conference::room::{RoomConfig, RoomPolicy};
use str0m::change::{SdpAnswer, SdpOffer};

use crate::session::{Join, JoinError, Joined, Session};

/// Longest sleep of the loop: a request of the page waits no longer.
const LONGEST_WAIT: Duration = Duration::from_millis(10);
/// Datagrams taken in one go.
const BURST: usize = 64;
/// Interval of the published state.
const PUBLISH: Duration = Duration::from_millis(500);

/// A request to the thread of a room.
#[derive(Debug)]
pub enum Request {
    /// Seats a participant.
    Join(Box<Join>, Sender<Result<Joined, JoinError>>),
    /// Answers a new offer of the seat of a resume token.
    Restart(String, Box<SdpOffer>, Sender<Result<SdpAnswer, JoinError>>),
    /// Ends a seat.
    Leave(String),
    /// Changes the policy.
    Policy(RoomPolicy),
    /// Ends the room by a panic, as a defect would: for tests of the isolation of rooms.
    Panic,
}

/// The state that the thread of a room publishes.
#[derive(Debug, Clone, Default)]
pub struct Published {
    /// The state, as JSON.
    pub state: String,
    /// The state, for Prometheus.
    pub metrics: String,
    /// The number of participants.
    pub members: usize,
}

/// A running room.
#[derive(Debug, Clone)]
pub struct Handle {
    requests: Sender<Request>,
    published: Arc<Mutex<Published>>,
    /// Where its media enter.
    pub address: SocketAddr,
}

impl Handle {
    /// Starts a room whose socket is bound to an address.
    ///
    /// # Errors
    /// The socket cannot be bound, or the configuration is wrong.
    pub fn start(name: &str, bind: IpAddr, config: RoomConfig) -> io::Result<Self> {
        let socket = UdpSocket::bind((bind, 0))?;
        let address = socket.local_addr()?;
        let session = Session::new(config, address, Instant::now()).map_err(io::Error::other)?;
        let (requests, incoming) = mpsc::channel();
        let published = Arc::new(Mutex::new(Published::default()));
        let (shared, room) = (published.clone(), name.to_owned());
        thread::Builder::new()
            .name(format!("room {name}"))
            .spawn(move || run(session, &socket, &incoming, &shared, &room))?;
        Ok(Self { requests, published, address })
    }

    /// Passes a request to the room; `false` if the room has ended.
    pub fn ask(&self, request: Request) -> bool {
        self.requests.send(request).is_ok()
    }

    /// Seats a participant; `None` if the room has ended.
    pub fn join(&self, join: Join) -> Option<Result<Joined, JoinError>> {
        let (reply, answer) = mpsc::channel();
        self.requests.send(Request::Join(Box::new(join), reply)).ok()?;
        answer.recv_timeout(Duration::from_secs(5)).ok()
    }

    /// Answers a new offer of a seat; `None` if the room has ended.
    pub fn restart(&self, token: String, offer: SdpOffer) -> Option<Result<SdpAnswer, JoinError>> {
        let (reply, answer) = mpsc::channel();
        self.requests.send(Request::Restart(token, Box::new(offer), reply)).ok()?;
        answer.recv_timeout(Duration::from_secs(5)).ok()
    }

    /// The state that the room published last.
    #[must_use]
    pub fn published(&self) -> Published {
        self.published.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn run(
    mut session: Session,
    socket: &UdpSocket,
    requests: &Receiver<Request>,
    published: &Mutex<Published>,
    name: &str,
) {
    let mut buffer = vec![0; 2048];
    let mut publish = Instant::now();
    loop {
        loop {
            match requests.try_recv() {
                Ok(Request::Join(join, reply)) => {
                    // The asker may have given up; the seat then ends by its deadline.
                    let _ = reply.send(session.join(Instant::now(), *join));
                }
                Ok(Request::Restart(token, offer, reply)) => {
                    // The asker may have given up; its next offer is answered again.
                    let _ = reply.send(session.restart(Instant::now(), &token, *offer));
                }
                Ok(Request::Leave(token)) => session.leave(Instant::now(), &token),
                Ok(Request::Policy(policy)) => session.set_policy(Instant::now(), policy),
                Ok(Request::Panic) => panic!("a panic was asked for"),
                Err(mpsc::TryRecvError::Empty) => break,
                Err(mpsc::TryRecvError::Disconnected) => return,
            }
        }
        let now = Instant::now();
        if now >= session.next_deadline() {
            session.advance(now);
        }
        send(&mut session, socket);
        if now >= publish {
            publish = now + PUBLISH;
            let next = Published {
                state: session.state().to_string(),
                metrics: session.metrics(name),
                members: session.members(),
            };
            *published.lock().unwrap_or_else(PoisonError::into_inner) = next;
        }
        let wait = session.next_deadline().saturating_duration_since(Instant::now());
        let wait = wait.clamp(Duration::from_micros(200), LONGEST_WAIT);
        if socket.set_nonblocking(false).and_then(|()| socket.set_read_timeout(Some(wait))).is_err() {
            return;
        }
        for taken in 0..BURST {
            let Ok((length, source)) = socket.recv_from(&mut buffer) else { break };
            session.receive(Instant::now(), source, &buffer[..length]);
            send(&mut session, socket);
            if taken == 0 && socket.set_nonblocking(true).is_err() {
                return;
            }
        }
    }
}

fn send(session: &mut Session, socket: &UdpSocket) {
    while let Some((destination, bytes)) = session.poll_datagram() {
        // A full socket buffer loses the packet, as the network may.
        let _ = socket.send_to(&bytes, destination);
    }
}
