//! Schedules in experiments: bounds that hold, jobs that fare as closed forms say, results that run again.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use crate::common::{run, run_in};
use proptest::prelude::*;
use stratasim_core::Rank;
use stratasim_core::observe::Blind;
use stratasim_experiment::{Document, Prepared};
use stratasim_report::{Labels as _, RunResult};

fn switch(nodes: u32) -> String {
    format!(
        "[topology]\nkind = \"single-switch\"\nnodes = {nodes}\nbandwidth = \"100 Gbps\"\nlatency = \"500 ns\"\n"
    )
}

/// LogGOPS with round numbers: L 1 us, o 100 ns, g 10 ns, G 0.1 ns/B, everything eager.
const MESSAGE: &str = "[network]\nkind = \"message\"\nlatency = \"1 us\"\noverhead = \"100 ns\"\ngap = \"10 ns\"\ngap-per-byte = \"0.1 ns/B\"\neager-limit = \"1 GB\"\n";

fn seconds_of(result: &RunResult, name: &str) -> f64 {
    let bound = result.bounds.iter().find(|bound| bound.name == name);
    bound.unwrap_or_else(|| panic!("no bound `{name}`: {:?}", result.bounds)).seconds
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1e-3), "{found} instead of {expected}");
}

#[test]
fn an_incast_is_bound_by_the_nic_of_its_receiver() {
    let work =
        "[workload]\nkind = \"goal\"\npattern = { kind = \"gather\" }\nranks = 33\nbytes = \"20001 B\"\n";
    let result = run(&format!("{}{work}{MESSAGE}", switch(33)));
    // 32 messages of 20 001 bytes with 31 gaps between them
    let nic = 32.0 * 2000e-9 + 31.0 * 10e-9;
    near(seconds_of(&result, "bytes through a NIC"), nic);
    // and nothing else but the overheads of one message and its way
    near(result.makespan_s, nic + 100e-9 + 1e-6 + 100e-9);
    assert_eq!(result.binding.unwrap().bound.place, "host-0");
    // what a receive costs by its size is the stream's work, too
    let by_size = format!("{}{work}{MESSAGE}overhead-per-byte = \"1 ns/B\"\n", switch(33));
    near(seconds_of(&run(&by_size), "work of a stream"), 32.0 * (100e-9 + 20_000e-9));
    // the receiver's stream takes the overhead of 32 messages
    near(seconds_of(&run(&format!("{}{work}{MESSAGE}", switch(33))), "work of a stream"), 3.2e-6);
}

#[test]
fn messages_within_a_node_do_not_count_for_its_nic() {
    let text = "num_ranks 1\nrank 0 {\nsend 10001b to 0\nrecv 10001b from 0\n}\n";
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("x.goal"), text).unwrap();
    let experiment = format!("{}[workload]\nkind = \"goal\"\nfile = \"x.goal\"\n{MESSAGE}", switch(2));
    near(seconds_of(&run_in(&experiment, scratch.path()), "bytes through a NIC"), 1e-6);
    let own = format!(
        "{experiment}near = [{{ within = \"node\", latency = \"0 ns\", gap-per-byte = \"0 ns/B\" }}]\n"
    );
    let result = run_in(&own, scratch.path());
    assert!(result.bounds.iter().all(|bound| bound.name != "bytes through a NIC"), "{:?}", result.bounds);
    near(result.makespan_s, 200e-9);
}

#[test]
fn computation_of_a_stream_is_a_bound_that_can_be_met() {
    let text = "num_ranks 2\nrank 0 {\ncalc 500 cpu 1\ncalc 700 cpu 1\ncalc 900\n}\nrank 1 {\ncalc 1100\n}\n";
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("x.goal"), text).unwrap();
    let experiment = format!("{}[workload]\nkind = \"goal\"\nfile = \"x.goal\"\n", switch(2));
    for network in ["", MESSAGE] {
        let result = run_in(&format!("{experiment}{network}"), scratch.path());
        near(result.makespan_s, 1.2e-6);
        let binding = result.binding.unwrap();
        assert_eq!((binding.bound.place.as_str(), binding.ratio), ("host-0, cpu 1", 1.0));
        assert_eq!(result.finish_ns, Some(vec![1200.0, 1100.0]));
    }
    let noise = "[execution.noise]\nevery = \"1 us\"\nlength = \"300 ns\"\n";
    let result = run_in(&format!("{experiment}{noise}"), scratch.path());
    assert!(result.makespan_s > 1.2e-6, "noise takes time");
    near(result.binding.unwrap().bound.seconds, 1.2e-6);
}

