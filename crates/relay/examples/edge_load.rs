//! Load for one edge: its backend and its clients in one process, so that the edge can have a core of its own (`studies/relay/core.py`).
//! Each client hears of its own load only; contents are checked, then discarded. Prints one line of JSON.
//!
//! ```text
//! edge_load EDGE BACKEND KEYS MBPS SECONDS SKIP     KEYS: a key in hexadecimal for each client, with commas; MBPS: of all together
//! ```

use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use airbound_linux::udp::{ReceiveBatch, UdpSocket, stamp_now};
use airbound_relay::protocol::{Client, ClientConfig, ClientKey, Entropy, Key};
use airbound_units::{Instant, Span};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Bytes of a datagram of the backend: 1200 with the relay's header.
const LENGTH: usize = 1172;
/// Datagrams that the backend sends at once.
const BURST: u64 = 16;

struct End {
    client: Client,
    socket: UdpSocket,
    /// Socket of the edge towards the backend; known after a hello.
    backend: Option<SocketAddr>,
    hello: Instant,
    received: u64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [edge, backend, keys, mbps, seconds, skip] = &words[..] else {
        return Err("see the begin of this file for its arguments".into());
    };
    let (edge, mbps): (SocketAddr, u64) = (edge.parse()?, mbps.parse()?);
    let (seconds, skip): (u64, u64) = (seconds.parse()?, skip.parse()?);
    airbound_linux::udp::wake_exactly();
    let begin = airbound_linux::now();
    let epoch_us = stamp_now().as_nanos().saturating_sub(begin.as_nanos()) / 1000;
    let mut ends = Vec::new();
    for (place, key) in keys.split(',').enumerate() {
        let key = ClientKey { name: format!("c{place}"), epoch: 0, key: Key::parse(key)? };
        let config = ClientConfig { edge, keys: vec![key], largest: 1472, epoch_us };
        let client = Client::new(begin, config, Entropy::new([place as u8 + 1; 16])).ok_or("no key")?;
        let socket = UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        socket.probe_path()?;
        ends.push(End { client, socket, backend: None, hello: begin, received: 0 });
    }
    let mut source = UdpSocket::bind(backend.parse()?)?;
    let mut batch = ReceiveBatch::default();
    let (measured, end) = (begin + Span::from_secs(skip), begin + Span::from_secs(seconds));
    let gap = Span::from_nanos(LENGTH as u64 * 8000 * BURST / mbps.max(1));
    let (mut next, mut turn, mut sent, mut refused) = (begin, 0_usize, 0_u64, 0_u64);
    let datagram = [7; LENGTH];
    loop {
        let now = airbound_linux::now();
        if now >= end {
            break;
        }
        for one in &mut ends {
            one.client.tick(now);
            while one.client.event().is_some() {}
            if one.client.is_joined() && now >= one.hello {
                one.client.enqueue(now, &[turn as u8]);
                one.hello = now + Span::from_millis(200);
            }
            while let Some(transmit) = one.client.transmit() {
                one.socket.send([(Some(transmit.to), &transmit.bytes[..])].into_iter());
            }
            // As long as there is something, up to some batches.
            for _ in 0..8 {
                let more = one.socket.receive(&mut batch).unwrap_or(false);
                let stamps = stamp_now();
                for packet in batch.iter() {
                    let stamp = packet.stamp.unwrap_or(stamps);
                    let brought = one.client.receive(now, stamp, Some(stamps), packet.from, packet.bytes);
                    one.received += u64::from(brought.is_some() && now >= measured);
                }
                if !more {
                    break;
                }
            }
        }
        let _ = source.receive(&mut batch);
        for hello in batch.iter() {
            // The clients' sockets at the edge, in the order in which they are first heard of.
            if !ends.iter().any(|one| one.backend == Some(hello.from))
                && let Some(one) = ends.iter_mut().find(|one| one.backend.is_none())
            {
                one.backend = Some(hello.from);
            }
        }
        if now.since(next) > Span::from_millis(5) {
            next = now;
        }
        while next <= now {
            next += gap;
            turn = (turn + 1) % ends.len();
            if let Some(to) = ends[turn].backend {
                refused += source.send((0..BURST).map(|_| (Some(to), &datagram[..]))) as u64;
                sent += if now >= measured { BURST } else { 0 };
            }
        }
        let left = next.since(airbound_linux::now());
        if left > Span::from_micros(20) {
            let mut fds: Vec<PollFd<'_>> =
                ends.iter().map(|one| PollFd::from_borrowed_fd(one.socket.as_fd(), PollFlags::IN)).collect();
            let _ = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: left.as_nanos() as _ }));
        }
    }
    let time = (end - measured).as_secs_f64();
    let received: u64 = ends.iter().map(|one| one.received).sum();
    let mbps = |packets: u64| packets as f64 * LENGTH as f64 * 8.0 / time / 1e6;
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    writeln!(
        std::io::stdout().lock(),
        "{{\"offered_mbps\": {:.1}, \"delivered_mbps\": {:.1}, \"lost\": {}, \"refused\": {refused}, \"cpu_s\": {:.2}}}",
        mbps(sent),
        mbps(received),
        sent.saturating_sub(received),
        cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
    )?;
    Ok(())
}
