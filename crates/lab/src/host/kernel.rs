//! The guest's kernel: its Debian packages, their files, and the driver built against it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use super::arch::Arch;
use super::packages::{Packages, Source, stamp};
use super::{program, read, run, toolchain, write};
use crate::LabError;

/// A series of Linux kernels, such as `6.12`, of which the pinned release is used, or the newest in Debian; for x86_64, or for another
/// architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel {
    major: u32,
    minor: u32,
    arch: Arch,
}

impl Kernel {
    /// Debian 13's kernel, built for Debian 12: the kernel of the documents' figures, and the oldest that is supported.
    pub const STABLE: Self = Self { major: 6, minor: 12, arch: Arch::X86_64 };
}

impl Default for Kernel {
    fn default() -> Self {
        Self::STABLE
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Kernel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number =
            |text: &str| text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
        let named = text.split_once('.').and_then(|(major, minor)| {
            Some(Self { major: number(major)?, minor: number(minor)?, ..Self::STABLE })
        });
        named.filter(|kernel| *kernel >= Self::STABLE).ok_or_else(|| {
            format!("a kernel is named by its first two numbers, as 7.2; the oldest is {}", Self::STABLE)
        })
    }
}

impl Kernel {
    /// The series for an architecture.
    ///
    /// # Errors
    /// The laboratory builds no driver for it: on arm64 it has 6.12 only.
    pub fn on(self, arch: Arch) -> Result<Self, LabError> {
        let kernel = Self { arch, ..self };
        if arch == Arch::X86_64 || kernel.is_for_debian_12() {
            return Ok(kernel);
        }
        Err(LabError::Missing {
            what: format!("a kernel {kernel} for {arch}"),
            how: format!("on {arch} it has {} only", Self::STABLE),
        })
    }

    /// The architecture.
    pub(crate) const fn arch(self) -> Arch {
        self.arch
    }

    /// Whether its packages are built for Debian 12. Those of later kernels are for Debian 13, whose C library their build tools need.
    fn is_for_debian_12(self) -> bool {
        (self.major, self.minor) == (Self::STABLE.major, Self::STABLE.minor)
    }

    pub(crate) fn source(self) -> Source {
        if self.is_for_debian_12() {
            Source::bookworm(self.arch)
        } else {
            Source {
                folder: "apt-trixie",
                suites: &["trixie", "trixie-backports"],
                architectures: self.arch.fetched(),
            }
        }
    }

    /// Whether a release (`uname -r`) is of this series.
    fn fits(self, release: &str) -> bool {
        let debian = if self.is_for_debian_12() { 12 } else { 13 };
        release.starts_with(&format!("{self}."))
            && release.ends_with(&format!("+deb{debian}-{}", self.arch.debian()))
    }

    /// The newest of these releases.
    fn newest_of(self, releases: impl Iterator<Item = String>) -> Option<String> {
        // 6.12.100 is newer than 6.12.95.
        let patch = |release: &String| {
            let third = release.split('.').nth(2).unwrap_or_default();
            let digits: String = third.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u32>().unwrap_or(0)
        };
        releases.filter(|release| self.fits(release)).max_by_key(patch)
    }

    /// The newest release in the cache.
    pub(crate) fn release_in(self, cache: &Path) -> Result<Option<String>, LabError> {
        let folders = fs::read_dir(cache).map_err(LabError::io("list", cache.display().to_string()))?;
        let ready = folders.filter_map(Result::ok).filter(|entry| entry.path().join("complete").exists());
        Ok(self.newest_of(ready.map(|entry| entry.file_name().to_string_lossy().into_owned())))
    }

    /// Whether Debian has a release.
    pub(crate) fn is_there(self, packages: &Packages, release: &str) -> Result<bool, LabError> {
        let name = format!("linux-headers-{release}");
        Ok(packages.names(&name)?.contains(&name))
    }

    /// The newest release in Debian.
    pub(crate) fn newest(self, packages: &Packages) -> Result<String, LabError> {
        let prefix = "linux-headers-";
        let names = packages.names(&format!("{prefix}{self}."))?;
        let releases = names.iter().filter_map(|name| name.strip_prefix(prefix)).map(str::to_owned);
        self.newest_of(releases).ok_or_else(|| LabError::Missing {
            what: format!("a kernel {self}"),
            how: format!("none in Debian's {}; --kernel selects another", self.source().suites.join(", ")),
        })
    }
}

