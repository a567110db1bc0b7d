//! `stratasim goal` as a user meets it: what is written, what is said, how it ends.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use crate::support::{Ended, Scratch};
use serde_json::Value;

/// Two ranks with everything that a schedule can have.
const EXAMPLE: &str = "\
num_ranks 3

rank 0 {
a: calc 500
b: send 2000b to 1 tag 7 nic 1
b requires a
c: send 10b to 1 tag 8 cpu 2
c irequires b
d: send 10b to 0 tag 9
e: recv 10b from 0 tag 9
}
rank 1 {
l1: recv 2000b from -1 tag 7
l2: recv 10b from 0 tag -1
l3: calc 1500
l3 requires l1
l3 requires l2
}
rank 2 {
}
";

fn goal(scratch: &Scratch, arguments: &[&str]) -> Ended {
    scratch.stratasim(&[&["goal"], arguments].concat())
}

/// Runs what must succeed.
#[track_caller]
fn done(scratch: &Scratch, arguments: &[&str]) -> Ended {
    let ended = goal(scratch, arguments);
    assert_eq!(ended.code, 0, "{arguments:?}\n{}{}", ended.output, ended.errors);
    ended
}

fn digest(scratch: &Scratch, file: &str) -> String {
    let described: Value = serde_json::from_str(&done(scratch, &["info", "--json", file]).output).unwrap();
    described["digest"].as_str().unwrap().to_owned()
}

fn bytes(scratch: &Scratch, name: &str) -> Vec<u8> {
    fs::read(scratch.path().join(name)).unwrap()
}

/// A file of the reference folder; none, with a message, where the folder is missing.
fn reference(path: &str) -> Option<PathBuf> {
    let file = crate::support::root().join("../shared/ref/goal").join(path);
    if !file.exists() {
        eprintln!("skipped: no {}", file.display());
        return None;
    }
    Some(file)
}

#[test]
fn a_pattern_is_generated_converted_and_looked_at() {
    let scratch = Scratch::new();
    let made = done(
        &scratch,
        &["generate", "--pattern", "linear-alltoall", "--ranks", "1024", "--bytes", "1024", "-o", "x.goal"],
    );
    assert_eq!(made.output, "");
    assert_eq!(
        made.errors,
        "  wrote x.goal (GOAL text, 65.75 MB): 1,024 ranks, 2,095,104 operations, 0 dependencies\n"
    );
    let text = scratch.read("x.goal");
    assert!(text.starts_with("num_ranks 1024\n\nrank 0 {\nl1: send 1024b to 1 tag 0\n"), "{:.100}", text);
    let converted = done(&scratch, &["convert", "x.goal", "x.strata"]);
    assert!(converted.output.contains("x.strata  strata"), "{}", converted.output);
    assert_eq!(converted.errors, "");
    assert!(bytes(&scratch, "x.strata").len() < 1000);
    assert_eq!(digest(&scratch, "x.goal"), digest(&scratch, "x.strata"));
    assert_eq!(scratch.names(), ["x.goal", "x.strata"]);
}

#[test]
fn every_form_comes_back_from_every_form() {
    let scratch = Scratch::new();
    scratch.write("a.goal", EXAMPLE);
    let expected = digest(&scratch, "a.goal");
    for (from, to) in [
        ("a.goal", "b.bin"),
        ("b.bin", "c.strata"),
        ("c.strata", "d.goal"),
        ("d.goal", "e.strata"),
        ("e.strata", "f.bin"),
    ] {
        let ended = done(&scratch, &["convert", from, to]);
        let lost = ended.errors.contains("labels");
        assert_eq!(lost, from == "a.goal", "{from}: {}", ended.errors);
        assert_eq!(digest(&scratch, to), expected, "{from} to {to}");
    }
    assert_eq!(bytes(&scratch, "b.bin"), bytes(&scratch, "f.bin"));
    // labels live as long as the form has them
    done(&scratch, &["convert", "a.goal", "g.strata", "--quiet"]);
    assert!(done(&scratch, &["convert", "g.strata", "-"]).output.contains("c irequires b\n"));
    assert!(!scratch.read("d.goal").contains("c irequires b"));
}

