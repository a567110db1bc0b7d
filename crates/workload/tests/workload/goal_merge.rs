//! Several schedules on one machine, placements, and regrouping.

use std::collections::BTreeSet;

use crate::common::goal_text::{assert_same, count, parse, plain, reference, run};
use serde_json::{Map, Value, json};
use stratasim_core::random::Streams;
use stratasim_workload::goal::generate::{GenerateContext, GenerateSpec};
use stratasim_workload::goal::merge::placement::{JobPlacementSpec, Nodes, placement};
use stratasim_workload::goal::merge::{Job, MergeOptions, Merged, NicPolicy, merge};
use stratasim_workload::goal::regroup::{InNode, Regroup, regroup};
use stratasim_workload::goal::{ANY, Operation, OperationKind, Schedule, ScheduleBuilder};

fn pattern(name: &str, ranks: u32, bytes: u64) -> Schedule {
    let mut context = GenerateContext::new(ranks);
    context.bytes = Some(bytes);
    GenerateSpec::named(name, Map::new()).unwrap().generate(&context).unwrap()
}

fn spec(policy: Value) -> JobPlacementSpec {
    serde_json::from_value(policy).unwrap()
}

fn place(policy: &str, sizes: &[u32], nodes: &Nodes<'_>) -> Vec<Vec<u32>> {
    placement(&spec(json!({ "kind": policy })), sizes, nodes, &Streams::new(7)).unwrap()
}

/// Jobs as they are, one name for all.
fn jobs<'a>(schedules: &[&'a Schedule], nodes: Vec<Vec<u32>>) -> Vec<Job<'a>> {
    schedules.iter().zip(nodes).map(|(schedule, nodes)| Job::new("job", schedule, nodes)).collect()
}

/// Streams of a node belong to one tenant, whose operations follow one another.
fn assert_apart(merged: &Merged) {
    let mut of_node: Vec<Vec<_>> = vec![Vec::new(); merged.schedule.ranks() as usize];
    for tenant in merged.jobs.iter().flatten() {
        for number in tenant.operations.clone() {
            let operation = merged.schedule.operation(tenant.node, number);
            assert!(tenant.cpus.contains(&operation.cpu.into()), "{operation:?} of {tenant:?}");
        }
        of_node[tenant.node as usize].push(tenant);
    }
    for (node, mut tenants) in (0..).zip(of_node) {
        tenants.sort_by_key(|tenant| tenant.operations.start);
        let mut next = merged.schedule.of_rank(node).start;
        for tenant in &tenants {
            // a tenant without operations has no place
            if !tenant.operations.is_empty() {
                assert_eq!(tenant.operations.start, next);
                next = tenant.operations.end;
            }
        }
        assert_eq!(next, merged.schedule.of_rank(node).end);
        tenants.sort_by_key(|tenant| tenant.cpus.start);
        assert!(tenants.windows(2).all(|pair| pair[0].cpus.end <= pair[1].cpus.start));
    }
}

#[test]
fn placements_give_what_the_merger_of_atlahs_gives() {
    let cases = ["packed", "round_robin", "custom"];
    for case in cases {
        let Some(theirs) = reference(&format!("data/merge/merged_{case}.goal")) else { return };
        let theirs = parse(&theirs);
        let config = reference(&format!("data/merge/{case}.json")).unwrap();
        let config: Value = serde_json::from_str(&config).unwrap();
        let files = config["goal_files"].as_array().unwrap().iter();
        let schedules: Vec<Schedule> = files
            .map(|file| parse(&reference(&format!("data/merge/{}", file.as_str().unwrap())).unwrap()))
            .collect();
        let policy = match &config["pattern"] {
            Value::String(name) => json!({"kind": name.replace('_', "-")}),
            lists => json!({"kind": "list", "nodes": lists}),
        };
        let sizes: Vec<u32> = schedules.iter().map(Schedule::ranks).collect();
        let nodes = theirs.ranks();
        let placed = placement(&spec(policy), &sizes, &Nodes::new(nodes), &Streams::new(0)).unwrap();
        let merged =
            merge(&jobs(&[&schedules[0], &schedules[1]], placed), &MergeOptions::new(nodes)).unwrap();
        assert_same(&merged.schedule, &theirs, case);
        assert_apart(&merged);
    }
}

