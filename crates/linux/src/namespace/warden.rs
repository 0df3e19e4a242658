//! The first process of a namespace of processes, which starts commands, waits for all of them, and takes them with it.
//!
//! Three processes hold each other: this one, a guard outside of the namespace, and the first process inside. A process that makes such a
//! namespace for its children can start no thread afterwards, so that the guard makes it. The guard dies with this process and the first
//! process with the guard, by a signal of the kernel; the kernel kills everything else in the namespace with its first process.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open};
use rustix::thread::UnshareFlags;

use super::{Network, present_folder};
use crate::{LinuxError, sys};

/// A namespace of processes. Dropping it ends all processes inside.
#[derive(Debug)]
pub struct Closed {
    guard: Pid,
    first: i32,
    orders: Option<OwnedFd>,
    news: OwnedFd,
}

/// News of a command, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// It runs.
    Started(usize),
    /// It could not be started: the number of the error.
    Failed(usize, i32),
    /// It has ended.
    Ended(usize, ExitStatus),
    /// All processes have ended.
    Over,
}

/// An order to the first process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Start,
    Terminate,
}

/// A message of five bytes: a kind and a number; news have a second number.
const ORDER: usize = 5;
const NEWS: usize = 9;

impl Closed {
    /// Number of the first process, as seen from outside.
    #[must_use]
    pub const fn first_process(&self) -> i32 {
        self.first
    }

    /// Starts the command with this number; [`News::Started`] or [`News::Failed`] follows.
    pub fn start(&self, number: usize) {
        self.order(Order::Start, number);
    }

    /// Asks the command with this number to end (SIGTERM).
    pub fn terminate(&self, number: usize) {
        self.order(Order::Terminate, number);
    }

    fn order(&self, order: Order, number: usize) {
        let mut message = [order as u8, 0, 0, 0, 0];
        message[1..].copy_from_slice(&(number as u32).to_ne_bytes());
        if let Some(orders) = &self.orders {
            // A first process that is gone shows in the news.
            let _ = rustix::io::write(orders, &message);
        }
    }

    /// The next news, without waiting; `None` if there are none.
    #[must_use]
    pub fn news(&self) -> Option<News> {
        let mut message = [0; NEWS];
        // A pipe passes such a short message as a whole.
        match rustix::io::read(&self.news, &mut message) {
            Ok(NEWS) => Some(News::read(&message)),
            Err(Errno::AGAIN | Errno::INTR) => None,
            _ => Some(News::Over),
        }
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        drop(self.orders.take());
        // The guard ends after the first process, and that after all others.
        let _ = rustix::process::waitpid(Some(self.guard), WaitOptions::empty());
    }
}

impl News {
    fn read(message: &[u8; NEWS]) -> Self {
        let [kind, a, b, c, d, rest @ ..] = *message;
        let (number, value) = (u32::from_ne_bytes([a, b, c, d]) as usize, i32::from_ne_bytes(rest));
        match kind {
            0 => Self::Started(number),
            1 => Self::Failed(number, value),
            _ => Self::Ended(number, ExitStatus::from_raw(value)),
        }
    }

    fn tell(self, to: &OwnedFd) {
        let (kind, number, value) = match self {
            Self::Started(number) => (0, number, 0),
            Self::Failed(number, error) => (1, number, error),
            Self::Ended(number, status) => (2, number, status.into_raw()),
            Self::Over => return,
        };
        let mut message = [kind; NEWS];
        message[1..5].copy_from_slice(&(number as u32).to_ne_bytes());
        message[5..].copy_from_slice(&value.to_ne_bytes());
        let _ = rustix::io::write(to, &message);
    }
}

/// Starts the guard and the first process.
pub(super) fn start(commands: Vec<(Command, &Network)>) -> Result<Closed, LinuxError> {
    let pipe = |flags| pipe_with(PipeFlags::CLOEXEC | flags).map_err(LinuxError::system("make a pipe"));
    let (orders, orderer) = pipe(PipeFlags::empty())?;
    let (news, teller) = pipe(PipeFlags::empty())?;
    let (numbers, numberer) = pipe(PipeFlags::empty())?;
    let mut ours = Some((orderer, news, numbers));
    let mut theirs = Some((orders, teller, numberer));
    let folder = present_folder();
    let guard = sys::fork(|| {
        // The copy closes the ends that are not its own.
        drop(ours.take());
        let Some((orders, teller, numberer)) = theirs.take() else { return 1 };
        guard(|| First { orders, teller, running: Vec::new() }.run(commands, &folder), numberer)
    });
    let guard = guard.map_err(LinuxError::system("start the guard of a namespace"))?;
    drop(theirs);
    let lost = || LinuxError::System {
        action: "start the first process of a namespace",
        source: io::ErrorKind::UnexpectedEof.into(),
    };
    let Some((orders, news, numbers)) = ours else { return Err(lost()) };
    let mut number = [0; 4];
    let length = rustix::io::read(&numbers, &mut number).unwrap_or(0);
    let closed = Closed { guard, first: i32::from_ne_bytes(number), orders: Some(orders), news };
    if length < number.len() {
        return Err(lost());
    }
    rustix::fs::fcntl_setfl(&closed.news, rustix::fs::OFlags::NONBLOCK)
        .map_err(LinuxError::system("set up a pipe"))?;
    Ok(closed)
}

