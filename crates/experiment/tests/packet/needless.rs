//! What nothing asks for: waits on an idle network, time-outs and packets sent again where nothing is lost.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use crate::common::run;
use stratasim_core::observe::Blind;
use stratasim_experiment::{Document, Prepared};
use stratasim_report::RunResult;

/// Two hosts, 100 Gb/s, on a switch; messages from one to the other, each after the one before.
fn chain(messages: &[u64], latency: &str, network: &str) -> RunResult {
    let mut vertices = String::new();
    let mut edges = String::new();
    for (at, bytes) in messages.iter().enumerate() {
        let _ = write!(
            vertices,
            "{{ name = \"m{at}\", kind = \"communication\", source = 0, destination = 1, bytes = {bytes} }},"
        );
        if at > 0 {
            let _ = write!(edges, "{{ from = \"m{}\", to = \"m{at}\" }},", at - 1);
        }
    }
    run(&format!(
        "[topology]\nkind = \"single-switch\"\nnodes = 2\nbandwidth = \"100 Gbps\"\nlatency = \"{latency}\"\n\
         [workload]\nkind = \"graph\"\nvertices = [{vertices}]\nedges = [{edges}]\n[network]\nkind = \"packet\"\n{network}\n"
    ))
}

/// A sender of a connection that is kept guesses anew what it may send unasked when it has something to send again, and asks for more
/// when a pull leaves it with none.
#[test]
fn no_sender_waits_for_credit_that_nobody_asked_for() {
    for control in ["rccc", "eqds"] {
        for bytes in [3000, 4096, 32_768, 300_000] {
            let [kept, fresh] = ["per-pair", "per-message"].map(|connections| {
                let network =
                    format!("congestion = {{ kind = \"{control}\" }}\nconnections = \"{connections}\"");
                chain(&vec![bytes; 40], "1 us", &network).makespan_s
            });
            assert!(kept < 1.001 * fresh, "{control}, {bytes} B: {kept} s, {fresh} s");
        }
    }
}

#[test]
fn a_short_message_makes_no_full_packet_late() {
    let network = "congestion = { kind = \"nscc\" }\nrecovery = { kind = \"trimming\", sleek = true }\n\
                   queue = { kind = \"drop-tail\" }\nconnections = \"per-pair\"";
    let result = chain(&[1, 1_000_000], "10 ns", network);
    assert_eq!(result.counter("network.retransmissions").expect("counted"), 0);
    assert!(result.makespan_s < 85e-6, "{} s", result.makespan_s);
}

/// Packets are trimmed and sent again, and none is lost: a probe that overtakes what it asks about has it acknowledged.
#[test]
fn an_all_to_all_without_drops_has_no_time_outs() {
    for seed in 1..6 {
        let result = run(&format!(
            "seed = {seed}\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = 4\n\
             bandwidth = \"100 Gbps\"\nlatency = \"500 ns\"\n[workload]\nkind = \"collective\"\noperation = \"all-to-all\"\n\
             bytes = \"1 MB\"\n[network]\nkind = \"packet\"\n"
        ));
        assert_eq!(result.counter("network.drops").expect("counted"), 0, "seed {seed}");
        assert_eq!(
            result.counter("network.timeouts").expect("counted"),
            0,
            "seed {seed}: {} s",
            result.makespan_s
        );
    }
}

