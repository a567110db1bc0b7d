//! Building a program vertex by vertex.

use std::sync::Arc;

use stratasim_core::names::Names;
use stratasim_core::{BuildError, Duration, Rank};

use super::{
    Adjacency, Collective, Division, Edge, Gate, Link, Op, Program, Scope, Stream, Subgroups, Summary,
    Vertex, VertexId, check,
};
use crate::collective::{CollectiveAlgorithm, CollectiveKind, Plan};

/// Builds a [`Program`].
///
/// ```
/// use stratasim_core::{Precision, Rank};
/// use stratasim_workload::program::{Compute, Op, Peer, ProgramBuilder, Scope, Stream};
///
/// let mut builder = ProgramBuilder::new(2);
/// let work = Op::Compute(Compute::of(1e12, Precision::Fp32));
/// let step = builder.vertex(format_args!("step"), Scope::All, Stream::COMPUTE, work);
/// let shift = Op::Transfer { to: Peer::Offset(1), bytes: 1 << 20, rate_cap: None };
/// let send = builder.vertex(format_args!("shift"), Scope::All, Stream::NONE, shift);
/// builder.edge(step, send, 0);
/// builder.edge(send, step, 1); // the next step waits for the message
/// let program = builder.iterations(10).build().unwrap();
/// assert_eq!(program.name(1), "shift");
/// ```
#[derive(Debug)]
pub struct ProgramBuilder {
    ranks: u32,
    iterations: u32,
    vertices: Vec<Vertex>,
    names: Names,
    edges: Vec<(VertexId, Edge)>,
    groups: Vec<Vec<Rank>>,
    /// Groups that are cut, and into which.
    cut: Vec<(u32, Subgroups)>,
    dimensions: Vec<u32>,
    summary: Summary,
}

impl ProgramBuilder {
    /// A program of `ranks` ranks that runs once. Group 0 holds all ranks in order.
    pub fn new(ranks: u32) -> Self {
        Self {
            ranks,
            iterations: 1,
            vertices: Vec::new(),
            names: Names::default(),
            edges: Vec::new(),
            groups: vec![(0..ranks).map(Rank).collect()],
            cut: Vec::new(),
            dimensions: Vec::new(),
            summary: Summary::default(),
        }
    }

    /// How often each vertex runs.
    #[must_use]
    pub fn iterations(mut self, iterations: u32) -> Self {
        self.iterations = iterations;
        self
    }

    /// Sizes of the topology's dimensions, innermost first, for collectives that are planned by
    /// dimension.
    #[must_use]
    pub fn dimensions(mut self, dimensions: &[u32]) -> Self {
        self.dimensions = dimensions.to_vec();
        self
    }

