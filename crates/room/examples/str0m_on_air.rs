//! str0m's bandwidth estimation over `str0m-netem`'s Wi-Fi and over that of `airbound-link`, in virtual time.
//!
//! A server sends video of at most 5 Mb/s, as fast as the estimate allows, to a station, or a station to a server. What a test of str0m
//! changes to leave netem for a place is `impl Way for Link`.
#![allow(clippy::print_stdout, reason = "prints its results")]

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::time::{Duration, Instant};

use airbound_link::{Direction, Link};
use netem::{Input as NetemInput, Netem, NetemConfig, Output as NetemOutput};
use str0m::bwe::{Bitrate, BweKind};
use str0m::format::Codec;
use str0m::media::MediaKind;
use str0m::net::{Protocol, Receive};
use str0m::rtp::{RtpWrite, Ssrc};
use str0m::{Candidate, Event, Input, Output, Rtc, RtcError};

/// Length of a run, and its part that counts.
const LENGTH: Duration = Duration::from_secs(40);
const COUNTED: Range<Duration> = Duration::from_secs(10)..Duration::from_secs(38);
/// Step of both ends' timers, and distance of frames.
const TICK: Duration = Duration::from_millis(1);
const FRAME: Duration = Duration::from_nanos(33_333_333);
/// Payload of a packet, and what video needs at most and at least.
const PAYLOAD: usize = 1100;
const MOST: f64 = 5e6;
const LEAST: f64 = 150e3;
const MEDIA: u32 = 42;

/// A datagram that has arrived, with the times of its push and its arrival.
pub(crate) struct Arrived {
    direction: Direction,
    sent: Duration,
    at: Duration,
    bytes: Vec<u8>,
}

/// A way for datagrams between two ends.
pub(crate) trait Way {
    fn offer(&mut self, now: Duration, direction: Direction, bytes: Vec<u8>);
    fn arrived(&mut self, now: Duration) -> Vec<Arrived>;
}

impl Way for Link {
    fn offer(&mut self, now: Duration, direction: Direction, bytes: Vec<u8>) {
        self.push(now, direction, bytes).expect("str0m keeps to its MTU");
    }

    fn arrived(&mut self, now: Duration) -> Vec<Arrived> {
        let taken = self.take(now).expect("time ascends").into_iter();
        taken
            .map(|one| Arrived { direction: one.direction, sent: one.sent, at: one.at, bytes: one.bytes })
            .collect()
    }
}

/// A datagram in netem, with the time of its push.
#[derive(Clone)]
pub(crate) struct Queued(Duration, Vec<u8>);

impl AsRef<[u8]> for Queued {
    fn as_ref(&self) -> &[u8] {
        &self.1
    }
}

/// Two emulators of str0m, down and up.
pub(crate) struct Emulated {
    start: Instant,
    ways: [Netem<Queued>; 2],
}

impl Emulated {
    pub(crate) fn new(config: NetemConfig) -> Self {
        Self { start: Instant::now(), ways: [config.seed(1), config.seed(2)].map(Netem::new) }
    }
}

impl Way for Emulated {
    fn offer(&mut self, now: Duration, direction: Direction, bytes: Vec<u8>) {
        self.ways[direction as usize].handle_input(NetemInput::Packet(self.start + now, Queued(now, bytes)));
    }

    fn arrived(&mut self, now: Duration) -> Vec<Arrived> {
        let mut arrived = Vec::new();
        for direction in [Direction::Down, Direction::Up] {
            let way = &mut self.ways[direction as usize];
            while way.poll_timeout() <= self.start + now {
                let at = way.poll_timeout();
                way.handle_input(NetemInput::Timeout(at));
                if let Some(NetemOutput::Packet(Queued(sent, bytes))) = way.poll_output() {
                    arrived.push(Arrived { direction, sent, at: at - self.start, bytes });
                }
            }
        }
        arrived.sort_by_key(|one| one.at);
        arrived
    }
}

/// One end of the connection.
struct End {
    rtc: Rtc,
    address: SocketAddr,
    due: Duration,
    estimate: f64,
    connected: bool,
    /// Large datagrams that it has sent.
    sent: usize,
}

impl End {
    fn new(start: Instant, host: u8, estimates: bool) -> Self {
        let initial = estimates.then(|| Bitrate::kbps(500));
        let config = Rtc::builder().set_rtp_mode(true);
        let config = if estimates { config.enable_bwe(initial) } else { config };
        let address = SocketAddr::from((Ipv4Addr::new(10, 0, 0, host), 1000));
        Self {
            rtc: config.build(start),
            address,
            due: Duration::ZERO,
            estimate: 500e3,
            connected: false,
            sent: 0,
        }
    }

