//! Law as a link over the caller's packets.

use airbound_control::frame::RateChain;
use airbound_control::frame::TxReport;
use airbound_control::frame::{Dropped, FlowId, PlainPacket, StationId};
use airbound_control::link::{self, LawConfig, Link, LinkConfig, Returned, Room};
use airbound_control::queue::AnyQueue;
use airbound_control::rate::Capabilities;
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::refused;
use crate::rate::{Rate, steps};
use crate::value::config;
use crate::whole::{Whole, perhaps, whole};

/// Number of a packet, and the reason of its drop.
type Loss = (usize, &'static str);

/// Law for a transmitter: one queue with a time limit, and rate and retries of each transmission from one state.
///
/// ``rates`` are the rates that stations can receive, VHT at 80 MHz with two streams by default. Parameters: ``limit_q``,
/// ``limit_h`` and others (docs/understand/law.md).
#[pyclass(module = "airbound.control")]
pub(crate) struct Law {
    link: link::Law<PlainPacket, AnyQueue<PlainPacket>>,
    /// Descriptors held by the caller, by the number of the grant.
    handed: std::collections::BTreeMap<u64, (Instant, airbound_control::frame::TxDescriptor<PlainPacket>)>,
    next: u64,
}

/// A transmission that Law gives to the hardware.
#[pyclass(frozen, get_all, module = "airbound.control")]
pub(crate) struct Grant {
    /// The number, ascending.
    number: u64,
    /// The number of the receiver.
    station: u16,
    /// The packets of the aggregate, by the caller's numbers.
    packets: Vec<usize>,
    /// The rate chain: rates, and the number of tries of each.
    series: Vec<(Rate, u8)>,
    /// The time on the hardware after which it is returned, ns.
    give_up_after: Option<u64>,
    /// The time from which a failed try returns it, ns.
    give_up_at: Option<u64>,
}

#[pymethods]
impl Grant {
    fn __repr__(&self) -> String {
        format!("Grant({}: {} packets for station {})", self.number, self.packets.len(), self.station)
    }
}

impl Law {
    fn hand_out(&mut self, now: Instant, grant: airbound_control::frame::TxDescriptor<PlainPacket>) -> Grant {
        let number = self.next;
        self.next += 1;
        let shown = Grant {
            number,
            station: grant.station.0,
            packets: grant.mpdus.iter().map(|mpdu| mpdu.packet.number).collect(),
            series: steps(&grant.chain),
            give_up_after: grant.give_up_after.map(Span::as_nanos),
            give_up_at: grant.give_up_at.map(Instant::as_nanos),
        };
        self.handed.insert(number, (now, grant));
        shown
    }
}

fn losses(dropped: &[Dropped<PlainPacket>]) -> Vec<Loss> {
    dropped.iter().map(|dropped| (dropped.packet.number, dropped.reason.name())).collect()
}

#[pymethods]
impl Law {
    #[new]
    #[pyo3(signature = (rates = None, **keywords))]
    fn new(rates: Option<Vec<Rate>>, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let config = config::<LawConfig>(keywords)?;
        config.check().map_err(refused)?;
        let rates = rates.into_iter().flatten().map(|rate| rate.0).collect();
        let capabilities = Capabilities { rates, ..Capabilities::default() };
        let queue = config.inner_queue.0.build(0).map_err(refused)?;
        let link = link::Law::new(config, LinkConfig::default(), queue, &capabilities).map_err(refused)?;
        Ok(Self { link, handed: Default::default(), next: 0 })
    }

    /// Takes a packet of ``size`` bytes with the caller's number. Returns the dropped packets with their reasons.
    #[pyo3(signature = (now, station, number, size = 1500, flow = 0))]
    fn enqueue(
        &mut self,
        now: Whole<Instant>,
        station: Whole<StationId>,
        number: Whole<usize>,
        #[pyo3(from_py_with = whole)] size: u64,
        #[pyo3(from_py_with = whole)] flow: u32,
    ) -> Vec<Loss> {
        let packet = PlainPacket {
            number: number.0,
            size: ByteCount::new(size),
            ..PlainPacket::new(station.0, FlowId(flow))
        };
        let mut dropped = Vec::new();
        self.link.enqueue(now.0, packet, &mut dropped);
        losses(&dropped)
    }

    /// Returns the next transmission, if any, and the dropped packets with their reasons.
    fn next(&mut self, now: Whole<Instant>) -> (Option<Grant>, Vec<Loss>) {
        let (now, room) = (now.0, Room { category: Category::Be, max_duration: Span::MAX });
        let mut dropped = Vec::new();
        let grant = self.link.next(now, room, &mut dropped);
        (grant.map(|grant| self.hand_out(now, grant)), losses(&dropped))
    }

    /// A transmission ended after ``tries`` tries; ``acknowledged`` has an entry for each packet.
    ///
    /// Returns the transmission to repeat at once, if any, and the dropped packets with their reasons. Raises ``ArgumentError`` for a
    /// transmission that was reported before.
    #[pyo3(signature = (now, grant, tries, acknowledged, started = None))]
    fn report(
        &mut self,
        now: Whole<Instant>,
        grant: &Grant,
        tries: Whole<u32>,
        acknowledged: Vec<bool>,
        started: Option<Whole<Instant>>,
    ) -> PyResult<(Option<Grant>, Vec<Loss>)> {
        let number = grant.number;
        let Some((handed, held)) = self.handed.remove(&number) else {
            return Err(refused(format!(
                "grant {number} was already reported, or is not of this controller"
            )));
        };
        if acknowledged.len() != held.mpdus.len() {
            let (given, sent) = (acknowledged.len(), held.mpdus.len());
            self.handed.insert(number, (handed, held));
            return Err(refused(format!(
                "acknowledged has {given} entries; allowed are {sent}, one a packet"
            )));
        }
        let mut bitmap = AckBitmap::NONE;
        (0..).zip(&acknowledged).filter(|(_, got)| **got).for_each(|(index, _)| bitmap.set(index));
        let (now, tries) = (now.0, tries.0);
        let used: RateChain = held.chain.used(tries);
        let started = perhaps(started).or((tries > 0).then_some(handed));
        let report = TxReport {
            descriptor: held,
            handed,
            started,
            ended: now,
            used,
            airtime: None,
            acknowledged: bitmap,
            boundaries_known: true,
        };
        let mut returned = Returned::default();
        self.link.on_report(now, report, &mut returned);
        let dropped =
            returned.dropped.iter().map(|(mpdu, reason)| (mpdu.packet.number, reason.name())).collect();
        Ok((returned.retry_now.map(|grant| self.hand_out(now, grant)), dropped))
    }

    /// Law's state for a station: ``state``, ``rate``, ``successes``, ``threshold``, ``len_max`` and others (table 2).
    fn view<'py>(&self, py: Python<'py>, station: Whole<StationId>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(view) = self.link.view(station.0) else { return Ok(None) };
        let shown = PyDict::new(py);
        shown.set_item("state", view.state.name())?;
        shown.set_item("rate", Rate(view.rate))?;
        shown.set_item("rate_index", view.rate_index)?;
        shown.set_item("successes", view.successes)?;
        shown.set_item("retransmissions", view.retransmissions)?;
        shown.set_item("failed_probes", view.failed_probes)?;
        shown.set_item("threshold", view.threshold)?;
        shown.set_item("losses", view.losses)?;
        shown.set_item("tx_time_ns", view.tx_time.map(Span::as_nanos))?;
        shown.set_item("success", view.success)?;
        shown.set_item("len_max", view.len_max)?;
        shown.set_item("in_driver", view.in_driver)?;
        shown.set_item("in_hardware", view.in_hardware)?;
        Ok(Some(shown))
    }
}
