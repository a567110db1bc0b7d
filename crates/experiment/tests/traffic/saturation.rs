//! What a sample says of saturation, and how well it knows what it says.

use stratasim_experiment::traffic::{Curve, statistics};

use super::{MESH, experiment, prepare, run};

#[test]
fn the_saturation_load_of_a_mesh_is_bracketed_where_the_reference_has_it() {
    // there the verdict turns between 0.42 and 0.44 (single flits, uniform, self among them)
    let text = experiment(MESH, "flits = 1\nto-self = true\nmeasure = { window = 500 }");
    let traffic = prepare(&text).unwrap();
    let mut curve = Curve::run(&traffic, &[0.3, 0.6], 1, Some(2), &()).unwrap();
    assert_eq!(curve.points.iter().map(|point| point.saturated()).collect::<Vec<_>>(), [false, true]);
    curve.find_saturation(&traffic, 0.02, 1, Some(2), &()).unwrap();
    let (low, high) = curve.saturation.unwrap();
    assert!(low >= 0.39 && high <= 0.46 && high - low <= 0.02 + 1e-12, "{low} to {high}");
    // more than the network accepts is not lost, it waits outside
    let beyond = statistics(&curve.points.last().unwrap().results[0]);
    assert!(
        beyond.offered_flits_per_cycle > 0.57 && beyond.accepted_flits_per_cycle < 0.5,
        "{}",
        beyond.verdict
    );
    assert!(beyond.series.last().unwrap().source_wait_cycles > 500.0);
}

/// One terminal of many that cannot send what it makes: the mean over all says nothing of it.
#[test]
fn one_queue_that_grows_among_many_is_saturation() {
    let text = "[topology]\nkind = \"degraded\"\nfactor = 0.03125\nlinks = [\"host-0-*\"]\n\
         of = { kind = \"single-switch\", nodes = 200, bandwidth = \"32 GB/s\", latency = \"1 ns\" }\n\
         [network]\nkind = \"flit\"\nflit-bytes = \"32 B\"\n\
         [traffic]\nload = 0.08\npattern = { kind = \"shift\" }\n";
    let result = run(text);
    let found = statistics(&result);
    assert!(
        found.saturated == Some(true) && found.verdict.contains("the source queue of terminal 0"),
        "{}",
        found.verdict
    );
    // where nobody looks on after the sample, it may have been chance
    let result = run(&format!("{text}measure = {{ drain = 0 }}\n"));
    let found = statistics(&result);
    let told = found.verdict.contains("the source queue of terminal 0 grew")
        && found.verdict.contains("a longer sample");
    assert!(found.saturated == Some(false) && told, "{}", found.verdict);
}

/// Ways of up to eight cables of 5 us: packets to neighbours arrive long before the others.
#[test]
fn a_network_that_fills_is_not_saturated() {
    let text = |measure: &str| {
        format!(
            "[topology]\nkind = \"torus\"\ndimensions = [8, 8]\nbandwidth = \"32 GB/s\"\nlatency = \"5 us\"\n\
             [network]\nkind = \"flit\"\nflit-bytes = \"32 B\"\nrouter = {{ virtual-channels = 4, buffer-flits = 4096 }}\n\
             [traffic]\nload = 0.01\nflits = 4\ninjection = {{ kind = \"poisson\" }}\n\
             measure = {{ window = 500{measure} }}\n"
        )
    };
    let result = run(&text(", warm-up = 10000"));
    let found = statistics(&result);
    assert_eq!(found.saturated, None, "{}", found.verdict);
    assert!(found.verdict.starts_with("not known: the network still filled"), "{}", found.verdict);
    let result = run(&text(""));
    let found = statistics(&result);
    assert!(found.settled && found.verdict.starts_with("stable"), "{}", found.verdict);
    assert!(found.accepted_flits_per_cycle > 0.95 * found.offered_flits_per_cycle, "{found:?}");
}

