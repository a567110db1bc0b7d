//! Sweeps: which points there are, what is wrong with a section, and that nothing but the settings
//! decides the results.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use stratasim_experiment::sweep::{Finished, Outcome, Point, RunOptions, Watch};
use stratasim_experiment::{Document, Sweep};

const BASE: &str = r#"
name = "all-reduce"

[topology]
kind = "ring"
nodes = 4
bandwidth = "10 GB/s"
latency = "1 us"

[workload]
kind = "collective"
operation = "all-reduce"
bytes = "1 MB"
"#;

const SECTION: &str = r#"
[sweep]
product = { "topology.nodes" = [4, 8], "workload.bytes" = ["1 MB", "2 MB", "4 MB"] }

[[sweep.case]]
name = "ring"
set = { "workload.algorithm.kind" = "ring" }

[[sweep.case]]
name = "direct"
set = { "workload.algorithm.kind" = "direct" }

[[sweep.plot]]
title = "Time over size"
x = "workload.bytes"
y = "makespan_s"
log-x = true

[[sweep.plot]]
name = "gain"
x = "case"
y = "makespan_s"
relative-to = { case = "ring" }

[[sweep.reference]]
at = { case = "ring", "topology.nodes" = 4, "workload.bytes" = "2 MB" }
metric = "makespan_s"
value = 300e-6
source = "a book"
"#;

fn read(section: &str) -> Result<Sweep, stratasim_experiment::ConfigError> {
    let text = format!("{BASE}{section}");
    Document::from_toml("sweep.toml", &text).and_then(|document| Sweep::new(document, Path::new("")))
}

fn run(sweep: &Sweep, out: &Path, options: &RunOptions) -> Finished {
    let finished = sweep.run(out, options, &()).unwrap();
    for failure in &finished.failures {
        eprintln!(
            "{}: {}",
            failure.settings,
            failure.error.render(false, stratasim_experiment::Error::WIDTH)
        );
    }
    finished
}

fn threads(count: usize) -> RunOptions {
    RunOptions { threads: Some(count), ..RunOptions::default() }
}

#[test]
fn points_are_all_combinations_and_the_last_key_varies_fastest() {
    let sweep = read(SECTION).unwrap();
    let words: Vec<String> = sweep.points().iter().map(|point| sweep.describe(point)).collect();
    assert_eq!(words.len(), 2 * 2 * 3);
    assert_eq!(words[0], "ring, nodes 4, bytes 1 MB");
    assert_eq!(words[1], "ring, nodes 4, bytes 2 MB");
    assert_eq!(words[3], "ring, nodes 8, bytes 1 MB");
    assert_eq!(words[11], "direct, nodes 8, bytes 4 MB");
    for point in sweep.points() {
        assert_eq!(point.spec["workload"]["algorithm"]["kind"], point.settings[0]);
        assert_eq!(point.spec["topology"]["nodes"], point.settings[1]);
        assert_eq!(point.spec["workload"]["bytes"], point.settings[2]);
        assert!(point.spec.get("sweep").is_none());
    }
    let mut digests: Vec<&str> = sweep.points().iter().map(|point| point.digest.as_str()).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 12);
}

#[test]
fn zipped_lists_change_together() {
    let sweep =
        read("[sweep]\nzip = { \"topology.nodes\" = [4, 8], \"workload.bytes\" = [\"1 MB\", \"2 MB\"] }")
            .unwrap();
    let words: Vec<String> = sweep.points().iter().map(|point| sweep.describe(point)).collect();
    assert_eq!(words, ["nodes 4, bytes 1 MB", "nodes 8, bytes 2 MB"]);
}

/// The message, and the text at its place.
fn failure(section: &str) -> (String, String) {
    let error = read(section).expect_err(section);
    let (_, line, column) = error.position().unwrap_or_else(|| panic!("{error} has no place"));
    let text = format!("{BASE}{section}");
    let at = text.lines().nth(line - 1).unwrap().get(column - 1..).unwrap().to_owned();
    (error.to_string(), at)
}

