//! The radiotap header in front of a captured frame (radiotap.org/fields/defined).

use airbound_units::Instant;
use airbound_wifi::Band;
use airbound_wifi::rate::{Format, GuardInterval, Rate, Width};
use airbound_wifi::timing::preamble;

/// Bits of the presence word.
const TSFT: u32 = 1 << 0;
const FLAGS: u32 = 1 << 1;
const RATE: u32 = 1 << 2;
const CHANNEL: u32 = 1 << 3;
const SIGNAL: u32 = 1 << 5;
const NOISE: u32 = 1 << 6;
const MCS: u32 = 1 << 19;
const AMPDU_STATUS: u32 = 1 << 20;
const VHT: u32 = 1 << 21;
const HE: u32 = 1 << 23;

/// Bits of the flags: the frame ends with its FCS; the FCS is wrong; short guard interval.
const WITH_FCS: u8 = 0x10;
const BAD_FCS: u8 = 0x40;
const SHORT_GUARD: u8 = 0x80;

/// Channels of 20 MHz in 5 GHz.
const CHANNELS_5: [u16; 25] = [
    36, 40, 44, 48, 52, 56, 60, 64, 100, 104, 108, 112, 116, 120, 124, 128, 132, 136, 140, 144, 149, 153,
    157, 161, 165,
];

/// The aggregate that an MPDU is part of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Aggregate {
    /// The same for all its MPDUs, different for the next one.
    pub(super) number: u32,
    pub(super) is_last: bool,
}

/// Power at the receiver, in dBm.
#[derive(Debug, Clone, Copy)]
pub(super) struct Power {
    pub(super) signal: i8,
    pub(super) noise: i8,
}

/// Properties of a frame besides its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown {
    /// The first symbol of its PPDU.
    pub(super) at: Instant,
    pub(super) rate: Rate,
    pub(super) band: Band,
    /// The number of the channel in the scenario, from 1.
    pub(super) channel: u16,
    pub(super) aggregate: Option<Aggregate>,
    /// `None` where the channel has no powers.
    pub(super) power: Option<Power>,
    pub(super) bad_fcs: bool,
}

/// Appends the header of a frame. Fields are aligned to their size, counted from the header's start.
pub(super) fn append(record: &mut Vec<u8>, shown: &Shown) {
    let Shown { at, rate, band, channel, aggregate, power, bad_fcs } = *shown;
    let begin = record.len();
    let rate_field = match rate.format() {
        Format::Legacy => RATE,
        Format::Ht => MCS,
        Format::Vht => VHT,
        Format::He => HE,
    };
    let mut present = TSFT | FLAGS | CHANNEL | rate_field;
    if aggregate.is_some() {
        present |= AMPDU_STATUS;
    }
    if power.is_some() {
        present |= SIGNAL | NOISE;
    }
    // Version 0; the length follows at the end.
    record.extend([0, 0, 0, 0]);
    record.extend(present.to_le_bytes());
    // The first bit behind the preamble. All MPDUs of an aggregate have the time of its first, by which readers know the aggregate.
    record.extend(((at + preamble(rate)).as_nanos() / 1000).to_le_bytes());
    let short = rate.guard_interval() == GuardInterval::Ns400;
    let mut flags = WITH_FCS;
    if bad_fcs {
        flags |= BAD_FCS;
    }
    if short {
        flags |= SHORT_GUARD;
    }
    record.push(flags);
    if rate.format() == Format::Legacy {
        // In units of 500 kb/s.
        record.push((rate.bit_rate().as_bps() / 500_000) as u8);
    }
    align(record, begin, 2);
    // Frequency in MHz, and its flags: OFDM in 5 GHz, also at half the clock, CCK and OFDM in 2.4 GHz.
    // Channels of a scenario do not hear each other: in 2.4 GHz there are three of that kind, in 5 GHz 25.
    let place = channel.saturating_sub(1);
    let (frequency, channel_flags): (u16, u16) = match band {
        Band::Ghz5 => (5000 + 5 * CHANNELS_5[usize::from(place) % CHANNELS_5.len()], 0x0140),
        Band::Ghz59 => (5900, 0x4140),
        Band::Ghz2 => (2412 + 25 * (place % 3), 0x0480),
    };
    record.extend(frequency.to_le_bytes());
    record.extend(channel_flags.to_le_bytes());
    if let Some(power) = power {
        record.extend(power.signal.to_le_bytes());
        record.extend(power.noise.to_le_bytes());
    }
    if rate.format() == Format::Ht {
        // Known: bandwidth, MCS, guard interval, format, coding, STBC, extension streams.
        record.extend([0x7f, u8::from(rate.width() == Width::Mhz40) | u8::from(short) << 2, rate.mcs()]);
    }
    if let Some(aggregate) = aggregate {
        align(record, begin, 4);
        record.extend(aggregate.number.to_le_bytes());
        // Known which subframe is the last; whether it is this one.
        let status: u16 = 0x0004 | u16::from(aggregate.is_last) << 3;
        record.extend(status.to_le_bytes());
        record.extend([0, 0]);
    }
    match rate.format() {
        Format::Vht => vht(record, begin, rate, short),
        Format::He => he(record, begin, rate),
        Format::Legacy | Format::Ht => {}
    }
    let length = (record.len() - begin) as u16;
    record[begin + 2..begin + 4].copy_from_slice(&length.to_le_bytes());
}

