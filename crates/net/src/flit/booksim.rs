//! BookSim2's networks, routing functions and random numbers, number for number.
//!
//! Port numbers and the order of random draws decide who wins a tie, so they are those of the simulator,
//! and so are the routing functions' known faults: a route set keeps one entry of each priority
//! ([`RouteSet`]), phases of Valiant's routing share channels at a router that a packet passes on its way.
//! Source of the facts: BookSim2, commit 28f43299; Jiang et al., "A Detailed and Flexible Cycle-Accurate
//! Network-on-Chip Simulator", ISPASS 2013.

pub mod anynet;
pub mod cmesh;
pub mod cube;
pub mod dragonfly;
pub mod flatfly;
pub mod flatfly_routing;
pub mod fly;
pub mod knuth;
pub mod mesh;
pub mod qtree;
pub mod side_by_side;
pub mod torus;
pub mod tree;
pub mod tree4;

use stratasim_core::BuildError;

use super::routing::Candidate;

/// Most terminals of a network: what a file asks for is bounded before anything is allocated.
pub const MOST_NODES: u64 = 1 << 20;

/// Most ports of all routers together, each with as many as the one with most: about 1 GB of channels.
const MOST_PORTS: u64 = 1 << 24;

/// Refuses, at the option `field`, `routers` of which one has so many `ports`, where that is more than can be held.
fn check_ports(field: &str, routers: u64, ports: u64) -> Result<(), BuildError> {
    if routers.saturating_mul(ports) > MOST_PORTS {
        let reason =
            format!("{routers} routers of up to {ports} ports; at most {MOST_PORTS} ports are possible");
        return Err(BuildError::new(field, reason));
    }
    Ok(())
}

/// Collects the entries of a route as BookSim2 does: ordered by priority, and of several entries with the
/// same priority only the first is kept.
#[derive(Debug)]
struct RouteSet<'a> {
    out: &'a mut Vec<Candidate>,
    start: usize,
}

impl<'a> RouteSet<'a> {
    fn new(out: &'a mut Vec<Candidate>) -> Self {
        Self { start: out.len(), out }
    }

    fn add(&mut self, output: u16, (first_vc, last_vc): (u8, u8), priority: i32) {
        let place = self.start + self.out[self.start..].partition_point(|other| other.priority > priority);
        if self.out.get(place).is_none_or(|other| other.priority != priority) {
            self.out.insert(place, Candidate { output, first_vc, last_vc, priority });
        }
    }
}

/// The part of a range of virtual channels that is for one of `count` values: as many for each, those left over
/// for none.
fn part_of((first, last): (u8, u8), value: u32, count: u32) -> (u8, u8) {
    let each = (u32::from(last - first) + 1) / count;
    let start = u32::from(first) + value * each;
    (start as u8, (start + each - 1) as u8)
}

/// The only entry of a route.
fn entry(output: u16, (first_vc, last_vc): (u8, u8)) -> Candidate {
    Candidate { output, first_vc, last_vc, priority: 0 }
}

/// The lower part of a range of virtual channels split in two, which gets the middle one of an odd number.
fn lower_part((first, last): (u8, u8)) -> (u8, u8) {
    (first, last - last.abs_diff(first).div_ceil(2))
}

/// The upper part, which gets the middle one too: the two overlap where the number is odd.
fn upper_part((first, last): (u8, u8)) -> (u8, u8) {
    (first + last.abs_diff(first).div_ceil(2), last)
}

/// Refuses sizes of trees and butterflies that make no network.
fn check_size(k: u32, n: u32) -> Result<(), BuildError> {
    if !(1..=1 << 14).contains(&k) || !(1..=20).contains(&n) {
        let reason = format!("k = {k}, n = {n}; k is 1 to 16,384 and n 1 to 20");
        return Err(BuildError::new("n", reason));
    }
    let Some(nodes) = power(k, n) else {
        let reason = format!("{k}^{n} nodes; at most {MOST_NODES} are possible");
        return Err(BuildError::new("k", reason));
    };
    // of trees: down and up
    check_ports("n", u64::from(n) * u64::from(nodes / k), 2 * u64::from(k))
}

/// `k` to the power of `n`, where it is no more than [`MOST_NODES`].
fn power(k: u32, n: u32) -> Option<u32> {
    (0..n)
        .try_fold(1u64, |size, _| size.checked_mul(k.into()).filter(|&size| size <= MOST_NODES))
        .map(|size| size as u32)
}
