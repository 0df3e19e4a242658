//! The columns of a run's tables, and the conversion of rows to columns.

use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::errors::ParquetError;
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

use crate::column::{
    Bytes, ColumnBuffer, ColumnSpec, Cursor, Flag, Format, Kbps, Kind, Length, MaybeBytes, MaybeFlag,
    MaybeKbps, MaybeLength, MaybeReal, MaybeTime, MaybeU32, MaybeWay, PacketFate, Part, Real, Time, U8, U16,
    U32, U64, VideoFate,
};
use crate::rows::{DistributionRow, FrameRow, HopRow, PacketRow, SenderRow, SeriesRow, TxopRow};

/// A row that can be written to and read from a Parquet file. Implemented by the rows of this crate only.
pub trait Row: Copy + Send + sealed::Columns + 'static {}

pub(crate) mod sealed {
    use super::{ColumnBuffer, ColumnSpec, Cursor};

    pub trait Columns: Sized {
        /// Name of the table; its file is `<name>.parquet`.
        const TABLE: &'static str;
        /// Meaning of one row.
        const MEANING: &'static str;
        #[doc(hidden)]
        #[allow(private_interfaces)]
        const COLUMNS: &'static [ColumnSpec];
        #[doc(hidden)]
        #[allow(private_interfaces)]
        fn spread(rows: &[Self], columns: &mut [ColumnBuffer]);
        #[doc(hidden)]
        #[allow(private_interfaces)]
        fn gather(columns: &mut [ColumnBuffer], cursors: &mut [Cursor]) -> Option<Self>;
    }
}

macro_rules! table {
    ($row:ident, $table:literal, $meaning:literal, [$($field:ident: $format:ident = $name:literal, $unit:literal, $column:literal;)*]) => {
        impl Row for $row {}
        #[allow(private_interfaces)]
        impl sealed::Columns for $row {
            const TABLE: &'static str = $table;
            const MEANING: &'static str = $meaning;
            const COLUMNS: &'static [ColumnSpec] = &[$(ColumnSpec {
                name: $name,
                unit: $unit,
                meaning: $column,
                storage: $format::STORAGE,
            },)*];

            fn spread(rows: &[Self], columns: &mut [ColumnBuffer]) {
                let mut columns = columns.iter_mut();
                $(if let Some(column) = columns.next() {
                    $format::put(rows.iter().map(|row| row.$field), column);
                })*
            }

            fn gather(columns: &mut [ColumnBuffer], cursors: &mut [Cursor]) -> Option<Self> {
                let mut cells = columns.iter_mut().zip(cursors);
                Some(Self {
                    $($field: {
                        let (column, cursor) = cells.next()?;
                        $format::get(column, cursor)?
                    },)*
                })
            }
        }
    };
}

table!(PacketRow, "packets", "a packet, written when its fate is known", [
    packet: U64 = "packet", "", "number of the packet, unique in the run";
    flow: U32 = "flow", "", "number of the flow, an index into `flows`";
    station: U16 = "station", "", "number of the station at the Wi-Fi end, an index into `stations`";
    category: U8 = "category", "", "access category: 0 background, 1 best effort, 2 video, 3 voice";
    size: Bytes = "size_bytes", "B", "size of the IP packet";
    sent: Time = "sent_ns", "ns", "given to the network by the source";
    enqueued: MaybeTime = "enqueued_ns", "ns", "entered the queues of the Wi-Fi transmitter";
    contending: MaybeTime = "contending_ns", "ns", "the aggregate that first carried it began to contend";
    first_tx: MaybeTime = "first_tx_ns", "ns", "its first transmission began";
    last_tx: MaybeTime = "last_tx_ns", "ns", "its last transmission began";
    received: MaybeTime = "received_ns", "ns", "its last transmission ended at the receiver";
    delivered: MaybeTime = "delivered_ns", "ns", "the reordering buffer let it go";
    arrived: MaybeTime = "arrived_ns", "ns", "arrived at its destination";
    completed: MaybeTime = "completed_ns", "ns", "the transmitter was done with it: acknowledged, or dropped";
    fate: PacketFate = "fate", "", "what became of it, an index into `fates`";
    tries: U8 = "tries", "", "number of transmissions";
    txop: U64 = "txop", "", "transmission opportunity of its last try, 0 if never sent";
]);

table!(HopRow, "hops", "a hop of a packet that ended at a relay", [
    packet: U64 = "packet", "", "number of the packet";
    transmitter: U16 = "transmitter", "", "who sent, an index into `transmitters`";
    receiver: U16 = "receiver", "", "the relay, an index into `transmitters`";
    enqueued: Time = "enqueued_ns", "ns", "entered the queues of the transmitter";
    contending: Time = "contending_ns", "ns", "the aggregate that first carried it on this hop began to contend";
    first_tx: Time = "first_tx_ns", "ns", "its first transmission on this hop began";
    last_tx: Time = "last_tx_ns", "ns", "its last transmission on this hop began";
    received: Time = "received_ns", "ns", "that transmission ended at the relay";
    delivered: Time = "delivered_ns", "ns", "the relay's reordering buffer let it go";
    completed: Time = "completed_ns", "ns", "the transmitter got the acknowledgement";
    tries: U8 = "tries", "", "number of transmissions on this hop";
    txop: U64 = "txop", "", "transmission opportunity of the last try";
]);

