//! Flow queueing with CoDel: over everything in a category, and for each station with airtime fairness.

mod airtime;
mod flows;
mod plain;
mod stations;

pub(super) use airtime::FlowQueue;
pub use airtime::{FqCodelAirtime, FqCodelAirtimeConfig, SlowStations};
pub use plain::{FqCodel, FqCodelConfig};
pub use stations::AirtimeQueueLimit;
