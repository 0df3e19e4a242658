//! Takes the rows during a run, and writes the run's folder.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use crate::encoder::TableEncoder;
use crate::error::RecordError;
use crate::folder::RunFolder;
use crate::info::RunInfo;
use crate::lock::FolderLock;
use crate::rows::{DistributionRow, FrameRow, HopRow, PacketRow, SenderRow, SeriesRow, TxopRow};
use crate::summary::{Performance, Summary};
use crate::table::Row;

/// Rows per batch to the encoder: few enough for the cache, enough to make the transfer cheap.
const BATCH_ROWS: usize = 2048;
/// Limit of batches queued for the encoder, above which the simulation waits.
const WAITING_BATCHES: usize = 8;

/// The tables of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tables {
    /// `packets.parquet`.
    pub packets: bool,
    /// `hops.parquet`, of relayed packets.
    pub hops: bool,
    /// `senders.parquet`, of TCP and real-time video.
    pub senders: bool,
    /// `txops.parquet`.
    pub txops: bool,
    /// `frames.parquet`.
    pub frames: bool,
    /// `series.parquet`.
    pub series: bool,
    /// `distributions.parquet`.
    pub distributions: bool,
}

impl Tables {
    /// All tables.
    pub const ALL: Self = Self {
        packets: true,
        hops: true,
        senders: true,
        txops: true,
        frames: true,
        series: true,
        distributions: true,
    };
    /// The tables of reports, whose size does not depend on the number of packets.
    pub const SMALL: Self = Self { packets: false, hops: false, senders: false, txops: false, ..Self::ALL };
}

/// The thread that encodes the tables, with the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// The thread that pushes the rows.
    Inline,
    /// A thread of its own.
    Thread,
    /// A thread of its own, which writes small row groups: a run of hours takes no more memory than one of minutes. Other bytes, same rows.
    Steady,
}

impl Encoding {
    /// Rows of a row group.
    const fn group_rows(self) -> usize {
        match self {
            // Enough for small metadata, few enough for columns within 20 MB.
            Self::Inline | Self::Thread => 131_072,
            // A minute of a lively run; about 1 MB.
            Self::Steady => 8192,
        }
    }
}

/// Takes the rows of one run. Without [`Recorder::finish`] it leaves no file.
///
/// Pushing a row never fails: the first error stops the recording and is returned by `finish` ([`Recorder::failed`] tells whether one
/// occurred).
pub struct Recorder {
    folder: RunFolder,
    tables: Tables,
    packets: Vec<PacketRow>,
    hops: Vec<HopRow>,
    senders: Vec<SenderRow>,
    txops: Vec<TxopRow>,
    frames: Vec<FrameRow>,
    series: Vec<SeriesRow>,
    distributions: Vec<DistributionRow>,
    sink: Sink,
    error: Option<RecordError>,
    /// Held as long as files of the run are unfinished.
    _lock: FolderLock,
}

enum Sink {
    Inline(Box<Encoders>),
    Thread {
        batches: SyncSender<Batch>,
        emptied: Receiver<Batch>,
        thread: JoinHandle<Result<(), RecordError>>,
    },
    Closed,
}

/// A batch of rows for the encoder.
enum Batch {
    Packets(Vec<PacketRow>),
    Hops(Vec<HopRow>),
    Senders(Vec<SenderRow>),
    Txops(Vec<TxopRow>),
    Frames(Vec<FrameRow>),
    Series(Vec<SeriesRow>),
    Distributions(Vec<DistributionRow>),
    Info(Box<RunInfo>),
}

impl Batch {
    /// The emptied buffer of an encoded batch of packets or transmission opportunities, for reuse.
    fn emptied(self) -> Option<Self> {
        match self {
            Self::Packets(mut rows) => {
                rows.clear();
                Some(Self::Packets(rows))
            }
            Self::Txops(mut rows) => {
                rows.clear();
                Some(Self::Txops(rows))
            }
            _ => None,
        }
    }
}

struct Encoders {
    packets: Option<TableEncoder<PacketRow>>,
    hops: Option<TableEncoder<HopRow>>,
    senders: Option<TableEncoder<SenderRow>>,
    txops: Option<TableEncoder<TxopRow>>,
    frames: Option<TableEncoder<FrameRow>>,
    series: Option<TableEncoder<SeriesRow>>,
    distributions: Option<TableEncoder<DistributionRow>>,
}

