//! Parses trace files.

use airbound_units::{BitRate, Decibel};

use super::{BandwidthTrace, OpportunityTrace, SnrTrace, Trace, TraceError};

/// Format of a trace file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Detected from the first line.
    Auto,
    /// Separated by white space or commas: seconds, Mbit/s, and optionally RTT and loss.
    Bandwidth,
    /// Milliseconds, one value per line.
    Mahimahi,
    /// Separated by commas: seconds, dB.
    Snr,
}

/// The largest trace file, in bytes.
pub const LARGEST_FILE: u64 = 100_000_000;

/// The longest trace: 1000 hours in nanoseconds.
const LONGEST: u64 = 3_600_000 * 1_000_000_000;

/// The fastest link: 1 Tbit/s, in Mbit/s.
const FASTEST: f64 = 1e6;

/// A line of data with its number.
#[derive(Clone, Copy)]
struct Line<'a> {
    file: &'a str,
    number: usize,
    text: &'a str,
}

impl Line<'_> {
    fn wrong(&self, problem: impl Into<String>) -> TraceError {
        TraceError::Line { file: self.file.to_owned(), line: self.number, problem: problem.into() }
    }

    fn quoted(text: &str) -> String {
        let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(40).collect();
        format!("\"{clean}\"")
    }

    /// Parses a time and scales it by `digits` decimals: seconds with 9 give nanoseconds.
    fn time(&self, text: &str, digits: usize, unit: &str) -> Result<u64, TraceError> {
        let wrong = || {
            self.wrong(format!(
                "the time {} is wrong; allowed is a number of {unit} that is not negative",
                Self::quoted(text)
            ))
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !plain(whole) || !plain(fraction) {
            return Err(wrong());
        }
        // Further decimals are truncated.
        let kept = fraction.get(..fraction.len().min(digits)).unwrap_or(fraction);
        let padded = format!("{whole}{kept:0<digits$}");
        padded.parse().map_err(|_| wrong())
    }

    fn number(
        &self,
        what: &str,
        text: &str,
        range: std::ops::RangeInclusive<f64>,
    ) -> Result<f64, TraceError> {
        match text.parse::<f64>() {
            Ok(value) if range.contains(&value) => Ok(value),
            _ => Err(self.wrong(format!(
                "the {what} {} is wrong; allowed is a number from {} to {}",
                Self::quoted(text),
                range.start(),
                range.end()
            ))),
        }
    }
}

pub(super) fn parse(
    text: &str,
    file: &str,
    format: Format,
    scale: f64,
    repeat: bool,
) -> Result<Trace, TraceError> {
    if text.len() as u64 > LARGEST_FILE {
        return Err(TraceError::Read {
            file: file.to_owned(),
            reason: format!("it has {} bytes; allowed are {LARGEST_FILE}", text.len()),
        });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text
        .lines()
        .enumerate()
        .map(|(index, text)| Line { file, number: index + 1, text: text.trim() })
        .filter(|line| !line.text.is_empty() && !line.text.starts_with('#'));
    let first = lines.clone().next().ok_or_else(|| TraceError::Empty { file: file.to_owned() })?;
    let format = if format == Format::Auto { detect(&first)? } else { format };
    match format {
        Format::Mahimahi => parse_mahimahi(lines, repeat).map(Trace::Opportunities),
        Format::Snr => parse_snr(lines, file, repeat).map(Trace::Snr),
        Format::Bandwidth | Format::Auto => parse_bandwidth(lines, file, scale, repeat).map(Trace::Bandwidth),
    }
}

/// Reads the names of the columns, if `line` has them: those of a time in seconds and of an SNR in dB or a bandwidth in Mbit/s.
fn header(line: &Line<'_>) -> Result<Option<Format>, TraceError> {
    // Signs between words and units have no meaning: time_s and Time (s) are the same.
    let letters =
        |name: &str| name.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase();
    let mut columns = line.text.split(',').map(str::trim);
    let (time, value) = (columns.next().unwrap_or_default(), columns.next().unwrap_or_default());
    if !time.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        return Ok(None);
    }
    let time = letters(time);
    let value = letters(value);
    let is_time = ["t", "time", "timestamp"].iter().any(|name| {
        time.strip_prefix(name).is_some_and(|unit| ["", "s", "sec", "inseconds", "seconds"].contains(&unit))
    });
    let is_bandwidth = ["bandwidth", "rate", "throughput", "goodput"].iter().any(|name| {
        value.strip_prefix(name).is_some_and(|unit| ["", "mbps", "mbits", "mbit", "inmbits"].contains(&unit))
    });
    match value.as_str() {
        "snr" | "snrdb" | "snrindb" if is_time => Ok(Some(Format::Snr)),
        _ if is_time && is_bandwidth => Ok(Some(Format::Bandwidth)),
        _ => Err(line.wrong(format!(
            "the header {} is unknown; allowed are \"time,snr\" (seconds, dB above the noise) and \"time,bandwidth\" (seconds, Mbit/s)",
            Line::quoted(line.text)
        ))),
    }
}