/// The driver's sources, compiled into the program.
const DRIVER: [(&str, &str); 8] = [
    ("Kbuild", include_str!("../../../../lab/radio/Kbuild")),
    ("channel.h", include_str!("../../../../lab/radio/channel.h")),
    ("radio.h", include_str!("../../../../lab/radio/radio.h")),
    ("radio.c", include_str!("../../../../lab/radio/radio.c")),
    ("transmit.c", include_str!("../../../../lab/radio/transmit.c")),
    ("tid.c", include_str!("../../../../lab/radio/tid.c")),
    ("channel.c", include_str!("../../../../lab/radio/channel.c")),
    ("entry.c", include_str!("../../../../lab/radio/entry.c")),
];

/// The host's programs that compile modules of 6.12, and strip them.
fn tools(arch: Arch) -> Result<(Command, Command), LabError> {
    let packages = match arch {
        Arch::X86_64 => ["gcc", "binutils"],
        Arch::Arm64 => ["gcc-aarch64-linux-gnu", "binutils-aarch64-linux-gnu"],
    };
    let found = ["gcc", "strip"].map(|name| format!("{}{name}", arch.prefix()));
    let how = packages.map(|package| format!("sudo apt-get install {package}"));
    Ok((program(&found[0], &how[0])?, program(&found[1], &how[1])?))
}

/// Looks for the programs that an architecture needs of the host, before anything is fetched.
pub(crate) fn check_host(arch: Arch) -> Result<(), LabError> {
    let (qemu, package) = arch.qemu();
    program(qemu, &format!("sudo apt-get install --no-install-recommends {package}"))?;
    tools(arch).map(drop)
}

/// A kernel with its headers, unpacked.
#[derive(Debug)]
pub(crate) struct Tree {
    kernel: Kernel,
    pub(crate) release: String,
    pub(crate) root: PathBuf,
}

impl Tree {
    pub(crate) fn new(cache: &Path, kernel: Kernel, release: String) -> Self {
        Self { kernel, root: cache.join(&release), release }
    }

    /// The kernel's modules.
    pub(crate) fn modules(&self) -> PathBuf {
        let place = if self.kernel.is_for_debian_12() { "lib/modules" } else { "usr/lib/modules" };
        self.root.join(place).join(&self.release)
    }

    /// The kernel.
    pub(crate) fn image(&self) -> PathBuf {
        if self.kernel.is_for_debian_12() {
            self.root.join(format!("boot/vmlinuz-{}", self.release))
        } else {
            self.modules().join("vmlinuz")
        }
    }

    fn headers(&self) -> PathBuf {
        self.root.join(format!("usr/src/linux-headers-{}", self.release))
    }

    pub(crate) fn fetch(&self, packages: &Packages) -> Result<(), LabError> {
        let (release, archives) = (&self.release, packages.archives_of(&self.release));
        if self.kernel.is_for_debian_12() {
            // The packages of common headers and of build tools have the release without the architecture.
            let arch = self.kernel.arch;
            let common = release.trim_end_matches(&format!("-{}", arch.debian()));
            // The build tools run on the host.
            let host = if arch == Arch::X86_64 { "" } else { ":amd64" };
            let names = [
                format!("linux-image-{release}"),
                format!("linux-headers-{release}"),
                format!("linux-headers-{common}-common"),
                format!("linux-kbuild-{common}{host}"),
            ];
            packages.fetch(&names, &archives, &self.root)?;
        } else {
            // The headers depend on the build tools and on the compiler of the kernel.
            let names = ["headers", "modules", "binary"].map(|part| format!("linux-{part}-{release}"));
            packages.fetch_with_needs(&names, &archives, &self.root)?;
            toolchain::use_unpacked_libraries(&self.root)?;
        }
        // The makefiles have the path of an installed package.
        let makefile = self.headers().join("Makefile");
        let text = String::from_utf8_lossy(&read(&makefile)?).into_owned();
        let here = self.root.join("usr/src").display().to_string();
        write(&makefile, text.replace("/usr/src", &here))
    }

