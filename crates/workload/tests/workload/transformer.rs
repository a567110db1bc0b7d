//! The transformer builder: table 4 by formula, the HC case vertex by vertex, placement, sums.

use crate::common::Machine;
use stratasim_core::Precision;
use stratasim_workload::collective::CollectiveKind;
use stratasim_workload::program::{MemoryPlace, Op, Program, Scope, Stream, VertexId};
use stratasim_workload::training::costs::{Attention, Numbers, Operator, Optimizer, operators};
use stratasim_workload::training::hcsim_table::{Gigabytes, ROWS, SHAPE};

/// The machine-independent case of the reference data: one sequence per rank in fp32, memory in the
/// memory node, printed costs.
fn hc(layers: u32, rest: &str) -> String {
    format!(
        r#"{{"kind": "transformer", "model": "llama2-13b", "layers": {layers}, "precision": "fp32",
            "costs": "hcsim-table-4", "memory": "home", "gradient-bytes": "1258291200 B"{rest}}}"#
    )
}

fn find(program: &Program, name: &str) -> VertexId {
    let mut ids = 0..program.vertices().len() as VertexId;
    ids.find(|&id| program.name(id) == name).unwrap_or_else(|| panic!("no vertex `{name}`"))
}

/// Vertices that compute, in the order of the chain.
fn chain(program: &Program) -> Vec<VertexId> {
    let mut at = find(program, "fwd.0.norm-1");
    let mut chain = vec![at];
    loop {
        let next = program
            .successors(at)
            .iter()
            .find(|edge| edge.distance == 0 && matches!(program.vertex(edge.vertex).op, Op::Compute(_)));
        let Some(next) = next else { return chain };
        at = next.vertex;
        chain.push(at);
    }
}

#[test]
fn the_hc_case_ends_its_passes_when_the_reference_says() {
    // an operator takes the longer of computation and memory access; memory node to accelerator is
    // two links of 200 ns, 128 GB/s; 67 TFLOP/s (specification of the HC case)
    let program = Machine::new(16).build(&hc(2, "")).unwrap();
    let mut now = 0.0;
    let mut ends = Vec::new();
    for id in chain(&program) {
        let Op::Compute(compute) = &program.vertex(id).op else { unreachable!("a chain of computations") };
        assert_eq!(compute.place, MemoryPlace::Home);
        assert_eq!(compute.local_bytes, 0);
        let access = 400e-9 + compute.remote_bytes as f64 / 128e9;
        now += (compute.flops / 6.7e13_f64).max(access);
        ends.push((program.name(id), now));
    }
    assert_eq!(ends.len(), 2 * 2 * 14);
    let end = |name: &str| ends.iter().find(|end| end.0 == name).unwrap().1;
    // SimGrid's end of the forward pass, and of the backward pass of the last decoder (F 1, B 0)
    for (name, reference) in [("fwd.1.add-2", 0.13144697722178172), ("bwd.1.norm-1", 0.21586588964470627)] {
        assert!((end(name) / reference - 1.0).abs() < 1e-12, "{name}: {}", end(name));
    }
    // B 1 of a rank whose memory shares no link with the sum of the last decoder
    assert!((end("bwd.0.norm-1") / 0.3002848020676308 - 1.0).abs() < 1e-12, "{}", end("bwd.0.norm-1"));
}

#[test]
fn an_iteration_takes_as_long_as_the_documentation_says() {
    let seconds = |spec: &str| {
        let program = Machine::new(2).build(spec).unwrap();
        let time = |id: VertexId| match &program.vertex(id).op {
            Op::Compute(compute) => {
                (compute.flops / 51.2e12).max(400e-9 + compute.remote_bytes as f64 / 128e9)
            }
            other => panic!("{other:?}"),
        };
        chain(&program).into_iter().map(time).sum::<f64>()
    };
    assert_eq!(format!("{:.2}", seconds(&hc(40, ""))), "7.41");
    let formula =
        r#"{"kind": "transformer", "layers": 40, "hidden": 5120, "precision": "fp32", "memory": "home"}"#;
    assert_eq!(format!("{:.2}", seconds(formula)), "8.01");
}

#[test]
fn a_small_model_is_summed_up_in_units_of_its_size() {
    let note = |hidden: u32, layers: u32| {
        let spec = format!(
            r#"{{"kind": "transformer", "layers": {layers}, "hidden": {hidden}, "heads": 4, "sequence": 16, "memory": "local"}}"#
        );
        let program = Machine::new(2).build(&spec).unwrap();
        program.summary().notes.iter().find(|note| note.contains("decoder")).unwrap().clone()
    };
    for (hidden, layers, start) in [
        // 12 h^2 + 4 h; 6 per parameter and token, and attention
        (64, 1, "1 decoder, 49.41 k parameters; each rank computes 4.9 MFLOP"),
        (5120, 40, "40 decoders, 12.58 G parameters; each rank computes 1.2 TFLOP"),
    ] {
        assert!(note(hidden, layers).starts_with(start), "{}", note(hidden, layers));
    }
}