#[test]
fn standard_input_and_output_are_files_too() {
    let scratch = Scratch::new();
    scratch.write("a.goal", EXAMPLE);
    let text = done(&scratch, &["convert", "a.goal", "-"]);
    assert_eq!(text.errors, "");
    assert!(text.output.starts_with("num_ranks 3\n"), "{}", text.output);
    let mut command = scratch.command(&["goal", "info", "-", "--json"]);
    let child = command
        .stdin(fs::File::open(scratch.path().join("a.goal")).unwrap())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let described: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(described["digest"], digest(&scratch, "a.goal"));
    // a reader that goes away is no error
    let mut command = scratch.command(&["goal", "generate", "-p", "dissemination", "-r", "65536", "-o", "-"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), String::from_utf8(ended.stderr).unwrap().as_str()), (Some(0), ""));
}

#[test]
fn info_says_what_a_schedule_consists_of() {
    let scratch = Scratch::new();
    scratch.write("a.goal", EXAMPLE);
    let digest = digest(&scratch, "a.goal");
    assert_eq!(
        done(&scratch, &["info", "a.goal"]).output,
        format!(
            "\
a.goal
  form           GOAL text, 293 B, 36.62 B per operation
  ranks          3, 1 of them without operations
  operations     8: 3 sends, 3 receives, 2 computations
  dependencies   4: 3 requires, 1 irequires
  longest chain  3 operations on rank 0
  per rank       3 streams, 2 NICs
  tags           3
  wildcards      1 receive from any rank, 1 operation with any tag
  bytes sent     2.020 kB, 1 message of a rank to itself
  message size   10 B to 2,000 B, median 10 B
  computation    2.000 us in all, at most 1.500 us on a rank
  digest         {digest}

message size  messages
────────────  ────────  ────────────────────────
10 B                 2  ████████████████████████
2,000 B              1  ████████████
"
        )
    );
    let described: Value =
        serde_json::from_str(&done(&scratch, &["info", "--json", "a.goal"]).output).unwrap();
    for (key, expected) in [
        ("file", "\"a.goal\""),
        ("form", "\"GOAL text\""),
        ("ranks", "3"),
        ("idle_ranks", "1"),
        ("sends", "3"),
        ("irequires", "1"),
        ("bytes", "2020"),
        ("to_itself", "1"),
        ("message_bytes", r#"{"least":10,"median":10,"most":2000}"#),
        ("longest_chain", r#"{"operations":3,"rank":0}"#),
        ("computation_ns", "2000"),
    ] {
        assert_eq!(described[key].to_string(), expected, "{key}");
    }
}

#[test]
fn several_files_stand_side_by_side_in_the_width_there_is() {
    let scratch = Scratch::new();
    scratch.write("a.goal", EXAMPLE);
    done(&scratch, &["convert", "a.goal", "b.bin"]);
    let files = ["a.goal", "b.bin", "a.goal", "b.bin", "a.goal"];
    for columns in ["60", "80", "120"] {
        let ended = scratch
            .command(&[&["goal", "info"], &files[..]].concat())
            .env("COLUMNS", columns)
            .output()
            .unwrap();
        let text = String::from_utf8(ended.stdout).unwrap();
        let most: usize = columns.parse().unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= most), "{columns}:\n{text}");
        assert_eq!(text.matches("GOAL binary").count(), 2, "{text}");
    }
    let list: Value =
        serde_json::from_str(&done(&scratch, &["info", "--json", "a.goal", "b.bin"]).output).unwrap();
    assert_eq!(list[0]["digest"], list[1]["digest"]);
}

