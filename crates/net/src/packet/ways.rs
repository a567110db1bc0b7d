//! Times of ways on an empty network.

use rustc_hash::FxHashMap;

use super::port::Port;
use super::routes::{Next, Routes};

/// Times over all shortest ways.
#[derive(Debug)]
pub(super) struct Ways {
    /// Whether all links are equal, so that counting them is enough.
    uniform: bool,
}

impl Ways {
    /// For these ports.
    pub(super) fn new(ports: &[Port]) -> Self {
        let same = |a: &Port, b: &Port| a.rate == b.rate && a.delay == b.delay;
        Self { uniform: ports.windows(2).all(|pair| same(&pair[0], &pair[1])) }
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
        let cost = |port: &Port| port.time_of(bytes) + port.delay;
        let first = &ports[port as usize];
        // a way around is no shortest way: as many links as there are nodes are never needed
        let most = ports.len() as u32 + 1;
        if self.uniform {
            let (mut at, mut links) = (first.to, 1);
            while at != node && links < most {
                let next = match routes.toward(at, host) {
                    Next::Port(port) => port,
                    Next::Set(set) => routes.members()[routes.set(set).start],
                    Next::Nowhere => return None,
                };
                at = ports[next as usize].to;
                links += 1;
            }
            return (at == node).then(|| (cost(first) * u64::from(links), links));
        }
        let mut layer = vec![(first.to, cost(first))];
        let mut place: FxHashMap<u32, usize> = FxHashMap::default();
        for links in 1..most {
            if let Some(&(_, time)) = layer.iter().find(|(at, _)| *at == node) {
                return Some((time, links));
            }
            let mut next: Vec<(u32, u64)> = Vec::new();
            place.clear();
            for &(at, time) in &layer {
                let mut reach = |port: u32| {
                    let port = &ports[port as usize];
                    let time = time + cost(port);
                    match place.get(&port.to) {
                        Some(&known) => next[known].1 = next[known].1.min(time),
                        None => {
                            place.insert(port.to, next.len());
                            next.push((port.to, time));
                        }
                    }
                };
                match routes.toward(at, host) {
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
