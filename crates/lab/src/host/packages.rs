//! Kernel, headers and tools as Debian's packages, fetched and unpacked without root, and the driver built against them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{create, initramfs, program, read, run, write};
use crate::LabError;

/// The beginning and the end of the kernel's release, as `uname -r` prints it: Debian 13's kernel, built for Debian 12.
const RELEASE: (&str, &str) = ("6.12.", "+deb12-amd64");

/// What has been built.
#[derive(Debug, Clone)]
pub struct Built {
    /// The kernel's release.
    pub release: String,
    /// The kernel.
    pub kernel: PathBuf,
    /// The initial file system, without this program and without scenario.
    pub initramfs: PathBuf,
}

/// Debian's suites; the tools come from the first.
const SUITES: [&str; 2] = ["bookworm", "bookworm-backports"];
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// What runs inside besides our own program.
const TOOLS: [&str; 8] =
    ["busybox-static", "hostapd", "iw", "iperf3", "iproute2", "iputils-ping", "nftables", "util-linux"];

/// The driver's sources travel with the program.
const DRIVER: [(&str, &str); 7] = [
    ("Kbuild", include_str!("../../../../lab/radio/Kbuild")),
    ("channel.h", include_str!("../../../../lab/radio/channel.h")),
    ("radio.h", include_str!("../../../../lab/radio/radio.h")),
    ("radio.c", include_str!("../../../../lab/radio/radio.c")),
    ("transmit.c", include_str!("../../../../lab/radio/transmit.c")),
    ("tid.c", include_str!("../../../../lab/radio/tid.c")),
    ("channel.c", include_str!("../../../../lab/radio/channel.c")),
];

/// Fetches what is not there yet, builds driver and initial file system. `say` is told of each step.
///
/// # Errors
/// Something must be installed, cannot be fetched, or does not build.
pub fn build(cache: &Path, say: &mut dyn FnMut(&str)) -> Result<Built, LabError> {
    let cache = &std::path::absolute(cache).map_err(LabError::io("find", cache.display().to_string()))?;
    let packages = Packages::prepare(cache)?;
    let release = packages.release(say)?;
    let root = cache.join(&release);
    // Other versions of this program may share the cache: what is built from other parts has another name.
    let tools = cache.join(format!("tools-{}", stamp(TOOLS)));
    if !tools.join("complete").exists() {
        say("fetching hostapd, iw, iperf3, nft and their libraries");
        packages.fetch_with_needs(&TOOLS, &tools)?;
        write(&tools.join("complete"), "")?;
    }
    if !root.join("complete").exists() {
        say(&format!("fetching the kernel {release} and its headers"));
        packages.fetch_kernel(&release, &root)?;
        write(&root.join("complete"), "")?;
    }
    let driver = build_driver(&root, &release, say)?;
    let modules = root.join("lib/modules").join(&release);
    let parts = [tools.display().to_string(), driver.display().to_string(), initramfs::CONTENT.to_owned()];
    let initramfs = root.join(format!("initramfs-{}.cpio", stamp(&parts)));
    if !initramfs.exists() {
        say("putting the initial file system together");
        let files = initramfs::common(&tools, &modules, &driver)?;
        // Whole or not at all: another run may be reading it.
        let partial = root.join(format!("initramfs-{}", std::process::id()));
        write(&partial, files)?;
        fs::rename(&partial, &initramfs).map_err(LabError::io("write", initramfs.display().to_string()))?;
    }
    Ok(Built { kernel: root.join(format!("boot/vmlinuz-{release}")), release, initramfs })
}

/// A short name for what is made of these parts (FNV-1a, 64 bits).
fn stamp<T: AsRef<str>>(parts: impl IntoIterator<Item = T>) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.as_ref().bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

/// apt with folders of its own: it needs no root and changes nothing of the host's.
struct Packages {
    folder: PathBuf,
}

impl Packages {
    fn prepare(cache: &Path) -> Result<Self, LabError> {
        let folder = cache.join("apt");
        for part in ["lists/partial", "archives/partial"] {
            create(&folder.join(part))?;
        }
        let sources: String = SUITES
            .iter()
            .map(|suite| {
                format!("deb [arch=amd64 signed-by={KEYRING}] http://deb.debian.org/debian {suite} main\n")
            })
            .collect();
        write(&folder.join("sources.list"), sources)?;
        write(&folder.join("status"), "")?;
        let at = folder.display();
        let settings = format!(
            "APT::Architecture \"amd64\";\nAPT::Architectures {{ \"amd64\"; }};\nDir::State \"{at}\";\n\
             Dir::State::lists \"{at}/lists\";\nDir::State::status \"{at}/status\";\nDir::Cache \"{at}\";\n\
             Dir::Cache::archives \"{at}/archives\";\nDir::Etc::sourcelist \"{at}/sources.list\";\n\
             Dir::Etc::sourceparts \"-\";\nAPT::Sandbox::User \"\";\n"
        );
        write(&folder.join("apt.conf"), settings)?;
        Ok(Self { folder })
    }