#[test]
fn lists_fit_the_terminal_and_name_every_pattern() {
    let scratch = Scratch::new();
    for columns in ["40", "60", "80", "120"] {
        let list = |arguments: &[&str]| {
            let arguments = [&["goal", "generate", "--list"], arguments].concat();
            let ended = scratch.command(&arguments).env("COLUMNS", columns).output().unwrap();
            let text = String::from_utf8(ended.stdout).unwrap();
            let most: usize = columns.parse().unwrap();
            assert!(text.lines().all(|line| line.chars().count() <= most), "{columns}:\n{text}");
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let all = list(&[]);
        for name in ["linear-alltoall", "allreduce-recdoub", "nccl", "exclusive-scan", "double-binary-tree"] {
            assert!(all.contains(name), "{name} is not in:\n{all}");
        }
        assert!(list(&["linear-alltoall"]).contains("window"));
        assert!(list(&["pipelinedringdep"]).contains("pipelined-ring with dependent = true"));
        assert!(list(&["nccl"]).contains("ranks-per-node"));
        assert!(list(&["all-reduce"]).contains("reduction-ps-per-byte"));
    }
}

#[test]
fn options_of_schedgen_reach_the_pattern() {
    let scratch = Scratch::new();
    let text = |arguments: &[&str]| {
        let all = [&["generate", "-r", "4", "-o", "-", "-p"], arguments].concat();
        done(&scratch, &all).output
    };
    assert!(text(&["nwaydissemination", "--nway", "3"]).contains("l3: send 1b to 3"));
    assert!(text(&["allreduce_recdoub", "-b", "64", "--rpl-dep-cmp", "77"]).contains("calc 77"));
    assert!(text(&["pipelinedring", "-b", "10", "--segment", "4"]).contains("send 2b"));
    assert!(text(&["gather", "--root", "2", "--tag", "5"]).contains("to 2 tag 5"));
    let background = text(&["dissemination", "--nb", "1 us", "--nb-poll", "400", "--cpu", "3"]);
    assert_eq!(background.matches("calc 400 cpu 3").count(), 4 * 3);
    assert_eq!(
        text(&["dissemination", "--repetitions", "3", "--pause", "9"]).matches("calc 9").count(),
        4 * 2
    );
    let drawn = |seed: &str| text(&["random-bisection", "--seed", seed, "-s", "symmetric=true"]);
    assert_eq!(drawn("1"), drawn("1"));
    assert!((2..20).any(|seed: u32| drawn(&seed.to_string()) != drawn("1")));
    assert!(text(&["all-reduce", "-a", "double-binary-tree", "-b", "1 KiB"]).contains("send 512b"));
    assert!(text(&["gather", "-a", "binomial", "-b", "80"]).contains("send 40b"));
    assert!(
        text(&["nccl", "-b", "4 MiB", "-s", "operation=all-gather", "-s", "ranks-per-node=2"])
            .contains("cpu 1")
    );
}

#[test]
fn a_check_finds_what_can_never_run_and_says_so_with_its_exit_code() {
    let scratch = Scratch::new();
    scratch.write("a.goal", EXAMPLE);
    let fine = done(&scratch, &["check", "a.goal"]);
    assert_eq!(fine.output, "✓ 3 ranks with 8 operations: nothing is wrong\n");
    scratch.write(
        "bad.goal",
        "num_ranks 2\nrank 0 {\nx: send 20b to 1\ny: send 1b to 5\nz: calc 1\nz requires z\n}\nrank 1 {\nrecv 10b from 0\nrecv 9b from 0 tag 1\n}\n",
    );
    let ended = goal(&scratch, &["check", "bad.goal"]);
    assert_eq!((ended.code, ended.errors.as_str()), (3, ""));
    assert_eq!(
        ended.output,
        "\
✗ rank 0, y: sends to rank 5; there are ranks 0 to 1
✗ rank 0, z: waits for itself
✗ rank 1, l1: receives 10 bytes, but x of rank 0 sends 20
✗ rank 1, l2: receives a message with tag 1 from rank 0, which sends none
✗ 2 ranks with 5 operations: 4 faults
"
    );
    // room for more is worth a look, and no fault
    scratch.write("roomy.goal", "num_ranks 2\nrank 0 {\nsend 10b to 1\n}\nrank 1 {\nrecv 20b from 0\n}\n");
    let roomy = done(&scratch, &["check", "roomy.goal"]);
    assert!(roomy.output.ends_with("nothing is wrong, 1 thing worth a look\n"), "{}", roomy.output);
}

#[test]
fn a_strict_check_lists_what_txt2bin_would_not_take() {
    let scratch = Scratch::new();
    scratch.write(
        "kind.goal",
        "num_ranks 1\nrank 0 {\n  b requires a\na: calc 1 cpu 300 // much\nb: calc 2\n}\n",
    );
    done(&scratch, &["check", "kind.goal"]);
    let strict = goal(&scratch, &["check", "--strict", "kind.goal"]);
    assert_eq!(strict.code, 3);
    for line in [
        "✗ kind.goal:3:3: rejected by txt2bin: blanks before a statement\n",
        "✗ kind.goal:3:14: rejected by txt2bin: `a` is used before it is defined\n",
        "✗ kind.goal:4:15: changed by txt2bin: a cpu of 300 is taken modulo 256: 44\n",
        "✗ 1 rank with 2 operations: ",
    ] {
        assert!(strict.output.contains(line), "{line}is not in:\n{}", strict.output);
    }
    // what we write is fine with everybody, and what only .strata holds is not
    done(&scratch, &["convert", "kind.goal", "good.goal"]);
    done(&scratch, &["check", "--strict", "good.goal"]);
    let jobs = ["--job", "kind.goal"].repeat(6);
    let merge = ["merge", "--shared", "-o", "many.strata", "-q"];
    done(&scratch, &[&merge[..], &jobs[..]].concat());
    done(&scratch, &["check", "many.strata"]);
    let many = goal(&scratch, &["check", "--strict", "many.strata"]);
    assert_eq!(many.code, 3);
    assert!(many.output.contains("at most 255"), "{}", many.output);
    goal(&scratch, &["convert", "many.strata", "many.bin"])
        .failed(2, &["many.bin: ", "at most 255", "stream (cpu) 269"]);
    goal(&scratch, &["convert", "many.strata", "many.goal"]).failed(2, &["many.goal: ", "at most 255"]);
    assert!(!scratch.path().join("many.bin").exists());
}

#[test]
fn a_schedule_that_was_cut_short_is_told_of_by_every_verb() {
    let scratch = Scratch::new();
    scratch.write("cut.goal", "num_ranks 4\nrank 0 {\nsend 10b to 1\n}\nrank 1 {\nrecv 10b from 0\n}\n");
    let told = "cut.goal: line 8, column 1: ranks 2 to 3 of 4 have no block; a rank without a block does nothing, \
                but the file may have been cut short";
    for arguments in [
        &["info", "cut.goal"][..],
        &["check", "cut.goal"],
        &["convert", "cut.goal", "cut.strata"],
        &["merge", "--job", "cut.goal", "-o", "merged.strata"],
        &["regroup", "cut.goal", "grouped.strata", "--ranks-per-node", "2"],
    ] {
        assert!(done(&scratch, arguments).errors.starts_with(&format!("  {told}\n")), "{arguments:?}");
        let quiet = done(&scratch, &[arguments, &["--quiet"]].concat());
        assert_eq!(quiet.errors, "", "{arguments:?}");
    }
    let ended = done(&scratch, &["run", "cut.goal", "--json", "cut.json"]);
    let flat = ended.output.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(&format!("note {told}.")), "{}", ended.output);
    let result: Value = serde_json::from_str(&scratch.read("cut.json")).unwrap();
    assert_eq!(result["notes"], serde_json::json!([format!("{told}.")]));
    // where somebody waits for a rank that is missing, the reason stands below
    scratch.write("stalls.goal", "num_ranks 2\nrank 0 {\nrecv 10b from 1\n}\n");
    for semantics in ["native", "loggopsim", "atlahs-lgs"] {
        let ended = goal(&scratch, &["run", "stalls.goal", "--semantics", semantics]);
        assert_ne!(ended.code, 0);
        assert!(ended.errors.contains("rank 1 of 2 has no block"), "{semantics}: {}", ended.errors);
    }
}

