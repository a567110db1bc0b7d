//! What copies share: ports of memories, of the ring, of Global memory, of the adders.

use stratasim_core::Bandwidth;

use super::description::Card;
use super::schedule::{Copy, Family, Place};

/// Ports and, for each byte through a copy, the bytes that it takes of them.
pub(super) type Uses = Vec<(u32, f64)>;

/// Kinds of ports; there is one of each per group.
#[derive(Clone, Copy)]
enum Kind {
    LocalRead,
    LocalWrite,
    RingOut,
    RingIn,
    GlobalGet,
    GlobalPut,
    Add,
    Compute,
    /// Link to the next group on the ring, and to the one before.
    Clockwise,
    Anticlockwise,
}

const KINDS: u32 = 10;

/// The ports of a card.
pub(super) struct Ports {
    groups: u32,
    capacities: Vec<f64>,
}

/// The two sides of a copy: into the scratch-pads and out of them, either of which may be missing.
pub(super) struct Sides {
    pub(super) get: Option<Uses>,
    pub(super) put: Option<Uses>,
}

impl Ports {
    /// `family` says at which rate groups add.
    pub(super) fn new(card: &Card, family: Family) -> Self {
        let groups = card.core_groups;
        let rates = &card.bandwidth;
        let stated = |rate: Option<Bandwidth>| rate.map_or(f64::INFINITY, Bandwidth::bytes_per_s);
        let add = match family {
            Family::Ring => stated(rates.reduce_ring),
            Family::Csc => stated(rates.reduce_csc),
        };
        let compute = card.compute.rate.map_or(f64::INFINITY, |rate| rate.flop_per_s());
        let (local, ring, global) =
            (rates.local.bytes_per_s(), rates.ring.bytes_per_s(), rates.global.bytes_per_s());
        let kinds = [local, local, ring, ring, global, global, add, compute, ring, ring];
        let mut capacities: Vec<f64> =
            kinds.iter().flat_map(|&rate| std::iter::repeat_n(rate, groups as usize)).collect();
        capacities.push(stated(rates.ring_total));
        Self { groups, capacities }
    }

    /// Bytes per second of every port.
    pub(super) fn capacities(&self) -> &[f64] {
        &self.capacities
    }

    fn port(&self, kind: Kind, group: u32) -> u32 {
        kind as u32 * self.groups + group
    }

    fn bus(&self) -> u32 {
        KINDS * self.groups
    }

    /// The part of Global memory that lies with other groups.
    fn elsewhere(&self) -> f64 {
        f64::from(self.groups - 1) / f64::from(self.groups)
    }

    /// Ports with a capacity, each once.
    fn limited(&self, mut uses: Uses) -> Uses {
        uses.retain(|&(port, weight)| weight > 0.0 && self.capacities[port as usize].is_finite());
        uses.sort_by_key(|&(port, _)| port);
        uses.dedup_by(|later, first| {
            let same = later.0 == first.0;
            if same {
                first.1 += later.1;
            }
            same
        });
        uses
    }

    /// What a calculation uses; its "bytes" are operations.
    pub(super) fn compute(&self, group: u32) -> Uses {
        self.limited(vec![(self.port(Kind::Compute, group), 1.0)])
    }

    /// What an addition uses.
    pub(super) fn add(&self, group: u32) -> Uses {
        self.limited(vec![(self.port(Kind::Add, group), 1.0)])
    }

    /// What a copy uses when all of its bytes are under way at once.
    pub(super) fn whole(&self, copy: &Copy) -> Uses {
        let mut uses = Vec::new();
        for (place, local, global) in [
            (copy.from.place, Kind::LocalRead, Kind::GlobalGet),
            (copy.to.place, Kind::LocalWrite, Kind::GlobalPut),
        ] {
            match place {
                Place::Local(group) => uses.push((self.port(local, group), 1.0)),
                Place::Global => {
                    uses.push((self.port(global, copy.group), 1.0));
                    uses.push((self.bus(), self.elsewhere()));
                }
                Place::Ldm(_) => {}
            }
        }
        self.across(copy, &mut uses);
        if copy.add {
            uses.push((self.port(Kind::Add, copy.group), 1.0));
            uses.extend(self.operand(copy));
        }
        self.limited(uses)
    }

    /// The own number that is added to, where it is in Local memory.
    fn operand(&self, copy: &Copy) -> Option<(u32, f64)> {
        match copy.to.place {
            Place::Local(group) if copy.add => Some((self.port(Kind::LocalRead, group), 1.0)),
            _ => None,
        }
    }

    /// The ring between two groups' memories.
    fn across(&self, copy: &Copy, uses: &mut Uses) {
        if let (Place::Local(from), Place::Local(to) | Place::Ldm(to)) = (copy.from.place, copy.to.place)
            && from != to
        {
            uses.extend([(self.port(Kind::RingOut, from), 1.0), (self.port(Kind::RingIn, to), 1.0)]);
            uses.push((self.bus(), 1.0));
        }
    }

    /// What the two sides of a copy use when it passes the scratch-pads of the group that does it; links of
    /// the ring and the groups' parts of Global memory included.
    pub(super) fn sides(&self, copy: &Copy) -> Sides {
        let (mut get, mut put) = (Vec::new(), Vec::new());
        let is_ldm = |place| matches!(place, Place::Ldm(_));
        let both = [(copy.from.place, &mut get, true), (copy.to.place, &mut put, false)];
        for (place, uses, reads) in both {
            let memory = if reads { Kind::LocalRead } else { Kind::LocalWrite };
            match place {
                Place::Ldm(_) => {}
                Place::Local(group) => {
                    uses.push((self.port(memory, group), 1.0));
                    if group != copy.group {
                        let (from, to) = if reads { (group, copy.group) } else { (copy.group, group) };
                        uses.extend([
                            (self.port(Kind::RingOut, from), 1.0),
                            (self.port(Kind::RingIn, to), 1.0),
                        ]);
                        uses.push((self.bus(), 1.0));
                        self.links(from, to, 1.0, uses);
                    }
                }
                Place::Global => {
                    let port = if reads { Kind::GlobalGet } else { Kind::GlobalPut };
                    uses.push((self.port(port, copy.group), 1.0));
                    uses.push((self.bus(), self.elsewhere()));
                    // consecutive bytes lie with one group after the other
                    let part = 1.0 / f64::from(self.groups);
                    for group in 0..self.groups {
                        uses.push((self.port(memory, group), part));
                        let (from, to) = if reads { (group, copy.group) } else { (copy.group, group) };
                        self.links(from, to, part, uses);
                    }
                }
            }
        }
        get.extend(self.operand(copy));
        Sides {
            get: (!is_ldm(copy.from.place)).then(|| self.limited(get)),
            put: (!is_ldm(copy.to.place)).then(|| self.limited(put)),
        }
    }

    /// The links of the ring from one group to another, the shorter way; half way round, even groups send
    /// clockwise and odd ones the other way.
    fn links(&self, from: u32, to: u32, weight: f64, uses: &mut Uses) {
        let groups = self.groups;
        let distance = (to + groups - from) % groups;
        let clockwise = 2 * distance < groups || (2 * distance == groups && from.is_multiple_of(2));
        if clockwise {
            let links = (0..distance).map(|hop| (self.port(Kind::Clockwise, (from + hop) % groups), weight));
            uses.extend(links);
        } else {
            let hops = 0..groups - distance;
            uses.extend(
                hops.map(|hop| (self.port(Kind::Anticlockwise, (from + groups - hop) % groups), weight)),
            );
        }
    }
}
