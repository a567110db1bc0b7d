//! Levels of switches above hosts: what routing in fat trees needs.

use stratasim_core::BuildError;
use stratasim_topo::geometry::Geometry;

use super::places::Destinations;
use crate::flit::fabric::End;
use crate::flit::fabric::from_topology::Wiring;

/// A router of a tree.
#[derive(Debug, Clone, Copy, Default)]
struct Switch {
    /// The hosts under it: the first, and how many.
    first_host: u32,
    hosts: u32,
    /// Level, 0 for the lowest.
    level: u8,
    /// Where its ports are in the table: `children * copies` down, then `up` up.
    ports: u32,
    /// Cables to each child.
    copies: u16,
    children: u16,
    up: u16,
}

/// A switch as it is seen: its level, its ports by child (`u16::MAX` where there is none) and those up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) level: u8,
    /// The first of the hosts under it.
    pub(crate) first_host: u32,
    pub(crate) children: u16,
    pub(crate) down: &'a [u16],
    pub(crate) up: &'a [u16],
}

/// Hosts under every switch, and its ports by child.
#[derive(Debug, Clone)]
pub struct TreeMap {
    pub(crate) destinations: Destinations,
    switches: Vec<Switch>,
    ports: Vec<u16>,
    /// Host of each terminal.
    host: Vec<u32>,
    /// Part of the fabric that each terminal is in: hosts with several NICs have one in each.
    part: Vec<u32>,
    /// `child[level * terminals + terminal]`: which child of a switch of that level is above the terminal.
    child: Vec<u16>,
    terminals: usize,
}

/// No port.
const NO_PORT: u16 = u16::MAX;

impl TreeMap {
    /// The map of `wiring`; `kind` is the routing function that asks.
    ///
    /// # Errors
    /// No tree, or one in which cables are missing.
    pub fn new(wiring: &Wiring, kind: &str) -> Result<Self, BuildError> {
        let refuse = |reason: String| Err(BuildError::new("routing.kind", reason));
        let Some(Geometry::Tree(tree)) = &wiring.geometry else {
            return refuse(format!("`{kind}` needs a fat tree; use `auto`"));
        };
        let fabric = &wiring.fabric;
        let hosts: Option<Vec<u32>> = fabric
            .terminals()
            .iter()
            .map(|terminal| terminal.node?.0.checked_sub(tree.first_host).filter(|&host| host < tree.hosts))
            .collect();
        let Some(host) = hosts else {
            return refuse(format!("`{kind}` needs a tree whose terminals are its hosts; use `up-down`"));
        };
        // level and subtree of each router
        let mut place = vec![None; fabric.router_count()];
        for (level, info) in tree.levels.iter().enumerate() {
            for index in 0..info.count {
                if let Some(router) = wiring.router_of.get((info.first + index) as usize).copied().flatten() {
                    place[router as usize] = Some((level, tree.subtree(level, index)));
                }
            }
        }
        let terminals = fabric.terminals().len();
        let mut map = Self {
            destinations: Destinations::new(fabric),
            switches: Vec::with_capacity(place.len()),
            ports: Vec::new(),
            child: Vec::with_capacity(terminals * tree.levels.len()),
            host,
            part: fabric
                .terminals()
                .iter()
                .map(|terminal| wiring.parts()[terminal.router as usize])
                .collect(),
            terminals,
        };
        let (mut down, mut up) = (Vec::<Vec<u16>>::new(), Vec::new());
        for (router, place_here) in (0..).zip(&place) {
            let Some((level, subtree)) = *place_here else {
                return refuse(format!("`{kind}`: a router is no switch of the tree; use `up-down`"));
            };
            let info = &tree.levels[level];
            up.clear();
            down.iter_mut().for_each(Vec::clear);
            down.resize_with(info.children as usize, Vec::new);
            for output in 0..fabric.output_count(router) {
                match fabric.channel(router, output).end {
                    End::Nothing => {}
                    End::Terminal(terminal) => {
                        down[(map.host[terminal as usize] % info.children) as usize].push(output);
                    }
                    End::Router { router: to, .. } => match place[to as usize] {
                        Some((below, child)) if below + 1 == level => {
                            down[(child % info.children) as usize].push(output);
                        }
                        Some((above, _)) if above == level + 1 => up.push(output),
                        _ => {
                            return refuse(format!(
                                "`{kind}`: a cable joins no neighbouring levels; use `up-down`"
                            ));
                        }
                    },
                }
            }
            let copies = down.iter().map(Vec::len).max().unwrap_or(0);
            if level > 0 && down.iter().any(|ports| ports.is_empty()) {
                return refuse(format!("`{kind}`: cables of the tree are missing; use `up-down`"));
            }
            if up.is_empty() && info.hosts_below < tree.hosts {
                return refuse(format!("`{kind}`: a switch has no way up; use `up-down`"));
            }
            map.switches.push(Switch {
                first_host: subtree * info.hosts_below,
                hosts: info.hosts_below,
                level: level as u8,
                ports: map.ports.len() as u32,
                copies: copies as u16,
                children: info.children as u16,
                up: up.len() as u16,
            });
            for ports in &down {
                // where a cable is missing, another takes its place
                map.ports.extend(
                    (0..copies).map(|copy| ports.get(copy % ports.len().max(1)).copied().unwrap_or(NO_PORT)),
                );
            }
            map.ports.extend(&up);
        }
        let mut below = 1;
        for level in &tree.levels {
            map.child.extend(map.host.iter().map(|host| (host / below % level.children) as u16));
            below *= level.children;
        }
        Ok(map)
    }

