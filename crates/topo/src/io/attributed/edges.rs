//! Edges with attributes become links.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde_json::Value;
use stratasim_core::{Bandwidth, BuildError, Duration, LinkId, NodeId};

use super::read::typo;
use super::{Attributed, Attributes, EDGE_KEYS, Edge, LATER, get, quantity, shown, text, wrong};
use crate::Sharing;
use crate::graph::{LinkType, TopologyBuilder};

impl Attributed {
    /// Adds the links of all edges to the nodes in `ids`.
    pub(super) fn links(
        &self,
        builder: &mut TopologyBuilder,
        ids: &FxHashMap<&str, NodeId>,
    ) -> Result<(), BuildError> {
        // cables of which one direction has come, by their name
        let mut cables: BTreeMap<String, Cable> = BTreeMap::new();
        // edges that gave links their names
        let mut named: FxHashMap<String, usize> = FxHashMap::default();
        for (index, edge) in self.edges.iter().enumerate() {
            let within = |error: BuildError| error.within(&index.to_string()).within("edges");
            let whose = format!("edge from `{}` to `{}`", edge.source, edge.target);
            let end = |key: &str, name: &str| {
                ids.get(name).copied().ok_or_else(|| {
                    let reason =
                        format!("there is no node called `{name}`{}; add it to the nodes", self.near(name));
                    within(wrong(&whose, key, reason))
                })
            };
            let ends = [end("source", &edge.source)?, end("target", &edge.target)?];
            let link = link_type(&whose, &edge.attributes).map_err(within)?;
            self.add(builder, (&mut cables, &mut named), index, ends, link).map_err(within)?;
        }
        let lonely = cables.iter().filter(|(_, cable)| !cable.complete).min_by_key(|(_, cable)| cable.edge);
        if let Some((cable, &Cable { edge: index, .. })) = lonely {
            let Edge { source, target, .. } = &self.edges[index];
            return Err(BuildError::new(
                format!("edges.{index}.cable"),
                format!(
                    "edge from `{source}` to `{target}`: the other direction of cable {cable} is missing; add the edge from `{target}` to `{source}`"
                ),
            ));
        }
        Ok(())
    }

