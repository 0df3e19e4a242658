//! Encodes rows to a Parquet file, one row group at a time.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, Type as Physical};
use parquet::data_type::{BoolType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::ColumnPath;

use crate::column::ColumnBuffer;
use crate::error::RecordError;
use crate::files;
use crate::info::RunInfo;
use crate::table::{self, Row};

/// Writes one table, with at most one row group in memory.
pub(crate) struct TableEncoder<R: Row> {
    path: PathBuf,
    file: SerializedFileWriter<File>,
    columns: Vec<ColumnBuffer>,
    rows: usize,
    group_rows: usize,
    info: RunInfo,
    row: std::marker::PhantomData<R>,
}

impl<R: Row> TableEncoder<R> {
    pub(crate) fn create(path: &Path, info: &RunInfo, group_rows: usize) -> Result<Self, RecordError> {
        let file = files::create(path).map_err(RecordError::io("create", path))?;
        let encode = |source| RecordError::encode(path, source);
        let schema = table::schema::<R>().map_err(encode)?;
        let file = SerializedFileWriter::new(file, schema, Arc::new(properties::<R>())).map_err(encode)?;
        let columns = R::COLUMNS.iter().map(|column| ColumnBuffer::new(column.storage)).collect();
        Ok(Self {
            path: path.to_owned(),
            file,
            columns,
            rows: 0,
            group_rows,
            info: info.clone(),
            row: std::marker::PhantomData,
        })
    }

    /// Replaces the metadata of the run.
    pub(crate) fn set_info(&mut self, info: &RunInfo) {
        self.info.clone_from(info);
    }

    /// Appends rows, and writes each full row group.
    pub(crate) fn extend(&mut self, rows: &[R]) -> Result<(), RecordError> {
        let mut rest = rows;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(self.group_rows - self.rows));
            R::spread(now, &mut self.columns);
            self.rows += now.len();
            rest = later;
            if self.rows == self.group_rows {
                self.write_group()?;
            }
        }
        Ok(())
    }

    /// Writes the last row group and the footer.
    pub(crate) fn finish(mut self) -> Result<(), RecordError> {
        self.write_group()?;
        let Self { path, mut file, info, .. } = self;
        for (key, value) in info.metadata::<R>() {
            file.append_key_value_metadata(KeyValue { key: key.to_owned(), value: Some(value) });
        }
        file.finish().map_err(|source| RecordError::encode(&path, source))?;
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), RecordError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        write_columns(&mut self.file, &mut self.columns)
            .map_err(|source| RecordError::encode(&self.path, source))
    }
}

fn write_columns(
    file: &mut SerializedFileWriter<File>,
    columns: &mut [ColumnBuffer],
) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    for column in columns {
        if let Some(mut writer) = group.next_column()? {
            write_column(&mut writer, column)?;
            writer.close()?;
        }
        column.clear();
    }
    group.close()?;
    Ok(())
}

fn write_column(writer: &mut SerializedColumnWriter<'_>, column: &ColumnBuffer) -> Result<(), ParquetError> {
    fn levels(levels: &[i16]) -> Option<&[i16]> {
        (!levels.is_empty()).then_some(levels)
    }
    match column {
        ColumnBuffer::Bool(cells) => {
            writer.typed::<BoolType>().write_batch(&cells.values, levels(&cells.levels), None)
        }
        ColumnBuffer::Int(cells) => {
            writer.typed::<Int32Type>().write_batch(&cells.values, levels(&cells.levels), None)
        }
        ColumnBuffer::Long(cells) => {
            writer.typed::<Int64Type>().write_batch(&cells.values, levels(&cells.levels), None)
        }
        ColumnBuffer::Double(cells) => {
            writer.typed::<DoubleType>().write_batch(&cells.values, levels(&cells.levels), None)
        }
    }?;
    Ok(())
}

fn properties<R: Row>() -> WriterProperties {
    // Delta encoding makes ascending timestamps small and is faster than plain encoding; Snappy then reduces constant
    // columns, at a few per cent of the time (docs/reference/file-formats.md has figures).
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("airbound {}", env!("CARGO_PKG_VERSION")))
        .set_dictionary_enabled(false)
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true);
    for (position, column) in R::COLUMNS.iter().enumerate() {
        let path = ColumnPath::from(column.name);
        if matches!(column.storage.physical, Physical::INT32 | Physical::INT64) {
            properties = properties.set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED);
        }
        // The first column is the key of its table, whose range lets a reader skip row groups.
        if position == 0 {
            properties = properties.set_column_statistics_enabled(path, EnabledStatistics::Chunk);
        }
    }
    properties.build()
}
