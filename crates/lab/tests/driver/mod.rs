//! Frames as mac80211 passes them to the driver.

use airbound_lab::channel::{Frame, HEAD, Step};
use airbound_units::{Instant, Span};

/// The flag of HT rates.
pub(crate) const HT: u8 = 1;
/// mac80211's number of best effort.
const BEST_EFFORT: u8 = 2;

pub(crate) fn us(micros: u64) -> Instant {
    Instant::ZERO + Span::from_micros(micros)
}

/// A QoS data frame of best effort, under a block-ack agreement, of `length` bytes and with up to two steps of rates.
pub(crate) fn data_frame(
    (from, to): (u8, u8),
    cookie: u32,
    at: Instant,
    sequence: u16,
    (length, [first, second]): (u16, [Step; 2]),
) -> Frame {
    let mut head = [0; HEAD];
    head[0] = 0x88;
    head[4..10].copy_from_slice(&[2, 0, 0, 0, to, 0]);
    head[10..16].copy_from_slice(&[2, 0, 0, 0, from, 0]);
    head[22..24].copy_from_slice(&((sequence & 0xfff) << 4).to_le_bytes());
    Frame {
        radio: from,
        queue: BEST_EFFORT,
        aggregates: true,
        no_ack: false,
        beacon: false,
        probe: false,
        cookie,
        at,
        queued: at,
        length,
        most_tries: 0,
        rates: [first, second, Step::NONE, Step::NONE],
        head,
    }
}
