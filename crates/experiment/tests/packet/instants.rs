//! What comes first where several things happen at one instant.

use crate::common::run;

/// A message over a switch into a slower link, at rates of which one divides the other: packets arrive as others have left.
fn into_a_slower_link(fast_gbps: u32, slow_gbps: u32, network: &str) -> (f64, u64) {
    let result = run(&format!(
        "[topology]\nkind = \"graph\"\nnodes = [{{ name = \"a\" }}, {{ name = \"b\" }}, {{ name = \"s\", kind = \"switch\" }}]\n\
         links = [{{ from = \"a\", to = \"s\", bandwidth = \"{fast_gbps} Gbps\", latency = \"1 us\" }}, \
         {{ from = \"s\", to = \"b\", bandwidth = \"{slow_gbps} Gbps\", latency = \"1 us\" }}]\n\
         [workload]\nkind = \"graph\"\n\
         vertices = [{{ name = \"x\", kind = \"communication\", source = 0, destination = 1, bytes = \"819200 B\" }}]\n\
         [network]\nkind = \"packet\"\necn = {{ enabled = false }}\ncongestion = {{ kind = \"fixed-window\", window = \"10 MB\" }}\n\
         queue = \"drop-tail\"\nrecovery = \"sack\"\n{network}\n"
    ));
    (result.makespan_s, result.counter("network.drops").expect("counted"))
}

/// One of two ports has anything to send: a buffer that both share without limit is one of its own, twice as large.
#[test]
fn what_leaves_a_shared_buffer_is_gone_before_what_arrives_then() {
    for (fast, slow, packets) in [(100, 25, 4), (100, 25, 8), (100, 50, 16), (40, 10, 4)] {
        let own = into_a_slower_link(fast, slow, &format!("buffer = \"{} B\"", packets * 4160));
        let half = packets * 4160 / 2;
        let sharing = format!("buffer = \"{half} B\"\nbuffer-sharing = {{ alpha = 1e9 }}");
        let shared = into_a_slower_link(fast, slow, &sharing);
        assert!(own.1 > 0, "nothing is dropped");
        assert_eq!(own, shared, "{fast} to {slow} Gb/s, {packets} packets");
    }
}

/// A first window of ten, of which some are trimmed: the rest of it goes at once all the same, and only repeats wait for
/// pulls, however rare these are.
#[test]
fn the_first_window_of_ndp_does_not_wait_for_pulls() {
    let lasts = |pull_rate: f64| {
        run(&format!(
            "[topology]\nkind = \"graph\"\nnodes = [{{ name = \"a\" }}, {{ name = \"b\" }}, {{ name = \"c\" }}, {{ name = \"s\", kind = \"switch\" }}]\n\
             links = [{{ from = \"a\", to = \"s\", bandwidth = \"10 Gbps\", latency = \"1 us\" }}, \
             {{ from = \"b\", to = \"s\", bandwidth = \"10 Gbps\", latency = \"1001 ns\" }}, \
             {{ from = \"s\", to = \"c\", bandwidth = \"10 Gbps\", latency = \"1 us\" }}]\n\
             [workload]\nkind = \"graph\"\nvertices = [{{ name = \"x\", kind = \"communication\", source = 0, destination = 2, bytes = \"4096 B\" }}, \
             {{ name = \"y\", kind = \"communication\", source = 1, destination = 2, bytes = \"40960 B\" }}]\n\
             [network]\nkind = \"packet\"\nbuffer = \"4160 B\"\necn = {{ enabled = false }}\n\
             congestion = {{ kind = \"ndp\", initial-packets = 10, pull-rate = {pull_rate} }}\n\
             recovery = {{ kind = \"trimming\", timeout = \"50 ms\" }}\n"
        ))
    };
    let result = lasts(0.05);
    assert_eq!(result.counter("network.trims"), Some(2));
    // the last packet of the window, and a pull's interval after the first pull
    assert!((result.makespan_s - 86.028e-6).abs() < 1e-9, "{}", result.makespan_s);
}

