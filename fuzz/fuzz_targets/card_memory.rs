//! The allocator of a card: no sequence of operations makes a panic, blocks never overlap, and bytes are conserved.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use stratasim_alloc::{Address, CardMemory, Sparse, Tier};

const GROUPS: u32 = 3;
const MEMORY: u64 = 6 << 20;

fuzz_target!(|bytes: &[u8]| {
    let mut card = CardMemory::new(GROUPS, MEMORY, MEMORY / 2, |_| Sparse::default()).expect("a small card");
    let mut blocks: BTreeMap<Address, Tier> = BTreeMap::new();
    for step in bytes.chunks_exact(4) {
        let argument = u64::from(u16::from_le_bytes([step[2], step[3]]));
        let tier = if step[1] % 4 == 3 { Tier::Global } else { Tier::Local(u32::from(step[1] % 4)) };
        match step[0] % 8 {
            // sizes up to 64 KiB, and up to 4 MiB
            kind @ 0..=2 => {
                let size = if kind == 2 { argument << 6 } else { argument };
                if let Ok(address) = card.allocate_in(tier, size) {
                    assert!(blocks.insert(address, tier).is_none(), "given twice");
                    assert_eq!(card.resolve(address).map(|(tier, _)| tier), Ok(tier));
                }
            }
            3..=5 => {
                let chosen = blocks.iter().nth(argument as usize % blocks.len().max(1));
                if let Some((&address, &tier)) = chosen {
                    card.free_in(tier, address).expect("in use");
                    blocks.remove(&address);
                    assert!(card.free_in(tier, address).is_err(), "freed twice");
                }
            }
            6 => {
                let near = blocks.keys().nth(argument as usize % blocks.len().max(1)).map_or(0, |address| address.0);
                let address = Address(near.wrapping_add(argument << (step[1] % 32)));
                let in_use = blocks.get(&address) == Some(&tier);
                assert_eq!(card.free_in(tier, address).is_ok(), in_use);
                if in_use {
                    blocks.remove(&address);
                }
            }
            _ => {
                let _ = card.reserve(argument << 7);
            }
        }
    }
    for tier in card.tiers() {
        let statistics = card.statistics(tier).expect("a tier");
        assert_eq!(statistics.blocks, blocks.values().filter(|owner| **owner == tier).count() as u64);
        let accounted = statistics.in_use_bytes + statistics.slab_idle_bytes + statistics.free_bytes;
        assert_eq!(accounted, statistics.capacity_bytes);
    }
    for (address, tier) in blocks {
        card.free_in(tier, address).expect("in use");
    }
    for tier in card.tiers() {
        let statistics = card.statistics(tier).expect("a tier");
        assert_eq!(statistics.free_bytes, statistics.capacity_bytes);
    }
});
