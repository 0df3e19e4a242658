//! The tests of queues, links and rate controls: one program, which links once.

mod beside_classic;
mod classify;
mod custom;
mod last_pq;
mod last_pq_auto;
mod law;
mod law_bound;
mod link;
mod link_limits;
mod link_parts;
mod link_rules;
mod queue_calls;
mod queues;
mod rate_minstrel_ht;
mod rate_ops;
mod rate_rivals;
