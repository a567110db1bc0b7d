//! Concentrated meshes with express channels along their edges.

use stratasim_core::BuildError;

use super::super::fabric::{Channel, End, Fabric};
use super::super::routing::{Candidate, FlitRouting, Head, Place, Surroundings};
use super::{MOST_NODES, entry, lower_part, upper_part};

/// A concentrated mesh (Balfour, Dally 2006): `k` times `k` routers with a square of four terminals each.
///
/// Ports 0 to 3 are the terminals', row by row; 4 leads to the router with the next higher x, 5 to the next
/// lower, 6 and 7 likewise in y. Outputs that would leave the mesh are joined in pairs along its edge, half
/// an edge apart: the express channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcentratedMesh {
    k: u32,
}

/// Terminals of a router, and the first port between routers.
const TERMINALS: u32 = 4;
/// The square's side.
const SIDE: u32 = 2;

impl ConcentratedMesh {
    /// A mesh of `k` times `k` routers.
    ///
    /// # Errors
    /// An odd extent, whose express channels would be wired twice; too many nodes.
    pub fn new(k: u32) -> Result<Self, BuildError> {
        if u64::from(k) * u64::from(k) * u64::from(TERMINALS) > MOST_NODES {
            let reason = format!("{k} times {k} routers; at most {MOST_NODES} terminals are possible");
            return Err(BuildError::new("k", reason));
        }
        if k == 0 || k % 2 == 1 {
            let reason =
                format!("{k}; express channels join the halves of an edge: an even number is expected");
            return Err(BuildError::new("k", reason));
        }
        Ok(Self { k })
    }

    /// Terminals.
    pub fn nodes(&self) -> u32 {
        self.k * self.k * TERMINALS
    }

    /// The routers and channels. With `lengths`, channels take two cycles and express ones `k`.
    pub fn fabric(&self, lengths: bool) -> Fabric {
        let k = self.k;
        let ports = (TERMINALS + 4) as u16;
        let mut fabric = Fabric::new(vec![(ports, ports); (k * k) as usize]);
        for node in 0..self.nodes() {
            let port = self.port_of(node);
            fabric.attach(self.router_of(node), (port, port), Channel::default(), Channel::default(), None);
        }
        for router in 0..k * k {
            let (x, y) = (router % k, router / k);
            let half = |along: u32| (along + k / 2) % k;
            // the neighbour and the port that it hears this router by; at an edge both have the same port
            let across = [
                if x + 1 < k { (x + 1, y, 1) } else { (x, half(y), 0) },
                if x > 0 { (x - 1, y, 0) } else { (x, half(y), 1) },
                if y + 1 < k { (x, y + 1, 3) } else { (half(x), y, 2) },
                if y > 0 { (x, y - 1, 2) } else { (half(x), y, 3) },
            ];
            for (output, (to_x, to_y, port)) in (0u32..).zip(across) {
                let express = port == output;
                let latency = match (lengths, express) {
                    (false, _) => 1,
                    (true, false) => SIDE,
                    (true, true) => SIDE * k / 2,
                };
                let end = End::Router { router: to_y * k + to_x, port: (TERMINALS + port) as u16 };
                let channel = Channel { end, latency, credit_latency: latency, ..Channel::default() };
                fabric.connect((router, (TERMINALS + output) as u16), channel);
            }
        }
        fabric
    }

    fn router_of(&self, node: u32) -> u32 {
        let row = self.k * SIDE;
        node / row / SIDE * self.k + node % row / SIDE
    }

    fn port_of(&self, node: u32) -> u16 {
        (node / (self.k * SIDE) % SIDE * SIDE + node % SIDE) as u16
    }

    /// The output towards a router that is another one, x first or y first. A way of more than
    /// `most_steps` along the dimension that is turn takes the express channel of the edge that the router is at.
    fn output(&self, from: u32, to: u32, y_first: bool, most_steps: u32) -> u16 {
        let k = self.k;
        let (here, there) = ([from % k, from / k], [to % k, to / k]);
        let order = if y_first { [1, 0] } else { [0, 1] };
        let along = order.into_iter().find(|&d| here[d] != there[d]).unwrap_or(0);
        let other = here[1 - along];
        let edge = (other == 0 || other == k - 1) && here[along].abs_diff(there[along]) > most_steps;
        let port = if edge {
            // out of the mesh in the other dimension
            2 * (1 - along as u32) + u32::from(other == 0)
        } else {
            2 * along as u32 + u32::from(here[along] > there[along])
        };
        (TERMINALS + port) as u16
    }
}

/// Which routing function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConcentratedMeshFunction {
    /// `dor`: x, then y, by express channels for half an edge or more.
    DimensionOrder,
    /// `dor_no_express`: the same without express channels.
    DimensionOrderWithoutExpress,
    /// `xy_yx`: the order by coin, each with half of the virtual channels; express channels for more than one
    /// step.
    XyYx,
    /// `xy_yx_no_express`: the same without express channels.
    XyYxWithoutExpress,
}

/// A routing function on a concentrated mesh.
#[derive(Debug, Clone)]
pub struct ConcentratedMeshRouting {
    mesh: ConcentratedMesh,
    function: ConcentratedMeshFunction,
}

impl ConcentratedMeshRouting {
    /// A function on a mesh.
    pub fn new(mesh: ConcentratedMesh, function: ConcentratedMeshFunction) -> Self {
        Self { mesh, function }
    }

    /// Whether the order of dimensions is drawn.
    fn either_order(&self) -> bool {
        use ConcentratedMeshFunction as F;
        matches!(self.function, F::XyYx | F::XyYxWithoutExpress)
    }
}

impl FlitRouting for ConcentratedMeshRouting {
    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        use ConcentratedMeshFunction as F;
        let to = self.mesh.router_of(head.dest);
        if to == place.router {
            return entry(self.mesh.port_of(head.dest), head.range);
        }
        let most_steps = match self.function {
            F::DimensionOrder => self.mesh.k / 2 - 1,
            F::XyYx => 1,
            F::DimensionOrderWithoutExpress | F::XyYxWithoutExpress => u32::MAX,
        };
        let output = |y_first| self.mesh.output(place.router, to, y_first, most_steps);
        if !self.either_order() {
            return entry(output(false), head.range);
        }
        let lower = lower_part(head.range);
        let upper = upper_part(head.range);
        let x_first =
            if u32::from(place.input) < TERMINALS { surroundings.draw(2) > 0 } else { place.vc < upper.0 };
        if x_first { entry(output(false), lower) } else { entry(output(true), upper) }
    }

    fn draws(&self) -> bool {
        self.either_order()
    }

    fn memory_bits(&self) -> u32 {
        0
    }

    fn knows_source(&self) -> bool {
        false
    }
}
