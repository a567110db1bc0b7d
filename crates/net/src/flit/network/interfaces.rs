//! By which NICs of its two nodes a message goes.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use stratasim_core::NodeId;

use super::Prepared;
use crate::flit::fabric::{End, Fabric};

/// Terminals of two nodes.
type Pairs = Box<[(u32, u32)]>;

/// The NICs of messages: those that they name, otherwise those on shortest ways in turn, message by message.
#[derive(Debug)]
pub(super) struct Interfaces {
    /// Messages name their NICs.
    named: bool,
    /// By node: messages that it has sent, and those that it was sent.
    sent: Vec<u32>,
    coming: Vec<u32>,
    /// Those that pairs of nodes keep, where their messages go one after the other.
    kept: Option<FxHashMap<(NodeId, NodeId), (u32, u32)>>,
    /// Terminals that are joined by a shortest way, of nodes with several NICs.
    nearest: FxHashMap<(NodeId, NodeId), Pairs>,
    /// Routers on the shortest ways from a terminal to each router, [`u32::MAX`] where none leads.
    hops: FxHashMap<u32, Vec<u32>>,
}

/// Distances from so many terminals are kept at most, counted by router.
const MOST_KEPT: usize = 1 << 24;

impl Interfaces {
    /// Of so many nodes; messages name their NICs where the workload has `nics` of them.
    pub(super) fn new(nodes: usize, nics: u32, in_order: bool) -> Self {
        Self {
            named: nics > 1,
            sent: vec![0; nodes],
            coming: vec![0; nodes],
            kept: in_order.then(FxHashMap::default),
            nearest: FxHashMap::default(),
            hops: FxHashMap::default(),
        }
    }

    /// Whether any two terminals of the nodes are joined.
    pub(super) fn join(&mut self, prepared: &Prepared, [src, dst]: [NodeId; 2]) -> bool {
        let (from, to) = (prepared.wiring.terminals(src), prepared.wiring.terminals(dst));
        let (Some(&first), Some(&last)) = (from.first(), to.first()) else { return false };
        prepared.joined(first, last)
            || from.len() * to.len() > 1 && !self.nearest(prepared, [src, dst]).is_empty()
    }

    /// The terminals of the next message from `src` to `dst`; none where no way joins any.
    ///
    /// Where messages name their NICs, those of number `nic` of both nodes (NICs are counted round) if these are joined,
    /// otherwise the first two with the shortest way. Where they do not, both nodes take theirs in turn, as far as shortest
    /// ways begin and end there; pairs whose messages go one after the other keep theirs.
    pub(super) fn next(
        &mut self,
        prepared: &Prepared,
        [src, dst]: [NodeId; 2],
        nic: u16,
    ) -> Option<(u32, u32)> {
        let (from, to) = (prepared.wiring.terminals(src), prepared.wiring.terminals(dst));
        if let ([from], [to]) = (from, to) {
            return prepared.joined(*from, *to).then_some((*from, *to));
        }
        if from.is_empty() || to.is_empty() {
            return None;
        }
        if self.named {
            let usual = (from[usize::from(nic) % from.len()], to[usize::from(nic) % to.len()]);
            if prepared.joined(usual.0, usual.1) {
                return Some(usual);
            }
            return self.nearest(prepared, [src, dst]).first().copied();
        }
        if let Some(&known) = self.kept.as_ref().and_then(|kept| kept.get(&(src, dst))) {
            return Some(known);
        }
        let turns = [self.sent[src.index()], self.coming[dst.index()]].map(|turn| turn as usize);
        let pairs = self.nearest(prepared, [src, dst]);
        // pairs are in the order of the sender's NICs
        let groups: Vec<&[(u32, u32)]> = pairs.chunk_by(|a, b| a.0 == b.0).collect();
        let ends = *groups.get(turns[0] % groups.len().max(1))?;
        let place = |nic: u32| to.iter().position(|&own| own == nic).unwrap_or(0);
        let due = turns[1] % to.len();
        let found = ends.iter().min_by_key(|&&(_, nic)| (place(nic) + to.len() - due) % to.len()).copied();
        self.sent[src.index()] = self.sent[src.index()].wrapping_add(1);
        self.coming[dst.index()] = self.coming[dst.index()].wrapping_add(1);
        if let (Some(kept), Some(found)) = (&mut self.kept, found) {
            kept.insert((src, dst), found);
        }
        found
    }

    /// The pairs of terminals that are joined by the shortest ways, those of the fewest hops, in the order of NICs; none by
    /// channels that are slower than those of others.
    fn nearest(&mut self, prepared: &Prepared, [src, dst]: [NodeId; 2]) -> &[(u32, u32)] {
        let Self { nearest, hops, .. } = self;
        nearest.entry((src, dst)).or_insert_with(|| {
            let fabric = &prepared.fabric;
            let (from, to) = (prepared.wiring.terminals(src), prepared.wiring.terminals(dst));
            let pairs = from.iter().flat_map(|&from| to.iter().map(move |&to| (from, to)));
            let joined = pairs.filter(|&(from, to)| prepared.joined(from, to));
            let known: Vec<_> = joined
                .map(|(from, to)| {
                    let exit = fabric.terminal(to);
                    let leaves = fabric.channel(exit.router, exit.output).spacing;
                    let spacing = fabric.terminal(from).injection.spacing.max(leaves);
                    let hops = hops_from(hops, fabric, from)[exit.router as usize];
                    ((hops, spacing), (from, to))
                })
                .collect();
            let least = known.iter().map(|known| known.0).min();
            known.iter().filter(|known| Some(known.0) == least).map(|known| known.1).collect()
        })
    }
}

/// Routers on the shortest ways from a terminal to each router, looked up where that was not asked for before.
fn hops_from<'a>(known: &'a mut FxHashMap<u32, Vec<u32>>, fabric: &Fabric, from: u32) -> &'a [u32] {
    if known.len() * fabric.router_count() > MOST_KEPT {
        known.clear();
    }
    known.entry(from).or_insert_with(|| {
        let mut hops = vec![u32::MAX; fabric.router_count()];
        let mut queue = VecDeque::new();
        let (first, _) = fabric.terminal(from).entry();
        hops[first as usize] = 1;
        queue.push_back(first);
        while let Some(router) = queue.pop_front() {
            for output in 0..fabric.output_count(router) {
                if let End::Router { router: next, .. } = fabric.channel(router, output).end
                    && hops[next as usize] == u32::MAX
                {
                    hops[next as usize] = hops[router as usize] + 1;
                    queue.push_back(next);
                }
            }
        }
        hops
    })
}