#[test]
fn jobs_are_put_on_one_machine() {
    let scratch = Scratch::new();
    done(&scratch, &["generate", "-p", "dissemination", "-r", "8", "-o", "a.goal"]);
    done(&scratch, &["generate", "-p", "gather", "-r", "4", "-o", "b.bin"]);
    let merged = done(
        &scratch,
        &[
            "merge",
            "--job",
            "a.goal,start=5 us",
            "-j",
            "b.bin,name=other,repeat=2",
            "--placement",
            "round-robin",
            "-o",
            "m.strata",
        ],
    );
    assert_eq!(
        merged.output,
        "\
job    ranks  nodes  times    starts  on nodes, by rank
─────  ─────  ─────  ─────  ────────  ─────────────────
a          8      8      1  5.000 us  0-8 step 2, 9-11
other      4      4      2  0.000 us  1-7 step 2
"
    );
    assert_eq!(merged.errors, "  wrote m.strata (strata, 321 B): 12 ranks, 69 operations, 57 dependencies\n");
    done(&scratch, &["check", "m.strata"]);
    let lists = done(
        &scratch,
        &["merge", "--job", "a.goal,nodes=0-3,3-6", "--job", "b.bin,nodes=9,8,7,7", "-o", "l.goal"],
    );
    assert!(
        lists.output.contains("0-2, 3 (2 ranks), 4-6\n") && lists.output.contains("9, 8, 7 (2 ranks)\n"),
        "{}",
        lists.output
    );
    done(&scratch, &["check", "--strict", "l.goal"]);
    let shared = [
        "merge",
        "--job",
        "a.goal",
        "--job",
        "b.bin",
        "--shared",
        "--ranks-per-node",
        "2",
        "--nic",
        "own",
        "-o",
        "s.goal",
    ];
    done(&scratch, &shared);
    let info = done(&scratch, &["info", "s.goal"]).output;
    assert!(info.contains("per rank       4 streams, 4 NICs"), "{info}");
    done(&scratch, &["check", "s.goal"]);
    let racks =
        ["merge", "--job", "b.bin", "-p", "spread-racks", "--nodes", "8", "--nodes-per-rack", "2", "-o", "-"];
    assert!(done(&scratch, &racks).output.contains("num_ranks 8"));
}