#[test]
fn a_job_alone_on_its_own_nodes_stays_as_it_is() {
    let ring = pattern("ring-allreduce", 8, 4096);
    let merged = merge(&jobs(&[&ring], vec![(0..8).collect()]), &MergeOptions::new(8)).unwrap();
    assert_same(&merged.schedule, &ring, "alone");
    assert_eq!(merged.jobs[0][3].operations, ring.of_rank(3));
}

#[test]
fn tenants_keep_their_bytes_and_their_order() {
    let schedules = [
        pattern("linear-alltoall", 6, 100),
        pattern("ring-allreduce", 9, 900),
        pattern("n-way-dissemination", 5, 77),
        pattern("chained-dissemination", 7, 13),
    ];
    let all: Vec<&Schedule> = schedules.iter().collect();
    let sizes: Vec<u32> = schedules.iter().map(Schedule::ranks).collect();
    for ranks_per_node in [1, 2, 4] {
        for policy in ["packed", "round-robin", "random"] {
            for nics in [NicPolicy::Shared, NicPolicy::Own, NicPolicy::Modulo(2)] {
                let nodes = Nodes { ranks_per_node, shared: true, ..Nodes::new(10) };
                let placed = place(policy, &sizes, &nodes);
                let mut options = MergeOptions::new(10);
                options.nics = nics;
                let merged = merge(&jobs(&all, placed), &options).unwrap();
                assert_apart(&merged);
                let what = format!("{policy}, {ranks_per_node} per node, {nics:?}");
                let together = run(&merged.schedule, &what);
                let alone: Vec<_> = schedules.iter().map(|schedule| run(schedule, &what)).collect();
                // nobody waits for another's message
                assert_eq!(together.rounds, alone.iter().map(|traffic| traffic.rounds).max().unwrap());
                assert_eq!(together.bytes, alone.iter().map(|traffic| traffic.bytes).sum::<u64>());
                for (job, schedule) in schedules.iter().enumerate() {
                    assert_same_but_moved(&merged, job, schedule, &what);
                }
            }
        }
    }
}

#[test]
fn programs_with_streams_and_nics_of_their_own_keep_them() {
    let files =
        ["h17_nccl_like_ring_8", "fuzz_106_p5", "fuzz_104_p3", "h02_irequires_overlap", "h14_self_send"];
    let texts = files.iter().map(|file| reference(&format!("cases/{file}.goal")));
    let Some(texts) = texts.collect::<Option<Vec<String>>>() else { return };
    let schedules: Vec<Schedule> = texts.iter().map(|text| parse(text)).collect();
    let all: Vec<&Schedule> = schedules.iter().collect();
    let sizes: Vec<u32> = schedules.iter().map(Schedule::ranks).collect();
    let nodes = Nodes { ranks_per_node: 2, shared: true, ..Nodes::new(6) };
    let options = MergeOptions { nodes: 6, nics: NicPolicy::Own };
    let merged = merge(&jobs(&all, place("random", &sizes, &nodes)), &options).unwrap();
    assert_apart(&merged);
    for (job, (schedule, file)) in schedules.iter().zip(files).enumerate() {
        assert_same_but_moved(&merged, job, schedule, file);
        for (rank, tenant) in (0..).zip(&merged.jobs[job]) {
            for (number, original) in tenant.operations.clone().zip(schedule.of_rank(rank)) {
                let (found, before) =
                    (merged.schedule.operation(tenant.node, number), schedule.operation(rank, original));
                let message = before.kind != OperationKind::Calc;
                assert_eq!(found.nic, if message { before.nic + tenant.first_nic } else { 0 }, "{file}");
            }
        }
    }
}

/// Operations of a job: the same kinds, sizes and dependencies, peers on the nodes of their ranks.
fn assert_same_but_moved(merged: &Merged, job: usize, schedule: &Schedule, what: &str) {
    let own = &merged.jobs[job];
    for (rank, tenant) in (0..).zip(own) {
        let node_first = merged.schedule.of_rank(tenant.node).start;
        let base = tenant.operations.start - node_first;
        let here = &plain(&merged.schedule, tenant.node)
            [base as usize..(tenant.operations.end - node_first) as usize];
        for (found, expected) in here.iter().zip(plain(schedule, rank)) {
            let (kind, size, peer, _, cpu, _, edges) = found;
            assert_eq!((*kind, *size), (expected.0, expected.1), "{what}");
            assert_eq!(u32::from(*cpu), tenant.cpus.start + u32::from(expected.4), "{what}");
            if *kind != OperationKind::Calc {
                assert_eq!(*peer, own[expected.2 as usize].node, "{what}");
            }
            let moved: Vec<_> = expected.6.iter().map(|(after, start)| (after + base, *start)).collect();
            assert_eq!(*edges, moved, "{what}");
        }
        assert_eq!(here.len(), schedule.of_rank(rank).len(), "{what}");
    }
}

