//! Lines of a trace as a table: cells, numbers and names of columns, the same for every format.

use std::ops::RangeInclusive;

use super::{Format, TraceError};

/// The names that a header may have, as errors show them.
const NAMES: &str =
    "allowed are \"time,snr\" (seconds, dB above the noise) and \"time,bandwidth\" (seconds, Mbit/s)";

/// A line with its number.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) file: &'a str,
    pub(super) number: usize,
    pub(super) text: &'a str,
}

/// The most cells of a row that are looked at: an index, time, value, RTT, loss, and one too many.
const MOST_CELLS: usize = 6;

/// The cells of a line, without quotes around them.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a> {
    cells: [&'a str; MOST_CELLS],
    /// Their number, of those that are not kept, too.
    pub(super) count: usize,
}

impl<'a> Cells<'a> {
    /// Splits at commas, or else at blanks and tabs; separators within double quotes do not count.
    fn of(text: &'a str) -> Self {
        if text.contains(',') { Self::between(text, |sign| sign == ',') } else { Self::words(text) }
    }

    /// Cells between separators; the last one counts only if there is something in it.
    fn between(text: &'a str, separates: impl Fn(char) -> bool) -> Self {
        let mut all = Self { cells: [""; MOST_CELLS], count: 0 };
        let mut rest = text;
        loop {
            let mut quoted = false;
            let end = rest.find(|sign| {
                quoted ^= sign == '"';
                separates(sign) && !quoted
            });
            let Some(end) = end else { break };
            let (cell, more) = rest.split_at(end);
            all.push(cell);
            rest = more.get(1..).unwrap_or_default();
        }
        if !rest.trim().is_empty() {
            all.push(rest);
        }
        all
    }

    fn words(text: &'a str) -> Self {
        let mut all = Self { cells: [""; MOST_CELLS], count: 0 };
        let mut rest = text.trim();
        while !rest.is_empty() {
            let mut quoted = false;
            let end = rest.find(|sign: char| {
                quoted ^= sign == '"';
                sign.is_whitespace() && !quoted
            });
            let (cell, more) = rest.split_at(end.unwrap_or(rest.len()));
            all.push(cell);
            rest = more.trim_start();
        }
        all
    }

    fn push(&mut self, cell: &'a str) {
        if let Some(place) = self.cells.get_mut(self.count) {
            let cell = cell.trim();
            let bare = |sign| cell.strip_prefix(sign).and_then(|inner: &str| inner.strip_suffix(sign));
            *place = bare('"').or_else(|| bare('\'')).unwrap_or(cell).trim();
        }
        self.count += 1;
    }

    /// A cell; empty beyond the last.
    pub(super) fn get(&self, index: usize) -> &'a str {
        self.cells.get(index).copied().unwrap_or_default()
    }
}

/// The columns that a header names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Quantity of the second named column.
    pub(super) format: Format,
    /// Columns in front of the time that only count rows.
    pub(super) before: usize,
    /// Columns in all.
    pub(super) count: usize,
}

/// Letters of a name, small. Signs between words and units have no meaning: `time_s` and `Time (s)` are the same.
fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase()
}

/// Units of a name of one of `quantities`; `None` if it is no such name.
fn units_of(name: &str, quantities: &[&str]) -> Option<String> {
    let letters = letters(name);
    // The longest first: `timestamp` is no time in stamps.
    quantities.iter().find_map(|quantity| letters.strip_prefix(quantity)).map(str::to_owned)
}

const TIMES: [&str; 3] = ["timestamp", "time", "t"];
const BANDWIDTHS: [&str; 5] = ["bandwidth", "bw", "rate", "throughput", "goodput"];

/// Whether a column is one that only counts rows: that of pandas and of R has no name.
fn is_index(name: &str) -> bool {
    matches!(letters(name).as_str(), "" | "index" | "unnamed" | "row" | "rownames")
}

impl Header {
    fn of(cells: &Cells<'_>) -> Option<Self> {
        let before = usize::from(is_index(cells.get(0)));
        let (time, value) = (cells.get(before), cells.get(before + 1));
        let seconds = ["", "s", "sec", "secs", "inseconds", "seconds"];
        if !units_of(time, &TIMES).is_some_and(|unit| seconds.contains(&unit.as_str())) {
            return None;
        }
        let megabits = ["", "mbps", "mbits", "mbit", "inmbits", "inmbps"];
        let format = if matches!(letters(value).as_str(), "snr" | "snrdb" | "snrindb") {
            Format::Snr
        } else if units_of(value, &BANDWIDTHS).is_some_and(|unit| megabits.contains(&unit.as_str())) {
            Format::Bandwidth
        } else {
            return None;
        };
        Some(Self { format, before, count: cells.count })
    }

    /// Whether cells look like names of columns, known or not.
    fn resembles(cells: &Cells<'_>) -> bool {
        let before = usize::from(is_index(cells.get(0)));
        let value = cells.get(before + 1);
        let is_value = units_of(value, &BANDWIDTHS).is_some() || letters(value).starts_with("snr");
        is_value && units_of(cells.get(before), &TIMES).is_some()
    }
}

impl<'a> Line<'a> {
    pub(super) fn wrong(&self, problem: impl Into<String>) -> TraceError {
        TraceError::Line { file: self.file.to_owned(), line: self.number, problem: problem.into() }
    }

    pub(super) fn quoted(text: &str) -> String {
        let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(40).collect();
        format!("\"{}\"", clean.trim())
    }

