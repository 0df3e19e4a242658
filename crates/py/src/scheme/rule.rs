//! `airbound.BitrateRule` as the rule for the rate of a stream of video.

use std::sync::Arc;

use airbound_senders::rtp::rate::{CustomRule, RuleReport};
use airbound_units::{BitRate, Span};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

use super::{Class, Part, Site};

/// News of a receiver, as a :class:`airbound.BitrateRule` sees them.
#[pyclass(frozen, get_all, module = "airbound")]
pub(crate) struct StreamReport {
    /// The time of its arrival at the sender, ns.
    now: u64,
    /// The rate so far, bit/s: of all packets, parity and headers included.
    rate: u64,
    /// The least rate, bit/s.
    least: u64,
    /// The highest rate, bit/s.
    most: u64,
    /// Packets that arrived: departure in ns, bytes, and ns beyond the shortest way so far.
    packets: Vec<(u64, u64, u64)>,
    /// Number of packets newly missing.
    lost: usize,
    /// Frames that arrived: bytes; ns from departure to the return of an answer; ns from first to last packet.
    frames: Vec<(u64, u64, u64)>,
    /// Number of frames that cannot become complete unless packets are sent again.
    frames_lost: usize,
    /// The smoothed round trip, ns; ``None`` before the first packet.
    round_trip: Option<u64>,
    /// Number of bytes sent of which no report has said anything.
    in_flight: u64,
}

#[pymethods]
impl StreamReport {
    fn __repr__(&self) -> String {
        format!(
            "StreamReport(now={}, rate={}, packets={}, lost={}, frames={}, frames_lost={})",
            self.now,
            self.rate,
            self.packets.len(),
            self.lost,
            self.frames.len(),
            self.frames_lost
        )
    }
}

impl From<&RuleReport> for StreamReport {
    fn from(report: &RuleReport) -> Self {
        let packets = report.packets.iter();
        let frames = report.frames.iter();
        Self {
            now: report.now.as_nanos(),
            rate: report.rate.as_bps(),
            least: report.least.as_bps(),
            most: report.most.as_bps(),
            packets: packets
                .map(|one| (one.sent.as_nanos(), one.size.as_u64(), one.delay.as_nanos()))
                .collect(),
            lost: report.lost,
            frames: frames
                .map(|one| (one.size.as_u64(), one.latency.as_nanos(), one.span.as_nanos()))
                .collect(),
            frames_lost: report.frames_lost,
            round_trip: report.round_trip.map(Span::as_nanos),
            in_flight: report.in_flight.as_u64(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct PyRule(Part);

impl PyRule {
    pub(crate) fn new(class: &Arc<Class>, site: Site) -> Self {
        Self(Part::new(class, site))
    }
}

impl CustomRule for PyRule {
    fn on_report(&mut self, report: &RuleReport) -> BitRate {
        self.0.call(Some(report.now), report.rate, |object| {
            let name = intern!(object.py(), "on_report");
            let rate: f64 = object.call_method1(name, (StreamReport::from(report),))?.extract()?;
            if !rate.is_finite() || rate < 0.0 {
                return Err(PyValueError::new_err(format!(
                    "on_report() returned {rate}; allowed is a rate in bit/s, finite and 0 or more"
                )));
            }
            Ok(BitRate::from_bps_f64(rate))
        })
    }
}