/// A packet in a microsecond; the second one is too many for the switch, and word of that is back as the third has left, just before
/// that or just after it, when the fourth is under way.
#[test]
fn a_request_to_stop_that_comes_as_the_link_becomes_free_is_there_before() {
    let most_waiting = |latency_ns: u32| {
        let result = run(&format!(
            "[topology]\nkind = \"graph\"\nnodes = [{{ name = \"a\" }}, {{ name = \"b\" }}, {{ name = \"s\", kind = \"switch\" }}]\n\
             links = [{{ from = \"a\", to = \"s\", bandwidth = \"8 Gbps\", latency = \"{latency_ns} ns\" }}, \
             {{ from = \"s\", to = \"b\", bandwidth = \"800 Mbps\", latency = \"1 us\" }}]\n\
             [workload]\nkind = \"graph\"\n\
             vertices = [{{ name = \"x\", kind = \"communication\", source = 0, destination = 1, bytes = \"9360 B\" }}]\n\
             [network]\nkind = \"packet\"\necn = {{ enabled = false }}\n\
             packets = {{ payload-bytes = 936, header-bytes = 64 }}\n\
             congestion = {{ kind = \"fixed-window\", window = \"10 MB\" }}\nrecovery = \"go-back-n\"\n\
             queue = {{ kind = \"lossless\", pause-above = \"1500 B\", resume-below = \"900 B\" }}\n"
        ));
        result.counter("network.longest_queue_bytes")
    };
    // two microseconds and twice the latency
    assert_eq!([499, 500, 501].map(most_waiting), [Some(3000), Some(3000), Some(4000)]);
}

const TIE: &str = r#"
[topology]
kind="graph"
nodes=[{name="h0"},{name="h1"},{name="h2"},{name="s0",kind="switch"},{name="s1",kind="switch"},{name="s2",kind="switch"}]
links=[{from="h0",to="s1",bandwidth="100000000000 bps",latency="265044 ps"},{from="h1",to="s2",bandwidth="25000000000 bps",latency="1922112 ps"},{from="h2",to="s0",bandwidth="40000000000 bps",latency="104185 ps"},{from="s0",to="s1",bandwidth="40000000000 bps",latency="1288312 ps"},{from="s0",to="s2",bandwidth="40000000000 bps",latency="913512 ps"}]
[workload]
kind="graph"
vertices=[{name="d0",kind="delay",rank=1,duration="251000 ps"},
{name="m0",kind="communication",source=1,destination=2,bytes="61440 B"},
{name="d1",kind="delay",rank=2,duration="3525002 ps"},
{name="m1",kind="communication",source=2,destination=1,bytes="723417 B"}]
edges=[{from="d0",to="m0"},{from="d1",to="m1"}]
[network]
kind="packet"
packets={payload-bytes=4096,header-bytes=64,control-bytes=64}
switching="cut-through"
classes=[{up-to="159744 B"},{}]
queue={kind="drop-tail"}
buffer="10000000 B"
ecn={min="59385 B",max="59385 B"}
congestion={kind="swift",base-target="30 us",initial-packets=0.5,flow-scaling-range="50 us"}
completion="sender"
"#;

/// The header of an acknowledgement comes as the link by which it goes on becomes free, where data waits: control goes first.
#[test]
fn a_header_that_comes_as_the_link_becomes_free_is_there_before() {
    let result = run(TIE);
    // the acknowledgement of packet 14, an instant in front of 4 kB at 25 Gb/s and not behind
    let first =
        result.flows.as_ref().and_then(|flows| flows.slowest.iter().find(|flow| flow.bytes == 61_440));
    assert!((first.unwrap().end_s - 58.014_581e-6).abs() < 1e-12, "{first:?}");
}

/// A packet leaves with three behind it as another comes, which counts as there. The instant is that of an independent model; where
/// this switch looks early at what leaves, as that may keep it from stopping the link, its queue is no shorter for that.
#[test]
fn what_telemetry_says_does_not_depend_on_when_links_are_stopped() {
    let result = run(r#"
[topology]
kind = "graph"
nodes = [{ name = "h0" }, { name = "h1" }, { name = "h2" }, { name = "s0", kind = "switch" }, { name = "s1", kind = "switch" }]
links = [
    { from = "h0", to = "s1", bandwidth = "100 Gbps", latency = "812493 ps" },
    { from = "h1", to = "s1", bandwidth = "25 Gbps", latency = "2000767 ps" },
    { from = "h2", to = "s0", bandwidth = "40 Gbps", latency = "1836180 ps" },
    { from = "s0", to = "s1", bandwidth = "10 Gbps", latency = "356197 ps" },
]

[workload]
kind = "graph"
vertices = [
    { name = "d0", kind = "delay", rank = 1, duration = "1835004 ps" },
    { name = "m0", kind = "communication", source = 1, destination = 2, bytes = "190619 B" },
]
edges = [{ from = "d0", to = "m0" }]

[network]
kind = "packet"
packets = { payload-bytes = 4096, header-bytes = 64, control-bytes = 64 }
queue = { kind = "lossless", pause-above = "20652 B", resume-below = "8320 B", control-first = true }
ecn = { min = "58157 B", max = "58157 B" }
congestion = { kind = "hpcc", base-rtt = "23 us", additive = "2000 B" }
"#);
    assert!(result.counter("network.pauses").expect("counted") > 0);
    assert_eq!((result.makespan_s * 1e12).round() as u64, 166_723_816);
}
