//! Small machines and programs whose time follows from pencil and paper.

use std::path::Path;
use std::time::Instant;

use stratasim_core::Time;
use stratasim_core::observe::{Blind, Event, Interests, MessageSpan, Observer};
use stratasim_experiment::{Document, Prepared};
use stratasim_report::RunResult;

/// Hosts of 1 TFLOP/s and 100 GB/s of local memory on a switch, 10 GB/s and 1 us per link.
const SWITCH: &str = r#"
[topology]
kind = "single-switch"
nodes = 8
bandwidth = "10 GB/s"
latency = "1 us"
compute = { name = "X", fp32 = "1 TFLOP/s", memory-bandwidth = "100 GB/s" }
"#;
const LATENCY_S: f64 = 2e-6;
const BYTES_PER_S: f64 = 10e9;

fn try_run(text: &str) -> Result<RunResult, String> {
    let document = Document::parse("test.toml", text).map_err(|error| error.to_string())?;
    let mut prepared = Prepared::new(&document, Path::new("")).map_err(|error| error.to_string())?;
    #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
    prepared.run(&mut Blind, Instant::now()).map_err(|error| error.to_string())
}

fn run(text: &str) -> RunResult {
    let result = try_run(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(result.checks_hold(), "{:?}", result.checks);
    for bound in &result.bounds {
        assert!(bound.seconds <= result.makespan_s * (1.0 + 1e-9), "{bound:?}, took {}", result.makespan_s);
    }
    result
}

/// Asserts a makespan up to a picosecond per event of a chain of `chain`.
fn takes(workload: &str, expected_s: f64, chain: f64) {
    takes_on(SWITCH, workload, expected_s, chain);
}

fn takes_on(machine: &str, workload: &str, expected_s: f64, chain: f64) {
    let took = run(&format!("{machine}{workload}")).makespan_s;
    let tolerance = 1e-12 * (chain + 1.0) + 1e-12 * expected_s;
    assert!((took - expected_s).abs() <= tolerance, "took {took} s, expected {expected_s} s\n{workload}");
}

fn graph(body: &str) -> String {
    format!("[workload]\nkind = \"graph\"\n{body}\n")
}

#[test]
fn a_message_alone_costs_latency_and_size_over_bandwidth() {
    takes(
        &graph(
            r#"vertices = [{ name = "m", kind = "communication", source = 0, destination = 1, bytes = "5 MB" }]"#,
        ),
        LATENCY_S + 5e6 / BYTES_PER_S,
        1.0,
    );
}

#[test]
fn messages_from_one_host_share_its_link() {
    takes(
        &graph(
            r#"vertices = [
  { name = "a", kind = "communication", source = 0, destination = 1, bytes = "5 MB" },
  { name = "b", kind = "communication", source = 0, destination = 2, bytes = "5 MB" },
  { name = "c", kind = "communication", source = 3, destination = 2, bytes = "1 MB" },
]"#,
        ),
        // c and b share the way into host 2 at first, and a and b the way out of host 0 all along
        LATENCY_S + 10e6 / BYTES_PER_S,
        3.0,
    );
}

#[test]
fn a_rate_limit_holds_and_leaves_the_rest_to_others() {
    takes(
        &graph(
            r#"vertices = [
  { name = "a", kind = "communication", source = 0, destination = 1, bytes = "2 MB", rate-cap = "2 GB/s" },
  { name = "b", kind = "communication", source = 0, destination = 2, bytes = "8 MB" },
]"#,
        ),
        LATENCY_S + 1e-3,
        2.0,
    );
}

