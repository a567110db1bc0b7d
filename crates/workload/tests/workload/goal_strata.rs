//! The compact form: what is written comes back, it is small, and no damage goes unnoticed.

use std::io::Cursor;

use crate::common::schedules::{all_to_all, assert_same, broadcast, random, ring, uneven_ring};
use proptest::prelude::*;
use stratasim_workload::goal::{Operation, Schedule, ScheduleBuilder, strata};

fn bytes_of(schedule: &Schedule) -> Vec<u8> {
    let mut bytes = Vec::new();
    strata::write(schedule, &mut bytes).unwrap();
    bytes
}

fn error_of(bytes: &[u8]) -> String {
    strata::read(bytes).expect_err("this is damaged").to_string()
}

/// Ranks that read one by one give the same as all at once.
fn assert_ranks(bytes: &[u8], expected: &Schedule) {
    let mut reader = strata::Reader::new(bytes).unwrap();
    assert_eq!(reader.ranks(), expected.ranks());
    assert_eq!((reader.operations(), reader.edge_count()), (expected.len(), expected.edge_count()));
    let mut rank = 0;
    while let Some(found) = reader.next_rank().unwrap() {
        let operations = expected.of_rank(rank);
        assert_eq!((found.number(), found.len()), (rank, operations.len() as u32));
        for (place, operation) in operations.enumerate() {
            let place = place as u32;
            assert_eq!(found.operation(place), expected.operation(rank, operation));
            assert_eq!(found.edges(place), expected.edges(operation));
            assert_eq!(found.own_label(place), expected.own_label(operation));
        }
        rank += 1;
    }
    assert_eq!(rank, expected.ranks());
    assert!(reader.next_rank().unwrap().is_none(), "the end stays the end");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn schedules_come_back(schedule in random()) {
        let bytes = bytes_of(&schedule);
        let again = strata::read(&bytes[..]).unwrap();
        assert_same(&again, &schedule, true);
        prop_assert_eq!(bytes_of(&again), bytes.clone());
        assert_ranks(&bytes, &schedule);
    }

    #[test]
    fn no_change_of_a_bit_goes_unnoticed(schedule in random(), at in any::<prop::sample::Index>(), bit in 0..8) {
        let mut bytes = bytes_of(&schedule);
        let at = at.index(bytes.len());
        bytes[at] ^= 1u8 << bit;
        prop_assert!(strata::read(&bytes[..]).is_err());
    }
}

#[test]
fn regular_schedules_come_back() {
    for schedule in [
        ring(300, 8),
        uneven_ring(300, 64, 77),
        broadcast(100_000, 1),
        all_to_all(400, 1),
        ScheduleBuilder::new(0).build().unwrap(),
        ScheduleBuilder::new(2_000_000).build().unwrap(),
    ] {
        let bytes = bytes_of(&schedule);
        assert_same(&strata::read(&bytes[..]).unwrap(), &schedule, true);
        assert_ranks(&bytes, &schedule);
    }
}

#[test]
fn a_rank_larger_than_a_block_comes_back() {
    let mut builder = ScheduleBuilder::new(3);
    builder.push(Operation::calc(1));
    builder.close_rank().unwrap();
    let many = 600_000;
    for place in 0..many {
        builder.push(Operation::calc(u64::from(place) * 7919 % 1000));
        if place > 0 {
            builder.requires(place, place * 31 % place);
        }
    }
    builder.requires_start(0, many - 1);
    builder.label(5, "five");
    builder.label(many - 1, "last");
    builder.close_rank().unwrap();
    let schedule = builder.build().unwrap();
    let bytes = bytes_of(&schedule);
    assert_same(&strata::read(&bytes[..]).unwrap(), &schedule, true);
    assert_ranks(&bytes, &schedule);
}

#[test]
fn ranks_are_found_without_reading_those_before() {
    let schedule = uneven_ring(600, 64, 77);
    let bytes = bytes_of(&schedule);
    let mut reader = strata::Reader::new(Cursor::new(&bytes)).unwrap();
    for rank in [599, 0, 300, 299, 1, 599] {
        reader.seek(rank).unwrap();
        for next in rank..(rank + 3).min(600) {
            let found = reader.next_rank().unwrap().unwrap();
            assert_eq!((found.number(), found.len()), (next, 2 * 2 * 599));
            for place in 0..found.len() {
                let operation = schedule.of_rank(next).start + place;
                assert_eq!(found.operation(place), schedule.operation(next, operation));
                assert_eq!(found.edges(place), schedule.edges(operation));
            }
        }
    }
    assert!(reader.next_rank().unwrap().is_none());
    reader.seek(5).unwrap();
    assert_eq!(reader.next_rank().unwrap().unwrap().number(), 5);
    assert_eq!(reader.seek(600).unwrap_err().to_string(), "rank 600; less than 600 expected");
    // damage in a block that is not asked for is not looked at; in one that is, it is found
    let mut damaged = bytes;
    damaged[300] ^= 1;
    let mut reader = strata::Reader::new(Cursor::new(&damaged)).unwrap();
    reader.seek(599).unwrap();
    assert_eq!(reader.next_rank().unwrap().unwrap().number(), 599);
    assert!(reader.seek(0).unwrap_err().to_string().contains("damaged"));
}

