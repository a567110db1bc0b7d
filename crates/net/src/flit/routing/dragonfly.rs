//! Groups of routers and the cables between them: what routing in dragonflies needs.

use stratasim_core::BuildError;
use stratasim_topo::geometry::Geometry;

use super::Surroundings;
use super::places::Destinations;
use super::toward::neighbours;
use crate::flit::fabric::from_topology::Wiring;

/// Entries that the table of groups may have.
const MOST_ENTRIES: u64 = 1 << 26;

/// The group of every router, and its ports towards every other one.
#[derive(Debug, Clone)]
pub struct DragonflyMap {
    pub(crate) destinations: Destinations,
    group: Vec<u32>,
    groups: u32,
    /// Port of router `r` to router `i` of its group: `local[r * routers per group + i]`.
    local: Vec<u16>,
    /// Index of a router in its group.
    index: Vec<u32>,
    per_group: usize,
    /// Ports of router `r` on shortest ways to group `g`: `ports[start[r * groups + g]..]`. Cables to it where the
    /// router has some, otherwise a port for each cable that another router of its group has.
    start: Vec<u32>,
    ports: Vec<u16>,
}

impl DragonflyMap {
    /// The map of `wiring`; `kind` is the routing function that asks.
    ///
    /// # Errors
    /// No dragonfly, or one in which cables are missing.
    pub fn new(wiring: &Wiring, kind: &str) -> Result<Self, BuildError> {
        let refuse = |reason: String| Err(BuildError::new("routing.kind", reason));
        let Some(Geometry::Dragonfly(shape)) = &wiring.geometry else {
            return refuse(format!("`{kind}` needs a dragonfly or a HyperX; use `auto`"));
        };
        let (per_group, groups) = (shape.routers_per_group, shape.groups);
        let routers = wiring.fabric.router_count();
        if routers as u64 * u64::from(groups) > MOST_ENTRIES {
            return refuse(format!(
                "`{kind}`: {routers} routers in {groups} groups are more than can be held"
            ));
        }
        let mut place = vec![(u32::MAX, 0); routers];
        for number in 0..per_group * groups {
            if let Some(router) =
                wiring.router_of.get((shape.first_router + number) as usize).copied().flatten()
            {
                place[router as usize] = (number / per_group, number % per_group);
            }
        }
        if place.iter().any(|&(group, _)| group == u32::MAX) {
            return refuse(format!("`{kind}`: a router is in no group; use `up-down`"));
        }
        let mut map = Self {
            destinations: Destinations::new(&wiring.fabric),
            group: place.iter().map(|&(group, _)| group).collect(),
            index: place.iter().map(|&(_, index)| index).collect(),
            groups,
            local: vec![u16::MAX; routers * per_group as usize],
            per_group: per_group as usize,
            start: Vec::with_capacity(routers * groups as usize + 1),
            ports: Vec::new(),
        };
        // cables of every group, by the group that they lead to: the router that has them and its port
        let mut cables = vec![Vec::new(); (groups * groups) as usize];
        for router in 0..routers as u32 {
            let (group, _) = place[router as usize];
            for (output, to) in neighbours(&wiring.fabric, router) {
                let (other, index) = place[to as usize];
                if other == group {
                    map.local[router as usize * per_group as usize + index as usize] = output;
                } else {
                    cables[(group * groups + other) as usize].push((router, output));
                }
            }
        }
        for router in 0..routers as u32 {
            let (group, own) = place[router as usize];
            let complete =
                (0..per_group).all(|index| index == own || map.local_port(router, index) != u16::MAX);
            if !complete {
                return refuse(format!("`{kind}`: cables of a group are missing; use `up-down`"));
            }
            for other in 0..groups {
                map.start.push(map.ports.len() as u32);
                if other == group {
                    continue;
                }
                let all = &cables[(group * groups + other) as usize];
                if all.is_empty() {
                    return refuse(format!(
                        "`{kind}`: groups {group} and {other} have no cable; use `up-down`"
                    ));
                }
                let before = map.ports.len();
                map.ports.extend(all.iter().filter(|&&(at, _)| at == router).map(|&(_, output)| output));
                if map.ports.len() == before {
                    for &(at, _) in all {
                        let port = map.local_port(router, place[at as usize].1);
                        map.ports.push(port);
                    }
                }
            }
        }
        map.start.push(map.ports.len() as u32);
        Ok(map)
    }

    fn local_port(&self, router: u32, index: u32) -> u16 {
        self.local[router as usize * self.per_group + index as usize]
    }

    /// The group of a router.
    #[inline]
    pub(crate) fn group(&self, router: u32) -> u32 {
        self.group[router as usize]
    }

    /// Number of groups.
    pub(crate) fn groups(&self) -> u32 {
        self.groups
    }

    /// The port to another router of the group.
    #[inline]
    pub(crate) fn within(&self, router: u32, target: u32) -> u16 {
        self.local_port(router, self.index[target as usize])
    }

    /// Ports on shortest ways from `router` to another group.
    #[inline]
    pub(crate) fn toward(&self, router: u32, group: u32) -> &[u16] {
        let entry = router as usize * self.groups as usize + group as usize;
        &self.ports[self.start[entry] as usize..self.start[entry + 1] as usize]
    }

    /// One of those ports.
    #[inline]
    pub(crate) fn draw_toward(&self, router: u32, group: u32, surroundings: &mut dyn Surroundings) -> u16 {
        let ports = self.toward(router, group);
        let index = if ports.len() == 1 { 0 } else { surroundings.draw(ports.len() as u32) };
        ports[index as usize]
    }

    /// Whether `router` has a cable to `group` itself.
    pub(crate) fn is_gateway(&self, router: u32, group: u32) -> bool {
        let first = self.toward(router, group)[0];
        let start = router as usize * self.per_group;
        !self.local[start..start + self.per_group].contains(&first)
    }
}
