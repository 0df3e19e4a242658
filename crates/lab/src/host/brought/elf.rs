//! Programs and libraries: their processor and loader, and the libraries that the loader finds for them.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::elf::FileHeader64;
use object::read::elf::{FileHeader as _, ProgramHeader as _};

use super::super::{read as content, run};
use super::shown;
use crate::LabError;

/// Facts of an ELF file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::host) struct Loaded {
    /// Whether it is for another processor than the machine's.
    pub is_foreign: bool,
    /// Whether it has libraries.
    pub is_dynamic: bool,
    /// The loader that it names; libraries name none.
    pub loader: Option<PathBuf>,
}

/// Whether a file begins so.
pub(super) fn begins_with(path: &Path, wanted: &[u8]) -> Result<bool, LabError> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(wanted.len() as u64).read_to_end(&mut head));
    read.map_err(LabError::io("read", shown(path)))?;
    Ok(head == wanted)
}

/// The facts of a file for a processor, by its number in ELF files; `None` if it is no ELF file.
pub(in crate::host) fn read(path: &Path, machine: u16) -> Result<Option<Loaded>, LabError> {
    if !begins_with(path, b"\x7fELF")? {
        return Ok(None);
    }
    Ok(Some(facts(&content(path)?, machine)))
}

fn facts(bytes: &[u8], machine: u16) -> Loaded {
    let foreign = Loaded { is_foreign: true, is_dynamic: false, loader: None };
    let Ok(header) = FileHeader64::<object::Endianness>::parse(bytes) else { return foreign };
    let Ok(endian) = header.endian() else { return foreign };
    if header.e_machine(endian) != machine {
        return foreign;
    }
    let headers = header.program_headers(endian, bytes).unwrap_or_default();
    let loader = headers.iter().find_map(|part| part.interpreter(endian, bytes).ok().flatten());
    Loaded {
        is_foreign: false,
        is_dynamic: headers.iter().any(|part| part.p_type(endian) == object::elf::PT_DYNAMIC),
        loader: loader.map(|path| PathBuf::from(String::from_utf8_lossy(path).into_owned())),
    }
}

/// The libraries that `loader` finds for a program or library, which it does not start. Where `all` are needed, none may be missing.
pub(super) fn libraries(loader: &Path, file: &Path, all: bool) -> Result<Vec<PathBuf>, LabError> {
    let listed = run(Command::new(loader).arg("--list").arg(file));
    let text = match listed {
        Ok(text) => String::from_utf8_lossy(&text).into_owned(),
        // Statically linked, as position-independent programs may be; or not for this loader.
        Err(_) => return Ok(Vec::new()),
    };
    let mut paths = Vec::new();
    for line in text.lines().map(str::trim) {
        match among(line) {
            Line::Found(path) => paths.push(path.into()),
            Line::Missing(name) if all => {
                return Err(LabError::Missing {
                    what: format!("the library {name} of {}", shown(file)),
                    how: "the loader does not find it".to_owned(),
                });
            }
            Line::Missing(_) | Line::Nothing => {}
        }
    }
    Ok(paths)
}

/// A line of a loader's list.
#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    Found(&'a str),
    Missing(&'a str),
    /// The kernel's own library, or another remark.
    Nothing,
}

fn among(line: &str) -> Line<'_> {
    let (name, found) = line.split_once(" => ").unwrap_or((line, line));
    if found == "not found" {
        return Line::Missing(name);
    }
    let path = found.rsplit_once(" (0x").map_or(found, |(path, _)| path);
    if path.starts_with('/') { Line::Found(path) } else { Line::Nothing }
}

#[cfg(test)]
mod tests {
    use object::elf::{EM_AARCH64, EM_X86_64};

    use super::*;

    #[test]
    fn lines_of_the_loader_are_understood() {
        assert_eq!(among("linux-vdso.so.1 (0x00007ffd2a9d6000)"), Line::Nothing);
        assert_eq!(
            among("libc.so.6 => /lib/my libs/libc.so.6 (0x00007f)"),
            Line::Found("/lib/my libs/libc.so.6")
        );
        assert_eq!(
            among("/lib64/ld-linux-x86-64.so.2 (0x00007f)"),
            Line::Found("/lib64/ld-linux-x86-64.so.2")
        );
        assert_eq!(among("libnone.so.1 => not found"), Line::Missing("libnone.so.1"));
        assert_eq!(among("statically linked"), Line::Nothing);
    }

    #[test]
    fn a_program_for_another_processor_is_told_apart() {
        let mut program = content(Path::new("/proc/self/exe")).unwrap();
        let own = facts(&program, EM_X86_64);
        assert!(!own.is_foreign && own.is_dynamic && facts(&program, EM_AARCH64).is_foreign);
        // e_machine: AArch64.
        program[18] = 183;
        assert!(facts(&program, EM_X86_64).is_foreign && !facts(&program, EM_AARCH64).is_foreign);
        assert!(facts(b"\x7fELF", EM_AARCH64).is_foreign);
    }
}
