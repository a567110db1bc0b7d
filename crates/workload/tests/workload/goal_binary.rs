//! Binary GOAL: byte for byte as `txt2bin` writes it, and nothing believed that a file says.

use std::fs;
use std::path::PathBuf;

use crate::common::schedules::{all_to_all, assert_same, broadcast, random, ring, uneven_ring};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use stratasim_workload::goal::{Operation, Schedule, ScheduleBuilder, WriteError, binary, text};

fn bytes_of(schedule: &Schedule) -> Vec<u8> {
    let mut bytes = Vec::new();
    binary::write(schedule, &mut bytes).unwrap();
    bytes
}

fn error_of(bytes: &[u8]) -> String {
    binary::read(bytes).expect_err("this is no binary GOAL").to_string()
}

#[test]
fn files_are_those_of_txt2bin_byte_for_byte() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ref/goal");
    let Ok(cases) = fs::read(folder.join("cases.json")) else {
        eprintln!("skipped: no {}", folder.display());
        return;
    };
    let cases: serde_json::Value = serde_json::from_slice(&cases).unwrap();
    let (mut compared, mut edges) = (0, 0);
    for case in cases["cases"].as_array().unwrap() {
        let goal = folder.join(case["goal"].as_str().unwrap());
        let schedule = text::read(fs::File::open(&goal).unwrap()).unwrap();
        let bytes = bytes_of(&schedule);
        assert_eq!(bytes.len() as u64, case["bin_bytes"].as_u64().unwrap(), "{}", case["id"]);
        let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, case["bin_sha256"].as_str().unwrap(), "{}", case["id"]);
        let again = binary::read(&bytes[..]).unwrap();
        assert_same(&again, &schedule, false);
        assert_eq!(bytes_of(&again), bytes, "{}", case["id"]);
        assert_eq!(u64::from(again.edge_count()), case["edges"].as_u64().unwrap(), "{}", case["id"]);
        compared += 1;
        edges += again.edge_count();
    }
    assert!(compared >= 48 && edges > 0, "{compared} cases");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn schedules_come_back(schedule in random()) {
        let bytes = bytes_of(&schedule);
        let again = binary::read(&bytes[..]).unwrap();
        assert_same(&again, &schedule, false);
        prop_assert_eq!(bytes_of(&again), bytes);
    }

    #[test]
    fn no_change_makes_a_panic_or_a_file_that_is_not_written_so(
        schedule in random(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = bytes_of(&schedule);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(schedule) = binary::read(&bytes[..]) {
            let mut again = bytes_of(&schedule);
            // the largest stream and NIC may be larger than those in use
            again[12..14].copy_from_slice(&bytes[12..14]);
            prop_assert_eq!(again, bytes);
        }
    }
}

#[test]
fn regular_schedules_come_back() {
    for schedule in [ring(24, 8), uneven_ring(17, 64, 5), broadcast(100, 1), all_to_all(20, 1)] {
        assert_same(&binary::read(&bytes_of(&schedule)[..]).unwrap(), &schedule, false);
    }
}

#[test]
fn a_read_that_brings_one_byte_at_a_time_is_as_good() {
    struct Slow<'a>(&'a [u8]);
    impl std::io::Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let count = out.len().min(1);
            std::io::Read::read(&mut self.0, &mut out[..count])
        }
    }
    let schedule = uneven_ring(7, 64, 5);
    assert_same(&binary::read(Slow(&bytes_of(&schedule))).unwrap(), &schedule, false);
}

#[test]
fn every_cut_is_noticed() {
    let bytes = bytes_of(&example());
    for length in 0..bytes.len() {
        let error = error_of(&bytes[..length]);
        assert!(error.contains("the file ends within"), "{length}: {error}");
        assert!(error.starts_with(&format!("byte {length}: ")), "{length}: {error}");
    }
}

