//! Ways around links that are known to be down.

use rustc_hash::FxHashMap;

use super::routes::{Members, Next, Routes};

/// Which ports are known to be down, and which of the others still lead where they should.
///
/// Only shortest ways are considered: what remains of them when those over dead links are left out. While nothing is down,
/// nobody asks.
#[derive(Debug, Clone)]
pub(super) struct Detours {
    down: Vec<bool>,
    count: usize,
    /// Whether a live way leads from a node to a host, as far as it has been asked for.
    known: FxHashMap<(u32, u32), bool>,
    usable: Vec<u32>,
}

impl Detours {
    /// For so many ports.
    pub(super) fn new(ports: usize) -> Self {
        Self { down: vec![false; ports], count: 0, known: FxHashMap::default(), usable: Vec::new() }
    }

    /// Whether there is anything to avoid.
    #[inline]
    pub(super) const fn are_needed(&self) -> bool {
        self.count > 0
    }

    /// A port is known to be down, or repaired.
    pub(super) fn set(&mut self, port: u32, down: bool) {
        let was = std::mem::replace(&mut self.down[port as usize], down);
        self.count = self.count + usize::from(down) - usize::from(was);
        self.known.clear();
    }

    /// Those of `members` from which a live way leads to `host`; all of them where there is none.
    pub(super) fn usable<'a>(&'a mut self, routes: &Routes, members: Members<'a>, host: u32) -> Members<'a> {
        let mut usable = std::mem::take(&mut self.usable);
        usable.clear();
        usable.extend(members.ports().filter(|&port| self.leads(routes, port, host)));
        self.usable = usable;
        if self.usable.is_empty() { members } else { Members::of(&self.usable) }
    }

    /// Whether a live way to `host` begins at `port`.
    pub(super) fn leads(&mut self, routes: &Routes, port: u32, host: u32) -> bool {
        let mut port = port;
        loop {
            if self.down[port as usize] {
                return false;
            }
            let node = routes.wires()[port as usize].to;
            if node == routes.node_of(host) {
                return true;
            }
            match routes.toward(node, host) {
                Next::Port(next) => port = next,
                Next::Nowhere => return false,
                Next::Set(set) => {
                    if let Some(&known) = self.known.get(&(node, host)) {
                        return known;
                    }
                    let mut members = routes.members(node, set).ports();
                    let leads = members.any(|port| self.leads(routes, port, host));
                    self.known.insert((node, host), leads);
                    return leads;
                }
            }
        }
    }
}
