//! Decides whether latency demands can be met on a network, from rates, demands and a model of the channel, without a run.
//!
//! LAST-PQ can keep a demand "only when it can be essentially met in the absence of any other flows" of the access point
//! (Sec. IV), up to aggregates of others that are already in hardware (Sec. VIII). So the model is an access point that serves
//! flows with demands first, and other flows when none of these waits:
//!
//! ```text
//! channel -> states of each link -> exchanges --+
//! other transmitters -> waits for the channel --+--> service of each flow --> load > 1? airtime does not suffice
//! rates, frames, bursts -> arrivals ---------------> timeline --> latency at the percentile > demand? too slow
//! ```
//!
//! `docs/use/plan.md` has the equations, the limits and the error rates. The model computes with seconds as floating-point numbers,
//! since it works with means and variances; its interface has units.

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
pub use law_bound::{BoundChoice, BoundError, Stays, Threshold};
pub use model::DELIVERED;
