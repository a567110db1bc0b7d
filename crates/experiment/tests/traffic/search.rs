//! `load = "saturation"`: a run, and every point of a sweep, looks for its own saturation load. And loads of a curve.

use std::path::Path;

use stratasim_experiment::sweep::RunOptions;
use stratasim_experiment::traffic::{Curve, statistics};
use stratasim_experiment::{Document, Error, Sweep, Traffic};
use stratasim_report::result::RunResult;

use super::{MESH, experiment, prepare, run};

const NUMBER: &str = "saturation_load_flits_per_cycle";

fn traffic(more: &str) -> String {
    experiment(
        "[topology]\nkind = \"mesh\"\ndimensions = [4, 4]",
        &format!("flits = 2\nmeasure = {{ window = 200 }}\n{more}"),
    )
}

/// What `stratasim traffic --saturation` finds for the same experiment with a load in figures.
fn by_curve(text: &str, precision: f64) -> Curve {
    let subject = prepare(text).unwrap();
    let mut curve = Curve::run(&subject, &[], 1, Some(1), &()).unwrap();
    curve.find_saturation(&subject, precision, 1, Some(1), &()).unwrap();
    curve
}

#[test]
fn a_run_finds_what_a_curve_finds() {
    let curve = by_curve(&traffic(""), 0.05);
    let (low, high) = curve.saturation.unwrap();
    let text = traffic("load = \"saturation\"\nsaturation-precision = 0.05");
    let result = run(&text);
    let found = statistics(&result).saturation.unwrap();
    assert_eq!((found.carried_flits_per_cycle, found.beyond_flits_per_cycle), (low, Some(high)));
    assert!(found.known && found.loads == curve.points.len() as u64, "{found:?}");
    assert_eq!(statistics(&result).number(NUMBER), Some(low));
    // all other numbers are those of the run at that load
    let at = curve.points.iter().find(|point| point.load == low).unwrap();
    let mut own = statistics(&result).clone();
    own.saturation = None;
    assert_eq!((&own, &result.digest), (statistics(&at.results[0]), &at.results[0].digest));
    assert!(result.notes[0].contains(&curve.finding()), "{:?}", result.notes);
    // the spec is the one that asked, and is read again
    assert_eq!(result.spec["traffic"]["load"], "saturation");
    let again = RunResult::from_json(&result.to_json()).unwrap();
    assert_eq!(again.traffic, result.traffic);
    // without a precision it is that of the command
    let usual = prepare(&traffic("load = \"saturation\"")).unwrap().spec.traffic.unwrap();
    assert_eq!(usual.searched(), Some(0.01));
}

/// A ring of one virtual channel, on which packets come to wait for each other in a circle.
const RING: &str = "[topology]\nkind = \"ring\"\nnodes = 6\nbandwidth = \"32 GB/s\"\nlatency = \"2 ns\"\n\
    [network]\nkind = \"flit\"\ndeadlock-check = false\nflit-bytes = \"32 B\"\n\
    router = { virtual-channels = 1, buffer-flits = 2 }\nrouting = { kind = \"shortest-path\", layers = 1 }\n\
    [traffic]\nload = 0.02\nflits = 8\n";

#[test]
fn a_load_at_which_the_network_stands_still_is_named_and_the_others_are_there() {
    let subject = prepare(RING).unwrap();
    let mut curve = Curve::run(&subject, &[0.02, 0.6, 0.05, 0.7], 2, Some(2), &()).unwrap();
    assert_eq!(
        curve.points.iter().map(|point| (point.load, point.results.len())).collect::<Vec<_>>(),
        [(0.02, 2), (0.05, 2)]
    );
    assert_eq!(curve.left, 0);
    let told: Vec<String> = curve.failures.iter().map(Error::to_string).collect();
    for (told, run) in told.iter().zip(["0.6, seed 1", "0.6, seed 2", "0.7, seed 1", "0.7, seed 2"]) {
        assert!(told.starts_with(&format!("load {run}: the network stands still")), "{told}");
    }
    assert!(told.len() == 4 && curve.failures.iter().all(|failure| failure.exit_code() == 3), "{told:?}");
    let read: serde_json::Value = serde_json::from_str(&curve.json()).unwrap();
    assert_eq!(read["failures"].as_array().unwrap().len(), 4);
    assert!(curve.page().html().contains("load 0.6, seed 1: the network stands still"));
    // a search ends there, and found nothing
    curve.find_saturation(&subject, 0.1, 2, Some(2), &()).unwrap();
    assert_eq!((curve.saturation, curve.not_known, curve.points.len()), (None, None, 2));
    let search = prepare(&RING.replace("0.02", "\"saturation\"")).unwrap();
    #[allow(clippy::disallowed_methods, reason = "the wall time of the result")]
    let error = search.run(&|| false, None, std::time::Instant::now()).unwrap_err();
    assert!(error.to_string().contains(": the network stands still"), "{error}");
}

