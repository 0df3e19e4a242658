//! Logs of the programs in the guest: rows of sixteen 64-bit words, one file for each program.

use std::io::{self, Read, Write};

use airbound_units::Instant;

const WORDS: usize = 16;
/// Bytes of a row.
const ROW: usize = WORDS * 8;

/// The first word of a [`Row::Connection`]; the other words are those of a [`Row::Mpdu`], and the connection is the last.
const CONNECTION: u64 = 9;

/// The first word of a [`Row::Acknowledgement`]; the other words are those of a [`Row::Mpdu`].
const ACKNOWLEDGEMENT: u64 = 10;

/// Stands for no flow, no number or no radio.
pub const NONE: u64 = u64::MAX;

/// A frame that was acknowledged or given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MpduRow {
    /// Number of the flow, by the packet's destination port; [`NONE`] without a flow.
    pub flow: u64,
    /// The datagram's number within its flow, or the TCP sequence number of the segment's first byte.
    pub number: u64,
    /// Radio of the station.
    pub station: u64,
    /// Access category: 0 background to 3 voice.
    pub category: u64,
    /// The IP packet, bytes.
    pub size: u64,
    /// Time at which mac80211 queued it.
    pub queued: Instant,
    /// Time at which the radio accepted it.
    pub handed: Instant,
    /// Time at which its first PPDU began to contend.
    pub contending: Instant,
    /// Start of the first transmission.
    pub first_tx: Instant,
    /// Start of the last transmission.
    pub last_tx: Instant,
    /// End of the PPDU in which it was received; [`Instant::MAX`] if none.
    pub received: Instant,
    /// Time at which the transmitter completed it.
    pub completed: Instant,
    /// Transmissions.
    pub tries: u64,
    /// The TXOP of the last transmission.
    pub txop: u64,
}

/// A packet with data of a flow that came to the access point from the wire, before bridge, router and netfilter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryRow {
    /// Number of the flow.
    pub flow: u64,
    /// The datagram's number within its flow, or the TCP sequence number of its first byte.
    pub number: u64,
    /// When.
    pub at: Instant,
    /// Bytes of its headers, from IP on.
    pub headers: u64,
    /// Bytes of its payload.
    pub payload: u64,
    /// Payload of each of its segments but the last; 0: a single packet.
    pub segment: u64,
}

/// A transmission opportunity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TxopRow {
    /// Its number, from 1.
    pub txop: u64,
    /// The sending radio.
    pub radio: u64,
    /// The receiving radio; [`NONE`] for all.
    pub peer: u64,
    /// Access category: 0 background to 3 voice.
    pub category: u64,
    /// Whether it carried user data.
    pub data: u64,
    /// Start of contention.
    pub contending: Instant,
    /// Start of the exchange.
    pub start: Instant,
    /// End of the exchange.
    pub end: Instant,
    /// PHY rate, b/s.
    pub rate: u64,
    /// MPDUs.
    pub mpdus: u64,
    /// Acknowledged MPDUs.
    pub acked: u64,
    /// The PSDU, bytes.
    pub size: u64,
    /// Transmitters that started at the same time.
    pub transmitters: u64,
}

/// A connection that is not the scenario's, in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Connection {
    /// Whether the access point sends.
    pub is_down: bool,
    /// Protocol number of the transport.
    pub protocol: u8,
    /// Source port; 0 where the protocol has none.
    pub source: u16,
    /// Destination port; 0 where the protocol has none.
    pub destination: u16,
}

impl Connection {
    const fn word(self) -> u64 {
        (self.is_down as u64) << 40
            | (self.protocol as u64) << 32
            | (self.source as u64) << 16
            | self.destination as u64
    }

    const fn of(word: u64) -> Self {
        Self {
            is_down: word >> 40 != 0,
            protocol: (word >> 32) as u8,
            source: (word >> 16) as u16,
            destination: word as u16,
        }
    }
}

