//! An access link whose speed is a trace: the transmitters on it take turns, as the equal chances of DCF make them.
//!
//! A turn carries what one transmitter has, up to the length of an aggregate; its packets arrive together when it ends. So the cost
//! follows turns, not packets. The access point is one transmitter however many clients it serves, and serves them in turn.

use std::collections::VecDeque;
use std::sync::Arc;

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::config::{PipeSpec, Sharing};
use super::parcel::{ParcelId, Way};
use airbound_air::trace::{Capacity, Trace};

/// Bytes per turn when a trace has no bandwidth to ask for.
const PLAIN_TURN: u64 = 16 * 1500;

/// What waits at a transmitter for, or from, one client.
#[derive(Debug, Default)]
struct Waiting {
    parcels: VecDeque<(ParcelId, u32)>,
    bytes: u64,
}

/// A channel: the whole link, or one direction of a split one.
#[derive(Debug)]
struct Channel {
    capacity: Capacity,
    /// Share of the trace's bandwidth.
    share: f64,
    busy_until: Option<Instant>,
    /// What is being sent, to be delivered then.
    sending: Vec<ParcelId>,
    /// Who had the last turn: 0 is the access point, clients follow.
    last: usize,
}

/// The link.
#[derive(Debug)]
pub(super) struct Pipe {
    trace: Arc<Trace>,
    near: usize,
    limit: u64,
    turn: Span,
    /// One channel for both directions, or one each: up, down.
    channels: Vec<Channel>,
    up: Vec<Waiting>,
    down: Vec<Waiting>,
    /// The client that the access point served last.
    served: usize,
}

