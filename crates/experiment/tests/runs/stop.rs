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
fn experiment(network: &str, workload: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "single-switch", nodes = 2, bandwidth = "80 Gbps", latency = "1 us" }}
        workload = {workload}
        network = {network}
        "#
    )
}

#[test]
fn networks_in_which_nothing_ends_can_be_stopped() {
    let program = r#"{ kind = "graph", vertices = [{ name = "m", kind = "communication", source = 0, destination = 1, bytes = "900 GB" }] }"#;
    let folder = tempfile::tempdir().unwrap();
    let goal =
        "num_ranks 2\nrank 0 {\nl1: send 900000000000b to 1\n}\nrank 1 {\nl1: recv 900000000000b from 0\n}\n";
    std::fs::write(folder.path().join("m.goal"), goal).unwrap();
    let schedule = r#"{ kind = "goal", file = "m.goal" }"#;
    for network in [r#"{ kind = "packet" }"#, r#"{ kind = "packet", threads = 2 }"#, r#"{ kind = "flit" }"#] {
        for workload in [program, schedule] {
            let text = experiment(network, workload);
            let document = Document::parse("stop.toml", &text).unwrap();
            let mut prepared = Prepared::new(&document, folder.path()).unwrap();
            #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
            let result = prepared.run(&mut Impatient::default(), Instant::now()).unwrap();
            assert!(result.stopped, "{text}");
            assert!(result.notes.iter().any(|note| note.starts_with("Stopped before the end")), "{text}");
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
            assert!(result.checks_hold(), "{:?}", result.checks);
        }
    }
}
