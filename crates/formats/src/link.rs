//! Traces of links: bandwidth with round trips and losses (Zhuge's, Hairpin's, Plum's), SNR, mahimahi.

use airbound_air::trace::{Format, Trace};

use super::{Content, FormatError, Link, Measured, Path};

pub(super) fn read(text: &str, name: &str) -> Result<Measured, FormatError> {
    let trace = Trace::parse(text, name, Format::Auto, 1.0, false)
        .map_err(|error| FormatError::new(format!("{error} (a text is read as a trace of a link)")))?;
    let link = |of: &str, ending, mean| Link { of: of.to_owned(), trace: text.to_owned(), ending, mean };
    let mean =
        |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let (tool, path) = match &trace {
        Trace::Bandwidth(trace) => {
            let losses: Vec<f64> = trace.beside().losses.iter().map(|loss| loss.max(0.0)).collect();
            let path = Path {
                link: Some(link("bandwidth", "csv", Some(trace.mean().as_mbps_f64()))),
                round_trips: trace.beside().round_trips.iter().copied().filter(|trip| *trip > 0.0).collect(),
                loss: mean(&losses),
                seconds: trace.length().as_secs_f64(),
                ..Path::default()
            };
            ("a trace of bandwidth", path)
        }
        Trace::Opportunities(trace) => {
            let link = Some(link("opportunities to deliver", "mahi", None));
            ("a trace of mahimahi", Path { link, seconds: trace.length().as_secs_f64(), ..Path::default() })
        }
        Trace::Snr(trace) => {
            let link = Some(link("signal-to-noise ratio", "csv", None));
            let seconds = trace.length().as_secs_f64();
            ("a trace of signal-to-noise ratios", Path { link, seconds, ..Path::default() })
        }
    };
    Ok(Measured { tool: tool.to_owned(), content: Content::Path(path), left_out: None })
}
