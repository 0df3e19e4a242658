//! The two ends of a live stream.

use airbound_senders::allocation::{ReceiverId, Share, Stamps};
use airbound_senders::stream::{self, Reason, ReceiverConfig, StreamConfig, StreamError};
use airbound_units::{BitRate, ByteCount, Instant, Span};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;

use crate::error::ArgumentError;
use crate::whole::{Whole, perhaps, whole};

/// The exception of an error: of an unknown receiver, of a sender that is full, of a value or message that is refused.
fn exception(error: StreamError) -> PyErr {
    let sentence = error.to_string();
    match error {
        StreamError::Unknown => PyKeyError::new_err(sentence),
        StreamError::Full(_) => PyRuntimeError::new_err(sentence),
        _ => ArgumentError::new_err(sentence),
    }
}

/// The key of receivers without one.
const NO_KEY: &[u8] = &[0; 16];

fn key_of(key: &[u8]) -> PyResult<[u8; 16]> {
    key.try_into().map_err(|_| ArgumentError::new_err(format!("key has {} bytes; allowed are 16", key.len())))
}

/// The name of a reason, as in the C interface.
const fn name(reason: Reason) -> &'static str {
    match reason {
        Reason::Rising => "rising",
        Reason::AirFull => "air-full",
        Reason::LevelAboveTarget => "level-above-target",
        Reason::RadioAway => "radio-away",
        Reason::Application => "application",
        Reason::NoFeedback => "no-feedback",
        Reason::Wire => "wire",
        Reason::NotAggregating => "not-aggregating",
        Reason::Most => "most",
        Reason::Latency => "latency",
        _ => "other",
    }
}

/// Rates for one receiver, and the reason that limits them.
#[pyclass(module = "airbound.control", frozen, get_all)]
pub(crate) struct StreamDecision {
    /// ``"rising"``, ``"air-full"``, ``"level-above-target"``, ``"radio-away"``, ``"application"``, ``"no-feedback"``, ``"wire"``,
    /// ``"not-aggregating"``, ``"most"`` or ``"latency"``.
    reason: &'static str,
    /// The reason as a sentence for users.
    text: &'static str,
    /// The payload rate of the receiver, error correction and the application's headers included, bit/s.
    rate: u64,
    /// The rate for the encoder, bit/s.
    encoder: u64,
    /// The highest rate at which packets of a frame leave, bit/s.
    pacing: u64,
    /// The time between two packets of the usual size at that rate, ns.
    pacing_interval: u64,
    /// The largest frame that is sent within its interval, bytes.
    largest_frame: u64,
    /// The time of the next call if nothing happens before, ns.
    next: u64,
    /// The mean aggregation level of the last message with frames, packets; ``None`` before the first.
    level: Option<f64>,
    /// The level that is held, packets: ``target``, or less for a low PHY rate or for ``latency``.
    target: f64,
    /// The share of packets lost in a queue or on the wire, 0 to 1, of the last message; ``None`` before the first.
    loss: Option<f64>,
    /// Period and length of the absences of the receiver's radio, ns; ``None`` if there are none.
    absence: Option<(u64, u64)>,
    /// The number of messages taken.
    reports: u32,
    /// The number of messages refused that named this receiver.
    refused: u32,
}

/// The sending end of live streams whose receivers share one access point: the library of docs/use/library.md.
///
/// Parameters: ``receivers``, 1 to 256; ``start``, ``least`` and ``most``, rates in bit/s; ``interval`` of messages, 20 to 200 ms in ns,
/// the same at both ends; ``frame_interval``, ns, until it is learnt; ``target``, the aggregation level to hold, 1 to 256 packets;
/// ``latency``, from a frame to the arrival of its packets, ns, for which the target is lowered, or ``None``;
/// ``share``, ``"optimal"`` or ``"equal-airtime"``; ``packet``, the usual payload of a packet, bytes; ``spread``, the share of a frame's
/// interval over which its packets leave; ``encoder_share``, the encoder's share of the rate. Raises ``ArgumentError`` for a value out of
/// range. Calls that name a receiver which has not joined raise ``KeyError``. ``now`` is a steady clock, ns.
#[pyclass(module = "airbound.control")]
pub(crate) struct StreamSender(stream::StreamSender);

