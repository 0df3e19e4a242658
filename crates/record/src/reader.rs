//! Reads the tables of a run, one row group at a time.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use parquet::column::reader::ColumnReader;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;

use crate::column::{Cells, ColumnBuffer, Cursor};
use crate::error::RecordError;
use crate::info::{RUN_KEY, RunInfo, SCHEMA_KEY, SCHEMA_VERSION, TABLE_KEY};
use crate::rows::{HopRow, PacketRow};
use crate::table::{self, Row};

/// An iterator over the rows of a table in the order of the file. Ends after the first error.
pub struct TableReader<R: Row> {
    path: PathBuf,
    file: SerializedFileReader<File>,
    info: RunInfo,
    next_group: usize,
    columns: Vec<ColumnBuffer>,
    cursors: Vec<Cursor>,
    rows_left: usize,
    row: std::marker::PhantomData<R>,
}

impl<R: Row> TableReader<R> {
    /// Opens a table.
    ///
    /// # Errors
    /// If the file cannot be opened, is not a Parquet file, or is not this table in this version.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let file = File::open(path).map_err(RecordError::io("open", path))?;
        let file = guarded(path, || SerializedFileReader::new(file))?;
        let info = check::<R>(path, &file)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            info,
            next_group: 0,
            columns: R::COLUMNS.iter().map(|column| ColumnBuffer::new(column.storage)).collect(),
            cursors: vec![Cursor::default(); R::COLUMNS.len()],
            rows_left: 0,
            row: std::marker::PhantomData,
        })
    }

    /// The run that the table belongs to.
    #[must_use]
    pub const fn info(&self) -> &RunInfo {
        &self.info
    }

    /// Number of rows, from the file's metadata.
    #[must_use]
    pub fn len(&self) -> u64 {
        u64::try_from(self.file.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// Whether the table has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads the next row group; `false` at the end.
    fn read_group(&mut self) -> Result<bool, RecordError> {
        if self.next_group >= self.file.num_row_groups() {
            return Ok(false);
        }
        let group = self.next_group;
        self.next_group += 1;
        let (file, columns) = (&self.file, &mut self.columns);
        let rows = guarded(&self.path, || {
            let reader = file.get_row_group(group)?;
            let rows = usize::try_from(reader.metadata().num_rows())
                .map_err(|_| ParquetError::General("a row group has a negative number of rows".to_owned()))?;
            for (index, buffer) in columns.iter_mut().enumerate() {
                let nullable = R::COLUMNS.get(index).is_some_and(table::nullable);
                buffer.clear();
                read_column(reader.get_column_reader(index)?, rows, nullable, buffer)?;
            }
            Ok(rows)
        })?;
        self.cursors.fill(Cursor::default());
        self.rows_left = rows;
        Ok(true)
    }

    fn next_row(&mut self) -> Result<Option<R>, RecordError> {
        while self.rows_left == 0 {
            if !self.read_group()? {
                return Ok(None);
            }
        }
        self.rows_left -= 1;
        match R::gather(&mut self.columns, &mut self.cursors) {
            Some(row) => Ok(Some(row)),
            None => {
                Err(RecordError::damaged(&self.path, "a row has a value that this version does not know"))
            }
        }
    }

    fn end(&mut self) {
        self.rows_left = 0;
        self.next_group = usize::MAX;
    }
}

impl<R: Row> Iterator for TableReader<R> {
    type Item = Result<R, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.next_row();
        if row.is_err() {
            self.end();
        }
        row.transpose()
    }
}

/// Finds one packet in `packets.parquet`, and reads only the row groups that may contain it.
///
/// # Errors
/// If the file cannot be read or is not a table of packets.
pub fn find_packet(path: &Path, packet: u64) -> Result<Option<PacketRow>, RecordError> {
    let mut found = None;
    search(path, packet, |row: PacketRow| {
        found = (row.packet == packet).then_some(row);
        found.is_none()
    })?;
    Ok(found)
}

/// Finds the hops of one packet in `hops.parquet`, in order, and reads only the row groups that may contain them.
///
/// # Errors
/// If the file cannot be read or is not a table of hops.
pub fn find_hops(path: &Path, packet: u64) -> Result<Vec<HopRow>, RecordError> {
    let mut found = Vec::new();
    search(path, packet, |row: HopRow| {
        if row.packet == packet {
            found.push(row);
        }
        true
    })?;
    Ok(found)
}

