//! What machines cannot exceed: capacities and rates of memories, speeds that change.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use stratasim_core::observe::Blind;
use stratasim_experiment::{Document, Prepared};
use stratasim_report::RunResult;

fn prepare(text: &str, base: &Path) -> Result<Prepared, String> {
    let document = Document::parse("test.toml", text).map_err(|error| error.to_string())?;
    Prepared::new(&document, base).map_err(|error| error.to_string())
}

fn run_in(text: &str, base: &Path) -> RunResult {
    run(prepare(text, base).unwrap_or_else(|error| panic!("{error}\n{text}")))
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The result, whose checks hold, or why it failed.
fn run(mut prepared: Prepared) -> Result<RunResult, String> {
    #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
    let result = prepared.run(&mut Blind, Instant::now()).map_err(|error| error.to_string())?;
    assert!(result.checks_hold(), "{:?}", result.checks);
    Ok(result)
}

/// What runs on a SimGrid platform.
fn on_platform(platform: &str, rest: &str) -> Prepared {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.xml"), platform).unwrap();
    let text = format!("[topology]\nkind = \"simgrid-xml\"\npath = \"p.xml\"\n{rest}");
    prepare(&text, folder.path()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Two accelerators with 1 GB each and one memory node of `pool` for both.
fn shared(pool: &str, workload: &str) -> String {
    format!(
        r#"
[topology]
kind = "graph"
nodes = [
  {{ name = "a", home-memory = "m", compute = {{ base = "H100", memory = "1 GB" }} }},
  {{ name = "b", home-memory = "m", compute = {{ base = "H100", memory = "1 GB" }} }},
  {{ name = "m", kind = "memory", {pool} }},
  {{ name = "s", kind = "switch" }},
]
links = [
  {{ from = "a", to = "s", bandwidth = "10 GB/s", latency = "1 us" }},
  {{ from = "b", to = "s", bandwidth = "10 GB/s", latency = "1 us" }},
  {{ from = "m", to = "s", bandwidth = "10 GB/s", latency = "1 us" }},
]

[workload]
{workload}
"#
    )
}

const MODEL: &str = "kind = \"transformer\"\nmodel = \"llama2-7b\"\nlayers = 1\n";

#[test]
fn what_all_ranks_place_in_a_shared_memory_must_fit_into_it() {
    let used = run_in(&shared("capacity = \"1 TB\"", MODEL), Path::new("")).memory.unwrap();
    let [each] = used.as_slice() else { panic!("both ranks place the same") };
    assert_eq!(each.local_bytes, 1_000_000_000);
    let both = 2 * each.remote_bytes;
    run_in(&shared(&format!("capacity = \"{both} B\""), MODEL), Path::new(""));
    // each of the two would fit alone
    let error = prepare(&shared(&format!("capacity = \"{} B\"", both - 1), MODEL), Path::new("")).err();
    let error = error.expect("one byte is missing");
    assert!(error.contains("the memory of m holds") && error.contains("2 ranks there"), "{error}");
}

#[test]
fn ranks_on_one_node_share_its_memory() {
    let machine = shared("capacity = \"1 TB\"", MODEL);
    let placed = format!("{machine}\n[placement]\nkind = \"list\"\nnodes = [\"a\", \"a\"]\n");
    let used = run_in(&placed, Path::new("")).memory.unwrap();
    assert_eq!(used[0].local_bytes, 500_000_000);
}

#[test]
fn the_rate_of_a_memory_is_a_bound() {
    let workload = r#"kind = "graph"
iterations = 3
vertices = [{ name = "x", kind = "compute", ranks = "all", memory-bytes = "5 GB", memory = "home" }]"#;
    let result = run_in(&shared("bandwidth = \"1 GB/s\"", workload), Path::new(""));
    let binding = result.binding.unwrap();
    assert_eq!((binding.bound.name.as_str(), binding.bound.place.as_str()), ("rate of a memory", "m"));
    assert!((binding.bound.seconds - 30.0).abs() < 1e-9, "{binding:?}");
    assert!(binding.ratio < 1.001, "{binding:?}");
}

/// 5 GB in a memory of 1 GB/s, twice, over cables of 10 and more: by routes the message level knows its rate, and no level
/// breaks a bound.
#[test]
fn the_rate_of_a_memory_counts_at_every_level_that_knows_it() {
    let workload = r#"kind = "graph"
vertices = [{ name = "x", kind = "compute", rank = 0, memory-bytes = "5 GB", memory = "home" }]"#;
    let machine = shared("bandwidth = \"1 GB/s\"", workload);
    let lasts =
        |network: &str| run_in(&format!("{machine}\n[network]\n{network}\n"), Path::new("")).makespan_s;
    let routes = "kind = \"message\"\nfrom-routes = true\nlatency = \"0 s\"\noverhead = \"0 s\"\ngap = \"0 s\"\ngap-per-byte = \"0 ns/B\"";
    for network in ["kind = \"flow\"", routes] {
        let lasts = lasts(network);
        assert!((lasts - 5.000_003).abs() < 2e-6, "{network}: {lasts}");
    }
    // no machine, and a rule by which a message of any rate is faster than it
    assert!((lasts("kind = \"constant-rate\"\nbandwidth = \"10 GB/s\"") - 0.5).abs() < 1e-9);
    let faster =
        "kind = \"flow\"\nrule = \"cm02\"\noptions = { bandwidth-factor = 1.25, tcp-gamma = \"0 B\" }";
    assert!((lasts(faster) - 4.0).abs() < 1e-4);
}

/// Seconds that 2 GFLOP take on a host of 1 GFLOP/s with these profiles.
fn with_profiles(profiles: &[(&str, &str)]) -> f64 {
    let mut platform =
        "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/>".to_owned();
    for (kind, points) in profiles {
        platform += &format!("<trace id=\"{kind}\" periodicity=\"0\">{points}</trace>");
        platform += &format!("<trace_connect kind=\"{kind}\" trace=\"{kind}\" element=\"a\"/>");
    }
    platform += "</zone></platform>";
    let text = r#"
[workload]
kind = "graph"
vertices = [{ name = "c", kind = "compute", rank = 0, flops = "2 GFLOP" }]
"#;
    run(on_platform(&platform, text)).unwrap().makespan_s
}

#[test]
fn a_node_that_becomes_faster_than_its_nominal_speed_breaks_no_bound() {
    assert_eq!(with_profiles(&[("SPEED", "0 2")]), 1.0);
    assert_eq!(with_profiles(&[("SPEED", "1 4")]), 1.25);
}

#[test]
fn a_link_that_becomes_slower_after_a_transfer_breaks_no_bound() {
    let platform = r#"<platform version="4.1"><zone id="z" routing="Full">
<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
<trace id="t" periodicity="0">2.5 1e8</trace>
<link id="l" bandwidth="1GBps" latency="0"/><route src="a" dst="b"><link_ctn id="l"/></route>
<trace_connect kind="BANDWIDTH" trace="t" element="l"/></zone></platform>"#;
    let text = r#"
[workload]
kind = "graph"
vertices = [
  { name = "early", kind = "communication", source = 0, destination = 1, bytes = "2 GB" },
  { name = "wait", kind = "delay", rank = 1, duration = "3 s" },
  { name = "late", kind = "communication", source = 0, destination = 1, bytes = "10 MB" },
]
edges = [{ from = "wait", to = "late" }]
"#;
    // the early one has the full rate, the late one the tenth that is left
    assert_eq!(run(on_platform(platform, text)).unwrap().makespan_s, 3.1);
}

#[test]
fn messages_that_take_different_ways_break_no_bound() {
    // two ways of equally many links, one ten times as fast: which one is a matter of hashing
    let took: Vec<f64> = (0..8)
        .map(|salt| {
            let text = format!(
                r#"
[topology]
kind = "graph"
nodes = [{{ name = "a" }}, {{ name = "b" }}, {{ name = "s", kind = "switch" }}]
links = [
  {{ from = "a", to = "s", bandwidth = "10 GB/s", latency = "0 ns" }},
  {{ from = "a", to = "s", bandwidth = "1 GB/s", latency = "0 ns" }},
  {{ from = "s", to = "b", bandwidth = "10 GB/s", latency = "0 ns" }},
]

[routing]
kind = "ecmp"
salt = {salt}

[workload]
kind = "graph"
vertices = [{{ name = "x", kind = "communication", source = 0, destination = 1, bytes = "1 GB" }}]
"#
            );
            run_in(&text, Path::new("")).makespan_s
        })
        .collect();
    assert!(took.contains(&0.1) && took.contains(&1.0), "{took:?}");
}

#[test]
fn a_node_that_comes_back_has_the_speed_of_its_profile() {
    // 0.5 GFLOP in the first second, off until 3 s, 1.5 GFLOP at half speed
    assert_eq!(with_profiles(&[("SPEED", "0 0.5"), ("HOST_AVAIL", "1 0\n3 1")]), 6.0);
    // a new speed does not switch it on
    assert_eq!(with_profiles(&[("SPEED", "2 4"), ("HOST_AVAIL", "1 0\n3 1")]), 3.25);
}

const BUSY: &str = r#"
[topology]
kind = "single-switch"
nodes = 4
bandwidth = "1 GB/s"
latency = "1 us"

[workload]
kind = "traffic"
flows = 300
size = { kind = "fixed", bytes = "10 kB" }
"#;

#[test]
fn merged_events_break_no_bound() {
    // messages of nearly equal sizes share a link and end together, the longer ones early
    let messages: Vec<String> = (0..100)
        .map(|index| {
            let bytes = 100_000 + 10 * index;
            format!(
                "{{ name = \"m{index}\", kind = \"communication\", source = 0, destination = 1, bytes = \"{bytes} B\" }}"
            )
        })
        .collect();
    let text = format!(
        r#"
[topology]
kind = "single-switch"
nodes = 2
bandwidth = "1 GB/s"
latency = "0 s"

[workload]
kind = "graph"
vertices = [{}]

[execution]
timing-precision = "1 us"
"#,
        messages.join(", ")
    );
    let result = run_in(&text, Path::new(""));
    assert!(result.makespan_s < 10_049_500.0 / 1e9, "nothing was merged");
}

#[test]
fn a_bandwidth_factor_above_one_breaks_no_bound() {
    let network = "[network]\nkind = \"flow\"\nrule = \"cm02\"\noptions = { bandwidth-factor = 2.0 }\n";
    run_in(&format!("{BUSY}{network}"), Path::new(""));
}

#[test]
fn a_link_that_was_faster_before_is_not_busier_than_always() {
    let platform = r#"<?xml version="1.0"?>
<platform version="4.1"><zone id="z" routing="Full">
<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
<trace id="bw" periodicity="0">2.5 1e8
</trace>
<link id="l" bandwidth="1GBps" latency="1us"/>
<route src="a" dst="b"><link_ctn id="l"/></route>
<trace_connect kind="BANDWIDTH" trace="bw" element="l"/>
</zone></platform>"#;
    let text = r#"
[workload]
kind = "graph"
vertices = [
  { name = "x", kind = "communication", source = 0, destination = 1, bytes = "2 GB" },
  { name = "d", kind = "delay", rank = 1, duration = "3 s" },
  { name = "y", kind = "communication", source = 0, destination = 1, bytes = "1 MB" },
]
edges = [{ from = "d", to = "y" }]
"#;
    let result = run(on_platform(platform, text)).unwrap();
    let links = result.links.unwrap();
    assert_eq!(links.len(), 1);
    // 2.001 GB at the highest rate of 1 GB/s, in the 3.01 s that the run takes
    assert!((links[0].busy_s - 2.001).abs() < 1e-9 && links[0].utilisation < 1.0, "{:?}", links[0]);
}

/// A hop and a round trip have limits at packet level, and time has an end, which is told as on other levels.
#[test]
fn packets_end_with_time() {
    let text = |bandwidth: &str, latency: &str, bytes: &str, network: &str| {
        format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 4\nbandwidth = \"{bandwidth}\"\nlatency = \"{latency}\"\n\
             [workload]\nkind = \"collective\"\noperation = \"all-to-all\"\nbytes = \"{bytes}\"\n\
             [network]\nkind = \"packet\"\n{network}"
        )
    };
    let refusal = |bandwidth: &str, latency: &str| {
        let text = text(bandwidth, latency, "1 MB", "");
        prepare(&text, Path::new("")).err().expect("it takes too long")
    };
    assert!(refusal("100 Gbps", "100 d").contains("until it is at the other end; at most"), "latency");
    assert!(refusal("8 bps", "1 us").contains("link host-0->switch: a packet of"), "rate");
    let all_day = |latency: &str| {
        let ring = text("100 Gbps", latency, "1 MB", "congestion = { kind = \"constant-rate\" }");
        let ring = ring.replace("single-switch", "ring").replace("nodes = 4", "nodes = 200");
        prepare(&ring, Path::new("")).err()
    };
    assert!(
        all_day("10 min").expect("a hundred hops there and back").contains("the longest way there and back")
    );
    assert_eq!(all_day("5 min"), None);
    let failure = |text: &str| {
        let mut prepared = prepare(text, Path::new("")).unwrap_or_else(|error| panic!("{error}\n{text}"));
        #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
        prepared.run(&mut Blind, Instant::now()).expect_err("it does not end").to_string()
    };
    for network in [
        "congestion = { kind = \"dcqcn\" }",
        "congestion = { kind = \"constant-rate\" }\nrecovery = { kind = \"go-back-n\" }",
        "congestion = { kind = \"dctcp\" }",
    ] {
        let error = failure(&text("10 bps", "1 s", "40 MB", network));
        assert!(error.contains("more than 213 days"), "{network}: {error}");
    }
    let network = "recovery = { kind = \"go-back-n\", timeout = \"200 d\" }\nloss = { probability = 0.1 }";
    let error = prepare(&text("100 Gbps", "1 us", "1 MB", network), Path::new("")).err();
    assert!(error.as_ref().is_some_and(|error| error.contains("at most a day is possible")), "{error:?}");
}

/// Five hosts send a flit each in four cycles, to one behind an output that holds one flit. When each is done, in cycles, is what a
/// router that was written down independently says; guesses that look at nothing would let seven flits in.
#[test]
fn guesses_that_look_at_nothing_find_no_room_behind_the_crossbar() {
    let mut vertices = String::new();
    let mut edges = String::new();
    for (at, (cycle, host)) in (3..7).flat_map(|cycle| (1..6).map(move |host| (cycle, host))).enumerate() {
        let _ = write!(
            vertices,
            "{{ name = \"m{at}\", kind = \"communication\", source = {host}, destination = 0, bytes = 32 }}, \
             {{ name = \"d{at}\", kind = \"delay\", rank = {host}, duration = \"{cycle} ns\" }}, "
        );
        let _ = write!(edges, "{{ from = \"d{at}\", to = \"m{at}\" }}, ");
    }
    for guess in ["credit", "always"] {
        let text = format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 6\nbandwidth = \"32 GB/s\"\nlatency = \"1 ns\"\n\
             [workload]\nkind = \"graph\"\nvertices = [{vertices}]\nedges = [{edges}]\n\
             [network]\nkind = \"flit\"\nflit-bytes = \"32 B\"\npacket-flits = 64\n[network.router]\nvirtual-channels = 4\n\
             buffer-flits = 8\nrouting-delay = 0\nspeculation = \"separate\"\ninternal-speedup = 4.0\noutput-buffer-flits = 1\n\
             requests = {{ guess = \"{guess}\" }}\n"
        );
        let result = run_in(&text, Path::new(""));
        let done: Vec<u64> =
            result.ranks[1..].iter().map(|rank| (rank.finish_s * 1e9).round() as u64).collect();
        assert_eq!(done, [18, 19, 23, 24, 27], "{guess}");
    }
}

/// A message with a limit that was held up by others does not make up for all of that afterwards.
#[test]
fn a_limit_of_the_sender_holds_after_others_are_done() {
    let ends = |network: &str, cap: &str| {
        let text = format!(
            r#"
[topology]
kind = "mesh"
dimensions = [2]
bandwidth = "32 GB/s"
latency = "1 ns"
[network]
kind = "{network}"
[workload]
kind = "graph"
vertices = [
 {{ name = "a", kind = "communication", source = 0, destination = 1, bytes = "64 kB"{cap} }},
 {{ name = "b", kind = "communication", source = 0, destination = 1, bytes = "16 kB" }},
 {{ name = "c", kind = "communication", source = 0, destination = 1, bytes = "16 kB" }},
 {{ name = "d", kind = "communication", source = 0, destination = 1, bytes = "16 kB" }},
]
"#
        );
        run_in(&text, Path::new("")).makespan_s
    };
    for cap in ["16 GB/s", "12 GB/s"] {
        let cap = format!(", rate-cap = \"{cap}\"");
        let [flit, flow] = ["flit", "flow"].map(|network| ends(network, &cap));
        assert!((flit / flow - 1.0).abs() < 0.03, "{cap}: {flit} s, {flow} s at flow level");
    }
}

/// When a message of 10 B from a to b ends that starts at `start` s, on a link of 10 B/s and 0.5 s that changes; `None` where it
/// fails.
fn over_a_link_that_changes(kind: &str, points: &str, start: u32, network: &str) -> Option<f64> {
    let platform = format!(
        r#"<platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
<trace id="t">
{points}
</trace>
<link id="l" bandwidth="10Bps" latency="0.5"/><route src="a" dst="b"><link_ctn id="l"/></route>
<trace_connect kind="{kind}" trace="t" element="l"/></zone></platform>"#
    );
    let text = format!(
        r#"
[workload]
kind = "graph"
vertices = [
  {{ name = "wait", kind = "delay", rank = 0, duration = "{start} s" }},
  {{ name = "late", kind = "communication", source = 0, destination = 1, bytes = "10 B" }},
]
edges = [{{ from = "wait", to = "late" }}]

[network]
kind = "flow"
{network}
"#
    );
    run(on_platform(&platform, &text)).ok().map(|result| result.makespan_s)
}

#[test]
fn what_changed_while_no_message_was_there_counts_for_the_next_one() {
    let lasts = |kind, points, start| over_a_link_that_changes(kind, points, start, "");
    assert_eq!(lasts("LINK_AVAIL", "1 0\n2.5 1", 10), Some(11.5), "it is up again");
    assert_eq!(lasts("LINK_AVAIL", "1 0\n20 1", 10), None, "it is down");
    assert_eq!(lasts("LATENCY", "1 0.1", 10), Some(11.1));
    assert_eq!(lasts("LATENCY", "0 0.1", 0), Some(1.1), "from the start on");
    assert_eq!(lasts("BANDWIDTH", "1 20", 10), Some(11.0));
    assert_eq!(lasts("BANDWIDTH", "1 20\n12 5", 10), Some(11.0), "not before its time");
    // cm02 remembers the rate that there is at the start; a twentieth goes the other way as acknowledgements
    let rule = "rule = \"cm02\"\noptions = { bandwidth-factor = 1.0, latency-factor = 1.0, weight-s = \"0 B\", tcp-gamma = \"0 B\" }";
    assert_eq!(over_a_link_that_changes("BANDWIDTH", "1 20", 10, rule), Some(11.025));
}
