//! The error of a configuration value.

/// A configuration value that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A value lies outside its range.
    #[error("{key} is {value}; allowed is {allowed}")]
    OutOfRange {
        /// The key in a scenario file.
        key: &'static str,
        /// The value.
        value: String,
        /// The allowed range in words.
        allowed: &'static str,
    },
}

impl ConfigError {
    /// Returns an error unless `valid`.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if `valid` is false.
    pub fn check(
        valid: bool,
        key: &'static str,
        value: impl std::fmt::Display,
        allowed: &'static str,
    ) -> Result<(), Self> {
        if valid { Ok(()) } else { Err(Self::OutOfRange { key, value: value.to_string(), allowed }) }
    }
}