impl Pipe {
    pub(super) fn new(spec: &PipeSpec) -> Self {
        let channel = |share: f64| Channel {
            capacity: Capacity::new(Arc::clone(&spec.trace)),
            share: share.clamp(1e-6, 1.0),
            busy_until: None,
            sending: Vec::new(),
            last: 0,
        };
        let channels = match spec.sharing {
            Sharing::HalfDuplex => vec![channel(1.0)],
            Sharing::Split { up, down } => vec![channel(up), channel(down)],
        };
        let waiting = || (0..spec.clients).map(|_| Waiting::default()).collect();
        Self {
            trace: Arc::clone(&spec.trace),
            near: 0,
            limit: spec.queue.as_u64(),
            turn: spec.turn,
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

    /// Takes a packet into a queue; `false` if that is full.
    pub(super) fn offer(&mut self, client: usize, way: Way, id: ParcelId, size: u32) -> bool {
        let queues = match way {
            Way::Up => &mut self.up,
            Way::Down => &mut self.down,
        };
        let Some(queue) = queues.get_mut(client) else { return false };
        if queue.bytes + u64::from(size) > self.limit {
            return false;
        }
        queue.bytes += u64::from(size);
        queue.parcels.push_back((id, size));
        true
    }

    /// Whether a channel ended a transmission by `now`; its packets are put into `arrived`.
    pub(super) fn end(&mut self, channel: usize, now: Instant, arrived: &mut Vec<ParcelId>) -> bool {
        let channel = &mut self.channels[channel];
        if channel.busy_until.is_none_or(|until| until > now) {
            return false;
        }
        channel.busy_until = None;
        arrived.append(&mut channel.sending);
        true
    }

    /// Begins a transmission on the channel of a way if it is idle and somebody has something; returns the channel and when it ends.
    pub(super) fn begin(&mut self, way: Way, now: Instant) -> Option<(usize, Instant)> {
        let number = self.channel_of(way);
        if self.channels[number].busy_until.is_some() {
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
        while let Some((id, size)) = queue.parcels.front().copied() {
            if carried > 0 && carried + u64::from(size) > room {
                break;
            }
            queue.parcels.pop_front();
            queue.bytes -= u64::from(size);
            carried += u64::from(size);
            channel.sending.push(id);
        }
        let size = (carried as f64 / channel.share) as u64;
        let end = channel.capacity.finish(now, ByteCount::new(size.max(1)));
        channel.busy_until = Some(end);
        Some((number, end))
    }

    /// Bytes of one turn.
    fn room(&mut self, channel: usize, now: Instant) -> u64 {
        match &*self.trace {
            Trace::Bandwidth(trace) => {
                let rate: BitRate = trace.at_near(now, &mut self.near);
                rate.mul_f64(self.channels[channel].share).bytes_in(self.turn).as_u64()
            }
            Trace::Opportunities(_) | Trace::Snr(_) => PLAIN_TURN,
        }
    }

    /// Who transmits next: the transmitters of the channel in turn, and of the access point's clients each in turn.
    fn next_turn(&mut self, channel: usize) -> Option<(usize, Way)> {
        let clients = self.up.len();
        let split = self.channels.len() > 1;
        let transmitters = clients + 1;
        let last = self.channels[channel].last;
        for step in 1..=transmitters {
            let who = (last + step) % transmitters;
            // A split link has the access point alone on its downlink, and the clients on its uplink.
            if split && (who == 0) != (channel == 1) {
                continue;
            }
            let turn = if who == 0 {
                let next = (1..=clients)
                    .map(|step| (self.served + step) % clients)
                    .find(|client| !self.down[*client].parcels.is_empty());
                next.inspect(|client| self.served = *client).map(|client| (client, Way::Down))
            } else {
                Some((who - 1, Way::Up)).filter(|_| !self.up[who - 1].parcels.is_empty())
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

    /// Serves two backlogged directions for a second; returns the bytes of up and down.
    fn serve(sharing: Sharing, clients: usize) -> Vec<u64> {
        let trace = Trace::parse("0 24\n", "test", Format::Bandwidth, 1.0, true).expect("a trace");
        let spec = PipeSpec { sharing, clients, ..PipeSpec::new(Arc::new(trace)) };
        let mut pipe = Pipe::new(&spec);
        let mut bytes = vec![0; 2 * clients];
        let mut now = Instant::ZERO;
        let mut ends: Vec<(Instant, usize)> = Vec::new();
        let fill = |pipe: &mut Pipe| {
            for client in 0..clients {
                // The place of a packet tells whose it is.
                while pipe.offer(client, Way::Up, ParcelId(client as u32), 1500) {}
                while pipe.offer(client, Way::Down, ParcelId((clients + client) as u32), 1500) {}
            }
        };
        let mut arrived = Vec::new();
        while now < Instant::ZERO + Span::from_secs(1) {
            fill(&mut pipe);
            for way in Way::BOTH {
                if let Some((channel, end)) = pipe.begin(way, now) {
                    ends.push((end, channel));
                }
            }
            ends.sort();
            let (end, channel) = ends.remove(0);
            now = end;
            assert!(pipe.end(channel, now, &mut arrived));
            arrived.drain(..).for_each(|id| bytes[id.0 as usize] += 1500);
        }
        bytes
    }

    #[test]
    fn half_duplex_directions_share_evenly_and_a_wire_does_not_share() {
        let near = |bytes: u64, mbps: f64| (bytes as f64 * 8e-6 / mbps - 1.0).abs() < 0.03;
        let shared = serve(Sharing::HalfDuplex, 1);
        assert!(near(shared[0], 12.0) && near(shared[1], 12.0), "{shared:?}");
        let wire = serve(Sharing::Split { up: 1.0, down: 1.0 }, 1);
        assert!(near(wire[0], 24.0) && near(wire[1], 24.0), "{wire:?}");
        let oracle = serve(Sharing::Split { up: 0.25, down: 0.75 }, 1);
        assert!(near(oracle[0], 6.0) && near(oracle[1], 18.0), "{oracle:?}");
    }

    #[test]
    fn an_access_point_has_one_turn_for_all_its_clients() {
        let bytes = serve(Sharing::HalfDuplex, 2);
        let mbps: Vec<f64> = bytes.iter().map(|bytes| *bytes as f64 * 8e-6).collect();
        assert!((mbps[0] - 8.0).abs() < 0.4 && (mbps[2] - 4.0).abs() < 0.4, "{mbps:?}");
    }
}
