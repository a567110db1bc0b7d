//! One algorithm per dimension of the machine.

use std::ops::Range;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::key;

use super::kernel::{Kernel, Shared};
use super::{Action, CollectiveAlgorithm, CollectiveKind, CollectiveSpec, Plan, bytes_of, check};

/// Reduce-scatter, all-gather and all-reduce dimension by dimension.
///
/// Members are numbered along the dimensions, innermost first: of 8 x 16, members 0 to 7 lie in
/// the first group of the inner dimension. A reduce-scatter goes from the innermost dimension
/// outwards, so that outer, slower dimensions see only the part that is left; an all-gather comes
/// back inwards; an all-reduce does both, with an all-reduce over what is left in the outermost
/// dimension (as multi-dimensional collectives are run on hierarchical training fabrics, ASTRA-sim 2.0,
/// 2023). With dimensions `d0, d1, ...` a member sends `2 B (d0 - 1) / d0` bytes in the innermost
/// one, `2 B (d1 - 1) / (d0 d1)` in the next one, and so on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hierarchical {
    /// Sizes of the dimensions, innermost first; their product is the number of members. The
    /// topology's own dimensions when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<Vec<u32>>,
    /// Algorithm of each dimension, innermost first; the last one also serves the dimensions after
    /// it. `ring` everywhere when empty.
    #[serde(default)]
    pub algorithms: Vec<CollectiveSpec>,
}

const DOES: [CollectiveKind; 3] =
    [CollectiveKind::AllReduce, CollectiveKind::ReduceScatter, CollectiveKind::AllGather];

impl CollectiveAlgorithm for Hierarchical {
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
        self.plan_on(kind, members, bytes, &[])
    }

    fn plan_on(
        &self,
        kind: CollectiveKind,
        members: u32,
        bytes: u64,
        dimensions: &[u32],
    ) -> Result<Box<dyn Plan>, BuildError> {
        check("hierarchical", &DOES, kind, members, bytes)?;
        let sizes = self.dimensions.as_deref().unwrap_or(dimensions);
        if sizes.is_empty() {
            return Err(BuildError::new(
                "dimensions",
                "the topology names no dimensions; give their sizes, innermost first, such as `[8, 16]`",
            ));
        }
        let product = sizes.iter().try_fold(1_u32, |product, &size| product.checked_mul(size));
        if product != Some(members) {
            let sizes: Vec<_> = sizes.iter().map(u32::to_string).collect();
            return Err(BuildError::new(
                "dimensions",
                format!(
                    "dimensions {} do not make {members} members; give sizes whose product is {members}",
                    sizes.join(" x ")
                ),
            ));
        }
        let last = self.algorithms.len().saturating_sub(1);
        let default = CollectiveSpec::default();
        let levels = sizes.iter().enumerate().filter(|&(_, &size)| size > 1).map(|(dimension, &size)| {
            let algorithm = self.algorithms.get(dimension.min(last)).unwrap_or(&default);
            (dimension, size, algorithm.plugin())
        });
        Hierarchy::new(kind, members, bytes, levels.collect())
            .map(|plan| Box::new(plan) as Box<dyn Plan>)
            .map_err(|error| error.within("algorithms"))
    }
}

/// A dimension of more than one member.
#[derive(Debug)]
struct Level {
    size: u32,
    /// Members from one coordinate to the next.
    stride: u32,
    /// Chunks that one chunk of this dimension's plans holds.
    unit: u32,
    /// The chunk of this dimension for which each coordinate is responsible.
    chunk_of: Vec<u32>,
}

/// One plan over all groups of one dimension at the same time.
#[derive(Debug)]
struct Phase {
    level: usize,
    plan: Box<dyn Plan>,
    /// What the plan calls chunk `c` is chunk `names[c]` of the level, where they differ.
    names: Option<Vec<u32>>,
}

#[derive(Debug)]
struct Hierarchy {
    members: u32,
    bytes: u64,
    chunks: u32,
    levels: Vec<Level>,
    phases: Vec<Phase>,
    total_bytes: OnceLock<u64>,
}

