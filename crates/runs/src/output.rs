//! A file that a command writes where its caller says: whole or not at all, and over nothing that is not ours.
//!
//! Nothing, an empty file and an earlier output of the same kind are replaced by a rename once the new file is complete.
//! `-` is standard output; it, a FIFO and a character device are written through, since nothing in them can be lost. Anything else
//! is refused: a file of another kind, a symbolic link, a folder.

use std::ffi::OsString;
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::RunsError;

/// The path that stands for standard output.
pub const STDOUT: &str = "-";

/// Kind of an output, by which an earlier one is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A capture of a simulated run.
    Capture,
    /// A capture of an emulated run, with whole packets.
    Packets,
    /// A page of this program.
    Page,
    /// A log of the laboratory's machine.
    Log,
    /// A run in a format of another tool, which begins with these bytes.
    Export(&'static [u8]),
}

/// The first line of a log.
const LOG: &str = "airbound lab: what the machine printed\n";

/// Magic number of a classic pcap file whose times are in nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;
/// LINKTYPE_IEEE802_11_RADIOTAP.
const LINK_TYPE: u32 = 127;
/// Upper bound of the captured bytes of a frame: headers, and the longest control frame.
const SNAP_LENGTH: u32 = 256;
/// Frames of a run are not captured later than this, in seconds from its beginning; those of a real capture count from 1970.
const LATEST: u32 = 86_400;

/// The header of a capture.
pub(crate) fn capture_header() -> Vec<u8> {
    header(SNAP_LENGTH, LINK_TYPE)
}

/// The header of a capture with whole packets.
pub(crate) fn packets_header() -> Vec<u8> {
    header(65_535, LINK_TYPE)
}

/// The header of a pcapng capture: a section, the interface of the air, and that of dropped packets.
pub(crate) fn blocks_header() -> Vec<u8> {
    /// LINKTYPE_IPV4.
    const DROPS: u32 = 228;
    let mut header = Vec::with_capacity(128);
    // Version 1.0 of unknown length, then the application.
    let section =
        [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8], &[4, 0, 8, 0], b"airbound"].concat();
    block(&mut header, 0x0a0d_0d0a, &section);
    for (name, link_type) in [(b"air\0\0", LINK_TYPE), (b"drops", DROPS)] {
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len()) as u8;
        let mut interface = [link_type.to_le_bytes(), SNAP_LENGTH.to_le_bytes(), [2, 0, length, 0]].concat();
        interface.extend(&name[..usize::from(length)]);
        interface.resize(interface.len().next_multiple_of(4), 0);
        // Times in nanoseconds.
        interface.extend([9, 0, 1, 0, 9, 0, 0, 0]);
        block(&mut header, 1, &interface);
    }
    header
}

/// Appends a block of pcapng with options, which end here.
fn block(to: &mut Vec<u8>, kind: u32, content: &[u8]) {
    let length = (content.len() as u32 + 16).to_le_bytes();
    to.extend(kind.to_le_bytes());
    to.extend(length);
    to.extend(content);
    to.extend([0; 4]);
    to.extend(length);
}

fn header(snap_length: u32, link_type: u32) -> Vec<u8> {
    let mut header = Vec::with_capacity(24);
    header.extend(MAGIC.to_le_bytes());
    // Version 2.4, times in UTC, no statement on their accuracy.
    header.extend([2, 0, 4, 0]);
    header.extend([0; 8]);
    header.extend(snap_length.to_le_bytes());
    header.extend(link_type.to_le_bytes());
    header
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Capture | Self::Packets => "capture",
            Self::Page => "report",
            Self::Log => "log",
            Self::Export(_) => "export",
        }
    }

    /// Whether a file that begins so is an output of this kind, or empty.
    fn recognises(self, beginning: &[u8]) -> bool {
        if beginning.is_empty() {
            return true;
        }
        match self {
            Self::Capture | Self::Packets => {
                if self == Self::Capture && beginning.starts_with(&blocks_header()) {
                    return true;
                }
                let header = if self == Self::Packets { packets_header() } else { capture_header() };
                let Some(frames) = beginning.strip_prefix(header.as_slice()) else { return false };
                let first = frames.first_chunk().map(|seconds| u32::from_le_bytes(*seconds));
                first.is_none_or(|seconds| seconds <= LATEST)
            }
            Self::Log => beginning.starts_with(LOG.as_bytes()),
            Self::Export(begin) => beginning.starts_with(begin),
            Self::Page => {
                let text = String::from_utf8_lossy(beginning);
                text.starts_with("<!DOCTYPE html>") && text.contains(" – Airbound</title>")
            }
        }
    }

    /// Whether the file may be replaced.
    fn may_replace(self, path: &Path) -> Result<bool, RunsError> {
        /// Bytes in which the title of a page is found.
        const BEGINNING: u64 = 4096;
        let mut beginning = Vec::new();
        let file = File::open(path).map_err(RunsError::io("read", path))?;
        file.take(BEGINNING).read_to_end(&mut beginning).map_err(RunsError::io("read", path))?;
        Ok(self.recognises(&beginning))
    }
}

