//! The watchdog: a parent process that sees whether the agent lives, and ends it if it does not.
//!
//! A thread of the same process would be stopped with it (SIGSTOP, a debugger, a fault of the allocator), so the parent is a process of
//! its own, which does nothing else. The child writes a byte to its standard output every [`BEAT`]. When none came for the configured
//! time, the parent takes the rules away and kills the child, in this order, and takes them away as soon as a killed child's standard output
//! closes. Packets pass before: the kernel closes a dead process's packet queue first (`airbound_linux::nfqueue`), and rules then bypass it.
//! If the parent dies, the child's write fails, and it ends by itself. A child that was asked to end need not beat: when it is silent for
//! that time packets are led past it, and it is killed only when its farewell lasts too long.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use airbound_linux::now;
use airbound_units::Span;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Interval of the child's signs of life.
pub const BEAT: Span = Span::from_millis(100);
/// Longest time that a child may take to end when it is asked to.
const FAREWELL: Span = Span::from_secs(3);
/// Longest time that it may take to begin: opening queues, loading programs.
const BEGINNING: Span = Span::from_secs(15);
/// Longest wait between two checks of `stop`.
const LOOK: Duration = Duration::from_millis(50);

/// The end of the child, by its cause.
#[derive(Debug)]
pub enum Ended {
    /// By itself.
    Itself(ExitStatus),
    /// It was asked to.
    Asked(ExitStatus),
    /// It showed no sign of life for so long, and was killed.
    Hung(Span),
}

/// Runs `command` until it ends, hangs for longer than `patience`, or `stop` is set. `started` is called when it runs, `bypass` once it
/// holds packets no more, before it is waited for: to lead packets past it.
///
/// # Errors
/// It cannot be started, or waited for.
pub fn supervise(
    mut command: Command,
    patience: Span,
    stop: &AtomicBool,
    started: impl FnOnce(),
    mut bypass: impl FnMut(),
) -> io::Result<Ended> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    started();
    let watched = watch(&mut child, patience, stop, &mut bypass);
    // Whatever happened: no child is left behind.
    if watched.is_err() {
        bypass();
        let _ = child.kill();
        let _ = child.wait();
    }
    watched
}

fn watch(
    child: &mut Child,
    patience: Span,
    stop: &AtomicBool,
    bypass: &mut impl FnMut(),
) -> io::Result<Ended> {
    let mut beats = child.stdout.take().ok_or(ErrorKind)?;
    let mut has_begun = false;
    let mut asked = None;
    let mut led_past = false;
    let mut last = now();
    loop {
        if stop.load(Ordering::Relaxed) && asked.is_none() {
            // End of file on its standard input is the wish to end.
            drop(child.stdin.take());
            asked = Some(now());
        }
        let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
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
                    return Ok(if asked.is_some() { Ended::Asked(status) } else { Ended::Itself(status) });
                }
                Ok(_) => {
                    has_begun = true;
                    last = now();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let silent = now().since(last);
        let most = if has_begun { patience } else { BEGINNING.max(patience) };
        let overdue = asked.is_some_and(|since| now().since(since) > FAREWELL);
        if overdue || (silent > most && asked.is_none()) {
            bypass();
            child.kill()?;
            child.wait()?;
            return Ok(Ended::Hung(silent));
        }
        if silent > most && !led_past {
            // It takes leave, which lasts a tenth of a second for each eBPF program and leaves it no time to beat.
            bypass();
            led_past = true;
        }
    }
}

/// A pipe that is not there.
struct ErrorKind;

impl From<ErrorKind> for io::Error {
    fn from(_: ErrorKind) -> Self {
        Self::other("the child has no standard output")
    }
}

/// The child's side.
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
    /// A heart that has not beaten.
    #[must_use]
    pub const fn new() -> Self {
        Self { last: None }
    }

    /// Beats if it is time; `false` if nobody listens any more, or somebody wishes that the child ends.
    pub fn beat(&mut self) -> bool {
        let time = now();
        if self.last.is_some_and(|last| time.since(last) < BEAT) {
            return true;
        }
        self.last = Some(time);
        let heard = rustix::io::write(io::stdout().as_fd(), b".");
        // A pipe full of beats that nobody reads: the parent is stopped, which is no reason to die.
        let lives = !matches!(heard, Err(error) if error != rustix::io::Errno::AGAIN && error != rustix::io::Errno::INTR);
        lives && !is_asked_to_end()
    }
}

/// Whether standard input has ended.
fn is_asked_to_end() -> bool {
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
    fn an_end_of_its_own_is_told() {
        let stop = AtomicBool::new(false);
        match supervise(shell("echo; exit 3"), Span::from_secs(5), &stop, || (), || ()).expect("started") {
            Ended::Itself(status) => assert_eq!(status.code(), Some(3)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn who_hangs_is_ended_in_time() {
        let stop = AtomicBool::new(false);
        let before = now();
        // It beats once, then stops itself, as a debugger or SIGSTOP would.
        match supervise(shell("echo; kill -STOP $$"), Span::from_millis(300), &stop, || (), || ())
            .expect("started")
        {
            Ended::Hung(silent) => assert!(silent >= Span::from_millis(300)),
            other => panic!("{other:?}"),
        }
        assert!(now().since(before) < Span::from_secs(3));
    }

    #[test]
    fn packets_are_led_past_a_child_that_takes_its_time_to_end() {
        let stop = AtomicBool::new(false);
        let mut led_past = None;
        // As a killed process whose other descriptors the kernel is still closing.
        let slow = shell("echo; exec >&-; sleep 1");
        let ended =
            supervise(slow, Span::from_secs(5), &stop, || (), || led_past = Some(now())).expect("started");
        assert!(matches!(ended, Ended::Itself(status) if status.success()), "{ended:?}");
        assert!(now().since(led_past.expect("led past it")) > Span::from_millis(500));
    }

    #[test]
    fn a_wish_to_end_reaches_the_child() {
        let stop = AtomicBool::new(true);
        match supervise(shell("echo; cat; exit 0"), Span::from_secs(5), &stop, || (), || ()).expect("started")
        {
            Ended::Asked(status) => assert!(status.success()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn who_takes_leave_need_not_beat() {
        let stop = AtomicBool::new(true);
        let mut led_past = 0;
        let slow = shell("echo; cat; sleep 1; exit 0");
        let ended = supervise(slow, Span::from_millis(300), &stop, || (), || led_past += 1).expect("started");
        assert!(matches!(ended, Ended::Asked(status) if status.success()), "{ended:?}");
        // Once while it was silent, once when it was gone.
        assert_eq!(led_past, 2);
    }

    #[test]
    fn who_does_not_heed_it_is_killed() {
        let stop = AtomicBool::new(true);
        let script = "trap '' TERM; while :; do echo; sleep 0.1; done";
        assert!(matches!(
            supervise(shell(script), Span::from_secs(9), &stop, || (), || ()).expect("started"),
            Ended::Hung(_)
        ));
    }
}
