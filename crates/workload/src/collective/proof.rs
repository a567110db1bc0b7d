//! Proof of a plan: run it on sets of contributions and look at what the members hold at the end.
//!
//! Every chunk of every member is the set of members whose data is in it. A reduce unites two sets,
//! which must not overlap; a copy replaces one; a scan has a second set per chunk, its result; at the end
//! each member must hold what the kind of the collective promises. On the way everything is checked that an engine relies on: messages
//! match in order, carry the bytes of their chunks, are all received, and nobody waits for ever.

mod flaw;
mod sharing;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

pub use flaw::Flaw;

use self::sharing::Sharing;
use super::kernel::Kernel;
use super::{Action, CollectiveKind, Combine, Guarantee, Plan, payload_bytes};

/// What a correct plan costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Messages of all members.
    pub messages: u64,
    /// Bytes of all messages.
    pub bytes: u64,
    /// Rounds of the member that has most.
    pub rounds: u32,
}

/// Runs `plan`, which was made for `kind` over `members` members with `bytes` bytes each.
///
/// Memory and time grow with members² × chunks: for tests, not for runs.
///
/// # Errors
/// The first flaw found.
pub fn prove(plan: &dyn Plan, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Account, Flaw> {
    let cost_only = plan.guarantee() == Guarantee::CostOnly;
    let mut run = Run::new(plan, kind, members, bytes);
    if !cost_only {
        run.check_shares()?;
    }
    run.execute(cost_only)?;
    if !cost_only {
        run.check_result()?;
    }
    if run.account.bytes != plan.total_bytes() {
        return Err(Flaw::Total { said: plan.total_bytes(), found: run.account.bytes });
    }
    check_pipeline(plan, members)?;
    Ok(run.account)
}

/// A message on its way: its chunks and, for each, the set of contributors.
struct Message {
    chunks: Range<u32>,
    sets: Vec<u64>,
}

struct Run<'a> {
    plan: &'a dyn Plan,
    kind: CollectiveKind,
    members: u32,
    bytes: u64,
    chunks: u32,
    /// Words per set.
    words: usize,
    /// Sets by member and chunk; empty where the member does not have the chunk.
    held: Vec<u64>,
    /// Results of a scan, by member and chunk; nothing in other kinds.
    results: Vec<u64>,
    under_way: BTreeMap<(u32, u32), VecDeque<Message>>,
    /// Loads of each member that the round in hand takes effect of.
    loaded: Vec<VecDeque<Message>>,
    sharing: Sharing,
    account: Account,
}

impl<'a> Run<'a> {
    fn new(plan: &'a dyn Plan, kind: CollectiveKind, members: u32, bytes: u64) -> Self {
        let chunks = plan.chunks();
        let words = members.div_ceil(64) as usize;
        let held = vec![0; members as usize * chunks as usize * words];
        let account = Account { messages: 0, bytes: 0, rounds: 0 };
        let scans = matches!(kind, CollectiveKind::Scan | CollectiveKind::ExclusiveScan);
        let results = vec![0; if scans { held.len() } else { 0 }];
        let under_way = BTreeMap::new();
        let loaded = (0..members).map(|_| VecDeque::new()).collect();
        let sharing = Sharing::new(members, plan.shared().is_some());
        let mut run = Self {
            plan,
            kind,
            members,
            bytes,
            chunks,
            words,
            held,
            results,
            under_way,
            loaded,
            sharing,
            account,
        };
        for member in 0..members {
            for chunk in 0..chunks {
                let has = match kind {
                    CollectiveKind::AllGather | CollectiveKind::Gather => plan.owner(chunk) == member,
                    CollectiveKind::Broadcast | CollectiveKind::Scatter => member == 0,
                    CollectiveKind::AllToAll => chunk / members == member,
                    _ => true,
                };
                if has {
                    run.set(member, chunk)[member as usize / 64] |= 1 << (member % 64);
                }
                if kind == CollectiveKind::Scan {
                    let at = run.at(member, chunk);
                    run.results[at + member as usize / 64] |= 1 << (member % 64);
                }
            }
        }
        if plan.shared().is_some_and(|shared| shared.holds_inputs) {
            for (member, chunk) in
                (0..members).flat_map(|member| (0..chunks).map(move |chunk| (member, chunk)))
            {
                let set = run.set(member, chunk).to_vec();
                run.sharing.holds(member, chunk, set);
            }
        }
        run
    }