/// A file with all kinds of blocks, small enough to try every change.
fn small() -> Schedule {
    let mut builder = ScheduleBuilder::new(40);
    for rank in 0..40 {
        let send = builder.push(Operation::send(1024, (rank + 1) % 40, 0));
        let receive = builder.push(Operation::receive(1024, (rank + 39) % 40, 0));
        builder.requires(send, receive);
        if rank % 3 == 0 {
            let calc = builder.push(Operation::calc(u64::from(rank) * 1000).on_cpu(700));
            builder.requires_start(calc, send);
            builder.label(calc, "compute");
        }
        builder.close_rank().unwrap();
    }
    builder.build().unwrap()
}

#[test]
fn every_change_of_a_bit_is_noticed() {
    for schedule in [small(), ring(5, 8), ScheduleBuilder::new(0).build().unwrap()] {
        let good = bytes_of(&schedule);
        strata::read(&good[..]).unwrap();
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let error = error_of(&bytes);
            assert!(error.starts_with("byte ") && error.contains("expected"), "bit {bit}: {error}");
        }
    }
}

#[test]
fn every_cut_is_noticed() {
    for schedule in [small(), ring(5, 8), ScheduleBuilder::new(0).build().unwrap()] {
        let good = bytes_of(&schedule);
        for length in 0..good.len() {
            let error = error_of(&good[..length]);
            assert!(error.starts_with(&format!("byte {length}: the file ends within ")), "{length}: {error}");
        }
        let mut longer = good.clone();
        longer.push(0);
        let expected =
            format!("byte {}: more bytes; the file is expected to end with its trailer", good.len());
        assert_eq!(error_of(&longer), expected);
    }
}

/// The blocks of a file: where each begins, and its kind.
fn blocks(bytes: &[u8]) -> Vec<(usize, u8)> {
    let mut at = 40;
    let mut blocks = Vec::new();
    while at < bytes.len() - 32 {
        blocks.push((at, bytes[at]));
        at += 32 + u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
    }
    blocks.push((at, 0));
    blocks
}

#[test]
fn blocks_that_are_missing_or_exchanged_are_noticed() {
    let schedule = uneven_ring(600, 64, 77);
    let good = bytes_of(&schedule);
    let blocks = blocks(&good);
    let ranks: Vec<usize> = (0..blocks.len()).filter(|&at| blocks[at].1 == 2).collect();
    assert!(ranks.len() > 3);
    let piece = |at: usize| &good[blocks[at].0..blocks[at + 1].0];
    let (first, second) = (ranks[1], ranks[2]);
    assert_eq!(piece(first)[12..24], piece(second)[12..24], "the same numbers of everything");
    let before = &good[..blocks[first].0];
    let after = &good[blocks[second + 1].0..];
    let exchanged = [before, piece(second), piece(first), after].concat();
    assert!(
        error_of(&exchanged).contains("some are not of this file") || error_of(&exchanged).contains("index")
    );
    let twice = [before, piece(first), piece(first), after].concat();
    assert!(strata::read(&twice[..]).is_err());
    let missing = [before, piece(first), after].concat();
    assert!(error_of(&missing).contains("the index names other blocks"), "{}", error_of(&missing));
}

