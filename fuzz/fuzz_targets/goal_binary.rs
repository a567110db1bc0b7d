//! Binary GOAL: no input makes a panic, and what is read is written byte for byte as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stratasim_workload::goal::binary;

fuzz_target!(|bytes: &[u8]| {
    let Ok(schedule) = binary::read(bytes) else { return };
    let mut written = Vec::new();
    binary::write(&schedule, &mut written).expect("what was binary can be binary");
    // the header may allow more streams and NICs than are used
    assert!(written[12] <= bytes[12] && written[13] <= bytes[13]);
    written[12..14].copy_from_slice(&bytes[12..14]);
    assert_eq!(written, bytes);
});