    fn at(&self, member: u32, chunk: u32) -> usize {
        (member as usize * self.chunks as usize + chunk as usize) * self.words
    }

    fn set(&mut self, member: u32, chunk: u32) -> &mut [u64] {
        let at = self.at(member, chunk);
        &mut self.held[at..at + self.words]
    }

    /// The chunks of the data in a message with `chunks`.
    fn carried(&self, chunks: &Range<u32>) -> Vec<Range<u32>> {
        let mut carried = Vec::new();
        self.plan.carried(chunks, &mut carried);
        carried
    }

    /// Lets every member go on as far as it can, until nobody can.
    fn execute(&mut self, cost_only: bool) -> Result<(), Flaw> {
        let n = self.members;
        let mut round = vec![0; n as usize];
        let mut waiting: Vec<Vec<Action>> = vec![Vec::new(); n as usize];
        let mut ready: VecDeque<u32> = (0..n).collect();
        for member in 0..n {
            self.account.rounds = self.account.rounds.max(self.plan.rounds(member));
            if self.plan.rounds(member) > 0 {
                waiting[member as usize] = self.enter(member, 0, cost_only)?;
            }
        }
        while let Some(member) = ready.pop_front() {
            let at = member as usize;
            while round[at] < self.plan.rounds(member) {
                if self.missing(member, &waiting[at]).is_some() || self.sharing.waits(member) {
                    break;
                }
                let actions = std::mem::take(&mut waiting[at]);
                self.take(member, round[at], &actions, cost_only)?;
                round[at] += 1;
                if round[at] < self.plan.rounds(member) {
                    waiting[at] = self.enter(member, round[at], cost_only)?;
                }
                // whoever got a message may go on
                ready.extend(waiting[at].iter().filter_map(|action| match action {
                    Action::Send { to, .. } => Some(*to),
                    Action::Receive { .. } | Action::Kernel(_) => None,
                }));
                ready.extend(self.sharing.released());
            }
        }
        for member in 0..n {
            let (at, round) = (member as usize, round[member as usize]);
            if let Some(from) = self.missing(member, &waiting[at]) {
                return Err(Flaw::Deadlock { member, round, from });
            }
            if self.sharing.waits(member) {
                return Err(Flaw::Alone { member, round });
            }
        }
        match self.under_way.iter().find(|(_, queue)| !queue.is_empty()) {
            Some((&(from, to), queue)) => Err(Flaw::Unreceived { from, to, count: queue.len() }),
            None => Ok(()),
        }
    }

    /// A member from which not everything came that `actions` receive.
    fn missing(&self, member: u32, actions: &[Action]) -> Option<u32> {
        let mut wanted: BTreeMap<u32, usize> = BTreeMap::new();
        for action in actions {
            if let Action::Receive { from, .. } = action {
                *wanted.entry(*from).or_default() += 1;
            }
        }
        let came = |from| self.under_way.get(&(from, member)).map_or(0, VecDeque::len);
        wanted.into_iter().find(|&(from, count)| came(from) < count).map(|(from, _)| from)
    }

