//! `.strata`: no input makes a panic, what is read comes back, and reading rank by rank gives the same. Input is
//! read as it is, and again with its checksums put right, so that what lies behind them is reached.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use stratasim_workload::goal::strata;

fuzz_target!(|bytes: &[u8]| {
    try_read(bytes);
    let mut repaired = bytes.to_vec();
    repair(&mut repaired);
    try_read(&repaired);
});

fn try_read(bytes: &[u8]) {
    let whole = strata::read(bytes);
    if let Ok(schedule) = &whole {
        let mut written = Vec::new();
        strata::write(schedule, &mut written).expect("what was read can be written");
        let again = strata::read(&written[..]).expect("what we write, we read");
        assert_eq!(again.digest(), schedule.digest());
    }
    // the limit by the file's length refuses only what could not be read
    let Ok(mut reader) = strata::Reader::with_length(Cursor::new(bytes), bytes.len() as u64) else {
        assert!(whole.is_err());
        return;
    };
    let mut operations = 0;
    let ended = loop {
        match reader.next_rank() {
            Ok(Some(rank)) => {
                operations += rank.len();
                for place in 0..rank.len() {
                    let operation = rank.operation(place);
                    let edges = rank.edges(place);
                    assert!(edges.iter().all(|edge| edge.after() < rank.len()));
                    if let Ok(schedule) = &whole {
                        let number = schedule.of_rank(rank.number()).start + place;
                        assert_eq!(operation, schedule.operation(rank.number(), number));
                        assert_eq!(edges, schedule.edges(number));
                        assert_eq!(rank.own_label(place), schedule.own_label(number));
                    }
                }
            }
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    assert_eq!(ended, whole.is_ok());
    assert!(whole.is_err() || operations == reader.operations());
    let _ = reader.seek(reader.ranks() / 2);
    let _ = reader.next_rank();
}

fn seal(bytes: &mut [u8], at: usize) {
    let sum = crc32fast::hash(&bytes[..at]);
    bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
}

/// Puts the checksums right, as far as the blocks follow one another.
fn repair(bytes: &mut [u8]) {
    if bytes.len() < 72 {
        return;
    }
    seal(&mut bytes[..40], 36);
    let mut headers = crc32fast::Hasher::new();
    headers.update(&bytes[..40]);
    let mut at = 40;
    while at + 64 <= bytes.len() {
        let stored = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().expect("four bytes")) as usize;
        let end = at + 32 + stored;
        if end > bytes.len() {
            return;
        }
        let sum = crc32fast::hash(&bytes[at + 32..end]);
        bytes[at + 24..at + 28].copy_from_slice(&sum.to_le_bytes());
        seal(&mut bytes[at..at + 32], 28);
        headers.update(&bytes[at..at + 32]);
        at = end;
    }
    if at + 32 == bytes.len() {
        bytes[at + 16..at + 20].copy_from_slice(&headers.finalize().to_le_bytes());
        seal(&mut bytes[at..], 20);
    }
}
