//! One number for a whole run: same input, same digest, on every machine.
//!
//! Each finished task is mixed into 128 bits, and the digest is the sum of all of them modulo 2^128.
//! A sum does not care about order, so tasks that end at the same instant may be told in any order;
//! time is part of what is mixed, so any other change shows. Messages and link rates do not count:
//! levels of detail may tell more or less of them.
//!
//! The digest guards against mistakes, not against an adversary: two different runs agree with a
//! probability of about 2^-128, but tasks can be made up that cancel.

use stratasim_core::observe::{Event, Interests, Observer, TaskSpan};

/// Sums up the finished tasks of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digest {
    sum: u128,
    tasks: u64,
}

/// Odd constants with well-spread bits: the fractional parts of square roots of primes, as in
/// SHA-512 (FIPS 180-4, section 5.3.5).
const KEYS: [u64; 6] = [
    0x6a09_e667_f3bc_c909,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
];

impl Digest {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a task.
    #[inline]
    pub fn add(&mut self, task: &TaskSpan) {
        self.sum = self.sum.wrapping_add(mixed(task));
        self.tasks += 1;
    }

    /// Tasks so far.
    pub const fn tasks(&self) -> u64 {
        self.tasks
    }

    /// The digest as 32 hexadecimal digits.
    pub fn hex(&self) -> String {
        // none at all must not look like some that cancel
        let count = u128::from(fold(self.tasks ^ KEYS[0], KEYS[1])) << 64
            | u128::from(fold(self.tasks ^ KEYS[2], KEYS[3]));
        format!("{:032x}", self.sum.wrapping_add(count))
    }
}

/// 128 well-mixed bits of a task: two chains of folded multiplications with different keys.
#[inline]
fn mixed(task: &TaskSpan) -> u128 {
    let who = u64::from(task.rank.0) << 32 | u64::from(task.vertex);
    let what = u64::from(task.iteration) << 32 | u64::from(task.stream) << 8 | task.activity as u64;
    let (start, end, bytes) = (task.start.as_ps(), task.end.as_ps(), task.bytes);
    let low = fold(
        fold(who ^ KEYS[0], what ^ KEYS[1]),
        fold(start ^ KEYS[2], end ^ KEYS[3]) ^ fold(bytes ^ KEYS[4], KEYS[5]),
    );
    let high = fold(
        fold(who ^ KEYS[5], start ^ KEYS[4]).wrapping_add(KEYS[1]),
        fold(what ^ KEYS[3], end ^ KEYS[2]) ^ fold(bytes ^ KEYS[1], KEYS[0]),
    );
    u128::from(high ^ low.rotate_left(29)) << 64 | u128::from(low)
}

/// The two halves of a 128-bit product, added: every bit of either factor reaches every bit.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    // a factor of zero must not erase the other one
    (product as u64 ^ (product >> 64) as u64).wrapping_add(a.rotate_left(32) ^ b)
}

impl Observer for Digest {
    fn interests(&self) -> Interests {
        Interests { tasks: true, ..Interests::default() }
    }

    #[inline]
    fn on_event(&mut self, event: &Event) {
        if let Event::Task(task) = event {
            self.add(task);
        }
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::observe::Activity;
    use stratasim_core::{Rank, Time};

    use super::*;

    fn task(rank: u32, vertex: u32, start: u64, end: u64) -> TaskSpan {
        TaskSpan {
            rank: Rank(rank),
            stream: 0,
            vertex,
            iteration: 0,
            activity: Activity::Compute,
            start: Time::from_ps(start),
            end: Time::from_ps(end),
            bytes: 0,
        }
    }

    fn digest<'a>(tasks: impl IntoIterator<Item = &'a TaskSpan>) -> String {
        let mut digest = Digest::new();
        tasks.into_iter().for_each(|task| digest.on_event(&Event::Task(*task)));
        digest.hex()
    }

    #[test]
    fn order_does_not_matter_and_everything_else_does() {
        let tasks = [task(0, 0, 0, 10), task(1, 0, 0, 10), task(0, 1, 10, 20)];
        let base = digest(&tasks);
        assert_eq!(base.len(), 32);
        assert_eq!(digest(tasks.iter().rev()), base);
        type Change = fn(&mut TaskSpan);
        let changes: [Change; 8] = [
            |t| t.rank = Rank(7),
            |t| t.stream = 1,
            |t| t.vertex = 9,
            |t| t.iteration = 1,
            |t| t.activity = Activity::Memory,
            |t| t.start = Time::from_ps(1),
            |t| t.end = Time::from_ps(11),
            |t| t.bytes = 1,
        ];
        for change in changes {
            let mut other = tasks;
            change(&mut other[0]);
            assert_ne!(digest(&other), base);
        }
        assert_ne!(digest(&tasks[..2]), base);
        assert_ne!(digest(tasks.iter().chain(&tasks[..1])), base);
    }

    #[test]
    fn swapping_the_times_of_two_tasks_shows() {
        assert_ne!(
            digest(&[task(0, 0, 0, 10), task(1, 0, 5, 15)]),
            digest(&[task(1, 0, 0, 10), task(0, 0, 5, 15)])
        );
    }

    #[test]
    fn a_change_of_one_bit_changes_half_of_the_bits() {
        let base = mixed(&task(3, 5, 1_000_000, 2_000_000));
        let mut flips = [0_u32; 5];
        let mut count = 0;
        for bit in 0..32 {
            let mut all = [task(3, 5, 1_000_000, 2_000_000); 5];
            all[0].rank.0 ^= 1 << bit;
            all[1].vertex ^= 1 << bit;
            all[2].iteration ^= 1 << bit;
            all[3].start = Time::from_ps(1_000_000 ^ 1 << bit);
            all[4].bytes ^= 1 << bit;
            for (sum, task) in flips.iter_mut().zip(&all) {
                let changed = (mixed(task) ^ base).count_ones();
                assert!((30..=98).contains(&changed), "{changed} of 128 bits");
                *sum += changed;
            }
            count += 1;
        }
        for sum in flips {
            let mean = f64::from(sum) / f64::from(count);
            assert!((58.0..70.0).contains(&mean), "{mean} of 128 bits on average");
        }
    }

    #[test]
    fn ten_thousand_similar_tasks_have_different_halves() {
        let mut low = std::collections::BTreeSet::new();
        let mut high = std::collections::BTreeSet::new();
        for rank in 0..100 {
            for vertex in 0..100 {
                let bits =
                    mixed(&task(rank, vertex, u64::from(vertex) * 1000, u64::from(vertex) * 1000 + 1000));
                low.insert(bits as u64);
                high.insert((bits >> 64) as u64);
            }
        }
        assert_eq!((low.len(), high.len()), (10_000, 10_000));
    }

    #[test]
    fn the_digest_of_a_fixed_run_never_changes() {
        // a change here breaks the comparison of results across versions
        let tasks: Vec<TaskSpan> =
            (0..1000).map(|n| task(n % 7, n, u64::from(n) * 10, u64::from(n) * 10 + 9)).collect();
        assert_eq!(digest(&tasks), "8e4f82a6c4016996ba2307f495ec7a9c");
    }
}
