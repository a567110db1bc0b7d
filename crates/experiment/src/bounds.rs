//! Lower bounds on the makespan that no schedule can beat.

mod schedule;

use stratasim_core::model::{BusyNic, Compute as _, Execute, NetworkReport};
use stratasim_core::{LinkId, NodeId, Precision, Rank, Token};
use stratasim_engine::Place;
use stratasim_report::result::{Bound, BoundKind};
use stratasim_topo::{NodeKind, Sharing, Topology};
use stratasim_workload::program::{Compute, Edge, Link, MemoryPlace, Op, Scope, Stream, VertexId};

use crate::build::Prepared;
use crate::spec::MemoryAccess;

/// The bounds of a finished run: work of a node, bytes of a link, and the longest chain of tasks; of a
/// schedule, work of a stream and bytes of a link or NIC.
pub(crate) fn bounds(prepared: &mut Prepared, report: &NetworkReport) -> Vec<Bound> {
    let mut bounds = Vec::new();
    bounds.extend(compute_bound(prepared));
    bounds.extend(link_bounds(prepared, report));
    bounds.extend(report.memory_rates.and_then(|most| memory_bound(prepared, most)));
    bounds.extend(chain_bound(prepared));
    bounds.extend(schedule::stream_bound(prepared));
    bounds.extend(report.busiest_nic.map(|nic| nic_bound(prepared, nic)));
    bounds
}

/// The messages through the busiest side of a NIC, one after the other.
fn nic_bound(prepared: &Prepared, nic: BusyNic) -> Bound {
    let node = prepared.topology.node_name(nic.node);
    Bound {
        name: "bytes through a NIC".to_owned(),
        kind: BoundKind::Link,
        seconds: nic.busy.as_secs_f64(),
        place: nic.number.map_or_else(|| node.to_owned(), |number| format!("{node}, NIC {number}")),
    }
}

/// The operations of a node at its peak rate on all its cores.
fn compute_bound(prepared: &Prepared) -> Option<Bound> {
    let program = &prepared.program;
    // operations of every rank, by precision, and of single ranks
    let mut common = [0.0_f64; Precision::ALL.len()];
    let mut own = vec![0.0_f64; prepared.topology.node_count()];
    for vertex in program.vertices() {
        let Op::Compute(compute) = &vertex.op else { continue };
        let flops = compute.flops * f64::from(compute.threads);
        if flops == 0.0 {
            continue;
        }
        if vertex.scope == Scope::All {
            common[compute.precision.index()] += flops;
            continue;
        }
        for index in 0..program.scope_len(vertex.scope) {
            let node = prepared.places[program.scope_rank(vertex.scope, index).index()].node;
            own[node.index()] += flops / node_rate(prepared, node, compute.precision);
        }
    }
    for place in &prepared.places {
        for precision in Precision::ALL {
            if common[precision.index()] > 0.0 {
                own[place.node.index()] +=
                    common[precision.index()] / node_rate(prepared, place.node, precision);
            }
        }
    }
    let (node, seconds) = largest(own.iter().copied())?;
    Some(Bound {
        name: "operations".to_owned(),
        kind: BoundKind::Compute,
        seconds: seconds * f64::from(program.iterations()),
        place: prepared.topology.node_name(NodeId::from_index(node)).to_owned(),
    })
}

/// Operations per second of all cores of a node, at the highest speed that it ever has.
fn node_rate(prepared: &Prepared, node: NodeId, precision: Precision) -> f64 {
    let compute = prepared.topology.compute_type(node).expect("ranks are placed on compute nodes");
    let peak = prepared.topology.node_profiles(node).map_or(1.0, |profiles| profiles.peak_speed());
    compute.rate_flop_per_s[precision.index()] * f64::from(compute.cores) * peak
}

/// The bytes that are accessed in one memory node at `most` times that node's own rate; the largest over the
/// memory nodes that have one.
fn memory_bound(prepared: &Prepared, most: f64) -> Option<Bound> {
    let (topology, program) = (&prepared.topology, &prepared.program);
    let rate = |node: NodeId| topology.memory_type(node).and_then(|memory| memory.bandwidth);
    let rated = |index| rate(NodeId::from_index(index)).is_some();
    if !(0..topology.node_count()).any(rated) {
        return None; // left to the links of the memories
    }
    let mut busy = vec![0.0_f64; topology.node_count()];
    for vertex in program.vertices() {
        let Op::Compute(compute) = &vertex.op else { continue };
        if compute.remote_bytes == 0 {
            continue;
        }
        for index in 0..program.scope_len(vertex.scope) {
            let place = prepared.places[program.scope_rank(vertex.scope, index).index()];
            if let Some(node) = memory_of(prepared, place, compute.place)
                && let Some(rate) = rate(node)
            {
                busy[node.index()] += compute.remote_bytes as f64 / (most * rate.bytes_per_s());
            }
        }
    }
    let (node, seconds) = largest(busy.iter().copied())?;
    Some(Bound {
        name: "rate of a memory".to_owned(),
        kind: BoundKind::Memory,
        seconds: seconds * f64::from(program.iterations()),
        place: topology.node_name(NodeId::from_index(node)).to_owned(),
    })
}

