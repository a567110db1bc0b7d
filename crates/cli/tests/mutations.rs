//! Damaged input: whatever is changed in an experiment or in a file that it names, the answer is a
//! result or one error, in little time and little memory, and never a panic.

mod support;

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use rand::RngExt as _;
use stratasim_core::observe::{Event, Interests, Observer};
use stratasim_core::random::{Stream, Streams};
use stratasim_experiment::plugins::NOUNS;
use stratasim_experiment::{Document, Error, Prepared, Sweep};
use stratasim_report::Style;
use stratasim_report::result::RunResult;

/// Damaged texts per file.
const PER_FILE: u64 = 15;
/// A damaged experiment that still runs is stopped after this.
const ENOUGH: Duration = Duration::from_millis(300);
/// Nothing may take longer, on a busy machine and without optimisation.
const TOO_LONG: Duration = Duration::from_secs(60);
/// Nothing may need more memory than this, in bytes.
const TOO_MUCH: u64 = 3 << 30;

/// Numbers and words that have broken programs before.
const EVIL: &[&str] = &[
    "0",
    "-1",
    "1",
    "3",
    "0.5",
    "-0.0",
    "1e308",
    "-1e308",
    "1e-320",
    "nan",
    "inf",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "1000000000000",
    "99999999999999999999999999",
    "\"\"",
    "\"0 B\"",
    "\"-1 GB/s\"",
    "\"0 Gbps\"",
    "\"1e300 TB/s\"",
    "\"1e-300 B/s\"",
    "\"0 ns\"",
    "\"1e9 s\"",
    "\"400 Gbps\"",
    "\"16 EB\"",
    "\"nan s\"",
    "\"ring\"",
    "\"all\"",
    "\"\\u0000\"",
    "\"ä\"",
    "[]",
    "{}",
    "[[[[]]]]",
    "true",
    "1979-05-27",
];

/// Asks a run to stop when it has taken long enough.
struct Patience(Instant);

impl Observer for Patience {
    fn interests(&self) -> Interests {
        Interests::default()
    }
    fn on_event(&mut self, _: &Event) {}
    fn wants_stop(&self) -> bool {
        self.0.elapsed() > ENOUGH
    }
}

#[allow(clippy::disallowed_methods, reason = "the test is about real time")]
fn now() -> Instant {
    Instant::now()
}

/// Everything that the command does with an experiment.
fn run(name: &str, text: &str, base: &Path) -> Result<(), Error> {
    let mut document = Document::parse(name, text)?;
    if document.get("sweep").is_some() {
        Sweep::new(document.clone(), base)?;
        document.take("sweep");
    }
    let mut prepared = Prepared::new(&document, base)?;
    let started = now();
    let result = prepared.run(&mut Patience(started), started)?;
    let broken: Vec<_> = result.checks.iter().filter(|check| !check.ok).collect();
    assert!(broken.is_empty(), "broken physics: {broken:?}");
    let again = RunResult::from_json(&result.to_json());
    assert!(again.is_ok(), "the result cannot be read back");
    Ok(())
}

/// Where values of a text begin and end: what stands between `=`, `,`, `[`, `{` and the next `,`,
/// `]`, `}` or end of the line; in XML between quotes.
fn values(text: &str) -> Vec<(usize, usize)> {
    let xml = text.trim_start().starts_with('<');
    let (open, close): (&[char], &[char]) =
        if xml { (&['"'], &['"']) } else { (&['=', ':', ',', '[', '{'], &[',', ']', '}', '\n']) };
    let mut found = Vec::new();
    for (at, c) in text.char_indices() {
        if open.contains(&c) {
            let start = at + c.len_utf8();
            let end = text[start..].find(close).map_or(text.len(), |length| start + length);
            if !text[start..end].trim().is_empty() {
                found.push((start, end));
            }
        }
    }
    found
}

