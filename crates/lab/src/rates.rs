//! Conversion between mac80211's rates and those of `airbound-wifi`.

use airbound_wifi::{Format, GuardInterval, Legacy, Rate, Width};

use crate::channel::Step;

const HT: u8 = 0x01;
const VHT: u8 = 0x02;
const SHORT: u8 = 0x04;
const MHZ_40: u8 = 0x08;
const MHZ_80: u8 = 0x10;
/// RTS and CTS precede the frame.
pub const RTS: u8 = 0x20;

/// The legacy rates in the order of the driver's table.
const LEGACY: [Legacy; 8] = [
    Legacy::Mbps6,
    Legacy::Mbps9,
    Legacy::Mbps12,
    Legacy::Mbps18,
    Legacy::Mbps24,
    Legacy::Mbps36,
    Legacy::Mbps48,
    Legacy::Mbps54,
];

/// The rate of a step; the lowest legacy rate for an invalid step.
#[must_use]
pub fn rate_of(step: Step) -> Rate {
    let width = match step.flags & (MHZ_40 | MHZ_80) {
        0 => Width::Mhz20,
        MHZ_40 => Width::Mhz40,
        _ => Width::Mhz80,
    };
    let guard = if step.flags & SHORT != 0 { GuardInterval::Ns400 } else { GuardInterval::Ns800 };
    let index = u8::try_from(step.index).unwrap_or(0);
    let rate = if step.flags & HT != 0 {
        Rate::ht(index, width, guard).ok()
    } else if step.flags & VHT != 0 {
        Rate::vht(index & 15, (index >> 4) + 1, width, guard).ok()
    } else {
        LEGACY.get(usize::from(index)).map(|legacy| Rate::legacy(*legacy))
    };
    rate.unwrap_or(Rate::legacy(Legacy::Mbps6))
}

/// The step of an HT or VHT rate, without tries; `None` for other formats and widths.
#[must_use]
pub fn step_of(rate: Rate) -> Option<Step> {
    let (format, index) = match rate.format() {
        Format::Ht => (HT, rate.mcs()),
        Format::Vht => (VHT, (rate.streams() - 1) << 4 | rate.mcs()),
        Format::Legacy | Format::He => return None,
    };
    let width = match rate.width() {
        Width::Mhz20 => 0,
        Width::Mhz40 => MHZ_40,
        Width::Mhz80 => MHZ_80,
        Width::Mhz10 | Width::Mhz160 => return None,
    };
    let guard = match rate.guard_interval() {
        GuardInterval::Ns400 => SHORT,
        _ => 0,
    };
    Some(Step { index: i8::try_from(index).ok()?, tries: 0, flags: format | width | guard })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ht_rates_convert_both_ways() {
        for width in [Width::Mhz20, Width::Mhz40] {
            for guard in [GuardInterval::Ns400, GuardInterval::Ns800] {
                for index in 0..32 {
                    let rate = Rate::ht(index, width, guard).unwrap();
                    assert_eq!(rate_of(step_of(rate).unwrap()), rate);
                }
            }
        }
    }

    #[test]
    fn vht_rates_convert_both_ways() {
        for width in [Width::Mhz20, Width::Mhz40, Width::Mhz80] {
            for guard in [GuardInterval::Ns400, GuardInterval::Ns800] {
                for (mcs, streams) in (0..10).flat_map(|mcs| (1..5).map(move |streams| (mcs, streams))) {
                    let Ok(rate) = Rate::vht(mcs, streams, width, guard) else { continue };
                    let step = step_of(rate).unwrap();
                    assert_eq!(rate_of(step), rate);
                    // As in `ieee80211_rate_set_vht`.
                    assert_eq!(i32::from(step.index), (i32::from(streams) - 1) * 16 + i32::from(mcs));
                }
            }
        }
        assert_eq!(step_of(Rate::vht(0, 1, Width::Mhz160, GuardInterval::Ns800).unwrap()), None);
        // A combination that the standard excludes.
        assert_eq!(rate_of(Step { index: 9, tries: 1, flags: VHT }), Rate::legacy(Legacy::Mbps6));
    }

    #[test]
    fn an_invalid_step_is_the_lowest_rate() {
        assert_eq!(rate_of(Step::NONE), Rate::legacy(Legacy::Mbps6));
        assert_eq!(rate_of(Step { index: 99, tries: 1, flags: HT }), Rate::legacy(Legacy::Mbps6));
    }
}