/// One row of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// See [`TxopRow`].
    Txop(TxopRow),
    /// See [`MpduRow`].
    Mpdu(MpduRow),
    /// A frame of a connection that is not the scenario's; its flow and number are [`NONE`].
    Connection(Connection, MpduRow),
    /// A frame of TCP to the sender of a flow; its number is that of the first byte which the receiver has not.
    Acknowledgement(MpduRow),
    /// A source sent a datagram.
    Sent {
        /// Number of the flow.
        flow: u64,
        /// Number of the datagram.
        number: u64,
        /// When.
        at: Instant,
        /// The IP packet, bytes.
        size: u64,
        /// Its video frame.
        frame: u64,
    },
    /// A datagram arrived.
    Arrived {
        /// Number of the flow.
        flow: u64,
        /// Number of the datagram.
        number: u64,
        /// When.
        at: Instant,
    },
    /// A TCP receiver read data.
    Stream {
        /// Number of the flow.
        flow: u64,
        /// When.
        at: Instant,
        /// Payload bytes.
        bytes: u64,
    },
    /// A source of video frames over TCP created a frame.
    Frame {
        /// Number of the flow.
        flow: u64,
        /// When.
        created: Instant,
        /// Its size; 0 if it was skipped because the previous one was not written yet.
        size: u64,
    },
    /// See [`EntryRow`].
    Entry(EntryRow),
    /// Time zero of the scenario, and the processor's idle time between time zero and the end.
    Run {
        /// Time zero.
        zero: Instant,
        /// Idle time, ns.
        idle: u64,
        /// Time from time zero to the end, ns.
        of: u64,
    },
}

impl Row {
    fn words(&self) -> [u64; WORDS] {
        if let Self::Connection(connection, row) = self {
            let mut words = Self::Mpdu(*row).words();
            (words[0], words[WORDS - 1]) = (CONNECTION, connection.word());
            return words;
        }
        if let Self::Acknowledgement(row) = self {
            let mut words = Self::Mpdu(*row).words();
            words[0] = ACKNOWLEDGEMENT;
            return words;
        }
        let mut words = [0; WORDS];
        let mut put = |values: &[u64]| {
            for (word, value) in words.iter_mut().zip(values) {
                *word = *value;
            }
        };
        let ns = |at: Instant| at.as_nanos();
        match *self {
            Self::Connection(..) | Self::Acknowledgement(_) => {}
            Self::Txop(row) => put(&[
                1,
                row.txop,
                row.radio,
                row.peer,
                row.category,
                row.data,
                ns(row.contending),
                ns(row.start),
                ns(row.end),
                row.rate,
                row.mpdus,
                row.acked,
                row.size,
                row.transmitters,
            ]),
            Self::Mpdu(row) => put(&[
                2,
                row.flow,
                row.number,
                row.station,
                row.category,
                row.size,
                ns(row.queued),
                ns(row.handed),
                ns(row.contending),
                ns(row.first_tx),
                ns(row.last_tx),
                ns(row.received),
                ns(row.completed),
                row.tries,
                row.txop,
            ]),
            Self::Sent { flow, number, at, size, frame } => put(&[3, flow, number, ns(at), size, frame]),
            Self::Arrived { flow, number, at } => put(&[4, flow, number, ns(at)]),
            Self::Stream { flow, at, bytes } => put(&[5, flow, ns(at), bytes]),
            Self::Frame { flow, created, size } => put(&[6, flow, ns(created), size]),
            Self::Run { zero, idle, of } => put(&[7, ns(zero), idle, of]),
            Self::Entry(row) => {
                put(&[8, row.flow, row.number, ns(row.at), row.headers, row.payload, row.segment]);
            }
        }
        words
    }