fn detect(first: &Line<'_>) -> Result<Format, TraceError> {
    if first.text.contains(',') {
        return Ok(header(first)?.unwrap_or(Format::Snr));
    }
    match first.text.split_whitespace().count() {
        1 if first.text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(Format::Mahimahi),
        2..=4 => Ok(Format::Bandwidth),
        _ => Err(first.wrong(format!(
            "{} has no known format; allowed are \"time/s bandwidth/(Mbit/s) [RTT] [loss]\", \
             \"time/ms\" (mahimahi) and \"time/s,SNR/dB\"",
            Line::quoted(first.text)
        ))),
    }
}

/// Checks that times ascend, within the longest trace.
fn ascending<T>(points: &[(u64, T)], line: &Line<'_>, time: u64) -> Result<(), TraceError> {
    if points.last().is_some_and(|(last, _)| *last >= time) {
        return Err(line.wrong("the time is not after that of the line before; times must ascend"));
    }
    let first = points.first().map_or(time, |(first, _)| *first);
    if time - first > LONGEST {
        return Err(line.wrong("the time is out of range; allowed are 1000 h after the first line"));
    }
    Ok(())
}

fn parse_bandwidth<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    file: &str,
    scale: f64,
    repeat: bool,
) -> Result<BandwidthTrace, TraceError> {
    let mut points: Vec<(u64, BitRate)> = Vec::new();
    let mut columns = 0;
    for (index, line) in lines.enumerate() {
        if index == 0 && line.text.contains(',') && header(&line)? == Some(Format::Bandwidth) {
            continue;
        }
        let mut fields = [""; 4];
        let mut count = 0;
        for field in line
            .text
            .split(|sign: char| sign == ',' || sign.is_whitespace())
            .filter(|field| !field.is_empty())
        {
            if let Some(slot) = fields.get_mut(count) {
                *slot = field;
            }
            count += 1;
        }
        if columns == 0 && (2..=4).contains(&count) {
            columns = count;
        }
        if count != columns {
            let wanted = if columns == 0 { "2 to 4".to_owned() } else { columns.to_string() };
            return Err(line.wrong(format!("{count} columns instead of {wanted}; the line may be truncated")));
        }
        let time = line.time(fields[0], 9, "seconds")?;
        ascending(&points, &line, time)?;
        let bandwidth = line.number("bandwidth in Mbit/s", fields[1], 0.0..=FASTEST)?;
        if count > 2 {
            let rtt = fields[2].strip_suffix("ms").unwrap_or(fields[2]);
            line.number("RTT in ms", rtt, 0.0..=1e9)?;
        }
        if count > 3 {
            // Hairpin's estimates are sometimes slightly negative.
            line.number("loss", fields[3], -1.0..=1.0)?;
        }
        points.push((time, BitRate::from_bps_f64(bandwidth * 1e6 * scale)));
    }
    if points.is_empty() {
        return Err(TraceError::Empty { file: file.to_owned() });
    }
    if points.iter().all(|(_, rate)| *rate == BitRate::ZERO) {
        return Err(TraceError::Nothing { file: file.to_owned() });
    }
    Ok(BandwidthTrace::new(&points, repeat))
}

fn parse_mahimahi<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    repeat: bool,
) -> Result<OpportunityTrace, TraceError> {
    let mut times: Vec<u64> = Vec::new();
    let mut last_line = None;
    for line in lines {
        let time = line.time(line.text, 0, "whole milliseconds")?;
        if line.text.contains('.') {
            return Err(line.wrong("the time has decimals; allowed are whole milliseconds"));
        }
        if times.last().is_some_and(|last| *last > time) {
            return Err(line.wrong("the time is before that of the line before; times must not descend"));
        }
        if time > LONGEST / 1_000_000 {
            return Err(line.wrong("the time is out of range; allowed are 1000 h"));
        }
        times.push(time);
        last_line = Some(line);
    }
    if let (Some(line), Some(0)) = (last_line, times.last()) {
        return Err(line.wrong("the last time is 0; a trace of length 0 cannot be repeated"));
    }
    Ok(OpportunityTrace::new(times, repeat))
}

fn parse_snr<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    file: &str,
    repeat: bool,
) -> Result<SnrTrace, TraceError> {
    let mut points: Vec<(u64, Decibel)> = Vec::new();
    for (index, line) in lines.enumerate() {
        let fields: Vec<&str> = line.text.split(',').map(str::trim).take(3).collect();
        let [time, snr] = fields.as_slice() else {
            return Err(line.wrong("not of the form \"time,snr\"; the line may be truncated"));
        };
        if index == 0 && header(&line)? == Some(Format::Snr) {
            continue;
        }
        let nanos = line.time(time, 9, "seconds")?;
        ascending(&points, &line, nanos)?;
        points.push((nanos, Decibel::new(line.number("SNR in dB", snr, -100.0..=200.0)?)));
    }
    if points.is_empty() {
        return Err(TraceError::Empty { file: file.to_owned() });
    }
    Ok(SnrTrace::new(&points, repeat))
}