/// One change of a text, or two.
fn damage(text: &str, random: &mut Stream) -> String {
    let once = damage_once(text, random);
    if random.random_range(0..4) == 0 { damage_once(&once, random) } else { once }
}

fn damage_once(text: &str, random: &mut Stream) -> String {
    let boundary = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let places = values(text);
    let somewhere = boundary(random.random_range(0..=text.len()));
    let cut = |start: usize, end: usize, with: &str| format!("{}{with}{}", &text[..start], &text[end..]);
    let numbers: Vec<usize> = text.match_indices(|c: char| c.is_ascii_digit()).map(|(at, _)| at).collect();
    match random.random_range(0..11) {
        // most changes are of values: they get past the parser
        0..=2 if !places.is_empty() => {
            let (start, end) = places[random.random_range(0..places.len())];
            let evil = EVIL[random.random_range(0..EVIL.len())];
            let evil = if text.trim_start().starts_with('<') { evil.trim_matches('"') } else { evil };
            cut(start, end, evil)
        }
        3 if !places.is_empty() => {
            let (start, end) = places[random.random_range(0..places.len())];
            let (other_start, other_end) = places[random.random_range(0..places.len())];
            cut(start, end, &text[other_start..other_end])
        }
        4 => text[..somewhere].to_owned(),
        5 => {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let (from, to) = (random.random_range(0..lines.len()), random.random_range(0..=lines.len()));
            let mut lines = lines.clone();
            let line = lines.remove(from);
            // gone, twice, or somewhere else
            match random.random_range(0..3) {
                0 => {}
                1 => {
                    lines.insert(from, line);
                    lines.insert(from, line);
                }
                _ => lines.insert(to.min(lines.len()), line),
            }
            lines.concat()
        }
        6 => {
            let byte = char::from(random.random_range(0_u8..128));
            cut(somewhere, somewhere, &byte.to_string())
        }
        7..=9 if !numbers.is_empty() => {
            let at = numbers[random.random_range(0..numbers.len())];
            let digits = ["0", "1", "9", "12", "7.", "-3", "1e", ""];
            cut(at, at + 1, digits[random.random_range(0..digits.len())])
        }
        _ => {
            let end = boundary((somewhere + random.random_range(1_usize..=4)).min(text.len()));
            cut(somewhere, end.max(somewhere), "")
        }
    }
}

/// Files of which one is damaged; the first is the experiment.
struct Subject {
    files: Vec<(String, String)>,
    damaged: usize,
}

impl Subject {
    fn name(&self) -> &str {
        &self.files[self.damaged].0
    }
}

fn read(path: &Path) -> (String, String) {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    // the demonstration's machine is too large for this test
    (name, std::fs::read_to_string(path).unwrap().replace("xpus = 1024", "xpus = 32"))
}

/// The examples with the files that they name, and formats of others in small experiments.
fn subjects() -> Vec<Subject> {
    let mut subjects = Vec::new();
    for folder in support::examples() {
        for experiment in support::files(&folder, "toml") {
            // open-loop traffic is run by another function
            if read(&experiment).1.contains("\n[traffic]") {
                continue;
            }
            let mut others = support::files(&folder, "xml");
            others.extend(support::files(&folder, "goal"));
            let files: Vec<_> = std::iter::once(&experiment).chain(&others).map(|path| read(path)).collect();
            for damaged in 0..files.len() {
                subjects.push(Subject { files: files.clone(), damaged });
            }
        }
    }
    let data = support::root().join("tests/data");
    let workload = "[workload]\nkind = \"collective\"\noperation = \"all-to-all\"\nbytes = \"1 MB\"\n";
    for (folder, end, kind) in [
        ("networkx", "json", "networkx-json"),
        ("networkx", "graphml", "graphml"),
        ("simgrid-xml", "xml", "simgrid-xml"),
    ] {
        for path in support::files(&data.join(folder), end) {
            let file = read(&path);
            let text = format!("[topology]\nkind = \"{kind}\"\npath = \"{}\"\n{workload}", file.0);
            let mut files = vec![("experiment.toml".to_owned(), text), file];
            files.extend(support::files(&data.join(folder), "trace").iter().map(|path| read(path)));
            subjects.push(Subject { files, damaged: 1 });
        }
    }
    subjects.extend(kinds().into_iter().map(|file| Subject { files: vec![file], damaged: 0 }));
    let graph = read(&support::root().join("crates/workload/tests/data/networkx-edges.json"));
    let text = format!(
        "[topology]\nkind = \"hcsim-cxl\"\nxpus = 4\n[workload]\nkind = \"graph\"\npath = \"{}\"\n",
        graph.0
    );
    subjects.push(Subject { files: vec![("experiment.toml".to_owned(), text), graph], damaged: 1 });
    subjects
}

