//! The watchdog: a parent process that monitors the agent's heartbeat, and kills the agent when it hangs.
//!
//! A thread of the same process would stop with it (SIGSTOP, a debugger, a fault of the allocator), so the parent is a process of its
//! own. The child writes a byte to its standard output every [`BEAT`]. After the configured time without a byte the parent kills the child
//! and removes the nftables rules, in this order. When the child's standard output closes, the parent removes the rules at once;
//! packets already bypass the queue, since the kernel closes a dead process's packet queue first (`airbound_linux::nfqueue`). If the
//! parent dies, the child's write fails and the child shuts down. During a shutdown, requested or announced by the child
//! ([`announce_end`]), heartbeats are not required: a silent child is bypassed, and killed only when the shutdown takes too long.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use airbound_linux::now;
use airbound_units::Span;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Interval of the child's heartbeats.
pub const BEAT: Span = Span::from_millis(100);
/// The byte by which the child announces that it ends.
const ENDS: u8 = b'E';
/// Longest duration of a shutdown.
const SHUTDOWN: Span = Span::from_secs(3);
/// Longest time to the first heartbeat: opening queues, loading programs.
const STARTUP: Span = Span::from_secs(15);
/// Longest interval between two checks of `stop`; heartbeats come more often.
const STOP_CHECK: Span = Span::from_millis(150);
/// A wait ends this long after the heartbeat is overdue.
const MARGIN: Span = Span::from_millis(1);

/// An attempt that lasted this long did not fail at once.
const LASTED: Span = Span::from_secs(10);

/// The cause of the child's end.
#[derive(Debug)]
pub enum Ended {
    /// The child exited by itself.
    Itself(ExitStatus),
    /// Shutdown was requested.
    Asked(ExitStatus),
    /// The child sent no heartbeat for this time, and was killed.
    Hung(Span),
}

/// Runs `command` until it exits, sends no heartbeat for `timeout`, or `stop` is set. `started` is called once it runs; `bypass` is called
/// when packets have to bypass it, before it is waited for.
///
/// # Errors
/// The command cannot be started, or waited for.
pub fn supervise(
    mut command: Command,
    timeout: Span,
    stop: &AtomicBool,
    started: impl FnOnce(),
    mut bypass: impl FnMut(),
) -> io::Result<Ended> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    started();
    let watched = watch(&mut child, timeout, stop, &mut bypass);
    // No child outlives an error.
    if watched.is_err() {
        bypass();
        let _ = child.kill();
        let _ = child.wait();
    }
    watched
}

/// Calls `attempt` again and again, `pause` after each end, until `stop` is set; returns the last result. `failed` receives each error but
/// those that repeat the one before at once.
///
/// # Errors
/// That of the attempt during which `stop` was set.
pub fn again<E: ToString>(
    stop: &AtomicBool,
    pause: Span,
    mut attempt: impl FnMut() -> Result<(), E>,
    mut failed: impl FnMut(&E),
) -> Result<(), E> {
    let mut last = None;
    loop {
        let began = now();
        let result = attempt();
        if stop.load(Ordering::Relaxed) {
            return result;
        }
        let text = result.as_ref().err().map(ToString::to_string);
        if let Err(error) = &result
            && (text != last || now().since(began) > LASTED)
        {
            failed(error);
        }
        last = text;
        let ended = now();
        loop {
            let left = pause.saturating_sub(now().since(ended));
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            if left.is_zero() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_nanos(left.min(STOP_CHECK).as_nanos()));
        }
    }
}

