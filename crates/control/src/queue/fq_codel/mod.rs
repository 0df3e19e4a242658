//! Flow queueing with CoDel: one instance for each category, and one for each station with airtime fairness.

mod airtime;
mod flows;
mod plain;
mod stations;

pub(super) use airtime::FlowQueue;
pub use airtime::{FqCodelAirtime, FqCodelAirtimeConfig, SlowStations};
pub use plain::{FqCodel, FqCodelConfig};
pub use stations::AirtimeQueueLimit;
