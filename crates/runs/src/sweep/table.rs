//! Parquet tables whose columns are known when they are written: those of a sweep depend on its grid.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use airbound_record::files;
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use crate::error::RunsError;

/// Values of a column, row by row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Values {
    Text(Vec<Option<String>>),
    Whole(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
}

/// A column with what is said of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) meaning: String,
    pub(crate) values: Values,
}

/// Key of the table's name; a file without it is not ours.
const TABLE_KEY: &str = "airbound.table";
/// Key of the version of its form.
const SCHEMA_KEY: &str = "airbound.schema";
const SCHEMA: &str = "1";

/// A table as it was read: its columns, and what is said of it.
pub(crate) struct Read {
    pub(crate) columns: Vec<Column>,
    metadata: Vec<KeyValue>,
}

impl Read {
    pub(crate) fn column(&self, name: &str) -> Option<&Values> {
        self.columns.iter().find(|column| column.name == name).map(|column| &column.values)
    }

    pub(crate) fn said(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.as_deref())
    }
}

/// Writes a table next to its place and moves it there when it is whole; the folder is made where it is missing.
pub(crate) fn write(
    path: &Path,
    table: &str,
    columns: &[Column],
    said: &[(&str, String)],
) -> Result<(), RunsError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder).map_err(RunsError::io("create the folder", folder))?;
    let partial = path.with_extension("partial");
    let file = files::create(&partial).map_err(RunsError::io("create", &partial))?;
    encode(file, table, columns, said).map_err(|error| unwritten(&partial, error))?;
    std::fs::rename(&partial, path).map_err(RunsError::io("move", &partial))
}

/// Removes a file that could not be encoded: cut off it helps nobody.
fn unwritten(partial: &Path, error: ParquetError) -> RunsError {
    let _ = std::fs::remove_file(partial);
    let reason = match error {
        ParquetError::External(cause) => cause.to_string(),
        other => other.to_string(),
    };
    RunsError::Unwritten { path: partial.to_owned(), reason }
}

