//! Patterns on a background in which some are silent, one that routing makes or breaks, and classes that may stand in each
//! other's way.

use stratasim_experiment::traffic::statistics;

use super::{experiment, prepare, run};

const SMALL: &str = "[topology]\nkind = \"mesh\"\ndimensions = [4, 4]";

/// Of who is silent in the background only the fraction is sent, whatever its first packet would have been.
#[test]
fn who_is_silent_in_the_background_sends_the_rest() {
    let backgrounds = [
        ("kind = \"hot-spot\", target = 3, fraction = 0.2", "kind = \"transpose\"", &[0, 5, 10, 15][..], 0.2),
        (
            "kind = \"hot-spots\", targets = [3, 9], fraction = 0.4",
            "kind = \"transpose\"",
            &[0, 5, 10, 15],
            0.4,
        ),
        ("kind = \"local\", distance = 1, fraction = 0.5", "kind = \"transpose\"", &[0, 5, 10, 15], 0.5),
        (
            "kind = \"hot-spot\", target = 3, fraction = 0.5",
            "kind = \"list\", pairs = [[0, 1]]",
            &[1, 2, 4, 15],
            0.5,
        ),
    ];
    for (pattern, background, silent, fraction) in backgrounds {
        for seed in 1..4 {
            let traffic = format!(
                "load = 0.1\npattern = {{ {pattern}, background = {{ {background} }} }}\n\
                 measure = {{ window = 4000, windows = 10, most-windows = 10, warm-up = 500, precision = 1.0 }}\n"
            );
            let result = run(&format!("seed = {seed}\n{}", experiment(SMALL, &traffic)));
            let loads = &statistics(&result).fairness.by_terminal;
            for &rank in silent {
                let (found, wanted): (f64, f64) = (loads[rank][0].into(), 0.1 * fraction);
                // 40,000 cycles: five standard deviations
                let noise = 5.0 * (wanted / 40_000.0).sqrt();
                assert!(
                    (found - wanted).abs() < noise,
                    "{pattern}, {background}, seed {seed}, {rank}: {found}"
                );
            }
        }
    }
}

#[test]
fn a_batch_of_such_a_pattern_comes_to_its_end() {
    for pattern in ["kind = \"hot-spot\", target = 3, fraction = 0.5", "kind = \"local\", fraction = 0.5"] {
        for outstanding in ["", ", outstanding = 2"] {
            let traffic = format!(
                "pattern = {{ {pattern}, background = {{ kind = \"transpose\" }} }}\nbatch = {{ packets = 20{outstanding} }}\n"
            );
            let result = run(&experiment(SMALL, &traffic));
            assert!(statistics(&result).batch.is_some(), "{pattern}");
            // twelve send all of their twenty, four about half of them
            let packets = result.counter("traffic.packets").unwrap();
            assert!((12 * 20 + 15..12 * 20 + 65).contains(&packets), "{pattern}: {packets}");
        }
    }
}

/// A queue that finds a virtual channel which another one takes first is routed again, from where it was.
#[test]
fn a_packet_that_loses_its_channel_at_the_source_is_routed_anew() {
    let ring = "[topology]\nkind = \"ring\"\nnodes = 4";
    let classes = "load = 0.9\nflits = 5\nclass = [{ name = \"a\", priority = 0 }, { name = \"b\", priority = 1 }]\n\
                   measure = { window = 300, windows = 3, most-windows = 3, warm-up = 300, drain = 0 }\n";
    for (machine, vcs) in [
        (ring, 6),
        ("[topology]\nkind = \"mesh\"\ndimensions = [3, 3]", 5),
        ("[topology]\nkind = \"k-ary-n-tree\"\nk = 2\nn = 3", 4),
    ] {
        let router = format!(
            "router = {{ virtual-channels = {vcs}, buffer-flits = 2, routing-delay = 0, requests = {{ next-output-queues = true }} }}\n\
             routing = {{ kind = \"table\" }}"
        );
        let text = experiment(machine, classes)
            .replace("router = { virtual-channels = 4, buffer-flits = 8 }", &router);
        assert!(statistics(&run(&text)).accepted_flits_per_cycle > 0.05, "{machine}");
    }
}

