//! The platform while its file is read: what there is, by name, and who is inside which zone.

mod finish;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use stratasim_core::{Bandwidth, ComputeRate, Duration, LinkId, NodeId, Precision};

use super::routes::{Bypass, Place, Point};
use super::zone::star::Star;
use super::zone::table::Table;
use super::zone::{Gateways, LocalRoutes};
use crate::Sharing;
use crate::graph::{ComputeType, KernelCosts, LinkType, NodeKind, TopologyBuilder};

/// A file that asks for more hosts and links than this is refused before any is made.
const MOST_ITEMS: u64 = 1 << 24;

/// How a zone that the file writes out routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Full,
    Floyd,
    Dijkstra,
    Star,
    Vivaldi,
    Nothing,
    /// Made by a `<cluster>`; its rule is in [`Draft::made`].
    Made,
}

/// A zone while it is read.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) place: Place,
    depth: u32,
    members: u32,
    pub(super) has_zones: bool,
    pub(super) table: Table,
    pub(super) star: Star,
    pub(super) bypasses: FxHashMap<(Point, Point), Bypass>,
    pub(super) made: Option<Box<dyn LocalRoutes>>,
}

/// Which single pair of nodes a link joins, as far as the routes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Never,
    /// One way, or both.
    Joins([NodeId; 2], bool),
    Otherwise,
}

/// Everything read so far.
#[derive(Debug)]
pub(super) struct World {
    pub(super) builder: TopologyBuilder,
    pub(super) zones: Vec<Draft>,
    pub(super) places: Vec<Place>,
    points: FxHashMap<String, Point>,
    links: FxHashMap<String, LinkId>,
    /// Split-duplex links by name: up and down.
    split: FxHashMap<String, [LinkId; 2]>,
    compute_types: FxHashMap<(u64, u32), u32>,
    uses: Vec<Use>,
    coordinates: FxHashMap<NodeId, [f64; 3]>,
    items: u64,
    /// Process-wide counters of SimGrid that its cluster links and routes show.
    pub(super) fat_tree_hosts: u64,
    pub(super) fat_tree_cables: u64,
    pub(super) dragonfly_cables: u64,
}

impl World {
    /// Nothing but the zone around everything.
    pub(super) fn new() -> Self {
        let mut world = Self {
            builder: TopologyBuilder::new(),
            zones: Vec::new(),
            places: Vec::new(),
            points: FxHashMap::default(),
            links: FxHashMap::default(),
            split: FxHashMap::default(),
            compute_types: FxHashMap::default(),
            uses: Vec::new(),
            coordinates: FxHashMap::default(),
            items: 0,
            fat_tree_hosts: 0,
            fat_tree_cables: 0,
            dragonfly_cables: 0,
        };
        world.draft("_world_", Kind::Full, Place { zone: 0, local: 0 }, 0);
        world
    }

    /// Refuses `more` hosts and links when that makes too many; `None` stands for an overflow.
    pub(super) fn claim(&mut self, more: Option<u64>) -> Result<(), String> {
        let wanted = more.and_then(|more| more.checked_add(self.items));
        let shown = || more.map_or_else(|| "more than 2^64".to_owned(), |more| more.to_string());
        self.items = wanted.filter(|&wanted| wanted <= MOST_ITEMS).ok_or_else(|| {
            format!("this asks for {} hosts and links; at most {MOST_ITEMS} are read from one file", shown())
        })?;
        Ok(())
    }

    fn draft(&mut self, name: &str, kind: Kind, place: Place, depth: u32) -> u32 {
        self.zones.push(Draft {
            name: name.to_owned(),
            kind,
            place,
            depth,
            members: 0,
            has_zones: false,
            table: Table::default(),
            star: Star::default(),
            bypasses: FxHashMap::default(),
            made: None,
        });
        self.zones.len() as u32 - 1
    }

    /// Takes `name` for a host, router or zone.
    fn take_name(&mut self, name: &str, point: Point) -> Result<(), String> {
        if name.is_empty() {
            return Err("an empty name".to_owned());
        }
        if self.points.contains_key(name) {
            return Err(format!(
                "the name `{name}` is taken already; hosts, routers and zones need different names"
            ));
        }
        self.points.insert(name.to_owned(), point);
        Ok(())
    }

