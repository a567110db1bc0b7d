//! Where the packets of a source go: the open-loop side of patterns.

use rand::RngExt as _;
use stratasim_core::BuildError;
use stratasim_core::random::{Draws, Stream, key};

use super::{Fixed, Pairs};

/// Destinations by source. What is drawn depends on the draws only, so that sources do not depend on each other.
pub trait Destinations: std::fmt::Debug + Send + Sync {
    /// Where the next packet of `source` goes; `None` where it goes nowhere and is left out. With `to_self` that may be
    /// `source` itself, where the pattern has it so; without, such a destination is drawn again, and a source that only
    /// knows itself is silent.
    fn destination(&self, source: u32, to_self: bool, draws: &mut Draws) -> Option<u32>;

    /// The share of the packets of `source` that go somewhere, 0 for a silent source. Patterns on a background in which
    /// some are silent have shares between 0 and 1; of all others every packet goes somewhere or none does.
    fn share(&self, source: u32, to_self: bool) -> f64 {
        f64::from(u8::from(self.destination(source, to_self, &mut Draws::new(u64::from(source))).is_some()))
    }

    /// The destinations of `source` that are asked for one by one.
    fn listed(&self, _source: u32) -> &[u32] {
        &[]
    }

    /// Whether every source has one destination, whatever is drawn.
    fn is_fixed(&self) -> bool {
        false
    }

    /// That it is any rank, each as likely, where it is nothing else: a caller may draw without a call for each packet.
    fn anywhere(&self) -> Option<Anywhere> {
        None
    }
}

/// Draws of one destination before a source that finds only itself is given up as silent: a source of whose
/// destinations one in a hundred is another one is given up once in 10^18 packets.
const ATTEMPTS: u32 = 4096;

/// One destination for each source.
#[derive(Debug)]
pub(super) struct Map(Vec<Option<u32>>);

impl Map {
    /// `to` of every source.
    pub(super) fn of(ranks: u32, to: impl Fn(u32) -> u32) -> Box<dyn Destinations> {
        Box::new(Self((0..ranks).map(|source| Some(to(source))).collect()))
    }

    /// Of pairs, sender first.
    pub(super) fn of_pairs(ranks: u32, pairs: impl IntoIterator<Item = (u32, u32)>) -> Box<dyn Destinations> {
        let mut to = vec![None; ranks as usize];
        for (from, dest) in pairs {
            to[from as usize] = Some(dest);
        }
        Box::new(Self(to))
    }
}

impl Destinations for Map {
    fn destination(&self, source: u32, to_self: bool, _: &mut Draws) -> Option<u32> {
        self.0[source as usize].filter(|&found| to_self || found != source)
    }

    fn is_fixed(&self) -> bool {
        true
    }
}

/// Any of `ranks` ranks, each as likely.
#[derive(Debug, Clone, Copy)]
pub struct Anywhere {
    pub(super) ranks: u32,
}

impl Destinations for Anywhere {
    #[inline]
    fn destination(&self, source: u32, to_self: bool, draws: &mut Draws) -> Option<u32> {
        if to_self {
            return Some(draws.below(self.ranks));
        }
        let drawn = draws.below(self.ranks - 1);
        Some(drawn + u32::from(drawn >= source))
    }

    fn anywhere(&self) -> Option<Anywhere> {
        Some(*self)
    }
}

/// Destinations drawn by a rule.
pub(super) struct Rule<F>(pub(super) &'static str, pub(super) F);

impl<F> std::fmt::Debug for Rule<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl<F: Fn(u32, &mut Draws) -> u32 + Send + Sync> Destinations for Rule<F> {
    fn destination(&self, source: u32, to_self: bool, draws: &mut Draws) -> Option<u32> {
        (0..ATTEMPTS).map(|_| self.1(source, draws)).find(|&found| to_self || found != source)
    }
}

/// The pairs of closed workloads from destinations: nobody sends to itself.
pub(super) fn pairs(ranks: u32, destinations: Box<dyn Destinations>) -> Result<Box<dyn Pairs>, BuildError> {
    let senders: Vec<u32> = (0..ranks).filter(|&source| destinations.share(source, false) > 0.0).collect();
    if senders.is_empty() {
        return Err(BuildError::new("", format!("nobody among {ranks} ranks sends to somebody else")));
    }
    if destinations.is_fixed() {
        let find = |source| destinations.destination(source, false, &mut Draws::new(u64::from(source)));
        let pairs = senders.into_iter().filter_map(|source| Some((source, find(source)?))).collect();
        return Ok(Box::new(Fixed { pairs }));
    }
    Ok(Box::new(Drawn { senders, destinations }))
}

#[derive(Debug)]
struct Drawn {
    senders: Vec<u32>,
    destinations: Box<dyn Destinations>,
}

impl Pairs for Drawn {
    fn turns(&self) -> u64 {
        1
    }

    fn pair(&self, _: u64, random: &mut Stream) -> (u32, u32) {
        loop {
            let from = self.senders[random.random_range(0..self.senders.len())];
            let mut draws = Draws::new(key(random.random(), u64::from(from)));
            if let Some(to) = self.destinations.destination(from, false, &mut draws) {
                return (from, to);
            }
        }
    }

    fn senders(&self) -> u32 {
        self.senders.len() as u32
    }
}
