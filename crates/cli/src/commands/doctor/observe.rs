//! The observations: probes in time, counters once a second, scans as they come.

use airbound_linux::interface::Interface;
use airbound_linux::nl80211::{Bitrate, ScanEvent, Scans, Station, Wireless};
use airbound_linux::pings::{self, Pings};
use airbound_linux::{LinuxError, MacAddress, neighbours::Neighbours, now};
use airbound_senders::diagnosis::{Counters, Observations, Probe, Side, schedule};
use airbound_units::{ByteCount, Instant, Span};

use super::place::Place;
use crate::args::doctor::Doctor;
use crate::error::CliError;

/// Time between two readings of the counters.
const READING: Span = Span::from_secs(1);
/// A probe is sent no later than this behind its time.
const LATEST: Span = Span::from_millis(5);

/// Probes, scans and counters of a machine.
pub(super) struct Watch {
    near: Option<Pings>,
    far: Option<Pings>,
    scans: Option<Scans>,
    counted: Option<Counted>,
    seen: Observations,
}

/// Counters of a radio.
struct Counted {
    wireless: Wireless,
    interface: u32,
    /// The peer, where there are several.
    peer: Option<MacAddress>,
    is_access_point: bool,
    /// The last reading of each station, and the airtime of all so far.
    last: Vec<Station>,
    own: Span,
}

impl Watch {
    /// Prepares all, and says how it is done.
    pub(super) fn open(doctor: &Doctor, place: &Place) -> Result<(Self, Vec<String>), CliError> {
        let mut ways = Vec::new();
        let mut open = |name: &str, address| -> Result<Pings, LinuxError> {
            let pings = Pings::open(address, doctor.port)?;
            ways.push(format!("{name} {address} by {}", pings.way()));
            Ok(pings)
        };
        let near = place.near.map(|address| open("near end", address)).transpose()?;
        let far = place.host.map(|address| open("host", address)).transpose()?;
        ways.push(match &place.wifi {
            Some(wifi) => format!("{}, {}", wifi.name, wifi.role.name()),
            None => "no Wi-Fi interface: the wire alone is judged".to_owned(),
        });
        let scans = place.wifi.as_ref().and_then(|wifi| Scans::open(wifi.wiphy).ok());
        let mut counted = None;
        let mut power_save = None;
        if let Some(wifi) = &place.wifi {
            let mut wireless = Wireless::open()?;
            let is_access_point = place.side == Side::AccessPoint;
            power_save = if is_access_point { None } else { wireless.power_save(wifi.index) };
            let peer = place.near.filter(|_| is_access_point);
            // The addresses behind a bridged interface are the bridge's.
            let bridge = Interface::find(&wifi.name).ok().and_then(|link| link.bridge);
            let peer = peer.and_then(|near| Neighbours::of(bridge.unwrap_or(wifi.index)).ok()?.station(near));
            let (last, own) = (Vec::new(), Span::ZERO);
            counted = Some(Counted { wireless, interface: wifi.index, peer, is_access_point, last, own });
        }
        let (side, stutters) = (place.side, doctor.stutters);
        let seen = Observations { side, power_save, stutters, ..Observations::default() };
        Ok((Self { near, far, scans, counted, seen }, ways))
    }

    pub(super) fn observe(&mut self, doctor: &Doctor) -> Result<Observations, CliError> {
        let unread = pings::unread_datagrams();
        let begin = now();
        let (mut reading, mut scan) = (begin, None);
        for (after, turn) in schedule(doctor.duration) {
            let at = begin + after;
            loop {
                self.wait(at)?;
                self.receive(&mut scan)?;
                if now() >= reading {
                    self.seen.counters.extend(self.counted.as_mut().and_then(Counted::read));
                    reading += READING;
                }
                if now() >= at {
                    break;
                }
            }
            // Probes that a stall has made late are left out.
            if now().since(at) < LATEST {
                self.near.iter_mut().filter(|_| turn.near).for_each(Pings::send);
                self.far.iter_mut().filter(|_| turn.far).for_each(Pings::send);
            }
        }
        let last = now() + pings::LOST;
        while now() < last {
            self.receive(&mut scan)?;
            self.wait((now() + Span::from_millis(50)).min(last))?;
        }
        let mut seen = std::mem::take(&mut self.seen);
        seen.scans.extend(scan.map(|begin| (begin, now())));
        let probes = |pings: Option<Pings>| {
            let done = pings.map(Pings::finish).unwrap_or_default();
            done.into_iter().map(|(sent, round_trip)| Probe { sent, round_trip }).collect()
        };
        (seen.near, seen.far) = (probes(self.near.take()), probes(self.far.take()));
        seen.unread = pings::unread_datagrams().saturating_sub(unread);
        Ok(seen)
    }

