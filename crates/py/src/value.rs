//! Conversion of Python values to configuration values.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::de::DeserializeOwned;

use crate::error::ArgumentError;

/// Greatest nesting depth of tables and lists.
const DEEPEST: usize = 32;

/// Converts a value to TOML. Keys may have underscores instead of hyphens.
///
/// # Errors
/// `TypeError` for anything but bool, int, float, str, list, tuple and dict; [`ArgumentError`] for an int beyond 64 bits.
pub(crate) fn to_toml(value: &Bound<'_, PyAny>) -> PyResult<toml::Value> {
    nested(value, 0)
}

fn nested(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<toml::Value> {
    if depth > DEEPEST {
        return Err(ArgumentError::new_err(format!("values are nested more than {DEEPEST} deep")));
    }
    let all = |items: Vec<Bound<'_, PyAny>>| -> PyResult<toml::Value> {
        items.iter().map(|item| nested(item, depth + 1)).collect::<PyResult<_>>().map(toml::Value::Array)
    };
    if value.is_instance_of::<PyBool>() {
        Ok(toml::Value::Boolean(value.extract()?))
    } else if value.is_instance_of::<PyInt>() {
        let number: i64 = value.extract().map_err(|_| {
            ArgumentError::new_err("a whole number does not fit in 64 bits with a sign".to_owned())
        })?;
        Ok(toml::Value::Integer(number))
    } else if value.is_instance_of::<PyFloat>() {
        Ok(toml::Value::Float(value.extract()?))
    } else if value.is_instance_of::<PyString>() {
        Ok(toml::Value::String(value.extract()?))
    } else if let Ok(table) = value.cast::<PyDict>() {
        let entries = table.iter().map(|(key, value)| {
            let key: String = key.extract().map_err(|_| PyTypeError::new_err("a key is not a text"))?;
            Ok((key.replace('_', "-"), nested(&value, depth + 1)?))
        });
        entries.collect::<PyResult<toml::Table>>().map(toml::Value::Table)
    } else if let Ok(list) = value.cast::<PyList>() {
        all(list.iter().collect())
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        all(tuple.iter().collect())
    } else {
        let kind = value.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "a value is of type {kind}; allowed are bool, int, float, str, list, tuple and dict"
        )))
    }
}

/// Makes a configuration from keyword arguments.
///
/// # Errors
/// [`ArgumentError`] with the message of the configuration: a key is unknown, or a value has the wrong type.
pub(crate) fn config<T: DeserializeOwned>(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<T> {
    let table = match keywords {
        Some(keywords) => to_toml(keywords.as_any())?,
        None => toml::Value::Table(toml::Table::new()),
    };
    table.try_into().map_err(|error: toml::de::Error| {
        ArgumentError::new_err(error.message().replace('\n', " ").replace('`', ""))
    })
}
