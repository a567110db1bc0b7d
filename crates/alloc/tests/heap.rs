//! The allocator against an interval map, and its errors one by one.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stratasim_alloc::{
    Address, AllocError, Backing, CardMemory, Heap, LARGEST_SMALL_BYTES, PAGE_BYTES, Pages, SEGMENT_BYTES,
    Sparse, Tier,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Sizes of all kinds: small, pages, segments.
fn sizes() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0..300_u64,
        3 => 300..LARGEST_SMALL_BYTES + 1,
        4 => LARGEST_SMALL_BYTES..64 * KIB,
        2 => 64 * KIB..MIB,
        1 => MIB..5 * MIB,
    ]
}

#[derive(Debug, Clone)]
enum Step {
    Allocate(u64),
    /// The n-th block in use, modulo how many there are.
    Free(usize),
    /// An offset that may be anything.
    Wild(u64),
}

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => sizes().prop_map(Step::Allocate),
        4 => any::<usize>().prop_map(Step::Free),
        1 => (0..24 * MIB).prop_map(|at| Step::Wild(at / 64 * 64)),
    ];
    prop::collection::vec(step, 1..most)
}

/// A heap over real words, beside a map of what is in use. Every block is filled with its owner's number.
struct Checked {
    heap: Heap<Vec<u64>>,
    /// Start to (end, filling).
    map: BTreeMap<u64, (u64, u64)>,
    next: u64,
}

impl Checked {
    fn new(capacity: u64) -> Self {
        let heap = Heap::new(capacity, vec![0; (capacity / 8) as usize]).expect("small enough");
        Self { heap, map: BTreeMap::new(), next: 1 }
    }

    fn allocate(&mut self, bytes: u64) {
        let before = self.heap.statistics();
        match self.heap.allocate(bytes) {
            Ok(start) => {
                let given = self.heap.block_bytes(start).expect("just given");
                assert!(given >= bytes.max(1));
                let alignment = match bytes {
                    0..=LARGEST_SMALL_BYTES => 64,
                    _ if bytes <= SEGMENT_BYTES - PAGE_BYTES => PAGE_BYTES,
                    _ => SEGMENT_BYTES,
                };
                assert_eq!(start % alignment, 0, "{bytes} B at {start:#x}");
                assert!(start + given <= self.heap.capacity_bytes());
                let below = self.map.range(..start + given).next_back();
                assert!(below.is_none_or(|(_, &(end, _))| end <= start), "{start:#x}: overlaps {below:x?}");
                // all of it is ours to write
                let filling = self.next.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                self.next += 1;
                for word in (start..start + given).step_by(8) {
                    self.heap.memory_mut().store(word, filling);
                }
                self.map.insert(start, (start + given, filling));
            }
            Err(AllocError::OutOfMemory { largest_bytes, .. }) => {
                assert!(largest_bytes < bytes || (bytes <= LARGEST_SMALL_BYTES && largest_bytes == 0));
                assert_eq!(self.heap.statistics().free_bytes, before.free_bytes);
            }
            Err(other) => panic!("{other}"),
        }
    }

    fn free(&mut self, start: u64) {
        let (end, filling) = self.map.remove(&start).expect("in use");
        for word in (start..end).step_by(8) {
            assert_eq!(self.heap.memory().load(word), filling, "{word:#x}: someone else wrote there");
        }
        self.heap.free(start).expect("in use");
    }