/// Four packets at once come faster than the second link takes them, again and again.
#[test]
fn a_flow_alone_fills_a_slower_link_behind_a_faster_one() {
    for (control, payload, rates, latency) in [
        ("rccc", 4096, (100, 25), "100 ns"),
        ("rccc", 9000, (400, 100), "100 ns"),
        ("rccc", 9000, (40, 10), "1 us"),
        ("eqds", 1024, (40, 10), "100 ns"),
    ] {
        let link = |from: &str, to: &str, rate: u32| {
            format!(
                "{{ from = \"{from}\", to = \"{to}\", bandwidth = \"{rate} Gbps\", latency = \"{latency}\" }}"
            )
        };
        let result = run(&format!(
            "[topology]\nkind = \"graph\"\nnodes = [{{ name = \"a\" }}, {{ name = \"b\" }}, {{ name = \"s\", kind = \"switch\" }}]\n\
             links = [{}, {}]\n[workload]\nkind = \"graph\"\nvertices = [{{ name = \"m\", kind = \"communication\", source = 0, \
             destination = 1, bytes = 10_000_000 }}]\n[network]\nkind = \"packet\"\ncongestion = {{ kind = \"{control}\" }}\n\
             packets = {{ payload-bytes = {payload} }}\n",
            link("a", "s", rates.0),
            link("s", "b", rates.1)
        ));
        let ideal = 10e6 * 8.0 / (f64::from(rates.1) * 1e9) * f64::from(payload + 64) / f64::from(payload);
        assert!(
            result.makespan_s < 1.1 * ideal,
            "{control} {payload} {rates:?}: {} of {ideal} s",
            result.makespan_s
        );
    }
}

#[test]
fn windows_are_as_small_as_is_asked_for() {
    let took = |factor: f64| {
        let network = format!("congestion = {{ kind = \"nscc\", max-window-factor = {factor} }}");
        chain(&[4_000_000], "1 us", &network).makespan_s
    };
    let [tenth, half, whole] = [0.1, 0.5, 1.5].map(took);
    assert!(tenth > 4.0 * whole && half > 1.3 * whole && tenth > 2.0 * half, "{tenth} {half} {whole}");
}

#[test]
fn credit_that_cannot_be_counted_is_refused() {
    let result = chain(
        &[100_000],
        "1 us",
        "congestion = { kind = \"eqds\", quantum-bytes = 65536, quanta-per-pull = 65536 }",
    );
    assert!(result.makespan_s < 20e-6, "{} s", result.makespan_s);
    let text = "[topology]\nkind = \"single-switch\"\nnodes = 2\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
                [workload]\nkind = \"graph\"\nvertices = [{ name = \"m\", kind = \"communication\", source = 0, destination = 1, \
                bytes = \"4.4 GB\" }]\n[network]\nkind = \"packet\"\n\
                congestion = { kind = \"eqds\", quantum-bytes = 1, quanta-per-pull = 65535 }\n";
    let document = Document::parse("test.toml", text).expect("an experiment");
    let mut prepared = Prepared::new(&document, Path::new("")).expect("it is refused when it is sent");
    #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
    let error = prepared.run(&mut Blind, Instant::now()).expect_err("more than can be counted").to_string();
    assert!(error.contains("credit for"), "{error}");
}

/// 64 messages of one byte on one connection.
#[test]
fn a_receiver_counts_packets_however_small() {
    let acknowledgements = |every: u32| {
        let recovery = format!("recovery = {{ kind = \"rltp\", acknowledge-every = {every} }}");
        let mut vertices = String::new();
        for at in 0..64 {
            let _ = write!(
                vertices,
                "{{ name = \"m{at}\", kind = \"communication\", source = 0, destination = 1, bytes = 1 }},"
            );
        }
        let result = run(&format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 2\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n[workload]\n\
             kind = \"graph\"\nvertices = [{vertices}]\n[network]\nkind = \"packet\"\ncongestion = {{ kind = \"fixed-window\" }}\n\
             connections = \"per-pair\"\n{recovery}\n"
        ));
        result.counter("network.packets").expect("counted") - 64
    };
    assert_eq!([1, 2, 4, 16].map(acknowledgements), [64, 33, 17, 5]);
}

#[test]
fn what_is_given_beside_a_preset_counts() {
    let took = |more: &str| chain(&[4096], "500 ns", &format!("preset = \"htsim\"\n{more}")).makespan_s;
    assert_eq!(took(""), took("completion = \"sender\""));
    assert!(took("completion = \"receiver\"") < 0.7 * took(""));
}

