//! `--pcap`: the packets of stations with their content, as a capture that Wireshark opens.
//!
//! A packet is there where a station sends it, and where a station receives it, at the time of the simulation. The file is written by a
//! thread of its own; what a slow disk cannot take is left out and counted.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use airbound_runs::RunsError;
use airbound_runs::output::{Kind, Output, packets_header};
use airbound_units::Instant;

/// Bytes that are passed to the thread at once.
const PIECE: usize = 64 << 10;
/// Pieces that may wait for the disk.
const WAITING: usize = 512;

/// A capture under way. Without [`Capture::finish`] no file remains.
pub struct Capture {
    piece: Vec<u8>,
    records: u64,
    left_out: u64,
    sender: SyncSender<Vec<u8>>,
    thread: JoinHandle<Result<(), RunsError>>,
}

/// A file in which a capture can begin.
pub struct Prepared(Output, PathBuf);

impl Prepared {
    /// Makes sure that a capture may be put at `path`.
    ///
    /// # Errors
    /// There is something else than an earlier capture, or the file cannot be created.
    pub fn new(path: &Path) -> Result<Self, RunsError> {
        Ok(Self(Output::begin(path, Kind::Packets)?, path.to_owned()))
    }

    /// Starts the thread that writes it.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn begin(self) -> Result<Capture, RunsError> {
        let Self(mut output, path) = self;
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
        Ok(Capture { piece: packets_header(), records: 0, left_out: 0, sender, thread })
    }
}

impl Capture {
    /// Adds a packet at a time of the simulation.
    pub fn add(&mut self, at: Instant, packet: &[u8]) {
        put_record(&mut self.piece, at, packet);
        self.records += 1;
        if self.piece.len() >= PIECE {
            self.pass_on();
        }
    }

    fn pass_on(&mut self) {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE + 2048));
        let records = std::mem::take(&mut self.records);
        if let Err(TrySendError::Full(_)) = self.sender.try_send(piece) {
            self.left_out += records;
        }
    }

    /// Completes the file; the number of packets that the disk could not take in time.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self) -> Result<u64, RunsError> {
        // The disk has all the time of the world now.
        let _ = self.sender.send(std::mem::take(&mut self.piece));
        let Self { sender, thread, left_out, .. } = self;
        drop(sender);
        let written =
            thread.join().unwrap_or_else(|_| Err(RunsError::Defect("a capture broke off".to_owned())));
        written.map(|()| left_out)
    }
}

/// Appends the record of a packet: seconds, nanoseconds, captured and original length, bytes.
fn put_record(to: &mut Vec<u8>, at: Instant, packet: &[u8]) {
    let (seconds, nanos) = (at.as_nanos() / 1_000_000_000, at.as_nanos() % 1_000_000_000);
    let length = packet.len() as u32;
    for field in [seconds as u32, nanos as u32, length, length] {
        to.extend(field.to_le_bytes());
    }
    to.extend(packet);
}

#[cfg(test)]
mod tests {
    use airbound_units::Span;

    use super::*;

    #[test]
    fn a_capture_holds_what_was_added_and_replaces_its_like_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("air.pcap");
        let mut capture = Prepared::new(&path).expect("a place").begin().expect("a thread");
        capture.add(Instant::ZERO + Span::from_micros(2_000_001), b"E...");
        // More than a piece.
        for _ in 0..100 {
            capture.add(Instant::ZERO + Span::from_secs(3), &[7; 1500]);
        }
        assert_eq!(capture.finish().expect("a file"), 0);
        let bytes = std::fs::read(&path).expect("the file");
        let header = packets_header();
        assert_eq!(bytes.len(), header.len() + (16 + 4) + 100 * (16 + 1500));
        let first = [2u32, 1000, 4, 4].map(u32::to_le_bytes).concat();
        assert_eq!(bytes[header.len()..][..20], [first.as_slice(), b"E..."].concat());
        drop(Prepared::new(&path).expect("an earlier capture may be replaced"));
        std::fs::write(&path, "a letter").expect("to write");
        assert!(Prepared::new(&path).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1, "nothing is left");
    }
}
