//! BookSim2's traffic patterns and injection processes, with their random draws.

use stratasim_net::flit::booksim::knuth::{Chance, Knuth};

/// Who sends to whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// Any node, the sender among them.
    Uniform,
    /// Any node but some, the lowest first.
    Background(Vec<u32>),
    /// A fixed node for each sender: permutations.
    Table(Vec<u32>),
    /// The sender itself, or with two chances of three... of the next node: see [`Pattern::dest`].
    Diagonal,
    /// The sender's place in the lower or the upper half.
    Asymmetric,
    /// 64 nodes: near ones half of the time.
    Taper64,
    /// Any node of the next group of a dragonfly.
    BadDragonfly {
        /// Nodes of a group.
        group: u32,
    },
    /// Any of the nodes that share a column.
    BadPermutationYarc {
        /// Extent of a row.
        row: u32,
    },
    /// Nodes with weights.
    HotSpot {
        /// Node, and its weight.
        weights: Vec<(u32, u32)>,
        /// Sum of weights.
        total: u32,
    },
}

impl Pattern {
    /// Draws the destination of a packet of `source` among `nodes`.
    pub fn dest(&self, source: u32, nodes: u32, knuth: &mut Knuth) -> u32 {
        match self {
            Self::Uniform => knuth.integer_below(nodes),
            Self::Background(excluded) => loop {
                let dest = knuth.integer_below(nodes);
                if excluded.binary_search(&dest).is_err() {
                    return dest;
                }
            },
            Self::Table(table) => table[source as usize],
            Self::Diagonal => {
                if knuth.integer_below(3) == 0 {
                    (source + 1) % nodes
                } else {
                    source
                }
            }
            Self::Asymmetric => {
                let half = nodes / 2;
                source % half + if knuth.integer_below(2) == 1 { half } else { 0 }
            }
            Self::Taper64 => {
                if knuth.integer_below(2) == 1 {
                    let rows = knuth.integer_below(3);
                    let columns = knuth.integer_below(3);
                    // one less than drawn of either, and 64 more to stay above 0
                    (64 + source + 8 * rows + columns - 9) % 64
                } else {
                    knuth.integer_below(nodes)
                }
            }
            Self::BadDragonfly { group } => {
                (knuth.integer_below(*group) + (source / group + 1) * group) % nodes
            }
            Self::BadPermutationYarc { row } => knuth.integer_below(*row) * row + source / row,
            Self::HotSpot { weights, total } => {
                if let [(node, _)] = weights[..] {
                    return node;
                }
                let mut drawn = knuth.integer_below(*total);
                for &(node, weight) in weights {
                    if weight > drawn {
                        return node;
                    }
                    drawn -= weight;
                }
                weights[weights.len() - 1].0
            }
        }
    }

    /// A permutation drawn from a seed of its own: node `i` in turn goes to one of the sources that have
    /// no destination yet.
    pub fn random_permutation(nodes: u32, seed: u32) -> Self {
        let mut knuth = Knuth::new(seed);
        let mut free: Vec<u32> = (0..nodes).collect();
        let mut table = vec![0; nodes as usize];
        for dest in 0..nodes {
            let source = free.remove(knuth.integer_below(nodes - dest) as usize);
            table[source as usize] = dest;
        }
        Self::Table(table)
    }

    /// The digits of the sender's number to the base `k`, each moved on by `offset`. Destinations lie outside of
    /// the network where `k^n` is not `nodes`.
    pub fn digits_moved(nodes: u32, k: u32, n: u32, offset: u32) -> Self {
        let (k, offset) = (u64::from(k), u64::from(offset));
        let moved = |source: u32| {
            let (mut rest, mut stride, mut dest) = (u64::from(source), 1u64, 0u64);
            for _ in 0..n {
                dest = dest.saturating_add(((rest % k + offset) % k).saturating_mul(stride));
                rest /= k;
                stride = stride.saturating_mul(k);
            }
            u32::try_from(dest).unwrap_or(u32::MAX)
        };
        Self::Table((0..nodes).map(moved).collect())
    }
}

/// When packets come into being at a node.
#[derive(Debug, Clone)]
pub enum Process {
    /// In each cycle with the same chance.
    Bernoulli(Chance),
    /// Markov-modulated: nodes are on or off.
    OnOff {
        /// From off to on.
        alpha: Chance,
        /// From on to off.
        beta: Chance,
        /// A packet while on.
        packet: Chance,
        /// States at first.
        initial: Vec<bool>,
        /// States now.
        on: Vec<bool>,
    },
}

impl Process {
    /// Whether `node` makes a packet in its next cycle.
    #[inline]
    pub fn makes(&mut self, node: u32, knuth: &mut Knuth) -> bool {
        match self {
            Self::Bernoulli(chance) => knuth.below(*chance),
            Self::OnOff { alpha, beta, packet, on, .. } => {
                let on = &mut on[node as usize];
                *on = if *on { !knuth.below(*beta) } else { knuth.below(*alpha) };
                *on && knuth.below(*packet)
            }
        }
    }

    /// Back to the state at first, for the next simulation.
    pub fn reset(&mut self) {
        if let Self::OnOff { initial, on, .. } = self {
            on.clone_from(initial);
        }
    }
}