#[test]
fn ranks_without_a_block_and_numbers_that_mean_others_are_notes_of_the_result() {
    let scratch = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(scratch.path().join(name), text).unwrap();
    write("cut.goal", "num_ranks 4\nrank 0 {\ncalc 500 cpu 256\n}\nrank 1 {\n}\n");
    write("whole.goal", "num_ranks 2\nrank 0 {\ncalc 500\n}\nrank 1 {\n}\n");
    let expected = [
        "cut.goal: line 3, column 14: a cpu of 256 is taken modulo 256: 0, as other tools take it.",
        "cut.goal: line 7, column 1: ranks 2 to 3 of 4 have no block; a rank without a block does nothing, but the \
         file may have been cut short.",
    ];
    let notes = |work: &str| run_in(&format!("{}{work}{MESSAGE}", switch(10)), scratch.path()).notes;
    let workload = |file: &str| format!("[workload]\nkind = \"goal\"\nfile = \"{file}\"\n");
    assert_eq!(notes(&workload("cut.goal")), expected);
    assert_eq!(notes(&workload("whole.goal")), [""; 0]);
    // what becomes of the schedule takes nothing of that away
    assert_eq!(notes(&format!("{}ranks-per-node = 2\n", workload("cut.goal"))), expected);
    let job = |file: &str| format!("[[job]]\nworkload = {{ kind = \"goal\", file = \"{file}\" }}\n");
    assert_eq!(notes(&[job("cut.goal"), job("whole.goal"), job("cut.goal")].concat()[..]), expected);
}

#[test]
fn jobs_that_share_a_nic_take_turns_and_those_that_do_not_do_not() {
    let jobs = "[[job]]\nname = \"a\"\nworkload = { kind = \"goal\", pattern = { kind = \"gather\" }, ranks = 2, bytes = \"10001 B\" }\n[[job]]\nname = \"b\"\nworkload = { kind = \"goal\", pattern = { kind = \"gather\" }, ranks = 2, bytes = \"10001 B\" }\n";
    let alone = 100e-9 + 1e-6 + 1e-6 + 100e-9;
    let apart = run(&format!("{}{jobs}{MESSAGE}", switch(4)));
    for job in &apart.jobs {
        near(job.duration_s, alone);
        assert_eq!((job.ranks, job.nodes, job.slowdown), (2, 2, Some(1.0)));
    }
    let shared = format!("{}{jobs}[jobs]\nshared = true\n{MESSAGE}", switch(4));
    let together = run(&shared);
    near(together.jobs[0].alone_s.unwrap(), alone);
    near(together.jobs[1].alone_s.unwrap(), alone);
    // one message after the other, with a gap
    let mut durations: Vec<f64> = together.jobs.iter().map(|job| job.duration_s).collect();
    durations.sort_by(f64::total_cmp);
    near(durations[0], alone);
    near(durations[1], alone + 1e-6 + 10e-9);
    let own = run(&shared.replace("shared = true", "shared = true\nnics = \"own\""));
    for job in &own.jobs {
        near(job.duration_s, alone);
    }
    let blind = run(&shared.replace("shared = true", "shared = true\nalone = false"));
    assert!(blind.jobs.iter().all(|job| job.alone_s.is_none() && job.slowdown.is_none()));
    assert_eq!(blind.digest, together.digest, "running jobs alone changes nothing");
}

