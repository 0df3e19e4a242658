//! Stations and their counters.

use airbound_units::{BitRate, Span};

use super::attribute;
use crate::MacAddress;
use crate::netlink::message::{Attribute, Attributes};

/// `NL80211_STA_INFO_*`.
mod info {
    pub(super) const INACTIVE_TIME: u16 = 1;
    pub(super) const RX_BYTES: u16 = 2;
    pub(super) const TX_BYTES: u16 = 3;
    pub(super) const SIGNAL: u16 = 7;
    pub(super) const TX_BITRATE: u16 = 8;
    pub(super) const RX_PACKETS: u16 = 9;
    pub(super) const TX_PACKETS: u16 = 10;
    pub(super) const TX_RETRIES: u16 = 11;
    pub(super) const TX_FAILED: u16 = 12;
    pub(super) const SIGNAL_AVG: u16 = 13;
    pub(super) const RX_BITRATE: u16 = 14;
    pub(super) const STA_FLAGS: u16 = 17;
    pub(super) const RX_BYTES64: u16 = 23;
    pub(super) const TX_BYTES64: u16 = 24;
    pub(super) const EXPECTED_THROUGHPUT: u16 = 27;
    pub(super) const TID_STATS: u16 = 31;
    pub(super) const RX_DURATION: u16 = 32;
    pub(super) const ACK_SIGNAL_AVG: u16 = 35;
    pub(super) const TX_DURATION: u16 = 39;
    pub(super) const AIRTIME_WEIGHT: u16 = 40;
}

/// `NL80211_STA_FLAG_AUTHORIZED`, as a bit of `struct nl80211_sta_flag_update`.
const AUTHORIZED: u32 = 1 << 1;

/// `NL80211_RATE_INFO_*`.
mod rate {
    pub(super) const BITRATE: u16 = 1;
    pub(super) const HT_MCS: u16 = 2;
    pub(super) const SHORT_GI: u16 = 4;
    pub(super) const BITRATE32: u16 = 5;
    pub(super) const VHT_MCS: u16 = 6;
    pub(super) const VHT_NSS: u16 = 7;
    pub(super) const HE_MCS: u16 = 13;
    pub(super) const HE_NSS: u16 = 14;
    pub(super) const EHT_MCS: u16 = 19;
    pub(super) const EHT_NSS: u16 = 20;
    /// Flag attributes and their widths in MHz; 20 MHz has none.
    pub(super) const WIDTHS: [(u16, u16); 4] = [(3, 40), (8, 80), (10, 160), (18, 320)];
}

/// A rate reported by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bitrate {
    /// Bits a second.
    pub rate: BitRate,
    /// "legacy", "HT", "VHT", "HE" or "EHT".
    pub standard: &'static str,
    /// MCS index; HT's includes the number of streams.
    pub mcs: Option<u8>,
    /// Spatial streams.
    pub streams: u8,
    /// Channel width, MHz.
    pub width: u16,
    /// Short guard interval (HT, VHT).
    pub is_short_guard: bool,
}

impl Bitrate {
    fn read(attributes: Attributes<'_>) -> Option<Self> {
        let byte = |kind| attributes.find(kind).and_then(|attribute| attribute.u8());
        let hundreds =
            attributes.find(rate::BITRATE32).and_then(|attribute| attribute.u32()).or_else(|| {
                attributes.find(rate::BITRATE).and_then(|attribute| attribute.u16()).map(u32::from)
            })?;
        let (standard, mcs, streams) = if let Some(mcs) = byte(rate::EHT_MCS) {
            ("EHT", Some(mcs), byte(rate::EHT_NSS).unwrap_or(1))
        } else if let Some(mcs) = byte(rate::HE_MCS) {
            ("HE", Some(mcs), byte(rate::HE_NSS).unwrap_or(1))
        } else if let Some(mcs) = byte(rate::VHT_MCS) {
            ("VHT", Some(mcs), byte(rate::VHT_NSS).unwrap_or(1))
        } else if let Some(mcs) = byte(rate::HT_MCS) {
            ("HT", Some(mcs), mcs / 8 + 1)
        } else {
            ("legacy", None, 1)
        };
        let width = rate::WIDTHS.iter().find(|(kind, _)| attributes.find(*kind).is_some());
        Some(Self {
            rate: BitRate::from_bps(u64::from(hundreds) * 100_000),
            standard,
            mcs,
            streams,
            width: width.map_or(20, |(_, width)| *width),
            is_short_guard: attributes.find(rate::SHORT_GI).is_some(),
        })
    }
}

