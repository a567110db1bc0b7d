//! A live connection of any kind under any order of operations: nothing is delivered twice, and in the end all of it is.
#![no_main]

#[path = "../../crates/transport/tests/live/mod.rs"]
mod live;

use libfuzzer_sys::fuzz_target;
use live::{WINDOW, operate, profile};

/// Congestion control and recovery.
const KINDS: [(&str, &str); 14] = [
    (WINDOW, r#"{"kind": "rltp", "max-probes": 64}"#),
    (WINDOW, r#"{"kind": "rltp", "max-probes": 64, "acknowledge-every": 5, "window-packets": 9}"#),
    (WINDOW, r#"{"kind": "irn"}"#),
    (WINDOW, r#"{"kind": "sack"}"#),
    (WINDOW, r#"{"kind": "go-back-n", "timeout": "100 us"}"#),
    (WINDOW, r#"{"kind": "go-back-n", "timeout": "100 us", "nak": "never"}"#),
    (r#"{"kind": "nscc"}"#, r#"{"kind": "trimming", "acknowledge-every": "400 B"}"#),
    (r#"{"kind": "nscc"}"#, r#"{"kind": "trimming", "sleek": true}"#),
    (r#"{"kind": "mprdma", "preset": "htsim"}"#, r#"{"kind": "trimming"}"#),
    (r#"{"kind": "ndp", "initial-packets": 4}"#, r#"{"kind": "trimming"}"#),
    (r#"{"kind": "rccc"}"#, r#"{"kind": "trimming"}"#),
    (r#"{"kind": "eqds", "max-window": "1 kB"}"#, r#"{"kind": "trimming"}"#),
    (r#"{"kind": "cubic"}"#, r#"{"kind": "sack"}"#),
    (r#"{"kind": "swift"}"#, r#"{"kind": "irn"}"#),
];

fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, rest)) = bytes.split_first() else { return };
    let (congestion, recovery) = KINDS[usize::from(kind) % KINDS.len()];
    let step = |bytes: &[u8]| (bytes[0] % 16, u16::from_le_bytes([bytes[1], bytes[2]]));
    // as many as libFuzzer's own limit of the length allows, and not more than a second's worth
    let operations: Vec<(u8, u16)> = rest.chunks_exact(3).take(2000).map(step).collect();
    operate(&profile(congestion, recovery), &operations);
});
