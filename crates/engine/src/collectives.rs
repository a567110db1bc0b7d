//! Collectives under way: expanded round by round, or handed to the network as pipelines.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use stratasim_core::model::{Member, Pipeline};
use stratasim_core::{NodeId, Slots, Time};
use stratasim_workload::collective::kernel::{Family, Fixed, Held, Kernel};
use stratasim_workload::collective::{Action, Combine, Plan};
use stratasim_workload::program::{Collective, Gate, Program, Seat, Subgroups, VertexId};

/// A collective of which at least one member came.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) vertex: VertexId,
    pub(crate) iteration: u32,
    pub(crate) plan: Arc<dyn Plan>,
    pub(crate) group: u32,
    /// Where it is one of those into which the group of the vertex is cut: all of them.
    subgroups: Option<Subgroups>,
    gate: Gate,
    /// Members that came; kept in order where all must come first.
    came: Vec<u32>,
    left: u32,
    /// Round state by member; empty when the network runs the pipeline.
    members: Vec<RoundState>,
    /// When each member went in, and what it sent to other nodes since.
    efforts: Vec<Effort>,
    /// Messages ahead of the receiver's round (positive) or awaited by it (negative), by
    /// (receiver, sender).
    balance: FxHashMap<(u32, u32), i32>,
    /// Who waits in which meeting.
    meetings: BTreeMap<u64, Vec<u32>>,
    pub(crate) is_pipeline: bool,
}

impl Run {
    /// The instance of the vertex that is a member.
    pub(crate) fn instance_of(&self, member: u32) -> u32 {
        self.subgroups.map_or(member, |all| all.division.member(self.group - all.first, member))
    }
}

/// What a member of a collective did so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Effort {
    /// When it went in.
    pub(crate) since: Time,
    /// Bytes it sent to other nodes.
    pub(crate) bytes: u64,
    /// Messages with them.
    pub(crate) messages: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct RoundState {
    /// Round in progress.
    round: u32,
    /// Sends and receives of the round that are not done.
    open: u32,
    inside: bool,
}

/// A message of a round under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundMessage {
    pub(crate) run: u32,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) bytes: u64,
    pub(crate) start: Time,
}

/// A member stores into the memory that the members share, or loads what another member has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    pub(crate) run: u32,
    pub(crate) member: u32,
    pub(crate) bytes: u64,
    pub(crate) way: Way,
}

/// Where an access goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    /// Into the shared memory.
    Store,
    /// From a member's own memory, or from the shared one; with the rate of additions where they are added.
    Load { from: u32, at: Held, adds: Option<Family> },
}

/// What a collective asks of the engine.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ask {
    /// Send a message; the slot names it.
    Send(u32),
    /// Store or load; the slot names it.
    Access(u32),
    /// Let a fixed time pass for the member of the run.
    Fixed { run: u32, member: u32, fixed: Fixed },
    /// Let the member of the run read or write its own memory.
    Local { run: u32, member: u32, bytes: u64 },
    /// The member of the run is done.
    Done { run: u32, member: u32 },
    /// The member joins the run's pipeline.
    Join { run: u32, member: u32 },
    /// Open the run's pipeline.
    Open { run: u32 },
}

/// What makes pipelines equal: group, steps, bytes of a chunk, longer chunks.
type Shape = (u32, u32, u64, u32);

/// All collectives under way.
#[derive(Debug, Default)]
pub(crate) struct Collectives {
    /// By vertex, iteration and group.
    active: FxHashMap<(VertexId, u32, u32), u32>,
    runs: Slots<Option<Run>>,
    pub(crate) messages: Slots<RoundMessage>,
    pub(crate) accesses: Slots<Access>,
    actions: Vec<Action>,
    /// Equal collectives share one pipeline.
    pipelines: Vec<(Shape, Arc<Pipeline>)>,
}