/// Passes the rows of all row groups whose first column may contain `key` to `look`, until it returns `false`.
fn search<R: Row>(path: &Path, key: u64, mut look: impl FnMut(R) -> bool) -> Result<(), RecordError> {
    let mut reader = TableReader::<R>::open(path)?;
    let wanted = key.cast_signed();
    for group in 0..reader.file.num_row_groups() {
        if !may_hold(reader.file.metadata().row_group(group), wanted) {
            continue;
        }
        reader.next_group = group;
        reader.read_group()?;
        while reader.rows_left > 0 {
            if let Some(row) = reader.next_row()?
                && !look(row)
            {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Whether the first column of a row group may contain a key, by its statistics.
fn may_hold(group: &RowGroupMetaData, key: i64) -> bool {
    match group.columns().first().and_then(|column| column.statistics()) {
        Some(Statistics::Int64(range)) => {
            range.min_opt().is_none_or(|min| *min <= key) && range.max_opt().is_none_or(|max| *max >= key)
        }
        _ => true,
    }
}

fn check<R: Row>(path: &Path, file: &SerializedFileReader<File>) -> Result<RunInfo, RecordError> {
    let foreign = |reason: String| RecordError::Foreign { path: path.to_owned(), table: R::TABLE, reason };
    let metadata = file.metadata().file_metadata();
    let value = |key: &str| {
        let pairs = metadata.key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.as_deref())
    };
    match value(TABLE_KEY) {
        None => return Err(foreign("its metadata do not name a table of Airbound".to_owned())),
        Some(found) if found != R::TABLE => return Err(foreign(format!("it holds the table {found}"))),
        Some(_) => {}
    }
    let version = value(SCHEMA_KEY).unwrap_or("none");
    if version != SCHEMA_VERSION.to_string() {
        return Err(foreign(format!("its schema version is {version}, this program reads {SCHEMA_VERSION}")));
    }
    let found = metadata.schema_descr();
    if found.num_columns() != R::COLUMNS.len() {
        let wanted = R::COLUMNS.len();
        return Err(foreign(format!("it has {} columns instead of {wanted}", found.num_columns())));
    }
    for (column, wanted) in found.columns().iter().zip(R::COLUMNS) {
        let levels = i16::from(table::nullable(wanted));
        if column.name() != wanted.name
            || column.physical_type() != wanted.storage.physical
            || column.max_def_level() != levels
            || column.max_rep_level() != 0
        {
            return Err(foreign(format!(
                "its column {} is not the {} of this version",
                column.name(),
                wanted.name
            )));
        }
    }
    let run = value(RUN_KEY).ok_or_else(|| foreign("its metadata do not describe the run".to_owned()))?;
    serde_json::from_str(run)
        .map_err(|error| foreign(format!("its description of the run is invalid: {error}")))
}

/// Converts panics of the Parquet decoder, which occur with damaged files, to errors.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, RecordError> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(RecordError::damaged(path, error)),
        Err(_) => Err(RecordError::damaged(path, "its contents contradict each other")),
    }
}

fn read_column(
    reader: ColumnReader,
    rows: usize,
    nullable: bool,
    buffer: &mut ColumnBuffer,
) -> Result<(), ParquetError> {
    macro_rules! read {
        ($reader:expr, $cells:expr) => {{
            let (mut reader, Cells { values, levels }) = ($reader, $cells);
            let mut read = 0;
            while read < rows {
                let (records, _, _) =
                    reader.read_records(rows - read, nullable.then_some(&mut *levels), None, values)?;
                if records == 0 {
                    return Err(ParquetError::EOF(format!("a column ends after {read} of {rows} rows")));
                }
                read += records;
            }
            Ok(())
        }};
    }
    match (reader, buffer) {
        (ColumnReader::BoolColumnReader(reader), ColumnBuffer::Bool(cells)) => read!(reader, cells),
        (ColumnReader::Int32ColumnReader(reader), ColumnBuffer::Int(cells)) => read!(reader, cells),
        (ColumnReader::Int64ColumnReader(reader), ColumnBuffer::Long(cells)) => read!(reader, cells),
        (ColumnReader::DoubleColumnReader(reader), ColumnBuffer::Double(cells)) => read!(reader, cells),
        _ => Err(ParquetError::General("a column has another type than its schema says".to_owned())),
    }
}
