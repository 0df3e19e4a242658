//! Reading of scenario and grid files: as a whole, up to a limit above any handwritten file.

use std::path::Path;

use super::error::ScenarioError;

/// The largest such file, in bytes.
pub const LARGEST_FILE: u64 = 1_000_000;

/// The text of a file, bounded and UTF-8.
///
/// # Errors
/// [`ScenarioError::Read`]: it cannot be read, is not a regular file, is larger than [`LARGEST_FILE`] or not UTF-8.
pub fn text_of(file: &Path) -> Result<String, ScenarioError> {
    let name = file.display().to_string();
    let unreadable = |reason: String| ScenarioError::Read { file: name.clone(), reason };
    let metadata = std::fs::metadata(file).map_err(|error| unreadable(error.to_string()))?;
    if !metadata.is_file() {
        return Err(unreadable("it is not a file".to_owned()));
    }
    bound(metadata.len(), &name)?;
    let bytes = std::fs::read(file).map_err(|error| unreadable(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| unreadable("it is not a text in UTF-8".to_owned()))
}

/// Refuses a text of more than [`LARGEST_FILE`] bytes; `name` is its name in the message.
///
/// # Errors
/// [`ScenarioError::Read`]: it is larger.
pub fn bound(bytes: u64, name: &str) -> Result<(), ScenarioError> {
    if bytes <= LARGEST_FILE {
        return Ok(());
    }
    let reason = format!("it has {bytes} bytes; allowed are {LARGEST_FILE}");
    Err(ScenarioError::Read { file: name.to_owned(), reason })
}
