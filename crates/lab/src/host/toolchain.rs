//! Runs the build tools of a newer Debian on the host: compiler, linker and the kernel's tools, each with its own C library.
//!
//! A program has the absolute path of its loader, which is the host's, and the host's C library may be too old. So each program is
//! replaced by a script that starts it with the unpacked loader. The script passes its own name as `argv[0]`, by which gcc finds its
//! parts.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::init::quoted;
use super::write;
use crate::LabError;

/// Folders of build tools below `usr`; the last is a prefix of the folder of the kernel's tools.
const FOLDERS: [&str; 3] = ["bin", "libexec/gcc", "lib/linux-kbuild-"];
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const LOADER: &str = "ld-linux-x86-64.so.2";
/// Suffix of a program that is replaced by a script.
const PROGRAM_SUFFIX: &str = ".elf";

/// Makes all programs unpacked below `root` use the unpacked libraries. Idempotent.
pub(crate) fn use_unpacked_libraries(root: &Path) -> Result<(), LabError> {
    let mut folders = Vec::new();
    for folder in FOLDERS {
        let path = root.join("usr").join(folder);
        let begin = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let whole = !begin.ends_with('-');
        let among = path.parent().unwrap_or(root);
        folders.extend(entries(among)?.into_iter().filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if whole { name == begin } else { name.starts_with(&begin) }
        }));
    }
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            let kind = path.symlink_metadata().map_err(LabError::io("read", path.display().to_string()))?;
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && kind.permissions().mode() & 0o111 != 0 {
                replace_by_script(root, &path)?;
            }
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, LabError> {
    let entries = fs::read_dir(folder).map_err(LabError::io("list", folder.display().to_string()))?;
    Ok(entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect())
}

fn replace_by_script(root: &Path, program: &Path) -> Result<(), LabError> {
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if name.ends_with(PROGRAM_SUFFIX) || !has_loader(program)? {
        return Ok(());
    }
    let hidden = program.with_file_name(format!(".{name}{PROGRAM_SUFFIX}"));
    let failed = || LabError::io("replace", program.display().to_string());
    fs::rename(program, &hidden).map_err(failed())?;
    let libraries = root.join(LIBRARIES);
    let word = |path: &Path| quoted(&path.display().to_string());
    let script = format!(
        "#!/bin/sh\nexec {} --library-path {} --argv0 \"$0\" {} \"$@\"\n",
        word(&libraries.join(LOADER)),
        word(&libraries),
        word(&hidden)
    );
    write(program, script)?;
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).map_err(failed())
}

/// Whether a file is a dynamically linked program: its first page has the path of its loader.
fn has_loader(path: &Path) -> Result<bool, LabError> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut head));
    read.map_err(LabError::io("read", path.display().to_string()))?;
    let loader = LOADER.as_bytes();
    Ok(head.starts_with(b"\x7fELF") && head.windows(loader.len()).any(|window| window == loader))
}

/// A search path with the programs below `root` before those of the host.
pub(crate) fn path(root: &Path) -> Result<OsString, LabError> {
    let host = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(root.join("usr/bin")).chain(std::env::split_paths(&host));
    std::env::join_paths(all).map_err(|_| LabError::Missing {
        what: "a folder for its cache without a colon in its path".to_owned(),
        how: "select another with --cache".to_owned(),
    })
}

/// The unpacked compiler, whose name ends with its version.
pub(crate) fn compiler(root: &Path) -> Result<PathBuf, LabError> {
    let is_compiler = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let version = name.strip_prefix("x86_64-linux-gnu-gcc-");
        version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let found = entries(&root.join("usr/bin"))?.into_iter().find(is_compiler);
    found.ok_or_else(|| LabError::Missing {
        what: "the compiler of the kernel".to_owned(),
        how: format!("remove {}, so that it is fetched again", root.display()),
    })
}

/// The command that strips debugging information from a module.
pub(crate) fn strip(root: &Path) -> Command {
    Command::new(root.join("usr/bin/x86_64-linux-gnu-strip"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root with copies of the host's `sh` and C library.
    #[allow(clippy::print_stderr, reason = "reports what is skipped")]
    fn root(name: &str) -> Option<PathBuf> {
        let root = std::env::temp_dir().join(format!("airbound-{name}-{}", std::process::id()));
        for folder in ["usr/bin", "usr/libexec/gcc", "usr/lib/linux-kbuild-1/scripts", LIBRARIES] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for library in [LOADER, "libc.so.6"] {
            let from = Path::new("/lib/x86_64-linux-gnu").join(library);
            if fs::copy(from, root.join(LIBRARIES).join(library)).is_err() {
                eprintln!("SKIPPED: the host's C library is in another folder");
                return None;
            }
        }
        let shell = fs::canonicalize("/bin/sh").unwrap();
        for place in ["usr/bin/tool", "usr/lib/linux-kbuild-1/scripts/tool"] {
            fs::copy(&shell, root.join(place)).unwrap();
        }
        fs::write(root.join("usr/bin/script"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(root.join("usr/bin/script"), fs::Permissions::from_mode(0o755)).unwrap();
        Some(root)
    }

    #[test]
    fn programs_start_with_their_own_loader_under_their_own_name() {
        let Some(root) = root("toolchain") else { return };
        for _ in 0..2 {
            use_unpacked_libraries(&root).unwrap();
            for place in ["usr/bin/tool", "usr/lib/linux-kbuild-1/scripts/tool"] {
                let program = root.join(place);
                assert!(fs::read(&program).unwrap().starts_with(b"#!/bin/sh\n"));
                let script = "tr '\\0' '\\n' </proc/$$/cmdline; echo \"$1\"";
                let output =
                    Command::new(&program).args(["-c", script, "shell", "two words"]).output().unwrap();
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                assert!(said.contains(&root.join(LIBRARIES).join(LOADER).display().to_string()), "{said}");
                assert!(said.contains(&format!("--argv0\n{}\n", program.display())), "{said}");
                assert!(said.ends_with("two words\n"), "{said}");
            }
            assert_eq!(fs::read(root.join("usr/bin/script")).unwrap(), b"#!/bin/sh\n");
        }
        fs::remove_dir_all(&root).unwrap();
    }
}
