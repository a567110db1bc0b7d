//! Every algorithm of the list, proved for every kind that it does, for many sizes.

use stratasim_workload::collective::proof::{Account, prove};
use stratasim_workload::collective::{Action, CollectiveKind, CollectiveSpec, Guarantee, Parts, Plan};

use CollectiveKind::{
    AllGather, AllReduce, AllToAll, Barrier, Broadcast, ExclusiveScan, Gather, Reduce, ReduceScatter, Scan,
    Scatter,
};

fn spec(json: &str) -> CollectiveSpec {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

/// Prime factors of `n` as dimensions, smallest innermost.
fn dimensions(mut n: u32) -> Vec<u32> {
    let mut factors = Vec::new();
    for prime in 2.. {
        while n.is_multiple_of(prime) {
            factors.push(prime);
            n /= prime;
        }
        if n == 1 {
            break;
        }
    }
    if factors.is_empty() { vec![1] } else { factors }
}

const MEMBERS: [u32; 38] = {
    let mut members = [0; 38];
    let mut n = 0;
    while n < 33 {
        members[n] = n as u32 + 1;
        n += 1;
    }
    let larger = [48, 60, 64, 81, 100];
    while n < 38 {
        members[n] = larger[n - 33];
        n += 1;
    }
    members
};

/// Proves `json` for all sizes and hands each plan's account to `check`.
fn sweep(json: &str, kinds: &[CollectiveKind], check: impl Fn(CollectiveKind, u64, u64, &dyn Plan, Account)) {
    let spec = spec(json);
    for kind in CollectiveKind::ALL {
        for n in MEMBERS {
            let sizes = [0, 1, u64::from(n) - 1, u64::from(n), 1000, 4096 * u64::from(n) + 7];
            // the schedule hardly depends on the size: one uneven size is enough for many members
            for bytes in if n <= 33 { &sizes[..] } else { &sizes[5..] }.iter().copied() {
                let plan = spec.plugin().plan_on(kind, n, bytes, &dimensions(n));
                if !kinds.contains(&kind) {
                    let message = plan.expect_err("not one of its kinds").to_string();
                    assert!(message.contains(kind.name()), "{message}");
                    continue;
                }
                let plan = plan.unwrap_or_else(|error| panic!("{json} {kind:?} {n} {bytes}: {error}"));
                let account = prove(&*plan, kind, n, bytes)
                    .unwrap_or_else(|flaw| panic!("{json} {kind:?}, {n} members, {bytes} bytes: {flaw}"));
                check(kind, u64::from(n), bytes, &*plan, account);
            }
        }
    }
}

fn phases(kind: CollectiveKind) -> u64 {
    if kind == AllReduce { 2 } else { 1 }
}

fn log2_ceil(n: u64) -> u32 {
    n.next_power_of_two().ilog2()
}

#[test]
fn ring_sends_n_minus_1_times_the_vector_per_phase() {
    sweep(r#"{"kind": "ring"}"#, &[AllReduce, ReduceScatter, AllGather], |kind, n, bytes, plan, account| {
        assert_eq!(account.bytes, phases(kind) * (n - 1) * bytes);
        assert_eq!(u64::from(account.rounds), phases(kind) * (n - 1));
        assert_eq!(plan.pipeline().is_some(), n > 1);
    });
}

#[test]
fn recursive_sends_p_minus_1_times_the_vector_per_phase_and_folds_the_rest() {
    let kinds = [AllReduce, ReduceScatter, AllGather];
    sweep(r#"{"kind": "recursive"}"#, &kinds, |kind, n, bytes, _, account| {
        let core = 1 << n.ilog2();
        let folded = n - core;
        // core phases, vectors in or out, and one chunk per folded member in the other direction
        let chunks: u64 = (0..folded).map(|i| bytes / n + u64::from(2 * i < bytes % n)).sum();
        let expected = match kind {
            AllReduce => 2 * bytes * (core - 1) + 2 * folded * bytes,
            _ => bytes * (core - 1) + folded * bytes + chunks,
        };
        assert_eq!(account.bytes, expected);
        let rounds = phases(kind) as u32 * n.ilog2();
        assert_eq!(account.rounds, if folded > 0 { rounds + 2 } else { rounds });
    });
}