/// Counters of a queue of mac80211 (`NL80211_TXQ_STATS_*`). They wrap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TxqCounters {
    /// Bytes queued.
    pub backlog_bytes: u32,
    /// Packets queued.
    pub backlog_packets: u32,
    /// New flows so far.
    pub flows: u32,
    /// Packets dropped by CoDel.
    pub drops: u32,
    /// Packets marked by CoDel.
    pub marks: u32,
    /// Packets dropped at the packet limit.
    pub over_limit: u32,
    /// Packets dropped at the memory limit.
    pub over_memory: u32,
    /// Bytes dequeued.
    pub sent_bytes: u32,
    /// Packets dequeued.
    pub sent_packets: u32,
}

impl TxqCounters {
    pub(super) fn read(attributes: Attributes<'_>) -> Self {
        let mut counters = Self::default();
        for attribute in attributes {
            let Some(value) = attribute.u32() else { continue };
            match attribute.kind {
                1 => counters.backlog_bytes = value,
                2 => counters.backlog_packets = value,
                3 => counters.flows = value,
                4 => counters.drops = value,
                5 => counters.marks = value,
                6 => counters.over_limit = value,
                7 => counters.over_memory = value,
                9 => counters.sent_bytes = value,
                10 => counters.sent_packets = value,
                _ => {}
            }
        }
        counters
    }
}

/// Counters of one traffic identifier of a station.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TidCounters {
    /// 0 to 15, 16 for frames without quality of service.
    pub tid: u8,
    /// Packets sent (MSDUs).
    pub packets: u64,
    /// Retries.
    pub retries: u64,
    /// Packets given up.
    pub failed: u64,
    /// Its queue in mac80211.
    pub txq: Option<TxqCounters>,
}

impl TidCounters {
    fn read(attribute: Attribute<'_>) -> Option<Self> {
        let tid = u8::try_from(attribute.kind.checked_sub(1)?).ok().filter(|tid| *tid <= 16)?;
        let find = |kind| attribute.nested().find(kind);
        let number = |kind| find(kind).and_then(|counter| counter.u64()).unwrap_or(0);
        Some(Self {
            tid,
            packets: number(2),
            retries: number(3),
            failed: number(4),
            txq: find(6).map(|txq| TxqCounters::read(txq.nested())),
        })
    }
}

/// A station; values that the driver does not report are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Station {
    /// Its address.
    pub address: MacAddress,
    /// Whether it may send and receive data.
    pub is_authorized: Option<bool>,
    /// Time since its last frame.
    pub inactive: Option<Span>,
    /// Signal strength of the last frame received, dBm.
    pub signal: Option<i8>,
    /// Average signal strength, dBm.
    pub signal_average: Option<i8>,
    /// Average signal strength of its acknowledgements, dBm.
    pub ack_signal: Option<i8>,
    /// Rate of the last frame sent.
    pub transmit_rate: Option<Bitrate>,
    /// Rate of the last frame received.
    pub receive_rate: Option<Bitrate>,
    /// Throughput expected by rate control; reported by rate control in mac80211 only.
    pub expected_throughput: Option<BitRate>,
    /// Bytes sent.
    pub sent_bytes: Option<u64>,
    /// Packets sent, counted by mac80211 when the driver dequeues them.
    pub sent_packets: Option<u32>,
    /// Bytes received.
    pub received_bytes: Option<u64>,
    /// Packets received.
    pub received_packets: Option<u32>,
    /// Tries beyond the first.
    pub retries: Option<u32>,
    /// Packets given up.
    pub failed: Option<u32>,
    /// Airtime of transmissions to it; `None` before the driver registers some.
    pub transmit_airtime: Option<Span>,
    /// Airtime of its own transmissions; `None` before the driver registers some, which many never do.
    pub receive_airtime: Option<Span>,
    /// Its airtime weight.
    pub airtime_weight: Option<u16>,
    /// Counters by traffic identifier, ascending.
    pub tids: Vec<TidCounters>,
}

