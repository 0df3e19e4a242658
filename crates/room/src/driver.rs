//! One thread and one UDP socket for a room.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use airbound_senders::conference::room::{RoomConfig, RoomPolicy};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use str0m::change::{SdpAnswer, SdpOffer};

use crate::offer::Fragment;
use crate::session::{Join, JoinError, Joined, PatchError, Session};

/// Longest sleep of the loop, below a second: a request of the page waits no longer.
const LONGEST_WAIT: Duration = Duration::from_millis(10);
/// Datagrams taken in one go.
const BURST: usize = 64;
/// Time in which a room answers.
const PATIENCE: Duration = Duration::from_secs(5);
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
    /// Ends a seat for good, and says whether there was one.
    End(String, Sender<bool>),
    /// Takes a fragment of SDP for the seat of a resume token, with the tags that its client names.
    Patch(Box<Patch>, Sender<Result<Option<SdpAnswer>, PatchError>>),
    /// Changes the policy.
    Policy(RoomPolicy),
    /// Takes the rate in bit/s that both directions of a member's link have together; 0 for none.
    Channel(u16, u64),
    /// The same of the only member at one of these addresses.
    ChannelAt(Vec<IpAddr>, u64),
    /// Ends the room by a panic, as a defect would: for tests of the isolation of rooms.
    Panic,
}

/// A fragment of SDP for the seat of a resume token.
#[derive(Debug)]
pub struct Patch {
    pub(crate) token: String,
    pub(crate) tags: Option<String>,
    pub(crate) fragment: Fragment,
}

/// The reason why a room gives no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// Its thread has ended.
    Ended,
    /// It lives, and has not answered in 5 s.
    Late,
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

impl Published {
    fn of(session: &Session, name: &str) -> Self {
        Self {
            state: session.state().to_string(),
            metrics: session.metrics(name),
            members: session.members(),
        }
    }
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
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let session = Session::new(config, address, Instant::now()).map_err(io::Error::other)?;
        let (requests, incoming) = mpsc::channel();
        let published = Arc::new(Mutex::new(Published::of(&session, name)));
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

    /// Seats a participant.
    ///
    /// # Errors
    /// The room has ended, or does not answer in time.
    pub fn join(&self, join: Join) -> Result<Result<Joined, JoinError>, Unanswered> {
        self.answered(|reply| Request::Join(Box::new(join), reply))
    }

    /// Answers a new offer of a seat.
    ///
    /// # Errors
    /// The room has ended, or does not answer in time.
    pub fn restart(
        &self,
        token: String,
        offer: SdpOffer,
    ) -> Result<Result<SdpAnswer, JoinError>, Unanswered> {
        self.answered(|reply| Request::Restart(token, Box::new(offer), reply))
    }

    /// Ends the seat of a resume token for good; returns whether there was one.
    ///
    /// # Errors
    /// The room has ended, or does not answer in time.
    pub fn end(&self, token: String) -> Result<bool, Unanswered> {
        self.answered(|reply| Request::End(token, reply))
    }

    /// Takes a fragment of SDP for a seat.
    pub(crate) fn patch(&self, patch: Patch) -> Result<Result<Option<SdpAnswer>, PatchError>, Unanswered> {
        self.answered(|reply| Request::Patch(Box::new(patch), reply))
    }

    fn answered<T>(&self, request: impl FnOnce(Sender<T>) -> Request) -> Result<T, Unanswered> {
        let (reply, answer) = mpsc::channel();
        self.requests.send(request(reply)).map_err(|_| Unanswered::Ended)?;
        answer.recv_timeout(PATIENCE).map_err(|error| match error {
            RecvTimeoutError::Timeout => Unanswered::Late,
            RecvTimeoutError::Disconnected => Unanswered::Ended,
        })
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
                Ok(Request::End(token, reply)) => {
                    // The asker may have given up, which a seat that ends does not mind.
                    let _ = reply.send(session.end(Instant::now(), &token));
                }
                Ok(Request::Patch(patch, reply)) => {
                    let Patch { token, tags, fragment } = *patch;
                    // The asker may have given up; its next fragment is answered again.
                    let _ = reply.send(session.patch(Instant::now(), &token, tags.as_deref(), &fragment));
                }
                Ok(Request::Channel(member, sum)) => session.set_channel(Instant::now(), member, sum),
                Ok(Request::ChannelAt(addresses, sum)) => {
                    session.set_channel_at(Instant::now(), &addresses, sum);
                }
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
            *published.lock().unwrap_or_else(PoisonError::into_inner) = Published::of(&session, name);
        }
        let wait = session.next_deadline().saturating_duration_since(Instant::now());
        if !wait.is_zero() && !readable(socket, wait.min(LONGEST_WAIT)) {
            continue;
        }
        for _ in 0..BURST {
            let Ok((length, source)) = socket.recv_from(&mut buffer) else { break };
            session.receive(Instant::now(), source, &buffer[..length]);
            send(&mut session, socket);
        }
    }
}

/// Waits for a datagram, below a second; returns whether there is one. A socket's own time limit counts in ticks of the kernel: at 250 a
/// second 0.2 ms became 8 ms, in which a probe sent one packet.
fn readable(socket: &UdpSocket, wait: Duration) -> bool {
    let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
    poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&wait)).is_ok_and(|ready| ready > 0)
}

fn send(session: &mut Session, socket: &UdpSocket) {
    while let Some((destination, bytes)) = session.poll_datagram() {
        // A full socket buffer loses the packet, as the network may.
        let _ = socket.send_to(&bytes, destination);
    }
}

#[cfg(test)]
impl Handle {
    /// A handle whose room is the receiver of its requests.
    pub(crate) fn unserved() -> (Self, Receiver<Request>) {
        let (requests, incoming) = mpsc::channel();
        (
            Self { requests, published: Arc::default(), address: SocketAddr::from(([127, 0, 0, 1], 9)) },
            incoming,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_that_stalls_is_not_taken_for_one_that_has_ended() {
        let offer = || {
            serde_json::from_str(
                r#"{"type":"offer","sdp":"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n"}"#,
            )
        };
        let (stalled, incoming) = Handle::unserved();
        let asked = stalled.restart("x".to_owned(), offer().expect("an offer"));
        assert_eq!(asked.err(), Some(Unanswered::Late));
        drop(incoming);
        let asked = stalled.restart("x".to_owned(), offer().expect("an offer"));
        assert_eq!(asked.err(), Some(Unanswered::Ended));
    }

    #[test]
    fn a_wait_is_as_exact_as_a_sleep() {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("a socket");
        let median = |wait: &dyn Fn()| {
            let mut times: Vec<Duration> = (0..21)
                .map(|_| {
                    let start = Instant::now();
                    wait();
                    start.elapsed()
                })
                .collect();
            times.sort();
            times[10]
        };
        let short = Duration::from_micros(200);
        let sleep = median(&|| thread::sleep(short));
        let wait = median(&|| assert!(!readable(&socket, short)));
        assert!(wait < sleep * 8, "{wait:?} for {sleep:?}: one tick of the kernel is 20 sleeps");
        let other = UdpSocket::bind(("127.0.0.1", 0)).expect("a socket");
        other.send_to(b"x", socket.local_addr().expect("an address")).expect("it is sent");
        assert!(readable(&socket, Duration::from_millis(900)));
    }
}