    fn receive(&mut self, scan: &mut Option<Instant>) -> Result<(), CliError> {
        self.near.iter_mut().chain(&mut self.far).for_each(Pings::receive);
        let seen = &mut self.seen.scans;
        if let Some(scans) = &mut self.scans {
            scans.read(|event| match event {
                ScanEvent::Begins => *scan = Some(now()),
                ScanEvent::Ends => seen.extend(scan.take().map(|begin| (begin, now()))),
            });
        }
        Ok(())
    }

    /// Waits until something comes, or a time; a machine that wakes this program much later has stalled.
    fn wait(&mut self, until: Instant) -> Result<(), CliError> {
        let all: Vec<&Pings> = self.near.iter().chain(&self.far).collect();
        let scans: Vec<_> = self.scans.iter().map(Scans::descriptor).collect();
        let from = now().max(until);
        pings::wait(&all, &scans, until)?;
        let late = now().since(from);
        if !late.is_zero() {
            self.seen.stalls.push((from, late));
        }
        Ok(())
    }
}

impl Counted {
    /// Reads the counters; `None` without a station.
    fn read(&mut self) -> Option<Counters> {
        let stations = self.wireless.stations(self.interface).ok()?;
        // A driver without a survey has the other counters.
        let survey = self.wireless.survey(self.interface).unwrap_or_default();
        let survey = survey.into_iter().find(|survey| survey.is_in_use);
        for station in &stations {
            let before = self.last.iter().find(|before| before.address == station.address);
            self.own += before.map_or(Span::ZERO, |before| airtime(before, station));
        }
        let peer = match self.peer {
            Some(peer) => stations.iter().find(|station| station.address == peer)?,
            None => stations.first()?,
        };
        let counters = Counters {
            at: now(),
            signal: peer.signal.or(peer.signal_average).map(f64::from),
            sent: peer.sent_packets.map(u64::from),
            retries: peer.retries.map(u64::from),
            failed: peer.failed.map(u64::from),
            on_channel: survey.and_then(|survey| survey.time),
            busy: survey.and_then(|survey| survey.busy),
            own: Some(self.own),
            backlog: if self.is_access_point {
                peer.backlog().map(|txq| txq.backlog_packets.into())
            } else {
                None
            },
        };
        self.last = stations;
        Some(counters)
    }
}

/// Airtime of a station between two readings: as its driver reports it, else that of its bytes at its rates.
fn airtime(before: &Station, after: &Station) -> Span {
    let grown = |after: Option<Span>, before: Option<Span>| Some(after?.saturating_sub(before?));
    let at_rate = |after: Option<u64>, before: Option<u64>, rate: Option<Bitrate>| {
        let bytes = ByteCount::new(after?.saturating_sub(before?));
        rate.filter(|rate| rate.rate.as_bps() > 0).map(|rate| rate.rate.time_for(bytes))
    };
    let sent = grown(after.transmit_airtime, before.transmit_airtime)
        .or_else(|| at_rate(after.sent_bytes, before.sent_bytes, after.transmit_rate));
    let received = grown(after.receive_airtime, before.receive_airtime)
        .or_else(|| at_rate(after.received_bytes, before.received_bytes, after.receive_rate));
    sent.unwrap_or(Span::ZERO) + received.unwrap_or(Span::ZERO)
}