impl Station {
    /// Reads nl80211's message about a station.
    pub(super) fn read(attributes: Attributes<'_>) -> Option<Self> {
        let mut station = Self { address: address(attributes)?, ..Self::default() };
        for attribute in attributes.find(attribute::STA_INFO)?.nested() {
            let signal = attribute.u8().map(u8::cast_signed);
            match attribute.kind {
                info::INACTIVE_TIME => {
                    station.inactive = attribute.u32().map(|millis| Span::from_millis(millis.into()));
                }
                info::SIGNAL => station.signal = signal,
                info::SIGNAL_AVG => station.signal_average = signal,
                info::ACK_SIGNAL_AVG => station.ack_signal = signal,
                info::TX_BITRATE => station.transmit_rate = Bitrate::read(attribute.nested()),
                info::RX_BITRATE => station.receive_rate = Bitrate::read(attribute.nested()),
                info::EXPECTED_THROUGHPUT => {
                    station.expected_throughput =
                        attribute.u32().map(|kilobits| BitRate::from_kbps(kilobits.into()));
                }
                info::TX_BYTES => station.sent_bytes = station.sent_bytes.or(attribute.u32().map(u64::from)),
                info::RX_BYTES => {
                    station.received_bytes = station.received_bytes.or(attribute.u32().map(u64::from));
                }
                info::RX_BYTES64 => station.received_bytes = attribute.u64(),
                info::RX_PACKETS => station.received_packets = attribute.u32(),
                info::TX_BYTES64 => station.sent_bytes = attribute.u64(),
                info::TX_PACKETS => station.sent_packets = attribute.u32(),
                info::TX_RETRIES => station.retries = attribute.u32(),
                info::TX_FAILED => station.failed = attribute.u32(),
                info::TX_DURATION => station.transmit_airtime = airtime(attribute.u64()),
                info::RX_DURATION => station.receive_airtime = airtime(attribute.u64()),
                info::AIRTIME_WEIGHT => station.airtime_weight = attribute.u16(),
                info::STA_FLAGS => {
                    let mask = attribute.u32().unwrap_or(0);
                    let set = crate::netlink::message::u32_at(attribute.value, 4).unwrap_or(0);
                    station.is_authorized = (mask & AUTHORIZED != 0).then_some(set & AUTHORIZED != 0);
                }
                info::TID_STATS => station.tids = attribute.nested().filter_map(TidCounters::read).collect(),
                _ => {}
            }
        }
        station.tids.sort_by_key(|counters| counters.tid);
        Some(station)
    }

    /// The counters of its queues in mac80211, summed over all traffic identifiers; `None` if the driver has no such queues.
    #[must_use]
    pub fn backlog(&self) -> Option<TxqCounters> {
        self.tids.iter().filter_map(|counters| counters.txq).reduce(|all, one| TxqCounters {
            backlog_bytes: all.backlog_bytes.saturating_add(one.backlog_bytes),
            backlog_packets: all.backlog_packets.saturating_add(one.backlog_packets),
            flows: all.flows.saturating_add(one.flows),
            drops: all.drops.saturating_add(one.drops),
            marks: all.marks.saturating_add(one.marks),
            over_limit: all.over_limit.saturating_add(one.over_limit),
            over_memory: all.over_memory.saturating_add(one.over_memory),
            sent_bytes: all.sent_bytes.wrapping_add(one.sent_bytes),
            sent_packets: all.sent_packets.wrapping_add(one.sent_packets),
        })
    }
}

