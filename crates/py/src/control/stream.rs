//! The two ends of a stream with an allocated rate.

use airbound_senders::allocation::{ReceiverId, Stamps};
use airbound_senders::stream::{self, Arrival, ReceiverConfig, StreamConfig};
use airbound_units::{BitRate, ByteCount, Instant, Span};
use pyo3::prelude::*;

use super::refused;

/// Rates and reason for one receiver.
#[pyclass(module = "airbound.control", frozen, get_all)]
pub(crate) struct StreamDecision {
    reason: &'static str,
    encoder: u64,
    rate: u64,
    pacing: u64,
    pacing_interval: u64,
    largest_frame: u64,
    next: u64,
    level: Option<f64>,
    loss: Option<f64>,
    absence: Option<(u64, u64)>,
    reports: u32,
    refused: u32,
}

#[pyclass(module = "airbound.control")]
pub(crate) struct StreamSender(stream::StreamSender);

#[pymethods]
impl StreamSender {
    #[new]
    #[pyo3(signature = (*, receivers = 1, start = 5_000_000, least = 1_000_000, most = 1_000_000_000, interval = 100_000_000,
        frame_interval = 16_666_667, target = 32.0, packet = 1200, spread = 0.8, encoder_share = 0.9))]
    #[expect(clippy::too_many_arguments, reason = "the fields of a configuration, by name")]
    fn new(
        receivers: u16,
        start: u64,
        least: u64,
        most: u64,
        interval: u64,
        frame_interval: u64,
        target: f64,
        packet: u64,
        spread: f64,
        encoder_share: f64,
    ) -> PyResult<Self> {
        let config = StreamConfig {
            receivers,
            start: BitRate::from_bps(start),
            least: BitRate::from_bps(least),
            most: BitRate::from_bps(most),
            interval: Span::from_nanos(interval),
            frame_interval: Span::from_nanos(frame_interval),
            target,
            packet: ByteCount::new(packet),
            spread,
            encoder_share,
        };
        stream::StreamSender::new(config).map(Self).map_err(refused)
    }

    #[pyo3(signature = (now, receiver = 0, key = [0; 16]))]
    fn join(&mut self, now: u64, receiver: u16, key: [u8; 16]) -> PyResult<()> {
        self.0.join(Instant::from_nanos(now), ReceiverId(receiver), key).map_err(refused)
    }

    #[pyo3(signature = (now, receiver = 0))]
    fn leave(&mut self, now: u64, receiver: u16) -> PyResult<()> {
        self.0.leave(Instant::from_nanos(now), ReceiverId(receiver)).map_err(refused)
    }

    #[pyo3(signature = (now, size, packets, receiver = 0, deadline = None))]
    fn frame(
        &mut self,
        now: u64,
        size: u64,
        packets: u32,
        receiver: u16,
        deadline: Option<u64>,
    ) -> PyResult<()> {
        let deadline = deadline.map(Instant::from_nanos);
        let id = ReceiverId(receiver);
        self.0.frame(id, Instant::from_nanos(now), ByteCount::new(size), packets, deadline).map_err(refused)
    }

    #[pyo3(signature = (now, receiver = 0))]
    fn allowed(&mut self, now: u64, receiver: u16) -> PyResult<(u32, Option<u64>)> {
        let allowed = self.0.allowed(ReceiverId(receiver), Instant::from_nanos(now)).map_err(refused)?;
        Ok((allowed.packets, allowed.next.map(Instant::as_nanos)))
    }

    #[pyo3(signature = (now, packets, payload, receiver = 0))]
    fn sent(&mut self, now: u64, packets: u32, payload: u64, receiver: u16) -> PyResult<()> {
        let payload = ByteCount::new(payload);
        self.0.sent(ReceiverId(receiver), Instant::from_nanos(now), packets, payload).map_err(refused)
    }

    fn report(&mut self, now: u64, feedback: &[u8]) -> PyResult<u16> {
        self.0.report(Instant::from_nanos(now), feedback).map(|id| id.0).map_err(refused)
    }

    #[pyo3(signature = (now, receiver = 0))]
    fn poll(&mut self, now: u64, receiver: u16) -> PyResult<StreamDecision> {
        let decision = self.0.poll(ReceiverId(receiver), Instant::from_nanos(now)).map_err(refused)?;
        Ok(StreamDecision {
            reason: decision.reason.text(),
            encoder: decision.encoder.as_bps(),
            rate: decision.rate.as_bps(),
            pacing: decision.pacing.as_bps(),
            pacing_interval: decision.pacing_interval.as_nanos(),
            largest_frame: decision.largest_frame.as_u64(),
            next: decision.next.as_nanos(),
            level: decision.level,
            loss: decision.loss,
            absence: decision.absence.map(|absence| (absence.period.as_nanos(), absence.length.as_nanos())),
            reports: decision.reports,
            refused: decision.refused,
        })
    }
}

#[pyclass(module = "airbound.control")]
pub(crate) struct StreamReceiver(stream::StreamReceiver);

#[pymethods]
impl StreamReceiver {
    #[new]
    #[pyo3(signature = (*, receiver = 0, interval = 100_000_000, card_stamps = false, key = [0; 16]))]
    fn new(receiver: u16, interval: u64, card_stamps: bool, key: [u8; 16]) -> PyResult<Self> {
        let config = ReceiverConfig {
            receiver: ReceiverId(receiver),
            interval: Span::from_nanos(interval),
            stamps: if card_stamps { Stamps::Exact } else { Stamps::Jittered },
            key,
        };
        stream::StreamReceiver::new(config).map(Self).map_err(refused)
    }

    #[pyo3(signature = (now, arrivals, stamp_now = None))]
    fn arrived(&mut self, now: u64, arrivals: Vec<(u64, u64, u64)>, stamp_now: Option<u64>) -> PyResult<()> {
        let batch = arrivals.into_iter().map(|(stamp, sequence, payload)| Arrival {
            stamp: Instant::from_nanos(stamp),
            sequence,
            packets: 1,
            payload: ByteCount::new(payload),
            companion: false,
        });
        let batch: Vec<Arrival> = batch.collect();
        self.0.arrived(Instant::from_nanos(now), stamp_now.map(Instant::from_nanos), batch).map_err(refused)
    }

    fn phy_rate(&mut self, rate: Option<u64>) -> PyResult<()> {
        self.0.phy_rate(rate.map(BitRate::from_bps)).map_err(refused)
    }

    fn poll(&mut self, now: u64) -> Option<Vec<u8>> {
        self.0.poll(Instant::from_nanos(now)).map(Vec::from)
    }

    #[getter]
    fn next_deadline(&self) -> Option<u64> {
        self.0.next_deadline().map(Instant::as_nanos)
    }
}
