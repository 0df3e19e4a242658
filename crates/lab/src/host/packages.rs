//! Debian packages, fetched with a separate apt configuration and unpacked without root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::arch::Arch;
use super::{archive, create, program, run, write};
use crate::LabError;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A hash of parts for the names of cached files (FNV-1a, 64 bits).
pub(crate) fn stamp<T: AsRef<str>>(parts: impl IntoIterator<Item = T>) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.as_ref().bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

/// Suites of Debian, and the cache folder of their packages. Suites are separated, since apt installs the newest version of all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source {
    pub(crate) folder: &'static str,
    pub(crate) suites: &'static [&'static str],
    /// The first is that of the packages without a named one.
    pub(crate) architectures: &'static [&'static str],
}

impl Source {
    /// Debian 12 with its backports: the source of the tools, and of the kernel 6.12.
    pub(crate) const fn bookworm(arch: Arch) -> Self {
        let folder = match arch {
            Arch::X86_64 => "apt",
            Arch::Arm64 => "apt-arm64",
        };
        Self { folder, suites: &["bookworm", "bookworm-backports"], architectures: arch.fetched() }
    }
}

/// apt with separate folders: it needs no root, and does not change the host.
#[derive(Debug)]
pub(crate) struct Packages {
    folder: PathBuf,
    source: Source,
}

impl Packages {
    pub(crate) fn of(cache: &Path, source: Source) -> Self {
        Self { folder: cache.join(source.folder), source }
    }

    /// Updates the package lists.
    pub(crate) fn update(&self, say: &mut dyn FnMut(&str)) -> Result<(), LabError> {
        if !Path::new(KEYRING).exists() {
            return Err(LabError::Missing {
                what: format!("Debian's archive keys in {KEYRING}"),
                how: "sudo apt-get install debian-archive-keyring".to_owned(),
            });
        }
        let archive = archive::uri()?;
        say("updating Debian's package lists");
        for part in ["lists/partial", "archives/partial"] {
            create(&self.folder.join(part))?;
        }
        let all = self.source.architectures;
        let listed = all.join(",");
        let line = |suite| format!("deb [arch={listed} signed-by={KEYRING}] {archive} {suite} main\n");
        write(&self.folder.join("sources.list"), self.source.suites.iter().map(line).collect::<String>())?;
        write(&self.folder.join("status"), "")?;
        let at = self.folder.display();
        let own = all.first().unwrap_or(&"");
        let quoted: String = all.iter().map(|name| format!("\"{name}\"; ")).collect();
        let settings = format!(
            "APT::Architecture \"{own}\";\nAPT::Architectures {{ {quoted}}};\nDir::State \"{at}\";\n\
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
            program(name, "part of Debian and Ubuntu; other systems cannot build the laboratory")?;
        command.env("APT_CONFIG", self.folder.join("apt.conf"));
        Ok(command)
    }

    /// The folder of downloaded packages of the tools.
    pub(crate) fn archives(&self) -> PathBuf {
        self.folder.join("archives")
    }

    /// The folder of downloaded packages of a kernel.
    pub(crate) fn archives_of(&self, release: &str) -> PathBuf {
        self.folder.join("kernel").join(release)
    }

    /// The names of packages with a prefix, from the lists.
    pub(crate) fn names(&self, prefix: &str) -> Result<Vec<String>, LabError> {
        let names = run(self.apt("apt-cache")?.args(["pkgnames", prefix]))?;
        Ok(String::from_utf8_lossy(&names).lines().map(str::to_owned).collect())
    }

    /// Fetches packages into a folder, and unpacks all packages of the folder.
    pub(crate) fn fetch(&self, names: &[String], archives: &Path, root: &Path) -> Result<(), LabError> {
        create(archives)?;
        run(self.apt("apt-get")?.arg("download").args(names).current_dir(archives)).map_err(unreachable)?;
        unpack_all(archives, root)
    }

    /// Fetches packages with their dependencies into a folder, and unpacks all packages of the folder.
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

/// The error of a failed `apt-get`: packages are not available.
fn unreachable(error: LabError) -> LabError {
    match error {
        LabError::Program { reason, .. } => LabError::Missing {
            what: "Debian's packages".to_owned(),
            how: format!("apt-get cannot fetch them; a network is required:\n{reason}"),
        },
        other => other,
    }
}

fn unpack_all(archives: &Path, root: &Path) -> Result<(), LabError> {
    create(root)?;
    let folder = fs::read_dir(archives).map_err(LabError::io("list", archives.display().to_string()))?;
    for path in folder.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
        if path.extension().is_some_and(|ending| ending == "deb") {
            run(program("dpkg", "part of Debian")?.arg("-x").arg(&path).arg(root))?;
        }
    }
    Ok(())
}
