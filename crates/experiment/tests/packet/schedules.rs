//! Schedules at packet level against htsim's: messages at recorded starts, and whole runs. Skipped where the reference is missing.

use std::path::Path;

use stratasim_experiment::conformance::packet::{Selection, run};

#[test]
fn schedules_take_as_long_as_with_the_reference() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ref/packet");
    if !folder.exists() {
        eprintln!("skipped: no {}", folder.display());
        return;
    }
    // one driven by receivers, and one whose windows count the wait in the hosts' own queues
    let filter = ["pairwise_a2a16_1MB_ls16_1os_atlahs_ndp", "ring16_16MB_ls16_4os_atlahs_swift"];
    let filter = filter.map(|name| format!("goal_{name}")).to_vec();
    let reports = run(&[folder], &Selection { filter, ..Selection::default() }, &mut |_| {}).unwrap();
    assert_eq!(reports.len(), 2);
    for report in reports {
        assert_eq!(report.what, "schedule");
        assert!(report.ok && report.compared >= 3, "{}: {}", report.name, report.place);
    }
}