    /// Adds the link or links of edge `index`.
    fn add(
        &self,
        builder: &mut TopologyBuilder,
        (cables, named): (&mut BTreeMap<String, Cable>, &mut FxHashMap<String, usize>),
        index: usize,
        [from, to]: [NodeId; 2],
        link: LinkType,
    ) -> Result<(), BuildError> {
        let edge = &self.edges[index];
        let attributes = &edge.attributes;
        let whose = format!("edge from `{}` to `{}`", edge.source, edge.target);
        let duplex = text(&whose, attributes, "duplex", "half")?;
        let name = text(&whose, attributes, "name", "uplink-3")?;
        let cable = match get(attributes, "cable") {
            None => None,
            Some(Value::String(cable)) => Some(cable.clone()),
            Some(Value::Number(cable)) => Some(cable.to_string()),
            Some(other) => {
                return Err(wrong(
                    &whose,
                    "cable",
                    format!("found {}, write a number or a text", shown(other)),
                ));
            }
        };
        let mut give = |builder: &mut TopologyBuilder, link: LinkId, name: Option<&str>| {
            let Some(name) = name else { return Ok(()) };
            if let Some(first) = named.insert(name.to_owned(), index) {
                let Edge { source, target, .. } = &self.edges[first];
                let other = if first == index {
                    "its other direction".to_owned()
                } else {
                    format!("the edge from `{source}` to `{target}`, number {first}")
                };
                return Err(wrong(&whose, "name", format!("`{name}` is the name of {other}, too")));
            }
            builder.name_link(link, name.to_owned());
            Ok(())
        };
        if !edge.directed {
            let [from, to] = match text(&whose, attributes, "from", LATER)? {
                None => [from, to],
                Some(LATER) => [from.max(to), from.min(to)],
                Some(other) => {
                    let reason = format!("found \"{other}\", write \"{LATER}\" or leave it away");
                    return Err(wrong(&whose, "from", reason));
                }
            };
            match duplex.unwrap_or("full") {
                "full" => {
                    let (there, back) = builder.duplex(from, to, link);
                    match (name, text(&whose, attributes, "reverse_name", "downlink-3")?) {
                        (Some(name), None) => {
                            give(builder, there, Some(&format!("{name}-up")))?;
                            give(builder, back, Some(&format!("{name}-down")))?;
                        }
                        (name, reverse) => {
                            give(builder, there, name)?;
                            give(builder, back, reverse)?;
                        }
                    }
                }
                "half" => {
                    let half = builder.half_duplex(from, to, link);
                    give(builder, half, name)?;
                }
                "simplex" => {
                    let one_way = builder.simplex(from, to, link);
                    give(builder, one_way, name)?;
                }
                other => {
                    return Err(wrong(
                        &whose,
                        "duplex",
                        format!("found \"{other}\", write \"full\", \"half\" or \"simplex\""),
                    ));
                }
            }
            return Ok(());
        }
        if get(attributes, "from").is_some() {
            return Err(wrong(&whose, "from", "an edge of a directed graph has a direction; leave it away"));
        }
        let half = match duplex {
            None | Some("simplex") => false,
            Some("half") if cable.is_some() => true,
            Some(other @ ("half" | "full")) => {
                return Err(wrong(
                    &whose,
                    "duplex",
                    format!(
                        "found \"{other}\", but an edge of a directed graph has one direction; give both directions the same `cable`, or write an undirected graph"
                    ),
                ));
            }
            Some(other) => {
                return Err(wrong(
                    &whose,
                    "duplex",
                    format!("found \"{other}\", write \"half\" (with `cable`) or leave it away"),
                ));
            }
        };
        let known = cable.as_ref().and_then(|cable| cables.get(cable).copied());
        if let Some(Cable { edge: first, link: there, complete }) = known {
            let before = builder.links()[there.index()];
            let alike = (before.bandwidth, before.latency, before.sharing)
                == (link.bandwidth, link.latency, link.sharing);
            let other_way = before.ends == Some([to, from]) && before.half_duplex == half;
            if complete || !other_way || (half && !alike) {
                return Err(wrong(
                    &whose,
                    "cable",
                    format!(
                        "this is not the other direction of edge {first}, which has the same cable; a cable has one edge each way, of the same duplex"
                    ),
                ));
            }
            if let Some(known) = cable.and_then(|cable| cables.get_mut(&cable)) {
                known.complete = true;
            }
            if !half {
                let back = builder.simplex(from, to, link);
                builder.links_mut()[there.index()].reverse = Some(back);
                builder.links_mut()[back.index()].reverse = Some(there);
                give(builder, back, name)?;
            }
            return Ok(());
        }
        let there = if half { builder.half_duplex(from, to, link) } else { builder.simplex(from, to, link) };
        give(builder, there, name)?;
        if let Some(cable) = cable {
            cables.insert(cable, Cable { edge: index, link: there, complete: false });
        }
        Ok(())
    }
}

/// A cable of a directed graph, of which at least one direction has come.
#[derive(Debug, Clone, Copy)]
struct Cable {
    edge: usize,
    link: LinkId,
    complete: bool,
}

fn link_type(whose: &str, attributes: &Attributes) -> Result<LinkType, BuildError> {
    for key in attributes.keys() {
        typo(whose, key, &EDGE_KEYS)?;
    }
    let missing = |key: &str, example: &str| {
        wrong(whose, key, format!("the attribute is missing; write {key} = \"{example}\""))
    };
    let bandwidth = quantity::<Bandwidth>(whose, attributes, "bandwidth", "400 Gbps")?;
    let bandwidth = bandwidth.ok_or_else(|| missing("bandwidth", "400 Gbps"))?;
    if bandwidth.bytes_per_s() <= 0.0 {
        return Err(wrong(whose, "bandwidth", "a link needs more than zero"));
    }
    let latency = quantity::<Duration>(whose, attributes, "latency", "500 ns")?;
    let latency = latency.ok_or_else(|| missing("latency", "500 ns"))?;
    let sharing = match text(whose, attributes, "sharing", "shared")? {
        None => Sharing::Shared,
        Some(word) => match word.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
            "shared" => Sharing::Shared,
            "fatpipe" => Sharing::FatPipe,
            _ => {
                return Err(wrong(
                    whose,
                    "sharing",
                    format!("found \"{word}\", write \"shared\" or \"fat-pipe\""),
                ));
            }
        },
    };
    Ok(LinkType { bandwidth, latency, sharing })
}