/// Who goes before others for good gets the switch without a channel for ever.
#[test]
fn priorities_that_can_stand_still_are_refused() {
    let router = "router = { virtual-channels = 4, buffer-flits = 2, speculation = \"separate\", \
                  requests = { guess = \"free\", combined-allocation = true } }\nrouting = { kind = \"valiant\" }";
    let with = |router: &str, traffic: &str| {
        prepare(
            &experiment(SMALL, traffic)
                .replace("router = { virtual-channels = 4, buffer-flits = 8 }", router),
        )
    };
    let classes = "load = 0.3\nflits = 2\nclass = [{ name = \"a\" }, { name = \"b\", priority = 3 }]\n";
    let refusal = with(router, classes).err().expect("refused");
    assert!(
        refusal.contains("traffic.class.1.priority") && refusal.contains("combined-allocation"),
        "{refusal}"
    );
    assert!(with(router, &classes.replace(", priority = 3", "")).is_ok());
    assert!(with(&router.replace("\"free\"", "\"credit\""), classes).is_ok());
}

/// Ranges are told apart by their channels, not by their places in the list.
#[test]
fn requests_and_replies_share_no_channel() {
    for (ranges, is_good) in
        [("[[0, 3], [0, 3]]", false), ("[[0, 2], [2, 3]]", false), ("[[0, 1], [2, 3]]", true)]
    {
        let router = format!("router = {{ virtual-channels = 4, buffer-flits = 8, ranges = {ranges} }}");
        let classes = "load = 0.1\nclass = [{ name = \"a\", reply = { range = 1 } }]\n";
        let text = experiment(SMALL, classes)
            .replace("router = { virtual-channels = 4, buffer-flits = 8 }", &router);
        match prepare(&text) {
            Ok(_) => assert!(is_good, "{ranges}"),
            Err(refusal) => assert!(!is_good && refusal.contains("reply.range"), "{ranges}: {refusal}"),
        }
    }
}

#[test]
fn no_class_has_the_name_of_the_probes() {
    let classes = "load = 0.1\nclass = [{ name = \"probes\" }]\n";
    assert!(prepare(&experiment(SMALL, classes)).is_ok());
    let refusal =
        prepare(&experiment(SMALL, &format!("{classes}probes = {{ interval = 1000 }}\n"))).err().unwrap();
    assert!(refusal.contains("traffic.class.0.name"), "{refusal}");
}

/// Two classes of one queue with channels of their own: each takes turns among its own, whatever the other did last.
#[test]
fn classes_with_ranges_of_their_own_use_all_channels() {
    let classes = "pattern = { kind = \"shift\" }\ninjection = { kind = \"periodic\" }\n\
                   [[traffic.class]]\nload = 0.45\nrange = 0\n[[traffic.class]]\nload = 0.45\nrange = 1";
    let switch = "[topology]\nkind = \"single-switch\"\nnodes = 4";
    let text = experiment(switch, classes)
        .replace("buffer-flits = 8", "buffer-flits = 8, ranges = [[0, 1], [2, 3]]");
    let result = run(&text);
    let found = statistics(&result);
    assert!(found.saturated == Some(false), "{}", found.verdict);
    assert!((found.accepted_flits_per_cycle - 0.9).abs() < 0.01, "{}", found.accepted_flits_per_cycle);
}