impl Encoders {
    fn create(
        folder: &RunFolder,
        info: &RunInfo,
        tables: Tables,
        group_rows: usize,
    ) -> Result<Self, RecordError> {
        /// Folder, run, and rows of a row group.
        type Place<'a> = (&'a RunFolder, &'a RunInfo, usize);
        fn table<R: Row>(wanted: bool, place: Place<'_>) -> Result<Option<TableEncoder<R>>, RecordError> {
            let (folder, info, group_rows) = place;
            let path = folder.partial(&format!("{}.parquet", R::TABLE));
            wanted.then(|| TableEncoder::create(&path, info, group_rows)).transpose()
        }
        let place = (folder, info, group_rows);
        Ok(Self {
            packets: table(tables.packets, place)?,
            hops: table(tables.hops, place)?,
            senders: table(tables.senders, place)?,
            txops: table(tables.txops, place)?,
            frames: table(tables.frames, place)?,
            series: table(tables.series, place)?,
            distributions: table(tables.distributions, place)?,
        })
    }

    fn encode(&mut self, batch: &Batch) -> Result<(), RecordError> {
        fn extend<R: Row>(table: &mut Option<TableEncoder<R>>, rows: &[R]) -> Result<(), RecordError> {
            table.as_mut().map_or(Ok(()), |table| table.extend(rows))
        }
        match batch {
            Batch::Packets(rows) => extend(&mut self.packets, rows),
            Batch::Hops(rows) => extend(&mut self.hops, rows),
            Batch::Senders(rows) => extend(&mut self.senders, rows),
            Batch::Txops(rows) => extend(&mut self.txops, rows),
            Batch::Frames(rows) => extend(&mut self.frames, rows),
            Batch::Series(rows) => extend(&mut self.series, rows),
            Batch::Distributions(rows) => extend(&mut self.distributions, rows),
            Batch::Info(info) => {
                self.set_info(info);
                Ok(())
            }
        }
    }

    fn set_info(&mut self, info: &RunInfo) {
        fn set<R: Row>(table: &mut Option<TableEncoder<R>>, info: &RunInfo) {
            if let Some(table) = table {
                table.set_info(info);
            }
        }
        set(&mut self.packets, info);
        set(&mut self.hops, info);
        set(&mut self.senders, info);
        set(&mut self.txops, info);
        set(&mut self.frames, info);
        set(&mut self.series, info);
        set(&mut self.distributions, info);
    }

    fn finish(self) -> Result<(), RecordError> {
        fn finish<R: Row>(table: Option<TableEncoder<R>>) -> Result<(), RecordError> {
            table.map_or(Ok(()), TableEncoder::finish)
        }
        finish(self.packets)?;
        finish(self.hops)?;
        finish(self.senders)?;
        finish(self.txops)?;
        finish(self.frames)?;
        finish(self.series)?;
        finish(self.distributions)
    }
}