/// An output under way. Without [`Output::finish`] no file remains.
pub struct Output {
    way: Way,
    /// Whether the reader of a stream has enough.
    is_deaf: bool,
}

enum Way {
    /// A file beside its place.
    Whole { kind: Kind, place: PathBuf, partial: PathBuf, file: File },
    /// A stream.
    Through(Box<dyn Write + Send>),
}

impl Output {
    /// Begins an output of this kind at `path`.
    ///
    /// # Errors
    /// There is something that must not be replaced, or nothing can be written there.
    pub fn begin(path: &Path, kind: Kind) -> Result<Self, RunsError> {
        let of = |way| Ok(Self { way, is_deaf: false });
        if path.as_os_str() == STDOUT {
            return of(Way::Through(Box::new(io::stdout())));
        }
        if let Some(stream) = look(path, kind)? {
            return of(Way::Through(Box::new(stream)));
        }
        let Some(name) = path.file_name() else {
            return Err(RunsError::NoFileName { path: path.to_owned() });
        };
        let (partial, file) = create_beside(path, name)?;
        of(Way::Whole { kind, place: path.to_owned(), partial, file })
    }

    /// Makes sure that an output of this kind can be written at `path`, and leaves nothing there, since a signal may end the program before
    /// it has one. A stream is not opened: its reader would see the end.
    ///
    /// # Errors
    /// There is something that must not be replaced, or nothing can be written there.
    pub fn check(path: &Path, kind: Kind) -> Result<(), RunsError> {
        let is_stream = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
        if is_stream || path.as_os_str() == STDOUT { Ok(()) } else { Self::begin(path, kind).map(drop) }
    }

    /// Completes the output and gives a file its name.
    ///
    /// # Errors
    /// It cannot be written, or its place was taken meanwhile.
    pub fn finish(mut self) -> Result<(), RunsError> {
        match &mut self.way {
            Way::Through(_) => self.flush().map_err(RunsError::io("write", Path::new("the output"))),
            Way::Whole { kind, place, partial, .. } => {
                // A long run leaves time to put something else there.
                look(place, *kind)?;
                fs::rename(&*partial, &*place).map_err(RunsError::io("write", place))
            }
        }
    }

    /// Ends quietly for a reader that has enough (`| head -c 100`).
    fn told<T>(&mut self, result: io::Result<T>, enough: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_deaf = true;
                Ok(enough)
            }
            result => result,
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_deaf {
            return Ok(bytes.len());
        }
        let result = match &mut self.way {
            Way::Whole { file, .. } => return file.write(bytes),
            Way::Through(stream) => stream.write(bytes),
        };
        self.told(result, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = match &mut self.way {
            Way::Whole { file, .. } => return file.flush(),
            Way::Through(_) if self.is_deaf => return Ok(()),
            Way::Through(stream) => stream.flush(),
        };
        self.told(result, ())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Way::Whole { partial, .. } = &self.way {
            // Gone already if the output was finished.
            let _ = fs::remove_file(partial);
        }
    }
}

/// Begins a log of the laboratory's machine with its first line.
///
/// # Errors
/// There is something that must not be replaced, or nothing can be written there.
pub fn begin_log(path: &Path) -> Result<Output, RunsError> {
    let mut output = Output::begin(path, Kind::Log)?;
    output.write_all(LOG.as_bytes()).map_err(RunsError::io("write", path))?;
    Ok(output)
}

/// Writes a page as one output.
///
/// # Errors
/// There is something that must not be replaced, or the page cannot be written.
pub fn write_page(path: &Path, html: &str) -> Result<(), RunsError> {
    write(path, Kind::Page, html.as_bytes())
}

/// Writes bytes as one output.
///
/// # Errors
/// There is something that must not be replaced, or they cannot be written.
pub fn write(path: &Path, kind: Kind, bytes: &[u8]) -> Result<(), RunsError> {
    let mut output = Output::begin(path, kind)?;
    output.write_all(bytes).map_err(RunsError::io("write", path))?;
    output.finish()
}

