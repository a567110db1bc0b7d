//! Distributions of several results in one picture.

mod support;

use support::Scratch;

const INCAST: &str = r#"
name = "incast"
[topology]
kind = "single-switch"
nodes = 5
bandwidth = "100 Gbps"
latency = "1 us"
[workload]
kind = "traffic"
flows = 4
size = { kind = "fixed", bytes = "1 MB" }
pattern = { kind = "incast" }
[network]
kind = "packet"
"#;

#[test]
fn those_that_tell_have_curves_and_the_others_are_named() {
    let scratch = Scratch::new();
    scratch.write("incast.toml", INCAST);
    let swift = "--with=swift: network.congestion.kind=swift";
    let ended =
        scratch.stratasim(&["compare", "incast.toml", "--networks=flow,packet", swift, "--cdf=times.svg"]);
    assert_eq!(ended.code, 0, "{}", ended.errors);
    let picture = scratch.read("times.svg");
    for (name, is_there) in [("packet", true), ("packet, swift", true), ("flow", false)] {
        assert_eq!(picture.contains(&format!(">{name}<")), is_there, "{name}: {picture}");
    }
    assert!(ended.errors.contains("no curve there for `flow`, `flow, swift`"), "{}", ended.errors);
    // a dash for those that follow no message
    let row = ended
        .output
        .lines()
        .find(|line| line.trim_start().starts_with("message, most"))
        .expect("a row of times");
    let cells: Vec<&str> = row.split_whitespace().skip(2).collect();
    assert_eq!(cells[..2], ["-", "-"], "{row}");
    assert!(cells[2..].iter().filter(|&&cell| cell == "us").count() == 2, "{row}");
}

#[test]
fn results_are_drawn_without_another_run() {
    let scratch = Scratch::new();
    scratch.write("incast.toml", INCAST);
    for (name, congestion) in [("ndp", "ndp"), ("cubic", "cubic")] {
        let (set, json) = (format!("network.congestion.kind={congestion}"), format!("{name}.json"));
        let queues = ["--cdf=depths.svg", "--cdf-of=queue-depth"];
        let run = ["run", "incast.toml", "--quiet", "--set", &set, "--json", &json];
        assert_eq!(scratch.stratasim(&[&run[..], &queues].concat()).code, 0);
    }
    for of in ["completion-time", "slow-down", "link-utilisation", "longest-queue", "queue-depth"] {
        let ended =
            scratch.stratasim(&["report", "ndp.json", "cubic.json", "--cdf=both.svg", "--cdf-of", of]);
        assert_eq!(ended.code, 0, "{}", ended.errors);
        let picture = scratch.read("both.svg");
        assert!(["ndp", "cubic"].iter().all(|name| picture.contains(&format!(">{name}"))), "{of}: {picture}");
    }
}

#[test]
fn what_nobody_tells_is_refused_before_anything_runs() {
    let scratch = Scratch::new();
    scratch.write("incast.toml", INCAST);
    let compare =
        |options: &[&str]| scratch.stratasim(&[&["compare", "incast.toml", "--cdf=c.svg"], options].concat());
    compare(&["--networks=message,flow"]).failed(2, &["--cdf", "messages", "none of these networks"]);
    compare(&["--networks=message", "--cdf-of=longest-queue"])
        .failed(2, &["--cdf-of longest-queue", "queues"]);
    compare(&["--cdf-of=queue-depth"]).failed(2, &["queue-depth", "stratasim run"]);
    assert!(!scratch.names().iter().any(|name| name == "c.svg"), "{:?}", scratch.names());
}
