//! The format of the records that the eBPF programs write. Pure.

use airbound_units::{ByteCount, Instant, Span};

use super::{Completion, Details, Fate, RateTry};
use crate::MacAddress;

/// Bytes of a record.
pub(super) const SIZE: usize = 64;
/// Kinds of records.
pub(super) const ACKNOWLEDGED: u8 = 1;
pub(super) const LOST: u8 = 2;
pub(super) const DROPPED: u8 = 3;

/// Offsets of the fields; numbers are in native byte order.
pub(super) mod field {
    pub(in crate::completions) const AT: i16 = 0;
    pub(in crate::completions) const QUEUED: i16 = 8;
    pub(in crate::completions) const TAKEN: i16 = 16;
    pub(in crate::completions) const LENGTH: i16 = 24;
    pub(in crate::completions) const MARK: i16 = 28;
    pub(in crate::completions) const PRIORITY: i16 = 32;
    pub(in crate::completions) const STATION: i16 = 36;
    pub(in crate::completions) const KIND: i16 = 42;
    pub(in crate::completions) const AIRTIME: i16 = 44;
    pub(in crate::completions) const RATES: i16 = 48;
}

fn array<const N: usize>(record: &[u8; SIZE], at: i16) -> [u8; N] {
    let mut bytes = [0; N];
    let at = at as usize;
    bytes.copy_from_slice(&record[at..at + N]);
    bytes
}

/// Reads a record; `None` for an unknown kind.
pub(super) fn read(record: &[u8; SIZE]) -> Option<Completion> {
    let number = |at| u64::from_ne_bytes(array(record, at));
    let word = |at| u32::from_ne_bytes(array(record, at));
    let at = Instant::from_nanos(number(field::AT));
    let since = |nanos: u64| (nanos != 0).then(|| at.since(Instant::from_nanos(nanos)));
    let fate = match record[field::KIND as usize] {
        ACKNOWLEDGED => Fate::Acknowledged,
        LOST => Fate::Lost,
        DROPPED => Fate::Dropped,
        _ => return None,
    };
    let rates = if fate == Fate::Dropped { [None; 4] } else { chain(array(record, field::RATES)) };
    let airtime = u16::from_ne_bytes(array(record, field::AIRTIME));
    Some(Completion {
        at,
        station: MacAddress(array(record, field::STATION)),
        fate,
        frames: 1,
        bytes: ByteCount::new(word(field::LENGTH).into()),
        tries: rates.iter().flatten().map(|step| u32::from(step.tries)).sum(),
        airtime: (airtime != 0).then(|| Span::from_micros(airtime.into())),
        details: Some(Details {
            mark: word(field::MARK),
            tid: (word(field::PRIORITY) & 7) as u8,
            in_host: since(number(field::QUEUED)),
            in_driver: since(number(field::TAKEN)),
            rates,
        }),
    })
}

/// Reads an array of `struct ieee80211_tx_rate`: three bytes each, an index and two packed bit fields. A negative index ends the chain.
fn chain(bytes: [u8; 12]) -> [Option<RateTry>; 4] {
    let mut chain = [None; 4];
    for (step, place) in bytes.chunks_exact(3).zip(&mut chain) {
        let index = step[0].cast_signed();
        if index < 0 {
            break;
        }
        // Bit fields are allocated from the low end on little-endian machines, from the high end on others.
        let (tries, flags) = if cfg!(target_endian = "little") {
            (step[1] & 31, u16::from(step[1] >> 5) | u16::from(step[2]) << 3)
        } else {
            (step[1] >> 3, u16::from(step[1] & 7) << 8 | u16::from(step[2]))
        };
        *place = Some(RateTry { index, tries, flags });
    }
    chain
}

#[cfg(test)]
#[path = "../../tests/parsers/record.rs"]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    fn put(record: &mut [u8; SIZE], at: i16, bytes: &[u8]) {
        record[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn a_frame_with_two_rates() {
        let mut record = [0; SIZE];
        put(&mut record, field::AT, &5_000_000u64.to_ne_bytes());
        put(&mut record, field::QUEUED, &1_000_000u64.to_ne_bytes());
        put(&mut record, field::TAKEN, &3_000_000u64.to_ne_bytes());
        put(&mut record, field::KIND, &[ACKNOWLEDGED]);
        put(&mut record, field::LENGTH, &1538u32.to_ne_bytes());
        put(&mut record, field::MARK, &7u32.to_ne_bytes());
        put(&mut record, field::PRIORITY, &262u32.to_ne_bytes());
        put(&mut record, field::STATION, &[2, 0, 0, 0, 1, 0]);
        // MCS 7 twice, short guard interval and HT (bits 7 and 3); MCS 5 once, HT; no more.
        put(&mut record, field::RATES, &[7, 2, 0x11, 5, 1, 1, 0xff, 0, 0, 3, 1, 1]);
        put(&mut record, field::AIRTIME, &250u16.to_ne_bytes());
        let completion = read(&record).expect("a completion");
        assert_eq!((completion.fate, completion.tries), (Fate::Acknowledged, 3));
        assert_eq!(completion.station, MacAddress([2, 0, 0, 0, 1, 0]));
        assert_eq!(completion.airtime, Some(Span::from_micros(250)));
        let details = completion.details.expect("details");
        assert_eq!((details.mark, details.tid), (7, 6));
        assert_eq!(details.in_host, Some(Span::from_millis(4)));
        assert_eq!(details.in_driver, Some(Span::from_millis(2)));
        assert_eq!(details.rates[0], Some(RateTry { index: 7, tries: 2, flags: 1 << 3 | 1 << 7 }));
        assert_eq!(details.rates[1], Some(RateTry { index: 5, tries: 1, flags: 1 << 3 }));
        assert_eq!(details.rates[2..], [None, None]);
    }
}
