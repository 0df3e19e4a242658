//! The message format between driver and medium; `lab/radio/channel.h` is its C side.

use airbound_units::Instant;

/// Bytes of an event.
pub const EVENT_SIZE: usize = 128;
/// Bytes of a command.
pub const COMMAND_SIZE: usize = 48;
/// Bytes of a frame that are passed to the medium.
pub const HEAD: usize = 84;

/// One step of mac80211's rate chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Index of the rate; negative: unused step.
    pub index: i8,
    /// Transmissions at it.
    pub tries: u8,
    /// `LAB_RATE_*` of `channel.h`.
    pub flags: u8,
}

impl Step {
    /// The unused step.
    pub const NONE: Self = Self { index: -1, tries: 0, flags: 0 };
}

/// A frame that a radio accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Number of the sending radio.
    pub radio: u8,
    /// Access category, as mac80211 numbers them: 0 voice to 3 background.
    pub queue: u8,
    /// Whether it may be part of an A-MPDU.
    pub aggregates: bool,
    /// Whether it is sent without acknowledgement.
    pub no_ack: bool,
    /// Whether it is a beacon.
    pub beacon: bool,
    /// Whether it is a rate probe, which is not aggregated.
    pub probe: bool,
    /// The radio's identifier for it.
    pub cookie: u32,
    /// When the radio accepted it.
    pub at: Instant,
    /// When mac80211 queued it: `at` less its sojourn time (in steps of 1024 ns).
    pub queued: Instant,
    /// The MPDU with its frame check sequence, bytes.
    pub length: u16,
    /// Limit of transmissions; 0: the medium's own limit.
    pub most_tries: u8,
    /// The rate chain.
    pub rates: [Step; 4],
    /// Its first bytes.
    pub head: [u8; HEAD],
}

/// An IP packet that came to the access point from the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Time at which it came, before bridge, router and netfilter.
    pub at: Instant,
    /// The packet, bytes; several segments that travel as one are more than a link's MTU.
    pub size: u32,
    /// Payload of each of its segments but the last, bytes; 0: a single packet.
    pub segment: u16,
    /// Its first bytes, from the IP header on.
    pub head: [u8; HEAD],
}

/// An event reported by the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The time at the end of this read.
    Time(Instant),
    /// A frame was handed to a radio.
    Frame(Box<Frame>),
    /// New contention parameters of a radio's category.
    Edca {
        /// Number of the radio.
        radio: u8,
        /// Access category, as mac80211 numbers them.
        queue: u8,
        /// Slots of the arbitration interframe space.
        aifsn: u16,
        /// Smallest contention window.
        cw_min: u16,
        /// Largest contention window.
        cw_max: u16,
        /// TXOP limit, units of 32 us.
        txop: u16,
    },
    /// An IP packet came to the access point from the wire.
    Entry(Box<Entry>),
    /// A radio moved to another channel, as it does to scan.
    Tuned {
        /// Number of the radio.
        radio: u8,
        /// When it moved.
        at: Instant,
        /// Centre frequency, MHz.
        frequency: u16,
    },
}

fn bytes<const N: usize>(from: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    if let Some(part) = from.get(at..at + N) {
        out.copy_from_slice(part);
    }
    out
}

fn u16_at(from: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes(bytes(from, at))
}

impl Event {
    /// Reads one event; `None` for an unknown kind.
    #[must_use]
    pub fn read(from: &[u8; EVENT_SIZE]) -> Option<Self> {
        let at = u64::from_ne_bytes(bytes(from, 8));
        match from[0] {
            0 => Some(Self::Time(Instant::from_nanos(at))),
            1 => {
                let waited = u64::from(u32::from_ne_bytes(bytes(from, 16))) << 10;
                let step = |place: usize| Step {
                    index: from[24 + 4 * place] as i8,
                    tries: from[25 + 4 * place],
                    flags: from[26 + 4 * place],
                };
                Some(Self::Frame(Box::new(Frame {
                    radio: from[1],
                    queue: from[2] & 3,
                    aggregates: from[3] & 1 != 0,
                    no_ack: from[3] & 2 != 0,
                    beacon: from[3] & 4 != 0,
                    probe: from[3] & 8 != 0,
                    cookie: u32::from_ne_bytes(bytes(from, 4)),
                    at: Instant::from_nanos(at),
                    queued: Instant::from_nanos(at.saturating_sub(waited)),
                    length: u16_at(from, 20),
                    most_tries: from[22],
                    rates: [step(0), step(1), step(2), step(3)],
                    head: bytes(from, 40),
                })))
            }
            2 => Some(Self::Edca {
                radio: from[1],
                queue: from[2] & 3,
                aifsn: u16_at(from, 40),
                cw_min: u16_at(from, 42),
                cw_max: u16_at(from, 44),
                txop: u16_at(from, 46),
            }),
            3 => Some(Self::Entry(Box::new(Entry {
                at: Instant::from_nanos(at),
                size: u32::from_ne_bytes(bytes(from, 16)),
                segment: u16_at(from, 20),
                head: bytes(from, 40),
            }))),
            4 => {
                Some(Self::Tuned { radio: from[1], at: Instant::from_nanos(at), frequency: u16_at(from, 20) })
            }
            _ => None,
        }
    }
}

