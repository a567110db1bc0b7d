//! Bad input about schedules, jobs, noise and the message level: one error with file, line and key.

use crate::support::{Ended, Scratch};

const SWITCH: &str =
    "[topology]\nkind = \"single-switch\"\nnodes = 4\nbandwidth = \"10 GB/s\"\nlatency = \"1 us\"\n";
/// Begins on line 6.
const FILE: &str = "[workload]\nkind = \"goal\"\nfile = \"x.goal\"\n";
const GOOD: &str =
    "num_ranks 2\nrank 0 {\na: calc 5\nb: send 8b to 1\nb requires a\n}\nrank 1 {\nrecv 8b from 0\n}\n";
/// Two jobs of two ranks; begins on line 6, ends on line 11.
const JOBS: &str = "[[job]]\nname = \"a\"\nworkload = { kind = \"goal\", pattern = { kind = \"incast\" }, ranks = 2 }\n[[job]]\nname = \"b\"\nworkload = { kind = \"goal\", pattern = { kind = \"incast\" }, ranks = 2 }\n";

/// Runs the switch with `rest` behind it; `x.goal` lies beside it.
fn run(rest: &str) -> Ended {
    let scratch = Scratch::new();
    scratch.write("x.goal", GOOD);
    scratch.write("bad.toml", &format!("{SWITCH}{rest}"));
    scratch.stratasim(&["run", "bad.toml"])
}

fn run_goal(text: &[u8]) -> Ended {
    let scratch = Scratch::new();
    std::fs::write(scratch.path().join("x.goal"), text).unwrap();
    scratch.write("bad.toml", &format!("{SWITCH}{FILE}"));
    scratch.stratasim(&["run", "bad.toml"])
}

#[track_caller]
fn refused(rest: &str, words: &[&str]) {
    run(rest).failed(2, words);
}

#[test]
fn the_experiments_that_these_tests_change_run() {
    assert_eq!(run(FILE).code, 0);
    assert_eq!(run(JOBS).code, 0);
}

#[test]
fn a_schedule_that_is_not_there_or_not_whole_is_named() {
    refused(
        "[workload]\nkind = \"goal\"\nfile = \"none.goal\"\n",
        &["workload.file", "none.goal: no such file", "experiment's folder", "bad.toml:8"],
    );
    refused("[workload]\nkind = \"goal\"\nfile = \".\"\n", &["workload.file", "not a file", "bad.toml:8"]);
    // GOAL text: the line and column of the GOAL file, and where it is named
    run_goal(&GOOD.as_bytes()[..20]).failed(2, &["workload.file: x.goal:2:9", "bad.toml:8"]);
    run_goal(GOOD.replace("send 8b", "sned 8b").as_bytes()).failed(2, &["x.goal:4:4", "bad.toml:8"]);
    run_goal(GOOD.replace("b requires a", "b requires z").as_bytes()).failed(2, &["x.goal:5:", "`z`"]);
    run_goal(b"").failed(2, &["x.goal", "bad.toml:8"]);

    let scratch = Scratch::new();
    scratch.write("x.goal", GOOD);
    for end in ["strata", "bin"] {
        let name = format!("x.{end}");
        let ended = scratch.stratasim(&["goal", "convert", "x.goal", &name]);
        assert_eq!(ended.code, 0, "{}", ended.errors);
        let whole = std::fs::read(scratch.path().join(&name)).unwrap();
        std::fs::write(scratch.path().join(&name), &whole[..whole.len() - 3]).unwrap();
        scratch.write("bad.toml", &format!("{SWITCH}{}", FILE.replace("x.goal", &name)));
        scratch.stratasim(&["run", "bad.toml"]).failed(2, &["workload.file", &name, "bad.toml:8"]);
    }
}

#[test]
fn a_schedule_that_cannot_end_is_an_error_of_the_run() {
    let ended = run_goal(GOOD.replace("recv 8b from 0", "recv 8b from 0 tag 3").as_bytes());
    ended.failed(3, &["stalled", "rank 1"]);
}

