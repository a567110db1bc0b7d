//! Synthetic traffic patterns: who sends to whom. One per file, one line in the list.

pub mod all_to_all;
pub mod bit_complement;
pub mod hot_spot;
pub mod incast;
pub mod neighbour;
pub mod permutation;
pub mod shift;
pub mod transpose;
pub mod uniform_random;

use rand::RngExt as _;
use stratasim_core::random::Stream;
use stratasim_core::{BuildError, registry};

/// A pattern as the user chose it.
pub trait Pattern: std::fmt::Debug {
    /// Lays the pattern over `ranks` ranks. What is drawn once (a permutation) is drawn from `random`.
    ///
    /// # Errors
    /// A number of ranks that the pattern cannot do, a parameter out of range.
    fn over(&self, ranks: u32, random: &mut Stream) -> Result<Box<dyn Pairs>, BuildError>;
}

/// A pattern over a number of ranks: a source of pairs, sender first, never a rank with itself.
pub trait Pairs: std::fmt::Debug {
    /// Turns after which the pattern has gone round and every sender has served each of its
    /// receivers; 1 where every pair is drawn.
    fn turns(&self) -> u64;

    /// The pair of turn `turn`, below [`Pairs::turns`].
    fn pair(&self, turn: u64, random: &mut Stream) -> (u32, u32);

    /// Ranks that send anything.
    fn senders(&self) -> u32;
}

registry! {
    /// Every pattern, by its `kind`.
    pub enum PatternSpec: dyn Pattern {
        "uniform-random" => UniformRandom(uniform_random::UniformRandom),
        "permutation" => Permutation(permutation::Permutation),
        "shift" => Shift(shift::Shift),
        "neighbour" => Neighbour(neighbour::Neighbour),
        "all-to-all" => AllToAll(all_to_all::AllToAll),
        "incast" => Incast(incast::Incast),
        "hot-spot" => HotSpot(hot_spot::HotSpot),
        "bit-complement" => BitComplement(bit_complement::BitComplement),
        "transpose" => Transpose(transpose::Transpose),
    }
}

impl Default for PatternSpec {
    fn default() -> Self {
        Self::UniformRandom(uniform_random::UniformRandom::default())
    }
}

/// Refuses fewer than two ranks: nobody could send to anybody.
fn at_least_two(ranks: u32) -> Result<(), BuildError> {
    match ranks {
        2.. => Ok(()),
        _ => Err(BuildError::new("", format!("traffic needs at least two ranks, got {ranks}"))),
    }
}

/// Any of `ranks` ranks but `rank`, each as likely.
fn other_than(rank: u32, ranks: u32, random: &mut Stream) -> u32 {
    let drawn = random.random_range(0..ranks - 1);
    drawn + u32::from(drawn >= rank)
}

/// Refuses a rank that does not exist.
fn known_rank(field: &str, rank: u32, ranks: u32) -> Result<(), BuildError> {
    if rank < ranks {
        return Ok(());
    }
    Err(BuildError::new(
        field,
        format!("rank {rank} does not exist, the machine has ranks 0 to {}", ranks - 1),
    ))
}

/// A pattern in which every sender has one receiver.
#[derive(Debug)]
struct Fixed {
    pairs: Vec<(u32, u32)>,
}

impl Pairs for Fixed {
    fn turns(&self) -> u64 {
        self.pairs.len() as u64
    }

    fn pair(&self, turn: u64, _: &mut Stream) -> (u32, u32) {
        self.pairs[turn as usize]
    }

    fn senders(&self) -> u32 {
        self.pairs.len() as u32
    }
}