/// The guard: makes the namespace, starts its first process, tells its number, and ends after it.
fn guard(first: impl FnOnce() -> u8, numberer: OwnedFd) -> u8 {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if sys::unshare(UnshareFlags::NEWPID).is_err() {
        return 1;
    }
    let Ok(child) = sys::fork(first) else { return 1 };
    let _ = rustix::io::write(&numberer, &child.as_raw_pid().to_ne_bytes());
    drop(numberer);
    // Ctrl-C at the terminal is for the commands.
    let _ = rustix::process::setsid();
    let _ = rustix::process::waitpid(Some(child), WaitOptions::empty());
    0
}

/// The first process of the namespace.
struct First {
    orders: OwnedFd,
    teller: OwnedFd,
    running: Vec<Running>,
}

struct Running {
    number: usize,
    child: Child,
    descriptor: Option<OwnedFd>,
}

impl First {
    fn run(mut self, commands: Vec<(Command, &Network)>, folder: &CString) -> u8 {
        /// Between two looks at processes without a parent.
        const PERIOD: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
        if sys::unshare(UnshareFlags::NEWNS).is_ok() {
            let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            // Refused in containers that hide parts of it: then `/proc` shows all processes of the machine.
            let _ = mount("proc", "/proc", "proc", flags, None);
        }
        let mut commands: Vec<_> = commands.into_iter().map(Some).collect();
        loop {
            let mut fds = vec![PollFd::new(&self.orders, PollFlags::IN)];
            let running = self.running.iter().filter_map(|one| one.descriptor.as_ref());
            fds.extend(running.map(|descriptor| PollFd::new(descriptor, PollFlags::IN)));
            if poll(&mut fds, Some(&PERIOD)).is_err_and(|error| error != Errno::INTR) {
                return 1;
            }
            if !fds[0].revents().is_empty() {
                let mut message = [0; ORDER];
                match rustix::io::read(&self.orders, &mut message) {
                    Ok(ORDER) => self.obey(&message, &mut commands, folder),
                    Err(Errno::INTR) => {}
                    _ => return 0,
                }
            }
            while let Ok(Some((process, status))) = rustix::process::wait(WaitOptions::NOHANG) {
                let own = self.running.iter().position(|one| one.child.id() == process.as_raw_pid() as u32);
                if let Some(place) = own {
                    let one = self.running.remove(place);
                    News::Ended(one.number, ExitStatus::from_raw(status.as_raw())).tell(&self.teller);
                }
            }
        }
    }

    fn obey(
        &mut self,
        message: &[u8; ORDER],
        commands: &mut [Option<(Command, &Network)>],
        folder: &CString,
    ) {
        let [order, a, b, c, d] = *message;
        let number = u32::from_ne_bytes([a, b, c, d]) as usize;
        if order == Order::Terminate as u8 {
            let child = self.running.iter().find(|one| one.number == number).map(|one| one.child.id());
            if let Some(process) = child.and_then(|id| Pid::from_raw(id as i32)) {
                let _ = rustix::process::kill_process(process, Signal::TERM);
            }
            return;
        }
        let Some((command, network)) = commands.get_mut(number).and_then(Option::take) else { return };
        match sys::spawn_within(command, &[network.as_fd()], folder.clone()) {
            Ok(child) => {
                let process = Pid::from_raw(child.id() as i32);
                let descriptor = process.and_then(|process| pidfd_open(process, PidfdFlags::empty()).ok());
                self.running.push(Running { number, child, descriptor });
                News::Started(number).tell(&self.teller);
            }
            Err(error) => News::Failed(number, error.raw_os_error().unwrap_or(0)).tell(&self.teller),
        }
    }
}
