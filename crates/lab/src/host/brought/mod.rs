//! Files of this host that the machine's commands need, each at its own path: programs with their libraries and interpreters, folders.
//!
//! Commands run in a root of their own (`/host` in the machine), so that these files do not meet the machine's tools.

pub(super) mod elf;
mod python;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use super::arch::Arch;
use super::initrd::Archive;
use super::read;
use crate::LabError;
use elf::Loaded;

/// The folder in which commands start, and in which their inputs lie.
pub const WORK: &str = "/files";
/// The root of the commands, a folder of the machine.
pub(crate) const ROOT: &str = "host";
/// Most bytes of files: they lie in the machine's memory, twice while it boots.
const MOST: u64 = 512 << 20;
/// Most symbolic links on the way to a file (Linux, `MAXSYMLINKS`).
const MOST_LINKS: u32 = 40;

/// An entry of the commands' root.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Folder,
    /// A file of the host.
    File(PathBuf),
    Link(String),
}

/// The files to be brought.
#[derive(Debug, Default)]
pub struct Brought {
    entries: BTreeMap<PathBuf, Entry>,
    bytes: u64,
    /// The programs that are here, by the path that was found.
    programs: BTreeMap<PathBuf, PathBuf>,
    /// Folders of the programs, in order, for the search path inside.
    folders: Vec<PathBuf>,
    /// The loader of shared libraries that name none.
    loader: Option<PathBuf>,
    /// The machine's architecture.
    arch: Arch,
}

impl Brought {
    /// Files for a machine of an architecture.
    #[must_use]
    pub fn on(arch: Arch) -> Self {
        Self { arch, ..Self::default() }
    }

    /// Brings a program with all that it is loaded with: by its path, or by its name on `PATH`. Returns its path inside.
    ///
    /// # Errors
    /// There is none, it is for another processor, or a library of it is missing.
    pub fn program(&mut self, name: &str) -> Result<PathBuf, LabError> {
        if self.is_machines_own(name) {
            return Ok(PathBuf::from(name));
        }
        let found = find(name).ok_or_else(|| LabError::Missing {
            what: format!("the program {name}"),
            how: "it is not on PATH; give its path, or install it".to_owned(),
        })?;
        if let Some(program) = self.programs.get(&found) {
            return Ok(program.clone());
        }
        let python = python::of(&found);
        let asked = found.clone();
        let found = python.as_ref().map_or(found, |python| python.program.clone());
        // Entered before its files are looked at: one of them may name it.
        self.programs.insert(asked, found.clone());
        let real = self.place(&found)?;
        self.runnable(&real)?;
        for path in python.iter().flat_map(|python| &python.paths) {
            self.tree(path, &python::is_needless)?;
        }
        if let Some(folder) =
            found.parent().filter(|folder| !self.folders.iter().any(|known| known == folder))
        {
            self.folders.push(folder.to_owned());
        }
        Ok(found)
    }

    /// Brings the programs among the words of a shell's line.
    ///
    /// # Errors
    /// One of them cannot run in the machine.
    pub fn line(&mut self, line: &str) -> Result<(), LabError> {
        let words = line.split(|c: char| c.is_whitespace() || ";&|()<>`\"'".contains(c));
        for word in words.filter(|word| !word.is_empty() && *word != "." && *word != "..") {
            if self.is_machines_own(word) || find(word).is_none() {
                continue;
            }
            let program = self.program(word)?;
            let is_below = Path::new(word)
                .components()
                .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
            if word.contains('/') && is_below {
                // The line finds it by the same path from the commands' folder.
                let target = program.to_str().ok_or_else(|| unnamed(&program))?.to_owned();
                let place = Path::new(WORK).join(word).components().collect();
                self.enter(place, Entry::Link(target))?;
            }
        }
        Ok(())
    }

    /// Brings a program by its name, or a file or folder at its own path.
    ///
    /// # Errors
    /// There is none.
    pub fn named(&mut self, name: &str) -> Result<(), LabError> {
        let path = Path::new(name);
        if !name.contains('/') {
            return self.program(name).map(drop);
        }
        if path.is_dir() { self.tree(&absolute(path)?, &|_| false) } else { self.program_or_file(path) }
    }

    /// Brings a file or folder into the commands' folder.
    ///
    /// # Errors
    /// There is none, or its name is taken.
    pub fn input(&mut self, path: &Path) -> Result<(), LabError> {
        let from = absolute(path)?;
        let name = from.file_name().ok_or_else(|| unnamed(path))?;
        let to = Path::new(WORK).join(name);
        if self.entries.contains_key(&to) {
            return Err(LabError::Missing {
                what: "inputs of different names".to_owned(),
                how: format!("--with brings {} twice", name.to_string_lossy()),
            });
        }
        if is_program(&from) && elf::begins_with(&from, b"#!")? {
            self.interpreter(&from)?;
        }
        self.copy(&from, &to, &|_| false)
    }

