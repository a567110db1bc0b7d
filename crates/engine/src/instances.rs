//! Which tasks may start: instances, their iterations and their dependencies.
//!
//! An instance is a vertex on one rank. It counts the dependencies that its next iteration still
//! misses; iterations of one instance run in order. A completion costs one decrement per successor.

use std::collections::VecDeque;
use std::ops::Range;

use stratasim_core::Rank;
use stratasim_workload::program::{Edge, Link, Op, Peer, Program, Scope, VertexId};

/// Number of an instance.
pub(crate) type Instance = u32;

/// How the instances of an edge's two ends correspond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Map {
    /// Index to the same index.
    Same,
    /// By rank, where both ends have it.
    Rank,
    /// A transfer to its receiver.
    Receiver(Peer),
    /// Every one to every one.
    All,
}

#[derive(Debug, Clone, Copy)]
struct Arc {
    vertex: VertexId,
    distance: u32,
    map: Map,
}

/// The state of all instances.
#[derive(Debug)]
pub(crate) struct Instances {
    /// First instance of each vertex, then the total.
    base: Vec<Instance>,
    /// Scope of each vertex; groups that hold all ranks in order are `All`.
    scopes: Vec<Scope>,
    /// Members of each group, sorted by rank: (rank, index).
    members: Vec<Vec<(Rank, u32)>>,
    successors: Rows,
    predecessors: Rows,
    /// Dependencies that the next iteration of an instance misses; the run in progress counts.
    missing: Vec<u32>,
    /// Iterations begun and ended, by instance; empty when every vertex runs once.
    begun: Vec<u32>,
    ended: Vec<u32>,
    /// For vertices with an edge to all: instances left, by iteration from the first unfinished one.
    left: Vec<VecDeque<u32>>,
    /// Iterations that all instances of a vertex ended.
    all_ended: Vec<u32>,
    iterations: u32,
}

#[derive(Debug, Default)]
struct Rows {
    start: Vec<u32>,
    arcs: Vec<Arc>,
}

impl Rows {
    #[inline]
    fn range(&self, vertex: VertexId) -> Range<usize> {
        self.start[vertex as usize] as usize..self.start[vertex as usize + 1] as usize
    }
}

impl Instances {
    pub(crate) fn new(program: &Program) -> Self {
        let vertices = program.vertices();
        let whole = |group: u32| {
            let members = &program.groups()[group as usize];
            members.len() == program.ranks() as usize
                && members.iter().enumerate().all(|(i, r)| r.index() == i)
        };
        let identity: Vec<bool> = (0..program.groups().len() as u32).map(whole).collect();
        let scopes: Vec<Scope> = vertices
            .iter()
            .map(|vertex| match vertex.scope {
                Scope::Group(group) if identity[group as usize] => Scope::All,
                scope => scope,
            })
            .collect();
        let mut base = vec![0];
        let mut total = 0_u64;
        for scope in &scopes {
            total += u64::from(program.scope_len(*scope));
            base.push(Instance::try_from(total).expect("a program has less than 2^32 instances"));
        }
        let members = program
            .groups()
            .iter()
            .enumerate()
            .map(|(group, members)| {
                if identity[group] {
                    return Vec::new();
                }
                let mut sorted: Vec<_> =
                    members.iter().enumerate().map(|(i, &rank)| (rank, i as u32)).collect();
                sorted.sort_unstable();
                sorted
            })
            .collect();
        let mut instances = Self {
            base,
            scopes,
            members,
            successors: Rows::default(),
            predecessors: Rows::default(),
            missing: Vec::new(),
            begun: Vec::new(),
            ended: Vec::new(),
            left: vec![VecDeque::new(); vertices.len()],
            all_ended: vec![0; vertices.len()],
            iterations: program.iterations(),
        };
        let count = vertices.len() as VertexId;
        instances.successors = instances.rows(count, program, |id| program.successors(id), false);
        instances.predecessors = instances.rows(count, program, |id| program.predecessors(id), true);
        if instances.iterations > 1 {
            instances.begun = vec![0; total as usize];
            instances.ended = vec![0; total as usize];
        }
        instances.missing = vec![0; total as usize];
        for vertex in 0..count {
            instances.arm_first(vertex, program);
        }
        instances
    }

