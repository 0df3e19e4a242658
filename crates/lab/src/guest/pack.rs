//! Transfer of the logs to the host: a sequence of files, each after a line with its name and size.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use super::LOGS;
use crate::LabError;

const END: &str = "airbound-lab-end";

/// Writes all files of the log folder to a device.
///
/// # Errors
/// An operation on a file or the device failed.
pub fn pack(device: &Path) -> Result<(), LabError> {
    let shown = device.display().to_string();
    let mut out = File::options().write(true).open(device).map_err(LabError::io("open", &shown))?;
    let mut all = Vec::new();
    let folder = fs::read_dir(LOGS).map_err(LabError::io("list", LOGS))?;
    let mut paths: Vec<_> = folder.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    for path in paths {
        let content = fs::read(&path).map_err(LabError::io("read", &path.display().to_string()))?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        all.extend_from_slice(format!("{name} {}\n", content.len()).as_bytes());
        all.extend_from_slice(&content);
    }
    all.extend_from_slice(format!("{END} 0\n").as_bytes());
    // Devices are written in whole sectors.
    all.resize(all.len().next_multiple_of(4096), 0);
    out.write_all(&all).and_then(|()| out.sync_all()).map_err(LabError::io("write", &shown))
}

/// Reads the names and contents written by [`pack`].
///
/// # Errors
/// The file cannot be read, or is incomplete because the guest ended early.
pub fn unpack(image: &Path) -> Result<Vec<(String, Vec<u8>)>, LabError> {
    let shown = image.display().to_string();
    let mut from = BufReader::new(File::open(image).map_err(LabError::io("open", &shown))?);
    let mut files = Vec::new();
    loop {
        let mut line = Vec::new();
        from.by_ref().take(300).read_until(b'\n', &mut line).map_err(LabError::io("read", &shown))?;
        let text = String::from_utf8_lossy(&line);
        let parsed =
            text.trim_end().rsplit_once(' ').and_then(|(name, size)| Some((name, size.parse::<u64>().ok()?)));
        let Some((name, size)) = parsed else {
            return Err(LabError::Guest("no complete record: the guest ended before the run did".to_owned()));
        };
        if name == END {
            return Ok(files);
        }
        let mut content = Vec::new();
        from.by_ref().take(size).read_to_end(&mut content).map_err(LabError::io("read", &shown))?;
        files.push((name.to_owned(), content));
    }
}