#[test]
fn messages_of_different_tenants_never_share_a_tag() {
    let schedules = [pattern("linear-alltoall", 8, 1), pattern("dissemination", 8, 2)];
    let placed = vec![vec![0, 0, 0, 0, 1, 1, 1, 1], vec![1, 1, 0, 0, 1, 1, 0, 0]];
    let merged = merge(&jobs(&[&schedules[0], &schedules[1]], placed), &MergeOptions::new(2)).unwrap();
    // (node, other node, tag) -> (job, rank, other rank), from the side of the sender
    let mut flows = std::collections::BTreeMap::new();
    for (job, schedule) in schedules.iter().enumerate() {
        for (rank, tenant) in (0..).zip(&merged.jobs[job]) {
            for (number, original) in tenant.operations.clone().zip(schedule.of_rank(rank)) {
                let message = merged.schedule.operation(tenant.node, number);
                if message.kind == OperationKind::Send {
                    let to = schedule.operation(rank, original).peer;
                    let flow =
                        *flows.entry((tenant.node, message.peer, message.tag)).or_insert((job, rank, to));
                    assert_eq!(flow, (job, rank, to));
                }
            }
        }
    }
    assert_eq!(flows.len(), 8 * 7 + 8 * 3);
}

#[test]
fn large_tags_are_numbered_to_be_kept_apart() {
    let mut builder = ScheduleBuilder::new(2);
    for (peer, operation) in [(1, Operation::send as fn(u64, u32, u32) -> Operation), (0, Operation::receive)]
    {
        for tag in [0, 17, u32::MAX - 1] {
            builder.push(operation(8, peer, tag));
        }
        builder.close_rank().unwrap();
    }
    let schedule = builder.build().unwrap();
    let placed = vec![vec![0, 1], vec![0, 1], vec![1, 0]];
    let merged = merge(&jobs(&[&schedule, &schedule, &schedule], placed), &MergeOptions::new(2)).unwrap();
    let tags: BTreeSet<u32> = (0..9).map(|number| merged.schedule.operation(0, number).tag).collect();
    assert_eq!(tags.len(), 9);
    assert_eq!(run(&merged.schedule, "numbered").messages, 9);
}

/// Rank 0 takes `count` messages from anybody, with any tag or not.
fn wild(ranks: u32, tag: u32) -> Schedule {
    let mut builder = ScheduleBuilder::new(ranks);
    for _ in 1..ranks {
        builder.push(Operation::receive(8, ANY, tag));
    }
    builder.close_rank().unwrap();
    for _ in 1..ranks {
        builder.push(Operation::send(8, 0, 3));
        builder.close_rank().unwrap();
    }
    builder.build().unwrap()
}

#[test]
fn wildcards_are_kept_where_they_cannot_meet_another_tenant() {
    let other = pattern("linear-alltoall", 4, 8);
    let any_source = wild(4, 3);
    let any_tag = wild(4, ANY);
    let both = |schedule: &Schedule, nodes: Vec<u32>| {
        merge(&jobs(&[&other, schedule], vec![(0..4).collect(), nodes]), &MergeOptions::new(8))
    };
    // the second tenant everywhere: the code of its messages is known
    let merged = both(&any_source, vec![0, 1, 2, 3]).unwrap();
    let receive = merged.schedule.operation(0, merged.jobs[1][0].operations.start);
    let send = merged.schedule.operation(1, merged.jobs[1][1].operations.start);
    assert_eq!((receive.peer, receive.tag), (ANY, send.tag));
    assert_ne!(send.tag, 3);
    // sometimes alone, sometimes not
    let error = both(&any_source, vec![0, 1, 2, 5]).unwrap_err();
    assert!(error.reason.contains("rank 0: operation l1 takes any source"), "{error}");
    // any tag: the receiver must be alone on its node
    assert!(both(&any_tag, vec![4, 1, 2, 3]).is_ok());
    let error = both(&any_tag, vec![0, 1, 2, 3]).unwrap_err();
    assert!(error.reason.contains("takes any tag, which on a shared node"), "{error}");
    // nothing shared: nothing changes
    let merged = both(&any_tag, vec![4, 5, 6, 7]).unwrap();
    assert_eq!(merged.schedule.operation(5, merged.jobs[1][1].operations.start).tag, 3);
}