#[test]
fn the_time_of_each_vertex_is_told() {
    let result = run(&format!(
        "{SWITCH}{}",
        graph(
            r#"iterations = 2
vertices = [
  { name = "work", kind = "compute", ranks = "all", flops = "1 GFLOP" },
  { name = "long", kind = "communication", ranks = "all", offset = 1, bytes = "20 MB" },
  { name = "late", kind = "communication", ranks = "all", offset = 1, bytes = "5 MB" },
]
edges = [
  { from = "work", to = "late" },
  { from = "long", to = "work", distance = 1 },
  { from = "late", to = "work", distance = 1 },
  { from = "late", to = "long", distance = 1 },
]"#
        )
    ));
    // `long` alone for 1 ms, beside `late` for as long as this takes with half of the link, and alone again
    let (long, late) = (LATENCY_S + 25e6 / BYTES_PER_S, LATENCY_S + 5e6 / (BYTES_PER_S / 2.0));
    let expected = [("work", 1e-3, 0.0), ("long", long, 2.0 * (long - 1e-3)), ("late", late, 0.0)];
    assert_eq!(result.vertices.len(), expected.len());
    for (vertex, (name, each_s, exposed_s)) in result.vertices.iter().zip(expected) {
        assert_eq!((vertex.name.as_str(), vertex.tasks), (name, 16));
        for (found, expected) in
            [(vertex.mean_s, each_s), (vertex.longest_s, each_s), (vertex.comm_exposed_s, exposed_s)]
        {
            assert!((found - expected).abs() < 1e-11, "{name}: {found} s, expected {expected} s");
        }
    }
    let exposed_s: f64 = result.vertices.iter().map(|vertex| vertex.comm_exposed_s).sum();
    let of_ranks = result.ranks.iter().map(|rank| rank.comm_exposed_s).sum::<f64>() / 8.0;
    assert!((exposed_s - of_ranks).abs() < 1e-12 && exposed_s > 0.0, "{exposed_s} {of_ranks}");
    // where a workload is no graph of the user, its vertices are nobody's
    let traffic = "[workload]\nkind = \"traffic\"\nflows = 4\nsize = \"1 MB\"\n";
    assert!(run(&format!("{SWITCH}{traffic}")).vertices.is_empty());
}

#[test]
fn coherent_access_runs_beside_computation_and_moving_runs_before_it() {
    let machine = r#"
[topology]
kind = "graph"
nodes = [
  { name = "x", compute = { name = "X", fp32 = "1 TFLOP/s", memory-bandwidth = "100 GB/s" }, home-memory = "pool" },
  { name = "pool", kind = "memory" },
]
links = [{ from = "x", to = "pool", bandwidth = "10 GB/s", latency = "1 us" }]
"#;
    let work = |flops: &str| {
        graph(&format!(
            r#"vertices = [{{ name = "w", kind = "compute", ranks = "all", flops = "{flops}", memory-bytes = "10 MB", memory = "home" }}]"#
        ))
    };
    let access = 1e-6 + 1e-3;
    takes_on(machine, &work("4 GFLOP"), 4e-3, 1.0);
    takes_on(machine, &work("0.5 GFLOP"), access, 1.0);
    let moving = "[execution]\nmemory = \"move-then-compute\"\n";
    takes_on(machine, &(work("4 GFLOP") + moving), access + 4e-3, 2.0);
    // with the roofline, what was moved is read from local memory while it computes: 0.1 ms
    takes_on(machine, &(work("0.01 GFLOP") + moving + "roofline = true\n"), access + 1e-4, 2.0);
    takes_on(machine, &(work("4 GFLOP") + moving + "roofline = true\n"), access + 4e-3, 2.0);
}

#[test]
fn the_roofline_is_the_larger_of_computation_and_local_memory() {
    let work = |flops: &str| {
        graph(&format!(
            r#"vertices = [{{ name = "w", kind = "compute", rank = 0, flops = "{flops}", memory-bytes = "50 MB" }}]"#
        )) + "[execution]\nroofline = true\n"
    };
    takes(&work("0.1 GFLOP"), 50e6 / 100e9, 1.0);
    takes(&work("2 GFLOP"), 2e-3, 1.0);
}

#[test]
fn ring_collectives_take_their_steps() {
    let ring = |collective: &str| {
        graph(&format!(
            r#"vertices = [{{ name = "c", kind = "communication", collective = "{collective}", bytes = "80 MB", algorithm = "ring" }}]"#
        ))
    };
    let step = LATENCY_S + 10e6 / BYTES_PER_S;
    takes(&ring("all-reduce"), 14.0 * step, 14.0);
    takes(&ring("reduce-scatter"), 7.0 * step, 7.0);
}

