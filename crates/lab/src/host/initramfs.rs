//! The machine's initial file system: tools, libraries, kernel modules, and this program.

use std::fs;
use std::path::{Path, PathBuf};

use super::arch::Arch;
use super::initrd::Archive;
use super::kernel_modules::Modules;
use super::{program, read, run};
use crate::LabError;

/// Version of the content of [`common`], part of the cached file's name.
pub(crate) const CONTENT: &str = "6";
/// Programs of the packages, by path.
const PROGRAMS: [&str; 10] = [
    "bin/busybox",
    "usr/sbin/hostapd",
    "usr/sbin/iw",
    "sbin/iw",
    "usr/bin/iperf3",
    "bin/ip",
    "sbin/tc",
    "bin/ping",
    "usr/sbin/nft",
    "usr/bin/chrt",
];
/// A checksum module requested by algorithm name, so that it is no listed dependency. Newer kernels have it built in.
const CHECKSUM: &str = "crc32c_generic";
/// Kernel modules that the agent needs to hold packets.
const AGENT: [&str; 7] = [
    CHECKSUM,
    "nf_tables",
    "nfnetlink_queue",
    "nft_queue",
    "nft_ct",
    "nft_meta_bridge",
    "nf_conntrack_bridge",
];
/// Kernel modules that the machine loads, without their dependencies, in lists: at boot, before the driver; for a bridge; for the
/// agent; for flow offload; for VLANs. A last list is loaded at the end of the run, to hand the record to the host.
const MODULES: [(&str, &[&str]); 5] = [
    ("order", &["mac80211", "veth", "sch_netem"]),
    ("bridge", &["bridge"]),
    ("agent", &AGENT),
    ("offload", &["nf_flow_table_inet", "nft_flow_offload"]),
    ("vlan", &["8021q"]),
];

/// The part common to all machines: tools, libraries and modules.
pub(crate) fn common(arch: Arch, tools: &Path, modules: &Path, driver: &Path) -> Result<Vec<u8>, LabError> {
    let mut archive = Archive::new();
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
    let place = format!("lib/{}", arch.triplet());
    for folder in [tools.join(&place), tools.join("usr").join(&place)] {
        for path in libraries(&folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            archive.file(&format!("{place}/{name}"), 0o755, &read(&path)?);
        }
    }
    let (loader, name) = arch.loader();
    archive.file(loader, 0o755, &read(&tools.join(&place).join(name))?);
    let modules = Modules::find(modules)?;
    let mut order = Vec::new();
    for (list, names) in MODULES.into_iter().chain([("late", arch.record_modules())]) {
        let before = order.len();
        for name in names.iter().filter(|name| **name != CHECKSUM || modules.has(name)) {
            modules.need(name, &mut order)?;
        }
        let mut text = String::new();
        for module in &order[before..] {
            archive.file(&format!("modules/{}.ko", module.name), 0o644, &module.content);
            text += &format!("{}\n", module.name);
        }
        archive.file(&format!("modules/{list}"), 0o644, text.as_bytes());
    }
    archive.file("modules/airbound_radio.ko", 0o644, &read(driver)?);
    Ok(archive.finish())
}

/// The shared libraries of a folder, each by the name that programs link to.
fn libraries(folder: &Path) -> Result<Vec<PathBuf>, LabError> {
    let entries = fs::read_dir(folder).map_err(LabError::io("list", folder.display().to_string()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.retain(|path| {
        path.is_file() && path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"))
    });
    // Programs refer to a library by its symbolic link, if it has one.
    let linked: Vec<PathBuf> =
        paths.iter().filter(|path| path.is_symlink()).filter_map(|path| path.canonicalize().ok()).collect();
    paths.retain(|path| path.is_symlink() || !path.canonicalize().is_ok_and(|path| linked.contains(&path)));
    paths.sort();
    Ok(paths)
}

/// Adds the program `airbound` with its libraries. It has to run without a wrapper, since the agent starts itself a second time; so all
/// programs share one C library, the newer of the host's and the tools', since a program runs with a newer library than it was linked
/// with, but not with an older one. This process has loaded the same libraries as the program. That of another architecture is static.
pub(crate) fn add_program(archive: &mut Archive, arch: Arch, program: &Path) -> Result<(), LabError> {
    archive.file("bin/airbound", 0o755, &read(program)?);
    if arch != Arch::X86_64 || c_library() < Some(TOOLS_C_LIBRARY) {
        return Ok(());
    }
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
        let (loader, own) = arch.loader();
        let place = if name == own { loader.to_owned() } else { format!("lib/{}/{name}", arch.triplet()) };
        archive.file(&place, 0o755, &read(Path::new(path))?);
    }
    Ok(())
}

/// The version of bookworm's C library.
const TOOLS_C_LIBRARY: (u32, u32) = (2, 36);

/// The version of this host's C library.
fn c_library() -> Option<(u32, u32)> {
    let text = run(program("getconf", "part of the C library").ok()?.arg("GNU_LIBC_VERSION")).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let (major, minor) = text.trim().rsplit(' ').next()?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
