//! `airbound._native`: the native part of the Python package `airbound`. It converts values and makes no decisions.
//!
//! Times are whole nanoseconds and rates whole bits per second here; the package documents the units of its numbers.

mod arena;
mod command;
mod control;
mod error;
mod gym;
mod link;
mod rate;
mod runs;
mod scenario;
mod scheme;
mod sweep;
mod value;
mod whole;

/// The native module; use the package `airbound`.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::arena::arena;
    #[pymodule_export]
    use crate::command::main;
    #[pymodule_export]
    use crate::control::{
        DelayController, Grant, Law, RateAllocator, StreamDecision, StreamReceiver, StreamSender, Wqm,
        plum_allocation,
    };
    #[pymodule_export]
    use crate::error::{ActionError, ArgumentError, RunError, ScenarioError, SchemeError};
    #[pymodule_export]
    use crate::gym::Stepper;
    #[pymodule_export]
    use crate::link::{Arrival, Link, places};
    #[pymodule_export]
    use crate::rate::Rate;
    #[pymodule_export]
    use crate::runs::{compare, groups, report, run, verdict, write_page};
    #[pymodule_export]
    use crate::scenario::{Scenario, catalogue, shipped};
    #[pymodule_export]
    use crate::scheme::{Ack, Packet, StreamReport, Window};
    #[pymodule_export]
    use crate::sweep::{Sweep, execute};
}
