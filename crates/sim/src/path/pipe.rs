//! An access link whose rate follows a trace: the transmitters on it take turns, with the equal chances of DCF.
//!
//! A turn carries the packets of one transmitter, up to the length of an aggregate; they arrive together at its end. So the cost is
//! proportional to turns, not to packets. The access point is one transmitter for any number of clients, which it serves in turn.

use std::collections::VecDeque;
use std::sync::Arc;

use airbound_units::{ByteCount, Instant, Span};

use super::Way;
use airbound_air::trace::{Capacity, Trace};

/// Sharing of an access link by its two directions.
#[derive(Debug, Clone, PartialEq)]
pub enum Sharing {
    /// A half-duplex channel: ready transmitters take turns.
    HalfDuplex,
    /// Two separate channels: the uplink with the link's bandwidth, the downlink with that of this trace. The same one for a wire; Plum's
    /// public code has two such links in place of a half-duplex channel.
    Separate(Arc<Trace>),
}

/// An access link whose rate follows a trace, with one or more clients behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct PipeSpec {
    /// Its bandwidth over time, after overheads; of separate channels that of the uplink.
    pub trace: Arc<Trace>,
    /// Sharing by the two directions.
    pub sharing: Sharing,
    /// The number of its clients.
    pub clients: usize,
    /// Upper limit on bytes that a transmitter queues for each client.
    pub queue: ByteCount,
    /// Longest transmission, of at least one packet: some milliseconds with A-MPDUs.
    pub turn: Span,
    /// Whether acknowledgements pass the data that waits, as a sparse flow does in a fair queue (RFC 8290, section 4.2).
    pub fair: bool,
}

impl PipeSpec {
    /// A half-duplex pipe with one client, a queue of 256 KiB and turns of 2 ms.
    #[must_use]
    pub const fn new(trace: Arc<Trace>) -> Self {
        Self {
            trace,
            sharing: Sharing::HalfDuplex,
            clients: 1,
            queue: ByteCount::new(256 << 10),
            turn: Span::from_millis(2),
            fair: false,
        }
    }

    /// Two separate channels with the bandwidths `up` and `down`, otherwise as [`PipeSpec::new`].
    #[must_use]
    pub fn separate(up: Arc<Trace>, down: Arc<Trace>) -> Self {
        Self { sharing: Sharing::Separate(down), ..Self::new(up) }
    }
}

/// Largest packet of a sparse flow, in bytes: acknowledgements and notices.
const SPARSE: u32 = 100;
/// Bytes of a turn if the trace has no bandwidth.
const PLAIN_TURN: u64 = 16 * 1500;

/// The queue of a transmitter for, or from, one client.
#[derive(Debug)]
struct Waiting<T> {
    /// Packets of sparse flows, where they have a queue of their own.
    sparse: VecDeque<(T, u32)>,
    packets: VecDeque<(T, u32)>,
    bytes: u64,
}

impl<T: Copy> Waiting<T> {
    const fn new() -> Self {
        Self { sparse: VecDeque::new(), packets: VecDeque::new(), bytes: 0 }
    }

    fn is_empty(&self) -> bool {
        self.sparse.is_empty() && self.packets.is_empty()
    }

    /// Takes the next packet if it has at most `room` bytes.
    fn take(&mut self, room: u64) -> Option<(T, u32)> {
        let queue = if self.sparse.is_empty() { &mut self.packets } else { &mut self.sparse };
        let (_, size) = *queue.front()?;
        if u64::from(size) > room {
            return None;
        }
        self.bytes -= u64::from(size);
        queue.pop_front()
    }
}

/// A channel: the whole link, or one direction of a split one.
#[derive(Debug)]
struct Channel<T> {
    trace: Arc<Trace>,
    capacity: Capacity,
    /// The step of the trace that was looked at last.
    near: usize,
    /// Beginning and end of the present transmission.
    turn: Option<Turn>,
    /// The packets of the present transmission, delivered at its end.
    sending: Vec<T>,
    /// The transmitter of the last turn: 0 is the access point, clients follow.
    last: usize,
}