/// So many senders to one receiver of a switch, each so many bytes.
fn gather(senders: u32, rate: &str, bytes: u64, network: &str) -> RunResult {
    run(&format!(
        "[topology]\nkind = \"single-switch\"\nnodes = {}\nbandwidth = \"{rate}\"\nlatency = \"1 us\"\n\
         [workload]\nkind = \"collective\"\noperation = \"gather\"\nalgorithm = {{ kind = \"direct\" }}\nbytes = \"{} B\"\n\
         [network]\nkind = \"packet\"\n{network}\n",
        senders + 1,
        bytes * u64::from(senders + 1),
    ))
}

/// A queue may be far longer than its own buffer where ports share theirs, and what waits there is not lost.
#[test]
fn time_outs_wait_for_queues_in_shared_buffers() {
    for control in ["rccc", "eqds", "ndp", "nscc", "mprdma"] {
        let network = format!("congestion = {{ kind = \"{control}\" }}\nbuffer-sharing = {{ alpha = 1.0 }}");
        let result = gather(64, "100 Gbps", 200_000, &network);
        assert_eq!(result.counter("network.timeouts").expect("counted"), 0, "{control}");
        assert!(result.makespan_s < 1.1e-3, "{control}: {} s", result.makespan_s);
    }
}

/// A loss is noticed in time, though queues may be long.
#[test]
fn time_outs_in_shared_buffers_are_no_longer_than_they_must_be() {
    let network = "congestion = { kind = \"nscc\" }\nloss = { probability = 0.0005 }";
    let [own, shared] = ["", "\nbuffer-sharing = { alpha = 1.0 }"].map(|sharing| {
        run(&format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 16\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
             [workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"4 MB\"\n[network]\nkind = \"packet\"\n{network}{sharing}\n"
        ))
        .makespan_s
    });
    assert!(shared < 2.0 * own, "{shared} s, {own} s with own buffers");
}

/// Where queues drain longer than a time-out waits, the run says so.
#[test]
fn time_outs_in_vain_are_told() {
    let notes = |recovery: &str| {
        let network = format!(
            "congestion = {{ kind = \"nscc\" }}\nrecovery = {recovery}\nqueue = {{ kind = \"drop-tail\" }}\nbuffer = \"1600 kB\""
        );
        gather(39, "10 Gbps", 100_000, &network).notes.join("\n")
    };
    let told = notes("{ kind = \"irn\" }");
    assert!(told.contains("time-outs") && told.contains("in vain"), "{told}");
    let quiet = notes("{ kind = \"irn\", low-timeout = \"40 ms\", high-timeout = \"40 ms\" }");
    assert!(!quiet.contains("in vain"), "{quiet}");
}

/// More packets are out of order than an acknowledgement can name: what has arrived is not under way any more, so that what was
/// trimmed is sent again, and not after a time-out.
#[test]
fn packets_that_no_acknowledgement_names_do_not_fill_the_window() {
    for seed in 0..3 {
        let network = |recovery: &str| {
            run(&format!(
                "seed = {seed}\n[topology]\nkind = \"single-switch\"\nnodes = 9\nbandwidth = \"800 Gbps\"\nlatency = \"1 us\"\n\
                 [workload]\nkind = \"collective\"\noperation = \"gather\"\nalgorithm = \"direct\"\nbytes = \"18 MB\"\n\
                 [network]\nkind = \"packet\"\ncongestion = \"nscc\"\npackets = {{ payload-bytes = 1024 }}\nbuffer = \"50 kB\"\n\
                 recovery = {{ kind = \"trimming\", timeout = \"10 ms\"{recovery} }}\n"
            ))
        };
        let (few, all) = (network(", acknowledge-every = \"16 KiB\""), network(""));
        assert_eq!(few.counter("network.timeouts").unwrap_or(0), 0, "seed {seed}");
        assert_eq!(few.counter("network.drops").unwrap_or(0), 0, "time-outs would have had a reason");
        assert!(few.counter("network.trims").expect("counted") > 1000, "nothing had to be sent again");
        assert!(few.makespan_s < 1.5 * all.makespan_s, "{} and {} s", few.makespan_s, all.makespan_s);
    }
}
