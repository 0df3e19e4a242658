//! Truncated, altered and foreign files give errors, without panics and endless loops.

use crate::example::{info, packet, performance, summary};
use airbound_record::{
    Encoding, Existing, FrameRow, PacketRow, RecordError, Recorder, RunFolder, TableReader, Tables,
    find_packet,
};
use std::path::{Path, PathBuf};

fn packets(dir: &Path) -> PathBuf {
    let folder = RunFolder::create(dir, Existing::Replace).unwrap();
    let mut recorder = Recorder::create(folder, &info(), Tables::ALL, Encoding::Inline).unwrap();
    (0..2_000).for_each(|number| recorder.packet(packet(number)));
    recorder.finish("", &summary(), &performance()).unwrap().file("packets.parquet")
}

fn read(path: &Path) -> Result<Vec<PacketRow>, RecordError> {
    TableReader::<PacketRow>::open(path)?.collect()
}

#[test]
fn a_truncated_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = packets(dir.path());
    let whole = std::fs::read(&path).unwrap();
    for length in (0..whole.len()).step_by(97) {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error = read(&path).unwrap_err();
        assert!(matches!(error, RecordError::Damaged { .. }), "{length}: {error}");
        assert!(error.to_string().contains("packets.parquet is truncated or damaged"), "{error}");
        assert!(find_packet(&path, 3).is_err());
    }
}

#[test]
fn altered_bytes_never_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = packets(dir.path());
    let whole = std::fs::read(&path).unwrap();
    // The decoder's panics are caught; their messages are suppressed.
    std::panic::set_hook(Box::new(|_| {}));
    let mut refused = 0;
    for position in (0..whole.len()).step_by(37) {
        for change in [0xff, 0x01] {
            let mut bytes = whole.clone();
            bytes[position] ^= change;
            std::fs::write(&path, &bytes).unwrap();
            // An altered value may be read as another value; only termination is required.
            refused += u32::from(read(&path).is_err());
        }
    }
    let _ = std::panic::take_hook();
    assert!(refused > 0);
}

/// Arbitrary alterations at offsets from the end, where Parquet has its metadata.
#[test]
fn damaged_tables_never_panic() {
    let dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(dir.path(), Existing::Replace).unwrap();
    let mut recorder = Recorder::create(folder, &info(), Tables::ALL, Encoding::Inline).unwrap();
    (0..20).for_each(|number| recorder.packet(packet(number)));
    let path = recorder.finish("", &summary(), &performance()).unwrap().file("packets.parquet");
    let whole = std::fs::read(&path).unwrap();
    assert!(whole.len() < 1 << 16, "a position has 16 bits");
    airbound_corpus::check!((Vec<(u16, u8)>, u8), 1000, |(edits, cut)| {
        let mut bytes = whole.clone();
        let length = bytes.len();
        for (from_end, value) in edits.iter().take(16) {
            bytes[length - 1 - usize::from(*from_end) % length] = *value;
        }
        // Mostly complete: a truncated file has no footer and is refused at once.
        bytes.truncate(length - usize::from(cut.saturating_sub(240)));
        std::fs::write(&path, &bytes).unwrap();
        let _ = read(&path);
    });
}

#[test]
fn another_table_or_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = packets(dir.path());
    let error = TableReader::<FrameRow>::open(&path).map(|_| ()).unwrap_err();
    assert!(matches!(error, RecordError::Foreign { table: "frames", .. }), "{error}");
    assert!(
        error.to_string().ends_with("is not a frames file of Airbound: it holds the table packets"),
        "{error}"
    );

    let error = read(&dir.path().join("nothing.parquet")).unwrap_err();
    assert!(matches!(error, RecordError::Io { action: "open", .. }), "{error}");
    let text = dir.path().join("text.parquet");
    std::fs::write(&text, "time,snr\n0,30\n").unwrap();
    assert!(matches!(read(&text).unwrap_err(), RecordError::Damaged { .. }));
}
