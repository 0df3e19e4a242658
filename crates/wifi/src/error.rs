//! From signal-to-noise ratio to loss.
