//! The links between the inner nodes of a graph, as searches walk them.

use stratasim_core::LinkId;

use super::search::{Inner, PathCost};
use crate::Topology;

/// Which way a search goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the start of links to their end.
    Along,
    /// From the end of links to their start.
    Against,
}

/// A link to a neighbour.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) link: LinkId,
    /// Place of the neighbour among the inner nodes.
    pub(super) to: u32,
}

/// The steps from each inner node to others, in the order of its ports (backwards: of the nodes that they come from), and
/// what they cost.
pub(super) struct Steps {
    /// By place, where its steps begin, and where the last ones end.
    starts: Vec<u32>,
    steps: Vec<Step>,
    /// By place: whether it forwards.
    forwards: Vec<bool>,
    /// What every step costs, where that is the same.
    each: Option<PathCost>,
}

impl Steps {
    /// The steps on `topology`, of which each costs what `cost` says; backwards if `direction` is so.
    pub(super) fn new(
        topology: &Topology,
        inner: &Inner,
        direction: Direction,
        cost: impl Fn(LinkId) -> PathCost,
    ) -> Self {
        let all = || {
            (0..).zip(inner.nodes()).flat_map(move |(from, &node)| {
                let ports = topology.ports(node).iter().filter(|port| !inner.is_leaf(port.to));
                ports.map(move |port| {
                    let to = inner.place(port.to) as u32;
                    let (at, to) = if direction == Direction::Along { (from, to) } else { (to, from) };
                    (at, Step { link: port.link, to })
                })
            })
        };
        let mut starts = vec![0_u32; inner.count() + 1];
        let mut costs: Option<(PathCost, bool)> = None;
        for (at, step) in all() {
            starts[at as usize + 1] += 1;
            let new = cost(step.link);
            costs = Some(costs.map_or((new, true), |(first, same)| (first, same && first == new)));
        }
        for place in 0..inner.count() {
            starts[place + 1] += starts[place];
        }
        let mut next = starts.clone();
        let none = Step { link: LinkId(0), to: 0 };
        let mut steps = vec![none; starts[inner.count()] as usize];
        for (at, step) in all() {
            let place = &mut next[at as usize];
            steps[*place as usize] = step;
            *place += 1;
        }
        let forwards = inner.nodes().iter().map(|&node| topology.forwards(node));
        // the longest way passes each node once: sums that are cut off would be equal where ways are not
        let longest = inner.count() as u64;
        let is_counted =
            |cost: PathCost| cost.0.checked_mul(longest).is_some() && cost.1.checked_mul(longest).is_some();
        let each = costs.and_then(|(first, same)| (same && is_counted(first)).then_some(first));
        Self { starts, steps, forwards: forwards.collect(), each }
    }

    /// The steps from an inner node.
    #[inline]
    pub(super) fn of(&self, place: u32) -> &[Step] {
        let at = place as usize;
        &self.steps[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    #[inline]
    pub(super) fn forwards(&self, place: u32) -> bool {
        self.forwards[place as usize]
    }

    /// What every step costs, where that is the same: then a search goes by the number of steps.
    pub(super) fn each(&self) -> Option<PathCost> {
        self.each
    }

    /// The same steps, for a search that does not know that they cost the same.
    #[cfg(test)]
    pub(super) fn told_apart(self) -> Self {
        Self { each: None, ..self }
    }
}
