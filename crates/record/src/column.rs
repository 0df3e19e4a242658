//! Layout of the values of one column in memory and in a Parquet file.

use airbound_units::{BitRate, ByteCount, Instant, Span};
use parquet::basic::{Repetition, Type as Physical};

use crate::rows::{Component, Fate, FrameFate, PacketWay, TxopKind};

/// The name, unit, meaning and storage of a column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnSpec {
    pub(crate) name: &'static str,
    /// The unit, possibly empty.
    pub(crate) unit: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) storage: Storage,
}

/// Physical type, nullability, and the bits of an unsigned logical type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Storage {
    pub(crate) physical: Physical,
    pub(crate) repetition: Repetition,
    /// Bits of an unsigned logical type; `None` for a plain physical type.
    pub(crate) unsigned_bits: Option<i8>,
}

const fn stored(physical: Physical, repetition: Repetition, unsigned_bits: Option<i8>) -> Storage {
    Storage { physical, repetition, unsigned_bits }
}

/// Values of one column; nulls are not in `values` and have a zero in `levels`.
#[derive(Debug, Default)]
pub(crate) struct Cells<T> {
    pub(crate) values: Vec<T>,
    /// One for each row in a nullable column, empty in others.
    pub(crate) levels: Vec<i16>,
}

#[derive(Debug)]
pub(crate) enum ColumnBuffer {
    Bool(Cells<bool>),
    Int(Cells<i32>),
    Long(Cells<i64>),
    Double(Cells<f64>),
}

impl ColumnBuffer {
    pub(crate) fn new(storage: Storage) -> Self {
        match storage.physical {
            Physical::BOOLEAN => Self::Bool(Cells::default()),
            Physical::INT32 => Self::Int(Cells::default()),
            Physical::DOUBLE => Self::Double(Cells::default()),
            _ => Self::Long(Cells::default()),
        }
    }

    pub(crate) fn clear(&mut self) {
        fn clear<T>(cells: &mut Cells<T>) {
            cells.values.clear();
            cells.levels.clear();
        }
        match self {
            Self::Bool(cells) => clear(cells),
            Self::Int(cells) => clear(cells),
            Self::Long(cells) => clear(cells),
            Self::Double(cells) => clear(cells),
        }
    }
}

/// A physical type and its variant of the buffer.
pub(crate) trait Native: Copy {
    fn cells(buffer: &mut ColumnBuffer) -> Option<&mut Cells<Self>>
    where
        Self: Sized;
}

macro_rules! native {
    ($type:ty, $variant:ident) => {
        impl Native for $type {
            fn cells(buffer: &mut ColumnBuffer) -> Option<&mut Cells<Self>> {
                match buffer {
                    ColumnBuffer::$variant(cells) => Some(cells),
                    _ => None,
                }
            }
        }
    };
}
native!(bool, Bool);
native!(i32, Int);
native!(i64, Long);
native!(f64, Double);

/// Storage format of a type of field.
pub(crate) trait Format {
    type Value: Copy;
    type Native: Native;
    const STORAGE: Storage;

    /// Encodes a value; `None` is null, which needs nullable storage.
    fn encode(value: Self::Value) -> Option<Self::Native>;

    /// Decodes a value; `None` if it is unknown to this version.
    fn decode(native: Option<Self::Native>) -> Option<Self::Value>;

    /// Appends the field of all rows.
    #[inline]
    fn put(values: impl ExactSizeIterator<Item = Self::Value>, buffer: &mut ColumnBuffer) {
        let Some(cells) = Self::Native::cells(buffer) else { return };
        if Self::STORAGE.repetition == Repetition::REQUIRED {
            cells.values.extend(values.filter_map(Self::encode));
            return;
        }
        cells.values.reserve(values.len());
        cells.levels.reserve(values.len());
        for value in values {
            let native = Self::encode(value);
            cells.levels.push(i16::from(native.is_some()));
            cells.values.extend(native);
        }
    }