#[test]
fn a_late_job_waits_and_repetitions_follow_one_another() {
    let first = pattern("linear-alltoall", 4, 8);
    let second = pattern("dissemination", 4, 8);
    let mut jobs = jobs(&[&first, &second], vec![(0..4).collect(), (0..4).collect()]);
    jobs[1].start_offset_ns = 5000;
    (jobs[1].repetitions, jobs[1].pause_ns) = (3, 40);
    let merged = merge(&jobs, &MergeOptions::new(4)).unwrap();
    assert_apart(&merged);
    let tenant = &merged.jobs[1][2];
    // the offset, 3 times 4 operations, 2 pauses
    assert_eq!(tenant.operations.len(), 1 + 3 * 4 + 2);
    let start = tenant.operations.start;
    let offset = merged.schedule.operation(2, start);
    assert_eq!(offset, Operation::calc(5000).on_cpu(1));
    // only the operations that wait for nothing else: the first send and both receives
    let base = start - merged.schedule.of_rank(2).start;
    let waiting: Vec<u32> = merged.schedule.edges(start).iter().map(|edge| edge.after() - base).collect();
    assert_eq!(waiting, [1, 2, 4]);
    let pause = merged.schedule.operation(2, start + 5);
    assert_eq!(pause, Operation::calc(40).on_cpu(1));
    let traffic = run(&merged.schedule, "late");
    assert_eq!((traffic.rounds, traffic.messages), (3 * 2, 12 + 3 * 8));
    let mut counts = Vec::new();
    merged.schedule.count_dependencies(2, &mut counts);
    let gates = counts[base as usize..].iter().filter(|count| **count == 0).count();
    assert_eq!(gates, 1, "everything of the late job waits for the offset");
}

#[test]
fn nics_are_shared_or_own_or_dealt_out() {
    let schedule = pattern("gather", 2, 8);
    let nics = |policy| {
        let options = MergeOptions { nodes: 2, nics: policy };
        let all = jobs(&[&schedule; 3], vec![vec![0, 1]; 3]);
        let merged = merge(&all, &options).unwrap();
        let nics: Vec<u16> = (0..3).map(|number| merged.schedule.operation(0, number).nic).collect();
        assert_eq!(nics, merged.jobs.iter().map(|job| job[0].first_nic).collect::<Vec<_>>());
        nics
    };
    assert_eq!(nics(NicPolicy::Shared), [0, 0, 0]);
    assert_eq!(nics(NicPolicy::Own), [0, 1, 2]);
    assert_eq!(nics(NicPolicy::Modulo(2)), [0, 1, 0]);
}

#[test]
fn what_cannot_be_merged_is_said() {
    let schedule = pattern("gather", 3, 8);
    let error = |nodes: Vec<u32>| {
        merge(&[Job::new("a", &schedule, nodes)], &MergeOptions::new(4)).unwrap_err().to_string()
    };
    assert_eq!(error(vec![0, 1]), "nodes: 2 nodes for the 3 ranks of job `a`");
    let text = error(vec![0, 1, 4]);
    assert_eq!(text, "nodes: job `a` has a rank on node 4, the machine has nodes 0 to 3");
    let mut builder = ScheduleBuilder::new(1);
    builder.push(Operation::send(8, 9_999_999, 0));
    let lost = builder.build().unwrap();
    let text = merge(&[Job::new("b", &lost, vec![0])], &MergeOptions::new(4)).unwrap_err().to_string();
    assert_eq!(text, "schedule: job `b`, rank 0: operation l1 names rank 9999999, the job has ranks 0 to 0");
    let text = merge(&[], &MergeOptions::new(u32::MAX)).unwrap_err().to_string();
    assert_eq!(text, "nodes: at most 67108864 nodes, got 4294967295");
    let mut builder = ScheduleBuilder::new(1);
    builder.push(Operation::calc(1).on_cpu(40_000));
    let wide = builder.build().unwrap();
    let text = merge(&jobs(&[&wide, &wide], vec![vec![0], vec![0]]), &MergeOptions::new(1)).unwrap_err();
    assert!(text.reason.contains("40001 streams"), "{text}");
}

