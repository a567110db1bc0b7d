//! Names of links: given one by one, by class, or made from the names of their ends.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use stratasim_core::{LinkId, NodeId};

use super::Topology;

/// Names every link between two kinds of numbered nodes without storing a name.
///
/// A cable from a node called `{from}{i}` to one called `{to}{j}` (with decimal `i` and `j`) is
/// `{name}-{i}`; its two directions are `{name}-{i}-up` and `{name}-{i}-down` when it is full duplex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkClass {
    /// Name of the class, such as `cx`.
    pub name: &'static str,
    /// Prefix of the node at the lower end, such as `xpu-`.
    pub from: &'static str,
    /// Prefix of the node at the upper end, such as `cxl-switch-`, or its whole name.
    pub to: &'static str,
}

/// Names of the links of one topology.
#[derive(Debug, Clone, Default)]
pub(super) struct LinkNames {
    given: BTreeMap<LinkId, String>,
    classes: &'static [LinkClass],
    /// By link: 0 when no other link has the same ends, otherwise one more than its place among them.
    parallel: OnceLock<Vec<u32>>,
    by_name: OnceLock<FxHashMap<String, LinkId>>,
}

impl LinkNames {
    pub(super) fn give(&mut self, link: LinkId, name: String) {
        self.given.insert(link, name);
        self.by_name.take();
    }

    pub(super) fn set_classes(&mut self, classes: &'static [LinkClass]) {
        self.classes = classes;
        self.by_name.take();
    }

    pub(super) fn given(&self, link: LinkId) -> Option<&str> {
        self.given.get(&link).map(String::as_str)
    }

    pub(super) fn all_given(&self) -> impl Iterator<Item = &str> {
        self.given.values().map(String::as_str)
    }

    /// Moves given names to new numbers, `None` for links that are gone.
    pub(super) fn renumber(&mut self, new: &[Option<LinkId>]) {
        let given = std::mem::take(&mut self.given);
        self.given = given.into_iter().filter_map(|(id, name)| Some((new[id.index()]?, name))).collect();
        self.thaw();
    }

    /// Forgets what was derived from links that are about to change.
    pub(super) fn thaw(&mut self) {
        self.parallel.take();
        self.by_name.take();
    }

    pub(super) fn name(&self, topology: &Topology, link: LinkId) -> String {
        if let Some(name) = self.given(link) {
            return name.to_owned();
        }
        let info = topology.link(link);
        let Some(ends) = info.ends else { return format!("link-{link}") };
        let [from, to] = ends.map(|node| topology.node_name(node));
        let mut name = self.class_name(from, to, info.half_duplex).unwrap_or_else(|| {
            let arrow = if info.half_duplex { "--" } else { "->" };
            format!("{from}{arrow}{to}")
        });
        if let Some(place) = self.parallel_place(topology, link, ends) {
            name.push_str(&format!("#{place}"));
        }
        name
    }

    /// The place of a link among those with the same ends; `None` when it is the only one.
    fn parallel_place(&self, topology: &Topology, link: LinkId, ends: [NodeId; 2]) -> Option<u32> {
        let ports = topology.ports(ends[0]);
        // few ports are looked through at once; many would make naming all links quadratic
        if ports.len() > 64 {
            let places = self.parallel.get_or_init(|| parallel_places(topology));
            return places[link.index()].checked_sub(1);
        }
        let half_duplex = topology.link(link).half_duplex;
        let same = |other: LinkId| {
            let other = topology.link(other);
            other.ends == Some(ends) && other.half_duplex == half_duplex
        };
        let siblings = || ports.iter().filter(|port| port.to == ends[1] && same(port.link));
        siblings().nth(1)?;
        siblings().position(|port| port.link == link).map(|place| place as u32)
    }

    fn class_name(&self, from: &str, to: &str, half_duplex: bool) -> Option<String> {
        self.classes.iter().find_map(|class| {
            let (number, way) = match (number(from, class.from), number(to, class.to)) {
                (Some(number), Some(_)) => (number, "-up"),
                _ => (number(to, class.from)?, number(from, class.to).map(|_| "-down")?),
            };
            Some(format!("{}-{number}{}", class.name, if half_duplex { "" } else { way }))
        })
    }

    pub(super) fn find(&self, topology: &Topology, name: &str) -> Option<LinkId> {
        let index = self.by_name.get_or_init(|| {
            let mut index = FxHashMap::default();
            for link in (0..topology.link_count()).map(LinkId::from_index) {
                index.entry(self.name(topology, link)).or_insert(link);
            }
            index
        });
        index.get(name).copied()
    }
}

/// What follows `prefix` in `name`: digits, or nothing when `prefix` is all of it.
fn number<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    name.strip_prefix(prefix).filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// For every link 0 when it is the only one with its ends, otherwise one more than its place.
fn parallel_places(topology: &Topology) -> Vec<u32> {
    let ends = |link: u32| -> Option<([NodeId; 2], bool)> {
        let info = topology.link(LinkId(link));
        Some((info.ends?, info.half_duplex))
    };
    let mut order: Vec<u32> =
        (0..topology.link_count() as u32).filter(|&link| ends(link).is_some()).collect();
    order.sort_unstable_by_key(|&link| (ends(link), link));
    let mut places = vec![0; topology.link_count()];
    for group in order.chunk_by(|&a, &b| ends(a) == ends(b)) {
        if group.len() > 1 {
            for (place, &link) in group.iter().enumerate() {
                places[link as usize] = place as u32 + 1;
            }
        }
    }
    places
}
