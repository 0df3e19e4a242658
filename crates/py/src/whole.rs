//! Whole numbers as arguments: one out of range is an error of this package, where pyo3 has a bare `OverflowError`.

use airbound_control::frame::{FlowId, StationId};
use airbound_scenario::reading::shortened;
use airbound_senders::allocation::ReceiverId;
use airbound_units::{BitRate, ByteCount, Instant, Span};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PyFloat;

use crate::error::ArgumentError;

/// A quantity that is a whole number in Python, from 0 on.
pub(crate) trait Quantity: Sized {
    /// Its name in messages.
    const NAME: &str;
    /// Its unit in messages, after a blank, or nothing.
    const UNIT: &str;
    /// Greatest number.
    const MOST: u64;
    fn of(number: u64) -> Self;
}

macro_rules! quantities {
    ($($kind:ty, $name:literal, $unit:literal, $most:expr, $of:expr;)*) => {
        $(impl Quantity for $kind {
            const NAME: &str = $name;
            const UNIT: &str = $unit;
            const MOST: u64 = $most;
            fn of(number: u64) -> Self {
                $of(number)
            }
        })*
    };
}

quantities! {
    Instant, "a time", " ns", u64::MAX, Instant::from_nanos;
    Span, "a length of time", " ns", u64::MAX, Span::from_nanos;
    BitRate, "a rate", " bit/s", u64::MAX, BitRate::from_bps;
    ByteCount, "a size", " bytes", u64::MAX, ByteCount::new;
    StationId, "a station", "", u16::MAX as u64, |number| StationId(number as u16);
    ReceiverId, "a receiver", "", u16::MAX as u64, |number| ReceiverId(number as u16);
    FlowId, "a flow", "", u32::MAX as u64, |number| FlowId(number as u32);
    u8, "a number", "", u8::MAX as u64, |number| number as u8;
    u16, "a number", "", u16::MAX as u64, |number| number as u16;
    u32, "a number", "", u32::MAX as u64, |number| number as u32;
    u64, "a number", "", u64::MAX, |number| number;
    usize, "a number", "", usize::MAX as u64, |number| number as usize;
}

/// The quantity of a Python number.
///
/// # Errors
/// [`ArgumentError`] for a number out of range and for a float; `TypeError`, with the name of the argument, for anything else.
pub(crate) fn whole<T: Quantity>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    let allowed = match value.extract::<u64>() {
        Ok(number) if number <= T::MOST => return Ok(T::of(number)),
        Ok(_) => "allowed is",
        Err(_) if value.is_instance_of::<PyFloat>() => "allowed is a whole number,",
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => "allowed is",
        Err(error) => return Err(error),
    };
    let (name, unit, most) = (T::NAME, T::UNIT, T::MOST);
    // A number of thousands of digits has no text.
    let shown = value
        .str()
        .map_or_else(|_| "too large".to_owned(), |text| format!("{}{unit}", shortened(&text.to_string())));
    Err(ArgumentError::new_err(format!("{name} is {shown}; {allowed} 0 to {most}{unit}")))
}

/// A measured value, finite and not negative.
///
/// # Errors
/// [`ArgumentError`] for another number, `TypeError` for anything else.
pub(crate) fn measured(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let number: f64 = value.extract()?;
    if number.is_finite() && number >= 0.0 {
        return Ok(number);
    }
    Err(ArgumentError::new_err(format!("a value is {number}; allowed is a finite one, 0 or more")))
}

/// An argument by [`whole`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Whole<T>(pub(crate) T);

impl<'py, T: Quantity> FromPyObject<'_, 'py> for Whole<T> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        whole(&value).map(Self)
    }
}

/// The quantity of an argument that may be `None`.
pub(crate) fn perhaps<T>(argument: Option<Whole<T>>) -> Option<T> {
    argument.map(|Whole(quantity)| quantity)
}
