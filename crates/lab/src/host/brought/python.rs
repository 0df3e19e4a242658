//! Python's interpreter: the one behind a wrapper, and the folders that it imports from.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An interpreter, as it describes itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Python {
    /// The interpreter; not the wrapper by which it was found.
    pub program: PathBuf,
    /// The folders that it imports from, and the file that makes it a virtual environment.
    pub paths: Vec<PathBuf>,
}

const ASK: &str = "import os, sys; print(sys.executable); print(os.path.join(sys.prefix, 'pyvenv.cfg'));\
                   print(*[path for path in sys.path if path], sep='\\n')";

/// The interpreter behind a program called python; `None` for other programs, and where it does not answer.
pub(super) fn of(program: &Path) -> Option<Python> {
    let name = program.file_name()?.to_str()?;
    let version = name.strip_prefix("python")?;
    if !version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    // PYTHONPATH does not hold inside.
    let asked = Command::new(program).args(["-E", "-c", ASK]).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(asked.stdout).ok()?;
    let mut lines = text.lines().map(PathBuf::from);
    let program = lines.next().filter(|path| path.is_absolute() && path.is_file())?;
    Some(Python { program, paths: lines.filter(|path| path.is_absolute() && path.exists()).collect() })
}

/// Whether nothing that runs imports a file or folder: Python's own tests, static libraries.
pub(super) fn is_needless(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
    let is_library = folder.starts_with("python3");
    // A folder of packages that Python imports from is one of its own paths.
    let own = ["site-packages", "dist-packages"];
    let is_part = ["test", "idlelib", "ensurepip", "turtledemo", "lib2to3"]
        .iter()
        .chain(&own)
        .any(|part| *part == name);
    (is_library && (is_part || name.starts_with("config-"))) || path.extension().is_some_and(|end| end == "a")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_python_stay_and_modules_come() {
        for path in [
            "/usr/lib/python3.11/test",
            "/x/python3.12/config-3.12-x86_64-linux-gnu",
            "/x/liba.a",
            "/x/python3.12/site-packages",
        ] {
            assert!(is_needless(Path::new(path)), "{path}");
        }
        for path in ["/usr/lib/python3.11/json", "/x/site-packages/mine/test", "/x/python3.11/lib-dynload"] {
            assert!(!is_needless(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn other_programs_are_not_asked() {
        for name in ["sh", "python-config", "python3-config", "ipython"] {
            assert_eq!(of(Path::new("/bin").join(name).as_path()), None, "{name}");
        }
    }
}
