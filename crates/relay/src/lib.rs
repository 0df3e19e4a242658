//! `airbound relay`: carries UDP between an edge and Wi-Fi stations, at the rates of the low-delay rate allocation.
//!
//! An edge stands on the wire in front of an access point. Its clients are stations behind that access point; they report what their
//! receivers see of the air, and the edge shares the air among them, paced, so that no queue builds up at the access point.
//!
//! | module | content |
//! |---|---|
//! | [`protocol`] | the protocol and both of its ends, without I/O |
//! | [`driver`] | the program: arguments, keys, sockets, journal, metrics |
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

pub mod driver;
pub mod protocol;
