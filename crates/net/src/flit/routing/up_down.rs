//! Up*/down*: any graph with one virtual channel.

use std::collections::VecDeque;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::places::{Destinations, any};
use super::spread::{Keep, Spread, rounds};
use super::toward::{NO_PORT, Toward, each_feeder, neighbours};
use super::{Candidate, FlitRouting, FlitRoutingAlgorithm, Head, Place, Surroundings};
use crate::flit::fabric::Fabric;
use crate::flit::fabric::from_topology::Wiring;
use crate::flit::router::RouterSpec;

/// Up*/down*: every channel leads up (towards the router with most neighbours, level by level) or down, and no
/// packet goes up after it went down. The shortest of such paths is taken; of equal ones every router keeps one per
/// terminal, chosen so that channels carry evenly when every terminal sends as much to every other, as far as the rule
/// allows: in fat trees most ways lead over the one root, where `shortest-path` uses all and needs no more channels. Fits
/// any graph whose links lead both ways; one virtual channel is enough.
///
/// Source: Schroeder et al. (1991), "Autonet: a high-speed, self-configuring local area network using
/// point-to-point links".
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UpDownSpec {}

impl FlitRoutingAlgorithm for UpDownSpec {
    fn build(&self, wiring: &Wiring, _: &RouterSpec) -> Result<Arc<dyn FlitRouting>, BuildError> {
        Ok(Arc::new(UpDown::new(wiring)?))
    }
}

/// Up*/down*, ready for one fabric.
#[derive(Debug, Clone)]
pub struct UpDown {
    destinations: Destinations,
    /// Two entries per router: for packets that may go up, and for those that went down.
    toward: Toward,
    /// Whether the channel into an input leads down, by [`Fabric::index`].
    came_down: Vec<bool>,
    stride: usize,
}

impl UpDown {
    /// Up*/down* on `wiring`.
    ///
    /// # Errors
    /// A link that leads one way only.
    pub fn new(wiring: &Wiring) -> Result<Self, BuildError> {
        let fabric = &wiring.fabric;
        let rank = rank(wiring)?;
        let goes_up = |from: u32, to: u32| rank[to as usize] < rank[from as usize];
        let mut came_down = vec![false; fabric.channels().len()];
        for router in 0..fabric.router_count() as u32 {
            for input in 0..fabric.input_count(router) {
                if let crate::flit::fabric::Feeder::Router { router: from, .. } = fabric.feeder(router, input)
                {
                    came_down[fabric.index(router, input)] = !goes_up(from, router);
                }
            }
        }
        let mut toward = Toward::new(fabric, 2)?;
        let mut spread = Spread::new(fabric, 2, Keep::Even);
        for target in rounds(toward.targets.len()) {
            let at = toward.targets[target];
            let passes = |router: u32| router == at || wiring.forwards(router);
            let (distance, order) = distances(fabric, at, &goes_up, &passes);
            spread.choose(&mut toward, target, &order[2..], |place, ways| {
                let (router, down) = (place / 2, place % 2 == 1);
                ways.extend(neighbours(fabric, router).filter_map(|(output, to)| {
                    let up = goes_up(router, to);
                    let after = 2 * to + u32::from(!up);
                    let nearer = distance[after as usize].checked_add(1) == Some(distance[place as usize]);
                    (nearer && passes(to) && !(down && up)).then_some((output, after))
                }));
            });
        }
        Ok(Self { destinations: Destinations::new(fabric), toward, came_down, stride: fabric.stride() })
    }
}

impl FlitRouting for UpDown {
    #[inline]
    fn only(&self, place: Place, head: &mut Head, _: &mut dyn Surroundings) -> Candidate {
        if self.destinations.router(head.dest) == place.router {
            return self.destinations.eject(head.dest, head.range);
        }
        let down = self.came_down[place.router as usize * self.stride + usize::from(place.input)];
        let entry = 2 * place.router as usize + usize::from(down);
        any(self.toward.get(self.toward.column(head.dest), entry), head.range)
    }

    fn joins(&self, source: u32, dest: u32) -> bool {
        let (from, to) = (self.destinations.entry(source), self.destinations.router(dest));
        from == to || self.toward.get(self.toward.column(dest), 2 * from as usize) != NO_PORT
    }

    fn looks_at_vc(&self) -> bool {
        false
    }

    fn memory_bits(&self) -> u32 {
        0
    }

    fn knows_source(&self) -> bool {
        false
    }
}

/// Order of the routers of every part: by distance from its root, the router with most neighbours of those that packets pass.
fn rank(wiring: &Wiring) -> Result<Vec<u32>, BuildError> {
    let fabric = &wiring.fabric;
    let count = fabric.router_count() as u32;
    let mut degree = vec![0_u32; count as usize];
    for router in 0..count {
        let out = neighbours(fabric, router).count();
        let mut back = 0;
        each_feeder(fabric, router, |_, _| back += 1);
        for (_, to) in neighbours(fabric, router) {
            if !neighbours(fabric, to).any(|(_, again)| again == router) {
                let reason = "`up-down` needs links that lead both ways; use `shortest-path`";
                return Err(BuildError::new("routing.kind", reason));
            }
        }
        degree[router as usize] = (out + back) as u32;
    }
    let mut roots: Vec<u32> = (0..count).collect();
    roots.sort_by_key(|&router| {
        (!wiring.forwards(router), std::cmp::Reverse(degree[router as usize]), router)
    });
    let mut rank = vec![u32::MAX; count as usize];
    let (mut next, mut queue) = (0, VecDeque::new());
    for root in roots {
        if rank[root as usize] != u32::MAX {
            continue;
        }
        let mut reach = |router: u32, queue: &mut VecDeque<u32>| {
            if rank[router as usize] == u32::MAX {
                rank[router as usize] = next;
                next += 1;
                queue.push_back(router);
            }
        };
        reach(root, &mut queue);
        while let Some(router) = queue.pop_front() {
            if wiring.forwards(router) {
                for (_, to) in neighbours(fabric, router) {
                    reach(to, &mut queue);
                }
            }
        }
    }
    Ok(rank)
}

/// Channels from every place (router, and whether the packet went down) to `target` by way of routers that packets pass, and the
/// places by distance.
fn distances(
    fabric: &Fabric,
    target: u32,
    goes_up: &dyn Fn(u32, u32) -> bool,
    passes: &dyn Fn(u32) -> bool,
) -> (Vec<u32>, Vec<u32>) {
    let mut distance = vec![u32::MAX; 2 * fabric.router_count()];
    let mut order = vec![2 * target, 2 * target + 1];
    distance[2 * target as usize..][..2].fill(0);
    let mut at = 0;
    while at < order.len() {
        let place = order[at];
        at += 1;
        let (router, down) = (place / 2, place % 2 == 1);
        if !passes(router) {
            continue;
        }
        let next = distance[place as usize] + 1;
        each_feeder(fabric, router, |from, _| {
            let up = goes_up(from, router);
            // the packet is in state `down` here when it came down, whichever it was before
            if up == down {
                return;
            }
            let before: &[u32] = if up { &[0] } else { &[0, 1] };
            for &state in before {
                let place = 2 * from + state;
                if distance[place as usize] == u32::MAX {
                    distance[place as usize] = next;
                    order.push(place);
                }
            }
        });
    }
    (distance, order)
}
