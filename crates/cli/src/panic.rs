//! A panic is a bug of ours: it is said so, and does not look like anything else.

use std::io::Write as _;
use std::panic::{self, AssertUnwindSafe};

/// Exit code of a bug of ours.
pub(crate) const BUG: u8 = 101;

/// Where to report it.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// Runs `work`; a panic in it is explained on standard error and gives [`BUG`].
pub(crate) fn guard(work: impl FnOnce() -> u8) -> u8 {
    let before = panic::take_hook();
    panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let message = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        let place = info.location().map_or_else(String::new, |place| format!(" at {place}"));
        // when standard error is gone there is nobody to tell
        let _ = writeln!(
            std::io::stderr(),
            "  × This is a bug in stratasim {}, not in your input: {message}{place}\n\
             \n  Please report it with the command and its files: {REPOSITORY}/issues\n  \
             RUST_BACKTRACE=1 shows where it came from.",
            env!("CARGO_PKG_VERSION"),
        );
        let trace = std::backtrace::Backtrace::capture();
        if trace.status() == std::backtrace::BacktraceStatus::Captured {
            let _ = writeln!(std::io::stderr(), "\n{trace}");
        }
    }));
    let code = panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or(BUG);
    panic::set_hook(before);
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_exit_code() {
        assert_eq!(guard(|| 7), 7);
        assert_eq!(guard(|| panic!("on purpose")), BUG);
    }
}
