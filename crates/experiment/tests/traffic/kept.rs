//! Curves that go on where they were left.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use stratasim_experiment::booksim::Experiment;
use stratasim_experiment::traffic::{Curve, Kept, Progress, Subject};
use stratasim_experiment::{Document, Traffic};

/// A mesh of 16 terminals with settings of its traffic.
fn subject(settings: &str) -> Traffic {
    let text = format!(
        "[topology]\nkind = \"mesh\"\ndimensions = [4, 4]\nbandwidth = \"32 GB/s\"\nlatency = \"1 ns\"\n\
         [network]\nkind = \"flit\"\nflit-bytes = \"32 B\"\n[traffic]\nmeasure = {{ window = 100 }}\n{settings}\n"
    );
    Traffic::new(&Document::from_toml("test", &text).unwrap(), Path::new("")).unwrap()
}

/// A curve with its points in `out`, and how many results were there.
fn curve(subject: &impl Subject, loads: &[f64], out: &Path, force: bool) -> (Curve, usize) {
    let kept = Kept::new(subject, out, force).unwrap();
    let curve = Curve::run(&kept, loads, 2, Some(2), &()).unwrap();
    (curve, kept.found())
}

#[test]
fn finished_points_are_taken_up_and_give_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    let mesh = subject("flits = 3");
    assert_eq!(curve(&mesh, &[0.1, 0.2], folder.path(), false).1, 0);
    let (again, found) = curve(&mesh, &[0.1, 0.2, 0.3], folder.path(), false);
    assert_eq!(found, 4, "two loads of two seeds");
    let fresh = Curve::run(&mesh, &[0.1, 0.2, 0.3], 2, Some(1), &()).unwrap();
    assert_eq!(again.json(), fresh.json());
    assert_eq!(curve(&mesh, &[0.3], folder.path(), false).1, 2);
    assert_eq!(curve(&mesh, &[0.3], folder.path(), true).1, 0, "force runs all again");
}

#[test]
fn a_changed_experiment_takes_up_nothing() {
    let folder = tempfile::tempdir().unwrap();
    curve(&subject("flits = 3"), &[0.1], folder.path(), false);
    for other in ["flits = 4", "pattern = { kind = \"transpose\" }\nflits = 3", "flits = 3\nto-self = true"] {
        assert_eq!(curve(&subject(other), &[0.1], folder.path(), false).1, 0, "{other}");
    }
    assert_eq!(curve(&subject("flits = 3"), &[0.1], folder.path(), false).1, 2);
    assert_eq!(curve(&subject("flits = 3"), &[0.1000001], folder.path(), false).1, 0);
}

#[test]
fn what_is_damaged_or_of_another_version_is_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let mesh = subject("flits = 2");
    let (first, _) = curve(&mesh, &[0.2], folder.path(), false);
    let mut files: Vec<_> =
        std::fs::read_dir(folder.path().join("points")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 2);
    let text = std::fs::read_to_string(&files[0]).unwrap();
    std::fs::write(&files[0], &text[..text.len() / 2]).unwrap();
    let text = std::fs::read_to_string(&files[1]).unwrap();
    let version = format!("\"stratasim\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version));
    std::fs::write(&files[1], text.replace(&version, "\"stratasim\": \"0.0.1\"")).unwrap();
    let (again, found) = curve(&mesh, &[0.2], folder.path(), false);
    assert_eq!(found, 0);
    assert_eq!(again.json(), first.json());
    assert_eq!(curve(&mesh, &[0.2], folder.path(), false).1, 2);
}

/// Wants to stop after so many runs.
struct After(AtomicUsize, usize);

impl Progress for After {
    fn done(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn wants_stop(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= self.1
    }
}

#[test]
fn a_curve_that_was_stopped_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mesh = subject("");
    let loads = [0.05, 0.1, 0.15, 0.2];
    let kept = Kept::new(&mesh, folder.path(), false).unwrap();
    let stopped = Curve::run(&kept, &loads, 1, Some(1), &After(AtomicUsize::new(0), 2)).unwrap();
    assert_eq!((stopped.points.len(), stopped.left), (2, 2));
    let kept = Kept::new(&mesh, folder.path(), false).unwrap();
    let whole = Curve::run(&kept, &loads, 1, Some(1), &()).unwrap();
    assert_eq!((whole.points.len(), whole.left, kept.found()), (4, 0, 2));
}

#[test]
fn the_search_for_saturation_is_taken_up() {
    let folder = tempfile::tempdir().unwrap();
    let mesh = subject("");
    let find = || {
        let kept = Kept::new(&mesh, folder.path(), false).unwrap();
        let mut curve = Curve::run(&kept, &[], 1, Some(2), &()).unwrap();
        curve.find_saturation(&kept, 0.1, 1, Some(2), &()).unwrap();
        (curve.saturation, curve.points.len(), kept.found())
    };
    let (first, points, found) = find();
    assert!(first.is_some() && found == 0);
    assert_eq!(find(), (first, points, points));
}

#[test]
fn points_by_booksims_rules_are_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mesh.cfg");
    let write = |vcs: u32| {
        let text = format!(
            "topology = mesh; k = 4; n = 2; routing_function = dor; num_vcs = {vcs}; sample_period = 200;\n\
             injection_rate = 0.1;\n"
        );
        std::fs::write(&file, text).unwrap();
        Experiment::from_file(&file, &[]).unwrap()
    };
    let two = write(2);
    let (first, found) = curve(&two, &[0.1, 0.2], folder.path(), false);
    assert_eq!(found, 0);
    let (again, found) = curve(&two, &[0.1, 0.2], folder.path(), false);
    assert_eq!((again.json(), found), (first.json(), 4));
    assert_eq!(curve(&write(3), &[0.1], folder.path(), false).1, 0);
    // another network file is another experiment
    let net = folder.path().join("net");
    let any = |text: &str| {
        std::fs::write(&net, text).unwrap();
        let text = "topology = anynet; routing_function = min; network_file = net; sample_period = 200;";
        std::fs::write(&file, text).unwrap();
        curve(&Experiment::from_file(&file, &[]).unwrap(), &[0.1], folder.path(), false).1
    };
    assert_eq!(any("router 0 node 0 router 1\nrouter 1 node 1\n"), 0);
    assert_eq!(any("router 0 node 0 router 1\nrouter 1 node 1\n"), 2);
    assert_eq!(any("router 0 node 0 router 1 4\nrouter 1 node 1\n"), 0);
}
