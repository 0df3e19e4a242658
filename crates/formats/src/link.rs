//! Traces of links: bandwidth with round trips and losses (Zhuge's, Hairpin's, Plum's), SNR, mahimahi.

use airbound_air::trace::{Format, Trace};

use super::{Content, FormatError, Link, Measured, Path};

pub(super) fn read(text: &str, name: &str) -> Result<Measured, FormatError> {
    let trace = Trace::parse(text, name, Format::Auto, 1.0, true)
        .map_err(|error| FormatError::new(format!("{error} (a text is read as a trace of a link)")))?;
    let (tool, of, ending, rows) = match &trace {
        Trace::Bandwidth(_) => ("a trace of bandwidth", "bandwidth", "csv", rows(text)),
        Trace::Opportunities(_) => ("a trace of mahimahi", "opportunities to deliver", "mahi", Vec::new()),
        Trace::Snr(_) => ("a trace of signal-to-noise ratios", "signal-to-noise ratio", "csv", rows(text)),
    };
    let is_bandwidth = matches!(trace, Trace::Bandwidth(_));
    let column = |index: usize| rows.iter().filter_map(move |row| row.get(index).copied());
    let of_path = |index: usize| column(index).filter(|_| is_bandwidth);
    let (first, last) = (column(0).next(), column(0).next_back());
    let rates: Vec<f64> = of_path(1).collect();
    let losses: Vec<f64> = of_path(3).map(|loss| loss.max(0.0)).collect();
    let mean =
        |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let seconds = match &trace {
        Trace::Opportunities(_) => milliseconds(text) / 1000.0,
        _ => first.zip(last).map_or(0.0, |(first, last)| last - first),
    };
    let link = Link { of: of.to_owned(), trace: text.to_owned(), ending, mean: mean(&rates) };
    let path = Path {
        link: Some(link),
        round_trips: of_path(2).filter(|trip| *trip > 0.0).collect(),
        loss: mean(&losses),
        probe: None,
        seconds,
    };
    Ok(Measured { tool: tool.to_owned(), content: Content::Path(path) })
}

/// Numbers of the rows from the time on, units in the third left out; cells that only count rows (pandas names them nothing, R gives the
/// header a name less) are left out, as by the reader of traces.
fn rows(text: &str) -> Vec<Vec<f64>> {
    let header = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let names = cells(header.trim_start_matches('#'));
    let is_named = names.iter().any(|name| name.starts_with(|sign: char| sign.is_alphabetic()));
    let letters =
        |name: &str| name.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_lowercase();
    let unnamed = ["", "index", "unnamed", "row", "rownames"];
    let is_index = is_named && names.first().is_some_and(|name| unnamed.contains(&letters(name).as_str()));
    let row = text.lines().rev().map(cells).find(|row| !row.is_empty()).map_or(0, |row| row.len());
    let counts = usize::from(is_index) + usize::from(is_named && row == names.len() + 1);
    let number = |cell: &str| cell.strip_suffix("ms").unwrap_or(cell).trim().parse::<f64>().ok();
    let row = |line: &str| -> Option<Vec<f64>> {
        let row: Vec<f64> =
            cells(line).iter().skip(counts).map(|cell| number(cell)).collect::<Option<_>>()?;
        (row.len() > 1).then_some(row)
    };
    text.lines().filter_map(row).collect()
}

fn cells(line: &str) -> Vec<&str> {
    if line.contains(',') {
        line.split(',').map(|cell| cell.trim().trim_matches('"')).collect()
    } else {
        line.split_whitespace().map(|cell| cell.trim_matches('"')).collect()
    }
}

/// The last time of a trace of mahimahi, in ms.
fn milliseconds(text: &str) -> f64 {
    text.lines().rev().find_map(|line| line.trim().parse().ok()).unwrap_or(0.0)
}
