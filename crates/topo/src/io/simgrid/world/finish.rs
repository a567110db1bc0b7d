//! From what was read to what is asked: every zone gets the rule that routes it.

use rustc_hash::FxHashMap;
use stratasim_core::{LinkId, NodeId};

use super::{Draft, Kind, Use, World};
use crate::graph::TopologyBuilder;
use crate::io::simgrid::routes::{Place, Point, Routes, Zone};
use crate::io::simgrid::zone::dijkstra::Dijkstra;
use crate::io::simgrid::zone::floyd::{self, Floyd};
use crate::io::simgrid::zone::full::Full;
use crate::io::simgrid::zone::star::{Position, Vivaldi};
use crate::io::simgrid::zone::{LocalRoutes, Nothing};

impl World {
    /// The routes and the builder, with `loopback` as the way of hosts to themselves where a zone
    /// has that.
    pub(in crate::io::simgrid) fn finish(
        mut self,
        loopback: LinkId,
    ) -> Result<(TopologyBuilder, Routes), (u32, String)> {
        for (index, known) in self.uses.iter().enumerate() {
            if let Use::Joins(ends, both) = *known {
                let link = &mut self.builder.links_mut()[index];
                link.ends = Some(ends);
                link.half_duplex = both;
            }
        }
        let zones = self.places.iter().map(|place| place.zone).collect();
        self.builder.set_grouping("zone", zones);
        let mut positions = self.positions();
        let mut finished = Vec::new();
        for (id, draft) in self.zones.into_iter().enumerate() {
            let own = (!draft.has_zones).then_some(loopback);
            let local: Box<dyn LocalRoutes> = match draft.kind {
                Kind::Full => Box::new(Full { table: draft.table, loopback: own }),
                Kind::Floyd if draft.members > floyd::MOST_MEMBERS => {
                    let most = floyd::MOST_MEMBERS;
                    let members = draft.members;
                    return Err((
                        id as u32,
                        format!(
                            "{members} members in a Floyd zone, whose tables grow with their square; at most {most} are read, use routing=\"Dijkstra\""
                        ),
                    ));
                }
                Kind::Floyd => Box::new(Floyd::new(draft.table, draft.members, own)),
                Kind::Dijkstra => Box::new(Dijkstra::new(draft.table, own)),
                Kind::Star => Box::new(draft.star),
                Kind::Vivaldi => {
                    let positions = positions.remove(&(id as u32)).unwrap_or_default();
                    Box::new(Vivaldi { star: draft.star, positions })
                }
                Kind::Nothing => Box::new(Nothing),
                Kind::Made => draft.made.expect("a cluster sets its rule"),
            };
            let Draft { name, place, depth, bypasses, .. } = draft;
            finished.push(Zone { name, place, depth, local, bypasses });
        }
        Ok((self.builder, Routes { zones: finished, places: self.places }))
    }

    /// By Vivaldi zone: where its members are.
    fn positions(&self) -> FxHashMap<u32, Vec<Option<Position>>> {
        let mut positions: FxHashMap<u32, Vec<Option<Position>>> = FxHashMap::default();
        let mut add = |place: Place, node: NodeId, gateway| {
            let draft = &self.zones[place.zone as usize];
            if draft.kind == Kind::Vivaldi
                && let Some(&coordinates) = self.coordinates.get(&node)
            {
                let members = positions.entry(place.zone).or_default();
                members.resize(draft.members as usize, None);
                members[place.local as usize] = Some(Position { coordinates, gateway });
            }
        };
        for (index, &place) in self.places.iter().enumerate() {
            add(place, NodeId::from_index(index), None);
        }
        for (zone, draft) in self.zones.iter().enumerate().skip(1) {
            match self.find(&format!("router_{}", draft.name)) {
                Some(Point::Node(router)) if self.holds(zone as u32, router) => {
                    add(draft.place, router, Some(router));
                }
                _ => {}
            }
        }
        positions
    }
}
