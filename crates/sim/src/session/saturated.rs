//! What an access link carries when everybody on it always has something to send.
//!
//! No congestion control and no encoder takes part, so that nothing but the link decides: each packet that crossed it, or was lost on it,
//! is followed by another at the same moment.

use airbound_units::{Instant, Span};

use super::air::Air;
use super::config::{AccessSpec, AirSpec};
use super::parcel::{ParcelId, Way};
use super::pipe::Pipe;
use crate::build::BuildError;
use crate::plugins::Plugins;
use airbound_random::{Purpose, seed_for};

/// IP packets of the path's MTU, in bytes.
const PACKET: u32 = 1500;
/// Packets of one direction of one client on the link, under way or waiting: more than two A-MPDUs of 64, so that the next is whole when one
/// ends, and fewer than any queue here refuses.
const WINDOW: usize = 150;
/// How long the air is left alone at most: what it drops at once leaves no event behind.
const STEP: Span = Span::from_millis(1);

/// Whose packet it is, as its identity.
fn tag(client: usize, way: Way) -> ParcelId {
    ParcelId(2 * client as u32 + u32::from(way == Way::Down))
}

fn owner(id: ParcelId) -> (usize, Way) {
    (id.0 as usize / 2, if id.0 % 2 == 1 { Way::Down } else { Way::Up })
}

impl AccessSpec {
    /// What this link carries in each of its first `seconds` while each client, and the access point for each client, always has packets of
    /// 1500 B waiting: IP packets of all clients and both directions together, in Mb/s.
    ///
    /// # Errors
    /// The network of the link cannot be built.
    pub fn saturated(&self, seconds: u32, seed: u64) -> Result<Vec<f64>, BuildError> {
        let mut meter = vec![0_u64; seconds as usize];
        let end = Instant::ZERO + Span::from_secs(u64::from(seconds));
        let mut count = |now: Instant| {
            let second = now.since(Instant::ZERO).div_floor(Span::from_secs(1)) as usize;
            meter.get_mut(second).into_iter().for_each(|bytes| *bytes += u64::from(PACKET));
        };
        match self {
            Self::Pipe(spec) => on_pipe(Pipe::new(spec), spec.clients, end, &mut count),
            Self::Air(AirSpec { scenario, clients }) => {
                let seed = seed_for(seed, Purpose::Session, 3 << 32);
                let air = Air::new(
                    scenario,
                    *clients,
                    seed,
                    &Plugins::default(),
                    [Span::ZERO, end.since(Instant::ZERO)],
                )?;
                on_air(air, *clients, end, &mut count);
            }
        }
        Ok(meter.into_iter().map(|bytes| bytes as f64 * 8e-6).collect())
    }
}

fn on_pipe(mut pipe: Pipe, clients: usize, end: Instant, count: &mut impl FnMut(Instant)) {
    for client in 0..clients {
        for way in Way::BOTH {
            while pipe.offer(client, way, tag(client, way), PACKET) {}
        }
    }
    let mut turns: Vec<(Instant, usize)> = Way::BOTH
        .into_iter()
        .filter_map(|way| pipe.begin(way, Instant::ZERO))
        .map(|(channel, at)| (at, channel))
        .collect();
    let mut arrived = Vec::new();
    while let Some(next) = (0..turns.len()).min_by_key(|index| turns[*index]) {
        let (now, channel) = turns.swap_remove(next);
        if now >= end {
            break;
        }
        pipe.end(channel, now, &mut arrived);
        for id in arrived.drain(..) {
            count(now);
            let (client, way) = owner(id);
            pipe.offer(client, way, id, PACKET);
        }
        // Of a split link the other channel is busy, and says so.
        turns.extend(
            Way::BOTH.into_iter().filter_map(|way| pipe.begin(way, now)).map(|(channel, at)| (at, channel)),
        );
    }
}

fn on_air(mut air: Air, clients: usize, end: Instant, count: &mut impl FnMut(Instant)) {
    for client in 0..clients {
        for way in Way::BOTH {
            (0..WINDOW).for_each(|_| air.offer(client, way, tag(client, way), PACKET));
        }
    }
    let (mut arrived, mut lost) = (Vec::new(), Vec::new());
    while air.now() < end {
        let now = air.next_event().min(air.now() + STEP);
        air.advance(now, &mut arrived, &mut lost);
        arrived.iter().for_each(|_| count(now));
        for id in arrived.drain(..).chain(lost.drain(..).map(|(id, _)| id)) {
            let (client, way) = owner(id);
            air.offer(client, way, id, PACKET);
        }
    }
}
