//! Runs that somebody stops: they end soon, and tell what was done until then.

use std::time::Instant;

use stratasim_core::observe::{Event, Interests, Observer};
use stratasim_experiment::traffic::{Phase, Stage, Watch};
use stratasim_experiment::{Document, Error, Prepared, Traffic};
use stratasim_report::traffic::TrafficResult;

/// Wants to stop from the third look at the clock on.
#[derive(Default)]
struct Impatient(u32);

impl Observer for Impatient {
    fn interests(&self) -> Interests {
        Interests::default()
    }

    fn on_event(&mut self, event: &Event) {
        assert!(matches!(event, Event::Clock { .. } | Event::Progress { .. }), "{event:?}");
        self.0 += 1;
    }

    fn wants_stop(&self) -> bool {
        self.0 >= 3
    }
}

/// Wants to stop before anything happens.
struct Hasty;

impl Observer for Hasty {
    fn interests(&self) -> Interests {
        Interests::default()
    }

    fn on_event(&mut self, _: &Event) {}

    fn wants_stop(&self) -> bool {
        true
    }
}

/// The same, and adds up what all links carry.
#[derive(Default)]
struct Counting {
    looks: u32,
    carried: f64,
}

impl Observer for Counting {
    fn interests(&self) -> Interests {
        Interests { link_uses: true, ..Interests::default() }
    }

    fn on_event(&mut self, event: &Event) {
        match event {
            Event::LinkUse { bytes, start, end, .. } => {
                assert!(start <= end);
                self.carried += bytes;
            }
            Event::Clock { .. } | Event::Progress { .. } => self.looks += 1,
            _ => {}
        }
    }

    fn wants_stop(&self) -> bool {
        self.looks >= 3
    }
}

/// Open-loop traffic that is stopped in its so many-th look.
struct After(u32, std::sync::atomic::AtomicU32, std::sync::Mutex<Vec<Stage>>);

impl Watch for After {
    fn at(&self, stage: &Stage) {
        self.2.lock().unwrap().push(*stage);
    }

    fn wants_stop(&self) -> bool {
        self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= self.0
    }
}

#[test]
fn open_loop_traffic_tells_what_it_measured_before_it_was_stopped() {
    // a look after 16,384 cycles of 64 terminals, and one at the end of each window
    let text = r#"
        topology = { kind = "mesh", dimensions = [8, 8], bandwidth = "16 GB/s", latency = "1 ns" }
        network = { kind = "flit", flit-bytes = "16 B" }
        traffic = { load = 0.2, measure = { warm-up = 40000, window = 20000, windows = 4, most-windows = 4 } }
        "#;
    let document = Document::parse("stop.toml", text).unwrap();
    let traffic = Traffic::new(&document, std::path::Path::new("")).unwrap();
    let run = |looks: u32| {
        let watch = After(looks, 0.into(), Vec::new().into());
        #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
        let result = traffic.run(&watch, None, Instant::now());
        (result, watch.2.into_inner().unwrap())
    };
    let (whole, stages) = run(u32::MAX);
    let whole = whole.unwrap();
    assert!(!whole.stopped && whole.checks.len() == 1);
    assert!(stages.windows(2).all(|pair| pair[0].cycle < pair[1].cycle));
    let phases: Vec<Phase> = stages.iter().map(|stage| stage.phase).collect();
    for phase in [Phase::WarmUp, Phase::Sample, Phase::Drain] {
        assert!(phases.contains(&phase), "{phase:?}");
    }
    let mut told = 0;
    for looks in 0..stages.len() as u32 {
        let (result, seen) = run(looks);
        assert_eq!(seen, stages[..looks as usize], "the same run so far");
        let cycle = seen.last().map_or(0, |stage| stage.cycle);
        match result {
            Err(error) => assert!(cycle < 80_000 && matches!(error, Error::Stopped), "{error}: {cycle}"),
            Ok(result) => {
                told += 1;
                assert!(result.stopped && result.checks.is_empty() && cycle >= 80_000);
                assert!(result.notes.iter().any(|note| note.starts_with("Stopped before the end")));
                let found = result.traffic.unwrap();
                let expected = whole.traffic.as_ref().unwrap();
                assert_eq!(found.sample_cycles, (cycle - 40_000).min(80_000));
                assert!((found.accepted_flits_per_cycle - 0.2).abs() < 0.01, "{found:?}");
                let latency = |it: &TrafficResult| it.packet_latency_cycles.mean.unwrap();
                assert!((latency(&found) / latency(expected) - 1.0).abs() < 0.02);
            }
        }
    }
    assert!(told > 2, "{told}");
}

