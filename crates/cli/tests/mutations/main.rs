//! Damaged input: whatever is changed in an experiment or in a file that it names, the answer is a
//! result or one error, in little time and little memory, and never a panic.

mod damage;
mod subjects;
#[path = "../support/mod.rs"]
mod support;
mod traffic;

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use stratasim_core::observe::{Event, Interests, Observer};
use stratasim_core::random::Streams;
use stratasim_experiment::{Document, Error, Prepared, Sweep, Traffic};
use stratasim_report::Style;
use stratasim_report::result::RunResult;

use damage::damage;
use subjects::read;

/// Damaged texts per file.
const PER_FILE: u64 = 15;
/// A damaged experiment that still runs is stopped after this.
const ENOUGH: Duration = Duration::from_millis(300);
/// Nothing may take longer, on a busy machine and without optimisation.
const TOO_LONG: Duration = Duration::from_secs(60);
/// Nothing may need more memory than this, in bytes.
const TOO_MUCH: u64 = 3 << 30;

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
    let result = if traffic::is_configuration(name) {
        traffic::run_configuration(&base.join(name))?
    } else {
        run_experiment(name, text, base)?
    };
    let Some(result) = result else { return Ok(()) };
    let broken: Vec<_> = result.checks.iter().filter(|check| !check.ok).collect();
    assert!(broken.is_empty(), "broken physics: {broken:?}");
    let again = RunResult::from_json(&result.to_json());
    assert!(again.is_ok(), "the result cannot be read back");
    Ok(())
}

/// Its result; there is none where it was stopped before there was anything to tell.
fn run_experiment(name: &str, text: &str, base: &Path) -> Result<Option<RunResult>, Error> {
    let mut document = Document::parse(name, text)?;
    if document.get("sweep").is_some() {
        Sweep::new(document.clone(), base)?;
        document.take("sweep");
    }
    if Traffic::is_in(&document) {
        return traffic::run(&document, base);
    }
    let mut prepared = Prepared::new(&document, base)?;
    let started = now();
    Ok(Some(prepared.run(&mut Patience(started), started)?))
}

/// How many damaged texts of each file are tried; `MUTATIONS=1000` in the environment tries more.
fn per_file() -> u64 {
    std::env::var("MUTATIONS").ok().and_then(|number| number.parse().ok()).unwrap_or(PER_FILE)
}

/// Whether a file is tried: `MUTATED=booksim` in the environment tries those with that in their names only.
fn is_tried(name: &str) -> bool {
    std::env::var("MUTATED").map_or(true, |part| name.contains(&part))
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
    let subjects = subjects::subjects();
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
    let (mut bad, mut panics) = (Vec::new(), Vec::new());
    let (mut ran, mut refused) = (0, 0);
    for subject in subjects.iter().filter(|subject| is_tried(subject.name())) {
        let scratch = tempfile::tempdir().unwrap();
        let write =
            |(name, text): &(String, String)| std::fs::write(scratch.path().join(name), text).unwrap();
        subject.files.iter().for_each(write);
        let (experiment, original) = &subject.files[0];
        if let Err(error) = run(experiment, original, scratch.path()) {
            bad.push(format!("{}: {}", subject.name(), error.render(false, Error::WIDTH)));
            continue;
        }
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
    assert!(bad.is_empty(), "damaged to begin with: {}", bad.join("\n"));
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
