//! Whether latency demands can be met on a network: short runs with LAST-PQ, and the search for what it is to be asked and for what would
//! have to change.
//!
//! LAST-PQ can keep a demand "only when it can be essentially met in the absence of any other flows" of the access point (Sec. IV), up to
//! aggregates of others that are already in hardware (Sec. VIII). Queues, windows and contention act on each other in between, so the
//! answer is that of the simulator, with seeds of its own.

mod answer;
mod demand;
mod evaluate;
mod form;
mod search;
mod subject;

pub use answer::{Answer, Outlook, Plan, Relaxed, Slower, judge, plan};
pub use demand::{Demand, PlanError};
pub use form::{DemandForm, PlanForm, RateForm, RelaxForm};