/// Most sources leave most packets out, which takes no time: a second class that hardly sends changes nothing.
#[test]
fn packets_that_go_nowhere_hold_up_none() {
    let hot = "injection = { kind = \"poisson\" }\n[[traffic.class]]\nload = 0.95\npattern = { kind = \"hot-spots\", \
               targets = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], fraction = 0.1, background = { kind = \"list\", pairs = [[0, 29]] } }\n";
    let second = "[[traffic.class]]\nload = 1e-6\npattern = { kind = \"list\", pairs = [[20, 21]] }\n";
    let switch = "[topology]\nkind = \"single-switch\"\nnodes = 30";
    let [alone, beside] = ["", second].map(|second| {
        let result = run(&experiment(switch, &format!("{hot}{second}")));
        result.traffic.as_ref().unwrap().packet_latency_cycles.p50.unwrap()
    });
    assert_eq!(alone, beside);
}

/// A class that never sends anything parts no others from each other.
#[test]
fn classes_of_one_priority_share_a_queue_whatever_others_have() {
    let latencies = |more: &str| {
        let text = experiment(
            SMALL,
            &format!(
                "measure = {{ window = 500, windows = 4 }}\nkernel = \"full\"\n\
                 class = [{{ name = \"short\", load = 0.1, flits = 1 }}, {{ name = \"long\", load = 0.4, flits = 32 }}{more}]\n"
            ),
        );
        let result = run(&text);
        let classes = &statistics(&result).classes;
        [0, 1].map(|at| classes[at].packet_latency_cycles.mean.expect("packets arrived"))
    };
    let alone = latencies("");
    assert_eq!(latencies(", { name = \"never\", load = 0.0, priority = 1 }"), alone);
}

/// Of a rank that is silent in the background only what goes to the hot spot is sent, and the rest is missed.
#[test]
fn load_that_goes_nowhere_is_told() {
    let notes = |pattern: &str| {
        let text = experiment(
            SMALL,
            &format!("load = 0.1\nmeasure = {{ window = 200, windows = 2 }}\npattern = {pattern}\n"),
        );
        run(&text).notes.join(" ")
    };
    let hot = "{ kind = \"hot-spot\", target = 1, fraction = 0.2, background = \"transpose\" }";
    assert!(notes(hot).contains("send a part of their load"), "{}", notes(hot));
    assert!(!notes("\"uniform-random\"").contains("a part of their load"));
    // who sends in one class, and nothing in another
    let other = notes(
        "\"uniform-random\"\n[[traffic.class]]\n[[traffic.class]]\nload = 0.1\npattern = { kind = \"list\", pairs = [[0, 1]] }",
    );
    assert!(other.contains("15 of 16 terminals send a part of their load"), "{other}");
}

/// The worst case of Kim, Dally, Scott and Abts (2008): all of a group send to the next one. Shortest ways share one global channel
/// among the `a p` hosts of a group; by way of a third group every global channel is as loaded, by twice what its hosts offer.
#[test]
fn by_a_third_group_the_worst_traffic_of_a_dragonfly_has_all_global_channels() {
    let machine = "[topology]\nkind = \"dragonfly\"\np = 2\na = 4\nh = 2";
    let accepted = |routing: &str, load: f64| {
        let traffic = format!(
            "load = {load}\nflits = 4\npattern = \"bad-dragonfly\"\nmeasure = {{ warm-up = 3000, window = 1000, windows = 4, \
             most-windows = 4, drain = 2000 }}"
        );
        let kind =
            format!("virtual-channels = 12, buffer-flits = 8 }}\nrouting = {{ kind = \"{routing}\" }}");
        let text = experiment(machine, &traffic).replace("virtual-channels = 4, buffer-flits = 8 }", &kind);
        let result = run(&text);
        let found = statistics(&result);
        (found.accepted_flits_per_cycle, found.saturated)
    };
    let (minimal, saturated) = accepted("minimal", 0.2);
    assert!(saturated == Some(true) && (0.12..=0.1251).contains(&minimal), "{minimal}");
    let (valiant, saturated) = accepted("valiant", 0.3);
    assert!(saturated == Some(false) && (valiant - 0.3).abs() < 0.01, "{valiant}");
    let (valiant, saturated) = accepted("valiant", 0.55);
    assert!(saturated == Some(true) && (0.3..=0.5).contains(&valiant), "{valiant}");
}