#[pymethods]
impl StreamSender {
    #[new]
    #[pyo3(signature = (
        *, receivers = 1, start = 5_000_000, least = 1_000_000, most = 1_000_000_000, interval = 100_000_000,
        frame_interval = 16_666_667, target = 32.0, latency = None, share = "optimal", packet = 1200, spread = 0.8, encoder_share = 0.9
    ))]
    #[expect(clippy::too_many_arguments, reason = "the parameters, by name")]
    fn new(
        #[pyo3(from_py_with = whole)] receivers: u16,
        #[pyo3(from_py_with = whole)] start: u64,
        #[pyo3(from_py_with = whole)] least: u64,
        #[pyo3(from_py_with = whole)] most: u64,
        #[pyo3(from_py_with = whole)] interval: u64,
        #[pyo3(from_py_with = whole)] frame_interval: u64,
        target: f64,
        latency: Option<Whole<Span>>,
        share: &str,
        #[pyo3(from_py_with = whole)] packet: u64,
        spread: f64,
        encoder_share: f64,
    ) -> PyResult<Self> {
        let share = match share {
            "optimal" => Share::Optimal,
            "equal-airtime" => Share::EqualAirtime,
            other => {
                let sentence = format!("share is {other}; allowed are optimal and equal-airtime");
                return Err(ArgumentError::new_err(sentence));
            }
        };
        let config = StreamConfig {
            receivers,
            start: BitRate::from_bps(start),
            least: BitRate::from_bps(least),
            most: BitRate::from_bps(most),
            interval: Span::from_nanos(interval),
            frame_interval: Span::from_nanos(frame_interval),
            target,
            latency: perhaps(latency),
            share,
            packet: ByteCount::new(packet),
            spread,
            encoder_share,
            ..StreamConfig::default()
        };
        stream::StreamSender::new(config).map(Self).map_err(exception)
    }

    /// Adds a receiver, or begins anew with a known one. ``key``, 16 bytes, is that of its messages; zeros protect from accidents only.
    ///
    /// Raises ``RuntimeError`` if as many receivers have joined as were configured.
    #[pyo3(signature = (now, receiver, key = NO_KEY))]
    fn join(&mut self, now: Whole<Instant>, receiver: Whole<ReceiverId>, key: &[u8]) -> PyResult<()> {
        self.0.join(now.0, receiver.0, key_of(key)?).map_err(exception)
    }

    /// Removes a receiver; the others share its rate.
    fn leave(&mut self, now: Whole<Instant>, receiver: Whole<ReceiverId>) -> PyResult<()> {
        self.0.leave(now.0, receiver.0).map_err(exception)
    }

    /// Takes a frame of ``size`` bytes in ``packets`` packets, to be sent by ``deadline`` (ns) or within the usual interval of frames.
    ///
    /// Raises ``ArgumentError`` for a size out of range and ``RuntimeError`` if too much waits; the frame is not taken then.
    #[pyo3(signature = (now, receiver, size, packets, deadline = None))]
    fn frame(
        &mut self,
        now: Whole<Instant>,
        receiver: Whole<ReceiverId>,
        size: Whole<ByteCount>,
        packets: Whole<u32>,
        deadline: Option<Whole<Instant>>,
    ) -> PyResult<()> {
        self.0.frame(receiver.0, now.0, size.0, packets.0, perhaps(deadline)).map_err(exception)
    }

    /// The number of packets that may be sent now, and when the next one may (ns); ``None`` if nothing waits.
    fn allowed(&mut self, now: Whole<Instant>, receiver: Whole<ReceiverId>) -> PyResult<(u32, Option<u64>)> {
        let allowed = self.0.allowed(receiver.0, now.0).map_err(exception)?;
        Ok((allowed.packets, allowed.next.map(Instant::as_nanos)))
    }

    /// Notes packets handed to the network, ``payload`` bytes in all. Raises ``ArgumentError`` for a size out of range.
    fn sent(
        &mut self,
        now: Whole<Instant>,
        receiver: Whole<ReceiverId>,
        packets: Whole<u32>,
        payload: Whole<ByteCount>,
    ) -> PyResult<()> {
        self.0.sent(receiver.0, now.0, packets.0, payload.0).map_err(exception)
    }

    /// Takes a receiver's message; returns its receiver. Raises ``ArgumentError`` for one that is not believed, which is only counted.
    fn report(&mut self, now: Whole<Instant>, message: &[u8]) -> PyResult<u16> {
        self.0.report(now.0, message).map(|id| id.0).map_err(exception)
    }

    /// Decides if it is due at ``now`` (ns), and returns rates and reason.
    fn poll(&mut self, now: Whole<Instant>, receiver: Whole<ReceiverId>) -> PyResult<StreamDecision> {
        let decision = self.0.poll(receiver.0, now.0).map_err(exception)?;
        Ok(StreamDecision {
            reason: name(decision.reason),
            text: decision.reason.text(),
            rate: decision.rate.as_bps(),
            encoder: decision.encoder.as_bps(),
            pacing: decision.pacing.as_bps(),
            pacing_interval: decision.pacing_interval.as_nanos(),
            largest_frame: decision.largest_frame.as_u64(),
            next: decision.next.as_nanos(),
            level: decision.level,
            target: decision.target,
            loss: decision.loss,
            absence: decision.absence.map(|absence| (absence.period.as_nanos(), absence.length.as_nanos())),
            reports: decision.reports,
            refused: decision.refused,
        })
    }

    /// The number of messages refused of all receivers.
    #[getter]
    fn refused(&self) -> u64 {
        self.0.refused()
    }
}