    /// Facts for reports.
    pub fn summary(&mut self) -> &mut Summary {
        &mut self.summary
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Declares a group (communicator) with these members, or finds an equal one.
    pub fn group(&mut self, members: Vec<Rank>) -> u32 {
        let known = self.groups.iter().position(|group| *group == members);
        known.unwrap_or_else(|| {
            self.groups.push(members);
            self.groups.len() - 1
        }) as u32
    }

    /// Declares the groups into which a group is cut, or finds them.
    ///
    /// # Errors
    /// The key of `division` that makes no whole groups, and why.
    pub fn subgroups(&mut self, group: u32, division: Division) -> Result<Subgroups, (&'static str, String)> {
        let known = self.cut.iter().find(|(of, known)| *of == group && known.division == division);
        if let Some(&(_, known)) = known {
            return Ok(known);
        }
        let whole = self.groups[group as usize].clone();
        let count = division.groups(whole.len() as u32)?;
        let subgroups = Subgroups { division, first: self.groups.len() as u32, count };
        self.groups.extend((0..count).map(|number| {
            (0..division.size).map(|place| whole[division.member(number, place) as usize]).collect()
        }));
        self.cut.push((group, subgroups));
        Ok(subgroups)
    }

    /// Makes room for as many more vertices.
    pub fn reserve(&mut self, vertices: usize) {
        self.vertices.reserve(vertices);
    }

    /// Adds a vertex.
    pub fn vertex(
        &mut self,
        name: std::fmt::Arguments<'_>,
        scope: Scope,
        stream: Stream,
        op: Op,
    ) -> VertexId {
        self.names.push(name);
        self.vertices.push(Vertex { op, scope, stream, start: false, not_before: Duration::ZERO });
        self.vertices.len() as VertexId - 1
    }

    /// Adds a collective over `group` on `stream`, planned by `algorithm`.
    ///
    /// # Errors
    /// When the algorithm cannot do `kind` for that group.
    pub fn collective(
        &mut self,
        name: std::fmt::Arguments<'_>,
        kind: CollectiveKind,
        algorithm: &dyn CollectiveAlgorithm,
        group: u32,
        stream: Stream,
        bytes: u64,
    ) -> Result<VertexId, BuildError> {
        let plan = self.plan(kind, algorithm, group, bytes)?;
        let op =
            Op::Collective(Collective { kind, plan, group, subgroups: None, bytes, gate: Gate::EachMember });
        Ok(self.vertex(name, Scope::Group(group), stream, op))
    }

    /// The plan of a collective over `group`.
    ///
    /// # Errors
    /// When the algorithm cannot do `kind` for that group.
    pub fn plan(
        &self,
        kind: CollectiveKind,
        algorithm: &dyn CollectiveAlgorithm,
        group: u32,
        bytes: u64,
    ) -> Result<Arc<dyn Plan>, BuildError> {
        let members = self.groups[group as usize].len() as u32;
        algorithm.plan_on(kind, members, bytes, &self.dimensions).map(Into::into)
    }

    /// Marks a vertex that runs at the beginning, whatever points at it.
    pub fn start(&mut self, vertex: VertexId) {
        self.vertices[vertex as usize].start = true;
    }

    /// A vertex as it is so far.
    pub fn vertex_ref(&self, vertex: VertexId) -> &Vertex {
        &self.vertices[vertex as usize]
    }

    /// Access to a vertex for what the constructors do not set.
    pub fn vertex_mut(&mut self, vertex: VertexId) -> &mut Vertex {
        &mut self.vertices[vertex as usize]
    }

    /// `after` waits for `before`, `distance` iterations back, rank by rank.
    pub fn edge(&mut self, before: VertexId, after: VertexId, distance: u32) {
        self.edge_linked(before, after, distance, Link::SameRank);
    }

    /// `after` waits for `before`, `distance` iterations back.
    pub fn edge_linked(&mut self, before: VertexId, after: VertexId, distance: u32, link: Link) {
        self.edges.push((before, Edge { vertex: after, distance, link }));
    }

    /// Checks and freezes the program.
    ///
    /// # Errors
    /// A cycle within one iteration, a vertex that can never start, ranks out of range, a send
    /// without a receive: each with the names of the vertices.
    pub fn build(self) -> Result<Program, BuildError> {
        let count = self.vertices.len();
        let successors = adjacency(count, self.edges.iter().map(|&(from, edge)| (from, edge)));
        let predecessors = adjacency(
            count,
            self.edges.iter().map(|&(from, edge)| (edge.vertex, Edge { vertex: from, ..edge })),
        );
        let ascending =
            self.groups.iter().map(|group| group.windows(2).all(|pair| pair[0] < pair[1])).collect();
        let mut program = Program {
            ranks: self.ranks,
            iterations: self.iterations,
            vertices: self.vertices,
            names: self.names,
            groups: self.groups,
            ascending,
            successors,
            predecessors,
            summary: self.summary,
        };
        // without any start vertex, those that nothing within an iteration points at are meant
        if !program.vertices.iter().any(|vertex| vertex.start) {
            for id in 0..count as VertexId {
                let free = program.predecessors(id).iter().all(|edge| edge.distance > 0);
                program.vertices[id as usize].start = free;
            }
        }
        check::check(&program)?;
        Ok(program)
    }
}

/// Compressed rows of `edges` by their first vertex, in the order in which they were added.
fn adjacency(vertices: usize, edges: impl Iterator<Item = (VertexId, Edge)> + Clone) -> Adjacency {
    let mut start = vec![0_u32; vertices + 1];
    for (from, _) in edges.clone() {
        start[from as usize + 1] += 1;
    }
    for vertex in 0..vertices {
        start[vertex + 1] += start[vertex];
    }
    let mut next = start.clone();
    let mut rows = vec![Edge { vertex: 0, distance: 0, link: Link::SameRank }; start[vertices] as usize];
    for (from, edge) in edges {
        rows[next[from as usize] as usize] = edge;
        next[from as usize] += 1;
    }
    Adjacency { start, edges: rows }
}
