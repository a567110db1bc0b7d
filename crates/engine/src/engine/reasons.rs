//! Why a run cannot go on: a message that failed, tasks that wait for ever.

use stratasim_core::{Rank, Token};
use stratasim_workload::program::{Op, Stream, VertexId};

use super::Engine;
use crate::error::RunError;
use crate::token::{Part, task_of, unpack};

impl Engine<'_> {
    pub(super) fn name(&self, vertex: VertexId, rank: Rank) -> String {
        format!("`{}` on rank {rank}", self.program.name(vertex))
    }

    pub(super) fn failed(&mut self) -> RunError {
        let (token, reason) = self.network.failure().unwrap_or((Token(0), "unknown".to_owned()));
        let (part, number) = unpack(token);
        let (vertex, rank) = match part {
            Part::Round => {
                let message = self.collectives.messages[number as u32];
                let run = self.collectives.run(message.run);
                (run.vertex, self.program.groups()[run.group as usize][message.from as usize])
            }
            Part::Pipeline => {
                // all members at once: the reason names those that it concerns
                let task = format!("`{}`", self.program.name(self.collectives.run(number as u32).vertex));
                return RunError::Failed { at: self.now, task, reason };
            }
            Part::Access => {
                let access = self.collectives.accesses[number as u32];
                let run = self.collectives.run(access.run);
                (run.vertex, self.program.groups()[run.group as usize][access.member as usize])
            }
            _ => {
                let (vertex, index) = task_of(number);
                (vertex, self.instances.rank(self.program, vertex, index))
            }
        };
        RunError::Failed { at: self.now, task: self.name(vertex, rank), reason }
    }

    /// Names the first tasks that wait, and what for.
    pub(super) fn stalled(&self) -> RunError {
        const NAMED: usize = 12;
        let mut waiting = Vec::new();
        'all: for vertex in 0..self.program.vertices().len() as VertexId {
            for index in 0..self.instances.len(vertex) {
                let instance = self.instances.number(vertex, index);
                if self.instances.is_over(instance) {
                    continue;
                }
                let rank = self.instances.rank(self.program, vertex, index);
                let name = self.name(vertex, rank);
                let unmet = self.instances.waits_for(self.program, vertex, index);
                waiting.push(match unmet.first() {
                    Some(&(before, on)) => format!("  {name} waits for {}", self.name(before, on)),
                    None => format!("  {name} waits for {}", self.waits_inside(vertex, index, rank)),
                });
                if waiting.len() == NAMED {
                    waiting.push("  ...".to_owned());
                    break 'all;
                }
            }
        }
        RunError::Stalled { at: self.now, count: self.left, waiting }
    }

    /// What a task waits for whose dependencies are met.
    fn waits_inside(&self, vertex: VertexId, index: u32, rank: Rank) -> String {
        let stream = self.program.vertex(vertex).stream;
        if stream != Stream::NONE {
            let state = &self.streams[rank.index() * self.streams_per_rank + stream.0 as usize];
            if let Some((other, _)) = state.running
                && state.queue.contains(&(vertex, index))
            {
                let other = self.program.name(other);
                return format!("stream {} of the rank, on which `{other}` runs", stream.0);
            }
        }
        match self.program.vertex(vertex).op {
            Op::Receive { from, tag } => {
                let from =
                    self.program.peer(rank, from).map_or("any rank".to_owned(), |r| format!("rank {r}"));
                let tag = tag.map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
                format!("a message from {from} with {tag}")
            }
            Op::Send { to, tag, .. } => {
                let to = self.program.peer(rank, to).map_or("any rank".to_owned(), |r| format!("rank {r}"));
                format!("{to} to receive tag {tag}")
            }
            Op::Collective(ref collective) => {
                let iteration = self.instances.iteration(self.instances.number(vertex, index));
                let seat = collective.seat(index, self.instances.len(vertex));
                self.collectives.describe(vertex, iteration, seat)
            }
            Op::Compute(_) | Op::Transfer { .. } => {
                "a node or link without rate, or takes longer than 213 days".to_owned()
            }
            _ => "its stream".to_owned(),
        }
    }
}
