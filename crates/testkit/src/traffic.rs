//! Random requests: at once and apart, short and long, to others and to oneself.

use rand::{Rng as _, RngExt as _};
use stratasim_core::model::Transfer;
use stratasim_core::random::{Stream, Streams};
use stratasim_core::{Bandwidth, Duration, NodeId, Time, Token};
use stratasim_topo::Topology;

/// A message and when it is sent.
pub type Timed = (Time, Transfer);

/// Random numbers of `case`.
pub fn stream(case: u64) -> Stream {
    Streams::new(1).indexed("testkit", case)
}

/// `count` messages in order of time, with tokens `0, 1, ...`. A third starts together with the one
/// before, some are empty, some go to their own node, some have a limit of their own.
pub fn random(topology: &Topology, count: u64, random: &mut Stream) -> Vec<Timed> {
    let nodes = topology.compute_nodes();
    let mut now = Time::ZERO;
    (0..count)
        .map(|token| {
            let mut node = || -> NodeId { nodes[random.random_range(0..nodes.len())] };
            let (src, dst) = (node(), node());
            if random.random_range(0..3) != 0 {
                now += Duration::from_ps(random.random_range(0..20_000_000));
            }
            let bytes = match random.random_range(0..8) {
                0 => 0,
                1 => random.random_range(1..64),
                2 => 1 << random.random_range(10..24),
                _ => random.random_range(1..200_000),
            };
            let limited = random.next_u32().is_multiple_of(8);
            let rate_cap = limited.then(|| Bandwidth(random.random_range(1e7..2e9)));
            (now, Transfer { rate_cap, ..Transfer::new(Token(token), src, dst, bytes) })
        })
        .collect()
}
