//! Whether latency demands can be met on a network at all: an answer from the rates, the demands and a model of the air,
//! before any run.
//!
//! LAST-PQ can keep a demand "only when it can be essentially met in the absence of any other flows" of the access point
//! (Sec. IV), up to aggregates of others that are already in hardware (Sec. VIII). The model is therefore that of an access
//! point which serves the flows with demands first, and everything else when none of them waits:
//!
//! ```text
//! channel -> states of each link -> exchanges --+
//! others on the air -> waits for the channel ---+--> service of each flow --> load > 1? the air is too short
//! rates, frames, bursts -> arrivals ---------------> timeline --> latency at the percentile > demand? too slow
//! ```
//!
//! `docs/use/plan.md` holds the equations, the limits, and how often the answer is wrong. The model computes with seconds as
//! floating-point numbers, since it is about means and variances; what is handed in and out has its units.

mod answer;
mod contention;
mod demand;
mod draws;
mod exchange;
mod fairness;
mod form;
mod latency;
mod law_bound;
mod link;
mod model;
mod timeline;
mod traffic;

pub use answer::{Answer, CLOSE, MOST_HEADROOM, Outlook, Plan, Relaxed, Slower, plan};
pub use demand::{DEFAULT_PERCENTILE, Demand, PlanError};
pub use form::{DemandForm, PlanForm, RateForm, RelaxForm};
pub use law_bound::{BoundChoice, BoundError, Stays, Threshold};
