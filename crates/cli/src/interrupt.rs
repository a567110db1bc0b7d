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

/// Listens for Ctrl-C and, on Unix, SIGTERM and SIGHUP from now on.
pub(crate) fn listen() {
    // a second listener in one process (a test, a Python program) leaves the first one in place
    if ctrlc::set_handler(stop).is_err() {
        return;
    }
    #[cfg(unix)]
    // a file that grows beyond a limit is an error of its own then, which names it
    let _ = signal_hook::flag::register(
        signal_hook::consts::SIGXFSZ,
        std::sync::Arc::new(AtomicBool::new(false)),
    );
    #[cfg(unix)]
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(signals()) {
        // where there is no thread to be had, only Ctrl-C is heard
        let listener = std::thread::Builder::new().name("signals".to_owned());
        let _ = listener.spawn(move || signals.forever().for_each(|_| stop()));
    }
}

/// What is listened for beside Ctrl-C; not by `ctrlc`, which would take SIGHUP from those whom `nohup` shields.
#[cfg(unix)]
fn signals() -> Vec<std::ffi::c_int> {
    use signal_hook::consts::{SIGHUP, SIGTERM};
    let mut signals = vec![SIGTERM];
    if !is_ignored(SIGHUP) {
        signals.push(SIGHUP);
    }
    signals
}

/// Whether a signal is ignored since before this process began; where nobody knows, as if it were.
#[cfg(unix)]
fn is_ignored(signal: std::ffi::c_int) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_none_or(|mask| mask >> (signal - 1) & 1 != 0)
}

/// Whether somebody wants to stop.
pub(crate) fn wanted() -> bool {
    STOP.load(Ordering::Relaxed)
}
