//! The text format of Prometheus (exposition format 0.0.4).

use std::fmt::{self, Write};

/// A metric family.
#[derive(Debug)]
pub struct Family<'a> {
    out: &'a mut String,
    prefix: &'static str,
    name: &'static str,
}

impl<'a> Family<'a> {
    /// Begins a family, whose name begins with `airbound_`.
    ///
    /// # Errors
    /// None: a string takes everything.
    pub fn new(out: &'a mut String, name: &'static str, kind: &str, help: &str) -> Result<Self, fmt::Error> {
        Self::begin(out, "airbound_", name, kind, help)
    }

    /// Begins a family that another exporter has, too, under exactly this name.
    ///
    /// # Errors
    /// None: a string takes everything.
    pub fn as_elsewhere(
        out: &'a mut String,
        name: &'static str,
        kind: &str,
        help: &str,
    ) -> Result<Self, fmt::Error> {
        Self::begin(out, "", name, kind, help)
    }

    fn begin(
        out: &'a mut String,
        prefix: &'static str,
        name: &'static str,
        kind: &str,
        help: &str,
    ) -> Result<Self, fmt::Error> {
        writeln!(out, "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}")?;
        Ok(Self { out, prefix, name })
    }

    /// Writes a sample; unknown values are left out.
    ///
    /// # Errors
    /// None: a string takes everything.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: impl Into<Option<f64>>) -> fmt::Result {
        let Some(value) = value.into() else { return Ok(()) };
        write!(self.out, "{}{}", self.prefix, self.name)?;
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