#[test]
fn placements_place_every_rank_once() {
    let sizes = [5, 1, 12, 7];
    let racks: Vec<u32> = (0..32).map(|node| node / 8).collect();
    for policy in JobPlacementSpec::KINDS.iter().filter(|kind| **kind != "list") {
        for ranks_per_node in [1, 2, 3] {
            for shared in [false, true] {
                let nodes = Nodes { count: 32, ranks_per_node, shared, rack_of: &racks };
                let placed = place(policy, &sizes, &nodes);
                let mut used = BTreeSet::new();
                for (list, &size) in placed.iter().zip(&sizes) {
                    assert_eq!(list.len(), size as usize, "{policy}");
                    let own: BTreeSet<u32> = list.iter().copied().collect();
                    assert_eq!(own.len() as u32, size.div_ceil(ranks_per_node), "{policy}");
                    assert!(own.iter().all(|&node| node < 32), "{policy}");
                    assert!(shared || own.is_disjoint(&used), "{policy}: {placed:?}");
                    used.extend(own);
                }
            }
        }
    }
}

#[test]
fn placements_do_what_their_names_say() {
    let nodes = Nodes::new(16);
    assert_eq!(place("packed", &[3, 2], &nodes), [vec![0, 1, 2], vec![3, 4]]);
    assert_eq!(place("round-robin", &[3, 1, 2], &nodes), [vec![0, 3, 5], vec![1], vec![2, 4]]);
    assert_eq!(place("packed", &[3, 2], &Nodes { ranks_per_node: 2, ..nodes }), [vec![0, 0, 1], vec![2, 2]]);
    assert_eq!(place("packed", &[3, 2], &Nodes { shared: true, ..nodes }), [vec![0, 1, 2], vec![0, 1]]);
    let drawn = place("random", &[8, 8], &nodes);
    assert_eq!(drawn, place("random", &[8, 8], &nodes));
    assert_ne!(drawn, place("packed", &[8, 8], &nodes));
    let shared = place("random", &[8, 8], &Nodes { shared: true, ..nodes });
    assert_ne!(shared[0], shared[1]);
    // racks 0, 1, 2 of 4, 8 and 4 nodes, interleaved
    let racks = [1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2];
    let racked = Nodes { rack_of: &racks, ..nodes };
    // 3 fit the first small rack, 8 the large one, 5 take what is left, larger piece first
    let filled = place("fill-racks", &[3, 8, 5], &racked);
    assert_eq!(filled[0], [1, 5, 9]);
    assert_eq!(filled[1], [0, 2, 4, 6, 8, 10, 12, 14]);
    assert_eq!(filled[2], [3, 7, 11, 15, 13]);
    let spread = place("spread-racks", &[4, 3], &racked);
    assert_eq!(spread, [vec![1, 0, 3, 5], vec![9, 2, 7]]);
}

#[test]
fn what_cannot_be_placed_is_said() {
    let error = |policy: Value, sizes: &[u32], nodes: &Nodes<'_>| {
        placement(&spec(policy), sizes, nodes, &Streams::new(0)).unwrap_err().to_string()
    };
    let text = error(json!({"kind": "packed"}), &[3, 2], &Nodes::new(4));
    assert_eq!(text, "nodes: the jobs need 5 nodes with 1 rank of a job on each, the machine has 4");
    let text = error(json!({"kind": "fill-racks"}), &[3], &Nodes::new(4));
    assert_eq!(text, "this placement needs to know the racks of the nodes");
    let text = error(json!({"kind": "list", "nodes": [[0, 1], [1]]}), &[2, 1], &Nodes::new(4));
    assert_eq!(text, "nodes.1: node 1 is given to jobs 0 and 1, and is not shared");
    let text = error(json!({"kind": "list", "nodes": [[0, 9]]}), &[2], &Nodes::new(4));
    assert_eq!(text, "nodes.0: job 0 names node 9, the machine has 4");
}

const FOUR: Regroup = Regroup { ranks_per_node: 4, nics: 2, in_node: InNode::Messages };

