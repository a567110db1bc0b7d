//! Up*/down*: any graph with one virtual channel.

use std::collections::VecDeque;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::places::{Destinations, any};
use super::toward::{Toward, each_feeder, neighbours};
use super::{Candidate, FlitRouting, FlitRoutingAlgorithm, Head, Place, Surroundings};
use crate::flit::fabric::Fabric;
use crate::flit::fabric::from_topology::Wiring;
use crate::flit::router::RouterSpec;

/// Up*/down*: every channel leads up (towards the router with most neighbours, level by level) or down, and no
/// packet goes up after it went down. The shortest of such paths is taken; of equal ones every router keeps one
/// per destination, spread evenly. Fits any graph whose links lead both ways; one virtual channel is enough.
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
        let mut chosen = vec![0_u32; fabric.channels().len()];
        for column in 0..toward.targets.len() {
            let distance = distances(fabric, toward.targets[column], &goes_up);
            let next = toward.of(column);
            for router in 0..fabric.router_count() as u32 {
                for down in [false, true] {
                    let place = 2 * router as usize + usize::from(down);
                    if distance[place] == 0 || distance[place] == u32::MAX {
                        continue;
                    }
                    let legal = |&(_, to): &(u16, u32)| {
                        let up = goes_up(router, to);
                        let after = distance[2 * to as usize + usize::from(!up)];
                        !(down && up) && after != u32::MAX && after + 1 == distance[place]
                    };
                    let best = neighbours(fabric, router)
                        .filter(legal)
                        .min_by_key(|&(output, _)| (chosen[fabric.index(router, output)], output));
                    let (output, _) = best.expect("a place that was reached has a way");
                    chosen[fabric.index(router, output)] += 1;
                    next[place] = output;
                }
            }
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

/// Order of the routers of every part: by distance from its root, the router with most neighbours.
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
    roots.sort_by_key(|&router| (std::cmp::Reverse(degree[router as usize]), router));
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
            for (_, to) in neighbours(fabric, router) {
                reach(to, &mut queue);
            }
        }
    }
    Ok(rank)
}

/// Channels from every place (router, and whether the packet went down) to `target`.
fn distances(fabric: &Fabric, target: u32, goes_up: &dyn Fn(u32, u32) -> bool) -> Vec<u32> {
    let mut distance = vec![u32::MAX; 2 * fabric.router_count()];
    let mut queue = VecDeque::new();
    for place in [2 * target, 2 * target + 1] {
        distance[place as usize] = 0;
        queue.push_back(place);
    }
    while let Some(place) = queue.pop_front() {
        let (router, down) = (place / 2, place % 2 == 1);
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
                    queue.push_back(place);
                }
            }
        });
    }
    distance
}