#[test]
fn printed_entries_are_floored_to_bytes_of_binary_gigabytes() {
    let program = Machine::new(2).build(&hc(1, r#", "batch": 3"#)).unwrap();
    let compute = |name: &str| match &program.vertex(find(&program, name)).op {
        Op::Compute(compute) => (compute.flops, compute.remote_bytes),
        other => panic!("{other:?}"),
    };
    let gigabytes = |value: f64| (value * 1_073_741_824.0).floor() as u64;
    assert_eq!(compute("fwd.0.linear-k"), (3.0 * 195e9, gigabytes(0.0488 + 0.039 * 3.0)));
    assert_eq!(compute("bwd.0.attention"), (3.0 * 625e9, gigabytes(0.234 * 3.0)));
    // printed without b: it does not grow
    assert_eq!(compute("bwd.0.add-2"), (0.0, gigabytes(0.156)));
    assert_eq!(program.summary().batches_per_iteration, Some(6.0));
}

#[test]
fn each_decoder_is_summed_once_and_the_next_iteration_waits_for_all_sums() {
    let program = Machine::new(64).build(&hc(3, r#", "iterations": 2"#)).unwrap();
    let first = find(&program, "fwd.0.norm-1");
    for layer in 0..3 {
        let sum = find(&program, &format!("sync.{layer}"));
        let vertex = program.vertex(sum);
        assert_eq!((vertex.scope, vertex.stream), (Scope::Group(0), Stream::COMMUNICATION));
        let Op::Collective(collective) = &vertex.op else { panic!("{vertex:?}") };
        assert_eq!((collective.kind, collective.bytes), (CollectiveKind::AllReduce, 1_258_291_200));
        // ring: 2 (n - 1) messages of G div n bytes per rank; 64 divides G
        let shape = collective.plan.pipeline().unwrap();
        assert_eq!((shape.steps, shape.chunk_bytes, shape.longer_chunks), (126, 1_258_291_200 / 64, 0));
        let before: Vec<_> = program.predecessors(sum).iter().map(|edge| program.name(edge.vertex)).collect();
        assert_eq!(before, [format!("bwd.{layer}.norm-1")]);
        let after = program.successors(sum);
        assert_eq!(after.len(), 1);
        assert_eq!((after[0].vertex, after[0].distance), (first, 1));
    }
    let starts: Vec<_> = (0..)
        .zip(program.vertices())
        .filter(|(_, vertex)| vertex.start)
        .map(|(id, _)| program.name(id))
        .collect();
    assert_eq!(starts, ["fwd.0.norm-1"]);
    // sums become ready in the order in which the backward pass leaves the decoders
    assert!(find(&program, "sync.2") < find(&program, "sync.1"));
}

#[test]
fn coarse_sends_one_message_with_the_bytes_of_all_steps() {
    let program = Machine::new(64).build(&hc(1, r#", "coarse": true"#)).unwrap();
    let Op::Collective(collective) = &program.vertex(find(&program, "sync.0")).op else { panic!() };
    let shape = collective.plan.pipeline().unwrap();
    assert_eq!((shape.steps, shape.chunk_bytes), (1, 2 * 63 * (1_258_291_200 / 64)));
    assert_eq!(collective.plan.total_bytes(), 64 * shape.chunk_bytes);
    let error = Machine::new(64).error(&hc(1, r#", "coarse": true, "algorithm": {"kind": "recursive"}"#));
    assert!(error.starts_with("coarse: `coarse` replaces a ring, the algorithm is `recursive`"), "{error}");
}

#[test]
fn sums_may_wait_for_the_end_or_be_left_out() {
    let program = Machine::new(8).build(&hc(3, r#", "synchronise": "at-end""#)).unwrap();
    let sum = find(&program, "sync");
    let Op::Collective(collective) = &program.vertex(sum).op else { panic!() };
    assert_eq!(collective.bytes, 3 * 1_258_291_200);
    assert_eq!(program.name(program.predecessors(sum)[0].vertex), "bwd.0.norm-1");
    for (ranks, rest) in [(8, r#", "synchronise": "none""#), (1, "")] {
        let program = Machine::new(ranks).build(&hc(3, rest)).unwrap();
        assert!(program.vertices().iter().all(|vertex| matches!(vertex.op, Op::Compute(_))));
    }
}

#[test]
fn the_program_does_not_grow_with_the_machine() {
    let small = Machine::new(2).build(&hc(40, "")).unwrap();
    let large = Machine::new(4096).build(&hc(40, "")).unwrap();
    assert_eq!(small.vertices().len(), 40 * (2 * 14 + 1));
    assert_eq!(large.vertices().len(), small.vertices().len());
}

#[test]
fn by_default_a_gradient_is_the_parameters_of_a_decoder_in_the_training_precision() {
    let spec = r#"{"kind": "transformer", "layers": 2, "hidden": 5120, "precision": "fp32"}"#;
    let program = Machine::new(4).build(spec).unwrap();
    let Op::Collective(collective) = &program.vertex(find(&program, "sync.0")).op else { panic!() };
    // 4 h² for attention, 2 * 4 h² for the feed-forward part, two layer norms of 2 h
    assert_eq!(collective.bytes, 4 * (12 * 5120 * 5120 + 4 * 5120));
}

#[test]
fn what_does_not_fit_into_local_memory_lives_in_the_memory_node() {
    let spec = r#"{"kind": "transformer", "model": "llama2-13b", "attention": "fused"}"#;
    // 16 bytes of state for each of 40 decoders' parameters; activations: norms 2, input of q, k, v
    // 2, q, k, v 6, output 2, second norm 2 ... in units of s h bytes, and three times s f
    let parameters = 40 * (4 * 5120 * 5120 + 3 * 5120 * 13_824 + 2 * 5120_u64);
    let kept = 40 * 4096 * (16 * 5120 + 3 * 2 * 13_824_u64);
    let total = 16 * parameters + kept;
    let build = |bytes| Machine { local_memory_bytes: Some(bytes), ..Machine::new(4) }.build(spec).unwrap();
    let program = build(80_000_000_000);
    let memory = program.summary().memory.unwrap();
    assert_eq!((memory.local_bytes, memory.remote_bytes), (80_000_000_000, total - 80_000_000_000));
    // early decoders are local, later ones remote, one operator is split
    let place = |name: &str| match &program.vertex(find(&program, name)).op {
        Op::Compute(compute) => (compute.local_bytes > 0, compute.remote_bytes > 0, compute.place),
        other => panic!("{other:?}"),
    };
    assert_eq!(place("fwd.0.linear-q"), (true, false, MemoryPlace::Local));
    assert_eq!(place("bwd.0.linear-q"), (true, false, MemoryPlace::Local));
    assert_eq!(place("fwd.39.linear-q"), (false, true, MemoryPlace::Home));
    // the operator at the border, and the addition after it, which works on the same data
    let border = 80_000_000_000 / (total / 40);
    let split: Vec<_> = (0..)
        .zip(program.vertices())
        .filter(|(_, vertex)| {
            matches!(&vertex.op, Op::Compute(compute) if compute.local_bytes > 0 && compute.remote_bytes > 0)
        })
        .map(|(id, _)| program.name(id).to_owned())
        .collect();
    let names = ["fwd.N.linear-down", "fwd.N.add-2", "bwd.N.add-2", "bwd.N.linear-down"];
    assert_eq!(split, names.map(|name| name.replace('N', &border.to_string())));
    let all = build(total);
    assert_eq!(all.summary().memory.unwrap().remote_bytes, 0);
    let error = Machine { local_memory_bytes: Some(80_000_000_000), ..Machine::new(4) }
        .error(&spec.replace("\"fused\"", "\"fused\", \"memory\": \"local\""));
    assert!(error.starts_with("memory: a rank keeps"), "{error}");
}

#[test]
fn costs_of_the_table_refuse_another_model() {
    let machine = Machine::new(4);
    for (rest, expected) in [
        (r#""model": "llama2-7b""#, "model: table 4 describes llama2-13b only"),
        (r#""hidden": 4096"#, "hidden: table 4 is for hidden 5120"),
        (r#""sequence": 2048"#, "sequence: table 4 is for"),
        (r#""activation": "swiglu""#, "feed-forward: table 4 is for"),
        (r#""feed-forward": 13824"#, "feed-forward: table 4 is for"),
        (r#""dropout": false"#, "dropout: table 4 is for"),
    ] {
        let error = machine.error(&format!(r#"{{"kind": "transformer", "costs": "hcsim-table-4", {rest}}}"#));
        assert!(error.starts_with(expected), "{error}");
    }
    machine.build(r#"{"kind": "transformer", "costs": "hcsim-table-4"}"#).unwrap();
}

const MIXED: Numbers =
    Numbers { storage: Precision::Bf16, optimizer: Optimizer::Adam, attention: Attention::Materialised };

/// Fixed part and part per sequence of a formula's bytes, in GB of 2^30.
fn gigabytes(index: usize, bytes: fn(&Operator) -> u64) -> Gigabytes {
    let at = |batch| bytes(&operators(&SHAPE, &MIXED, batch).unwrap()[index]) as f64 / 1_073_741_824.0;
    Gigabytes { fixed: 2.0 * at(1) - at(2), per_batch: at(2) - at(1) }
}

/// Whether `value` is what a paper prints as `printed`, which has two to four digits, not always
/// rounded to nearest.
fn prints_as(value: f64, printed: f64) -> bool {
    let smallest_unit = [1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5].into_iter().find(|unit| {
        let units = printed / unit;
        (units - units.round()).abs() < 1e-6
    });
    (value - printed).abs() <= smallest_unit.unwrap() * 1.001
}

#[test]
fn the_formula_gives_every_entry_of_table_4_that_has_a_rule() {
    let list = operators(&SHAPE, &MIXED, 1).unwrap();
    // the only rows that disagree with their rule: documented in docs/src/concepts/transformer-costs.md
    let without_rule = ["gelu", "add-2"];
    for (index, (row, operator)) in ROWS.iter().zip(&list).enumerate() {
        assert_eq!(row.name, operator.name);
        // the table divides by 2^40 and multiplies by 1000: 195.3, 312.5, 781.25
        let in_its_unit = |flops: f64| flops / (1_u64 << 40) as f64 * 1000.0;
        for (flops, printed) in
            [(operator.forward.flops, row.forward_gflop), (operator.backward.flops, row.backward_gflop)]
        {
            let close = (in_its_unit(flops) - printed).abs() <= 2e-3 * printed;
            assert!(close, "{}: {} is printed as {printed}", row.name, in_its_unit(flops));
        }
        let forward = gigabytes(index, |operator| operator.forward.bytes);
        assert!(prints_as(forward.fixed, row.forward.fixed), "{}: {forward:?}", row.name);
        assert!(prints_as(forward.per_batch, row.forward.per_batch), "{}: {forward:?}", row.name);
        let backward = gigabytes(index, |operator| operator.backward.bytes);
        if without_rule.contains(&row.name) {
            assert!(!prints_as(backward.per_batch, row.backward.fixed), "{} has a rule now", row.name);
        } else if row.backward.per_batch == 0.0 {
            // printed without b; right for b = 1
            assert!(
                prints_as(backward.fixed + backward.per_batch, row.backward.fixed),
                "{}: {backward:?}",
                row.name
            );
        } else {
            assert!(prints_as(backward.fixed, row.backward.fixed), "{}: {backward:?}", row.name);
            assert!(prints_as(backward.per_batch, row.backward.per_batch), "{}: {backward:?}", row.name);
        }
    }
}

/// `c + p b` as the documentation writes it.
fn written(bytes: Gigabytes) -> String {
    let number = |value: f64| {
        let digits = if value < 0.001 { 5 } else { 4 };
        let text = format!("{value:.digits$}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match (bytes.fixed.abs() < 1e-9, bytes.per_batch.abs() < 1e-9) {
        (true, true) => "0".to_owned(),
        (true, false) => format!("{} b", number(bytes.per_batch)),
        (false, true) => number(bytes.fixed),
        (false, false) => format!("{} + {} b", number(bytes.fixed), number(bytes.per_batch)),
    }
}

#[test]
fn the_documentation_shows_the_numbers_of_table_and_formula() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/concepts/transformer-costs.md");
    let page = std::fs::read_to_string(path).unwrap();
    let list = operators(&SHAPE, &MIXED, 1).unwrap();
    let mut lines = Vec::new();
    for (index, (row, operator)) in ROWS.iter().zip(&list).enumerate() {
        let (forward, backward) =
            (gigabytes(index, |op| op.forward.bytes), gigabytes(index, |op| op.backward.bytes));
        let flops = |printed: f64, formula: f64| match printed {
            0.0 => "0 | 0".to_owned(),
            _ => format!("{printed} | {:.1}", formula / 1e9),
        };
        lines.push(format!(
            "| `{}` | {} | {} | {} | {} | {} | {} |",
            row.name,
            flops(row.forward_gflop, operator.forward.flops),
            written(row.forward),
            written(forward),
            flops(row.backward_gflop, operator.backward.flops),
            written(row.backward),
            written(backward),
        ));
    }
    for line in &lines {
        assert!(page.contains(line), "the page lacks this line; the table is now\n{}", lines.join("\n"));
    }
}