#[test]
fn what_is_wrong_with_a_section_is_said_with_its_place() {
    let cases = [
        (
            "[sweep]\nproduct = { \"topology.knots\" = [4, 8] }",
            "topology.knots: unknown key `knots`",
            "4, 8] }",
        ),
        (
            "[sweep]\nproduct = { \"workload.bytes\" = [\"1 MB\", \"2\"] }",
            "workload.bytes: `2` is not an amount of data; write it like `64 MiB`; the unit is missing",
            "\"2\"] }",
        ),
        (
            "[sweep]\nzip = { seed = [1, 2], \"topology.nodes\" = [4, 8, 16] }",
            "sweep.zip: `seed` has 2 values and `topology.nodes` 3",
            "[4, 8, 16] }",
        ),
        ("[sweep]\nproduct = { seed = [] }", "sweep.product: the list of `seed` is empty", "[] }"),
        ("[sweep]\ntitle = \"x\"", "sweep: nothing varies", "[sweep]"),
        ("[sweep]\nproducts = { seed = [1] }", "unknown key `products`, did you mean `product`?", "products"),
        (
            "[sweep]\nproduct = { \"seed.of.time\" = [1] }\nzip = { seed = [3] }",
            "leads through something that is not a table",
            "1] }",
        ),
        (
            "[sweep]\nproduct = { seed = [1] }\n[[sweep.plot]]\nx = \"sed\"\ny = \"step_s\"",
            "sweep.plot.0.x: `sed` does not vary, did you mean `seed`?",
            "\"sed\"",
        ),
        (
            "[sweep]\nproduct = { seed = [1] }\n[[sweep.plot]]\nx = \"seed\"\ny = \"steps\"",
            "a result has no number `steps`, did you mean `step_s`?",
            "\"steps\"",
        ),
        (
            "[sweep]\nproduct = { seed = [1] }\n[[sweep.reference]]\nat = { seed = 2 }\nmetric = \"step_s\"\nvalue = 1\nsource = \"x\"",
            "sweep.reference.0.at: no point has these settings",
            "{ seed = 2 }",
        ),
        (
            "[sweep]\n[[sweep.case]]\nname = \"a\"\n[[sweep.case]]\nname = \"a\"",
            "two cases are called `a`",
            "\"a\"",
        ),
        (
            "[sweep]\nproduct = { seed = [1] }\nplot = [{ x = \"seed\", y = \"step_s\", name = \"a b\" }, { x = \"seed\", y = \"idle_s\", name = \"A-b\" }]",
            "sweep.plot.1.name: two plots are called `A-b`; give each a `name` of its own",
            "\"A-b\"",
        ),
        (
            "[sweep]\nproduct = { seed = [1] }\nplot = [{ x = \"seed\", y = \"step_s\", title = \"a\" }, { x = \"seed\", y = \"idle_s\", title = \"a\" }]",
            "sweep.plot.1: two plots are called `a`",
            "{ x = \"seed\", y = \"idle_s\"",
        ),
        (
            "[sweep]\nproduct = { seed = [1] }\nzip = { seed = [1] }",
            "`seed` is in `zip` and in `product`",
            "[1] }",
        ),
        (
            "[sweep]\nproduct = { \"workload.bytes\" = [1], workload = [{}] }",
            "sweep.product: `workload` replaces `workload.bytes` of `product`, whose values would have no effect; write it before that",
            "[{}] }",
        ),
        (
            "[sweep]\nproduct = { workload = [{}] }\nzip = { \"workload.bytes\" = [1] }",
            "sweep.product: `workload` replaces `workload.bytes` of `zip`, whose values would have no effect",
            "[{}] }",
        ),
        (
            "[sweep]\nproduct = { workload = [{}] }\n[[sweep.case]]\nname = \"a\"\nset = { \"workload.bytes\" = \"1 B\" }",
            "sweep.product: `workload` is set by case `a`, too, which would have no effect",
            "[{}] }",
        ),
    ];
    for (section, message, place) in cases {
        let (found, at) = failure(section);
        assert!(found.contains(message), "{section}\n  gives: {found}");
        assert!(at.starts_with(place), "{section}\n  points at: {at}");
    }
}