/// What a job takes without the others is what an experiment takes in which there are no others.
#[test]
fn jobs_that_run_alone_one_after_the_other_know_nothing_of_each_other() {
    let job = |bytes: u32, start: &str| {
        format!(
            "[[job]]\nworkload = {{ kind = \"goal\", pattern = {{ kind = \"ring-allreduce\" }}, ranks = 3, \
             bytes = \"{bytes} kB\" }}\nstart = \"{start}\"\nrepetitions = 2\n"
        )
    };
    let jobs = [job(30, "1 us"), job(50, "0 s"), job(30, "0 s"), job(20, "7 us")];
    // ranks on nodes in any order, and two of the last one on a node
    let nodes = ["[5, 1, 8]", "[0, 7, 3]", "[2, 8, 4]", "[6, 6, 1]"];
    let torus = "topology = { kind = \"torus\", dimensions = [3, 3], bandwidth = \"10 GB/s\", latency = \"100 ns\" }\n";
    let ecmp = "[routing]\nkind = \"ecmp\"\n";
    let noise = "[execution.noise]\nevery = \"10 us\"\nlength = \"1 us\"\n";
    for network in [
        "network = \"message\"\n".to_owned(),
        format!("network = \"message\"\n{noise}"),
        format!("network = {{ kind = \"message\", from-routes = true }}\n{ecmp}"),
        "network = { kind = \"constant-rate\", bandwidth = \"1 GB/s\", latency = \"1 us\" }\n".to_owned(),
        "network = \"flow\"\n".to_owned(),
        format!("network = {{ kind = \"flow\", rule = \"lv08\" }}\n{ecmp}{noise}"),
        format!("network = \"packet\"\n{noise}"),
        "network = \"flit\"\n".to_owned(),
    ] {
        let run_jobs = |jobs: &[String], nodes: &[&str]| {
            let placement = format!(
                "[jobs]\nshared = true\nplacement = {{ kind = \"list\", nodes = [{}] }}\n",
                nodes.join(", ")
            );
            run(&format!("{torus}{network}{}{placement}", jobs.concat()))
        };
        let together = run_jobs(&jobs, &nodes);
        for (number, job) in together.jobs.iter().enumerate() {
            let only = run_jobs(&jobs[number..=number], &nodes[number..=number]);
            assert_eq!(job.alone_s, Some(only.jobs[0].duration_s), "job {number}, {network}");
        }
    }
}

#[test]
fn pictures_say_whose_ranks_run_on_a_node() {
    let one = |name: &str, ranks| {
        format!(
            "[[job]]\nname = \"{name}\"\nworkload = {{ kind = \"goal\", pattern = {{ kind = \"gather\" }}, ranks = {ranks} }}\n"
        )
    };
    let named = |jobs: &str, options: &str| -> Vec<String> {
        let text = format!("{}{jobs}{options}", switch(4));
        let document = Document::parse("jobs.toml", &text).unwrap();
        let prepared = Prepared::new(&document, Path::new("")).unwrap();
        let labels = prepared.labels();
        (0..4).map(|rank| labels.rank(Rank(rank))).collect()
    };
    let two = one("a", 2) + &one("b", 2);
    let apart =
        ["rank 0 (host-0, a 0)", "rank 1 (host-1, a 1)", "rank 2 (host-2, b 0)", "rank 3 (host-3, b 1)"];
    assert_eq!(named(&two, ""), apart);
    let shared = "[jobs]\nshared = true\nplacement = { kind = \"list\", nodes = [[0, 3], [3, 2], [3, 1]] }\n";
    let together = named(&(two.clone() + &one("c", 2)), shared);
    assert_eq!(together[1..], ["rank 1 (host-1, c 1)", "rank 2 (host-2, b 1)", "rank 3 (host-3, 3 jobs)"]);
    let dense = "[jobs]\nranks-per-node = 4\n";
    let crowd = named(&(one("a", 8) + &one("b", 6)), dense);
    assert_eq!(crowd[0], "rank 0 (host-0, 4 ranks of a)");
    assert_eq!(crowd[3], "rank 3 (host-3, 2 ranks of b)");
    assert_eq!(named(&one("alone", 4), "")[3], "rank 3 (host-3, alone 3)");
    let schedule = "[workload]\nkind = \"goal\"\npattern = { kind = \"gather\" }\nranks = 4\n";
    assert_eq!(named(schedule, "")[3], "rank 3 (host-3)");
}

#[test]
fn a_job_that_starts_later_is_measured_from_its_start() {
    let jobs = "[[job]]\nworkload = { kind = \"goal\", pattern = { kind = \"gather\" }, ranks = 2, bytes = \"10001 B\" }\nstart = \"5 us\"\nrepetitions = 2\npause = \"3 us\"\n[[job]]\nworkload = { kind = \"goal\", pattern = { kind = \"gather\" }, ranks = 2 }\n";
    let result = run(&format!("{}{jobs}{MESSAGE}", switch(4)));
    let job = &result.jobs[0];
    assert_eq!(job.name, "job 0");
    near(job.start_s, 5e-6);
    near(job.finish_s, result.makespan_s);
    near(job.duration_s, result.makespan_s - 5e-6);
    // a rank begins again when it has finished: the sender, after its pause, sends 3.1 us after the first
    near(job.duration_s, 100e-9 + 3e-6 + 2.2e-6);
}

