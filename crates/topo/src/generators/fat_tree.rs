//! Fat trees of any number of levels.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration};

use super::cables::Duplex;
use super::tree::{self, Level};
use super::{BuildContext, Generator};
use crate::catalogue::ComputeChoice;
use crate::graph::{LinkType, Topology};

/// A fat tree: hosts at the bottom, levels of switches above, several ways up and one way down.
///
/// ```text
///        core-0    core-1     core-2    core-3        level 3     k = 4
///   aggregation-0 aggregation-1   ...                 level 2     16 hosts
///      edge-0        edge-1       ...                 level 1     20 switches
///   host-0 host-1 host-2 host-3   ...                 level 0
/// ```
/// ```toml
/// [topology]
/// kind = "fat-tree"
/// k = 16
/// bandwidth = "400 Gbps"
/// latency = "500 ns"
/// ```
/// Two ways to give the size:
///
/// - `k`: every switch has `k` ports, half of them down (all, at the top). With three levels that is
///   the k-ary fat tree of `k^3 / 4` hosts; with `levels` levels it has `2 (k/2)^levels` hosts.
///   `oversubscription` leaves out uplinks of the lowest switches (and the switches they led to).
/// - `down`, `up`, `parallel`: the extended generalised fat tree, lowest level first. `down` is the
///   number of nodes below each node of a level, `up` the number of nodes of that level above each
///   node of the level below, `parallel` the number of cables between the two. SimGrid writes the same
///   tree as `levels;down,..;up,..;parallel,..`.
///
/// Messages climb to the lowest switch above both ends and go down again. The port on the way up
/// depends on the destination alone (D-mod-K), which spreads destinations evenly over the top.
///
/// Groups: `rack` (what is under one lowest switch) and, with three levels or more, `pod` (what is under
/// one of the highest but one). Dimensions: children of each level.
///
/// Sources: Al-Fares, Loukissas, Vahdat (2008), "A scalable, commodity data center network
/// architecture"; Öhring et al. (1995); Zahavi (2010).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FatTree {
    /// Ports of every switch, an even number. Not together with `down`, `up`, `parallel`.
    #[serde(default)]
    pub k: Option<u32>,
    /// Levels of switches, with `k` only; 3 when absent.
    #[serde(default)]
    pub levels: Option<u32>,
    /// With `k` only: rate into the lowest switches over rate out of them; 1 when absent. Their
    /// `k / 2` uplinks divided by it must be a whole number.
    #[serde(default)]
    pub oversubscription: Option<f64>,
    /// Nodes below each node of level 1, 2, ...
    #[serde(default)]
    pub down: Vec<u32>,
    /// Nodes of level 1, 2, ... above each node of the level below.
    #[serde(default)]
    pub up: Vec<u32>,
    /// Cables from each node to each of its parents at level 1, 2, ...; all 1 when absent.
    #[serde(default)]
    pub parallel: Vec<u32>,
    /// Rate of each cable, per direction.
    pub bandwidth: Bandwidth,
    /// Propagation delay of each cable.
    pub latency: Duration,
    /// Rate of the cables below level 1, 2, ..., in place of `bandwidth`.
    #[serde(default)]
    pub level_bandwidth: Vec<Bandwidth>,
    /// Propagation delay of the cables below level 1, 2, ..., in place of `latency`.
    #[serde(default)]
    pub level_latency: Vec<Duration>,
    /// Type of the hosts: a name of the catalogue or a table of properties.
    #[serde(default)]
    pub compute: ComputeChoice,
    /// Whether the two directions of a cable have a capacity each.
    #[serde(default)]
    pub duplex: Duplex,
}

/// Children, parents and cables of a level.
type Branching = (u32, u32, u32);

impl FatTree {
    fn branching(&self) -> Result<Vec<Branching>, BuildError> {
        let listed = !(self.down.is_empty() && self.up.is_empty() && self.parallel.is_empty());
        match self.k {
            Some(_) if listed => {
                Err(BuildError::new("k", "give either `k` or the lists `down`, `up`, `parallel`, not both"))
            }
            Some(k) => self.by_ports(k),
            None if listed => self.by_lists(),
            None => Err(BuildError::new(
                "k",
                "a fat tree needs its size: `k = 16`, or `down = [16, 16, 16]` with `up = [1, 16, 16]`",
            )),
        }
    }