#[test]
fn settings_of_the_command_that_the_sweep_replaces_are_refused() {
    let build = |set: &str| {
        let text = format!("{BASE}{}", "[sweep]\nproduct = { \"topology.nodes\" = [4, 8], workload = [{}] }");
        let mut document = Document::parse("sweep.toml", &text).unwrap();
        document.set(set).unwrap();
        Sweep::new(document, Path::new("")).err().map(|error| error.to_string()).unwrap_or_default()
    };
    for (set, path) in [("topology.nodes = 3", "topology.nodes"), ("workload.bytes=\"2 MB\"", "workload")] {
        let said = build(set);
        assert!(
            said.contains(&format!("`{path}` varies, so that the setting `{set}` would have no effect")),
            "{said}"
        );
    }
    assert!(!build("topology.latency=\"2 us\"").contains("no effect"));
}

#[test]
fn a_sweep_of_more_points_than_anyone_runs_is_refused_before_it_takes_memory() {
    let list: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
    let list = list.join(",");
    let section = format!(
        "[sweep]\nproduct = {{ seed = [{list}], \"topology.nodes\" = [{list}], \"a.b\" = [{list}], c = [{list}] }}"
    );
    let (message, _) = failure(&section);
    assert!(message.contains("1 x 1 x 1000 x 1000 x 1000 x 1000 points"), "{message}");
}

#[test]
fn a_document_without_the_section_is_told_so() {
    let error = read("").unwrap_err();
    assert!(error.to_string().contains("no section `[sweep]`"), "{error}");
}

#[test]
fn results_do_not_depend_on_threads_shards_or_interruptions() {
    let sweep = read(SECTION).unwrap();
    let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let whole = run(&sweep, folders[0].path(), &threads(1));
    assert_eq!((whole.rows.len(), whole.ran, whole.left), (12, 12, 0));
    let parallel = run(&sweep, folders[1].path(), &threads(4));
    assert_eq!(whole.rows, parallel.rows);

    let shard = |part| RunOptions { shard: Some((part, 3)), ..threads(2) };
    let first = run(&sweep, folders[2].path(), &shard(1));
    assert_eq!((first.rows.len(), first.ran, first.left), (4, 4, 8));
    run(&sweep, folders[2].path(), &shard(3));
    let last = run(&sweep, folders[2].path(), &shard(2));
    assert_eq!((last.ran, last.left), (4, 0));
    assert_eq!(whole.rows, last.rows);

    let files = |at: usize| {
        let out = folders[at].path();
        sweep.write(out, &whole).unwrap();
        ["index.html", "README.md", "table.csv", "results.json", "gain.png", "time-over-size.svg"]
            .map(|name| std::fs::read(out.join(name)).unwrap())
    };
    assert_eq!(files(0), files(1));
}

#[test]
fn finished_points_are_kept_unless_they_are_broken_or_forced() {
    let sweep = read(SECTION).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    run(&sweep, out, &threads(2));
    assert_eq!(run(&sweep, out, &threads(2)).ran, 0);
    // cut short, of another experiment, of another version
    let path = |at: usize| sweep.result_path(out, &sweep.points()[at]);
    let text = std::fs::read_to_string(path(0)).unwrap();
    std::fs::write(path(0), &text[..text.len() / 2]).unwrap();
    std::fs::copy(path(2), path(1)).unwrap();
    let old = std::fs::read_to_string(path(3)).unwrap().replacen(env!("CARGO_PKG_VERSION"), "0.0.0", 1);
    std::fs::write(path(3), old).unwrap();
    let again = run(&sweep, out, &threads(2));
    assert_eq!((again.ran, again.rows.len()), (3, 12));
    assert_eq!(run(&sweep, out, &RunOptions { force: true, ..threads(2) }).ran, 12);
}