    /// Hands on what an input has led to.
    fn drain(
        &mut self,
        start: Instant,
        now: Duration,
        way: &mut impl Way,
        direction: Direction,
    ) -> Result<(), RtcError> {
        loop {
            match self.rtc.poll_output()? {
                Output::Timeout(due) => {
                    self.due = due.saturating_duration_since(start);
                    return Ok(());
                }
                Output::Transmit(datagram) => {
                    self.sent += usize::from(datagram.contents.len() > PAYLOAD && COUNTED.contains(&now));
                    way.offer(now, direction, datagram.contents.to_vec());
                }
                Output::Event(Event::Connected) => self.connected = true,
                Output::Event(Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. })) => {
                    self.estimate = estimate.as_f64();
                }
                Output::Event(_) => {}
            }
        }
    }
}

/// Estimates, delays and losses of a sender's video in the counted time.
#[derive(Debug, Default)]
pub(crate) struct Met {
    /// Estimates, one a second, in bit/s.
    pub(crate) estimates: Vec<f64>,
    /// One-way delays of large datagrams, sorted.
    pub(crate) delays: Vec<Duration>,
    /// Large datagrams that were sent.
    pub(crate) sent: usize,
}

impl Met {
    pub(crate) fn mean(&self) -> f64 {
        self.estimates.iter().sum::<f64>() / self.estimates.len() as f64
    }

    pub(crate) fn least(&self) -> f64 {
        self.estimates.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn delay(&self, percent: usize) -> f64 {
        let place = (self.delays.len() * percent).div_ceil(100).saturating_sub(1);
        self.delays.get(place).map_or(f64::NAN, |delay| delay.as_secs_f64() * 1e3)
    }

    pub(crate) fn lost(&self) -> f64 {
        100.0 * (self.sent.saturating_sub(self.delays.len())) as f64 / self.sent as f64
    }
}

/// A way without delay, for the handshake: timers of OpenSSL are of the wall clock, so that it does not repeat in virtual time.
#[derive(Default)]
struct Wire(Vec<Arrived>);

impl Way for Wire {
    fn offer(&mut self, now: Duration, direction: Direction, bytes: Vec<u8>) {
        self.0.push(Arrived { direction, sent: now, at: now, bytes });
    }

    fn arrived(&mut self, _now: Duration) -> Vec<Arrived> {
        std::mem::take(&mut self.0)
    }
}

/// A sender, a receiver and the time.
struct Call {
    sender: End,
    receiver: End,
    direction: Direction,
    start: Instant,
    now: Duration,
    next_frame: Duration,
    /// Number of the last packet.
    number: u64,
}

/// Sends video in a direction over a way.
pub(crate) fn send(mut way: impl Way, direction: Direction) -> Result<Met, RtcError> {
    let start = Instant::now();
    let (mut sender, mut receiver) = (End::new(start, 1, true), End::new(start, 2, false));
    connect(&mut sender, &mut receiver)?;
    sender.rtc.bwe().set_desired_bitrate(Bitrate::from(MOST));
    let (now, next_frame) = (Duration::ZERO, Duration::ZERO);
    let mut call = Call { sender, receiver, direction, start, now, next_frame, number: 1000 };
    let (mut met, mut wire) = (Met::default(), Wire::default());
    while !(call.sender.connected && call.receiver.connected) {
        call.tick(&mut wire, &mut met)?;
    }
    while call.now < LENGTH {
        call.media(&mut way)?;
        call.tick(&mut way, &mut met)?;
        if COUNTED.contains(&call.now) && call.now.subsec_nanos() == 0 {
            met.estimates.push(call.sender.estimate);
        }
    }
    met.delays.sort();
    met.sent = call.sender.sent;
    Ok(met)
}

impl Call {
    /// Passes a millisecond.
    fn tick(&mut self, way: &mut impl Way, met: &mut Met) -> Result<(), RtcError> {
        let Self { sender, receiver, start, direction, .. } = self;
        let (start, direction) = (*start, *direction);
        let back = if direction == Direction::Down { Direction::Up } else { Direction::Down };
        self.now += TICK;
        for Arrived { direction: own, sent, at, bytes } in way.arrived(self.now) {
            if own == direction && COUNTED.contains(&sent) && bytes.len() > PAYLOAD {
                met.delays.push(at - sent);
            }
            let (from, to, answers) = if own == direction {
                (&*sender, &mut *receiver, back)
            } else {
                (&*receiver, &mut *sender, direction)
            };
            let (source, destination) = (from.address, to.address);
            let packet =
                Receive { proto: Protocol::Udp, source, destination, contents: bytes.as_slice().try_into()? };
            to.rtc.handle_input(Input::Receive(start + at, packet))?;
            to.drain(start, self.now, way, answers)?;
        }
        for (end, own) in [(sender, direction), (receiver, back)] {
            if end.due <= self.now {
                end.rtc.handle_input(Input::Timeout(start + self.now))?;
                end.drain(start, self.now, way, own)?;
            }
        }
        Ok(())
    }