impl Hierarchy {
    fn new(
        kind: CollectiveKind,
        members: u32,
        bytes: u64,
        dimensions: Vec<(usize, u32, &dyn CollectiveAlgorithm)>,
    ) -> Result<Self, BuildError> {
        let all_reduce = kind == CollectiveKind::AllReduce;
        let mut phases = Vec::new();
        let mut back = Vec::new();
        let mut chunk_of = Vec::new();
        let mut part = bytes;
        for (level, &(dimension, size, algorithm)) in dimensions.iter().enumerate() {
            let plan = |kind| {
                let plan = algorithm.plan(kind, size, part).and_then(neighbouring);
                let plan = plan.and_then(|plan| fits_level(level, plan));
                plan.map_err(|error| error.within(&dimension.to_string()))
            };
            let outermost = level + 1 == dimensions.len();
            if all_reduce && outermost {
                chunk_of.push(vec![0; size as usize]);
                phases.push(Phase { level, plan: plan(CollectiveKind::AllReduce)?, names: None });
                break;
            }
            let scatter = if kind == CollectiveKind::AllGather {
                None
            } else {
                Some(plan(CollectiveKind::ReduceScatter)?)
            };
            let gather = if kind == CollectiveKind::ReduceScatter {
                None
            } else {
                Some(plan(CollectiveKind::AllGather)?)
            };
            let held = held(size, scatter.as_deref().or(gather.as_deref()).expect("one of them is planned"))?;
            if let Some(plan) = gather {
                let names = (0..size).map(|chunk| held[plan.owner(chunk) as usize]).collect::<Vec<_>>();
                let same = names.iter().enumerate().all(|(chunk, &name)| chunk as u32 == name);
                back.push(Phase { level, plan, names: (!same).then_some(names) });
            }
            phases.extend(scatter.map(|plan| Phase { level, plan, names: None }));
            chunk_of.push(held);
            part /= u64::from(size);
        }
        phases.extend(back.into_iter().rev());

        // chunks of the whole: those of the outermost all-reduce within each part of the inner ones
        let sizes: Vec<u32> = dimensions.iter().map(|&(_, size, _)| size).collect();
        let within = |level: usize| -> Option<u32> {
            let last = sizes.len() - 1;
            let finest = if all_reduce { phase_chunks(&phases, last) } else { sizes[last] };
            sizes[level + 1..].iter().enumerate().try_fold(1_u32, |unit, (at, &size)| {
                unit.checked_mul(if level + 1 + at == last { finest } else { size })
            })
        };
        let mut levels = Vec::new();
        let mut stride = 1;
        for (level, chunk_of) in chunk_of.into_iter().enumerate() {
            let unit = within(level).ok_or_else(too_many_chunks)?;
            levels.push(Level { size: sizes[level], stride, unit, chunk_of });
            stride *= sizes[level];
        }
        let chunks = match levels.first() {
            None => 1,
            Some(first) => phase_chunks(&phases, 0).checked_mul(first.unit).ok_or_else(too_many_chunks)?,
        };
        Ok(Self { members, bytes, chunks, levels, phases, total_bytes: OnceLock::new() })
    }

    fn coordinate(&self, level: usize, member: u32) -> u32 {
        let level = &self.levels[level];
        member / level.stride % level.size
    }

    /// First chunk of the part that the inner dimensions leave to `member`.
    fn part(&self, level: usize, member: u32) -> u32 {
        let inner = self.levels[..level].iter().enumerate();
        inner.map(|(at, inner)| inner.chunk_of[self.coordinate(at, member) as usize] * inner.unit).sum()
    }

    /// Turns an action of a dimension's plan into one of the whole: members count from `first` in
    /// steps of the dimension, chunks from `part`.
    fn widen(&self, phase: &Phase, first: u32, part: u32, action: &mut Action) {
        let Level { stride, unit, .. } = self.levels[phase.level];
        if let Some(chunks) = action.chunks_mut() {
            *chunks = part + chunks.start * unit..part + chunks.end * unit;
        }
        match action {
            Action::Send { to, chunks, bytes } => {
                *to = first + *to * stride;
                *bytes = bytes_of(self.bytes, self.chunks, chunks.clone());
            }
            Action::Receive { from, .. } => *from = first + *from * stride,
            Action::Kernel(Kernel::Load { from, chunks, bytes, .. }) => {
                *from = first + *from * stride;
                *bytes = bytes_of(self.bytes, self.chunks, chunks.clone());
            }
            Action::Kernel(Kernel::Store { chunks, bytes }) => {
                *bytes = bytes_of(self.bytes, self.chunks, chunks.clone());
            }
            // members of each card meet among themselves
            Action::Kernel(Kernel::Meet { group, .. }) => *group = key(*group, first.into()),
            Action::Kernel(Kernel::Local { .. } | Kernel::Fixed(_)) => {}
        }
    }
}

/// The names of `chunks` as ranges; several where neighbours have names that are not neighbours.
fn runs(names: &[u32], chunks: Range<u32>) -> Vec<Range<u32>> {
    let mut runs: Vec<Range<u32>> = Vec::new();
    for chunk in chunks {
        let name = names[chunk as usize];
        match runs.last_mut() {
            Some(run) if run.end == name => run.end += 1,
            _ => runs.push(name..name + 1),
        }
    }
    runs
}

fn phase_chunks(phases: &[Phase], level: usize) -> u32 {
    phases.iter().find(|phase| phase.level == level).map_or(1, |phase| phase.plan.chunks())
}

/// Refuses a plan whose messages are no runs of chunks: they could not be cut into those of the whole.
fn neighbouring(plan: Box<dyn Plan>) -> Result<Box<dyn Plan>, BuildError> {
    if plan.numbers_messages() {
        let reason = "its messages carry parts that are not neighbours, which a hierarchy cannot cut; \
                      choose `ring`, `recursive` or `direct`";
        return Err(BuildError::new("kind", reason));
    }
    Ok(plan)
}

