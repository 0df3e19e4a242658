//! A file of lines for a service that must not wait for the disk: a thread writes, a long file makes room for another.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Lines that wait for the disk. Further ones are lost, and counted: a slow disk must not hold packets up.
const WAITING: usize = 4096;
/// Most bytes of a file, which then becomes `FILE.1` and replaces the one before.
const LARGEST: u64 = 16 << 20;
/// The same where files are memory, as below `/var` of a router: two radios have 1 MiB together.
const LARGEST_IN_MEMORY: u64 = 256 << 10;
/// File systems in memory (`TMPFS_MAGIC`, `RAMFS_MAGIC` of linux/magic.h).
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];

/// A writer of lines. They are written by a thread of its own, which starts with the first and ends with the writer.
pub struct LineWriter {
    writer: Writer,
    /// Lines for which there was no room, or that were not written whole.
    lost: Arc<AtomicU64>,
}

/// The thread that writes.
enum Writer {
    /// Not started: a thread keeps the capabilities that its process had at its start.
    Idle(Box<dyn Write + Send>),
    Running(SyncSender<String>, JoinHandle<()>),
    Ended,
}

/// Writes lines until the journal ends. Write errors, such as of a full disk, lose a line; what has been written of it gets an end
/// before the next.
fn write_lines(lines: &Receiver<String>, out: &mut (dyn Write + Send), lost: &AtomicU64) {
    let mut is_cut = false;
    for line in lines {
        let line = if is_cut { format!("\n{line}") } else { line };
        let (written, result) = write_as_far(out, line.as_bytes());
        if let Some(last) = line.as_bytes()[..written].last() {
            is_cut = *last != b'\n';
        }
        if result.and_then(|()| out.flush()).is_err() {
            lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes all bytes; how many are written, and the error that kept the rest from it.
fn write_as_far(out: &mut dyn Write, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut written = 0;
    while written < bytes.len() {
        match out.write(&bytes[written..]) {
            Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
            Ok(more) => written += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written, Err(error)),
        }
    }
    (written, Ok(()))
}

/// Whether a file ends within a line, as one of a program that was killed, or that met a full disk.
fn ends_within_a_line(path: &Path) -> bool {
    let mut last = [b'\n'];
    let read = |mut file: File| {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)
    };
    // What cannot be read, and what is empty, is left as it is.
    let _ = File::open(path).and_then(read);
    last != *b"\n"
}

/// Most bytes of a file, by the file system that it is on.
fn largest(path: &Path) -> u64 {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The type of the field differs between architectures; these numbers have 32 bits.
    match rustix::fs::statfs(folder) {
        Ok(found) if IN_MEMORY.contains(&(found.f_type as u32)) => LARGEST_IN_MEMORY,
        _ => LARGEST,
    }
}

/// A file for appending that is replaced before it has more than `largest` bytes.
struct Rotated {
    path: PathBuf,
    file: File,
    bytes: u64,
    largest: u64,
}

impl Rotated {
    fn open(path: &Path, largest: u64) -> io::Result<Self> {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        let found = file.metadata()?;
        if found.is_file() && ends_within_a_line(path) {
            // A disk that is full still must not keep a service from its start.
            let _ = file.write_all(b"\n");
        }
        let bytes = found.len();
        Ok(Self { path: path.to_owned(), file, bytes, largest })
    }

    /// Renames the file and begins another one.
    fn rotate(&mut self) -> io::Result<()> {
        let mut old = self.path.clone().into_os_string();
        old.push(".1");
        fs::rename(&self.path, old)?;
        *self = Self::open(&self.path, self.largest)?;
        Ok(())
    }
}

impl Write for Rotated {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // What is no file, as a pipe, has a length of 0 and is never this long; a file that cannot be renamed grows on.
        let is_full = self.bytes > 0 && self.bytes + bytes.len() as u64 > self.largest;
        if is_full && self.file.metadata()?.is_file() {
            let _ = self.rotate();
        }
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl std::fmt::Debug for LineWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineWriter").field("lost", &self.lost()).finish_non_exhaustive()
    }
}

