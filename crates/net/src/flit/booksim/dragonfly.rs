//! Dragonflies with one global channel between each pair of groups.

use stratasim_core::BuildError;

use super::super::fabric::{Channel, End, Fabric};
use super::super::routing::{Candidate, FlitRouting, Head, Place, Surroundings};
use super::{MOST_NODES, entry};

/// A dragonfly (Kim, Dally, Scott, Abts 2008) of `p` terminals and `p` global channels per router, `2 p`
/// routers per group, all joined, and `2 p^2 + 1` groups.
///
/// Ports 0 to `p - 1` are the terminals', the next `2 p - 1` lead to the other routers of the group,
/// ascending, the last `p` to other groups: the global channels of a group, numbered through its routers, lead to
/// the other groups, ascending. Channels take 10 cycles in a group and 100 between groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dragonfly {
    p: u32,
}

/// Cycles of channels in a group, and between groups.
const LOCAL_CYCLES: u32 = 10;
const GLOBAL_CYCLES: u32 = 100;

impl Dragonfly {
    /// A dragonfly of `p` terminals per router.
    ///
    /// # Errors
    /// Sizes that make no network.
    pub fn new(p: u32) -> Result<Self, BuildError> {
        let nodes = u64::from(p).pow(2) * 2 * (2 * u64::from(p).pow(2) + 1);
        if p == 0 || nodes > MOST_NODES {
            let reason = format!("{p} terminals per router make {nodes}; 1 to {MOST_NODES} are possible");
            return Err(BuildError::new("k", reason));
        }
        Ok(Self { p })
    }

    /// Routers of a group.
    fn group_routers(&self) -> u32 {
        2 * self.p
    }

    /// Terminals of a group.
    fn group_nodes(&self) -> u32 {
        2 * self.p * self.p
    }

    /// Groups.
    fn groups(&self) -> u32 {
        self.group_nodes() + 1
    }

    /// Terminals.
    pub fn nodes(&self) -> u32 {
        self.group_nodes() * self.groups()
    }

    /// The first port to another group.
    fn first_global(&self) -> u32 {
        self.p + self.group_routers() - 1
    }

    /// The port of a router to another one of its group; `from` and `to` count in the group.
    fn local_port(&self, from: u32, to: u32) -> u32 {
        self.p + to - u32::from(to > from)
    }

    /// The routers and channels.
    pub fn fabric(&self) -> Fabric {
        let Self { p } = *self;
        let (size, groups) = (self.group_routers(), self.groups());
        let ports = (4 * p - 1) as u16;
        let mut fabric = Fabric::new(vec![(ports, ports); (size * groups) as usize]);
        let channel = |router, port: u32, latency| Channel {
            end: End::Router { router, port: port as u16 },
            latency,
            credit_latency: latency,
            ..Channel::default()
        };
        for router in 0..size * groups {
            let (group, here) = (router / size, router % size);
            for there in (0..size).filter(|&there| there != here) {
                let link = channel(group * size + there, self.local_port(there, here), LOCAL_CYCLES);
                fabric.connect((router, self.local_port(here, there) as u16), link);
            }
            for output in 0..p {
                let number = here * p + output;
                let to = number + u32::from(number >= group);
                let back = group - u32::from(group > to);
                let link = channel(to * size + back / p, self.first_global() + back % p, GLOBAL_CYCLES);
                fabric.connect((router, (self.first_global() + output) as u16), link);
            }
        }
        for node in 0..self.nodes() {
            let port = (node % p) as u16;
            fabric.attach(node / p, (port, port), Channel::default(), Channel::default(), None);
        }
        fabric
    }

    /// The output on the shortest way to a terminal.
    fn output(&self, router: u32, dest: u32) -> u32 {
        let (p, size) = (self.p, self.group_routers());
        let (group, to) = (router / size, dest / self.group_nodes());
        let gate = if group == to {
            if dest / p == router {
                return dest % p;
            }
            dest / p % size
        } else {
            let number = to - u32::from(to > group);
            if number / p == router % size {
                return self.first_global() + number % p;
            }
            number / p
        };
        self.local_port(router % size, gate)
    }
}