    fn rows<'p>(
        &self,
        count: VertexId,
        program: &Program,
        edges: impl Fn(VertexId) -> &'p [Edge],
        reversed: bool,
    ) -> Rows {
        let mut rows = Rows { start: vec![0], arcs: Vec::new() };
        for vertex in 0..count {
            for edge in edges(vertex) {
                let ends = if reversed { (edge.vertex, vertex) } else { (vertex, edge.vertex) };
                let map = self.map(program, ends.0, ends.1, edge.link);
                let arc = Arc { vertex: edge.vertex, distance: edge.distance, map };
                rows.arcs.push(arc);
                if edge.link == Link::BothEnds
                    && map != Map::All
                    && let Op::Transfer { to, .. } = program.vertex(ends.0).op
                {
                    rows.arcs.push(Arc { map: Map::Receiver(to), ..arc });
                }
            }
            rows.start.push(rows.arcs.len() as u32);
        }
        rows
    }

    fn map(&self, program: &Program, from: VertexId, to: VertexId, link: Link) -> Map {
        let (a, b) = (self.scopes[from as usize], self.scopes[to as usize]);
        if link == Link::AllToAll {
            Map::All
        } else if a == b {
            Map::Same
        } else {
            let smaller = if self.len(from) <= self.len(to) { (a, b) } else { (b, a) };
            let count = program.scope_len(smaller.0);
            let overlap = (0..count)
                .any(|index| self.index_in(smaller.1, program.scope_rank(smaller.0, index)).is_some());
            if overlap { Map::Rank } else { Map::All }
        }
    }

    /// The instances (from, to) of a vertex whose transfers go to a rank.
    fn senders_to(&self, program: &Program, vertex: VertexId, to: Peer, rank: Rank) -> Range<u32> {
        let scope = self.scopes[vertex as usize];
        if to == Peer::Rank(rank) {
            return 0..self.len(vertex);
        }
        let sender = program.sender_to(rank, to).and_then(|sender| self.index_in(scope, sender));
        sender.map_or(0..0, |index| index..index + 1)
    }

    /// The first iteration misses one per applicable edge of distance 0.
    fn arm_first(&mut self, vertex: VertexId, program: &Program) {
        let range = self.base[vertex as usize] as usize..self.base[vertex as usize + 1] as usize;
        for at in self.predecessors.range(vertex) {
            let arc = self.predecessors.arcs[at];
            if arc.distance > 0 {
                continue;
            }
            if let Map::Same | Map::All = arc.map {
                self.missing[range.clone()].iter_mut().for_each(|missing| *missing += 1);
                continue;
            }
            for index in 0..range.len() as u32 {
                let rank = self.rank(program, vertex, index);
                self.missing[range.start + index as usize] += match arc.map {
                    Map::Receiver(to) => self.senders_to(program, arc.vertex, to, rank).len() as u32,
                    _ => u32::from(self.index_in(self.scopes[arc.vertex as usize], rank).is_some()),
                };
            }
        }
    }

    /// All instances.
    pub(crate) fn total(&self) -> u64 {
        u64::from(*self.base.last().expect("base ends with the total"))
    }

    /// Instances of a vertex.
    #[inline]
    pub(crate) fn len(&self, vertex: VertexId) -> u32 {
        self.base[vertex as usize + 1] - self.base[vertex as usize]
    }

    /// Number of an instance.
    #[inline]
    pub(crate) fn number(&self, vertex: VertexId, index: u32) -> Instance {
        self.base[vertex as usize] + index
    }

    /// Vertex and index of an instance.
    pub(crate) fn locate(&self, instance: Instance) -> (VertexId, u32) {
        let vertex = self.base.partition_point(|&first| first <= instance) - 1;
        (vertex as VertexId, instance - self.base[vertex])
    }

    /// Rank of an instance.
    #[inline]
    pub(crate) fn rank(&self, program: &Program, vertex: VertexId, index: u32) -> Rank {
        match self.scopes[vertex as usize] {
            Scope::All => Rank(index),
            scope => program.scope_rank(scope, index),
        }
    }

    #[inline]
    fn index_in(&self, scope: Scope, rank: Rank) -> Option<u32> {
        match scope {
            Scope::All => Some(rank.0),
            Scope::One(one) => (one == rank).then_some(0),
            Scope::Range { first, count } => {
                (first <= rank && rank.0 - first.0 < count).then(|| rank.0 - first.0)
            }
            Scope::Group(group) => {
                let members = &self.members[group as usize];
                members.binary_search_by_key(&rank, |(rank, _)| *rank).ok().map(|at| members[at].1)
            }
        }
    }

    /// Whether an instance has everything that its next iteration needs.
    pub(crate) fn is_ready(&self, instance: Instance) -> bool {
        self.missing[instance as usize] == 0
    }

    /// Iteration that an instance runs, or ran last.
    #[inline]
    pub(crate) fn iteration(&self, instance: Instance) -> u32 {
        self.begun.get(instance as usize).map_or(0, |begun| begun.saturating_sub(1))
    }

    /// Whether an instance ended all its iterations.
    pub(crate) fn is_over(&self, instance: Instance) -> bool {
        match self.ended.get(instance as usize) {
            Some(&ended) => ended == self.iterations,
            None => self.missing[instance as usize] == OVER,
        }
    }

    /// An instance begins an iteration.
    #[inline]
    pub(crate) fn begin(&mut self, program: &Program, vertex: VertexId, index: u32) {
        let instance = self.number(vertex, index) as usize;
        if self.begun.is_empty() {
            return;
        }
        self.begun[instance] += 1;
        let next = self.begun[instance];
        if next == self.iterations {
            return;
        }
        let mut missing = 1; // the iteration that begins now
        let rank = self.rank(program, vertex, index);
        for at in self.predecessors.range(vertex) {
            let arc = self.predecessors.arcs[at];
            let Some(needed) = (next + 1).checked_sub(arc.distance).filter(|&needed| needed > 0) else {
                continue;
            };
            let ended = match arc.map {
                Map::Same => self.ended[self.number(arc.vertex, index) as usize],
                Map::Rank => match self.index_in(self.scopes[arc.vertex as usize], rank) {
                    Some(other) => self.ended[self.number(arc.vertex, other) as usize],
                    None => continue,
                },
                Map::Receiver(to) => {
                    let senders = self.senders_to(program, arc.vertex, to, rank);
                    let ended = senders.map(|other| self.ended[self.number(arc.vertex, other) as usize]);
                    missing += ended.filter(|&ended| ended < needed).count() as u32;
                    continue;
                }
                Map::All => self.all_ended[arc.vertex as usize],
            };
            missing += u32::from(ended < needed);
        }
        self.missing[instance] = missing;
    }

    /// An instance ended its iteration: appends the instances (vertex, index) that may begin now.
    #[inline]
    pub(crate) fn end(
        &mut self,
        program: &Program,
        vertex: VertexId,
        index: u32,
        ready: &mut Vec<(VertexId, u32)>,
    ) {
        let instance = self.number(vertex, index) as usize;
        let ended = if self.ended.is_empty() {
            self.missing[instance] = OVER;
            1
        } else {
            self.ended[instance] += 1;
            if self.ended[instance] < self.iterations {
                self.release(vertex, index, ready);
            }
            self.ended[instance]
        };
        let mut to_all = false;
        for at in self.successors.range(vertex) {
            let arc = self.successors.arcs[at];
            match arc.map {
                Map::Same => self.arrive(arc, index, ended, ready),
                Map::Rank => {
                    let rank = self.rank(program, vertex, index);
                    if let Some(other) = self.index_in(self.scopes[arc.vertex as usize], rank) {
                        self.arrive(arc, other, ended, ready);
                    }
                }
                Map::Receiver(to) => {
                    let receiver = program.peer(self.rank(program, vertex, index), to);
                    let scope = self.scopes[arc.vertex as usize];
                    if let Some(other) = receiver.and_then(|rank| self.index_in(scope, rank)) {
                        self.arrive(arc, other, ended, ready);
                    }
                }
                Map::All => to_all = true,
            }
        }
        if to_all {
            self.end_of_all(vertex, ended, ready);
        }
    }

    /// Counts an end of a vertex that holds back all instances of others.
    fn end_of_all(&mut self, vertex: VertexId, ended: u32, ready: &mut Vec<(VertexId, u32)>) {
        let count = self.len(vertex);
        let place = (ended - 1 - self.all_ended[vertex as usize]) as usize;
        let left = &mut self.left[vertex as usize];
        if left.len() <= place {
            left.resize(place + 1, count);
        }
        left[place] -= 1;
        // iterations of one instance end in order, so those of all do too
        while self.left[vertex as usize].front() == Some(&0) {
            self.left[vertex as usize].pop_front();
            self.all_ended[vertex as usize] += 1;
            let ended = self.all_ended[vertex as usize];
            for at in self.successors.range(vertex) {
                let arc = self.successors.arcs[at];
                if arc.map == Map::All {
                    for other in 0..self.len(arc.vertex) {
                        self.arrive(arc, other, ended, ready);
                    }
                }
            }
        }
    }

    /// The `ended`-th end of the source of `arc` reaches one instance of its target.
    #[inline]
    fn arrive(&mut self, arc: Arc, index: u32, ended: u32, ready: &mut Vec<(VertexId, u32)>) {
        let iteration = ended - 1 + arc.distance;
        let waits_for = match self.begun.is_empty() {
            true => 0,
            // it is waiting for iteration `begun`; earlier and later ones count when it begins
            false => self.begun[self.number(arc.vertex, index) as usize],
        };
        if iteration == waits_for && iteration < self.iterations {
            self.release(arc.vertex, index, ready);
        }
    }

    #[inline]
    fn release(&mut self, vertex: VertexId, index: u32, ready: &mut Vec<(VertexId, u32)>) {
        let instance = self.number(vertex, index) as usize;
        self.missing[instance] -= 1;
        if self.missing[instance] == 0 {
            ready.push((vertex, index));
        }
    }

    /// Vertices that the next iteration of an instance still waits for.
    pub(crate) fn waits_for(&self, program: &Program, vertex: VertexId, index: u32) -> Vec<(VertexId, Rank)> {
        let rank = self.rank(program, vertex, index);
        let instance = self.number(vertex, index) as usize;
        let next = self.begun.get(instance).copied().unwrap_or(0);
        let mut names = Vec::new();
        if self.ended.get(instance).is_some_and(|&ended| ended < next) {
            // it runs
            return names;
        }
        for at in self.predecessors.range(vertex) {
            let arc = self.predecessors.arcs[at];
            let Some(needed) = (next + 1).checked_sub(arc.distance).filter(|&needed| needed > 0) else {
                continue;
            };
            let unmet = |other: u32| match self.ended.is_empty() {
                true => !self.is_over(self.number(arc.vertex, other)),
                false => self.ended[self.number(arc.vertex, other) as usize] < needed,
            };
            let found = match arc.map {
                Map::Same => Some(index).filter(|&other| unmet(other)),
                Map::Rank => {
                    self.index_in(self.scopes[arc.vertex as usize], rank).filter(|&other| unmet(other))
                }
                Map::Receiver(to) => {
                    self.senders_to(program, arc.vertex, to, rank).find(|&other| unmet(other))
                }
                Map::All => (0..self.len(arc.vertex)).find(|&other| unmet(other)),
            };
            names.extend(found.map(|other| (arc.vertex, self.rank(program, arc.vertex, other))));
        }
        names
    }
}

/// Marks an instance that ended, when every vertex runs once.
const OVER: u32 = u32::MAX;