#[test]
fn binomial_sends_the_vector_over_every_edge_of_the_tree() {
    let kinds = [AllReduce, Broadcast, Reduce, Barrier, Gather, Scatter];
    sweep(r#"{"kind": "binomial"}"#, &kinds, |kind, n, bytes, _, account| {
        if matches!(kind, Gather | Scatter) {
            // a part travels once per set bit of its member's number
            let part = |member: u64| bytes / n + u64::from(member < bytes % n);
            let expected: u64 = (0..n).map(|member| u64::from(member.count_ones()) * part(member)).sum();
            assert_eq!(account.bytes, expected);
            assert_eq!((account.messages, account.rounds), (n - 1, log2_ceil(n)));
            return;
        }
        let bytes = if kind == Barrier { 0 } else { bytes };
        assert_eq!(account.bytes, phases(kind) * (n - 1) * bytes);
        let both = if matches!(kind, AllReduce | Barrier) { 2 } else { 1 };
        assert_eq!(account.messages, both * (n - 1));
        // the root alone serves ceil(log2 n) children; an inner member has a parent and fewer
        assert_eq!(account.rounds, both as u32 * log2_ceil(n));
    });
}

#[test]
fn double_binary_tree_sends_half_the_vector_over_every_edge_of_each_tree() {
    for chunk in ["3333 B", "512 KiB"] {
        let json = format!(r#"{{"kind": "double-binary-tree", "chunk": "{chunk}"}}"#);
        sweep(&json, &[AllReduce, Broadcast, Reduce], |kind, n, bytes, plan, account| {
            assert_eq!(account.bytes, phases(kind) * (n - 1) * bytes);
            assert_eq!(account.messages, phases(kind) * (n - 1) * u64::from(plan.chunks()));
            // k chunks per half; the depth of the trees is paid once per direction
            let depth = n.ilog2() + 1;
            assert!(account.rounds <= plan.chunks() / 2 + 2 * phases(kind) as u32 * depth);
        });
    }
}

#[test]
fn direct_sends_n_minus_1_times_the_vector_per_phase() {
    let kinds = [AllReduce, ReduceScatter, AllGather, Broadcast, Reduce, AllToAll, Gather, Scatter];
    for window in [None, Some(1), Some(3), Some(1000)] {
        let json = match window {
            None => r#"{"kind": "direct"}"#.to_owned(),
            Some(window) => format!(r#"{{"kind": "direct", "window": {window}}}"#),
        };
        sweep(&json, &kinds, |kind, n, bytes, plan, account| {
            let expected = match kind {
                // all but the root's own part, which is one of the longer ones
                Gather | Scatter => bytes - bytes.div_ceil(n),
                _ => phases(kind) * (n - 1) * bytes,
            };
            assert_eq!(account.bytes, expected);
            let exchange = (n - 1).div_ceil(window.unwrap_or(u64::MAX));
            let once = matches!(kind, Reduce | Gather);
            let rounds = if once { u64::from(n > 1) } else { phases(kind) * exchange };
            assert_eq!(u64::from(account.rounds), rounds);
            let mut actions = Vec::new();
            for round in 0..plan.rounds(0) {
                actions.clear();
                plan.round(0, round, &mut actions);
                let sends = actions.iter().filter(|action| matches!(action, Action::Send { .. })).count();
                assert!(sends as u64 <= window.unwrap_or(u64::MAX));
            }
        });
    }
}

#[test]
fn recursive_doubling_exchanges_whole_vectors_and_folds_the_rest() {
    let kinds = [AllReduce, Barrier, Scan, ExclusiveScan];
    sweep(r#"{"kind": "recursive-doubling"}"#, &kinds, |kind, n, bytes, _, account| {
        let core = 1 << n.ilog2();
        let messages = match kind {
            // every set bit of every number is one partner below, who has one above
            Scan | ExclusiveScan => 2 * (0..n).map(|member| u64::from(member.count_ones())).sum::<u64>(),
            _ => core * u64::from(n.ilog2()) + 2 * (n - core),
        };
        assert_eq!(account.messages, messages);
        assert_eq!(account.bytes, if kind == Barrier { 0 } else { messages * bytes });
        let folding = if n > core { 2 } else { 0 };
        let rounds = match kind {
            Scan | ExclusiveScan => log2_ceil(n),
            _ => n.ilog2() + folding,
        };
        assert_eq!(account.rounds, rounds);
    });
}

#[test]
fn segments_follow_each_other_through_chains_and_binomial_trees() {
    for segment in [1000, 4096, 1 << 20] {
        let pieces = |bytes: u64| bytes.div_ceil(segment).max(1);
        let json = format!(r#"{{"kind": "chain", "segment": "{segment} B"}}"#);
        sweep(&json, &[Broadcast, Reduce, Scan, ExclusiveScan], |_, n, bytes, plan, account| {
            let pieces = pieces(bytes);
            assert_eq!(u64::from(plan.chunks()), pieces);
            assert_eq!((account.bytes, account.messages), ((n - 1) * bytes, (n - 1) * pieces));
            let rounds = if n == 1 { 0 } else { pieces + u64::from(n > 2) };
            assert_eq!(u64::from(account.rounds), rounds);
        });
        let json = format!(r#"{{"kind": "binomial", "segment": "{segment} B"}}"#);
        let kinds = [AllReduce, Broadcast, Reduce, Barrier, Gather, Scatter];
        sweep(&json, &kinds, |kind, n, bytes, _, account| {
            if matches!(kind, Broadcast | Reduce | AllReduce) {
                let pieces = pieces(bytes);
                assert_eq!(account.bytes, phases(kind) * (n - 1) * bytes);
                assert_eq!(account.messages, phases(kind) * (n - 1) * pieces);
                if pieces > 1 && n > 1 {
                    // members 1 to n - 1 of the broadcast are inner ones from n = 4 on
                    assert_eq!(u64::from(account.rounds), phases(kind) * (pieces + u64::from(n > 3)));
                }
            }
        });
    }
    sweep(r#"{"kind": "chain"}"#, &[Broadcast, Reduce, Scan, ExclusiveScan], |_, n, _, _, account| {
        assert_eq!(account.messages, n - 1);
    });
}

#[test]
fn sequential_sends_the_vector_to_one_member_after_the_other() {
    sweep(r#"{"kind": "sequential"}"#, &[Broadcast], |_, n, bytes, _, account| {
        assert_eq!(account.bytes, (n - 1) * bytes);
        assert_eq!(u64::from(account.rounds), n - 1);
    });
}

#[test]
fn pairwise_meets_one_member_per_round() {
    for json in [r#"{"kind": "pairwise"}"#, r#"{"kind": "pairwise", "exchange": "shift"}"#] {
        sweep(json, &[AllToAll], |_, n, bytes, plan, account| {
            assert_eq!(account.bytes, (n - 1) * bytes);
            assert_eq!((u64::from(account.rounds), account.messages), (n - 1, n * (n - 1)));
            let mut actions = Vec::new();
            for round in 0..plan.rounds(0) {
                actions.clear();
                plan.round(0, round, &mut actions);
                let [Action::Send { to, .. }, Action::Receive { from, .. }] = &actions[..] else {
                    panic!("{actions:?}")
                };
                let mirrored = json.contains("shift") || !n.is_power_of_two();
                let expected = if mirrored { n as u32 - 1 - round } else { round + 1 };
                assert_eq!((*to, *from), (round + 1, expected));
            }
        });
    }
    let odd = spec(r#"{"kind": "pairwise", "exchange": "xor"}"#).plugin().plan(AllToAll, 6, 1).unwrap_err();
    assert_eq!(odd.to_string(), "exchange: `xor` pairs a power of two of members, not 6; choose `shift`");
}

#[test]
fn bruck_takes_log2_n_messages_of_each_member() {
    sweep(r#"{"kind": "bruck"}"#, &[AllGather, AllToAll], |kind, n, bytes, _, account| {
        assert_eq!(account.rounds, log2_ceil(n));
        assert_eq!(account.messages, n * u64::from(log2_ceil(n)));
        // an all-to-all sends each part once per set bit of its way
        let hops = (0..n).map(|way| u64::from(way.count_ones())).sum::<u64>();
        assert_eq!(account.bytes, if kind == AllToAll { hops * bytes } else { (n - 1) * bytes });
    });
}

#[test]
fn neighbour_exchange_takes_half_as_many_rounds_as_members() {
    let spec = spec(r#"{"kind": "neighbour-exchange"}"#);
    for n in MEMBERS {
        let bytes = 4096 * u64::from(n) + 7;
        let plan = spec.plugin().plan(AllGather, n, bytes);
        if n > 1 && n % 2 == 1 {
            assert!(plan.unwrap_err().to_string().contains("an even number of members"));
            continue;
        }
        let account =
            prove(&*plan.unwrap(), AllGather, n, bytes).unwrap_or_else(|flaw| panic!("{n}: {flaw}"));
        assert_eq!((account.rounds, account.bytes), (n / 2, u64::from(n - 1) * bytes));
        assert_eq!(account.messages, u64::from(n) * u64::from(n / 2));
    }
}

#[test]
fn parts_of_different_sizes_arrive_whole() {
    let does = [
        (r#"{"kind": "direct"}"#, &[Gather, Scatter, AllGather, AllToAll][..]),
        (r#"{"kind": "direct", "window": 2}"#, &[Gather, Scatter, AllGather, AllToAll]),
        (r#"{"kind": "binomial"}"#, &[Gather, Scatter]),
        (r#"{"kind": "ring"}"#, &[AllGather]),
        (r#"{"kind": "bruck"}"#, &[AllGather]),
        (r#"{"kind": "neighbour-exchange"}"#, &[AllGather]),
        (r#"{"kind": "pairwise"}"#, &[AllToAll]),
    ];
    for (json, kinds) in does {
        for kind in CollectiveKind::ALL {
            for n in (1..=20).chain([33, 64]) {
                let sizes: Vec<u64> = (0..n).map(|member| u64::from(member * member % 7)).collect();
                for parts in [Parts::listed(&sizes), Parts::skewed(n, 10_007, 5.0, u64::from(n))] {
                    let parts = parts.unwrap();
                    let sizes: Vec<u64> = (0..n).map(|part| parts.bytes(part..part + 1)).collect();
                    let plan = spec(json).plugin().plan_parts(kind, parts);
                    if !kinds.contains(&kind) || (json.contains("neighbour") && n > 1 && n % 2 == 1) {
                        assert!(plan.is_err(), "{json} {kind:?}");
                        continue;
                    }
                    let total: u64 = sizes.iter().sum();
                    // the size that equal parts would have must not matter
                    let account = prove(&*plan.unwrap(), kind, n, 12_345)
                        .unwrap_or_else(|flaw| panic!("{json} {kind:?}, {n} members: {flaw}"));
                    let expected = match kind {
                        Gather | Scatter if json.contains("binomial") => (0_u32..)
                            .zip(&sizes)
                            .map(|(member, size)| u64::from(member.count_ones()) * size)
                            .sum(),
                        Gather | Scatter => total - sizes[0],
                        _ => u64::from(n - 1) * total,
                    };
                    assert_eq!(account.bytes, expected, "{json} {kind:?}");
                }
            }
        }
    }
}

#[test]
fn a_matrix_says_what_every_pair_exchanges() {
    for json in [r#"{"kind": "direct"}"#, r#"{"kind": "direct", "window": 1}"#, r#"{"kind": "pairwise"}"#] {
        for n in 1..=20 {
            let size = |from: u64, to: u64| (3 * from + 5 * to) % 11;
            let rows: Vec<Vec<u64>> = (0..n).map(|from| (0..n).map(|to| size(from, to)).collect()).collect();
            let parts = Parts::rows(&rows).unwrap();
            let plan = spec(json).plugin().plan_parts(AllToAll, parts.clone()).unwrap();
            let account =
                prove(&*plan, AllToAll, n as u32, 0).unwrap_or_else(|flaw| panic!("{json} {n}: {flaw}"));
            let off_diagonal = (0..n * n).filter(|pair| pair / n != pair % n);
            let expected: u64 = off_diagonal.map(|pair| size(pair / n, pair % n)).sum();
            assert_eq!(account.bytes, expected);
            let error = spec(r#"{"kind": "direct"}"#).plugin().plan_parts(Gather, parts).unwrap_err();
            assert!(error.to_string().contains("a matrix of sizes is for all-to-all"), "{error}");
        }
    }
}

#[test]
fn what_needs_equal_parts_says_who_does_not() {
    let parts = Parts::listed(&[1, 2, 3]).unwrap();
    for (json, kind) in [
        (r#"{"kind": "recursive"}"#, AllGather),
        (r#"{"kind": "bruck"}"#, AllToAll),
        (r#"{"kind": "ring"}"#, AllReduce),
    ] {
        let error = spec(json).plugin().plan_parts(kind, parts.clone()).unwrap_err().to_string();
        assert!(
            error.contains("with equal parts only; parts of different sizes are done by `direct`"),
            "{error}"
        );
    }
    let nested = r#"{"kind": "hierarchical", "algorithms": [{"kind": "bruck"}]}"#;
    let error = spec(nested).plugin().plan_on(AllGather, 6, 60, &[2, 3]).unwrap_err().to_string();
    assert!(
        error.starts_with("algorithms.0.kind: its messages carry parts that are not neighbours"),
        "{error}"
    );
}

#[test]
fn dissemination_takes_log2_n_rounds_of_empty_messages() {
    sweep(r#"{"kind": "dissemination"}"#, &[Barrier], |_, n, _, _, account| {
        assert_eq!(account.bytes, 0);
        assert_eq!(account.rounds, log2_ceil(n));
        assert_eq!(account.messages, n * u64::from(log2_ceil(n)));
    });
}

#[test]
fn hierarchical_leaves_outer_dimensions_the_part_that_is_left() {
    let kinds = [AllReduce, ReduceScatter, AllGather];
    // rings and direct exchanges send (d - 1) B per group and phase; groups of one part share it
    let expected = |kind, n: u64, bytes| {
        let mut groups = n;
        let mut total = 0;
        for size in dimensions(n as u32) {
            groups /= u64::from(size);
            total += phases(kind) * groups * (u64::from(size) - 1) * bytes;
        }
        total
    };
    for json in [
        r#"{"kind": "hierarchical"}"#,
        r#"{"kind": "hierarchical", "algorithms": [{"kind": "direct"}, {"kind": "ring"}]}"#,
        r#"{"kind": "hierarchical", "algorithms": [{"kind": "ring"}, {"kind": "direct", "window": 2}]}"#,
    ] {
        sweep(json, &kinds, |kind, n, bytes, _, account| assert_eq!(account.bytes, expected(kind, n, bytes)));
    }
    // totals of folding algorithms are compared with plan.total_bytes() by the proof itself
    sweep(
        r#"{"kind": "hierarchical", "algorithms": [{"kind": "recursive"}]}"#,
        &kinds,
        |kind, n, bytes, _, account| assert!(account.bytes >= expected(kind, n, bytes)),
    );
}

#[test]
fn hierarchical_takes_any_all_reduce_in_the_outermost_dimension_and_nests() {
    for (outer, dimensions) in [
        (r#"{"kind": "double-binary-tree", "chunk": "64 B"}"#, vec![4, 6]),
        (r#"{"kind": "binomial"}"#, vec![3, 5]),
        (r#"{"kind": "hierarchical", "dimensions": [2, 3]}"#, vec![4, 6]),
        (r#"{"kind": "recursive"}"#, vec![1, 5, 1, 6]),
    ] {
        let json = format!(r#"{{"kind": "hierarchical", "algorithms": [{{"kind": "ring"}}, {outer}]}}"#);
        let members = dimensions.iter().product();
        let plan = spec(&json).plugin().plan_on(AllReduce, members, 10_007, &dimensions).unwrap();
        prove(&*plan, AllReduce, members, 10_007).unwrap_or_else(|flaw| panic!("{json}: {flaw}"));
    }
    // inner dimensions may be hierarchical, too: their chunks change owners twice
    let json = r#"{"kind": "hierarchical", "dimensions": [6, 4], "algorithms":
        [{"kind": "hierarchical", "dimensions": [3, 2]}, {"kind": "direct"}]}"#;
    for kind in [AllReduce, ReduceScatter, AllGather] {
        let plan = spec(json).plugin().plan(kind, 24, 1000).unwrap();
        prove(&*plan, kind, 24, 1000).unwrap_or_else(|flaw| panic!("{kind:?}: {flaw}"));
    }
}

#[test]
fn hierarchical_says_which_dimensions_do_not_fit() {
    let plan = |json: &str, dimensions: &[u32]| {
        let error = spec(json).plugin().plan_on(AllReduce, 24, 1000, dimensions).unwrap_err();
        error.to_string()
    };
    let plain = r#"{"kind": "hierarchical"}"#;
    assert!(plan(plain, &[]).contains("dimensions: the topology names no dimensions"));
    assert!(plan(plain, &[4, 5]).contains("dimensions 4 x 5 do not make 24 members"));
    assert!(plan(plain, &[65536, 65536]).contains("do not make 24 members"));
    let tree = r#"{"kind": "hierarchical", "algorithms": [{"kind": "binomial"}]}"#;
    assert!(plan(tree, &[4, 6]).contains("algorithms.0.kind: `binomial` does not do reduce-scatter"));
}

#[test]
fn coherent_ring_halves_the_ring_and_charged_reads_bring_the_bytes_back() {
    sweep(r#"{"kind": "coherent-ring"}"#, &[AllReduce], |_, n, bytes, plan, account| {
        assert_eq!(plan.guarantee(), Guarantee::AtOwners);
        assert_eq!(account.bytes, (n - 1) * bytes);
        assert_eq!(u64::from(account.rounds), n - 1);
        assert_eq!(plan.pipeline().is_some(), n > 1);
    });
    for (window, reads) in [("", u64::MAX), (r#", "window": 4"#, 4)] {
        let json = format!(r#"{{"kind": "coherent-ring", "fetch": "charged"{window}}}"#);
        sweep(&json, &[AllReduce], |_, n, bytes, plan, account| {
            if n > 1 {
                assert_eq!(plan.guarantee(), Guarantee::Result);
            }
            assert_eq!(account.bytes, 2 * (n - 1) * bytes);
            assert_eq!(u64::from(account.rounds), n - 1 + (n - 1).div_ceil(reads));
        });
    }
}

#[test]
fn coarse_ring_sends_what_a_ring_of_whole_chunks_sends() {
    sweep(r#"{"kind": "coarse-ring"}"#, &[AllReduce], |_, n, bytes, plan, account| {
        assert_eq!(plan.guarantee(), Guarantee::CostOnly);
        assert_eq!(account.bytes, n * 2 * (n - 1) * (bytes / n));
        assert_eq!(account.rounds, u32::from(n > 1));
    });
    sweep(r#"{"kind": "coarse-ring", "coherent": true}"#, &[AllReduce], |_, n, bytes, plan, account| {
        assert_eq!(plan.guarantee(), Guarantee::CostOnly);
        assert_eq!(account.bytes, n * (n - 1) * (bytes / n));
    });
}

/// Whatever an algorithm plans when its parameters are left away.
#[test]
fn every_algorithm_is_proven() {
    for name in CollectiveSpec::KINDS {
        let spec = spec(&format!(r#"{{"kind": "{name}"}}"#));
        let mut proven = 0;
        for kind in CollectiveKind::ALL {
            for n in 1..=17 {
                for bytes in [0, 1, 1000, 4096 * u64::from(n) + 7] {
                    let Ok(plan) = spec.plugin().plan_on(kind, n, bytes, &[n]) else { continue };
                    prove(&*plan, kind, n, bytes)
                        .unwrap_or_else(|flaw| panic!("{name} {kind:?}, {n} members, {bytes} bytes: {flaw}"));
                    proven += 1;
                }
            }
        }
        assert!(proven > 0, "{name}");
    }
}

#[test]
fn every_algorithm_refuses_what_cannot_be_planned() {
    for kind in CollectiveSpec::KINDS {
        let spec = spec(&format!(r#"{{"kind": "{kind}"}}"#));
        let does = |members, bytes| {
            CollectiveKind::ALL.map(|kind| spec.plugin().plan_on(kind, members, bytes, &[members]))
        };
        assert!(does(8, 1000).iter().any(Result::is_ok), "{kind} does nothing");
        for refused in [does(0, 1000), does(u32::MAX, 1000), does(8, u64::MAX)] {
            assert!(refused.iter().all(Result::is_err), "{kind}");
        }
    }
    let window = spec(r#"{"kind": "direct", "window": 0}"#).plugin().plan(AllToAll, 4, 16).unwrap_err();
    assert_eq!(window.to_string(), "window: a window of 0 messages sends nothing; give at least 1");
    let tiny = spec(r#"{"kind": "double-binary-tree", "chunk": "1 B"}"#);
    assert!(
        tiny.plugin().plan(AllReduce, 4, 1 << 40).unwrap_err().to_string().contains("give larger chunks")
    );
    let many = spec(r#"{"kind": "direct"}"#).plugin().plan(AllToAll, 1 << 16, 16).unwrap_err();
    assert!(many.to_string().contains("65535 members"));
    for kind in ["chain", "binomial"] {
        let segment = |size: &str| {
            let json = format!(r#"{{"kind": "{kind}", "segment": "{size}"}}"#);
            spec(&json).plugin().plan(Broadcast, 4, 1 << 40).unwrap_err().to_string()
        };
        assert!(segment("0 B").contains("segment: a segment of 0 bytes never moves anything"), "{kind}");
        assert!(segment("1 B").contains("give larger segments"), "{kind}");
    }
}

#[test]
fn an_unknown_option_or_kind_is_named() {
    let error = |json: &str| serde_json::from_str::<CollectiveSpec>(json).unwrap_err().to_string();
    assert!(error(r#"{"kind": "rang"}"#).contains("did you mean `ring`?"));
    assert!(error(r#"{"kind": "direct", "windows": 3}"#).contains("unknown field `windows`"));
}

/// An exchange of all with all is told what it would take before anything is sent: 2^31 messages at once are the most.
#[test]
fn an_exchange_that_no_memory_holds_is_refused_and_named() {
    let plan = |json: &str, kind, n| spec(json).plugin().plan(kind, n, 1 << 20).map(|plan| plan.rounds(0));
    let direct = r#"{"kind": "direct"}"#;
    // 46,341 x 46,340 messages are less than 2^31, those of one member more are not
    for kind in [AllToAll, AllGather, ReduceScatter, AllReduce] {
        assert!(plan(direct, kind, 46_341).is_ok(), "{kind:?}");
        let error = plan(direct, kind, 46_342).unwrap_err();
        assert_eq!(error.field, "window");
        let expected = format!(
            "{} by `direct` over 46,342 members begins with 2,147,534,622 messages at once, which take more than 214 GB of \
             memory; at most 2^31 are possible: give a window of 46,339 messages or less",
            kind.name()
        );
        assert_eq!(error.reason, expected);
        assert!(plan(r#"{"kind": "direct", "window": 46339}"#, kind, 46_342).is_ok(), "{kind:?}");
    }
    // one message of each member, or of one member to each
    for kind in [Broadcast, Reduce, Gather, Scatter] {
        assert!(plan(direct, kind, 1 << 20).is_ok(), "{kind:?}");
    }
    assert!(plan(r#"{"kind": "coherent-ring"}"#, AllReduce, 1 << 20).is_ok());
    let error = plan(r#"{"kind": "coherent-ring", "fetch": "charged"}"#, AllReduce, 1 << 20).unwrap_err();
    assert!(error.reason.contains("over 1,048,576 members"), "{}", error.reason);
    assert!(
        plan(r#"{"kind": "coherent-ring", "fetch": "charged", "window": 2048}"#, AllReduce, 1 << 20).is_ok()
    );
}