/// Refuses a plan for core groups of one card where they are no neighbours, outside of the innermost dimension, and
/// one that begins with inputs in the card's memory, where no phase leaves them.
fn fits_level(level: usize, plan: Box<dyn Plan>) -> Result<Box<dyn Plan>, BuildError> {
    let reason = match plan.shared() {
        Some(shared) if shared.holds_inputs => {
            "its inputs are in Global memory when it begins, and no phase of a hierarchy puts them there; choose `card-csc`"
        }
        Some(_) if level > 0 => "this is for the core groups of one card, which are the innermost dimension",
        _ => return Ok(plan),
    };
    Err(BuildError::new("kind", reason))
}

fn too_many_chunks() -> BuildError {
    BuildError::new("", "the dimensions together cut the data into more than 2^32 chunks")
}

/// The chunk that each member of a dimension is responsible for.
fn held(size: u32, plan: &dyn Plan) -> Result<Vec<u32>, BuildError> {
    let mut held = vec![u32::MAX; size as usize];
    if plan.chunks() == size {
        (0..size).for_each(|chunk| held[plan.owner(chunk) as usize] = chunk);
    }
    if held.contains(&u32::MAX) {
        return Err(BuildError::new("", "an inner dimension needs an algorithm with one chunk per member"));
    }
    Ok(held)
}

impl Plan for Hierarchy {
    fn rounds(&self, member: u32) -> u32 {
        self.phases.iter().map(|phase| phase.plan.rounds(self.coordinate(phase.level, member))).sum()
    }

    fn round(&self, member: u32, mut round: u32, out: &mut Vec<Action>) {
        for phase in &self.phases {
            let coordinate = self.coordinate(phase.level, member);
            let rounds = phase.plan.rounds(coordinate);
            if round >= rounds {
                round -= rounds;
                continue;
            }
            let stride = self.levels[phase.level].stride;
            let first = member - coordinate * stride;
            let part = self.part(phase.level, member);
            let from = out.len();
            phase.plan.round(coordinate, round, out);
            let Some(names) = &phase.names else {
                out[from..].iter_mut().for_each(|action| self.widen(phase, first, part, action));
                return;
            };
            for action in out.split_off(from) {
                let Some(chunks) = action.chunks().cloned() else {
                    let mut action = action;
                    self.widen(phase, first, part, &mut action);
                    out.push(action);
                    continue;
                };
                for chunks in runs(names, chunks) {
                    let mut piece = action.clone();
                    piece.chunks_mut().into_iter().for_each(|of_piece| *of_piece = chunks.clone());
                    self.widen(phase, first, part, &mut piece);
                    out.push(piece);
                }
            }
            return;
        }
    }

    fn chunks(&self) -> u32 {
        self.chunks
    }

    fn owner(&self, chunk: u32) -> u32 {
        let mut rest = chunk;
        let mut member = 0;
        for level in &self.levels {
            let held = rest / level.unit;
            rest %= level.unit;
            let coordinate = level.chunk_of.iter().position(|&chunk| chunk == held).unwrap_or(0);
            member += coordinate as u32 * level.stride;
        }
        member
    }

    fn shared(&self) -> Option<Shared> {
        // phases run one after another and use the same memory
        let shared = self.phases.iter().filter_map(|phase| phase.plan.shared());
        shared.reduce(|a, b| Shared {
            members: a.members.max(b.members),
            bytes: a.bytes.max(b.bytes),
            own_bytes: a.own_bytes.max(b.own_bytes),
            holds_inputs: false,
        })
    }

    fn total_bytes(&self) -> u64 {
        *self.total_bytes.get_or_init(|| {
            let mut actions = Vec::new();
            let phases = self.phases.iter().map(|phase| {
                // how often each chunk of the dimension's plan is sent within one group
                let size = self.levels[phase.level].size;
                let mut sends = vec![0_i64; phase.plan.chunks() as usize + 1];
                for coordinate in 0..size {
                    for round in 0..phase.plan.rounds(coordinate) {
                        actions.clear();
                        phase.plan.round(coordinate, round, &mut actions);
                        for action in &actions {
                            if let Some((chunks, _)) = action.moved() {
                                sends[chunks.start as usize] += 1;
                                sends[chunks.end as usize] -= 1;
                            }
                        }
                    }
                }
                for chunk in 1..sends.len() {
                    sends[chunk] += sends[chunk - 1];
                }
                let level = &self.levels[phase.level];
                let groups = self.members / size;
                let parts = self.chunks / (phase.plan.chunks() * level.unit);
                let per_part: u64 = (0..parts)
                    .map(|part| {
                        let first = part * phase.plan.chunks() * level.unit;
                        (0..phase.plan.chunks())
                            .map(|chunk| {
                                let name = phase.names.as_ref().map_or(chunk, |names| names[chunk as usize]);
                                let from = first + name * level.unit;
                                sends[chunk as usize] as u64
                                    * bytes_of(self.bytes, self.chunks, from..from + level.unit)
                            })
                            .sum::<u64>()
                    })
                    .sum();
                per_part * u64::from(groups / parts)
            });
            phases.sum()
        })
    }
}