#[test]
fn a_class_that_does_not_get_through_is_named() {
    // 1.2 flits per cycle for one of 512 terminals: little of all that is offered
    let classes = "measure = { warm-up = 1000, window = 500 }\n[[traffic.class]]\nname = \"back\"\nload = 0.1\n\
                   [[traffic.class]]\nname = \"hot\"\nload = 0.6\npattern = { kind = \"list\", pairs = [[0, 100], [300, 100]] }";
    let result = run(&experiment("[topology]\nkind = \"torus\"\ndimensions = [8, 8, 8]", classes));
    let found = result.traffic.as_ref().unwrap();
    assert!(found.saturated == Some(true) && found.verdict.contains("class hot"), "{}", found.verdict);
}

/// Buffers that hold a tenth of what is on the cables: sources send a burst, wait for its credits, and send the next.
#[test]
fn a_sample_within_a_burst_between_credits_tells_nothing() {
    let text = |window: u32| {
        format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 8\nbandwidth = \"32 GB/s\"\nlatency = \"20 us\"\n\
             [network]\nkind = \"flit\"\nrouter = {{ virtual-channels = 4, buffer-flits = 1024 }}\n\
             [traffic]\nload = 0.3\npattern = {{ kind = \"shift\" }}\nmeasure = {{ window = {window} }}\n"
        )
    };
    let short = run(&text(1000)).traffic.expect("traffic ran");
    assert!(short.saturated.is_none() && short.verdict.contains("credits"), "{}", short.verdict);
    // four channels of 1,024 places, there and back in 40,003 cycles
    let long = run(&text(40_000)).traffic.expect("traffic ran");
    assert!(
        (long.accepted_flits_per_cycle - 4096.0 / 40_003.0).abs() < 0.001,
        "{}",
        long.accepted_flits_per_cycle
    );
    assert_eq!(long.saturated, Some(true));
}

/// At half of what its bisection takes, one terminal in 4,096 is held up for some thousand cycles, in this sample of 1,500 and for a
/// while after it. Longer samples show that the network carries the load.
#[test]
fn a_terminal_that_catches_up_later_saturates_nothing() {
    let result = run(
        "[topology]\nkind = \"torus\"\ndimensions = [16, 16, 16]\nbandwidth = \"32 GB/s\"\nlatency = \"2 ns\"\n\
         [network]\nkind = \"flit\"\nflit-bytes = \"32 B\"\nrouter = { virtual-channels = 4, buffer-flits = 8 }\n\
         deadlock-check = false\n[traffic]\nload = 0.2\nflits = [{ flits = 4, weight = 9 }, { flits = 32, weight = 1 }]\n\
         injection = { kind = \"poisson\" }\nto-self = true\n\
         measure = { window = 500, warm-up = 1500, windows = 3, most-windows = 3 }\n",
    );
    let traffic = result.traffic.expect("traffic ran");
    assert!(traffic.saturated == Some(false), "{}", traffic.verdict);
    // it was looked at again, more than once
    assert!(traffic.drain_cycles > 1500, "{} cycles", traffic.drain_cycles);
}

#[test]
fn a_mean_that_is_less_precise_than_asked_for_is_told() {
    let notes = |measure: &str| {
        let text = format!("load = 0.3\nmeasure = {{ window = 50, warm-up = 500, windows = 4, {measure} }}");
        run(&experiment(MESH, &text)).notes
    };
    assert_eq!(notes("most-windows = 4, precision = 0.0"), Vec::<String>::new(), "its length was given");
    assert_eq!(notes("most-windows = 8, precision = 1.0"), Vec::<String>::new());
    let told = notes("most-windows = 8, precision = 0.0");
    assert!(
        told[0].contains("not the 0 % of `measure.precision`")
            && told[0].contains("`measure.most-windows`, 8"),
        "{told:?}"
    );
}

