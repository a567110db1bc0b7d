//! Ctrl-C: the first one stops cleanly, the second one at once.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set when somebody wants to stop.
static STOP: AtomicBool = AtomicBool::new(false);

/// Listens for Ctrl-C from now on.
pub(crate) fn listen() {
    // a second listener in one process (a test, a Python program) leaves the first one in place
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            #[allow(clippy::exit, reason = "asked twice")]
            std::process::exit(crate::INTERRUPTED.into());
        }
    });
}

/// Whether somebody pressed Ctrl-C.
pub(crate) fn wanted() -> bool {
    STOP.load(Ordering::Relaxed)
}