impl Collectives {
    /// A member, which has a `seat` among those that go together, comes to iteration `iteration` of `vertex`. Appends what to
    /// do, in order.
    #[expect(clippy::too_many_arguments, reason = "the identity of a member of a collective is that long")]
    pub(crate) fn join(
        &mut self,
        vertex: VertexId,
        iteration: u32,
        collective: &Collective,
        seat: Seat,
        pipelines: bool,
        now: Time,
        asks: &mut Vec<Ask>,
    ) {
        let Seat { group, members, place: member } = seat;
        let id = match self.active.get(&(vertex, iteration, group)) {
            Some(&id) => id,
            None => {
                let is_pipeline = pipelines && collective.plan.pipeline().is_some();
                let run = Run {
                    vertex,
                    iteration,
                    plan: collective.plan.clone(),
                    group,
                    subgroups: collective.subgroups,
                    gate: collective.gate,
                    came: Vec::new(),
                    left: members,
                    members: if is_pipeline {
                        Vec::new()
                    } else {
                        vec![RoundState::default(); members as usize]
                    },
                    efforts: vec![Effort::default(); members as usize],
                    balance: FxHashMap::default(),
                    meetings: BTreeMap::new(),
                    is_pipeline,
                };
                let id = self.runs.insert(Some(run));
                self.active.insert((vertex, iteration, group), id);
                if is_pipeline {
                    asks.push(Ask::Open { run: id });
                }
                id
            }
        };
        let run = self.runs[id].as_mut().expect("an active run exists");
        if run.gate == Gate::AllMembers {
            run.came.push(member);
            if run.came.len() < members as usize {
                return;
            }
            for member in std::mem::take(&mut run.came) {
                self.enter(id, member, now, asks);
            }
        } else {
            self.enter(id, member, now, asks);
        }
    }

    fn enter(&mut self, id: u32, member: u32, now: Time, asks: &mut Vec<Ask>) {
        let run = self.run(id);
        run.efforts[member as usize].since = now;
        if run.is_pipeline {
            asks.push(Ask::Join { run: id, member });
            return;
        }
        run.members[member as usize].inside = true;
        self.rounds(id, member, now, asks);
    }

    /// Runs the rounds of a member until one has something open, or all are done.
    fn rounds(&mut self, id: u32, member: u32, now: Time, asks: &mut Vec<Ask>) {
        loop {
            let run = self.runs[id].as_mut().expect("an active run exists");
            let round = run.members[member as usize].round;
            if round == run.plan.rounds(member) {
                asks.push(Ask::Done { run: id, member });
                return;
            }
            self.actions.clear();
            run.plan.round(member, round, &mut self.actions);
            let mut open = 0;
            let mut met = Vec::new();
            for action in &self.actions {
                match *action {
                    Action::Kernel(Kernel::Meet { group, members }) => {
                        let waiting = run.meetings.entry(group).or_default();
                        if waiting.len() as u32 + 1 < members {
                            waiting.push(member);
                            open += 1;
                        } else {
                            met.append(waiting);
                        }
                    }
                    Action::Kernel(Kernel::Fixed(fixed)) => {
                        open += 1;
                        asks.push(Ask::Fixed { run: id, member, fixed });
                    }
                    Action::Kernel(Kernel::Local { bytes }) => {
                        open += 1;
                        asks.push(Ask::Local { run: id, member, bytes });
                    }
                    Action::Kernel(Kernel::Store { bytes, .. }) => {
                        let access = Access { run: id, member, bytes, way: Way::Store };
                        open += 1;
                        asks.push(Ask::Access(self.accesses.insert(access)));
                    }
                    Action::Kernel(Kernel::Load { from, at, bytes, combine, family, .. }) => {
                        let adds = (combine != Combine::Copy).then_some(family);
                        let way = Way::Load { from, at, adds };
                        open += 1;
                        asks.push(Ask::Access(self.accesses.insert(Access { run: id, member, bytes, way })));
                    }
                    Action::Send { to, bytes, .. } => {
                        let message = RoundMessage { run: id, from: member, to, bytes, start: now };
                        let slot = self.messages.insert(message);
                        open += 1;
                        asks.push(Ask::Send(slot));
                    }
                    Action::Receive { from, .. } => {
                        let balance = run.balance.entry((member, from)).or_insert(0);
                        *balance -= 1;
                        if *balance < 0 {
                            open += 1;
                        } else if *balance == 0 {
                            run.balance.remove(&(member, from));
                        }
                    }
                }
            }
            run.members[member as usize].open = open;
            if open == 0 {
                run.members[member as usize].round += 1;
            }
            for other in met {
                self.close(id, other, now, asks);
            }
            if open > 0 {
                return;
            }
        }
    }

    /// `member` sends `messages` with `bytes` together to another node.
    #[inline]
    pub(crate) fn sends(&mut self, id: u32, member: u32, messages: u32, bytes: u64) {
        let effort = &mut self.run(id).efforts[member as usize];
        effort.bytes += bytes;
        effort.messages += messages;
    }