/// Two of 30 senders offer their receiver 4 to 16 % more than it takes: too many for a few among many, too few for the mean.
#[test]
fn a_part_of_the_terminals_that_is_overloaded_saturates_the_network() {
    let pairs: Vec<String> = (8..62).step_by(2).map(|from| format!("[{from}, {}]", from + 1)).collect();
    let verdict = |load: f64| {
        let traffic = format!(
            "load = {load}\nflits = 4\npattern = {{ kind = \"list\", pairs = [[1, 0], [2, 0], {}] }}\n\
             measure = {{ window = 10000, windows = 10, most-windows = 10 }}",
            pairs.join(", ")
        );
        let result = run(&experiment(MESH, &traffic)).traffic.expect("traffic ran");
        (result.saturated, result.verdict)
    };
    for load in [0.54, 0.55, 0.58] {
        let (saturated, words) = verdict(load);
        assert_eq!(saturated, Some(true), "{load}: {words}");
    }
    let (saturated, words) = verdict(0.48);
    assert_eq!(saturated, Some(false), "{words}");
}

/// Tornado on a ring of 8 loads each channel thrice; cables of 1 us make ways of 3,000 cycles, and buffers as large.
#[test]
fn what_is_not_known_is_not_taken_for_carried() {
    let text = |measure: &str| {
        format!(
            "[topology]\nkind = \"ring\"\nnodes = 8\nbandwidth = \"32 GB/s\"\nlatency = \"1 us\"\n[network]\nkind = \"flit\"\n\
             [traffic]\npattern = {{ kind = \"tornado\" }}\nmeasure = {{ {measure} }}\n"
        )
    };
    let search = |measure: &str, precision: f64| {
        let traffic = prepare(&text(measure)).unwrap_or_else(|error| panic!("{error}"));
        let mut curve = Curve::run(&traffic, &[], 1, Some(1), &()).unwrap_or_else(|error| panic!("{error}"));
        curve.find_saturation(&traffic, precision, 1, Some(1), &()).unwrap_or_else(|error| panic!("{error}"));
        curve
    };
    let curve = search("most-windows = 10", 0.05);
    let (low, high) = curve.saturation.expect("it saturates below a third");
    assert!(low >= 0.15 && high <= 0.35, "{low} {high}");
    // nothing has arrived by then
    let curve = search("window = 100, warm-up = 200, windows = 2, most-windows = 2, drain = 0", 0.5);
    assert!(curve.saturation.is_none() && curve.not_known.is_some_and(|(low, _)| low == 0.0));
    assert!(curve.points.iter().all(|point| !point.saturated() && !point.carried()));
    assert_eq!(statistics(&curve.points[0].results[0]).number("saturated"), None);
    assert!(curve.json().contains("\"saturated\": null"));
}

#[test]
fn nobody_waits_longer_than_the_drain_says() {
    let mesh = "[topology]\nkind = \"mesh\"\ndimensions = [4, 4]";
    let of = |drain: u64| {
        let measure = format!(
            "load = 0.1\nflits = 16\nmeasure = {{ window = 1000, windows = 3, most-windows = 3, drain = {drain} }}"
        );
        let result = run(&experiment(mesh, &measure));
        let found = statistics(&result);
        (found.drain_cycles, found.saturated)
    };
    assert_eq!(of(1), (1, Some(true)));
    assert!(of(70).0 <= 70);
    let (waited, saturated) = of(10_000);
    assert!(waited < 1000 && saturated == Some(false), "{waited}");
}

const SWITCH: &str = "[topology]\nkind = \"single-switch\"\nnodes = ";

/// One terminal has to answer 1.1 flits per cycle, and can send 1; 60 others have enough room.
#[test]
fn replies_that_wait_ever_longer_are_saturation() {
    let pairs: Vec<String> = (4..64).map(|host| format!("[{host}, {}]", 4 + (host - 3) % 60)).collect();
    let classes = format!(
        "[[traffic.class]]\nname = \"others\"\nload = 0.3\npattern = {{ kind = \"list\", pairs = [{}] }}\n\
         [[traffic.class]]\nname = \"reads\"\nload = 0.0917\nrange = 0\nreply = {{ flits = 4, range = 1 }}\n\
         pattern = {{ kind = \"list\", pairs = [[1, 0], [2, 0], [3, 0]] }}",
        pairs.join(", ")
    );
    let text = experiment(&format!("{SWITCH}64"), &classes)
        .replace("buffer-flits = 8", "buffer-flits = 8, ranges = [[0, 1], [2, 3]]");
    let result = run(&text);
    let found = statistics(&result);
    assert!(found.saturated == Some(true), "{}", found.verdict);
    // half of that is carried
    let result = run(&text.replace("0.0917", "0.0458"));
    let found = statistics(&result);
    assert!(found.saturated == Some(false), "{}", found.verdict);
}

