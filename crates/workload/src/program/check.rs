//! What is wrong with a program, said before it runs.

use std::collections::BTreeMap;

use stratasim_core::{BuildError, Rank};

use super::{Op, Peer, Program, Scope, VertexId};

/// Checks everything that does not need a machine.
pub(super) fn check(program: &Program) -> Result<(), BuildError> {
    if program.iterations == 0 {
        return Err(BuildError::new("iterations", "a program runs at least once, got 0"));
    }
    ranks(program)?;
    cycles(program)?;
    starts(program)?;
    matching(program)
}

fn ranks(program: &Program) -> Result<(), BuildError> {
    let known = |rank: Rank, name: &str, what: &str| {
        if rank.0 < program.ranks {
            Ok(())
        } else {
            let ranks = program.ranks;
            Err(BuildError::new(
                "",
                format!(
                    "`{name}`: {what} {rank} does not exist, the program has ranks 0 to {}",
                    ranks.saturating_sub(1)
                ),
            ))
        }
    };
    for (index, group) in program.groups.iter().enumerate() {
        if let Some(&stranger) = group.iter().find(|member| member.0 >= program.ranks) {
            known(stranger, &format!("group {index}"), "member")?;
        }
        if program.ascending[index] {
            continue;
        }
        let mut seen = std::collections::BTreeSet::new();
        if let Some(member) = group.iter().find(|&&member| !seen.insert(member)) {
            return Err(BuildError::new("", format!("group {index} names rank {member} twice")));
        }
    }
    for (id, vertex) in program.vertices.iter().enumerate() {
        let name = program.name(id as VertexId);
        match vertex.scope {
            Scope::One(rank) => known(rank, name, "rank")?,
            Scope::Range { first, count } => {
                known(Rank(first.0.saturating_add(count.saturating_sub(1))), name, "rank")?;
            }
            Scope::All | Scope::Group(_) => {}
        }
        match vertex.op {
            Op::Transfer { to: Peer::Rank(peer), .. } | Op::Send { to: Peer::Rank(peer), .. } => {
                known(peer, name, "destination")?;
            }
            Op::Receive { from: Peer::Rank(peer), .. } => known(peer, name, "source")?,
            Op::Transfer { to: Peer::Any, .. } | Op::Send { to: Peer::Any, .. } => {
                return Err(BuildError::new("", format!("`{name}`: a send needs a destination")));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Kahn's order over edges of distance 0; what is left holds a cycle.
fn cycles(program: &Program) -> Result<(), BuildError> {
    let count = program.vertices.len();
    let mut missing: Vec<u32> = (0..count as VertexId)
        .map(|id| program.predecessors(id).iter().filter(|edge| edge.distance == 0).count() as u32)
        .collect();
    let mut ready: Vec<VertexId> = (0..count as VertexId).filter(|&id| missing[id as usize] == 0).collect();
    let mut ordered = 0;
    while let Some(id) = ready.pop() {
        ordered += 1;
        for edge in program.successors(id).iter().filter(|edge| edge.distance == 0) {
            missing[edge.vertex as usize] -= 1;
            if missing[edge.vertex as usize] == 0 {
                ready.push(edge.vertex);
            }
        }
    }
    if ordered == count {
        return Ok(());
    }
    // walk backwards along unmet dependencies until a vertex repeats
    let first = (0..count).find(|&id| missing[id] > 0).expect("some vertex is left") as VertexId;
    let mut path = vec![first];
    let cycle = loop {
        let at = *path.last().expect("not empty");
        let before = program
            .predecessors(at)
            .iter()
            .find(|edge| edge.distance == 0 && missing[edge.vertex as usize] > 0)
            .expect("an unmet dependency comes from an unordered vertex")
            .vertex;
        if let Some(seen) = path.iter().position(|&id| id == before) {
            let mut cycle: Vec<_> = path[seen..].iter().rev().map(|&id| program.name(id)).collect();
            cycle.push(cycle[0]);
            break cycle.join("` -> `");
        }
        path.push(before);
    };
    Err(BuildError::new(
        "",
        format!(
            "`{cycle}` is a cycle within one iteration; give one of its edges `distance = 1` if it closes a loop over iterations"
        ),
    ))
}

fn starts(program: &Program) -> Result<(), BuildError> {
    for id in 0..program.vertices.len() as VertexId {
        let within = program.predecessors(id).iter().find(|edge| edge.distance == 0);
        let name = program.name(id);
        match (program.vertex(id).start, within) {
            (true, Some(edge)) => {
                let before = program.name(edge.vertex);
                return Err(BuildError::new(
                    "",
                    format!(
                        "`{name}` is a start vertex but waits for `{before}` within the first iteration; give that edge `distance = 1` or drop `start`"
                    ),
                ));
            }
            (false, None) => {
                return Err(BuildError::new(
                    "",
                    format!(
                        "`{name}` can never run: nothing points at it in the first iteration and it is not a start vertex; set `start = true`"
                    ),
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Sends and receives must pair up, unless a wildcard leaves it to the run.
fn matching(program: &Program) -> Result<(), BuildError> {
    let mut balance: BTreeMap<(Rank, Rank, u32), (i64, VertexId)> = BTreeMap::new();
    for (id, vertex) in program.vertices.iter().enumerate() {
        let id = id as VertexId;
        for index in 0..program.scope_len(vertex.scope) {
            let rank = program.scope_rank(vertex.scope, index);
            match vertex.op {
                Op::Send { to, tag, .. } => {
                    let to = program.peer(rank, to).expect("a send has a destination");
                    balance.entry((rank, to, tag)).or_insert((0, id)).0 += 1;
                }
                Op::Receive { from: Peer::Any, .. } | Op::Receive { tag: None, .. } => return Ok(()),
                Op::Receive { from, tag: Some(tag) } => {
                    let from = program.peer(rank, from).expect("not a wildcard");
                    balance.entry((from, rank, tag)).or_insert((0, id)).0 -= 1;
                }
                _ => break,
            }
        }
    }
    for ((from, to, tag), (surplus, id)) in balance {
        let name = program.name(id);
        if surplus != 0 {
            let (what, lacks) = if surplus > 0 { ("send", "receive") } else { ("receive", "send") };
            return Err(BuildError::new(
                "",
                format!(
                    "`{name}`: {} {what}(s) from rank {from} to rank {to} with tag {tag} have no matching {lacks}",
                    surplus.abs()
                ),
            ));
        }
    }
    Ok(())
}
