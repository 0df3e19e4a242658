//! The low-delay rate allocation.

use airbound_senders::allocation::{self, AllocationConfig, Bottleneck, Direction, ReceiverId, Report};
use airbound_units::{BitRate, ByteCount, Instant, Span};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::refused;
use crate::value::config;

#[pyclass(module = "airbound.control")]
pub(crate) struct RateAllocator(allocation::RateAllocator);

/// Station, direction, rate in bit/s, level in packets, PHY rate in bit/s, bottleneck.
type Row = (u16, &'static str, u64, Option<f64>, Option<u64>, Option<&'static str>);

#[pymethods]
impl RateAllocator {
    #[new]
    #[pyo3(signature = (**keywords))]
    fn new(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        allocation::RateAllocator::new(config::<AllocationConfig>(keywords)?).map(Self).map_err(refused)
    }

    fn join(&mut self, now: u64, station: u16) {
        self.0.join(Instant::from_nanos(now), ReceiverId(station));
    }

    fn join_uplink(&mut self, now: u64, station: u16) {
        self.0.join_uplink(Instant::from_nanos(now), ReceiverId(station));
    }

    fn leave(&mut self, now: u64, station: u16) {
        self.0.leave(Instant::from_nanos(now), ReceiverId(station));
    }

    fn leave_uplink(&mut self, now: u64, station: u16) {
        self.0.leave_uplink(Instant::from_nanos(now), ReceiverId(station));
    }

    #[pyo3(signature = (
        now, station, *, number, slot, frames, packets, payload, transmissions, spread = 0.0, repeats = 0, phy_rate = None,
        retransmitted = 0, missing = 0, uplink_queue = 0, uplink_level = 0.0, companions = 0.0
    ))]
    #[expect(clippy::too_many_arguments, reason = "the fields of a report, by name")]
    fn on_report(
        &mut self,
        now: u64,
        station: u16,
        number: u32,
        slot: u64,
        frames: u32,
        packets: u32,
        payload: u64,
        transmissions: u32,
        spread: f64,
        repeats: u16,
        phy_rate: Option<u64>,
        retransmitted: u32,
        missing: u32,
        uplink_queue: u64,
        uplink_level: f64,
        companions: f64,
    ) -> PyResult<()> {
        let report = Report {
            number,
            slot: Span::from_nanos(slot),
            frames,
            repeats,
            packets,
            payload: ByteCount::new(payload),
            transmissions,
            spread,
            phy_rate: phy_rate.map(BitRate::from_bps),
            retransmitted,
            missing,
            uplink_queue: ByteCount::new(uplink_queue),
            uplink_level,
            companions,
        };
        // Values that do not fit the encoding, or that no sensor measures, are refused here too.
        let report = Report::decode(&report.encode()).map_err(refused)?;
        self.0.on_report(Instant::from_nanos(now), ReceiverId(station), &report);
        Ok(())
    }

    fn on_deadline(&mut self, now: u64) -> bool {
        self.0.on_deadline(Instant::from_nanos(now))
    }

    fn rate(&self, station: u16) -> u64 {
        self.0.rate(ReceiverId(station)).as_bps()
    }

    fn uplink_rate(&self, station: u16) -> u64 {
        self.0.uplink_rate(ReceiverId(station)).as_bps()
    }

    fn allocations(&self) -> Vec<Row> {
        let rows = self.0.allocations().map(|row| {
            let direction = match row.direction {
                Direction::Down => "down",
                Direction::Up => "up",
            };
            let bottleneck = match row.bottleneck {
                Bottleneck::None => None,
                Bottleneck::Wire => Some("wire"),
                Bottleneck::Wlan => Some("wlan"),
            };
            let phy_rate = row.phy_rate.map(BitRate::as_bps);
            (row.receiver.0, direction, row.rate.as_bps(), row.level, phy_rate, bottleneck)
        });
        rows.collect()
    }

    #[getter]
    fn next_deadline(&self) -> Option<u64> {
        self.0.next_deadline().map(Instant::as_nanos)
    }

    #[getter]
    fn refused(&self) -> u64 {
        self.0.refused()
    }
}
