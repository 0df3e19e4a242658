//! Kernel, headers and tools as Debian's packages, fetched and unpacked without root, and the driver built against them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{cpio, create, kernel_modules, program, read, run, write};
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
    /// The initial file system, without scenario.
    pub initramfs: PathBuf,
}

/// Debian's suites; the tools come from the first.
const SUITES: [&str; 2] = ["bookworm", "bookworm-backports"];
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// What runs inside besides our own program.
const TOOLS: [&str; 6] = ["busybox-static", "hostapd", "iw", "iperf3", "iproute2", "iputils-ping"];
/// Their programs, by the place in the package.
const PROGRAMS: [&str; 8] = [
    "bin/busybox",
    "usr/sbin/hostapd",
    "usr/sbin/iw",
    "sbin/iw",
    "usr/bin/iperf3",
    "bin/ip",
    "sbin/tc",
    "bin/ping",
];
/// Kernel modules that the guest loads, with what they need; the driver comes behind them.
const MODULES: [&str; 3] = ["mac80211", "veth", "sch_netem"];
/// Those that it loads when the run is over, to hand the record out through memory that the host shares.
const LATE_MODULES: [&str; 2] = ["nfit", "nd_pmem"];

/// The driver's sources travel with the program.
const DRIVER: [(&str, &str); 6] = [
    ("Kbuild", include_str!("../../../../lab/radio/Kbuild")),
    ("channel.h", include_str!("../../../../lab/radio/channel.h")),
    ("radio.h", include_str!("../../../../lab/radio/radio.h")),
    ("radio.c", include_str!("../../../../lab/radio/radio.c")),
    ("transmit.c", include_str!("../../../../lab/radio/transmit.c")),
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
    let tools = cache.join("tools");
    if !tools.join("complete").exists() {
        say("fetching hostapd, iw, iperf3 and their libraries");
        packages.fetch_with_needs(&TOOLS, &tools)?;
        write(&tools.join("complete"), "")?;
    }
    if !root.join("complete").exists() {
        say(&format!("fetching the kernel {release} and its headers"));
        packages.fetch_kernel(&release, &root)?;
        write(&root.join("complete"), "")?;
    }
    let driver = build_driver(&root, &release, say)?;
    let initramfs = root.join("initramfs.cpio");
    say("putting the initial file system together");
    let files = initial_files(&root, &release, &tools, &driver)?;
    // Whole or not at all: another run may be reading it.
    let partial = root.join(format!("initramfs-{}", std::process::id()));
    write(&partial, files)?;
    fs::rename(&partial, &initramfs).map_err(LabError::io("write", initramfs.display().to_string()))?;
    Ok(Built { kernel: root.join(format!("boot/vmlinuz-{release}")), release, initramfs })
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
    let folder = root.join("radio");
    let module = folder.join("airbound_radio.ko");
    let same =
        |(name, text): &(&str, &str)| fs::read(folder.join(name)).is_ok_and(|old| old == text.as_bytes());
    if module.exists() && DRIVER.iter().all(same) {
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

/// Tools, libraries, modules and our own program, as a cpio archive.
fn initial_files(root: &Path, release: &str, tools: &Path, driver: &Path) -> Result<Vec<u8>, LabError> {
    let mut archive = cpio::Archive::new();
    for folder in ["proc", "sys", "dev", "run", "tmp", "out", "lab", "etc", "var", "applets"] {
        archive.folder(folder);
    }
    archive.device("dev/console", 5, 1);
    archive.file("etc/passwd", 0o644, b"root:x:0:0::/:/bin/sh\n");
    for place in PROGRAMS {
        let path = tools.join(place);
        if path.is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            archive.file(&format!("bin/{name}"), 0o755, &read(&path)?);
        }
    }
    for folder in ["lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"] {
        for path in libraries(&tools.join(folder))? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            archive.file(&format!("lib/x86_64-linux-gnu/{name}"), 0o755, &read(&path)?);
        }
    }
    let loader = "lib64/ld-linux-x86-64.so.2";
    archive.file(loader, 0o755, &read(&tools.join("lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"))?);
    add_ourselves(&mut archive)?;
    let modules = kernel_modules::Modules::find(&root.join("lib/modules").join(release))?;
    let mut order = Vec::new();
    for (names, list) in [(&MODULES[..], "modules/order"), (&LATE_MODULES[..], "modules/late")] {
        let before = order.len();
        for name in names {
            modules.need(name, &mut order)?;
        }
        let mut text = String::new();
        for module in &order[before..] {
            archive.file(&format!("modules/{}.ko", module.name), 0o644, &module.content);
            text += &format!("{}\n", module.name);
        }
        archive.file(list, 0o644, text.as_bytes());
    }
    archive.file("modules/airbound_radio.ko", 0o644, &read(driver)?);
    Ok(archive.finish())
}

/// The shared libraries of a folder, each under the name by which it is asked for.
fn libraries(folder: &Path) -> Result<Vec<PathBuf>, LabError> {
    let entries = fs::read_dir(folder).map_err(LabError::io("list", folder.display().to_string()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.retain(|path| {
        path.is_file() && path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"))
    });
    // A library is asked for by the name of the link to it, where there is one.
    let linked: Vec<PathBuf> =
        paths.iter().filter(|path| path.is_symlink()).filter_map(|path| path.canonicalize().ok()).collect();
    paths.retain(|path| path.is_symlink() || !path.canonicalize().is_ok_and(|path| linked.contains(&path)));
    paths.sort();
    Ok(paths)
}

/// Our own program with the libraries that it runs on here, away from those of the tools: this host's C library may be newer.
fn add_ourselves(archive: &mut cpio::Archive) -> Result<(), LabError> {
    let own = std::env::current_exe().map_err(LabError::io("find", "this program"))?;
    archive.file("lab/airbound", 0o755, &read(&own)?);
    let maps = fs::read_to_string("/proc/self/maps").map_err(LabError::io("read", "/proc/self/maps"))?;
    let mut libraries: Vec<&str> = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .filter(|path| path.contains(".so"))
        .collect();
    libraries.sort_unstable();
    libraries.dedup();
    for path in libraries {
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        archive.file(&format!("lab/lib/{name}"), 0o755, &read(Path::new(path))?);
    }
    Ok(())
}
