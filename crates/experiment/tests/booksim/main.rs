//! BookSim2's configurations: the simulator's own results, closed forms, and mistakes in files.

mod curves;
mod cycles;
mod mistakes;
mod networks;
mod reference;
mod routers;
mod runs;

use std::path::{Path, PathBuf};

use stratasim_experiment::booksim::Setup;

/// A reference file, or `None` with a word about it.
fn reference(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ref/flit").join(name);
    if !path.exists() {
        eprintln!("skipped: {} is not here", path.display());
        return None;
    }
    Some(path)
}

/// Histogram of packet latencies of a full mesh with some options.
fn packet_bins(options: &str) -> Vec<u64> {
    let text = format!(
        "topology = mesh; k = 4; n = 2; routing_function = min_adapt; num_vcs = 4; vc_buf_size = 4; packet_size = 5; \
         traffic = uniform; sim_type = throughput; sample_period = 1000; max_samples = 3; seed = 3; \
         injection_rate = 0.09; {options}"
    );
    let run = Setup::read(&text).unwrap_or_else(|error| panic!("{options}: {error}")).run().unwrap();
    assert_eq!(run.violations, Vec::<String>::new(), "{options}");
    run.outcome.counters[0].packet.bins.clone()
}

/// Every histogram and count of a run.
fn everything(text: &str) -> Vec<Vec<u64>> {
    let run = Setup::read(text).unwrap_or_else(|error| panic!("{text}: {error}")).run().unwrap();
    assert_eq!(run.violations, Vec::<String>::new(), "{text}");
    let outcome = run.outcome;
    let mut all = vec![vec![run.cycles, run.flit_hops, outcome.deadlock_warnings, outcome.sample_periods]];
    for counters in &outcome.counters {
        let samples =
            [&counters.packet, &counters.network, &counters.flit, &counters.fragmentation, &counters.hops];
        all.extend(samples.map(|samples| samples.bins.clone()));
        all.extend(
            [&counters.sent_flits, &counters.accepted_flits, &counters.accepted_packets].map(Clone::clone),
        );
    }
    all
}

const SMALL: &str =
    "topology = mesh; k = 4; n = 2; routing_function = dor; num_vcs = 2; sample_period = 200;";

/// The message about a configuration.
fn message(text: &str) -> String {
    Setup::read(text).err().map(|error| error.to_string()).unwrap_or_default()
}
