//! `channel = { kind = "trace", … }`: a link that a measured trace drives.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::error::ScenarioError;
use super::section::Section;
use super::shipped;
use crate::trace::{Format, Trace};

/// A link that a trace drives.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TraceLink {
    /// The file, relative to the working directory, or "shipped:" and the name of a shipped trace.
    pub file: String,
    /// How it is written.
    pub format: Format,
    /// What it drives.
    #[serde(rename = "as")]
    pub used_as: TraceUse,
    /// Factor on every bandwidth.
    pub scale: f64,
    /// Whether the trace begins again when it ends, instead of keeping its last value.
    #[serde(rename = "loop")]
    pub repeat: bool,
    /// Its content.
    #[serde(skip)]
    pub trace: Arc<Trace>,
}

/// What a trace drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceUse {
    /// The PHY rate: at each time the one whose saturated goodput is the trace's bandwidth.
    Phy,
    /// A half-duplex pipe of the trace's speed in the place of the air: no contention, no aggregation.
    Pipe,
    /// The signal-to-noise ratio.
    Snr,
}

pub(super) const KEYS: &[&str] = &["file", "format", "as", "scale", "loop"];

impl TraceLink {
    pub(super) fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        let name = section.required_text("file", "name the trace file")?;
        let format = section.choice(
            "format",
            Format::Auto,
            &[
                ("auto", Format::Auto),
                ("bandwidth", Format::Bandwidth),
                ("mahimahi", Format::Mahimahi),
                ("snr", Format::Snr),
            ],
        )?;
        let scale = section.number("scale", 1.0, 0.001..=1000.0)?;
        let repeat = section.boolean("loop", true)?;
        let (file, trace) = load(section, name, format, scale, repeat)?;
        let format = trace.format();
        let natural = match format {
            Format::Mahimahi => TraceUse::Pipe,
            Format::Snr => TraceUse::Snr,
            Format::Bandwidth | Format::Auto => TraceUse::Phy,
        };
        let used_as = section.choice(
            "as",
            natural,
            &[("phy", TraceUse::Phy), ("pipe", TraceUse::Pipe), ("snr", TraceUse::Snr)],
        )?;
        let (fits, allowed) = match format {
            Format::Mahimahi => {
                (used_as == TraceUse::Pipe, "\"pipe\", since the trace tells when packets may pass")
            }
            Format::Snr => {
                (used_as == TraceUse::Snr, "\"snr\", since the trace holds signal-to-noise ratios")
            }
            Format::Bandwidth | Format::Auto => {
                (used_as != TraceUse::Snr, "\"phy\" or \"pipe\", since the trace holds bandwidths")
            }
        };
        if !fits {
            return Err(section.wrong("as", format!("does not fit {file}; allowed is {allowed}")));
        }
        if scale != 1.0 && format != Format::Bandwidth {
            return Err(section.wrong("scale", "is a factor on bandwidths; this trace holds none"));
        }
        Ok(Self { file, format, used_as, scale, repeat, trace: Arc::new(trace) })
    }
}

impl TraceLink {
    /// Reads a trace that can drive a pipe only.
    pub(super) fn read_pipe(section: &Section<'_>) -> Result<Self, ScenarioError> {
        section.allow("a trace", &[KEYS])?;
        let link = Self::read(section)?;
        if link.used_as == TraceUse::Snr {
            return Err(
                section.wrong("file", "holds signal-to-noise ratios; allowed is a trace of bandwidth")
            );
        }
        if link.used_as == TraceUse::Phy && section.has("as") {
            return Err(section.wrong("as", "is \"phy\"; there is no air here, allowed is \"pipe\""));
        }
        Ok(Self { used_as: TraceUse::Pipe, ..link })
    }
}

/// Finds and reads the file; says how it can be named anywhere.
fn load(
    section: &Section<'_>,
    name: &str,
    format: Format,
    scale: f64,
    repeat: bool,
) -> Result<(String, Trace), ScenarioError> {
    let failed = |problem: String| ScenarioError::Trace {
        place: section.place_of("file"),
        key: section.key("file"),
        problem,
    };
    let typed = section.override_base("file");
    let shipped_name = match (name.strip_prefix(shipped::PREFIX), section.document().folder) {
        (Some(name), _) => Some(name),
        // A shipped scenario names its traces as they lie beside it in the repository.
        (None, None) if typed.is_none() => Some(name.strip_prefix("traces/").unwrap_or(name)),
        _ => None,
    };
    if let Some(wanted) = shipped_name {
        let Some(text) = shipped::trace(wanted) else {
            return Err(failed(format!(
                "there is no shipped trace \"{}\"; shipped are {}",
                super::node::shortened(wanted),
                shipped::trace_names().collect::<Vec<_>>().join(", ")
            )));
        };
        let file = format!("{}{wanted}", shipped::PREFIX);
        let trace = Trace::parse(text, &file, format, scale, repeat).map_err(|e| failed(e.to_string()))?;
        return Ok((file, trace));
    }
    // What is typed on the command line is meant from where it is typed; what a file says, from where the file is.
    let base = typed.or(section.document().folder).unwrap_or(Path::new(""));
    let path = base.join(name);
    let trace = Trace::load(&path, format, scale, repeat).map_err(|e| failed(e.to_string()))?;
    Ok((path.display().to_string(), trace))
}