#[test]
fn ranks_become_streams_of_a_node() {
    let schedule = pattern("linear-alltoall", 10, 50);
    let grouped = regroup(&schedule, &FOUR).unwrap();
    assert_eq!((grouped.schedule.ranks(), grouped.schedule.cpus(), grouped.schedule.nics()), (3, 4, 2));
    assert_apart(&grouped);
    assert_same_but_moved(&grouped, 0, &schedule, "regrouped");
    let tenant = &grouped.jobs[0][7];
    assert_eq!((tenant.node, tenant.cpus.clone(), tenant.first_nic), (1, 3..4, 1));
    let (before, after) = (run(&schedule, "before"), run(&grouped.schedule, "after"));
    assert_eq!(before, after);
}

#[test]
fn one_rank_per_node_changes_nothing() {
    let schedule = pattern("dissemination", 9, 50);
    let same = regroup(&schedule, &Regroup { ranks_per_node: 1, ..FOUR }).unwrap();
    assert_same(&same.schedule, &schedule, "one per node");
}

#[test]
fn messages_inside_a_node_become_copies_that_wait_for_each_other() {
    let schedule = pattern("ring-allreduce", 8, 8 * 600);
    let in_node = InNode::Copies { bytes_per_ns: 300.0 };
    let grouped = regroup(&schedule, &Regroup { in_node, ..FOUR }).unwrap().schedule;
    // of 8 links of the ring 2 leave a node; 14 messages on each
    assert_eq!(count(&grouped), (2 * 14, 2 * 14, 2 * 6 * 14));
    assert_eq!(grouped.edge_count(), schedule.edge_count() + 6 * 14);
    for number in 0..grouped.len() {
        let operation = grouped.shape(number).operation;
        assert!(operation.kind != OperationKind::Calc || operation.size == 2);
    }
    let traffic = run(&grouped, "copies");
    assert_eq!(traffic.bytes, 2 * 14 * 600);
    // receiver's copy k waits for the sender's copy k: without them no operation of a node would wait
    let whole = regroup(&schedule, &Regroup { ranks_per_node: 8, in_node, ..FOUR }).unwrap().schedule;
    let (mut longest, mut waits) = (vec![0_u32; whole.len() as usize], Vec::new());
    whole.count_dependencies(0, &mut waits);
    let mut ready: Vec<u32> = (0..whole.len()).filter(|&at| waits[at as usize] == 0).collect();
    while let Some(at) = ready.pop() {
        for edge in whole.edges(at) {
            let after = edge.after() as usize;
            longest[after] = longest[after].max(longest[at as usize] + 1);
            waits[after] -= 1;
            if waits[after] == 0 {
                ready.push(edge.after());
            }
        }
    }
    // 14 steps of a send and a receive each, one after the other
    assert_eq!(longest.iter().max(), Some(&(2 * 14 - 1)));
}

#[test]
fn what_cannot_be_regrouped_is_said() {
    let schedule = pattern("gather", 8, 8);
    let copies = Regroup { in_node: InNode::Copies { bytes_per_ns: 1.0 }, ..FOUR };
    let error = |schedule: &Schedule, options| regroup(schedule, &options).unwrap_err().to_string();
    let text = error(&schedule, Regroup { ranks_per_node: 0, ..FOUR });
    assert_eq!(text, "ranks-per-node: a node holds at least one rank, got 0");
    assert_eq!(error(&schedule, Regroup { nics: 0, ..FOUR }), "nics: a node has at least one NIC, got 0");
    let text = error(&schedule, Regroup { in_node: InNode::Copies { bytes_per_ns: 0.0 }, ..FOUR });
    assert!(text.starts_with("bytes-per-ns: a rate is more than 0"), "{text}");
    let mut builder = ScheduleBuilder::new(2);
    builder.push(Operation::send(8, 1, 0));
    let unmatched = builder.build().unwrap();
    let text = error(&unmatched, copies);
    assert!(text.contains("node 0: 1 sends and 0 receives inside of the node from operation l1"), "{text}");
    let text = error(&wild(4, ANY), FOUR);
    assert!(text.contains("takes any tag"), "{text}");
    // both ranks receive before they send: a circle of messages, and of copies
    let mut builder = ScheduleBuilder::new(2);
    for rank in 0..2 {
        builder.push(Operation::receive(8, 1 - rank, 0));
        builder.push(Operation::send(8, 1 - rank, 0));
        builder.requires(1, 0);
        builder.close_rank().unwrap();
    }
    let text = error(&builder.build().unwrap(), copies);
    assert!(text.contains("waits for itself when messages inside of the node are copies"), "{text}");
}
