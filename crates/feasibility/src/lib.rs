//! Decides whether latency demands can be met on a network, from rates, demands, the wire and a model of the air, without a run.
//!
//! LAST-PQ can keep a demand "only when it can be essentially met in the absence of any other flows" of the access point
//! (Sec. IV), up to aggregates of others that are already in hardware (Sec. VIII). Queues, windows and contention act on each other in
//! between, so that the model plays several draws of a network reduced to what decides a demand:
//!
//! ```text
//! wire -> access point: LAST-PQ -> hardware queue of each category --+
//!   ^                                                                +--> channel -> stations
//!   +---- windows of TCP <- acknowledgements <- queues of stations --+
//! ```
//!
//! Its parts are the cores of `air`, `control`, `traffic` and `senders`; `docs/use/plan.md` has the limits, `docs/results/plan.md` the error
//! rates.

mod answer;
mod demand;
mod form;
mod latency;
mod law_bound;
mod model;
mod network;

pub use answer::{Answer, MOST_HEADROOM, Outlook, Plan, Relaxed, Slower, judge, plan};
pub use demand::{DEFAULT_PERCENTILE, Demand, PlanError};
pub use form::{DemandForm, PlanForm, RateForm, RelaxForm};
pub use law_bound::{BoundError, BoundInterval, BoundLosses, Stays, Threshold};
pub use model::DELIVERED;