    /// Levels of switches.
    pub(crate) fn level_count(&self) -> usize {
        self.child.len() / self.terminals.max(1)
    }

    /// Switches.
    pub(crate) fn switch_count(&self) -> usize {
        self.switches.len()
    }

    /// Whether one cable leads to every child, and one terminal stands at the end of every last one.
    pub(crate) fn is_single(&self) -> bool {
        let alone = |pair: &[(u32, u32)]| pair[0].0 != pair[1].0;
        self.by_host().windows(2).all(alone) && self.switches.iter().all(|switch| switch.copies <= 1)
    }

    /// Host and number of every terminal, by host.
    pub(crate) fn by_host(&self) -> Vec<(u32, u32)> {
        let mut by_host: Vec<(u32, u32)> = self.host.iter().copied().zip(0..).collect();
        by_host.sort_unstable();
        by_host
    }

    /// Which child of a switch of `level` is above `terminal`.
    pub(crate) fn child(&self, level: usize, terminal: usize) -> u16 {
        self.child[level * self.terminals + terminal]
    }

    /// The level of a switch and its ports.
    pub(crate) fn view(&self, router: u32) -> View<'_> {
        let Switch { level, ports, copies, children, first_host, .. } = self.switches[router as usize];
        let down = usize::from(children) * usize::from(copies);
        View { level, first_host, children, down: &self.ports[ports as usize..][..down], up: self.up(router) }
    }

    /// Whether two terminals are in the same part of the fabric.
    pub(crate) fn joins(&self, source: u32, dest: u32) -> bool {
        self.part[source as usize] == self.part[dest as usize]
    }

    /// Whether all terminals are in one part of the fabric.
    pub(crate) fn is_whole(&self) -> bool {
        self.part.iter().all(|part| Some(part) == self.part.first())
    }

    /// The ways down from `router` to `terminal`, if its host is under it; to another NIC of that host where the
    /// terminal is in another part.
    #[inline]
    pub(crate) fn down(&self, router: u32, terminal: u32) -> Option<&[u16]> {
        let switch = &self.switches[router as usize];
        if self.host[terminal as usize].wrapping_sub(switch.first_host) >= switch.hosts {
            return None;
        }
        let child = self.child[usize::from(switch.level) * self.terminals + terminal as usize];
        let first = switch.ports as usize + usize::from(child) * usize::from(switch.copies);
        Some(&self.ports[first..first + usize::from(switch.copies)])
    }

    /// The ways up from `router`.
    #[inline]
    pub(crate) fn up(&self, router: u32) -> &[u16] {
        let switch = &self.switches[router as usize];
        let first = switch.ports as usize + usize::from(switch.children) * usize::from(switch.copies);
        &self.ports[first..first + usize::from(switch.up)]
    }
}