    fn member(&mut self, zone: u32) -> Place {
        let draft = &mut self.zones[zone as usize];
        draft.members += 1;
        Place { zone, local: draft.members - 1 }
    }

    /// Adds a zone inside `parent`.
    pub(super) fn zone(&mut self, parent: u32, name: &str, kind: Kind) -> Result<u32, String> {
        self.claim(Some(1))?;
        self.take_name(name, Point::Zone(self.zones.len() as u32))?;
        let place = self.member(parent);
        self.zones[parent as usize].has_zones = true;
        let depth = self.zones[parent as usize].depth + 1;
        Ok(self.draft(name, kind, place, depth))
    }

    fn node(&mut self, zone: u32, kind: NodeKind, name: &str) -> Result<NodeId, String> {
        let node = NodeId::from_index(self.places.len());
        self.take_name(name, Point::Node(node))?;
        let place = self.member(zone);
        self.places.push(place);
        Ok(self.builder.node(kind, format_args!("{name}")))
    }

    /// Adds a host. The caller has claimed it.
    pub(super) fn host(&mut self, zone: u32, name: &str, speed: f64, cores: u32) -> Result<NodeId, String> {
        let compute = match self.compute_types.get(&(speed.to_bits(), cores)) {
            Some(&known) => known,
            None => {
                let new = self.builder.compute_type(compute_type(speed, cores));
                self.compute_types.insert((speed.to_bits(), cores), new);
                new
            }
        };
        self.node(zone, NodeKind::Compute(compute), name)
    }

    /// Adds a router. The caller has claimed it.
    pub(super) fn router(&mut self, zone: u32, name: &str) -> Result<NodeId, String> {
        self.node(zone, NodeKind::Switch, name)
    }

    /// Adds a link. The caller has claimed it.
    pub(super) fn link(&mut self, name: &str, link: LinkType) -> Result<LinkId, String> {
        if name.is_empty() {
            return Err("an empty name".to_owned());
        }
        if link.bandwidth.bytes_per_s() <= 0.0 {
            return Err(format!("the link `{name}` has no bandwidth; a link needs more than zero"));
        }
        if self.links.contains_key(name) || self.split.contains_key(name) {
            return Err(format!("a link called `{name}` is there already; links need different names"));
        }
        let id = self.builder.detached(name, link);
        self.links.insert(name.to_owned(), id);
        self.uses.push(Use::Never);
        Ok(id)
    }

    /// Adds the two links of a split-duplex one: `name_UP` and `name_DOWN`. The caller has claimed both.
    pub(super) fn pair(&mut self, name: &str, link: LinkType) -> Result<[LinkId; 2], String> {
        let up = self.link(&format!("{name}_UP"), link)?;
        let down = self.link(&format!("{name}_DOWN"), link)?;
        self.builder.links_mut()[up.index()].reverse = Some(down);
        self.builder.links_mut()[down.index()].reverse = Some(up);
        Ok([up, down])
    }

    /// Adds a split-duplex link that routes name with a direction. The caller has claimed both.
    pub(super) fn split_duplex(&mut self, name: &str, link: LinkType) -> Result<[LinkId; 2], String> {
        if self.links.contains_key(name) {
            return Err(format!("a link called `{name}` is there already; links need different names"));
        }
        let pair = self.pair(name, link)?;
        self.split.insert(name.to_owned(), pair);
        Ok(pair)
    }

    /// The link called `name`.
    pub(super) fn find_link(&self, name: &str) -> Option<LinkId> {
        self.links.get(name).copied()
    }

    /// Both directions of the split-duplex link called `name`.
    pub(super) fn find_split(&self, name: &str) -> Option<[LinkId; 2]> {
        self.split.get(name).copied()
    }

    /// The host, router or zone called `name`.
    pub(super) fn find(&self, name: &str) -> Option<Point> {
        self.points.get(name).copied()
    }

    /// Names of hosts, routers and zones in alphabetical order, for suggestions.
    pub(super) fn point_names(&self) -> Vec<&str> {
        sorted(&self.points)
    }