    fn check(&self) {
        let statistics = self.heap.statistics();
        let in_use: u64 = self.map.iter().map(|(start, (end, _))| end - start).sum();
        assert_eq!(statistics.in_use_bytes, in_use);
        assert_eq!(statistics.blocks, self.map.len() as u64);
        // bytes are conserved: in use, in slabs, or free
        assert_eq!(in_use + statistics.slab_idle_bytes + statistics.free_bytes, statistics.capacity_bytes);
        assert!(statistics.largest_free_bytes <= statistics.free_bytes);
        assert!((0.0..=1.0).contains(&statistics.fragmentation()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn blocks_never_overlap_and_everything_comes_back(steps in steps(400), capacity in 1_u64..2500) {
        let mut checked = Checked::new(capacity * PAGE_BYTES);
        for step in steps {
            match step {
                Step::Allocate(bytes) => checked.allocate(bytes),
                Step::Free(nth) => {
                    let nth = nth % checked.map.len().max(1);
                    if let Some(start) = checked.map.keys().nth(nth).copied() {
                        checked.free(start);
                        let again = checked.heap.free(start);
                        prop_assert!(matches!(again, Err(AllocError::DoubleFree { .. })), "{:?}", again);
                    }
                }
                Step::Wild(offset) if !checked.map.contains_key(&offset) => {
                    let inside = checked.map.range(..offset).next_back().filter(|(_, (end, _))| offset < *end);
                    let error = checked.heap.free(offset).expect_err("no block starts there");
                    match (error, inside) {
                        (AllocError::Misaligned { start_bytes, .. }, Some((&start, _))) => {
                            prop_assert_eq!(start_bytes, start);
                        }
                        (AllocError::DoubleFree { .. }, None) => {}
                        (AllocError::OutsideMemory { .. }, None) => prop_assert!(offset >= capacity * PAGE_BYTES),
                        (error, inside) => prop_assert!(false, "{} for {:?}", error, inside),
                    }
                }
                Step::Wild(_) => {}
            }
            checked.check();
        }
        let starts: Vec<u64> = checked.map.keys().copied().collect();
        for start in starts {
            checked.free(start);
        }
        let statistics = checked.heap.statistics();
        prop_assert_eq!(statistics.free_bytes, capacity * PAGE_BYTES);
        prop_assert_eq!(statistics.slab_idle_bytes, 0);
        let whole = capacity * PAGE_BYTES / SEGMENT_BYTES * SEGMENT_BYTES;
        let largest = if whole == 0 { capacity * PAGE_BYTES } else { whole };
        prop_assert_eq!(statistics.largest_free_bytes, largest, "it is one run again");
    }

    #[test]
    fn a_run_of_pages_is_refused_only_when_there_is_none(
        steps in prop::collection::vec((any::<u16>(), prop_oneof![3 => 1_u64..40, 1 => 40_u64..400]), 1..300),
        pages in 1_u64..900,
    ) {
        let mut runs = Pages::new(pages * PAGE_BYTES + 77).expect("small enough");
        let mut used = vec![false; pages as usize];
        let mut map = BTreeMap::new();
        for (choice, count) in steps {
            if choice % 3 == 0 && !map.is_empty() {
                let first: u64 = *map.keys().nth(usize::from(choice) % map.len()).expect("in range");
                let length: u64 = map.remove(&first).expect("in use");
                prop_assert_eq!(runs.free(first), Ok(length));
                used[first as usize..(first + length) as usize].fill(false);
                continue;
            }
            // literally: short runs within a segment, long ones from the start of whole free segments
            let free = |from: u64, count: u64| {
                from + count <= pages && used[from as usize..(from + count) as usize].iter().all(|used| !used)
            };
            let fits = (0..pages).any(|from| if count < 128 {
                from / 128 == (from + count - 1) / 128 && free(from, count)
            } else {
                from % 128 == 0 && free(from, count.div_ceil(128) * 128)
            });
            let given = runs.allocate(count);
            prop_assert_eq!(given.is_some(), fits, "{} pages", count);
            if let Some(first) = given {
                prop_assert!(free(first, count));
                used[first as usize..(first + count) as usize].fill(true);
                map.insert(first, count);
            }
            prop_assert_eq!(runs.free_bytes(), used.iter().filter(|used| !**used).count() as u64 * PAGE_BYTES);
            prop_assert_eq!(runs.used_until(), used.iter().rposition(|used| *used).map_or(0, |last| last as u64 + 1));
        }
    }
}

fn card() -> CardMemory<Sparse> {
    CardMemory::new(4, 15_000_000_000, 10_000_000_000, |_| Sparse::default()).expect("the card of the paper")
}

#[test]
fn one_group_reaches_four_times_its_memory_when_nothing_is_local() {
    // section 3.1: Local 15 GB gives Global 0, Local 0 gives Global 60 GB
    let mut card = card();
    let capacity = |card: &CardMemory<Sparse>, tier| card.statistics(tier).expect("a tier").capacity_bytes;
    for (local, global) in [(15_000_000_000, 0), (0, 60_000_000_000), (10_000_000_000, 20_000_000_000)] {
        card.reserve(local).expect("nothing is in use");
        assert_eq!(capacity(&card, Tier::Local(3)), local / PAGE_BYTES * PAGE_BYTES);
        assert_eq!(capacity(&card, Tier::Global), global / PAGE_BYTES * PAGE_BYTES);
    }
    card.reserve(0).expect("nothing is in use");
    let all = card.allocate_cross(59_999_000_000).expect("one block of nearly all");
    assert!(matches!(card.allocate(0, 1), Err(AllocError::OutOfMemory { .. })));
    card.free_cross(all).expect("in use");
}

#[test]
fn capacity_with_a_block_in_it_cannot_be_given_away() {
    let mut card = card();
    let block = card.allocate(2, 9_000_000_000).expect("fits");
    let error = card.reserve(5_000_000_000).expect_err("in use");
    assert!(
        matches!(error, AllocError::InUse { tier: Tier::Local(2), wanted_bytes: 5_000_000_000, .. }),
        "{error}"
    );
    // nothing has changed, in the groups before it as well
    assert_eq!(card.statistics(Tier::Local(0)).expect("a tier").capacity_bytes, 10_000_000_000 / 8192 * 8192);
    card.free(2, block).expect("in use");
    card.reserve(5_000_000_000).expect("free now");
    assert!(matches!(card.reserve(16_000_000_000), Err(AllocError::TooLarge { .. })));
}

#[test]
fn every_mistake_has_its_error() {
    let mut card = card();
    let local = card.allocate(1, 100).expect("fits");
    let cross = card.allocate_cross(100_000).expect("fits");
    let wrong = AllocError::WrongTier { address: local, found: Tier::Local(1), expected: Tier::Global };
    assert_eq!(card.free_cross(local), Err(wrong));
    assert!(matches!(card.free(0, local), Err(AllocError::WrongTier { expected: Tier::Local(0), .. })));
    assert!(matches!(card.free(0, cross), Err(AllocError::WrongTier { found: Tier::Global, .. })));
    assert!(matches!(card.free(9, local), Err(AllocError::UnknownGroup { group: 9, groups: 4 })));
    assert!(matches!(card.allocate(4, 1), Err(AllocError::UnknownGroup { .. })));
    for address in [Address(0), Address(77), Address(u64::MAX)] {
        assert_eq!(card.free_cross(address), Err(AllocError::UnknownAddress(address)));
    }
    assert!(matches!(card.free(1, Address(local.0 + 8)), Err(AllocError::Misaligned { .. })));
    assert!(matches!(card.free_cross(Address(cross.0 + PAGE_BYTES)), Err(AllocError::Misaligned { .. })));
    assert!(matches!(
        card.free_cross(Address(cross.0 + 16 * PAGE_BYTES)),
        Err(AllocError::DoubleFree { .. })
    ));
    assert!(matches!(card.free_cross(Address(cross.0 + (1 << 40))), Err(AllocError::OutsideMemory { .. })));
    card.free(1, local).expect("in use");
    assert!(matches!(card.free(1, local), Err(AllocError::DoubleFree { .. })));
    assert!(matches!(card.allocate(0, u64::MAX), Err(AllocError::OutOfMemory { .. })));
    assert_eq!(card.statistics(Tier::Local(0)).expect("a tier").failures, 1, "refused by the tier itself");
    assert!(CardMemory::new(0, 1, 1, |_| Sparse::default()).is_err());
    assert!(CardMemory::new(4, u64::MAX, 0, |_| Sparse::default()).is_err());
    assert!(Heap::new(u64::MAX, Sparse::default()).is_err());
}

#[test]
fn data_that_looks_like_a_free_block_is_not_taken_for_one() {
    let mut heap = Heap::new(4 * MIB, vec![0_u64; (4 * MIB / 8) as usize]).expect("small enough");
    let blocks: Vec<u64> = (0..10).map(|_| heap.allocate(64).expect("fits")).collect();
    heap.free(blocks[3]).expect("in use");
    // what stands in a free block, copied into one in use with the mark moved to where it would be
    let mark = heap.memory().load(blocks[3] + 8) ^ blocks[3] ^ blocks[5];
    heap.memory_mut().store(blocks[5] + 8, mark);
    assert!(heap.free(blocks[5]).is_ok(), "it is in use");
    assert!(matches!(heap.free(blocks[5]), Err(AllocError::DoubleFree { .. })));
}

#[test]
fn writing_into_a_free_block_is_noticed() {
    let mut heap = Heap::new(4 * MIB, vec![0_u64; (4 * MIB / 8) as usize]).expect("small enough");
    let blocks: Vec<u64> = (0..10).map(|_| heap.allocate(64).expect("fits")).collect();
    heap.free(blocks[3]).expect("in use");
    heap.memory_mut().store(blocks[3], 5_000);
    assert!(matches!(heap.allocate(64), Err(AllocError::Corrupted { .. })));
}
