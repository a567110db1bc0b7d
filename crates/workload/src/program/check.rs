//! What is wrong with a program, said before it runs.

use std::collections::BTreeMap;

use stratasim_core::words::counted;
use stratasim_core::{BuildError, Rank};

use super::{Op, Peer, Program, Scope, VertexId};
use crate::goal::ANY;

/// A result has an entry for each iteration; more are refused before anything is allocated.
const MOST_ITERATIONS: u32 = 1 << 20;

/// Checks everything that does not need a machine.
pub(super) fn check(program: &Program) -> Result<(), BuildError> {
    if program.iterations == 0 {
        return Err(BuildError::new("iterations", "a program runs at least once, got 0"));
    }
    if program.iterations > MOST_ITERATIONS {
        let reason = format!("a program runs at most {MOST_ITERATIONS} times, got {}", program.iterations);
        return Err(BuildError::new("iterations", reason));
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

/// Sends and receives must pair up. Where a receive has a wildcard only the run can tell which is which; then
/// their numbers must agree: of the pair of ranks, or of the receiver where it takes whoever comes.
fn matching(program: &Program) -> Result<(), BuildError> {
    let mut exact: BTreeMap<(Rank, Rank, u32), Balance> = BTreeMap::new();
    // by pair and by receiver, and whether there is a wildcard for the tag or for the source
    let mut pairs: BTreeMap<(Rank, Rank), (Balance, bool)> = BTreeMap::new();
    let mut totals: BTreeMap<Rank, (Balance, bool)> = BTreeMap::new();
    for (id, vertex) in program.vertices.iter().enumerate() {
        let id = id as VertexId;
        if !matches!(vertex.op, Op::Send { .. } | Op::Receive { .. }) {
            continue;
        }
        if let Op::Send { tag: ANY, .. } | Op::Receive { tag: Some(ANY), .. } = vertex.op {
            let reason = format!("`{}`: the tag {ANY} is kept for `any tag`", program.name(id));
            return Err(BuildError::new("", reason));
        }
        for index in 0..program.scope_len(vertex.scope) {
            let rank = program.scope_rank(vertex.scope, index);
            let (source, receiver, tag, change) = match vertex.op {
                Op::Send { to, tag, .. } => {
                    let to = program.peer(rank, to).expect("a send has a destination");
                    (Some(rank), to, Some(tag), 1)
                }
                Op::Receive { from, tag } => (program.peer(rank, from), rank, tag, -1),
                _ => unreachable!("only sends and receives are looked at"),
            };
            let (total, any_source) = totals.entry(receiver).or_default();
            total.count(change, id);
            *any_source |= source.is_none();
            let Some(source) = source else { continue };
            let (pair, any_tag) = pairs.entry((source, receiver)).or_default();
            pair.count(change, id);
            *any_tag |= tag.is_none();
            if let Some(tag) = tag {
                exact.entry((source, receiver, tag)).or_default().count(change, id);
            }
        }
    }
    for ((from, to, tag), balance) in exact {
        if balance.surplus != 0 && !totals[&to].1 && !pairs[&(from, to)].1 {
            let Left { name, left, have, lacks } = balance.left(program);
            let reason = format!(
                "`{name}`: {left} from rank {from} to rank {to} with tag {tag} {have} no matching {lacks}"
            );
            return Err(BuildError::new("", reason));
        }
    }
    for ((from, to), (balance, any_tag)) in pairs {
        if balance.surplus != 0 && any_tag && !totals[&to].1 {
            let Left { name, left, have, lacks } = balance.left(program);
            let reason = format!("`{name}`: {left} from rank {from} to rank {to} {have} no matching {lacks}");
            return Err(BuildError::new("", reason));
        }
    }
    for (to, (balance, wildcard)) in totals {
        if balance.surplus != 0 && wildcard {
            let Left { name, left, lacks, .. } = balance.left(program);
            let reason = format!("`{name}`: rank {to} has {left} for which there is no {lacks}");
            return Err(BuildError::new("", reason));
        }
    }
    Ok(())
}

/// Sends less receives, and the last vertex of each for an error to name.
#[derive(Default)]
struct Balance {
    surplus: i64,
    send: VertexId,
    receive: VertexId,
}

impl Balance {
    fn count(&mut self, change: i64, id: VertexId) {
        self.surplus += change;
        *(if change > 0 { &mut self.send } else { &mut self.receive }) = id;
    }

    /// What is over.
    fn left<'a>(&self, program: &'a Program) -> Left<'a> {
        let (id, what, lacks) = match self.surplus {
            1.. => (self.send, "send", "receive"),
            _ => (self.receive, "receive", "send"),
        };
        let number = self.surplus.unsigned_abs();
        let have = if number == 1 { "has" } else { "have" };
        Left { name: program.name(id), left: counted(number, what), have, lacks }
    }
}

/// Sends or receives that are over, as an error says it.
struct Left<'a> {
    /// The name of one.
    name: &'a str,
    /// How many, and what they are.
    left: String,
    have: &'static str,
    /// What they lack.
    lacks: &'static str,
}