    /// Names of links in alphabetical order, for suggestions.
    pub(super) fn link_names(&self) -> Vec<&str> {
        let mut names = sorted(&self.links);
        names.extend(sorted(&self.split));
        names
    }

    /// Name of `zone`.
    pub(super) fn zone_name(&self, zone: u32) -> &str {
        &self.zones[zone as usize].name
    }

    /// Where `point` is.
    pub(super) fn place(&self, point: Point) -> Place {
        match point {
            Point::Node(node) => self.places[node.index()],
            Point::Zone(zone) => self.zones[zone as usize].place,
        }
    }

    /// Whether `node` is in `zone` or in a zone inside it.
    pub(super) fn holds(&self, zone: u32, node: NodeId) -> bool {
        let mut at = self.places[node.index()].zone;
        while at != zone && at != 0 {
            at = self.zones[at as usize].place.zone;
        }
        at == zone
    }

    /// Says where `node` is on the plane of Vivaldi zones.
    pub(super) fn locate(&mut self, node: NodeId, at: [f64; 3]) {
        self.coordinates.insert(node, at);
    }

    /// Notes that `links` lead from `from` to `to`.
    pub(super) fn note_use(&mut self, from: NodeId, to: NodeId, links: &[LinkId]) {
        for &link in links {
            let known = &mut self.uses[link.index()];
            *known = match *known {
                Use::Never if links.len() == 1 => Use::Joins([from, to], false),
                Use::Joins(ends, both) if links.len() == 1 && ends == [from, to] => Use::Joins(ends, both),
                Use::Joins(ends, _) if links.len() == 1 && ends == [to, from] => Use::Joins(ends, true),
                _ => Use::Otherwise,
            };
        }
    }

    /// Declares a route of `zone`, and the way back when `back` says its links.
    pub(super) fn declare(
        &mut self,
        zone: u32,
        ends: [Point; 2],
        gateways: Option<Gateways>,
        there: &[LinkId],
        back: Option<&[LinkId]>,
    ) -> Result<(), String> {
        let [from, to] = ends.map(|point| self.place(point).local);
        // links join the gateways of a route between zones
        let nodes = match (gateways, ends) {
            (Some(gateways), _) => gateways,
            (None, [Point::Node(from), Point::Node(to)]) => [from, to],
            _ => unreachable!("zones have gateways"),
        };
        let table = &mut self.zones[zone as usize].table;
        let twice = || {
            "a route for this pair is declared already (routes are symmetrical unless symmetrical=\"NO\")"
                .to_owned()
        };
        if !table.add([from, to], gateways, there.iter().copied()) {
            return Err(twice());
        }
        if let Some(back) = back {
            let swapped = gateways.map(|[src, dst]| [dst, src]);
            if from != to && !table.add([to, from], swapped, back.iter().copied()) {
                return Err(twice());
            }
        }
        self.note_use(nodes[0], nodes[1], there);
        if let Some(back) = back {
            self.note_use(nodes[1], nodes[0], back);
        }
        Ok(())
    }
}

/// At most this many names are searched for a suggestion.
const MOST_SUGGESTED: usize = 10_000;

fn sorted<T>(names: &FxHashMap<String, T>) -> Vec<&str> {
    if names.len() > MOST_SUGGESTED {
        return Vec::new();
    }
    let mut names: Vec<&str> = names.keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// A host computes at one speed in every floating-point precision.
fn compute_type(speed: f64, cores: u32) -> ComputeType {
    let rate = |precision: Precision| if precision == Precision::Int8 { 0.0 } else { speed };
    let times = if cores == 1 { String::new() } else { format!("{cores} x ") };
    ComputeType {
        name: format!("{times}{}", ComputeRate(speed)),
        rate_flop_per_s: Precision::ALL.map(rate),
        cores,
        memory_bytes: None,
        memory_bandwidth: None,
        kernels: KernelCosts::default(),
        forwards: true,
    }
}

/// A shared link, as clusters have them.
pub(super) fn shared(bandwidth: Bandwidth, latency: Duration) -> LinkType {
    LinkType { bandwidth, latency, sharing: Sharing::Shared }
}

/// Properties by name.
pub(super) type Properties = BTreeMap<String, String>;