    /// Sends of a round leave with what the member has now.
    fn enter(&mut self, member: u32, round: u32, cost_only: bool) -> Result<Vec<Action>, Flaw> {
        let mut actions = Vec::new();
        self.plan.round(member, round, &mut actions);
        if actions.is_empty() {
            return Err(Flaw::EmptyRound { member, round });
        }
        for action in &actions {
            let peer = match action {
                Action::Send { to, .. } => Some(*to),
                Action::Receive { from, .. } | Action::Kernel(Kernel::Load { from, .. }) => Some(*from),
                Action::Kernel(_) => None,
            };
            if let Some(peer) = peer.filter(|&peer| peer >= self.members || peer == member) {
                return Err(Flaw::Peer { member, peer, round });
            }
            if let Action::Kernel(Kernel::Meet { group, members }) = *action {
                self.sharing.come(member, group, members);
            }
            let Some(chunks) = action.chunks() else { continue };
            let carried = self.carried(chunks);
            let outside = |chunks: &Range<u32>| chunks.is_empty() || chunks.end > self.chunks;
            if chunks.is_empty() || carried.iter().any(outside) {
                return Err(Flaw::Chunks { member, round, chunks: chunks.clone(), count: self.chunks });
            }
            let Some((chunks, bytes)) = action.moved() else { continue };
            let expected = payload_bytes(self.plan, self.kind, self.members, self.bytes, chunks);
            if !cost_only && bytes != expected {
                let chunks = chunks.clone();
                return Err(Flaw::Bytes { member, round, chunks, found: bytes, expected });
            }
            self.account.messages += 1;
            self.account.bytes += bytes;
            let mut sets = Vec::with_capacity(chunks.len() * self.words);
            for chunk in carried.into_iter().flatten() {
                let set = match action {
                    Action::Kernel(Kernel::Load { from, at, .. }) => {
                        let early = Flaw::Early { member, round, chunk, of: *from };
                        let stored = self.sharing.load(member, *from, *at, chunk).ok_or(early)?;
                        stored.unwrap_or_else(|| self.set(*from, chunk).to_vec())
                    }
                    _ => self.set(member, chunk).to_vec(),
                };
                if !cost_only && is_empty(&set) {
                    return Err(Flaw::NothingToSend { member, round, chunk });
                }
                sets.extend(set);
            }
            let message = Message { chunks: chunks.clone(), sets };
            match action {
                Action::Send { to, .. } => {
                    self.under_way.entry((member, *to)).or_default().push_back(message)
                }
                Action::Kernel(Kernel::Load { .. }) => self.loaded[member as usize].push_back(message),
                _ => {
                    let sets = message.sets.chunks(self.words).map(<[u64]>::to_vec);
                    let stored = self.sharing.store(member, message.chunks.clone().zip(sets));
                    stored.map_err(|chunk| Flaw::Race { member, round, chunk })?;
                }
            }
        }
        Ok(actions)
    }