/// Packets that never wait, on links of 500 cycles: what is under way at the end of the sample depends on the bursts.
#[test]
fn bursts_that_are_under_way_are_no_loss() {
    let bursts = "load = 0.1\nflits = 1\npattern = { kind = \"shift\" }\ninjection = { kind = \"on-off\", beta = 0.01, r1 = 0.8 }";
    let text = experiment(&format!("{SWITCH}4"), bursts)
        .replace("latency = \"1 ns\"", "latency = \"500 ns\"")
        .replace("buffer-flits = 8", "buffer-flits = 4096");
    for seed in 0..12 {
        let result = run(&format!("seed = {seed}\n{text}"));
        let found = statistics(&result);
        assert!(found.saturated == Some(false), "seed {seed}: {}", found.verdict);
        assert_eq!(found.packet_latency_cycles.min, found.packet_latency_cycles.max, "seed {seed}");
    }
}

#[test]
fn without_a_warm_up_long_links_are_not_known_to_be_full() {
    let torus = "[topology]\nkind = \"torus\"\ndimensions = [4, 4]";
    let text = experiment(torus, "load = 0.1\nmeasure = { warm-up = 0 }")
        .replace("buffer-flits = 8", "buffer-flits = 4096");
    for latency in ["500 ns", "3 us"] {
        let result = run(&text.replace("latency = \"1 ns\"", &format!("latency = \"{latency}\"")));
        let found = statistics(&result);
        assert_ne!(found.saturated, Some(true), "{latency}: {}", found.verdict);
    }
}

/// A class of its own takes 0.3 of what terminals can send.
#[test]
fn the_search_ends_at_the_most_that_the_sources_can_make() {
    let classes = "pattern = { kind = \"shift\" }\n[[traffic.class]]\nload = 0.3\n[[traffic.class]]\n";
    let traffic = prepare(&experiment(&format!("{SWITCH}4"), classes)).unwrap();
    let mut curve = Curve::run(&traffic, &[0.1], 1, Some(2), &()).unwrap();
    curve.find_saturation(&traffic, 0.05, 1, Some(2), &()).unwrap();
    let last = curve.points.last().unwrap().load;
    let all_carried = curve.points.iter().all(|point| point.carried());
    assert!(all_carried && curve.saturation.is_none() && last > 0.65 && last <= 0.7, "up to {last}");
}

/// What arrived in the sample came from before it: of the sample itself nothing is known.
#[test]
fn a_sample_of_which_nothing_arrived_has_no_verdict() {
    let text = "seed = 1670\n[topology]\nkind = \"fully-connected\"\nnodes = 5\nbandwidth = \"32 GB/s\"\nlatency = \"20 ns\"\n\
                [network]\nkind = \"flit\"\nrouter = { virtual-channels = 1, buffer-flits = 2 }\nrouting = { kind = \"up-down\" }\n\
                [traffic]\nload = 0.1\nflits = 7\npattern = { kind = \"tornado\" }\nto-self = false\n\
                injection = { kind = \"on-off\", beta = 0.05, r1 = 1.0 }\n\
                measure = { window = 500, warm-up = 1000, windows = 2, most-windows = 6, drain = 0 }\n";
    let traffic = run(text).traffic.expect("traffic ran");
    assert_eq!(traffic.packet_latency_cycles.count, 0);
    assert_eq!(traffic.saturated, None, "{}", traffic.verdict);
}

