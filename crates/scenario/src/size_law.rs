//! Distribution of the sizes of video frames.

use serde::{Serialize, Serializer};

use super::error::ScenarioError;
use super::section::Section;

/// The variation of frame sizes around their mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SizeLaw {
    /// Constant.
    Constant,
    /// Log-normal.
    Lognormal {
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
}

impl Serialize for SizeLaw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Constant => serializer.serialize_str("constant"),
            Self::Lognormal { sigma } => serializer.collect_str(&format_args!("lognormal({sigma})")),
        }
    }
}

/// Reads the key `size-law` of a section.
///
/// # Errors
/// Its text is not one of the allowed forms.
pub(super) fn read_size_law(section: &Section<'_>, default: SizeLaw) -> Result<SizeLaw, ScenarioError> {
    let Some(text) = section.text("size-law")? else { return Ok(default) };
    if text == "constant" {
        return Ok(SizeLaw::Constant);
    }
    let sigma = text
        .strip_prefix("lognormal(")
        .and_then(|rest| rest.strip_suffix(')'))
        .and_then(|number| number.trim().parse::<f64>().ok())
        .filter(|sigma| (0.0..=2.0).contains(sigma));
    sigma.map(|sigma| SizeLaw::Lognormal { sigma }).ok_or_else(|| {
        section.wrong(
            "size-law",
            format!(
                "is \"{}\"; allowed are \"constant\" and \"lognormal(0.3)\" with any sigma from 0 to 2",
                super::node::shortened(text)
            ),
        )
    })
}