fn watch(
    child: &mut Child,
    timeout: Span,
    stop: &AtomicBool,
    bypass: &mut impl FnMut(),
) -> io::Result<Ended> {
    let mut beats = child.stdout.take().ok_or(MissingPipe)?;
    let mut has_begun = false;
    let mut is_asked = false;
    let mut ending = None;
    let mut bypassed = false;
    let mut last = now();
    loop {
        if stop.load(Ordering::Relaxed) && !is_asked {
            // End of file on its standard input requests shutdown.
            drop(child.stdin.take());
            is_asked = true;
            ending.get_or_insert_with(now);
        }
        let most = if has_begun { timeout } else { STARTUP.max(timeout) };
        let left = (most + MARGIN).saturating_sub(now().since(last));
        // What is overdue already ends by itself, or with the time for a shutdown.
        let wait = if left.is_zero() { STOP_CHECK } else { left.min(STOP_CHECK) };
        let wait = Timespec { tv_sec: 0, tv_nsec: wait.as_nanos().cast_signed() };
        let readable = {
            let mut fds = [PollFd::new(&beats, PollFlags::IN)];
            match poll(&mut fds, Some(&wait)) {
                Ok(count) => count > 0,
                Err(rustix::io::Errno::INTR) => false,
                Err(error) => return Err(error.into()),
            }
        };
        if readable {
            let mut bytes = [0; 64];
            match beats.read(&mut bytes) {
                Ok(0) => {
                    bypass();
                    let status = child.wait()?;
                    return Ok(if is_asked { Ended::Asked(status) } else { Ended::Itself(status) });
                }
                Ok(count) => {
                    if bytes[..count].contains(&ENDS) {
                        ending.get_or_insert_with(now);
                    }
                    has_begun = true;
                    last = now();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let silent = now().since(last);
        let overdue = ending.is_some_and(|since| now().since(since) > SHUTDOWN);
        if overdue || (silent > most && ending.is_none()) {
            // Packets bypass a killed child at once; rules are for one that cannot die, as in a driver that waits.
            child.kill()?;
            bypass();
            child.wait()?;
            return Ok(Ended::Hung(silent));
        }
        if silent > most && !bypassed {
            // Detaching an eBPF program takes 0.1 s, during which the child sends no heartbeat.
            bypass();
            bypassed = true;
        }
    }
}

/// The child has no pipe at its standard output.
struct MissingPipe;

impl From<MissingPipe> for io::Error {
    fn from(_: MissingPipe) -> Self {
        Self::other("the child has no standard output")
    }
}

/// The child's end of the heartbeat.
#[derive(Debug)]
pub struct Heartbeat {
    last: Option<airbound_units::Instant>,
}

impl Default for Heartbeat {
    fn default() -> Self {
        Self::new()
    }
}

impl Heartbeat {
    /// A heartbeat that has not been sent yet. A parent that does not read, as one that is stopped, does not block it.
    #[must_use]
    pub fn new() -> Self {
        // Refused for what is no pipe, which does not block either.
        let _ = rustix::io::ioctl_fionbio(io::stdout().as_fd(), true);
        Self { last: None }
    }

    /// Sends a heartbeat when due. Returns `false` if the parent is gone or requests shutdown.
    pub fn beat(&mut self) -> bool {
        let time = now();
        if self.last.is_some_and(|last| time.since(last) < BEAT) {
            return true;
        }
        self.last = Some(time);
        let written = rustix::io::write(io::stdout().as_fd(), b".");
        // A full pipe means that the parent is stopped, which does not end the child.
        let lives = !matches!(written, Err(error) if error != rustix::io::Errno::AGAIN && error != rustix::io::Errno::INTR);
        lives && !is_shutdown_requested()
    }
}

/// Tells the parent that this process ends by itself. Taking eBPF programs away takes the kernel 0.1 s each, without a heartbeat.
pub fn announce_end() {
    let _ = rustix::io::write(io::stdout().as_fd(), &[ENDS]);
}

/// Whether standard input has ended.
fn is_shutdown_requested() -> bool {
    let input = io::stdin();
    let mut fds = [PollFd::new(&input, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut fds, Some(&at_once)).is_ok_and(|count| count > 0) {
        return matches!(rustix::io::read(input.as_fd(), &mut [0; 16]), Ok(0));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn an_exit_of_the_child_is_reported() {
        let stop = AtomicBool::new(false);
        match supervise(shell("echo; exit 3"), Span::from_secs(5), &stop, || (), || ()).expect("started") {
            Ended::Itself(status) => assert_eq!(status.code(), Some(3)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_hanging_child_is_killed_in_time() {
        let (stop, watchdog) = (AtomicBool::new(false), crate::config::Config::default().watchdog);
        let (before, mut bypassed) = (now(), None);
        // One heartbeat, then SIGSTOP.
        match supervise(shell("echo; kill -STOP $$"), watchdog, &stop, || (), || bypassed = Some(now()))
            .expect("started")
        {
            Ended::Hung(silent) => assert!(silent >= Span::from_millis(700)),
            other => panic!("{other:?}"),
        }
        assert!(bypassed.expect("bypassed").since(before) < Span::from_secs(3));
    }

    #[test]
    fn a_child_that_ends_slowly_is_bypassed() {
        let stop = AtomicBool::new(false);
        let mut bypassed = None;
        // Like a killed process whose other descriptors are still being closed by the kernel.
        let slow = shell("echo; exec >&-; sleep 1");
        let ended =
            supervise(slow, Span::from_secs(5), &stop, || (), || bypassed = Some(now())).expect("started");
        assert!(matches!(ended, Ended::Itself(status) if status.success()), "{ended:?}");
        assert!(now().since(bypassed.expect("bypassed")) > Span::from_millis(500));
    }

    #[test]
    fn what_fails_is_begun_again_and_said_once() {
        let stop = AtomicBool::new(false);
        let mut errors = vec!["late", "late", "hung", "late"].into_iter();
        let mut said = Vec::new();
        let attempt = || match errors.next() {
            Some(error) => Err(error),
            None => {
                stop.store(true, Ordering::Relaxed);
                Ok(())
            }
        };
        let result = again(&stop, Span::from_millis(1), attempt, |error| said.push(*error));
        assert_eq!((result, said), (Ok(()), vec!["late", "hung", "late"]));
    }

    #[test]
    fn a_pause_ends_with_a_shutdown_request() {
        let (stop, before) = (AtomicBool::new(false), now());
        let result =
            again(&stop, Span::from_secs(60), || Err("late"), |_| stop.store(true, Ordering::Relaxed));
        assert_eq!(result, Ok(()));
        assert!(now().since(before) < Span::from_secs(30));
    }

    #[test]
    fn a_child_that_fails_leaves_another_alone() {
        let stop = AtomicBool::new(false);
        let begun = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let other = scope
                .spawn(|| supervise(shell("echo; cat; exit 0"), Span::from_secs(60), &stop, || (), || ()));
            let attempt = || {
                if begun.fetch_add(1, Ordering::Relaxed) == 2 {
                    assert!(!other.is_finished(), "it runs while the first is begun again");
                    stop.store(true, Ordering::Relaxed);
                }
                match supervise(shell("echo; kill -9 $$"), Span::from_secs(5), &stop, || (), || ()) {
                    Ok(Ended::Itself(status)) => Err(status.to_string()),
                    other => Err(format!("{other:?}")),
                }
            };
            let _ = again(&stop, Span::from_millis(1), attempt, |_| ());
            let ended = other.join().expect("no panic").expect("started");
            assert!(matches!(ended, Ended::Asked(status) if status.success()), "{ended:?}");
        });
        assert_eq!(begun.into_inner(), 3);
    }

    #[test]
    fn a_shutdown_request_reaches_the_child() {
        let stop = AtomicBool::new(true);
        match supervise(shell("echo; cat; exit 0"), Span::from_secs(5), &stop, || (), || ()).expect("started")
        {
            Ended::Asked(status) => assert!(status.success()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn no_heartbeat_is_required_during_shutdown() {
        let stop = AtomicBool::new(true);
        let mut bypassed = 0;
        let slow = shell("echo; cat; sleep 1; exit 0");
        let ended = supervise(slow, Span::from_millis(300), &stop, || (), || bypassed += 1).expect("started");
        assert!(matches!(ended, Ended::Asked(status) if status.success()), "{ended:?}");
        // Once while the child was silent, once at its end.
        assert_eq!(bypassed, 2);
    }

    #[test]
    fn no_heartbeat_is_required_once_the_child_says_that_it_ends() {
        let stop = AtomicBool::new(false);
        let slow = shell("echo; echo E; sleep 1; exit 3");
        let ended = supervise(slow, Span::from_millis(300), &stop, || (), || ()).expect("started");
        assert!(matches!(ended, Ended::Itself(status) if status.code() == Some(3)), "{ended:?}");
        let for_ever = shell("echo E; exec sleep 60");
        let ended = supervise(for_ever, Span::from_millis(300), &stop, || (), || ()).expect("started");
        assert!(matches!(ended, Ended::Hung(silent) if silent >= Span::from_secs(2)), "{ended:?}");
    }

    #[test]
    fn a_child_that_ignores_a_shutdown_request_is_killed() {
        let stop = AtomicBool::new(true);
        let script = "trap '' TERM; while :; do echo; sleep 0.1; done";
        assert!(matches!(
            supervise(shell(script), Span::from_secs(9), &stop, || (), || ()).expect("started"),
            Ended::Hung(_)
        ));
    }
}
