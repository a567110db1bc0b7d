//! The fast and the full kernel under open-loop traffic that asks for their rarer rules: they give the same numbers, on
//! any number of threads.

use std::path::Path;
use std::time::Instant;

use stratasim_experiment::traffic::statistics;
use stratasim_experiment::{Document, Traffic};
use stratasim_report::result::RunResult;
use stratasim_report::traffic::{ChannelSummary, TrafficResult};

fn prepare(text: &str) -> Result<Traffic, String> {
    let document = Document::from_toml("test.toml", text).map_err(|error| error.to_string())?;
    Traffic::new(&document, Path::new("")).map_err(|error| error.to_string())
}

fn run_with(text: &str, threads: usize) -> RunResult {
    let traffic = prepare(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    #[allow(clippy::disallowed_methods, reason = "the wall time of the result")]
    let result = traffic
        .run_on_threads(threads, &|| false, None, Instant::now())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(result.checks_hold(), "{:?}", result.checks);
    result
}

/// The same by both kernels, which agree in all but counts of channels.
fn by_both(text: &str) -> [RunResult; 2] {
    let of =
        |kernel: &str| run_with(&text.replace("[traffic]", &format!("[traffic]\nkernel = \"{kernel}\"")), 1);
    let both = ["fast", "full"].map(of);
    let [fast, full] = both
        .each_ref()
        .map(|result| TrafficResult { channels: ChannelSummary::default(), ..statistics(result).clone() });
    assert_eq!(fast, full, "{text}");
    both
}

#[test]
fn packets_of_one_source_with_different_virtual_channels() {
    let text = "[topology]\nkind = \"mesh\"\ndimensions = [6, 6]\nbandwidth = \"16 GB/s\"\nlatency = \"1 ns\"\n\
        [network]\nkind = \"flit\"\nrouter = { virtual-channels = 4, buffer-flits = 4, ranges = [[0, 1], [2, 3]] }\n\
        [traffic]\nmeasure = { warm-up = 500, window = 300, windows = 4, most-windows = 4 }\n\
        [[traffic.class]]\nload = 0.3\n[[traffic.class]]\nload = 0.3\nrange = 1\n";
    by_both(text);
}

#[test]
fn flits_of_a_packet_that_enter_more_than_65_535_cycles_apart() {
    // everybody sends 4,096 flits to one terminal: the last flits of a packet wait for those of 34 others
    let text = "[topology]\nkind = \"mesh\"\ndimensions = [6, 6]\nbandwidth = \"16 GB/s\"\nlatency = \"1 ns\"\n\
        [network]\nkind = \"flit\"\nrouter = { virtual-channels = 2, buffer-flits = 4 }\n\
        [traffic]\nload = 0.9\nflits = 4096\npattern = { kind = \"incast\" }\ninjection = { kind = \"periodic\" }\n\
        batch = { packets = 1 }\nmeasure = { window = 10000 }\n";
    let [fast, _] = by_both(text);
    let result = statistics(&fast);
    assert!(result.packet_latency_cycles.max > Some(100_000), "{:?}", result.packet_latency_cycles);
    assert!(result.flit_latency_cycles.mean.unwrap() < 2000.0, "{:?}", result.flit_latency_cycles);
}

#[test]
fn a_batch_whose_flits_wait_for_credits_is_under_way() {
    // from the far host to the near one flits arrive before their credits are back
    let text = "[topology]\nkind = \"graph\"\n\
        nodes = [{ name = \"s\", kind = \"switch\" }, { name = \"far\", compute = \"H100\" }, { name = \"near\", compute = \"H100\" }]\n\
        links = [{ from = \"far\", to = \"s\", bandwidth = \"16 GB/s\", latency = \"61 ns\" }, \
                 { from = \"near\", to = \"s\", bandwidth = \"16 GB/s\", latency = \"5 ns\" }]\n\
        [network]\nkind = \"flit\"\nrouter = { virtual-channels = 2, buffer-flits = 1 }\n\
        [traffic]\nload = 0.5\nflits = 16\npattern = { kind = \"list\", pairs = [[0, 1]] }\n\
        batch = { packets = 1 }\nmeasure = { window = 10 }\n";
    let [fast, _] = by_both(text);
    assert_eq!(statistics(&fast).packet_latency_cycles.count, 1);
}

/// One terminal of four at a switch sends to another.
fn one_sender(cable: &str, latency: &str, router: &str, traffic: &str) -> String {
    let link = |host: u32, bandwidth: &str| {
        format!("{{ from = \"h{host}\", to = \"s\", bandwidth = \"{bandwidth}\", latency = \"{latency}\" }}")
    };
    let links = [link(0, cable), link(1, "32 GB/s"), link(2, "32 GB/s"), link(3, "32 GB/s")].join(", ");
    format!(
        "[topology]\nkind = \"graph\"\nnodes = [{{ name = \"h0\" }}, {{ name = \"h1\" }}, {{ name = \"h2\" }}, \
         {{ name = \"h3\" }}, {{ name = \"s\", kind = \"switch\" }}]\nlinks = [{links}]\n\
         [network]\nkind = \"flit\"\nflit-bytes = \"32 B\"\nclock = \"1 GHz\"\nrouter = {{ {router} }}\n\
         [traffic]\npattern = {{ kind = \"list\", pairs = [[0, 1]] }}\n{traffic}\n"
    )
}

#[test]
fn a_batch_by_a_cable_a_little_slower_than_the_clock_fills_it() {
    for flits in [1_u64, 16] {
        let traffic = format!("flits = {flits}\nbatch = {{ packets = 3000 }}");
        let router = "virtual-channels = 8, buffer-flits = 16";
        let [fast, _] = by_both(&one_sender("31.99 GB/s", "1 ns", router, &traffic));
        let took = statistics(&fast).batch.unwrap().duration_cycles;
        // 257 of 256 cycles per flit; a flit takes a cycle more than the latency of the cable, and the way of one takes 8
        let least = (257 * (3000 * flits - 1)).div_ceil(256);
        assert!((least..=least + 10).contains(&took), "{flits}: {took} cycles, at least {least}");
    }
}

#[test]
fn a_batch_accepts_what_it_offers_however_windows_end() {
    let traffic = "flits = 4\nbatch = { packets = 91, outstanding = 1 }";
    let [fast, _] =
        by_both(&one_sender("32 GB/s", "1 ns", "virtual-channels = 8, buffer-flits = 16", traffic));
    let found = statistics(&fast);
    assert_eq!(found.accepted_flits_per_cycle, found.offered_flits_per_cycle);
    // a packet every 11 cycles, of one terminal of four
    assert!((found.accepted_flits_per_cycle - 4.0 / 11.0 / 4.0).abs() < 1e-4, "{found:?}");
}

#[test]
fn a_table_of_routes_needs_none_from_a_terminal_to_itself() {
    let text = "[topology]\nkind = \"k-ary-n-fly\"\nk = 2\nn = 2\nbandwidth = \"16 GB/s\"\nlatency = \"1 ns\"\n\
        [network]\nkind = \"flit\"\nrouting = { kind = \"table\" }\nrouter = { virtual-channels = 4, buffer-flits = 8 }\n\
        [traffic]\nload = 0.2\nto-self = true\nmeasure = { warm-up = 100, window = 300 }\n";
    let [fast, _] = by_both(text);
    assert!((statistics(&fast).accepted_flits_per_cycle - 0.2).abs() < 0.03);
}

#[test]
fn slow_links_between_parts_change_nothing_on_several_threads() {
    // one way only, so that the part that receives has no such link of its own
    let slow: Vec<String> = (192..256).map(|from| format!("\"host-{from}->host-{}\"", from + 64)).collect();
    let text = format!(
        "[topology]\nkind = \"degraded\"\nfactor = 0.0625\nlinks = [{}]\n\
         of = {{ kind = \"torus\", dimensions = [8, 8, 8], bandwidth = \"32 GB/s\", latency = \"2 ns\" }}\n\
         [network]\nkind = \"flit\"\n\
         [traffic]\nload = 0.3\nflits = 4\nmeasure = {{ warm-up = 100, window = 50, windows = 4, most-windows = 4 }}\n",
        slow.join(", ")
    );
    let one = run_with(&text, 1);
    for threads in [2, 3] {
        assert_eq!(statistics(&one), statistics(&run_with(&text, threads)), "{threads} threads");
    }
    by_both(&text);
}

#[test]
fn flits_that_wait_for_a_narrow_channel_are_not_on_it() {
    // buffers of 255 flits before a link that takes a flit in 16 cycles
    let text = "[topology]\nkind = \"degraded\"\nfactor = 0.0625\nlinks = [\"host-1->host-2\"]\n\
        of = { kind = \"mesh\", dimensions = [4], bandwidth = \"16 GB/s\", latency = \"1 ns\" }\n\
        [network]\nkind = \"flit\"\nrouter = { virtual-channels = 4, buffer-flits = 255 }\n\
        [traffic]\nload = 0.8\npattern = { kind = \"list\", pairs = [[0, 3], [1, 2]] }\n\
        measure = { warm-up = 0, window = 200, windows = 2, most-windows = 2, drain = 0 }\n";
    let both = by_both(text);
    for result in &both {
        let found =
            statistics(result).channels.busiest.iter().find(|channel| channel.name == "host-1->host-2");
        let flits = found.expect("it is among the busiest").flits;
        assert!((20..=26).contains(&flits), "{flits} flits in 400 cycles");
    }
}

/// `V` VCs carry `V L / (L + 2)` flits per cycle of packets of `L` flits: behind a tail come two cycles of allocation.
#[test]
fn a_virtual_channel_rests_for_two_cycles_between_packets() {
    for (vcs, flits) in [(1, 1), (1, 4), (2, 1), (2, 2), (3, 1)] {
        let text = format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 4\nbandwidth = \"16 GB/s\"\nlatency = \"1 ns\"\n\
             [network]\nkind = \"flit\"\nrouter = {{ virtual-channels = {vcs}, buffer-flits = 32 }}\n\
             [traffic]\nload = 1.0\nflits = {flits}\npattern = \"shift\"\n\
             measure = {{ warm-up = 500, window = 1000, windows = 3, most-windows = 3, drain = 0 }}\n"
        );
        let most = f64::min(f64::from(vcs * flits) / f64::from(flits + 2), 1.0);
        for result in &by_both(&text) {
            let accepted = statistics(result).accepted_flits_per_cycle;
            assert!((accepted / most - 1.0).abs() < 0.005, "{vcs} VCs, {flits} flits: {accepted}, {most}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let text = |router: &str, traffic: &str| {
        format!(
            "[topology]\nkind = \"mesh\"\ndimensions = [4, 4]\nbandwidth = \"16 GB/s\"\nlatency = \"1 ns\"\n\
             [network]\nkind = \"flit\"\nrouter = {{ {router} }}\n[traffic]\nload = 0.1\n{traffic}\n"
        )
    };
    let cut_through = "virtual-channels = 2, buffer-flits = 4, virtual-cut-through = true";
    for (router, traffic, place, words) in [
        (
            cut_through,
            "probes = { flits = 5, interval = 1000 }",
            "traffic.probes.flits",
            "a packet of 5 flits",
        ),
        (
            "",
            "probes = { pairs = [[0, 1, 2]] }",
            "traffic.probes.pairs.0",
            "found a list of 3, expected one of 2",
        ),
        ("", "pattern = { kind = \"list\", pairs = [[0, 1, 2]] }", "traffic.pattern.pairs.0", "a list of 3"),
        ("ranges = [[0, 1, 1]]", "", "network.router.ranges.0", "found a list of 3, expected one of 2"),
    ] {
        let error = prepare(&text(router, traffic)).err().unwrap_or_else(|| panic!("{traffic} was taken"));
        assert!(error.contains(place) && error.contains(words), "{error}");
    }
    assert!(prepare(&text(cut_through, "probes = { flits = 4, interval = 1000 }")).is_ok());
}

#[test]
fn latencies_of_packets_in_the_network_and_of_flits_have_confidence_intervals() {
    // as wide as what means of other seeds scatter, within the noise of either
    let text = |seed: u32| {
        format!(
            "seed = {seed}\n[topology]\nkind = \"mesh\"\ndimensions = [8, 8]\nbandwidth = \"16 GB/s\"\nlatency = \"1 ns\"\n\
             [network]\nkind = \"flit\"\nrouter = {{ virtual-channels = 4, buffer-flits = 8 }}\n[traffic]\nload = 0.3\n\
             flits = 4\nmeasure = {{ warm-up = 1000, window = 500, windows = 20, most-windows = 20 }}\n"
        )
    };
    let results: Vec<RunResult> = (1..=12).map(|seed| run_with(&text(seed), 1)).collect();
    let of = [
        |it: &TrafficResult| it.packet_latency_cycles,
        |it: &TrafficResult| it.network_latency_cycles,
        |it: &TrafficResult| it.flit_latency_cycles,
    ];
    for latency in of {
        let found: Vec<_> = results.iter().map(|result| latency(statistics(result))).collect();
        let count = found.len() as f64;
        let mean = found.iter().map(|it| it.mean.unwrap()).sum::<f64>() / count;
        let square = found.iter().map(|it| (it.mean.unwrap() - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let half = found.iter().map(|it| it.half_width.expect("an interval")).sum::<f64>() / count;
        let scatter = 2.0 * square.sqrt();
        assert!(half > 0.5 * scatter && half < 2.0 * scatter, "{half} for a scatter of {scatter}");
        let inside =
            found.iter().filter(|it| (it.mean.unwrap() - mean).abs() < it.half_width.unwrap()).count();
        assert!(inside >= 9, "{inside} of 12 intervals hold the mean of all");
    }
}
