//! Schemes written in Python: each call of a core becomes a call of a Python object.
//!
//! The first exception of a run is kept; after it no object of the run is called any more, and the caller of the run ends it and
//! raises the exception.

mod queue;
mod rate;
mod rule;
mod sender;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use airbound_control::frame::DropReason;
use airbound_runs::{Named, Opened};
use airbound_sim::{Plugin, Site};
use airbound_units::Instant;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;

pub(crate) use queue::Packet;
pub(crate) use rule::{PyRule, StreamReport};
pub(crate) use sender::{Ack, Window};

use crate::error::{SchemeError, raised};

/// A requested scheme: its label, the name of the built-in parts, and slot, name and class of each slot filled from Python.
pub(crate) type Asked = (String, Option<String>, Vec<(String, String, Py<PyAny>)>);

/// The first exception of a scheme.
struct Fault {
    error: PyErr,
    scheme: String,
    site: String,
    at: Option<Instant>,
}

/// Whether a scheme of some runs has failed, and how.
#[derive(Clone, Default)]
pub(crate) struct Faults(Arc<Mutex<Option<Fault>>>);

impl Faults {
    pub(crate) fn is_any(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Keeps the first fault.
    fn note(&self, fault: Fault) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
    }

    /// Raises the kept fault, with the scheme's own exception as its cause.
    pub(crate) fn raise(&self, py: Python<'_>) -> PyResult<()> {
        let Some(fault) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() else { return Ok(()) };
        let when = fault.at.map_or_else(
            || "before it began".to_owned(),
            |at| format!("{:.6} s into the run", at.as_secs_f64()),
        );
        let error = SchemeError::new_err(format!(
            "scheme {} failed at {}, {when}: {}",
            fault.scheme, fault.site, fault.error
        ));
        error.set_cause(py, Some(fault.error));
        Err(error)
    }
}

/// The class of a part, called to make the objects of one run.
pub(crate) struct Class {
    name: String,
    class: Py<PyAny>,
    faults: Faults,
}

impl Class {
    pub(crate) fn new(name: String, class: Py<PyAny>, faults: &Faults) -> Self {
        Self { name, class, faults: faults.clone() }
    }
}

/// One object of a scheme. It is made by the first call, so that a transmitter that never sends has none.
struct Part {
    class: Arc<Class>,
    site: Site,
    object: OnceLock<Py<PyAny>>,
    /// The latest time of a call, ns, for messages; `u64::MAX` before the first.
    latest: AtomicU64,
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.class.name, self.site.name)
    }
}

impl Part {
    fn new(class: &Arc<Class>, site: Site) -> Self {
        Self { class: class.clone(), site, object: OnceLock::new(), latest: AtomicU64::new(u64::MAX) }
    }

    /// Calls the object; after any fault in its runs no object is called, and the result is `otherwise`.
    fn call<T>(
        &self,
        at: Option<Instant>,
        otherwise: T,
        act: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> T {
        if self.class.faults.is_any() {
            return otherwise;
        }
        if let Some(at) = at {
            self.latest.store(at.as_nanos(), Ordering::Relaxed);
        }
        Python::attach(|py| {
            let made = match self.object.get() {
                Some(object) => Ok(object.bind(py).clone()),
                None => self.make(py),
            };
            made.and_then(|object| act(&object)).unwrap_or_else(|error| {
                self.fail(error);
                otherwise
            })
        })
    }

    fn make<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let site = py.import("airbound.schemes")?.getattr("Site")?.call1((
            &self.site.name,
            self.site.number,
            self.site.seed,
        ))?;
        let object = self.class.class.bind(py).call1((site,))?;
        let _ = self.object.set(object.clone().unbind());
        Ok(object)
    }

    fn fail(&self, error: PyErr) {
        let latest = self.latest.load(Ordering::Relaxed);
        let at = (latest < u64::MAX).then(|| Instant::from_nanos(latest));
        let (scheme, site) = (self.class.name.clone(), self.site.name.clone());
        self.class.faults.note(Fault { error, scheme, site, at });
    }

    /// Reports an invalid answer.
    fn refuse(&self, mistake: &impl fmt::Display) {
        self.fail(PyValueError::new_err(mistake.to_string()));
    }

    /// Whether the class overrides a method of `base`, so that it has to be called.
    fn overrides(&self, base: &str, method: &str) -> bool {
        let found = Python::attach(|py| {
            let base = py.import("airbound.schemes")?.getattr(base)?;
            let class = self.class.class.bind(py);
            // For a function that makes objects this is unknown.
            let own = class.cast::<PyType>().ok().map(|class| class.getattr(method)).transpose()?;
            let inherited = base.getattr(method)?;
            Ok::<_, PyErr>(own.is_none_or(|own| !own.is(&inherited)))
        });
        found.unwrap_or(true)
    }
}

/// The reason of a drop, by its name in records.
fn drop_reason(name: &str) -> PyResult<DropReason> {
    let found = DropReason::ALL.into_iter().find(|reason| reason.name() == name);
    found.ok_or_else(|| PyKeyError::new_err(format!("there is no reason {name} to drop a packet")))
}

/// Resolves a requested scheme.
pub(crate) fn named(opened: &Opened, asked: Asked, faults: &Faults) -> PyResult<Named> {
    let (label, name, parts) = asked;
    let mut named = opened.scheme(name.as_deref()).map_err(raised)?;
    for (slot, name, class) in parts {
        let class = Arc::new(Class::new(name.clone(), class, faults));
        let plugin = match slot.as_str() {
            "queue" => Plugin::queue(move |site| queue::PyQueue::new(&class, site)),
            "rate" => Plugin::rate(move |site| rate::PyRate::new(&class, site)),
            _ => Plugin::sender(move |site| sender::PySender::new(&class, site)),
        };
        named = named.with(&name, plugin).map_err(raised)?;
    }
    Ok(Named { label, ..named })
}
