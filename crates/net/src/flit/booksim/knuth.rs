//! Knuth's lagged generators, as BookSim2 draws from them.
//!
//! Source: D. Knuth, "The Art of Computer Programming", volume 2, section 3.6 with the errata of 2002:
//! `ran_array` (30-bit integers, X(n) = X(n-100) - X(n-37)) and `ranf_array` (52-bit fractions,
//! X(n) = X(n-100) + X(n-37)); of each block of 1,009 numbers the first 100 are used.

/// The long lag: numbers of state, and numbers used of a block.
const LONG: usize = 100;
/// The short lag.
const SHORT: usize = 37;
/// Numbers of a block.
const BLOCK: usize = 1009;
/// Guaranteed separation between streams: log2 of it.
const SEPARATION: u32 = 70;

/// A lagged Fibonacci generator of numbers of `BITS` bits; its terms are subtracted or added.
#[derive(Debug, Clone)]
struct Lagged<const SUBTRACT: bool, const BITS: u32> {
    /// A block and the start of the next one, modulo 2^64: only what is used is cut to its bits.
    block: Box<[u64; BLOCK + LONG]>,
    /// Numbers of the block that have been used.
    used: usize,
}

impl<const SUBTRACT: bool, const BITS: u32> Lagged<SUBTRACT, BITS> {
    const MASK: u64 = (1 << BITS) - 1;

    const fn combine(x: u64, y: u64) -> u64 {
        (if SUBTRACT { x.wrapping_sub(y) } else { x + y }) & Self::MASK
    }

    fn new(seed: u32) -> Self {
        let seed = u64::from(seed) & 0x3fff_ffff;
        let mut x = [0; 2 * LONG - 1];
        // the integers start from an even number, the fractions from an even multiple of the last place
        let mut start = if SUBTRACT { (seed + 2) & (Self::MASK & !1) } else { 2 * (seed + 2) };
        for slot in &mut x[..LONG] {
            *slot = start;
            start <<= 1;
            if start > Self::MASK {
                start -= Self::MASK - 1;
            }
        }
        x[1] += 1;
        let (mut bits, mut left) = (seed, SEPARATION - 1);
        while left > 0 {
            // squares the polynomial, and multiplies it by z where the seed has a one
            for j in (1..LONG).rev() {
                x[2 * j] = x[j];
                x[2 * j - 1] = 0;
            }
            for j in (LONG..=2 * LONG - 2).rev() {
                x[j - (LONG - SHORT)] = Self::combine(x[j - (LONG - SHORT)], x[j]);
                x[j - LONG] = Self::combine(x[j - LONG], x[j]);
            }
            if bits & 1 == 1 {
                x.copy_within(0..LONG, 1);
                x[0] = x[LONG];
                x[SHORT] = Self::combine(x[SHORT], x[LONG]);
            }
            if bits > 0 {
                bits >>= 1;
            } else {
                left -= 1;
            }
        }
        let mut block = Box::new([0; BLOCK + LONG]);
        block[LONG - SHORT..LONG].copy_from_slice(&x[..SHORT]);
        block[..LONG - SHORT].copy_from_slice(&x[SHORT..LONG]);
        let mut generator = Self { block, used: 0 };
        for _ in 0..10 {
            generator.skip(2 * LONG - 1);
        }
        generator
    }

    /// Makes the sequence from `count` numbers further on stand in front.
    #[inline(never)]
    fn skip(&mut self, count: usize) {
        let end = count + LONG;
        let mut at = LONG;
        while at < end {
            // terms that do not depend on each other
            let (before, new) = self.block[..end].split_at_mut(at);
            let terms = before[at - LONG..].iter().zip(&before[at - SHORT..]);
            for (new, (&long, &short)) in new.iter_mut().zip(terms) {
                *new = if SUBTRACT { long.wrapping_sub(short) } else { long.wrapping_add(short) };
            }
            at += SHORT;
        }
        self.block.copy_within(count..end, 0);
    }

    #[inline]
    fn next(&mut self) -> u64 {
        if self.used == LONG {
            self.skip(BLOCK);
            self.used = 0;
        }
        let value = self.block[self.used];
        self.used += 1;
        value & Self::MASK
    }
}

/// The two streams that BookSim2 draws everything from, with the state of one seed.
#[derive(Debug, Clone)]
pub struct Knuth {
    integers: Lagged<true, 30>,
    fractions: Lagged<false, 52>,
}

/// A probability as the numbers below which a fraction falls: see [`Knuth::below`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chance(u64);

impl Chance {
    /// The chance of `probability`; exact, for a product with a power of two is.
    pub fn new(probability: f64) -> Self {
        Self((probability * (1u64 << 52) as f64).ceil() as u64)
    }
}

impl Knuth {
    /// The streams of a seed; only its lowest 30 bits count.
    pub fn new(seed: u32) -> Self {
        Self { integers: Lagged::new(seed), fractions: Lagged::new(seed) }
    }

    /// The next integer, of 30 bits.
    #[inline]
    pub fn next_integer(&mut self) -> u32 {
        self.integers.next() as u32
    }

    /// The next integer, modulo `bound` (at least 1).
    #[inline]
    pub fn integer_below(&mut self, bound: u32) -> u32 {
        let value = self.next_integer();
        if bound.is_power_of_two() { value & (bound - 1) } else { value % bound }
    }

    /// The next fraction, 0 or more and less than 1.
    #[inline]
    pub fn fraction(&mut self) -> f64 {
        self.fractions.next() as f64 / (1u64 << 52) as f64
    }

    /// Whether the next fraction is less than a probability.
    #[inline]
    pub fn below(&mut self, chance: Chance) -> bool {
        self.fractions.next() < chance.0
    }
}
