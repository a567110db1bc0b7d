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

    /// The key of the counter-based draws called `name`: see [`Draws`].
    pub fn key(&self, name: &str) -> u64 {
        key(self.seed, fnv(name))
    }

    /// The `index`-th of a family of streams called `name` (one per rank, link, ...).
    pub fn indexed(&self, name: &str, index: u64) -> Stream {
        // FNV-1a over the name, then SplitMix64 to spread seed and index over 128 bits.
        let mut state = fnv(name) ^ mix(self.seed) ^ mix(index.wrapping_add(GOLDEN)).rotate_left(17);
        let mut next = || {
            state = state.wrapping_add(GOLDEN);
            u128::from(mix(state))
        };
        Pcg64Mcg::new((next() << 64) | next())
    }
}

/// 2^64 over the golden ratio, the step of SplitMix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn fnv(name: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The key of part `part` of what `base` is the key of; for one base, different parts have different keys.
pub const fn key(base: u64, part: u64) -> u64 {
    mix(base.rotate_left(23) ^ mix(part.wrapping_add(GOLDEN)))
}

/// Counter-based draws: the n-th number of a key depends on the key and on n only. Where each thing that
/// is decided has a key of its own (run, terminal, number of the packet), outcomes depend neither on the
/// order in which things are decided nor on the threads that do it.
///
/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014), from the key on.
#[derive(Debug, Clone, Copy)]
pub struct Draws {
    state: u64,
}

impl Draws {
    /// The draws of a key; see [`key`] and [`Streams::key`].
    pub const fn new(key: u64) -> Self {
        Self { state: key }
    }

    /// The next 64 bits.
    #[inline]
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// A number below `bound`, each as likely (up to 2^-32); `bound` at least 1.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(bound) * (self.bits() >> 32)) >> 32) as u32
    }

    /// A number above 0, at most 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        unit(self.bits() >> 11)
    }

    /// Whether something of this probability happens.
    #[inline]
    pub fn happens(&mut self, probability: f64) -> bool {
        self.unit() <= probability
    }

    /// An exponential waiting time with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }
}

/// A probability, and what waiting for it takes.
#[derive(Debug, Clone, Copy)]
struct Odds {
    probability: f64,
    /// ln(1 - probability).
    log: f64,
}

impl Odds {
    fn of(probability: f64) -> Self {
        Self { probability, log: (-probability).ln_1p() }
    }

    /// Trials up to and with the first success, by a number of 53 bits: the larger, the fewer.
    fn trials(self, drawn: u64) -> u64 {
        if self.probability >= 1.0 {
            return 1;
        }
        // a probability of zero divides by zero: infinity, or no number where the draw is 1
        let failures = unit(drawn).ln() / self.log;
        let happens = failures.is_finite() && self.probability > 0.0;
        if happens { (failures as u64).saturating_add(1) } else { u64::MAX }
    }
}

/// Failures that [`Trials`] knows without a logarithm.
const SHORT: usize = 16;

/// Trials of one probability, again and again, mostly without a logarithm.
#[derive(Debug, Clone)]
pub struct Trials {
    odds: Odds,
    /// Numbers of 53 bits below which there are more failures than 0, 1, 2, ...
    below: [i64; SHORT],
}

impl Trials {
    /// Of something with this probability.
    pub fn of(probability: f64) -> Self {
        let odds = Odds::of(probability);
        let limit = |failures: u64| {
            // the first number that has no more of them
            let (mut low, mut high) = (0, 1 << 53);
            while low < high {
                let middle = (low + high) / 2;
                if odds.trials(middle) > failures + 1 { low = middle + 1 } else { high = middle }
            }
            low as i64
        };
        Self { odds, below: std::array::from_fn(|failures| limit(failures as u64)) }
    }

    /// Trials up to and with the next success: at least 1. What never happens takes `u64::MAX`.
    #[inline]
    pub fn count(&self, draws: &mut Draws) -> u64 {
        let drawn = draws.bits() >> 11;
        // all of them, in a few instructions, rather than one after the other until one does not fit
        let failures: u64 = self.below.iter().map(|&limit| u64::from((drawn as i64) < limit)).sum();
        if failures < SHORT as u64 { failures + 1 } else { self.odds.trials(drawn) }
    }
}

/// A number above 0, at most 1, by one of 53 bits.
#[inline]
fn unit(drawn: u64) -> f64 {
    (drawn + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
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

    #[test]
    fn draws_have_the_moments_of_their_distributions() {
        let base = Streams::new(7).key("test");
        let count = 100_000;
        let (mut below, mut trials, mut waits) = (0.0, 0.0, 0.0);
        let seldom = Trials::of(0.02);
        for number in 0..count {
            let mut draws = Draws::new(key(base, number));
            below += f64::from(draws.below(10));
            trials += seldom.count(&mut draws) as f64;
            waits += draws.exponential();
        }
        let mean = |sum: f64| sum / count as f64;
        // six standard errors: sd 2.87, 49.5 and 1 over the square root of 100,000
        assert!((mean(below) - 4.5).abs() < 0.055, "{}", mean(below));
        assert!((mean(trials) - 50.0).abs() < 0.94, "{}", mean(trials));
        assert!((mean(waits) - 1.0).abs() < 0.019, "{}", mean(waits));
        let mut draws = Draws::new(base);
        let [always, never] = [1.0, 0.0].map(|probability| Trials::of(probability).count(&mut draws));
        assert_eq!((always, never), (1, u64::MAX));
    }

    #[test]
    fn repeated_trials_are_those_of_the_logarithm() {
        for probability in [0.0, 1e-9, 0.01, 0.1, 0.3, 0.5, 0.97, 1.0] {
            let trials = Trials::of(probability);
            for number in 0..20_000 {
                let mut draws = Draws::new(key(3, number));
                let literal = trials.odds.trials(draws.clone().bits() >> 11);
                assert_eq!(trials.count(&mut draws), literal);
            }
        }
    }

    #[test]
    fn parts_of_a_key_have_different_keys() {
        let mut keys: Vec<u64> =
            (0..50_000).map(|part| key(1, part)).chain((0..50_000).map(|part| key(2, part))).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 100_000);
    }
}
