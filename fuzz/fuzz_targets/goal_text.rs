//! GOAL text: no input makes a panic or takes for ever, what is read comes back, and strict knows every error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stratasim_workload::goal::text;

fuzz_target!(|bytes: &[u8]| {
    let complaints = text::strict(bytes).expect("a slice has no errors of its own");
    match text::read(bytes) {
        Ok(schedule) => {
            let mut written = Vec::new();
            text::write(&schedule, &mut written).expect("what was text can be text");
            let again = text::read(&written[..]).expect("what we write, we read");
            assert_eq!(again.digest(), schedule.digest());
        }
        Err(error) => {
            let error = error.to_string();
            let listed = complaints
                .iter()
                .map(|found| format!("line {}, column {}: {}", found.line, found.column, found.text))
                .any(|found| found == error);
            assert!(listed || complaints.len() > 100, "{error}");
        }
    }
});