    fn by_ports(&self, k: u32) -> Result<Vec<Branching>, BuildError> {
        if k < 2 || k % 2 == 1 {
            return Err(BuildError::new(
                "k",
                format!(
                    "switches need an even number of ports, got {k}{}",
                    if k == 0 { "; at least 2" } else { "" }
                ),
            ));
        }
        let levels = self.levels.unwrap_or(3) as usize;
        if !(1..=tree::MOST_LEVELS).contains(&levels) {
            let most = tree::MOST_LEVELS;
            return Err(BuildError::new("levels", format!("a tree has 1 to {most} levels, not {levels}")));
        }
        let half = k / 2;
        let mut branching = vec![(half, half, 1); levels];
        branching[0].1 = 1;
        branching[levels - 1].0 = k;
        if let Some(ratio) = self.oversubscription {
            if levels < 2 {
                let reason =
                    format!("{ratio}, but switches of a single level have no uplinks that could be left out");
                return Err(BuildError::new("oversubscription", reason));
            }
            let uplinks = f64::from(half) / ratio;
            if !(uplinks >= 1.0 && uplinks <= f64::from(half) && uplinks.fract() == 0.0) {
                return Err(BuildError::new(
                    "oversubscription",
                    format!(
                        "{ratio} leaves {uplinks} of the {half} uplinks of a lowest switch; \
                         it must leave a whole number from 1 to {half}"
                    ),
                ));
            }
            branching[1].1 = uplinks as u32;
        }
        Ok(branching)
    }

    fn by_lists(&self) -> Result<Vec<Branching>, BuildError> {
        if self.levels.is_some() || self.oversubscription.is_some() {
            let field = if self.levels.is_some() { "levels" } else { "oversubscription" };
            return Err(BuildError::new(field, "goes with `k`; the lists say it already"));
        }
        let levels = self.down.len();
        if self.up.len() != levels {
            return Err(BuildError::new(
                "up",
                format!("`down` has {levels} levels, `up` has {}; give one number per level", self.up.len()),
            ));
        }
        let parallel = per_level("parallel", &self.parallel, levels, 1)?;
        for (field, list) in [("up", &self.up), ("parallel", &self.parallel)] {
            if let Some(level) = list.iter().position(|&count| count == 0) {
                return Err(BuildError::new(
                    field,
                    format!("level {} has 0; at least 1 is needed", level + 1),
                ));
            }
        }
        Ok((0..levels).map(|level| (self.down[level], self.up[level], parallel[level])).collect())
    }
}

/// `list` when it has one entry per level, `default` for each level when it is empty.
fn per_level<T: Copy>(field: &str, list: &[T], levels: usize, default: T) -> Result<Vec<T>, BuildError> {
    match list.len() {
        0 => Ok(vec![default; levels]),
        count if count == levels => Ok(list.to_vec()),
        count => Err(BuildError::new(
            field,
            format!("the tree has {levels} levels, this list {count}; give one entry per level or none"),
        )),
    }
}

impl Generator for FatTree {
    fn build(&self, _: &BuildContext) -> Result<Topology, BuildError> {
        let branching = self.branching()?;
        let bandwidth = per_level("level-bandwidth", &self.level_bandwidth, branching.len(), self.bandwidth)?;
        let latency = per_level("level-latency", &self.level_latency, branching.len(), self.latency)?;
        let levels: Vec<Level> = (0..branching.len())
            .map(|level| {
                let (children, parents, parallel) = branching[level];
                Level { children, parents, parallel, link: LinkType::new(bandwidth[level], latency[level]) }
            })
            .collect();
        // what makes it too large, if it is
        let most = |list: &[u32]| list.iter().copied().max();
        let lists = [("parallel", &self.parallel), ("up", &self.up), ("down", &self.down)];
        let largest = lists.iter().max_by_key(|(_, list)| most(list)).map_or("down", |(field, _)| field);
        let field = match self.k {
            Some(_) => "k",
            None if self.down.contains(&0) => "down",
            None => largest,
        };
        tree::build(field, &levels, &self.compute, self.duplex)
    }
}