/// One message for hours of simulation.
fn experiment(topology: &str, network: &str, workload: &str) -> String {
    format!("topology = {topology}\nworkload = {workload}\nnetwork = {network}\n")
}

const SWITCH: &str = r#"{ kind = "single-switch", nodes = 2, bandwidth = "80 Gbps", latency = "1 us" }"#;

/// A platform of two hosts on a link of 10 GB/s that has a tenth less in the second half of each period, in `folder`.
fn changing(folder: &std::path::Path, period: &str, half: &str) -> &'static str {
    let platform = r#"<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
        <platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
        <link id="l" bandwidth="10GBps" latency="1us" bandwidth_file="rate.txt"/>
        <route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>"#;
    std::fs::write(folder.join("platform.xml"), platform).unwrap();
    std::fs::write(folder.join("rate.txt"), format!("PERIODICITY {period}\n0 1e10\n{half} 9e9\n")).unwrap();
    r#"{ kind = "simgrid-xml", path = "platform.xml" }"#
}

/// Ten hours pass before the message: the changes until then are worked out without a look at each.
#[test]
fn rates_that_change_for_hours_cost_nothing_while_nobody_sends() {
    let folder = tempfile::tempdir().unwrap();
    let goal = "num_ranks 2\nrank 0 {\nc: calc 36000000000000\ns: send 1000000b to 1\ns requires c\n}\n\
                rank 1 {\nr: recv 1000000b from 0\n}\n";
    std::fs::write(folder.path().join("late.goal"), goal).unwrap();
    let schedule = r#"{ kind = "goal", file = "late.goal" }"#;
    let text = experiment(changing(folder.path(), "1e-6", "5e-7"), "\"flow\"", schedule);
    let result = crate::common::run_in(&text, folder.path());
    // half of the time at 9 GB/s; the latency counts 1 us
    let sent = 1e6 / 9.5e9;
    assert!((result.makespan_s - 36_000.0 - sent).abs() < 3e-6, "{} s", result.makespan_s);
}

