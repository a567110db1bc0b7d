//! Times of ways on an empty network.

use rustc_hash::FxHashMap;

use super::port::{Beyond, Port};
use super::routes::{Next, Routes};

/// Times over all shortest ways.
#[derive(Debug)]
pub(super) struct Ways {
    /// Whether all shortest ways between two hosts take as long, so that one is enough.
    uniform: bool,
    header_bytes: u32,
}

impl Ways {
    /// For these ports; packets begin with `header_bytes`.
    pub(super) fn new(ports: &[Port], routes: &Routes, header_bytes: u32) -> Self {
        let same = |a: &Port, b: &Port| a.rate == b.rate && a.delay == b.delay;
        let same = ports.windows(2).all(|pair| same(&pair[0], &pair[1]));
        // hosts on the way store what switches may not
        let stores_alike = ports.iter().all(|port| port.beyond != Beyond::Header)
            || ports.iter().all(|port| !port.last_hop || !routes.forwards(port.to));
        Self { uniform: same && stores_alike, header_bytes }
    }

    /// The least time from the start of a packet of `bytes` at `port` until it is at `host`, and the number of links;
    /// none where the port does not lead there.
    pub(super) fn time(
        &self,
        routes: &Routes,
        ports: &[Port],
        port: u32,
        host: u32,
        bytes: u32,
    ) -> Option<(u64, u32)> {
        let node = routes.node_of(host);
        let header = self.header_bytes.min(bytes);
        // from the start on one link to the start on the next
        let step = |from: &Port, to: &Port| {
            let cuts = from.beyond == Beyond::Header && !to.rate.is_faster_than(from.rate);
            from.delay + from.time_of(if cuts { header } else { bytes })
        };
        let last = |port: &Port| port.delay + port.time_of(bytes);
        // a way around is no shortest way: as many links as there are nodes are never needed
        let most = ports.len() as u32 + 1;
        if self.uniform {
            let (mut at, mut time) = (&ports[port as usize], 0);
            for links in 1..most {
                if at.to == node {
                    return Some((time + last(at), links));
                }
                let next = match routes.toward(at.to, host) {
                    Next::Port(port) => port,
                    Next::Set(set) => routes.members()[routes.set(set).start],
                    Next::Nowhere => return None,
                };
                let next = &ports[next as usize];
                time += step(at, next);
                at = next;
            }
            return None;
        }
        // ports, and the earliest start on each
        let mut layer = vec![(port, 0_u64)];
        let mut place: FxHashMap<u32, usize> = FxHashMap::default();
        for links in 1..most {
            let there = layer.iter().map(|&(port, start)| (&ports[port as usize], start));
            if let Some(time) =
                there.filter(|(port, _)| port.to == node).map(|(port, start)| start + last(port)).min()
            {
                return Some((time, links));
            }
            let mut next: Vec<(u32, u64)> = Vec::new();
            place.clear();
            for &(from, start) in &layer {
                let from = &ports[from as usize];
                let mut reach = |port: u32| {
                    let start = start + step(from, &ports[port as usize]);
                    match place.get(&port) {
                        Some(&known) => next[known].1 = next[known].1.min(start),
                        None => {
                            place.insert(port, next.len());
                            next.push((port, start));
                        }
                    }
                };
                match routes.toward(from.to, host) {
                    Next::Port(port) => reach(port),
                    Next::Set(set) => routes.members()[routes.set(set)].iter().for_each(|&port| reach(port)),
                    Next::Nowhere => {}
                }
            }
            if next.is_empty() {
                return None;
            }
            layer = next;
        }
        None
    }
}