/// A transmission on a channel of a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The channel: 0, or 1 for the downlink of a split pipe.
    pub channel: usize,
    /// When it began.
    pub start: Instant,
    /// When it ends.
    pub end: Instant,
}

/// The link, which carries the caller's tokens for packets.
#[derive(Debug)]
pub struct Pipe<T> {
    limit: u64,
    turn: Span,
    fair: bool,
    /// One channel for both directions, or one each: up, down.
    channels: Vec<Channel<T>>,
    up: Vec<Waiting<T>>,
    down: Vec<Waiting<T>>,
    /// The client that the access point served last.
    served: usize,
}

impl<T: Copy> Pipe<T> {
    /// An idle link without packets.
    #[must_use]
    pub fn new(spec: &PipeSpec) -> Self {
        let channel = |trace: &Arc<Trace>| Channel {
            trace: Arc::clone(trace),
            capacity: Capacity::new(Arc::clone(trace)),
            near: 0,
            turn: None,
            sending: Vec::new(),
            last: 0,
        };
        let channels = match &spec.sharing {
            Sharing::HalfDuplex => vec![channel(&spec.trace)],
            Sharing::Separate(down) => vec![channel(&spec.trace), channel(down)],
        };
        let waiting = || std::iter::repeat_with(Waiting::new).take(spec.clients).collect();
        Self {
            limit: spec.queue.as_u64(),
            turn: spec.turn,
            fair: spec.fair,
            channels,
            up: waiting(),
            down: waiting(),
            served: 0,
        }
    }

    const fn channel_of(&self, way: Way) -> usize {
        match way {
            Way::Down if self.channels.len() > 1 => 1,
            _ => 0,
        }
    }

    /// Enqueues a packet; `false` if the queue is full.
    pub fn offer(&mut self, client: usize, way: Way, packet: T, size: u32) -> bool {
        let queues = match way {
            Way::Up => &mut self.up,
            Way::Down => &mut self.down,
        };
        let Some(queue) = queues.get_mut(client) else { return false };
        if queue.bytes + u64::from(size) > self.limit {
            return false;
        }
        queue.bytes += u64::from(size);
        let sparse = self.fair && size <= SPARSE;
        if sparse { &mut queue.sparse } else { &mut queue.packets }.push_back((packet, size));
        true
    }

    /// Ends the transmission of a channel if it is over by `now`; its packets are appended to `arrived`.
    pub fn end(&mut self, channel: usize, now: Instant, arrived: &mut Vec<T>) -> Option<Turn> {
        let channel = &mut self.channels[channel];
        let turn = channel.turn.take_if(|turn| turn.end <= now)?;
        arrived.append(&mut channel.sending);
        Some(turn)
    }

    /// Begins a transmission on the channel of a direction if it is idle and a transmitter has packets.
    pub fn begin(&mut self, way: Way, now: Instant) -> Option<Turn> {
        let number = self.channel_of(way);
        if self.channels[number].turn.is_some() {
            return None;
        }
        let (client, way) = self.next_turn(number)?;
        let room = self.room(number, now);
        let queue = match way {
            Way::Up => &mut self.up[client],
            Way::Down => &mut self.down[client],
        };
        let mut carried = 0;
        let channel = &mut self.channels[number];
        // The first packet goes whatever the room.
        while let Some((packet, size)) =
            queue.take(if carried == 0 { u64::MAX } else { room.saturating_sub(carried) })
        {
            carried += u64::from(size);
            channel.sending.push(packet);
        }
        let end = channel.capacity.finish(now, ByteCount::new(carried.max(1)));
        channel.turn = Some(Turn { channel: number, start: now, end });
        channel.turn
    }

    /// Upper limit on bytes of one turn.
    fn room(&mut self, channel: usize, now: Instant) -> u64 {
        let channel = &mut self.channels[channel];
        match &*channel.trace {
            Trace::Bandwidth(trace) => trace.at_near(now, &mut channel.near).bytes_in(self.turn).as_u64(),
            Trace::Opportunities(_) | Trace::Snr(_) => PLAIN_TURN,
        }
    }

