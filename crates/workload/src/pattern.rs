//! Synthetic traffic patterns: who sends to whom. One per file, one line in the list.
//!
//! A pattern has two faces. Closed workloads take [`Pairs`], sender first: a number of messages is given
//! and the pattern says between whom. Open-loop traffic takes [`Destinations`]: every source sends at its
//! own rate and asks where to. Both come from one spec.

pub mod all_to_all;
pub mod asymmetric;
pub mod background;
pub mod bad_dragonfly;
pub mod bad_yarc;
pub mod bit_complement;
pub mod bit_reversal;
mod destinations;
pub mod diagonal;
pub mod digit_neighbour;
pub mod fft;
pub mod hot_spot;
pub mod hot_spots;
pub mod incast;
pub mod layout;
pub mod list;
pub mod local;
pub mod neighbour;
pub mod permutation;
pub mod shift;
pub mod shuffle;
pub mod taper;
pub mod tornado;
pub mod transpose;
pub mod uniform_random;

use rand::RngExt as _;
use stratasim_core::random::Stream;
use stratasim_core::{BuildError, registry};

pub use destinations::{Anywhere, Destinations};
use destinations::{Map, Rule};
pub use layout::{Along, Layout, Shape};

/// A pattern as the user chose it.
pub trait Pattern: std::fmt::Debug {
    /// Where each rank of `layout` sends. What is drawn once (a permutation) is drawn from `random`.
    ///
    /// # Errors
    /// A number of ranks or a shape of the machine that the pattern cannot do, a parameter out of range.
    fn destinations(&self, layout: &Layout, random: &mut Stream)
    -> Result<Box<dyn Destinations>, BuildError>;

    /// The same as pairs, for workloads with a number of messages; nobody sends to itself.
    ///
    /// # Errors
    /// As [`Pattern::destinations`]; a pattern in which nobody sends to somebody else.
    fn over(&self, layout: &Layout, random: &mut Stream) -> Result<Box<dyn Pairs>, BuildError> {
        at_least_two(layout.ranks)?;
        destinations::pairs(layout.ranks, self.destinations(layout, random)?)
    }
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
        "uniform-random" | "uniform" | "random" => UniformRandom(uniform_random::UniformRandom),
        "permutation" | "randperm" | "random-permutation" => Permutation(permutation::Permutation),
        "shift" | "stride" => Shift(shift::Shift),
        "neighbour" | "nearest-neighbour" | "halo" => Neighbour(neighbour::Neighbour),
        "all-to-all" => AllToAll(all_to_all::AllToAll),
        "incast" => Incast(incast::Incast),
        "hot-spot" => HotSpot(hot_spot::HotSpot),
        "bit-complement" | "bitcomp" => BitComplement(bit_complement::BitComplement),
        "transpose" => Transpose(transpose::Transpose),
        "bit-reversal" | "bitrev" => BitReversal(bit_reversal::BitReversal),
        "shuffle" => Shuffle(shuffle::Shuffle),
        "tornado" => Tornado(tornado::Tornado),
        "digit-neighbour" | "neighbor" => DigitNeighbour(digit_neighbour::DigitNeighbour),
        "diagonal" => Diagonal(diagonal::Diagonal),
        "asymmetric" => Asymmetric(asymmetric::Asymmetric),
        "taper" | "taper64" => Taper(taper::Taper),
        "bad-dragonfly" | "adversarial" => BadDragonfly(bad_dragonfly::BadDragonfly),
        "bad-yarc" | "badperm-yarc" => BadYarc(bad_yarc::BadYarc),
        "background" => Background(background::Background),
        "hot-spots" => HotSpots(hot_spots::HotSpots),
        "local" => Local(local::Local),
        "fft" => Fft(fft::Fft),
        "list" => List(list::List),
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

/// Refuses a number of ranks that is no power of two.
fn power_of_two(pattern: &str, ranks: u32) -> Result<(), BuildError> {
    at_least_two(ranks)?;
    if ranks.is_power_of_two() {
        return Ok(());
    }
    let reason = format!("{pattern} needs a power of two as number of ranks, got {ranks}");
    Err(BuildError::new("", reason))
}

/// Refuses what is no share.
fn share(field: &str, fraction: f64) -> Result<(), BuildError> {
    if (0.0..=1.0).contains(&fraction) {
        return Ok(());
    }
    Err(BuildError::new(field, format!("a fraction lies between 0 and 1, got {fraction}")))
}

/// The digits of the ranks' numbers, innermost first: `given`, or those of the machine.
fn digits(pattern: &str, given: &[u32], layout: &Layout) -> Result<Vec<u32>, BuildError> {
    let (digits, whose) = match (given.is_empty(), layout.digits()) {
        (false, _) => (given.to_vec(), ""),
        (true, Some(digits)) => (digits, " of the machine"),
        (true, None) => {
            let reason =
                format!("{pattern} goes along dimensions, and the machine has none; give their extents");
            return Err(BuildError::new("dimensions", reason));
        }
    };
    let product = digits.iter().try_fold(1_u64, |product, &extent| product.checked_mul(extent.into()));
    if product == Some(layout.ranks.into()) {
        return Ok(digits);
    }
    let reason = format!("the extents {digits:?}{whose} do not make {} ranks", layout.ranks);
    Err(BuildError::new("dimensions", reason))
}

/// `rank` with every digit changed by `change(digit, extent)`, which gives a digit.
fn change_digits(rank: u32, digits: &[u32], change: impl Fn(u32, u32) -> u32) -> u32 {
    let (mut rest, mut stride, mut out) = (rank, 1, 0);
    for &extent in digits {
        out += change(rest % extent, extent) * stride;
        rest /= extent;
        stride *= extent;
    }
    out
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
