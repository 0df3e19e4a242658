//! Drops capabilities, and refuses configuration files that other users can write.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::LinuxError;

/// The capabilities that the agent uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// CAP_NET_ADMIN: queues, rules, Wi-Fi settings.
    NetworkAdministration,
    /// CAP_BPF: eBPF maps and programs.
    Bpf,
    /// CAP_PERFMON: eBPF programs that read kernel memory.
    PerformanceMonitoring,
}

impl Capability {
    /// All of them, which the agent needs for eBPF.
    pub const ALL: [Self; 3] = [Self::NetworkAdministration, Self::Bpf, Self::PerformanceMonitoring];

    const fn set(self) -> CapabilitySet {
        match self {
            Self::NetworkAdministration => CapabilitySet::NET_ADMIN,
            Self::Bpf => CapabilitySet::BPF,
            Self::PerformanceMonitoring => CapabilitySet::PERFMON,
        }
    }

    /// Its name in capabilities(7).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NetworkAdministration => "CAP_NET_ADMIN",
            Self::Bpf => "CAP_BPF",
            Self::PerformanceMonitoring => "CAP_PERFMON",
        }
    }

    /// Whether it is in this thread's effective set.
    #[must_use]
    pub fn is_held(self) -> bool {
        rustix::thread::capabilities(None).is_ok_and(|held| held.effective.contains(self.set()))
    }
}

/// Drops all capabilities except `kept`, permanently, for this thread and the threads and programs that it starts. Call it before any
/// thread is started. Capabilities of `kept` that are not held are not acquired.
///
/// # Errors
/// The kernel refused.
pub fn keep_only(kept: &[Capability]) -> Result<(), LinuxError> {
    let wanted = kept.iter().fold(CapabilitySet::empty(), |set, capability| set | capability.set());
    let held = rustix::thread::capabilities(None).map_err(LinuxError::system("read capabilities"))?;
    let permitted = held.permitted & wanted;
    rustix::thread::set_no_new_privs(true).map_err(LinuxError::system("disable new privileges"))?;
    // Inheritable and ambient, since `nft` needs CAP_NET_ADMIN if this is not a process of root.
    let sets = CapabilitySets { effective: permitted, permitted, inheritable: permitted };
    rustix::thread::set_capabilities(None, sets).map_err(LinuxError::system("drop capabilities"))?;
    for capability in permitted.iter() {
        // Kernels before 4.3 have no ambient set; child processes of root need none.
        let _ = rustix::thread::configure_capability_in_ambient_set(capability, true);
    }
    Ok(())
}

/// Reads a configuration file that only root or this process's user can write.
///
/// # Errors
/// The file or its folder is writable by other users, or the file cannot be read.
pub fn read_trusted(path: &Path) -> Result<String, LinuxError> {
    let untrusted = |path: &Path, reason: String| LinuxError::Untrusted { path: path.to_owned(), reason };
    let real = fs::canonicalize(path).map_err(|error| untrusted(path, format!("cannot be read: {error}")))?;
    let folder: PathBuf = real.parent().unwrap_or(Path::new("/")).to_owned();
    let own = rustix::process::geteuid().as_raw();
    for part in [&real, &folder] {
        let facts =
            fs::metadata(part).map_err(|error| untrusted(part, format!("cannot be read: {error}")))?;
        if facts.uid() != 0 && facts.uid() != own {
            return Err(untrusted(part, format!("belongs to user {}; it must belong to root", facts.uid())));
        }
        // In a folder with the sticky bit, such as /tmp, users cannot replace files of others.
        let is_sticky = part == &folder && facts.mode() & 0o1000 != 0;
        if facts.mode() & 0o022 != 0 && !is_sticky {
            let what = "may be written by others; `chmod go-w` it first";
            return Err(untrusted(part, what.to_owned()));
        }
    }
    fs::read_to_string(&real).map_err(|error| untrusted(path, format!("cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("to set permissions");
    }

    #[test]
    fn a_file_that_others_may_write_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("agent.toml");
        fs::write(&path, "p95 = \"20 ms\"\n").expect("a file");
        set_mode(&path, 0o644);
        assert_eq!(read_trusted(&path).expect("trusted"), "p95 = \"20 ms\"\n");
        for mode in [0o664, 0o646, 0o666] {
            set_mode(&path, mode);
            let refused = read_trusted(&path).expect_err("not trusted").to_string();
            assert!(refused.contains("agent.toml may be written by others"), "{refused}");
        }
        set_mode(&path, 0o600);
        // A user who can write the folder can replace the file, unless the sticky bit forbids it.
        set_mode(folder.path(), 0o777);
        assert!(read_trusted(&path).is_err());
        set_mode(folder.path(), 0o1777);
        assert!(read_trusted(&path).is_ok());
        // A link is followed: the permissions of its target count.
        let link = folder.path().join("link.toml");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        set_mode(&path, 0o666);
        assert!(read_trusted(&link).is_err());
        assert!(read_trusted(&folder.path().join("none.toml")).is_err());
    }

    #[test]
    fn capabilities_not_kept_are_dropped_for_good() {
        // Capabilities belong to a thread, so that the other threads keep theirs.
        let gone = std::thread::spawn(|| {
            let had = Capability::NetworkAdministration.is_held();
            keep_only(&[Capability::NetworkAdministration]).expect("to give up");
            let held = rustix::thread::capabilities(None).expect("capabilities");
            assert!((held.effective - CapabilitySet::NET_ADMIN).is_empty(), "{held:?}");
            assert_eq!(Capability::NetworkAdministration.is_held(), had);
            // They cannot be raised again.
            let all = CapabilitySets { permitted: CapabilitySet::all(), ..held };
            rustix::thread::set_capabilities(None, all).is_err()
        });
        assert!(gone.join().expect("the thread"));
    }
}
