//! One collision domain of 802.11.
//!
//! | module | content |
//! |---|---|
//! | [`absence`] | times at which a radio is away from the channel |
//! | [`capture`] | levels at receivers, and what a stronger frame survives |
//! | [`channel`] | contention, transmissions and their outcome |
//! | [`edca`] | the backoff of one access category, computed without stepping through slots |
//! | [`exchange`] | durations of frame exchanges, and the reception of their MPDUs |
//! | [`hearing`] | who hears whom |
//! | [`loss`] | control frames that are lost on their own |
//! | [`partial`] | the channel of transmitters that do not all hear each other |
//! | [`reorder`] | the receiver's reordering buffer |
//! | [`power_save`] | when a station's radio sleeps, and what wakes it |
//! | [`propagation`] | links: path loss, shadowing, fading, people, interference |
//! | [`trace`] | measured traces of bandwidth, delivery opportunities and signal-to-noise ratio |
//!
//! The crate has no clock, no loop and no seed of its own: the caller passes times and streams of random numbers.

pub mod absence;
pub mod capture;
pub mod channel;
pub mod edca;
pub mod exchange;
pub mod hearing;
pub mod loss;
pub mod partial;
pub mod power_save;
pub mod propagation;
pub mod reorder;
pub mod trace;