/// The receiving end of a live stream: arrivals become messages to the sender.
///
/// ``receiver`` is the number under which it joins; ``key`` 16 bytes; ``interval`` as at the sender, ns; ``exact_stamps`` is for a card's
/// stamps, which are equal within an A-MPDU. Raises ``ArgumentError`` for a value out of range.
#[pyclass(module = "airbound.control")]
pub(crate) struct StreamReceiver(stream::StreamReceiver);

/// Stamp, sequence number, number of packets, payload.
type Arrived = (Whole<Instant>, Whole<u64>, Whole<u32>, Whole<ByteCount>);

#[pymethods]
impl StreamReceiver {
    #[new]
    #[pyo3(signature = (receiver = 0, *, key = NO_KEY, interval = 100_000_000, exact_stamps = false))]
    fn new(
        #[pyo3(from_py_with = whole)] receiver: u16,
        key: &[u8],
        #[pyo3(from_py_with = whole)] interval: u64,
        exact_stamps: bool,
    ) -> PyResult<Self> {
        let config = ReceiverConfig {
            receiver: ReceiverId(receiver),
            interval: Span::from_nanos(interval),
            stamps: if exact_stamps { Stamps::Exact } else { Stamps::Jittered },
            key: key_of(key)?,
        };
        stream::StreamReceiver::new(config).map(Self).map_err(exception)
    }

    /// Takes arrivals in the order of their stamps: tuples of receive stamp (ns), sequence number of the first packet, number of packets
    /// (1 to 1024), and payload of all of them (bytes).
    ///
    /// ``stamp_now`` is the time of the call on the clock of stamps (ns), ``None`` if that is the clock of ``now``; ``companion`` marks
    /// packets of another flow of the device, whose numbers have no meaning. Raises ``ArgumentError`` for a value out of range; no arrival
    /// is taken then.
    #[pyo3(signature = (now, batch, *, stamp_now = None, companion = false))]
    fn arrived(
        &mut self,
        now: Whole<Instant>,
        batch: Vec<Arrived>,
        stamp_now: Option<Whole<Instant>>,
        companion: bool,
    ) -> PyResult<()> {
        let arrivals = batch.iter().map(|(stamp, sequence, packets, payload)| stream::Arrival {
            stamp: stamp.0,
            sequence: sequence.0,
            packets: packets.0,
            payload: payload.0,
            companion,
        });
        self.0.arrived(now.0, perhaps(stamp_now), arrivals).map_err(exception)
    }

    /// Sets the PHY rate at which packets arrive from now on, bit/s; ``None`` if it is not known. Raises ``ArgumentError`` out of range.
    fn phy_rate(&mut self, rate: Option<Whole<BitRate>>) -> PyResult<()> {
        self.0.phy_rate(perhaps(rate)).map_err(exception)
    }

    /// The message to the sender if it is due, 64 bytes, to be sent once; else ``None``.
    fn poll(&mut self, now: Whole<Instant>) -> Option<Vec<u8>> {
        self.0.poll(now.0).map(Vec::from)
    }

    /// The time of the next message, ns; ``None`` before the first arrival.
    #[getter]
    fn next_deadline(&self) -> Option<u64> {
        self.0.next_deadline().map(Instant::as_nanos)
    }
}