#[test]
fn keys_of_the_workload_that_do_not_belong_together_are_named() {
    let goal = |keys: &str| format!("[workload]\nkind = \"goal\"\n{keys}\n");
    let one = ["workload: one of `file`, `pattern` and `nccl`", "bad.toml:6"];
    refused(&goal(""), &one);
    refused(&goal("file = \"x.goal\"\npattern = { kind = \"incast\" }"), &one);
    refused(&goal("fiel = \"x.goal\""), &["workload.fiel", "did you mean `file`", "bad.toml:8"]);
    refused(&goal("file = \"x.goal\"\nranks = 3"), &["workload.ranks", "pattern", "bad.toml:9"]);
    refused(&goal("file = \"x.goal\"\nnics = 3"), &["workload.nics", "ranks-per-node", "bad.toml:9"]);
    refused(
        &goal("pattern = { kind = \"incast\" }"),
        &["workload.ranks", "needs a number of ranks", "bad.toml:6"],
    );
    let pattern =
        |kind: &str, keys: &str| goal(&format!("pattern = {{ kind = \"{kind}\" }}\nranks = 4\n{keys}"));
    refused(&pattern("incats", ""), &["workload.pattern.kind", "did you mean `incast`", "bad.toml:8"]);
    refused(
        &pattern("incast", "segment = \"4 kB\""),
        &["workload.segment", "`incast` has no segments", "bad.toml:10"],
    );
    refused(&pattern("pipelined-ring", "segment = \"0 B\""), &["workload.segment", "got 0", "bad.toml:10"]);
    refused(&pattern("pipelined-ring", "root = 7"), &["workload.root", "rank 7", "bad.toml:10"]);
    refused(&pattern("incast", "repetitions = 0"), &["workload.repetitions", "bad.toml:10"]);
    refused(&pattern("incast", "ranks-per-node = 0"), &["workload.ranks-per-node", "bad.toml:10"]);
    refused(&pattern("collective", ""), &["workload.pattern", "`operation` is missing", "bad.toml:8"]);
    let nccl =
        |keys: &str| goal(&format!("nccl = {{ operation = \"all-reduce\", bytes = \"1 MB\", {keys} }}"));
    refused(
        &nccl("ranks = 4, chanels = 2"),
        &["workload.nccl.chanels", "did you mean `channels`", "bad.toml:8"],
    );
    refused(&nccl("ranks = 4, ranks-per-node = 3"), &["workload.nccl", "ranks-per-node", "bad.toml:8"]);
    refused(&nccl("ranks = 4, algorithm = \"nvls\""), &["workload.nccl", "nvls", "bad.toml:8"]);
}

#[test]
fn ranks_that_do_not_fit_are_counted() {
    let nine = "[workload]\nkind = \"goal\"\npattern = { kind = \"incast\" }\nranks = 9\n";
    refused(nine, &["workload: 9 ranks", "the topology has 4", "bad.toml:6"]);
    let placement = "[placement]\nkind = \"linear\"\nranks = 3\n";
    refused(&format!("{FILE}{placement}"), &["placement.ranks", "2 ranks, the placement 3", "bad.toml:11"]);
    let five = JOBS.replace("ranks = 2 }\n[[job]]", "ranks = 3 }\n[[job]]");
    refused(&five, &["job", "need 5 nodes", "the machine has 4", "bad.toml:6"]);
}

#[test]
fn a_workload_or_jobs_and_not_both_are_expected() {
    refused(&format!("{FILE}{JOBS}"), &["workload", "beside `[[job]]`", "bad.toml:6"]);
    refused("", &["what should run? `[workload]`, `[[job]]`, `[traffic]` or"]);
    refused(&format!("{FILE}[jobs]\nshared = true\n"), &["jobs", "no `[[job]]`", "bad.toml:9"]);
    refused(
        &format!("{JOBS}[placement]\nkind = \"random\"\n"),
        &["placement", "`jobs.placement`", "bad.toml:12"],
    );
}

#[test]
fn what_is_wrong_with_a_job_is_named_in_it() {
    let other =
        "[[job]]\nworkload = { kind = \"collective\", operation = \"all-reduce\", bytes = \"1 MB\" }\n";
    refused(other, &["job.0.workload.kind", "`collective` is no schedule", "bad.toml:7"]);
    let transformer = "[[job]]\nworkload = { kind = \"transformer\", model = \"llama2-7b\" }\n";
    refused(transformer, &["job.0.workload.kind", "`transformer` is no schedule", "`goal`", "bad.toml:7"]);
    refused(
        &JOBS.replace("name = \"b\"", "nmae = \"b\""),
        &["job.1.nmae", "did you mean `name`", "bad.toml:10"],
    );
    refused(
        &JOBS.replace("name = \"b\"", "name = \"a\""),
        &["job.1.name", "`a` is the name of job 0", "bad.toml:10"],
    );
    refused(
        &JOBS.replace("name = \"b\"", "repetitions = 0"),
        &["job.1.repetitions", "at least once", "bad.toml:10"],
    );
    refused(&JOBS.replace("name = \"b\"", "start = \"5 GB\""), &["job.1.start", "5 GB", "bad.toml:10"]);
    refused("[[job]]\nname = \"a\"\n", &["job.0", "`workload` is missing", "bad.toml:6"]);
    let missing = "[[job]]\nworkload = { kind = \"goal\", file = \"none.goal\" }\n";
    refused(missing, &["job.0.workload.file", "none.goal: no such file", "bad.toml:7"]);
}