#[test]
fn a_binomial_broadcast_takes_a_message_per_doubling() {
    takes(
        &graph(
            r#"vertices = [{ name = "c", kind = "communication", collective = "broadcast", bytes = "10 MB", algorithm = "binomial" }]"#,
        ),
        3.0 * (LATENCY_S + 10e6 / BYTES_PER_S),
        3.0,
    );
}

#[test]
fn recursive_halving_and_doubling_moves_each_byte_twice() {
    takes(
        &graph(
            r#"vertices = [{ name = "c", kind = "communication", collective = "all-reduce", bytes = "80 MB", algorithm = "recursive" }]"#,
        ),
        6.0 * LATENCY_S + 2.0 * 70e6 / BYTES_PER_S,
        6.0,
    );
}

#[test]
fn a_barrier_by_dissemination_takes_a_latency_per_doubling() {
    takes(
        &graph(
            r#"vertices = [{ name = "c", kind = "communication", collective = "barrier", algorithm = "dissemination" }]"#,
        ),
        3.0 * LATENCY_S,
        3.0,
    );
}

#[test]
fn iterations_overlap_as_far_as_the_loop_allows() {
    // a stage of 1 ms on rank 0, then one of 3 ms on rank 1; ten rounds
    let pipeline = |loops: &str| {
        graph(&format!(
            r#"iterations = 10
vertices = [
  {{ name = "a", kind = "compute", rank = 0, flops = "1 GFLOP", start = true }},
  {{ name = "b", kind = "compute", rank = 1, flops = "3 GFLOP" }},
]
edges = [{{ from = "a", to = "b" }}, {loops}]"#
        ))
    };
    // each stage waits for itself only: the slower one sets the pace
    takes(
        &pipeline(r#"{ from = "a", to = "a", distance = 1 }, { from = "b", to = "b", distance = 1 }"#),
        1e-3 + 30e-3,
        11.0,
    );
    // the first waits for the second of the round before: no overlap
    takes(&pipeline(r#"{ from = "b", to = "a", distance = 1 }"#), 40e-3, 20.0);
    // ... of two rounds before: two rounds share the machine, a is hidden
    takes(&pipeline(r#"{ from = "b", to = "a", distance = 2 }"#), 1e-3 + 30e-3, 11.0);
}

#[test]
fn threads_without_a_core_of_their_own_are_in_the_bound() {
    let machine = SWITCH.replace("name = \"X\"", "name = \"X\", cores = 2");
    let work = r#"vertices = [
  { name = "a", kind = "compute", rank = 0, flops = "1 GFLOP", threads = 3, stream = 0 },
  { name = "w", kind = "delay", rank = 0, duration = "1 ms" },
]
edges = [{ from = "a", to = "w" }]"#;
    let result = run(&(machine + &graph(work)));
    // three threads of a millisecond on two cores, and the delay
    let chain = result.bounds.iter().find(|bound| bound.name.starts_with("longest chain")).unwrap();
    assert!((result.makespan_s - 2.5e-3).abs() < 1e-11, "{}", result.makespan_s);
    assert!((chain.seconds - 2.5e-3).abs() < 1e-11, "{chain:?}");
}

/// The part of an operator that is in local memory takes its time where the operator computes nothing, too.
#[test]
fn an_operator_that_only_moves_data_reads_both_memories() {
    let memory = 1_783_618_560;
    let machine = |local: &str| {
        format!(
            r#"[topology]
kind = "graph"
nodes = [{{ name = "g", compute = {{ fp32 = "1e6 PFLOP/s", bf16 = "1e6 PFLOP/s", memory = "{memory} B", memory-bandwidth = "{local}" }}, home-memory = "m" }}, {{ name = "m", kind = "memory" }}]
links = [{{ from = "m", to = "g", bandwidth = "100 GB/s", latency = "0 ns" }}]
[workload]
kind = "transformer"
model = "llama2-13b"
layers = 1
sequence = 1000
memory = "auto"
synchronise = "none"
[execution]
roofline = true
"#
        )
    };
    // slow local memory leaves no operator faster than its local part
    let result = run(&machine("1 TB/s"));
    let used = result.memory.as_ref().unwrap();
    assert!(used[0].local_bytes > 0 && used[0].remote_bytes > 0, "{used:?}");
    let chain = result.bounds.iter().find(|bound| bound.name.starts_with("longest chain")).unwrap();
    assert!(result.makespan_s >= chain.seconds * (1.0 - 1e-9), "{chain:?}");
    assert!(run(&machine("1 GB/s")).makespan_s > 10.0 * result.makespan_s);
}

#[test]
fn a_stream_runs_one_task_at_a_time_and_streams_share_the_node() {
    let two = |stream: u32| {
        graph(&format!(
            r#"vertices = [
  {{ name = "a", kind = "compute", rank = 0, flops = "1 GFLOP", stream = 0 }},
  {{ name = "b", kind = "compute", rank = 0, flops = "3 GFLOP", stream = {stream} }},
]"#
        ))
    };
    let one_stream = run(&(SWITCH.to_owned() + &two(0)));
    let two_streams = run(&(SWITCH.to_owned() + &two(5)));
    for result in [&one_stream, &two_streams] {
        assert!((result.makespan_s - 4e-3).abs() < 3e-12, "{}", result.makespan_s);
    }
    // sharing: both run at half speed until `a` ends after 2 ms
    assert!((two_streams.ranks[0].compute_s - 4e-3).abs() < 3e-12);
}

#[test]
fn a_node_with_two_cores_runs_two_tasks_at_full_speed() {
    let machine = SWITCH.replace("fp32 = ", "cores = 2, fp32 = ");
    takes_on(
        &machine,
        &graph(
            r#"vertices = [
  { name = "a", kind = "compute", rank = 0, flops = "1 GFLOP", stream = 0 },
  { name = "b", kind = "compute", rank = 0, flops = "3 GFLOP", stream = 1 },
]"#,
        ),
        3e-3,
        1.0,
    );
}

#[test]
fn an_eager_message_does_not_wait_for_its_receive_and_a_rendezvous_does() {
    let late = r#"vertices = [
  { name = "s", kind = "send", rank = 0, destination = 1, bytes = "10 MB", tag = 7 },
  { name = "busy", kind = "delay", rank = 1, duration = "5 ms" },
  { name = "r", kind = "receive", rank = 1, source = 0, tag = 7 },
]
edges = [{ from = "busy", to = "r" }]
"#;
    takes(&graph(late), 5e-3, 1.0);
    let limit = "[execution]\neager-limit = \"1 MB\"\n";
    takes(&(graph(late) + limit), 5e-3 + LATENCY_S + 1e-3, 2.0);
    // small enough to be eager all the same
    takes(&(graph(&late.replace("10 MB", "1 MB")) + limit), 5e-3, 1.0);
}

#[test]
fn receives_take_messages_in_order_by_source_and_tag() {
    // the receive of any source takes the first message that came, the other one the second
    takes(
        &graph(
            r#"vertices = [
  { name = "s", kind = "send", rank = 0, destination = 2, bytes = "1 MB", tag = 1 },
  { name = "wait", kind = "delay", rank = 1, duration = "1 ms" },
  { name = "t", kind = "send", rank = 1, destination = 2, bytes = "1 MB", tag = 1 },
  { name = "r", kind = "receive", rank = 2, source = "any", tag = 1 },
  { name = "work", kind = "delay", rank = 2, duration = "1 ms" },
  { name = "q", kind = "receive", rank = 2, source = 1, tag = 1 },
]
edges = [{ from = "wait", to = "t" }, { from = "r", to = "work" }, { from = "work", to = "q" }]"#,
        ),
        LATENCY_S + 1e-4 + 1e-3,
        3.0,
    );
}