    /// Sends a frame when it is due, of a size that the estimate allows.
    fn media(&mut self, way: &mut impl Way) -> Result<(), RtcError> {
        if self.now < self.next_frame {
            return Ok(());
        }
        self.next_frame = self.now + FRAME;
        let sender = &mut self.sender;
        let pt =
            sender.rtc.codec_config().find(|codec| codec.spec().codec == Codec::Vp8).expect("a codec").pt();
        let bytes = sender.estimate.clamp(LEAST, MOST) * FRAME.as_secs_f64() / 8.0;
        for _ in 0..(bytes / PAYLOAD as f64).round().max(1.0) as u64 {
            self.number += 1;
            let (time, wallclock) = ((self.now.as_millis() * 90) as u32, self.start + self.now);
            let write =
                RtpWrite::new(pt, self.number.into(), time, wallclock, vec![0; PAYLOAD]).nackable(true);
            let mut api = sender.rtc.direct_api();
            api.stream_tx(&Ssrc::from(MEDIA)).expect("declared").write_rtp(write);
            sender.drain(self.start, self.now, way, self.direction)?;
        }
        Ok(())
    }
}

/// Exchanges what signalling would, and declares the video.
fn connect(sender: &mut End, receiver: &mut End) -> Result<(), RtcError> {
    let [own, other] =
        [&*sender, &*receiver].map(|end| Candidate::host(end.address, "udp").expect("a candidate"));
    for (end, local, remote) in [(&mut *sender, &own, &other), (&mut *receiver, &other, &own)] {
        end.rtc.add_local_candidate(local.clone());
        end.rtc.add_remote_candidate(remote.clone());
    }
    let keys = [&mut *sender, &mut *receiver].map(|end| {
        let api = end.rtc.direct_api();
        (api.local_dtls_fingerprint().clone(), api.local_ice_credentials())
    });
    let [own, other] = keys;
    for (end, (fingerprint, credentials), first) in
        [(&mut *sender, other, true), (&mut *receiver, own, false)]
    {
        let mut api = end.rtc.direct_api();
        api.set_remote_fingerprint(fingerprint);
        api.set_remote_ice_credentials(credentials);
        api.set_ice_controlling(first);
        api.start_dtls(first)?;
        api.declare_media("vid".into(), MediaKind::Video);
    }
    let (media, again) = (Ssrc::from(MEDIA), Some(Ssrc::from(MEDIA + 1)));
    sender.rtc.direct_api().declare_stream_tx(media, again, "vid".into(), None);
    let mut api = receiver.rtc.direct_api();
    api.expect_stream_rx(media, again, "vid".into(), None);
    api.enable_twcc_feedback();
    Ok(())
}

/// A row of the table.
fn row(name: &str, direction: Direction, met: &Met) {
    println!(
        "| {name} | {direction:?} | {:.2} | {:.2} | {:.1} | {:.0}, {:.0} |",
        met.mean() / 1e6,
        met.least() / 1e6,
        met.lost(),
        met.delay(50),
        met.delay(99)
    );
}

fn main() -> Result<(), RtcError> {
    str0m::crypto::from_feature_flags().install_process_default();
    println!("| way | direction | estimate, Mb/s | least, Mb/s | lost, % | delay p50, p99, ms |");
    println!("|---|---|---:|---:|---:|---:|");
    let presets = [
        ("netem `wifi`", NetemConfig::wifi()),
        ("netem `wifi_lossy`", NetemConfig::wifi_lossy()),
        ("netem `wifi_congested`", NetemConfig::wifi_congested()),
    ];
    for (name, config) in presets {
        row(name, Direction::Down, &send(Emulated::new(config), Direction::Down)?);
    }
    for place in airbound_link::places() {
        for direction in [Direction::Down, Direction::Up] {
            let link = Link::named(place.name).expect("a place");
            row(&format!("`{}`", place.name), direction, &send(link, direction)?);
        }
    }
    Ok(())
}