/// A command of the medium to the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Let the pending read return at this time.
    Alarm(Instant),
    /// Deliver a frame to radios.
    Deliver {
        /// Number of the sending radio.
        radio: u8,
        /// The radio's identifier for the frame.
        cookie: u32,
        /// A bit for each radio.
        receivers: u64,
        /// Received power, dBm.
        signal: i8,
        /// The rate.
        rate: Step,
        /// The number of its A-MPDU; 0: it came alone.
        ampdu: u32,
    },
    /// A frame was acknowledged or given up.
    Done {
        /// Number of the sending radio.
        radio: u8,
        /// The radio's identifier for the frame.
        cookie: u32,
        /// Whether it was acknowledged.
        acked: bool,
        /// The chain with the tries made.
        rates: [Step; 4],
    },
    /// A PPDU ended.
    Ppdu {
        /// Number of the sending radio.
        radio: u8,
        /// The receiver's address.
        peer: [u8; 6],
        /// Its traffic identifier.
        tid: u8,
        /// Whether it was an A-MPDU, reported to rate control as a whole.
        ampdu: bool,
        /// Airtime of all tries, us.
        airtime: u32,
        /// Number of MPDUs.
        mpdus: u16,
        /// Number of acknowledged MPDUs.
        acked: u16,
        /// The chain with the tries made.
        rates: [Step; 4],
    },
    /// The channel's busy time so far.
    Survey {
        /// Number of the radio.
        radio: u8,
        /// Busy time of all transmitters, us.
        busy: u64,
        /// The radio's own transmissions, us.
        own: u32,
    },
}

impl Command {
    /// Appends the command in the driver's format.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut raw = [0; COMMAND_SIZE];
        let mut put = |at: usize, part: &[u8]| {
            if let Some(place) = raw.get_mut(at..at + part.len()) {
                place.copy_from_slice(part);
            }
        };
        let mut chain: &[Step] = &[];
        match self {
            Self::Alarm(at) => put(8, &at.as_nanos().to_ne_bytes()),
            Self::Deliver { radio, cookie, receivers, signal, rate, ampdu } => {
                put(0, &[1, *radio, 0, *signal as u8]);
                put(4, &cookie.to_ne_bytes());
                put(8, &receivers.to_ne_bytes());
                put(44, &ampdu.to_ne_bytes());
                chain = std::slice::from_ref(rate);
            }
            Self::Done { radio, cookie, acked, rates } => {
                put(0, &[2, *radio, u8::from(*acked), 0]);
                put(4, &cookie.to_ne_bytes());
                chain = rates;
            }
            Self::Ppdu { radio, peer, tid, ampdu, airtime, mpdus, acked, rates } => {
                put(0, &[3, *radio, u8::from(*ampdu), 0]);
                put(8, &u64::from(*airtime).to_ne_bytes());
                put(16, peer);
                put(22, &[*tid]);
                put(24, &mpdus.to_ne_bytes());
                put(26, &acked.to_ne_bytes());
                chain = rates;
            }
            Self::Survey { radio, busy, own } => {
                put(0, &[4, *radio, 0, 0]);
                put(4, &own.to_ne_bytes());
                put(8, &busy.to_ne_bytes());
            }
        }
        for (place, step) in chain.iter().enumerate() {
            put(28 + 4 * place, &[step.index as u8, step.tries, step.flags]);
        }
        out.extend_from_slice(&raw);
    }
}
