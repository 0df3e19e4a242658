//! `airbound.QueueScheme` as a queue decider.

use airbound_control::frame::{FlowId, StationId};
use airbound_control::queue::custom::{GivenUp, Mistake, QueueDecider, Waiting};
use airbound_control::queue::{AggregateBound, Demand, Direction};
use airbound_units::{BitRate, Instant, Span};
use airbound_wifi::edca::Category;
use pyo3::intern;
use pyo3::prelude::*;

use super::{Class, Part, Site, drop_reason};
use crate::whole::{Whole, perhaps};

/// A packet in a :class:`airbound.QueueScheme`.
#[pyclass(frozen, eq, module = "airbound")]
#[derive(PartialEq, Eq)]
pub(crate) struct Packet(Waiting);

#[pymethods]
impl Packet {
    /// The number in this queue, ascending.
    #[getter]
    const fn number(&self) -> u64 {
        self.0.number
    }
    /// The number of the flow; TCP acknowledgements are a separate flow.
    #[getter]
    const fn flow(&self) -> u32 {
        self.0.flow.0
    }
    /// The number of the next hop.
    #[getter]
    const fn station(&self) -> u16 {
        self.0.station.0
    }
    /// The access category: ``"bk"``, ``"be"``, ``"vi"`` or ``"vo"``.
    #[getter]
    const fn category(&self) -> &'static str {
        self.0.category.name()
    }
    /// The length from the IP header on, in bytes.
    #[getter]
    const fn size(&self) -> u64 {
        self.0.size.as_u64()
    }
    /// The time of arrival in the queue, ns.
    #[getter]
    const fn enqueued(&self) -> u64 {
        self.0.enqueued.as_nanos()
    }
    const fn __hash__(&self) -> u64 {
        self.0.number
    }
    fn __repr__(&self) -> String {
        let Waiting { number, flow, station, category, size, enqueued } = self.0;
        format!(
            "Packet({number}: flow {}, station {}, {category}, {} B, enqueued at {} ns)",
            flow.0,
            station.0,
            size.as_u64(),
            enqueued.as_nanos()
        )
    }
}

/// The methods overridden by a class; the others are not called.
#[derive(Debug)]
struct Hooks {
    select: bool,
    aggregate_bound: bool,
    on_airtime: bool,
    on_rate: bool,
    on_report: bool,
    on_demand: bool,
    next_deadline: bool,
}

#[derive(Debug)]
pub(super) struct PyQueue {
    part: Part,
    hooks: Hooks,
}

impl PyQueue {
    pub(super) fn new(class: &std::sync::Arc<Class>, site: Site) -> Self {
        let part = Part::new(class, site);
        let has = |method| part.overrides("QueueScheme", method);
        let hooks = Hooks {
            select: has("select"),
            aggregate_bound: has("aggregate_bound"),
            on_airtime: has("on_airtime"),
            on_rate: has("on_rate"),
            on_report: has("on_report"),
            on_demand: has("on_demand"),
            next_deadline: has("next_deadline"),
        };
        Self { part, hooks }
    }
}

/// Collects the packets that the object gave up.
fn collect(object: &Bound<'_, PyAny>, given_up: &mut GivenUp) -> PyResult<()> {
    let list = object.getattr(intern!(object.py(), "_given_up"))?;
    if list.len()? == 0 {
        return Ok(());
    }
    for (Whole(number), reason) in list.extract::<Vec<(Whole<u64>, String)>>()? {
        given_up.push((number, drop_reason(&reason)?));
    }
    list.call_method0(intern!(object.py(), "clear"))?;
    Ok(())
}

impl QueueDecider for PyQueue {
    fn enqueue(&mut self, now: Instant, packet: &Waiting, given_up: &mut GivenUp) {
        self.part.call(Some(now), (), |object| {
            let name = intern!(object.py(), "enqueue");
            object.call_method1(name, (now.as_nanos(), Packet(*packet)))?;
            collect(object, given_up)
        });
    }

    fn select(&mut self, now: Instant, category: Category, stations: &[StationId]) -> Option<StationId> {
        if !self.hooks.select {
            return stations.first().copied();
        }
        self.part.call(Some(now), None, |object| {
            let numbers: Vec<u16> = stations.iter().map(|station| station.0).collect();
            let name = intern!(object.py(), "select");
            let chosen = object.call_method1(name, (now.as_nanos(), category.name(), numbers))?;
            Ok(perhaps(chosen.extract::<Option<Whole<StationId>>>()?))
        })
    }

    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        given_up: &mut GivenUp,
    ) -> Option<u64> {
        self.part.call(Some(now), None, |object| {
            let name = intern!(object.py(), "dequeue");
            let packet = object.call_method1(name, (now.as_nanos(), station.0, category.name()))?;
            collect(object, given_up)?;
            if packet.is_none() {
                return Ok(None);
            }
            Ok(Some(packet.cast::<Packet>()?.get().0.number))
        })
    }

    fn aggregate_bound(&self, now: Instant, station: StationId, category: Category) -> AggregateBound {
        if !self.hooks.aggregate_bound {
            return AggregateBound::NONE;
        }
        self.part.call(Some(now), AggregateBound::NONE, |object| {
            let name = intern!(object.py(), "aggregate_bound");
            let bound = object.call_method1(name, (now.as_nanos(), station.0, category.name()))?;
            Ok(bound.extract::<Option<(Whole<u16>, Whole<Span>)>>()?.map_or(
                AggregateBound::NONE,
                |(mpdus, longest)| AggregateBound { mpdus: mpdus.0, duration: longest.0 },
            ))
        })
    }

    fn on_airtime(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        airtime: Span,
        direction: Direction,
    ) {
        if self.hooks.on_airtime {
            self.part.call(Some(now), (), |object| {
                let sent = direction == Direction::Sent;
                let name = intern!(object.py(), "on_airtime");
                let told = (now.as_nanos(), station.0, category.name(), airtime.as_nanos(), sent);
                object.call_method1(name, told).map(|_| ())
            });
        }
    }

    fn on_rate(&mut self, now: Instant, station: StationId, rate: BitRate, mpdus: u16) {
        if self.hooks.on_rate {
            self.part.call(Some(now), (), |object| {
                let name = intern!(object.py(), "on_rate");
                object.call_method1(name, (now.as_nanos(), station.0, rate.as_bps(), mpdus)).map(|_| ())
            });
        }
    }

    fn on_report(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        mpdus: usize,
        acknowledged: usize,
    ) {
        if self.hooks.on_report {
            self.part.call(Some(now), (), |object| {
                let name = intern!(object.py(), "on_report");
                let told = (now.as_nanos(), station.0, category.name(), mpdus, acknowledged);
                object.call_method1(name, told).map(|_| ())
            });
        }
    }

    fn on_demand(&mut self, now: Instant, flow: FlowId, demand: Option<Demand>) {
        if self.hooks.on_demand {
            self.part.call(Some(now), (), |object| {
                let demand = demand.map(|demand| (demand.latency().as_nanos(), demand.percentile()));
                let name = intern!(object.py(), "on_demand");
                object.call_method1(name, (now.as_nanos(), flow.0, demand)).map(|_| ())
            });
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        if !self.hooks.next_deadline {
            return None;
        }
        self.part.call(None, None, |object| {
            let deadline = object.call_method0(intern!(object.py(), "next_deadline"))?;
            Ok(perhaps(deadline.extract::<Option<Whole<Instant>>>()?))
        })
    }

    fn on_mistake(&mut self, mistake: Mistake) {
        self.part.refuse(&mistake);
    }
}