#[test]
fn the_configurations_of_merge_goals_give_its_schedules() {
    let scratch = Scratch::new();
    for name in ["packed", "round_robin", "custom"] {
        let Some(config) = reference(&format!("data/merge/{name}.json")) else { return };
        let expected = reference(&format!("data/merge/merged_{name}.goal")).unwrap();
        done(&scratch, &["merge", "--config", config.to_str().unwrap(), "-o", "m.goal"]);
        assert_eq!(digest(&scratch, "m.goal"), digest(&scratch, expected.to_str().unwrap()), "{name}");
    }
}

#[test]
fn ranks_are_regrouped() {
    let scratch = Scratch::new();
    done(&scratch, &["generate", "-p", "allreduce_ring", "-r", "16", "-b", "16 kB", "-o", "r.goal"]);
    done(&scratch, &["regroup", "r.goal", "n.goal", "--ranks-per-node", "4", "--nics", "2"]);
    let info = done(&scratch, &["info", "n.goal"]).output;
    assert!(info.contains("4 streams, 2 NICs") && info.contains("of a rank to itself"), "{info}");
    done(&scratch, &["regroup", "r.goal", "c.goal", "--ranks-per-node", "4", "--in-node", "copies=10 GB/s"]);
    let text = scratch.read("c.goal");
    assert!(text.contains("calc 100") && !text.contains("send 1000b to 0 tag 0 cpu 1\n"), "{text:.300}");
    done(&scratch, &["check", "c.goal"]);
}

