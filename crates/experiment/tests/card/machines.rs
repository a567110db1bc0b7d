//! Cards in a machine: the engine's times against the closed forms and the task graph of the card model.

use std::path::Path;
use std::time::Instant;

use stratasim_core::observe::Blind;
use stratasim_device::card::{AlgorithmSpec, Fidelity, Operation, time_s};
use stratasim_experiment::{Document, Prepared, card};

#[allow(clippy::disallowed_methods, reason = "the wall time of a result")]
fn run(text: &str) -> Result<f64, String> {
    let document = Document::from_toml("card.toml", text).unwrap();
    let mut prepared = Prepared::new(&document, Path::new("")).map_err(|error| error.to_string())?;
    let result = prepared.run(&mut Blind, Instant::now()).map_err(|error| error.to_string())?;
    assert!(result.checks_hold(), "{:?}", result.checks);
    Ok(result.makespan_s)
}

const NETWORKS: [&str; 2] = [
    r#"kind = "flow""#,
    r#"kind = "message"
latency = "0 s"
overhead = "0 s"
gap = "0 s"
gap-per-byte = "0 ns/B"
eager-limit = "1000 PB"
from-routes = true"#,
];

fn experiment(card: &str, cards: u32, network: &str, operation: &str, algorithm: &str, bytes: u64) -> String {
    format!(
        r#"
[topology]
kind = "cards"
card = "{card}"
of = {{ kind = "single-switch", nodes = {cards}, bandwidth = "100 Gbps", latency = "1 us" }}
[workload]
kind = "collective"
operation = "{operation}"
algorithm = {algorithm}
bytes = "{bytes} B"
[network]
{network}
"#
    )
}

#[test]
fn a_collective_on_one_card_takes_the_time_of_the_card_model() {
    let cards = ["sw-ai", "sw-ai-slow-local", "sw-ai-measured-all-gather", "sw-ai-measured-reduce-scatter"];
    let mut compared = 0;
    for name in cards {
        let description = card::load(name, &[]).unwrap();
        // the engine limits each access by the memories at its ends, but a memory serves any number at once: a
        // root whose Local memory is slower than its link to the ring gives more than it could
        let slow = description.bandwidth.local.bytes_per_s() < description.bandwidth.ring.bytes_per_s();
        let operations = Operation::ALL.into_iter().filter(|&it| !slow || it != Operation::Broadcast);
        for operation in operations {
            for kind in ["ring", "csc", "csc-equation", "direct"] {
                if kind == "csc-equation" && operation == Operation::AllReduce {
                    continue;
                }
                let algorithm = AlgorithmSpec::named(kind).unwrap();
                for bytes in [4 << 10, 1 << 20, 8_000_000, 32 << 20] {
                    // where transfers meet in one memory, only the flow level shares it
                    let levels = if operation == Operation::Broadcast { 1 } else { 2 };
                    for (level, network) in NETWORKS[..levels].iter().enumerate() {
                        let json = format!("{{ kind = \"card-{kind}\" }}");
                        let text = experiment(name, 1, network, operation.name(), &json, bytes);
                        let found = run(&text).unwrap();
                        for fidelity in [Fidelity::F0, Fidelity::F1] {
                            let expected =
                                time_s(&description, &algorithm, operation, bytes, fidelity).unwrap();
                            // every transfer and cost is rounded to a picosecond; LogGOPS counts a byte less per
                            // message, of which there are at most 12 in a row
                            let tolerance_s = 40e-12 + 12.0 * 20e-12 * level as f64;
                            assert!(
                                (found - expected).abs() < tolerance_s,
                                "{name} {} {kind} {bytes} {fidelity:?}: {found}, {expected}",
                                operation.name()
                            );
                            compared += 1;
                        }
                    }
                }
            }
        }
    }
    // of sizes and fidelities: four algorithms at two levels, but for all-reduces, and broadcasts at one
    let (fast, operations, broadcasts) = (3, 4 + 4 + 3, 4);
    assert_eq!(compared, 4 * 2 * (cards.len() * operations * 2 + fast * broadcasts));
}

#[test]
fn an_all_reduce_over_cards_is_the_sum_of_its_phases_on_cards_and_between_them() {
    let description = card::load("sw-ai", &[]).unwrap();
    for (kind, network) in [("ring", 0), ("csc", 0), ("direct", 0), ("ring", 1), ("csc", 1), ("direct", 1)] {
        let algorithm = AlgorithmSpec::named(kind).unwrap();
        let bytes = 8_000_000_u64;
        let json = format!(
            r#"{{ kind = "hierarchical", algorithms = [{{ kind = "card-{kind}" }}, {{ kind = "ring" }}] }}"#
        );
        let found = run(&experiment("sw-ai", 4, NETWORKS[network], "all-reduce", &json, bytes)).unwrap();
        let on_card = |operation| time_s(&description, &algorithm, operation, bytes, Fidelity::F0).unwrap();
        // the 4 groups of a card exchange their quarters with the other 3 cards at once: each of the 6 steps of
        // the rings moves 4 x 1/16 of the vector through 100 Gbps, over 2 links of 1 us; the PCIe link of
        // 15 GB/s is no bottleneck
        let step_s = 2e-6 + bytes as f64 / 4.0 / 12.5e9;
        let between_s = if network == 0 { 6.0 * step_s } else { 0.0 };
        let cards_s = on_card(Operation::ReduceScatter) + on_card(Operation::AllGather);
        if network == 0 {
            assert!((found - cards_s - between_s).abs() < 1e-9, "{kind}: {found}, {cards_s} + {between_s}");
        } else {
            // messages of different groups do not share links at message level
            let alone_s = 6.0 * (2e-6 + bytes as f64 / 16.0 / 12.5e9);
            assert!((found - cards_s - alone_s).abs() < 1e-9, "{kind}: {found}, {cards_s} + {alone_s}");
        }
    }
}