    /// The search path inside.
    pub(crate) fn search_path(&self) -> String {
        let folders = self.folders.iter().map(|folder| folder.display().to_string());
        folders.chain(["/applets".to_owned()]).collect::<Vec<_>>().join(":")
    }

    /// Bytes of all files.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds all entries to an archive.
    pub(crate) fn add_to(&self, archive: &mut Archive) -> Result<(), LabError> {
        archive.folder(&format!("{ROOT}{WORK}"));
        for (path, entry) in &self.entries {
            let name = path.to_str().ok_or_else(|| unnamed(path))?;
            let name = format!("{ROOT}{name}");
            match entry {
                Entry::Folder => archive.folder(&name),
                Entry::Link(target) => archive.link(&name, target),
                Entry::File(from) => {
                    let facts = fs::metadata(from).map_err(LabError::io("read", shown(from)))?;
                    // Python compares the time of a source with the one in its compiled form.
                    let time = u32::try_from(facts.mtime()).unwrap_or(0);
                    archive.dated_file(&name, facts.mode() & 0o777, time, &read(from)?);
                }
            }
        }
        Ok(())
    }

    fn program_or_file(&mut self, path: &Path) -> Result<(), LabError> {
        let real = self.place(&absolute(path)?)?;
        if is_program(&real) { self.runnable(&real) } else { self.libraries_of(&real) }
    }

    /// Enters a file or folder, and the symbolic links on the way to it. Returns where it really is.
    fn place(&mut self, path: &Path) -> Result<PathBuf, LabError> {
        let mut rest: Vec<_> = path.components().rev().map(|part| part.as_os_str().to_owned()).collect();
        let (mut at, mut links) = (PathBuf::from("/"), 0);
        while let Some(part) = rest.pop() {
            match Path::new(&part).components().next() {
                Some(Component::ParentDir) => {
                    at.pop();
                    continue;
                }
                Some(Component::Normal(_)) => {}
                _ => continue,
            }
            let next = at.join(&part);
            let facts = fs::symlink_metadata(&next).map_err(LabError::io("read", shown(path)))?;
            if facts.is_symlink() {
                links += 1;
                let target = fs::read_link(&next).map_err(LabError::io("read", shown(&next)))?;
                if links > MOST_LINKS {
                    return Err(unnamed(path));
                }
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                rest.extend(target.components().rev().map(|part| part.as_os_str().to_owned()));
                let target = target.to_str().ok_or_else(|| unnamed(&next))?;
                self.entries.insert(next, Entry::Link(target.to_owned()));
            } else {
                at = next;
                let entry = if facts.is_dir() { Entry::Folder } else { Entry::File(at.clone()) };
                self.enter(at.clone(), entry)?;
            }
        }
        Ok(at)
    }

    fn enter(&mut self, path: PathBuf, entry: Entry) -> Result<(), LabError> {
        if self.entries.contains_key(&path) {
            return Ok(());
        }
        if let Entry::File(from) = &entry {
            self.bytes += fs::metadata(from).map_err(LabError::io("read", shown(from)))?.len();
            if self.bytes > MOST {
                return Err(LabError::Missing {
                    what: format!("at most {} MB of files for its commands", MOST >> 20),
                    how: format!(
                        "with {} there are more; leave folders out, or use a smaller one",
                        shown(from)
                    ),
                });
            }
        }
        self.entries.insert(path, entry);
        Ok(())
    }

    /// Brings a folder or file at its own path.
    fn tree(&mut self, path: &Path, is_needless: &dyn Fn(&Path) -> bool) -> Result<(), LabError> {
        let real = self.place(path)?;
        self.copy(&real, &real.clone(), is_needless)
    }