    fn apt(&self, name: &str) -> Result<Command, LabError> {
        let mut command =
            program(name, "it comes with Debian and Ubuntu; other systems cannot build the laboratory")?;
        command.env("APT_CONFIG", self.folder.join("apt.conf"));
        Ok(command)
    }

    /// The newest release of a kernel: what is there already, or what Debian has.
    fn release(&self, say: &mut dyn FnMut(&str)) -> Result<String, LabError> {
        let (begin, end) = RELEASE;
        let fits = |name: &String| name.starts_with(begin) && name.ends_with(end);
        if let Some(cache) = self.folder.parent() {
            let folders = fs::read_dir(cache).map_err(LabError::io("list", cache.display().to_string()))?;
            let ready = folders.filter_map(Result::ok).filter(|entry| entry.path().join("complete").exists());
            let names = ready.map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(fits);
            if let Some(name) = names.max() {
                return Ok(name);
            }
        }
        say("reading Debian's lists of packages");
        if !Path::new(KEYRING).exists() {
            return Err(LabError::Missing {
                what: KEYRING.to_owned(),
                how: "sudo apt-get install debian-archive-keyring".to_owned(),
            });
        }
        run(self.apt("apt-get")?.arg("update")).map_err(unreachable)?;
        let prefix = format!("linux-headers-{begin}");
        let names = run(self.apt("apt-cache")?.args(["pkgnames", &prefix]))?;
        let names = String::from_utf8_lossy(&names).into_owned();
        let releases = names
            .lines()
            .filter_map(|name| name.strip_prefix("linux-headers-"))
            .map(str::to_owned)
            .filter(fits);
        // 6.12.100 comes behind 6.12.95.
        releases.max_by_key(|name| version(name, begin)).ok_or_else(|| LabError::Missing {
            what: format!("a kernel {begin}x"),
            how: "bookworm-backports no longer has one; docs/lab.md says what else could be used".to_owned(),
        })
    }

    /// Fetches packages with all that they depend on, and unpacks them.
    fn fetch_with_needs(&self, names: &[&str], root: &Path) -> Result<(), LabError> {
        let archives = self.folder.join("archives");
        let mut apt = self.apt("apt-get")?;
        apt.args(["install", "-y", "--download-only", "--no-install-recommends"]).args(names);
        run(&mut apt).map_err(unreachable)?;
        unpack_all(&archives, root)
    }

    fn fetch_kernel(&self, release: &str, root: &Path) -> Result<(), LabError> {
        // Headers for all architectures, and the tools that build modules, carry the release without the architecture.
        let common = release.trim_end_matches("-amd64");
        let names = [
            format!("linux-image-{release}"),
            format!("linux-headers-{release}"),
            format!("linux-headers-{common}-common"),
            format!("linux-kbuild-{common}"),
        ];
        let folder = self.folder.join("kernel").join(release);
        create(&folder)?;
        run(self.apt("apt-get")?.arg("download").args(&names).current_dir(&folder)).map_err(unreachable)?;
        unpack_all(&folder, root)?;
        // The makefiles name the place where the packages would be installed.
        let makefile = root.join(format!("usr/src/linux-headers-{release}/Makefile"));
        let text = String::from_utf8_lossy(&read(&makefile)?).into_owned();
        let here = root.join("usr/src").display().to_string();
        write(&makefile, text.replace("/usr/src", &here))
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

fn version(name: &str, begin: &str) -> u32 {
    let rest = name.strip_prefix(begin).unwrap_or_default();
    rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|number| number.parse().ok()).unwrap_or(0)
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

fn build_driver(root: &Path, release: &str, say: &mut dyn FnMut(&str)) -> Result<PathBuf, LabError> {
    let folder = root.join(format!("radio-{}", stamp(DRIVER.iter().flat_map(|(name, text)| [*name, *text]))));
    let module = folder.join("airbound_radio.ko");
    if module.exists() {
        return Ok(module);
    }
    say("building the driver");
    for (name, text) in DRIVER {
        write(&folder.join(name), text)?;
    }
    let mut make = program("make", "sudo apt-get install make")?;
    program("gcc", "sudo apt-get install gcc")?;
    make.arg("-C").arg(root.join(format!("usr/src/linux-headers-{release}")));
    // Type information for eBPF would need pahole, and this module has no use for it.
    make.arg(format!("M={}", folder.display())).args(["CC=gcc", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"]);
    if let Err(error) = run(&mut make) {
        // Half a build must not look like a whole one.
        let _ = fs::remove_file(&module);
        return Err(error);
    }
    run(program("strip", "sudo apt-get install binutils")?.arg("--strip-debug").arg(&module))?;
    Ok(module)
}
