//! The program form: what is checked before a run, against slow and obvious oracles.

use proptest::prelude::*;
use stratasim_core::{Precision, Rank};
use stratasim_workload::program::{
    Compute, Link, Op, Peer, Program, ProgramBuilder, Scope, Stream, VertexId,
};

fn joins(ranks: u32, count: u32) -> ProgramBuilder {
    let mut builder = ProgramBuilder::new(ranks);
    for index in 0..count {
        builder.vertex(format_args!("v{index}"), Scope::All, Stream::COMPUTE, Op::Join);
    }
    builder
}

fn error(builder: ProgramBuilder) -> String {
    builder.build().unwrap_err().to_string()
}

fn one(op: Op) -> ProgramBuilder {
    let mut builder = ProgramBuilder::new(4);
    builder.vertex(format_args!("a"), Scope::One(Rank(1)), Stream::NONE, op);
    builder
}

#[test]
fn a_program_runs_at_least_once() {
    assert_eq!(error(joins(1, 1).iterations(0)), "iterations: a program runs at least once, got 0");
}

#[test]
fn ranks_beyond_the_program_are_named() {
    let send = Op::Send { to: Peer::Rank(Rank(4)), tag: 0, bytes: 1 };
    assert_eq!(error(one(send)), "`a`: destination 4 does not exist, the program has ranks 0 to 3");
    let receive = Op::Receive { from: Peer::Rank(Rank(9)), tag: None };
    assert_eq!(error(one(receive)), "`a`: source 9 does not exist, the program has ranks 0 to 3");
    let to_any = Op::Transfer { to: Peer::Any, bytes: 1, rate_cap: None };
    assert_eq!(error(one(to_any)), "`a`: a send needs a destination");
    for scope in [Scope::One(Rank(4)), Scope::Range { first: Rank(2), count: 3 }] {
        let mut builder = ProgramBuilder::new(4);
        builder.vertex(format_args!("a"), scope, Stream::NONE, Op::Join);
        assert_eq!(error(builder), "`a`: rank 4 does not exist, the program has ranks 0 to 3");
    }
}

#[test]
fn a_group_names_each_rank_once_and_known_ones_only() {
    let group = |members: &[u32]| {
        let mut builder = joins(4, 1);
        builder.group(members.iter().copied().map(Rank).collect());
        builder
    };
    assert_eq!(error(group(&[0, 4])), "`group 1`: member 4 does not exist, the program has ranks 0 to 3");
    assert_eq!(error(group(&[2, 0, 2])), "group 1 names rank 2 twice");
    group(&[2, 0, 1]).build().unwrap();
}

#[test]
fn a_receive_without_a_send_is_named_in_the_error() {
    let mut builder = joins(4, 0);
    let send = |to, tag| Op::Send { to: Peer::Rank(Rank(to)), tag, bytes: 1 };
    let receive = |from, tag| Op::Receive { from: Peer::Rank(Rank(from)), tag: Some(tag) };
    builder.vertex(format_args!("out"), Scope::One(Rank(0)), Stream::NONE, send(1, 7));
    builder.vertex(format_args!("in"), Scope::One(Rank(1)), Stream::NONE, receive(0, 7));
    builder.vertex(format_args!("lost"), Scope::One(Rank(2)), Stream::NONE, receive(0, 8));
    assert_eq!(error(builder), "`lost`: 1 receive from rank 0 to rank 2 with tag 8 has no matching send");
}

#[test]
fn shifted_sends_and_receives_of_all_ranks_match() {
    let shift = |back| {
        let mut builder = ProgramBuilder::new(5);
        let send = Op::Send { to: Peer::Offset(2), tag: 0, bytes: 1 };
        builder.vertex(format_args!("out"), Scope::All, Stream::NONE, send);
        let receive = Op::Receive { from: Peer::Offset(back), tag: Some(0) };
        builder.vertex(format_args!("in"), Scope::All, Stream::NONE, receive);
        builder
    };
    shift(-2).build().unwrap();
    shift(3).build().unwrap();
    assert!(error(shift(-1)).contains("has no matching"));
}

#[test]
fn a_start_vertex_that_waits_is_a_contradiction() {
    let mut builder = joins(1, 2);
    builder.edge(0, 1, 0);
    builder.start(1);
    builder.start(0);
    assert!(
        error(builder).starts_with("`v1` is a start vertex but waits for `v0` within the first iteration")
    );
    let mut builder = joins(1, 2);
    builder.start(0);
    assert!(error(builder).starts_with("`v1` can never run"));
}

#[test]
fn a_wildcard_leaves_the_pairing_open_but_not_the_numbers() {
    let program = |receives: &[Op]| {
        let mut builder = ProgramBuilder::new(4);
        for from in [0, 1] {
            let send = Op::Send { to: Peer::Rank(Rank(2)), tag: from, bytes: 1 };
            builder.vertex(format_args!("out-{from}"), Scope::One(Rank(from)), Stream::NONE, send);
        }
        for (index, receive) in receives.iter().enumerate() {
            builder.vertex(format_args!("in-{index}"), Scope::One(Rank(2)), Stream::NONE, receive.clone());
        }
        builder
    };
    let any = Op::Receive { from: Peer::Any, tag: None };
    let first = Op::Receive { from: Peer::Rank(Rank(0)), tag: Some(0) };
    program(&[any.clone(), any.clone()]).build().unwrap();
    program(&[first.clone(), any.clone()]).build().unwrap();
    assert_eq!(
        error(program(std::slice::from_ref(&any))),
        "`out-1`: rank 2 has 1 send for which there is no receive"
    );
    let three = error(program(&[first, any.clone(), any.clone()]));
    assert_eq!(three, "`in-2`: rank 2 has 1 receive for which there is no send");
    // other ranks are still matched exactly
    let mut builder = program(&[any.clone(), any]);
    let lost = Op::Receive { from: Peer::Rank(Rank(0)), tag: Some(0) };
    builder.vertex(format_args!("lost"), Scope::One(Rank(3)), Stream::NONE, lost);
    assert!(error(builder).starts_with("`lost`: 1 receive from rank 0 to rank 3"));
}

