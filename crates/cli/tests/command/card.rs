//! `stratasim card` as a user meets it.

use crate::support::Scratch;
use serde_json::Value;

#[test]
fn a_bench_prints_a_table_and_writes_what_it_is_asked_for() {
    let scratch = Scratch::new();
    let arguments = ["card", "bench", "sw-ai", "--sizes", "8MB", "--algorithms", "ring,csc,csc-equation"];
    let ended = scratch.stratasim(&arguments);
    assert_eq!((ended.code, ended.errors.as_str()), (0, ""));
    let twice =
        ["card", "bench", "sw-ai", "--sizes", "8MB", "--algorithms", "ring,csc,ring,csc-equation,csc"];
    assert_eq!(scratch.stratasim(&twice).output, ended.output, "each algorithm once");
    // equations 3 and 4 of the paper, and algorithm 1
    for bandwidth in ["41.03 GB/s", "59.26 GB/s", "69.57 GB/s"] {
        assert!(ended.output.contains(bandwidth), "{}", ended.output);
    }
    let files = ["--json", "out.json", "--picture", "out.svg", "--csv"];
    let ended = scratch.stratasim(&[&arguments[..], &files[..]].concat());
    assert_eq!(ended.errors, "  wrote out.json (times)\n  wrote out.svg (picture)\n");
    assert!(ended.output.starts_with("size [B],ring [s],ring bandwidth [B/s],csc [s]"), "{}", ended.output);
    let json: Value = serde_json::from_str(&scratch.read("out.json")).unwrap();
    assert_eq!(json["rows"][0]["best"], "csc-equation");
    let time = json["rows"][0]["times"][0]["time_s"].as_f64().unwrap();
    assert!((time - 195e-6).abs() < 1e-12, "{time}");
    assert!(scratch.read("out.svg").starts_with("<svg"));
}

#[test]
fn what_a_card_cannot_do_is_left_out_and_said() {
    let scratch = Scratch::new();
    let all_reduce = ["card", "bench", "sw-ai", "--op", "all-reduce", "--algorithms", "csc-equation,ring"];
    let ended = scratch.stratasim(&all_reduce);
    assert_eq!((ended.code, ended.errors.as_str()), (0, "  - csc-equation has no all-reduce\n"));
    scratch
        .stratasim(&["card", "bench", "sw-ai", "--algorithms", "rnig"])
        .failed(2, &["did you mean `ring`?"]);
    scratch
        .stratasim(&["card", "bench", "sw-ai", "--op", "allgather"])
        .failed(2, &["did you mean `all-gather`?"]);
    scratch.stratasim(&["card", "bench", "sw-ai", "--sizes", "8"]).failed(2, &["the unit is missing"]);
    scratch.stratasim(&["card", "bench", "sw-aj"]).failed(2, &["did you mean `sw-ai`?"]);
    scratch.stratasim(&["card", "bench", "no.toml"]).failed(2, &["no.toml: no such file"]);
}

#[test]
fn a_card_comes_back_from_the_file_that_show_begins() {
    let scratch = Scratch::new();
    let text = scratch.stratasim(&["card", "show", "two-die-gpu", "--toml"]).output;
    scratch.write("mine.toml", &text);
    let [shipped, mine] = ["two-die-gpu", "mine.toml"]
        .map(|card| scratch.stratasim(&["card", "bench", card, "--json", "-"]).output);
    assert_eq!(shipped, mine);
    scratch.write("mine.toml", &text.replace("cost", "costs"));
    scratch.stratasim(&["card", "show", "mine.toml"]).failed(2, &["unknown key `costs`", "mine.toml:"]);
}

#[test]
fn a_fit_says_what_contradicts_and_writes_the_card() {
    let scratch = Scratch::new();
    let rows = "op,algorithm,bytes,time_us,bandwidth,scope,source\n\
                all-gather,ring,8 MB,,34.1 GB/s,,\n\
                reduce-scatter,csc,32768 KiB,631,,kernel,table 4\n\
                reduce-scatter,csc,32768 KiB,,65.88 GB/s,,figure 15\n";
    scratch.write("anchors.csv", rows);
    let arguments = [
        "card",
        "fit",
        "sw-ai",
        "anchors.csv",
        "--free",
        "ring-step,reduce-csc,global",
        "--out",
        "fitted.toml",
    ];
    let ended = scratch.stratasim(&arguments);
    assert_eq!(ended.code, 0, "{}", ended.errors);
    let words = "cannot be met together within 10 %: line 3 (table 4), line 4 (figure 15)";
    assert!(ended.output.contains(words) && ended.output.contains("18.20 us"), "{}", ended.output);
    let again =
        scratch.stratasim(&["card", "bench", "fitted.toml", "--sizes", "8MB", "--algorithms", "ring"]);
    assert!(again.output.contains("34.10 GB/s"), "{}", again.output);
    scratch.write("anchors.csv", "op,algorithm,bytes\nall-gather,ring,8 MB\n");
    scratch.stratasim(&arguments).failed(2, &["anchors.csv: line 2: time_us or bandwidth is expected"]);
}

#[test]
fn rows_of_the_paper_decide_the_exit_code() {
    let scratch = Scratch::new();
    let row = |formula: &str| {
        format!(
            r#"{{"rows": [{{"id": "a", "formula": "{formula}", "inputs": {{"comm_us": 50, "saved_us": 20}}, "paper": 40,
            "unit": "%", "status": "exact"}}]}}"#
        )
    };
    scratch.write("good.json", &row("saved/comm"));
    scratch.write("bad.json", &row("saved*comm"));
    assert_eq!(scratch.stratasim(&["conformance", "oncard", "good.json"]).code, 0);
    let ended = scratch.stratasim(&["conformance", "oncard", "bad.json"]);
    assert_eq!(ended.code, 3);
    assert!(ended.output.contains("not understood"), "{}", ended.output);
}