    /// What a member did.
    pub(crate) fn effort(&mut self, id: u32, member: u32) -> Effort {
        self.run(id).efforts[member as usize]
    }

    /// A message of a round has arrived: both ends may go on.
    pub(crate) fn delivered(&mut self, slot: u32, now: Time, asks: &mut Vec<Ask>) -> RoundMessage {
        let message = self.messages[slot];
        self.messages.release(slot);
        let run = self.run(message.run);
        let balance = run.balance.entry((message.to, message.from)).or_insert(0);
        *balance += 1;
        let awaited = *balance <= 0;
        if *balance == 0 {
            run.balance.remove(&(message.to, message.from));
        }
        self.close(message.run, message.from, now, asks);
        if awaited {
            self.close(message.run, message.to, now, asks);
        }
        message
    }

    /// What a member stored or loaded is there.
    pub(crate) fn accessed(&mut self, slot: u32, now: Time, asks: &mut Vec<Ask>) {
        let Access { run, member, .. } = self.accesses[slot];
        self.accesses.release(slot);
        self.close(run, member, now, asks);
    }

    /// One part of a member's round is done.
    pub(crate) fn close(&mut self, id: u32, member: u32, now: Time, asks: &mut Vec<Ask>) {
        let state = &mut self.run(id).members[member as usize];
        state.open -= 1;
        if state.open == 0 {
            state.round += 1;
            self.rounds(id, member, now, asks);
        }
    }

    /// A member left; whether it was the last one (the run is gone then).
    pub(crate) fn left(&mut self, id: u32) -> bool {
        let run = self.run(id);
        run.left -= 1;
        if run.left > 0 {
            return false;
        }
        let key = (run.vertex, run.iteration, run.group);
        self.active.remove(&key);
        self.runs[id] = None;
        self.runs.release(id);
        true
    }

    pub(crate) fn run(&mut self, id: u32) -> &mut Run {
        self.runs[id].as_mut().expect("an active run exists")
    }

    /// The pipeline of a run.
    pub(crate) fn pipeline(&mut self, id: u32, program: &Program, nodes: &[NodeId]) -> Arc<Pipeline> {
        let run = self.runs[id].as_ref().expect("an active run exists");
        let shape = run.plan.pipeline().expect("only such runs are pipelines");
        let key = (run.group, shape.steps, shape.chunk_bytes, shape.longer_chunks);
        if let Some((_, known)) = self.pipelines.iter().find(|(known, _)| *known == key) {
            return known.clone();
        }
        let members = program.groups()[run.group as usize]
            .iter()
            .map(|&rank| Member { rank, node: nodes[rank.index()] })
            .collect();
        let pipeline = Arc::new(Pipeline {
            members,
            steps: shape.steps,
            chunk_bytes: shape.chunk_bytes,
            longer_chunks: shape.longer_chunks,
        });
        self.pipelines.push((key, pipeline.clone()));
        pipeline
    }

    /// What a member waits for, for the report of a stalled run.
    pub(crate) fn describe(&self, vertex: VertexId, iteration: u32, seat: Seat) -> String {
        let Seat { group, place: member, .. } = seat;
        let Some(run) = self.active.get(&(vertex, iteration, group)).and_then(|&id| self.runs[id].as_ref())
        else {
            return "its members".to_owned();
        };
        if run.gate == Gate::AllMembers && !run.came.is_empty() {
            return format!("all members to come, {} did", run.came.len());
        }
        match run.members.get(member as usize) {
            Some(state) if state.inside => {
                let mut senders: Vec<u32> = run
                    .balance
                    .iter()
                    .filter(|((to, _), balance)| *to == member && **balance < 0)
                    .map(|((_, from), _)| *from)
                    .collect();
                senders.sort_unstable();
                if run.meetings.values().any(|waiting| waiting.contains(&member)) {
                    return format!("the others to come to round {}", state.round);
                }
                if senders.is_empty() {
                    return format!("its own messages of round {} to arrive", state.round);
                }
                let senders: Vec<_> = senders.iter().take(4).map(u32::to_string).collect();
                format!("round {}: messages from member {}", state.round, senders.join(", "))
            }
            _ => "other members".to_owned(),
        }
    }
}
