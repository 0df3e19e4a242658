//! Namespaces: processes with networks, files and process numbers of their own, which leave nothing behind.
//!
//! [`World::enter`] takes this process into new namespaces, [`World::add_network`] makes one network after the other, and
//! [`World::close`] starts the process whose end is the end of all others there ([`Closed`]). All this has to happen before the first
//! thread is started.

mod warden;

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, Command};

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount,
};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::DumpableBehavior;
use rustix::thread::{CapabilitySet, UnshareFlags};

pub use warden::{Closed, News};

use crate::{LinuxError, sys};

/// Asks for a real-time class (SCHED_FIFO) for this thread; children have the ordinary one. Has to come before [`World::enter`]: a user
/// namespace may not.
///
/// # Errors
/// Neither root, nor CAP_SYS_NICE, nor a limit on real-time priorities (RLIMIT_RTPRIO).
pub fn set_real_time() -> Result<(), LinuxError> {
    /// Above other threads, below those of the kernel that serve interrupts (50).
    const PRIORITY: u8 = 10;
    sys::set_real_time(PRIORITY).map_err(LinuxError::system("set a real-time class"))
}

/// Makes timers of this thread as exact as the kernel can.
pub fn set_exact_timers() {
    // A kernel that refuses keeps its 50 us.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// Namespaces that are being made.
#[derive(Debug)]
pub struct World {
    has_own_users: bool,
}

/// A network namespace.
#[derive(Debug)]
pub struct Network(OwnedFd);

impl AsFd for Network {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl World {
    /// Takes this process into a mount namespace of its own, and its children to come into one of processes; without CAP_SYS_ADMIN into a
    /// user namespace besides, in which users keep their numbers. `files` are shown with other content, where they exist.
    ///
    /// # Errors
    /// The kernel does not permit user namespaces, with the way out.
    pub fn enter(files: &[(&Path, String)]) -> Result<Self, LinuxError> {
        let held = rustix::thread::capabilities(None).map(|sets| sets.effective);
        let wanted = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN;
        let has_own_users = !held.is_ok_and(|held| held.contains(wanted));
        if has_own_users {
            enter_users().map_err(no_namespaces)?;
        }
        sys::unshare(UnshareFlags::NEWNS).map_err(no_namespaces)?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
            .map_err(io::Error::from)
            .map_err(no_namespaces)?;
        show(files).map_err(LinuxError::system("show files of its own in a mount namespace"))?;
        Ok(Self { has_own_users })
    }

    /// Whether it is in a user namespace of its own.
    #[must_use]
    pub const fn has_own_users(&self) -> bool {
        self.has_own_users
    }

    /// Makes a network, in which this process then is.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn add_network(&self) -> Result<Network, LinuxError> {
        sys::unshare(UnshareFlags::NEWNET).map_err(no_namespaces)?;
        let file =
            File::open("/proc/thread-self/ns/net").map_err(LinuxError::system("open a network namespace"))?;
        // Everybody may ping, as on most systems; where the group is not known here, nobody may.
        let group = rustix::process::getgid().as_raw();
        let _ = fs::write("/proc/sys/net/ipv4/ping_group_range", format!("{group} {group}"));
        Ok(Network(file.into()))
    }

    /// Starts the first process of a namespace of processes, which will start `commands` when it is told to.
    ///
    /// # Errors
    /// The kernel refuses, or a thread was started.
    pub fn close(self, commands: Vec<(Command, &Network)>) -> Result<Closed, LinuxError> {
        warden::start(commands)
    }
}

impl Network {
    /// Number of its descriptor in this process.
    #[must_use]
    pub fn descriptor(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// A name that other processes of this machine can read as long as this one lives: an abstract Unix socket, which is no file.
#[derive(Debug)]
pub struct Sign(OwnedFd);

impl Sign {
    /// A sign without a name, in the present network.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn blank() -> Result<Self, LinuxError> {
        let (family, kind, flags) = (AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC);
        let made = rustix::net::socket_with(family, kind, flags, None);
        Ok(Self(made.map_err(LinuxError::system("open a socket"))?))
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// The name is too long (107 bytes) or taken.
    pub fn show(&mut self, name: &str) -> Result<(), LinuxError> {
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes());
        let bound = address.and_then(|address| rustix::net::bind(&self.0, &address));
        bound.map_err(LinuxError::system("name a socket"))
    }

    /// The names of all signs in the present network, and of other abstract sockets.
    #[must_use]
    pub fn all() -> Vec<String> {
        let text = fs::read_to_string("/proc/net/unix").unwrap_or_default();
        let names = text.lines().filter_map(|line| line.split_whitespace().nth(7)?.strip_prefix('@'));
        names.map(str::to_owned).collect()
    }
}

/// Starts a command in the namespaces of a running process: users, files, process numbers, and a network that is open there as a
/// descriptor.
///
/// # Errors
/// The process is another user's or gone, a thread was started, or the command cannot be started.
pub fn spawn_beside(
    command: Command,
    owner: i32,
    first_process: i32,
    network: i32,
) -> Result<Child, LinuxError> {
    let open =
        |path: String| File::open(path).map_err(LinuxError::system("open the namespaces of an emulation"));
    let network = open(format!("/proc/{owner}/fd/{network}"))?;
    let of_first = |name: &str| open(format!("/proc/{first_process}/ns/{name}"));
    let (users, mounts, processes) = (of_first("user")?, of_first("mnt")?, of_first("pid")?);
    let folder = present_folder();
    let entered = LinuxError::system("enter the namespaces of an emulation");
    let is_same = |name: &str| {
        let link = |process: &str| fs::read_link(format!("/proc/{process}/ns/{name}")).ok();
        link("self") == link(&first_process.to_string())
    };
    // Of an emulation that root started, users are the same.
    if !is_same("user") {
        rustix::thread::move_into_link_name_space(users.as_fd(), None).map_err(entered)?;
    }
    let entered = LinuxError::system("enter the processes of an emulation");
    rustix::thread::move_into_link_name_space(processes.as_fd(), None).map_err(entered)?;
    sys::spawn_within(command, &[mounts.as_fd(), network.as_fd()], folder)
        .map_err(LinuxError::system("start the command"))
}

/// Whether a process is this user's.
#[must_use]
pub fn is_own_process(number: i32) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::metadata(format!("/proc/{number}")).is_ok_and(|facts| facts.uid() == own)
}

/// The present folder as a path.
fn present_folder() -> CString {
    let folder = std::env::current_dir().unwrap_or_else(|_| "/".into());
    CString::new(folder.as_os_str().as_bytes()).unwrap_or_default()
}

/// Into a user namespace, in which the numbers of user and group stay.
fn enter_users() -> io::Result<()> {
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    // A program with capabilities of its file may not write its own maps otherwise.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable);
    sys::unshare(UnshareFlags::NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn no_namespaces(error: io::Error) -> LinuxError {
    LinuxError::Unavailable {
        what: "a user namespace",
        why: format!(
            "{error}; run it as root, or permit user namespaces: `sysctl user.max_user_namespaces=10000`, on Ubuntu \
             `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, in a container by its options"
        ),
    }
}

/// Shows files with other content in this mount namespace. They are held by a file system in memory without a name.
fn show(files: &[(&Path, String)]) -> io::Result<()> {
    let place = Path::new("/tmp");
    mount("airbound", place, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(c"mode=755"))?;
    let shown = files.iter().enumerate().filter(|(_, (path, _))| path.exists()).try_for_each(
        |(number, (path, content))| {
            let source = place.join(number.to_string());
            fs::write(&source, content)?;
            Ok(mount_bind(&source, *path)?)
        },
    );
    unmount(place, UnmountFlags::DETACH)?;
    shown
}
