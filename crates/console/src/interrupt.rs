//! Ctrl-C and SIGTERM: the runs under way stop, and their files are removed or completed.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::output;

static FIRST: OnceLock<Instant> = OnceLock::new();
static ASKED: AtomicBool = AtomicBool::new(false);
static HURRIED: AtomicBool = AtomicBool::new(false);

/// Exit code that a shell reports of a program that Ctrl-C ended.
const EXIT_CODE: i32 = 130;
/// Signals so soon after the first one are the same request: `timeout` of the GNU core utilities sends one to the program and one to its
/// group.
const SAME: Duration = Duration::from_millis(200);
/// The time that a program has to put everything back, before a further signal ends it at once.
const PATIENCE: Duration = Duration::from_secs(2);

/// A signal's meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// Stop.
    Stop,
    /// Nothing new.
    Same,
    /// Stop sooner.
    Hurry,
    /// The same, and the program has had its time.
    End,
}

/// The meaning of a signal so long after the first one, `None` for the first.
fn meaning(since_first: Option<Duration>) -> Meaning {
    match since_first {
        None => Meaning::Stop,
        Some(since) if since < SAME => Meaning::Same,
        Some(since) if since < PATIENCE => Meaning::Hurry,
        Some(_) => Meaning::End,
    }
}

/// Makes a signal a request to stop. A further one, when the program has had two seconds for it, ends it at once.
pub fn listen() {
    handle(|| {
        output::complain(&"ended at once: what was not finished is left as it was");
        std::process::exit(EXIT_CODE);
    });
}

/// Makes a signal a request to stop, and further ones a request to [hurry](hurried), for a program that ends soon whatever happens.
pub fn listen_without_end() {
    handle(|| {});
}

fn handle(end: impl Fn() + Send + 'static) {
    // Without a handler a signal ends the program at once, which is no reason not to begin.
    let _ = ctrlc::set_handler(move || {
        let now = Instant::now();
        let since_first = FIRST.get().map(|first| now.duration_since(*first));
        match meaning(since_first) {
            Meaning::Stop => {
                let _ = FIRST.set(now);
                ASKED.store(true, Ordering::Relaxed);
            }
            Meaning::Same => {}
            Meaning::Hurry => HURRIED.store(true, Ordering::Relaxed),
            Meaning::End => {
                HURRIED.store(true, Ordering::Relaxed);
                end();
            }
        }
    });
}

/// Whether the runs are to stop.
#[must_use]
pub fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// The request itself, for loops that look at it.
#[must_use]
pub const fn asked() -> &'static AtomicBool {
    &ASKED
}

/// The request to stop without waiting for others.
#[must_use]
pub const fn hurried() -> &'static AtomicBool {
    &HURRIED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_of_one_request_are_one() {
        let at = |millis| meaning(Some(Duration::from_millis(millis)));
        assert_eq!(meaning(None), Meaning::Stop);
        assert_eq!([at(0), at(199)], [Meaning::Same; 2]);
        assert_eq!([at(200), at(1999)], [Meaning::Hurry; 2]);
        assert_eq!(at(2000), Meaning::End);
    }
}
