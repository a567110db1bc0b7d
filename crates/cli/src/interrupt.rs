//! Ctrl-C, and what batch systems send before they kill: the first one stops cleanly, the second one at once.

use std::sync::atomic::{AtomicBool, Ordering};

use stratasim_core::files;

/// Set when somebody wants to stop.
static STOP: AtomicBool = AtomicBool::new(false);

fn stop() {
    if STOP.swap(true, Ordering::Relaxed) {
        files::give_up_all();
        #[allow(clippy::exit, reason = "asked twice")]
        std::process::exit(crate::INTERRUPTED.into());
    }
}

/// Listens for Ctrl-C and, on Unix, SIGTERM from now on.
pub(crate) fn listen() {
    // a second listener in one process (a test, a Python program) leaves the first one in place
    if ctrlc::set_handler(stop).is_err() {
        return;
    }
    // not by `ctrlc`, which would take SIGHUP with it, from which `nohup` shields
    #[cfg(unix)]
    if let Ok(mut signals) = signal_hook::iterator::Signals::new([signal_hook::consts::SIGTERM]) {
        std::thread::spawn(move || signals.forever().for_each(|_| stop()));
    }
}

/// Whether somebody wants to stop.
pub(crate) fn wanted() -> bool {
    STOP.load(Ordering::Relaxed)
}
