//! How runs end that do not go well: what fails, what cannot be written, who goes away and who interrupts takes nothing else along.

use std::process::Stdio;

use crate::support::{Ended, Scratch};
use crate::verbs::{EXPERIMENT, json, scratch};

#[test]
fn where_the_locale_has_no_unicode_all_is_ascii() {
    let scratch = scratch();
    scratch.write("bad.toml", "[topology]\nkind = \"ring\"\nnodes = \"many\"\n");
    for arguments in [
        &["run", "small.toml"][..],
        &["run", "bad.toml"],
        &["run", "missing.toml"],
        &["compare", "small.toml", "--networks", "packet,flow"],
        &["explain", "flit"],
        &["list"],
    ] {
        let ended = Ended::of(scratch.command(arguments).env("LC_ALL", "C"));
        let text = ended.output + &ended.errors;
        assert!(!text.is_empty() && text.is_ascii(), "{arguments:?}: {text}");
    }
}

#[test]
fn a_variant_that_fails_leaves_the_others_as_they_are() {
    let scratch = scratch();
    let dead = r#"dead: network.faults.down=[{link="host-0->host-1",from="0 us"}]"#;
    let faster = "faster: topology.bandwidth=\"20 GB/s\"";
    let arguments = [
        "compare",
        "small.toml",
        "--networks",
        "packet",
        "--with",
        dead,
        "--with",
        faster,
        "--json",
        "all.json",
    ];
    let ended = scratch.stratasim(&arguments);
    assert_eq!(ended.code, 3);
    assert!(ended.errors.contains("`packet, dead` failed"), "{}", ended.errors);
    assert!(ended.output.contains("packet, faster"), "{}", ended.output);
    assert_eq!(json(&scratch.read("all.json")).as_array().unwrap().len(), 2);
}

