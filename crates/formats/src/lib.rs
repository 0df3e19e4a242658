//! Files of other tools: what they measured or recorded, and a scenario of it; and runs in their formats ([`export`]).
//!
//! | file | read | of it |
//! |---|---|---|
//! | trace of a link | times and bandwidths, SNR or opportunities, with round trips and losses | a link, base delay, loss |
//! | iperf3 `-J`, `--json-stream` | rates of intervals, round trips of TCP | a link, base delay |
//! | flent `.flent`, `.flent.gz` | series of rates and of pings | a link, base delay |
//! | irtt JSON | round trips, losses, interval and length | a probe, base delay, loss |
//! | pcap, pcapng | packets by conversation and direction | recorded flows |
//!
//! Reading is pure: [`read`] takes bytes, [`draft::draft`] makes texts. All input is hostile: sizes and counts are bounded.

mod capture;
pub mod draft;
pub mod export;
mod flent;
mod iperf;
mod irtt;
mod link;

pub use capture::{Conversation, End, Transport};

/// The largest file, also after decompression.
pub const LARGEST: u64 = 256 << 20;

/// The content of a file, and its tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The tool or format, with its version if the file says it.
    pub tool: String,
    /// Its content.
    pub content: Content,
    /// A clause on what of the file could not be used; `None` if there is nothing such.
    pub left_out: Option<String>,
}

/// A measurement or a recording.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A path: how much it carried, how long it took.
    Path(Path),
    /// Packets of conversations, those with most bytes first.
    Packets(Vec<Conversation>),
}

/// A measured path.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Path {
    /// Its capacity; `None` if it was not measured.
    pub link: Option<Link>,
    /// Whether both directions were loaded at once: the link's rates are sums of the two.
    pub both_ways: bool,
    /// Round trips in ms, as measured.
    pub round_trips: Vec<f64>,
    /// Share of lost packets, 0 to 1; `None` if it was not measured.
    pub loss: Option<f64>,
    /// The probe that measured the round trips.
    pub probe: Option<Probe>,
    /// Time measured, in s.
    pub seconds: f64,
}

/// A link over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// A sentence's subject: what its rates are of.
    pub of: String,
    /// The text of a trace file that `airbound` reads.
    pub trace: String,
    /// The ending of that file's name.
    pub ending: &'static str,
    /// Its mean over time in Mbit/s; `None` for signal-to-noise ratios.
    pub mean: Option<f64>,
}

impl Link {
    /// A link whose bandwidth follows a series of times in s and Mbit/s.
    fn of(of: &str, series: &[(f64, f64)]) -> Option<Self> {
        let mut trace = "time,bandwidth\n".to_owned();
        let first = series.first()?.0;
        let mut last = f64::NEG_INFINITY;
        // What is carried, Mbit: the last rate counts for the time of the one before.
        let (mut carried, mut step, mut rate_before) = (0.0, 1.0, None);
        for (at, rate) in series.iter().filter(|(at, rate)| at.is_finite() && *rate >= 0.0) {
            let at = ((at - first) * 1e6).round() / 1e6;
            if at > last {
                trace.push_str(&format!("{at},{rate:.3}\n"));
                if let Some(before) = rate_before.replace(*rate) {
                    step = at - last;
                    carried += before * step;
                }
                last = at;
            }
        }
        let mean = (carried + rate_before? * step) / (last + step);
        (mean > 0.0).then(|| Self { of: of.to_owned(), trace, ending: "csv", mean: Some(mean) })
    }
}

/// Probes at equal distances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// Distance in ms.
    pub interval: f64,
    /// UDP payload in bytes.
    pub bytes: u64,
}

/// A file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FormatError(String);

impl FormatError {
    fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}

/// Reads a file; `name` is for messages.
///
/// # Errors
/// The file has no known format, lacks what makes a scenario, or is damaged: one sentence that names the file.
pub fn read(bytes: &[u8], name: &str) -> Result<Measured, FormatError> {
    if bytes.len() as u64 > LARGEST {
        return Err(FormatError(format!("{name} has {} bytes; allowed are {LARGEST}", bytes.len())));
    }
    let unpacked;
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        unpacked = unpack(bytes, name)?;
        &unpacked
    } else {
        bytes
    };
    let wrong = |error: FormatError| FormatError(format!("{name}: {error}"));
    if capture::is_capture(bytes) {
        return capture::read(bytes).map_err(wrong);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| {
        FormatError(format!("{name} is neither a capture (pcap, pcapng) nor text; {ALLOWED}"))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with('{') { json(text).map_err(wrong) } else { link::read(text, name) }
}

const ALLOWED: &str =
    "allowed are traces of links, JSON of iperf3, irtt and flent, and captures (pcap, pcapng)";

fn unpack(bytes: &[u8], name: &str) -> Result<Vec<u8>, FormatError> {
    use std::io::Read as _;

    let mut unpacked = Vec::new();
    let read = flate2::read::MultiGzDecoder::new(bytes).take(LARGEST + 1).read_to_end(&mut unpacked);
    match read {
        Err(error) => Err(FormatError(format!("{name} cannot be unpacked: {error}"))),
        Ok(_) if unpacked.len() as u64 > LARGEST => {
            Err(FormatError(format!("{name} has more than {LARGEST} bytes when unpacked")))
        }
        Ok(_) => Ok(unpacked),
    }
}

/// Reads JSON of one of the tools, told apart by keys that only they have.
fn json(text: &str) -> Result<Measured, FormatError> {
    let whole: serde_json::Value = serde_json::from_str(text).or_else(|error| {
        iperf::of_events(text).ok_or_else(|| FormatError(format!("the JSON is damaged: {error}")))
    })?;
    let has = |key: &str| whole.get(key).is_some();
    if has("round_trips") && has("config") {
        irtt::read(&parsed(whole, "irtt")?)
    } else if has("x_values") && has("results") {
        flent::read(&parsed(whole, "flent")?)
    } else if has("intervals") && has("start") {
        iperf::read(&parsed(whole, "iperf3")?)
    } else {
        Err(FormatError(format!("the JSON is of no known tool; {ALLOWED}")))
    }
}

fn parsed<T: serde::de::DeserializeOwned>(whole: serde_json::Value, tool: &str) -> Result<T, FormatError> {
    serde_json::from_value(whole)
        .map_err(|error| FormatError(format!("it is not as {tool} writes it: {error}")))
}

/// A percentile by nearest rank; `None` without values.
#[must_use]
pub fn percentile(values: &[f64], percent: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let place = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied()
}
