//! Formats of trace files.

/// Format of a trace file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// By the names of the columns, or by the first line.
    Auto,
    /// Seconds, Mbit/s, and optionally RTT and loss.
    Bandwidth,
    /// Milliseconds, one value per line.
    Mahimahi,
    /// Seconds, dB.
    Snr,
}