#[test]
fn mistakes_are_said_with_what_is_expected() {
    let scratch = Scratch::new();
    scratch.write("a.goal", EXAMPLE);
    done(&scratch, &["convert", "a.goal", "a.bin", "-q"]);
    done(&scratch, &["convert", "a.goal", "a.strata", "-q"]);
    for (whole, cut) in [("a.bin", "cut.bin"), ("a.strata", "cut.strata")] {
        let all = bytes(&scratch, whole);
        fs::write(scratch.path().join(cut), &all[..all.len() - 7]).unwrap();
    }
    fs::write(scratch.path().join("header.bin"), [&4223_u64.to_le_bytes()[..], &[255; 4], &[0; 8]].concat())
        .unwrap();
    scratch.write("bad.goal", "num_ranks 1\nrank 0 {\nl1: calc x\n}\n");
    scratch.write(
        "bad.json",
        "{\"mode\": \"multi-job\", \"goal_files\": [\"a.goal\"], \"pattern\": \"pakced\"}",
    );
    scratch.write("worse.json", "{\"mode\": \"multi-job\", \"goal_file\": []}");
    let before = scratch.names();
    let generate = |more: &[&'static str]| [&["generate", "-o", "x.goal"], more].concat();
    for (arguments, words) in [
        (vec!["info", "none.goal"], &["× none.goal: no such file"][..]),
        (vec!["info", "."], &["× .: this is a folder; name a file"]),
        (
            vec!["info", "bad.goal"],
            &["× bad.goal: line 3, column 10: expected a duration in ns, found `x`", "3 │ l1: calc x"],
        ),
        (vec!["info", "cut.bin"], &["× cut.bin: byte 427: the file ends within the block of rank 2"]),
        (vec!["check", "cut.strata"], &["× cut.strata: byte "]),
        (
            vec!["info", "header.bin"],
            &["× header.bin: byte 20: the file ends within the table of 4294967295 ranks"],
        ),
        (
            vec!["convert", "a.goal", "a.txt"],
            &["× a.txt: a name that ends in .goal (GOAL text), .bin (GOAL binary) or .strata is expected"],
        ),
        (vec!["convert", "a.goal", "none/a.bin"], &["× none/a.bin: there is no folder `none`"]),
        (
            generate(&["-p", "linear-alltoal", "-r", "4"]),
            &["× unknown pattern `linear-alltoal`, did you mean `linear-alltoall`?"],
        ),
        (generate(&["-p", "nccll", "-r", "4"]), &["× unknown pattern `nccll`, did you mean `nccl`?"]),
        (
            generate(&["-p", "linear-alltoall", "-r", "4", "-s", "windw=3"]),
            &["unknown key `windw`, did you mean `window`?", "--set windw=3"],
        ),
        (generate(&["-p", "linear-alltoall", "-r", "4", "-s", "window=x"]), &["window: ", "--set window=x"]),
        (
            generate(&["-p", "linear-alltoall", "-r", "0"]),
            &["× --ranks: a schedule has 1 to 2^30 ranks, got 0"],
        ),
        (
            generate(&["-p", "linear-alltoall", "-r", "4294967295"]),
            &["× --ranks: a schedule has 1 to 2^30 ranks, got 4294967295"],
        ),
        (generate(&["-p", "linear-alltoall", "-r", "1000000000"]), &["a schedule holds 2^32 - 2 of each"]),
        (generate(&["-p", "linear-alltoall", "-r", "9999999999"]), &["9999999999 is not in 0..=4294967295"]),
        (
            generate(&["-p", "linear-alltoall", "-r", "1k"]),
            &["'1k' for '--ranks <N>': a whole number is expected"],
        ),
        (
            generate(&["-p", "linear-alltoall", "-r", "4", "-b", "4 mb"]),
            &["4 mb", "did you mean `MB`?", "bare number of bytes"],
        ),
        (
            generate(&["-p", "gather", "-r", "4", "--root", "4"]),
            &["× --root: rank 4 does not exist, there are ranks 0 to 3"],
        ),
        (
            generate(&["-p", "dissemination", "-r", "4", "--root", "1"]),
            &["× --root: `dissemination` has no root"],
        ),
        (generate(&["-p", "dissemination", "-r", "4", "--cpu", "1"]), &["--nb"]),
        (
            generate(&["-p", "all-reduce", "-r", "4", "-a", "double-binary"]),
            &["× --algorithm: unknown kind `double-binary`, did you mean `double-binary-tree`?"],
        ),
        (
            generate(&["-p", "nccl", "-r", "4", "-s", "operation=all-reduce"]),
            &["× --bytes: `nccl` needs to know"],
        ),
        (generate(&["-p", "dissemination"]), &["--ranks <N>"]),
        (
            vec!["merge", "-j", "a.goal", "-p", "rndom", "-o", "m.goal"],
            &["× --placement: unknown kind `rndom`, did you mean `random`?"],
        ),
        (
            vec!["merge", "-j", "a.goal,nods=1", "-o", "m.goal"],
            &["unknown key `nods`, did you mean `nodes`?"],
        ),
        (vec!["merge", "-j", "a.goal,nodes=0-1", "-o", "m.goal"], &["× --job a: 2 nodes for its 3 ranks"]),
        (
            vec!["merge", "-j", "a.goal", "--nodes", "2", "-o", "m.goal"],
            &["× --nodes: the jobs need 3 nodes"],
        ),
        (vec!["merge", "-j", "a.goal", "-p", "fill-racks", "-o", "m.goal"], &["--nodes-per-rack"]),
        (
            vec!["merge", "--config", "bad.json", "-o", "m.goal"],
            &["pattern: packed, round_robin, random or lists of nodes is expected, found `pakced`"],
        ),
        (
            vec!["merge", "--config", "worse.json", "-o", "m.goal"],
            &["unknown key `goal_file`, did you mean `goal_files`?"],
        ),
        (
            vec!["regroup", "a.goal", "m.goal", "--ranks-per-node", "0"],
            &["× --ranks-per-node: a node holds at least one rank, got 0"],
        ),
        (
            vec!["regroup", "a.goal", "m.goal", "--ranks-per-node", "2", "--in-node", "copies=0"],
            &["more than 0 bytes per nanosecond"],
        ),
    ] {
        let ended = goal(&scratch, &arguments);
        ended.failed(2, words);
        assert_eq!(scratch.names(), before, "{arguments:?} leaves something behind");
    }
}

#[test]
fn a_text_that_cannot_be_read_is_shown_with_its_line_and_all_else_that_is_wrong() {
    let scratch = Scratch::new();
    scratch.write("bad.goal", "num_ranks 1\nrank 0 {\n l1: calc 1\nl1: calc x\nsend 1b\n}\n");
    let ended = goal(&scratch, &["check", "bad.goal"]);
    ended.failed(2, &["line 4, column 10"]);
    assert_eq!(
        ended.errors,
        "  × bad.goal: line 4, column 10: expected a duration in ns, found `x`
    ╭─[bad.goal:4:10]
  3 │  l1: calc 1
  4 │ l1: calc x
    ·          ▲
  5 │ send 1b
    ╰────
"
    );
    let strict = goal(&scratch, &["check", "--strict", "bad.goal"]);
    assert_eq!((strict.code, &strict.errors), (2, &ended.errors));
    let lines: Vec<_> = strict.output.lines().collect();
    assert!(lines.len() >= 3 && lines[0].starts_with("✗ bad.goal:3:2: rejected"), "{}", strict.output);
    assert!(lines.iter().any(|line| line.starts_with("✗ bad.goal:5:8: ")), "{}", strict.output);
}

#[cfg(unix)]
#[test]
fn an_interrupted_conversion_leaves_nothing_behind() {
    let scratch = Scratch::new();
    // once, and it goes on reading; twice, and it ends at once
    for times in [1, 2] {
        // a pipe that never ends
        let mut command = scratch.command(&["goal", "convert", "-", "out.strata"]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, b"num_ranks 1\nrank 0 {\n").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(700));
        let id = child.id().to_string();
        for _ in 0..times {
            assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        assert_eq!(child.try_wait().unwrap().is_some(), times == 2);
        let _ = std::io::Write::write_all(&mut stdin, b"calc 1\n");
        drop(stdin);
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(130), "{}", String::from_utf8_lossy(&ended.stderr));
        assert_eq!(scratch.names(), Vec::<String>::new());
    }
}

