//! `stratasim card bench --real` as a user meets it: real processes, few and short.

use std::process::Stdio;

use crate::support::Scratch;
use serde_json::Value;

#[test]
fn real_runs_are_measured_fitted_and_saved() {
    let scratch = Scratch::new();
    let bench = ["card", "bench", "sw-ai", "--real", "--processes", "2", "--sizes", "4KiB,64KiB"];
    let ended = scratch.stratasim(
        &[&bench[..], &["--fused", "--json", "out.json", "--save", "shm.json", "--card-out", "card.toml"]]
            .concat(),
    );
    assert_eq!(ended.code, 0, "{}", ended.errors);
    assert!(
        ended.output.contains("all-gather between 2 processes") && ended.output.contains("equal results")
    );
    let table =
        ended.output.lines().take_while(|line| !line.contains("fitted")).map(|line| line.chars().count());
    assert!(table.max().is_some_and(|columns| columns <= 80), "{}", ended.output);
    let json: Value = serde_json::from_str(&scratch.read("out.json")).expect("JSON");
    let times = json["times"].as_array().expect("a list");
    assert_eq!(times.len(), 2 * 4, "two sizes by four algorithms");
    for time in times {
        let seconds = |key: &str| time[key].as_f64().expect("a number");
        assert!(0.0 < seconds("least_s") && seconds("least_s") <= seconds("median_s"), "{time}");
        // two points and two parameters: the closed form of the card's schedule with them is what is shown
        let name = time["algorithm"].as_str().expect("a name");
        let (step, rate) = match name {
            "csc" => ("csc_step_s", "global_bytes_per_s"),
            "direct" => ("csc_step_s", "ring_bytes_per_s"),
            _ => ("ring_step_s", "ring_bytes_per_s"),
        };
        let of = |key: &str| json["models"][name][key].as_f64().expect("a number");
        let moved = time["bytes"].as_f64().expect("a number") / 2.0 * if name == "csc" { 2.0 } else { 1.0 };
        let expected = of(step) + moved / of(rate);
        assert!((seconds("model_s") - expected).abs() < 1e-11, "{time} {expected}");
    }
    // the card of this machine is one that others take
    let again = scratch.stratasim(&["card", "bench", "card.toml", "--sizes", "4KiB,64KiB"]);
    assert_eq!(again.code, 0, "{}", again.errors);
    // a second collective is added to the first
    let more = ["--op", "broadcast", "--save", "shm.json"];
    assert_eq!(scratch.stratasim(&[&bench[..], &more].concat()).code, 0);
    let saved: Value = serde_json::from_str(&scratch.read("shm.json")).expect("JSON");
    for operation in ["all-gather", "broadcast"] {
        let first = &saved["choices"][operation][0];
        assert_eq!(first[0], 0, "from the shortest vector on");
        assert!(first[1].is_string(), "{saved}");
    }
}

#[test]
fn a_card_without_global_memory_is_measured_all_the_same() {
    let scratch = Scratch::new();
    let card = scratch.stratasim(&["card", "show", "sw-ai", "--toml"]).output;
    let local = card.replace("local = \"10 GB\"", "local = \"15 GB\"");
    scratch.write("local.toml", &local.replace("global = \"20 GB\"", "global = \"0 B\""));
    let real = ["--real", "--processes", "2", "--sizes", "4KiB", "--card-out", "card.toml"];
    let ended = scratch.stratasim(&[&["card", "bench", "local.toml"], &real[..]].concat());
    assert_eq!(ended.code, 0, "{}", ended.errors);
    assert!(scratch.read("card.toml").contains("global = \"0 B\""), "{}", scratch.read("card.toml"));
}

#[test]
fn a_card_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let scratch = Scratch::new();
    let real = ["card", "bench", "sw-ai", "--real", "--processes", "2", "--card-out", "no/where/card.toml"];
    let ended = scratch.stratasim(&real);
    assert!(ended.code != 0 && ended.output.is_empty(), "{}", ended.output);
    assert!(ended.errors.contains("no/where/card.toml"), "{}", ended.errors);
}

#[test]
fn all_numbers_go_to_standard_output_when_asked_for() {
    let scratch = Scratch::new();
    let bench = ["card", "bench", "sw-ai", "--real", "--processes", "2", "--sizes", "4KiB", "--json", "-"];
    let ended = scratch.stratasim(&bench);
    assert_eq!(ended.code, 0, "{}", ended.errors);
    let json: Value = serde_json::from_str(&ended.output).expect("JSON and nothing else");
    assert_eq!(json["processes"], 2);
    assert!(scratch.names().is_empty(), "{:?}", scratch.names());
}

/// Nobody goes on measuring for a command that has gone, however it went.
#[cfg(target_os = "linux")]
#[test]
fn the_processes_end_with_the_command() {
    let scratch = Scratch::new();
    for (signal, code) in [("-TERM", Some(130)), ("-INT", Some(130)), ("-KILL", None)] {
        let bench = [
            "card",
            "bench",
            "sw-ai",
            "--real",
            "--processes",
            "2",
            "--sizes",
            "64MiB",
            "--card-out",
            "card.toml",
        ];
        let mut child = scratch.command(&bench).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let id = child.id().to_string();
        let children = || {
            let list = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
            list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let pause = || std::thread::sleep(std::time::Duration::from_millis(20));
        while children().len() < 2 {
            pause();
        }
        let ranks = children();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), code, "{signal}");
        let is_there = |rank: &String| {
            let line = std::fs::read_to_string(format!("/proc/{rank}/cmdline")).unwrap_or_default();
            line.contains("rank")
        };
        // a second at most for who is told by the end of a pipe
        for _ in 0..500 {
            if !ranks.iter().any(is_there) {
                break;
            }
            pause();
        }
        assert!(!ranks.iter().any(is_there), "{signal}");
        if code.is_some() {
            assert!(scratch.names().is_empty(), "{signal}: {:?}", scratch.names());
        }
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let scratch = Scratch::new();
    for (option, path, words) in [
        ("--save", "/dev", "/dev"),
        ("--save", "no/where.json", "no/where.json"),
        ("--json", "no/where.json", "no/where.json"),
        ("--save", "bad.json", "what `stratasim card bench --real --save` writes is expected"),
    ] {
        scratch.write("bad.json", "no calibration");
        let bench = ["card", "bench", "sw-ai", "--real", "--processes", "2", option, path];
        scratch.stratasim(&bench).failed(2, &[words]);
    }
    let bench = |more: &[&str]| scratch.stratasim(&[&["card", "bench", "sw-ai"], more].concat());
    bench(&["--real", "--processes", "1"]).failed(2, &["1 is not in 2..=64"]);
    bench(&["--real", "--sizes", "8GB"])
        .failed(2, &["--sizes: with --real, 1 B to 4294967296 B are expected"]);
    bench(&["--real", "--picture", "x.svg"]).failed(2, &["cannot be used with"]);
    bench(&["--processes", "2"]).failed(2, &["--real"]);
}