/// Examines the place of an output: a stream to be written through, or `None` where a file may be put.
///
/// # Errors
/// There is something else.
fn look(path: &Path, kind: Kind) -> Result<Option<File>, RunsError> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found.map_err(RunsError::io("write", path))?,
    };
    // Standard output has names that are links (/dev/stdout), and so have the FIFOs of a shell.
    let behind = if found.is_symlink() { fs::metadata(path).ok() } else { Some(found.clone()) };
    if behind.as_ref().is_some_and(|behind| is_stream(behind.file_type())) {
        let stream = OpenOptions::new().write(true).open(path);
        return stream.map(Some).map_err(RunsError::io("write", path));
    }
    if found.is_symlink() {
        return Err(RunsError::Link { path: path.to_owned() });
    }
    if found.is_dir() {
        return Err(RunsError::io("write", path)(io::Error::from(ErrorKind::IsADirectory)));
    }
    if found.is_file() && kind.may_replace(path)? {
        return Ok(None);
    }
    Err(RunsError::NotOurs { path: path.to_owned(), kind: kind.name() })
}

#[cfg(unix)]
fn is_stream(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    kind.is_fifo() || kind.is_char_device()
}

#[cfg(not(unix))]
fn is_stream(_kind: FileType) -> bool {
    false
}

/// Creates a file that does not exist yet in the folder of `path`.
fn create_beside(path: &Path, name: &std::ffi::OsStr) -> Result<(PathBuf, File), RunsError> {
    /// Files of this name that killed processes of the same number may have left.
    const LEFT: u32 = 100;
    let mut number = 0;
    loop {
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".airbound-{}-{number}", std::process::id()));
        let partial = path.with_file_name(hidden);
        match OpenOptions::new().write(true).create_new(true).open(&partial) {
            Ok(file) => return Ok((partial, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < LEFT => number += 1,
            Err(error) => return Err(RunsError::io("write", path)(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>x – Airbound</title>";

    fn names(folder: &Path) -> Vec<OsString> {
        let mut names: Vec<OsString> = fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn an_earlier_output_is_replaced_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("page.html");
        write_page(&path, PAGE).expect("there is nothing");
        write_page(&path, &format!("{PAGE}two")).expect("a page is there");
        assert_eq!(fs::read_to_string(&path).expect("a page"), format!("{PAGE}two"));
        fs::write(&path, "").expect("written");
        write_page(&path, PAGE).expect("nothing is lost with an empty file");
        for text in ["duration = \"1 s\"\n", "<!DOCTYPE html><title>Mine</title>", "\u{0}"] {
            fs::write(&path, text).expect("written");
            let error = write_page(&path, PAGE).expect_err("not ours");
            assert!(matches!(error, RunsError::NotOurs { .. }), "{error}");
            assert_eq!(fs::read_to_string(&path).expect("text"), text);
        }
        assert_eq!(names(folder.path()), ["page.html"]);
    }

    #[test]
    fn a_log_replaces_a_log_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("faults.log");
        for text in ["first", "second"] {
            let mut log = begin_log(&path).expect("nothing, or a log");
            log.write_all(text.as_bytes()).expect("written");
            log.finish().expect("finished");
            assert_eq!(fs::read_to_string(&path).expect("a log"), format!("{LOG}{text}"));
        }
        fs::write(&path, "somebody's notes").expect("written");
        assert!(matches!(begin_log(&path), Err(RunsError::NotOurs { .. })));
        assert_eq!(fs::read_to_string(&path).expect("text"), "somebody's notes");
    }

    #[test]
    fn what_takes_the_place_meanwhile_stays() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("air.pcap");
        let output = Output::begin(&path, Kind::Capture).expect("there is nothing");
        fs::write(&path, "a letter").expect("written");
        assert!(matches!(output.finish(), Err(RunsError::NotOurs { .. })));
        assert_eq!(fs::read_to_string(&path).expect("text"), "a letter");
        assert_eq!(names(folder.path()), ["air.pcap"]);
    }

    #[test]
    fn an_output_that_is_not_finished_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut output = Output::begin(&folder.path().join("a"), Kind::Page).expect("there is nothing");
        output.write_all(b"half").expect("written");
        drop(output);
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn captures_of_a_run_are_told_from_real_ones() {
        let capture = |seconds: u32| [capture_header(), seconds.to_le_bytes().to_vec()].concat();
        assert!(Kind::Capture.recognises(&capture_header()));
        assert!(Kind::Capture.recognises(&capture(3)));
        assert!(!Kind::Capture.recognises(&capture(1_700_000_000)));
        assert!(!Kind::Capture.recognises(PAGE.as_bytes()));
        assert!(!Kind::Page.recognises(&capture(3)));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_refused_and_streams_written_through() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, PAGE).expect("written");
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        assert!(matches!(write_page(&link, PAGE), Err(RunsError::Link { .. })));
        fs::remove_file(&target).expect("removed");
        assert!(matches!(write_page(&link, PAGE), Err(RunsError::Link { .. })), "a link to nothing");
        write_page(Path::new("/dev/null"), PAGE).expect("a device takes it");
        use std::os::unix::fs::FileTypeExt as _;
        assert!(fs::metadata("/dev/null").expect("a device").file_type().is_char_device());
    }
}