#[test]
fn bytes_and_times_of_a_run_are_bare_numbers_or_have_a_unit() {
    let scratch = Scratch::new();
    scratch.write("x.goal", EXAMPLE);
    let run = |options: &[&str]| -> Value {
        let ended = done(&scratch, &[&["run", "x.goal", "--json", "-"], options].concat());
        serde_json::from_str(&ended.output).unwrap()
    };
    let bare = ["-L", "1000", "-o", "1500.5", "-g", "20", "-G", "0.08", "-O", "0.5", "-S", "64000"];
    let units =
        ["-L", "1us", "-o", "1.5005 us", "-g", "20 ns", "-G", "0.08 ns/B", "-O", "500 ps/B", "-S", "64kB"];
    let (bare, units) = (run(&bare), run(&units));
    assert_eq!(bare["spec"], units["spec"]);
    assert_eq!(bare["finish_ns"], units["finish_ns"]);
    let noise = run(&["--noise-every", "100000", "--noise-length", "5000"]);
    assert_eq!(noise["spec"], run(&["--noise-every", "100 us", "--noise-length", "5 us"])["spec"]);
    for (option, value, words) in [
        ("-S", "64kb", "'64kb' for '--eager-limit <BYTES>': `64kb` is not an amount of data"),
        ("-S", "1e3", "or a bare number of bytes"),
        ("-L", "1 lightyear", "--latency <TIME>': `1 lightyear` is not a length of time"),
        ("-G", "1 us", "or a bare number of nanoseconds per byte"),
        ("--noise-every", "often", "or a bare number of nanoseconds"),
    ] {
        goal(&scratch, &["run", "x.goal", option, value]).failed(2, &[words]);
    }
}

