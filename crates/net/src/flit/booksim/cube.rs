//! Meshes and tori: k-ary n-cubes with one terminal per router.

use stratasim_core::BuildError;

use super::super::fabric::{Channel, End, Fabric};
use super::{check_ports, power};

/// A k-ary n-cube. Coordinate `d` of router `r` is `r / k^d mod k`.
///
/// Input `2 d` comes from the neighbour with the next higher coordinate, input `2 d + 1` from the one with
/// the next lower; output `2 d` leads to the higher, `2 d + 1` to the lower. Port `2 n` is the terminal's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cube {
    k: u32,
    n: u32,
    nodes: u32,
    coordinates: Vec<u16>,
}

impl Cube {
    /// A cube of `k` routers in each of `n` dimensions.
    ///
    /// # Errors
    /// Extents that make no network.
    pub fn new(k: u32, n: u32) -> Result<Self, BuildError> {
        if k == 0 || n == 0 || n > 20 {
            return Err(BuildError::new("n", format!("k = {k}, n = {n}; both are at least 1, n at most 20")));
        }
        let nodes = power(k, n).filter(|_| k <= 1 << 16).ok_or_else(|| {
            BuildError::new("k", format!("{k}^{n} routers; at most {} are possible", super::MOST_NODES))
        })?;
        check_ports("n", nodes.into(), 2 * u64::from(n) + 1)?;
        let mut coordinates = Vec::with_capacity((nodes * n) as usize);
        for node in 0..nodes {
            let mut rest = node;
            for _ in 0..n {
                coordinates.push((rest % k) as u16);
                rest /= k;
            }
        }
        Ok(Self { k, n, nodes, coordinates })
    }

    /// The routers and channels: `wrapped` makes a torus, `latency` is that of links between routers. Routers are made one by one,
    /// and a link has the usual cycle each way until the first of its two is made: the output to the second is told that.
    pub fn fabric(&self, wrapped: bool, latency: u32) -> Fabric {
        let ports = 2 * self.n as u16 + 1;
        let mut fabric = Fabric::new(vec![(ports, ports); self.nodes as usize]);
        let link = Channel { latency, credit_latency: latency, ..Channel::default() };
        for router in 0..self.nodes {
            let mut stride = 1;
            for d in 0..self.n {
                let here = self.coordinate(router, d);
                for (output, neighbour) in [(2 * d, here + 1), (2 * d + 1, here + self.k - 1)] {
                    let crosses = if output % 2 == 0 { neighbour == self.k } else { here == 0 };
                    if crosses && !wrapped {
                        continue;
                    }
                    let to = router - here * stride + (neighbour % self.k) * stride;
                    let end = End::Router { router: to, port: (output ^ 1) as u16 };
                    let reckoned = (to > router).then_some(2);
                    fabric.connect((router, output as u16), Channel { end, reckoned, ..link });
                }
                stride *= self.k;
            }
            let edge = Channel::default();
            fabric.attach(router, (self.eject(), self.eject()), edge, edge, None);
        }
        fabric
    }

    /// Routers in each dimension.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// Dimensions.
    pub fn dimensions(&self) -> u32 {
        self.n
    }

    /// Routers, and terminals.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The port of the terminal.
    pub fn eject(&self) -> u16 {
        2 * self.n as u16
    }

    /// A coordinate of a router.
    pub fn coordinate(&self, router: u32, dimension: u32) -> u32 {
        u32::from(self.coordinates[(router * self.n + dimension) as usize])
    }

    /// Both coordinates in the lowest dimension in which two routers differ.
    pub fn lowest_difference(&self, from: u32, to: u32) -> Option<(u32, u32, u32)> {
        (0..self.n).find_map(|d| self.difference(from, to, d))
    }

    /// The dimension and both coordinates where they differ in it.
    pub fn difference(&self, from: u32, to: u32, d: u32) -> Option<(u32, u32, u32)> {
        let (here, there) = (self.coordinate(from, d), self.coordinate(to, d));
        (here != there).then_some((d, here, there))
    }

    /// The output towards `to` on a mesh, dimension by dimension from the lowest, or from the highest.
    pub fn mesh_output(&self, from: u32, to: u32, descending: bool) -> u16 {
        let found = if descending {
            (0..self.n).rev().find_map(|d| self.difference(from, to, d))
        } else {
            self.lowest_difference(from, to)
        };
        found.map_or(self.eject(), |(d, here, there)| (2 * d + u32::from(here > there)) as u16)
    }
}