/// The node that holds the remote bytes of a computation at `place`.
fn memory_of(prepared: &Prepared, place: Place, memory: MemoryPlace) -> Option<NodeId> {
    memory.node(place.home_memory, |other| prepared.places[other.index()].node)
}

/// The bytes of the busiest link, and of the busiest link of a memory, at full rate: those that it carried, or those that it had
/// to where the network tells.
fn link_bounds(prepared: &Prepared, report: &NetworkReport) -> Vec<Bound> {
    let topology = &prepared.topology;
    let is_memory = |link: LinkId| {
        let ends = topology.link(link).ends;
        ends.is_some_and(|ends| ends.iter().any(|&node| matches!(topology.kind(node), NodeKind::Memory(_))))
    };
    let counts = |link: LinkId| {
        topology.link(link).sharing == Sharing::Shared && topology.link_profiles(link).is_none()
    };
    let mut bounds = Vec::new();
    for (memory, name, kind) in
        [(false, "bytes over a link", BoundKind::Link), (true, "bytes of a memory", BoundKind::Memory)]
    {
        let fits = |link: LinkId| is_memory(link) == memory && counts(link);
        let (name, place, seconds) = if report.needed.is_empty() {
            let busy =
                report.link_busy_s.iter().enumerate().map(|(index, &busy)| {
                    if busy > 0.0 && fits(LinkId::from_index(index)) { busy } else { 0.0 }
                });
            let Some((index, seconds)) = largest(busy) else { continue };
            (name, topology.link_name(LinkId::from_index(index)), seconds)
        } else {
            // what was sent again need not have been
            let needed = report.needed.iter();
            let busy = needed.map(|it| if it.links.iter().all(|&link| fits(link)) { it.busy_s } else { 0.0 });
            let Some((index, seconds)) = largest(busy) else { continue };
            match &*report.needed[index].links {
                [link] => (name, topology.link_name(*link), seconds),
                links => ("bytes over links side by side", group_name(topology, links), seconds),
            }
        };
        bounds.push(Bound { name: name.to_owned(), kind, seconds, place });
    }
    bounds
}

/// A group of links that have one end in common, such as `4 links out of leaf-0`.
fn group_name(topology: &Topology, links: &[LinkId]) -> String {
    let ends: Vec<_> = links.iter().filter_map(|&link| topology.link(link).ends).collect();
    let same = |end: usize| {
        let [first, rest @ ..] = ends.as_slice() else { return None };
        rest.iter().all(|ends| ends[end] == first[end]).then(|| topology.node_name(first[end]))
    };
    let count = links.len();
    match (same(0), same(1)) {
        (Some(from), Some(to)) => format!("{count} links from {from} to {to}"),
        (Some(from), None) => format!("{count} links out of {from}"),
        (None, Some(to)) => format!("{count} links into {to}"),
        (None, None) => format!("{count} links"),
    }
}

