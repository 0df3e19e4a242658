//! Transfer of the logs to the host: a sequence of files, each after a line with its name and size.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::LOGS;
use crate::LabError;

const END: &str = "airbound-lab-end";
/// A path (`PATH_MAX`) and a size.
const LONGEST_LINE: u64 = 4096 + 24;

/// Writes all files of the log folder to a device, those of folders in it by their path.
///
/// # Errors
/// An operation on a file or the device failed, or a name has a line feed.
pub fn pack(device: &Path) -> Result<(), LabError> {
    let shown = device.display().to_string();
    let mut out = File::options().write(true).open(device).map_err(LabError::io("open", &shown))?;
    let mut all = Vec::new();
    for path in files(Path::new(LOGS))? {
        let content = fs::read(&path).map_err(LabError::io("read", &path.display().to_string()))?;
        let name = path.strip_prefix(LOGS).unwrap_or(&path).to_str().filter(|name| !name.contains('\n'));
        let name = name.ok_or_else(|| {
            let path = path.display();
            LabError::Guest(format!(
                "a file's name cannot be carried out: {path:?}; allowed is UTF-8 without a line feed"
            ))
        })?;
        all.extend_from_slice(format!("{name} {}\n", content.len()).as_bytes());
        all.extend_from_slice(&content);
    }
    all.extend_from_slice(format!("{END} 0\n").as_bytes());
    // Devices are written in whole sectors.
    all.resize(all.len().next_multiple_of(4096), 0);
    let space = out.seek(SeekFrom::End(0)).and_then(|space| out.rewind().map(|()| space));
    if space.map_err(LabError::io("read", &shown))? < all.len() as u64 {
        let size = all.len() >> 20;
        return Err(LabError::Guest(format!(
            "record and files are {size} MB, more than a machine can give back"
        )));
    }
    out.write_all(&all).and_then(|()| out.sync_all()).map_err(LabError::io("write", &shown))
}

/// All regular files of a folder and of folders in it, in order.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>, LabError> {
    let entries = fs::read_dir(folder).map_err(LabError::io("list", folder.display().to_string()))?;
    let mut paths: Vec<_> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let facts = path.symlink_metadata().map_err(LabError::io("read", path.display().to_string()))?;
        if facts.is_dir() {
            all.extend(files(&path)?);
        } else if facts.is_file() {
            all.push(path);
        }
    }
    Ok(all)
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
        from.by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)
            .map_err(LabError::io("read", &shown))?;
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