/// The hardware address of a message.
pub(crate) fn address(attributes: Attributes<'_>) -> Option<MacAddress> {
    MacAddress::from_slice(attributes.find(attribute::MAC)?.value)
}

/// A counted airtime. mac80211 fills in 0 for a direction that the driver does not register (`sta_set_sinfo`).
fn airtime(micros: Option<u64>) -> Option<Span> {
    micros.filter(|micros| *micros > 0).map(Span::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::generic::HEADER;
    use crate::netlink::message::{Builder, Messages};

    /// A station as mac80211 lists it, with the counters of 17 traffic identifiers and their queues.
    fn put_station(builder: &mut Builder, number: u32) {
        let [high, low] = (number as u16).to_be_bytes();
        builder.begin(28, 0, number, &[19, 1, 0, 0]);
        builder.put_u32(attribute::IFINDEX, 3);
        builder.put(attribute::MAC, &[2, 0, 0, 0, high, low]);
        let all = builder.nest(attribute::STA_INFO);
        for kind in [info::INACTIVE_TIME, info::TX_BYTES, info::TX_PACKETS, info::TX_RETRIES, info::TX_FAILED]
        {
            builder.put_u32(kind, number);
        }
        for kind in [info::RX_BYTES, info::RX_PACKETS] {
            builder.put_u32(kind, number + 1);
        }
        builder.put(info::TX_BYTES64, &u64::from(number).to_ne_bytes());
        builder.put(info::TX_DURATION, &u64::from(number).to_ne_bytes());
        builder.put(info::RX_DURATION, &0_u64.to_ne_bytes());
        builder.put_u8(info::SIGNAL, 200);
        let rate = builder.nest(info::TX_BITRATE);
        builder.put_u32(rate::BITRATE32, 8667);
        builder.put_u8(rate::VHT_MCS, 9);
        builder.put_u8(rate::VHT_NSS, 2);
        builder.end(rate);
        let tids = builder.nest(info::TID_STATS);
        for tid in 1..=17 {
            let one = builder.nest(tid);
            for counter in 1..=4 {
                builder.put(counter, &u64::from(number).to_ne_bytes());
            }
            let queue = builder.nest(6);
            (1..=11).for_each(|counter| builder.put_u32(counter, number));
            builder.end(queue);
            builder.end(one);
        }
        builder.end(tids);
        builder.end(all);
    }

    #[test]
    fn a_thousand_stations_are_read_from_one_dump() {
        // One dump, played back: the kernel sends it in datagrams of 32 KiB.
        let dumps: Vec<Vec<u8>> = (0..1000)
            .map(|number| {
                let mut builder = Builder::with_capacity(4096);
                put_station(&mut builder, number);
                builder.as_bytes().to_vec()
            })
            .collect();
        let messages = dumps.iter().flat_map(|dump| Messages(dump));
        let stations: Vec<Station> =
            messages.filter_map(|message| Station::read(message.attributes(HEADER))).collect();
        assert_eq!(stations.len(), 1000);
        assert_eq!((stations[777].sent_bytes, stations[777].tids.len()), (Some(777), 17));
        // Where there is no counter of 64 bits, that of 32 counts.
        assert_eq!((stations[777].received_bytes, stations[777].received_packets), (Some(778), Some(778)));
        assert_eq!(stations[777].transmit_airtime, Some(Span::from_micros(777)));
        assert_eq!((stations[777].receive_airtime, stations[0].transmit_airtime), (None, None));
        assert_eq!(stations[0].transmit_rate.map(|rate| rate.rate), Some(BitRate::from_kbps(866_700)));
    }
}
