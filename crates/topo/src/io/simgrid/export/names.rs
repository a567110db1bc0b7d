//! Unique names for hosts, routers and links, and which links are two directions of one.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use stratasim_core::{LinkId, NodeId};

use super::Export;
use crate::Sharing;
use crate::graph::Topology;
use crate::io::simgrid::LOOPBACK;

/// How routes call a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    /// By its own name.
    Whole(String),
    /// As a direction of a split-duplex link.
    Half(String, &'static str),
    /// The loopback that SimGrid makes itself.
    Builtin,
}

/// `wanted`, or with a number behind it when it is taken.
pub(super) fn unique(wanted: &str, taken: &mut FxHashSet<String>) -> String {
    // XML has no way to write control characters
    let clean: String = wanted
        .chars()
        .map(|c| if c.is_control() && !matches!(c, '\t' | '\n' | '\r') { '_' } else { c })
        .collect();
    let mut name = clean.clone();
    let mut number = 1;
    while name.is_empty() || !taken.insert(name.clone()) {
        number += 1;
        name = format!("{clean}-{number}");
    }
    name
}

impl<'a> Export<'a> {
    pub(super) fn new(topology: &'a Topology) -> Self {
        let mut taken = FxHashSet::default();
        let name = |node: usize, taken: &mut _| match topology.node_name(NodeId::from_index(node)) {
            "" => unique(&format!("node-{node}"), taken),
            given => unique(given, taken),
        };
        let nodes = (0..topology.node_count()).map(|node| name(node, &mut taken)).collect();
        let zone = unique("platform", &mut taken);
        let mut export = Self {
            topology,
            text: String::new(),
            nodes,
            calls: Vec::new(),
            zone,
            delays: BTreeMap::new(),
            link_names: FxHashSet::default(),
        };
        export.link_names.insert(LOOPBACK.to_owned());
        for link in 0..topology.link_count() {
            let call = export.call(LinkId::from_index(link));
            export.calls.push(call);
        }
        export
    }

    /// The other direction, when both make one split-duplex link.
    pub(super) fn twin(&self, link: LinkId) -> Option<LinkId> {
        let there = self.topology.link(link);
        let twin = there.reverse.filter(|&twin| twin != link)?;
        let back = self.topology.link(twin);
        let alike = back.reverse == Some(link)
            && (there.bandwidth, there.latency, there.half_duplex) == (back.bandwidth, back.latency, false)
            && [there.sharing, back.sharing] == [Sharing::Shared; 2];
        alike.then_some(twin)
    }

    fn call(&mut self, link: LinkId) -> Call {
        let name = self.topology.link_name(link);
        if name == LOOPBACK && self.topology.link(link).ends.is_none() {
            return Call::Builtin;
        }
        match self.twin(link) {
            None => Call::Whole(unique(&name, &mut self.link_names)),
            Some(twin) if twin < link => match &self.calls[twin.index()] {
                Call::Half(base, _) => Call::Half(base.clone(), "DOWN"),
                _ => unreachable!("twins are of one kind"),
            },
            Some(twin) => {
                let back = self.topology.link_name(twin);
                let stem = [("_UP", "_DOWN"), ("-up", "-down")].iter().find_map(|(up, down)| {
                    let stem = name.strip_suffix(up)?;
                    (back.strip_suffix(down) == Some(stem)).then_some(stem)
                });
                let stem = stem.unwrap_or(&name);
                let mut number = 1;
                let mut base = stem.to_owned();
                // the two names that SimGrid makes of it must be free as well
                while [String::new(), "_UP".into(), "_DOWN".into()]
                    .iter()
                    .any(|suffix| self.link_names.contains(&format!("{base}{suffix}")))
                {
                    number += 1;
                    base = format!("{stem}-{number}");
                }
                for suffix in ["", "_UP", "_DOWN"] {
                    self.link_names.insert(format!("{base}{suffix}"));
                }
                Call::Half(base, "UP")
            }
        }
    }

    /// The same link on the way back.
    pub(super) fn counterpart(&self, link: LinkId) -> LinkId {
        self.twin(link).unwrap_or(link)
    }
}