/// Thousands of messages end at each of a few instants.
#[test]
fn collectives_in_lock_step_can_be_stopped() {
    for (network, nodes, bytes) in [
        (r#"{ kind = "message" }"#, 1500, "1 MB"),
        (r#"{ kind = "flow" }"#, 3000, "1 MB"),
        (r#"{ kind = "flow", shortcuts = { pipelines = false } }"#, 1000, "1 MB"),
        (r#"{ kind = "packet" }"#, 600, "1 MB"),
        // few messages, and many packets between two of them
        (r#"{ kind = "packet" }"#, 16, "300 MB"),
        (r#"{ kind = "flit" }"#, 200, "1 MB"),
    ] {
        let topology = SWITCH.replace("nodes = 2", &format!("nodes = {nodes}"));
        let workload = format!(
            r#"{{ kind = "collective", operation = "all-reduce", bytes = "{bytes}", algorithm = {{ kind = "ring" }} }}"#
        );
        let text = experiment(&topology, network, &workload);
        let document = Document::parse("stop.toml", &text).unwrap();
        let mut prepared = Prepared::new(&document, std::path::Path::new("")).unwrap();
        #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
        let result = prepared.run(&mut Impatient::default(), Instant::now()).unwrap();
        assert!(result.stopped, "{text}");
    }
}

/// Wants to stop from the first time on that a network looks up by itself, and not before something has ended.
#[derive(Default)]
struct Curt(bool);

impl Observer for Curt {
    fn interests(&self) -> Interests {
        Interests::default()
    }

    fn on_event(&mut self, event: &Event) {
        self.0 |= matches!(event, Event::Clock { .. });
    }

    fn wants_stop(&self) -> bool {
        self.0
    }
}

/// All messages begin at once: nothing ends before all their rates are known.
#[test]
fn a_solve_of_very_many_flows_can_be_stopped() {
    let topology = r#"{ kind = "mesh", dimensions = [14, 14], bandwidth = "10 GB/s", latency = "0 ns" }"#;
    let workload = r#"{ kind = "collective", operation = "all-to-all", bytes = "1 MB", algorithm = { kind = "direct" } }"#;
    let text = experiment(topology, r#""flow""#, workload);
    let result = crate::common::watch_in(&text, std::path::Path::new(""), &mut Curt::default());
    assert!(result.stopped && result.checks_hold(), "{:?}", result.checks);
    assert_eq!(result.counters["network.flows"], 196 * 195);
    assert_eq!(result.counters["network.rate_changes"], 0);
}

/// What messages have carried that have not arrived counts, in the account of links and for who watches them.
#[test]
fn flows_that_are_cut_off_have_carried_what_they_have() {
    let ring = r#"{ kind = "collective", operation = "all-reduce", bytes = "4 GB", iterations = 1000, algorithm = { kind = "ring" } }"#;
    let beside = r#"{ kind = "graph", iterations = 1000, vertices = [
        { name = "sum", kind = "communication", collective = "all-reduce", bytes = "4 GB", start = true },
        { name = "m", kind = "communication", source = 0, destination = 1, bytes = "900 GB", start = true },
    ], edges = [{ from = "sum", to = "sum", distance = 1 }] }"#;
    // each of the 50 hosts sends all the time but for latencies, at 10 GB/s; beside the message one of them sends at half that
    // rate, for which more and more of the others wait
    let shares = [(ring, 1.0), (beside, 25.5 / 50.0)];
    for ((workload, share), shortcut) in shares.into_iter().flat_map(|it| [(it, true), (it, false)]) {
        let network = format!(r#"{{ kind = "flow", shortcuts = {{ pipelines = {shortcut} }} }}"#);
        let topology = SWITCH.replace("nodes = 2", "nodes = 50");
        let text = experiment(&topology, &network, workload);
        let document = Document::parse("stop.toml", &text).unwrap();
        let mut prepared = Prepared::new(&document, std::path::Path::new("")).unwrap();
        let mut watch = Counting::default();
        #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
        let result = prepared.run(&mut watch, Instant::now()).unwrap();
        assert!(result.stopped && result.checks_hold(), "{:?} {text}", result.checks);
        let links = result.links.as_ref().expect("links");
        let carried: f64 = links.iter().map(|link| link.bytes).sum();
        assert!((carried - watch.carried).abs() < 1e-9 * carried, "{carried} {} {text}", watch.carried);
        // by two links
        let part = carried / (2.0 * 50.0 * 10e9 * result.makespan_s);
        assert!(part > 0.99 * share && part < 1.000_001, "{part}, {text}");
    }
}

#[test]
fn networks_in_which_nothing_ends_can_be_stopped() {
    let program = r#"{ kind = "graph", vertices = [{ name = "m", kind = "communication", source = 0, destination = 1, bytes = "900 GB" }] }"#;
    let folder = tempfile::tempdir().unwrap();
    let goal =
        "num_ranks 2\nrank 0 {\nl1: send 900000000000b to 1\n}\nrank 1 {\nl1: recv 900000000000b from 0\n}\n";
    std::fs::write(folder.path().join("m.goal"), goal).unwrap();
    let schedule = r#"{ kind = "goal", file = "m.goal" }"#;
    let changing = changing(folder.path(), "1e-9", "5e-10");
    for (topology, network) in [
        (SWITCH, r#"{ kind = "packet" }"#),
        (SWITCH, r#"{ kind = "packet", threads = 2 }"#),
        (SWITCH, r#"{ kind = "flit" }"#),
        (changing, r#"{ kind = "flow" }"#),
    ] {
        for workload in [program, schedule] {
            let text = experiment(topology, network, workload);
            let document = Document::parse("stop.toml", &text).unwrap();
            let mut prepared = Prepared::new(&document, folder.path()).unwrap();
            #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
            let result = prepared.run(&mut Impatient::default(), Instant::now()).unwrap();
            assert!(result.stopped, "{text}");
            assert!(result.notes.iter().any(|note| note.starts_with("Stopped before the end")), "{text}");
            assert!(result.checks_hold(), "{:?}", result.checks);
            // its links were busy until then, and the account says so
            assert!(result.makespan_s > 1e-6, "{text}");
            let links = result.links.as_ref().expect("links");
            let carried = links[0].bytes;
            assert!(
                carried > 0.5 * 10e9 * result.makespan_s,
                "{text}: {carried} bytes in {}",
                result.makespan_s
            );
            assert!(carried <= 10e9 * result.makespan_s * 1.001, "{text}");
        }
    }
}

/// Ranks that begin with a message to each other one are asked between them.
#[test]
fn a_run_ends_while_its_first_messages_are_sent() {
    let sent = |ranks: u32| {
        let text = format!(
            "topology = {{ kind = \"single-switch\", nodes = {ranks}, bandwidth = \"100 Gbps\", latency = \"1 us\" }}
             workload = {{ kind = \"collective\", operation = \"all-to-all\", bytes = \"1 MB\", algorithm = {{ kind = \"direct\" }} }}
             network = {{ kind = \"message\" }}"
        );
        let result = crate::common::watch_in(&text, std::path::Path::new(""), &mut Hasty);
        assert!(result.stopped && result.makespan_s == 0.0);
        result.counters["network.messages"]
    };
    assert_eq!((sent(256), sent(512)), (64 * 255, 64 * 511));
}

/// Messages end one after the other, long before there are enough of them that the engine asks.
#[test]
fn routers_whose_messages_end_all_the_time_can_be_stopped() {
    let topology = SWITCH.replace("nodes = 2", "nodes = 16");
    let workload =
        r#"{ kind = "traffic", flows = 2000, size = "64 kB", pattern = { kind = "uniform-random" } }"#;
    let text = experiment(&topology, r#"{ kind = "flit" }"#, workload);
    let result = crate::common::watch_in(&text, std::path::Path::new(""), &mut Impatient::default());
    assert!(result.stopped, "{} messages", result.counters["network.messages"]);
}

/// Wants to stop when it has seen so many tasks.
struct Sated(u64, u64);

impl Observer for Sated {
    fn interests(&self) -> Interests {
        Interests { tasks: true, ..Interests::default() }
    }

    fn on_event(&mut self, event: &Event) {
        self.0 += u64::from(matches!(event, Event::Task(_)));
    }

    fn wants_stop(&self) -> bool {
        self.0 >= self.1
    }
}

/// All jobs have ended when it is stopped, and none has run without the others.
#[test]
fn jobs_that_run_alone_can_be_stopped() {
    let job = |name: &str| {
        format!(
            "[[job]]\nname = \"{name}\"\nrepetitions = 100\n\
             workload = {{ kind = \"goal\", pattern = {{ kind = \"linear-alltoall\" }}, ranks = 8, bytes = \"8 kB\" }}\n"
        )
    };
    let topology = SWITCH.replace("nodes = 2", "nodes = 16");
    let text = format!("topology = {topology}\nnetwork = \"message\"\n{}{}", job("one"), job("other"));
    let run = |seen: u64| {
        let mut observer = Sated(0, seen);
        let result = crate::common::watch_in(&text, std::path::Path::new(""), &mut observer);
        (result, observer.0)
    };
    let (whole, tasks) = run(u64::MAX);
    assert!(!whole.stopped && whole.jobs.iter().all(|job| job.alone_s.is_some()));
    let (stopped, _) = run(tasks);
    assert!(stopped.stopped);
    assert_eq!((stopped.makespan_s, stopped.events), (whole.makespan_s, whole.events));
    assert!(stopped.jobs.iter().all(|job| job.alone_s.is_none()), "{:?}", stopped.jobs);
    assert!(stopped.notes.iter().any(|note| note.starts_with("Stopped before the end")));
}
