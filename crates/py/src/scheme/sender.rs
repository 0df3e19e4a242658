//! `airbound.SenderScheme` as TCP's congestion control.

use std::sync::Arc;

use airbound_senders::congestion::{self, AckEvent, CongestionControl, Phase};
use airbound_units::{BitRate, Instant, Span};
use pyo3::intern;
use pyo3::prelude::*;

use super::{Class, Part, Site};
use crate::whole::Whole;

/// The congestion window, in segments.
#[pyclass(get_all, set_all, module = "airbound")]
pub(crate) struct Window {
    /// The congestion window, segments; at least 1.
    cwnd: u32,
    /// The slow-start threshold, segments.
    ssthresh: u32,
}

#[pymethods]
impl Window {
    const fn __len__(&self) -> usize {
        self.cwnd as usize
    }
    fn __repr__(&self) -> String {
        format!("Window(cwnd={}, ssthresh={})", self.cwnd, self.ssthresh)
    }
}

impl From<&congestion::Window> for Window {
    fn from(window: &congestion::Window) -> Self {
        Self { cwnd: window.cwnd, ssthresh: window.ssthresh }
    }
}

/// The content of an acknowledgement, after loss detection.
#[pyclass(frozen, get_all, module = "airbound")]
pub(crate) struct Ack {
    /// The time of arrival, ns.
    now: u64,
    /// The state of the connection after it.
    phase: &'static str,
    /// Acknowledged segments that may increase the window.
    acked: u32,
    /// Newly delivered segments.
    delivered: u32,
    /// Segments newly detected as lost.
    lost: u32,
    /// Segments in flight after it.
    in_flight: u32,
    /// Segments in flight before it.
    prior_in_flight: u32,
    /// Whether the congestion window limited the segments in flight, rather than the application.
    window_limited: bool,
    /// Round-trip time of the newest acknowledged segment, ns; ``None`` if it was retransmitted.
    rtt: Option<u64>,
    /// Smoothed round-trip time, ns.
    smoothed_rtt: Option<u64>,
    /// Least round-trip time of the last 300 s, ns.
    min_rtt: Option<u64>,
    /// Segments delivered since the connection began.
    total_delivered: u64,
    /// The measured delivery rate in segments per second; ``None`` without a valid sample.
    delivery_rate: Option<f64>,
    /// Whether the application limited the rate sample, rather than the network.
    app_limited: bool,
}

#[pymethods]
impl Ack {
    fn __repr__(&self) -> String {
        format!("Ack(now={}, acked={}, lost={}, rtt={:?})", self.now, self.acked, self.lost, self.rtt)
    }
}

impl From<&AckEvent> for Ack {
    fn from(ack: &AckEvent) -> Self {
        let rate = &ack.rate;
        let measured = rate.delivered > 0 && !rate.interval.is_zero();
        Self {
            now: ack.now.as_nanos(),
            phase: match ack.phase {
                Phase::Open => "open",
                Phase::Recovery => "recovery",
                Phase::Loss => "loss",
            },
            acked: ack.acked,
            delivered: ack.delivered,
            lost: ack.lost,
            in_flight: ack.in_flight,
            prior_in_flight: ack.prior_in_flight,
            window_limited: ack.window_limited,
            rtt: ack.rtt.map(Span::as_nanos),
            smoothed_rtt: ack.smoothed_rtt.map(Span::as_nanos),
            min_rtt: ack.min_rtt.map(Span::as_nanos),
            total_delivered: ack.total_delivered,
            delivery_rate: measured.then(|| f64::from(rate.delivered) / rate.interval.as_secs_f64()),
            app_limited: rate.app_limited,
        }
    }
}

#[derive(Debug)]
pub(super) struct PySender {
    part: Part,
    on_timeout: bool,
    on_undo: bool,
    on_restart: bool,
    pacing_rate: bool,
    owns_window: bool,
    /// Latest time observed, for messages.
    now: Option<Instant>,
}

impl PySender {
    pub(super) fn new(class: &Arc<Class>, site: Site) -> Self {
        let part = Part::new(class, site);
        let has = |method| part.overrides("SenderScheme", method);
        let (on_timeout, on_undo, on_restart, pacing_rate) =
            (has("on_timeout"), has("on_undo"), has("on_restart"), has("pacing_rate"));
        let owns_window =
            part.call(None, false, |object| object.getattr(intern!(object.py(), "owns_window"))?.is_truthy());
        Self { part, on_timeout, on_undo, on_restart, pacing_rate, owns_window, now: None }
    }

    fn shown(object: &Bound<'_, PyAny>, window: &congestion::Window) -> PyResult<Py<Window>> {
        Py::new(object.py(), Window::from(window))
    }
}

impl CongestionControl for PySender {
    fn on_ack(&mut self, window: &mut congestion::Window, ack: &AckEvent) {
        self.now = Some(ack.now);
        let changed = self.part.call(self.now, None, |object| {
            let shown = Self::shown(object, window)?;
            let name = intern!(object.py(), "on_ack");
            object.call_method1(name, (shown.clone_ref(object.py()), Ack::from(ack)))?;
            let shown = shown.borrow(object.py());
            Ok(Some((shown.cwnd, shown.ssthresh)))
        });
        if let Some((cwnd, ssthresh)) = changed {
            (window.cwnd, window.ssthresh) = (cwnd, ssthresh);
        }
    }

    fn on_loss(&mut self, now: Instant, window: &congestion::Window) -> u32 {
        self.now = Some(now);
        self.part.call(self.now, window.cwnd / 2, |object| {
            let shown = Self::shown(object, window)?;
            object
                .call_method1(intern!(object.py(), "on_loss"), (now.as_nanos(), shown))?
                .extract::<Whole<u32>>()
                .map(|window| window.0)
        })
    }

    fn on_timeout(&mut self, window: &congestion::Window) {
        if self.on_timeout {
            self.part.call(self.now, (), |object| {
                let name = intern!(object.py(), "on_timeout");
                object.call_method1(name, (Self::shown(object, window)?,)).map(|_| ())
            });
        }
    }

    fn on_undo(&mut self, window: &congestion::Window) {
        if self.on_undo {
            self.part.call(self.now, (), |object| {
                let name = intern!(object.py(), "on_undo");
                object.call_method1(name, (Self::shown(object, window)?,)).map(|_| ())
            });
        }
    }

    fn on_restart(&mut self, now: Instant, idle: Span, app_limited: bool) {
        self.now = Some(now);
        if self.on_restart {
            self.part.call(self.now, (), |object| {
                let name = intern!(object.py(), "on_restart");
                object.call_method1(name, (now.as_nanos(), idle.as_nanos(), app_limited)).map(|_| ())
            });
        }
    }

    fn owns_window(&self) -> bool {
        self.owns_window
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        if !self.pacing_rate {
            return None;
        }
        self.part.call(self.now, None, |object| {
            let rate = object.call_method0(intern!(object.py(), "pacing_rate"))?;
            Ok(rate.extract::<Option<f64>>()?.map(BitRate::from_bps_f64))
        })
    }
}
