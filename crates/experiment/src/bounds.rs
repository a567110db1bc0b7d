//! Lower bounds on the makespan that no schedule can beat.

use stratasim_core::LinkId;
use stratasim_core::model::{Compute as _, Execute, NetworkReport};
use stratasim_core::{NodeId, Token};
use stratasim_engine::Place;
use stratasim_report::result::{Bound, BoundKind};
use stratasim_topo::{NodeKind, Sharing};
use stratasim_workload::program::{Compute, Link, MemoryPlace, Op, Scope, Stream, VertexId};

use crate::build::Prepared;
use crate::spec::MemoryAccess;

/// The bounds of a finished run: work of a node, bytes of a link, and the longest chain of tasks.
pub(crate) fn bounds(prepared: &mut Prepared, report: &NetworkReport) -> Vec<Bound> {
    let mut bounds = Vec::new();
    bounds.extend(compute_bound(prepared));
    bounds.extend(link_bounds(prepared, report));
    bounds.extend(chain_bound(prepared));
    bounds
}

/// The operations of a node at its peak rate on all its cores.
fn compute_bound(prepared: &Prepared) -> Option<Bound> {
    let program = &prepared.program;
    let seconds_of = |place: Place, compute: &Compute| {
        let node = prepared.topology.compute_type(place.node)?;
        let rate = node.rate_flop_per_s[compute.precision.index()] * f64::from(node.cores);
        (compute.flops > 0.0).then(|| compute.flops * f64::from(compute.threads) / rate)
    };
    let mut node_seconds = vec![0.0_f64; prepared.topology.node_count()];
    for vertex in program.vertices() {
        let Op::Compute(compute) = &vertex.op else { continue };
        for index in 0..program.scope_len(vertex.scope) {
            let place = prepared.places[program.scope_rank(vertex.scope, index).index()];
            node_seconds[place.node.index()] += seconds_of(place, compute).unwrap_or(0.0);
        }
    }
    let (node, seconds) = largest(&node_seconds)?;
    Some(Bound {
        name: "operations".to_owned(),
        kind: BoundKind::Compute,
        seconds: seconds * f64::from(program.iterations()),
        place: prepared.topology.node_name(NodeId::from_index(node)).to_owned(),
    })
}

/// The bytes of the busiest link, and of the busiest link of a memory, at full rate.
fn link_bounds(prepared: &Prepared, report: &NetworkReport) -> Vec<Bound> {
    let topology = &prepared.topology;
    let is_memory = |link: LinkId| {
        let ends = topology.link(link).ends;
        ends.is_some_and(|ends| ends.iter().any(|&node| matches!(topology.kind(node), NodeKind::Memory(_))))
    };
    let mut bounds = Vec::new();
    for memory in [false, true] {
        let busy: Vec<f64> = report
            .link_busy_s
            .iter()
            .enumerate()
            .map(|(index, &busy)| {
                let id = LinkId::from_index(index);
                let counts =
                    topology.link(id).sharing == Sharing::Shared && topology.link_profiles(id).is_none();
                if counts && is_memory(id) == memory { busy } else { 0.0 }
            })
            .collect();
        let Some((index, seconds)) = largest(&busy) else { continue };
        let (name, kind) = if memory {
            ("bytes of a memory", BoundKind::Memory)
        } else {
            ("bytes of a link", BoundKind::Link)
        };
        let place = topology.link_name(LinkId::from_index(index));
        bounds.push(Bound { name: name.to_owned(), kind, seconds, place });
    }
    bounds
}

/// The longest chain of dependent tasks of one rank, each alone on an idle machine. Tasks of one
/// stream follow each other, so their sum is a chain, too. Ranks on nodes of one type share a chain.
fn chain_bound(prepared: &mut Prepared) -> Option<Bound> {
    let mut seen: Vec<u32> = Vec::new();
    let mut best: Option<(f64, usize)> = None;
    for rank in 0..prepared.places.len() {
        let NodeKind::Compute(kind) = prepared.topology.kind(prepared.places[rank].node) else { continue };
        let whole_program = prepared.program.vertices().iter().all(|vertex| vertex.scope != Scope::All);
        // in a program for all ranks, equal nodes have equal chains
        if !whole_program && seen.contains(&kind) || seen.len() > 64 {
            continue;
        }
        seen.push(kind);
        let seconds = chain_of(prepared, rank);
        if best.is_none_or(|(most, _)| seconds > most) {
            best = Some((seconds, rank));
        }
        if whole_program && rank >= 64 {
            break;
        }
    }
    let (seconds, rank) = best.filter(|(seconds, _)| *seconds > 0.0)?;
    Some(Bound {
        name: "longest chain of tasks".to_owned(),
        kind: BoundKind::CriticalPath,
        seconds,
        place: prepared.topology.node_name(prepared.places[rank].node).to_owned(),
    })
}

