//! `channel = { kind = "trace", … }`: a link that follows a measured trace.

use std::path::Path;
use std::sync::Arc;

use airbound_air::propagation::{ChannelSpec, TraceLink, TraceUse};
use airbound_air::trace::{Format, LARGEST_FILE, Trace, TraceError};
use airbound_wifi::Rate;

use super::air::Air;
use super::error::ScenarioError;
use super::key::{Key, key};
use super::section::{FromSection, Section};
use super::shipped;
use super::station::Station;

/// Reads a trace from a file; `repeat` restarts it at its end, `scale` is a factor on every bandwidth.
///
/// # Errors
/// The file cannot be read, is larger than 100 MB, or is not a trace of the format.
pub fn load_trace(file: &Path, format: Format, scale: f64, repeat: bool) -> Result<Trace, TraceError> {
    Trace::parse(&read_text(file)?, &file.display().to_string(), format, scale, repeat)
}

/// Reads the text of a file of measurements.
pub(super) fn read_text(file: &Path) -> Result<String, TraceError> {
    let name = file.display().to_string();
    let error = |reason: String| TraceError::Read { file: name.clone(), reason };
    let metadata = std::fs::metadata(file).map_err(|e| error(e.to_string()))?;
    if !metadata.is_file() {
        return Err(error("it is not a file".to_owned()));
    }
    if metadata.len() > LARGEST_FILE {
        return Err(error(format!("it has {} bytes; allowed are {LARGEST_FILE}", metadata.len())));
    }
    let bytes = std::fs::read(file).map_err(|e| error(e.to_string()))?;
    String::from_utf8(bytes).map_err(|e| {
        let before = e.as_bytes().iter().take(e.utf8_error().valid_up_to());
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        TraceError::Line { file: name.clone(), line, problem: "is not text in UTF-8".to_owned() }
    })
}

/// The name of a shipped file that a `file` means; `None` if it means a file of the user's.
pub(super) fn shipped_name<'a>(section: &Section<'_>, name: &'a str) -> Option<&'a str> {
    match (name.strip_prefix(shipped::PREFIX), section.document().folder) {
        (Some(name), _) => Some(name),
        // A shipped scenario names its traces relative to its file in the repository.
        (None, None) if section.override_base("file").is_none() => {
            Some(name.strip_prefix("traces/").unwrap_or(name))
        }
        _ => None,
    }
}

pub(super) const KEYS: &[Key] = &[
    key("file", "required; a file, or `shipped:NAME`", ""),
    key("format", "**`auto`** `bandwidth` `mahimahi` `snr`", "`auto`: by header or first line"),
    key("as", "by format; `phy` `pipe` `snr`", "what the trace drives").labelled("`channel.as`"),
    key("scale", "1; 0.001–1000", "factor on bandwidths"),
    key("loop", "true", "false: keeps its last value"),
];

impl FromSection for TraceLink {
    fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
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
        let (file, trace) = load(section, name, (format, implied(section)), scale, repeat)?;
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
                (used_as == TraceUse::Pipe, "\"pipe\", since the trace lists times of packets")
            }
            Format::Snr => {
                (used_as == TraceUse::Snr, "\"snr\", since the trace lists signal-to-noise ratios")
            }
            Format::Bandwidth | Format::Auto => {
                (used_as != TraceUse::Snr, "\"phy\" or \"pipe\", since the trace lists bandwidths")
            }
        };
        if !fits {
            let key = section.key("as");
            let value = match natural {
                TraceUse::Phy => "phy",
                TraceUse::Pipe => "pipe",
                TraceUse::Snr => "snr",
            };
            return Err(section
                .wrong("as", format!("does not fit {file}; allowed is {allowed} (--set {key}={value})")));
        }
        if scale != 1.0 && format != Format::Bandwidth {
            return Err(section.wrong("scale", "is a factor on bandwidths; this trace has none"));
        }
        Ok(Self { file, format, used_as, scale, repeat, trace: Arc::new(trace) })
    }
}

/// Reads a trace for a pipe only.
pub(super) fn read_pipe(section: &Section<'_>) -> Result<TraceLink, ScenarioError> {
    section.allow("a trace", &[KEYS])?;
    let link = TraceLink::read(section)?;
    if link.used_as == TraceUse::Snr {
        return Err(section.wrong("file", "holds signal-to-noise ratios; allowed is a trace of bandwidth"));
    }
    if link.used_as == TraceUse::Phy && section.has("as") {
        return Err(section.wrong("as", "is \"phy\"; there is no air here, allowed is \"pipe\""));
    }
    Ok(TraceLink { used_as: TraceUse::Pipe, ..link })
}

/// The format that a written `as` implies for numbers between commas.
fn implied(section: &Section<'_>) -> Option<Format> {
    match section.text("as") {
        Ok(Some("snr")) => Some(Format::Snr),
        Ok(Some("phy" | "pipe")) => Some(Format::Bandwidth),
        _ => None,
    }
}

/// A sentence on a trace of bandwidth that exceeds every rate of its station.
pub(super) fn doubt(station: &Station, air: &Air) -> Option<String> {
    let ChannelSpec::Trace(TraceLink { trace, used_as: TraceUse::Phy, file, .. }) = &station.channel else {
        return None;
    };
    let Trace::Bandwidth(trace) = trace.as_ref() else { return None };
    let most = trace.rates().iter().max()?;
    let rates = Rate::all(station.standard, station.width, station.streams, air.guard_interval);
    let fastest = rates.map(Rate::bit_rate).max().filter(|fastest| most > fastest)?;
    let Station { name, .. } = station;
    Some(format!(
        "{file} reaches {most}, and the fastest rate of station {name} is {fastest}; if its column is in kbit/s, write scale = 0.001"
    ))
}

/// Finds and reads the file; errors list the possible places.
fn load(
    section: &Section<'_>,
    name: &str,
    (format, implied): (Format, Option<Format>),
    scale: f64,
    repeat: bool,
) -> Result<(String, Trace), ScenarioError> {
    // The use of a trace says what it is of, if the file does not.
    let or_implied = |read: &dyn Fn(Format) -> Result<Trace, TraceError>| match (read(format), implied) {
        (Err(TraceError::Unnamed { .. }), Some(implied)) => read(implied),
        (result, _) => result,
    };
    let failed = |problem: String| ScenarioError::Trace {
        place: section.place_of("file"),
        key: section.key("file"),
        problem,
    };
    if let Some(wanted) = shipped_name(section, name) {
        let Some(text) = shipped::trace(wanted) else {
            return Err(failed(format!(
                "there is no shipped trace \"{}\"; shipped are {}",
                super::node::shortened(wanted),
                shipped::trace_names().collect::<Vec<_>>().join(", ")
            )));
        };
        let file = format!("{}{wanted}", shipped::PREFIX);
        let read = |format| Trace::parse(text, &file, format, scale, repeat);
        let trace = or_implied(&read).map_err(|e| failed(e.to_string()))?;
        return Ok((file, trace));
    }
    // Names on the command line are relative to the working directory; those in a file are relative to the file.
    let base = section.override_base("file").or(section.document().folder).unwrap_or(Path::new(""));
    let path = base.join(name);
    let read = |format| load_trace(&path, format, scale, repeat);
    let trace = or_implied(&read).map_err(|e| failed(e.to_string()))?;
    Ok((path.display().to_string(), trace))
}
