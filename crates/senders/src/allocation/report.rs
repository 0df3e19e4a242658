//! Report of a station to the proxy.

use airbound_units::{BitRate, ByteCount, Span};

/// Length of a report: 60 B, that of the paper (Sec. 6.2.2).
pub const REPORT_LENGTH: usize = 60;

/// The version written and read by this code.
const VERSION: u8 = 1;
/// Number of bytes with a meaning; the rest is padding, ignored by readers and reserved for later versions.
const MEANINGFUL: usize = 50;
/// Longest duration of a slot.
pub(super) const LONGEST_SLOT: Span = Span::from_secs(60);
/// Upper limit on packets of a frame (HE-MU with extended block acknowledgement).
pub(super) const LARGEST_FRAME: u32 = 1024;

/// Measurements of a station over one slot.
///
/// On the wire all numbers are big-endian: version (1 B), flags (1 B, zero), number (4), slot in us (4), frames (4), repeats (2),
/// packets (4), payload in B (4), transmissions (4), spread in 1/256 packet (2), PHY rate in kb/s (4), retransmitted (4),
/// missing (4), uplink queue in B (4), uplink level in 1/256 packet (2), companions in 1/256 packet (2), padding.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Report {
    /// Serial number, ascending by one; wraps.
    pub number: u32,
    /// Duration of the slot; whole microseconds on the wire.
    pub slot: Span,
    /// Frames with new packets.
    pub frames: u32,
    /// Frames not counted in `frames`: retransmissions alone, and single packets with which a rate control samples another rate.
    pub repeats: u16,
    /// Received packets.
    pub packets: u32,
    /// Their payload; less than 4 GiB.
    pub payload: ByteCount,
    /// Packets sent in `frames`, lost ones included.
    pub transmissions: u32,
    /// Standard deviation over `frames` of the packets received in each; in 1/256 on the wire.
    pub spread: f64,
    /// Harmonic mean of PHY rates over packets (μ_R = 1 / E[1/R], Sec. 4.1); `None` if the receiver cannot see them.
    pub phy_rate: Option<BitRate>,
    /// Packets received out of order: each was lost on the air before.
    pub retransmitted: u32,
    /// Packets never received: lost in a queue or on the wire.
    pub missing: u32,
    /// The shortest uplink queue in the station during the slot.
    pub uplink_queue: ByteCount,
    /// The mean level of the station's own frames; 0 if it sent none. In 1/256 on the wire.
    pub uplink_level: f64,
    /// The mean over `frames` of the packets of other flows in them, to the same station. In 1/256 on the wire.
    pub companions: f64,
}

/// The reason why bytes are not a valid report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// Too few or too many bytes.
    #[error("a report has 50 to 60 bytes, not {0}")]
    Length(usize),
    /// An unknown version.
    #[error("the report has version {0}; this program reads version 1")]
    Version(u8),
    /// Flags unknown in this version.
    #[error("the report has unknown flags {0:#04x}")]
    Flags(u8),
    /// A value that no sensor can measure.
    #[error("the report is impossible: it has {0}")]
    Impossible(&'static str),
}

impl Report {
    /// The mean aggregation level μ_N of the slot; `None` without frames.
    #[must_use]
    pub fn level(&self) -> Option<f64> {
        (self.frames > 0).then(|| f64::from(self.transmissions) / f64::from(self.frames))
    }

    /// The share of transmissions lost on the air.
    #[must_use]
    pub fn air_loss(&self) -> f64 {
        let all = f64::from(self.packets) + f64::from(self.retransmitted);
        if all > 0.0 { f64::from(self.retransmitted) / all } else { 0.0 }
    }

    /// The share of packets never received.
    #[must_use]
    pub fn queue_loss(&self) -> f64 {
        let all = f64::from(self.packets) + f64::from(self.missing);
        if all > 0.0 { f64::from(self.missing) / all } else { 0.0 }
    }

    /// The rate at which payload arrived.
    #[must_use]
    pub fn goodput(&self) -> BitRate {
        BitRate::of(self.payload, self.slot)
    }