#[test]
fn the_spec_of_a_run_names_its_file_and_its_options() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path().join("a")).unwrap();
    scratch.write("a/x.goal", EXAMPLE);
    let options = ["--noise-every", "1 ms", "--noise-length", "10 us", "-L", "7"];
    let ended = done(&scratch, &[&["run", "a/x.goal", "--json", "-"], &options[..]].concat());
    let result: Value = serde_json::from_str(&ended.output).unwrap();
    let spec = &result["spec"]["goal"];
    assert_eq!((&spec["file"], &spec["L"]), (&"a/x.goal".into(), &7.0.into()));
    assert_eq!(spec["noise"], serde_json::json!({"every": "1 ms", "length": "10 us"}));
    assert_eq!(result["title"]["experiment"], "x");
}

#[test]
fn what_the_rules_or_the_schedule_refuse_is_bad_input() {
    let scratch = Scratch::new();
    scratch.write("x.goal", EXAMPLE);
    scratch.write("far.goal", "num_ranks 2\nrank 0 {\na: calc 5\nb: send 5b to 7\n}\nrank 1 {\n}\n");
    let gap = goal(&scratch, &["run", "x.goal", "--semantics", "loggopsim", "-G", "0.5"]);
    gap.failed(2, &["-G: LogGOPSim counts G in whole nanoseconds per byte, not 0.5"]);
    let words = ["far.goal: rank 0: `b` sends to rank 7, there are 2 ranks"];
    for rules in ["native", "loggopsim", "atlahs-lgs"] {
        goal(&scratch, &["run", "far.goal", "--semantics", rules]).failed(2, &words);
    }
    scratch.write(
        "x.toml",
        "topology = { kind = \"single-switch\", nodes = 2, bandwidth = \"1 GB/s\", latency = \"1 us\" }\n\
         workload = { kind = \"goal\", file = \"far.goal\" }\n",
    );
    scratch.stratasim(&["run", "x.toml"]).failed(2, &[words[0], "x.toml:2:"]);
}