/// The longest chain of dependent tasks, each alone on an idle machine. Tasks of one stream follow
/// each other, so their sum is a chain, too. A program for all ranks is looked at on one rank of each
/// type of node.
fn chain_bound(prepared: &mut Prepared) -> Option<Bound> {
    let mut seen: Vec<NodeKind> = Vec::new();
    let mut best: Option<(f64, usize)> = None;
    for rank in 0..prepared.places.len() {
        let kind = prepared.topology.kind(prepared.places[rank].node);
        if seen.contains(&kind) {
            continue;
        }
        seen.push(kind);
        let seconds = chain_seen_from(prepared, Rank::from_index(rank));
        if best.is_none_or(|(most, _)| seconds > most) {
            best = Some((seconds, rank));
        }
        if seen.len() == 16 {
            break; // any chain is a bound; more types than this make no better one worth the time
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

/// Longest chain through dependencies within one iteration, or along a stream of `rank`: tasks of
/// many ranks count on `rank`, tasks of one rank on theirs.
fn chain_seen_from(prepared: &mut Prepared, rank: Rank) -> f64 {
    let count = prepared.program.vertices().len();
    let on: Vec<Option<Rank>> = (0..count as VertexId).map(|id| seen_on(prepared, id, rank)).collect();
    let mut least = vec![0.0; count];
    for (id, least) in least.iter_mut().enumerate() {
        if let Some(rank) = on[id] {
            *least = least_seconds(prepared, id as VertexId, rank);
        }
    }
    let program = &prepared.program;
    let mut streams: Vec<f64> = Vec::new();
    for (id, vertex) in program.vertices().iter().enumerate() {
        if vertex.stream != Stream::NONE && on[id] == Some(rank) {
            let stream = vertex.stream.0 as usize;
            streams.resize(streams.len().max(stream + 1), 0.0);
            streams[stream] += least[id];
        }
    }
    let by_stream = streams.iter().copied().fold(0.0, f64::max) * f64::from(program.iterations());
    // a dependency binds when it joins the instances that are looked at
    let binds = |from: VertexId, edge: &Edge| {
        let (a, b) = (on[from as usize], on[edge.vertex as usize]);
        let single = |id: VertexId| program.scope_len(program.vertex(id).scope) == 1;
        edge.link == Link::AllToAll || a == b || single(from) && single(edge.vertex)
    };
    let mut missing: Vec<usize> = (0..count as VertexId)
        .map(|id| program.predecessors(id).iter().filter(|edge| edge.distance == 0).count())
        .collect();
    let mut ready: Vec<VertexId> = (0..count as VertexId).filter(|&id| missing[id as usize] == 0).collect();
    let start = |id: usize| program.vertices()[id].not_before.as_secs_f64();
    let mut end: Vec<f64> = (0..count).map(|id| start(id) + least[id]).collect();
    let mut longest = 0.0_f64;
    while let Some(id) = ready.pop() {
        longest = longest.max(end[id as usize]);
        for edge in program.successors(id).iter().filter(|edge| edge.distance == 0) {
            let other = edge.vertex as usize;
            if binds(id, edge) {
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

/// The rank on which a task is looked at, seen from `rank`; `None` where it has no instance there.
fn seen_on(prepared: &Prepared, id: VertexId, rank: Rank) -> Option<Rank> {
    let program = &prepared.program;
    match program.vertex(id).scope {
        Scope::All => Some(rank),
        Scope::One(one) => Some(one),
        scope => program.scope_index(scope, rank).map(|_| rank),
    }
}

/// The least time of a task on `rank`; 0 where nothing is known.
fn least_seconds(prepared: &mut Prepared, id: VertexId, rank: Rank) -> f64 {
    let place = prepared.places[rank.index()];
    let vertex = prepared.program.vertex(id);
    match vertex.op {
        Op::Delay(length) => length.as_secs_f64(),
        Op::Compute(compute) => least_compute_seconds(prepared, place, &compute),
        Op::Transfer { to, bytes, .. } => {
            let to = prepared.program.peer(rank, to).expect("checked when the program was built");
            let dst = prepared.places[to.index()].node;
            least_transfer_seconds(prepared, place.node, dst, bytes)
        }
        _ => 0.0,
    }
}

/// The least time of a transfer, whatever else is under way; 0 where nothing is known: the network tells it for the present
/// rates and latencies, and for one way.
fn least_transfer_seconds(prepared: &mut Prepared, src: NodeId, dst: NodeId, bytes: u64) -> f64 {
    if prepared.spread_routes || !prepared.topology.profiles().links.is_empty() {
        return 0.0;
    }
    prepared.network.least_beside_others(src, dst, bytes).as_secs_f64()
}

fn least_compute_seconds(prepared: &mut Prepared, place: Place, compute: &Compute) -> f64 {
    let moved = match memory_of(prepared, place, compute.place) {
        Some(node) if node != place.node && compute.remote_bytes > 0 => {
            least_transfer_seconds(prepared, node, place.node, compute.remote_bytes)
        }
        _ => 0.0,
    };
    let computed = prepared.compute.least_duration(&Execute {
        token: Token(0),
        node: place.node,
        flops: compute.flops,
        precision: compute.precision,
        local_bytes: compute.local_bytes,
        priority: 1.0,
        threads: compute.threads,
        rate_cap: compute.rate_cap,
    });
    match prepared.spec.execution.memory {
        MemoryAccess::Coherent => computed.as_secs_f64().max(moved),
        MemoryAccess::MoveThenCompute => computed.as_secs_f64() + moved,
    }
}

/// Index and value of the largest positive entry.
fn largest(values: impl Iterator<Item = f64>) -> Option<(usize, f64)> {
    let mut best = None;
    for (index, value) in values.enumerate() {
        if value > best.map_or(0.0, |(_, most)| most) {
            best = Some((index, value));
        }
    }
    best
}