#[test]
fn streams_and_nics_above_255_do_not_fit() {
    for (operation, message) in [
        (
            Operation::calc(1).on_cpu(256),
            "rank 1, operation l2: stream (cpu) 256; binary GOAL holds at most 255; .strata holds more",
        ),
        (
            Operation::send(1, 0, 0).on_nic(300),
            "rank 1, operation l2: NIC 300; binary GOAL holds at most 255; .strata holds more",
        ),
    ] {
        let mut builder = ScheduleBuilder::new(2);
        builder.push(Operation::calc(1));
        builder.close_rank().unwrap();
        builder.push(Operation::calc(1).on_cpu(255));
        builder.push(operation);
        let error = binary::write(&builder.build().unwrap(), &mut Vec::new()).unwrap_err();
        assert!(matches!(&error, WriteError::Form(reason) if reason == message), "{error}");
    }
}

/// Rank 0 has three operations, one root, two dependencies on an end and one on a start; rank 1 has none.
///
/// Bytes: table from 14, block of rank 0 from 46 (head 46, root 54, records 58, 97, 136, dependencies 175),
/// block of rank 1 from 187 to 195.
fn example() -> Schedule {
    let mut builder = ScheduleBuilder::new(2);
    let calc = builder.push(Operation::calc(500).on_cpu(1));
    let send = builder.push(Operation::send(1024, 1, 7).on_nic(2));
    let receive = builder.push(Operation::receive(8, 1, 0));
    builder.requires(send, calc);
    builder.requires(receive, send);
    builder.requires_start(receive, calc);
    builder.close_rank().unwrap();
    builder.build().unwrap()
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let good = bytes_of(&example());
    assert_eq!(good.len(), 195);
    let table: &[(usize, u64, usize, &str)] = &[
        (0, 4711, 8, "byte 0: cookie 4711; 4223 expected at the beginning of binary GOAL"),
        (
            0,
            2342,
            8,
            "byte 0: cookie 2342: a run of LogGOPSim with --save-mem has used this file up; 4223 expected. Convert the text again",
        ),
        (12, 0, 1, "byte 79: rank 0, operation 0: stream 1; at most 0 expected, as the header says"),
        (13, 1, 1, "byte 119: rank 0, operation 1: NIC 2; at most 1 expected, as the header says"),
        (14, 30, 8, "byte 14: the block of rank 0 starts at 30; 38 expected, where the one before ends"),
        (14, 39, 8, "byte 14: the block of rank 0 starts at 39; 38 expected, where the one before ends"),
        (
            22,
            37,
            8,
            "byte 22: the block of rank 0 starts at 38 and ends at 37; an end of 46 or more expected",
        ),
        (
            22,
            45,
            8,
            "byte 22: the block of rank 0 starts at 38 and ends at 45; an end of 46 or more expected",
        ),
        (
            22,
            u64::MAX,
            8,
            "byte 30: the block of rank 1 starts at 179; 18446744073709551615 expected, where the one before ends",
        ),
        (30, 178, 8, "byte 30: the block of rank 1 starts at 178; 179 expected, where the one before ends"),
        (
            38,
            186,
            8,
            "byte 38: the block of rank 1 starts at 179 and ends at 186; an end of 187 or more expected",
        ),
        (
            38,
            191,
            8,
            "byte 187: rank 1: its operations have 0 dependants together; 1 expected, as its block has room for",
        ),
        (
            46,
            4,
            4,
            "byte 46: rank 0: 4 operations and 1 roots in a block of 141 bytes; 168 bytes expected, and 4 for each dependency",
        ),
        (
            46,
            u32::MAX as u64,
            4,
            "byte 46: rank 0: 4294967295 operations and 1 roots in a block of 141 bytes; 167503724517 bytes expected, and 4 for each dependency",
        ),
        (
            46,
            2,
            4,
            "byte 46: rank 0: 2 operations and 1 roots in a block of 141 bytes; 90 bytes expected, and 4 for each dependency",
        ),
        (50, 4, 4, "byte 46: rank 0: 4 roots of 3 operations; at most as many expected"),
        (50, 0, 4, "byte 58: rank 0, operation 0: kind 0; 1 (send), 2 (receive) or 3 (calc) expected"),
        (54, 1, 4, "byte 54: rank 0: root 1; 0 expected, which waits for nothing"),
        (58, 1, 4, "byte 54: rank 0: root 0; 0 roots expected, as many as wait for nothing"),
        (62, 0, 1, "byte 62: rank 0, operation 0: kind 0; 1 (send), 2 (receive) or 3 (calc) expected"),
        (62, 4, 1, "byte 62: rank 0, operation 0: kind 4; 1 (send), 2 (receive) or 3 (calc) expected"),
        (63, 9, 4, "byte 63: rank 0, operation 0: a computation with peer 9; 0 expected"),
        (75, 9, 4, "byte 75: rank 0, operation 0: a computation with tag 9; 0 expected"),
        (80, 2, 1, "byte 80: rank 0, operation 0: a computation with NIC 2; 0 expected"),
        (81, 2, 4, "byte 93: rank 0, operation 0: its dependants stand from 1 on; 2 expected"),
        (85, 1, 4, "byte 85: rank 0, operation 0: its dependants stand from 1 on; 0 expected"),
        (89, 0, 4, "byte 124: rank 0, operation 1: its dependants stand from 2 on; 1 expected"),
        (97, 2, 4, "byte 187: rank 0: operation 1 lacks 1 of the dependencies that its number says"),
        (136, 1, 4, "byte 183: rank 0: operation 2 has more dependencies than its number says"),
        (
            167,
            1,
            4,
            "byte 46: rank 0: its operations have 4 dependants together; 3 expected, as its block has room for",
        ),
        (175, 3, 4, "byte 175: rank 0: operation 3 waits for another; less than 3 expected"),
        (175, 0, 4, "byte 175: rank 0: operation 0 has more dependencies than its number says"),
    ];
    for &(at, value, width, message) in table {
        let mut bytes = good.clone();
        bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        assert_eq!(error_of(&bytes), message, "{value} at {at}");
    }
    let mut longer = good;
    longer.push(0);
    assert_eq!(error_of(&longer), "byte 195: more bytes; the file is expected to end with its last rank");
}

