//! Parses trace files.

use airbound_units::{BitRate, Decibel};

use super::table::{Header, Line};
use super::{BandwidthTrace, Beside, Format, OpportunityTrace, SnrTrace, Trace, TraceError};

/// The largest trace file, in bytes.
pub const LARGEST_FILE: u64 = 100_000_000;

/// The longest trace: 1000 hours in nanoseconds.
const LONGEST: u64 = 3_600_000 * 1_000_000_000;

/// The fastest link: 20 Gbit/s, in Mbit/s, more than any rate of 802.11ax.
const FASTEST: f64 = 20_000.0;

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
    let all = text.lines().enumerate().map(|(index, text)| Line { file, number: index + 1, text });
    let written = all.filter(|line| !line.text.trim().is_empty());
    let mut lines = written.clone().filter(|line| !line.is_remark()).peekable();
    let first = *lines.peek().ok_or_else(|| TraceError::Empty { file: file.to_owned() })?;
    let own = first.header()?;
    let header = match own {
        Some(_) => {
            lines.next();
            own
        }
        None => last_of_remarks(written.take_while(Line::is_remark))?,
    };
    let format = match (format, header) {
        (Format::Auto, Some(header)) => header.format,
        (Format::Auto, None) => detect(&first)?,
        (wanted, Some(header)) if wanted != header.format => {
            let is = if header.format == Format::Snr { "snr" } else { "bandwidth" };
            return Err(first
                .wrong(format!("the columns are named as those of format {is}, not of the one asked for")));
        }
        (wanted, _) => wanted,
    };
    // R names no column of row names, so that a header of blanks has a name less than each row has cells.
    let row = lines.peek().map_or(0, |row| row.cells().count);
    let is_short = own.is_some_and(|own| row == own.count + 1 && !first.has_commas());
    let before = header.map_or(0, |header| header.before) + usize::from(is_short);
    let table = Table { file, before, repeat };
    match format {
        Format::Mahimahi => parse_mahimahi(lines, repeat).map(Trace::Opportunities),
        Format::Snr => parse_snr(lines, &table).map(Trace::Snr),
        Format::Bandwidth | Format::Auto => parse_bandwidth(lines, &table, scale).map(Trace::Bandwidth),
    }
}

/// A table of times and values.
struct Table<'a> {
    file: &'a str,
    /// Columns in front of the time.
    before: usize,
    repeat: bool,
}

/// The names of the columns in the last remark that has them.
fn last_of_remarks<'a>(remarks: impl Iterator<Item = Line<'a>>) -> Result<Option<Header>, TraceError> {
    let mut found = None;
    for remark in remarks {
        found = remark.header_in_remark()?.or(found);
    }
    Ok(found)
}

fn detect(first: &Line<'_>) -> Result<Format, TraceError> {
    let cells = first.cells();
    let is_number = !cells.get(0).starts_with(|sign: char| sign.is_alphabetic());
    match cells.count {
        _ if first.has_commas() => Err(first.unnamed()),
        1 if cells.get(0).parse::<f64>().is_ok() => Ok(Format::Mahimahi),
        2..=4 if is_number => Ok(Format::Bandwidth),
        _ => Err(first.wrong(format!(
            "{} has no known format; allowed are \"time/s bandwidth/(Mbit/s) [RTT] [loss]\", \
             \"time/ms\" (mahimahi), and tables with the header \"time,bandwidth\" or \"time,snr\"",
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
    table: &Table<'_>,
    scale: f64,
) -> Result<BandwidthTrace, TraceError> {
    let Table { file, before, repeat } = *table;
    let mut points: Vec<(u64, BitRate)> = Vec::new();
    let mut beside = Beside::default();
    let mut columns = 0;
    for line in lines {
        let cells = line.cells();
        let count = cells.count;
        if columns == 0 && (2..=4).contains(&count.saturating_sub(before)) {
            columns = count;
        }
        if count != columns {
            let wanted = if columns == 0 { "2 to 4".to_owned() } else { columns.to_string() };
            return Err(line.wrong(format!("{count} columns instead of {wanted}; the line may be truncated")));
        }
        let time = line.time(cells.get(before), 9, "seconds")?;
        ascending(&points, &line, time)?;
        let hint = "; a column in kbit/s takes scale = 0.001";
        let bandwidth =
            line.number("bandwidth in Mbit/s", cells.get(before + 1), 0.0..=FASTEST / scale, hint)?;
        if count > before + 2 {
            let rtt = cells.get(before + 2);
            let rtt = rtt.strip_suffix("ms").unwrap_or(rtt);
            beside.round_trips.push(line.number("RTT in ms", rtt, 0.0..=1e9, "")?);
        }
        if count > before + 3 {
            // Hairpin's estimates are sometimes slightly negative.
            beside.losses.push(line.number("loss", cells.get(before + 3), -1.0..=1.0, "")?);
        }
        points.push((time, BitRate::from_bps_f64(bandwidth * 1e6 * scale)));
    }
    if points.is_empty() {
        return Err(TraceError::Empty { file: file.to_owned() });
    }
    if points.iter().all(|(_, rate)| *rate == BitRate::ZERO) {
        return Err(TraceError::Nothing { file: file.to_owned() });
    }
    Ok(BandwidthTrace::new(&points, beside, repeat))
}

fn parse_mahimahi<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    repeat: bool,
) -> Result<OpportunityTrace, TraceError> {
    let mut times: Vec<u64> = Vec::new();
    let mut last_line = None;
    for line in lines {
        let micros = line.time(line.text.trim(), 3, "whole milliseconds")?;
        if micros % 1000 > 0 {
            return Err(line.wrong("the time has decimals; allowed are whole milliseconds"));
        }
        let time = micros / 1000;
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

fn parse_snr<'a>(lines: impl Iterator<Item = Line<'a>>, table: &Table<'_>) -> Result<SnrTrace, TraceError> {
    let Table { file, before, repeat } = *table;
    let mut points: Vec<(u64, Decibel)> = Vec::new();
    for line in lines {
        let cells = line.cells();
        if cells.count != before + 2 {
            return Err(line.wrong(format!(
                "{} columns instead of {}, \"time,snr\"; the line may be truncated",
                cells.count,
                before + 2
            )));
        }
        let nanos = line.time(cells.get(before), 9, "seconds")?;
        ascending(&points, &line, nanos)?;
        let snr = line.number("SNR in dB", cells.get(before + 1), -100.0..=200.0, "")?;
        points.push((nanos, Decibel::new(snr)));
    }
    if points.is_empty() {
        return Err(TraceError::Empty { file: file.to_owned() });
    }
    Ok(SnrTrace::new(&points, repeat))
}
