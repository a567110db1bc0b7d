//! Can packets wait for each other in a circle? Asked before a simulation, answered from the routing function.
//!
//! A packet that has a virtual channel and wants another makes the second depend on the first. Where no chain of
//! such dependencies leads back to where it began, no deadlock is possible (Dally, Seitz 1987). A function with an
//! escape network may have circles among its other channels: it is free of deadlock when every packet may take an
//! escape channel wherever it is, and escape channels do not depend on each other in a circle, be it by way of
//! other channels (Duato 1993, "A new theory of deadlock-free adaptive routing in wormhole networks").
//!
//! The check walks through every state that a packet can be in, for every destination and every outcome of draws.
//! `route` must not look at [`Head::source`]: what depends on it goes into the packet's memory in `start`.

mod explore;
mod graph;
mod rules;

use stratasim_core::BuildError;

use self::explore::{Explorer, Outcome};
use self::graph::Dependencies;
pub use self::rules::forbids_priorities;
use super::fabric::{Fabric, Feeder};
use super::router::RouterSpec;
use super::routing::FlitRouting;

/// What is checked.
pub struct Question<'a> {
    /// The fabric.
    pub fabric: &'a Fabric,
    /// The routing function.
    pub routing: &'a dyn FlitRouting,
    /// The routers: their virtual channels, and the ranges of those that classes may use.
    pub router: &'a RouterSpec,
    /// Whether packets go from one terminal to another at all.
    pub joined: &'a dyn Fn(u32, u32) -> bool,
    /// Name of a router, for the user.
    pub name: &'a dyn Fn(u32) -> String,
}

/// The answer, when there is nothing to refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No deadlock is possible.
    Free {
        /// Dependencies between virtual channels.
        dependencies: usize,
    },
    /// No deadlock is possible: the routing function says so of its ways, which on small machines are followed all the same.
    Ordered,
    /// Too large to check whole: no circle among what packets to so many terminals do, of all. A run that stops
    /// moving is still found.
    Sampled {
        /// Terminals.
        destinations: u32,
    },
    /// Nobody wants to know.
    NotAsked,
}

/// Decisions of the routing function that are followed at most: about a second of work.
pub const MOST_DECISIONS: u64 = 6_000_000;

/// Decisions that are followed where that is too few for all destinations.
const SAMPLED_DECISIONS: u64 = 1 << 19;

/// Pairs of terminal and router above which only a sample is tried.
const MOST_PAIRS: u64 = 1 << 22;

/// Pairs above which functions that are [ordered](FlitRouting::is_ordered) are taken at their word.
const ORDERED_PAIRS: u64 = 1 << 14;

impl Question<'_> {
    /// Looks for circles of waiting packets.
    ///
    /// # Errors
    /// A circle, channel by channel; a function that offers what does not exist; rules of routers with which packets stand
    /// still without one.
    pub fn check(&self) -> Result<Verdict, BuildError> {
        rules::check(self.router, self.routing).map_err(|error| error.within("router"))?;
        let terminals = self.fabric.terminals().len() as u64;
        let pairs = terminals * self.fabric.router_count() as u64;
        if self.routing.is_ordered() && pairs > ORDERED_PAIRS {
            return Ok(Verdict::Ordered);
        }
        let mut ranges: Vec<(u8, u8)> =
            (0..self.router.ranges.len().max(1)).map(|range| self.router.range(range as u8)).collect();
        ranges.sort_unstable();
        ranges.dedup();
        let large = pairs > MOST_PAIRS;
        let mut explorer = Explorer::new(self, if large { SAMPLED_DECISIONS } else { MOST_DECISIONS });
        let mut checked = 0;
        'all: for dest in spread(terminals) {
            for &range in &ranges {
                if explorer.toward(dest, range)? == Outcome::TooMuch {
                    break 'all;
                }
            }
            checked += 1;
            // destinations are much alike: the first one tells whether there is enough for all
            let all = explorer.spent() * terminals;
            if checked == 1 && !large && all > 4 * MOST_DECISIONS {
                explorer.limit(SAMPLED_DECISIONS);
            }
        }
        // what has been followed of the last one happens, too
        let free = |dependencies| match checked {
            _ if u64::from(checked) == terminals => Verdict::Free { dependencies },
            destinations => Verdict::Sampled { destinations },
        };
        let all = &explorer.all;
        let Some(circle) = all.circle() else {
            return Ok(free(all.len()));
        };
        if !self.routing.has_escape() {
            return Err(self.refuse(all, &circle, ""));
        }
        if explorer.mixes() {
            let reason = "the escape channels of some packets are used by others that are not on an escape";
            return Err(BuildError::new("routing", reason));
        }
        let escape = &explorer.escape;
        if let Some(circle) = escape.circle() {
            return Err(self.refuse(escape, &circle, " of the escape network"));
        }
        Ok(free(escape.len()))
    }

    /// The error that names a circle.
    fn refuse(&self, graph: &Dependencies, circle: &[u32], of: &str) -> BuildError {
        const SHOWN: usize = 12;
        let mut lines = String::new();
        for &vertex in circle.iter().take(SHOWN) {
            let (input, vcs) = graph.channel(vertex);
            let (router, port) = (input / self.fabric.stride(), input % self.fabric.stride());
            let from = match self.fabric.feeder(router as u32, port as u16) {
                Feeder::Router { router, .. } => (self.name)(router),
                _ => "a terminal".to_owned(),
            };
            let vcs = if vcs.0 == vcs.1 {
                format!("virtual channel {}", vcs.0)
            } else {
                format!("virtual channels {} to {}", vcs.0, vcs.1)
            };
            lines.push_str(&format!("\n  router {from} -> router {}, {vcs}", (self.name)(router as u32)));
        }
        if circle.len() > SHOWN {
            lines.push_str(&format!("\n  and {} more", circle.len() - SHOWN));
        }
        BuildError::new(
            "routing",
            format!(
                "packets can wait for each other in a circle of {} channels{of}, each for the next and the last for \
                 the first:{lines}\nUse more virtual channels or ranges that do not overlap, or `up-down`, which \
                 fits any graph",
                circle.len()
            ),
        )
    }
}

/// All numbers below `count`, any first few of them far apart and unlike in every digit: so a sample of destinations
/// is not one row of a grid.
fn spread(count: u64) -> impl Iterator<Item = u32> {
    let gcd = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    // the golden section of all, or the next step that reaches everyone
    let section = (count as f64 * 0.618_033_988_75) as u64;
    let step = (section.max(1)..).find(|&step| gcd(step, count) == 1).unwrap_or(1);
    (0..count).map(move |at| (at * step % count) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_is_reached_once_and_the_first_few_are_spread() {
        for count in [1, 2, 3, 7, 64, 100, 4096, 5000] {
            let mut all: Vec<u32> = spread(count).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..count as u32), "{count}");
        }
        // of a grid of 16 x 16 x 16, the first 32 are in every column of every dimension
        for shift in [0, 4, 8] {
            let mut seen = [false; 16];
            spread(4096).take(32).for_each(|at| seen[(at >> shift & 15) as usize] = true);
            assert!(seen.iter().all(|&seen| seen), "{shift}");
        }
    }
}
