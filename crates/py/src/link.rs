//! A simulated network as a link for the caller's packets.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use airbound_link::{self as link, LinkConfig, LinkError};
use airbound_units::{Instant, Span};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::{ArgumentError, ScenarioError};
use crate::whole::{Whole, perhaps, whole};

/// The places of :class:`Link`: pairs of name and description.
#[pyfunction]
pub(crate) fn places() -> Vec<(&'static str, &'static str)> {
    link::places().iter().map(|place| (place.name, place.about)).collect()
}

/// A packet that has arrived.
#[pyclass(frozen, module = "airbound")]
pub(crate) struct Arrival {
    /// ``"down"`` or ``"up"``.
    #[pyo3(get)]
    direction: &'static str,
    /// The time at which it was pushed, ns.
    #[pyo3(get)]
    sent_ns: u64,
    /// The time at which it arrived, ns.
    #[pyo3(get)]
    at_ns: u64,
    data: Vec<u8>,
}

#[pymethods]
impl Arrival {
    /// Its bytes as they were pushed.
    #[getter]
    fn data(&self) -> &[u8] {
        &self.data
    }
    fn __repr__(&self) -> String {
        let Self { direction, sent_ns, at_ns, data } = self;
        format!("Arrival(direction=\"{direction}\", sent_ns={sent_ns}, at_ns={at_ns}, bytes={})", data.len())
    }
}

/// A simulated Wi-Fi network between a server and a station, in a place with a name (:func:`places`).
///
/// It has no clock, socket or thread: times are the caller's, whole nanoseconds since the start that never decrease, and the same calls
/// and seed give the same arrivals on every machine. ``scheme`` is that of the access point, such as ``"codel"``; ``demand_ns`` the
/// latency in which packets to the station are to arrive, ns. Raises :class:`ScenarioError` for an unknown place or scheme. Another
/// thread than that which made it gets a ``RuntimeError``.
#[pyclass(frozen, module = "airbound")]
pub(crate) struct Link {
    /// Its number among all.
    number: u64,
}

thread_local! {
    /// Networks do not leave their thread.
    static LINKS: RefCell<BTreeMap<u64, link::Link>> = const { RefCell::new(BTreeMap::new()) };
}
static NEXT: AtomicU64 = AtomicU64::new(0);

impl Link {
    fn call<T>(&self, act: impl FnOnce(&mut link::Link) -> Result<T, LinkError>) -> PyResult<T> {
        LINKS.with_borrow_mut(|links| match links.get_mut(&self.number) {
            Some(link) => act(link).map_err(raised),
            None => Err(PyRuntimeError::new_err("a link is used by the thread that made it, and no other")),
        })
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // One that another thread drops goes with its own thread.
        let _ = LINKS.try_with(|links| links.borrow_mut().remove(&self.number));
    }
}

#[pymethods]
impl Link {
    #[new]
    #[pyo3(signature = (place, *, scheme = None, seed = 1, demand_ns = None))]
    fn new(
        place: &str,
        scheme: Option<&str>,
        #[pyo3(from_py_with = whole)] seed: u64,
        demand_ns: Option<Whole<Span>>,
    ) -> PyResult<Self> {
        made(LinkConfig::named(place).map_err(raised)?, scheme, seed, demand_ns)
    }
    /// The link to a station of a scenario file's text (docs/use/scenarios.md). Times and seed as in the constructor.
    #[staticmethod]
    #[pyo3(signature = (text, station, *, scheme = None, seed = 1, demand_ns = None))]
    fn of_scenario(
        text: &str,
        station: &str,
        scheme: Option<&str>,
        #[pyo3(from_py_with = whole)] seed: u64,
        demand_ns: Option<Whole<Span>>,
    ) -> PyResult<Self> {
        made(LinkConfig::of_scenario(text, station), scheme, seed, demand_ns)
    }
    /// Sends a packet at ``now_ns``: the payload of a UDP datagram, at most 1472 bytes. ``direction`` is ``"down"``, to the station, or
    /// ``"up"``. Raises ``ArgumentError``, without effect, for a larger packet and for a time before that of an earlier call.
    fn push(&self, now_ns: Whole<Instant>, direction: &str, data: Vec<u8>) -> PyResult<()> {
        let direction = known(direction)?;
        self.call(|link| link.push(duration(now_ns), direction, data))
    }
    /// The next time at which :meth:`take` may return a packet, ns; ``None`` while no packet is on its way.
    fn next_event(&self) -> PyResult<Option<u64>> {
        self.call(|link| Ok(link.next_event().map(nanos)))
    }
    /// Advances to ``now_ns`` and returns the packets that have arrived since the last call, in order of time. Raises ``ArgumentError`` for
    /// a time before that of an earlier call.
    fn take(&self, now_ns: Whole<Instant>) -> PyResult<Vec<Arrival>> {
        let taken = self.call(|link| link.take(duration(now_ns)))?;
        let arrival = |one: link::Arrival| Arrival {
            direction: if one.direction == link::Direction::Down { "down" } else { "up" },
            sent_ns: nanos(one.sent),
            at_ns: nanos(one.at),
            data: one.bytes,
        };
        Ok(taken.into_iter().map(arrival).collect())
    }
    /// The packets of a direction so far: numbers of those pushed, arrived and lost.
    fn counts(&self, direction: &str) -> PyResult<(u64, u64, u64)> {
        let direction = known(direction)?;
        let counts = self.call(|link| Ok(link.counts(direction)))?;
        Ok((counts.pushed, counts.arrived, counts.lost))
    }
}

fn made(config: LinkConfig, scheme: Option<&str>, seed: u64, demand: Option<Whole<Span>>) -> PyResult<Link> {
    let config = scheme.into_iter().fold(config.seed(seed), LinkConfig::scheme);
    let config = perhaps(demand)
        .map(|demand| Duration::from_nanos(demand.as_nanos()))
        .into_iter()
        .fold(config, LinkConfig::demand);
    let link = link::Link::new(&config).map_err(raised)?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    LINKS.with_borrow_mut(|links| links.insert(number, link));
    Ok(Link { number })
}

fn known(direction: &str) -> PyResult<link::Direction> {
    match direction {
        "down" => Ok(link::Direction::Down),
        "up" => Ok(link::Direction::Up),
        _ => Err(ArgumentError::new_err("direction is unknown; allowed are \"down\" and \"up\"")),
    }
}

fn duration(now: Whole<Instant>) -> Duration {
    Duration::from_nanos(now.0.as_nanos())
}

/// Times of a link end within a day.
fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}

fn raised(error: LinkError) -> PyErr {
    match error {
        LinkError::UnknownPlace { .. } | LinkError::Scenario(_) => ScenarioError::new_err(error.to_string()),
        _ => ArgumentError::new_err(error.to_string()),
    }
}