/// Sixteen hosts and a sum over them.
const CARD: &str = "[topology]\nkind = \"cards\"\ncard = \"sw-ai\"\nof = { kind = \"single-switch\", nodes = 1, bandwidth = \"10 GB/s\", latency = \"1 us\" }\n";
const SWITCH: &str =
    "[topology]\nkind = \"single-switch\"\nnodes = 16\nbandwidth = \"10 GB/s\"\nlatency = \"1 us\"\n";
const SUM: &str = "[workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"\n";

/// Every option of the flow network and of the execution.
const OPTIONS: &str = r#"[network]
kind = "flow"
rule = "lv08"
options = { tcp-gamma = "4 MiB", cross-traffic = true, bandwidth-factor = 0.97, latency-factor = "1000:2;50000:3", weight-s = "20537 B", work-precision = 1e-5, loopback-latency = "1 us" }
shortcuts = { local-solve = false, pipelines = false, solo-flows = false }
[execution]
timing-precision = "1 ns"
eager-limit = "1 kB"
roofline = true
"#;

/// A schedule as NCCL makes it, several ranks on a node, on the message level with every option.
const MESSAGE: &str = r#"[workload]
kind = "goal"
nccl = { operation = "all-reduce", algorithm = "tree", protocol = "ll128", ranks = 12, ranks-per-node = 4, bytes = "100 kB", channels = 3, nics = 2, root = 0, chunk = "8 kB", buffer = "64 KiB", reduce-bandwidth = "50 GB/s", copy-bandwidth = "80 GB/s", tag = 7 }
ranks-per-node = 2
nics = 2
[network]
kind = "message"
latency = "3.7 us"
overhead = "200 ns"
gap = "5 ns"
gap-per-byte = "0.04 ns/B"
overhead-per-byte = "0.001 ns/B"
eager-limit = "4 kB"
from-routes = true
nics = 2
near = [{ within = "node", latency = "200 ns", gap = "1 ns", gap-per-byte = "0.003 ns/B" }]
[execution.noise]
every = "50 us"
length = "2 us"
"#;

/// Several jobs with every option.
const JOBS: &str = r#"[[job]]
name = "training"
workload = { kind = "goal", pattern = { kind = "ring-allreduce" }, ranks = 6, bytes = "60 kB" }
repetitions = 2
pause = "10 us"
[[job]]
workload = { kind = "goal", pattern = { kind = "pipelined-ring" }, ranks = 4, bytes = "40 kB", segment = "10 kB", root = 1, repetitions = 2 }
start = "5 us"
[jobs]
placement = { kind = "list", nodes = [[0, 1, 2, 3, 4, 5], [5, 6, 7, 5]] }
shared = true
ranks-per-node = 2
nics = "own"
racks = "rack"
alone = true
[execution]
eager-limit = "1 kB"
"#;

