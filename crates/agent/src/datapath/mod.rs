//! The event loop between the kernel and the engine: packets, completions and notifications in, verdicts out. One thread, and another while rules change.

mod classify;
mod plan;
mod ports;
mod serve;
mod settings;
mod tune;
mod waiting;

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::{Arc, Mutex, PoisonError};

use airbound_units::Span;

use crate::error::AgentError;
use crate::http::Shared;
use crate::snapshot::Snapshot;

pub use plan::{Action, Plan};

/// Callbacks and data that the event loop takes from its process.
pub struct Callbacks<'a> {
    /// Called in each iteration of the loop; `false` requests shutdown.
    pub beat: &'a mut dyn FnMut() -> bool,
    /// Called once after all sockets are open and privileges are dropped. Threads may be started from here on.
    pub opened: &'a mut dyn FnMut() -> Result<(), AgentError>,
    /// Called once the loop has ended, before rules, eBPF programs and settings are taken away.
    pub ends: &'a mut dyn FnMut(),
    /// Receives the current snapshot, if set.
    pub shared: Option<Shared>,
    /// Key of the flow hashes; random, and unknown to remote hosts.
    pub secret: u64,
}

impl std::fmt::Debug for Callbacks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Callbacks").finish_non_exhaustive()
    }
}

/// The two processes of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// The one that watches.
    Watches,
    /// The one that holds packets, which may outlive the other for a moment.
    Holds,
}

/// Makes this process the only one of its kind for a radio, as long as the result lives. Two agents of a radio would each take its air
/// for their own.
///
/// # Errors
/// Another process is.
pub fn only_agent_of(radio: u32, process: Process) -> Result<OnlyAgent, AgentError> {
    // An abstract name: it belongs to the network namespace, and goes with its socket.
    let name = SocketAddr::from_abstract_name(format!("airbound-agent-{process:?}-radio-{radio}"));
    let socket = name.and_then(|name| UnixListener::bind_addr(&name));
    socket.map(OnlyAgent).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => AgentError::Value(format!(
            "another agent holds the packets of radio phy{radio}; end it first, or name all interfaces in one"
        )),
        _ => AgentError::Value(format!("cannot become the only agent of radio phy{radio}: {error}")),
    })
}

/// See [`only_agent_of`].
#[derive(Debug)]
pub struct OnlyAgent(#[expect(dead_code, reason = "held, not used")] UnixListener);

/// An empty snapshot to share with [`crate::http::serve`].
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

/// The kernel's release, as `uname -r`.
fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

fn timespec(span: Span) -> rustix::event::Timespec {
    let left = span.as_nanos();
    rustix::event::Timespec {
        tv_sec: i64::try_from(left / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(left % 1_000_000_000).unwrap_or(0),
    }
}

impl Plan {
    /// Runs the plan until `callbacks` requests shutdown.
    ///
    /// # Errors
    /// The kernel refuses an operation, or the interface has disappeared.
    pub fn run(&self, callbacks: Callbacks<'_>) -> Result<(), AgentError> {
        match self.action {
            Action::Hold => serve::serve(self, callbacks),
            Action::TxqLimit | Action::Txqueuelen => tune::tune(self, callbacks),
        }
    }
}
