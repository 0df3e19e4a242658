//! Completions from nl80211's counters: differences between two readings.

use std::collections::BTreeMap;

use airbound_units::{ByteCount, Instant, Span};

use super::{Completion, CompletionCounters, Fate};
use crate::nl80211::{Station, WifiInterface, Wireless};
use crate::{LinuxError, MacAddress};

/// The counters of a station from which completions are derived.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Reading {
    packets: u32,
    bytes: u64,
    retries: u32,
    failed: u32,
    airtime: Option<Span>,
}

impl Reading {
    fn of(station: &Station) -> Self {
        Self {
            packets: station.sent_packets.unwrap_or(0),
            bytes: station.sent_bytes.unwrap_or(0),
            retries: station.retries.unwrap_or(0),
            failed: station.failed.unwrap_or(0),
            airtime: station.transmit_airtime,
        }
    }

    /// The frames acknowledged and the frames lost since `before`. The counters of a station start at zero when it associates.
    fn since(&self, before: &Self, station: MacAddress, at: Instant) -> [Option<Completion>; 2] {
        let is_anew = self.bytes < before.bytes;
        let before = if is_anew { Self::default() } else { *before };
        let packets = self.packets.wrapping_sub(before.packets);
        let failed = self.failed.wrapping_sub(before.failed).min(packets);
        let retries = self.retries.wrapping_sub(before.retries);
        let bytes = self.bytes.saturating_sub(before.bytes);
        let airtime = self.airtime.map(|now| now.saturating_sub(before.airtime.unwrap_or(Span::ZERO)));
        let part = |fate, frames: u32| {
            // Bytes, tries and airtime are split by the number of frames.
            let share = |amount: u64| {
                let share = u128::from(amount) * u128::from(frames) / u128::from(packets.max(1));
                u64::try_from(share).unwrap_or(u64::MAX)
            };
            (frames > 0).then(|| Completion {
                at,
                station,
                fate,
                frames,
                bytes: ByteCount::new(share(bytes)),
                tries: frames.saturating_add(share(retries.into()) as u32),
                airtime: airtime.map(|airtime| Span::from_nanos(share(airtime.as_nanos()))),
                details: None,
            })
        };
        [part(Fate::Acknowledged, packets - failed), part(Fate::Lost, failed)]
    }
}

/// The inverse of the share of time that readings may take.
const REST: u64 = 34;
/// Longest interval.
const LONGEST: Span = Span::from_millis(50);

/// Reads the counters at an interval, longer the more a reading takes: that of many stations is work for the kernel.
#[derive(Debug)]
pub(super) struct Poller {
    wireless: Wireless,
    interfaces: Vec<u32>,
    shortest: Span,
    interval: Span,
    read_at: Option<Instant>,
    readings: BTreeMap<MacAddress, Reading>,
    counters: CompletionCounters,
}

impl Poller {
    pub(super) fn open(interface: &WifiInterface, interval: Span) -> Result<Self, LinuxError> {
        let mut wireless = Wireless::open()?;
        let stations = wireless.stations(interface.index)?;
        Ok(Self {
            wireless,
            interfaces: vec![interface.index],
            shortest: interval,
            interval,
            read_at: None,
            readings: stations.iter().map(|station| (station.address, Reading::of(station))).collect(),
            counters: CompletionCounters::default(),
        })
    }

    pub(super) fn drain(
        &mut self,
        now: Instant,
        mut each: impl FnMut(&Completion),
    ) -> Result<(), LinuxError> {
        if self.read_at.is_some_and(|at| now.since(at) < self.interval) {
            return Ok(());
        }
        self.read_at = Some(now);
        let mut stations = Vec::new();
        let (mut failed, mut answered) = (None, false);
        for interface in &self.interfaces {
            match self.wireless.stations(*interface) {
                Ok(of_one) => {
                    answered = true;
                    stations.extend(of_one);
                }
                Err(error) => failed = Some(error),
            }
        }
        // One of several may have disappeared a moment ago.
        if let Some(error) = failed.filter(|_| !answered) {
            return Err(error);
        }
        let took = crate::now().since(now);
        self.counters.reading += took;
        self.interval = interval_of(took, self.shortest);
        let readings: BTreeMap<MacAddress, Reading> =
            stations.iter().map(|station| (station.address, Reading::of(station))).collect();
        for (station, reading) in &readings {
            let before = self.readings.get(station).copied().unwrap_or_default();
            for completion in reading.since(&before, *station, now).iter().flatten() {
                self.counters.frames += u64::from(completion.frames);
                each(completion);
            }
        }
        self.readings = readings;
        Ok(())
    }

    /// Reads the counters of these interfaces from now on.
    pub(super) fn watch(&mut self, interfaces: &[u32]) {
        self.interfaces = interfaces.to_vec();
    }

    /// The interval to the next reading.
    pub(super) const fn interval(&self) -> Span {
        self.interval
    }

    pub(super) const fn counters(&self) -> CompletionCounters {
        self.counters
    }
}

/// The interval at which readings that take `took` leave the processor to others.
fn interval_of(took: Span, shortest: Span) -> Span {
    (took * REST).clamp(shortest, LONGEST.max(shortest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_readings_are_rare() {
        let (micros, millis) = (Span::from_micros, Span::from_millis);
        assert_eq!(interval_of(micros(20), millis(1)), millis(1));
        assert_eq!(interval_of(micros(500), millis(1)), micros(17_000));
        assert_eq!(interval_of(millis(9), millis(1)), millis(50));
    }

    const STATION: MacAddress = MacAddress([2, 0, 0, 0, 1, 0]);

    fn reading(packets: u32, bytes: u64, retries: u32, failed: u32, airtime: u64) -> Reading {
        Reading { packets, bytes, retries, failed, airtime: Some(Span::from_micros(airtime)) }
    }

    #[test]
    fn differences_are_shared_by_frames() {
        let before = reading(10, 1000, 5, 1, 100);
        let now = reading(20, 11_000, 25, 3, 1100);
        let [acked, lost] = now.since(&before, STATION, Instant::ZERO);
        let (acked, lost) = (acked.expect("acknowledged"), lost.expect("lost"));
        assert_eq!((acked.frames, acked.bytes.as_u64(), acked.tries), (8, 8000, 24));
        assert_eq!((lost.frames, lost.bytes.as_u64(), lost.tries), (2, 2000, 6));
        assert_eq!(acked.airtime, Some(Span::from_micros(800)));
        assert_eq!(lost.fate, Fate::Lost);
    }

    #[test]
    fn counters_wrap_and_restart() {
        let before = reading(u32::MAX, 5000, u32::MAX, 0, 0);
        let [acked, lost] = reading(1, 6000, 0, 0, 0).since(&before, STATION, Instant::ZERO);
        assert_eq!((acked.map(|acked| acked.frames), lost), (Some(2), None));
        // The station has associated again.
        let [acked, _] = reading(3, 300, 0, 0, 0).since(&before, STATION, Instant::ZERO);
        assert_eq!(acked.map(|acked| (acked.frames, acked.bytes.as_u64())), Some((3, 300)));
        let same = reading(3, 300, 0, 0, 0);
        assert_eq!(same.since(&same, STATION, Instant::ZERO), [None, None]);
    }
}