#[test]
fn every_point_of_a_sweep_has_its_own_saturation_load() {
    let sweep = "[sweep]\nproduct = { \"network.router.virtual-channels\" = [1, 4], \"traffic.pattern.kind\" = [\"uniform-random\", \"tornado\"] }\n\
                 metrics = [\"saturation_load_flits_per_cycle\", \"packet_latency_cycles\"]\n\
                 [[sweep.plot]]\nx = \"network.router.virtual-channels\"\ny = \"saturation_load_flits_per_cycle\"\n";
    let text = traffic("load = \"saturation\"\nsaturation-precision = 0.1");
    let document = Document::from_toml("sweep.toml", &format!("{text}\n{sweep}")).unwrap();
    let sweep = Sweep::new(document, Path::new("")).unwrap();
    let out = tempfile::tempdir().unwrap();
    let finished = sweep.run(out.path(), &RunOptions::default(), &()).unwrap();
    assert_eq!((finished.rows.len(), finished.failures.len()), (4, 0), "{:?}", finished.failures);
    let mut expected = Vec::new();
    for vcs in [1, 4] {
        for pattern in ["uniform-random", "tornado"] {
            let text = traffic(&format!("pattern = {{ kind = \"{pattern}\" }}"));
            let text = text.replace("virtual-channels = 4", &format!("virtual-channels = {vcs}"));
            let curve = by_curve(&text, 0.1);
            // where nothing saturates it is the most that was carried, and where that is not known there is none
            let carried = curve.saturation.map(|(low, _)| low);
            let most = || curve.points.last().filter(|_| curve.not_known.is_none()).map(|point| point.load);
            expected.push(carried.or_else(most));
        }
    }
    let found: Vec<Option<f64>> = finished.rows.iter().map(|row| row.numbers.get(NUMBER).copied()).collect();
    assert_eq!(found, expected);
    let differ = expected.iter().flatten().any(|load| Some(*load) != expected[0]);
    assert!(differ, "they are all alike: {expected:?}");
    assert_eq!(sweep.pictures(&finished.rows).len(), 1);
    let written = sweep.write(out.path(), &finished).unwrap();
    assert!(written[0].exists());
    let table = std::fs::read_to_string(out.path().join("table.csv")).unwrap();
    assert!(table.lines().next().unwrap().ends_with("saturation load"), "{table}");
    // results that are there are kept
    let again = sweep.run(out.path(), &RunOptions::default(), &()).unwrap();
    assert_eq!((again.ran, again.rows), (0, finished.rows));
}

#[test]
fn where_nothing_saturates_the_number_is_the_most_that_was_carried() {
    let machine = "[topology]\nkind = \"single-switch\"\nnodes = 4";
    let text = experiment(
        machine,
        "pattern = { kind = \"shift\" }\nload = \"saturation\"\nmeasure = { window = 200 }",
    );
    let result = run(&text);
    let found = statistics(&result).saturation.unwrap();
    assert_eq!((found.carried_flits_per_cycle, found.beyond_flits_per_cycle), (1.0, None));
    assert!(result.notes[0].contains("not saturated at one flit per cycle"), "{:?}", result.notes);
}

#[test]
fn a_search_that_is_stopped_says_nothing() {
    let traffic = prepare(&traffic("load = \"saturation\"")).unwrap();
    #[allow(clippy::disallowed_methods, reason = "the wall time of the result")]
    let stopped = traffic.run(&|| true, None, std::time::Instant::now());
    assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
}

#[test]
fn searches_that_find_nothing_are_refused() {
    for (more, words) in [
        ("load = \"saturated\"", "traffic.load"),
        ("saturation-precision = 0.1", "traffic.saturation-precision: only `load = \"saturation\"`"),
        (
            "load = \"saturation\"\nsaturation-precision = 0",
            "traffic.saturation-precision: 0; 0.000001 to 0.5",
        ),
        ("load = \"saturation\"\nbatch = { packets = 3 }", "traffic.load: a batch has no load"),
        ("load = \"saturation\"\n[[traffic.class]]\nload = 0.1", "every class has a `load` of its own"),
        (
            "[[traffic.class]]\nload = \"saturation\"",
            "is looked for with all classes together, as `traffic.load`",
        ),
    ] {
        let error = prepare(&experiment(MESH, more)).err().unwrap_or_else(|| panic!("{more} was taken"));
        assert!(error.contains(words), "{error}");
    }
}

