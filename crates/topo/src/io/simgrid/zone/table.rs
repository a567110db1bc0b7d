//! The routes that a zone declares, pair by pair.

use rustc_hash::FxHashMap;
use stratasim_core::LinkId;

use super::Gateways;

/// One declared route: where its links are, and its gateways between zones.
#[derive(Debug, Clone, Copy)]
pub(in crate::io::simgrid) struct Declared {
    /// From and to, members of the zone.
    pub(in crate::io::simgrid) ends: [u32; 2],
    pub(in crate::io::simgrid) gateways: Option<Gateways>,
    links: [u32; 2],
}

/// Declared routes by pair, in the order of the file.
#[derive(Debug, Default)]
pub(in crate::io::simgrid) struct Table {
    index: FxHashMap<[u32; 2], u32>,
    routes: Vec<Declared>,
    pool: Vec<LinkId>,
}

impl Table {
    /// Adds a route; false, and nothing is added, when the pair has one.
    pub(in crate::io::simgrid) fn add(
        &mut self,
        ends: [u32; 2],
        gateways: Option<Gateways>,
        links: impl Iterator<Item = LinkId>,
    ) -> bool {
        if self.index.contains_key(&ends) {
            return false;
        }
        self.index.insert(ends, self.routes.len() as u32);
        let start = self.pool.len() as u32;
        self.pool.extend(links);
        self.routes.push(Declared { ends, gateways, links: [start, self.pool.len() as u32] });
        true
    }

    /// The route from `src` to `dst`.
    pub(in crate::io::simgrid) fn get(&self, src: u32, dst: u32) -> Option<&Declared> {
        self.index.get(&[src, dst]).map(|&place| &self.routes[place as usize])
    }

    /// All routes.
    pub(in crate::io::simgrid) fn routes(&self) -> &[Declared] {
        &self.routes
    }

    /// The links of `route` in order.
    pub(in crate::io::simgrid) fn links(&self, route: &Declared) -> &[LinkId] {
        &self.pool[route.links[0] as usize..route.links[1] as usize]
    }
}