#[test]
fn placements_of_jobs_that_make_no_sense_are_named() {
    let list = |nodes: &str| format!("{JOBS}[jobs.placement]\nkind = \"list\"\nnodes = {nodes}\n");
    assert_eq!(run(&list("[[3, 1], [0, 2]]")).code, 0);
    refused(
        &list("[[0, 1], [2]]"),
        &["jobs.placement.nodes.1", "1 nodes for the 2 ranks of job 1", "bad.toml:14"],
    );
    refused(&list("[[0, 1]]"), &["jobs.placement.nodes", "1 lists for 2 jobs", "bad.toml:14"]);
    refused(
        &list("[[0, 1], [1, 2]]"),
        &["jobs.placement.nodes.1", "node 1 is given to jobs 0 and 1", "bad.toml:14"],
    );
    refused(
        &list("[[0, 1], [2, 9]]"),
        &["jobs.placement.nodes.1", "node 9, the machine has 4", "bad.toml:14"],
    );
    let jobs = |keys: &str| format!("{JOBS}[jobs]\n{keys}\n");
    let racks = "placement = { kind = \"fill-racks\" }\nracks = \"pod\"";
    refused(&jobs(racks), &["jobs.racks", "no grouping `pod` (it has: none)", "bad.toml:14"]);
    let unused = "placement = { kind = \"random\" }\nracks = \"pod\"";
    refused(&jobs(unused), &["jobs.racks", "`random` does not look at racks", "bad.toml:14"]);
    let placed = "placement = { kind = \"list\", nodes = [[3, 1], [0, 2]] }\nranks-per-node = 2";
    refused(&jobs(placed), &["jobs.ranks-per-node", "the list says where each rank is", "bad.toml:14"]);
    refused(
        &jobs("placement = { kind = \"spread-racks\" }"),
        &["jobs.racks", "no grouping `rack`", "bad.toml:12"],
    );
    refused(
        &jobs("placement = { kind = \"pakced\" }"),
        &["jobs.placement.kind", "did you mean `packed`", "bad.toml:13"],
    );
    refused(&jobs("ranks-per-node = 0"), &["jobs.ranks-per-node", "got 0", "bad.toml:13"]);
    refused(&jobs("sharde = true"), &["jobs.sharde", "did you mean `shared`", "bad.toml:13"]);
    refused(&jobs("nics = \"many\""), &["jobs.nics", "many", "bad.toml:13"]);
}

#[test]
fn noise_that_cannot_be_is_named() {
    let noise = |keys: &str| format!("{FILE}[execution.noise]\n{keys}\n");
    let either = ["execution.noise: either `trace`, or `every` and `length`", "bad.toml:9"];
    refused(&noise("every = \"1 ms\""), &either);
    refused(&noise(""), &either);
    refused(&noise("every = \"1 ms\"\nlength = \"1 us\"\ntrace = \"x\""), &either);
    refused(
        &noise("every = \"0 ms\"\nlength = \"1 us\""),
        &["execution.noise.every", "above zero", "bad.toml:10"],
    );
    refused(
        &noise("trace = \"none\""),
        &["execution.noise.trace", "cannot read `none`: no such file", "bad.toml:10"],
    );
    refused(&noise("trace = \"x.goal\""), &["execution.noise.trace", "x.goal: line 1", "bad.toml:10"]);
    refused(&noise("evry = \"1 ms\""), &["execution.noise.evry", "did you mean `every`", "bad.toml:10"]);
    let sum = "[workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"\n";
    let text = format!("{sum}[execution.noise]\nevery = \"1 ms\"\nlength = \"1 us\"\n");
    refused(&text, &["execution.noise", "streams of schedules", "bad.toml:10"]);
}

#[test]
fn parameters_of_the_message_level_that_make_no_sense_are_named() {
    let network = |keys: &str| format!("{FILE}[network]\nkind = \"message\"\n{keys}\n");
    refused(&network("gap-per-byte = \"200 Gbps\""), &["network.gap-per-byte", "0.04 ns/B", "bad.toml:11"]);
    refused(&network("gap-per-byte = \"-1 ns/B\""), &["network.gap-per-byte", "negative", "bad.toml:11"]);
    refused(&network("latnecy = \"1 us\""), &["network.latnecy", "did you mean `latency`", "bad.toml:11"]);
    refused(&network("nics = 0"), &["network.nics", "at least one NIC", "bad.toml:11"]);
    refused(&network("nics = 4294967295"), &["network.nics", "bad.toml:11"]);
    let near = "near = [{ within = \"rack\", latency = \"1 us\", gap-per-byte = \"1 ns/B\" }]";
    refused(&network(near), &["network.near.0.within", "no grouping `rack` (it has: node)", "bad.toml:11"]);
    refused(
        &network("near = [{ within = \"node\" }]"),
        &["network.near.0", "`latency` is missing", "bad.toml:11"],
    );
}
