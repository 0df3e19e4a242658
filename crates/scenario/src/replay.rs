//! `kind = "replay"`: a flow whose packets were recorded.

use std::path::Path;
use std::sync::Arc;

use airbound_traffic::Recording;
use airbound_units::{ByteCount, Span};
use serde::Serialize;

use super::error::ScenarioError;
use super::key::{Key, key};
use super::section::Section;
use super::trace_link::{read_text, shipped_name};
use super::{node, shipped};

/// Recorded packets of a flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replayed {
    /// The file with the recording.
    pub file: String,
    /// Whether it begins again at its end.
    #[serde(rename = "loop")]
    pub repeat: bool,
    /// Its packets.
    #[serde(skip)]
    pub recording: Arc<Recording>,
}

pub(super) const REPLAY_KEYS: &[Key] = &[
    key("file", "required; a file, or `shipped:NAME`", "a line: seconds, bytes of the IP packet"),
    key("loop", "true", "false: ends with the recording"),
];

/// Sizes of IP packets that an Ethernet frame holds, with headers of IPv4 and UDP.
const SIZES: std::ops::RangeInclusive<u64> = 28..=1500;
/// The longest recording.
const LONGEST: f64 = 86_400.0;
/// The most packets of a recording.
const MOST_PACKETS: usize = 5_000_000;

impl Replayed {
    pub(super) fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        let name = section.required_text("file", "name the file with the recorded packets")?;
        let repeat = section.boolean("loop", true)?;
        let failed = |problem: String| ScenarioError::Trace {
            place: section.place_of("file"),
            key: section.key("file"),
            problem,
        };
        let (file, text) = match shipped_name(section, name) {
            Some(wanted) => {
                let text = shipped::trace(wanted).ok_or_else(|| {
                    failed(format!("there is no shipped recording \"{}\"", node::shortened(wanted)))
                })?;
                (format!("{}{wanted}", shipped::PREFIX), text.to_owned())
            }
            None => {
                let base =
                    section.override_base("file").or(section.document().folder).unwrap_or(Path::new(""));
                let path = base.join(name);
                let text = read_text(&path).map_err(|error| failed(error.to_string()))?;
                (path.display().to_string(), text)
            }
        };
        let recording =
            parse(&text).map_err(|(line, problem)| failed(format!("{file}:{line}: {problem}")))?;
        Ok(Self { file, repeat, recording: Arc::new(recording) })
    }
}

/// Reads lines of a time in seconds and a number of bytes, between commas or blanks; a header and remarks are skipped. Errors have the line.
fn parse(text: &str) -> Result<Recording, (usize, String)> {
    let mut packets: Vec<(Span, ByteCount)> = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut last = 1;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        let is_header =
            packets.is_empty() && line.starts_with(|sign: char| sign.is_alphabetic() || sign == '"');
        if line.is_empty() || line.starts_with('#') || is_header {
            continue;
        }
        last = number;
        let mut cells =
            line.split(|sign: char| sign == ',' || sign.is_whitespace()).filter(|cell| !cell.is_empty());
        let (Some(time), Some(bytes), None) = (cells.next(), cells.next(), cells.next()) else {
            let problem = "is not two cells, seconds and bytes of the IP packet; airbound import makes such a file of a capture";
            return Err((number, problem.to_owned()));
        };
        let seconds = time.parse::<f64>().ok().filter(|seconds| (0.0..=LONGEST).contains(seconds));
        let Some(seconds) = seconds else {
            return Err((
                number,
                format!("the time is \"{}\"; allowed are 0 to 86400 s", node::shortened(time)),
            ));
        };
        let Some(size) = bytes.parse::<u64>().ok().filter(|bytes| SIZES.contains(bytes)) else {
            let problem = format!("the size is \"{}\"; allowed are 28 to 1500 bytes", node::shortened(bytes));
            return Err((number, problem));
        };
        let at = Span::from_secs_f64(seconds);
        if packets.last().is_some_and(|(before, _)| *before > at) {
            return Err((number, "the time is before that of the line in front of it".to_owned()));
        }
        if packets.len() == MOST_PACKETS {
            return Err((number, format!("is packet {}; allowed are {MOST_PACKETS}", MOST_PACKETS + 1)));
        }
        packets.push((at, ByteCount::new(size)));
    }
    Recording::new(packets).ok_or_else(|| (last, "there are no packets".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_seconds_and_bytes() {
        let read = |text: &str| parse(text).map(|recording| (recording.len(), recording.rate().as_bps()));
        let header = "\u{feff}time,bytes\r\n# a remark\r\n10.5,1000\r\n10.75,500\r\n";
        assert_eq!(read(header), Ok((2, 24_000)));
        assert_eq!(read("0 28\n1e-1\t1500\n"), Ok((2, 61_120)));
        let problem = |text: &str| parse(text).expect_err("wrong");
        assert_eq!(problem("0,100\n0.1\n").0, 2);
        assert_eq!(
            problem("0,100\n\n-1,100\n"),
            (3, "the time is \"-1\"; allowed are 0 to 86400 s".to_owned())
        );
        assert_eq!(problem("0,9000\n"), (1, "the size is \"9000\"; allowed are 28 to 1500 bytes".to_owned()));
        assert_eq!(problem("1,100\n0,100\n").0, 2);
        assert_eq!(problem("time,bytes\n"), (1, "there are no packets".to_owned()));
    }
}
