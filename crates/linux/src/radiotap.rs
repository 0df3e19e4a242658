//! Frames that a monitor interface captured: the radiotap header (radiotap.org/fields/defined), and what of the frame behind it tells
//! packets of a flow apart. Pure.

use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::rate::{GuardInterval, Rate, Width};

use crate::MacAddress;

/// Alignment and size of the fields of the presence word, in the order of its bits.
const FIELDS: [(usize, usize); 22] = [
    (8, 8), // 0: TSFT
    (1, 1), // 1: flags
    (1, 1), // 2: rate
    (2, 4), // 3: channel
    (2, 2),
    (1, 1),
    (1, 1),
    (2, 2),
    (2, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (1, 1),
    (1, 1),
    (2, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (4, 8),
    (1, 3),  // 19: MCS
    (4, 8),  // 20: A-MPDU status
    (2, 12), // 21: VHT
];
const TSFT: usize = 0;
const FLAGS: usize = 1;
const RATE: usize = 2;
const MCS: usize = 19;
const AMPDU: usize = 20;
const VHT: usize = 21;
/// A further presence word follows.
const EXTENDED: u32 = 1 << 31;
/// Bits of the flags: the frame ends with its FCS; the FCS is wrong.
const WITH_FCS: u8 = 0x10;
const BAD_FCS: u8 = 0x40;
/// CCMP's header and MIC.
const CCMP: usize = 16;

/// A captured data frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Captured {
    /// The card's time of it: of its PPDU, the same for all MPDUs, or of the MPDU, by driver; `None` where the driver gives none.
    pub at: Option<Instant>,
    /// The number of its A-MPDU, the same for all MPDUs of it; `None` where the driver gives none, and for a frame that came alone.
    pub aggregate: Option<u32>,
    /// Its PHY rate; `None` for formats other than legacy, HT and VHT.
    pub rate: Option<BitRate>,
    /// The receiver on the air.
    pub to: MacAddress,
    /// The traffic identifier, 0 to 7; 0 without QoS.
    pub tid: u8,
    /// The sequence number of receiver and traffic identifier, 0 to 4095.
    pub sequence: u16,
    /// Its MSDU, or A-MSDU.
    pub payload: ByteCount,
}

/// Reads a captured frame; `None` if it is cut off, damaged, or holds no data.
#[must_use]
pub fn captured(bytes: &[u8]) -> Option<Captured> {
    let length = usize::from(u16::from_le_bytes(*bytes.get(2..4)?.first_chunk()?));
    if *bytes.first()? != 0 {
        return None;
    }
    let header = bytes.get(..length)?;
    let fields = fields(header)?;
    let field = |number: usize| fields[number].and_then(|place| header.get(place..place + FIELDS[number].1));
    let flags = field(FLAGS).map_or(0, |field| field[0]);
    if flags & BAD_FCS != 0 {
        return None;
    }
    let fcs = if flags & WITH_FCS != 0 { 4 } else { 0 };
    let frame = bytes.get(length..bytes.len().checked_sub(fcs)?)?;
    let micros = field(TSFT).and_then(|field| field.first_chunk().copied()).map(u64::from_le_bytes);
    let at = micros.and_then(|micros| Some(Instant::ZERO + Span::from_nanos(micros.checked_mul(1000)?)));
    let legacy = || field(RATE).map(|field| BitRate::from_kbps(500 * u64::from(field[0])));
    let rate =
        field(MCS).and_then(ht).or_else(|| field(VHT).and_then(vht)).map(Rate::bit_rate).or_else(legacy);
    let aggregate = field(AMPDU).and_then(|field| field.first_chunk().copied()).map(u32::from_le_bytes);
    let captured = data(frame, rate)?;
    Some(Captured { at, aggregate, ..captured })
}

/// Returns the places of the fields of the first presence word.
fn fields(header: &[u8]) -> Option<[Option<usize>; FIELDS.len()]> {
    let word = |number: usize| {
        let place = 4 + 4 * number;
        Some(u32::from_le_bytes(*header.get(place..place + 4)?.first_chunk()?))
    };
    let mut words = 1;
    while word(words - 1)? & EXTENDED != 0 {
        words += 1;
    }
    let (present, mut place) = (word(0)?, 4 + 4 * words);
    let mut places = [None; FIELDS.len()];
    for (number, (align, size)) in FIELDS.into_iter().enumerate() {
        if present & 1 << number != 0 {
            place = place.next_multiple_of(align);
            places[number] = Some(place);
            place += size;
        }
    }
    Some(places)
}

const fn guard(short: bool) -> GuardInterval {
    if short { GuardInterval::Ns400 } else { GuardInterval::Ns800 }
}

/// Known, flags (bits 0 and 1: bandwidth, bit 2: short guard interval), index.
fn ht(field: &[u8]) -> Option<Rate> {
    let width = if field[1] & 3 == 1 { Width::Mhz40 } else { Width::Mhz20 };
    Rate::ht(field[2], width, guard(field[1] & 4 != 0)).ok()
}

/// Known (2 B), flags (bit 2: short guard interval), bandwidth, index and streams of the first user.
fn vht(field: &[u8]) -> Option<Rate> {
    let width = match field[3] & 0x1f {
        0 => Width::Mhz20,
        1..=3 => Width::Mhz40,
        4..=10 => Width::Mhz80,
        _ => Width::Mhz160,
    };
    Rate::vht(field[4] >> 4, field[4] & 0xf, width, guard(field[2] & 4 != 0)).ok()
}

/// Reads a data frame (802.11-2020 clause 9.3.2.1); `None` for other frames and for those without data.
fn data(frame: &[u8], rate: Option<BitRate>) -> Option<Captured> {
    let [control, flags] = *frame.first_chunk()?;
    let is_data = control & 0x0c == 0x08 && control & 0x40 == 0;
    if !is_data {
        return None;
    }
    let to = MacAddress::from_slice(frame.get(4..)?)?;
    let sequence = u16::from_le_bytes(*frame.get(22..24)?.first_chunk()?) >> 4;
    let mut body = if flags & 3 == 3 { 30 } else { 24 };
    let mut tid = 0;
    if control & 0x80 != 0 {
        tid = *frame.get(body)? & 7;
        // QoS control; HT control where the flag +HTC is set.
        body += if flags & 0x80 != 0 { 6 } else { 2 };
    }
    let sealed = if flags & 0x40 != 0 { CCMP } else { 0 };
    let payload = frame.len().checked_sub(body + sealed)?;
    let payload = ByteCount::new(payload as u64);
    Some(Captured { at: None, aggregate: None, rate, to, tid, sequence, payload })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A QoS data frame to 02:00:00:00:01:00 with TID 5 and the sequence number 4095, 10 B of data and an FCS.
    const FRAME: [u8; 40] = [
        0x88, 0x02, 0, 0, 2, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0xf0, 0xff, 5,
        0, // header
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, // data
        0, 0, 0, 0, // FCS
    ];

    fn frame(present: u32, fields: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, (8 + fields.len()) as u8, 0];
        bytes.extend(present.to_le_bytes());
        bytes.extend(fields);
        bytes.extend(FRAME);
        bytes
    }

    #[test]
    fn a_frame_of_an_aggregate_is_read() {
        // TSFT 1 s, flags with FCS, channel (aligned to 2), A-MPDU status (to 4), VHT: 80 MHz, short guard interval, MCS 9, 3 streams.
        let mut fields = 1_000_000_u64.to_le_bytes().to_vec();
        fields.extend([0x10, 0, 0x3c, 0x14, 0x40, 0x01, 0, 0, 7, 0, 0, 0, 4, 0, 0, 0]);
        fields.extend([0x44, 0, 4, 4, 0x93, 0, 0, 0, 0, 0, 0, 0]);
        let bytes = frame(1 << 0 | 1 << 1 | 1 << 3 | 1 << 20 | 1 << 21, &fields);
        let found = captured(&bytes).expect("a data frame");
        // 1300 Mb/s: 234 subcarriers of 8 bits at 5/6 in 3.6 us, three times (table 21-40).
        assert_eq!(found.rate, Some(BitRate::from_mbps(1300)));
        assert_eq!((found.at, found.aggregate), (Some(Instant::ZERO + Span::from_secs(1)), Some(7)));
        assert_eq!((found.to.to_string().as_str(), found.tid), ("02:00:00:00:01:00", 5));
        assert_eq!((found.sequence, found.payload), (4095, ByteCount::new(10)));
    }

    #[test]
    fn other_rates_and_further_words_are_read() {
        // HT, 40 MHz, MCS 15, long guard interval: 270 Mb/s (table 19-35).
        let ht = captured(&frame(1 << 1 | 1 << 19, &[0x10, 0x07, 1, 15])).expect("a data frame");
        assert_eq!((ht.rate, ht.at), (Some(BitRate::from_mbps(270)), None));
        let legacy = captured(&frame(1 << 1 | 1 << 2, &[0x10, 48])).expect("a data frame");
        assert_eq!(legacy.rate, Some(BitRate::from_mbps(24)));
        let two_words = captured(&frame(1 << 1 | EXTENDED, &[0, 0, 0, 0, 0x10])).expect("a data frame");
        assert_eq!((two_words.rate, two_words.payload), (None, ByteCount::new(10)));
    }

    #[test]
    fn any_two_bytes_of_the_header_may_be_wrong() {
        let whole = frame(1 << 1, &[0x10]);
        for (place, value) in (0..9).flat_map(|place| (0..=255).map(move |value| (place, value))) {
            let mut bytes = whole.clone();
            bytes[place] = value;
            for (other, wrong) in (0..36).flat_map(|other| [0, 0x7f, 0xff].map(|wrong| (other, wrong))) {
                bytes[other] = wrong;
                let payload = captured(&bytes).map_or(0, |found| found.payload.as_u64());
                assert!(payload < bytes.len() as u64, "{bytes:?}");
            }
        }
    }

    #[test]
    fn damaged_and_short_frames_are_left_out() {
        assert_eq!(captured(&frame(1 << 1, &[0x50])), None);
        let whole = frame(1 << 1, &[0x10]);
        assert!((0..whole.len() - 10).all(|length| captured(&whole[..length]).is_none()));
        // A null frame, and an acknowledgement.
        for control in [0xc8, 0xd4] {
            let mut other = whole.clone();
            other[9] = control;
            assert_eq!(captured(&other), None);
        }
    }
}