macro_rules! push {
    ($(#[$doc:meta])* $name:ident, $row:ty, $field:ident, $batch:ident) => {
        $(#[$doc])*
        #[inline]
        pub fn $name(&mut self, row: $row) {
            if self.tables.$field {
                self.$field.push(row);
                if self.$field.len() >= BATCH_ROWS {
                    let batch = Batch::$batch(std::mem::take(&mut self.$field));
                    self.hand_over(batch);
                }
            }
        }
    };
}

impl Recorder {
    /// Creates the tables in the folder, into which nothing else records meanwhile.
    ///
    /// # Errors
    /// [`RecordError::Busy`] if another recorder has the folder, or a file cannot be created.
    pub fn create(
        folder: RunFolder,
        info: &RunInfo,
        tables: Tables,
        encoding: Encoding,
    ) -> Result<Self, RecordError> {
        let lock = FolderLock::inside(folder.path())?;
        folder.discard()?;
        let encoders = match Encoders::create(&folder, info, tables, encoding.group_rows()) {
            Ok(encoders) => encoders,
            Err(error) => {
                // The first error is returned, not one of the removal.
                let _ = folder.discard();
                return Err(error);
            }
        };
        let sink = match encoding {
            Encoding::Inline => Sink::Inline(Box::new(encoders)),
            Encoding::Thread | Encoding::Steady => spawn(encoders, &folder)?,
        };
        Ok(Self {
            folder,
            tables,
            packets: Vec::new(),
            hops: Vec::new(),
            senders: Vec::new(),
            txops: Vec::new(),
            frames: Vec::new(),
            series: Vec::new(),
            distributions: Vec::new(),
            sink,
            error: None,
            _lock: lock,
        })
    }

    push!(
        /// Adds a packet whose fate is known.
        packet, PacketRow, packets, Packets
    );
    push!(
        /// Adds a hop that ended at a relay.
        hop, HopRow, hops, Hops
    );
    push!(
        /// Adds the state of a sender.
        sender, SenderRow, senders, Senders
    );
    push!(
        /// Adds a transmission opportunity.
        txop, TxopRow, txops, Txops
    );
    push!(
        /// Adds a video frame whose fate is known.
        frame, FrameRow, frames, Frames
    );
    push!(
        /// Adds one flow's window of time.
        series, SeriesRow, series, Series
    );
    push!(
        /// Adds a bucket of a distribution.
        distribution, DistributionRow, distributions, Distributions
    );

    /// The tables that are written; rows of others are ignored.
    #[must_use]
    pub const fn tables(&self) -> Tables {
        self.tables
    }

    /// Whether an error has stopped the recording; [`Recorder::finish`] returns it.
    #[must_use]
    pub const fn failed(&self) -> bool {
        self.error.is_some()
    }

    /// Replaces the metadata of the run: names of flows that were not known at its beginning.
    pub fn set_info(&mut self, info: &RunInfo) {
        self.hand_over(Batch::Info(Box::new(info.clone())));
    }

    /// Completes the tables, writes the resolved `scenario`, the summary and the performance, and replaces an earlier run.
    ///
    /// # Errors
    /// The first error of the recording or of its completion; no file of this run remains then.
    pub fn finish(
        mut self,
        scenario: &str,
        summary: &Summary,
        performance: &Performance,
    ) -> Result<RunFolder, RecordError> {
        self.close()?;
        self.folder.write_partial("scenario.toml", scenario)?;
        self.folder.write_partial("performance.json", &performance.to_json()?)?;
        self.folder.write_partial("summary.json", &summary.to_json()?)?;
        self.folder.commit()?;
        Ok(self.folder.clone())
    }

    fn close(&mut self) -> Result<(), RecordError> {
        for batch in [
            Batch::Packets(std::mem::take(&mut self.packets)),
            Batch::Hops(std::mem::take(&mut self.hops)),
            Batch::Senders(std::mem::take(&mut self.senders)),
            Batch::Txops(std::mem::take(&mut self.txops)),
            Batch::Frames(std::mem::take(&mut self.frames)),
            Batch::Series(std::mem::take(&mut self.series)),
            Batch::Distributions(std::mem::take(&mut self.distributions)),
        ] {
            self.hand_over(batch);
        }
        let closed = match std::mem::replace(&mut self.sink, Sink::Closed) {
            Sink::Inline(encoders) => encoders.finish(),
            Sink::Thread { batches, emptied, thread } => {
                drop((batches, emptied));
                thread.join().unwrap_or_else(|_| Err(self.encoder_gone()))
            }
            Sink::Closed => Ok(()),
        };
        self.error.take().map_or(closed, Err)
    }

    #[cold]
    fn hand_over(&mut self, batch: Batch) {
        if self.error.is_some() {
            return;
        }
        let emptied = match &mut self.sink {
            Sink::Inline(encoders) => match encoders.encode(&batch) {
                Ok(()) => batch.emptied(),
                Err(error) => {
                    self.error = Some(error);
                    None
                }
            },
            Sink::Thread { batches, emptied, .. } => {
                let emptied = emptied.try_recv().ok();
                if batches.send(batch).is_err() {
                    self.stop();
                }
                emptied
            }
            Sink::Closed => None,
        };
        match emptied {
            Some(Batch::Packets(rows)) if self.packets.capacity() == 0 => self.packets = rows,
            Some(Batch::Txops(rows)) if self.txops.capacity() == 0 => self.txops = rows,
            _ => {}
        }
    }

    /// Takes the error of an encoding thread that has ended.
    fn stop(&mut self) {
        if let Sink::Thread { thread, .. } = std::mem::replace(&mut self.sink, Sink::Closed) {
            self.error = match thread.join() {
                Ok(Err(error)) => Some(error),
                _ => Some(self.encoder_gone()),
            };
        }
    }

    fn encoder_gone(&self) -> RecordError {
        RecordError::EncoderGone { path: self.folder.path().to_owned() }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Sink::Thread { batches, emptied, thread } = std::mem::replace(&mut self.sink, Sink::Closed) {
            drop((batches, emptied));
            // Its result is ignored, since its files are removed below.
            let _ = thread.join();
        }
        let _ = self.folder.discard();
    }
}

fn spawn(mut encoders: Encoders, folder: &RunFolder) -> Result<Sink, RecordError> {
    let (batches, incoming) = sync_channel::<Batch>(WAITING_BATCHES);
    let (outgoing, emptied) = sync_channel::<Batch>(WAITING_BATCHES + 2);
    let thread = std::thread::Builder::new()
        .name("record".to_owned())
        .spawn(move || {
            for batch in incoming {
                encoders.encode(&batch)?;
                if let Some(batch) = batch.emptied() {
                    // A full channel has enough buffers for reuse.
                    let _ = outgoing.try_send(batch);
                }
            }
            encoders.finish()
        })
        .map_err(RecordError::io("start the encoding thread for", folder.path()))?;
    Ok(Sink::Thread { batches, emptied, thread })
}
