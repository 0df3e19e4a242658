//! Durations and estimates of each rate in use, computed once.

use airbound_units::{BitRate, ByteCount, Span};
use airbound_wifi::rate::Rate;
use airbound_wifi::timing::PpduTiming;

use super::airtime::AirtimeEstimate;
use crate::frame::RateChain;

/// Durations at one rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct RateFacts {
    rate: Rate,
    pub(super) timing: PpduTiming,
    pub(super) estimate: AirtimeEstimate,
}

/// The last chain and its bound, cached since consecutive aggregates mostly use the same chain.
#[derive(Debug, Clone, Copy)]
struct ChainBound {
    chain: RateChain,
    longest: Span,
    max_psdu: ByteCount,
}

/// The rates in use, sorted; at most as many as the standard has.
#[derive(Debug, Clone, Default)]
pub(super) struct RateTable {
    rates: Vec<RateFacts>,
    last: usize,
    bound: Option<ChainBound>,
}

impl RateTable {
    /// The facts of `rate`.
    pub(super) fn of(&mut self, rate: Rate) -> RateFacts {
        if let Some(facts) = self.rates.get(self.last).filter(|facts| facts.rate == rate) {
            return *facts;
        }
        let place = self.rates.binary_search_by_key(&rate, |facts| facts.rate);
        self.last = place.unwrap_or_else(|place| {
            let facts =
                RateFacts { rate, timing: PpduTiming::new(rate), estimate: AirtimeEstimate::new(rate) };
            self.rates.insert(place, facts);
            place
        });
        self.rates[self.last]
    }

    /// The largest PSDU that every step of `chain` carries within `longest`; if a rate is `dictated`, data is sent at that
    /// rate behind the preambles of the chain.
    pub(super) fn max_psdu(
        &mut self,
        chain: &RateChain,
        longest: Span,
        dictated: Option<BitRate>,
    ) -> ByteCount {
        if let Some(rate) = dictated {
            let preambles = chain.steps().iter().map(|step| self.of(step.rate).timing.preamble());
            let preamble = preambles.max().unwrap_or(Span::ZERO);
            return rate.bytes_in(longest.saturating_sub(preamble));
        }
        if let Some(known) = self.bound.filter(|known| known.longest == longest && known.chain == *chain) {
            return known.max_psdu;
        }
        let steps = chain.steps().iter().map(|step| self.of(step.rate).timing.max_psdu(longest));
        let max_psdu = steps.min().unwrap_or(ByteCount::MAX);
        self.bound = Some(ChainBound { chain: *chain, longest, max_psdu });
        max_psdu
    }
}