/// A small experiment with each kind of topology, collective and pattern, and some with every option.
fn kinds() -> Vec<(String, String)> {
    let mut kinds = vec![
        ("options.toml".to_owned(), format!("{SWITCH}{SUM}{OPTIONS}")),
        ("message.toml".to_owned(), format!("{SWITCH}{MESSAGE}")),
        ("jobs.toml".to_owned(), format!("{SWITCH}{JOBS}")),
    ];
    for noun in NOUNS {
        for entry in noun.entries {
            let kind = entry.kind;
            let experiment = match noun.name {
                // these need a file; their formats are tried by themselves
                "topologies" if ["simgrid-xml", "graphml", "networkx-json"].contains(&kind) => continue,
                "topologies" => {
                    let words = ["topology".to_owned(), kind.to_owned()];
                    let help = stratasim_cli::explain(&words, &Style::PLAIN).unwrap();
                    let example = help.split("    [topology]\n").nth(1).expect("topologies have examples");
                    let lines = example.lines().take_while(|line| line.starts_with("    "));
                    let lines: Vec<_> = lines.map(str::trim_start).collect();
                    let traffic = "[workload]\nkind = \"traffic\"\nflows = 20\nsize = { kind = \"fixed\", bytes = \"1 MB\" }\n";
                    format!("[topology]\n{}\n{traffic}", lines.join("\n"))
                }
                "collectives" => {
                    let (operation, more) = match kind {
                        "binomial" => ("broadcast", ""),
                        "dissemination" => ("barrier", ""),
                        "chain" => ("broadcast", ", segment = \"64 kB\""),
                        "pairwise" => ("all-to-all", ""),
                        "bruck" | "neighbour-exchange" | "card-csc-equation" => ("all-gather", ""),
                        "hierarchical" => ("all-reduce", ", dimensions = [4, 4]"),
                        _ => ("all-reduce", ""),
                    };
                    let sum = SUM.replace("all-reduce", operation);
                    let machine = if kind.starts_with("card-") { CARD } else { SWITCH };
                    format!("{machine}{sum}algorithm = {{ kind = \"{kind}\"{more} }}\niterations = 2\n")
                }
                "patterns" => format!(
                    "{SWITCH}[workload]\nkind = \"traffic\"\nflows = 40\npattern = {{ kind = \"{kind}\" }}\nsize = {{ kind = \"exponential\", mean = \"1 MB\" }}\narrivals = {{ kind = \"poisson\", load = 0.3, rate = \"12.5 GB/s\" }}\n"
                ),
                "goal-patterns" => {
                    let collective = ", operation = \"all-gather\", algorithm = { kind = \"ring\" }";
                    let more = if kind == "collective" { collective } else { "" };
                    format!(
                        "{SWITCH}[workload]\nkind = \"goal\"\npattern = {{ kind = \"{kind}\"{more} }}\nranks = 8\nbytes = \"20 kB\"\n[network]\nkind = \"message\"\n"
                    )
                }
                "job-placements" => {
                    let racks = SWITCH.replace(
                        "kind = \"single-switch\"\nnodes = 16",
                        "kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts-per-leaf = 4",
                    );
                    let more = if kind == "list" { ", nodes = [[0, 1, 2], [3, 4, 5, 6]]" } else { "" };
                    let job = |ranks: u32| {
                        format!(
                            "[[job]]\nworkload = {{ kind = \"goal\", pattern = {{ kind = \"incast\" }}, ranks = {ranks} }}\n"
                        )
                    };
                    format!("{racks}{}{}[jobs]\nplacement = {{ kind = \"{kind}\"{more} }}\n", job(3), job(4))
                }
                _ => continue,
            };
            kinds.push((format!("{}-{kind}.toml", noun.name), experiment));
        }
    }
    kinds
}

/// How many damaged texts of each file are tried; `MUTATIONS=1000` in the environment tries more.
fn per_file() -> u64 {
    std::env::var("MUTATIONS").ok().and_then(|number| number.parse().ok()).unwrap_or(PER_FILE)
}

/// Where the last panic was, and what it said.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Does `work` with panics caught; what a panic said and where.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::set_hook(Box::new(|info| *PANIC.lock().unwrap() = info.to_string()));
    let done = catch_unwind(AssertUnwindSafe(work)).map_err(|_| PANIC.lock().unwrap().clone());
    let _ = std::panic::take_hook();
    done
}

