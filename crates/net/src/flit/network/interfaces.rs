//! By which NICs of its two nodes a message goes.

use rustc_hash::FxHashMap;
use stratasim_core::NodeId;

use super::Prepared;
use super::zero_load::ZeroLoad;

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
    /// Terminals that are joined by a shortest way, of nodes with several NICs.
    nearest: FxHashMap<(NodeId, NodeId), Pairs>,
}

impl Interfaces {
    /// Of so many nodes; messages name their NICs where the workload has `nics` of them.
    pub(super) fn new(nodes: usize, nics: u32) -> Self {
        Self { named: nics > 1, sent: vec![0; nodes], coming: vec![0; nodes], nearest: FxHashMap::default() }
    }

    /// Whether any two terminals of the nodes are joined.
    pub(super) fn join(
        &mut self,
        prepared: &Prepared,
        zero_load: &mut ZeroLoad,
        [src, dst]: [NodeId; 2],
    ) -> bool {
        let (from, to) = (prepared.wiring.terminals(src), prepared.wiring.terminals(dst));
        let (Some(&first), Some(&last)) = (from.first(), to.first()) else { return false };
        prepared.joined(first, last)
            || from.len() * to.len() > 1 && !self.nearest(prepared, zero_load, [src, dst]).is_empty()
    }

    /// The terminals of the next message from `src` to `dst`; none where no way joins any.
    ///
    /// Where messages name their NICs, those of number `nic` of both nodes (NICs are counted round) if these are joined,
    /// otherwise the first two with the shortest way. Where they do not, both nodes take theirs in turn, as far as shortest
    /// ways begin and end there.
    pub(super) fn next(
        &mut self,
        prepared: &Prepared,
        zero_load: &mut ZeroLoad,
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
            return self.nearest(prepared, zero_load, [src, dst]).first().copied();
        }
        let turns = [self.sent[src.index()], self.coming[dst.index()]].map(|turn| turn as usize);
        let pairs = self.nearest(prepared, zero_load, [src, dst]);
        // pairs are in the order of the sender's NICs
        let groups: Vec<&[(u32, u32)]> = pairs.chunk_by(|a, b| a.0 == b.0).collect();
        let ends = *groups.get(turns[0] % groups.len().max(1))?;
        let place = |nic: u32| to.iter().position(|&own| own == nic).unwrap_or(0);
        let due = turns[1] % to.len();
        let found = ends.iter().min_by_key(|&&(_, nic)| (place(nic) + to.len() - due) % to.len()).copied();
        self.sent[src.index()] = self.sent[src.index()].wrapping_add(1);
        self.coming[dst.index()] = self.coming[dst.index()].wrapping_add(1);
        found
    }

    /// The pairs of terminals that are joined by the shortest ways of a flit, in the order of NICs.
    fn nearest(
        &mut self,
        prepared: &Prepared,
        zero_load: &mut ZeroLoad,
        [src, dst]: [NodeId; 2],
    ) -> &[(u32, u32)] {
        self.nearest.entry((src, dst)).or_insert_with(|| {
            let (from, to) = (prepared.wiring.terminals(src), prepared.wiring.terminals(dst));
            let pairs = from.iter().flat_map(|&from| to.iter().map(move |&to| (from, to)));
            let joined = pairs.filter(|&(from, to)| prepared.joined(from, to));
            let known: Vec<_> =
                joined.filter_map(|(from, to)| Some((zero_load.cycles(from, to, 1)?, (from, to)))).collect();
            let least = known.iter().map(|known| known.0).min();
            known.iter().filter(|known| Some(known.0) == least).map(|known| known.1).collect()
        })
    }
}
