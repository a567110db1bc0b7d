//! Flattened butterflies: every router joined with all others of its row, in every dimension.

use stratasim_core::BuildError;

use super::super::fabric::{Channel, End, Fabric};
use super::{MOST_NODES, check_ports, power};

/// A flattened butterfly (Kim, Dally, Abts 2007) of `k` routers in each of `n` dimensions, with `side` times
/// `side` terminals each.
///
/// Routers are laid out in rows of `row`, terminals in rows of `row * side` across them; a terminal's
/// *address* is its router's number times the terminals of a router, and its port. Ports: the terminals,
/// then per dimension the other routers, ascending; inputs between routers are in the order of the routers
/// that they come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlattenedButterfly {
    k: u32,
    n: u32,
    side: u32,
    row: u32,
    routers: u32,
    /// Address of each terminal.
    addresses: Vec<u32>,
}

impl FlattenedButterfly {
    /// A flattened butterfly.
    ///
    /// # Errors
    /// Sizes that make no network; more than four dimensions; rows that do not fill the plane.
    pub fn new(k: u32, n: u32, side: u32, row: u32) -> Result<Self, BuildError> {
        let wrong = |field: &str, reason: String| Err(BuildError::new(field, reason));
        if !(1..=4).contains(&n) {
            return wrong("n", format!("{n} dimensions; 1 to 4 are possible"));
        }
        let routers = power(k, n).filter(|&routers| {
            k > 0 && side > 0 && u64::from(routers) * u64::from(side).pow(2) <= MOST_NODES
        });
        let Some(routers) = routers else {
            let reason = format!(
                "{k}^{n} routers of {side} times {side} terminals; 1 to {MOST_NODES} terminals are possible"
            );
            return wrong("k", reason);
        };
        let ports = u64::from(k - 1) * u64::from(n) + u64::from(side).pow(2);
        if ports > u64::from(u16::MAX) {
            return wrong("k", format!("{k} routers in a dimension; a router has at most 65,535 ports"));
        }
        check_ports("k", routers.into(), ports)?;
        if row == 0 || !routers.is_multiple_of(row) {
            return wrong("x", format!("rows of {row} routers do not hold all {routers} in whole rows"));
        }
        let across = row * side;
        let address = |node: u32| {
            let (x, y) = (node % across, node / across);
            (y / side * row + x / side) * side * side + y % side * side + x % side
        };
        let addresses = (0..routers * side * side).map(address).collect();
        Ok(Self { k, n, side, row, routers, addresses })
    }

    /// Terminals.
    pub fn nodes(&self) -> u32 {
        self.addresses.len() as u32
    }

    /// Routers in each dimension.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// Dimensions.
    pub fn dimensions(&self) -> u32 {
        self.n
    }

    /// Terminals of a router.
    pub fn concentration(&self) -> u32 {
        self.side * self.side
    }

    /// Address of a terminal.
    pub fn address(&self, node: u32) -> u32 {
        self.addresses[node as usize]
    }

    /// The routers and channels. With `lengths`, channels take a cycle per tile that they cross.
    pub fn fabric(&self, lengths: bool) -> Fabric {
        let ports = (self.concentration() + (self.k - 1) * self.n) as u16;
        let mut fabric = Fabric::new(vec![(ports, ports); self.routers as usize]);
        let wire = |cycles| {
            let latency = if lengths { cycles } else { 1 };
            Channel { latency, credit_latency: latency, ..Channel::default() }
        };
        let distances = terminal_cycles(self.side);
        for &address in &self.addresses {
            let (router, port) = (address / self.concentration(), address % self.concentration());
            let edge = wire(distances[port as usize]);
            fabric.attach(router, (port as u16, port as u16), edge, edge, None);
        }
        let mut inputs = vec![self.concentration() as u16; self.routers as usize];
        for router in 0..self.routers {
            for d in 0..self.n {
                let stride = self.k.pow(d);
                let digit = router / stride % self.k;
                for other in (0..self.k).filter(|&other| other != digit) {
                    let to = router - digit * stride + other * stride;
                    let (here, there) =
                        ((router % self.row, router / self.row), (to % self.row, to / self.row));
                    let tiles = here.0.abs_diff(there.0) + here.1.abs_diff(there.1);
                    let end = End::Router { router: to, port: inputs[to as usize] };
                    inputs[to as usize] += 1;
                    let channel = Channel { end, ..wire(self.side * tiles) };
                    fabric.connect((router, self.port(d, digit, other)), channel);
                }
            }
        }
        fabric
    }

    /// The port in a dimension to the router with the digit `other` there.
    fn port(&self, d: u32, digit: u32, other: u32) -> u16 {
        (self.concentration() + (self.k - 1) * d + other - u32::from(other > digit)) as u16
    }

    /// The output towards an address: the lowest dimension in which the routers differ, or the highest.
    pub fn output(&self, router: u32, address: u32, descending: bool) -> u16 {
        let to = address / self.concentration();
        let step = |d: u32| {
            let stride = self.k.pow(d);
            let (digit, other) = (router / stride % self.k, to / stride % self.k);
            (digit != other).then(|| self.port(d, digit, other))
        };
        let found = if descending { (0..self.n).rev().find_map(step) } else { (0..self.n).find_map(step) };
        found.unwrap_or((address % self.concentration()) as u16)
    }

    /// Dimensions in which the routers of two addresses differ.
    pub fn distance(&self, one: u32, other: u32) -> u32 {
        let (mut one, mut other) = (one / self.concentration(), other / self.concentration());
        let mut distance = 0;
        for _ in 0..self.n {
            distance += u32::from(one % self.k != other % self.k);
            (one, other) = (one / self.k, other / self.k);
        }
        distance
    }
}

/// Cycles between a router and each of its `side * side` terminals, in the order of their ports: one, and one
/// more per tile beyond the first that the simulator counts on the way. It counts along y first and turns back
/// from `side / 2` to minus that, without 0 where the side is even; the counting does not begin anew with a row.
fn terminal_cycles(side: u32) -> Vec<u32> {
    let half = (side / 2) as i32;
    let first = -(side as i32) / 2;
    let skip_zero = |value: i32| if value == 0 && side.is_multiple_of(2) { 1 } else { value };
    let (mut y, mut x) = (first, first);
    let mut cycles = Vec::new();
    for _ in 0..side * side {
        (y, x) = (skip_zero(y), skip_zero(x));
        cycles.push(1 + y.unsigned_abs().saturating_sub(1) + x.unsigned_abs().saturating_sub(1));
        y += 1;
        if y > half {
            (y, x) = (first, x + 1);
        }
    }
    cycles
}