    /// Receives of a round take effect together.
    fn take(&mut self, member: u32, round: u32, actions: &[Action], cost_only: bool) -> Result<(), Flaw> {
        let mut touched: BTreeMap<u32, Combine> = BTreeMap::new();
        for action in actions {
            let (from, chunks, combine, message) = match action {
                Action::Receive { from, chunks, combine } => {
                    let queue = self.under_way.get_mut(&(*from, member));
                    (from, chunks, combine, queue.and_then(VecDeque::pop_front))
                }
                Action::Kernel(Kernel::Load { from, chunks, combine, .. }) => {
                    (from, chunks, combine, self.loaded[member as usize].pop_front())
                }
                Action::Kernel(Kernel::Meet { .. }) => {
                    self.sharing.go(member);
                    continue;
                }
                _ => continue,
            };
            let message = message.expect("all messages of the round came");
            if message.chunks != *chunks {
                let (found, expected) = (message.chunks, chunks.clone());
                return Err(Flaw::Mismatch { from: *from, to: member, round, found, expected });
            }
            if cost_only {
                continue;
            }
            let carried = self.carried(chunks);
            for (chunk, theirs) in carried.into_iter().flatten().zip(message.sets.chunks(self.words)) {
                if !self.sharing.write(member, chunk) {
                    return Err(Flaw::Race { member, round, chunk });
                }
                let before = touched.insert(chunk, *combine);
                if before.is_some_and(|before| before == Combine::Copy || *combine == Combine::Copy) {
                    return Err(Flaw::Race { member, round, chunk });
                }
                let barrier = self.kind == CollectiveKind::Barrier;
                if *combine == Combine::Scan {
                    let at = self.at(member, chunk);
                    let Some(result) = self.results.get_mut(at..at + self.words) else {
                        return Err(Flaw::Overlap { member, round, chunk });
                    };
                    if !unite(result, theirs) {
                        return Err(Flaw::Overlap { member, round, chunk });
                    }
                }
                let mine = self.set(member, chunk);
                match combine {
                    Combine::Copy => mine.copy_from_slice(theirs),
                    // a barrier only learns who came, so hearing it twice does no harm
                    Combine::Reduce | Combine::Scan => {
                        if is_empty(mine) || !(unite(mine, theirs) || barrier) {
                            return Err(Flaw::Overlap { member, round, chunk });
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Every member answers for as many chunks as every other one.
    fn check_shares(&self) -> Result<(), Flaw> {
        if !matches!(
            self.kind,
            CollectiveKind::ReduceScatter
                | CollectiveKind::AllGather
                | CollectiveKind::Gather
                | CollectiveKind::Scatter
        ) {
            return Ok(());
        }
        let mut owned = vec![0_u32; self.members as usize];
        for chunk in 0..self.chunks {
            owned[self.plan.owner(chunk) as usize] += 1;
        }
        let (members, chunks) = (self.members, self.chunks);
        let uneven = (0..members).find(|&member| owned[member as usize] * members != chunks);
        uneven.map_or(Ok(()), |member| {
            Err(Flaw::Share { member, found: owned[member as usize], chunks, members })
        })
    }

    fn check_result(&mut self) -> Result<(), Flaw> {
        let at_owners = self.plan.guarantee() == Guarantee::AtOwners;
        for member in 0..self.members {
            for chunk in 0..self.chunks {
                let n = self.members;
                // who must be in it: everybody, or one member; or it does not matter
                let only = match self.kind {
                    CollectiveKind::AllReduce | CollectiveKind::ReduceScatter
                        if (at_owners || self.kind == CollectiveKind::ReduceScatter)
                            && self.plan.owner(chunk) != member =>
                    {
                        continue;
                    }
                    CollectiveKind::Reduce | CollectiveKind::Gather if member != 0 => continue,
                    CollectiveKind::Scatter if self.plan.owner(chunk) != member => continue,
                    CollectiveKind::AllToAll if chunk % n != member => continue,
                    CollectiveKind::Scan | CollectiveKind::ExclusiveScan => {
                        self.check_prefix(member, chunk)?;
                        continue;
                    }
                    CollectiveKind::AllGather | CollectiveKind::Gather => Some(self.plan.owner(chunk)),
                    CollectiveKind::Broadcast | CollectiveKind::Scatter => Some(0),
                    CollectiveKind::AllToAll => Some(chunk / n),
                    _ => None,
                };
                let set = self.set(member, chunk);
                let found: u32 = set.iter().map(|word| word.count_ones()).sum();
                let expected = if only.is_some() { 1 } else { n };
                let right = only.is_none_or(|one| set[one as usize / 64] >> (one % 64) & 1 == 1);
                if found != expected || !right {
                    return Err(Flaw::Result { member, chunk, found, expected });
                }
            }
        }
        Ok(())
    }

    /// The result of a scan holds the members up to `member`, and nobody after them.
    fn check_prefix(&self, member: u32, chunk: u32) -> Result<(), Flaw> {
        let expected = member + u32::from(self.kind == CollectiveKind::Scan);
        let at = self.at(member, chunk);
        let set = &self.results[at..at + self.words];
        let has = |other: u32| set[other as usize / 64] >> (other % 64) & 1 == 1;
        if (0..self.members).any(|other| has(other) != (other < expected)) {
            let found = (0..self.members).filter(|&other| has(other)).count() as u32;
            return Err(Flaw::Result { member, chunk, found, expected });
        }
        Ok(())
    }
}

/// Adds `theirs` to `mine`; whether nobody was in both.
fn unite(mine: &mut [u64], theirs: &[u64]) -> bool {
    let overlap = mine.iter().zip(theirs).any(|(mine, theirs)| mine & theirs != 0);
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine |= theirs);
    !overlap
}

fn is_empty(set: &[u64]) -> bool {
    set.iter().all(|&word| word == 0)
}

/// A plan that calls itself a pipeline must be one, message by message.
fn check_pipeline(plan: &dyn Plan, members: u32) -> Result<(), Flaw> {
    let Some(shape) = plan.pipeline() else { return Ok(()) };
    for member in 0..members {
        if plan.rounds(member) != shape.steps {
            return Err(Flaw::Pipeline { member, round: plan.rounds(member) });
        }
        for round in 0..shape.steps {
            let mut actions = Vec::new();
            plan.round(member, round, &mut actions);
            let chunk = (member + members - round % members) % members;
            let length = shape.chunk_bytes + u64::from(chunk < shape.longer_chunks);
            let (next, before) = ((member + 1) % members, (member + members - 1) % members);
            let is_step = match &actions[..] {
                [Action::Send { to, bytes, .. }, Action::Receive { from, .. }] => {
                    *to == next && *from == before && *bytes == length
                }
                _ => false,
            };
            if !is_step {
                return Err(Flaw::Pipeline { member, round });
            }
        }
    }
    Ok(())
}
