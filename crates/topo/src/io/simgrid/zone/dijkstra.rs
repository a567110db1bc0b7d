//! `routing="Dijkstra"` and `"DijkstraCache"`: fewest links over the declared routes, per source.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use stratasim_core::LinkId;

use super::table::Table;
use super::{Gateways, LocalRoutes};
use crate::io::simgrid::routes::Walk;

/// Entries of trees that are kept; 4 bytes each.
const MOST_KEPT: usize = 1 << 24;

const NONE: u32 = u32::MAX;

/// Dijkstra's shortest paths. A route costs its number of links; members of equal cost are settled
/// in the order in which routes first name them, and only a strictly cheaper path replaces one
/// found before.
#[derive(Debug)]
pub(in crate::io::simgrid) struct Dijkstra {
    table: Table,
    loopback: Option<LinkId>,
    /// Members by the order in which routes name them, and that order by member.
    members: Vec<u32>,
    order: FxHashMap<u32, u32>,
    /// By order: to (by order) and cost, in the order of the file.
    routes: Vec<Vec<(u32, u64)>>,
    /// By order: where the only route of a member leads, as of a host to its switch; `NONE` of those with several.
    gates: Vec<u32>,
    /// By source: the tree of predecessors. Dropped as a whole when full.
    trees: Mutex<FxHashMap<u32, Arc<[u32]>>>,
}

impl Dijkstra {
    /// Routes over `table`. `loopback`: the link of members that declare none to themselves, `None`
    /// in a zone of zones.
    pub(in crate::io::simgrid) fn new(table: Table, loopback: Option<LinkId>) -> Self {
        let mut members = Vec::new();
        let mut order = FxHashMap::default();
        let mut routes: Vec<Vec<(u32, u64)>> = Vec::new();
        for route in table.routes() {
            let [src, dst] = route.ends.map(|member| {
                *order.entry(member).or_insert_with(|| {
                    members.push(member);
                    routes.push(Vec::new());
                    members.len() as u32 - 1
                })
            });
            routes[src as usize].push((dst, table.links(route).len() as u64));
        }
        let gate = |(from, routes): (u32, &Vec<(u32, u64)>)| match routes[..] {
            [(to, _)] if to != from => to,
            _ => NONE,
        };
        let gates = (0..).zip(&routes).map(gate).collect();
        Self { table, loopback, members, order, routes, gates, trees: Mutex::default() }
    }

    /// By order: the predecessor on the way from `src`.
    fn tree(&self, src: u32) -> Arc<[u32]> {
        // a panic while the lock is held leaves whole trees only
        if let Some(tree) = self.trees.lock().unwrap_or_else(PoisonError::into_inner).get(&src) {
            return tree.clone();
        }
        let mut before = vec![NONE; self.members.len()];
        let mut cost = vec![u64::MAX; self.members.len()];
        cost[src as usize] = 0;
        let mut queue = BinaryHeap::from([Reverse((0, src))]);
        while let Some(Reverse((reached, at))) = queue.pop() {
            if reached > cost[at as usize] {
                continue;
            }
            for &(to, step) in &self.routes[at as usize] {
                if reached + step < cost[to as usize] {
                    cost[to as usize] = reached + step;
                    before[to as usize] = at;
                    // nothing is reached from where the only way leads back
                    if self.gates[to as usize] != at {
                        queue.push(Reverse((reached + step, to)));
                    }
                }
            }
        }
        let tree: Arc<[u32]> = before.into();
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        if (trees.len() + 1) * self.members.len() > MOST_KEPT {
            trees.clear();
        }
        trees.insert(src, tree.clone());
        tree
    }

    /// Adds the declared routes along `members`, and where one ends at another gateway than the
    /// next one starts from, the way between the two. Gives the first and last gateway.
    ///
    /// SimGrid builds the path from its end and puts each link before what it has so far; so the
    /// links of one declared route come in reverse order, and those of the path before the links
    /// that were there. The order changes no result, it is kept for comparison.
    fn join(&self, walk: &mut Walk<'_>, members: &[u32]) -> Result<Option<Gateways>, String> {
        let start = walk.out.len();
        let mut gateways: Option<Gateways> = None;
        for pair in members.windows(2) {
            let Some(route) = self.table.get(pair[0], pair[1]) else {
                // only a member's way to itself may be undeclared
                walk.out.extend(self.loopback);
                continue;
            };
            if let (Some([_, reached]), Some([leaving, _])) = (gateways, route.gateways)
                && reached != leaving
            {
                walk.aside(|walk| walk.global(reached, leaving))?;
            }
            walk.out.extend(self.table.links(route).iter().rev());
            if let Some([leaving, entering]) = route.gateways {
                gateways = Some([gateways.map_or(leaving, |first| first[0]), entering]);
            }
        }
        let added = walk.out.len() - start;
        walk.out[walk.front..].rotate_right(added);
        Ok(gateways)
    }
}

impl LocalRoutes for Dijkstra {
    fn route(&self, walk: &mut Walk<'_>, src: u32, dst: u32) -> Result<Option<Gateways>, String> {
        if src == dst {
            self.join(walk, &[src, dst])?;
            return Ok(None);
        }
        let missing = || "no declared routes of the Dijkstra zone between them lead there".to_owned();
        let place = |member| self.order.get(&member).copied().ok_or_else(missing);
        let (from, to) = (place(src)?, place(dst)?);
        // who has one way out goes as its gate does: all costs are more by the same
        let gate = self.gates[from as usize];
        let root = if gate == NONE { from } else { gate };
        let tree = self.tree(root);
        let mut path = vec![dst];
        let mut at = to;
        while at != root {
            at = tree[at as usize];
            if at == NONE {
                return Err(missing());
            }
            path.push(self.members[at as usize]);
        }
        if root != from {
            path.push(src);
        }
        path.reverse();
        self.join(walk, &path)
    }
}