#[test]
fn sends_that_wait_for_each_other_are_a_deadlock_with_names() {
    let error = try_run(
        &(SWITCH.to_owned()
            + &graph(
                r#"vertices = [
  { name = "send-0", kind = "send", rank = 0, destination = 1, bytes = "2 MB" },
  { name = "receive-0", kind = "receive", rank = 0, source = 1 },
  { name = "send-1", kind = "send", rank = 1, destination = 0, bytes = "2 MB" },
  { name = "receive-1", kind = "receive", rank = 1, source = 0 },
]
edges = [{ from = "send-0", to = "receive-0" }, { from = "send-1", to = "receive-1" }]
"#,
            )
            + "[execution]\neager-limit = \"1 MB\"\n"),
    )
    .expect_err("neither receive is ever posted");
    assert!(error.contains("`send-0` on rank 0 waits for rank 1 to receive tag 0"), "{error}");
    assert!(error.contains("`receive-1` on rank 1 waits for `send-1` on rank 1"), "{error}");
}

#[test]
fn a_gate_for_all_members_holds_the_early_ones_back() {
    let gated = |gate: &str| {
        graph(&format!(
            r#"vertices = [
  {{ name = "late", kind = "delay", rank = 0, duration = "1 ms" }},
  {{ name = "sum", kind = "communication", collective = "all-gather", bytes = "1 MB", algorithm = "ring", members = [0, 1, 2], gate = "{gate}" }},
]
edges = [{{ from = "late", to = "sum" }}]"#
        ))
    };
    let result = |gate| run(&(SWITCH.to_owned() + &gated(gate)));
    let (each, all) = (result("each-member"), result("all-members"));
    assert!((all.makespan_s - each.makespan_s).abs() < 1e-11, "the late member comes last either way");
    // without the gate the others send their first message while they wait
    assert!(each.links.as_ref().is_some_and(|links| !links.is_empty()));
    assert!(all.makespan_s > 1e-3 && each.makespan_s > 1e-3);
}