#[test]
fn the_wait_for_a_start_is_no_work() {
    let job = "[[job]]\nworkload = { kind = \"goal\", pattern = { kind = \"gather\" }, ranks = 2, bytes = \"10001 B\" }\n";
    let alone = run(&format!("{}{job}{MESSAGE}", switch(4)));
    let later = format!("{}{job}start = \"10 ms\"\n{MESSAGE}", switch(4));
    let result = run(&later);
    near(result.makespan_s, 10e-3 + alone.makespan_s);
    let computed: f64 = result.ranks.iter().map(|rank| rank.compute_s).sum();
    assert!(computed < 1e-9, "{computed} s of a wait are computation");
    // nothing of the job ends sooner than what it has to do after its start
    near(seconds_of(&result, "start of a job, and work of a stream"), 10e-3 + 100e-9);
    // half of all time goes to the system, which takes nothing from who does nothing
    let noise = "[execution.noise]\nevery = \"100 us\"\nlength = \"100 us\"\n";
    let noisy = run(&format!("{later}{noise}"));
    near(noisy.jobs[0].start_s, 10e-3);
    assert!((10e-3..13e-3).contains(&noisy.makespan_s), "{}", noisy.makespan_s);
}

#[test]
fn a_result_says_how_to_get_it_again() {
    let jobs = "[[job]]\nname = \"a\"\nworkload = { kind = \"goal\", pattern = { kind = \"ring-allreduce\" }, ranks = 3, bytes = \"30 kB\" }\n[[job]]\nworkload = { kind = \"goal\", nccl = { operation = \"all-gather\", ranks = 4, ranks-per-node = 2, bytes = \"64 kB\" }, ranks-per-node = 2 }\n[jobs]\nplacement = { kind = \"random\" }\n[execution.noise]\nevery = \"2 us\"\nlength = \"100 ns\"\n";
    let first = run(&format!("seed = 7\n{}{jobs}", switch(8)));
    assert_eq!(first.jobs[1].nodes, 2, "two of the four ranks share each node");
    let document = Document::from_json("again", &first.spec.to_string()).unwrap();
    let mut prepared = Prepared::new(&document, Path::new("")).unwrap();
    #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
    let again = prepared.run(&mut Blind, Instant::now()).unwrap();
    assert_eq!((again.digest, &again.jobs, &again.spec), (first.digest, &first.jobs, &first.spec));
}

/// A message between two ranks: sizes, streams and NIC; whether it waits for what its ranks did before.
type Drawn = (u32, u32, u64, u16, u16, bool);

