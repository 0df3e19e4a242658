//! The receiving end: arrivals become feedback.

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::absence::AbsenceDetector;
use super::config::{ReceiverConfig, first_wrong};
use super::demand::Sample;
use super::error::StreamError;
use super::feedback::{FEEDBACK_LENGTH, Feedback};
use super::stamps::StampClock;
use crate::allocation::{FrameSensor, Observation, SensorConfig};

/// Largest payload of a packet.
const LARGEST: u64 = 65_535;
/// Upper limit on packets of an arrival, and so of a frame.
const MOST_PACKETS: u32 = 1024;

/// Received packets: one, or several that a kernel handed over as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The receive stamp, by the clock of stamps.
    pub stamp: Instant,
    /// The sequence number of the first packet: ascending by one from packet to packet, error correction and repetitions included.
    pub sequence: u64,
    /// Number of packets: 1 to 1024.
    pub packets: u32,
    /// The payload of all of them: 1 B to 65,535 B a packet.
    pub payload: ByteCount,
    /// Whether they are of another flow of this device; `sequence` has no meaning then.
    pub companion: bool,
}

impl Arrival {
    fn check(&self) -> Result<(), StreamError> {
        let payload = self.payload.as_u64();
        first_wrong(&[
            ((1..=MOST_PACKETS).contains(&self.packets), "packets of an arrival is out of range: 1 to 1024"),
            (
                payload > 0 && payload <= u64::from(self.packets) * LARGEST,
                "bytes of an arrival is out of range: 1 to 65535 a packet",
            ),
        ])
    }
}

/// The receiving end of a stream.
#[derive(Debug, Clone)]
pub struct StreamReceiver {
    config: ReceiverConfig,
    sensor: FrameSensor,
    stamps: StampClock,
    absences: AbsenceDetector,
    disturbed: bool,
    /// The last arrival, and the longest pause of the slot with the packet after it.
    last: Option<Instant>,
    pause: Option<(Span, Sample)>,
    phy_rate: Option<BitRate>,
}

impl StreamReceiver {
    /// Creates a receiver that has received nothing. It allocates all of its memory.
    ///
    /// # Errors
    /// [`StreamError::Range`] for a value out of range.
    pub fn new(config: ReceiverConfig) -> Result<Self, StreamError> {
        config.check()?;
        let sensor =
            SensorConfig { interval: config.interval, stamps: config.stamps, ..SensorConfig::default() };
        let sensor =
            FrameSensor::new(sensor).map_err(|_| StreamError::Range("interval_ns is out of range"))?;
        Ok(Self {
            config,
            sensor,
            stamps: StampClock::default(),
            absences: AbsenceDetector::default(),
            disturbed: false,
            last: None,
            pause: None,
            phy_rate: None,
        })
    }

    /// Takes a batch of arrivals in the order of their stamps. `now` is the time of the call on the caller's steady clock, `stamp_now` the
    /// same moment on the clock of stamps; `None` if stamps are of the steady clock.
    ///
    /// # Errors
    /// [`StreamError::Range`] for a value out of range; then no arrival of the batch is taken.
    pub fn arrived(
        &mut self,
        now: Instant,
        stamp_now: Option<Instant>,
        batch: impl IntoIterator<Item = Arrival, IntoIter: Clone>,
    ) -> Result<(), StreamError> {
        let batch = batch.into_iter();
        let mut last = None;
        for arrival in batch.clone() {
            arrival.check()?;
            last = Some(arrival.stamp);
        }
        let Some(last) = last else { return Ok(()) };
        self.stamps.follow(now, stamp_now, last);
        for arrival in batch {
            let at = self.stamps.steady(now, arrival.stamp);
            if arrival.companion {
                self.sensor.on_companions(at, arrival.packets);
                continue;
            }
            self.disturbed |= self.absences.on_arrival(at, arrival.packets);
            let pause = self.last.replace(at).map_or(Span::ZERO, |last| at.since(last));
            if self.pause.is_none_or(|(longest, _)| pause > longest) {
                self.pause = Some((pause, Sample::new(arrival.sequence, at)));
            }
            self.sensor.on_packet(&Observation {
                at,
                sequence: arrival.sequence,
                packets: arrival.packets,
                payload: arrival.payload,
                rate: self.phy_rate,
            });
        }
        Ok(())
    }

    /// Sets the PHY rate at which packets arrive from now on; `None` if it is not known.
    ///
    /// # Errors
    /// [`StreamError::Range`] for a rate below 1 Mbit/s or above 100 Gbit/s.
    pub fn phy_rate(&mut self, rate: Option<BitRate>) -> Result<(), StreamError> {
        let valid = rate.is_none_or(|rate| (1_000_000..=100_000_000_000).contains(&rate.as_bps()));
        first_wrong(&[(valid, "the PHY rate is out of range: 0 for unknown, or 1 Mbit/s to 100 Gbit/s")])?;
        self.phy_rate = rate;
        Ok(())
    }

    /// When feedback is due next; `None` before the first arrival.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.sensor.next_deadline()
    }

    /// The signed message to the sender, if it is due: to be sent once, unreliably.
    pub fn poll(&mut self, now: Instant) -> Option<[u8; FEEDBACK_LENGTH]> {
        let report = self.sensor.on_deadline(now)?;
        let absence = self.absences.absence(now);
        let disturbed = std::mem::take(&mut self.disturbed) && absence.is_some();
        // Without arrivals the last one told of is told of again.
        let sample = self.pause.map_or(Sample::default(), |(_, sample)| sample);
        if let Some((pause, _)) = &mut self.pause {
            *pause = Span::ZERO;
        }
        let feedback = Feedback { receiver: self.config.receiver, report, absence, sample, disturbed };
        Some(feedback.encode(&self.config.key))
    }
}
