//! The rate set of a station, in the order in which Law climbs it.

use airbound_wifi::rate::Rate;

use crate::error::ConfigError;
use crate::link::law::config::LawRates;
use crate::rate::Capabilities;

/// The rates of the set, the slowest first; at least one.
///
/// # Errors
/// A value of `capabilities` is out of range.
pub(super) fn rates(which: LawRates, capabilities: &Capabilities) -> Result<Vec<Rate>, ConfigError> {
    let set = capabilities.rate_set()?;
    let all = set.as_slice();
    // Rates named in the configuration are all used.
    if which == LawRates::All || !capabilities.rates.is_empty() {
        return Ok(all.to_vec());
    }
    let widest = all.iter().map(|rate| rate.width()).max();
    let shortest = all.iter().map(|rate| rate.guard_interval()).min_by_key(|interval| interval.span());
    let mut rates: Vec<Rate> = all
        .iter()
        .copied()
        .filter(|rate| Some(rate.width()) == widest && Some(rate.guard_interval()) == shortest)
        .collect();
    rates.sort_by_key(|rate| (rate.bit_rate(), rate.streams()));
    rates.dedup_by_key(|rate| rate.bit_rate());
    if rates.is_empty() {
        rates.push(set.lowest());
    }
    Ok(rates)
}

#[cfg(test)]
mod tests {
    use airbound_wifi::rate::{Format, Width};

    use super::*;

    fn count(format: Format, width: Width, max_streams: u8, which: LawRates) -> usize {
        let capabilities = Capabilities { format, width, max_streams, ..Capabilities::default() };
        let rates = rates(which, &capabilities).expect("valid");
        assert!(rates.windows(2).all(|pair| pair[0].bit_rate() <= pair[1].bit_rate()));
        rates.len()
    }

    #[test]
    fn the_papers_card_has_eight() {
        assert_eq!(count(Format::Ht, Width::Mhz20, 1, LawRates::Widest), 8);
        assert_eq!(count(Format::Ht, Width::Mhz20, 1, LawRates::All), 16);
        assert_eq!(count(Format::Legacy, Width::Mhz20, 1, LawRates::Widest), 8);
        // Ten MCS with one stream; of those with two, only MCS 5 to 9 have a speed of their own.
        assert_eq!(count(Format::Vht, Width::Mhz80, 2, LawRates::Widest), 15);
    }
}
