//! From a graph as written to a program.

use std::collections::BTreeMap;

use stratasim_core::error::nearest;
use stratasim_core::{BuildError, Bytes, Precision};

use super::GraphWorkload;
use super::place::Places;
use super::read::{List, Origin};
use super::spec::{EdgeSpec, LinkChoice, VertexKind, VertexSpec};
use super::values::{ByteCount, PlaceRef, Ranks};
use crate::builders::WorkloadContext;
use crate::collective::CollectiveKind;
use crate::program::{
    Collective, Compute, Link, MemoryPlace, Op, Peer, Program, ProgramBuilder, Scope, Stream, VertexId,
};

/// A key and what is wrong with it.
type Wrong = (&'static str, String);

/// Writes the program.
pub(super) fn program(
    graph: &GraphWorkload,
    vertices: &[VertexSpec],
    edges: &[EdgeSpec],
    origin: &Origin,
    context: &WorkloadContext<'_>,
) -> Result<Program, BuildError> {
    if vertices.is_empty() {
        return Err(BuildError::new("", "the graph has no vertices"));
    }
    let builder = ProgramBuilder::new(context.ranks).dimensions(&context.dimensions);
    let mut writer =
        Writer { builder, places: Places { context }, precision: graph.precision, unit: graph.unit };
    let mut known: BTreeMap<&str, VertexId> = BTreeMap::new();
    for (index, vertex) in vertices.iter().enumerate() {
        let name = vertex.name.0.as_str();
        let wrong = |(key, reason): Wrong| {
            origin.error(List::Vertices, index, key, &format!("vertex `{name}`: {reason}"))
        };
        let id = writer.vertex(vertex).map_err(wrong)?;
        if known.insert(name, id).is_some() {
            return Err(origin.error(
                List::Vertices,
                index,
                "name",
                &format!("two vertices are called `{name}`; names must differ"),
            ));
        }
    }
    for (index, edge) in edges.iter().enumerate() {
        let wrong = |(key, reason): Wrong| {
            let edge = format!("edge `{}` -> `{}`", edge.from.0, edge.to.0);
            origin.error(List::Edges, index, key, &format!("{edge}: {reason}"))
        };
        writer.edge(edge, vertices, &known).map_err(wrong)?;
    }
    writer.builder.iterations(graph.iterations).build()
}

struct Writer<'a, 'c> {
    builder: ProgramBuilder,
    places: Places<'a, 'c>,
    precision: Precision,
    unit: Option<Bytes>,
}

impl Writer<'_, '_> {
    fn vertex(&mut self, vertex: &VertexSpec) -> Result<VertexId, Wrong> {
        check_keys(vertex)?;
        let (scope, op, stream) = match vertex.kind {
            VertexKind::Compute => {
                let scope = self.scope(vertex)?;
                (scope, self.compute(vertex, scope)?, Stream::COMPUTE)
            }
            VertexKind::Communication if vertex.collective.is_some() => self.collective(vertex)?,
            VertexKind::Communication => self.transfer(vertex)?,
            VertexKind::Send => {
                let scope = self.scope(vertex)?;
                let (to, bytes) = (self.receiver(vertex, scope)?, self.bytes(vertex)?);
                (scope, Op::Send { to, tag: vertex.tag.unwrap_or(0), bytes }, Stream::NONE)
            }
            VertexKind::Receive => {
                let scope = self.scope(vertex)?;
                let (from, tag) = (self.sender(vertex, scope)?, vertex.tag);
                (scope, Op::Receive { from, tag }, Stream::NONE)
            }
            VertexKind::Delay => {
                let length = vertex.duration.ok_or(("duration", missing("duration", "\"5 us\"")))?;
                (self.scope(vertex)?, Op::Delay(length), Stream::NONE)
            }
            VertexKind::Join => (self.scope(vertex)?, Op::Join, Stream::NONE),
        };
        let stream = vertex.stream.map_or(stream, |stream| stream.0);
        let id = self.builder.vertex(format_args!("{}", vertex.name.0), scope, stream, op);
        if vertex.start == Some(true) {
            self.builder.start(id);
        }
        Ok(id)
    }

    /// The ranks on which the vertex runs.
    fn scope(&mut self, vertex: &VertexSpec) -> Result<Scope, Wrong> {
        match (vertex.rank, &vertex.node, &vertex.ranks) {
            (Some(rank), None, None) => {
                self.places.number(rank).map(Scope::One).map_err(|reason| ("rank", reason))
            }
            (None, Some(name), None) => {
                self.places.node(name).map(Scope::One).map_err(|reason| ("node", reason))
            }
            (None, None, Some(ranks)) => {
                self.places.scope(ranks, &mut self.builder).map_err(|reason| ("ranks", reason))
            }
            (None, None, None) => Err((
                "",
                "it runs nowhere; give `rank`, `node` (the name of a compute node) or `ranks`".to_owned(),
            )),
            _ => Err(("", "it has more than one of `rank`, `node` and `ranks`; give one".to_owned())),
        }
    }

    fn compute(&self, vertex: &VertexSpec, scope: Scope) -> Result<Op, Wrong> {
        if vertex.flops.is_none() && vertex.memory_bytes.is_none() {
            return Err(("flops", missing("flops` or `memory-bytes", "\"195 GFLOP\" or \"1 GiB\"")));
        }
        if vertex.threads == Some(0) {
            return Err(("threads", "0 threads compute nothing; give at least 1".to_owned()));
        }
        let accessed = match (vertex.memory_bytes, &vertex.memory) {
            (None, Some(_)) => return Err(("memory-bytes", missing("memory-bytes", "\"1 GiB\""))),
            (bytes, _) => bytes.map_or(Ok(0), |bytes| self.count("memory-bytes", bytes))?,
        };
        let place = vertex.memory.as_ref().unwrap_or(&PlaceRef::Local);
        let place = self.places.memory(place, scope).map_err(|reason| ("memory", reason))?;
        let local = place == MemoryPlace::Local;
        check_cap(vertex)?;
        if local && vertex.rate_cap.is_some() {
            let reason = "it limits accesses to memory elsewhere; name one with `memory`, such as \"home\"";
            return Err(("rate-cap", reason.to_owned()));
        }
        Ok(Op::Compute(Compute {
            local_bytes: if local { accessed } else { 0 },
            remote_bytes: if local { 0 } else { accessed },
            place,
            access_cap: vertex.rate_cap,
            threads: vertex.threads.unwrap_or(1),
            ..Compute::of(
                vertex.flops.map_or(0.0, |flops| flops.0),
                vertex.precision.unwrap_or(self.precision),
            )
        }))
    }

    /// Bytes of a message or collective.
    fn bytes(&self, vertex: &VertexSpec) -> Result<u64, Wrong> {
        let bytes = vertex.bytes.ok_or_else(|| ("bytes", missing("bytes", "\"64 MiB\"")))?;
        self.count("bytes", bytes)
    }

    fn count(&self, key: &'static str, bytes: ByteCount) -> Result<u64, Wrong> {
        bytes.count(self.unit).map_err(|reason| (key, reason))
    }

    /// A message between two ranks, both sides in one vertex.
    fn transfer(&mut self, vertex: &VertexSpec) -> Result<(Scope, Op, Stream), Wrong> {
        let scope = match &vertex.source {
            Some(source) if source.is_any() => {
                return Err((
                    "source",
                    "\"any\" is for `receive` vertices; name the sending rank".to_owned(),
                ));
            }
            Some(source) if vertex.rank.is_none() && vertex.node.is_none() && vertex.ranks.is_none() => {
                self.places.rank(&source.0).map(Scope::One).map_err(|reason| ("source", reason))?
            }
            Some(_) => {
                return Err((
                    "source",
                    "`source` already says where it runs; drop `rank`, `node` or `ranks`".to_owned(),
                ));
            }
            None if vertex.ranks.is_some() || vertex.rank.is_some() || vertex.node.is_some() => {
                self.scope(vertex)?
            }
            None => {
                let reason =
                    "neither a message nor a collective; give `source` and `destination`, or `collective`";
                return Err(("", reason.to_owned()));
            }
        };
        let (to, bytes) = (self.receiver(vertex, scope)?, self.bytes(vertex)?);
        check_cap(vertex)?;
        Ok((scope, Op::Transfer { to, bytes, rate_cap: vertex.rate_cap }, Stream::NONE))
    }

    fn receiver(&self, vertex: &VertexSpec, scope: Scope) -> Result<Peer, Wrong> {
        match (&vertex.destination, vertex.offset) {
            (Some(rank), None) => {
                let rank = self.places.rank(rank).map_err(|reason| ("destination", reason))?;
                if scope == Scope::One(rank) {
                    return Err((
                        "destination",
                        format!("rank {rank} would send to itself; name another rank"),
                    ));
                }
                Ok(Peer::Rank(rank))
            }
            (None, Some(offset)) => self.offset(offset),
            (None, None) => Err(("destination", missing("destination", "1, or `offset = 1`"))),
            (Some(_), Some(_)) => {
                Err(("offset", "it has both `destination` and `offset`; give one".to_owned()))
            }
        }
    }

    fn sender(&self, vertex: &VertexSpec, scope: Scope) -> Result<Peer, Wrong> {
        match (&vertex.source, vertex.offset) {
            (Some(source), None) if source.is_any() => Ok(Peer::Any),
            (Some(source), None) => {
                let rank = self.places.rank(&source.0).map_err(|reason| ("source", reason))?;
                if scope == Scope::One(rank) {
                    return Err((
                        "source",
                        format!("rank {rank} would receive from itself; name another rank"),
                    ));
                }
                Ok(Peer::Rank(rank))
            }
            (None, Some(offset)) => self.offset(offset),
            (None, None) => Err(("source", missing("source", "0, \"any\", or `offset = -1`"))),
            (Some(_), Some(_)) => Err(("offset", "it has both `source` and `offset`; give one".to_owned())),
        }
    }

    fn offset(&self, offset: i32) -> Result<Peer, Wrong> {
        if i64::from(offset) % i64::from(self.builder.ranks().max(1)) == 0 {
            let reason =
                format!("an offset of {offset} among {} ranks is the rank itself", self.builder.ranks());
            return Err(("offset", reason));
        }
        Ok(Peer::Offset(offset))
    }

    fn collective(&mut self, vertex: &VertexSpec) -> Result<(Scope, Op, Stream), Wrong> {
        let kind = vertex.collective.expect("asked before");
        if let Some(key) = ["rank", "node", "ranks", "source", "destination", "offset"]
            .into_iter()
            .find(|key| vertex.keys().contains(key))
        {
            return Err((key, format!("a collective runs on its `members`; write those instead of `{key}`")));
        }
        let members = vertex.members.as_ref().unwrap_or(&Ranks::All);
        let group = self.places.group(members, &mut self.builder).map_err(|reason| ("members", reason))?;
        let bytes = if kind == CollectiveKind::Barrier { 0 } else { self.bytes(vertex)? };
        let algorithm = vertex.algorithm.as_ref().map_or_else(|| kind.usual_algorithm(), Clone::clone);
        let subgroups = vertex.groups.map(|division| self.builder.subgroups(group, division)).transpose();
        let subgroups = subgroups.map_err(|(key, reason)| ("groups", format!("{key}: {reason}")))?;
        let of_one = subgroups.map_or(group, |all| all.first);
        let plan = self.builder.plan(kind, algorithm.plugin(), of_one, bytes).map_err(|error| {
            let field = if error.field.is_empty() { String::new() } else { format!("{}: ", error.field) };
            ("algorithm", format!("{field}{}", error.reason))
        })?;
        let gate = vertex.gate.map(Into::into).unwrap_or_default();
        let op = Op::Collective(Collective { kind, plan, group, subgroups, bytes, gate });
        Ok((Scope::Group(group), op, Stream::NONE))
    }

    fn edge(
        &mut self,
        edge: &EdgeSpec,
        vertices: &[VertexSpec],
        known: &BTreeMap<&str, VertexId>,
    ) -> Result<(), Wrong> {
        let find = |key, name: &str| {
            known.get(name).copied().ok_or_else(|| {
                let near = nearest(name, known.keys().copied());
                let hint = near.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
                (key, format!("no vertex is called `{name}`{hint}"))
            })
        };
        let (from, to) = (find("from", &edge.from.0)?, find("to", &edge.to.0)?);
        let said = [
            edge.distance,
            edge.first.map(|first| u32::from(!first)),
            edge.not_considered_first.map(u32::from),
        ];
        let distance = match said.iter().flatten().collect::<Vec<_>>()[..] {
            [] => 0,
            [&distance] => distance,
            _ => {
                let reason = "`distance`, `first` and `not-considered-first` say the same; give one";
                return Err(("distance", reason.to_owned()));
            }
        };
        let collective = [from, to].iter().any(|&id| vertices[id as usize].collective.is_some());
        let single = |id| matches!(self.builder.vertex_ref(id).scope, Scope::One(_));
        let link = match edge.link {
            Some(LinkChoice::SameRank) => Link::SameRank,
            Some(LinkChoice::AllToAll) => Link::AllToAll,
            None if !collective && single(from) != single(to) => Link::AllToAll,
            // who gets something waits until it is there
            None if matches!(self.builder.vertex_ref(from).op, Op::Transfer { .. }) => Link::BothEnds,
            None => Link::SameRank,
        };
        self.builder.edge_linked(from, to, distance, link);
        Ok(())
    }
}

fn missing(key: &str, example: &str) -> String {
    format!("`{key}` is missing; write one such as {example}")
}

fn check_cap(vertex: &VertexSpec) -> Result<(), Wrong> {
    match vertex.rate_cap {
        Some(cap) if cap.bytes_per_s() <= 0.0 => {
            Err(("rate-cap", "a limit of 0 never sends anything; leave it out".to_owned()))
        }
        _ => Ok(()),
    }
}

/// Refuses keys that say nothing for the kind of the vertex.
fn check_keys(vertex: &VertexSpec) -> Result<(), Wrong> {
    let place = ["rank", "node", "ranks"];
    let own: &[&str] = match vertex.kind {
        VertexKind::Compute => &["flops", "precision", "memory-bytes", "memory", "threads", "rate-cap"],
        VertexKind::Communication if vertex.collective.is_some() => &[
            "bytes",
            "collective",
            "algorithm",
            "members",
            "groups",
            "gate",
            "source",
            "destination",
            "offset",
        ],
        VertexKind::Communication => &["bytes", "source", "destination", "offset", "rate-cap"],
        VertexKind::Send => &["bytes", "destination", "offset", "tag"],
        VertexKind::Receive => &["source", "offset", "tag"],
        VertexKind::Delay => &["duration"],
        VertexKind::Join => &[],
    };
    let stranger = vertex.keys().into_iter().find(|key| !own.contains(key) && !place.contains(key));
    stranger.map_or(Ok(()), |key| {
        let hint = match (vertex.kind, key) {
            (VertexKind::Compute, "bytes") => "; did you mean `memory-bytes`?",
            (VertexKind::Communication, "algorithm" | "members" | "groups" | "gate") => {
                "; it needs `collective`, too"
            }
            _ => "",
        };
        let kind = vertex.kind.name();
        let keys = if own.is_empty() { "none of its own".to_owned() } else { own.join(", ") };
        Err((key, format!("`{key}` says nothing for a {kind} vertex{hint} (its keys: {keys})")))
    })
}
