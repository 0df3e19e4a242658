//! Airtime of a packet before it is known in which aggregate it will travel (kernel: `net/mac80211/airtime.c`).

use airbound_units::{ByteCount, Span};
use airbound_wifi::rate::{Format, Rate};
use airbound_wifi::timing::PpduTiming;

/// Preamble, mean contention, SIFS and block ack as the kernel counts them for one PPDU: 36 µs of preamble and 100 µs of
/// everything else.
const OVERHEAD: Span = Span::from_micros(136);

/// The packet size whose duration tells how well a rate aggregates.
const AVERAGE_PACKET: ByteCount = ByteCount::new(1024);

/// The expected airtime of a packet of `size` at `rate`, its share of the overhead of a typical aggregate included.
///
/// The faster the rate, the more packets share the overhead: 1/16 below 150 µs for a packet of 1024 B, 1/8 below
/// 250 µs, 1/4 below 400 µs, else 1/2 (`ieee80211_calc_expected_tx_airtime`).
#[must_use]
pub fn expected_airtime(rate: Rate, size: ByteCount) -> Span {
    let bit_rate = rate.bit_rate();
    if rate.format() == Format::Legacy {
        return PpduTiming::new(rate).duration(size) + OVERHEAD;
    }
    let average = bit_rate.time_for(AVERAGE_PACKET);
    let sharing = if average > Span::from_micros(400) {
        2
    } else if average > Span::from_micros(250) {
        4
    } else if average > Span::from_micros(150) {
        8
    } else {
        16
    };
    bit_rate.time_for(size) + OVERHEAD / sharing
}