#[test]
fn collectives_over_the_ring_of_a_card_run_at_packet_level_too() {
    // packets have headers and are stored and forwarded, so this is no more than a few per cent slower
    let description = card::load("sw-ai", &[]).unwrap();
    for kind in ["ring", "direct"] {
        let algorithm = AlgorithmSpec::named(kind).unwrap();
        let json = format!("{{ kind = \"card-{kind}\" }}");
        let found = run(&experiment("sw-ai", 1, "kind = \"packet\"", "all-gather", &json, 1 << 20)).unwrap();
        let expected = time_s(&description, &algorithm, Operation::AllGather, 1 << 20, Fidelity::F0).unwrap();
        assert!((1.0..1.1).contains(&(found / expected)), "{kind}: {found}, {expected}");
    }
}

#[test]
fn members_that_do_not_share_a_card_are_refused() {
    let json = "{ kind = \"card-csc\" }";
    let error = run(&experiment("sw-ai", 2, NETWORKS[0], "all-gather", json, 1 << 20)).unwrap_err();
    assert!(error.contains("and host-0.cg-0 and host-1.cg-0 are on different cards;"), "{error}");
    // 4 x 6 GB in a Global memory of 20 GB
    let error = run(&experiment("sw-ai", 1, NETWORKS[0], "reduce-scatter", json, 6_000_000_000)).unwrap_err();
    assert!(error.contains("needs 24 GB of Global memory, the card has 20 GB"), "{error}");
    let text = experiment("sw-ai", 1, NETWORKS[0], "all-gather", json, 1 << 20);
    let error = run(&text.replace("\"sw-ai\"", "\"sw-aj\"")).unwrap_err();
    assert!(error.contains("did you mean `sw-ai`?"), "{error}");
    let switch = text.replace("kind = \"cards\"\ncard = \"sw-ai\"\nof = {", "").replace("1 us\" }", "1 us\"");
    let switch = switch.replace(
        " kind = \"single-switch\", nodes = 1, bandwidth = \"100 Gbps\", latency = \"1 us\"",
        "kind = \"single-switch\"\nnodes = 4\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"",
    );
    let error = run(&switch).unwrap_err();
    assert!(error.contains("core groups of one card, and host-0 is none;"), "{error}");
}

#[test]
fn an_access_to_global_memory_takes_its_bytes_over_the_rate_at_every_level() {
    for bytes in [64_u64 << 10, 1 << 20, 16 << 20] {
        for (what, vertex) in [
            (
                "Global memory",
                "{ name = \"get\", kind = \"compute\", ranks = [0], memory-bytes = \"BYTES B\", memory = \"home\" }",
            ),
            (
                "the ring",
                "{ name = \"get\", kind = \"communication\", source = 0, destination = 1, bytes = \"BYTES B\" }",
            ),
        ] {
            let vertex = vertex.replace("BYTES", &bytes.to_string());
            let seconds = |network: &str| {
                let text = format!(
                    r#"
[topology]
kind = "cards"
card = "sw-ai"
of = {{ kind = "single-switch", nodes = 1, bandwidth = "100 Gbps", latency = "1 us" }}
[workload]
kind = "graph"
vertices = [ {vertex} ]
[network]
{network}
"#
                );
                run(&text).unwrap()
            };
            let expected = bytes as f64 / 100e9;
            for network in NETWORKS {
                let found = seconds(network);
                assert!((found - expected).abs() < 20e-12, "{what}, {bytes} bytes: {found}, {expected}");
            }
            // packets of 4,096 bytes have headers of 64; on the way over the ring the last one is stored once; where
            // one packet fills the window, the next waits for an acknowledgement of 64 bytes
            let (full_s, control_s) = (4160.0 / 100e9, 64.0 / 100e9);
            let packets = (bytes / 4096) as f64;
            let found = seconds("kind = \"packet\"");
            let (least, most) =
                (packets * full_s, packets * (full_s + control_s) + 2.0 * (full_s + control_s));
            assert!((least..=most).contains(&found), "{what}, {bytes} bytes: {found}, {least} to {most}");
        }
    }
}