impl LineWriter {
    /// Opens a file for appending; `None` is standard error.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: Option<&Path>) -> io::Result<Self> {
        let Some(path) = path else { return Ok(Self::to(Box::new(io::stderr()))) };
        Ok(Self::to(Box::new(Rotated::open(path, largest(path))?)))
    }

    /// Lines to any writer.
    #[must_use]
    pub fn to(out: Box<dyn Write + Send>) -> Self {
        Self { writer: Writer::Idle(out), lost: Arc::default() }
    }

    /// Number of lines for which there was no room, or that could not be written whole.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Writes a line that ends with a line feed.
    pub fn write(&mut self, line: String) {
        if let Writer::Idle(_) = self.writer {
            self.start();
        }
        match &self.writer {
            Writer::Running(lines, _) if lines.try_send(line).is_ok() => {}
            _ => {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn start(&mut self) {
        let Writer::Idle(mut out) = std::mem::replace(&mut self.writer, Writer::Ended) else { return };
        let (sender, lines) = sync_channel(WAITING);
        let thread = thread::Builder::new().name("journal".to_owned());
        let lost = Arc::clone(&self.lost);
        if let Ok(thread) = thread.spawn(move || write_lines(&lines, &mut *out, &lost)) {
            self.writer = Writer::Running(sender, thread);
        }
    }
}

impl Drop for LineWriter {
    /// Waits until all lines are written.
    fn drop(&mut self) {
        if let Writer::Running(lines, thread) = std::mem::replace(&mut self.writer, Writer::Ended) {
            drop(lines);
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_disk_that_does_not_answer_delays_no_caller() {
        struct Stuck(Receiver<()>);
        impl Write for Stuck {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let _ = self.0.recv();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (answer, stuck) = sync_channel(0);
        let mut lines = LineWriter::to(Box::new(Stuck(stuck)));
        for _ in 0..WAITING + 100 {
            lines.write("line\n".to_owned());
        }
        assert!((99..=100).contains(&lines.lost()), "{}: one is being written", lines.lost());
        drop(answer);
    }

    #[test]
    fn a_full_disk_cuts_no_line_but_its_own() {
        /// Room for so many bytes, then none for one write.
        struct Full(Arc<Mutex<Vec<u8>>>, usize);
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let taken = bytes.len().min(self.1);
                self.1 = if self.1 == 0 { usize::MAX } else { self.1 - taken };
                if taken == 0 {
                    return Err(io::ErrorKind::StorageFull.into());
                }
                self.0.lock().expect("no panic").extend_from_slice(&bytes[..taken]);
                Ok(taken)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (four, five) = ("one\ntwo\nthree\nfour\n", "one\ntwo\nth\nfour\n");
        for (room, found, lost) in [(100, four, 0), (10, five, 1), (8, "one\ntwo\nfour\n", 1)] {
            let file = Arc::default();
            let mut lines = LineWriter::to(Box::new(Full(Arc::clone(&file), room)));
            for line in ["one\n", "two\n", "three\n", "four\n"] {
                lines.write(line.to_owned());
            }
            let counted = Arc::clone(&lines.lost);
            drop(lines);
            assert_eq!(String::from_utf8(file.lock().expect("no panic").clone()).expect("text"), found);
            assert_eq!(counted.load(Ordering::Relaxed), lost, "{room}");
        }
    }

    #[test]
    fn a_line_that_was_cut_ends_before_the_next() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        for (before, after) in [("", ""), ("whole\n", "whole\n"), ("whole\nha", "whole\nha\n")] {
            fs::write(&path, before).expect("written");
            LineWriter::open(Some(&path)).expect("a file").write("next\n".to_owned());
            assert_eq!(fs::read_to_string(&path).expect("a file"), format!("{after}next\n"));
        }
    }

    #[test]
    fn a_long_file_makes_room_for_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        let mut file = Rotated::open(&path, 100).expect("a file");
        for number in 0..50 {
            writeln!(file, "line {number:02}").expect("written");
        }
        let read = |name| fs::read_to_string(folder.path().join(name)).expect("a file");
        let (old, new) = (read("journal.1"), read("journal"));
        assert!(old.len() <= 100 && new.len() <= 100, "{} {}", old.len(), new.len());
        assert!(new.ends_with("line 49\n") && old.lines().count() + new.lines().count() >= 13);
    }

    #[test]
    #[allow(clippy::print_stderr, reason = "reports what is skipped")]
    fn a_journal_in_memory_has_half_a_mebibyte_at_most() {
        let folder = tempfile::tempdir_in("/dev/shm")
            .ok()
            .filter(|folder| largest(&folder.path().join("a")) < LARGEST);
        let Some(folder) = folder else {
            eprintln!("SKIPPED: no /dev/shm in memory here");
            return;
        };
        let path = folder.path().join("journal");
        let mut file = Rotated::open(&path, largest(&path)).expect("a file");
        let line = [b'x'; 300];
        let most = (0..10_000).map(|_| {
            file.write_all(&line).expect("written");
            let bytes = |name| fs::metadata(folder.path().join(name)).map_or(0, |found| found.len());
            bytes("journal") + bytes("journal.1")
        });
        let most = most.max().unwrap_or(0);
        assert!((2 * LARGEST_IN_MEMORY - 600..=2 * LARGEST_IN_MEMORY).contains(&most), "{most}");
        assert_eq!(largest(Path::new("/proc/journal")), LARGEST, "no file system in memory");
    }
}