#[test]
fn every_shortcut_of_the_flow_network_changes_nothing_but_speed() {
    let training = r#"
[topology]
kind = "hcsim-cxl"
xpus = 32

[workload]
kind = "transformer"
model = "llama2-13b"
layers = 3
precision = "fp32"
memory = "home"

[network]
kind = "flow"
"#;
    let traffic = r#"
[topology]
kind = "fat-tree"
k = 4
bandwidth = "10 GB/s"
latency = "1 us"

[workload]
kind = "traffic"
flows = 400
size = { kind = "exponential", mean = "200 kB" }

[network]
kind = "flow"
"#;
    for case in [training, traffic] {
        for rule in ["max-min", "cm02"] {
            let with =
                |shortcuts: &str| run(&format!("{case}rule = \"{rule}\"\nshortcuts = {{ {shortcuts} }}\n"));
            let reference = with("local-solve = false, solo-flows = false, pipelines = false");
            for one_off in ["", "local-solve = false", "solo-flows = false", "pipelines = false"] {
                let result = with(one_off);
                let off = (result.makespan_s - reference.makespan_s).abs();
                // time is whole picoseconds: one for each message of the longest chain, at most
                assert!(off <= 1e-12 * reference.makespan_s + 200e-12, "{rule} {one_off}: off by {off} s");
                for (rank, wanted) in result.ranks.iter().zip(&reference.ranks) {
                    let off = (rank.finish_s - wanted.finish_s).abs();
                    assert!(off <= 1e-12 * wanted.finish_s + 200e-12, "{rule} {one_off}: off by {off} s");
                }
            }
        }
    }
}

#[test]
fn a_run_is_the_same_every_time() {
    let text = SWITCH.to_owned()
        + r#"
[workload]
kind = "traffic"
flows = 300
size = { kind = "exponential", mean = "200 kB" }
"#;
    let (first, second) = (run(&text), run(&text));
    assert_eq!(first.digest, second.digest);
    assert_ne!(first.digest, run(&format!("seed = 2\n{text}")).digest, "another seed, other traffic");
}

