//! `stratasim conformance flit` as a user runs it.

mod support;

use support::Scratch;

#[test]
fn the_conformance_of_the_flit_level_is_one_line_per_case() {
    let file = support::root().join("../shared/ref/flit/points.jsonl");
    if !file.exists() {
        eprintln!("skipped: no {}", file.display());
        return;
    }
    let scratch = Scratch::new();
    let path = file.to_string_lossy();
    let ended =
        scratch.stratasim(&["conformance", "flit", &path, "--filter", "chk_ft64_L1", "--json", "out.json"]);
    assert_eq!(ended.code, 0, "{}", ended.errors);
    let lines: Vec<&str> = ended.output.lines().collect();
    assert_eq!(lines.len(), 3, "{}", ended.output);
    assert!(lines[0].starts_with("ok      chk_ft64_L1 0.1 seed 3 "), "{}", lines[0]);
    assert!(lines[2].starts_with("2 cases agree, "), "{}", lines[2]);
    let reports: serde_json::Value = serde_json::from_str(&scratch.read("out.json")).unwrap();
    assert!(reports.as_array().unwrap().iter().all(|report| report["compared"].as_u64() > Some(90)));
}

#[test]
fn a_point_that_differs_ends_with_code_3() {
    let scratch = Scratch::new();
    let config =
        "topology = mesh; k = 2; n = 2; routing_function = dor; injection_rate = 0.1; sample_period = 10;";
    scratch.write(
        "points.jsonl",
        &format!("{{\"case\": \"small\", \"config\": \"{config}\", \"verdict\": \"stable\", \"total_cycles\": 1}}\n"),
    );
    let ended = scratch.stratasim(&["conformance", "flit", "points.jsonl"]);
    assert_eq!(ended.code, 3, "{}", ended.output);
    assert!(ended.output.contains("total_cycles: "), "{}", ended.output);
}

#[test]
fn files_without_cases_are_refused() {
    let scratch = Scratch::new();
    scratch.write("points.jsonl", "{\"case\": \"nothing\"}\n");
    let words = ["points.jsonl", "line 1", "neither `config` nor `args`"];
    scratch.stratasim(&["conformance", "flit", "points.jsonl"]).failed(2, &words);
    scratch.write("points.jsonl", "{\n");
    scratch.stratasim(&["conformance", "flit", "points.jsonl"]).failed(2, &["points.jsonl", "line 1"]);
    scratch.stratasim(&["conformance", "flit", "nowhere"]).failed(2, &["nowhere"]);
}