    /// Brings a folder or file to another path, with the libraries of all programs in it, but not the
    /// interpreters of scripts: most are imported. Devices, sockets and links to nothing stay.
    fn copy(&mut self, from: &Path, to: &Path, is_needless: &dyn Fn(&Path) -> bool) -> Result<(), LabError> {
        let facts = fs::symlink_metadata(from).map_err(LabError::io("read", shown(from)))?;
        if facts.is_symlink() {
            let target = fs::read_link(from).map_err(LabError::io("read", shown(from)))?;
            let Ok(real) = fs::canonicalize(from) else { return Ok(()) };
            let target = target.to_str().ok_or_else(|| unnamed(from))?;
            self.enter(to.to_owned(), Entry::Link(target.to_owned()))?;
            // A link within what is copied reaches its copy; one that leaves it reaches its own path.
            if to != from && !Path::new(target).is_absolute() {
                return Ok(());
            }
            // A folder that is on its way here already, as of a link to a folder above, is not taken again.
            let is_new_folder = real.is_dir() && !self.entries.contains_key(&real);
            return if is_new_folder { self.tree(&real, is_needless) } else { self.place(&real).map(drop) };
        }
        if facts.is_file() {
            self.enter(to.to_owned(), Entry::File(from.to_owned()))?;
            return self.libraries_of(from);
        }
        if !facts.is_dir() {
            return Ok(());
        }
        self.enter(to.to_owned(), Entry::Folder)?;
        let entries = fs::read_dir(from).map_err(LabError::io("list", shown(from)))?;
        let mut paths: Vec<PathBuf> =
            entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
        paths.sort();
        for path in paths.iter().filter(|path| !is_needless(path)) {
            let Some(name) = path.file_name() else { continue };
            self.copy(path, &to.join(name), is_needless)?;
        }
        Ok(())
    }

    /// Whether a program is named that the machine has, since this host's are for another processor.
    fn is_machines_own(&self, name: &str) -> bool {
        self.arch != Arch::X86_64 && !name.contains('/')
    }

    /// Brings what a program needs to be started.
    fn runnable(&mut self, real: &Path) -> Result<(), LabError> {
        if elf::begins_with(real, b"#!")? {
            return self.interpreter(real);
        }
        match elf::read(real, self.arch.elf())? {
            Some(loaded) if loaded.is_foreign => Err(LabError::Missing {
                what: format!("programs for {}", self.arch),
                how: format!("{} is for another processor", shown(real)),
            }),
            Some(loaded) if loaded.loader.is_some() && self.arch != Arch::X86_64 => Err(LabError::Missing {
                what: format!("statically linked programs for {}", self.arch),
                how: format!("{} needs libraries", shown(real)),
            }),
            Some(loaded) => self.libraries(real, &loaded, true),
            None => Err(LabError::Missing {
                what: "programs and scripts".to_owned(),
                how: format!("{} is neither", shown(real)),
            }),
        }
    }

