//! Any collective of the library, written out.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{GenerateContext, RankSchedules, RankWriter, SchedulePattern, behind};
use crate::collective::{Action, CollectiveKind, CollectiveSpec, Combine, PipelineShape, Plan};

/// A collective of the library as the operations of its rounds. Everything of a round waits for
/// everything of the round before; where that takes fewer dependencies, through a computation of no time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Collective {
    /// What is computed.
    pub operation: CollectiveKind,
    /// How; when absent, `ring` or what the operation is usually done with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<CollectiveSpec>,
    /// Sizes of the machine's dimensions, innermost first, for algorithms that ask.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dimensions: Vec<u32>,
    /// Computation for each vector that is added to one's own, in picoseconds per byte. It starts when
    /// the message has come, and the next round waits for it.
    #[serde(default)]
    pub reduction_ps_per_byte: u64,
}

impl SchedulePattern for Collective {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        let algorithm = self.algorithm.clone().unwrap_or_else(|| self.operation.usual_algorithm());
        let plan = algorithm
            .plugin()
            .plan_on(self.operation, context.ranks, context.step_bytes(), &self.dimensions)
            .map_err(|error| error.within("algorithm"))?;
        if plan.shared().is_some() {
            let reason = "this is for the core groups of a card, and a schedule has messages only";
            return Err(BuildError::new("algorithm.kind", reason));
        }
        // every round has an action, so what is far too long is known at once
        let rounds = (0..context.ranks).try_fold(0_u64, |sum, rank| {
            let sum = sum + u64::from(plan.rounds(rank));
            if sum > u64::from(u32::MAX) { Err(too_long(rank)) } else { Ok(sum) }
        });
        rounds?;
        let mut written = Written {
            incoming: Incoming::Messages(Vec::new()),
            plan,
            reduction_ps_per_byte: self.reduction_ps_per_byte,
            size: (0, 0),
            actions: Vec::new(),
            round: Vec::new(),
            before: Vec::new(),
        };
        for rank in 0..context.ranks {
            written.count(rank)?;
        }
        written.incoming = Incoming::of(&*written.plan, context.ranks)?;
        Ok(Box::new(written))
    }
}

#[derive(Debug)]
struct Written {
    plan: Box<dyn Plan>,
    incoming: Incoming,
    reduction_ps_per_byte: u64,
    size: (u64, u64),
    actions: Vec<Action>,
    /// What the next round waits for, of the round in hand and of the one before.
    round: Vec<u32>,
    before: Vec<u32>,
}

/// A join is written where it saves dependencies.
fn joined(before: usize, now: usize) -> bool {
    before * now > before + now
}

impl Written {
    /// Adds the operations and dependencies of `rank` to the size.
    fn count(&mut self, rank: u32) -> Result<(), BuildError> {
        let mut before = 0;
        for round in 0..self.plan.rounds(rank) {
            self.actions.clear();
            self.plan.round(rank, round, &mut self.actions);
            let now = self.actions.len();
            let reductions = match self.reduction_ps_per_byte {
                0 => 0,
                _ => self.actions.iter().filter(|action| reduces(action)).count(),
            };
            let join = usize::from(joined(before, now));
            let edges = if join == 1 { before + now } else { before * now };
            self.size.0 += (now + reductions + join) as u64;
            self.size.1 += (edges + reductions) as u64;
            before = now;
        }
        if self.size.0.max(self.size.1) > u64::from(u32::MAX) {
            return Err(too_long(rank));
        }
        Ok(())
    }
}

fn too_long(rank: u32) -> BuildError {
    let reason = format!(
        "a schedule holds 2^32 - 2 operations, this one has as many before it is through rank {rank}"
    );
    BuildError::new("ranks", reason)
}

fn reduces(action: &Action) -> bool {
    matches!(action, Action::Receive { combine: Combine::Reduce, .. })
}

impl RankSchedules for Written {
    fn size(&self) -> (u64, u64) {
        self.size
    }

    fn write(&mut self, rank: u32, out: &mut RankWriter<'_>) {
        self.before.clear();
        let mut taken = BTreeMap::new();
        for round in 0..self.plan.rounds(rank) {
            self.actions.clear();
            self.plan.round(rank, round, &mut self.actions);
            if joined(self.before.len(), self.actions.len()) {
                let join = out.calc(0);
                self.before.drain(..).for_each(|before| out.requires(join, before));
                self.before.push(join);
            }
            self.round.clear();
            for action in &self.actions {
                let (place, bytes) = match *action {
                    Action::Send { to, bytes, .. } => (out.send(bytes, to), bytes),
                    Action::Receive { from, .. } => {
                        let bytes = self.incoming.take(rank, round, from, &mut taken);
                        (out.receive(bytes, from), bytes)
                    }
                    Action::Kernel(_) => unreachable!("refused before"),
                };
                self.before.iter().for_each(|&before| out.requires(place, before));
                self.round.push(if self.reduction_ps_per_byte > 0 && reduces(action) {
                    let ps = u128::from(bytes) * u128::from(self.reduction_ps_per_byte);
                    let addition = out.calc(u64::try_from(ps.div_ceil(1000)).unwrap_or(u64::MAX));
                    out.requires(addition, place);
                    addition
                } else {
                    place
                });
            }
            std::mem::swap(&mut self.before, &mut self.round);
        }
    }
}

/// Bytes of the messages that a member receives. A plan says them at the sender; the messages between
/// two members match in order.
#[derive(Debug)]
enum Incoming {
    /// In every round the member before sends chunk `sender - round`.
    Pipeline { members: u32, shape: PipelineShape },
    /// (receiver << 32 | sender, bytes), ascending, those of a pair in the order of the sends.
    Messages(Vec<(u64, u64)>),
}

impl Incoming {
    fn of(plan: &dyn Plan, members: u32) -> Result<Self, BuildError> {
        if let Some(shape) = plan.pipeline() {
            return Ok(Self::Pipeline { members, shape });
        }
        let (mut messages, mut actions) = (Vec::new(), Vec::new());
        let mut received = Vec::new();
        for member in 0..members {
            for round in 0..plan.rounds(member) {
                actions.clear();
                plan.round(member, round, &mut actions);
                for action in &actions {
                    match *action {
                        Action::Send { to, bytes, .. } => messages.push((key(to, member), bytes)),
                        Action::Receive { from, .. } => received.push(key(member, from)),
                        Action::Kernel(_) => unreachable!("refused before"),
                    }
                }
            }
        }
        messages.sort_by_key(|(pair, _)| *pair);
        received.sort_unstable();
        if !messages.iter().map(|(pair, _)| *pair).eq(received) {
            let reason = "the messages that the algorithm sends are not those that it receives";
            return Err(BuildError::new("algorithm", reason));
        }
        Ok(Self::Messages(messages))
    }

    /// Bytes of the next message to `rank` from `from`; `taken` counts those of each sender.
    fn take(&self, rank: u32, round: u32, from: u32, taken: &mut BTreeMap<u32, usize>) -> u64 {
        match self {
            Self::Pipeline { members, shape } => {
                let chunk = behind(from, round % members, *members);
                shape.chunk_bytes + u64::from(chunk < shape.longer_chunks)
            }
            Self::Messages(messages) => {
                let first = || messages.partition_point(|(pair, _)| *pair < key(rank, from));
                let next = taken.entry(from).or_insert_with(first);
                *next += 1;
                messages[*next - 1].1
            }
        }
    }
}

fn key(to: u32, from: u32) -> u64 {
    u64::from(to) << 32 | u64::from(from)
}
