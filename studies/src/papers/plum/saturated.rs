//! Capacity of an access link: what it carries while every transmitter on it has packets waiting.
//!
//! No congestion control and no encoder takes part, so that nothing but the link decides: each packet that crossed it, or was lost on it,
//! is followed by another at the same moment.

use airbound_random::{Purpose, seed_for};
use airbound_sim::conference::{AccessSpec, flow_of};
use airbound_sim::path::{Pipe, Turn, Way};
use airbound_sim::{BuildError, Fate, Live, Plugins};
use airbound_units::{ByteCount, Instant, Span};

/// IP packets of the path's MTU, in bytes.
const PACKET: u32 = 1500;
/// Packets of one direction of one client on the link, under way or waiting: more than two A-MPDUs of 64, so that the next is whole when one
/// ends, and fewer than any queue here refuses.
const WINDOW: u64 = 150;
/// Longest time without a look at the air: what it drops at once leaves no event behind.
const STEP: Span = Span::from_millis(1);

/// The load that a link carries in each of its first `seconds` while each client, and the access point for each client, always has packets of
/// 1500 B waiting: IP packets of all clients and both directions together, in Mb/s.
///
/// # Errors
/// The network of the link cannot be built.
pub(super) fn saturated(link: &AccessSpec, seconds: u32, seed: u64) -> Result<Vec<f64>, BuildError> {
    let mut meter = vec![0_u64; seconds as usize];
    let end = Instant::ZERO + Span::from_secs(u64::from(seconds));
    let mut count = |now: Instant| {
        let second = now.since(Instant::ZERO).div_floor(Span::from_secs(1)) as usize;
        meter.get_mut(second).into_iter().for_each(|bytes| *bytes += u64::from(PACKET));
    };
    match link {
        AccessSpec::Pipe(spec) => on_pipe(Pipe::new(spec), spec.clients, end, &mut count),
        AccessSpec::Air(spec) => {
            let seed = seed_for(seed, Purpose::Session, 3 << 32);
            let measured = [Span::ZERO, end.since(Instant::ZERO)];
            let air = spec.network(seed, &Plugins::default(), measured)?;
            on_air(air, spec.clients.len(), end, &mut count);
        }
    }
    Ok(meter.into_iter().map(|bytes| bytes as f64 * 8e-6).collect())
}

fn on_pipe(mut pipe: Pipe<(usize, Way)>, clients: usize, end: Instant, count: &mut impl FnMut(Instant)) {
    for client in 0..clients {
        for way in Way::BOTH {
            while pipe.offer(client, way, (client, way), PACKET) {}
        }
    }
    let mut turns: Vec<Turn> =
        Way::BOTH.into_iter().filter_map(|way| pipe.begin(way, Instant::ZERO)).collect();
    let mut arrived = Vec::new();
    while let Some(next) = (0..turns.len()).min_by_key(|index| turns[*index].end) {
        let Turn { channel, end: now, .. } = turns.swap_remove(next);
        if now >= end {
            break;
        }
        pipe.end(channel, now, &mut arrived);
        for (client, way) in arrived.drain(..) {
            count(now);
            pipe.offer(client, way, (client, way), PACKET);
        }
        // Of a split link the other channel is busy, and says so.
        turns.extend(Way::BOTH.into_iter().filter_map(|way| pipe.begin(way, now)));
    }
}

fn on_air(mut air: Live<()>, clients: usize, end: Instant, count: &mut impl FnMut(Instant)) {
    let size = ByteCount::new(u64::from(PACKET));
    for client in 0..clients {
        for way in Way::BOTH {
            (0..WINDOW).for_each(|_| air.push(flow_of(client, way), (), size));
        }
    }
    let mut fates: Vec<Fate<()>> = Vec::new();
    while air.now() < end {
        let now = air.next_event().min(air.now() + STEP);
        air.advance(now);
        air.take(&mut fates);
        // Those that arrived are followed first.
        fates.sort_by_key(|fate| fate.lost.is_some());
        for fate in fates.drain(..) {
            if fate.lost.is_none() {
                count(now);
            }
            air.push(fate.flow, (), size);
        }
    }
}
