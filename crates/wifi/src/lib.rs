//! Facts of 802.11: durations, sizes, contention parameters and error rates.
//!
//! | module | facts |
//! |---|---|
//! | [`rate`] | legacy OFDM, HT, VHT and HE rates: modulation, coding, streams, width, guard interval, bit rate |
//! | [`timing`] | preambles, PPDU durations and their inverse, time of reception within a PPDU |
//! | [`band`] | SIFS, slot, DIFS, AIFS |
//! | [`control_frames`] | EIFS; durations and rates of ACK, BlockAck, RTS, CTS |
//! | [`edca`] | access categories, contention parameters, DSCP and user priorities |
//! | [`mpdu`] | headers, padding, sizes of MPDUs and PSDUs |
//! | [`ampdu`] | limits of an aggregate by count, bytes and duration |
//! | [`block_ack`] | the bitmap of a block acknowledgement |
//! | [`error`] | error rates of MPDUs over the signal-to-noise ratio |
//! | [`bianchi`] | saturated contention in closed form |
//!
//! Clauses are those of IEEE Std 802.11-2020 unless another edition is named; HE is IEEE Std 802.11ax-2021.
//!
//! # Limits
//!
//! Not supported are:
//!
//! - DSSS and CCK rates (802.11b), hence long slots and protection of old stations. In the 2.4 GHz band every station is
//!   assumed to support OFDM.
//! - Greenfield HT, STBC, unequal modulation (HT MCS 32 to 76), more than four spatial streams, 80+80 MHz.
//! - OFDMA, multi-user PPDUs and DCM: HE is the single-user format over the whole width.
//! - LDPC. Durations and error curves are those of the convolutional code (for HE see [`timing`]), which is about 1 dB worse.

pub mod ampdu;
pub mod band;
pub mod bianchi;
pub mod block_ack;
pub mod control_frames;
pub mod edca;
pub mod error;
pub mod mpdu;
pub mod rate;
mod soft;
pub mod timing;

pub use band::Band;
pub use block_ack::AckBitmap;
pub use control_frames::{Basic, ControlTiming};
pub use edca::{Category, EdcaParameters};
pub use rate::{Coding, Format, GuardInterval, Legacy, Modulation, Rate, RateError, Width};
pub use timing::PpduTiming;