    /// Reads the next value of the column.
    fn get(buffer: &mut ColumnBuffer, cursor: &mut Cursor) -> Option<Self::Value> {
        let cells = Self::Native::cells(buffer)?;
        let present = Self::STORAGE.repetition == Repetition::REQUIRED || *cells.levels.get(cursor.row)? > 0;
        cursor.row += 1;
        if !present {
            return Self::decode(None);
        }
        let native = *cells.values.get(cursor.value)?;
        cursor.value += 1;
        Self::decode(Some(native))
    }
}

/// Position in a column, by row and by value, since nulls have no value.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cursor {
    row: usize,
    value: usize,
}

macro_rules! format {
    ($(#[$doc:meta])* $name:ident: $value:ty as $native:ty, $storage:expr, $encode:expr, $decode:expr) => {
        $(#[$doc])*
        pub(crate) struct $name;
        impl Format for $name {
            type Value = $value;
            type Native = $native;
            const STORAGE: Storage = $storage;
            #[inline]
            fn encode(value: $value) -> Option<$native> {
                let encode: fn($value) -> Option<$native> = $encode;
                encode(value)
            }
            #[inline]
            fn decode(native: Option<$native>) -> Option<$value> {
                let decode: fn(Option<$native>) -> Option<$value> = $decode;
                decode(native)
            }
        }
    };
}

const REQUIRED: Repetition = Repetition::REQUIRED;
const OPTIONAL: Repetition = Repetition::OPTIONAL;
const BYTE: Storage = stored(Physical::INT32, REQUIRED, Some(8));

format!(
    /// A number of up to 8 bits.
    U8: u8 as i32, BYTE, |v| Some(i32::from(v)), |n| u8::try_from(n?).ok()
);
format!(
    /// A number of up to 16 bits.
    U16: u16 as i32, stored(Physical::INT32, REQUIRED, Some(16)),
    |v| Some(i32::from(v)), |n| u16::try_from(n?).ok()
);
format!(
    /// A number of up to 32 bits, stored as the same bits.
    U32: u32 as i32, stored(Physical::INT32, REQUIRED, Some(32)),
    |v| Some(v.cast_signed()), |n| n.map(i32::cast_unsigned)
);
format!(
    /// A count, signed in the file so that differences of columns can be negative.
    U64: u64 as i64, stored(Physical::INT64, REQUIRED, None),
    |v| Some(v.cast_signed()), |n| n.map(i64::cast_unsigned)
);
format!(
    /// A timestamp in nanoseconds.
    Time: Instant as i64, stored(Physical::INT64, REQUIRED, None),
    |v| Some(v.as_nanos().cast_signed()), |n| n.map(|n| Instant::from_nanos(n.cast_unsigned()))
);
format!(
    /// A timestamp in nanoseconds; null if the event did not happen.
    MaybeTime: Instant as i64, stored(Physical::INT64, OPTIONAL, None),
    |v| (v != Instant::MAX).then_some(v.as_nanos().cast_signed()),
    |n| Some(n.map_or(Instant::MAX, |n| Instant::from_nanos(n.cast_unsigned())))
);
format!(
    /// A duration in nanoseconds.
    Length: Span as i64, stored(Physical::INT64, REQUIRED, None),
    |v| Some(v.as_nanos().cast_signed()), |n| n.map(|n| Span::from_nanos(n.cast_unsigned()))
);
format!(
    /// An amount of data in bytes, up to 4 GB.
    Bytes: ByteCount as i32, stored(Physical::INT32, REQUIRED, Some(32)),
    |v| Some(u32::try_from(v.as_u64()).unwrap_or(u32::MAX).cast_signed()),
    |n| n.map(|n| ByteCount::new(u64::from(n.cast_unsigned())))
);
format!(
    /// A duration in nanoseconds, or null.
    MaybeLength: Option<Span> as i64, stored(Physical::INT64, OPTIONAL, None),
    |v| v.map(|v| v.as_nanos().cast_signed()), |n| Some(n.map(|n| Span::from_nanos(n.cast_unsigned())))
);
format!(
    /// An amount of data in bytes, up to 4 GB, or null.
    MaybeBytes: Option<ByteCount> as i32, stored(Physical::INT32, OPTIONAL, Some(32)),
    |v| v.and_then(Bytes::encode), |n| Some(n.and_then(|n| Bytes::decode(Some(n))))
);
format!(
    /// A bit rate in whole kb/s, up to 4 Tb/s, or null.
    MaybeKbps: Option<BitRate> as i32, stored(Physical::INT32, OPTIONAL, Some(32)),
    |v| v.and_then(Kbps::encode), |n| Some(n.and_then(|n| Kbps::decode(Some(n))))
);
format!(
    /// A bit rate in whole kb/s, up to 4 Tb/s.
    Kbps: BitRate as i32, stored(Physical::INT32, REQUIRED, Some(32)),
    |v| Some(u32::try_from(v.as_bps() / 1000).unwrap_or(u32::MAX).cast_signed()),
    |n| n.map(|n| BitRate::from_kbps(u64::from(n.cast_unsigned())))
);
format!(
    /// Yes or no.
    Flag: bool as bool, stored(Physical::BOOLEAN, REQUIRED, None), Some, |n| n
);
format!(
    /// Yes, no, or null.
    MaybeFlag: Option<bool> as bool, stored(Physical::BOOLEAN, OPTIONAL, None), |v| v, Some
);
format!(
    /// A number of up to 32 bits, or null.
    MaybeU32: Option<u32> as i32, stored(Physical::INT32, OPTIONAL, Some(32)),
    |v| v.map(u32::cast_signed), |n| Some(n.map(i32::cast_unsigned))
);
format!(
    /// The way in which a media packet arrived, or null.
    MaybeWay: Option<PacketWay> as i32, stored(Physical::INT32, OPTIONAL, Some(8)),
    |v| v.map(|way| way as i32),
    |n| match n {
        None => Some(None),
        Some(0) => Some(Some(PacketWay::FirstTime)),
        Some(1) => Some(Some(PacketWay::Recovered)),
        Some(2) => Some(Some(PacketWay::Retransmitted)),
        Some(_) => None,
    }
);
format!(
    /// A floating-point number, including NaN and infinities.
    Real: f64 as f64, stored(Physical::DOUBLE, REQUIRED, None), Some, |n| n
);
format!(
    /// A floating-point number, or null.
    MaybeReal: Option<f64> as f64, stored(Physical::DOUBLE, OPTIONAL, None), |v| v, Some
);
format!(
    /// The fate of a packet: 0 delivered, 1 queued, 2 + n dropped for reason n.
    PacketFate: Fate as i32, BYTE,
    |v| Some(match v {
        Fate::Delivered => 0,
        Fate::Queued => 1,
        Fate::Dropped(reason) => 2 + i32::from(reason.min(253)),
    }),
    |n| match n? {
        0 => Some(Fate::Delivered),
        1 => Some(Fate::Queued),
        code => u8::try_from(code - 2).ok().map(Fate::Dropped),
    }
);
format!(
    /// The kind of a transmission opportunity.
    Kind: TxopKind as i32, BYTE, |v| Some(v as i32),
    |n| match n? {
        0 => Some(TxopKind::Data),
        1 => Some(TxopKind::Neighbour),
        2 => Some(TxopKind::Management),
        _ => None,
    }
);
format!(
    /// The fate of a video frame.
    VideoFate: FrameFate as i32, BYTE, |v| Some(v as i32),
    |n| match n? {
        0 => Some(FrameFate::Delivered),
        1 => Some(FrameFate::Late),
        2 => Some(FrameFate::Skipped),
        3 => Some(FrameFate::Lost),
        4 => Some(FrameFate::Unfinished),
        _ => None,
    }
);
format!(
    /// The component of a latency.
    Part: Component as i32, BYTE, |v| Some(i32::from(v.code())),
    |n| Component::ALL.get(usize::try_from(n?).ok()?).copied()
);