    /// Encodes the report. A value too large for its field is written as the field's largest value.
    #[must_use]
    pub fn encode(&self) -> [u8; REPORT_LENGTH] {
        let mut bytes = [0; REPORT_LENGTH];
        let mut at = 0;
        let mut put = |field: &[u8]| {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        };
        let word = |value: u64| u32::try_from(value).unwrap_or(u32::MAX).to_be_bytes();
        // A cast from a float saturates.
        let fraction = |value: f64| (libm::round(value * 256.0) as u16).to_be_bytes();
        put(&[VERSION, 0]);
        put(&self.number.to_be_bytes());
        put(&word(self.slot.as_micros()));
        put(&self.frames.to_be_bytes());
        put(&self.repeats.to_be_bytes());
        put(&self.packets.to_be_bytes());
        put(&word(self.payload.as_u64()));
        put(&self.transmissions.to_be_bytes());
        put(&fraction(self.spread));
        put(&word(self.phy_rate.map_or(0, |rate| rate.as_bps() / 1000)));
        put(&self.retransmitted.to_be_bytes());
        put(&self.missing.to_be_bytes());
        put(&word(self.uplink_queue.as_u64()));
        put(&fraction(self.uplink_level));
        put(&fraction(self.companions));
        bytes
    }

    /// Decodes a report from an untrusted source.
    ///
    /// # Errors
    /// [`ReportError`] if the bytes are not a report, or have values that no sensor writes.
    pub fn decode(bytes: &[u8]) -> Result<Self, ReportError> {
        if !(MEANINGFUL..=REPORT_LENGTH).contains(&bytes.len()) {
            return Err(ReportError::Length(bytes.len()));
        }
        let mut fields = Fields(bytes);
        let [version, flags] = fields.take();
        if version != VERSION {
            return Err(ReportError::Version(version));
        }
        if flags != 0 {
            return Err(ReportError::Flags(flags));
        }
        let report = Self {
            number: fields.word(),
            slot: Span::from_micros(u64::from(fields.word())),
            frames: fields.word(),
            repeats: u16::from_be_bytes(fields.take()),
            packets: fields.word(),
            payload: ByteCount::new(u64::from(fields.word())),
            transmissions: fields.word(),
            spread: fields.fraction(),
            phy_rate: Some(BitRate::from_kbps(u64::from(fields.word()))).filter(|rate| !rate.is_zero()),
            retransmitted: fields.word(),
            missing: fields.word(),
            uplink_queue: ByteCount::new(u64::from(fields.word())),
            uplink_level: fields.fraction(),
            companions: fields.fraction(),
        };
        report.check()?;
        Ok(report)
    }

    fn check(&self) -> Result<(), ReportError> {
        let impossible = if self.slot.is_zero() || self.slot > LONGEST_SLOT {
            "a slot of 0 s or of more than 60 s"
        } else if self.transmissions < self.frames {
            "fewer packets than frames"
        } else if u64::from(self.transmissions) > u64::from(self.frames) * u64::from(LARGEST_FRAME)
            && u64::from(self.transmissions) > u64::from(self.frames) + u64::from(self.retransmitted)
        {
            "more than 1024 packets a frame"
        } else if self.retransmitted > self.packets {
            "more retransmitted packets than packets"
        } else if self.payload.as_u64() > u64::from(self.packets) * 65_535 {
            "packets of more than 64 KiB"
        } else {
            return Ok(());
        };
        Err(ReportError::Impossible(impossible))
    }
}

/// Reads fields of bytes of checked length; beyond the end it returns zeros.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let Some((field, rest)) = self.0.split_first_chunk::<N>() else { return [0; N] };
        self.0 = rest;
        *field
    }

    fn word(&mut self) -> u32 {
        u32::from_be_bytes(self.take())
    }

    fn fraction(&mut self) -> f64 {
        f64::from(u16::from_be_bytes(self.take())) / 256.0
    }
}