#[test]
fn a_point_that_fails_is_reported_and_loses_no_other() {
    // a ring has two nodes or more
    let sweep = read("[sweep]\nproduct = { \"topology.nodes\" = [4, 0, 8] }").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let finished = run(&sweep, folder.path(), &threads(2));
    assert_eq!((finished.rows.len(), finished.failures.len(), finished.left), (2, 1, 0));
    let failure = &finished.failures[0];
    assert_eq!((failure.index, failure.settings.as_str()), (1, "nodes 0"));
    assert_eq!(failure.error.exit_code(), 2);
    let message = failure.error.render(false, stratasim_experiment::Error::WIDTH);
    assert!(message.contains("topology.nodes") && message.contains("sweep.toml"), "{message}");
    let page = sweep.page(&finished).markdown().text;
    assert!(page.contains("1 of 3 points have no result."), "{page}");
}

#[test]
fn a_stop_keeps_what_is_finished() {
    struct After(AtomicUsize);
    impl Watch for After {
        fn done(&self, _: &Point, _: &Outcome) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        fn wants_stop(&self) -> bool {
            self.0.load(Ordering::Relaxed) >= 5
        }
    }
    let sweep = read(SECTION).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let stopped = sweep.run(folder.path(), &threads(1), &After(AtomicUsize::new(0))).unwrap();
    assert_eq!((stopped.rows.len(), stopped.left), (5, 7));
    let rest = run(&sweep, folder.path(), &threads(1));
    assert_eq!((rest.ran, rest.rows.len()), (7, 12));
}

#[test]
fn points_that_are_equal_are_there_once() {
    let sweep =
        read("[sweep]\nproduct = { \"workload.bytes\" = [\"1 MB\", \"2 MB\", \"1 MB\"], seed = [1, 2, 1] }")
            .unwrap();
    let words: Vec<String> = sweep.points().iter().map(|point| sweep.describe(point)).collect();
    assert_eq!(
        words,
        ["bytes 1 MB, seed 1", "bytes 1 MB, seed 2", "bytes 2 MB, seed 1", "bytes 2 MB, seed 2"]
    );
    // each runs as what it is
    let times = |sweep: &Sweep| -> Vec<f64> {
        let folder = tempfile::tempdir().unwrap();
        let finished = run(sweep, folder.path(), &threads(2));
        assert!(finished.rows.iter().map(|row| row.index).eq(0..sweep.points().len()));
        finished.rows.iter().map(|row| row.numbers["makespan_s"]).collect()
    };
    let plain =
        read("[sweep]\nproduct = { \"workload.bytes\" = [\"1 MB\", \"2 MB\"], seed = [1, 2] }").unwrap();
    assert_eq!(times(&sweep), times(&plain));
    // what is written differently stays, though it is the same
    let sweep = read("[sweep]\nproduct = { \"workload.bytes\" = [\"1 MB\", \"1000 kB\"] }").unwrap();
    assert_eq!(sweep.points().len(), 2);
}

#[test]
fn two_settings_that_make_one_experiment_run_once() {
    let sweep = read("[[sweep.case]]\nname = \"a\"\n[[sweep.case]]\nname = \"b\"\n[sweep]").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let finished = run(&sweep, folder.path(), &threads(2));
    assert_eq!((finished.ran, finished.rows.len()), (1, 2));
    assert_eq!(finished.rows[0].numbers, finished.rows[1].numbers);
}

