//! From names and numbers to ranks and memories.

use stratasim_core::Rank;
use stratasim_core::error::nearest;

use super::values::{PlaceRef, RankRef, Ranks};
use crate::builders::WorkloadContext;
use crate::program::{MemoryPlace, ProgramBuilder, Scope};

/// Looks ranks up. Errors are reasons; the caller knows vertex and key.
pub(super) struct Places<'a, 'c> {
    pub(super) context: &'a WorkloadContext<'c>,
}

impl Places<'_, '_> {
    /// The rank with that number.
    pub(super) fn number(&self, rank: u32) -> Result<Rank, String> {
        let ranks = self.context.ranks;
        if rank < ranks {
            return Ok(Rank(rank));
        }
        Err(format!("rank {rank} does not exist, the program has ranks 0 to {}", ranks.saturating_sub(1)))
    }

    /// The rank placed on a node.
    pub(super) fn node(&self, name: &str) -> Result<Rank, String> {
        let Some(node) = (self.context.find_node)(name) else {
            return Err(format!(
                "the topology has no node `{name}`; write the name of a compute node, or a rank"
            ));
        };
        match (self.context.rank_of)(node) {
            Some(rank) if rank < self.context.ranks => Ok(Rank(rank)),
            _ => Err(format!(
                "no rank runs on `{name}`: a vertex runs on a compute node with a rank, not on a switch or memory node"
            )),
        }
    }

    pub(super) fn rank(&self, rank: &RankRef) -> Result<Rank, String> {
        match rank {
            RankRef::Rank(rank) => self.number(*rank),
            RankRef::Node(name) => self.number_in(name).unwrap_or_else(|| self.node(name)),
        }
    }

    /// The rank of a number given as text, as attributes of GraphML are; none where a node has that name.
    fn number_in(&self, name: &str) -> Option<Result<Rank, String>> {
        let number = name.parse().ok().filter(|_| (self.context.find_node)(name).is_none())?;
        Some(self.number(number))
    }

    /// Where a vertex with these ranks runs.
    pub(super) fn scope(&self, ranks: &Ranks, builder: &mut ProgramBuilder) -> Result<Scope, String> {
        match self.list(ranks)? {
            None => Ok(Scope::All),
            Some(ranks) => match ranks[..] {
                [rank] => Ok(Scope::One(rank)),
                _ => Ok(Scope::Group(builder.group(ranks))),
            },
        }
    }

    /// The group of these ranks.
    pub(super) fn group(&self, ranks: &Ranks, builder: &mut ProgramBuilder) -> Result<u32, String> {
        Ok(self.list(ranks)?.map_or(0, |ranks| builder.group(ranks)))
    }

    /// `None` for all.
    fn list(&self, ranks: &Ranks) -> Result<Option<Vec<Rank>>, String> {
        let Ranks::List(list) = ranks else { return Ok(None) };
        let ranks: Vec<_> = list.iter().map(|rank| self.rank(rank)).collect::<Result<_, _>>()?;
        let mut sorted = ranks.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            _ if ranks.is_empty() => {
                Err("an empty list; name at least one rank, or write \"all\"".to_owned())
            }
            Some(pair) => Err(format!("rank {} is named twice", pair[0])),
            None => Ok(Some(ranks)),
        }
    }

    /// The memory that a vertex of `scope` accesses.
    pub(super) fn memory(&self, place: &PlaceRef, scope: Scope) -> Result<MemoryPlace, String> {
        let of_rank = |rank| {
            if scope == Scope::One(rank) { MemoryPlace::Local } else { MemoryPlace::OfRank(rank) }
        };
        match place {
            PlaceRef::Local => Ok(MemoryPlace::Local),
            PlaceRef::Home => Ok(MemoryPlace::Home),
            PlaceRef::Rank(rank) => self.number(*rank).map(of_rank),
            PlaceRef::Node(name) => match (self.context.find_node)(name) {
                Some(node) => Ok(match (self.context.rank_of)(node) {
                    Some(rank) if rank < self.context.ranks => of_rank(Rank(rank)),
                    _ => MemoryPlace::Node(node),
                }),
                None => self.number_in(name).map_or_else(
                    || {
                        let hint = nearest(name, ["local", "home"])
                            .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
                        Err(format!(
                            "the topology has no node `{name}`{hint}; write \"local\", \"home\", the name of a memory or compute node, or a rank"
                        ))
                    },
                    |rank| rank.map(of_rank),
                ),
            },
        }
    }
}
