//! Ctrl-C: the runs under way stop, and what they wrote goes.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Exit code that a shell reports of a program that Ctrl-C ended.
const EXIT_CODE: i32 = 130;

/// From now on Ctrl-C only asks the runs to stop. Who asks twice does not wait for that.
pub(crate) fn listen() {
    // Without a handler Ctrl-C ends the program at once, which is no reason not to begin.
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(EXIT_CODE);
        }
    });
}

/// Whether the runs are to stop.
pub(crate) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// The same, for who looks at it by itself.
pub(crate) const fn asked() -> &'static AtomicBool {
    &ASKED
}
