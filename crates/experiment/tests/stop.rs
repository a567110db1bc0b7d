//! Runs that somebody stops: they end soon, and tell what was done until then.

use std::time::Instant;

use stratasim_core::observe::{Event, Interests, Observer};
use stratasim_experiment::{Document, Prepared};

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