    /// Selects the next transmission: the channel's transmitters in turn, and the access point's clients in turn.
    fn next_turn(&mut self, channel: usize) -> Option<(usize, Way)> {
        let clients = self.up.len();
        let split = self.channels.len() > 1;
        let transmitters = clients + 1;
        let last = self.channels[channel].last;
        for step in 1..=transmitters {
            let who = (last + step) % transmitters;
            // On a split link the access point alone uses the downlink, and the clients the uplink.
            if split && (who == 0) != (channel == 1) {
                continue;
            }
            let turn = if who == 0 {
                let next = (1..=clients)
                    .map(|step| (self.served + step) % clients)
                    .find(|client| !self.down[*client].is_empty());
                next.inspect(|client| self.served = *client).map(|client| (client, Way::Down))
            } else {
                Some((who - 1, Way::Up)).filter(|_| !self.up[who - 1].is_empty())
            };
            if turn.is_some() {
                self.channels[channel].last = who;
                return turn;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airbound_air::trace::Format;

    fn constant(text: &str) -> Arc<Trace> {
        Arc::new(Trace::parse(text, "test", Format::Bandwidth, 1.0, true).expect("a trace"))
    }

    /// Serves two backlogged directions for a second; returns the bytes of up and down.
    fn serve(sharing: Sharing, clients: usize) -> Vec<u64> {
        let spec = PipeSpec { sharing, clients, ..PipeSpec::new(constant("0 24\n")) };
        let mut pipe = Pipe::new(&spec);
        let mut bytes = vec![0; 2 * clients];
        let mut now = Instant::ZERO;
        let mut ends: Vec<(Instant, usize)> = Vec::new();
        let fill = |pipe: &mut Pipe<usize>| {
            for client in 0..clients {
                // The token of a packet is its client.
                while pipe.offer(client, Way::Up, client, 1500) {}
                while pipe.offer(client, Way::Down, clients + client, 1500) {}
            }
        };
        let mut arrived = Vec::new();
        while now < Instant::ZERO + Span::from_secs(1) {
            fill(&mut pipe);
            for way in Way::BOTH {
                if let Some(Turn { channel, end, .. }) = pipe.begin(way, now) {
                    ends.push((end, channel));
                }
            }
            ends.sort();
            let (end, channel) = ends.remove(0);
            now = end;
            assert!(pipe.end(channel, now, &mut arrived).is_some());
            arrived.drain(..).for_each(|place: usize| bytes[place] += 1500);
        }
        bytes
    }

    #[test]
    fn half_duplex_directions_share_evenly_and_a_wire_does_not_share() {
        let near = |bytes: u64, mbps: f64| (bytes as f64 * 8e-6 / mbps - 1.0).abs() < 0.03;
        let shared = serve(Sharing::HalfDuplex, 1);
        assert!(near(shared[0], 12.0) && near(shared[1], 12.0), "{shared:?}");
        let wire = serve(Sharing::Separate(constant("0 24\n")), 1);
        assert!(near(wire[0], 24.0) && near(wire[1], 24.0), "{wire:?}");
        let uneven = serve(Sharing::Separate(constant("0 6\n")), 1);
        assert!(near(uneven[0], 24.0) && near(uneven[1], 6.0), "{uneven:?}");
    }

    #[test]
    fn acknowledgements_pass_the_data_of_a_fair_queue() {
        let first = |fair: bool| {
            let mut pipe = Pipe::new(&PipeSpec { fair, ..PipeSpec::new(constant("0 1\n")) });
            assert!(pipe.offer(0, Way::Up, "data", 1500) && pipe.offer(0, Way::Up, "ack", 52));
            let turn = pipe.begin(Way::Up, Instant::ZERO).expect("a turn");
            let mut arrived = Vec::new();
            pipe.end(turn.channel, turn.end, &mut arrived);
            arrived
        };
        assert_eq!((first(false), first(true)), (vec!["data"], vec!["ack"]));
    }

    #[test]
    fn an_access_point_has_one_turn_for_all_its_clients() {
        let bytes = serve(Sharing::HalfDuplex, 2);
        let mbps: Vec<f64> = bytes.iter().map(|bytes| *bytes as f64 * 8e-6).collect();
        assert!((mbps[0] - 8.0).abs() < 0.4 && (mbps[2] - 4.0).abs() < 0.4, "{mbps:?}");
    }
}
