//! A process that is ended when its time is over.

use std::process::{Child, Output};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::LabError;

/// A running process, and the thread that ends it.
pub(super) struct Watched {
    child: Child,
    watch: Option<(Sender<()>, JoinHandle<bool>)>,
}

impl Watched {
    pub(super) fn new(child: Child, limit: Option<Duration>) -> Self {
        let process = Pid::from_child(&child);
        let watch = limit.map(|limit| {
            let (sender, receiver) = channel::<()>();
            let thread = std::thread::spawn(move || {
                let late = receiver.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
                // It has not been waited for: the number is still its own.
                late && kill_process(process, Signal::KILL).is_ok()
            });
            (sender, thread)
        });
        Self { child, watch }
    }

    /// Ends it at once.
    pub(super) fn stop(&self) {
        // One that has ended is not waited for yet: the number is still its own.
        let _ = kill_process(Pid::from_child(&self.child), Signal::KILL);
    }

    /// Waits for its end, once its output is closed: its error output, and whether its time was over.
    pub(super) fn end(self) -> Result<(Output, bool), LabError> {
        let late = self.watch.is_some_and(|(sender, thread)| {
            drop(sender);
            thread.join().unwrap_or(false)
        });
        let output = self.child.wait_with_output().map_err(LabError::io("wait for", "QEMU"))?;
        Ok((output, late))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_ends_when_its_time_is_over() {
        let run = |line: &str, limit| {
            let mut command = Command::new("sh");
            let mut child = command.args(["-c", line]).stdout(Stdio::piped()).spawn().unwrap();
            let mut output = child.stdout.take().unwrap();
            let watched = Watched::new(child, limit);
            output.read_to_end(&mut Vec::new()).unwrap();
            watched.end().unwrap()
        };
        let (output, late) = run("exec sleep 100", Some(Duration::from_millis(50)));
        assert!(late && !output.status.success());
        let (output, late) = run("exit 3", Some(Duration::from_secs(100)));
        assert!(!late && output.status.code() == Some(3));
        assert!(!run("true", None).1);
    }
}