/// GOAL text in which message `k` waits at most for messages before it, so that it always ends.
fn schedule(ranks: u32, messages: &[Drawn], calcs: &[(u32, u64, u16)]) -> String {
    let mut bodies = vec![String::new(); ranks as usize];
    let mut last: Vec<Option<String>> = vec![None; ranks as usize];
    for (number, &(rank, ns, cpu)) in calcs.iter().enumerate() {
        let rank = (rank % ranks) as usize;
        let _ = writeln!(bodies[rank], "c{number}: calc {ns} cpu {cpu}");
        last[rank] = Some(format!("c{number}"));
    }
    for (number, &(from, to, size, cpu, nic, waits)) in messages.iter().enumerate() {
        let (from, to) = ((from % ranks) as usize, (to % ranks) as usize);
        let before = [last[from].clone(), last[to].clone()];
        let _ = writeln!(bodies[from], "s{number}: send {size}b to {to} tag {number} cpu {cpu} nic {nic}");
        let _ = writeln!(bodies[to], "r{number}: recv {size}b from {from} tag {number} cpu {cpu} nic {nic}");
        for (rank, own, before) in [(from, "s", &before[0]), (to, "r", &before[1])] {
            if let Some(before) = before.as_ref().filter(|_| waits) {
                let _ = writeln!(bodies[rank], "{own}{number} requires {before}");
            }
        }
        last[from] = Some(format!("s{number}"));
        last[to] = Some(format!("r{number}"));
    }
    let mut text = format!("num_ranks {ranks}\n");
    for (rank, body) in bodies.iter().enumerate() {
        let _ = write!(text, "rank {rank} {{\n{body}}}\n");
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_schedule_beats_its_bounds(
        ranks in 2_u32..6,
        messages in prop::collection::vec((0_u32..6, 0_u32..6, 0_u64..30_000, 0_u16..3, 0_u16..3, any::<bool>()), 1..40),
        calcs in prop::collection::vec((0_u32..6, 0_u64..5_000, 0_u16..3), 0..12),
        nics in 1_u32..4,
        eager in prop::sample::select(vec!["0 B", "8 kB", "1 GB"]),
        from_routes in any::<bool>(),
        within_node in any::<bool>(),
        racks in any::<bool>(),
        noise in any::<bool>(),
        shared in any::<bool>(),
    ) {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::write(scratch.path().join("x.goal"), schedule(ranks, &messages, &calcs)).unwrap();
        let mut text = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts-per-leaf = 4\nbandwidth = \"100 Gbps\"\nlatency = \"300 ns\"\n[workload]\nkind = \"goal\"\nfile = \"x.goal\"\n".to_owned();
        if shared {
            // several ranks on a node
            text += &format!("[placement]\nkind = \"list\"\nnodes = {:?}\n",
                (0..ranks).map(|rank| format!("host-{}", rank % 3)).collect::<Vec<_>>());
        }
        text += &MESSAGE.replace("1 GB", eager).replace("gap = \"10 ns\"", "gap = \"37 ns\"\noverhead-per-byte = \"0.01 ns/B\"");
        text += &format!("nics = {nics}\nfrom-routes = {from_routes}\n");
        let mut near = Vec::new();
        if within_node {
            near.push("{ within = \"node\", latency = \"10 ns\", gap-per-byte = \"0.001 ns/B\" }");
        }
        if racks {
            near.push("{ within = \"rack\", latency = \"100 ns\", gap = \"5 ns\", gap-per-byte = \"0.03 ns/B\" }");
        }
        text += &format!("near = [{}]\n", near.join(", "));
        if noise {
            text += "[execution.noise]\nevery = \"3 us\"\nlength = \"200 ns\"\n";
        }
        let result = run_in(&text, scratch.path());
        for bound in &result.bounds {
            prop_assert!(bound.seconds <= result.makespan_s * (1.0 + 1e-12), "{bound:?} of {}", result.makespan_s);
        }
        // the flow network has links instead of NICs, and the same streams
        let flow = text[..text.find("[network]").unwrap()].to_owned();
        let result = run_in(&flow, scratch.path());
        for bound in &result.bounds {
            prop_assert!(bound.seconds <= result.makespan_s * (1.0 + 1e-9) + 1e-12 * messages.len() as f64, "{bound:?}");
        }
    }
}

/// G of the routes and messages of programs count as well: two messages of 125 MB out of one host at 12.5 GB/s.
#[test]
fn a_nic_at_the_rate_of_its_link_is_a_bound() {
    let machine = format!(
        "{}[network]\nkind = \"message\"\nfrom-routes = true\nlatency = \"0 s\"\noverhead = \"0 s\"\ngap = \"0 s\"\ngap-per-byte = \"0 ns/B\"\n",
        switch(3)
    );
    let scratch = tempfile::tempdir().unwrap();
    let text = "num_ranks 3\nrank 0 {\nsend 125000000b to 1\nsend 125000000b to 2\n}\nrank 1 {\nrecv 125000000b from 0\n}\n\
                rank 2 {\nrecv 125000000b from 0\n}\n";
    std::fs::write(scratch.path().join("x.goal"), text).unwrap();
    let schedule =
        run_in(&format!("{machine}[workload]\nkind = \"goal\"\nfile = \"x.goal\"\n"), scratch.path());
    let program = run(&format!(
        "{machine}[workload]\nkind = \"graph\"\nvertices = [{{ name = \"out\", kind = \"communication\", ranks = [0], destination = 1, \
         bytes = \"250 MB\" }}]\n"
    ));
    // gaps that no message had do not count
    let near = machine.replace("from-routes", "near = [{ within = \"node\", latency = \"0 s\", gap = \"5 ms\", gap-per-byte = \"0 ns/B\" }]\nfrom-routes");
    let other = run(&format!(
        "{near}[workload]\nkind = \"graph\"\nvertices = [{{ name = \"out\", kind = \"communication\", ranks = [0], destination = 1, bytes = \"250 MB\" }}]\n"
    ));
    for result in [schedule, program, other] {
        let bound = seconds_of(&result, "bytes through a NIC");
        assert!((bound / 0.02 - 1.0).abs() < 1e-6, "{bound}");
        assert!((result.makespan_s / bound - 1.0).abs() < 1e-3, "{}", result.makespan_s);
    }
}