/// A message of a node to itself waits for its latency and moves at its rate, which nobody shares, with weights of latencies or
/// without, and whatever shortcut is taken.
#[test]
fn messages_to_oneself_take_their_latency_and_their_time() {
    for (rule, expected_s) in [
        ("max-min", 101e-6),
        ("cm02", 101e-6),
        // 13.01 times the latency, 0.97 of the rate
        ("lv08", 13.01e-6 + 1e6 / (0.97 * 10e9)),
    ] {
        for (flows, solo) in [(1, true), (1, false), (3, true), (3, false)] {
            let text = format!(
                "[topology]\nkind = \"single-switch\"\nnodes = 2\nbandwidth = \"100 Gbps\"\nlatency = \"500 ns\"\n\
                 [placement]\nkind = \"list\"\nnodes = [\"host-0\", \"host-0\"]\n[workload]\nkind = \"traffic\"\n\
                 flows = {flows}\nsize = \"1 MB\"\npattern = {{ kind = \"list\", pairs = [[0, 1]] }}\n[network]\nkind = \"flow\"\n\
                 rule = \"{rule}\"\noptions = {{ loopback-latency = \"1 us\", loopback-bandwidth = \"10 GB/s\" }}\n\
                 shortcuts = {{ solo-flows = {solo} }}\n"
            );
            let took = run(&text).makespan_s;
            assert!(
                (took / expected_s - 1.0).abs() < 1e-6,
                "{rule}, {flows}, {solo}: {took} of {expected_s}"
            );
        }
    }
}

/// Keeps the messages that overlap a span of time, and counts all it is told of.
struct Watch {
    span: (Time, Time),
    told: usize,
    kept: Vec<MessageSpan>,
}

impl Observer for Watch {
    fn interests(&self) -> Interests {
        Interests { messages: true, ..Interests::default() }
    }

    fn span(&self) -> (Time, Time) {
        self.span
    }

    fn on_event(&mut self, event: &Event) {
        if let Event::Message(message) = event {
            self.told += 1;
            if message.end >= self.span.0 && message.start <= self.span.1 {
                self.kept.push(message.clone());
            }
        }
    }
}

#[test]
fn a_window_shows_every_message_in_it_and_spares_the_rest() {
    let text = r#"
[topology]
kind = "hcsim-cxl"
xpus = 16

[workload]
kind = "transformer"
model = "llama2-13b"
layers = 2
precision = "fp32"
memory = "home"
"#;
    let watch = |span: (Time, Time)| {
        let document = Document::parse("test.toml", text).expect("it parses");
        let mut prepared = Prepared::new(&document, Path::new("")).expect("it builds");
        let mut watch = Watch { span, told: 0, kept: Vec::new() };
        #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
        prepared.run(&mut watch, Instant::now()).expect("it runs");
        watch.kept.sort_by_key(|message| (message.end, message.src));
        watch
    };
    let all = watch((Time::ZERO, Time::MAX));
    let window = (all.kept[all.kept.len() / 3].start, all.kept[all.kept.len() / 2].end);
    let part = watch(window);
    let in_window = |message: &&MessageSpan| message.end >= window.0 && message.start <= window.1;
    let wanted: Vec<MessageSpan> = all.kept.iter().filter(in_window).cloned().collect();
    assert!(!wanted.is_empty() && part.kept == wanted);
    assert!(part.told < all.told, "{} of {} messages", part.told, all.told);
}

#[test]
fn a_note_says_where_layers_leave_a_stream_one_virtual_channel() {
    let message = |router: &str| {
        run(&format!(
            "[topology]\nkind = \"mesh\"\ndimensions = [5, 5]\nbandwidth = \"10 GB/s\"\nlatency = \"137 ns\"\n\
             [workload]\nkind = \"graph\"\nvertices = [{{ name = \"m\", kind = \"communication\", source = 1, destination = 21, bytes = \"600 kB\" }}]\n\
             [network]\nkind = \"flit\"\nrouting = \"shortest-path\"\n{router}"
        ))
    };
    let told =
        |notes: &[String]| notes.iter().any(|note| note.contains("`shortest-path` needs 3 layers here"));
    let usual = message("");
    assert!(told(&usual.notes), "{:?}", usual.notes);
    // what the note advises
    let more = message(usual.notes[0].split('`').find(|part| part.starts_with("router = ")).unwrap());
    assert!(!told(&more.notes), "{:?}", more.notes);
    // two cycles of 18 without a flit, and none
    let least_s = 600e3 / 10e9;
    assert!((1.12..1.14).contains(&(usual.makespan_s / least_s)), "{}", usual.makespan_s);
    assert!(more.makespan_s < 1.02 * least_s, "{}", more.makespan_s);
}