    fn of(words: &[u64; WORDS]) -> Option<Self> {
        if matches!(words[0], CONNECTION | ACKNOWLEDGEMENT) {
            let mut mpdu = *words;
            mpdu[0] = 2;
            let Some(Self::Mpdu(row)) = Self::of(&mpdu) else { return None };
            return Some(match words[0] {
                CONNECTION => Self::Connection(Connection::of(words[WORDS - 1]), row),
                _ => Self::Acknowledgement(row),
            });
        }
        let at = |place: usize| Instant::from_nanos(words[place]);
        Some(match words[0] {
            1 => Self::Txop(TxopRow {
                txop: words[1],
                radio: words[2],
                peer: words[3],
                category: words[4],
                data: words[5],
                contending: at(6),
                start: at(7),
                end: at(8),
                rate: words[9],
                mpdus: words[10],
                acked: words[11],
                size: words[12],
                transmitters: words[13],
            }),
            2 => Self::Mpdu(MpduRow {
                flow: words[1],
                number: words[2],
                station: words[3],
                category: words[4],
                size: words[5],
                queued: at(6),
                handed: at(7),
                contending: at(8),
                first_tx: at(9),
                last_tx: at(10),
                received: at(11),
                completed: at(12),
                tries: words[13],
                txop: words[14],
            }),
            3 => Self::Sent { flow: words[1], number: words[2], at: at(3), size: words[4], frame: words[5] },
            4 => Self::Arrived { flow: words[1], number: words[2], at: at(3) },
            5 => Self::Stream { flow: words[1], at: at(2), bytes: words[3] },
            6 => Self::Frame { flow: words[1], created: at(2), size: words[3] },
            7 => Self::Run { zero: at(1), idle: words[2], of: words[3] },
            8 => Self::Entry(EntryRow {
                flow: words[1],
                number: words[2],
                at: at(3),
                headers: words[4],
                payload: words[5],
                segment: words[6],
            }),
            _ => return None,
        })
    }

    /// Writes the row.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut raw = [0; ROW];
        for (place, word) in raw.chunks_exact_mut(8).zip(self.words()) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        out.write_all(&raw)
    }

    /// Reads all rows; unknown rows and an incomplete row at the end are skipped.
    ///
    /// # Errors
    /// The error of `from`.
    pub fn read_all(from: &mut impl Read) -> io::Result<Vec<Self>> {
        let mut raw = Vec::new();
        from.read_to_end(&mut raw)?;
        let rows = raw.chunks_exact(ROW).filter_map(|row| {
            let mut words = [0; WORDS];
            for (word, place) in words.iter_mut().zip(row.chunks_exact(8)) {
                let mut eight = [0; 8];
                eight.copy_from_slice(place);
                *word = u64::from_le_bytes(eight);
            }
            Self::of(&words)
        });
        Ok(rows.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_written() {
        let at = Instant::from_nanos;
        let mpdu = MpduRow {
            flow: NONE,
            number: NONE,
            station: 2,
            category: 3,
            size: 4,
            queued: at(5),
            handed: at(6),
            contending: at(7),
            first_tx: at(8),
            last_tx: at(9),
            received: at(10),
            completed: at(11),
            tries: 12,
            txop: 13,
        };
        let connection = Connection { is_down: true, protocol: 17, source: 5201, destination: u16::MAX };
        let rows = [
            Row::Connection(connection, mpdu),
            Row::Connection(Connection { is_down: false, ..connection }, mpdu),
            Row::Acknowledgement(MpduRow { number: 7, ..mpdu }),
            Row::Sent { flow: 1, number: 2, at: at(3), size: 4, frame: 5 },
            Row::Arrived { flow: 1, number: 2, at: at(9) },
            Row::Stream { flow: 7, at: at(1), bytes: 2 },
            Row::Frame { flow: 0, created: at(8), size: 0 },
            Row::Run { zero: at(5), idle: 6, of: 7 },
            Row::Entry(EntryRow { flow: 1, number: 2, at: at(3), headers: 52, payload: 2896, segment: 1448 }),
            Row::Mpdu(MpduRow { number: 1, received: Instant::MAX, ..mpdu }),
        ];
        let mut raw = Vec::new();
        for row in &rows {
            row.write(&mut raw).unwrap();
        }
        raw.extend_from_slice(&[1, 2, 3]);
        assert_eq!(Row::read_all(&mut raw.as_slice()).unwrap(), rows);
    }
}