#[test]
fn what_results_say_beside_their_numbers_is_told_once_with_who_says_it() {
    let flit = "\"network.kind\" = \"flit\", \"workload.bytes\" = \"4 kB\"";
    let [auto, dijkstra] = ["auto", "dijkstra"].map(|kind| {
        format!("[[sweep.case]]\nname = \"{kind}\"\nset = {{ {flit}, \"routing.kind\" = \"{kind}\" }}\n")
    });
    let sweep =
        read(&format!("{auto}{dijkstra}[sweep]\nproduct = {{ \"topology.nodes\" = [4, 5] }}")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let finished = run(&sweep, folder.path(), &threads(1));
    let note = "`[routing]` does not count here: the flit level takes the ways of `network.routing`.";
    let who = "dijkstra";
    assert_eq!(sweep.notes(&finished.rows), [format!("{who}: {note}")]);
    assert_eq!(sweep.notes(&finished.rows[2..]), [note]);
    assert!(finished.rows[0].notes.is_empty() && finished.rows[2].notes == [note]);
    let json: serde_json::Value = serde_json::from_str(&sweep.json(&finished)).unwrap();
    assert_eq!(json["points"][3]["notes"], serde_json::json!([note]));
    assert!(json["points"][0].get("notes").is_none());
    let page = sweep.page(&finished).markdown().text;
    assert!(page.contains(&format!("- {who}: {note}")), "{page}");
    // those that have no setting of their own in common are named, many are counted
    let mut rows = finished.rows.clone();
    rows[1].notes = vec!["So.".to_owned()];
    rows[2].notes = rows[1].notes.clone();
    assert_eq!(sweep.notes(&rows)[0], "auto, nodes 5; dijkstra, nodes 4: So.");
    rows[2].notes.clear();
    assert_eq!(sweep.notes(&rows)[0], "auto, nodes 5: So.");
    let mut rows = vec![finished.rows; 3].concat();
    for (at, row) in rows.iter_mut().enumerate() {
        row.notes = if at < 5 { vec!["So.".to_owned()] } else { Vec::new() };
    }
    assert_eq!(sweep.notes(&rows), ["5 of 12 points: So."]);
}

#[test]
fn only_chosen_points_are_kept() {
    let mut sweep = read(SECTION).unwrap();
    let choose = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let mut few = sweep.clone();
    few.keep_only(&choose(&["case=direct", "bytes=1 MB", "workload.bytes=4 MB"])).unwrap();
    let words: Vec<String> = few.points().iter().map(|point| few.describe(point)).collect();
    assert_eq!(words[0], "direct, nodes 4, bytes 1 MB");
    assert_eq!(words.len(), 4);
    let error = sweep.keep_only(&choose(&["bytes=3 MB"])).unwrap_err().to_string();
    assert!(error.contains("it is one of 1 MB, 2 MB, 4 MB"), "{error}");
    assert!(sweep.keep_only(&choose(&["size=3 MB"])).is_err());
}

#[test]
fn the_page_puts_our_numbers_beside_the_published_ones() {
    let sweep = read(SECTION).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let finished = run(&sweep, folder.path(), &threads(2));
    // 2 * 3 sends of 500 kB at 10 GB/s, each after 1 us
    let row = &finished.rows[1];
    assert!((row.numbers["makespan_s"] - 6.0 * (50e-6 + 1e-6)).abs() < 1e-12);
    let page = sweep.page(&finished).markdown().text;
    assert!(page.contains("| ours | published | difference |"), "{page}");
    assert!(page.contains("306.0 us | 300.0 us | +2.00 % |"), "{page}");
    // what all rows share stands in the caption
    assert!(page.contains(", nodes 4, bytes 2 MB, beside a book."), "{page}");
    let json: serde_json::Value = serde_json::from_str(&sweep.json(&finished)).unwrap();
    assert_eq!(json["points"][1]["settings"]["workload.bytes"], "2 MB");
    assert_eq!(json["points"][1]["numbers"]["makespan_s"], row.numbers["makespan_s"]);
}

const DERIVED: &str = r#"
[[sweep.derived]]
name = "saved"
of = "makespan_s"
where = { case = "ring" }
minus = { case = "direct" }

[[sweep.derived]]
name = "share"
of = "makespan_s"
minus = { case = "direct" }
over = { "topology.nodes" = 4 }

[[sweep.derived]]
name = "faster"
of = "makespan_s"
over = { case = "ring" }
inverse = true
"#;

#[test]
fn derived_numbers_are_differences_and_quotients_of_points() {
    let section = format!("{SECTION}{DERIVED}")
        .replace("[sweep]\n", "[sweep]\nmetrics = [\"makespan_s\", \"saved\"]\n");
    let sweep = read(&section).unwrap();
    let out = tempfile::tempdir().unwrap();
    let finished = sweep.run(out.path(), &RunOptions::default(), &()).unwrap();
    let time = |case: &str, nodes: u64, bytes: &str| {
        let row = finished
            .rows
            .iter()
            .find(|row| row.settings[0] == case && row.settings[1] == nodes && row.settings[2] == bytes);
        row.unwrap().numbers["makespan_s"]
    };
    for row in &finished.rows {
        let (case, bytes) = (row.settings[0].as_str().unwrap(), row.settings[2].as_str().unwrap());
        let nodes = row.settings[1].as_u64().unwrap();
        let own = time(case, nodes, bytes);
        let saved = (case == "ring").then(|| own - time("direct", nodes, bytes));
        assert_eq!(row.numbers.get("saved").copied(), saved);
        let share = (own - time("direct", nodes, bytes)) / time(case, 4, bytes);
        assert_eq!(row.numbers["share"], share);
        assert_eq!(row.numbers["faster"], (own / time("ring", nodes, bytes)).recip());
    }
    let table = sweep.table(&finished.rows).to_text(&stratasim_report::Style::PLAIN);
    assert!(table.contains("saved") && table.contains(" us"), "{table}");
    assert!(sweep.json(&finished).contains("\"faster\""));
    // a point that is missing takes only those with it that need it
    let some: Vec<_> = finished.rows.iter().filter(|row| row.settings[0] == "ring").cloned().collect();
    assert!(sweep.table(&some).to_text(&stratasim_report::Style::PLAIN).contains("makespan"));
}

#[test]
fn derived_numbers_that_make_no_sense_are_refused() {
    for (from, to, expected) in [
        (
            "name = \"saved\"",
            "name = \"makespan_s\"",
            "sweep.derived.0.name: results have a number `makespan_s`",
        ),
        ("name = \"saved\"", "name = \"share\"", "two derived numbers are called `share`"),
        ("name = \"saved\"", "name = \"a.b\"", "a name without dots"),
        ("of = \"makespan_s\"", "of = \"makespan\"", "did you mean `makespan_s`?"),
        ("minus = { case = \"direct\" }", "minus = { case = \"linear\" }", "`case` is never \"linear\""),
        ("minus = { case = \"direct\" }", "minus = { cas = \"direct\" }", "did you mean `case`?"),
        ("minus = { case = \"direct\" }", "", "`minus`, `over` or both are expected"),
        ("where = { case = \"ring\" }", "inverse = true", "it is for a quotient"),
        ("y = \"makespan_s\"\nlog-x", "y = \"savd\"\nlog-x", "or a derived one: saved, share, faster"),
    ] {
        let section = format!("{SECTION}{DERIVED}");
        assert!(section.contains(from), "{from}");
        let error = read(&section.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(expected), "{to}: {error}");
    }
}

#[test]
fn a_sweep_that_asks_for_no_picture_has_one_where_it_says_something() {
    let drawn = |section: &str| {
        let folder = tempfile::tempdir().unwrap();
        let sweep = read(section).unwrap();
        let rows = run(&sweep, folder.path(), &threads(2)).rows;
        let titles = sweep.pictures(&rows).into_iter().map(|(_, picture, _)| picture.title().to_owned());
        (titles.collect::<Vec<_>>(), sweep.notes(&rows).pop())
    };
    let title = |section: &str| drawn(section).0;
    let sizes = r#"product = { "topology.nodes" = [4, 8], "workload.bytes" = ["1 MB", "2 MB", "4 MB"] }"#;
    assert_eq!(title(&format!("[sweep]\n{sizes}")), ["Step time over bytes"]);
    assert_eq!(title(&format!("[sweep]\nmetrics = [\"makespan_s\"]\n{sizes}")), ["Makespan over bytes"]);
    let words = r#"product = { "workload.algorithm.kind" = ["ring", "direct"] }"#;
    assert_eq!(title(&format!("[sweep]\n{words}")), ["Step time over kind"]);
    // one point says nothing, more curves than can be told apart say that they do not
    assert_eq!(drawn("[sweep]\nproduct = { \"topology.nodes\" = [4] }"), (Vec::new(), None));
    let many = r#"product = { "topology.nodes" = [2, 3, 4, 5, 6, 7, 8, 9, 10], "workload.bytes" = ["1 MB", "2 MB", "3 MB", "4 MB", "5 MB", "6 MB", "7 MB", "8 MB", "9 MB"] }"#;
    let (titles, note) = drawn(&format!("[sweep]\n{many}"));
    let note =
        note.filter(|note| note.contains("no picture: 9 curves") && note.contains("x = \"workload.bytes\""));
    assert!(titles.is_empty() && note.is_some());
}

#[test]
fn tables_are_written_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let ways = r#"[{ kind = "ring" }, { kind = "direct", window = 2 }]"#;
    let sweep = read(&format!("[sweep]\nproduct = {{ \"workload.algorithm\" = {ways} }}")).unwrap();
    let text = sweep.page(&run(&sweep, folder.path(), &threads(1))).markdown().text;
    assert!(text.contains("direct (window 2)") && !text.contains("{\"kind"), "{text}");
}

