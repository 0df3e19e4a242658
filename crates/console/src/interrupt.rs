//! Ctrl-C: the runs under way stop, and their files are removed.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Exit code that a shell reports of a program that Ctrl-C ended.
const EXIT_CODE: i32 = 130;

/// Makes Ctrl-C a request to stop; the second one ends the program at once.
pub fn listen() {
    // Without a handler Ctrl-C ends the program at once, which is no reason not to begin.
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(EXIT_CODE);
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