    /// Brings the interpreter of a script, and the program that `env` starts.
    fn interpreter(&mut self, script: &Path) -> Result<(), LabError> {
        let text = read(script)?;
        let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line).into_owned();
        let mut words = line.trim_start_matches("#!").split_whitespace();
        let Some(interpreter) = words.next() else { return Ok(()) };
        if self.arch != Arch::X86_64 {
            let how = format!("{} begins with {line}", shown(script));
            let what = format!("scripts of /bin/sh on {}", self.arch);
            return if interpreter == "/bin/sh" { Ok(()) } else { Err(LabError::Missing { what, how }) };
        }
        self.program(interpreter)?;
        if interpreter.ends_with("/env")
            && let Some(name) = words.find(|word| !word.starts_with('-') && !word.contains('='))
        {
            self.program(name)?;
        }
        Ok(())
    }

    /// Brings the libraries of a file, if it is a program or a library for this processor.
    fn libraries_of(&mut self, real: &Path) -> Result<(), LabError> {
        match elf::read(real, self.arch.elf())? {
            Some(loaded) if !loaded.is_foreign => self.libraries(real, &loaded, false),
            _ => Ok(()),
        }
    }

    /// Brings the libraries that the loader names. Where `all` are needed, none may be missing.
    fn libraries(&mut self, real: &Path, loaded: &Loaded, all: bool) -> Result<(), LabError> {
        if let Some(loader) = &loaded.loader {
            self.place(loader)?;
            self.loader.get_or_insert_with(|| loader.clone());
        }
        let loader = loaded.loader.clone().or_else(|| self.loader.clone());
        let Some(loader) = loader.filter(|_| loaded.is_dynamic) else { return Ok(()) };
        for library in elf::libraries(&loader, real, all)? {
            self.place(&library)?;
            // What the C library opens by name while it runs.
            if library.file_name().is_some_and(|name| name == "libc.so.6") {
                for name in ["libgcc_s.so.1", "libnss_files.so.2"] {
                    let beside = library.with_file_name(name);
                    if beside.exists() {
                        self.place(&beside)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// A program by its path, or by its name on `PATH`.
fn find(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return absolute(Path::new(name)).ok().filter(|path| is_program(path));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(name));
    paths.find(|path| path.is_absolute() && is_program(path))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

fn absolute(path: &Path) -> Result<PathBuf, LabError> {
    fs::metadata(path).and_then(|_| std::path::absolute(path)).map_err(LabError::io("read", shown(path)))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn unnamed(path: &Path) -> LabError {
    LabError::Missing {
        what: "files with names in UTF-8".to_owned(),
        how: format!("\"{}\" has none that can be followed", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(brought: &Brought, path: impl AsRef<Path>) -> bool {
        brought.entries.contains_key(path.as_ref())
    }

    #[test]
    fn a_program_comes_with_its_loader_and_libraries() {
        let mut brought = Brought::default();
        let path = brought.program("sh").unwrap();
        let real = fs::canonicalize(&path).unwrap();
        assert!(has(&brought, &real), "{brought:?}");
        let loader = elf::read(&real, Arch::X86_64.elf()).unwrap().unwrap().loader.unwrap();
        // Its folder may be a link, as where /lib64 is one to /usr/lib64.
        let [folder, name] = [loader.parent(), loader.file_name().map(Path::new)].map(Option::unwrap);
        assert!(has(&brought, fs::canonicalize(folder).unwrap().join(name)), "{brought:?}");
        assert!(has(&brought, fs::canonicalize(&loader).unwrap()), "{brought:?}");
        let is_c_library = |path: &PathBuf| path.file_name().is_some_and(|name| name == "libc.so.6");
        assert!(brought.entries.keys().any(is_c_library), "{brought:?}");
        // Every entry is reachable: its folder is there, or a link.
        for path in brought.entries.keys() {
            let folder = path.parent().unwrap();
            assert!(folder == Path::new("/") || has(&brought, folder), "{}", path.display());
        }
        assert!(brought.search_path().ends_with(":/applets"));
    }

    #[test]
    fn a_script_comes_with_its_interpreter_and_links_stay_links() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        fs::write(&script, "#!/usr/bin/env sh\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("script", &link).unwrap();
        let mut brought = Brought::default();
        assert_eq!(brought.program(link.to_str().unwrap()).unwrap(), link);
        assert_eq!(brought.entries.get(&link), Some(&Entry::Link("script".to_owned())));
        assert!(matches!(brought.entries.get(&script), Some(Entry::File(_))));
        let shell = fs::canonicalize(find("sh").unwrap()).unwrap();
        assert!(has(&brought, shell) && has(&brought, fs::canonicalize("/usr/bin/env").unwrap()));
    }

    #[test]
    fn a_link_to_a_folder_brings_the_folder_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| fs::canonicalize(folder.path()).unwrap().join(name);
        for name in ["a", "b"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::write(at("b/file"), "1").unwrap();
        for (target, name) in [(at("b"), "a/there"), (at("a"), "b/back"), (at("nothing"), "a/nothing")] {
            std::os::unix::fs::symlink(target, at(name)).unwrap();
        }
        let mut brought = Brought::default();
        brought.named(at("a").to_str().unwrap()).unwrap();
        assert!(has(&brought, at("a/there")) && has(&brought, at("b/file")) && has(&brought, at("b/back")));
        assert!(!has(&brought, at("a/nothing")));
    }

    #[test]
    fn inputs_lie_in_the_folder_of_the_commands() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("data")).unwrap();
        fs::write(folder.path().join("data/a"), "1").unwrap();
        let mut brought = Brought::default();
        brought.input(&folder.path().join("data")).unwrap();
        let file = Entry::File(folder.path().join("data/a"));
        assert_eq!(brought.entries.get(Path::new("/files/data/a")), Some(&file));
        assert_eq!(brought.bytes(), 1);
        let again = brought.input(&folder.path().join("data")).unwrap_err().to_string();
        assert!(again.contains("brings data twice"), "{again}");
    }

    #[test]
    fn what_cannot_run_is_refused() {
        let refused = |name: &str| Brought::default().program(name).unwrap_err().to_string();
        assert!(refused("nothing-of-this-name").contains("not on PATH"));
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("text");
        fs::write(&text, "hello").unwrap();
        fs::set_permissions(&text, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(refused(text.to_str().unwrap()).contains("is neither"));
        assert!(Brought::default().named("/nothing/there").is_err());
        let (script, shell) = (folder.path().join("script"), fs::canonicalize(find("sh").unwrap()).unwrap());
        fs::write(&script, "#!/usr/bin/env python3\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let arm =
            |path: &Path| Brought::on(Arch::Arm64).program(path.to_str().unwrap()).unwrap_err().to_string();
        assert!(arm(&shell).contains("programs for arm64: ") && arm(&shell).contains("another processor"));
        assert!(arm(&script).contains("scripts of /bin/sh on arm64: "), "{}", arm(&script));
        // Words of a line that are no programs are the shell's.
        Brought::default().line("cd nowhere && X=1 true").unwrap();
        // Programs by their names are the machine's, if the host's are for another processor.
        let mut brought = Brought::on(Arch::Arm64);
        brought.line("sh -c true").unwrap();
        assert_eq!(brought.program("ping").unwrap(), Path::new("ping"));
        assert!(brought.entries.is_empty(), "{brought:?}");
    }
}
