//! Collectives between the core groups of one card, member by member: what `card-ring`, `card-csc` and
//! `card-direct` have in common.
//!
//! After SW-IntraCC (Zhao et al., 2025), equation 3 for the ring, algorithms 1 and 2 for CSC. Copies are made by
//! the group that gets the data.

use stratasim_core::BuildError;

use super::kernel::{Family, Fixed, Held, Kernel, Shared};
use super::{Action, CollectiveAlgorithm, CollectiveKind, Combine, Plan, bytes_of, check};

/// Most members: every member keeps its list.
const MOST_MEMBERS: u32 = 64;

const DOES: [CollectiveKind; 4] = [
    CollectiveKind::AllGather,
    CollectiveKind::ReduceScatter,
    CollectiveKind::AllReduce,
    CollectiveKind::Broadcast,
];

/// How an algorithm does the operations that others are made of.
pub(super) trait OnCard {
    const NAME: &'static str;
    const DOES: &'static [CollectiveKind] = &DOES;
    /// Whether inputs are in the shared memory when it begins.
    const HOLDS_INPUTS: bool = false;
    fn all_gather(script: &mut Script);
    fn reduce_scatter(script: &mut Script);
    /// Without the all-gather that follows where there is one.
    fn broadcast(script: &mut Script);
    /// Bytes of shared memory that `kind` uses.
    fn shared_bytes(kind: CollectiveKind, members: u32, bytes: u64) -> u64;
}

impl<A: OnCard + std::fmt::Debug + Send + Sync> CollectiveAlgorithm for A {
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
        plan::<A>(kind, members, bytes)
    }
}

/// The plan of an algorithm.
fn plan<A: OnCard>(kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
    check(A::NAME, A::DOES, kind, members, bytes)?;
    if members > MOST_MEMBERS {
        let reason = format!(
            "{members} members; the core groups of one card are at most {MOST_MEMBERS}; `hierarchical` joins cards"
        );
        return Err(BuildError::new("", reason));
    }
    let scripts = (0..members).map(|member| {
        let mut script = Script { member, members, bytes, actions: Vec::new() };
        if members > 1 {
            match kind {
                CollectiveKind::AllGather => A::all_gather(&mut script),
                CollectiveKind::ReduceScatter => A::reduce_scatter(&mut script),
                CollectiveKind::Broadcast => A::broadcast(&mut script),
                _ => {
                    A::reduce_scatter(&mut script);
                    A::all_gather(&mut script);
                }
            }
        }
        script.actions
    });
    let shared_bytes = A::shared_bytes(kind, members, bytes);
    let shared = Shared { members, bytes: shared_bytes, own_bytes: bytes, holds_inputs: A::HOLDS_INPUTS };
    Ok(Box::new(OnCardPlan { scripts: scripts.collect(), shared }))
}

/// What one member does, one after the other.
pub(super) struct Script {
    pub(super) member: u32,
    pub(super) members: u32,
    bytes: u64,
    actions: Vec<Action>,
}

impl Script {
    fn push(&mut self, kernel: Kernel) {
        self.actions.push(Action::Kernel(kernel));
    }

    /// All members are here, and the host starts a kernel on them.
    pub(super) fn launch(&mut self) {
        self.meet();
        self.push(Kernel::Fixed(Fixed::Launch));
    }

    pub(super) fn meet(&mut self) {
        self.push(Kernel::Meet { group: 0, members: self.members });
    }

    /// Nobody goes on before all are here and the host has said so.
    pub(super) fn synchronise(&mut self) {
        self.meet();
        self.push(Kernel::Fixed(Fixed::Synchronise));
    }

    fn bytes(&self, chunks: &std::ops::Range<u32>) -> u64 {
        bytes_of(self.bytes, self.members, chunks.clone())
    }

    pub(super) fn store(&mut self, chunks: std::ops::Range<u32>) {
        let bytes = self.bytes(&chunks);
        self.push(Kernel::Store { chunks, bytes });
    }

    /// A step: its fixed cost, then the data.
    pub(super) fn load(
        &mut self,
        from: u32,
        at: Held,
        chunks: std::ops::Range<u32>,
        combine: Combine,
        family: Family,
    ) {
        let bytes = self.bytes(&chunks);
        self.push(Kernel::Fixed(Fixed::Step(family)));
        self.push(Kernel::Load { from, at, chunks, bytes, combine, family });
    }

    /// The other members, beginning behind this one.
    pub(super) fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let (member, members) = (self.member, self.members);
        (1..members).map(move |distance| (member + distance) % members)
    }

    /// Gets the chunk of every other member.
    pub(super) fn gather(&mut self, at: Held) {
        for other in self.others() {
            self.load(other, at, other..other + 1, Combine::Copy, Family::Kernel);
        }
    }

    /// Adds up the own chunk of all members: reads the own contribution, fetches the others, writes the sum.
    pub(super) fn add_up(&mut self, at: Held) {
        let own = self.member..self.member + 1;
        let bytes = self.bytes(&own);
        self.push(Kernel::Local { bytes });
        for other in self.others() {
            self.load(other, at, own.clone(), Combine::Reduce, Family::Kernel);
        }
        self.push(Kernel::Local { bytes });
    }

    /// Every member gets its chunk from member 0.
    pub(super) fn scatter(&mut self, family: Family) {
        self.launch();
        self.synchronise();
        if self.member > 0 {
            self.load(0, Held::ByMember, self.member..self.member + 1, Combine::Copy, family);
        }
    }
}

#[derive(Debug)]
struct OnCardPlan {
    scripts: Vec<Vec<Action>>,
    shared: Shared,
}

impl Plan for OnCardPlan {
    fn rounds(&self, member: u32) -> u32 {
        self.scripts[member as usize].len() as u32
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        out.push(self.scripts[member as usize][round as usize].clone());
    }

    fn chunks(&self) -> u32 {
        self.shared.members
    }

    fn owner(&self, chunk: u32) -> u32 {
        chunk
    }

    fn total_bytes(&self) -> u64 {
        self.scripts.iter().flatten().filter_map(Action::moved).map(|(_, bytes)| bytes).sum()
    }

    fn shared(&self) -> Option<Shared> {
        Some(self.shared)
    }
}
