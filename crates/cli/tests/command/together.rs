//! Distributions, and slow-downs by size, of several results in one picture.

use crate::support::Scratch;

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

#[test]
fn slow_downs_are_drawn_over_the_sizes_of_messages() {
    let scratch = Scratch::new();
    scratch.write("incast.toml", INCAST);
    let sizes =
        ["--set=workload.size={kind=\"uniform\",min=\"1 kB\",max=\"100 kB\"}", "--set=workload.flows=60"];
    let run = ["run", "incast.toml", "--by-size=one.svg", "--json=one.json"];
    let ended = scratch.stratasim(&[&run[..], &sizes].concat());
    assert!(ended.errors.contains("wrote one.svg (slow-downs by size)"), "{}", ended.errors);
    let picture = scratch.read("one.svg");
    assert!(["half of them", "90 %", "99 %"].iter().all(|name| picture.contains(name)), "{picture}");
    let result: serde_json::Value = serde_json::from_str(&scratch.read("one.json")).unwrap();
    let groups = result["flows"]["by_size"].as_array().unwrap();
    let counts: Vec<u64> = groups.iter().map(|group| group["count"].as_u64().unwrap()).collect();
    assert_eq!(counts, [10; 6]);
    let mut before = 0;
    for group in groups {
        let [least, most] = ["min_bytes", "max_bytes"].map(|key| group[key].as_u64().unwrap());
        assert!((1000..=100_000).contains(&least) && before < least && least <= most, "{group}");
        before = most;
    }
    // every message is in a group, and so the worst is in one
    let worst = groups.iter().map(|group| group["slowdown"]["max"].as_f64().unwrap()).fold(0.0, f64::max);
    assert_eq!(result["flows"]["slowdown"]["max"].as_f64(), Some(worst));

    let compare = ["compare", "incast.toml", "--networks=packet,flow", "--by-size=all.svg"];
    let swift = "--with=swift: network.congestion.kind=swift";
    let ended = scratch.stratasim(&[&compare[..], &sizes, &[swift]].concat());
    let picture = scratch.read("all.svg");
    assert!(picture.contains(">packet<") && picture.contains(">packet, swift<"), "{picture}");
    assert!(
        ended.errors.contains("no curve there for `flow`: nothing is told of messages"),
        "{}",
        ended.errors
    );
    let ended = scratch.stratasim(&["report", "one.json", "--by-size=again.svg", "--html=page.html"]);
    assert_eq!(ended.code, 0, "{}", ended.errors);
    assert_eq!(scratch.read("again.svg"), scratch.read("one.svg"));
    assert!(scratch.read("page.html").contains("Slow-downs by size"));

    let same = scratch.stratasim(&["run", "incast.toml", "--by-size=none.svg"]);
    assert!(same.errors.contains("nothing in none.svg: all messages have the same size"), "{}", same.errors);
    let flow = ["compare", "incast.toml", "--networks=flow,message", "--by-size=none.svg"];
    scratch.stratasim(&flow).failed(2, &["--by-size", "none of these networks"]);
    assert!(!scratch.names().iter().any(|name| name == "none.svg"), "{:?}", scratch.names());
}

/// A ratio may be the name of a variant, what cannot run is named, and results of files with one name are told apart.
#[test]
fn variants_and_files_are_called_what_they_are() {
    let scratch = Scratch::new();
    scratch.write("incast.toml", INCAST);
    let ended = scratch.stratasim(&["compare", "incast.toml", "--with=8:1: topology.nodes=9"]);
    assert!(ended.code == 0 && ended.output.contains("B  8:1\n"), "{} {}", ended.output, ended.errors);
    let ended = scratch.stratasim(&[
        "compare",
        "incast.toml",
        "--with=lossless: network.ecn={ min = \"1 B\", max = \"0 B\" }",
    ]);
    ended.failed(2, &["`lossless` cannot run", "network.ecn"]);
    for folder in ["one", "two"] {
        std::fs::create_dir(scratch.path().join(folder)).unwrap();
        let json = format!("{folder}/r.json");
        assert_eq!(scratch.stratasim(&["run", "incast.toml", "--quiet", "--json", &json]).code, 0);
    }
    let ended = scratch.stratasim(&["report", "one/r.json", "two/r.json"]);
    assert!(
        ["A  one/r.json\n", "B  two/r.json\n"].iter().all(|name| ended.output.contains(name)),
        "{}",
        ended.output
    );
}

/// Columns are as wide as what stands in them.
#[test]
fn long_numbers_stay_apart() {
    let scratch = Scratch::new();
    scratch.write("incast.toml", &INCAST.replace("packet", "flow").replace("1 MB", "1 kB"));
    let ended = scratch.stratasim(&["compare", "incast.toml", "--with=topology.bandwidth=\"1 B/s\""]);
    let row = ended.output.lines().find(|line| line.trim_start().starts_with("change")).expect("a row");
    assert!(row.contains(" - +") || row.split_whitespace().count() == 4, "{row}");
}

/// Whoever compares transports compares the buffers that they come with.
#[test]
fn unlike_buffers_are_shown_and_told_of_unless_they_were_asked_for() {
    let scratch = Scratch::new();
    scratch.write("incast.toml", INCAST);
    let compare = |more: &[&str]| {
        let swift = "--with=network.congestion=swift";
        let ended = scratch.stratasim(&[&["compare", "incast.toml", swift][..], more].concat());
        assert_eq!(ended.code, 0, "{}", ended.errors);
        let words = ended.output.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = ended.output.lines().find(|line| line.contains("its buffer")).unwrap().to_owned();
        let sizes = line.trim().trim_start_matches("its buffer").trim();
        let (nscc, swift) = sizes.split_once("  ").unwrap();
        let sizes = [nscc, swift].map(|size| size.trim().to_owned());
        (words.contains("the buffers differ"), sizes)
    };
    let (is_told, [nscc, swift]) = compare(&["--set=network.congestion=nscc"]);
    assert!(is_told && nscc != swift, "{nscc} {swift}");
    let (is_told, sizes) = compare(&["--set=network.congestion=nscc", "--set=network.buffer=100 kB"]);
    assert_eq!((is_told, sizes), (false, ["100 kB".to_owned(), "100 kB".to_owned()]));
}

/// Flow level takes one way where packet level takes several, which random placement makes matter.
#[test]
fn who_compares_one_way_with_several_is_told() {
    let scratch = Scratch::new();
    let compare = |topology: &str, more: &[&str]| {
        let topology = format!("--set=topology={topology}");
        scratch.write("incast.toml", INCAST);
        let arguments = [&["compare", "incast.toml", topology.as_str()][..], more].concat();
        let ended = scratch.stratasim(&arguments);
        assert_eq!(ended.code, 0, "{}", ended.errors);
        ended.output.contains("flow level sends all from one node to another one way")
    };
    let tree = "{ kind = \"leaf-spine\", leaves = 4, spines = 2, hosts-per-leaf = 2, bandwidth = \"100 Gbps\", latency = \"1 us\" }";
    let switch = "{ kind = \"single-switch\", nodes = 5, bandwidth = \"100 Gbps\", latency = \"1 us\" }";
    let both = "--networks=flow,packet";
    assert!(compare(tree, &[both]));
    assert!(!compare(tree, &[both, "--set=network.balancing=routing"]));
    assert!(!compare(tree, &["--networks=message,packet"]));
    assert!(!compare(switch, &[both]));
}