/// Two classes from one terminal, of which one leaves the other a twentieth: the first load that is tried cannot be made.
#[test]
fn loads_that_cannot_be_made_are_no_end_of_the_search() {
    let classes = |own: &str| {
        experiment(
            "[topology]\nkind = \"mesh\"\ndimensions = [4, 4]",
            &format!(
                "load = \"saturation\"\nsaturation-precision = 0.01\nmeasure = {{ window = 200 }}\n\
                 class = [{{ pattern = {{ kind = \"list\", pairs = [[0, 8]] }} }}, \
                 {{ load = {own}, pattern = {{ kind = \"list\", pairs = [[0, 7]] }} }}]"
            ),
        )
    };
    let result = run(&classes("0.95"));
    let found = statistics(&result).saturation.unwrap();
    // both together are at most what a terminal makes
    assert!(found.carried_flits_per_cycle <= 0.05 && found.loads > 0, "{found:?}");
    let error = prepare(&classes("0.995")).err().unwrap().to_string();
    assert!(error.contains("the classes make 1.005 flits per cycle"), "{error}");
}

/// Every network carries nothing, and one that starts there goes on from there.
#[test]
fn a_search_may_begin_at_a_load_of_nothing() {
    let subject = prepare(&traffic("")).unwrap();
    let mut curve = Curve::run(&subject, &[0.0, 0.4], 1, Some(1), &()).unwrap();
    assert!(statistics(&curve.points[0].results[0]).verdict.contains("with a load of 0"));
    curve.find_saturation(&subject, 0.1, 1, Some(1), &()).unwrap();
    let (low, high) = curve.saturation.expect("it is found");
    assert!(low >= 0.4 && high > low, "{low} {high}");
}

/// What is found is the part that changes, and so are the load that is named and the one that the numbers are of.
#[test]
fn the_load_that_is_found_is_beside_that_of_classes_with_their_own() {
    let text = traffic(
        "load = \"saturation\"\nsaturation-precision = 0.1\nclass = [{ name = \"a\", load = 0.3 }, { name = \"b\" }]",
    );
    let result = run(&text);
    let found = statistics(&result).saturation.unwrap();
    let note = &result.notes[0];
    assert!(note.contains("beside the 0.3 of classes with a load of their own"), "{note}");
    assert!(
        note.ends_with(&format!("numbers are those of load {}.", found.carried_flits_per_cycle)),
        "{note}"
    );
    let of_all = statistics(&result).load_flits_per_cycle;
    assert!((of_all - found.carried_flits_per_cycle - 0.3).abs() < 1e-9, "{of_all}");
}

/// Sources that cannot make as little as the precision are found to saturate as `traffic --saturation` finds it.
#[test]
fn sources_that_make_no_small_loads_are_searched_from_the_first_one() {
    let bursts = "injection = { kind = \"on-off\", alpha = 0.05, r1 = 1.0 }\n";
    let (low, _) = by_curve(&traffic(bursts), 0.1).saturation.expect("it is found");
    let result = run(&traffic(&format!("{bursts}load = \"saturation\"\nsaturation-precision = 0.01")));
    let found = statistics(&result).saturation.unwrap().carried_flits_per_cycle;
    assert!((found - low).abs() <= 0.1, "{found} {low}");
}

/// The load of a file that is not run may be one that its sources cannot make.
#[test]
fn loads_of_the_command_are_run_whatever_the_file_says() {
    let text =
        experiment(MESH, "injection = { kind = \"on-off\", beta = 0.05, r1 = 0.06 }\nto-self = true\n");
    assert!(
        prepare(&text)
            .err()
            .unwrap()
            .contains("0.1 packets per cycle are expected of sources that make 0.06")
    );
    let document = Document::from_toml("test.toml", &text).unwrap();
    let traffic = Traffic::for_loads(&document, Path::new("")).unwrap();
    let same = prepare(&text.replace("[traffic]", "[traffic]\nload = 0.05")).unwrap();
    let run = |subject: &Traffic| Curve::run(subject, &[0.05], 1, Some(1), &()).unwrap().json();
    assert_eq!(run(&traffic), run(&same));
    let told = Curve::run(&traffic, &[0.1], 1, Some(1), &()).unwrap_err().to_string();
    assert!(told.starts_with("load 0.1: traffic.injection"), "{told}");
}

/// Open-loop traffic needs no word on the network: there is one level that it runs on.
#[test]
fn traffic_runs_at_flit_level_where_nothing_is_said() {
    let bare = "[topology]\nkind = \"mesh\"\ndimensions = [2, 2]\nbandwidth = \"100 Gbps\"\nlatency = \"5 ns\"\n[traffic]\n";
    let with = |more: &str| prepare(&format!("{bare}{more}")).unwrap().spec;
    assert_eq!(with("").network, with("[network]\nkind = \"flit\"\n").network);
    let mut document = Document::from_toml("test.toml", bare).unwrap();
    document.set("network.router.virtual-channels=2").unwrap();
    let two = Traffic::new(&document, Path::new("")).unwrap().spec;
    assert_eq!(
        two.network,
        with("[network.router]\nvirtual-channels = 2\n[network]\nkind = \"flit\"\n").network
    );
}