/// Nothing is a multiple of nothing: such points are left out of a picture, not drawn as 0.
#[test]
fn quotients_by_nothing_are_in_no_picture() {
    let plot = |difference: bool| {
        let text = format!(
            "[sweep]\ncase = [{{ name = \"a\" }}, {{ name = \"b\", set = {{ \"topology.nodes\" = 5 }} }}]\n\
             plot = [{{ x = \"case\", y = \"memory_s\", relative-to = {{ case = \"a\" }}, difference = {difference} }}]\n"
        );
        let sweep = read(&text).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let finished = sweep.run(folder.path(), &RunOptions::default(), &()).unwrap();
        assert_eq!(finished.rows[0].numbers["memory_s"], 0.0);
        sweep.pictures(&finished.rows).remove(0).1.svg()
    };
    for picture in [plot(false), plot(true)] {
        assert!(!picture.contains("0x") && !picture.contains("0 %"), "{picture}");
    }
}

/// Settings that no point has would leave a picture empty, or a number out.
#[test]
fn settings_that_never_occur_are_refused_wherever_they_choose_points() {
    let case = "[[sweep.case]]\nname = \"a\"\n[[sweep.case]]\nname = \"b\"\nset = { \"workload.bytes\" = \"4 kB\" }\n[sweep]\n";
    let plot = |more: &str| {
        format!(
            "{case}product = {{ \"topology.nodes\" = [4, 5] }}\n[[sweep.plot]]\nx = \"topology.nodes\"\ny = \"makespan_s\"\n{more}\n"
        )
    };
    for good in
        ["where = { case = \"a\" }", "where = { case = [\"a\", \"b\"] }", "relative-to = { case = \"b\" }"]
    {
        assert!(read(&plot(good)).is_ok(), "{good}");
    }
    for (bad, words) in [
        ("where = { case = \"zz\" }", "sweep.plot.0.where: `case` is never \"zz\""),
        ("where = { case = [\"a\", \"zz\"] }", "sweep.plot.0.where: `case` is never \"zz\""),
        ("difference = true", "sweep.plot.0.difference: it is for a quotient"),
        ("relative-to = { case = \"zz\" }", "sweep.plot.0.relative-to: `case` is never \"zz\""),
        (
            "[[sweep.derived]]\nname = \"gain\"\nof = \"makespan_s\"\nwhere = { case = \"zz\" }\nover = { case = \"a\" }",
            "sweep.derived.0.where: `case` is never \"zz\"",
        ),
    ] {
        let error = read(&plot(bad)).err().unwrap_or_else(|| panic!("{bad} was taken")).to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// Whoever appends a key to a file may write it below `[sweep]`: a run does not drop it unread.
#[test]
fn a_section_that_is_left_out_is_read_first() {
    let leave_out = |section: &str| {
        let mut document = Document::from_toml("sweep.toml", &format!("{BASE}{section}")).unwrap();
        Sweep::leave_out(&mut document).map(|()| document.get("sweep").is_none())
    };
    assert_eq!(leave_out(SECTION).ok(), Some(true));
    assert_eq!(leave_out("").ok(), Some(true));
    let error = leave_out(&format!("{SECTION}\nload = 0.35\n")).unwrap_err().to_string();
    assert!(error.contains("unknown key `load`"), "{error}");
}

#[test]
fn settings_are_named_by_paths_and_headings_tell_them_apart() {
    let section = |end: &str| {
        format!(
            "[sweep]\nproduct = {{ \"topology.bandwidth\" = [\"1 GB/s\"], \"network.kind\" = [\"flow\"], \"routing.kind\" = [\"auto\"], seed = [1, 2] }}\n{end}"
        )
    };
    let sweep = read(&section("")).unwrap();
    let headings: Vec<&str> = sweep.columns().iter().map(|column| column.heading.as_str()).collect();
    assert_eq!(headings, ["bandwidth", "network.kind", "routing.kind", "seed"]);
    let both = "labels = { \"network.kind\" = \"kind\", \"routing.kind\" = \"kind\" }\n";
    let plot = |x: &str| section(&format!("{both}[[sweep.plot]]\nx = \"{x}\"\ny = \"makespan_s\"\n"));
    let refused = read(&plot("kind")).unwrap_err().to_string();
    assert!(refused.contains("`network.kind` and `routing.kind` are both called `kind`"), "{refused}");
    assert!(read(&plot("routing.kind")).is_ok());
    // the end of a path is enough where no other one has it
    assert!(read(&section("[[sweep.plot]]\nx = \"bandwidth\"\ny = \"makespan_s\"\n")).is_ok());
    let refused =
        read(&section("[[sweep.plot]]\nx = \"kind\"\ny = \"makespan_s\"\n")).unwrap_err().to_string();
    assert!(refused.contains("`network.kind` and `routing.kind` are both called `kind`"), "{refused}");
    let one = "labels = { \"network.kind\" = \"net\" }\n";
    let sweep = read(&section(one)).unwrap();
    assert_eq!(
        sweep.columns()[1..3].iter().map(|it| it.heading.as_str()).collect::<Vec<_>>(),
        ["net", "kind"]
    );
    // a path goes before a heading
    let seeds = "[sweep]\nproduct = { \"topology.nodes\" = [2, 4], seed = [3, 4] }\nlabels = { \"topology.nodes\" = \"seed\" }\n";
    let mut sweep = read(seeds).unwrap();
    sweep.keep_only(&["seed=3".to_owned()]).unwrap();
    assert_eq!(sweep.points().len(), 2);
}

/// Failures are in the files, those of the same words together on the page.
#[test]
fn what_failed_is_in_the_files() {
    let sweep = read("[sweep]\nproduct = { \"topology.nodes\" = [4, 0], seed = [1, 2, 3] }").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let finished = run(&sweep, folder.path(), &threads(1));
    sweep.write(folder.path(), &finished).unwrap();
    let page = sweep.page(&finished).markdown().text;
    assert!(page.contains("nodes 0, seed 1, and 2 others alike: "), "{page}");
    assert!(page.contains("stratasim sweep sweep.toml --out results"), "{page}");
    let text = std::fs::read_to_string(folder.path().join("results.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let failures = json["failures"].as_array().unwrap();
    assert_eq!((failures.len(), failures[1]["point"].as_u64()), (3, Some(4)));
    assert!(failures[0]["error"].as_str().unwrap().contains("nodes"), "{}", failures[0]);
    assert_eq!(failures[1]["settings"], serde_json::json!({"topology.nodes": 0, "seed": 2}));
    assert!(failures.iter().all(|failure| failure["exit_code"] == 2));
    // no command makes a sweep of which a part is elsewhere
    assert!(!sweep.given().page(&finished).markdown().text.contains("stratasim sweep"));
}