    /// Whether the line is a remark.
    pub(super) fn is_remark(&self) -> bool {
        self.text.trim_start().starts_with('#')
    }

    /// The cells of a row.
    pub(super) fn cells(&self) -> Cells<'a> {
        Cells::of(self.text.trim())
    }

    /// Whether cells are separated by commas.
    pub(super) fn has_commas(&self) -> bool {
        self.text.contains(',')
    }

    /// Cells of a header, in which a tab may stand in front of the first name.
    fn names(&self, text: &'a str) -> Cells<'a> {
        if text.contains('\t') && !text.contains(',') {
            Cells::between(text, |sign| sign == '\t')
        } else {
            Cells::of(text.trim())
        }
    }

    /// Reads the names of the columns, if the line has them.
    pub(super) fn header(&self) -> Result<Option<Header>, TraceError> {
        let cells = self.names(self.text);
        if let Some(header) = Header::of(&cells) {
            return Ok(Some(header));
        }
        let first = if is_index(cells.get(0)) { cells.get(1) } else { cells.get(0) };
        let is_named = first.starts_with(|sign: char| sign.is_alphabetic());
        if Header::resembles(&cells) || (self.has_commas() && is_named) {
            return Err(self.unknown_header());
        }
        Ok(None)
    }

    /// Reads the names of the columns out of a remark, as numpy writes them. Other remarks have none.
    pub(super) fn header_in_remark(&self) -> Result<Option<Header>, TraceError> {
        let text = self.text.trim_start().trim_start_matches('#');
        let cells = self.names(text.strip_prefix(' ').unwrap_or(text));
        match Header::of(&cells) {
            Some(header) => Ok(Some(header)),
            None if Header::resembles(&cells) => Err(self.unknown_header()),
            None => Ok(None),
        }
    }

    fn unknown_header(&self) -> TraceError {
        self.wrong(format!("the header {} is unknown; {NAMES}", Self::quoted(self.text)))
    }

    /// The error for numbers between commas that no header names.
    pub(super) fn unnamed(&self) -> TraceError {
        TraceError::Unnamed { file: self.file.to_owned(), line: self.number, row: Self::quoted(self.text) }
    }

    /// Parses a time and scales it by `digits` decimals: seconds with 9 give nanoseconds.
    pub(super) fn time(&self, text: &str, digits: u8, unit: &str) -> Result<u64, TraceError> {
        scaled(text, digits).ok_or_else(|| {
            self.wrong(format!(
                "the time {} is wrong; allowed is a number of {unit} that is not negative",
                Self::quoted(text)
            ))
        })
    }

    /// Parses a number within a range; `hint` is added to the sentence on a wrong one.
    pub(super) fn number(
        &self,
        what: &str,
        text: &str,
        range: RangeInclusive<f64>,
        hint: &str,
    ) -> Result<f64, TraceError> {
        match text.parse::<f64>() {
            Ok(value) if range.contains(&value) => Ok(value),
            _ => Err(self.wrong(format!(
                "the {what} {} is wrong; allowed is a number from {} to {}{hint}",
                Self::quoted(text),
                range.start(),
                range.end()
            ))),
        }
    }
}

/// A decimal number, with or without an exponent, times ten to `digits`; further decimals are truncated. `None` if the text is not such
/// a number, is negative, or does not fit.
fn scaled(text: &str, digits: u8) -> Option<u64> {
    let (is_negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = || whole.bytes().chain(fraction.bytes());
    if all().next().is_none() || !all().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if all().all(|byte| byte == b'0') {
        return Some(0);
    }
    if is_negative {
        return None;
    }
    // The digits in front of the point, when it has moved.
    let kept = i64::from(exponent) + i64::from(digits) + i64::try_from(whole.len()).ok()?;
    let mut digits = all();
    let mut value: u64 = 0;
    for _ in 0..kept.max(0) {
        let digit = digits.next().unwrap_or(b'0') - b'0';
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_tools_write_them() {
        for (text, nanos) in [
            ("0", 0),
            (".50", 500_000_000),
            ("5.", 5_000_000_000),
            ("5.000000e-01", 500_000_000),
            ("1e-05", 10_000),
            ("+1.5E+1", 15_000_000_000),
            ("0e99", 0),
            ("-0.0", 0),
            ("1e-400", 0),
            ("00000000000000000000000000001", 1_000_000_000),
            ("1.9999999999", 1_999_999_999),
        ] {
            assert_eq!(scaled(text, 9), Some(nanos), "{text}");
        }
        for text in ["", ".", "e5", "-1", "1e", "1e+", "1.2.3", "0x10", "1e11", "1e2147483647", "1_0", "nan"]
        {
            assert_eq!(scaled(text, 9), None, "{text}");
        }
    }

    #[test]
    fn cells_are_between_separators() {
        let cells = |text| {
            let cells = Cells::of(text);
            (0..cells.count).map(|index| cells.get(index)).collect::<Vec<_>>()
        };
        assert_eq!(cells("0,12"), ["0", "12"]);
        assert_eq!(cells("\"a,b\" , 'c',"), ["a,b", "c"]);
        assert_eq!(cells("0,,12"), ["0", "", "12"]);
        assert_eq!(cells("\"Time (s)\"\t1  2"), ["Time (s)", "1", "2"]);
        assert_eq!(cells("\"open 1"), ["\"open 1"]);
    }
}