#[test]
fn a_header_that_claims_all_ranks_takes_no_memory() {
    let mut bytes = 4223u64.to_le_bytes().to_vec();
    bytes.extend(u32::MAX.to_le_bytes());
    bytes.extend([0; 8]);
    assert_eq!(bytes.len(), 20);
    assert_eq!(
        error_of(&bytes),
        "byte 20: the file ends within the table of 4294967295 ranks (68719476720 bytes); 10 more bytes expected"
    );
}

#[test]
fn files_of_loggopsim2_are_named() {
    // one operation of 104 bytes, one root
    let mut bytes = 4223u64.to_le_bytes().to_vec();
    bytes.extend(1u32.to_le_bytes());
    bytes.extend([0, 0]);
    bytes.extend(22u64.to_le_bytes());
    bytes.extend((22u64 + 12 + 104).to_le_bytes());
    for number in [1u32, 1, 0] {
        bytes.extend(number.to_le_bytes());
    }
    let mut record = [0; 104];
    record[4] = 3;
    record[9] = 5;
    bytes.extend(record);
    assert_eq!(
        error_of(&bytes),
        "byte 30: rank 0: 1 operations in a block of 116 bytes; its operations take 104 bytes, as LogGOPSim2 writes them, and 39 are expected"
    );
    // four of them: the length would fit 39 bytes and 65 dependencies as well
    bytes[22..30].copy_from_slice(&(22u64 + 8 + 16 + 416).to_le_bytes());
    bytes.truncate(30);
    for number in [4u32, 4, 0, 1, 2, 3] {
        bytes.extend(number.to_le_bytes());
    }
    for _ in 0..4 {
        bytes.extend(record);
    }
    let error = error_of(&bytes);
    assert!(error.starts_with("byte 97: rank 0, operation 1: kind 0; "), "{error}");
    assert!(error.ends_with("(the block has the length of one by LogGOPSim2, whose operations take 104 bytes; those are not read)"), "{error}");
}