/// Whether a vertex reaches itself over edges of distance 0.
fn has_cycle(count: u32, edges: &[(u32, u32, u32)]) -> bool {
    let mut reach = vec![vec![false; count as usize]; count as usize];
    for &(from, to, distance) in edges {
        reach[from as usize][to as usize] |= distance == 0;
    }
    for middle in 0..count as usize {
        for from in 0..count as usize {
            for to in 0..count as usize {
                reach[from][to] |= reach[from][middle] && reach[middle][to];
            }
        }
    }
    (0..count as usize).any(|vertex| reach[vertex][vertex])
}

proptest! {
    #[test]
    fn cycles_within_an_iteration_are_found_exactly_and_named_in_order(
        count in 1..8_u32,
        edges in prop::collection::vec((0..8_u32, 0..8_u32, 0..3_u32), 0..14),
    ) {
        let edges: Vec<_> = edges.into_iter().map(|(a, b, d)| (a % count, b % count, d)).collect();
        let mut builder = joins(2, count);
        for &(from, to, distance) in &edges {
            builder.edge(from, to, distance);
        }
        match builder.build() {
            Ok(program) => {
                prop_assert!(!has_cycle(count, &edges));
                check_adjacency(&program, &edges)?;
                for id in 0..count {
                    let waits = edges.iter().any(|&(_, to, distance)| to == id && distance == 0);
                    prop_assert_eq!(program.vertex(id).start, !waits);
                }
            }
            Err(error) => {
                prop_assert!(has_cycle(count, &edges), "{}", error);
                // `v1 -> v2 -> v1`: every step of it is an edge
                let names: Vec<u32> = error
                    .reason
                    .split('`')
                    .filter_map(|part| part.strip_prefix('v')?.parse().ok())
                    .collect();
                prop_assert!(names.len() >= 2 && names.first() == names.last(), "{}", error);
                for step in names.windows(2) {
                    prop_assert!(edges.contains(&(step[0], step[1], 0)), "{}", error);
                }
            }
        }
    }

    #[test]
    fn instances_and_ranks_of_a_scope_are_inverse(
        members in prop::sample::subsequence((0..12_u32).collect::<Vec<_>>(), 1..12).prop_shuffle(),
        sorted in prop::bool::ANY,
        first in 0..12_u32,
    ) {
        let mut members = members;
        if sorted {
            members.sort_unstable();
        }
        let mut builder = joins(12, 1);
        let group = builder.group(members.iter().copied().map(Rank).collect());
        let program = builder.build().unwrap();
        let scopes = [
            Scope::All,
            Scope::One(Rank(first)),
            Scope::Range { first: Rank(first), count: 12 - first },
            Scope::Group(group),
        ];
        for scope in scopes {
            let ranks: Vec<_> = (0..program.scope_len(scope)).map(|index| program.scope_rank(scope, index)).collect();
            for rank in (0..12).map(Rank) {
                let expected = ranks.iter().position(|&member| member == rank).map(|index| index as u32);
                prop_assert_eq!(program.scope_index(scope, rank), expected, "{:?} {:?}", scope, rank);
            }
        }
    }
}

/// Successors and predecessors are the edges, each once.
fn check_adjacency(program: &Program, edges: &[(u32, u32, u32)]) -> Result<(), TestCaseError> {
    let ids = 0..program.vertices().len() as VertexId;
    let sorted = |mut list: Vec<(u32, u32, u32)>| {
        list.sort_unstable();
        list
    };
    let out =
        ids.clone().flat_map(|id| program.successors(id).iter().map(move |e| (id, e.vertex, e.distance)));
    let into = ids.flat_map(|id| program.predecessors(id).iter().map(move |e| (e.vertex, id, e.distance)));
    prop_assert_eq!(sorted(out.collect()), sorted(edges.to_vec()));
    prop_assert_eq!(sorted(into.collect()), sorted(edges.to_vec()));
    Ok(())
}

#[test]
fn what_the_builder_is_told_is_what_the_program_says() {
    let mut builder = ProgramBuilder::new(3).iterations(4);
    let op = Op::Compute(Compute::of(2.0, Precision::Fp64));
    let a = builder.vertex(format_args!("a"), Scope::All, Stream(5), op.clone());
    let b = builder.vertex(format_args!("b"), Scope::One(Rank(2)), Stream::NONE, Op::Join);
    builder.edge_linked(a, b, 0, Link::AllToAll);
    builder.summary().batches_per_iteration = Some(3.0);
    assert_eq!(builder.group(vec![Rank(0), Rank(1), Rank(2)]), 0, "the group of all ranks is known");
    let program = builder.build().unwrap();
    assert_eq!((program.ranks(), program.iterations(), program.vertices().len()), (3, 4, 2));
    assert_eq!((program.name(a), &program.vertex(a).op), ("a", &op));
    assert_eq!(program.successors(a)[0].link, Link::AllToAll);
    assert_eq!(program.summary().batches_per_iteration, Some(3.0));
    assert_eq!(program.peer(Rank(0), Peer::Offset(-1)), Some(Rank(2)));
    assert_eq!(program.peer(Rank(0), Peer::Any), None);
}