    /// The compiler of the host's programs.
    pub(crate) fn compiler(&self) -> Result<Command, LabError> {
        if self.kernel.is_for_debian_12() {
            return program("gcc", "sudo apt-get install gcc");
        }
        let mut gcc = Command::new(toolchain::compiler(&self.root)?);
        gcc.env("PATH", toolchain::path(&self.root)?);
        Ok(gcc)
    }

    /// The module, built if it is not in the cache.
    pub(crate) fn build_driver(&self, say: &mut dyn FnMut(&str)) -> Result<PathBuf, LabError> {
        let parts = DRIVER.iter().flat_map(|(name, text)| [*name, *text]);
        let folder = self.root.join(format!("radio-{}", stamp(parts)));
        let module = folder.join("airbound_radio.ko");
        if module.exists() {
            return Ok(module);
        }
        say("building the driver");
        for (name, text) in DRIVER {
            write(&folder.join(name), text)?;
        }
        let mut make = program("make", "sudo apt-get install make")?;
        make.arg("-C").arg(self.headers());
        // BTF would need pahole, and is not needed for this module.
        make.arg(format!("M={}", folder.display())).arg("CONFIG_DEBUG_INFO_BTF_MODULES=");
        let mut strip = if self.kernel.is_for_debian_12() {
            let (gcc, strip) = tools(self.kernel.arch)?;
            make.arg(format!("CC={}", gcc.get_program().to_string_lossy()));
            strip
        } else {
            make.env("PATH", toolchain::path(&self.root)?);
            toolchain::strip(&self.root)
        };
        let built = run(make.arg("modules")).and_then(|_| run(strip.arg("--strip-debug").arg(&module)));
        if let Err(error) = built {
            // An incomplete build must not be taken for a complete one.
            let _ = fs::remove_file(&module);
            return Err(error);
        }
        Ok(module)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_named_by_two_numbers() {
        assert_eq!("7.2".parse(), Ok(Kernel { major: 7, minor: 2, arch: Arch::X86_64 }));
        assert_eq!("6.12".parse(), Ok(Kernel::STABLE));
        assert_eq!(Kernel::STABLE.to_string(), "6.12");
        for text in ["", "7", "7.2.12", "v7.2", "7.+2", "6.1", "5.15", "99999999999.1"] {
            assert!(text.parse::<Kernel>().is_err_and(|why| why.contains("as 7.2")), "{text}");
        }
    }

    #[test]
    fn the_newest_release_of_the_series_is_taken() {
        let have = |releases: [&str; 5], kernel: &str| {
            let kernel: Kernel = kernel.parse().unwrap();
            kernel.newest_of(releases.map(str::to_owned).into_iter())
        };
        let trixie = ["7.2.9", "7.2.12", "7.3.4", "7.20.1", "6.12.107"];
        let names = trixie.map(|release| format!("{release}+deb13-amd64"));
        let names = names.each_ref().map(String::as_str);
        assert_eq!(have(names, "7.2").as_deref(), Some("7.2.12+deb13-amd64"));
        // Debian 13's own 6.12 differs from the one built for Debian 12.
        assert_eq!(have(names, "6.12"), None);
        let others =
            ["6.12.95+deb12-amd64", "6.12.100+deb12-amd64", "6.12.200+deb12-rt-amd64", "apt", "tools"];
        assert_eq!(have(others, "6.12").as_deref(), Some("6.12.100+deb12-amd64"));
    }

    #[test]
    fn a_release_is_of_the_architecture_that_is_asked_for() {
        let arm = Kernel::STABLE.on(Arch::Arm64).unwrap();
        let ends = ["amd64", "arm64", "arm64-16k", "cloud-arm64", "rt-arm64"];
        let fit = ends.map(|end| arm.fits(&format!("6.12.95+deb12-{end}")));
        assert_eq!(fit, [false, true, false, false, false]);
        let later: Kernel = "7.2".parse().unwrap();
        assert_eq!(later.on(Arch::X86_64).unwrap(), later);
        let refused = later.on(Arch::Arm64).unwrap_err().to_string();
        assert_eq!(refused, "the laboratory needs a kernel 7.2 for arm64: on arm64 it has 6.12 only");
    }
}
