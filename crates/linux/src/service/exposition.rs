//! The text format of Prometheus (exposition format 0.0.4).

use std::fmt::{self, Write};

/// A metric family, whose name begins with `airbound_`.
#[derive(Debug)]
pub struct Family<'a> {
    out: &'a mut String,
    name: &'static str,
}

impl<'a> Family<'a> {
    /// Begins a family.
    ///
    /// # Errors
    /// None: a string takes everything.
    pub fn new(out: &'a mut String, name: &'static str, kind: &str, help: &str) -> Result<Self, fmt::Error> {
        writeln!(out, "# HELP airbound_{name} {help}\n# TYPE airbound_{name} {kind}")?;
        Ok(Self { out, name })
    }

    /// Writes a sample; unknown values are left out.
    ///
    /// # Errors
    /// None: a string takes everything.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: impl Into<Option<f64>>) -> fmt::Result {
        let Some(value) = value.into() else { return Ok(()) };
        write!(self.out, "airbound_{}", self.name)?;
        for (place, (label, text)) in labels.iter().enumerate() {
            let open = if place == 0 { '{' } else { ',' };
            write!(self.out, "{open}{label}=\"{}\"", escaped(text))?;
        }
        if !labels.is_empty() {
            self.out.push('}');
        }
        writeln!(self.out, " {value}")
    }
}

/// A label's value with backslash, quote and line feed escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
