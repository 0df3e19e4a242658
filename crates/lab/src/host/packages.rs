//! Debian's packages, fetched with an apt of the laboratory's own and unpacked without root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{archive, create, program, run, write};
use crate::LabError;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A short name for what is made of these parts (FNV-1a, 64 bits).
pub(crate) fn stamp<T: AsRef<str>>(parts: impl IntoIterator<Item = T>) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.as_ref().bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

/// Suites of Debian, and the folder of the cache in which their packages are kept: apart, since apt takes the newest of all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source {
    pub(crate) folder: &'static str,
    pub(crate) suites: &'static [&'static str],
}

/// apt with folders of its own: it needs no root and changes nothing of the host's.
#[derive(Debug)]
pub(crate) struct Packages {
    folder: PathBuf,
    suites: &'static [&'static str],
}

impl Packages {
    pub(crate) fn of(cache: &Path, source: Source) -> Self {
        Self { folder: cache.join(source.folder), suites: source.suites }
    }

    /// Reads Debian's lists of today.
    pub(crate) fn update(&self, say: &mut dyn FnMut(&str)) -> Result<(), LabError> {
        if !Path::new(KEYRING).exists() {
            return Err(LabError::Missing {
                what: format!("Debian's keys in {KEYRING}"),
                how: "sudo apt-get install debian-archive-keyring".to_owned(),
            });
        }
        let archive = archive::uri()?;
        say("reading Debian's lists of packages");
        for part in ["lists/partial", "archives/partial"] {
            create(&self.folder.join(part))?;
        }
        let line = |suite| format!("deb [arch=amd64 signed-by={KEYRING}] {archive} {suite} main\n");
        write(&self.folder.join("sources.list"), self.suites.iter().map(line).collect::<String>())?;
        write(&self.folder.join("status"), "")?;
        let at = self.folder.display();
        let settings = format!(
            "APT::Architecture \"amd64\";\nAPT::Architectures {{ \"amd64\"; }};\nDir::State \"{at}\";\n\
             Dir::State::lists \"{at}/lists\";\nDir::State::status \"{at}/status\";\nDir::Cache \"{at}\";\n\
             Dir::Cache::archives \"{at}/archives\";\nDir::Etc::sourcelist \"{at}/sources.list\";\n\
             Dir::Etc::sourceparts \"-\";\nAPT::Sandbox::User \"\";\n"
        );
        write(&self.folder.join("apt.conf"), settings)?;
        run(self.apt("apt-get")?.arg("update")).map_err(unreachable)?;
        Ok(())
    }

    fn apt(&self, name: &str) -> Result<Command, LabError> {
        let mut command =
            program(name, "it comes with Debian and Ubuntu; other systems cannot build the laboratory")?;
        command.env("APT_CONFIG", self.folder.join("apt.conf"));
        Ok(command)
    }

    /// Where packages wait that belong to nothing in particular.
    pub(crate) fn archives(&self) -> PathBuf {
        self.folder.join("archives")
    }

    /// Where the packages of a kernel wait.
    pub(crate) fn archives_of(&self, release: &str) -> PathBuf {
        self.folder.join("kernel").join(release)
    }

    /// The names of packages that begin so, by the lists.
    pub(crate) fn names(&self, prefix: &str) -> Result<Vec<String>, LabError> {
        let names = run(self.apt("apt-cache")?.args(["pkgnames", prefix]))?;
        Ok(String::from_utf8_lossy(&names).lines().map(str::to_owned).collect())
    }

    /// Fetches these packages into a folder, and unpacks all that is in it.
    pub(crate) fn fetch(&self, names: &[String], archives: &Path, root: &Path) -> Result<(), LabError> {
        create(archives)?;
        run(self.apt("apt-get")?.arg("download").args(names).current_dir(archives)).map_err(unreachable)?;
        unpack_all(archives, root)
    }

    /// Fetches packages with all that they depend on into a folder, and unpacks all that is in it.
    pub(crate) fn fetch_with_needs<T: AsRef<std::ffi::OsStr>>(
        &self,
        names: &[T],
        archives: &Path,
        root: &Path,
    ) -> Result<(), LabError> {
        create(&archives.join("partial"))?;
        let mut apt = self.apt("apt-get")?;
        apt.arg("-o").arg(format!("Dir::Cache::archives={}", archives.display()));
        apt.args(["install", "-y", "--download-only", "--no-install-recommends"]).args(names);
        run(&mut apt).map_err(unreachable)?;
        unpack_all(archives, root)
    }
}

/// A step of `apt-get` that failed: the packages cannot be had.
fn unreachable(error: LabError) -> LabError {
    match error {
        LabError::Program { reason, .. } => LabError::Missing {
            what: "Debian's packages".to_owned(),
            how: format!("apt-get could not fetch them; is there a network? It said:\n{reason}"),
        },
        other => other,
    }
}

fn unpack_all(archives: &Path, root: &Path) -> Result<(), LabError> {
    create(root)?;
    let folder = fs::read_dir(archives).map_err(LabError::io("list", archives.display().to_string()))?;
    for path in folder.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
        if path.extension().is_some_and(|ending| ending == "deb") {
            run(program("dpkg", "it comes with Debian")?.arg("-x").arg(&path).arg(root))?;
        }
    }
    Ok(())
}
