//! Selection of a congestion control.

use serde::{Deserialize, Serialize};

/// The algorithm that sizes the congestion window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Congestion {
    /// CUBIC, RFC 9438: Linux's default.
    #[default]
    Cubic,
    /// Reno, RFC 5681.
    Reno,
    /// BBR version 1, Linux `tcp_bbr.c`.
    Bbr,
}

/// Condition on which CUBIC leaves slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HystartKind {
    /// At the first loss.
    Off,
    /// Hybrid slow start as in Linux `tcp_cubic.c`: acknowledgement train and delay.
    #[default]
    Linux,
    /// HyStart++, RFC 9406: delay, then conservative slow start.
    Rfc9406,
}
