//! The memory behind an allocator, as far as the allocator needs it.

use rustc_hash::FxHashMap;

/// Words of the memory that is being allocated. The allocator reads and writes only blocks that are free, at offsets
/// that are multiples of 8.
pub trait Backing {
    /// The word at `offset_bytes`.
    fn load(&self, offset_bytes: u64) -> u64;
    /// Stores a word at `offset_bytes`.
    fn store(&mut self, offset_bytes: u64, value: u64);
}

/// Memory of which only the words that are not zero exist: for models of memories that are larger than the machine.
#[derive(Debug, Clone, Default)]
pub struct Sparse {
    words: FxHashMap<u64, u64>,
}

impl Backing for Sparse {
    fn load(&self, offset_bytes: u64) -> u64 {
        self.words.get(&offset_bytes).copied().unwrap_or(0)
    }

    fn store(&mut self, offset_bytes: u64, value: u64) {
        if value == 0 {
            self.words.remove(&offset_bytes);
        } else {
            self.words.insert(offset_bytes, value);
        }
    }
}

impl Backing for Vec<u64> {
    fn load(&self, offset_bytes: u64) -> u64 {
        self[(offset_bytes / 8) as usize]
    }

    fn store(&mut self, offset_bytes: u64, value: u64) {
        self[(offset_bytes / 8) as usize] = value;
    }
}