/// A packet of one flit is known as well as the flit.
#[test]
fn intervals_of_packets_and_flits_are_of_the_same_batches() {
    let text = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = 2\nbandwidth = \"100 Gbps\"\n\
                latency = \"1 us\"\nuplink-bandwidth = \"200 Gbps\"\n[network]\nkind = \"flit\"\n[traffic]\nload = 0.5\n\
                pattern = { kind = \"shift\" }\n";
    let traffic = run(text).traffic.expect("traffic ran");
    let [packets, flits] = [traffic.network_latency_cycles, traffic.flit_latency_cycles]
        .map(|it| it.half_width.expect("batches"));
    assert!(flits < 3.0 * packets, "{flits} for {packets}");
}

/// Of several seeds, the largest latency is the largest of all.
#[test]
fn the_largest_latency_of_seeds_is_no_mean() {
    let traffic = prepare(&experiment(MESH, "flits = 2")).unwrap();
    let curve = Curve::run(&traffic, &[0.2], 3, Some(2), &()).unwrap();
    let of_seeds = curve.points[0].results.iter().map(|result| statistics(result).packet_latency_cycles.max);
    let largest = of_seeds.flatten().max().expect("latencies");
    assert_eq!(curve.points[0].number("packet_latency_max_cycles"), Some((largest as f64, None)));
}

#[test]
fn priorities_that_no_router_looks_at_are_told() {
    let notes = |allocator: &str, priority: i32| {
        let text = format!(
            "class = [{{ load = 0.1, priority = {priority} }}, {{ load = 0.1 }}]\nmeasure = {{ window = 200, windows = 2 }}\n"
        );
        let allocator = format!("buffer-flits = 8, switch-allocator = {{ kind = \"{allocator}\" }}");
        run(&experiment(MESH, &text).replace("buffer-flits = 8", &allocator)).notes.join(" ")
    };
    assert!(notes("islip", 1).contains("Priorities"));
    assert!(!notes("select", 1).contains("Priorities"));
    assert!(!notes("islip", 0).contains("Priorities"));
}

/// Cables that take longer than ten usual samples: what is on them is under way, and not held up.
#[test]
fn a_network_of_long_cables_is_not_saturated_by_them() {
    let text = |load: &str| {
        format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 4\nbandwidth = \"32 GB/s\"\nlatency = \"60 us\"\n\
             [network]\nkind = \"flit\"\nflit-bytes = \"32 B\"\n\
             [traffic]\nload = {load}\nmeasure = {{ window = 500 }}\n"
        )
    };
    let result = run(&text("0.002"));
    let found = statistics(&result);
    assert!(found.saturated == Some(false), "{}", found.verdict);
    // every packet took both cables, of 60,000 cycles each
    assert!(found.packet_latency_cycles.min > Some(120_000), "{:?}", found.packet_latency_cycles);
    let result = run(&text("\"saturation\"\nsaturation-precision = 0.1"));
    let found = statistics(&result).saturation.unwrap();
    // four channels of 4,096 flits carry 0.136 of a flit per cycle over loops of 120,000 cycles
    assert_eq!((found.carried_flits_per_cycle, found.beyond_flits_per_cycle), (0.1, Some(0.2)));
}

/// Where no channel is full, something else holds packets up: with two virtual channels for it, as on the global ones of a
/// dragonfly, packets of one flit fill two thirds of a channel.
#[test]
fn what_a_saturated_network_waits_for_is_said_where_that_is_no_channel() {
    let notes = |topology: &str, traffic: &str| {
        let result =
            run(&experiment(topology, &format!("{traffic}\nmeasure = {{ window = 500, drain = 2000 }}")));
        assert!(statistics(&result).saturated == Some(true), "{traffic}");
        result.notes.into_iter().filter(|note| note.contains("no channel is 90 % full")).collect::<Vec<_>>()
    };
    let dragonfly = "[topology]\nkind = \"dragonfly\"\np = 4\na = 4\nh = 2";
    let waiting = notes(dragonfly, "load = 0.6\nflits = 1");
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    // one channel for all of a group, and one terminal that all send to
    assert!(notes(dragonfly, "load = 0.3\nflits = 8\npattern = \"bad-dragonfly\"").is_empty());
    assert!(notes(MESH, "load = 0.3\npattern = { kind = \"incast\", target = 0 }").is_empty());
}