/// Longest chain of a rank's tasks through dependencies of one iteration, or of one stream.
fn chain_of(prepared: &mut Prepared, rank: usize) -> f64 {
    let place = prepared.places[rank];
    let count = prepared.program.vertices().len();
    let mut least = vec![0.0; count];
    for (id, least) in least.iter_mut().enumerate() {
        *least = least_seconds(prepared, id as VertexId, rank, place);
    }
    let program = &prepared.program;
    let iterations = f64::from(program.iterations());
    let mut streams: Vec<f64> = Vec::new();
    for (id, vertex) in program.vertices().iter().enumerate() {
        if vertex.stream != Stream::NONE {
            let stream = vertex.stream.0 as usize;
            streams.resize(streams.len().max(stream + 1), 0.0);
            streams[stream] += least[id];
        }
    }
    let by_stream = streams.iter().copied().fold(0.0, f64::max) * iterations;
    // longest path in the order of dependencies
    let mut missing: Vec<usize> = (0..count as VertexId)
        .map(|id| program.predecessors(id).iter().filter(|edge| edge.distance == 0).count())
        .collect();
    let mut ready: Vec<VertexId> = (0..count as VertexId).filter(|&id| missing[id as usize] == 0).collect();
    let mut end = least.clone();
    let mut longest = 0.0_f64;
    while let Some(id) = ready.pop() {
        longest = longest.max(end[id as usize]);
        for edge in program.successors(id).iter().filter(|edge| edge.distance == 0) {
            let other = edge.vertex as usize;
            // a dependency between other ranks says nothing about this one
            let binds =
                edge.link == Link::AllToAll || here(prepared, id, rank) && here(prepared, edge.vertex, rank);
            if binds {
                end[other] = end[other].max(end[id as usize] + least[other]);
            }
            missing[other] -= 1;
            if missing[other] == 0 {
                ready.push(edge.vertex);
            }
        }
    }
    by_stream.max(longest)
}

fn here(prepared: &Prepared, vertex: VertexId, rank: usize) -> bool {
    let program = &prepared.program;
    match program.vertex(vertex).scope {
        Scope::Group(0) | Scope::All => true,
        scope => program.scope_index(scope, stratasim_core::Rank::from_index(rank)).is_some(),
    }
}

/// The least time of a vertex on `rank`; 0 where it has no instance or nothing is known.
fn least_seconds(prepared: &mut Prepared, id: VertexId, rank: usize, place: Place) -> f64 {
    if !here(prepared, id, rank) {
        return 0.0;
    }
    let vertex = prepared.program.vertex(id).clone();
    match vertex.op {
        Op::Delay(length) => length.as_secs_f64(),
        Op::Compute(compute) => {
            let memory = match compute.place {
                MemoryPlace::Home => place.home_memory,
                MemoryPlace::Node(node) => Some(node),
                MemoryPlace::OfRank(other) => Some(prepared.places[other.index()].node),
                MemoryPlace::Local => None,
            };
            let moved = match memory {
                Some(node) if node != place.node && compute.remote_bytes > 0 => {
                    prepared.network.least_duration(node, place.node, compute.remote_bytes).as_secs_f64()
                }
                _ => 0.0,
            };
            let request = Execute {
                token: Token(0),
                node: place.node,
                flops: compute.flops,
                precision: compute.precision,
                local_bytes: compute.local_bytes,
                priority: 1.0,
                threads: compute.threads,
                rate_cap: compute.rate_cap,
            };
            let computed = prepared.compute.least_duration(&request).as_secs_f64();
            match prepared.spec.execution.memory {
                MemoryAccess::Coherent => computed.max(moved),
                MemoryAccess::MoveThenCompute => computed + moved,
            }
        }
        _ => 0.0,
    }
}

/// Index and value of the largest positive entry.
fn largest(values: &[f64]) -> Option<(usize, f64)> {
    let mut best = None;
    for (index, &value) in values.iter().enumerate() {
        if value > best.map_or(0.0, |(_, most)| most) {
            best = Some((index, value));
        }
    }
    best
}
