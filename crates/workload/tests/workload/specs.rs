//! Specs: schema with help for every field, defaults, round trips, and the collective benchmark.

use crate::common::Machine;
use serde_json::Value;
use stratasim_core::registry::Entry;
use stratasim_workload::WorkloadSpec;
use stratasim_workload::builders::traffic::arrivals::ArrivalSpec;
use stratasim_workload::builders::traffic::sizes::SizeSpec;
use stratasim_workload::collective::{CollectiveKind, CollectiveSpec};
use stratasim_workload::pattern::PatternSpec;
use stratasim_workload::program::Op;

#[test]
fn every_plug_in_and_every_field_has_help() {
    let lists: [(&str, &[Entry]); 5] = [
        ("workload", WorkloadSpec::ENTRIES),
        ("collective", CollectiveSpec::ENTRIES),
        ("pattern", PatternSpec::ENTRIES),
        ("size", SizeSpec::ENTRIES),
        ("arrivals", ArrivalSpec::ENTRIES),
    ];
    for (list, entries) in lists {
        for entry in entries {
            let mut generator = schemars::SchemaGenerator::default();
            let schema = (entry.schema)(&mut generator);
            let help = schema.get("description").and_then(Value::as_str);
            assert!(help.is_some_and(|help| help.len() > 20), "{list} {} has no help", entry.kind);
            let fields = schema.get("properties").and_then(Value::as_object);
            for (field, schema) in fields.into_iter().flatten() {
                assert!(schema.get("description").is_some(), "{list} {}: {field} has no help", entry.kind);
            }
        }
    }
}

#[test]
fn the_schema_of_nested_collectives_is_finite() {
    let schema = serde_json::to_string(&schemars::schema_for!(WorkloadSpec)).unwrap();
    for kind in WorkloadSpec::KINDS.iter().chain(CollectiveSpec::KINDS).chain(PatternSpec::KINDS) {
        assert!(schema.contains(&format!("\"{kind}\"")), "{kind} is not in the schema");
    }
}

#[test]
fn specs_survive_being_written() {
    for json in [
        r#"{"kind": "collective", "operation": "all-reduce", "bytes": "1 GB",
            "algorithm": {"kind": "hierarchical", "dimensions": [2, 4], "algorithms": [{"kind": "direct", "window": 2}]}}"#,
        r#"{"kind": "traffic", "flows": 3, "size": {"kind": "uniform", "min": "1 B", "max": "3 B"},
            "pattern": {"kind": "hot-spot"}, "arrivals": {"kind": "poisson", "rate": "1 Gbps"}, "rate-cap": "1 Mbps"}"#,
        r#"{"kind": "transformer", "model": "llama2-70b", "memory": "local", "synchronise": "at-end",
            "algorithm": {"kind": "coherent-ring", "fetch": "charged"}, "gradient-bytes": "3 MB", "iterations": 2}"#,
    ] {
        let spec: WorkloadSpec = serde_json::from_str(json).unwrap();
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<WorkloadSpec>(&text).unwrap(), spec, "{text}");
    }
}

#[test]
fn the_collective_benchmark_uses_the_dimensions_of_the_machine() {
    let machine = Machine { dimensions: vec![4, 3], ..Machine::new(12) };
    let program = machine
        .build(
            r#"{"kind": "collective", "operation": "all-reduce", "bytes": "120 B", "iterations": 5,
                "algorithm": {"kind": "hierarchical"}}"#,
        )
        .unwrap();
    let Op::Collective(collective) = &program.vertex(0).op else { panic!() };
    // two phases of 3 rounds inside, an all-reduce of 4 rounds outside
    assert_eq!((collective.plan.rounds(0), program.iterations()), (10, 5));
    let flat = Machine::new(12).error(
        r#"{"kind": "collective", "operation": "all-reduce", "bytes": "1 B", "algorithm": {"kind": "hierarchical"}}"#,
    );
    assert!(flat.starts_with("algorithm.dimensions: the topology names no dimensions"), "{flat}");
}

#[test]
fn every_operation_has_an_algorithm_when_none_is_chosen() {
    for kind in CollectiveKind::ALL {
        let spec = format!(r#"{{"kind": "collective", "operation": "{}", "bytes": "1 kB"}}"#, kind.name());
        let program = Machine::new(5).build(&spec).unwrap();
        let Op::Collective(collective) = &program.vertex(0).op else { panic!() };
        assert_eq!(collective.kind, kind);
    }
}

#[test]
fn the_collective_benchmark_takes_parts_of_different_sizes() {
    let bytes = |json: &str| {
        let program = Machine::new(3).build(json).unwrap();
        let Op::Collective(collective) = &program.vertex(0).op else { panic!() };
        (collective.bytes, collective.plan.total_bytes())
    };
    let all = |rest: &str| format!(r#"{{"kind": "collective", {rest}}}"#);
    assert_eq!(bytes(&all(r#""operation": "gather", "sizes": ["1 B", "20 B", "300 B"]"#)), (321, 320));
    assert_eq!(bytes(&all(r#""operation": "all-gather", "sizes": ["1 B", "20 B", "300 B"]"#)), (321, 642));
    let matrix = r#""matrix": [["1 B", "2 B", "3 B"], ["4 B", "5 B", "6 B"], ["7 B", "8 B", "9 B"]]"#;
    assert_eq!(bytes(&all(&format!(r#""operation": "all-to-all", {matrix}"#))), (15, 30));
    let skewed = r#""operation": "all-to-all", "bytes": "1 MB", "skew": 4"#;
    assert_eq!(bytes(&all(&format!(r#"{skewed}, "seed": 7"#))), (1_000_000, 2_000_000));
    assert_eq!(bytes(&all(r#""operation": "barrier""#)), (0, 0));

    for (rest, expected) in [
        (r#""operation": "gather""#, "bytes: missing; give the bytes per rank, or the `sizes` of the parts"),
        (r#""operation": "gather", "sizes": ["1 B"]"#, "sizes: 3 ranks need as many, got 1"),
        (r#""operation": "gather", "sizes": ["1 B"], "bytes": "1 B""#, "bytes: `sizes` already says"),
        (r#""operation": "gather", "sizes": ["1 B"], "skew": 2"#, "skew: `sizes` and `skew` both say"),
        (r#""operation": "gather", "bytes": "1 B", "seed": 2"#, "seed: nothing is drawn without `skew`"),
        (r#""operation": "scan", "bytes": "1 B", "skew": 2"#, "skew: scan has no parts of different sizes"),
        (r#""operation": "gather", "bytes": "1 B", "skew": 0"#, "skew: largest over smallest part must lie"),
        (r#""operation": "gather", "matrix": [[], [], []]"#, "matrix: gather has one size per rank"),
        (r#""operation": "all-to-all", "matrix": [["1 B"], [], []]"#, "matrix: row 0 has 1 sizes"),
        (
            r#""operation": "all-to-all", "bytes": "1 B", "skew": 2, "algorithm": {"kind": "bruck"}"#,
            "algorithm.kind: this algorithm does all-to-all with equal parts only",
        ),
    ] {
        let error = Machine::new(3).error(&all(rest));
        assert!(error.starts_with(expected), "{rest}: {error}");
    }
}