fn encode(file: File, table: &str, columns: &[Column], said: &[(&str, String)]) -> Result<(), ParquetError> {
    let fields = columns.iter().map(|column| field(column).map(Arc::new)).collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("row").with_fields(fields).build()?;
    let described: serde_json::Value = columns
        .iter()
        .map(|column| {
            serde_json::json!({ "name": column.name, "unit": column.unit, "meaning": column.meaning })
        })
        .collect();
    let pair = |key: &str, value: String| KeyValue { key: key.to_owned(), value: Some(value) };
    let mut metadata = vec![
        pair(TABLE_KEY, table.to_owned()),
        pair(SCHEMA_KEY, SCHEMA.to_owned()),
        pair("airbound.version", env!("CARGO_PKG_VERSION").to_owned()),
        pair("airbound.columns", described.to_string()),
    ];
    metadata.extend(said.iter().map(|(key, value)| pair(key, value.clone())));
    let properties = WriterProperties::builder()
        .set_created_by(format!("airbound {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(metadata))
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .build();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in columns {
        if let Some(mut writer) = group.next_column()? {
            match &column.values {
                Values::Text(values) => {
                    let bytes = |text: &String| ByteArray::from(text.as_str());
                    put::<ByteArrayType>(&mut writer, values.iter().map(|text| text.as_ref().map(bytes)))?;
                }
                Values::Whole(values) => put::<Int64Type>(&mut writer, values.iter().copied())?,
                Values::Real(values) => put::<DoubleType>(&mut writer, values.iter().copied())?,
            }
            writer.close()?;
        }
    }
    group.close()?;
    writer.close()?.file_metadata().num_rows();
    Ok(())
}

fn put<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let mut levels = Vec::new();
    let mut present = Vec::new();
    for value in values {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    writer.typed::<T>().write_batch(&present, Some(&levels), None)?;
    Ok(())
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, text) = match column.values {
        Values::Text(_) => (Physical::BYTE_ARRAY, true),
        Values::Whole(_) => (Physical::INT64, false),
        Values::Real(_) => (Physical::DOUBLE, false),
    };
    let mut builder =
        Type::primitive_type_builder(&column.name, physical).with_repetition(Repetition::OPTIONAL);
    if text {
        builder =
            builder.with_logical_type(Some(LogicalType::String)).with_converted_type(ConvertedType::UTF8);
    }
    builder.build()
}

/// Reads a table of that name.
pub(crate) fn read(path: &Path, table: &str) -> Result<Read, RunsError> {
    let file = File::open(path).map_err(RunsError::io("open", path))?;
    let damaged = |reason: String| RunsError::Table { path: path.to_owned(), reason };
    // The Parquet decoder is not written for damaged files and may panic on them.
    let read = catch_unwind(AssertUnwindSafe(|| decode(file)));
    let read = match read {
        Ok(Ok(read)) => read,
        Ok(Err(error)) => return Err(damaged(error.to_string())),
        Err(_) => return Err(damaged("its contents contradict each other".to_owned())),
    };
    match (read.said(TABLE_KEY), read.said(SCHEMA_KEY)) {
        (Some(found), Some(SCHEMA)) if found == table => Ok(read),
        (Some(found), version) if found == table => {
            let version = version.unwrap_or("none");
            Err(damaged(format!("its form has version {version}, this program reads {SCHEMA}")))
        }
        _ => Err(damaged(format!("it is no table \"{table}\" of airbound"))),
    }
}

/// Returns the metadata value of a table under a key, from its footer alone; `None` without it or under another schema version.
pub(crate) fn said(path: &Path, table: &str, key: &str) -> Result<Option<String>, RunsError> {
    let file = File::open(path).map_err(RunsError::io("open", path))?;
    let damaged = |reason: String| RunsError::Table { path: path.to_owned(), reason };
    let read = catch_unwind(AssertUnwindSafe(|| SerializedFileReader::new(file)));
    let reader = match read {
        Ok(Ok(reader)) => reader,
        Ok(Err(error)) => return Err(damaged(error.to_string())),
        Err(_) => return Err(damaged("its contents contradict each other".to_owned())),
    };
    let pairs = reader.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
    let read = Read { columns: Vec::new(), metadata: pairs };
    if read.said(TABLE_KEY) != Some(table) {
        return Err(damaged(format!("it is no table \"{table}\" of airbound")));
    }
    Ok(read.said(key).filter(|_| read.said(SCHEMA_KEY) == Some(SCHEMA)).map(str::to_owned))
}

fn decode(file: File) -> Result<Read, ParquetError> {
    let reader = SerializedFileReader::new(file)?;
    let metadata = reader.metadata().file_metadata();
    let pairs = metadata.key_value_metadata().cloned().unwrap_or_default();
    let unknown = |what: &str| ParquetError::General(format!("a column is {what}"));
    let mut columns = Vec::new();
    for column in metadata.schema_descr().columns() {
        if column.max_rep_level() != 0 || column.max_def_level() != 1 {
            return Err(unknown("nested"));
        }
        let values = match column.physical_type() {
            Physical::BYTE_ARRAY => Values::Text(Vec::new()),
            Physical::INT64 => Values::Whole(Vec::new()),
            Physical::DOUBLE => Values::Real(Vec::new()),
            _ => return Err(unknown("of a type that no sweep writes")),
        };
        let name = column.name().to_owned();
        columns.push(Column { name, unit: String::new(), meaning: String::new(), values });
    }
    for number in 0..reader.num_row_groups() {
        let group = reader.get_row_group(number)?;
        let rows = usize::try_from(group.metadata().num_rows())
            .map_err(|_| ParquetError::General("a row group has a negative number of rows".to_owned()))?;
        for (index, column) in columns.iter_mut().enumerate() {
            match (group.get_column_reader(index)?, &mut column.values) {
                (ColumnReader::ByteArrayColumnReader(mut reader), Values::Text(values)) => {
                    let mut bytes: Vec<ByteArray> = Vec::new();
                    let levels = get(rows, &mut bytes, |left, bytes, levels| {
                        reader.read_records(left, Some(levels), None, bytes)
                    })?;
                    let texts: Result<Vec<String>, ParquetError> =
                        bytes.iter().map(|bytes| bytes.as_utf8().map(str::to_owned)).collect();
                    values.extend(spread(&levels, texts?));
                }
                (ColumnReader::Int64ColumnReader(mut reader), Values::Whole(values)) => {
                    let mut numbers = Vec::new();
                    let levels = get(rows, &mut numbers, |left, numbers, levels| {
                        reader.read_records(left, Some(levels), None, numbers)
                    })?;
                    values.extend(spread(&levels, numbers));
                }
                (ColumnReader::DoubleColumnReader(mut reader), Values::Real(values)) => {
                    let mut numbers = Vec::new();
                    let levels = get(rows, &mut numbers, |left, numbers, levels| {
                        reader.read_records(left, Some(levels), None, numbers)
                    })?;
                    values.extend(spread(&levels, numbers));
                }
                _ => return Err(unknown("of another type than its schema says")),
            }
        }
    }
    Ok(Read { columns, metadata: pairs })
}

/// Reads so many rows of a column; the levels tell which of them have a value.
fn get<T>(
    rows: usize,
    values: &mut Vec<T>,
    mut read: impl FnMut(usize, &mut Vec<T>, &mut Vec<i16>) -> Result<(usize, usize, usize), ParquetError>,
) -> Result<Vec<i16>, ParquetError> {
    let mut levels = Vec::new();
    let mut done = 0;
    while done < rows {
        let (records, _, _) = read(rows - done, values, &mut levels)?;
        if records == 0 {
            return Err(ParquetError::EOF(format!("a column ends after {done} of {rows} rows")));
        }
        done += records;
    }
    Ok(levels)
}

fn spread<T>(levels: &[i16], values: Vec<T>) -> Vec<Option<T>> {
    let mut values = values.into_iter();
    levels.iter().map(|level| if *level > 0 { values.next() } else { None }).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::{Column, Values, encode, read, unwritten, write};

    fn columns() -> Vec<Column> {
        let column = |name: &str, values| Column {
            name: name.to_owned(),
            unit: "ms".to_owned(),
            meaning: "something".to_owned(),
            values,
        };
        vec![
            column("flow.vr.rate", Values::Text(vec![Some("a".to_owned()), None, Some("ä%".to_owned())])),
            column("seed", Values::Whole(vec![Some(i64::MAX), Some(0), None])),
            column("p95", Values::Real(vec![None, None, Some(0.1)])),
        ]
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_leaves_no_part_of_a_table() {
        let folder = tempfile::tempdir().expect("a folder");
        let partial = folder.path().join("t.partial");
        std::fs::write(&partial, "PAR1").expect("written");
        let full = File::options().write(true).open("/dev/full").expect("a device");
        let error = encode(full, "sweep", &columns(), &[]).expect_err("full");
        let sentence = unwritten(&partial, error).to_string();
        assert!(sentence.contains("t.partial: No space left on device"), "{sentence}");
        assert!(!partial.exists() && !sentence.contains("remove it"), "{sentence}");
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a/b/t.parquet");
        write(&path, "sweep", &columns(), &[("airbound.more", "x".to_owned())]).expect("written");
        let found = read(&path, "sweep").expect("read");
        for (found, wanted) in found.columns.iter().zip(columns()) {
            assert_eq!((&found.name, &found.values), (&wanted.name, &wanted.values));
        }
        assert_eq!(found.said("airbound.more"), Some("x"));
        assert!(read(&path, "points").is_err());
        assert_eq!(std::fs::read_dir(folder.path().join("a/b")).expect("listed").count(), 1);
    }

    #[test]
    fn damaged_tables_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.parquet");
        write(&path, "sweep", &columns(), &[]).expect("written");
        let whole = std::fs::read(&path).expect("read");
        bolero::check!().with_type::<(u16, u8, u16)>().with_iterations(1500).for_each(|(at, bits, end)| {
            let mut bytes = whole.clone();
            let place = usize::from(*at) % bytes.len();
            bytes[place] ^= bits;
            bytes.truncate(bytes.len() - usize::from(*end) % 8 * 7);
            std::fs::write(&path, &bytes).expect("written");
            // Read or refused, and never a panic.
            let _ = read(&path, "sweep");
        });
    }
}
