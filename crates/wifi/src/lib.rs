//! The facts of 802.11 that decide how long things take and how often they fail.
//!
//! | module | facts |
//! |---|---|
//! | [`rate`] | legacy OFDM, HT, VHT and HE rates: modulation, coding, streams, width, guard interval, bit rate |
//! | [`timing`] | preambles, PPDU durations and their inverse, time of reception within a PPDU |
//! | [`band`] | SIFS, slot, DIFS, AIFS |
//! | [`control_frames`] | EIFS; durations of ACK, BlockAck, RTS, CTS; the rate they are sent at |
//! | [`edca`] | access categories, contention parameters, DSCP and user priorities |
//! | [`mpdu`] | headers, padding, sizes of MPDUs and PSDUs |
//! | [`ampdu`] | limits of an aggregate by count, bytes and duration |
//! | [`block_ack`] | the bitmap of a block acknowledgement |
//! | [`error`] | from the signal-to-noise ratio to the probability that an MPDU is lost |
//! | [`bianchi`] | the closed form of saturated contention, to check simulators against |
//!
//! Clauses are those of IEEE Std 802.11-2020 unless another edition is named; HE is IEEE Std 802.11ax-2021.
//!
//! # What is left out
//!
//! - DSSS and CCK rates (802.11b), and with them long slots and protection of old stations. A 2.4 GHz band here is
//!   one where every station speaks OFDM.
//! - Greenfield HT, STBC, unequal modulation (HT MCS 32 to 76), more than four spatial streams, 80+80 MHz.
//! - OFDMA and multi-user PPDUs: HE is the single-user format over the whole width, without DCM.
//! - LDPC coding. Durations count the bits of the convolutional code (for HE see [`timing`]), and the error curves
//!   are those of that code, which is about 1 dB worse than LDPC.

pub mod ampdu;
pub mod band;
pub mod bianchi;
pub mod block_ack;
pub mod control_frames;
pub mod edca;
pub mod error;
pub mod mpdu;
pub mod rate;
pub mod timing;

pub use band::Band;
pub use block_ack::AckBitmap;
pub use control_frames::{Basic, ControlTiming};
pub use edca::{Category, EdcaParameters};
pub use rate::{Coding, Format, GuardInterval, Legacy, Modulation, Rate, RateError, Width};
pub use timing::PpduTiming;
