//! Random numbers that depend only on a seed, the same on every machine.
//!
//! | type | use |
//! |---|---|
//! | [`Stream`] | a stream for each entity that draws: backoffs, reception, arrivals |
//! | [`Key`] | a draw as a function of its key, independent of the order of calls: fading, shadowing, interference |
//! | [`OnOff`] | an alternating renewal process over keys, with random access in time |
//!
//! This is the only crate that uses a random number generator.
//!
//! ```
//! use airbound_random::{Key, Purpose, Stream};
//!
//! let mut backoffs = Stream::new(7, Purpose::Backoff, 0);
//! assert!(backoffs.window(15) <= 15);
//! assert_eq!(Key::of_seed(7).with(3).uniform(), Key::of_seed(7).with(3).uniform());
//! ```

mod key;
mod on_off;
mod stream;

pub use key::Key;
pub use on_off::{OnOff, State};
pub use stream::{Purpose, Stream, seed_for};