fn align(record: &mut Vec<u8>, begin: usize, unit: usize) {
    while !(record.len() - begin).is_multiple_of(unit) {
        record.push(0);
    }
}

fn vht(record: &mut Vec<u8>, begin: usize, rate: Rate, short: bool) {
    align(record, begin, 2);
    // Known: STBC, guard interval, bandwidth.
    record.extend(0x0045_u16.to_le_bytes());
    let width = match rate.width() {
        Width::Mhz10 | Width::Mhz20 => 0,
        Width::Mhz40 => 1,
        Width::Mhz80 => 4,
        Width::Mhz160 => 11,
    };
    record.extend([u8::from(short) << 2, width]);
    // MCS and number of streams of the only user, and of three more that are not there; then coding, group, partial AID.
    record.extend([rate.mcs() << 4 | rate.streams(), 0, 0, 0, 0, 0, 0, 0]);
}

fn he(record: &mut Vec<u8>, begin: usize, rate: Rate) {
    align(record, begin, 2);
    let width: u16 = match rate.width() {
        Width::Mhz10 | Width::Mhz20 => 0,
        Width::Mhz40 => 1,
        Width::Mhz80 => 2,
        Width::Mhz160 => 3,
    };
    let guard: u16 = match rate.guard_interval() {
        GuardInterval::Ns400 | GuardInterval::Ns800 => 0,
        GuardInterval::Ns1600 => 1,
        GuardInterval::Ns3200 => 2,
    };
    let words: [u16; 6] = [
        // A single-user PPDU; known: MCS, bandwidth.
        0x0020 | 0x4000,
        // Known: guard interval.
        0x0002,
        u16::from(rate.mcs()) << 8,
        0,
        width | guard << 4,
        u16::from(rate.streams()),
    ];
    record.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use airbound_units::Instant;
    use airbound_wifi::Band;
    use airbound_wifi::rate::{GuardInterval, Legacy, Rate, Width};

    use super::{Shown, append};

    #[test]
    fn the_time_is_that_of_the_first_bit_behind_the_preamble() {
        let time = |rate| {
            let at = Instant::from_nanos(1_000_000);
            let (band, channel) = (Band::Ghz5, 1);
            let shown = Shown { at, rate, band, channel, aggregate: None, power: None, bad_fcs: false };
            let mut record = Vec::new();
            append(&mut record, &shown);
            record[8..16].iter().rev().fold(0, |time, byte| time << 8 | u64::from(*byte))
        };
        // L-STF 8, L-LTF 8, L-SIG 4 (802.11-2020, figure 17-1).
        assert_eq!(time(Rate::legacy(Legacy::Mbps24)), 1020);
        // And HT-SIG 8, HT-STF 4, two HT-LTFs of 4 (figure 19-1).
        assert_eq!(time(Rate::ht(15, Width::Mhz20, GuardInterval::Ns800).expect("a rate")), 1040);
        // And VHT-SIG-A 8, VHT-STF 4, two VHT-LTFs of 4, VHT-SIG-B 4 (figure 21-4).
        assert_eq!(time(Rate::vht(7, 2, Width::Mhz80, GuardInterval::Ns400).expect("a rate")), 1044);
    }
}