table!(SenderRow, "senders", "state of a sender after an acknowledgement or a report", [
    flow: U32 = "flow", "", "number of the flow, an index into `flows`";
    at: Time = "at_ns", "ns", "the acknowledgement or the report arrived";
    rtt: MaybeLength = "rtt_ns", "ns", "TCP: the round trip that it measured";
    smoothed_rtt: MaybeLength = "smoothed_rtt_ns", "ns", "the smoothed round trip";
    cwnd: MaybeBytes = "cwnd_bytes", "B", "TCP: congestion window";
    ssthresh: MaybeBytes = "ssthresh_bytes", "B", "TCP: slow-start threshold, null before the first loss";
    in_flight: MaybeU32 = "in_flight", "", "TCP: segments believed to be in the network";
    rate: MaybeKbps = "rate_kbps", "kb/s", "pacing rate of TCP where it paces, target rate of rtc";
]);

table!(TxopRow, "txops", "a transmission opportunity, successful or not", [
    txop: U64 = "txop", "", "number of the transmission opportunity, from 1";
    transmitter: U16 = "transmitter", "", "who sent, an index into `transmitters`";
    receiver: U16 = "receiver", "", "for whom, an index into `transmitters`";
    category: U8 = "category", "", "access category: 0 background, 1 best effort, 2 video, 3 voice";
    kind: Kind = "kind", "", "0 data, 1 data of a neighbour network, 2 management";
    contending: Time = "contending_ns", "ns", "the transmitter began to contend";
    start: Time = "start_ns", "ns", "first symbol of RTS or data";
    end: Time = "end_ns", "ns", "last symbol of the acknowledgement, or its time-out";
    rate: Kbps = "rate_kbps", "kb/s", "PHY rate of the data";
    mpdus: U16 = "mpdus", "", "number of MPDUs";
    acked: U16 = "acked", "", "number of acknowledged MPDUs";
    size: Bytes = "size_bytes", "B", "size of the PSDU";
    collided: Flag = "collided", "", "whether another transmission overlapped";
]);

table!(FrameRow, "frames", "a video frame", [
    flow: U32 = "flow", "", "number of the flow, an index into `flows`";
    frame: U64 = "frame", "", "number of the frame within its flow";
    created: Time = "created_ns", "ns", "created by the encoder";
    first_packet: MaybeTime = "first_packet_ns", "ns", "its first packet was sent";
    delivered: MaybeTime = "delivered_ns", "ns", "its last byte arrived";
    size: Bytes = "size_bytes", "B", "size of the frame";
    fate: VideoFate = "fate", "", "0 delivered, 1 late, 2 skipped, 3 lost, 4 unfinished";
    complete: MaybeTime = "complete_ns", "ns", "rtc: all its packets were there";
    key: MaybeFlag = "key", "", "rtc: whether it can be decoded without those before it";
    packets: MaybeU32 = "packets", "", "rtc: number of its media packets";
    lost: MaybeU32 = "lost", "", "rtc: of them, lost when sent for the first time";
    recovered: MaybeU32 = "recovered", "", "rtc: of them, recovered by forward error correction";
    retransmitted: MaybeU32 = "retransmitted", "", "rtc: of them, brought by a retransmission";
    completed_by: MaybeWay = "completed_by", "", "rtc: its last packet came 0 at first, 1 recovered, 2 retransmitted";
]);

table!(SeriesRow, "series", "one flow in one window of time", [
    window_start: Time = "window_start_ns", "ns", "beginning of the window";
    flow: U32 = "flow", "", "number of the flow, an index into `flows`";
    offered_mbps: Real = "offered_mbps", "Mb/s", "payload sent by the source in the window";
    goodput_mbps: Real = "goodput_mbps", "Mb/s", "payload that arrived in the window";
    latency_p50_ms: MaybeReal = "latency_p50_ms", "ms", "median latency of packets that arrived in the window";
    latency_p95_ms: MaybeReal = "latency_p95_ms", "ms", "95th percentile of the same";
    latency_max_ms: MaybeReal = "latency_max_ms", "ms", "largest of the same";
    dropped: U64 = "dropped", "", "packets dropped in the window";
    queue_packets: U64 = "queue_packets", "", "packets of the flow in the transmitter's queues at its end";
    phy_rate_mbps: MaybeReal = "phy_rate_mbps", "Mb/s", "mean PHY rate of the flow's station in the window";
    airtime_share: Real = "airtime_share", "", "share of the window taken by transmissions to and from the station";
]);

table!(DistributionRow, "distributions", "a bucket of a latency distribution", [
    flow: U32 = "flow", "", "number of the flow, an index into `flows`";
    component: Part = "component", "", "which distribution, an index into `components`";
    low: Length = "low_ns", "ns", "shortest span that falls in the bucket";
    high: Length = "high_ns", "ns", "longest span that falls in the bucket";
    count: U64 = "count", "", "number of samples in the bucket";
    mean: Length = "mean_ns", "ns", "exact mean of the whole distribution, the same in all its rows";
]);

/// The Parquet schema of a table.
pub(crate) fn schema<R: Row>() -> Result<TypePtr, ParquetError> {
    let fields =
        R::COLUMNS.iter().map(|column| column_type(column).map(Arc::new)).collect::<Result<_, _>>()?;
    Type::group_type_builder("schema").with_fields(fields).build().map(Arc::new)
}

fn column_type(column: &ColumnSpec) -> Result<Type, ParquetError> {
    let storage = column.storage;
    let builder =
        Type::primitive_type_builder(column.name, storage.physical).with_repetition(storage.repetition);
    match storage.unsigned_bits {
        None => builder.build(),
        Some(bits) => builder
            .with_logical_type(Some(LogicalType::integer(bits, false)))
            .with_converted_type(match bits {
                8 => ConvertedType::UINT_8,
                16 => ConvertedType::UINT_16,
                _ => ConvertedType::UINT_32,
            })
            .build(),
    }
}

/// Whether a column is nullable.
pub(crate) fn nullable(column: &ColumnSpec) -> bool {
    column.storage.repetition == Repetition::OPTIONAL
}
