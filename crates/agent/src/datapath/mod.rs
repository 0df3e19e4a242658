//! The loop: what the kernel tells goes into the engine, what the engine decides goes to the kernel. One thread.

mod classify;
mod plan;
mod serve;
mod settings;
mod tune;

use std::sync::{Arc, Mutex, PoisonError};

use airbound_units::Span;

use crate::error::AgentError;
use crate::http::Shared;
use crate::snapshot::Snapshot;

pub use plan::{Action, Plan};

/// Callbacks and data that the loop needs of the process around it.
pub struct Around<'a> {
    /// Called often; `false` means that the agent shall end.
    pub beat: &'a mut dyn FnMut() -> bool,
    /// Called once when everything is open and privileges are given up: the time to start threads.
    pub opened: &'a mut dyn FnMut() -> Result<(), AgentError>,
    /// Where the picture is shown, if anywhere.
    pub shared: Option<Shared>,
    /// Mixed into the hashes of flows; nobody outside should know it.
    pub secret: u64,
}

impl std::fmt::Debug for Around<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Around").finish_non_exhaustive()
    }
}

/// A place for pictures, for [`crate::http::serve`].
#[must_use]
pub fn shared() -> Shared {
    Arc::new(Mutex::new(Arc::new(Snapshot::default())))
}

fn publish(shared: Option<&Shared>, snapshot: &Snapshot) {
    if let Some(shared) = shared {
        *shared.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot.clone());
    }
}

/// CPU time of this process, seconds.
fn cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The kernel's release.
fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Waits until something is readable, at most so long.
fn wait(fds: &mut [rustix::event::PollFd<'_>], longest: Span) {
    let left = longest.as_nanos();
    let timeout = rustix::event::Timespec {
        tv_sec: i64::try_from(left / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(left % 1_000_000_000).unwrap_or(0),
    };
    // An interrupted wait is a short one, after which nothing is readable.
    if rustix::event::poll(fds, Some(&timeout)).is_err() {
        fds.iter_mut().for_each(rustix::event::PollFd::clear_revents);
    }
}

impl Plan {
    /// Does what the plan says, until `around` wishes the end.
    ///
    /// # Errors
    /// The kernel refuses what is needed, or the interface is gone.
    pub fn run(&self, around: Around<'_>) -> Result<(), AgentError> {
        match self.action {
            Action::Hold => serve::serve(self, around),
            Action::TxqLimit | Action::Txqueuelen => tune::tune(self, around),
        }
    }
}
