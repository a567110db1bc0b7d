//! Named random streams of one seed.
//!
//! Each component draws from a stream with its own name, so adding a component moves nobody
//! else's numbers. The generator is named (`Pcg64Mcg`) and its seed is a fixed hash; results do
//! not change with a library's idea of a default generator.

use rand_pcg::Pcg64Mcg;

/// The seed of a run, from which every stream is derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
}

/// One stream of random numbers.
pub type Stream = Pcg64Mcg;

impl Streams {
    /// The streams of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The stream called `name`, from its beginning.
    pub fn stream(&self, name: &str) -> Stream {
        self.indexed(name, 0)
    }

    /// The `index`-th of a family of streams called `name` (one per rank, link, ...).
    pub fn indexed(&self, name: &str, index: u64) -> Stream {
        // FNV-1a over the name, then SplitMix64 to spread seed and index over 128 bits.
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mut state =
            hash ^ mix(self.seed) ^ mix(index.wrapping_add(0x9e37_79b9_7f4a_7c15)).rotate_left(17);
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            u128::from(mix(state))
        };
        Pcg64Mcg::new((next() << 64) | next())
    }
}

/// SplitMix64's finaliser: a bijection that spreads every bit over the word.
pub const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;

    #[test]
    fn a_stream_is_fixed_by_seed_name_and_index() {
        let first = |seed, name, index| Streams::new(seed).indexed(name, index).next_u64();
        assert_eq!(first(1, "a", 0), first(1, "a", 0));
        let others = [first(2, "a", 0), first(1, "b", 0), first(1, "a", 1)];
        assert!(others.iter().all(|&x| x != first(1, "a", 0)));
    }
}
