//! A file that a thread of its own writes, for a caller whose clock does not wait for a disk.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use crate::error::RunsError;
use crate::output::Output;

/// Bytes that are passed to the thread at once.
const PIECE: usize = 64 << 10;
/// Pieces that may wait for the disk.
const WAITING: usize = 512;

/// A writer of whole records. Those that a slow disk cannot take are left out, and counted.
pub(super) struct Background {
    piece: Vec<u8>,
    records: u64,
    left_out: u64,
    sender: SyncSender<Vec<u8>>,
    thread: JoinHandle<Result<(), RunsError>>,
}

impl Background {
    /// Starts the thread that writes `output`, whose place is `path`.
    pub(super) fn start(mut output: Output, path: PathBuf) -> Result<Self, RunsError> {
        let (sender, pieces) = sync_channel::<Vec<u8>>(WAITING);
        let place = path.clone();
        let write = move || {
            for piece in pieces {
                output.write_all(&piece).map_err(RunsError::io("write", &place))?;
            }
            output.finish()
        };
        let thread = std::thread::Builder::new().name("capture".to_owned()).spawn(write);
        let thread = thread.map_err(RunsError::io("start the thread for", &path))?;
        Ok(Self { piece: Vec::with_capacity(PIECE + 4096), records: 0, left_out: 0, sender, thread })
    }

    /// Completes the file; the number of records that are not in it.
    pub(super) fn finish(mut self) -> Result<u64, RunsError> {
        // The disk has all the time of the world now.
        let _ = self.sender.send(std::mem::take(&mut self.piece));
        let Self { sender, thread, left_out, .. } = self;
        drop(sender);
        let written =
            thread.join().unwrap_or_else(|_| Err(RunsError::Defect("a capture broke off".to_owned())));
        written.map(|()| left_out)
    }
}

impl Write for Background {
    /// Takes one whole record.
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(record);
        self.records += 1;
        if self.piece.len() >= PIECE {
            self.flush()?;
        }
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE + 4096));
        let records = std::mem::take(&mut self.records);
        if let Err(TrySendError::Full(_)) = self.sender.try_send(piece) {
            self.left_out += records;
        }
        Ok(())
    }
}

/// A file in which a capture of whole packets can begin.
pub struct PreparedCapture(Output, PathBuf);

impl PreparedCapture {
    /// Makes sure that a capture may be put at `path`.
    ///
    /// # Errors
    /// There is something else than an earlier capture, or the file cannot be created.
    pub fn new(path: &Path) -> Result<Self, RunsError> {
        Ok(Self(Output::begin(path, crate::output::Kind::Packets)?, path.to_owned()))
    }

    pub(super) fn start(self) -> Result<Background, RunsError> {
        Background::start(self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{Kind, packets_header};

    #[test]
    fn a_file_holds_what_was_written_and_replaces_its_like_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("air.pcap");
        let mut file = PreparedCapture::new(&path).expect("a place").start().expect("a thread");
        file.write_all(&packets_header()).expect("room");
        // More than a piece.
        for _ in 0..100 {
            file.write_all(&[7; 1500]).expect("room");
        }
        assert_eq!(file.finish().expect("a file"), 0);
        let bytes = std::fs::read(&path).expect("the file");
        assert_eq!(bytes.len(), packets_header().len() + 100 * 1500);
        std::fs::write(&path, packets_header()).expect("to write");
        drop(PreparedCapture::new(&path).expect("an earlier capture may be replaced"));
        std::fs::write(&path, "a letter").expect("to write");
        assert!(Output::begin(&path, Kind::Packets).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1, "nothing is left");
    }
}
