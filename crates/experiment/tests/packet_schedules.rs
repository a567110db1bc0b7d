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
    // receiver-driven, which has no window that the reference gets wrong
    let filter = vec!["goal_pairwise_a2a16_1MB_ls16_1os_atlahs_ndp".to_owned()];
    let reports = run(&[folder], &Selection { filter, quick: false }, &mut |_| {}).unwrap();
    assert_eq!(reports.len(), 1);
    for report in reports {
        assert_eq!(report.what, "schedule");
        assert!(report.ok && report.compared >= 3, "{}: {}", report.name, report.place);
    }
}
