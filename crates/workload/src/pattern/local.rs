//! Local communication.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::{Draws, Stream};

use super::{Along, Destinations, Layout, Pattern, PatternSpec, Shape, at_least_two, hot_spot, share};

/// A fraction of the messages stays near its sender: on grids within a number of hops, on trees within the
/// subtree of a height, on dragonflies at the same router or in the same group. Each of the other ranks there is as
/// likely.
///
/// Source: Hu, Chen, Wang, Jiang (2011), the parameters D_local (`distance`) and R_local (`fraction`) for
/// tori and fat trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Local {
    /// Grids: hops between switches or nodes, at most. Trees: levels of switches that a local message may
    /// climb; 1 is the sender's own switch. Dragonflies: 1 is the sender's own router, 2 its group. Ranks on the same switch of a grid are local at any distance.
    #[serde(default = "one")]
    pub distance: u32,
    /// Share of the messages that is local, from 0 to 1.
    #[serde(default = "half")]
    pub fraction: f64,
    /// The pattern of all other messages; `uniform-random` when absent. Of a rank that is silent in it only the fraction
    /// is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Box<PatternSpec>>,
}

fn one() -> u32 {
    1
}

fn half() -> f64 {
    0.5
}

impl Default for Local {
    fn default() -> Self {
        Self { distance: one(), fraction: half(), background: None }
    }
}

impl Pattern for Local {
    fn destinations(
        &self,
        layout: &Layout,
        random: &mut Stream,
    ) -> Result<Box<dyn Destinations>, BuildError> {
        at_least_two(layout.ranks)?;
        share("fraction", self.fraction)?;
        if self.distance == 0 {
            return Err(BuildError::new("distance", "must be at least 1"));
        }
        let near = match &layout.shape {
            Shape::Unknown => {
                let reason = "local needs a grid, a tree or a dragonfly that the ranks fill, such as torus, mesh or k-ary-n-tree";
                return Err(BuildError::new("", reason));
            }
            Shape::Tree { children } => {
                let levels = children.len() as u32;
                if self.distance > levels {
                    let reason = format!("height {} in a tree of {levels} levels", self.distance);
                    return Err(BuildError::new("distance", reason));
                }
                let size = children[..self.distance as usize].iter().product();
                if size < 2 {
                    return Err(BuildError::new(
                        "distance",
                        "nobody else is so near: the subtree of this height, or the router, has one rank",
                    ));
                }
                Near::Block(size)
            }
            Shape::Grid { per_vertex, dimensions } => {
                Ball::of(*per_vertex, dimensions, self.distance, layout.ranks)?
            }
        };
        let background = hot_spot::background(self.background.as_deref(), layout, random)?;
        Ok(Box::new(Nearby { near, fraction: self.fraction, background }))
    }
}

#[derive(Debug)]
struct Nearby {
    near: Near,
    fraction: f64,
    background: Box<dyn Destinations>,
}

impl Destinations for Nearby {
    fn destination(&self, source: u32, to_self: bool, draws: &mut Draws) -> Option<u32> {
        if !draws.happens(self.fraction) {
            return self.background.destination(source, to_self, draws);
        }
        match &self.near {
            Near::Block(size) => {
                let drawn = source / size * size + draws.below(size - 1);
                Some(drawn + u32::from(drawn >= source))
            }
            Near::Ball(ball) => Some(ball.draw(source, draws)),
        }
    }

    fn share(&self, source: u32, to_self: bool) -> f64 {
        hot_spot::share_on(self.fraction, &*self.background, source, to_self)
    }
}

#[derive(Debug)]
enum Near {
    /// Neighbours in the numbering, so many at a time.
    Block(u32),
    Ball(Ball),
}

/// Steps from a vertex to those around it; on lines some of them lead out of the machine.
#[derive(Debug)]
struct Ball {
    per_vertex: u32,
    dimensions: Vec<(u32, Along)>,
    /// A step per dimension, one list after the other; the first is no step at all.
    steps: Vec<i32>,
    count: u32,
}

impl Ball {
    fn of(
        per_vertex: u32,
        dimensions: &[(u32, Along)],
        distance: u32,
        ranks: u32,
    ) -> Result<Near, BuildError> {
        // steps and hops of each dimension, no step first
        let along: Vec<Vec<(i32, u32)>> =
            dimensions.iter().map(|&(extent, along)| choices(extent, along)).collect();
        let mut lists: Vec<(Vec<i32>, u32)> = vec![(Vec::new(), 0)];
        for choices in &along {
            let longer = |(list, hops): &(Vec<i32>, u32), (step, more): (i32, u32)| {
                (list.iter().copied().chain([step]).collect::<Vec<_>>(), hops + more)
            };
            lists = lists
                .iter()
                .flat_map(|list| choices.iter().map(move |&choice| longer(list, choice)))
                .filter(|(_, hops)| *hops <= distance)
                .collect();
            // on a line there are steps to both sides, of which at most half exist anywhere
            if lists.len() as u64 > u64::from(ranks) << dimensions.len().min(30) {
                return Err(BuildError::new("distance", "too many ranks are that near"));
            }
        }
        lists.sort_by_key(|(list, hops)| (*hops, list.clone()));
        let count = lists.len() as u32;
        if count * per_vertex < 2 {
            return Err(BuildError::new("distance", "no other rank is that near"));
        }
        let steps = lists.into_iter().flat_map(|(list, _)| list).collect();
        Ok(Near::Ball(Self { per_vertex, dimensions: dimensions.to_vec(), steps, count }))
    }

    fn draw(&self, source: u32, draws: &mut Draws) -> u32 {
        let (vertex, own) = (source / self.per_vertex, source % self.per_vertex);
        loop {
            // what is drawn first of all places is the sender itself
            let drawn = 1 + draws.below(self.count * self.per_vertex - 1);
            let (list, place) = (drawn / self.per_vertex, drawn % self.per_vertex);
            if list == 0 {
                return vertex * self.per_vertex + (own + place) % self.per_vertex;
            }
            if let Some(reached) = self.step(vertex, list as usize) {
                return reached * self.per_vertex + place;
            }
        }
    }

    /// The vertex at the end of a list of steps.
    fn step(&self, vertex: u32, list: usize) -> Option<u32> {
        let steps = &self.steps[list * self.dimensions.len()..][..self.dimensions.len()];
        let (mut rest, mut stride, mut out) = (vertex, 1, 0);
        for (&step, &(extent, along)) in steps.iter().zip(&self.dimensions) {
            let moved = i64::from(rest % extent) + i64::from(step);
            let inside = (0..i64::from(extent)).contains(&moved);
            if along == Along::Line && !inside {
                return None;
            }
            out += moved.rem_euclid(i64::from(extent)) as u32 * stride;
            rest /= extent;
            stride *= extent;
        }
        Some(out)
    }
}

/// Every step along one dimension with its hops.
fn choices(extent: u32, along: Along) -> Vec<(i32, u32)> {
    let extent = extent as i32;
    match along {
        Along::Line => (1 - extent..extent).map(|step| (step, step.unsigned_abs())).collect(),
        Along::Ring => (0..extent).map(|step| (step, step.min(extent - step) as u32)).collect(),
        Along::Clique => (0..extent).map(|step| (step, u32::from(step != 0))).collect(),
    }
}
