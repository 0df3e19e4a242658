//! Rate control: PHY rate and number of tries of each transmission.

pub mod any;
pub mod capabilities;
pub mod custom;
mod effort;
pub mod fixed;
pub mod ideal;
pub mod llra;
pub mod minstrel_ht;
mod stations;
pub mod thompson;

pub use any::{AnyRate, RateConfig};
pub use capabilities::{Capabilities, RateSet};
pub use custom::{CustomRate, RateDecider};
pub use fixed::{Fixed, FixedConfig, StationRate};
pub use ideal::{Ideal, IdealConfig};
pub use llra::{Llra, LlraConfig};
pub use minstrel_ht::{MinstrelHt, MinstrelHtConfig, RateTables, SampleSpacing};
pub use thompson::{Thompson, ThompsonConfig};

use airbound_units::{BitRate, Decibel, Instant};
use airbound_wifi::rate::Rate;

use crate::frame::{RateChain, StationId};

/// Outcome of a transmission, reported to a rate control.
#[derive(Debug, Clone, Copy)]
pub struct RateReport {
    /// The steps used, each with its tries; success, if any, belongs to the last one.
    pub used: RateChain,
    /// MPDUs in the last transmission.
    pub mpdus: u16,
    /// MPDUs that were acknowledged.
    pub acknowledged: u16,
}

/// Observations of the link to a station. Values that the environment cannot observe are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LinkStats {
    /// Signal-to-noise ratio at the receiver.
    pub snr: Option<Decibel>,
    /// The actual data rate, if it is not determined by the rate control.
    pub rate: Option<BitRate>,
}

/// The next number of the counted stream whose state is `state` (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Chooses the rate chain of each transmission, for all stations of one transmitter.
pub trait RateControl {
    /// Returns the chain for the next aggregate to `station`.
    ///
    /// `mpdus` is the likely number of MPDUs in it (1: no aggregation expected).
    fn chain(&mut self, now: Instant, station: StationId, mpdus: u16) -> RateChain;

    /// Notes the outcome of a transmission with a chain of [`RateControl::chain`].
    fn on_report(&mut self, now: Instant, station: StationId, report: &RateReport);

    /// Notes observations of the link to `station`.
    fn on_link_stats(&mut self, _now: Instant, _station: StationId, _stats: &LinkStats) {}

    /// The most probable data rate to `station` at present, for airtime estimates.
    fn expected_rate(&self, station: StationId) -> Rate;

    /// The throughput that the rate control expects of `station`, if it keeps such an estimate (kernel:
    /// `get_expected_throughput`).
    fn expected_throughput(&self, _station: StationId) -> Option<BitRate> {
        None
    }

    /// When the rate control has to be called again even if nothing was reported.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }
}