/// Which routing function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DragonflyFunction {
    /// `min`: the shortest way; channel 0 before and 1 from the global channel on.
    Minimal,
    /// `ugal`: by any terminal instead, where its first output has less than half the flits of the shortest way's
    /// less 30 (Kim et al. 2008); channel by phase.
    Ugal,
}

/// How many flits more than twice those of the way round the shortest way may have.
const BIAS: u32 = 30;

/// A routing function on a dragonfly.
#[derive(Debug, Clone)]
pub struct DragonflyRouting {
    dragonfly: Dragonfly,
    function: DragonflyFunction,
    virtual_channels: u8,
}

/// Memory of a packet: low bits are the phase, which is the virtual channel too; above is the terminal that
/// it goes by.
const PHASE_BITS: u32 = 2;
const PHASE: u64 = (1 << PHASE_BITS) - 1;

impl DragonflyRouting {
    /// A function on a dragonfly whose routers have so many virtual channels.
    pub fn new(dragonfly: Dragonfly, function: DragonflyFunction, virtual_channels: u8) -> Self {
        Self { dragonfly, function, virtual_channels }
    }

    /// What the router at the source decides.
    fn decide(&self, router: u32, dest: u32, surroundings: &mut dyn Surroundings) -> u64 {
        let group = router / self.dragonfly.group_routers();
        if dest / self.dragonfly.group_nodes() == group {
            return 2;
        }
        let by = surroundings.draw(self.dragonfly.nodes());
        if by / self.dragonfly.group_nodes() == group {
            return 1;
        }
        let used = |to| surroundings.used(self.dragonfly.output(router, to) as u16);
        let direct = used(dest) <= 2 * used(by) + BIAS;
        u64::from(by) << PHASE_BITS | u64::from(direct)
    }

    fn ugal(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> u32 {
        if u32::from(place.input) < self.dragonfly.p {
            head.memory = self.decide(place.router, head.dest, surroundings);
        }
        let by = (head.memory >> PHASE_BITS) as u32;
        if head.memory & PHASE == 0 && place.router == by / self.dragonfly.p {
            head.memory |= 1;
        }
        let to = if head.memory & PHASE == 0 { by } else { head.dest };
        let output = self.dragonfly.output(place.router, to);
        if head.memory & PHASE == 1 && output >= self.dragonfly.first_global() {
            head.memory += 1;
        }
        output
    }
}

impl FlitRouting for DragonflyRouting {
    fn start(&self, _: &mut Head, surroundings: &mut dyn Surroundings) -> (u8, u8) {
        let vc = surroundings.draw(u32::from(self.virtual_channels)) as u8;
        (vc, vc)
    }

    fn restarts(&self) -> bool {
        true
    }

    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        let output = match self.function {
            DragonflyFunction::Minimal => {
                let output = self.dragonfly.output(place.router, head.dest);
                let arrived = u32::from(place.input) >= self.dragonfly.p;
                let global = output >= self.dragonfly.first_global();
                head.memory = u64::from(global) | if arrived { head.memory } else { 0 };
                output
            }
            DragonflyFunction::Ugal => self.ugal(place, head, surroundings),
        };
        let vc = (head.memory & PHASE) as u8;
        entry(output as u16, (vc, vc))
    }

    fn draws(&self) -> bool {
        self.function == DragonflyFunction::Ugal
    }

    fn memory_bits(&self) -> u32 {
        match self.function {
            DragonflyFunction::Minimal => 1,
            DragonflyFunction::Ugal => PHASE_BITS + self.dragonfly.nodes().ilog2() + 1,
        }
    }

    fn knows_source(&self) -> bool {
        false
    }

    fn adaptive(&self) -> bool {
        self.function == DragonflyFunction::Ugal
    }
}
