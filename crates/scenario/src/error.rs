//! Errors of a scenario.

use std::fmt;

/// Position of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A line of a file, counted from 1.
    Line {
        /// The file, as named by the caller.
        file: String,
        /// The line.
        line: u32,
    },
    /// An option of the command line, such as `--set flow.vr.rate=20 Mbit/s`.
    Option(String),
    /// A file as a whole.
    File(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { file, line } => write!(f, "{file}:{line}"),
            Self::Option(option) => f.write_str(option),
            Self::File(file) => f.write_str(file),
        }
    }
}

/// The reason why a scenario was refused: one sentence with place, key and allowed values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("{file}: cannot be read: {reason}")]
    Read {
        /// The file.
        file: String,
        /// The reason, such as the operating system's message.
        reason: String,
    },
    /// The text is not TOML.
    #[error("{place}: not valid TOML: {reason}")]
    Syntax {
        /// Where.
        place: Place,
        /// Message of the TOML reader.
        reason: String,
    },
    /// An unknown key.
    #[error("{place}: unknown key {key}; {hint}")]
    UnknownKey {
        /// Where.
        place: Place,
        /// The whole dotted key.
        key: String,
        /// The known key that was probably meant.
        meant: Option<String>,
        /// The nearest known key, or all known ones.
        hint: String,
    },
    /// A required key is missing.
    #[error("{place}: {key} is missing; {hint}")]
    Missing {
        /// Where its table begins.
        place: Place,
        /// The whole dotted key.
        key: String,
        /// A hint at the expected value.
        hint: String,
    },
    /// An invalid value.
    #[error("{place}: {key} {problem}")]
    Value {
        /// Where.
        place: Place,
        /// The whole dotted key.
        key: String,
        /// The problem, and the allowed values.
        problem: String,
    },
    /// An override without a target.
    #[error("{option}: {problem}")]
    Override {
        /// The option as it was written.
        option: String,
        /// The problem, and the allowed values.
        problem: String,
    },
    /// An invalid trace file.
    #[error("{place}: {key}: {problem}")]
    Trace {
        /// Where the trace is named.
        place: Place,
        /// The whole dotted key.
        key: String,
        /// The problem, with file and line of the trace.
        problem: String,
    },
    /// There is no shipped scenario of this name.
    #[error("there is no shipped scenario \"{name}\" and no such file; {hint}")]
    NotShipped {
        /// The requested name.
        name: String,
        /// The nearest name of a shipped scenario, or all of them.
        hint: String,
    },
    /// An invalid name of a scheme.
    #[error("{place}: scheme \"{scheme}\" {problem}")]
    Scheme {
        /// Where.
        place: Place,
        /// The name as it was read.
        scheme: String,
        /// The problem, and the allowed values.
        problem: String,
    },
}

impl ScenarioError {
    /// Place of the error; `None` for a file as a whole.
    #[must_use]
    pub(super) fn place(&self) -> Option<&Place> {
        match self {
            Self::Syntax { place, .. }
            | Self::UnknownKey { place, .. }
            | Self::Missing { place, .. }
            | Self::Value { place, .. }
            | Self::Trace { place, .. }
            | Self::Scheme { place, .. } => Some(place),
            Self::Read { .. } | Self::Override { .. } | Self::NotShipped { .. } => None,
        }
    }

    /// The whole dotted key that the error is about, if it is about one.
    #[must_use]
    pub(super) fn key(&self) -> Option<&str> {
        match self {
            Self::UnknownKey { key, .. }
            | Self::Missing { key, .. }
            | Self::Value { key, .. }
            | Self::Trace { key, .. } => Some(key),
            _ => None,
        }
    }

    /// The same error about the name of a scheme, found at another place.
    #[must_use]
    pub fn of_scheme_at(self, found: Place) -> Self {
        match self {
            Self::Scheme { scheme, problem, .. } => Self::Scheme { place: found, scheme, problem },
            other => other,
        }
    }

    /// Adds one more allowed form to the sentence about a value.
    #[must_use]
    pub(super) fn or(self, also: &str) -> Self {
        match self {
            Self::Value { place, key, problem } => {
                Self::Value { place, key, problem: format!("{problem}, or {also}") }
            }
            other => other,
        }
    }
}
