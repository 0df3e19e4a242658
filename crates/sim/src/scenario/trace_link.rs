//! `channel = { kind = "trace", … }`: a link that a measured trace drives.

use serde::Serialize;

use super::error::ScenarioError;
use super::section::Section;

/// A link that a trace drives.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TraceLink {
    /// The file, such that it can be found again.
    pub file: String,
    /// Factor on every bandwidth.
    pub scale: f64,
    /// Whether the trace begins again when it ends, instead of keeping its last value.
    #[serde(rename = "loop")]
    pub repeat: bool,
}

pub(super) const KEYS: &[&str] = &["file", "format", "as", "scale", "loop"];

impl TraceLink {
    pub(super) fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        Ok(Self {
            file: section.required_text("file", "name the trace file")?.to_owned(),
            scale: section.number("scale", 1.0, 0.001..=1000.0)?,
            repeat: section.boolean("loop", true)?,
        })
    }
}
