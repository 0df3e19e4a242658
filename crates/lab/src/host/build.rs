//! Everything that a machine boots from: fetched and built where it is not there yet.

use std::fs;
use std::path::{Path, PathBuf};

use super::kernel::{Kernel, Tree};
use super::packages::{Packages, Source, stamp};
use super::{create, initramfs, write};
use crate::LabError;

/// The parts that a machine boots from.
#[derive(Debug, Clone)]
pub struct Built {
    /// The kernel's release.
    pub release: String,
    /// The kernel.
    pub kernel: PathBuf,
    /// The initial file system, without program and scenario.
    pub initramfs: PathBuf,
    /// The program `airbound` that runs inside.
    pub program: PathBuf,
}

/// Where the tools come from, whatever the kernel.
const TOOLS_FROM: Source = Source { folder: "apt", suites: &["bookworm", "bookworm-backports"] };
/// Debian packages that run inside besides our own program.
const TOOLS: [&str; 8] =
    ["busybox-static", "hostapd", "iw", "iperf3", "iproute2", "iputils-ping", "nftables", "util-linux"];

/// Fetches what is not there yet, builds driver and initial file system. `program` is the `airbound` that runs inside; `say` receives
/// each step.
///
/// # Errors
/// Something must be installed, cannot be fetched, or does not build.
pub fn build(
    cache: &Path,
    kernel: Kernel,
    program: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<Built, LabError> {
    let cache = &std::path::absolute(cache).map_err(LabError::io("find", cache.display().to_string()))?;
    create(cache)?;
    let source = Packages::of(cache, kernel.source());
    let release = match kernel.release_in(cache)? {
        Some(release) => release,
        None => {
            source.update(say)?;
            kernel.newest(&source)?
        }
    };
    // Other versions of this program may share the cache: what is built from other parts has another name.
    let tools = cache.join(format!("tools-{}", stamp(TOOLS)));
    if !tools.join("complete").exists() {
        say("fetching hostapd, iw, iperf3, nft and their libraries");
        let from = Packages::of(cache, TOOLS_FROM);
        from.update(say)?;
        from.fetch_with_needs(&TOOLS, &from.archives(), &tools)?;
        write(&tools.join("complete"), "")?;
    }
    let tree = Tree::new(cache, kernel, release);
    if !tree.root.join("complete").exists() {
        say(&format!("fetching the kernel {}, its headers and what builds modules for it", tree.release));
        tree.fetch(&source)?;
        write(&tree.root.join("complete"), "")?;
    }
    let driver = tree.build_driver(say)?;
    let parts = [tools.display().to_string(), driver.display().to_string(), initramfs::CONTENT.to_owned()];
    let initramfs = tree.root.join(format!("initramfs-{}.cpio", stamp(&parts)));
    if !initramfs.exists() {
        say("putting the initial file system together");
        let files = initramfs::common(&tools, &tree.modules(), &driver)?;
        // Whole or not at all: another run may be reading it.
        let partial = tree.root.join(format!("initramfs-{}", std::process::id()));
        write(&partial, files)?;
        fs::rename(&partial, &initramfs).map_err(LabError::io("write", initramfs.display().to_string()))?;
    }
    Ok(Built { kernel: tree.image(), release: tree.release, initramfs, program: program.to_owned() })
}
