//! The error of a configuration value.

pub use airbound_units::ConfigError;
