//! The low-delay rate allocation.

use airbound_senders::allocation::{self, AllocationConfig, Bottleneck, Direction, ReceiverId, Report};
use airbound_units::{BitRate, ByteCount, Instant, Span};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::refused;
use crate::value::config;
use crate::whole::{Whole, measured, perhaps, whole};

/// The low-delay rate allocation: sending rates from the aggregation level that stations report.
///
/// Parameters: ``target``, ``gain``, ``interval``, ``share``, ``form``, ``start``, ``start_rate``, ``packet``, ``hold``,
/// ``forget``, ``steady`` and others (docs/understand/low-delay-rate-allocation.md).
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

    /// A station, by its number, starts to receive data at ``now`` (ns).
    fn join(&mut self, now: Whole<Instant>, station: Whole<ReceiverId>) {
        self.0.join(now.0, station.0);
    }

    /// A station, by its number, starts to send at ``now`` (ns).
    fn join_uplink(&mut self, now: Whole<Instant>, station: Whole<ReceiverId>) {
        self.0.join_uplink(now.0, station.0);
    }

    /// A station, by its number, stops receiving data at ``now`` (ns).
    fn leave(&mut self, now: Whole<Instant>, station: Whole<ReceiverId>) {
        self.0.leave(now.0, station.0);
    }

    /// A station, by its number, stops sending at ``now`` (ns).
    fn leave_uplink(&mut self, now: Whole<Instant>, station: Whole<ReceiverId>) {
        self.0.leave_uplink(now.0, station.0);
    }

    #[pyo3(signature = (
        now, station, *, number, slot, frames, packets, payload, transmissions, spread = 0.0, repeats = 0, phy_rate = None,
        retransmitted = 0, missing = 0, uplink_queue = 0, uplink_level = 0.0, companions = 0.0
    ))]
    /// A station's measurement in a slot of ``slot`` ns: ``frames`` with ``packets`` packets of ``payload`` bytes in total.
    ///
    /// The aggregation level is ``transmissions / frames``. ``number`` ascends from report to report. Values are rounded as in the
    /// report's packet format. Raises ``ArgumentError`` for values that no sensor can measure.
    #[expect(clippy::too_many_arguments, reason = "the fields of a report, by name")]
    fn on_report(
        &mut self,
        now: Whole<Instant>,
        station: Whole<ReceiverId>,
        number: Whole<u32>,
        slot: Whole<Span>,
        frames: Whole<u32>,
        packets: Whole<u32>,
        payload: Whole<ByteCount>,
        transmissions: Whole<u32>,
        #[pyo3(from_py_with = measured)] spread: f64,
        #[pyo3(from_py_with = whole)] repeats: u16,
        phy_rate: Option<Whole<BitRate>>,
        #[pyo3(from_py_with = whole)] retransmitted: u32,
        #[pyo3(from_py_with = whole)] missing: u32,
        #[pyo3(from_py_with = whole)] uplink_queue: u64,
        #[pyo3(from_py_with = measured)] uplink_level: f64,
        #[pyo3(from_py_with = measured)] companions: f64,
    ) -> PyResult<()> {
        let report = Report {
            number: number.0,
            slot: slot.0,
            frames: frames.0,
            repeats,
            packets: packets.0,
            payload: payload.0,
            transmissions: transmissions.0,
            spread,
            phy_rate: perhaps(phy_rate),
            retransmitted,
            missing,
            uplink_queue: ByteCount::new(uplink_queue),
            uplink_level,
            companions,
        };
        // Values that do not fit the encoding, or that no sensor measures, are refused here too.
        let report = Report::decode(&report.encode()).map_err(refused)?;
        self.0.on_report(now.0, station.0, &report);
        Ok(())
    }

    /// Allocates rates if the deadline has passed at ``now`` (ns). Returns whether they may have changed.
    fn on_deadline(&mut self, now: Whole<Instant>) -> bool {
        self.0.on_deadline(now.0)
    }

    /// The downlink rate of a station's payload, bit/s; 0 for an unknown station.
    fn rate(&self, station: Whole<ReceiverId>) -> u64 {
        self.0.rate(station.0).as_bps()
    }

    /// The uplink rate of a station, bit/s.
    fn uplink_rate(&self, station: Whole<ReceiverId>) -> u64 {
        self.0.uplink_rate(station.0).as_bps()
    }

    /// Station, direction, rate (bit/s), level (packets), PHY rate (bit/s), bottleneck (``"wire"``, ``"wlan"``) of each.
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

    /// The time of the next allocation, ns; ``None`` without stations.
    #[getter]
    fn next_deadline(&self) -> Option<u64> {
        self.0.next_deadline().map(Instant::as_nanos)
    }

    /// The number of reports of unknown stations and of late reports.
    #[getter]
    fn refused(&self) -> u64 {
        self.0.refused()
    }
}