/// Tables that cannot be printed take no file away.
#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_printed_takes_no_file_away() {
    let scratch = scratch();
    let sweep = format!("{EXPERIMENT}\n[sweep]\nproduct = {{ seed = [1, 2] }}\n");
    scratch.write("sweep.toml", &sweep);
    for (arguments, file) in [
        (&["run", "small.toml", "--json", "run.json"][..], "run.json"),
        (&["compare", "small.toml", "--networks", "flow,message", "--json", "two.json"], "two.json"),
        (&["card", "bench", "sw-ai", "--sizes", "1MB", "--json", "card.json"], "card.json"),
        (&["sweep", "sweep.toml", "--out", "points"], "points/index.html"),
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = Ended::of(scratch.command(arguments).stdout(full));
        ended.failed(2, &["standard output", "No space left on device"]);
        assert!(scratch.path().join(file).is_file(), "{arguments:?}");
    }
    for arguments in [["--help"], ["--version"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        Ended::of(scratch.command(&arguments).stdout(full)).failed(2, &["standard output", "No space left"]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_written_takes_nothing_else_away() {
    let scratch = scratch();
    let full = "/dev/full: No space left on device";
    for broken in ["--csv", "--json"] {
        let other = if broken == "--csv" { "--json" } else { "--csv" };
        let ended = scratch.stratasim(&["run", "small.toml", broken, "/dev/full", other, "there.txt"]);
        assert_eq!(ended.code, 2);
        assert!(ended.errors.contains(full) && ended.errors.contains("wrote there.txt"), "{}", ended.errors);
        assert!(ended.output.contains("step time"), "{}", ended.output);
        assert!(!ended.errors.contains("wrote /dev/full"), "{}", ended.errors);
        assert!(!scratch.read("there.txt").is_empty());
    }
}

#[test]
fn a_run_that_fails_leaves_the_old_file_alone() {
    let scratch = Scratch::new();
    let text = EXPERIMENT.replace("kind = \"ring\"", "kind = \"graph\"");
    let graph = "nodes = [{ name = \"a\" }, { name = \"b\" }]\n";
    let text = text.replace("nodes = 4\nbandwidth = \"10 GB/s\"\nlatency = \"1 us\"\n", graph);
    scratch.write("apart.toml", &text);
    scratch.write("out.json", "old");
    let ended = scratch.stratasim(&["run", "apart.toml", "--json", "out.json"]);
    ended.failed(3, &["no route"]);
    assert_eq!(scratch.read("out.json"), "old");
    assert_eq!(scratch.names(), ["apart.toml", "out.json"]);
}

#[test]
fn what_was_observed_before_a_run_failed_is_there_and_named() {
    let scratch = Scratch::new();
    // each waits for the other
    let text = r#"name = "fail"
[topology]
kind = "single-switch"
nodes = 2
bandwidth = "400 Gbps"
latency = "500 ns"
[workload]
kind = "goal"
file = "circle.goal"
"#;
    scratch.write("circle.goal", "num_ranks 2\nrank 0 {\n  c: calc 1000\n  r: recv 8b from 1\n  s: send 8b to 1\n  s requires r\n}\nrank 1 {\n  r: recv 8b from 0\n  s: send 8b to 0\n  s requires r\n}\n");
    scratch.write("stalls.toml", text);
    let files = ["--csv", "out.csv", "--picture", "out.svg", "--json", "out.json"];
    let ended = scratch.stratasim(&[&["run", "stalls.toml"][..], &files].concat());
    assert_eq!(ended.code, 3, "{}", ended.errors);
    for words in ["wrote out.csv (tasks)", "wrote out.svg (picture)"] {
        assert!(ended.errors.contains(words), "{}", ended.errors);
    }
    assert!(ended.errors.contains("not written, as there is no result: out.json"), "{}", ended.errors);
    assert_eq!(scratch.names(), ["circle.goal", "out.csv", "out.svg", "stalls.toml"]);
    assert!(scratch.read("out.svg").contains("until the run failed"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let scratch = scratch();
    for arguments in
        [&["list"][..], &["schema"], &["explain", "transformer"], &["run", "small.toml"], &["--help"]]
    {
        let mut command = scratch.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // closed before anything can be written
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let errors = String::from_utf8(ended.stderr).unwrap();
        assert_eq!((ended.status.code(), errors.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

/// Many iterations, of which each takes a moment.
#[cfg(unix)]
fn long() -> Scratch {
    let scratch = Scratch::new();
    let text = EXPERIMENT.replace("bytes = \"1 MB\"", "bytes = \"1 MB\"\niterations = 1000000");
    scratch.write("long.toml", &text.replace("nodes = 4", "nodes = 64"));
    scratch
}

/// How the command ends that gets `signal` when it has run for a while.
#[cfg(unix)]
fn interrupted(scratch: &Scratch, arguments: &[&str], signal: &str) -> std::process::Output {
    let mut command = scratch.command(arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // long enough to be listening
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
    child.wait_with_output().unwrap()
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_what_it_has() {
    let scratch = long();
    // by whoever sits there, and by a batch system
    // and by a terminal that is closed, unless `nohup` shields from it, as it may these tests
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let hangs_up = ignored.is_some_and(|mask| mask & 1 == 0);
    let signals = ["-INT", "-TERM"].into_iter().chain(hangs_up.then_some("-HUP"));
    for signal in signals {
        let ended = interrupted(&scratch, &["run", "long.toml", "--json", "out.json"], signal);
        let output = String::from_utf8(ended.stdout).unwrap();
        assert_eq!(ended.status.code(), Some(130), "{signal}: {output}");
        assert!(output.contains("Stopped before the end"), "{signal}: {output}");
        assert!(json(&scratch.read("out.json"))["makespan_s"].as_f64() > Some(0.0));
        std::fs::remove_file(scratch.path().join("out.json")).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_comparison_says_what_ran_and_what_did_not() {
    let scratch = long();
    let run = |arguments: &[&str]| {
        let ended = interrupted(&scratch, &[&["compare", "long.toml"], arguments].concat(), "-INT");
        assert_eq!(ended.status.code(), Some(130));
        [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let [output, errors] = run(&["--networks", "flow,message"]);
    assert_eq!((output.as_str(), errors.trim()), ("", "stopped: 0 of 2 ran; not finished: flow, message"));
}
