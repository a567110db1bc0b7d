//! `topology="TORUS"`: dimension order, the shorter way round.

use super::{Cables, Gateways, LocalRoutes, PrivateLinks};
use crate::io::simgrid::routes::Walk;

/// A torus of hosts, the first dimension innermost. Host `i` owns, for each dimension, the cable
/// to its neighbour upwards: cable `i * dimensions + dimension`.
#[derive(Debug)]
pub(in crate::io::simgrid) struct Torus {
    pub(in crate::io::simgrid) dimensions: Vec<u64>,
    pub(in crate::io::simgrid) cables: Cables,
    pub(in crate::io::simgrid) private: PrivateLinks,
}

/// The neighbour of `host` in a dimension of extent `extent` whose neighbours are `stride` apart.
pub(in crate::io::simgrid) fn next_up(host: u64, stride: u64, extent: u64) -> u64 {
    if host / stride % extent == extent - 1 { host - (extent - 1) * stride } else { host + stride }
}

impl LocalRoutes for Torus {
    fn route(&self, walk: &mut Walk<'_>, src: u32, dst: u32) -> Result<Option<Gateways>, String> {
        if src == dst
            && let Some(loopback) = self.private.loopback(src)
        {
            walk.out.push(loopback);
            return Ok(None);
        }
        let (source, target) = (u64::from(src), u64::from(dst));
        let mut at = source;
        let mut stride = 1;
        for (dimension, &extent) in self.dimensions.iter().enumerate() {
            let (from, to) = (source / stride % extent, target / stride % extent);
            // up when the target is at most half the ring above; ties of an even ring go up from
            // the lower half only
            let up = (to > from && to <= from + extent / 2)
                || (from > extent / 2 && (from + extent / 2) % extent >= to);
            while at / stride % extent != to {
                walk.out.extend(self.private.limiter(at));
                let next = if up {
                    next_up(at, stride, extent)
                } else if at / stride % extent == 0 {
                    at + (extent - 1) * stride
                } else {
                    at - stride
                };
                let owner = if up { at } else { next };
                let cable = owner * self.dimensions.len() as u64 + dimension as u64;
                walk.out.push(if up { self.cables.up(cable) } else { self.cables.down(cable) });
                at = next;
            }
            stride *= extent;
        }
        walk.out.extend(self.private.limiter(target));
        Ok(None)
    }
}
