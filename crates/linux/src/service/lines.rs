//! A file of lines for a service that must not wait for the disk: a thread writes, a long file makes room for another.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Lines that wait for the disk. Further ones are lost, and counted: a slow disk must not hold packets up.
const WAITING: usize = 4096;
/// Bytes of a file at which it becomes `FILE.1`, which replaces the one before.
const LARGEST: u64 = 16 << 20;

/// A writer of lines. They are written by a thread of its own, which starts with the first and ends with the writer.
pub struct LineWriter {
    writer: Writer,
    /// Lines for which there was no room.
    lost: u64,
}

/// The thread that writes.
enum Writer {
    /// Not started: a thread keeps the capabilities that its process had at its start.
    Idle(Box<dyn Write + Send>),
    Running(SyncSender<String>, JoinHandle<()>),
    Ended,
}

/// Writes lines until the journal ends. Write errors, such as of a full disk, lose a line.
fn write_lines(lines: &Receiver<String>, out: &mut (dyn Write + Send)) {
    for line in lines {
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }
}

/// A file for appending that is replaced at [`LARGEST`].
struct Rotated {
    path: PathBuf,
    file: File,
    bytes: u64,
    largest: u64,
}

impl Rotated {
    fn open(path: &Path, largest: u64) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let bytes = file.metadata()?.len();
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
        if self.bytes >= self.largest && self.file.metadata()?.is_file() {
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
        f.debug_struct("LineWriter").field("lost", &self.lost).finish_non_exhaustive()
    }
}

impl LineWriter {
    /// Opens a file for appending; `None` is standard error.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: Option<&Path>) -> io::Result<Self> {
        let Some(path) = path else { return Ok(Self::to(Box::new(io::stderr()))) };
        Ok(Self::to(Box::new(Rotated::open(path, LARGEST)?)))
    }

    /// Lines to any writer.
    #[must_use]
    pub fn to(out: Box<dyn Write + Send>) -> Self {
        Self { writer: Writer::Idle(out), lost: 0 }
    }

    /// Number of lines for which there was no room.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Writes a line that ends with a line feed.
    pub fn write(&mut self, line: String) {
        if let Writer::Idle(_) = self.writer {
            self.start();
        }
        match &self.writer {
            Writer::Running(lines, _) if lines.try_send(line).is_ok() => {}
            _ => self.lost += 1,
        }
    }

    fn start(&mut self) {
        let Writer::Idle(mut out) = std::mem::replace(&mut self.writer, Writer::Ended) else { return };
        let (sender, lines) = sync_channel(WAITING);
        let thread = thread::Builder::new().name("journal".to_owned());
        if let Ok(thread) = thread.spawn(move || write_lines(&lines, &mut *out)) {
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
    fn a_long_file_makes_room_for_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        let mut file = Rotated::open(&path, 100).expect("a file");
        for number in 0..50 {
            writeln!(file, "line {number:02}").expect("written");
        }
        let read = |name| fs::read_to_string(folder.path().join(name)).expect("a file");
        let (old, new) = (read("journal.1"), read("journal"));
        assert!(old.len() <= 108 && new.len() <= 108, "{} {}", old.len(), new.len());
        assert!(new.ends_with("line 49\n") && old.lines().count() + new.lines().count() >= 13);
    }
}