#[test]
fn damaged_files_give_a_result_or_one_error_and_never_a_panic() {
    let subjects = subjects();
    assert!(subjects.len() >= 7, "the examples are missing");
    // a run that hangs cannot be stopped from inside: say which it was, and end
    let (tell, told) = mpsc::channel::<String>();
    let watchdog = std::thread::spawn(move || {
        let mut current = String::new();
        loop {
            match told.recv_timeout(TOO_LONG) {
                Ok(next) => current = next,
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    // past the test harness, which keeps what a test says until it ends
                    let _ = writeln!(std::io::stderr(), "this takes longer than {TOO_LONG:?}:\n{current}");
                    std::process::abort();
                }
            }
        }
    });
    let mut panics = Vec::new();
    let (mut ran, mut refused) = (0, 0);
    for subject in &subjects {
        let scratch = tempfile::tempdir().unwrap();
        let write =
            |(name, text): &(String, String)| std::fs::write(scratch.path().join(name), text).unwrap();
        subject.files.iter().for_each(write);
        let (experiment, original) = &subject.files[0];
        let good = run(experiment, original, scratch.path());
        assert!(good.is_ok(), "{} is damaged to begin with: {good:?}", subject.name());
        for seed in 0..per_file() {
            let label = format!("{} {seed}", subject.name());
            let mut random = Streams::new(seed).stream(subject.name());
            let text = damage(&subject.files[subject.damaged].1, &mut random);
            write(&(subject.name().to_owned(), text.clone()));
            let _ = tell.send(format!("{label}\n{text}"));
            let experiment_text = if subject.damaged == 0 { &text } else { original };
            let before = support::peak_bytes();
            match caught(|| run(experiment, experiment_text, scratch.path())) {
                Ok(Ok(())) => ran += 1,
                Ok(Err(error)) => {
                    refused += 1;
                    let message = error.render(false, Error::WIDTH);
                    assert_eq!(message.matches('×').count(), 1, "{label}: {message}");
                    assert!(message.trim().len() > 12, "{label} says too little: {message}");
                }
                Err(words) => panics.push(format!("{label}: {words}\n{text}")),
            }
            let peak = support::peak_bytes();
            assert!(peak < TOO_MUCH || peak == before, "{label} takes {peak} bytes\n{text}");
        }
    }
    drop(tell);
    watchdog.join().unwrap();
    assert!(panics.is_empty(), "{} panics\n{}", panics.len(), panics.join("\n\n"));
    // both happen, or the damage is too weak or too strong to say anything
    let all = ran + refused;
    assert!(ran > all / 8 && refused > all / 4, "{ran} ran, {refused} were refused");
}

#[test]
fn damaged_results_are_shown_or_refused_and_never_a_panic() {
    for example in ["02-graphs-by-hand", "10-jobs"] {
        damaged_results_of(&support::root().join("examples").join(example).join("experiment.toml"));
    }
}

fn damaged_results_of(path: &Path) {
    let (name, text) = read(path);
    let document = Document::parse(&name, &text).unwrap();
    let mut prepared = Prepared::new(&document, path.parent().unwrap()).unwrap();
    let started = now();
    let good = prepared.run(&mut Patience(started), started).unwrap().to_json();
    let mut shown = 0;
    for seed in 0..5 * per_file() {
        let mut random = Streams::new(seed).stream("result");
        let text = damage(&good, &mut random);
        let show = || match RunResult::from_json(&text) {
            Ok(result) => !stratasim_report::summary(&result, &Style::UNICODE).is_empty(),
            Err(_) => false,
        };
        match caught(show) {
            Ok(is_shown) => shown += u64::from(is_shown),
            Err(words) => panic!("{seed}: {words}\n{text}"),
        }
    }
    assert!(shown > per_file(), "only {shown} could be shown");
}
