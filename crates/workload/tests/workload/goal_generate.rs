//! Schedules of patterns: identity with schedgen's, closed forms, and that all of them run.

use crate::common::goal_text::{assert_same, count, parse, reference, run};
use serde_json::{Map, Value, json};
use stratasim_core::random::Streams;
use stratasim_workload::collective::{CollectiveKind, CollectiveSpec};
use stratasim_workload::goal::generate::{Background, GenerateContext, GenerateSpec, RankWriter};
use stratasim_workload::goal::{Operation, OperationKind, Schedule, ScheduleBuilder};

/// Messages on the longest chain.
fn depth(schedule: &Schedule) -> u32 {
    run(schedule, "depth").rounds
}

fn named(name: &str, options: Value) -> GenerateSpec {
    let Value::Object(options) = options else { panic!("{options}") };
    GenerateSpec::named(name, options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What schedgen's arguments say.
fn schedgen(arguments: &str) -> Schedule {
    let mut context = GenerateContext::new(8);
    let (mut name, mut options) = ("binomialtreebcast", Map::new());
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        if word == "--outcast" {
            options.insert("outcast".into(), json!(true));
            continue;
        }
        let value = words.next().unwrap();
        let number = || value.parse::<u64>().unwrap();
        match word {
            "-p" => name = value,
            "-s" => context.ranks = number() as u32,
            "-d" => context.bytes = Some(number()),
            "--root" => context.root = number() as u32,
            "--segmentsize" => context.segment_bytes = Some(number()),
            "--nb" => context.background.ns = number(),
            "--nb-poll" => context.background.poll_ns = number(),
            "--cpu" => context.background.cpu = number() as u16,
            "--nway" => drop(options.insert("ways".into(), number().into())),
            "--rpl-dep-cmp" => drop(options.insert("gap-ns".into(), number().into())),
            "--a2av-skew-ratio" => drop(options.insert("skew-ratio".into(), number().into())),
            _ => panic!("{word}"),
        }
    }
    named(name, Value::Object(options)).generate(&context).unwrap()
}

#[test]
fn schedules_are_those_of_schedgen() {
    let Some(origins) = reference("case_origin.json") else { return };
    let origins: Map<String, Value> = serde_json::from_str(&origins).unwrap();
    let (mut same, mut missing) = (Vec::new(), Vec::new());
    for (id, origin) in &origins {
        let arguments = origin["args"].as_str().unwrap_or("");
        if origin["origin"] != "schedgen" || arguments.contains("trace") {
            continue;
        }
        // what schedgen draws from the clock or the C library cannot be had again; only its counts
        let drawn = arguments.contains("random_bisect") || arguments.contains("alltoallv");
        let ours = schedgen(arguments);
        run(&ours, id);
        let Some(theirs) = reference(&format!("cases/{id}.goal")) else {
            missing.push(id.as_str());
            continue;
        };
        let theirs = parse(&theirs);
        if drawn {
            assert_eq!(count(&ours), count(&theirs), "{id}");
            assert_eq!(ours.edge_count(), theirs.edge_count(), "{id}");
        } else {
            assert_same(&ours, &theirs, id);
            same.push(id.as_str());
        }
    }
    eprintln!("{} the same: {}; without a file: {}", same.len(), same.join(" "), missing.join(" "));
    assert!(same.len() >= 20, "{same:?}");
}

/// Options with which a pattern is tried beside none.
fn variants(kind: &str) -> Vec<Value> {
    let mut all = vec![json!({})];
    match kind {
        "n-way-dissemination" => all.extend([json!({"ways": 2}), json!({"ways": 3, "reduction-ns": 7})]),
        "pipelined-ring" => all.push(json!({"dependent": true})),
        "ring-allreduce" => all.push(json!({"whole-chunks": true})),
        "recursive-doubling-allreduce" => all.push(json!({"gap-ns": 777})),
        "incast" | "outcast" => all.push(json!({"imbalance": 0.1})),
        "linear-alltoall" => {
            all.extend([json!({"window": 1}), json!({"window": 3}), json!({"imbalance": 0.5})]);
        }
        "linear-alltoallv" => all.extend([json!({"skew-ratio": 10}), json!({"outcast": true})]),
        "random-bisection" => all.push(json!({"symmetric": true})),
        "chained-dissemination" => all.extend([json!({"runs": 1}), json!({"runs": 0})]),
        "collective" => {
            all = CollectiveKind::ALL
                .iter()
                .flat_map(|kind| {
                    let operation = kind.name();
                    [
                        json!({"operation": operation}),
                        json!({"operation": operation, "reduction-ps-per-byte": 100}),
                    ]
                })
                .collect();
        }
        _ => {}
    }
    all
}

/// Every pattern in every variant over many numbers of ranks, where it can be had.
fn every(mut check: impl FnMut(&str, &Value, &GenerateSpec, &GenerateContext)) {
    for kind in GenerateSpec::KINDS {
        for options in variants(kind) {
            let spec = named(kind, options.clone());
            for ranks in [1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 27, 33, 64] {
                for root in [0, ranks / 2, ranks - 1] {
                    if root > 0 && !spec.plugin().has_root() {
                        continue;
                    }
                    let mut context = GenerateContext::new(ranks);
                    context.root = root;
                    context.bytes = Some(1000);
                    if spec.plugin().has_segments() {
                        context.segment_bytes = Some(300);
                    }
                    check(kind, &options, &spec, &context);
                }
            }
        }
    }
}

fn can_be_had(kind: &str, options: &Value, ranks: u32) -> bool {
    match kind {
        "recursive-doubling-allreduce" => ranks.is_power_of_two(),
        "n-way-dissemination" => options["ways"].as_u64().unwrap_or(1) < u64::from(ranks.max(2)),
        _ => true,
    }
}

#[test]
fn every_pattern_runs_to_the_end_and_has_the_size_that_it_says() {
    let mut tried = 0;
    every(|kind, options, spec, context| {
        let what = format!("{kind} {options} over {} from {}", context.ranks, context.root);
        let generated = spec.generate(context);
        if !can_be_had(kind, options, context.ranks) {
            generated.expect_err(&what);
            return;
        }
        let schedule = generated.unwrap_or_else(|error| panic!("{what}: {error}"));
        let size = spec.plugin().over(context).unwrap().size();
        assert_eq!((u64::from(schedule.len()), u64::from(schedule.edge_count())), size, "{what}");
        run(&schedule, &what);
        tried += 1;
    });
    assert!(tried > 500, "{tried}");
}

#[test]
fn ranks_that_are_alike_are_what_they_are_one_by_one() {
    let mut kinds = std::collections::BTreeSet::new();
    every(|kind, options, spec, context| {
        let Ok(mut ranks) = spec.plugin().over(context) else { return };
        if !ranks.alike() {
            return;
        }
        kinds.insert(kind.to_owned());
        let mut builder = ScheduleBuilder::new(context.ranks);
        for rank in 0..context.ranks {
            ranks.write(rank, &mut RankWriter::new(&mut builder, context.tag));
            builder.close_rank().unwrap();
        }
        let what = format!("{kind} {options} over {}", context.ranks);
        assert_same(&spec.generate(context).unwrap(), &builder.build().unwrap(), &what);
    });
    assert!(kinds.len() >= 6, "{kinds:?}");
}

#[test]
fn only_a_written_rank_is_repeated_and_only_as_often_as_there_are_ranks() {
    let mut builder = ScheduleBuilder::new(3);
    assert!(builder.repeat_rank(1).unwrap_err().reason.contains("written and closed"));
    builder.push(Operation::calc(1));
    builder.push(Operation::send(8, 1, 0));
    builder.requires(1, 0);
    assert!(builder.repeat_rank(1).unwrap_err().reason.contains("written and closed"));
    builder.close_rank().unwrap();
    assert!(builder.repeat_rank(3).unwrap_err().reason.starts_with("rank 0 of 3 ranks 3 times more"));
    builder.repeat_rank(2).unwrap();
    let schedule = builder.build().unwrap();
    assert_eq!((schedule.operation(1, 3).peer, schedule.operation(2, 5).peer), (2, 0));
    assert_eq!(schedule.edges(4)[0].after(), 1);
}

#[test]
fn bytes_and_messages_follow_the_closed_forms() {
    every(|kind, options, spec, context| {
        if !can_be_had(kind, options, context.ranks) || options["imbalance"].is_number() {
            return;
        }
        let what = format!("{kind} {options} over {} from {}", context.ranks, context.root);
        let traffic = run(&spec.generate(context).unwrap(), &what);
        let ranks = u64::from(context.ranks);
        let log = u64::from(context.ranks.next_power_of_two().ilog2());
        let (messages, bytes) = match kind {
            "binomial-broadcast" | "binomial-reduce" | "binary-broadcast" | "gather" | "scatter"
            | "incast" | "outcast" => (ranks - 1, (ranks - 1) * 1000),
            "dissemination" => (ranks * log, ranks * log * 1000),
            "n-way-dissemination" => {
                let ways = options["ways"].as_u64().unwrap_or(1);
                let rounds = (0..).find(|round| (ways + 1).pow(*round) >= ranks).unwrap();
                let messages = ranks * ways * u64::from(rounds);
                (messages, messages * 1000)
            }
            "chained-dissemination" => {
                let messages = options["runs"].as_u64().unwrap_or(5) * ranks * log;
                (messages, messages * 1000)
            }
            // 300 + 300 + 300 + 100 bytes
            "pipelined-ring" => (4 * (ranks - 1), 1000 * (ranks - 1)),
            "double-ring" => {
                let messages = if ranks > 1 { 2 * ranks } else { 0 };
                (messages, messages * 1000)
            }
            "ring-allreduce" => {
                let chunk = if options["whole-chunks"] == true { 1000 } else { 1000 / ranks };
                (2 * (ranks - 1) * ranks, 2 * (ranks - 1) * ranks * chunk)
            }
            // halves of 1000 down to a 64th: 500 250 125 62 31 15, and back 15 30 60 120 240 480
            "recursive-doubling-allreduce" => {
                let down: u64 = (1..=log).map(|round| 1000 >> round).sum();
                let last = 1000 >> log;
                (2 * log * ranks, ranks * (down + last * (ranks - 1)))
            }
            "linear-barrier" => (2 * (ranks - 1), 2 * (ranks - 1) * 1000),
            "linear-alltoall" => (ranks * (ranks - 1), ranks * (ranks - 1) * 1000),
            "random-bisection" => {
                let messages = ranks / 2 * if options["symmetric"] == true { 2 } else { 1 };
                (messages, messages * 1000)
            }
            "resnet" => (10 * ranks * log, 10 * ranks * log * 1000),
            "allreduce-by-size" | "linear-alltoallv" | "collective" => return,
            _ => panic!("{kind} has no closed form"),
        };
        assert_eq!((traffic.messages, traffic.bytes), (messages, bytes), "{what}");
    });
}

#[test]
fn rounds_are_as_many_as_the_literature_says() {
    for ranks in [2, 3, 8, 13, 16, 33, 64] {
        let log = ranks_log(ranks);
        let of = |name: &str| {
            let mut context = GenerateContext::new(ranks);
            context.bytes = Some(4096);
            depth(&named(name, json!({})).generate(&context).unwrap())
        };
        assert_eq!(of("dissemination"), log);
        assert_eq!(of("ring-allreduce"), 2 * (ranks - 1));
        // the deepest leaf has as many ancestors as the largest role has bits
        let bits = (0..ranks).map(u32::count_ones).max().unwrap();
        assert_eq!(of("binomial-broadcast"), bits);
        assert_eq!(of("binomial-reduce"), bits);
        assert_eq!(of("binary-broadcast"), ranks.ilog2());
        assert_eq!(of("linear-barrier"), 2);
        assert_eq!(of("double-ring"), ranks);
        assert_eq!(of("linear-alltoall"), 1);
        if ranks.is_power_of_two() {
            assert_eq!(of("recursive-doubling-allreduce"), 2 * log);
        }
    }
}

fn ranks_log(ranks: u32) -> u32 {
    ranks.next_power_of_two().ilog2()
}

#[test]
fn a_window_bounds_the_steps_in_flight() {
    for window in [1, 2, 5, 15, 100] {
        let spec = named("linear-alltoall", json!({ "window": window }));
        let schedule = spec.generate(&GenerateContext::new(16)).unwrap();
        assert_eq!(depth(&schedule), 15_u32.div_ceil(window));
    }
}

#[test]
fn collectives_written_out_send_what_the_library_counts() {
    for kind in CollectiveKind::ALL {
        for ranks in [1, 2, 4, 6, 16] {
            let algorithm = kind.usual_algorithm();
            let plan = algorithm.plugin().plan(kind, ranks, 1003).unwrap();
            let mut context = GenerateContext::new(ranks);
            context.bytes = Some(1003);
            let schedule = named("collective", json!({"operation": kind.name()})).generate(&context).unwrap();
            let what = format!("{} over {ranks}", kind.name());
            let traffic = run(&schedule, &what);
            assert_eq!(traffic.bytes, plan.total_bytes(), "{what}");
            let (mut sends, mut actions) = (0, Vec::new());
            for member in 0..ranks {
                for round in 0..plan.rounds(member) {
                    plan.round(member, round, &mut actions);
                }
            }
            let (found, receives, _) = count(&schedule);
            sends += found;
            assert_eq!(sends + receives, actions.len() as u64, "{what}");
            let longest = (0..ranks).map(|member| plan.rounds(member)).max().unwrap();
            assert!(depth(&schedule) >= longest.min(1), "{what}");
        }
    }
}

#[test]
fn the_ring_of_the_library_waits_for_whole_rounds() {
    // a send and a receive per round, each waiting for both of the round before: four edges
    let mut context = GenerateContext::new(8);
    context.bytes = Some(1 << 20);
    let schedule = named("collective", json!({"operation": "all-reduce", "algorithm": "ring"}));
    let schedule = schedule.generate(&context).unwrap();
    assert_eq!(count(&schedule), (8 * 14, 8 * 14, 0));
    assert_eq!(schedule.edge_count(), 8 * 13 * 4);
    assert_eq!(depth(&schedule), 14);
    // chunks of 8 parts that add up, other than schedgen's
    context.bytes = Some(1001);
    let uneven = named("all-reduce", json!({})).generate(&context).unwrap();
    assert_eq!(run(&uneven, "uneven").bytes, 2 * 7 * 1001);
}

#[test]
fn rounds_of_many_messages_are_joined() {
    let mut context = GenerateContext::new(12);
    context.bytes = Some(1200);
    // everything of a round needs every message of the round before: through a join where that is less
    let mut joins = 0;
    for algorithm in ["ring", "recursive", "double-binary-tree", "direct"] {
        let spec = json!({"operation": "all-reduce", "algorithm": algorithm});
        let Ok(schedule) = named("collective", spec.clone()).generate(&context) else { continue };
        let collective = serde_json::from_value(json!({ "kind": algorithm }));
        let collective: CollectiveSpec = collective.unwrap();
        let plan = collective.plugin().plan(CollectiveKind::AllReduce, 12, 1200).unwrap();
        let (mut edges, mut calcs) = (0, 0);
        for member in 0..12 {
            let sizes: Vec<u64> = (0..plan.rounds(member))
                .map(|round| {
                    let mut actions = Vec::new();
                    plan.round(member, round, &mut actions);
                    actions.len() as u64
                })
                .collect();
            for pair in sizes.windows(2) {
                edges += (pair[0] * pair[1]).min(pair[0] + pair[1]);
                calcs += u64::from(pair[0] * pair[1] > pair[0] + pair[1]);
            }
        }
        assert_eq!((u64::from(schedule.edge_count()), count(&schedule).2), (edges, calcs), "{algorithm}");
        joins += calcs;
    }
    assert!(joins > 0);
    let alltoall = named("all-to-all", json!({})).generate(&context).unwrap();
    context.repetitions = 3;
    let repeated = named("all-to-all", json!({})).generate(&context).unwrap();
    // 22 operations per repetition wait for 22: a join and 44 edges
    let per_rank = alltoall.len() / 12;
    assert_eq!(per_rank, 22);
    assert_eq!(repeated.len(), 12 * (3 * per_rank + 2));
    assert_eq!(repeated.edge_count(), 3 * alltoall.edge_count() + 12 * 2 * 2 * per_rank);
    assert_eq!(depth(&repeated), 3);
}

#[test]
fn additions_take_time_where_it_is_asked() {
    let mut context = GenerateContext::new(4);
    context.bytes = Some(4000);
    let spec = named("all-reduce", json!({"reduction-ps-per-byte": 2500}));
    let schedule = spec.generate(&context).unwrap();
    // 3 of the 6 steps add 1000 bytes each
    assert_eq!(count(&schedule), (24, 24, 12));
    let calcs = (0..schedule.len()).map(|number| schedule.shape(number).operation);
    assert!(calcs.filter(|of| of.kind == OperationKind::Calc).all(|of| of.size == 2500));
    run(&schedule, "additions");
}

#[test]
fn a_repetition_waits_for_the_one_before() {
    let mut context = GenerateContext::new(8);
    context.repetitions = 4;
    context.pause_ns = 250;
    let schedule = named("dissemination", json!({})).generate(&context).unwrap();
    assert_eq!(count(&schedule), (4 * 24, 4 * 24, 3 * 8));
    assert_eq!(depth(&schedule), 4 * 3);
    assert_eq!(run(&schedule, "repeated").bytes, 4 * 24);
}

#[test]
fn background_runs_beside_the_pattern() {
    let mut context = GenerateContext::new(4);
    context.background = Background { ns: 1000, poll_ns: 300, cpu: 3 };
    let schedule = named("gather", json!({})).generate(&context).unwrap();
    assert_eq!(count(&schedule), (3, 3, 4 * 4));
    assert_eq!(schedule.edge_count(), 4 * 3);
    assert_eq!(schedule.cpus(), 4);
    context.background.poll_ns = 0;
    let whole = named("gather", json!({})).generate(&context).unwrap();
    assert_eq!((count(&whole), whole.operation(0, 0).size), ((3, 3, 4), 1000));
}

#[test]
fn what_is_drawn_depends_on_the_seed_only() {
    let kinds = [
        ("random-bisection", json!({})),
        ("linear-alltoallv", json!({"skew-ratio": 2})),
        ("incast", json!({"imbalance": 0.3})),
    ];
    for (kind, options) in kinds {
        let of = |seed| {
            let mut context = GenerateContext::new(32);
            context.bytes = Some(100_000);
            context.streams = Streams::new(seed);
            named(kind, options.clone()).generate(&context).unwrap().digest()
        };
        assert_eq!(of(1), of(1), "{kind}");
        assert_ne!(of(1), of(2), "{kind}");
    }
}

#[test]
fn sizes_of_the_alltoallv_are_skewed_as_said() {
    let mut context = GenerateContext::new(24);
    (context.bytes, context.root) = (Some(100_000), 2);
    let spec = named("linear_alltoallv", json!({"skew-ratio": 10, "outcast": true}));
    let schedule = spec.generate(&context).unwrap();
    for rank in 0..24 {
        for number in schedule.of_rank(rank) {
            let message = schedule.operation(rank, number);
            let (from, to) = match message.kind {
                OperationKind::Send => (rank, message.peer),
                _ => (message.peer, rank),
            };
            let large = to == 2 || from == 3;
            assert_eq!(message.size == 100_000, large, "{from} to {to}: {}", message.size);
            assert!(large || (1..=10_000).contains(&message.size));
        }
    }
}

#[test]
fn a_bisection_leaves_nobody_out_but_one_of_an_odd_number() {
    for ranks in [2, 7, 64] {
        let schedule =
            named("random_bisect_fd_sym", json!({})).generate(&GenerateContext::new(ranks)).unwrap();
        let busy = (0..ranks).filter(|&rank| schedule.of_rank(rank).len() == 2).count() as u32;
        assert_eq!(busy, ranks / 2 * 2);
    }
}

#[test]
fn every_name_of_schedgen_is_known() {
    // the values of schedgen's `--ptrn`, without `trace`
    let theirs = "binomialtreereduce binarytreebcast binomialtreebcast nwaydissemination pipelinedring
        pipelinedringdep doublering gather scatter linbarrier dissemination random_bisect random_bisect_fd_sym
        linear_alltoall linear_alltoallv allreduce_recdoub allreduce_ring resnet chained_dissem";
    for name in theirs.split_whitespace() {
        let spec = named(name, json!({}));
        run(&spec.generate(&GenerateContext::new(8)).unwrap(), name);
    }
    assert_eq!(named("pipelinedringdep", json!({})), named("pipelined-ring", json!({"dependent": true})));
    for name in GenerateSpec::names().filter(|name| *name != "collective") {
        named(name, json!({}));
    }
}

#[test]
fn schedgens_chains_and_training_steps_have_their_tags_and_times() {
    // 5 chained disseminations of 10000 bytes: 2 * 3 operations and a marker each
    let chained = schedgen("-p chained_dissem -s 8");
    assert_eq!(count(&chained), (120, 120, 40));
    assert_eq!(depth(&chained), 15);
    assert_eq!(chained.operation(0, 0).size, 10_000);
    assert_eq!(chained.operation(0, 0).tag, (1 << 24) + 100_000);
    let resnet = schedgen("-p resnet -s 16");
    // forward, ten times (backward, ready, 4 rounds); dependencies: 2 + 3 + 5 per piece
    assert_eq!(count(&resnet), (16 * 40, 16 * 40, 16 * 21));
    assert_eq!(resnet.edge_count(), 16 * 10 * 10);
    assert_eq!((resnet.operation(0, 0).size, resnet.operation(0, 1).size), (119_000, 23_800));
    assert_eq!((resnet.operation(0, 3).size, resnet.operation(0, 3).tag), (4 * 6_511_592, 16_877_216));
}

#[test]
fn what_cannot_be_generated_is_said() {
    let error = |name: &str, options: Value, change: &dyn Fn(&mut GenerateContext)| {
        let mut context = GenerateContext::new(8);
        change(&mut context);
        named(name, options).generate(&context).unwrap_err().to_string()
    };
    let cases = [
        (error("gather", json!({}), &|context| context.ranks = 0), "ranks: a schedule has 1 to 2^30"),
        (error("gather", json!({}), &|context| context.root = 8), "root: rank 8 does not exist"),
        (error("double-ring", json!({}), &|context| context.root = 1), "root: `double-ring` has no root"),
        (
            error("gather", json!({}), &|context| context.segment_bytes = Some(4)),
            "segment-bytes: `gather` has no segments",
        ),
        (
            error("allreduce_recdoub", json!({}), &|context| context.ranks = 12),
            "ranks: recursive doubling needs a power of two, got 12",
        ),
        (error("n-way-dissemination", json!({"ways": 8}), &|_| {}), "ways: from 1 way to"),
        (error("linear-alltoallv", json!({"skew-ratio": 2}), &|_| {}), "skew-ratio: from 1 to the 1 bytes"),
        (error("incast", json!({"imbalance": 1.5}), &|_| {}), "imbalance: a fraction lies between"),
        (
            error("linear-alltoall", json!({}), &|context| context.ranks = 1 << 20),
            "ranks: `linear-alltoall` over 1048576 ranks",
        ),
        (error("resnet", json!({}), &|context| context.tag = u32::MAX - 1), "tag: this pattern uses 10 tags"),
        (error("gather", json!({}), &|context| context.repetitions = 0), "repetitions: at least once"),
        (
            error("all-reduce", json!({}), &|context| context.ranks = 1 << 30),
            "ranks: a schedule holds 2^32 - 2",
        ),
        (
            error("pipelined-ring", json!({"dependent": true}), &|context| {
                (context.bytes, context.segment_bytes) = (Some(u64::MAX), Some(1));
            }),
            "ranks: `pipelined-ring` over 8 ranks",
        ),
    ];
    for (found, expected) in cases {
        assert!(found.starts_with(expected), "{found}");
    }
    let unknown = GenerateSpec::named("binomial-brodcast", Map::new()).unwrap_err().to_string();
    assert!(unknown.contains("did you mean `binomial-broadcast`?"), "{unknown}");
    let Value::Object(option) = json!({"wayz": 2}) else { panic!() };
    let field = GenerateSpec::named("n-way-dissemination", option).unwrap_err().to_string();
    assert!(field.contains("unknown field `wayz`"), "{field}");
}