/// Puts the checksums right again, so that what is wrong has to be found behind them.
fn repair(bytes: &mut [u8]) {
    let seal = |bytes: &mut [u8], at: usize| {
        let sum = crc32fast::hash(&bytes[..at]);
        bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
    };
    seal(&mut bytes[..40], 36);
    let mut headers = crc32fast::Hasher::new();
    headers.update(&bytes[..40]);
    let mut at = 40;
    while at + 64 <= bytes.len() {
        let stored = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
        let end = at.saturating_add(32 + stored);
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

/// A file without compression and labels: 3 ranks, of which the second is like the first.
fn plain() -> Vec<u8> {
    let mut builder = ScheduleBuilder::new(3);
    for rank in 0..3 {
        let calc = builder.push(Operation::calc(5));
        let send = builder.push(Operation::send(1 + u64::from(rank / 2), (rank + 1) % 3, 0));
        builder.requires(send, calc);
        builder.close_rank().unwrap();
    }
    bytes_of(&builder.build().unwrap())
}

#[test]
fn what_is_wrong_behind_right_checksums_is_said() {
    let good = plain();
    let found: Vec<_> = blocks(&good);
    // shapes: calc 5; send 1 at distance 1; send 2 at distance 1
    assert_eq!(found.iter().map(|block| block.1).collect::<Vec<_>>(), [1, 2, 4, 0]);
    let (shapes, ranks, index) = (found[0].0 + 32, found[1].0 + 32, found[2].0 + 32);
    assert_eq!(good[shapes..found[1].0], [0x0b, 10, 0x1d, 2, 2, 0x0d, 2]);
    // lengths 4, 4, 4; heads: 2 operations of its own, 1 like the one before, edges of the one two before; shapes; counts; edges
    assert_eq!(good[ranks..found[2].0], [4, 4, 2, 8, 3, 1, 10, 0, 0, 3, 2, 1, 0, 4]);
    let table: &[(usize, u8, &str)] = &[
        (10, 1, "byte 10: a field that is not used yet is set; 0 expected"),
        (
            12,
            4,
            "byte 125: 3 ranks, 6 operations, 3 dependencies, 3 shapes, 0 labels of 0 bytes; 4 ranks, 6 operations, 3 dependencies, 3 shapes, 0 labels of 0 bytes expected, as the header says",
        ),
        (
            12,
            2,
            "byte 79: a block of 3 ranks, 6 operations and 3 dependencies: more than the header says in all",
        ),
        (40, 9, "byte 40: a block of kind 9; 1 to 4 expected"),
        (40, 2, "byte 40: a block of 3 ranks; one of shapes expected, of which 3 are missing"),
        (
            41,
            1,
            "byte 72: the block cannot be expanded to 7 bytes: provided output is too small for the decompressed data, actual 7, expected 15",
        ),
        (
            41,
            2,
            "byte 44: 7 bytes stand for 7 (compression 2); as many expected with 0 (none), at most 255 times as many with 1 (LZ4)",
        ),
        (42, 1, "byte 42: a field that is not used yet is set; 0 expected"),
        (
            48,
            8,
            "byte 44: 7 bytes stand for 8 (compression 0); as many expected with 0 (none), at most 255 times as many with 1 (LZ4)",
        ),
        (52, 4, "byte 40: a block of 4 shapes; one of shapes expected, of which 3 are missing"),
        (shapes, 0x08, "byte 40: a shape of kind 0; 1 (send), 2 (receive) or 3 (calc) expected"),
        (shapes, 0x0f, "byte 40: a computation with a peer at a distance; none expected"),
        (shapes, 0x13, "byte 40: a computation with peer 5, tag 0, NIC 0; 0 expected"),
        (shapes + 4, 6, "byte 40: the peer at a distance of 3; less than the number of ranks (3) expected"),
        (
            shapes + 4,
            1,
            "byte 40: a shape with peer -1, tag 0, stream 0, NIC 0; 32, 32, 16 and 16 bits expected",
        ),
        (shapes + 6, 0x80, "byte 40: its shapes are longer than the block"),
        (shapes + 5, 0x05, "byte 40: more bytes than its shapes have"),
        (ranks, 5, "byte 79: shape -1; less than 3 expected"),
        (ranks, 0x7f, "byte 79: its lists are shorter than its ranks"),
        (ranks + 3, 12, "byte 79: its lists are shorter than its ranks"),
        (ranks + 3, 0xfc, "byte 79: its ranks have more operations or dependencies than the block says"),
        (ranks + 4, 7, "byte 79: its lists are longer than its ranks"),
        (ranks + 4, 11, "byte 79: its ranks have more operations or dependencies than the block says"),
        (ranks + 5, 2, "byte 79: a rank like the one 2 before; 1 to 1 expected, the block's ranks so far"),
        (ranks + 5, 0, "byte 79: a rank like the one 0 before; 1 to 1 expected, the block's ranks so far"),
        (ranks + 7, 6, "byte 79: shape 4; less than 3 expected"),
        (ranks + 7, 1, "byte 79: shape -1; less than 3 expected"),
        (ranks + 11, 2, "byte 79: its lists are shorter than its ranks"),
        (
            ranks + 11,
            0,
            "byte 79: its ranks have 0 operations and 3 dependencies less than the 6 and 3 expected",
        ),
        (ranks + 13, 8, "byte 79: operation 2 of a rank waits for another; less than 2 expected"),
        (ranks + 13, 2, "byte 79: operation -1 of a rank waits for another; less than 2 expected"),
        (index, 78, "byte 125: the index names other blocks of ranks than the file has"),
        (index + 1, 2, "byte 125: the index names other blocks of ranks than the file has"),
    ];
    for &(at, value, message) in table {
        let mut bytes = good.clone();
        bytes[at] = value;
        repair(&mut bytes);
        assert_eq!(error_of(&bytes), message, "{value} at {at}");
    }
    let mut bytes = good;
    bytes[8] = 2;
    assert_eq!(error_of(&bytes), "byte 8: version 2 of the form; 1 expected, the one that is known here");
    assert_eq!(
        error_of(b"num_ranks 2\nrank 0 {\n}\nrank 1 { calc 5\n}\n"),
        "byte 0: [6e, 75, 6d, 5f, 72, 61, 6e, 6b]; [8a, 73, 74, 72, 61, 74, 61, 0a] expected, with which a .strata file begins"
    );
    assert_eq!(error_of(b""), "byte 0: the file ends within the header of 40 bytes; 40 more bytes expected");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_change_behind_right_checksums_makes_a_panic(
        schedule in random(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = bytes_of(&schedule);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        repair(&mut bytes);
        if let Ok(schedule) = strata::read(&bytes[..]) {
            // whatever it is, it is a schedule
            let again = strata::read(&bytes_of(&schedule)[..]).unwrap();
            assert_same(&again, &schedule, true);
        }
        let mut reader = strata::Reader::new(Cursor::new(&bytes));
        if let Ok(reader) = &mut reader {
            let _ = reader.seek(reader.ranks() / 2);
            while let Ok(Some(rank)) = reader.next_rank() {
                for place in 0..rank.len() {
                    std::hint::black_box((rank.operation(place), rank.edges(place), rank.own_label(place)));
                }
            }
        }
    }
}

#[test]
fn a_small_file_that_claims_much_is_refused_before_it_takes_memory() {
    let mut bytes = plain();
    bytes[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    bytes[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
    repair(&mut bytes);
    let length = bytes.len() as u64;
    let error = strata::Reader::with_length(&bytes[..], length).unwrap_err().to_string();
    assert_eq!(
        error,
        "byte 12: a file of 191 bytes that claims 4294967295 ranks, 4294967295 operations and 3 dependencies; at most 131072 times the file expected"
    );
    // a block that claims much, in a file that does as well
    for (at, value) in [(16, 1 << 30), (20, 1 << 30), (12, 1 << 30)] {
        let mut bytes = plain();
        let block = blocks(&bytes)[1].0;
        for at in [at, at + block] {
            bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
        }
        repair(&mut bytes);
        let error = error_of(&bytes);
        assert!(
            error.contains("one rank expected with a byte for each, or at most 524288 together"),
            "{error}"
        );
    }
}

#[test]
fn the_densest_file_keeps_to_the_limit_of_expansion() {
    // nothing is denser than ranks like one another
    for ranks in [1, 1000, 3_000_000] {
        let mut builder = ScheduleBuilder::new(ranks);
        for _ in 0..ranks {
            builder.push(Operation::calc(1));
            builder.close_rank().unwrap();
        }
        let bytes = bytes_of(&builder.build().unwrap());
        let memory = 12 * u64::from(ranks);
        assert!(memory <= strata::EXPANSION * bytes.len() as u64, "{ranks} ranks in {} bytes", bytes.len());
        strata::Reader::with_length(&bytes[..], bytes.len() as u64).unwrap();
    }
}

#[test]
fn an_operation_of_a_large_ring_takes_less_than_a_hundredth_of_a_byte() {
    let schedule = ring(1024, 1 << 20);
    assert_eq!(schedule.len(), 1024 * 2 * 2046);
    let bytes = bytes_of(&schedule);
    assert!((bytes.len() as f64) < 0.01 * f64::from(schedule.len()), "{} bytes", bytes.len());
    assert_same(&strata::read(&bytes[..]).unwrap(), &schedule, true);
}

#[test]
fn a_schedule_without_any_order_takes_less_than_in_binary() {
    use stratasim_core::random::mix;
    let mut builder = ScheduleBuilder::new(64);
    let mut state = 1u64;
    let mut draw = move |below: u64| {
        state = mix(state);
        (state >> 20) % below
    };
    for _ in 0..64 {
        for place in 0..500 {
            let (peer, size) = (draw(64) as u32, draw(1 << 20));
            builder.push(match draw(3) {
                0 => Operation::send(size, peer, draw(1000) as u32),
                1 => Operation::receive(size, peer, draw(1000) as u32),
                _ => Operation::calc(size),
            });
            if place > 0 {
                builder.requires(place, draw(place.into()) as u32);
            }
        }
        builder.close_rank().unwrap();
    }
    let schedule = builder.build().unwrap();
    let bytes = bytes_of(&schedule);
    assert_same(&strata::read(&bytes[..]).unwrap(), &schedule, true);
    let per_operation = bytes.len() as f64 / f64::from(schedule.len());
    // 20 bits of size, 6 of peer, 10 of tag, 9 of the dependency, 2 of the kind: 6 bytes cannot be gone below
    assert!((5.0..13.0).contains(&per_operation), "{per_operation} bytes per operation");
}
