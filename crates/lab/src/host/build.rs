//! Kernel and initial file system of a machine, fetched and built if the cache lacks them.

use std::fs;
use std::path::{Path, PathBuf};

use super::arch::Arch;
use super::kernel::{Kernel, Tree};
use super::packages::{Packages, Source, stamp};
use super::pinned::{Pin, Pinned};
use super::{create, initramfs, kernel, turns, write};
use crate::LabError;

/// The parts that a machine boots from.
#[derive(Debug, Clone)]
pub struct Built {
    /// The machine's architecture.
    pub arch: Arch,
    /// The kernel's release.
    pub release: String,
    /// Whether it is the pinned one.
    pub pinned: Pinned,
    /// The kernel.
    pub kernel: PathBuf,
    /// The initial file system without the program `airbound` and the scenario.
    pub initramfs: PathBuf,
    /// The program `airbound` that runs inside.
    pub program: PathBuf,
    /// The library that orders QEMU's threads.
    pub turns: PathBuf,
}

/// Debian packages of the programs in the machine.
const TOOLS: [&str; 8] =
    ["busybox-static", "hostapd", "iw", "iperf3", "iproute2", "iputils-ping", "nftables", "util-linux"];

/// Fetches missing packages, builds driver and initial file system. `program` is the `airbound` that runs inside, or the one by which that
/// of the kernel's architecture is found; `say` is called with each step.
///
/// # Errors
/// A required program is not installed, there is no `airbound` of the architecture, a package cannot be fetched, or the build failed.
pub fn build(
    cache: &Path,
    kernel: Kernel,
    program: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<Built, LabError> {
    let cache = &std::path::absolute(cache).map_err(LabError::io("find", cache.display().to_string()))?;
    create(cache)?;
    let arch = kernel.arch();
    let program = arch.program(program)?;
    if arch != Arch::X86_64 {
        kernel::check_host(arch)?;
    }
    let source = Packages::of(cache, kernel.source());
    let pin = Pin::of(&kernel.to_string(), arch);
    let (release, pinned) = choose(cache, kernel, pin.as_ref(), &source, say)?;
    // Versions of this program share the cache, so names include a hash of the parts.
    let of = if arch == Arch::X86_64 { String::new() } else { format!("{arch}-") };
    let tools = cache.join(format!("tools-{of}{}", stamp(TOOLS)));
    if !tools.join("complete").exists() {
        say("fetching hostapd, iw, iperf3, nft and their libraries");
        let from = Packages::of(cache, Source::bookworm(arch));
        from.update(say)?;
        from.fetch_with_needs(&TOOLS, &from.archives(), &tools)?;
        write(&tools.join("complete"), "")?;
    }
    let tree = Tree::new(cache, kernel, release);
    if !tree.root.join("complete").exists() {
        say(&format!("fetching the kernel {}, its headers and the tools to build modules", tree.release));
        tree.fetch(&source)?;
        if let Some(pin) = pin.as_ref().filter(|_| pinned == Pinned::Exact) {
            pin.check_packages(&source.archives_of(&tree.release))?;
        }
        write(&tree.root.join("complete"), "")?;
    }
    if let Some(pin) = pin.as_ref().filter(|_| pinned == Pinned::Exact) {
        pin.check_image(&tree.image())?;
    }
    let driver = tree.build_driver(say)?;
    let parts = [tools.display().to_string(), driver.display().to_string(), initramfs::CONTENT.to_owned()];
    let initramfs = tree.root.join(format!("initramfs-{}.cpio", stamp(&parts)));
    if !initramfs.exists() {
        say("building the initial file system");
        let files = initramfs::common(arch, &tools, &tree.modules(), &driver)?;
        // Renamed into place, since another run may be reading it.
        let partial = tree.root.join(format!("initramfs-{}", std::process::id()));
        write(&partial, files)?;
        fs::rename(&partial, &initramfs).map_err(LabError::io("write", initramfs.display().to_string()))?;
    }
    let turns = turns::build(cache, tree.compiler()?)?;
    let kernel = tree.image();
    Ok(Built { arch, release: tree.release, pinned, kernel, initramfs, program, turns })
}

/// The release to be booted: the pinned one; where the archive has dropped it, the newest of the series, in the cache or else in the
/// archive.
fn choose(
    cache: &Path,
    kernel: Kernel,
    pin: Option<&Pin>,
    source: &Packages,
    say: &mut dyn FnMut(&str),
) -> Result<(String, Pinned), LabError> {
    let in_cache = kernel.release_in(cache)?;
    let Some(pin) = pin else {
        let release = match in_cache {
            Some(release) => release,
            None => {
                source.update(say)?;
                kernel.newest(source)?
            }
        };
        return Ok((release, Pinned::None));
    };
    if cache.join(&pin.release).join("complete").exists() {
        return Ok((pin.release.clone(), Pinned::Exact));
    }
    let dropped = Pinned::Dropped(pin.release.clone());
    // The archive is asked once; it does not take back a release that it has dropped.
    let note = cache.join(format!("{}.dropped", pin.release));
    if note.exists()
        && let Some(release) = in_cache
    {
        say(&format!("Linux {release}{}", dropped.remark()));
        return Ok((release, dropped));
    }
    source.update(say)?;
    if kernel.is_there(source, &pin.release)? {
        return Ok((pin.release.clone(), Pinned::Exact));
    }
    let release = kernel.newest(source)?;
    write(&note, "")?;
    say(&format!("Linux {release}{}", dropped.remark()));
    Ok((release, dropped))
}
